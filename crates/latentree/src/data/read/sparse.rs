//! Sparse tables, in any format: rows that list their nonzero cells.

use std::collections::HashMap;
use std::io::{BufRead, Read};
use std::path::Path;
use std::sync::Arc;

use super::carried::Carried;
use super::cell::{Cell, count_problem};
use super::decode::Decoder;
use super::dense::{unseen_labels, weight_problem};
use super::encoding::{TextEncoding, not_utf8};
use super::input::Input;
use super::options::{KindOverride, ReadOptions};
use super::overrides::Overrides;
use super::plan::{Columns, Plan, Target, Verdict};
use super::unseen::{UnseenLabels, UnseenPolicy};
use super::written_number::NumberReader;
use crate::data::{Batch, Block, Kind, Schema, SparseRows};
use crate::error::{Error, Place, Result};
use crate::file;

/// Rows in a batch of sparse rows.
const BATCH_ROWS: usize = 16384;
/// Stored cells after which a batch ends before it has its rows.
const BATCH_CELLS: usize = 1 << 22;
/// Longest name of a column in a file of names.
const NAME_LIMIT: u64 = 1 << 16;
/// Columns a file may claim without naming them or storing cells for them.
const FREE_COLUMNS: u64 = 1 << 18;

/// The error of a file that is not what it was when it was looked through.
pub(super) fn changed(place: Place) -> Error {
    Error::data(place, "the file changed while it was read; try again when it is complete")
}

/// Rows of stored cells in the file's own column numbers, from zero.
pub(super) trait RowSource: Send {
    /// Puts the next row's cells into `row`, any order, a column possibly twice; `false` at the end.
    fn next_row(&mut self, row: &mut Vec<(u32, f64)>) -> Result<bool>;

    /// Starts again.
    fn rewind(&mut self) -> Result<()>;

    /// The id of the row that came last, where rows have ids.
    fn key(&self) -> Option<&[u8]> {
        None
    }
}

/// Rows held in memory, for files whose cells are not stored row by row.
#[derive(Debug, Default)]
pub(super) struct Held {
    starts: Vec<usize>,
    cells: Vec<(u32, f64)>,
    next: usize,
}

impl Held {
    /// Sorts cells of row, column and value into rows.
    pub(super) fn new(n_rows: usize, mut cells: Vec<(u32, u32, f64)>) -> Self {
        cells.sort_by_key(|&(row, column, _)| (row, column));
        let mut starts = vec![0; n_rows + 1];
        for &(row, ..) in &cells {
            starts[row as usize + 1] += 1;
        }
        for row in 0..n_rows {
            starts[row + 1] += starts[row];
        }
        Self { starts, cells: cells.into_iter().map(|(_, column, value)| (column, value)).collect(), next: 0 }
    }

    /// Bytes that the cells take.
    pub(super) fn n_bytes(&self) -> u64 {
        (self.cells.len() + self.starts.len()) as u64 * KeptRows::CELL_BYTES
    }

    /// The rows as `change` leaves them, without those for which it says no.
    pub(super) fn changed(mut self, change: impl Fn(&mut Vec<(u32, f64)>) -> bool) -> Self {
        let mut changed = Self { starts: vec![0], ..Self::default() };
        let mut row = Vec::new();
        while self.next_row(&mut row) {
            if change(&mut row) {
                changed.push(&row);
            }
            row.clear();
        }
        changed
    }

    /// Adds a row at the end.
    pub(super) fn push(&mut self, row: &[(u32, f64)]) {
        if self.starts.is_empty() {
            self.starts.push(0);
        }
        self.cells.extend_from_slice(row);
        self.starts.push(self.cells.len());
    }

    /// The same cells in columns with smaller numbers.
    pub(super) fn shifted(mut self, base: u32) -> Self {
        self.cells.iter_mut().for_each(|(column, _)| *column -= base);
        self
    }

    pub(super) fn next_row(&mut self, row: &mut Vec<(u32, f64)>) -> bool {
        let Some(&end) = self.starts.get(self.next + 1) else { return false };
        row.extend_from_slice(&self.cells[self.starts[self.next]..end]);
        self.next += 1;
        true
    }

    /// The number of the row that comes next.
    pub(super) fn position(&self) -> usize {
        self.next
    }

    pub(super) fn rewind(&mut self) {
        self.next = 0;
    }
}

impl RowSource for Held {
    fn next_row(&mut self, row: &mut Vec<(u32, f64)>) -> Result<bool> {
        Ok(self.next_row(row))
    }

