//! `describe DATA`: summarises a table.

use latentree::data::{BatchSource, Column};
use latentree::file::write_atomically;
use latentree::format::Format;
use latentree::moments::{ColumnSummary, PairMoments, Summary, fold};
use latentree::report::weak_pairs;
use latentree::{ColIx, Error, Result, VarIx, counted};
use serde_json::{Map, Value, json};

use super::files::Files;
use super::{note_unseen, open_data, pair_options, weight_kind};
use crate::Failure;
use crate::args::DescribeArgs;
use crate::printer::{Printer, number, shown, table};

/// With more columns than this, pairs are skipped.
const MAX_PAIRED: usize = 4000;

pub(crate) fn run(args: &DescribeArgs, printer: &Printer) -> Result<(), Failure> {
    let is_model = matches!(Format::by_ending(&args.data), Some(Format::Json | Format::Bif | Format::XmlBif));
    if is_model || args.rows.is_some() {
        if args.schema_out.is_some() {
            return Err(Error::option("--schema-out", "it writes the columns of data, but the input is a model").into());
        }
        return super::describe_model::run(args, printer);
    }
    if args.of.is_some() {
        return Err(Error::option("--of", "it names a group of a model, but the input is data").into());
    }
    Files::new().data("DATA", &args.data).reading(&args.reading).output_if("--schema-out", args.schema_out.as_deref()).check()?;
    let mut reader = open_data(&args.data, &args.reading, printer)?;
    let warnings = reader.warnings().to_vec();
    let schema = reader.schema().clone();
    let summary = fold(&mut reader, Summary::new(schema.clone()), printer)?;
    let n_columns = schema.columns().len();
    let weak = if n_columns <= MAX_PAIRED {
        reader.rewind()?;
        let options = pair_options(args.memory.as_deref())?;
        let moments = fold(&mut reader, PairMoments::with_options(schema.clone(), options)?, printer)?;
        Some(weak_pairs(&moments.scaled(weight_kind(&args.reading)?)))
    } else {
        None
    };
    let unseen = note_unseen(&reader, printer);
    if let Some(path) = &args.schema_out {
        let text = serde_json::to_string_pretty(&*schema).unwrap_or_default() + "\n";
        write_atomically(path, |out| out.write_all(text.as_bytes()).map_err(Error::io("write", path)))?;
    }
    let cells = summary.n_rows() * n_columns as u64;
    let missing: u64 = summary.columns().iter().map(|column| column.missing).sum();
    // Only numbers, and label columns whose first label is 0, can be zero.
    let can_be_zero =
        |column: &&Column| column.kind.labels().is_none_or(|labels| labels.first().is_some_and(|first| first == "0"));
    let with_zero = schema.columns().iter().zip(summary.columns()).filter(|(column, _)| can_be_zero(column));
    let (n_with_zero, nonzero) = with_zero.fold((0, 0), |(n, sum), (_, values)| (n + 1, sum + values.nonzero));
    let of = |part: u64, all: u64| if all > 0 { part as f64 / all as f64 } else { 0.0 };
    let share = |part: u64| of(part, cells);
    let nonzero_share = of(nonzero, summary.n_rows() * n_with_zero);
    let variables: Vec<Value> = schema.variable_ixs().map(|variable| variable_json(&summary, variable)).collect();
    let json = json!({
        "rows": summary.n_rows(),
        "weight": summary.total_weight(),
        "variables": variables,
        "columns": n_columns,
        "cells": cells,
        "missing_cells": missing,
        "missing_share": share(missing),
        "nonzero_share": nonzero_share,
        "pairs": weak.map(|weak| weak.pairs),
        "weak_pairs": weak.map(|weak| weak.weak),
        "pairs_never_together": weak.map(|weak| weak.never_together),
        "digest": reader.digest(),
        "warnings": warnings,
        "unseen": unseen,
    });
    let all = schema.variables().len();
    let listed = if args.top == 0 { all } else { args.top.min(all) };
    let rows = schema.variable_ixs().take(listed).map(|variable| variable_row(&summary, variable)).collect();
    printer.result(&json, |out| {
        writeln!(out, "rows        {}", summary.n_rows())?;
        if summary.total_weight() != summary.n_rows() as f64 {
            writeln!(out, "weight      {}", number(summary.total_weight()))?;
        }
        writeln!(out, "variables   {all}{}", if all == n_columns { String::new() } else { format!(" ({n_columns} columns)") })?;
        writeln!(out, "missing     {} ({:.2}%)", counted(missing, "cell"), 100.0 * share(missing))?;
        if n_with_zero > 0 {
            let those = match n_with_zero {
                it if it == n_columns as u64 => String::new(),
                1 => " of the column that can be zero".to_owned(),
                it => format!(" of the {it} columns that can be zero"),
            };
            writeln!(out, "not zero    {} ({:.2}%{those})", counted(nonzero, "cell"), 100.0 * nonzero_share)?;
        }
        match weak {
            Some(weak) => writeln!(out, "weak pairs  {} of {} show no significant dependence", weak.weak, weak.pairs)?,
            None => writeln!(out, "weak pairs  not counted for more than {MAX_PAIRED} columns")?,
        }
        writeln!(out, "\n{}", table(&["variable", "kind", "missing", "values"], rows, 4))?;
        if listed < all {
            writeln!(out, "… and {} more (--top 0 lists all)", all - listed)?;
        }
        Ok(())
    })?;
    Ok(())
}

