//! End-to-end learning: behaviour that no single stage shows.

mod elsewhere;
mod numbers;
mod reading;
mod rivals;
mod states;
mod structure;

use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{Criterion, Effort, Learned, Learning, ParameterMethod, Source, Validation};
use crate::data::{CachedRows, Column, ColumnData, Dataset, Kind, Rows as _, Schema};
use crate::inference::Inference;
use crate::simulate::{ParameterFamily, Shape, Simulation};
use crate::structure::LearnerName;
use crate::{MemoryBudget, Silent};

fn learn(learning: &Learning, data: &Dataset) -> Learned {
    learning.run(Source::Rows(data), &Silent).unwrap()
}

/// Columns of labels drawn independently of each other.
fn unrelated(n_columns: usize, n_labels: u32, n_rows: usize) -> Dataset {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut schema = Schema::builder();
    let mut columns = Vec::new();
    for ix in 0..n_columns {
        let kind = Kind::numbered(n_labels as usize);
        let mut column = ColumnData::for_kind(&kind, n_rows);
        (0..n_rows).for_each(|_| column.push_code(Some(rng.random_range(0..n_labels))));
        columns.push(column);
        schema = schema.scalar(format!("x{ix}"), kind);
    }
    Dataset::from_columns(Arc::new(schema.build().unwrap()), columns, None).unwrap()
}

/// Groups of binary columns that follow one hidden state; members of the last group are never 1.
fn groups(n_groups: usize, size: usize, n_rows: usize) -> Dataset {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let mut schema = Schema::builder();
    for group in 0..n_groups {
        let member = |ix: usize| Column { name: format!("g{group}.{ix}"), kind: Kind::binary() };
        schema = schema.group(format!("g{group}"), (0..size).map(member).collect());
    }
    let states: Vec<bool> = (0..n_rows).map(|_| rng.random_bool(0.4)).collect();
    let columns = (0..n_groups * size).map(|ix| {
        let is_last = ix / size + 1 == n_groups;
        let mut ones = |&state: &bool| u8::from(!is_last && rng.random_bool(if state { 0.4 } else { 0.1 }));
        ColumnData::Codes8(states.iter().map(&mut ones).collect())
    });
    Dataset::from_columns(Arc::new(schema.build().unwrap()), columns.collect(), None).unwrap()
}

/// Twelve columns with 60 labels under a hidden tree: too many features for tables of all pairs.
fn wide_columns() -> Dataset {
    let family = ParameterFamily::Categorical { states: 60, hidden_states: 2, separation: 0.8 };
    let model = Simulation::new(Shape::Complete { degree: 4 }, 12).family(family).seed(3).model().unwrap();
    Inference::new(&model).sample(3000, 4).unwrap()
}

#[test]
fn columns_of_many_labels_without_dependence_stand_alone() {
    let learned = learn(&Learning::new(), &unrelated(3, 20, 500));
    assert_eq!(learned.tree().n_components(), 3);
    assert!(learned.log_likelihood.is_some());
}

#[test]
fn columns_of_thousands_of_labels_get_no_joint_tables() {
    // Two columns joined by force: a table of 4 million cells for 2,000 rows.
    let data = unrelated(2, 2000, 2000);
    let learning = Learning::new().structure(LearnerName::ChowLiu).distances(crate::distance::DistanceOptions::new());
    let learned = learn(&learning, &data);
    assert!(learned.free_parameters.unwrap() < 10_000, "{:?}", learned.free_parameters);
}

#[test]
fn every_learner_takes_groups_with_a_constant_one() {
    let data = groups(6, 15, 600);
    // Regularised grouping compares models with observed inner nodes, which groups cannot be, and refuses them. A chain uses
    // all columns, regardless of their kind.
    let is_regularised = |it: &LearnerName| it.name().starts_with("reg-") || *it == LearnerName::Chain;
    for learner in LearnerName::ALL.into_iter().filter(|it| !is_regularised(it)) {
        let learned = learn(&Learning::new().structure(learner).em_iterations(Some(20)), &data);
        let alone = learned.tree().find("g5").unwrap();
        assert_eq!(learned.tree().degree(alone), 0, "{learner}");
        assert!(learned.log_likelihood.is_some_and(f64::is_finite), "{learner}");
    }
}

