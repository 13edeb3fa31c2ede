//! Mixtures, topics and hierarchies.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use latentree::clusters::{ClusterFit, ClusterOptions, Extent, fit_clusters};
use latentree::data::{Dataset, Rows, Schema, WeightKind, WeightedRows};
use latentree::format::{Format, ModelFile, OtherModel};
use latentree::mixture::{MixtureFamily, MixtureModel, MixtureOptions, component_means, fit_mixture};
use latentree::report::{Grouping, PageOptions, TopicTable, cluster_page};
use latentree::{Error, Observer as _, Result};
use numpy::{PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use serde_json::Value;

use crate::error::{guarded, to_python, with_python_names};
use crate::model::{ColumnParts, Model, matrix};
use crate::table::Table;
use crate::worker::{self, Progress};

type Labels<'py> = Bound<'py, PyArray1<i64>>;
/// A node of a hierarchy: name, parent, children, number of rows, relevant features.
type NodeParts = (String, Option<usize>, Option<(usize, usize)>, u64, Vec<String>);

/// Topics, or a hierarchy of clusters.
#[pyclass(frozen, module = "latentree._latentree")]
pub(crate) struct GroupModel {
    model: Arc<OtherModel>,
}

impl GroupModel {
    pub(crate) fn schema(&self) -> &Arc<Schema> {
        self.model.schema()
    }

    pub(crate) fn topics_table(&self, n_words: usize) -> TopicTable {
        match &*self.model {
            OtherModel::Topics(model) => TopicTable::of_topics(model, n_words),
            OtherModel::Clusters(model) => TopicTable::of_clusters(model, n_words),
            _ => unreachable!("all kinds of models are known"),
        }
    }
}

fn write_cluster_page(
    model: Grouping<'_>,
    table: Option<&Dataset>,
    title: String,
    path: &Path,
    progress: &Progress,
) -> Result<()> {
    let html = cluster_page(model, table.map(|table| table as &dyn Rows), &PageOptions::new(title), progress)?;
    latentree::file::write_atomically(path, |out| out.write_all(html.as_bytes()).map_err(Error::io("write", path)))
}

/// Visits the batches of a table that must be complete.
fn over_batches(
    model: &OtherModel,
    table: &Dataset,
    progress: &Progress,
    mut visit: impl FnMut(&latentree::data::Batch) -> Result<()>,
) -> Result<()> {
    progress.stage("infer", Some(table.n_rows()));
    let mut done = 0;
    for batch in table.batches() {
        progress.check()?;
        model.check_complete(batch)?;
        visit(batch)?;
        done += batch.n_rows as u64;
        progress.progress(done);
    }
    Ok(())
}

fn not_topics() -> Error {
    Error::query("a hierarchy of clusters is no distribution over topics")
}

#[pymethods]
impl GroupModel {
    /// A model from the text of its file.
    #[staticmethod]
    fn from_json(text: &str) -> PyResult<Self> {
        guarded(|| {
            let model = OtherModel::read_from(text.as_bytes()).map_err(to_python)?;
            let model = model.ok_or_else(|| to_python(Error::query("the text holds neither topics nor a hierarchy")))?;
            Ok(Self { model: Arc::new(model) })
        })
    }

    /// The model in a format; topics only as JSON.
    fn render(&self, format: &str) -> PyResult<String> {
        guarded(|| self.model.render(format.parse().map_err(to_python)?).map_err(to_python))
    }

    /// Writes the model. No file is written on failure.
    fn write(&self, path: PathBuf, format: &str) -> PyResult<()> {
        guarded(|| {
            let format: Format = format.parse().map_err(to_python)?;
            let text = self.model.render(format).map_err(to_python)?;
            let written =
                latentree::file::write_atomically(&path, |out| out.write_all(text.as_bytes()).map_err(Error::io("write", &path)));
            written.map_err(to_python)
        })
    }

    /// Writes the page of the groups, with rows also what is frequent in each.
    #[pyo3(signature = (path, title, table=None))]
    fn write_page(&self, py: Python<'_>, path: PathBuf, title: String, table: Option<&Table>) -> PyResult<()> {
        let (model, table) = (Arc::clone(&self.model), table.map(|table| Arc::clone(&table.dataset)));
        worker::run(py, 0, None, move |progress| write_cluster_page((&*model).into(), table.as_deref(), title, &path, progress))
    }

    /// The columns: name, kind, labels.
    fn columns(&self) -> Vec<ColumnParts> {
        let parts = |column: &latentree::data::Column| {
            (column.name.clone(), column.kind.name(), column.kind.labels().map(<[String]>::to_vec))
        };
        self.schema().columns().iter().map(parts).collect()
    }

    /// Number of free parameters of topics.
    #[getter]
    fn n_free_parameters(&self) -> PyResult<usize> {
        match &*self.model {
            OtherModel::Topics(topics) => Ok(topics.n_free_parameters()),
            _ => Err(to_python(not_topics())),
        }
    }

    /// The distribution of words in every topic.
    fn topics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let OtherModel::Topics(topics) = &*self.model else { return Err(to_python(not_topics())) };
        let values: Vec<f64> = (0..topics.n_topics()).flat_map(|topic| topics.topic(topic).to_vec()).collect();
        matrix(py, values, topics.n_topics(), topics.schema().columns().len())
    }

    /// The Dirichlet parameters of the shares of topics.
    fn alpha(&self) -> PyResult<Vec<f64>> {
        match &*self.model {
            OtherModel::Topics(topics) => Ok(topics.alpha().to_vec()),
            _ => Err(to_python(not_topics())),
        }
    }

    /// The shares of topics in every document.
    fn shares<'py>(&self, py: Python<'py>, table: &Table, seed: u64, n_jobs: usize) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (model, table) = (Arc::clone(&self.model), Arc::clone(&table.dataset));
        let n_rows = table.n_rows() as usize;
        let (values, width) = worker::run(py, n_jobs, None, move |progress| {
            let OtherModel::Topics(topics) = &*model else { return Err(not_topics()) };
            let mut values = Vec::new();
            over_batches(&model, &table, progress, |batch| {
                values.extend(topics.shares(batch, seed));
                Ok(())
            })?;
            Ok((values, topics.n_topics()))
        })?;
        matrix(py, values, n_rows, width)
    }

    /// A lower bound of the log-likelihood of every document.
    fn bound<'py>(&self, py: Python<'py>, table: &Table, n_jobs: usize) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let (model, table) = (Arc::clone(&self.model), Arc::clone(&table.dataset));
        let values = worker::run(py, n_jobs, None, move |progress| {
            let OtherModel::Topics(topics) = &*model else { return Err(not_topics()) };
            let mut values = Vec::new();
            over_batches(&model, &table, progress, |batch| {
                values.extend(topics.bound(batch));
                Ok(())
            })?;
            Ok(values)
        })?;
        Ok(PyArray1::from_vec(py, values))
    }

    /// The nodes of a hierarchy, parents before children.
    fn nodes(&self) -> Vec<NodeParts> {
        let OtherModel::Clusters(clusters) = &*self.model else { return Vec::new() };
        let parts = clusters.nodes().iter().map(|node| {
            let children = node.children.map(|[first, second]| (first, second));
            (node.name.clone(), node.parent, children, node.size, node.relevant.clone())
        });
        parts.collect()
    }

    /// The leaf of every row: its place among the nodes.
    fn assign<'py>(&self, py: Python<'py>, table: &Table, n_jobs: usize) -> PyResult<Labels<'py>> {
        let (model, table) = (Arc::clone(&self.model), Arc::clone(&table.dataset));
        let leaves = worker::run(py, n_jobs, None, move |progress| {
            let OtherModel::Clusters(clusters) = &*model else {
                return Err(Error::query("topics have no leaves; shares gives those of every document"));
            };
            let mut leaves = Vec::new();
            over_batches(&model, &table, progress, |batch| {
                leaves.extend(clusters.assign(batch));
                Ok(())
            })?;
            Ok(leaves)
        })?;
        Ok(labels_array(py, &leaves))
    }
}

