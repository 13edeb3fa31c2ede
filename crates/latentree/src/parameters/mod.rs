//! Parameters: from a tree and statistics to a model.
//!
//! [`by_moments`] is for discrete hidden nodes: tensor decompositions and linear solves.

mod branches;
mod by_moments;
mod local_pairs;
mod summaries;
#[cfg(test)]
mod tests;

pub use by_moments::{MomentModel, MomentOptions, by_moments};
