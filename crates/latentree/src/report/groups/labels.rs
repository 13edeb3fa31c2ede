//! Labels of hidden nodes, made of their most informative variables.
//!
//! A label names what is *more* likely, or larger, in the states that it is about: those of the group's theme or, by default, all but
//! state 0. States are ordered so that state 0 has the least of everything.

use std::collections::HashSet;
use std::ops::Range;

use super::features::{Difference, Feature};
use super::information::{Kind, Theme, Walks, gaussian_information};
use crate::index::NodeIx;
use crate::model::Marginal;
use crate::report::profile::{Lengths, most_informative, nearest};

/// Separates the variables of a label.
pub(in crate::report) const SEPARATOR: &str = " · ";
/// Number of variables in a label, unless more are needed to make it unique.
const NAMED: usize = 2;
/// Maximum length of a variable's name in a label.
const NAME_LENGTH: usize = 40;
/// Hidden nodes of more states than this are not described.
const MAX_STATES: usize = 64;

/// The description of a hidden node, in order of information.
#[derive(Debug)]
pub(super) enum About {
    /// Columns by its states, and the states that matter.
    States { prior: Vec<f64>, features: Vec<Feature>, inside: Range<usize> },
    /// For a Gaussian node, the variables when it is one standard deviation higher.
    Number(Vec<Difference>),
}

/// Describes a node by its most informative variables, from its own group if they suffice.
pub(super) struct Observer<'a> {
    walks: &'a Walks<'a>,
    lengths: Option<Lengths>,
}

impl<'a> Observer<'a> {
    pub(super) fn new(walks: &'a Walks<'a>) -> Self {
        let lengths = match &walks.kind {
            Kind::Discrete(_) => None,
            Kind::Gaussian(correlations) => Some(Lengths::new(walks.model.tree(), |node, link| {
                let child = if walks.model.parent(node) == Some(link.to) { node } else { link.to };
                let correlation = correlations[child.get()];
                (-correlation.abs().max(1e-300).ln(), correlation.signum())
            })),
        };
        Self { walks, lengths }
    }

    pub(super) fn about(&self, theme: &Theme, wanted: usize, own: &dyn Fn(NodeIx) -> bool) -> About {
        let (model, node) = (self.walks.model, theme.node);
        match (&self.walks.kind, &self.lengths) {
            (Kind::Discrete(steps), _) => {
                let prior = steps.marginals[node.get()].clone();
                let mut features = Vec::new();
                if prior.len() <= MAX_STATES {
                    let found = most_informative(model.tree(), steps, node.get(), None, wanted);
                    features.extend(found.iter().map(|found| Feature::new(model, found, &prior)));
                    if features.iter().filter(|feature| own(feature.node)).count() >= NAMED {
                        features.retain(|feature| own(feature.node));
                    }
                }
                let inside = theme.states.clone().unwrap_or(1.min(prior.len())..prior.len());
                About::States { prior, features, inside }
            }
            (Kind::Gaussian(_), Some(lengths)) => {
                let mut found = nearest(model.tree(), lengths, node.get(), None, wanted);
                let towards: f64 = found.iter().map(|it| it.2 * gaussian_information((-it.1).exp())).sum();
                if found.iter().filter(|it| own(NodeIx::new(it.0))).count() >= NAMED {
                    found.retain(|it| own(NodeIx::new(it.0)));
                }
                let differences = found.iter().filter_map(|&(it, length, sign)| {
                    let Marginal::Gaussian { mean, variance } = self.walks.marginals[it] else { return None };
                    let shift = sign * towards.signum() * (-length).exp() * variance.sqrt();
                    Some(Difference {
                        node: NodeIx::new(it),
                        column: model.tree().name(NodeIx::new(it)).to_owned(),
                        value: None,
                        is_mean: true,
                        inside: mean + shift,
                        outside: mean,
                        deviation: Some(variance.sqrt()),
                    })
                });
                About::Number(differences.collect())
            }
            (Kind::Gaussian(_), None) => unreachable!("a Gaussian tree has lengths"),
        }
    }
}

