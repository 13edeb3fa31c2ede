//! Notes about a column that is a variable but may not be meant as one, or not as the one it is.

use super::{CATEGORY_LIMIT, IDENTIFIER_LABELS, NUMBER_LIMIT, Profile, are_sentences};
use crate::data::read::cell::number_text;
use crate::data::read::identifier::{IdName, id_name};
use crate::data::read::nearly::nearly_numbers;
use crate::data::read::signed_number::unsigned;
use crate::data::read::{told, written_number};
use crate::error::Shortened;

/// Most labels that go without a word.
const MANY_LABELS: usize = 200;

impl Profile {
    /// Warnings about values that are usable but may not mean what they are taken for.
    pub(in crate::data::read) fn oddities(&self, n_rows: u64, name: &str) -> Vec<String> {
        let mut oddities = Vec::new();
        let is_run = self.run.is_some() && self.n_values == n_rows && n_rows > IDENTIFIER_LABELS as u64;
        let ignore = told::told(name, "ignore");
        if is_run {
            oddities.push(format!("increases by one in every row; if it is a row number, leave it out ({ignore})"));
        } else if self.whole_numbers() && !self.any_padded && self.is_numeric() && id_name(name) == IdName::Surely {
            let n_different = if self.many_numbers { NUMBER_LIMIT } else { self.values().len() };
            if n_different > IDENTIFIER_LABELS {
                let many = if self.many_numbers { format!("over {n_different}") } else { n_different.to_string() };
                oddities.push(format!(
                    "looks like an identifier that repeats ({many} different whole numbers in {} cells); if it is one, leave it out ({ignore}) or name rows by it ({})",
                    self.n_values,
                    told::id(name)
                ));
            }
        }
        let example = String::from_utf8_lossy(self.example());
        let value_of =
            |text: &str| self.value(text.as_bytes()).map_or_else(String::new, |value| format!(" as {}", number_text(value)));
        let is_word = self.single_bytes().any(|byte| !byte.is_ascii_digit());
        if self.symbols.any() && self.is_numeric() {
            let example = self.texts.keys().filter(|text| unsigned(text).is_some()).min();
            let example = example.map_or_else(|| String::from_utf8_lossy(&self.last), |text| String::from_utf8_lossy(text));
            let value = value_of(&example);
            oddities.push(format!("has numbers with {}: {:?} is read{value}", self.symbols.name(), Shortened(&example)));
        } else if let Some(decimal_comma) = self.decimal_comma() {
            let texts = self.texts.keys().filter(|text| written_number::written(text).is_some());
            let example = texts.min().map_or(example.clone(), |text| String::from_utf8_lossy(text));
            let way = if decimal_comma { "decimal commas" } else { "thousands separators" };
            let value = value_of(&example);
            oddities.push(format!("has numbers with {way}: {:?} is read{value}", Shortened(&example)));
        } else if self.commas.are_mixed() && self.longer_are_numbers {
            oddities.push(format!(
                "has numbers with decimal commas and with decimal points ({:?}) and is read as labels; write them all the same way",
                Shortened(&example)
            ));
        } else if self.holds_dates() && !is_word {
            oddities.push(format!(
                "holds a few dates or times ({:?}), read as labels; leave it out ({ignore}), or write numbers, such as years",
                Shortened(&example)
            ));
        } else if !self.many_labels
            && self.asked.told.is_none()
            && !self.is_numeric()
            && self.texts.len() > CATEGORY_LIMIT
            && let Some(problem) = nearly_numbers(&self.labels(), name)
        {
            oddities.push(format!("is read as labels: {problem}"));
        } else {
            oddities.extend(self.too_many_labels(name));
        }
        oddities
    }

    /// Numbers that may mean that a value is missing.
    pub(in crate::data::read) fn missing_codes(&self) -> Vec<i64> {
        if !self.is_numeric() || self.any_padded {
            return Vec::new();
        }
        let mut sentinels = self.sentinels.clone();
        if !self.many_numbers {
            self.values().into_iter().for_each(|(value, count)| sentinels.add(value, count));
        }
        sentinels.suspects()
    }

    /// Says that most texts of a column are long, or occur once or twice.
    fn too_many_labels(&self, name: &str) -> Option<String> {
        if self.many_labels || self.is_numeric() || self.texts.len() <= IDENTIFIER_LABELS || self.asked.min_count > 1 {
            return None;
        }
        let ignore = told::told(name, "ignore");
        let (n_labels, labels) = (self.texts.len(), self.labels());
        let n_rare = labels.iter().filter(|it| it.1 <= 2).count();
        let merge = "merge the rare ones (`read.min_count` N)";
        if are_sentences(&labels) {
            Some(format!("looks like free text ({n_labels} different texts), read as labels; leave it out ({ignore}) or {merge}"))
        } else if 2 * n_rare > labels.len() {
            Some(format!("has {n_labels} labels, most of which occur once or twice; leave it out ({ignore}) or {merge}"))
        } else if n_labels > MANY_LABELS {
            Some(format!("has {n_labels} labels; if that is too many, leave it out ({ignore}) or {merge}"))
        } else {
            None
        }
    }
}
