//! Rows that EM passes over again and again, and fewer rows that say the same.

use std::collections::HashMap;
use std::sync::Arc;

use super::ExpectedCounts;
use crate::data::{Batch, BatchSource, Block, ColumnData, Dataset, Kind, Schema, SparseRows};
use crate::error::{Error, Result};
use crate::inference::Inference;
use crate::model::{Family, LatentTree};
use crate::moments::{Accumulator as _, fold};
use crate::observer::Observer;

/// Rows that can be read from the start as often as needed: a [`Dataset`], or a file through [`Reopened`].
pub trait Rows: Sync {
    /// What the columns mean.
    fn schema(&self) -> &Arc<Schema>;

    /// Opens the rows at the first one; the same batches come every time.
    ///
    /// # Errors
    /// If the rows cannot be read.
    fn open(&self) -> Result<Box<dyn BatchSource + '_>>;

    /// The table, if it is in memory.
    fn dataset(&self) -> Option<&Dataset> {
        None
    }
}

impl Rows for Dataset {
    fn schema(&self) -> &Arc<Schema> {
        Dataset::schema(self)
    }

    fn open(&self) -> Result<Box<dyn BatchSource + '_>> {
        Ok(Box::new(self.source()))
    }

    fn dataset(&self) -> Option<&Dataset> {
        Some(self)
    }
}

/// Rows of a source that a function opens again for every pass, such as a file too large for memory.
#[derive(Debug, Clone)]
pub struct Reopened<F> {
    schema: Arc<Schema>,
    open: F,
}

impl<F> Reopened<F> {
    /// Rows with this schema that `open` opens.
    pub fn new(schema: Arc<Schema>, open: F) -> Self {
        Self { schema, open }
    }
}

impl<F, S> Rows for Reopened<F>
where
    F: Fn() -> Result<S> + Sync,
    S: BatchSource + 'static,
{
    fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    fn open(&self) -> Result<Box<dyn BatchSource + '_>> {
        Ok(Box::new((self.open)()?))
    }
}

/// Hands on the question whether to stop, and nothing else.
struct Cancelling<'a>(&'a dyn Observer);

impl Observer for Cancelling<'_> {
    fn cancelled(&self) -> bool {
        self.0.cancelled()
    }
}

/// One E-step over all rows.
pub(super) fn expected_counts(model: &Arc<LatentTree>, rows: &dyn Rows, observer: &dyn Observer) -> Result<ExpectedCounts> {
    let mut counts = ExpectedCounts::new(Arc::clone(model));
    let Some(dataset) = rows.dataset() else {
        return fold(&mut *rows.open()?, counts, &Cancelling(observer));
    };
    for batch in dataset.batches() {
        if observer.cancelled() {
            return Err(Error::Cancelled);
        }
        counts.observe(batch)?;
    }
    Ok(counts)
}

/// Mean log-likelihood per unit of weight.
pub(super) fn mean_log_likelihood(model: &LatentTree, rows: &dyn Rows, observer: &dyn Observer) -> Result<f64> {
    let score = Inference::new(model).score(&mut *rows.open()?, &Cancelling(observer), |_, _| Ok(()))?;
    Ok(score.mean_log_likelihood())
}

/// Tables with more cells than this are not searched for rows that stand twice.
const MOST_CELLS: u64 = 1 << 30;
/// Rows looked at before the search is given up.
const TRIAL_ROWS: u64 = 8192;

/// A table of the different rows of another, each weighted by how often (with what weights) it stands there; `None` where that would
/// leave more than nine tenths of the rows, or the table has continuous columns. Rows are in the order in which they first stand.
#[must_use]
pub fn merge_rows(data: &Dataset) -> Option<Dataset> {
    let columns = data.schema().columns();
    let n_cells = data.n_rows().checked_mul(columns.len() as u64)?;
    if n_cells > MOST_CELLS || columns.iter().any(|column| column.kind == Kind::Continuous) {
        return None;
    }
    let is_dense = matches!(data.batches().first()?.block, Block::Dense(_));
    if data.batches().iter().any(|batch| matches!(batch.block, Block::Dense(_)) != is_dense) {
        return None;
    }
    let mut known: HashMap<Vec<u8>, usize> = HashMap::new();
    let mut unique: Vec<(&Batch, usize)> = Vec::new();
    let mut weights: Vec<f64> = Vec::new();
    let mut seen = 0;
    let mut key = Vec::new();
    for batch in data.batches() {
        for row in 0..batch.n_rows {
            if batch.weight(row) == 0.0 {
                continue;
            }
            key.clear();
            write_key(batch, row, &mut key);
            match known.get(&key) {
                Some(&ix) => weights[ix] += batch.weight(row),
                None => {
                    known.insert(key.clone(), unique.len());
                    unique.push((batch, row));
                    weights.push(batch.weight(row));
                }
            }
            seen += 1;
            if seen == TRIAL_ROWS && unique.len() as u64 * 100 > seen * 98 {
                return None;
            }
        }
    }
    if unique.is_empty() || unique.len() as u64 * 10 > data.n_rows() * 9 {
        return None;
    }
    Some(gather(data.schema(), &unique, weights, is_dense))
}

