//! Writers of tables: batches of a schema ([`TableWriter`]) and results row by row ([`ResultWriter`]).
//!
//! The ending chooses the format: `.tsv`, `.parquet`, `.arrow`/`.feather`/`.ipc`, `.svm`/`.libsvm` (batches only), and CSV for
//! `.csv`, `.txt` and no ending (others are refused); `.gz` and `.zst` compress the text formats, `-` is CSV to standard output.
//! A file only appears once it is complete. Labels are written as labels, missing cells as empty fields (or nulls), numbers
//! in the shortest form that reads back as the same bits.

#[cfg(feature = "columnar")]
mod columnar;
mod results;
mod text;

use std::path::Path;

pub use results::{ResultWriter, Value};

use self::text::{LibsvmWriter, TextWriter};
use super::read::is_missing;
use super::{Batch, Block, Carried, Column, FileColumn, Schema};
#[cfg(feature = "columnar")]
use super::{ColumnData, Kind};
use crate::error::{Error, Result};
use crate::file;

/// Writes the batches of a table to a file.
///
/// # Example
/// ```
/// use std::sync::Arc;
/// use latentree::data::{ColumnData, Dataset, Kind, Schema, TableWriter};
/// let schema = Arc::new(Schema::builder().scalar("smoker", Kind::binary()).build()?);
/// let dataset = Dataset::from_columns(Arc::clone(&schema), vec![ColumnData::Codes8(vec![0, 1])], None)?;
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("table.csv");
/// let mut writer = TableWriter::create(&path, &schema, None)?;
/// for batch in dataset.batches() {
///     writer.write_batch(batch)?;
/// }
/// writer.finish()?;
/// assert_eq!(std::fs::read_to_string(&path)?, "smoker\n0\n1\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct TableWriter {
    columns: Vec<Column>,
    layout: Vec<Slot>,
    sink: Sink,
}

/// The content of one column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Slot {
    Variable(usize),
    Carried(usize),
    /// A variable, and the text it was read from.
    Both(usize, usize),
    Weight,
}

enum Sink {
    Text(TextWriter),
    Libsvm(LibsvmWriter),
    #[cfg(feature = "columnar")]
    Columnar(columnar::ColumnarWriter),
}

/// What the ending of an output says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OutputFormat {
    Csv,
    Tsv,
    Libsvm,
    Parquet,
    Arrow,
}

fn output_format(path: &Path) -> Result<OutputFormat> {
    if file::ending(path) == "mtx" {
        let problem = format!("{}: Matrix Market output is not supported; use .csv, .parquet or .libsvm", path.display());
        return Err(Error::option("output", problem));
    }
    let known = ["csv", "tsv", "tab", "parquet", "arrow", "feather", "ipc", "svm", "libsvm", "txt"];
    let format = match file::known_ending(path, "a table", &known)?.as_str() {
        "tsv" | "tab" => OutputFormat::Tsv,
        "svm" | "libsvm" => OutputFormat::Libsvm,
        "parquet" => OutputFormat::Parquet,
        "arrow" | "feather" | "ipc" => OutputFormat::Arrow,
        _ => OutputFormat::Csv,
    };
    let is_columnar = matches!(format, OutputFormat::Parquet | OutputFormat::Arrow);
    let lower = path.to_string_lossy().to_lowercase();
    if is_columnar && (lower.ends_with(".gz") || lower.ends_with(".zst")) {
        let problem = format!("{}: the format is already compressed; drop the last extension", path.display());
        return Err(Error::option("output", problem));
    }
    if is_columnar && !cfg!(feature = "columnar") {
        let problem = format!("{}: this build cannot write Parquet and Arrow files; use .csv", path.display());
        return Err(Error::option("output", problem));
    }
    Ok(format)
}

