use nalgebra::{DMatrix, DVector};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::observer::Silent;
use crate::simulate::Shape;
use crate::structure::test_trees::{exact_distances, minimal_trees, with_noise, with_random_lengths};

/// The design matrix of all pairs with a distance, their distances and weights.
fn dense(tree: &Tree, distances: &DistanceMatrix) -> (DMatrix<f64>, DVector<f64>, DVector<f64>) {
    let edges: Vec<_> = tree.edges().collect();
    let (mut rows, mut values, mut weights) = (Vec::new(), Vec::new(), Vec::new());
    for i in 0..distances.len() {
        for j in 0..i {
            let Some(distance) = distances.get(i, j) else { continue };
            let ends = [i, j].map(|ix| tree.find(&distances.names()[ix]).unwrap());
            let Some(path) = tree.path(ends[0], ends[1]) else { continue };
            let on_path =
                |edge: &crate::tree::Edge| path.windows(2).any(|it| [(it[0], it[1]), (it[1], it[0])].contains(&(edge.a, edge.b)));
            rows.push(edges.iter().map(|edge| f64::from(u8::from(on_path(edge)))).collect::<Vec<_>>());
            values.push(distance);
            weights.push(distances.error(i, j).map_or(1.0, |error| error.powi(-2)));
        }
    }
    let design = DMatrix::from_fn(rows.len(), edges.len(), |row, column| rows[row][column]);
    (design, DVector::from_vec(values), DVector::from_vec(weights))
}

fn lengths(tree: &Tree) -> DVector<f64> {
    DVector::from_iterator(tree.n_edges(), tree.edges().map(|edge| edge.length.unwrap()))
}

fn with_random_errors(distances: &DistanceMatrix, rng: &mut ChaCha8Rng) -> DistanceMatrix {
    let errors = distances.lower().iter().map(|_| rng.random_range(0.01..0.3)).collect();
    DistanceMatrix::from_lower(distances.names().to_vec(), distances.lower().to_vec(), Some(errors)).unwrap()
}

#[test]
fn listed_pairs_give_the_sums_of_pairs_that_are_looked_for() {
    for (trial, truth) in minimal_trees(40).enumerate() {
        let mut rng = ChaCha8Rng::seed_from_u64(trial as u64);
        let exact = exact_distances(&truth);
        let some = exact.lower().iter().map(|&value| if rng.random_bool(0.3) { f64::NAN } else { value }).collect();
        let some = DistanceMatrix::from_lower(exact.names().to_vec(), some, None).unwrap();
        let distances = if trial % 2 == 0 { some } else { with_random_errors(&some, &mut rng) };
        let mut pairs = Pairs::new(&truth, &distances).unwrap();
        let lengths: Vec<f64> = pairs.given.iter().map(|_| rng.random_range(0.0..2.0)).collect();
        let summands = [Summand::Residual(&lengths), Summand::Product(&lengths), Summand::Weight];
        let sums = |pairs: &Pairs<'_>| {
            let (sum, weight) = pairs.squares(&lengths);
            summands.iter().flat_map(|&it| pairs.crossing(it)).chain([sum, weight]).collect::<Vec<f64>>()
        };
        let listed = sums(&pairs);
        pairs.listed = None;
        for (a, b) in listed.into_iter().zip(sums(&pairs)) {
            assert!((a - b).abs() < 1e-9 * b.abs().max(1.0), "{trial}: {a} {b}");
        }
    }
}

#[test]
fn exact_distances_give_exact_lengths_whatever_the_start_and_the_weights() {
    for (trial, truth) in minimal_trees(60).enumerate() {
        let mut rng = ChaCha8Rng::seed_from_u64(trial as u64);
        let mut distances = exact_distances(&truth);
        if trial % 3 > 0 {
            distances = with_random_errors(&distances, &mut rng);
        }
        let start = if trial % 2 == 0 { truth.with_lengths(|_| None) } else { with_random_lengths(&truth, 0.0..3.0, &mut rng) };
        let fitted = least_squares_lengths(&start, &distances, &Silent).unwrap();
        assert!(fitted.converged && fitted.residual < 1e-6, "{trial}: {} after {}", fitted.residual, fitted.iterations);
        let worst = (lengths(&fitted.tree) - lengths(&truth)).abs().max();
        assert!(worst < 1e-8, "{trial}: {worst} after {}", fitted.iterations);
    }
}

