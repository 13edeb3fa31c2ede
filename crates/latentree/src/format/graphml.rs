//! GraphML, with typed attributes of nodes and edges.

use std::fmt::Write as _;

use super::View;
use super::xml::escape;
use crate::model::edge_information;

/// Attributes: identifier, what carries it, type.
const KEYS: [(&str, &str, &str); 10] = [
    ("label", "node", "string"),
    ("observed", "node", "boolean"),
    ("root", "node", "boolean"),
    ("kind", "node", "string"),
    ("states", "node", "int"),
    ("state_labels", "node", "string"),
    ("distance", "edge", "double"),
    ("support", "edge", "double"),
    ("bootstrap", "edge", "double"),
    ("mutual_information", "edge", "double"),
];

/// The tree as GraphML, undirected.
///
/// Nodes are called `n0`, `n1`, … by index and have the attributes `label` (the name), `observed` and, for a model, `root`,
/// `kind`, `states` (their number) and `state_labels` (a JSON list); edges have `distance`, `support`, `bootstrap` and
/// `mutual_information` (in nats) where known. Characters that XML cannot hold become U+FFFD.
#[must_use]
pub fn to_graphml<'a>(what: impl Into<View<'a>>) -> String {
    let view = what.into();
    let mut out = String::new();
    write_graph(&mut out, &view).expect("a string takes all");
    out
}

fn write_graph(out: &mut String, view: &View<'_>) -> std::fmt::Result {
    let tree = view.tree();
    writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
    writeln!(out, "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">")?;
    for (key, carrier, kind) in KEYS {
        writeln!(out, "  <key id=\"{key}\" for=\"{carrier}\" attr.name=\"{key}\" attr.type=\"{kind}\"/>")?;
    }
    writeln!(out, "  <graph id=\"latentree\" edgedefault=\"undirected\">")?;
    for node in tree.node_ixs() {
        write!(out, "    <node id=\"n{}\">", node.get())?;
        data(out, "label", tree.name(node))?;
        data(out, "observed", &tree.is_observed(node).to_string())?;
        if let Some(model) = view.model() {
            data(out, "root", &model.parent(node).is_none().to_string())?;
        }
        if let Some(kind) = view.kind(node) {
            data(out, "kind", kind)?;
        }
        if let Some(labels) = view.labels(node) {
            data(out, "states", &labels.len().to_string())?;
            data(out, "state_labels", &serde_json::to_string(labels).expect("strings are JSON"))?;
        }
        writeln!(out, "</node>")?;
    }
    let information = view.model().map(edge_information).unwrap_or_default();
    for edge in tree.edges() {
        write!(out, "    <edge source=\"n{}\" target=\"n{}\">", edge.a.get(), edge.b.get())?;
        let child = view.model().map(|model| if model.parent(edge.b) == Some(edge.a) { edge.b } else { edge.a });
        let information = child.and_then(|child| information[child.get()]);
        for (key, value) in [
            ("distance", edge.length),
            ("support", edge.support),
            ("bootstrap", edge.bootstrap),
            ("mutual_information", information),
        ] {
            if let Some(value) = value.filter(|value| value.is_finite()) {
                data(out, key, &format!("{value:?}"))?;
            }
        }
        writeln!(out, "</edge>")?;
    }
    writeln!(out, "  </graph>\n</graphml>")
}

fn data(out: &mut String, key: &str, value: &str) -> std::fmt::Result {
    write!(out, "<data key=\"{key}\">{}</data>", escape(value))
}
