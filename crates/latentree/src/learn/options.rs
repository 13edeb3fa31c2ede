//! What is learned from, and how.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use crate::data::{BatchSource, Dataset, WeightKind};
use crate::distance::{DistanceMatrix, DistanceOptions};
use crate::em::Smoothing;
use crate::error::{Error, Result};
use crate::limits;
use crate::memory::MemoryBudget;
use crate::moments::PairMoments;
use crate::parameters::Alignment;
use crate::structure::{Contraction, LearnerName, StructureOptions};
use crate::tensor::Decomposition;
use crate::tree::Tree;

/// What is learned from.
#[non_exhaustive]
pub enum Source<'a> {
    /// Rows, which are read more than once: from the beginning, wherever they are.
    Rows(&'a mut dyn BatchSource),
    /// Moments of rows that are not at hand.
    Moments(PairMoments),
    /// Distances between variables, which give a tree and no parameters.
    Distances(DistanceMatrix),
}

impl fmt::Debug for Source<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rows(_) => "Rows",
            Self::Moments(_) => "Moments",
            Self::Distances(_) => "Distances",
        })
    }
}

/// How parameters are found; see [`learn`](crate::learn).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum ParameterMethod {
    /// By lengths where they give a model, else by moments and EM.
    #[default]
    Auto,
    /// From the lengths of edges.
    Distances,
    /// By moments.
    Moments,
    /// By EM.
    Em,
    /// By EM from what moments give.
    MomentsAndEm,
    /// The tree alone.
    None,
}

impl ParameterMethod {
    /// All methods.
    pub const ALL: [Self; 6] = [Self::Auto, Self::MomentsAndEm, Self::Moments, Self::Em, Self::Distances, Self::None];

    /// The name users write.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Distances => "distances",
            Self::Moments => "moments",
            Self::Em => "em",
            Self::MomentsAndEm => "moments+em",
            Self::None => "none",
        }
    }
}

impl FromStr for ParameterMethod {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|method| method.name() == name).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|method| method.name()).collect();
            Error::option("--parameters", format!("{name:?} is not one of {}", names.join(", ")))
        })
    }
}

/// Where EM starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EmStart {
    /// The model by moments; of a Gaussian tree, the one by lengths.
    Moments,
    /// A latent class model's classes in every hidden node.
    LatentClass,
    /// At random.
    Random,
}

impl FromStr for EmStart {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "moments" => Ok(Self::Moments),
            "lcm" => Ok(Self::LatentClass),
            "random" => Ok(Self::Random),
            other => Err(Error::option("--start", format!("{other:?} is not moments, lcm or random"))),
        }
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

/// What decides between models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Criterion {
    /// The Bayesian information criterion; see [`by_bic`](crate::selection::by_bic).
    Bic,
    /// The likelihood of the validation rows; see [`by_validation`](crate::selection::by_validation).
    Validation,
}

impl Criterion {
    /// The name users write.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Bic => "bic",
            Self::Validation => "validation",
        }
    }
}

impl FromStr for Criterion {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "bic" => Ok(Self::Bic),
            "validation" => Ok(Self::Validation),
            other => Err(Error::option("--select", format!("{other:?} is not bic or validation"))),
        }
    }
}

/// How a model is learned; the options have the names and defaults of the command line's.
#[derive(Debug, Clone)]
pub struct Learning {
    pub(super) structure: LearnerName,
    pub(super) contraction: Contraction,
    pub(super) epsilon: Option<f64>,
    pub(super) tau: Option<f64>,
    pub(super) distances: DistanceOptions,
    pub(super) hidden_states: Option<usize>,
    pub(super) bootstrap: Option<usize>,
    pub(super) tree: Option<Tree>,
    pub(super) parameters: ParameterMethod,
    pub(super) decomposition: Decomposition,
    pub(super) alignment: Alignment,
    pub(super) start: Option<EmStart>,
    pub(super) restarts: usize,
    pub(super) em_iterations: Option<usize>,
    pub(super) em_tolerance: Option<f64>,
    pub(super) em_smoothing: Option<f64>,
    pub(super) validation: Option<Validation>,
    pub(super) select: Option<Criterion>,
    pub(super) states_auto: bool,
    pub(super) accept: Option<Vec<String>>,
    pub(super) checkpoint: Option<PathBuf>,
    pub(super) weight_kind: WeightKind,
    pub(super) memory: MemoryBudget,
    pub(super) seed: u64,
}

impl Default for Learning {
    fn default() -> Self {
        Self::new()
    }
}

