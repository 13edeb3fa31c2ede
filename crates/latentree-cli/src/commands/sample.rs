//! `sample MODEL --rows N -o OUT`: draws rows from a model.

use std::path::Path;

use latentree::data::{BatchSource, TableWriter};
use latentree::inference::{Inference, Sampler};
use latentree::model::LatentTree;
use latentree::{Error, Observer, Result, counted};
use serde_json::json;

use super::files::Files;
use super::{evidence, open_model};
use crate::Failure;
use crate::args::SampleArgs;
use crate::printer::Printer;

pub(crate) fn run(args: &SampleArgs, seed: u64, printer: &Printer) -> Result<(), Failure> {
    Files::new().input("MODEL", &args.model).output("-o", &args.output).check()?;
    let model = open_model(&args.model, &args.hidden_nodes, None)?;
    let evidence = evidence(&model, &args.given)?;
    let inference = Inference::new(&model);
    let sampler = inference.sampler(args.rows, seed).missing(fraction("--missing", args.missing)?);
    let mut sampler = sampler.given(evidence)?;
    if args.hidden {
        sampler = sampler.with_hidden()?;
    }
    write(&mut sampler, &args.output, printer)?;
    if args.output.as_os_str() == "-" {
        return Ok(());
    }
    let json = json!({"rows": args.rows, "columns": sampler.schema().columns().len(), "seed": seed});
    printer.result(&json, |out| writeln!(out, "{} written to {}", counted(args.rows, "row"), args.output.display()))?;
    Ok(())
}

/// Checks a share.
pub(crate) fn fraction(option: &str, value: f64) -> Result<f64> {
    if (0.0..=1.0).contains(&value) {
        Ok(value)
    } else {
        Err(Error::option(option, format!("{value} is not a fraction between 0 and 1")))
    }
}

/// Writes all rows of a sampler.
pub(crate) fn write(sampler: &mut Sampler<'_>, path: &Path, printer: &Printer) -> Result<()> {
    printer.stage("sample", sampler.n_rows_hint());
    let mut writer = TableWriter::create(path, sampler.schema(), None)?;
    let mut done = 0;
    while let Some(batch) = sampler.next_batch()? {
        if printer.cancelled() {
            return Err(Error::Cancelled);
        }
        writer.write_batch(&batch)?;
        done += batch.n_rows as u64;
        printer.progress(done);
    }
    writer.finish()
}

/// Draws rows of a model into a file.
pub(crate) fn draw(
    model: &LatentTree,
    rows: u64,
    seed: u64,
    missing: f64,
    hidden: bool,
    path: &Path,
    printer: &Printer,
) -> Result<()> {
    let inference = Inference::new(model);
    let mut sampler = inference.sampler(rows, seed).missing(missing);
    if hidden {
        sampler = sampler.with_hidden()?;
    }
    write(&mut sampler, path, printer)
}
