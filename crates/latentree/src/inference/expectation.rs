//! Expected counts: what EM's E-step collects from rows.
//!
//! For a discrete node `v` with parent `p` the counts are `n(p, s) = Σ_rows w · P(p, v = s | row)`, in the layout of its table. A
//! leaf whose cell is missing adds nothing: summed out, the cell tells nothing of its table, and leaving it out of the complete
//! data makes EM faster. A continuous leaf has, per state of its parent, `Σγ`, `Σγd` and `Σγd²` with `d` the distance to a shift
//! near the column's mean; a count leaf has `Σγ` and `Σγx`. A node of a Gaussian tree has the [`GAUSSIAN_SUMS`] sums of its own
//! and its parent's expected moments.

use std::ops::Range;
use std::sync::{Mutex, OnceLock};

use rayon::prelude::*;

use super::evidence::EvidenceBlock;
use super::gaussian::{GaussianPlan, GaussianWorkspace};
use super::plan::Term;
use super::sparse::SparsePlan;
use super::star::StarPlan;
use super::{AnyWorkspace, Engine, Inference};
use crate::data::{Batch, Block};
use crate::error::Result;
use crate::index::{ColIx, NodeIx};
use crate::model::{Distribution, Emission, LatentTree};

/// Sums of a node of a Gaussian tree, with `v` and `p` the node and its parent less their present means: `Σw`, `Σv`, `Σp`, `Σv²`,
/// `Σvp`, `Σp²` (expected), then `Σw`, `Σx`, `Σx²` of the cells that are there.
pub(crate) const GAUSSIAN_SUMS: usize = 9;

/// Contiguous parts that a batch is cut into; never depends on the number of threads, since the order of additions follows from
/// it.
pub(super) const PARTS: usize = 8;

/// Where the counts of each node are.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CountLayout {
    /// By node; one longer than the number of nodes.
    starts: Vec<usize>,
    /// By column; what continuous cells are measured from.
    pub(crate) shifts: Vec<f64>,
}

impl CountLayout {
    pub(crate) fn new(model: &LatentTree) -> Self {
        let mut starts = vec![0];
        let mut shifts = vec![0.0; model.schema().columns().len()];
        for node in model.tree().node_ixs() {
            let size = match model.distribution(node) {
                Distribution::Discrete(table) => table.values().len(),
                Distribution::LinearGaussian { .. } => GAUSSIAN_SUMS,
                Distribution::Emission(emission) => {
                    let variable = model.variable(node).expect("an emitter is observed");
                    set_shifts(emission, &model.schema().variable(variable).columns, &mut shifts);
                    emission_size(emission)
                }
            };
            starts.push(starts[starts.len() - 1] + size);
        }
        Self { starts, shifts }
    }

    /// The counts of a node.
    pub(crate) fn range(&self, node: NodeIx) -> Range<usize> {
        self.starts[node.get()]..self.starts[node.get() + 1]
    }

    /// Number of counts.
    pub(crate) fn len(&self) -> usize {
        *self.starts.last().expect("there is a start")
    }
}

/// Number of counts of an emission.
pub(crate) fn emission_size(emission: &Emission) -> usize {
    match emission {
        Emission::Categorical(table) => table.values().len(),
        Emission::Gaussian { means, .. } => 3 * means.len(),
        Emission::Poisson { rates } => 2 * rates.len(),
        Emission::Group(members) => members.iter().map(emission_size).sum(),
    }
}

fn set_shifts(emission: &Emission, columns: &[ColIx], shifts: &mut [f64]) {
    match emission {
        Emission::Gaussian { means, .. } => shifts[columns[0].get()] = means.iter().sum::<f64>() / means.len() as f64,
        Emission::Group(members) => {
            members.iter().zip(columns).for_each(|(member, &column)| set_shifts(member, &[column], shifts));
        }
        Emission::Categorical(_) | Emission::Poisson { .. } => {}
    }
}

