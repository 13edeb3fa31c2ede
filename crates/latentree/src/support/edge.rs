//! Fits the rearrangements of one edge of a discrete model on its patch: a branch moved to the other end, two branches
//! swapped, or the ends merged.
//!
//! First, all of them are fitted on a sample of the rows. Arrangements that are behind there by more than the sampling error
//! are decided; the others are fitted again on all rows.

use super::weigh::{Alternative, Compared};
use crate::information;
use crate::patch::{CHUNK, Columns, Context, Floors, Local, Patch};

/// Maximum number of moves and swaps to fit, taking the most promising ones.
const MAX_FITTED: usize = 6;
/// Maximum number of EM steps for each arrangement.
const STEPS: usize = 60;
/// Number of EM steps for the first look at an arrangement.
const ROUGH_STEPS: usize = 3;
/// Gain below which EM stops.
const TOLERANCE: f64 = 0.02;
/// An arrangement behind the present one by more than this has no weight and is not fitted to the end.
const HOPELESS: f64 = 20.0;
/// Number of standard errors by which the result on a sample may be off.
const ERRORS: f64 = 3.0;

/// The data and settings for testing edges.
#[derive(Clone, Copy)]
pub(super) struct Tester<'a> {
    pub(super) context: &'a Context<'a>,
    /// The same net with a sample of the rows for first looks, or with all rows.
    pub(super) sample: &'a Context<'a>,
    pub(super) floors: Floors,
    /// Whether the log-likelihoods of single rows are needed.
    pub(super) with_rows: bool,
}

/// An arrangement and its log-likelihood.
struct Fitted {
    local: Local,
    ln_likelihood: f64,
}

/// The result of testing an edge.
pub(super) struct Outcome {
    pub(super) compared: Compared,
    pub(super) merged: Local,
    /// The best rearrangement and its gain of BIC, if it is better than the present one.
    pub(super) better: Option<(Local, f64)>,
}

