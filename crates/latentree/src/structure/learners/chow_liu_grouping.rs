//! Chow–Liu grouping: a local learner at each inner node of the spanning tree, one after the other, on a tree that grows. Choi et
//! al. (2011), §5.4 and §6.5: with recursive grouping it is CLRG, with neighbour joining CLNJ, with a star CLBlind.
//!
//! The neighbourhood of a leader in the growing tree may have hidden nodes of leaders before it. Such a node `h` has distance
//! `d_hx = d_rx − d_rh` to a node x beyond the leader, for any variable r on the other side of h. The paper takes h's surrogate
//! for r; here it is the precision-weighted mean over the few variables nearest to h in the growing tree, of which the surrogate
//! is the first.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};

use super::local_subtree::LocalSubtree;
use super::{Candidate, StructureLearner};
use crate::distance::DistanceMatrix;
use crate::error::{Error, Result};
use crate::index::NodeIx;
use crate::observer::{Observer, Quiet};
use crate::tree::{Edge, Node, Tree};

/// Variables by which distances from a hidden node are estimated.
const REPRESENTATIVES: usize = 4;
/// Longer distances are taken for this long: sums stay finite.
const LONGEST: f64 = 1e100;

/// The candidate of every inner node of the spanning tree, in the order in which the local learner was run on the growing tree.
///
/// [`apply`](super::apply) of all of them, contracted, is the tree of `clrg` or `clnj`; of a subset, that of `reg-clrg` or
/// `reg-clnj` when a score has chosen it. Leaders come in the order of the mean lengths of their edges, as short distances are
/// the most precise.
///
/// # Arguments
/// - `distances`: of one component, all defined;
/// - `spanning_tree`: their [`distance_spanning_tree`](super::distance_spanning_tree);
/// - `local`: the learner of neighbourhoods.
///
/// # Errors
/// [`Error::Tree`] if the spanning tree is not one over the variables in their order, [`Error::Cancelled`] if the observer asks
/// to stop.
pub fn candidates(
    distances: &DistanceMatrix,
    spanning_tree: &Tree,
    local: &dyn StructureLearner,
    observer: &dyn Observer,
) -> Result<Vec<Candidate>> {
    let names = spanning_tree.nodes().iter().map(|node| &node.name);
    if !names.eq(distances.names()) || !spanning_tree.is_connected() || spanning_tree.n_hidden() > 0 {
        return Err(Error::tree("the spanning tree is not one tree over the variables in the order of the distances"));
    }
    let leaders = leaders(spanning_tree);
    observer.stage("local trees", Some(leaders.len() as u64));
    let mut growing = GrowingTree::new(distances, spanning_tree);
    let mut names = HiddenNames::new(distances.names());
    let mut candidates = Vec::with_capacity(leaders.len());
    for (done, leader) in leaders.into_iter().enumerate() {
        if observer.cancelled() {
            return Err(Error::Cancelled);
        }
        let neighbourhood = growing.neighbourhood(leader.get())?;
        let tree = local.learn_component(&neighbourhood, &Quiet(observer))?;
        let subtree = LocalSubtree::new(&tree, neighbourhood.len() - 1);
        let beyond: Vec<f64> = growing.links[leader.get()].iter().map(|link| link.beyond).collect();
        candidates.push(candidate(spanning_tree, leader, &subtree, &beyond, names.take(subtree.n_hidden()))?);
        growing.replace(leader.get(), &subtree);
        observer.progress(done as u64 + 1);
    }
    Ok(candidates)
}

/// The inner nodes of a spanning tree, those with short edges first.
pub(super) fn leaders(spanning_tree: &Tree) -> Vec<NodeIx> {
    let mut leaders: Vec<NodeIx> = spanning_tree.node_ixs().filter(|&node| spanning_tree.degree(node) > 1).collect();
    let mean = |node: NodeIx| {
        let links = spanning_tree.links(node);
        links.iter().filter_map(|link| link.length).sum::<f64>() / links.len() as f64
    };
    leaders.sort_by(|&a, &b| mean(a).total_cmp(&mean(b)).then(a.cmp(&b)));
    leaders
}

