//! Properties of single variables that distances need: form, rank and whitening of features.
//!
//! The stored features of a variable are those of its columns side by side: x of a binary column, one-hot of labels, powers of a
//! number. They are whitened by W = (C + F)^(−1/2), C their covariance and F diagonal, not zero only for labels seen too rarely.
//! Any fixed W keeps distances additive; with WᵀCW ≤ 1 all lengths of leaves' edges are ≥ 0. For one column of labels W is
//! diagonal. For a group of more than 512 features W scales each feature by itself and all by one number that keeps WᵀCW ≤ 1, so
//! that the edge of such a leaf is longer than with full whitening.

use super::{DistanceOptions, Estimator};
use crate::data::Kind;
use crate::error::Result;
use crate::index::ColIx;
use crate::linalg::symmetric_eigen;
use crate::moments::PairMoments;

/// Columns with more labels than this are only handled by their non-zero cells, and groups of more features only scaled.
pub(super) const WIDE: usize = 512;
/// Groups of more features than this have the number of members for a bound of their largest eigenvalue.
const MAX_SQUARE: usize = 4096;

/// What a variable is to the estimators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// It has one value only, or none: no distance to anything.
    Constant,
    /// One binary column.
    Binary(ColIx),
    /// One column of numbers.
    Number(ColIx),
    /// One column of labels, with their number.
    Labels(ColIx, usize),
    /// Several columns.
    Group,
}

/// One variable.
#[derive(Debug)]
pub(super) struct Variable {
    pub(super) columns: Vec<ColIx>,
    pub(super) form: Form,
    /// Number of stored features.
    pub(super) n_features: usize,
    /// An upper bound of the rank of the covariance of its features.
    pub(super) rank: usize,
    /// Whether a column has so many labels that only its non-zero cells are looked at.
    pub(super) is_wide: bool,
    /// Of one binary or numeric column without missing cells.
    pub(super) complete: Option<Complete>,
    /// Empty unless the variable meets others through features.
    pub(super) whitening: Whitening,
}

/// What the pairs of a scalar column without missing cells share.
#[derive(Debug, Clone, Copy)]
pub(super) struct Complete {
    /// Σ w x, with x less the column's shift.
    pub(super) sum: f64,
    /// Square root of the variance.
    pub(super) deviation: f64,
}

/// How features become uncorrelated ones of variance at most 1.
#[derive(Debug, Clone)]
pub(super) enum Whitening {
    /// Each by its own factor.
    Diagonal(Vec<f64>),
    /// Rows are features, columns what they become.
    Full {
        /// Number of columns.
        n_out: usize,
        /// Row by row.
        matrix: Vec<f64>,
    },
}

impl Whitening {
    /// Number of whitened features.
    pub(super) fn n_out(&self) -> usize {
        match self {
            Self::Diagonal(scales) => scales.len(),
            Self::Full { n_out, .. } => *n_out,
        }
    }

    /// `out = W x`: from whitened to stored features.
    pub(super) fn apply(&self, x: &[f64], out: &mut [f64]) {
        match self {
            Self::Diagonal(scales) => out.iter_mut().zip(x).zip(scales).for_each(|((out, x), scale)| *out = x * scale),
            Self::Full { n_out, matrix } => {
                let rows = matrix.chunks_exact((*n_out).max(1));
                out.iter_mut().zip(rows).for_each(|(out, row)| *out = row.iter().zip(x).map(|(w, x)| w * x).sum());
            }
        }
    }

    /// `out = Wᵀ x`: from stored to whitened features.
    pub(super) fn apply_transposed(&self, x: &[f64], out: &mut [f64]) {
        match self {
            Self::Diagonal(_) => self.apply(x, out),
            Self::Full { n_out, matrix } => {
                out.fill(0.0);
                for (x, row) in x.iter().zip(matrix.chunks_exact((*n_out).max(1))) {
                    out.iter_mut().zip(row).for_each(|(out, w)| *out += w * x);
                }
            }
        }
    }
}

