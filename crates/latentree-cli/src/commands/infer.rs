//! `infer MODEL DATA -o OUT`: posteriors, most probable states or filled cells of every row.

use std::collections::HashSet;

use latentree::data::{BatchSource, FileColumn, Schema, TableWriter, Value};
use latentree::format::{ModelFile, OtherModel};
use latentree::inference::Inference;
use latentree::model::LatentTree;
use latentree::{Error, NodeIx, Observer, Result, counted};
use serde_json::json;

use super::files::Files;
use super::row_table::{RowTable, carrying, check_keep, note_id};
use super::{asked, note_unseen, open_file_and_data_with};
use crate::Failure;
use crate::args::InferArgs;
use crate::printer::Printer;

pub(crate) fn run(args: &InferArgs, seed: u64, printer: &Printer) -> Result<(), Failure> {
    if let Some(other) = OtherModel::read(&args.model.model)? {
        return super::other_models::infer(&other, args, seed, printer);
    }
    Files::new()
        .input("MODEL", &args.model.model)
        .data("DATA", &args.data)
        .reading(&args.reading)
        .output("-o", &args.output)
        .check()?;
    let options = carrying(&args.reading, args.keep, args.impute)?;
    let (file, mut reader) = open_file_and_data_with(&args.model, &args.data, options, printer)?;
    check_keep(args.keep, &reader)?;
    let model = match file {
        ModelFile::Spectral(model) => return super::spectral::impute(args, &model, reader, printer),
        other => other.into_latent_tree()?,
    };
    note_id(&args.reading, &model, printer);
    let inference = Inference::new(&model);
    let nodes: Vec<NodeIx> = if args.of.is_empty() { model.hidden().collect() } else { asked(&model, &args.of)? };
    if nodes.is_empty() && !args.impute {
        return Err(Error::query("the model has no hidden nodes; use --of to ask for observed ones, or --impute").into());
    }
    printer.stage("infer", reader.n_rows_hint());
    let mut rows = 0;
    let mut impossible = 0_usize;
    let columns: Vec<String>;
    if args.impute {
        let layout = reader.file_columns();
        let carried = reader.carried().names().to_vec();
        columns = layout.iter().map(|column| column_name(*column, model.schema(), &carried)).collect();
        let mut writer = TableWriter::create_like(&args.output, model.schema(), &layout, &carried)?;
        while let Some(batch) = next(&mut reader, printer)? {
            writer.write_batch_with(&inference.impute(&batch)?, reader.carried())?;
            rows += batch.n_rows as u64;
            printer.progress(rows);
        }
        writer.finish()?;
    } else {
        let results = if args.map { names(&model, &nodes) } else { posterior_columns(&model, &nodes) };
        let mut table = RowTable::create(&args.output, &reader, &args.reading, &results)?;
        columns = table.kept(&reader).iter().chain(&results).cloned().collect();
        while let Some(batch) = next(&mut reader, printer)? {
            let carried = reader.carried();
            if args.map {
                let best = inference.most_probable(&batch)?;
                impossible += best.log_probability().iter().filter(|&&value| value == f64::NEG_INFINITY).count();
                for row in 0..batch.n_rows {
                    let values = nodes.iter().map(|&node| state(&model, node, best.get(row, node)));
                    table.write(row, rows + row as u64, carried, values)?;
                }
            } else {
                let posterior = inference.posterior(&batch, &nodes)?;
                impossible += posterior.log_likelihood().iter().filter(|&&value| value == f64::NEG_INFINITY).count();
                for row in 0..batch.n_rows {
                    let values = posterior.row(row).iter().map(|&value| Value::Number(value));
                    table.write(row, rows + row as u64, carried, values)?;
                }
            }
            rows += batch.n_rows as u64;
            printer.progress(rows);
        }
        table.finish()?;
    }
    let absent: HashSet<&str> =
        reader.absent_columns().iter().map(|&column| model.schema().column(column).name.as_str()).collect();
    let warning = model.provenance().warning_of_poor_pairs(|column| !absent.contains(column));
    warning.iter().for_each(|warning| printer.note(warning));
    let warnings: Vec<String> = warning.into_iter().collect();
    let unseen = note_unseen(&reader, printer);
    if impossible > 0 {
        let have = if impossible == 1 { "1 row has".to_owned() } else { format!("{impossible} rows have") };
        printer.note(&format!("{have} probability zero under the model; the fields are empty"));
    }
    if args.output.as_os_str() == "-" {
        return Ok(());
    }
    let json = json!({"rows": rows, "columns": columns, "impossible_rows": impossible, "unseen": unseen, "warnings": warnings});
    // The first column is the number or id of the row.
    let n_columns = columns.len() + usize::from(!args.impute);
    printer.result(&json, |out| {
        writeln!(out, "{} of {} written to {}", counted(rows, "row"), counted(n_columns, "column"), args.output.display())
    })?;
    Ok(())
}

fn next(reader: &mut dyn BatchSource, printer: &Printer) -> Result<Option<std::sync::Arc<latentree::data::Batch>>> {
    if printer.cancelled() {
        return Err(Error::Cancelled);
    }
    reader.next_batch()
}

pub(super) fn column_name(column: FileColumn, schema: &Schema, carried: &[String]) -> String {
    match column {
        FileColumn::Variable(column) | FileColumn::Both(column, _) => schema.column(column).name.clone(),
        FileColumn::Carried(column) => carried[column].clone(),
        _ => unreachable!("columns are variables or carried"),
    }
}

fn names(model: &LatentTree, nodes: &[NodeIx]) -> Vec<String> {
    nodes.iter().map(|&node| model.tree().name(node).to_owned()).collect()
}

/// One column per state, `h1=0`, or mean and variance.
fn posterior_columns(model: &LatentTree, nodes: &[NodeIx]) -> Vec<String> {
    let columns = nodes.iter().flat_map(|&node| {
        let name = model.tree().name(node);
        match model.domain(node).labels() {
            Some(labels) => labels.iter().map(|label| format!("{name}={label}")).collect(),
            None => vec![format!("{name}.mean"), format!("{name}.variance")],
        }
    });
    columns.collect()
}

fn state(model: &LatentTree, node: NodeIx, value: f64) -> Value<'_> {
    match model.domain(node).labels() {
        _ if value.is_nan() => Value::Missing,
        Some(labels) => Value::Text(&labels[value as usize]),
        None => Value::Number(value),
    }
}
