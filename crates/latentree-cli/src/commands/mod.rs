//! One file per command. Shared code is here: opening data, models and evidence.

mod classify;
mod cluster;
mod compare;
mod describe;
mod describe_model;
mod distances;
mod export;
mod federate;
mod files;
mod groups;
mod infer;
mod learn;
mod learn_candidates;
mod merge;
mod mixture;
mod moments;
mod names;
mod other_models;
mod query;
mod report;
mod row_table;
mod sample;
mod score;
mod shell;
mod simulate;
mod spectral;
mod topics;

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use latentree::data::{BatchSource, ClinicalFormat, KindOverride, ReadOptions, Reader, Schema, Unseen, WeightKind};
use latentree::format::{Format, ModelFile, ReadModelOptions, read_model};
use latentree::inference::Evidence;
use latentree::model::{LatentTree, Provenance};
use latentree::moments::PairOptions;
use latentree::report::{Groups, find_node};
use latentree::{Error, MemoryBudget, NodeIx, Result, counted};

use crate::Failure;
use crate::args::{Cli, Command, ModelArgs};
use crate::data_args::DataArgs;
use crate::group_file::GroupFile;
use crate::printer::Printer;

/// Runs a command.
pub(crate) fn run(cli: Cli, printer: &Printer) -> Result<(), Failure> {
    let seed = cli.global.seed.unwrap_or(0);
    match cli.command {
        Command::Describe(args) => describe::run(&args, printer),
        Command::Learn(args) => learn::run(&args, cli.global.seed, printer),
        Command::Classify(args) => classify::run(&args, printer),
        Command::Score(args) => score::run(&args, printer),
        Command::Query(args) => query::run(&args, printer),
        Command::Infer(args) => infer::run(&args, seed, printer),
        Command::Sample(args) => sample::run(&args, seed, printer),
        Command::Simulate(args) => simulate::run(&args, seed, printer),
        Command::Compare(args) => compare::run(&args, seed, printer),
        Command::Export(args) => export::run(&args, printer),
        Command::Topics(args) => topics::run(&args, seed, printer),
        Command::Moments(args) => moments::run(&args, seed, printer),
        Command::Federate(args) => federate::run(&args, cli.global.seed, printer),
        Command::Merge(args) => merge::run(&args, printer),
        Command::Distances(args) => distances::run(&args, printer),
        Command::Report(args) => report::run(&args, printer),
        Command::Mixture(args) => mixture::run(&args, seed, printer),
        Command::Cluster(args) => cluster::run(&args, seed, printer),
        Command::Completions { shell } => shell::completions(shell),
        Command::Man { output } => shell::manual(&output, printer),
    }
}

/// Converts the reading options for the library.
fn read_options(args: &DataArgs) -> Result<ReadOptions> {
    if args.weight_kind.is_some() && args.weights.is_none() {
        return Err(Error::option(
            "--weight-kind",
            "it defines what weights mean, but there are none; name their column with --weights",
        ));
    }
    if args.subject_split.is_some() && !args.meds {
        return Err(Error::option("--subject-split", "only a MEDS data set has splits; add --meds, or leave it out"));
    }
    let mut options = ReadOptions::default().header(!args.no_header);
    if let Some(events) = &args.events {
        let parts: Vec<&str> = events.split(',').collect();
        let (row, item, value) = match parts[..] {
            [row, item] if !row.is_empty() && !item.is_empty() => (row, item, None),
            [row, item, value] if !row.is_empty() && !item.is_empty() && !value.is_empty() => (row, item, Some(value.to_owned())),
            _ => return Err(Error::option("--events", format!("{events:?} is not ROW,ITEM or ROW,ITEM,VALUE"))),
        };
        options = options.events(row, item, value);
    }
    if let Some(text) = crate::text_args::text_options(args)? {
        options = options.text(text);
    }
    for kind in &args.kind {
        let parsed = kind.rsplit_once('=').and_then(|(name, kind)| Some((name, KindOverride::parse(kind)?)));
        let (name, kind) = parsed.ok_or_else(|| {
            let kinds = "categorical, binary, continuous, count or ignore";
            Error::option("--kind", format!("{kind:?} given; expected NAME=KIND, where KIND is {kinds}"))
        })?;
        options = options.kind(name, kind);
    }
    for given in &args.na {
        let (name, values) = given.rsplit_once('=').unwrap_or(("*", given));
        for value in values.split(',') {
            if name.is_empty() || value.trim().is_empty() {
                return Err(Error::option("--na", format!("{given:?} given; expected VALUE,VALUE or NAME=VALUE,VALUE")));
            }
            options = options.na(name, value);
        }
    }
    if let Some(names) = &args.names {
        options = options.names(names);
    }
    if let Some(encoding) = &args.encoding {
        options = options.encoding(encoding.parse()?);
    }
    if let Some(min_count) = args.min_count {
        options = options.min_count(min_count);
    }
    if let Some(schema) = &args.schema {
        options = options.schema_file(schema);
    }
    if let Some(group) = &args.group {
        options = options.group(group.file());
        if let Some((item, group)) = group.columns() {
            options = options.group_columns(item, group);
        }
    }
    options = clinical_options(options, args);
    if let Some(weights) = &args.weights {
        options = options.weights(weights);
    }
    if let Some(unseen) = &args.unseen {
        options = options.unseen(unseen.parse()?);
    }
    if let Some(id) = &args.id {
        options = options.id(id);
    }
    Ok(options)
}

