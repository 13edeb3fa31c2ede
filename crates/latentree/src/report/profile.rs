//! The variables that are most informative about a node.
//!
//! Information can only decrease along a path of the tree (the data-processing inequality), so the most informative variables
//! are found by a best-first search from the node: the first N observed variables reached are the best N of all. Beyond each
//! node, only its [`MAX_BEYOND`] closest neighbours are considered; otherwise, thousands of leaves of one hub would cost
//! their number squared.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::steps::{Attached, Steps, chain};
use crate::index::NodeIx;
use crate::information;
use crate::model::{LatentTree, Marginal};
use crate::tree::{Link, Tree};

/// Maximum number of neighbours considered beyond a node on the way.
const MAX_BEYOND: usize = 200;

/// A variable that is informative about a node.
#[derive(Debug, Clone)]
pub(super) struct Found<'a> {
    pub(super) node: usize,
    /// The column, if it is not a discrete node itself.
    pub(super) attached: Option<&'a Attached>,
    /// Mutual information in nats.
    pub(super) information: f64,
    /// Distribution of the variable (or, if attached, of its parent) given each state of the node.
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

/// The observed variables that are most informative about a discrete node, best first. Those beyond the neighbour `barred`
/// are left out.
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

/// The observed variables that are most informative about a column attached to a discrete node, through the interval it falls
/// in.
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

/// Best-first search. `origin`, if it is a node, is not reported itself; `barred` is a neighbour of the start.
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

/// Neighbours of each node with the length and the sign of the edge, nearest first.
pub(super) struct Lengths(Vec<Vec<(usize, f64, f64)>>);

impl Lengths {
    /// `edge` returns the length and the sign of an edge at a node.
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

/// The observed nodes nearest to a node, nearest first, with their distance and sign. Those beyond the neighbour `barred` are
/// left out.
///
/// In a Gaussian tree, `−ln |ρ|` adds up and signs multiply; in a tree without a model, the lengths themselves add up.
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

/// The correlation of each node with its parent in a Gaussian tree.
pub(super) fn correlations(model: &LatentTree, marginals: &[Marginal]) -> Vec<f64> {
    model.tree().node_ixs().map(|node| model.edge_correlation(node, marginals).unwrap_or(1.0)).collect()
}
