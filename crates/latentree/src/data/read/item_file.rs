//! Files of two columns that say something of items: their group, or their description.
//!
//! The user may name the two columns. Otherwise, with a header that has the expected names, these are taken, wherever they stand; a text
//! file of exactly two columns needs no header. Parquet and Arrow files name their columns.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::cell::{Cell, CellSink, number_text};
use super::csv::CsvTable;
use super::input::Input;
use super::options::ReadOptions;
use super::overrides::unknown_column_of;
use super::table::FileTable;
use super::{Format, recognise};
use crate::error::{Error, Result};
use crate::file;

/// A file of items, and the columns to take from it if the user names them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemFile {
    pub(crate) path: PathBuf,
    pub(crate) columns: Option<(String, String)>,
    /// Whether it is part of a data set, and may say nothing of the items that are read.
    pub(crate) is_own: bool,
}

impl ItemFile {
    /// A file whose columns are found by their usual names.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), columns: None, is_own: false }
    }

    /// The same as a part of the data set that is read.
    pub(super) fn own(mut self) -> Self {
        self.is_own = true;
        self
    }

    /// Names the column of the item, and that of its group or description.
    #[must_use]
    pub fn columns(mut self, item: impl Into<String>, other: impl Into<String>) -> Self {
        self.columns = Some((item.into(), other.into()));
        self
    }
}

/// What a file of items is read for: the option, and the names that its columns usually have.
pub(super) struct Purpose {
    pub(super) option: &'static str,
    pub(super) items: &'static [&'static str],
    pub(super) others: &'static [&'static str],
}

/// The pairs of a file.
pub(super) struct ItemPairs {
    pub(super) pairs: Vec<[String; 2]>,
    /// Whether the first pair is perhaps a header, which cannot be told from data.
    pub(super) may_begin_with_header: bool,
}

/// Reads the pairs of a file in order, without those that lack one.
pub(super) fn read_pairs(file: &ItemFile, purpose: &Purpose) -> Result<ItemPairs> {
    let path = &file.path;
    let mut input = Input::new(path)?;
    let format = recognise(path, &input.first_bytes(4096)?);
    let is_columnar = matches!(format, Format::Parquet | Format::Arrow);
    if is_columnar {
        input.decompress()?;
    }
    let input = Arc::new(input);
    let mut table = if is_columnar {
        FileTable::open(&input, format, &ReadOptions::default())?
    } else {
        let by_ending = if file::ending(path) == "tsv" { b'\t' } else { b',' };
        // Without named columns the first line may be data: a header that is taken for data is no item and does no harm.
        FileTable::Csv(Box::new(CsvTable::new(Arc::clone(&input), file.columns.is_some(), Some(by_ending))?))
    };
    let (item, other, first_row) = match &file.columns {
        Some((item, other)) => {
            let find = |name: &str| {
                let names = table.names();
                let exact = names.iter().position(|it| it == name);
                let found = exact.or_else(|| names.iter().position(|it| it.eq_ignore_ascii_case(name)));
                found.ok_or_else(|| unknown_column_of(&format!("{} has", path.display()), purpose.option, name, table.names()))
            };
            (find(item)?, find(other)?, 0)
        }
        None if is_columnar => {
            let found = usual_columns(table.names(), purpose);
            let (item, other) = found.ok_or_else(|| unclear(table.names(), purpose, &input))?;
            (item, other, 0)
        }
        None => first_line(&mut table, purpose, &input)?,
    };
    let n_columns = table.names().len();
    let may_begin_with_header = !is_columnar && file.columns.is_none() && first_row == 0;
    if is_columnar {
        let wanted: Vec<bool> = (0..n_columns).map(|ix| ix == item || ix == other).collect();
        table.project(&wanted, &wanted)?;
    }
    let mut pairs = Pairs { item, other, first_row, rows: Vec::new() };
    let mut all = Vec::new();
    loop {
        let n_rows = table.read_rows(4096, &mut pairs)?;
        if n_rows == 0 {
            return Ok(ItemPairs { pairs: all, may_begin_with_header });
        }
        pairs.first_row += n_rows as u64;
        all.extend(pairs.rows.drain(..).filter(|[item, other]| !item.is_empty() && !other.is_empty()));
    }
}