/// Adds the counts of an emitting leaf; `belief(state, row)` is the weighted posterior of the parent.
#[inline(always)]
pub(super) fn count_emission(
    terms: &[Term],
    block: &EvidenceBlock<'_>,
    n_rows: usize,
    n_parent_states: usize,
    layout: &CountLayout,
    belief: impl Fn(usize, usize) -> f64,
    mut counts: &mut [f64],
) {
    for term in terms {
        let (column, size) = match term {
            Term::Categorical { column, ln_by_state } => (*column, ln_by_state.len()),
            Term::Gaussian { column, parts } => (*column, 3 * parts.len()),
            Term::Poisson { column, parts } => (*column, 2 * parts.len()),
        };
        let (own, rest) = counts.split_at_mut(size);
        counts = rest;
        let (cells, per_state, shift) = (block.column(column), size / n_parent_states, layout.shifts[column.get()]);
        for state in 0..n_parent_states {
            let own = &mut own[state * per_state..][..per_state];
            for row in 0..n_rows {
                match term {
                    Term::Categorical { .. } => {
                        if let Some(code) = cells.code(row) {
                            own[code] += belief(state, row);
                        }
                    }
                    Term::Gaussian { .. } => {
                        let distance = cells.number(row) - shift;
                        if !distance.is_nan() {
                            let weight = belief(state, row);
                            own[0] += weight;
                            own[1] += weight * distance;
                            own[2] += weight * distance * distance;
                        }
                    }
                    Term::Poisson { .. } => {
                        let value = cells.number(row);
                        if !value.is_nan() {
                            let weight = belief(state, row);
                            own[0] += weight;
                            own[1] += weight * value;
                        }
                    }
                }
            }
        }
    }
}

/// Expected counts of some rows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Expectation {
    pub(crate) counts: Vec<f64>,
    pub(crate) rows: u64,
    pub(crate) weight: f64,
    /// Weighted sum of the rows' log-likelihoods.
    pub(crate) log_likelihood: f64,
    /// Number of rows of probability zero and positive weight; they add nothing to the counts.
    pub(crate) impossible_rows: u64,
}

impl Expectation {
    pub(crate) fn none(layout: &CountLayout) -> Self {
        Self { counts: vec![0.0; layout.len()], rows: 0, weight: 0.0, log_likelihood: 0.0, impossible_rows: 0 }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(own, other)| *own += other);
        self.rows += other.rows;
        self.weight += other.weight;
        self.log_likelihood += other.log_likelihood;
        self.impossible_rows += other.impossible_rows;
    }

    /// Adds the log-likelihood of a row.
    #[inline]
    pub(super) fn add_row(&mut self, weight: f64, ln_likelihood: f64) {
        self.rows += 1;
        if weight > 0.0 {
            self.weight += weight;
            self.log_likelihood += weight * ln_likelihood;
            self.impossible_rows += u64::from(ln_likelihood == f64::NEG_INFINITY);
        }
    }
}

/// What the passes over one model's rows use again and again, on any thread.
#[derive(Default)]
pub(crate) struct Scratch {
    workspaces: Mutex<Vec<AnyWorkspace>>,
    /// Made when the first sparse batch comes.
    sparse: OnceLock<Option<SparsePlan>>,
    /// The same for a star with counts.
    star: OnceLock<Option<StarPlan>>,
}

impl std::fmt::Debug for Scratch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Scratch")
    }
}

impl Scratch {
    fn take(&self) -> Option<AnyWorkspace> {
        self.workspaces.lock().ok()?.pop()
    }

    fn give(&self, workspace: AnyWorkspace) {
        if let Ok(mut pool) = self.workspaces.lock() {
            pool.push(workspace);
        }
    }
}

