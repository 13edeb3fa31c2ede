//! Top-down learning: split the variables, learn the parts, join their trees.
//!
//! Spectral top-down recovery (Aizenbud, Jaffe, Wang, Hu, Amsel, Nadler, Chang and Kluger 2021, *Spectral top-down recovery of
//! latent tree models*), for more variables than a learner can take at once:
//!
//! 1. **Cut** the edges of the minimum spanning tree that are too long for any affinity, as the signs of an eigenvector would be
//!    those of rounding errors. **Split** the variables by the signs of the Fiedler vector of the graph of affinities `exp(−d)`,
//!    again and again until a part has at most [`threshold`](TopDown::threshold) variables.
//! 2. **Learn** every part by itself, in parallel.
//! 3. **Join** the trees of two parts by an edge, in the reverse order of splitting. The affinities between the parts have rank
//!    one, `σ u vᵀ`; the joint in the tree of the one part is the place from which `exp(−distance)` is most like `u`. All edges
//!    are tried. (The paper looks for the edge whose split has the least second singular value with the other part, which takes
//!    the block's decomposition for every edge; this takes one, and the lengths that are known of the tree.)
//!
//! # Why the split is one of the tree's
//! Exact affinities are, up to their diagonal, the Laplacian of a network of conductances on the tree's edges with the hidden
//! nodes eliminated. An eigenvector extends to the hidden nodes as a harmonic function, and by Fiedler's theorem (1975), which
//! holds for any positive masses on the variables, its nodes ≥ 0 and its nodes ≤ 0 each hang together: the signs change across
//! one edge. We take the degrees for masses, as in the normalised cut, which makes parts more even than the paper's equal ones.
//! Where the value 0 falls on a node the parts are branches of this node, which is as good. Only eigenvectors that are not unique
//! (trees with symmetries, such as stars of equal lengths) or entries below rounding errors can break this.

mod pieces;

use rayon::prelude::*;

use self::pieces::Pieces;
use super::affinity::affinity;
use super::{StructureLearner, minimum_spanning_forest};
use crate::distance::DistanceMatrix;
use crate::error::{Error, Result};
use crate::linalg::fiedler_vector;
use crate::observer::{Observer, WarningsOnly};
use crate::structure::lengths::DEFAULT_CONTRACTION;
use crate::tree::Tree;

/// A learner for many variables: splits them, lets another learner learn the parts, and joins their trees.
///
/// The other learner should not contract edges itself: [`contract`](Self::contract) does it at the end, when all variables have
/// been seen. With exact distances of a minimal tree, a learner that is exact and a threshold below the shortest edge, the result
/// is that tree, unless the tree's symmetries make a Fiedler vector ambiguous (the module's source says more).
///
/// # Complexity
/// Some tens of passes over the p² affinities, and what the parts take; 8 p² bytes. Splitting stops early, leaving parts larger
/// than the threshold, when it keeps cutting off next to nothing.
///
/// # Example
/// ```
/// use latentree::structure::{NeighborJoining, StructureLearner, TopDown};
/// let learner = TopDown::new(NeighborJoining::new().contract(None)).threshold(100);
/// assert_eq!(learner.name(), "top-down");
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct TopDown<L> {
    learner: L,
    threshold: usize,
    contract: Option<f64>,
}

impl<L: StructureLearner + Sync> TopDown<L> {
    /// Splits until parts have at most 200 variables, and contracts edges of at most [`DEFAULT_CONTRACTION`].
    #[must_use]
    pub fn new(learner: L) -> Self {
        Self { learner, threshold: 200, contract: Some(DEFAULT_CONTRACTION) }
    }

    /// Sets the number of variables that the other learner takes at once, at least 3.
    #[must_use]
    pub fn threshold(mut self, threshold: usize) -> Self {
        self.threshold = threshold.max(3);
        self
    }

    /// Sets the length up to which edges are contracted; `None` leaves the tree as it was joined.
    #[must_use]
    pub fn contract(mut self, threshold: Option<f64>) -> Self {
        self.contract = threshold;
        self
    }
}

