//! Folders of clinical data sets: MEDS and OMOP.
//!
//! MEDS 0.4: `data/**/*.parquet` with `subject_id`, `time` and `code`; `metadata/codes.parquet` describes codes and names their parents;
//! `metadata/subject_splits.parquet` says to which split a subject belongs.
//!
//! OMOP: `condition_occurrence` with `person_id`, `condition_concept_id` and `condition_start_date`; `concept` names concepts and
//! `concept_ancestor` lists their ancestors. Each is a CSV or Parquet file or a folder of parts, named in any case.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use super::cell::{Cell, CellSink, number_text};
use super::inheritance::Inheritance;
use super::item_file::ItemFile;
use super::options::ReadOptions;
use super::{Opened, PartsTable, Source, Table, open_file};
use crate::error::{Error, Place, Result};

/// Rows that an item must be in by default.
const MIN_ROWS: u64 = 20;

/// The format of a folder of clinical data.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClinicalFormat {
    /// MEDS, the Medical Event Data Standard; only subjects of this split, if one is named.
    Meds {
        /// `train`, `tuning`, `held_out`.
        split: Option<String>,
    },
    /// OMOP, the Observational Medical Outcomes Partnership's data model.
    Omop,
}

impl fmt::Display for ClinicalFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Meds { .. } => "MEDS",
            Self::Omop => "OMOP",
        })
    }
}

impl FromStr for ClinicalFormat {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "meds" => Ok(Self::Meds { split: None }),
            "omop" => Ok(Self::Omop),
            _ => Err(Error::option("read.clinical", format!("{name:?} is not meds or omop"))),
        }
    }
}

/// A folder as a table of events.
pub(super) struct Settled {
    pub(super) path: PathBuf,
    pub(super) options: ReadOptions,
    pub(super) notes: Vec<String>,
    /// Ids of the rows of the split.
    pub(super) split: Option<Vec<String>>,
}

impl Settled {
    /// The table of events in the folder, and how to read it.
    pub(super) fn find(folder: &Path, format: &ClinicalFormat, options: &ReadOptions) -> Result<Self> {
        let option = if *format == ClinicalFormat::Omop { "read.omop" } else { "read.meds" };
        if options.events.is_some() {
            return Err(Error::option(option, "the columns of the events are known; leave out `read.events`"));
        }
        if !folder.is_dir() {
            let problem = format!("{} is not a folder; give the one that holds the {format} data set", folder.display());
            return Err(Error::option(option, problem));
        }
        let mut settled = Self { path: PathBuf::new(), options: options.clone(), notes: Vec::new(), split: None };
        settled.options.items.min_rows.get_or_insert(MIN_ROWS);
        if settled.options.schema.is_some() {
            settled.options.items.min_rows = None;
        }
        match format {
            ClinicalFormat::Meds { split } => settled.meds(folder, split.as_deref())?,
            ClinicalFormat::Omop => settled.omop(folder)?,
        }
        Ok(settled)
    }

    fn meds(&mut self, folder: &Path, split: Option<&str>) -> Result<()> {
        let data = folder.join("data");
        if !data.is_dir() {
            let problem = "the folder has no folder \"data\" of Parquet files, as a MEDS data set has; give the folder above it";
            return Err(Error::data(Place::file(folder), problem));
        }
        self.path = data.join("**").join("*.parquet");
        self.options.events = Some(("subject_id".to_owned(), "code".to_owned(), None));
        self.options.times.column.get_or_insert_with(|| "time".to_owned());
        let codes = folder.join("metadata").join("codes.parquet");
        if codes.is_file() {
            if self.options.descriptions.is_none() && has_descriptions(&codes)? {
                self.options.descriptions = Some(ItemFile::new(&codes).columns("code", "description").own());
            }
            if self.options.rollup.is_some() {
                let parents = read_columns(&codes, &["code", "parent_codes"])?;
                let pairs = parents.into_iter().flat_map(|mut row| {
                    let (parents, code) = (row.pop().unwrap_or_default(), row.pop().unwrap_or_default());
                    listed(&parents).into_iter().map(move |parent| (code.clone(), parent)).collect::<Vec<_>>()
                });
                self.options.inheritance = Some(Arc::new(Inheritance::from_parents(pairs)));
            }
        } else {
            self.notes.push(format!("{} is not there: codes have no descriptions", codes.display()));
        }
        if let Some(split) = split {
            self.split = Some(subjects_of_split(folder, split)?);
        }
        Ok(())
    }

