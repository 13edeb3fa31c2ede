//! Files that list row, column and value: UCI bags of words and Matrix Market.
//!
//! A bag of words (`docword.*.txt`) has three lines, the numbers of documents, words and entries, then an entry a line:
//! document, word, count, from 1. A Matrix Market file (Boisvert, Pozo and Remington 1996) has a first line
//! `%%MatrixMarket matrix coordinate|array real|integer|pattern general`, comments with `%`, its sizes, then entries.
//!
//! Entries in the order of their rows are streamed, documents without words included. Entries in another order
//! (column by column is usual in Matrix Market, and the only order of `array`) are held in memory.

use std::path::Path;
use std::sync::Arc;

use super::input::{Input, Lines};
use super::options::ReadOptions;
use super::sparse::{Held, KeptRows, RowSource, Scan, SparseFile, changed, column_names};
use crate::error::{Error, Result, Shortened};

/// Empty rows a file may claim beyond those that its entries make likely.
const FREE_ROWS: u64 = 1 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CoordinateFormat {
    Docword,
    MatrixMarket,
}

impl CoordinateFormat {
    fn name(self) -> &'static str {
        match self {
            Self::Docword => "bag of words",
            Self::MatrixMarket => "Matrix Market",
        }
    }
}

/// What the head of the file says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Head {
    format: CoordinateFormat,
    n_rows: u64,
    n_columns: u64,
    n_entries: u64,
    /// Values are left out: all are 1.
    is_pattern: bool,
    /// Values alone are listed, column by column.
    is_array: bool,
}

pub(super) struct CoordinateSource {
    input: Arc<Input>,
    head: Head,
    stream: Stream,
    held: Option<Held>,
}

/// Entries as the file lists them.
struct Stream {
    head: Head,
    lines: Lines,
    n_read: u64,
    pending: Option<(u32, u32, f64)>,
    next_row: u64,
}

pub(super) fn open(input: &Arc<Input>, options: &ReadOptions, format: CoordinateFormat) -> Result<SparseFile> {
    let mut stream = Stream::open(input, format)?;
    let head = stream.head;
    let mut is_sorted = !head.is_array;
    let mut last = 0;
    let mut kept = (head.n_rows.saturating_mul(8) < options.keep_bytes).then(Vec::new);
    while let Some(entry) = stream.next_entry()? {
        is_sorted &= last <= entry.0;
        last = entry.0;
        if entry.2 != 0.0 {
            kept.iter_mut().for_each(|kept| kept.push(entry));
        }
        kept = kept.take().filter(|kept| kept.len() as u64 * KeptRows::CELL_BYTES < options.keep_bytes);
    }
    let likely = stream.n_read.saturating_mul(64).saturating_add(FREE_ROWS);
    if head.n_rows > likely {
        let problem =
            format!("{} rows are claimed but only {} entries are there; is the size right?", head.n_rows, stream.n_read);
        return Err(Error::data(input.place(), problem));
    }
    let n_rows = head.n_rows as usize;
    let kept = kept.map(|cells| Held::new(n_rows, cells));
    let (source, scan): (Box<dyn RowSource>, Scan) = match kept {
        Some(mut kept) if is_sorted => {
            let scan = Scan::run(&mut kept)?;
            let source = CoordinateSource { input: Arc::clone(input), head, stream, held: None };
            (Box::new(KeptRows::new(kept, Box::new(source))), scan)
        }
        kept => {
            let held = match kept {
                None if !is_sorted => Some(hold(Stream::again(input, head)?, n_rows)?),
                kept => kept,
            };
            let mut source = CoordinateSource { input: Arc::clone(input), head, stream: Stream::again(input, head)?, held };
            let scan = Scan::run(&mut source)?;
            (Box::new(source), scan)
        }
    };
    if options.names.is_none() {
        scan.check_columns(input.place(), head.n_columns)?;
    }
    let (names, named) = column_names(options, &input.place(), head.n_columns, false)?;
    Ok(SparseFile {
        source,
        scan,
        names,
        named,
        is_open: false,
        is_presence: false,
        key_name: None,
        notes: Vec::new(),
        only: None,
    })
}

fn hold(mut stream: Stream, n_rows: usize) -> Result<Held> {
    let mut cells = Vec::new();
    while let Some(entry) = stream.next_entry()? {
        if entry.2 != 0.0 {
            cells.push(entry);
        }
    }
    Ok(Held::new(n_rows, cells))
}

