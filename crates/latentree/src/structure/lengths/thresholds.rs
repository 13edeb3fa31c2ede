//! Default thresholds of learners.

use super::DEFAULT_CONTRACTION;
use crate::distance::DistanceMatrix;

/// What may be a rounding error in sums and differences of these distances.
pub(in crate::structure) fn rounding_error(distances: &DistanceMatrix) -> f64 {
    1e-9 * distances.lower().iter().copied().fold(0.0, f64::max).min(1e100)
}

/// The length up to which edges are contracted: the given one, or else −ln 0.9 for estimated distances and a rounding error for
/// exact ones, which are those without standard errors.
pub(in crate::structure) fn contraction_threshold(given: Option<f64>, distances: &DistanceMatrix) -> f64 {
    given.unwrap_or_else(|| if distances.has_errors() { DEFAULT_CONTRACTION } else { rounding_error(distances) })
}
