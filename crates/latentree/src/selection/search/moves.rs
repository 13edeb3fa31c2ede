//! Moves around one hidden node or one edge, each scored on its own patch: one state more or less, a node split in two, two
//! nodes merged.
//!
//! The gain of a move is its gain in BIC: the increase of the patch's log-likelihood by EM on its own tables, minus ½ ln N
//! for each additional parameter.

use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;
use rayon::prelude::*;

use super::residual::Residuals;
use crate::information;
use crate::patch::{Branch, CHUNK, Columns, Context, Floors, Leaf, Local, Node, Patch, Soft, Source, through_leaf};

/// A local change and its gain.
#[derive(Debug, Clone)]
pub(super) struct Move {
    pub(super) gain: f64,
    pub(super) local: Local,
    /// Whether a node of the net changes its number of states or disappears.
    pub(super) resizes: bool,
}

/// The data and settings for scoring moves.
#[derive(Debug, Clone, Copy)]
pub(super) struct Judge<'a> {
    pub(super) columns: &'a Columns,
    pub(super) floors: Floors,
    /// Cost of a parameter: ½ ln N.
    pub(super) cost: f64,
    /// Number of EM steps per trial.
    pub(super) steps: usize,
    /// Fixed number of states, if any.
    pub(super) fixed_states: Option<usize>,
    pub(super) most_states: usize,
    /// Whether only numbers of states may change.
    pub(super) keep_tree: bool,
}

/// Minimum gain of a change.
const LEAST_GAIN: f64 = 0.5;

impl Judge<'_> {
    fn climb(&self, patch: &mut Patch, steps: usize) -> f64 {
        patch.climb(self.columns, &self.floors, steps, 0.05)
    }

    /// BIC of a patch after EM.
    pub(super) fn bic(&self, patch: &mut Patch, steps: usize) -> f64 {
        self.climb(patch, steps) - self.penalty(patch)
    }

    fn penalty(&self, patch: &Patch) -> f64 {
        self.cost * patch.n_free(self.columns) as f64
    }
}

/// The fit of a star to each row.
struct Rows {
    /// By row.
    ln_likelihood: Vec<f64>,
    /// By state and row.
    posterior: Vec<f32>,
}

fn rows(patch: &Patch, columns: &Columns) -> Rows {
    let (n_rows, k) = (columns.n_rows, patch.nodes[0].n_states);
    let mut rows = Rows { ln_likelihood: vec![0.0; n_rows], posterior: vec![0.0; k * n_rows] };
    let mut work = patch.work();
    patch.expect(columns, &mut work, |chunk, work| {
        let first = chunk * CHUNK;
        for row in 0..(n_rows - first).min(CHUNK) {
            rows.ln_likelihood[first + row] = work.ln_likelihood(row);
            for state in 0..k {
                rows.posterior[state * n_rows + first + row] =
                    (work.beliefs[0][state * CHUNK + row] / columns.weights[first + row]) as f32;
            }
        }
    });
    rows
}

