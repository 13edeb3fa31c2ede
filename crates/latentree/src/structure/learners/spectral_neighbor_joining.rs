//! Spectral neighbour joining.
//!
//! With distances that are minus logarithms of correlations, the affinities `R_ij = exp(−d_ij)` multiply along a tree. The block
//! of `R` between the two sides of an edge has rank one, and the block between the union of two clades and the rest has rank one
//! exactly if the two are neighbours. The pair whose block is nearest to rank one is joined, again and again (Jaffe, Amsel,
//! Aizenbud, Nadler, Chang and Kluger 2021, *Spectral neighbor joining for reconstruction of latent tree models*). Nothing is
//! said by a logarithm of a small number, so that long ways do not saturate.
//!
//! # The score
//! The paper takes the second singular value of the block `M`. Here it is the squared-quartet score `E = ‖M‖⁴ − ‖MᵀM‖²` by `(s −
//! 1)(r − 1)` for a block of `s` rows and `r` columns. With noise of variance v in every affinity, `E` of a block of rank one is
//! about `2 v ‖M‖² (s − 1)(r − 1)`, so large blocks have to be excused for theirs. For a pair of variables `E = 2 σ₁² σ₂²`.
//! Measured on samples from Gaussian trees, mean number of wrong splits:
//!
//! | tree | this score | `E` alone | second singular value | neighbour joining |
//! | --- | --- | --- | --- | --- |
//! | hidden Markov model, p = 24, N = 1,000 | 4.0 | 15.8 | 12.4 | 3.9 |
//! | random binary, p = 24, N = 1,000 | 2.4 | 7.9 | 6.5 | 2.0 |
//! | balanced binary, p = 24, N = 1,000 | 1.6 | 0.3 | 2.6 | 1.3 |
//! | hidden Markov model, p = 80, N = 5,000 | 26 | 76 | | 128 |
//! | random binary, p = 80, N = 5,000 | 7 | 24 | | 33 |
//! | complete of degree 5, p = 80, N = 500 | 5.8 | 2.5 | | 18.5 |
//! | caterpillar of 4 leaves each, p = 80, N = 500 | 19 | 22 | | 37 |
//!
//! (edges uniform in 0.1–0.5; at p = 80 edges below −ln 0.95 contracted, ten trees each).
//!
//! Lengths come from averages of the distances, weighted by their standard errors where known, else by `R²`, as the variance of
//! `ln R` is that of `R` by `R²`.

mod blocks;

use std::collections::HashMap;

use self::blocks::Blocks;
use super::affinity::{affinity, affinity_scale};
use super::joined_tree::JoinedTree;
use super::{StructureLearner, completed};
use crate::distance::DistanceMatrix;
use crate::error::{Error, Place, Result};
use crate::observer::Observer;
use crate::structure::lengths::{AveragedDistances, DEFAULT_CONTRACTION};
use crate::tree::Tree;

/// Spectral neighbour joining: `snj`.
///
/// Every variable is a leaf and every hidden node has three neighbours until edges of at most [`contract`](Self::contract) are
/// contracted. With exact distances of a minimal tree and a threshold below its shortest edge the result is that tree, as
/// long as affinities across its edges can be told apart in double precision. Pairs without a distance have
/// affinity 0. Variables at distance 0 become neighbours by an edge of length 0; if all distances are equal, the tree is a star.
///
/// # Complexity
/// O(p³) time, about 2 p³ multiplications, in parallel with the same result for any number of threads; 80 p² bytes. More than
/// 10,000 connected variables are refused.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpectralNeighborJoining {
    contract: Option<f64>,
}

impl Default for SpectralNeighborJoining {
    fn default() -> Self {
        Self { contract: Some(DEFAULT_CONTRACTION) }
    }
}

impl SpectralNeighborJoining {
    /// Spectral neighbour joining that contracts edges of at most [`DEFAULT_CONTRACTION`].
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

    /// Learns from affinities with signs, such as correlations, given as a strict lower triangle row by row. Lengths are
    /// `−ln |affinity|`; variables that no chain of affinities other than 0 connects are in different trees of a forest.
    ///
    /// # Errors
    /// [`Error::Data`] if names are empty or appear twice, there are more or fewer affinities than pairs, or one is not
    /// within −1 and 1; and those of [`learn`](StructureLearner::learn).
    pub fn from_affinity(&self, names: Vec<String>, affinity: &[f64], observer: &dyn Observer) -> Result<Tree> {
        if let Some(bad) = affinity.iter().find(|value| value.is_nan() || value.abs() > 1.0) {
            return Err(Error::data(Place::default(), format!("an affinity is {bad}; affinities are within -1 and 1")));
        }
        let lower = affinity.iter().map(|value| if *value == 0.0 { f64::NAN } else { -value.abs().ln() + 0.0 }).collect();
        let distances = DistanceMatrix::from_lower(names, lower, None)?;
        let place: HashMap<&str, usize> = distances.names().iter().enumerate().map(|(ix, name)| (name.as_str(), ix)).collect();
        WithAffinity { learner: *self, place, affinity }.learn(&distances, observer)
    }

