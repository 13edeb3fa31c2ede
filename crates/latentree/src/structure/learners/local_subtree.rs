//! A local learner's tree over a closed neighbourhood, in the form in which such trees fit together.

use crate::index::NodeIx;
use crate::tree::Tree;

/// A tree over a leader (node 0), its neighbours (1 to `n_neighbours`), all of them leaves, and hidden nodes.
pub(super) struct LocalSubtree {
    pub(super) n_neighbours: usize,
    pub(super) n_nodes: usize,
    pub(super) edges: Vec<(usize, usize, f64)>,
}

impl LocalSubtree {
    /// Brings a tree whose first nodes are the leader and its neighbours into this form.
    ///
    /// With exact distances and no ties the neighbours are leaves: the leader's subtree has no hidden nodes beyond them (Choi et
    /// al. 2011, proof of Theorem 10). Where ties or noise make a neighbour an inner node, a hidden node stands in its place and
    /// the neighbour hangs on it by an edge of length 0, so that what lies beyond still has one place to hold on to; contraction
    /// makes the two one again.
    pub(super) fn new(tree: &Tree, n_neighbours: usize) -> Self {
        let mut n_nodes = tree.n_nodes();
        let mut stand_in: Vec<usize> = (0..n_nodes).collect();
        let mut edges = Vec::with_capacity(tree.n_edges());
        for neighbour in 1..=n_neighbours {
            if tree.degree(NodeIx::new(neighbour)) > 1 {
                stand_in[neighbour] = n_nodes;
                edges.push((neighbour, n_nodes, 0.0));
                n_nodes += 1;
            }
        }
        edges.extend(
            tree.edges().map(|edge| (stand_in[edge.a.get()], stand_in[edge.b.get()], edge.length.unwrap_or(0.0).max(0.0))),
        );
        Self { n_neighbours, n_nodes, edges }
    }

    pub(super) fn n_hidden(&self) -> usize {
        self.n_nodes - 1 - self.n_neighbours
    }

    /// Distance of each node from the leader.
    pub(super) fn depths(&self) -> Vec<f64> {
        let mut links: Vec<Vec<(usize, f64)>> = vec![Vec::new(); self.n_nodes];
        for &(a, b, length) in &self.edges {
            links[a].push((b, length));
            links[b].push((a, length));
        }
        let mut depth = vec![0.0; self.n_nodes];
        let mut stack = vec![(0, 0)];
        while let Some((node, from)) = stack.pop() {
            for &(to, length) in links[node].iter().filter(|link| link.0 != from) {
                depth[to] = depth[node] + length;
                stack.push((to, node));
            }
        }
        depth
    }
}
