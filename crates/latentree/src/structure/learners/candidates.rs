//! Candidate subtrees: what would replace the closed neighbourhood of each inner node of the Chow–Liu tree.
//!
//! An inner node of the spanning tree, the *leader*, and its neighbours get a local latent tree. All learners that start from the
//! spanning tree make such a list and apply all of it; the regularised ones (Choi et al. 2011, §6.6) choose from it by a score,
//! and so may a person.
//!
//! # How candidates fit together
//! In a candidate every neighbour is a leaf and stands for all that lies beyond the spanning tree's edge to it. A hidden node is
//! the leader's own: its nearest variable is the leader (the inverse surrogate set of §5.2). So candidates touch only at edges
//! between two leaders. Where both ends of the spanning tree's edge (i, j) have an applied candidate, the node next to j in i's
//! subtree is joined to the node next to i in j's: Huang et al. (2020), eq. 5. Where one has, its subtree's edge to the neighbour
//! stays; where none has, so does the spanning tree's edge. Any subset in any order therefore gives a tree, whose hidden nodes
//! have as many neighbours as in their candidates.

use std::collections::HashMap;

use rayon::prelude::*;

use crate::error::{Error, Result, Shortened};
use crate::index::NodeIx;
use crate::tree::{Edge, Node, Tree};

/// A latent tree over the closed neighbourhood of an inner node of the spanning tree.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// Name of the inner node.
    pub leader: String,
    /// The subtree: node 0 is the leader, then come its neighbours in the spanning tree, all of them leaves, then the hidden
    /// nodes. Lengths are those to the variables themselves, whatever else is applied.
    pub subtree: Tree,
}

/// Where an applied candidate holds on to the rest.
struct Applied<'a> {
    candidate: &'a Candidate,
    /// Position in the list.
    order: usize,
    /// Number of its first hidden node in the whole tree.
    first_hidden: usize,
    n_neighbours: usize,
    /// By neighbour: its position in the subtree.
    position: HashMap<NodeIx, NodeIx>,
    /// Distance of each of the subtree's nodes from the leader.
    depth: Vec<f64>,
}

impl Applied<'_> {
    /// A node of the subtree that is not a neighbour, in the whole tree.
    fn place(&self, leader: NodeIx, node: NodeIx) -> NodeIx {
        if node.get() == 0 { leader } else { NodeIx::new(self.first_hidden + node.get() - 1 - self.n_neighbours) }
    }

    /// The node that carries the branch to a neighbour, and the length to the neighbour itself.
    fn branch(&self, neighbour: NodeIx) -> (NodeIx, f64) {
        let link = self.candidate.subtree.links(self.position[&neighbour])[0];
        (link.to, link.length.unwrap_or(0.0))
    }
}

