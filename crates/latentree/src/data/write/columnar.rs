//! Parquet and Arrow IPC.
//!
//! Labels that are whole numbers are written as such, the labels `false` and `true` as truth values, others as texts;
//! counts as whole numbers, reals as 64-bit floats.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema as ArrowSchema};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

use super::results::Value;
use crate::data::{Column, ColumnData, Kind};
use crate::error::{Error, Place, Result};
use crate::file::AtomicWriter;

/// Writes record batches.
pub(super) struct ColumnarWriter {
    path: PathBuf,
    schema: Arc<ArrowSchema>,
    sink: Sink,
}

/// The cells of one column of a table.
pub(super) enum Cells<'a> {
    Variable(&'a Column, &'a ColumnData),
    Texts(Vec<Option<&'a str>>),
    Numbers(Vec<f64>),
}

enum Sink {
    Parquet(Box<ArrowWriter<AtomicWriter>>),
    Arrow(Box<FileWriter<AtomicWriter>>),
}

/// Memory of a group of rows of a Parquet file, which is written when it takes more: tables of many columns would otherwise grow
/// to gigabytes.
const ROW_GROUP_BYTES: usize = 64 << 20;

/// Largest whole number that a count may be to be written as one.
const EXACT: f64 = 9_007_199_254_740_992.0;

fn storage(kind: &Kind) -> DataType {
    match kind.labels() {
        Some(labels) if labels == ["false", "true"] => DataType::Boolean,
        Some(labels) if labels.iter().all(|label| label.parse::<i64>().is_ok_and(|value| value.to_string() == *label)) => {
            DataType::Int64
        }
        Some(_) => DataType::Utf8,
        None if *kind == Kind::Count => DataType::Int64,
        None => DataType::Float64,
    }
}

impl ColumnarWriter {
    /// A file with columns of these names and kinds; columns without a kind are text.
    pub(super) fn for_table(path: &Path, columns: &[(&str, Option<&Kind>)], is_parquet: bool) -> Result<Self> {
        let fields = columns.iter().map(|(name, kind)| Field::new(*name, kind.map_or(DataType::Utf8, storage), true));
        Self::create(path, ArrowSchema::new(fields.collect::<Vec<Field>>()), is_parquet)
    }

    fn create(path: &Path, schema: ArrowSchema, is_parquet: bool) -> Result<Self> {
        let out = AtomicWriter::create_uncompressed(path)?;
        let schema = Arc::new(schema);
        let sink = if is_parquet {
            let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
            let writer = ArrowWriter::try_new(out, Arc::clone(&schema), Some(properties));
            writer.map_err(ArrowError::from).map(|writer| Sink::Parquet(Box::new(writer)))
        } else {
            FileWriter::try_new(out, &schema).map(|writer| Sink::Arrow(Box::new(writer)))
        };
        Ok(Self { path: path.to_path_buf(), schema, sink: sink.map_err(|error| write_error(path, error))? })
    }

    pub(super) fn write_table<'c>(&mut self, columns: impl Iterator<Item = Cells<'c>>) -> Result<()> {
        let arrays = columns.map(|cells| match cells {
            Cells::Variable(column, cells) => array(column, cells),
            Cells::Texts(texts) => Ok(Arc::new(StringArray::from(texts)) as ArrayRef),
            Cells::Numbers(numbers) => Ok(Arc::new(Float64Array::from(numbers)) as ArrayRef),
        });
        let arrays = arrays
            .collect::<Result<Vec<ArrayRef>, _>>()
            .map_err(|(row, name, problem)| Error::data(Place::file(&self.path).row(row).column(name), problem))?;
        self.write(arrays)
    }

    fn write(&mut self, arrays: Vec<ArrayRef>) -> Result<()> {
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), arrays);
        let written = batch.and_then(|batch| match &mut self.sink {
            Sink::Parquet(writer) => writer
                .write(&batch)
                .and_then(|()| match writer.memory_size() {
                    0..=ROW_GROUP_BYTES => Ok(()),
                    _ => writer.flush(),
                })
                .map_err(ArrowError::from),
            Sink::Arrow(writer) => writer.write(&batch),
        });
        written.map_err(|error| write_error(&self.path, error))
    }

    pub(super) fn finish(self) -> Result<()> {
        let Self { path, sink, .. } = self;
        let out = match sink {
            Sink::Parquet(writer) => writer.into_inner().map_err(ArrowError::from),
            Sink::Arrow(writer) => writer.into_inner(),
        };
        out.map_err(|error| write_error(&path, error))?.finish()
    }
}

fn write_error(path: &Path, error: ArrowError) -> Error {
    Error::io("write", path)(match error {
        ArrowError::IoError(_, source) => source,
        other => std::io::Error::other(other),
    })
}

