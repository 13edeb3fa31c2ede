//! `report MODEL [DATA] -o OUT.html`: writes a self-contained interactive page.

use std::path::Path;
use std::sync::Arc;

use latentree::classifier::{Classifier, classifier_page};
use latentree::data::{CachedRows, Dataset, Rows, WeightedRows};
use latentree::format::{ModelFile, OtherModel};
use latentree::report::{Grouping, PageOptions, cluster_page, page, spectral_page};
use latentree::{Error, Result, counted};
use serde_json::json;

use super::files::Files;
use super::other_models::check_columns;
use super::simulate::{is_newick, read_tree};
use super::{
    LITTLE_MEMORY, check_page, is_stream, note_unseen, open_file_and_data_with, open_model_file, open_reader, read_options,
    refuse_reading, weight_kind,
};
use crate::Failure;
use crate::args::ReportArgs;
use crate::printer::Printer;

pub(crate) fn run(args: &ReportArgs, printer: &Printer) -> Result<(), Failure> {
    let path = &args.model.model;
    if args.data.is_none() {
        refuse_reading(&args.reading, "it controls how data are read, but there are none")?;
    }
    Files::new()
        .input("MODEL", path)
        .data_if("DATA", args.data.as_deref())
        .reading(&args.reading)
        .output("-o", &args.output)
        .check()?;
    check_page(&args.output)?;
    let title = args.title.clone().unwrap_or_else(|| shown_name(path));
    if let Some(classifier) = (!is_stream(path)).then(|| Classifier::read(path).ok()).flatten() {
        return of_classifier(&classifier, args, &title, printer);
    }
    let mut options = PageOptions::new(title);
    if let Some(other) = OtherModel::read(path)? {
        return grouped(&other, args, options, printer);
    }
    let mut unseen = None;
    let (file, html) = match &args.data {
        Some(data) if is_newick(path) => {
            let problem = format!(
                "a tree has no probabilities for the rows of {}; omit the data, or learn a model (learn --tree)",
                data.display()
            );
            return Err(Error::data(latentree::Place::file(path), problem).into());
        }
        Some(data) => {
            options = options.data_name(shown_name(data));
            let (file, reader) = open_file_and_data_with(&args.model, data, read_options(&args.reading)?, printer)?;
            let rows = CachedRows::new(reader, LITTLE_MEMORY);
            let weighted = WeightedRows::new(&rows, weight_kind(&args.reading)?).map_err(|error| error.in_file(data))?;
            let html = html(&file, Some(&weighted), &options, printer)?;
            unseen = Some(rows.of_source(|reader| note_unseen(reader, printer)));
            (file, html)
        }
        None => {
            let file = if is_newick(path) {
                read_tree(path, &args.model.hidden)?.into()
            } else {
                open_model_file(path, &args.model.hidden, None)?
            };
            let html = html(&file, None, &options, printer).map_err(|error| error.in_file(path))?;
            (file, html)
        }
    };
    save(&args.output, &html)?;
    if !is_stream(&args.output) {
        let tree = file.tree();
        let json = json!({
            "nodes": tree.n_nodes(),
            "observed": tree.n_observed(),
            "hidden": tree.n_hidden(),
            "bytes": html.len(),
            "unseen": unseen,
        });
        printer.result(&json, |out| {
            writeln!(out, "page of {} written to {}", counted(tree.n_nodes(), "node"), args.output.display())
        })?;
    }
    Ok(())
}

/// The page of a model of any kind.
fn html(file: &ModelFile, rows: Option<&dyn Rows>, options: &PageOptions, printer: &Printer) -> Result<String> {
    match file {
        ModelFile::Spectral(model) => spectral_page(model, rows, options, printer),
        ModelFile::LatentTree(model) => match Grouping::of_mixture(model) {
            Some(mixture) => cluster_page(mixture, rows, options, printer),
            None => page(file, rows, options, printer),
        },
        other => page(other, rows, options, printer),
    }
}

/// The page of a classifier; with data that have the target, the labels that they were given.
fn of_classifier(classifier: &Classifier, args: &ReportArgs, title: &str, printer: &Printer) -> Result<(), Failure> {
    let results = match &args.data {
        None => None,
        Some(data) => {
            let options = read_options(&args.reading)?.schema(Arc::new(classifier.schema_with_target()?));
            let mut reader = open_reader(data, options, printer)?;
            let rows = Dataset::read(&mut reader)?;
            note_unseen(&reader, printer);
            Some(classifier.evaluate(&rows, None)?)
        }
    };
    let html = classifier_page(classifier, results.as_ref(), title);
    save(&args.output, &html)?;
    if !is_stream(&args.output) {
        let accuracy = results.as_ref().filter(|it| it.rows() > 0).map(latentree::classifier::Results::accuracy);
        let json = json!({"labels": classifier.labels(), "accuracy": accuracy, "bytes": html.len()});
        printer.result(&json, |out| {
            writeln!(out, "page of {} written to {}", counted(classifier.labels().len(), "label"), args.output.display())
        })?;
    }
    Ok(())
}

/// The page of topics or of a hierarchy.
fn grouped(model: &OtherModel, args: &ReportArgs, mut options: PageOptions, printer: &Printer) -> Result<(), Failure> {
    let mut unseen = None;
    let html = match &args.data {
        None => cluster_page(model.into(), None, &options, printer)?,
        Some(data) => {
            options = options.data_name(shown_name(data));
            let reading = read_options(&args.reading)?.schema(Arc::clone(model.schema()));
            let reader = open_reader(data, reading, printer)?;
            check_columns(&reader)?;
            let rows = CachedRows::new(reader, LITTLE_MEMORY);
            let weighted = WeightedRows::new(&rows, weight_kind(&args.reading)?).map_err(|error| error.in_file(data))?;
            let html = cluster_page(model.into(), Some(&weighted), &options, printer).map_err(|error| error.in_file(data))?;
            unseen = Some(rows.of_source(|reader| note_unseen(reader, printer)));
            html
        }
    };
    save(&args.output, &html)?;
    if !is_stream(&args.output) {
        let groups = match model {
            OtherModel::Topics(topics) => counted(topics.n_topics(), "topic"),
            OtherModel::Clusters(clusters) => counted(clusters.nodes().len(), "cluster"),
            _ => "groups".to_owned(),
        };
        let json = json!({"bytes": html.len(), "unseen": unseen});
        printer.result(&json, |out| writeln!(out, "page of {groups} written to {}", args.output.display()))?;
    }
    Ok(())
}

fn save(path: &Path, html: &str) -> Result<()> {
    latentree::file::write_atomically(path, |out| out.write_all(html.as_bytes()).map_err(Error::io("write", path)))
}

/// Writes the page of a model that was just learned.
pub(super) fn write_page(
    path: &Path,
    file: &ModelFile,
    rows: Option<&dyn Rows>,
    options: &PageOptions,
    printer: &Printer,
) -> Result<()> {
    save(path, &html(file, rows, options, printer)?)
}

/// The name of a file without its directory.
pub(super) fn shown_name(path: &Path) -> String {
    if is_stream(path) {
        return "standard input".to_owned();
    }
    path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}