/// Five columns that follow one hidden state, and columns with a single value of each kind: of one label, of two labels, with
/// missing cells, of numbers and of counts.
fn with_constants(leaves_are_numbers: bool) -> Dataset {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let n_rows = 400;
    let states: Vec<bool> = (0..n_rows).map(|_| rng.random_bool(0.4)).collect();
    let (mut schema, mut columns) = (Schema::builder(), Vec::new());
    for ix in 0..5 {
        let value = |state: bool| if state { 4.0 } else { 0.0 };
        if leaves_are_numbers {
            schema = schema.scalar(format!("x{ix}"), Kind::Continuous);
            columns.push(ColumnData::Reals(states.iter().map(|&it| value(it) + rng.random_range(-1.0..1.0)).collect()));
        } else {
            schema = schema.scalar(format!("x{ix}"), Kind::binary());
            columns.push(ColumnData::Codes8(states.iter().map(|&it| u8::from(it == rng.random_bool(0.85))).collect()));
        }
    }
    let mut add = |name: &str, kind: Kind, is_missing: &dyn Fn(usize) -> bool, value: f64| {
        let mut column = ColumnData::for_kind(&kind, n_rows);
        (0..n_rows).for_each(|row| column.push_number(if is_missing(row) { f64::NAN } else { value }));
        columns.push(column);
        schema = std::mem::take(&mut schema).scalar(name, kind);
    };
    add("real", Kind::Continuous, &|_| false, 0.1);
    if !leaves_are_numbers {
        add("label", Kind::Categorical { labels: vec!["a".to_owned()] }, &|_| false, 0.0);
        add("labels", Kind::numbered(3), &|_| false, 1.0);
        add("zero", Kind::binary(), &|_| false, 0.0);
        add("partly", Kind::Categorical { labels: vec!["a".to_owned()] }, &|row| row % 3 == 0, 0.0);
        add("count", Kind::Count, &|_| false, 3.0);
    }
    Dataset::from_columns(Arc::new(schema.build().unwrap()), columns, None).unwrap()
}

#[test]
fn constant_columns_stand_alone_and_are_told_once() {
    for leaves_are_numbers in [false, true] {
        let data = with_constants(leaves_are_numbers);
        for effort in [Effort::Normal, Effort::Quick] {
            let learned = learn(&Learning::new().effort(effort), &data);
            let tree = learned.tree();
            assert!(tree.n_hidden() >= 1 && tree.degree(tree.find("x0").unwrap()) > 0);
            for name in ["real", "label", "labels", "zero", "partly", "count"] {
                assert!(tree.find(name).is_none_or(|node| tree.degree(node) == 0), "{name}");
            }
            let warnings = learned.warnings.join("\n");
            assert!(warnings.contains("cannot depend on anything"), "{warnings}");
            // Single trees of learners say that they are forests; the search leaves constant columns to the other note.
            let is_searched = effort == Effort::Normal && !leaves_are_numbers;
            assert!(!is_searched || !warnings.contains("separate trees"), "{warnings}");
        }
    }
}

#[test]
fn rows_that_are_streamed_give_the_model_of_rows_in_memory() {
    let family = ParameterFamily::Categorical { states: 3, hidden_states: 2, separation: 0.7 };
    let truth = Simulation::new(Shape::DoubleStar, 8).family(family).model().unwrap();
    let labels = Inference::new(&truth).sample(3000, 1).unwrap();
    let gaussian = Simulation::new(Shape::DoubleStar, 8)
        .family(ParameterFamily::Gaussian { correlation: (0.4, 0.8), random_sign: false })
        .model()
        .unwrap();
    let numbers = Inference::new(&gaussian).sample(3000, 1).unwrap();
    let (searched, plain) = (Learning::new(), Learning::new().effort(Effort::Quick));
    let ways = [
        ("auto", plain.clone()),
        ("em", plain.clone().parameters(ParameterMethod::Em)),
        ("three states", plain.clone().hidden_states(Some(3)).restarts(2)),
        ("bic", searched.clone()),
        ("validation", searched.clone().select(Some(Criterion::Validation)).validation(Some(Validation::Fraction(0.2)))),
        ("regularised", plain.clone().structure(LearnerName::RegularisedNeighborJoining)),
        ("bootstrap", plain.bootstrap(Some(4))),
    ];
    for data in [&labels, &numbers] {
        for (name, learning) in &ways {
            let streamed = CachedRows::new(data.source(), MemoryBudget::new(0));
            let learned = learning.run(Source::Rows(&streamed), &Silent).unwrap();
            assert!(streamed.dataset().is_none());
            assert_eq!(learned.file, learn(learning, data).file, "{name}");
        }
    }
}

