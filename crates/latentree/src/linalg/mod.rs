//! The shared floor of numbers: algorithms on small dense arrays.

mod cholesky;
mod hungarian;

pub use cholesky::Cholesky;
pub use hungarian::cheapest_assignment;
