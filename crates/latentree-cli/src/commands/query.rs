//! `query MODEL --given … --of …`: exact conditional distributions.

use latentree::format::ModelFile;
use latentree::inference::{Evidence, Inference, JointAnswer};
use latentree::model::{Family, LatentTree};
use latentree::{Error, NodeIx, Result};
use serde_json::{Map, Value, json};

use super::{asked, evidence, open_model_file};
use crate::Failure;
use crate::args::QueryArgs;
use crate::printer::{Printer, in_full, number, shown, table};

pub(crate) fn run(args: &QueryArgs, printer: &Printer) -> Result<(), Failure> {
    let model = match open_model_file(&args.model.model, &args.model.hidden, None)? {
        ModelFile::Spectral(model) => return super::spectral::query(args, &model, printer),
        other => other.into_latent_tree().map_err(|error| error.in_file(&args.model.model))?,
    };
    let evidence = evidence(&model, &args.given)?;
    let of: Vec<NodeIx> = match () {
        () if !args.of.is_empty() => asked(&model, &args.of)?,
        () if model.hidden().next().is_some() => model.hidden().collect(),
        () => model.tree().node_ixs().collect(),
    };
    let inference = Inference::new(&model);
    let warnings = warnings(&model, &evidence, &of);
    warnings.iter().for_each(|warning| printer.note(warning));
    if args.map {
        let of = if args.of.is_empty() { None } else { Some(&of[..]) };
        return map(&model, &inference, &evidence, of, &warnings, printer);
    }
    let answer = inference.query(&evidence, if args.joint { &[] } else { &of })?;
    let mut json = Map::from_iter([("log_evidence".to_owned(), json!(answer.log_evidence))]);
    let (mut rows, mut numbers) = (Vec::new(), Vec::new());
    if args.joint {
        json.insert("nodes".to_owned(), of.iter().map(|&node| model.tree().name(node)).collect());
        json.insert("joint".to_owned(), joint(&model, &of, &inference.joint(&evidence, &of)?, &mut rows));
    } else {
        let mut marginals = Map::new();
        for (node, values) in &answer.marginals {
            let name = model.tree().name(*node);
            let value = match model.domain(*node).labels() {
                Some(labels) => {
                    rows.extend(
                        labels.iter().zip(values).map(|(label, value)| vec![shown(name), shown(label), format!("{value:.6}")]),
                    );
                    labels.iter().cloned().zip(values.iter().map(|&value| json!(value))).collect::<Map<_, _>>().into()
                }
                None => {
                    numbers.push(vec![shown(name), number(values[0]), number(values[1])]);
                    json!({"mean": values[0], "variance": values[1]})
                }
            };
            marginals.insert(name.to_owned(), value);
        }
        json.insert("marginals".to_owned(), marginals.into());
    }
    json.insert("warnings".to_owned(), json!(warnings));
    printer.result(&json.into(), |out| {
        writeln!(out, "log-likelihood of the evidence  {}", number(answer.log_evidence))?;
        let header: &[&str] = match args.joint {
            true if model.family() == Family::Gaussian => &["quantity", "value"],
            true => &["states", "probability"],
            false => &["node", "state", "probability"],
        };
        let between = if rows.is_empty() || numbers.is_empty() { "" } else { "\n" };
        if !rows.is_empty() || numbers.is_empty() {
            writeln!(out, "{}", table(header, rows, header.len() - 1))?;
        }
        if !numbers.is_empty() {
            writeln!(out, "{between}{}", table(&["node", "mean", "variance"], numbers, 1))?;
        }
        Ok(())
    })?;
    Ok(())
}

/// The warning if evidence and queried nodes include pairs that the model explains badly.
fn warnings(model: &LatentTree, evidence: &Evidence, of: &[NodeIx]) -> Vec<String> {
    let is_known = |node: NodeIx| evidence.node(model, node).is_some();
    if !model.tree().node_ixs().any(is_known) {
        return Vec::new();
    }
    let is_used = |column: &str| {
        let variable = model.schema().find_column(column).map(|column| model.schema().variable_of(column));
        variable.map(|variable| model.node_of(variable)).is_some_and(|node| is_known(node) || of.contains(&node))
    };
    model.provenance().warning_of_poor_pairs(is_used).into_iter().collect()
}