/// Adds what concerns events, codes and clinical data sets.
fn clinical_options(mut options: ReadOptions, args: &DataArgs) -> ReadOptions {
    options.rollup = args.rollup.as_ref().map(GroupFile::item_file);
    options.drop_unmapped = args.unmapped.as_deref() == Some("drop");
    options.descriptions = args.descriptions.as_ref().map(GroupFile::item_file);
    options.items.codes.clone_from(&args.codes);
    options.items.min_rows = args.min_rows;
    options.items.max_share = args.max_share;
    options.items.coverage = args.coverage.filter(|_| !args.text);
    options.items.min_items = args.min_items;
    options.items.subjects.clone_from(&args.subjects);
    options.times.column.clone_from(&args.time);
    options.times.since.clone_from(&args.since);
    options.times.until.clone_from(&args.until);
    options.clinical = match (args.meds, args.omop) {
        (true, _) => Some(ClinicalFormat::Meds { split: args.subject_split.clone() }),
        (false, true) => Some(ClinicalFormat::Omop),
        (false, false) => None,
    };
    options
}

/// Rejects reading options if no data are read, because they would be ignored.
fn refuse_reading(args: &DataArgs, reason: &str) -> Result<()> {
    let given = [
        ("--no-header", args.no_header),
        ("--events", args.events.is_some()),
        ("--names", args.names.is_some()),
        ("--text", args.text),
        ("--column", args.column.is_some()),
        ("--split", args.split.is_some()),
        ("--stop", args.stop.is_some()),
        ("--min-df", args.min_df.is_some()),
        ("--max-df", args.max_df.is_some()),
        ("--encoding", args.encoding.is_some()),
        ("--schema", args.schema.is_some()),
        ("--kind", !args.kind.is_empty()),
        ("--na", !args.na.is_empty()),
        ("--min-count", args.min_count.is_some()),
        ("--group", args.group.is_some()),
        ("--rollup", args.rollup.is_some()),
        ("--descriptions", args.descriptions.is_some()),
        ("--meds", args.meds),
        ("--omop", args.omop),
        ("--subject-split", args.subject_split.is_some()),
        ("--codes", !args.codes.is_empty()),
        ("--min-rows", args.min_rows.is_some()),
        ("--max-share", args.max_share.is_some()),
        ("--coverage", args.coverage.is_some()),
        ("--min-items", args.min_items.is_some()),
        ("--subjects", args.subjects.is_some()),
        ("--time", args.time.is_some()),
        ("--since", args.since.is_some()),
        ("--until", args.until.is_some()),
        ("--weights", args.weights.is_some()),
        ("--id", args.id.is_some()),
        ("--unseen", args.unseen.is_some()),
    ];
    match given.iter().find(|(_, is_given)| *is_given) {
        Some((option, _)) => Err(Error::option(*option, format!("{reason}; leave it out"))),
        None => Ok(()),
    }
}

/// Checks the extension of a page.
fn check_page(path: &Path) -> Result<()> {
    latentree::file::known_ending(path, "a page", &["html", "htm"]).map(|_| ())
}

/// Checks the extension of a moments file.
fn check_moments(path: &Path) -> Result<()> {
    latentree::file::known_ending(path, "moments", &["moments"]).map(|_| ())
}

/// Notes what the model does not know. Call this after all rows have been read.
fn note_unseen(reader: &Reader, printer: &Printer) -> Unseen {
    let unseen = reader.unseen();
    unseen.notes().iter().for_each(|note| printer.note(note));
    unseen
}

