//! Agglomerative clustering of the variables: the two closest clusters are merged, again and again.
//!
//! The tree is a dendrogram: all variables are leaves at the same height, and the distance of two of them along the tree is that at which
//! their clusters were merged (their cophenetic distance). It is not a fit of additive distances, and no edge is contracted. The baseline that everyone knows.

use kodama::{Method, linkage};

use super::learner::StructureLearner;
use crate::distance::DistanceMatrix;
use crate::error::{Error, Result};
use crate::index::NodeIx;
use crate::observer::Observer;
use crate::tree::{Edge, Node, Tree};

/// Which distance two clusters have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Linkage {
    /// The mean of all distances between them (UPGMA).
    Average,
    /// The largest.
    Complete,
    /// The smallest.
    Single,
}

impl StructureLearner for Linkage {
    fn name(&self) -> &'static str {
        match self {
            Self::Average => "average-linkage",
            Self::Complete => "complete-linkage",
            Self::Single => "single-linkage",
        }
    }

    fn learn_component(&self, distances: &DistanceMatrix, observer: &dyn Observer) -> Result<Tree> {
        if observer.cancelled() {
            return Err(Error::Cancelled);
        }
        let n = distances.len();
        let method = match self {
            Self::Average => Method::Average,
            Self::Complete => Method::Complete,
            Self::Single => Method::Single,
        };
        let mut condensed = Vec::with_capacity(n * (n - 1) / 2);
        (0..n).for_each(|i| condensed.extend((i + 1..n).map(|j| distances.raw(i, j))));
        let steps = linkage(&mut condensed, n, method);
        let mut nodes: Vec<Node> = distances.names().iter().map(|name| Node { name: name.clone(), observed: true }).collect();
        let mut edges = Vec::with_capacity(2 * n);
        let mut heights = vec![0.0; n];
        for step in steps.steps() {
            let top = nodes.len();
            // Two leaves are as far apart as the height of their cluster; each is half of it below.
            let height = (step.dissimilarity / 2.0).max(heights[step.cluster1]).max(heights[step.cluster2]);
            nodes.push(Node { name: format!("\u{0}{top}"), observed: false });
            for cluster in [step.cluster1, step.cluster2] {
                edges.push(Edge::with_length(NodeIx::new(cluster), NodeIx::new(top), height - heights[cluster]));
            }
            heights.push(height);
        }
        // The last cluster has two neighbours only, and is no node of the unrooted tree.
        Ok(Tree::from_parts(nodes, &edges)?.minimal())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observer::Silent;

    /// Distances of points on a line.
    fn line(points: &[f64]) -> DistanceMatrix {
        let names = (0..points.len()).map(|ix| format!("x{ix}")).collect();
        DistanceMatrix::from_fn(names, |i, j| Some((points[i] - points[j]).abs())).unwrap()
    }

    #[test]
    fn cophenetic_distances_are_those_of_the_definitions() {
        // Merged by hand: {0, 1} at 1, {3, 4} at 1.5, then {2} joins {0, 1}.
        let matrix = line(&[0.0, 1.0, 3.0, 10.0, 11.5]);
        for (learner, joined, last) in [
            (Linkage::Single, 2.0, 7.0),
            (Linkage::Complete, 3.0, 11.5),
            (Linkage::Average, 2.5, (10.0 + 9.0 + 7.0 + 11.5 + 10.5 + 8.5) / 6.0),
        ] {
            let tree = learner.learn(&matrix, &Silent).unwrap();
            let paths = tree.path_lengths().unwrap();
            let at = |i: usize, j: usize| paths.get(i, j).unwrap();
            for (found, expected) in [(at(0, 1), 1.0), (at(3, 4), 1.5), (at(0, 2), joined), (at(1, 2), joined), (at(2, 4), last)]
            {
                assert!((found - expected).abs() < 1e-12, "{}: {found} instead of {expected}", learner.name());
            }
            assert_eq!((tree.n_hidden(), tree.n_edges()), (3, 7));
        }
    }
}
