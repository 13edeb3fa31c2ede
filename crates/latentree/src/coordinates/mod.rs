//! Coordinates: numbers that represent the values of variables in pair and triple moments.
//!
//! A discrete column has the coordinates `(e_x − p)/√p` (for a binary one `(x − p)/√(p(1−p))`), a number `(x − mean)/sd`, and a
//! missing cell has zeros. Means are zero, and the covariance within a column contains only ones and zeros. Missing cells do not
//! bias moments: a coordinate that is zero for a missing cell is still independent of the rest given the hidden parent, as long
//! as missingness is.
//!
//! A variable with many features has fewer coordinates: the directions of its features that covary with its neighbours
//! ([`feature_cross`]). Rows in coordinates are again rows ([`compressed`]), with a group of numbers for each variable. If hidden
//! variables have more than two states, a number is first cut into [`bins`] and has the coordinates of their labels.

pub(crate) mod bins;
pub(crate) mod compressed;
pub(crate) mod feature_cross;
pub(crate) mod neighbours;

use std::sync::Arc;

use bins::Bins;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::data::{Batch, Block, ColumnData, Kind, Schema};
use crate::index::ColIx;
use crate::moments::ColumnSummary;

/// Frequencies are not divided by less than this.
const RARE: f64 = 1e-9;

/// How one column is turned into coordinates.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct ColumnMap {
    kind: ColumnKind,
    /// First coordinate of its variable and their number.
    start: u32,
    width: u32,
    /// Where its weights begin: a row of coordinates for each feature.
    weights: usize,
    /// Where its offset begins, which is subtracted where the column is present.
    offset: usize,
}

/// Few coordinates that were found for variables of many features, from one half of the rows.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundCoordinates(pub(crate) feature_cross::Directions);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum ColumnKind {
    Binary,
    Levels,
    Number,
}

/// Coordinates of all variables of a schema.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Coordinates {
    columns: Vec<ColumnMap>,
    /// Of all columns, one after the other, so that a cell of a sparse row costs few reads.
    weights: Vec<f64>,
    offsets: Vec<f64>,
    /// First coordinate of each variable, and their number at the end.
    starts: Vec<usize>,
    /// What a row of zeros has.
    base: Vec<f64>,
    /// All columns, if they are a few long runs: the place of a cell then follows from its column without a look at its map.
    runs: Vec<Run>,
    /// How numbers become the labels that the coordinates are those of.
    bins: Option<Arc<Bins>>,
}

/// Columns of numbers of one variable, one after the other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Run {
    columns: std::ops::Range<usize>,
    start: u32,
    width: u32,
    /// Where the weights of the first begin.
    weights: usize,
}

/// Most runs that rows are looked at by.
const MAX_RUNS: usize = 64;
/// Rows that a thread fills at once.
const PARALLEL_ROWS: usize = 256;

/// The columns as runs, if they are few and all are numbers.
fn runs(columns: &[ColumnMap]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for (column, map) in columns.iter().enumerate() {
        if map.kind == ColumnKind::Levels {
            return Vec::new();
        }
        let is_full = runs.len() == MAX_RUNS;
        match runs.last_mut() {
            Some(run)
                if (run.start, run.width) == (map.start, map.width)
                    && run.weights + run.columns.len() * run.width as usize == map.weights =>
            {
                run.columns.end += 1;
            }
            _ if is_full => return Vec::new(),
            _ => runs.push(Run { columns: column..column + 1, start: map.start, width: map.width, weights: map.weights }),
        }
    }
    runs
}

/// The parts of a slice between the ends given.
pub(crate) fn split<'a>(mut rest: &'a mut [f64], ends: &[usize]) -> Vec<&'a mut [f64]> {
    let mut parts = Vec::with_capacity(ends.len());
    for pair in ends.windows(2) {
        let (part, later) = std::mem::take(&mut rest).split_at_mut(pair[1] - pair[0]);
        rest = later;
        parts.push(part);
    }
    parts
}

