//! `learn DATA -o MODEL`: the hidden tree behind data, and its parameters.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use latentree::data::{CachedRows, ClinicalFormat, Dataset, Reader, Rows, Schema, Unseen, WeightedRows};
use latentree::distance::DistanceMatrix;
use latentree::format::{Format, ModelFile, View, export, to_text};
use latentree::learn::{LearnOptions, Learned, Learning, MomentsFile, Source, Stage, Validation, tree_over};
use latentree::model::Provenance;
use latentree::report::{self, GoodnessOptions, Groups, PageOptions};
use latentree::selection::CandidateScore;
use latentree::support::SplitSummary;
use latentree::tree::Tree;
use latentree::{ColIx, Error, MemoryBudget, NodeIx, Result, Silent, counted};
use serde_json::json;

use super::distances::MOMENTS_ARE_READ;
use super::files::Files;
use super::report::{shown_name, write_page};
use super::simulate::read_tree_file;
use super::{check_page, is_stream, memory, note_unseen, open_data_once, open_model_file, read_options, refuse_reading};
use crate::Failure;
use crate::args::LearnArgs;
use crate::learn_options::path_of;
use crate::printer::{Printer, in_full, number};
use crate::signals;

/// Maximum number of nodes of a tree that is printed in full.
const SHOWN_NODES: usize = 60;
/// The budget of which half may hold rows where a few passes are all that is needed: more rows are read again instead.
const MOST_FOR_FEW_PASSES: u64 = 128 << 20;

/// The opened input.
enum Opened {
    Rows(Box<CachedRows<Reader>>),
    Moments(Box<MomentsFile>),
    Distances(DistanceMatrix),
}

