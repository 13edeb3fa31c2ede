//! Stage 4, structure: from pair statistics to a tree.
//!
//! One file per learner.

mod chow_liu;
mod learner;
mod spanning_tree;

pub use chow_liu::ChowLiu;
pub use learner::{StructureLearner, completed};
pub use spanning_tree::minimum_spanning_forest;
