//! Random trees with known distances, for the tests of learners.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::distance::DistanceMatrix;
use crate::simulate::Shape;
use crate::tree::{Tree, match_hidden, same_structure};

/// The tree with lengths drawn from the range.
pub(super) fn with_random_lengths(tree: &Tree, range: std::ops::Range<f64>, rng: &mut ChaCha8Rng) -> Tree {
    let n = tree.n_nodes();
    let lengths: std::collections::HashMap<(usize, usize), f64> =
        tree.edges().map(|edge| ((edge.a.get(), edge.b.get()), rng.random_range(range.clone()))).collect();
    assert!(lengths.len() < n);
    tree.with_lengths(|edge| Some(lengths[&(edge.a.get(), edge.b.get())]))
}

/// The exact distances between the observed nodes, which come first in the tree, by the tree's names.
pub(super) fn exact_distances(tree: &Tree) -> DistanceMatrix {
    let paths = tree.path_lengths().unwrap();
    let names = paths.nodes().iter().map(|&node| tree.name(node).to_owned()).collect();
    DistanceMatrix::from_fn(names, |i, j| paths.get(i, j)).unwrap()
}

/// The distances with each multiplied by a random number in 1 ± noise.
pub(super) fn with_noise(distances: &DistanceMatrix, noise: f64, rng: &mut ChaCha8Rng) -> DistanceMatrix {
    let noisy = |i: usize, j: usize| Some(distances.raw(i, j) * rng.random_range(1.0 - noise..1.0 + noise));
    DistanceMatrix::from_fn(distances.names().to_vec(), noisy).unwrap()
}

/// Minimal trees of 3 to 60 observed nodes and degrees up to 8, every other one with observed inner nodes; lengths in 0.05..2.
pub(super) fn minimal_trees(n_trees: usize) -> impl Iterator<Item = Tree> {
    (0..n_trees).map(|trial| {
        let mut rng = ChaCha8Rng::seed_from_u64(trial as u64);
        let n_observed = rng.random_range(3..=60);
        let shape = Shape::Random { max_degree: Some(3 + trial % 6) };
        let tree = shape.tree(n_observed, if trial % 2 == 0 { 0.0 } else { 0.3 }, &mut rng).unwrap();
        with_random_lengths(&tree, 0.05..2.0, &mut rng)
    })
}

/// Panics unless the trees are the same, with lengths to the tolerance.
pub(super) fn assert_same_tree(truth: &Tree, found: &Tree, tolerance: f64, context: &str) {
    assert!(same_structure(truth, found), "{context}: {} is not {}", found.to_newick(None), truth.to_newick(None));
    let partner = match_hidden(truth, found);
    for edge in truth.edges() {
        let (a, b) = (partner[edge.a.get()].unwrap(), partner[edge.b.get()].unwrap());
        let link = found.links(a).iter().find(|link| link.to == b).unwrap();
        let (expected, length) = (edge.length.unwrap(), link.length.unwrap());
        assert!((expected - length).abs() <= tolerance, "{context}: length {length}, not {expected}");
    }
}

/// Panics unless the tree is minimal, connected, over the given variables, with finite lengths ≥ 0.
pub(super) fn assert_sound(tree: &Tree, distances: &DistanceMatrix) {
    assert!(tree.is_minimal() && tree.is_connected());
    assert_eq!(tree.n_observed(), distances.len());
    let names = tree.nodes().iter().map(|node| &node.name);
    assert!(names.zip(distances.names()).all(|(node, name)| node == name));
    assert!(tree.edges().all(|edge| edge.length.is_some_and(|length| length.is_finite() && length >= 0.0)));
}
