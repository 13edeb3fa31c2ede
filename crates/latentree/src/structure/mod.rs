//! Stage 4, structure: from pair statistics to a tree.
//!
//! One file per learner.

mod chow_liu;
mod contraction;
mod learner;
mod spanning_tree;

pub use chow_liu::ChowLiu;
pub use contraction::{DEFAULT_CONTRACTION, contract_short};
pub use learner::{StructureLearner, completed};
pub use spanning_tree::minimum_spanning_forest;
