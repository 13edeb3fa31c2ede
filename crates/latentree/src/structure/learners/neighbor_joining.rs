//! Neighbour joining, exactly and fast.
//!
//! With `n` clades left and `r_i = Σ_k d_ik`, the pair that minimises `Q_ij = (n − 2) d_ij − r_i − r_j` is joined (Saitou and Nei
//! 1987; Studier and Keppler 1988). Its new node `u` has `d_uk = (d_ik + d_jk − d_ij) / 2` and edges `l_i = d_ij / 2 + (r_i −
//! r_j) / (2 (n − 2))`, `l_j = d_ij − l_i`. With exact distances of a tree whose leaves are the variables the result is that
//! tree; for noise below half the shortest edge too (Atteson 1999).
//!
//! # How the least pair is found
//! The plain scan of all pairs makes this cubic. Here, with `s_i = r_i / (n − 2)` and `Q_ij / (n − 2) = d_ij − s_i − s_j`, every
//! row `i` keeps a lower bound of `min_{j<i} d_ij − s_j`. In a step every `s_j` grows by at most `δ = max_j Δs_j`, so the bound
//! falls by `δ`, which is one number for all rows; new entries (those of `u`) are folded into the bounds. Only rows whose bound
//! is not above the best pair found so far are scanned again. It is the idea of RapidNJ (Simonsen, Mailund and Pedersen 2008) and
//! of DynamicNJ (Clausen 2023) without sorted rows: the search loses no pair, so the tree is that of the plain scan. Ties go to
//! the lowest indices, except that pairs which tie up to rounding errors in more than 256 rows are not all looked at.

use super::StructureLearner;
use super::joined_tree::JoinedTree;
use crate::distance::DistanceMatrix;
use crate::error::{Error, Result};
use crate::observer::Observer;
use crate::structure::lengths::DEFAULT_CONTRACTION;
use crate::tree::Tree;

/// Neighbour joining: `nj`.
///
/// Every variable is a leaf and every hidden node has three neighbours until edges of at most [`contract`](Self::contract) are
/// contracted (Choi et al. 2011, §6.4), which shows observed inner nodes and nodes with more neighbours. With exact distances of
/// a minimal tree and a threshold below its shortest edge the result is that tree. Variables at distance 0 become neighbours by
/// an edge of length 0; if all distances are equal, the tree is a star.
///
/// A negative length is set to 0 and its sibling's changed by as much; distances between clades are not touched by this.
///
/// # Complexity
/// 4 p² bytes. O(p²) time and O(p) for every row that is scanned again, of which there are few on distances of a tree, on those
/// of a star and on noise (p = 5,000 takes below a second); at worst O(p³). One thread.
///
/// # Example
/// ```
/// use latentree::distance::DistanceMatrix;
/// use latentree::structure::{NeighborJoining, StructureLearner};
/// let names = ["a", "b", "c", "d"].map(str::to_owned).to_vec();
/// // ((a:1,b:2):3,c:1,d:4)
/// let distance = |i, j| Some(match (i, j) { (1, 0) => 3.0, (2, 0) => 5.0, (2, 1) => 6.0, (3, 0) => 8.0, (3, 1) => 9.0, _ => 5.0 });
/// let tree = NeighborJoining::new().learn(&DistanceMatrix::from_fn(names, distance)?, &latentree::Silent)?;
/// assert_eq!(tree.n_hidden(), 2);
/// # Ok::<(), latentree::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NeighborJoining {
    contract: Option<f64>,
}

impl Default for NeighborJoining {
    fn default() -> Self {
        Self { contract: Some(DEFAULT_CONTRACTION) }
    }
}

impl NeighborJoining {
    /// Neighbour joining that contracts edges of at most [`DEFAULT_CONTRACTION`].
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the length up to which edges are contracted; `None` leaves the binary tree.
    #[must_use]
    pub fn contract(mut self, threshold: Option<f64>) -> Self {
        self.contract = threshold;
        self
    }
}

impl StructureLearner for NeighborJoining {
    fn name(&self) -> &'static str {
        "nj"
    }

    fn learn_component(&self, distances: &DistanceMatrix, observer: &dyn Observer) -> Result<Tree> {
        let n = distances.len();
        observer.stage("neighbour joining", Some(n as u64));
        let mut tree = JoinedTree::new(distances.names());
        let mut clades = Clades::new(n, distances.lower().to_vec());
        while clades.n > 3 {
            if observer.cancelled() {
                return Err(Error::Cancelled);
            }
            let (i, j) = clades.nearest();
            let (to_i, to_j) = clades.lengths(i, j);
            let hidden = tree.join((clades.node[i], to_i), (clades.node[j], to_j));
            clades.join(i, j, hidden);
            observer.progress((n - clades.n) as u64);
        }
        tree.join_last([clades.node[0], clades.node[1], clades.node[2]], [clades.d(1, 0), clades.d(2, 0), clades.d(2, 1)]);
        tree.finish(self.contract)
    }
}

