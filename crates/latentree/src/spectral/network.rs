//! The structure of a spectral model: variables, joints of three branches, and the edges between them.
//!
//! A hidden node with three neighbours is a joint. A node with m > 3 neighbours is a chain of m − 2 joints, which are copies
//! of it; between two copies there is an edge whose sides are unions of its branches. Branches with many variables are placed
//! at the ends of the chain, so that each of these unions is informative about the node.
//!
//! An observed inner node separates the tree: given its label, nothing beyond it matters. The sides of an edge therefore end
//! at observed nodes.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, Shortened};
use crate::index::NodeIx;
use crate::tree::Tree;

/// The length assumed for an edge without one.
const NO_LENGTH: f64 = 0.5;
/// The minimum length of an edge.
const SHORTEST: f64 = 0.01;

/// One end of an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum End {
    /// A variable of the schema.
    Variable(usize),
    /// A joint.
    Joint(usize),
}

/// Variables, joints and edges.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Network {
    pub(crate) n_variables: usize,
    /// The three edges of each joint.
    pub(crate) joints: Vec<[usize; 3]>,
    /// The hidden node of the tree that each joint is a copy of.
    pub(crate) nodes: Vec<usize>,
    /// The two ends of each edge: its sides 0 and 1.
    pub(crate) edges: Vec<[End; 2]>,
}

/// The edges at each variable of a network.
pub(crate) struct Incidence {
    of_variables: Vec<Vec<usize>>,
}

impl Incidence {
    /// The edges of a variable.
    pub(crate) fn of_variable(&self, variable: usize) -> &[usize] {
        &self.of_variables[variable]
    }
}

impl Network {
    /// Builds the network of a tree and the lengths of its edges; `variable_of[node]` is the variable of an observed node.
    ///
    /// # Errors
    /// [`Error::Tree`] for a hidden node with fewer than three neighbours.
    pub(crate) fn new(tree: &Tree, variable_of: &[Option<usize>]) -> Result<(Self, Vec<f64>)> {
        let n_variables = variable_of.iter().flatten().count();
        let mut network = Self { n_variables, joints: Vec::new(), nodes: Vec::new(), edges: Vec::new() };
        let mut lengths = Vec::new();
        let sizes = branch_sizes(tree);
        // For each hidden node, the joint of each branch, by neighbour.
        let mut joint_of: Vec<Vec<(NodeIx, usize)>> = vec![Vec::new(); tree.n_nodes()];
        let mut ports: Vec<Vec<usize>> = Vec::new();
        for node in tree.node_ixs().filter(|&node| variable_of[node.get()].is_none()) {
            let degree = tree.degree(node);
            if degree < 3 {
                let name = Shortened(tree.name(node));
                return Err(Error::tree(format!(
                    "hidden node {name:?} has {degree} neighbours, and spectral methods need three; take it out of the tree (its \
                     neighbours can be joined directly), or use `parameters.method` moments+em"
                )));
            }
            let first = ports.len();
            let branches = ends_first(tree, node, &sizes);
            for (place, &branch) in branches.iter().enumerate() {
                joint_of[node.get()].push((branch, first + place.saturating_sub(1).min(degree - 3)));
            }
            for copy in 0..degree - 2 {
                network.nodes.push(node.get());
                ports.push(Vec::new());
                if copy > 0 {
                    let edge = network.edges.len();
                    network.edges.push([End::Joint(first + copy - 1), End::Joint(first + copy)]);
                    lengths.push(SHORTEST);
                    ports[first + copy - 1].push(edge);
                    ports[first + copy].push(edge);
                }
            }
        }
        for edge in tree.edges() {
            let ix = network.edges.len();
            let mut end = |node: NodeIx, other: NodeIx| match variable_of[node.get()] {
                Some(variable) => End::Variable(variable),
                None => {
                    let joint = joint_of[node.get()].iter().find(|it| it.0 == other).expect("every branch has a joint").1;
                    ports[joint].push(ix);
                    End::Joint(joint)
                }
            };
            let ends = [end(edge.a, edge.b), end(edge.b, edge.a)];
            network.edges.push(ends);
            lengths.push(edge.length.map_or(NO_LENGTH, |length| length.max(SHORTEST)));
        }
        network.joints = ports.into_iter().map(|edges| edges.try_into().expect("a joint has three edges")).collect();
        Ok((network, lengths))
    }

