//! How often the leading words of a topic occur together.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::bytes;
use crate::data::{Batch, Block, Rows};
use crate::error::Result;
use crate::moments::{Accumulator, fold};
use crate::observer::Observer;

/// Words of a topic that are looked at.
pub const COHERENCE_WORDS: usize = 20;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Plan {
    /// The leading words of each topic: columns.
    tops: Vec<Vec<u32>>,
    n_columns: usize,
}

/// Counts of documents with two of a topic's words.
#[derive(Debug, Clone)]
pub(crate) struct WordPairs {
    plan: Arc<Plan>,
    /// For each column the topics it leads, and its place there.
    places: Arc<Vec<Vec<(u32, u32)>>>,
    /// L×L counts for each topic.
    counts: Vec<f64>,
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
        Self { plan: Arc::new(plan), places: Arc::new(places), counts }
    }
}

impl Accumulator for WordPairs {
    type Output = Vec<f64>;

    const NAME: &'static str = "mixture-coherence";

    fn observe(&mut self, batch: &Batch) -> Result<()> {
        let mut there: Vec<Vec<u32>> = vec![Vec::new(); self.plan.tops.len()];
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
        bytes::add(&mut self.counts, &other.counts)
    }

    fn empty(&self) -> Self {
        Self { plan: Arc::clone(&self.plan), places: Arc::clone(&self.places), counts: vec![0.0; self.counts.len()] }
    }

    fn lanes(&self) -> usize {
        8
    }

    /// `Σ_{i<j} ln((D(w_i, w_j) + 1) / D(w_i))` for each topic, its words in falling order of frequency.
    fn finish(self) -> Result<Vec<f64>> {
        let squares = self.counts.chunks_exact(COHERENCE_WORDS * COHERENCE_WORDS);
        let coherence = squares.zip(&self.plan.tops).map(|(counts, words)| {
            let mut sum = 0.0;
            for j in 1..words.len() {
                for i in 0..j {
                    let (both, own) = (counts[i * COHERENCE_WORDS + j], counts[i * COHERENCE_WORDS + i]);
                    sum += ((both + 1.0) / own.max(1.0)).ln();
                }
            }
            sum
        });
        Ok(coherence.collect())
    }

    fn to_bytes(&self) -> Result<Vec<u8>> {
        bytes::write(&*self.plan, &[&self.counts])
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let (plan, [counts]): (Plan, [Vec<f64>; 1]) = bytes::read(bytes)?;
        bytes::same_length(counts.len(), plan.tops.len().saturating_mul(COHERENCE_WORDS * COHERENCE_WORDS))?;
        for words in &plan.tops {
            bytes::same_length(words.len().max(COHERENCE_WORDS), COHERENCE_WORDS)?;
        }
        let mut own = Self::new(plan);
        own.counts = counts;
        Ok(own)
    }
}

/// The coherence of topics in rows (Mimno et al. 2011; Ruffini 2019, §3.4.2): the higher (the less below 0) the more often
/// their leading words occur together. `words(topic)` gives the probabilities of the columns in a topic; the
/// [`COHERENCE_WORDS`] most probable are looked at. A word occurs in a row if its cell is above 0.
///
/// # Errors
/// Those of the rows.
pub fn coherence(rows: &dyn Rows, topics: &[Vec<f64>], observer: &dyn Observer) -> Result<Vec<f64>> {
    let n_columns = rows.schema().columns().len();
    let tops = topics.iter().map(|shares| {
        let mut order: Vec<usize> = (0..n_columns.min(shares.len())).filter(|&word| shares[word] > 0.0).collect();
        order.sort_by(|&a, &b| shares[b].total_cmp(&shares[a]).then(a.cmp(&b)));
        order.iter().take(COHERENCE_WORDS).map(|&word| word as u32).collect()
    });
    let pairs = WordPairs::new(Plan { tops: tops.collect(), n_columns });
    observer.stage("coherence", rows.n_rows_hint());
    fold(&mut *rows.open()?, pairs, observer)?.finish()
}