/// The spanning tree with some candidates applied.
///
/// Where two candidates meet, the length of the edge that joins them is the later one's. Nothing is contracted: a learner's tree
/// is [`contract_short`](crate::structure::contract_short) of the result with all its candidates.
///
/// # Errors
/// [`Error::Tree`] if a candidate does not fit the spanning tree: its leader or neighbours are others, a neighbour is no leaf, a
/// hidden name is taken, or a leader appears twice.
///
/// # Complexity
/// O(n) for n nodes in all.
pub fn apply(spanning_tree: &Tree, candidates: &[Candidate]) -> Result<Tree> {
    let mut nodes: Vec<Node> = spanning_tree.nodes().to_vec();
    let mut edges: Vec<Edge> = Vec::new();
    let mut by_leader: Vec<Option<Applied<'_>>> = spanning_tree.node_ixs().map(|_| None).collect();
    let checked: Vec<Result<(NodeIx, Applied<'_>)>> = candidates
        .par_iter()
        .enumerate()
        .with_min_len(64)
        .map(|(order, candidate)| check(spanning_tree, candidate, order))
        .collect();
    for checked in checked {
        let (leader, mut applied) = checked?;
        applied.first_hidden = nodes.len();
        let subtree = &applied.candidate.subtree;
        nodes.extend(subtree.nodes()[1 + applied.n_neighbours..].iter().cloned());
        let is_neighbour = |node: NodeIx| (1..=applied.n_neighbours).contains(&node.get());
        let inner = subtree.edges().filter(|edge| !is_neighbour(edge.a) && !is_neighbour(edge.b));
        edges.extend(inner.map(|edge| Edge { a: applied.place(leader, edge.a), b: applied.place(leader, edge.b), ..edge }));
        if let Some(twice) = by_leader[leader.get()].replace(applied) {
            return Err(misfit(twice.candidate, "appears twice"));
        }
    }
    for edge in spanning_tree.edges() {
        let (mut joined, of_a, of_b) = (edge, &by_leader[edge.a.get()], &by_leader[edge.b.get()]);
        let at_a = of_a.as_ref().map(|applied| (applied, applied.branch(edge.b)));
        let at_b = of_b.as_ref().map(|applied| (applied, applied.branch(edge.a)));
        if let Some((applied, (node, length))) = at_a {
            joined.a = applied.place(edge.a, node);
            joined.length = Some(length);
        }
        if let Some((applied, (node, length))) = at_b {
            joined.b = applied.place(edge.b, node);
            joined.length = Some(length);
        }
        if let (Some((a, (at_a, to_b))), Some((b, (at_b, to_a)))) = (at_a, at_b) {
            let length = if a.order < b.order { to_a - a.depth[at_a.get()] } else { to_b - b.depth[at_b.get()] };
            joined.length = Some(length.max(0.0));
        }
        edges.push(joined);
    }
    Tree::from_parts(nodes, &edges)
}

fn misfit(candidate: &Candidate, problem: &str) -> Error {
    Error::tree(format!("the candidate of {:?} {problem}", Shortened(&candidate.leader)))
}

/// Checks that a candidate fits the spanning tree, and looks up what is needed to apply it.
fn check<'a>(spanning_tree: &Tree, candidate: &'a Candidate, order: usize) -> Result<(NodeIx, Applied<'a>)> {
    let misfit = |problem: &str| misfit(candidate, problem);
    let leader = spanning_tree.find(&candidate.leader).ok_or_else(|| misfit("is for another spanning tree"))?;
    let subtree = &candidate.subtree;
    let n_neighbours = spanning_tree.degree(leader);
    if subtree.n_nodes() <= n_neighbours || subtree.name(NodeIx::new(0)) != candidate.leader {
        return Err(misfit("has too few nodes, or not the leader first"));
    }
    if !subtree.is_connected() || subtree.node_ixs().any(|node| subtree.is_observed(node) != (node.get() <= n_neighbours)) {
        return Err(misfit("is not one tree of the leader, its neighbours and then hidden nodes"));
    }
    let neighbours: Vec<NodeIx> = spanning_tree.links(leader).iter().map(|link| link.to).collect();
    let mut position = HashMap::with_capacity(n_neighbours);
    for at in (1..=n_neighbours).map(NodeIx::new) {
        let found = spanning_tree.find(subtree.name(at)).filter(|node| *node != leader);
        let neighbour = found.ok_or_else(|| misfit("has a neighbour that is not in the spanning tree"))?;
        let link =
            subtree.links(at).first().filter(|link| subtree.degree(at) == 1 && !(1..=n_neighbours).contains(&link.to.get()));
        if link.is_none() {
            return Err(misfit("has a neighbour that is not a leaf"));
        }
        position.insert(neighbour, at);
    }
    if neighbours.iter().any(|neighbour| !position.contains_key(neighbour)) {
        return Err(misfit("lacks a neighbour that its leader has in the spanning tree"));
    }
    let mut depth = vec![0.0; subtree.n_nodes()];
    let mut stack = vec![(NodeIx::new(0), NodeIx::new(0))];
    while let Some((node, from)) = stack.pop() {
        for link in subtree.links(node).iter().filter(|link| link.to != from) {
            depth[link.to.get()] = depth[node.get()] + link.length.unwrap_or(0.0);
            stack.push((link.to, node));
        }
    }
    Ok((leader, Applied { candidate, order, first_hidden: 0, n_neighbours, position, depth }))
}
