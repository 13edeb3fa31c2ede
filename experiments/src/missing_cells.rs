//! Missing cells: whether a table of which half of the cells are missing gives more false splits than a complete one in which
//! each pair is seen as often.
//!
//! With each cell missing with probability ½ a pair of variables is seen in a quarter of the rows. The trees are the Gaussian
//! 5-complete ones of Choi et al. 2011, §7.1.

use std::sync::Arc;

use latentree::data::{ColumnData, Dataset};
use latentree::inference::Inference;
use latentree::moments::{BlockMoments, fold};
use latentree::simulate::{Shape, Simulation};
use latentree::structure::{StructureInput, StructureOptions, learn_structure};
use latentree::{ColIx, Result, Silent};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use crate::record::Results;

/// The numbers of rows and of seeds.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct MissingArgs {
    /// Rows of the table with missing cells; a complete table of a quarter of them stands beside it
    #[arg(long, default_value_t = 5000)]
    rows: u64,
    /// Number of seeds
    #[arg(long, default_value_t = 20)]
    seeds: u64,
    /// First seed
    #[arg(long, default_value_t = 0)]
    first_seed: u64,
}

/// Splits that are not the true tree's, splits of it that are not found, and hidden nodes too many.
struct Outcome {
    false_splits: f64,
    missed_splits: f64,
    hidden: f64,
}

/// The table with each cell missing with probability one half.
fn with_missing(data: &Dataset, seed: u64) -> Result<Dataset> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut columns: Vec<Vec<f64>> = vec![Vec::new(); data.schema().columns().len()];
    for batch in data.batches() {
        for row in 0..batch.n_rows {
            for (ix, column) in columns.iter_mut().enumerate() {
                column.push(if rng.random_bool(0.5) { f64::NAN } else { batch.number(row, ColIx::new(ix)) });
            }
        }
    }
    Dataset::from_columns(Arc::clone(data.schema()), columns.into_iter().map(ColumnData::Reals).collect(), None)
}

fn one(rows: u64, is_missing: bool, seed: u64) -> Result<Outcome> {
    let model = Simulation::new(Shape::Complete { degree: 5 }, 81).seed(seed).model()?;
    let complete = Inference::new(&model).sample(rows, seed)?;
    let data = if is_missing { with_missing(&complete, seed)? } else { complete };
    let blocks = fold(&mut data.source(), BlockMoments::new(Arc::clone(data.schema()), 2)?, &Silent)?;
    let (whole, halves) = (blocks.whole()?, blocks.halves()?);
    let input = StructureInput::Moments { whole: &whole, halves: Some(&halves) };
    let tree = learn_structure(input, &StructureOptions::new(), &Silent)?.tree;
    let (found, truth) = (tree.splits(), model.tree().splits());
    Ok(Outcome {
        false_splits: found.iter().filter(|&split| !truth.contains(split)).count() as f64,
        missed_splits: truth.iter().filter(|&split| !found.contains(split)).count() as f64,
        hidden: tree.n_hidden() as f64 - model.tree().n_hidden() as f64,
    })
}

/// Mean and standard error.
fn mean(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
    (mean, (variance / n).sqrt())
}

pub(crate) fn run(args: &MissingArgs) -> Result<Results> {
    let header = ["rows", "cells missing", "false splits", "missed splits", "hidden nodes too many"];
    let title = format!(
        "Missing cells: default learner on 5-complete Gaussian trees, edge correlations in [0.2, 0.8], {} seeds from {} (mean ± standard error)",
        args.seeds, args.first_seed
    );
    let mut results = Results::new(title, &header);
    for (rows, is_missing) in [(args.rows / 4, false), (args.rows, true)] {
        let seeds: Vec<u64> = (args.first_seed..args.first_seed + args.seeds).collect();
        let outcomes = seeds.par_iter().map(|&seed| one(rows, is_missing, seed)).collect::<Result<Vec<Outcome>>>()?;
        let figure = |value: &dyn Fn(&Outcome) -> f64| {
            let (mean, error) = mean(&outcomes.iter().map(value).collect::<Vec<f64>>());
            format!("{mean:.2} ± {error:.2}")
        };
        results.row([
            rows.to_string(),
            if is_missing { "half" } else { "none" }.to_owned(),
            figure(&|it| it.false_splits),
            figure(&|it| it.missed_splits),
            figure(&|it| it.hidden),
        ]);
    }
    Ok(results)
}
