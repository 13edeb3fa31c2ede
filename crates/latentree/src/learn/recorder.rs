//! Records the stages and warnings of a run.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::Stage;
use crate::observer::Observer;

/// Forwards everything, and records warnings and the times of stages.
pub(super) struct Recorder<'a> {
    observer: &'a dyn Observer,
    stages: Mutex<Vec<(Stage, Instant)>>,
    warnings: Mutex<Vec<String>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'a> Recorder<'a> {
    pub(super) fn new(observer: &'a dyn Observer) -> Self {
        Self { observer, stages: Mutex::default(), warnings: Mutex::default() }
    }

    /// Ends the current stage; later stages of the same name add to it.
    fn end_stage(stages: &mut Vec<(Stage, Instant)>) {
        let Some((mut stage, begun)) = stages.pop() else { return };
        stage.seconds += begun.elapsed().as_secs_f64();
        match stages.iter_mut().find(|other| other.0.name == stage.name) {
            Some(same) => same.0.seconds += stage.seconds,
            None => stages.push((stage, begun)),
        }
    }

    /// The stages so far; ends the current one.
    pub(super) fn stages(&self) -> Vec<Stage> {
        let mut stages = lock(&self.stages);
        Self::end_stage(&mut stages);
        stages.drain(..).map(|stage| stage.0).collect()
    }

    pub(super) fn warnings(&self) -> Vec<String> {
        lock(&self.warnings).clone()
    }
}

impl Observer for Recorder<'_> {
    fn stage(&self, name: &str, total: Option<u64>) {
        let mut stages = lock(&self.stages);
        Self::end_stage(&mut stages);
        stages.push((Stage { name: name.to_owned(), seconds: 0.0 }, Instant::now()));
        self.observer.stage(name, total);
    }

    fn progress(&self, done: u64) {
        self.observer.progress(done);
    }

    fn step(&self, name: &str) {
        self.observer.step(name);
    }

    fn warn(&self, message: &str) {
        lock(&self.warnings).push(message.to_owned());
        self.observer.warn(message);
    }

    fn cancelled(&self) -> bool {
        self.observer.cancelled()
    }

    fn stop_early(&self) -> bool {
        self.observer.stop_early()
    }

    fn model_found(&self) {
        self.observer.model_found();
    }
}

/// Maximum number of warnings of one kind that are shown.
const SHOWN_WARNINGS: usize = 3;

/// Forwards the first few warnings and the number of others.
pub(super) fn warn_briefly(observer: &dyn Observer, warnings: &[String]) {
    warnings.iter().take(SHOWN_WARNINGS).for_each(|warning| observer.warn(warning));
    if warnings.len() > SHOWN_WARNINGS {
        observer.warn(&format!("{} more warnings like these", warnings.len() - SHOWN_WARNINGS));
    }
}
