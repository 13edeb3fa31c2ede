//! Figure 4.1: mixtures of binary rows by moments and EM, beside EM from 20 random starts.
//!
//! Centres are exponential, divided by one plus their maximum; weights uniform, scaled; 10,000 rows.

use std::sync::Arc;

use latentree::data::{Dataset, Kind};
use latentree::inference::Inference;
use latentree::mixture::{Agreement, MixtureFamily, MixtureMethod, MixtureOptions, NumberOfComponents, fit_mixture};
use latentree::model::LatentTree;
use latentree::parameters::em::{Em, Start, template};
use latentree::tree::Tree;
use latentree::{Result, Silent};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{draw, mean, shares, table};
use crate::record::{Results, processor_seconds};

const ROWS: usize = 10_000;
const STARTS: u64 = 20;

fn log_likelihood(model: &LatentTree, data: &Dataset) -> Result<f64> {
    let inference = Inference::new(model);
    data.batches().iter().map(|batch| Ok(inference.log_likelihood(batch)?.iter().sum::<f64>())).sum()
}

pub(super) fn run(seeds: &[u64], k: usize) -> Result<Results> {
    let d = if k == 12 { 99 } else { 100 };
    let title = format!(
        "Ruffini 2019, Figure 4.1: binary rows, n = {ROWS}, d = {d}, k = {k}: nats relative to the best of {STARTS} random starts"
    );
    let header = [
        "seed",
        "best of the starts",
        "their mean",
        "sidiwo + EM",
        "asvtd + EM",
        "adjusted Rand, sidiwo",
        "CPU s, sidiwo",
        "CPU s, starts",
        "ratio",
    ];
    let mut results = Results::new(title, &header);
    for &seed in seeds {
        let mut rng = ChaCha8Rng::seed_from_u64(1000 * k as u64 + seed);
        let mut centres: Vec<Vec<f64>> =
            (0..k).map(|_| (0..d).map(|_| -(1.0 - rng.random_range(0.0..1.0_f64)).ln()).collect()).collect();
        for centre in &mut centres {
            let largest = 1.0 + centre.iter().copied().fold(0.0, f64::max);
            centre.iter_mut().for_each(|cell| *cell /= largest);
        }
        let weights = shares(&mut rng, k);
        let (mut columns, mut truth) = (vec![Vec::with_capacity(ROWS); d], Vec::with_capacity(ROWS));
        for _ in 0..ROWS {
            let component = draw(&mut rng, &weights);
            for (column, chance) in columns.iter_mut().zip(&centres[component]) {
                column.push(f64::from(u8::from(rng.random_bool(*chance))));
            }
            truth.push(component);
        }
        let data = table(columns, &Kind::binary())?;
        let mixture = |method: MixtureMethod| {
            let options =
                MixtureOptions::new(NumberOfComponents::Fixed(k)).family(MixtureFamily::Bernoulli).method(method).em(true);
            fit_mixture(&data, &options, &Silent)
        };
        let before = processor_seconds();
        let own = mixture(MixtureMethod::Sidiwo)?;
        let own_seconds = (processor_seconds() - before).max(0.01);
        let asvtd = mixture(MixtureMethod::Asvtd)?;
        let mut tree = Tree::new();
        let root = tree.add_hidden("h1")?;
        for variable in data.schema().variables() {
            let leaf = tree.add_observed(variable.name.clone())?;
            tree.connect(root, leaf, None)?;
        }
        let star = template(Arc::clone(data.schema()), tree, k)?;
        let before = processor_seconds();
        let mut starts = Vec::new();
        for start in 0..STARTS {
            let fit = Em::new().start(Start::Random { restarts: 1, seed: 100 * seed + start }).fit(&star, &data, &Silent)?;
            starts.push(log_likelihood(&fit.model, &data)?);
        }
        let start_seconds = processor_seconds() - before;
        let best = starts.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let agreement = Agreement::of(&own.labels, &truth)?.adjusted_rand;
        crate::note(&format!("seed {seed}: {:.2}", own.log_likelihood - best));
        results.row([
            seed.to_string(),
            format!("{best:.2}"),
            format!("{:.1}", mean(&starts) - best),
            format!("{:.2}", own.log_likelihood - best),
            format!("{:.2}", asvtd.log_likelihood - best),
            format!("{agreement:.3}"),
            format!("{own_seconds:.2}"),
            format!("{start_seconds:.2}"),
            format!("{:.0}", start_seconds / own_seconds),
        ]);
    }
    Ok(results)
}
