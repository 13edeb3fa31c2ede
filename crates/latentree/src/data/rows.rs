//! Rows, wherever they are stored: the only interface to data that learning, selection and reports use.

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock};

use super::{Batch, BatchSource, Dataset, Remote, Schema};
use crate::error::Result;
use crate::journal::Journal;
use crate::memory::MemoryBudget;

/// Rows that can be read from the start as often as needed: a [`Dataset`], a file behind [`CachedRows`], or whatever [`Reopened`]
/// opens.
pub trait Rows: Sync {
    /// What the columns mean.
    fn schema(&self) -> &Arc<Schema>;

    /// Opens the rows at the first one. Every source yields the same batches, and can be rewound.
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

    /// Where the rows are, if no batches of them come here.
    fn remote(&self) -> Option<&dyn Remote> {
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

    fn remote(&self) -> Option<&dyn Remote> {
        self.rows.remote()
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
    begun: Mutex<Option<Begun<S>>>,
    /// Set when the rows have been read to the end; `None` if they do not fit.
    table: OnceLock<Option<Dataset>>,
}

/// A source, and what has been read of it.
struct Begun<S> {
    source: S,
    /// The first batches, while they fit: a pass that ends early need not be repeated by the next.
    kept: Option<Vec<Arc<Batch>>>,
    n_bytes: u64,
}

impl<S: BatchSource> CachedRows<S> {
    /// The rows of a source, which may take half of a budget.
    #[must_use]
    pub fn new(source: S, budget: MemoryBudget) -> Self {
        Self {
            schema: Arc::clone(source.schema()),
            n_rows_hint: source.n_rows_hint(),
            most_bytes: budget.for_rows(),
            begun: Mutex::new(Some(Begun { source, kept: None, n_bytes: 0 })),
            table: OnceLock::new(),
        }
    }

    /// Calls a function with the source, while no pass reads it.
    ///
    /// # Panics
    /// If a pass does.
    pub fn of_source<T>(&self, ask: impl FnOnce(&S) -> T) -> T {
        let begun = self.begun.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        ask(&begun.as_ref().expect("no pass reads the rows").source)
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
        let begun = self.begun.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        let mut reading = Reading { rows: self, begun, next: 0 };
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
    begun: Option<Begun<S>>,
    /// The kept batch that comes next.
    next: usize,
}

impl<S> Reading<'_, S> {
    fn begun(&mut self) -> &mut Begun<S> {
        self.begun.as_mut().expect("one pass at a time reads the rows")
    }
}

impl<S: BatchSource> BatchSource for Reading<'_, S> {
    fn schema(&self) -> &Arc<Schema> {
        &self.rows.schema
    }

    fn next_batch(&mut self) -> Result<Option<Arc<Batch>>> {
        let (rows, next) = (self.rows, self.next);
        self.next += 1;
        if let Some(table) = rows.dataset() {
            return Ok(table.batches().get(next).cloned());
        }
        let begun = self.begun();
        if let Some(batch) = begun.kept.as_ref().and_then(|kept| kept.get(next)) {
            return Ok(Some(Arc::clone(batch)));
        }
        let batch = begun.source.next_batch().inspect_err(|_| begun.kept = None)?;
        match (&batch, &mut begun.kept) {
            (Some(batch), Some(kept)) => {
                begun.n_bytes += batch.n_bytes();
                kept.push(Arc::clone(batch));
                if begun.n_bytes > rows.most_bytes {
                    begun.kept = None;
                    let _ = rows.table.set(None);
                }
            }
            (None, Some(kept)) => {
                let table = Dataset::from_shared(Arc::clone(&rows.schema), std::mem::take(kept));
                let _ = rows.table.set(Some(table));
                begun.kept = None;
            }
            (_, None) => {}
        }
        Ok(batch)
    }

    fn rewind(&mut self) -> Result<()> {
        self.next = 0;
        let fits = self.rows.table.get().map(Option::is_some);
        let begun = self.begun();
        if fits == Some(true) || (fits.is_none() && begun.kept.is_some()) {
            return Ok(());
        }
        (begun.kept, begun.n_bytes) = (fits.is_none().then(Vec::new), 0);
        begun.source.rewind()
    }

    fn n_rows_hint(&self) -> Option<u64> {
        self.rows.n_rows_hint()
    }
}

impl<S> Drop for Reading<'_, S> {
    fn drop(&mut self) {
        if let Some(begun) = self.begun.take() {
            *self.rows.begun.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(begun);
        }
    }
}
