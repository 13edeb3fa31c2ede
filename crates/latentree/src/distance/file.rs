//! Distance matrices in files.
//!
//! - CSV (`.csv`, `.tsv`): a header of names, then one row per variable, with or without its name in front. An empty field or
//!   `NA` is no distance.
//! - PHYLIP (`.phy`, `.phylip`, `.dist`): a line with the number of variables, then per variable its name (up to a blank, or the
//!   first ten characters) and its distances: all of them, or those to the variables before it.
//!
//! A matrix has at most 20,000 variables, and is read row by row. Other endings, and standard input, are recognised by the first
//! line: a lone number is PHYLIP. `.gz` and `.zst` may follow any ending.

mod comma;
mod phylip;
#[cfg(test)]
mod tests;

use std::io::BufRead;
use std::path::Path;

use super::DistanceMatrix;
use crate::error::{Error, Place, Result, Shortened};
use crate::file;

/// Most variables: their 200 million distances take 1.6 GB, and twice that while both sides of the diagonal are compared.
const MAX_VARIABLES: usize = 20_000;

/// Relative difference of the two sides of the diagonal that is taken for rounding.
const ASYMMETRY: f64 = 1e-6;

#[derive(Clone, Copy, PartialEq)]
enum Format {
    Separated(u8),
    Phylip,
}

fn format_of_ending(path: &Path) -> Option<Format> {
    match file::ending(path).as_str() {
        "csv" => Some(Format::Separated(b',')),
        "tsv" | "tab" => Some(Format::Separated(b'\t')),
        "phy" | "phylip" | "dist" => Some(Format::Phylip),
        _ => None,
    }
}

impl DistanceMatrix {
    /// Reads a square matrix from a CSV or a PHYLIP file; `-` is standard input.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Format`] if rows, fields or numbers are wrong; [`Error::Data`] if a distance is negative or not
    /// finite, the two sides of the diagonal differ by more than rounding, the diagonal is not zero, or a name is empty or
    /// appears twice.
    pub fn read(path: &Path) -> Result<Self> {
        let mut input = file::open(path)?;
        let format = match format_of_ending(path) {
            Some(format) => format,
            None => sniff(input.fill_buf().map_err(Error::io("read", path))?),
        };
        let matrix = match format {
            Format::Separated(separator) => comma::read(input, separator, path),
            Format::Phylip => phylip::read(input, path),
        };
        matrix.map_err(|error| error.in_file(path))
    }

    /// Writes the distances: PHYLIP if the ending says so, else CSV (`.csv`, `.tsv`, `.txt` or no ending) with names in the first
    /// row and column. Numbers round-trip exactly; standard errors are not written.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Data`] if a name cannot be written to a PHYLIP file.
    pub fn write(&self, path: &Path) -> Result<()> {
        self.write_cells(path, |i, j| self.raw(i, j))
    }

    /// Writes the standard errors in the same format; undefined where they are not known.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn write_errors(&self, path: &Path) -> Result<()> {
        self.write_cells(path, |i, j| self.error(i, j).unwrap_or(f64::NAN))
    }

    fn write_cells(&self, path: &Path, cell: impl Fn(usize, usize) -> f64) -> Result<()> {
        check_distances_path(path)?;
        file::write_atomically(path, |out| match format_of_ending(path) {
            Some(Format::Phylip) => phylip::write(self.names(), cell, out, path),
            Some(Format::Separated(separator)) => comma::write(self.names(), cell, separator, out, path),
            None => comma::write(self.names(), cell, b',', out, path),
        })
    }
}

/// Checks that a file's ending is one that distances are written to; none is CSV.
///
/// # Errors
/// [`Error::Option`] if it is not.
pub fn check_distances_path(path: &Path) -> Result<()> {
    let known = ["csv", "tsv", "tab", "phy", "phylip", "dist", "txt"];
    file::known_ending(path, "a matrix of distances", &known).map(|_| ())
}

/// Refuses a matrix that is too large, before any of it is kept.
fn check_size(n: usize, place: Place) -> Result<()> {
    if n > MAX_VARIABLES {
        let problem = format!("a matrix of {n} variables; at most {MAX_VARIABLES} can be read");
        return Err(Error::data(place, problem));
    }
    Ok(())
}

