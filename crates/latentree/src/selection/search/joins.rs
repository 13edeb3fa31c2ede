//! Joins: separate trees are joined at two observed variables where an edge gains more than it costs.
//!
//! Sweeps move variables to nodes of the net and join hidden nodes, so they never see an edge to a variable that is a leaf.
//! Such an edge between trees multiplies the probability of a row by `P(x, y) / (P(x) P(y))`, whatever the rest of both trees
//! says. Its gain is therefore known without a fit: `N I(x; y)` over the rows that have both values, for numbers the gain of a
//! mean and a variance for each label. It is made if it gains more than its parameters cost in BIC and `ln(a·b)` nats, where
//! `a` and `b` are the numbers of nodes of the trees, as for an edge that is kept by [`cuts`](super::cuts). A variable that
//! stands alone is compared with all others, so for small trees that is at least the logarithm of the number of variables.

use rayon::prelude::*;

use super::leaves::{counts, masses, parameters, score};
use super::moves::MOST_LABELS;
use super::{Bench, Found};
use crate::Result;
use crate::patch::{ALONE, Column, Columns, INNER, Net, Soft};

/// Maximum number of rounds of joins; after each, the model is refitted.
const ROUNDS: usize = 3;
/// Maximum number of cells that are looked at.
const MOST_WORK: usize = 2_000_000_000;
/// Sweeps after a join, which may open new places.
const SWEEPS: usize = 4;

/// An edge from a variable to one of another tree, which becomes its child.
struct Join {
    above: usize,
    below: usize,
    /// The gain beyond the cost of parameters and of the place.
    gain: f64,
    /// Weights of the labels of the variable below by label of the one above, or of its sums.
    counts: Vec<f64>,
}

/// The tree of each variable, and the number of nodes of each tree.
struct Trees {
    of_variable: Vec<usize>,
    n_nodes: Vec<usize>,
}

impl Trees {
    fn of(net: &Net) -> Self {
        let (n_inner, n_variables) = (net.n_hidden(), net.leaf_of.len());
        let mut of_node: Vec<usize> = (0..n_inner).collect();
        for node in net.order() {
            of_node[node] = net.parent[node].map_or(node, |parent| of_node[parent]);
        }
        let mut trees = Self { of_variable: Vec::with_capacity(n_variables), n_nodes: vec![0; n_inner + n_variables] };
        of_node.iter().for_each(|&tree| trees.n_nodes[tree] += 1);
        for (variable, &at) in net.leaf_of.iter().enumerate() {
            let tree = if at < INNER { of_node[at] } else { n_inner + variable };
            trees.n_nodes[tree] += usize::from(at != INNER);
            trees.of_variable.push(tree);
        }
        for (node, observed) in net.observed.iter().enumerate() {
            if let Some(variable) = *observed {
                trees.of_variable[variable] = of_node[node];
            }
        }
        trees
    }

    fn n_around(&self, variable: usize) -> usize {
        self.n_nodes[self.of_variable[variable]]
    }
}

