//! Groups of variables around hidden ones, from a dozen broad groups to fine ones, each described in words.
//!
//! Everything is computed exactly, from the model alone. The groups are the hidden nodes that *together* have the most information about
//! the observed variables (see `cover`), rather than individually: neighbours on a chain say the same. In larger trees, a node of more
//! than two states counts by one *theme*, a part of its states against the rest, so that the variables of a group are those that go
//! together. Each variable, and each other hidden node, belongs to the group with the most information about it.

mod cover;
mod features;
mod hierarchy;
mod information;
mod labels;
#[cfg(test)]
mod tests;
mod text;
#[cfg(test)]
mod words_tests;

use std::collections::HashSet;

use rayon::prelude::*;
use serde_json::{Value, json};

pub use self::features::Difference;
use self::features::{Feature, percent};
pub(super) use self::hierarchy::covering;
use self::hierarchy::{Found, hierarchy};
use self::information::{Theme, Walks};
pub(super) use self::labels::SEPARATOR;
use self::labels::{About, Observer, label};
use crate::error::{Error, Result};
use crate::index::NodeIx;
use crate::model::LatentTree;

/// Number of variables that describe a group.
const DESCRIBED_BY: usize = 40;
/// Number of variables from which each state of a group of more than two states takes its description.
const STATES_DESCRIBED_BY: usize = 400;
/// Maximum number of variables in the label of a hidden node that is not a group.
const LABELLED_BY: usize = 10;
/// Number of differences to keep for a state.
const DIFFERENCES: usize = 8;
/// Number of differences in a description.
const TOLD: usize = 3;
/// Columns with less than this share of the best column's information are not described.
const MIN_TOLD: f64 = 0.1;

/// A state of a group's hidden variable.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupState {
    /// Its label in the model.
    pub state: String,
    /// Share of rows in it.
    pub share: f64,
    /// How its rows differ from the others, the most informative column first.
    pub differences: Vec<Difference>,
    /// In words, such as `state 1, 28% of rows: depression 56% instead of 9%, anxiety 52% instead of 11%`.
    pub description: String,
}

/// A group of variables around a hidden one.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// The hidden node; `None` for the group of variables that no other group explains well.
    pub node: Option<NodeIx>,
    /// The node's name, or `other`.
    pub name: String,
    /// The node's label, or `other`.
    pub label: String,
    /// 1 for the broad groups, 2 for the groups inside them, and so on.
    pub level: usize,
    /// Index of the enclosing group in [`Groups::all`].
    pub parent: Option<usize>,
    /// Observed nodes, including those of finer groups, and the information of the group about them in nats, most informative first. In
    /// trees of more than 12 hidden nodes, variables of which the group explains the largest share come first; a share of the entropy,
    /// which for variables rarer than 2% counts as that of 2%.
    ///
    /// Groups of the same level do not share variables.
    pub variables: Vec<(NodeIx, f64)>,
    /// Hidden nodes that belong to the group, its own first.
    pub hidden: Vec<NodeIx>,
    /// The states of the node, in order; empty for a Gaussian node.
    pub states: Vec<GroupState>,
    /// The states that the group is about: all but the first, unless some of them are more informative; empty for a Gaussian
    /// node.
    pub about: std::ops::Range<usize>,
    /// Share of rows in these states; `None` for a Gaussian node.
    pub share: Option<f64>,
    /// Median support of the edges between the group's hidden nodes and other hidden nodes, if the tree has supports.
    pub support: Option<f64>,
    /// Description of the rows in the states that the group is about, or of rows in which a Gaussian node is one standard deviation higher.
    pub description: String,
}

/// The groups of a model, and a label for each hidden node.
///
/// # Example
/// ```
/// use latentree::report::Groups;
/// use latentree::simulate::{Shape, Simulation};
/// let model = Simulation::new(Shape::DoubleStar, 8).model()?;
/// let groups = Groups::of(&model);
/// assert_eq!(groups.all().len(), 2);
/// assert_eq!(groups.all().iter().map(|group| group.variables.len()).sum::<usize>(), 8);
/// # Ok::<(), latentree::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Groups {
    groups: Vec<Group>,
    labels: Vec<Option<String>>,
}

