//! The libsvm format: a row a line, `label index:value index:value …`, `#` begins a comment.
//!
//! The label is not a variable and is skipped. Indices increase within a row; they count from 1, or from 0 if the file has
//! an index 0.

use std::sync::Arc;

use super::cell::number;
use super::input::{Input, Lines};
use super::options::ReadOptions;
use super::sparse::{KeptRows, RowSource, Scan, SparseFile, changed, column_names};
use crate::error::{Error, Result, Shortened};

const FORMAT: &str = "libsvm";

struct LibsvmSource {
    input: Arc<Input>,
    lines: Lines,
    /// Index of the first column.
    base: u32,
}

pub(super) fn open(input: &Arc<Input>, options: &ReadOptions) -> Result<SparseFile> {
    let mut source = LibsvmSource { input: Arc::clone(input), lines: input.lines()?, base: 0 };
    let (scan, kept) = Scan::keeping(&mut source, options.keep_bytes)?;
    source.base = u32::from(scan.first_column != Some(0));
    let n_columns = scan.last_column.map_or(0, |last| (u64::from(last) + 1).saturating_sub(u64::from(source.base)));
    if options.names.is_none() {
        scan.check_columns(input.place(), n_columns)?;
    }
    // Columns at the end that are zero in every row leave no trace in the file.
    let (mut names, named) = column_names(options, &input.place(), n_columns, true)?;
    if let (None, Some(schema)) = (&options.names, &options.schema) {
        names.extend((names.len()..schema.columns().len()).map(|ix| format!("x{}", ix + 1)));
    }
    let base = source.base;
    let source: Box<dyn RowSource> = match kept {
        Some(kept) => Box::new(KeptRows::new(kept.shifted(base), Box::new(source))),
        None => Box::new(source),
    };
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

impl RowSource for LibsvmSource {
    fn next_row(&mut self, row: &mut Vec<(u32, f64)>) -> Result<bool> {
        loop {
            if self.lines.next_filled()?.is_none() {
                return Ok(false);
            }
            let line = self.lines.last();
            let line = line.split(|&byte| byte == b'#').next().unwrap_or_default();
            let mut fields = line.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty()).peekable();
            if fields.peek().is_none() {
                continue;
            }
            if fields.peek().is_some_and(|field| !field.contains(&b':')) {
                fields.next();
            }
            let mut last = None;
            for field in fields {
                let (index, value) = parse(field).map_err(|problem| Error::format(self.lines.place(), FORMAT, problem))?;
                if last.is_some_and(|last| last >= index) {
                    let problem = format!("index {index} does not come after the one before it; sort the indices of the row");
                    return Err(Error::format(self.lines.place(), FORMAT, problem));
                }
                last = Some(index);
                // All indices were seen to be from the base up, when the file was looked through.
                let column = index.checked_sub(self.base).ok_or_else(|| changed(self.lines.place()))?;
                row.push((column, value));
            }
            return Ok(true);
        }
    }

    fn rewind(&mut self) -> Result<()> {
        self.lines = self.input.lines()?;
        Ok(())
    }
}

fn parse(field: &[u8]) -> Result<(u32, f64), String> {
    let shown = || format!("{:?}", Shortened(&String::from_utf8_lossy(field)));
    let colon = field.iter().position(|&byte| byte == b':').ok_or_else(|| format!("{} is not index:value", shown()))?;
    let (index, value) = (&field[..colon], &field[colon + 1..]);
    if index == b"qid" {
        return Err("rows with query ids (qid:) are for ranking and cannot be read; remove the qid fields".to_owned());
    }
    let index: u32 = std::str::from_utf8(index)
        .ok()
        .and_then(|index| index.parse().ok())
        .filter(|&index| index < u32::MAX - 1)
        .ok_or_else(|| format!("{} has no whole number before the colon", shown()))?;
    let value = number(value)
        .or_else(|| value.eq_ignore_ascii_case(b"nan").then_some(f64::NAN))
        .filter(|value| !value.is_infinite())
        .ok_or_else(|| format!("{} has no finite number after the colon", shown()))?;
    Ok((index, value))
}
