//! Newick text; writing a tree and reading it back gives the same tree.
//!
//! `(a:0.1,b:0.2,(c,d)h2[&hidden]:0.3[&support=0.98])h1[&hidden];` is a tree; a forest is one tree after another, each
//! ended by `;`. Newick does not say which inner nodes are variables of the data, so inner nodes are written with a comment
//! `[&hidden]` or `[&observed]`, which other programs ignore, and such a comment decides when reading. Without it leaves
//! are observed and [`Observed`] tells what inner nodes are. The support of an edge is the comment
//! `[&support=0.98]` of its lower end, its share of bootstrap replicates `[&bootstrap=0.9]`.
//!
//! Names with blanks or any of `( ) [ ] : ; , ' "` are written in single quotes, a quote inside doubled. Underscores are
//! kept as they are. Comments may be nested. Negative lengths are read (neighbour joining makes them); lengths that are not
//! finite are refused, and left out when written.

mod reader;
#[cfg(test)]
mod tests;

use std::fmt::Write;

use crate::error::Result;
use crate::index::NodeIx;
use crate::tree::{Observed, Rooted, Tree};

impl Tree {
    /// Reads Newick text: one tree, or a forest of trees each ended by `;`.
    ///
    /// Nodes are numbered in the order in which they open in the text, so the first node of each tree is its Newick root,
    /// which is kept even where it is a hidden node with two neighbours (see [`minimal`](Self::minimal)). Inner nodes
    /// without a label are named `h1`, `h2`, …, skipping names that are taken.
    ///
    /// # Errors
    /// [`Error::Format`](crate::Error::Format) with line and character: a parenthesis, quote, comment or `;` is missing,
    /// two roots, a name twice, a leaf without a name, no tree at all, or a number that is none or not finite.
    ///
    /// # Complexity
    /// O(length of the text), without recursion.
    ///
    /// # Example
    /// ```
    /// use latentree::tree::{Observed, Tree};
    /// let tree = Tree::from_newick("(a:0.1,b:0.2,(c:1,d:1)0.98:0.3);", &Observed::LeavesOnly)?;
    /// assert_eq!((tree.n_observed(), tree.n_hidden()), (4, 2));
    /// # Ok::<(), latentree::Error>(())
    /// ```
    pub fn from_newick(text: &str, observed: &Observed<'_>) -> Result<Self> {
        reader::read(text, observed)
    }

    /// Writes Newick text that [`from_newick`](Self::from_newick) reads back to the same nodes, edges, lengths and supports.
    ///
    /// # Arguments
    /// - `root`: the Newick root of its tree; other trees of a forest, or all if `None`, are rooted at their centres.
    ///
    /// Each tree of a forest stands on its own line; there is no line end after the last. The empty tree gives no text.
    #[must_use]
    pub fn to_newick(&self, root: Option<NodeIx>) -> String {
        let rooted = match root {
            Some(root) => Rooted::new(self, root),
            None => Rooted::with_roots(self, &[]).expect("no roots cannot clash"),
        };
        let children = rooted.children();
        let mut text = String::new();
        for (number, &root) in rooted.roots.iter().enumerate() {
            if number > 0 {
                text.push('\n');
            }
            // Each entry is a node with the number of its children already written.
            let mut stack = vec![(root, 0_usize)];
            while let Some((node, n_done)) = stack.pop() {
                let below = &children[node.get()];
                if let Some(&child) = below.get(n_done) {
                    text.push(if n_done == 0 { '(' } else { ',' });
                    stack.push((node, n_done + 1));
                    stack.push((child, 0));
                    continue;
                }
                if !below.is_empty() {
                    text.push(')');
                }
                self.write_label(&mut text, node, below.is_empty());
                if let Some(parent) = rooted.parent[node.get()] {
                    self.write_edge(&mut text, node, parent);
                }
            }
            text.push(';');
        }
        text
    }

    fn write_label(&self, text: &mut String, node: NodeIx, is_tip: bool) {
        let name = self.name(node);
        let special = |c: char| c.is_whitespace() || c.is_control() || "()[]:;,'\"\u{feff}".contains(c);
        // An inner label that is a number would be read as support by other programs and is quoted to tell that it is none.
        if name.contains(special) || (!is_tip && name.parse::<f64>().is_ok()) {
            text.push('\'');
            text.push_str(&name.replace('\'', "''"));
            text.push('\'');
        } else {
            text.push_str(name);
        }
        match (is_tip, self.is_observed(node)) {
            (true, true) => {}
            (false, true) => text.push_str("[&observed]"),
            (_, false) => text.push_str("[&hidden]"),
        }
    }

    fn write_edge(&self, text: &mut String, node: NodeIx, parent: NodeIx) {
        // Looked for from the end with fewer neighbours: in a tree this is linear over all edges, however large a hub is.
        let (down, up) = (self.links(parent), self.links(node));
        let link = if up.len() <= down.len() {
            up.iter().find(|link| link.to == parent)
        } else {
            down.iter().find(|link| link.to == node)
        };
        let link = link.expect("a parent is a neighbour");
        if let Some(length) = link.length.filter(|length| length.is_finite()) {
            text.push(':');
            write_number(text, length);
        }
        for (key, share) in [("support", link.support), ("bootstrap", link.bootstrap)] {
            if let Some(share) = share.filter(|share| share.is_finite()) {
                text.push_str("[&");
                text.push_str(key);
                text.push('=');
                write_number(text, share);
                text.push(']');
            }
        }
    }
}

/// The shortest text that reads back to the same number, with an exponent where it would be long without.
fn write_number(text: &mut String, number: f64) {
    let magnitude = number.abs();
    let result = if magnitude != 0.0 && !(1e-5..1e16).contains(&magnitude) {
        write!(text, "{number:e}")
    } else {
        write!(text, "{number}")
    };
    result.expect("writing to a string does not fail");
}
