//! Values that a user says mean missing: 999, -99, unknown.

use std::collections::HashSet;

use super::cell::{Cell, number, number_key};
use super::options::ReadOptions;
use super::overrides::unknown_column;
use crate::error::Result;

/// For each column of a table, the values that mean missing.
#[derive(Debug, Clone, Default)]
pub(super) struct MissingValues {
    columns: Vec<Option<Values>>,
}

#[derive(Debug, Clone, Default, PartialEq)]
struct Values {
    texts: HashSet<Box<[u8]>>,
    numbers: Vec<u64>,
}

impl MissingValues {
    /// The values for the columns of a table; ids and weights are not among them.
    pub(super) fn new(options: &ReadOptions, names: &[String]) -> Self {
        if options.na.is_empty() {
            return Self::default();
        }
        let column = |name: &String| {
            let is_other = options.id.as_ref() == Some(name) || options.weights.as_ref() == Some(name);
            let mut values = Values::default();
            for (_, value) in options.na.iter().filter(|(of, _)| of == name || (of == "*" && !is_other)) {
                let text = value.trim().as_bytes();
                values.texts.insert(text.into());
                values.numbers.extend(number(text).map(number_key));
            }
            Some(values).filter(|it| *it != Values::default())
        };
        Self { columns: names.iter().map(column).collect() }
    }

    /// Fails if a column is named that the data do not have.
    pub(super) fn check_names(options: &ReadOptions, names: &[String]) -> Result<()> {
        match options.na.iter().find(|(name, _)| name != "*" && !names.contains(name)) {
            Some((name, _)) => Err(unknown_column("read.na", name, names)),
            None => Ok(()),
        }
    }

    /// Whether a column has any such values.
    #[inline]
    pub(super) fn has(&self, column: usize) -> bool {
        self.columns.get(column).is_some_and(Option::is_some)
    }

    /// The cell, missing if its value means so.
    #[inline]
    pub(super) fn read<'a>(&self, column: usize, cell: Cell<'a>) -> Cell<'a> {
        match self.columns.get(column) {
            Some(Some(values)) if values.include(cell) => Cell::Missing,
            _ => cell,
        }
    }
}

impl Values {
    fn include(&self, cell: Cell<'_>) -> bool {
        let is_number = |value: f64| self.numbers.contains(&number_key(value));
        match cell {
            Cell::Missing => false,
            Cell::Text(text) => self.texts.contains(text) || (!self.numbers.is_empty() && number(text).is_some_and(is_number)),
            Cell::Number(value) => is_number(value),
            Cell::Bool(value) => self.texts.contains(value.to_string().as_bytes()),
        }
    }
}
