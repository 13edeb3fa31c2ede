//! Chow–Liu blind (`clblind`): each inner node of the spanning tree gets one hidden node. Choi et al. (2011), §5.3.
//!
//! It is Chow–Liu grouping whose local tree is always a star. Distances decide the spanning tree and the lengths only. A star's
//! leg by least squares is `(r_i − Σ_{j<k} d_jk / (n − 1)) / (n − 2)` with `r_i = Σ_j d_ij`.

use super::{StructureLearner, apply, candidates, distance_spanning_tree};
use crate::distance::DistanceMatrix;
use crate::error::Result;
use crate::index::NodeIx;
use crate::observer::Observer;
use crate::tree::{Edge, Node, Tree};

/// Chow–Liu blind.
///
/// The result is right with exact distances if all variables are leaves and each hidden node's nearest variable is one of its
/// neighbours, as when all edges are about equally long and every hidden node has a leaf. Edges are not contracted, whatever
/// their length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ChowLiuBlind;

impl StructureLearner for ChowLiuBlind {
    fn name(&self) -> &'static str {
        "clblind"
    }

    fn learn_component(&self, distances: &DistanceMatrix, observer: &dyn Observer) -> Result<Tree> {
        let spanning_tree = distance_spanning_tree(distances);
        apply(&spanning_tree, &candidates(distances, &spanning_tree, &Star, observer)?)
    }
}

/// One hidden node with all variables around it.
struct Star;

impl StructureLearner for Star {
    fn name(&self) -> &'static str {
        "star"
    }

    fn learn_component(&self, distances: &DistanceMatrix, _: &dyn Observer) -> Result<Tree> {
        let n = distances.len();
        let mut sums = vec![0.0; n];
        for i in 0..n {
            for j in 0..i {
                let distance = distances.raw(i, j);
                sums[i] += distance;
                sums[j] += distance;
            }
        }
        let total = sums.iter().sum::<f64>() / 2.0;
        let mut nodes: Vec<Node> = distances.names().iter().map(|name| Node { name: name.clone(), observed: true }).collect();
        nodes.push(Node { name: "\u{0}hidden".to_owned(), observed: false });
        let leg = |ix: usize| ((sums[ix] - total / (n - 1) as f64) / (n - 2) as f64).max(0.0);
        let edges: Vec<Edge> = (0..n).map(|ix| Edge::with_length(NodeIx::new(ix), NodeIx::new(n), leg(ix))).collect();
        Tree::from_parts(nodes, &edges)
    }
}
