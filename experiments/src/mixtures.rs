//! Ruffini 2019: moments of documents (Fig. 3.1), mixtures of binary rows (Fig. 4.1), topics in a hierarchy (Table 5.1) and
//! more clusters than features (Fig. 6.5). Comparisons with programs in Python are in `experiments/mixtures/peers.py`.

mod binary_rows;
mod document_moments;
mod overcomplete;
mod topic_hierarchy;

use latentree::data::{ColumnData, Dataset, Kind, Schema};
use latentree::{Error, Result};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use std::sync::Arc;

use crate::record::Results;

/// What is run.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct MixtureArgs {
    /// Part: moments (Fig. 3.1), binary (Fig. 4.1), topics (Table 5.1) or plane (Fig. 6.5)
    #[arg(value_name = "PART")]
    part: String,
    /// Number of seeds [default: 10 of Fig. 3.1, 4.1 and 6.5, 20 of Table 5.1]
    #[arg(long)]
    seeds: Option<u64>,
    /// First seed
    #[arg(long, default_value_t = 0)]
    first_seed: u64,
    /// Components of Fig. 4.1: 5 (100 columns) or 12 (99 columns)
    #[arg(long, short = 'k', default_value_t = 5)]
    components: usize,
}

pub(crate) fn run(args: &MixtureArgs) -> Result<Results> {
    let seeds = |default: u64| (args.first_seed..args.first_seed + args.seeds.unwrap_or(default)).collect::<Vec<u64>>();
    match args.part.as_str() {
        "moments" => Ok(document_moments::run(&seeds(10))),
        "binary" => binary_rows::run(&seeds(10), args.components),
        "topics" => topic_hierarchy::run(&seeds(20)),
        "plane" => overcomplete::run(&seeds(10)),
        other => Err(Error::option("PART", format!("{other:?} is not moments, binary, topics or plane"))),
    }
}

/// A table of columns of one kind.
fn table(columns: Vec<Vec<f64>>, kind: &Kind) -> Result<Dataset> {
    let mut builder = Schema::builder();
    for ix in 0..columns.len() {
        builder = builder.scalar(format!("x{ix}"), kind.clone());
    }
    let data = columns.into_iter().map(|cells| {
        let mut column = ColumnData::for_kind(kind, cells.len());
        cells.iter().for_each(|&cell| column.push_number(cell));
        column
    });
    Dataset::from_columns(Arc::new(builder.build()?), data.collect(), None)
}

/// Uniform numbers scaled to sum to 1.
fn shares(rng: &mut ChaCha8Rng, n: usize) -> Vec<f64> {
    let cells: Vec<f64> = (0..n).map(|_| rng.random_range(0.0..1.0)).collect();
    let total: f64 = cells.iter().sum();
    cells.iter().map(|cell| cell / total).collect()
}

/// A draw by these shares.
fn draw(rng: &mut ChaCha8Rng, shares: &[f64]) -> usize {
    let mut left = rng.random_range(0.0..1.0);
    let place = shares.iter().position(|share| {
        left -= share;
        left < 0.0
    });
    place.unwrap_or(shares.len() - 1)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    if n == 0 { f64::NAN } else { 0.5 * (sorted[(n - 1) / 2] + sorted[n / 2]) }
}
