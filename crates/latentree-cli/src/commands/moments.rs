//! `moments DATA -o M.moments`: mergeable statistics of one pass; with `--for TREE`, everything that the tables of a tree need.

use std::path::Path;
use std::sync::Arc;

use latentree::data::{BatchSource as _, CachedRows, Rows as _, Unseen, WeightKind, WeightScale, WeightedRows};
use latentree::learn::{Learning, MomentsFile, tree_over};
use latentree::moments::{Accumulator as _, PairMoments, fold};
use latentree::parameters::TreeMoments;
use latentree::{Error, Result, counted};
use serde_json::json;

use super::files::Files;
use super::simulate::read_tree;
use super::{check_moments, is_stream, memory, note_unseen, open_reader, pair_options, read_options, weight_kind};
use crate::Failure;
use crate::args::MomentsArgs;
use crate::printer::Printer;

pub(crate) fn run(args: &MomentsArgs, seed: u64, printer: &Printer) -> Result<(), Failure> {
    let files = Files::new().data("DATA", &args.data).input_if("--for", args.for_tree.as_deref());
    files.reading(&args.reading).output("-o", &args.output).check()?;
    check_moments(&args.output)?;
    let (file, unseen) = match &args.for_tree {
        None => pairs(args, printer)?,
        Some(tree) => for_tree(args, tree, seed, printer)?,
    };
    file.save(&args.output)?;
    if is_stream(&args.output) {
        return Ok(());
    }
    let bytes = std::fs::metadata(&args.output).map_or(0, |metadata| metadata.len());
    let (n_rows, n_variables) = (file.pairs.n_rows(), file.pairs.schema().variables().len());
    let json = json!({"rows": n_rows, "bytes": bytes, "variables": n_variables, "unseen": unseen});
    printer.result(&json, |out| writeln!(out, "{} in {bytes} bytes: {}", counted(n_rows, "row"), args.output.display()))?;
    Ok(())
}

/// The pairs of columns, in one pass.
fn pairs(args: &MomentsArgs, printer: &Printer) -> Result<(MomentsFile, Unseen)> {
    let mut reader = open_reader(&args.data, read_options(&args.reading)?, printer)?;
    if weight_kind(&args.reading)? == WeightKind::Frequency {
        // Sums use the weights as given, so that they can be merged; but frequencies must be whole numbers.
        WeightScale::of(&mut reader, WeightKind::Frequency).map_err(|error| error.in_file(&args.data))?;
    }
    let empty = PairMoments::with_options(reader.schema().clone(), pair_options(args.memory.as_deref())?)?;
    let pairs = fold(&mut reader, empty, printer)?;
    Ok((MomentsFile { pairs, tree: None }, note_unseen(&reader, printer)))
}

/// The pairs and the statistics for the tables of a tree, by the plan of another file if given.
fn for_tree(args: &MomentsArgs, tree: &Path, seed: u64, printer: &Printer) -> Result<(MomentsFile, Unseen)> {
    let plan = plan(tree)?;
    if plan.is_some() && args.hidden_states.is_some() {
        return Err(Error::option("--hidden-states", format!("{} says how many there are; leave it out", tree.display())));
    }
    let budget = memory(args.memory.as_deref())?;
    let mut options = read_options(&args.reading)?.keep_bytes(budget.for_rows());
    if let Some(plan) = &plan {
        options = options.schema(Arc::clone(plan.schema()));
    }
    let rows = CachedRows::new(open_reader(&args.data, options, printer)?, budget);
    let kind = weight_kind(&args.reading)?;
    let collected = match plan {
        None => {
            let tree = tree_over(&read_tree(tree, &[])?, rows.schema()).map_err(|error| error.in_file(tree))?;
            let learning = Learning::new().tree(Some(tree)).hidden_states(args.hidden_states).seed(seed).weight_kind(kind);
            learning.memory(budget).tree_moments(&rows, printer)
        }
        Some(plan) => {
            let weighted = WeightedRows::new(&rows, kind)?;
            weighted.require_frequencies().and_then(|()| fold(&mut *weighted.open()?, plan.empty(), printer))
        }
    };
    let collected = collected.map_err(|error| error.in_file(&args.data))?;
    let empty = PairMoments::with_options(Arc::clone(rows.schema()), pair_options(args.memory.as_deref())?)?;
    let pairs = fold(&mut *rows.open()?, empty, printer)?;
    let unseen = rows.of_source(|reader| note_unseen(reader, printer));
    Ok((MomentsFile { pairs, tree: Some(collected) }, unseen))
}

/// The purpose that a `.moments` file was collected for.
fn plan(path: &Path) -> Result<Option<TreeMoments>> {
    if latentree::file::ending(path) != "moments" {
        return Ok(None);
    }
    let none = || Error::option("--for", format!("{} was not collected for a tree; give the tree", path.display()));
    MomentsFile::load(path)?.tree.ok_or_else(none).map(Some)
}
