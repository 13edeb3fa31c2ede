//! The sources to learn from, and the settings of a run.

use std::fmt;
use std::path::PathBuf;

use super::LearnOptions;
use crate::data::{Dataset, Rows, Schema, WeightKind};
use crate::distance::{DistanceMatrix, DistanceOptions};
use crate::error::Result;
use crate::format::ModelFile;
use crate::memory::MemoryBudget;
use crate::moments::PairMoments;
use crate::parameters::em::EmStart;
use crate::parameters::{Alignment, HiddenStates, ParameterMethod, TreeMoments};
use crate::selection::{Criterion, Effort};
use crate::structure::{Contraction, LearnerName};
use crate::tensor::Decomposition;
use crate::tree::Tree;

/// A source to learn from.
#[non_exhaustive]
pub enum Source<'a> {
    /// Rows. They are read more than once, each time from the beginning.
    Rows(&'a dyn Rows),
    /// Moments, without the rows.
    Moments(PairMoments),
    /// Moments, without the rows, with the statistics for the tables of a given tree ([`Learning::tree_moments`]).
    TreeMoments(PairMoments, Box<TreeMoments>),
    /// Distances between variables. They give a tree without parameters.
    Distances(DistanceMatrix),
}

impl fmt::Debug for Source<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rows(_) => "Rows",
            Self::Moments(_) => "Moments",
            Self::TreeMoments(..) => "TreeMoments",
            Self::Distances(_) => "Distances",
        })
    }
}

/// Rows used to stop EM and to compare candidates.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Validation {
    /// These rows, which are not used for training.
    Rows(Dataset),
    /// About this fraction of the rows, drawn by the seed and excluded from training.
    Fraction(f64),
}

/// A learning run: its options and its other inputs besides the data.
///
/// The setters are shortcuts for fields of [`LearnOptions`].
#[derive(Debug, Clone, Default)]
pub struct Learning {
    pub(super) options: LearnOptions,
    pub(super) tree: Option<Tree>,
    pub(super) validation: Option<Dataset>,
    pub(super) checkpoint: Option<PathBuf>,
    pub(super) memory: MemoryBudget,
}

impl Learning {
    /// The default options.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// These options.
    #[must_use]
    pub fn with_options(options: LearnOptions) -> Self {
        Self { options, ..Self::default() }
    }

    /// The options.
    #[must_use]
    pub fn options(&self) -> &LearnOptions {
        &self.options
    }

    /// The memory limit.
    #[must_use]
    pub fn memory_budget(&self) -> MemoryBudget {
        self.memory
    }

    /// The learner of the tree.
    #[must_use]
    pub fn structure(mut self, learner: LearnerName) -> Self {
        self.options.structure.learner = learner;
        self
    }

    /// How distances are estimated from moments. [`hidden_states`](Self::hidden_states), if set, overrides their number of hidden states.
    #[must_use]
    pub fn distances(mut self, distances: DistanceOptions) -> Self {
        self.options.distance = distances;
        self
    }

    /// Which edges are contracted.
    #[must_use]
    pub fn contraction(mut self, contraction: Contraction) -> Self {
        self.options.structure.contract = contraction;
        self
    }

    /// Number of states of every hidden variable, by default 2. If all columns are continuous, hidden variables are Gaussian by default.
    #[must_use]
    pub fn hidden_states(mut self, hidden_states: Option<usize>) -> Self {
        self.options.parameters.hidden_states = hidden_states.map_or(HiddenStates::Unset, HiddenStates::Fixed);
        self
    }

    /// Searches for the numbers of states: by the criterion of [`select`](Self::select), or else by validation rows if there are any, or
    /// else by BIC.
    #[must_use]
    pub fn hidden_states_auto(mut self) -> Self {
        self.options.parameters.hidden_states = HiddenStates::Auto;
        self
    }

    /// The share of this many bootstrap replicates that have each split.
    #[must_use]
    pub fn bootstrap(mut self, replicates: Option<usize>) -> Self {
        self.options.structure.bootstrap = replicates;
        self
    }

    /// Removes splits with less support than this; 0 removes none. The default removes splits below ½ unless that lowers BIC.
    #[must_use]
    pub fn collapse(mut self, least: Option<f64>) -> Self {
        self.options.structure.collapse = least;
        self
    }

    /// Keeps this tree, whose observed nodes are the variables, and only learns its parameters. See [`tree_over`](super::tree_over).
    #[must_use]
    pub fn tree(mut self, tree: Option<Tree>) -> Self {
        self.tree = tree;
        self
    }

