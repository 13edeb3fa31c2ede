//! From fitted arrangements to the probability of the present one.

use std::f64::consts::PI;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Poisson};

/// What a difference of log-likelihoods is divided by. The branches' own parameters are fitted to the same rows, and the present arrangement was chosen
/// as the best of many: differences are larger than those of arrangements fixed in advance. The number is that of simulated trees (`experiments support`).
const TEMPERATURE: f64 = 1.6;

/// A fitted arrangement of an edge's surroundings.
#[derive(Debug, Clone)]
pub(crate) struct Alternative {
    /// Of the sampled rows.
    pub(crate) ln_likelihood: f64,
    pub(crate) n_parameters: f64,
    /// Branches of the two ends; `None` for a single node.
    pub(crate) sizes: Option<[usize; 2]>,
    /// The log-likelihood of each different row; nothing from moments.
    pub(crate) rows: Vec<f64>,
}

/// An edge's present arrangement beside others.
#[derive(Debug, Clone)]
pub(crate) struct Compared {
    /// Weight of all rows.
    pub(crate) n: f64,
    /// What one sampled unit of weight stands for.
    pub(crate) scale: f64,
    pub(crate) present: Alternative,
    pub(crate) merged: Alternative,
    /// Moves and swaps.
    pub(crate) rearranged: Vec<Alternative>,
}

impl Compared {
    /// The log-likelihood of all rows that an arrangement has more than the present one. A sample overstates it by what its own parameters fit of its noise,
    /// about half a unit for each, which is not multiplied.
    fn gain(&self, other: &Alternative) -> f64 {
        let noise = 0.5 * (other.n_parameters - self.present.n_parameters);
        self.scale * (other.ln_likelihood - self.present.ln_likelihood - noise) + noise
    }

    /// What the edge costs for being there: Laplace's approximation of the evidence for its parameters, and the number of ways to part the branches as it does,
    /// since it was chosen as the best of them.
    fn cost(&self) -> f64 {
        let d = (self.present.n_parameters - self.merged.n_parameters).max(0.0);
        let loss = -self.gain(&self.merged) / (0.5 * d).max(1.0);
        0.5 * d * (loss.max(1.0) / PI).ln() + self.ln_ways()
    }

    fn ln_ways(&self) -> f64 {
        let [a, b] = self.present.sizes.unwrap_or([1, 1]);
        // ln C(a + b, a) as a sum of few terms.
        let (few, all) = (a.min(b), a + b);
        (0..few).map(|ix| ((all - ix) as f64 / (few - ix) as f64).ln()).sum()
    }

    /// Logarithms of the weights of all alternatives beside the present arrangement's 0: the merged node first.
    fn ln_weights(&self) -> Vec<f64> {
        let merged = self.gain(&self.merged) + self.cost();
        std::iter::once(merged).chain(self.rearranged.iter().map(|other| self.gain(other))).collect()
    }

    /// The probability of the present arrangement.
    pub(crate) fn support(&self) -> f64 {
        let others: f64 = self.ln_weights().iter().map(|weight| (weight / TEMPERATURE).min(700.0).exp()).sum();
        1.0 / (1.0 + others)
    }

    /// What merging the ends adds to BIC.
    pub(crate) fn merged_bic(&self) -> f64 {
        self.gain(&self.merged) + 0.5 * (self.present.n_parameters - self.merged.n_parameters) * self.n.ln()
    }

    /// The share of replicates in which the present arrangement is the best: rows are drawn again, and the log-likelihoods that they have summed (the RELL
    /// bootstrap of Kishino, Miyata and Hasegawa 1990). Arrangements are weighed as for [`support`](Self::support), but not tempered.
    pub(crate) fn bootstrap(&self, draws: &Draws, kinds_of_rows: &[u32]) -> f64 {
        let weights = self.ln_weights();
        let mut extra = vec![0.0; self.present.rows.len()];
        let survived = draws.times.iter().filter(|times| {
            extra.fill(0.0);
            let rows = times.iter().zip(&draws.weights).zip(kinds_of_rows);
            rows.for_each(|((&times, weight), &kind)| extra[kind as usize] += (f64::from(times) - 1.0) * weight);
            let others = std::iter::once(&self.merged).chain(&self.rearranged).zip(&weights);
            others.into_iter().all(|(other, weight)| {
                let rows = extra.iter().zip(other.rows.iter().zip(&self.present.rows));
                let shift: f64 = rows.map(|(extra, (other, own))| extra * (other - own)).sum();
                // The sum of a sample deviates more, for its size, than that of all rows.
                weight + shift * self.scale.sqrt() <= 0.0
            })
        });
        survived.count() as f64 / draws.times.len().max(1) as f64
    }
}

/// How often each sampled row is drawn in each replicate.
#[derive(Debug)]
pub(crate) struct Draws {
    times: Vec<Vec<u8>>,
    weights: Vec<f64>,
}

impl Draws {
    /// So many replicates of rows with these weights.
    pub(crate) fn new(n_replicates: usize, weights: &[f64], seed: u64) -> Self {
        let poisson = Poisson::new(1.0).expect("one is a rate");
        let times = (0..n_replicates).map(|replicate| {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            rng.set_stream(replicate as u64);
            weights.iter().map(|_| f64::min(poisson.sample(&mut rng), 255.0) as u8).collect()
        });
        Self { times: times.collect(), weights: weights.to_vec() }
    }
}
