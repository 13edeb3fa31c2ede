//! CSV and TSV tables (RFC 4180): quoted fields may hold delimiters, quotes (doubled) and line breaks.
//!
//! The byte-level reader is our own because a record must have a bounded length (an unclosed quote would otherwise take
//! the rest of the file into memory) and because a table of 0/1 is mostly delimiters: lines without a quote are split in
//! one pass over their bytes.

use std::collections::HashMap;
use std::sync::Arc;

use super::cell::{Cell, CellSink};
use super::delimiter;
use super::encoding::{not_utf8, wide_text};
use super::input::{Input, LINE_LIMIT, Lines};
use crate::error::{Error, Place, Result};

/// Number of bytes to inspect to recognise the format.
const FIRST_BYTES: u64 = 1 << 16;

/// A text table with a delimiter.
pub(super) struct CsvTable {
    input: Arc<Input>,
    format: &'static str,
    delimiter: u8,
    header: bool,
    names: Vec<String>,
    /// The header gives the first column no name.
    first_is_unnamed: bool,
    lines: Lines,
    fields: Fields,
    next_row: u64,
}

/// The fields of one quoted record, for reuse between records.
#[derive(Default)]
struct Fields {
    /// Text of the fields, with the quoting taken off.
    unquoted: Vec<u8>,
    /// Where each field ends in `unquoted`.
    ends: Vec<usize>,
}

/// Where in a record the bytes so far have led.
#[derive(Clone, Copy, PartialEq)]
enum State {
    /// At the start of a field, after spaces at most: only here does a quote open a quoted field.
    Start,
    Plain,
    Quoted,
    /// After a quote in a quoted field: its end, or half of a doubled quote.
    QuoteSeen,
}

impl CsvTable {
    pub(super) fn new(input: Arc<Input>, header: bool, by_ending: Option<u8>) -> Result<Self> {
        refuse_binary(&input)?;
        let first = input.first_bytes(FIRST_BYTES)?;
        let delimiter = delimiter::choose(&first, (first.len() as u64) < FIRST_BYTES, by_ending);
        let format = if delimiter == b'\t' { "TSV" } else { "CSV" };
        let lines = input.lines()?;
        let fields = Fields::default();
        let mut table =
            Self { input, format, delimiter, header, names: Vec::new(), first_is_unnamed: false, lines, fields, next_row: 0 };
        table.read_names()?;
        if !header {
            table.rewind()?;
        }
        Ok(table)
    }

    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    pub(super) fn first_is_unnamed(&self) -> bool {
        self.first_is_unnamed
    }

    pub(super) fn delimiter(&self) -> u8 {
        self.delimiter
    }

    /// Names the columns of a table without header.
    pub(super) fn rename(&mut self, names: Vec<String>) {
        assert_eq!(names.len(), self.names.len(), "every column has a name");
        self.names = names;
        self.first_is_unnamed = false;
    }

    pub(super) fn rewind(&mut self) -> Result<()> {
        self.lines = self.input.lines()?;
        self.next_row = 0;
        if self.header {
            next_record(&mut self.lines, self.delimiter, self.format, &mut self.fields)?;
        }
        Ok(())
    }

    /// Reads up to `max_rows` rows into the sink; fewer only at the end.
    pub(super) fn read_rows(&mut self, max_rows: usize, sink: &mut impl CellSink) -> Result<usize> {
        let n_columns = self.names.len();
        for n_read in 0..max_rows {
            let row = self.next_row;
            let Some(record) = next_record(&mut self.lines, self.delimiter, self.format, &mut self.fields)? else {
                return Ok(n_read);
            };
            let mut n_fields = 0;
            let mut problem = None;
            let mut visit = |field: &[u8]| {
                if n_fields < n_columns && problem.is_none() {
                    problem = sink.cell(row, n_fields, Cell::Text(trim(field))).err().map(|what| (n_fields, what));
                }
                n_fields += 1;
            };
            match record {
                Record::Plain(line) => split(line, self.delimiter, &mut visit),
                Record::Unquoted(fields) => fields.iter().for_each(visit),
            }
            let place = || Place::file(&self.input.path).line(self.lines.number).row(row + 1);
            if n_fields != n_columns {
                let what = if self.header { "the header" } else { "the first row" };
                let problem = format!("{n_fields} fields where {what} has {n_columns}; check delimiters and quotes there");
                return Err(Error::format(place(), self.format, problem));
            }
            if let Some((column, what)) = problem {
                return Err(Error::data(place().column(&self.names[column]), what));
            }
            self.next_row += 1;
        }
        Ok(max_rows)
    }

