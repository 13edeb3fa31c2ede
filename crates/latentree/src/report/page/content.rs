//! The content of the page for each node of a model or tree.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::payload::{Entry, finite, short};
use crate::format::View;
use crate::index::{ColIx, NodeIx};
use crate::model::edge_information;
use crate::model::{Domain, Family, LatentTree, Marginal};
use crate::report::profile::{Found, Lengths, correlations, most_informative, most_informative_of_attached, nearest};
use crate::report::steps::{Content, Steps, chain};
use crate::tree::Tree;

/// Maximum number of states of a node to show.
const SHOWN_STATES: usize = 20;
/// Maximum number of states of a node with a profile.
const MAX_STATES: usize = 64;
/// Maximum number of labels of a variable to show in a profile.
const SHOWN_LABELS: usize = 7;
/// Number of variables that name a hidden node.
const TOPIC: usize = 3;
/// Number of columns shown for typical rows.
const ROW_COLUMNS: usize = 6;
/// Entries with less than this share of the best entry's information are left out if there are a few better ones.
const MIN_SHARE: f64 = 0.02;
/// Approximate total number of entries in all profiles; a node has 6 to 20.
const ALL_ENTRIES: usize = 120_000;

/// The content for all nodes, in lists indexed by node.
#[derive(Debug, Default)]
pub(super) struct Facts {
    /// Probabilities of the shown states, or mean and standard deviation.
    pub(super) marginals: Vec<Vec<f64>>,
    pub(super) shown_states: BTreeMap<usize, Vec<usize>>,
    pub(super) profiles: Vec<Vec<Entry>>,
    pub(super) topics: Vec<Vec<usize>>,
    /// Columns of the first entries, which are shown for rows.
    pub(super) columns: Vec<Vec<ColIx>>,
    /// Mutual information of the edge to the parent in `parents`.
    pub(super) information: Vec<Option<f64>>,
    /// Strength of the edge to the parent in `parents`, from 0 to 1.
    pub(super) strengths: Vec<Option<f64>>,
    /// Columns that are members of groups.
    pub(super) members: Vec<ColIx>,
}

struct About {
    entries: Vec<Entry>,
    columns: Vec<ColIx>,
    topic: Vec<usize>,
}

impl Facts {
    /// Describes all nodes, with these parents on the page.
    pub(super) fn new(view: View<'_>, steps: Option<&Steps>, parents: &[Option<NodeIx>]) -> Self {
        let tree = view.tree();
        let wanted = (ALL_ENTRIES / tree.n_nodes().max(1)).clamp(6, 20);
        let mut facts = match (view.model(), steps) {
            (Some(model), Some(steps)) => discrete(model, steps, parents, wanted),
            (Some(model), None) => gaussian(model, parents, wanted),
            (None, _) => plain(tree, parents, wanted),
        };
        // The same regardless of which end of an edge is the parent in the model.
        if let Some(model) = view.model() {
            let mut known = edge_information(model);
            if let Some(steps) = steps {
                let more = steps.emission_information(model);
                known.iter_mut().zip(more).for_each(|(known, more)| *known = known.or(more));
            }
            facts.information = by_page_parent(model, parents, &known);
            // Linfoot's informational correlation: |ρ| of Gaussian variables with this much information.
            let strength = |information: &Option<f64>| information.map(|nats| (-(-2.0 * nats).exp_m1()).max(0.0).sqrt());
            facts.strengths = facts.information.iter().map(strength).map(|it| it.and_then(finite)).collect();
            facts.information.iter_mut().for_each(|it| *it = it.and_then(finite));
        } else {
            facts.information = vec![None; tree.n_nodes()];
            let strength =
                |node: NodeIx| length(tree, node, parents[node.get()]?).and_then(|length| finite((-length.max(0.0)).exp()));
            facts.strengths = tree.node_ixs().map(strength).collect();
        }
        facts
    }
}

/// The length of the edge between two neighbours.
fn length(tree: &Tree, node: NodeIx, neighbour: NodeIx) -> Option<f64> {
    tree.links(node).iter().find(|link| link.to == neighbour).and_then(|link| link.length).filter(|length| length.is_finite())
}

fn by_page_parent(model: &LatentTree, parents: &[Option<NodeIx>], known: &[Option<f64>]) -> Vec<Option<f64>> {
    let own = model.tree().node_ixs().zip(parents).map(|(node, &parent)| {
        let parent = parent?;
        known[if model.parent(node) == Some(parent) { node } else { parent }.get()]
    });
    own.collect()
}

/// The first distinct observed nodes, which name a node.
fn topic(nodes: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut topic = Vec::new();
    for node in nodes {
        if topic.len() < TOPIC && !topic.contains(&node) {
            topic.push(node);
        }
    }
    topic
}

