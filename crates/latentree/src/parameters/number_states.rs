//! What a column of numbers is in each state of its parent: means and variances, or rates, from `E[φ 1{h}]` with
//! `φ = (1, z, z²)`.
//!
//! z has mean 0 and variance 1 in the rows where the column is present. With q the share of a state among them,
//! `z_c² ≤ (1 − q)/q` and `q (v_c + z_c²) ≤ 1` hold for the mean and the variance of every state of every distribution, and a
//! rate is between 0 and `mean/q`. Estimates from few rows break these bounds, and variances and rates come out as nothing or
//! less; such numbers are set to the nearest that can be, and counted. What the floors of variances and rates are is a matter of
//! noise: they fall with the square root of the state's rows, so that exact moments keep what they say.

use super::projection::FLOOR;
use crate::coordinates::number_standard;
use crate::data::Kind;
use crate::linalg::Matrix;
use crate::model::Emission;
use crate::moments::ColumnSummary;

/// Variances below this share of the column's, and rates below this share of its mean, are raised, in however few rows.
const MIN_VARIANCE: f64 = 0.05;
const MIN_RATE: f64 = 1e-3;
/// The same with n rows is this over √n, if that is less.
const NOISE: f64 = 0.3;
/// Changes of numbers of size one that nobody needs to know of: rounding errors, and this over √n, far below what n rows tell.
const ROUNDING: f64 = 1e-8;
const SMALL: f64 = 0.01;
/// The variance of a column that has none: a density needs one.
const NO_VARIANCE: f64 = 1e-9;

/// A column of numbers.
pub(super) struct NumberStates<'a> {
    pub(super) summary: &'a ColumnSummary,
    /// Rows that the moments are the means of.
    pub(super) rows: f64,
}

/// The mean and the variance in one state, in units of the column's own.
struct State {
    mean: f64,
    variance: f64,
    /// The state's share of the rows where the column is present, and their number.
    share: f64,
    rows: f64,
    changed: usize,
}

impl NumberStates<'_> {
    /// The distribution given the states of these weights from `E[φ 1{h}]`, features as rows, and how many of its numbers had to
    /// be changed.
    pub(super) fn emission(&self, kind: &Kind, table: &Matrix, weights: &[f64]) -> (Emission, usize) {
        let (mean, scale) = number_standard(self.summary);
        let sd = if scale > 0.0 { 1.0 / scale } else { 0.0 };
        let present: f64 = (0..weights.len()).map(|c| table[(0, c)].max(0.0)).sum();
        let states = weights.iter().enumerate().map(|(c, &weight)| self.state(table, c, weight, present));
        if *kind == Kind::Count {
            let parts = states.map(|state| {
                let rate = mean + sd * state.mean;
                let least = (MIN_RATE * mean).min(NOISE * sd / state.rows.sqrt());
                let most = if state.share > 0.0 { mean / state.share } else { f64::INFINITY };
                let kept = rate.max(least).min(most);
                let moved = usize::from((kept - rate).abs() > state.tolerance() * (mean + sd));
                // A column of zeros says that counts are rare, not that there are none.
                (if mean > 0.0 { kept } else { FLOOR }, state.changed.max(moved))
            });
            let (rates, changed): (Vec<f64>, Vec<usize>) = parts.unzip();
            return (Emission::Poisson { rates }, changed.iter().sum());
        }
        let parts = states.map(|state| {
            let least = MIN_VARIANCE.min(NOISE / state.rows.sqrt());
            let variance = state.variance.max(least);
            let changed = state.changed + usize::from(sd > 0.0 && variance - state.variance > state.tolerance());
            (mean + sd * state.mean, if sd > 0.0 { variance * sd * sd } else { NO_VARIANCE }, changed)
        });
        let (mut means, mut variances, mut changed) = (Vec::new(), Vec::new(), 0);
        for part in parts {
            means.push(part.0);
            variances.push(part.1);
            changed += part.2;
        }
        (Emission::Gaussian { means, variances }, changed)
    }

    fn state(&self, table: &Matrix, c: usize, weight: f64, present: f64) -> State {
        let expected = weight * present;
        if expected.is_nan() || expected <= 0.0 {
            // A state that never occurs: the column as it is.
            return State { mean: 0.0, variance: 1.0, share: 0.0, rows: 1.0, changed: 0 };
        }
        // The state's part of the rows where the cell is present is not known better than this.
        let least = (0.1 * expected).min((expected / self.rows).sqrt());
        let own = table[(0, c)].max(least);
        let share = (own / present).min(1.0);
        let most = ((1.0 - share) / share).sqrt();
        let raw = table[(1, c)] / own;
        let mean = if raw.is_finite() { raw.clamp(-most, most) } else { 0.0 };
        let square = if table.n_rows() > 2 { table[(2, c)] / own } else { 0.0 };
        let raw_variance = if square.is_finite() { square - mean * mean } else { 1.0 };
        let variance = raw_variance.min(1.0 / share - mean * mean);
        let mut state = State { mean, variance, share, rows: (self.rows * own).max(1.0), changed: 0 };
        let tolerance = state.tolerance();
        let moved =
            (mean - raw).abs() > tolerance || raw_variance - variance > tolerance / share || own - table[(0, c)] > tolerance;
        state.changed = usize::from(moved);
        state
    }
}

