//! The main calls with default options and without an observer.

use std::path::Path;

use crate::data::{self, BatchSource, CachedRows, ReadOptions, Reader};
use crate::error::Result;
use crate::learn::{Learned, Learning, Source};
use crate::observer::Silent;

/// Opens a table with the default options; [`data::open`] takes others.
///
/// # Errors
/// Those of [`data::open`].
pub fn open(path: impl AsRef<Path>) -> Result<Reader> {
    data::open(path.as_ref(), &ReadOptions::default())
}

impl Learning {
    /// Learns from a table with nobody watching, and keeps its rows in memory if they fit; [`run`](Self::run) takes other sources
    /// and an observer.
    ///
    /// # Errors
    /// Those of [`run`](Self::run).
    pub fn learn(&self, table: impl BatchSource) -> Result<Learned> {
        self.run(Source::Rows(&CachedRows::new(table, self.memory_budget())), &Silent)
    }
}
