//! Parameters: from a tree and statistics to a model.
//!
//! [`from_lengths`] is for families whose tables are given by distances: Gaussian trees and symmetric discrete ones.

mod from_lengths;

pub use from_lengths::{FamilyByLengths, family_by_lengths, from_lengths, gaussian_log_likelihood};
