//! Code shared by all distance-based learners.

use crate::distance::DistanceMatrix;
use crate::error::{Error, Result};
use crate::index::NodeIx;
use crate::observer::Observer;
use crate::tree::{Edge, Node, Tree};

/// A learner of latent trees from distances.
///
/// The tree has the matrix's variables as observed nodes, in its order and with its names, then the hidden nodes `h1`, `h2`, …;
/// edge lengths are set. Variables that no chain of distances connects are in different trees of a forest.
pub trait StructureLearner {
    /// The name users write.
    fn name(&self) -> &'static str;

    /// Whether [`learn_component`](Self::learn_component) needs every distance; a learner that says no is given matrices as they
    /// are.
    fn needs_all_distances(&self) -> bool {
        true
    }

    /// Learns the tree of one connected component of at least three variables whose distances are all defined (or connect the
    /// variables at least, if not [all are needed](Self::needs_all_distances)). Nodes `0..distances.len()` of the result are the
    /// variables.
    ///
    /// # Errors
    /// [`Error::Cancelled`] if the observer asks to stop.
    fn learn_component(&self, distances: &DistanceMatrix, observer: &dyn Observer) -> Result<Tree>;

    /// Learns a tree, or a forest where some variables have no chain of distances to others.
    ///
    /// Distances that are undefined within a component are completed first, see [`completed`], where the learner needs them.
    /// Components of one and two variables are a node and an edge.
    ///
    /// # Errors
    /// [`Error::Data`] if there are no variables, and those of [`learn_component`](Self::learn_component).
    fn learn(&self, distances: &DistanceMatrix, observer: &dyn Observer) -> Result<Tree> {
        if distances.is_empty() {
            return Err(Error::tree("there are no variables"));
        }
        let components = if distances.n_undefined() == 0 { vec![(0..distances.len()).collect()] } else { distances.components() };
        let mut nodes: Vec<Node> = distances.names().iter().map(|name| Node { name: name.clone(), observed: true }).collect();
        let mut edges: Vec<Edge> = Vec::new();
        let mut n_hidden = 0;
        for members in &components {
            if let [a, b] = members[..] {
                edges.push(Edge { length: distances.get(a, b), ..Edge::new(NodeIx::new(a), NodeIx::new(b)) });
            }
            if members.len() < 3 {
                continue;
            }
            // A matrix is large: where all variables are connected it is not copied.
            let whole = components.len() == 1;
            let tree = if whole && (distances.n_undefined() == 0 || !self.needs_all_distances()) {
                self.learn_component(distances, observer)?
            } else if whole {
                self.learn_component(&completed(distances), observer)?
            } else if self.needs_all_distances() {
                self.learn_component(&completed(&distances.subset(members)), observer)?
            } else {
                self.learn_component(&distances.subset(members), observer)?
            };
            let first_hidden = nodes.len();
            let place =
                |node: NodeIx| NodeIx::new(members.get(node.get()).copied().unwrap_or(first_hidden + node.get() - members.len()));
            edges.extend(tree.edges().map(|edge| Edge { a: place(edge.a), b: place(edge.b), ..edge }));
            for _ in members.len()..tree.n_nodes() {
                // A name that no variable can have for the moment; the stable names are given at the end.
                nodes.push(Node { name: format!("\u{0}{n_hidden}"), observed: false });
                n_hidden += 1;
            }
        }
        Ok(Tree::from_parts(nodes, &edges)?.relabel_hidden())
    }
}

/// The matrix with every undefined distance replaced by the length of the way through the minimum spanning tree of the defined
/// ones: an upper bound of the true distance when distances are exact, as they are additive on a tree. Where standard errors are
/// known, theirs is the largest, or 1.
///
/// # Panics
/// If some variables are not connected by defined distances.
#[must_use]
pub fn completed(distances: &DistanceMatrix) -> DistanceMatrix {
    let n = distances.len();
    if distances.n_undefined() == 0 {
        return distances.clone();
    }
    let spanning = super::minimum_spanning_forest(n, |i, out| (0..n).for_each(|j| out[j] = distances.raw(i, j)));
    let nodes = distances.names().iter().map(|name| Node { name: name.clone(), observed: true }).collect();
    let edges: Vec<Edge> =
        spanning.iter().map(|&(a, b)| Edge::with_length(NodeIx::new(a), NodeIx::new(b), distances.raw(a, b))).collect();
    let tree = Tree::from_parts(nodes, &edges).expect("a spanning tree is a tree");
    let lengths = tree.path_lengths().expect("all edges have lengths");
    let pairs = (0..n).flat_map(|i| (0..i).map(move |j| (i, j)));
    let values = pairs.map(|(i, j)| distances.get(i, j).or_else(|| lengths.get(i, j)).unwrap_or(f64::NAN)).collect();
    let errors = distances.lower_errors().map(|errors| {
        // The logarithm of an insignificant correlation has an error of about 1, and is known no better than a distance.
        let largest = errors.iter().copied().filter(|error| error.is_finite()).fold(1.0, f64::max);
        errors.iter().map(|&error| if error.is_nan() { largest } else { error }).collect()
    });
    DistanceMatrix::from_lower(distances.names().to_vec(), values, errors).expect("sums of valid distances are valid")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observer::Silent;

    /// Joins everything to one hidden node.
    struct Star;

    impl StructureLearner for Star {
        fn name(&self) -> &'static str {
            "star"
        }

        fn learn_component(&self, distances: &DistanceMatrix, _: &dyn Observer) -> Result<Tree> {
            let mut nodes: Vec<Node> = distances.names().iter().map(|name| Node { name: name.clone(), observed: true }).collect();
            nodes.push(Node { name: "\u{0}hub".to_owned(), observed: false });
            let hub = NodeIx::new(distances.len());
            let edges: Vec<Edge> = (0..distances.len()).map(|ix| Edge::with_length(NodeIx::new(ix), hub, 0.5)).collect();
            Tree::from_parts(nodes, &edges)
        }
    }

    #[test]
    fn variables_without_a_chain_of_distances_make_a_forest() {
        let names = (0..8).map(|ix| format!("h{ix}")).collect();
        // {0..3} connected through 3 only, {4, 5}, and two alone.
        let distance = |i: usize, j: usize| match (i, j) {
            (3, _) => Some(1.0 + j as f64),
            (5, 4) => Some(2.0),
            _ => None,
        };
        let matrix = DistanceMatrix::from_fn(names, distance).unwrap();
        let tree = Star.learn(&matrix, &Silent).unwrap();
        assert_eq!((tree.n_components(), tree.n_hidden(), tree.n_edges()), (4, 1, 5));
        // Observed names h0…h7 are taken: the hidden node has the next free one.
        assert_eq!(tree.name(NodeIx::new(8)), "h8");
        assert_eq!(completed(&matrix.subset(&[0, 1, 2, 3])).get(0, 2), Some(4.0));
    }
}