/// Adds mean and scale of every feature of a column.
pub(crate) fn extend_standards(kind: &Kind, summary: &ColumnSummary, out: &mut Vec<(f64, f64)>) {
    let weight = summary.weight.max(f64::MIN_POSITIVE);
    match kind {
        Kind::Binary { .. } => {
            let p = summary.levels.get(1).map_or(0.0, |ones| ones / weight);
            out.push((p, 1.0 / (p * (1.0 - p)).max(RARE).sqrt()));
        }
        Kind::Categorical { .. } => {
            let shares = summary.levels.iter().map(|level| level / weight);
            out.extend(shares.map(|p| (p, if p > 0.0 { 1.0 / p.max(RARE).sqrt() } else { 0.0 })));
        }
        Kind::Continuous | Kind::Count => out.push(number_standard(summary)),
    }
}

/// Mean and scale of a column of numbers.
pub(crate) fn number_standard(summary: &ColumnSummary) -> (f64, f64) {
    let variance = summary.variance();
    (summary.mean, if variance > 0.0 { 1.0 / variance.sqrt() } else { 0.0 })
}

impl Coordinates {
    /// The name of the view of rows through coordinates.
    pub(crate) const NAME: &'static str = "coordinates";

    /// One coordinate per feature; `directions[i]`, where given, are coordinates of variable i as combinations of its
    /// standardised features, a row for each feature.
    pub(crate) fn new(schema: &Schema, summaries: &[ColumnSummary], directions: &[Option<(usize, Vec<f64>)>]) -> Self {
        let directions = |ix: usize| directions.get(ix).and_then(Option::as_ref);
        let (mut starts, mut first_weights, mut first_offsets) = (vec![0], vec![0], vec![0]);
        for (ix, variable) in schema.variables().iter().enumerate() {
            let (width, n_features) = match directions(ix) {
                Some((width, rows)) if *width > 0 => (*width, rows.len() / width),
                Some(_) => (0, 0),
                None => {
                    let n_features = feature_cross::n_features(schema, ix);
                    (n_features, n_features)
                }
            };
            starts.push(starts[ix] + width);
            first_weights.push(first_weights[ix] + n_features * width);
            first_offsets.push(first_offsets[ix] + variable.columns.len() * width);
        }
        let n = schema.variables().len();
        let (mut weights, mut offsets, mut base) = (Vec::new(), Vec::new(), vec![0.0; starts[n]]);
        weights.resize(first_weights[n], 0.0);
        offsets.resize(first_offsets[n], 0.0);
        let parts = (split(&mut weights, &first_weights).into_par_iter())
            .zip(split(&mut offsets, &first_offsets))
            .zip(split(&mut base, &starts))
            .enumerate();
        let maps: Vec<Vec<ColumnMap>> = parts
            .map(|(ix, ((weights, offsets), base))| {
                let (mut standards, mut feature) = (Vec::new(), 0);
                let (start, width) = (starts[ix], starts[ix + 1] - starts[ix]);
                let map = |(at, &column): (usize, &ColIx)| {
                    let kind = &schema.column(column).kind;
                    standards.clear();
                    extend_standards(kind, &summaries[column.get()], &mut standards);
                    let first = feature * width;
                    let offset = &mut offsets[at * width..][..width];
                    for &(mean, scale) in &standards {
                        let row = &mut weights[feature * width..][..width];
                        match directions(ix) {
                            None => row[feature] = scale,
                            Some((_, rows)) => {
                                row.iter_mut().zip(&rows[feature * width..]).for_each(|(out, it)| *out = scale * it);
                            }
                        }
                        offset.iter_mut().zip(&*row).for_each(|(sum, weight)| *sum += mean * weight);
                        feature += 1;
                    }
                    let kind = match kind {
                        Kind::Binary { .. } => ColumnKind::Binary,
                        Kind::Categorical { .. } => ColumnKind::Levels,
                        Kind::Continuous | Kind::Count => ColumnKind::Number,
                    };
                    base.iter_mut().zip(&*offset).for_each(|(base, offset)| *base -= offset);
                    if kind == ColumnKind::Levels {
                        base.iter_mut().zip(&weights[first..]).for_each(|(base, weight)| *base += weight);
                    }
                    ColumnMap {
                        kind,
                        start: start as u32,
                        width: width as u32,
                        weights: first_weights[ix] + first,
                        offset: first_offsets[ix] + at * width,
                    }
                };
                schema.variables()[ix].columns.iter().enumerate().map(map).collect()
            })
            .collect();
        let unset = ColumnMap { kind: ColumnKind::Number, start: 0, width: 0, weights: 0, offset: 0 };
        let mut columns = vec![unset; schema.columns().len()];
        for (variable, maps) in schema.variables().iter().zip(maps) {
            variable.columns.iter().zip(maps).for_each(|(column, map)| columns[column.get()] = map);
        }
        let runs = runs(&columns);
        Self { columns, weights, offsets, starts, base, runs, bins: None }
    }

