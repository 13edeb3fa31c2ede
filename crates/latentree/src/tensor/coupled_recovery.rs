//! Recovery that weighs the second moments against the third.
//!
//! A decomposition into orthonormal components takes the whitened second moment, the identity, for exact; a free one (power
//! method, alternating least squares) asks the third moment alone. Samples err in both. With
//! `b_c = √ω_c Wᵀμ_c = Σ_a (I + X)_ac o_a` for orthonormal o_c the moments say, to first order in X and for a ≠ b,
//!
//! ```text
//! 0 = X_ab + X_ba        T(o_a, o_a, o_b) = λ_a X_ba        T(o_b, o_b, o_a) = λ_b X_ab
//! ```
//!
//! three equations for two unknowns, solved by least squares weighted with the variances of a cell of both moments; and for the
//! length of b_c and `u_c = √ω_c`
//!
//! ```text
//! 0 = 2 X_cc        T(o_c, o_c, o_c) = (1 + 3 X_cc) / u_c        (O Wᵀ E[x])_c = u_c (1 + X_cc) + Σ_{a≠c} X_ca u_a
//! ```
//!
//! by a few Gauss–Newton steps. Means are `E b_c / u_c`, and for views that were mapped to the pivot, where E is a moment with
//! it, `E (Bᵀ)⁻¹ / u`. With exact moments X is 0 and nothing changes.

use super::components::Components;
use super::recovery::{MIN_WEIGHT, Mixture};
use super::whitened::WhitenedTensor;
use super::whitening::Whitening;
use crate::error::{Error, Result};
use crate::linalg::{Matrix, jacobi_svd};

/// Gauss–Newton steps for two numbers; they settle in four.
const STEPS: usize = 10;

impl Mixture {
    /// The mixture of orthonormal components ([`Decomposition::Sidiwo`](super::Decomposition::Sidiwo)) of a whole whitened
    /// tensor, with second and third moments weighed by their noise: more accurate than [`recover`](Self::recover) when moments
    /// are of samples.
    ///
    /// `noise_ratio` is the variance of a cell of the whitened tensor divided by that of a cell of the whitened second moment,
    /// from [`cell_noise`](super::cell_noise) of the whitened coordinates: about the mean square of a coordinate. First moments
    /// are one per view, as for [`recover`](Self::recover).
    ///
    /// # Errors
    /// If sizes do not fit together, the tensor is not whole, or the ratio is not positive.
    pub fn recover_coupled(
        whitening: &Whitening,
        tensor: &WhitenedTensor,
        components: &Components,
        first_moments: &[&[f64]],
        noise_ratio: f64,
    ) -> Result<Self> {
        let (k, n_views) = (components.n_components(), whitening.n_views());
        let sizes_fit = first_moments.len() == n_views
            && first_moments.iter().enumerate().all(|(view, it)| it.len() == whitening.whitener(view).n_rows());
        if !tensor.is_whole() || tensor.n_components() != k || whitening.n_components() != k || !sizes_fit {
            let problem = "a whole tensor of as many components is expected, and a first moment for each view".to_owned();
            return Err(Error::Mismatch { left: "components".to_owned(), right: "moments".to_owned(), problem });
        }
        if !(noise_ratio > 0.0 && noise_ratio.is_finite()) {
            return Err(Error::option("noise ratio", format!("{noise_ratio} is not a positive number")));
        }
        let turned = turned_pairs(tensor, &components.vectors);
        let mut first = vec![0.0; k];
        for (view, moment) in first_moments.iter().enumerate() {
            for (x, row) in moment.iter().enumerate().map(|(i, x)| (x, whitening.whitener(view).row(i))) {
                for (c, out) in first.iter_mut().enumerate() {
                    *out += x * components.vectors.row(c).iter().zip(row).map(|(a, b)| a * b).sum::<f64>() / n_views as f64;
                }
            }
        }
        let (shift, scales, unsure) = solve(&turned, &first, noise_ratio);
        // Columns b_c, and those of (Bᵀ)⁻¹ for views whose E is a moment with the pivot.
        let directions = components.vectors.transposed();
        let pivot_map = directions.times(&shift);
        let other_map = directions.times(&inverse_transposed(&shift));
        let means = (0..n_views).map(|view| {
            let map = if n_views == 1 || view == whitening.pivot() { &pivot_map } else { &other_map };
            let scaled = whitening.unwhitener(view).times(map);
            Matrix::from_fn(scaled.n_rows(), k, |i, c| scaled[(i, c)] / scales[c])
        });
        let total: f64 = scales.iter().map(|scale| scale * scale).sum();
        let weights = scales.iter().map(|scale| scale * scale / total).collect();
        Ok(Self::ordered(weights, means.collect(), total, unsure))
    }
}

