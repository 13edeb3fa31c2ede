//! Latent Dirichlet allocation: topics, and how documents mix them.

use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::Provenance;
use crate::data::{Batch, Block, Kind, Schema};
use crate::error::{Error, Result};

/// Sweeps of the sampler over a document before it counts, and that count.
const BURN_IN: usize = 20;
const SWEEPS: usize = 80;
/// Most rounds of the bound, and the change of the shares at which it ends.
const ROUNDS: usize = 200;
const SETTLED: f64 = 1e-8;

/// Topics as distributions of words, and the Dirichlet distribution of the shares that documents have of them. It is no tree:
/// every word of a document has its own topic.
#[derive(Debug, Clone, PartialEq)]
pub struct TopicModel {
    schema: Arc<Schema>,
    /// Topic j at `j·d`.
    topics: Vec<f64>,
    alpha: Vec<f64>,
    provenance: Provenance,
}

impl TopicModel {
    /// Topics one after the other, each a distribution of the schema's columns, and a Dirichlet parameter for each.
    ///
    /// # Errors
    /// [`Error::Model`] if columns are not counts, a topic is no distribution, or a parameter is not positive.
    pub fn new(schema: Arc<Schema>, topics: Vec<f64>, alpha: Vec<f64>, provenance: Provenance) -> Result<Self> {
        let d = schema.columns().len();
        let fault = |problem: String| Err(Error::model("topics", problem));
        if let Some(column) = schema.columns().iter().find(|column| column.kind != Kind::Count) {
            return fault(format!("column {:?} is {}, and must be a count", column.name, column.kind.name()));
        }
        if alpha.is_empty() || d == 0 || alpha.len().checked_mul(d) != Some(topics.len()) {
            return fault(format!("{} topics of {d} words need {d} numbers each, there are {}", alpha.len(), topics.len()));
        }
        if let Some(bad) = alpha.iter().find(|alpha| !(alpha.is_finite() && **alpha > 0.0)) {
            return fault(format!("alpha {bad} is not a positive number"));
        }
        for (ix, topic) in topics.chunks_exact(d).enumerate() {
            let sum: f64 = topic.iter().sum();
            if topic.iter().any(|share| !(0.0..=1.0 + 1e-8).contains(share)) || (sum - 1.0).abs() > 1e-8 {
                return fault(format!(
                    "topic {ix} is no distribution of words: its shares must be from 0 to 1 and sum to 1, they sum to {sum}"
                ));
            }
        }
        Ok(Self { schema, topics, alpha, provenance })
    }

    /// The columns: words.
    #[must_use]
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// Number of topics.
    #[must_use]
    pub fn n_topics(&self) -> usize {
        self.alpha.len()
    }

    /// The distribution of words in a topic.
    #[must_use]
    pub fn topic(&self, topic: usize) -> &[f64] {
        let d = self.schema.columns().len();
        &self.topics[topic * d..][..d]
    }

    /// The Dirichlet parameters of the shares of topics.
    #[must_use]
    pub fn alpha(&self) -> &[f64] {
        &self.alpha
    }

    /// Where the model comes from.
    #[must_use]
    pub fn provenance(&self) -> &Provenance {
        &self.provenance
    }

    /// The same model with another provenance.
    #[must_use]
    pub fn with_provenance(mut self, provenance: Provenance) -> Self {
        self.provenance = provenance;
        self
    }

    /// Number of free parameters.
    #[must_use]
    pub fn n_free_parameters(&self) -> usize {
        self.n_topics() * (self.schema.columns().len() - 1) + self.n_topics()
    }

    /// The words of a document that a topic can have: column and count.
    fn words(&self, batch: &Batch, row: usize) -> Vec<(usize, f64)> {
        let known =
            |&(column, count): &(usize, f64)| count > 0.0 && (0..self.n_topics()).any(|topic| self.topic(topic)[column] > 0.0);
        match &batch.block {
            Block::Sparse(rows) => rows.row(row).filter(known).collect(),
            Block::Dense(columns) => {
                columns.iter().enumerate().map(|(ix, cells)| (ix, cells.number(row))).filter(known).collect()
            }
        }
    }

    /// The shares of topics in every document of a batch, row by row, by Gibbs sampling of the topics of its words given the
    /// topics' distributions (Ruffini 2019, Remark 3.3.2): the mean over sweeps of `(n_j + α_j)/(t + α₀)`. The same seed and
    /// row give the same shares. A document without words has the shares `α_j/α₀`.
    #[must_use]
    pub fn shares(&self, batch: &Batch, seed: u64) -> Vec<f64> {
        let k = self.n_topics();
        let mut shares = vec![0.0; batch.n_rows * k];
        shares.par_chunks_mut(k).enumerate().for_each(|(row, out)| {
            let number = batch.first_row + row as u64;
            self.sample_shares(
                &self.words(batch, row),
                ChaCha8Rng::seed_from_u64(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ number),
                out,
            );
        });
        shares
    }

