//! A tree as indented text, for a terminal.

use std::fmt::Write as _;

use super::View;
use crate::index::NodeIx;
use crate::tree::Rooted;

/// The tree as text: one line per node below its parent, with the length of the edge between them and, where known, its support.
/// Hidden nodes are in parentheses. A model is shown from its roots, a tree from its centres.
///
/// ```text
/// (h1)
/// ├─ a  0.51  98%
/// └─ (h2)  0.22  100%
///    ├─ b  0.4  100%
///    └─ c  0.7  100%
/// ```
#[must_use]
pub fn to_text<'a>(what: impl Into<View<'a>>) -> String {
    let view = what.into();
    let tree = view.tree();
    let rooted = match view.model() {
        Some(model) => model.rooted().clone(),
        None => Rooted::with_roots(tree, &[]).expect("no roots cannot clash"),
    };
    let children = rooted.children();
    let mut out = String::new();
    // Each entry is a node, the text that stands before its children's lines, and what stands before its own.
    let mut stack: Vec<(NodeIx, String, String)> =
        rooted.roots.iter().rev().map(|&root| (root, String::new(), String::new())).collect();
    while let Some((node, below, before)) = stack.pop() {
        out.push_str(&before);
        let name: String = tree.name(node).chars().map(|it| if it.is_control() { '·' } else { it }).collect();
        let written = if tree.is_observed(node) { write!(out, "{name}") } else { write!(out, "({name})") };
        written.expect("a string takes all");
        if let Some(parent) = rooted.parent[node.get()] {
            let link = tree.links(node).iter().find(|link| link.to == parent).expect("a parent is a neighbour");
            if let Some(length) = link.length.filter(|length| length.is_finite()) {
                write!(out, "  {}", short(length)).expect("a string takes all");
            }
            if let Some(support) = link.shown_support().filter(|support| support.is_finite()) {
                write!(out, "  {:.0}%", 100.0 * support).expect("a string takes all");
            }
        }
        out.push('\n');
        for (ix, &child) in children[node.get()].iter().enumerate().rev() {
            let is_last = ix + 1 == children[node.get()].len();
            let (own, further) = if is_last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            stack.push((child, format!("{below}{further}"), format!("{below}{own}")));
        }
    }
    out
}

/// A length with three digits after its first.
fn short(length: f64) -> String {
    if length != 0.0 && !(1e-3..1e6).contains(&length.abs()) {
        return format!("{length:.2e}");
    }
    let text = format!("{length:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
