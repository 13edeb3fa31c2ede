//! What the verbs do with spectral models, which answer about columns and have no hidden states.

use latentree::data::{BatchSource, Reader, TableWriter, Value, WeightScale};
use latentree::spectral::{Evaluator, SpectralModel, SpectralScore};
use latentree::{Error, Observer, Result, VarIx, counted};
use serde_json::{Map, json};

use super::infer::column_name;
use super::names::{assignments, listed};
use super::row_table::RowTable;
use super::score::finite;
use super::{note_unseen, weight_kind};
use crate::Failure;
use crate::args::{DescribeArgs, InferArgs, QueryArgs, ScoreArgs};
use crate::printer::{Printer, in_full, number, shown, table};

/// Edges that are listed.
const LISTED: usize = 20;

/// The refusal of what needs hidden states.
fn needs_states(model: &SpectralModel, what: &str) -> Error {
    Error::query(format!(
        "{what}: a {} model answers about its columns and has no hidden states; learn one with --parameters moments+em",
        model.method().name()
    ))
}

pub(super) fn score(args: &ScoreArgs, model: &SpectralModel, mut reader: Reader, printer: &Printer) -> Result<(), Failure> {
    let evaluator = Evaluator::new(model);
    let scale = WeightScale::of(&mut reader, weight_kind(&args.reading)?).map_err(|error| error.in_file(&args.data))?;
    let result = ["log_likelihood".to_owned()];
    let per_row = args.per_row.as_ref().map(|path| RowTable::create(path, &reader, &args.reading, &result));
    let mut per_row = per_row.transpose()?;
    let mut score = SpectralScore::default();
    printer.stage("score", reader.n_rows_hint());
    while let Some(batch) = reader.next_batch()? {
        if printer.cancelled() {
            return Err(Error::Cancelled.into());
        }
        let batch = scale.apply(batch);
        let scores = evaluator.log_likelihood(&batch)?;
        if let Some(table) = &mut per_row {
            for (row, &value) in scores.values.iter().enumerate() {
                table.write(row, batch.first_row + row as u64, reader.carried(), std::iter::once(Value::Number(value)))?;
            }
        }
        score.add(&batch, &scores);
        printer.progress(score.rows);
    }
    if let Some(table) = per_row {
        table.finish()?;
    }
    let unseen = note_unseen(&reader, printer);
    let json = json!({
        "rows": score.rows,
        "log_likelihood": finite(score.log_likelihood),
        "mean_log_likelihood": finite(score.mean_log_likelihood()),
        "bic": null,
        "free_parameters": null,
        "weight": score.weight,
        "clipped_rows": score.clipped_rows,
        "unseen": unseen,
    });
    printer.result(&json, |out| {
        let is_weighted = score.weight != score.rows as f64;
        writeln!(out, "rows                 {}", score.rows)?;
        if is_weighted {
            writeln!(out, "weight               {}", number(score.weight))?;
        }
        writeln!(out, "log-likelihood       {}", in_full(score.log_likelihood))?;
        let unit = if is_weighted { "  per unit of weight" } else { "  per row           " };
        writeln!(out, "{unit} {}", number(score.mean_log_likelihood()))?;
        writeln!(out, "clipped rows         {} (estimate not positive, or too small)", score.clipped_rows)
    })?;
    Ok(())
}

/// The variable of a name; hidden nodes and unknown names are refused.
fn variable(model: &SpectralModel, name: &str) -> Result<VarIx> {
    if let Some(variable) = model.schema().find_variable(name) {
        return Ok(variable);
    }
    match model.tree().find(name) {
        Some(_) => Err(needs_states(model, &format!("{name:?} is a hidden node"))),
        None => Err(Error::query(format!("the model has no node {name:?}"))),
    }
}

fn labels(model: &SpectralModel, variable: usize) -> &[String] {
    model.schema().scalar_kind(VarIx::new(variable)).and_then(|kind| kind.labels()).unwrap_or_default()
}

/// Evidence from `--given a=1,b=x`.
fn evidence(model: &SpectralModel, given: &[String]) -> Result<Vec<Option<usize>>> {
    let mut evidence = vec![None; model.schema().variables().len()];
    for option in given {
        for (name, value) in assignments(option, &|name| model.tree().find(name).is_some(), &|_| false)? {
            let variable = variable(model, &name)?.get();
            let all = labels(model, variable);
            let label = all.iter().position(|label| *label == value).ok_or_else(|| {
                let known: Vec<&str> = all.iter().take(10).map(String::as_str).collect();
                Error::query(format!("{value:?} is not a label of {name:?}; they are {}", known.join(", ")))
            })?;
            if evidence[variable].replace(label).is_some() {
                return Err(Error::option("--given", format!("{name:?} is given twice")));
            }
        }
    }
    Ok(evidence)
}

