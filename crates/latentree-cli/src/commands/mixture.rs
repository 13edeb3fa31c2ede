//! `mixture DATA -k K -o MODEL`: flat mixtures and topics by moments.

use std::io::Read as _;
use std::path::Path;

use latentree::data::{CachedRows, ReadOptions, Reader, ResultWriter, Value, WeightedRows};
use latentree::format::{Format, ModelFile, OtherModel, export};
use latentree::mixture::{Agreement, MixtureFamily, MixtureFit, MixtureModel, MixtureOptions, fit_mixture, stability};
use latentree::model::Provenance;
use latentree::{Error, MemoryBudget, Result, counted};
use serde_json::{Value as Json, json};

use super::files::Files;
use super::row_table::row_ids;
use super::{is_stream, note_unseen, open_reader, read_options, weight_kind};
use crate::Failure;
use crate::data_args::DataArgs;
use crate::mixture_args::MixtureArgs;
use crate::printer::{Printer, in_full};

/// Relevant features of a component that are shown.
const SHOWN: usize = 6;

pub(crate) fn run(args: &MixtureArgs, seed: u64, printer: &Printer) -> Result<(), Failure> {
    let mut options = MixtureOptions::new(args.components.parse()?).em(args.em).seed(seed);
    options.family = args.family.as_deref().map(str::parse).transpose()?;
    options.method = args.method.as_deref().map(str::parse).transpose()?;
    options.alpha = args.alpha.as_deref().map(str::parse).transpose()?;
    Files::new()
        .data("DATA", &args.data)
        .reading(&args.reading)
        .input_if("--truth", args.truth.as_deref())
        .output("-o", &args.output)
        .output_if("--labels", args.labels.as_deref())
        .check()?;
    let format = Format::of_path(&args.output)?;
    if options.family == Some(MixtureFamily::Lda) && format != Format::Json {
        let problem = "an lda model is no tree, so only JSON can hold it; use an output that ends in .json";
        return Err(Error::option("-o", problem).into());
    }
    let rows = open_rows(&args.data, &args.reading, options.family, printer)?;
    let weighted = WeightedRows::new(&rows, weight_kind(&args.reading)?).map_err(|error| error.in_file(&args.data))?;
    let mut fit = fit_mixture(&weighted, &options, printer).map_err(|error| error.in_file(&args.data))?;
    let agreement = args.truth.as_deref().map(|path| agreement(path, &fit.labels)).transpose()?;
    let stable = args
        .stability
        .map(|runs| {
            stability(&weighted, usize::from(runs), seed, |rows| Ok(fit_mixture(rows, &options, &latentree::Silent)?.labels))
        })
        .transpose()?;
    let (digest, read) = rows.of_source(|reader| (reader.digest(), serde_json::to_value(&args.reading).ok()));
    let with_data =
        |provenance: &Provenance| Provenance { data_digest: digest.clone(), read: read.clone(), ..provenance.clone() };
    fit.model = match fit.model {
        MixtureModel::Star(model) => {
            let provenance = with_data(model.provenance());
            MixtureModel::Star(model.with_provenance(provenance))
        }
        MixtureModel::Topics(model) => {
            let provenance = with_data(model.provenance());
            MixtureModel::Topics(model.with_provenance(provenance))
        }
        other => other,
    };
    let unseen = rows.of_source(|reader| note_unseen(reader, printer));
    fit.warnings.iter().for_each(|warning| printer.note(warning));
    match &fit.model {
        MixtureModel::Star(model) => export(&ModelFile::from(model.clone()), format, &args.output)?,
        MixtureModel::Topics(model) => OtherModel::Topics(model.clone()).write(&args.output)?,
        _ => unreachable!("all kinds of models are known"),
    }
    if let Some(path) = &args.labels {
        write_labels(path, &rows, &args.reading, fit.labels.iter().map(ToString::to_string))?;
    }
    if is_stream(&args.output) {
        return Ok(());
    }
    let mut json = fit.to_json();
    json["unseen"] = serde_json::to_value(unseen).unwrap_or_default();
    add_measures(&mut json, agreement.as_ref(), stable);
    printer.result(&json, |out| show(&fit, agreement.as_ref(), stable, args, out))?;
    Ok(())
}

fn show(
    fit: &MixtureFit,
    agreement: Option<&Agreement>,
    stable: Option<f64>,
    args: &MixtureArgs,
    out: &mut dyn std::io::Write,
) -> std::io::Result<()> {
    let components = counted(fit.weights.len(), "component");
    writeln!(out, "{}, {components}, family {}, method {}", counted(fit.labels.len(), "row"), fit.family, fit.method)?;
    for (component, (weight, size)) in fit.weights.iter().zip(&fit.sizes).enumerate() {
        let relevant = &fit.relevant[component];
        let shown = relevant[..relevant.len().min(SHOWN)].join(", ");
        writeln!(out, "{component:>4}  {:>5.1}%  {size:>8} rows  {shown}", 100.0 * weight)?;
    }
    let what = if matches!(fit.model, MixtureModel::Topics(_)) { "bound of log-likelihood" } else { "log-likelihood" };
    writeln!(out, "{what}  {}    BIC (larger better)  {}", in_full(fit.log_likelihood), in_full(fit.bic))?;
    if let Some((passes, converged)) = fit.em {
        writeln!(out, "EM: {passes} passes, {}", if converged { "converged" } else { "not converged" })?;
    }
    show_measures(agreement, stable, out)?;
    writeln!(out, "written to {}", args.output.display())
}

