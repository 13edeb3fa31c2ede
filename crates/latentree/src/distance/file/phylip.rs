//! PHYLIP's distance matrices, square or lower triangular.

use std::io::{BufRead, Read, Write};
use std::path::Path;

use super::{Rows, check_size, number, text};
use crate::distance::DistanceMatrix;
use crate::error::{Error, Place, Result, Shortened};

const FORMAT: &str = "PHYLIP distance matrix";
/// Length of a name in the strict format.
const STRICT: usize = 10;

/// Longest line.
const LINE_LIMIT: usize = 16 << 20;

pub(super) fn read(mut input: Box<dyn BufRead + Send>, path: &Path) -> Result<DistanceMatrix> {
    let mut lines = Lines { input: &mut input, path, buffer: Vec::new(), number: 0 };
    let n = read_count(&mut lines)?;
    // A name ends at a blank, or after ten characters if that does not work out: only then can it hold blanks.
    let mut matrix = Matrix::new(n, false);
    let mut strict: Option<Matrix> = None;
    let mut agree = true;
    while let Some((place, line)) = lines.next()? {
        if agree && matrix.begins_row() && !is_same_row(line) {
            agree = false;
            strict = Some(Matrix { strict: true, ..matrix.clone() });
        }
        let failed = matrix.push(line, &place).err();
        if strict.as_mut().is_some_and(|strict| strict.push(line, &place).is_err()) {
            strict = None;
        }
        match (failed, strict.take()) {
            (Some(error), None) => return Err(error),
            // From here on the strict format alone can be right.
            (Some(error), Some(only)) => return read_strict(only, &mut lines).map_err(|_| error),
            (None, other) => strict = other,
        }
    }
    match (matrix.finish(), strict) {
        (Err(error), Some(strict)) => strict.finish().map_err(|_| error),
        (found, _) => found,
    }
}

fn read_strict(mut matrix: Matrix, lines: &mut Lines<'_>) -> Result<DistanceMatrix> {
    while let Some((place, line)) = lines.next()? {
        matrix.push(line, &place)?;
    }
    matrix.finish()
}

/// Lines that are not blank, one at a time.
struct Lines<'a> {
    input: &'a mut Box<dyn BufRead + Send>,
    path: &'a Path,
    buffer: Vec<u8>,
    number: u64,
}

impl Lines<'_> {
    fn next(&mut self) -> Result<Option<(Place, &str)>> {
        loop {
            self.buffer.clear();
            let read = self.input.by_ref().take(LINE_LIMIT as u64).read_until(b'\n', &mut self.buffer);
            let n_bytes = read.map_err(|source| Error::Io { action: "read", path: self.path.to_path_buf(), source })?;
            self.number += 1;
            if n_bytes == 0 {
                return Ok(None);
            }
            if n_bytes >= LINE_LIMIT {
                let problem = format!("a line is longer than {} MiB", LINE_LIMIT >> 20);
                return Err(Error::format(Place::default().line(self.number), FORMAT, problem));
            }
            if !self.buffer.trim_ascii().is_empty() {
                break;
            }
        }
        let place = Place::default().line(self.number);
        let line =
            std::str::from_utf8(&self.buffer).map_err(|_| Error::format(place.clone(), FORMAT, "the text is not UTF-8"))?;
        Ok(Some((place, line.strip_prefix('\u{feff}').unwrap_or(line))))
    }
}

/// The number of variables in the first line.
fn read_count(lines: &mut Lines<'_>) -> Result<usize> {
    let Some((place, count)) = lines.next()? else {
        let problem = "the file is empty; a first line with the number of variables is needed";
        return Err(Error::format(Place::default(), FORMAT, problem));
    };
    let n = count.split_whitespace().next().and_then(|word| word.parse::<usize>().ok()).filter(|n| *n > 0);
    let n = n.ok_or_else(|| {
        let problem = format!("{:?} is not a number of variables", Shortened(count.trim()));
        Error::format(place.clone(), FORMAT, problem)
    })?;
    check_size(n, place)?;
    Ok(n)
}

/// Whether a row's first line says the same, wherever its name is taken to end.
fn is_same_row(line: &str) -> bool {
    let (by_blank, strict) = (split_name(line, false), split_name(line, true));
    by_blank.0 == strict.0 && by_blank.1.split_whitespace().eq(strict.1.split_whitespace())
}

/// The name and the rest of a row's first line.
fn split_name(line: &str, strict: bool) -> (&str, &str) {
    if strict {
        let end = line.char_indices().nth(STRICT).map_or(line.len(), |(at, _)| at);
        (line[..end].trim(), &line[end..])
    } else {
        let line = line.trim_start();
        let end = line.find(char::is_whitespace).unwrap_or(line.len());
        (&line[..end], &line[end..])
    }
}

/// The rows so far.
#[derive(Clone)]
struct Matrix {
    n: usize,
    strict: bool,
    shape: Shape,
    rows: Rows,
    /// The row that is being read: its name, its place and its distances so far.
    current: Option<(String, Place, Vec<f64>)>,
}

