//! All rows by column, as the local moves of a search read them.
//!
//! A column of labels that are mostly the same lists only the rows that differ, so that a local fit costs the cells that say something. Rows are cut
//! into chunks that fit the cache.

use crate::data::{Block, Kind, Rows, Schema};
use crate::{Error, Observer, Result, VarIx};

/// Rows that are worked on at a time.
pub(crate) const CHUNK: usize = 1024;
/// A column is listed by its exceptions if these are at most one in so many rows.
const RARE: usize = 6;

/// The cells of one column.
#[derive(Debug)]
pub(crate) enum Column {
    /// Labels of which most rows have the same one.
    Sparse {
        n_codes: usize,
        /// The label of all rows that are not listed.
        usual: usize,
        /// Where each chunk's rows begin.
        starts: Vec<usize>,
        rows: Vec<u32>,
        /// `n_codes` for a missing cell.
        codes: Vec<u16>,
    },
    /// A label for each row, `n_codes` where it is missing.
    Dense { n_codes: usize, codes: Vec<u16> },
    /// Numbers, NaN where they are missing, less their mean if they are continuous.
    Numbers { is_count: bool, mean: f64, variance: f64, values: Vec<f64> },
}

impl Column {
    /// Numbers that describe the column in one state: probabilities of labels, mean and variance, or a rate.
    pub(crate) fn width(&self) -> usize {
        match self {
            Self::Sparse { n_codes, .. } | Self::Dense { n_codes, .. } => *n_codes,
            Self::Numbers { is_count, .. } => 2 - usize::from(*is_count),
        }
    }

    /// Free parameters in one state.
    pub(crate) fn n_free(&self) -> usize {
        match self {
            Self::Sparse { n_codes, .. } | Self::Dense { n_codes, .. } => n_codes - 1,
            Self::Numbers { is_count, .. } => 2 - usize::from(*is_count),
        }
    }

    pub(crate) fn is_discrete(&self) -> bool {
        !matches!(self, Self::Numbers { .. })
    }

    /// Labels as they are best stored; `n_codes` or more is missing.
    pub(crate) fn of_codes(n_codes: usize, mut codes: Vec<u16>) -> Self {
        let n_rows = codes.len();
        let mut counts = vec![0_usize; n_codes + 1];
        for code in &mut codes {
            *code = (*code).min(n_codes as u16);
            counts[usize::from(*code)] += 1;
        }
        let usual = (0..n_codes).max_by_key(|&at| (counts[at], n_codes - at)).unwrap_or(0);
        if (n_rows - counts[usual]) * RARE > n_rows {
            return Self::Dense { n_codes, codes };
        }
        let (mut starts, mut rows, mut listed) = (Vec::new(), Vec::new(), Vec::new());
        for (row, &code) in codes.iter().enumerate() {
            if row.is_multiple_of(CHUNK) {
                starts.push(rows.len());
            }
            if usize::from(code) != usual {
                rows.push(row as u32);
                listed.push(code);
            }
        }
        starts.push(rows.len());
        Self::Sparse { n_codes, usual, starts, rows, codes: listed }
    }
}

/// All rows by column.
#[derive(Debug)]
pub(crate) struct Columns {
    pub(crate) n_rows: usize,
    pub(crate) weights: Vec<f64>,
    /// Of all rows, those that were not taken included.
    pub(crate) weight: f64,
    /// What a taken unit of weight stands for.
    pub(crate) scale: f64,
    pub(crate) columns: Vec<Column>,
    /// The columns of each variable.
    pub(crate) of_variable: Vec<Vec<usize>>,
}

