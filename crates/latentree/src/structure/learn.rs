//! From statistics to a tree: the choice of the learner and its distances, and the treatment of its tree.
//!
//! # The rule of `auto`
//! 1. A distance matrix alone: `nj`, as is usual for such matrices; with exact distances of a tree all learners agree.
//! 2. 3 to [`MAX_FOR_LIKELIHOOD`] variables and at least [`MIN_ROWS`] rows: `likelihood`, from correlations where all
//!    variables have one (numbers and two labels), else from what stands in for them,
//!    [determinants](crate::distance::determinants).
//! 3. Few rows or many variables: `clnj`.
//!
//! The evidence is in DESIGN.md.
//!
//! # What is not connected
//! A pair without significant dependence ([`DistanceOptions::significance`]) connects nothing: variables that no chain of other pairs
//! connects are in different trees. Within a tree every correlation counts, however weak, with its standard error, for up to
//! [`MAX_FOR_ALL_PAIRS`] variables; for more, and for distances that are not those of correlations, such a pair has no distance.
//! Of many pairs of an independent variable some pass two standard errors by chance: it then hangs on by a long edge; a larger
//! significance cuts it off, and weak real ties with it.
//!
//! # Lengths and contraction
//! Lengths are by [least squares](super::least_squares_lengths) on the distances for up to [`MAX_FOR_ALL_PAIRS`] variables (the
//! learner's own for more), in a tree by likelihood the likeliest, and in a Chow–Liu tree the distances of the pairs themselves.
//! One threshold of [`Contraction`] goes to all learners. Edges are contracted once, by the lengths that the learner itself gives
//! them, and least squares contract nothing after that: they take noise in many weak distances for evidence that an edge is
//! short. The polish by likelihood decides itself which edges stay; only a threshold that is given contracts its tree, after
//! which its lengths are fitted again.

use serde::{Deserialize, Serialize};

use super::{
    ChowLiu, ChowLiuBlind, ChowLiuNeighborJoining, ChowLiuRecursiveGrouping, Contraction, CorrelationSample, LearnerName,
    NeighborJoining, ParallelLocalGrouping, RecursiveGrouping, SpectralNeighborJoining, StructureLearner, WishartCorrelations,
    by_likelihood, contract_short, distance_spanning_tree, drawn_halves, hidden_chow_liu, least_squares_lengths,
    likeliest_lengths, with_bootstrap_support,
};
use crate::distance::{DistanceMatrix, DistanceOptions, Estimator, choose_estimator, determinants, estimate, from_correlations};
use crate::error::{Error, Place, Result, Shortened};
use crate::limits;
use crate::moments::{Accumulator, BlockMoments, PairMoments};
use crate::observer::{Observer, Quiet};
use crate::tree::Tree;

/// Most variables for which `auto` polishes by likelihood, whose time grows with their cube.
pub const MAX_FOR_LIKELIHOOD: usize = 1000;
/// Most variables for which halves of the rows are asked whether a looser prior is better: that polishes eight more trees.
pub const MAX_FOR_HALVES: usize = 300;
/// Fewest rows for which `auto` polishes by likelihood: a tenth of them decide between penalties.
pub const MIN_ROWS: f64 = 40.0;

/// Most variables for which weak pairs keep their distances, and lengths are fitted to all pairs.
pub const MAX_FOR_ALL_PAIRS: usize = 3000;

/// What a structure is learned from.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum StructureInput<'a> {
    /// Moments of all rows and, if known, of two halves of them.
    Moments {
        /// Of all rows.
        whole: &'a PairMoments,
        /// Of two halves of them.
        halves: Option<&'a [PairMoments; 2]>,
    },
    /// Distances alone.
    Distances(&'a DistanceMatrix),
}

/// Settings of [`learn_structure`].
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StructureOptions {
    pub(crate) learner: LearnerName,
    pub(crate) contract: Contraction,
    pub(crate) epsilon: Option<f64>,
    pub(crate) tau: Option<f64>,
    pub(crate) bootstrap: Option<usize>,
    pub(crate) collapse: Option<f64>,
    #[serde(skip)]
    distances: DistanceOptions,
}

impl StructureOptions {
    /// Default settings.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Which learner (default [`LearnerName::Auto`]).
    #[must_use]
    pub fn learner(mut self, learner: LearnerName) -> Self {
        self.learner = learner;
        self
    }

