//! Cells as written in a file: missing tokens, and conversion between numbers and text.

/// A cell before its column's kind is known. Text has no spaces around it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Cell<'a> {
    Missing,
    Text(&'a [u8]),
    Number(f64),
    Bool(bool),
}

/// Takes cells one by one. A problem is said without its place, which the file's reader adds.
pub(super) trait CellSink {
    /// The cell of a zero-based row and column of the file.
    fn cell(&mut self, row: u64, column: usize, cell: Cell<'_>) -> Result<(), String>;

    /// Takes whole numbers of consecutive rows of a column at once, those at `missing` places being missing, and says whether it did. If not, it has
    /// taken none, and they come one by one.
    #[cfg_attr(not(feature = "columnar"), allow(dead_code, reason = "only columnar files have numbers of many rows at once"))]
    fn whole_numbers(&mut self, column: usize, numbers: &[i64], missing: &mut dyn Iterator<Item = usize>) -> bool {
        let _ = (column, numbers, missing);
        false
    }
}

/// Whether a text is a missing value: empty, `?`, `.` (SAS), `NA`, `N/A`, `NaN`, `NaT`, `null`, `<NA>` in any case, `\N` (MySQL),
/// or an error of a spreadsheet such as `#N/A`. Words such as `none` and `unknown` are answers in many surveys, so they are labels.
pub(crate) fn is_missing(text: &[u8]) -> bool {
    let is_one_of = |words: &[&[u8]]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
    match text.len() {
        0 => true,
        1 => matches!(text[0], b'?' | b'.'),
        2 => text.eq_ignore_ascii_case(b"na") || text == b"\\N",
        3 => is_one_of(&[b"nan", b"n/a", b"nat"]),
        4 => is_one_of(&[b"null", b"#n/a", b"<na>"]),
        5..=7 => text[0] == b'#' && is_one_of(&[b"#null!", b"#div/0!", b"#value!", b"#ref!", b"#num!", b"#name?"]),
        _ => false,
    }
}

/// The number a text is, infinite if it says so or overflows; `None` if it is not a number.
pub(super) fn number(text: &[u8]) -> Option<f64> {
    if !text.is_empty() && text.len() <= 15 && text.iter().all(u8::is_ascii_digit) {
        let integer = text.iter().fold(0u64, |value, digit| value * 10 + u64::from(digit - b'0'));
        return Some(integer as f64);
    }
    // Texts of other lengths are not written numbers, and parsing megabytes of digits would be slow.
    if text.len() > 1000 {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse::<f64>().ok().filter(|value| !value.is_nan())
}

/// Whether a number is written with zeros before its digits, as codes are (`007`, `02139`).
pub(super) fn is_padded(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"-").or_else(|| text.strip_prefix(b"+")).unwrap_or(text);
    digits.len() > 1 && digits[0] == b'0' && digits[1].is_ascii_digit()
}

/// Whether a number is a whole one that a 64-bit float holds exactly.
pub(super) fn is_integer(value: f64) -> bool {
    value.fract() == 0.0 && value.abs() <= 9_007_199_254_740_992.0
}

/// The shortest text that reads back as the same number; whole numbers without a point.
pub(crate) fn number_text(value: f64) -> String {
    if is_integer(value) { format!("{}", value as i64) } else { format!("{value:?}") }
}

/// The key under which equal numbers are found: `-0` is `0`.
pub(super) fn number_key(value: f64) -> u64 {
    (value + 0.0).to_bits()
}

/// Why a number cannot be a count, if it cannot; a missing one (NaN) can.
pub(super) fn count_problem(value: f64) -> Option<String> {
    if value < 0.0 {
        Some(format!("{} is negative, but the column holds counts", number_text(value)))
    } else if value.fract().abs() > 0.0 {
        Some(format!("{} is not a whole number, but the column holds counts", number_text(value)))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_text_reads_back_as_the_same_bits() {
        for value in [0.0, -3.0, 0.1, 1e300, 5e-324, -1.5e-7, 9_007_199_254_740_992.0, 1e16, 123_456.789] {
            assert_eq!(number(number_text(value).as_bytes()), Some(value));
        }
    }

    #[test]
    fn missing_tokens_of_other_programs_are_known() {
        for text in ["", "?", ".", "NA", "n/a", "N/A", "NaN", "NaT", "null", "<NA>", "\\N", "#N/A", "#DIV/0!", "#VALUE!", "#REF!"]
        {
            assert!(is_missing(text.as_bytes()), "{text}");
        }
        for text in ["-", "none", "None", "missing", "unknown", "0", "..", "\\n", "#1", "#12345", "nay"] {
            assert!(!is_missing(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn a_missing_value_is_no_problem_of_a_count() {
        assert_eq!(count_problem(f64::NAN), None);
        assert_eq!(count_problem(3.0), None);
        assert!(count_problem(0.5).is_some() && count_problem(-1.0).is_some());
    }

    #[test]
    fn words_are_not_numbers_and_infinity_is() {
        for text in ["", "abc", "1_000", "0x10", "nan", "-nan", "1,5", "--1"] {
            assert_eq!(number(text.as_bytes()), None, "{text}");
        }
        assert_eq!(number(b"1e999"), Some(f64::INFINITY));
        assert_eq!(number(b"-inf"), Some(f64::NEG_INFINITY));
        assert_eq!(number(b"+.5"), Some(0.5));
    }
}
