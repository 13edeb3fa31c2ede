//! Learning with the options of the command line.

use std::collections::BTreeMap;
use std::sync::Arc;

use latentree::MemoryBudget;
use latentree::distance::DistanceMatrix;
use latentree::format::ModelFile;
use latentree::learn::{LearnOptions, Learned, Learning, Source, tree_over};
use latentree::tree::{Observed, Tree};
use numpy::{PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyString};
use serde_json::Value;

use crate::error::{ARGUMENTS, guarded, path_of, to_python, with_python_names};
use crate::model::Model;
use crate::moments::Moments;
use crate::table::Table;
use crate::worker;

pub(crate) fn learning(options: &Bound<'_, PyDict>) -> PyResult<Learning> {
    let mut found = LearnOptions::default();
    let mut memory = MemoryBudget::of_machine();
    for (name, value) in options.iter().filter(|(_, value)| !value.is_none()) {
        let name: String = name.extract()?;
        if name == "memory" {
            let size: String = value.extract().map_err(|_| refused("memory", &value, "a size such as 8G"))?;
            memory = size.parse().map_err(to_python)?;
            continue;
        }
        let path = path_of(&name).ok_or_else(|| PyTypeError::new_err(format!("there is no option {name}")))?;
        found.set(path, json(&name, &value)?).map_err(|error| wrong(error, &value))?;
    }
    Ok(Learning::with_options(found).memory(memory))
}

/// Converts a Python value for the library.
fn json(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Value> {
    if value.is_instance_of::<PyBool>() {
        return Err(refused(name, value, "a name or a number"));
    }
    if let Ok(text) = value.extract::<String>() {
        return Ok(text.into());
    }
    if let Ok(whole) = value.extract::<u64>() {
        return Ok(whole.into());
    }
    if let Ok(whole) = value.extract::<i64>() {
        return Ok(whole.into());
    }
    if let Ok(number) = value.extract::<f64>() {
        let number = serde_json::Number::from_f64(number);
        return number
            .map(Value::Number)
            .ok_or_else(|| PyValueError::new_err(format!("{name}: {value} given; a finite number is needed")));
    }
    if let Ok(numbers) = value.extract::<BTreeMap<String, u64>>() {
        return serde_json::to_value(numbers).map_err(|error| PyValueError::new_err(error.to_string()));
    }
    match value.extract::<Vec<String>>() {
        Ok(names) => Ok(names.into()),
        Err(_) => Err(refused(name, value, "a name or a number")),
    }
}

/// A value of the wrong type is a `TypeError`, a value out of range a `ValueError`.
fn wrong(error: latentree::Error, value: &Bound<'_, PyAny>) -> PyErr {
    let message = with_python_names(&error.to_string());
    let is_text = value.is_instance_of::<PyString>();
    let is_fraction = !is_text && value.extract::<i64>().is_err() && value.extract::<u64>().is_err();
    let is_name = message.ends_with("a name is needed") || (!is_text && message.contains("is not one of"));
    let is_number = message.ends_with("a number is needed");
    let is_whole = is_fraction && (message.contains("a whole number") || message.contains("a number of states"));
    if is_name || is_number || is_whole { PyTypeError::new_err(message) } else { to_python(error) }
}

fn refused(name: &str, value: &Bound<'_, PyAny>, needed: &str) -> PyErr {
    let shown = value.repr().map_or_else(|_| "?".to_owned(), |text| text.to_string());
    PyTypeError::new_err(format!("{name}: {shown} given; {needed} is needed"))
}

/// The paths of all options of the library.
#[pyfunction]
pub(crate) fn option_paths() -> Vec<String> {
    LearnOptions::paths()
}

/// The Python arguments and the options that they set.
#[pyfunction]
pub(crate) fn option_arguments() -> Vec<(String, String)> {
    ARGUMENTS.iter().map(|(path, name)| ((*name).to_owned(), (*path).to_owned())).collect()
}

/// The result: the model, and the JSON summary of the command line.
pub(crate) fn finish(mut learned: Learned) -> (Model, String) {
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
    let tree = guarded(|| tree.map(|text| read_tree_file(text).map_err(to_python)).transpose())?;
    let learned = if let Ok(table) = source.cast::<Table>() {
        let dataset = Arc::clone(&table.get().dataset);
        worker::run(py, n_jobs, display.as_ref(), move |progress| {
            if let Some(tree) = tree {
                learning = learning.tree_of(&tree, dataset.schema())?;
            }
            learning.run(Source::Rows(&*dataset), progress)
        })?
    } else if let Ok(moments) = source.cast::<Moments>() {
        let sums = moments.get().sums()?;
        worker::run(py, n_jobs, display.as_ref(), move |progress| {
            if let Some(tree) = tree {
                learning = learning.tree(Some(tree_over(tree.tree(), sums.pairs.schema())?));
            }
            learning.run(sums.source(), progress)
        })?
    } else {
        return Err(PyTypeError::new_err("a table or moments are needed"));
    };
    Ok(finish(learned))
}

/// Learns a tree from distances; NaN marks a missing distance.
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

/// The model of a JSON text, or the tree of any text that has one.
pub(crate) fn read_tree_file(text: &str) -> latentree::Result<ModelFile> {
    ModelFile::read_from(text.as_bytes()).or_else(|_| read_tree(text).map(ModelFile::from))
}

/// A tree from Newick text, or from the JSON of a tree or model.
pub(crate) fn read_tree(text: &str) -> latentree::Result<Tree> {
    if text.trim_start().starts_with('{') { Tree::from_json(text) } else { Tree::from_newick(text, &Observed::LeavesOnly) }
}