fn labels_array<'py>(py: Python<'py>, labels: &[usize]) -> Labels<'py> {
    PyArray1::from_iter(py, labels.iter().map(|&label| label as i64))
}

/// The JSON of a fit, with the names of Python's arguments in its warnings.
fn report(mut json: Value) -> String {
    if let Some(warnings) = json["warnings"].as_array_mut() {
        for warning in warnings {
            *warning = with_python_names(warning.as_str().unwrap_or_default()).into();
        }
    }
    json.to_string()
}

/// What is asked of a mixture, as Python's arguments.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct MixtureRequest {
    components: String,
    family: Option<String>,
    method: Option<String>,
    em: bool,
    alpha: Option<String>,
    seed: u64,
}

impl MixtureRequest {
    fn options(&self) -> Result<MixtureOptions> {
        let mut options = MixtureOptions::new(self.components.parse()?).em(self.em).seed(self.seed);
        options.family = self.family.as_deref().map(str::parse).transpose()?;
        options.method = self.method.as_deref().map(str::parse).transpose()?;
        options.alpha = self.alpha.as_deref().map(str::parse).transpose()?;
        Ok(options)
    }
}

/// What is asked of a hierarchy, as Python's arguments.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct ClusterRequest {
    depth: Option<String>,
    leaves: Option<String>,
    family: Option<String>,
    method: Option<String>,
    em: bool,
    min_size: usize,
    seed: u64,
}

