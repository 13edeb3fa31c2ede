//! Models estimated from rows.

use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::models::{chain, model_on, random_tree};
use crate::data::{Batch, Block, ColumnData, Dataset, Kind, MISSING_CODE8, Schema};
use crate::inference::Inference;
use crate::model::Provenance;
use crate::moments::{Accumulator as _, fold};
use crate::spectral::estimate::Problem;
use crate::spectral::{Evaluator, Linkers, SpectralOptions, hierarchical, spectral};
use crate::tree::Tree;
use crate::{MemoryBudget, Silent};

pub(super) fn with_missing(rows: &Dataset, share: f64, seed: u64) -> Dataset {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut drop = |batch: &Arc<Batch>| {
        let Block::Dense(columns) = &batch.block else { panic!("rows are dense") };
        let columns = columns.iter().map(|column| {
            let ColumnData::Codes8(codes) = column else { panic!("there are few labels") };
            ColumnData::Codes8(codes.iter().map(|&code| if rng.random_bool(share) { MISSING_CODE8 } else { code }).collect())
        });
        Batch { block: Block::Dense(columns.collect()), ..(**batch).clone() }
    };
    let batches = rows.batches().iter().map(&mut drop).collect();
    Dataset::new(Arc::clone(rows.schema()), batches)
}

#[test]
fn estimates_sum_to_one_and_single_marginals_are_those_of_the_rows() {
    for (seed, missing) in [(0, 0.0), (1, 0.0), (2, 0.2), (3, 0.2)] {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let tree = random_tree(&mut rng, 2, seed % 2 == 0);
        let truth = model_on(&mut rng, tree, 2, |_| 4);
        let rows = with_missing(&Inference::new(&truth).sample(500, seed).unwrap(), missing, seed);
        for linkers in Linkers::ALL {
            let options = SpectralOptions::new(Some(2)).linkers(linkers);
            let model = spectral(truth.tree(), &mut rows.source(), &options, &Silent).unwrap().model;
            let evaluator = Evaluator::new(&model);
            let nothing = vec![None; model.schema().variables().len()];
            let of: Vec<usize> = (0..nothing.len()).collect();
            let answer = evaluator.query(&nothing, &of).unwrap();
            for (own, marginal) in answer.distributions.iter().zip(&model.parts.marginals) {
                own.iter().zip(marginal).for_each(|(a, b)| assert!((a - b).abs() < 1e-12, "{a} {b}"));
            }
            // The probabilities of the labels of one variable together with some labels of the others.
            let mut known = nothing.clone();
            known[1] = Some(1);
            let of_pair = evaluator.query(&known, &[]).unwrap().log_evidence.exp();
            let mut sum = 0.0;
            for label in 0..4 {
                known[0] = Some(label);
                let answer = evaluator.query(&known, &[]).unwrap();
                assert!(!answer.is_evidence_clipped);
                sum += answer.log_evidence.exp();
            }
            assert!((sum - of_pair).abs() < 1e-12, "{sum} {of_pair}");
        }
    }
}

