//! Singular values of a small matrix, as an oracle for tests.

use nalgebra::DMatrix;

/// Singular values of a matrix given row by row, largest first.
pub(crate) fn singular_values(values: &[f64], n_rows: usize, n_columns: usize) -> Vec<f64> {
    let mut values: Vec<f64> = DMatrix::from_row_slice(n_rows, n_columns, values).singular_values().iter().copied().collect();
    values.sort_by(|a, b| b.total_cmp(a));
    values
}
