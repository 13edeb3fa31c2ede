//! Pair moments of blocks of rows: the rows spread over a fixed number of accumulators, so that samples of rows can be drawn later without reading
//! anything again.
//!
//! Two uses: the two halves on which [`by_likelihood`](crate::structure::by_likelihood) chooses a penalty, and the bootstrap, which draws blocks with
//! replacement.
//!
//! Which block a row is in follows from its number in the table alone, not from batches or threads. Rows `2m` and `2m + 1` are always in different
//! halves, in an order that a hash of m decides, and B/2 consecutive pairs of rows go to the B/2 pairs of blocks, rotated by a hash: blocks are
//! equally large to within a row, and no period in the data can line up with them. Even blocks make the first half, odd ones the second, whatever
//! B is: a tree does not change because its bootstrap asked for more blocks.

use std::sync::Arc;

use rayon::prelude::*;

use super::accumulator::Sums;
use super::{Accumulator, PairMoments, PairOptions};
use crate::data::{Batch, Schema, select_rows};
use crate::error::{Error, Place, Result};

/// First bytes of blocks as bytes.
const MAGIC: &[u8; 8] = b"ltblocks";
const VERSION: u32 = 1;
/// More blocks than this are no use.
const MAX_BLOCKS: usize = 1024;

/// Pair moments of the rows in each of an even number of blocks.
#[derive(Debug, Clone)]
pub struct BlockMoments {
    blocks: Vec<PairMoments>,
}

/// Steele, Lea and Flood's mixing of 64 bits (SplitMix64).
fn mix(mut x: u64) -> u64 {
    x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The block of a row, given by its zero-based number in the table.
fn block_of(row: u64, n_blocks: usize) -> usize {
    let (pair, n_pairs) = (row / 2, n_blocks as u64 / 2);
    let side = (row ^ mix(pair)) & 1;
    let rotated = (pair % n_pairs + mix(!(pair / n_pairs)) % n_pairs) % n_pairs;
    (2 * rotated + side) as usize
}

impl BlockMoments {
    /// Blocks of no rows yet.
    ///
    /// # Errors
    /// [`Error::Option`] if the number of blocks is odd, 0 or above 1024, or one would not fit the memory limit of [`PairMoments`].
    pub fn new(schema: Arc<Schema>, n_blocks: usize) -> Result<Self> {
        Self::with_options(schema, n_blocks, PairOptions::default())
    }

    /// Blocks of no rows yet, each with these settings.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_options(schema: Arc<Schema>, n_blocks: usize, options: PairOptions) -> Result<Self> {
        if n_blocks == 0 || !n_blocks.is_multiple_of(2) || n_blocks > MAX_BLOCKS {
            return Err(Error::option("blocks", format!("{n_blocks} given; an even number up to {MAX_BLOCKS} is needed")));
        }
        let first = PairMoments::with_options(schema, options)?;
        let mut blocks = vec![first];
        while blocks.len() < n_blocks {
            blocks.push(blocks[0].empty());
        }
        Ok(Self { blocks })
    }

    /// The largest even number of blocks up to `wanted` whose moments take at most `budget` bytes, but never fewer than 2. Indicators
    /// of missing cells come on top.
    ///
    /// # Errors
    /// Those of [`PairMoments::new`].
    pub fn n_blocks_within(schema: &Arc<Schema>, wanted: usize, budget: u64) -> Result<usize> {
        let bytes = PairMoments::new(Arc::clone(schema))?.size_in_memory().max(1);
        let fitting = usize::try_from(budget / bytes).unwrap_or(usize::MAX).min(wanted).min(MAX_BLOCKS);
        Ok((fitting / 2 * 2).max(2))
    }

    /// The blocks of weights that are frequencies.
    pub(crate) fn of_frequencies(self) -> Self {
        Self { blocks: self.blocks.into_iter().map(PairMoments::of_frequencies).collect() }
    }

    /// The moments of each block.
    #[must_use]
    pub fn blocks(&self) -> &[PairMoments] {
        &self.blocks
    }

    /// The moments of some blocks together, each as often as `times` says; of no rows if it is never.
    ///
    /// # Errors
    /// Those of merging.
    ///
    /// # Panics
    /// If there is not one number per block.
    pub fn merged(&self, times: impl Fn(usize) -> usize) -> Result<PairMoments> {
        let mut drawn = (0..self.blocks.len()).flat_map(|block| std::iter::repeat_n(block, times(block)));
        let Some(first) = drawn.next() else { return Ok(self.blocks[0].empty()) };
        let mut sum = self.blocks[first].clone();
        drawn.try_for_each(|block| sum.merge(self.blocks[block].clone()))?;
        Ok(sum)
    }

    /// The moments of all rows.
    ///
    /// # Errors
    /// Those of merging.
    pub fn whole(&self) -> Result<PairMoments> {
        self.merged(|_| 1)
    }

    /// The moments of the two halves of the rows: the even blocks and the odd ones.
    ///
    /// # Errors
    /// Those of merging.
    pub fn halves(&self) -> Result<[PairMoments; 2]> {
        Ok([self.merged(|block| (block + 1) % 2)?, self.merged(|block| block % 2)?])
    }
}

