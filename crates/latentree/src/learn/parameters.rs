//! The parameters of a learned or given tree, from rows: by moments, by EM, or by both.

use super::recorder::warn_briefly;
use super::run::Run;
use super::{EmStart, ParameterMethod};
use crate::data::Rows;
use crate::distance::FoundCoordinates;
use crate::error::Result;
use crate::memory::MemoryBudget;
use crate::model::{LatentTree, Provenance, model_bytes};
use crate::moments::PairMoments;
use crate::observer::Observer as _;
use crate::observer::Unwarned;
use crate::parameters::em::{Em, Smoothing, Start, template, template_with};
use crate::parameters::observed_edges::{self, Slimmed};
use crate::parameters::{
    Alignment, FamilyByLengths, MomentOptions, by_aligned_triplets, by_moments_of_pairs, discrete_tree, from_lengths,
};
use crate::tree::Tree;

/// A model, and whether EM converged.
pub(super) struct Found {
    pub(super) model: LatentTree,
    pub(super) converged: bool,
    pub(super) em_iterations: Option<usize>,
}

/// Default number of hidden states.
pub(super) const DEFAULT_STATES: usize = 2;
/// Number of models without an improved validation log-likelihood after which EM stops.
const PATIENCE: usize = 10;

/// The data for the parameters.
#[derive(Clone, Copy)]
pub(super) struct Evidence<'a> {
    pub(super) rows: &'a dyn Rows,
    pub(super) moments: &'a PairMoments,
    /// Coordinates of wide variables, if the distances used them.
    pub(super) coordinates: Option<&'a FoundCoordinates>,
}

/// Copies of a model that EM holds at once: the model, its expected counts (including a partial sum per thread), the starting points of
/// acceleration, and the best model so far.
const COPIES: u64 = 6;

/// Fails if fitting a model with tables of this size would exceed the memory limit.
pub(super) fn check_model_size(memory: MemoryBudget, table_bytes: u64, n_states: usize) -> Result<()> {
    let what = format!("fitting a model with hidden variables of {n_states} states");
    let remedy = "ask for fewer hidden states, leave out columns or join their rare labels";
    memory.check(&what, table_bytes.saturating_mul(COPIES), remedy)
}

impl Run<'_> {
    /// Settings for tables from moments.
    pub(super) fn moment_options(&self, coordinates: Option<FoundCoordinates>) -> MomentOptions {
        let parameters = &self.options.parameters;
        let n_states = parameters.hidden_states.fixed().unwrap_or(DEFAULT_STATES);
        MomentOptions::new(n_states).decomposition(parameters.decomposition).seed(self.options.seed).coordinates(coordinates)
    }
}

