//! Chow–Liu recursive grouping (`clrg`). Choi et al. (2011), §5.4 and §6.5.

use super::{RecursiveGrouping, StructureLearner, apply, candidates, distance_spanning_tree};
use crate::distance::DistanceMatrix;
use crate::error::Result;
use crate::observer::Observer;
use crate::structure::lengths::{contract_short, contraction_threshold};
use crate::tree::Tree;

/// Recursive grouping on the neighbourhoods of the spanning tree, one after the other.
///
/// With exact distances of a minimal tree the result is that tree.
///
/// # Complexity
/// O(p²) for the spanning tree, and a recursive grouping for each of its inner nodes with as many variables as it has neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ChowLiuRecursiveGrouping {
    local: RecursiveGrouping,
    contraction: Option<f64>,
}

impl ChowLiuRecursiveGrouping {
    /// Sets the recursive grouping of neighbourhoods.
    #[must_use]
    pub fn local(mut self, local: RecursiveGrouping) -> Self {
        self.local = local;
        self
    }

    /// Sets the length up to which an edge at a hidden node is contracted at the end (§6.2). By default −ln 0.9, or a rounding
    /// error if no standard errors are known.
    #[must_use]
    pub fn contraction(mut self, contraction: f64) -> Self {
        self.contraction = Some(contraction.max(0.0));
        self
    }
}

impl StructureLearner for ChowLiuRecursiveGrouping {
    fn name(&self) -> &'static str {
        "clrg"
    }

    fn learn_component(&self, distances: &DistanceMatrix, observer: &dyn Observer) -> Result<Tree> {
        let spanning_tree = distance_spanning_tree(distances);
        let tree = apply(&spanning_tree, &candidates(distances, &spanning_tree, &self.local, observer)?)?;
        Ok(contract_short(&tree, contraction_threshold(self.contraction, distances)))
    }
}
