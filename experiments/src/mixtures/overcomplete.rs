//! Figure 6.5: four normal clusters in the plane, more than there are features.

use latentree::clusters::{ClusterOptions, Extent, SplitMethod, fit_clusters};
use latentree::data::Kind;
use latentree::mixture::Agreement;
use latentree::{Result, Silent};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Normal};

use super::{mean, table};
use crate::record::Results;

/// The centres of the figure, about.
const CENTRES: [[f64; 2]; 4] = [[1.0, 1.0], [4.0, 1.5], [1.5, 4.0], [4.5, 5.0]];
const ROWS: usize = 1000;

pub(super) fn run(seeds: &[u64]) -> Result<Results> {
    let title = format!(
        "Ruffini 2019, Figure 6.5: four normal clusters in the plane, {ROWS} rows, deviation 0.4, {} seeds, adjusted Rand index (bar 0.95)",
        seeds.len()
    );
    let mut results = Results::new(title, &["method", "mean", "least"]);
    let normal = Normal::new(0.0, 0.4).expect("a positive deviation");
    for (name, method) in [("cluster --leaves 4", SplitMethod::Alignment), ("… --method sidiwo", SplitMethod::Model)] {
        let mut found = Vec::new();
        for &seed in seeds {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let (mut columns, mut truth) = (vec![Vec::new(), Vec::new()], Vec::new());
            for _ in 0..ROWS {
                let cluster = rng.random_range(0..4_usize);
                (0..2).for_each(|axis| columns[axis].push(CENTRES[cluster][axis] + normal.sample(&mut rng)));
                truth.push(cluster);
            }
            let options = ClusterOptions::new(Extent::Leaves(4)).method(method);
            let fit = fit_clusters(&table(columns, &Kind::Continuous)?, &options, &Silent)?;
            found.push(Agreement::of(&fit.labels, &truth)?.adjusted_rand);
        }
        let least = found.iter().copied().fold(f64::INFINITY, f64::min);
        results.row([name.to_owned(), format!("{:.3}", mean(&found)), format!("{least:.3}")]);
    }
    Ok(results)
}