    fn sample_shares(&self, words: &[(usize, f64)], mut rng: ChaCha8Rng, out: &mut [f64]) {
        let k = self.n_topics();
        let alpha_sum: f64 = self.alpha.iter().sum();
        // One token per occurrence; very long documents are sampled as if they had fewer, of the same shares.
        const MOST_TOKENS: f64 = 10_000.0;
        let length: f64 = words.iter().map(|word| word.1).sum();
        let scale = (MOST_TOKENS / length).min(1.0);
        let tokens: Vec<usize> =
            words.iter().flat_map(|&(word, count)| std::iter::repeat_n(word, (count * scale).ceil() as usize)).collect();
        let mut counts = vec![0.0; k];
        let mut assigned = vec![usize::MAX; tokens.len()];
        let mut cumulative = vec![0.0; k];
        for sweep in 0..BURN_IN + SWEEPS {
            for (token, &word) in tokens.iter().enumerate() {
                if assigned[token] != usize::MAX {
                    counts[assigned[token]] -= 1.0;
                }
                let mut total = 0.0;
                for topic in 0..k {
                    total += self.topic(topic)[word] * (counts[topic] + self.alpha[topic]);
                    cumulative[topic] = total;
                }
                let at = rng.random_range(0.0..1.0) * total;
                let topic = cumulative.partition_point(|&it| it <= at).min(k - 1);
                assigned[token] = topic;
                counts[topic] += 1.0;
            }
            if sweep >= BURN_IN {
                for topic in 0..k {
                    out[topic] += (counts[topic] + self.alpha[topic]) / (tokens.len() as f64 + alpha_sum) / SWEEPS as f64;
                }
            }
        }
    }

    /// A lower bound of the log-probability of the words of every document of a batch, in their order and given their number:
    /// the evidence lower bound of mean-field variational inference with the topics as they are (Blei, Ng and Jordan 2003,
    /// §5.1–5.2). −∞ for a document with a word that no topic has.
    #[must_use]
    pub fn bound(&self, batch: &Batch) -> Vec<f64> {
        (0..batch.n_rows).into_par_iter().map(|row| self.bound_of(batch, row)).collect()
    }

    fn bound_of(&self, batch: &Batch, row: usize) -> f64 {
        let (k, words) = (self.n_topics(), self.words(batch, row));
        let all: f64 = match &batch.block {
            Block::Sparse(rows) => rows.row(row).map(|cell| cell.1).sum(),
            Block::Dense(columns) => columns.iter().map(|cells| cells.number(row)).sum(),
        };
        let length: f64 = words.iter().map(|word| word.1).sum();
        if all > length {
            return f64::NEG_INFINITY;
        }
        let mut gamma: Vec<f64> = self.alpha.iter().map(|alpha| alpha + length / k as f64).collect();
        let mut weights = vec![0.0; k];
        let mut expected = 0.0;
        for _ in 0..ROUNDS {
            let total = digamma(gamma.iter().sum());
            weights.iter_mut().zip(&gamma).for_each(|(weight, gamma)| *weight = (digamma(*gamma) - total).exp());
            let mut next = self.alpha.clone();
            expected = 0.0;
            for &(word, count) in &words {
                let sum: f64 = (0..k).map(|topic| self.topic(topic)[word] * weights[topic]).sum();
                expected += count * sum.ln();
                (0..k).for_each(|topic| next[topic] += count * self.topic(topic)[word] * weights[topic] / sum);
            }
            let change = gamma.iter().zip(&next).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
            if change <= SETTLED * (1.0 + length) {
                break;
            }
            gamma = next;
        }
        let total = digamma(gamma.iter().sum());
        let prior: f64 = ln_gamma(self.alpha.iter().sum()) - self.alpha.iter().map(|&it| ln_gamma(it)).sum::<f64>();
        let own: f64 = ln_gamma(gamma.iter().sum()) - gamma.iter().map(|&it| ln_gamma(it)).sum::<f64>();
        let mixed: f64 = self.alpha.iter().zip(&gamma).map(|(alpha, gamma)| (alpha - gamma) * (digamma(*gamma) - total)).sum();
        prior - own + mixed + expected
    }
}

/// ln Γ(x) for x > 0: Stirling's series above 10, the recurrence below.
fn ln_gamma(x: f64) -> f64 {
    let (mut x, mut shift) = (x, 0.0);
    while x < 10.0 {
        shift += x.ln();
        x += 1.0;
    }
    let inverse = 1.0 / (x * x);
    let series =
        (1.0 / 12.0 - inverse * (1.0 / 360.0 - inverse * (1.0 / 1260.0 - inverse * (1.0 / 1680.0 - inverse / 1188.0)))) / x;
    (x - 0.5) * x.ln() - x + 0.5 * std::f64::consts::TAU.ln() + series - shift
}

