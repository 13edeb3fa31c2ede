//! The data of the page: one JSON object, read by `web/src/payload.ts`. Lists are indexed by node unless stated otherwise.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::index::NodeIx;
use crate::report::{Group, Topic};

/// Maximum number of characters in the label of a hidden node.
pub(super) const GROUP_LABEL: usize = 200;
/// Maximum number of characters in the description of a group or a state.
const GROUP_DESCRIPTION: usize = 1000;
/// Maximum number of characters in a word of a topic.
const WORD: usize = 80;

/// The data of the first view.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Payload {
    pub(super) format: u32,
    pub(super) title: String,
    /// `discrete`, `gaussian` or `tree`.
    pub(super) family: &'static str,
    pub(super) data_name: Option<String>,
    pub(super) names: Vec<String>,
    /// 1 for observed nodes.
    pub(super) observed: Vec<u8>,
    /// Parents as seen from the tree's centre; −1 for roots.
    pub(super) parents: Vec<i64>,
    pub(super) kinds: Vec<&'static str>,
    /// Length of the edge to the parent; the next three fields also describe this edge.
    pub(super) lengths: Vec<Option<f64>>,
    pub(super) supports: Vec<Option<f64>>,
    pub(super) information: Vec<Option<f64>>,
    /// Strength, from 0 to 1.
    pub(super) strengths: Vec<Option<f64>>,
    /// The observed nodes below a hidden node that are most informative about it.
    pub(super) topics: Vec<Vec<usize>>,
    pub(super) label_sets: Vec<LabelSet>,
    /// For each node, its set of labels; −1 for nodes without labels.
    pub(super) labels: Vec<i64>,
    /// Probabilities of the shown states; mean and standard deviation of a Gaussian node.
    pub(super) marginals: Vec<Vec<f64>>,
    /// The shown states, for nodes with more.
    pub(super) shown_states: BTreeMap<usize, Vec<usize>>,
    /// Members of groups of columns.
    pub(super) members: Vec<Member>,
    /// Labels of hidden nodes; `None` for observed nodes and for trees without tables.
    pub(super) node_labels: Vec<Option<String>>,
    /// Groups of variables: broad groups first, each before its finer groups.
    pub(super) groups: Vec<GroupEntry>,
    pub(super) fit: Fit,
    pub(super) misfits: Option<MisfitTable>,
}

/// The data shown for a node on demand.
#[derive(Debug, Serialize)]
pub(super) struct Details {
    /// By node.
    pub(super) profiles: Vec<Vec<Entry>>,
    /// By node; only present with data.
    pub(super) rows: BTreeMap<usize, Rows>,
}

/// Labels of states: all of them, or only those that the page needs.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum LabelSet {
    All(Vec<String>),
    Some(BTreeMap<usize, String>),
}

/// A variable that is informative about the node.
#[derive(Debug, Default, Serialize)]
pub(super) struct Entry {
    #[serde(rename = "n")]
    pub(super) node: usize,
    #[serde(rename = "m", skip_serializing_if = "Option::is_none")]
    pub(super) member: Option<usize>,
    /// Mutual information in nats.
    #[serde(rename = "i", skip_serializing_if = "Option::is_none")]
    pub(super) information: Option<f64>,
    /// Labels whose probabilities are given; omitted for the second of two.
    #[serde(rename = "l", skip_serializing_if = "Vec::is_empty")]
    pub(super) labels: Vec<usize>,
    /// Probabilities of the labels, state by state.
    #[serde(rename = "p", skip_serializing_if = "Vec::is_empty")]
    pub(super) probabilities: Vec<f64>,
    /// Mean and standard deviation, state by state.
    #[serde(rename = "g", skip_serializing_if = "Vec::is_empty")]
    pub(super) moments: Vec<f64>,
    /// Correlation.
    #[serde(rename = "r", skip_serializing_if = "Option::is_none")]
    pub(super) correlation: Option<f64>,
    /// Distance.
    #[serde(rename = "d", skip_serializing_if = "Option::is_none")]
    pub(super) distance: Option<f64>,
}

/// A column of a group.
#[derive(Debug, Serialize)]
pub(super) struct Member {
    pub(super) name: String,
    pub(super) labels: i64,
}

/// A group of variables, as in [`Groups::to_json`](crate::report::Groups::to_json), with nodes instead of names.
#[derive(Debug, Serialize)]
pub(super) struct GroupEntry {
    /// The hidden node; `None` for the group of variables that belong to no other group.
    pub(super) node: Option<usize>,
    pub(super) label: String,
    pub(super) level: usize,
    /// Index of the enclosing group in the list.
    pub(super) parent: Option<usize>,
    /// Observed nodes, most informative first.
    pub(super) variables: Vec<usize>,
    /// The node's information about each of them, in nats.
    pub(super) information: Vec<f64>,
    pub(super) hidden: Vec<usize>,
    /// The states in words.
    pub(super) states: Vec<String>,
    pub(super) share: Option<f64>,
    pub(super) support: Option<f64>,
    pub(super) description: String,
    /// The group as a topic; only for models of words.
    pub(super) topic: Option<TopicEntry>,
}

