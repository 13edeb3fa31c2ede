//! All that the tables of a given tree need of rows, as one pass.
//!
//! [`by_moments`](super::by_moments()) chooses directions from some rows and collects the moments of all rows in these directions. Here the two are apart: the plan, which
//! is the same wherever rows are, and the sums, which merge. Directions need not be exact to give exact tables, so the plan of one
//! part of the rows serves all of them.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::by_moments::{MomentModel, MomentOptions, Planned, Problem, planned};
use super::discrete_tree::variables_of;
use super::summaries::{Summaries, SummaryPlan};
use crate::data::{Batch, BatchSource, Schema};
use crate::error::{Error, Place, Result};
use crate::index::NodeIx;
use crate::moments::chosen_rows::{Chooser, RowChoice};
use crate::moments::sums::{from_bytes, mismatch, to_bytes};
use crate::moments::{Accumulator, ColumnSummary, Summary, fold};
use crate::observer::Observer;
use crate::tensor::Decomposition;
use crate::tree::{Rooted, Tree};

/// The collected statistics and their use.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct TreePlan {
    /// The tree that was given.
    given: Tree,
    /// The same with its numbers and groups as leaves.
    leafy: Tree,
    roots: Vec<usize>,
    schema: Arc<Schema>,
    /// The columns by which numbers are standardised.
    columns: Vec<ColumnSummary>,
    summaries: Arc<SummaryPlan>,
    /// The rows that summaries are taken of, if not of all.
    others: Option<RowChoice>,
    hidden_states: usize,
    decomposition: Decomposition,
    seed: u64,
    warnings: Vec<String>,
}

/// Statistics of rows that give all tables of a tree; they merge where they have the same plan.
///
/// # Example
/// ```
/// use latentree::inference::Inference;
/// use latentree::moments::{Accumulator as _, fold};
/// use latentree::parameters::{MomentOptions, TreeMoments};
/// use latentree::simulate::{ParameterFamily, Shape, Simulation};
/// use latentree::Silent;
/// let family = ParameterFamily::Categorical { states: 3, hidden_states: 2, separation: 0.7 };
/// let model = Simulation::new(Shape::Star, 5).family(family).model()?;
/// let [here, there] = [1, 2].map(|seed| Inference::new(&model).sample(2000, seed).expect("a sound model"));
/// let mut moments = TreeMoments::of(model.tree(), &mut here.source(), &MomentOptions::new(2), &Silent)?;
/// moments.merge(fold(&mut there.source(), moments.empty(), &Silent)?)?;
/// assert_eq!(moments.n_rows(), 4000);
/// let learned = moments.model()?.model;
/// # Ok::<(), latentree::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TreeMoments {
    plan: Arc<TreePlan>,
    summary: Summary,
    summaries: Summaries,
}

impl TreeMoments {
    /// Makes a plan from the rows of a source, and collects what it says from them.
    ///
    /// # Errors
    /// Those of [`by_moments`](super::by_moments()).
    pub fn of(tree: &Tree, source: &mut dyn BatchSource, options: &MomentOptions, observer: &dyn Observer) -> Result<Self> {
        observer.stage("columns", source.n_rows_hint());
        let empty = Summary::new(Arc::clone(source.schema()));
        let summary = fold(source, empty, observer)?;
        source.rewind()?;
        let Planned { problem, plan, others } = planned(tree, source, &summary, options, observer)?;
        let plan = Arc::new(TreePlan {
            given: tree.clone(),
            leafy: problem.tree,
            roots: problem.rooted.roots.iter().map(|root| root.get()).collect(),
            schema: problem.schema,
            columns: summary.columns().to_vec(),
            summaries: plan,
            others,
            hidden_states: options.hidden_states(),
            decomposition: options.decomposition,
            seed: options.seed,
            warnings: problem.warnings,
        });
        observer.stage("triples", source.n_rows_hint());
        let moments = fold(source, Self::with(plan), observer)?;
        source.rewind()?;
        Ok(moments)
    }

    fn with(plan: Arc<TreePlan>) -> Self {
        let (summary, summaries) = (Summary::new(Arc::clone(&plan.schema)), Summaries::new(Arc::clone(&plan.summaries)));
        Self { plan, summary, summaries }
    }

    /// The tree that the tables are of.
    #[must_use]
    pub fn tree(&self) -> &Tree {
        &self.plan.given
    }

    /// The columns.
    #[must_use]
    pub fn schema(&self) -> &Arc<Schema> {
        &self.plan.schema
    }

    /// Number of rows seen.
    #[must_use]
    pub fn n_rows(&self) -> u64 {
        self.summary.n_rows()
    }

    /// Requested number of states of the hidden nodes.
    #[must_use]
    pub fn hidden_states(&self) -> usize {
        self.plan.hidden_states
    }

    /// The model.
    ///
    /// # Errors
    /// [`Error::Data`] if no rows were seen; [`Error::Tree`] if the tree does not fit the schema.
    pub fn model(self) -> Result<MomentModel> {
        if self.summaries.weight <= 0.0 {
            return Err(Error::data(Place::default(), "there are no rows to learn from"));
        }
        let plan = &self.plan;
        let n_nodes = plan.leafy.n_nodes();
        if plan.roots.iter().any(|&root| root >= n_nodes) {
            return Err(mismatch());
        }
        let roots: Vec<NodeIx> = plan.roots.iter().map(|&root| NodeIx::new(root)).collect();
        let problem = Problem {
            variable_of: variables_of(&plan.leafy, &plan.schema)?,
            rooted: Rooted::with_roots(&plan.leafy, &roots)?,
            tree: plan.leafy.clone(),
            schema: Arc::clone(&plan.schema),
            columns: Cow::Borrowed(self.summary.columns()),
            standards: Cow::Borrowed(&plan.columns),
            plan: Arc::new(plan.summaries.plan.clone()),
            warnings: plan.warnings.clone(),
        };
        let options = MomentOptions::new(plan.hidden_states).decomposition(plan.decomposition).seed(plan.seed);
        problem.solve(&self.summaries.finish()?, &options)
    }
}

impl Accumulator for TreeMoments {
    type Output = MomentModel;

    const NAME: &'static str = "tree-moments";
    const VERSION: u32 = 2;

    fn observe(&mut self, batch: &Batch) -> Result<()> {
        self.summary.observe(batch)?;
        let Some(others) = &self.plan.others else { return self.summaries.observe(batch) };
        let chosen = Chooser::new(others, &self.plan.schema).chosen(batch, batch.first_row);
        chosen.map_or(Ok(()), |chosen| self.summaries.observe(&chosen))
    }

    fn merge(&mut self, other: Self) -> Result<()> {
        if self.plan != other.plan {
            return Err(Error::Mismatch {
                left: "moments for a tree".to_owned(),
                right: "other moments for a tree".to_owned(),
                problem: "they were collected by different plans; collect the second with the plan of the first".to_owned(),
            });
        }
        self.summary.merge(other.summary)?;
        self.summaries.merge(other.summaries)
    }

    fn empty(&self) -> Self {
        Self::with(Arc::clone(&self.plan))
    }

    fn settle(&mut self) {
        self.summary.settle();
    }

    fn finish(self) -> Result<MomentModel> {
        self.model()
    }

    fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut settled = self.clone();
        settled.settle();
        to_bytes(&settled)
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        from_bytes(bytes)
    }
}