impl ClusterRequest {
    fn options(&self) -> Result<ClusterOptions> {
        let extent = match (&self.depth, &self.leaves) {
            (Some(depth), _) => Extent::depth(depth)?,
            (None, leaves) => Extent::leaves(leaves.as_deref().unwrap_or("auto"))?,
        };
        let mut options = ClusterOptions::new(extent).em(self.em).min_size(self.min_size).seed(self.seed);
        options.family = self.family.as_deref().map(str::parse).transpose()?;
        if let Some(method) = &self.method {
            options.method = method.parse()?;
        }
        Ok(options)
    }
}

fn weighted(table: &Dataset) -> Result<WeightedRows<'_>> {
    WeightedRows::new(table, WeightKind::ByValue)
}

/// Learns a mixture: its model (a `Model`, of lda a `GroupModel`), the component of every row, and the report.
#[pyfunction]
#[pyo3(name = "fit_mixture", signature = (table, request, n_jobs=0, display=None))]
pub(crate) fn fit_mixture_model<'py>(
    py: Python<'py>,
    table: &Table,
    request: MixtureRequest,
    n_jobs: usize,
    display: Option<Py<PyAny>>,
) -> PyResult<(Py<PyAny>, Labels<'py>, String)> {
    let options = request.options().map_err(to_python)?;
    let table = Arc::clone(&table.dataset);
    let fit = worker::run(py, n_jobs, display.as_ref(), move |progress| fit_mixture(&weighted(&table)?, &options, progress))?;
    let json = report(fit.to_json());
    let labels = labels_array(py, &fit.labels);
    let model = match fit.model {
        MixtureModel::Star(model) => Py::new(py, Model::new(ModelFile::from(model)))?.into_any(),
        MixtureModel::Topics(model) => Py::new(py, GroupModel { model: Arc::new(OtherModel::Topics(model)) })?.into_any(),
        _ => return Err(PyTypeError::new_err("a model of an unknown kind")),
    };
    Ok((model, labels, json))
}

/// Splits rows into a hierarchy: its model, the leaf of every row among the nodes, and the report.
#[pyfunction]
#[pyo3(name = "fit_clusters", signature = (table, request, n_jobs=0, display=None))]
pub(crate) fn fit_cluster_model<'py>(
    py: Python<'py>,
    table: &Table,
    request: ClusterRequest,
    n_jobs: usize,
    display: Option<Py<PyAny>>,
) -> PyResult<(GroupModel, Labels<'py>, String)> {
    let options = request.options().map_err(to_python)?;
    let table = Arc::clone(&table.dataset);
    let fit: ClusterFit =
        worker::run(py, n_jobs, display.as_ref(), move |progress| fit_clusters(&weighted(&table)?, &options, progress))?;
    let (json, labels) = (report(fit.to_json()), labels_array(py, &fit.labels));
    Ok((GroupModel { model: Arc::new(OtherModel::Clusters(fit.model)) }, labels, json))
}