impl Groups {
    /// The groups of a model.
    ///
    /// In a tree of up to 12 hidden nodes, each hidden node that explains some variable best is a group of the only level. A larger
    /// tree has 8 to 20 broad groups, up to the point where the curve of their joint information bends most, and finer groups inside
    /// them. A model without hidden nodes has none.
    ///
    /// # Complexity
    /// At most one product of small tables per pair of a hidden node and another node. In large trees, walks stop when little
    /// information is left.
    #[must_use]
    pub fn of(model: &LatentTree) -> Self {
        let walks = Walks::new(model);
        let found = hierarchy(&walks);
        let observer = Observer::new(&walks);
        let tree = model.tree();
        let mut taken: HashSet<String> = tree.nodes().iter().map(|node| node.name.clone()).collect();
        taken.extend(model.schema().columns().iter().map(|column| column.name.clone()));
        let mut labels: Vec<Option<String>> = vec![None; tree.n_nodes()];
        let about: Vec<Option<(About, Vec<Feature>)>> = found
            .par_iter()
            .map(|group| {
                let own: HashSet<NodeIx> = group.variables.iter().map(|it| it.0).collect();
                group.theme.as_ref().map(|theme| {
                    let about = observer.about(theme, DESCRIBED_BY, &|it| own.contains(&it));
                    (about, observer.by_state(theme.node, STATES_DESCRIBED_BY))
                })
            })
            .collect();
        // Broad groups have the shortest labels.
        let mut order: Vec<usize> = (0..found.len()).collect();
        order.sort_by_key(|&ix| found[ix].level);
        for ix in order {
            if let (Some(theme), Some((about, _))) = (&found[ix].theme, &about[ix]) {
                let own = |node: NodeIx| found[ix].variables.iter().any(|it| it.0 == node);
                labels[theme.node.get()] = Some(label(about, &own, tree.name(theme.node), &mut taken));
            }
        }
        let others: Vec<NodeIx> = model.hidden().filter(|node| labels[node.get()].is_none()).collect();
        let about_others: Vec<About> =
            others.par_iter().map(|&node| observer.about(&Theme::whole(node), LABELLED_BY, &|_| true)).collect();
        for (&node, about) in others.iter().zip(&about_others) {
            labels[node.get()] = Some(label(about, &|_| true, tree.name(node), &mut taken));
        }
        let other = if taken.contains("other") { "other variables" } else { "other" };
        let groups = found.into_iter().zip(about).map(|(found, about)| described(model, found, about, &labels, other)).collect();
        Self { groups, labels }
    }

    /// All groups, each before its finer groups; the broad groups first, in the order of the information that they add.
    #[must_use]
    pub fn all(&self) -> &[Group] {
        &self.groups
    }

    /// The groups of the first level.
    pub fn broad(&self) -> impl Iterator<Item = &Group> {
        self.groups.iter().filter(|group| group.level == 1)
    }

    /// The label of a hidden node.
    #[must_use]
    pub fn label(&self, node: NodeIx) -> Option<&str> {
        self.labels[node.get()].as_deref()
    }

    /// The hidden node with this label. Case is ignored, and `+` may replace ` · `.
    ///
    /// # Errors
    /// [`Error::Query`] if several nodes have it.
    pub fn find(&self, model: &LatentTree, text: &str) -> Result<Option<NodeIx>> {
        let nodes = |is_it: &dyn Fn(&str) -> bool| -> Vec<NodeIx> {
            model.hidden().filter(|node| self.label(*node).is_some_and(is_it)).collect()
        };
        if let [node] = nodes(&|label| label == text)[..] {
            return Ok(Some(node));
        }
        let wanted = plain(text);
        match nodes(&|label| plain(label) == wanted)[..] {
            [] => Ok(None),
            [node] => Ok(Some(node)),
            [first, second, ..] => {
                let name = |node| model.tree().name(node);
                let problem = format!("{text:?} may be {} or {}; give the name", name(first), name(second));
                Err(Error::query(problem))
            }
        }
    }