    /// Keeps the tree of a model or of a tree file, as [`tree`](Self::tree) does, and the model's numbers of hidden states unless options say
    /// otherwise. Options that are set later replace these numbers.
    ///
    /// # Errors
    /// [`Error::Tree`](crate::Error::Tree) if the observed nodes are not exactly the variables of the schema.
    pub fn tree_of(mut self, file: &ModelFile, schema: &Schema) -> Result<Self> {
        self.tree = Some(super::tree_over(file.tree(), schema)?);
        if let ModelFile::LatentTree(model) = file
            && self.options.takes_states_of_model(self.has_validation())
        {
            let states = model.hidden().filter_map(|node| Some((model.tree().name(node).to_owned(), model.n_states(node)?)));
            self.options.parameters.states.fill(states);
        }
        Ok(self)
    }

    /// The method for the parameters.
    #[must_use]
    pub fn parameters(mut self, method: ParameterMethod) -> Self {
        self.options.parameters.method = method;
        self
    }

    /// How the labels of hidden states are aligned between tables.
    #[must_use]
    pub fn alignment(mut self, alignment: Alignment) -> Self {
        self.options.parameters.alignment = alignment;
        self
    }

    /// How third moments are decomposed.
    #[must_use]
    pub fn decomposition(mut self, decomposition: Decomposition) -> Self {
        self.options.parameters.decomposition = decomposition;
        self
    }

    /// Where EM starts.
    #[must_use]
    pub fn start(mut self, start: Option<EmStart>) -> Self {
        self.options.em.start = start;
        self
    }

    /// Number of random starts of EM.
    #[must_use]
    pub fn restarts(mut self, restarts: usize) -> Self {
        self.options.em.restarts = restarts;
        self
    }

    /// Maximum number of EM passes over the rows.
    #[must_use]
    pub fn em_iterations(mut self, iterations: Option<usize>) -> Self {
        self.options.em.iterations = iterations;
        self
    }

    /// EM stops when the relative gain in log-likelihood falls below this.
    #[must_use]
    pub fn em_tolerance(mut self, tolerance: Option<f64>) -> Self {
        self.options.em.tolerance = tolerance;
        self
    }

    /// Pseudo-count that EM adds to every cell of its tables.
    #[must_use]
    pub fn em_smoothing(mut self, pseudo_count: Option<f64>) -> Self {
        self.options.em.smoothing = pseudo_count;
        self
    }

    /// Rows used to stop EM and, with [`Criterion::Validation`], to compare candidates.
    #[must_use]
    pub fn validation(mut self, validation: Option<Validation>) -> Self {
        (self.validation, self.options.selection.validation) = match validation {
            None => (None, None),
            Some(Validation::Rows(rows)) => (Some(rows), None),
            Some(Validation::Fraction(fraction)) => (None, Some(fraction)),
        };
        self
    }

    /// Searches for the best model by a criterion.
    #[must_use]
    pub fn select(mut self, criterion: Option<Criterion>) -> Self {
        self.options.selection.criterion = criterion;
        self
    }

    /// How much work a search does.
    #[must_use]
    pub fn effort(mut self, effort: Effort) -> Self {
        self.options.selection.effort = Some(effort);
        self
    }

    /// A directory for EM fits and their states ([`Journal`](crate::Journal)). An interrupted run continues from there and ends with the
    /// same bytes as an uninterrupted one.
    #[must_use]
    pub fn checkpoint(mut self, directory: Option<PathBuf>) -> Self {
        self.checkpoint = directory;
        self
    }

    /// The meaning of row weights. With the default, [`WeightKind::Sampling`], their scale does not matter, and BIC counts the rows with a
    /// positive weight.
    #[must_use]
    pub fn weight_kind(mut self, kind: WeightKind) -> Self {
        self.options.weight_kind = kind;
        self
    }

    /// Memory limit for moments, models and expected counts, by default three quarters of the machine's memory. A run that would exceed it
    /// fails before work starts.
    #[must_use]
    pub fn memory(mut self, budget: MemoryBudget) -> Self {
        self.memory = budget;
        self
    }

    /// The seed of all random choices.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.options.seed = seed;
        self
    }

    pub(super) fn has_validation(&self) -> bool {
        self.validation.is_some() || self.options.selection.validation.is_some()
    }
}