    fn rewind(&mut self) -> Result<()> {
        self.rewind();
        Ok(())
    }
}

/// Rows kept from the look through a file for the pass that follows; after it the file is read again.
pub(super) struct KeptRows {
    kept: Option<Held>,
    is_begun: bool,
    source: Box<dyn RowSource>,
}

impl KeptRows {
    /// Bytes that a kept cell takes while rows are made of cells.
    pub(super) const CELL_BYTES: u64 = 48;

    pub(super) fn new(kept: Held, source: Box<dyn RowSource>) -> Self {
        Self { kept: Some(kept), is_begun: false, source }
    }
}

impl RowSource for KeptRows {
    fn next_row(&mut self, row: &mut Vec<(u32, f64)>) -> Result<bool> {
        let Some(kept) = &mut self.kept else { return self.source.next_row(row) };
        self.is_begun = true;
        let is_there = kept.next_row(row);
        if !is_there {
            *kept = Held::default();
        }
        Ok(is_there)
    }

    fn rewind(&mut self) -> Result<()> {
        if self.kept.is_some() && !self.is_begun {
            return Ok(());
        }
        self.kept = None;
        self.source.rewind()
    }
}

/// What the stored values of a whole file look like.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Scan {
    pub(super) n_rows: u64,
    n_cells: u64,
    pub(super) first_column: Option<u32>,
    pub(super) last_column: Option<u32>,
    all_ones: bool,
    all_counts: bool,
    largest: f64,
}

impl Scan {
    /// Counts that have been looked through already.
    pub(super) fn of_counts(n_rows: u64, n_cells: u64, n_columns: u32) -> Self {
        let (first_column, last_column) = (Some(0).filter(|_| n_columns > 0), n_columns.checked_sub(1));
        Self { n_rows, n_cells, first_column, last_column, all_ones: false, all_counts: true, largest: f64::from(u32::MAX) }
    }

    /// Reads all rows once, and rewinds.
    pub(super) fn run(source: &mut dyn RowSource) -> Result<Self> {
        let scan = Self::visit(source, |_| {})?;
        source.rewind()?;
        Ok(scan)
    }

    /// Reads all rows once, and keeps them if they fit in this many bytes; otherwise rewinds.
    pub(super) fn keeping(source: &mut dyn RowSource, keep_bytes: u64) -> Result<(Self, Option<Held>)> {
        let mut kept = (keep_bytes > 0).then(Held::default);
        let scan = Self::visit(source, |row| {
            kept.iter_mut().for_each(|kept| kept.push(row));
            kept = kept.take().filter(|kept| kept.n_bytes() <= keep_bytes);
        })?;
        if kept.is_none() {
            source.rewind()?;
        }
        Ok((scan, kept))
    }

    fn visit(source: &mut dyn RowSource, mut see: impl FnMut(&[(u32, f64)])) -> Result<Self> {
        let mut scan =
            Self { n_rows: 0, n_cells: 0, first_column: None, last_column: None, all_ones: true, all_counts: true, largest: 0.0 };
        let mut row = Vec::new();
        while source.next_row(&mut row)? {
            scan.n_rows += 1;
            see(&row);
            // Indices of cells that hold 0 count too: they tell how many columns there are.
            for &(column, _) in &row {
                scan.first_column = Some(scan.first_column.map_or(column, |first| first.min(column)));
                scan.last_column = Some(scan.last_column.map_or(column, |last| last.max(column)));
            }
            tidy(&mut row);
            for &(_, value) in row.iter().filter(|(_, value)| !value.is_nan()) {
                scan.n_cells += 1;
                scan.all_ones &= value == 1.0;
                scan.all_counts &= count_problem(value).is_none();
                scan.largest = scan.largest.max(value);
            }
            row.clear();
        }
        Ok(scan)
    }

    /// Whether all stored values are 1.
    pub(super) fn all_ones(&self) -> bool {
        self.all_ones
    }

    /// The kind of all columns that the user says nothing of.
    fn kind(&self) -> Kind {
        match (self.all_ones, self.all_counts) {
            (true, _) => Kind::binary(),
            (false, true) => Kind::Count,
            (false, false) => Kind::Continuous,
        }
    }

    /// The kind of a column the user may say something of.
    fn told_kind(&self, told: Option<KindOverride>) -> Result<Kind, String> {
        const STATES_LIMIT: f64 = 255.0;
        Ok(match told {
            None | Some(KindOverride::Ignore) => self.kind(),
            Some(KindOverride::Binary) => Kind::binary(),
            Some(KindOverride::Count) => Kind::Count,
            Some(KindOverride::Continuous) => Kind::Continuous,
            Some(KindOverride::Categorical) if self.all_counts && self.largest < STATES_LIMIT => {
                Kind::numbered((self.largest as usize + 1).max(2))
            }
            Some(KindOverride::Categorical) => {
                return Err("categorical cells of a sparse file must be whole numbers from 0 to 254".to_owned());
            }
        })
    }

