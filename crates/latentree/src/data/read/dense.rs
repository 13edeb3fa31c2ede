//! Dense tables: CSV, TSV, Parquet and Arrow files, read into columns.

use std::sync::Arc;

use super::carried::{Carried, FileColumn};
use super::cell::{Cell, CellSink, number_text};
use super::decode::Decoder;
use super::events_like::EventsLook;
use super::infer::{Asked, Guess, Profile};
use super::input::Input;
use super::kept::KeptCells;
use super::missing_values::MissingValues;
use super::notes::Notes;
use super::options::{KindOverride, ReadOptions};
use super::overrides::Overrides;
use super::plan::{Columns, Plan, Target, Verdict};
use super::rolled_table::RolledTable;
use super::rollup::Rollup;
use super::sparse::changed;
use super::table::Table;
use super::unseen::UnseenLabels;
use super::written_number::NumberReader;
use crate::data::{Batch, Block, Column, ColumnData, Schema};
use crate::error::{Error, Result};
use crate::index::ColIx;

/// Rows read at once where the number does not show in the result.
const CHUNK_ROWS: usize = 1024;

/// Reads a dense table batch by batch.
pub(super) struct DenseReader {
    table: Table,
    /// The cells of the first pass, where the look at the columns kept them.
    kept: Option<KeptCells>,
    input: Arc<Input>,
    schema: Arc<Schema>,
    targets: Vec<Target>,
    decoders: Vec<Decoder>,
    weight_numbers: NumberReader,
    missing: MissingValues,
    /// For each column of the file, its place among the carried ones.
    carry: Vec<Option<usize>>,
    carried: Carried,
    batch_rows: usize,
    next_row: u64,
    /// Labels that a whole pass found and the schema does not have.
    unseen: Option<Vec<UnseenLabels>>,
}

/// Rows in a batch of dense columns: a bounded number of cells.
pub(super) fn default_batch_rows(n_columns: usize) -> usize {
    ((1 << 22) / n_columns.max(1)).clamp(64, 4096)
}

impl DenseReader {
    /// Looks through the table unless a schema is given; gives the number of rows where it did.
    pub(super) fn open(table: Table, input: Arc<Input>, options: &ReadOptions) -> Result<(Self, Plan, Option<u64>)> {
        if let Some(option) = options.items.first_set() {
            let problem = "it chooses among the items of events and sparse files; this file is a table of columns";
            return Err(Error::option(option, format!("{}: {problem}", input.place())));
        }
        MissingValues::check_names(options, table.names())?;
        let (mut table, notes) = rolled_up(table, &input, options)?;
        let overrides = Overrides::new(options)?;
        let names = table.names().to_vec();
        let columns = Columns { place: input.place(), names: &names, named: table.is_named(options) };
        let missing = MissingValues::new(options, &names);
        let prefers_comma = table.prefers_comma();
        let (mut plan, n_rows, decimal_commas, kept_cells) = match &options.schema {
            Some(_) if options.min_count.is_some() => return Err(min_count_of_schema()),
            Some(schema) => (Plan::fit(schema, &columns, options, &overrides)?, None, vec![None; names.len()], None),
            None => {
                let looked = infer(&mut table, &columns, options, &overrides, &missing)?;
                (looked.plan, Some(looked.n_rows), looked.decimal_commas, looked.kept)
            }
        };
        plan.warnings.splice(0..0, notes);
        plan.describe(options)?;
        if options.carry_variables && table.is_text() {
            // Numbers with decimal commas are written with points, all of a column alike.
            let keeps_text = |column: usize| !prefers_comma || plan.schema.columns()[column].kind.n_states().is_some();
            let is_kept = |ix: &usize| matches!(plan.targets[*ix], Target::Column(column) if keeps_text(column));
            let variables = (0..plan.targets.len()).filter(|ix| is_kept(ix) && !plan.carried.contains(ix));
            let variables: Vec<usize> = variables.collect();
            plan.carried.extend(variables);
        }
        let (kept, left): (Vec<usize>, Vec<usize>) = plan.carried.iter().copied().partition(|&ix| table.can_be_text(ix));
        if let Some(&id) = left.iter().find(|&&ix| options.id.as_ref() == Some(&names[ix])) {
            return Err(Error::option("read.id", format!("column {:?} cannot be written as text", names[id])));
        }
        plan.carried = kept;
        plan.warnings.extend(left.iter().map(|&ix| format!("column {:?} cannot be written as text and is not kept", names[ix])));
        let mut carry = vec![None; names.len()];
        plan.carried.iter().enumerate().for_each(|(place, &ix)| carry[ix] = Some(place));
        let wanted: Vec<bool> =
            plan.targets.iter().zip(&carry).map(|(target, carry)| *target != Target::Skip || carry.is_some()).collect();
        let is_text: Vec<bool> = carry.iter().map(Option::is_some).collect();
        let has = |cells: &KeptCells| (0..names.len()).all(|ix| !wanted[ix] || cells.has(ix, is_text[ix] && !table.is_text()));
        let kept = kept_cells.filter(has);
        table.project(&wanted, &is_text)?;
        if kept.is_none() {
            table.rewind()?;
        }
        plan.warnings.extend(table.lacking(&wanted));
        plan.warnings.extend(table.covered());
        let carried = Carried::new(plan.carried.iter().map(|&ix| names[ix].clone()).collect());
        let mut numbers = vec![NumberReader::new(None, prefers_comma); plan.thresholds.len()];
        for (target, decimal_comma) in plan.targets.iter().zip(decimal_commas) {
            if let Target::Column(ix) = *target {
                numbers[ix] = NumberReader::new(decimal_comma, prefers_comma);
            }
        }
        let kinds = plan.schema.columns().iter().zip(&plan.thresholds).zip(numbers);
        let decoder = |((column, &threshold), numbers): ((&Column, &bool), NumberReader)| {
            Decoder::new(&column.kind, threshold, numbers, options.unseen_policy())
        };
        let decoders = kinds.map(decoder).collect();
        let batch_rows = options.batch_rows.unwrap_or(default_batch_rows(plan.schema.columns().len())).max(1);
        let (schema, targets) = (Arc::clone(&plan.schema), plan.targets.clone());
        let weight_numbers = NumberReader::new(None, prefers_comma);
        let reader = Self {
            table,
            kept,
            input,
            schema,
            targets,
            decoders,
            weight_numbers,
            missing,
            carry,
            carried,
            batch_rows,
            next_row: 0,
            unseen: None,
        };
        Ok((reader, plan, n_rows))
    }

