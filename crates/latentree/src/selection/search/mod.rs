//! Searches structure and numbers of states by the Bayesian information criterion, `BIC = ln L − ½ (free parameters) ln N`.
//!
//! The search starts from several models and climbs from each in sweeps. In a sweep
//!
//! 1. **leaves**: each variable moves to the hidden node whose posterior explains it best by expected counts, or stands
//!    alone; hidden nodes may be rejoined by the maximum spanning tree of the mutual information of their posteriors;
//! 2. **neighbourhoods**: around each hidden node and across each edge, moves are scored on a small patch of the tree with
//!    the messages of the rest ([`patch`]): one state more or less, a second node for some of the neighbours, two nodes
//!    merged, a subtree moved to the other end. Moves that do not touch each other are made together;
//! 3. **EM** is run on the whole model, once for all moves. The moves are kept if BIC rose; otherwise the better half is
//!    tried.
//!
//! All starts get a few sweeps, and the best of them climb to the end. Small tables are then kicked ([`kicks`]): part of the
//! best model is undone, and the search climbs again. Separate trees of the best model are joined at observed variables
//! where an edge is worth it ([`joins`]). Edges of the best model that gain no more than expected by chance are
//! cut ([`cuts`]). Work is measured in table cells times rows, never in seconds, so results do not depend on the machine.

mod beginnings;
mod cuts;
mod joins;
mod kicks;
mod leaves;
mod moves;
mod mutual;
mod residual;
mod starts;
mod steps;
#[cfg(test)]
mod tests;
mod tried;

use std::sync::Arc;

use rayon::prelude::*;

use self::beginnings::{Beginning, beginnings};
use self::moves::{Judge, Move};
use self::steps::{Plan, Steps};
use self::tried::{Task, Tried};
use super::options::Effort;
use crate::data::{Batch, Dataset, JournaledRows, Rows};
use crate::journal::Journal;
use crate::model::LatentTree;
use crate::moments::PairMoments;
use crate::observer::Quiet;
use crate::parameters::em::{Em, Merged, Smoothing};
use crate::patch::{ALONE, Branch, Columns, Context, Floors, Net};
use crate::tree::Tree;
use crate::{Error, Observer, Place, Result, VarIx};

/// Maximum number of rows used by local moves.
const MOST_ROWS: usize = 60_000;

/// A sweep that gains less than this, or less than this share of BIC, is the last one.
const LEAST_GAIN: f64 = 1.0;
const LEAST_SHARE: f64 = 2e-5;
const LEAST_SHARE_OF_MANY: f64 = 1e-4;

/// A model found during the search, and its BIC.
#[derive(Debug, Clone)]
struct Found {
    net: Net,
    bic: f64,
    model: LatentTree,
}

/// The rows in the forms needed by a search.
struct Bench<'a> {
    rows: &'a dyn Rows,
    columns: Columns,
    /// By variable, whether it has the same value in all rows.
    constant: Vec<bool>,
    weight: f64,
    smoothing: Smoothing,
    fixed_states: Option<usize>,
    keep_tree: bool,
    observer: &'a dyn Observer,
    steps: Steps<'a>,
}

impl<'a> Bench<'a> {
    fn new(rows: &'a dyn Rows, weight: f64, search: &BicSearch, observer: &'a dyn Observer) -> Result<Self> {
        let is_wide = |n_states: usize| n_states >= usize::from(u16::MAX);
        if let Some(column) = rows.schema().columns().iter().find(|column| column.kind.n_states().is_some_and(is_wide)) {
            let problem = format!(
                "column {:?} has more labels than a search can tell apart, {}; merge rare labels",
                column.name,
                u16::MAX - 1
            );
            return Err(Error::option("selection.criterion", problem));
        }
        let columns = Columns::read(rows, MOST_ROWS, &Quiet(observer))?;
        let (smoothing, fixed_states) = (search.smoothing, search.hidden_states);
        let constant = columns.constant();
        Ok(Self {
            rows,
            columns,
            constant,
            weight,
            smoothing,
            fixed_states,
            keep_tree: false,
            observer,
            steps: Steps::unplanned(observer),
        })
    }

    fn cost(&self) -> f64 {
        crate::information::bic_cost(self.weight.max(2.0))
    }

