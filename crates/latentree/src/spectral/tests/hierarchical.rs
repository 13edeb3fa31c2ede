//! Hierarchical decomposition of tables that are known exactly.

use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::models::{chain, model_on, random_tree};
use crate::data::{ColumnData, Dataset};
use crate::inference::Inference;
use crate::linalg::{Matrix, jacobi_svd};
use crate::model::LatentTree;
use crate::spectral::{Evaluator, Linkers, SpectralModel, SpectralOptions, hierarchical, spectral};
use crate::{MemoryBudget, Silent};

/// All rows that a model can produce, weighted by their probabilities.
fn population(model: &LatentTree) -> (Dataset, Vec<f64>) {
    let sizes: Vec<usize> = model.schema().variable_ixs().map(|ix| model.n_states(model.node_of(ix)).unwrap()).collect();
    let n: usize = sizes.iter().product();
    let code = |row: usize, ix: usize| (row / sizes[ix + 1..].iter().product::<usize>() % sizes[ix]) as u8;
    let columns = |ix: usize| ColumnData::Codes8((0..n).map(|row| code(row, ix)).collect());
    let columns: Vec<ColumnData> = (0..sizes.len()).map(columns).collect();
    let unweighted = Dataset::from_columns(Arc::clone(model.schema()), columns.clone(), None).unwrap();
    let chances: Vec<f64> = unweighted
        .batches()
        .iter()
        .flat_map(|batch| Inference::new(model).log_likelihood(batch).unwrap())
        .map(f64::exp)
        .collect();
    // Weights of a large sample, so that nothing counts as noise.
    let weights = chances.iter().map(|p| p * 1e15).collect();
    (Dataset::from_columns(Arc::clone(model.schema()), columns, Some(weights)).unwrap(), chances)
}

fn estimates(model: &SpectralModel, rows: &Dataset) -> Vec<f64> {
    rows.batches().iter().flat_map(|batch| Evaluator::new(model).raw(batch).unwrap()).collect()
}

#[test]
fn with_the_true_rank_tables_are_exact() {
    for seed in 0..30 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let k = 2 + seed as usize % 2;
        let tree = if seed % 3 == 0 { chain(6) } else { random_tree(&mut rng, 1 + seed as usize % 2, seed % 2 == 0) };
        if tree.n_observed() > 8 {
            continue;
        }
        let model = model_on(&mut rng, tree, k, |_| 4);
        let (rows, chances) = population(&model);
        let options = SpectralOptions::new(Some(k)).memory(MemoryBudget::new(1 << 32));
        let fit = hierarchical(model.tree(), &mut rows.source(), &options, &Silent).unwrap();
        for (own, exact) in estimates(&fit.model, &rows).iter().zip(&chances) {
            assert!((own - exact).abs() < 1e-9 * exact.max(1e-3), "seed {seed}: {own} {exact}");
        }
        // Weighted rows are equivalent to repeated rows.
        let stacked = spectral(model.tree(), &mut rows.source(), &options, &Silent).unwrap();
        for (own, exact) in estimates(&stacked.model, &rows).iter().zip(&chances) {
            assert!((own - exact).abs() < 1e-9 * exact.max(1e-3), "seed {seed}: {own} {exact}");
        }
    }
}

/// The singular values of the table unfolded with some columns as rows.
fn unfolded(chances: &[f64], sizes: &[usize], side: &[usize]) -> Vec<f64> {
    let other: Vec<usize> = (0..sizes.len()).filter(|ix| !side.contains(ix)).collect();
    let size = |columns: &[usize]| columns.iter().map(|&ix| sizes[ix]).product::<usize>();
    let mut matrix = Matrix::zeros(size(side), size(&other));
    for (row, &p) in chances.iter().enumerate() {
        let code = |ix: usize| row / sizes[ix + 1..].iter().product::<usize>() % sizes[ix];
        let at = |columns: &[usize]| columns.iter().fold(0, |at, &ix| at * sizes[ix] + code(ix));
        matrix.row_mut(at(side))[at(&other)] = p;
    }
    jacobi_svd(matrix.cells(), matrix.n_rows(), matrix.n_cols()).values
}

