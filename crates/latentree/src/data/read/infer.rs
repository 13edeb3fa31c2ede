//! What a column's values look like, and the kind that follows.
//!
//! | values (missing ones aside) | kind |
//! | --- | --- |
//! | all 0 or 1 (also `0.0`, `1.0`) | binary `0`, `1` |
//! | all `true` or `false`, in any case | binary `false`, `true` |
//! | whole numbers from 0 up, commonest near 0, the largest rare | count (see `histogram`) |
//! | other whole numbers, at most 12 different | categorical, labels in numeric order: the answers of a survey, coded classes |
//! | other whole numbers ≥ 0 that vary as counts do | count (see `histogram`) |
//! | numbers with decimals, at most 12 different, each ten times on average | categorical, labels in numeric order: doses, half points |
//! | other numbers: years, incomes, populations | continuous |
//! | numbers written with leading zeros (`007`), and all other text | categorical, labels in alphabetic order |
//!
//! Numbers may have decimal commas or thousands separators, all one way in a column. Left out with a warning are columns
//! without any value, dates and times of more than 12 different texts, and identifiers: text with more than 50 labels and more than one
//! for every two values, and whole numbers that hardly ever repeat and number the rows or are called an id (see `identifier`). Numbers
//! may have one symbol, such as `%` or `€`, the same in all of a column. What a user says of a column goes before all of this. The pass
//! takes memory for the labels, not for the rows.

use std::collections::HashMap;

use super::cell::{Cell, is_integer, is_missing, is_padded, number, number_key, number_text};
use super::date::is_date;
use super::distinct::DistinctSample;
use super::encoding::not_utf8;
use super::histogram::{Look, look, varies_as_counts};
use super::identifier::{WholeNumbers, is_no_name};
use super::nearly::nearly_numbers;
use super::options::KindOverride;
use super::rare::join_rare;
use super::resolution::resolution;
use super::sentinel::Sentinels;
use super::signed_number::{Symbols, unsigned};
use super::told::told;
use super::written_number::{self, Commas};
use crate::data::Kind;
use crate::error::Shortened;

#[cfg(feature = "columnar")]
mod merge;
mod oddities;

#[cfg(feature = "columnar")]
pub(super) use merge::StoredProfile;

/// Most different whole numbers that are taken as categories.
const CATEGORY_LIMIT: usize = 12;
/// Fewest cells for each different number with decimals, if the numbers are taken as categories.
const CELLS_OF_A_NUMBER: u64 = 10;
/// Most different numbers that are kept in case a text comes later and makes the column one of labels.
const NUMBER_LIMIT: usize = 1000;
/// Most labels a column may have.
const LABEL_LIMIT: usize = 1 << 16;
/// Fewest labels that make an identifier.
const IDENTIFIER_LABELS: usize = 50;

/// Fewest dates among the different texts of a column of dates, as a share.
const NEARLY_ALL: f64 = 0.9;
/// Words looked at before a column without dates is taken as one of other texts.
const FIRST_WORDS: u64 = 200;
/// Length of a text that is no name of a category, on average.
const LONG_TEXT: usize = 30;

/// The settings of a profile.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Asked {
    /// What the user said of the column.
    pub(super) told: Option<KindOverride>,
    /// Labels that occur less often are joined.
    pub(super) min_count: u64,
    /// Whether `1,234` is 1.234 where nothing tells.
    pub(super) prefers_comma: bool,
    /// Whether it is the first column and the header gives it no name.
    pub(super) is_unnamed: bool,
}

