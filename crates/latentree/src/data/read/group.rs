//! The file that joins columns into vector-valued variables: CSV of an item (a column of the data) and its group.
//!
//! With a header that has `item` and `group`, these columns are taken, wherever they stand; a file of exactly two columns
//! needs no header. An item listed under several groups belongs to the first.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use super::cell::{Cell, CellSink};
use super::csv::CsvTable;
use super::input::Input;
use crate::error::{Error, Result};
use crate::file;

/// The group of each item, and how many items were listed under several.
#[derive(Debug, Default)]
pub(super) struct Groups {
    pub(super) group_of: HashMap<String, String>,
    pub(super) n_ambiguous: usize,
}

impl Groups {
    pub(super) fn read(path: &Path) -> Result<Self> {
        let input = Arc::new(Input::new(path)?);
        let by_ending = if file::ending(path) == "tsv" { b'\t' } else { b',' };
        // The first line is read as data: if it is a header its "item" is no column, and it does no harm.
        let mut table = CsvTable::new(Arc::clone(&input), false, Some(by_ending))?;
        let mut header = Pairs { item: 0, group: 1, n_columns: table.names().len(), rows: Vec::new() };
        let (item, group) = {
            let mut first = FirstRow::default();
            table.read_rows(1, &mut first)?;
            let find = |name: &str| first.0.iter().position(|field| field.eq_ignore_ascii_case(name));
            match (find("item"), find("group"), table.names().len()) {
                (Some(item), Some(group), _) => (item, group),
                (_, _, 2) => (0, 1),
                (_, _, n_columns) => {
                    let problem = format!(
                        "the file has {n_columns} columns; a file of groups has two, the column's name and its group, or a \
                         header with \"item\" and \"group\" among its names"
                    );
                    return Err(Error::data(input.place(), problem));
                }
            }
        };
        (header.item, header.group) = (item, group);
        table.rewind()?;
        let mut groups = Self::default();
        while table.read_rows(4096, &mut header)? > 0 {
            for [item, group] in header.rows.drain(..) {
                if item.is_empty() || group.is_empty() {
                    continue;
                }
                groups.insert(item, group);
            }
        }
        Ok(groups)
    }

    pub(super) fn insert(&mut self, item: String, group: String) {
        match self.group_of.get(&item) {
            Some(earlier) if *earlier != group => self.n_ambiguous += 1,
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
