//! What a column's values look like, and the kind that follows.
//!
//! | values (missing ones aside) | kind |
//! | --- | --- |
//! | all 0 or 1 (also `0.0`, `1.0`) | binary `0`, `1` |
//! | all `true` or `false`, in any case | binary `false`, `true` |
//! | whole numbers from 0 up, commonest near 0, the largest rare | count (see `histogram`) |
//! | other whole numbers, at most 12 different | categorical, labels in numeric order: the answers of a survey, coded classes |
//! | other whole numbers ≥ 0 that vary as counts do | count (see `histogram`) |
//! | other numbers: years, incomes, populations | continuous |
//! | numbers written with leading zeros (`007`), and all other text | categorical, labels in alphabetic order |
//!
//! Numbers may have decimal commas or thousands separators, all one way in a column. Left out with a warning are columns
//! without any value, and identifiers: text with more than 50 labels and more than one for every two rows, and whole numbers
//! that hardly ever repeat and number the rows, have many digits each, or are called an id. What a user says of a column
//! goes before all of this. The pass takes memory for the labels, not for the rows.

use std::collections::HashMap;

use super::cell::{Cell, is_integer, is_missing, is_padded, number, number_key, number_text};
use super::date::is_date;
use super::distinct::DistinctSample;
use super::encoding::not_utf8;
use super::histogram::{Look, look, varies_as_counts};
use super::options::KindOverride;
use super::rare::join_rare;
use super::resolution::resolution;
use super::written_number::{self, Commas};
use crate::data::Kind;
use crate::error::Shortened;

#[cfg(feature = "columnar")]
mod merge;

#[cfg(feature = "columnar")]
pub(super) use merge::StoredProfile;

/// Most different whole numbers that are taken as categories.
const CATEGORY_LIMIT: usize = 12;
/// Most different numbers that are kept in case a text comes later and makes the column one of labels.
const NUMBER_LIMIT: usize = 1000;
/// Most labels a column may have.
const LABEL_LIMIT: usize = 1 << 16;
/// Fewest labels that make an identifier.
const IDENTIFIER_LABELS: usize = 50;

/// Most often that the values of an identifier occur on average.
const IDENTIFIER_REPEATS: f64 = 1.05;

