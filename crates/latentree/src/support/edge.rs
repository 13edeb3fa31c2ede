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
/// Number of EM steps before steps become longer, and the factor by which the next one is longer than the last.
const PLAIN_STEPS: usize = 2;
const LONGER: f64 = 1.3;
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
        let is_sample = !own_rows.is_empty();
        let base = (is_merged_open || are_open.contains(&true)).then(|| self.whole(hidden, parent, &present, is_sample));
        // Returns the arrangement fitted to all rows as well, if it was.
        let alternative = |fitted: &Fitted, is_open: bool| {
            let n_parameters = fitted.local.patch.n_free(columns) as f64;
            let (gain, rows, local) = match &base {
                Some(base) if is_open => {
                    let (again, rows) = self.again(fitted, &present, base, is_sample);
                    (again.ln_likelihood - base.ln_likelihood, rows, again.local)
                }
                _ => (fitted.ln_likelihood - present.ln_likelihood, Vec::new(), fitted.local.clone()),
            };
            (Alternative { ln_likelihood: present.ln_likelihood + gain, n_parameters, rows }, local)
        };
        let (of_moves, mut moved): (Vec<Alternative>, Vec<Local>) =
            rearranged.iter().zip(are_open).map(|(other, is_open)| alternative(other, is_open)).unzip();
        let (of_merged, merged) = alternative(&merged, is_merged_open);
        let compared = Compared {
            n: self.context.columns.weight,
            scale: self.context.columns.scale,
            rearranged: of_moves,
            merged: of_merged,
            present: Alternative {
                ln_likelihood: present.ln_likelihood,
                n_parameters: present.local.patch.n_free(columns) as f64,
                rows: base
                    .as_ref()
                    .filter(|_| self.with_rows)
                    .map(|base| row_values(&base.local.patch, self.context.columns))
                    .unwrap_or_default(),
            },
        };
        let better = compared.better().map(|(at, gain)| (moved.swap_remove(at), gain));
        Outcome { compared, merged, better }
    }

    /// The present arrangement fitted to all rows.
    fn whole(&self, hidden: usize, parent: usize, present: &Fitted, is_sample: bool) -> Fitted {
        if !is_sample {
            return Fitted { local: present.local.clone(), ln_likelihood: present.ln_likelihood };
        }
        let mut local = self.context.edge(hidden, parent);
        let ln_likelihood = self.fit(&mut local.patch, self.context.columns, STEPS, f64::NEG_INFINITY);
        Fitted { local, ln_likelihood }
    }

    /// An arrangement that was fitted on a sample, fitted to all rows, and the log-likelihood of each row if needed. EM starts
    /// from the tables of the present arrangement: those fitted on a sample are noisy, and EM would take many steps to lose the
    /// noise.
    fn again(&self, fitted: &Fitted, present: &Fitted, base: &Fitted, is_sample: bool) -> (Fitted, Vec<f64>) {
        let columns = self.context.columns;
        let mut again = Fitted { local: fitted.local.clone(), ln_likelihood: fitted.ln_likelihood };
        if is_sample {
            again.local = base.local.arranged_as(&fitted.local, columns);
            // Resampled rows may favour an arrangement that is far behind on these.
            let least = match self.with_rows {
                true => f64::NEG_INFINITY,
                false => base.ln_likelihood + self.extra_cost(&fitted.local, &present.local) - HOPELESS,
            };
            again.ln_likelihood = self.fit(&mut again.local.patch, columns, STEPS, least);
        }
        let rows = if self.with_rows { row_values(&again.local.patch, columns) } else { Vec::new() };
        (again, rows)
    }

    fn fitted(&self, mut local: Local, least: f64) -> Fitted {
        let ln_likelihood = self.fit(&mut local.patch, self.sample.columns, STEPS, least);
        Fitted { local, ln_likelihood }
    }

    /// Runs over-relaxed EM until a step gains less than the tolerance. Returns the log-likelihood of the last evaluated tables
    /// plus what geometric convergence would still add. Gives up early on fits that would stay below `least`.
    pub(super) fn fit(&self, patch: &mut Patch, columns: &Columns, steps: usize, least: f64) -> f64 {
        let mut work = patch.work();
        let (mut value, mut last_gain, mut limit) = (f64::NEG_INFINITY, f64::INFINITY, 0.0);
        // The exponent of the next step, and the result of the plain step in case the longer one is too long.
        let (mut exponent, mut plain) = (1.0, None);
        for step in 0..=steps {
            let counts = patch.expect(columns, &mut work, |_, _| {});
            let gain = counts.log_likelihood - value;
            if !counts.log_likelihood.is_finite() || (step > 0 && gain < 0.0) {
                match plain.take() {
                    Some(plain) => {
                        (*patch, exponent) = (plain, 1.0);
                        continue;
                    }
                    None => break,
                }
            }
            let ratio = gain / last_gain;
            limit = if ratio > 0.0 && ratio < 0.98 { gain * ratio / (1.0 - ratio) } else { 0.0 };
            (value, last_gain) = (counts.log_likelihood, gain);
            let is_hopeless = step >= 4 && value + 20.0 * gain < least;
            if gain < TOLERANCE || step == steps || is_hopeless {
                break;
            }
            let before = patch.clone();
            patch.maximise(&counts, columns, &self.floors);
            plain = None;
            if step >= PLAIN_STEPS {
                exponent *= LONGER;
                plain = Some(patch.clone());
                patch.over_relax(&before, exponent, columns);
            }
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
