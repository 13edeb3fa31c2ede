//! What `infer`, `score` and `export` do with models that are no trees of variables: topics and hierarchies.

use std::path::Path;
use std::sync::Arc;

use latentree::data::{BatchSource, ReadOptions, Reader, Value, WeightScale};
use latentree::format::{Format, OtherModel};
use latentree::inference::Score;
use latentree::{Error, Observer, Result, counted};
use serde_json::json;

use super::files::Files;
use super::row_table::{RowTable, carrying, check_keep};
use super::{is_stream, note_unseen, open_with_hint, rollup_hint, weight_kind};
use crate::Failure;
use crate::args::{ExportArgs, InferArgs, ScoreArgs};
use crate::printer::{Printer, in_full, number};

/// `infer`: shares of topics, or the cluster of every row.
pub(super) fn infer(model: &OtherModel, args: &InferArgs, seed: u64, printer: &Printer) -> Result<(), Failure> {
    if args.impute || !args.of.is_empty() {
        let option = if args.impute { "--impute" } else { "--of" };
        return Err(Error::option(option, "only a model of variables can do this; leave it out").into());
    }
    Files::new()
        .input("MODEL", &args.model.model)
        .data("DATA", &args.data)
        .reading(&args.reading)
        .output("-o", &args.output)
        .check()?;
    let mut reader = open(model, args, printer)?;
    let results: Vec<String> = match model {
        OtherModel::Topics(topics) if !args.map => (0..topics.n_topics()).map(|topic| format!("topic={topic}")).collect(),
        OtherModel::Topics(_) => vec!["topic".to_owned()],
        OtherModel::Clusters(_) => vec!["cluster".to_owned()],
        _ => unreachable!("all kinds of models are known"),
    };
    let mut table = RowTable::create(&args.output, &reader, &args.reading, &results)?;
    let columns: Vec<String> = table.kept(&reader).iter().chain(&results).cloned().collect();
    printer.stage("infer", reader.n_rows_hint());
    let mut rows = 0;
    while let Some(batch) = reader.next_batch()? {
        if printer.cancelled() {
            return Err(Error::Cancelled.into());
        }
        match model {
            OtherModel::Topics(topics) => {
                model.check_complete(&batch)?;
                let shares = topics.shares(&batch, seed);
                for (row, shares) in shares.chunks_exact(topics.n_topics()).enumerate() {
                    let best = (0..shares.len()).fold(0, |best, at| if shares[at] > shares[best] { at } else { best });
                    let label = Value::Integer(best as u64);
                    let values: Vec<Value<'_>> =
                        if args.map { vec![label] } else { shares.iter().map(|&share| Value::Number(share)).collect() };
                    table.write(row, rows + row as u64, reader.carried(), values.into_iter())?;
                }
            }
            OtherModel::Clusters(clusters) => {
                model.check_complete(&batch)?;
                for (row, leaf) in clusters.assign(&batch).into_iter().enumerate() {
                    let name = Value::Text(&clusters.nodes()[leaf].name);
                    table.write(row, rows + row as u64, reader.carried(), std::iter::once(name))?;
                }
            }
            _ => unreachable!("all kinds of models are known"),
        }
        rows += batch.n_rows as u64;
        printer.progress(rows);
    }
    table.finish()?;
    let unseen = note_unseen(&reader, printer);
    if is_stream(&args.output) {
        return Ok(());
    }
    let json = json!({"rows": rows, "columns": columns, "impossible_rows": 0, "unseen": unseen, "warnings": []});
    printer.result(&json, |out| {
        let columns = counted(columns.len() + 1, "column");
        writeln!(out, "{} of {columns} written to {}", counted(rows, "row"), args.output.display())
    })?;
    Ok(())
}

/// Opens data for a model, and notes how they are read.
fn open_for(model: &OtherModel, path: &Path, options: &ReadOptions, printer: &Printer) -> Result<Reader> {
    let provenance = match model {
        OtherModel::Topics(model) => model.provenance(),
        OtherModel::Clusters(model) => model.provenance(),
        _ => unreachable!("all kinds of models are known"),
    };
    let reader = open_with_hint(path, options, rollup_hint(provenance, options), printer)?;
    reader.warnings().iter().for_each(|warning| printer.note(warning));
    Ok(reader)
}

