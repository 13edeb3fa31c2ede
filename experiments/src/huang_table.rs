//! Huang et al. 2020, Table 2: structure and tables at many dimensions and many variables.

use std::sync::Arc;
use std::time::Instant;

use latentree::distance::{DistanceOptions, RowMoments, moments_for};
use latentree::inference::Inference;
use latentree::model::{Distribution, Emission, LatentTree};
use latentree::moments::{Summary, fold};
use latentree::parameters::em::{Em, Smoothing};
use latentree::parameters::{MomentOptions, by_moments};
use latentree::report::{ParameterError, compare, parameter_error};
use latentree::structure::{StructureInput, StructureOptions, learn_structure};
use latentree::{Result, Silent};

use crate::huang_parameters::{balanced_model, complete};
use crate::record::Results;
use crate::sparse_vectors::SparseVectors;

/// What is run.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct TableArgs {
    /// Rows of the table, as d:p or d:p:rows
    #[arg(long, value_delimiter = ',', default_value = "10:9,100:9,1000:9,10000:9,100000:9,100:81,100:729,1000000:3:1000")]
    sizes: Vec<String>,
    /// From this many dimensions on variables are sparse vectors of counts instead of labels
    #[arg(long, default_value_t = 10_000)]
    sparse_from: usize,
    /// Expected sum of a sparse vector; a vector of more than 300,000 dimensions has a hundred times as many
    #[arg(long, default_value_t = 20.0)]
    tokens: f64,
    /// Concentration of the Dirichlet distribution of a sparse vector's rates
    #[arg(long, default_value_t = 0.1)]
    concentration: f64,
    /// Number of states of hidden nodes
    #[arg(long, default_value_t = 3)]
    hidden: usize,
    /// How the structure is learned: likelihood (from snj and clnj) or any learner's name
    #[arg(long, default_value = "likelihood")]
    structure: String,
    /// Number of rows
    #[arg(long, default_value_t = 50_000)]
    rows: u64,
    /// Seed
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

