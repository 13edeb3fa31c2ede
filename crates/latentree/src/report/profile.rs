//! What is most informative about a node.
//!
//! Along a path of the tree information only falls (the data processing inequality), so the variables that say most about a node
//! are found by going from it to the most informative neighbour of what was reached so far: the first N observed ones found are
//! the best N of all. On the way only a node's [`MAX_BEYOND`] closest neighbours are looked at, or thousands of leaves of one
//! hub would cost their number squared.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::steps::{Attached, Steps, chain};
use crate::index::NodeIx;
use crate::information;
use crate::model::{LatentTree, Marginal};
use crate::tree::{Link, Tree};

/// Neighbours that are looked at beyond a node that is passed.
const MAX_BEYOND: usize = 200;

/// A variable that says something about a node.
#[derive(Debug, Clone)]
pub(super) struct Found<'a> {
    pub(super) node: usize,
    /// The column, if it is not a discrete node of its own.
    pub(super) attached: Option<&'a Attached>,
    /// Nats.
    pub(super) information: f64,
    /// Distribution of the variable (or, if it is attached, of its parent) given each state of the node.
    pub(super) given: Vec<f64>,
}

struct Reached<'a> {
    key: f64,
    node: usize,
    from: usize,
    attached: Option<&'a Attached>,
    given: Vec<f64>,
}

impl PartialEq for Reached<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Reached<'_> {}
impl PartialOrd for Reached<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Reached<'_> {
    /// More informative first, then the smaller index.
    fn cmp(&self, other: &Self) -> Ordering {
        let column = |it: &Self| it.attached.map_or(0, |attached| attached.column.get() + 1);
        self.key.total_cmp(&other.key).then(other.node.cmp(&self.node)).then(column(other).cmp(&column(self)))
    }
}

/// The observed variables that say most about a discrete node, best first; those beyond `barred`, a neighbour, are left out.
pub(super) fn most_informative<'a>(
    tree: &Tree,
    steps: &'a Steps,
    origin: usize,
    barred: Option<usize>,
    wanted: usize,
) -> Vec<Found<'a>> {
    let prior = &steps.marginals[origin];
    let n_states = prior.len();
    let mut identity = vec![0.0; n_states * n_states];
    (0..n_states).for_each(|state| identity[state * (n_states + 1)] = 1.0);
    let start = Reached { key: f64::INFINITY, node: origin, from: usize::MAX, attached: None, given: identity };
    search(tree, steps, prior, start, (Some(origin), barred), wanted)
}

/// The observed variables that say most about a column that hangs on a discrete node, by what they say about the interval it is in.
pub(super) fn most_informative_of_attached<'a>(
    tree: &Tree,
    steps: &'a Steps,
    parent: usize,
    column: &Attached,
    wanted: usize,
) -> Vec<Found<'a>> {
    let above = &steps.marginals[parent];
    let joint = |outcome: usize, state: usize| above[state] * column.outcomes[state * column.n_outcomes + outcome];
    let prior: Vec<f64> =
        (0..column.n_outcomes).map(|outcome| (0..above.len()).map(|state| joint(outcome, state)).sum()).collect();
    let given: Vec<f64> = (0..column.n_outcomes)
        .flat_map(|outcome| (0..above.len()).map(move |state| (outcome, state)))
        .map(|(outcome, state)| if prior[outcome] > 0.0 { joint(outcome, state) / prior[outcome] } else { above[state] })
        .collect();
    let key = information::of_table(&prior, &given, above.len());
    let start = Reached { key, node: parent, from: usize::MAX, attached: None, given };
    search(tree, steps, &prior, start, (None, Some(column.node)), wanted)
}

/// `origin`, if it is a node, is not found itself; `barred` is a neighbour of where the search starts.
fn search<'a>(
    tree: &Tree,
    steps: &'a Steps,
    prior: &[f64],
    start: Reached<'a>,
    (origin, barred): (Option<usize>, Option<usize>),
    wanted: usize,
) -> Vec<Found<'a>> {
    let first = start.node;
    let mut heap = BinaryHeap::from([start]);
    let mut found = Vec::new();
    while let Some(Reached { key, node, from, attached, given }) = heap.pop() {
        if attached.is_some() {
            found.push(Found { node, attached, information: key, given });
        } else {
            let width = steps.marginals[node].len();
            let most = if Some(node) == origin { usize::MAX } else { MAX_BEYOND };
            let is_barred = |to: usize| node == first && Some(to) == barred;
            for step in steps.steps[node].iter().take(most).filter(|step| step.to != from && !is_barred(step.to)) {
                let beyond = chain(&given, width, &step.table, step.n_states);
                let key = information::of_table(prior, &beyond, step.n_states);
                heap.push(Reached { key, node: step.to, from: node, attached: None, given: beyond });
            }
            for column in steps.attached[node].iter().take(most).filter(|column| !is_barred(column.node)) {
                let outcomes = chain(&given, width, &column.outcomes, column.n_outcomes);
                let key = information::of_table(prior, &outcomes, column.n_outcomes);
                heap.push(Reached { key, node: column.node, from: node, attached: Some(column), given: given.clone() });
            }
            if Some(node) != origin && tree.is_observed(NodeIx::new(node)) {
                found.push(Found { node, attached: None, information: key, given });
            }
        }
        if found.len() >= wanted {
            break;
        }
    }
    found
}

/// Neighbours of every node with the length and the sign of the edge, the nearest first.
pub(super) struct Lengths(Vec<Vec<(usize, f64, f64)>>);

impl Lengths {
    /// `edge` gives the length and the sign of the edge at a node.
    pub(super) fn new(tree: &Tree, edge: impl Fn(NodeIx, &Link) -> (f64, f64)) -> Self {
        let around = tree.node_ixs().map(|node| {
            let links = tree.links(node).iter();
            let mut around: Vec<(usize, f64, f64)> = links
                .map(|link| {
                    let (length, sign) = edge(node, link);
                    (link.to.get(), length.max(0.0), sign)
                })
                .collect();
            around.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
            around
        });
        Self(around.collect())
    }
}

/// The observed nodes that are nearest to a node, nearest first, with their distance and sign; those beyond `barred`, a
/// neighbour, are left out.
///
/// In a Gaussian tree `−ln |ρ|` adds up and signs multiply; in a tree alone the lengths themselves add up.
pub(super) fn nearest(
    tree: &Tree,
    lengths: &Lengths,
    origin: usize,
    barred: Option<usize>,
    wanted: usize,
) -> Vec<(usize, f64, f64)> {
    let start = Reached { key: 0.0, node: origin, from: usize::MAX, attached: None, given: vec![1.0] };
    let mut heap = BinaryHeap::from([start]);
    let mut found = Vec::new();
    while let Some(Reached { key, node, from, given, .. }) = heap.pop() {
        if node != origin && tree.is_observed(NodeIx::new(node)) {
            found.push((node, -key, given[0]));
            if found.len() >= wanted {
                break;
            }
        }
        let most = if node == origin { usize::MAX } else { MAX_BEYOND };
        for &(to, length, sign) in lengths.0[node].iter().take(most) {
            if to != from && !(node == origin && Some(to) == barred) {
                heap.push(Reached { key: key - length, node: to, from: node, attached: None, given: vec![given[0] * sign] });
            }
        }
    }
    found
}

/// The correlation of neighbours in a Gaussian tree, by node for the edge to its parent.
pub(super) fn correlations(model: &LatentTree, marginals: &[Marginal]) -> Vec<f64> {
    model.tree().node_ixs().map(|node| model.edge_correlation(node, marginals).unwrap_or(1.0)).collect()
}