impl State {
    /// How large a change is one.
    fn tolerance(&self) -> f64 {
        ROUNDING + SMALL / self.rows.sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A column of mean 10 and variance 4 and the moments of its states, with z from these means and variances of z.
    fn emission(kind: &Kind, rows: f64, weights: &[f64], means: &[f64], variances: &[f64], present: f64) -> (Emission, usize) {
        let summary =
            ColumnSummary { weight: rows * present, mean: 10.0, deviations: 4.0 * rows * present, ..ColumnSummary::default() };
        let cell = |feature: usize, c: usize| {
            let moment = [1.0, means[c], variances[c] + means[c] * means[c]][feature];
            present * weights[c] * moment
        };
        let table = Matrix::from_fn(3, weights.len(), cell);
        NumberStates { summary: &summary, rows }.emission(kind, &table, weights)
    }

    #[test]
    fn small_and_large_variances_far_means_and_many_missing_cells_stay_as_they_are() {
        // A rare state far away with a small variance, and a rare one of a large variance: 0.99 a² + 0.01 b² + within = 1.
        let weights = [0.99, 0.01];
        let far = [-0.09, 0.09 * 0.99 / 0.01];
        let spent = 0.99 * far[0] * far[0] + 0.01 * far[1] * far[1];
        let variances = [(1.0 - spent - 0.01 * 1e-3) / 0.99, 1e-3];
        for present in [1.0, 0.03] {
            let (found, changed) = emission(&Kind::Continuous, 1e14, &weights, &far, &variances, present);
            let Emission::Gaussian { means, variances: found } = found else { panic!("a number") };
            assert_eq!(changed, 0);
            let close = |(found, z): (&f64, &f64)| (found - (10.0 + 2.0 * z)).abs() < 1e-9;
            assert!(means.iter().zip(&far).all(close), "{means:?}");
            let close = |(found, share): (&f64, &f64)| (found - 4.0 * share).abs() < 1e-9 * share.max(1e-3);
            assert!(found.iter().zip(&variances).all(close), "{found:?}");
        }
        let (found, changed) = emission(&Kind::Continuous, 1e14, &weights, &[0.0, 0.0], &[0.5 / 0.99, 50.0], 1.0);
        let Emission::Gaussian { variances, .. } = found else { panic!("a number") };
        assert_eq!((changed, (variances[1] * 1e6).round()), (0, 2e8));
        // Rates of 1e-4 beside a mean of 10.
        let least = (1e-4 - 10.0) / 2.0;
        let (found, changed) = emission(&Kind::Count, 1e14, &[0.02, 0.98], &[least, -least * 0.02 / 0.98], &[0.0, 0.0], 1.0);
        let Emission::Poisson { rates } = found else { panic!("a count") };
        assert_eq!(changed, 0);
        assert!((rates[0] - 1e-4).abs() < 1e-9, "{rates:?}");
    }

    #[test]
    fn what_no_distribution_can_have_is_changed_and_counted() {
        // A negative variance.
        let (found, changed) = emission(&Kind::Continuous, 1000.0, &[0.5, 0.5], &[0.9, -0.9], &[0.4, -0.02], 1.0);
        let Emission::Gaussian { variances, .. } = found else { panic!("a number") };
        assert_eq!(changed, 1);
        assert!(variances[1] > 0.0 && variances[1] < 0.06 * 4.0, "{variances:?}");
        // A mean that half of the rows cannot have.
        let (found, changed) = emission(&Kind::Continuous, 1000.0, &[0.5, 0.5], &[3.0, -0.5], &[0.3, 0.3], 1.0);
        let Emission::Gaussian { means, .. } = found else { panic!("a number") };
        assert!(changed >= 1 && means[0] <= 12.0 + 1e-9, "{means:?}");
        // A negative rate.
        let (found, changed) = emission(&Kind::Count, 1000.0, &[0.05, 0.95], &[-6.0, 0.3], &[0.0, 0.0], 1.0);
        let Emission::Poisson { rates } = found else { panic!("a count") };
        assert!(changed >= 1 && rates[0] > 0.0, "{rates:?}");
    }
}