/// The meaning of the weights.
fn weight_kind(args: &DataArgs) -> Result<WeightKind> {
    args.weight_kind.as_deref().unwrap_or("sampling").parse()
}

/// Memory of commands that read rows only a few times: rows that fit in half of it are kept, otherwise they are read again.
const LITTLE_MEMORY: MemoryBudget = MemoryBudget::new(256 << 20);

/// The memory limit of `--memory`.
fn memory(size: Option<&str>) -> Result<MemoryBudget> {
    size.map_or_else(|| Ok(MemoryBudget::of_machine()), str::parse)
}

/// Settings of pair moments within `--memory`.
fn pair_options(size: Option<&str>) -> Result<PairOptions> {
    Ok(PairOptions::default().memory_limit(memory(size)?.bytes()))
}

/// Opens data, inferring kinds.
fn open_data(path: &Path, args: &DataArgs, printer: &Printer) -> Result<Reader> {
    open_data_once(path, args, MemoryBudget::new(0), printer)
}

/// Opens data, inferring kinds, and keeps the rows in memory if they fit, so that the file is parsed once.
fn open_data_once(path: &Path, args: &DataArgs, memory: MemoryBudget, printer: &Printer) -> Result<Reader> {
    open_reader(path, read_options(args)?.keep_bytes(memory.for_rows()), printer)
}

/// Opens data, and notes how they are read.
fn open_reader(path: &Path, options: ReadOptions, printer: &Printer) -> Result<Reader> {
    let reader = latentree::data::open(path, &options)?;
    for warning in reader.warnings() {
        printer.note(warning);
    }
    Ok(reader)
}

/// Opens a model and data with its schema, and notes which of the model's columns are absent.
///
/// Nodes of a BIF model that are not columns of the data are hidden.
fn open_model_and_data(model: &ModelArgs, path: &Path, args: &DataArgs, printer: &Printer) -> Result<(LatentTree, Reader)> {
    open_model_and_data_with(model, path, read_options(args)?, printer)
}

/// The same with modified reading options.
fn open_model_and_data_with(
    model: &ModelArgs,
    path: &Path,
    options: ReadOptions,
    printer: &Printer,
) -> Result<(LatentTree, Reader)> {
    let (file, reader) = open_file_and_data_with(model, path, options, printer)?;
    Ok((file.into_latent_tree().map_err(|error| error.in_file(&model.model))?, reader))
}

/// The same for a model of any kind but a tree alone.
fn open_file_and_data_with(
    model: &ModelArgs,
    path: &Path,
    options: ReadOptions,
    printer: &Printer,
) -> Result<(ModelFile, Reader)> {
    if is_stream(&model.model) && is_stream(path) {
        return Err(Error::option("-", "MODEL and DATA cannot both come from standard input; use a file for one of them"));
    }
    let open = |columns: Option<&[String]>| match open_model_file(&model.model, &model.hidden, columns)? {
        spectral @ ModelFile::Spectral(_) => Ok(spectral),
        other => other.into_latent_tree().map(ModelFile::from).map_err(|error| error.in_file(&model.model)),
    };
    // A model file says which nodes are hidden, so the data need not be inspected first.
    let (file, reader) = if Format::by_ending(&model.model) == Some(Format::Json) {
        let file = open(None)?;
        let provenance = match &file {
            ModelFile::LatentTree(model) => Some(model.provenance()),
            ModelFile::Spectral(model) => Some(model.provenance()),
            _ => None,
        };
        let hint = provenance.and_then(|provenance| rollup_hint(provenance, &options));
        let reader = open_with_hint(path, &options.schema(Arc::clone(schema_of(&file))), hint, printer)?;
        (file, reader)
    } else {
        let first = latentree::data::open(path, &options)?;
        let columns: Vec<String> = first.schema().columns().iter().map(|column| column.name.clone()).collect();
        let file = open(Some(&columns))?;
        let reader = first.reopen(&options.schema(Arc::clone(schema_of(&file))))?;
        (file, reader)
    };
    let schema = schema_of(&file);
    for warning in reader.warnings() {
        printer.note(warning);
    }
    let absent = reader.absent_columns();
    if !absent.is_empty() {
        let names: Vec<&str> = absent.iter().take(5).map(|&column| reader.schema().column(column).name.as_str()).collect();
        let more = if absent.len() > names.len() { ", …" } else { "" };
        let n_columns = schema.columns().len();
        printer.note(&format!(
            "{} of the model's {} {} not in {} and {} as missing: {}{more}",
            absent.len(),
            counted(n_columns, "column"),
            if absent.len() == 1 { "is" } else { "are" },
            path.display(),
            if absent.len() == 1 { "counts" } else { "count" },
            names.join(", ")
        ));
    }
    Ok((file, reader))
}