pub(crate) fn run(args: &LearnArgs, seed: Option<u64>, printer: &Printer) -> Result<(), Failure> {
    let from = args.from.as_deref().map(|path| open_model_file(path, &[], None)).transpose()?;
    let provenance = from.as_ref().map(ModelFile::provenance);
    let mut args = with_reading_of(args, provenance)?;
    let tunes = uses_splits(&args);
    if tunes {
        args.reading.subject_split.get_or_insert_with(|| "train".to_owned());
    }
    let args = &args;
    let mut learning = learning(args, provenance, seed)?;
    if let Some(target) = &args.target {
        return super::classify::learn(args, target, learning, printer);
    }
    // The split of a MEDS data set that is there to choose by.
    let validation_file = validation_file(args).or_else(|| args.data.clone().filter(|_| tunes));
    let forgets_validation = args.options.get("selection.validation").is_some() || args.reset.iter().any(|it| it == "validation");
    if provenance.is_some_and(|it| it.options.contains_key("validation")) && !forgets_validation {
        let problem = "the model was learned with validation rows from a file; pass --validation FILE, or --reset validation";
        return Err(Error::option("--from", problem).into());
    }
    check_checkpoint(args)?;
    let output = args.output.as_deref().unwrap_or(Path::new("-"));
    let path = args.distances.as_ref().or(args.data.as_ref()).ok_or_else(|| match &args.from {
        Some(model) => {
            Error::option("--from", format!("it repeats the options of {}; pass DATA to learn from, too", model.display()))
        }
        None => Error::option("--distances", "pass DATA or a distance matrix"),
    })?;
    Files::new()
        .data_if("DATA", args.data.as_deref())
        .input_if("--distances", args.distances.as_deref())
        .input_if("--tree", args.tree.as_deref())
        .input_if("--from", args.from.as_deref())
        .data_if("--validation", validation_file.as_deref())
        .reading(&args.reading)
        .output("-o", output)
        .output_if("--report", args.report.as_deref())
        .check()?;
    let format = Format::of_path(output)?;
    args.report.as_deref().map(check_page).transpose()?;
    let begun = Instant::now();
    let opened = open(args, path, printer)?;
    let reading = begun.elapsed().as_secs_f64();
    // If the run of --from had a given tree, its model holds that tree.
    let is_kept = args.options.get("structure.learner").is_none() && !args.reset.iter().any(|it| it == "tree");
    let given =
        from.as_ref().filter(|file| is_kept && file.provenance().options.get("structure").is_some_and(|name| name == "given"));
    let given = given.and_then(|file| Some((args.from.as_ref()?, ModelFile::from(file.tree().clone()))));
    let tree = match &args.tree {
        Some(file) => Some((file, read_tree_file(file, &[])?)),
        None => given,
    };
    let tree_file = tree.as_ref().map(|(file, _)| (*file).clone());
    if let Some((file, tree)) = tree {
        let schema = match &opened {
            Opened::Rows(rows) => rows.schema(),
            Opened::Moments(moments) => moments.pairs.schema(),
            Opened::Distances(_) => return Err(Error::option("--tree", "it needs data to learn its parameters from").into()),
        };
        // Moments were collected for numbers of states of their own.
        let fitting = match &opened {
            Opened::Rows(_) => learning.tree_of(&tree, schema),
            _ => tree_over(tree.tree(), schema).map(|tree| learning.tree(Some(tree))),
        };
        learning = fitting.map_err(|error| error.in_file(file))?;
    }
    let mut unseen = Unseen::default();
    match (&validation_file, &opened) {
        (None, _) => {}
        (Some(file), Opened::Rows(rows)) => {
            let (held_out, found) = validation(file, args, rows.schema(), tunes, printer)?;
            learning = learning.validation(Some(held_out));
            unseen = found;
        }
        (Some(_), _) => {
            let problem = "it stops EM, which needs rows to learn from; learn from the data";
            return Err(Error::option("selection.validation", problem).into());
        }
    }
    if args.candidates {
        let Opened::Rows(rows) = opened else {
            return Err(Error::option("--candidates", "they are compared by models of rows; learn from the data").into());
        };
        let candidates = learning.candidates(Source::Rows(&*rows), printer).map_err(|error| error.in_file(path))?;
        rows.of_source(|reader| note_unseen(reader, printer));
        return Ok(super::learn_candidates::show(&candidates, printer)?);
    }
    let learned = match &opened {
        Opened::Rows(rows) => learning.run(Source::Rows(&**rows), printer).map(|learned| {
            rows.of_source(|reader| {
                let mut learned = learned.with_data(reader.digest(), serde_json::to_value(&args.reading).ok());
                // Training rows can only have unseen labels if --schema does not list them.
                unseen.labels.extend(note_unseen(reader, printer).labels);
                learned.warnings.splice(0..0, reader.warnings().iter().cloned().chain(unseen.notes()));
                learned
            })
        }),
        Opened::Moments(file) => learning.run(file.source(), printer),
        Opened::Distances(distances) => learning.run(Source::Distances(distances.clone()), printer),
    };
    let mut learned = learned.map_err(|error| match &tree_file {
        Some(file) if matches!(error, Error::Tree { .. }) => error.in_file(file),
        _ => error.in_file(path),
    })?;
    signals::search_is_over();
    learned.stages.insert(0, Stage { name: "reading".to_owned(), seconds: reading });
    write(&learned.file, format, output)?;
    if let Some(page) = &args.report {
        let rows = match &opened {
            Opened::Rows(rows) if matches!(learned.file, ModelFile::LatentTree(_)) => {
                Some(WeightedRows::new(&**rows, learning.options().weight_kind)?)
            }
            _ => None,
        };
        let mut options = PageOptions::new(shown_name(path)).data_name(shown_name(path));
        for stage in &learned.stages {
            options = options.stage(&stage.name, stage.seconds);
        }
        match write_page(page, &learned.file, rows.as_ref().map(|rows| rows as &dyn Rows), &options, printer) {
            Err(error) if error.is_cancelled() && !is_stream(output) => {
                return Err(Failure::Unfinished { written: output.to_path_buf(), missing: page.clone() });
            }
            written => written?,
        }
    }
    if !is_stream(output) {
        show(args, args.options.get("structure.bootstrap"), &learned, &unseen, printer)?;
    }
    if signals::is_interrupted() { Err(Failure::Interrupted) } else { Ok(()) }
}

/// Rejects a checkpoint inside a directory of parts: the next run would read its files as parts.
fn check_checkpoint(args: &LearnArgs) -> Result<()> {
    let (Some(data), Some(checkpoint)) = (&args.data, &args.checkpoint) else { return Ok(()) };
    let data = data.canonicalize().ok().filter(|data| data.is_dir());
    let real =
        checkpoint.ancestors().find_map(|it| if it.as_os_str().is_empty() { Path::new(".") } else { it }.canonicalize().ok());
    match (data, real) {
        (Some(data), Some(real)) if real.starts_with(&data) => {
            let problem = format!("{} is inside the data directory; choose one outside it", checkpoint.display());
            Err(Error::option("--checkpoint", problem))
        }
        _ => Ok(()),
    }
}

