//! Parallel local recursive grouping (`plrg`). Huang et al. (2020), §4, §6.2 and App. F–H.
//!
//! Recursive grouping on each closed neighbourhood of the spanning tree, independently of all others, from distances between
//! variables only; then the union of the local trees, see [`apply`]. With exact distances the result is that of
//! [`clrg`](super::ChowLiuRecursiveGrouping).
//!
//! The paper's union assumes that no hidden node is found by two leaders. That is so if nearest variables are unique. Where two
//! are equally near, both leaders may find the node that lies between them; the union then joins the two by an edge of length 0,
//! which contraction makes one node.

use rayon::prelude::*;

use super::chow_liu_grouping::{HiddenNames, candidate, leaders};
use super::local_subtree::LocalSubtree;
use super::{RecursiveGrouping, StructureLearner, apply, distance_spanning_tree};
use crate::distance::DistanceMatrix;
use crate::error::{Error, Result};
use crate::observer::{Observer, Quiet};
use crate::structure::lengths::{contract_short, contraction_threshold};
use crate::tree::Tree;

/// Recursive grouping on the neighbourhoods of the spanning tree, all at once.
///
/// The same distances give the same tree at any number of threads.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ParallelLocalGrouping {
    local: RecursiveGrouping,
    contraction: Option<f64>,
}

impl ParallelLocalGrouping {
    /// Sets the recursive grouping of neighbourhoods.
    #[must_use]
    pub fn local(mut self, local: RecursiveGrouping) -> Self {
        self.local = local;
        self
    }

    /// Sets the length up to which an edge at a hidden node is contracted at the end. By default −ln 0.9, or a rounding error if
    /// no standard errors are known.
    #[must_use]
    pub fn contraction(mut self, contraction: f64) -> Self {
        self.contraction = Some(contraction.max(0.0));
        self
    }
}

impl StructureLearner for ParallelLocalGrouping {
    fn name(&self) -> &'static str {
        "plrg"
    }

    fn learn_component(&self, distances: &DistanceMatrix, observer: &dyn Observer) -> Result<Tree> {
        let spanning_tree = distance_spanning_tree(distances);
        let leaders = leaders(&spanning_tree);
        observer.stage("local trees", Some(leaders.len() as u64));
        let subtrees: Vec<LocalSubtree> = leaders
            .par_iter()
            .map(|&leader| {
                if observer.cancelled() {
                    return Err(Error::Cancelled);
                }
                let neighbours = spanning_tree.links(leader).iter().map(|link| link.to.get());
                let members: Vec<usize> = std::iter::once(leader.get()).chain(neighbours).collect();
                let tree = self.local.learn_component(&distances.subset(&members), &Quiet(observer))?;
                Ok(LocalSubtree::new(&tree, members.len() - 1))
            })
            .collect::<Result<_>>()?;
        let mut names = HiddenNames::new(distances.names());
        let hidden: Vec<Vec<String>> = subtrees.iter().map(|subtree| names.take(subtree.n_hidden())).collect();
        let candidates = (leaders.par_iter().zip(&subtrees).zip(hidden))
            .map(|((&leader, subtree), hidden)| {
                candidate(&spanning_tree, leader, subtree, &vec![0.0; subtree.n_neighbours], hidden)
            })
            .collect::<Result<Vec<_>>>()?;
        let tree = apply(&spanning_tree, &candidates)?;
        Ok(contract_short(&tree, contraction_threshold(self.contraction, distances)))
    }
}