/// What to say if data do not have the columns of a model that was learned with a roll-up, and no roll-up is given.
fn rollup_hint(provenance: &Provenance, options: &ReadOptions) -> Option<String> {
    let read: DataArgs = serde_json::from_value(provenance.read.clone()?).ok()?;
    let rollup = read.rollup.filter(|_| options.rollup.is_none())?;
    let unmapped = read.unmapped.map_or_else(String::new, |unmapped| format!(" --unmapped {unmapped}"));
    Some(format!("the model was learned with --rollup {rollup}{unmapped}; add the same to read these data as it did"))
}

/// Opens data for a model, with a hint if they have other columns.
fn open_with_hint(path: &Path, options: &ReadOptions, hint: Option<String>, printer: &Printer) -> Result<Reader> {
    let opened = latentree::data::open(path, options);
    let is_other = |reader: &Reader| !reader.absent_columns().is_empty() || reader.unseen().columns.is_some();
    if let Some(hint) = hint.filter(|_| opened.as_ref().map_or(true, is_other)) {
        printer.note(&hint);
    }
    opened
}

/// The columns of a model.
fn schema_of(file: &ModelFile) -> &Arc<Schema> {
    match file {
        ModelFile::LatentTree(model) => model.schema(),
        ModelFile::Spectral(model) => model.schema(),
        _ => unreachable!("a tree alone was refused"),
    }
}

/// Whether a path is standard input or output.
fn is_stream(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Reads a model with its parameters.
fn open_model(path: &Path, hidden: &[String], data_columns: Option<&[String]>) -> Result<LatentTree> {
    open_model_file(path, hidden, data_columns)?.into_latent_tree().map_err(|error| error.in_file(path))
}

/// Reads a model or a bare tree.
fn open_model_file(path: &Path, hidden: &[String], data_columns: Option<&[String]>) -> Result<ModelFile> {
    read_model(path, &ReadModelOptions { hidden: hidden.to_vec(), data_columns })
}

/// The name of a node or column, for the code that the data have for it.
fn named_in<'a>(model: &'a LatentTree, name: &'a str) -> &'a str {
    let is_name = model.tree().find(name).is_some() || model.schema().find_column(name).is_some();
    model.schema().name_of_code(name).filter(|_| !is_name).unwrap_or(name)
}

/// Whether the model has a node or column of this name or code.
fn is_known(model: &LatentTree, name: &str) -> bool {
    let schema = model.schema();
    model.tree().find(name).is_some() || schema.find_column(name).is_some() || schema.name_of_code(name).is_some()
}

/// Evidence from `--given a=1,b=x`; see [`names::assignments`].
fn evidence(model: &LatentTree, given: &[String]) -> Result<Evidence> {
    let mut evidence = Evidence::none(model);
    let mut seen = HashSet::new();
    let is_known = |name: &str| is_known(model, name);
    let groups = std::cell::OnceCell::new();
    // Labels are only tried if no name matches.
    let labelled = |label: &str| groups.get_or_init(|| Groups::of(model)).find(model, label);
    let is_label = |name: &str| labelled(name).is_ok_and(|node| node.is_some());
    for option in given {
        let mut found = names::assignments(option, &is_known, &is_label)?;
        // A label may begin with the name of a column, as in `education=PS · income=1`.
        if found.iter().any(|(_, value)| value.contains('=')) {
            found = names::assignments(option, &|name| is_known(name) || is_label(name), &is_label)?;
        }
        for (name, value) in found {
            let name = named_in(model, &name).to_owned();
            let name = match is_known(&name) {
                true => name,
                false => labelled(&name)?.map_or(name, |node| model.tree().name(node).to_owned()),
            };
            evidence.set(model, &name, &value)?;
            if !seen.insert(name.clone()) {
                return Err(Error::option("--given", format!("{name:?} is given twice")));
            }
        }
    }
    Ok(evidence)
}

/// The nodes of `--of a,b`; see [`names::listed`].
fn asked(model: &LatentTree, of: &[String]) -> Result<Vec<NodeIx>> {
    let groups = std::cell::OnceCell::new();
    let is_label = |name: &str| groups.get_or_init(|| Groups::of(model)).find(model, name).is_ok_and(|node| node.is_some());
    let names = of.iter().flat_map(|option| names::listed(option, &|name| is_known(model, name), &is_label));
    names.map(|name| find_node(model, name)).collect()
}
