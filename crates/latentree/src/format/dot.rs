//! Graphviz: an undirected graph, observed nodes as boxes, hidden ones as circles.

use std::fmt::Write as _;

use super::View;

/// The tree in Graphviz's language, to be laid out by `neato`, `dot` or `sfdp`. Edges carry their distance and support.
///
/// Nodes are called `n0`, `n1`, … by index; their names are labels, so that any name can be shown.
#[must_use]
pub fn to_dot<'a>(what: impl Into<View<'a>>) -> String {
    let view = what.into();
    let mut out = String::new();
    write_graph(&mut out, &view).expect("a string takes all");
    out
}

fn write_graph(out: &mut String, view: &View<'_>) -> std::fmt::Result {
    let tree = view.tree();
    writeln!(out, "graph latentree {{")?;
    writeln!(out, "  graph [layout=neato, overlap=false, splines=true];")?;
    for node in tree.node_ixs() {
        let shape = if tree.is_observed(node) { "box" } else { "circle" };
        writeln!(out, "  n{} [label={}, shape={shape}];", node.get(), quoted(tree.name(node)))?;
    }
    for edge in tree.edges() {
        write!(out, "  n{} -- n{}", edge.a.get(), edge.b.get())?;
        let distance = edge.length.map(|length| format!("{length:.3}"));
        let support = edge.support.or(edge.bootstrap).map(|support| format!("{:.0}%", 100.0 * support));
        let label = match (distance, support) {
            (None, None) => None,
            (Some(distance), Some(support)) => Some(format!("{distance} ({support})")),
            (one, other) => one.or(other),
        };
        if let Some(label) = label {
            write!(out, " [label={}]", quoted(&label))?;
        }
        writeln!(out, ";")?;
    }
    writeln!(out, "}}")
}

/// A label in quotes. A backslash starts an escape in a label (`\n`, `\N`, `\l`), and control characters have no glyph.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            // Labels resolve HTML entities such as "&lt;" even in quotes.
            '&' => out.push_str("&amp;"),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
