//! Selects the structure, the numbers of states and the smoothing by the likelihood of held-out rows.
//!
//! Each candidate is fitted by EM starting from a latent class model, stopped when the likelihood of the validation rows
//! stops rising, and scored by it:
//!
//! 1. **the tree**: each of the given ones with [`FIRST_STATES`] states;
//! 2. **the states** of all hidden nodes: doubled as long as the score rises and the work allows, or halved if that does not
//!    help;
//! 3. **the smoothing**: a third or three times as much, as long as the score rises;
//! 4. **other starts** for the best candidate, more of them if they take little work.
//!
//! Time is bounded by a rule based on sizes, never on the clock: a candidate is skipped if one pass over the rows would take
//! more than [`MOST_WORK`] multiplications. The same data therefore give the same model on every machine.

use crate::data::Rows;
use crate::model::LatentTree;
use crate::observer::Quiet;
use crate::parameters::em::{Em, EmFit, Merged, Smoothing, Start, template};
use crate::tree::Tree;
use crate::{Error, Observer, Result};

/// Number of states of the hidden nodes while trees are compared.
pub const FIRST_STATES: usize = 8;
/// Maximum number of multiplications per pass over the rows: rows · Σ k².
pub const MOST_WORK: f64 = 4e9;
/// Maximum number of multiplications for other starts.
const STARTS_WORK: f64 = 1e11;
/// Maximum number of other starts.
const MOST_STARTS: f64 = 4.0;
/// Maximum number of states that are tried.
const MOST_STATES: usize = 128;
/// Pseudo-count of the first candidates.
const FIRST_SMOOTHING: f64 = 0.05;
/// Maximum number of passes while trees are compared, and later.
const FIRST_PASSES: usize = 40;
const PASSES: usize = 200;
/// Number of models without an improved validation score after which a fit stops; more if a pass takes little work, because a
/// large EM step may lower the score temporarily.
const PATIENCE: usize = 10;
const LONG_PATIENCE: usize = 25;
const LITTLE_WORK: f64 = 1e8;

/// Settings of [`by_validation`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ValidationSearch {
    seed: u64,
    hidden_states: Option<usize>,
    smoothing: Option<f64>,
    restarts: usize,
}

impl ValidationSearch {
    /// The default search.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { seed, hidden_states: None, smoothing: None, restarts: 1 }
    }

    /// Fixes the number of states.
    #[must_use]
    pub fn hidden_states(mut self, hidden_states: Option<usize>) -> Self {
        self.hidden_states = hidden_states;
        self
    }

    /// Fixes the pseudo-count.
    #[must_use]
    pub fn smoothing(mut self, smoothing: Option<f64>) -> Self {
        self.smoothing = smoothing;
        self
    }

    /// Sets the number of random starts of each latent class model.
    #[must_use]
    pub fn restarts(mut self, restarts: usize) -> Self {
        self.restarts = restarts.max(1);
        self
    }
}

/// A candidate and its score.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct CandidateScore {
    /// Name of the tree.
    pub tree: String,
    /// Number of states of its hidden nodes.
    pub hidden_states: usize,
    /// Pseudo-count of EM.
    pub smoothing: f64,
    /// Mean log-likelihood of the validation rows.
    pub validation: f64,
    /// Number of passes over the rows.
    pub passes: usize,
}

/// The result of a search.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Selected {
    /// The best model.
    pub model: LatentTree,
    /// The name of its tree.
    pub tree: String,
    /// Mean log-likelihood of the validation rows.
    pub validation: f64,
    /// Whether EM of the best model converged.
    pub converged: bool,
    /// All candidates that were tried, in order.
    pub candidates: Vec<CandidateScore>,
}

struct Search<'a> {
    rows: Merged<'a>,
    n_rows: u64,
    validation: Merged<'a>,
    options: ValidationSearch,
    observer: &'a dyn Observer,
    tried: Vec<CandidateScore>,
}

/// The best candidate so far.
struct Best {
    tree: usize,
    states: usize,
    smoothing: f64,
    fit: EmFit,
    score: f64,
}