/// The options of `--from`, overridden by the command line.
fn learning(args: &LearnArgs, from: Option<&Provenance>, seed: Option<u64>) -> Result<Learning> {
    let mut options = match (&args.from, from) {
        (Some(path), Some(provenance)) => {
            let learn = provenance.learn.clone().ok_or_else(|| {
                Error::option("learn.from", format!("{} does not record the options it was learned with", path.display()))
            })?;
            LearnOptions::from_json(learn)?
        }
        _ => LearnOptions::default(),
    };
    for name in &args.reset {
        if let Some(path) = path_of(name) {
            options.reset(path)?;
        }
    }
    let validation_file = validation_file(args).is_some();
    args.options.apply(&mut options, if validation_file { &["selection.validation"] } else { &[] })?;
    if validation_file {
        options.set("selection.validation", serde_json::Value::Null)?;
    }
    if let Some(kind) = &args.reading.weight_kind {
        options.set("weight_kind", kind.as_str().into())?;
    }
    if let Some(seed) = seed {
        options.set("seed", seed.into())?;
    }
    Ok(Learning::with_options(options).memory(memory(args.memory.as_deref())?).checkpoint(args.checkpoint.clone()))
}

/// The file of `--validation`, unless it is a fraction.
fn validation_file(args: &LearnArgs) -> Option<PathBuf> {
    let value = args.options.get("selection.validation")?;
    let path = PathBuf::from(value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    (value.is_string() || path.exists()).then_some(path)
}

/// Whether the tuning split of a MEDS data set holds the validation rows: a choice by them is asked for, and no others are given.
fn uses_splits(args: &LearnArgs) -> bool {
    let criterion = args.options.get("selection.criterion");
    let is_asked = criterion.is_some_and(|it| it.as_str() == Some("validation"));
    args.reading.meds && is_asked && args.options.get("selection.validation").is_none()
}

/// Validation rows from a file with the columns of the data.
fn validation(
    path: &Path,
    args: &LearnArgs,
    schema: &Arc<Schema>,
    tunes: bool,
    printer: &Printer,
) -> Result<(Validation, Unseen)> {
    let mut options = read_options(&args.reading)?.schema(Arc::clone(schema));
    if tunes {
        options.clinical = Some(ClinicalFormat::Meds { split: Some("tuning".to_owned()) });
    }
    // The training data determine which labels are rare.
    options.min_count = None;
    // They also determine the columns.
    (options.items.min_rows, options.items.max_share, options.items.coverage) = (None, None, None);
    if let Some(text) = &mut options.text {
        (text.min_df, text.max_df, text.coverage) = (None, None, None);
    }
    // Validation rows need no ids.
    options.id = None;
    let mut rows = latentree::data::open(path, &options)?;
    let names = |columns: &[ColIx]| {
        let names = columns.iter().take(5).map(|&column| schema.column(column).name.as_str());
        names.collect::<Vec<_>>().join(", ")
    };
    if !rows.absent_columns().is_empty() {
        let absent = rows.absent_columns();
        return Err(Error::Mismatch {
            left: "the data".to_owned(),
            right: path.display().to_string(),
            problem: format!(
                "{} of the data {} missing: {}; use rows with the same columns",
                counted(absent.len(), "column"),
                if absent.len() == 1 { "is" } else { "are" },
                names(absent)
            ),
        });
    }
    rows.warnings().iter().for_each(|warning| printer.note(warning));
    let dataset = Dataset::read(&mut rows)?;
    let unseen = note_unseen(&rows, printer);
    Ok((Validation::Rows(dataset), unseen))
}

/// The flags of the reading options.
const READING: [&str; 33] = [
    "no-header",
    "events",
    "names",
    "text",
    "column",
    "split",
    "stop",
    "min-df",
    "max-df",
    "encoding",
    "schema",
    "kind",
    "min-count",
    "group",
    "rollup",
    "unmapped",
    "descriptions",
    "meds",
    "omop",
    "subject-split",
    "codes",
    "min-rows",
    "max-share",
    "coverage",
    "min-items",
    "subjects",
    "time",
    "since",
    "until",
    "weights",
    "weight-kind",
    "id",
    "unseen",
];

/// Fails if `--reset` names an option that models do not record.
fn check_reset(args: &LearnArgs) -> Result<()> {
    match args.reset.iter().find(|name| path_of(name).is_none() && !READING.contains(&name.as_str()) && *name != "tree") {
        Some(unknown) => Err(Error::option(
            "--reset",
            format!(
                "{unknown:?} is not an option that --from repeats; give names of learn's options without dashes, such as structure,kind"
            ),
        )),
        None => Ok(()),
    }
}

/// The arguments, with the reading options of `--from` unless they are overridden.
fn with_reading_of(args: &LearnArgs, from: Option<&Provenance>) -> Result<LearnArgs> {
    check_reset(args)?;
    let mut args = args.clone();
    if let Some(read) = from.and_then(|provenance| provenance.read.clone()) {
        let given = serde_json::to_value(&args.reading).unwrap_or_default();
        let mut read = read;
        if let (Some(read), Some(given)) = (read.as_object_mut(), given.as_object()) {
            for name in &args.reset {
                read.remove(&name.replace('-', "_"));
            }
            for name in ["names", "schema", "group", "rollup", "descriptions", "subjects"] {
                let file = read.get(name).and_then(|file| file.as_str().or_else(|| file["file"].as_str()));
                if let Some(file) = file.filter(|file| !given.contains_key(name) && !Path::new(file).exists()) {
                    let problem = format!(
                        "the model was learned with --{name} {file}, which does not exist; pass --{name} FILE, or --reset {name}"
                    );
                    return Err(Error::option("--from", problem));
                }
            }
            read.extend(given.clone());
        }
        args.reading = serde_json::from_value(read)
            .map_err(|error| Error::option("learn.from", format!("its reading options are invalid: {error}")))?;
    }
    Ok(args)
}

fn open(args: &LearnArgs, path: &Path, printer: &Printer) -> Result<Opened> {
    if args.distances.is_some() {
        let given = ["distance.estimator", "parameters.hidden_states", "distance.smoothing"];
        if given.iter().any(|path| args.options.get(path).is_some()) {
            return Err(Error::option(
                "--distances",
                "the distances are given; omit --distance, --hidden-states and --smoothing",
            ));
        }
        refuse_reading(&args.reading, "it controls how data are read, but the input is a distance matrix")?;
        return Ok(Opened::Distances(DistanceMatrix::read(path)?));
    }
    if latentree::file::ending(path) == "moments" {
        refuse_reading(&args.reading, MOMENTS_ARE_READ)?;
        return Ok(Opened::Moments(Box::new(MomentsFile::load(path)?)));
    }
    let mut memory = memory(args.memory.as_deref())?;
    if args.options.get("parameters.method").is_some_and(|method| method == "spectral") {
        memory = MemoryBudget::new(memory.bytes().min(MOST_FOR_FEW_PASSES));
    }
    let rows = CachedRows::new(open_data_once(path, &args.reading, memory, printer)?, memory);
    Ok(Opened::Rows(Box::new(rows)))
}

/// Writes the model, or only its tree if the extension is that of a tree format.
fn write(file: &ModelFile, format: Format, path: &Path) -> Result<()> {
    match format {
        Format::Json => file.write(path),
        format => export(View::from(file), format, path),
    }
}

fn show(
    args: &LearnArgs,
    bootstrap: Option<&serde_json::Value>,
    learned: &Learned,
    unseen: &Unseen,
    printer: &Printer,
) -> std::io::Result<()> {
    let tree = learned.tree();
    let mut json = learned.to_json();
    json["bootstrap"] = json!(bootstrap);
    json["unseen"] = json!(unseen);
    if printer.is_json()
        && let Some(model) = learned.model()
    {
        let goodness = report::goodness(model, None, GoodnessOptions::default(), &Silent).map_err(std::io::Error::other)?;
        json["hidden_variables"] = json!(goodness.hidden_variables);
        json["edge_information"] = json!(goodness.edges);
    }
    let groups = learned.model().map(|model| (model, Groups::of(model)));
    json["groups"] = groups.as_ref().map_or_else(|| json!([]), |(model, groups)| groups.to_json(model));
    printer.result(&json, |out| {
        if let Some(rows) = learned.rows {
            writeln!(out, "rows                 {rows}")?;
        }
        writeln!(out, "observed variables   {}", tree.n_observed())?;
        writeln!(out, "hidden variables     {}", tree.n_hidden())?;
        if !tree.is_connected() {
            writeln!(out, "trees                {}", tree.n_components())?;
        }
        let distance = learned.estimator.map_or(String::new(), |estimator| format!(" on {estimator} distances"));
        writeln!(out, "learned by           {}{distance}", learned.learner)?;
        if let Some(value) = learned.log_likelihood {
            writeln!(out, "log-likelihood       {}", in_full(value))?;
        }
        if let Some(free) = learned.free_parameters {
            writeln!(out, "free parameters      {free}")?;
        }
        if let Some(clipped) = learned.clipped_rows {
            writeln!(out, "clipped rows         {clipped} (estimate not positive, or too small)")?;
        }
        if let Some(bic) = learned.bic {
            writeln!(out, "BIC (larger better)  {}", in_full(bic))?;
        }
        if let Some(value) = learned.validation {
            writeln!(out, "validation, per row  {}", number(value))?;
        }
        if let Some(best) = learned.candidates.iter().max_by(|a, b| a.validation.total_cmp(&b.validation)) {
            let CandidateScore { tree, hidden_states, smoothing, .. } = best;
            writeln!(
                out,
                "chosen               {tree}, {hidden_states} states, smoothing {smoothing:.3}, of {}",
                counted(learned.candidates.len(), "candidate")
            )?;
        }
        if let Some(SplitSummary { strong, weak, removed, .. }) = learned.splits.filter(|it| it.splits + it.removed > 0) {
            writeln!(out, "splits               {strong} strong (>= 95%), {weak} weak (< 50%), {removed} removed")?;
        }
        let shares: Vec<f64> = tree.edges().filter_map(|edge| edge.bootstrap).collect();
        if !shares.is_empty() {
            let n_found = shares.iter().filter(|share| **share >= FOUND_AGAIN).count();
            writeln!(out, "bootstrap            {n_found} of {} splits in 70% of the replicates or more", shares.len())?;
        }
        if learned.interrupted {
            writeln!(out, "interrupted          the best model so far; a longer search may find a better one")?;
        }
        let seconds: f64 = learned.stages.iter().map(|stage| stage.seconds).sum();
        writeln!(out, "seconds              {seconds:.2}")?;
        if let Some(output) = &args.output {
            writeln!(out, "written              {}", output.display())?;
        }
        if let Some(page) = &args.report {
            writeln!(out, "written              {}", page.display())?;
        }
        match &groups {
            Some((model, groups)) => super::groups::write(out, model, groups, args.output.as_deref())?,
            None => write_hidden(out, tree)?,
        }
        if tree.n_nodes() <= SHOWN_NODES {
            let legend = match (learned.splits, bootstrap) {
                (Some(_), _) => "lengths, and support of splits",
                (None, Some(_)) => "lengths, and support by the bootstrap",
                (None, None) => "lengths",
            };
            write!(out, "\ntree ({legend}; hidden variables in parentheses)\n{}", to_text(&learned.file))?;
        }
        Ok(())
    })
}

/// The share of replicates from which a split counts as found again.
const FOUND_AGAIN: f64 = 0.7;
/// Maximum number of hidden variables to list.
const SHOWN_HIDDEN: usize = 30;
/// Number of observed variables that describe a hidden one.
const SHOWN_NEAREST: usize = 4;

/// Lists the hidden variables of a tree without tables, with their nearest observed variables.
fn write_hidden(out: &mut dyn std::io::Write, tree: &Tree) -> std::io::Result<()> {
    let hidden: Vec<NodeIx> = tree.node_ixs().filter(|&node| !tree.is_observed(node)).collect();
    if hidden.is_empty() || hidden.len() > SHOWN_HIDDEN {
        return Ok(());
    }
    writeln!(out, "\nhidden variables and the observed variables nearest to them")?;
    let width = hidden.iter().map(|&node| tree.name(node).chars().count()).max().unwrap_or(0);
    for node in hidden {
        let near: Vec<&str> = nearest(tree, node).into_iter().map(|node| tree.name(node)).collect();
        writeln!(out, "{:width$}  {}", tree.name(node), near.join(", "))?;
    }
    Ok(())
}

/// The observed nodes nearest to a node, by edge length.
fn nearest(tree: &Tree, from: NodeIx) -> Vec<NodeIx> {
    let mut found: Vec<(f64, NodeIx)> = Vec::new();
    let mut stack = vec![(from, None, 0.0)];
    while let Some((node, parent, far)) = stack.pop() {
        if tree.is_observed(node) {
            found.push((far, node));
        }
        let links = tree.links(node).iter().filter(|link| Some(link.to) != parent);
        stack.extend(links.map(|link| (link.to, Some(node), far + link.length.unwrap_or(1.0))));
    }
    found.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    found.into_iter().take(SHOWN_NEAREST).map(|it| it.1).collect()
}
