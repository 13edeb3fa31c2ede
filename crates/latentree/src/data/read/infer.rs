//! What a column's values look like, and the kind that follows.
//!
//! | values (missing ones aside) | kind |
//! | --- | --- |
//! | all 0 or 1 (also `0.0`, `1.0`) | binary `0`, `1` |
//! | all `true` or `false`, in any case | binary `false`, `true` |
//! | whole numbers, at most 12 different | categorical, labels in numeric order: the answers of a survey, coded classes |
//! | other whole numbers ≥ 0 | count |
//! | other numbers | continuous |
//! | numbers written with leading zeros (`007`), and all other text | categorical, labels in alphabetic order |
//!
//! A text column with more than 50 labels, and more than one for every two rows, is an identifier or a date, not a
//! variable; it is left out with a warning, and so is a column without any value. What a user says of a column goes before
//! all of this. The pass takes memory for the labels, not for the rows.

use std::collections::HashSet;

use super::cell::{Cell, is_integer, is_missing, is_padded, number, number_key, number_text};
use super::options::KindOverride;
use crate::data::Kind;
use crate::error::Shortened;

/// Most different whole numbers that are taken as categories.
const CATEGORY_LIMIT: usize = 12;
/// Most different numbers that are kept in case a text comes later and makes the column one of labels.
const NUMBER_LIMIT: usize = 1000;
/// Most labels a column may have.
const LABEL_LIMIT: usize = 1 << 16;
/// Fewest labels that make an identifier.
const IDENTIFIER_LABELS: usize = 50;

/// What is known about the values of one column.
#[derive(Debug)]
pub(super) struct Profile {
    /// Number of cells with a value.
    n_values: u64,
    /// One-byte texts seen, a bit for each.
    singles: u128,
    /// Longer texts seen.
    texts: HashSet<Box<[u8]>>,
    last: Vec<u8>,
    /// Numbers seen in a file that stores numbers.
    numbers: HashSet<u64>,
    bools: [bool; 2],
    longer_are_numbers: bool,
    all_integers: bool,
    any_negative: bool,
    any_padded: bool,
    infinite_row: Option<u64>,
    /// There were too many numbers to keep.
    many_numbers: bool,
    /// There were too many labels to keep.
    many_labels: bool,
    keeps_labels: bool,
    /// The values are 1, 2, 3, … or another run of whole numbers, as long as this holds.
    run: Option<f64>,
}

/// What a column turns out to be.
#[derive(Debug, PartialEq)]
pub(super) enum Guess {
    Kind(Kind),
    /// The column is not a variable, with the reason.
    Leave(String),
    /// The column cannot be used, with the row if one is to blame.
    Problem(Option<u64>, String),
}

impl Profile {
    /// A profile for a column of which the user said `told`.
    pub(super) fn new(told: Option<KindOverride>) -> Self {
        Self {
            n_values: 0,
            singles: 0,
            texts: HashSet::new(),
            last: Vec::new(),
            numbers: HashSet::new(),
            bools: [false; 2],
            longer_are_numbers: true,
            all_integers: true,
            any_negative: false,
            any_padded: false,
            infinite_row: None,
            many_numbers: false,
            many_labels: false,
            keeps_labels: told == Some(KindOverride::Categorical),
            run: Some(f64::NAN),
        }
    }

    /// Takes one cell in.
    #[inline]
    pub(super) fn observe(&mut self, row: u64, cell: Cell<'_>) -> Result<(), String> {
        match cell {
            Cell::Text(&[byte]) if byte.is_ascii() && byte != b'?' => {
                self.n_values += 1;
                self.singles |= 1 << byte;
                if self.run.is_some() || self.many_numbers {
                    self.observe_single(byte)?;
                }
                Ok(())
            }
            Cell::Text(text) if text == self.last.as_slice() && !text.is_empty() => {
                self.n_values += 1;
                self.run = None;
                Ok(())
            }
            Cell::Text(text) if is_missing(text) => Ok(()),
            Cell::Text(text) => self.observe_text(row, text),
            Cell::Missing => Ok(()),
            Cell::Number(value) if value.is_nan() => Ok(()),
            Cell::Number(value) => self.observe_number(row, value),
            Cell::Bool(value) => {
                self.n_values += 1;
                self.run = None;
                self.bools[usize::from(value)] = true;
                Ok(())
            }
        }
    }

