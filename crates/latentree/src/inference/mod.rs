//! Inference: exact answers from a model, in time linear in the size of the tree.
//!
//! [`Inference`] compiles a model once. It then computes, for blocks of rows on all cores or for a single [`Evidence`], the
//! log-likelihood, posteriors of every node and edge, the most probable joint assignment, conditional and joint queries,
//! imputations and samples. Results do not depend on the number of threads.

mod density;
mod evidence;
mod expectation;
mod gaussian;
mod impute;
mod kernel;
mod log_likelihood;
mod most_probable;
mod number;
mod plan;
mod posterior;
mod query;
mod sample;
mod sparse;
pub(crate) mod star;
mod sum_product;
#[cfg(test)]
pub(crate) mod tests;

pub use evidence::Evidence;
pub(crate) use expectation::{CountLayout, Expectation, GAUSSIAN_SUMS, Scratch, emission_size};
pub use impute::Imputation;
pub use log_likelihood::Score;
pub use most_probable::MostProbable;
pub use posterior::Posterior;
pub use query::{Answer, JointAnswer};
pub use sample::Sampler;
pub(crate) use sparse::SparsePlan;
pub use star::ln_lengths;

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use rayon::prelude::*;

use crate::data::{Batch, Schema};
use crate::error::{Error, Result};
use crate::model::{Family, LatentTree};
use evidence::EvidenceBlock;
use gaussian::{GaussianPlan, GaussianWorkspace};
use number::{Number, Wide};
use plan::Plan;
use sum_product::Workspace;

/// A model compiled for inference.
///
/// # Example
/// ```no_run
/// # fn example(model: &latentree::model::LatentTree, rows: &latentree::data::Dataset) -> latentree::Result<()> {
/// use latentree::inference::Inference;
/// let inference = Inference::new(model);
/// for batch in rows.batches() {
///     let log_likelihoods = inference.log_likelihood(batch)?;
/// }
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Inference<'m> {
    model: &'m LatentTree,
    engine: Arc<Engine>,
    /// For sparse rows; made when the first of them come.
    sparse: OnceLock<Option<SparsePlan>>,
}

/// A model's compiled schedule.
#[derive(Debug)]
pub(crate) enum Engine {
    Discrete(Plan),
    Gaussian(GaussianPlan),
}

/// Message passing finished on a block of rows, in whichever numbers the model needs.
enum Passed<'a> {
    Plain(&'a Plan, &'a Workspace<f64>),
    Wide(&'a Plan, &'a Workspace<Wide>),
    Gaussian(&'a GaussianPlan, &'a GaussianWorkspace),
}

/// How far messages are passed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sweep {
    Up,
    UpAndDown,
}

impl Engine {
    pub(crate) fn new(model: &LatentTree) -> Self {
        match model.family() {
            Family::Discrete => Self::Discrete(Plan::new(model)),
            Family::Gaussian => Self::Gaussian(GaussianPlan::new(model)),
        }
    }
}

impl<'m> Inference<'m> {
    /// Compiles a model.
    #[must_use]
    pub fn new(model: &'m LatentTree) -> Self {
        Self::with_engine(model, Arc::new(Engine::new(model)))
    }

    /// Inference with a schedule compiled before, from this model.
    pub(crate) fn with_engine(model: &'m LatentTree, engine: Arc<Engine>) -> Self {
        Self { model, engine, sparse: OnceLock::new() }
    }

