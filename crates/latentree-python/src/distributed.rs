//! Learning from rows that are elsewhere: tasks for those who hold them, and the learner's side.

use std::sync::Arc;

use latentree::data::{LookOptions, Reading, RecordBatches, Rows as _, Schema};
use latentree::learn::{Source, Validation};
use latentree::moments::{Accumulator as _, Sample, fold};
use latentree::passes::task;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::error::{guarded, to_python, with_python_names};
use crate::learn::{finish, learning, read_tree_file};
use crate::model::Model;
use crate::table::Table;
use crate::worker;

/// Runs a task over a table, or over record batches: a function that gives the bytes of the next as an Arrow IPC stream, and none at the end.
#[pyfunction]
#[pyo3(signature = (task, rows, n_jobs=1))]
pub(crate) fn observe<'py>(
    py: Python<'py>,
    task: &[u8],
    rows: &Bound<'py, PyAny>,
    n_jobs: usize,
) -> PyResult<Bound<'py, PyBytes>> {
    let task = task.to_vec();
    let answer = if let Ok(table) = rows.cast::<Table>() {
        let dataset = Arc::clone(&table.get().dataset);
        worker::run(py, n_jobs, None, move |_| task::observe_table(&task, &dataset))?
    } else {
        let functions = [rows.clone().unbind()];
        worker::run_asking(py, n_jobs, None, &functions, move |_, ask| {
            let ask = Arc::clone(ask);
            let batches = RecordBatches::from_ipc(move || ask(0, &[]))?;
            task::observe(&task, batches)
        })?
    };
    Ok(PyBytes::new(py, &answer))
}

/// Joins answers.
#[pyfunction]
pub(crate) fn merge<'py>(py: Python<'py>, answers: Vec<Vec<u8>>) -> PyResult<Bound<'py, PyBytes>> {
    let joined = py.detach(|| guarded(|| task::merge(&answers).map_err(to_python)))?;
    Ok(PyBytes::new(py, &joined))
}

/// How a task reads rows, as JSON; None if it is to find out.
#[pyfunction]
pub(crate) fn task_reading(task: &[u8]) -> PyResult<Option<String>> {
    guarded(|| {
        let reading = task::reading(task).map_err(to_python)?;
        reading
            .map(|reading| serde_json::to_string(&*reading).map_err(|error| PyValueError::new_err(error.to_string())))
            .transpose()
    })
}

/// The schema of a model file.
pub(crate) fn read_schema(text: &str) -> PyResult<Arc<Schema>> {
    let schema = serde_json::from_str(text);
    schema.map(Arc::new).map_err(|error| {
        PyValueError::new_err(format!("schema: {error}; it is {{\"variables\": [{{\"name\", \"kind\", \"labels\"}}]}}"))
    })
}

/// Learns from rows over which `run` runs tasks. Without a schema, the first task looks at the columns. Returns the model, the summary, and what
/// was noted about the columns.
#[pyfunction]
#[pyo3(signature = (run, schema, columns, kinds, weights, min_count, options, tree, sample_bytes, validation, n_jobs=0, display=None))]
#[expect(clippy::too_many_arguments, reason = "arguments of a Python call")]
pub(crate) fn learn_remote(
    py: Python<'_>,
    run: &Bound<'_, PyAny>,
    schema: Option<&str>,
    columns: Option<Vec<String>>,
    kinds: Vec<(String, String)>,
    weights: Option<String>,
    min_count: Option<u64>,
    options: &Bound<'_, PyDict>,
    tree: Option<&str>,
    sample_bytes: u64,
    validation: Option<&Bound<'_, PyAny>>,
    n_jobs: usize,
    display: Option<Py<PyAny>>,
) -> PyResult<(Model, String, Vec<String>)> {
    let mut learning = guarded(|| learning(options))?;
    let tree = guarded(|| tree.map(|text| read_tree_file(text).map_err(to_python)).transpose())?;
    let schema = schema.map(read_schema).transpose()?;
    let callbacks: Vec<Py<PyAny>> = [Some(run), validation].into_iter().flatten().map(|it| it.clone().unbind()).collect();
    let has_validation = validation.is_some();
    let weight_kind = learning.options().weight_kind;
    let (learned, warnings) = worker::run_asking(py, n_jobs, display.as_ref(), &callbacks, move |progress, ask| {
        let ask_rows = |task: &[u8]| ask(0, task);
        let (reading, n_rows, are_frequencies, warnings) = match schema {
            Some(schema) => (Reading::new(schema).weights(weights), None, true, Vec::new()),
            None => {
                latentree::Observer::stage(progress, "columns", None);
                let found = task::look(&ask_rows, LookOptions { columns, kinds, weights, min_count }, weight_kind)?;
                (found.reading, Some(found.n_rows), found.are_frequencies, found.warnings)
            }
        };
        if let Some(tree) = tree {
            learning = learning.tree_of(&tree, &reading.schema)?;
        }
        if has_validation {
            let rows = task::rows(|task: &[u8]| ask(1, task), reading.clone(), None);
            let sample = Sample::new(Arc::clone(&reading.schema), sample_bytes, learning.options().seed);
            let drawn = fold(&mut *rows.open()?, sample, progress)?.finish()?;
            learning = learning.validation(Some(Validation::Rows(drawn)));
        }
        let rows = task::rows(ask_rows, reading, n_rows).frequencies(are_frequencies).sample(sample_bytes);
        Ok((learning.run(Source::Rows(&rows), progress)?, warnings))
    })?;
    let (model, report) = finish(learned);
    Ok((model, report, warnings.iter().map(|warning| with_python_names(warning)).collect()))
}
