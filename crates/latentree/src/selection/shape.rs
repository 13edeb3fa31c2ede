//! A latent tree whose observed variables are all leaves, in a form that is easy to edit.

use std::sync::Arc;

use crate::data::Schema;
use crate::tree::Tree;
use crate::{NodeIx, Result};

/// Hidden nodes with their numbers of states, the links between them, and the hidden node of each variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) states: Vec<usize>,
    pub(super) links: Vec<(usize, usize)>,
    pub(super) leaf_of: Vec<usize>,
}

impl Shape {
    /// The shape of a tree over the variables of a schema, with the same number of states everywhere. An observed node with
    /// several neighbours, or without a hidden one, is replaced by a hidden node it hangs on; trees of a forest are joined at
    /// these nodes.
    pub(super) fn of_tree(tree: &Tree, schema: &Schema, n_states: usize) -> Self {
        let is_leaf =
            |node: NodeIx| tree.is_observed(node) && tree.degree(node) == 1 && !tree.is_observed(tree.links(node)[0].to);
        let mut place = vec![usize::MAX; tree.n_nodes()];
        let mut n_hidden = 0;
        for node in tree.node_ixs().filter(|&node| !is_leaf(node)) {
            place[node.get()] = n_hidden;
            n_hidden += 1;
        }
        let links = tree.edges().filter(|edge| !is_leaf(edge.a) && !is_leaf(edge.b));
        let mut links: Vec<(usize, usize)> = links.map(|edge| (place[edge.a.get()], place[edge.b.get()])).collect();
        let leaf_of = schema.variables().iter().map(|variable| {
            let node = tree.find(&variable.name).expect("a tree over the variables");
            if is_leaf(node) { place[tree.links(node)[0].to.get()] } else { place[node.get()] }
        });
        let leaf_of = leaf_of.collect();
        join(n_hidden, &mut links);
        Self { leaf_of, links, states: vec![n_states; n_hidden] }.pruned().0
    }

    pub(super) fn n_hidden(&self) -> usize {
        self.states.len()
    }

    /// Number of neighbours of each hidden node.
    pub(super) fn degrees(&self) -> Vec<usize> {
        let mut degrees = vec![0; self.n_hidden()];
        self.leaf_of.iter().for_each(|&hidden| degrees[hidden] += 1);
        self.links.iter().for_each(|&(a, b)| {
            degrees[a] += 1;
            degrees[b] += 1;
        });
        degrees
    }

    /// Removes hidden nodes with fewer than three neighbours, and returns which nodes stay. Their neighbours are attached to
    /// a hidden neighbour instead, or to each other. A single hidden node stays.
    pub(super) fn pruned(mut self) -> (Self, Vec<usize>) {
        let mut gone = vec![false; self.n_hidden()];
        loop {
            let degrees = self.degrees();
            let weak = (0..self.n_hidden())
                .find(|&ix| !gone[ix] && degrees[ix] < 3 && self.links.iter().any(|&(a, b)| a == ix || b == ix));
            let Some(weak) = weak else { break };
            let mut neighbours = self.links.iter().filter_map(|&(a, b)| (a == weak).then_some(b).or((b == weak).then_some(a)));
            let heir = neighbours.next().expect("it has a hidden neighbour");
            let other = neighbours.next();
            self.links.retain(|&(a, b)| a != weak && b != weak);
            self.links.extend(other.map(|other| (heir, other)));
            self.leaf_of.iter_mut().filter(|hidden| **hidden == weak).for_each(|hidden| *hidden = heir);
            gone[weak] = true;
        }
        let is_used = |ix: usize| self.leaf_of.contains(&ix) || self.links.iter().any(|&(a, b)| a == ix || b == ix);
        let kept: Vec<usize> = (0..self.n_hidden()).filter(|&ix| !gone[ix] && is_used(ix)).collect();
        (self.only(&kept), kept)
    }

    /// The shape restricted to these hidden nodes; nothing else may refer to the others.
    pub(super) fn only(&self, kept: &[usize]) -> Self {
        let mut place = vec![usize::MAX; self.n_hidden()];
        kept.iter().enumerate().for_each(|(new, &old)| place[old] = new);
        Self {
            states: kept.iter().map(|&ix| self.states[ix]).collect(),
            links: self.links.iter().map(|&(a, b)| (place[a], place[b])).collect(),
            leaf_of: self.leaf_of.iter().map(|&ix| place[ix]).collect(),
        }
    }

    /// The tree: variables first, then the hidden nodes in order.
    pub(super) fn tree(&self, schema: &Arc<Schema>) -> Result<Tree> {
        let mut tree = Tree::new();
        for variable in schema.variables() {
            tree.add_observed(variable.name.clone())?;
        }
        let hidden: Vec<NodeIx> = self.states.iter().map(|_| tree.add_next_hidden()).collect();
        for (variable, &at) in self.leaf_of.iter().enumerate() {
            tree.connect(hidden[at], NodeIx::new(variable), None)?;
        }
        for &(a, b) in &self.links {
            tree.connect(hidden[a], hidden[b], None)?;
        }
        Ok(tree)
    }
}

/// Adds a link from the first node to each part that is not connected to it.
fn join(n_nodes: usize, links: &mut Vec<(usize, usize)>) {
    let mut part: Vec<usize> = (0..n_nodes).collect();
    for &(a, b) in links.iter() {
        let (from, to) = (part[a].max(part[b]), part[a].min(part[b]));
        part.iter_mut().filter(|it| **it == from).for_each(|it| *it = to);
    }
    for node in 1..n_nodes {
        if part[node] == node {
            links.push((0, node));
        }
    }
}
