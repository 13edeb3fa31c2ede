//! Distances along the tree: sums of edge lengths.

use super::{Edge, Tree};
use crate::error::{Error, Result, Shortened};
use crate::index::NodeIx;

/// Distances between all observed nodes of a tree, as a dense square matrix.
#[derive(Debug, Clone, PartialEq)]
pub struct PathLengths {
    nodes: Vec<NodeIx>,
    /// Row by row; NaN between nodes of different trees of a forest.
    values: Vec<f64>,
}

impl PathLengths {
    /// The observed nodes, in the order of the rows.
    #[must_use]
    pub fn nodes(&self) -> &[NodeIx] {
        &self.nodes
    }

    /// The distance between the observed nodes at two positions; `None` if they are in different trees of a forest.
    #[must_use]
    pub fn get(&self, row: usize, column: usize) -> Option<f64> {
        let value = self.values[row * self.nodes.len() + column];
        (!value.is_nan()).then_some(value)
    }
}

impl Tree {
    /// The exact additive distances between all observed nodes.
    ///
    /// # Errors
    /// [`Error::Tree`] if an edge has no length, or the matrix does not fit in memory.
    ///
    /// # Complexity
    /// O(p · n) time for p observed of n nodes, which is O(p²) in a minimal tree; 8 p² bytes.
    pub fn path_lengths(&self) -> Result<PathLengths> {
        if let Some(edge) = self.edges().find(|edge| edge.length.is_none_or(f64::is_nan)) {
            let (a, b) = (Shortened(self.name(edge.a)), Shortened(self.name(edge.b)));
            return Err(Error::tree(format!("the edge between {a:?} and {b:?} has no length")));
        }
        let nodes: Vec<NodeIx> = self.node_ixs().filter(|&node| self.is_observed(node)).collect();
        let mut values = Vec::new();
        let fits = nodes.len().checked_mul(nodes.len()).is_some_and(|n_cells| values.try_reserve_exact(n_cells).is_ok());
        if !fits {
            return Err(Error::tree(format!("distances between {} observed nodes do not fit in memory", nodes.len())));
        }
        let mut position = vec![None; self.n_nodes()];
        for (row, node) in nodes.iter().enumerate() {
            position[node.get()] = Some(row);
        }
        let mut stack = Vec::new();
        for (row, &start) in nodes.iter().enumerate() {
            values.resize(values.len() + nodes.len(), f64::NAN);
            let distances = &mut values[row * nodes.len()..];
            stack.push((start, start, 0.0));
            while let Some((node, from, distance)) = stack.pop() {
                if let Some(column) = position[node.get()] {
                    distances[column] = distance;
                }
                let onward = self.links(node).iter().filter(|link| link.to != from);
                stack.extend(onward.map(|link| (link.to, node, distance + link.length.expect("checked above"))));
            }
        }
        Ok(PathLengths { nodes, values })
    }

    /// The same tree with the length that `length` gives for each edge. Supports are kept.
    ///
    /// # Complexity
    /// O(n), where [`set_edge`](Self::set_edge) on each edge would take time quadratic in the degrees. `length` is called
    /// twice per edge, with the same edge.
    #[must_use]
    pub fn with_lengths(&self, length: impl Fn(&Edge) -> Option<f64>) -> Self {
        let mut tree = self.clone();
        for node in self.node_ixs() {
            for link in &mut tree.links[node.get()] {
                let (a, b) = (node.min(link.to), node.max(link.to));
                link.length = length(&link.edge(a, b));
            }
        }
        tree
    }

    /// The same tree with the support that `support` gives for each edge. Lengths are kept. `support` is called twice per edge.
    #[must_use]
    pub fn with_supports(&self, support: impl Fn(&Edge) -> Option<f64>) -> Self {
        let mut tree = self.clone();
        for node in self.node_ixs() {
            for link in &mut tree.links[node.get()] {
                let (a, b) = (node.min(link.to), node.max(link.to));
                link.support = support(&link.edge(a, b));
            }
        }
        tree
    }

    /// The same tree with the bootstrap share that `bootstrap` gives for each edge, which is called twice per edge.
    #[must_use]
    pub fn with_bootstrap(&self, bootstrap: impl Fn(&Edge) -> Option<f64>) -> Self {
        let mut tree = self.clone();
        for node in self.node_ixs() {
            for link in &mut tree.links[node.get()] {
                let (a, b) = (node.min(link.to), node.max(link.to));
                link.bootstrap = bootstrap(&link.edge(a, b));
            }
        }
        tree
    }
}