#[test]
fn passes_merge_in_any_split_and_keep_their_bytes() {
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let tree = random_tree(&mut rng, 2, true);
    let truth = model_on(&mut rng, tree, 3, |_| 5);
    let rows = with_missing(&Inference::new(&truth).sample(3000, 1).unwrap(), 0.1, 5);
    let parts: Vec<Dataset> = [0..1000, 1000..1300, 1300..3000]
        .map(|range| {
            let picked: Vec<usize> = range.collect();
            Dataset::new(Arc::clone(rows.schema()), vec![crate::data::select_rows(&rows.batches()[0], &picked, 0)])
        })
        .into();
    assert_eq!(rows.batches().len(), 1);
    let options = SpectralOptions::new(Some(3));
    let problem = Problem::new(truth.tree(), rows.schema(), &options).unwrap();
    let whole_pairs = fold(&mut rows.source(), problem.first(MemoryBudget::default()).unwrap(), &Silent).unwrap();
    let mut pairs = problem.first(MemoryBudget::default()).unwrap();
    for part in [&parts[2], &parts[0], &parts[1]] {
        let seen = fold(&mut part.source(), pairs.empty(), &Silent).unwrap();
        pairs.merge(crate::spectral::pair_tables::PairTables::from_bytes(&seen.to_bytes().unwrap()).unwrap()).unwrap();
    }
    let (triples, spectra, _) = problem.second(&whole_pairs, whole_pairs.weight).unwrap();
    let (_, of_parts, _) = problem.second(&pairs, pairs.weight).unwrap();
    for ((a, _), (b, _)) in spectra.iter().zip(&of_parts) {
        a.iter().zip(b).for_each(|(a, b)| assert!((a - b).abs() < 1e-12));
    }
    let whole = fold(&mut rows.source(), triples.empty(), &Silent).unwrap();
    let mut merged = triples.empty();
    for part in [&parts[1], &parts[2], &parts[0]] {
        let seen = fold(&mut part.source(), triples.empty(), &Silent).unwrap();
        merged.merge(crate::spectral::triples::Triples::from_bytes(&seen.to_bytes().unwrap()).unwrap()).unwrap();
    }
    let own = problem.model(whole, spectra.clone(), Provenance::default()).unwrap();
    let other = problem.model(merged, spectra, Provenance::default()).unwrap();
    let score = |model| Evaluator::new(model).log_likelihood(&rows.batches()[0]).unwrap().values;
    score(&own).iter().zip(score(&other)).for_each(|(a, b)| assert!((a - b).abs() < 1e-12 * a.abs().max(1.0), "{a} {b}"));
    // Accumulators with different options do not merge, and truncated bytes are rejected.
    let other_options = SpectralOptions::new(Some(2));
    let second = Problem::new(truth.tree(), rows.schema(), &other_options).unwrap().second(&pairs, pairs.weight).unwrap().0;
    assert!(second.clone().merge(triples).is_err());
    let mut bytes = second.to_bytes().unwrap();
    bytes.truncate(bytes.len() / 2);
    assert!(crate::spectral::triples::Triples::from_bytes(&bytes).is_err());
}

#[test]
fn answers_do_not_depend_on_the_number_of_threads_or_on_other_rows() {
    let mut rng = ChaCha8Rng::seed_from_u64(6);
    let truth = model_on(&mut rng, chain(12), 3, |_| 4);
    let rows = with_missing(&Inference::new(&truth).sample(2000, 1).unwrap(), 0.1, 1);
    let run = |n_threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap();
        pool.install(|| {
            let model = spectral(truth.tree(), &mut rows.source(), &SpectralOptions::new(Some(3)), &Silent).unwrap().model;
            let scores = Evaluator::new(&model).log_likelihood(&rows.batches()[0]).unwrap();
            (model, scores)
        })
    };
    let (model, scores) = run(1);
    assert_eq!((model.clone(), scores.clone()), run(3));
    let one = crate::data::select_rows(&rows.batches()[0], &[77], 0);
    assert_eq!(Evaluator::new(&model).log_likelihood(&one).unwrap().values, [scores.values[77]]);
}

#[test]
fn missing_cells_are_filled_by_their_most_probable_label() {
    let mut rng = ChaCha8Rng::seed_from_u64(8);
    let truth = model_on(&mut rng, chain(8), 2, |_| 4);
    let rows = Inference::new(&truth).sample(20_000, 1).unwrap();
    let holes = with_missing(&rows, 0.2, 1);
    let model = spectral(truth.tree(), &mut holes.source(), &SpectralOptions::new(Some(2)), &Silent).unwrap().model;
    let filled = Evaluator::new(&model).impute(&holes.batches()[0]).unwrap().batch;
    let by_truth = Inference::new(&truth).impute(&holes.batches()[0]).unwrap();
    let (Block::Dense(own), Block::Dense(exact), Block::Dense(cells)) =
        (&filled.block, &by_truth.block, &holes.batches()[0].block)
    else {
        panic!("batches are dense")
    };
    let (mut same, mut missing) = (0, 0);
    for ((own, exact), cells) in own.iter().zip(exact).zip(cells) {
        for row in 0..holes.batches()[0].n_rows {
            match cells.code(row) {
                Some(code) => assert_eq!(own.code(row), Some(code)),
                None => {
                    missing += 1;
                    same += usize::from(own.code(row) == exact.code(row));
                }
            }
        }
    }
    assert!(same as f64 > 0.97 * missing as f64, "{same} of {missing}");
}

