//! The numbers that stand for the values of variables in pair and triple moments.
//!
//! A discrete column has the coordinates `(e_x − p)/√p` (for a binary one `(x − p)/√(p(1−p))`), a number `(x − mean)/sd`, and a missing
//! cell has zeros. Means are zero, and a column by itself has a covariance of ones and zeros only. A missing cell says nothing, and
//! does no harm: what is zero where a cell is missing is one more function of the row that is independent of the rest given the
//! hidden parent, as long as being missing is.
//!
//! A variable of many features has fewer coordinates: the directions of its features that go with its neighbours
//! ([`feature_cross`]). Rows seen through coordinates are rows again ([`compressed`]), with a group of numbers for each variable.

pub(crate) mod compressed;
pub(crate) mod feature_cross;
pub(crate) mod neighbours;

use serde::{Deserialize, Serialize};

use crate::data::{Batch, Block, ColumnData, Kind, Schema};
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

/// Few coordinates that were found for variables of many features, from the rows of even number.
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
}

/// Mean and scale of every feature of a column.
pub(crate) fn standards(kind: &Kind, summary: &ColumnSummary) -> Vec<(f64, f64)> {
    let weight = summary.weight.max(f64::MIN_POSITIVE);
    match kind {
        Kind::Binary { .. } => {
            let p = summary.levels.get(1).map_or(0.0, |ones| ones / weight);
            vec![(p, 1.0 / (p * (1.0 - p)).max(RARE).sqrt())]
        }
        Kind::Categorical { .. } => summary
            .levels
            .iter()
            .map(|level| level / weight)
            .map(|p| (p, if p > 0.0 { 1.0 / p.max(RARE).sqrt() } else { 0.0 }))
            .collect(),
        Kind::Continuous | Kind::Count => {
            let variance = summary.variance();
            vec![(summary.mean, if variance > 0.0 { 1.0 / variance.sqrt() } else { 0.0 })]
        }
    }
}

impl Coordinates {
    /// One coordinate per feature; `directions[i]`, where given, are coordinates of variable i as combinations of its standardised features,
    /// a row for each feature.
    pub(crate) fn new(schema: &Schema, summaries: &[ColumnSummary], directions: &[Option<(usize, Vec<f64>)>]) -> Self {
        let mut columns: Vec<Option<ColumnMap>> = vec![None; schema.columns().len()];
        let mut starts = vec![0];
        let (mut weights, mut offsets) = (Vec::new(), Vec::new());
        for (ix, variable) in schema.variables().iter().enumerate() {
            let start = starts[ix];
            let standards: Vec<Vec<(f64, f64)>> =
                variable.columns.iter().map(|&column| standards(&schema.column(column).kind, &summaries[column.get()])).collect();
            let n_features: usize = standards.iter().map(Vec::len).sum();
            let width = directions.get(ix).and_then(Option::as_ref).map_or(n_features, |it| it.0);
            let mut feature = 0;
            for (&column, standards) in variable.columns.iter().zip(&standards) {
                let (first_weight, first_offset) = (weights.len(), offsets.len());
                weights.resize(first_weight + standards.len() * width, 0.0);
                offsets.resize(first_offset + width, 0.0);
                let rows = weights[first_weight..].chunks_exact_mut(width.max(1));
                let offset = &mut offsets[first_offset..];
                for (&(mean, scale), row) in standards.iter().zip(rows) {
                    match directions.get(ix).and_then(Option::as_ref) {
                        None => row[feature] = scale,
                        Some((_, rows)) => {
                            row.iter_mut().zip(&rows[feature * width..]).for_each(|(out, direction)| *out = scale * direction);
                        }
                    }
                    offset.iter_mut().zip(&*row).for_each(|(sum, weight)| *sum += mean * weight);
                    feature += 1;
                }
                let kind = match schema.column(column).kind {
                    Kind::Binary { .. } => ColumnKind::Binary,
                    Kind::Categorical { .. } => ColumnKind::Levels,
                    Kind::Continuous | Kind::Count => ColumnKind::Number,
                };
                let (start, width) = (start as u32, width as u32);
                columns[column.get()] = Some(ColumnMap { kind, start, width, weights: first_weight, offset: first_offset });
            }
            starts.push(start + width);
        }
        let columns: Vec<ColumnMap> = columns.into_iter().map(|map| map.expect("every column belongs to a variable")).collect();
        let base = vec![0.0; starts[starts.len() - 1]];
        let mut coordinates = Self { columns, weights, offsets, starts, base };
        let mut base = std::mem::take(&mut coordinates.base);
        (0..coordinates.columns.len()).for_each(|column| coordinates.add(column, 0.0, &mut base));
        coordinates.base = base;
        coordinates
    }

    /// Number of coordinates of all variables.
    pub(crate) fn len(&self) -> usize {
        self.base.len()
    }

    /// Number of columns.
    pub(crate) fn n_columns(&self) -> usize {
        self.columns.len()
    }

    /// The coordinates of a variable.
    pub(crate) fn of(&self, variable: usize) -> std::ops::Range<usize> {
        self.starts[variable]..self.starts[variable + 1]
    }

    /// Writes the coordinates of some rows of a batch, row by row.
    pub(crate) fn fill(&self, batch: &Batch, rows: std::ops::Range<usize>, out: &mut Vec<f64>) {
        let n = self.len();
        out.clear();
        match &batch.block {
            Block::Dense(columns) => {
                out.resize(rows.len() * n, 0.0);
                for (column, data) in columns.iter().enumerate() {
                    for (row, out) in rows.clone().zip(out.chunks_exact_mut(n.max(1))) {
                        self.add(column, data.number(row), out);
                    }
                }
            }
            Block::Sparse(sparse) => {
                for row in rows {
                    let at = out.len();
                    out.extend_from_slice(&self.base);
                    for (column, value) in sparse.row(row) {
                        self.add_beyond_zero(column, value, &mut out[at..]);
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
        self.add(column, value, &mut all);
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