#[test]
fn a_rank_below_the_true_one_costs_no_more_than_the_theorem_says() {
    let (mut below, mut n_models) = (0, 0);
    for seed in 0..100 {
        let mut rng = ChaCha8Rng::seed_from_u64(1000 + seed);
        let model = model_on(&mut rng, chain(6), 3, |_| 4);
        let (rows, chances) = population(&model);
        let options = SpectralOptions::new(Some(2)).memory(MemoryBudget::new(1 << 32));
        let own = hierarchical(model.tree(), &mut rows.source(), &options, &Silent).unwrap().model;
        let own = Evaluator::new(&own).unnormalised(&rows.batches()[0]).unwrap();
        let sizes = vec![4; 6];
        // For all edges: those of the leaves, and those between hidden nodes.
        let sides = (0..6).map(|ix| vec![ix]).chain((2..=4).map(|n| (0..n).collect()));
        let epsilon = sides
            .map(|side: Vec<usize>| unfolded(&chances, &sizes, &side).iter().skip(2).map(|value| value * value).sum::<f64>())
            .fold(0.0, f64::max);
        let squares: f64 = own.iter().zip(&chances).map(|(q, p)| (q - p).powi(2)).sum();
        let d = model.tree().n_edges() as f64;
        assert!(squares <= d * epsilon * (1.0 + 1e-9), "seed {seed}: {squares} is above {}", d * epsilon);
        let older = spectral(model.tree(), &mut rows.source(), &options.linkers(Linkers::Single), &Silent).unwrap().model;
        let older = Evaluator::new(&older).unnormalised(&rows.batches()[0]).unwrap();
        let absolute = |estimates: &[f64]| estimates.iter().zip(&chances).map(|(q, p)| (q - p).abs()).sum::<f64>();
        below += usize::from(absolute(&own) < absolute(&older));
        n_models += 1;
    }
    assert!(below * 10 >= n_models * 9, "{below} of {n_models}");
}

#[test]
fn rows_with_missing_cells_are_used_where_they_are_complete() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let truth = model_on(&mut rng, chain(5), 2, |_| 4);
    let rows = Inference::new(&truth).sample(4000, 1).unwrap();
    let holes = super::rows::with_missing(&rows, 0.1, 2);
    let options = SpectralOptions::new(Some(2));
    let fit = hierarchical(truth.tree(), &mut holes.source(), &options, &Silent).unwrap();
    let batch = &holes.batches()[0];
    let is_complete = |&row: &usize| (0..5).all(|column| !batch.number(row, crate::ColIx::new(column)).is_nan());
    let told = format!("{} of 4000", (0..4000).filter(is_complete).count());
    assert!(fit.warnings.len() == 1 && fit.warnings[0].contains(&told), "{told}: {:?}", fit.warnings);
    let model = fit.model;
    let scores = Evaluator::new(&model).log_likelihood(&rows.batches()[0]).unwrap();
    let exact = Inference::new(&truth).log_likelihood(&rows.batches()[0]).unwrap();
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    assert!((mean(&scores.values) - mean(&exact)).abs() < 0.02, "{} {}", mean(&scores.values), mean(&exact));
    let none = super::rows::with_missing(&rows, 1.0 - 1e-9 * rng.random_range(0.0..1.0), 2);
    assert!(hierarchical(truth.tree(), &mut none.source(), &options, &Silent).is_err());
}

#[test]
fn single_marginals_are_those_of_the_rows() {
    for seed in 0..6 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let tree = if seed % 2 == 0 { chain(9) } else { random_tree(&mut rng, 3, seed % 4 == 1) };
        let truth = model_on(&mut rng, tree, 3, |_| 5);
        let rows = Inference::new(&truth).sample(300, seed).unwrap();
        let model = hierarchical(truth.tree(), &mut rows.source(), &SpectralOptions::new(Some(2)), &Silent).unwrap().model;
        let evaluator = Evaluator::new(&model);
        let batch = &rows.batches()[0];
        let nothing = vec![None; model.schema().variables().len()];
        for variable in 0..nothing.len() {
            let found = evaluator.query(&nothing, &[variable]).unwrap().distributions.remove(0);
            for (label, p) in found.iter().enumerate() {
                let seen = (0..300).filter(|&row| batch.number(row, crate::ColIx::new(variable)) as usize == label).count();
                assert!((p - seen as f64 / 300.0).abs() < 1e-12, "seed {seed}: {p} {seen}");
            }
        }
    }
}

#[test]
fn linkers_of_long_chains_are_near_the_cut() {
    // Neighbours are strongly dependent and distant positions hardly at all, so a distant linker loses the dependence.
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let truth = model_on(&mut rng, chain(40), 2, |_| 4);
    let rows = Inference::new(&truth).sample(3000, 1).unwrap();
    let own = hierarchical(truth.tree(), &mut rows.source(), &SpectralOptions::new(Some(2)), &Silent).unwrap().model;
    let other = spectral(truth.tree(), &mut rows.source(), &SpectralOptions::new(Some(2)).linkers(Linkers::Single), &Silent);
    let values = |model: &SpectralModel| -> Vec<f64> {
        let edges = model.edges().filter(|(name, _)| name.matches('h').count() == 2);
        edges.map(|(_, edge)| edge.values.first().copied().unwrap_or(0.0)).collect()
    };
    // The first canonical correlation of the chosen linkers, compared with that of the best pair among each edge's nearest
    // columns.
    for (own, other) in values(&own).iter().zip(values(&other.unwrap().model)) {
        assert!(*own > 0.8 * other, "{own} {other}");
    }
}