impl Variable {
    /// Looks at one variable's columns; not yet whitened.
    pub(super) fn new(moments: &PairMoments, columns: &[ColIx], is_group: bool) -> Self {
        let kind = |column: ColIx| &moments.schema().column(column).kind;
        let n_features = columns.iter().map(|&column| moments.n_features(column)).sum();
        let rank: usize = columns.iter().map(|&column| column_rank(moments, column)).sum();
        let is_wide = columns.iter().any(|&column| kind(column).n_states().is_some_and(|n_states| n_states > WIDE));
        let form = match (is_group, kind(columns[0])) {
            _ if rank == 0 => Form::Constant,
            (true, _) => Form::Group,
            (false, Kind::Binary { .. }) => Form::Binary(columns[0]),
            (false, Kind::Categorical { labels }) => Form::Labels(columns[0], labels.len()),
            (false, _) => Form::Number(columns[0]),
        };
        let complete = match form {
            Form::Binary(column) | Form::Number(column) if !moments.has_missing_in(column) => {
                let deviation = moments.variance(column).unwrap_or(0.0).sqrt();
                Some(Complete { sum: moments.scalar_sum(column), deviation })
            }
            _ => None,
        };
        let whitening = Whitening::Diagonal(Vec::new());
        Self { columns: columns.to_vec(), form, n_features, rank, is_wide, complete, whitening }
    }

    /// Whether `−ln |ρ|` is defined for it.
    pub(super) fn is_scalar(&self) -> bool {
        match self.form {
            Form::Constant | Form::Binary(_) | Form::Number(_) => true,
            Form::Labels(_, n_states) => n_states == 2,
            Form::Group => false,
        }
    }

    /// The column and number of states of a single column of labels.
    pub(super) fn labels(&self) -> Option<(ColIx, usize)> {
        match self.form {
            Form::Binary(column) => Some((column, 2)),
            Form::Labels(column, n_states) => Some((column, n_states)),
            _ => None,
        }
    }

    /// Finds the whitening of its features.
    pub(super) fn whiten(&mut self, moments: &PairMoments, options: &DistanceOptions, per_weight: f64) {
        let mut floors = Vec::with_capacity(self.n_features);
        let mut variances = Vec::with_capacity(self.n_features);
        for &column in &self.columns {
            column_variances(moments, column, options.rare_weight / per_weight, &mut variances, &mut floors);
        }
        let scales: Vec<f64> = variances
            .iter()
            .zip(&floors)
            .map(|(&it, &floor)| if it > 0.0 { 1.0 / f64::max(it, floor).sqrt() } else { 0.0 })
            .collect();
        if let ([_], true) = (&self.columns[..], self.n_features == 1 || matches!(self.form, Form::Labels(..))) {
            self.whitening = Whitening::Diagonal(scales);
        } else if self.is_wide || self.n_features > MAX_SQUARE {
            self.whitening = Whitening::Diagonal(shrunk(scales, self.columns.len() as f64));
        } else {
            let covariance = self.scaled_covariance(moments, &scales);
            if self.n_features > WIDE {
                self.whitening = Whitening::Diagonal(shrunk(scales, largest_eigenvalue(&covariance, self.n_features)));
            } else {
                self.whiten_fully(covariance, &scales, &variances, &floors);
            }
        }
    }

    fn whiten_fully(&mut self, mut covariance: Vec<f64>, scales: &[f64], variances: &[f64], floors: &[f64]) {
        let n = self.n_features;
        for ix in 0..n {
            covariance[ix * n + ix] += (floors[ix] - variances[ix]).max(0.0) * scales[ix] * scales[ix];
        }
        let Some((values, vectors)) = symmetric_eigen(&covariance, n) else {
            self.whitening = Whitening::Diagonal(shrunk(scales.to_vec(), self.columns.len() as f64));
            return;
        };
        let largest = values.iter().copied().fold(0.0, f64::max);
        let kept: Vec<usize> = (0..n).filter(|&ix| values[ix] > 1e-9 * largest).collect();
        let mut matrix = vec![0.0; n * kept.len()];
        for (out, &ix) in kept.iter().enumerate() {
            for feature in 0..n {
                matrix[feature * kept.len() + out] = scales[feature] * vectors[ix * n + feature] / values[ix].sqrt();
            }
        }
        self.rank = kept.len();
        self.whitening = Whitening::Full { n_out: kept.len(), matrix };
    }

    /// The covariance of the features, scaled; members that are never present together count as uncorrelated.
    fn scaled_covariance(&self, moments: &PairMoments, scales: &[f64]) -> Vec<f64> {
        let mut covariance = super::features::dense_cross(moments, self, self).0;
        let n = self.n_features;
        for (at, cell) in covariance.iter_mut().enumerate() {
            *cell *= scales[at / n] * scales[at % n];
        }
        covariance
    }
}