    /// Fails if a file claims far more columns than it could use: their names alone would fill the memory.
    pub(super) fn check_columns(&self, place: Place, n_columns: u64) -> Result<()> {
        let limit = FREE_COLUMNS.saturating_add(self.n_cells.saturating_mul(16)).min(u64::from(u32::MAX - 1));
        if n_columns > limit {
            let cells = crate::counted(self.n_cells, "cell");
            let are = if self.n_cells == 1 { "is" } else { "are" };
            let problem = format!("{n_columns} columns are claimed but only {cells} {are} stored; is the size right?");
            return Err(Error::data(place, problem));
        }
        Ok(())
    }
}

/// Sorts a row's cells by column, adds up those of the same column and drops zeros.
pub(super) fn tidy(row: &mut Vec<(u32, f64)>) {
    if !row.is_sorted_by(|left, right| left.0 < right.0) {
        row.sort_by_key(|&(column, _)| column);
        row.dedup_by(|later, kept| {
            let is_same = later.0 == kept.0;
            if is_same {
                // A value that is there goes before one that is missing.
                kept.1 = match (kept.1.is_nan(), later.1.is_nan()) {
                    (true, _) => later.1,
                    (_, true) => kept.1,
                    _ => kept.1 + later.1,
                };
            }
            is_same
        });
    }
    row.retain(|&(_, value)| value != 0.0);
}

/// A sparse file that has been looked through.
pub(super) struct SparseFile {
    pub(super) source: Box<dyn RowSource>,
    pub(super) scan: Scan,
    pub(super) names: Vec<String>,
    /// Whether the names are the file's or the user's, not made up.
    pub(super) named: bool,
    /// Whether the columns are what the file happens to mention: then one that it does not mention is zero, not missing.
    pub(super) is_open: bool,
    /// Whether cells only say that something is there: binary, unless the user asks for counts.
    pub(super) is_presence: bool,
    /// What the ids of the rows are called, where they have ids.
    pub(super) key_name: Option<String>,
    /// What the user should know.
    pub(super) notes: Vec<String>,
    /// Ids of the only rows to be read.
    pub(super) only: Option<Vec<String>>,
}

/// Reads a sparse table batch by batch.
pub(super) struct SparseReader {
    source: Box<dyn RowSource>,
    input: Arc<Input>,
    schema: Arc<Schema>,
    targets: Vec<Target>,
    /// One for each kind, not for each column: a bag of words has many columns and one kind.
    decoders: Vec<Decoder>,
    /// The decoder of each column.
    decoder_of: Vec<u32>,
    missing: Vec<u32>,
    has_weights: bool,
    batch_rows: usize,
    next_row: u64,
    row: Vec<(u32, f64)>,
    /// Cells of every column of the file that are not read in this pass.
    skipped: Vec<u64>,
    /// Skipped cells, and labels that the schema does not have, of a whole pass.
    unseen: Option<(Vec<u64>, Vec<UnseenLabels>)>,
    /// The ids of the rows of the last batch, if they are carried along.
    carried: Carried,
}