    /// The same for rows whose numbers are not cut into bins yet; the schema was that of [`BinnedRows`](bins::BinnedRows).
    pub(crate) fn with_bins(mut self, bins: Option<Arc<Bins>>) -> Self {
        self.bins = bins;
        self
    }

    /// What a cell is among the values that the coordinates were made for.
    fn seen(&self, column: usize, value: f64) -> f64 {
        self.bins.as_ref().map_or(value, |bins| bins.code(column, value))
    }

    /// Number of coordinates of all variables.
    pub(crate) fn len(&self) -> usize {
        self.base.len()
    }

    /// The coordinates of a row of zeros.
    pub(crate) fn of_zeros(&self) -> &[f64] {
        &self.base
    }

    /// Number of columns.
    pub(crate) fn n_columns(&self) -> usize {
        self.columns.len()
    }

    /// The coordinates of a variable.
    pub(crate) fn of(&self, variable: usize) -> std::ops::Range<usize> {
        self.starts[variable]..self.starts[variable + 1]
    }

    /// Writes the coordinates of some rows of a batch, row by row, on all cores.
    pub(crate) fn fill(&self, batch: &Batch, rows: std::ops::Range<usize>, out: &mut Vec<f64>) {
        let n = self.len();
        out.clear();
        out.resize(rows.len() * n, 0.0);
        let strips = out.par_chunks_mut((PARALLEL_ROWS * n).max(1)).enumerate();
        strips.for_each(|(strip, out)| {
            let first = rows.start + strip * PARALLEL_ROWS;
            self.fill_rows(batch, first..(first + PARALLEL_ROWS).min(rows.end), out);
        });
    }

    fn fill_rows(&self, batch: &Batch, rows: std::ops::Range<usize>, out: &mut [f64]) {
        let n = self.len();
        match &batch.block {
            Block::Dense(columns) => {
                for (column, data) in columns.iter().enumerate() {
                    for (row, out) in rows.clone().zip(out.chunks_exact_mut(n.max(1))) {
                        self.add(column, self.seen(column, data.number(row)), out);
                    }
                }
            }
            Block::Sparse(sparse) => {
                out.chunks_exact_mut(n.max(1)).for_each(|out| out.copy_from_slice(&self.base));
                if self.runs.is_empty() {
                    for (row, out) in rows.zip(out.chunks_exact_mut(n.max(1))) {
                        for (column, value) in sparse.row(row) {
                            self.add_beyond_zero(column, self.seen(column, value), out);
                        }
                    }
                    return;
                }
                // One run after the other: its weights are a smaller part of memory.
                for run in &self.runs {
                    let width = run.width as usize;
                    for (row, out) in rows.clone().zip(out.chunks_exact_mut(n.max(1))) {
                        for (column, value) in sparse.row_within(row, run.columns.clone()) {
                            if value.is_nan() {
                                self.add_beyond_zero(column, value, out);
                                continue;
                            }
                            let weights = &self.weights[run.weights + (column - run.columns.start) * width..][..width];
                            let out = &mut out[run.start as usize..][..width];
                            out.iter_mut().zip(weights).for_each(|(out, weight)| *out += value * weight);
                        }
                    }
                }
            }
        }
    }

