//! Trees of parts of the variables, and how two of them become one.

use std::collections::HashMap;

use crate::distance::DistanceMatrix;
use crate::error::Result;
use crate::index::NodeIx;
use crate::structure::contract_short;
use crate::tree::{Edge, Node, Tree};

/// Joints that explain the weights this nearly as well as the best may be better: the difference is rounding errors.
const ROUNDING: f64 = 1e-12;

/// More joints than this are never compared by logarithms, as each takes time linear in the piece.
const MAX_TIE: usize = 64;

/// A forest of growing pieces. Nodes `0..n_observed` are the variables; lengths are in units of `1 / scale`.
pub(super) struct Pieces {
    n_observed: usize,
    scale: f64,
    neighbours: Vec<Vec<(usize, f64)>>,
}

/// Where a piece is joined to the rest, and how strongly.
#[derive(Debug, Clone, Copy)]
struct Joint {
    /// The ends of the edge, and the length from the first end; `None` for a piece of one node.
    edge: Option<(usize, usize, f64)>,
    /// The weights are about this number times `exp(−distance from the joint)`.
    factor: f64,
}

/// Sums over the variables on one side of an edge, seen from the end of the edge on that side, with `q = exp(−distance)`.
#[derive(Debug, Clone, Copy, Default)]
struct Side {
    /// `Σ weight · q`.
    fit: f64,
    /// `Σ q²`.
    norm: f64,
}

impl Side {
    /// Seen from farther away.
    fn moved(self, length: f64) -> Self {
        let decay = (-length).exp();
        Self { fit: self.fit * decay, norm: self.norm * decay * decay }
    }

    fn plus(self, other: Self) -> Self {
        Self { fit: self.fit + other.fit, norm: self.norm + other.norm }
    }

    /// How much of the weights' square is explained, and by which factor.
    fn explained(self) -> (f64, f64) {
        if self.norm > 0.0 { (self.fit * self.fit / self.norm, self.fit / self.norm) } else { (0.0, 0.0) }
    }
}

impl Pieces {
    pub(super) fn new(n_observed: usize, scale: f64) -> Self {
        Self { n_observed, scale, neighbours: vec![Vec::new(); n_observed] }
    }

    fn add_hidden(&mut self) -> usize {
        self.neighbours.push(Vec::new());
        self.neighbours.len() - 1
    }

    fn connect(&mut self, a: usize, b: usize, length: f64) {
        self.neighbours[a].push((b, length));
        self.neighbours[b].push((a, length));
    }

    /// Adds a tree of some variables.
    pub(super) fn add(&mut self, members: &[usize], tree: &Tree) {
        let first = self.neighbours.len();
        self.neighbours.resize(first + tree.n_nodes() - members.len(), Vec::new());
        let place = |node: NodeIx| members.get(node.get()).copied().unwrap_or(first + node.get() - members.len());
        for edge in tree.edges() {
            self.connect(place(edge.a), place(edge.b), edge.length.unwrap_or(0.0) * self.scale);
        }
    }

    /// Adds an edge between two variables.
    pub(super) fn add_pair(&mut self, a: usize, b: usize, distance: f64) {
        self.connect(a, b, distance * self.scale);
    }

    /// Joins the pieces of two sets of variables by an edge.
    ///
    /// The block of affinities between the two is about `σ u vᵀ`. Its left vector says how near every variable of the
    /// one piece is to the joint, up to a factor; so the joint is where `exp(−distance)` is most like it.
    pub(super) fn join(&mut self, left: &[usize], right: &[usize], distances: &DistanceMatrix) {
        let block = Block::new(left, right, distances, self.scale);
        let (strength, of_left, of_right) = block.rank_one();
        let (at_left, at_right) = (self.joint(left, &of_left), self.joint(right, &of_right));
        let length = block.nearest - (strength * at_left.factor * at_right.factor).ln();
        let length = if length.is_finite() { length.max(0.0) } else { block.nearest };
        let (a, b) = (self.place(left[0], at_left), self.place(right[0], at_right));
        self.connect(a, b, length);
    }