/// Rows that may hold a pair as near as the best are scanned up to this number in a step.
const MAX_TIE: usize = 256;

/// The clades that are left, in places `0..n`. A joined pair takes the lower of its places, the last clade the higher one.
struct Clades {
    n: usize,
    /// Strict lower triangle of the distances, row by row.
    distances: Vec<f64>,
    /// `r`, the sums of distances.
    sums: Vec<f64>,
    /// `s = r / (n − 2)`.
    shares: Vec<f64>,
    /// `bounds[i] − drift` is a lower bound of `min_{j<i} d_ij − s_j`.
    bounds: Vec<f64>,
    /// The sum of the `δ` of all steps so far.
    drift: f64,
    /// The largest distance so far, for the rounding errors of bounds.
    largest: f64,
    /// Sums are made anew when so many clades are left, against rounding errors.
    next_sums: usize,
    /// The tree's node of each clade.
    node: Vec<usize>,
    /// Distances of the clade that is being made.
    joined: Vec<f64>,
}

fn row(i: usize) -> std::ops::Range<usize> {
    let start = i * i.saturating_sub(1) / 2;
    start..start + i
}

/// `min_j distances[j] − shares[j]`. Lanes of their own let the compiler use vector registers.
fn least(distances: &[f64], shares: &[f64]) -> f64 {
    const LANES: usize = 8;
    let mut lanes = [f64::INFINITY; LANES];
    let (chunks, rest) = distances.as_chunks::<LANES>();
    let (share_chunks, share_rest) = shares[..distances.len()].as_chunks::<LANES>();
    for (distance, share) in chunks.iter().zip(share_chunks) {
        for lane in 0..LANES {
            let value = distance[lane] - share[lane];
            lanes[lane] = if value < lanes[lane] { value } else { lanes[lane] };
        }
    }
    let rest = rest.iter().zip(share_rest).map(|(distance, share)| distance - share);
    lanes.into_iter().chain(rest).fold(f64::INFINITY, f64::min)
}

impl Clades {
    fn new(n: usize, mut distances: Vec<f64>) -> Self {
        let largest = distances.iter().copied().fold(0.0, f64::max);
        if largest > 1e100 {
            // The tree of distances near the largest number is that of smaller ones; only sums would overflow.
            distances.iter_mut().for_each(|distance| *distance = distance.min(1e100));
        }
        let mut clades = Self {
            n,
            distances,
            sums: vec![0.0; n],
            shares: vec![0.0; n],
            bounds: vec![f64::NEG_INFINITY; n],
            drift: 0.0,
            largest: largest.min(1e100),
            next_sums: n / 2,
            node: (0..n).collect(),
            joined: vec![0.0; n],
        };
        clades.sum();
        clades.shares = clades.sums.iter().map(|sum| sum / (n - 2) as f64).collect();
        clades
    }

    fn d(&self, i: usize, j: usize) -> f64 {
        self.distances[row(i).start + j]
    }

    fn sum(&mut self) {
        self.sums[..self.n].fill(0.0);
        for i in 1..self.n {
            let (before, after) = self.sums.split_at_mut(i);
            let mut sum = 0.0;
            for (distance, other) in self.distances[row(i)].iter().zip(before) {
                sum += distance;
                *other += distance;
            }
            after[0] += sum;
        }
    }

    /// The pair `i < j` that minimises `(d_ij − s_i) − s_j`, of several the first.
    fn nearest(&mut self) -> (usize, usize) {
        if self.n == 4 {
            // A pair and the other two are equally near, so the first pair has place 0; rounding must not decide.
            let sums = [self.d(1, 0) + self.d(3, 2), self.d(2, 0) + self.d(3, 1), self.d(3, 0) + self.d(2, 1)];
            let least = (0..3).min_by(|&a, &b| sums[a].total_cmp(&sums[b])).expect("there are three");
            return (0, least + 1);
        }
        let bound = |clades: &Self, j: usize| clades.bounds[j] - clades.drift - clades.shares[j];
        let slack = f64::EPSILON * (2 * self.node.len() + 64) as f64 * (self.largest + self.drift.abs());
        let (mut start, mut lowest) = (1, f64::INFINITY);
        for j in 1..self.n {
            if bound(self, j) < lowest {
                (start, lowest) = (j, bound(self, j));
            }
        }
        let mut best = self.scan(start);
        let mut rows = vec![(best, start)];
        let mut ties = Vec::new();
        for j in (1..self.n).filter(|&j| j != start) {
            if bound(self, j) < best - slack {
                let value = self.scan(j);
                best = best.min(value);
                rows.push((value, j));
            } else if bound(self, j) - slack <= best {
                ties.push(j);
            }
        }
        rows.retain(|row| row.0 <= best);
        let mut nearest = rows.into_iter().map(|(_, j)| (self.first_at_most(j, best), j)).min().unwrap_or((0, 1));
        // What is left can only be as near, but for rounding errors. Were all distances those of a star, it would be all rows in
        // every step: so no further than needed for the first pair, and no further than is worth it.
        ties.retain(|&j| bound(self, j) - slack <= best);
        for j in ties.into_iter().take(MAX_TIE) {
            if nearest.0 == 0 && j > nearest.1 {
                break;
            }
            let value = self.scan(j);
            if value < best {
                best = value;
                nearest = (self.first_at_most(j, best), j);
            } else if value == best {
                nearest = nearest.min((self.first_at_most(j, best), j));
            }
        }
        nearest
    }

