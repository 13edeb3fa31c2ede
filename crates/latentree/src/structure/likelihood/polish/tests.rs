use rand::{RngExt, SeedableRng};

use super::*;
use crate::inference::Inference;
use crate::moments::{PairMoments, fold};
use crate::observer::Silent;
use crate::simulate::{Shape, Simulation};
use crate::tree::same_structure;
use crate::{ColIx, NodeIx};

fn sample_correlations(model: &crate::model::LatentTree, rows: u64, seed: u64) -> Vec<f64> {
    let inference = Inference::new(model);
    let mut source = inference.sampler(rows, seed);
    let moments = fold(&mut source, PairMoments::new(model.schema().clone()).unwrap(), &Silent).unwrap();
    let p = model.schema().columns().len();
    let entry = |i: usize, j: usize| if i == j { 1.0 } else { moments.correlation(ColIx::new(i), ColIx::new(j)).unwrap() };
    (0..p * p).map(|at| entry(at / p, at % p)).collect()
}

#[test]
fn the_number_of_trees_is_that_of_schroeders_fourth_problem() {
    // Trees of labelled leaves without nodes of degree two: 4, 26, 236, 2752 for 4, 5, 6, 7 leaves.
    for (p, expected) in [(4, 4.0), (5, 26.0), (6, 236.0), (7, 2752.0)] {
        let penalty = Penalty::new(p, false);
        let mut number = 0.0;
        for h in 1..=p - 2 {
            // All ways to give h hidden nodes degrees of three and more that sum to p + 2(h − 1).
            let mut sequences = vec![(Vec::new(), p + 2 * (h - 1))];
            for left in (0..h).rev() {
                let longer = |(degrees, rest): (Vec<usize>, usize)| {
                    let last = if left == 0 { rest..=rest } else { 3..=rest.saturating_sub(3 * left) };
                    last.map(move |degree| ([&degrees[..], &[degree]].concat(), rest - degree)).collect::<Vec<_>>()
                };
                sequences = sequences.into_iter().flat_map(longer).collect();
            }
            for (degrees, _) in sequences {
                let code = penalty.hidden(h) + 2.0 * h as f64 + degrees.iter().map(|&d| penalty.degree(d)).sum::<f64>();
                number += code.exp();
            }
        }
        assert!((number - expected).abs() < 1e-6 * expected, "{p}: {number}");
    }
}

#[test]
fn the_true_tree_is_reached_from_a_star_and_from_itself() {
    let model = Simulation::new(Shape::DoubleStar, 12).seed(3).model().unwrap();
    let rows = 20_000;
    let correlations = sample_correlations(&model, rows, 1);
    let names: Vec<String> = (1..=12).map(|ix| format!("x{ix}")).collect();
    let star = Simulation::new(Shape::Star, 12).model().unwrap();
    for start in [star.tree(), model.tree()] {
        let mut tree = GaussianTree::new(start, &correlations);
        let before = {
            tree.em(&correlations, 500, 1e-8);
            tree.ln_likelihood(&correlations)
        };
        polish(&mut tree, &correlations, &PairRows::complete(rows as f64), &Penalty::new(12, true), &|| false);
        assert!(tree.ln_likelihood(&correlations) >= before - 1e-6);
        let found = tree.to_tree(&names);
        assert!(same_structure(&found, model.tree()), "{}", found.to_newick(Some(NodeIx::new(12))));
    }
}

#[test]
fn polishing_the_true_tree_does_not_lower_the_penalised_likelihood() {
    let (rows, penalty) = (1e5, Penalty::new(14, true));
    for seed in 0..6 {
        let model = Simulation::new(Shape::Random { max_degree: Some(5) }, 14).observed_inner(0.3).seed(seed).model().unwrap();
        let correlations = sample_correlations(&model, rows as u64, seed);
        let mut truth = GaussianTree::new(model.tree(), &correlations);
        let mut tree = truth.clone();
        polish(&mut tree, &correlations, &PairRows::complete(rows), &penalty, &|| false);
        truth.em(&correlations, 2000, 1e-9);
        let objective = |tree: &GaussianTree| rows * tree.ln_likelihood(&correlations) - penalty.of(tree);
        // Local fits end after a fixed number of steps, so that a gain is known to within a fraction of a unit.
        assert!(objective(&tree) >= objective(&truth) - 1.0, "seed {seed}");
    }
}

#[test]
fn cells_missing_at_random_make_no_star_of_false_splits() {
    let p = 20;
    let model = Simulation::new(Shape::Star, p).seed(1).model().unwrap();
    let (mut by_pairs, mut by_all) = (0, 0);
    for seed in 0..6 {
        let data = Inference::new(&model).sample(2000, seed).unwrap();
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(seed);
        let cell =
            |batch: &crate::data::Batch, row, ix, missing| if missing { f64::NAN } else { batch.number(row, ColIx::new(ix)) };
        let mut columns: Vec<Vec<f64>> = vec![Vec::new(); p];
        for batch in data.batches() {
            for row in 0..batch.n_rows {
                columns.iter_mut().enumerate().for_each(|(ix, column)| column.push(cell(batch, row, ix, rng.random_bool(0.5))));
            }
        }
        let columns = columns.into_iter().map(crate::data::ColumnData::Reals).collect();
        let table = crate::data::Dataset::from_columns(model.schema().clone(), columns, None).unwrap();
        let moments = fold(&mut table.source(), PairMoments::new(model.schema().clone()).unwrap(), &Silent).unwrap();
        let entry = |i: usize, j: usize| if i == j { 1.0 } else { moments.correlation(ColIx::new(i), ColIx::new(j)).unwrap() };
        let correlations: Vec<f64> = (0..p * p).map(|at| entry(at / p, at % p)).collect();
        let n_hidden = |rows: &PairRows| {
            let mut tree = GaussianTree::new(model.tree(), &correlations);
            polish(&mut tree, &correlations, rows, &Penalty::new(p, true), &|| false);
            tree.n_hidden()
        };
        by_pairs += n_hidden(&PairRows::of(&moments));
        by_all += n_hidden(&PairRows::complete(moments.effective_rows()));
    }
    // One hidden node in each of six trees; as if every pair were seen in all rows, many more.
    assert!(by_pairs <= 7 && by_all >= 2 * by_pairs, "{by_pairs} {by_all}");
}
