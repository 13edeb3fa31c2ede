//! `export MODEL [--format F] -o OUT`: converts a model to another format.

use std::path::Path;

use latentree::format::{Format, ModelFile, OtherModel, View, export, export_note};
use latentree::report::TopicTable;
use latentree::{Error, Result, counted};
use serde_json::json;

use super::files::Files;
use super::{is_stream, open_model, open_model_file};
use crate::Failure;
use crate::args::ExportArgs;
use crate::printer::Printer;

pub(crate) fn run(args: &ExportArgs, printer: &Printer) -> Result<(), Failure> {
    Files::new().input("MODEL", &args.model.model).output("-o", &args.output).check()?;
    let format = match args.format.as_deref() {
        Some("topics") => return topic_lines(args, printer),
        Some(format) => format.parse()?,
        None => format_of(&args.output)?,
    };
    format.check_path(&args.output)?;
    if let Some(other) = OtherModel::read(&args.model.model)? {
        return super::other_models::export_model(&other, args, format, printer);
    }
    let file = open_model_file(&args.model.model, &args.model.hidden, None)?;
    let view: View<'_> = match &file {
        ModelFile::LatentTree(model) => model.into(),
        spectral @ ModelFile::Spectral(_) => spectral.into(),
        other => other.tree().into(),
    };
    export(view, format, &args.output).map_err(|error| error.in_file(&args.model.model))?;
    if let Some(note) = export_note(view, format) {
        printer.note(&note);
    }
    if !is_stream(&args.output) {
        let json = json!({"format": format.name(), "nodes": file.tree().n_nodes()});
        printer.result(&json, |out| writeln!(out, "{} written to {}", format.name(), args.output.display()))?;
    }
    Ok(())
}

/// The format of the output's extension.
fn format_of(output: &Path) -> Result<Format> {
    let problem = "say which format, or name an output file whose extension does, such as -o tree.nwk";
    Format::by_ending(output).ok_or_else(|| Error::option("--format", problem))
}

/// Words of a topic that are written.
const TOPIC_WORDS: usize = 10;

/// Writes a line of words for each topic.
fn topic_lines(args: &ExportArgs, printer: &Printer) -> Result<(), Failure> {
    let topics = match OtherModel::read(&args.model.model)? {
        Some(OtherModel::Topics(model)) => TopicTable::of_topics(&model, TOPIC_WORDS),
        Some(OtherModel::Clusters(model)) => {
            TopicTable::check_words(model.schema()).map_err(|error| error.in_file(&args.model.model))?;
            TopicTable::of_clusters(&model, TOPIC_WORDS)
        }
        _ => {
            let model = open_model(&args.model.model, &args.model.hidden, None)?;
            TopicTable::of_model(&model, None, TOPIC_WORDS).map_err(|error| error.in_file(&args.model.model))?
        }
    };
    let lines = topics.to_lines();
    latentree::file::write_atomically(&args.output, |out| {
        out.write_all(lines.as_bytes()).map_err(Error::io("write", &args.output))
    })?;
    if !is_stream(&args.output) {
        let n_topics = topics.topics().len();
        let json = json!({"format": "topics", "topics": n_topics});
        printer.result(&json, |out| writeln!(out, "{} written to {}", counted(n_topics, "topic"), args.output.display()))?;
    }
    Ok(())
}
