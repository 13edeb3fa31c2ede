//! The leading singular values of a matrix that is only ever multiplied with vectors.
//!
//! A random start of a few more vectors than wanted is multiplied with the matrix and its transpose in turn and made orthonormal
//! each time; the range it spans turns to the leading singular vectors. Halko, Martinsson and Tropp (2011), algorithm 4.4, with
//! the number of rounds decided by the values themselves. For a matrix whose rank is at most the number of vectors the first
//! round is exact.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use super::jacobi::{Svd, jacobi_svd};

/// A matrix known by its products with vectors.
pub(crate) trait LinearOperator {
    /// Length of its columns.
    fn n_rows(&self) -> usize;

    /// Length of its rows.
    fn n_cols(&self) -> usize;

    /// `out = A x`.
    fn apply(&self, x: &[f64], out: &mut [f64]);

    /// `out = Aᵀ x`.
    fn apply_transposed(&self, x: &[f64], out: &mut [f64]);
}

/// A dense matrix, row by row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DenseOperator<'a> {
    /// The cells.
    pub(crate) cells: &'a [f64],
    /// Length of a row.
    pub(crate) n_cols: usize,
}

impl LinearOperator for DenseOperator<'_> {
    fn n_rows(&self) -> usize {
        self.cells.len().checked_div(self.n_cols).unwrap_or(0)
    }

    fn n_cols(&self) -> usize {
        self.n_cols
    }

    fn apply(&self, x: &[f64], out: &mut [f64]) {
        for (out, row) in out.iter_mut().zip(self.cells.chunks_exact(self.n_cols)) {
            *out = dot(row, x);
        }
    }

    fn apply_transposed(&self, x: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        for (x, row) in x.iter().zip(self.cells.chunks_exact(self.n_cols)) {
            out.iter_mut().zip(row).for_each(|(out, cell)| *out += x * cell);
        }
    }
}

/// Vectors besides those wanted.
const EXTRA: usize = 8;
/// Rounds after which the values are taken as they are: their spectrum is flat, and they are noise to this accuracy.
const MAX_ROUNDS: usize = 60;
/// Relative change of all wanted values between rounds at which they have settled.
const SETTLED: f64 = 1e-9;