fn gather(about: Vec<About>) -> Facts {
    let mut facts = Facts::default();
    for About { entries, columns, topic } in about {
        facts.profiles.push(entries);
        facts.columns.push(columns);
        facts.topics.push(topic);
    }
    facts
}

fn discrete(model: &LatentTree, steps: &Steps, parents: &[Option<NodeIx>], wanted: usize) -> Facts {
    let tree = model.tree();
    let schema = model.schema();
    let is_group = |node: usize| *model.domain(NodeIx::new(node)) == Domain::Group;
    let members: Vec<ColIx> =
        (0..schema.columns().len()).map(ColIx::new).filter(|&it| is_group(model.node_of(schema.variable_of(it)).get())).collect();
    let mut shown_states = BTreeMap::new();
    for (node, marginal) in steps.marginals.iter().enumerate().filter(|(_, marginal)| marginal.len() > SHOWN_STATES) {
        let mut order: Vec<usize> = (0..marginal.len()).collect();
        order.sort_by(|&a, &b| marginal[b].total_cmp(&marginal[a]).then(a.cmp(&b)));
        order.truncate(SHOWN_STATES);
        shown_states.insert(node, order);
    }
    let states = |node: usize| shown_states.get(&node).cloned().unwrap_or_else(|| (0..steps.marginals[node].len()).collect());
    let about = (0..tree.n_nodes()).into_par_iter().map(|ix| {
        let node = NodeIx::new(ix);
        if !(1..=MAX_STATES).contains(&steps.marginals[ix].len()) {
            let entries = related(model, steps, node, wanted.min(ROW_COLUMNS * 2), &members);
            return About { entries, columns: Vec::new(), topic: Vec::new() };
        }
        let mut found = most_informative(tree, steps, ix, None, wanted);
        let least = MIN_SHARE * found.first().map_or(0.0, |best| best.information);
        let telling = found.iter().take_while(|found| found.information >= least).count();
        found.truncate(telling.max(ROW_COLUMNS));
        let states = states(ix);
        let entries: Vec<Entry> = found.iter().map(|found| entry(found, steps, ix, &states, &members)).collect();
        let column = |found: &Found<'_>| match found.attached {
            Some(attached) => Some(attached.column),
            None => model.variable(NodeIx::new(found.node)).map(|variable| schema.variable(variable).columns[0]),
        };
        let columns = found.iter().take(ROW_COLUMNS).filter_map(column).collect();
        let topic = if tree.is_observed(node) {
            Vec::new()
        } else {
            // Members of one group are a single node, so a few more are considered.
            let above = parents[ix].map(NodeIx::get);
            topic(most_informative(tree, steps, ix, above, 2 * TOPIC).iter().map(|found| found.node))
        };
        About { entries, columns, topic }
    });
    let mut facts = gather(about.collect());
    facts.marginals =
        (0..tree.n_nodes()).map(|node| states(node).iter().map(|&it| short(steps.marginals[node][it])).collect()).collect();
    for it in steps.attached.iter().flatten().chain(&steps.alone).filter(|it| !is_group(it.node)) {
        if let Content::Numbers(moments) = &it.content {
            let parent = model.parent(NodeIx::new(it.node));
            let alone = [1.0];
            let weights = parent.map_or(&alone[..], |parent| &steps.marginals[parent.get()]);
            facts.marginals[it.node] = mixture(weights, moments);
        }
    }
    facts.shown_states = shown_states;
    facts.members = members;
    facts
}

/// The variables most informative about a number or a group (through its most informative member), without distributions.
fn related(model: &LatentTree, steps: &Steps, node: NodeIx, wanted: usize, members: &[ColIx]) -> Vec<Entry> {
    let Some(parent) = model.parent(node).map(NodeIx::get) else { return Vec::new() };
    let Some(column) = steps.attached[parent].iter().find(|it| it.node == node.get()) else { return Vec::new() };
    let found = most_informative_of_attached(model.tree(), steps, parent, column, wanted);
    let entries = found.iter().map(|found| Entry {
        node: found.node,
        member: found.attached.and_then(|it| members.binary_search(&it.column).ok()),
        information: finite(found.information),
        ..Entry::default()
    });
    entries.collect()
}

/// Mean and standard deviation of a mixture.
fn mixture(weights: &[f64], moments: &[(f64, f64)]) -> Vec<f64> {
    let mean: f64 = weights.iter().zip(moments).map(|(weight, it)| weight * it.0).sum();
    let variance: f64 = weights.iter().zip(moments).map(|(weight, it)| weight * (it.1 + (it.0 - mean).powi(2))).sum();
    vec![short(mean), short(variance.max(0.0).sqrt())]
}

