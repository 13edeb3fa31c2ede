//! `compare TRUE ESTIMATE`: compares trees or models.

use std::path::Path;

use latentree::format::ModelFile;
use latentree::report::{Hierarchy, agreement, compare};
use latentree::tree::Tree;
use latentree::{Error, Result, counted};
use serde_json::json;

use super::simulate::{is_newick, read_tree};
use super::{is_stream, open_model_file};
use crate::Failure;
use crate::args::CompareArgs;
use crate::printer::{Printer, number, shown};

pub(crate) fn run(args: &CompareArgs, seed: u64, printer: &Printer) -> Result<(), Failure> {
    let Some(estimate_path) = &args.estimate else { return with_reference(args, seed, printer) };
    if is_stream(&args.truth) && is_stream(estimate_path) {
        return Err(Error::option("-", "only one of the two can come from standard input; use a file for the other").into());
    }
    let truth = open(&args.truth, &args.hidden)?;
    let estimate = open(estimate_path, &args.hidden)?;
    let result = compare(&truth, &estimate).map_err(|error| match error {
        Error::Mismatch { problem, .. } => {
            let [left, right] = [&args.truth, estimate_path].map(|path| path.display().to_string());
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

/// Compares a tree with a hierarchy of its variables.
fn with_reference(args: &CompareArgs, seed: u64, printer: &Printer) -> Result<(), Failure> {
    let reference = args.reference.as_deref().unwrap_or_default();
    let (path, columns) = match reference.rsplit_once(':') {
        Some((path, columns)) if !Path::new(reference).exists() => (path, Some(columns)),
        _ => (reference, None),
    };
    let columns: Option<Vec<String>> = columns.map(|columns| columns.split(',').map(|it| it.trim().to_owned()).collect());
    if columns.as_ref().is_some_and(|columns| columns.len() < 2) {
        let problem = format!("{reference:?} names one column; name the item and at least one group above it");
        return Err(Error::option("--reference", problem).into());
    }
    let mut hierarchy = Hierarchy::read(Path::new(path), columns.as_deref())?;
    let estimate = open(&args.truth, &args.hidden)?;
    let schema = match &estimate {
        ModelFile::LatentTree(model) => Some(model.schema()),
        ModelFile::Spectral(model) => Some(model.schema()),
        ModelFile::Tree { schema, .. } => schema.as_ref(),
        _ => None,
    };
    let code_of = |name: &str| schema.and_then(|schema| schema.code_of(name)).unwrap_or(name).to_owned();
    if args.prefixes {
        let tree = estimate.tree();
        let observed = tree.node_ixs().filter(|&node| tree.is_observed(node));
        let codes: Vec<String> = observed.map(|node| code_of(tree.name(node))).collect();
        hierarchy = hierarchy.with_prefixes(codes.iter().map(String::as_str));
    }
    let found = agreement(&estimate, &hierarchy, code_of, seed).map_err(|error| match error {
        Error::Mismatch { problem, .. } => {
            Error::Mismatch { left: args.truth.display().to_string(), right: path.to_owned(), problem }
        }
        other => other.in_file(&args.truth),
    })?;
    if !found.several_parents.is_empty() {
        let (have, it) = if found.several_parents.len() == 1 { ("has", "it") } else { ("have", "each") };
        printer.note(&format!(
            "{path}: {} {have} several parents; the one listed first counts for {it}: {}",
            counted(found.several_parents.len(), "item"),
            first_shown(&found.several_parents)
        ));
    }
    if !found.unknown.is_empty() {
        let n_all = found.n_variables + found.unknown.len();
        let are = if found.unknown.len() == 1 { "is" } else { "are" };
        printer.note(&format!(
            "{} of {n_all} variables {are} not in {path} and {are} left out: {}",
            found.unknown.len(),
            first_shown(&found.unknown)
        ));
    }
    let json = json!({
        "variables": found.n_variables,
        "unknown": found.unknown,
        "several_parents": found.several_parents,
        "robinson_foulds": found.robinson_foulds,
        "robinson_foulds_normalized": found.robinson_foulds_normalized,
        "robinson_foulds_huang": found.robinson_foulds_huang,
        "reference_splits": found.n_reference_splits,
        "matched_splits": found.n_matched_splits,
        "triplets": found.triplets,
        "quartets": found.quartets,
        "quartets_otherwise": found.quartets_otherwise.map(|shares| shares[0]),
        "quartets_undivided": found.quartets_otherwise.map(|shares| shares[1]),
        "groups": found.n_groups,
        "nearest_same_group": found.nearest_same_group,
        "nearest_by_chance": found.nearest_by_chance,
        "same_group_auc": found.same_group_auc,
    });
    let share = |value: Option<f64>| value.map_or("–".to_owned(), |value| format!("{value:.3}"));
    printer.result(&json, |out| {
        writeln!(out, "variables               {} in {} groups", found.n_variables, found.n_groups)?;
        writeln!(
            out,
            "Robinson–Foulds         {} (normalised {}; by p², as Huang, {})",
            found.robinson_foulds,
            number(found.robinson_foulds_normalized),
            number(found.robinson_foulds_huang)
        )?;
        writeln!(out, "splits of the reference {} of {} found", found.n_matched_splits, found.n_reference_splits)?;
        writeln!(out, "triplets                {} joined alike", share(found.triplets))?;
        let otherwise = found.quartets_otherwise.map_or(String::new(), |[otherwise, undivided]| {
            format!(" ({otherwise:.3} otherwise; {undivided:.3} not divided, counted a third)")
        });
        writeln!(out, "quartets                {} divided alike{otherwise}", share(found.quartets))?;
        writeln!(
            out,
            "nearest in its group    {} (by chance {})",
            share(found.nearest_same_group),
            share(found.nearest_by_chance)
        )?;
        writeln!(out, "same group by distance  {} (area under the curve)", share(found.same_group_auc))
    })?;
    Ok(())
}

/// The first names of a list.
fn first_shown(names: &[String]) -> String {
    let first: Vec<String> = names.iter().take(5).map(|name| shown(name)).collect();
    format!("{}{}", first.join(", "), if names.len() > first.len() { ", …" } else { "" })
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
