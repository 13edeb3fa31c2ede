//! The parameters of a learned or given tree, from rows: by moments, by EM, or by both.

use super::recorder::{Unwarned, warn_briefly};
use super::{EmStart, Learning, ParameterMethod};
use crate::data::Dataset;
use crate::em::{Em, Smoothing, Start, template};
use crate::error::Result;
use crate::model::{LatentTree, Provenance};
use crate::moments::PairMoments;
use crate::observer::Observer;
use crate::parameters::{FamilyByLengths, MomentOptions, by_moments, discrete_tree, from_lengths};
use crate::tree::Tree;

/// A model, and whether EM came to its end.
pub(super) struct Found {
    pub(super) model: LatentTree,
    pub(super) converged: bool,
    pub(super) em_iterations: Option<usize>,
}

/// Hidden states where none are asked for.
pub(super) const DEFAULT_STATES: usize = 2;

/// The parameters of a tree with discrete hidden nodes.
pub(super) fn discrete(learning: &Learning, tree: &Tree, data: &Dataset, observer: &dyn Observer) -> Result<Found> {
    let (k, seed) = (learning.hidden_states.unwrap_or(DEFAULT_STATES), learning.seed);
    let start = match (learning.start, learning.parameters) {
        (Some(start), _) => start,
        (None, ParameterMethod::Em) => EmStart::LatentClass,
        (None, _) => EmStart::Moments,
    };
    let (model, start) = match start {
        EmStart::Moments => {
            let options = MomentOptions::new(k).decomposition(learning.decomposition).seed(seed);
            let found = by_moments(tree, &mut data.source(), None, &options, observer)?;
            warn_briefly(observer, &found.warnings);
            (found.model, Start::Given)
        }
        EmStart::LatentClass | EmStart::Random => {
            let mut warnings = Vec::new();
            let tree = discrete_tree(tree, data.schema(), &mut warnings)?;
            warnings.iter().for_each(|warning| observer.warn(warning));
            let restarts = learning.restarts;
            let start =
                if start == EmStart::Random { Start::Random { restarts, seed } } else { Start::LatentClass { restarts, seed } };
            (template(data.schema().clone(), tree, k)?, start)
        }
    };
    if learning.parameters == ParameterMethod::Moments {
        return Ok(Found { model, converged: true, em_iterations: None });
    }
    fit(learning, &model, start, data, observer)
}

/// The parameters of a Gaussian tree by EM; from the model by lengths where these are known, else at random.
pub(super) fn gaussian(
    learning: &Learning,
    tree: &Tree,
    moments: &PairMoments,
    data: &Dataset,
    observer: &dyn Observer,
) -> Result<Found> {
    let lengths_known = tree.edges().all(|edge| edge.length.is_some());
    let random = Start::Random { restarts: learning.restarts, seed: learning.seed };
    let start = match learning.start {
        None | Some(EmStart::Moments) if lengths_known => Start::Given,
        None | Some(EmStart::Moments | EmStart::Random) => random,
        Some(EmStart::LatentClass) => Start::LatentClass { restarts: learning.restarts, seed: learning.seed },
    };
    let model = match start {
        Start::Given => from_lengths(tree, moments, FamilyByLengths::Gaussian, Provenance::default())?,
        _ => template(data.schema().clone(), tree.clone(), 0)?,
    };
    fit(learning, &model, start, data, observer)
}

fn fit(learning: &Learning, model: &LatentTree, start: Start, data: &Dataset, observer: &dyn Observer) -> Result<Found> {
    observer.stage("em", None);
    let mut em = Em::new().start(start).smoothing(Smoothing::pseudo_count(learning.em_smoothing));
    if let Some(iterations) = learning.em_iterations {
        em = em.iterations(iterations);
    }
    if let Some(tolerance) = learning.em_tolerance {
        em = em.tolerance(tolerance);
    }
    let fit = em.fit(model, data, &Unwarned(observer))?;
    warn_briefly(observer, &fit.warnings);
    let converged = fit.converged();
    Ok(Found { model: fit.model, converged, em_iterations: Some(fit.iterations) })
}