    /// Which edges are contracted (default [`Contraction::ByInput`]).
    #[must_use]
    pub fn contraction(mut self, contraction: Contraction) -> Self {
        self.contract = contraction;
        self
    }

    /// ε of recursive grouping; see [`RecursiveGrouping::epsilon`].
    #[must_use]
    pub fn epsilon(mut self, epsilon: Option<f64>) -> Self {
        self.epsilon = epsilon;
        self
    }

    /// τ of recursive grouping; see [`RecursiveGrouping::tau`].
    #[must_use]
    pub fn tau(mut self, tau: Option<f64>) -> Self {
        self.tau = tau;
        self
    }

    /// Support of every split by this many bootstrap replicates, 1 to [`MAX_REPLICATES`](limits::MAX_REPLICATES); see
    /// [`bootstrap_structure`](super::bootstrap_structure), which is what draws them.
    #[must_use]
    pub fn bootstrap(mut self, replicates: Option<usize>) -> Self {
        self.bootstrap = replicates;
        self
    }

    /// Takes out splits whose support is below this, 0 to 1; by default those below ½ whose removal does not lower BIC. It is `learn` that does it, after
    /// the parameters are known; see [`support`](crate::support).
    #[must_use]
    pub fn collapse(mut self, least: Option<f64>) -> Self {
        self.collapse = least;
        self
    }

    /// How distances are made of moments.
    #[must_use]
    pub fn distances(mut self, distances: DistanceOptions) -> Self {
        self.distances = distances.errors(true);
        self
    }

    pub(crate) fn check(&self) -> Result<()> {
        if let Some(replicates) = self.bootstrap {
            limits::check("structure.bootstrap", replicates, 1..=limits::MAX_REPLICATES)?;
        }
        if let Some(bad) = self.collapse.filter(|least| !(0.0..=1.0).contains(least)) {
            return Err(Error::option(
                "structure.collapse",
                format!("{bad} given; a support from 0 to 1 is needed, such as 0.7"),
            ));
        }
        for (name, value) in [("structure.epsilon", self.epsilon), ("structure.tau", self.tau)] {
            if let Some(bad) = value.filter(|value| !value.is_finite() || *value < 0.0) {
                return Err(Error::option(name, format!("{bad} given; a finite number ≥ 0 is needed")));
            }
        }
        let groups = [LearnerName::RecursiveGrouping, LearnerName::ChowLiuRecursiveGrouping, LearnerName::ParallelLocalGrouping];
        if (self.epsilon.is_some() || self.tau.is_some()) && !groups.contains(&self.learner) {
            let problem = format!("only rg, clrg and plrg use it, but the learner is {}", self.learner);
            return Err(Error::option(if self.epsilon.is_some() { "structure.epsilon" } else { "structure.tau" }, problem));
        }
        Ok(())
    }
}

/// A structure and how it came about.
#[derive(Debug, Clone, PartialEq)]
pub struct LearnedStructure {
    /// The tree, or forest, minimal and with lengths; observed nodes are the variables in their order.
    pub tree: Tree,
    /// The learner that ran.
    pub learner: LearnerName,
    /// The distance that was used; `None` for a matrix.
    pub estimator: Option<Estimator>,
    /// The penalty that explains held-out rows best, where likelihood decided.
    pub penalty: Option<&'static str>,
    /// Whether lengths are at their optimum.
    pub converged: bool,
}

