//! Cells that are passed on as text: row ids, and columns that are not variables.
//!
//! They are read batch by batch beside the variables and are gone with the next batch, so that a table larger than memory can be
//! passed through.

use super::cell::{Cell, number_text};
use crate::index::ColIx;

/// Where the cells of one column of a file are after reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileColumn {
    /// In the batch, as this column of the schema.
    Variable(ColIx),
    /// Among the [`Carried`] cells, as this column.
    Carried(usize),
    /// In both: as this column of the schema, and as it is written.
    Both(ColIx, usize),
}

/// The carried cells of a batch, as text: the id first, if there is one, then the others in the order of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Carried {
    names: Vec<String>,
    cells: Vec<Vec<Option<Box<str>>>>,
}

impl Carried {
    pub(super) fn new(names: Vec<String>) -> Self {
        let cells = names.iter().map(|_| Vec::new()).collect();
        Self { names, cells }
    }

    pub(super) fn clear(&mut self) {
        self.cells.iter_mut().for_each(Vec::clear);
    }

    pub(super) fn push(&mut self, column: usize, cell: Cell<'_>) {
        let text: Option<Box<str>> = match cell {
            Cell::Missing => None,
            Cell::Text([]) => None,
            // Text that is not UTF-8 is carried too, with invalid bytes replaced.
            Cell::Text(text) => Some(String::from_utf8_lossy(text).into()),
            Cell::Number(value) if value.is_nan() => None,
            Cell::Number(value) => Some(number_text(value).into()),
            Cell::Bool(value) => Some(value.to_string().into()),
        };
        self.cells[column].push(text);
    }

    /// Names of the columns.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// A cell by its row in the batch and its column; `None` if it is empty.
    ///
    /// # Panics
    /// If there is no such row or column.
    #[must_use]
    pub fn cell(&self, row: usize, column: usize) -> Option<&str> {
        self.cells[column][row].as_deref()
    }
}