    /// The group of a node: its own, or else the finest group that contains it.
    #[must_use]
    pub fn around(&self, node: NodeIx) -> Option<&Group> {
        let own = self.groups.iter().find(|group| group.node == Some(node));
        let contains = |group: &&Group| group.hidden.contains(&node) || group.variables.iter().any(|it| it.0 == node);
        own.or_else(|| self.groups.iter().filter(contains).max_by_key(|group| group.level))
    }

    /// Formats the broad groups, or one group with all its variables and finer groups, for a terminal.
    #[must_use]
    pub fn to_text(&self, model: &LatentTree, of: Option<&Group>) -> String {
        let of = of.and_then(|of| self.groups.iter().position(|group| group == of));
        text::text(self, model, of)
    }

    /// As JSON: a list of `{name, label, level, parent, variables, information, states, about, share, support, description, hidden}`.
    #[must_use]
    pub fn to_json(&self, model: &LatentTree) -> Value {
        let names = |nodes: &mut dyn Iterator<Item = NodeIx>| nodes.map(|node| model.tree().name(node)).collect::<Vec<_>>();
        let group = |group: &Group| {
            json!({
                "name": group.name,
                "label": group.label,
                "level": group.level,
                "parent": group.parent.map(|parent| &self.groups[parent].name),
                "variables": names(&mut group.variables.iter().map(|it| it.0)),
                "information": group.variables.iter().map(|it| it.1).collect::<Vec<_>>(),
                "states": group.states.iter().map(state_json).collect::<Vec<_>>(),
                "about": group.states[group.about.clone()].iter().map(|it| &it.state).collect::<Vec<_>>(),
                "share": group.share,
                "support": group.support,
                "description": group.description,
                "hidden": names(&mut group.hidden.iter().copied()),
            })
        };
        self.groups.iter().map(group).collect()
    }
}

fn state_json(state: &GroupState) -> Value {
    let difference = |it: &Difference| json!({"variable": it.column, "value": it.value, "mean": it.is_mean, "inside": it.inside, "outside": it.outside});
    json!({
        "state": state.state,
        "share": state.share,
        "description": state.description,
        "differences": state.differences.iter().map(difference).collect::<Vec<_>>(),
    })
}

/// The node with this name or label.
///
/// # Errors
/// [`Error::Query`] that proposes similar names, or if several nodes have the label.
pub fn find_node(model: &LatentTree, text: &str) -> Result<NodeIx> {
    match model.tree().find(text) {
        Some(node) => Ok(node),
        // A variable may be asked for by its code.
        None => match model.schema().name_of_code(text).and_then(|name| model.tree().find(name)) {
            Some(node) => Ok(node),
            None => labelled_node(model, text),
        },
    }
}

fn labelled_node(model: &LatentTree, text: &str) -> Result<NodeIx> {
    match Groups::of(model).find(model, text)? {
        Some(node) => Ok(node),
        None => model.find(text),
    }
}

/// A label without characters that are hard to type.
fn plain(label: &str) -> String {
    let parts = label.split(['·', '+']).map(|part| part.trim().to_lowercase());
    parts.collect::<Vec<_>>().join(SEPARATOR)
}