    /// The model.
    #[must_use]
    pub fn model(&self) -> &'m LatentTree {
        self.model
    }

    fn block_rows(&self) -> usize {
        match &*self.engine {
            Engine::Discrete(plan) => plan.block_rows,
            Engine::Gaussian(_) => gaussian::BLOCK_ROWS,
        }
    }

    /// Checks that a batch has the model's columns.
    fn check(&self, batch: &Batch) -> Result<()> {
        let n_columns = self.model.schema().columns().len();
        let fits = match &batch.block {
            crate::data::Block::Dense(columns) => columns.len() == n_columns,
            crate::data::Block::Sparse(rows) => rows.columns.iter().all(|&column| (column as usize) < n_columns),
        };
        if fits { Ok(()) } else { Err(mismatch("the columns of the batch differ from the model's")) }
    }

    /// Checks that data have the model's schema.
    ///
    /// # Errors
    /// [`Error::Mismatch`] that names the first difference.
    pub fn check_schema(&self, schema: &Schema) -> Result<()> {
        let own = self.model.schema();
        if **own == *schema {
            return Ok(());
        }
        let differing = own.columns().iter().zip(schema.columns()).find(|(a, b)| a != b);
        Err(mismatch(&match differing {
            Some((a, b)) => {
                format!("the model's column {:?} meets the data's {:?}; read the data with the model's schema", a.name, b.name)
            }
            None => format!("the model has {} columns, the data {}", own.columns().len(), schema.columns().len()),
        }))
    }

    /// Runs message passing over all rows of a batch, block by block in parallel, and collects what `visit` makes of each
    /// block, in row order.
    fn over_batch<R: Send>(
        &self,
        batch: &Batch,
        sweep: Sweep,
        visit: impl Fn(Range<usize>, &EvidenceBlock<'_>, &Passed<'_>) -> R + Sync,
    ) -> Result<Vec<R>> {
        self.check(batch)?;
        let step = self.block_rows();
        let is_small: &[bool] = match &*self.engine {
            Engine::Discrete(plan) => &plan.is_small,
            Engine::Gaussian(_) => &vec![false; self.model.schema().columns().len()],
        };
        let blocks: Vec<Range<usize>> =
            (0..batch.n_rows).step_by(step).map(|start| start..batch.n_rows.min(start + step)).collect();
        let results = blocks.into_par_iter().map_init(
            || self.workspace(),
            |workspace, rows| {
                EvidenceBlock::with_batch(batch, rows.clone(), is_small, |block| {
                    self.pass(workspace, block, sweep, |passed| visit(rows, block, passed))
                })
            },
        );
        Ok(results.collect())
    }

    /// Runs message passing over one block of rows.
    fn over_block<R>(&self, block: &EvidenceBlock<'_>, sweep: Sweep, visit: impl FnOnce(&Passed<'_>) -> R) -> R {
        self.pass(&mut self.workspace(), block, sweep, visit)
    }

    fn workspace(&self) -> AnyWorkspace {
        match &*self.engine {
            Engine::Discrete(plan) if plan.needs_wide => AnyWorkspace::Wide(Workspace::new(plan)),
            Engine::Discrete(plan) => AnyWorkspace::Plain(Workspace::new(plan)),
            Engine::Gaussian(plan) => AnyWorkspace::Gaussian(GaussianWorkspace::new(plan)),
        }
    }

    fn pass<R>(
        &self,
        workspace: &mut AnyWorkspace,
        block: &EvidenceBlock<'_>,
        sweep: Sweep,
        visit: impl FnOnce(&Passed<'_>) -> R,
    ) -> R {
        fn run<N: Number>(plan: &Plan, workspace: &mut Workspace<N>, block: &EvidenceBlock<'_>, sweep: Sweep) {
            workspace.up(plan, block);
            if sweep == Sweep::UpAndDown {
                workspace.down(plan);
            }
        }
        match (workspace, &*self.engine) {
            (AnyWorkspace::Plain(workspace), Engine::Discrete(plan)) => {
                run(plan, workspace, block, sweep);
                visit(&Passed::Plain(plan, workspace))
            }
            (AnyWorkspace::Wide(workspace), Engine::Discrete(plan)) => {
                run(plan, workspace, block, sweep);
                visit(&Passed::Wide(plan, workspace))
            }
            (AnyWorkspace::Gaussian(workspace), Engine::Gaussian(plan)) => {
                workspace.up(plan, block);
                if sweep == Sweep::UpAndDown {
                    workspace.down(plan);
                }
                visit(&Passed::Gaussian(plan, workspace))
            }
            _ => unreachable!("a workspace is made for its engine"),
        }
    }
}

enum AnyWorkspace {
    Plain(Workspace<f64>),
    Wide(Workspace<Wide>),
    Gaussian(GaussianWorkspace),
}

impl Passed<'_> {
    fn ln_likelihood(&self) -> &[f64] {
        match self {
            Self::Plain(_, workspace) => workspace.ln_likelihood(),
            Self::Wide(_, workspace) => workspace.ln_likelihood(),
            Self::Gaussian(_, workspace) => workspace.ln_likelihood(),
        }
    }
}

fn mismatch(problem: &str) -> Error {
    Error::Mismatch { left: "the model".to_owned(), right: "the data".to_owned(), problem: problem.to_owned() }
}