/// The derivative of ln Γ(x) for x > 0.
fn digamma(x: f64) -> f64 {
    let (mut x, mut shift) = (x, 0.0);
    while x < 10.0 {
        shift += 1.0 / x;
        x += 1.0;
    }
    let inverse = 1.0 / (x * x);
    x.ln()
        - 0.5 / x
        - inverse * (1.0 / 12.0 - inverse * (1.0 / 120.0 - inverse * (1.0 / 252.0 - inverse * (1.0 / 240.0 - inverse / 132.0))))
        - shift
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::SparseRows;

    fn model(alpha: &[f64]) -> TopicModel {
        let mut builder = Schema::builder();
        for name in ["a", "b", "c"] {
            builder = builder.scalar(name, Kind::Count);
        }
        TopicModel::new(
            Arc::new(builder.build().unwrap()),
            vec![0.8, 0.1, 0.1, 0.1, 0.2, 0.7],
            alpha.to_vec(),
            Provenance::default(),
        )
        .unwrap()
    }

    fn batch(counts: [f64; 3]) -> Batch {
        let cells: Vec<(u32, f64)> = (0..3).zip(counts).filter(|it| it.1 > 0.0).collect();
        let (columns, values) = cells.iter().copied().unzip();
        Batch {
            first_row: 0,
            n_rows: 1,
            block: Block::Sparse(SparseRows { starts: vec![0, cells.len()], columns, values: Some(values) }),
            weights: None,
        }
    }

    #[test]
    fn special_functions_follow_their_recurrences() {
        for at in 1..200 {
            let x = f64::from(at) * 0.13;
            assert!((ln_gamma(x + 1.0) - ln_gamma(x) - x.ln()).abs() < 1e-12);
            assert!((digamma(x + 1.0) - digamma(x) - 1.0 / x).abs() < 1e-12);
            let slope = (ln_gamma(x + 1e-5) - ln_gamma(x - 1e-5)) / 2e-5;
            assert!((digamma(x) - slope).abs() < 1e-5 * (1.0 + 1.0 / (x * x)));
        }
        assert!(ln_gamma(1.0).abs() < 1e-13 && (digamma(1.0) + 0.577_215_664_901_532_9).abs() < 1e-12);
    }

    /// P(words) and E[θ | words] by enumeration of the topics of all words.
    fn enumerated(model: &TopicModel, words: &[usize]) -> (f64, Vec<f64>) {
        let k = model.n_topics();
        let alpha_sum: f64 = model.alpha().iter().sum();
        let (mut total, mut shares) = (0.0, vec![0.0; k]);
        for code in 0..k.pow(words.len() as u32) {
            let (mut rest, mut counts, mut probability) = (code, vec![0.0; k], 1.0);
            for (at, &word) in words.iter().enumerate() {
                let topic = rest % k;
                rest /= k;
                probability *= model.topic(topic)[word] * (counts[topic] + model.alpha()[topic]) / (at as f64 + alpha_sum);
                counts[topic] += 1.0;
            }
            total += probability;
            (0..k).for_each(|topic| {
                shares[topic] += probability * (counts[topic] + model.alpha()[topic]) / (words.len() as f64 + alpha_sum)
            });
        }
        (total, shares.iter().map(|share| share / total).collect())
    }

    #[test]
    fn the_bound_is_below_the_likelihood_and_close_and_shares_are_the_posterior_means() {
        let model = model(&[0.5, 1.5]);
        for (counts, words) in [([2.0, 1.0, 1.0], vec![0, 0, 1, 2]), ([0.0, 0.0, 5.0], vec![2; 5]), ([1.0, 0.0, 0.0], vec![0])] {
            let (likelihood, expected) = enumerated(&model, &words);
            let bound = model.bound(&batch(counts))[0];
            assert!(bound <= likelihood.ln() + 1e-9 && bound > likelihood.ln() - 0.7, "{bound} {}", likelihood.ln());
            let shares = model.shares(&batch(counts), 3);
            assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            // 80 sweeps of correlated draws of a share with deviation below 0.3: four standard errors.
            assert!((shares[0] - expected[0]).abs() < 4.0 * 0.3 / 40_f64.sqrt(), "{shares:?} {expected:?}");
            assert_eq!(shares, model.shares(&batch(counts), 3));
        }
        let empty = model.shares(&batch([0.0; 3]), 0);
        assert!((empty[0] - 0.25).abs() < 1e-12 && (empty[1] - 0.75).abs() < 1e-12);
        assert!(model.bound(&batch([0.0; 3]))[0].abs() < 1e-12);
    }

    #[test]
    fn what_is_no_topic_model_is_refused() {
        let good = model(&[0.5, 0.5]);
        let make =
            |topics: Vec<f64>, alpha: Vec<f64>| TopicModel::new(Arc::clone(good.schema()), topics, alpha, Provenance::default());
        assert!(make(vec![0.5, 0.5, 0.1], vec![1.0]).is_err());
        assert!(make(vec![0.5, 0.5, 0.0], vec![0.0]).is_err());
        assert!(make(vec![0.5, 0.5], vec![1.0]).is_err());
        assert!(make(vec![1.5, -0.5, 0.0], vec![1.0]).is_err());
        assert!(make(vec![0.5, 0.5, 0.0], vec![f64::NAN]).is_err());
    }
}
