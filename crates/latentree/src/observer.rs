//! Progress and cancellation: the library never prints and never checks the clock for its callers.

/// Told about progress, and asked whether to stop. All methods have defaults that do nothing.
pub trait Observer: Sync {
    /// A stage begins; `total` is its number of steps where known.
    fn stage(&self, _name: &str, _total: Option<u64>) {}

    /// `done` steps of the current stage are finished.
    fn progress(&self, _done: u64) {}

    /// What the current stage is doing, in words for a person who waits.
    fn step(&self, _name: &str) {}

    /// Something the user should know, though the result stands.
    fn warn(&self, _message: &str) {}

    /// Whether to stop with [`Error::Cancelled`](crate::Error::Cancelled) at the next chance.
    fn cancelled(&self) -> bool {
        false
    }

    /// Whether a search should end at the next chance with its best model so far. Only a search that has a model
    /// ([`model_found`](Self::model_found)) asks; everything else runs to its end unless [`cancelled`](Self::cancelled).
    fn stop_early(&self) -> bool {
        false
    }

    /// A search has its first model: from here on [`stop_early`](Self::stop_early) ends it with a result.
    fn model_found(&self) {}
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

/// Hands on everything; a step of a search that can be left out is cancelled when the search is to end.
pub(crate) struct Optional<'a>(pub(crate) &'a dyn Observer);

impl Observer for Optional<'_> {
    fn stage(&self, name: &str, total: Option<u64>) {
        self.0.stage(name, total);
    }

    fn progress(&self, done: u64) {
        self.0.progress(done);
    }

    fn step(&self, name: &str) {
        self.0.step(name);
    }

    fn warn(&self, message: &str) {
        self.0.warn(message);
    }

    fn cancelled(&self) -> bool {
        self.0.cancelled() || self.0.stop_early()
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

    fn step(&self, name: &str) {
        self.0.step(name);
    }

    fn cancelled(&self) -> bool {
        self.0.cancelled()
    }
}