/// A topic: its words, and their coherence if there are data.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct TopicEntry {
    words: Vec<String>,
    npmi: Option<f64>,
    c_v: Option<f64>,
}

impl TopicEntry {
    pub(in super::super) fn new(topic: &Topic) -> Self {
        let words = topic.words.iter().map(|word| cut(word, WORD)).collect();
        Self { words, npmi: topic.npmi.and_then(finite), c_v: topic.c_v.and_then(finite) }
    }
}

impl GroupEntry {
    /// The entry of a group.
    pub(super) fn new(group: &Group, topics: &[Topic]) -> Self {
        let topic = topics.iter().find(|topic| topic.node.is_some() && topic.node == group.node);
        let ixs = |nodes: &mut dyn Iterator<Item = NodeIx>| nodes.map(NodeIx::get).collect();
        Self {
            node: group.node.map(NodeIx::get),
            label: cut(&group.label, GROUP_LABEL),
            level: group.level,
            parent: group.parent,
            variables: ixs(&mut group.variables.iter().map(|it| it.0)),
            information: group.variables.iter().map(|it| short(it.1)).collect(),
            hidden: ixs(&mut group.hidden.iter().copied()),
            states: group.states.iter().map(|it| cut(&it.description, GROUP_DESCRIPTION)).collect(),
            share: group.share.and_then(finite),
            support: group.support.and_then(finite),
            description: cut(&group.description, GROUP_DESCRIPTION),
            topic: topic.map(TopicEntry::new),
        }
    }
}

/// A row: its number from 1, the posterior probability (or mean), and cells of the profile's first variables.
#[derive(Debug, Serialize)]
pub(super) struct Row(pub(super) u64, pub(super) f64, pub(super) Vec<Option<f64>>);

/// The rows of a hidden node.
#[derive(Debug, Serialize)]
pub(super) struct Rows {
    pub(super) shares: Vec<f64>,
    /// By state; for a Gaussian node, the highest and the lowest.
    pub(super) typical: Vec<Vec<Row>>,
}

/// How the model was learned, and its fit.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Fit {
    pub(super) parameters: Option<usize>,
    pub(super) rows: Option<u64>,
    pub(super) log_likelihood: Option<f64>,
    pub(super) mean_log_likelihood: Option<f64>,
    pub(super) bic: Option<f64>,
    pub(super) impossible_rows: Option<u64>,
    pub(super) program: Option<String>,
    pub(super) seed: Option<u64>,
    pub(super) learned_rows: Option<u64>,
    pub(super) digest: Option<String>,
    pub(super) options: Vec<(String, String)>,
    pub(super) stages: Vec<(String, f64)>,
}

/// One side of a badly explained pair: node, member of a group, label.
#[derive(Debug, Serialize)]
pub(super) struct Side(pub(super) usize, pub(super) Option<usize>, pub(super) Option<usize>);

/// A badly explained pair.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Misfit {
    pub(super) sides: [Side; 2],
    pub(super) is_correlation: bool,
    pub(super) observed: f64,
    pub(super) expected: f64,
    pub(super) z: f64,
}

/// The badly explained pairs, and the number of pairs checked.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct MisfitTable {
    pub(super) pairs: u64,
    pub(super) beyond_four: u64,
    pub(super) columns: usize,
    pub(super) all_columns: usize,
    pub(super) worst: Vec<Misfit>,
}

/// A file to download.
#[derive(Debug, Serialize)]
pub(super) struct Export {
    pub(super) format: &'static str,
    pub(super) ending: &'static str,
    pub(super) bytes: usize,
    /// Gzip in base64.
    pub(super) packed: Option<String>,
    /// Why there is no file.
    pub(super) problem: Option<String>,
}

/// Rounds a number to the four digits that are shown; −∞, ∞ and NaN have no JSON representation.
pub(in super::super) fn short(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return 0.0;
    }
    let scale = 10_f64.powi(3 - value.abs().log10().floor() as i32);
    let rounded = (value * scale).round() / scale;
    if rounded.is_finite() { rounded } else { value }
}

/// [`short`], or `None` for values that JSON cannot represent.
pub(super) fn finite(value: f64) -> Option<f64> {
    value.is_finite().then(|| short(value))
}

/// Shortens a user's text to a number of characters.
pub(in super::super) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