pub(super) fn query(args: &QueryArgs, model: &SpectralModel, printer: &Printer) -> Result<(), Failure> {
    if args.map {
        return Err(needs_states(model, "--map").into());
    }
    let evidence = evidence(model, &args.given)?;
    let of: Vec<usize> = if args.of.is_empty() {
        (0..evidence.len()).filter(|&variable| evidence[variable].is_none()).collect()
    } else {
        let names = args.of.iter().flat_map(|of| listed(of, &|name| model.tree().find(name).is_some(), &|_| false));
        names.map(|name| variable(model, name).map(VarIx::get)).collect::<Result<_>>()?
    };
    let evaluator = Evaluator::new(model);
    let answer = if args.joint { evaluator.joint(&evidence, &of)? } else { evaluator.query(&evidence, &of)? };
    let name = |variable: usize| model.schema().variables()[variable].name.as_str();
    let mut rows = Vec::new();
    // No evidence has probability 1; the estimate may be off by rounding.
    let log_evidence = if evidence.iter().all(Option::is_none) { 0.0 } else { answer.log_evidence };
    let mut json = Map::from_iter([("log_evidence".to_owned(), json!(log_evidence))]);
    if args.joint {
        let sizes: Vec<usize> = of.iter().map(|&variable| labels(model, variable).len()).collect();
        let combinations = answer.distributions[0].iter().enumerate().map(|(combination, &probability)| {
            let mut rest = combination;
            let mut states = vec![""; of.len()];
            for ix in (0..of.len()).rev() {
                states[ix] = &labels(model, of[ix])[rest % sizes[ix]];
                rest /= sizes[ix];
            }
            let text: Vec<String> =
                states.iter().zip(&of).map(|(label, &variable)| format!("{}={}", shown(name(variable)), shown(label))).collect();
            rows.push(vec![text.join(" "), format!("{probability:.6}")]);
            json!({"states": states, "probability": probability})
        });
        let combinations: Vec<_> = combinations.collect();
        json.insert("nodes".to_owned(), of.iter().map(|&variable| name(variable)).collect());
        json.insert("joint".to_owned(), combinations.into());
    } else {
        let mut marginals = Map::new();
        for (&variable, values) in of.iter().zip(&answer.distributions) {
            let labels = labels(model, variable);
            let row = |(label, value): (&String, &f64)| vec![shown(name(variable)), shown(label), format!("{value:.6}")];
            rows.extend(labels.iter().zip(values).map(row));
            let values: Map<_, _> = labels.iter().cloned().zip(values.iter().map(|&value| json!(value))).collect();
            marginals.insert(name(variable).to_owned(), values.into());
        }
        json.insert("marginals".to_owned(), marginals.into());
    }
    json.insert("clipped".to_owned(), json!(answer.clipped + u64::from(answer.is_evidence_clipped)));
    printer.result(&json.into(), |out| {
        writeln!(out, "log-likelihood of the evidence  {}", number(log_evidence))?;
        if answer.is_evidence_clipped || answer.clipped > 0 {
            writeln!(out, "estimates that were not positive  {}", answer.clipped + u64::from(answer.is_evidence_clipped))?;
        }
        let header: &[&str] = if args.joint { &["states", "probability"] } else { &["node", "state", "probability"] };
        writeln!(out, "{}", table(header, rows, header.len() - 1))
    })?;
    Ok(())
}