fn array(column: &Column, cells: &ColumnData) -> Result<ArrayRef, (u64, String, String)> {
    let rows = 0..cells.len();
    let code = |row: usize| cells.code(row).map(|code| code as usize);
    Ok(match (storage(&column.kind), column.kind.labels()) {
        (DataType::Boolean, _) => Arc::new(rows.map(|row| code(row).map(|code| code == 1)).collect::<BooleanArray>()),
        (DataType::Utf8, Some(labels)) => {
            Arc::new(rows.map(|row| code(row).map(|code| labels[code].as_str())).collect::<StringArray>())
        }
        (DataType::Int64, Some(labels)) => {
            let values: Vec<i64> = labels.iter().filter_map(|label| label.parse().ok()).collect();
            Arc::new(rows.map(|row| code(row).map(|code| values[code])).collect::<Int64Array>())
        }
        (DataType::Int64, None) => {
            if let Some(row) = (0..cells.len()).find(|&row| cells.number(row).abs() > EXACT) {
                return Err((row as u64 + 1, column.name.clone(), "the count is too large to be written exactly".to_owned()));
            }
            Arc::new(
                rows.map(|row| Some(cells.number(row)).filter(|it| !it.is_nan()).map(|it| it as i64)).collect::<Int64Array>(),
            )
        }
        _ => Arc::new(rows.map(|row| Some(cells.number(row)).filter(|it| !it.is_nan())).collect::<Float64Array>()),
    })
}

/// Rows of results on their way into columns, whose types the first rows decide.
pub(super) struct ResultColumns {
    path: PathBuf,
    names: Vec<String>,
    is_parquet: bool,
    rows: Vec<Vec<Owned>>,
    types: Vec<DataType>,
    n_written: u64,
    writer: Option<ColumnarWriter>,
}

#[derive(Debug, Clone, PartialEq)]
enum Owned {
    Number(f64),
    Integer(u64),
    Text(String),
    Missing,
}

/// Rows that are held to decide the types, and written at once.
const RESULT_ROWS: usize = 8192;

impl ResultColumns {
    pub(super) fn create(path: &Path, names: &[&str], is_parquet: bool) -> Result<Self> {
        let names = names.iter().map(|&name| name.to_owned()).collect();
        let (rows, types) = (Vec::new(), Vec::new());
        Ok(Self { path: path.to_path_buf(), names, is_parquet, rows, types, n_written: 0, writer: None })
    }

    pub(super) fn write_row(&mut self, values: &[Value<'_>]) -> Result<()> {
        let row = values.iter().map(|value| match *value {
            Value::Number(number) if number.is_nan() => Owned::Missing,
            Value::Number(number) => Owned::Number(number),
            Value::Integer(number) => Owned::Integer(number),
            Value::Text(text) => Owned::Text(text.to_owned()),
            Value::Missing => Owned::Missing,
        });
        self.rows.push(row.collect());
        if self.rows.len() == RESULT_ROWS { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        if self.writer.is_none() {
            self.types = (0..self.names.len()).map(|column| self.type_of(column)).collect();
            let fields = self.names.iter().zip(&self.types).map(|(name, kind)| Field::new(name, kind.clone(), true));
            let schema = ArrowSchema::new(fields.collect::<Vec<Field>>());
            self.writer = Some(ColumnarWriter::create(&self.path, schema, self.is_parquet)?);
        }
        let arrays = (0..self.names.len()).map(|column| self.array(column)).collect::<Result<Vec<ArrayRef>>>()?;
        self.n_written += self.rows.len() as u64;
        self.rows.clear();
        self.writer.as_mut().map_or(Ok(()), |writer| writer.write(arrays))
    }

    fn type_of(&self, column: usize) -> DataType {
        let mut kind = DataType::Int64;
        let mut any = false;
        for row in &self.rows {
            match &row[column] {
                Owned::Text(_) => return DataType::Utf8,
                Owned::Number(_) => kind = DataType::Float64,
                Owned::Integer(_) | Owned::Missing => {}
            }
            any |= row[column] != Owned::Missing;
        }
        if any { kind } else { DataType::Float64 }
    }

    fn array(&self, column: usize) -> Result<ArrayRef> {
        let cells = self.rows.iter().map(|row| &row[column]);
        let misfit = |row: usize, what: &str| {
            let place = Place::file(&self.path).row(self.n_written + row as u64 + 1).column(&self.names[column]);
            Error::data(place, format!("{what} in a column that began otherwise; write the results as .csv"))
        };
        Ok(match self.types[column] {
            DataType::Utf8 => Arc::new(
                cells
                    .map(|cell| match cell {
                        Owned::Text(text) => Some(text.clone()),
                        Owned::Number(number) => Some(crate::data::read::number_text(*number)),
                        Owned::Integer(number) => Some(number.to_string()),
                        Owned::Missing => None,
                    })
                    .collect::<StringArray>(),
            ),
            DataType::Int64 => {
                let cells = cells.enumerate().map(|(row, cell)| match cell {
                    Owned::Integer(number) => i64::try_from(*number).map(Some).map_err(|_| misfit(row, "a very large number")),
                    Owned::Missing => Ok(None),
                    _ => Err(misfit(row, "not a whole number")),
                });
                Arc::new(Int64Array::from(cells.collect::<Result<Vec<Option<i64>>>>()?))
            }
            _ => {
                let cells = cells.enumerate().map(|(row, cell)| match cell {
                    Owned::Number(number) => Ok(Some(*number)),
                    Owned::Integer(number) => Ok(Some(*number as f64)),
                    Owned::Missing => Ok(None),
                    Owned::Text(_) => Err(misfit(row, "a text")),
                });
                Arc::new(Float64Array::from(cells.collect::<Result<Vec<Option<f64>>>>()?))
            }
        })
    }

    pub(super) fn finish(mut self) -> Result<()> {
        if !self.rows.is_empty() || self.writer.is_none() {
            self.flush()?;
        }
        self.writer.map_or(Ok(()), ColumnarWriter::finish)
    }
}
