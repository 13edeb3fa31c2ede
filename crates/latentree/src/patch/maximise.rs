//! The M-step of a patch, and EM.

use super::{Column, Columns, Counts, Patch, Source, Work};
use crate::parameters::em::{PRIOR_VARIANCE, Smoothing};

/// Number of final steps of a climb that use all rows.
const LAST_STEPS: usize = 3;
/// Minimum number of chunks of rows used by the earlier steps.
const SAMPLE_CHUNKS: usize = 4;
/// The earlier steps use at least one chunk in this many.
const MAX_STRIDE: usize = 4;

/// Maximum number of lanes that run in parallel, and the minimum number of chunks per lane.
const MAX_LANES: usize = 4;
const MIN_CHUNKS_OF_A_LANE: usize = 2;

/// Lower limits that keep tables away from zero.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Floors {
    pub(crate) pseudo_count: f64,
    pub(crate) variance: f64,
    pub(crate) rate: f64,
    pub(crate) variance_weight: f64,
}

impl Floors {
    /// The limits for EM with this smoothing.
    pub(crate) fn of(smoothing: &Smoothing) -> Self {
        Self {
            pseudo_count: smoothing.pseudo_count,
            variance: smoothing.variance_floor,
            rate: smoothing.rate_floor,
            variance_weight: smoothing.variance_weight,
        }
    }
}

impl Patch {
    /// Sets all parameters to their maximum-likelihood values given the counts.
    pub(crate) fn maximise(&mut self, counts: &Counts, columns: &Columns, floors: &Floors) {
        for (node, counts) in self.nodes.iter_mut().zip(&counts.nodes) {
            normalise(counts, node.n_states, floors.pseudo_count, &mut node.table);
            if let Some((_, prior)) = self.background {
                node.table.iter_mut().for_each(|cell| *cell *= 1.0 - prior);
            }
        }
        for (leaf, counts) in self.leaves.iter_mut().zip(&counts.leaves) {
            match &leaf.source {
                Source::Fixed(_) | Source::Identity(_) => {}
                Source::Soft(soft) => normalise(counts, soft.n_states, floors.pseudo_count, &mut leaf.values),
                Source::Column(column) => {
                    let column = &columns.columns[*column];
                    match column {
                        Column::Numbers { is_count, mean, variance, least, .. } => {
                            let of_column = (*mean, *variance, *least);
                            maximise_number(*is_count, of_column, counts, floors, &mut leaf.values);
                        }
                        _ => normalise(counts, column.width(), floors.pseudo_count, &mut leaf.values),
                    }
                }
            }
        }
    }

    /// Lengthens an EM step that led here from `before`: each probability becomes proportional to `before · (after / before)^exponent`
    /// (Salakhutdinov and Roweis 2003). Parameters of numbers stay as they are.
    pub(crate) fn over_relax(&mut self, before: &Self, exponent: f64, columns: &Columns) {
        for (node, before) in self.nodes.iter_mut().zip(&before.nodes) {
            // With a background, the states share only a part of the probability.
            lengthen(&mut node.table, &before.table, node.n_states, exponent);
        }
        for (leaf, before) in self.leaves.iter_mut().zip(&before.leaves) {
            let n = match &leaf.source {
                Source::Column(column) if columns.columns[*column].is_discrete() => columns.columns[*column].width(),
                Source::Soft(soft) => soft.n_states,
                Source::Column(_) | Source::Fixed(_) | Source::Identity(_) => continue,
            };
            lengthen(&mut leaf.values, &before.values, n, exponent);
        }
    }

    /// Runs EM until a step gains less than `least`, and returns the log-likelihood before the last step. If there are many
    /// rows, all but the last steps use only some of them.
    pub(crate) fn climb(&mut self, columns: &Columns, floors: &Floors, steps: usize, least: f64) -> f64 {
        let stride = if steps > LAST_STEPS { columns.n_chunks() / SAMPLE_CHUNKS } else { 1 }.clamp(1, MAX_STRIDE);
        let n_lanes = (columns.n_chunks() / stride / MIN_CHUNKS_OF_A_LANE).clamp(1, MAX_LANES);
        let mut lanes: Vec<Work> = (0..n_lanes).map(|_| self.work()).collect();
        if stride > 1 {
            self.steps(columns, floors, (steps - LAST_STEPS, stride), least, &mut lanes);
            return self.steps(columns, floors, (LAST_STEPS, 1), least, &mut lanes);
        }
        self.steps(columns, floors, (steps, 1), least, &mut lanes)
    }

    fn steps(
        &mut self,
        columns: &Columns,
        floors: &Floors,
        (steps, stride): (usize, usize),
        least: f64,
        lanes: &mut [Work],
    ) -> f64 {
        let mut last = f64::NEG_INFINITY;
        for _ in 0..steps {
            let counts = self.expect_some(columns, stride, lanes);
            let gain = counts.log_likelihood - last;
            if !counts.log_likelihood.is_finite() {
                return f64::NEG_INFINITY;
            }
            last = counts.log_likelihood;
            self.maximise(&counts, columns, floors);
            if gain < least {
                break;
            }
        }
        last
    }
}

fn normalise(counts: &[f64], n: usize, pseudo_count: f64, out: &mut [f64]) {
    let pseudo_count = pseudo_count.max(1e-9);
    for (counts, out) in counts.chunks_exact(n).zip(out.chunks_exact_mut(n)) {
        let total: f64 = counts.iter().map(|count| count.max(0.0) + pseudo_count).sum();
        out.iter_mut().zip(counts).for_each(|(out, count)| *out = (count.max(0.0) + pseudo_count) / total);
    }
}

/// Lengthens the step of each distribution of `n` cells; its sum does not change.
fn lengthen(after: &mut [f64], before: &[f64], n: usize, exponent: f64) {
    const LEAST: f64 = 1e-12;
    for (after, before) in after.chunks_exact_mut(n).zip(before.chunks_exact(n)) {
        let total: f64 = after.iter().sum();
        for (cell, before) in after.iter_mut().zip(before) {
            let ratio = cell.max(LEAST) / before.max(LEAST);
            *cell = cell.max(LEAST) * ratio.powf(exponent - 1.0);
        }
        let longer: f64 = after.iter().sum();
        after.iter_mut().for_each(|cell| *cell = (*cell * total / longer).max(LEAST));
    }
}

/// `of_column` has its mean, its variance and the least variance that its resolution asks for.
fn maximise_number(is_count: bool, (mean, variance, least): (f64, f64, f64), counts: &[f64], floors: &Floors, out: &mut [f64]) {
    for (state, sums) in counts.chunks_exact(3).enumerate() {
        let [n, x, xx] = [sums[0], sums[1], sums[2]];
        if is_count {
            let least = (floors.rate * mean).max(1e-12);
            out[state] = if n > 1e-6 { (x / n).max(least) } else { mean.max(least) };
        } else {
            let own = if n > 1e-6 { x / n } else { 0.0 };
            let spread = if n > 1e-6 { xx / n - own * own } else { variance };
            out[2 * state] = own;
            let prior = floors.variance_weight;
            let spread = (n * spread + prior * PRIOR_VARIANCE * variance) / (n + prior).max(1e-300);
            out[2 * state + 1] = spread.max(floors.variance * variance).max(least.min(variance));
        }
    }
}
