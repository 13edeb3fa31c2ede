//! A tree seen from a root: the order in which messages are passed.

use super::Tree;
use crate::error::{Error, Result};
use crate::index::NodeIx;

/// Parents and an order in which every parent stands before its children; in a forest each tree has its root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rooted {
    /// One root per tree of the forest; the first is the root that was asked for.
    pub roots: Vec<NodeIx>,
    /// Parent of each node, `None` for roots.
    pub parent: Vec<Option<NodeIx>>,
    /// All nodes, parents first (depth-first, children in the order of the node's links).
    pub order: Vec<NodeIx>,
}

impl Rooted {
    /// Roots a tree at `root`; other trees of a forest are rooted at their centres.
    #[must_use]
    pub fn new(tree: &Tree, root: NodeIx) -> Self {
        Self::with_roots(tree, &[root]).expect("one root cannot clash")
    }

    /// Roots each tree of a forest at the given node where one is given, else at its centre.
    ///
    /// # Errors
    /// [`Error::Tree`] if two roots are in one tree.
    pub fn with_roots(tree: &Tree, roots: &[NodeIx]) -> Result<Self> {
        let n_nodes = tree.n_nodes();
        let mut rooted = Self { roots: Vec::new(), parent: vec![None; n_nodes], order: Vec::with_capacity(n_nodes) };
        let mut seen = vec![false; n_nodes];
        for &root in roots {
            if seen[root.get()] {
                return Err(Error::tree(format!("{:?} is a second root of one tree", tree.name(root))));
            }
            rooted.visit(tree, root, &mut seen);
        }
        for node in tree.node_ixs() {
            if !seen[node.get()] {
                let root = center(tree, node);
                rooted.visit(tree, root, &mut seen);
            }
        }
        Ok(rooted)
    }

    fn visit(&mut self, tree: &Tree, root: NodeIx, seen: &mut [bool]) {
        self.roots.push(root);
        let mut stack = vec![root];
        seen[root.get()] = true;
        while let Some(node) = stack.pop() {
            self.order.push(node);
            for link in tree.links(node).iter().rev() {
                if !seen[link.to.get()] {
                    seen[link.to.get()] = true;
                    self.parent[link.to.get()] = Some(node);
                    stack.push(link.to);
                }
            }
        }
    }

    /// The children of every node, in order.
    #[must_use]
    pub fn children(&self) -> Vec<Vec<NodeIx>> {
        let mut children = vec![Vec::new(); self.parent.len()];
        for &node in &self.order {
            if let Some(parent) = self.parent[node.get()] {
                children[parent.get()].push(node);
            }
        }
        children
    }
}

/// The middle of a longest path (in edges) of the tree that holds `start`; a hidden node is preferred when two are in the middle.
#[must_use]
pub(crate) fn center(tree: &Tree, start: NodeIx) -> NodeIx {
    let farthest = |from: NodeIx| -> Vec<NodeIx> {
        let mut stack = vec![(from, None::<NodeIx>, 0_usize)];
        let mut best = (from, 0_usize);
        while let Some((node, parent, depth)) = stack.pop() {
            if depth > best.1 || (depth == best.1 && node < best.0) {
                best = (node, depth);
            }
            stack.extend(
                tree.links(node).iter().filter(|link| Some(link.to) != parent).map(|link| (link.to, Some(node), depth + 1)),
            );
        }
        tree.path(from, best.0).expect("they are in one tree")
    };
    let end = *farthest(start).last().expect("a path has an end");
    let longest = farthest(end);
    let middle = longest[longest.len() / 2];
    let other = longest[(longest.len() - 1) / 2];
    if tree.is_observed(middle) && !tree.is_observed(other) { other } else { middle }
}

impl Tree {
    /// A root that makes the tree shallow: the middle of a longest path of its first tree, hidden where there is a choice.
    ///
    /// # Panics
    /// If the tree has no nodes.
    #[must_use]
    pub fn center(&self) -> NodeIx {
        center(self, NodeIx::new(0))
    }
}
