//! The shared floor of numbers: algorithms on small dense arrays, and the one importer of the linear algebra library.

mod cholesky;
mod hungarian;
mod jacobi;
mod range_finder;
mod symmetric;

pub use cholesky::Cholesky;
pub use hungarian::cheapest_assignment;
pub use jacobi::{Svd, jacobi_svd};
pub use range_finder::{DenseOperator, LinearOperator, leading_singular_values};
pub use symmetric::symmetric_eigen;
