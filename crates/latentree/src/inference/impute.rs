//! Imputation of missing cells.

use std::str::FromStr;

use super::number::Number;
use super::posterior::mixture_moments;
use super::{Inference, Passed, Sweep, sum_product};
use crate::data::{Batch, Block, ColumnData};
use crate::error::{Error, Result, Shortened};
use crate::index::{ColIx, NodeIx};
use crate::model::{Distribution, Emission};

/// What missing cells are filled with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Imputation {
    /// The most probable label; of numbers the posterior mean, rounded for counts.
    Mode,
    /// The posterior mean, also where the labels are numbers; the most probable label where they are not.
    Mean,
    /// A draw from the joint posterior of all missing cells of the row: repeated, this is multiple imputation.
    Draw,
}

impl FromStr for Imputation {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "mode" => Ok(Self::Mode),
            "mean" => Ok(Self::Mean),
            "draw" => Ok(Self::Draw),
            other => Err(Error::option("impute.method", format!("{:?} is not mode, mean or draw", Shortened(other)))),
        }
    }
}

impl Inference<'_> {
    /// The batch with every missing cell filled: the most probable state of a discrete column by its own posterior, the posterior
    /// mean of a continuous one, the rounded posterior mean of a count. Cells that are known stay as they are; in a row of
    /// probability zero nothing is filled. The result is dense.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the batch has other columns.
    pub fn impute(&self, batch: &Batch) -> Result<Batch> {
        let schema = self.model.schema();
        let mut columns: Vec<ColumnData> =
            schema.columns().iter().map(|column| ColumnData::for_kind(&column.kind, batch.n_rows)).collect();
        for (column, values) in columns.iter_mut().zip(self.impute_by(batch, Imputation::Mode, 0)?) {
            values.into_iter().for_each(|value| column.push_number(value));
        }
        Ok(Batch {
            first_row: batch.first_row,
            n_rows: batch.n_rows,
            block: Block::Dense(columns),
            weights: batch.weights.clone(),
        })
    }

    /// All cells by column, with missing ones filled as asked: codes of discrete columns, and numbers. With
    /// [`Imputation::Mean`], a column whose labels are all numbers holds these numbers instead of codes. In a row of probability
    /// zero nothing is filled. `seed` is for draws: a row's depend on it and on the row's number only.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the batch has other columns.
    pub fn impute_by(&self, batch: &Batch, how: Imputation, seed: u64) -> Result<Vec<Vec<f64>>> {
        if how == Imputation::Draw {
            return self.impute_by_draws(batch, seed);
        }
        let schema = self.model.schema();
        let blocks = self.over_batch(batch, Sweep::UpAndDown, |_, block, passed| {
            let columns = (0..schema.columns().len()).map(|ix| {
                let column = ColIx::new(ix);
                let cells = block.column(column);
                let values = (how == Imputation::Mean).then(|| self.label_values(column)).flatten();
                let known = |code: f64| match &values {
                    Some(values) if !code.is_nan() => values[code as usize],
                    _ => code,
                };
                let mut filled: Vec<f64> = (0..block.n_rows).map(|row| known(cells.number(row))).collect();
                if filled.iter().any(|value| value.is_nan()) {
                    self.fill_column(block, passed, column, how, values.as_deref(), &mut filled);
                }
                filled
            });
            columns.collect::<Vec<_>>()
        })?;
        let mut columns = vec![Vec::with_capacity(batch.n_rows); schema.columns().len()];
        for block in blocks {
            for (column, values) in columns.iter_mut().zip(block) {
                column.extend(values);
            }
        }
        Ok(columns)
    }

    /// The numbers that a column's labels are, if all are.
    pub fn label_values(&self, column: ColIx) -> Option<Vec<f64>> {
        let labels = self.model.schema().column(column).kind.labels()?;
        labels.iter().map(|label| label.trim().parse().ok().filter(|value: &f64| value.is_finite())).collect()
    }

    fn fill_column(
        &self,
        block: &super::EvidenceBlock<'_>,
        passed: &Passed<'_>,
        column: ColIx,
        how: Imputation,
        values: Option<&[f64]>,
        filled: &mut [f64],
    ) {
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
                *value = expected(emission, how, values, |state| self.parent_belief(passed, node, state, row));
            }
            return;
        }
        let discrete = self.model.n_states(node).is_some();
        let mut best = vec![(f64::NEG_INFINITY, f64::NAN); block.n_rows];
        let mut means = vec![0.0; if values.is_some() { block.n_rows } else { 0 }];
        self.fill(block, passed, node, |row, at, value| {
            if let Some(values) = values {
                means[row] += value * values[at];
            } else if discrete {
                if value > best[row].0 {
                    best[row] = (value, at as f64);
                }
            } else if at == 0 {
                best[row] = (0.0, value);
            }
        });
        for (row, value) in filled.iter_mut().enumerate().filter(|(row, value)| value.is_nan() && possible(*row)) {
            *value = if values.is_some() { means[row] } else { best[row].1 };
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
fn expected(emission: &Emission, how: Imputation, values: Option<&[f64]>, belief: impl Fn(usize) -> f64) -> f64 {
    match emission {
        Emission::Categorical(table) => {
            let posterior = |state: usize| table.rows().enumerate().map(|(parent, row)| belief(parent) * row[state]).sum::<f64>();
            let chances = (0..table.n_states()).map(|state| (state, posterior(state)));
            match values {
                Some(values) => chances.map(|(state, chance)| chance * values[state]).sum(),
                None => chances.fold((0, f64::NEG_INFINITY), |top, it| if it.1 > top.1 { it } else { top }).0 as f64,
            }
        }
        Emission::Poisson { .. } if how == Imputation::Mode => mixture_moments(emission, belief).0.round(),
        _ => mixture_moments(emission, belief).0,
    }
}

#[cfg(test)]
mod tests;
