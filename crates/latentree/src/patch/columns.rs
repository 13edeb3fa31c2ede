//! All rows by column, in the form used by the local moves of a search.
//!
//! A column of labels lists, by label, the rows that do not have its most common label, so that the cost of a local fit
//! depends only on the informative cells. Rows are divided into chunks that fit the cache.

use crate::data::{Block, Kind, Rows, Schema};
use crate::{ColIx, Error, Observer, Result, VarIx};

/// Number of rows processed at a time.
pub(crate) const CHUNK: usize = 1024;

/// Rows of a column that do not have its most common label, by chunk and label.
#[derive(Debug)]
pub(crate) struct Listed {
    /// The start of each chunk's runs.
    chunks: Vec<u32>,
    /// A label and the start of its rows; the last run is empty.
    runs: Vec<(u16, u32)>,
    /// Positions of rows within their chunks.
    rows: Vec<u16>,
}

impl Listed {
    fn of_codes(codes: &[u16], usual: u16) -> Self {
        let mut listed = Self { chunks: Vec::new(), runs: Vec::new(), rows: Vec::new() };
        let mut cells: Vec<(u16, u16)> = Vec::new();
        for codes in codes.chunks(CHUNK) {
            listed.chunks.push(listed.runs.len() as u32);
            cells.clear();
            cells.extend((0_u16..).zip(codes).filter(|(_, code)| **code != usual).map(|(row, &code)| (code, row)));
            cells.sort_unstable();
            for run in cells.chunk_by(|a, b| a.0 == b.0) {
                listed.runs.push((run[0].0, listed.rows.len() as u32));
                listed.rows.extend(run.iter().map(|cell| cell.1));
            }
        }
        listed.chunks.push(listed.runs.len() as u32);
        listed.runs.push((u16::MAX, listed.rows.len() as u32));
        listed
    }

    /// The labels of a chunk, each with the positions of its rows.
    #[inline(always)]
    pub(crate) fn runs(&self, chunk: usize) -> impl Iterator<Item = (usize, &[u16])> {
        let runs = &self.runs[self.chunks[chunk] as usize..=self.chunks[chunk + 1] as usize];
        runs.windows(2).map(|pair| (usize::from(pair[0].0), &self.rows[pair[0].1 as usize..pair[1].1 as usize]))
    }

    /// Number of listed rows in a chunk.
    pub(super) fn n_rows(&self, chunk: usize) -> usize {
        let start = |chunk: usize| self.runs[self.chunks[chunk] as usize].1;
        (start(chunk + 1) - start(chunk)) as usize
    }

    /// All listed rows with their labels.
    pub(crate) fn cells(&self) -> impl Iterator<Item = (usize, usize)> {
        (0..self.chunks.len() - 1).flat_map(move |chunk| {
            self.runs(chunk).flat_map(move |(code, rows)| rows.iter().map(move |&row| (chunk * CHUNK + usize::from(row), code)))
        })
    }
}

/// The cells of one column.
#[derive(Debug)]
pub(crate) enum Column {
    /// Labels; all rows that are not listed have the label `usual`. Missing cells are listed with the label `n_codes`.
    Labels { n_codes: usize, usual: usize, listed: Listed },
    /// Numbers, NaN if missing; continuous numbers are centred at their mean.
    Numbers {
        is_count: bool,
        mean: f64,
        variance: f64,
        /// Least variance in a state that the resolution of the column asks for.
        least: f64,
        values: Vec<f64>,
    },
}

impl Column {
    /// Number of values that describe the column in one state: probabilities of labels, mean and variance, or a rate.
    pub(crate) fn width(&self) -> usize {
        match self {
            Self::Labels { n_codes, .. } => *n_codes,
            Self::Numbers { is_count, .. } => 2 - usize::from(*is_count),
        }
    }

    /// Number of free parameters in one state.
    pub(crate) fn n_free(&self) -> usize {
        match self {
            Self::Labels { n_codes, .. } => n_codes - 1,
            Self::Numbers { is_count, .. } => 2 - usize::from(*is_count),
        }
    }

    pub(crate) fn is_discrete(&self) -> bool {
        !matches!(self, Self::Numbers { .. })
    }

    /// A column of labels; codes of `n_codes` or more are missing.
    pub(crate) fn of_codes(n_codes: usize, mut codes: Vec<u16>) -> Self {
        let mut counts = vec![0_usize; n_codes + 1];
        for code in &mut codes {
            *code = (*code).min(n_codes as u16);
            counts[usize::from(*code)] += 1;
        }
        let usual = (0..n_codes).max_by_key(|&at| (counts[at], n_codes - at)).unwrap_or(0);
        Self::Labels { n_codes, usual, listed: Listed::of_codes(&codes, usual as u16) }
    }
}

/// All rows by column.
#[derive(Debug)]
pub(crate) struct Columns {
    pub(crate) n_rows: usize,
    pub(crate) weights: Vec<f64>,
    /// Weight of all rows, including those not sampled.
    pub(crate) weight: f64,
    /// The weight that one sampled unit stands for.
    pub(crate) scale: f64,
    pub(crate) columns: Vec<Column>,
    /// The columns of each variable.
    pub(crate) of_variable: Vec<Vec<usize>>,
    /// For each variable, whether it is a vector of columns, even of a single one.
    pub(crate) is_group: Vec<bool>,
}

