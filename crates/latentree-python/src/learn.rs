//! Learning with the options of the command line.

use std::sync::Arc;

use latentree::MemoryBudget;
use latentree::data::WeightKind;
use latentree::distance::{DistanceMatrix, DistanceOptions};
use latentree::learn::{EmStart, Learned, Learning, Source, Validation, tree_over};
use latentree::structure::Contraction;
use latentree::tree::{Observed, Tree};
use numpy::{PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyInt};

use crate::error::{guarded, to_python, with_python_names};
use crate::model::Model;
use crate::moments::Moments;
use crate::table::Table;
use crate::worker;

/// What an option that is no number needs.
const NAME: &str = "a name";

/// An option's value, `None` where it is Python's None.
fn option<'py, T: for<'a> FromPyObject<'a, 'py>>(options: &Bound<'py, PyDict>, name: &str, needed: &str) -> PyResult<Option<T>> {
    let Some(value) = options.get_item(name)?.filter(|value| !value.is_none()) else { return Ok(None) };
    let problem =
        || format!("{name}: {} given; {needed} is needed", value.repr().map_or_else(|_| "?".to_owned(), |text| text.to_string()));
    if value.is_instance_of::<PyBool>() {
        return Err(PyTypeError::new_err(problem()));
    }
    let found: Result<T, _> = value.extract();
    match found {
        Ok(found) => Ok(Some(found)),
        Err(_) if value.is_instance_of::<PyInt>() && needed != NAME => Err(PyValueError::new_err(problem())),
        Err(_) => Err(PyTypeError::new_err(problem())),
    }
}

fn learning(options: &Bound<'_, PyDict>) -> PyResult<Learning> {
    let text = |name: &str| option::<String>(options, name, NAME);
    let number = |name: &str| option::<f64>(options, name, "a number");
    let whole = |name: &str| option::<usize>(options, name, "a whole number ≥ 0");
    let significance = number("significance")?.unwrap_or(2.0);
    let distances = DistanceOptions::new()
        .estimator(text("distance")?.unwrap_or_else(|| "auto".to_owned()).parse().map_err(to_python)?)
        .significance((significance != 0.0).then_some(significance))
        .smoothing(number("smoothing")?.unwrap_or(0.0));
    let contraction = match options.get_item("contract")?.filter(|value| !value.is_none()) {
        None => Contraction::ByInput,
        Some(value) => value.str()?.to_string().parse().map_err(to_python)?,
    };
    let start: Option<EmStart> = text("start")?.map(|name| name.parse().map_err(to_python)).transpose()?;
    let mut learning = Learning::new()
        .contraction(contraction)
        .distances(distances)
        .epsilon(number("epsilon")?)
        .tau(number("tau")?)
        .hidden_states(whole("n_states")?)
        .validation(number("validation_fraction")?.map(Validation::Fraction))
        .bootstrap(whole("bootstrap")?)
        .start(start)
        .em_iterations(whole("em_iterations")?)
        .em_tolerance(number("em_tolerance")?)
        .weight_kind(text("weight_kind")?.map_or(Ok(WeightKind::ByValue), |name| name.parse()).map_err(to_python)?)
        .memory(text("memory")?.map_or_else(|| Ok(MemoryBudget::of_machine()), |size| size.parse()).map_err(to_python)?)
        .seed(option(options, "seed", "a whole number ≥ 0")?.unwrap_or(0));
    if let Some(name) = text("structure")? {
        learning = learning.structure(name.parse().map_err(to_python)?);
    }
    if let Some(name) = text("parameters")? {
        learning = learning.parameters(name.parse().map_err(to_python)?);
    }
    if let Some(name) = text("select")? {
        let auto = whole("n_states")?.is_none();
        learning = learning.select(Some(name.parse().map_err(to_python)?)).hidden_states_auto(auto);
    }
    if let Some(name) = text("decomposition")? {
        learning = learning.decomposition(name.parse().map_err(to_python)?);
    }
    if let Some(restarts) = whole("restarts")? {
        learning = learning.restarts(restarts);
    }
    if let Some(pseudo_count) = number("em_smoothing")? {
        learning = learning.em_smoothing(Some(pseudo_count));
    }
    Ok(learning)
}