/// Learns a tree, or a forest.
///
/// # Errors
/// [`Error::Option`] if an option is out of range or does not fit the input, [`Error::Data`] if a variable does not fit the
/// distance or the learner, [`Error::Tree`] if there are no variables, [`Error::Cancelled`].
pub fn learn_structure(
    input: StructureInput<'_>,
    options: &StructureOptions,
    observer: &dyn Observer,
) -> Result<LearnedStructure> {
    options.check()?;
    let keeps_its_edges = options.learner.linkage().is_some()
        || matches!(options.learner, LearnerName::ChowLiu | LearnerName::ChowLiuBlind | LearnerName::HiddenChowLiu);
    if keeps_its_edges && matches!(options.contract, Contraction::UpTo(_)) {
        observer.warn(&format!("`structure.contract` has no effect: {} keeps all its edges", options.learner));
    }
    match input {
        StructureInput::Distances(distances) => {
            let learner = match options.learner {
                LearnerName::Auto => LearnerName::NeighborJoining,
                LearnerName::Likelihood => {
                    return Err(Error::option("structure.learner", "likelihood needs rows; a distance matrix alone has none"));
                }
                LearnerName::RegularisedNeighborJoining | LearnerName::RegularisedRecursiveGrouping => {
                    return Err(Error::option(
                        "structure.learner",
                        "reg-clrg and reg-clnj compare models on rows; a distance matrix alone has none",
                    ));
                }
                LearnerName::Levels => return Err(levels_need_rows()),
                LearnerName::Chain => return Err(chain_needs_columns()),
                LearnerName::HiddenChowLiu => {
                    let tree = hidden_chow_liu(&distance_spanning_tree(distances))?;
                    return Ok(LearnedStructure {
                        tree,
                        learner: LearnerName::HiddenChowLiu,
                        estimator: None,
                        penalty: None,
                        converged: true,
                    });
                }
                other => other,
            };
            let tree = match learner {
                LearnerName::ChowLiu => distance_spanning_tree(distances),
                _ => learner_for(learner, options, distances).learn(distances, observer)?,
            };
            with_lengths(tree, learner, distances, observer)
        }
        StructureInput::Moments { whole, halves } => from_moments(whole, halves, options, observer),
    }
}

fn from_moments(
    whole: &PairMoments,
    halves: Option<&[PairMoments; 2]>,
    options: &StructureOptions,
    observer: &dyn Observer,
) -> Result<LearnedStructure> {
    let p = whole.schema().variables().len();
    let estimator = choose_estimator(whole, &options.distances)?;
    let distances = learnable(p, estimator, &options.distances, |significance| {
        estimate(whole, &options.distances.significance(significance), observer)
    })?;
    let halves = halves.filter(|halves| halves.iter().all(|half| half.n_rows() > 0));
    let few_enough = (3..=MAX_FOR_LIKELIHOOD).contains(&p) && whole.effective_rows() >= MIN_ROWS;
    let learner = match options.learner {
        LearnerName::Auto if few_enough => LearnerName::Likelihood,
        LearnerName::Auto => LearnerName::ChowLiuNeighborJoining,
        other => other,
    };
    let mut learned = match learner {
        LearnerName::Likelihood => {
            let halves = halves.filter(|_| estimator == Estimator::Gaussian && p <= MAX_FOR_HALVES);
            likeliest(whole, halves, &distances, options, observer)?
        }
        LearnerName::ChowLiu => chow_liu(whole, &distances)?,
        LearnerName::HiddenChowLiu => {
            let spanning = chow_liu(whole, &distances)?;
            LearnedStructure { tree: hidden_chow_liu(&spanning.tree)?, learner, ..spanning }
        }
        LearnerName::Levels => return Err(levels_need_rows()),
        LearnerName::Chain => return Err(chain_needs_columns()),
        LearnerName::RegularisedNeighborJoining | LearnerName::RegularisedRecursiveGrouping => {
            return Err(Error::option(
                "structure.learner",
                "reg-clrg and reg-clnj compare models on rows, which are not available; learn from the data",
            ));
        }
        _ => {
            let tree = learner_for(learner, options, &distances).learn(&distances, observer)?;
            with_lengths(tree, learner, &distances, observer)?
        }
    };
    learned.estimator = Some(estimator);
    Ok(learned)
}

fn chain_needs_columns() -> Error {
    Error::option("structure.learner", "chain is the order of the columns of data; a distance matrix has none")
}

fn levels_need_rows() -> Error {
    Error::option("structure.learner", "levels needs rows to fit latent classes to; learn from the data")
}

