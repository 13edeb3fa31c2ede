//! Labels, columns and event items in the data that the expected schema does not know.
//!
//! A label that the schema lacks becomes a missing cell, or an error ([`UnseenPolicy`]); a column that it lacks is not read.
//! Either way it is counted and named, so that a difference in spelling does not pass for data.

use std::collections::HashMap;
use std::str::FromStr;

use serde::Serialize;

use crate::data::Schema;
use crate::error::{Error, Result, Shortened};

/// Maximum number of distinct labels to list per column; others are only counted.
const MAX_LABELS: usize = 1000;
/// Names that are listed.
const LISTED: usize = 100;
/// Names in a note.
const NOTED: usize = 5;

/// What becomes of a label that the schema does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum UnseenPolicy {
    /// The cell is missing, and the label is counted.
    Missing,
    /// The data are refused.
    Error,
}

impl FromStr for UnseenPolicy {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "missing" => Ok(Self::Missing),
            "error" => Ok(Self::Error),
            other => Err(Error::option("read.unseen", format!("{:?} is not missing or error", Shortened(other)))),
        }
    }
}

/// A label, a column or an item that the schema does not have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UnseenName {
    /// As the data spell it.
    pub name: String,
    /// Number of cells with it; `None` if they are not read.
    pub cells: Option<u64>,
    /// One of the schema's own that differs only by case or spaces.
    pub similar: Option<String>,
}

/// Labels of a column that the schema does not have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UnseenLabels {
    /// The column.
    pub column: String,
    /// Number of different labels, at least this many.
    pub count: usize,
    /// Number of cells that hold them.
    pub cells: u64,
    /// The labels, those with a similar one first, then the commonest; at most 100.
    pub names: Vec<UnseenName>,
}

/// Columns or items of events that the schema does not have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UnseenColumns {
    /// Whether they are items of events, not columns of a table.
    pub are_items: bool,
    /// How many.
    pub count: usize,
    /// Number of their cells; `None` if they are not read.
    pub cells: Option<u64>,
    /// Their names, those with a similar one first, then the commonest; at most 100.
    pub names: Vec<UnseenName>,
}

/// All that data hold and the schema they fit does not know.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Unseen {
    /// Columns or items, if there are any.
    pub columns: Option<UnseenColumns>,
    /// Labels by column.
    pub labels: Vec<UnseenLabels>,
}

impl Unseen {
    /// Whether the schema knows everything.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.columns.is_none() && self.labels.is_empty()
    }

    /// A sentence for the columns and one for each column with labels, for the user to read.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let columns = self.columns.iter().map(|columns| {
            let what = match (columns.are_items, columns.count) {
                (true, 1) => "item",
                (true, _) => "items",
                (false, 1) => "column",
                (false, _) => "columns",
            };
            let cells = columns.cells.map_or_else(String::new, |cells| format!(" in {cells} {}", plural(cells, "cell")));
            let (count, verb) = (columns.count, is(columns.count));
            format!("{count} {what}{cells} {verb} unknown to the model and ignored: {}", names(&columns.names, count))
        });
        let labels = self.labels.iter().map(|labels| {
            let beyond = if labels.count > MAX_LABELS { "over " } else { "" };
            let count = labels.count.min(MAX_LABELS);
            format!(
                "column {:?}: {beyond}{count} {} in {} {} {} unknown to the model and read as missing: {}",
                Shortened(&labels.column),
                plural(labels.count as u64, "label"),
                labels.cells,
                plural(labels.cells, "cell"),
                is(labels.count),
                names(&labels.names, labels.count)
            )
        });
        columns.chain(labels).collect()
    }
}

fn plural(count: u64, word: &str) -> String {
    if count == 1 { word.to_owned() } else { format!("{word}s") }
}

fn is(count: usize) -> &'static str {
    if count == 1 { "is" } else { "are" }
}

/// The first names, each with the one it may be a misspelling of.
fn names(names: &[UnseenName], count: usize) -> String {
    let shown = names.iter().take(NOTED).map(|it| match &it.similar {
        Some(similar) => format!("{:?} (the model has {:?})", Shortened(&it.name), Shortened(similar)),
        None => format!("{:?}", Shortened(&it.name)),
    });
    let more = if count > NOTED { ", …" } else { "" };
    format!("{}{more}", shown.collect::<Vec<_>>().join(", "))
}

