//! Lengths of edges: by least squares, averaged while nodes are joined, and which of them are too short to keep.

mod averaged_distances;
mod contraction;
mod edge_lengths;
mod thresholds;

pub(super) use averaged_distances::AveragedDistances;
pub use contraction::{DEFAULT_CONTRACTION, contract_short};
pub use edge_lengths::{FittedLengths, least_squares_lengths};
pub(super) use thresholds::{contraction_threshold, rounding_error};
