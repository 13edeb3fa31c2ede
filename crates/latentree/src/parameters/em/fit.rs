//! The steps of EM, until nothing more is gained.

use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::acceleration::leap;
use super::maximise::{DEAD_WEIGHT, Smoothing, floored};
use super::rows::{Merged, expected_counts, gaussian_rows, mean_log_likelihood, merge_rows};
use super::starts::{Start, random_start};
use super::{ExpectedCounts, checkpoint, latent_class, stepwise};
use crate::data::{Dataset, Rows, Schema};
use crate::error::{Error, Result};
use crate::inference::Inference;
use crate::journal::Journal;
use crate::model::{Family, LatentTree};
use crate::moments::{Summary, fold};
use crate::observer::Observer;

/// A leap may be this long at first; it grows by this factor when a longest leap succeeds and shrinks when one fails.
const LEAP_FACTOR: f64 = 4.0;
/// The objective may fall by rounding of this relative size.
const ROUNDING: f64 = 1e-10;

/// Passes between two states that may be kept in a journal.
const EVERY: usize = 10;
/// Time between two states that are.
const BETWEEN_SAVES: Duration = Duration::from_millis(200);
/// A fit that took less is found again rather than kept.
const WORTH_KEEPING: Duration = Duration::from_millis(5);

/// Why a fit ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Stop {
    /// A step gained less than the tolerance.
    Converged,
    /// The number of iterations was reached first.
    Iterations,
    /// The validation rows' likelihood had stopped rising.
    Validation,
}

/// What EM found.
#[derive(Debug, Clone, PartialEq)]
pub struct EmFit {
    /// The last model or, with validation rows, the best one on them.
    pub model: LatentTree,
    /// Log-likelihood of the start and of each model that was stepped to.
    pub log_likelihood: Vec<f64>,
    /// The objective of each, which never falls: log-likelihood and the smoothing's penalty.
    pub objective: Vec<f64>,
    /// Mean log-likelihood of the validation rows under each; empty without.
    pub validation: Vec<f64>,
    /// Number of passes over the rows.
    pub iterations: usize,
    /// Why it ended.
    pub stop: Stop,
    /// Which restart this is, from 0.
    pub restart: usize,
    /// What the user should know.
    pub warnings: Vec<String>,
}

impl EmFit {
    /// Whether it ended because nothing more was gained.
    #[must_use]
    pub fn converged(&self) -> bool {
        self.stop != Stop::Iterations
    }

    /// The score of a restart: the best validation value if there is one, otherwise the objective.
    fn value(&self) -> f64 {
        let last = self.objective.last().copied().unwrap_or(f64::NEG_INFINITY);
        self.validation.iter().copied().reduce(f64::max).unwrap_or(last)
    }
}

/// One run in progress.
pub(super) struct Run {
    pub(super) model: Arc<LatentTree>,
    pub(super) iterations: usize,
    pub(super) log_likelihood: Vec<f64>,
    pub(super) objective: Vec<f64>,
    pub(super) validation: Vec<f64>,
    pub(super) longest: f64,
    pub(super) best_model: Option<Arc<LatentTree>>,
    pub(super) since_best: usize,
    pub(super) warnings: Vec<String>,
}

/// Where checkpoints go.
type Save<'a> = &'a dyn Fn(&[u8]) -> Result<()>;

/// Fits the parameters of a model by EM.
///
/// # Example
/// ```
/// use latentree::parameters::em::{Em, Smoothing, Start};
/// use latentree::inference::Inference;
/// use latentree::simulate::{ParameterFamily, Shape, Simulation};
/// use latentree::Silent;
/// let family = ParameterFamily::Categorical { states: 2, hidden_states: 2, separation: 0.7 };
/// let model = Simulation::new(Shape::Star, 5).family(family).model()?;
/// let rows = Inference::new(&model).sample(2000, 0)?;
/// let fit = Em::new().start(Start::Random { restarts: 3, seed: 1 }).fit(&model, &rows, &Silent)?;
/// assert!(fit.objective.is_sorted());
/// # Ok::<(), latentree::Error>(())
/// ```
#[derive(Clone)]
pub struct Em<'a> {
    pub(super) iterations: usize,
    pub(super) tolerance: f64,
    pub(super) smoothing: Smoothing,
    accelerate: bool,
    merge: bool,
    start: Start,
    validation: Option<&'a dyn Rows>,
    patience: usize,
    checkpoint: Option<(usize, Save<'a>)>,
    stepwise: Option<(usize, f64)>,
}