    #[cold]
    fn observe_single(&mut self, byte: u8) -> Result<(), String> {
        if byte.is_ascii_digit() {
            self.follow_run(f64::from(byte - b'0'));
            return Ok(());
        }
        self.run = None;
        if self.many_numbers { Err(late_text(&[byte])) } else { Ok(()) }
    }

    fn observe_text(&mut self, row: u64, text: &[u8]) -> Result<(), String> {
        self.n_values += 1;
        self.last.clear();
        self.last.extend_from_slice(text);
        if self.many_labels || (!self.many_numbers && self.texts.contains(text)) {
            self.run = None;
            return Ok(());
        }
        let Ok(readable) = std::str::from_utf8(text) else {
            let shown = String::from_utf8_lossy(text);
            return Err(format!("{:?} is not UTF-8 text; save the file as UTF-8", Shortened(&shown)));
        };
        match number(text) {
            Some(value) => {
                self.any_padded |= is_padded(text);
                self.note_number(row, value);
            }
            None if self.many_numbers => return Err(late_text(text)),
            None => {
                self.run = None;
                self.longer_are_numbers = false;
            }
        }
        if self.many_numbers {
            return Ok(());
        }
        self.texts.insert(readable.as_bytes().into());
        let n_labels = self.texts.len();
        if n_labels > NUMBER_LIMIT && self.is_numeric() && !self.keeps_labels && !self.any_padded {
            self.many_numbers = true;
            self.texts = HashSet::new();
        } else if n_labels > LABEL_LIMIT {
            if self.keeps_labels {
                return Err(too_many_labels());
            }
            self.many_labels = true;
            self.texts = HashSet::new();
        }
        Ok(())
    }

    fn observe_number(&mut self, row: u64, value: f64) -> Result<(), String> {
        self.n_values += 1;
        self.note_number(row, value);
        if !self.many_numbers && self.numbers.insert(number_key(value)) {
            let limit = if self.keeps_labels { LABEL_LIMIT } else { NUMBER_LIMIT };
            if self.numbers.len() > limit {
                if self.keeps_labels {
                    return Err(too_many_labels());
                }
                self.many_numbers = true;
                self.numbers = HashSet::new();
            }
        }
        Ok(())
    }

    fn note_number(&mut self, row: u64, value: f64) {
        if value.is_infinite() && self.infinite_row.is_none() {
            self.infinite_row = Some(row);
        }
        self.all_integers &= is_integer(value);
        self.any_negative |= value < 0.0;
        self.follow_run(value);
    }

    fn follow_run(&mut self, value: f64) {
        self.run = self.run.filter(|last| last.is_nan() || value == last + 1.0).map(|_| value);
    }

    /// Whether every value so far is a number.
    fn is_numeric(&self) -> bool {
        let digits: u128 = (b'0'..=b'9').fold(0, |mask, digit| mask | 1 << digit);
        self.longer_are_numbers && self.singles & !digits == 0 && !self.bools[0] && !self.bools[1]
    }

    /// The different texts, in alphabetic order.
    fn labels(&self) -> Vec<String> {
        let singles = (0..128u8).filter(|&byte| self.singles >> byte & 1 == 1).map(|byte| char::from(byte).to_string());
        let texts = self.texts.iter().map(|text| String::from_utf8(text.to_vec()).expect("texts were checked to be UTF-8"));
        let numbers = self.numbers.iter().map(|&bits| number_text(f64::from_bits(bits)));
        let bools = ["false", "true"].into_iter().zip(self.bools).filter(|(_, seen)| *seen).map(|(name, _)| name.to_owned());
        let mut labels: Vec<String> = singles.chain(texts).chain(numbers).chain(bools).collect();
        labels.sort_unstable();
        labels.dedup();
        labels
    }

    /// The different numbers, in order.
    fn values(&self) -> Vec<f64> {
        let mut values: Vec<f64> = self.labels().iter().filter_map(|label| number(label.as_bytes())).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        values
    }

