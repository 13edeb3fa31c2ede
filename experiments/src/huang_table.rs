//! Huang et al. 2020, Table 2: structure and tables at many dimensions and many variables.

use std::sync::Arc;
use std::time::Instant;

use latentree::distance::{DistanceOptions, estimate, moments_for};
use latentree::inference::Inference;
use latentree::moments::{Summary, fold};
use latentree::parameters::{MomentOptions, by_moments};
use latentree::report::compare;
use latentree::structure::{ChowLiuNeighborJoining, CorrelationSample, SpectralNeighborJoining, StructureLearner, by_likelihood};
use latentree::{Result, Silent};

use crate::huang_parameters::balanced_model;
use crate::record::Results;

/// What is run.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct TableArgs {
    /// Rows of the table, as d:p
    #[arg(long, value_delimiter = ',', default_value = "10:9,100:9,1000:9,100:81,100:729")]
    sizes: Vec<String>,
    /// Number of states of hidden nodes
    #[arg(long, default_value_t = 3)]
    hidden: usize,
    /// Number of rows
    #[arg(long, default_value_t = 50_000)]
    rows: u64,
    /// Seed
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

/// The paper's d, p, structure error, parameter error and seconds.
const PAPER: [(usize, usize, f64, f64, f64); 7] = [
    (10, 9, 0.0, 0.0104, 3.8),
    (100, 9, 0.0, 0.0967, 4.4),
    (1000, 9, 0.0, 0.1014, 5.1),
    (10_000, 9, 0.0, 0.0917, 29.9),
    (100_000, 9, 0.0, 0.0812, 56.5),
    (100, 81, 0.06, 0.1814, 323.7),
    (100, 729, 0.16, 0.1913, 4220.1),
];

pub(crate) fn run(args: &TableArgs) -> Result<Results> {
    let title = format!("Huang 2020, Table 2: N = {}, k = {}, seed {}", args.rows, args.hidden, args.seed);
    let header = [
        "d",
        "p",
        "structure error",
        "paper",
        "parameter error",
        "paper",
        "seconds",
        "paper (64 cores)",
        "of which distances, structure, tables",
    ];
    let mut results = Results::new(title, &header);
    for size in &args.sizes {
        let parts: Vec<Option<usize>> = size.split(':').map(|it| it.parse().ok()).collect();
        let [Some(d), Some(p)] = parts[..] else {
            return Err(latentree::Error::option("--sizes", format!("{size:?} is not d:p")));
        };
        let truth = balanced_model(p, 3, d, args.hidden, args.seed)?;
        let data = Inference::new(&truth).sample(args.rows, args.seed)?;
        let start = Instant::now();
        let summary = fold(&mut data.source(), Summary::new(Arc::clone(data.schema())), &Silent)?;
        let options = DistanceOptions::new().hidden_states(Some(args.hidden)).significance(None);
        let moments = moments_for(&mut data.source(), &summary, &options, &Silent)?;
        let distances = estimate(&moments, &options, &Silent)?;
        let after_distances = start.elapsed().as_secs_f64();
        let starts = [
            SpectralNeighborJoining::new().learn(&distances, &Silent)?,
            ChowLiuNeighborJoining::default().learn(&distances, &Silent)?,
        ];
        let sample = CorrelationSample::from_distances(&distances, args.hidden - 1, moments.effective_rows());
        let tree = by_likelihood(&starts, &sample, None, &Silent)?.tree;
        let after_structure = start.elapsed().as_secs_f64();
        let found = by_moments(&tree, &mut data.source(), Some(&summary), &MomentOptions::new(args.hidden), &Silent)?;
        let seconds = start.elapsed().as_secs_f64();
        let comparison = compare(&truth, &found.model)?;
        let paper = PAPER.iter().find(|it| (it.0, it.1) == (d, p));
        let theirs =
            |value: fn(&(usize, usize, f64, f64, f64)) -> f64| paper.map_or("–".to_owned(), |it| value(it).to_string());
        results.row([
            d.to_string(),
            p.to_string(),
            format!("{}", comparison.structure_error),
            theirs(|it| it.2),
            comparison.parameters.map_or("– (structure)".to_owned(), |it| format!("{:.4}", it.mean)),
            theirs(|it| it.3),
            format!("{seconds:.2}"),
            theirs(|it| it.4),
            format!("{after_distances:.2}, {:.2}, {:.2}", after_structure - after_distances, seconds - after_structure),
        ]);
    }
    Ok(results)
}