    /// The node of a joint, which is made on its edge.
    fn place(&mut self, only: usize, joint: Joint) -> usize {
        let Some((a, b, from_a)) = joint.edge else { return only };
        let at = self.neighbours[a].iter().position(|link| link.0 == b).expect("the ends are neighbours");
        let (_, length) = self.neighbours[a].swap_remove(at);
        let at = self.neighbours[b].iter().position(|link| link.0 == a).expect("the ends are neighbours");
        self.neighbours[b].swap_remove(at);
        let node = self.add_hidden();
        self.connect(a, node, from_a);
        self.connect(node, b, length - from_a);
        node
    }

    /// The place in the piece of these variables whose affinities to them are most like their weights. All edges are
    /// tried, in time linear in the size of the piece.
    fn joint(&self, members: &[usize], weights: &[f64]) -> Joint {
        let weight_of: HashMap<usize, f64> = members.iter().copied().zip(weights.iter().copied()).collect();
        let own = |node: usize| match weight_of.get(&node) {
            Some(&weight) => Side { fit: weight, norm: 1.0 },
            None => Side::default(),
        };
        // Parents first: node, position of its parent, length of the edge to it.
        let mut order = vec![(members[0], 0_usize, 0.0)];
        let mut children: Vec<std::ops::Range<usize>> = Vec::new();
        let mut at = 0;
        while at < order.len() {
            let (node, parent, _) = order[at];
            let above = if at == 0 { usize::MAX } else { order[parent].0 };
            let first = order.len();
            order.extend(self.neighbours[node].iter().filter(|link| link.0 != above).map(|&(to, length)| (to, at, length)));
            children.push(first..order.len());
            at += 1;
        }
        if order.len() == 1 {
            return Joint { edge: None, factor: weights[0] };
        }
        let mut below: Vec<Side> = order.iter().map(|&(node, ..)| own(node)).collect();
        for at in (1..order.len()).rev() {
            let (_, parent, length) = order[at];
            below[parent] = below[parent].plus(below[at].moved(length));
        }
        // What is not below a node, seen from its parent. Sums from both ends, as differences would be rounding errors.
        let mut above = vec![Side::default(); order.len()];
        for at in 0..order.len() {
            let (node, _, length) = order[at];
            let rest = if at == 0 { own(node) } else { own(node).plus(above[at].moved(length)) };
            let seen = |child: usize| below[child].moved(order[child].2);
            let mut sum = rest;
            for child in children[at].clone() {
                above[child] = sum;
                sum = sum.plus(seen(child));
            }
            let mut sum = Side::default();
            for child in children[at].clone().rev() {
                above[child] = above[child].plus(sum);
                sum = sum.plus(seen(child));
            }
        }
        let mut joints: Vec<(f64, Joint)> = Vec::with_capacity(order.len());
        for at in 1..order.len() {
            let (node, parent, length) = order[at];
            let (near, far) = (below[at], above[at]);
            // With factors of their own, both sides say how far the joint is from their end of the edge.
            let difference = far.explained().1.ln() - near.explained().1.ln();
            let from_node = if difference.is_nan() { length / 2.0 } else { ((difference + length) / 2.0).clamp(0.0, length) };
            let (explained, factor) = near.moved(from_node).plus(far.moved(length - from_node)).explained();
            joints.push((explained, Joint { edge: Some((node, order[parent].0, from_node)), factor }));
        }
        let best = joints.iter().fold(f64::NEG_INFINITY, |best, joint| best.max(joint.0));
        joints.retain(|joint| joint.0 >= best * (1.0 - ROUNDING));
        // Variables too far to be seen next to the nearest ones are seen by their logarithms, which are just as exact.
        if joints.len() > 1 {
            for (score, joint) in joints.iter_mut().take(MAX_TIE) {
                *score = -self.logarithmic_error(*joint, &weight_of);
            }
            joints.truncate(MAX_TIE);
        }
        joints.into_iter().reduce(|best, next| if next.0 > best.0 { next } else { best }).expect("there is an edge").1
    }

