//! The file that joins columns into vector-valued variables: CSV of an item (a column of the data) and its group.
//!
//! The user may name the two columns. Otherwise, with a header that has `item` and `group`, these are taken, wherever they stand;
//! a file of exactly two columns needs no header. An item listed under several groups belongs to the first.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use super::cell::{Cell, CellSink};
use super::csv::CsvTable;
use super::input::Input;
use super::overrides::unknown_column_of;
use crate::error::{Error, Result};
use crate::file;

/// The group of each item, and the items that are listed under several.
#[derive(Debug, Default)]
pub(super) struct Groups {
    pub(super) group_of: HashMap<String, String>,
    pub(super) ambiguous: HashSet<String>,
}

impl Groups {
    /// Reads the file; `columns` names those of the item and of the group.
    pub(super) fn read(path: &Path, columns: Option<&(String, String)>) -> Result<Self> {
        let input = Arc::new(Input::new(path)?);
        let by_ending = if file::ending(path) == "tsv" { b'\t' } else { b',' };
        // Without named columns the first line may be data: a header that is taken for data is no column of the table and does no
        // harm.
        let mut table = CsvTable::new(Arc::clone(&input), columns.is_some(), Some(by_ending))?;
        let (item, group) = match columns {
            Some((item, group)) => {
                let find = |name: &str| {
                    let found = table.names().iter().position(|it| it == name);
                    found.ok_or_else(|| unknown_column_of(&format!("{} has", path.display()), "read.group", name, table.names()))
                };
                (find(item)?, find(group)?)
            }
            None => Self::columns_of(&mut table, &input)?,
        };
        let mut pairs = Pairs { item, group, n_columns: table.names().len(), rows: Vec::new() };
        let mut groups = Self::default();
        while table.read_rows(4096, &mut pairs)? > 0 {
            for [item, group] in pairs.rows.drain(..) {
                if item.is_empty() || group.is_empty() {
                    continue;
                }
                groups.insert(item, group);
            }
        }
        Ok(groups)
    }

    /// The columns of the item and of the group by the first line.
    fn columns_of(table: &mut CsvTable, input: &Input) -> Result<(usize, usize)> {
        let mut first = FirstRow::default();
        table.read_rows(1, &mut first)?;
        let find = |name: &str| first.0.iter().position(|field| field.eq_ignore_ascii_case(name));
        match (find("item"), find("group"), table.names().len()) {
            (Some(item), Some(group), _) => Ok((item, group)),
            (_, _, 2) => {
                table.rewind()?;
                Ok((0, 1))
            }
            (_, _, n_columns) => {
                let problem = format!(
                    "the file has {n_columns} columns ({}); name those of the item and of the group, as in `read.group` {}:{}, or call them \"item\" and \"group\"",
                    first.0.join(", "),
                    input.path.display(),
                    first.0.iter().take(2).map(String::as_str).collect::<Vec<_>>().join(",")
                );
                Err(Error::data(input.place(), problem))
            }
        }
    }

    pub(super) fn insert(&mut self, item: String, group: String) {
        match self.group_of.get(&item) {
            Some(earlier) if *earlier != group => {
                self.ambiguous.insert(item);
            }
            Some(_) => {}
            None => {
                self.group_of.insert(item, group);
            }
        }
    }
}

#[derive(Default)]
struct FirstRow(Vec<String>);

impl CellSink for FirstRow {
    fn cell(&mut self, _row: u64, _column: usize, cell: Cell<'_>) -> Result<(), String> {
        self.0.push(text_of(cell)?);
        Ok(())
    }
}

struct Pairs {
    item: usize,
    group: usize,
    n_columns: usize,
    rows: Vec<[String; 2]>,
}

impl CellSink for Pairs {
    fn cell(&mut self, _row: u64, column: usize, cell: Cell<'_>) -> Result<(), String> {
        debug_assert!(column < self.n_columns);
        if column == 0 {
            self.rows.push(Default::default());
        }
        let row = self.rows.last_mut().expect("a row begins with its first column");
        if column == self.item {
            row[0] = text_of(cell)?;
        } else if column == self.group {
            row[1] = text_of(cell)?;
        }
        Ok(())
    }
}

fn text_of(cell: Cell<'_>) -> Result<String, String> {
    match cell {
        Cell::Text(text) => String::from_utf8(text.to_vec()).map_err(|_| "not UTF-8 text; save the file as UTF-8".to_owned()),
        _ => Ok(String::new()),
    }
}
