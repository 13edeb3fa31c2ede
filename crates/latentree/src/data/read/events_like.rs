//! Detects tables of long events, with one line per event, which `--events` combines into rows.
//!
//! Read as a plain table, every line would be a row and the ids would be numbers, and the learned model would be meaningless.
//! Evidence, from the first rows: few columns; one, the ids, repeats itself; another holds codes, many and shared between ids;
//! an id hardly ever has the same code twice. An id that is called so makes it certain; ids that stand together make it likely.
//! Codes that are numbers make it certain only if the column is called a code: measurements of a subject (a weight at each age)
//! look the same otherwise, and if they increase from line to line of each id, they are times.

use std::collections::{HashMap, HashSet};

use super::cell::{Cell, is_missing, number};
use super::date::is_date;
use super::identifier::is_id_name;

/// Number of rows to inspect.
const MAX_ROWS: usize = 20_000;
/// Most columns that a file of events has: id, code, value, unit, date.
const MAX_COLUMNS: usize = 5;
/// Fewest different ids, and codes, that show a pattern.
const MIN_DISTINCT: usize = 10;

/// The columns of a table that looks like events.
#[derive(Debug, PartialEq)]
pub(super) struct LooksLike {
    pub(super) id: usize,
    pub(super) code: usize,
    /// Whether the id's column is called an id.
    pub(super) is_certain: bool,
}

/// The first rows of a table of few columns.
#[derive(Debug)]
pub(super) struct EventsLook {
    columns: Vec<Texts>,
}

/// The texts of one column, numbered.
#[derive(Debug, Default)]
struct Texts {
    number_of: HashMap<Box<[u8]>, u32>,
    /// The number that each text stands for, or NaN.
    values: Vec<f64>,
    /// Of each row; 0 is missing.
    rows: Vec<u32>,
    any_word: bool,
    all_whole: bool,
    /// Whether some text is not a date; dates are not codes.
    any_other_than_date: bool,
}

impl EventsLook {
    /// A look at a table of this many columns, if it can be events at all.
    pub(super) fn new(n_columns: usize) -> Option<Self> {
        let columns = || (0..n_columns).map(|_| Texts { all_whole: true, ..Texts::default() }).collect();
        (2..=MAX_COLUMNS).contains(&n_columns).then(|| Self { columns: columns() })
    }

    pub(super) fn observe(&mut self, row: u64, column: usize, cell: Cell<'_>) {
        if row >= MAX_ROWS as u64 {
            return;
        }
        let number_bits;
        let (text, value) = match cell {
            Cell::Text(text) if !is_missing(text) => (text, number(text)),
            Cell::Number(value) if !value.is_nan() => {
                number_bits = value.to_bits().to_le_bytes();
                (&number_bits[..], Some(value))
            }
            _ => (&[][..], None),
        };
        let texts = &mut self.columns[column];
        texts.any_word |= !text.is_empty() && value.is_none();
        texts.any_other_than_date |= !text.is_empty() && !texts.any_other_than_date && !is_date(text);
        texts.all_whole &= value.is_none_or(|value| value.fract() == 0.0);
        let next = texts.number_of.len() as u32 + 1;
        let number = match text {
            [] => 0,
            _ => match texts.number_of.get(text) {
                Some(&number) => number,
                None => {
                    texts.number_of.insert(text.into(), next);
                    texts.values.push(value.unwrap_or(f64::NAN));
                    next
                }
            },
        };
        texts.rows.push(number);
    }

    /// The columns of the id and of the code, if the rows look like events.
    pub(super) fn verdict(&self, names: &[String]) -> Option<LooksLike> {
        let n_columns = self.columns.len();
        let pairs = (0..n_columns).flat_map(|id| (0..n_columns).map(move |code| (id, code))).filter(|(id, code)| id != code);
        let likely = pairs.filter_map(|(id, code)| {
            let is_called = is_row_name(&names[id]);
            let (any_word, is_code) = (self.columns[code].any_word, is_code_name(&names[code]));
            let likely = self.are_ids_and_codes(id, code)
                && (is_called || self.stand_together(id))
                && (any_word || is_code || !self.increase_within(id, code));
            likely.then_some(LooksLike { id, code, is_certain: is_called && (any_word || is_code) })
        });
        // Of several codes (a diagnosis and its description) the first will do.
        likely.max_by_key(|it| (it.is_certain, n_columns - it.code))
    }

    fn are_ids_and_codes(&self, id: usize, code: usize) -> bool {
        let (ids, codes) = (&self.columns[id], &self.columns[code]);
        let n_rows = ids.rows.len().min(codes.rows.len());
        let (n_ids, n_codes) = (ids.number_of.len(), codes.number_of.len());
        let is_repeated = n_ids * 6 <= n_rows * 5;
        let is_code = codes.any_other_than_date && (codes.any_word || are_codes_of_numbers(codes));
        if n_ids < MIN_DISTINCT || n_codes < MIN_DISTINCT || !is_repeated || !is_code || !ids.all_whole || n_codes * 2 > n_rows {
            return false;
        }
        let events: HashSet<(u32, u32)> =
            ids.rows.iter().zip(&codes.rows).map(|(&id, &code)| (id, code)).filter(|&(id, code)| id > 0 && code > 0).collect();
        // Codes of one id only (a district of a city) are its parts, not events.
        events.len() * 10 >= n_rows * 6 && events.len() >= 2 * n_codes
    }

