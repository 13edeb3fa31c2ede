//! The shared floor of numbers: algorithms on small dense arrays.

mod fiedler;
mod hungarian;
#[cfg(test)]
mod singular_values;

pub use fiedler::{Fiedler, fiedler_vector};
pub use hungarian::cheapest_assignment;
#[cfg(test)]
pub(crate) use singular_values::singular_values;