/// The format by a file's first bytes.
fn sniff(bytes: &[u8]) -> Format {
    let first = bytes.split(|&byte| byte == b'\n').find(|line| !line.trim_ascii().is_empty()).unwrap_or_default();
    let separators = |wanted: u8| first.iter().filter(|&&byte| byte == wanted).count();
    let word = first.split(|byte| byte.is_ascii_whitespace()).find(|word| !word.is_empty()).unwrap_or_default();
    if separators(b',') == 0 && word.iter().all(u8::is_ascii_digit) && first.trim_ascii() == word && !word.is_empty() {
        Format::Phylip
    } else if separators(b'\t') > separators(b',') {
        Format::Separated(b'\t')
    } else {
        Format::Separated(b',')
    }
}

/// A field: a number, or NaN for no distance; `None` if it is neither.
fn number(field: &str) -> Option<f64> {
    let field = field.trim();
    match field.to_ascii_lowercase().as_str() {
        "" | "na" | "nan" | "null" | "?" => Some(f64::NAN),
        _ => field.parse().ok().filter(|value: &f64| !value.is_nan()),
    }
}

/// A number as text that reads back the same.
fn text(value: f64) -> String {
    if value == 0.0 || (1e-5..1e15).contains(&value.abs()) { format!("{value}") } else { format!("{value:e}") }
}

/// Rows as they are read; what is kept never exceeds what the file holds.
#[derive(Clone)]
struct Rows {
    names: Vec<String>,
    /// Strict lower triangle.
    lower: Vec<f64>,
    /// Strict upper triangle, by rows, of a square file.
    upper: Vec<Vec<f64>>,
}

impl Rows {
    fn new(names: Vec<String>) -> Self {
        Self { names, lower: Vec::new(), upper: Vec::new() }
    }

    /// Adds the next row of a square matrix, checked against those before.
    fn push_square(&mut self, row: &[f64], place: &Place) -> Result<()> {
        let i = self.upper.len();
        self.push_lower(i, &row[..i], Some(row[i]), place)?;
        for j in 0..i {
            let (below, above) = (row[j], self.upper[j][i - j - 1]);
            let differ = (below - above).abs() > ASYMMETRY * below.abs().max(above.abs());
            if below.is_nan() != above.is_nan() || differ {
                let show = |value: f64| if value.is_nan() { "no distance".to_owned() } else { text(value) };
                let (a, b) = (Shortened(&self.names[i]), Shortened(&self.names[j]));
                let problem = format!(
                    "the matrix is not symmetric: {a:?} to {b:?} is {}, but {b:?} to {a:?} is {}",
                    show(below),
                    show(above)
                );
                return Err(Error::data(place.clone(), problem));
            }
        }
        self.upper.push(row[i + 1..].to_vec());
        Ok(())
    }

    /// Adds the distances of a row to those before it.
    fn push_lower(&mut self, i: usize, row: &[f64], diagonal: Option<f64>, place: &Place) -> Result<()> {
        let name = |ix: usize| Shortened(self.names.get(ix).map_or("", String::as_str));
        if let Some(diagonal) = diagonal.filter(|value| *value != 0.0 && !value.is_nan()) {
            let problem = format!("the distance of {:?} to itself is {}; it must be 0", name(i), text(diagonal));
            return Err(Error::data(place.clone(), problem));
        }
        if let Some(j) = row.iter().position(|value| *value < 0.0 || value.is_infinite()) {
            let problem = format!(
                "the distance of {:?} and {:?} is {}; distances are finite and ≥ 0, and an empty field or NA means no distance",
                name(i),
                name(j),
                text(row[j])
            );
            return Err(Error::data(place.clone(), problem));
        }
        // −0 is 0.
        self.lower.extend(row.iter().map(|value| value + 0.0));
        Ok(())
    }

    fn finish(self) -> Result<DistanceMatrix> {
        let Self { names, lower, upper } = self;
        drop(upper);
        DistanceMatrix::from_lower(names, lower, None)
    }
}
