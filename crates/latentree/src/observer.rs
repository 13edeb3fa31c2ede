//! Progress and cancellation: the library never prints and never checks the clock for its callers.

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

    /// Whether a search should end at the next chance with the best model so far.
    fn stop_early(&self) -> bool {
        false
    }
}

/// The observer that listens to nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Observer for Silent {}

/// Hands on only the question whether to stop: steps inside a step are no news.
pub(crate) struct Quiet<'a>(pub(crate) &'a dyn Observer);

impl Observer for Quiet<'_> {
    fn cancelled(&self) -> bool {
        self.0.cancelled()
    }
}

/// Hands on warnings and the question whether to stop: what the caller must hear from work that runs side by side.
pub(crate) struct WarningsOnly<'a>(pub(crate) &'a dyn Observer);

impl Observer for WarningsOnly<'_> {
    fn warn(&self, message: &str) {
        self.0.warn(message);
    }

    fn cancelled(&self) -> bool {
        self.0.cancelled()
    }
}

/// Hands on everything but warnings, which are said once at the end instead.
pub(crate) struct Unwarned<'a>(pub(crate) &'a dyn Observer);

impl Observer for Unwarned<'_> {
    fn stage(&self, name: &str, total: Option<u64>) {
        self.0.stage(name, total);
    }

    fn progress(&self, done: u64) {
        self.0.progress(done);
    }

    fn cancelled(&self) -> bool {
        self.0.cancelled()
    }
}