    /// Whether numbers increase from line to line of an id, as times do.
    fn increase_within(&self, id: usize, times: usize) -> bool {
        let (ids, times) = (&self.columns[id], &self.columns[times]);
        let value = |text: u32| (text > 0).then(|| times.values[text as usize - 1]);
        let steps = ids.rows.windows(2).zip(times.rows.windows(2)).filter(|(ids, _)| ids[0] == ids[1] && ids[0] > 0);
        let steps: Vec<bool> =
            steps.filter_map(|(_, pair)| value(pair[0]).zip(value(pair[1]))).map(|(left, right)| left < right).collect();
        !steps.is_empty() && steps.iter().filter(|it| **it).count() * 20 >= steps.len() * 19
    }

    /// Whether the lines of an id stand together, as a file of events usually has them.
    fn stand_together(&self, id: usize) -> bool {
        let ids = &self.columns[id];
        let n_runs = ids.rows.chunk_by(|left, right| left == right).count();
        n_runs * 10 <= ids.number_of.len() * 11
    }
}

/// Whether a column is called a code.
fn is_code_name(name: &str) -> bool {
    const CODES: [&str; 14] =
        ["code", "icd", "dx", "diag", "phecode", "atc", "ndc", "cpt", "loinc", "snomed", "drug", "item", "product", "concept"];
    let lower = name.to_lowercase();
    lower.split(|letter: char| !letter.is_alphabetic()).any(|word| CODES.iter().any(|code| word.starts_with(code)))
}

/// Codes that are all numbers (ICD-9's 250.00) have digits after a point as often as not, which ids and counts have not.
fn are_codes_of_numbers(codes: &Texts) -> bool {
    !codes.all_whole && codes.number_of.len() * 4 < codes.rows.len()
}

/// Whether a column is called as what events happen to: a patient, a user, a basket.
fn is_row_name(name: &str) -> bool {
    const THINGS: [&str; 22] = [
        "patient",
        "subject",
        "person",
        "member",
        "customer",
        "client",
        "user",
        "basket",
        "transaction",
        "order",
        "session",
        "case",
        "visit",
        "encounter",
        "admission",
        "stay",
        "document",
        "doc",
        "respondent",
        "participant",
        "household",
        "invoice",
    ];
    let lower = name.to_lowercase();
    is_id_name(name) || lower.split(|letter: char| !letter.is_alphabetic()).any(|word| THINGS.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(names: &[&str], rows: impl Iterator<Item = Vec<String>>) -> Option<LooksLike> {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let mut look = EventsLook::new(names.len()).unwrap();
        for (row, cells) in rows.enumerate() {
            cells.iter().enumerate().for_each(|(column, cell)| look.observe(row as u64, column, Cell::Text(cell.as_bytes())));
        }
        look.verdict(&names)
    }

    fn event(row: usize) -> Vec<String> {
        vec![(1000 + row / 3).to_string(), format!("E{}", row * 7919 % 101 % 40)]
    }

    #[test]
    fn patients_and_their_codes_are_events() {
        let found = verdict(&["patient_id", "icd9"], (0..600).map(event));
        assert_eq!(found, Some(LooksLike { id: 0, code: 1, is_certain: true }));
        let found = verdict(&["a", "b"], (0..600).map(event));
        assert_eq!(found, Some(LooksLike { id: 0, code: 1, is_certain: false }));
    }

    #[test]
    fn dates_before_the_codes_are_no_codes() {
        let dated = |row: usize| {
            let [id, code] = [event(row)[0].clone(), event(row)[1].clone()];
            vec![id, format!("2021-{:02}-{:02}", row % 11 + 1, row % 13 + 1), code]
        };
        let found = verdict(&["patient", "date", "code"], (0..600).map(dated));
        assert_eq!(found, Some(LooksLike { id: 0, code: 2, is_certain: true }));
    }

    #[test]
    fn other_tables_are_not() {
        // Two independent columns of labels.
        let labels = |row: usize| vec![format!("c{}", row * 31 % 97 % 20), format!("d{}", row * 17 % 89 % 15)];
        assert_eq!(verdict(&["city", "drink"], (0..600).map(labels)), None);
        // Districts belong to one city each.
        let nested = |row: usize| vec![format!("c{}", row / 20), format!("d{}", row / 2), (row % 7).to_string()];
        assert_eq!(verdict(&["city", "district", "rooms"], (0..600).map(nested)), None);
        // One row a patient.
        let wide = |row: usize| vec![row.to_string(), format!("d{}", row * 17 % 89 % 15)];
        assert_eq!(verdict(&["patient_id", "drug"], (0..600).map(wide)), None);
        // Measurements of subjects at their ages, in order or not.
        let measured = |row: usize, age: usize| {
            let age = (8 + age) as f64 + if age == 6 { (row % 10) as f64 / 10.0 } else { 0.0 };
            vec![(100 + row / 7).to_string(), age.to_string(), (row * 7919 % 1009).to_string()]
        };
        let names = ["subject", "age", "exercise"];
        assert_eq!(verdict(&names, (0..700).map(|row| measured(row, row % 7))), None);
        let shuffled = verdict(&names, (0..700).map(|row| measured(row, row * 3 % 7)));
        assert_eq!(shuffled.map(|it| it.is_certain), Some(false));
        // Codes of numbers are known by their name.
        let coded = |row: usize| vec![(row / 3).to_string(), format!("{}.{}", 200 + row * 7919 % 101 % 40, row % 2)];
        assert_eq!(verdict(&["patient", "icd9"], (0..600).map(coded)).map(|it| it.is_certain), Some(true));
        // Answers of a survey.
        let answers = |row: usize| (0..4).map(|item| (row * (item + 3) % 5 + 1).to_string()).collect();
        assert_eq!(verdict(&["q1", "q2", "q3", "q4"], (0..600).map(answers)), None);
    }
}