    /// The first place of row `j` with a value of at most this.
    fn first_at_most(&self, j: usize, value: f64) -> usize {
        let is_first = |(distance, share): (&f64, &f64)| distance - share - self.shares[j] <= value;
        self.distances[row(j)].iter().zip(&self.shares).position(is_first).unwrap_or(0)
    }

    /// The least value of row `j`, whose bound it renews.
    fn scan(&mut self, j: usize) -> f64 {
        let value = least(&self.distances[row(j)], &self.shares);
        self.bounds[j] = value + self.drift;
        value - self.shares[j]
    }

    /// Lengths of the edges from the node that joins `i < j`.
    fn lengths(&self, i: usize, j: usize) -> (f64, f64) {
        let distance = self.d(j, i);
        let to_i = (distance + self.shares[i] - self.shares[j]) / 2.0;
        (to_i, distance - to_i)
    }

    /// Replaces the clades `i < j` by their union.
    fn join(&mut self, i: usize, j: usize, node: usize) {
        let Self { n, distances, sums, joined, .. } = self;
        let between = distances[row(j).start + i];
        let mut sum_joined = 0.0;
        let mut reduce = |k: usize, to_i: f64, to_j: f64| {
            let distance = (to_i + to_j - between) / 2.0;
            joined[k] = distance;
            sums[k] += distance - to_i - to_j;
            sum_joined += distance;
        };
        let (row_i, row_j) = (row(i).start, row(j).start);
        for k in 0..i {
            reduce(k, distances[row_i + k], distances[row_j + k]);
        }
        for k in i + 1..j {
            reduce(k, distances[row(k).start + i], distances[row_j + k]);
        }
        for k in j + 1..*n {
            let row_k = row(k).start;
            reduce(k, distances[row_k + i], distances[row_k + j]);
        }
        sums[i] = sum_joined;
        joined[i] = 0.0;
        distances[row(i)].copy_from_slice(&joined[..i]);
        for k in i + 1..*n {
            distances[row(k).start + i] = joined[k];
        }
        self.largest = joined[..*n].iter().fold(self.largest, |largest, distance| largest.max(distance.abs()));
        self.node[i] = node;
        let last = *n - 1;
        let has_moved = j != last;
        if has_moved {
            distances.copy_within(row(last).start..row(last).start + j, row_j);
            for k in j + 1..last {
                distances[row(k).start + j] = distances[row(last).start + k];
            }
            sums[j] = sums[last];
            self.shares[j] = self.shares[last];
            self.node[j] = self.node[last];
            // A bound of the longer row is one of its beginning too.
            self.bounds[j] = self.bounds[last];
        }
        self.n = last;
        if self.n == self.next_sums {
            self.next_sums /= 2;
            self.sum();
        }
        self.renew(i, has_moved.then_some(j));
    }

    /// Brings shares and bounds up to date, with a new clade in place `i` and another that may have moved to `moved`.
    fn renew(&mut self, i: usize, moved: Option<usize>) {
        let Self { n, distances, sums, shares, bounds, drift, .. } = self;
        let factor = (*n - 2) as f64;
        shares[i] = f64::INFINITY;
        let mut growth = f64::NEG_INFINITY;
        for (share, sum) in shares[..*n].iter_mut().zip(&*sums) {
            let new = sum / factor;
            growth = if new - *share > growth { new - *share } else { growth };
            *share = new;
        }
        *drift += growth;
        bounds[i] = f64::NEG_INFINITY;
        for place in [Some(i), moved].into_iter().flatten() {
            for k in place + 1..*n {
                let value = distances[row(k).start + place] - shares[place] + *drift;
                bounds[k] = if value < bounds[k] { value } else { bounds[k] };
            }
        }
    }
}

#[cfg(test)]
mod tests;
