//! Contraction of edges: merges the ends of edges that are too short.

use super::{Edge, Tree};
use crate::index::NodeIx;

impl Tree {
    /// The tree with the chosen edges contracted.
    ///
    /// Two hidden ends become one hidden node with the name of the smaller index; a hidden and an observed end become the
    /// observed node. Two observed nodes are never merged: where chosen edges lead from one observed node to another, edges
    /// are contracted in the order of their lengths (unknown lengths last, ties in the order of [`Tree::edges`]) and the one
    /// that would merge the two stays. Lengths and supports of the edges that stay are kept, and so is the order of nodes.
    ///
    /// # Example
    /// ```
    /// use latentree::tree::{Observed, Tree};
    /// let tree = Tree::from_newick("(a:1,b:1,(c:1,d:1):0.01);", &Observed::LeavesOnly)?;
    /// let star = tree.contract(|edge| edge.length.is_some_and(|length| length < 0.1));
    /// assert_eq!(star.n_hidden(), 1);
    /// # Ok::<(), latentree::Error>(())
    /// ```
    #[must_use]
    pub fn contract(&self, mut choose: impl FnMut(&Edge) -> bool) -> Self {
        let mut chosen: Vec<Edge> = Vec::new();
        let mut kept: Vec<Edge> = Vec::new();
        for edge in self.edges() {
            if choose(&edge) { chosen.push(edge) } else { kept.push(edge) }
        }
        let length = |edge: &Edge| edge.length.unwrap_or(f64::INFINITY);
        chosen.sort_by(|a, b| length(a).total_cmp(&length(b)));
        let mut merged: Vec<NodeIx> = self.node_ixs().collect();
        for edge in chosen {
            let (a, b) = (representative(&mut merged, edge.a), representative(&mut merged, edge.b));
            match (self.is_observed(a), self.is_observed(b)) {
                (true, true) => kept.push(edge),
                (true, false) => merged[b.get()] = a,
                (false, true) => merged[a.get()] = b,
                (false, false) => merged[a.max(b).get()] = a.min(b),
            }
        }
        let mut new_ix = vec![None; self.n_nodes()];
        let mut nodes = Vec::new();
        for node in self.node_ixs() {
            if merged[node.get()] == node {
                new_ix[node.get()] = Some(NodeIx::new(nodes.len()));
                nodes.push(self.node(node).clone());
            }
        }
        kept.sort_unstable_by_key(|edge| (edge.a, edge.b));
        let mut end = |node| new_ix[representative(&mut merged, node).get()].expect("a representative is kept");
        let edges: Vec<Edge> = kept.iter().map(|edge| Edge { a: end(edge.a), b: end(edge.b), ..*edge }).collect();
        Self::from_parts(nodes, &edges).expect("contracting edges of a tree leaves a tree")
    }
}

/// The node that stands for the set of merged nodes; halves the way each time it is walked.
fn representative(merged: &mut [NodeIx], mut node: NodeIx) -> NodeIx {
    while merged[node.get()] != node {
        let next = merged[merged[node.get()].get()];
        merged[node.get()] = next;
        node = next;
    }
    node
}