impl<L: StructureLearner + Sync> StructureLearner for TopDown<L> {
    fn name(&self) -> &'static str {
        "top-down"
    }

    fn learn_component(&self, distances: &DistanceMatrix, observer: &dyn Observer) -> Result<Tree> {
        let n = distances.len();
        observer.stage("splitting top down", Some(n as u64));
        let spanning = minimum_spanning_forest(n, |i, out| (0..n).for_each(|j| out[j] = distances.raw(i, j)));
        let scale = affinity_scale(&spanning, distances);
        let parts = Parts::split(&spanning, distances, scale, self.threshold, observer)?;
        observer.stage("learning the parts", Some(n as u64));
        let quiet = WarningsOnly(observer);
        let learn = |members: &Vec<usize>| match members[..] {
            [_] | [_, _] => Ok(None),
            _ if members.len() == n => self.learner.learn_component(distances, &quiet).map(Some),
            _ => self.learner.learn_component(&distances.subset(members), &quiet).map(Some),
        };
        let trees: Vec<Option<Tree>> = parts.leaves.par_iter().map(learn).collect::<Result<_>>()?;
        let mut pieces = Pieces::new(n, scale);
        for (members, tree) in parts.leaves.iter().zip(&trees) {
            match (&members[..], tree) {
                (_, Some(tree)) => pieces.add(members, tree),
                (&[a, b], None) => pieces.add_pair(a, b, distances.raw(a, b)),
                _ => {}
            }
        }
        observer.stage("joining the parts", Some(parts.splits.len() as u64));
        for (done, (left, right)) in parts.splits.iter().rev().enumerate() {
            if observer.cancelled() {
                return Err(Error::Cancelled);
            }
            pieces.join(left, right, distances);
            observer.progress(done as u64 + 1);
        }
        pieces.finish(distances.names(), self.contract)
    }
}

/// How the variables were split.
struct Parts {
    /// Parts that are not split further, each sorted.
    leaves: Vec<Vec<usize>>,
    /// All splits, in an order in which a part is split before its parts are.
    splits: Vec<(Vec<usize>, Vec<usize>)>,
}

/// Variables that only edges of the spanning tree longer than this hold together have affinities that nothing can be seen
/// from: below 0.001, the noise of a million rows.
const FAR: f64 = 7.0;

/// What distances are multiplied by: 1 unless they are in units so small that most variables would be far from all others.
fn affinity_scale(spanning: &[(usize, usize)], distances: &DistanceMatrix) -> f64 {
    const USUAL: f64 = 3.0;
    let mut lengths: Vec<f64> = spanning.iter().map(|&(a, b)| distances.raw(a, b)).collect();
    lengths.sort_unstable_by(f64::total_cmp);
    let median = lengths.get(lengths.len() / 2).copied().unwrap_or(0.0);
    if median > USUAL { USUAL / median } else { 1.0 }
}

impl Parts {
    fn split(
        spanning: &[(usize, usize)],
        distances: &DistanceMatrix,
        scale: f64,
        threshold: usize,
        observer: &dyn Observer,
    ) -> Result<Self> {
        /// Passes over all affinities after which parts are left as they are.
        const MAX_WORK: f64 = 300.0;
        let n = distances.len() as f64;
        let mut parts = Self { leaves: Vec::new(), splits: Vec::new() };
        let mut open = parts.cut_far(spanning, distances, scale, threshold);
        let (mut work, mut done) = (0.0, 0);
        while let Some(members) = open.pop() {
            if observer.cancelled() {
                return Err(Error::Cancelled);
            }
            if members.len() <= threshold || work > MAX_WORK {
                done += members.len() as u64;
                observer.progress(done);
                parts.leaves.push(members);
                continue;
            }
            let (is_left, passes) = halves(&members, distances, scale);
            work += passes as f64 * (members.len() as f64 / n).powi(2);
            let side = |wanted: bool| -> Vec<usize> {
                members.iter().zip(&is_left).filter(|(_, is_left)| **is_left == wanted).map(|(&member, _)| member).collect()
            };
            let (left, right) = (side(true), side(false));
            open.extend([left.clone(), right.clone()]);
            parts.splits.push((left, right));
        }
        Ok(parts)
    }

