//! Numbers of states on a fixed tree, by the Bayesian information criterion.
//!
//! If all observed variables are leaves, states are split and dropped by local moves, as in a search over trees. A tree with
//! observed inner nodes is refitted as a whole for each trial.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

use super::search::{BicSearch, states_on_tree};
use super::surgery::{drop_state, split_state};
use crate::data::Rows;
use crate::information;
use crate::model::{LatentTree, Marginal};
use crate::moments::PairMoments;
use crate::observer::Quiet;
use crate::parameters::em::{Em, Merged, Smoothing, Start, template};
use crate::tree::Tree;
use crate::{NodeIx, Observer, Result};

/// Maximum number of rounds of trials on a tree with observed inner nodes.
const MOST_ROUNDS: usize = 6;

/// A model on this tree whose numbers of hidden states have the best BIC found. The search starts from two states everywhere
/// and adds or removes one state in one node at a time.
///
/// # Errors
/// Any error from EM, and [`Error::Cancelled`](crate::Error::Cancelled).
pub fn states_by_bic(
    tree: &Tree,
    data: &dyn Rows,
    moments: &PairMoments,
    search: &BicSearch,
    observer: &dyn Observer,
) -> Result<LatentTree> {
    observer.stage("numbers of states", None);
    let (smoothing, seed) = (search.smoothing, search.seed);
    let model = template(data.schema().clone(), tree.clone(), 2)?;
    let start = Start::LatentClass { restarts: 3, seed };
    let begun = Em::new().smoothing(smoothing).start(start).iterations(60).fit(&model, data, &Quiet(observer))?;
    let weight = moments.total_weight();
    if let Some(found) = states_on_tree(&begun.model, data, weight, search, observer)? {
        return Ok(found);
    }
    let merged = Merged::of(data)?;
    let whole = Whole { data: &merged, cost: information::bic_cost(weight.max(2.0)), smoothing, observer };
    let mut best = whole.climb(&begun.model, 30, 1e-7)?;
    observer.model_found();
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    for round in 0..MOST_ROUNDS {
        let before = best.bic;
        best = with_states(&whole, best, &mut rng)?;
        observer.progress(round as u64 + 1);
        if best.bic < before + 1.0 || observer.stop_early() {
            break;
        }
    }
    if observer.stop_early() {
        return Ok(best.model);
    }
    Ok(whole.climb(&best.model, 300, 1e-8)?.model)
}

/// A model and its score.
struct Scored {
    model: LatentTree,
    bic: f64,
}

/// The rows to which whole models are fitted.
struct Whole<'a> {
    data: &'a dyn Rows,
    cost: f64,
    smoothing: Smoothing,
    observer: &'a dyn Observer,
}

impl Whole<'_> {
    /// Runs some passes of EM, and returns the result with its score.
    fn climb(&self, model: &LatentTree, passes: usize, tolerance: f64) -> Result<Scored> {
        let em = Em::new().merge(false).smoothing(self.smoothing).iterations(passes).tolerance(tolerance);
        let fit = em.fit(model, self.data, &Quiet(self.observer))?;
        let log_likelihood = fit.log_likelihood.last().copied().unwrap_or(f64::NEG_INFINITY);
        let bic = log_likelihood - self.cost * fit.model.n_free_parameters() as f64;
        Ok(Scored { model: fit.model, bic })
    }
}

fn node_of(model: &LatentTree, hidden: usize) -> NodeIx {
    model.hidden().nth(hidden).expect("hidden nodes keep their number")
}

/// Adds or removes one state in each hidden node as long as this improves the score.
fn with_states(bench: &Whole<'_>, mut best: Scored, rng: &mut ChaCha8Rng) -> Result<Scored> {
    for hidden in 0..best.model.hidden().count() {
        let mut more = true;
        while more && !bench.observer.stop_early() {
            more = false;
            let node = node_of(&best.model, hidden);
            let k = best.model.n_states(node).unwrap_or(2);
            // The heaviest state has the most to gain from a split.
            let marginals = best.model.marginals();
            let weights = match &marginals[node.get()] {
                Marginal::Discrete(weights) => weights.clone(),
                _ => break,
            };
            let heaviest = (0..k).max_by(|&a, &b| weights[a].total_cmp(&weights[b]).then(b.cmp(&a))).unwrap_or(0);
            let other = rng.random_range(0..k);
            for state in if other == heaviest { vec![heaviest] } else { vec![heaviest, other] } {
                let split = split_state(&best.model, node, state, || rng.sample(StandardNormal))?;
                let found = bench.climb(&split, 14, 1e-6)?;
                if found.bic > best.bic {
                    best = found;
                    more = true;
                    break;
                }
            }
        }
        let node = node_of(&best.model, hidden);
        let k = best.model.n_states(node).unwrap_or(2);
        if k > 2 {
            let marginals = best.model.marginals();
            if let Marginal::Discrete(weights) = &marginals[node.get()] {
                let lightest = (0..k).min_by(|&a, &b| weights[a].total_cmp(&weights[b]).then(a.cmp(&b))).unwrap_or(0);
                let found = bench.climb(&drop_state(&best.model, node, lightest)?, 10, 1e-6)?;
                if found.bic > best.bic {
                    best = found;
                }
            }
        }
    }
    Ok(best)
}
