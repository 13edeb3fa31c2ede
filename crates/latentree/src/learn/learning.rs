//! What is learned from, and how.

use std::fmt;
use std::path::PathBuf;

use super::LearnOptions;
use crate::data::{Dataset, Rows, WeightKind};
use crate::distance::{DistanceMatrix, DistanceOptions};
use crate::memory::MemoryBudget;
use crate::moments::PairMoments;
use crate::parameters::em::EmStart;
use crate::parameters::{Alignment, HiddenStates, ParameterMethod, TreeMoments};
use crate::selection::{Criterion, Effort};
use crate::structure::{Contraction, LearnerName};
use crate::tensor::Decomposition;
use crate::tree::Tree;

/// What is learned from.
#[non_exhaustive]
pub enum Source<'a> {
    /// Rows, which are read more than once: from the beginning, wherever they are.
    Rows(&'a dyn Rows),
    /// Moments of rows that are not at hand.
    Moments(PairMoments),
    /// Moments of rows that are not at hand, and what they say about the tables of a given tree ([`Learning::tree_moments`]).
    TreeMoments(PairMoments, Box<TreeMoments>),
    /// Distances between variables, which give a tree and no parameters.
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

/// Rows by which EM is stopped and candidates are compared.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Validation {
    /// These, which are not learned from.
    Rows(Dataset),
    /// About this share of the rows, drawn by the seed and then not learned from.
    Fraction(f64),
}

/// Learning: options, and what else a run is given besides its data.
///
/// The setters are short for fields of [`LearnOptions`].
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

    /// The memory that may be used.
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

    /// How distances are made of moments. Their number of hidden states is that of [`hidden_states`](Self::hidden_states) where one is given.
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

    /// States of every hidden variable; by default 2. Over continuous columns alone hidden variables are Gaussian unless a number is given.
    #[must_use]
    pub fn hidden_states(mut self, hidden_states: Option<usize>) -> Self {
        self.options.parameters.hidden_states = hidden_states.map_or(HiddenStates::Unset, HiddenStates::Fixed);
        self
    }

    /// Searches for the numbers of states: by the validation rows where there are some, else by BIC, unless [`select`](Self::select) says by what.
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

    /// Takes out splits whose support is below this; by default those below ½ whose removal does not lower BIC, and 0 takes out none.
    #[must_use]
    pub fn collapse(mut self, least: Option<f64>) -> Self {
        self.options.structure.collapse = least;
        self
    }

    /// Keeps this tree and learns its parameters only; its observed nodes are the variables. See [`tree_over`](super::tree_over).
    #[must_use]
    pub fn tree(mut self, tree: Option<Tree>) -> Self {
        self.tree = tree;
        self
    }

    /// How parameters are found.
    #[must_use]
    pub fn parameters(mut self, method: ParameterMethod) -> Self {
        self.options.parameters.method = method;
        self
    }

    /// How the labels of hidden states are made to agree.
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

    /// How many random starts of EM are tried.
    #[must_use]
    pub fn restarts(mut self, restarts: usize) -> Self {
        self.options.em.restarts = restarts;
        self
    }

    /// Most passes of EM over the rows.
    #[must_use]
    pub fn em_iterations(mut self, iterations: Option<usize>) -> Self {
        self.options.em.iterations = iterations;
        self
    }

    /// Relative gain of the log-likelihood at which EM ends.
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

    /// Rows by which EM is stopped, and candidates are compared where [`Criterion::Validation`] decides.
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

    /// A directory in which fits of EM and their states are kept ([`Journal`](crate::Journal)), and from which a run goes on: the result has the
    /// same bytes as if it had never been interrupted.
    #[must_use]
    pub fn checkpoint(mut self, directory: Option<PathBuf>) -> Self {
        self.checkpoint = directory;
        self
    }

    /// What row weights mean; by default [`WeightKind::Sampling`]: their scale does not matter, and BIC counts the rows with a positive weight.
    #[must_use]
    pub fn weight_kind(mut self, kind: WeightKind) -> Self {
        self.options.weight_kind = kind;
        self
    }

    /// Memory that moments, models and expected counts may take; by default three quarters of the machine's. What would exceed it is refused
    /// before work starts.
    #[must_use]
    pub fn memory(mut self, budget: MemoryBudget) -> Self {
        self.memory = budget;
        self
    }

    /// The seed of everything random.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.options.seed = seed;
        self
    }

    pub(super) fn has_validation(&self) -> bool {
        self.validation.is_some() || self.options.selection.validation.is_some()
    }
}
