//! Distances of two columns of labels, from their joint table P with marginals p, q.
//!
//! With w_a = 1/√max(p_a, c) (c > 0 only scales labels seen too rarely) the canonical correlations are the singular values of
//! `M_ab = w_a (P_ab − p_a q_b) w_b`. With singular vectors u, v and variates φ_a = u_a w_a, ψ_b = v_b w_b the derivative of ln σ
//! by P_ab is `φ_a ψ_b/σ − (φ_a ψ̄ + φ̄ ψ_b)/σ − ½(φ_a² + ψ_b²)` (bars: means; squares only of labels with p ≥ c), whose variance
//! under P, divided by n, is the variance of −Σ ln σ by the delta method.

use super::judge::{Estimate, Judge};
use crate::linalg::{LinearOperator, Svd, jacobi_svd, leading_singular_values};

/// Sides longer than this are decomposed by the range finder, which needs only the leading values.
pub(super) const MAX_DENSE: usize = 24;

/// Shares below this are what rounding left of differences of weights.
const NOTHING: f64 = 1e-13;

/// A pair of labels and their joint probability.
pub(super) type Cell = (u32, u32, f64);

/// The joint distribution of two columns of labels: non-zero cells only, and marginals.
#[derive(Debug, Default)]
pub(super) struct JointTable {
    pub(super) cells: Vec<Cell>,
    pub(super) rows: Vec<f64>,
    pub(super) cols: Vec<f64>,
    /// Effective number of rows.
    pub(super) n: f64,
}

impl JointTable {
    /// A table of weights, row by row, in place of what was there; `n` rows of equal weight tell as much.
    pub(super) fn set_dense(&mut self, weights: &[f64], n_cols: usize, smoothing: f64, n: f64) {
        self.n = n;
        let total: f64 = weights.iter().map(|weight| weight + smoothing).sum();
        self.rows.clear();
        self.rows.resize(weights.len() / n_cols.max(1), 0.0);
        self.cols.clear();
        self.cols.resize(n_cols, 0.0);
        self.cells.clear();
        for (at, weight) in weights.iter().enumerate() {
            let share = (weight + smoothing) / total;
            if share > NOTHING {
                self.rows[at / n_cols] += share;
                self.cols[at % n_cols] += share;
                self.cells.push(((at / n_cols) as u32, (at % n_cols) as u32, share));
            }
        }
    }

    /// A table of non-zero weights; labels that do not occur are left out.
    pub(super) fn from_sparse(mut cells: Vec<Cell>, d_rows: usize, d_cols: usize, n: f64) -> Self {
        cells.retain(|cell| cell.2 > 0.0);
        let total: f64 = cells.iter().map(|cell| cell.2).sum();
        let compact = |d: usize, part: fn(&Cell) -> u32| {
            let mut position = vec![u32::MAX; d];
            cells.iter().for_each(|cell| position[part(cell) as usize] = 0);
            let seen = position.iter_mut().filter(|it| **it == 0);
            let n_seen = seen.enumerate().map(|(ix, it)| *it = ix as u32).count();
            (position, n_seen)
        };
        let (row_of, n_rows) = compact(d_rows, |cell| cell.0);
        let (col_of, n_cols) = compact(d_cols, |cell| cell.1);
        let (mut rows, mut cols) = (vec![0.0; n_rows], vec![0.0; n_cols]);
        for cell in &mut cells {
            *cell = (row_of[cell.0 as usize], col_of[cell.1 as usize], cell.2 / total);
            rows[cell.0 as usize] += cell.2;
            cols[cell.1 as usize] += cell.2;
        }
        Self { cells, rows, cols, n }
    }

