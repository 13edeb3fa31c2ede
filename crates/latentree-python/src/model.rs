//! Queries to a model.

use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;

use latentree::data::{BatchSource as _, Block, Kind, Schema};
use latentree::format::{Format, ModelFile, ReadModelOptions, export, read_model, render};
use latentree::inference::{Evidence, Imputation, Inference, JointAnswer};
use latentree::model::{Domain, LatentTree, Marginal};
use latentree::report::{Groups, PageOptions, find_node, page, spectral_page};
use latentree::{Error, MemoryBudget, NodeIx, Observer, Result};
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;

use crate::error::{guarded, to_python};
use crate::learn::read_tree;
use crate::spectral;
use crate::table::Table;
use crate::worker;

/// A latent tree model, or only a tree.
#[pyclass(frozen, module = "latentree._latentree")]
pub(crate) struct Model {
    file: Arc<ModelFile>,
}

/// Numbers in row-major order, and the number of columns.
pub(crate) type Matrix<'py> = Bound<'py, PyArray2<f64>>;
/// A node: name, whether it is observed, kind, labels.
type NodeParts = (String, bool, Option<&'static str>, Option<Vec<String>>);
/// An edge: parent, child, length, support.
type EdgeParts = (String, String, Option<f64>, Option<f64>);
/// A column: name, kind, labels.
pub(crate) type ColumnParts = (String, &'static str, Option<Vec<String>>);

/// Maximum size of a Newick file.
const MAX_NEWICK: u64 = 1 << 30;

impl Model {
    pub(crate) fn new(file: ModelFile) -> Self {
        Self { file: Arc::new(file) }
    }

    pub(crate) fn latent_tree(&self) -> PyResult<&LatentTree> {
        latent_tree(&self.file).map_err(to_python)
    }

    pub(crate) fn file(&self) -> &ModelFile {
        &self.file
    }

    /// What its columns mean.
    pub(crate) fn schema(&self) -> PyResult<&Arc<Schema>> {
        match &*self.file {
            ModelFile::Spectral(model) => Ok(model.schema()),
            _ => Ok(self.latent_tree()?.schema()),
        }
    }

    fn nodes_named(&self, names: &[String]) -> PyResult<Vec<NodeIx>> {
        let model = self.latent_tree()?;
        names.iter().map(|name| find_node(model, name).map_err(to_python)).collect()
    }

    fn evidence(&self, given: &[(String, String)]) -> PyResult<Evidence> {
        let model = self.latent_tree()?;
        let mut evidence = Evidence::none(model);
        for (name, value) in given {
            let is_known = model.tree().find(name).is_some() || model.schema().find_column(name).is_some();
            let name = if is_known { name } else { model.tree().name(find_node(model, name).map_err(to_python)?) };
            evidence.set(model, name, value).map_err(to_python)?;
        }
        Ok(evidence)
    }
}

fn latent_tree(file: &ModelFile) -> Result<&LatentTree> {
    match file {
        ModelFile::LatentTree(model) => Ok(model),
        tree => Err(tree.clone().into_latent_tree().expect_err("it is a tree alone")),
    }
}

pub(crate) fn matrix(py: Python<'_>, values: Vec<f64>, n_rows: usize, n_columns: usize) -> PyResult<Matrix<'_>> {
    PyArray1::from_vec(py, values).reshape([n_rows, n_columns])
}

/// Runs a query on every batch of a table, in order.
fn over_batches(
    file: &ModelFile,
    table: &latentree::data::Dataset,
    progress: &worker::Progress,
    mut ask: impl FnMut(&Inference<'_>, &latentree::data::Batch) -> Result<()>,
) -> Result<()> {
    let inference = Inference::new(latent_tree(file)?);
    inference.check_schema(table.schema())?;
    progress.stage("infer", Some(table.n_rows()));
    let mut done = 0;
    for batch in table.batches() {
        progress.check()?;
        ask(&inference, batch)?;
        done += batch.n_rows as u64;
        progress.progress(done);
    }
    Ok(())
}

#[pymethods]
impl Model {
    /// Reads a model file, BIF or XMLBIF, or the tree of a Newick file.
    #[staticmethod]
    #[pyo3(signature = (path, hidden=vec![]))]
    fn read(path: PathBuf, hidden: Vec<String>) -> PyResult<Self> {
        guarded(|| {
            if Format::by_ending(&path) == Some(Format::Newick) {
                let mut text = String::new();
                let mut file = latentree::file::open(&path).map_err(to_python)?.take(MAX_NEWICK);
                file.read_to_string(&mut text).map_err(|error| to_python(Error::io("read", &path)(error)))?;
                let tree = read_tree(&text).map_err(|error| to_python(error.in_file(&path)))?;
                return Ok(Self::new(tree.into()));
            }
            let options = ReadModelOptions { hidden, data_columns: None };
            Ok(Self::new(read_model(&path, &options).map_err(to_python)?))
        })
    }

    /// The kind that a model file says it has; None for files of other programs.
    #[staticmethod]
    fn kind_of_file(path: PathBuf) -> PyResult<Option<String>> {
        guarded(|| latentree::format::kind_of_file(&path).map_err(to_python))
    }

    /// A model from the text of its file.
    #[staticmethod]
    fn from_json(text: &str) -> PyResult<Self> {
        guarded(|| Ok(Self::new(ModelFile::read_from(text.as_bytes()).map_err(to_python)?)))
    }

    /// A tree from Newick text, or from JSON.
    #[staticmethod]
    fn from_tree(text: &str) -> PyResult<Self> {
        guarded(|| Ok(Self::new(read_tree(text).map_err(to_python)?.into())))
    }

    /// The model in a format: json, newick, dot, graphml, bif, xmlbif or text.
    fn render(&self, format: &str) -> PyResult<String> {
        guarded(|| {
            let format: Format = format.parse().map_err(to_python)?;
            render(&*self.file, format).map_err(to_python)
        })
    }

    /// Writes the model in a format. No file is written on failure.
    fn write(&self, path: PathBuf, format: &str) -> PyResult<()> {
        guarded(|| {
            let format: Format = format.parse().map_err(to_python)?;
            export(&*self.file, format, &path).map_err(to_python)
        })
    }

    /// Whether there are tables, not only a tree.
    #[getter]
    fn has_tables(&self) -> bool {
        matches!(&*self.file, ModelFile::LatentTree(_))
    }

    /// Whether there are operators instead of tables.
    #[getter]
    fn is_spectral(&self) -> bool {
        matches!(&*self.file, ModelFile::Spectral(_))
    }

    /// Number of free parameters.
    #[getter]
    fn n_free_parameters(&self) -> PyResult<usize> {
        Ok(self.latent_tree()?.n_free_parameters())
    }

    /// The nodes in order.
    fn nodes(&self) -> Vec<NodeParts> {
        let tree = self.file.tree();
        if let ModelFile::Spectral(model) = &*self.file {
            let parts = tree.node_ixs().map(|node| {
                let kind = model.schema().find_variable(tree.name(node)).and_then(|it| model.schema().scalar_kind(it));
                let labels = kind.and_then(|kind| kind.labels().map(<[String]>::to_vec));
                (tree.name(node).to_owned(), tree.is_observed(node), kind.map(Kind::name), labels)
            });
            return parts.collect();
        }
        let model = latent_tree(&self.file).ok();
        let parts = tree.node_ixs().map(|node| {
            let kind = model.map(|model| {
                match (model.variable(node).and_then(|it| model.schema().scalar_kind(it)), model.domain(node)) {
                    (Some(kind), _) => kind.name(),
                    (None, Domain::Discrete { .. }) => "categorical",
                    (None, Domain::Count) => "count",
                    (None, Domain::Group) => "group",
                    _ => "continuous",
                }
            });
            let labels = model.and_then(|model| model.domain(node).labels().map(<[String]>::to_vec));
            (tree.name(node).to_owned(), tree.is_observed(node), kind, labels)
        });
        parts.collect()
    }

    /// The edges, from parent to child if the model is rooted.
    fn edges(&self) -> Vec<EdgeParts> {
        let tree = self.file.tree();
        let model = latent_tree(&self.file).ok();
        let parts = tree.edges().map(|edge| {
            let is_down = model.is_none_or(|model| model.parent(edge.b) == Some(edge.a));
            let (a, b) = if is_down { (edge.a, edge.b) } else { (edge.b, edge.a) };
            (tree.name(a).to_owned(), tree.name(b).to_owned(), edge.length, edge.support.or(edge.bootstrap))
        });
        parts.collect()
    }

    /// The roots of the trees.
    fn roots(&self) -> Vec<String> {
        let tree = self.file.tree();
        let roots = match latent_tree(&self.file) {
            Ok(model) => model.rooted().roots.clone(),
            Err(_) if tree.n_nodes() > 0 => vec![tree.center()],
            Err(_) => Vec::new(),
        };
        roots.into_iter().map(|root| tree.name(root).to_owned()).collect()
    }

    /// The columns of the data; empty if unknown.
    fn columns(&self) -> Vec<ColumnParts> {
        let schema = match &*self.file {
            ModelFile::LatentTree(model) => Some(model.schema()),
            ModelFile::Spectral(model) => Some(model.schema()),
            ModelFile::Tree { schema, .. } => schema.as_ref(),
            _ => None,
        };
        let columns = schema.map_or(&[][..], |schema| schema.columns());
        let labels = |kind: &Kind| kind.labels().map(<[String]>::to_vec);
        columns.iter().map(|column| (column.name.clone(), column.kind.name(), labels(&column.kind))).collect()
    }

    /// By node: the probabilities of its states, or mean and variance; nothing for other nodes.
    fn marginals(&self) -> PyResult<Vec<Option<Vec<f64>>>> {
        guarded(|| {
            let marginals = self.latent_tree()?.marginals();
            Ok(marginals
                .into_iter()
                .map(|marginal| match marginal {
                    Marginal::Discrete(states) => Some(states),
                    Marginal::Gaussian { mean, variance } => Some(vec![mean, variance]),
                    _ => None,
                })
                .collect())
        })
    }

    /// Posteriors of some nodes in every row: one column per state, or mean and variance.
    fn posterior<'py>(
        &self,
        py: Python<'py>,
        table: &Bound<'py, Table>,
        of: Vec<String>,
        n_jobs: usize,
    ) -> PyResult<Matrix<'py>> {
        let nodes = self.nodes_named(&of)?;
        let (file, table) = (Arc::clone(&self.file), Arc::clone(&table.get().dataset));
        let n_rows = table.n_rows() as usize;
        let values = worker::run(py, n_jobs, None, move |progress| {
            let mut values = Vec::new();
            over_batches(&file, &table, progress, |inference, batch| {
                let posterior = inference.posterior(batch, &nodes)?;
                (0..posterior.n_rows()).for_each(|row| values.extend_from_slice(posterior.row(row)));
                Ok(())
            })?;
            Ok(values)
        })?;
        let width = values.len().checked_div(n_rows).unwrap_or(0);
        matrix(py, values, n_rows, width)
    }

    /// The most probable joint assignment of every row, for some nodes: codes or numbers, NaN in a row of probability zero.
    fn most_probable<'py>(
        &self,
        py: Python<'py>,
        table: &Bound<'py, Table>,
        of: Vec<String>,
        n_jobs: usize,
    ) -> PyResult<Matrix<'py>> {
        let nodes = self.nodes_named(&of)?;
        let (file, table) = (Arc::clone(&self.file), Arc::clone(&table.get().dataset));
        let (n_rows, n_nodes) = (table.n_rows() as usize, nodes.len());
        let values = worker::run(py, n_jobs, None, move |progress| {
            let mut values = Vec::with_capacity(n_rows.saturating_mul(n_nodes));
            over_batches(&file, &table, progress, |inference, batch| {
                let best = inference.most_probable(batch)?;
                (0..batch.n_rows).for_each(|row| values.extend(nodes.iter().map(|&node| best.get(row, node))));
                Ok(())
            })?;
            Ok(values)
        })?;
        matrix(py, values, n_rows, n_nodes)
    }

    /// Log-likelihood of every row.
    fn score_samples<'py>(
        &self,
        py: Python<'py>,
        table: &Bound<'py, Table>,
        n_jobs: usize,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let (file, table) = (Arc::clone(&self.file), Arc::clone(&table.get().dataset));
        let values = worker::run(py, n_jobs, None, move |progress| {
            if let ModelFile::Spectral(model) = &*file {
                return spectral::score_samples(model, &table, progress);
            }
            let mut values = Vec::new();
            over_batches(&file, &table, progress, |inference, batch| {
                values.extend(inference.log_likelihood(batch)?);
                Ok(())
            })?;
            Ok(values)
        })?;
        Ok(PyArray1::from_vec(py, values))
    }

    /// All columns with missing cells filled: codes or numbers; with the method `mean`, numbers also of labels that are numbers.
    fn impute<'py>(
        &self,
        py: Python<'py>,
        table: &Bound<'py, Table>,
        method: &str,
        seed: u64,
        n_jobs: usize,
    ) -> PyResult<Matrix<'py>> {
        let (method, name): (Imputation, String) = (method.parse().map_err(to_python)?, method.to_owned());
        let (file, table) = (Arc::clone(&self.file), Arc::clone(&table.get().dataset));
        let (n_rows, n_columns) = (table.n_rows() as usize, table.schema().columns().len());
        let values = worker::run(py, n_jobs, None, move |progress| {
            if let ModelFile::Spectral(model) = &*file {
                return spectral::impute(model, &table, &name, progress);
            }
            let mut values = Vec::with_capacity(n_rows.saturating_mul(n_columns));
            over_batches(&file, &table, progress, |inference, batch| {
                let columns = inference.impute_by(batch, method, seed)?;
                (0..batch.n_rows).for_each(|row| values.extend(columns.iter().map(|column| column[row])));
                Ok(())
            })?;
            Ok(values)
        })?;
        matrix(py, values, n_rows, n_columns)
    }

    /// Draws rows: codes or numbers of all columns, followed by the hidden nodes if requested.
    fn sample<'py>(
        &self,
        py: Python<'py>,
        n_rows: u64,
        seed: u64,
        hidden: bool,
        given: Vec<(String, String)>,
        n_jobs: usize,
    ) -> PyResult<Matrix<'py>> {
        let evidence = self.evidence(&given)?;
        let file = Arc::clone(&self.file);
        let n_columns = self.latent_tree()?.schema().columns().len() + if hidden { self.file.tree().n_hidden() } else { 0 };
        let bytes = n_rows.saturating_mul(8 * n_columns as u64);
        let what = format!("{n_rows} rows of {n_columns} columns");
        MemoryBudget::of_machine().check_option("n_samples", &what, bytes, "draw fewer rows").map_err(to_python)?;
        let values = worker::run(py, n_jobs, None, move |progress| {
            let inference = Inference::new(latent_tree(&file)?);
            let mut sampler = inference.sampler(n_rows, seed).given(evidence)?;
            if hidden {
                sampler = sampler.with_hidden()?;
            }
            let mut values = Vec::new();
            while let Some(batch) = sampler.next_batch()? {
                progress.check()?;
                push_rows(&mut values, &batch);
            }
            Ok(values)
        })?;
        let n_rows = values.len().checked_div(n_columns).unwrap_or(0);
        matrix(py, values, n_rows, n_columns)
    }

    /// Log-likelihood of the evidence, and the probabilities, or mean and variance, of each queried node.
    fn query(&self, given: Vec<(String, String)>, of: Vec<String>) -> PyResult<(f64, Vec<Vec<f64>>)> {
        guarded(|| {
            if let ModelFile::Spectral(model) = &*self.file {
                let answer = spectral::query(model, &given, &of, false).map_err(to_python)?;
                return Ok((answer.log_evidence, answer.distributions));
            }
            let (evidence, nodes) = (self.evidence(&given)?, self.nodes_named(&of)?);
            let answer = Inference::new(self.latent_tree()?).query(&evidence, &nodes).map_err(to_python)?;
            Ok((answer.log_evidence, answer.marginals.into_iter().map(|marginal| marginal.1).collect()))
        })
    }

    /// The joint distribution of nodes: (probabilities, nothing) with the last node's state running fastest, or (means,
    /// covariances).
    fn joint(&self, given: Vec<(String, String)>, of: Vec<String>) -> PyResult<(Vec<f64>, Option<Vec<f64>>)> {
        guarded(|| {
            if let ModelFile::Spectral(model) = &*self.file {
                let mut answer = spectral::query(model, &given, &of, true).map_err(to_python)?;
                return Ok((answer.distributions.remove(0), None));
            }
            let (evidence, nodes) = (self.evidence(&given)?, self.nodes_named(&of)?);
            match Inference::new(self.latent_tree()?).joint(&evidence, &nodes).map_err(to_python)? {
                JointAnswer::Table { probabilities, .. } => Ok((probabilities, None)),
                JointAnswer::Gaussian { mean, covariance } => Ok((mean, Some(covariance))),
            }
        })
    }

    /// The name of the node with this name or label.
    fn find(&self, text: &str) -> PyResult<String> {
        guarded(|| {
            let model = self.latent_tree()?;
            Ok(model.tree().name(find_node(model, text).map_err(to_python)?).to_owned())
        })
    }

    /// The groups of variables, as JSON.
    fn groups(&self) -> PyResult<String> {
        guarded(|| {
            let model = self.latent_tree()?;
            Ok(Groups::of(model).to_json(model).to_string())
        })
    }

    /// The groups of variables, as text.
    fn summary(&self) -> PyResult<String> {
        guarded(|| {
            let model = self.latent_tree()?;
            Ok(Groups::of(model).to_text(model, None))
        })
    }

    /// The warning about badly explained pairs among these columns, if any.
    fn poor_pairs(&self, columns: Vec<String>) -> Vec<String> {
        let used: std::collections::HashSet<String> = columns.into_iter().collect();
        self.file.provenance().warning_of_poor_pairs(|column| used.contains(column)).into_iter().collect()
    }

    /// Writes the page, with the fit to rows if there are any.
    #[pyo3(signature = (path, title, table=None))]
    fn write_page(&self, path: PathBuf, title: &str, table: Option<&Bound<'_, Table>>) -> PyResult<()> {
        guarded(|| {
            let rows = table.map(|table| &*table.get().dataset as &dyn latentree::data::Rows);
            let options = PageOptions::new(title);
            let text = match &*self.file {
                ModelFile::Spectral(model) => spectral_page(model, rows, &options, &latentree::Silent),
                file => page(file, rows, &options, &latentree::Silent),
            }
            .map_err(to_python)?;
            let write = |out: &mut dyn std::io::Write| out.write_all(text.as_bytes()).map_err(Error::io("write", &path));
            latentree::file::write_atomically(&path, write).map_err(to_python)
        })
    }

    /// Distances between observed nodes along the tree, NaN between trees, with the nodes' names. Without lengths, distances
    /// follow from the model's tables.
    fn path_lengths<'py>(&self, py: Python<'py>) -> PyResult<(Vec<String>, Matrix<'py>)> {
        guarded(|| {
            let has_lengths = self.file.tree().edges().all(|edge| edge.length.is_some_and(|length| !length.is_nan()));
            let own = match &*self.file {
                ModelFile::LatentTree(model) if !has_lengths => Some(model.correlation_lengths()),
                _ => None,
            };
            let tree = own.as_ref().unwrap_or_else(|| self.file.tree());
            let lengths = tree.path_lengths().map_err(to_python)?;
            let n = lengths.nodes().len();
            let cells = (0..n).flat_map(|i| (0..n).map(move |j| (i, j)));
            let values = cells.map(|(i, j)| lengths.get(i, j).unwrap_or(f64::NAN)).collect();
            let names = lengths.nodes().iter().map(|&node| tree.name(node).to_owned()).collect();
            Ok((names, matrix(py, values, n, n)?))
        })
    }
}

fn push_rows(values: &mut Vec<f64>, batch: &latentree::data::Batch) {
    let Block::Dense(columns) = &batch.block else { return };
    for row in 0..batch.n_rows {
        values.extend(columns.iter().map(|column| column.number(row)));
    }
}