/// A learner from distances, with the one threshold of contraction.
fn learner_for(name: LearnerName, options: &StructureOptions, distances: &DistanceMatrix) -> Box<dyn StructureLearner> {
    let threshold = options.contract.threshold(distances);
    let contraction = threshold.unwrap_or(0.0);
    let mut grouping = RecursiveGrouping::default().contraction(contraction);
    if let Some(epsilon) = options.epsilon {
        grouping = grouping.epsilon(epsilon);
    }
    if let Some(tau) = options.tau {
        grouping = grouping.tau(tau);
    }
    if let Some(linkage) = name.linkage() {
        return Box::new(linkage);
    }
    match name {
        LearnerName::SpectralNeighborJoining => Box::new(SpectralNeighborJoining::new().contract(threshold)),
        LearnerName::RecursiveGrouping => Box::new(grouping),
        LearnerName::ChowLiuRecursiveGrouping => {
            Box::new(ChowLiuRecursiveGrouping::default().local(grouping).contraction(contraction))
        }
        LearnerName::ChowLiuNeighborJoining => Box::new(ChowLiuNeighborJoining::default().contraction(contraction)),
        LearnerName::ChowLiuBlind => Box::new(ChowLiuBlind),
        LearnerName::ParallelLocalGrouping => Box::new(ParallelLocalGrouping::default().local(grouping).contraction(contraction)),
        LearnerName::NeighborJoining
        | LearnerName::Auto
        | LearnerName::Likelihood
        | LearnerName::ChowLiu
        | LearnerName::HiddenChowLiu
        | LearnerName::Levels
        | LearnerName::Chain
        | LearnerName::AverageLinkage
        | LearnerName::CompleteLinkage
        | LearnerName::SingleLinkage
        | LearnerName::RegularisedRecursiveGrouping
        | LearnerName::RegularisedNeighborJoining
        | LearnerName::Search
        | LearnerName::Given => Box::new(NeighborJoining::new().contract(threshold)),
    }
}

/// A learner's tree with lengths by least squares. Nothing is contracted: the learner has done that by its own lengths.
pub(crate) fn with_lengths(
    tree: Tree,
    learner: LearnerName,
    distances: &DistanceMatrix,
    observer: &dyn Observer,
) -> Result<LearnedStructure> {
    let mut tree = if learner == LearnerName::ChowLiu { tree } else { tree.minimal() };
    let mut converged = true;
    // The lengths of a dendrogram are its heights.
    if learner.linkage().is_some() {
        return Ok(LearnedStructure { tree: tree.relabel_hidden(), learner, estimator: None, penalty: None, converged });
    }
    // A fit looks at all pairs many times: with many variables the learner's own lengths stay.
    if learner != LearnerName::ChowLiu && distances.len() <= MAX_FOR_ALL_PAIRS {
        let fitted = least_squares_lengths(&tree, distances, observer)?;
        (tree, converged) = (fitted.tree, fitted.converged);
    }
    Ok(LearnedStructure { tree: tree.relabel_hidden(), learner, estimator: None, penalty: None, converged })
}

fn likeliest(
    whole: &PairMoments,
    halves: Option<&[PairMoments; 2]>,
    distances: &DistanceMatrix,
    options: &StructureOptions,
    observer: &dyn Observer,
) -> Result<LearnedStructure> {
    let samples = match halves {
        Some([first, second]) => Some([CorrelationSample::from_moments(first)?, CorrelationSample::from_moments(second)?]),
        None => None,
    };
    let rank = options.distances.n_hidden_states() - 1;
    let estimator = choose_estimator(whole, &options.distances)?;
    let sample = match estimator {
        Estimator::Gaussian => CorrelationSample::from_moments(whole)?,
        Estimator::Symmetric => CorrelationSample::from_distances(distances, 1, whole.effective_rows()),
        Estimator::Canonical | Estimator::LogDet => match determinants(whole, &options.distances, observer)? {
            Some(lower) => CorrelationSample::from_lower(distances.names().to_vec(), &lower, whole.effective_rows()),
            None => CorrelationSample::from_distances(distances, rank, whole.effective_rows()),
        },
        _ => CorrelationSample::from_distances(distances, rank, whole.effective_rows()),
    };
    let sample = sample.with_rows_of(whole);
    let spectral = match estimator {
        Estimator::Canonical | Estimator::LogDet => Some(&sample),
        _ => None,
    };
    let starts = starts(spectral, distances, options, observer)?;
    polished(&sample, samples.as_ref(), &starts, options, observer)
}

