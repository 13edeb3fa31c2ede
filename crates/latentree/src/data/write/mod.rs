//! Writers of tables: batches of a schema ([`TableWriter`]) and results row by row ([`ResultWriter`]).
//!
//! The ending chooses the format: `.tsv`, `.parquet`, `.arrow`/`.feather`/`.ipc`, `.svm`/`.libsvm` (batches only), and
//! CSV for `.csv`, `.txt` and no ending (others are refused); `.gz` and `.zst` compress the text formats, `-` is CSV to standard output. A file comes to be only
//! when it is finished. Labels are written as labels, missing cells as empty fields (or nulls), numbers in the shortest
//! form that reads back as the same bits.

#[cfg(feature = "columnar")]
mod columnar;
mod results;
mod text;

use std::path::Path;

pub use results::{ResultWriter, Value};

use self::text::{LibsvmWriter, TextWriter};
#[cfg(feature = "columnar")]
use super::ColumnData;
use super::{Batch, Block, Column, Schema};
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
    /// Name of the column of row weights, if they are written.
    weights: Option<String>,
    sink: Sink,
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
        let problem = format!("{}: Matrix Market is not written; use .csv, .parquet or .libsvm", path.display());
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
        let problem = format!("{}: the format compresses by itself; leave the last ending off", path.display());
        return Err(Error::option("output", problem));
    }
    if is_columnar && !cfg!(feature = "columnar") {
        let problem = format!("{}: this build writes no Parquet and Arrow files; use .csv", path.display());
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
        let columns = schema.columns().to_vec();
        let mut names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        names.extend(weights);
        let sink = match output_format(path)? {
            OutputFormat::Csv => Sink::Text(TextWriter::create(path, b',', &names)?),
            OutputFormat::Tsv => Sink::Text(TextWriter::create(path, b'\t', &names)?),
            OutputFormat::Libsvm => Sink::Libsvm(LibsvmWriter::create(path)?),
            #[cfg(feature = "columnar")]
            format => {
                Sink::Columnar(columnar::ColumnarWriter::for_table(path, &columns, weights, format == OutputFormat::Parquet)?)
            }
            #[cfg(not(feature = "columnar"))]
            _ => unreachable!("refused by its ending"),
        };
        Ok(Self { columns, weights: weights.map(str::to_owned), sink })
    }

    /// Appends the rows of a batch.
    ///
    /// # Errors
    /// [`Error::Io`].
    ///
    /// # Panics
    /// If the batch does not have the schema's columns.
    pub fn write_batch(&mut self, batch: &Batch) -> Result<()> {
        match (&mut self.sink, &batch.block) {
            (Sink::Text(writer), Block::Dense(cells)) => {
                assert_eq!(cells.len(), self.columns.len(), "a batch has the schema's columns");
                for row in 0..batch.n_rows {
                    for (column, cells) in self.columns.iter().zip(cells) {
                        writer.cell(column, cells.number(row))?;
                    }
                    if self.weights.is_some() {
                        writer.number(batch.weight(row))?;
                    }
                    writer.end_row()?;
                }
                Ok(())
            }
            (Sink::Text(writer), Block::Sparse(rows)) => {
                let mut numbers = vec![0.0; self.columns.len()];
                for row in 0..batch.n_rows {
                    rows.row(row).for_each(|(column, value)| numbers[column] = value);
                    for (column, &number) in self.columns.iter().zip(&numbers) {
                        writer.cell(column, number)?;
                    }
                    rows.row(row).for_each(|(column, _)| numbers[column] = 0.0);
                    if self.weights.is_some() {
                        writer.number(batch.weight(row))?;
                    }
                    writer.end_row()?;
                }
                Ok(())
            }
            (Sink::Libsvm(writer), _) => writer.write_batch(batch, &self.columns, self.weights.is_some()),
            #[cfg(feature = "columnar")]
            (Sink::Columnar(writer), _) => {
                let cells = dense(batch, &self.columns);
                let weights: Option<Vec<f64>> =
                    self.weights.is_some().then(|| (0..batch.n_rows).map(|row| batch.weight(row)).collect());
                writer.write_table(&self.columns, &cells, weights.as_deref())
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
