//! The shared floor of numbers: algorithms on small dense arrays, and the one importer of the linear algebra library.

mod cholesky;
mod fiedler;
mod hungarian;
mod jacobi;
mod matrix;
mod range_finder;
#[cfg(test)]
mod singular_values;
mod symmetric;

pub use cholesky::Cholesky;
pub use fiedler::{Fiedler, fiedler_vector};
pub use hungarian::cheapest_assignment;
pub use jacobi::{Svd, jacobi_svd};
pub use matrix::Matrix;
pub(crate) use range_finder::orthonormalise;
pub use range_finder::{DenseOperator, LinearOperator, leading_singular_values};
#[cfg(test)]
pub(crate) use singular_values::singular_values;
pub use symmetric::symmetric_eigen;
