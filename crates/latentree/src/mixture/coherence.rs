//! Topic coherence: how often the leading words of a topic occur together.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::bytes;
use crate::data::{Batch, Block, Rows};
use crate::error::Result;
use crate::moments::{Accumulator, fold};
use crate::observer::Observer;

/// Number of leading words of a topic used to measure its coherence.
pub const COHERENCE_WORDS: usize = 20;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Plan {
    /// Column indices of the leading words of each topic.
    tops: Vec<Vec<u32>>,
    n_columns: usize,
}

/// Counts of the documents that contain both words of a pair, for the leading words of each topic.
#[derive(Debug, Clone)]
pub(crate) struct WordPairs {
    plan: Arc<Plan>,
    /// For each column, the topics it leads and its rank in each of them.
    places: Arc<Vec<Vec<(u32, u32)>>>,
    /// An L×L matrix of counts for each topic.
    counts: Vec<f64>,
    /// Number of documents.
    documents: f64,
}

impl WordPairs {
    fn new(plan: Plan) -> Self {
        let mut places = vec![Vec::new(); plan.n_columns];
        for (topic, words) in plan.tops.iter().enumerate() {
            for (place, &word) in words.iter().enumerate() {
                if let Some(places) = places.get_mut(word as usize) {
                    places.push((topic as u32, place as u32));
                }
            }
        }
        let counts = vec![0.0; plan.tops.len() * COHERENCE_WORDS * COHERENCE_WORDS];
        Self { plan: Arc::new(plan), places: Arc::new(places), counts, documents: 0.0 }
    }
}

impl Accumulator for WordPairs {
    type Output = Vec<WordCoherence>;

    const VERSION: u32 = 2;

    const NAME: &'static str = "mixture-coherence";

    fn observe(&mut self, batch: &Batch) -> Result<()> {
        let mut there: Vec<Vec<u32>> = vec![Vec::new(); self.plan.tops.len()];
        self.documents += batch.n_rows as f64;
        for row in 0..batch.n_rows {
            there.iter_mut().for_each(Vec::clear);
            let mut see = |column: usize, value: f64| {
                if value > 0.0 {
                    self.places[column].iter().for_each(|&(topic, place)| there[topic as usize].push(place));
                }
            };
            match &batch.block {
                Block::Sparse(rows) => rows.row(row).for_each(|(column, value)| see(column, value)),
                Block::Dense(columns) => columns.iter().enumerate().for_each(|(column, cells)| see(column, cells.number(row))),
            }
            for (topic, there) in there.iter().enumerate() {
                let counts = &mut self.counts[topic * COHERENCE_WORDS * COHERENCE_WORDS..];
                for &a in there {
                    there.iter().for_each(|&b| counts[a as usize * COHERENCE_WORDS + b as usize] += 1.0);
                }
            }
        }
        Ok(())
    }

    fn merge(&mut self, other: Self) -> Result<()> {
        self.documents += other.documents;
        bytes::add(&mut self.counts, &other.counts)
    }

    fn empty(&self) -> Self {
        Self {
            plan: Arc::clone(&self.plan),
            places: Arc::clone(&self.places),
            counts: vec![0.0; self.counts.len()],
            documents: 0.0,
        }
    }

    fn lanes(&self) -> usize {
        8
    }

    fn finish(self) -> Result<Vec<WordCoherence>> {
        let squares = self.counts.chunks_exact(COHERENCE_WORDS * COHERENCE_WORDS);
        Ok(squares.zip(&self.plan.tops).map(|(counts, words)| WordCoherence::of(counts, words.len(), self.documents)).collect())
    }

    fn to_bytes(&self) -> Result<Vec<u8>> {
        bytes::write(&*self.plan, &[&self.counts, &[self.documents]])
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let (plan, [counts, documents]): (Plan, [Vec<f64>; 2]) = bytes::read(bytes)?;
        bytes::same_length(documents.len(), 1)?;
        bytes::same_length(counts.len(), plan.tops.len().saturating_mul(COHERENCE_WORDS * COHERENCE_WORDS))?;
        for words in &plan.tops {
            bytes::same_length(words.len().max(COHERENCE_WORDS), COHERENCE_WORDS)?;
        }
        let mut own = Self::new(plan);
        own.counts = counts;
        own.documents = documents[0];
        Ok(own)
    }
}

/// The coherence of topics over the rows (Mimno et al. 2011; Ruffini 2019, §3.4.2): the closer to 0 from below, the more
/// often their leading words occur together. `topics` holds the probabilities of the columns in each topic; the
/// [`COHERENCE_WORDS`] most probable columns are used. A word occurs in a row if its cell is above 0.
///
/// # Errors
/// Fails if the rows cannot be read.
pub fn coherence(rows: &dyn Rows, topics: &[Vec<f64>], observer: &dyn Observer) -> Result<Vec<f64>> {
    let n_columns = rows.schema().columns().len();
    let tops = topics.iter().map(|shares| {
        let mut order: Vec<usize> = (0..n_columns.min(shares.len())).filter(|&word| shares[word] > 0.0).collect();
        order.sort_by(|&a, &b| shares[b].total_cmp(&shares[a]).then(a.cmp(&b)));
        order.iter().take(COHERENCE_WORDS).map(|&word| word as u32).collect()
    });
    let measures = word_coherence(rows, tops.collect(), observer)?;
    Ok(measures.into_iter().map(|it| it.together).collect())
}

