//! Moments of summaries from pairs and triples, against the pass over the rows that collects them all.

use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::super::by_moments::MomentOptions;
use super::super::from_pairs::{collected, columns, suffice};
use super::super::summaries::Summaries;
use crate::ColIx;
use crate::data::{Batch, Block, Column, ColumnData, Dataset, Kind, Schema, SparseRows};
use crate::moments::{Accumulator as _, PairMoments, fold};
use crate::observer::Silent;
use crate::simulate::{ParameterFamily, Shape, Simulation};
use crate::tree::Tree;

/// A random tree, and columns that fit it: labels, and on leaves counts and groups as well if there are to be `numbers`.
fn tree_and_schema(seed: u64, numbers: bool) -> (Tree, Arc<Schema>) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let family = ParameterFamily::Categorical { states: 2, hidden_states: 2, separation: 0.6 };
    let inner = if seed.is_multiple_of(2) { 0.0 } else { 0.3 };
    let shape = Shape::Random { max_degree: Some(3 + (seed % 5) as usize) };
    let model = Simulation::new(shape, 6 + (seed % 9) as usize).observed_inner(inner).family(family).seed(seed).model().unwrap();
    let mut schema = Schema::builder();
    for variable in model.schema().variables() {
        let node = model.tree().find(&variable.name).unwrap();
        let kinds = if numbers && model.tree().degree(node) == 1 { 4 } else { 2 };
        schema = match rng.random_range(0..kinds) {
            0 => schema.scalar(variable.name.clone(), Kind::binary()),
            1 => schema.scalar(variable.name.clone(), Kind::numbered(2 + (seed % 3) as usize)),
            2 => schema.scalar(variable.name.clone(), Kind::Count),
            _ => {
                let member = |part: &str, kind| Column { name: format!("{}{part}", variable.name), kind };
                let members = vec![member("_b", Kind::binary()), member("_c", Kind::Count), member("_l", Kind::numbered(3))];
                schema.group(variable.name.clone(), members)
            }
        };
    }
    (model.tree().clone(), Arc::new(schema.build().unwrap()))
}

/// Rows whose columns depend on each other, some cells missing; counts are at least `least`.
fn rows(schema: &Arc<Schema>, seed: u64, n: usize, least: f64) -> Dataset {
    let mut rng = ChaCha8Rng::seed_from_u64(seed ^ 0xabcd);
    let common: Vec<f64> = (0..n).map(|_| rng.random_range(0.0..1.0)).collect();
    let missing = if seed.is_multiple_of(3) { 0.0 } else { 0.1 };
    let columns = schema.columns().iter().map(|column| {
        let strength: f64 = rng.random_range(0.3..0.9);
        let mut draw = |row: usize| {
            let own: f64 = rng.random_range(0.0..1.0);
            let mixed = if rng.random_bool(strength) { common[row] } else { own };
            (!rng.random_bool(missing)).then_some(mixed * mixed)
        };
        match column.kind.n_states() {
            Some(d) => ColumnData::Codes8((0..n).map(|row| draw(row).map_or(255, |x| (x * d as f64) as u8)).collect()),
            None => ColumnData::Reals((0..n).map(|row| draw(row).map_or(f64::NAN, |x| least + (4.0 * x).floor())).collect()),
        }
    });
    let columns = columns.collect();
    let weights = (seed % 4 == 1).then(|| (0..n).map(|_| rng.random_range(0.1..3.0)).collect());
    Dataset::from_columns(Arc::clone(schema), columns, weights).unwrap()
}

fn sparse(data: &Dataset) -> Dataset {
    let batches = data.batches().iter().map(|batch| {
        let (mut rows, mut values) = (SparseRows::default(), Vec::new());
        for row in 0..batch.n_rows {
            for column in 0..data.schema().columns().len() {
                let value = batch.number(row, ColIx::new(column));
                if value != 0.0 {
                    rows.columns.push(column as u32);
                    values.push(value);
                }
            }
            rows.starts.push(rows.columns.len());
        }
        rows.values = Some(values);
        Batch { block: Block::Sparse(rows), ..(**batch).clone() }
    });
    Dataset::new(Arc::clone(data.schema()), batches.collect())
}

