//! Missing cells filled with what the model thinks of them.

use super::number::Number;
use super::posterior::mixture_moments;
use super::{Inference, Passed, Sweep, sum_product};
use crate::data::{Batch, Block, ColumnData};
use crate::error::Result;
use crate::index::{ColIx, NodeIx};
use crate::model::{Distribution, Emission};

impl Inference<'_> {
    /// The batch with every missing cell filled: the most probable state of a discrete column by its own posterior, the
    /// posterior mean of a continuous one, the rounded posterior mean of a count. Cells that are known stay as they are; in a row of
    /// probability zero nothing is filled. The result is dense.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) if the batch has other columns.
    pub fn impute(&self, batch: &Batch) -> Result<Batch> {
        let schema = self.model.schema();
        let blocks = self.over_batch(batch, Sweep::UpAndDown, |_, block, passed| {
            let columns = (0..schema.columns().len()).map(|ix| {
                let column = ColIx::new(ix);
                let cells = block.column(column);
                let mut filled: Vec<f64> = (0..block.n_rows).map(|row| cells.number(row)).collect();
                if filled.iter().any(|value| value.is_nan()) {
                    self.fill_column(block, passed, column, &mut filled);
                }
                filled
            });
            columns.collect::<Vec<_>>()
        })?;
        let mut columns: Vec<ColumnData> =
            schema.columns().iter().map(|column| ColumnData::for_kind(&column.kind, batch.n_rows)).collect();
        for block in &blocks {
            for (column, values) in columns.iter_mut().zip(block) {
                for &value in values {
                    column.push_number(value);
                }
            }
        }
        Ok(Batch {
            first_row: batch.first_row,
            n_rows: batch.n_rows,
            block: Block::Dense(columns),
            weights: batch.weights.clone(),
        })
    }

    fn fill_column(&self, block: &super::EvidenceBlock<'_>, passed: &Passed<'_>, column: ColIx, filled: &mut [f64]) {
        let schema = self.model.schema();
        let variable = schema.variable_of(column);
        let node = self.model.node_of(variable);
        let possible = |row: usize| passed.ln_likelihood()[row] > f64::NEG_INFINITY;
        if let Distribution::Emission(emission) = self.model.distribution(node) {
            let member = schema.variable(variable).columns.iter().position(|&it| it == column).unwrap_or(0);
            let emission = match emission {
                Emission::Group(members) => &members[member],
                single => single,
            };
            for (row, value) in filled.iter_mut().enumerate().filter(|(row, value)| value.is_nan() && possible(*row)) {
                *value = expected(emission, |state| self.parent_belief(passed, node, state, row));
            }
            return;
        }
        let discrete = self.model.n_states(node).is_some();
        let mut best = vec![(f64::NEG_INFINITY, f64::NAN); block.n_rows];
        self.fill(block, passed, node, |row, at, value| {
            if discrete {
                if value > best[row].0 {
                    best[row] = (value, at as f64);
                }
            } else if at == 0 {
                best[row] = (0.0, value);
            }
        });
        for (row, value) in filled.iter_mut().enumerate().filter(|(row, value)| value.is_nan() && possible(*row)) {
            *value = best[row].1;
        }
    }

    /// Posterior of a state of a node's parent; 1 for a node that stands alone.
    fn parent_belief(&self, passed: &Passed<'_>, node: NodeIx, state: usize, row: usize) -> f64 {
        let Some(parent) = self.model.parent(node) else { return 1.0 };
        match passed {
            Passed::Plain(plan, workspace) => {
                sum_product::offset_of(plan, parent).map_or(1.0, |offset| workspace.belief(offset, state)[row])
            }
            Passed::Wide(plan, workspace) => {
                sum_product::offset_of(plan, parent).map_or(1.0, |offset| workspace.belief(offset, state)[row].to_f64())
            }
            Passed::Gaussian(..) => 1.0,
        }
    }
}

/// The value to fill in for a member of an emission whose parent has the given posterior.
fn expected(emission: &Emission, belief: impl Fn(usize) -> f64) -> f64 {
    match emission {
        Emission::Categorical(table) => {
            let posterior = |state: usize| table.rows().enumerate().map(|(parent, row)| belief(parent) * row[state]).sum::<f64>();
            let values = (0..table.n_states()).map(|state| (state, posterior(state)));
            values.fold((0, f64::NEG_INFINITY), |top, it| if it.1 > top.1 { it } else { top }).0 as f64
        }
        Emission::Poisson { .. } => mixture_moments(emission, belief).0.round(),
        _ => mixture_moments(emission, belief).0,
    }
}
