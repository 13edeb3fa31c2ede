//! Whether the support of splits is what it says: in each tenth of support, the share of splits that the true tree has.
//!
//! A learned tree may leave variables out that depend on nothing else as far as the rows show. A split parts the variables of its own tree, so it is true if
//! the true tree, restricted to these variables, has it.

use latentree::inference::Inference;
use latentree::learn::{Learning, Source};
use latentree::selection::Effort;
use latentree::simulate::{ParameterFamily, Shape, Simulation};
use latentree::{Error, Result, Silent};
use rayon::prelude::*;

use crate::note;
use crate::record::Results;
use crate::side::{parts, side};

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
    /// Effort of the search: quick, normal or thorough
    #[arg(long, default_value = "normal")]
    effort: Effort,
    /// Compare by a table per number of rows, too
    #[arg(long)]
    by_rows: bool,
}

/// Five shapes with their numbers of observed variables.
pub(crate) const SHAPES: [(Shape, usize); 5] = [
    (Shape::Star, 12),
    (Shape::DoubleStar, 16),
    (Shape::Hmm, 14),
    (Shape::Complete { degree: 4 }, 12),
    (Shape::Random { max_degree: None }, 16),
];

/// A learned split: its support, and whether the true tree has it.
type Seen = (f64, bool);

pub(crate) fn family(kind: &str) -> Result<ParameterFamily> {
    Ok(match kind {
        "binary" => ParameterFamily::Symmetric { states: 2, strength: (0.3, 0.9) },
        "categorical" => ParameterFamily::Categorical { states: 3, hidden_states: 2, separation: 0.5 },
        "gaussian" => ParameterFamily::gaussian(),
        "mixed" => ParameterFamily::Mixed { states: 3, hidden_states: 2, separation: 0.4, groups: false },
        other => return Err(Error::option("--kinds", format!("{other:?} is not binary, categorical, gaussian or mixed"))),
    })
}

/// The splits of one table, learned with no other option and nothing taken out.
fn one(family: ParameterFamily, (shape, p): (Shape, usize), rows: u64, seed: u64, effort: Effort) -> Result<Vec<Seen>> {
    let truth = Simulation::new(shape, p).family(family).seed(seed).model()?;
    let data = Inference::new(&truth).sample(rows, seed)?;
    let learned = Learning::new().effort(effort).collapse(Some(0.0)).run(Source::Rows(&data), &Silent)?;
    let tree = learned.tree();
    let seen = tree.edges().filter_map(|edge| {
        let support = edge.support?;
        Some((support, parts(truth.tree(), &side(tree, [edge.a, edge.b]), &side(tree, [edge.b, edge.a]))))
    });
    Ok(seen.collect())
}

/// A row for each tenth of support; how many tenths are within bounds, and of how many.
fn add(results: &mut Results, kind: &str, rows: &str, seen: &[Seen]) -> (usize, usize) {
    let (mut n_within, mut n_tenths) = (0, 0);
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
        n_within += usize::from(is_calibrated);
        n_tenths += 1;
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
    (n_within, n_tenths)
}

pub(crate) fn run(args: &SupportArgs) -> Result<Results> {
    let title = format!(
        "Support of splits, effort {}: five shapes (star, double star, HMM, 4-complete, random), {} rows, {} seeds from {}",
        args.effort.name(),
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
    let (mut all, mut within) = (Vec::new(), (0, 0));
    for kind in &args.kinds {
        let family = family(kind)?;
        let mut of_kind = Vec::new();
        for &rows in &args.rows {
            let jobs: Vec<((Shape, usize), u64)> = SHAPES
                .iter()
                .flat_map(|&shape| (args.first_seed..args.first_seed + args.seeds).map(move |seed| (shape, seed)))
                .collect();
            let seen: Vec<Vec<Seen>> =
                jobs.par_iter().map(|&(shape, seed)| one(family, shape, rows, seed, args.effort)).collect::<Result<_>>()?;
            let seen = seen.concat();
            note(&format!("{kind}, {rows} rows: {} splits", seen.len()));
            if args.by_rows {
                add(&mut results, kind, &rows.to_string(), &seen);
            }
            of_kind.extend(seen);
        }
        let (n_within, n_tenths) = add(&mut results, kind, "all", &of_kind);
        within = (within.0 + n_within, within.1 + n_tenths);
        all.extend(of_kind);
    }
    if args.kinds.len() > 1 {
        add(&mut results, "all", "all", &all);
    }
    let mut verdict = vec!["**verdict**".to_owned(), "all".to_owned()];
    verdict.resize(header.len(), String::new());
    verdict[6] = format!("{} of {} tenths of a kind", within.0, within.1);
    results.row(verdict);
    Ok(results)
}
