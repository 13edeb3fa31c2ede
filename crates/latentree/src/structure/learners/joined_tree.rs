//! The binary tree that joining clades two by two makes.

use crate::error::Result;
use crate::index::NodeIx;
use crate::structure::lengths::contract_short;
use crate::tree::{Edge, Node, Tree};

/// A binary tree under construction: nodes `0..n` are the variables, then come the hidden nodes in the order of joining.
pub(super) struct JoinedTree {
    nodes: Vec<Node>,
    edges: Vec<Edge>,
}

impl JoinedTree {
    pub(super) fn new(names: &[String]) -> Self {
        let nodes = names.iter().map(|name| Node { name: name.clone(), observed: true }).collect();
        Self { nodes, edges: Vec::with_capacity(2 * names.len()) }
    }

    fn add_hidden(&mut self) -> usize {
        // A name that no variable has: names that people see are given when the whole forest is known.
        self.nodes.push(Node { name: format!("\u{0}{}", self.nodes.len()), observed: false });
        self.nodes.len() - 1
    }

    fn add_edge(&mut self, a: usize, b: usize, length: f64) {
        // Sums of distances near the largest number overflow; no tree may show that.
        let length = if length.is_finite() { length.max(0.0) } else { 0.0 };
        self.edges.push(Edge::with_length(NodeIx::new(a), NodeIx::new(b), length));
    }

    /// Joins two nodes below a new hidden one, which is given back. A negative length becomes 0 and the other takes the
    /// difference, so that the way between the two nodes keeps its length (Kuhner and Felsenstein 1994).
    pub(super) fn join(&mut self, (a, to_a): (usize, f64), (b, to_b): (usize, f64)) -> usize {
        let hidden = self.add_hidden();
        let (to_a, to_b) = match (to_a < 0.0, to_b < 0.0) {
            (true, false) => (0.0, to_a + to_b),
            (false, true) => (to_a + to_b, 0.0),
            _ => (to_a, to_b),
        };
        self.add_edge(a, hidden, to_a);
        self.add_edge(b, hidden, to_b);
        hidden
    }

    /// Joins the last three nodes at a new hidden one, given their distances (first–second, first–third, second–third).
    /// Where a length would be negative it is 0 and both others are shortened by as much.
    pub(super) fn join_last(&mut self, nodes: [usize; 3], [ab, ac, bc]: [f64; 3]) {
        let hidden = self.add_hidden();
        let mut lengths = [(ab + ac - bc) / 2.0, (ab + bc - ac) / 2.0, (ac + bc - ab) / 2.0];
        // With distances ≥ 0 at most one is negative.
        if let Some(at) = (0..3).find(|&at| lengths[at] < 0.0) {
            let over = std::mem::replace(&mut lengths[at], 0.0);
            (0..3).filter(|&other| other != at).for_each(|other| lengths[other] += over);
        }
        for (node, length) in nodes.into_iter().zip(lengths) {
            self.add_edge(node, hidden, length);
        }
    }

    /// The tree, with edges of at most the given length contracted.
    pub(super) fn finish(self, contract: Option<f64>) -> Result<Tree> {
        let tree = Tree::from_parts(self.nodes, &self.edges)?;
        Ok(match contract {
            Some(threshold) => contract_short(&tree, threshold),
            None => tree,
        })
    }
}