    fn read_names(&mut self) -> Result<()> {
        let record = next_record(&mut self.lines, self.delimiter, self.format, &mut self.fields)?;
        let Some(record) = record else {
            return Err(Error::data(self.input.place(), "no rows: the file is empty"));
        };
        let mut raw: Vec<Vec<u8>> = Vec::new();
        match record {
            Record::Plain(line) => split(line, self.delimiter, &mut |field| raw.push(trim(field).to_vec())),
            Record::Unquoted(fields) => fields.iter().for_each(|field| raw.push(trim(field).to_vec())),
        }
        if !self.header {
            self.names = (1..=raw.len()).map(|ix| format!("x{ix}")).collect();
            return Ok(());
        }
        for (ix, name) in raw.into_iter().enumerate() {
            let name = String::from_utf8(name).map_err(|error| {
                let problem = format!("the name of column {}, {}", ix + 1, not_utf8(error.as_bytes()));
                Error::format(self.lines.place(), self.format, problem)
            })?;
            self.first_is_unnamed |= ix == 0 && name.is_empty();
            self.names.push(if name.is_empty() { format!("x{}", ix + 1) } else { name });
        }
        let mut seen = HashMap::with_capacity(self.names.len());
        for (ix, name) in self.names.iter().enumerate() {
            if let Some(earlier) = seen.insert(name.as_str(), ix) {
                let problem = format!(
                    "columns {} and {} have the same name; rename one, or say that the file has no header (`read.no_header`)",
                    earlier + 1,
                    ix + 1
                );
                return Err(Error::data(self.lines.place().column(name), problem));
            }
        }
        Ok(())
    }
}

/// Rejects binary data before they become odd column names.
fn refuse_binary(input: &Input) -> Result<()> {
    let first = input.first_bytes(FIRST_BYTES)?;
    let fail = |problem: String| Err(Error::format(input.place(), "CSV", problem));
    if input.encoding.is_none()
        && let Some(encoding) = wide_text(&first)
    {
        return fail(format!("the file looks like UTF-16 text; add `read.encoding` {encoding}, or save it as UTF-8"));
    }
    if first.contains(&0) {
        let named = input.encoding.map(|encoding| format!(" even if read as {}", encoding.name())).unwrap_or_default();
        return fail(format!("the file holds binary data, not text{named}; check its format and ending"));
    }
    if crate::file::ending(&input.path) == "json" {
        return fail("a JSON file is not a data table; is it a model?".to_owned());
    }
    Ok(())
}

fn trim(field: &[u8]) -> &[u8] {
    // The common cell is one digit: leave it alone.
    match field {
        [byte] if *byte > b' ' => field,
        _ => field.trim_ascii(),
    }
}

#[inline]
fn split(line: &[u8], delimiter: u8, visit: &mut impl FnMut(&[u8])) {
    let mut start = 0;
    for (ix, &byte) in line.iter().enumerate() {
        if byte == delimiter {
            visit(&line[start..ix]);
            start = ix + 1;
        }
    }
    visit(&line[start..]);
}

impl Fields {
    fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.unquoted[start..end])
    }

    /// Takes in one line of a record; the state says whether a quoted field goes on over the line's end.
    fn feed(&mut self, line: &[u8], delimiter: u8, mut state: State) -> State {
        for &byte in line {
            state = match (state, byte) {
                (State::Quoted, b'"') => State::QuoteSeen,
                (State::Quoted, _) => {
                    self.unquoted.push(byte);
                    State::Quoted
                }
                (State::QuoteSeen, b'"') => {
                    self.unquoted.push(byte);
                    State::Quoted
                }
                (_, _) if byte == delimiter => {
                    self.ends.push(self.unquoted.len());
                    State::Start
                }
                (State::Start, b'"') => {
                    self.unquoted.truncate(self.ends.last().copied().unwrap_or(0));
                    State::Quoted
                }
                (State::Start, b' ') => {
                    self.unquoted.push(byte);
                    State::Start
                }
                (_, _) => {
                    self.unquoted.push(byte);
                    State::Plain
                }
            };
        }
        match state {
            State::Quoted => self.unquoted.push(b'\n'),
            _ => self.ends.push(self.unquoted.len()),
        }
        state
    }
}

enum Record<'a> {
    /// A line without quotes.
    Plain(&'a [u8]),
    /// A record with quotes, taken apart.
    Unquoted(&'a Fields),
}

/// The next record that is not a blank line.
fn next_record<'a>(
    lines: &'a mut Lines,
    delimiter: u8,
    format: &'static str,
    fields: &'a mut Fields,
) -> Result<Option<Record<'a>>> {
    // A line of delimiters is a record of missing cells; one of spaces alone is blank.
    while let Some(line) = lines.next()? {
        if line.iter().any(|&byte| byte != b' ') {
            break;
        }
    }
    if lines.is_at_end() {
        return Ok(None);
    }
    if !lines.last().contains(&b'"') {
        return Ok(Some(Record::Plain(lines.last())));
    }
    let opening = lines.place();
    fields.unquoted.clear();
    fields.ends.clear();
    let mut state = fields.feed(lines.last(), delimiter, State::Start);
    while state == State::Quoted {
        let Some(line) = lines.next()? else {
            return Err(Error::format(opening, format, "a quote opens here and is not closed before the end of the file"));
        };
        state = fields.feed(line, delimiter, state);
        if fields.unquoted.len() > LINE_LIMIT {
            return Err(Error::format(opening, format, "a quote opens here and is not closed for very long"));
        }
    }
    Ok(Some(Record::Unquoted(fields)))
}