/// The result: the model, and what the command line prints as JSON.
fn finish(mut learned: Learned) -> (Model, String) {
    learned.warnings.iter_mut().for_each(|warning| *warning = with_python_names(warning));
    let report = learned.to_json();
    (Model::new(learned.file), report.to_string())
}

/// Learns from a table or moments; `tree` is Newick text or the JSON of a tree or model, which is kept.
#[pyfunction]
#[pyo3(signature = (source, options, tree=None, n_jobs=0, display=None))]
pub(crate) fn learn(
    py: Python<'_>,
    source: &Bound<'_, PyAny>,
    options: &Bound<'_, PyDict>,
    tree: Option<&str>,
    n_jobs: usize,
    display: Option<Py<PyAny>>,
) -> PyResult<(Model, String)> {
    let mut learning = guarded(|| learning(options))?;
    let tree = guarded(|| tree.map(|text| read_tree(text).map_err(to_python)).transpose())?;
    let learned = if let Ok(table) = source.cast::<Table>() {
        let dataset = Arc::clone(&table.get().dataset);
        worker::run(py, n_jobs, display.as_ref(), move |progress| {
            if let Some(tree) = tree {
                learning = learning.tree(Some(tree_over(&tree, dataset.schema())?));
            }
            learning.run(Source::Rows(&mut dataset.source()), progress)
        })?
    } else if let Ok(moments) = source.cast::<Moments>() {
        let sums = moments.get().sums()?;
        worker::run(py, n_jobs, display.as_ref(), move |progress| {
            if let Some(tree) = tree {
                learning = learning.tree(Some(tree_over(&tree, sums.schema())?));
            }
            learning.run(Source::Moments(sums), progress)
        })?
    } else {
        return Err(PyTypeError::new_err("a table or moments are needed"));
    };
    Ok(finish(learned))
}

/// Learns a tree from distances; NaN is no distance.
#[pyfunction]
#[pyo3(signature = (names, distances, options, n_jobs=0, display=None))]
pub(crate) fn learn_distances(
    py: Python<'_>,
    names: Vec<String>,
    distances: PyReadonlyArray2<'_, f64>,
    options: &Bound<'_, PyDict>,
    n_jobs: usize,
    display: Option<Py<PyAny>>,
) -> PyResult<(Model, String)> {
    let learning = guarded(|| learning(options))?;
    let matrix = guarded(|| {
        let shape = distances.shape();
        if shape[0] != shape[1] || shape[0] != names.len() {
            let problem = format!("{} names for distances of shape {} × {}", names.len(), shape[0], shape[1]);
            return Err(PyValueError::new_err(problem));
        }
        let cells = distances.as_array();
        let differing = (0..names.len()).flat_map(|i| (0..i).map(move |j| (i, j))).find(|&(i, j)| {
            let (a, b) = (cells[[i, j]], cells[[j, i]]);
            a.is_nan() != b.is_nan() || (a - b).abs() > 1e-9 * a.abs().max(b.abs())
        });
        if let Some((i, j)) = differing {
            let problem = format!("distances are not symmetric: rows {} and {} differ", j + 1, i + 1);
            return Err(PyValueError::new_err(problem));
        }
        let distance = |i: usize, j: usize| Some(cells[[i, j]]).filter(|distance| !distance.is_nan());
        DistanceMatrix::from_fn(names, distance).map_err(to_python)
    })?;
    let learned = worker::run(py, n_jobs, display.as_ref(), move |progress| learning.run(Source::Distances(matrix), progress))?;
    Ok(finish(learned))
}

/// A tree from Newick text, or from the JSON of a tree or model.
pub(crate) fn read_tree(text: &str) -> latentree::Result<Tree> {
    if text.trim_start().starts_with('{') { Tree::from_json(text) } else { Tree::from_newick(text, &Observed::LeavesOnly) }
}