    /// The carried cells of the last batch.
    pub(super) fn carried(&self) -> &Carried {
        &self.carried
    }

    /// Where the columns of the file are, without those that are dropped.
    pub(super) fn file_columns(&self) -> Vec<FileColumn> {
        let places = self.targets.iter().zip(&self.carry).map(|(target, carry)| match (target, carry) {
            (Target::Column(ix), Some(carry)) => Some(FileColumn::Both(ColIx::new(*ix), *carry)),
            (Target::Column(ix), None) => Some(FileColumn::Variable(ColIx::new(*ix))),
            (_, Some(carry)) => Some(FileColumn::Carried(*carry)),
            _ => None,
        });
        places.flatten().collect()
    }

    pub(super) fn rewind(&mut self) -> Result<()> {
        self.next_row = 0;
        self.decoders.iter_mut().for_each(Decoder::forget_unseen);
        if self.kept.as_ref().is_some_and(|kept| !kept.is_begun()) {
            return Ok(());
        }
        self.kept = None;
        self.table.rewind()
    }

    /// Labels that the schema does not have: of the last whole pass, or of the rows so far in the first.
    pub(super) fn unseen(&self) -> Vec<UnseenLabels> {
        self.unseen.clone().unwrap_or_else(|| unseen_labels(&self.schema, &self.decoders))
    }

