//! A latent class model of two columns of labels: `P(a, b) = Σ_c w_c P(a | c) P(b | c)`, by maximum likelihood.
//!
//! EM on the label pairs that occur. It starts from the first axis of a correspondence analysis (reciprocal averaging), cut into
//! k parts of equal weight.

use std::collections::BTreeMap;

use crate::model::Table;

/// Steps of reciprocal averaging, and of EM.
const AVERAGINGS: usize = 30;
const EM_STEPS: usize = 100;
/// Relative gain of the log-likelihood at which EM ends.
const TOLERANCE: f64 = 1e-8;
/// How sure the first guess of a pair's class is.
const FIRST_GUESS: f64 = 0.9;
/// Pseudo-count of a cell, spread by the marginal probabilities of its column, so that no label is impossible in a class.
const PSEUDO_COUNT: f64 = 0.01;

/// The tables of the classes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PairFit {
    weights: Vec<f64>,
    /// `P(a | c)` and `P(b | c)`, a row for each class.
    first: Vec<f64>,
    second: Vec<f64>,
    n_first: usize,
    n_second: usize,
}

impl PairFit {
    /// Fits `k` classes to the weighted counts of label pairs.
    pub(super) fn new(counts: &BTreeMap<(u32, u32), f64>, n_first: usize, n_second: usize, k: usize) -> Self {
        let cells: Vec<(usize, usize, f64)> =
            counts.iter().filter(|it| *it.1 > 0.0).map(|(&(a, b), &weight)| (a as usize, b as usize, weight)).collect();
        let (mut firsts, mut seconds) = (vec![0.0; n_first], vec![0.0; n_second]);
        for &(a, b, weight) in &cells {
            firsts[a] += weight;
            seconds[b] += weight;
        }
        let classes = first_classes(&cells, &firsts, &seconds, k);
        let other = (1.0 - FIRST_GUESS) / k as f64;
        let mut beliefs: Vec<f64> = Vec::with_capacity(cells.len() * k);
        for class in classes {
            beliefs.extend((0..k).map(|c| if c == class { FIRST_GUESS + other } else { other }));
        }
        let mut fit = Self::maximised(&cells, &beliefs, &firsts, &seconds, k);
        let mut before = f64::NEG_INFINITY;
        for _ in 0..EM_STEPS {
            let mut log_likelihood = 0.0;
            for (&(a, b, weight), beliefs) in cells.iter().zip(beliefs.chunks_exact_mut(k)) {
                let mut sum = 0.0;
                for (c, belief) in beliefs.iter_mut().enumerate() {
                    *belief = fit.weights[c] * fit.first[c * n_first + a] * fit.second[c * n_second + b];
                    sum += *belief;
                }
                beliefs.iter_mut().for_each(|belief| *belief /= sum);
                log_likelihood += weight * sum.ln();
            }
            if log_likelihood - before <= TOLERANCE * log_likelihood.abs() {
                break;
            }
            before = log_likelihood;
            fit = Self::maximised(&cells, &beliefs, &firsts, &seconds, k);
        }
        fit
    }

    fn maximised(cells: &[(usize, usize, f64)], beliefs: &[f64], firsts: &[f64], seconds: &[f64], k: usize) -> Self {
        let (n_first, n_second) = (firsts.len(), seconds.len());
        let total: f64 = firsts.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        let smooth = |marginal: &[f64], n: usize| {
            let row: Vec<f64> = marginal.iter().map(|weight| PSEUDO_COUNT * (weight / total * n as f64 + 1.0)).collect();
            row.repeat(k)
        };
        let (mut weights, mut first, mut second) = (vec![1.0; k], smooth(firsts, n_first), smooth(seconds, n_second));
        for (&(a, b, weight), beliefs) in cells.iter().zip(beliefs.chunks_exact(k)) {
            for (c, belief) in beliefs.iter().enumerate() {
                weights[c] += weight * belief;
                first[c * n_first + a] += weight * belief;
                second[c * n_second + b] += weight * belief;
            }
        }
        normalise(&mut weights);
        first.chunks_exact_mut(n_first).for_each(normalise);
        second.chunks_exact_mut(n_second).for_each(normalise);
        Self { weights, first, second, n_first, n_second }
    }

    /// `P(a, b)`.
    pub(super) fn probability(&self, a: usize, b: usize) -> f64 {
        let classes = self.weights.iter().enumerate();
        classes.map(|(c, weight)| weight * self.first[c * self.n_first + a] * self.second[c * self.n_second + b]).sum()
    }

    /// The log-likelihood of counts less that of independent columns.
    pub(super) fn information(&self, counts: &BTreeMap<(u32, u32), f64>) -> f64 {
        let (mut firsts, mut seconds, mut total) = (vec![0.0; self.n_first], vec![0.0; self.n_second], 0.0);
        for (&(a, b), weight) in counts {
            firsts[a as usize] += weight;
            seconds[b as usize] += weight;
            total += weight;
        }
        let gain = |(&(a, b), weight): (&(u32, u32), &f64)| {
            let (a, b) = (a as usize, b as usize);
            weight * (self.probability(a, b) * total * total / (firsts[a] * seconds[b])).ln()
        };
        counts.iter().filter(|it| *it.1 > 0.0).map(gain).sum()
    }

