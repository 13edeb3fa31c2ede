//! `simulate --shape … --model M --data D`: a known model and data from it.

use std::io::{Read as _, Write as _};
use std::path::Path;

use latentree::file::AtomicWriter;
use latentree::format::{Format, ModelFile, render};
use latentree::simulate::{ParameterFamily, Shape, Simulation};
use latentree::tree::{Observed, Tree};
use latentree::{Error, Place, Result, counted};
use serde_json::json;

use super::files::Files;
use super::open_model_file;
use super::sample::{draw, fraction};
use crate::Failure;
use crate::args::{FamilyName, ShapeName, SimulateArgs};
use crate::printer::Printer;

pub(crate) fn run(args: &SimulateArgs, seed: u64, printer: &Printer) -> Result<(), Failure> {
    if args.model.is_none() && args.data.is_none() {
        return Err(Error::option("simulate", "nothing to write: pass --model M, --data D, or both").into());
    }
    Files::new()
        .input_if("--tree", args.tree.as_deref())
        .output_if("--model", args.model.as_deref())
        .output_if("--data", args.data.as_deref())
        .check()?;
    fraction("--missing", args.missing)?;
    let format = args.model.as_deref().map(Format::of_path).transpose()?.unwrap_or(Format::Json);
    let simulation = match (&args.tree, args.shape) {
        (Some(tree), _) => Simulation::on_tree(read_tree(tree, &[])?),
        (None, Some(name)) => {
            let shape = match name {
                ShapeName::Star => Shape::Star,
                ShapeName::DoubleStar => Shape::DoubleStar,
                ShapeName::Hmm => Shape::Hmm,
                ShapeName::Complete => Shape::Complete { degree: 5 },
                ShapeName::Caterpillar => Shape::Caterpillar { leaves: 2 },
                ShapeName::Random => Shape::Random { max_degree: None },
            };
            let shape = args.degree.map_or(Ok(shape), |degree| shape.with_degree(degree)).map_err(with_dashes)?;
            Simulation::new(shape, args.observed)
        }
        (None, None) => return Err(Error::option("--shape", "a shape or --tree FILE is needed").into()),
    };
    let simulation = simulation.family(family(args)?).observed_inner(args.observed_inner).seed(seed);
    let model = simulation.model().map_err(with_dashes)?;
    // The model is written only if the data are.
    let mut model_file = None;
    if let Some(path) = &args.model {
        let file = model_file.insert(AtomicWriter::create(path)?);
        file.write_all(render(&model, format)?.as_bytes()).map_err(Error::io("write", path))?;
    }
    let mut rows = 0;
    if let Some(path) = &args.data {
        draw(&model, args.rows, seed, args.missing, args.hidden, path, printer)?;
        rows = args.rows;
    }
    if let Some(file) = model_file {
        file.finish()?;
    }
    let (observed, hidden) = (model.tree().n_observed(), model.tree().n_hidden());
    let to_stdout = [&args.model, &args.data].into_iter().flatten().any(|path| path.as_os_str() == "-");
    if !to_stdout {
        let json = json!({"observed": observed, "hidden": hidden, "rows": rows, "free_parameters": model.n_free_parameters(), "seed": seed});
        printer.result(&json, |out| {
            writeln!(out, "{observed} observed and {}, {}", counted(hidden, "hidden variable"), counted(rows, "row"))
        })?;
    }
    Ok(())
}

/// The library's options have the same names as flags, with dashes.
fn with_dashes(error: Error) -> Error {
    match error {
        Error::Option { option, problem } if !option.starts_with('-') => Error::option(format!("--{option}"), problem),
        other => other,
    }
}

fn family(args: &SimulateArgs) -> Result<ParameterFamily> {
    let interval = match args.correlation[..] {
        [] => (0.2, 0.8),
        [low, high] => (low, high),
        _ => return Err(Error::option("--correlation", "an interval LOW,HIGH is needed, such as 0.2,0.8")),
    };
    let SimulateArgs { states, hidden_states, separation, .. } = *args;
    Ok(match args.family {
        FamilyName::Gaussian => ParameterFamily::Gaussian { correlation: interval, random_sign: false },
        FamilyName::Categorical => ParameterFamily::Categorical { states, hidden_states, separation },
        FamilyName::Symmetric => ParameterFamily::Symmetric { states, strength: interval },
        FamilyName::Mixed => ParameterFamily::Mixed { states, hidden_states, separation, groups: true },
    })
}

/// Trees are far smaller. A compressed file that unpacks to more is rejected before it fills the memory.
const MAX_NEWICK: u64 = 1 << 28;

/// Whether a file is Newick, by its extension.
pub(crate) fn is_newick(path: &Path) -> bool {
    Format::by_ending(path) == Some(Format::Newick)
}

/// Reads a tree from Newick, or from a model or tree file.
pub(crate) fn read_tree(path: &Path, hidden: &[String]) -> Result<Tree> {
    Ok(read_tree_file(path, hidden)?.tree().clone())
}

/// The same, with the model if the file has one.
pub(crate) fn read_tree_file(path: &Path, hidden: &[String]) -> Result<ModelFile> {
    if !is_newick(path) {
        return open_model_file(path, hidden, None);
    }
    let mut bytes = Vec::new();
    latentree::file::open(path)?.take(MAX_NEWICK + 1).read_to_end(&mut bytes).map_err(Error::io("read", path))?;
    let fault = |problem: String| Error::format(Place::file(path), "Newick", problem);
    if bytes.len() as u64 > MAX_NEWICK {
        return Err(fault(format!("larger than {} MiB, the limit of a tree file", MAX_NEWICK >> 20)));
    }
    let text = String::from_utf8(bytes).map_err(|_| fault("not UTF-8 text".to_owned()))?;
    Tree::from_newick(&text, &Observed::LeavesOnly).map(ModelFile::from).map_err(|error| error.in_file(path))
}