impl Default for Em<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl<'a> Em<'a> {
    /// At most 500 accelerated passes from the given model, to a relative gain of 1e-7, with the default smoothing.
    #[must_use]
    pub fn new() -> Self {
        Self {
            iterations: 500,
            tolerance: 1e-7,
            smoothing: Smoothing::default(),
            accelerate: true,
            merge: true,
            start: Start::Given,
            validation: None,
            patience: 10,
            checkpoint: None,
            stepwise: None,
        }
    }

    /// Sets the largest number of passes over the rows.
    #[must_use]
    pub fn iterations(mut self, iterations: usize) -> Self {
        self.iterations = iterations;
        self
    }

    /// Sets when to stop: when a pass gains less than this share of the objective per row (or less than this per row, where the
    /// objective is near zero).
    #[must_use]
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.tolerance = tolerance;
        self
    }

    /// Sets what keeps parameters away from the border.
    #[must_use]
    pub fn smoothing(mut self, smoothing: Smoothing) -> Self {
        self.smoothing = smoothing;
        self
    }

    /// Sets whether steps are accelerated by squared extrapolation. A leap that does not raise the objective is taken back.
    #[must_use]
    pub fn accelerate(mut self, accelerate: bool) -> Self {
        self.accelerate = accelerate;
        self
    }

    /// Sets whether rows are replaced by fewer weighted ones that say the same, where that pays: see
    /// [`merge_rows`]; for a Gaussian tree on a complete table, `2p` rows with its covariance. On by default.
    #[must_use]
    pub fn merge(mut self, merge: bool) -> Self {
        self.merge = merge;
        self
    }

    /// Sets where to start from; the given model by default.
    #[must_use]
    pub fn start(mut self, start: Start) -> Self {
        self.start = start;
        self
    }

    /// Stops when the likelihood of these rows has not risen for `patience` models, and keeps the best model on them.
    #[must_use]
    pub fn validation(mut self, rows: &'a dyn Rows, patience: usize) -> Self {
        self.validation = Some(rows);
        self.patience = patience;
        self
    }

    /// Passes the state to `save` about every `every` passes; [`resume`](Self::resume) continues from it.
    #[must_use]
    pub fn checkpoint(mut self, every: usize, save: &'a dyn Fn(&[u8]) -> Result<()>) -> Self {
        self.checkpoint = Some((every.max(1), save));
        self
    }

    /// Before the full steps, runs `passes` over the rows with a step after every batch, for tables so long that one pass is much:
    /// counts are averaged with step sizes `(t + 2)^−exponent`, exponent in (½, 1] (Cappé and Moulines 2009). Not for Gaussian
    /// trees, whose complete tables are never long.
    #[must_use]
    pub fn stepwise(mut self, passes: usize, exponent: f64) -> Self {
        self.stepwise = Some((passes, exponent));
        self
    }

    fn check(&self, schema: &Schema, model: &LatentTree) -> Result<()> {
        self.smoothing.check()?;
        if !(self.tolerance >= 0.0 && self.tolerance.is_finite()) {
            return Err(Error::option("tolerance", format!("{} is not a number ≥ 0", self.tolerance)));
        }
        if let Some((_, exponent)) = self.stepwise
            && !(exponent > 0.5 && exponent <= 1.0)
        {
            return Err(Error::option("stepwise", format!("an exponent of {exponent} is not in (0.5, 1]")));
        }
        let inference = Inference::new(model);
        inference.check_schema(schema)?;
        self.validation.map_or(Ok(()), |rows| inference.check_schema(rows.schema()))
    }

    /// Fits the parameters of a model to rows. Its tree, states and roots stay; where its parameters matter is said by [`Start`].
    ///
    /// # Errors
    /// [`Error::Option`] for a setting out of range, [`Error::Mismatch`] if rows have other columns than the model,
    /// [`Error::Data`] if there is nothing to learn from or a row is impossible under the start, those of the rows and of the
    /// checkpoint's `save`, and [`Error::Cancelled`].
    pub fn fit(&self, model: &LatentTree, rows: &dyn Rows, observer: &dyn Observer) -> Result<EmFit> {
        match rows.journal() {
            None => self.fit_anew(model, rows, observer),
            Some(journal) => self.fit_journaled(journal, model, rows, observer),
        }
    }

    /// The fit in the journal, if it is there. Otherwise a new fit, which continues from its last state in the journal and is recorded.
    fn fit_journaled(&self, journal: &Journal, model: &LatentTree, rows: &dyn Rows, observer: &dyn Observer) -> Result<EmFit> {
        let question = self.question(model);
        if let Some(fit) = journal.get("fit", &question)?.and_then(|bytes| checkpoint::read_fit(&bytes).ok()) {
            fit.warnings.iter().for_each(|warning| observer.warn(warning));
            return Ok(fit);
        }
        let begun = Instant::now();
        let last = Cell::new(begun);
        let save = |bytes: &[u8]| {
            if last.get().elapsed() < BETWEEN_SAVES {
                return Ok(());
            }
            last.set(Instant::now());
            journal.put("state", &question, bytes)
        };
        let em = self.clone().checkpoint(EVERY, &save);
        let fit = match journal.get("state", &question)? {
            Some(state) => em.resume(&state, rows, observer)?,
            None => em.fit_anew(model, rows, observer)?,
        };
        if begun.elapsed() >= WORTH_KEEPING {
            journal.put("fit", &question, &checkpoint::write_fit(&fit))?;
            journal.remove("state", &question);
        }
        Ok(fit)
    }

    /// Everything that the fit depends on, besides the rows of the run.
    fn question(&self, model: &LatentTree) -> Vec<u8> {
        let settings = (self.iterations, self.tolerance, self.smoothing, self.accelerate, self.merge, self.start);
        let others = (self.validation.is_some(), self.patience, self.stepwise);
        format!("{settings:?} {others:?} {}", model.to_json_string()).into_bytes()
    }

    fn fit_anew(&self, model: &LatentTree, rows: &dyn Rows, observer: &dyn Observer) -> Result<EmFit> {
        self.check(rows.schema(), model)?;
        let rows = &Merged::with(rows, self.merged(model, rows)?);
        match self.start {
            Start::Given => {
                let begun = self.begin(model.clone(), rows, observer)?;
                self.run(0, begun, None, rows, observer)
            }
            Start::LatentClass { restarts, seed } => {
                let start = latent_class::start(self, model, rows, restarts, seed, observer)?;
                let begun = self.begin(start, rows, observer)?;
                self.run(0, begun, None, rows, observer)
            }
            Start::Random { .. } => self.restarts(0, None, model, rows, observer),
        }
    }

    /// Goes on from a checkpoint, with the settings and rows of the fit that wrote it; the result has the same bytes as if it had
    /// never been interrupted.
    ///
    /// # Errors
    /// [`Error::Format`] if the bytes are no checkpoint, [`Error::Version`], and as [`fit`](Self::fit).
    pub fn resume(&self, bytes: &[u8], rows: &dyn Rows, observer: &dyn Observer) -> Result<EmFit> {
        let (restart, run, best) = checkpoint::read(bytes)?;
        let model = Arc::clone(&run.model);
        self.check(rows.schema(), &model)?;
        let rows = &Merged::with(rows, self.merged(&model, rows)?);
        let counts = expected_counts(&model, rows, observer)?;
        let fit = self.run(restart, (run, counts), best.as_ref(), rows, observer)?;
        let best = better(best, fit);
        match self.start {
            Start::Random { .. } => self.restarts(restart + 1, Some(best), &model, rows, observer),
            _ => Ok(best),
        }
    }

    fn restarts(
        &self,
        from: usize,
        mut best: Option<EmFit>,
        model: &LatentTree,
        rows: &dyn Rows,
        observer: &dyn Observer,
    ) -> Result<EmFit> {
        let Start::Random { restarts, seed } = self.start else { unreachable!("only random starts are restarted") };
        let summary = fold(&mut *rows.open()?, Summary::new(Arc::clone(rows.schema())), &crate::Silent)?;
        for restart in from..restarts.max(1) {
            let start = random_start(model, &summary, seed, restart as u64)?;
            let begun = self.begin(start, rows, observer)?;
            let fit = self.run(restart, begun, best.as_ref(), rows, observer)?;
            best = Some(better(best, fit));
        }
        Ok(best.expect("there is at least one restart"))
    }

    fn merged(&self, model: &LatentTree, rows: &dyn Rows) -> Result<Option<Dataset>> {
        match model.family() {
            _ if !self.merge => Ok(None),
            Family::Gaussian => gaussian_rows(rows, model),
            Family::Discrete => merge_rows(rows),
        }
    }

    fn begin(&self, start: LatentTree, rows: &dyn Rows, observer: &dyn Observer) -> Result<(Run, ExpectedCounts)> {
        let counts = expected_counts(&Arc::new(start), rows, observer)?;
        let mut model = Arc::new(floored(&counts.model, &counts, &self.smoothing)?);
        let mut counts = if model == counts.model { counts } else { expected_counts(&model, rows, observer)? };
        let mut warnings = Vec::new();
        if let Some((passes, exponent)) = self.stepwise {
            let stepped = stepwise::run(&counts, rows, &self.smoothing, passes, exponent, observer)?;
            let after = expected_counts(&stepped, rows, observer)?;
            if after.objective(&self.smoothing) >= counts.objective(&self.smoothing) {
                (model, counts) = (stepped, after);
            } else {
                warnings.push("step-wise EM ended below its starting point, which was kept".to_owned());
            }
        }
        let mut run = Run {
            model,
            iterations: 0,
            log_likelihood: Vec::new(),
            objective: Vec::new(),
            validation: Vec::new(),
            longest: LEAP_FACTOR,
            best_model: None,
            since_best: 0,
            warnings,
        };
        self.record(&mut run, &counts, observer)?;
        Ok((run, counts))
    }

    /// Notes a model that was stepped to.
    fn record(&self, run: &mut Run, counts: &ExpectedCounts, observer: &dyn Observer) -> Result<()> {
        run.model = Arc::clone(&counts.model);
        let objective = counts.objective(&self.smoothing);
        if run.objective.last().is_some_and(|last| objective < last - ROUNDING * (last.abs() + counts.weight())) {
            run.warnings.push(format!("the objective fell at model {}, by more than rounding explains", run.objective.len()));
        }
        run.log_likelihood.push(counts.log_likelihood());
        run.objective.push(objective);
        if let Some(rows) = self.validation {
            let value = mean_log_likelihood(&run.model, rows, observer)?;
            let is_best = run.validation.iter().all(|earlier| value > *earlier);
            run.validation.push(value);
            if is_best || run.best_model.is_none() {
                run.best_model = Some(Arc::clone(&run.model));
                run.since_best = 0;
            } else {
                run.since_best += 1;
            }
        }
        Ok(())
    }

    fn run(
        &self,
        restart: usize,
        (mut run, mut counts): (Run, ExpectedCounts),
        best: Option<&EmFit>,
        rows: &dyn Rows,
        observer: &dyn Observer,
    ) -> Result<EmFit> {
        observer.stage("em", Some(self.iterations as u64));
        let mut saved = run.iterations;
        let stop = loop {
            if self.validation.is_some() && run.since_best >= self.patience.max(1) {
                break Stop::Validation;
            }
            if run.iterations >= self.iterations {
                break Stop::Iterations;
            }
            if let Some((every, save)) = self.checkpoint
                && run.iterations >= saved + every
            {
                save(&checkpoint::write(restart, &run, best))?;
                saved = run.iterations;
            }
            let (before, first_pass) = (counts.objective(&self.smoothing), run.iterations);
            counts = self.cycle(&mut run, counts, rows, observer)?;
            observer.progress(run.iterations as u64);
            let gain = (counts.objective(&self.smoothing) - before) / (run.iterations - first_pass) as f64;
            let scale = before.abs().max(counts.weight());
            if gain < self.tolerance * scale {
                break Stop::Converged;
            }
        };
        if let Some(best_model) = run.best_model.take().filter(|it| **it != *counts.model) {
            counts = expected_counts(&best_model, rows, observer)?;
        }
        let mut warnings = run.warnings;
        warnings.extend(dead_states(&counts));
        if stop == Stop::Iterations {
            warnings.push(format!("not converged after {} iterations; allow more or a larger tolerance", run.iterations));
        }
        warnings.iter().for_each(|warning| observer.warn(warning));
        Ok(EmFit {
            model: (*counts.model).clone(),
            log_likelihood: run.log_likelihood,
            objective: run.objective,
            validation: run.validation,
            iterations: run.iterations,
            stop,
            restart,
            warnings,
        })
    }

    /// One plain step; when accelerated, a second and the leap from both.
    fn cycle(&self, run: &mut Run, counts: ExpectedCounts, rows: &dyn Rows, observer: &dyn Observer) -> Result<ExpectedCounts> {
        let step = |model: LatentTree, run: &mut Run| {
            run.iterations += 1;
            expected_counts(&Arc::new(model), rows, observer)
        };
        let first = step(counts.maximise(&self.smoothing)?, run)?;
        self.record(run, &first, observer)?;
        if !self.accelerate || run.iterations >= self.iterations {
            return Ok(first);
        }
        let second = first.maximise(&self.smoothing)?;
        if let Some((leapt, length)) = leap(&counts.model, &first.model, &second, &first, run.longest)? {
            let leapt = step(floored(&leapt, &first, &self.smoothing)?, run)?;
            // Not "not less": the objective of a leap that went nowhere may be NaN.
            if leapt.objective(&self.smoothing) >= first.objective(&self.smoothing) {
                if length >= run.longest {
                    run.longest *= LEAP_FACTOR;
                }
                self.record(run, &leapt, observer)?;
                return Ok(leapt);
            }
            run.longest = (run.longest / LEAP_FACTOR).max(LEAP_FACTOR);
        }
        let second = step(second, run)?;
        self.record(run, &second, observer)?;
        Ok(second)
    }
}

fn better(best: Option<EmFit>, fit: EmFit) -> EmFit {
    match best {
        Some(best) if best.value() >= fit.value() => best,
        _ => fit,
    }
}

fn dead_states(counts: &ExpectedCounts) -> Vec<String> {
    let model = counts.model();
    let mut warnings = Vec::new();
    for node in model.hidden() {
        let dead = counts.state_weights(node).into_iter().flatten().enumerate().filter(|state| state.1 < DEAD_WEIGHT);
        let labels: Vec<&str> =
            dead.filter_map(|(state, _)| model.domain(node).labels().map(|labels| labels[state].as_str())).collect();
        if !labels.is_empty() {
            warnings.push(format!(
                "hidden node {:?}: hardly any row is in state {}; fewer states may suffice",
                model.tree().name(node),
                labels.join(", ")
            ));
        }
    }
    warnings
}
