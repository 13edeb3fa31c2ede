//! `distances DATA -o D.csv`: additive distances between all variables.

use latentree::Result;
use latentree::data::{CachedRows, Rows as _, WeightedRows};
use latentree::distance::{DistanceMatrix, DistanceOptions, check_distances_path, choose_estimator, estimate, pair_moments};
use latentree::moments::PairMoments;
use serde_json::json;

use super::files::Files;
use super::{LITTLE_MEMORY, note_unseen, open_data_once, pair_options, refuse_reading, weight_kind};
use crate::Failure;
use crate::args::DistancesArgs;
use crate::printer::{Printer, number};

/// Why reading options are rejected for moments files.
pub(super) const MOMENTS_ARE_READ: &str = "it controls how data are read, but the input is a moments file";

pub(crate) fn run(args: &DistancesArgs, printer: &Printer) -> Result<(), Failure> {
    Files::new()
        .data("DATA", &args.data)
        .reading(&args.reading)
        .output("-o", &args.output)
        .output_if("--errors", args.errors.as_deref())
        .check()?;
    check_distances_path(&args.output)?;
    args.errors.as_deref().map(check_distances_path).transpose()?;
    let options = DistanceOptions::new()
        .estimator(args.distance.parse()?)
        .hidden_states(args.hidden_states)
        .significance((args.significance != 0.0).then_some(args.significance))
        .smoothing(args.smoothing)
        .errors(args.errors.is_some());
    let moments = open_moments(args, &options, printer)?;
    let chosen = choose_estimator(&moments, &options).map_err(|error| error.in_file(&args.data))?;
    let distances = estimate(&moments, &options, printer).map_err(|error| error.in_file(&args.data))?;
    distances.write(&args.output)?;
    if let Some(path) = &args.errors {
        distances.write_errors(path)?;
    }
    let found = Found::new(&distances);
    let undefined = found.pairs - found.defined;
    let components = if undefined == 0 { usize::from(!distances.is_empty()) } else { distances.components().len() };
    let json = json!({
        "rows": moments.n_rows(),
        "variables": distances.len(),
        "distance": chosen.name(),
        "hidden_states": options.n_hidden_states(),
        "significance": args.significance,
        "pairs": found.pairs,
        "undefined": undefined,
        "components": components,
        "least": found.least,
        "mean": found.mean,
        "largest": found.largest,
    });
    if args.output.as_os_str() == "-" {
        return Ok(());
    }
    printer.result(&json, |out| {
        writeln!(out, "rows        {}", moments.n_rows())?;
        writeln!(out, "variables   {}", distances.len())?;
        writeln!(out, "distance    {chosen}, {} hidden states", options.n_hidden_states())?;
        writeln!(out, "pairs       {} ({undefined} without a distance)", found.pairs)?;
        writeln!(out, "components  {components} (connected by defined distances)")?;
        if let (Some(least), Some(mean), Some(largest)) = (found.least, found.mean, found.largest) {
            writeln!(out, "distances   {} to {}, mean {}", number(least), number(largest), number(mean))?;
        }
        writeln!(out, "written     {}", args.output.display())
    })?;
    Ok(())
}

/// Pair moments from a moments file, or of the rows of a data file.
fn open_moments(args: &DistancesArgs, options: &DistanceOptions, printer: &Printer) -> Result<PairMoments> {
    let (path, kind) = (&args.data, weight_kind(&args.reading)?);
    if latentree::file::ending(path) == "moments" {
        refuse_reading(&args.reading, MOMENTS_ARE_READ)?;
        return Ok(PairMoments::load(path)?.scaled(kind));
    }
    let rows = CachedRows::new(open_data_once(path, &args.reading, LITTLE_MEMORY, printer)?, LITTLE_MEMORY);
    let weighted = WeightedRows::new(&rows, kind).map_err(|error| error.in_file(path))?;
    let moments = pair_moments(&mut *weighted.open()?, options, pair_options(args.memory.as_deref())?, printer)?.scaled(kind);
    rows.of_source(|reader| note_unseen(reader, printer));
    Ok(moments)
}

/// The summary of the distances.
struct Found {
    pairs: usize,
    defined: usize,
    least: Option<f64>,
    mean: Option<f64>,
    largest: Option<f64>,
}

impl Found {
    fn new(distances: &DistanceMatrix) -> Self {
        let (mut defined, mut sum) = (0, 0.0);
        let (mut least, mut largest) = (f64::INFINITY, f64::NEG_INFINITY);
        for &value in distances.lower().iter().filter(|value| !value.is_nan()) {
            defined += 1;
            sum += value;
            least = least.min(value);
            largest = largest.max(value);
        }
        let known = |value: f64| (defined > 0).then_some(value);
        let mean = known(sum / defined as f64);
        Self { pairs: distances.lower().len(), defined, least: known(least), mean, largest: known(largest) }
    }
}
