//! Structure: from pair statistics to a tree.
//!
//! [`learn_structure`] chooses and runs a learner. Its parts, each of which uses only those before it, are `lengths` of edges
//! ([`least_squares_lengths`], [`contract_short`]); `learners`, one file each, where distance-based learners implement
//! [`StructureLearner`]; `likelihood`, which polishes their trees ([`by_likelihood`]); and `bootstrap`, which computes the
//! support of each split ([`bootstrap_structure`]).

mod bootstrap;
mod learn;
mod learner_name;
mod learners;
mod lengths;
pub(crate) mod likelihood;
#[cfg(test)]
mod test_trees;

pub use bootstrap::{WishartCorrelations, drawn_halves, with_bootstrap_support};
pub use learn::{
    LearnedStructure, MAX_FOR_ALL_PAIRS, MAX_FOR_HALVES, MAX_FOR_LIKELIHOOD, MIN_ROWS, Resampling, StructureInput,
    StructureOptions, bootstrap_structure, describe_forest, learn_structure,
};
pub(crate) use learn::{describe_forest_without, with_lengths};
pub use learner_name::{Contraction, LearnerName};
pub use learners::{
    Candidate, ChowLiu, ChowLiuBlind, ChowLiuNeighborJoining, ChowLiuRecursiveGrouping, Linkage, NeighborJoining,
    ParallelLocalGrouping, RecursiveGrouping, SpectralNeighborJoining, StructureLearner, TopDown, apply, candidates, chain,
    completed, distance_spanning_tree, hidden_chow_liu, minimum_spanning_forest,
};
pub use lengths::{DEFAULT_CONTRACTION, FittedLengths, contract_short, least_squares_lengths};
pub use likelihood::{CorrelationSample, LikelihoodTree, by_likelihood, likeliest_lengths, maximum_likelihood};
