//! Progress of a search, for display only: nothing in the search depends on it.
//!
//! The number of sweeps that a model needs is not known in advance. The plan counts work in units of the time of a start,
//! with typical numbers of sweeps; a step that ends earlier than planned jumps to its end.

use std::sync::{Mutex, PoisonError};

use crate::Observer;

/// Units of a sweep.
const SWEEP: u64 = 2;
/// Units of the final climb, with its long EM.
const LAST: u64 = 10;
/// Time of the tests of splits after a search, as a share of it: 2 to 60% were measured on tables of 150 to 1,000 columns.
const TESTS: f64 = 0.25;
/// Share of a climb's remaining units that each sweep takes.
const SHARE: f64 = 0.35;

/// The numbers of steps planned for a search.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Plan {
    /// Number of starting models.
    pub(super) starts: usize,
    /// How many of them are climbed, and with how many sweeps.
    pub(super) climbed: usize,
    pub(super) first_sweeps: usize,
    /// How many of those climb further, and with how many sweeps.
    pub(super) kept: usize,
    pub(super) further_sweeps: usize,
    /// Whether the splits of the result will be tested; the remaining time then includes the tests.
    pub(super) tests: bool,
}

/// Reports the progress of the search to the observer.
pub(super) struct Steps<'a> {
    observer: &'a dyn Observer,
    plan: Plan,
    /// The current step and its units.
    running: Mutex<(String, [u64; 2])>,
}

impl<'a> Steps<'a> {
    /// Steps without a plan: they are named but not counted.
    pub(super) fn unplanned(observer: &'a dyn Observer) -> Self {
        Self { observer, plan: Plan::default(), running: Mutex::default() }
    }

    /// Begins the stage.
    pub(super) fn begin(&mut self, plan: Plan) {
        self.plan = plan;
        let search = self.last() + LAST;
        let tests = if plan.tests { (TESTS * search as f64) as u64 } else { 0 };
        self.observer.stage("search", Some(search + tests));
    }

    fn climbs(&self) -> u64 {
        self.plan.starts as u64
    }

    fn further(&self) -> u64 {
        self.climbs() + (self.plan.climbed * self.plan.first_sweeps) as u64 * SWEEP
    }

    fn last(&self) -> u64 {
        self.further() + (self.plan.kept * self.plan.further_sweeps) as u64 * SWEEP
    }

    fn run(&self, name: String, from: u64, units: u64) {
        self.observer.step(&name);
        self.observer.progress(from);
        *self.running.lock().unwrap_or_else(PoisonError::into_inner) = (name, [from, from + units]);
    }

    /// Reports the beginning of a start, counted from 0.
    pub(super) fn start(&self, at: usize) {
        self.run(format!("starting model {} of {}", at + 1, self.plan.starts), at as u64, 1);
    }

    /// Reports the beginning of the first sweeps of a model.
    pub(super) fn climb(&self, at: usize, n_climbed: usize) {
        let units = self.plan.first_sweeps as u64 * SWEEP;
        self.run(format!("improving model {} of {n_climbed}", at + 1), self.climbs() + at as u64 * units, units);
    }

    /// Reports the beginning of further sweeps of one of the best models.
    pub(super) fn climb_further(&self, at: usize) {
        let units = self.plan.further_sweeps as u64 * SWEEP;
        let name = format!("improving finalist {} of {}", at + 1, self.plan.kept);
        self.run(name, self.further() + at as u64 * units, units);
    }

    /// Reports the beginning of the last sweeps of the best model.
    pub(super) fn climb_last(&self) {
        self.run("improving the best model".to_owned(), self.last(), LAST);
    }

    /// Reports the number of completed sweeps of a model.
    pub(super) fn swept(&self, sweeps: usize, bic: f64) {
        let (name, [from, to]) = self.running.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let name = if name.is_empty() { String::new() } else { format!("{name}: ") };
        self.observer.step(&format!("{name}sweep {}, BIC {bic:.0}", sweeps + 1));
        if to > from {
            let done = 1.0 - (1.0 - SHARE).powi(sweeps as i32);
            self.observer.progress(from + ((to - from) as f64 * done) as u64);
        }
    }
}
