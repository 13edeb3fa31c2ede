//! One-sided Jacobi: the singular value decomposition of a small dense matrix, to full relative accuracy.
//!
//! Rows (or columns, whichever are fewer) are rotated in pairs until all are orthogonal; their lengths are then the singular
//! values. Slower than bidiagonalisation for large matrices but short, deterministic, and exact to the last digits also for
//! small singular values, which the logarithms of distances need. Demmel and Veselić (1992), "Jacobi's method is more accurate
//! than QR".

/// Singular values in falling order with their vectors: `matrix = Σ_i values[i] · left_i · right_iᵀ`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Svd {
    /// Singular values, largest first.
    pub(crate) values: Vec<f64>,
    left: Vec<f64>,
    right: Vec<f64>,
    n_rows: usize,
    n_cols: usize,
}

impl Svd {
    pub(super) fn from_parts(values: Vec<f64>, left: Vec<f64>, right: Vec<f64>, n_rows: usize, n_cols: usize) -> Self {
        Self { values, left, right, n_rows, n_cols }
    }

    /// The left vector of the `ix`-th singular value; zeros may stand for that of a singular value 0.
    #[must_use]
    pub(crate) fn left(&self, ix: usize) -> &[f64] {
        &self.left[ix * self.n_rows..(ix + 1) * self.n_rows]
    }

    /// The right vector of the `ix`-th singular value; zeros may stand for that of a singular value 0.
    #[must_use]
    pub(crate) fn right(&self, ix: usize) -> &[f64] {
        &self.right[ix * self.n_cols..(ix + 1) * self.n_cols]
    }
}

/// Rounds of rotations after which the result is taken as it is; a dozen suffice for any matrix of use.
const MAX_SWEEPS: usize = 60;

/// All `min(n_rows, n_cols)` singular values and vectors of a matrix given row by row.
///
/// # Panics
/// If the matrix has another number of cells.
///
/// # Complexity
/// O(s² l) for each of about ten rounds, with s the smaller and l the larger side.
#[must_use]
pub(crate) fn jacobi_svd(matrix: &[f64], n_rows: usize, n_cols: usize) -> Svd {
    assert_eq!(matrix.len(), n_rows * n_cols, "the matrix has its cells");
    let transposed = n_rows > n_cols;
    let (count, length) = if transposed { (n_cols, n_rows) } else { (n_rows, n_cols) };
    let mut vectors = matrix.to_vec();
    if transposed {
        for row in 0..n_rows {
            for col in 0..n_cols {
                vectors[col * n_rows + row] = matrix[row * n_cols + col];
            }
        }
    }
    let mut rotation = vec![0.0; count * count];
    (0..count).for_each(|ix| rotation[ix * count + ix] = 1.0);
    let total: f64 = vectors.iter().map(|value| value * value).sum();
    for _ in 0..MAX_SWEEPS {
        let mut rotated = false;
        for p in 0..count {
            for q in p + 1..count {
                rotated |= orthogonalise(&mut vectors, &mut rotation, (p, q), (length, count), total);
            }
        }
        if !rotated {
            break;
        }
    }
    let lengths: Vec<f64> = vectors.chunks_exact(length.max(1)).map(|it| it.iter().map(|x| x * x).sum::<f64>().sqrt()).collect();
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|&a, &b| lengths[b].total_cmp(&lengths[a]).then(a.cmp(&b)));
    let values: Vec<f64> = order.iter().map(|&ix| lengths[ix]).collect();
    let mut short = Vec::with_capacity(count * count);
    let mut long = Vec::with_capacity(count * length);
    for &ix in &order {
        short.extend_from_slice(&rotation[ix * count..(ix + 1) * count]);
        let scale = if lengths[ix] > 0.0 { 1.0 / lengths[ix] } else { 0.0 };
        long.extend(vectors[ix * length..(ix + 1) * length].iter().map(|x| x * scale));
    }
    let (left, right) = if transposed { (long, short) } else { (short, long) };
    Svd { values, left, right, n_rows, n_cols }
}

