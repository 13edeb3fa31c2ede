//! Daily moves of 56 stocks, up or not: one stock of Q from the others. The paper (Song et al. 2013) has 59 stocks and 6,300
//! days.
//!
//! 500 random days are for tests. For each Q, random sets of stocks; each set's tree is learned from the other days, and each
//! of its stocks in turn is predicted from the rest by its conditional distribution. The error is the share of wrong moves.

use std::path::Path;
use std::sync::Arc;

use clap::Args;
use latentree::data::{ColumnData, Dataset, Kind, MISSING_CODE8, Schema};
use latentree::format::ModelFile;
use latentree::inference::Inference;
use latentree::learn::{Learning, ParameterMethod, Source};
use latentree::spectral::Evaluator;
use latentree::structure::LearnerName;
use latentree::{ColIx, Error, Result, Silent};
use rand::SeedableRng as _;
use rand::seq::SliceRandom as _;
use rand_chacha::ChaCha8Rng;

use crate::record::Results;

/// Sizes of the sets and numbers of repetitions.
#[derive(Debug, Clone, Args)]
pub(crate) struct StocksArgs {
    /// Numbers of stocks in a set
    #[arg(long, value_delimiter = ',', default_value = "2,5,10,20,30,40,56")]
    sizes: Vec<usize>,
    /// Random sets of each size
    #[arg(long, default_value_t = 50)]
    sets: usize,
    /// Random splits of the days
    #[arg(long, default_value_t = 5)]
    splits: u64,
    /// Methods
    #[arg(long, value_delimiter = ',', default_value = "chow-liu,em,spectral,hierarchical")]
    methods: Vec<String>,
}

const TEST_DAYS: usize = 500;

/// Moves of every stock: 1 where the close is above that of the day before.
fn moves(data: &Path) -> Result<(Vec<String>, Vec<Vec<u8>>)> {
    let path = data.join("stocks").join("sklearn_56_daily_close.csv.gz");
    let mut reader = csv::Reader::from_reader(latentree::file::open(&path)?);
    let bad = |error: csv::Error| Error::option("--data", format!("{}: {error}", path.display()));
    let names: Vec<String> = reader.headers().map_err(bad)?.iter().skip(1).map(str::to_owned).collect();
    let mut closes: Vec<Vec<f64>> = Vec::new();
    for record in reader.records() {
        closes.push(record.map_err(bad)?.iter().skip(1).map(|cell| cell.parse().unwrap_or(f64::NAN)).collect());
    }
    let stock = |ix: usize| closes.windows(2).map(|days| u8::from(days[1][ix] > days[0][ix])).collect();
    Ok(((0..names.len()).map(|ix| names[ix].clone()).collect(), (0..names.len()).map(stock).collect()))
}

fn dataset(names: &[String], moves: &[Vec<u8>], stocks: &[usize], days: &[usize], hidden: Option<usize>) -> Result<Dataset> {
    let mut schema = Schema::builder();
    let mut columns = Vec::new();
    for &stock in stocks {
        schema = schema.scalar(&names[stock], Kind::binary());
        let code = |&day: &usize| if hidden == Some(stock) { MISSING_CODE8 } else { moves[stock][day] };
        columns.push(ColumnData::Codes8(days.iter().map(code).collect()));
    }
    Dataset::from_columns(Arc::new(schema.build()?), columns, None)
}

fn learning(method: &str) -> Result<Learning> {
    Ok(match method {
        "chow-liu" => Learning::new().structure(LearnerName::ChowLiu).parameters(ParameterMethod::Moments),
        "em" => Learning::new().structure(LearnerName::ChowLiuNeighborJoining).parameters(ParameterMethod::MomentsAndEm),
        "spectral" => Learning::new()
            .structure(LearnerName::ChowLiuNeighborJoining)
            .parameters(ParameterMethod::Spectral)
            .hidden_states_auto(),
        "hierarchical" => Learning::new()
            .structure(LearnerName::ChowLiuNeighborJoining)
            .parameters(ParameterMethod::Hierarchical)
            .hidden_states_auto(),
        other => return Err(Error::option("--methods", format!("{other:?} is not a method"))),
    })
}

pub(crate) fn run(args: &StocksArgs, data: &Path) -> Result<Results> {
    let (names, moves) = moves(data)?;
    let n_days = moves[0].len();
    let title = format!(
        "{} stocks, {n_days} daily moves, {TEST_DAYS} test days: error of one of Q from the others, {} sets, {} splits (deviation over splits)",
        names.len(),
        args.sets,
        args.splits
    );
    let mut header = vec!["Q"];
    header.extend(args.methods.iter().map(String::as_str));
    let mut results = Results::new(title, &header);
    for &size in &args.sizes {
        let mut errors = vec![Vec::new(); args.methods.len()];
        for split in 0..args.splits {
            let mut random = ChaCha8Rng::seed_from_u64(split);
            let mut days: Vec<usize> = (0..n_days).collect();
            days.shuffle(&mut random);
            let (test, train) = days.split_at(TEST_DAYS);
            let n_sets = if size >= names.len() { 1 } else { args.sets };
            let mut wrong = vec![0.0; args.methods.len()];
            let mut asked = 0.0;
            for _ in 0..n_sets {
                let mut stocks: Vec<usize> = (0..names.len()).collect();
                stocks.shuffle(&mut random);
                stocks.truncate(size);
                let rows = dataset(&names, &moves, &stocks, train, None)?;
                // One stock of a small set, all of the whole set: as many questions for each size.
                let targets = if n_sets == 1 { stocks.clone() } else { vec![stocks[0]] };
                for (method, wrong) in args.methods.iter().zip(&mut wrong) {
                    let learned = learning(method)?.run(Source::Rows(&rows), &Silent)?;
                    for &target in &targets {
                        let asked = dataset(&names, &moves, &stocks, test, Some(target))?;
                        let column = ColIx::new(stocks.iter().position(|&it| it == target).unwrap_or(0));
                        let batch = &asked.batches()[0];
                        let filled = match &learned.file {
                            ModelFile::Spectral(model) => Evaluator::new(model).impute(batch)?.batch,
                            ModelFile::LatentTree(model) => Inference::new(model).impute(batch)?,
                            _ => return Err(Error::option("--data", "no model was learned")),
                        };
                        let is_wrong = |(row, &day): (usize, &usize)| filled.number(row, column) as u8 != moves[target][day];
                        *wrong += test.iter().enumerate().filter(|&it| is_wrong(it)).count() as f64;
                    }
                }
                asked += (targets.len() * TEST_DAYS) as f64;
            }
            errors.iter_mut().zip(&wrong).for_each(|(errors, wrong)| errors.push(wrong / asked));
        }
        let cell = |errors: &Vec<f64>| {
            let n = errors.len() as f64;
            let mean = errors.iter().sum::<f64>() / n;
            let spread = (errors.iter().map(|it| (it - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0)).sqrt();
            format!("{mean:.4} ({spread:.4})")
        };
        let cells: Vec<String> = std::iter::once(size.to_string()).chain(errors.iter().map(cell)).collect();
        crate::note(&cells.join(" | "));
        results.row(cells);
    }
    Ok(results)
}