impl Matrix {
    fn new(n: usize, strict: bool) -> Self {
        Self { n, strict, shape: Shape::Square, rows: Rows::new(Vec::new()), current: None }
    }

    /// Whether the next line is the first of a row.
    fn begins_row(&self) -> bool {
        self.current.is_none()
    }

    /// Distances that a row has.
    fn wanted(&self) -> usize {
        let i = self.rows.names.len();
        match self.shape {
            Shape::Square => self.n,
            Shape::Lower => i,
            Shape::LowerWithDiagonal => i + 1,
        }
    }

    fn push(&mut self, line: &str, place: &Place) -> Result<()> {
        let n = self.n;
        let (name, place, values) = match &mut self.current {
            Some((name, first, values)) => {
                push(values, line, place)?;
                (name.clone(), first.clone(), std::mem::take(values))
            }
            None => {
                let i = self.rows.names.len();
                if i == n {
                    let problem = format!("more than the {n} rows that the first line promises");
                    return Err(Error::format(place.clone(), FORMAT, problem));
                }
                let (name, rest) = split_name(line, self.strict);
                let mut values = Vec::new();
                push(&mut values, rest, place)?;
                if i == 0 {
                    self.shape = match values.len() {
                        0 => Shape::Lower,
                        1 if n > 1 => Shape::LowerWithDiagonal,
                        _ => Shape::Square,
                    };
                }
                (name.to_owned(), place.clone(), values)
            }
        };
        let wanted = self.wanted();
        if values.len() < wanted {
            self.current = Some((name, place, values));
            return Ok(());
        }
        self.current = None;
        if values.len() > wanted {
            return Err(wrong_length(&name, values.len(), wanted, place));
        }
        let i = self.rows.names.len();
        self.rows.names.push(name);
        match self.shape {
            // A square row's checks name the variables of earlier rows only, whose names are known.
            Shape::Square => self.rows.push_square(&values, &place),
            Shape::Lower => self.rows.push_lower(i, &values, None, &place),
            Shape::LowerWithDiagonal => self.rows.push_lower(i, &values[..i], Some(values[i]), &place),
        }
    }

    fn finish(self) -> Result<DistanceMatrix> {
        if let Some((name, place, values)) = &self.current {
            return Err(wrong_length(name, values.len(), self.wanted(), place.clone()));
        }
        let (n, n_rows) = (self.n, self.rows.names.len());
        if n_rows != n {
            let problem = format!("{n_rows} rows where the first line promises {n}");
            return Err(Error::format(Place::default(), FORMAT, problem));
        }
        self.rows.finish()
    }
}

fn wrong_length(name: &str, n_values: usize, wanted: usize, place: Place) -> Error {
    let problem = format!("the row of {:?} has {n_values} distances where {wanted} are needed", Shortened(name));
    Error::format(place, FORMAT, problem)
}

#[derive(Clone, Copy)]
enum Shape {
    Square,
    Lower,
    LowerWithDiagonal,
}

fn push(values: &mut Vec<f64>, text: &str, place: &Place) -> Result<()> {
    for word in text.split_whitespace() {
        let value = number(word).ok_or_else(|| {
            let problem = format!("{:?} is not a number", Shortened(word));
            Error::format(place.clone(), FORMAT, problem)
        })?;
        values.push(value);
    }
    Ok(())
}

pub(super) fn write(names: &[String], cell: impl Fn(usize, usize) -> f64, out: &mut dyn Write, path: &Path) -> Result<()> {
    let has_blank = |name: &String| name.chars().any(char::is_whitespace);
    let strict = names.iter().any(has_blank);
    let fits = |name: &String| {
        name.chars().count() <= STRICT && name.trim() == name && !name.chars().any(char::is_control) && !name.contains('\u{feff}')
    };
    if strict && let Some(bad) = names.iter().find(|name| !fits(name)) {
        let problem = format!(
            "the name {:?} cannot be written to a PHYLIP file, where names with blanks have at most {STRICT} characters; write CSV \
             instead (.csv)",
            Shortened(bad)
        );
        return Err(Error::data(Place::file(path), problem));
    }
    let fail = |source: std::io::Error| Error::Io { action: "write", path: path.to_path_buf(), source };
    writeln!(out, "{}", names.len()).map_err(fail)?;
    for (i, name) in names.iter().enumerate() {
        if strict {
            let blanks = STRICT - name.chars().count();
            write!(out, "{name}{:blanks$}", "").map_err(fail)?;
        } else {
            write!(out, "{name}").map_err(fail)?;
        }
        for j in 0..names.len() {
            let value = cell(i, j);
            if value.is_nan() { write!(out, " NA") } else { write!(out, " {}", text(value)) }.map_err(fail)?;
        }
        writeln!(out).map_err(fail)?;
    }
    Ok(())
}