impl Inference<'_> {
    /// Expected counts of all rows of a batch, in parallel and in an order of additions that follows from the batch alone.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) if the batch has other columns.
    pub(crate) fn expect(&self, batch: &Batch, layout: &CountLayout, scratch: &Scratch) -> Result<Expectation> {
        self.check(batch)?;
        if let (Block::Sparse(rows), Engine::Discrete(plan)) = (&batch.block, &*self.engine) {
            let sparse = scratch.sparse.get_or_init(|| SparsePlan::new(plan, self.model.schema().columns().len()));
            if let Some(sparse) = sparse.as_ref().filter(|sparse| sparse.pays(rows)) {
                return Ok(sparse.expect(batch, rows, layout));
            }
            if sparse.is_none()
                && let Some(star) = scratch.star.get_or_init(|| StarPlan::new(self.model))
            {
                return Ok(star.expect(batch, rows, layout));
            }
        }
        self.expect_dense(batch, layout, scratch)
    }

    /// Expected counts by the dense schedule.
    ///
    /// # Errors
    /// As [`expect`](Self::expect).
    pub(crate) fn expect_dense(&self, batch: &Batch, layout: &CountLayout, scratch: &Scratch) -> Result<Expectation> {
        self.check(batch)?;
        let step = self.block_rows();
        let no_small = vec![false; self.model.schema().columns().len()];
        let is_small: &[bool] = match &*self.engine {
            Engine::Discrete(plan) => &plan.is_small,
            Engine::Gaussian(_) => &no_small,
        };
        let n_blocks = batch.n_rows.div_ceil(step);
        let parts: Vec<Range<usize>> = (0..PARTS).map(|ix| ix * n_blocks / PARTS..(ix + 1) * n_blocks / PARTS).collect();
        let part = |blocks: Range<usize>| {
            let mut sums = Expectation::none(layout);
            let mut workspace = scratch.take().unwrap_or_else(|| self.workspace());
            for block in blocks {
                let rows = block * step..batch.n_rows.min((block + 1) * step);
                let weights = batch.weights.as_ref().map(|weights| &weights[rows.clone()]);
                EvidenceBlock::with_batch(batch, rows, is_small, |block| {
                    self.expect_block(&mut workspace, block, weights, layout, &mut sums);
                });
            }
            scratch.give(workspace);
            sums
        };
        let sums: Vec<Expectation> = parts.into_par_iter().filter(|part| !part.is_empty()).map(part).collect();
        let mut sums = sums.into_iter();
        let mut total = sums.next().unwrap_or_else(|| Expectation::none(layout));
        sums.for_each(|other| total.add(&other));
        Ok(total)
    }

    fn expect_block(
        &self,
        workspace: &mut AnyWorkspace,
        block: &EvidenceBlock<'_>,
        weights: Option<&[f64]>,
        layout: &CountLayout,
        sums: &mut Expectation,
    ) {
        let ln_likelihood = match (workspace, &*self.engine) {
            (AnyWorkspace::Plain(workspace), Engine::Discrete(plan)) => {
                workspace.up(plan, block);
                workspace.down_and_count(plan, block, weights, layout, &mut sums.counts);
                workspace.ln_likelihood()
            }
            (AnyWorkspace::Wide(workspace), Engine::Discrete(plan)) => {
                workspace.up(plan, block);
                workspace.down_and_count(plan, block, weights, layout, &mut sums.counts);
                workspace.ln_likelihood()
            }
            (AnyWorkspace::Gaussian(workspace), Engine::Gaussian(plan)) => {
                workspace.up(plan, block);
                workspace.down(plan);
                count_gaussian(plan, workspace, weights, layout, &mut sums.counts);
                workspace.ln_likelihood()
            }
            _ => unreachable!("a workspace is made for its engine"),
        };
        for (row, &ln) in ln_likelihood.iter().enumerate() {
            sums.add_row(weights.map_or(1.0, |weights| weights[row]), ln);
        }
    }
}

fn count_gaussian(
    plan: &GaussianPlan,
    workspace: &GaussianWorkspace,
    weights: Option<&[f64]>,
    layout: &CountLayout,
    counts: &mut [f64],
) {
    for (node, parent) in plan.edges() {
        let own = &mut counts[layout.range(node)];
        for row in 0..workspace.n_rows() {
            let weight = weights.map_or(1.0, |weights| weights[row]);
            let (mean, variance, gain) = workspace.centred(node, row);
            let (parent_mean, parent_variance) =
                parent.map_or((0.0, 0.0), |parent| (workspace.centred(parent, row).0, workspace.centred(parent, row).1));
            let sums = [
                1.0,
                mean,
                parent_mean,
                mean * mean + variance,
                mean * parent_mean + gain * parent_variance,
                parent_mean * parent_mean + parent_variance,
            ];
            own.iter_mut().zip(sums).for_each(|(own, value)| *own += weight * value);
            let known = workspace.known(node, row);
            if !known.is_nan() {
                own[6] += weight;
                own[7] += weight * known;
                own[8] += weight * known * known;
            }
        }
    }
}