impl Learning {
    /// The default options.
    #[must_use]
    pub fn new() -> Self {
        Self {
            structure: LearnerName::Auto,
            contraction: Contraction::ByInput,
            epsilon: None,
            tau: None,
            distances: DistanceOptions::new().significance(Some(2.0)),
            hidden_states: None,
            bootstrap: None,
            tree: None,
            parameters: ParameterMethod::Auto,
            decomposition: Decomposition::Sidiwo,
            alignment: Alignment::Linear,
            start: None,
            restarts: 5,
            em_iterations: None,
            em_tolerance: None,
            em_smoothing: None,
            validation: None,
            select: None,
            states_auto: false,
            accept: None,
            checkpoint: None,
            weight_kind: WeightKind::Sampling,
            memory: MemoryBudget::of_machine(),
            seed: 0,
        }
    }

    /// The learner of the tree.
    #[must_use]
    pub fn structure(mut self, learner: LearnerName) -> Self {
        self.structure = learner;
        self
    }

    /// How distances are made of moments. Their number of hidden states is that of [`hidden_states`](Self::hidden_states) where one is given.
    #[must_use]
    pub fn distances(mut self, distances: DistanceOptions) -> Self {
        self.distances = distances;
        self
    }

    /// Which edges are contracted.
    #[must_use]
    pub fn contraction(mut self, contraction: Contraction) -> Self {
        self.contraction = contraction;
        self
    }

    /// ε of recursive grouping; see [`StructureOptions::epsilon`].
    #[must_use]
    pub fn epsilon(mut self, epsilon: Option<f64>) -> Self {
        self.epsilon = epsilon;
        self
    }

    /// τ of recursive grouping; see [`StructureOptions::tau`].
    #[must_use]
    pub fn tau(mut self, tau: Option<f64>) -> Self {
        self.tau = tau;
        self
    }

    /// States of every hidden variable, 2 to [`MOST_HIDDEN_STATES`](limits::MOST_HIDDEN_STATES); by default 2. Over continuous columns alone hidden
    /// variables are Gaussian unless a number is given.
    #[must_use]
    pub fn hidden_states(mut self, hidden_states: Option<usize>) -> Self {
        self.hidden_states = hidden_states;
        self
    }

    /// Support of every split by this many bootstrap replicates, 1 to [`MOST_REPLICATES`](limits::MOST_REPLICATES).
    #[must_use]
    pub fn bootstrap(mut self, replicates: Option<usize>) -> Self {
        self.bootstrap = replicates;
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
        self.parameters = method;
        self
    }

    /// How the labels of hidden states are made to agree.
    #[must_use]
    pub fn alignment(mut self, alignment: Alignment) -> Self {
        self.alignment = alignment;
        self
    }

    /// How third moments are decomposed.
    #[must_use]
    pub fn decomposition(mut self, decomposition: Decomposition) -> Self {
        self.decomposition = decomposition;
        self
    }

    /// Where EM starts; by default from moments, with [`ParameterMethod::Em`] from a latent class model.
    #[must_use]
    pub fn start(mut self, start: Option<EmStart>) -> Self {
        self.start = start;
        self
    }

    /// How many starts of EM are tried, where they are random: 1 to [`MOST_RESTARTS`](limits::MOST_RESTARTS).
    #[must_use]
    pub fn restarts(mut self, restarts: usize) -> Self {
        self.restarts = restarts;
        self
    }

    /// Most passes of EM over the rows, up to [`MOST_EM_ITERATIONS`](limits::MOST_EM_ITERATIONS).
    #[must_use]
    pub fn em_iterations(mut self, iterations: Option<usize>) -> Self {
        self.em_iterations = iterations;
        self
    }

    /// Relative gain of the log-likelihood at which EM ends.
    #[must_use]
    pub fn em_tolerance(mut self, tolerance: Option<f64>) -> Self {
        self.em_tolerance = tolerance;
        self
    }

    /// Pseudo-count that EM adds to every cell of its tables; by default 0.01, and chosen where [`Criterion::Validation`] decides.
    #[must_use]
    pub fn em_smoothing(mut self, pseudo_count: Option<f64>) -> Self {
        self.em_smoothing = pseudo_count;
        self
    }

    /// Rows by which EM is stopped, and candidates are compared where [`Criterion::Validation`] decides.
    #[must_use]
    pub fn validation(mut self, validation: Option<Validation>) -> Self {
        self.validation = validation;
        self
    }

    /// Searches for the best model by a criterion: trees, where [`structure`](Self::structure) is `auto` and no tree is given, and numbers of states, where none is
    /// given.
    #[must_use]
    pub fn select(mut self, criterion: Option<Criterion>) -> Self {
        self.select = criterion;
        self
    }

    /// Searches for the numbers of states: by the validation rows where there are some, else by BIC, unless [`select`](Self::select) says by what.
    #[must_use]
    pub fn hidden_states_auto(mut self, auto: bool) -> Self {
        self.states_auto = auto;
        self
    }

    /// With `reg-clrg` and `reg-clnj`, takes the candidates of these inner nodes instead of those that raise BIC.
    #[must_use]
    pub fn accept(mut self, leaders: Option<Vec<String>>) -> Self {
        self.accept = leaders;
        self
    }

