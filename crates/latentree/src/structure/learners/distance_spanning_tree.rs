//! The minimum spanning tree of a distance matrix, in parallel: the Chow–Liu tree by distances (Choi et al. 2011, eqs. 17 and
//! 27).
//!
//! An edge that is in no spanning forest of some part of the graph is the longest of a cycle, so it is in no minimum spanning
//! tree of the whole. The variables are cut into blocks; the edges within each block and between each two blocks are parts whose
//! forests are found independently by Prim's method, and Kruskal's method chooses among their few edges.
//!
//! Lemma 8 of Choi et al. links this tree to the latent tree through *surrogates*, the nearest variable of each hidden node, and
//! needs ties between them to be decided the same way everywhere. Edges are therefore compared by `(d_ij, i + j, min(i, j))`:
//! this is the order that arises when variable `i` stands at the end of an added edge of length `i·δ`, with δ going to 0, and
//! there a surrogate is unique.

use std::ops::Range;

use rayon::prelude::*;

use crate::distance::DistanceMatrix;
use crate::index::NodeIx;
use crate::tree::{Edge, Node, Tree};

/// Variables per block: the distances between two blocks stay in a core's cache.
const BLOCK: usize = 512;

/// The minimum spanning tree of the variables by their distances, with lengths; a forest where chains of distances do not connect
/// them.
///
/// # Complexity
/// O(p²) time, parallel; O(p²/512) memory.
///
/// # Example
/// ```
/// use latentree::distance::DistanceMatrix;
/// use latentree::structure::distance_spanning_tree;
/// let names = ["a", "b", "c"].map(str::to_owned).to_vec();
/// let tree = distance_spanning_tree(&DistanceMatrix::from_fn(names, |i, j| Some((i + j) as f64))?);
/// assert_eq!(tree.edges().map(|edge| edge.length.unwrap()).sum::<f64>(), 3.0);
/// # Ok::<(), latentree::Error>(())
/// ```
#[must_use]
pub fn distance_spanning_tree(distances: &DistanceMatrix) -> Tree {
    let n = distances.len();
    let n_blocks = n.div_ceil(BLOCK);
    let block = |ix: usize| ix * n / n_blocks..(ix + 1) * n / n_blocks;
    let parts: Vec<(usize, usize)> = (0..n_blocks).flat_map(|a| (0..=a).map(move |b| (a, b))).collect();
    let forests: Vec<Vec<Candidate>> = parts.par_iter().map(|&(a, b)| forest(distances, block(a), block(b))).collect();
    let mut candidates: Vec<Candidate> = forests.into_iter().flatten().collect();
    candidates.par_sort_unstable_by(Candidate::compare);
    let mut group: Vec<u32> = (0..n as u32).collect();
    let mut edges = Vec::with_capacity(n.saturating_sub(1));
    for candidate in candidates {
        let (a, b) = (find(&mut group, candidate.low), find(&mut group, candidate.high));
        if a != b {
            group[a as usize] = b;
            let (low, high) = (NodeIx::new(candidate.low as usize), NodeIx::new(candidate.high as usize));
            edges.push(Edge::with_length(low, high, candidate.distance));
        }
    }
    edges.sort_unstable_by_key(|edge| (edge.a, edge.b));
    let nodes = distances.names().iter().map(|name| Node { name: name.clone(), observed: true }).collect();
    Tree::from_parts(nodes, &edges).expect("a spanning tree of uniquely named variables is a tree")
}

fn find(group: &mut [u32], mut node: u32) -> u32 {
    while group[node as usize] != node {
        group[node as usize] = group[group[node as usize] as usize];
        node = group[node as usize];
    }
    node
}

#[derive(Clone, Copy)]
struct Candidate {
    distance: f64,
    low: u32,
    high: u32,
}

impl Candidate {
    const NONE: Self = Self { distance: f64::INFINITY, low: u32::MAX / 2, high: u32::MAX / 2 };

    fn new(distance: f64, a: usize, b: usize) -> Self {
        Self { distance, low: a.min(b) as u32, high: a.max(b) as u32 }
    }

    fn compare(&self, other: &Self) -> std::cmp::Ordering {
        let ties = || (self.low + self.high, self.low).cmp(&(other.low + other.high, other.low));
        self.distance.total_cmp(&other.distance).then_with(ties)
    }

    fn is_before(&self, other: &Self) -> bool {
        self.distance < other.distance || (self.distance == other.distance && self.compare(other).is_lt())
    }
}

/// The minimum spanning forest of the edges between two blocks, or within one if they are the same.
fn forest(distances: &DistanceMatrix, rows: Range<usize>, columns: Range<usize>) -> Vec<Candidate> {
    let n_rows = rows.len();
    let within = rows == columns;
    let members: Vec<usize> = if within { rows.collect() } else { rows.chain(columns).collect() };
    let n = members.len();
    let mut inside = vec![false; n];
    let mut nearest = vec![Candidate::NONE; n];
    let mut edges = Vec::with_capacity(n);
    let mut next = (n > 0).then_some(0);
    while let Some(at) = next {
        inside[at] = true;
        let reached = if within {
            0..n
        } else if at < n_rows {
            n_rows..n
        } else {
            0..n_rows
        };
        for other in reached {
            // An undefined distance is NaN, which is before nothing.
            let distance = distances.raw(members[at], members[other]);
            if distance <= nearest[other].distance && !inside[other] {
                let candidate = Candidate::new(distance, members[at], members[other]);
                if candidate.is_before(&nearest[other]) {
                    nearest[other] = candidate;
                }
            }
        }
        let (mut best, mut first_outside) = (None, None);
        let mut best_candidate = Candidate::NONE;
        for other in 0..n {
            if inside[other] {
                continue;
            }
            first_outside = first_outside.or(Some(other));
            if nearest[other].is_before(&best_candidate) {
                (best, best_candidate) = (Some(other), nearest[other]);
            }
        }
        if best.is_some() {
            edges.push(best_candidate);
        }
        next = best.or(first_outside);
    }
    edges
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::structure::minimum_spanning_forest;

    fn names(n: usize) -> Vec<String> {
        (0..n).map(|ix| format!("x{ix}")).collect()
    }

    #[test]
    fn blocks_give_the_same_sum_as_prim_on_the_whole_also_in_forests() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        for (n, share) in [(1, 1.0), (2, 1.0), (511, 1.0), (513, 0.01), (1400, 1.0), (1100, 0.002)] {
            let matrix = DistanceMatrix::from_fn(names(n), |_, _| rng.random_bool(share).then(|| rng.random_range(0.0..1.0)));
            let matrix = matrix.unwrap();
            let tree = distance_spanning_tree(&matrix);
            let prim = minimum_spanning_forest(n, |i, out| (0..n).for_each(|j| out[j] = matrix.raw(i, j)));
            assert_eq!(tree.n_edges(), prim.len());
            let sum: f64 = prim.iter().map(|&(a, b)| matrix.raw(a, b)).sum();
            assert!((tree.edges().map(|edge| edge.length.unwrap()).sum::<f64>() - sum).abs() < 1e-9);
        }
    }

    #[test]
    fn ties_lead_to_the_variable_that_comes_first() {
        let tree = distance_spanning_tree(&DistanceMatrix::from_fn(names(1200), |_, _| Some(1.0)).unwrap());
        assert_eq!(tree.degree(NodeIx::new(0)), 1199);
    }
}