impl Observer<'_> {
    /// Columns that describe the single states of a node with more than two, because each state may be about other columns
    /// than the group. Empty for other nodes.
    pub(super) fn by_state(&self, node: NodeIx, wanted: usize) -> Vec<Feature> {
        let (model, Kind::Discrete(steps)) = (self.walks.model, &self.walks.kind) else { return Vec::new() };
        let prior = &steps.marginals[node.get()];
        if !(3..=MAX_STATES).contains(&prior.len()) {
            return Vec::new();
        }
        let found = most_informative(model.tree(), steps, node.get(), None, wanted);
        found.iter().map(|found| Feature::new(model, found, prior)).collect()
    }
}

impl About {
    /// The columns that rise in the states that matter or, if none does, the columns that fall: those of the group itself or, if it has
    /// none of either, the others.
    fn telling(&self, own: &dyn Fn(NodeIx) -> bool) -> Vec<String> {
        let differences: Vec<(Difference, bool)> = match self {
            Self::States { prior, features, inside } => {
                let told = |feature: &Feature| {
                    let told = feature.difference_for_label(prior, &|state| inside.contains(&state))?;
                    let in_each = feature.rises_in_each(prior, &told, inside);
                    Some((told, in_each))
                };
                features.iter().filter_map(told).collect()
            }
            Self::Number(differences) => differences.iter().map(|it| (it.clone(), it.inside > it.outside)).collect(),
        };
        let (own, others): (Vec<_>, Vec<_>) = differences.into_iter().partition(|it| own(it.0.node));
        let mut names = named(&own);
        if names.is_empty() {
            names = named(&others);
        }
        let mut seen = HashSet::new();
        names.retain(|name| seen.insert(name.clone()));
        names
    }
}

/// The columns that rise in each state or, if there are none, in all together or, if there are none either, fall; without those whose
/// names are blank.
fn named(differences: &[(Difference, bool)]) -> Vec<String> {
    let differences: Vec<&(Difference, bool)> = differences.iter().filter(|it| !cut(&it.0.name()).is_empty()).collect();
    let differences = || differences.iter().copied();
    let rising = |it: &&(Difference, bool)| it.0.inside > it.0.outside;
    let mut names: Vec<String> = differences().filter(|it| it.1).filter(rising).map(|it| cut(&it.0.name())).collect();
    if names.is_empty() {
        names = differences().filter(rising).map(|it| cut(&it.0.name())).collect();
    }
    if names.is_empty() {
        let falling = differences().filter(|it| it.0.inside < it.0.outside);
        names = falling.map(|it| format!("{} {}", if it.0.is_mean { "low" } else { "no" }, cut(&it.0.name()))).collect();
    }
    names
}

/// Gives a node a unique label of its `own` variables; `taken` holds all labels and names.
pub(super) fn label(about: &About, own: &dyn Fn(NodeIx) -> bool, name: &str, taken: &mut HashSet<String>) -> String {
    let names = about.telling(own);
    let lengths = NAMED.min(names.len())..=names.len();
    let distinct = lengths.map(|n| names[..n].join(SEPARATOR)).find(|label| !label.is_empty() && !taken.contains(label));
    let label = distinct.unwrap_or_else(|| match names.len() {
        0 => name.to_owned(),
        n => format!("{} ({name})", names[..n.min(NAMED)].join(SEPARATOR)),
    });
    taken.insert(label.clone());
    label
}

fn cut(name: &str) -> String {
    let clean: String = name.chars().map(|it| if it.is_control() { ' ' } else { it }).collect();
    let clean = clean.trim();
    match clean.char_indices().nth(NAME_LENGTH) {
        Some((end, _)) => format!("{}…", &clean[..end]),
        None => clean.to_owned(),
    }
}