/// The moves around a hidden node that gain: the best change of its states, and second nodes for disjoint groups of its
/// branches.
pub(super) fn around(context: &Context<'_>, hidden: usize, judge: &Judge<'_>, seed: u64) -> Vec<Move> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut star = context.star(hidden);
    let base = judge.climb(&mut star.patch, 3);
    let mut moves: Vec<Move> = Vec::new();
    let k = star.patch.nodes[0].n_states;
    let residuals = Residuals::new(&star, judge.columns);
    let is_observed = context.net.observed[hidden].is_some();
    if !is_observed && !judge.keep_tree {
        moves.extend(observing(&star, base, judge));
    }
    if judge.fixed_states.is_none() && !is_observed {
        let mut best: Option<Move> = None;
        let mut consider = |found: Option<Move>| {
            if let Some(found) = found.filter(|it| it.gain > best.as_ref().map_or(LEAST_GAIN, |best| best.gain)) {
                best = Some(found);
            }
        };
        if k < judge.most_states {
            let rows = rows(&star.patch, judge.columns);
            let weights = &star.patch.nodes[0].table;
            let mut order: Vec<usize> = (0..k).collect();
            order.sort_by(|&a, &b| weights[b].total_cmp(&weights[a]).then(a.cmp(&b)));
            order.truncate(MOST_SPLIT);
            let worst = residuals.worst_pair().map(|(a, b)| [a, b]);
            let tries: Vec<(usize, Option<[usize; 2]>, u64)> = order
                .into_iter()
                .flat_map(|state| [(state, None), (state, worst)])
                .filter(|(_, lean)| lean.is_some() || worst.is_none() || k <= 4)
                .map(|(state, lean)| (state, lean, rng.random()))
                .collect();
            consider(with_splits(&star, &tries, &rows, base, judge));
        }
        if k > 2 {
            let weights = &star.patch.nodes[0].table;
            let lightest = (0..k).min_by(|&a, &b| weights[a].total_cmp(&weights[b]).then(a.cmp(&b))).unwrap_or(0);
            consider(shrunk(without_state(&star, lightest), &star, base, judge));
            if let Some((a, b)) = closest_states(&star.patch) {
                consider(shrunk(with_joined_states(&star, a, b), &star, base, judge));
            }
        }
        if best.as_ref().is_some_and(|best| moves.iter().all(|other| other.gain < best.gain)) {
            moves.clear();
        }
        moves.extend(best);
    }
    let mut twins: Vec<Move> = Vec::new();
    let groups = if judge.keep_tree { Vec::new() } else { residuals.groups(if is_observed { 0 } else { 2 }) };
    for group in groups {
        let n_states = judge.fixed_states.unwrap_or(2);
        let Some(mut local) = twin(&star, &group, n_states, is_observed, &residuals, judge.columns) else { continue };
        let mut old = without_group(&local, &star, &group);
        let before = judge.climb(&mut old, 2);
        let gain = judge.climb(&mut local.patch, judge.steps) - before - judge.penalty(&local.patch) + judge.penalty(&old);
        if gain > LEAST_GAIN {
            twins.push(Move { gain, local, resizes: false });
        }
    }
    twins.sort_by(|a, b| b.gain.total_cmp(&a.gain));
    let mut taken: Vec<Branch> = Vec::new();
    for twin in twins {
        let own: Vec<Branch> = twin.local.branches.iter().map(|it| it.0).collect();
        if own.iter().all(|branch| !taken.contains(branch)) {
            taken.extend(own);
            moves.push(twin);
        }
    }
    moves
}

/// Maximum number of labels of a variable that may replace a hidden node.
pub(super) const MOST_LABELS: usize = 32;

/// Replaces the hidden node of the star by one of its variables: the best of those with the most information about it.
fn observing(star: &Local, base: f64, judge: &Judge<'_>) -> Option<Move> {
    let columns = judge.columns;
    let node = &star.patch.nodes[0];
    let own = |(branch, leaves): &(Branch, std::ops::Range<usize>)| match (branch, &star.patch.leaves[leaves.start].source) {
        (Branch::Variable(variable), Source::Column(column)) if leaves.len() == 1 => {
            let column = &columns.columns[*column];
            // A vector variable with one column has no table of its own.
            let is_for = column.is_discrete() && (2..=MOST_LABELS).contains(&column.width()) && !columns.is_group[*variable];
            is_for.then_some((*variable, leaves.start))
        }
        _ => None,
    };
    let mut candidates: Vec<(f64, usize, usize)> = star
        .branches
        .iter()
        .filter_map(own)
        .map(|(variable, leaf)| {
            let values = &star.patch.leaves[leaf].values;
            (information::of_table(&node.table, values, values.len() / node.n_states), variable, leaf)
        })
        .collect();
    candidates.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut best: Option<Move> = None;
    for &(_, variable, leaf) in candidates.iter().take(2) {
        let values = &star.patch.leaves[leaf].values;
        let n_labels = values.len() / node.n_states;
        let (shares, states) = crate::patch::turned(&node.table, values, n_labels);
        let mut local = star.clone();
        local.patch.nodes[0] = Node { n_states: n_labels, parent: None, table: shares };
        local.observes = Some(variable);
        local.branches.retain(|(branch, _)| *branch != Branch::Variable(variable));
        for (at, other) in local.patch.leaves.iter_mut().enumerate() {
            if at == leaf {
                *other = crate::patch::identity(0, variable, columns);
            } else {
                other.values = through_leaf(&states, &other.values, node.n_states, &other.source, columns);
            }
        }
        let gain =
            judge.climb(&mut local.patch, judge.steps / 2) - base - judge.penalty(&local.patch) + judge.penalty(&star.patch);
        if gain > best.as_ref().map_or(LEAST_GAIN, |best| best.gain) {
            best = Some(Move { gain, local, resizes: true });
        }
    }
    best
}