impl Accumulator for BlockMoments {
    type Output = Self;

    const NAME: &'static str = "block-moments";

    fn observe(&mut self, batch: &Batch) -> Result<()> {
        let mut rows: Vec<Vec<usize>> = vec![Vec::new(); self.blocks.len()];
        for row in 0..batch.n_rows {
            rows[block_of(batch.first_row + row as u64, self.blocks.len())].push(row);
        }
        let results: Vec<Result<()>> = (self.blocks.par_iter_mut().zip(&rows))
            .map(|(block, rows)| if rows.is_empty() { Ok(()) } else { block.observe(&select_rows(batch, rows, batch.first_row)) })
            .collect();
        results.into_iter().collect()
    }

    fn merge(&mut self, other: Self) -> Result<()> {
        if self.blocks.len() != other.blocks.len() {
            return Err(Error::Mismatch {
                left: "blocks of rows".to_owned(),
                right: "the blocks merged into them".to_owned(),
                problem: format!("{} and {} blocks; make both with the same number", self.blocks.len(), other.blocks.len()),
            });
        }
        self.blocks.iter_mut().zip(other.blocks).try_for_each(|(own, other)| own.merge(other))
    }

    fn empty(&self) -> Self {
        Self { blocks: self.blocks.iter().map(Accumulator::empty).collect() }
    }

    fn align(&mut self) -> Result<()> {
        self.blocks.iter_mut().try_for_each(Accumulator::align)
    }