    /// A directory in which EM keeps its state and from which it goes on: the result has the same bytes as if it had never been interrupted.
    #[must_use]
    pub fn checkpoint(mut self, directory: Option<PathBuf>) -> Self {
        self.checkpoint = directory;
        self
    }

    /// What row weights mean; by default [`WeightKind::Sampling`]: their scale does not matter, and BIC counts the rows with a positive weight.
    #[must_use]
    pub fn weight_kind(mut self, kind: WeightKind) -> Self {
        self.weight_kind = kind;
        self
    }

    /// Memory that moments, models and expected counts may take; by default three quarters of the machine's. What would exceed it is refused
    /// before work starts.
    #[must_use]
    pub fn memory(mut self, budget: MemoryBudget) -> Self {
        self.memory = budget;
        self
    }

    /// The criterion that decides, if one does.
    pub(super) fn criterion(&self) -> Option<Criterion> {
        let by_states = self.states_auto.then_some(match self.validation {
            Some(_) => Criterion::Validation,
            None => Criterion::Bic,
        });
        self.select.or(by_states)
    }

    pub(super) fn smoothing(&self) -> Smoothing {
        self.em_smoothing.map_or_else(Smoothing::default, Smoothing::pseudo_count)
    }

    /// The seed of everything random.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    pub(super) fn distance_options(&self) -> DistanceOptions {
        match self.hidden_states {
            Some(hidden_states) => self.distances.hidden_states(Some(hidden_states)),
            None => self.distances,
        }
    }

    pub(super) fn structure_options(&self) -> StructureOptions {
        StructureOptions::new()
            .learner(self.structure)
            .contraction(self.contraction)
            .epsilon(self.epsilon)
            .tau(self.tau)
            .distances(self.distance_options())
    }

    /// Looks at what no stage looks at in time.
    pub(super) fn check(&self) -> Result<()> {
        if let Some(replicates) = self.bootstrap {
            limits::check("--bootstrap", replicates, 1..=limits::MOST_REPLICATES)?;
        }
        if let Some(iterations) = self.em_iterations {
            limits::check("--em-iterations", iterations, 0..=limits::MOST_EM_ITERATIONS)?;
        }
        limits::check("--restarts", self.restarts, 1..=limits::MOST_RESTARTS)?;
        if let Some(bad) = self.em_tolerance.filter(|tolerance| !(tolerance.is_finite() && *tolerance >= 0.0)) {
            return Err(Error::option("--em-tolerance", format!("{bad} given; a finite number ≥ 0 is needed")));
        }
        if self.start.is_some() && self.parameters == ParameterMethod::Moments {
            return Err(Error::option("--start", "--parameters moments has no start; it is for em and moments+em"));
        }
        if let Some(n_states) = self.hidden_states {
            limits::check("--hidden-states", n_states, 2..=limits::MOST_HIDDEN_STATES)?;
        }
        let by_rows = [ParameterMethod::Auto, ParameterMethod::Em, ParameterMethod::MomentsAndEm].contains(&self.parameters);
        let refused = |option: &str, problem: &str| Err(Error::option(option, problem));
        match (&self.validation, self.criterion()) {
            (Some(Validation::Fraction(fraction)), _) if !(*fraction > 0.0 && *fraction < 1.0) => {
                return refused(
                    "--validation",
                    &format!("a fraction of {fraction} given; a number between 0 and 1 is needed, such as 0.1"),
                );
            }
            (Some(_), _) if !by_rows => return refused("--validation", "it stops EM: use --parameters em or moments+em"),
            (None, Some(Criterion::Validation)) => {
                return refused(
                    "--select",
                    "validation needs rows to validate on: give --validation FILE or a fraction such as 0.1",
                );
            }
            (_, Some(_)) if !by_rows => {
                return refused("--select", "models are compared after EM: use --parameters auto, em or moments+em");
            }
            (_, Some(_)) if self.bootstrap.is_some() => {
                return refused("--bootstrap", "it is not for --select or --hidden-states auto");
            }
            (_, Some(_)) if self.checkpoint.is_some() => {
                return refused("--checkpoint", "it keeps the EM of one model; leave out --select and --hidden-states auto");
            }
            _ => {}
        }
        if self.checkpoint.is_some() && !by_rows {
            return refused("--checkpoint", "it keeps the state of EM: use --parameters em or moments+em");
        }
        let is_regularised =
            matches!(self.structure, LearnerName::RegularisedNeighborJoining | LearnerName::RegularisedRecursiveGrouping);
        if self.accept.is_some() && !is_regularised {
            return refused("--accept", "only reg-clrg and reg-clnj choose from candidates");
        }
        if is_regularised && self.bootstrap.is_some() {
            return refused("--bootstrap", "it is not for reg-clrg and reg-clnj, whose candidates need the rows themselves");
        }
        Ok(())
    }
}
