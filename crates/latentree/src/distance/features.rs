//! Distances of variables of any form, from the cross-covariance of their features.

use super::judge::{Estimate, Judge, gaussian_variance};
use super::table::MAX_DENSE;
use super::variable::{Form, Variable};
use crate::data::Kind;
use crate::index::ColIx;
use crate::linalg::{DenseOperator, LinearOperator, Svd, jacobi_svd, leading_singular_values};
use crate::moments::PairMoments;

/// The centred cross-covariance of two variables' features, row by row, and the least weight of two of their columns together; 0
/// for columns that are never together. The weight is 0 if none are.
pub(super) fn dense_cross(moments: &PairMoments, a: &Variable, b: &Variable) -> (Vec<f64>, f64) {
    let mut out = vec![0.0; a.n_features * b.n_features];
    let mut block = Vec::new();
    let mut least = f64::INFINITY;
    let mut row = 0;
    for &i in &a.columns {
        let d_i = moments.n_features(i);
        let mut col = 0;
        for &j in &b.columns {
            let d_j = moments.n_features(j);
            let weight = moments.pair_weight(i, j);
            if weight > 0.0 {
                least = least.min(weight);
                block.clear();
                block.resize(d_i * d_j, 0.0);
                moments.cross_into(i, j, &mut block);
                for (offset, values) in block.chunks_exact(d_j).enumerate() {
                    let start = (row + offset) * b.n_features + col;
                    out[start..start + d_j].copy_from_slice(values);
                }
            }
            col += d_j;
        }
        row += d_i;
    }
    (out, if least.is_finite() { least } else { 0.0 })
}

/// The cross-covariance of two columns' features: non-zero second moments, less a product of means.
struct Block {
    row: usize,
    col: usize,
    cells: Vec<(u32, u32, f64)>,
    means: (Vec<f64>, Vec<f64>),
}

impl Block {
    fn new(moments: &PairMoments, (i, row): (ColIx, usize), (j, col): (ColIx, usize)) -> Option<Self> {
        let weight = moments.pair_weight(i, j);
        if weight <= 0.0 {
            return None;
        }
        let (d_i, d_j) = (moments.n_features(i), moments.n_features(j));
        let Some(mut cells) = moments.sparse_table(i, j) else {
            // A number: its block is as long as the other's features, and already centred.
            let mut cross = vec![0.0; d_i * d_j];
            moments.cross_into(i, j, &mut cross);
            let cells = cross.iter().enumerate().map(|(at, &value)| ((at / d_j) as u32, (at % d_j) as u32, value));
            return Some(Self { row, col, cells: cells.collect(), means: (Vec::new(), Vec::new()) });
        };
        let is_binary = |column: ColIx| matches!(moments.schema().column(column).kind, Kind::Binary { .. });
        let (mut left, mut right) = (vec![0.0; d_i.max(2)], vec![0.0; d_j.max(2)]);
        for cell in &mut cells {
            cell.2 /= weight;
            left[cell.0 as usize] += cell.2;
            right[cell.1 as usize] += cell.2;
        }
        // The one feature of a binary column is its label 1.
        if is_binary(i) {
            left.remove(0);
            cells.retain(|cell| cell.0 == 1);
            cells.iter_mut().for_each(|cell| cell.0 = 0);
        }
        if is_binary(j) {
            right.remove(0);
            cells.retain(|cell| cell.1 == 1);
            cells.iter_mut().for_each(|cell| cell.1 = 0);
        }
        Some(Self { row, col, cells, means: (left, right) })
    }

    fn add(&self, x: &[f64], out: &mut [f64]) {
        for &(a, b, value) in &self.cells {
            out[self.row + a as usize] += value * x[self.col + b as usize];
        }
        let along: f64 = self.means.1.iter().zip(&x[self.col..]).map(|(mean, x)| mean * x).sum();
        out[self.row..].iter_mut().zip(&self.means.0).for_each(|(out, mean)| *out -= along * mean);
    }

    fn add_transposed(&self, x: &[f64], out: &mut [f64]) {
        for &(a, b, value) in &self.cells {
            out[self.col + b as usize] += value * x[self.row + a as usize];
        }
        let along: f64 = self.means.0.iter().zip(&x[self.row..]).map(|(mean, x)| mean * x).sum();
        out[self.col..].iter_mut().zip(&self.means.1).for_each(|(out, mean)| *out -= along * mean);
    }
}

/// The stored cross-covariance.
enum Cross {
    Dense(Vec<f64>),
    Sparse(Vec<Block>),
}

/// `W_aᵀ C W_b`.
struct Whitened<'a> {
    a: &'a Variable,
    b: &'a Variable,
    cross: Cross,
}