    pub(super) fn next_batch(&mut self) -> Result<Option<Batch>> {
        let read = match self.kept.take() {
            None => self.read_cells(|table, n_rows, sink| table.read_rows(n_rows, sink))?,
            Some(mut kept) => match self.read_cells(|_, n_rows, sink| kept.read_rows(n_rows, sink)) {
                Ok(read) => {
                    self.kept = Some(kept);
                    read
                }
                // The file knows where the problem is.
                Err(_) => {
                    self.skip_rows()?;
                    self.read_cells(|table, n_rows, sink| table.read_rows(n_rows, sink))?
                }
            },
        };
        let Cells { n_rows, mut columns, weights } = read;
        if n_rows == 0 {
            let is_empty = self.next_row == 0;
            self.unseen = Some(unseen_labels(&self.schema, &self.decoders));
            return if is_empty { Err(Error::data(self.input.place(), "no rows")) } else { Ok(None) };
        }
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

    /// The cells of the next batch, as `read` gives them.
    fn read_cells<E>(
        &mut self,
        mut read: impl FnMut(&mut Table, usize, &mut BatchSink<'_>) -> Result<usize, E>,
    ) -> Result<Cells, E> {
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
            weight_numbers: &mut self.weight_numbers,
            missing: &self.missing,
        };
        let mut n_rows = 0;
        while n_rows < self.batch_rows {
            match read(&mut self.table, self.batch_rows - n_rows, &mut sink)? {
                0 => break,
                n_read => n_rows += n_read,
            }
        }
        let columns = sink.columns;
        Ok(Cells { n_rows, columns, weights })
    }

    /// Goes to the next row of the file, whose cells so far were read elsewhere.
    fn skip_rows(&mut self) -> Result<()> {
        self.table.rewind()?;
        let mut row = 0;
        while row < self.next_row {
            let wanted = usize::try_from(self.next_row - row).unwrap_or(usize::MAX);
            match self.table.read_rows(wanted.min(CHUNK_ROWS), &mut Unread)? {
                0 => return Err(changed(self.input.place())),
                n_read => row += n_read as u64,
            }
        }
        Ok(())
    }
}

/// The table with its columns rolled up, if that is asked for, and notes about it.
fn rolled_up(table: Table, input: &Input, options: &ReadOptions) -> Result<(Table, Vec<String>)> {
    let names = table.names();
    // Columns that are no variables have no group.
    let is_variable = |name: &String| options.id.as_ref() != Some(name) && options.weights.as_ref() != Some(name);
    let is_read: Vec<bool> = names.iter().map(is_variable).collect();
    let Some(mut rollup) = Rollup::of(names, &is_read, options, &input.place())? else { return Ok((table, Vec::new())) };
    for (ix, name) in names.iter().enumerate().filter(|(ix, _)| !is_read[*ix]) {
        rollup.targets[ix] = Some(rollup.names.len() as u32);
        rollup.names.push(name.clone());
        rollup.is_group.push(false);
    }
    let notes = std::mem::take(&mut rollup.notes);
    let missing = MissingValues::new(options, table.names());
    Ok((Table::Rolled(Box::new(RolledTable::new(table, rollup, missing)?)), notes))
}

/// The cells of a batch.
struct Cells {
    n_rows: usize,
    columns: Vec<ColumnData>,
    weights: Option<Vec<f64>>,
}

/// Takes no notice of cells.
struct Unread;

impl CellSink for Unread {
    fn cell(&mut self, _row: u64, _column: usize, _cell: Cell<'_>) -> Result<(), String> {
        Ok(())
    }
}

/// What the decoders of a schema's columns did not know.
pub(super) fn unseen_labels(schema: &Schema, decoders: &[Decoder]) -> Vec<UnseenLabels> {
    schema.columns().iter().zip(decoders).filter_map(|(column, decoder)| decoder.unseen(&column.name)).collect()
}

struct BatchSink<'a> {
    carried: Option<(&'a [Option<usize>], &'a mut Carried)>,
    targets: &'a [Target],
    decoders: &'a mut [Decoder],
    columns: Vec<ColumnData>,
    weights: Option<&'a mut Vec<f64>>,
    weight_numbers: &'a mut NumberReader,
    missing: &'a MissingValues,
}

impl CellSink for BatchSink<'_> {
    #[inline]
    fn cell(&mut self, _row: u64, column: usize, cell: Cell<'_>) -> Result<(), String> {
        if let Some((carry, carried)) = &mut self.carried
            && let Some(place) = carry[column]
        {
            carried.push(place, cell);
        }
        let cell = self.missing.read(column, cell);
        match self.targets[column] {
            Target::Column(ix) => self.decoders[ix].push(cell, &mut self.columns[ix]),
            Target::Skip => Ok(()),
            Target::Weight => {
                let weight = self.weight_numbers.read(cell)?;
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

    fn whole_numbers(&mut self, column: usize, numbers: &[i64], missing: &mut dyn Iterator<Item = usize>) -> bool {
        let is_carried = self.carried.as_ref().is_some_and(|(carry, _)| carry[column].is_some());
        match self.targets[column] {
            Target::Column(ix) if !is_carried && !self.missing.has(column) => {
                self.decoders[ix].extend(numbers, missing, &mut self.columns[ix])
            }
            _ => false,
        }
    }
}

/// Why a number cannot be a row's weight, if it cannot.
pub(super) fn weight_problem(weight: f64) -> Option<String> {
    if weight.is_nan() {
        Some("the row has no weight; give it one, 0 to leave it out".to_owned())
    } else if weight < 0.0 {
        Some(format!("the row's weight {} is negative", number_text(weight)))
    } else {
        None
    }
}

/// The error of joining labels where a schema says which there are.
pub(super) fn min_count_of_schema() -> Error {
    Error::option(
        "read.min_count",
        "the labels come from the model, and rare ones are merged only when it is learned; leave it out",
    )
}

struct ProfileSink<'a> {
    missing: &'a MissingValues,
    /// `None` for columns that need no look: ignored ones, weights, those whose type says all.
    profiles: Vec<Option<Profile>>,
    events: Option<EventsLook>,
    /// Whether the look for events sees columns that have no profile.
    sees_all: bool,
    kept: Option<KeptCells>,
}

impl CellSink for ProfileSink<'_> {
    #[inline]
    fn cell(&mut self, row: u64, column: usize, cell: Cell<'_>) -> Result<(), String> {
        if let Some(kept) = &mut self.kept {
            kept.push(column, cell);
        }
        let cell = self.missing.read(column, cell);
        if let Some(events) = &mut self.events
            && (self.sees_all || self.profiles[column].is_some())
        {
            events.observe(row, column, cell);
        }
        match &mut self.profiles[column] {
            Some(profile) => profile.observe(row, cell),
            None => Ok(()),
        }
    }
}

