//! Numbers with decimal commas (`1,5`), or with thousands separated by commas, points, blanks or apostrophes.
//!
//! `1,234` can be either. A column tells: if another of its cells can only be a decimal comma (`0,5`) or a thousands
//! separator (`1,234,567`, `1,234.5`), that decides; else commas are decimal in files that are not separated by commas.

use super::cell::{Cell, is_missing, number};
use super::signed_number::unsigned;
use crate::error::Shortened;

/// What a text that is not a plain number implies about the commas of its column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Written {
    /// Only a decimal comma makes it a number.
    DecimalComma,
    /// Only a decimal point, or a comma between thousands, makes it a number.
    DecimalPoint,
    /// `1,234`.
    Either,
    /// Thousands are set apart by blanks or apostrophes.
    Neutral,
}

/// Parts of digits, and the separators between them.
struct Parts<'a> {
    digits: Vec<&'a [u8]>,
    separators: Vec<u8>,
}

/// Takes a text of digits and separators apart; `None` if it has other characters.
fn parts(text: &[u8]) -> Option<Parts<'_>> {
    const MAX_LENGTH: usize = 40;
    let mut rest = text.strip_prefix(b"-").or_else(|| text.strip_prefix(b"+")).unwrap_or(text);
    let mut parts = Parts { digits: Vec::new(), separators: Vec::new() };
    if rest.len() > MAX_LENGTH {
        return None;
    }
    loop {
        let end = rest.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len());
        parts.digits.push(&rest[..end]);
        rest = &rest[end..];
        // No-break, narrow no-break and thin spaces, and the typographic apostrophe, are more than a byte.
        let blanks: [&[u8]; 3] = ["\u{a0}".as_bytes(), "\u{202f}".as_bytes(), "\u{2009}".as_bytes()];
        if let Some(blank) = blanks.iter().find(|blank| rest.starts_with(blank)) {
            parts.separators.push(b' ');
            rest = &rest[blank.len()..];
        } else if let Some(after) = rest.strip_prefix("’".as_bytes()) {
            parts.separators.push(b'\'');
            rest = after;
        } else {
            match rest.split_first() {
                None => return Some(parts),
                Some((&separator @ (b',' | b'.' | b' ' | b'\''), after)) => {
                    parts.separators.push(separator);
                    rest = after;
                }
                Some(_) => return None,
            }
        }
    }
}

impl Parts<'_> {
    /// Whether the parts from the first up to `end` are thousands.
    fn are_groups(&self, end: usize) -> bool {
        let first = self.digits[0];
        (1..=3).contains(&first.len()) && first[0] != b'0' && self.digits[1..end].iter().all(|part| part.len() == 3)
    }
}

/// What a text says about commas; `None` if it is a plain number or none.
pub(super) fn written(text: &[u8]) -> Option<Written> {
    let parts = parts(text)?;
    let (&last, before) = parts.separators.split_last()?;
    let n_parts = parts.digits.len();
    let all_groups = before.iter().all(|&it| it == last) && parts.are_groups(n_parts);
    let is_fraction = |decimal: u8| {
        let group = before.first().copied();
        let one_kind = before.iter().all(|&it| Some(it) == group) && group != Some(decimal);
        let whole = if before.is_empty() { true } else { parts.are_groups(n_parts - 1) };
        last == decimal && one_kind && whole && !parts.digits[n_parts - 1].is_empty()
    };
    match (last, before.is_empty()) {
        (b',', true) if all_groups => Some(Written::Either),
        (b',', false) if all_groups => Some(Written::DecimalPoint),
        (b'.', false) if all_groups => Some(Written::DecimalComma),
        (b' ' | b'\'', _) if all_groups => Some(Written::Neutral),
        (b',', _) if is_fraction(b',') => Some(Written::DecimalComma),
        (b'.', false) if is_fraction(b'.') => Some(Written::DecimalPoint),
        _ => None,
    }
}

/// What a plain number says about commas: `1.5` has a decimal point, `1.234` may be thousands.
pub(super) fn plain(text: &[u8]) -> Option<Written> {
    if !text.contains(&b'.') {
        return None;
    }
    let is_group = parts(text).is_some_and(|parts| parts.separators == [b'.'] && parts.are_groups(2));
    Some(if is_group { Written::Either } else { Written::DecimalPoint })
}

