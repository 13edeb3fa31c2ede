//! Reads the rows of all parts, one part after another.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use super::{Parts, SHOWN};
use crate::data::read::cell::{Cell, CellSink};
use crate::data::read::options::ReadOptions;
use crate::data::read::sparse::changed;
use crate::data::read::table::FileTable;
use crate::error::{Error, Place, Result, Shortened};

/// A column of all parts together.
struct PartColumn {
    name: String,
    /// Whether some file has it; otherwise folders give it.
    in_file: bool,
    /// Why it is not a variable, by its type in some part.
    unusable: Option<String>,
    /// Whether its type has no values, in all parts that have it.
    is_null: bool,
    can_be_text: bool,
    /// Parts that have it, and the last of them.
    n_parts: usize,
    last: usize,
    /// The first part that does not have it.
    lacking: Option<usize>,
}

/// A table of parts.
pub(in super::super) struct PartsTable {
    parts: Arc<Parts>,
    options: ReadOptions,
    names: Vec<String>,
    columns: Vec<PartColumn>,
    /// Columns of files for which a folder has the value.
    covered: Vec<String>,
    index: HashMap<String, usize>,
    is_text: bool,
    prefers_comma: bool,
    wanted: Vec<bool>,
    as_text: Vec<bool>,
    /// The first row of each part that has been begun.
    starts: Vec<u64>,
    next_row: u64,
    current: Option<Current>,
}

/// The part that is being read.
struct Current {
    table: FileTable,
    /// For each column of the file, its place among those of all parts.
    targets: Vec<Option<usize>>,
    /// Columns that the file does not have, and their text in all of its rows; `None` is missing.
    constants: Vec<(usize, Option<String>)>,
}

/// Hands cells of a part on as cells of the whole table.
struct PartSink<'a, S> {
    sink: &'a mut S,
    targets: &'a [Option<usize>],
    first_row: u64,
}

impl<S: CellSink> CellSink for PartSink<'_, S> {
    #[inline]
    fn cell(&mut self, row: u64, column: usize, cell: Cell<'_>) -> Result<(), String> {
        self.targets[column].map_or(Ok(()), |target| self.sink.cell(self.first_row + row, target, cell))
    }

    fn whole_numbers(&mut self, column: usize, numbers: &[i64], missing: &mut dyn Iterator<Item = usize>) -> bool {
        self.targets[column].is_none_or(|target| self.sink.whole_numbers(target, numbers, missing))
    }
}

impl PartsTable {
    /// Looks at the columns of every part.
    pub(in super::super) fn open(parts: Arc<Parts>, options: &ReadOptions) -> Result<Self> {
        let mut columns: Vec<PartColumn> = Vec::new();
        let mut index: HashMap<String, usize> = HashMap::new();
        let mut shape: Option<(bool, usize)> = None;
        let mut covered: Vec<String> = Vec::new();
        let (mut n_text, mut prefers_comma) = (0, true);
        for ix in 0..parts.len() {
            let (part, folders) = parts.table(ix, options)?;
            let is_text = part.is_text();
            n_text += usize::from(is_text);
            prefers_comma &= !is_text || part.prefers_comma();
            let first = *shape.get_or_insert((is_text, part.names().len()));
            if !options.header {
                check_positions(&parts, ix, first, &part)?;
            }
            let mut add = |name: &String, from: Option<usize>, in_file: bool| {
                let at = index.get(name).copied().unwrap_or_else(|| {
                    index.insert(name.clone(), columns.len());
                    columns.push(PartColumn::new(name, ix));
                    columns.len() - 1
                });
                columns[at].observe(ix, from.map(|column| (&part, column)), in_file);
            };
            for (column, name) in part.names().iter().enumerate() {
                // What a folder says goes before what the file says.
                let is_covered = folders.iter().any(|(folder, _)| folder == name);
                if is_covered && !covered.contains(name) {
                    covered.push(name.clone());
                }
                add(name, (!is_covered).then_some(column), true);
            }
            folders.iter().filter(|(name, _)| !part.names().contains(name)).for_each(|(name, _)| add(name, None, false));
        }
        for column in columns.iter_mut().filter(|column| column.last + 1 < parts.len()) {
            column.lacking.get_or_insert(column.last + 1);
        }
        columns.sort_by_key(|column| !column.in_file);
        let names: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
        Ok(Self {
            covered,
            index: names.iter().cloned().zip(0..).collect(),
            is_text: n_text == parts.len(),
            prefers_comma: prefers_comma && n_text > 0,
            wanted: vec![true; names.len()],
            as_text: vec![false; names.len()],
            starts: Vec::new(),
            next_row: 0,
            current: None,
            options: options.clone(),
            parts,
            names,
            columns,
        })
    }

