//! From cells to the codes and numbers of a column whose kind is known.

use std::collections::HashMap;

use super::cell::{Cell, count_problem, is_missing, number, number_key, number_text};
use super::rare::OTHER_LABEL;
use super::unseen::{LabelTally, Similar, UnseenLabels, UnseenPolicy};
use super::written_number::NumberReader;
use crate::data::{ColumnData, Kind, MISSING_CODE, MISSING_CODE8};
use crate::error::Shortened;

/// Marks a text that no label has.
const UNKNOWN: u32 = MISSING_CODE - 1;

/// The same among bytes, where it is also the code of missing cells: no label has it.
const UNKNOWN_BYTE: u8 = MISSING_CODE8;

/// Most other spellings of labels (`1.0` for `1`) that are remembered.
const ALIAS_LIMIT: usize = 1024;

/// How the cells of one column become codes or numbers.
pub(super) enum Decoder {
    Labels(Box<LabelTable>),
    Number(NumberReader),
    Count(NumberReader),
    /// Numbers above 0 are code 1.
    Threshold(NumberReader),
}

impl Decoder {
    /// The decoder of a kind; with `threshold`, a binary column accepts counts.
    pub(super) fn new(kind: &Kind, threshold: bool, numbers: NumberReader, unseen: UnseenPolicy) -> Self {
        match (kind, kind.labels()) {
            (Kind::Binary { labels }, _) if threshold && labels == &["0", "1"] => Self::Threshold(numbers),
            (_, Some(labels)) => Self::Labels(Box::new(LabelTable::new(labels, unseen))),
            (Kind::Count, None) => Self::Count(numbers),
            (_, None) => Self::Number(numbers),
        }
    }

    /// Appends a cell to its column.
    #[inline]
    pub(super) fn push(&mut self, cell: Cell<'_>, data: &mut ColumnData) -> Result<(), String> {
        match self {
            Self::Labels(table) => {
                let code = match cell {
                    Cell::Text(&[byte]) if table.by_byte[usize::from(byte)] != UNKNOWN => table.by_byte[usize::from(byte)],
                    Cell::Number(value) if table.whole(value) != UNKNOWN => table.whole(value),
                    _ => table.find(cell)?,
                };
                match data {
                    // The code of a missing cell is all ones at either width.
                    ColumnData::Codes8(codes) => codes.push(code as u8),
                    ColumnData::Codes(codes) => codes.push(code),
                    ColumnData::Reals(_) => unreachable!("a discrete column holds codes"),
                }
                Ok(())
            }
            Self::Number(numbers) => {
                data.push_number(numbers.read(cell)?);
                Ok(())
            }
            Self::Count(numbers) => {
                let value = numbers.read(cell)?;
                count_problem(value).map_or(Ok(()), Err)?;
                data.push_number(value);
                Ok(())
            }
            Self::Threshold(numbers) => {
                data.push_number(above_zero(numbers.read(cell)?)?);
                Ok(())
            }
        }
    }

    /// Appends whole numbers to their column if all of them are labels of it, those at `missing` places being missing; else nothing.
    pub(super) fn extend(&mut self, numbers: &[i64], missing: &mut dyn Iterator<Item = usize>, data: &mut ColumnData) -> bool {
        let (Self::Labels(table), ColumnData::Codes8(codes)) = (self, data) else { return false };
        let start = codes.len();
        codes.extend(numbers.iter().map(|&number| table.byte_of(number)));
        let is_unknown = |code: &u8| *code == UNKNOWN_BYTE;
        let n_unknown = codes[start..].iter().filter(|code| is_unknown(code)).count();
        let mut n_missing = 0;
        for place in missing {
            // The number of a missing cell is arbitrary.
            n_missing += usize::from(is_unknown(&codes[start + place]));
            codes[start + place] = MISSING_CODE8;
        }
        if n_unknown != n_missing {
            codes.truncate(start);
        }
        n_unknown == n_missing
    }

