//! The learners that group: exact distances in, the exact tree out; anything else in, some minimal tree out.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::test_trees::{assert_same_tree, assert_sound, exact_distances, minimal_trees, with_random_lengths};
use super::*;
use crate::NodeIx;
use crate::distance::DistanceMatrix;
use crate::observer::Silent;
use crate::simulate::Shape;
use crate::structure::{CorrelationSample, DEFAULT_CONTRACTION, WishartCorrelations, contract_short};
use crate::tree::{Tree, same_structure};

/// Distances of a tree with noise as from that many rows of a Gaussian model, with their standard errors if asked for.
fn noisy(tree: &Tree, rows: f64, has_errors: bool, rng: &mut ChaCha8Rng) -> DistanceMatrix {
    use rand_distr::{Distribution, StandardNormal};
    let truth = exact_distances(tree);
    let (mut values, mut errors) = (Vec::new(), Vec::new());
    for &distance in truth.lower() {
        let rho = (-distance).exp();
        let noise: f64 = StandardNormal.sample(rng);
        let estimate = (rho + noise * (1.0 - rho * rho) / rows.sqrt()).abs().clamp(0.3 / rows.sqrt(), 1.0);
        values.push(-estimate.ln());
        errors.push((1.0 - estimate * estimate) / (estimate * rows.sqrt()));
    }
    DistanceMatrix::from_lower(truth.names().to_vec(), values, has_errors.then_some(errors)).unwrap()
}

/// Distances between the variables of rows drawn from the Gaussian model with these lengths, with their standard errors.
fn sampled(tree: &Tree, n_rows: usize, rng: &mut ChaCha8Rng) -> DistanceMatrix {
    use rand_distr::{Distribution, StandardNormal};
    let rooted = crate::tree::Rooted::new(tree, tree.center());
    let observed: Vec<NodeIx> = tree.node_ixs().filter(|&node| tree.is_observed(node)).collect();
    let mut products = vec![0.0; observed.len() * observed.len()];
    let mut values = vec![0.0; tree.n_nodes()];
    for _ in 0..n_rows {
        for &node in &rooted.order {
            let noise: f64 = StandardNormal.sample(rng);
            values[node.get()] = rooted.parent[node.get()].map_or(noise, |parent| {
                let link = tree.links(node).iter().find(|link| link.to == parent).unwrap();
                let rho = (-link.length.unwrap()).exp();
                rho * values[parent.get()] + (1.0 - rho * rho).sqrt() * noise
            });
        }
        for (i, a) in observed.iter().enumerate() {
            for (j, b) in observed.iter().enumerate().take(i + 1) {
                products[i * observed.len() + j] += values[a.get()] * values[b.get()];
            }
        }
    }
    let root = (n_rows as f64).sqrt();
    let (mut lower, mut errors) = (Vec::new(), Vec::new());
    for i in 0..observed.len() {
        for j in 0..i {
            let scale = products[i * observed.len() + i] * products[j * observed.len() + j];
            let rho = (products[i * observed.len() + j] / scale.sqrt()).abs().clamp(0.3 / root, 1.0);
            lower.push(-rho.ln());
            errors.push((1.0 - rho * rho) / (rho * root));
        }
    }
    let names = observed.iter().map(|&node| tree.name(node).to_owned()).collect();
    DistanceMatrix::from_lower(names, lower, Some(errors)).unwrap()
}

fn learners() -> Vec<Box<dyn StructureLearner + Sync>> {
    vec![
        Box::new(RecursiveGrouping::default()),
        Box::new(ChowLiuRecursiveGrouping::default()),
        Box::new(ParallelLocalGrouping::default()),
        Box::new(ChowLiuNeighborJoining::default()),
    ]
}

#[test]
fn exact_distances_of_any_minimal_tree_give_that_tree() {
    for (trial, tree) in minimal_trees(500).enumerate() {
        for learner in learners() {
            let learned = learner.learn(&exact_distances(&tree), &Silent).unwrap();
            assert_same_tree(&tree, &learned, 1e-8, &format!("{}, trial {trial}", learner.name()));
        }
    }
}

