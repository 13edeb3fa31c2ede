//! `merge A B … -o C.moments`: merges statistics of parts of the data.

use latentree::learn::MomentsFile;
use latentree::{Error, Observer, Result, counted};
use serde_json::json;

use super::files::Files;
use super::{check_moments, is_stream};
use crate::Failure;
use crate::args::MergeArgs;
use crate::printer::Printer;

pub(crate) fn run(args: &MergeArgs, printer: &Printer) -> Result<(), Failure> {
    let files = args.inputs.iter().fold(Files::new(), |files, path| files.input("a part", path));
    files.output("-o", &args.output).check()?;
    check_moments(&args.output)?;
    printer.stage("merge", Some(args.inputs.len() as u64));
    let mut whole: Option<MomentsFile> = None;
    for (done, path) in args.inputs.iter().enumerate() {
        let part = MomentsFile::load(path)?;
        match &mut whole {
            None => whole = Some(part),
            Some(whole) => whole.merge(part).map_err(|error| match error {
                Error::Mismatch { problem, .. } => {
                    let left = args.inputs[0].display().to_string();
                    Error::Mismatch { left, right: path.display().to_string(), problem }
                }
                other => other,
            })?,
        }
        printer.progress(done as u64 + 1);
    }
    let whole = whole.ok_or_else(|| Error::option("merge", "no moments files given"))?;
    whole.save(&args.output)?;
    if is_stream(&args.output) {
        return Ok(());
    }
    let bytes = std::fs::metadata(&args.output).map_or(0, |metadata| metadata.len());
    let json = json!({"rows": whole.pairs.n_rows(), "bytes": bytes, "parts": args.inputs.len()});
    printer.result(&json, |out| {
        writeln!(
            out,
            "{} from {}: {}",
            counted(whole.pairs.n_rows(), "row"),
            counted(args.inputs.len(), "file"),
            args.output.display()
        )
    })?;
    Ok(())
}
