//! The parameters of a learned or given tree, from rows: by moments, by EM, or by both.

use std::str::FromStr;

use latentree::data::{BatchSource, Dataset, Reader};
use latentree::em::{Em, Smoothing, Start, template};
use latentree::model::LatentTree;
use latentree::parameters::{MomentOptions, by_moments, discrete_tree};
use latentree::tensor::Decomposition;
use latentree::tree::Tree;
use latentree::{Error, Observer, Result};

use crate::args::LearnArgs;

/// Warnings of one kind that are shown one by one.
const SHOWN_WARNINGS: usize = 3;

/// How parameters are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    /// By lengths where they give a model, else by moments and EM.
    Auto,
    /// From the lengths of edges.
    Distances,
    Moments,
    Em,
    MomentsAndEm,
    /// The tree alone.
    None,
}

impl FromStr for Method {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Ok(match name {
            "auto" => Self::Auto,
            "distances" => Self::Distances,
            "moments" => Self::Moments,
            "em" => Self::Em,
            "moments+em" => Self::MomentsAndEm,
            "none" => Self::None,
            _ => {
                let problem = format!("{name:?} is not one of auto, moments+em, moments, em, distances, none");
                return Err(Error::option("--parameters", problem));
            }
        })
    }
}

/// A model, and whether EM came to its end.
pub(crate) struct Learned {
    pub(crate) model: LatentTree,
    pub(crate) converged: bool,
    pub(crate) em_iterations: Option<usize>,
}

/// The parameters of a tree from the rows of a reader.
pub(crate) fn from_rows(
    tree: &Tree,
    reader: &mut Reader,
    args: &LearnArgs,
    method: Method,
    seed: u64,
    observer: &dyn Observer,
) -> Result<Learned> {
    let k = args.hidden_states.unwrap_or(2);
    reader.rewind()?;
    observer.stage("rows", reader.n_rows_hint());
    let data = Dataset::read(reader)?;
    let start = match (args.start.as_deref(), method) {
        (Some("moments") | None, Method::Moments | Method::MomentsAndEm | Method::Auto) | (Some("moments"), _) => None,
        (Some("lcm") | None, _) => Some(Start::LatentClass { restarts: args.restarts, seed }),
        (Some("random"), _) => Some(Start::Random { restarts: args.restarts, seed }),
        (Some(other), _) => return Err(Error::option("--start", format!("{other:?} is not moments, lcm or random"))),
    };
    if start.is_some() && method == Method::Moments {
        return Err(Error::option("--start", "--parameters moments has no start; it is for em and moments+em"));
    }
    let (model, start) = match start {
        None => {
            let decomposition: Decomposition = args.decomposition.parse()?;
            let options = MomentOptions::new(k).decomposition(decomposition).seed(seed);
            let found = by_moments(tree, &mut data.source(), None, &options, observer)?;
            for warning in found.warnings.iter().take(SHOWN_WARNINGS) {
                observer.warn(warning);
            }
            if found.warnings.len() > SHOWN_WARNINGS {
                observer.warn(&format!("{} more warnings like these", found.warnings.len() - SHOWN_WARNINGS));
            }
            (found.model, Start::Given)
        }
        Some(start) => {
            let mut warnings = Vec::new();
            let tree = discrete_tree(tree, data.schema(), &mut warnings)?;
            warnings.iter().for_each(|warning| observer.warn(warning));
            (template(data.schema().clone(), tree, k)?, start)
        }
    };
    if method == Method::Moments {
        return Ok(Learned { model, converged: true, em_iterations: None });
    }
    observer.stage("em", None);
    let mut em = Em::new().start(start).smoothing(Smoothing::pseudo_count(args.em_smoothing));
    if let Some(iterations) = args.em_iterations {
        em = em.iterations(iterations);
    }
    if let Some(tolerance) = args.em_tolerance {
        if !(tolerance.is_finite() && tolerance >= 0.0) {
            return Err(Error::option("--em-tolerance", format!("{tolerance} given; a finite number ≥ 0 is needed")));
        }
        em = em.tolerance(tolerance);
    }
    let fit = em.fit(&model, &data, observer)?;
    for warning in fit.warnings.iter().take(SHOWN_WARNINGS) {
        observer.warn(warning);
    }
    let converged = fit.converged();
    Ok(Learned { model: fit.model, converged, em_iterations: Some(fit.iterations) })
}
