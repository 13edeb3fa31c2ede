//! Events, MEDS and OMOP folders as sparse rows.

use std::path::PathBuf;

use latentree::Error;
use latentree::data::{BatchSource, Block, ClinicalFormat, ItemFile, KindOverride, ReadOptions, open};
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::{guarded, to_python};
use crate::worker;

/// The rows of a CSR matrix: starts, columns, values; then names and codes of the columns, ids of the rows, and notes.
type Rows<'py> = (
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<f64>>,
    Vec<String>,
    Vec<String>,
    Vec<String>,
    Vec<String>,
);

/// What the file holds, before it becomes arrays.
#[derive(Default)]
struct Found {
    starts: Vec<i64>,
    columns: Vec<i64>,
    values: Vec<f64>,
    names: Vec<String>,
    codes: Vec<String>,
    ids: Vec<String>,
    notes: Vec<String>,
}

/// Reads events; options have the names of the command line, with `_` for `-`.
#[pyfunction]
pub(crate) fn read_events<'py>(py: Python<'py>, path: PathBuf, options: &Bound<'py, PyDict>) -> PyResult<Rows<'py>> {
    let options = guarded(|| read_options(options))?;
    let found = worker::run(py, 0, None, move |progress| {
        let mut reader = open(&path, &options)?;
        let schema = std::sync::Arc::clone(reader.schema());
        let name = |column: &latentree::data::Column| column.name.clone();
        let code = |column: &latentree::data::Column| schema.code_of(&column.name).unwrap_or(&column.name).to_owned();
        let mut found = Found {
            starts: vec![0],
            names: schema.columns().iter().map(name).collect(),
            codes: schema.columns().iter().map(code).collect(),
            notes: reader.warnings().to_vec(),
            ..Found::default()
        };
        while let Some(batch) = reader.next_batch()? {
            progress.check()?;
            let Block::Sparse(rows) = &batch.block else {
                return Err(Error::option("read.events", "the file was read as a table of columns"));
            };
            let base = found.columns.len() as i64;
            found.starts.extend(rows.starts[1..].iter().map(|&start| base + start as i64));
            found.columns.extend(rows.columns.iter().map(|&column| i64::from(column)));
            match &rows.values {
                Some(values) => found.values.extend(values),
                None => found.values.resize(found.columns.len(), 1.0),
            }
            let carried = reader.carried();
            found.ids.extend((0..batch.n_rows).map(|row| carried.cell(row, 0).unwrap_or_default().to_owned()));
        }
        Ok(found)
    })?;
    let Found { starts, columns, values, names, codes, ids, notes } = found;
    Ok((starts.into_pyarray(py), columns.into_pyarray(py), values.into_pyarray(py), names, codes, ids, notes))
}

/// The options of a dictionary.
fn read_options(given: &Bound<'_, PyDict>) -> PyResult<ReadOptions> {
    let mut options = ReadOptions::default().carry_keys(true);
    let item_file = |value: &Bound<'_, PyAny>| -> PyResult<ItemFile> {
        if let Ok((path, item, other)) = value.extract::<(PathBuf, String, String)>() {
            return Ok(ItemFile::new(path).columns(item, other));
        }
        Ok(ItemFile::new(value.extract::<PathBuf>()?))
    };
    let mut split = None;
    for (name, value) in given.iter().filter(|(_, value)| !value.is_none()) {
        let name: String = name.extract()?;
        match name.as_str() {
            "events" => {
                let (row, item, of_value): (String, String, Option<String>) = value.extract()?;
                options = options.events(row, item, of_value);
            }
            "format" => {
                let format: String = value.extract()?;
                options = options.clinical(format.parse::<ClinicalFormat>().map_err(to_python)?);
            }
            "split" => split = Some(value.extract::<String>()?),
            "rollup" => options.rollup = Some(item_file(&value)?),
            "unmapped" => options.drop_unmapped = value.extract::<String>()? == "drop",
            "descriptions" => options.descriptions = Some(item_file(&value)?),
            "codes" => options.items.codes = value.extract()?,
            "min_rows" => options.items.min_rows = Some(value.extract()?),
            "max_share" => options.items.max_share = Some(value.extract()?),
            "coverage" => options.items.coverage = Some(value.extract()?),
            "min_items" => options.items.min_items = Some(value.extract()?),
            "subjects" => options.items.subjects = Some(value.extract()?),
            "time" => options.times.column = Some(value.extract()?),
            "since" => options.times.since = Some(value.extract()?),
            "until" => options.times.until = Some(value.extract()?),
            "count" if value.extract()? => options = options.kind("*", KindOverride::Count),
            "count" => {}
            other => return Err(to_python(Error::option("read.events", format!("{other:?} is no option")))),
        }
    }
    if let (Some(ClinicalFormat::Meds { split: of_format }), Some(split)) = (&mut options.clinical, split) {
        *of_format = Some(split);
    }
    Ok(options)
}
