//! Minimal trees: only identifiable hidden nodes, with stable names.
//!
//! A latent tree is minimal (identifiable) if every hidden node has at least three neighbours (Pearl 1988, §8.3; Choi et
//! al. 2011, §2.3). Any latent tree reduces to a minimal one over the same observed nodes by marginalising.

use std::collections::HashSet;

use super::{Rooted, Tree};
use crate::index::NodeIx;

/// The smaller of the shares that are known.
fn smaller(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

impl Tree {
    /// Whether every hidden node has at least three neighbours.
    #[must_use]
    pub fn is_minimal(&self) -> bool {
        self.node_ixs().all(|node| self.is_observed(node) || self.degree(node) >= 3)
    }

    /// The minimal tree over the same observed nodes: hidden leaves are removed, again and again; hidden nodes of degree 2
    /// are suppressed, joining their two edges into one with the sum of the lengths (unknown if one is) and the smaller of
    /// the known supports; isolated hidden nodes are dropped. The order of the nodes that stay is kept.
    ///
    /// # Complexity
    /// O(n).
    #[must_use]
    pub fn minimal(&self) -> Self {
        let mut degree: Vec<usize> = self.node_ixs().map(|node| self.degree(node)).collect();
        let mut removed = vec![false; self.n_nodes()];
        let mut queue: Vec<NodeIx> = self.node_ixs().filter(|&node| !self.is_observed(node) && degree[node.get()] <= 1).collect();
        while let Some(leaf) = queue.pop() {
            if std::mem::replace(&mut removed[leaf.get()], true) {
                continue;
            }
            for link in self.links(leaf).iter().filter(|link| !removed[link.to.get()]) {
                degree[link.to.get()] -= 1;
                if degree[link.to.get()] <= 1 && !self.is_observed(link.to) {
                    queue.push(link.to);
                }
            }
        }
        let is_passed = |node: NodeIx| !self.is_observed(node) && degree[node.get()] == 2;
        let mut new_ix = vec![None; self.n_nodes()];
        let mut nodes = Vec::new();
        for node in self.node_ixs().filter(|&node| !removed[node.get()] && !is_passed(node)) {
            new_ix[node.get()] = Some(NodeIx::new(nodes.len()));
            nodes.push(self.node(node).clone());
        }
        let mut edges = Vec::new();
        for start in self.node_ixs() {
            let Some(a) = new_ix[start.get()] else { continue };
            for first in self.links(start).iter().filter(|link| !removed[link.to.get()]) {
                let mut link = *first;
                let mut from = start;
                while is_passed(link.to) {
                    let at = link.to;
                    let next = self.links(at).iter().find(|next| next.to != from && !removed[next.to.get()]);
                    let next = next.expect("a node of degree 2 has another neighbour");
                    link.length = link.length.zip(next.length).map(|(a, b)| a + b);
                    link.support = smaller(link.support, next.support);
                    link.bootstrap = smaller(link.bootstrap, next.bootstrap);
                    link.to = next.to;
                    from = at;
                }
                let b = new_ix[link.to.get()].expect("the walk ends at a node that stays");
                if a < b {
                    edges.push(link.edge(a, b));
                }
            }
        }
        Self::from_parts(nodes, &edges).expect("the minimal form of a tree is a tree")
    }

    /// The same tree, node for node, with hidden nodes named `h1`, `h2`, … in an order that depends on the observed names
    /// and the shape alone; names of observed nodes are skipped.
    ///
    /// Trees of a forest come in the order of their alphabetically first observed names. Each is walked depth first from
    /// that node, branches in the order of the first name they hold. Branches that hold no observed name come last, small
    /// ones first; only among such branches of equal size (there are none in a [minimal](Self::minimal) tree) does the
    /// order of links decide.
    #[must_use]
    pub fn relabel_hidden(&self) -> Self {
        let mut by_name: Vec<NodeIx> = self.node_ixs().filter(|&node| self.is_observed(node)).collect();
        by_name.sort_unstable_by(|&a, &b| self.name(a).cmp(self.name(b)));
        let mut rank = vec![usize::MAX; self.n_nodes()];
        for (position, node) in by_name.iter().enumerate() {
            rank[node.get()] = position;
        }
        let rooted = Rooted::at_first(self, &by_name);
        let mut first = rank;
        let mut size = vec![1_usize; self.n_nodes()];
        for &node in rooted.order.iter().rev() {
            if let Some(up) = rooted.parent[node.get()] {
                first[up.get()] = first[up.get()].min(first[node.get()]);
                size[up.get()] += size[node.get()];
            }
        }
        let key = |node: NodeIx| (first[node.get()], size[node.get()]);
        let mut children = rooted.children();
        for of_node in &mut children {
            of_node.sort_by_key(|&node| std::cmp::Reverse(key(node)));
        }
        let mut stack = rooted.roots;
        stack.sort_by_key(|&root| std::cmp::Reverse(key(root)));
        let taken: HashSet<&str> = by_name.iter().map(|&node| self.name(node)).collect();
        let mut names = (1_usize..).map(|number| format!("h{number}")).filter(|name| !taken.contains(name.as_str()));
        let mut relabelled = self.clone();
        while let Some(node) = stack.pop() {
            if !self.is_observed(node) {
                relabelled.nodes[node.get()].name = names.next().expect("numbers do not end");
            }
            stack.append(&mut children[node.get()]);
        }
        relabelled.by_name = relabelled.node_ixs().map(|node| (relabelled.name(node).to_owned(), node)).collect();
        relabelled
    }
}

impl Rooted {
    /// Roots each tree of a forest at the first of the given nodes that it holds, else at its centre.
    pub(super) fn at_first(tree: &Tree, candidates: &[NodeIx]) -> Self {
        let mut seen = vec![false; tree.n_nodes()];
        let mut roots = Vec::new();
        for &candidate in candidates {
            if seen[candidate.get()] {
                continue;
            }
            roots.push(candidate);
            seen[candidate.get()] = true;
            let mut stack = vec![candidate];
            while let Some(node) = stack.pop() {
                for link in tree.links(node) {
                    if !seen[link.to.get()] {
                        seen[link.to.get()] = true;
                        stack.push(link.to);
                    }
                }
            }
        }
        Self::with_roots(tree, &roots).expect("one root per tree")
    }
}
