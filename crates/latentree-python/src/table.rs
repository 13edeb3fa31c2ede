//! NumPy arrays as a table. They are read in place; a dense table is copied one column at a time before it is encoded.

use std::collections::HashMap;
use std::sync::Arc;

use latentree::Error;
use latentree::data::{
    Dataset, KindOverride, Loaded, MemoryRows, MemoryTable, ReadOptions, Schema, Unseen, Values, from_sparse_rows, from_values,
};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyList, PyString, PyTuple};

use crate::distributed::read_schema;
use crate::error::{guarded, to_python, with_python_names};
use crate::mixture::GroupModel;
use crate::model::Model;
use crate::moments::Moments;

/// Rows of typed cells, for learning or queries.
#[pyclass(frozen, module = "latentree._latentree")]
pub(crate) struct Table {
    pub(crate) dataset: Arc<Dataset>,
    warnings: Vec<String>,
    unseen: Vec<String>,
}

/// The common part of all kinds of tables.
struct Settings {
    options: ReadOptions,
    weights: Option<Vec<f64>>,
}

impl Settings {
    fn new(
        kinds: Vec<(String, String)>,
        weights: Option<PyReadonlyArray1<'_, f64>>,
        like: Option<&Bound<'_, PyAny>>,
        unseen: Option<&str>,
        min_count: Option<u64>,
    ) -> PyResult<Self> {
        let mut options = ReadOptions::default();
        options.min_count = min_count;
        for (name, kind) in kinds {
            let parsed = KindOverride::parse(&kind).ok_or_else(|| {
                let problem = format!("{kind:?} is not categorical, binary, continuous, count or ignore");
                to_python(Error::option("read.kind", problem))
            })?;
            options = options.kind(name, parsed);
        }
        if let Some(schema) = like.map(schema_of).transpose()?.flatten() {
            options = options.schema(schema);
        }
        if let Some(unseen) = unseen {
            options = options.unseen(unseen.parse().map_err(to_python)?);
        }
        Ok(Self { options, weights: weights.map(|weights| weights.as_array().to_vec()) })
    }
}

fn schema_of(like: &Bound<'_, PyAny>) -> PyResult<Option<Arc<Schema>>> {
    if let Ok(model) = like.cast::<Model>() {
        return Ok(Some(Arc::clone(model.get().schema()?)));
    }
    if let Ok(model) = like.cast::<GroupModel>() {
        return Ok(Some(Arc::clone(model.get().schema())));
    }
    if let Ok(moments) = like.cast::<Moments>() {
        return Ok(moments.get().schema());
    }
    if let Ok(text) = like.extract::<String>() {
        return read_schema(&text).map(Some);
    }
    Err(PyTypeError::new_err("a model, moments or a schema are needed"))
}

fn finish(loaded: Result<Loaded, Error>) -> PyResult<Table> {
    let loaded = loaded.map_err(to_python)?;
    // Names were compared before, so columns that are not in the model are those ignored when it was fitted.
    let unseen = Unseen { columns: None, ..loaded.unseen }.notes();
    let warnings = loaded.warnings.iter().map(|warning| with_python_names(warning)).collect();
    Ok(Table { dataset: Arc::new(loaded.dataset), warnings, unseen })
}

/// Calls a macro with all supported numeric types of arrays.
macro_rules! for_number_types {
    ($each:ident) => {
        $each!(f64, f32, i64, i32, i16, i8, u64, u32, u16, u8, bool)
    };
}

/// A cell as a number.
trait Number: Copy {
    const IS_BOOL: bool = false;
    fn number(self) -> f64;
}

macro_rules! implement_number {
    ($($kind:ty),*) => { $(impl Number for $kind { fn number(self) -> f64 { self as f64 } })* };
}
implement_number!(f64, f32, i64, i32, i16, i8, u64, u32, u16, u8);

impl Number for bool {
    const IS_BOOL: bool = true;
    fn number(self) -> f64 {
        f64::from(u8::from(self))
    }
}

fn values_of<T: Number>(cells: impl Iterator<Item = T>) -> Values {
    if T::IS_BOOL {
        Values::Truths(cells.map(|cell| Some(cell.number() == 1.0)).collect())
    } else {
        Values::Numbers(cells.map(Number::number).collect())
    }
}

fn no_dtype(array: &Bound<'_, PyUntypedArray>) -> PyErr {
    PyTypeError::new_err(format!("arrays of {} with {} dimensions cannot be read here", array.dtype(), array.ndim()))
}

/// A column that is read lazily.
type Fetch<'py> = Box<dyn FnMut() -> Values + 'py>;