/// Opens data with the model's columns.
fn open(model: &OtherModel, args: &InferArgs, printer: &Printer) -> Result<Reader> {
    let options = carrying(&args.reading, args.keep, false)?.schema(Arc::clone(model.schema()));
    let reader = open_for(model, &args.data, &options, printer)?;
    check_keep(args.keep, &reader)?;
    check_columns(&reader)?;
    Ok(reader)
}

/// Fails if a column of the model is not there: nothing is summed out here.
pub(super) fn check_columns(reader: &Reader) -> Result<()> {
    match reader.absent_columns().first() {
        None => Ok(()),
        Some(&column) => {
            let problem = format!(
                "column {:?} of the model is not there; topics and hierarchies need all columns",
                reader.schema().column(column).name
            );
            Err(Error::Mismatch { left: "the model".to_owned(), right: "the data".to_owned(), problem })
        }
    }
}

/// `score` of topics: a bound of the log-likelihood of the words of documents, given their number.
pub(super) fn score(model: &OtherModel, args: &ScoreArgs, printer: &Printer) -> Result<(), Failure> {
    let OtherModel::Topics(topics) = model else {
        return Err(Error::query(
            "a hierarchy of clusters is no distribution, so rows have no likelihood; use infer to assign them",
        )
        .into());
    };
    Files::new()
        .input("MODEL", &args.model.model)
        .data("DATA", &args.data)
        .reading(&args.reading)
        .output_if("--per-row", args.per_row.as_deref())
        .check()?;
    let options = carrying(&args.reading, args.keep, false)?.schema(Arc::clone(model.schema()));
    let mut reader = open_for(model, &args.data, &options, printer)?;
    check_keep(args.keep, &reader)?;
    check_columns(&reader)?;
    let scale = WeightScale::of(&mut reader, weight_kind(&args.reading)?).map_err(|error| error.in_file(&args.data))?;
    let result = ["log_likelihood".to_owned()];
    let mut per_row = args.per_row.as_ref().map(|path| RowTable::create(path, &reader, &args.reading, &result)).transpose()?;
    let mut score = Score::new(topics.n_free_parameters());
    printer.stage("score", reader.n_rows_hint());
    while let Some(batch) = reader.next_batch()? {
        if printer.cancelled() {
            return Err(Error::Cancelled.into());
        }
        model.check_complete(&batch)?;
        let batch = scale.apply(batch);
        let values = topics.bound(&batch);
        if let Some(table) = &mut per_row {
            for (row, &value) in values.iter().enumerate() {
                table.write(row, batch.first_row + row as u64, reader.carried(), std::iter::once(Value::Number(value)))?;
            }
        }
        score.add(&batch, &values);
        printer.progress(score.rows);
    }
    if let Some(table) = per_row {
        table.finish()?;
    }
    let unseen = note_unseen(&reader, printer);
    let finite = |value: f64| value.is_finite().then_some(value);
    let json = json!({
        "rows": score.rows,
        "log_likelihood": finite(score.log_likelihood),
        "mean_log_likelihood": finite(score.mean_log_likelihood()),
        "bic": finite(score.bic()),
        "free_parameters": score.free_parameters,
        "weight": score.weight,
        "impossible_rows": score.impossible_rows,
        "is_bound": true,
        "unseen": unseen,
    });
    printer.result(&json, |out| {
        writeln!(out, "rows                       {}", score.rows)?;
        writeln!(out, "log-likelihood, at least   {}", in_full(score.log_likelihood))?;
        writeln!(out, "  per row                  {}", number(score.mean_log_likelihood()))?;
        writeln!(out, "free parameters            {}", score.free_parameters)?;
        writeln!(out, "BIC (larger better)        {}", in_full(score.bic()))
    })?;
    Ok(())
}

/// `export` of a hierarchy; topics are no graph.
pub(super) fn export_model(model: &OtherModel, args: &ExportArgs, format: Format, printer: &Printer) -> Result<(), Failure> {
    let text = model.render(format)?;
    latentree::file::write_atomically(&args.output, |out| {
        out.write_all(text.as_bytes()).map_err(Error::io("write", &args.output))
    })?;
    let n_nodes = match model {
        OtherModel::Clusters(clusters) => clusters.nodes().len(),
        _ => 0,
    };
    if !is_stream(&args.output) {
        let json = json!({"format": format.name(), "nodes": n_nodes});
        printer.result(&json, |out| writeln!(out, "{} written to {}", format.name(), args.output.display()))?;
    }
    Ok(())
}