#[test]
fn noisy_distances_give_the_solution_of_the_normal_equations_or_the_optimality_conditions_of_the_bounds() {
    let (mut inside, mut bounded) = (0, 0);
    for (trial, truth) in minimal_trees(60).enumerate() {
        let mut rng = ChaCha8Rng::seed_from_u64(1000 + trial as u64);
        let noise = if trial % 2 == 0 { 0.02 } else { 0.6 };
        let distances = with_random_errors(&with_noise(&exact_distances(&truth), noise, &mut rng), &mut rng);
        let fitted = least_squares_lengths(&truth.with_lengths(|_| None), &distances, &Silent).unwrap();
        let (design, values, weights) = dense(&truth, &distances);
        let weighted = DMatrix::from_diagonal(&weights) * &design;
        let (normal, right) = (design.transpose() * &weighted, weighted.transpose() * values);
        let found = lengths(&fitted.tree);
        let plain = normal.clone().cholesky().unwrap().solve(&right);
        if plain.min() >= 0.0 {
            inside += 1;
            assert!((&found - &plain).abs().max() < 1e-7, "{trial}: {}", (&found - &plain).abs().max());
        } else {
            bounded += 1;
        }
        // Karush, Kuhn and Tucker: the gradient is 0 where a length is above 0, and not negative where it is 0.
        let gradient = &normal * &found - &right;
        let size = right.abs().max();
        for (length, slope) in found.iter().zip(gradient.iter()) {
            assert!(*length >= 0.0 && *slope > -1e-7 * size, "{trial}: slope {slope} at {length}");
            assert!(*length == 0.0 || slope.abs() < 1e-7 * size, "{trial}: slope {slope} at {length}");
        }
    }
    assert!(inside >= 5 && bounded >= 5, "{inside} inside, {bounded} at bounds");
}

#[test]
fn forests_and_pairs_without_a_distance_are_fitted_by_what_there_is() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let whole = with_random_lengths(&Shape::Random { max_degree: Some(4) }.tree(30, 0.2, &mut rng).unwrap(), 0.1..1.0, &mut rng);
    let mut forest = whole.clone();
    let cut = whole.edges().find(|edge| !whole.is_observed(edge.a) && !whole.is_observed(edge.b)).unwrap();
    forest.disconnect(cut.a, cut.b);
    let forest = forest.minimal();
    let exact = exact_distances(&forest);
    let some = DistanceMatrix::from_fn(exact.names().to_vec(), |i, j| exact.get(i, j).filter(|_| (i + j) % 3 > 0)).unwrap();
    let fitted = least_squares_lengths(&forest.with_lengths(|_| None), &some, &Silent).unwrap();
    assert!((lengths(&fitted.tree) - lengths(&forest)).abs().max() < 1e-8);
    // Without any distance lengths stay as they are.
    let none = DistanceMatrix::from_fn(exact.names().to_vec(), |_, _| None).unwrap();
    assert_eq!(least_squares_lengths(&forest, &none, &Silent).unwrap().tree, forest);
    let fewer = none.subset(&[0, 1, 2]);
    assert!(least_squares_lengths(&forest, &fewer, &Silent).is_err());
}

#[test]
fn lengths_have_the_same_bits_at_any_number_of_threads() {
    let truth = minimal_trees(8).last().unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let distances = with_random_errors(&with_noise(&exact_distances(&truth), 0.3, &mut rng), &mut rng);
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| least_squares_lengths(&truth, &distances, &Silent).unwrap())
    };
    assert_eq!(run(1), run(5));
}
