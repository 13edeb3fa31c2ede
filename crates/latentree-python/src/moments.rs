//! Statistics of rows that can be updated, merged and serialised.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use latentree::data::{Schema, WeightKind, WeightedRows};
use latentree::learn::{Learning, MomentsFile, tree_over};
use latentree::moments::{Accumulator as _, PairMoments, fold};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::{guarded, to_python};
use crate::learn::read_tree;
use crate::table::Table;
use crate::worker;

/// First and second moments of all pairs of columns and, if collected for a tree, the statistics for its tables.
#[pyclass(frozen, module = "latentree._latentree")]
#[derive(Default)]
pub(crate) struct Moments {
    sums: Mutex<Option<MomentsFile>>,
}

impl Moments {
    fn lock(&self) -> MutexGuard<'_, Option<MomentsFile>> {
        self.sums.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The columns; `None` before the first rows.
    pub(crate) fn schema(&self) -> Option<Arc<Schema>> {
        self.lock().as_ref().map(|sums| Arc::clone(sums.pairs.schema()))
    }

    /// A copy of the sums.
    pub(crate) fn sums(&self) -> PyResult<MomentsFile> {
        let sums = self.lock().clone();
        sums.ok_or_else(|| PyValueError::new_err("no rows: give the moments some by update before they are used"))
    }
}

#[pymethods]
impl Moments {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Adds the rows of a table with the same columns. If there is a tree (Newick text, or the JSON of a tree or model), the first rows
    /// determine its plan.
    #[pyo3(signature = (table, n_jobs, tree=None, n_states=None))]
    fn update(
        &self,
        py: Python<'_>,
        table: &Bound<'_, Table>,
        n_jobs: usize,
        tree: Option<&str>,
        n_states: Option<usize>,
    ) -> PyResult<()> {
        let dataset = Arc::clone(&table.get().dataset);
        let tree = guarded(|| tree.map(|text| read_tree(text).map_err(to_python)).transpose())?;
        let before = self.lock().clone();
        let sums = worker::run(py, n_jobs, None, move |progress| {
            let Some(MomentsFile { pairs, tree }) = before else {
                let collected = match tree {
                    None => None,
                    Some(tree) => {
                        let tree = tree_over(&tree, dataset.schema())?;
                        let learning = Learning::new().tree(Some(tree)).hidden_states(n_states);
                        Some(learning.tree_moments(&*dataset, progress)?)
                    }
                };
                let pairs = PairMoments::new(Arc::clone(dataset.schema()))?;
                return Ok(MomentsFile { pairs: fold(&mut dataset.source(), pairs, progress)?, tree: collected });
            };
            let tree = match tree {
                None => None,
                Some(tree) => {
                    WeightedRows::new(&*dataset, WeightKind::default())?.require_frequencies()?;
                    Some(fold(&mut dataset.source(), tree, progress)?)
                }
            };
            Ok(MomentsFile { pairs: fold(&mut dataset.source(), pairs, progress)?, tree })
        })?;
        *self.lock() = Some(sums);
        Ok(())
    }

    /// Adds other moments.
    fn merge(&self, other: &Bound<'_, Self>) -> PyResult<()> {
        guarded(|| {
            let Some(other) = other.get().lock().clone() else { return Ok(()) };
            let mut sums = self.lock().clone();
            match &mut sums {
                Some(own) => own.merge(other).map_err(to_python)?,
                none => *none = Some(other),
            }
            *self.lock() = sums;
            Ok(())
        })
    }

    /// Moments with the same columns and plan, but without rows.
    fn empty(&self) -> Self {
        let empty = self
            .lock()
            .as_ref()
            .map(|sums| MomentsFile { pairs: sums.pairs.empty(), tree: sums.tree.as_ref().map(|tree| tree.empty()) });
        Self { sums: Mutex::new(empty) }
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        guarded(|| {
            let bytes = self.lock().as_ref().map_or_else(|| Ok(Vec::new()), MomentsFile::to_bytes).map_err(to_python)?;
            Ok(PyBytes::new(py, &bytes))
        })
    }

    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        guarded(|| {
            if bytes.is_empty() {
                return Ok(Self::default());
            }
            let sums = MomentsFile::from_bytes(bytes).map_err(to_python)?;
            Ok(Self { sums: Mutex::new(Some(sums)) })
        })
    }

    fn save(&self, path: PathBuf) -> PyResult<()> {
        guarded(|| self.sums()?.save(&path).map_err(to_python))
    }

    #[staticmethod]
    fn load(path: PathBuf) -> PyResult<Self> {
        guarded(|| {
            let sums = MomentsFile::load(&path).map_err(to_python)?;
            Ok(Self { sums: Mutex::new(Some(sums)) })
        })
    }

    #[getter]
    fn n_rows(&self) -> u64 {
        self.lock().as_ref().map_or(0, |sums| sums.pairs.n_rows())
    }

    #[getter]
    fn total_weight(&self) -> f64 {
        self.lock().as_ref().map_or(0.0, |sums| sums.pairs.total_weight())
    }

    #[getter]
    fn names(&self) -> Vec<String> {
        let names = |schema: Arc<Schema>| schema.columns().iter().map(|column| column.name.clone()).collect();
        self.schema().map_or_else(Vec::new, names)
    }
}
