//! `moments DATA -o M.moments`: one pass's mergeable statistics.

use latentree::Result;
use latentree::data::{BatchSource, WeightKind, WeightScale};
use latentree::moments::{PairMoments, fold};
use serde_json::json;

use super::files::Files;
use super::{check_moments, is_stream, note_unseen, open_data, pair_options, weight_kind};
use crate::Failure;
use crate::args::MomentsArgs;
use crate::printer::Printer;

pub(crate) fn run(args: &MomentsArgs, printer: &Printer) -> Result<(), Failure> {
    Files::new().data("DATA", &args.data).reading(&args.reading).output("-o", &args.output).check()?;
    check_moments(&args.output)?;
    let mut reader = open_data(&args.data, &args.reading, printer)?;
    if weight_kind(&args.reading)? == WeightKind::Frequency {
        // Sums are of weights as they are given, which merge; but frequencies must be whole numbers.
        WeightScale::of(&mut reader, WeightKind::Frequency).map_err(|error| error.in_file(&args.data))?;
    }
    let empty = PairMoments::with_options(reader.schema().clone(), pair_options(args.memory.as_deref())?)?;
    let moments = fold(&mut reader, empty, printer)?;
    let unseen = note_unseen(&reader, printer);
    moments.save(&args.output)?;
    if is_stream(&args.output) {
        return Ok(());
    }
    let bytes = std::fs::metadata(&args.output).map_or(0, |metadata| metadata.len());
    let n_variables = moments.schema().variables().len();
    let json = json!({"rows": moments.n_rows(), "bytes": bytes, "variables": n_variables, "unseen": unseen});
    printer.result(&json, |out| writeln!(out, "{} rows in {bytes} bytes: {}", moments.n_rows(), args.output.display()))?;
    Ok(())
}