    fn visit_sums(&mut self, visit: &mut dyn FnMut(Sums<'_>)) -> Result<()> {
        self.blocks.iter_mut().try_for_each(|block| block.visit_sums(visit))
    }

    fn finish(self) -> Result<Self> {
        Ok(self)
    }

    fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend((self.blocks.len() as u32).to_le_bytes());
        for block in &self.blocks {
            let own = block.to_bytes()?;
            bytes.extend((own.len() as u64).to_le_bytes());
            bytes.extend(own);
        }
        Ok(bytes)
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let fault = |problem: &str| Error::format(Place::default(), "blocks of moments", problem);
        let mut rest = bytes.strip_prefix(MAGIC).ok_or_else(|| fault("they do not begin as such"))?;
        let mut take = |n_bytes: usize| {
            let (taken, after) = rest.split_at_checked(n_bytes).ok_or_else(|| fault("they end early"))?;
            rest = after;
            Ok(taken)
        };
        let number = |bytes: &[u8]| bytes.iter().rev().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
        if number(take(4)?) != u64::from(VERSION) {
            return Err(fault("they are of a version that this program does not read"));
        }
        let n_blocks = number(take(4)?) as usize;
        if n_blocks == 0 || !n_blocks.is_multiple_of(2) || n_blocks > MAX_BLOCKS {
            return Err(fault("their number is not even, or too large"));
        }
        let mut blocks: Vec<PairMoments> = Vec::new();
        for _ in 0..n_blocks {
            let length = usize::try_from(number(take(8)?)).map_err(|_| fault("they end early"))?;
            let block = PairMoments::from_bytes(take(length)?)?;
            if blocks.first().is_some_and(|first| first.schema() != block.schema()) {
                return Err(fault("blocks are of different columns"));
            }
            blocks.push(block);
        }
        if rest.is_empty() { Ok(Self { blocks }) } else { Err(fault("there is more after the end")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{ColumnData, Dataset, Kind};
    use crate::index::ColIx;
    use crate::moments::fold;
    use crate::observer::Silent;

    fn table(n: usize, with_numbers: bool) -> Dataset {
        let kind = if with_numbers { Kind::Continuous } else { Kind::binary() };
        let schema = Arc::new(Schema::builder().scalar("a", Kind::binary()).scalar("b", kind).build().unwrap());
        let codes = |factor: usize| (0..n).map(|ix| (mix((ix * factor) as u64) % 2) as u8).collect::<Vec<_>>();
        let second = if with_numbers {
            ColumnData::Reals((0..n).map(|ix| if ix % 17 == 0 { f64::NAN } else { mix(ix as u64) as f64 / 1e18 }).collect())
        } else {
            ColumnData::Codes8(codes(3))
        };
        Dataset::from_columns(schema, vec![ColumnData::Codes8(codes(1)), second], None).unwrap()
    }

    #[test]
    fn blocks_are_equally_large_and_halves_do_not_depend_on_their_number() {
        for n_blocks in [2, 6, 64] {
            let mut counts = vec![0; n_blocks];
            (0..6400).for_each(|row| counts[block_of(row, n_blocks)] += 1);
            let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
            assert!(most - least <= 2, "{n_blocks}: {least} to {most}");
            assert!((0..5000).all(|row| block_of(row, n_blocks) % 2 == block_of(row, 2)));
        }
        // No period lines up with a half.
        for period in 2..8 {
            let share = (0..4000).filter(|row| block_of(row * period, 2) == 0).count() as f64 / 4000.0;
            assert!((share - 0.5).abs() < 0.04, "{period}: {share}");
        }
    }

    #[test]
    fn the_blocks_together_are_the_whole_whatever_the_batches() {
        for with_numbers in [false, true] {
            let data = table(9001, with_numbers);
            let plain = fold(&mut data.source(), PairMoments::new(Arc::clone(data.schema())).unwrap(), &Silent).unwrap();
            let blocks = fold(&mut data.source(), BlockMoments::new(Arc::clone(data.schema()), 16).unwrap(), &Silent).unwrap();
            let whole = blocks.whole().unwrap();
            let [left, right] = blocks.halves().unwrap();
            assert_eq!(whole.n_rows(), 9001);
            assert!(left.n_rows().abs_diff(right.n_rows()) <= 1 && left.n_rows() + right.n_rows() == 9001);
            let (a, b) = (ColIx::new(0), ColIx::new(1));
            let close = |x: f64, y: f64| (x - y).abs() <= 1e-12 * y.abs();
            assert!(close(whole.covariance(a, b).unwrap(), plain.covariance(a, b).unwrap()));
            assert!(close(whole.mean(b).unwrap(), plain.mean(b).unwrap()));
            assert_eq!(whole.pair_weight(a, b), plain.pair_weight(a, b));
            // The same rows in one batch.
            let mut one = BlockMoments::new(Arc::clone(data.schema()), 16).unwrap();
            let all: Vec<usize> = (0..4096).collect();
            for batch in data.batches() {
                for part in all[..batch.n_rows].chunks(1000) {
                    one.observe(&select_rows(batch, part, batch.first_row + part[0] as u64)).unwrap();
                }
            }
            for (block, other) in blocks.blocks().iter().zip(one.blocks()) {
                assert_eq!(block.n_rows(), other.n_rows());
                assert!(close(block.mean(a).unwrap(), other.mean(a).unwrap()));
            }
            let bytes = blocks.to_bytes().unwrap();
            assert_eq!(BlockMoments::from_bytes(&bytes).unwrap().to_bytes().unwrap(), bytes);
            assert!((0..bytes.len()).step_by(61).all(|end| BlockMoments::from_bytes(&bytes[..end]).is_err()));
            let mut twice = blocks.clone();
            twice.merge(blocks).unwrap();
            assert_eq!(twice.whole().unwrap().n_rows(), 18_002);
        }
    }

    #[test]
    fn the_number_of_blocks_keeps_to_the_budget() {
        let data = table(10, false);
        assert_eq!(BlockMoments::n_blocks_within(data.schema(), 64, u64::MAX).unwrap(), 64);
        assert_eq!(BlockMoments::n_blocks_within(data.schema(), 64, 5 * 24).unwrap(), 4);
        assert_eq!(BlockMoments::n_blocks_within(data.schema(), 64, 0).unwrap(), 2);
        assert!(BlockMoments::new(Arc::clone(data.schema()), 3).is_err());
    }
}
