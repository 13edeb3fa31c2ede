//! Remote rows: they receive a pass, and return it after it has seen all rows.

use std::fmt;
use std::sync::Arc;

use super::{Batch, BatchSource, Rows, Schema};
use crate::error::{Error, Place, Result};

/// Where rows are that do not come here: a cluster, or the sites of a federation.
pub trait Remote: Sync {
    /// Runs a pass over all rows. It comes as bytes, and goes back as bytes when it has seen them: each part is seen by
    /// [`passes::observe`](crate::passes::observe), and the pieces are joined by [`passes::merge`](crate::passes::merge).
    ///
    /// # Errors
    /// If the rows cannot be reached, and those of the two functions.
    fn answer(&self, pass: &[u8]) -> Result<Vec<u8>>;

    /// Whether a row of weight w represents w rows, as it does without weights.
    fn are_frequencies(&self) -> bool {
        true
    }

    /// How many bytes of rows may come here as a [`Sample`](crate::moments::Sample), for searches; by default none.
    fn sample_bytes(&self) -> u64 {
        0
    }

    /// Whether passes may be asked of some of the rows, chosen by content. Sites of a federation do not answer them: the difference between two choices
    /// can be a single row.
    fn may_choose_rows(&self) -> bool {
        false
    }
}

/// Rows behind a function that runs passes over them.
///
/// [`fold`](crate::moments::fold) hands passes to it, so that whatever learns by passes alone learns from such rows: trees by distances or pair
/// moments, parameters by moments (two states, or labels only) and EM. What must see rows fails and says so. Rows have weight 1, or frequencies.
///
/// # Example
/// ```
/// use latentree::data::{Rows as _, RemoteRows};
/// use latentree::moments::{Summary, fold};
/// use latentree::{Silent, passes};
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/clinic.csv");
/// let here = latentree::data::Dataset::read(&mut latentree::open(path)?)?;
/// // A cluster would do this for each of its parts.
/// let there = |pass: &[u8]| passes::merge(&[passes::observe(pass, &mut here.source())?]);
/// let rows = RemoteRows::new(here.schema().clone(), Some(here.n_rows()), there);
/// let summary = fold(&mut *rows.open()?, Summary::new(here.schema().clone()), &Silent)?;
/// assert_eq!(summary.n_rows(), here.n_rows());
/// # Ok::<(), latentree::Error>(())
/// ```
pub struct RemoteRows<F> {
    schema: Arc<Schema>,
    n_rows: Option<u64>,
    are_frequencies: bool,
    sample_bytes: u64,
    may_choose_rows: bool,
    answer: F,
}

impl<F: Fn(&[u8]) -> Result<Vec<u8>> + Sync> RemoteRows<F> {
    /// Rows with this schema over which `answer` runs passes.
    pub fn new(schema: Arc<Schema>, n_rows: Option<u64>, answer: F) -> Self {
        Self { schema, n_rows, are_frequencies: true, sample_bytes: 0, may_choose_rows: false, answer }
    }

    /// Whether a row of weight w represents w rows. If not, weights are scaled where the rows are.
    #[must_use]
    pub fn frequencies(mut self, are_frequencies: bool) -> Self {
        self.are_frequencies = are_frequencies;
        self
    }

    /// Allows so many bytes of rows to come here as a sample, on which searches run.
    #[must_use]
    pub fn sample(mut self, most_bytes: u64) -> Self {
        self.sample_bytes = most_bytes;
        self
    }

    /// Allows passes over some of the rows, chosen by content. Models are then the same as those of rows that are here.
    #[must_use]
    pub fn choosing(mut self) -> Self {
        self.may_choose_rows = true;
        self
    }
}

impl<F> fmt::Debug for RemoteRows<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteRows").field("n_rows", &self.n_rows).finish_non_exhaustive()
    }
}

impl<F: Fn(&[u8]) -> Result<Vec<u8>> + Sync> Remote for RemoteRows<F> {
    fn answer(&self, pass: &[u8]) -> Result<Vec<u8>> {
        (self.answer)(pass)
    }

    fn are_frequencies(&self) -> bool {
        self.are_frequencies
    }

    fn sample_bytes(&self) -> u64 {
        self.sample_bytes
    }

    fn may_choose_rows(&self) -> bool {
        self.may_choose_rows
    }
}

impl<F: Fn(&[u8]) -> Result<Vec<u8>> + Sync> Rows for RemoteRows<F> {
    fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    fn open(&self) -> Result<Box<dyn BatchSource + '_>> {
        Ok(Box::new(Unseen { schema: &self.schema, n_rows: self.n_rows, remote: self }))
    }

    fn n_rows_hint(&self) -> Option<u64> {
        self.n_rows
    }

    fn remote(&self) -> Option<&dyn Remote> {
        Some(self)
    }
}

/// A source that has no batches to give.
struct Unseen<'a> {
    schema: &'a Arc<Schema>,
    n_rows: Option<u64>,
    remote: &'a dyn Remote,
}

impl BatchSource for Unseen<'_> {
    fn schema(&self) -> &Arc<Schema> {
        self.schema
    }

    fn next_batch(&mut self) -> Result<Option<Arc<Batch>>> {
        Err(Error::data(
            Place::default(),
            "the rows are elsewhere, and this way of learning must see them; bring them here, or choose another",
        ))
    }

    fn rewind(&mut self) -> Result<()> {
        Ok(())
    }

    fn n_rows_hint(&self) -> Option<u64> {
        self.n_rows
    }

    fn remote(&self) -> Option<&dyn Remote> {
        Some(self.remote)
    }
}