    pub(in super::super) fn names(&self) -> &[String] {
        &self.names
    }

    pub(in super::super) fn is_text(&self) -> bool {
        self.is_text
    }

    pub(in super::super) fn prefers_comma(&self) -> bool {
        self.prefers_comma
    }

    pub(in super::super) fn unusable(&self, column: usize) -> Option<String> {
        let column = &self.columns[column];
        column.unusable.clone().or_else(|| column.is_null.then(|| "it has no values".to_owned()))
    }

    pub(in super::super) fn can_be_text(&self, column: usize) -> bool {
        self.columns[column].can_be_text
    }

    pub(in super::super) fn project(&mut self, wanted: &[bool], is_text: &[bool]) {
        (self.wanted, self.as_text) = (wanted.to_vec(), is_text.to_vec());
        self.rewind();
    }

    pub(in super::super) fn rewind(&mut self) {
        self.starts.clear();
        self.next_row = 0;
        self.current = None;
    }

    /// Reads up to `max_rows` rows of one part; none only after the last part.
    pub(in super::super) fn read_rows(&mut self, max_rows: usize, sink: &mut impl CellSink) -> Result<usize> {
        loop {
            let mut current = match self.current.take() {
                Some(current) => current,
                None if self.starts.len() == self.parts.len() => return Ok(0),
                None => {
                    let current = self.open_part(self.starts.len())?;
                    self.starts.push(self.next_row);
                    current
                }
            };
            let first_row = self.starts.last().copied().unwrap_or(0);
            let mut part_sink = PartSink { sink: &mut *sink, targets: &current.targets, first_row };
            let n_rows = current.table.read_rows(max_rows, &mut part_sink)?;
            if n_rows == 0 {
                continue;
            }
            let rows = self.next_row..self.next_row + n_rows as u64;
            for (row, (column, text)) in rows.flat_map(|row| current.constants.iter().map(move |constant| (row, constant))) {
                let cell = text.as_ref().map_or(Cell::Missing, |text| Cell::Text(text.as_bytes()));
                sink.cell(row, *column, cell)
                    .map_err(|problem| Error::data(self.place_of(row).column(&self.names[*column]), problem))?;
            }
            self.next_row += n_rows as u64;
            self.current = Some(current);
            return Ok(n_rows);
        }
    }

    fn open_part(&self, ix: usize) -> Result<Current> {
        let (mut table, folders) = self.parts.table(ix, &self.options)?;
        let mut is_absent = self.wanted.clone();
        let mut constants = Vec::new();
        for (name, value) in folders {
            let column = *self.index.get(&name).ok_or_else(|| changed(self.place(ix)))?;
            if std::mem::take(&mut is_absent[column]) {
                constants.push((column, value.map(|value| value.trim().to_owned())));
            }
        }
        let mut targets = Vec::with_capacity(table.names().len());
        for name in table.names() {
            let column = *self.index.get(name).ok_or_else(|| changed(self.place(ix)))?;
            targets.push(std::mem::take(&mut is_absent[column]).then_some(column));
        }
        constants.extend((0..is_absent.len()).filter(|&column| is_absent[column]).map(|column| (column, None)));
        let wanted: Vec<bool> = targets.iter().map(Option::is_some).collect();
        let as_text: Vec<bool> = targets.iter().map(|target| target.is_some_and(|column| self.as_text[column])).collect();
        table.project(&wanted, &as_text)?;
        Ok(Current { table, targets, constants })
    }