#[test]
fn equally_long_edges_with_all_their_ties_give_the_tree() {
    let mut rng = ChaCha8Rng::seed_from_u64(12);
    for trial in 0..300 {
        let shape = Shape::Random { max_degree: Some(3 + trial % 4) };
        let inner = if trial % 2 == 0 { 0.0 } else { 0.3 };
        let tree = shape.tree(rng.random_range(3..=40), inner, &mut rng).unwrap();
        // 0.3 is no binary fraction: sums that should be equal differ by roundings, and so break ties at random.
        let length = if trial % 3 == 0 { 1.0 } else { 0.3 };
        let tree = tree.with_lengths(|_| Some(length));
        for learner in learners() {
            let learned = learner.learn(&exact_distances(&tree), &Silent).unwrap();
            assert_same_tree(&tree, &learned, 1e-8, &format!("{}, trial {trial}", learner.name()));
        }
    }
}

#[test]
fn known_shapes_are_found() {
    let shapes = [(Shape::DoubleStar, 80), (Shape::Hmm, 80), (Shape::Complete { degree: 5 }, 81), (Shape::Star, 300)];
    let mut rng = ChaCha8Rng::seed_from_u64(13);
    for (shape, n) in shapes {
        let tree = with_random_lengths(&shape.tree(n, 0.0, &mut rng).unwrap(), 0.2..1.6, &mut rng);
        for learner in learners() {
            let learned = learner.learn(&exact_distances(&tree), &Silent).unwrap();
            assert_same_tree(&tree, &learned, 1e-8, &format!("{} on {}", learner.name(), shape.name()));
        }
    }
}

#[test]
fn clblind_is_right_where_the_nearest_variable_is_a_neighbour() {
    let mut rng = ChaCha8Rng::seed_from_u64(14);
    let mut n_blind = 0;
    for trial in 0..400 {
        let shape = Shape::Random { max_degree: Some(3 + trial % 5) };
        let tree = shape.tree(rng.random_range(3..=40), 0.0, &mut rng).unwrap();
        let tree = with_random_lengths(&tree, 0.5..0.9, &mut rng);
        let hidden = tree.node_ixs().filter(|&node| !tree.is_observed(node));
        let has_leaf = |node: NodeIx| tree.links(node).iter().any(|link| tree.is_observed(link.to));
        // Lengths are below twice the shortest: a leaf is nearer than any variable behind another hidden node.
        if !hidden.into_iter().all(has_leaf) {
            continue;
        }
        n_blind += 1;
        let learned = ChowLiuBlind.learn(&exact_distances(&tree), &Silent).unwrap();
        assert_same_tree(&tree, &learned, 1e-8, &format!("trial {trial}"));
    }
    assert!(n_blind > 50, "{n_blind} trees are of the class");
}

#[test]
fn noise_gives_a_sound_tree_always() {
    let mut rng = ChaCha8Rng::seed_from_u64(15);
    for trial in 0..120 {
        let tree = Shape::Random { max_degree: None }.tree(rng.random_range(3..=50), 0.2, &mut rng).unwrap();
        let tree = with_random_lengths(&tree, 0.05..2.0, &mut rng);
        let rows = [5.0, 100.0, 10_000.0][trial % 3];
        let distances = noisy(&tree, rows, trial % 2 == 0, &mut rng);
        for learner in learners().into_iter().chain([Box::new(ChowLiuBlind) as Box<_>]) {
            assert_sound(&learner.learn(&distances, &Silent).unwrap(), &distances);
        }
    }
}

#[test]
fn double_stars_are_found_from_rows() {
    // Choi et al. (2011), §7.1: all correlations in 0.2..0.8; recursive grouping recovers the double star from few rows.
    for seed in 0..5 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let tree = Shape::DoubleStar.tree(80, 0.0, &mut rng).unwrap();
        let tree = with_random_lengths(&tree, -0.8_f64.ln()..-0.2_f64.ln(), &mut rng);
        let distances = sampled(&tree, 10_000, &mut rng);
        for learner in learners().iter().take(3) {
            let learned = learner.learn(&distances, &Silent).unwrap();
            assert!(same_structure(&learned, &tree), "{}, seed {seed}", learner.name());
        }
    }
}