pub(super) fn impute(args: &InferArgs, model: &SpectralModel, mut reader: Reader, printer: &Printer) -> Result<(), Failure> {
    if !args.impute {
        return Err(needs_states(model, "posteriors of hidden variables (use --impute to fill missing cells)").into());
    }
    let evaluator = Evaluator::new(model);
    let layout = reader.file_columns();
    let carried = reader.carried().names().to_vec();
    let columns: Vec<String> = layout.iter().map(|column| column_name(*column, model.schema(), &carried)).collect();
    let mut writer = TableWriter::create_like(&args.output, model.schema(), &layout, &carried)?;
    let (mut rows, mut clipped) = (0, 0);
    printer.stage("infer", reader.n_rows_hint());
    while let Some(batch) = reader.next_batch()? {
        if printer.cancelled() {
            return Err(Error::Cancelled.into());
        }
        let filled = evaluator.impute(&batch)?;
        writer.write_batch_with(&filled.batch, reader.carried())?;
        clipped += filled.clipped;
        rows += batch.n_rows as u64;
        printer.progress(rows);
    }
    writer.finish()?;
    let unseen = note_unseen(&reader, printer);
    if args.output.as_os_str() == "-" {
        return Ok(());
    }
    let json = json!({"rows": rows, "columns": columns, "clipped": clipped, "unseen": unseen});
    printer.result(&json, |out| {
        let columns = counted(columns.len(), "column");
        writeln!(out, "{} with {columns} written to {}", counted(rows, "row"), args.output.display())?;
        if clipped > 0 {
            writeln!(out, "{clipped} estimates were not positive, and count as zero")?;
        }
        Ok(())
    })?;
    Ok(())
}

pub(super) fn describe(args: &DescribeArgs, model: &SpectralModel, printer: &Printer) -> Result<(), Failure> {
    if args.of.is_some() {
        return Err(needs_states(model, "--of").into());
    }
    let tree = model.tree();
    let edges: Vec<_> =
        model.edges().enumerate().filter(|(ix, _)| !model.is_pair(*ix)).map(|(ix, it)| (it.0, it.1, model.is_leaf(ix))).collect();
    let smallest = |values: &[f64], rank: usize| rank.checked_sub(2).and_then(|ix| values.get(ix)).copied();
    let worst = edges
        .iter()
        .filter_map(|(name, edge, _)| Some((smallest(&edge.values, edge.rank)?, name)))
        .min_by(|a, b| a.0.total_cmp(&b.0));
    // Theorem 1 of Parikh et al. with canonical correlations for singular values: α over all edges, β over those of variables.
    let least = |leaves: bool| {
        let values = edges.iter().filter(|it| !leaves || it.2).filter_map(|(_, edge, _)| smallest(&edge.values, edge.rank));
        values.min_by(f64::total_cmp)
    };
    let (alpha, beta) = (least(false).map(|value| value.powi(4)), least(true).map(|value| value.powi(2)));
    let json_edges = edges.iter().map(|(between, edge, _)| {
        json!({"between": between, "dimensions": edge.rank, "smallest": smallest(&edge.values, edge.rank), "noise": edge.noise, "values": edge.values})
    });
    let json = json!({
        "kind": "spectral",
        "method": model.method().name(),
        "rows": model.provenance().rows,
        "observed": tree.n_observed(),
        "hidden": tree.n_hidden(),
        "numbers": model.n_numbers(),
        "alpha": alpha,
        "beta": beta,
        "worst_edge": worst.map(|it| it.1),
        "edges": json_edges.collect::<Vec<_>>(),
    });
    printer.result(&json, |out| {
        writeln!(out, "model                {}, without hidden states", model.method().name())?;
        if let Some(rows) = model.provenance().rows {
            writeln!(out, "learned from         {}", counted(rows, "row"))?;
        }
        writeln!(out, "observed variables   {}", tree.n_observed())?;
        writeln!(out, "hidden nodes         {}", tree.n_hidden())?;
        if let (Some(alpha), Some(beta)) = (alpha, beta) {
            writeln!(out, "alpha, beta          {alpha:.3e}, {beta:.3e} (the smaller, the more rows are needed)")?;
        }
        if let Some((value, name)) = worst {
            writeln!(out, "weakest edge         {name} ({value:.3})")?;
        }
        let most = if args.top == 0 { usize::MAX } else { args.top.max(LISTED) };
        let rows = edges.iter().take(most).map(|(between, edge, _)| {
            let smallest = smallest(&edge.values, edge.rank).map_or("–".to_owned(), |value| format!("{value:.3}"));
            let next = edge.values.get(edge.rank - 1).map_or("–".to_owned(), |value| format!("{value:.3}"));
            vec![shown(between), edge.rank.to_string(), smallest, next, format!("{:.3}", edge.noise)]
        });
        writeln!(out, "\n{}", table(&["edge", "dimensions", "smallest", "next", "noise"], rows.collect(), 1))
    })?;
    Ok(())
}