/// The joint distribution as JSON and as rows of the printed table.
fn joint(model: &LatentTree, of: &[NodeIx], answer: &JointAnswer, rows: &mut Vec<Vec<String>>) -> Value {
    let name = |ix: usize| model.tree().name(of[ix]);
    match answer {
        JointAnswer::Table { n_states, probabilities } => {
            let combinations = probabilities.iter().enumerate().map(|(combination, &probability)| {
                let mut rest = combination;
                let mut labels = vec![""; of.len()];
                for ix in (0..of.len()).rev() {
                    labels[ix] = &model.domain(of[ix]).labels().unwrap_or_default()[rest % n_states[ix]];
                    rest /= n_states[ix];
                }
                let text: Vec<String> =
                    labels.iter().enumerate().map(|(ix, label)| format!("{}={}", shown(name(ix)), shown(label))).collect();
                rows.push(vec![text.join(" "), format!("{probability:.6}")]);
                json!({"states": labels, "probability": probability})
            });
            Value::Array(combinations.collect())
        }
        JointAnswer::Gaussian { mean, covariance } => {
            let covariance: Vec<&[f64]> = covariance.chunks(of.len().max(1)).collect();
            for (ix, mean) in mean.iter().enumerate() {
                rows.push(vec![format!("mean {}", shown(name(ix))), number(*mean)]);
            }
            for (a, row) in covariance.iter().enumerate() {
                for (b, value) in row.iter().enumerate().take(a + 1) {
                    rows.push(vec![format!("cov {} {}", shown(name(a)), shown(name(b))), number(*value)]);
                }
            }
            json!({"mean": mean, "covariance": covariance})
        }
    }
}

/// The most probable joint assignment.
fn map(
    model: &LatentTree,
    inference: &Inference<'_>,
    evidence: &Evidence,
    of: Option<&[NodeIx]>,
    warnings: &[String],
    printer: &Printer,
) -> Result<(), Failure> {
    let best = inference.most_probable_given(evidence);
    let log_evidence = inference.query(evidence, &[])?.log_evidence;
    let unknown = |&node: &NodeIx| evidence.node(model, node).is_none() && !best.get(0, node).is_nan();
    let nodes: Vec<NodeIx> = of.map_or_else(|| model.tree().node_ixs().filter(unknown).collect(), <[NodeIx]>::to_vec);
    if best.log_probability()[0] == f64::NEG_INFINITY {
        return Err(
            Error::query("the evidence has probability zero, so that no assignment is most probable; change --given").into()
        );
    }
    if let Some(&group) = nodes.iter().find(|&&node| best.get(0, node).is_nan()) {
        let name = model.tree().name(group);
        let problem = format!("{name:?} is a group of columns, which has no single most probable value; leave it out of --of");
        return Err(Error::query(problem).into());
    }
    let mut warnings = warnings.to_vec();
    let is_beside = |node: NodeIx| unknown(&node) && model.domain(node).labels().is_none();
    if model.family() != Family::Gaussian && model.tree().node_ixs().any(is_beside) {
        let note = "unknown numbers and counts are summed out to find the most probable states, and get their most probable value \
                    given these; the log-likelihood is that of the states and the evidence";
        printer.note(note);
        warnings.push(note.to_owned());
    }
    let mut states = Map::new();
    let mut rows = Vec::new();
    for node in nodes {
        let value = best.get(0, node);
        let name = model.tree().name(node);
        let (json, text) = match model.domain(node).labels() {
            Some(labels) => (json!(labels[value as usize]), shown(&labels[value as usize])),
            None => (json!(value), number(value)),
        };
        rows.push(vec![shown(name), text]);
        states.insert(name.to_owned(), json);
    }
    let json = json!({
        "log_evidence": log_evidence,
        "log_probability": best.log_probability()[0],
        "most_probable": states,
        "warnings": warnings,
    });
    printer.result(&json, |out| {
        writeln!(out, "log-likelihood of the assignment and the evidence  {}", in_full(best.log_probability()[0]))?;
        writeln!(out, "{}", table(&["node", "state"], rows, 2))
    })?;
    Ok(())
}
