//! Stage 4, structure: from pair statistics to a tree.
//!
//! One file per learner.

mod affinity;
mod averaged_distances;
mod chow_liu;
mod gaussian_tree;
mod learner;
mod likelihood;
mod local_star;
mod polish;
mod contraction;
mod joined_tree;
mod neighbor_joining;
mod spanning_tree;
mod spectral_neighbor_joining;
#[cfg(test)]
mod test_trees;
mod top_down;

pub use chow_liu::ChowLiu;
pub use contraction::{DEFAULT_CONTRACTION, contract_short};
pub use learner::{StructureLearner, completed};
pub use likelihood::{CorrelationSample, LikelihoodTree, by_likelihood, maximum_likelihood};
pub use neighbor_joining::NeighborJoining;
pub use spanning_tree::minimum_spanning_forest;
pub use spectral_neighbor_joining::SpectralNeighborJoining;
pub use top_down::TopDown;