fn shrunk(mut scales: Vec<f64>, largest: f64) -> Vec<f64> {
    scales.iter_mut().for_each(|scale| *scale /= largest.max(1.0).sqrt());
    scales
}

/// The largest eigenvalue of a covariance, by the power method; a little above it, so that nothing exceeds it.
fn largest_eigenvalue(matrix: &[f64], n: usize) -> f64 {
    let mut vector: Vec<f64> = (0..n).map(|ix| 1.0 + (ix % 7) as f64 / 7.0).collect();
    let mut largest = 1.0;
    for _ in 0..50 {
        let product: Vec<f64> =
            matrix.chunks_exact(n).map(|row| row.iter().zip(&vector).map(|(a, x)| a * x).sum::<f64>()).collect();
        let length = product.iter().map(|x| x * x).sum::<f64>().sqrt();
        if length.is_nan() || length <= 0.0 {
            break;
        }
        largest = length;
        vector = product.iter().map(|x| x / length).collect();
    }
    1.05 * largest
}

/// Rank that the features of one column can have.
fn column_rank(moments: &PairMoments, column: ColIx) -> usize {
    match moments.level_weights(column) {
        Some(weights) => {
            let total: f64 = weights.iter().sum();
            weights.iter().filter(|weight| **weight > 1e-13 * total).count().saturating_sub(1)
        }
        None => {
            let (variance, mean) = (moments.variance(column), moments.mean(column));
            let about_shift = mean.map_or(0.0, |mean| mean - moments.shift(column));
            // Less than this is what rounding leaves of a constant.
            let varies = variance.is_some_and(|variance| variance > 1e-14 * (variance + about_shift * about_shift));
            if varies { moments.n_features(column) } else { 0 }
        }
    }
}

/// Variances of a column's features (for one-hot features their shares), and what they are at least taken for.
fn column_variances(moments: &PairMoments, column: ColIx, rare: f64, variances: &mut Vec<f64>, floors: &mut Vec<f64>) {
    let n_features = moments.n_features(column);
    let weight = moments.weight(column);
    if column_rank(moments, column) == 0 || weight <= 0.0 {
        variances.extend(std::iter::repeat_n(0.0, n_features));
        floors.extend(std::iter::repeat_n(0.0, n_features));
        return;
    }
    match moments.schema().column(column).kind {
        Kind::Categorical { .. } => {
            let weights = moments.level_weights(column).unwrap_or_default();
            let total: f64 = weights.iter().sum();
            variances.extend(weights.iter().map(|it| it / total));
            floors.extend(std::iter::repeat_n(rare / weight, n_features));
        }
        Kind::Binary { .. } => {
            variances.push(moments.variance(column).unwrap_or(0.0));
            floors.push(rare / weight);
        }
        _ => {
            let mut block = vec![0.0; n_features * n_features];
            moments.cross_into(column, column, &mut block);
            variances.extend((0..n_features).map(|ix| block[ix * n_features + ix].max(0.0)));
            floors.extend(std::iter::repeat_n(0.0, n_features));
        }
    }
}

/// The variables of the schema, whitened where the estimator looks at features.
pub(super) fn variables(moments: &PairMoments, options: &DistanceOptions, per_weight: f64) -> Result<Vec<Variable>> {
    use rayon::prelude::*;
    let all = moments.schema().variables();
    let mut variables: Vec<Variable> =
        all.par_iter().map(|variable| Variable::new(moments, &variable.columns, variable.is_group)).collect();
    let estimator = super::estimate::resolve(moments, &variables, options)?;
    let all_labels = variables.iter().all(|variable| variable.labels().is_some() || variable.form == Form::Constant);
    // For −ln |ρ| every column counts as it is.
    let options = if estimator == Estimator::Gaussian { options.rare_weight(0.0) } else { *options };
    let options = &options;
    let has_labels = variables.iter().any(|variable| matches!(variable.form, Form::Labels(..)));
    if !all_labels && (estimator == Estimator::Canonical || estimator == Estimator::Gaussian && has_labels) {
        variables.par_iter_mut().for_each(|variable| variable.whiten(moments, options, per_weight));
    }
    Ok(variables)
}
