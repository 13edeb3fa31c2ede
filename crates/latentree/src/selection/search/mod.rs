//! Structure and numbers of states by the Bayesian information criterion, `BIC = ln L − ½ (free parameters) ln N`.
//!
//! The search begins at several models and climbs from each by sweeps. In a sweep
//!
//! 1. **leaves**: every variable goes to the hidden node whose posterior explains it best by expected counts, or stands alone; hidden nodes may be joined anew by
//!    the maximum spanning tree of the mutual information of their posteriors;
//! 2. **neighbourhoods**: around every hidden node and across every edge, moves are scored on a small patch of the tree with the messages of the rest
//!    ([`patch`]): a state more or less, a second node for some of the neighbours, two nodes made one, a subtree hung on the other end. Moves that do not touch each other are
//!    taken together;
//! 3. **EM** of the whole model, once for all moves. They stay if BIC rose; otherwise the better half is tried.
//!
//! Starts are taken through some sweeps, and the best of them to the end. Work is counted in table cells times rows, never in seconds: results do not
//! depend on the machine.

mod columns;
mod leaves;
mod local;
mod moves;
mod net;
mod patch;
mod residual;

use std::sync::Arc;

use rayon::prelude::*;

use self::columns::Columns;
use self::local::{Branch, Context};
use self::moves::{Judge, Move};
use self::net::Net;
use self::patch::Floors;
use crate::data::{Batch, Block, Dataset, Rows, SparseRows};
use crate::em::{Em, Smoothing};
use crate::model::LatentTree;
use crate::{Error, Observer, Result};

/// Rows that local moves look at, at most.
const MOST_ROWS: usize = 60_000;

/// A model on its way, and its BIC.
#[derive(Debug, Clone)]
pub(super) struct Found {
    pub(super) net: Net,
    pub(super) bic: f64,
    pub(super) model: LatentTree,
}

/// Rows in the forms that a search needs.
pub(super) struct Bench<'a> {
    rows: &'a dyn Rows,
    pub(super) columns: Columns,
    weight: f64,
    smoothing: Smoothing,
    fixed_states: Option<usize>,
    observer: &'a dyn Observer,
}

/// Hands on the question whether to stop, and nothing else.
struct Quiet<'a>(&'a dyn Observer);

impl Observer for Quiet<'_> {
    fn cancelled(&self) -> bool {
        self.0.cancelled()
    }
}

impl<'a> Bench<'a> {
    pub(super) fn new(
        rows: &'a dyn Rows,
        weight: f64,
        smoothing: Smoothing,
        fixed_states: Option<usize>,
        observer: &'a dyn Observer,
    ) -> Result<Self> {
        let columns = Columns::read(rows, MOST_ROWS, &Quiet(observer))?;
        Ok(Self { rows, columns, weight, smoothing, fixed_states, observer })
    }

    fn cost(&self) -> f64 {
        0.5 * self.weight.max(2.0).ln()
    }

    fn judge(&self) -> Judge<'_> {
        Judge {
            columns: &self.columns,
            floors: Floors {
                pseudo_count: self.smoothing.pseudo_count,
                variance: self.smoothing.variance_floor,
                rate: self.smoothing.rate_floor,
            },
            cost: self.cost(),
            steps: 16,
            fixed_states: self.fixed_states,
            most_states: 64,
        }
    }

    /// EM of a whole model.
    pub(super) fn fit(&self, model: &LatentTree, passes: usize, tolerance: f64) -> Result<Option<Found>> {
        let em = Em::new().merge(false).smoothing(self.smoothing).iterations(passes).tolerance(tolerance);
        let fit = em.fit(model, self.rows, &Quiet(self.observer))?;
        let log_likelihood = fit.log_likelihood.last().copied().unwrap_or(f64::NEG_INFINITY);
        let bic = log_likelihood - self.cost() * fit.model.n_free_parameters() as f64;
        Ok(Net::of_model(&fit.model, &self.columns).map(|net| Found { net, bic, model: fit.model }))
    }

    fn fit_net(&self, net: &Net, passes: usize, tolerance: f64) -> Result<Option<Found>> {
        self.fit(&net.model(self.rows.schema(), &self.columns)?, passes, tolerance)
    }

    /// Sweeps until they gain little.
    pub(super) fn climb(&self, mut best: Found, sweeps: usize, seed: u64) -> Result<Found> {
        for sweep in 0..sweeps {
            let before = best.bic;
            best = self.with_leaves(best, sweep < 3)?;
            best = self.with_neighbourhoods(best, seed.wrapping_add(sweep as u64 * 1_000_003))?;
            if std::env::var_os("LT_TRACE").is_some() {
                eprintln!("sweep {sweep} bic {:.1} hidden {} params {}", best.bic, best.net.n_hidden(), best.net.n_free(&self.columns));
            }
            if best.bic < before + 1.0 {
                break;
            }
        }
        Ok(best)
    }

    fn with_leaves(&self, mut best: Found, anew: bool) -> Result<Found> {
        for round in 0..3 {
            let posteriors = best.net.posteriors(&self.columns);
            let (moved, n_moved) =
                leaves::with_moved_leaves(&best.net, &posteriors, &self.columns, self.cost(), self.smoothing.pseudo_count);
            let mut tried = Vec::new();
            if anew && round == 0 && best.net.n_hidden() <= 600 {
                tried.push(leaves::rejoined(&moved, &posteriors, &self.columns, self.cost()));
            }
            if n_moved > 0 {
                tried.push(moved);
            }
            let before = best.bic;
            for mut net in tried {
                net.prune(&self.columns);
                if let Some(found) = self.fit_net(&net, 15, 1e-6)?
                    && found.bic > best.bic
                {
                    best = found;
                    break;
                }
            }
            if best.bic < before + 1.0 {
                break;
            }
        }
        Ok(best)
    }

    fn with_neighbourhoods(&self, mut best: Found, seed: u64) -> Result<Found> {
        if self.observer.cancelled() {
            return Err(Error::Cancelled);
        }
        let messages = best.net.messages(&self.columns);
        let context = Context::new(&best.net, &self.columns, &messages);
        let judge = self.judge();
        let n = best.net.n_hidden();
        let moves: Vec<Move> = (0..2 * n)
            .into_par_iter()
            .flat_map_iter(|task| {
                if self.observer.cancelled() {
                    Vec::new()
                } else if task < n {
                    moves::around(&context, task, &judge, seed.wrapping_mul(0x9E37_79B9).wrapping_add(task as u64))
                } else {
                    moves::across(&context, task - n, &judge).into_iter().collect()
                }
            })
            .collect();
        if self.observer.cancelled() {
            return Err(Error::Cancelled);
        }
        let mut chosen = apart(moves);
        while !chosen.is_empty() {
            let mut net = best.net.clone();
            chosen.iter().for_each(|it| it.local.apply(&mut net));
            net.prune(&self.columns);
            let found = self.fit_net(&net, 12, 1e-6)?;
            if std::env::var_os("LT_TRACE").is_some() {
                eprintln!(
                    "  {} moves, expected {:.1}, got {:.1}",
                    chosen.len(),
                    chosen.iter().map(|it| it.gain).sum::<f64>(),
                    found.as_ref().map_or(f64::NAN, |it| it.bic - best.bic)
                );
            }
            match found {
                Some(found) if found.bic > best.bic => {
                    best = found;
                    break;
                }
                _ if chosen.len() == 1 => break,
                _ => chosen.truncate(chosen.len() / 2),
            }
        }
        Ok(best)
    }
}