#[test]
fn the_order_of_rows_does_not_matter() {
    let family = ParameterFamily::Categorical { states: 2, hidden_states: 2, separation: 0.6 };
    for seed in 0..4 {
        let truth = Simulation::new(Shape::Random { max_degree: Some(4) }, 20).family(family).seed(seed).model().unwrap();
        let data = Inference::new(&truth).sample(400, seed).unwrap();
        // Batches from last to first, and every third row first.
        let order: Vec<usize> = (0..3).flat_map(|start| (start..400).step_by(3)).rev().collect();
        let shuffled: Vec<_> = data.batches().iter().map(|batch| crate::data::select_rows(batch, &order, 0)).collect();
        let shuffled = Dataset::new(Arc::clone(data.schema()), shuffled);
        let fraction = Some(Validation::Fraction(0.2));
        let ways = [Learning::new(), Learning::new().bootstrap(Some(6)), Learning::new().validation(fraction)];
        // A search takes longer, so it is run only once.
        let searched = if seed == 0 { ways[..2].to_vec() } else { Vec::new() };
        for learning in ways.into_iter().map(|it| it.effort(Effort::Quick)).chain(searched) {
            assert_eq!(learn(&learning, &data).file, learn(&learning, &shuffled).file, "seed {seed}");
        }
    }
}

#[test]
fn a_checkpoint_of_wide_groups_gives_the_model_without_one() {
    let data = groups(10, 80, 300);
    let folder = tempfile::tempdir().unwrap();
    let plain = learn(&Learning::new().effort(Effort::Quick), &data);
    let learning = Learning::new().effort(Effort::Quick).checkpoint(Some(folder.path().to_owned()));
    for _ in 0..2 {
        let kept = learn(&learning, &data);
        assert_eq!(kept.log_likelihood, plain.log_likelihood);
    }
    // Different rows are a different run, even with the same shape.
    let other = groups(10, 80, 299);
    assert!(learning.run(Source::Rows(&other), &Silent).is_err());
}

#[test]
fn wide_columns_work_with_a_given_tree_a_search_and_a_bootstrap() {
    let data = wide_columns();
    let plain = learn(&Learning::new().effort(Effort::Quick), &data);
    let given = learn(&Learning::new().tree(Some(plain.tree().clone())), &data);
    assert_eq!(given.free_parameters, plain.free_parameters);
    let loss = plain.log_likelihood.unwrap() - given.log_likelihood.unwrap();
    assert!(loss.abs() < 1e-3 * plain.log_likelihood.unwrap().abs(), "{loss}");
    let supported = learn(&Learning::new().effort(Effort::Quick).bootstrap(Some(5)), &data);
    assert!(supported.tree().edges().any(|edge| edge.bootstrap == Some(1.0)));
    let searched = learn(&Learning::new().select(Some(Criterion::Bic)).hidden_states(Some(2)).restarts(1), &data);
    assert!(searched.bic.unwrap() >= plain.bic.unwrap() - 1e-3 * plain.bic.unwrap().abs());
}

#[test]
fn a_tree_that_the_rows_do_not_justify_is_said_to_be_one() {
    // All pairs are connected, although none is dependent.
    let distances = crate::distance::DistanceOptions::new().significance(None);
    let learned = learn(&Learning::new().structure(LearnerName::NeighborJoining).distances(distances), &unrelated(8, 3, 300));
    assert!(learned.tree().n_hidden() > 0);
    assert!(learned.warnings.iter().any(|warning| warning.contains("independent variables")), "{:?}", learned.warnings);
}