    fn judge(&self) -> Judge<'_> {
        Judge {
            columns: &self.columns,
            floors: Floors::of(&self.smoothing),
            cost: self.cost(),
            steps: 16,
            fixed_states: self.fixed_states,
            most_states: 64,
            keep_tree: self.keep_tree,
        }
    }

    /// Fits a whole model by EM.
    fn fit(&self, model: &LatentTree, passes: usize, tolerance: f64) -> Result<Option<Found>> {
        let without = self.without_constants(model)?;
        let model = without.as_ref().unwrap_or(model);
        let em = Em::new().merge(false).smoothing(self.smoothing).iterations(passes).tolerance(tolerance);
        let fit = em.fit(model, self.rows, &Quiet(self.observer))?;
        let log_likelihood = fit.log_likelihood.last().copied().unwrap_or(f64::NEG_INFINITY);
        let bic = log_likelihood - self.cost() * fit.model.n_free_parameters() as f64;
        Ok(Net::of_model(&fit.model, &self.columns).map(|net| Found { net, bic, model: fit.model }))
    }

    /// The model with constant variables on their own, if any is not. An edge to a column with a single label has no parameters, so
    /// that BIC cannot decide.
    fn without_constants(&self, model: &LatentTree) -> Result<Option<LatentTree>> {
        let is_attached = |variable: usize| model.tree().degree(model.node_of(VarIx::new(variable))) > 0;
        let attached: Vec<usize> = (0..self.constant.len()).filter(|&it| self.constant[it] && is_attached(it)).collect();
        if self.keep_tree || attached.is_empty() {
            return Ok(None);
        }
        let Some(mut net) = Net::of_model(model, &self.columns) else { return Ok(None) };
        let (independent, marginals) = (Net::independent(&self.columns, self.smoothing.pseudo_count), net.marginals());
        let mut alone = Vec::new();
        for variable in attached {
            let Some(inner) = net.observed.iter().position(|it| *it == Some(variable)) else {
                alone.push(variable);
                continue;
            };
            // What hangs on a constant node does not depend on it.
            for node in 0..net.n_hidden() {
                if node == inner || net.parent[node] == Some(inner) {
                    net.parent[node] = None;
                    net.table[node].clone_from(&marginals[node]);
                }
            }
            alone.extend((0..net.leaf_of.len()).filter(|&leaf| net.leaf_of[leaf] == inner));
        }
        for variable in alone {
            net.leaf_of[variable] = ALONE;
            for &column in &self.columns.of_variable[variable] {
                net.values[column].clone_from(&independent[column]);
            }
        }
        net.prune(&self.columns);
        net.model(self.rows.schema(), &self.columns).map(Some)
    }

    fn fit_net(&self, net: &Net, passes: usize, tolerance: f64) -> Result<Option<Found>> {
        self.fit(&net.model(self.rows.schema(), &self.columns)?, passes, tolerance)
    }

    /// Sweeps until the gain becomes small, or the observer asks to stop early. If the model is to be the result, branches
    /// are also rearranged.
    fn climb(&self, mut best: Found, sweeps: usize, seed: u64, is_final: bool) -> Result<Found> {
        let mut tried = Tried::default();
        for sweep in 0..sweeps {
            if self.observer.stop_early() {
                break;
            }
            self.steps.swept(sweep, best.bic);
            let before = best.bic;
            if !self.keep_tree {
                best = self.with_leaves(best, sweep < 3)?;
            }
            best = self.with_neighbourhoods(best, seed.wrapping_add(sweep as u64 * 1_000_003), false, &mut tried)?;
            let share = if self.columns.of_variable.len() > WIDE { LEAST_SHARE_OF_MANY } else { LEAST_SHARE };
            let is_last = |bic: f64| bic < before + LEAST_GAIN.max(share * bic.abs());
            if is_last(best.bic) && is_final && !self.observer.stop_early() {
                best = self.with_neighbourhoods(best, seed, true, &mut tried)?;
            }
            if is_last(best.bic) || self.observer.stop_early() {
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
            if best.bic < before + 1.0 || self.observer.stop_early() {
                break;
            }
        }
        Ok(best)
    }

    /// Makes moves around all nodes and across all edges, or rearranges branches.
    fn with_neighbourhoods(&self, mut best: Found, seed: u64, rearranges: bool, tried: &mut Tried) -> Result<Found> {
        if self.observer.cancelled() {
            return Err(Error::Cancelled);
        }
        let messages = best.net.messages(&self.columns);
        let context = Context::new(&best.net, &self.columns, &messages);
        let judge = self.judge();
        let tasks: Vec<(Task, u64)> = tried.open(&context, rearranges);
        let found: Vec<Vec<Move>> = tasks
            .par_iter()
            .map(|&(task, _)| match task {
                _ if self.observer.cancelled() || self.observer.stop_early() => Vec::new(),
                Task::Around(node) => {
                    moves::around(&context, node, &judge, seed.wrapping_mul(0x9E37_79B9).wrapping_add(node as u64))
                }
                Task::Across(node) => moves::across(&context, node, &judge).into_iter().collect(),
                Task::Rearrange(node) => moves::rearranged(&context, node, &judge).into_iter().collect(),
            })
            .collect();
        if self.observer.cancelled() {
            return Err(Error::Cancelled);
        }
        tried.add(tasks.iter().zip(&found).filter(|(_, moves)| moves.is_empty()).map(|(task, _)| task.1));
        let moves = found.into_iter().flatten().collect();
        let mut chosen = apart(moves);
        while !chosen.is_empty() {
            let mut net = best.net.clone();
            chosen.iter().for_each(|it| it.local.apply(&mut net));
            net.prune(&self.columns);
            let found = self.fit_net(&net, 12, 1e-6)?;
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

/// The best moves of which no two conflict: each has its own nodes, and no node whose number of states changes is a neighbour
/// in another move. Several second nodes may be added to the same node if they take different branches.
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

/// Settings of [`by_bic`].
#[derive(Debug, Clone)]
pub struct BicSearch {
    pub(super) seed: u64,
    pub(super) smoothing: Smoothing,
    effort: Effort,
    hidden_states: Option<usize>,
    trees: Vec<Tree>,
    models: Vec<LatentTree>,
    tests_follow: bool,
}

impl BicSearch {
    /// The default search.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            smoothing: Smoothing::default(),
            effort: Effort::Normal,
            hidden_states: None,
            trees: Vec::new(),
            models: Vec::new(),
            tests_follow: false,
        }
    }

    /// Sets the smoothing of EM.
    #[must_use]
    pub fn smoothing(mut self, smoothing: Smoothing) -> Self {
        self.smoothing = smoothing;
        self
    }

    /// Sets how much work is done.
    #[must_use]
    pub fn effort(mut self, effort: Effort) -> Self {
        self.effort = effort;
        self
    }

    /// Fixes the number of states of every hidden node, and searches only trees.
    #[must_use]
    pub fn hidden_states(mut self, hidden_states: Option<usize>) -> Self {
        self.hidden_states = hidden_states;
        self
    }

    /// Also starts from these models.
    #[must_use]
    pub fn models(mut self, models: Vec<LatentTree>) -> Self {
        self.models = models;
        self
    }

    /// Includes subsequent tests of splits in the progress, so that the search ends below the total.
    #[must_use]
    pub fn tests_follow(mut self, tests_follow: bool) -> Self {
        self.tests_follow = tests_follow;
        self
    }

    /// Also starts from these trees.
    #[must_use]
    pub fn trees(mut self, trees: Vec<Tree>) -> Self {
        self.trees = trees;
        self
    }
}

/// Maximum number of rows to which whole models are fitted during the search.
const MOST_FITTED: usize = 100_000;
/// Size ([`Columns::size`]) above which few starts are climbed, with few sweeps.
const LARGE: f64 = 3e6;
/// Number of variables above which the same applies.
const WIDE: usize = 400;
/// Maximum number of starts that are climbed, taking the best, unless the table is small.
const MAX_CLIMBED: usize = 6;
/// Size below which a table is small.
const SMALL: f64 = 1e5;
const VERY_LARGE: f64 = 2e7;

/// The model with the best BIC that the search finds; see the module documentation. For discrete columns, the Chow–Liu tree
/// is one of the starts, so the climb never ends below it.
///
/// # Errors
/// [`Error::Option`] for fewer than three variables, any error from EM, and [`Error::Cancelled`].
pub fn by_bic(data: &dyn Rows, moments: &PairMoments, search: &BicSearch, observer: &dyn Observer) -> Result<LatentTree> {
    let n_variables = data.schema().variables().len();
    if n_variables < 3 {
        return Err(Error::option("selection.criterion", "a search for hidden variables needs three variables or more"));
    }
    let merged = Merged::of(data)?;
    let (weight, n_rows) = (moments.total_weight(), merged.n_rows_hint().unwrap_or(moments.n_rows()) as usize);
    let fewer = if n_rows > MOST_FITTED { Some(every(&merged, n_rows.div_ceil(MOST_FITTED), observer)?) } else { None };
    let fitted: &dyn Rows = fewer.as_ref().map_or(&merged, |it| it);
    let sparse = fitted.dataset().and_then(Dataset::listed);
    let journal: Option<&Journal> = data.journal();
    let fitted = JournaledRows::new(sparse.as_ref().map_or(fitted, |it| it), journal);
    let mut bench = Bench::new(&fitted, weight, search, observer)?;
    let size = bench.columns.size();
    let beginnings = beginnings(search, size, n_variables);
    let (kept, first_sweeps, sweeps) = match search.effort {
        _ if size > VERY_LARGE => (1, 1, 1),
        _ if n_variables > WIDE => (1, 1, if search.effort == Effort::Thorough { 40 } else { 10 }),
        // A single sweep does not show which start will end best.
        _ if size > LARGE => (3, 1, if search.effort == Effort::Thorough { 40 } else { 10 }),
        Effort::Thorough => (8, 2, 40),
        _ if size < SMALL => (8, 2, 25),
        _ => (2, 1, 25),
    };
    let climbed = if size >= SMALL && search.effort != Effort::Thorough { MAX_CLIMBED } else { usize::MAX };
    let plan = Plan {
        starts: beginnings.len(),
        climbed: beginnings.len().min(climbed),
        first_sweeps,
        kept,
        further_sweeps: if kept > 1 { 3 } else { 0 },
        tests: search.tests_follow,
    };
    bench.steps.begin(plan);
    let mut found: Vec<(usize, Found)> = Vec::new();
    for (at, &beginning) in beginnings.iter().enumerate() {
        if observer.stop_early() && !found.is_empty() {
            break;
        }
        bench.steps.start(at);
        found.extend(bench.begin(beginning, moments, search)?.map(|begun| (at, begun)));
        if !found.is_empty() {
            observer.model_found();
        }
    }
    let by_bic = |a: &(usize, Found), b: &(usize, Found)| b.1.bic.total_cmp(&a.1.bic).then(a.0.cmp(&b.0));
    found.sort_by(by_bic);
    found.truncate(climbed);
    // Starts are independent. Those of large tables run one at a time, because each has its own messages.
    let climb_all = |found: Vec<(usize, Found)>, sweeps: usize, salt: u64, step: &(dyn Fn(usize) + Sync)| -> Result<_> {
        let climb = |(ix, (at, begun)): (usize, (usize, Found))| {
            step(ix);
            Ok((at, bench.climb(begun, sweeps, search.seed.wrapping_add(salt + at as u64 * 31), false)?))
        };
        let mut found: Vec<(usize, Found)> = if size > LARGE {
            found.into_iter().enumerate().map(climb).collect::<Result<_>>()?
        } else {
            found.into_par_iter().enumerate().map(climb).collect::<Result<_>>()?
        };
        found.sort_by(by_bic);
        Ok(found)
    };
    let n_climbed = found.len();
    found = climb_all(found, first_sweeps, 0, &|ix| bench.steps.climb(ix, n_climbed))?;
    // On large tables, the Chow–Liu tree leads early and is overtaken late, so it does not take the place of another start.
    let is_spanning = |it: &(usize, Found)| matches!(beginnings[it.0], Beginning::Spanning);
    let kept = kept + usize::from(size > LARGE && found.iter().take(kept).any(is_spanning));
    found.truncate(kept);
    found = climb_all(found, plan.further_sweeps, 500, &|ix| bench.steps.climb_further(ix))?;
    if size < SMALL {
        // All finalists of a small table climb to the end: the best after a few sweeps often is not the best in the end.
        found = climb_all(found, sweeps, 900, &|ix| bench.steps.climb_further(ix))?;
    }
    let Some((_, best)) = found.into_iter().next() else {
        return starts::forest(&[], &bench.columns, search.smoothing.pseudo_count).model(bench.rows.schema(), &bench.columns);
    };
    bench.steps.climb_last();
    let best = bench.climb(best, sweeps, search.seed.wrapping_add(77), true)?;
    let best = bench.kicked(best, search, size)?;
    let best = bench.with_joins(best, search.seed.wrapping_add(79))?;
    let best = if observer.stop_early() { best } else { bench.fit(&best.model, 200, 1e-8)?.unwrap_or(best) };
    let best = bench.with_cuts(best)?;
    // The rows may not justify any dependence.
    let alone = starts::forest(&[], &bench.columns, search.smoothing.pseudo_count).model(bench.rows.schema(), &bench.columns)?;
    let model = match bench.fit(&alone, 2, 1e-7)? {
        Some(alone) if alone.bic > best.bic => alone.model,
        _ => best.model,
    };
    if fewer.is_some() && !observer.stop_early() {
        let em = Em::new().merge(false).smoothing(search.smoothing).iterations(30).tolerance(1e-7);
        return Ok(em.fit(&model, &JournaledRows::new(&merged, journal), &Quiet(observer))?.model);
    }
    Ok(model)
}

/// The tree of levels: islands of variables explained by one hidden variable, according to a test of one against two on
/// tables of four variables; a latent class for each island, whose states are the variables of the next level; and a spanning
/// tree that joins the highest level. It reads like a hierarchy.
///
/// # Errors
/// [`Error::Data`] if the columns have too many labels in total, any error from reading the rows, and [`Error::Cancelled`].
pub fn levels(rows: &dyn Rows, weight: f64, search: &BicSearch, observer: &dyn Observer) -> Result<Tree> {
    observer.stage("levels", None);
    let merged = Merged::of(rows)?;
    let bench = Bench::new(&merged, weight, search, observer)?;
    let is_apart = rows.schema().variables().len() <= starts::MOST_APART;
    let net = starts::levels(&bench.columns, &bench.judge(), search.seed.wrapping_mul(41), is_apart).ok_or_else(|| {
        let problem = format!("levels compares all pairs of labels, at most {} of them; use another learner", starts::WIDEST);
        Error::data(Place::default(), problem)
    })?;
    // A part of a forest may be a pair, whose hidden variable cannot be identified.
    Ok(net.tree(rows.schema())?.minimal())
}

/// A model on a fixed tree, with the numbers of states of the best BIC found; `None` if the tree has observed inner nodes.
pub(super) fn states_on_tree(
    model: &LatentTree,
    data: &dyn Rows,
    weight: f64,
    search: &BicSearch,
    observer: &dyn Observer,
) -> Result<Option<LatentTree>> {
    climbed(model, data, weight, search, true, observer)
}

/// The model with the best BIC found by a search from this model alone; `None` if it does not have the form of a search
/// model.
///
/// # Errors
/// The same as for [`by_bic`].
pub fn improved(
    model: &LatentTree,
    data: &dyn Rows,
    weight: f64,
    search: &BicSearch,
    observer: &dyn Observer,
) -> Result<Option<LatentTree>> {
    climbed(model, data, weight, search, false, observer)
}

fn climbed(
    model: &LatentTree,
    data: &dyn Rows,
    weight: f64,
    search: &BicSearch,
    keep_tree: bool,
    observer: &dyn Observer,
) -> Result<Option<LatentTree>> {
    let merged = Merged::of(data)?;
    let mut bench = Bench::new(&merged, weight, search, observer)?;
    bench.keep_tree = keep_tree;
    let Some(begun) = bench.fit(model, 30, 1e-7)? else { return Ok(None) };
    observer.model_found();
    let best = bench.climb(begun, 25, search.seed, !keep_tree)?;
    let best = bench.with_joins(best, search.seed)?;
    if observer.stop_early() {
        return Ok(Some(best.model));
    }
    let best = bench.fit(&best.model, 300, 1e-8)?.unwrap_or(best);
    Ok(Some(if keep_tree { best } else { bench.with_cuts(best)? }.model))
}

/// Every `step`-th row, reweighted to the total weight.
fn every(rows: &dyn Rows, step: usize, observer: &dyn Observer) -> Result<Dataset> {
    let (mut all, mut seen, mut at) = (0.0, 0.0, 0_usize);
    let mut batches: Vec<Batch> = Vec::new();
    let mut source = rows.open()?;
    while let Some(batch) = source.next_batch()? {
        if observer.cancelled() {
            return Err(Error::Cancelled);
        }
        let taken: Vec<usize> = (0..batch.n_rows).filter(|row| (at + row).is_multiple_of(step)).collect();
        at += batch.n_rows;
        all += (0..batch.n_rows).map(|row| batch.weight(row)).sum::<f64>();
        let weights: Vec<f64> = taken.iter().map(|&row| batch.weight(row)).collect();
        seen += weights.iter().sum::<f64>();
        let chosen = crate::data::select::select_rows(&batch, &taken, 0);
        batches.push(Batch { weights: Some(weights), ..chosen });
    }
    let factor = if seen > 0.0 { all / seen } else { 1.0 };
    batches.iter_mut().filter_map(|batch| batch.weights.as_mut()).flatten().for_each(|weight| *weight *= factor);
    Ok(Dataset::new(Arc::clone(rows.schema()), batches))
}