/// The parameters of a tree with discrete hidden nodes.
pub(super) fn discrete(run: &Run<'_>, tree: &Tree, evidence: &Evidence<'_>) -> Result<Found> {
    let (k, seed, restarts) =
        (run.options.parameters.hidden_states.fixed().unwrap_or(DEFAULT_STATES), run.options.seed, run.options.em.restarts);
    let (rows, observer) = (evidence.rows, run.observer);
    let states = if run.tree.is_some() { run.options.parameters.states.of_tree(tree)? } else { Vec::new() };
    let n_states = |node| states.iter().find(|it| it.0 == node).map_or(k, |it| it.1);
    check_model_size(run.memory, model_bytes(tree, rows.schema(), n_states), states.iter().map(|it| it.1).fold(k, usize::max))?;
    let start = match (run.options.em.start, run.options.parameters.method) {
        (Some(start), _) => start,
        (None, ParameterMethod::Em) => EmStart::LatentClass,
        // Moments may identify fewer states than are given, and no hidden node between two others.
        (None, ParameterMethod::Auto) if !states.is_empty() => EmStart::LatentClass,
        (None, _) => EmStart::Moments,
    };
    // A given tree is kept unchanged, regardless of the size of its tables.
    let slimmed = match run.tree {
        None => observed_edges::slimmed(tree, &mut *rows.open()?, k, observer)?,
        Some(_) => None,
    };
    slimmed.iter().flat_map(|it| &it.notes).for_each(|note| observer.warn(note));
    let cut = slimmed.as_ref().map_or(tree, |it| &it.tree);
    let from_moments = || {
        let mut source = rows.open()?;
        let found = match run.options.parameters.alignment {
            Alignment::Linear => {
                let options = run.moment_options(evidence.coordinates.cloned());
                let options = states.iter().fold(options, |options, &(node, n_states)| options.states_of(node, n_states));
                by_moments_of_pairs(cut, &mut *source, evidence.moments, &options, observer)?
            }
            Alignment::Huang => by_aligned_triplets(cut, &mut *source, k, run.options.parameters.decomposition, seed, observer)?,
        };
        warn_briefly(observer, &found.warnings);
        match &slimmed {
            Some(slimmed) => slimmed.bridge(found.model),
            None => Ok(found.model),
        }
    };
    if run.options.parameters.method == ParameterMethod::Moments {
        return Ok(Found { model: from_moments()?, converged: true, em_iterations: None });
    }
    let unfilled = || {
        let mut warnings = Vec::new();
        let bridged = slimmed.as_ref().map(Slimmed::bridged_tree).transpose()?;
        let tree = discrete_tree(bridged.as_ref().unwrap_or(tree), rows.schema(), &mut warnings)?;
        warnings.iter().for_each(|warning| observer.warn(warning));
        template_with(rows.schema().clone(), tree, n_states)
    };
    match start {
        EmStart::Moments => fit(run, Start::Given, evidence, from_moments),
        EmStart::LatentClass => fit(run, Start::LatentClass { restarts, seed }, evidence, unfilled),
        EmStart::Random => fit(run, Start::Random { restarts, seed }, evidence, unfilled),
    }
}

/// The parameters of a Gaussian tree by EM, started from edge lengths if known, otherwise at random.
pub(super) fn gaussian(run: &Run<'_>, tree: &Tree, evidence: &Evidence<'_>) -> Result<Found> {
    let lengths_known = tree.edges().all(|edge| edge.length.is_some());
    let (restarts, seed) = (run.options.em.restarts, run.options.seed);
    let start = match run.options.em.start {
        None | Some(EmStart::Moments) if lengths_known => Start::Given,
        None | Some(EmStart::Moments | EmStart::Random) => Start::Random { restarts, seed },
        Some(EmStart::LatentClass) => Start::LatentClass { restarts, seed },
    };
    let begin = || match start {
        Start::Given => from_lengths(tree, evidence.moments, FamilyByLengths::Gaussian, Provenance::default()),
        _ => template(evidence.rows.schema().clone(), tree.clone(), 0),
    };
    fit(run, start, evidence, begin)
}

/// Refits the parameters of a model by EM, starting from its own.
pub(super) fn refit(run: &Run<'_>, model: LatentTree, smoothing: Smoothing, evidence: &Evidence<'_>) -> Result<Found> {
    climb(run, Start::Given, smoothing, evidence, || Ok(model))
}

fn fit(run: &Run<'_>, start: Start, evidence: &Evidence<'_>, begin: impl FnOnce() -> Result<LatentTree>) -> Result<Found> {
    climb(run, start, run.options.em.smoothing(), evidence, begin)
}

fn climb(
    run: &Run<'_>,
    start: Start,
    smoothing: Smoothing,
    evidence: &Evidence<'_>,
    begin: impl FnOnce() -> Result<LatentTree>,
) -> Result<Found> {
    let observer = run.observer;
    let mut em = Em::new().start(start).smoothing(smoothing);
    if let Some(iterations) = run.options.em.iterations {
        em = em.iterations(iterations);
    }
    if let Some(tolerance) = run.options.em.tolerance {
        em = em.tolerance(tolerance);
    }
    if let Some(validation) = run.validation {
        em = em.validation(validation, PATIENCE);
    }
    let model = begin()?;
    observer.stage("em", None);
    let fit = em.fit(&model, evidence.rows, &Unwarned(observer))?;
    warn_briefly(observer, &fit.warnings);
    let converged = fit.converged();
    Ok(Found { model: fit.model, converged, em_iterations: Some(fit.iterations) })
}