/// Two trees to start from: by spectral neighbour joining, of a sample's correlations if one is given, and by `clnj`; both
/// contracted as by default, as a threshold that is given is for the end.
fn starts(
    sample: Option<&CorrelationSample>,
    distances: &DistanceMatrix,
    options: &StructureOptions,
    observer: &dyn Observer,
) -> Result<[Tree; 2]> {
    let options = options.contraction(Contraction::ByInput);
    let by_name = |name: LearnerName| learner_for(name, &options, distances).learn(distances, observer);
    let spectral = match sample {
        None => by_name(LearnerName::SpectralNeighborJoining)?,
        Some(sample) => {
            // Pairs without a distance belong to different trees.
            let pairs = (0..distances.len()).flat_map(|i| (0..i).map(move |j| (i, j)));
            let known = |(i, j): (usize, usize)| distances.get(i, j).map_or(0.0, |_| sample.get(i, j));
            let affinities: Vec<f64> = pairs.map(known).collect();
            let learner = SpectralNeighborJoining::new().contract(options.contract.threshold(distances));
            learner.from_affinity(distances.names().to_vec(), &affinities, observer)?
        }
    };
    Ok([spectral, by_name(LearnerName::ChowLiuNeighborJoining)?])
}

/// The likeliest tree from some starts; its short edges are contracted if a threshold is given.
fn polished(
    sample: &CorrelationSample,
    halves: Option<&[CorrelationSample; 2]>,
    starts: &[Tree],
    options: &StructureOptions,
    observer: &dyn Observer,
) -> Result<LearnedStructure> {
    observer.stage("likelihood", None);
    let found = by_likelihood(starts, sample, halves, observer)?;
    let mut tree = found.tree.minimal();
    if let Contraction::UpTo(threshold) = options.contract {
        let contracted = contract_short(&tree, threshold);
        if contracted.n_nodes() < tree.n_nodes() {
            tree = likeliest_lengths(&contracted, sample);
        }
    }
    Ok(LearnedStructure {
        tree: tree.relabel_hidden(),
        learner: LearnerName::Likelihood,
        estimator: None,
        penalty: Some(found.penalty),
        converged: true,
    })
}

/// The Chow–Liu tree by mutual information where that is known, else by distances; edges of pairs without a distance are cut.
fn chow_liu(whole: &PairMoments, distances: &DistanceMatrix) -> Result<LearnedStructure> {
    let variables = whole.schema().variable_ixs().map(|ix| whole.schema().scalar_kind(ix).map(|kind| kind.n_states().is_none()));
    let kinds: Vec<Option<bool>> = variables.collect();
    let tree = if kinds.iter().all(|kind| kind.is_some() && *kind == kinds[0]) {
        let found = ChowLiu::from_moments(whole)?.tree;
        let mut tree = found.with_lengths(|edge| distances.get(edge.a.get(), edge.b.get()));
        for edge in found.edges().filter(|edge| distances.get(edge.a.get(), edge.b.get()).is_none()) {
            tree.disconnect(edge.a, edge.b);
        }
        tree
    } else {
        distance_spanning_tree(distances)
    };
    Ok(LearnedStructure { tree, learner: LearnerName::ChowLiu, estimator: None, penalty: None, converged: true })
}

/// The distances that learners see, from a function that estimates them with a given significance: for correlations of not too
/// many variables every pair's, within the components that significant ones make, else the significant ones.
fn learnable(
    p: usize,
    estimator: Estimator,
    options: &DistanceOptions,
    estimate: impl Fn(Option<f64>) -> Result<DistanceMatrix>,
) -> Result<DistanceMatrix> {
    let significant = estimate(options.significance_level())?;
    if estimator != Estimator::Gaussian || p > MAX_FOR_ALL_PAIRS || significant.n_undefined() == 0 {
        return Ok(significant);
    }
    let components = significant.components();
    drop(significant);
    let all = estimate(None)?;
    Ok(if components.len() > 1 { separated(all, &components) } else { all })
}

/// The matrix without the distances between components.
fn separated(distances: DistanceMatrix, components: &[Vec<usize>]) -> DistanceMatrix {
    let mut component = vec![0; distances.len()];
    for (number, members) in components.iter().enumerate() {
        members.iter().for_each(|&member| component[member] = number);
    }
    let pairs = (0..distances.len()).flat_map(|i| (0..i).map(move |j| (i, j)));
    let is_kept: Vec<bool> = pairs.map(|(i, j)| component[i] == component[j]).collect();
    let kept = |values: &[f64]| values.iter().zip(&is_kept).map(|(value, kept)| if *kept { *value } else { f64::NAN }).collect();
    let (values, errors) = (kept(distances.lower()), distances.lower_errors().map(kept));
    DistanceMatrix::from_lower(distances.names().to_vec(), values, errors).expect("some of valid distances are valid")
}

