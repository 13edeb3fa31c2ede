//! The JSON shape of a tree alone.
//!
//! `{"nodes":[{"name":"h1","observed":false},…],"edges":[{"source":"h1","target":"x3","distance":0.41,"support":0.98},…]}`:
//! the part of the model file that describes the tree. Other fields are ignored, so a model file can be read as a tree.
//! Numbers round-trip exactly; a length or support that is not finite is left out, since JSON has no such numbers.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::{Error, Place, Result, Shortened};
use crate::index::NodeIx;
use crate::tree::{Edge, Node, Tree};

const FORMAT: &str = "tree JSON";

#[derive(Serialize, Deserialize)]
struct TreeFile<'a> {
    #[serde(borrow)]
    nodes: Vec<NodeFile<'a>>,
    #[serde(borrow)]
    edges: Vec<EdgeFile<'a>>,
}

#[derive(Serialize, Deserialize)]
struct NodeFile<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    observed: bool,
}

#[derive(Serialize, Deserialize)]
struct EdgeFile<'a> {
    #[serde(borrow)]
    source: Cow<'a, str>,
    #[serde(borrow)]
    target: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    distance: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    support: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bootstrap: Option<f64>,
}

impl Serialize for Tree {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let finite = |value: Option<f64>| value.filter(|value| value.is_finite());
        let nodes = self.nodes().iter().map(|node| NodeFile { name: Cow::from(&node.name), observed: node.observed });
        let edges = self.edges().map(|edge| EdgeFile {
            source: Cow::from(self.name(edge.a)),
            target: Cow::from(self.name(edge.b)),
            distance: finite(edge.length),
            support: finite(edge.support),
            bootstrap: finite(edge.bootstrap),
        });
        TreeFile { nodes: nodes.collect(), edges: edges.collect() }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        TreeFile::deserialize(deserializer)?.tree().map_err(serde::de::Error::custom)
    }
}

impl TreeFile<'_> {
    fn tree(self) -> Result<Tree> {
        if u32::try_from(self.nodes.len()).is_err() {
            return Err(Error::tree("it has more nodes than can be numbered"));
        }
        let nodes = self.nodes.into_iter().map(|node| Node { name: node.name.into_owned(), observed: node.observed });
        let tree = Tree::from_parts(nodes.collect(), &[])?;
        let find = |name: &str, edge: usize| -> Result<NodeIx> {
            let missing = || Error::tree(format!("edge {} names {:?}, which is not a node", edge + 1, Shortened(name)));
            tree.find(name).ok_or_else(missing)
        };
        let mut edges = Vec::with_capacity(self.edges.len());
        for (number, edge) in self.edges.iter().enumerate() {
            let (a, b) = (find(&edge.source, number)?, find(&edge.target, number)?);
            edges.push(Edge { a, b, length: edge.distance, support: edge.support, bootstrap: edge.bootstrap });
        }
        Tree::from_parts(tree.nodes().to_vec(), &edges)
    }
}

impl Tree {
    /// The tree as JSON; see the [shape](Self::from_json).
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a tree has nothing that JSON cannot hold")
    }

    /// A tree from JSON: `{"nodes":[{"name":"h1","observed":false}],"edges":[{"source":"h1","target":"x3","distance":0.41}]}`.
    /// `distance`, `support` and `bootstrap` may be left out; other fields are ignored.
    ///
    /// # Errors
    /// [`Error::Format`] with the line if it is not JSON of this shape, [`Error::Tree`] if it is not a tree.
    pub fn from_json(text: &str) -> Result<Self> {
        let file: TreeFile<'_> = serde_json::from_str(text)
            .map_err(|error| Error::format(Place::default().line(error.line() as u64), FORMAT, error.to_string()))?;
        file.tree()
    }
}