    fn omop(&mut self, folder: &Path) -> Result<()> {
        let Some(path) = table(folder, "condition_occurrence")? else {
            let problem =
                "the folder has no condition_occurrence (.csv, .csv.gz, .parquet or a folder of parts), as an OMOP data set has";
            return Err(Error::data(Place::file(folder), problem));
        };
        let names = table_columns(&path)?;
        let spelled = |name: &str| names.iter().find(|it| it.eq_ignore_ascii_case(name)).map_or(name, String::as_str).to_owned();
        self.path = path;
        self.options.events = Some((spelled("person_id"), spelled("condition_concept_id"), None));
        self.options.times.column = Some(spelled(self.options.times.column.as_deref().unwrap_or("condition_start_date")));
        match table(folder, "concept")? {
            Some(concepts) if self.options.descriptions.is_none() => {
                self.options.descriptions = Some(ItemFile::new(concepts).columns("concept_id", "concept_name").own());
            }
            Some(_) => {}
            None => self.notes.push(format!("{} has no table concept: concepts have no names", folder.display())),
        }
        if self.options.rollup.is_some() {
            let Some(path) = table(folder, "concept_ancestor")? else {
                self.notes
                    .push(format!("{} has no concept_ancestor: only concepts that are listed are rolled up", folder.display()));
                return Ok(());
            };
            let rows = read_columns(&path, &["descendant_concept_id", "ancestor_concept_id", "min_levels_of_separation"])?;
            let triples = rows.into_iter().filter_map(|row| {
                let [descendant, ancestor, level]: [String; 3] = row.try_into().ok()?;
                Some((descendant, ancestor, level.parse().unwrap_or(u32::MAX)))
            });
            self.options.inheritance = Some(Arc::new(Inheritance::from_ancestors(triples)));
        }
        Ok(())
    }
}

fn has_descriptions(codes: &Path) -> Result<bool> {
    let rows = read_columns(codes, &["code", "description"])?;
    Ok(rows.iter().any(|row| row.get(1).is_some_and(|text| !text.is_empty())))
}

fn subjects_of_split(folder: &Path, split: &str) -> Result<Vec<String>> {
    let path = folder.join("metadata").join("subject_splits.parquet");
    if !path.is_file() {
        let problem = format!("the data set has no {}, which says the split of each subject; leave it out", path.display());
        return Err(Error::option("read.subject_split", problem));
    }
    let rows = read_columns(&path, &["subject_id", "split"])?;
    let mut n_subjects: std::collections::BTreeMap<&str, usize> = std::collections::BTreeMap::new();
    rows.iter().for_each(|row| *n_subjects.entry(&row[1]).or_insert(0) += 1);
    if !n_subjects.contains_key(split) {
        let known: Vec<String> = n_subjects.iter().map(|(name, n)| format!("{name} ({n})")).collect();
        let problem = format!("{split:?} is no split of {}, which has {}", path.display(), known.join(", "));
        return Err(Error::option("read.subject_split", problem));
    }
    Ok(rows.into_iter().filter(|row| row[1] == split).map(|mut row| row.swap_remove(0)).collect())
}

/// A table of an OMOP folder: a file or a folder of parts with this name, in any case.
fn table(folder: &Path, name: &str) -> Result<Option<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(Error::io("read", folder))? {
        let path = entry.map_err(Error::io("read", folder))?.path();
        let file = path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
        let stem = file.split('.').next().unwrap_or_default();
        let ending = file.strip_prefix(stem).unwrap_or_default().trim_end_matches(".gz").trim_end_matches(".zst");
        if stem == name && (path.is_dir() || matches!(ending, ".csv" | ".tsv" | ".parquet" | ".arrow" | ".feather")) {
            found.push(path);
        }
    }
    found.sort();
    match &found[..] {
        [] => Ok(None),
        [only] => Ok(Some(only.clone())),
        [first, second, ..] => {
            let problem = format!("{} and {} are both there; move one elsewhere", first.display(), second.display());
            Err(Error::data(Place::file(folder), problem))
        }
    }
}

/// Parents of a code, as a list is written: `[a, b]`.
fn listed(text: &str) -> Vec<String> {
    let inner = text.trim().trim_start_matches('[').trim_end_matches(']');
    inner.split(',').map(|parent| parent.trim().to_owned()).filter(|parent| !parent.is_empty()).collect()
}