impl Columns {
    /// Reads all rows, or a sample of `most_rows` by weight: units of equal weight are spread evenly over the total weight,
    /// and each row counts as many units as fall on it. A row that stands for many thus has its share of the sample.
    pub(crate) fn read(rows: &dyn Rows, most_rows: usize, observer: &dyn Observer) -> Result<Self> {
        let schema = rows.schema();
        let (n_all, total) = counted(rows, observer)?;
        // The weight of a unit, unless all rows are taken.
        let unit = (n_all > most_rows.max(1)).then(|| total / most_rows.max(1) as f64);
        let least = |ix: usize| schema.least_variance(ColIx::new(ix));
        let mut raw: Vec<Raw> =
            schema.columns().iter().enumerate().map(|(ix, column)| Raw::new(&column.kind, least(ix))).collect();
        let (mut weights, mut weight) = (Vec::new(), 0.0);
        let mut source = rows.open()?;
        while let Some(batch) = source.next_batch()? {
            if observer.cancelled() {
                return Err(Error::Cancelled);
            }
            for row in 0..batch.n_rows {
                let own = batch.weight(row);
                // Units lie in the middle of equal intervals of weight.
                let n_units = |weight: f64| unit.map_or(0.0, |unit| (weight / unit + 0.5).floor());
                let taken = if unit.is_some() { n_units(weight + own) - n_units(weight) } else { own };
                weight += own;
                if own <= 0.0 || taken <= 0.0 {
                    continue;
                }
                weights.push(taken);
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
        let is_group = schema.variables().iter().map(|variable| variable.is_group).collect();
        Ok(Self { n_rows, weights, weight, scale, columns, of_variable: of_variable(schema), is_group })
    }

    /// Number of cells. A number counts as many labels, because its density is computed for each state.
    pub(crate) fn size(&self) -> f64 {
        const OF_A_NUMBER: f64 = 12.0;
        let cells = |column: &Column| if column.is_discrete() { 1.0 } else { OF_A_NUMBER };
        self.n_rows as f64 * self.columns.iter().map(cells).sum::<f64>()
    }

    /// By variable, whether its columns have the same value in all rows where they are known.
    pub(crate) fn constant(&self) -> Vec<bool> {
        let is_constant = |column: &usize| match &self.columns[*column] {
            // Rows without the most common label have none.
            Column::Labels { n_codes, listed, .. } => listed.cells().all(|(_, code)| code >= *n_codes),
            Column::Numbers { values, .. } => {
                let mut known = values.iter().filter(|value| !value.is_nan());
                let first = known.next();
                known.all(|value| Some(value) == first)
            }
        };
        self.of_variable.iter().map(|own| own.iter().all(is_constant)).collect()
    }

    pub(crate) fn n_chunks(&self) -> usize {
        self.n_rows.div_ceil(CHUNK)
    }
}

fn of_variable(schema: &Schema) -> Vec<Vec<usize>> {
    let columns = |ix: VarIx| schema.variable(ix).columns.iter().map(|column| column.get()).collect();
    schema.variable_ixs().map(columns).collect()
}

/// The number of rows and their total weight.
fn counted(rows: &dyn Rows, observer: &dyn Observer) -> Result<(usize, f64)> {
    let (mut n_rows, mut weight, mut source) = (0, 0.0, rows.open()?);
    while let Some(batch) = source.next_batch()? {
        if observer.cancelled() {
            return Err(Error::Cancelled);
        }
        n_rows += batch.n_rows;
        weight += (0..batch.n_rows).map(|row| batch.weight(row)).sum::<f64>();
    }
    Ok((n_rows, weight))
}

/// The cells of a column as they are read: nonzero codes, or all numbers.
struct Raw {
    kind: Kind,
    /// Least variance in a state.
    least: f64,
    /// Row and code of each nonzero cell of a column of labels.
    cells: Vec<(u32, f32)>,
    numbers: Vec<f64>,
    n_pushed: usize,
}

impl Raw {
    fn new(kind: &Kind, least: f64) -> Self {
        Self { kind: kind.clone(), least, cells: Vec::new(), numbers: Vec::new(), n_pushed: 0 }
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
            return numbers(self.kind == Kind::Count, self.least, self.numbers, weights);
        };
        let code = |value: f32| if value.is_nan() { n_codes as u16 } else { value as u16 };
        let mut codes = vec![0_u16; n_rows];
        self.cells.iter().for_each(|cell| codes[cell.0 as usize] = code(cell.1));
        Column::of_codes(n_codes, codes)
    }
}

fn numbers(is_count: bool, least: f64, mut values: Vec<f64>, weights: &[f64]) -> Column {
    let known = || values.iter().zip(weights).filter(|(value, _)| !value.is_nan());
    let total: f64 = known().map(|it| it.1).sum::<f64>().max(1e-300);
    let mean = known().map(|(value, weight)| value * weight).sum::<f64>() / total;
    let variance = known().map(|(value, weight)| weight * (value - mean).powi(2)).sum::<f64>() / total;
    if !is_count {
        values.iter_mut().for_each(|value| *value -= mean);
    }
    Column::Numbers { is_count, mean, variance: variance.max(1e-12 * mean * mean).max(1e-300), least, values }
}
