use std::sync::Arc;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::data::{Dataset, Kind, Schema};
use crate::inference::tests::{Enumeration, close, random_discrete, random_rows};
use crate::inference::{Evidence, JointAnswer};
use crate::model::{LatentTree, Table};
use crate::tree::Tree;

#[test]
fn imputed_means_are_the_exact_ones_of_labels_that_are_numbers() {
    let mut rng = ChaCha8Rng::seed_from_u64(13);
    let mut compared = 0;
    for trial in 0..40 {
        let model = random_discrete(&mut rng, 8, true);
        let rows = random_rows(&model, trial, 4);
        let batch = &rows.batches()[0];
        let inference = Inference::new(&model);
        let filled = inference.impute_by(batch, Imputation::Mean, 0).unwrap();
        for row in 0..batch.n_rows {
            let oracle = Enumeration::new(&model, batch, row, &[]);
            for (ix, cells) in filled.iter().enumerate() {
                let column = crate::ColIx::new(ix);
                let node = model.node_of(model.schema().variable_of(column));
                let before = batch.number(row, column);
                if let (Some(values), Distribution::Discrete(_)) = (inference.label_values(column), model.distribution(node)) {
                    let chance = |state: usize| oracle.probability(|states| states[node.get()] == state);
                    let mean: f64 = values.iter().enumerate().map(|(state, value)| chance(state) * value).sum();
                    let expected = if before.is_nan() { mean } else { values[before as usize] };
                    assert!(close(cells[row], expected, 1e-10), "{} for {expected}", cells[row]);
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 100, "{compared}");
}

#[test]
fn draws_keep_known_cells_and_follow_the_joint_posterior_of_the_missing_ones() {
    // Two leaves of one hidden node: given nothing else they depend on each other, which draws cell by cell would miss.
    let schema = Schema::builder().scalar("a", Kind::binary()).scalar("b", Kind::binary()).scalar("c", Kind::binary()).build();
    let mut tree = Tree::new();
    let leaves = ["a", "b", "c"].map(|name| tree.add_observed(name).unwrap());
    let hidden = tree.add_hidden("h").unwrap();
    leaves.iter().for_each(|&leaf| tree.connect(hidden, leaf, None).unwrap());
    let noisy = || Distribution::Discrete(Table::new(2, vec![0.9, 0.1, 0.2, 0.8]));
    let builder = LatentTree::builder(Arc::new(schema.unwrap()), tree).root(hidden);
    let builder = builder.hidden(hidden, crate::model::Domain::numbered(2));
    let builder = builder.distribution(hidden, Distribution::Discrete(Table::new(2, vec![0.6, 0.4])));
    let model = leaves.iter().fold(builder, |builder, &leaf| builder.distribution(leaf, noisy())).build().unwrap();
    let n_rows = 20_000;
    let column = |code: u8| ColumnData::Codes8(vec![code; n_rows]);
    let missing = crate::data::MISSING_CODE8;
    let rows =
        Dataset::from_columns(Arc::clone(model.schema()), vec![column(missing), column(missing), column(1)], None).unwrap();
    let inference = Inference::new(&model);
    let mut counts = [0.0; 4];
    let mut drawn = Vec::new();
    for batch in rows.batches() {
        let cells = inference.impute_by(batch, Imputation::Draw, 3).unwrap();
        assert!(cells[2].iter().all(|&code| code == 1.0));
        cells[0].iter().zip(&cells[1]).for_each(|(a, b)| counts[2 * *a as usize + *b as usize] += 1.0 / n_rows as f64);
        assert_eq!(cells, inference.impute_by(batch, Imputation::Draw, 3).unwrap());
        drawn.push(cells);
    }
    assert_ne!(drawn[0], inference.impute_by(&rows.batches()[0], Imputation::Draw, 4).unwrap());
    let mut evidence = Evidence::none(&model);
    evidence.set(&model, "c", "1").unwrap();
    let JointAnswer::Table { probabilities, .. } = inference.joint(&evidence, &leaves[..2]).unwrap() else { panic!("discrete") };
    for (count, probability) in counts.iter().zip(&probabilities) {
        let error = (probability * (1.0 - probability) / n_rows as f64).sqrt();
        assert!((count - probability).abs() < 4.0 * error, "{count} for {probability}");
    }
}

#[test]
fn imputation_fills_the_most_probable_value_and_keeps_the_rest() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    for trial in 0..60 {
        let model = random_discrete(&mut rng, 8, true);
        let rows = random_rows(&model, trial, 5);
        let batch = &rows.batches()[0];
        let filled = Inference::new(&model).impute(batch).unwrap();
        for row in 0..batch.n_rows {
            let oracle = Enumeration::new(&model, batch, row, &[]);
            for (ix, column) in model.schema().columns().iter().enumerate() {
                let column_ix = crate::ColIx::new(ix);
                let (before, after) = (batch.number(row, column_ix), filled.number(row, column_ix));
                assert!(!after.is_nan());
                if !before.is_nan() {
                    assert_eq!(before, after);
                    continue;
                }
                let node = model.node_of(model.schema().variable_of(column_ix));
                let parent = model.parent(node);
                let parent_is =
                    |state: usize| parent.map_or(1.0, |parent| oracle.probability(|states| states[parent.get()] == state));
                match (model.distribution(node), &column.kind) {
                    (Distribution::Discrete(table), _) => {
                        let chances: Vec<f64> =
                            (0..table.n_states()).map(|state| oracle.probability(|states| states[node.get()] == state)).collect();
                        let top = chances.iter().copied().fold(0.0, f64::max);
                        assert!(close(chances[after as usize], top, 1e-10));
                    }
                    (Distribution::Emission(Emission::Gaussian { means, .. }), _) => {
                        let mean: f64 = means.iter().enumerate().map(|(state, mean)| parent_is(state) * mean).sum();
                        assert!(close(after, mean, 1e-10));
                    }
                    (Distribution::Emission(Emission::Poisson { rates }), _) => {
                        let mean: f64 = rates.iter().enumerate().map(|(state, rate)| parent_is(state) * rate).sum();
                        assert!((after - mean).abs() <= 0.5 + 1e-9);
                    }
                    _ => {}
                }
            }
        }
    }
}