    /// `−Σ_{i ≤ r} ln ρ_i`. `rare` is the number of rows below which a label is scaled as if it were seen in as many.
    pub(super) fn canonical(&self, r: usize, rare: f64, judge: &Judge) -> Estimate {
        let least = rare / self.n;
        let whiten = |shares: &[f64]| -> Vec<f64> {
            shares.iter().map(|&share| if share > 0.0 { 1.0 / share.max(least).sqrt() } else { 0.0 }).collect()
        };
        let (left, right) = (whiten(&self.rows), whiten(&self.cols));
        let seen = |shares: &[f64]| shares.iter().filter(|share| **share > 0.0).count();
        if r == 0 || seen(&self.rows).min(seen(&self.cols)) <= r {
            // A variable does not have the states it needs in the rows where both are present.
            return Estimate::NONE;
        }
        let svd = self.decompose(r, &left, &right, true);
        // The share of noise that a label's scale lets through, less the directions already used.
        let dimension = |shares: &[f64], scale: &[f64]| {
            shares.iter().zip(scale).map(|(share, scale)| share * scale * scale).sum::<f64>() - r as f64
        };
        let dimensions = (dimension(&self.rows, &left), dimension(&self.cols, &right));
        if !judge.is_significant(svd.values[r - 1], self.n, dimensions) {
            return Estimate::NONE;
        }
        let clipped: Vec<f64> = svd.values[..r].iter().map(|&value| judge.clipped(value, self.n)).collect();
        let distance = Judge::distance(clipped.iter().copied());
        if !judge.errors {
            return Estimate { distance, error: f64::NAN };
        }
        let mean = |shares: &[f64], vector: &[f64], scale: &[f64]| -> f64 {
            shares.iter().zip(vector).zip(scale).map(|((share, x), scale)| share * x * scale).sum()
        };
        let means: Vec<(f64, f64)> =
            (0..r).map(|ix| (mean(&self.rows, svd.left(ix), &left), mean(&self.cols, svd.right(ix), &right))).collect();
        let gradient = |a: usize, b: usize| -> f64 {
            let (full_a, full_b) = (f64::from(self.rows[a] >= least), f64::from(self.cols[b] >= least));
            let term = |ix: usize| {
                let (phi, psi) = (svd.left(ix)[a] * left[a], svd.right(ix)[b] * right[b]);
                let (phi_mean, psi_mean) = means[ix];
                (phi * psi - phi * psi_mean - phi_mean * psi) / clipped[ix] - 0.5 * (full_a * phi * phi + full_b * psi * psi)
            };
            (0..r).map(term).sum()
        };
        Estimate { distance, error: judge.error(self.variance(gradient), self.n) }
    }

    /// Huang's distance from the k largest singular values of the table itself.
    pub(super) fn multivariate(&self, k: usize, judge: &Judge) -> Estimate {
        let ones = |n: usize| vec![1.0; n];
        let svd = self.decompose(k, &ones(self.rows.len()), &ones(self.cols.len()), false);
        let largest = |shares: &[f64]| -> Vec<usize> {
            let mut order: Vec<usize> = (0..shares.len()).collect();
            order.sort_by(|&a, &b| shares[b].total_cmp(&shares[a]).then(a.cmp(&b)));
            order.truncate(k);
            order
        };
        let (rows, cols) = (largest(&self.rows), largest(&self.cols));
        if svd.values.len() < k || self.rows[rows[k - 1]] <= 0.0 || self.cols[cols[k - 1]] <= 0.0 {
            return Estimate::NONE;
        }
        let own = |ix: usize| (self.rows[rows[ix]] * self.cols[cols[ix]]).sqrt();
        let values: Vec<f64> = (0..k).map(|ix| svd.values[ix].max(own(ix) * judge.floor(self.n))).collect();
        let distance = values.iter().enumerate().map(|(ix, value)| (own(ix) / value).ln()).sum::<f64>();
        let distance = if distance < 1e-12 { 0.0 } else { distance };
        if judge.errors || judge.is_noise(f64::MAX) {
            let chosen = |chosen: &[usize], n: usize| {
                let mut out = vec![0.0; n];
                chosen.iter().for_each(|&ix| out[ix] = 1.0);
                out
            };
            let (in_rows, in_cols) = (chosen(&rows, self.rows.len()), chosen(&cols, self.cols.len()));
            let gradient = |a: usize, b: usize| -> f64 {
                let along: f64 = (0..k).map(|ix| svd.left(ix)[a] * svd.right(ix)[b] / values[ix]).sum();
                along - 0.5 * (in_rows[a] / self.rows[a] + in_cols[b] / self.cols[b])
            };
            let error = judge.error(self.variance(gradient), self.n);
            if judge.is_noise(error) {
                return Estimate::NONE;
            }
            return Estimate { distance, error };
        }
        Estimate { distance, error: f64::NAN }
    }

    /// `−(K−1) ln |1 − Kθ|`.
    pub(super) fn symmetric(&self, n_states: usize, judge: &Judge) -> Estimate {
        let same: f64 = self.cells.iter().filter(|cell| cell.0 == cell.1).map(|cell| cell.2).sum();
        symmetric(same, n_states, self.n, judge)
    }

    /// n times the variance of a function of the table, from its derivatives.
    fn variance(&self, gradient: impl Fn(usize, usize) -> f64) -> f64 {
        let (mut mean, mut square) = (0.0, 0.0);
        for &(a, b, share) in &self.cells {
            let value = gradient(a as usize, b as usize);
            mean += share * value;
            square += share * value * value;
        }
        square - mean * mean
    }

    /// The leading singular values of the table, scaled, and less the product of its marginals if centred.
    fn decompose(&self, wanted: usize, left: &[f64], right: &[f64], centred: bool) -> Svd {
        let (m, n) = (self.rows.len(), self.cols.len());
        if m.min(n) > MAX_DENSE {
            return leading_singular_values(&ScaledTable { table: self, left, right, centred }, wanted, 0);
        }
        let mut matrix = vec![0.0; m * n];
        if centred {
            for (a, row) in matrix.chunks_exact_mut(n).enumerate() {
                let scale = self.rows[a] * left[a];
                row.iter_mut().enumerate().for_each(|(b, out)| *out = -scale * self.cols[b] * right[b]);
            }
        }
        for &(a, b, share) in &self.cells {
            matrix[a as usize * n + b as usize] += share * left[a as usize] * right[b as usize];
        }
        jacobi_svd(&matrix, m, n)
    }
}

