//! Dense tables: CSV, TSV, Parquet and Arrow files, read into columns.

use std::sync::Arc;

use super::carried::{Carried, FileColumn};
use super::cell::{Cell, CellSink};
#[cfg(feature = "columnar")]
use super::columnar::ColumnarTable;
use super::csv::CsvTable;
use super::decode::{Decoder, cell_number};
use super::infer::{Guess, Profile};
use super::input::Input;
use super::options::{KindOverride, ReadOptions};
use super::overrides::Overrides;
use super::plan::{Columns, Plan, Target, Verdict};
use crate::data::{Batch, Block, ColumnData, Schema};
use crate::error::{Error, Place, Result};
use crate::index::ColIx;

/// Rows read at once where the number does not show in the result.
const CHUNK_ROWS: usize = 1024;

/// A file of rows with the same columns.
pub(super) enum Table {
    Csv(Box<CsvTable>),
    #[cfg(feature = "columnar")]
    Columnar(Box<ColumnarTable>),
}

impl Table {
    pub(super) fn names(&self) -> &[String] {
        match self {
            Self::Csv(table) => table.names(),
            #[cfg(feature = "columnar")]
            Self::Columnar(table) => table.names(),
        }
    }

    /// Reads up to `max_rows` rows into the sink; none only at the end.
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

    /// Why a column cannot be a variable whatever its values are: a date, a list.
    fn unusable(&self, column: usize) -> Option<String> {
        match self {
            Self::Csv(table) => {
                debug_assert!(column < table.names().len());
                None
            }
            #[cfg(feature = "columnar")]
            Self::Columnar(table) => table.unusable(column),
        }
    }

    /// Whether the cells of a column can be given as text.
    fn can_be_text(&self, column: usize) -> bool {
        match self {
            Self::Csv(table) => column < table.names().len(),
            #[cfg(feature = "columnar")]
            Self::Columnar(table) => table.can_be_text(column),
        }
    }

    /// Says which columns are wanted, the cells of the others may be left out, and which of them as text.
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

/// Reads a dense table batch by batch.
pub(super) struct DenseReader {
    table: Table,
    input: Arc<Input>,
    schema: Arc<Schema>,
    targets: Vec<Target>,
    decoders: Vec<Decoder>,
    /// For each column of the file, its place among the carried ones.
    carry: Vec<Option<usize>>,
    carried: Carried,
    batch_rows: usize,
    next_row: u64,
}

/// Rows in a batch of dense columns: a bounded number of cells.
pub(super) fn default_batch_rows(n_columns: usize) -> usize {
    ((1 << 22) / n_columns.max(1)).clamp(64, 4096)
}

impl DenseReader {
    /// Looks through the table unless a schema is given; gives the number of rows where it did.
    pub(super) fn open(mut table: Table, input: Arc<Input>, options: &ReadOptions) -> Result<(Self, Plan, Option<u64>)> {
        let overrides = Overrides::new(options)?;
        let names = table.names().to_vec();
        let is_text = matches!(table, Table::Csv(_));
        let columns = Columns { place: input.place(), names: &names, named: !is_text || options.header };
        let (mut plan, n_rows) = match &options.schema {
            Some(schema) => (Plan::fit(schema, &columns, options, &overrides)?, None),
            None => {
                let (plan, n_rows) = infer(&mut table, &columns, options, &overrides)?;
                (plan, Some(n_rows))
            }
        };
        let (kept, left): (Vec<usize>, Vec<usize>) = plan.carried.iter().copied().partition(|&ix| table.can_be_text(ix));
        if let Some(&id) = left.iter().find(|&&ix| options.id.as_ref() == Some(&names[ix])) {
            return Err(Error::option("--id", format!("column {:?} cannot be written as text", names[id])));
        }
        plan.carried = kept;
        plan.warnings.extend(left.iter().map(|&ix| format!("column {:?} cannot be written as text and is not kept", names[ix])));
        let mut carry = vec![None; names.len()];
        plan.carried.iter().enumerate().for_each(|(place, &ix)| carry[ix] = Some(place));
        let wanted: Vec<bool> =
            plan.targets.iter().zip(&carry).map(|(target, carry)| *target != Target::Skip || carry.is_some()).collect();
        let is_text: Vec<bool> = carry.iter().map(Option::is_some).collect();
        table.project(&wanted, &is_text)?;
        let carried = Carried::new(plan.carried.iter().map(|&ix| names[ix].clone()).collect());
        let kinds = plan.schema.columns().iter().zip(&plan.thresholds);
        let decoders = kinds.map(|(column, &threshold)| Decoder::new(&column.kind, threshold)).collect();
        let batch_rows = options.batch_rows.unwrap_or(default_batch_rows(plan.schema.columns().len())).max(1);
        let (schema, targets) = (Arc::clone(&plan.schema), plan.targets.clone());
        Ok((Self { table, input, schema, targets, decoders, carry, carried, batch_rows, next_row: 0 }, plan, n_rows))
    }

    /// The carried cells of the last batch.
    pub(super) fn carried(&self) -> &Carried {
        &self.carried
    }

    /// Where the columns of the file are, without those that are dropped.
    pub(super) fn file_columns(&self) -> Vec<FileColumn> {
        let places = self.targets.iter().zip(&self.carry).map(|(target, carry)| match (target, carry) {
            (Target::Column(ix), _) => Some(FileColumn::Variable(ColIx::new(*ix))),
            (_, Some(carry)) => Some(FileColumn::Carried(*carry)),
            _ => None,
        });
        places.flatten().collect()
    }

    pub(super) fn rewind(&mut self) -> Result<()> {
        self.next_row = 0;
        self.table.rewind()
    }

