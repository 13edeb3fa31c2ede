//! Some of the rows, chosen by content: the same rows wherever they are and however they are split.
//!
//! A hash of the row's content is a number in [0, 1), and rows with numbers below a share are chosen. All copies of a row have the same number, so a
//! frequent row would be chosen as a whole or not at all, and estimates would depend on one number. Rows are therefore first counted by hash in
//! [`BUCKETS`]. If a bucket has e rows more than usual, its rows are chosen with probability `π = min(1, share · e)` instead, and with weight share/π.
//! The variance of a sum is then no larger than with rows chosen one by one (Horvitz and Thompson 1952, sampling in proportion to size).

use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

use super::sums::{from_bytes, mismatch, to_bytes};
use super::wire::View;
use super::{Accumulator, fold};
use crate::data::content_hash::ContentHash;
use crate::data::row_order::mix;
use crate::data::{Batch, BatchSource, Remote, Schema, select_rows};
use crate::error::Result;
use crate::observer::Observer;

/// Number of buckets.
const BUCKETS: usize = 1 << 16;

fn bucket(hash: u64) -> usize {
    (hash >> 48) as usize
}

/// A number in [0, 1) that is independent of the bucket.
fn place(hash: u64) -> f64 {
    (mix(hash) >> 11) as f64 / (1_u64 << 53) as f64
}

/// The hash of a schema's rows, made once where it is first needed: of a million columns it takes as long as hashing many rows. It follows from the
/// schema, so that it neither counts in comparisons nor travels.
#[derive(Debug, Clone, Default)]
struct SharedHash(OnceLock<Arc<ContentHash>>);

impl SharedHash {
    fn of(&self, schema: &Schema) -> Arc<ContentHash> {
        Arc::clone(self.0.get_or_init(|| Arc::new(ContentHash::new(schema))))
    }
}

impl PartialEq for SharedHash {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// Counts of rows by a hash of their content.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct RowCounts {
    schema: Arc<Schema>,
    counts: Vec<u64>,
    #[serde(skip)]
    hash: SharedHash,
}

impl RowCounts {
    pub(crate) fn new(schema: Arc<Schema>) -> Self {
        Self { schema, counts: vec![0; BUCKETS], hash: SharedHash::default() }
    }
}

impl Accumulator for RowCounts {
    type Output = RowChoices;

    const NAME: &'static str = "row-counts";

    fn observe(&mut self, batch: &Batch) -> Result<()> {
        let hash = self.hash.of(&self.schema);
        for (row, hash) in hash.of(batch).into_iter().enumerate() {
            // A weight of w represents about w rows. Whole numbers add up to the same whatever the order.
            let weight = batch.weight(row);
            self.counts[bucket(hash)] += if weight > 0.0 { (weight.round() as u64).max(1) } else { 0 };
        }
        Ok(())
    }

    fn merge(&mut self, other: Self) -> Result<()> {
        if self.schema != other.schema || self.counts.len() != other.counts.len() {
            return Err(mismatch());
        }
        self.counts.iter_mut().zip(other.counts).for_each(|(own, other)| *own += other);
        Ok(())
    }

    fn empty(&self) -> Self {
        Self { hash: self.hash.clone(), ..Self::new(Arc::clone(&self.schema)) }
    }

    fn finish(self) -> Result<RowChoices> {
        let mut usual = f64::INFINITY;
        for _ in 0..4 {
            let light = self.counts.iter().map(|&it| it as f64).filter(|&it| it <= usual);
            let (n, sum) = light.fold((0.0, 0.0), |(n, sum), it| (n + 1.0, sum + it));
            let mean = if n > 0.0 { sum / n } else { 0.0 };
            usual = mean + 3.0 * mean.sqrt() + 3.0;
        }
        let heavy = self.counts.iter().enumerate().map(|(ix, &count)| (ix as u16, count as f64 - usual));
        Ok(RowChoices { heavy: heavy.filter(|it| it.1 > 1.0).collect(), hash: self.hash })
    }

    fn to_bytes(&self) -> Result<Vec<u8>> {
        to_bytes(self)
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let counts: Self = from_bytes(bytes)?;
        if counts.counts.len() == BUCKETS { Ok(counts) } else { Err(mismatch()) }
    }
}

/// Chooses shares of some rows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RowChoices {
    heavy: Vec<(u16, f64)>,
    hash: SharedHash,
}

impl RowChoices {
    /// The choices of the rows of a source, which is rewound.
    ///
    /// # Errors
    /// Those of the source, and [`Error::Cancelled`](crate::Error::Cancelled).
    pub(crate) fn of(source: &mut dyn BatchSource, observer: &dyn Observer) -> Result<Self> {
        observer.stage("copies of rows", source.n_rows_hint());
        let counts = RowCounts::new(Arc::clone(source.schema()));
        if source.remote().is_none() {
            // Before there are lanes, which share it.
            counts.hash.of(source.schema());
        }
        let choices = fold(source, counts, observer)?.finish()?;
        source.rewind()?;
        Ok(choices)
    }