/// The `wanted` largest singular values, with their vectors, of an operator; fewer if it has not as many. The same seed gives the
/// same bits.
///
/// # Complexity
/// Per round `wanted + 8` products with the operator and its transpose, and O((wanted + 8)² (rows + columns)).
#[must_use]
pub(crate) fn leading_singular_values(operator: &dyn LinearOperator, wanted: usize, seed: u64) -> Svd {
    let (n_rows, n_cols) = (operator.n_rows(), operator.n_cols());
    let wanted = wanted.min(n_rows).min(n_cols);
    let width = (wanted + EXTRA).min(n_rows).min(n_cols);
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut right: Vec<Vec<f64>> = (0..width).map(|_| (0..n_cols).map(|_| StandardNormal.sample(&mut rng)).collect()).collect();
    orthonormalise(&mut right);
    let mut left = vec![vec![0.0; n_rows]; width];
    let mut before: Vec<f64> = Vec::new();
    let mut inner = jacobi_svd(&[], 0, 0);
    for _ in 0..MAX_ROUNDS {
        left.iter_mut().zip(&right).for_each(|(left, right)| operator.apply(right, left));
        orthonormalise(&mut left);
        left.iter().zip(&mut right).for_each(|(left, right)| operator.apply_transposed(left, right));
        // Now A ≈ Q (AᵀQ)ᵀ = Q Rᵀ Zᵀ with AᵀQ = Z R.
        let triangle = orthonormalise(&mut right);
        inner = jacobi_svd(&triangle, width, width);
        let values = &inner.values[..wanted];
        let settled = before.len() == wanted
            && values.iter().zip(&before).all(|(value, before)| (value - before).abs() <= SETTLED * value.max(1e-12 * values[0]));
        if settled || wanted == 0 {
            break;
        }
        before = values.to_vec();
    }
    // R = Σ s a bᵀ gives A ≈ Σ s (Q b)(Z a)ᵀ.
    let combine = |basis: &[Vec<f64>], weights: &[f64], out: &mut Vec<f64>, length: usize| {
        let start = out.len();
        out.resize(start + length, 0.0);
        for (vector, weight) in basis.iter().zip(weights) {
            out[start..].iter_mut().zip(vector).for_each(|(out, x)| *out += weight * x);
        }
    };
    let (mut lefts, mut rights) = (Vec::new(), Vec::new());
    for ix in 0..wanted {
        combine(&left, inner.right(ix), &mut lefts, n_rows);
        combine(&right, inner.left(ix), &mut rights, n_cols);
    }
    Svd::from_parts(inner.values[..wanted].to_vec(), lefts, rights, n_rows, n_cols)
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// Makes vectors orthonormal, by Gram–Schmidt done twice; dependent ones become zero. Returns the upper triangle R, row by
/// row, of `before = after · R`.
pub(crate) fn orthonormalise(vectors: &mut [Vec<f64>]) -> Vec<f64> {
    let width = vectors.len();
    let mut triangle = vec![0.0; width * width];
    for ix in 0..width {
        let (done, rest) = vectors.split_at_mut(ix);
        let vector = &mut rest[0];
        let before = dot(vector, vector).sqrt();
        for _ in 0..2 {
            for (other_ix, other) in done.iter().enumerate() {
                let along = dot(other, vector);
                triangle[other_ix * width + ix] += along;
                vector.iter_mut().zip(other).for_each(|(x, y)| *x -= along * y);
            }
        }
        let length = dot(vector, vector).sqrt();
        if length > 1e-14 * before {
            triangle[ix * width + ix] = length;
            vector.iter_mut().for_each(|x| *x /= length);
        } else {
            vector.fill(0.0);
        }
    }
    triangle
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;

    fn check(cells: &[f64], m: usize, n: usize, wanted: usize, tolerance: f64) {
        let found = leading_singular_values(&DenseOperator { cells, n_cols: n }, wanted, 7);
        let all = jacobi_svd(cells, m, n);
        assert_eq!(found.values.len(), wanted.min(m).min(n));
        for (found, expected) in found.values.iter().zip(&all.values) {
            assert!((found - expected).abs() <= tolerance * all.values[0], "{found} {expected}");
        }
        for ix in 0..found.values.len() {
            let mut product = vec![0.0; m];
            DenseOperator { cells, n_cols: n }.apply(found.right(ix), &mut product);
            let residual = product.iter().zip(found.left(ix)).map(|(x, y)| (x - found.values[ix] * y).powi(2)).sum::<f64>();
            assert!(residual.sqrt() <= 1e3 * tolerance * all.values[0], "{residual}");
        }
    }

    #[test]
    fn low_rank_matrices_are_exact_and_decaying_ones_close() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        for trial in 0..40 {
            let (m, n, rank) = (5 + trial * 2, 3 + trial * 3 % 70, 1 + trial % 5);
            let mut cells = vec![0.0; m * n];
            for level in 0..rank {
                let scale = 0.5_f64.powi(level as i32);
                let left: Vec<f64> = (0..m).map(|_| rng.random_range(-1.0..1.0)).collect();
                let right: Vec<f64> = (0..n).map(|_| rng.random_range(-1.0..1.0)).collect();
                cells.iter_mut().enumerate().for_each(|(at, cell)| *cell += scale * left[at / n] * right[at % n]);
            }
            check(&cells, m, n, rank, 1e-12);
            cells.iter_mut().for_each(|cell| *cell += 0.02 * rng.random_range(-1.0..1.0));
            check(&cells, m, n, rank, 1e-6);
        }
    }

    #[test]
    fn zeros_and_empty_matrices_are_no_trouble() {
        check(&[0.0; 12], 3, 4, 2, 0.0);
        assert!(leading_singular_values(&DenseOperator { cells: &[], n_cols: 0 }, 3, 0).values.is_empty());
    }
}
