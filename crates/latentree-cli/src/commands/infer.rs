//! `infer MODEL DATA -o OUT`: what the model says about every row.

use latentree::data::{BatchSource, ResultWriter, TableWriter, Value};
use latentree::inference::Inference;
use latentree::model::LatentTree;
use latentree::{Error, NodeIx, Observer, Result};
use serde_json::json;

use super::{note_unseen, open_model_and_data};
use crate::Failure;
use crate::args::InferArgs;
use crate::printer::Printer;

pub(crate) fn run(args: &InferArgs, printer: &Printer) -> Result<(), Failure> {
    let (model, mut reader) = open_model_and_data(&args.model, &args.data, &args.reading, printer)?;
    let inference = Inference::new(&model);
    let nodes: Vec<NodeIx> = if args.of.is_empty() {
        model.hidden().collect()
    } else {
        args.of.iter().map(|name| model.find(name.trim())).collect::<Result<_>>()?
    };
    if nodes.is_empty() && !args.impute {
        return Err(Error::query("the model has no hidden nodes; use --of to ask for observed ones, or --impute").into());
    }
    printer.stage("infer", reader.n_rows_hint());
    let mut rows = 0;
    let mut impossible = 0_usize;
    let columns: Vec<String>;
    if args.impute {
        columns = model.schema().columns().iter().map(|column| column.name.clone()).collect();
        let mut writer = TableWriter::create(&args.output, model.schema(), None)?;
        while let Some(batch) = next(&mut reader, printer)? {
            writer.write_batch(&inference.impute(&batch)?)?;
            rows += batch.n_rows as u64;
            printer.progress(rows);
        }
        writer.finish()?;
    } else {
        columns = if args.map { names(&model, &nodes) } else { posterior_columns(&model, &nodes) };
        let header: Vec<&str> = std::iter::once("row").chain(columns.iter().map(String::as_str)).collect();
        let mut writer = ResultWriter::create(&args.output, &header)?;
        while let Some(batch) = next(&mut reader, printer)? {
            if args.map {
                let best = inference.most_probable(&batch)?;
                impossible += best.log_probability().iter().filter(|&&value| value == f64::NEG_INFINITY).count();
                for row in 0..batch.n_rows {
                    let values = nodes.iter().map(|&node| state(&model, node, best.get(row, node)));
                    writer
                        .write_row(&std::iter::once(Value::Integer(rows + row as u64 + 1)).chain(values).collect::<Vec<_>>())?;
                }
            } else {
                let posterior = inference.posterior(&batch, &nodes)?;
                impossible += posterior.log_likelihood().iter().filter(|&&value| value == f64::NEG_INFINITY).count();
                for row in 0..batch.n_rows {
                    let values = posterior.row(row).iter().map(|&value| Value::Number(value));
                    writer
                        .write_row(&std::iter::once(Value::Integer(rows + row as u64 + 1)).chain(values).collect::<Vec<_>>())?;
                }
            }
            rows += batch.n_rows as u64;
            printer.progress(rows);
        }
        writer.finish()?;
    }
    let unseen = note_unseen(&reader, printer);
    if impossible > 0 {
        printer.note(&format!("{impossible} rows have probability zero under the model; their fields are empty"));
    }
    if args.output.as_os_str() == "-" {
        return Ok(());
    }
    let json = json!({"rows": rows, "columns": columns, "impossible_rows": impossible, "unseen": unseen});
    printer
        .result(&json, |out| writeln!(out, "{rows} rows of {} columns written to {}", columns.len(), args.output.display()))?;
    Ok(())
}

fn next(reader: &mut dyn BatchSource, printer: &Printer) -> Result<Option<std::sync::Arc<latentree::data::Batch>>> {
    if printer.cancelled() {
        return Err(Error::Cancelled);
    }
    reader.next_batch()
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
