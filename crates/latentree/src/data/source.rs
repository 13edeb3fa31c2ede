//! Sources of batches.

use std::sync::Arc;

use super::{Batch, Remote, Schema};
use crate::error::Result;

/// A table read batch by batch.
///
/// Batches are of bounded size, their borders do not depend on the number of threads, and after [`rewind`](Self::rewind)
/// the same batches come again: this is what makes every pass deterministic.
pub trait BatchSource: Send {
    /// What the columns mean.
    fn schema(&self) -> &Arc<Schema>;

    /// The next batch, `None` at the end.
    ///
    /// # Errors
    /// If the input cannot be read or does not fit the schema.
    fn next_batch(&mut self) -> Result<Option<Arc<Batch>>>;

    /// Starts again from the first row.
    ///
    /// # Errors
    /// If the input cannot be read twice.
    fn rewind(&mut self) -> Result<()>;

    /// Number of rows, where known without reading.
    fn n_rows_hint(&self) -> Option<u64> {
        None
    }

    /// Where the rows are, if no batches come.
    fn remote(&self) -> Option<&dyn Remote> {
        None
    }

    /// A pass for the rows of this source, as a pass for the rows that it makes its own from: rows that are elsewhere are chosen or changed there.
    ///
    /// # Errors
    /// If the pass cannot be written.
    fn seen_through(&self, pass: Vec<u8>) -> Result<Vec<u8>> {
        Ok(pass)
    }
}

impl<S: BatchSource + ?Sized> BatchSource for &mut S {
    fn schema(&self) -> &Arc<Schema> {
        (**self).schema()
    }

    fn next_batch(&mut self) -> Result<Option<Arc<Batch>>> {
        (**self).next_batch()
    }

    fn rewind(&mut self) -> Result<()> {
        (**self).rewind()
    }

    fn n_rows_hint(&self) -> Option<u64> {
        (**self).n_rows_hint()
    }

    fn remote(&self) -> Option<&dyn Remote> {
        (**self).remote()
    }

    fn seen_through(&self, pass: Vec<u8>) -> Result<Vec<u8>> {
        (**self).seen_through(pass)
    }
}