    /// Cuts the edges of the spanning tree that are too long for affinities, the longest first, and gives the parts. With exact
    /// distances these splits are the tree's: the spanning tree is the tree with every hidden node contracted into an observed
    /// one (Choi et al. 2011, Lemma 8).
    fn cut_far(
        &mut self,
        spanning: &[(usize, usize)],
        distances: &DistanceMatrix,
        scale: f64,
        threshold: usize,
    ) -> Vec<Vec<usize>> {
        let n = distances.len();
        let mut neighbours = vec![Vec::new(); n];
        for &(a, b) in spanning {
            neighbours[a].push(b);
            neighbours[b].push(a);
        }
        let length = |&(a, b): &(usize, usize)| distances.raw(a, b) * scale;
        let mut far: Vec<(usize, usize)> = spanning.iter().copied().filter(|edge| length(edge) > FAR).collect();
        far.sort_by(|a, b| length(b).total_cmp(&length(a)));
        let mut part_of = vec![0; n];
        let mut parts = vec![(0..n).collect::<Vec<usize>>()];
        for (a, b) in far {
            let part = part_of[a];
            if parts[part].len() <= threshold {
                continue;
            }
            neighbours[a].retain(|&other| other != b);
            neighbours[b].retain(|&other| other != a);
            let new = parts.len();
            let mut right = vec![b];
            part_of[b] = new;
            let mut next = 0;
            while next < right.len() {
                for &other in &neighbours[right[next]] {
                    if std::mem::replace(&mut part_of[other], new) != new {
                        right.push(other);
                    }
                }
                next += 1;
            }
            right.sort_unstable();
            let left: Vec<usize> = parts[part].iter().copied().filter(|&member| part_of[member] == part).collect();
            self.splits.push((left.clone(), right.clone()));
            parts[part] = left;
            parts.push(right);
        }
        parts
    }
}

/// Signs that stay the same while the residual falls below this share of the eigenvalue are final: they are what is asked for,
/// and right long before the vector is exact.
const SETTLED: f64 = 1e-3;

/// Which of the variables are on the one side of the best split, and how many passes over their affinities it took.
fn halves(members: &[usize], distances: &DistanceMatrix, scale: f64) -> (Vec<bool>, usize) {
    let n = members.len();
    let mut affinities = vec![0.0; n * n];
    affinities.par_chunks_mut(n).enumerate().for_each(|(i, row)| {
        for (value, &other) in row.iter_mut().zip(members) {
            *value = affinity(distances.raw(members[i], other) * scale);
        }
        row[i] = 0.0;
    });
    let tree = minimum_spanning_forest(n, |i, out| {
        let joined = |value: f64| if value > 0.0 { -value } else { f64::INFINITY };
        out.iter_mut().zip(&affinities[i * n..(i + 1) * n]).for_each(|(out, &value)| *out = joined(value));
    });
    let is_connected = tree.len() + 1 == n && tree.iter().all(|&(a, b)| affinities[a * n + b] > affinity(2.0 * FAR));
    if is_connected {
        let fiedler = fiedler_vector(&affinities, n, &tree, SETTLED);
        let is_left: Vec<bool> = fiedler.vector.iter().map(|value| *value >= 0.0).collect();
        if is_left.contains(&true) && is_left.contains(&false) {
            return (is_left, fiedler.iterations + 4);
        }
    }
    (longest_edge_split(members, distances), 4)
}

/// The split at the longest edge of the minimum spanning tree, for variables too far apart for affinities.
fn longest_edge_split(members: &[usize], distances: &DistanceMatrix) -> Vec<bool> {
    let n = members.len();
    let length = |a: usize, b: usize| distances.raw(members[a], members[b]);
    let tree = minimum_spanning_forest(n, |i, out| (0..n).for_each(|j| out[j] = length(i, j)));
    let longest = (0..tree.len()).max_by(|&a, &b| {
        let of = |edge: usize| length(tree[edge].0, tree[edge].1);
        of(a).total_cmp(&of(b)).then(b.cmp(&a))
    });
    let mut neighbours = vec![Vec::new(); n];
    for (edge, &(a, b)) in tree.iter().enumerate() {
        if Some(edge) != longest {
            neighbours[a].push(b);
            neighbours[b].push(a);
        }
    }
    let mut is_left = vec![false; n];
    let mut stack = vec![0];
    is_left[0] = true;
    while let Some(node) = stack.pop() {
        for &next in &neighbours[node] {
            if !std::mem::replace(&mut is_left[next], true) {
                stack.push(next);
            }
        }
    }
    is_left
}

#[cfg(test)]
mod tests;