/// Opens rows that are kept in memory if they fit. A named family sets the kinds of columns that the user has not set.
pub(super) fn open_rows(
    path: &Path,
    args: &DataArgs,
    family: Option<MixtureFamily>,
    printer: &Printer,
) -> Result<CachedRows<Reader>> {
    let memory = MemoryBudget::of_machine();
    let mut options: ReadOptions = read_options(args)?.keep_bytes(memory.for_rows());
    if args.kind.is_empty()
        && args.schema.is_none()
        && let Some(kind) = family.and_then(MixtureFamily::column_kind)
    {
        options = options.kind("*", kind);
    }
    Ok(CachedRows::new(open_reader(path, options, printer)?, memory))
}

/// Writes a label for every row, after its id or number.
pub(super) fn write_labels(
    path: &Path,
    rows: &CachedRows<Reader>,
    args: &DataArgs,
    labels: impl Iterator<Item = String>,
) -> Result<()> {
    let ids = row_ids(rows, args)?;
    let id_name = ids.as_ref().map_or("row", |(name, _)| name);
    let mut writer = ResultWriter::create(path, &[id_name, if id_name == "label" { "label'" } else { "label" }])?;
    for (row, label) in labels.enumerate() {
        let id = match &ids {
            Some((_, ids)) => ids.get(row).map_or(Value::Missing, |id| Value::Text(id)),
            None => Value::Integer(row as u64 + 1),
        };
        writer.write_row(&[id, Value::Text(&label)])?;
    }
    writer.finish()
}

/// How well labels agree with those of a file.
pub(super) fn agreement(path: &Path, labels: &[usize]) -> Result<Agreement> {
    let mut text = String::new();
    latentree::file::open(path)?.read_to_string(&mut text).map_err(Error::io("read", path))?;
    let mut lines: Vec<&str> = text.lines().map(|line| line.trim_end_matches('\r')).filter(|line| !line.is_empty()).collect();
    let fields = |line: &str| line.split(',').map(|field| field.trim().trim_matches('"').to_owned()).collect::<Vec<_>>();
    let header = lines.first().map(|line| fields(line)).unwrap_or_default();
    let column = header.iter().position(|name| name == "label");
    if column.is_some() || (header.len() == 1 && lines.len() == labels.len() + 1) {
        lines.remove(0);
    }
    if column.is_none() && header.len() > 1 {
        let problem = format!(
            "{} has {} columns and none is called \"label\"; name the one with the labels so, or give a file of one column",
            path.display(),
            header.len()
        );
        return Err(Error::option("--truth", problem));
    }
    if lines.len() != labels.len() {
        let problem = format!(
            "{} has {} labels, the data have {} rows; give one label for every row",
            path.display(),
            lines.len(),
            labels.len()
        );
        return Err(Error::option("--truth", problem));
    }
    let mut known = std::collections::HashMap::new();
    let mut truth = Vec::with_capacity(lines.len());
    for line in lines {
        let label = fields(line).into_iter().nth(column.unwrap_or(0)).unwrap_or_default();
        let next = known.len();
        truth.push(*known.entry(label).or_insert(next));
    }
    Agreement::of(labels, &truth)
}

pub(super) fn add_measures(json: &mut Json, agreement: Option<&Agreement>, stable: Option<f64>) {
    if let Some(agreement) = agreement {
        json["truth"] = json!({
            "adjusted_rand": agreement.adjusted_rand,
            "normalized_mutual_information": agreement.normalized_mutual_information,
            "adjusted_mutual_information": agreement.adjusted_mutual_information,
        });
    }
    if let Some(stable) = stable {
        json["stability"] = stable.into();
    }
}

pub(super) fn show_measures(
    agreement: Option<&Agreement>,
    stable: Option<f64>,
    out: &mut dyn std::io::Write,
) -> std::io::Result<()> {
    if let Some(it) = agreement {
        writeln!(
            out,
            "agreement with the truth: adjusted Rand {:.3}, NMI {:.3}, AMI {:.3}",
            it.adjusted_rand, it.normalized_mutual_information, it.adjusted_mutual_information
        )?;
    }
    if let Some(stable) = stable {
        writeln!(out, "stability {stable:.3}")?;
    }
    Ok(())
}