impl LinearOperator for Whitened<'_> {
    fn n_rows(&self) -> usize {
        self.a.whitening.n_out()
    }

    fn n_cols(&self) -> usize {
        self.b.whitening.n_out()
    }

    fn apply(&self, x: &[f64], out: &mut [f64]) {
        let (mut right, mut left) = (vec![0.0; self.b.n_features], vec![0.0; self.a.n_features]);
        self.b.whitening.apply(x, &mut right);
        match &self.cross {
            Cross::Dense(cells) => DenseOperator { cells, n_cols: self.b.n_features }.apply(&right, &mut left),
            Cross::Sparse(blocks) => blocks.iter().for_each(|block| block.add(&right, &mut left)),
        }
        self.a.whitening.apply_transposed(&left, out);
    }

    fn apply_transposed(&self, x: &[f64], out: &mut [f64]) {
        let (mut right, mut left) = (vec![0.0; self.b.n_features], vec![0.0; self.a.n_features]);
        self.a.whitening.apply(x, &mut left);
        match &self.cross {
            Cross::Dense(cells) => DenseOperator { cells, n_cols: self.b.n_features }.apply_transposed(&left, &mut right),
            Cross::Sparse(blocks) => blocks.iter().for_each(|block| block.add_transposed(&left, &mut right)),
        }
        self.b.whitening.apply_transposed(&right, out);
    }
}

/// `−Σ_{i ≤ r} ln ρ_i` of two variables' whitened features. The standard error takes the canonical variates for Gaussian:
/// `√(Σ (1 − ρ_i²)²/ρ_i² / n)`.
pub(super) fn canonical(
    moments: &PairMoments,
    (a, b): (&Variable, &Variable),
    r: usize,
    per_weight: f64,
    judge: &Judge,
) -> Estimate {
    let (cross, weight) = if a.is_wide || b.is_wide {
        let (mut blocks, mut least) = (Vec::new(), f64::INFINITY);
        let mut row = 0;
        for &i in &a.columns {
            let mut col = 0;
            for &j in &b.columns {
                if let Some(block) = Block::new(moments, (i, row), (j, col)) {
                    blocks.push(block);
                    least = least.min(moments.pair_weight(i, j));
                }
                col += moments.n_features(j);
            }
            row += moments.n_features(i);
        }
        (Cross::Sparse(blocks), if least.is_finite() { least } else { 0.0 })
    } else {
        let (cells, weight) = dense_cross(moments, a, b);
        (Cross::Dense(cells), weight)
    };
    let n = weight * per_weight;
    if n <= 0.0 || r == 0 {
        return Estimate::NONE;
    }
    let svd = decompose(&Whitened { a, b, cross }, r);
    if svd.values.len() < r {
        return Estimate::NONE;
    }
    let left = |variable: &Variable| variable.rank as f64 - (r as f64 - 1.0);
    if !judge.is_significant(svd.values[r - 1], n, (left(a), left(b))) {
        return Estimate::NONE;
    }
    // With missing cells the features of these rows may be spread wider than those of all rows: more than 1 is 1.
    let clipped: Vec<f64> = svd.values[..r].iter().map(|&value| judge.clipped(value, n)).collect();
    let error = if judge.errors { judge.error(clipped.iter().map(|&value| gaussian_variance(value)).sum(), n) } else { f64::NAN };
    Estimate { distance: Judge::distance(clipped.into_iter()), error }
}

/// The leading singular values, by the whole matrix if it is small.
fn decompose(operator: &dyn LinearOperator, wanted: usize) -> Svd {
    let (m, n) = (operator.n_rows(), operator.n_cols());
    if m.min(n) > MAX_DENSE {
        return leading_singular_values(operator, wanted, 0);
    }
    let transposed = m < n;
    let (short, long) = (m.min(n), m.max(n));
    let mut matrix = Vec::with_capacity(m * n);
    let (mut unit, mut image) = (vec![0.0; short], vec![0.0; long]);
    for ix in 0..short {
        unit.fill(0.0);
        unit[ix] = 1.0;
        if transposed {
            operator.apply_transposed(&unit, &mut image)
        } else {
            operator.apply(&unit, &mut image)
        }
        matrix.extend_from_slice(&image);
    }
    jacobi_svd(&matrix, short, long)
}

/// The features of Huang's distance: rows of the uncentred second moments of two variables.
pub(super) struct SecondMoments<'a> {
    moments: &'a PairMoments,
    k: usize,
}

/// One feature: a stored one, scaled; the constant; or the constant less a stored one.
#[derive(Clone, Copy)]
enum Feature {
    Constant,
    Stored(usize),
    OneLess(usize),
}

impl<'a> SecondMoments<'a> {
    pub(super) fn new(moments: &'a PairMoments, k: usize) -> Self {
        Self { moments, k }
    }