/// The symmetric distance from the share of rows where two columns are the same.
pub(super) fn symmetric(same: f64, n_states: usize, n: f64, judge: &Judge) -> Estimate {
    let k = n_states as f64;
    let differ = (1.0 - same).max(0.0);
    let strength = (1.0 - k / (k - 1.0) * differ).abs();
    // Of independent uniform columns the strength has the standard deviation 1/√((K−1) n).
    if !judge.is_significant(strength * (k - 1.0).sqrt(), n, (1.0, 1.0)) {
        return Estimate::NONE;
    }
    let clipped = judge.clipped(strength, n);
    let distance = (-(k - 1.0) * clipped.ln()).max(0.0) + 0.0;
    let n_variance = k * k * differ * (1.0 - differ) / (clipped * clipped);
    Estimate { distance, error: if judge.errors { judge.error(n_variance, n) } else { f64::NAN } }
}

/// A scaled table as an operator: its non-zero cells, and the product of marginals taken off as a rank-one correction.
struct ScaledTable<'a> {
    table: &'a JointTable,
    left: &'a [f64],
    right: &'a [f64],
    centred: bool,
}

impl ScaledTable<'_> {
    fn correct(&self, marginals: [&[f64]; 2], scales: [&[f64]; 2], x: &[f64], out: &mut [f64]) {
        if self.centred {
            let along: f64 = x.iter().zip(marginals[1]).zip(scales[1]).map(|((x, share), scale)| x * share * scale).sum();
            let parts = out.iter_mut().zip(marginals[0]).zip(scales[0]);
            parts.for_each(|((out, share), scale)| *out -= along * share * scale);
        }
    }
}

impl LinearOperator for ScaledTable<'_> {
    fn n_rows(&self) -> usize {
        self.left.len()
    }

    fn n_cols(&self) -> usize {
        self.right.len()
    }

    fn apply(&self, x: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        for &(a, b, share) in &self.table.cells {
            out[a as usize] += share * self.left[a as usize] * self.right[b as usize] * x[b as usize];
        }
        self.correct([&self.table.rows, &self.table.cols], [self.left, self.right], x, out);
    }

    fn apply_transposed(&self, x: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        for &(a, b, share) in &self.table.cells {
            out[b as usize] += share * self.left[a as usize] * self.right[b as usize] * x[a as usize];
        }
        self.correct([&self.table.cols, &self.table.rows], [self.right, self.left], x, out);
    }
}

/// `−ln |ρ|` of two binary columns from their table of weights, without allocation. The standard error is that of the delta
/// method with half a row added to each cell, so that it does not vanish for a table of empty cells.
pub(super) fn binary(weights: [f64; 4], smoothing: f64, n: f64, judge: &Judge) -> Estimate {
    let [n00, n01, n10, n11] = weights.map(|weight| weight + smoothing);
    let (a0, a1, b0, b1) = (n00 + n01, n10 + n11, n00 + n10, n01 + n11);
    let all = a0 + a1;
    if a0.min(a1).min(b0).min(b1) <= NOTHING * all {
        return Estimate::NONE;
    }
    let size = ((n11 * n00 - n10 * n01) / ((a0 * a1).sqrt() * (b0 * b1).sqrt())).abs();
    if !judge.is_significant(size, n, (1.0, 1.0)) {
        return Estimate::NONE;
    }
    let clipped = judge.clipped(size, n);
    let distance = (-clipped.ln()).max(0.0) + 0.0;
    if !judge.errors {
        return Estimate { distance, error: f64::NAN };
    }
    // In units of rows, half a row more in each cell.
    let unit = n / all;
    let [n00, n01, n10, n11] = [n00, n01, n10, n11].map(|weight| weight * unit + 0.5);
    let (a0, a1, b0, b1) = (n00 + n01, n10 + n11, n00 + n10, n01 + n11);
    let total = a0 + a1;
    let correlation = (n11 * n00 - n10 * n01) / (a0 * a1 * b0 * b1).sqrt();
    let correlation = correlation.signum() * correlation.abs().max(judge.floor(n));
    let (phi0, phi1) = (-(a1 / a0).sqrt(), (a0 / a1).sqrt());
    let (psi0, psi1) = (-(b1 / b0).sqrt(), (b0 / b1).sqrt());
    let square = |weight: f64, phi: f64, psi: f64| {
        let gradient = phi * psi / correlation - 0.5 * (phi * phi + psi * psi);
        weight * gradient * gradient
    };
    let sum = square(n00, phi0, psi0) + square(n01, phi0, psi1) + square(n10, phi1, psi0) + square(n11, phi1, psi1);
    Estimate { distance, error: judge.error(sum / total, n) }
}