impl Bench<'_> {
    /// Joins separate trees where an edge between two variables is worth it, and climbs on from there.
    pub(super) fn with_joins(&self, mut best: Found, seed: u64) -> Result<Found> {
        let before = best.bic;
        for _ in 0..ROUNDS {
            if self.keep_tree || self.observer.stop_early() {
                break;
            }
            let mut joins = self.joins(&best.net);
            let unjoined = best.bic;
            while !joins.is_empty() {
                let mut net = best.net.clone();
                joins.iter().for_each(|it| self.join(&mut net, it));
                net.prune(&self.columns);
                match self.fit_net(&net, 30, 1e-7)? {
                    Some(found) if found.bic > best.bic => {
                        best = found;
                        break;
                    }
                    _ => joins.truncate(joins.len() / 2),
                }
            }
            if best.bic == unjoined {
                break;
            }
        }
        if best.bic > before { self.climb(best, SWEEPS, seed, true) } else { Ok(best) }
    }

    /// Edges that are worth it and do not close a circle, best first.
    fn joins(&self, net: &Net) -> Vec<Join> {
        let trees = Trees::of(net);
        let pairs = self.pairs(net, &trees);
        let width = |variable: usize| self.columns.columns[self.columns.of_variable[variable][0]].width();
        let work = |(above, below): &(usize, Vec<usize>)| width(*above) * self.columns.n_rows * (1 + below.len());
        if pairs.iter().map(work).sum::<usize>() > MOST_WORK {
            return Vec::new();
        }
        let mut found: Vec<Join> =
            pairs.into_par_iter().flat_map_iter(|(above, below)| self.joins_below(above, &below, &trees)).collect();
        found.sort_by(|a, b| b.gain.total_cmp(&a.gain).then((a.above, a.below).cmp(&(b.above, b.below))));
        let mut tree_of = trees.of_variable;
        found.retain(|it| {
            let (from, to) = (tree_of[it.below], tree_of[it.above]);
            tree_of.iter_mut().filter(|tree| **tree == from).for_each(|tree| *tree = to);
            from != to
        });
        found
    }

    /// For each variable, those of other trees that may become its children. Of two variables with labels, the one of the
    /// smaller tree is below.
    fn pairs(&self, net: &Net, trees: &Trees) -> Vec<(usize, Vec<usize>)> {
        let columns = &self.columns;
        let column = |variable: usize| &columns.columns[columns.of_variable[variable][0]];
        let is_single = |variable: usize| !columns.is_group[variable] && !self.constant[variable];
        let has_labels = |variable: usize| {
            is_single(variable) && column(variable).is_discrete() && (2..=MOST_LABELS).contains(&column(variable).width())
        };
        let is_lone_number =
            |variable: usize| is_single(variable) && !column(variable).is_discrete() && net.leaf_of[variable] == ALONE;
        let n_variables = net.leaf_of.len();
        let is_below = |above: usize, below: usize| {
            let order = |variable: usize| (trees.n_around(variable), std::cmp::Reverse(variable));
            let is_for = is_lone_number(below) || (has_labels(below) && order(below) < order(above));
            is_for && trees.of_variable[above] != trees.of_variable[below]
        };
        (0..n_variables)
            .filter(|&above| has_labels(above))
            .map(|above| (above, (0..n_variables).filter(|&below| is_below(above, below)).collect()))
            .collect()
    }

    fn joins_below(&self, above: usize, below: &[usize], trees: &Trees) -> Vec<Join> {
        let columns = &self.columns;
        let Some(labels) = indicators(above, columns).filter(|_| !below.is_empty()) else { return Vec::new() };
        let masses = masses(&labels, columns);
        let joined = |&below: &usize| {
            let column = &columns.columns[columns.of_variable[below][0]];
            let counts = counts(column, &labels, columns, &masses);
            let width = counts.len() / labels.n_states;
            let alone: Vec<f64> = (0..width).map(|at| counts.iter().skip(at).step_by(width).sum()).collect();
            let cost = self.cost() * ((labels.n_states - 1) * column.n_free()) as f64;
            let n_places = (trees.n_around(above) * trees.n_around(below)).max(trees.of_variable.len());
            let gain = score(column, &counts) - score(column, &alone) - cost - (n_places as f64).ln();
            (gain > 0.0).then_some(Join { above, below, gain, counts })
        };
        below.iter().filter_map(joined).collect()
    }

    fn join(&self, net: &mut Net, join: &Join) {
        let above = self.made_node(net, join.above);
        let column = self.columns.of_variable[join.below][0];
        let values = parameters(&self.columns.columns[column], &join.counts, self.smoothing.pseudo_count.max(1e-6));
        if net.leaf_of[join.below] == ALONE {
            net.leaf_of[join.below] = above;
            net.values[column] = values;
        } else {
            let below = self.made_node(net, join.below);
            net.reroot(below);
            net.parent[below] = Some(above);
            net.table[below] = values;
        }
    }

    /// The node of the net that represents a variable, which is made of a leaf if necessary.
    fn made_node(&self, net: &mut Net, variable: usize) -> usize {
        if let Some(node) = net.observed.iter().position(|it| *it == Some(variable)) {
            return node;
        }
        let column = self.columns.of_variable[variable][0];
        let home = std::mem::replace(&mut net.leaf_of[variable], INNER);
        net.states.push(self.columns.columns[column].width());
        net.parent.push((home < INNER).then_some(home));
        net.table.push(std::mem::take(&mut net.values[column]));
        net.observed.push(Some(variable));
        net.n_hidden() - 1
    }
}

/// The labels of a variable as a posterior; rows without a label have none.
fn indicators(variable: usize, columns: &Columns) -> Option<Soft> {
    let Column::Labels { n_codes, usual, listed } = &columns.columns[columns.of_variable[variable][0]] else { return None };
    let n_rows = columns.n_rows;
    let mut values = vec![0.0; n_codes * n_rows];
    values[usual * n_rows..][..n_rows].fill(1.0);
    for (row, code) in listed.cells() {
        values[usual * n_rows + row] = 0.0;
        if code < *n_codes {
            values[code * n_rows + row] = 1.0;
        }
    }
    Some(Soft { n_states: *n_codes, values })
}