impl TableWriter {
    /// Starts a file with the columns of a schema, and one for row weights if `weights` names it.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be created, [`Error::Option`] if the ending is of a format that cannot be written.
    pub fn create(path: &Path, schema: &Schema, weights: Option<&str>) -> Result<Self> {
        let variables = (0..schema.columns().len()).map(Slot::Variable);
        Self::start(path, schema, variables.chain(weights.map(|_| Slot::Weight)).collect(), &[], weights)
    }

    /// Starts a file with the columns of another, in its order: variables of the schema and columns that are handed on as text,
    /// whose names are given. See [`Reader::file_columns`](super::Reader::file_columns).
    ///
    /// # Errors
    /// As [`create`](Self::create).
    pub fn create_like(path: &Path, schema: &Schema, columns: &[FileColumn], carried: &[String]) -> Result<Self> {
        let slots = columns.iter().map(|column| match *column {
            FileColumn::Variable(column) => Slot::Variable(column.get()),
            FileColumn::Carried(column) => Slot::Carried(column),
            FileColumn::Both(column, text) => Slot::Both(column.get(), text),
        });
        Self::start(path, schema, slots.collect(), carried, None)
    }

    fn start(path: &Path, schema: &Schema, layout: Vec<Slot>, carried: &[String], weights: Option<&str>) -> Result<Self> {
        let columns = schema.columns().to_vec();
        let names: Vec<&str> = layout
            .iter()
            .map(|slot| match *slot {
                Slot::Variable(column) | Slot::Both(column, _) => columns[column].name.as_str(),
                Slot::Carried(column) => carried[column].as_str(),
                Slot::Weight => weights.unwrap_or_default(),
            })
            .collect();
        let sink = match output_format(path)? {
            OutputFormat::Csv => Sink::Text(TextWriter::create(path, b',', &names)?),
            OutputFormat::Tsv => Sink::Text(TextWriter::create(path, b'\t', &names)?),
            OutputFormat::Libsvm if layout.iter().any(|slot| matches!(slot, Slot::Carried(_))) => {
                let problem = format!("{}: libsvm cannot store ids and text; use .csv", path.display());
                return Err(Error::option("output", problem));
            }
            OutputFormat::Libsvm => Sink::Libsvm(LibsvmWriter::create(path)?),
            #[cfg(feature = "columnar")]
            format => {
                let kinds = layout.iter().map(|slot| match *slot {
                    Slot::Variable(column) | Slot::Both(column, _) => Some(&columns[column].kind),
                    Slot::Carried(_) => None,
                    Slot::Weight => Some(&Kind::Continuous),
                });
                let fields: Vec<(&str, Option<&Kind>)> = names.iter().copied().zip(kinds).collect();
                Sink::Columnar(columnar::ColumnarWriter::for_table(path, &fields, format == OutputFormat::Parquet)?)
            }
            #[cfg(not(feature = "columnar"))]
            _ => unreachable!("refused by its ending"),
        };
        Ok(Self { columns, layout, sink })
    }

    /// Appends the rows of a batch.
    ///
    /// # Errors
    /// [`Error::Io`].
    ///
    /// # Panics
    /// If the batch does not have the schema's columns, or the file has carried columns.
    pub fn write_batch(&mut self, batch: &Batch) -> Result<()> {
        self.write_batch_with(batch, &Carried::default())
    }