impl ProfileSink<'_> {
    /// Ends a run of rows; their cells are not kept where they do not fit.
    fn end_rows(&mut self, n_rows: usize) {
        self.kept.iter_mut().for_each(|kept| kept.end_rows(n_rows));
        self.kept = self.kept.take().filter(KeptCells::fits);
    }
}

/// What a look through a table says.
struct Looked {
    plan: Plan,
    n_rows: u64,
    /// Whether the numbers of each column have decimal commas, where they are not plain.
    decimal_commas: Vec<Option<bool>>,
    kept: Option<KeptCells>,
}

/// Inspects the table. Rewind it afterwards unless its cells were kept.
fn infer(
    table: &mut Table,
    columns: &Columns<'_>,
    options: &ReadOptions,
    overrides: &Overrides,
    missing: &MissingValues,
) -> Result<Looked> {
    overrides.check_names(columns.names, options)?;
    let min_count = options.min_count.unwrap_or(0);
    let asked = Asked { min_count, prefers_comma: table.prefers_comma(), ..Asked::default() };
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
            is_needed.then(|| Profile::new(Asked { told, is_unnamed: ix == 0 && table.first_is_unnamed(), ..asked }))
        })
        .collect();
    let looks: Vec<bool> = profiles.iter().map(Option::is_some).collect();
    let mut wanted = looks.clone();
    let mut is_text = vec![false; wanted.len()];
    let keeps = options.keep_bytes > 0 && looks.contains(&true);
    if keeps {
        for (ix, name) in columns.names.iter().enumerate() {
            let is_id = options.id.as_ref() == Some(name) && table.can_be_text(ix);
            wanted[ix] |= is_id || options.weights.as_ref() == Some(name);
            is_text[ix] = is_id && !table.is_text();
        }
    }
    table.project(&wanted, &is_text)?;
    let mode = |(&wanted, &is_text): (&bool, &bool)| wanted.then_some(is_text);
    let kept = keeps.then(|| KeptCells::new(wanted.iter().zip(&is_text).map(mode).collect(), options.keep_bytes));
    // Who says what columns are has looked at them.
    let is_told = columns.names.iter().any(|name| overrides.of(name).kind.is_some());
    let events = if is_told { None } else { EventsLook::new(columns.names.len()) };
    let mut sink = ProfileSink { missing, profiles, events, sees_all: table.gives_all(), kept };
    let mut n_rows = 0;
    // Without a column to look at there is nothing to learn from the rows, however many the file claims.
    while looks.contains(&true) {
        match table.read_rows(CHUNK_ROWS, &mut sink)? {
            0 => break,
            n_read => {
                n_rows += n_read as u64;
                sink.end_rows(n_read);
            }
        }
    }
    if n_rows == 0 && looks.contains(&true) {
        return Err(Error::data(columns.place.clone(), "no rows"));
    }
    let mut notes = Notes::default();
    notes.look_for_events(sink.events.as_ref(), columns)?;
    let mut decimal_commas = vec![None; columns.names.len()];
    let mut plan = Plan::infer(columns, options, overrides, |ix, told| {
        let name = &columns.names[ix];
        let Some(profile) = &mut sink.profiles[ix] else {
            return Ok(Verdict::Leave(table.unusable(ix).unwrap_or_default()));
        };
        let (guess, joined) = profile.guess(name);
        decimal_commas[ix] = profile.decimal_comma();
        match guess {
            Guess::Leave(reason) => Ok(Verdict::Leave(reason)),
            Guess::Kind(kind) => {
                notes.add(name, profile, n_rows, told, joined);
                Ok(Verdict::Kind(kind, profile.resolution()))
            }
            Guess::Problem(row, problem) => {
                let place = row.map_or_else(|| columns.place.clone(), |row| table.place_of(row, &columns.place));
                Err(Error::data(place.column(name), problem))
            }
        }
    })?;
    plan.warnings.append(&mut notes.finish());
    Ok(Looked { plan, n_rows, decimal_commas, kept: sink.kept })
}
