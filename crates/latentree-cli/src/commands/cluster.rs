//! `cluster DATA (--depth D | --leaves K) -o OUT.json`: hierarchies by moments.

use latentree::clusters::{ClusterOptions, Extent, fit_clusters};
use latentree::data::WeightedRows;
use latentree::format::{Format, OtherModel, clusters_to_text};
use latentree::mixture::stability;
use latentree::model::Provenance;
use latentree::{Error, Result, counted};

use super::files::Files;
use super::mixture::{add_measures, agreement, open_rows, show_measures, write_labels};
use super::{is_stream, note_unseen, weight_kind};
use crate::Failure;
use crate::mixture_args::ClusterArgs;
use crate::printer::Printer;

/// Nodes of a hierarchy that is shown in full.
const SHOWN_NODES: usize = 63;

/// Agreement of two hierarchies of nearly the same rows below which leaves are called unstable.
const STABLE: f64 = 0.8;

pub(crate) fn run(args: &ClusterArgs, seed: u64, printer: &Printer) -> Result<(), Failure> {
    let extent = match (&args.depth, &args.leaves) {
        (Some(depth), _) => Extent::depth(depth)?,
        (None, Some(leaves)) => Extent::leaves(leaves)?,
        (None, None) => return Err(Error::option("--depth", "pass --depth or --leaves").into()),
    };
    let mut options = ClusterOptions::new(extent).em(args.em).min_size(args.min_size as usize).seed(seed);
    options.family = args.family.as_deref().map(str::parse).transpose()?;
    if let Some(method) = &args.method {
        options.method = method.parse()?;
    }
    Files::new()
        .data("DATA", &args.data)
        .reading(&args.reading)
        .input_if("--truth", args.truth.as_deref())
        .output("-o", &args.output)
        .output_if("--labels", args.labels.as_deref())
        .check()?;
    if !is_stream(&args.output) && Format::of_path(&args.output)? != Format::Json {
        let problem = "a hierarchy is written as .json; convert it with export";
        return Err(Error::option("-o", problem).into());
    }
    let rows = open_rows(&args.data, &args.reading, options.family, printer)?;
    let weighted = WeightedRows::new(&rows, weight_kind(&args.reading)?).map_err(|error| error.in_file(&args.data))?;
    let fit = fit_clusters(&weighted, &options, printer).map_err(|error| error.in_file(&args.data))?;
    let agreement = args.truth.as_deref().map(|path| agreement(path, &fit.labels)).transpose()?;
    let stable = args
        .stability
        .map(|runs| {
            stability(&weighted, usize::from(runs), seed, |rows| Ok(fit_clusters(rows, &options, &latentree::Silent)?.labels))
        })
        .transpose()?;
    let (digest, read) = rows.of_source(|reader| (reader.digest(), serde_json::to_value(&args.reading).ok()));
    let provenance = Provenance { data_digest: digest, read, ..fit.model.provenance().clone() };
    let model = fit.model.clone().with_provenance(provenance);
    let unseen = rows.of_source(|reader| note_unseen(reader, printer));
    let mut warnings = fit.warnings.clone();
    if let Some(stable) = stable.filter(|&stable| stable < STABLE) {
        warnings.push(format!(
            "the leaves are unstable: hierarchies of samples of the rows agree by {stable:.2} on average; use fewer leaves, or more rows"
        ));
    }
    warnings.iter().for_each(|warning| printer.note(warning));
    OtherModel::Clusters(model.clone()).write(&args.output)?;
    let nodes = model.nodes();
    if let Some(path) = &args.labels {
        write_labels(path, &rows, &args.reading, fit.labels.iter().map(|&leaf| nodes[leaf].name.clone()))?;
    }
    if is_stream(&args.output) {
        return Ok(());
    }
    let mut json = fit.to_json();
    json["unseen"] = serde_json::to_value(unseen).unwrap_or_default();
    json["warnings"] = warnings.into();
    add_measures(&mut json, agreement.as_ref(), stable);
    printer.result(&json, |out| {
        let leaves = match model.leaves().count() {
            1 => "1 leaf".to_owned(),
            n => format!("{n} leaves"),
        };
        writeln!(out, "{} in {leaves}", counted(fit.labels.len() as u64, "row"))?;
        if nodes.len() <= SHOWN_NODES {
            write!(out, "{}", clusters_to_text(&model))?;
        }
        show_measures(agreement.as_ref(), stable, out)?;
        writeln!(out, "written to {}", args.output.display())
    })?;
    Ok(())
}