fn variable_json(summary: &Summary, variable: VarIx) -> Value {
    let schema = summary.schema();
    let it = schema.variable(variable);
    if it.is_group {
        let members: Vec<Value> = it.columns.iter().map(|&column| column_json(summary, column).into()).collect();
        return json!({"name": it.name, "kind": "group", "members": members});
    }
    column_json(summary, it.columns[0]).into()
}

fn column_json(summary: &Summary, column: ColIx) -> Map<String, Value> {
    let (described, values) = (summary.schema().column(column), &summary.columns()[column.get()]);
    let mut json = Map::new();
    json.insert("name".to_owned(), json!(described.name));
    json.insert("kind".to_owned(), json!(described.kind.name()));
    json.insert("missing".to_owned(), json!(values.missing));
    json.insert("nonzero".to_owned(), json!(values.nonzero));
    match described.kind.labels() {
        Some(labels) => {
            json.insert("states".to_owned(), json!(labels));
            json.insert("counts".to_owned(), json!(values.levels));
        }
        None => {
            json.insert("mean".to_owned(), json!(values.mean));
            json.insert("standard_deviation".to_owned(), json!(values.variance().max(0.0).sqrt()));
            json.insert("minimum".to_owned(), json!(values.range.map(|range| range.0)));
            json.insert("maximum".to_owned(), json!(values.range.map(|range| range.1)));
        }
    }
    json
}

fn variable_row(summary: &Summary, variable: VarIx) -> Vec<String> {
    let schema = summary.schema();
    let it = schema.variable(variable);
    let missing: u64 = it.columns.iter().map(|column| summary.columns()[column.get()].missing).sum();
    let (kind, values) = if it.is_group {
        ("group".to_owned(), counted(it.columns.len(), "column"))
    } else {
        let column = schema.column(it.columns[0]);
        (column.kind.name().to_owned(), values_text(column, &summary.columns()[it.columns[0].get()]))
    };
    vec![shown(&it.name), kind, missing.to_string(), values]
}

/// Levels with their shares, most frequent first; or mean, spread and range.
fn values_text(column: &Column, values: &ColumnSummary) -> String {
    let Some(labels) = column.kind.labels() else {
        let (low, high) = values.range.unwrap_or((f64::NAN, f64::NAN));
        let spread = values.variance().max(0.0).sqrt();
        return format!("{} ± {}, {} to {}", number(values.mean), number(spread), number(low), number(high));
    };
    let total: f64 = values.levels.iter().sum();
    let mut order: Vec<usize> = (0..labels.len()).collect();
    if labels.len() > 8 {
        order.sort_by(|&a, &b| values.levels[b].total_cmp(&values.levels[a]).then(a.cmp(&b)));
    }
    let shares = order.iter().take(8).map(|&ix| {
        let share = if total > 0.0 { 100.0 * values.levels[ix] / total } else { 0.0 };
        format!("{} {share:.1}%", shown(&labels[ix]))
    });
    let more = if labels.len() > 8 { format!(", … ({} labels)", labels.len()) } else { String::new() };
    format!("{}{more}", shares.collect::<Vec<_>>().join(", "))
}