fn described(
    model: &LatentTree,
    found: Found,
    about: Option<(About, Vec<Feature>)>,
    labels: &[Option<String>],
    other: &str,
) -> Group {
    let Found { theme, level, parent, variables, hidden } = found;
    let node = theme.map(|theme| theme.node);
    let mut group = Group {
        node,
        name: node.map_or(other, |node| model.tree().name(node)).to_owned(),
        label: node.and_then(|node| labels[node.get()].clone()).unwrap_or_else(|| other.to_owned()),
        level,
        parent,
        support: node.and_then(|_| support(model, &hidden)),
        variables,
        hidden,
        states: Vec::new(),
        about: 0..0,
        share: None,
        description: String::new(),
    };
    match (about, node) {
        (Some((About::States { prior, features, inside }, by_state)), Some(node)) => {
            let names = model.domain(node).labels().unwrap_or_default();
            let share = if inside == (1..prior.len()) { 1.0 - prior[0] } else { prior[inside.clone()].iter().sum() };
            group.share = Some(share.clamp(0.0, 1.0));
            let of_states = if by_state.is_empty() { &features } else { &by_state };
            group.states = (0..prior.len()).map(|state| described_state(&prior, of_states, state, &names[state])).collect();
            let told = told(&differences(&prior, &features, &|state| inside.contains(&state)));
            group.description = format!("{} of rows{told}", percent(share));
            group.about = inside;
        }
        (Some((About::Number(mut differences), _)), _) => {
            differences.truncate(DIFFERENCES);
            group.description = format!("one standard deviation higher{}", told(&differences));
        }
        (None, _) | (_, None) => {}
    }
    group
}

fn described_state(prior: &[f64], features: &[Feature], state: usize, name: &str) -> GroupState {
    let differences = differences(prior, features, &|it| it == state);
    let told = if differences.is_empty() && !features.is_empty() { ": near the average".to_owned() } else { told(&differences) };
    let description = format!("state {name}, {} of rows{told}", percent(prior[state]));
    GroupState { state: name.to_owned(), share: prior[state], differences, description }
}

/// How the rows in these states differ from the others, the most informative column first. What they have comes before what
/// they lack: of twelve kinds of patients, ten have little heart disease.
fn differences(prior: &[f64], features: &[Feature], is_inside: &dyn Fn(usize) -> bool) -> Vec<Difference> {
    let mut telling: Vec<(f64, &Feature)> =
        features.iter().map(|feature| (feature.information(prior, is_inside), feature)).collect();
    telling.sort_by(|a, b| b.0.total_cmp(&a.0));
    let strongest = telling.first().map(|it| it.1);
    let least = telling.first().map_or(0.0, |best| MIN_TOLD * best.0);
    let telling = telling.iter().filter(|it| it.0 > 0.0 && it.0 >= least);
    let told = telling.filter_map(|(_, feature)| feature.difference(prior, is_inside)).filter(|it| !it.is_invisible());
    let (mut told, mut lacked): (Vec<Difference>, Vec<Difference>) = told.partition(|it| !it.is_lack());
    // The most informative column is always among those that are told.
    if told.len() >= TOLD && lacked.first().is_some_and(|first| strongest.is_some_and(|it| it.is_of(first))) {
        told.insert(TOLD - 1, lacked.remove(0));
    }
    told.extend(lacked);
    told.truncate(DIFFERENCES);
    told
}

fn told(differences: &[Difference]) -> String {
    let texts: Vec<String> = differences.iter().take(TOLD).map(Difference::text).collect();
    if texts.is_empty() { String::new() } else { format!(": {}", texts.join(", ")) }
}

/// The median support of the edges between these hidden nodes and other hidden nodes.
fn support(model: &LatentTree, members: &[NodeIx]) -> Option<f64> {
    let tree = model.tree();
    let mut members = members.to_vec();
    members.sort_unstable();
    let links = members.iter().flat_map(|&node| tree.links(node));
    let outwards = links.filter(|link| !tree.is_observed(link.to) && members.binary_search(&link.to).is_err());
    let mut supports: Vec<f64> = outwards.filter_map(|link| link.support).collect();
    supports.sort_by(f64::total_cmp);
    let middle = supports.len() / 2;
    match supports.len() {
        0 => None,
        n if n % 2 == 1 => Some(supports[middle]),
        _ => Some(0.5 * (supports[middle - 1] + supports[middle])),
    }
}