/// Most variables for which EM is run, too.
const MAX_FOR_EM: usize = 100;

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
    let title = format!(
        "Huang 2020, Table 2: N = {}, k = {}, seed {}; sparse vectors of {} counts, concentration {}",
        args.rows, args.hidden, args.seed, args.tokens, args.concentration
    );
    let header = [
        "d",
        "p",
        "structure error",
        "paper",
        "parameter error",
        "hidden states shown",
        "with 20 steps of EM",
        "observed tables, relative",
        "paper",
        "seconds",
        "peak MB so far",
        "paper (64 cores)",
        "of which moments, structure, tables",
    ];
    let mut results = Results::new(title, &header);
    for size in &args.sizes {
        let parts: Vec<Option<usize>> = size.split(':').map(|it| it.parse().ok()).collect();
        let (d, p, rows) = match parts[..] {
            [Some(d), Some(p)] => (d, p, args.rows),
            [Some(d), Some(p), Some(rows)] => (d, p, rows as u64),
            _ => return Err(latentree::Error::option("--sizes", format!("{size:?} is not d:p or d:p:rows"))),
        };
        let sparse = d >= args.sparse_from;
        let shape = balanced_model(p, 3, if sparse { 2 } else { d }, args.hidden, args.seed)?;
        let tokens = args.tokens * if d > 300_000 { 100.0 } else { 1.0 };
        let (truth, data) = if sparse {
            let vectors = SparseVectors::new(&shape, d, tokens, args.concentration, args.seed)?;
            let data = vectors.sample(rows, args.seed);
            (vectors.truth, data)
        } else {
            let data = Inference::new(&shape).sample(rows, args.seed)?;
            (shape, data)
        };
        let start = Instant::now();
        let summary = fold(&mut data.source(), Summary::new(Arc::clone(data.schema())), &Silent)?;
        let options = DistanceOptions::new().hidden_states(Some(args.hidden)).significance(None);
        let RowMoments { moments, coordinates } = moments_for(&mut data.source(), &summary, &options, &Silent)?;
        let after_moments = start.elapsed().as_secs_f64();
        let structure = StructureOptions::new().learner(args.structure.parse()?).distances(options);
        let input = StructureInput::Moments { whole: &moments, halves: None };
        let tree = learn_structure(input, &structure, &Silent)?.tree;
        let after_structure = start.elapsed().as_secs_f64();
        let options = MomentOptions::new(args.hidden).coordinates(coordinates);
        let found = by_moments(&tree, &mut data.source(), Some(&summary), &options, &Silent)?;
        let seconds = start.elapsed().as_secs_f64();
        let comparison = compare(&truth, &found.model)?;
        // Rates of a sparse vector are compared as shares, of sum one like the probabilities of labels.
        let scale = if sparse { tokens } else { 1.0 };
        let of_tables = |it: &ParameterError| {
            let (n_leaves, n_hidden) = (p as f64, truth.tree().n_hidden() as f64 - 1.0);
            (it.observed / scale, (n_leaves * it.observed / scale + n_hidden * it.hidden) / (n_leaves + n_hidden))
        };
        let error = comparison.parameters.as_ref().map(of_tables);
        // What counting gives when hidden states are shown, and EM from these tables: where that takes little.
        let (mut counted, mut refined) = (None, None);
        if !sparse && p <= MAX_FOR_EM {
            let inference = Inference::new(&truth);
            let all_nodes = complete(&truth, &mut inference.sampler(rows, args.seed).with_hidden()?)?;
            counted = parameter_error(&truth, &all_nodes)?.as_ref().map(of_tables);
            let em = Em::new().iterations(20).tolerance(1e-10).smoothing(Smoothing::none());
            refined = parameter_error(&truth, &em.fit(&found.model, &data, &Silent)?.model)?.as_ref().map(of_tables);
        }
        let shown = |it: Option<(f64, f64)>| it.map_or("–".to_owned(), |it| format!("{:.4}", it.1));
        let relative = error.map(|it| it.0 / (norm(&truth) / scale));
        let paper = PAPER.iter().find(|it| (it.0, it.1) == (d, p));
        let theirs =
            |value: fn(&(usize, usize, f64, f64, f64)) -> f64| paper.map_or("–".to_owned(), |it| value(it).to_string());
        results.row([
            format!("{d}{}", if sparse { " (sparse)" } else { "" }),
            format!("{p}{}", if rows == args.rows { String::new() } else { format!(" (N = {rows})") }),
            format!("{}", comparison.structure_error),
            theirs(|it| it.2),
            error.map_or("– (structure)".to_owned(), |it| format!("{:.4}", it.1)),
            shown(counted),
            shown(refined),
            relative.map_or("–".to_owned(), |it| format!("{it:.3}")),
            theirs(|it| it.3),
            format!("{seconds:.2}"),
            peak_megabytes(),
            theirs(|it| it.4),
            format!("{after_moments:.2}, {:.2}, {:.2}", after_structure - after_moments, seconds - after_structure),
        ]);
    }
    Ok(results)
}

/// The mean Frobenius norm of the tables of observed nodes.
fn norm(model: &LatentTree) -> f64 {
    fn squares(emission: &Emission) -> f64 {
        match emission {
            Emission::Categorical(table) => table.values().iter().map(|p| p * p).sum(),
            Emission::Gaussian { means, .. } => means.iter().map(|mean| mean * mean).sum(),
            Emission::Poisson { rates } => rates.iter().map(|rate| rate * rate).sum(),
            Emission::Group(members) => members.iter().map(squares).sum(),
            _ => 0.0,
        }
    }
    let norms: Vec<f64> = model
        .tree()
        .node_ixs()
        .filter(|&node| model.tree().is_observed(node))
        .map(|node| match model.distribution(node) {
            Distribution::Discrete(table) => table.values().iter().map(|p| p * p).sum::<f64>().sqrt(),
            Distribution::Emission(emission) => squares(emission).sqrt(),
            _ => 0.0,
        })
        .collect();
    norms.iter().sum::<f64>() / norms.len() as f64
}

/// The largest memory of this process, as the system tells it.
fn peak_megabytes() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|rest| rest.trim().trim_end_matches("kB").trim().parse::<f64>().ok());
    kilobytes.map_or("–".to_owned(), |it| format!("{:.0}", it / 1024.0))
}