    /// The value of a stored cell of a sparse row: a number, or a code.
    pub(super) fn number(&mut self, value: f64) -> Result<f64, String> {
        if value.is_nan() {
            return Ok(value);
        }
        match self {
            Self::Labels(table) => {
                table.find(Cell::Number(value)).map(|code| if code == MISSING_CODE { f64::NAN } else { f64::from(code) })
            }
            Self::Number(_) => Ok(value),
            Self::Count(_) => count_problem(value).map_or(Ok(value), Err),
            Self::Threshold(_) => above_zero(value),
        }
    }

    /// The labels that were read as missing since the last [`forget_unseen`](Self::forget_unseen).
    pub(super) fn unseen(&self, column: &str) -> Option<UnseenLabels> {
        match self {
            Self::Labels(table) => table.unseen.as_ref()?.found(column, &table.labels),
            _ => None,
        }
    }

    /// Begins to count again, as the cells will come again.
    pub(super) fn forget_unseen(&mut self) {
        if let Self::Labels(table) = self
            && let Some(tally) = &mut table.unseen
        {
            *tally = LabelTally::default();
        }
    }
}

fn above_zero(value: f64) -> Result<f64, String> {
    if value < 0.0 {
        return Err(format!("{} is negative, but the column should be 1 where its counts are positive", number_text(value)));
    }
    Ok(if value.is_nan() { value } else { f64::from(u8::from(value > 0.0)) })
}

/// Finds the code of a label.
pub(super) struct LabelTable {
    labels: Vec<String>,
    by_byte: [u32; 256],
    /// Codes of the whole numbers from 0 to 255, as `by_number` has them: most columns of numbers need no hash.
    by_whole: [u32; 256],
    /// The same as bytes, where the codes of the column are; [`UNKNOWN_BYTE`] for the others, and at the end for all numbers beyond.
    bytes_of_wholes: [u8; 257],
    by_text: HashMap<Box<[u8]>, u32>,
    /// Codes by number, where no two labels are the same number: `1.0` finds the label `1`.
    by_number: HashMap<u64, u32>,
    /// The code of labels that are not known, where rare ones were joined.
    other: Option<u32>,
    last: (Vec<u8>, u32),
    /// Counts the labels that are not in the table; without it they are errors.
    unseen: Option<LabelTally>,
}

impl LabelTable {
    fn new(labels: &[String], unseen: UnseenPolicy) -> Self {
        let mut by_byte = [UNKNOWN; 256];
        let mut by_text = HashMap::with_capacity(labels.len());
        let mut by_number = HashMap::new();
        let mut numbers_are_unique = true;
        let other = labels.iter().position(|label| label == OTHER_LABEL).and_then(|code| u32::try_from(code).ok());
        for (code, label) in (0..).zip(labels) {
            let text = label.as_bytes().trim_ascii();
            by_text.insert(text.into(), code);
            if let &[byte] = text {
                by_byte[usize::from(byte)] = code;
            }
            if let Some(value) = number(text) {
                numbers_are_unique &= by_number.insert(number_key(value), code).is_none();
            }
        }
        if !numbers_are_unique {
            by_number.clear();
        }
        let mut by_whole = [UNKNOWN; 256];
        for (whole, code) in by_whole.iter_mut().enumerate() {
            *code = by_number.get(&number_key(whole as f64)).copied().unwrap_or(UNKNOWN);
        }
        let mut bytes_of_wholes = [UNKNOWN_BYTE; 257];
        for (byte, &code) in bytes_of_wholes.iter_mut().zip(&by_whole) {
            *byte = u8::try_from(code).unwrap_or(UNKNOWN_BYTE);
        }
        if by_byte[usize::from(b'?')] == UNKNOWN {
            by_byte[usize::from(b'?')] = MISSING_CODE;
        }
        let unseen = (unseen == UnseenPolicy::Missing).then(LabelTally::default);
        Self {
            labels: labels.to_vec(),
            by_byte,
            by_whole,
            bytes_of_wholes,
            by_text,
            by_number,
            other,
            last: (Vec::new(), MISSING_CODE),
            unseen,
        }
    }