    fn place(&self, ix: usize) -> Place {
        Place::file(self.parts.path(ix))
    }

    /// The part and its own number of a row that has been read.
    pub(in super::super) fn place_of(&self, row: u64) -> Place {
        let ix = self.starts.partition_point(|&start| start <= row).saturating_sub(1);
        self.place(ix).row(row - self.starts.get(ix).copied().unwrap_or(0) + 1)
    }

    /// Fails if some part lacks a column that an option names.
    pub(in super::super) fn require(&self, column: usize, option: &str) -> Result<()> {
        let Some(part) = self.columns[column].lacking else { return Ok(()) };
        let problem = format!("the part has no column {:?}, which `{option}` names", Shortened(&self.names[column]));
        Err(Error::data(self.place(part), problem))
    }

    /// Says which columns of files are not read, because folders have their values.
    pub(in super::super) fn covered(&self) -> Vec<String> {
        let note = |name: &String| {
            let name = Shortened(name);
            format!("column {name:?} comes from directory names; the values in the files are ignored")
        };
        self.covered.iter().take(SHOWN).map(note).collect()
    }

    /// Says which of the wanted columns are not in every part.
    pub(in super::super) fn lacking(&self, wanted: &[bool]) -> Option<String> {
        let columns = self.columns.iter().zip(wanted).filter(|(_, wanted)| **wanted);
        let lacking: Vec<(&PartColumn, &Path)> =
            columns.filter_map(|(column, _)| Some((column, self.parts.path(column.lacking?)))).collect();
        let n_parts = self.parts.len();
        let shown: Vec<String> = lacking
            .iter()
            .take(SHOWN)
            .map(|(column, part)| {
                let such = if n_parts - column.n_parts > 1 { "such as " } else { "" };
                format!(
                    "{:?} (not in {} of {n_parts}: {such}{})",
                    Shortened(&column.name),
                    n_parts - column.n_parts,
                    part.display()
                )
            })
            .collect();
        let more = if lacking.len() > SHOWN { ", …" } else { "" };
        let (count, are) =
            if lacking.len() == 1 { ("1 column".to_owned(), "is") } else { (format!("{} columns", lacking.len()), "are") };
        (!lacking.is_empty())
            .then(|| format!("{count} {are} not in every part and missing where absent: {}{more}", shown.join(", ")))
    }
}

impl PartColumn {
    fn new(name: &str, part: usize) -> Self {
        Self {
            name: name.to_owned(),
            in_file: false,
            unusable: None,
            is_null: true,
            can_be_text: true,
            n_parts: 0,
            last: part,
            lacking: (part > 0).then_some(0),
        }
    }

    /// Takes in that a part has it: in this column of its file, or in its folders.
    fn observe(&mut self, part: usize, from: Option<(&FileTable, usize)>, in_file: bool) {
        if self.lacking.is_none() && self.last + 1 < part {
            self.lacking = Some(self.last + 1);
        }
        self.last = part;
        self.n_parts += 1;
        self.in_file |= in_file;
        let is_null = from.is_some_and(|(table, column)| table.is_null(column));
        self.is_null &= is_null;
        if let (Some((table, column)), false) = (from, is_null) {
            self.can_be_text &= table.can_be_text(column);
            if self.unusable.is_none() {
                self.unusable = table.unusable(column);
            }
        }
    }
}

/// Checks a part whose columns are known by their positions.
fn check_positions(parts: &Parts, ix: usize, first: (bool, usize), part: &FileTable) -> Result<()> {
    let (place, other) = (Place::file(parts.path(ix)), parts.path(0).display());
    let n_columns = part.names().len();
    if part.is_text() != first.0 {
        let problem = format!("either this part or {other} names its columns itself; parts without header must all be text");
        return Err(Error::data(place, problem));
    }
    if part.is_text() && n_columns != first.1 {
        let problem =
            format!("{n_columns} columns where {other} has {}; parts without header must have the same columns", first.1);
        return Err(Error::data(place, problem));
    }
    Ok(())
}
