//! Eigenvalues of symmetric matrices.

use nalgebra::{DMatrix, SymmetricEigen};

/// Eigenvalues and eigenvectors of a symmetric matrix given row by row: the `i`-th vector is `vectors[i·n..(i+1)·n]`. The
/// order is not specified. `None` if a cell is not finite or the iteration does not converge.
///
/// # Panics
/// If the matrix is not square.
///
/// # Complexity
/// O(n³).
#[must_use]
pub(crate) fn symmetric_eigen(matrix: &[f64], n: usize) -> Option<(Vec<f64>, Vec<f64>)> {
    assert_eq!(matrix.len(), n * n, "the matrix is square");
    if matrix.iter().any(|cell| !cell.is_finite()) {
        return None;
    }
    // nalgebra panics at an empty matrix.
    if n == 0 {
        return Some((Vec::new(), Vec::new()));
    }
    let eigen = SymmetricEigen::try_new(DMatrix::from_row_slice(n, n, matrix), f64::EPSILON, 1000 * n)?;
    // Columns of nalgebra's matrices are stored one after the other.
    Some((eigen.eigenvalues.iter().copied().collect(), eigen.eigenvectors.iter().copied().collect()))
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};

    use super::symmetric_eigen;

    #[test]
    fn eigenvectors_multiply_back_to_the_matrix() {
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(5);
        for n in 1..12 {
            let mut matrix = vec![0.0; n * n];
            for i in 0..n {
                for j in 0..=i {
                    let value = rng.random_range(-1.0..1.0);
                    (matrix[i * n + j], matrix[j * n + i]) = (value, value);
                }
            }
            let (values, vectors) = symmetric_eigen(&matrix, n).unwrap();
            for i in 0..n {
                for j in 0..n {
                    let sum: f64 = (0..n).map(|k| values[k] * vectors[k * n + i] * vectors[k * n + j]).sum();
                    assert!((sum - matrix[i * n + j]).abs() < 1e-12);
                }
            }
        }
        assert!(symmetric_eigen(&[f64::NAN], 1).is_none());
        assert_eq!(symmetric_eigen(&[], 0), Some((Vec::new(), Vec::new())));
    }
}
