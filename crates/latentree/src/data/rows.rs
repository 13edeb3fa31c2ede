//! Rows, wherever they are stored: the only interface to data that learning, selection and reports use.

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock};

use super::{Batch, BatchSource, Dataset, Schema};
use crate::error::Result;
use crate::journal::Journal;
use crate::memory::MemoryBudget;

/// Rows that can be read from the start as often as needed: a [`Dataset`], a file behind [`CachedRows`], or whatever [`Reopened`]
/// opens.
pub trait Rows: Sync {
    /// What the columns mean.
    fn schema(&self) -> &Arc<Schema>;

    /// Opens the rows at the first one; the same batches come every time. What is opened can be rewound.
    ///
    /// # Errors
    /// If the rows cannot be read.
    fn open(&self) -> Result<Box<dyn BatchSource + '_>>;

    /// The table, if it is in memory.
    fn dataset(&self) -> Option<&Dataset> {
        None
    }

    /// Number of rows, where known without reading.
    fn n_rows_hint(&self) -> Option<u64> {
        None
    }

    /// Where answers about these rows are kept, if they are.
    fn journal(&self) -> Option<&Journal> {
        None
    }
}

/// Rows about which answers are kept in a journal.
pub struct JournaledRows<'a> {
    rows: &'a dyn Rows,
    journal: Option<&'a Journal>,
}

impl<'a> JournaledRows<'a> {
    /// These rows, with a journal where one is kept.
    #[must_use]
    pub fn new(rows: &'a dyn Rows, journal: Option<&'a Journal>) -> Self {
        Self { rows, journal }
    }
}

impl fmt::Debug for JournaledRows<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JournaledRows").field("journal", &self.journal).finish_non_exhaustive()
    }
}

impl Rows for JournaledRows<'_> {
    fn schema(&self) -> &Arc<Schema> {
        self.rows.schema()
    }

    fn open(&self) -> Result<Box<dyn BatchSource + '_>> {
        self.rows.open()
    }

    fn dataset(&self) -> Option<&Dataset> {
        self.rows.dataset()
    }

    fn n_rows_hint(&self) -> Option<u64> {
        self.rows.n_rows_hint()
    }

    fn journal(&self) -> Option<&Journal> {
        self.journal
    }
}

impl Rows for Dataset {
    fn schema(&self) -> &Arc<Schema> {
        Dataset::schema(self)
    }

    fn open(&self) -> Result<Box<dyn BatchSource + '_>> {
        Ok(Box::new(self.source()))
    }

    fn dataset(&self) -> Option<&Dataset> {
        Some(self)
    }

    fn n_rows_hint(&self) -> Option<u64> {
        Some(self.n_rows())
    }
}

/// Rows of a source that a function opens again for every pass.
#[derive(Debug, Clone)]
pub struct Reopened<F> {
    schema: Arc<Schema>,
    open: F,
}

impl<F> Reopened<F> {
    /// Rows with this schema that `open` opens.
    pub fn new(schema: Arc<Schema>, open: F) -> Self {
        Self { schema, open }
    }
}

impl<F, S> Rows for Reopened<F>
where
    F: Fn() -> Result<S> + Sync,
    S: BatchSource + 'static,
{
    fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    fn open(&self) -> Result<Box<dyn BatchSource + '_>> {
        Ok(Box::new((self.open)()?))
    }
}

/// The share of a memory budget that rows may take: moments and models need the rest.
const SHARE: u64 = 2;