    /// Appends the rows of a batch with its carried cells.
    ///
    /// # Errors
    /// [`Error::Io`].
    ///
    /// # Panics
    /// If the batch does not have the schema's columns, or the carried cells belong to another batch.
    pub fn write_batch_with(&mut self, batch: &Batch, carried: &Carried) -> Result<()> {
        if let Block::Dense(cells) = &batch.block {
            assert_eq!(cells.len(), self.columns.len(), "a batch has the schema's columns");
        }
        match &mut self.sink {
            Sink::Text(writer) => {
                let mut numbers = vec![0.0; self.columns.len()];
                for row in 0..batch.n_rows {
                    match &batch.block {
                        Block::Dense(cells) => {
                            numbers.iter_mut().zip(cells).for_each(|(number, cells)| *number = cells.number(row))
                        }
                        Block::Sparse(rows) => rows.row(row).for_each(|(column, value)| numbers[column] = value),
                    }
                    for slot in &self.layout {
                        match *slot {
                            Slot::Variable(column) => writer.cell(&self.columns[column], numbers[column])?,
                            Slot::Carried(column) => writer.text(carried.cell(row, column).unwrap_or_default())?,
                            // A cell that is there stays as it is written.
                            Slot::Both(column, text) => match carried.cell(row, text) {
                                Some(cell) if !is_missing(cell.as_bytes()) => writer.text(cell)?,
                                _ => writer.cell(&self.columns[column], numbers[column])?,
                            },
                            Slot::Weight => writer.number(batch.weight(row))?,
                        }
                    }
                    if let Block::Sparse(rows) = &batch.block {
                        rows.row(row).for_each(|(column, _)| numbers[column] = 0.0);
                    }
                    writer.end_row()?;
                }
                Ok(())
            }
            Sink::Libsvm(writer) => writer.write_batch(batch, &self.columns, self.layout.contains(&Slot::Weight)),
            #[cfg(feature = "columnar")]
            Sink::Columnar(writer) => {
                let cells = dense(batch, &self.columns);
                let columns = self.layout.iter().map(|slot| match *slot {
                    Slot::Variable(column) | Slot::Both(column, _) => {
                        columnar::Cells::Variable(&self.columns[column], &cells[column])
                    }
                    Slot::Carried(column) => {
                        columnar::Cells::Texts((0..batch.n_rows).map(|row| carried.cell(row, column)).collect())
                    }
                    Slot::Weight => columnar::Cells::Numbers((0..batch.n_rows).map(|row| batch.weight(row)).collect()),
                });
                writer.write_table(columns)
            }
        }
    }

    /// Ends the file and puts it in its place.
    ///
    /// # Errors
    /// [`Error::Io`]; then no file is left, and an older one stays as it was.
    pub fn finish(self) -> Result<()> {
        match self.sink {
            Sink::Text(writer) => writer.finish(),
            Sink::Libsvm(writer) => writer.finish(),
            #[cfg(feature = "columnar")]
            Sink::Columnar(writer) => writer.finish(),
        }
    }
}

impl std::fmt::Debug for TableWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TableWriter").field("n_columns", &self.columns.len()).finish_non_exhaustive()
    }
}

/// The columns of a batch, whatever its block.
#[cfg(feature = "columnar")]
fn dense<'a>(batch: &'a Batch, columns: &[Column]) -> std::borrow::Cow<'a, [ColumnData]> {
    match &batch.block {
        Block::Dense(cells) => std::borrow::Cow::Borrowed(cells),
        Block::Sparse(rows) => {
            let mut cells: Vec<ColumnData> = columns
                .iter()
                .map(|column| match ColumnData::for_kind(&column.kind, 0) {
                    ColumnData::Reals(_) => ColumnData::Reals(vec![0.0; batch.n_rows]),
                    ColumnData::Codes8(_) => ColumnData::Codes8(vec![0; batch.n_rows]),
                    ColumnData::Codes(_) => ColumnData::Codes(vec![0; batch.n_rows]),
                })
                .collect();
            for row in 0..batch.n_rows {
                for (column, value) in rows.row(row) {
                    match &mut cells[column] {
                        ColumnData::Reals(values) => values[row] = value,
                        // A missing cell is NaN here and all ones there.
                        ColumnData::Codes8(codes) => codes[row] = if value.is_nan() { u8::MAX } else { value as u8 },
                        ColumnData::Codes(codes) => codes[row] = if value.is_nan() { u32::MAX } else { value as u32 },
                    }
                }
            }
            std::borrow::Cow::Owned(cells)
        }
    }
}