fn entry(found: &Found<'_>, steps: &Steps, origin: usize, states: &[usize], members: &[ColIx]) -> Entry {
    let mut entry = Entry { node: found.node, information: finite(found.information), ..Entry::default() };
    let mut given = std::borrow::Cow::Borrowed(&found.given);
    let mut width = steps.marginals[origin].len();
    width = found.given.len() / width;
    if let Some(attached) = found.attached {
        entry.member = members.binary_search(&attached.column).ok();
        if let Content::Numbers(moments) = &attached.content {
            entry.moments = states.iter().flat_map(|&state| mixture(&found.given[state * width..][..width], moments)).collect();
            return entry;
        }
        given = std::borrow::Cow::Owned(chain(&found.given, width, &attached.outcomes, attached.n_outcomes));
        width = attached.n_outcomes;
    }
    let labels: Vec<usize> = if width == 2 {
        vec![1]
    } else {
        // The labels whose probability differs most between the states.
        let spread = |label: usize| {
            let values = states.iter().map(|&state| given[state * width + label]);
            let (low, high) = values.fold((1.0_f64, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
            high - low
        };
        let mut order: Vec<(f64, usize)> = (0..width).map(|label| (spread(label), label)).collect();
        order.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut chosen: Vec<usize> = order.into_iter().take(SHOWN_LABELS).map(|it| it.1).collect();
        chosen.sort_unstable();
        chosen
    };
    entry.probabilities = states
        .iter()
        .flat_map(|&state| labels.iter().map(move |&label| (state, label)))
        .map(|(state, label)| short(given[state * width + label]))
        .collect();
    if width != 2 {
        entry.labels = labels;
    }
    entry
}

fn gaussian(model: &LatentTree, parents: &[Option<NodeIx>], wanted: usize) -> Facts {
    let tree = model.tree();
    let marginals = model.marginals();
    let correlations = correlations(model, &marginals);
    let edge = Lengths::new(tree, |node, link| {
        let child = if model.parent(node) == Some(link.to) { node } else { link.to };
        let correlation = correlations[child.get()];
        (-correlation.abs().max(1e-300).ln(), correlation.signum())
    });
    let about = (0..tree.n_nodes()).into_par_iter().map(|ix| {
        let found = nearest(tree, &edge, ix, None, wanted);
        let columns = found.iter().take(ROW_COLUMNS).filter_map(|it| model.variable(NodeIx::new(it.0)));
        let columns = columns.map(|variable| model.schema().variable(variable).columns[0]).collect();
        let entries = found.iter().map(|&(node, distance, sign)| {
            let correlation = sign * (-distance).exp();
            let information = -0.5 * (-correlation * correlation).ln_1p();
            Entry { node, correlation: finite(correlation), information: finite(information), ..Entry::default() }
        });
        let is_hidden = !tree.is_observed(NodeIx::new(ix));
        let below = || nearest(tree, &edge, ix, parents[ix].map(NodeIx::get), TOPIC);
        let topic = if is_hidden { topic(below().into_iter().map(|it| it.0)) } else { Vec::new() };
        About { entries: entries.collect(), columns, topic }
    });
    let mut facts = gather(about.collect());
    facts.marginals =
        marginals
            .iter()
            .map(|it| {
                if let Marginal::Gaussian { mean, variance } = it {
                    vec![short(*mean), short(variance.sqrt())]
                } else {
                    Vec::new()
                }
            })
            .collect();
    debug_assert_eq!(model.family(), Family::Gaussian);
    facts
}

fn plain(tree: &Tree, parents: &[Option<NodeIx>], wanted: usize) -> Facts {
    let edge = Lengths::new(tree, |_, link| (link.length.filter(|it| it.is_finite()).unwrap_or(1.0), 1.0));
    let has_lengths = tree.edges().all(|edge| edge.length.is_some_and(f64::is_finite));
    let about = (0..tree.n_nodes()).into_par_iter().map(|ix| {
        let found = nearest(tree, &edge, ix, None, wanted);
        let distance = |far: f64| if has_lengths { finite(far) } else { None };
        let entries = found.iter().map(|&(node, far, _)| Entry { node, distance: distance(far), ..Entry::default() }).collect();
        let is_hidden = !tree.is_observed(NodeIx::new(ix));
        let below = || nearest(tree, &edge, ix, parents[ix].map(NodeIx::get), TOPIC);
        let topic = if is_hidden { topic(below().into_iter().map(|it| it.0)) } else { Vec::new() };
        About { entries, columns: Vec::new(), topic }
    });
    let mut facts = gather(about.collect());
    facts.marginals = vec![Vec::new(); tree.n_nodes()];
    facts
}
