//! What a pass over the rows collects.

use crate::data::Batch;
use crate::error::{Error, Result};

/// Some of the sums of an accumulator, to be read or replaced.
#[derive(Debug)]
pub enum Sums<'a> {
    /// Numbers of rows.
    Counts(&'a mut [u32]),
    /// Numbers of rows.
    LongCounts(&'a mut [u64]),
    /// Weights of rows: whole numbers if rows have no other weights than frequencies.
    Weights(&'a mut [f64]),
    /// Numbers of rows, or sums in units of a fixed size, with noise.
    Noisy(&'a mut [i64]),
    /// Sums of real numbers.
    Reals(&'a mut [f64]),
}

/// Statistics of rows that merge: a commutative monoid over sets of rows.
///
/// `observe` adds rows, `merge` adds what another accumulator has seen, and the bytes carry an accumulator between
/// processes. Counts are the same whatever the split of the rows and the order of merging; floating-point sums are the same
/// up to rounding, and bit for bit when the batches and the order of merging are the same.
pub trait Accumulator: Sized + Send {
    /// What the accumulator becomes when all rows are seen.
    type Output;

    /// The name of the pass when it is sent to remote rows, unique among accumulators.
    const NAME: &'static str;

    /// The version of the bytes of [`to_bytes`](Self::to_bytes).
    const VERSION: u32 = 1;

    /// Adds the rows of a batch.
    ///
    /// # Errors
    /// If the batch does not fit the accumulator's schema or holds cells that cannot be used. What was collected before
    /// stays as it was.
    fn observe(&mut self, batch: &Batch) -> Result<()>;

    /// Merges another accumulator.
    ///
    /// # Errors
    /// If the two are not statistics of the same columns.
    fn merge(&mut self, other: Self) -> Result<()>;

    /// An accumulator of the same shape that has seen no rows.
    #[must_use]
    fn empty(&self) -> Self;

    /// How many partial accumulators an executor may keep at once: 1 for a big accumulator whose `observe` is parallel
    /// inside, a fixed number such as 16 for a small one. Never depends on the number of threads, since the order of
    /// floating-point additions follows from it.
    fn lanes(&self) -> usize {
        1
    }

    /// Completes deferred work. Executors call it after the last batch of a pass.
    fn settle(&mut self) {}

    /// Gives the accumulator the same shape as every other part of its pass, so that parts can be added up as lists of numbers.
    ///
    /// # Errors
    /// If it would not fit the memory limit.
    fn align(&mut self) -> Result<()> {
        Ok(())
    }

    /// Visits everything that merging adds up, in a fixed order; the rest is the plan, which is the same in all parts.
    ///
    /// # Errors
    /// If merging does more than to add numbers.
    fn visit_sums(&mut self, visit: &mut dyn FnMut(Sums<'_>)) -> Result<()> {
        let _ = visit;
        Err(not_plain(Self::NAME, "is not a list of sums"))
    }

    /// Ends the pass.
    ///
    /// # Errors
    /// If the rows do not determine the output.
    fn finish(self) -> Result<Self::Output>;

    /// The accumulator as versioned bytes.
    ///
    /// # Errors
    /// If it cannot be written.
    fn to_bytes(&self) -> Result<Vec<u8>>;

    /// The accumulator from what [`to_bytes`](Self::to_bytes) gave.
    ///
    /// # Errors
    /// If the bytes are cut, changed, or of a version that this program does not read.
    fn from_bytes(bytes: &[u8]) -> Result<Self>;
}

/// The error of a pass that cannot be taken for a list of sums.
pub(crate) fn not_plain(pass: &str, why: &str) -> Error {
    let problem = format!("the pass {pass} {why}; use columns of labels only, and `parameters.method` moments");
    Error::option("federate.mask", problem)
}
