//! Computes the probability of the present arrangement from fitted arrangements.

use std::f64::consts::PI;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Poisson};
use rayon::prelude::*;

use crate::information;

/// Divisor of differences in log-likelihood, chosen on simulated trees and validated on others. It may account for
/// rearrangements of more than one step, which are not considered, and for the selection of the present arrangement among
/// many.
const TEMPERATURE: f64 = 1.6;

/// A fitted arrangement around an edge.
#[derive(Debug, Clone)]
pub(crate) struct Alternative {
    /// The log-likelihood of all rows, estimated from those that were used.
    pub(crate) ln_likelihood: f64,
    pub(crate) n_parameters: f64,
    /// The log-likelihood of each used row, if a bootstrap needs it; empty for an arrangement without weight.
    pub(crate) rows: Vec<f64>,
}

/// The present arrangement of an edge and its alternatives.
#[derive(Debug, Clone)]
pub(crate) struct Compared {
    /// Total weight of all rows.
    pub(crate) n: f64,
    /// Number of rows that each used row stands for.
    pub(crate) scale: f64,
    pub(crate) present: Alternative,
    pub(crate) merged: Alternative,
    /// Moves and swaps.
    pub(crate) rearranged: Vec<Alternative>,
}

impl Compared {
    /// The gain in log-likelihood over all rows compared with the present arrangement. A sample overstates it by the noise
    /// that its own parameters fit, about half a nat for each, so this part is not scaled up.
    fn gain(&self, other: &Alternative) -> f64 {
        let noise = 0.5 * (other.n_parameters - self.present.n_parameters);
        other.ln_likelihood - self.present.ln_likelihood - (self.scale - 1.0) * noise
    }

    /// The cost of the edge itself: Laplace's approximation of the evidence for its parameters. A merged node may also have
    /// more parameters than its two parts.
    fn cost(&self) -> f64 {
        let d = self.present.n_parameters - self.merged.n_parameters;
        if d < 0.0 {
            return d * information::bic_cost(self.n.max(2.0));
        }
        let loss = -self.gain(&self.merged) / (0.5 * d).max(1.0);
        0.5 * d * (loss.max(1.0) / PI).ln()
    }

    /// The log-weights of all alternatives relative to the present arrangement; the merged node comes first.
    fn ln_weights(&self) -> Vec<f64> {
        let merged = self.gain(&self.merged) + self.cost();
        // If the ends have different numbers of states, moving a branch changes its number of parameters.
        let moved = |other: &Alternative| {
            let (gain, extra) = (self.gain(other), other.n_parameters - self.present.n_parameters);
            let bic = information::bic_cost(self.n.max(2.0));
            if extra < 0.0 { gain + evidence_cost(-gain, -extra).min(-extra * bic) } else { gain - extra * bic }
        };
        std::iter::once(merged).chain(self.rearranged.iter().map(moved)).collect()
    }

    /// The probability of the present arrangement.
    pub(crate) fn support(&self) -> f64 {
        let others: f64 = self.ln_weights().iter().map(|weight| (weight / TEMPERATURE).min(700.0).exp()).sum();
        1.0 / (1.0 + others)
    }

    /// Returns whether no arrangement has more weight than the present one.
    pub(crate) fn is_best(&self) -> bool {
        self.ln_weights().iter().all(|weight| *weight <= 0.0)
    }

    /// The index of the rearrangement that improves BIC most, and its gain; `None` if none improves it.
    pub(crate) fn better(&self) -> Option<(usize, f64)> {
        let cost = information::bic_cost(self.n.max(2.0));
        let gain = |other: &Alternative| self.gain(other) - cost * (other.n_parameters - self.present.n_parameters);
        let gains = self.rearranged.iter().map(gain).enumerate().filter(|(_, gain)| *gain > 0.0);
        gains.max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))
    }

    /// The change of BIC when the ends are merged.
    pub(crate) fn merged_bic(&self) -> f64 {
        self.gain(&self.merged) + 0.5 * (self.present.n_parameters - self.merged.n_parameters) * self.n.ln()
    }

    /// The share of replicates in which the present arrangement is the best: rows are resampled, and their log-likelihoods
    /// are summed (the RELL bootstrap of Kishino, Miyata and Hasegawa 1990). Arrangements are weighted as in
    /// [`support`](Self::support), but not tempered.
    pub(crate) fn bootstrap(&self, draws: &Draws) -> f64 {
        let others: Vec<(f64, Vec<f64>)> = std::iter::once(&self.merged)
            .chain(&self.rearranged)
            .zip(self.ln_weights())
            .filter(|(other, _)| !other.rows.is_empty())
            .map(|(other, weight)| (weight, other.rows.iter().zip(&self.present.rows).map(|(other, own)| other - own).collect()))
            .collect();
        let survives = |extra: &&Vec<f32>| {
            others.iter().all(|(weight, differences)| {
                let shift: f64 = extra.iter().zip(differences).map(|(extra, difference)| f64::from(*extra) * difference).sum();
                // Relative to its size, the sum over a sample varies more than the sum over all rows.
                weight + shift * self.scale.sqrt() <= 0.0
            })
        };
        draws.extra.iter().filter(survives).count() as f64 / draws.extra.len().max(1) as f64
    }
}

/// The cost of `d` parameters that gain this much log-likelihood: the evidence with a prior as wide as the parameters turn
/// out to be (local empirical Bayes, George and Foster 2000). BIC's ½ ln n per parameter is too much for a rare label, about
/// which few rows are informative.
fn evidence_cost(gain: f64, d: f64) -> f64 {
    let ratio = 2.0 * gain / d;
    if ratio > 1.0 { 0.5 * d * (1.0 + ratio.ln()) } else { gain.max(0.0) }
}

/// The additional weight of each row in each replicate.
#[derive(Debug)]
pub(crate) struct Draws {
    extra: Vec<Vec<f32>>,
}

impl Draws {
    /// Draws replicates of rows with these weights: a row of weight w is drawn Poisson(w) times.
    pub(crate) fn new(n_replicates: usize, weights: &[f64], seed: u64) -> Self {
        let extra = (0..n_replicates).into_par_iter().map(|replicate| {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            rng.set_stream(replicate as u64);
            let mut drawn = |weight: f64| Poisson::new(weight).map_or(0.0, |poisson| poisson.sample(&mut rng) - weight);
            weights.iter().map(|&weight| drawn(weight) as f32).collect()
        });
        Self { extra: extra.collect() }
    }
}