    /// The edges at each variable.
    pub(crate) fn incidence(&self) -> Incidence {
        let mut of_variables = vec![Vec::new(); self.n_variables];
        for (edge, ends) in self.edges.iter().enumerate() {
            for end in ends {
                if let End::Variable(variable) = end {
                    of_variables[*variable].push(edge);
                }
            }
        }
        Incidence { of_variables }
    }

    /// The side of an edge on which an end lies.
    pub(crate) fn side(&self, edge: usize, end: End) -> usize {
        usize::from(self.edges[edge][0] != end)
    }

    /// Returns whether an edge joins two variables.
    pub(crate) fn is_pair(&self, edge: usize) -> bool {
        matches!(self.edges[edge], [End::Variable(_), End::Variable(_)])
    }

    /// Visits the variables on a side of an edge, nearest first, until `take` returns false. Does not look beyond observed
    /// nodes.
    pub(crate) fn nearest(&self, lengths: &[f64], edge: usize, side: usize, mut take: impl FnMut(usize) -> bool) {
        // Lengths are finite and not negative, so their bit patterns sort in the same order.
        let mut heap = BinaryHeap::from([Reverse((0_u64, edge, side))]);
        while let Some(Reverse((far, edge, side))) = heap.pop() {
            let end = self.edges[edge][side];
            match end {
                End::Variable(variable) => {
                    if !take(variable) {
                        return;
                    }
                }
                End::Joint(joint) => {
                    for &next in self.joints[joint].iter().filter(|&&next| next != edge) {
                        let length = f64::from_bits(far) + lengths[next].min(1e100);
                        heap.push(Reverse((length.to_bits(), next, 1 - self.side(next, end))));
                    }
                }
            }
        }
    }

    /// Names the two ends of an edge, for messages to the user.
    pub(crate) fn describe(&self, edge: usize, tree: &Tree, names: &[&str]) -> String {
        let name = |end: End| match end {
            End::Variable(variable) => format!("{:?}", Shortened(names[variable])),
            End::Joint(joint) => format!("{:?}", Shortened(tree.name(NodeIx::new(self.nodes[joint])))),
        };
        let [a, b] = self.edges[edge].map(name);
        if a == b { format!("the branches of {a}") } else { format!("{a} – {b}") }
    }
}

/// The number of observed nodes beyond each link of each node, in the order of the links.
fn branch_sizes(tree: &Tree) -> Vec<Vec<usize>> {
    let rooted = crate::tree::Rooted::with_roots(tree, &[]).expect("no roots are given");
    let mut below = vec![0_usize; tree.n_nodes()];
    let mut total = vec![0_usize; tree.n_nodes()];
    for &node in rooted.order.iter().rev() {
        below[node.get()] += usize::from(tree.is_observed(node));
        match rooted.parent[node.get()] {
            Some(parent) => below[parent.get()] += below[node.get()],
            None => total[node.get()] = below[node.get()],
        }
    }
    for &node in &rooted.order {
        if let Some(parent) = rooted.parent[node.get()] {
            total[node.get()] = total[parent.get()];
        }
    }
    let size = |node: NodeIx, to: NodeIx| match rooted.parent[to.get()] {
        Some(parent) if parent == node => below[to.get()],
        _ => total[node.get()] - below[node.get()],
    };
    tree.node_ixs().map(|node| tree.links(node).iter().map(|link| size(node, link.to)).collect()).collect()
}

/// The neighbours of a node, ordered so that the largest branches are at both ends.
fn ends_first(tree: &Tree, node: NodeIx, sizes: &[Vec<usize>]) -> Vec<NodeIx> {
    let links = tree.links(node);
    let mut order: Vec<usize> = (0..links.len()).collect();
    order.sort_by_key(|&ix| (sizes[node.get()][ix], links[ix].to));
    let mut placed = VecDeque::new();
    for (rank, ix) in order.into_iter().enumerate() {
        if rank % 2 == 0 {
            placed.push_front(links[ix].to);
        } else {
            placed.push_back(links[ix].to);
        }
    }
    placed.into()
}
