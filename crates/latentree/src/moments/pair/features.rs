//! From the cells of a batch to non-zero features.

use std::ops::Range;

use rayon::prelude::*;

use super::layout::{Layout, Map};
use crate::data::{Batch, Block, ColumnData, Kind, MISSING_CODE, MISSING_CODE8, SparseRows};
use crate::error::{Error, Place, Result};
use crate::named::counted;

/// Rows of a sparse batch that one task checks.
const SURVEY_ROWS: usize = 4096;

/// What a look over a batch tells before any of it is counted.
pub(super) struct Survey {
    /// Non-zero features in the triangle, the constant and missing indicators included.
    pub(super) nonzeros: u64,
    /// Columns with a missing cell, in order.
    pub(super) missing: Vec<usize>,
    /// Shifts for numeric columns that have none yet.
    pub(super) shifts: Vec<(usize, f64)>,
    /// Whether rows have weights other than 1.
    pub(super) weighted: bool,
    /// Whether absent cells of sparse rows have non-zero features.
    defaults: bool,
}

/// Largest magnitude whose products summed over many rows stay finite.
fn largest(degree: usize) -> f64 {
    if degree == 1 { 1e140 } else { 1e70 }
}

fn at(batch: &Batch, row: usize) -> Place {
    Place::default().row(batch.first_row + row as u64 + 1)
}

/// Checks a batch against the layout and describes its content.
pub(super) fn survey(batch: &Batch, layout: &Layout, shifts: &[Option<f64>]) -> Result<Survey> {
    let mut weighted = false;
    if let Some(weights) = &batch.weights {
        if weights.len() != batch.n_rows {
            let problem = format!("{} weights for {} rows", weights.len(), batch.n_rows);
            return Err(Error::data(at(batch, 0), problem));
        }
        if let Some(row) = weights.iter().position(|weight| !(weight.is_finite() && (0.0..=1e140).contains(weight))) {
            let problem = format!("weight {} is not a number from 0 to 1e140", weights[row]);
            return Err(Error::data(at(batch, row), problem));
        }
        weighted = weights.iter().any(|&weight| weight != 1.0);
    }
    let mut survey = match &batch.block {
        Block::Dense(columns) => survey_dense(batch, columns, layout, shifts)?,
        Block::Sparse(rows) => survey_sparse(batch, rows, layout, shifts)?,
    };
    survey.weighted = weighted;
    survey.nonzeros += batch.n_rows as u64;
    Ok(survey)
}

/// What a look over one dense column tells.
#[derive(Default)]
struct ColumnSurvey {
    nonzeros: u64,
    missing: bool,
    mean: Option<f64>,
}

fn survey_dense(batch: &Batch, columns: &[ColumnData], layout: &Layout, shifts: &[Option<f64>]) -> Result<Survey> {
    let schema = &layout.schema;
    if columns.len() != schema.columns().len() {
        let problem = format!("a batch of {} columns for a schema of {}", columns.len(), schema.columns().len());
        return Err(Error::data(at(batch, 0), problem));
    }
    let surveys: Vec<Result<ColumnSurvey>> = columns
        .par_iter()
        .enumerate()
        .map(|(ix, data)| {
            survey_column(batch, data, layout, ix)
                .map_err(|(row, problem)| Error::data(at(batch, row).column(&schema.columns()[ix].name), problem))
        })
        .collect();
    let mut survey = Survey { nonzeros: 0, missing: Vec::new(), shifts: Vec::new(), weighted: false, defaults: true };
    for (ix, column) in surveys.into_iter().enumerate() {
        let column = column?;
        survey.nonzeros += column.nonzeros;
        if column.missing {
            survey.missing.push(ix);
        }
        if let (None, Some(mean)) = (shifts[ix], column.mean) {
            survey.shifts.push((ix, mean));
        }
    }
    Ok(survey)
}

