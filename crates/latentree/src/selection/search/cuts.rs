//! Cuts: an edge between two parts of a tree must gain more than its best possible place would gain by chance.
//!
//! Parts with `a` and `b` nodes can be joined in `a·b` places, and the search takes the best one. For independent
//! parts, the best of `m` places gains up to about `ln m` nats more than a place chosen in advance, so BIC alone would join
//! most large parts at a random place. An edge between parts with hidden nodes is kept if it gains `ln(a·b)` nats more than
//! its parameters cost in BIC: the cost of naming the place, as in the extended BIC of Chen and Chen (2008). Otherwise the
//! parts become separate trees of a forest. Observed variables count as places, because the search also tries edges between
//! them ([`joins`](super::joins)). A part without hidden nodes, that is, variables attached to each other, is left to BIC alone,
//! like a leaf.

use rayon::prelude::*;

use super::{Bench, Found};
use crate::Result;
use crate::patch::{Columns, INNER, Messages, Net};

/// Maximum number of rounds of cuts; after each, the model is refitted and its edges are tested again.
const ROUNDS: usize = 4;

/// An edge that may be cut, identified by its lower node.
struct Weak {
    node: usize,
    /// The additional gain it would need to be kept.
    lack: f64,
    /// `ln(a·b)`.
    allowed: f64,
}

impl Bench<'_> {
    /// Removes the edges that gain no more than expected by chance.
    pub(super) fn with_cuts(&self, mut best: Found) -> Result<Found> {
        for _ in 0..ROUNDS {
            if self.observer.stop_early() || best.net.parent.iter().all(Option::is_none) {
                break;
            }
            let mut weak = self.weak_edges(&best.net);
            let before = best.bic;
            while !weak.is_empty() {
                let mut net = best.net.clone();
                let marginals = net.marginals();
                weak.iter().for_each(|it| cut(&mut net, it.node, &marginals));
                net.prune(&self.columns);
                let allowed: f64 = weak.iter().map(|it| it.allowed).sum();
                match self.fit_net(&net, 30, 1e-7)? {
                    Some(found) if found.bic > best.bic - allowed => {
                        best = found;
                        break;
                    }
                    _ => weak.truncate(weak.len() / 2),
                }
            }
            if best.bic == before {
                break;
            }
        }
        Ok(best)
    }

    /// Edges that do not pay for their parameters and the choice of their place, weakest first.
    fn weak_edges(&self, net: &Net) -> Vec<Weak> {
        let (messages, marginals) = (net.messages(&self.columns), net.marginals());
        let places = Places::of(net);
        let (n_free, n_around) = (net.n_free(&self.columns), n_around(net, &self.columns));
        let judged = |node: usize| {
            let parent = net.parent[node]?;
            let allowed = places.ln_number(node)?;
            let gain = self.gain_of_edge(net, node, &messages, &marginals);
            // An end may disappear as well. Most edges are far from that.
            if gain > allowed + self.cost() * (n_around[node] + n_around[parent]) as f64 {
                return None;
            }
            let mut without = net.clone();
            cut(&mut without, node, &marginals);
            without.prune(&self.columns);
            let saved = self.cost() * (n_free as f64 - without.n_free(&self.columns) as f64);
            let lack = saved + allowed - gain;
            (lack > 0.0).then_some(Weak { node, lack, allowed })
        };
        let mut weak: Vec<Weak> = (0..net.n_hidden()).into_par_iter().filter_map(judged).collect();
        weak.sort_by(|a, b| b.lack.total_cmp(&a.lack).then(a.node.cmp(&b.node)));
        weak
    }

    /// The gain of the edge above a node in log-likelihood over all rows: `Σ ln P(x) / (P(x above) P(x below))`.
    pub(super) fn gain_of_edge(&self, net: &Net, node: usize, messages: &Messages, marginals: &[Vec<f64>]) -> f64 {
        let (Some(parent), Some(above)) = (net.parent[node], &messages.down[node]) else { return 0.0 };
        let (below, n_rows) = (&messages.up[node], self.columns.n_rows);
        let (k, n) = (net.states[parent], net.states[node]);
        let mut gain = 0.0;
        for (row, weight) in self.columns.weights.iter().enumerate() {
            let given = |state: usize| f64::from(below.values[state * n_rows + row]);
            let apart: f64 = (0..n).map(|state| marginals[node][state] * given(state)).sum();
            let (mut together, mut beyond) = (0.0, 0.0);
            for state in 0..k {
                let own = marginals[parent][state] * f64::from(above.values[state * n_rows + row]);
                beyond += own;
                let cells = &net.table[node][state * n..][..n];
                together += own * cells.iter().enumerate().map(|(below, cell)| cell * given(below)).sum::<f64>();
            }
            if together > 0.0 && apart * beyond > 0.0 {
                gain += weight * (together / (apart * beyond)).ln();
            }
        }
        gain
    }
}

/// Makes a node the root of its own tree.
fn cut(net: &mut Net, node: usize, marginals: &[Vec<f64>]) {
    net.parent[node] = None;
    net.table[node].clone_from(&marginals[node]);
}

/// Numbers of hidden nodes and of all nodes: at and below each inner node, and in its tree.
pub(super) struct Places {
    below: Vec<[usize; 2]>,
    in_tree: Vec<[usize; 2]>,
}

impl Places {
    pub(super) fn of(net: &Net) -> Self {
        let leaves = net.leaves();
        let own = |node: usize| [usize::from(net.observed[node].is_none()), 1 + leaves[node].len()];
        let mut below: Vec<[usize; 2]> = (0..net.n_hidden()).map(own).collect();
        let order = net.order();
        for &node in order.iter().rev() {
            if let Some(parent) = net.parent[node] {
                let [hidden, all] = below[node];
                below[parent][0] += hidden;
                below[parent][1] += all;
            }
        }
        let mut in_tree = below.clone();
        for &node in &order {
            if let Some(parent) = net.parent[node] {
                in_tree[node] = in_tree[parent];
            }
        }
        Self { below, in_tree }
    }

    /// The logarithm of the number of places from which the edge above a node was chosen; `None` if one of its parts has no
    /// hidden node.
    pub(super) fn ln_number(&self, node: usize) -> Option<f64> {
        let below = self.below[node];
        let above = [0, 1].map(|kind| self.in_tree[node][kind] - below[kind]);
        let is_join = below[0] > 0 && above[0] > 0;
        is_join.then(|| (below[1] as f64).ln() + (above[1] as f64).ln())
    }
}

/// Approximate number of free parameters in the tables of each node and its neighbours.
fn n_around(net: &Net, columns: &Columns) -> Vec<usize> {
    let mut n_around: Vec<usize> = net.states.clone();
    for (node, parent) in net.parent.iter().enumerate() {
        if let Some(parent) = *parent {
            n_around[node] += net.states[node] * net.states[parent];
            n_around[parent] += net.states[node] * net.states[parent];
        }
    }
    for (variable, &at) in net.leaf_of.iter().enumerate().filter(|it| *it.1 < INNER) {
        n_around[at] +=
            columns.of_variable[variable].iter().map(|&column| net.states[at] * columns.columns[column].n_free()).sum::<usize>();
    }
    n_around
}
