//! `score MODEL DATA`: log-likelihood of data under a model.

use latentree::Result;
use latentree::data::{ResultWriter, Value};
use latentree::inference::Inference;
use serde_json::json;

use super::{note_unseen, open_model_and_data};
use crate::Failure;
use crate::args::ScoreArgs;
use crate::printer::{Printer, number};

pub(crate) fn run(args: &ScoreArgs, printer: &Printer) -> Result<(), Failure> {
    let (model, mut reader) = open_model_and_data(&args.model, &args.data, &args.reading, printer)?;
    let inference = Inference::new(&model);
    let mut per_row = args.per_row.as_ref().map(|path| ResultWriter::create(path, &["row", "log_likelihood"])).transpose()?;
    let mut first_impossible = None;
    let score = inference.score(&mut reader, printer, |batch, values| {
        if first_impossible.is_none() {
            first_impossible =
                values.iter().position(|&value| value == f64::NEG_INFINITY).map(|row| batch.first_row + row as u64 + 1);
        }
        if let Some(table) = &mut per_row {
            for (row, value) in values.iter().enumerate() {
                table.write_row(&[Value::Integer(batch.first_row + row as u64 + 1), Value::Number(*value)])?;
            }
        }
        Ok(())
    })?;
    if let Some(table) = per_row {
        table.finish()?;
    }
    let unseen = note_unseen(&reader, printer);
    if let Some(row) = first_impossible {
        printer.note(&format!("{} rows have probability zero under the model, the first is row {row}", score.impossible_rows));
    }
    let json = json!({
        "rows": score.rows,
        "log_likelihood": finite(score.log_likelihood),
        "mean_log_likelihood": finite(score.mean_log_likelihood()),
        "bic": finite(score.bic()),
        "free_parameters": score.free_parameters,
        "weight": score.weight,
        "impossible_rows": score.impossible_rows,
        "unseen": unseen,
    });
    printer.result(&json, |out| {
        writeln!(out, "rows                 {}", score.rows)?;
        writeln!(out, "log-likelihood       {}", number(score.log_likelihood))?;
        writeln!(out, "  per row            {}", number(score.mean_log_likelihood()))?;
        writeln!(out, "free parameters      {}", score.free_parameters)?;
        writeln!(out, "BIC (larger better)  {}", number(score.bic()))
    })?;
    Ok(())
}

/// JSON has no infinities: −∞ is null.
fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}