fn column<'py>(item: &Bound<'py, PyAny>, name: &str) -> PyResult<(usize, Fetch<'py>)> {
    if let Ok(list) = item.cast::<PyList>() {
        let values = objects(list, name)?;
        return Ok((list.len(), Box::new(move || values.clone())));
    }
    if let Ok(parts) = item.cast::<PyTuple>() {
        let (codes, texts, are_levels): (PyReadonlyArray1<'py, i64>, Vec<String>, bool) = parts.extract()?;
        let n_rows = codes.len();
        return Ok((
            n_rows,
            Box::new(move || {
                let codes = codes.as_array().iter().map(|&code| u32::try_from(code).unwrap_or(u32::MAX)).collect();
                Values::Texts { texts: texts.clone(), codes, are_levels }
            }),
        ));
    }
    macro_rules! try_each {
        ($($kind:ty),*) => { $(
            if let Ok(array) = item.cast::<PyArray1<$kind>>() {
                let array = array.try_readonly().map_err(|error| PyValueError::new_err(error.to_string()))?;
                return Ok((array.len(), Box::new(move || values_of(array.as_array().iter().copied()))));
            }
        )* };
    }
    for_number_types!(try_each);
    Err(item.cast::<PyUntypedArray>().map_or_else(|_| PyTypeError::new_err("not a column"), no_dtype))
}

enum Cell {
    Missing,
    Truth(bool),
    Number(f64),
    Text(String),
}

/// The cell of a Python object. `None`, NaN and the missing values of pandas are missing.
fn cell(object: &Bound<'_, PyAny>) -> Option<Cell> {
    if object.is_none() {
        return Some(Cell::Missing);
    }
    if let Ok(text) = object.cast::<PyString>() {
        return Some(Cell::Text(text.to_str().ok()?.to_owned()));
    }
    if let Ok(truth) = object.cast::<PyBool>() {
        return Some(Cell::Truth(truth.is_true()));
    }
    if object.is_instance_of::<PyFloat>() || object.is_instance_of::<PyInt>() {
        return object.extract().ok().map(Cell::Number);
    }
    let kind = object.get_type().name().ok()?.to_string();
    match kind.as_str() {
        "NAType" | "NaTType" => Some(Cell::Missing),
        "bool" | "bool_" => object.is_truthy().ok().map(Cell::Truth),
        _ => object.extract().ok().map(Cell::Number),
    }
}

fn objects(list: &Bound<'_, PyList>, name: &str) -> PyResult<Values> {
    let mut cells = Vec::with_capacity(list.len());
    for (row, object) in list.iter().enumerate() {
        let cell = cell(&object).ok_or_else(|| {
            let kind = object.get_type().name().map_or_else(|_| "object".to_owned(), |name| name.to_string());
            PyTypeError::new_err(format!(
                "row {}, column {name:?}: argument must be a string or a real number, not {kind:?}",
                row + 1
            ))
        })?;
        cells.push(cell);
    }
    if cells.iter().all(|cell| matches!(cell, Cell::Missing | Cell::Truth(_))) {
        let truths = cells.into_iter().map(|cell| if let Cell::Truth(truth) = cell { Some(truth) } else { None });
        return Ok(Values::Truths(truths.collect()));
    }
    if !cells.iter().any(|cell| matches!(cell, Cell::Text(_))) {
        let numbers = cells.into_iter().map(|cell| match cell {
            Cell::Number(value) => value,
            Cell::Truth(truth) => truth.number(),
            Cell::Missing | Cell::Text(_) => f64::NAN,
        });
        return Ok(Values::Numbers(numbers.collect()));
    }
    let mut texts = Vec::new();
    let mut known: HashMap<String, u32> = HashMap::new();
    let codes = cells.into_iter().map(|cell| {
        let text = match cell {
            Cell::Text(text) => text,
            Cell::Number(value) if value.is_nan() => return u32::MAX,
            Cell::Number(value) => format!("{value}"),
            Cell::Truth(truth) => truth.to_string(),
            Cell::Missing => return u32::MAX,
        };
        *known.entry(text).or_insert_with_key(|text| {
            texts.push(text.clone());
            texts.len() as u32 - 1
        })
    });
    let codes = codes.collect();
    Ok(Values::Texts { texts, codes, are_levels: false })
}

#[pymethods]
impl Table {
    /// A table from columns: one-dimensional arrays, lists of objects, or (codes, texts, are_levels).
    #[staticmethod]
    #[expect(clippy::too_many_arguments, reason = "arguments of a Python call")]
    #[pyo3(signature = (names, named, columns, kinds, weights=None, like=None, unseen=None, min_count=None))]
    fn from_columns(
        names: Vec<String>,
        named: bool,
        columns: &Bound<'_, PyList>,
        kinds: Vec<(String, String)>,
        weights: Option<PyReadonlyArray1<'_, f64>>,
        like: Option<&Bound<'_, PyAny>>,
        unseen: Option<&str>,
        min_count: Option<u64>,
    ) -> PyResult<Self> {
        guarded(|| {
            let Settings { options, weights } = Settings::new(kinds, weights, like, unseen, min_count)?;
            let columns = columns.iter().zip(&names).map(|(item, name)| column(&item, name)).collect::<PyResult<Vec<_>>>()?;
            let n_rows = columns.first().map_or(0, |column| column.0);
            if columns.len() != names.len() {
                return Err(PyValueError::new_err(format!("{} names for {} columns", names.len(), columns.len())));
            }
            let mut columns: Vec<Fetch<'_>> = columns.into_iter().map(|column| column.1).collect();
            let mut fetch = |ix: usize| columns[ix]();
            let table = MemoryTable { names: &names, named, n_rows, weights, column: &mut fetch };
            finish(from_values(table, &options))
        })
    }

    /// A table from an array with one row for each row.
    #[staticmethod]
    #[expect(clippy::too_many_arguments, reason = "arguments of a Python call")]
    #[pyo3(signature = (names, named, matrix, kinds, weights=None, like=None, unseen=None, min_count=None))]
    fn from_matrix(
        names: Vec<String>,
        named: bool,
        matrix: &Bound<'_, PyAny>,
        kinds: Vec<(String, String)>,
        weights: Option<PyReadonlyArray1<'_, f64>>,
        like: Option<&Bound<'_, PyAny>>,
        unseen: Option<&str>,
        min_count: Option<u64>,
    ) -> PyResult<Self> {
        guarded(|| {
            let Settings { options, weights } = Settings::new(kinds, weights, like, unseen, min_count)?;
            macro_rules! try_each {
                ($($kind:ty),*) => { $(
                    if let Ok(array) = matrix.cast::<PyArray2<$kind>>() {
                        let array: PyReadonlyArray2<'_, $kind> =
                            array.try_readonly().map_err(|error| PyValueError::new_err(error.to_string()))?;
                        let array = array.as_array();
                        if array.ncols() != names.len() {
                            return Err(PyValueError::new_err(format!("{} names for {} columns", names.len(), array.ncols())));
                        }
                        let mut fetch = |ix: usize| values_of(array.column(ix).iter().copied());
                        let table = MemoryTable { names: &names, named, n_rows: array.nrows(), weights, column: &mut fetch };
                        return finish(from_values(table, &options));
                    }
                )* };
            }
            for_number_types!(try_each);
            Err(matrix.cast::<PyUntypedArray>().map_or_else(|_| PyTypeError::new_err("not an array"), no_dtype))
        })
    }

    /// A table from compressed sparse rows.
    #[staticmethod]
    #[pyo3(signature = (names, named, starts, columns, values, kinds, weights=None, like=None, unseen=None, min_count=None))]
    #[expect(clippy::too_many_arguments, reason = "they are named by the one caller")]
    fn from_sparse(
        names: Vec<String>,
        named: bool,
        starts: PyReadonlyArray1<'_, i64>,
        columns: PyReadonlyArray1<'_, i64>,
        values: PyReadonlyArray1<'_, f64>,
        kinds: Vec<(String, String)>,
        weights: Option<PyReadonlyArray1<'_, f64>>,
        like: Option<&Bound<'_, PyAny>>,
        unseen: Option<&str>,
        min_count: Option<u64>,
    ) -> PyResult<Self> {
        guarded(|| {
            let Settings { options, weights } = Settings::new(kinds, weights, like, unseen, min_count)?;
            let rows = MemoryRows {
                names,
                named,
                starts: starts.as_array().iter().map(|&start| usize::try_from(start).unwrap_or(usize::MAX)).collect(),
                columns: columns.as_array().iter().map(|&column| u32::try_from(column).unwrap_or(u32::MAX)).collect(),
                values: values.as_array().to_vec(),
                weights,
            };
            finish(from_sparse_rows(rows, &options))
        })
    }

    /// The rows for which a mask is true.
    fn rows(&self, mask: PyReadonlyArray1<'_, bool>) -> PyResult<Self> {
        let mask = mask.as_array();
        if mask.len() as u64 != self.dataset.n_rows() {
            let problem = format!("a mask of {} rows for a table of {}", mask.len(), self.dataset.n_rows());
            return Err(PyValueError::new_err(problem));
        }
        let dataset = self.dataset.rows_where(|row| mask[row as usize]);
        Ok(Self { dataset: Arc::new(dataset), warnings: Vec::new(), unseen: Vec::new() })
    }

    /// Number of rows.
    #[getter]
    fn n_rows(&self) -> u64 {
        self.dataset.n_rows()
    }

    /// Warnings: ignored columns, with the reasons.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }

    /// Labels that the model does not know and that were read as missing, one sentence per column.
    #[getter]
    fn unseen(&self) -> Vec<String> {
        self.unseen.clone()
    }
}
