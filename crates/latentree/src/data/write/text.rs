//! CSV, TSV and libsvm.

use std::io::{self, Write};
use std::path::Path;

use crate::data::read::number_text;
use crate::data::{Batch, Block, Column};
use crate::error::{Error, Place, Result};
use crate::file::AtomicWriter;

/// Writes fields with a delimiter, quoted where they must be.
pub(super) struct TextWriter {
    out: AtomicWriter,
    delimiter: u8,
    row: Vec<u8>,
    n_fields: usize,
}

impl TextWriter {
    pub(super) fn create(path: &Path, delimiter: u8, names: &[&str]) -> Result<Self> {
        let mut writer = Self { out: AtomicWriter::create(path)?, delimiter, row: Vec::new(), n_fields: 0 };
        for name in names {
            writer.text(name)?;
        }
        writer.end_row()?;
        Ok(writer)
    }

    /// A cell of a table: a label's code or a number, NaN if missing.
    pub(super) fn cell(&mut self, column: &Column, number: f64) -> Result<()> {
        match column.kind.labels() {
            Some(labels) if !number.is_nan() => self.text(&labels[number as usize]),
            _ => self.number(number),
        }
    }

    pub(super) fn number(&mut self, number: f64) -> Result<()> {
        self.delimit();
        if number.fract() == 0.0 && number.abs() < 1e15 {
            // Nearly all cells are small whole numbers, and these need no text in between.
            write!(self.row, "{}", number as i64).expect("a vector takes all bytes");
        } else if !number.is_nan() {
            self.row.extend_from_slice(number_text(number).as_bytes());
        }
        Ok(())
    }

    pub(super) fn text(&mut self, text: &str) -> Result<()> {
        self.delimit();
        let bytes = text.as_bytes();
        // Readers choose the delimiter by what stands outside quotes, so that none of the usual ones may.
        let needs_quotes = bytes.iter().any(|&byte| matches!(byte, b',' | b';' | b'\t' | b'"' | b'\n' | b'\r'))
            || bytes.trim_ascii().len() != bytes.len()
            // At the start of a file this would be taken for the mark that editors put there.
            || bytes.starts_with(b"\xef\xbb\xbf");
        if !needs_quotes {
            self.row.extend_from_slice(bytes);
            return Ok(());
        }
        self.row.push(b'"');
        for &byte in bytes {
            if byte == b'"' {
                self.row.push(b'"');
            }
            self.row.push(byte);
        }
        self.row.push(b'"');
        Ok(())
    }

    fn delimit(&mut self) {
        if self.n_fields > 0 {
            self.row.push(self.delimiter);
        }
        self.n_fields += 1;
    }

    pub(super) fn end_row(&mut self) -> Result<()> {
        if self.row.is_empty() {
            // A blank line would not be read as a row.
            self.row.extend_from_slice(b"\"\"");
        }
        self.row.push(b'\n');
        let written = self.out.write_all(&self.row);
        self.row.clear();
        self.n_fields = 0;
        written.map_err(Error::io("write", self.out.path()))
    }

    pub(super) fn finish(self) -> Result<()> {
        self.out.finish()
    }
}

/// Writes rows as `0 index:value …`, indices from 1; columns have no names there.
pub(super) struct LibsvmWriter {
    out: AtomicWriter,
    n_rows: u64,
}

impl LibsvmWriter {
    pub(super) fn create(path: &Path) -> Result<Self> {
        Ok(Self { out: AtomicWriter::create(path)?, n_rows: 0 })
    }

    pub(super) fn write_batch(&mut self, batch: &Batch, columns: &[Column], has_weights: bool) -> Result<()> {
        if has_weights {
            return Err(Error::option("output", "libsvm cannot store row weights; use .csv"));
        }
        for row in 0..batch.n_rows {
            self.n_rows += 1;
            let written = match &batch.block {
                Block::Sparse(rows) => self.write_row(rows.row(row), columns),
                Block::Dense(cells) => self.write_row(cells.iter().map(|cells| cells.number(row)).enumerate(), columns),
            };
            match written {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                    let problem = format!("the libsvm format cannot hold this: {error}; use .csv");
                    return Err(Error::data(Place::file(self.out.path()).row(self.n_rows), problem));
                }
                Err(error) => return Err(Error::io("write", self.out.path())(error)),
            }
        }
        Ok(())
    }

    fn write_row(&mut self, cells: impl Iterator<Item = (usize, f64)>, columns: &[Column]) -> io::Result<()> {
        write!(self.out, "0")?;
        for (ix, cell) in cells {
            let column = &columns[ix];
            let refuse = |what: &str| Err(io::Error::new(io::ErrorKind::InvalidData, format!("{:?} {what}", column.name)));
            if cell.is_nan() {
                return refuse("is missing");
            }
            let value = match column.kind.labels() {
                None => cell,
                Some(labels) => match labels[cell as usize].parse::<f64>() {
                    Ok(value) if value.is_finite() => value,
                    _ => return refuse("is a label that is not a number"),
                },
            };
            if value != 0.0 {
                write!(self.out, " {}:{}", ix + 1, number_text(value))?;
            }
        }
        writeln!(self.out)
    }

    pub(super) fn finish(self) -> Result<()> {
        self.out.finish()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::data::{ColumnData, Dataset, Kind, ReadOptions, Schema, TableWriter, open};

    /// What looks like the mark that editors put before UTF-8 text, or like another delimiter, must not be taken for it.
    #[test]
    fn names_and_labels_with_marks_and_delimiters_read_back() {
        for odd in ["\u{feff}x", ";x", "x;y;z", "x\ty", "a,b", "\"x\";", " x"] {
            let labels = vec![odd.to_owned(), "y".to_owned()];
            let schema = Schema::builder().scalar(odd.trim(), Kind::Categorical { labels }).build().unwrap();
            let schema = Arc::new(schema);
            let dataset = Dataset::from_columns(Arc::clone(&schema), vec![ColumnData::Codes8(vec![1, 0])], None).unwrap();
            let dir = tempfile::tempdir().unwrap();
            for ending in ["csv", "tsv"] {
                let path = dir.path().join(format!("a.{ending}"));
                let mut writer = TableWriter::create(&path, &schema, None).unwrap();
                dataset.batches().iter().for_each(|batch| writer.write_batch(batch).unwrap());
                writer.finish().unwrap();
                let mut reader = open(&path, &ReadOptions::default().schema(Arc::clone(&schema))).unwrap();
                assert_eq!(Dataset::read(&mut reader).unwrap(), dataset, "{odd:?} as {ending}");
            }
        }
    }
}