fn open_table(path: &Path) -> Result<Table> {
    let options = ReadOptions::default();
    match &Source::find(path, &options)? {
        Source::File(input, format) => match open_file(input, *format, &options)? {
            Opened::Table(table) => Ok(table),
            Opened::Sparse(_) => Err(Error::data(input.place(), "it is not a table")),
        },
        Source::Parts(parts) => Ok(Table::Parts(Box::new(PartsTable::open(Arc::clone(parts), &options)?))),
        Source::Text(text) => Err(Error::data(Place::file(text.path()), "it is not a table")),
    }
}

/// The names of a table's columns.
pub(crate) fn table_columns(path: &Path) -> Result<Vec<String>> {
    Ok(open_table(path)?.names().to_vec())
}

/// Reads columns of a table as text; a column that is not there is empty.
///
/// # Errors
/// If the first column is not there.
pub(crate) fn read_columns(path: &Path, wanted: &[&str]) -> Result<Vec<Vec<String>>> {
    let mut table = open_table(path)?;
    let places: HashMap<usize, usize> = wanted
        .iter()
        .enumerate()
        .filter_map(|(ix, name)| Some((table.names().iter().position(|it| it.eq_ignore_ascii_case(name))?, ix)))
        .filter(|(column, _)| table.can_be_text(*column))
        .collect();
    if !places.values().any(|&ix| ix == 0) {
        let problem = format!("it has no column {:?}; it has {}", wanted[0], table.names().join(", "));
        return Err(Error::data(Place::file(path), problem));
    }
    let is_wanted: Vec<bool> = (0..table.names().len()).map(|ix| places.contains_key(&ix)).collect();
    table.project(&is_wanted, &is_wanted)?;
    let mut sink = TextSink { places, n_wanted: wanted.len(), first_row: 0, rows: Vec::new() };
    let mut all = Vec::new();
    loop {
        let n_rows = table.read_rows(4096, &mut sink)?;
        if n_rows == 0 {
            return Ok(all);
        }
        sink.first_row += n_rows as u64;
        all.append(&mut sink.rows);
    }
}

struct TextSink {
    places: HashMap<usize, usize>,
    n_wanted: usize,
    first_row: u64,
    rows: Vec<Vec<String>>,
}

impl CellSink for TextSink {
    fn cell(&mut self, row: u64, column: usize, cell: Cell<'_>) -> Result<(), String> {
        let ix = (row - self.first_row) as usize;
        if ix >= self.rows.len() {
            self.rows.resize(ix + 1, vec![String::new(); self.n_wanted]);
        }
        if let Some(&place) = self.places.get(&column) {
            self.rows[ix][place] = match cell {
                Cell::Text(text) => String::from_utf8_lossy(text).into_owned(),
                Cell::Number(value) if !value.is_nan() => number_text(value),
                Cell::Bool(value) => value.to_string(),
                _ => String::new(),
            };
        }
        Ok(())
    }
}

/// A note on the concept that OMOP has for what no standard concept stands for.
pub(super) const UNMAPPED_NOTE: &str = "concept 0 stands for all conditions that have no standard concept, and is one column; leave it out with `read.codes` '[1-9]*'";

/// A note if codes are of several vocabularies: `ICD9CM//250.00`, `ICD10CM//E11.9`.
pub(super) fn vocabularies_note(names: &[String]) -> Option<String> {
    let mut n_codes: HashMap<&str, usize> = HashMap::new();
    for name in names {
        *n_codes.entry(name.rsplit_once("//").map_or("", |(vocabulary, _)| vocabulary)).or_insert(0) += 1;
    }
    if n_codes.len() < 2 {
        return None;
    }
    let mut counts: Vec<(&str, usize)> = n_codes.into_iter().collect();
    counts.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    let called = |name: &str| if name.is_empty() { "without a vocabulary".to_owned() } else { format!("{name}//*") };
    let shown: Vec<String> = counts.iter().take(5).map(|(name, n)| format!("{} ({n})", called(name))).collect();
    let more = if counts.len() > 5 { ", …" } else { "" };
    Some(format!(
        "codes come from {} vocabularies: {}{more}; one diagnosis may be several columns. Choose with `read.codes`, or join them with `read.rollup`",
        counts.len(),
        shown.join(", ")
    ))
}