impl Tester<'_> {
    /// The BIC cost of the additional parameters of one arrangement compared with another.
    fn extra_cost(&self, local: &Local, other: &Local) -> f64 {
        let columns = self.context.columns;
        let n_free = |local: &Local| local.patch.n_free(columns) as f64;
        information::bic_cost(columns.weight.max(2.0)) * (n_free(local) - n_free(other))
    }

    /// Compares the edge between a hidden node and its parent with its rearrangements and with the merged node, all fitted
    /// alike.
    pub(super) fn compared(&self, hidden: usize, parent: usize) -> Outcome {
        let columns = self.sample.columns;
        let present = self.fitted(self.sample.edge(hidden, parent), f64::NEG_INFINITY);
        let least = |local: &Local| present.ln_likelihood + self.extra_cost(local, &present.local) - HOPELESS;
        let fitted = |local: Local| {
            let least = least(&local);
            self.fitted(local, least)
        };
        let [first, second] = [present.local.joined(columns), present.local.turned().joined(columns)].map(fitted);
        let criterion = |it: &Fitted| it.ln_likelihood - self.extra_cost(&it.local, &present.local);
        let merged = if criterion(&first) >= criterion(&second) { first } else { second };
        // A few EM steps show what a branch is worth at the other end.
        let look = |local: &mut Local| {
            self.fit(&mut local.patch, columns, ROUGH_STEPS, f64::NEG_INFINITY) - self.extra_cost(local, &present.local)
        };
        let candidates = present.local.rearrangements(columns, look).into_iter().take(MAX_FITTED);
        let rearranged: Vec<Fitted> = candidates.map(|(_, local)| fitted(local)).collect();

        // An arrangement is open if the sample does not rule it out.
        let own_rows =
            if columns.scale > self.context.columns.scale { row_values(&present.local.patch, columns) } else { Vec::new() };
        let is_open = |other: &Fitted| {
            other.ln_likelihood + ERRORS * sampling_error(&own_rows, &other.local.patch, columns) >= least(&other.local)
        };
        let is_merged_open = is_open(&merged);
        let are_open: Vec<bool> = rearranged.iter().map(is_open).collect();
        let whole = self.context.edge(hidden, parent);
        let again = |fitted: &Fitted| self.again(fitted, &whole, !own_rows.is_empty());
        let base = (is_merged_open || are_open.contains(&true)).then(|| again(&present));
        let alternative = |fitted: &Fitted, is_open: bool| {
            let (gain, rows) = match &base {
                Some(base) if is_open => {
                    let (ln_likelihood, rows) = again(fitted);
                    (ln_likelihood - base.0, rows)
                }
                _ => (fitted.ln_likelihood - present.ln_likelihood, Vec::new()),
            };
            let n_parameters = fitted.local.patch.n_free(columns) as f64;
            Alternative { ln_likelihood: present.ln_likelihood + gain, n_parameters, rows }
        };
        let compared = Compared {
            n: self.context.columns.weight,
            scale: self.context.columns.scale,
            rearranged: rearranged.iter().zip(are_open).map(|(other, is_open)| alternative(other, is_open)).collect(),
            merged: alternative(&merged, is_merged_open),
            present: Alternative {
                rows: base.as_ref().map(|base| base.1.clone()).unwrap_or_default(),
                ..alternative(&present, false)
            },
        };
        let better = compared.better().map(|(at, gain)| (rearranged[at].local.clone(), gain));
        Outcome { compared, merged: merged.local, better }
    }

    /// The log-likelihood of an arrangement after EM on all rows, if it was fitted on a sample, and that of each row if
    /// needed.
    fn again(&self, fitted: &Fitted, whole: &Local, is_sample: bool) -> (f64, Vec<f64>) {
        let columns = self.context.columns;
        let mut patch = fitted.local.patch.clone();
        // Leaves have the same order in all arrangements; sources for all rows replace those of the sample.
        patch.leaves.iter_mut().zip(&whole.patch.leaves).for_each(|(to, from)| to.source = from.source.clone());
        let ln_likelihood =
            if is_sample { self.fit(&mut patch, columns, STEPS, f64::NEG_INFINITY) } else { fitted.ln_likelihood };
        (ln_likelihood, if self.with_rows { row_values(&patch, columns) } else { Vec::new() })
    }

    fn fitted(&self, mut local: Local, least: f64) -> Fitted {
        let ln_likelihood = self.fit(&mut local.patch, self.sample.columns, STEPS, least);
        Fitted { local, ln_likelihood }
    }

    /// Runs EM until a step gains less than the tolerance. Returns the log-likelihood of the last evaluated tables plus what
    /// geometric convergence would still add. Gives up early on fits that would stay below `least`.
    fn fit(&self, patch: &mut Patch, columns: &Columns, steps: usize, least: f64) -> f64 {
        let mut work = patch.work();
        let (mut value, mut last_gain, mut limit) = (f64::NEG_INFINITY, f64::INFINITY, 0.0);
        for step in 0..=steps {
            let counts = patch.expect(columns, &mut work, |_, _| {});
            let gain = counts.log_likelihood - value;
            if !counts.log_likelihood.is_finite() || (step > 0 && gain < 0.0) {
                break;
            }
            let ratio = gain / last_gain;
            limit = if ratio > 0.0 && ratio < 0.98 { gain * ratio / (1.0 - ratio) } else { 0.0 };
            (value, last_gain) = (counts.log_likelihood, gain);
            let is_hopeless = step >= 4 && value + 20.0 * gain < least;
            if gain < TOLERANCE || step == steps || is_hopeless {
                break;
            }
            patch.maximise(&counts, columns, &self.floors);
        }
        value + limit.min(last_gain.min(1e9) * 20.0)
    }
}

/// The log-likelihood of each row.
fn row_values(patch: &Patch, columns: &Columns) -> Vec<f64> {
    let mut rows = Vec::with_capacity(columns.n_rows);
    patch.expect(columns, &mut patch.work(), |chunk, work| {
        let n = (columns.n_rows - chunk * CHUNK).min(CHUNK);
        rows.extend((0..n).map(|row| work.ln_likelihood(row)));
    });
    rows
}

/// The standard error, on a sample of the rows, of the difference from another arrangement; zero if `own` has no rows.
fn sampling_error(own: &[f64], other: &Patch, columns: &Columns) -> f64 {
    if own.is_empty() {
        return 0.0;
    }
    let other = row_values(other, columns);
    let differences = || other.iter().zip(own).map(|(other, own)| other - own).zip(&columns.weights);
    let mean = differences().map(|(it, weight)| it * weight).sum::<f64>() / columns.weight.max(1e-300);
    // The weight of a row is its number of units in the sample, each of which stands for `scale` rows.
    differences().map(|(it, weight)| (it - mean).powi(2) * weight * columns.scale).sum::<f64>().sqrt()
}