impl RowSource for CoordinateSource {
    fn next_row(&mut self, row: &mut Vec<(u32, f64)>) -> Result<bool> {
        match &mut self.held {
            Some(held) => Ok(held.next_row(row)),
            None => self.stream.next_row(row),
        }
    }

    fn rewind(&mut self) -> Result<()> {
        match &mut self.held {
            Some(held) => held.rewind(),
            None => self.stream = Stream::again(&self.input, self.head)?,
        }
        Ok(())
    }
}

impl Stream {
    fn open(input: &Input, format: CoordinateFormat) -> Result<Self> {
        let mut lines = input.lines()?;
        let head = match format {
            CoordinateFormat::Docword => docword_head(&mut lines)?,
            CoordinateFormat::MatrixMarket => matrix_market_head(&mut lines)?,
        };
        Ok(Self { head, lines, n_read: 0, pending: None, next_row: 0 })
    }

    /// Opens a file again whose head is known.
    fn again(input: &Input, head: Head) -> Result<Self> {
        let stream = Self::open(input, head.format)?;
        if stream.head == head { Ok(stream) } else { Err(changed(input.place())) }
    }

    fn next_row(&mut self, row: &mut Vec<(u32, f64)>) -> Result<bool> {
        if self.next_row == self.head.n_rows {
            return Ok(false);
        }
        loop {
            if self.pending.is_none() {
                self.pending = self.next_entry()?;
            }
            match self.pending {
                Some((entry_row, column, value)) if u64::from(entry_row) == self.next_row => {
                    row.push((column, value));
                    self.pending = None;
                }
                Some((entry_row, ..)) if u64::from(entry_row) < self.next_row => {
                    return Err(changed(self.lines.place()));
                }
                _ => break,
            }
        }
        self.next_row += 1;
        Ok(true)
    }

    fn next_entry(&mut self) -> Result<Option<(u32, u32, f64)>> {
        let Head { format, n_rows, n_columns, n_entries, is_pattern, is_array } = self.head;
        let line = loop {
            match self.lines.next_filled()? {
                Some(line) if line.starts_with(b"%") && format == CoordinateFormat::MatrixMarket => {}
                Some(_) => break self.lines.last(),
                None if self.n_read < n_entries => {
                    let problem = format!("the file ends after {} entries, but {n_entries} are claimed", self.n_read);
                    return Err(self.problem(problem));
                }
                None => return Ok(None),
            }
        };
        let place = || self.lines.place();
        let fail = |problem: String| Err(Error::format(place(), format.name(), problem));
        if self.n_read == n_entries {
            return fail(format!("more than the {n_entries} entries that are claimed"));
        }
        let mut fields = line.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty());
        let (row, column) = if is_array {
            (self.n_read % n_rows, self.n_read / n_rows)
        } else {
            let mut index = |what: &str, limit: u64| {
                let field = fields.next().unwrap_or_default();
                match whole(field) {
                    Some(index) if (1..=limit).contains(&index) => Ok(index - 1),
                    _ => {
                        let shown = String::from_utf8_lossy(field);
                        let problem = format!("{:?} is not a {what} from 1 to {limit}", Shortened(&shown));
                        Err(Error::format(place(), format.name(), problem))
                    }
                }
            };
            (index("row", n_rows)?, index("column", n_columns)?)
        };
        let value = if is_pattern {
            1.0
        } else {
            let Some(field) = fields.next() else {
                let what = if format == CoordinateFormat::Docword { "count" } else { "value" };
                return fail(format!("the entry has no {what}"));
            };
            let value = if field.eq_ignore_ascii_case(b"nan") { Some(f64::NAN) } else { super::cell::number(field) };
            match value {
                Some(value) if format == CoordinateFormat::Docword && (value < 0.0 || value.fract() != 0.0) => {
                    return fail(format!("{value} is not a count"));
                }
                Some(value) if !value.is_infinite() => value,
                _ => return fail(format!("{:?} is not a finite number", Shortened(&String::from_utf8_lossy(field)))),
            }
        };
        if fields.next().is_some() {
            return fail("more fields than an entry has".to_owned());
        }
        self.n_read += 1;
        // Sizes were checked to fit 32 bits.
        Ok(Some((row as u32, column as u32, value)))
    }

    fn problem(&self, problem: impl Into<String>) -> Error {
        Error::format(self.lines.place(), self.head.format.name(), problem)
    }
}