/// A candidate from a leader's subtree; `beyond` is how much farther each neighbour itself is than the node that stood
/// for it, `hidden` the names of the hidden nodes.
pub(super) fn candidate(
    spanning_tree: &Tree,
    leader: NodeIx,
    subtree: &LocalSubtree,
    beyond: &[f64],
    hidden: Vec<String>,
) -> Result<Candidate> {
    let neighbours = spanning_tree.links(leader).iter().map(|link| link.to);
    let mut nodes: Vec<Node> = std::iter::once(leader).chain(neighbours).map(|node| spanning_tree.node(node).clone()).collect();
    nodes.extend(hidden.into_iter().map(|name| Node { name, observed: false }));
    let edges: Vec<Edge> = (subtree.edges.iter())
        .map(|&(a, b, length)| {
            let more = [a, b].into_iter().filter(|node| (1..=subtree.n_neighbours).contains(node)).map(|node| beyond[node - 1]);
            Edge::with_length(NodeIx::new(a), NodeIx::new(b), length + more.sum::<f64>())
        })
        .collect();
    Ok(Candidate { leader: spanning_tree.name(leader).to_owned(), subtree: Tree::from_parts(nodes, &edges)? })
}

/// Names `h1`, `h2`, … without those of variables.
pub(super) struct HiddenNames {
    taken: HashSet<String>,
    next: usize,
}

impl HiddenNames {
    pub(super) fn new(observed: &[String]) -> Self {
        Self { taken: observed.iter().cloned().collect(), next: 1 }
    }

    /// The next names.
    pub(super) fn take(&mut self, n_names: usize) -> Vec<String> {
        let mut names = Vec::with_capacity(n_names);
        while names.len() < n_names {
            let name = format!("h{}", self.next);
            self.next += 1;
            if !self.taken.contains(&name) {
                names.push(name);
            }
        }
        names
    }
}

#[derive(Clone, Copy)]
struct GrowingLink {
    to: usize,
    length: f64,
    /// Where `to` is a hidden node that stands for a neighbour in the spanning tree: the distance from it to that neighbour.
    beyond: f64,
}

/// A variable near a hidden node, or a variable itself.
#[derive(Clone, Copy)]
struct Representative {
    variable: usize,
    distance: f64,
}

/// The spanning tree, some of its neighbourhoods replaced. The links of a leader that is not done yet are in the order of the
/// spanning tree's.
struct GrowingTree<'a> {
    distances: &'a DistanceMatrix,
    links: Vec<Vec<GrowingLink>>,
}

impl<'a> GrowingTree<'a> {
    fn new(distances: &'a DistanceMatrix, spanning_tree: &Tree) -> Self {
        let link = |link: &crate::tree::Link| GrowingLink { to: link.to.get(), length: link.length.unwrap_or(0.0), beyond: 0.0 };
        let links = spanning_tree.node_ixs().map(|node| spanning_tree.links(node).iter().map(link).collect()).collect();
        Self { distances, links }
    }

    fn is_hidden(&self, node: usize) -> bool {
        node >= self.distances.len()
    }

    fn distance(&self, i: usize, j: usize) -> f64 {
        self.distances.raw(i, j).min(LONGEST)
    }

    /// Distances in the closed neighbourhood of a leader, which comes first.
    fn neighbourhood(&self, leader: usize) -> Result<DistanceMatrix> {
        let links = &self.links[leader];
        let representatives: Vec<Vec<Representative>> = links.iter().map(|link| self.representatives(link.to, leader)).collect();
        let n = links.len() + 1;
        let has_errors = self.distances.has_errors();
        let mut values = Vec::with_capacity(n * (n - 1) / 2);
        let mut errors = Vec::with_capacity(if has_errors { values.capacity() } else { 0 });
        for (i, link) in links.iter().enumerate() {
            values.push(if self.is_hidden(link.to) { link.length } else { self.distance(link.to, leader) });
            let of_i = &representatives[i];
            if has_errors {
                errors.push(self.error(of_i[0].variable, leader));
            }
            for of_j in &representatives[..i] {
                let (value, error) = self.estimate(of_i, of_j);
                values.push(value.max(0.0));
                if has_errors {
                    errors.push(error);
                }
            }
        }
        let names = (0..n).map(|ix| ix.to_string()).collect();
        DistanceMatrix::from_lower(names, values, has_errors.then_some(errors))
    }

