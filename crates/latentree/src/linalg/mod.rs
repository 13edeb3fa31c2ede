//! The shared floor of numbers: algorithms on small dense arrays.

mod hungarian;

pub use hungarian::cheapest_assignment;