impl SparseReader {
    pub(super) fn open(file: SparseFile, input: Arc<Input>, options: &ReadOptions) -> Result<(Self, Plan)> {
        let overrides = Overrides::new(options)?;
        let SparseFile { source, scan, names, named, is_open, is_presence, key_name, notes, .. } = file;
        if options.min_count.is_some() {
            let problem =
                "it merges the labels of a table; the columns of a sparse file or of events are numbers, or present or not";
            return Err(Error::option("read.min_count", problem));
        }
        if !options.na.is_empty() {
            let problem = "it names values of the columns of a table; sparse files, events and text have none that mean missing";
            return Err(Error::option("read.na", problem));
        }
        if scan.n_rows == 0 {
            return Err(Error::data(input.place(), "no rows"));
        }
        if let (Some(_), None) = (&options.id, &key_name) {
            return Err(Error::option("read.id", "rows of a sparse file have no ids; write them as a table or as events"));
        }
        // The id of events is not a column, and all columns are variables.
        let without_id = ReadOptions { id: None, carry_others: false, ..options.clone() };
        let options = &without_id;
        let columns = Columns { place: input.place(), names: &names, named };
        let mut plan = match &options.schema {
            Some(schema) => Plan::fit(schema, &columns, options, &overrides)?,
            None => Plan::infer(&columns, options, &overrides, |ix, told| {
                let presence = is_presence && told.kind.is_none();
                let kind = scan.told_kind(if presence { Some(KindOverride::Binary) } else { told.kind });
                kind.map(|kind| Verdict::Kind(kind, None))
                    .map_err(|problem| Error::data(input.place().column(&names[ix]), problem))
            })?,
        };
        if is_open {
            plan.absent.clear();
        }
        plan.warnings.splice(0..0, notes);
        plan.describe(options)?;
        for column in plan.schema.columns() {
            let zero_is_first = column.kind.labels().is_none_or(|labels| super::cell::number(labels[0].as_bytes()) == Some(0.0));
            if !zero_is_first {
                let problem = "cells that a sparse file does not store are 0, but the first label of the column is not 0";
                return Err(Error::data(input.place().column(&column.name), problem));
            }
        }
        let policy = options.unseen_policy();
        let mut decoders = Vec::new();
        let mut decoder_of = Vec::with_capacity(plan.thresholds.len());
        let mut last = None;
        for (column, &threshold) in plan.schema.columns().iter().zip(&plan.thresholds) {
            let needed = (&column.kind, threshold || is_presence);
            // Columns share a decoder unless it counts what its column alone does not know.
            if last != Some(needed) || policy == UnseenPolicy::Missing {
                decoders.push(Decoder::new(needed.0, needed.1, NumberReader::new(None, false), policy));
                last = Some(needed);
            }
            decoder_of.push(decoders.len() as u32 - 1);
        }
        let reader = Self {
            source,
            input,
            schema: Arc::clone(&plan.schema),
            targets: plan.targets.clone(),
            decoders,
            decoder_of,
            missing: plan.absent.iter().map(|column| column.get() as u32).collect(),
            has_weights: plan.targets.contains(&Target::Weight),
            batch_rows: options.batch_rows.unwrap_or(BATCH_ROWS).max(1),
            next_row: 0,
            row: Vec::new(),
            skipped: vec![0; plan.targets.len()],
            unseen: None,
            carried: Carried::new(key_name.filter(|_| options.carry_keys).into_iter().collect()),
        };
        Ok((reader, plan))
    }

    /// The ids of the last batch, if they are carried along.
    pub(super) fn carried(&self) -> &Carried {
        &self.carried
    }

    pub(super) fn rewind(&mut self) -> Result<()> {
        self.next_row = 0;
        self.decoders.iter_mut().for_each(Decoder::forget_unseen);
        self.skipped.fill(0);
        self.source.rewind()
    }

    /// By column of the file the cells that were not read, and labels that the schema does not have: of the last whole
    /// pass, or of the rows so far in the first.
    pub(super) fn unseen(&self) -> (Vec<u64>, Vec<UnseenLabels>) {
        self.unseen.clone().unwrap_or_else(|| (self.skipped.clone(), unseen_labels(&self.schema, &self.decoders)))
    }

    pub(super) fn next_batch(&mut self) -> Result<Option<Batch>> {
        let mut rows = SparseRows::default();
        let mut values = Vec::new();
        let mut weights = self.has_weights.then(Vec::new);
        self.carried.clear();
        while rows.n_rows() < self.batch_rows && rows.columns.len() < BATCH_CELLS {
            self.row.clear();
            if !self.source.next_row(&mut self.row)? {
                break;
            }
            if !self.carried.names().is_empty() {
                self.carried.push(0, self.source.key().map_or(Cell::Missing, Cell::Text));
            }
            tidy(&mut self.row);
            let row_number = self.next_row + rows.n_rows() as u64 + 1;
            if self.row.last().is_some_and(|&(column, _)| column as usize >= self.targets.len()) {
                return Err(changed(self.input.place().row(row_number)));
            }
            let decoders = (&mut self.decoders[..], &self.decoder_of[..]);
            let weight = decode_row(&mut self.row, &self.targets, decoders, &mut self.skipped).map_err(|(column, problem)| {
                let place = self.input.place().row(row_number);
                let place = match column {
                    Some(column) => place.column(&self.schema.columns()[column].name),
                    None => place,
                };
                Error::data(place, problem)
            })?;
            self.row.extend(self.missing.iter().map(|&column| (column, f64::NAN)));
            if !self.row.is_sorted_by_key(|&(column, _)| column) {
                self.row.sort_unstable_by_key(|&(column, _)| column);
            }
            rows.columns.extend(self.row.iter().map(|&(column, _)| column));
            values.extend(self.row.iter().map(|&(_, value)| value));
            rows.starts.push(rows.columns.len());
            if let Some(weights) = &mut weights {
                weights.push(weight);
            }
        }
        let n_rows = rows.n_rows();
        if n_rows == 0 {
            self.unseen = Some((self.skipped.clone(), unseen_labels(&self.schema, &self.decoders)));
            return Ok(None);
        }
        rows.values = values.iter().any(|&value| value != 1.0).then_some(values);
        let batch = Batch { first_row: self.next_row, n_rows, block: Block::Sparse(rows), weights };
        self.next_row += n_rows as u64;
        Ok(Some(batch))
    }
}