/// The number a text is when commas are decimal, or when points are.
pub(super) fn value(text: &[u8], decimal_comma: bool) -> Option<f64> {
    let is_plain = !decimal_comma || !text.contains(&b'.');
    if let (true, Some(value)) = (is_plain, number(text)) {
        return Some(value);
    }
    let as_comma = match (written(text), plain(text)) {
        (Some(written), _) => match written {
            Written::DecimalComma => true,
            Written::DecimalPoint => false,
            Written::Either | Written::Neutral => decimal_comma,
        },
        (None, Some(Written::Either)) => decimal_comma,
        _ => return None,
    };
    if as_comma != decimal_comma {
        return None;
    }
    let parts = parts(text)?;
    let decimal = if decimal_comma { b',' } else { b'.' };
    let mut plain = if text.starts_with(b"-") { vec![b'-'] } else { Vec::new() };
    for (ix, digits) in parts.digits.iter().enumerate() {
        if ix > 0 && parts.separators[ix - 1] == decimal {
            plain.push(b'.');
        }
        plain.extend_from_slice(digits);
    }
    number(&plain)
}

/// What the commas of a column have been seen to be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) struct Commas {
    is_comma: bool,
    is_point: bool,
    /// `1,234` was seen.
    either: bool,
    /// `1.234` was seen.
    either_point: bool,
    neutral: bool,
    /// `1,234.5` was seen.
    #[serde(default)]
    grouped_point: bool,
}

impl Commas {
    /// Takes in what was seen of other cells of the column.
    #[cfg(feature = "columnar")]
    pub(super) fn merge(&mut self, other: Self) {
        self.is_comma |= other.is_comma;
        self.is_point |= other.is_point;
        self.either |= other.either;
        self.either_point |= other.either_point;
        self.neutral |= other.neutral;
        self.grouped_point |= other.grouped_point;
    }

    pub(super) fn observe(&mut self, written: Written) {
        match written {
            Written::DecimalComma => self.is_comma = true,
            Written::DecimalPoint => (self.is_point, self.grouped_point) = (true, true),
            Written::Either => self.either = true,
            Written::Neutral => self.neutral = true,
        }
    }

    /// Takes in a plain number.
    pub(super) fn observe_plain(&mut self, text: &[u8]) {
        match plain(text) {
            Some(Written::DecimalPoint) => self.is_point = true,
            Some(_) => self.either_point = true,
            None => {}
        }
    }

    /// Whether a decimal point was seen that is not a thousands separator.
    pub(super) fn has_points(self) -> bool {
        self.is_point
    }

    /// Whether any cell was not a plain number.
    pub(super) fn any(self) -> bool {
        self.is_comma || self.either || self.neutral || self.grouped_point
    }

    /// Whether cells cannot all be numbers: some have decimal commas, others decimal points.
    pub(super) fn are_mixed(self) -> bool {
        self.is_comma && self.is_point || (!self.is_comma && !self.is_point && self.either && self.either_point)
    }

    /// Whether commas are decimal; `prefers_comma` decides what the cells leave open.
    pub(super) fn decimal_comma(self, prefers_comma: bool) -> bool {
        self.is_comma || (!self.is_point && self.either && prefers_comma)
    }
}

/// Reads the numbers of one column, whichever way they are written, as long as it is one way.
#[derive(Debug, Clone, Copy)]
pub(super) struct NumberReader {
    decimal_comma: Option<bool>,
    prefers_comma: bool,
}

impl NumberReader {
    /// A reader of a column whose use of commas is known, or still to be determined.
    pub(super) fn new(decimal_comma: Option<bool>, prefers_comma: bool) -> Self {
        Self { decimal_comma, prefers_comma }
    }

    /// The number of a cell, NaN if missing.
    #[inline]
    pub(super) fn read(&mut self, cell: Cell<'_>) -> Result<f64, String> {
        let value = match cell {
            Cell::Missing => f64::NAN,
            Cell::Number(value) => value,
            Cell::Bool(value) => f64::from(u8::from(value)),
            Cell::Text(text) => match number(text) {
                Some(value) if self.decimal_comma != Some(true) || !text.contains(&b'.') => value,
                _ => self.read_written(text)?,
            },
        };
        if value.is_infinite() {
            return Err("the number is infinite; write missing values as an empty field".to_owned());
        }
        Ok(value)
    }

