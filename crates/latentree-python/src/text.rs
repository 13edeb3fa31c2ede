//! Text as word counts, and topics of models.

use std::path::PathBuf;

use latentree::data::{BatchSource, Block, Dataset, DocumentLimit, ReadOptions, Reader, TextOptions, open, open_texts};
use latentree::report::TopicTable;
use latentree::{Error, Place};
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;

use crate::error::{guarded, to_python};
use crate::mixture::GroupModel;
use crate::model::Model;
use crate::table::Table;
use crate::worker;

/// Row ends, columns and values of a compressed sparse row matrix, then its words, the names of documents and what the user
/// should know.
type Counts<'py> =
    (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i32>>, Bound<'py, PyArray1<f64>>, Vec<String>, Vec<String>, Vec<String>);

/// Reads files, or texts in memory, as word counts.
#[pyfunction]
#[pyo3(signature = (paths, texts, n_jobs, column=None, split=None, stop=None, min_df=None, max_df=None, coverage=None, encoding=None, id=None, vocabulary=None))]
#[expect(clippy::too_many_arguments, reason = "they are the arguments of the Python function")]
pub(crate) fn read_text<'py>(
    py: Python<'py>,
    paths: Option<Vec<PathBuf>>,
    texts: Option<Vec<String>>,
    n_jobs: usize,
    column: Option<String>,
    split: Option<String>,
    stop: Option<&str>,
    min_df: Option<&str>,
    max_df: Option<&str>,
    coverage: Option<f64>,
    encoding: Option<&str>,
    id: Option<String>,
    vocabulary: Option<Vec<String>>,
) -> PyResult<Counts<'py>> {
    let options = guarded(|| {
        let text = || -> latentree::Result<TextOptions> {
            Ok(TextOptions {
                column,
                split,
                stop: stop.map(str::parse).transpose()?.unwrap_or_default(),
                min_df: min_df.map(|text| DocumentLimit::parse("read.min_df", text)).transpose()?,
                max_df: max_df.map(|text| DocumentLimit::parse("read.max_df", text)).transpose()?,
                coverage,
                ..TextOptions::default()
            })
        };
        let mut options = ReadOptions::default().text(text().map_err(to_python)?);
        if let Some(encoding) = encoding {
            options = options.encoding(encoding.parse().map_err(to_python)?);
        }
        if let Some(words) = vocabulary {
            let mut schema = latentree::data::Schema::builder();
            for word in words {
                schema = schema.scalar(word, latentree::data::Kind::Count);
            }
            options = options.schema(std::sync::Arc::new(schema.build().map_err(to_python)?));
        }
        options.id = id;
        Ok(options.keep_bytes(1 << 30))
    })?;
    let (reader, dataset) = worker::run(py, n_jobs, None, move |_| {
        let mut reader: Reader = match (paths, texts) {
            (_, Some(texts)) => open_texts(texts, None, &options)?,
            (Some(mut paths), None) => {
                let mut options = options;
                if let Some(text) = &mut options.text {
                    text.more = paths.split_off(1.min(paths.len()));
                }
                open(paths.first().map_or(std::path::Path::new(""), PathBuf::as_path), &options)?
            }
            (None, None) => open_texts(Vec::new(), None, &options)?,
        };
        let dataset = Dataset::read(&mut reader)?;
        Ok((reader, dataset))
    })?;
    let (mut ends, mut columns, mut values) = (vec![0_i64], Vec::new(), Vec::new());
    for batch in dataset.batches() {
        let Block::Sparse(rows) = &batch.block else {
            let problem = "the rows are those of a table, not of documents; name the column that holds the texts (column=)";
            return Err(to_python(Error::data(Place::default(), problem)));
        };
        for row in 0..batch.n_rows {
            for (column, value) in rows.row(row) {
                columns.push(column as i32);
                values.push(value);
            }
            ends.push(columns.len() as i64);
        }
    }
    let words = reader.schema().columns().iter().map(|column| column.name.clone()).collect();
    let documents = reader.documents();
    let names = (0..documents.len()).map(|ix| documents.name(ix)).collect();
    let notes = reader.warnings().iter().map(|note| crate::error::python_message(note)).collect();
    Ok((ends.into_pyarray(py), columns.into_pyarray(py), values.into_pyarray(py), words, names, notes))
}

/// Topics of a model of words as JSON, with coherence if a table of words is given.
#[pyfunction]
#[pyo3(signature = (model, table, n_topics, n_words, n_jobs))]
pub(crate) fn topics(
    py: Python<'_>,
    model: &Bound<'_, PyAny>,
    table: Option<&Bound<'_, Table>>,
    n_topics: Option<usize>,
    n_words: usize,
    n_jobs: usize,
) -> PyResult<String> {
    let topics = if let Ok(group) = model.cast::<GroupModel>() {
        TopicTable::check_words(group.get().schema()).map_err(to_python)?;
        group.get().topics_table(n_words)
    } else {
        TopicTable::of_model(model.cast::<Model>()?.get().latent_tree()?, n_topics, n_words).map_err(to_python)?
    };
    let rows = table.map(|table| std::sync::Arc::clone(&table.get().dataset));
    worker::run(py, n_jobs, None, move |progress| {
        let topics = match rows {
            Some(rows) => topics.measured(&*rows, progress)?,
            None => topics,
        };
        Ok(topics.to_json().to_string())
    })
}
