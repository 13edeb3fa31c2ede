//! Statistics of rows that can be updated, merged and serialised.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use latentree::data::Schema;
use latentree::moments::{Accumulator, PairMoments, fold};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::{guarded, to_python};
use crate::table::Table;
use crate::worker;

/// First and second moments of all pairs of columns.
#[pyclass(frozen, module = "latentree._latentree")]
#[derive(Default)]
pub(crate) struct Moments {
    sums: Mutex<Option<PairMoments>>,
}

impl Moments {
    fn lock(&self) -> MutexGuard<'_, Option<PairMoments>> {
        self.sums.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the columns are; `None` before the first rows.
    pub(crate) fn schema(&self) -> Option<Arc<Schema>> {
        self.lock().as_ref().map(|sums| Arc::clone(sums.schema()))
    }

    /// A copy of the sums.
    pub(crate) fn sums(&self) -> PyResult<PairMoments> {
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

    /// Adds the rows of a table, which was made like these moments.
    fn update(&self, py: Python<'_>, table: &Bound<'_, Table>, n_jobs: usize) -> PyResult<()> {
        let dataset = Arc::clone(&table.get().dataset);
        let before = self.lock().clone();
        let sums = worker::run(py, n_jobs, None, move |progress| {
            let before = match before {
                Some(sums) => sums,
                None => PairMoments::new(Arc::clone(dataset.schema()))?,
            };
            fold(&mut dataset.source(), before, progress)
        })?;
        *self.lock() = Some(sums);
        Ok(())
    }

    /// Adds all that other moments have seen.
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

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        guarded(|| {
            let bytes = self.lock().as_ref().map_or_else(|| Ok(Vec::new()), Accumulator::to_bytes).map_err(to_python)?;
            Ok(PyBytes::new(py, &bytes))
        })
    }

    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        guarded(|| {
            if bytes.is_empty() {
                return Ok(Self::default());
            }
            let sums = PairMoments::from_bytes(bytes).map_err(to_python)?;
            Ok(Self { sums: Mutex::new(Some(sums)) })
        })
    }

    fn save(&self, path: PathBuf) -> PyResult<()> {
        guarded(|| self.sums()?.save(&path).map_err(to_python))
    }

    #[staticmethod]
    fn load(path: PathBuf) -> PyResult<Self> {
        guarded(|| {
            let sums = PairMoments::load(&path).map_err(to_python)?;
            Ok(Self { sums: Mutex::new(Some(sums)) })
        })
    }

    #[getter]
    fn n_rows(&self) -> u64 {
        self.lock().as_ref().map_or(0, PairMoments::n_rows)
    }

    #[getter]
    fn total_weight(&self) -> f64 {
        self.lock().as_ref().map_or(0.0, PairMoments::total_weight)
    }

    #[getter]
    fn names(&self) -> Vec<String> {
        let names = |schema: Arc<Schema>| schema.columns().iter().map(|column| column.name.clone()).collect();
        self.schema().map_or_else(Vec::new, names)
    }
}