/// Turns the file's columns and values into the schema's, and takes the weight out; it is 0 where none is stored.
fn decode_row(
    row: &mut Vec<(u32, f64)>,
    targets: &[Target],
    (decoders, decoder_of): (&mut [Decoder], &[u32]),
    skipped: &mut [u64],
) -> Result<f64, (Option<usize>, String)> {
    let mut weight = 0.0;
    let mut problem = None;
    row.retain_mut(|(column, value)| match targets[*column as usize] {
        Target::Skip => {
            skipped[*column as usize] += 1;
            false
        }
        Target::Weight => {
            weight = *value;
            false
        }
        Target::Column(ix) => match decoders[decoder_of[ix] as usize].number(*value) {
            Ok(decoded) => {
                (*column, *value) = (ix as u32, decoded);
                decoded != 0.0
            }
            Err(what) => {
                let hint = if *value > 1.0 { "; the kind binary takes values above 0 as 1" } else { "" };
                problem.get_or_insert((Some(ix), format!("{what}{hint}")));
                false
            }
        },
    });
    match (problem, weight_problem(weight)) {
        (Some(problem), _) => Err(problem),
        (None, Some(what)) => Err((None, what)),
        (None, None) => Ok(weight),
    }
}

/// Reads a file of names, one a line; blank lines at its end do not count.
pub(super) fn read_names(path: &Path, encoding: Option<TextEncoding>) -> Result<Vec<String>> {
    let mut input = file::open(path)?;
    if let Some(encoding) = encoding {
        input = encoding.decode(input);
    }
    let mut names: Vec<String> = Vec::new();
    let mut line_of: HashMap<String, u64> = HashMap::new();
    let (mut number, mut blank) = (0, None);
    let mut line = Vec::new();
    loop {
        line.clear();
        let n_bytes = input.by_ref().take(NAME_LIMIT).read_until(b'\n', &mut line).map_err(Error::io("read", path))?;
        if n_bytes == 0 {
            return Ok(names);
        }
        number += 1;
        let place = || Place::file(path).line(number);
        if n_bytes as u64 == NAME_LIMIT {
            return Err(Error::data(place(), format!("a name is longer than {} KiB", NAME_LIMIT >> 10)));
        }
        let text = std::str::from_utf8(&line).map_err(|_| Error::data(place(), not_utf8(&line)))?;
        let text = if number == 1 { text.strip_prefix('\u{feff}').unwrap_or(text) } else { text };
        let name = text.trim();
        if name.is_empty() {
            blank = blank.or(Some(number));
            continue;
        }
        if let Some(blank) = blank {
            return Err(Error::data(Place::file(path).line(blank), "a blank line among the names"));
        }
        if let Some(earlier) = line_of.insert(name.to_owned(), number) {
            let problem = format!("the name stands on lines {earlier} and {number}");
            return Err(Error::data(Place::file(path).column(name), problem));
        }
        names.push(name.to_owned());
    }
}

/// The names of `n_columns` columns: the user's, which must be as many (or more, if `may_exceed`), or `x1`, `x2`, ….
pub(super) fn column_names(
    options: &ReadOptions,
    place: &Place,
    n_columns: u64,
    may_exceed: bool,
) -> Result<(Vec<String>, bool)> {
    let Some(path) = &options.names else {
        return Ok(((1..=n_columns).map(|ix| format!("x{ix}")).collect(), false));
    };
    let names = read_names(path, options.encoding)?;
    let fits = names.len() as u64 == n_columns || (may_exceed && names.len() as u64 > n_columns);
    if !fits {
        return Err(Error::Mismatch {
            left: place.to_string(),
            right: path.display().to_string(),
            problem: format!("{n_columns} columns but {} names, one per line", names.len()),
        });
    }
    Ok((names, true))
}