#[test]
fn recursive_grouping_finds_more_of_a_long_chain_with_more_rows() {
    // Choi et al. (2011), Theorem 11: consistent, also where most pairs are too far from each other to say anything.
    use crate::distance::{DistanceOptions, from_correlations};
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    let mut errors = [0.0; 2];
    for _ in 0..6 {
        let tree = with_random_lengths(&Shape::Hmm.tree(60, 0.0, &mut rng).unwrap(), 0.22..1.6, &mut rng);
        let exact = exact_distances(&tree);
        let correlations: Vec<f64> = exact.lower().iter().map(|distance| (-distance).exp()).collect();
        for (error, rows) in errors.iter_mut().zip([2e4, 2e5]) {
            let sample = CorrelationSample::from_lower(exact.names().to_vec(), &correlations, rows);
            let drawn = WishartCorrelations::new(&sample).unwrap().draw(&mut rng);
            let options = DistanceOptions::new().significance(None);
            let distances = from_correlations(exact.names().to_vec(), &drawn, rows, &options).unwrap();
            let found = RecursiveGrouping::default().learn(&distances, &Silent).unwrap();
            *error += (found.n_hidden() as f64 - tree.n_hidden() as f64).abs();
        }
    }
    assert!(errors[1] <= 0.5 * errors[0], "{errors:?}");
}

#[test]
fn distances_of_no_tree_give_a_sound_tree() {
    let mut rng = ChaCha8Rng::seed_from_u64(16);
    let names = |n: usize| (0..n).map(|ix| format!("h{ix}")).collect::<Vec<_>>();
    for n in [3, 4, 5, 17, 60] {
        let mut matrices = vec![
            DistanceMatrix::from_fn(names(n), |_, _| Some(1.0)).unwrap(),
            DistanceMatrix::from_fn(names(n), |_, _| Some(0.0)).unwrap(),
            DistanceMatrix::from_fn(names(n), |_, _| Some(f64::MAX)).unwrap(),
            DistanceMatrix::from_fn(names(n), |_, _| Some(1e-300)).unwrap(),
            DistanceMatrix::from_fn(names(n), |i, j| Some(if (i + j) % 3 == 0 { f64::MAX } else { 1e-200 })).unwrap(),
            DistanceMatrix::from_fn(names(n), |_, _| Some(rng.random_range(0.0..1.0))).unwrap(),
            DistanceMatrix::from_fn(names(n), |_, _| Some(f64::from(rng.random_range(0..3_u8)))).unwrap(),
            DistanceMatrix::from_fn(names(n), |_, _| Some(10.0_f64.powf(rng.random_range(-9.0..9.0)))).unwrap(),
        ];
        for error in [0.0, 1e-300, 1.0, f64::INFINITY, f64::NAN] {
            let values: Vec<f64> = (0..n * (n - 1) / 2).map(|_| rng.random_range(0.0..4.0)).collect();
            let errors = vec![error; values.len()];
            matrices.push(DistanceMatrix::from_lower(names(n), values, Some(errors)).unwrap());
        }
        for matrix in &matrices {
            for learner in learners().into_iter().chain([Box::new(ChowLiuBlind) as Box<_>]) {
                assert_sound(&learner.learn(matrix, &Silent).unwrap(), matrix);
            }
        }
    }
}

#[test]
fn two_identical_columns_become_neighbours() {
    let mut rng = ChaCha8Rng::seed_from_u64(17);
    let tree = Shape::Random { max_degree: Some(4) }.tree(20, 0.0, &mut rng).unwrap();
    let tree = with_random_lengths(&tree, 0.2..1.0, &mut rng);
    let truth = exact_distances(&tree);
    let mut names = truth.names().to_vec();
    names.push("copy".to_owned());
    let source = |ix: usize| if ix == 20 { 7 } else { ix };
    let matrix = DistanceMatrix::from_fn(names, |i, j| truth.get(source(i), source(j))).unwrap();
    for learner in learners() {
        let learned = learner.learn(&matrix, &Silent).unwrap();
        assert_sound(&learned, &matrix);
        assert!(learned.links(NodeIx::new(7)).iter().any(|link| link.to == NodeIx::new(20)), "{}", learner.name());
    }
}