/// The best move across the edge from a hidden node to its parent: merging the two, or moving a branch of the node to the
/// parent.
pub(super) fn across(context: &Context<'_>, hidden: usize, judge: &Judge<'_>) -> Option<Move> {
    let parent = context.net.parent[hidden].filter(|_| !judge.keep_tree)?;
    let mut pair = context.pair(hidden, parent)?;
    let base = judge.climb(&mut pair.patch, 3) - judge.penalty(&pair.patch);
    let mut best: Option<Move> = None;
    let mut consider = |mut local: Local, resizes: bool| {
        let early = judge.climb(&mut local.patch, 3) - judge.penalty(&local.patch) - base;
        if early < -60.0 {
            return;
        }
        let gain = judge.climb(&mut local.patch, judge.steps / 2) - judge.penalty(&local.patch) - base;
        if gain > best.as_ref().map_or(LEAST_GAIN, |it| it.gain) {
            best = Some(Move { gain, local, resizes });
        }
    };
    if context.net.observed[hidden].is_none() {
        consider(pair.joined(judge.columns), true);
    }
    const MOST_BRANCHES: usize = 12;
    if context.degree(hidden) > if context.net.observed[hidden].is_some() { 1 } else { 3 } {
        for at in 0..pair.branches.len().min(MOST_BRANCHES) {
            consider(pair.with_moved_branch(at, judge.columns), false);
        }
    }
    best
}

/// The best rearrangement of the branches of a hidden node and its parent: one moved either way, or two swapped.
pub(super) fn rearranged(context: &Context<'_>, hidden: usize, judge: &Judge<'_>) -> Option<Move> {
    const MAX_FITTED: usize = 2;
    const HOPELESS: f64 = 20.0;
    let parent = context.net.parent[hidden].filter(|_| !judge.keep_tree)?;
    if [hidden, parent].iter().any(|&end| context.net.observed[end].is_some() || context.degree(end) < 3) {
        return None;
    }
    let mut edge = context.edge(hidden, parent);
    let base = judge.climb(&mut edge.patch, 3) - judge.penalty(&edge.patch);
    let look = |local: &mut Local| judge.climb(&mut local.patch, 3) - judge.penalty(&local.patch);
    let found = edge.rearrangements(judge.columns, look).into_iter().take(MAX_FITTED);
    let moves = found.filter(|(value, _)| *value > base - HOPELESS).map(|(_, mut local)| {
        let gain = judge.climb(&mut local.patch, judge.steps / 2) - judge.penalty(&local.patch) - base;
        Move { gain, local, resizes: false }
    });
    moves.filter(|it| it.gain > LEAST_GAIN).max_by(|a, b| a.gain.total_cmp(&b.gain))
}

/// Maximum number of states for which a split is tried at once.
const MOST_SPLIT: usize = 12;