    /// The nearest variables of a node, on the side away from the leader next to it.
    fn representatives(&self, node: usize, leader: usize) -> Vec<Representative> {
        if !self.is_hidden(node) {
            return vec![Representative { variable: node, distance: 0.0 }];
        }
        let mut found = Vec::with_capacity(REPRESENTATIVES);
        // Lengths are ≥ 0, and so their bits are in their order.
        let mut queue = BinaryHeap::from([(Reverse(0.0_f64.to_bits()), Reverse(node), leader)]);
        while let Some((Reverse(bits), Reverse(at), from)) = queue.pop() {
            let distance = f64::from_bits(bits);
            if !self.is_hidden(at) {
                found.push(Representative { variable: at, distance });
                if found.len() == REPRESENTATIVES {
                    break;
                }
                continue;
            }
            let onward = self.links[at].iter().filter(|link| link.to != from);
            queue.extend(onward.map(|link| (Reverse((distance + link.length).to_bits()), Reverse(link.to), at)));
        }
        found
    }

    fn error(&self, i: usize, j: usize) -> f64 {
        let known = self.distances.error(i, j).filter(|error| error.is_finite());
        known.unwrap_or_else(|| 0.05 * self.distance(i, j).min(18.0).sinh()).clamp(1e-6, 1e6)
    }

    /// The distance between two nodes that are known by their representatives, and its standard error.
    fn estimate(&self, a: &[Representative], b: &[Representative]) -> (f64, f64) {
        if let ([a], [b]) = (a, b) {
            let value = self.distance(a.variable, b.variable) - a.distance - b.distance;
            return (value, if self.distances.has_errors() { self.error(a.variable, b.variable) } else { 0.0 });
        }
        let (mut sum, mut weights, mut least) = (0.0, 0.0, f64::INFINITY);
        for of_a in a {
            for of_b in b {
                let variance = self.error(of_a.variable, of_b.variable).powi(2);
                sum += (self.distance(of_a.variable, of_b.variable) - of_a.distance - of_b.distance) / variance;
                weights += variance.recip();
                least = variance.min(least);
            }
        }
        (sum / weights, (0.5 * (weights.recip() + least)).sqrt())
    }

    /// Puts a leader's subtree in the place of its neighbourhood.
    fn replace(&mut self, leader: usize, subtree: &LocalSubtree) {
        let first_hidden = self.links.len();
        let old = std::mem::take(&mut self.links[leader]);
        self.links.resize_with(first_hidden + subtree.n_hidden(), Vec::new);
        let depth = subtree.depths();
        let place = |node: usize| if node == 0 { leader } else { first_hidden + node - 1 - subtree.n_neighbours };
        for &(a, b, length) in &subtree.edges {
            let (inner, neighbour) = if (1..=subtree.n_neighbours).contains(&a) { (b, a) } else { (a, b) };
            if !(1..=subtree.n_neighbours).contains(&neighbour) {
                self.links[place(a)].push(GrowingLink { to: place(b), length, beyond: 0.0 });
                self.links[place(b)].push(GrowingLink { to: place(a), length, beyond: 0.0 });
                continue;
            }
            let outer = old[neighbour - 1].to;
            self.links[place(inner)].push(GrowingLink { to: outer, length, beyond: 0.0 });
            let back = self.links[outer].iter_mut().find(|link| link.to == leader).expect("neighbours know each other");
            *back = GrowingLink { to: place(inner), length, beyond: depth[inner] };
        }
    }
}