#[test]
fn columns_that_repeat_another_are_named() {
    let plain = unrelated(5, 3, 300);
    let codes = |column: usize, change: &dyn Fn(u8) -> u8| {
        let batches = plain
            .batches()
            .iter()
            .flat_map(|batch| (0..batch.n_rows).map(move |row| batch.number(row, crate::ColIx::new(column)) as u8));
        ColumnData::Codes8(batches.map(change).collect())
    };
    let number = |factor: f64| ColumnData::Reals((0..300).map(|row| f64::from(row * 37 % 101) * factor).collect());
    let columns = vec![
        codes(0, &|code| code),
        codes(1, &|code| code),
        codes(0, &|code| (code + 1) % 3),
        codes(2, &|code| code),
        number(1.0),
        number(1.0),
        number(0.5),
    ];
    let kinds = (0..7).map(|ix| if ix < 4 { Kind::numbered(3) } else { Kind::Continuous });
    let schema = kinds.zip(0..).fold(Schema::builder(), |schema, (kind, ix)| schema.scalar(format!("x{ix}"), kind));
    let data = Dataset::from_columns(Arc::new(schema.build().unwrap()), columns, None).unwrap();
    let learned = learn(&Learning::new().structure(LearnerName::ChowLiu), &data);
    let expected = "columns with the same content in every row: \"x0\" and \"x2\"; \"x4\" and \"x5\"; they look like strong dependence, so \
                    leave one of each pair out (`read.kind` NAME=ignore)";
    assert!(learned.warnings.iter().any(|warning| warning == expected), "{:?}", learned.warnings);
    let without = learn(&Learning::new().structure(LearnerName::ChowLiu), &plain);
    assert!(!without.warnings.iter().any(|warning| warning.contains("the same content")), "{:?}", without.warnings);
}

#[test]
fn em_starts_at_random_on_a_number_beside_a_column_of_labels() {
    // The number's only neighbour is the column of labels, which must be its parent.
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let labels: Vec<u8> = (0..400).map(|_| rng.random_range(0..2)).collect();
    let numbers = labels.iter().map(|&label| 3.0 * f64::from(label) + rng.random_range(-1.0..1.0)).collect();
    let schema = Schema::builder().scalar("x", Kind::Continuous).scalar("y", Kind::binary()).build().unwrap();
    let columns = vec![ColumnData::Reals(numbers), ColumnData::Codes8(labels)];
    let data = Dataset::from_columns(Arc::new(schema), columns, None).unwrap();
    for learner in [LearnerName::ChowLiuBlind, LearnerName::ChowLiu] {
        let learned = learn(&Learning::new().structure(learner).start(Some(super::EmStart::Random)), &data);
        assert_eq!(learned.tree().n_components(), 1);
        assert!(learned.log_likelihood.is_some_and(f64::is_finite));
    }
}

#[test]
fn frequencies_are_repeated_rows_to_every_learner() {
    let mut rng = ChaCha8Rng::seed_from_u64(6);
    let schema = (0..12).fold(Schema::builder(), |schema, ix| schema.scalar(format!("x{ix}"), Kind::Continuous));
    let schema = Arc::new(schema.build().unwrap());
    let weights: Vec<f64> = (0..40).map(|_| f64::from(rng.random_range(0..5_u8))).collect();
    let columns: Vec<Vec<f64>> = (0..12).map(|_| (0..40).map(|_| rng.random_range(-1.0..1.0)).collect()).collect();
    let repeat = |column: &Vec<f64>| {
        let cells = column.iter().zip(&weights);
        cells.flat_map(|(&cell, &weight)| std::iter::repeat_n(cell, weight as usize)).collect::<Vec<f64>>()
    };
    let table = |columns: Vec<Vec<f64>>, weights| {
        let columns = columns.into_iter().map(ColumnData::Reals).collect();
        Dataset::from_columns(Arc::clone(&schema), columns, weights).unwrap()
    };
    let repeated = table(columns.iter().map(repeat).collect(), None);
    let weighted = table(columns, Some(weights));
    for learner in [LearnerName::Auto, LearnerName::ChowLiuNeighborJoining, LearnerName::ChowLiu] {
        let learning = Learning::new().structure(learner).weight_kind(crate::data::WeightKind::Frequency);
        let (a, b) = (learn(&learning, &weighted), learn(&learning, &repeated));
        assert_eq!(a.tree().n_hidden(), b.tree().n_hidden(), "{learner}");
        let (a, b) = (a.log_likelihood.unwrap(), b.log_likelihood.unwrap());
        assert!((a - b).abs() < 1e-6 * b.abs(), "{learner}: {a} {b}");
    }
}
