//! The rearrangements of one edge of a discrete model, fitted on its patch: a branch moved to the other end, two branches swapped, the ends merged.

use super::weigh::{Alternative, Compared};
use crate::information;
use crate::patch::{CHUNK, Columns, Context, Floors, Local};

/// Moves and swaps that are fitted, of those that look best.
const MAX_FITTED: usize = 6;
/// Steps of EM for each arrangement.
const STEPS: usize = 60;
/// Steps of EM for an arrangement that is looked at only.
const ROUGH_STEPS: usize = 3;
/// A step that gains less ends EM.
const TOLERANCE: f64 = 0.02;
/// An arrangement that stays behind the present one by more than this has no weight and is not fitted to the end.
const HOPELESS: f64 = 30.0;

/// What edges are tested by.
#[derive(Clone, Copy)]
pub(super) struct Tester<'a> {
    pub(super) context: &'a Context<'a>,
    pub(super) floors: Floors,
    /// Whether the log-likelihoods of single rows are wanted.
    pub(super) with_rows: bool,
}

impl Tester<'_> {
    fn columns(&self) -> &Columns {
        self.context.columns
    }

    fn penalty(&self, local: &Local) -> f64 {
        information::bic_cost(self.columns().weight.max(2.0)) * local.patch.n_free(self.columns()) as f64
    }

    /// The edge between a hidden node and its parent: its present arrangement, the rearrangements and the merged node, fitted alike; and the merged node.
    pub(super) fn compared(&self, hidden: usize, parent: usize) -> (Compared, Local) {
        let mut present = self.context.edge(hidden, parent);
        let ln_present = self.fit(&mut present, STEPS, f64::NEG_INFINITY);
        let penalty = self.penalty(&present);
        let least = |local: &Local| ln_present + self.penalty(local) - penalty - HOPELESS;
        let sizes = present.sizes();
        let merged = [present.joined(self.columns()), present.turned().joined(self.columns())].map(|mut local| {
            let few = sizes[0].min(sizes[1]) as f64;
            let ways = few * (1.0 + ((sizes[0] + sizes[1]) as f64 / few.max(1.0)).ln());
            let least = least(&local) - ways;
            let ln = self.fit(&mut local, STEPS, least);
            (ln, local)
        });
        let criterion = |(ln, local): &(f64, Local)| ln - self.penalty(local);
        let [first, second] = merged;
        let (ln_merged, merged) = if criterion(&first) >= criterion(&second) { first } else { second };
        // What a branch is worth at the other end is seen after a few steps of EM.
        let look = |local: &mut Local| self.fit(local, ROUGH_STEPS, f64::NEG_INFINITY) - self.penalty(local);
        let candidates = present.rearrangements(self.columns(), look).into_iter().take(MAX_FITTED);
        let rearranged = candidates.map(|(_, mut local)| {
            let least = least(&local);
            let ln = self.fit(&mut local, STEPS, least);
            self.alternative(&local, ln)
        });
        let compared = Compared {
            n: self.columns().weight,
            scale: self.columns().scale,
            rearranged: rearranged.collect(),
            present: self.alternative(&present, ln_present),
            merged: self.alternative(&merged, ln_merged),
        };
        (compared, merged)
    }

    /// EM until a step gains less than the tolerance. The log-likelihood is that of the last tables that were looked at, and what geometric convergence
    /// would still add to it. What would stay below `least` is given up early.
    fn fit(&self, local: &mut Local, steps: usize, least: f64) -> f64 {
        let columns = self.columns();
        let mut work = local.patch.work();
        let (mut value, mut last_gain, mut limit) = (f64::NEG_INFINITY, f64::INFINITY, 0.0);
        for step in 0..=steps {
            let counts = local.patch.expect(columns, &mut work, |_, _| {});
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
            local.patch.maximise(&counts, columns, &self.floors);
        }
        value + limit.min(last_gain.min(1e9) * 20.0)
    }

    fn alternative(&self, local: &Local, ln_likelihood: f64) -> Alternative {
        let columns = self.columns();
        let mut rows = Vec::new();
        if self.with_rows {
            local.patch.expect(columns, &mut local.patch.work(), |chunk, work| {
                let n = (columns.n_rows - chunk * CHUNK).min(CHUNK);
                rows.extend((0..n).map(|row| work.ln_likelihood(row)));
            });
        }
        Alternative {
            ln_likelihood,
            n_parameters: local.patch.n_free(columns) as f64,
            sizes: (local.patch.nodes.len() == 2).then(|| local.sizes()),
            rows,
        }
    }
}
