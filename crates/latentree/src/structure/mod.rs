//! Stage 4, structure: from pair statistics to a tree.
//!
//! One file per learner. Those from distances implement [`StructureLearner`]; [`by_likelihood`] polishes their trees.

mod affinity;
mod averaged_distances;
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
mod learner;
mod likelihood;
mod local_star;
mod local_subtree;
mod neighbor_joining;
mod parallel_local_grouping;
mod polish;
mod recursive_grouping;
mod spanning_tree;
mod spectral_neighbor_joining;
#[cfg(test)]
mod test_trees;
mod thresholds;
mod top_down;

pub use candidates::{Candidate, apply};
pub use chow_liu::ChowLiu;
pub use chow_liu_grouping::candidates;
pub use clblind::ChowLiuBlind;
pub use clnj::ChowLiuNeighborJoining;
pub use clrg::ChowLiuRecursiveGrouping;
pub use contraction::{DEFAULT_CONTRACTION, contract_short};
pub use distance_spanning_tree::distance_spanning_tree;
pub use edge_lengths::{FittedLengths, least_squares_lengths};
pub use learner::{StructureLearner, completed};
pub use likelihood::{CorrelationSample, LikelihoodTree, by_likelihood, maximum_likelihood};
pub use neighbor_joining::NeighborJoining;
pub use parallel_local_grouping::ParallelLocalGrouping;
pub use recursive_grouping::RecursiveGrouping;
pub use spanning_tree::minimum_spanning_forest;
pub use spectral_neighbor_joining::SpectralNeighborJoining;
pub use top_down::TopDown;
