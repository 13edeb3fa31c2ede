//! Kinds and labels set by the user, from `--kind` and the schema file.
//!
//! The schema file has the shape of a [`Schema`](crate::data::Schema) as JSON, but may list only some columns, may leave
//! `labels` out (they are then read from the data) and may say `"kind":"ignore"`. A `group` in it joins its members.
//! A kind given by name goes before the schema file, which goes before the kind of `*`.

use std::collections::{HashMap, HashSet};
use std::io::Read;
use std::path::Path;

use serde::Deserialize;

use super::options::{KindOverride, ReadOptions};
use crate::data::Kind;
use crate::error::{Error, Place, Result, Shortened};
use crate::file;

/// Longest schema file; a longer one is some other file.
const SCHEMA_FILE_LIMIT: u64 = 1 << 28;

/// The user's settings for one column.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Told {
    pub(super) kind: Option<KindOverride>,
    /// The labels in order, if given.
    pub(super) labels: Option<Vec<String>>,
}

impl Told {
    /// The kind with its labels, if the data need not be asked.
    pub(super) fn fixed_kind(&self) -> Option<Kind> {
        let labels = self.labels.clone()?;
        match self.kind? {
            KindOverride::Categorical => Some(Kind::Categorical { labels }),
            KindOverride::Binary => <[String; 2]>::try_from(labels).ok().map(|labels| Kind::Binary { labels }),
            _ => None,
        }
    }
}

/// The user's settings for all columns.
#[derive(Debug, Default)]
pub(super) struct Overrides {
    by_name: HashMap<String, Told>,
    every: Option<KindOverride>,
    /// Names from `--kind`, in order, to be found in the data.
    named: Vec<String>,
    /// Names from the schema file, in order, to be found in the data.
    filed: Vec<String>,
    /// Groups of the schema file: member and group.
    pub(super) groups: Vec<(String, String)>,
}

#[derive(Deserialize)]
struct PartialSchema {
    variables: Vec<PartialVariable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PartialVariable {
    name: String,
    kind: String,
    labels: Option<Vec<String>>,
    members: Option<Vec<PartialVariable>>,
}

impl Overrides {
    pub(super) fn new(options: &ReadOptions) -> Result<Self> {
        let mut overrides = Self::default();
        if let Some(path) = &options.schema_file {
            overrides.read_schema_file(path)?;
        }
        for (name, kind) in &options.kinds {
            if name == "*" {
                overrides.every = Some(*kind);
            } else {
                overrides.named.push(name.clone());
                let told = overrides.by_name.entry(name.clone()).or_default();
                if told.kind != Some(*kind) {
                    *told = Told { kind: Some(*kind), labels: None };
                }
            }
        }
        Ok(overrides)
    }

    pub(super) fn of(&self, name: &str) -> Told {
        self.by_name.get(name).cloned().unwrap_or(Told { kind: self.every, labels: None })
    }

    /// The settings of this column alone, not of all columns.
    pub(super) fn by_name(&self, name: &str) -> Option<KindOverride> {
        self.by_name.get(name).and_then(|told| told.kind)
    }

    /// Fails if a column is named that the data do not have.
    pub(super) fn check_names(&self, names: &[String], options: &ReadOptions) -> Result<()> {
        if self.named.is_empty() && self.filed.is_empty() {
            return Ok(());
        }
        let known: HashSet<&str> = names.iter().map(String::as_str).collect();
        if let Some(name) = self.named.iter().find(|name| !known.contains(name.as_str())) {
            return Err(unknown_column("read.kind", name, names));
        }
        match (self.filed.iter().find(|name| !known.contains(name.as_str())), &options.schema_file) {
            (Some(name), Some(path)) => {
                let problem = format!("no column of the data has this name{}", near_names(name, names));
                Err(Error::data(Place::file(path).column(name), problem))
            }
            _ => Ok(()),
        }
    }

    fn read_schema_file(&mut self, path: &Path) -> Result<()> {
        let mut text = String::new();
        file::open(path)?.take(SCHEMA_FILE_LIMIT + 1).read_to_string(&mut text).map_err(Error::io("read", path))?;
        if text.len() as u64 > SCHEMA_FILE_LIMIT {
            let problem = format!("larger than {} MiB, the limit of a schema file", SCHEMA_FILE_LIMIT >> 20);
            return Err(Error::format(Place::file(path), "schema JSON", problem));
        }
        let schema: PartialSchema = serde_json::from_str(&text)
            .map_err(|error| Error::format(Place::file(path).line(error.line() as u64), "schema JSON", error.to_string()))?;
        for variable in schema.variables {
            match (variable.kind.as_str(), variable.members) {
                ("group", Some(members)) => {
                    for member in members {
                        self.groups.push((member.name.clone(), variable.name.clone()));
                        self.file_column(path, member.name, &member.kind, member.labels)?;
                    }
                }
                ("group", None) => {
                    return Err(Error::data(Place::file(path).column(variable.name), "a group needs members"));
                }
                (kind, _) => self.file_column(path, variable.name.clone(), kind, variable.labels)?,
            }
        }
        Ok(())
    }