/// What a bootstrap draws from.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Resampling<'a> {
    /// Blocks of rows, drawn with replacement.
    Blocks(&'a BlockMoments),
    /// Moments of all rows: correlations are drawn from their Wishart distribution.
    Moments(&'a PairMoments),
}

/// The learned tree with the share of replicates, learned the same way, that have each edge's split; see
/// [`with_bootstrap_support`].
///
/// # Errors
/// [`Error::Option`] if there are no replicates; [`Error::Data`] if only moments are given and their distances are not those of
/// correlations; those of learning; [`Error::Cancelled`].
pub fn bootstrap_structure(
    learned: &LearnedStructure,
    resampling: Resampling<'_>,
    options: &StructureOptions,
    n_replicates: usize,
    seed: u64,
    observer: &dyn Observer,
) -> Result<Tree> {
    let same = options.learner(learned.learner);
    match resampling {
        Resampling::Blocks(blocks) => with_bootstrap_support(&learned.tree, n_replicates, seed, observer, |rng| {
            let halves = drawn_halves(blocks, rng)?;
            let mut whole = halves[0].clone();
            whole.merge(halves[1].clone())?;
            let input = StructureInput::Moments { whole: &whole, halves: Some(&halves) };
            Ok(learn_structure(input, &same, &Quiet(observer))?.tree)
        }),
        Resampling::Moments(moments) => {
            if learned.estimator != Some(Estimator::Gaussian) {
                let named = learned.estimator.map_or("given", Estimator::name);
                let problem =
                    format!("a bootstrap of {named} distances needs rows; moments alone support only gaussian distances");
                return Err(Error::data(Place::default(), problem));
            }
            let sample = CorrelationSample::from_moments(moments)?;
            let wishart = WishartCorrelations::new(&sample)?;
            with_bootstrap_support(&learned.tree, n_replicates, seed, observer, |rng| {
                let lower = wishart.draw(rng);
                let drawn = learnable(sample.names().len(), Estimator::Gaussian, &options.distances, |significance| {
                    let distances = options.distances.errors(true).significance(significance);
                    from_correlations(sample.names().to_vec(), &lower, sample.rows(), &distances)
                })?;
                if learned.learner == LearnerName::Likelihood {
                    let correlations = CorrelationSample::from_lower(sample.names().to_vec(), &lower, sample.rows());
                    let starts = starts(None, &drawn, &same, &Quiet(observer))?;
                    return Ok(polished(&correlations, None, &starts, &same, &Quiet(observer))?.tree);
                }
                Ok(learn_structure(StructureInput::Distances(&drawn), &same, &Quiet(observer))?.tree)
            })
        }
    }
}

/// What a user should know of a forest, and why it is one: how many trees there are, and which variables stand alone.
#[must_use]
pub fn describe_forest(tree: &Tree, why: &str) -> Option<String> {
    describe_forest_without(tree, why, &|_| false)
}

/// The same without some variables, of which something else is said.
pub(crate) fn describe_forest_without(tree: &Tree, why: &str, is_left_out: &dyn Fn(crate::NodeIx) -> bool) -> Option<String> {
    let alone = || tree.node_ixs().filter(|&node| tree.degree(node) == 0);
    let n_trees = tree.n_components();
    if n_trees - alone().filter(|&node| is_left_out(node)).count() < 2 {
        return None;
    }
    let alone: Vec<_> = alone().filter(|&node| !is_left_out(node)).collect();
    let names: Vec<String> = alone.iter().take(5).map(|&node| format!("{:?}", Shortened(tree.name(node)))).collect();
    let more = if alone.len() > names.len() { format!(" and {} more", alone.len() - names.len()) } else { String::new() };
    let lonely = match alone.len() {
        0 => String::new(),
        1 => format!("; {} stands alone", names[0]),
        _ => format!("; {}{more} stand alone", names.join(", ")),
    };
    Some(format!("{n_trees} separate trees{why}{lonely}"))
}

#[cfg(test)]
mod tests;