    /// Joins all clades, given square affinities with 0 on the diagonal.
    fn join(&self, distances: &DistanceMatrix, affinity: Vec<f64>, observer: &dyn Observer) -> Result<Tree> {
        let n = distances.len();
        observer.stage("spectral neighbour joining", Some(n as u64));
        let mut averaged = averaged_distances(distances, &affinity);
        let mut blocks = Blocks::new(n, affinity);
        let mut tree = JoinedTree::new(distances.names());
        let mut node: Vec<usize> = (0..n).collect();
        while blocks.n() > 3 {
            if observer.cancelled() {
                return Err(Error::Cancelled);
            }
            let (i, j) = blocks.nearest();
            let (to_i, to_j) = averaged.join(i, j);
            node[i] = tree.join((node[i], to_i), (node[j], to_j));
            node.swap_remove(j);
            blocks.join(i, j);
            observer.progress((n - blocks.n()) as u64);
        }
        tree.join_last([node[0], node[1], node[2]], [averaged.get(1, 0), averaged.get(2, 0), averaged.get(2, 1)]);
        tree.finish(self.contract)
    }
}

impl StructureLearner for SpectralNeighborJoining {
    fn name(&self) -> &'static str {
        "snj"
    }

    fn needs_all_distances(&self) -> bool {
        false
    }

    fn learn_component(&self, distances: &DistanceMatrix, observer: &dyn Observer) -> Result<Tree> {
        check_size(distances.len())?;
        let scale = affinity_scale(distances);
        let affinity = square(distances.len(), |i, j| distances.get(i, j).map_or(0.0, |distance| affinity(scale * distance)));
        self.join(distances, affinity, observer)
    }
}

/// Affinities that are known with their signs, by the names of the variables.
struct WithAffinity<'a> {
    learner: SpectralNeighborJoining,
    place: HashMap<&'a str, usize>,
    affinity: &'a [f64],
}

impl StructureLearner for WithAffinity<'_> {
    fn name(&self) -> &'static str {
        self.learner.name()
    }

    fn needs_all_distances(&self) -> bool {
        false
    }

    fn learn_component(&self, distances: &DistanceMatrix, observer: &dyn Observer) -> Result<Tree> {
        check_size(distances.len())?;
        let place: Vec<usize> = distances.names().iter().map(|name| self.place[name.as_str()]).collect();
        let affinity = square(place.len(), |i, j| {
            let (i, j) = (place[i].max(place[j]), place[i].min(place[j]));
            self.affinity[i * (i - 1) / 2 + j]
        });
        self.learner.join(distances, affinity, observer)
    }
}

/// More variables than this would take 8 GB and hours.
const MAX_VARIABLES: usize = 10_000;

fn check_size(n: usize) -> Result<()> {
    if n > MAX_VARIABLES {
        let problem = format!(
            "spectral neighbour joining supports at most {MAX_VARIABLES} connected variables, not {n}; use nj, or split top down"
        );
        return Err(Error::data(Place::default(), problem));
    }
    Ok(())
}

/// A symmetric matrix with 0 on the diagonal from a function of the pairs `i > j`.
fn square(n: usize, value: impl Fn(usize, usize) -> f64) -> Vec<f64> {
    let mut matrix = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..i {
            let value = value(i, j);
            matrix[i * n + j] = value;
            matrix[j * n + i] = value;
        }
    }
    matrix
}

fn averaged_distances(distances: &DistanceMatrix, affinity: &[f64]) -> AveragedDistances {
    const MIN_WEIGHT: f64 = 1e-12;
    let n = distances.len();
    let all = completed(distances);
    let smallest = distances.lower_errors().and_then(|errors| {
        let positive = errors.iter().copied().filter(|error| *error > 0.0 && error.is_finite());
        positive.reduce(f64::min)
    });
    let weight = |i: usize, j: usize| {
        let weight = match (smallest, distances.error(i, j)) {
            (Some(smallest), Some(error)) => (smallest / error.max(smallest)).powi(2),
            (Some(_), None) => 0.0,
            (None, _) => affinity[i * n + j].powi(2),
        };
        if distances.get(i, j).is_none() { MIN_WEIGHT } else { weight.max(MIN_WEIGHT) }
    };
    AveragedDistances::new(n, |i, j| (all.raw(i, j).min(1e100), weight(i, j)))
}

#[cfg(test)]
mod tests;
