//! Moves variables to the hidden node that explains them best, and rejoins hidden nodes, both based on posteriors.

use std::sync::Arc;

use rayon::prelude::*;

use crate::information;
use crate::patch::{ALONE, CHUNK, Column, Columns, INNER, Net, Soft};

/// Gain in nats below which a variable stays where it is.
const LEAST_GAIN: f64 = 3.0;

/// Expected counts of a column in the states of a node: `[state][label]`, or weight, sum and squares.
pub(super) fn counts(column: &Column, posterior: &Soft, columns: &Columns, masses: &[f64]) -> Vec<f64> {
    let (k, n_rows) = (posterior.n_states, columns.n_rows);
    match column {
        Column::Labels { n_codes, usual, listed } => {
            let mut counts = vec![0.0; k * n_codes];
            for state in 0..k {
                let values = &posterior.values[state * n_rows..][..n_rows];
                let own = &mut counts[state * n_codes..][..*n_codes];
                let mut all = 0.0;
                for chunk in 0..columns.n_chunks() {
                    let (values, weights) = (&values[chunk * CHUNK..], &columns.weights[chunk * CHUNK..]);
                    for (code, rows) in listed.runs(chunk) {
                        let beliefs = rows.iter().map(|&row| f64::from(values[usize::from(row)]) * weights[usize::from(row)]);
                        let sum: f64 = beliefs.sum();
                        all += sum;
                        if let Some(cell) = own.get_mut(code) {
                            *cell += sum;
                        }
                    }
                }
                own[*usual] = (masses[state] - all).max(0.0);
            }
            counts
        }
        Column::Numbers { values: cells, .. } => {
            let mut counts = vec![0.0; 3 * k];
            for state in 0..k {
                let values = &posterior.values[state * n_rows..][..n_rows];
                let own = &mut counts[3 * state..][..3];
                for ((value, cell), weight) in values.iter().zip(cells).zip(&columns.weights).filter(|it| !it.0.1.is_nan()) {
                    let belief = f64::from(*value) * weight;
                    own[0] += belief;
                    own[1] += belief * cell;
                    own[2] += belief * cell * cell;
                }
            }
            counts
        }
    }
}

/// The maximum expected log-likelihood of a column given these counts, up to a constant.
pub(super) fn score(column: &Column, counts: &[f64]) -> f64 {
    let plogp = |value: f64| if value > 0.0 { value * value.ln() } else { 0.0 };
    match column {
        Column::Numbers { is_count: true, .. } => counts
            .chunks_exact(3)
            .map(|sums| if sums[1] > 0.0 { sums[1] * (sums[1] / sums[0]).ln() - sums[1] } else { 0.0 })
            .sum(),
        Column::Numbers { variance, .. } => {
            let state = |sums: &[f64]| {
                let spread = (sums[2] / sums[0] - (sums[1] / sums[0]).powi(2)).max(1e-4 * variance);
                if sums[0] > 0.0 { -0.5 * sums[0] * spread.ln() } else { 0.0 }
            };
            counts.chunks_exact(3).map(state).sum()
        }
        discrete => {
            let rows = counts.chunks_exact(discrete.width());
            rows.map(|row| row.iter().map(|&count| plogp(count)).sum::<f64>() - plogp(row.iter().sum())).sum()
        }
    }
}

/// The parameters implied by these counts.
pub(super) fn parameters(column: &Column, counts: &[f64], pseudo_count: f64) -> Vec<f64> {
    match column {
        Column::Numbers { is_count: true, mean, .. } => {
            counts.chunks_exact(3).map(|sums| ((sums[1] + 0.01 * mean) / (sums[0] + 0.01)).max(1e-12)).collect()
        }
        Column::Numbers { variance, .. } => counts
            .chunks_exact(3)
            .flat_map(|sums| {
                let own = if sums[0] > 1e-6 { sums[1] / sums[0] } else { 0.0 };
                let spread = if sums[0] > 1e-6 { sums[2] / sums[0] - own * own } else { *variance };
                [own, spread.max(1e-3 * variance)]
            })
            .collect(),
        discrete => {
            let row = |row: &[f64]| {
                let total: f64 = row.iter().map(|count| count + pseudo_count).sum();
                row.iter().map(|count| (count + pseudo_count) / total).collect::<Vec<f64>>()
            };
            counts.chunks_exact(discrete.width()).flat_map(row).collect()
        }
    }
}