/// Splits states in two, each fitted while all other states are held fixed. All splits that pay for themselves are combined
/// and fitted for a few steps.
fn with_splits(
    star: &Local,
    tries: &[(usize, Option<[usize; 2]>, u64)],
    rows: &Rows,
    base: f64,
    judge: &Judge<'_>,
) -> Option<Move> {
    let columns = judge.columns;
    let k = star.patch.nodes[0].n_states;
    let needed = judge.cost * (star.patch.n_free(columns) / k + 1) as f64;
    let split = |&(state, lean, seed): &(usize, Option<[usize; 2]>, u64)| {
        let mut two = split_alone(star, state, lean, rows, columns, &mut ChaCha8Rng::seed_from_u64(seed));
        // The gain of the two states alone must come close to their cost.
        let gain = judge.climb(&mut two, judge.steps) - base;
        (gain > 0.7 * needed).then_some((gain, state, two))
    };
    let mut found: Vec<(f64, usize, Patch)> = tries.par_iter().filter_map(split).collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut taken: Vec<usize> = Vec::new();
    found.retain(|(gain, state, _)| {
        let is_new = !taken.contains(state) && (taken.is_empty() || *gain > 1.3 * needed);
        if is_new {
            taken.push(*state);
        }
        is_new
    });
    found.truncate(judge.most_states - k);
    if found.is_empty() {
        return None;
    }
    let mut local = star.clone();
    for (_, state, two) in &found {
        let n = local.patch.nodes[0].n_states;
        for (leaf, two) in local.patch.leaves.iter_mut().zip(&two.leaves) {
            let width = leaf.values.len() / n;
            leaf.values[state * width..][..width].copy_from_slice(&two.values[..width]);
            leaf.values.extend_from_slice(&two.values[width..]);
        }
        let node = &mut local.patch.nodes[0];
        node.table[*state] = two.nodes[0].table[0];
        node.table.push(two.nodes[0].table[1]);
        node.n_states += 1;
    }
    let gain = judge.climb(&mut local.patch, 4) - base - judge.penalty(&local.patch) + judge.penalty(&star.patch);
    Some(Move { gain, local, resizes: true })
}

/// The two states into which a state is split, alone, with the others as a background.
fn split_alone(
    star: &Local,
    state: usize,
    lean: Option<[usize; 2]>,
    rows: &Rows,
    columns: &Columns,
    rng: &mut ChaCha8Rng,
) -> Patch {
    let (k, n_rows) = (star.patch.nodes[0].n_states, columns.n_rows);
    let prior = star.patch.nodes[0].table[state];
    let mut two = split_state(star, state, columns, lean, rng).patch;
    two.nodes[0].n_states = 2;
    two.nodes[0].table = vec![0.5 * prior; 2];
    for leaf in &mut two.leaves {
        let width = leaf.values.len() / (k + 1);
        let rows = [state, k].into_iter().flat_map(|at| leaf.values[at * width..][..width].to_vec());
        leaf.values = rows.collect();
    }
    if k > 1 {
        let own = &rows.posterior[state * n_rows..][..n_rows];
        let others = rows.ln_likelihood.iter().zip(own).map(|(ln, own)| ln + f64::from((1.0 - own).max(1e-12)).ln());
        two.background = Some((Arc::new(others.collect()), 1.0 - prior));
    }
    two
}

/// Splits states of a star, one after another, as long as BIC rises.
pub(super) fn grown(star: Patch, judge: &Judge<'_>, seed: u64) -> Patch {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let branches = (0..star.leaves.len()).map(|leaf| (Branch::Variable(leaf), leaf..leaf + 1)).collect();
    let mut local = Local { patch: star, nodes: vec![None], branches, removed: Vec::new(), observes: None };
    while local.patch.nodes[0].n_states < judge.most_states {
        let base = judge.climb(&mut local.patch, 6);
        let known = rows(&local.patch, judge.columns);
        let tries: Vec<_> = (0..local.patch.nodes[0].n_states).map(|state| (state, None, rng.random())).collect();
        match with_splits(&local, &tries, &known, base, judge) {
            Some(best) if best.gain > LEAST_GAIN => local.patch = best.local.patch,
            _ => break,
        }
    }
    judge.climb(&mut local.patch, 2 * judge.steps);
    local.patch
}

