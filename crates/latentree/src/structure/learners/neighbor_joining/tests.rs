use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::super::test_trees::{assert_same_tree, assert_sound, exact_distances, minimal_trees, with_noise};
use super::*;
use crate::observer::Silent;
use crate::tree::same_structure;

fn names(n: usize) -> Vec<String> {
    (0..n).map(|ix| format!("x{ix}")).collect()
}

fn learn(distances: &DistanceMatrix, contract: Option<f64>) -> Tree {
    NeighborJoining::new().contract(contract).learn(distances, &Silent).unwrap()
}

/// All pairs in every step, sums made anew in every step, a square matrix.
fn plain_scan(distances: &DistanceMatrix) -> Tree {
    let mut n = distances.len();
    let mut d: Vec<Vec<f64>> = (0..n).map(|i| (0..n).map(|j| distances.raw(i, j)).collect()).collect();
    let mut node: Vec<usize> = (0..n).collect();
    let mut tree = JoinedTree::new(distances.names());
    while n > 3 {
        let sums: Vec<f64> = d.iter().map(|row| row.iter().sum()).collect();
        let shares: Vec<f64> = sums.iter().map(|sum| sum / (n - 2) as f64).collect();
        let mut best = (f64::INFINITY, 0, 0);
        // Of four, a pair and the other two are always equally near: the first has place 0.
        for i in 0..if n == 4 { 1 } else { n } {
            for j in i + 1..n {
                let value = d[i][j] - shares[i] - shares[j];
                if value < best.0 {
                    best = (value, i, j);
                }
            }
        }
        let (_, i, j) = best;
        let to_i = (d[i][j] + shares[i] - shares[j]) / 2.0;
        node[i] = tree.join((node[i], to_i), (node[j], d[i][j] - to_i));
        let between = d[i][j];
        let joined: Vec<f64> = (0..n).map(|k| if k == i { 0.0 } else { (d[i][k] + d[j][k] - between) / 2.0 }).collect();
        for k in 0..n {
            d[i][k] = joined[k];
            d[k][i] = joined[k];
        }
        d.swap_remove(j);
        for row in &mut d {
            row.swap_remove(j);
        }
        node.swap_remove(j);
        n -= 1;
    }
    tree.join_last([node[0], node[1], node[2]], [d[0][1], d[0][2], d[1][2]]);
    tree.finish(None).unwrap()
}

fn assert_like_plain_scan(distances: &DistanceMatrix, context: &str) {
    let found = NeighborJoining::new().contract(None).learn_component(distances, &Silent).unwrap();
    assert_same_tree(&plain_scan(distances), &found, 1e-9, context);
}

#[test]
fn the_tree_is_that_of_the_plain_scan_on_noise() {
    for trial in 0..300 {
        let mut rng = ChaCha8Rng::seed_from_u64(trial);
        let n = rng.random_range(3..80);
        // From nearly equal distances to ones that break every triangle inequality.
        let low = [0.0, 0.5, 0.99][trial as usize % 3];
        let distances = DistanceMatrix::from_fn(names(n), |_, _| Some(rng.random_range(low..1.0))).unwrap();
        assert_like_plain_scan(&distances, &format!("trial {trial}"));
    }
}

#[test]
fn the_tree_is_that_of_the_plain_scan_on_noisy_trees() {
    for (trial, tree) in minimal_trees(300).enumerate() {
        let mut rng = ChaCha8Rng::seed_from_u64(trial as u64);
        let noise = [1e-3, 0.1, 0.9][trial % 3];
        assert_like_plain_scan(&with_noise(&exact_distances(&tree), noise, &mut rng), &format!("trial {trial}"));
    }
}

#[test]
fn ties_are_broken_as_in_the_plain_scan() {
    for trial in 0..300 {
        let mut rng = ChaCha8Rng::seed_from_u64(trial);
        let n = rng.random_range(3..40);
        // Small integers have exact sums for a while, so that equal values are equal in both.
        let distances = DistanceMatrix::from_fn(names(n), |_, _| Some(f64::from(rng.random_range(0..4)))).unwrap();
        assert_like_plain_scan(&distances, &format!("trial {trial}"));
    }
}

#[test]
fn exact_distances_of_a_minimal_tree_give_the_tree() {
    for (trial, tree) in minimal_trees(500).enumerate() {
        let found = learn(&exact_distances(&tree), Some(1e-6));
        assert_same_tree(&tree, &found, 1e-8, &format!("trial {trial}"));
    }
}

#[test]
fn equal_distances_give_a_star_and_distance_zero_an_edge_of_length_zero() {
    for n in 3..20 {
        let star = learn(&DistanceMatrix::from_fn(names(n), |_, _| Some(1.0)).unwrap(), Some(1e-9));
        assert_eq!((star.n_hidden(), star.n_edges()), (1, n), "{n}");
        assert!(star.edges().all(|edge| (edge.length.unwrap() - 0.5).abs() < 1e-12));
    }
    for n in 3..20 {
        let same = learn(&DistanceMatrix::from_fn(names(n), |_, _| Some(0.0)).unwrap(), Some(0.0));
        assert_eq!((same.n_hidden(), same.n_edges()), (0, n - 1));
    }
    // x0 and x1 are copies of each other: they are neighbours at length 0.
    let copies = DistanceMatrix::from_fn(names(5), |i, _| Some(if i == 1 { 0.0 } else { 1.0 })).unwrap();
    let tree = learn(&copies, Some(1e-9));
    let [a, b] = [0, 1].map(crate::index::NodeIx::new);
    assert!(tree.links(a).iter().any(|link| link.to == b && link.length == Some(0.0)));
}

#[test]
fn three_variables_give_a_star_and_a_middle_variable_is_found() {
    let distance = |i: usize, j: usize| Some([1.0, 2.0, 3.0][i + j - 1]);
    let star = learn(&DistanceMatrix::from_fn(names(3), |_, _| Some(1.0)).unwrap(), None);
    assert_eq!(star.n_hidden(), 1);
    // x1 – x0 – x2.
    let chain = learn(&DistanceMatrix::from_fn(names(3), distance).unwrap(), Some(1e-9));
    assert_eq!((chain.n_hidden(), chain.degree(crate::index::NodeIx::new(0))), (0, 2));
}

#[test]
fn any_distances_give_a_sound_tree() {
    for trial in 0..300 {
        let mut rng = ChaCha8Rng::seed_from_u64(trial);
        let n = rng.random_range(3..50);
        let largest = [1.0, 1e-300, 1e300, f64::MAX][trial as usize % 4];
        let distances = DistanceMatrix::from_fn(names(n), |_, _| Some(rng.random_range(0.0..1.0_f64).powi(3) * largest)).unwrap();
        for contract in [None, Some(DEFAULT_CONTRACTION)] {
            assert_sound(&learn(&distances, contract), &distances);
        }
    }
}

#[test]
fn a_large_noisy_tree_is_the_plain_scans() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let tree = crate::simulate::Shape::Random { max_degree: Some(3) }.tree(400, 0.0, &mut rng).unwrap();
    let tree = super::super::test_trees::with_random_lengths(&tree, 0.01..0.5, &mut rng);
    let distances = with_noise(&exact_distances(&tree), 0.2, &mut rng);
    assert_like_plain_scan(&distances, "400");
    assert!(!same_structure(&tree, &learn(&distances, None)), "the noise is enough to matter");
}