/// Rotates two vectors so that they are orthogonal; whether they were not.
fn orthogonalise(
    vectors: &mut [f64],
    rotation: &mut [f64],
    (p, q): (usize, usize),
    (length, count): (usize, usize),
    total: f64,
) -> bool {
    let (head, tail) = vectors.split_at_mut(q * length);
    let (first, second) = (&mut head[p * length..(p + 1) * length], &mut tail[..length]);
    let (mut alpha, mut beta, mut gamma) = (0.0, 0.0, 0.0);
    for (x, y) in first.iter().zip(second.iter()) {
        alpha += x * x;
        beta += y * y;
        gamma += x * y;
    }
    // What is left of a vector of rounding errors points anywhere: it need not be turned.
    if gamma.abs() <= 1e-15 * (alpha * beta).sqrt() || alpha.min(beta) <= 1e-34 * total {
        return false;
    }
    let zeta = (beta - alpha) / (2.0 * gamma);
    let tangent = zeta.signum() / (zeta.abs() + (1.0 + zeta * zeta).sqrt());
    let cosine = 1.0 / (1.0 + tangent * tangent).sqrt();
    let sine = cosine * tangent;
    let turn = |first: &mut [f64], second: &mut [f64]| {
        for (x, y) in first.iter_mut().zip(second.iter_mut()) {
            (*x, *y) = (cosine * *x - sine * *y, sine * *x + cosine * *y);
        }
    };
    turn(first, second);
    let (head, tail) = rotation.split_at_mut(q * count);
    turn(&mut head[p * count..(p + 1) * count], &mut tail[..count]);
    true
}

#[cfg(test)]
mod tests {
    use nalgebra::DMatrix;
    use rand::{RngExt, SeedableRng};

    use super::*;

    #[test]
    fn the_decomposition_is_that_of_another_library_and_multiplies_back() {
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
        for trial in 0..200 {
            let (m, n, rank) = (1 + trial % 9, 1 + trial / 9 % 7, 1 + trial % 4);
            let left = DMatrix::from_fn(m, rank, |_, _| rng.random_range(-1.0..1.0));
            let right = DMatrix::from_fn(rank, n, |_, _| rng.random_range(-1.0..1.0));
            let matrix: DMatrix<f64> = left * right;
            let cells: Vec<f64> = matrix.transpose().iter().copied().collect();
            let svd = jacobi_svd(&cells, m, n);
            let mut expected: Vec<f64> = matrix.singular_values().iter().copied().collect();
            expected.sort_by(|a, b| b.total_cmp(a));
            for (value, expected) in svd.values.iter().zip(&expected) {
                assert!((value - expected).abs() < 1e-12, "{:?} {expected:?}", svd.values);
            }
            for row in 0..m {
                for col in 0..n {
                    let sum: f64 = (0..m.min(n)).map(|ix| svd.values[ix] * svd.left(ix)[row] * svd.right(ix)[col]).sum();
                    assert!((sum - matrix[(row, col)]).abs() < 1e-13);
                }
            }
        }
    }

    #[test]
    fn small_singular_values_keep_their_digits() {
        // diag(1, 1e-9) between rotations by 0.3 and 1.1.
        let ((s, c), (t, d)) = (0.3_f64.sin_cos(), 1.1_f64.sin_cos());
        let matrix = [c * d + 1e-9 * s * t, c * t - 1e-9 * s * d, s * d - 1e-9 * c * t, s * t + 1e-9 * c * d];
        let svd = jacobi_svd(&matrix, 2, 2);
        assert!((svd.values[0] - 1.0).abs() < 1e-15 && (svd.values[1] / 1e-9 - 1.0).abs() < 1e-6, "{:?}", svd.values);
    }

    #[test]
    fn empty_and_zero_matrices_have_no_or_zero_values() {
        assert!(jacobi_svd(&[], 0, 3).values.is_empty());
        assert_eq!(jacobi_svd(&[0.0; 6], 2, 3).values, [0.0, 0.0]);
    }
}
