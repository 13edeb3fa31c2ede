//! Progress out, cancelling in: the library never prints and never looks at the clock for its callers.

/// Told about progress, and asked whether to stop. All methods have defaults that do nothing.
pub trait Observer: Sync {
    /// A stage begins; `total` is its number of steps where known.
    fn stage(&self, _name: &str, _total: Option<u64>) {}

    /// `done` steps of the current stage are finished.
    fn progress(&self, _done: u64) {}

    /// Something the user should know, though the result stands.
    fn warn(&self, _message: &str) {}

    /// Whether to stop with [`Error::Cancelled`](crate::Error::Cancelled) at the next chance.
    fn cancelled(&self) -> bool {
        false
    }
}

/// The observer that listens to nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Observer for Silent {}
