//! From correlations to a distance: significance, clipping and standard errors.
//!
//! With n the effective number of rows of a pair, a sample correlation of two independent scalars is about 1/√n; the largest
//! singular value of an a × b matrix of such noise is about (√a + √b)/√n. So the r-th canonical correlation is significant
//! when `ρ_r √n ≥ z + (√f_i − 1) + (√f_j − 1)`, f the dimensions of the two variables that the first r − 1 directions leave; for
//! scalars this is `|ρ| √n ≥ z`.

use super::DistanceOptions;

/// A distance and its standard error; NaN if undefined.
#[derive(Debug, Clone, Copy)]
pub(super) struct Estimate {
    pub(super) distance: f64,
    pub(super) error: f64,
}

impl Estimate {
    /// No distance.
    pub(super) const NONE: Self = Self { distance: f64::NAN, error: f64::NAN };
}

/// Correlations nearer to 1 than this are 1: they are rounding errors of two identical columns.
const SAME: f64 = 1e-12;

/// The rules of one run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Judge {
    significance: Option<f64>,
    clip: f64,
    pub(super) errors: bool,
}

impl Judge {
    pub(super) fn new(options: &DistanceOptions) -> Self {
        Self { significance: options.significance, clip: options.clip, errors: options.errors }
    }

    /// The least correlation that counts with n rows.
    pub(super) fn floor(&self, n: f64) -> f64 {
        (self.clip / n.sqrt()).clamp(1e-150, 1.0)
    }

    /// A correlation in [floor, 1].
    pub(super) fn clipped(&self, correlation: f64, n: f64) -> f64 {
        if correlation > 1.0 - SAME { 1.0 } else { correlation.max(self.floor(n)) }
    }

    /// Whether the smallest correlation of a pair is significant, given the remaining dimensions of the two variables.
    pub(super) fn is_significant(&self, correlation: f64, n: f64, left: (f64, f64)) -> bool {
        let noise = |dimension: f64| dimension.max(1.0).sqrt() - 1.0;
        self.significance.is_none_or(|z| correlation * n.sqrt() >= z + noise(left.0) + noise(left.1))
    }

    /// Whether the standard error of a logarithm is too large for significance: that of `ln |ρ|` is about
    /// `1/(|ρ| √n)`, so that `|ρ| √n < z` where it exceeds `1/z`.
    pub(super) fn is_noise(&self, error: f64) -> bool {
        self.significance.is_some_and(|z| error * z > 1.0)
    }

    /// A standard error from n times the variance. A distance is not known better than one row in n: this keeps weights by
    /// precision finite for identical columns.
    pub(super) fn error(&self, n_variance: f64, n: f64) -> f64 {
        (n_variance.max(0.0) / n).sqrt().max(1.0 / n).min(f64::MAX)
    }

    /// The distance of clipped correlations, `−Σ ln ρ`, never negative and never −0.
    pub(super) fn distance(correlations: impl Iterator<Item = f64>) -> f64 {
        correlations.map(|it| -it.ln()).sum::<f64>().max(0.0) + 0.0
    }

    /// `−ln |ρ|` with the standard error `(1 − ρ²)/(|ρ| √n)` of Gaussian variables.
    pub(super) fn scalar(&self, correlation: f64, n: f64) -> Estimate {
        let size = correlation.abs();
        if !self.is_significant(size, n, (1.0, 1.0)) {
            return Estimate::NONE;
        }
        let clipped = self.clipped(size, n);
        let distance = (-clipped.ln()).max(0.0) + 0.0;
        let error = if self.errors { self.error(gaussian_variance(clipped), n) } else { f64::NAN };
        Estimate { distance, error }
    }
}

/// n times the variance of `ln |ρ̂|` for Gaussian variables: `(1 − ρ²)²/ρ²`.
pub(super) fn gaussian_variance(correlation: f64) -> f64 {
    ((1.0 - correlation * correlation) / correlation).powi(2)
}