    /// The code of a whole number as a byte; [`UNKNOWN_BYTE`] if it is no label.
    #[inline]
    fn byte_of(&self, number: i64) -> u8 {
        self.bytes_of_wholes[(number as u64).min(256) as usize]
    }

    /// The code of a whole number from 0 to 255, if it is a label.
    #[inline]
    fn whole(&self, value: f64) -> u32 {
        let whole = value as u8;
        if f64::from(whole) == value { self.by_whole[usize::from(whole)] } else { UNKNOWN }
    }

    fn find(&mut self, cell: Cell<'_>) -> Result<u32, String> {
        let code = match cell {
            Cell::Missing => Some(MISSING_CODE),
            Cell::Number(value) if value.is_nan() => Some(MISSING_CODE),
            Cell::Number(value) => self.by_number.get(&number_key(value)).copied(),
            Cell::Bool(value) => self.find_logical(if value { b"true" } else { b"false" }).or_else(|| {
                let digit = if value { b'1' } else { b'0' };
                Some(self.by_byte[usize::from(digit)]).filter(|&code| code != UNKNOWN)
            }),
            Cell::Text(text) if !text.is_empty() && text == self.last.0.as_slice() => return Ok(self.last.1),
            Cell::Text(text) => {
                let code = self.find_text(text);
                if let Some(code) = code {
                    self.last.0.clear();
                    self.last.0.extend_from_slice(text);
                    self.last.1 = code;
                }
                code
            }
        };
        match (code.or(self.other), &mut self.unseen) {
            (Some(code), _) => Ok(code),
            (None, None) => Err(self.unknown(cell)),
            (None, Some(tally)) => {
                tally.count(cell_text(cell));
                Ok(MISSING_CODE)
            }
        }
    }

    /// A label may itself be spelled as a missing token; then it is the label.
    fn find_text(&mut self, text: &[u8]) -> Option<u32> {
        if let Some(&code) = self.by_text.get(text) {
            return Some(code);
        }
        if is_missing(text) {
            return Some(MISSING_CODE);
        }
        let code = number(text)
            .and_then(|value| self.by_number.get(&number_key(value)).copied())
            .or_else(|| (text.len() <= 5).then(|| self.find_logical(text)).flatten());
        // The same spelling will come again.
        if let Some(code) = code
            && self.by_text.len() < self.labels.len() + ALIAS_LIMIT
        {
            self.by_text.insert(text.into(), code);
        }
        code
    }

    fn find_logical(&self, text: &[u8]) -> Option<u32> {
        let lower = text.to_ascii_lowercase();
        if lower != b"true" && lower != b"false" {
            return None;
        }
        let code = self.labels.iter().position(|label| label.as_bytes().eq_ignore_ascii_case(&lower));
        code.and_then(|code| u32::try_from(code).ok())
    }

    fn unknown(&self, cell: Cell<'_>) -> String {
        let text = cell_text(cell);
        let value = if matches!(cell, Cell::Text(_)) { format!("{:?}", Shortened(&text)) } else { text.clone() };
        if let Some(similar) = Similar::new(self.labels.iter().map(String::as_str)).to(&text) {
            return format!(
                "{value} is not a label of this column; did you mean {:?}? (`read.unseen` missing reads unknown labels as missing)",
                Shortened(similar)
            );
        }
        const SHOWN: usize = 8;
        let shown: Vec<String> = self.labels.iter().take(SHOWN).map(|label| format!("{:?}", Shortened(label))).collect();
        let rest = self.labels.len().saturating_sub(SHOWN);
        let rest = if rest > 0 { format!(" and {rest} more") } else { String::new() };
        let shown = shown.join(", ");
        format!(
            "{value} is not a label of this column, which has {shown}{rest}; `read.unseen` missing reads unknown labels as missing"
        )
    }
}

fn cell_text(cell: Cell<'_>) -> String {
    match cell {
        Cell::Text(text) => String::from_utf8_lossy(text).into_owned(),
        Cell::Number(value) => number_text(value),
        Cell::Bool(value) => value.to_string(),
        Cell::Missing => "a missing value".to_owned(),
    }
}
