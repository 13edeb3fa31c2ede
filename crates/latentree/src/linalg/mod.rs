//! Linear algebra: algorithms on small dense arrays. Only this module imports the linear algebra library.

mod cholesky;
mod fiedler;
mod hungarian;
mod jacobi;
mod leading_eigen;
mod matrix;
mod range_finder;
#[cfg(test)]
mod singular_values;
mod symmetric;

pub use cholesky::Cholesky;
pub(crate) use fiedler::fiedler_vector;
pub use hungarian::cheapest_assignment;
pub(crate) use jacobi::{Svd, jacobi_svd};
pub(crate) use leading_eigen::LeadingEigen;
pub use matrix::Matrix;
pub(crate) use range_finder::{DenseOperator, LinearOperator, leading_singular_values, orthonormalise};
#[cfg(test)]
pub(crate) use singular_values::singular_values;
pub(crate) use symmetric::symmetric_eigen;