    /// The coordinates of a variable of one column with this value.
    #[cfg(test)]
    pub(crate) fn of_value(&self, column: usize, value: f64) -> Vec<f64> {
        let map = &self.columns[column];
        let mut all = vec![0.0; self.len()];
        self.add(column, self.seen(column, value), &mut all);
        all[map.start as usize..(map.start + map.width) as usize].to_vec()
    }

    /// Adds the coordinates of a value; nothing if it is missing.
    fn add(&self, column: usize, value: f64, row: &mut [f64]) {
        if value.is_nan() {
            return;
        }
        let map = &self.columns[column];
        let (start, width) = (map.start as usize, map.width as usize);
        let out = &mut row[start..start + width];
        out.iter_mut().zip(&self.offsets[map.offset..]).for_each(|(out, offset)| *out -= offset);
        let (feature, value) = if map.kind == ColumnKind::Levels { (value as usize, 1.0) } else { (0, value) };
        if value != 0.0 {
            let weights = &self.weights[map.weights + feature * width..];
            out.iter_mut().zip(weights).for_each(|(out, weight)| *out += value * weight);
        }
    }

    /// Calls `each` with the coordinates in which a value differs from a zero, and by how much.
    #[inline]
    pub(crate) fn beyond_zero(&self, column: usize, value: f64, mut each: impl FnMut(usize, f64)) {
        let map = &self.columns[column];
        let (start, width) = (map.start as usize, map.width as usize);
        let value = self.seen(column, value);
        let of = |feature: usize, at: usize| self.weights[map.weights + feature * width + at];
        for at in 0..width {
            let amount = match (map.kind, value.is_nan()) {
                (ColumnKind::Levels, false) => of(value as usize, at) - of(0, at),
                (ColumnKind::Levels, true) => self.offsets[map.offset + at] - of(0, at),
                (_, true) => self.offsets[map.offset + at],
                (_, false) => value * of(0, at),
            };
            if amount != 0.0 {
                each(start + at, amount);
            }
        }
    }

    /// Adds what a value has beyond that of a zero.
    fn add_beyond_zero(&self, column: usize, value: f64, row: &mut [f64]) {
        let map = &self.columns[column];
        let (start, width) = (map.start as usize, map.width as usize);
        let out = &mut row[start..start + width];
        if map.kind != ColumnKind::Levels && !value.is_nan() {
            out.iter_mut().zip(&self.weights[map.weights..]).for_each(|(out, weight)| *out += value * weight);
            return;
        }
        out.iter_mut().zip(&self.offsets[map.offset..]).for_each(|(out, offset)| *out += offset);
        if map.kind == ColumnKind::Levels {
            out.iter_mut().zip(&self.weights[map.weights..]).for_each(|(out, weight)| *out -= weight);
        }
        self.add(column, value, row);
    }
}

/// The cells of one column in some rows, as numbers with NaN for missing; sparse rows are looked up.
pub(crate) fn column_numbers(batch: &Batch, column: usize, rows: std::ops::Range<usize>, out: &mut Vec<f64>) {
    out.clear();
    match &batch.block {
        Block::Dense(columns) => match &columns[column] {
            ColumnData::Reals(values) => out.extend_from_slice(&values[rows]),
            data => out.extend(rows.map(|row| data.number(row))),
        },
        Block::Sparse(sparse) => out.extend(rows.map(|row| {
            let (start, end) = (sparse.starts[row], sparse.starts[row + 1]);
            match sparse.columns[start..end].binary_search(&(column as u32)) {
                Ok(at) => sparse.values.as_ref().map_or(1.0, |values| values[start + at]),
                Err(_) => 0.0,
            }
        })),
    }
}