#[test]
fn what_the_rows_do_not_support_is_lowered_or_refused() {
    let mut rng = ChaCha8Rng::seed_from_u64(9);
    let truth = model_on(&mut rng, chain(6), 2, |_| 4);
    let rows = Inference::new(&truth).sample(5000, 1).unwrap();
    let fit = spectral(truth.tree(), &mut rows.source(), &SpectralOptions::new(Some(4)), &Silent).unwrap();
    assert_eq!(fit.warnings.len(), 1);
    assert!(fit.warnings[0].contains("instead of 4 dimensions"), "{}", fit.warnings[0]);
    let auto = spectral(truth.tree(), &mut rows.source(), &SpectralOptions::new(None), &Silent).unwrap();
    assert!(auto.model.edges().all(|(_, edge)| edge.rank == 2) && auto.warnings.is_empty());
    let few = Dataset::new(Arc::clone(rows.schema()), vec![crate::data::select_rows(&rows.batches()[0], &[0, 1], 0)]);
    let refused = spectral(truth.tree(), &mut few.source(), &SpectralOptions::new(Some(3)), &Silent).unwrap_err();
    assert!(refused.to_string().contains("fewer than the 3 hidden states"), "{refused}");
    let mut thin = truth.tree().clone();
    let leaf = thin.find("x1").unwrap();
    let h = thin.find("h1").unwrap();
    thin.disconnect(leaf, h).unwrap();
    let refused = spectral(&thin, &mut rows.source(), &SpectralOptions::new(Some(2)), &Silent).unwrap_err();
    assert!(refused.to_string().contains("2 neighbours"), "{refused}");
}

#[test]
fn marginals_of_a_pair_are_those_of_all_present_cells() {
    // Missing for a reason: the third label of x has no y, and z is missing mostly where y is 1.
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    let names = ["x", "y", "z"];
    let schema = names.iter().fold(Schema::builder(), |schema, name| schema.scalar(*name, Kind::numbered(3)));
    let mut columns = vec![Vec::new(); 3];
    for _ in 0..400 {
        let x: u8 = rng.random_range(0..3);
        let y = if x == 2 { MISSING_CODE8 } else { x };
        let z = if y == 1 && rng.random_bool(0.8) { MISSING_CODE8 } else { rng.random_range(0..3) };
        columns.iter_mut().zip([x, y, z]).for_each(|(column, code)| column.push(code));
    }
    let shares: Vec<Vec<f64>> = (columns.iter())
        .map(|column| {
            let count = |label: u8| column.iter().filter(|&&code| code == label).count() as f64;
            let present: f64 = (0..3).map(count).sum();
            (0..3).map(|label| count(label) / present).collect()
        })
        .collect();
    let columns = columns.into_iter().map(ColumnData::Codes8).collect();
    let rows = Dataset::from_columns(Arc::new(schema.build().unwrap()), columns, None).unwrap();
    let mut tree = Tree::new();
    let nodes = names.map(|name| tree.add_observed(name).unwrap());
    tree.connect(nodes[0], nodes[1], None).unwrap();
    tree.connect(nodes[1], nodes[2], None).unwrap();
    let options = SpectralOptions::new(Some(2));
    for fit in [spectral, hierarchical] {
        let fit = fit(&tree, &mut rows.source(), &options, &Silent).unwrap();
        assert!(fit.warnings.is_empty(), "{:?}", fit.warnings);
        let evaluator = Evaluator::new(&fit.model);
        let answer = evaluator.query(&[None; 3], &[0, 1, 2]).unwrap();
        for (own, share) in answer.distributions.iter().flatten().zip(shares.iter().flatten()) {
            assert!((own - share).abs() < 1e-12, "{own} {share}");
        }
    }
}

#[test]
fn branches_that_are_never_present_together_are_refused() {
    let mut rng = ChaCha8Rng::seed_from_u64(10);
    let truth = model_on(&mut rng, chain(5), 2, |_| 4);
    let sample = Inference::new(&truth).sample(5000, 1).unwrap();
    let mut batch = Batch::clone(&sample.batches()[0]);
    let Block::Dense(columns) = &mut batch.block else { panic!("rows are dense") };
    // The first two columns are leaves of the same hidden node.
    for (first, column) in columns.iter_mut().take(2).enumerate() {
        let ColumnData::Codes8(codes) = column else { panic!("there are few labels") };
        codes.iter_mut().skip(first).step_by(2).for_each(|code| *code = MISSING_CODE8);
    }
    let rows = Dataset::new(Arc::clone(sample.schema()), vec![batch]);
    for linkers in Linkers::ALL {
        let options = SpectralOptions::new(Some(2)).linkers(linkers);
        let refused = spectral(truth.tree(), &mut rows.source(), &options, &Silent).unwrap_err();
        assert!(refused.to_string().contains("never present in the same row"), "{refused}");
    }
}
