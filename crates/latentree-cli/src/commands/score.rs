//! `score MODEL DATA`: log-likelihood of data under a model.

use latentree::data::{BatchSource, Value, WeightScale};
use latentree::format::{ModelFile, OtherModel};
use latentree::inference::{Inference, Score, ln_lengths};
use latentree::{Error, Observer, Result};
use serde_json::json;

use super::files::Files;
use super::row_table::{RowTable, carrying, check_keep, note_id};
use super::{note_unseen, open_file_and_data_with, weight_kind};
use crate::Failure;
use crate::args::ScoreArgs;
use crate::printer::{Printer, in_full, number};

pub(crate) fn run(args: &ScoreArgs, printer: &Printer) -> Result<(), Failure> {
    if let Some(other) = OtherModel::read(&args.model.model)? {
        return super::other_models::score(&other, args, printer);
    }
    Files::new()
        .input("MODEL", &args.model.model)
        .data("DATA", &args.data)
        .reading(&args.reading)
        .output_if("--per-row", args.per_row.as_deref())
        .check()?;
    let options = carrying(&args.reading, args.keep, false)?;
    let (file, mut reader) = open_file_and_data_with(&args.model, &args.data, options, printer)?;
    check_keep(args.keep, &reader)?;
    let model = match file {
        ModelFile::Spectral(model) => return super::spectral::score(args, &model, reader, printer),
        other => other.into_latent_tree()?,
    };
    note_id(&args.reading, &model, printer);
    let inference = Inference::new(&model);
    let scale = WeightScale::of(&mut reader, weight_kind(&args.reading)?).map_err(|error| error.in_file(&args.data))?;
    let result = ["log_likelihood".to_owned()];
    let per_row = args.per_row.as_ref().map(|path| RowTable::create(path, &reader, &args.reading, &result));
    let mut per_row = per_row.transpose()?;
    let mut first_impossible = None;
    let mut score = Score::new(model.n_free_parameters());
    // Of documents, also the likelihood given their lengths.
    let is_topics = model.provenance().options.get("family").is_some_and(|family| family == "single-topic");
    let mut lengths = is_topics.then_some(0.0);
    printer.stage("score", reader.n_rows_hint());
    while let Some(batch) = reader.next_batch()? {
        if printer.cancelled() {
            return Err(Error::Cancelled.into());
        }
        let batch = scale.apply(batch);
        let values = inference.log_likelihood(&batch)?;
        if first_impossible.is_none() {
            first_impossible =
                values.iter().position(|&value| value == f64::NEG_INFINITY).map(|row| batch.first_row + row as u64 + 1);
        }
        if let Some(table) = &mut per_row {
            for (row, &value) in values.iter().enumerate() {
                let number = batch.first_row + row as u64;
                table.write(row, number, reader.carried(), std::iter::once(Value::Number(value)))?;
            }
        }
        let own = lengths.and_then(|sum| Some((sum, ln_lengths(&model, &batch)?)));
        lengths = own.map(|(sum, own)| sum + own.iter().enumerate().map(|(row, ln)| batch.weight(row) * ln).sum::<f64>());
        score.add(&batch, &values);
        printer.progress(score.rows);
    }
    if let Some(table) = per_row {
        table.finish()?;
    }
    let unseen = note_unseen(&reader, printer);
    if let Some(row) = first_impossible {
        printer.note(&match score.impossible_rows {
            1 => format!("1 row has probability zero under the model: row {row}"),
            n => format!("{n} rows have probability zero under the model, the first is row {row}"),
        });
    }
    let mut json = json!({
        "rows": score.rows,
        "log_likelihood": finite(score.log_likelihood),
        "mean_log_likelihood": finite(score.mean_log_likelihood()),
        "bic": finite(score.bic()),
        "free_parameters": score.free_parameters,
        "weight": score.weight,
        "impossible_rows": score.impossible_rows,
        "unseen": unseen,
    });
    let given_lengths = lengths.map(|lengths| score.log_likelihood - lengths);
    if let Some(given) = given_lengths {
        json["log_likelihood_given_lengths"] = finite(given).into();
    }
    printer.result(&json, |out| {
        let is_weighted = score.weight != score.rows as f64;
        writeln!(out, "rows                 {}", score.rows)?;
        if is_weighted {
            writeln!(out, "weight (n of BIC)    {}", number(score.weight))?;
        }
        writeln!(out, "log-likelihood       {}", in_full(score.log_likelihood))?;
        if let Some(given) = given_lengths {
            writeln!(out, "  given lengths      {}", number(given))?;
        }
        let unit = if is_weighted { "  per unit of weight" } else { "  per row           " };
        writeln!(out, "{unit} {}", number(score.mean_log_likelihood()))?;
        writeln!(out, "free parameters      {}", score.free_parameters)?;
        writeln!(out, "BIC (larger better)  {}", in_full(score.bic()))
    })?;
    Ok(())
}

/// JSON has no infinities: −∞ is null.
pub(super) fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}
