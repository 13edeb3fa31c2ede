use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::super::test_trees::{assert_same_tree, assert_sound, exact_distances, minimal_trees, with_noise, with_random_lengths};
use super::super::{NeighborJoining, SpectralNeighborJoining};
use super::*;
use crate::observer::Silent;
use crate::simulate::Shape;

fn names(n: usize) -> Vec<String> {
    (0..n).map(|ix| format!("x{ix}")).collect()
}

fn top_down(threshold: usize) -> TopDown<NeighborJoining> {
    TopDown::new(NeighborJoining::new().contract(None)).threshold(threshold).contract(Some(1e-6))
}

#[test]
fn exact_distances_of_a_minimal_tree_give_the_tree() {
    for (trial, tree) in minimal_trees(400).enumerate() {
        let distances = exact_distances(&tree);
        let found = top_down(3 + trial % 10).learn(&distances, &Silent).unwrap();
        assert_same_tree(&tree, &found, 1e-7, &format!("trial {trial}"));
    }
}

#[test]
fn exact_distances_of_large_binary_trees_give_the_trees() {
    for (trial, shape) in
        [Shape::Random { max_degree: Some(3) }, Shape::Hmm, Shape::Complete { degree: 3 }].into_iter().enumerate()
    {
        let mut rng = ChaCha8Rng::seed_from_u64(trial as u64);
        let n = if trial == 2 { 768 } else { 700 };
        let tree = with_random_lengths(&shape.tree(n, 0.0, &mut rng).unwrap(), 0.05..1.0, &mut rng);
        let distances = exact_distances(&tree);
        let found = top_down(50).learn(&distances, &Silent).unwrap();
        assert_same_tree(&tree, &found, 1e-6, shape.name());
        let learner = TopDown::new(SpectralNeighborJoining::new().contract(None)).threshold(50).contract(Some(1e-6));
        assert_same_tree(&tree, &learner.learn(&distances, &Silent).unwrap(), 1e-6, shape.name());
    }
}

#[test]
fn parts_that_are_far_apart_are_split_by_the_spanning_tree() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for length in [20.0, 100.0, 1e4] {
        let tree = Shape::Random { max_degree: Some(3) }.tree(40, 0.0, &mut rng).unwrap();
        let tree = tree.with_lengths(|edge| Some(if edge.a.get() % 7 == 0 { length } else { 0.5 }));
        let found = top_down(5).learn(&exact_distances(&tree), &Silent).unwrap();
        assert_same_tree(&tree, &found, 1e-6 * length, &format!("{length}"));
    }
}

#[test]
fn any_distances_give_a_sound_tree() {
    for trial in 0..300 {
        let mut rng = ChaCha8Rng::seed_from_u64(trial);
        let n = rng.random_range(3..50);
        let largest = [1.0, 1e-300, 1e3, f64::MAX][trial as usize % 4];
        let distances = DistanceMatrix::from_fn(names(n), |_, _| Some(rng.random_range(0.0..1.0_f64).powi(3) * largest)).unwrap();
        for contract in [None, Some(DEFAULT_CONTRACTION)] {
            let learner = top_down(3 + trial as usize % 5).contract(contract);
            assert_sound(&learner.learn(&distances, &Silent).unwrap(), &distances);
        }
    }
    for value in [0.0, 1.0] {
        let distances = DistanceMatrix::from_fn(names(30), |_, _| Some(value)).unwrap();
        let tree = top_down(4).learn(&distances, &Silent).unwrap();
        assert_sound(&tree, &distances);
        assert_eq!(tree.n_hidden(), value as usize, "a star, or copies only");
    }
}

#[test]
fn the_result_is_the_same_at_any_number_of_threads() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let tree = Shape::Random { max_degree: Some(4) }.tree(300, 0.0, &mut rng).unwrap();
    let distances = with_noise(&exact_distances(&with_random_lengths(&tree, 0.05..0.5, &mut rng)), 0.1, &mut rng);
    let learn = || top_down(40).learn(&distances, &Silent).unwrap();
    let with_threads = |n| rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap().install(learn);
    let one = with_threads(1);
    assert!([2, 3, 8].into_iter().all(|n| with_threads(n) == one));
}

#[test]
fn cancelling_stops() {
    struct Stop;
    impl Observer for Stop {
        fn cancelled(&self) -> bool {
            true
        }
    }
    let distances = DistanceMatrix::from_fn(names(30), |i, j| Some((i + j) as f64)).unwrap();
    assert!(top_down(5).learn(&distances, &Stop).unwrap_err().is_cancelled());
    assert!(NeighborJoining::new().learn(&distances, &Stop).unwrap_err().is_cancelled());
    assert!(SpectralNeighborJoining::new().learn(&distances, &Stop).unwrap_err().is_cancelled());
}