fn survey_column(batch: &Batch, data: &ColumnData, layout: &Layout, ix: usize) -> Result<ColumnSurvey, (usize, String)> {
    if data.len() != batch.n_rows {
        return Err((0, format!("{} in a batch of {}", counted(data.len() as u64, "cell"), counted(batch.n_rows as u64, "row"))));
    }
    let kind = &layout.schema.columns()[ix].kind;
    let mut survey = ColumnSurvey::default();
    let n_states = kind.n_states().unwrap_or(usize::MAX);
    let refused = |row: usize| (row, format!("code {} but the column has {n_states} states", data.number(row)));
    let present = match data {
        _ if kind.n_states().is_some() == matches!(data, ColumnData::Reals(_)) => {
            return Err((0, format!("storage does not fit a {} column", kind.name())));
        }
        ColumnData::Codes8(cells) => {
            // A sum over bytes runs in vector registers where a search does not.
            let bad = |code: u8| code != MISSING_CODE8 && usize::from(code) >= n_states;
            if cells.iter().map(|&code| u64::from(bad(code))).sum::<u64>() > 0 {
                return Err(refused(cells.iter().position(|&code| bad(code)).unwrap_or(0)));
            }
            if matches!(kind, Kind::Binary { .. }) {
                survey.nonzeros = cells.iter().map(|&code| u64::from(code == 1)).sum();
            }
            cells.iter().map(|&code| u64::from(code != MISSING_CODE8)).sum()
        }
        ColumnData::Codes(cells) => {
            if let Some(row) = cells.iter().position(|&code| code != MISSING_CODE && code as usize >= n_states) {
                return Err(refused(row));
            }
            if matches!(kind, Kind::Binary { .. }) {
                survey.nonzeros = cells.iter().map(|&code| u64::from(code == 1)).sum();
            }
            cells.iter().map(|&code| u64::from(code != MISSING_CODE)).sum()
        }
        ColumnData::Reals(cells) => {
            let limit = largest(layout.degree);
            if let Some(row) = cells.iter().position(|value| value.abs() > limit) {
                return Err((row, format!("the number {:?} is too large for its moments; rescale the column", cells[row])));
            }
            let (mut sum, mut count) = (0.0, 0_u64);
            for value in cells.iter().filter(|value| !value.is_nan()) {
                sum += value;
                count += 1;
            }
            if count > 0 {
                let mean = sum / count as f64;
                // Whole shifts keep sums of counts whole, hence exact.
                survey.mean = Some(if matches!(kind, Kind::Count) { mean.round() } else { mean });
            }
            count
        }
    };
    survey.missing = present < batch.n_rows as u64;
    survey.nonzeros += match layout.columns[ix].map {
        Map::Binary | Map::Wide(_) => 0,
        Map::OneHot => present,
        Map::Powers => present * layout.degree as u64,
    } + (batch.n_rows as u64 - present);
    Ok(survey)
}

fn survey_sparse(batch: &Batch, rows: &SparseRows, layout: &Layout, shifts: &[Option<f64>]) -> Result<Survey> {
    let n_columns = layout.columns.len();
    let stored = rows.columns.len();
    let shaped = rows.starts.len() == batch.n_rows + 1
        && rows.starts.first() == Some(&0)
        && rows.starts.last() == Some(&stored)
        && rows.starts.windows(2).all(|pair| pair[0] <= pair[1])
        && rows.values.as_ref().is_none_or(|values| values.len() == stored);
    if !shaped {
        return Err(Error::data(at(batch, 0), "the arrays of a batch of sparse rows are incompatible"));
    }
    // Without values every stored cell is a 1, which only a column of a single label does not have.
    let check = rows.values.is_some() || layout.schema.columns().iter().any(|column| column.kind.n_states() == Some(1));
    let n_chunks = batch.n_rows.div_ceil(SURVEY_ROWS);
    let chunks: Vec<Result<Vec<usize>>> = (0..n_chunks)
        .into_par_iter()
        .map(|chunk| {
            let mut missing = Vec::new();
            for row in chunk * SURVEY_ROWS..batch.n_rows.min((chunk + 1) * SURVEY_ROWS) {
                let cells = &rows.columns[rows.starts[row]..rows.starts[row + 1]];
                let ordered = cells.windows(2).all(|pair| pair[0] < pair[1]);
                if !ordered || cells.last().is_some_and(|&column| column as usize >= n_columns) {
                    let problem = format!("the columns of a sparse row must increase and be below {n_columns}");
                    return Err(Error::data(at(batch, row), problem));
                }
                if check {
                    check_values(batch, rows, row, layout, &mut missing)?;
                }
            }
            missing.sort_unstable();
            missing.dedup();
            Ok(missing)
        })
        .collect();
    let mut missing = chunks.into_iter().collect::<Result<Vec<_>>>()?.concat();
    missing.sort_unstable();
    missing.dedup();
    let mut new_shifts = Vec::new();
    let mut defaults = 0;
    for (ix, column) in layout.columns.iter().enumerate() {
        match column.map {
            Map::OneHot => defaults += 1,
            Map::Powers => match shifts[ix] {
                None => new_shifts.push((ix, 0.0)),
                Some(shift) if shift != 0.0 => defaults += layout.degree,
                Some(_) => {}
            },
            Map::Binary | Map::Wide(_) => {}
        }
    }
    Ok(Survey {
        nonzeros: (stored * if layout.has_numbers { layout.degree } else { 1 } + defaults * batch.n_rows) as u64,
        missing,
        shifts: new_shifts,
        weighted: false,
        defaults: defaults > 0,
    })
}

