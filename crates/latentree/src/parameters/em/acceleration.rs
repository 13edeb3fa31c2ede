//! Squared extrapolation (SQUAREM, Varadhan and Roland 2008).
//!
//! From a model `x₀` and its next two EM steps `x₁`, `x₂`, with `r = x₁ − x₀` and `v = x₂ − 2x₁ + x₀`, the leap goes to `x₀ − 2ar + a²v`
//! with `a = −‖r‖/‖v‖` (`a = −1` is `x₂`). Coordinates are those in which the likelihood is nearly quadratic: square roots of
//! probabilities and rates, logarithms of variances; norms weigh each by its expected count (the Fisher metric).

use super::ExpectedCounts;
use crate::error::Result;
use crate::inference::GAUSSIAN_SUMS;
use crate::model::{Distribution, Emission, LatentTree, Table};

/// A coordinate that is a square root may not fall below this share of the plain step's.
const MIN_ROOT: f64 = 0.2;

/// The coordinates of a model; with counts, their weights beside them.
struct Coordinates {
    values: Vec<f64>,
    weights: Vec<f64>,
}

fn table_coordinates(table: &Table, counts: &[f64], out: &mut Coordinates) {
    for (row, counts) in table.rows().zip(counts.chunks_exact(table.n_states())) {
        let weight: f64 = counts.iter().sum();
        out.values.extend(row.iter().map(|value| value.sqrt()));
        out.weights.extend(row.iter().map(|_| 4.0 * weight));
    }
}

fn emission_coordinates(emission: &Emission, counts: &mut &[f64], out: &mut Coordinates) {
    let mut take = |n: usize| {
        let (own, rest) = counts.split_at(n);
        *counts = rest;
        own
    };
    match emission {
        Emission::Categorical(table) => table_coordinates(table, take(table.values().len()), out),
        Emission::Gaussian { means, variances } => {
            let counts = take(3 * means.len());
            for ((mean, variance), sums) in means.iter().zip(variances).zip(counts.chunks_exact(3)) {
                out.values.extend([*mean, variance.ln()]);
                out.weights.extend([sums[0] / variance, 0.5 * sums[0]]);
            }
        }
        Emission::Poisson { rates } => {
            let counts = take(2 * rates.len());
            for (rate, sums) in rates.iter().zip(counts.chunks_exact(2)) {
                out.values.push(rate.sqrt());
                out.weights.push(4.0 * sums[0]);
            }
        }
        Emission::Group(members) => members.iter().for_each(|member| emission_coordinates(member, counts, out)),
    }
}

fn coordinates(model: &LatentTree, counts: &ExpectedCounts) -> Coordinates {
    let mut out = Coordinates { values: Vec::with_capacity(counts.sums.counts.len()), weights: Vec::new() };
    for node in model.tree().node_ixs() {
        let mut own = &counts.sums.counts[counts.layout.range(node)];
        match model.distribution(node) {
            Distribution::Discrete(table) => table_coordinates(table, own, &mut out),
            Distribution::Emission(emission) => emission_coordinates(emission, &mut own, &mut out),
            Distribution::LinearGaussian { mean, coefficient, variance } => {
                debug_assert_eq!(own.len(), GAUSSIAN_SUMS, "the counts are of this model");
                out.values.extend([*mean, *coefficient, variance.ln()]);
                out.weights.extend([own[0] / variance, own[5] / variance, 0.5 * own[0]]);
            }
        }
    }
    out
}

/// Takes the next coordinates off `values`.
fn next<'a>(values: &mut &'a [f64], n: usize) -> &'a [f64] {
    let (own, rest) = values.split_at(n);
    *values = rest;
    own
}

fn table_at(plain: &Table, values: &mut &[f64]) -> Table {
    let n_states = plain.n_states();
    let mut out = Vec::with_capacity(plain.values().len());
    for row in plain.rows() {
        let own = next(values, n_states).iter().zip(row).map(|(value, plain)| value.max(MIN_ROOT * plain.sqrt()).powi(2));
        let own: Vec<f64> = own.collect();
        let sum: f64 = own.iter().sum();
        if sum > 0.0 && sum.is_finite() {
            out.extend(own.iter().map(|value| value / sum));
        } else {
            out.extend_from_slice(row);
        }
    }
    Table::new(n_states, out)
}

fn emission_at(plain: &Emission, values: &mut &[f64], least_ln: f64) -> Emission {
    match plain {
        Emission::Categorical(table) => Emission::Categorical(table_at(table, values)),
        Emission::Gaussian { means, variances } => {
            let own = next(values, 2 * means.len());
            let variance = |(ix, plain): (usize, &f64)| own[2 * ix + 1].max(plain.ln() + least_ln).exp();
            Emission::Gaussian {
                means: (0..means.len()).map(|ix| own[2 * ix]).collect(),
                variances: variances.iter().enumerate().map(variance).collect(),
            }
        }
        Emission::Poisson { rates } => {
            let own = next(values, rates.len()).iter().zip(rates);
            Emission::Poisson { rates: own.map(|(value, plain)| value.max(MIN_ROOT * plain.sqrt()).powi(2)).collect() }
        }
        Emission::Group(members) => Emission::Group(members.iter().map(|member| emission_at(member, values, least_ln)).collect()),
    }
}

/// Where squared extrapolation leads, and the length `−a` of the leap; `None` if it is no longer than two plain steps.
///
/// `counts` are those of `first`; `longest` bounds the length.
pub(super) fn leap(
    start: &LatentTree,
    first: &LatentTree,
    second: &LatentTree,
    counts: &ExpectedCounts,
    longest: f64,
) -> Result<Option<(LatentTree, f64)>> {
    let [x0, x1, x2] = [start, first, second].map(|model| coordinates(model, counts));
    let (mut rr, mut vv) = (0.0, 0.0);
    for ix in 0..x0.values.len() {
        let (r, v) = (x1.values[ix] - x0.values[ix], x2.values[ix] - 2.0 * x1.values[ix] + x0.values[ix]);
        let weight = x1.weights[ix];
        rr += weight * r * r;
        vv += weight * v * v;
    }
    let length = if vv > 0.0 { (rr / vv).sqrt().min(longest) } else { 1.0 };
    if !length.is_finite() || length <= 1.0 + 1e-9 {
        return Ok(None);
    }
    let values: Vec<f64> = (0..x0.values.len())
        .map(|ix| {
            let (a, b, c) = (x0.values[ix], x1.values[ix], x2.values[ix]);
            a + 2.0 * length * (b - a) + length * length * (c - 2.0 * b + a)
        })
        .collect();
    let mut values = &values[..];
    let least_ln = (MIN_ROOT * MIN_ROOT).ln();
    let mut distributions = Vec::with_capacity(second.tree().n_nodes());
    for node in second.tree().node_ixs() {
        distributions.push(match second.distribution(node) {
            Distribution::Discrete(table) => Distribution::Discrete(table_at(table, &mut values)),
            Distribution::Emission(emission) => Distribution::Emission(emission_at(emission, &mut values, least_ln)),
            Distribution::LinearGaussian { variance, .. } => {
                let own = next(&mut values, 3);
                let is_root = second.parent(node).is_none();
                Distribution::LinearGaussian {
                    mean: own[0],
                    coefficient: if is_root { 0.0 } else { own[1] },
                    variance: own[2].max(variance.ln() + least_ln).exp(),
                }
            }
        });
    }
    // A leap that is no model, because a number overflowed, is not taken.
    Ok(second.with_distributions(distributions).ok().map(|model| (model, length)))
}