    /// `P(a)`.
    #[cfg(test)]
    pub(super) fn first_marginal(&self) -> Vec<f64> {
        let row = |a: usize| self.weights.iter().enumerate().map(|(c, weight)| weight * self.first[c * self.n_first + a]).sum();
        (0..self.n_first).map(row).collect()
    }

    /// `P(c | a)`, a row for each label of the first column.
    pub(super) fn class_given_first(&self) -> Table {
        let k = self.weights.len();
        let mut rows = Vec::with_capacity(self.n_first * k);
        for a in 0..self.n_first {
            let mut row: Vec<f64> = (0..k).map(|c| self.weights[c] * self.first[c * self.n_first + a]).collect();
            normalise(&mut row);
            rows.extend(row);
        }
        Table::new(k, rows)
    }

    /// `P(b | c)`, a row for each class.
    pub(super) fn second_given_class(&self) -> Table {
        Table::new(self.n_second, self.second.clone())
    }
}

fn normalise(row: &mut [f64]) {
    let sum: f64 = row.iter().sum();
    row.iter_mut().for_each(|value| *value /= sum);
}

/// A class for each cell: the scores of its labels on the first axis of a correspondence analysis, cut into `k` parts of equal
/// weight.
fn first_classes(cells: &[(usize, usize, f64)], firsts: &[f64], seconds: &[f64], k: usize) -> Vec<usize> {
    // Any start that is not constant; the labels' order is as good as another.
    let mut of_second: Vec<f64> = (0..seconds.len()).map(|b| ((b * 7919) % 1009) as f64).collect();
    let mut of_first = vec![0.0; firsts.len()];
    for _ in 0..AVERAGINGS {
        standardise(&mut of_second, seconds);
        of_first.fill(0.0);
        cells.iter().for_each(|&(a, b, weight)| of_first[a] += weight * of_second[b] / firsts[a]);
        standardise(&mut of_first, firsts);
        of_second.fill(0.0);
        cells.iter().for_each(|&(a, b, weight)| of_second[b] += weight * of_first[a] / seconds[b]);
    }
    standardise(&mut of_second, seconds);
    let scores: Vec<f64> = cells.iter().map(|&(a, b, _)| of_first[a] + of_second[b]).collect();
    let mut order: Vec<usize> = (0..cells.len()).collect();
    order.sort_by(|&x, &y| scores[x].total_cmp(&scores[y]).then(x.cmp(&y)));
    let total: f64 = cells.iter().map(|cell| cell.2).sum();
    let (mut classes, mut below) = (vec![0; cells.len()], 0.0);
    for at in order {
        classes[at] = ((below / total * k as f64) as usize).min(k - 1);
        below += cells[at].2;
    }
    classes
}

/// Weighted mean 0 and variance 1, as far as there is variance.
fn standardise(scores: &mut [f64], weights: &[f64]) {
    let total: f64 = weights.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    let mean = scores.iter().zip(weights).map(|(score, weight)| score * weight).sum::<f64>() / total;
    scores.iter_mut().for_each(|score| *score -= mean);
    let variance = scores.iter().zip(weights).map(|(score, weight)| score * score * weight).sum::<f64>() / total;
    if variance > 0.0 {
        scores.iter_mut().for_each(|score| *score /= variance.sqrt());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_a_mixture_of_rank_k_are_fitted_exactly() {
        // Two classes with few labels in common, one million rows without noise.
        let (p, q) = ([0.7, 0.2, 0.05, 0.05], [0.05, 0.05, 0.3, 0.6]);
        let mut counts = BTreeMap::new();
        for a in 0..4 {
            for b in 0..4 {
                counts.insert((a as u32, b as u32), 1e6 * (0.4 * p[a] * q[b] + 0.6 * q[a] * p[b]));
            }
        }
        let fit = PairFit::new(&counts, 4, 4, 2);
        for (&(a, b), weight) in &counts {
            let found = fit.probability(a as usize, b as usize);
            assert!((found - weight / 1e6).abs() < 1e-4, "{a} {b}: {found} {weight}");
        }
    }

    #[test]
    fn tables_agree_with_the_joint_probabilities() {
        let counts = BTreeMap::from([((0, 0), 5.0), ((1, 2), 4.0), ((2, 1), 3.0), ((0, 2), 1.0)]);
        let fit = PairFit::new(&counts, 3, 3, 2);
        let (given, below, marginal) = (fit.class_given_first(), fit.second_given_class(), fit.first_marginal());
        for a in 0..3 {
            for b in 0..3 {
                let joint: f64 = (0..2).map(|c| marginal[a] * given.given(a)[c] * below.given(c)[b]).sum();
                assert!((joint - fit.probability(a, b)).abs() < 1e-12);
            }
        }
    }
}