    /// About this share of the rows. Two choices `from` different ends have no row in common if their shares add up to no more than 1, except for
    /// frequent rows, which have a part of their weight in each.
    pub(crate) fn share(&self, share: f64, from: End) -> RowChoice {
        RowChoice { share, from, heavy: self.heavy.clone(), hash: self.hash.clone() }
    }
}

/// Which numbers are chosen first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum End {
    Low,
    High,
}

/// A share of the rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct RowChoice {
    share: f64,
    from: End,
    /// Buckets with frequent rows, and how many rows more than usual they have.
    heavy: Vec<(u16, f64)>,
    #[serde(skip)]
    hash: SharedHash,
}

impl RowChoice {
    /// The name of the view.
    pub(crate) const NAME: &'static str = "chosen-rows";

    /// About this share of the rows, with the copies of a row together: for statistics without weights.
    pub(crate) fn of_patterns(share: f64) -> Self {
        Self { share, from: End::Low, heavy: Vec::new(), hash: SharedHash::default() }
    }

    /// The factor of the weight of a row that is chosen.
    fn factor(&self, hash: u64, excess: &[f64]) -> Option<f64> {
        let excess = excess.get(bucket(hash)).copied().unwrap_or(1.0);
        let probability = (self.share * excess).min(1.0);
        let place = match self.from {
            End::Low => place(hash),
            End::High => 1.0 - place(hash),
        };
        let is_chosen = match self.from {
            End::Low => place < probability,
            End::High => place <= probability,
        };
        is_chosen.then(|| self.share / probability)
    }

    /// By bucket, how many rows more than usual it has; none if no bucket does.
    fn excess(&self) -> Vec<f64> {
        let mut excess = if self.heavy.is_empty() { Vec::new() } else { vec![1.0; BUCKETS] };
        self.heavy.iter().for_each(|&(bucket, rows)| excess[usize::from(bucket)] = rows.max(1.0));
        excess
    }
}

/// Applies a choice to batches.
#[derive(Debug)]
pub(crate) struct Chooser {
    choice: RowChoice,
    excess: Vec<f64>,
    hash: Arc<ContentHash>,
}

impl Chooser {
    pub(crate) fn new(choice: &RowChoice, schema: &Schema) -> Self {
        Self { excess: choice.excess(), hash: choice.hash.of(schema), choice: choice.clone() }
    }

    /// The chosen rows of a batch, as a batch that begins at the given row; `None` if there are none.
    pub(crate) fn chosen(&self, batch: &Batch, first_row: u64) -> Option<Batch> {
        let hashes = self.hash.of(batch).into_iter().enumerate();
        let factors = hashes.filter_map(|(row, hash)| Some((row, self.choice.factor(hash, &self.excess)?)));
        let (rows, factors): (Vec<usize>, Vec<f64>) = factors.unzip();
        if rows.is_empty() {
            return None;
        }
        let mut chosen = select_rows(batch, &rows, first_row);
        if factors.iter().any(|&factor| factor != 1.0) {
            chosen.weights = Some(rows.iter().zip(factors).map(|(&row, factor)| factor * batch.weight(row)).collect());
        }
        Some(chosen)
    }
}

/// A source of the chosen rows of another.
pub(crate) struct ChosenRows<'a> {
    source: &'a mut dyn BatchSource,
    chooser: Chooser,
    n_passed: u64,
}

impl<'a> ChosenRows<'a> {
    pub(crate) fn new(source: &'a mut dyn BatchSource, choice: RowChoice) -> Self {
        let chooser = Chooser::new(&choice, source.schema());
        Self { source, chooser, n_passed: 0 }
    }
}

impl BatchSource for ChosenRows<'_> {
    fn schema(&self) -> &Arc<Schema> {
        self.source.schema()
    }

    fn next_batch(&mut self) -> Result<Option<Arc<Batch>>> {
        while let Some(batch) = self.source.next_batch()? {
            if let Some(chosen) = self.chooser.chosen(&batch, self.n_passed) {
                self.n_passed += chosen.n_rows as u64;
                return Ok(Some(Arc::new(chosen)));
            }
        }
        Ok(None)
    }

    fn rewind(&mut self) -> Result<()> {
        self.n_passed = 0;
        self.source.rewind()
    }

    /// Only where rows may be chosen: what asks for it elsewhere fails, as it does for rows that do not come here.
    fn remote(&self) -> Option<&dyn Remote> {
        self.source.remote().filter(|remote| remote.may_choose_rows())
    }

    fn seen_through(&self, pass: Vec<u8>) -> Result<Vec<u8>> {
        let content = to_bytes(&self.chooser.choice)?;
        self.source.seen_through(View { name: RowChoice::NAME, content: &content, pass: &pass }.write())
    }
}

#[cfg(test)]
mod tests;