/// The best moves of which no two touch: each has its own nodes, and no node that changes its number of states is a neighbour in another. Second nodes of one
/// node may take branches that are not the same.
fn apart(mut moves: Vec<Move>) -> Vec<Move> {
    moves.sort_by(|a, b| b.gain.total_cmp(&a.gain).then(a.local.nodes.cmp(&b.local.nodes)));
    let centres = |it: &Move| it.local.nodes.iter().flatten().chain(&it.local.removed).copied().collect::<Vec<usize>>();
    let neighbours = |it: &Move| {
        let hidden = |branch: &Branch| if let Branch::Hidden(hidden) = branch { Some(*hidden) } else { None };
        it.local.branches.iter().filter_map(|(branch, _)| hidden(branch)).collect::<Vec<usize>>()
    };
    let clash = |a: &Move, b: &Move| {
        let (own, other) = (centres(a), centres(b));
        let shared = own.iter().any(|ix| other.contains(ix));
        let is_twin = |it: &Move| it.local.nodes.len() == 2 && it.local.nodes[1].is_none();
        let branches = |it: &Move| it.local.branches.iter().map(|it| it.0).collect::<Vec<Branch>>();
        if shared && is_twin(a) && is_twin(b) {
            return branches(a).iter().any(|branch| branches(b).contains(branch));
        }
        let touches = |centres: &[usize], it: &Move, mover: &Move| {
            (mover.resizes || is_twin(it) || it.local.nodes.len() == 2) && neighbours(it).iter().any(|ix| centres.contains(ix))
        };
        shared || touches(&own, b, a) || touches(&other, a, b)
    };
    let mut chosen: Vec<Move> = Vec::new();
    for candidate in moves {
        if chosen.iter().all(|other| !clash(other, &candidate)) {
            chosen.push(candidate);
        }
    }
    chosen
}

/// Rows that list only cells that are not zero, where that is what most cells are.
pub(super) fn sparse_rows(rows: &dyn Rows) -> Result<Option<Dataset>> {
    const DENSEST: usize = 8;
    let Some(table) = rows.dataset() else { return Ok(None) };
    if table.schema().columns().iter().any(|column| column.kind.n_states().is_none()) {
        return Ok(None);
    }
    let (mut n_stored, mut n_cells) = (0, 0);
    let mut batches = Vec::new();
    for batch in table.batches() {
        let Block::Dense(columns) = &batch.block else { return Ok(None) };
        let mut sparse = SparseRows::default();
        let mut values = Vec::new();
        for row in 0..batch.n_rows {
            for (ix, column) in columns.iter().enumerate() {
                let value = column.number(row);
                if value != 0.0 {
                    sparse.columns.push(ix as u32);
                    values.push(value);
                }
            }
            sparse.starts.push(sparse.columns.len());
        }
        n_stored += values.len();
        n_cells += batch.n_rows * columns.len();
        if n_stored * DENSEST > n_cells + 100_000 {
            return Ok(None);
        }
        sparse.values = values.iter().any(|&value| value != 1.0).then_some(values);
        batches.push(Batch { block: Block::Sparse(sparse), ..(**batch).clone() });
    }
    if n_stored * DENSEST > n_cells {
        return Ok(None);
    }
    Ok(Some(Dataset::new(Arc::clone(table.schema()), batches)))
}
