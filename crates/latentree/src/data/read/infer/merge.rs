//! Profiles of parts of a column: as bytes between processes, and joined.
//!
//! What is joined says the same as one look at all rows, but for a run of whole numbers: parts have no order, so a column that counts its rows is
//! noticed only where one part has all of them.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::{Asked, KindOverride, LABEL_LIMIT, NUMBER_LIMIT, Profile, late_text, mixed_numbers, too_many_labels};
use crate::data::read::distinct::DistinctSample;
use crate::data::read::sentinel::Sentinels;
use crate::data::read::signed_number::Symbols;
use crate::data::read::written_number::Commas;

/// A profile as it is written. Floating-point numbers are written as their bits, since they may be infinite.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::data::read) struct StoredProfile {
    n_values: u64,
    singles: Vec<(u8, u32)>,
    texts: Vec<(String, u64)>,
    last: String,
    numbers: Vec<(u64, u64)>,
    bools: [u64; 2],
    longer_are_numbers: bool,
    commas: Commas,
    all_integers: bool,
    all_comma_integers: bool,
    any_negative: bool,
    any_padded: bool,
    infinite_row: Option<u64>,
    range: (u64, u64),
    many_numbers: bool,
    sample: DistinctSample,
    many_labels: bool,
    n_words: u64,
    n_dates: u64,
    run: Option<u64>,
    order: Option<u64>,
    all_whole: bool,
    symbols: Symbols,
    sentinels: Sentinels,
}

impl Profile {
    /// The profile as it is written.
    pub(in crate::data::read) fn stored(mut self) -> StoredProfile {
        self.count_repeats();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let mut texts: Vec<(String, u64)> = self.texts.iter().map(|(bytes, &count)| (text(bytes), count)).collect();
        let mut numbers: Vec<(u64, u64)> = self.numbers.iter().map(|(&bits, &count)| (bits, count)).collect();
        texts.sort_unstable();
        numbers.sort_unstable();
        StoredProfile {
            n_values: self.n_values,
            singles: self.single_bytes().map(|byte| (byte, self.singles[usize::from(byte)])).collect(),
            texts,
            last: text(&self.last),
            numbers,
            bools: self.bools,
            longer_are_numbers: self.longer_are_numbers,
            commas: self.commas,
            all_integers: self.all_integers,
            all_comma_integers: self.all_comma_integers,
            any_negative: self.any_negative,
            any_padded: self.any_padded,
            infinite_row: self.infinite_row,
            range: (self.range.0.to_bits(), self.range.1.to_bits()),
            many_numbers: self.many_numbers,
            sample: self.sample,
            many_labels: self.many_labels,
            n_words: self.n_words,
            n_dates: self.n_dates,
            run: self.run.map(f64::to_bits),
            order: self.order.map(f64::to_bits),
            all_whole: self.all_whole,
            symbols: self.symbols,
            sentinels: self.sentinels,
        }
    }

    /// The profile that was written.
    pub(in crate::data::read) fn from_stored(asked: Asked, stored: StoredProfile) -> Self {
        let mut singles = vec![0; if stored.singles.is_empty() { 0 } else { 128 }].into_boxed_slice();
        for (byte, count) in stored.singles {
            if let Some(single) = singles.get_mut(usize::from(byte)) {
                *single = count;
            }
        }
        Self {
            asked,
            n_values: stored.n_values,
            singles,
            texts: stored.texts.into_iter().map(|(text, count)| (text.into_bytes().into_boxed_slice(), count)).collect(),
            last: stored.last.into_bytes(),
            repeats: 0,
            numbers: stored.numbers.into_iter().collect(),
            bools: stored.bools,
            longer_are_numbers: stored.longer_are_numbers,
            commas: stored.commas,
            all_integers: stored.all_integers,
            all_comma_integers: stored.all_comma_integers,
            any_negative: stored.any_negative,
            any_padded: stored.any_padded,
            infinite_row: stored.infinite_row,
            range: (f64::from_bits(stored.range.0), f64::from_bits(stored.range.1)),
            many_numbers: stored.many_numbers,
            sample: stored.sample,
            many_labels: stored.many_labels,
            n_words: stored.n_words,
            n_dates: stored.n_dates,
            run: stored.run.map(f64::from_bits),
            order: stored.order.map(f64::from_bits),
            all_whole: stored.all_whole,
            symbols: stored.symbols,
            sentinels: stored.sentinels,
        }
    }

    /// Joins the profile of other rows of the column.
    pub(in crate::data::read) fn merge(&mut self, mut other: Self) -> Result<(), String> {
        self.count_repeats();
        other.count_repeats();
        if other.n_values == 0 {
            return Ok(());
        }
        (self.run, self.order) = if self.n_values == 0 { (other.run, other.order) } else { (None, None) };
        if self.last.is_empty() {
            self.last.clone_from(&other.last);
        }
        self.n_values += other.n_values;
        if self.singles.is_empty() {
            self.singles = std::mem::take(&mut other.singles);
        } else {
            self.singles.iter_mut().zip(&other.singles).for_each(|(own, &other)| *own = own.saturating_add(other));
        }
        self.bools.iter_mut().zip(other.bools).for_each(|(own, other)| *own += other);
        self.longer_are_numbers &= other.longer_are_numbers;
        self.commas.merge(other.commas);
        self.all_integers &= other.all_integers;
        self.all_comma_integers &= other.all_comma_integers;
        self.any_negative |= other.any_negative;
        self.any_padded |= other.any_padded;
        self.infinite_row = self.infinite_row.or(other.infinite_row);
        self.range = (self.range.0.min(other.range.0), self.range.1.max(other.range.1));
        self.n_words += other.n_words;
        self.n_dates += other.n_dates;
        self.all_whole &= other.all_whole;
        self.symbols.merge(other.symbols);
        self.sentinels.merge(&other.sentinels);
        self.many_numbers |= other.many_numbers;
        self.many_labels |= other.many_labels;
        self.sample.merge(other.sample);
        add(&mut self.texts, other.texts);
        add(&mut self.numbers, other.numbers);
        self.settle()
    }

