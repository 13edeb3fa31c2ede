//! Parameters: from a tree and statistics to a model.
//!
//! [`from_lengths`] handles families whose tables follow from distances: Gaussian trees and symmetric discrete ones.
//! [`by_moments`] handles discrete hidden nodes over any leaves, with tensor decompositions and linear solves. [`em`] fits all
//! families by EM.

mod aligned_triplets;
mod branches;
mod by_moments;
mod discrete_tree;
pub mod em;
mod from_lengths;
mod from_pairs;
mod hidden_fit;
pub(crate) mod local_pairs;
mod node_states;
mod number_states;
pub(crate) mod observed_edges;
mod options;
mod pair_fit;
mod private_triples;
mod projection;
pub(crate) mod summaries;
pub(crate) mod summary_triples;
#[cfg(test)]
mod tests;
mod tree_moments;

pub use aligned_triplets::{Alignment, by_aligned_triplets};
pub(crate) use by_moments::independent;
pub use by_moments::{MomentModel, MomentOptions, by_moments};
pub(crate) use discrete_tree::discrete_roots;
pub use discrete_tree::discrete_tree;
pub use from_lengths::{FamilyByLengths, family_by_lengths, from_lengths, gaussian_log_likelihood};
pub(crate) use from_pairs::by_moments_of_pairs;
pub use node_states::NodeStates;
pub use options::{HiddenStates, ParameterMethod, ParameterOptions};
pub use private_triples::PrivateTriples;
pub(crate) use private_triples::{PrivateTables, column_summaries};
pub use tree_moments::TreeMoments;