/// How often a list of words occurs together in the same documents.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WordCoherence {
    /// UMass coherence `Σ_{i<j} ln((D(w_i, w_j) + 1) / D(w_i))`, with words in decreasing order (Mimno et al. 2011).
    pub together: f64,
    /// Mean normalised pointwise mutual information (NPMI) over pairs of words: 1 if they always occur together, 0 if they
    /// are independent, −1 if they never occur together. `None` for fewer than two words.
    pub npmi: Option<f64>,
    /// C_V (Röder, Both and Hinneburg 2015): the mean cosine between each word's vector of NPMI with all words and the sum of
    /// these vectors. Whole documents replace sliding windows because counts have no order.
    pub c_v: Option<f64>,
}

impl WordCoherence {
    /// Computes the measures from counts of documents that contain both words of a pair, `COHERENCE_WORDS` counts per row.
    fn of(counts: &[f64], n_words: usize, documents: f64) -> Self {
        let count = |i: usize, j: usize| counts[i * COHERENCE_WORDS + j];
        let pairs = || (1..n_words).flat_map(|j| (0..j).map(move |i| (i, j)));
        let together = pairs().map(|(i, j)| ((count(i, j) + 1.0) / count(i, i).max(1.0)).ln()).sum();
        let npmi = |i: usize, j: usize| normalised_information(count(i, i), count(j, j), count(i, j), documents);
        if n_words < 2 || documents <= 0.0 {
            return Self { together, npmi: None, c_v: None };
        }
        let n_pairs = (n_words * (n_words - 1) / 2) as f64;
        let mean = pairs().map(|(i, j)| npmi(i, j)).sum::<f64>() / n_pairs;
        let vectors: Vec<Vec<f64>> = (0..n_words).map(|i| (0..n_words).map(|j| npmi(i, j)).collect()).collect();
        let sum: Vec<f64> = (0..n_words).map(|j| vectors.iter().map(|vector| vector[j]).sum()).collect();
        let norm = |vector: &[f64]| vector.iter().map(|x| x * x).sum::<f64>().sqrt();
        let cosine = |vector: &[f64]| {
            let both = norm(vector) * norm(&sum);
            if both > 0.0 { vector.iter().zip(&sum).map(|(x, y)| x * y).sum::<f64>() / both } else { 0.0 }
        };
        let c_v = vectors.iter().map(|vector| cosine(vector)).sum::<f64>() / n_words as f64;
        Self { together, npmi: Some(mean), c_v: Some(c_v) }
    }
}

/// Normalised pointwise mutual information of two words, from the numbers of documents with each word and with both.
fn normalised_information(first: f64, second: f64, both: f64, documents: f64) -> f64 {
    if both <= 0.0 {
        return -1.0;
    }
    if both >= documents {
        // A word that is in every document carries no information about the others.
        return 0.0;
    }
    (both * documents / (first * second)).ln() / -(both / documents).ln()
}

/// Coherence of each list of words, at most [`COHERENCE_WORDS`] columns per list, over the rows.
///
/// # Errors
/// Fails if the rows cannot be read.
pub fn word_coherence(rows: &dyn Rows, words: Vec<Vec<u32>>, observer: &dyn Observer) -> Result<Vec<WordCoherence>> {
    let n_columns = rows.schema().columns().len();
    let tops = words.into_iter().map(|words| words.into_iter().take(COHERENCE_WORDS).collect()).collect();
    let pairs = WordPairs::new(Plan { tops, n_columns });
    observer.stage("coherence", rows.n_rows_hint());
    fold(&mut *rows.open()?, pairs, observer)?.finish()
}

#[cfg(test)]
mod tests {
    use super::{COHERENCE_WORDS, WordCoherence};

    #[test]
    fn words_that_are_always_together_have_one_and_never_minus_one() {
        let of = |first: f64, second: f64, both: f64, documents: f64| {
            let mut counts = vec![0.0; COHERENCE_WORDS * COHERENCE_WORDS];
            (counts[0], counts[COHERENCE_WORDS + 1]) = (first, second);
            (counts[1], counts[COHERENCE_WORDS]) = (both, both);
            WordCoherence::of(&counts, 2, documents)
        };
        assert!((of(2.0, 2.0, 2.0, 4.0).npmi.unwrap() - 1.0).abs() < 1e-12);
        assert!((of(2.0, 2.0, 2.0, 4.0).c_v.unwrap() - 1.0).abs() < 1e-12);
        assert_eq!(of(2.0, 2.0, 0.0, 4.0).npmi, Some(-1.0));
        // P(c, d) = ¼, P(c) = ½, P(d) = ¼: ln 2 / ln 4.
        assert!((of(2.0, 1.0, 1.0, 4.0).npmi.unwrap() - 0.5).abs() < 1e-12);
        // Vectors (1, ½) and (½, 1), their sum (1.5, 1.5): cosine 2.25 / (√1.25 · √4.5).
        assert!((of(2.0, 1.0, 1.0, 4.0).c_v.unwrap() - 2.25 / (1.25_f64 * 4.5).sqrt()).abs() < 1e-12);
    }
}