/// The settings of a profile.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Asked {
    /// What the user said of the column.
    pub(super) told: Option<KindOverride>,
    /// Labels that occur less often are joined.
    pub(super) min_count: u64,
    /// Whether `1,234` is 1.234 where nothing tells.
    pub(super) prefers_comma: bool,
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
    all_dates: bool,
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
            all_dates: true,
            run: Some(f64::NAN),
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
                if self.run.is_some() || self.many_numbers {
                    self.observe_single(byte)?;
                }
                Ok(())
            }
            Cell::Text(text) if text == self.last.as_slice() && !text.is_empty() => {
                self.n_values += 1;
                self.repeats += 1;
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
                self.bools[usize::from(value)] += 1;
                self.run = None;
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

    /// Counts the last text as often as it came again.
    fn count_repeats(&mut self) {
        if let (1.., Some(count)) = (self.repeats, self.texts.get_mut(self.last.as_slice())) {
            *count += self.repeats;
        } else if let (1.., true, Some(value)) = (self.repeats, self.many_numbers, self.value(&self.last)) {
            self.sample.add(value, self.repeats);
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
            self.run = None;
            return Ok(());
        }
        if std::str::from_utf8(text).is_err() {
            return Err(not_utf8(text));
        }
        match number(text) {
            Some(value) => {
                self.any_padded |= is_padded(text);
                self.note_number(row, value);
                self.note_point(text, value);
            }
            None => self.observe_word(row, text)?,
        }
        if self.many_numbers {
            if self.commas.are_mixed() {
                return Err(mixed_numbers(text));
            }
            if let Some(value) = self.value(text) {
                self.sample.add(value, 1);
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
            values.into_iter().for_each(|(value, count)| self.sample.add(value, count));
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
        let Some(written) = written_number::written(text) else {
            if self.many_numbers {
                return Err(late_text(text));
            }
            self.run = None;
            self.longer_are_numbers = false;
            self.all_dates = self.all_dates && is_date(text);
            return Ok(());
        };
        self.commas.observe(written);
        let [comma, point] = [true, false].map(|decimal_comma| written_number::value(text, decimal_comma));
        self.all_comma_integers &= comma.is_none_or(is_integer);
        let all_integers = self.all_integers && point.is_none_or(is_integer);
        if let Some(value) = point.or(comma) {
            self.note_number(row, value);
        }
        self.all_integers = all_integers;
        Ok(())
    }

    fn observe_number(&mut self, row: u64, value: f64) -> Result<(), String> {
        self.n_values += 1;
        self.note_number(row, value);
        self.all_comma_integers &= is_integer(value);
        if self.many_numbers {
            self.sample.add(value, 1);
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
            numbers.into_iter().for_each(|(bits, count)| self.sample.add(f64::from_bits(bits), count));
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
    }

    /// How the column's numbers are written, where some are not plain: whether with decimal commas.
    pub(super) fn decimal_comma(&self) -> Option<bool> {
        (self.commas.any() && self.is_numeric()).then(|| self.commas.decimal_comma(self.asked.prefers_comma))
    }

    /// The number that a text of the column is.
    fn value(&self, text: &[u8]) -> Option<f64> {
        match self.decimal_comma() {
            None => number(text),
            Some(decimal_comma) => written_number::value(text, decimal_comma),
        }
    }

    /// Whether every value so far is a number.
    fn is_numeric(&self) -> bool {
        let digits_only = || self.single_bytes().all(|byte| byte.is_ascii_digit());
        self.longer_are_numbers && self.bools == [0, 0] && !self.commas.are_mixed() && digits_only()
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

    /// How finely numbers were recorded, if they repeat.
    pub(super) fn resolution(&self) -> Option<f64> {
        if self.many_numbers || !self.is_numeric() { None } else { resolution(&self.values()) }
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

    /// Warnings about values that are usable but may not mean what they are taken for.
    pub(super) fn oddities(&self, n_rows: u64) -> Vec<String> {
        let mut oddities = Vec::new();
        let is_run = self.run.is_some() && self.n_values == n_rows && n_rows > IDENTIFIER_LABELS as u64;
        if is_run {
            oddities.push("increases by one in every row; if it is a row number, leave it out (kind ignore)".to_owned());
        }
        let example = String::from_utf8_lossy(self.example());
        if let Some(decimal_comma) = self.decimal_comma() {
            let texts = self.texts.keys().filter(|text| written_number::written(text).is_some());
            let example = texts.min().map_or(example.clone(), |text| String::from_utf8_lossy(text));
            let way = if decimal_comma { "decimal commas" } else { "thousands separators" };
            let value = self.value(example.as_bytes()).map_or_else(String::new, |value| format!(" as {}", number_text(value)));
            oddities.push(format!("has numbers with {way}: {:?} is read{value}", Shortened(&example)));
        } else if self.commas.are_mixed() && self.longer_are_numbers {
            oddities.push(format!(
                "has numbers with decimal commas and with decimal points ({:?}) and is read as labels; write them all the same way",
                Shortened(&example)
            ));
        } else if !self.longer_are_numbers && self.all_dates && self.single_bytes().next().is_none() {
            oddities.push(format!(
                "holds dates or times ({:?}), read as labels; leave it out (kind ignore), or write numbers, such as years",
                Shortened(&example)
            ));
        } else if !self.many_labels
            && self.asked.told.is_none()
            && !self.is_numeric()
            && self.texts.len() > CATEGORY_LIMIT
            && let Some(problem) = nearly_numbers(&self.labels())
        {
            oddities.push(format!("is read as labels: {problem}"));
        }
        oddities
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
    pub(super) fn guess(&mut self, n_rows: u64, name: &str) -> (Guess, Option<String>) {
        self.count_repeats();
        let guess = self.guess_kind(n_rows, name);
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

    fn guess_kind(&self, n_rows: u64, name: &str) -> Guess {
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
            None if self.many_numbers || (numeric && !self.any_padded) => match self.numeric_kind() {
                Kind::Count | Kind::Continuous if self.whole_numbers() && self.numbers_identify(name) => {
                    let (least, largest) = self.whole_range();
                    let (least, largest) = (number_text(least), number_text(largest));
                    Guess::Leave(format!(
                        "it looks like an identifier (whole numbers from {least} to {largest} that hardly ever repeat); set its kind if it is a variable"
                    ))
                }
                kind => Guess::Kind(kind),
            },
            None if !self.many_labels && self.is_logical() => Guess::Kind(logical()),
            None => self.text_kind(n_rows),
        }
    }

    fn text_kind(&self, n_rows: u64) -> Guess {
        let labels = if self.many_labels { Vec::new() } else { self.labels() };
        let is_identifier = labels.len() > IDENTIFIER_LABELS && labels.len() as u64 > n_rows / 2;
        if !self.many_labels && (!is_identifier || self.asked.min_count > 1) {
            return categorical(labels);
        }
        let example = String::from_utf8_lossy(self.example());
        let example = Shortened(&example);
        let n_labels = if self.many_labels { format!("over {LABEL_LIMIT}") } else { labels.len().to_string() };
        Guess::Leave(if self.all_dates && !self.longer_are_numbers {
            format!("it holds dates or times ({example:?}); to use them write numbers, such as days or years")
        } else if self.commas.are_mixed() && self.longer_are_numbers {
            format!("it has numbers with decimal commas and with decimal points ({example:?}); write them all the same way")
        } else if let Some(problem) = nearly_numbers(&labels) {
            problem
        } else {
            format!(
                "it looks like an identifier ({n_labels} different labels in {n_rows} rows); set its kind if it is a variable"
            )
        })
    }

    /// The smallest and the largest number, those of one digit among them.
    fn whole_range(&self) -> (f64, f64) {
        let digits = self.single_bytes().filter(u8::is_ascii_digit).map(|byte| f64::from(byte - b'0'));
        digits.fold(self.range, |(least, largest), digit| (least.min(digit), largest.max(digit)))
    }

    /// Whether whole numbers name rows rather than count something: they hardly ever repeat, and are as close together as
    /// numbers of rows, or as long as ids are, or their column is called so.
    fn numbers_identify(&self, name: &str) -> bool {
        const LONG_ID: f64 = 100_000.0;
        if self.n_values <= IDENTIFIER_LABELS as u64 {
            return false;
        }
        let mean_count =
            if self.many_numbers { self.sample.mean_count() } else { self.n_values as f64 / self.values().len() as f64 };
        let (least, largest) = self.whole_range();
        let is_numbering = largest - least < self.n_values as f64 * 1.1;
        let digits = |value: f64| value.abs().max(1.0).log10().floor();
        let are_long = least >= LONG_ID && digits(least) == digits(largest);
        mean_count <= IDENTIFIER_REPEATS && (is_numbering || are_long || is_id_name(name))
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
            if all_integers && values.len() <= CATEGORY_LIMIT && look(&values) != Look::Counts {
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

/// Says why a column is not one of numbers, if most of its cells are numbers, or are with their signs of currency or percent.
fn nearly_numbers(labels: &[(String, u64)]) -> Option<String> {
    let is_number = |text: &str| number(text.as_bytes()).is_some() || written_number::written(text.as_bytes()).is_some();
    let cells = |is: &dyn Fn(&str) -> bool| labels.iter().filter(|(label, _)| is(label)).map(|it| it.1).sum::<u64>();
    let all = cells(&|_| true);
    let plain = cells(&is_number);
    let is_sign = |c: char| matches!(c, '$' | '€' | '£' | '¥' | '%' | '<' | '>' | '~' | '≤' | '≥' | ' ');
    let with_sign = |text: &str| text.contains(is_sign) && is_number(text.trim_matches(is_sign));
    let example = |is: &dyn Fn(&str) -> bool| labels.iter().map(|it| it.0.as_str()).find(|label| is(label)).map(str::to_owned);
    if 2 * (plain + cells(&with_sign)) > all && cells(&with_sign) > 0 {
        let text = example(&with_sign)?;
        return Some(format!("it has numbers with signs, such as {:?}; write plain numbers", Shortened(&text)));
    }
    if 2 * plain > all {
        let text = example(&|text| !is_number(text))?;
        let share = 100.0 * plain as f64 / all as f64;
        return Some(format!(
            "{share:.0}% of its cells are numbers, but others are not, such as {:?}; write missing values as empty fields, or set its kind",
            Shortened(&text)
        ));
    }
    None
}

/// Whether a column is called as columns of ids are.
pub(super) fn is_id_name(name: &str) -> bool {
    let lower = name.trim().to_lowercase();
    if matches!(lower.as_str(), "rownames" | "row names" | "row_names" | "unnamed: 0" | "seqn" | "caseid" | "subjid") {
        return true;
    }
    let last_word = lower.rsplit(['_', ' ', '.', '-']).next().unwrap_or_default();
    let ends_in_id = name.len() > 2 && (name.ends_with("Id") || name.ends_with("ID"));
    ends_in_id || matches!(last_word, "id" | "ids" | "uid" | "uuid" | "guid" | "key" | "rowid" | "index" | "nr" | "idx")
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
         give the column the kind categorical or ignore",
        Shortened(&shown)
    )
}

fn too_many_labels() -> String {
    format!("the column has over {LABEL_LIMIT} labels, which is more than a categorical column may have")
}
