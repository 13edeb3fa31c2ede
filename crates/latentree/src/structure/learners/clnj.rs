//! Chow–Liu neighbour joining (`clnj`). Choi et al. (2011), §5.4 and §6.5.

use super::{NeighborJoining, StructureLearner, apply, candidates, distance_spanning_tree};
use crate::distance::DistanceMatrix;
use crate::error::Result;
use crate::observer::Observer;
use crate::structure::lengths::{contract_short, contraction_threshold};
use crate::tree::Tree;

/// Neighbour joining on the neighbourhoods of the spanning tree, one after the other.
///
/// With exact distances of a minimal tree the result is that tree.
///
/// # Complexity
/// O(p²) for the spanning tree, and a neighbour joining for each of its inner nodes with as many variables as it has neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ChowLiuNeighborJoining {
    contraction: Option<f64>,
}

impl ChowLiuNeighborJoining {
    /// Sets the length up to which an edge at a hidden node is contracted (§6.2, §6.4). By default −ln 0.9, or a rounding error
    /// if no standard errors are known.
    #[must_use]
    pub fn contraction(mut self, contraction: f64) -> Self {
        self.contraction = Some(contraction.max(0.0));
        self
    }
}

impl StructureLearner for ChowLiuNeighborJoining {
    fn name(&self) -> &'static str {
        "clnj"
    }

    fn learn_component(&self, distances: &DistanceMatrix, observer: &dyn Observer) -> Result<Tree> {
        let contraction = contraction_threshold(self.contraction, distances);
        let spanning_tree = distance_spanning_tree(distances);
        let local = NeighborJoining::new().contract(Some(contraction));
        let tree = apply(&spanning_tree, &candidates(distances, &spanning_tree, &local, observer)?)?;
        Ok(contract_short(&tree, contraction))
    }
}