fn check_values(batch: &Batch, rows: &SparseRows, row: usize, layout: &Layout, missing: &mut Vec<usize>) -> Result<()> {
    for (ix, value) in rows.row(row) {
        if value.is_nan() {
            missing.push(ix);
            continue;
        }
        let column = &layout.schema.columns()[ix];
        let problem = match column.kind.n_states() {
            Some(n_states) if value < 0.0 || value.fract() != 0.0 || value >= n_states as f64 => {
                format!("code {value} but the column has the codes 0 to {}", n_states - 1)
            }
            None if value.abs() > largest(layout.degree) => {
                format!("the number {value} is too large for its moments; rescale the column")
            }
            _ => continue,
        };
        return Err(Error::data(at(batch, row).column(&column.name), problem));
    }
    Ok(())
}

/// A surveyed batch whose non-zero features can be visited.
pub(super) struct View<'a> {
    pub(super) batch: &'a Batch,
    pub(super) layout: &'a Layout,
    /// Shift of every column.
    pub(super) shifts: &'a [Option<f64>],
    pub(super) survey: &'a Survey,
}

impl View<'_> {
    /// Weights of the rows, `None` when all are 1.
    pub(super) fn weights(&self) -> Option<&[f64]> {
        if self.survey.weighted { self.batch.weights.as_deref() } else { None }
    }

    /// Calls `emit(row − rows.start, position, value)` for every non-zero feature of the rows. For each row positions
    /// increase, and for each position rows increase, whether the batch is walked by row or by column.
    pub(super) fn visit(&self, rows: Range<usize>, emit: &mut impl FnMut(usize, usize, f64)) {
        self.visit_except(|_| false, rows, emit);
    }

    /// The codes of a dense binary column, for those who pack them faster than by visiting.
    pub(super) fn binary_codes(&self, ix: usize) -> Option<&[u8]> {
        match (&self.batch.block, self.layout.columns[ix].map) {
            (Block::Dense(columns), Map::Binary) => match &columns[ix] {
                ColumnData::Codes8(codes) => Some(codes),
                _ => None,
            },
            _ => None,
        }
    }

    /// [`visit`](Self::visit) without the value features of some columns of a dense batch.
    pub(super) fn visit_except(
        &self,
        except: impl Fn(usize) -> bool,
        rows: Range<usize>,
        emit: &mut impl FnMut(usize, usize, f64),
    ) {
        match &self.batch.block {
            Block::Dense(columns) => self.visit_dense(columns, except, rows, emit),
            Block::Sparse(cells) => self.visit_sparse(cells, rows, emit),
        }
    }

    fn visit_dense(
        &self,
        columns: &[ColumnData],
        except: impl Fn(usize) -> bool,
        rows: Range<usize>,
        emit: &mut impl FnMut(usize, usize, f64),
    ) {
        (0..rows.len()).for_each(|row| emit(row, 0, 1.0));
        for (ix, data) in columns.iter().enumerate().filter(|&(ix, _)| !except(ix)) {
            let column = &self.layout.columns[ix];
            match (column.map, data) {
                (Map::Wide(_), _) => {}
                (Map::Binary, ColumnData::Codes8(codes)) => {
                    for (row, &code) in codes[rows.clone()].iter().enumerate() {
                        if code == 1 {
                            emit(row, column.start, 1.0);
                        }
                    }
                }
                (Map::OneHot, ColumnData::Codes8(codes)) => {
                    for (row, &code) in codes[rows.clone()].iter().enumerate() {
                        if code != MISSING_CODE8 {
                            emit(row, column.start + usize::from(code), 1.0);
                        }
                    }
                }
                (Map::Powers, ColumnData::Reals(values)) => {
                    for (row, &value) in values[rows.clone()].iter().enumerate() {
                        self.emit_cell(row, ix, value, emit);
                    }
                }
                _ => rows.clone().for_each(|row| self.emit_cell(row - rows.start, ix, data.number(row), emit)),
            }
        }
        for (slot, &ix) in self.layout.missing.iter().enumerate() {
            let mut missing = |row: usize| emit(row, self.layout.n_values + slot, 1.0);
            match &columns[ix] {
                ColumnData::Codes8(codes) => {
                    let codes = codes[rows.clone()].iter().enumerate();
                    codes.filter(|&(_, &code)| code == MISSING_CODE8).for_each(|(row, _)| missing(row));
                }
                ColumnData::Codes(codes) => {
                    let codes = codes[rows.clone()].iter().enumerate();
                    codes.filter(|&(_, &code)| code == MISSING_CODE).for_each(|(row, _)| missing(row));
                }
                ColumnData::Reals(values) => {
                    let values = values[rows.clone()].iter().enumerate();
                    values.filter(|(_, value)| value.is_nan()).for_each(|(row, _)| missing(row));
                }
            }
        }
    }

    fn visit_sparse(&self, cells: &SparseRows, rows: Range<usize>, emit: &mut impl FnMut(usize, usize, f64)) {
        let mut missing = Vec::new();
        let plain = cells.values.is_none() && !self.survey.defaults && !self.layout.has_numbers && self.layout.wide.is_empty();
        for row in rows.clone() {
            let out = row - rows.start;
            emit(out, 0, 1.0);
            if plain {
                // Without values, defaults, numbers or wide columns every stored cell is the 1 of a binary column.
                for &ix in &cells.columns[cells.starts[row]..cells.starts[row + 1]] {
                    emit(out, self.layout.columns[ix as usize].start, 1.0);
                }
                continue;
            }
            let mut stored = cells.row(row).peekable();
            if self.survey.defaults {
                for ix in 0..self.layout.columns.len() {
                    let value = stored.next_if(|&(column, _)| column == ix).map_or(0.0, |(_, value)| value);
                    self.emit_cell(out, ix, value, emit);
                    if value.is_nan() {
                        missing.push(self.layout.columns[ix].missing().expect("missing cells have indicators"));
                    }
                }
            } else {
                for (ix, value) in stored {
                    self.emit_cell(out, ix, value, emit);
                    if value.is_nan() {
                        missing.push(self.layout.columns[ix].missing().expect("missing cells have indicators"));
                    }
                }
            }
            missing.sort_unstable();
            missing.drain(..).for_each(|position| emit(out, position, 1.0));
        }
    }

    /// The value features of one cell; NaN has none.
    #[inline]
    fn emit_cell(&self, row: usize, ix: usize, value: f64, emit: &mut impl FnMut(usize, usize, f64)) {
        let column = &self.layout.columns[ix];
        if value.is_nan() {
            return;
        }
        match column.map {
            Map::Binary if value == 1.0 => emit(row, column.start, 1.0),
            Map::Binary | Map::Wide(_) => {}
            Map::OneHot => emit(row, column.start + value as usize, 1.0),
            Map::Powers => {
                let x = value - self.shifts[ix].unwrap_or(0.0);
                if x != 0.0 {
                    emit(row, column.start, x);
                    if self.layout.degree == 2 {
                        emit(row, column.start + 1, x * x);
                    }
                }
            }
        }
    }

    /// Codes of one column for all rows of the batch; [`MISSING_CODE`] is missing.
    pub(super) fn codes(&self, ix: usize) -> Vec<u32> {
        match &self.batch.block {
            Block::Dense(columns) => (0..self.batch.n_rows).map(|row| columns[ix].code(row).unwrap_or(MISSING_CODE)).collect(),
            Block::Sparse(cells) => {
                let mut codes = vec![0; self.batch.n_rows];
                for (row, code) in codes.iter_mut().enumerate() {
                    let range = cells.starts[row]..cells.starts[row + 1];
                    if let Ok(offset) = cells.columns[range.clone()].binary_search(&(ix as u32)) {
                        let value = cells.values.as_ref().map_or(1.0, |values| values[range.start + offset]);
                        *code = if value.is_nan() { MISSING_CODE } else { value as u32 };
                    }
                }
                codes
            }
        }
    }
}