/// A star with one state less, fitted further if it may gain.
fn shrunk(mut local: Local, star: &Local, base: f64, judge: &Judge<'_>) -> Option<Move> {
    let saved = judge.penalty(&star.patch) - judge.penalty(&local.patch);
    let early = judge.climb(&mut local.patch, 3) - base + saved;
    if early < -0.5 * saved {
        return None;
    }
    let gain = judge.climb(&mut local.patch, judge.steps / 2) - base + saved;
    Some(Move { gain, local, resizes: true })
}

/// Splits a state in two that are tilted apart: at random, or so that two branches leave their most common values together.
fn split_state(star: &Local, state: usize, columns: &Columns, lean: Option<[usize; 2]>, rng: &mut ChaCha8Rng) -> Local {
    let mut local = star.clone();
    let node = &mut local.patch.nodes[0];
    let half = node.table[state] * 0.5;
    node.table[state] = half;
    node.table.push(half);
    node.n_states += 1;
    for (at, (_, leaves)) in star.branches.iter().enumerate() {
        let strong = lean.is_some_and(|pair| pair.contains(&at));
        for leaf in &mut local.patch.leaves[leaves.clone()] {
            let width = leaf.values.len() / (node.n_states - 1);
            let own = leaf.values[state * width..][..width].to_vec();
            let (mut one, mut other) = (own.clone(), own.clone());
            match &leaf.source {
                Source::Column(column) if !columns.columns[*column].is_discrete() => {
                    let apart: f64 = if strong { 0.8 } else { 0.4 * rng.sample::<f64, _>(StandardNormal) };
                    if width == 2 {
                        one[0] -= apart * own[1].sqrt();
                        other[0] += apart * own[1].sqrt();
                    } else {
                        one[0] *= (-0.6 * apart).exp();
                        other[0] *= (0.6 * apart).exp();
                    }
                }
                _ => {
                    let mode = (0..width).max_by(|&a, &b| own[a].total_cmp(&own[b]).then(b.cmp(&a))).unwrap_or(0);
                    for cell in 0..width {
                        let tilt: f64 = match (strong, cell == mode) {
                            (true, true) => -0.8,
                            (true, false) => 0.8,
                            _ if lean.is_some() => 0.15 * rng.sample::<f64, _>(StandardNormal),
                            _ => 0.5 * rng.sample::<f64, _>(StandardNormal),
                        };
                        one[cell] *= (-tilt).exp();
                        other[cell] *= tilt.exp();
                    }
                    for row in [&mut one, &mut other] {
                        let total: f64 = row.iter().sum();
                        row.iter_mut().for_each(|cell| *cell /= total);
                    }
                }
            }
            leaf.values[state * width..][..width].copy_from_slice(&one);
            leaf.values.extend(other);
        }
    }
    local
}

/// The star without one of its states.
pub(super) fn without_state(star: &Local, state: usize) -> Local {
    let mut local = star.clone();
    let node = &mut local.patch.nodes[0];
    let k = node.n_states;
    node.table.remove(state);
    let total: f64 = node.table.iter().sum();
    node.table.iter_mut().for_each(|cell| *cell /= total);
    node.n_states -= 1;
    for leaf in &mut local.patch.leaves {
        let width = leaf.values.len() / k;
        leaf.values.drain(state * width..(state + 1) * width);
    }
    local
}

fn with_joined_states(star: &Local, a: usize, b: usize) -> Local {
    let mut local = star.clone();
    let k = local.patch.nodes[0].n_states;
    let table = &mut local.patch.nodes[0].table;
    let share = table[a] / (table[a] + table[b]).max(1e-300);
    table[a] += table[b];
    for leaf in &mut local.patch.leaves {
        let width = leaf.values.len() / k;
        for cell in 0..width {
            leaf.values[a * width + cell] = share * leaf.values[a * width + cell] + (1.0 - share) * leaf.values[b * width + cell];
        }
    }
    without_state(&local, b)
}