fn assert_close(name: &str, a: &[f64], b: &[f64], tolerance: f64) {
    assert_eq!(a.len(), b.len(), "{name}");
    for (a, b) in a.iter().zip(b) {
        assert!((a - b).abs() <= tolerance * b.abs().max(1.0), "{name}: {a} {b}");
    }
}

#[test]
fn pairs_and_triples_give_the_moments_of_the_rows() {
    for seed in 0..60 {
        let n_states = 2 + (seed % 3) as usize;
        let (tree, schema) = tree_and_schema(seed, n_states == 2);
        // Counts in the millions are far from zero: sparse rows are then taken as dense ones.
        let is_far = seed % 5 == 4;
        let data = rows(&schema, seed, 3000, if is_far { 1e6 } else { 0.0 });
        for data in [sparse(&data), data] {
            let pairs = fold(&mut data.source(), PairMoments::new(Arc::clone(&schema)).unwrap(), &Silent).unwrap();
            if !suffice(&pairs, &schema, n_states) {
                // The sums of sparse rows have lost the digits of such counts.
                assert!(is_far, "seed {seed}");
                continue;
            }
            let options = MomentOptions::new(n_states);
            let columns = columns(&mut data.source(), &pairs, &Silent).unwrap();
            let (_, found) = collected(&tree, &mut data.source(), &pairs, &columns, &options, &Silent).unwrap();
            let plan = Arc::clone(&found.plan);
            let expected = fold(&mut data.source(), Summaries::new(Arc::clone(&plan)), &Silent).unwrap().finish().unwrap();
            let tolerance = if is_far { 1e-6 } else { 1e-9 };
            let close = |name: &str, a: &[Vec<f64>], b: &[Vec<f64>]| assert_close(name, &a.concat(), &b.concat(), tolerance);
            assert_close("weight", &[found.weight], &[expected.weight], 1e-12);
            close(&format!("seconds of {seed}"), &found.seconds, &expected.seconds);
            close(&format!("thirds of {seed}"), &found.thirds, &expected.thirds);
            close(&format!("edges of {seed}"), &found.edges, &expected.edges);
            for place in 0..plan.neighbours.len() {
                assert_close(
                    &format!("neighbours of {seed}"),
                    found.of_neighbour(place),
                    expected.of_neighbour(place),
                    tolerance,
                );
            }
            for (found, expected) in found.observed.iter().zip(&expected.observed) {
                let all = |(label, feature): &(u32, u32)| found.get(&(*label, *feature)).copied().unwrap_or(0.0);
                let found: Vec<f64> = expected.keys().map(all).collect();
                assert_close(
                    &format!("observed of {seed}"),
                    &found,
                    &expected.values().copied().collect::<Vec<f64>>(),
                    tolerance,
                );
            }
        }
    }
}

#[test]
fn triples_do_not_depend_on_the_number_of_threads() {
    let (tree, schema) = tree_and_schema(4, true);
    let data = sparse(&rows(&schema, 4, 9000, 0.0));
    let of = |n_threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap();
        pool.install(|| {
            let pairs = fold(&mut data.source(), PairMoments::new(Arc::clone(&schema)).unwrap(), &Silent).unwrap();
            let columns = columns(&mut data.source(), &pairs, &Silent).unwrap();
            collected(&tree, &mut data.source(), &pairs, &columns, &MomentOptions::new(2), &Silent).unwrap().1
        })
    };
    assert!(of(1) == of(3));
}

#[test]
fn numbers_wide_columns_and_bins_need_rows() {
    let schema = |kind: Kind| Arc::new(Schema::builder().scalar("a", kind).scalar("b", Kind::binary()).build().unwrap());
    let suffices = |kind: Kind, n_states: usize| {
        let schema = schema(kind);
        let data = rows(&schema, 0, 1000, 0.0);
        let pairs = fold(&mut data.source(), PairMoments::new(Arc::clone(&schema)).unwrap(), &Silent).unwrap();
        suffice(&pairs, &schema, n_states)
    };
    assert!(suffices(Kind::numbered(5), 4) && suffices(Kind::Count, 2));
    assert!(!suffices(Kind::Count, 3) && !suffices(Kind::Continuous, 2) && !suffices(Kind::numbered(30), 2));
}
