//! Stage 4, structure: from pair statistics to a tree.
//!
//! [`learn_structure`] chooses and runs a learner. One file per learner: those from distances implement [`StructureLearner`]; [`by_likelihood`]
//! polishes their trees. [`least_squares_lengths`] fits lengths, [`bootstrap_structure`] tells how sure each split is.

mod affinity;
mod averaged_distances;
mod bootstrap;
mod candidates;
mod chow_liu;
mod chow_liu_grouping;
mod clblind;
mod clnj;
mod clrg;
mod contraction;
mod distance_spanning_tree;
mod edge_lengths;
mod gaussian_tree;
#[cfg(test)]
mod grouping_tests;
mod joined_tree;
mod learn;
mod learner;
mod learner_name;
mod likelihood;
mod local_star;
mod local_subtree;
mod neighbor_joining;
mod pair_rows;
mod parallel_local_grouping;
mod polish;
mod rearrangements;
mod recursive_grouping;
mod spanning_tree;
mod spectral_neighbor_joining;
#[cfg(test)]
mod test_trees;
mod thresholds;
mod top_down;

pub use bootstrap::{WishartCorrelations, drawn_halves, with_bootstrap_support};
pub use candidates::{Candidate, apply};
pub use chow_liu::ChowLiu;
pub use chow_liu_grouping::candidates;
pub use clblind::ChowLiuBlind;
pub use clnj::ChowLiuNeighborJoining;
pub use clrg::ChowLiuRecursiveGrouping;
pub use contraction::{DEFAULT_CONTRACTION, contract_short};
pub use distance_spanning_tree::distance_spanning_tree;
pub use edge_lengths::{FittedLengths, least_squares_lengths};
pub(crate) use learn::with_lengths;
pub use learn::{
    FEWEST_ROWS, LearnedStructure, MOST_FOR_ALL_PAIRS, MOST_FOR_HALVES, MOST_FOR_LIKELIHOOD, Resampling, StructureInput,
    StructureOptions, bootstrap_structure, describe_forest, learn_structure,
};
pub use learner::{StructureLearner, completed};
pub use learner_name::{Contraction, LearnerName};
pub use likelihood::{CorrelationSample, LikelihoodTree, by_likelihood, likeliest_lengths, maximum_likelihood};
pub use neighbor_joining::NeighborJoining;
pub use parallel_local_grouping::ParallelLocalGrouping;
pub(crate) use rearrangements::gaussian_comparisons;
pub use recursive_grouping::RecursiveGrouping;
pub use spanning_tree::minimum_spanning_forest;
pub use spectral_neighbor_joining::SpectralNeighborJoining;
pub use top_down::TopDown;