    /// The variance of `ln weight + distance from the joint`.
    fn logarithmic_error(&self, joint: Joint, weight_of: &HashMap<usize, f64>) -> f64 {
        let Some((a, b, from_a)) = joint.edge else { return 0.0 };
        let length = self.neighbours[a].iter().find(|link| link.0 == b).map_or(0.0, |link| link.1);
        let mut stack = vec![(a, b, from_a), (b, a, length - from_a)];
        let (mut count, mut mean, mut squares) = (0.0, 0.0, 0.0);
        while let Some((node, from, distance)) = stack.pop() {
            if let Some(weight) = weight_of.get(&node).filter(|weight| **weight > 0.0) {
                count += 1.0;
                let value = weight.ln() + distance;
                let before = value - mean;
                mean += before / count;
                squares += before * (value - mean);
            }
            let onward = self.neighbours[node].iter().filter(|link| link.0 != from);
            stack.extend(onward.map(|&(to, length)| (to, node, distance + length)));
        }
        squares
    }

    /// The one tree that is left, with edges of at most the given length contracted.
    pub(super) fn finish(self, names: &[String], contract: Option<f64>) -> Result<Tree> {
        let node = |ix: usize| match names.get(ix) {
            Some(name) => Node { name: name.clone(), observed: true },
            None => Node { name: format!("\u{0}{ix}"), observed: false },
        };
        let nodes = (0..self.neighbours.len()).map(node).collect();
        debug_assert_eq!(self.n_observed, names.len());
        let mut edges = Vec::with_capacity(self.neighbours.len());
        for (a, links) in self.neighbours.iter().enumerate() {
            for &(b, length) in links.iter().filter(|link| link.0 > a) {
                edges.push(Edge::with_length(NodeIx::new(a), NodeIx::new(b), length / self.scale));
            }
        }
        let tree = Tree::from_parts(nodes, &edges)?;
        Ok(match contract {
            Some(threshold) => contract_short(&tree, threshold),
            None => tree.minimal(),
        })
    }
}

/// Affinities between two sets of variables, each divided by the largest of them.
struct Block {
    values: Vec<f64>,
    n_columns: usize,
    /// The least distance between the two, scaled.
    nearest: f64,
}

impl Block {
    fn new(rows: &[usize], columns: &[usize], distances: &DistanceMatrix, scale: f64) -> Self {
        let all = || rows.iter().flat_map(|&row| columns.iter().map(move |&column| distances.raw(row, column) * scale));
        let nearest = all().fold(f64::INFINITY, f64::min);
        let values = all().map(|distance| super::affinity(distance - nearest)).collect();
        Self { values, n_columns: columns.len(), nearest }
    }

    /// The largest singular value with its vectors, all ≥ 0, by the power method.
    fn rank_one(&self) -> (f64, Vec<f64>, Vec<f64>) {
        let normalize = |vector: &mut [f64]| {
            let length = vector.iter().map(|value| value * value).sum::<f64>().sqrt();
            vector.iter_mut().for_each(|value| *value /= length);
            length
        };
        let mut right = vec![1.0; self.n_columns];
        normalize(&mut right);
        let mut left = Vec::new();
        let mut strength = 0.0;
        for _ in 0..100 {
            left = self.values.chunks(self.n_columns).map(|row| row.iter().zip(&right).map(|(x, y)| x * y).sum()).collect();
            normalize(&mut left);
            right.fill(0.0);
            for (row, &weight) in self.values.chunks(self.n_columns).zip(&left) {
                right.iter_mut().zip(row).for_each(|(sum, value)| *sum += weight * value);
            }
            let new = normalize(&mut right);
            // The value converges twice as fast as the vectors.
            let is_done = (new - strength).abs() <= 1e-15 * new;
            strength = new;
            if is_done {
                break;
            }
        }
        (strength, left, right)
    }
}
