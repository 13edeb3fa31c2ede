//! Square matrices of fields separated by commas or tabs.

use std::cell::Cell;
use std::io::{self, BufRead, Read, Write};
use std::path::Path;
use std::rc::Rc;

use super::{Rows, check_size, number, text};
use crate::distance::DistanceMatrix;
use crate::error::{Error, Place, Result, Shortened};

const FORMAT: &str = "distance matrix (CSV)";

/// Longest row, which the reader keeps in memory.
const ROW_LIMIT: u64 = 16 << 20;

/// Hands on bytes, and fails when a row has had too many.
struct RowLimit {
    input: Box<dyn BufRead + Send>,
    left: Rc<Cell<u64>>,
}

impl Read for RowLimit {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n_bytes = self.input.read(buffer)?;
        let left = self.left.get().checked_sub(n_bytes as u64).ok_or_else(|| {
            let problem = format!("a row is longer than {} MiB; is this a matrix of distances?", ROW_LIMIT >> 20);
            io::Error::new(io::ErrorKind::InvalidData, problem)
        })?;
        self.left.set(left);
        Ok(n_bytes)
    }
}

/// Rows of fields, each of bounded length.
struct Records {
    reader: csv::Reader<RowLimit>,
    left: Rc<Cell<u64>>,
}

pub(super) fn read(input: Box<dyn BufRead + Send>, separator: u8, path: &Path) -> Result<DistanceMatrix> {
    let left = Rc::new(Cell::new(ROW_LIMIT));
    let limited = RowLimit { input, left: Rc::clone(&left) };
    let reader = csv::ReaderBuilder::new().delimiter(separator).has_headers(false).flexible(true).from_reader(limited);
    let mut reader = Records { reader, left };
    let mut record = csv::StringRecord::new();
    if !next(&mut reader, &mut record, path)? {
        return Err(Error::format(Place::default(), FORMAT, "the file is empty; a first row of names is needed"));
    }
    check_size(record.len().saturating_sub(1), Place::default().line(1))?;
    let mut header: Vec<String> = record.iter().map(str::to_owned).collect();
    if let Some(rest) = header[0].strip_prefix('\u{feff}') {
        header[0] = rest.to_owned();
    }
    let mut rows: Option<(Rows, bool)> = None;
    let mut values = Vec::new();
    let mut n_rows = 0;
    while next(&mut reader, &mut record, path)? {
        let place = Place::default().line(reader.reader.position().line().saturating_sub(1).max(2)).row(n_rows as u64 + 1);
        let place = Place { line: record.position().map(csv::Position::line).or(place.line), ..place };
        if rows.is_none() {
            // Names stand in front of rows if a corner is left free for them, or the first row begins with its own name.
            let corner = header[0].trim().is_empty() || header.len() > 1 && record.get(0) == Some(header[1].as_str());
            let no_corner = record.len() == header.len() + 1;
            if corner && !no_corner {
                header.remove(0);
            }
            rows = Some((Rows::new(std::mem::take(&mut header)), corner || no_corner));
        }
        let Some((rows, named)) = &mut rows else { unreachable!("set above") };
        let n = rows.names.len();
        if n_rows == n {
            return Err(Error::format(place, FORMAT, format!("there are {n} names in the header, and more rows than that")));
        }
        let wanted = n + usize::from(*named);
        if record.len() != wanted {
            let problem = format!("{} fields where the header asks for {wanted}", record.len());
            return Err(Error::format(place, FORMAT, problem));
        }
        if *named && record[0] != rows.names[n_rows] {
            let problem = format!(
                "the row is named {:?} but the header's name {} is {:?}; rows and columns must have the same order",
                Shortened(&record[0]),
                n_rows + 1,
                Shortened(&rows.names[n_rows])
            );
            return Err(Error::format(place, FORMAT, problem));
        }
        values.clear();
        for (at, field) in record.iter().skip(usize::from(*named)).enumerate() {
            let value = number(field).ok_or_else(|| {
                let problem = format!("{:?} is not a number", Shortened(field));
                Error::format(place.clone().column(&rows.names[at]), FORMAT, problem)
            })?;
            values.push(value);
        }
        rows.push_square(&values, &place)?;
        n_rows += 1;
    }
    match rows {
        Some((rows, _)) if rows.names.len() == n_rows => rows.finish(),
        Some((rows, _)) => {
            let problem = format!("{n_rows} rows for the {} names of the header", rows.names.len());
            Err(Error::format(Place::default(), FORMAT, problem))
        }
        None => Err(Error::format(Place::default(), FORMAT, "there are no rows below the header of names")),
    }
}

fn next(reader: &mut Records, record: &mut csv::StringRecord, path: &Path) -> Result<bool> {
    reader.left.set(ROW_LIMIT);
    reader.reader.read_record(record).map_err(|error| {
        let line = error.position().map(csv::Position::line);
        match error.into_kind() {
            csv::ErrorKind::Io(source) => Error::Io { action: "read", path: path.to_path_buf(), source },
            csv::ErrorKind::Utf8 { .. } => Error::format(Place { line, ..Place::default() }, FORMAT, "the text is not UTF-8"),
            other => Error::format(Place { line, ..Place::default() }, FORMAT, format!("{other:?}")),
        }
    })
}

pub(super) fn write(
    names: &[String],
    cell: impl Fn(usize, usize) -> f64,
    separator: u8,
    out: &mut dyn Write,
    path: &Path,
) -> Result<()> {
    let fail = |error: csv::Error| Error::io("write", path)(error.into());
    let mut writer = csv::WriterBuilder::new().delimiter(separator).from_writer(out);
    let header = std::iter::once("").chain(names.iter().map(String::as_str));
    writer.write_record(header).map_err(fail)?;
    for (i, name) in names.iter().enumerate() {
        writer.write_field(name).map_err(fail)?;
        for j in 0..names.len() {
            let value = cell(i, j);
            writer.write_field(if value.is_nan() { String::new() } else { text(value) }).map_err(fail)?;
        }
        writer.write_record(None::<&[u8]>).map_err(fail)?;
    }
    writer.flush().map_err(Error::io("write", path))
}