/// The columns that have the usual names.
fn usual_columns(names: &[String], purpose: &Purpose) -> Option<(usize, usize)> {
    let find = |usual: &[&str]| usual.iter().find_map(|usual| names.iter().position(|name| name.eq_ignore_ascii_case(usual)));
    let (item, other) = (find(purpose.items)?, find(purpose.others)?);
    (item != other).then_some((item, other))
}

/// The two columns by the first line of a text file, and the row that comes next.
fn first_line(table: &mut FileTable, purpose: &Purpose, input: &Input) -> Result<(usize, usize, u64)> {
    let mut first = FirstRow::default();
    table.read_rows(1, &mut first)?;
    match (usual_columns(&first.0, purpose), table.names().len()) {
        (Some((item, other)), _) => Ok((item, other, 1)),
        (None, 2) => {
            table.rewind()?;
            Ok((0, 1, 0))
        }
        _ => Err(unclear(&first.0, purpose, input)),
    }
}

fn unclear(names: &[String], purpose: &Purpose, input: &Input) -> Error {
    let problem = format!(
        "the file has {} columns ({}); name the two to use, as in `{}` {}:{}, or call them {:?} and {:?}",
        names.len(),
        names.join(", "),
        purpose.option,
        input.path.display(),
        names.iter().take(2).map(String::as_str).collect::<Vec<_>>().join(","),
        purpose.items[0],
        purpose.others[0]
    );
    Error::data(input.place(), problem)
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
    other: usize,
    first_row: u64,
    rows: Vec<[String; 2]>,
}

impl CellSink for Pairs {
    fn cell(&mut self, row: u64, column: usize, cell: Cell<'_>) -> Result<(), String> {
        let ix = (row - self.first_row) as usize;
        if ix >= self.rows.len() {
            self.rows.resize(ix + 1, Default::default());
        }
        if column == self.item {
            self.rows[ix][0] = text_of(cell)?;
        } else if column == self.other {
            self.rows[ix][1] = text_of(cell)?;
        }
        Ok(())
    }
}

fn text_of(cell: Cell<'_>) -> Result<String, String> {
    match cell {
        Cell::Text(text) => String::from_utf8(text.to_vec()).map_err(|_| "not UTF-8 text; save the file as UTF-8".to_owned()),
        Cell::Number(value) if !value.is_nan() => Ok(number_text(value)),
        _ => Ok(String::new()),
    }
}

/// Reads a list of ids or items: the first column of a table, or a file of one per line. A header called as one of `headers` is left out.
pub(super) fn read_list(path: &Path, headers: &[&str]) -> Result<Vec<String>> {
    let mut input = Input::new(path)?;
    let format = recognise(path, &input.first_bytes(4096)?);
    let is_columnar = matches!(format, Format::Parquet | Format::Arrow);
    if is_columnar {
        input.decompress()?;
    }
    let input = Arc::new(input);
    let mut table = if is_columnar {
        FileTable::open(&input, format, &ReadOptions::default())?
    } else {
        FileTable::Csv(Box::new(CsvTable::new(Arc::clone(&input), false, Some(b','))?))
    };
    if is_columnar {
        let wanted: Vec<bool> = (0..table.names().len()).map(|ix| ix == 0).collect();
        table.project(&wanted, &wanted)?;
    }
    let mut pairs = Pairs { item: 0, other: usize::MAX, first_row: 0, rows: Vec::new() };
    let mut all: Vec<String> = Vec::new();
    loop {
        let n_rows = table.read_rows(4096, &mut pairs)?;
        if n_rows == 0 {
            break;
        }
        pairs.first_row += n_rows as u64;
        all.extend(pairs.rows.drain(..).map(|[item, _]| item).filter(|item| !item.is_empty()));
    }
    if !is_columnar && all.first().is_some_and(|first| headers.iter().any(|header| header.eq_ignore_ascii_case(first))) {
        all.remove(0);
    }
    if all.is_empty() {
        return Err(Error::data(input.place(), "the list is empty; give one id per line"));
    }
    Ok(all)
}