impl Search<'_> {
    fn work(&self, tree: &Tree, states: usize) -> f64 {
        let hidden_edges = tree.edges().filter(|edge| !tree.is_observed(edge.a) && !tree.is_observed(edge.b)).count();
        self.n_rows as f64 * (hidden_edges * states * states + tree.n_observed() * states) as f64
    }

    fn try_one(&mut self, trees: &[(String, Tree)], tree: usize, states: usize, smoothing: f64, passes: usize) -> Result<Best> {
        self.observer.step(&format!("{}, {states} states, smoothing {smoothing:.3}", trees[tree].0));
        let model = template(self.rows.schema().clone(), trees[tree].1.clone(), states)?;
        let start = Start::LatentClass { restarts: self.options.restarts, seed: self.options.seed };
        let em = Em::new().merge(false).iterations(passes).smoothing(Smoothing::pseudo_count(smoothing)).start(start);
        let is_little = self.work(&trees[tree].1, states) < LITTLE_WORK;
        let patience = if is_little { LONG_PATIENCE } else { PATIENCE };
        let fit = em.validation(&self.validation, patience).fit(&model, &self.rows, &Quiet(self.observer))?;
        let score = fit.validation.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        self.tried.push(CandidateScore {
            tree: trees[tree].0.clone(),
            hidden_states: states,
            smoothing,
            validation: score,
            passes: fit.iterations,
        });
        self.observer.progress(self.tried.len() as u64);
        Ok(Best { tree, states, smoothing, fit, score })
    }
}

/// The best candidate on the validation rows; see the module documentation.
///
/// # Arguments
/// - `trees`: names and trees over the variables; observed nodes with several neighbours must be discrete.
///
/// # Errors
/// [`Error::Mismatch`] if the validation rows have other columns, [`Error::Option`] if there is no tree, any error from EM,
/// and [`Error::Cancelled`].
pub fn by_validation(
    trees: &[(String, Tree)],
    rows: &dyn Rows,
    validation: &dyn Rows,
    search: &ValidationSearch,
    observer: &dyn Observer,
) -> Result<Selected> {
    if trees.is_empty() {
        return Err(Error::option("selection.criterion", "there is no tree to choose from"));
    }
    let rows = Merged::of(rows)?;
    let n_rows = n_rows(&rows)?;
    let mut run = Search { rows, n_rows, validation: Merged::of(validation)?, options: *search, observer, tried: Vec::new() };
    observer.stage("candidates", None);
    let smoothing = search.smoothing.unwrap_or(FIRST_SMOOTHING);
    let first_states = search.hidden_states.unwrap_or(FIRST_STATES);
    let mut best: Option<Best> = None;
    for tree in 0..trees.len() {
        if best.is_some() && observer.stop_early() {
            break;
        }
        let found = run.try_one(trees, tree, first_states, smoothing, FIRST_PASSES)?;
        best = Some(better(best, found));
        observer.model_found();
    }
    let mut best = best.expect("there is a tree");
    if search.hidden_states.is_none() {
        for up in [true, false] {
            let mut states = FIRST_STATES;
            loop {
                states = if up { states * 2 } else { states / 2 };
                if observer.stop_early()
                    || !(2..=MOST_STATES).contains(&states)
                    || run.work(&trees[best.tree].1, states) > MOST_WORK
                {
                    break;
                }
                let found = run.try_one(trees, best.tree, states, smoothing, PASSES)?;
                if found.score <= best.score {
                    break;
                }
                best = found;
            }
            // Fewer states are tried only if more states did not help.
            if best.states > FIRST_STATES {
                break;
            }
        }
    }
    if search.smoothing.is_none() {
        for factor in [1.0 / 3.0, 3.0] {
            while !observer.stop_early() {
                let found = run.try_one(trees, best.tree, best.states, best.smoothing * factor, PASSES)?;
                if found.score <= best.score {
                    break;
                }
                best = found;
            }
            if best.smoothing != smoothing {
                break;
            }
        }
    }
    let work = run.work(&trees[best.tree].1, best.states) * best.fit.iterations.max(1) as f64;
    for start in 0..(STARTS_WORK / work).min(MOST_STARTS) as u64 {
        if observer.stop_early() {
            break;
        }
        run.options.seed = search.seed.wrapping_add(start + 1);
        let found = run.try_one(trees, best.tree, best.states, best.smoothing, PASSES)?;
        best = better(Some(best), found);
    }
    let converged = best.fit.converged();
    let tree = trees[best.tree].0.clone();
    Ok(Selected { model: best.fit.model, tree, validation: best.score, converged, candidates: run.tried })
}

fn n_rows(rows: &dyn Rows) -> Result<u64> {
    if let Some(known) = rows.n_rows_hint() {
        return Ok(known);
    }
    let (mut n_rows, mut source) = (0, rows.open()?);
    while let Some(batch) = source.next_batch()? {
        n_rows += batch.n_rows as u64;
    }
    Ok(n_rows)
}

fn better(best: Option<Best>, other: Best) -> Best {
    match best {
        Some(best) if best.score >= other.score => best,
        _ => other,
    }
}