/// Statistics of the values of one column.
#[derive(Debug)]
pub(super) struct Profile {
    asked: Asked,
    /// Number of cells with a value.
    n_values: u64,
    /// One-byte texts seen, with their frequencies.
    singles: Box<[u32]>,
    /// Longer texts seen, with their frequencies.
    texts: HashMap<Box<[u8]>, u64>,
    last: Vec<u8>,
    /// How often the last text came again without being counted yet.
    repeats: u64,
    /// Numbers seen in a file that stores numbers, with their frequencies.
    numbers: HashMap<u64, u64>,
    bools: [u64; 2],
    longer_are_numbers: bool,
    commas: Commas,
    all_integers: bool,
    /// Whether all are whole numbers if commas are decimal.
    all_comma_integers: bool,
    any_negative: bool,
    any_padded: bool,
    infinite_row: Option<u64>,
    /// Smallest and largest number.
    range: (f64, f64),
    /// There were too many numbers to keep; they are sampled.
    many_numbers: bool,
    sample: DistinctSample,
    /// There were too many labels to keep.
    many_labels: bool,
    /// How many of the different texts that are not numbers were looked at, and how many of them are dates or times.
    n_words: u64,
    n_dates: u64,
    /// The values are 1, 2, 3, … or another run of whole numbers, as long as this holds.
    run: Option<f64>,
    /// Every value is a number larger than the one above it, as long as this holds.
    order: Option<f64>,
    /// All numbers are whole, those that a 64-bit float does not hold exactly among them.
    all_whole: bool,
    symbols: Symbols,
    /// Numbers that may stand for missing values, if there are too many numbers to keep.
    sentinels: Sentinels,
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
    pub(super) fn new(asked: Asked) -> Self {
        Self {
            asked,
            n_values: 0,
            singles: Box::default(),
            texts: HashMap::new(),
            last: Vec::new(),
            repeats: 0,
            numbers: HashMap::new(),
            bools: [0; 2],
            longer_are_numbers: true,
            commas: Commas::default(),
            all_integers: true,
            all_comma_integers: true,
            any_negative: false,
            any_padded: false,
            infinite_row: None,
            range: (f64::INFINITY, f64::NEG_INFINITY),
            many_numbers: false,
            sample: DistinctSample::default(),
            many_labels: false,
            n_words: 0,
            n_dates: 0,
            run: Some(f64::NAN),
            order: Some(f64::NAN),
            all_whole: true,
            symbols: Symbols::default(),
            sentinels: Sentinels::default(),
        }
    }