#[test]
fn threads_do_not_change_the_tree() {
    let mut rng = ChaCha8Rng::seed_from_u64(18);
    let tree = Shape::Random { max_degree: None }.tree(300, 0.2, &mut rng).unwrap();
    let distances = noisy(&with_random_lengths(&tree, 0.05..1.5, &mut rng), 2000.0, true, &mut rng);
    for learner in learners() {
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| learner.learn(&distances, &Silent).unwrap())
        };
        let alone = run(1);
        assert!(run(2) == alone && run(5) == alone, "{}", learner.name());
    }
}

#[test]
fn any_candidates_can_be_applied_and_all_of_them_are_the_learner() {
    let mut rng = ChaCha8Rng::seed_from_u64(19);
    for trial in 0..60 {
        let tree = Shape::Random { max_degree: Some(6) }.tree(rng.random_range(4..=50), 0.2, &mut rng).unwrap();
        let tree = with_random_lengths(&tree, 0.2..1.5, &mut rng);
        let distances = if trial % 2 == 0 { exact_distances(&tree) } else { noisy(&tree, 3000.0, true, &mut rng) };
        let spanning_tree = distance_spanning_tree(&distances);
        let all = candidates(&distances, &spanning_tree, &RecursiveGrouping::default(), &Silent).unwrap();
        let threshold = if trial % 2 == 0 { 1e-9 } else { DEFAULT_CONTRACTION };
        let whole = contract_short(&apply(&spanning_tree, &all).unwrap(), threshold);
        let learned = ChowLiuRecursiveGrouping::default().learn(&distances, &Silent).unwrap();
        assert!(same_structure(&whole, &learned), "trial {trial}");
        assert_eq!(apply(&spanning_tree, &[]).unwrap(), spanning_tree);
        let some: Vec<Candidate> = all.iter().filter(|_| rng.random_bool(0.5)).cloned().collect();
        let applied = apply(&spanning_tree, &some).unwrap();
        assert_sound(&applied, &distances);
        assert_eq!(applied.n_hidden(), some.iter().map(|candidate| candidate.subtree.n_hidden()).sum::<usize>());
        if trial % 2 == 0 {
            // With exact distances a subset is the tree with the other leaders' hidden nodes contracted: distances between the
            // leaders' neighbours are kept.
            for candidate in &some {
                let lengths = candidate.subtree.path_lengths().unwrap();
                for (row, &a) in lengths.nodes().iter().enumerate() {
                    for (column, &b) in lengths.nodes().iter().enumerate().take(row) {
                        let ix = |node| distances.names().iter().position(|name| name == candidate.subtree.name(node)).unwrap();
                        let difference = (lengths.get(row, column).unwrap() - distances.get(ix(a), ix(b)).unwrap()).abs();
                        assert!(difference < 1e-8, "trial {trial}: {difference}");
                    }
                }
            }
        }
    }
}

#[test]
fn candidates_that_do_not_fit_are_refused() {
    let mut rng = ChaCha8Rng::seed_from_u64(20);
    let tree = with_random_lengths(&Shape::Hmm.tree(9, 0.0, &mut rng).unwrap(), 0.2..1.5, &mut rng);
    let distances = exact_distances(&tree);
    let spanning_tree = distance_spanning_tree(&distances);
    let all = candidates(&distances, &spanning_tree, &RecursiveGrouping::default(), &Silent).unwrap();
    assert!(apply(&spanning_tree, &[all[0].clone(), all[0].clone()]).unwrap_err().to_string().contains("twice"));
    let mut other = all[0].clone();
    other.leader = all[1].leader.clone();
    assert!(apply(&spanning_tree, &[other]).is_err());
    assert!(apply(&Tree::new(), &all).is_err());
    assert!(candidates(&distances, &Tree::new(), &RecursiveGrouping::default(), &Silent).is_err());
}

#[test]
fn cancelling_stops_every_learner() {
    struct Stop;
    impl crate::Observer for Stop {
        fn cancelled(&self) -> bool {
            true
        }
    }
    let mut rng = ChaCha8Rng::seed_from_u64(21);
    let tree = with_random_lengths(&Shape::Hmm.tree(9, 0.0, &mut rng).unwrap(), 0.2..1.5, &mut rng);
    for learner in learners() {
        assert!(learner.learn(&exact_distances(&tree), &Stop).unwrap_err().is_cancelled(), "{}", learner.name());
    }
}
