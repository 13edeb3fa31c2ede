//! The rearrangements of one edge of a discrete model, fitted on its patch: a branch moved to the other end, two branches swapped, the ends merged.
//!
//! A first look fits all of them on a sample of the rows. An arrangement that is far behind there, by more than the sample may be wrong, is decided; the
//! others are fitted again on all rows.

use super::weigh::{Alternative, Compared};
use crate::information;
use crate::patch::{CHUNK, Columns, Context, Floors, Local, Patch};

/// Moves and swaps that are fitted, of those that look best.
const MAX_FITTED: usize = 6;
/// Steps of EM for each arrangement.
const STEPS: usize = 60;
/// Steps of EM for an arrangement that is looked at only.
const ROUGH_STEPS: usize = 3;
/// A step that gains less ends EM.
const TOLERANCE: f64 = 0.02;
/// An arrangement that stays behind the present one by more than this has no weight and is not fitted to the end.
const HOPELESS: f64 = 20.0;
/// Standard errors that a sample of the rows may be wrong by.
const ERRORS: f64 = 3.0;

/// What edges are tested by.
#[derive(Clone, Copy)]
pub(super) struct Tester<'a> {
    pub(super) context: &'a Context<'a>,
    /// The same net with a sample of the rows for first looks, or again all of them.
    pub(super) sample: &'a Context<'a>,
    pub(super) floors: Floors,
    /// Whether the log-likelihoods of single rows are wanted.
    pub(super) with_rows: bool,
}

/// An arrangement and its log-likelihood.
struct Fitted {
    local: Local,
    ln_likelihood: f64,
}

/// What the test of an edge finds.
pub(super) struct Outcome {
    pub(super) compared: Compared,
    pub(super) merged: Local,
    /// The best rearrangement, if it is better than the present one, and by how much BIC.
    pub(super) better: Option<(Local, f64)>,
}

impl Tester<'_> {
    /// BIC's cost of the parameters that an arrangement has more than another.
    fn extra_cost(&self, local: &Local, other: &Local) -> f64 {
        let columns = self.context.columns;
        let n_free = |local: &Local| local.patch.n_free(columns) as f64;
        information::bic_cost(columns.weight.max(2.0)) * (n_free(local) - n_free(other))
    }

    /// The edge between a hidden node and its parent: its present arrangement, the rearrangements and the merged node, fitted alike.
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
        // What a branch is worth at the other end is seen after a few steps of EM.
        let look = |local: &mut Local| {
            self.fit(&mut local.patch, columns, ROUGH_STEPS, f64::NEG_INFINITY) - self.extra_cost(local, &present.local)
        };
        let candidates = present.local.rearrangements(columns, look).into_iter().take(MAX_FITTED);
        let rearranged: Vec<Fitted> = candidates.map(|(_, local)| fitted(local)).collect();

        // Open is what the sample does not rule out.
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

    /// The log-likelihood of an arrangement after EM on all rows, if it was fitted to a sample, and that of each row where it is wanted.
    fn again(&self, fitted: &Fitted, whole: &Local, is_sample: bool) -> (f64, Vec<f64>) {
        let columns = self.context.columns;
        let mut patch = fitted.local.patch.clone();
        // Leaves keep their order in all arrangements; those of all rows replace the sample's.
        patch.leaves.iter_mut().zip(&whole.patch.leaves).for_each(|(to, from)| to.source = from.source.clone());
        let ln_likelihood =
            if is_sample { self.fit(&mut patch, columns, STEPS, f64::NEG_INFINITY) } else { fitted.ln_likelihood };
        (ln_likelihood, if self.with_rows { row_values(&patch, columns) } else { Vec::new() })
    }

    fn fitted(&self, mut local: Local, least: f64) -> Fitted {
        let ln_likelihood = self.fit(&mut local.patch, self.sample.columns, STEPS, least);
        Fitted { local, ln_likelihood }
    }

    /// EM until a step gains less than the tolerance. The log-likelihood is that of the last tables that were looked at, and what geometric convergence
    /// would still add to it. What would stay below `least` is given up early.
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

/// The log-likelihood of every row.
fn row_values(patch: &Patch, columns: &Columns) -> Vec<f64> {
    let mut rows = Vec::with_capacity(columns.n_rows);
    patch.expect(columns, &mut patch.work(), |chunk, work| {
        let n = (columns.n_rows - chunk * CHUNK).min(CHUNK);
        rows.extend((0..n).map(|row| work.ln_likelihood(row)));
    });
    rows
}

/// The standard error of the difference to another arrangement that a sample of the rows gives; zero without the sample's rows.
fn sampling_error(own: &[f64], other: &Patch, columns: &Columns) -> f64 {
    if own.is_empty() {
        return 0.0;
    }
    let other = row_values(other, columns);
    let differences = || other.iter().zip(own).map(|(other, own)| other - own).zip(&columns.weights);
    let mean = differences().map(|(it, weight)| it * weight).sum::<f64>() / columns.weight.max(1e-300);
    // A row counts as many units of the sample as it has, each of which stands for `scale` rows.
    differences().map(|(it, weight)| (it - mean).powi(2) * weight * columns.scale).sum::<f64>().sqrt()
}
