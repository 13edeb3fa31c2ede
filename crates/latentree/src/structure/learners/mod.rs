//! Learners of trees, one file each, and what they share. Those from distances implement [`StructureLearner`].

mod affinity;
mod candidates;
mod chain;
mod chow_liu;
mod chow_liu_grouping;
mod clblind;
mod clnj;
mod clrg;
mod distance_spanning_tree;
#[cfg(test)]
mod grouping_tests;
mod hidden_chow_liu;
mod joined_tree;
mod learner;
mod linkage;
mod local_subtree;
mod neighbor_joining;
mod parallel_local_grouping;
mod recursive_grouping;
mod spanning_tree;
mod spectral_neighbor_joining;
mod top_down;

#[cfg(test)]
use super::test_trees;
pub use candidates::{Candidate, apply};
pub use chain::chain;
pub use chow_liu::ChowLiu;
pub use chow_liu_grouping::candidates;
pub use clblind::ChowLiuBlind;
pub use clnj::ChowLiuNeighborJoining;
pub use clrg::ChowLiuRecursiveGrouping;
pub use distance_spanning_tree::distance_spanning_tree;
pub use hidden_chow_liu::hidden_chow_liu;
pub use learner::{StructureLearner, completed};
pub use linkage::Linkage;
pub use neighbor_joining::NeighborJoining;
pub use parallel_local_grouping::ParallelLocalGrouping;
pub use recursive_grouping::RecursiveGrouping;
pub use spanning_tree::minimum_spanning_forest;
pub use spectral_neighbor_joining::SpectralNeighborJoining;
pub use top_down::TopDown;
