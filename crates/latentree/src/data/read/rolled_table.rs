//! A dense table whose columns are rolled up: 0/1 columns of a group say whether any of them is 1, counts are added.

use super::cell::{Cell, CellSink, count_problem};
use super::missing_values::MissingValues;
use super::rollup::Rollup;
use super::table::Table;
use super::written_number::NumberReader;
use crate::error::{Place, Result, Shortened};

const CHUNK_ROWS: usize = 4096;

/// A table with fewer columns than the file.
pub(super) struct RolledTable {
    inner: Table,
    rollup: Rollup,
    /// Of the columns of the file, those of groups.
    missing: MissingValues,
    /// For each column that remains, whether its members are only 0 and 1.
    is_presence: Vec<bool>,
    numbers: NumberReader,
    next_row: u64,
}

/// Gives cells of single columns on and collects those of groups.
struct RollingSink<'a, S> {
    sink: &'a mut S,
    rollup: &'a Rollup,
    missing: &'a MissingValues,
    is_presence: &'a [bool],
    numbers: &'a mut NumberReader,
    first_row: u64,
    /// By group and row the value so far, and whether a member is missing; `None` before the first cell.
    values: Vec<Vec<Option<(f64, bool)>>>,
}

impl<S: CellSink> CellSink for RollingSink<'_, S> {
    fn cell(&mut self, row: u64, column: usize, cell: Cell<'_>) -> Result<(), String> {
        let Some(target) = self.rollup.targets[column].map(|target| target as usize) else { return Ok(()) };
        if !self.rollup.is_group[target] {
            return self.sink.cell(row, target, cell);
        }
        let value = member(self.numbers, self.missing.read(column, cell), &self.rollup.names[target])?;
        let at = (row - self.first_row) as usize;
        let rows = &mut self.values[target];
        if at >= rows.len() {
            rows.resize(at + 1, None);
        }
        let (so_far, is_missing) = rows[at].unwrap_or((0.0, false));
        rows[at] = Some(match (value.is_nan(), self.is_presence[target]) {
            (true, _) => (so_far, true),
            (false, true) => (so_far.max(value), is_missing),
            (false, false) => (so_far + value, is_missing),
        });
        Ok(())
    }
}

/// The number in a cell of a member; NaN is missing.
fn member(numbers: &mut NumberReader, cell: Cell<'_>, group: &str) -> Result<f64, String> {
    let value = match cell {
        Cell::Bool(value) => f64::from(u8::from(value)),
        cell => numbers.read(cell).map_err(|problem| format!("{problem}; {}", refused(group)))?,
    };
    match count_problem(value) {
        Some(problem) => Err(format!("{problem}; {}", refused(group))),
        None => Ok(value),
    }
}

fn refused(group: &str) -> String {
    let group = Shortened(group);
    format!(
        "columns that are rolled up, as here into {group:?}, must hold 0 and 1, or counts; take it out of the file of `read.rollup`"
    )
}

/// Finds groups with other values than 0 and 1.
struct PresenceSink<'a> {
    rollup: &'a Rollup,
    missing: &'a MissingValues,
    numbers: &'a mut NumberReader,
    is_presence: Vec<bool>,
}

impl CellSink for PresenceSink<'_> {
    fn cell(&mut self, _row: u64, column: usize, cell: Cell<'_>) -> Result<(), String> {
        let target = self.rollup.targets[column].map(|target| target as usize).filter(|&target| self.rollup.is_group[target]);
        if let Some(target) = target {
            let value = member(self.numbers, self.missing.read(column, cell), &self.rollup.names[target])?;
            self.is_presence[target] &= value.is_nan() || value == 0.0 || value == 1.0;
        }
        Ok(())
    }
}

impl RolledTable {
    /// Looks through the members of groups once.
    pub(super) fn new(mut inner: Table, rollup: Rollup, missing: MissingValues) -> Result<Self> {
        let mut numbers = NumberReader::new(None, inner.prefers_comma());
        let wanted: Vec<bool> =
            rollup.targets.iter().map(|target| target.is_some_and(|target| rollup.is_group[target as usize])).collect();
        inner.project(&wanted, &vec![false; wanted.len()])?;
        let is_presence = vec![true; rollup.names.len()];
        let mut sink = PresenceSink { rollup: &rollup, missing: &missing, numbers: &mut numbers, is_presence };
        while inner.read_rows(CHUNK_ROWS, &mut sink)? > 0 {}
        let is_presence = sink.is_presence;
        let n_columns = rollup.targets.len();
        inner.project(&vec![true; n_columns], &vec![false; n_columns])?;
        inner.rewind()?;
        Ok(Self { inner, rollup, missing, is_presence, numbers, next_row: 0 })
    }

