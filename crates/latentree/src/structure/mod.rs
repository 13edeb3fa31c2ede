//! Stage 4, structure: from pair statistics to a tree.
//!
//! One file per learner.

mod chow_liu;
mod gaussian_tree;
mod learner;
mod likelihood;
mod local_star;
mod polish;
mod spanning_tree;

pub use chow_liu::ChowLiu;
pub use learner::{StructureLearner, completed};
pub use likelihood::{CorrelationSample, LikelihoodTree, by_likelihood, maximum_likelihood};
pub use spanning_tree::minimum_spanning_forest;
