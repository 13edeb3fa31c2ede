//! `export MODEL --format F -o OUT`: converts a model to another format.

use latentree::Result;
use latentree::format::{Format, ModelFile, OtherModel, View, export};
use serde_json::json;

use super::files::Files;
use super::{is_stream, open_model_file};
use crate::Failure;
use crate::args::ExportArgs;
use crate::printer::Printer;

pub(crate) fn run(args: &ExportArgs, printer: &Printer) -> Result<(), Failure> {
    Files::new().input("MODEL", &args.model.model).output("-o", &args.output).check()?;
    let format: Format = args.format.parse()?;
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
    if !is_stream(&args.output) {
        let json = json!({"format": args.format, "nodes": file.tree().n_nodes()});
        printer.result(&json, |out| writeln!(out, "{} written to {}", args.format, args.output.display()))?;
    }
    Ok(())
}
