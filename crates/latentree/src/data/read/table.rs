//! Tables of rows with the same columns: one file, or parts that are read as one.

use std::sync::Arc;

use super::cell::CellSink;
#[cfg(feature = "columnar")]
use super::columnar::ColumnarTable;
use super::csv::CsvTable;
use super::input::Input;
use super::options::ReadOptions;
use super::parts::PartsTable;
use super::rolled_table::RolledTable;
use super::{Format, sparse};
#[cfg(not(feature = "columnar"))]
use crate::error::Error;
use crate::error::{Place, Result};

/// A table, wherever its rows are.
pub(super) enum Table {
    File(FileTable),
    Parts(Box<PartsTable>),
    Rolled(Box<RolledTable>),
}

/// A table in one file.
pub(super) enum FileTable {
    Csv(Box<CsvTable>),
    #[cfg(feature = "columnar")]
    Columnar(Box<ColumnarTable>),
}

impl Table {
    pub(super) fn names(&self) -> &[String] {
        match self {
            Self::File(table) => table.names(),
            Self::Parts(table) => table.names(),
            Self::Rolled(table) => table.names(),
        }
    }

    /// Reads up to `max_rows` rows into the sink; none only at the end.
    pub(super) fn read_rows(&mut self, max_rows: usize, sink: &mut impl CellSink) -> Result<usize> {
        match self {
            Self::File(table) => table.read_rows(max_rows, sink),
            Self::Parts(table) => table.read_rows(max_rows, sink),
            Self::Rolled(table) => table.read_rows(max_rows, sink),
        }
    }

    pub(super) fn rewind(&mut self) -> Result<()> {
        match self {
            Self::File(table) => table.rewind(),
            Self::Parts(table) => {
                table.rewind();
                Ok(())
            }
            Self::Rolled(table) => table.rewind(),
        }
    }

    /// Why a column cannot be a variable whatever its values are: a date, a list.
    pub(super) fn unusable(&self, column: usize) -> Option<String> {
        match self {
            Self::File(table) => table.unusable(column),
            Self::Parts(table) => table.unusable(column),
            Self::Rolled(table) => table.unusable(column),
        }
    }

    /// Whether a comma in a number is decimal where nothing tells: in text that is not separated by commas.
    pub(super) fn prefers_comma(&self) -> bool {
        match self {
            Self::File(table) => table.prefers_comma(),
            Self::Parts(table) => table.prefers_comma(),
            Self::Rolled(table) => table.prefers_comma(),
        }
    }

    /// Whether the header gives the first column no name.
    pub(super) fn first_is_unnamed(&self) -> bool {
        matches!(self, Self::File(FileTable::Csv(table)) if table.first_is_unnamed())
    }

    /// Whether all cells are written as text.
    pub(super) fn is_text(&self) -> bool {
        match self {
            Self::File(table) => table.is_text(),
            Self::Parts(table) => table.is_text(),
            Self::Rolled(table) => table.is_text(),
        }
    }

    /// Whether the columns have names of their own, rather than positions.
    pub(super) fn is_named(&self, options: &ReadOptions) -> bool {
        !self.is_text() || options.header || options.names.is_some()
    }

    /// Whether the cells of a column can be given as text.
    pub(super) fn can_be_text(&self, column: usize) -> bool {
        match self {
            Self::File(table) => table.can_be_text(column),
            Self::Parts(table) => table.can_be_text(column),
            Self::Rolled(table) => table.can_be_text(column),
        }
    }

    /// Says which columns are wanted, the cells of the others may be left out, and which of them as text.
    pub(super) fn project(&mut self, wanted: &[bool], is_text: &[bool]) -> Result<()> {
        match self {
            Self::File(table) => table.project(wanted, is_text),
            Self::Parts(table) => {
                table.project(wanted, is_text);
                Ok(())
            }
            Self::Rolled(table) => table.project(wanted, is_text),
        }
    }

    /// Whether the cells of columns that are not wanted come, too.
    pub(super) fn gives_all(&self) -> bool {
        match self {
            Self::File(FileTable::Csv(_)) => true,
            Self::Rolled(table) => table.inner().gives_all(),
            _ => false,
        }
    }

    /// Where a row is that was read since the last rewind, in a table at `place`.
    pub(super) fn place_of(&self, row: u64, place: &Place) -> Place {
        match self {
            Self::File(_) => place.clone().row(row + 1),
            Self::Parts(table) => table.place_of(row),
            Self::Rolled(table) => table.place_of(row, place),
        }
    }

