//! Iterated local search: part of the best model is undone, and sweeps climb again from there.
//!
//! A kick removes half of the states of one hidden node, or merges two neighbouring hidden nodes. On a table that is searched
//! in a second, a dozen kicks cost little and find models that no single move reaches.

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::moves::without_state;
use super::{Bench, BicSearch, Found};
use crate::Result;
use crate::patch::{Context, Net};
use crate::selection::options::Effort;

/// Number of kicks of the same model, run in parallel.
const KICKS: usize = 4;
/// Size ([`Columns::size`](crate::patch::Columns::size)) up to which a table gets one round of kicks; smaller tables get
/// more.
const OF_A_ROUND: f64 = 4e5;
const MAX_ROUNDS: usize = 3;
/// Maximum number of rounds in a thorough search.
const MANY_ROUNDS: usize = 12;
const SWEEPS: usize = 6;
/// Minimum gain of BIC for a new model.
const MIN_GAIN: f64 = 0.5;

impl Bench<'_> {
    /// The best model after some kicks, or the original one.
    pub(super) fn kicked(&self, mut best: Found, search: &BicSearch, size: f64) -> Result<Found> {
        let rounds = (OF_A_ROUND / size) as usize;
        let rounds = match search.effort {
            Effort::Thorough if size < super::LARGE => (4 * rounds).clamp(2, MANY_ROUNDS),
            _ => rounds.min(MAX_ROUNDS),
        };
        if self.fixed_states.is_some() || self.keep_tree {
            return Ok(best);
        }
        for round in 0..rounds {
            if self.observer.stop_early() {
                break;
            }
            let nets = self.undone(&best.net, search.seed.wrapping_mul(0x5851_F42D).wrapping_add(round as u64));
            let again = |(at, net): (usize, Net)| {
                let seed = search.seed.wrapping_add(9_001 + (round * KICKS + at) as u64 * 101);
                match self.fit_net(&net, 15, 1e-6)? {
                    Some(begun) => Ok(Some(self.climb(begun, SWEEPS, seed, false)?)),
                    None => Ok(None),
                }
            };
            let found: Vec<Option<Found>> = nets.into_par_iter().enumerate().map(again).collect::<Result<_>>()?;
            let top = found.into_iter().flatten().reduce(|best, other| if other.bic > best.bic { other } else { best });
            if let Some(top) = top.filter(|top| top.bic > best.bic + MIN_GAIN) {
                best = self.climb(top, SWEEPS, search.seed.wrapping_add(78 + round as u64), true)?;
            }
        }
        Ok(best)
    }

    /// Several versions of the model, each with a different part undone.
    fn undone(&self, net: &Net, seed: u64) -> Vec<Net> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let messages = net.messages(&self.columns);
        let context = Context::new(net, &self.columns, &messages);
        let is_hidden = |ix: usize| net.observed[ix].is_none();
        let mut large: Vec<usize> = (0..net.n_hidden()).filter(|&ix| is_hidden(ix) && net.states[ix] > 2).collect();
        let mut edges: Vec<(usize, usize)> = (0..net.n_hidden())
            .filter_map(|ix| Some((ix, net.parent[ix]?)))
            .filter(|&(ix, parent)| is_hidden(ix) && is_hidden(parent))
            .collect();
        large.shuffle(&mut rng);
        edges.shuffle(&mut rng);
        let mut nets = Vec::new();
        while nets.len() < KICKS && (!large.is_empty() || !edges.is_empty()) {
            let mut next = net.clone();
            let is_shrunk = edges.is_empty() || (!large.is_empty() && nets.len() % 2 == 0);
            if is_shrunk {
                let Some(hidden) = large.pop() else { break };
                let mut star = context.star(hidden);
                for _ in 0..(net.states[hidden] / 2).min(net.states[hidden] - 2) {
                    let state = rng.random_range(0..star.patch.nodes[0].n_states);
                    star = without_state(&star, state);
                }
                star.apply(&mut next);
            } else {
                let Some((hidden, parent)) = edges.pop() else { break };
                let Some(pair) = context.pair(hidden, parent) else { continue };
                pair.joined(&self.columns).apply(&mut next);
            }
            next.prune(&self.columns);
            nets.push(next);
        }
        nets
    }
}
