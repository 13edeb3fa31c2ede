//! The parameters of a learned or given tree, from rows: by moments, by EM, or by both.

use super::checkpoint::{Checkpoint, digest};
use super::recorder::{Unwarned, warn_briefly};
use super::{EmStart, Learning, ParameterMethod};
use crate::data::Dataset;
use crate::distance::FoundCoordinates;
use crate::em::{Em, Start, template};
use crate::error::Result;
use crate::model::{LatentTree, Provenance, model_bytes};
use crate::moments::PairMoments;
use crate::observer::Observer;
use crate::parameters::observed_edges::{self, Slimmed};
use crate::parameters::{
    Alignment, FamilyByLengths, MomentOptions, by_aligned_triplets, by_moments, discrete_tree, from_lengths,
};
use crate::tree::Tree;

/// A model, and whether EM came to its end.
pub(super) struct Found {
    pub(super) model: LatentTree,
    pub(super) converged: bool,
    pub(super) em_iterations: Option<usize>,
}

/// Hidden states where none are asked for.
pub(super) const DEFAULT_STATES: usize = 2;
/// Models without a rise of the validation rows' likelihood after which EM ends.
const PATIENCE: usize = 10;

/// What parameters are learned from.
pub(super) struct Rows<'a> {
    pub(super) data: &'a Dataset,
    pub(super) validation: Option<&'a Dataset>,
    pub(super) moments: &'a PairMoments,
    /// Of wide variables, where they were found for the distances.
    pub(super) coordinates: Option<&'a FoundCoordinates>,
}

/// Copies of a model that EM holds at once: the model, its expected counts (a partial sum for each thread among them), what acceleration steps
/// from, and the best so far.
const COPIES: u64 = 6;

/// Fails if fitting a model whose tables take so many bytes would not fit the memory.
pub(super) fn check_model_size(learning: &Learning, table_bytes: u64, n_states: usize) -> Result<()> {
    let what = format!("fitting a model with hidden variables of {n_states} states");
    let remedy = "ask for fewer hidden states, leave out columns or join their rare labels";
    learning.memory.check(&what, table_bytes.saturating_mul(COPIES), remedy)
}

/// The parameters of a tree with discrete hidden nodes.
pub(super) fn discrete(learning: &Learning, tree: &Tree, rows: &Rows<'_>, observer: &dyn Observer) -> Result<Found> {
    let (k, seed, restarts) = (learning.hidden_states.unwrap_or(DEFAULT_STATES), learning.seed, learning.restarts);
    let data = rows.data;
    check_model_size(learning, model_bytes(tree, data.schema(), k), k)?;
    let start = match (learning.start, learning.parameters) {
        (Some(start), _) => start,
        (None, ParameterMethod::Em) => EmStart::LatentClass,
        (None, _) => EmStart::Moments,
    };
    // A tree that was given is kept as it is, whatever its tables cost.
    let slimmed = match learning.tree {
        None => observed_edges::slimmed(tree, &mut data.source(), k, observer)?,
        Some(_) => None,
    };
    slimmed.iter().flat_map(|it| &it.notes).for_each(|note| observer.warn(note));
    let cut = slimmed.as_ref().map_or(tree, |it| &it.tree);
    let from_moments = || {
        let mut source = data.source();
        let found = match learning.alignment {
            Alignment::Linear => {
                let coordinates = rows.coordinates.cloned();
                let options = MomentOptions::new(k).decomposition(learning.decomposition).seed(seed).coordinates(coordinates);
                by_moments(cut, &mut source, None, &options, observer)?
            }
            Alignment::Huang => by_aligned_triplets(cut, &mut source, k, learning.decomposition, seed, observer)?,
        };
        warn_briefly(observer, &found.warnings);
        match &slimmed {
            Some(slimmed) => slimmed.bridge(found.model),
            None => Ok(found.model),
        }
    };
    if learning.parameters == ParameterMethod::Moments {
        return Ok(Found { model: from_moments()?, converged: true, em_iterations: None });
    }
    let unfilled = || {
        let mut warnings = Vec::new();
        let bridged = slimmed.as_ref().map(Slimmed::bridged_tree).transpose()?;
        let tree = discrete_tree(bridged.as_ref().unwrap_or(tree), data.schema(), &mut warnings)?;
        warnings.iter().for_each(|warning| observer.warn(warning));
        template(data.schema().clone(), tree, k)
    };
    match start {
        EmStart::Moments => fit(learning, Start::Given, tree, rows, from_moments, observer),
        EmStart::LatentClass => fit(learning, Start::LatentClass { restarts, seed }, tree, rows, unfilled, observer),
        EmStart::Random => fit(learning, Start::Random { restarts, seed }, tree, rows, unfilled, observer),
    }
}

/// The parameters of a Gaussian tree by EM; from the model by lengths where these are known, else at random.
pub(super) fn gaussian(learning: &Learning, tree: &Tree, rows: &Rows<'_>, observer: &dyn Observer) -> Result<Found> {
    let lengths_known = tree.edges().all(|edge| edge.length.is_some());
    let (restarts, seed) = (learning.restarts, learning.seed);
    let start = match learning.start {
        None | Some(EmStart::Moments) if lengths_known => Start::Given,
        None | Some(EmStart::Moments | EmStart::Random) => Start::Random { restarts, seed },
        Some(EmStart::LatentClass) => Start::LatentClass { restarts, seed },
    };
    let begin = || match start {
        Start::Given => from_lengths(tree, rows.moments, FamilyByLengths::Gaussian, Provenance::default()),
        _ => template(rows.data.schema().clone(), tree.clone(), 0),
    };
    fit(learning, start, tree, rows, begin, observer)
}

fn fit(
    learning: &Learning,
    start: Start,
    tree: &Tree,
    rows: &Rows<'_>,
    begin: impl FnOnce() -> Result<LatentTree>,
    observer: &dyn Observer,
) -> Result<Found> {
    let mut em = Em::new().start(start).smoothing(learning.smoothing());
    if let Some(iterations) = learning.em_iterations {
        em = em.iterations(iterations);
    }
    if let Some(tolerance) = learning.em_tolerance {
        em = em.tolerance(tolerance);
    }
    if let Some(validation) = rows.validation {
        em = em.validation(validation, PATIENCE);
    }
    let fit = match &learning.checkpoint {
        None => {
            let model = begin()?;
            observer.stage("em", None);
            em.fit(&model, rows.data, &Unwarned(observer))?
        }
        Some(directory) => {
            let validation = rows.validation.map(digest);
            let run = format!(
                "{} {:?} {} {validation:?} {}",
                env!("CARGO_PKG_VERSION"),
                fingerprint(learning),
                digest(rows.data),
                tree.to_json()
            );
            let checkpoint = Checkpoint::open(directory, &run)?;
            observer.stage("em", None);
            checkpoint.fit(&em, begin, rows.data, &Unwarned(observer))?
        }
    };
    warn_briefly(observer, &fit.warnings);
    let converged = fit.converged();
    Ok(Found { model: fit.model, converged, em_iterations: Some(fit.iterations) })
}

/// The options that the result of EM depends on, besides the tree.
fn fingerprint(learning: &Learning) -> impl std::fmt::Debug {
    (
        (
            learning.parameters,
            learning.start,
            learning.restarts,
            learning.hidden_states,
            learning.decomposition.to_string(),
            learning.alignment,
        ),
        (learning.em_iterations, learning.em_tolerance, learning.em_smoothing, learning.seed),
    )
}