    fn read_written(&mut self, text: &[u8]) -> Result<f64, String> {
        if is_missing(text) {
            return Ok(f64::NAN);
        }
        if let Some(number) = unsigned(text) {
            let read = self.read(Cell::Text(number.text))?;
            return Ok(number.signed(read));
        }
        let is_comma = match written(text) {
            Some(Written::DecimalComma) => true,
            Some(Written::DecimalPoint) => false,
            Some(Written::Either) => self.decimal_comma.unwrap_or(self.prefers_comma),
            Some(Written::Neutral) | None => self.decimal_comma.unwrap_or(false),
        };
        let shown = String::from_utf8_lossy(text);
        let shown = Shortened(&shown);
        if let (Some(earlier), Some(_)) = (self.decimal_comma, written(text))
            && earlier != is_comma
        {
            let mark = if earlier { "comma" } else { "point" };
            return Err(format!(
                "{shown:?} is no number with a decimal {mark}, as others of the column are; write them all the same way"
            ));
        }
        let found = value(text, is_comma).ok_or_else(|| format!("{shown:?} is not a number"))?;
        if matches!(written(text), Some(Written::DecimalComma | Written::DecimalPoint | Written::Either)) {
            self.decimal_comma = Some(is_comma);
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_text_says_about_commas() {
        for (texts, expected) in [
            (
                &["1,5", "0,25", "-12,3456", "1.234,5", "1.234.567", "1 234,567", "0,123", ",5", "1234,567"][..],
                Some(Written::DecimalComma),
            ),
            (&["1,234,567", "1,234.5", "12,345,678.90", "1 234.5"], Some(Written::DecimalPoint)),
            (&["1,234", "-123,456"], Some(Written::Either)),
            (&["1 234", "1'234'567", "1\u{a0}234", "12\u{202f}345", "1’234"], Some(Written::Neutral)),
            (
                &[
                    "1",
                    "1.5",
                    "1,",
                    "1,2,3",
                    "1.2.3",
                    "12,34,567",
                    "12.03.2021",
                    "1 23",
                    "a,5",
                    "",
                    "-",
                    ",",
                    "1,2a",
                    "1.234,567,8",
                ],
                None,
            ),
        ] {
            for text in texts {
                assert_eq!(written(text.as_bytes()), expected, "{text}");
            }
        }
        assert_eq!(plain(b"1.5"), Some(Written::DecimalPoint));
        assert_eq!(plain(b"1.234"), Some(Written::Either));
        assert_eq!(plain(b"1234"), None);
    }

    #[test]
    fn values_are_read_by_the_way_they_are_written() {
        for (text, comma, point) in [
            ("1,5", Some(1.5), None),
            ("1.234,5", Some(1234.5), None),
            ("1,234", Some(1.234), Some(1234.0)),
            ("-1,234,567.5", None, Some(-1_234_567.5)),
            ("1 234", Some(1234.0), Some(1234.0)),
            ("1.234", Some(1234.0), Some(1.234)),
            ("1.5", None, Some(1.5)),
            ("-7", Some(-7.0), Some(-7.0)),
            ("1,2,3", None, None),
        ] {
            assert_eq!(value(text.as_bytes(), true), comma, "{text}");
            assert_eq!(value(text.as_bytes(), false), point, "{text}");
        }
    }

    #[test]
    fn a_reader_keeps_to_one_way() {
        let mut reader = NumberReader::new(None, false);
        assert_eq!(reader.read(Cell::Text(b"1,234")), Ok(1234.0));
        assert!(reader.read(Cell::Text(b"1,5")).unwrap_err().contains("decimal point"));
        let mut reader = NumberReader::new(None, true);
        assert_eq!(reader.read(Cell::Text(b"1,234")), Ok(1.234));
        assert_eq!(reader.read(Cell::Text(b"1.234")), Ok(1234.0));
        assert!(reader.read(Cell::Text(b"1.5")).is_err());
        assert!(reader.read(Cell::Text(b"?")).unwrap().is_nan());
    }
}