impl Columns {
    /// Reads all rows, or every so many-th that `most` cells allow, with the others' weight.
    pub(crate) fn read(rows: &dyn Rows, most_rows: usize, observer: &dyn Observer) -> Result<Self> {
        let schema = rows.schema();
        let n_all = count(rows, observer)?;
        let step = n_all.div_ceil(most_rows.max(1)).max(1);
        let mut raw: Vec<Raw> = schema.columns().iter().map(|column| Raw::new(&column.kind)).collect();
        let (mut weights, mut at, mut weight) = (Vec::new(), 0_usize, 0.0);
        let mut source = rows.open()?;
        while let Some(batch) = source.next_batch()? {
            if observer.cancelled() {
                return Err(Error::Cancelled);
            }
            for row in 0..batch.n_rows {
                let (own, taken) = (batch.weight(row), at.is_multiple_of(step));
                at += 1;
                weight += own;
                if own <= 0.0 || !taken {
                    continue;
                }
                weights.push(own);
                match &batch.block {
                    Block::Dense(columns) => raw.iter_mut().zip(columns).for_each(|(to, from)| to.push(from.number(row))),
                    Block::Sparse(sparse) => {
                        let n_rows = weights.len();
                        sparse.row(row).for_each(|(column, value)| raw[column].put(n_rows - 1, value));
                    }
                }
            }
        }
        let n_rows = weights.len();
        let seen: f64 = weights.iter().sum();
        let scale = if seen > 0.0 { weight / seen } else { 1.0 };
        weights.iter_mut().for_each(|own| *own *= scale);
        let columns = raw.into_iter().map(|column| column.finish(n_rows, &weights)).collect();
        Ok(Self { n_rows, weights, weight, scale, columns, of_variable: of_variable(schema) })
    }

    /// Cells, of which a number is worth many labels: its density is computed for every state.
    pub(crate) fn size(&self) -> f64 {
        const OF_A_NUMBER: f64 = 12.0;
        let cells = |column: &Column| if column.is_discrete() { 1.0 } else { OF_A_NUMBER };
        self.n_rows as f64 * self.columns.iter().map(cells).sum::<f64>()
    }

    pub(crate) fn n_chunks(&self) -> usize {
        self.n_rows.div_ceil(CHUNK)
    }
}

fn of_variable(schema: &Schema) -> Vec<Vec<usize>> {
    let columns = |ix: VarIx| schema.variable(ix).columns.iter().map(|column| column.get()).collect();
    schema.variable_ixs().map(columns).collect()
}

fn count(rows: &dyn Rows, observer: &dyn Observer) -> Result<usize> {
    let (mut n_rows, mut source) = (0, rows.open()?);
    while let Some(batch) = source.next_batch()? {
        if observer.cancelled() {
            return Err(Error::Cancelled);
        }
        n_rows += batch.n_rows;
    }
    Ok(n_rows)
}

/// Cells that are not zero, or all of them, as they come.
struct Raw {
    kind: Kind,
    /// Rows up to which cells have been pushed.
    cells: Vec<(u32, f32)>,
    numbers: Vec<f64>,
    n_pushed: usize,
}

impl Raw {
    fn new(kind: &Kind) -> Self {
        Self { kind: kind.clone(), cells: Vec::new(), numbers: Vec::new(), n_pushed: 0 }
    }

    fn put(&mut self, row: usize, value: f64) {
        if self.kind.n_states().is_some() {
            self.cells.push((row as u32, value as f32));
        } else {
            self.numbers.resize(row, 0.0);
            self.numbers.push(value);
        }
        self.n_pushed = row + 1;
    }

    fn push(&mut self, value: f64) {
        let row = self.n_pushed;
        if value != 0.0 || self.kind.n_states().is_none() {
            self.put(row, value);
        } else {
            self.n_pushed = row + 1;
        }
    }

    fn finish(mut self, n_rows: usize, weights: &[f64]) -> Column {
        let Some(n_codes) = self.kind.n_states() else {
            self.numbers.resize(n_rows, 0.0);
            return numbers(self.kind == Kind::Count, self.numbers, weights);
        };
        let code = |value: f32| if value.is_nan() { n_codes as u16 } else { value as u16 };
        let mut codes = vec![0_u16; n_rows];
        self.cells.iter().for_each(|cell| codes[cell.0 as usize] = code(cell.1));
        Column::of_codes(n_codes, codes)
    }
}

fn numbers(is_count: bool, mut values: Vec<f64>, weights: &[f64]) -> Column {
    let known = || values.iter().zip(weights).filter(|(value, _)| !value.is_nan());
    let total: f64 = known().map(|it| it.1).sum::<f64>().max(1e-300);
    let mean = known().map(|(value, weight)| value * weight).sum::<f64>() / total;
    let variance = known().map(|(value, weight)| weight * (value - mean).powi(2)).sum::<f64>() / total;
    if !is_count {
        values.iter_mut().for_each(|value| *value -= mean);
    }
    Column::Numbers { is_count, mean, variance: variance.max(1e-12 * mean * mean).max(1e-300), values }
}