    fn features(variable: &Variable) -> Vec<Feature> {
        let stored = (0..variable.n_features).map(Feature::Stored);
        match variable.form {
            Form::Labels(..) => stored.collect(),
            Form::Binary(_) => vec![Feature::OneLess(0), Feature::Stored(0)],
            _ => std::iter::once(Feature::Constant).chain(stored).collect(),
        }
    }

    /// Mean and scale of each stored feature: numbers are standardised.
    fn stored(&self, variable: &Variable) -> (Vec<f64>, Vec<f64>) {
        let (mut means, mut scales) = (Vec::new(), Vec::new());
        for &column in &variable.columns {
            let weight = self.moments.weight(column);
            match self.moments.schema().column(column).kind {
                Kind::Binary { .. } => {
                    means.push(self.moments.mean(column).unwrap_or(0.0));
                    scales.push(1.0);
                }
                Kind::Categorical { .. } => {
                    let weights = self.moments.level_weights(column).unwrap_or_default();
                    scales.extend(weights.iter().map(|_| 1.0));
                    means.extend(weights.iter().map(|it| if weight > 0.0 { it / weight } else { 0.0 }));
                }
                _ => {
                    let d = self.moments.n_features(column);
                    let mut block = vec![0.0; d * d];
                    self.moments.cross_into(column, column, &mut block);
                    means.extend(std::iter::repeat_n(0.0, d));
                    scales.extend((0..d).map(|ix| if block[ix * d + ix] > 0.0 { 1.0 / block[ix * d + ix].sqrt() } else { 0.0 }));
                }
            }
        }
        (means, scales)
    }

    /// The k largest singular values of E[y_a y_bᵀ], and the weight it is the mean of.
    fn leading(&self, a: &Variable, b: &Variable) -> (Vec<f64>, f64) {
        let (cross, weight) = dense_cross(self.moments, a, b);
        let ((mean_a, scale_a), (mean_b, scale_b)) = (self.stored(a), self.stored(b));
        // E[y y'] of stored features, and products with the constant, by features of either kind.
        let stored = |i: usize, j: usize| cross[i * b.n_features + j] * scale_a[i] * scale_b[j] + mean_a[i] * mean_b[j];
        let parts = |feature: Feature| match feature {
            Feature::Constant => (1.0, None),
            Feature::Stored(ix) => (0.0, Some((1.0, ix))),
            Feature::OneLess(ix) => (1.0, Some((-1.0, ix))),
        };
        let (rows, cols) = (Self::features(a), Self::features(b));
        let mut matrix = Vec::with_capacity(rows.len() * cols.len());
        for &row in &rows {
            let (one_a, part_a) = parts(row);
            for &col in &cols {
                let (one_b, part_b) = parts(col);
                let mut value = one_a * one_b;
                if let Some((sign, i)) = part_a {
                    value += sign * mean_a[i] * one_b;
                }
                if let Some((sign, j)) = part_b {
                    value += sign * mean_b[j] * one_a;
                }
                if let (Some((sign_a, i)), Some((sign_b, j))) = (part_a, part_b) {
                    value += sign_a * sign_b * stored(i, j);
                }
                matrix.push(value);
            }
        }
        let svd = if rows.len().min(cols.len()) > MAX_DENSE {
            leading_singular_values(&DenseOperator { cells: &matrix, n_cols: cols.len() }, self.k, 0)
        } else {
            jacobi_svd(&matrix, rows.len(), cols.len())
        };
        (svd.values.into_iter().take(self.k).collect(), weight)
    }

    /// The k largest singular values of a variable's own second moments.
    pub(super) fn own(&self, variable: &Variable) -> Vec<f64> {
        if variable.form == Form::Constant { Vec::new() } else { self.leading(variable, variable).0 }
    }

    /// Huang's distance. The standard error takes `σ_i/√(σ_i(own) σ_i(own))` for correlations of Gaussian variates.
    pub(super) fn distance(
        &self,
        (a, b): (&Variable, &Variable),
        own: (&[f64], &[f64]),
        per_weight: f64,
        judge: &Judge,
    ) -> Estimate {
        let (values, weight) = self.leading(a, b);
        let n = weight * per_weight;
        if values.len() < self.k || own.0.len().min(own.1.len()) < self.k || n <= 0.0 {
            return Estimate::NONE;
        }
        let ratios: Vec<f64> = (0..self.k)
            .map(|ix| {
                let scale = (own.0[ix] * own.1[ix]).sqrt();
                if scale > 0.0 { values[ix] / scale } else { 0.0 }
            })
            .collect();
        let log: f64 = ratios.iter().map(|&ratio| -ratio.max(judge.floor(n)).ln()).sum();
        let distance = if log < 1e-12 { 0.0 } else { log };
        let n_variance = ratios.iter().map(|&ratio| gaussian_variance(judge.clipped(ratio, n))).sum();
        let error = judge.error(n_variance, n);
        if judge.is_noise(error) { Estimate::NONE } else { Estimate { distance, error } }
    }
}