fn write_key(batch: &Batch, row: usize, key: &mut Vec<u8>) {
    match &batch.block {
        Block::Dense(columns) => {
            for column in columns {
                match column {
                    ColumnData::Codes8(codes) => key.push(codes[row]),
                    ColumnData::Codes(codes) => key.extend_from_slice(&codes[row].to_le_bytes()),
                    // All NaNs mean the same.
                    ColumnData::Reals(values) if values[row].is_nan() => key.extend_from_slice(&f64::NAN.to_le_bytes()),
                    ColumnData::Reals(values) => key.extend_from_slice(&values[row].to_le_bytes()),
                }
            }
        }
        Block::Sparse(rows) => {
            for (column, value) in rows.row(row) {
                key.extend_from_slice(&(column as u32).to_le_bytes());
                key.extend_from_slice(&if value.is_nan() { f64::NAN } else { value }.to_le_bytes());
            }
        }
    }
}

fn gather(schema: &Arc<Schema>, rows: &[(&Batch, usize)], weights: Vec<f64>, is_dense: bool) -> Dataset {
    let mut batches = Vec::new();
    for (rows, weights) in rows.chunks(Dataset::BATCH_ROWS).zip(weights.chunks(Dataset::BATCH_ROWS)) {
        let block = if is_dense {
            let mut columns: Vec<ColumnData> =
                schema.columns().iter().map(|column| ColumnData::for_kind(&column.kind, rows.len())).collect();
            for &(batch, row) in rows {
                let Block::Dense(from) = &batch.block else { unreachable!("all batches are dense") };
                columns.iter_mut().zip(from).for_each(|(column, from)| column.push_number(from.number(row)));
            }
            Block::Dense(columns)
        } else {
            let mut sparse = SparseRows::default();
            let mut values = Vec::new();
            for &(batch, row) in rows {
                let Block::Sparse(from) = &batch.block else { unreachable!("all batches are sparse") };
                for (column, value) in from.row(row) {
                    sparse.columns.push(column as u32);
                    values.push(value);
                }
                sparse.starts.push(sparse.columns.len());
            }
            sparse.values = values.iter().any(|&value| value != 1.0).then_some(values);
            Block::Sparse(sparse)
        };
        batches.push(Batch { first_row: 0, n_rows: rows.len(), block, weights: Some(weights.to_vec()) });
    }
    Dataset::new(Arc::clone(schema), batches)
}

/// For a Gaussian tree and a complete table: `2p` weighted rows with the same weight, mean and covariance, `mean ± √p · column of the
/// covariance's Cholesky factor`. Posterior means are linear in a row and log-likelihoods quadratic, so every step is the same.
/// `None` where that is not less, or the covariance is singular.
pub(super) fn gaussian_rows(data: &Dataset, model: &LatentTree) -> Option<Dataset> {
    let p = data.schema().columns().len();
    if model.family() != Family::Gaussian || data.n_rows() <= 2 * p as u64 || p > 4096 {
        return None;
    }
    let (mut weight, mut mean, mut scatter) = (0.0, vec![0.0; p], vec![0.0; p * p]);
    let mut row = vec![0.0; p];
    let each = |visit: &mut dyn FnMut(f64, &[f64]), row: &mut [f64]| {
        for batch in data.batches() {
            let Block::Dense(columns) = &batch.block else { return false };
            for ix in 0..batch.n_rows {
                row.iter_mut().zip(columns).for_each(|(cell, column)| *cell = column.number(ix));
                if row.iter().any(|cell| cell.is_nan()) {
                    return false;
                }
                visit(batch.weight(ix), row);
            }
        }
        true
    };
    let mut add_mean = |row_weight: f64, row: &[f64]| {
        weight += row_weight;
        mean.iter_mut().zip(row).for_each(|(sum, cell)| *sum += row_weight * cell);
    };
    if !each(&mut add_mean, &mut row) || weight <= 0.0 {
        return None;
    }
    mean.iter_mut().for_each(|sum| *sum /= weight);
    let mut centred = vec![0.0; p];
    let mut add_scatter = |row_weight: f64, row: &[f64]| {
        centred.iter_mut().zip(row.iter().zip(&mean)).for_each(|(out, (cell, mean))| *out = cell - mean);
        for i in 0..p {
            let factor = row_weight * centred[i];
            scatter[i * p..=i * p + i].iter_mut().zip(&centred).for_each(|(sum, other)| *sum += factor * other);
        }
    };
    each(&mut add_scatter, &mut row);
    let mut factor = vec![0.0; p * p];
    for i in 0..p {
        for j in 0..=i {
            let dot: f64 = (0..j).map(|k| factor[i * p + k] * factor[j * p + k]).sum();
            let value = scatter[i * p + j] / weight - dot;
            if i == j {
                // A pivot that is rounding only makes a factor of noise.
                if value.is_nan() || value <= 1e-10 * scatter[i * p + i] / weight {
                    return None;
                }
                factor[i * p + i] = value.sqrt();
            } else {
                factor[i * p + j] = value / factor[j * p + j];
            }
        }
    }
    let scale = (p as f64).sqrt();
    let columns = (0..p).map(|i| {
        let up = (0..p).map(|j| mean[i] + scale * factor[i * p + j]);
        let down = (0..p).map(|j| mean[i] - scale * factor[i * p + j]);
        ColumnData::Reals(up.chain(down).collect())
    });
    let weights = vec![weight / (2 * p) as f64; 2 * p];
    Dataset::from_columns(Arc::clone(data.schema()), columns.collect(), Some(weights)).ok()
}