/// The rows of a source, kept in memory when they are first read to the end, if they fit; else streamed again for every pass.
///
/// Batches are the same either way, and so is everything that is computed from them. The source is read by one pass at a time.
///
/// # Example
/// ```
/// use latentree::data::{CachedRows, Rows as _, open};
/// use latentree::MemoryBudget;
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/clinic.csv");
/// let rows = CachedRows::new(open(path.as_ref(), &Default::default())?, MemoryBudget::of_machine());
/// assert!(rows.dataset().is_none());
/// let mut pass = rows.open()?;
/// while let Some(batch) = pass.next_batch()? { /* … */ }
/// assert!(rows.dataset().is_some());
/// # Ok::<(), latentree::Error>(())
/// ```
pub struct CachedRows<S> {
    schema: Arc<Schema>,
    n_rows_hint: Option<u64>,
    most_bytes: u64,
    /// Taken out while a pass reads it.
    source: Mutex<Option<S>>,
    /// Set when the rows have been read to the end; `None` if they do not fit.
    table: OnceLock<Option<Dataset>>,
}

impl<S: BatchSource> CachedRows<S> {
    /// The rows of a source, which may take half of a budget.
    #[must_use]
    pub fn new(source: S, budget: MemoryBudget) -> Self {
        Self {
            schema: Arc::clone(source.schema()),
            n_rows_hint: source.n_rows_hint(),
            most_bytes: budget.bytes() / SHARE,
            source: Mutex::new(Some(source)),
            table: OnceLock::new(),
        }
    }

    /// What is to be known of the source, while no pass reads it.
    ///
    /// # Panics
    /// If a pass does.
    pub fn of_source<T>(&self, ask: impl FnOnce(&S) -> T) -> T {
        let source = self.source.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        ask(source.as_ref().expect("no pass reads the rows"))
    }
}

impl<S> fmt::Debug for CachedRows<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CachedRows").field("most_bytes", &self.most_bytes).finish_non_exhaustive()
    }
}

impl<S: BatchSource> Rows for CachedRows<S> {
    fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    fn open(&self) -> Result<Box<dyn BatchSource + '_>> {
        if let Some(table) = self.dataset() {
            return Ok(Box::new(table.source()));
        }
        let source = self.source.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        let mut reading = Reading { rows: self, source, kept: None, n_bytes: 0 };
        reading.rewind()?;
        Ok(Box::new(reading))
    }

    fn dataset(&self) -> Option<&Dataset> {
        self.table.get()?.as_ref()
    }

    fn n_rows_hint(&self) -> Option<u64> {
        self.dataset().map(Dataset::n_rows).or(self.n_rows_hint)
    }
}

/// A pass over the source, which keeps what it reads.
struct Reading<'s, S> {
    rows: &'s CachedRows<S>,
    /// Given back when the pass ends.
    source: Option<S>,
    kept: Option<Vec<Arc<Batch>>>,
    n_bytes: u64,
}

impl<S> Reading<'_, S> {
    fn source(&mut self) -> &mut S {
        self.source.as_mut().expect("one pass at a time reads the rows")
    }
}

impl<S: BatchSource> BatchSource for Reading<'_, S> {
    fn schema(&self) -> &Arc<Schema> {
        &self.rows.schema
    }

    fn next_batch(&mut self) -> Result<Option<Arc<Batch>>> {
        let batch = self.source().next_batch()?;
        match (&batch, &mut self.kept) {
            (Some(batch), Some(kept)) => {
                self.n_bytes += batch.n_bytes();
                kept.push(Arc::clone(batch));
                if self.n_bytes > self.rows.most_bytes {
                    self.kept = None;
                    let _ = self.rows.table.set(None);
                }
            }
            (None, Some(kept)) => {
                let table = Dataset::from_shared(Arc::clone(&self.rows.schema), std::mem::take(kept));
                let _ = self.rows.table.set(Some(table));
                self.kept = None;
            }
            (_, None) => {}
        }
        Ok(batch)
    }

    fn rewind(&mut self) -> Result<()> {
        self.n_bytes = 0;
        self.kept = self.rows.table.get().is_none().then(Vec::new);
        self.source().rewind()
    }

    fn n_rows_hint(&self) -> Option<u64> {
        self.rows.n_rows_hint()
    }
}

impl<S> Drop for Reading<'_, S> {
    fn drop(&mut self) {
        if let Some(source) = self.source.take() {
            *self.rows.source.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(source);
        }
    }
}
