use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::super::test_trees::{assert_same_tree, assert_sound, exact_distances, minimal_trees, with_noise, with_random_lengths};
use super::*;
use crate::observer::Silent;
use crate::simulate::Shape;

fn names(n: usize) -> Vec<String> {
    (0..n).map(|ix| format!("x{ix}")).collect()
}

fn learn(distances: &DistanceMatrix, contract: Option<f64>) -> Tree {
    SpectralNeighborJoining::new().contract(contract).learn(distances, &Silent).unwrap()
}

#[test]
fn exact_distances_of_a_minimal_tree_give_the_tree() {
    for (trial, tree) in minimal_trees(500).enumerate() {
        let found = learn(&exact_distances(&tree), Some(1e-6));
        assert_same_tree(&tree, &found, 1e-8, &format!("trial {trial}"));
    }
}

#[test]
fn signs_of_affinities_do_not_matter_where_they_multiply_along_the_tree() {
    for (trial, tree) in minimal_trees(60).enumerate() {
        let mut rng = ChaCha8Rng::seed_from_u64(trial as u64);
        let distances = exact_distances(&tree);
        let signs: Vec<f64> = (0..distances.len()).map(|_| if rng.random_bool(0.5) { 1.0 } else { -1.0 }).collect();
        let pairs = (0..distances.len()).flat_map(|i| (0..i).map(move |j| (i, j)));
        let affinity: Vec<f64> = pairs.map(|(i, j)| signs[i] * signs[j] * (-distances.raw(i, j)).exp()).collect();
        let learner = SpectralNeighborJoining::new().contract(Some(1e-6));
        let found = learner.from_affinity(distances.names().to_vec(), &affinity, &Silent).unwrap();
        assert_same_tree(&tree, &found, 1e-8, &format!("trial {trial}"));
    }
    let bad = SpectralNeighborJoining::new().from_affinity(names(3), &[0.5, f64::NAN, 0.1], &Silent);
    assert!(bad.unwrap_err().to_string().contains("NaN"));
}

#[test]
fn equal_distances_give_a_star_and_distance_zero_an_edge_of_length_zero() {
    for n in 3..20 {
        let star = learn(&DistanceMatrix::from_fn(names(n), |_, _| Some(1.0)).unwrap(), Some(1e-9));
        assert_eq!((star.n_hidden(), star.n_edges()), (1, n), "{n}");
        let same = learn(&DistanceMatrix::from_fn(names(n), |_, _| Some(0.0)).unwrap(), Some(0.0));
        assert_eq!((same.n_hidden(), same.n_edges()), (0, n - 1));
    }
    let copies = DistanceMatrix::from_fn(names(5), |i, _| Some(if i == 1 { 0.0 } else { 1.0 })).unwrap();
    let tree = learn(&copies, Some(1e-9));
    let [a, b] = [0, 1].map(crate::index::NodeIx::new);
    assert!(tree.links(a).iter().any(|link| link.to == b && link.length == Some(0.0)));
}

#[test]
fn any_distances_give_a_sound_tree() {
    for trial in 0..300 {
        let mut rng = ChaCha8Rng::seed_from_u64(trial);
        let n = rng.random_range(3..40);
        let largest = [1.0, 1e-300, 1e3, f64::MAX][trial as usize % 4];
        let value = |_: usize, _: usize| {
            (trial % 3 > 0 || rng.random_bool(0.7)).then(|| rng.random_range(0.0..1.0_f64).powi(3) * largest)
        };
        let distances = DistanceMatrix::from_fn(names(n), value).unwrap();
        for contract in [None, Some(DEFAULT_CONTRACTION)] {
            let tree = learn(&distances, contract);
            if distances.components().len() == 1 {
                assert_sound(&tree, &distances);
            } else {
                assert_eq!(tree.n_components(), distances.components().len());
            }
        }
    }
}

#[test]
fn pairs_too_far_for_a_distance_are_of_affinity_zero() {
    // Two groups joined by one pair only.
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let tree = Shape::DoubleStar.tree(20, 0.0, &mut rng).unwrap();
    let tree = tree.with_lengths(|edge| Some(if tree.is_observed(edge.a) { 0.3 } else { 9.0 }));
    let exact = exact_distances(&tree);
    let weak = |i, j| exact.get(i, j).filter(|distance| *distance < 9.0 || (i, j) == (19, 0));
    let found = learn(&DistanceMatrix::from_fn(exact.names().to_vec(), weak).unwrap(), Some(0.1));
    let middle = tree.edges().find(|edge| !tree.is_observed(edge.a) && !tree.is_observed(edge.b)).unwrap();
    assert!(found.splits().contains(tree.splits().of_edge(middle.a, middle.b).unwrap()));
}

#[test]
fn the_result_is_the_same_at_any_number_of_threads() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let tree = Shape::Random { max_degree: Some(4) }.tree(150, 0.0, &mut rng).unwrap();
    let distances = with_noise(&exact_distances(&with_random_lengths(&tree, 0.05..0.5, &mut rng)), 0.1, &mut rng);
    let with_threads = |n| rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap().install(|| learn(&distances, None));
    let one = with_threads(1);
    assert!([2, 3, 8].into_iter().all(|n| with_threads(n) == one));
}

#[test]
fn more_variables_than_can_be_joined_are_refused() {
    assert!(check_size(MAX_VARIABLES).is_ok());
    assert!(check_size(MAX_VARIABLES + 1).unwrap_err().to_string().contains("nj"));
}
