//! What accumulators of plain sums share.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Adds sums of the same shapes.
pub(crate) fn add_all(own: &mut [Vec<f64>], other: &[Vec<f64>]) {
    own.iter_mut().flatten().zip(other.iter().flatten()).for_each(|(own, other)| *own += other);
}

/// The error of merging statistics of different things.
pub(crate) fn mismatch() -> Error {
    let (left, right) = ("statistics".to_owned(), "statistics".to_owned());
    Error::Mismatch { left, right, problem: "they are of different trees, views or columns".to_owned() }
}

/// An accumulator as bytes.
pub(crate) fn to_bytes(it: &impl Serialize) -> Result<Vec<u8>> {
    serde_json::to_vec(it).map_err(|error| Error::option("statistics", error.to_string()))
}

/// An accumulator from its bytes.
pub(crate) fn from_bytes<T: for<'de> Deserialize<'de>>(bytes: &[u8]) -> Result<T> {
    serde_json::from_slice(bytes).map_err(|error| Error::option("statistics", format!("the bytes cannot be read: {error}")))
}
