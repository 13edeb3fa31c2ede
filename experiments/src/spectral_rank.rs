//! Spectral models of few rows: how much held-out rows gain over independent columns, by the number of dimensions.
//!
//! Rows come from simulated hidden Markov models, whose dependence is strong or weak, and from public density sets. A good rule
//! for the number of dimensions is near the best fixed number on every table and never loses to independent columns.

use std::path::Path;

use clap::Args;
use latentree::data::{Dataset, ReadOptions, open};
use latentree::format::ModelFile;
use latentree::inference::Inference;
use latentree::learn::{Learning, ParameterMethod, Source};
use latentree::simulate::{ParameterFamily, Shape, Simulation};
use latentree::spectral::Evaluator;
use latentree::structure::LearnerName;
use latentree::{Error, Result, Silent};

use crate::record::Results;

/// Tables and numbers of rows.
#[derive(Debug, Clone, Args)]
pub(crate) struct RankArgs {
    /// Numbers of training rows
    #[arg(long, value_delimiter = ',', default_value = "300,700,3000")]
    rows: Vec<u64>,
    /// Models that are simulated for each setting
    #[arg(long, default_value_t = 3)]
    models: u64,
    /// First seed of the simulated models
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Methods: spectral, single, hierarchical or moments+em, a colon and a number of dimensions or auto
    #[arg(long, value_delimiter = ',', default_value = "spectral:2,spectral:3,spectral:4,spectral:auto")]
    methods: Vec<String>,
    /// Only tables whose name contains this
    #[arg(long, default_value = "")]
    only: String,
}

const SETS: [(&str, LearnerName); 5] = [
    ("nltcs", LearnerName::ChowLiuNeighborJoining),
    ("plants", LearnerName::ChowLiuNeighborJoining),
    ("jester", LearnerName::ChowLiuNeighborJoining),
    ("msnbc", LearnerName::ChowLiuNeighborJoining),
    ("dna", LearnerName::Chain),
];
const TEST_ROWS: u64 = 2000;

/// The learner of `method:dimensions`.
pub(crate) fn learning(method: &str, structure: LearnerName) -> Result<Learning> {
    let unknown = || Error::option("--methods", format!("{method:?} is not METHOD:DIMENSIONS"));
    let (name, dimensions) = method.split_once(':').ok_or_else(unknown)?;
    let base = Learning::new().structure(structure);
    let base = match dimensions {
        "auto" => base.hidden_states_auto(),
        text => base.hidden_states(Some(text.parse().map_err(|_| unknown())?)),
    };
    Ok(match name {
        "spectral" => base.parameters(ParameterMethod::Spectral),
        "single" => {
            let mut options = base.parameters(ParameterMethod::Spectral).options().clone();
            options.set("parameters.linkers", "single".into())?;
            Learning::with_options(options)
        }
        "hierarchical" => base.parameters(ParameterMethod::Hierarchical),
        "moments+em" => base.parameters(ParameterMethod::MomentsAndEm),
        _ => return Err(unknown()),
    })
}

/// The mean log-likelihood of test rows by the marginals of the training rows.
fn independent(train: &Dataset, test: &Dataset) -> f64 {
    let schema = train.schema();
    let n_columns = schema.columns().len();
    let count = |rows: &Dataset| {
        let mut counts: Vec<Vec<f64>> =
            schema.columns().iter().map(|column| vec![0.0; column.kind.n_states().unwrap_or(0)]).collect();
        for batch in rows.batches() {
            for column in 0..n_columns {
                for row in 0..batch.n_rows {
                    let code = batch.number(row, latentree::ColIx::new(column));
                    if !code.is_nan() {
                        counts[column][code as usize] += 1.0;
                    }
                }
            }
        }
        counts
    };
    let (seen, asked) = (count(train), count(test));
    let mut sum = 0.0;
    for (seen, asked) in seen.iter().zip(&asked) {
        let total: f64 = seen.iter().map(|it| it.max(0.5)).sum();
        sum += seen.iter().zip(asked).map(|(seen, asked)| asked * (seen.max(0.5) / total).ln()).sum::<f64>();
    }
    sum / test.n_rows() as f64
}

/// The mean log-likelihood of test rows, and the share of them that is clipped.
fn score(method: &str, structure: LearnerName, train: &Dataset, test: &Dataset) -> Result<(f64, f64)> {
    let learned = learning(method, structure)?.run(Source::Rows(train), &Silent)?;
    let mut source = test.source();
    Ok(match &learned.file {
        ModelFile::Spectral(model) => {
            let score = Evaluator::new(model).score(&mut source, &Silent, |_, _| Ok(()))?;
            (score.mean_log_likelihood(), score.clipped_rows as f64 / score.rows as f64)
        }
        ModelFile::LatentTree(model) => {
            (Inference::new(model).score(&mut source, &Silent, |_, _| Ok(()))?.mean_log_likelihood(), 0.0)
        }
        _ => return Err(Error::option("--methods", "a tree has no probabilities")),
    })
}

pub(crate) fn run(args: &RankArgs, data: &Path) -> Result<Results> {
    let mut header = vec!["table", "rows"];
    header.extend(args.methods.iter().map(String::as_str));
    let title = "Spectral models of few rows: held-out log-likelihood a row above that of independent columns (share clipped)";
    let mut results = Results::new(title, &header);
    let mut tables: Vec<(String, LearnerName, Vec<Dataset>)> = Vec::new();
    let most = args.rows.iter().copied().max().unwrap_or(0);
    for separation in [0.2, 0.5, 0.8] {
        let name = format!("hmm 60 × 4, separation {separation}");
        if name.contains(&args.only) {
            let family = ParameterFamily::Categorical { states: 4, hidden_states: 3, separation };
            let rows = (args.seed..args.seed + args.models).map(|seed| {
                let truth = Simulation::new(Shape::Hmm, 60).family(family).seed(seed).model()?;
                Inference::new(&truth).sample(most + TEST_ROWS, 1000 + seed)
            });
            tables.push((name, LearnerName::Chain, rows.collect::<Result<_>>()?));
        }
    }
    for (name, structure) in SETS.into_iter().filter(|it| it.0.contains(&args.only)) {
        let file = data.join("debd").join(name).join(format!("{name}.train.csv.gz"));
        let mut source = open(&file, &ReadOptions::default().header(false))?;
        tables.push((name.to_owned(), structure, vec![Dataset::read(&mut source)?]));
    }
    for (name, structure, tables) in &tables {
        for &n_rows in &args.rows {
            let mut cells = vec![name.clone(), n_rows.to_string()];
            for method in &args.methods {
                let (mut gain, mut clipped, mut n) = (0.0, 0.0, 0.0);
                for rows in tables {
                    let train = rows.rows_where(|row| row < n_rows);
                    let test = rows.rows_where(|row| (n_rows..n_rows + TEST_ROWS).contains(&row));
                    if test.n_rows() < 500 {
                        continue;
                    }
                    let (value, share) = score(method, *structure, &train, &test)?;
                    gain += value - independent(&train, &test);
                    clipped += share;
                    n += 1.0;
                }
                cells.push(format!("{:.3} ({:.3})", gain / n, clipped / n));
            }
            crate::note(&cells.join(" | "));
            results.row(cells);
        }
    }
    Ok(results)
}