/// The two states with the most similar distributions of the discrete leaves.
fn closest_states(patch: &Patch) -> Option<(usize, usize)> {
    let k = patch.nodes[0].n_states;
    let weights = &patch.nodes[0].table;
    let apart = |a: usize, b: usize| -> f64 {
        let of_leaf = |values: &[f64]| {
            let width = values.len() / k;
            let (x, y) = (&values[a * width..][..width], &values[b * width..][..width]);
            x.iter().zip(y).map(|(x, y)| (x.abs().sqrt() - y.abs().sqrt()).powi(2)).sum::<f64>()
        };
        let lighter = weights[a].min(weights[b]);
        lighter * patch.leaves.iter().map(|leaf| of_leaf(&leaf.values)).sum::<f64>()
    };
    let pairs = (0..k).flat_map(|a| (a + 1..k).map(move |b| (a, b)));
    pairs.min_by(|x, y| apart(x.0, x.1).total_cmp(&apart(y.0, y.1)).then(x.cmp(y)))
}

/// A second node for a group of branches; its classes start from the labels of the group's first branch. All other branches
/// are fixed.
fn twin(
    star: &Local,
    group: &[usize],
    n_states: usize,
    is_observed: bool,
    residuals: &Residuals,
    columns: &Columns,
) -> Option<Local> {
    if group.len() < 2 || star.branches.len() < group.len() + if is_observed { 0 } else { 2 } {
        return None;
    }
    let seed = group[0];
    let above = residuals.classes_given_states(seed, n_states);
    let mut local = Local {
        patch: Patch { nodes: star.patch.nodes.clone(), leaves: Vec::new(), background: None },
        nodes: vec![star.nodes[0], None],
        branches: Vec::new(),
        removed: Vec::new(),
        observes: None,
    };
    local.patch.nodes.push(Node { n_states, parent: Some(0), table: above });
    for &branch in group {
        let (of, leaves) = star.branches[branch].clone();
        let first = local.patch.leaves.len();
        for (offset, leaf) in star.patch.leaves[leaves].iter().enumerate() {
            let values = residuals.given_classes(seed, branch, offset, n_states, leaf, columns);
            local.patch.leaves.push(Leaf { at: 1, source: leaf.source.clone(), values });
        }
        local.branches.push((of, first..local.patch.leaves.len()));
    }
    let own: Vec<usize> = group.iter().flat_map(|&branch| star.branches[branch].1.clone()).collect();
    let others = star.patch.leaves.iter().enumerate().filter(|(at, _)| !own.contains(at));
    let rest =
        Patch { nodes: star.patch.nodes.clone(), leaves: others.map(|(_, leaf)| leaf.clone()).collect(), background: None };
    local.patch.leaves.push(Leaf { at: 0, source: Source::Fixed(Arc::new(evidence(&rest, columns))), values: Vec::new() });
    Some(local)
}

/// The twin without its second node: the group hangs on the star's node as before.
fn without_group(twin: &Local, star: &Local, group: &[usize]) -> Patch {
    let own = group.iter().flat_map(|&branch| star.branches[branch].1.clone()).map(|leaf| star.patch.leaves[leaf].clone());
    let rest = twin.patch.leaves.last().cloned();
    Patch { nodes: star.patch.nodes.clone(), leaves: own.chain(rest).collect(), background: None }
}

/// The evidence of all leaves of a star, given the state of its node, up to a factor for each row.
fn evidence(star: &Patch, columns: &Columns) -> Soft {
    let (n_rows, k) = (columns.n_rows, star.nodes[0].n_states);
    let mut values = vec![0.0; k * n_rows];
    let mut work = star.work();
    star.expect(columns, &mut work, |chunk, work| {
        let first = chunk * CHUNK;
        let n = (n_rows - first).min(CHUNK);
        for state in 0..k {
            let to = &mut values[state * n_rows + first..][..n];
            to.iter_mut().zip(&work.products[0][state * CHUNK..]).for_each(|(to, &from)| *to = from as f32);
        }
    });
    Soft { n_states: k, values }
}
