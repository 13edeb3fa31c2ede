//! Numbers of states on a tree that is kept, by the Bayesian information criterion.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::bic::{BicSearch, Workbench, with_states};
use crate::data::Rows;
use crate::model::LatentTree;
use crate::moments::PairMoments;
use crate::observer::Quiet;
use crate::parameters::em::{Em, Start, template};
use crate::tree::Tree;
use crate::{Observer, Result};

/// A model on this tree whose hidden nodes have the numbers of states with the best BIC that is found: from two everywhere, one more or less in one node at a time.
///
/// # Errors
/// Those of EM, and [`Error::Cancelled`](crate::Error::Cancelled).
pub fn states_by_bic(
    tree: &Tree,
    data: &dyn Rows,
    moments: &PairMoments,
    search: &BicSearch,
    observer: &dyn Observer,
) -> Result<LatentTree> {
    let bench = Workbench::new(data, moments, search.smoothing, observer)?;
    observer.stage("numbers of states", None);
    let model = template(data.schema().clone(), tree.clone(), 2)?;
    let start = Start::LatentClass { restarts: 3, seed: search.seed };
    let begun = Em::new().smoothing(search.smoothing).start(start).iterations(60).fit(&model, data, &Quiet(observer))?;
    let mut best = bench.climb(&begun.model, 30, 1e-7)?;
    let mut rng = ChaCha8Rng::seed_from_u64(search.seed);
    for round in 0..search.cycles {
        let before = best.bic;
        best = with_states(&bench, best, &mut rng)?;
        observer.progress(round as u64 + 1);
        if best.bic < before + 1.0 {
            break;
        }
    }
    Ok(bench.climb(&best.model, 300, 1e-8)?.model)
}