fn whole(field: &[u8]) -> Option<u64> {
    std::str::from_utf8(field).ok()?.parse().ok()
}

fn docword_head(lines: &mut Lines) -> Result<Head> {
    let mut sizes = [0; 3];
    for (size, what) in sizes.iter_mut().zip(["documents", "words", "entries"]) {
        let found = lines.next_filled()?.and_then(whole);
        *size = found.ok_or_else(|| {
            Error::format(lines.place(), "bag of words", format!("the number of {what} is expected here, alone on its line"))
        })?;
    }
    let [n_rows, n_columns, n_entries] = sizes;
    let head = Head { format: CoordinateFormat::Docword, n_rows, n_columns, n_entries, is_pattern: false, is_array: false };
    check_head(lines, head)
}

fn matrix_market_head(lines: &mut Lines) -> Result<Head> {
    let fail = |lines: &Lines, problem: String| Err(Error::format(lines.place(), "Matrix Market", problem));
    let banner = String::from_utf8_lossy(lines.next_filled()?.unwrap_or_default()).to_lowercase();
    let words: Vec<&str> = banner.split_ascii_whitespace().collect();
    let &["%%matrixmarket", "matrix", layout, field, symmetry] = words.as_slice() else {
        return fail(
            lines,
            "the first line must be \"%%MatrixMarket matrix coordinate|array real|integer|pattern general\"".into(),
        );
    };
    let (is_array, is_pattern) = (layout == "array", field == "pattern");
    if !is_array && layout != "coordinate" {
        return fail(lines, format!("layout {:?} is neither coordinate nor array", Shortened(layout)));
    }
    if !matches!(field, "real" | "integer" | "pattern" | "double") || (is_array && is_pattern) {
        return fail(lines, format!("{:?} values cannot be read; write them as real", Shortened(field)));
    }
    if symmetry != "general" {
        let problem = format!("{:?} matrices have no rows of data; write it as general", Shortened(symmetry));
        return fail(lines, problem);
    }
    let sizes = loop {
        match lines.next_filled()? {
            None => return fail(lines, "the line of sizes is missing".into()),
            Some(line) if line.starts_with(b"%") => {}
            Some(line) => {
                let sizes = line.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty()).map(whole);
                break sizes.collect::<Option<Vec<u64>>>().unwrap_or_default();
            }
        }
    };
    let (n_rows, n_columns, n_entries) = match (sizes.as_slice(), is_array) {
        (&[n_rows, n_columns, n_entries], false) => (n_rows, n_columns, n_entries),
        (&[n_rows, n_columns], true) => {
            let n_entries = n_rows.checked_mul(n_columns);
            let Some(n_entries) = n_entries else { return fail(lines, "the sizes are larger than any file".into()) };
            (n_rows, n_columns, n_entries)
        }
        _ => return fail(lines, "the line of sizes must have the numbers of rows, columns and (coordinate) entries".into()),
    };
    let format = CoordinateFormat::MatrixMarket;
    check_head(lines, Head { format, n_rows, n_columns, n_entries, is_pattern, is_array })
}

fn check_head(lines: &Lines, head: Head) -> Result<Head> {
    let limit = u64::from(u32::MAX - 1);
    if head.n_rows > limit || head.n_columns > limit {
        let problem = format!("{} rows and {} columns are more than can be read", head.n_rows, head.n_columns);
        return Err(Error::format(lines.place(), head.format.name(), problem));
    }
    Ok(head)
}

/// Whether text begins as a bag of words: three lines of one whole number each, then three on a line.
pub(super) fn looks_like_docword(first: &[u8]) -> bool {
    let lines = first.split(|&byte| byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    let n_fields = lines.take(4).map(|line| {
        let fields = line.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty()).map(whole);
        fields.collect::<Option<Vec<u64>>>().map_or(0, |numbers| numbers.len())
    });
    let n_fields: Vec<usize> = n_fields.collect();
    n_fields == [1, 1, 1, 3]
}

/// Whether a file is named as bags of words are.
pub(super) fn is_named_docword(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().to_lowercase().starts_with("docword"))
}