pub(super) fn masses(posterior: &Soft, columns: &Columns) -> Vec<f64> {
    let rows = posterior.values.chunks_exact(columns.n_rows);
    rows.map(|values| values.iter().zip(&columns.weights).map(|(value, weight)| f64::from(*value) * weight).sum()).collect()
}

/// Moves each variable to the candidate hidden node that explains it best, at `cost` per parameter, and returns how many
/// moved.
pub(super) fn with_moved_leaves(
    net: &Net,
    posteriors: &[Arc<Soft>],
    columns: &Columns,
    cost: f64,
    pseudo_count: f64,
) -> (Net, usize) {
    let all_masses: Vec<Vec<f64>> = posteriors.par_iter().map(|posterior| masses(posterior, columns)).collect();
    let independent = Net::independent(columns, pseudo_count);
    let neutral = Soft { n_states: 1, values: vec![1.0; columns.n_rows] };
    let neutral_mass = vec![columns.weight];
    let candidates = candidates(net, posteriors.len());
    let best: Vec<(usize, Vec<Vec<f64>>)> = (0..net.leaf_of.len())
        .into_par_iter()
        .map(|variable| {
            let own = &columns.of_variable[variable];
            let judge = |hidden: usize| {
                let (posterior, masses) =
                    if hidden == ALONE { (&neutral, &neutral_mass) } else { (&*posteriors[hidden], &all_masses[hidden]) };
                let counts: Vec<Vec<f64>> =
                    own.iter().map(|&column| counts(&columns.columns[column], posterior, columns, masses)).collect();
                let value: f64 = own.iter().zip(&counts).map(|(&column, counts)| score(&columns.columns[column], counts)).sum();
                let n_free: usize = own.iter().map(|&column| columns.columns[column].n_free()).sum();
                (value - cost * (posterior.n_states * n_free) as f64, counts)
            };
            let home = net.leaf_of[variable];
            if home == INNER {
                return (home, Vec::new());
            }
            let (mut best, mut counts) = judge(home);
            best += LEAST_GAIN;
            let mut place = home;
            for &hidden in candidates[variable].iter().chain([&ALONE]).filter(|&&hidden| hidden != home) {
                let (value, own) = judge(hidden);
                // Standing alone is not a commitment that could be regretted.
                let value = if hidden == ALONE { value + LEAST_GAIN - 0.5 } else { value };
                if value > best {
                    (best, counts, place) = (value, own, hidden);
                }
            }
            let values =
                own.iter().zip(&counts).map(|(&column, counts)| parameters(&columns.columns[column], counts, pseudo_count));
            (place, if place == home { Vec::new() } else { values.collect() })
        })
        .collect();
    let (mut next, mut n_moved) = (net.clone(), 0);
    for (variable, (place, values)) in best.into_iter().enumerate() {
        if place != net.leaf_of[variable] {
            n_moved += 1;
            next.leaf_of[variable] = place;
            for (&column, values) in columns.of_variable[variable].iter().zip(values) {
                next.values[column] = if place == ALONE { independent[column].clone() } else { values };
            }
        }
    }
    (next, n_moved)
}

/// The hidden nodes to which each variable may move: all of them if there are few, otherwise those within a few steps.
fn candidates(net: &Net, n_hidden: usize) -> Vec<Vec<usize>> {
    const MOST: usize = 600;
    const RADIUS: usize = 4;
    if n_hidden <= MOST {
        return vec![(0..n_hidden).collect(); net.leaf_of.len()];
    }
    let children = net.children();
    let near = |from: usize| {
        let (mut seen, mut front) = (vec![from], vec![from]);
        for _ in 0..RADIUS {
            let next: Vec<usize> = front.iter().flat_map(|&ix| children[ix].iter().copied().chain(net.parent[ix])).collect();
            front = next.into_iter().filter(|ix| !seen.contains(ix)).collect();
            seen.extend(&front);
        }
        seen
    };
    net.leaf_of.iter().map(|&home| if home >= INNER { Vec::new() } else { near(home) }).collect()
}