/// Finds the known name that another differs from only by case or spaces.
pub(super) struct Similar<'a> {
    by_key: HashMap<String, &'a str>,
}

impl<'a> Similar<'a> {
    pub(super) fn new(known: impl Iterator<Item = &'a str>) -> Self {
        Self { by_key: known.map(|name| (key(name), name)).collect() }
    }

    pub(super) fn to(&self, name: &str) -> Option<&'a str> {
        self.by_key.get(&key(name)).copied()
    }
}

fn key(name: &str) -> String {
    name.chars().filter(|letter| !letter.is_whitespace()).flat_map(char::to_lowercase).collect()
}

/// Those with a similar name first, then the commonest, then by name.
fn listed(mut names: Vec<UnseenName>) -> Vec<UnseenName> {
    names.sort_by(|a, b| {
        let order = |it: &UnseenName| (it.similar.is_none(), std::cmp::Reverse(it.cells));
        order(a).cmp(&order(b)).then_with(|| a.name.cmp(&b.name))
    });
    names.truncate(LISTED);
    names
}

/// The columns of a file that a schema does not have; `cells` counts those of one, where they are read.
pub(super) fn unseen_columns(
    schema: &Schema,
    are_items: bool,
    unknown: &[(usize, String)],
    cells: impl Fn(usize) -> Option<u64>,
) -> Option<UnseenColumns> {
    if unknown.is_empty() {
        return None;
    }
    let similar = Similar::new(schema.columns().iter().map(|column| column.name.as_str()));
    let found = unknown.iter().map(|(ix, name)| UnseenName {
        name: name.clone(),
        cells: cells(*ix),
        similar: similar.to(name).map(str::to_owned),
    });
    let cells = unknown.iter().map(|(ix, _)| cells(*ix)).sum();
    Some(UnseenColumns { are_items, count: unknown.len(), cells, names: listed(found.collect()) })
}

/// Counts the labels of a column that its schema does not have.
#[derive(Debug, Clone, Default)]
pub(super) struct LabelTally {
    cells: u64,
    by_label: HashMap<String, u64>,
    is_full: bool,
}

impl LabelTally {
    pub(super) fn count(&mut self, label: String) {
        self.cells += 1;
        if let Some(cells) = self.by_label.get_mut(&label) {
            *cells += 1;
        } else if self.by_label.len() < MAX_LABELS {
            self.by_label.insert(label, 1);
        } else {
            self.is_full = true;
        }
    }

    /// The counts, if any.
    pub(super) fn found(&self, column: &str, known: &[String]) -> Option<UnseenLabels> {
        if self.cells == 0 {
            return None;
        }
        let similar = Similar::new(known.iter().map(String::as_str));
        let names = self.by_label.iter().map(|(label, &cells)| UnseenName {
            name: label.clone(),
            cells: Some(cells),
            similar: similar.to(label).map(str::to_owned),
        });
        Some(UnseenLabels {
            column: column.to_owned(),
            count: self.by_label.len() + usize::from(self.is_full),
            cells: self.cells,
            names: listed(names.collect()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_similar_if_only_case_or_spaces_differ() {
        let known = ["401 Hypertension".to_owned(), "250".to_owned()];
        let similar = Similar::new(known.iter().map(String::as_str));
        assert_eq!(similar.to("401  hypertension"), Some("401 Hypertension"));
        assert_eq!(similar.to("401 hypotension"), None);
        assert_eq!(similar.to("25.0"), None);
    }

    #[test]
    fn labels_beyond_those_told_apart_are_still_counted() {
        let mut tally = LabelTally::default();
        for row in 0..3000 {
            tally.count(format!("p{}", row % 1500));
        }
        let found = tally.found("id", &["P7".to_owned()]).unwrap();
        assert_eq!((found.cells, found.count, found.names.len()), (3000, MAX_LABELS + 1, LISTED));
        assert_eq!(found.names[0], UnseenName { name: "p7".to_owned(), cells: Some(2), similar: Some("P7".to_owned()) });
        let note = Unseen { columns: None, labels: vec![found] }.notes().remove(0);
        assert!(note.starts_with("column \"id\": over 1000 labels in 3000 cells are unknown to the model"), "{note}");
        assert!(note.contains("\"p7\" (the model has \"P7\"), ") && note.ends_with(", …"), "{note}");
    }
}