    /// Labels of the column as categories: numbers in numeric order, without a point where they are whole.
    fn categories(&self) -> Vec<String> {
        if self.is_numeric() && !self.any_padded { self.values().into_iter().map(number_text).collect() } else { self.labels() }
    }

    /// Whether the values are true and false, in any case.
    fn is_logical(&self) -> bool {
        let labels = if self.texts.len() > 6 { return false } else { self.labels() };
        labels.iter().all(|label| label.eq_ignore_ascii_case("true") || label.eq_ignore_ascii_case("false"))
    }

    /// A warning about values that are usable but look odd.
    pub(super) fn oddity(&self, n_rows: u64) -> Option<&'static str> {
        let is_run = self.run.is_some() && self.n_values == n_rows && n_rows > IDENTIFIER_LABELS as u64;
        is_run.then_some("counts the rows up by one; if it is a row number, leave it out (kind ignore)")
    }

    /// The kind by the rules of this module, or by what the user said.
    pub(super) fn guess(&self, n_rows: u64, told: Option<KindOverride>) -> Guess {
        let numeric = self.is_numeric();
        match told {
            _ if self.n_values == 0 => Guess::Leave("it has no values".to_owned()),
            Some(KindOverride::Ignore) => Guess::Leave("it is to be ignored".to_owned()),
            Some(KindOverride::Continuous) => Guess::Kind(Kind::Continuous),
            Some(KindOverride::Count) => Guess::Kind(Kind::Count),
            Some(KindOverride::Categorical) => Guess::Kind(Kind::Categorical { labels: self.categories() }),
            Some(KindOverride::Binary) => self.binary(),
            None if numeric && self.infinite_row.is_some() => {
                Guess::Problem(self.infinite_row, "the number is infinite; write missing values as an empty field".to_owned())
            }
            None if self.many_numbers || (numeric && !self.any_padded) => Guess::Kind(self.numeric_kind()),
            None if !self.many_labels && self.is_logical() => Guess::Kind(logical()),
            None => {
                let labels = if self.many_labels { Vec::new() } else { self.labels() };
                let is_identifier = labels.len() > IDENTIFIER_LABELS && labels.len() as u64 > n_rows / 2;
                if self.many_labels || is_identifier {
                    let n_labels = if self.many_labels { format!("over {LABEL_LIMIT}") } else { labels.len().to_string() };
                    let reason = format!("{n_labels} different labels in {n_rows} rows make it an identifier or a date");
                    return Guess::Leave(reason);
                }
                Guess::Kind(Kind::Categorical { labels })
            }
        }
    }

    fn numeric_kind(&self) -> Kind {
        if !self.many_numbers {
            let values = self.values();
            if values.iter().all(|&value| value == 0.0 || value == 1.0) {
                return Kind::binary();
            }
            if self.all_integers && values.len() <= CATEGORY_LIMIT {
                return Kind::Categorical { labels: self.categories() };
            }
        }
        if self.all_integers && !self.any_negative { Kind::Count } else { Kind::Continuous }
    }

    fn binary(&self) -> Guess {
        if !self.many_numbers && !self.many_labels {
            let values = self.values();
            if self.is_logical() {
                return Guess::Kind(logical());
            }
            let labels = self.categories();
            let has_zero = self.is_numeric() && values.first() == Some(&0.0);
            if let (false, Ok(labels)) = (has_zero, <[String; 2]>::try_from(labels)) {
                return Guess::Kind(Kind::Binary { labels });
            }
        }
        if self.is_numeric() && !self.any_negative {
            return Guess::Kind(Kind::binary());
        }
        Guess::Problem(None, "the column is to be binary, but has neither two labels nor numbers from 0 up".to_owned())
    }
}

fn logical() -> Kind {
    Kind::Binary { labels: ["false".to_owned(), "true".to_owned()] }
}

fn late_text(text: &[u8]) -> String {
    let shown = String::from_utf8_lossy(text);
    format!(
        "{:?} is not a number, but the many values above it are; correct it, write a missing value as an empty field, or \
         give the column the kind categorical or ignore",
        Shortened(&shown)
    )
}

fn too_many_labels() -> String {
    format!("the column has over {LABEL_LIMIT} labels, which is more than a categorical column may have")
}