    fn file_column(&mut self, path: &Path, name: String, kind: &str, labels: Option<Vec<String>>) -> Result<()> {
        let place = || Place::file(path).column(&name);
        let Some(kind) = KindOverride::parse(kind) else {
            let problem = format!(
                "{:?} is not a kind; the kinds are categorical, binary, continuous, count, ignore and group",
                Shortened(kind)
            );
            return Err(Error::data(place(), problem));
        };
        if let (KindOverride::Binary, Some(labels)) = (kind, &labels)
            && labels.len() != 2
        {
            return Err(Error::data(place(), format!("a binary column has two labels, not {}", labels.len())));
        }
        let mut seen = HashSet::new();
        if let Some(twice) = labels.iter().flatten().find(|label| !seen.insert(label.as_str())) {
            return Err(Error::data(place(), format!("label {:?} appears twice", Shortened(twice))));
        }
        if self.by_name.insert(name.clone(), Told { kind: Some(kind), labels }).is_some() {
            return Err(Error::data(place(), "the column is listed twice"));
        }
        self.filed.push(name);
        Ok(())
    }
}

/// The error of an option that names a column the data do not have.
pub(super) fn unknown_column(option: &str, name: &str, names: &[String]) -> Error {
    unknown_column_of("the data have", option, name, names)
}

/// The same of a table that is named: "map.csv has".
pub(super) fn unknown_column_of(table: &str, option: &str, name: &str, names: &[String]) -> Error {
    let problem = format!("{table} no column {:?}{}", Shortened(name), near_names(name, names));
    Error::option(option, problem)
}

/// The names most like the one that was not found, as the end of a message.
fn near_names(wanted: &str, names: &[String]) -> String {
    let wanted_lower = wanted.to_lowercase();
    let mut near: Vec<(usize, &str)> = Vec::new();
    for name in names {
        // Names of very different lengths are not misspellings of each other, and long ones would be slow to compare.
        if name.len().abs_diff(wanted.len()) <= 3 && name.len() <= 100 {
            let distance = edit_distance(&wanted_lower, &name.to_lowercase());
            if distance <= 1 + wanted.len() / 4 {
                near.push((distance, name));
            }
        }
    }
    near.sort();
    let (what, shown): (&str, Vec<&str>) = if near.is_empty() {
        ("it has", names.iter().take(5).map(String::as_str).collect())
    } else {
        ("did you mean", near.into_iter().take(5).map(|(_, name)| name).collect())
    };
    let shown: Vec<String> = shown.into_iter().map(|name| format!("{:?}", Shortened(name))).collect();
    match (what, names.len()) {
        (_, 0) => String::new(),
        ("it has", n_names) if n_names > 5 => format!("; {what} {}, …", shown.join(", ")),
        ("it has", _) => format!("; {what} {}", shown.join(", ")),
        _ => format!("; {what} {}?", shown.join(" or ")),
    }
}

/// Levenshtein's distance: fewest letters to insert, delete or replace.
fn edit_distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut costs: Vec<usize> = (0..=right.len()).collect();
    for (row, letter) in left.chars().enumerate() {
        let mut diagonal = costs[0];
        costs[0] = row + 1;
        for (ix, other) in right.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *other);
            diagonal = costs[ix + 1];
            costs[ix + 1] = replaced.min(costs[ix] + 1).min(diagonal + 1);
        }
    }
    costs[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edit_distance_counts_letters_changed() {
        assert_eq!(edit_distance("kitten", "sitting"), 3);
        assert_eq!(edit_distance("", "abc"), 3);
        assert_eq!(edit_distance("same", "same"), 0);
    }

    #[test]
    fn near_names_offers_the_misspelled_one() {
        let names = ["age".to_owned(), "gender".to_owned(), "income".to_owned()];
        assert_eq!(near_names("Gendre", &names), "; did you mean \"gender\"?");
        assert!(near_names("zzzzzzz", &names).contains("\"age\""));
    }
}
