//! Whether the support of splits is what it says: in each tenth of support, the share of splits that the true tree has.

use latentree::inference::Inference;
use latentree::learn::{Learning, Source};
use latentree::simulate::{ParameterFamily, Shape, Simulation};
use latentree::{Error, Result, Silent};
use rayon::prelude::*;

use crate::note;
use crate::record::Results;

/// What is simulated.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct SupportArgs {
    /// Kinds: binary, categorical, gaussian, mixed
    #[arg(long, value_delimiter = ',', default_value = "binary,categorical,gaussian")]
    kinds: Vec<String>,
    /// Numbers of rows
    #[arg(long, value_delimiter = ',', default_value = "300,1000,4000")]
    rows: Vec<u64>,
    /// Number of seeds
    #[arg(long, default_value_t = 10)]
    seeds: u64,
    /// First seed
    #[arg(long, default_value_t = 1000)]
    first_seed: u64,
    /// Compare by a table per number of rows, too
    #[arg(long)]
    by_rows: bool,
}

/// Five shapes with their numbers of observed variables.
const SHAPES: [(Shape, usize); 5] = [
    (Shape::Star, 12),
    (Shape::DoubleStar, 16),
    (Shape::Hmm, 14),
    (Shape::Complete { degree: 4 }, 12),
    (Shape::Random { max_degree: None }, 16),
];

/// A learned split: its support, and whether the true tree has it.
type Seen = (f64, bool);

fn family(kind: &str) -> Result<ParameterFamily> {
    Ok(match kind {
        "binary" => ParameterFamily::Symmetric { states: 2, strength: (0.3, 0.9) },
        "categorical" => ParameterFamily::Categorical { states: 3, hidden_states: 2, separation: 0.5 },
        "gaussian" => ParameterFamily::gaussian(),
        "mixed" => ParameterFamily::Mixed { states: 3, hidden_states: 2, separation: 0.4, groups: false },
        other => return Err(Error::option("--kinds", format!("{other:?} is not binary, categorical, gaussian or mixed"))),
    })
}

/// The splits of one table, learned by default with nothing taken out.
fn one(family: ParameterFamily, (shape, p): (Shape, usize), rows: u64, seed: u64) -> Result<Vec<Seen>> {
    let truth = Simulation::new(shape, p).family(family).seed(seed).model()?;
    let data = Inference::new(&truth).sample(rows, seed)?;
    let learned = Learning::new().collapse(Some(0.0)).run(Source::Rows(&data), &Silent)?;
    let (splits, own) = (truth.tree().splits(), learned.tree().splits());
    let seen = learned.tree().edges().filter_map(|edge| {
        let split = own.of_edge(edge.a, edge.b)?;
        Some((edge.support?, splits.contains(split)))
    });
    Ok(seen.collect())
}

fn add(results: &mut Results, kind: &str, rows: &str, seen: &[Seen]) {
    for tenth in 0..10 {
        let within: Vec<&Seen> = seen.iter().filter(|it| ((it.0 * 10.0) as usize).min(9) == tenth).collect();
        let n = within.len() as f64;
        if within.is_empty() {
            continue;
        }
        let mean = within.iter().map(|it| it.0).sum::<f64>() / n;
        let share = within.iter().filter(|it| it.1).count() as f64 / n;
        let error = (mean * (1.0 - mean) / n).sqrt();
        let is_calibrated = (mean - share).abs() <= (2.0 * error).max(0.1);
        let bar = "█".repeat((share * 20.0).round() as usize);
        results.row([
            kind.to_owned(),
            rows.to_owned(),
            format!("{:.1}–{:.1}", tenth as f64 / 10.0, (tenth + 1) as f64 / 10.0),
            within.len().to_string(),
            format!("{mean:.2}"),
            format!("{share:.2}"),
            if is_calibrated { "yes" } else { "no" }.to_owned(),
            bar,
        ]);
    }
}

pub(crate) fn run(args: &SupportArgs) -> Result<Results> {
    let title = format!(
        "Support of splits: five shapes (star, double star, HMM, 4-complete, random), {} rows, {} seeds from {}",
        args.rows.iter().map(u64::to_string).collect::<Vec<_>>().join(", "),
        args.seeds,
        args.first_seed
    );
    let header = [
        "kind",
        "rows",
        "support",
        "splits",
        "mean support",
        "share true",
        "within 0.1 or two standard errors",
        "share true, drawn",
    ];
    let mut results = Results::new(title, &header);
    let mut all = Vec::new();
    for kind in &args.kinds {
        let family = family(kind)?;
        let mut of_kind = Vec::new();
        for &rows in &args.rows {
            let jobs: Vec<((Shape, usize), u64)> = SHAPES
                .iter()
                .flat_map(|&shape| (args.first_seed..args.first_seed + args.seeds).map(move |seed| (shape, seed)))
                .collect();
            let seen: Vec<Vec<Seen>> =
                jobs.par_iter().map(|&(shape, seed)| one(family, shape, rows, seed)).collect::<Result<_>>()?;
            let seen = seen.concat();
            note(&format!("{kind}, {rows} rows: {} splits", seen.len()));
            if args.by_rows {
                add(&mut results, kind, &rows.to_string(), &seen);
            }
            of_kind.extend(seen);
        }
        add(&mut results, kind, "all", &of_kind);
        all.extend(of_kind);
    }
    if args.kinds.len() > 1 {
        add(&mut results, "all", "all", &all);
    }
    Ok(results)
}