/// Joint weights of the states of two nodes.
pub(super) fn joint(a: &Soft, b: &Soft, columns: &Columns) -> Vec<f64> {
    let n = columns.n_rows;
    let mut joint = vec![0.0; a.n_states * b.n_states];
    let mut weighted = vec![0.0_f32; n];
    for s in 0..a.n_states {
        let cells = a.values[s * n..][..n].iter().zip(&columns.weights);
        weighted.iter_mut().zip(cells).for_each(|(out, (value, weight))| *out = value * *weight as f32);
        for t in 0..b.n_states {
            let other = &b.values[t * n..][..n];
            joint[s * b.n_states + t] = dot(&weighted, other);
        }
    }
    joint
}

fn dot(a: &[f32], b: &[f32]) -> f64 {
    let mut total = 0.0;
    for (a, b) in a.chunks(1024).zip(b.chunks(1024)) {
        let mut sums = [0.0_f32; 16];
        let (a16, b16) = (a.chunks_exact(16), b.chunks_exact(16));
        let rest: f32 = a16.remainder().iter().zip(b16.remainder()).map(|(x, y)| x * y).sum();
        for (x, y) in a16.zip(b16) {
            for lane in 0..16 {
                sums[lane] += x[lane] * y[lane];
            }
        }
        total += f64::from(sums.iter().sum::<f32>() + rest);
    }
    total
}

/// Joins the hidden nodes by the maximum spanning tree of the mutual information of their posteriors, at `cost` per
/// parameter. Edges that are not worth their parameters are left out.
pub(super) fn rejoined(net: &Net, posteriors: &[Arc<Soft>], columns: &Columns, cost: f64) -> Net {
    let h = net.n_hidden();
    let value = |a: usize, b: usize| {
        let joint = joint(&posteriors[a], &posteriors[b], columns);
        let n_free = (net.states[a] - 1) * (net.states[b] - 1);
        (information::of_joint(&joint, net.states[b]) - cost * n_free as f64, joint)
    };
    let all_masses: Vec<Vec<f64>> = posteriors.par_iter().map(|posterior| masses(posterior, columns)).collect();
    let mut next = net.clone();
    let mut best: Vec<(f64, usize)> = vec![(f64::NEG_INFINITY, ALONE); h];
    let mut inside = vec![false; h];
    for _ in 0..h {
        let outside = (0..h).filter(|&ix| !inside[ix]);
        let Some(at) = outside.max_by(|&a, &b| best[a].0.total_cmp(&best[b].0).then(b.cmp(&a))) else { break };
        inside[at] = true;
        let (gain, from) = best[at];
        if from == ALONE || gain <= 0.0 {
            next.parent[at] = None;
            next.table[at] = proportions(&all_masses[at], net.states[at]);
        } else {
            next.parent[at] = Some(from);
            next.table[at] = proportions(&value(from, at).1, net.states[at]);
        }
        let gains: Vec<(usize, f64)> = (0..h).into_par_iter().filter(|&ix| !inside[ix]).map(|ix| (ix, value(at, ix).0)).collect();
        for (ix, gain) in gains {
            if gain > best[ix].0 {
                best[ix] = (gain, at);
            }
        }
    }
    next
}

pub(super) fn proportions(counts: &[f64], n: usize) -> Vec<f64> {
    const LEAST: f64 = 1e-3;
    let row = |row: &[f64]| {
        let total: f64 = row.iter().map(|count| count.max(0.0) + LEAST).sum();
        row.iter().map(|count| (count.max(0.0) + LEAST) / total).collect::<Vec<f64>>()
    };
    counts.chunks_exact(n).flat_map(row).collect()
}