    pub(super) fn inner(&self) -> &Table {
        &self.inner
    }

    pub(super) fn names(&self) -> &[String] {
        &self.rollup.names
    }

    pub(super) fn read_rows(&mut self, max_rows: usize, sink: &mut impl CellSink) -> Result<usize> {
        let n_names = self.rollup.names.len();
        let mut rolling = RollingSink {
            sink,
            rollup: &self.rollup,
            missing: &self.missing,
            is_presence: &self.is_presence,
            numbers: &mut self.numbers,
            first_row: self.next_row,
            values: vec![Vec::new(); n_names],
        };
        let n_rows = read_dyn(&mut self.inner, max_rows, &mut rolling)?;
        let values = std::mem::take(&mut rolling.values);
        for (column, rows) in values.into_iter().enumerate() {
            for (at, value) in rows.into_iter().enumerate() {
                let cell = match value {
                    Some((value, false)) => Cell::Number(value),
                    Some((value, true)) if self.is_presence[column] && value == 1.0 => Cell::Number(1.0),
                    _ => Cell::Missing,
                };
                let row = self.next_row + at as u64;
                sink.cell(row, column, cell).map_err(|problem| {
                    let place = self.inner.place_of(row, &Place::default());
                    crate::Error::data(place.column(&self.rollup.names[column]), problem)
                })?;
            }
        }
        self.next_row += n_rows as u64;
        Ok(n_rows)
    }

    pub(super) fn rewind(&mut self) -> Result<()> {
        self.next_row = 0;
        self.inner.rewind()
    }

    /// The only column of the file that a remaining column comes from; `None` for a group.
    fn single(&self, column: usize) -> Option<usize> {
        let is_it = |target: &Option<u32>| *target == Some(column as u32);
        if self.rollup.is_group[column] { None } else { self.rollup.targets.iter().position(is_it) }
    }

    pub(super) fn unusable(&self, column: usize) -> Option<String> {
        self.single(column).and_then(|column| self.inner.unusable(column))
    }

    pub(super) fn prefers_comma(&self) -> bool {
        self.inner.prefers_comma()
    }

    pub(super) fn is_text(&self) -> bool {
        self.inner.is_text()
    }

    pub(super) fn can_be_text(&self, column: usize) -> bool {
        self.single(column).is_some_and(|column| self.inner.can_be_text(column))
    }

    pub(super) fn project(&mut self, wanted: &[bool], is_text: &[bool]) -> Result<()> {
        let wanted = self.spread(wanted);
        let is_single = |target: u32| !self.rollup.is_group[target as usize] && is_text[target as usize];
        let is_text: Vec<bool> = self.rollup.targets.iter().map(|target| target.is_some_and(is_single)).collect();
        self.next_row = 0;
        self.inner.project(&wanted, &is_text)
    }

    /// Flags of remaining columns as flags of the columns of the file.
    fn spread(&self, flags: &[bool]) -> Vec<bool> {
        self.rollup.targets.iter().map(|target| target.is_some_and(|target| flags[target as usize])).collect()
    }

    pub(super) fn place_of(&self, row: u64, place: &Place) -> Place {
        self.inner.place_of(row, place)
    }

    pub(super) fn require(&self, column: usize, option: &str) -> Result<()> {
        self.single(column).map_or(Ok(()), |column| self.inner.require(column, option))
    }

    pub(super) fn covered(&self) -> Vec<String> {
        self.inner.covered()
    }

    pub(super) fn lacking(&self, wanted: &[bool]) -> Option<String> {
        self.inner.lacking(&self.spread(wanted))
    }
}

/// Reads through a pointer: sinks within sinks would otherwise be types without end.
fn read_dyn(table: &mut Table, max_rows: usize, sink: &mut dyn CellSink) -> Result<usize> {
    table.read_rows(max_rows, &mut DynSink(sink))
}

struct DynSink<'a>(&'a mut dyn CellSink);

impl CellSink for DynSink<'_> {
    fn cell(&mut self, row: u64, column: usize, cell: Cell<'_>) -> Result<(), String> {
        self.0.cell(row, column, cell)
    }

    fn whole_numbers(&mut self, column: usize, numbers: &[i64], missing: &mut dyn Iterator<Item = usize>) -> bool {
        self.0.whole_numbers(column, numbers, missing)
    }
}