/// Stability of a mixture over pairs of fits.
#[pyfunction]
pub(crate) fn mixture_stability(
    py: Python<'_>,
    table: &Table,
    request: MixtureRequest,
    runs: usize,
    n_jobs: usize,
) -> PyResult<f64> {
    let options = request.options().map_err(to_python)?;
    stability_of(py, table, runs, request.seed, n_jobs, move |rows, progress| Ok(fit_mixture(rows, &options, progress)?.labels))
}

/// Stability of a hierarchy over pairs of fits.
#[pyfunction]
pub(crate) fn cluster_stability(
    py: Python<'_>,
    table: &Table,
    request: ClusterRequest,
    runs: usize,
    n_jobs: usize,
) -> PyResult<f64> {
    let options = request.options().map_err(to_python)?;
    stability_of(py, table, runs, request.seed, n_jobs, move |rows, progress| Ok(fit_clusters(rows, &options, progress)?.labels))
}

fn stability_of(
    py: Python<'_>,
    table: &Table,
    runs: usize,
    seed: u64,
    n_jobs: usize,
    cluster: impl Fn(&dyn Rows, &Progress) -> Result<Vec<usize>> + Send + 'static,
) -> PyResult<f64> {
    let table = Arc::clone(&table.dataset);
    worker::run(py, n_jobs, None, move |progress| {
        latentree::mixture::stability(&weighted(&table)?, runs, seed, |rows| cluster(rows, progress))
    })
}

/// Writes the page of a mixture, with rows also what is frequent in each component.
#[pyfunction]
#[pyo3(signature = (model, path, title, table=None))]
pub(crate) fn write_mixture_page(
    py: Python<'_>,
    model: &Model,
    path: PathBuf,
    title: String,
    table: Option<&Table>,
) -> PyResult<()> {
    let (model, table) = (model.latent_tree()?.clone(), table.map(|table| Arc::clone(&table.dataset)));
    worker::run(py, 0, None, move |progress| write_cluster_page(Grouping::Star(&model), table.as_deref(), title, &path, progress))
}

/// The mean of every column in every component of a star.
#[pyfunction]
pub(crate) fn star_means<'py>(py: Python<'py>, model: &Model) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let means = component_means(model.latent_tree()?).ok_or_else(|| to_python(Error::query("the model is no mixture")))?;
    matrix(py, means.cells().to_vec(), means.n_rows(), means.n_cols())
}

/// The kind of columns that a family needs; None if any will do.
#[pyfunction]
pub(crate) fn family_kind(family: &str) -> PyResult<Option<&'static str>> {
    let family: MixtureFamily = family.parse().map_err(to_python)?;
    Ok(family.column_kind().map(latentree::data::KindOverride::name))
}

/// Coherence of topics, each with a probability for every column.
#[pyfunction]
pub(crate) fn coherence<'py>(
    py: Python<'py>,
    table: &Table,
    topics: PyReadonlyArray2<'_, f64>,
    n_jobs: usize,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let topics: Vec<Vec<f64>> = topics.as_array().rows().into_iter().map(|topic| topic.to_vec()).collect();
    let table = Arc::clone(&table.dataset);
    let values = worker::run(py, n_jobs, None, move |progress| latentree::mixture::coherence(&*table, &topics, progress))?;
    Ok(PyArray1::from_vec(py, values))
}

/// Relevance of every feature in every component.
#[pyfunction]
pub(crate) fn relevance<'py>(
    py: Python<'py>,
    probabilities: PyReadonlyArray2<'_, f64>,
    overall: PyReadonlyArray1<'_, f64>,
    weight: f64,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let (values, overall) = (probabilities.as_array(), overall.as_array());
    let found = values.rows().into_iter().flat_map(|row| {
        let each = row.iter().zip(overall).map(|(&own, &all)| latentree::mixture::relevance(own, all, weight));
        each.collect::<Vec<f64>>()
    });
    matrix(py, found.collect(), values.nrows(), values.ncols())
}