    /// Fails if some part lacks a column that an option names.
    pub(super) fn require(&self, column: usize, option: &str) -> Result<()> {
        match self {
            Self::File(_) => Ok(()),
            Self::Parts(table) => table.require(column, option),
            Self::Rolled(table) => table.require(column, option),
        }
    }

    /// Says which columns are read from the names of folders instead of the files.
    pub(super) fn covered(&self) -> Vec<String> {
        match self {
            Self::File(_) => Vec::new(),
            Self::Parts(table) => table.covered(),
            Self::Rolled(table) => table.covered(),
        }
    }

    /// Says which of the wanted columns are not in every part.
    pub(super) fn lacking(&self, wanted: &[bool]) -> Option<String> {
        match self {
            Self::File(_) => None,
            Self::Parts(table) => table.lacking(wanted),
            Self::Rolled(table) => table.lacking(wanted),
        }
    }
}

impl FileTable {
    pub(super) fn open(input: &Arc<Input>, format: Format, options: &ReadOptions) -> Result<Self> {
        match format {
            #[cfg(feature = "columnar")]
            Format::Parquet | Format::Arrow => {
                let table = ColumnarTable::new(Arc::clone(input), format == Format::Parquet)?;
                Ok(Self::Columnar(Box::new(table)))
            }
            #[cfg(not(feature = "columnar"))]
            Format::Parquet | Format::Arrow => {
                let problem = "this build cannot read Parquet and Arrow files (feature columnar is off); convert it to CSV";
                Err(Error::data(input.place(), problem))
            }
            Format::Csv(by_ending) => {
                let mut table = CsvTable::new(Arc::clone(input), options.header, by_ending)?;
                if options.names.is_some() {
                    table.rename(sparse::column_names(options, &input.place(), table.names().len() as u64, false)?.0);
                }
                Ok(Self::Csv(Box::new(table)))
            }
            Format::Coordinate(_) | Format::Libsvm => unreachable!("sparse formats have no table"),
        }
    }

    pub(super) fn names(&self) -> &[String] {
        match self {
            Self::Csv(table) => table.names(),
            #[cfg(feature = "columnar")]
            Self::Columnar(table) => table.names(),
        }
    }

    pub(super) fn read_rows(&mut self, max_rows: usize, sink: &mut impl CellSink) -> Result<usize> {
        match self {
            Self::Csv(table) => table.read_rows(max_rows, sink),
            #[cfg(feature = "columnar")]
            Self::Columnar(table) => table.read_rows(max_rows, sink),
        }
    }

    pub(super) fn rewind(&mut self) -> Result<()> {
        match self {
            Self::Csv(table) => table.rewind(),
            #[cfg(feature = "columnar")]
            Self::Columnar(table) => table.rewind(),
        }
    }

    pub(super) fn unusable(&self, column: usize) -> Option<String> {
        match self {
            Self::Csv(table) => {
                debug_assert!(column < table.names().len());
                None
            }
            #[cfg(feature = "columnar")]
            Self::Columnar(table) => table.unusable(column),
        }
    }

    /// Whether a column's type says that it has no values.
    pub(super) fn is_null(&self, column: usize) -> bool {
        match self {
            Self::Csv(table) => column >= table.names().len(),
            #[cfg(feature = "columnar")]
            Self::Columnar(table) => table.is_null(column),
        }
    }

    pub(super) fn prefers_comma(&self) -> bool {
        matches!(self, Self::Csv(table) if table.delimiter() != b',')
    }

    pub(super) fn is_text(&self) -> bool {
        matches!(self, Self::Csv(_))
    }

    pub(super) fn can_be_text(&self, column: usize) -> bool {
        match self {
            Self::Csv(table) => column < table.names().len(),
            #[cfg(feature = "columnar")]
            Self::Columnar(table) => table.can_be_text(column),
        }
    }

    pub(super) fn project(&mut self, wanted: &[bool], is_text: &[bool]) -> Result<()> {
        match self {
            Self::Csv(table) => {
                debug_assert_eq!((wanted.len(), is_text.len()), (table.names().len(), table.names().len()));
                Ok(())
            }
            #[cfg(feature = "columnar")]
            Self::Columnar(table) => table.project(wanted, is_text),
        }
    }
}