    /// Takes one cell in.
    #[inline]
    pub(super) fn observe(&mut self, row: u64, cell: Cell<'_>) -> Result<(), String> {
        match cell {
            Cell::Text(&[byte]) if byte.is_ascii() && byte != b'?' => {
                self.n_values += 1;
                if self.singles.is_empty() {
                    self.singles = vec![0; 128].into_boxed_slice();
                }
                let count = &mut self.singles[usize::from(byte)];
                *count = count.saturating_add(1);
                if self.order.is_some() || self.many_numbers {
                    self.observe_single(byte)?;
                }
                Ok(())
            }
            Cell::Text(text) if text == self.last.as_slice() && !text.is_empty() => {
                self.n_values += 1;
                self.repeats += 1;
                self.end_order();
                Ok(())
            }
            Cell::Text(text) if is_missing(text) => Ok(()),
            Cell::Text(text) => self.observe_text(row, text),
            Cell::Missing => Ok(()),
            Cell::Number(value) if value.is_nan() => Ok(()),
            Cell::Number(value) => self.observe_number(row, value),
            Cell::Bool(value) => {
                self.n_values += 1;
                self.bools[usize::from(value)] += 1;
                self.end_order();
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
        self.end_order();
        if self.many_numbers { Err(late_text(&[byte])) } else { Ok(()) }
    }

    /// Counts the last text as often as it came again.
    fn count_repeats(&mut self) {
        if let (1.., Some(count)) = (self.repeats, self.texts.get_mut(self.last.as_slice())) {
            *count += self.repeats;
        } else if let (1.., true, Some(value)) = (self.repeats, self.many_numbers, self.value(&self.last)) {
            self.add_many(value, self.repeats);
        }
        self.repeats = 0;
    }

    fn observe_text(&mut self, row: u64, text: &[u8]) -> Result<(), String> {
        self.n_values += 1;
        self.count_repeats();
        self.last.clear();
        self.last.extend_from_slice(text);
        if self.many_labels {
            return Ok(());
        }
        if let Some(count) = self.texts.get_mut(text) {
            *count += 1;
            self.end_order();
            return Ok(());
        }
        if std::str::from_utf8(text).is_err() {
            return Err(not_utf8(text));
        }
        match number(text) {
            Some(value) => {
                self.any_padded |= is_padded(text);
                self.note_number(row, value);
                self.all_whole &= is_integer(value) || (text.len() > 15 && text.iter().all(u8::is_ascii_digit));
                self.symbols.observe_plain(value);
                self.note_point(text, value);
            }
            None => self.observe_word(row, text)?,
        }
        if self.many_numbers {
            if self.commas.are_mixed() {
                return Err(mixed_numbers(text));
            }
            if let Some(value) = self.value(text) {
                self.add_many(value, 1);
            }
            return Ok(());
        }
        self.texts.insert(text.into(), 1);
        let n_labels = self.texts.len();
        let keeps_labels = self.asked.told == Some(KindOverride::Categorical);
        if n_labels > NUMBER_LIMIT && self.is_numeric() && !keeps_labels && !self.any_padded {
            self.many_numbers = true;
            let texts = std::mem::take(&mut self.texts);
            let values: Vec<_> = texts.iter().filter_map(|(text, &count)| Some((self.value(text)?, count))).collect();
            values.into_iter().for_each(|(value, count)| self.add_many(value, count));
        } else if n_labels > LABEL_LIMIT {
            if keeps_labels {
                return Err(too_many_labels());
            }
            self.many_labels = true;
            self.texts = HashMap::new();
        }
        Ok(())
    }

    /// Takes in what a plain number says about decimal marks.
    fn note_point(&mut self, text: &[u8], value: f64) {
        if !text.contains(&b'.') {
            self.all_comma_integers &= is_integer(value);
        } else if !self.commas.has_points() {
            self.commas.observe_plain(text);
            self.all_comma_integers &= written_number::value(text, true).is_some_and(is_integer);
        }
    }

    /// Adds a text that is not a plain number.
    fn observe_word(&mut self, row: u64, text: &[u8]) -> Result<(), String> {
        let number = unsigned(text);
        let bare = number.map_or(text, |it| it.text);
        let written = written_number::written(bare);
        let is_number = written.is_some() || number.is_some_and(|it| super::cell::number(it.text).is_some());
        if !is_number {
            if self.many_numbers {
                return Err(late_text(text));
            }
            self.end_order();
            self.longer_are_numbers = false;
            if self.n_words < FIRST_WORDS || 2 * self.n_dates > self.n_words {
                self.n_words += 1;
                self.n_dates += u64::from(is_date(text));
            }
            return Ok(());
        }
        match number {
            Some(number) => self.symbols.observe(number),
            None => self.symbols.observe_plain(f64::NAN),
        }
        match written {
            Some(written) => self.commas.observe(written),
            None => self.commas.observe_plain(bare),
        }
        let value = |decimal_comma| {
            let value = written_number::value(bare, decimal_comma)?;
            Some(number.map_or(value, |it| it.signed(value)))
        };
        let (comma, point) = (value(true), value(false));
        self.all_comma_integers &= comma.is_none_or(is_integer);
        self.all_whole &= point.is_none_or(is_integer) && comma.is_none_or(is_integer);
        let all_integers = self.all_integers && point.is_none_or(is_integer);
        if let Some(value) = point.or(comma) {
            self.note_number(row, value);
        }
        self.all_integers = all_integers;
        Ok(())
    }

    /// Takes in a number of a column that has too many to keep.
    fn add_many(&mut self, value: f64, count: u64) {
        self.sample.add(value, count);
        self.sentinels.add(value, count);
    }

    fn observe_number(&mut self, row: u64, value: f64) -> Result<(), String> {
        self.n_values += 1;
        self.note_number(row, value);
        self.all_whole &= is_integer(value) || is_long_whole(value);
        self.all_comma_integers &= is_integer(value);
        if self.many_numbers {
            self.add_many(value, 1);
            return Ok(());
        }
        *self.numbers.entry(number_key(value)).or_insert(0) += 1;
        let keeps_labels = self.asked.told == Some(KindOverride::Categorical);
        if self.numbers.len() > if keeps_labels { LABEL_LIMIT } else { NUMBER_LIMIT } {
            if keeps_labels {
                return Err(too_many_labels());
            }
            self.many_numbers = true;
            let numbers = std::mem::take(&mut self.numbers);
            numbers.into_iter().for_each(|(bits, count)| self.add_many(f64::from_bits(bits), count));
        }
        Ok(())
    }

    fn note_number(&mut self, row: u64, value: f64) {
        if value.is_infinite() && self.infinite_row.is_none() {
            self.infinite_row = Some(row);
        }
        self.all_integers &= is_integer(value);
        self.any_negative |= value < 0.0;
        self.range = (self.range.0.min(value), self.range.1.max(value));
        self.follow_run(value);
    }

    fn follow_run(&mut self, value: f64) {
        self.run = self.run.filter(|last| last.is_nan() || value == last + 1.0).map(|_| value);
        self.order = self.order.filter(|last| last.is_nan() || value > *last).map(|_| value);
    }

    fn end_order(&mut self) {
        self.run = None;
        self.order = None;
    }

    /// How the column's numbers are written, where some are not plain: whether with decimal commas.
    pub(super) fn decimal_comma(&self) -> Option<bool> {
        (self.commas.any() && self.is_numeric()).then(|| self.commas.decimal_comma(self.asked.prefers_comma))
    }

    /// The number that a text of the column is.
    fn value(&self, text: &[u8]) -> Option<f64> {
        let bare = unsigned(text).filter(|_| self.symbols.any());
        let plain = bare.map_or(text, |it| it.text);
        let value = match self.decimal_comma() {
            None => number(plain),
            Some(decimal_comma) => written_number::value(plain, decimal_comma),
        };
        value.map(|value| bare.map_or(value, |it| it.signed(value)))
    }

    /// Whether every value so far is a number.
    fn is_numeric(&self) -> bool {
        let digits_only = || self.single_bytes().all(|byte| byte.is_ascii_digit());
        self.longer_are_numbers && self.bools == [0, 0] && !self.commas.are_mixed() && digits_only() && self.symbols_agree()
    }

    /// Whether numbers with symbols have the same one. A few of them are labels, such as rates of tax.
    fn symbols_agree(&self) -> bool {
        let are_many = || self.many_numbers || self.texts.len() > CATEGORY_LIMIT;
        let any_plain = || self.single_bytes().any(|byte| byte != b'0');
        !self.symbols.any() || (are_many() && self.symbols.agree(any_plain()))
    }

    fn single_bytes(&self) -> impl Iterator<Item = u8> {
        (0..128_u8).zip(&self.singles).filter(|(_, count)| **count > 0).map(|(byte, _)| byte)
    }

    /// The different texts, in alphabetic order, with their frequencies.
    fn labels(&self) -> Vec<(String, u64)> {
        let singles = self.single_bytes().map(|byte| (char::from(byte).to_string(), u64::from(self.singles[usize::from(byte)])));
        let texts = self.texts.iter().map(|(text, &count)| {
            let text = String::from_utf8(text.to_vec()).expect("texts were checked to be UTF-8");
            (text, count)
        });
        let numbers = self.numbers.iter().map(|(&bits, &count)| (number_text(f64::from_bits(bits)), count));
        let bools = ["false", "true"].into_iter().zip(self.bools).filter(|(_, count)| *count > 0);
        let bools = bools.map(|(name, count)| (name.to_owned(), count));
        let mut labels: Vec<(String, u64)> = singles.chain(texts).chain(numbers).chain(bools).collect();
        labels.sort_unstable();
        add_up(&mut labels, |a, b| a == b);
        labels
    }

    /// The different numbers, in order, with their frequencies.
    fn values(&self) -> Vec<(f64, u64)> {
        let labels = self.labels();
        let values = labels.iter().filter_map(|(label, count)| self.value(label.as_bytes()).map(|value| (value, *count)));
        let mut values: Vec<(f64, u64)> = values.collect();
        values.sort_by(|a, b| a.0.total_cmp(&b.0));
        add_up(&mut values, |a, b| a == b);
        values
    }

    /// How finely numbers were recorded.
    pub(super) fn resolution(&self) -> Option<f64> {
        if self.many_numbers || !self.is_numeric() {
            return None;
        }
        let values: Vec<f64> = self.values().into_iter().map(|it| it.0).collect();
        resolution(&values)
    }

    /// Labels of the column as categories: numbers in numeric order, whole numbers without a decimal point.
    fn categories(&self) -> Vec<(String, u64)> {
        if self.is_numeric() && !self.any_padded {
            self.values().into_iter().map(|(value, count)| (number_text(value), count)).collect()
        } else {
            self.labels()
        }
    }

    /// Whether the values are true and false, in any case.
    fn is_logical(&self) -> bool {
        let labels = if self.texts.len() > 6 { return false } else { self.labels() };
        labels.iter().all(|(label, _)| label.eq_ignore_ascii_case("true") || label.eq_ignore_ascii_case("false"))
    }

    /// A text of the column, for messages; the first in alphabetic order.
    fn example(&self) -> &[u8] {
        self.texts.keys().min().map_or(&self.last, |text| text)
    }

    /// Whether nearly all different texts are dates or times.
    fn holds_dates(&self) -> bool {
        let n_labels = if self.many_labels { 0 } else { self.texts.len() + self.single_bytes().count() };
        self.n_dates > 0 && self.n_dates as f64 >= NEARLY_ALL * self.n_words.max(n_labels as u64) as f64
    }

    /// Whether values that are taken as labels may be counts.
    pub(super) fn perhaps_counts(&self) -> bool {
        if self.n_values == 0 || self.many_numbers || self.any_padded || !self.all_integers || !self.is_numeric() {
            return false;
        }
        let values = self.values();
        values.len() <= CATEGORY_LIMIT && look(&values) == Look::PerhapsCounts
    }

    /// The kind by the rules of this module, or by what the user said. The note says which labels were joined.
    pub(super) fn guess(&mut self, name: &str) -> (Guess, Option<String>) {
        self.count_repeats();
        let guess = self.guess_kind(name);
        match guess {
            Guess::Kind(Kind::Categorical { labels }) if self.asked.min_count > 1 => {
                let counts: HashMap<String, u64> = self.categories().into_iter().collect();
                let counted = labels.into_iter().map(|label| (counts.get(&label).copied().unwrap_or(0), label)).collect();
                match join_rare(counted, self.asked.min_count) {
                    Ok((labels, note)) => (Guess::Kind(Kind::Categorical { labels }), note),
                    Err(reason) => (Guess::Leave(reason), None),
                }
            }
            guess => (guess, None),
        }
    }

    fn guess_kind(&self, name: &str) -> Guess {
        let numeric = self.is_numeric();
        match self.asked.told {
            _ if self.n_values == 0 => Guess::Leave("it has no values".to_owned()),
            Some(KindOverride::Ignore) => Guess::Leave("its kind is ignore".to_owned()),
            Some(KindOverride::Continuous) => Guess::Kind(Kind::Continuous),
            Some(KindOverride::Count) => Guess::Kind(Kind::Count),
            Some(KindOverride::Categorical) => categorical(self.categories()),
            Some(KindOverride::Binary) => self.binary(),
            None if numeric && self.infinite_row.is_some() => {
                Guess::Problem(self.infinite_row, "the number is infinite; write missing values as an empty field".to_owned())
            }
            None if self.numbers_rows(name) => Guess::Leave(format!("it numbers the rows; {}", if_variable(name))),
            None if self.many_numbers || (numeric && !self.any_padded) => match self.numeric_kind() {
                Kind::Count | Kind::Continuous if self.numbers_identify(name) => {
                    let (least, largest) = self.whole_range();
                    let range = if largest < 1e15 {
                        format!("from {} to {}", number_text(least), number_text(largest))
                    } else {
                        format!("of up to {} digits", largest.log10().floor() + 1.0)
                    };
                    Guess::Leave(format!(
                        "it looks like an identifier (whole numbers {range} that hardly ever repeat); {}",
                        if_variable(name)
                    ))
                }
                kind => Guess::Kind(kind),
            },
            None if !self.many_labels && self.is_logical() => Guess::Kind(logical()),
            None => self.text_kind(name),
        }
    }

    fn text_kind(&self, name: &str) -> Guess {
        let labels = if self.many_labels { Vec::new() } else { self.labels() };
        let is_identifier = labels.len() > IDENTIFIER_LABELS && labels.len() as u64 > self.n_values / 2;
        let are_dates = self.holds_dates() && (self.many_labels || labels.len() > CATEGORY_LIMIT);
        if !self.many_labels && !are_dates && (!is_identifier || self.asked.min_count > 1) {
            return categorical(labels);
        }
        let example = String::from_utf8_lossy(self.example());
        let example = Shortened(&example);
        let n_labels = if self.many_labels { format!("over {LABEL_LIMIT}") } else { labels.len().to_string() };
        Guess::Leave(if are_dates {
            format!("it holds dates or times ({example:?}); to use them write numbers, such as days or years")
        } else if self.commas.are_mixed() && self.longer_are_numbers {
            format!("it has numbers with decimal commas and with decimal points ({example:?}); write them all the same way")
        } else if let Some(problem) = nearly_numbers(&labels, name) {
            problem
        } else {
            let what = if are_sentences(&labels) { "free text" } else { "an identifier" };
            format!("it looks like {what} ({n_labels} different labels in {} cells); {}", self.n_values, if_variable(name))
        })
    }

    /// The smallest and the largest number, those of one digit among them.
    fn whole_range(&self) -> (f64, f64) {
        let digits = self.single_bytes().filter(u8::is_ascii_digit).map(|byte| f64::from(byte - b'0'));
        digits.fold(self.range, |(least, largest), digit| (least.min(digit), largest.max(digit)))
    }

    /// Whether the column is the index that other programs write before a table: no name, and 0, 1, 2, … or 1, 2, 3, ….
    fn numbers_rows(&self, name: &str) -> bool {
        let is_index = |last: f64| last == self.n_values as f64 || last + 1.0 == self.n_values as f64;
        self.n_values > 1 && (self.asked.is_unnamed || is_no_name(name)) && self.run.is_some_and(is_index)
    }

    /// Whether whole numbers name rows rather than count or measure something.
    fn numbers_identify(&self, name: &str) -> bool {
        // Identifiers have no units and no thousands separators.
        let is_amount = self.symbols.any() || self.decimal_comma() == Some(false);
        let few = self.n_values <= IDENTIFIER_LABELS as u64;
        if few || is_amount || self.any_negative || !(self.all_whole || self.whole_numbers()) {
            return false;
        }
        let values = if self.many_numbers { self.sample.values() } else { self.values() };
        let (least, largest) = self.whole_range();
        let increase = self.order.is_some();
        WholeNumbers { n_values: self.n_values, values: &values, least, largest, increase }.identify(name)
    }

    /// Whether all numbers are whole and none is negative.
    fn whole_numbers(&self) -> bool {
        let all_integers = if self.decimal_comma() == Some(true) { self.all_comma_integers } else { self.all_integers };
        all_integers && !self.any_negative
    }

    fn numeric_kind(&self) -> Kind {
        let all_integers = if self.decimal_comma() == Some(true) { self.all_comma_integers } else { self.all_integers };
        if !self.many_numbers {
            let values = self.values();
            if values.iter().all(|&(value, _)| value == 0.0 || value == 1.0) {
                return Kind::binary();
            }
            // Normal densities would describe a few numbers that repeat by narrow peaks.
            let repeat = self.n_values >= CELLS_OF_A_NUMBER * values.len() as u64;
            let are_few = values.len() <= CATEGORY_LIMIT && if all_integers { look(&values) != Look::Counts } else { repeat };
            if are_few {
                return Kind::Categorical { labels: self.categories().into_iter().map(|(label, _)| label).collect() };
            }
        }
        // More different values than are kept are no counts that a rate could explain.
        if self.whole_numbers() && !self.many_numbers && varies_as_counts(&self.values()) {
            Kind::Count
        } else {
            Kind::Continuous
        }
    }

    /// Whether the kind binary counts numbers other than 1 as 1.
    pub(super) fn is_binarised(&self) -> bool {
        let are_other = || self.many_numbers || self.values().iter().any(|&(value, _)| value != 0.0 && value != 1.0);
        matches!(self.binary(), Guess::Kind(kind) if kind == Kind::binary()) && self.is_numeric() && are_other()
    }

    fn binary(&self) -> Guess {
        if !self.many_numbers && !self.many_labels {
            let values = self.values();
            if self.is_logical() {
                return Guess::Kind(logical());
            }
            let labels: Vec<String> = self.categories().into_iter().map(|(label, _)| label).collect();
            let has_zero = self.is_numeric() && values.first().is_some_and(|&(value, _)| value == 0.0);
            if let (false, Ok(labels)) = (has_zero, <[String; 2]>::try_from(labels)) {
                return Guess::Kind(Kind::Binary { labels });
            }
        }
        if self.is_numeric() && !self.any_negative {
            return Guess::Kind(Kind::binary());
        }
        Guess::Problem(None, "the column should be binary, but has neither two labels nor numbers from 0 up".to_owned())
    }
}

/// Adds up the frequencies of neighbours that are the same.
fn add_up<T>(counted: &mut Vec<(T, u64)>, is_same: impl Fn(&T, &T) -> bool) {
    counted.dedup_by(|later, kept| {
        let same = is_same(&later.0, &kept.0);
        if same {
            kept.1 += later.1;
        }
        same
    });
}

fn categorical(labels: Vec<(String, u64)>) -> Guess {
    Guess::Kind(Kind::Categorical { labels: labels.into_iter().map(|(label, _)| label).collect() })
}

/// Whether most labels are long and have words in them.
fn are_sentences(labels: &[(String, u64)]) -> bool {
    labels.iter().map(|it| it.0.len()).sum::<usize>() > LONG_TEXT * labels.len()
        && 2 * labels.iter().filter(|it| it.0.contains(' ')).count() > labels.len()
}

/// How to keep a column that is left out.
fn if_variable(name: &str) -> String {
    format!("if it is a variable, say which kind ({})", told(name, "KIND"))
}

/// Whether a number of a file that stores numbers is a whole one of up to 64 bits, be it rounded.
fn is_long_whole(value: f64) -> bool {
    value.fract() == 0.0 && (0.0..2e19).contains(&value)
}

fn logical() -> Kind {
    Kind::Binary { labels: ["false".to_owned(), "true".to_owned()] }
}

fn mixed_numbers(text: &[u8]) -> String {
    let shown = String::from_utf8_lossy(text);
    format!("{:?} has another decimal mark than the numbers above it; write them all the same way", Shortened(&shown))
}

fn late_text(text: &[u8]) -> String {
    let shown = String::from_utf8_lossy(text);
    format!(
        "{:?} is not a number, but the many values above it are; correct it, write a missing value as an empty field, or \
         say what the column is (`read.kind` NAME=categorical or NAME=ignore)",
        Shortened(&shown)
    )
}

fn too_many_labels() -> String {
    format!("the column has over {LABEL_LIMIT} labels, which is more than a categorical column may have")
}
