//! Whether resampled log-likelihoods, which `--bootstrap` of a searched model counts, say what searches of resampled rows say.

use latentree::data::{Batch, Dataset};
use latentree::inference::Inference;
use latentree::learn::{Learning, Source};
use latentree::simulate::Simulation;
use latentree::{Result, Silent};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use crate::note;
use crate::record::Results;
use crate::side::{parts, side};
use crate::support::{SHAPES, family};

/// What is simulated.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct BootstrapArgs {
    /// Kinds: binary, categorical, mixed
    #[arg(long, value_delimiter = ',', default_value = "binary,categorical")]
    kinds: Vec<String>,
    /// Numbers of rows
    #[arg(long, value_delimiter = ',', default_value = "300")]
    rows: Vec<u64>,
    /// Number of tables of each shape but the star
    #[arg(long, default_value_t = 1)]
    seeds: u64,
    /// First seed
    #[arg(long, default_value_t = 7000)]
    first_seed: u64,
    /// Replicates of both bootstraps
    #[arg(long, default_value_t = 20)]
    replicates: usize,
}

/// The rows drawn with replacement: each has as weight how often it is drawn.
fn drawn(data: &Dataset, seed: u64) -> Dataset {
    let n = data.n_rows() as usize;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut counts = vec![0.0; n];
    (0..n).for_each(|_| counts[rng.random_range(0..n)] += 1.0);
    let weighted = |batch: &Batch| {
        let first = batch.first_row as usize;
        Batch { weights: Some(counts[first..first + batch.n_rows].to_vec()), ..batch.clone() }
    };
    Dataset::new(data.schema().clone(), data.batches().iter().map(|batch| weighted(batch)).collect())
}

pub(crate) fn run(args: &BootstrapArgs) -> Result<Results> {
    let header = ["kind", "rows", "shape", "seed", "split", "support", "resampled log-likelihoods", "searches again", "true"];
    let title = format!(
        "Bootstrap of searched models, {} replicates: log-likelihoods resampled, and searches of resampled rows",
        args.replicates
    );
    let mut results = Results::new(title, &header);
    let mut all: Vec<[f64; 3]> = Vec::new();
    for kind in &args.kinds {
        for &rows in &args.rows {
            // A star has no splits.
            for (shape, p) in SHAPES.into_iter().skip(1) {
                for seed in args.first_seed..args.first_seed + args.seeds {
                    let truth = Simulation::new(shape, p).family(family(kind)?).seed(seed).model()?;
                    let data = Inference::new(&truth).sample(rows, seed)?;
                    let learning = Learning::new().collapse(Some(0.0));
                    let learned = learning.clone().bootstrap(Some(args.replicates)).run(Source::Rows(&data), &Silent)?;
                    let again = |replicate: usize| {
                        let data = drawn(&data, seed.wrapping_mul(1009).wrapping_add(replicate as u64));
                        Ok(learning.clone().run(Source::Rows(&data), &Silent)?.tree().clone())
                    };
                    let trees = (0..args.replicates).into_par_iter().map(again).collect::<Result<Vec<_>>>()?;
                    let tree = learned.tree();
                    for edge in tree.edges() {
                        let (Some(support), Some(bootstrap)) = (edge.support, edge.bootstrap) else { continue };
                        let sides = [side(tree, [edge.a, edge.b]), side(tree, [edge.b, edge.a])];
                        let n_found = trees.iter().filter(|tree| parts(tree, &sides[0], &sides[1])).count();
                        let searched = n_found as f64 / trees.len().max(1) as f64;
                        let is_true = parts(truth.tree(), &sides[0], &sides[1]);
                        all.push([bootstrap, searched, f64::from(u8::from(is_true))]);
                        results.row([
                            kind.clone(),
                            rows.to_string(),
                            format!("{shape:?}"),
                            seed.to_string(),
                            format!("{} | {}", sides[0].len(), sides[1].len()),
                            format!("{support:.2}"),
                            format!("{bootstrap:.2}"),
                            format!("{searched:.2}"),
                            if is_true { "yes" } else { "no" }.to_owned(),
                        ]);
                    }
                    note(&format!("{kind}, {rows} rows, {shape:?}, seed {seed}: {} splits so far", all.len()));
                }
            }
        }
    }
    let mean = |of: &dyn Fn(&[f64; 3]) -> f64| all.iter().map(of).sum::<f64>() / all.len().max(1) as f64;
    let mut last = vec!["**mean**".to_owned()];
    last.resize(header.len(), String::new());
    last[4] = format!("{} splits", all.len());
    last[6] = format!("{:.2}", mean(&|it| it[0]));
    last[7] = format!("{:.2} (mean distance {:.2})", mean(&|it| it[1]), mean(&|it| (it[0] - it[1]).abs()));
    last[8] = format!("{:.2}", mean(&|it| it[2]));
    results.row(last);
    Ok(results)
}
