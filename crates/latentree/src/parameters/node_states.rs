//! Numbers of states of individual hidden nodes.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::error::{Error, Result, Shortened};
use crate::index::NodeIx;
use crate::limits;
use crate::tree::Tree;

/// Numbers of states of single hidden nodes of a given tree, by name.
///
/// Serialised, it is a list such as `["h3=4", "h7=3"]`, and null if empty; an object of names and numbers is read, too.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NodeStates(BTreeMap<String, usize>);

impl NodeStates {
    /// Whether no node is named.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds numbers for nodes that are not named, leaving out those that nothing can be asked for.
    pub(crate) fn fill(&mut self, others: impl Iterator<Item = (String, usize)>) {
        for (name, n_states) in others.filter(|it| (2..=limits::MAX_HIDDEN_STATES).contains(&it.1)) {
            self.0.entry(name).or_insert(n_states);
        }
    }

    pub(crate) fn check(&self) -> Result<()> {
        self.0.values().try_for_each(|&n_states| limits::check("parameters.states", n_states, 2..=limits::MAX_HIDDEN_STATES))
    }

    /// The nodes of a tree that are named.
    ///
    /// # Errors
    /// [`Error::Option`] if a name is unknown, or belongs to an observed node.
    pub fn of_tree(&self, tree: &Tree) -> Result<Vec<(NodeIx, usize)>> {
        let found = self.0.iter().map(|(name, &n_states)| {
            let refused = |problem| Err(Error::option("parameters.states", format!("{:?} {problem}", Shortened(name))));
            match tree.find(name) {
                None => refused("is not in the tree"),
                Some(node) if tree.is_observed(node) => refused("is observed: the data determine its states"),
                Some(node) => Ok((node, n_states)),
            }
        });
        found.collect()
    }
}

impl FromIterator<(String, usize)> for NodeStates {
    fn from_iter<I: IntoIterator<Item = (String, usize)>>(states: I) -> Self {
        Self(states.into_iter().collect())
    }
}

impl Serialize for NodeStates {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        if self.0.is_empty() {
            return serializer.serialize_none();
        }
        serializer.collect_seq(self.0.iter().map(|(name, n_states)| format!("{name}={n_states}")))
    }
}

impl<'de> Deserialize<'de> for NodeStates {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let problem =
            |written: &Value| serde::de::Error::custom(format!("{written} given; NODE=STATES, such as h3=4, is needed"));
        let mut states = BTreeMap::new();
        let mut add = |name: &str, n_states: Option<usize>, written: &Value| {
            let n_states = n_states.filter(|_| !name.is_empty()).ok_or_else(|| problem(written))?;
            match states.insert(name.to_owned(), n_states) {
                Some(_) => Err(serde::de::Error::custom(format!("{:?} is named twice", Shortened(name)))),
                None => Ok(()),
            }
        };
        match Value::deserialize(deserializer)? {
            Value::Null => {}
            Value::Object(fields) => {
                for (name, written) in &fields {
                    let n_states = written.as_u64().and_then(|number| usize::try_from(number).ok());
                    add(name, n_states, &serde_json::json!({ name: written }))?;
                }
            }
            Value::Array(items) => {
                for written in &items {
                    // A name may have an equals sign itself.
                    let (name, number) =
                        written.as_str().and_then(|text| text.rsplit_once('=')).ok_or_else(|| problem(written))?;
                    add(name, number.parse().ok(), written)?;
                }
            }
            other => return Err(problem(&other)),
        }
        Ok(Self(states))
    }
}
