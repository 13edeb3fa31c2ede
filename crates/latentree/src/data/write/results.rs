//! Results row by row: log-likelihoods, posteriors, most probable states.

use std::path::Path;

use super::text::TextWriter;
use super::{OutputFormat, output_format};
use crate::error::{Error, Result};

/// One field of a result.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    /// A number; NaN is written as missing.
    Number(f64),
    /// A whole number, such as a row's.
    Integer(u64),
    /// A text, such as a state's label.
    Text(&'a str),
    /// Nothing is known.
    Missing,
}

/// Writes rows of results to any format a table can have.
///
/// # Example
/// ```
/// use latentree::data::{ResultWriter, Value};
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("rows.csv");
/// let mut writer = ResultWriter::create(&path, &["row", "log_likelihood"])?;
/// writer.write_row(&[Value::Integer(1), Value::Number(-0.5)])?;
/// writer.finish()?;
/// assert_eq!(std::fs::read_to_string(&path)?, "row,log_likelihood\n1,-0.5\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ResultWriter {
    n_columns: usize,
    sink: Sink,
}

enum Sink {
    Text(TextWriter),
    #[cfg(feature = "columnar")]
    Columnar(super::columnar::ResultColumns),
}

impl ResultWriter {
    /// Starts a file with these columns.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be created, [`Error::Option`] if the ending is of a format that results cannot have.
    pub fn create(path: &Path, names: &[impl AsRef<str>]) -> Result<Self> {
        let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
        let sink = match output_format(path)? {
            OutputFormat::Csv => Sink::Text(TextWriter::create(path, b',', &names)?),
            OutputFormat::Tsv => Sink::Text(TextWriter::create(path, b'\t', &names)?),
            OutputFormat::Libsvm => {
                let problem = format!("{}: results have names; use .csv, .tsv or .parquet", path.display());
                return Err(Error::option("output", problem));
            }
            #[cfg(feature = "columnar")]
            format => Sink::Columnar(super::columnar::ResultColumns::create(path, &names, format == OutputFormat::Parquet)?),
            #[cfg(not(feature = "columnar"))]
            _ => unreachable!("refused by its ending"),
        };
        Ok(Self { n_columns: names.len(), sink })
    }

    /// Appends a row.
    ///
    /// # Errors
    /// [`Error::Io`]; in columnar formats [`Error::Data`] if a text comes late in a column that began with numbers.
    ///
    /// # Panics
    /// If there are not as many values as columns.
    pub fn write_row(&mut self, values: &[Value<'_>]) -> Result<()> {
        assert_eq!(values.len(), self.n_columns, "a row has a value for each column");
        match &mut self.sink {
            Sink::Text(writer) => {
                for value in values {
                    match *value {
                        Value::Number(number) => writer.number(number)?,
                        Value::Integer(number) => writer.text(&number.to_string())?,
                        Value::Text(text) => writer.text(text)?,
                        Value::Missing => writer.number(f64::NAN)?,
                    }
                }
                writer.end_row()
            }
            #[cfg(feature = "columnar")]
            Sink::Columnar(writer) => writer.write_row(values),
        }
    }

    /// Ends the file and puts it in its place.
    ///
    /// # Errors
    /// [`Error::Io`]; then no file is left, and an older one stays as it was.
    pub fn finish(self) -> Result<()> {
        match self.sink {
            Sink::Text(writer) => writer.finish(),
            #[cfg(feature = "columnar")]
            Sink::Columnar(writer) => writer.finish(),
        }
    }
}

impl std::fmt::Debug for ResultWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ResultWriter").field("n_columns", &self.n_columns).finish_non_exhaustive()
    }
}