    pub(super) fn next_batch(&mut self) -> Result<Option<Batch>> {
        let mut weights = self.targets.contains(&Target::Weight).then(Vec::new);
        let columns = self.schema.columns().iter();
        self.carried.clear();
        let has_carried = !self.carried.names().is_empty();
        let mut sink = BatchSink {
            carried: has_carried.then_some((self.carry.as_slice(), &mut self.carried)),
            targets: &self.targets,
            decoders: &mut self.decoders,
            columns: columns.map(|column| ColumnData::for_kind(&column.kind, self.batch_rows.min(1 << 16))).collect(),
            weights: weights.as_mut(),
        };
        let mut n_rows = 0;
        while n_rows < self.batch_rows {
            match self.table.read_rows(self.batch_rows - n_rows, &mut sink)? {
                0 => break,
                n_read => n_rows += n_read,
            }
        }
        if n_rows == 0 {
            let is_empty = self.next_row == 0;
            return if is_empty { Err(Error::data(self.input.place(), "no rows")) } else { Ok(None) };
        }
        let mut columns = sink.columns;
        for column in &mut columns {
            // A column that the file does not have is missing in every row.
            match column {
                ColumnData::Reals(values) => values.resize(n_rows, f64::NAN),
                ColumnData::Codes8(codes) => codes.resize(n_rows, crate::data::MISSING_CODE8),
                ColumnData::Codes(codes) => codes.resize(n_rows, crate::data::MISSING_CODE),
            }
        }
        let batch = Batch { first_row: self.next_row, n_rows, block: Block::Dense(columns), weights };
        self.next_row += n_rows as u64;
        Ok(Some(batch))
    }
}

struct BatchSink<'a> {
    carried: Option<(&'a [Option<usize>], &'a mut Carried)>,
    targets: &'a [Target],
    decoders: &'a mut [Decoder],
    columns: Vec<ColumnData>,
    weights: Option<&'a mut Vec<f64>>,
}

impl CellSink for BatchSink<'_> {
    #[inline]
    fn cell(&mut self, _row: u64, column: usize, cell: Cell<'_>) -> Result<(), String> {
        if let Some((carry, carried)) = &mut self.carried
            && let Some(place) = carry[column]
        {
            carried.push(place, cell);
        }
        match self.targets[column] {
            Target::Column(ix) => self.decoders[ix].push(cell, &mut self.columns[ix]),
            Target::Skip => Ok(()),
            Target::Weight => {
                let weight = cell_number(cell)?;
                if let Some(problem) = weight_problem(weight) {
                    return Err(problem);
                }
                if let Some(weights) = self.weights.as_mut() {
                    weights.push(weight);
                }
                Ok(())
            }
        }
    }
}

/// Why a number cannot be a row's weight, if it cannot.
pub(super) fn weight_problem(weight: f64) -> Option<String> {
    if weight.is_nan() {
        Some("the row has no weight; give it one, 0 to leave it out".to_owned())
    } else if weight < 0.0 {
        Some(format!("the row's weight {weight} is negative"))
    } else {
        None
    }
}

struct ProfileSink {
    /// `None` for columns that need no look: ignored ones, weights, those whose type says all.
    profiles: Vec<Option<Profile>>,
}

impl CellSink for ProfileSink {
    #[inline]
    fn cell(&mut self, row: u64, column: usize, cell: Cell<'_>) -> Result<(), String> {
        match &mut self.profiles[column] {
            Some(profile) => profile.observe(row, cell),
            None => Ok(()),
        }
    }
}

fn infer(table: &mut Table, columns: &Columns<'_>, options: &ReadOptions, overrides: &Overrides) -> Result<(Plan, u64)> {
    overrides.check_names(columns.names, options)?;
    let profiles: Vec<Option<Profile>> = columns
        .names
        .iter()
        .enumerate()
        .map(|(ix, name)| {
            let told = overrides.of(name).kind;
            let is_needed = told != Some(KindOverride::Ignore)
                && options.weights.as_ref() != Some(name)
                && options.id.as_ref() != Some(name)
                && table.unusable(ix).is_none();
            is_needed.then(|| Profile::new(told))
        })
        .collect();
    let wanted: Vec<bool> = profiles.iter().map(Option::is_some).collect();
    table.project(&wanted, &vec![false; wanted.len()])?;
    let mut sink = ProfileSink { profiles };
    let mut n_rows = 0;
    loop {
        match table.read_rows(CHUNK_ROWS, &mut sink)? {
            0 => break,
            n_read => n_rows += n_read as u64,
        }
    }
    if n_rows == 0 {
        return Err(Error::data(columns.place.clone(), "no rows"));
    }
    let mut oddities = Vec::new();
    let mut plan = Plan::infer(columns, options, overrides, |ix, told| {
        let name = &columns.names[ix];
        let Some(profile) = &sink.profiles[ix] else {
            return Ok(Verdict::Leave(table.unusable(ix).unwrap_or_default()));
        };
        match profile.guess(n_rows, told.kind) {
            Guess::Leave(reason) => Ok(Verdict::Leave(reason)),
            Guess::Kind(kind) => {
                if let (None, Some(oddity)) = (told.kind, profile.oddity(n_rows)) {
                    oddities.push(format!("column {name:?} {oddity}"));
                }
                Ok(Verdict::Kind(kind))
            }
            Guess::Problem(row, problem) => {
                let place = Place { row: row.map(|row| row + 1), ..columns.place.clone().column(name) };
                Err(Error::data(place, problem))
            }
        }
    })?;
    plan.warnings.append(&mut oddities);
    table.rewind()?;
    Ok((plan, n_rows))
}