/// `T(o_a, o_a, o_b)` in row a and column b.
fn turned_pairs(tensor: &WhitenedTensor, vectors: &Matrix) -> Matrix {
    let k = tensor.n_components();
    let mut along = Matrix::zeros(k, k);
    for a in 0..k {
        let vector = vectors.row(a);
        let out = along.row_mut(a);
        for (at, cells) in tensor.cells().chunks_exact(k).enumerate() {
            let factor = vector[at / k] * vector[at % k];
            out.iter_mut().zip(cells).for_each(|(out, cell)| *out += factor * cell);
        }
    }
    along.times(&vectors.transposed())
}

/// `I + X`, the scales u, and how many of them the data did not give.
fn solve(turned: &Matrix, first: &[f64], ratio: f64) -> (Matrix, Vec<f64>, usize) {
    let k = first.len();
    let mut shift = Matrix::from_fn(k, k, |a, b| f64::from(u8::from(a == b)));
    for a in 0..k {
        for b in 0..a {
            let (of_a, of_b) = (turned[(a, a)], turned[(b, b)]);
            let (pa, pb) = (1.0 + of_a * of_a / ratio, 1.0 + of_b * of_b / ratio);
            let (ra, rb) = (of_a * turned[(a, b)] / ratio, of_b * turned[(b, a)] / ratio);
            let determinant = pa * pb - 1.0;
            if determinant > 1e-12 {
                shift[(b, a)] = (pb * ra - rb) / determinant;
                shift[(a, b)] = (pa * rb - ra) / determinant;
            }
        }
    }
    let least = MIN_WEIGHT.sqrt();
    let start = |c: usize| if turned[(c, c)] > 0.0 { (1.0 / turned[(c, c)]).min(1.0) } else { first[c].clamp(least, 1.0) };
    let mut scales: Vec<f64> = (0..k).map(start).collect();
    // The first moment of c takes in the scales of the others: twice round.
    for _ in 0..2 {
        let before = scales.clone();
        for c in 0..k {
            let others: f64 = (0..k).filter(|&a| a != c).map(|a| shift[(c, a)] * before[a]).sum();
            let (length, scale) = lengths(turned[(c, c)], first[c] - others, start(c), ratio);
            (shift[(c, c)], scales[c]) = (length, scale.clamp(least, 1.0));
        }
    }
    let unsure = scales.iter().filter(|scale| **scale <= least).count();
    (shift, scales, unsure)
}

/// The minimiser (1 + z, u) of `(2z)² + (t − (1 + 3z)/u)²/ratio + ratio (m − u (1 + z))²`.
fn lengths(cube: f64, mean: f64, start: f64, ratio: f64) -> (f64, f64) {
    let (mut z, mut u) = (0.0_f64, start);
    for _ in 0..STEPS {
        let weights = [1.0, 1.0 / ratio, ratio];
        let residuals = [-2.0 * z, cube - (1.0 + 3.0 * z) / u, mean - u * (1.0 + z)];
        let by_z = [2.0, 3.0 / u, u];
        let by_u = [0.0, -(1.0 + 3.0 * z) / (u * u), 1.0 + z];
        let sum = |x: [f64; 3], y: [f64; 3]| -> f64 { (0..3).map(|ix| weights[ix] * x[ix] * y[ix]).sum() };
        let (zz, zu, uu) = (sum(by_z, by_z), sum(by_z, by_u), sum(by_u, by_u));
        let (gz, gu) = (sum(by_z, residuals), sum(by_u, residuals));
        let determinant = zz * uu - zu * zu;
        if determinant.is_nan() || determinant <= 1e-12 * zz * uu {
            break;
        }
        let (step_z, step_u) = ((uu * gz - zu * gu) / determinant, (zz * gu - zu * gz) / determinant);
        z = (z + step_z).clamp(-0.5, 0.5);
        // A scale at most doubles or halves in a step, so that it stays positive.
        u = (u + step_u).clamp(0.5 * u, 2.0 * u);
    }
    (1.0 + z, u)
}

fn inverse_transposed(matrix: &Matrix) -> Matrix {
    let k = matrix.n_rows();
    let svd = jacobi_svd(matrix.cells(), k, k);
    let inverse = |value: f64| if value > 1e-6 { 1.0 / value } else { 0.0 };
    Matrix::from_fn(k, k, |i, j| (0..k).map(|it| svd.left(it)[i] * svd.right(it)[j] * inverse(svd.values[it])).sum())
}