    /// Keeps within the limits of what is kept.
    fn settle(&mut self) -> Result<(), String> {
        let keeps_labels = self.asked.told == Some(KindOverride::Categorical);
        let (n_texts, n_numbers) = (self.texts.len(), self.numbers.len());
        if self.many_numbers && !self.is_numeric() {
            let is_number = |text: &[u8]| self.value(text).is_some();
            let text = self.texts.keys().filter(|text| !is_number(text)).min();
            return Err(if self.commas.are_mixed() {
                mixed_numbers(self.example())
            } else {
                late_text(text.map_or(&self.last, |it| it))
            });
        }
        let too_many = n_texts.max(n_numbers) > NUMBER_LIMIT && self.is_numeric() && !keeps_labels && !self.any_padded;
        if self.many_numbers || too_many {
            self.many_numbers = true;
            let texts = std::mem::take(&mut self.texts);
            let mut values: Vec<_> = texts.iter().filter_map(|(text, &count)| Some((self.value(text)?, count))).collect();
            values.extend(std::mem::take(&mut self.numbers).into_iter().map(|(bits, count)| (f64::from_bits(bits), count)));
            values.sort_by(|a, b| a.0.total_cmp(&b.0));
            values.into_iter().for_each(|(value, count)| self.add_many(value, count));
        } else if n_texts > LABEL_LIMIT || n_numbers > LABEL_LIMIT {
            if keeps_labels {
                return Err(too_many_labels());
            }
            self.many_labels = true;
            self.texts = HashMap::new();
        }
        Ok(())
    }
}

fn add<K: std::hash::Hash + Eq>(own: &mut HashMap<K, u64>, other: HashMap<K, u64>) {
    #[expect(clippy::iter_over_hash_type, reason = "counts are added, in any order")]
    for (key, count) in other {
        *own.entry(key).or_insert(0) += count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::read::cell::Cell;

    /// The profile of all cells, and that of three parts, through bytes.
    fn both(cells: &[Cell<'_>]) -> (Profile, Result<Profile, String>) {
        let mut whole = Profile::new(Asked::default());
        (0..).zip(cells).for_each(|(row, &cell)| whole.observe(row, cell).unwrap());
        let mut joined = Profile::new(Asked::default());
        let mut outcome = Ok(());
        for part in 0..3 {
            let mut profile = Profile::new(Asked::default());
            (0..).zip(cells.iter().skip(part).step_by(3)).for_each(|(row, &cell)| profile.observe(row, cell).unwrap());
            let bytes = serde_json::to_vec(&profile.stored()).unwrap();
            let read = Profile::from_stored(Asked::default(), serde_json::from_slice(&bytes).unwrap());
            outcome = outcome.and_then(|()| joined.merge(read));
        }
        (whole, outcome.map(|()| joined))
    }

    #[test]
    fn parts_of_a_column_say_what_the_whole_says() {
        let texts: Vec<String> = (0..5000).map(|ix| format!("{}", ix * 7 % 3001)).collect();
        let words = ["a", "bb", "true", "NA", "7", "007", "1,5", "2.5", ""];
        let columns: Vec<Vec<Cell<'_>>> = vec![
            texts.iter().map(|text| Cell::Text(text.as_bytes())).collect(),
            (0..90).map(|ix| Cell::Text(words[ix % 3].as_bytes())).collect(),
            (0..90).map(|ix| Cell::Text(words[ix % words.len()].as_bytes())).collect(),
            (0..90).map(|ix| Cell::Bool(ix % 2 == 0)).collect(),
            (0..5000).map(|ix| Cell::Number(f64::from(ix) / 8.0)).collect(),
            (0..5000).map(|ix| Cell::Number(f64::from(ix % 7))).collect(),
            (0..90).map(|ix| Cell::Number(f64::from(ix % 2))).collect(),
            vec![Cell::Missing; 9],
            (0..300).map(|ix| Cell::Number(f64::from(ix % 29 * ix % 3))).collect(),
        ];
        for cells in columns {
            let (mut whole, joined) = both(&cells);
            assert_eq!(whole.guess("x"), joined.unwrap().guess("x"));
        }
    }

    #[test]
    fn a_text_among_the_many_numbers_of_other_parts_is_an_error() {
        let mut numbers = Profile::new(Asked::default());
        (0..5000).for_each(|row| numbers.observe(row, Cell::Number(row as f64 / 8.0)).unwrap());
        let mut words = Profile::new(Asked::default());
        words.observe(0, Cell::Text(b"many")).unwrap();
        assert!(numbers.merge(words).unwrap_err().contains("\"many\" is not a number"));
    }
}
