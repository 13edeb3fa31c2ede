//! `compare TRUE ESTIMATE`: compares trees or models.

use std::path::Path;

use latentree::format::ModelFile;
use latentree::report::compare;
use latentree::tree::Tree;
use latentree::{Error, Result};
use serde_json::json;

use super::simulate::{is_newick, read_tree};
use super::{is_stream, open_model_file};
use crate::Failure;
use crate::args::CompareArgs;
use crate::printer::{Printer, number, shown};

pub(crate) fn run(args: &CompareArgs, printer: &Printer) -> Result<(), Failure> {
    if is_stream(&args.truth) && is_stream(&args.estimate) {
        return Err(Error::option("-", "only one of the two can come from standard input; use a file for the other").into());
    }
    let truth = open(&args.truth, &args.hidden)?;
    let estimate = open(&args.estimate, &args.hidden)?;
    let result = compare(&truth, &estimate).map_err(|error| match error {
        Error::Mismatch { problem, .. } => {
            let [left, right] = [&args.truth, &args.estimate].map(|path| path.display().to_string());
            Error::Mismatch { left, right, problem }
        }
        other => other,
    })?;
    let distance = result.robinson_foulds;
    let only_true = differing(truth.tree(), estimate.tree(), args.splits);
    let only_estimate = differing(estimate.tree(), truth.tree(), args.splits);
    let parameters = result.parameters;
    let json = json!({
        "same_structure": result.same_structure,
        "robinson_foulds": distance.distance,
        "robinson_foulds_normalized": distance.normalized,
        "splits_only_true": distance.only_left,
        "splits_only_estimate": distance.only_right,
        "hidden_true": result.hidden_true,
        "hidden_estimate": result.hidden_estimate,
        "structure_error": result.structure_error,
        "parameter_error": parameters.map(|error| error.mean),
        "parameter_error_largest": parameters.map(|error| error.largest),
        "parameter_error_observed": parameters.map(|error| error.observed),
        "parameter_error_hidden": parameters.map(|error| error.hidden),
    });
    printer.result(&json, |out| {
        writeln!(out, "same structure          {}", if result.same_structure { "yes" } else { "no" })?;
        writeln!(out, "Robinson–Foulds         {} (normalised {})", distance.distance, number(distance.normalized))?;
        writeln!(out, "hidden nodes            {} true, {} estimated", result.hidden_true, result.hidden_estimate)?;
        writeln!(out, "group error (Huang)     {}", number(result.structure_error))?;
        match parameters {
            Some(error) => writeln!(
                out,
                "parameter error         {} mean, {} largest; observed {}, hidden {}",
                number(error.mean),
                number(error.largest),
                number(error.observed),
                number(error.hidden)
            )?,
            None => writeln!(out, "parameter error         – (needs two models of the same structure and numbers of states)")?,
        }
        for (title, splits) in [("only in the true tree", only_true), ("only in the estimate", only_estimate)] {
            for split in splits {
                writeln!(out, "  {title}: {split} | rest")?;
            }
        }
        Ok(())
    })?;
    Ok(())
}

fn open(path: &Path, hidden: &[String]) -> Result<ModelFile> {
    // The binary root that most programs write is not a node of the unrooted tree.
    if is_newick(path) { Ok(read_tree(path, hidden)?.minimal().into()) } else { open_model_file(path, hidden, None) }
}

/// Up to `most` splits of a tree that another does not have, each by its smaller side.
fn differing(tree: &Tree, other: &Tree, most: usize) -> Vec<String> {
    let (own, others) = (tree.splits(), other.splits());
    let missing = tree.edges().filter(|edge| own.of_edge(edge.a, edge.b).is_some_and(|split| !others.contains(split)));
    let sides = missing.take(most).map(|edge| {
        let side = tree.side(&edge);
        let names: Vec<String> = side.iter().take(8).map(|&node| shown(tree.name(node))).collect();
        let more = if side.len() > names.len() { format!(", … ({} in all)", side.len()) } else { String::new() };
        format!("{}{more}", names.join(", "))
    });
    sides.collect()
}
