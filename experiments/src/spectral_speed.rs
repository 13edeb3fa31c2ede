//! Seconds of spectral learning and scoring beside EM. `experiments/spectral/peers.py` has those of numpy and hmmlearn.
//!
//! All seconds are of the processor, medians of five rounds in which the methods take turns. Run it with `RAYON_NUM_THREADS=1`.

use std::path::PathBuf;

use clap::Args;
use latentree::data::Dataset;
use latentree::format::ModelFile;
use latentree::inference::Inference;
use latentree::learn::Source;
use latentree::spectral::Evaluator;
use latentree::{ColIx, Error, Result, Silent};

use crate::record::Results;
use crate::spectral_error::{Setting, cpu_seconds, learning};

const ROUNDS: usize = 5;

/// Rows, and where other programs find them.
#[derive(Debug, Clone, Args)]
pub(crate) struct SpeedArgs {
    /// Training and test rows
    #[arg(long, default_value_t = 100_000)]
    rows: u64,
    /// Rows of the chain of 20 positions that is learned
    #[arg(long, default_value_t = 5000)]
    chain_rows: u64,
    /// Write the chain's rows and models to this folder, for peers.py
    #[arg(long, value_name = "FOLDER")]
    write: Option<PathBuf>,
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// CPU seconds of a call, the mean of so many calls that the clock's ticks do not matter.
fn seconds(mut call: impl FnMut() -> Result<()>) -> Result<f64> {
    let (begun, mut n) = (cpu_seconds(), 0.0);
    loop {
        call()?;
        n += 1.0;
        let taken = cpu_seconds() - begun;
        if taken > 0.3 {
            return Ok(taken / n);
        }
    }
}

fn learned(method: &str, setting: &Setting, rows: &Dataset, tree: &latentree::tree::Tree) -> Result<ModelFile> {
    Ok(learning(method, tree, setting.learned())?.run(Source::Rows(rows), &Silent)?.file)
}

/// The codes of rows, a line each.
fn write_codes(path: &std::path::Path, rows: &Dataset) -> Result<()> {
    let n = rows.schema().columns().len();
    let mut text = String::new();
    for batch in rows.batches() {
        for row in 0..batch.n_rows {
            let cells: Vec<String> = (0..n).map(|column| format!("{}", batch.number(row, ColIx::new(column)))).collect();
            text.push_str(&cells.join(","));
            text.push('\n');
        }
    }
    std::fs::write(path, text).map_err(Error::io("write", path))
}

pub(crate) fn run(args: &SpeedArgs) -> Result<Results> {
    if let Some(folder) = &args.write {
        std::fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
    }
    let mut results = Results::new(format!("Seconds, {} rows", args.rows), &["what", "CPU s", "ratio to the first of its group"]);
    let groups: [(&str, u64, &[&str]); 5] = [
        ("deep4/6/2/2", args.rows, &["stacked", "em+"]),
        ("deep4/6/2/2", args.rows, &["hierarchical", "em1e-4"]),
        ("chain20/4/3/2", args.rows, &["hierarchical", "em1e-4"]),
        ("chain20/8/5/3", args.rows, &["hierarchical", "em1e-4"]),
        ("chain20/4/2/2", args.chain_rows, &["stacked"]),
    ];
    for (name, n_rows, methods) in groups {
        let setting = Setting::new(name)?;
        let truth = setting.model(0)?;
        let rows = Inference::new(&truth).sample(n_rows, 1000)?;
        let mut found = vec![Vec::new(); methods.len()];
        for _ in 0..ROUNDS {
            for (method, found) in methods.iter().zip(&mut found) {
                found.push(seconds(|| learned(method, &setting, &rows, truth.tree()).map(drop))?);
            }
        }
        let found: Vec<f64> = found.into_iter().map(median).collect();
        for (method, value) in methods.iter().zip(&found) {
            let what = format!("{name}, {n_rows} rows, learn: {method}");
            crate::note(&format!("{what} {value:.4}"));
            results.row([what, format!("{value:.4}"), format!("{:.1}", value / found[0])]);
        }
        if let (Some(folder), true) = (&args.write, n_rows == args.chain_rows) {
            write_codes(&folder.join("chain.csv"), &rows)?;
        }
    }
    for name in ["chain20/6/2/2", "chain20/6/4/4"] {
        let setting = Setting::new(name)?;
        let truth = setting.model(0)?;
        let rows = Inference::new(&truth).sample(args.rows, 1000)?;
        let file = learned("stacked", &setting, &rows, truth.tree())?;
        let ModelFile::Spectral(model) = &file else { return Err(Error::option("--trees", "the model is not spectral")) };
        let evaluator = Evaluator::new(model);
        let score = || seconds(|| rows.batches().iter().try_for_each(|batch| evaluator.log_likelihood(batch).map(drop)));
        let value = median((0..ROUNDS).map(|_| score()).collect::<Result<_>>()?);
        let what = format!("{name}, {} rows, score", args.rows);
        crate::note(&format!("{what} {value:.4}"));
        results.row([what, format!("{value:.4}"), format!("{:.1} ns a cell", value * 1e9 / (20 * args.rows) as f64)]);
        if let Some(folder) = &args.write {
            let base = name.replace('/', "-");
            write_codes(&folder.join(format!("{base}.csv")), &rows)?;
            file.write(folder.join(format!("{base}.json")))?;
        }
    }
    Ok(results)
}
