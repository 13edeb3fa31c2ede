//! Rows that EM passes over again and again, and fewer rows that say the same.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;

use super::ExpectedCounts;
use crate::data::{Batch, BatchSource, Block, ColumnData, Dataset, Kind, Remote, Rows, Schema, SparseRows};
use crate::error::{Error, Result};
use crate::inference::Inference;
use crate::journal::Journal;
use crate::model::{Family, LatentTree};
use crate::moments::{Accumulator as _, fold};
use crate::observer::{Observer, Quiet};

/// One E-step over all rows.
pub(super) fn expected_counts(model: &Arc<LatentTree>, rows: &dyn Rows, observer: &dyn Observer) -> Result<ExpectedCounts> {
    let mut counts = ExpectedCounts::new(Arc::clone(model));
    let Some(dataset) = rows.dataset() else {
        return fold(&mut *rows.open()?, counts, &Quiet(observer));
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
    if rows.remote().is_some() {
        let counts = expected_counts(&Arc::new(model.clone()), rows, observer)?;
        return Ok(counts.log_likelihood() / counts.weight());
    }
    let score = Inference::new(model).score(&mut *rows.open()?, &Quiet(observer), |_, _| Ok(()))?;
    Ok(score.mean_log_likelihood())
}

/// The log-likelihood of rows, wherever they are.
pub(crate) fn log_likelihood(model: &LatentTree, rows: &dyn Rows, observer: &dyn Observer) -> Result<f64> {
    if rows.remote().is_some() {
        return Ok(expected_counts(&Arc::new(model.clone()), rows, observer)?.log_likelihood());
    }
    Ok(Inference::new(model).score(&mut *rows.open()?, observer, |_, _| Ok(()))?.log_likelihood)
}

/// Rows, or fewer weighted ones that say the same; see [`merge_rows`].
pub struct Merged<'a> {
    rows: &'a dyn Rows,
    fewer: Option<Dataset>,
}

impl<'a> Merged<'a> {
    /// Merges the rows where it pays.
    ///
    /// # Errors
    /// If the rows cannot be read.
    pub fn of(rows: &'a dyn Rows) -> Result<Self> {
        Ok(Self { rows, fewer: merge_rows(rows)? })
    }

    /// These rows instead, if there are any.
    pub(super) fn with(rows: &'a dyn Rows, fewer: Option<Dataset>) -> Self {
        Self { rows, fewer }
    }
}

impl Rows for Merged<'_> {
    fn schema(&self) -> &Arc<Schema> {
        self.rows.schema()
    }

    fn open(&self) -> Result<Box<dyn BatchSource + '_>> {
        self.fewer.as_ref().map_or_else(|| self.rows.open(), Rows::open)
    }

    fn dataset(&self) -> Option<&Dataset> {
        self.fewer.as_ref().or_else(|| self.rows.dataset())
    }

    fn n_rows_hint(&self) -> Option<u64> {
        self.fewer.as_ref().map_or_else(|| self.rows.n_rows_hint(), Rows::n_rows_hint)
    }

    fn remote(&self) -> Option<&dyn Remote> {
        self.rows.remote()
    }

    fn journal(&self) -> Option<&Journal> {
        self.rows.journal()
    }
}

/// Bytes that the different rows of a table may take before the search for them is given up. The same for rows in memory and rows that are
/// streamed, which must give the same model.
const MAX_BYTES: usize = 128 << 20;
/// What a different row takes besides its cells: its weight and its place in the index.
const ROW_BYTES: usize = 48;
/// Number of rows to inspect before giving up.
const TRIAL_ROWS: u64 = 8192;

/// The different rows of a table, each weighted by how often (with what weights) it stands there; `None` where that would leave more than nine
/// tenths of the rows, or too many for memory, or there are continuous columns, or the rows are elsewhere. Rows are in the order in which they first stand.
///
/// # Errors
/// If the rows cannot be read.
pub fn merge_rows(rows: &dyn Rows) -> Result<Option<Dataset>> {
    if rows.remote().is_some() || rows.schema().columns().iter().any(|column| column.kind == Kind::Continuous) {
        return Ok(None);
    }
    // The index holds hashes only: the cells themselves are compared where they stand.
    let mut known: HashMap<u64, usize> = HashMap::new();
    let hasher = RandomState::new();
    let mut unique = Gathered::new(rows.schema());
    let (mut seen, mut n_rows, mut n_bytes) = (0_u64, 0_u64, 0);
    let mut key = Vec::new();
    let mut source = rows.open()?;
    while let Some(batch) = source.next_batch()? {
        n_rows += batch.n_rows as u64;
        for row in 0..batch.n_rows {
            let weight = batch.weight(row);
            if weight == 0.0 {
                continue;
            }
            key.clear();
            write_key(&batch, row, &mut key);
            let mut place = hasher.hash_one(&key);
            let same = loop {
                match known.get(&place) {
                    Some(&ix) if unique.is_same(ix, &batch, row) => break Some(ix),
                    Some(_) => place = place.wrapping_add(1),
                    None => break None,
                }
            };
            match same {
                Some(ix) => unique.weights[ix] += weight,
                None => {
                    known.insert(place, unique.weights.len());
                    n_bytes += key.len() + ROW_BYTES;
                    if n_bytes > MAX_BYTES || !unique.push(&batch, row) {
                        return Ok(None);
                    }
                }
            }
            seen += 1;
            if seen == TRIAL_ROWS && unique.weights.len() as u64 * 100 > seen * 98 {
                return Ok(None);
            }
        }
    }
    let n_unique = unique.weights.len() as u64;
    Ok((n_unique > 0 && n_unique * 10 <= n_rows * 9).then(|| unique.finish()))
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

/// Rows that are copied from batches one by one.
struct Gathered<'a> {
    schema: &'a Arc<Schema>,
    blocks: Vec<(usize, Block)>,
    weights: Vec<f64>,
}

impl<'a> Gathered<'a> {
    fn new(schema: &'a Arc<Schema>) -> Self {
        Self { schema, blocks: Vec::new(), weights: Vec::new() }
    }

    /// Copies a row, which must be dense or sparse like the others.
    fn push(&mut self, batch: &Batch, row: usize) -> bool {
        if self.weights.len().is_multiple_of(Dataset::BATCH_ROWS) {
            let columns = self.schema.columns().iter();
            let block = match &batch.block {
                Block::Dense(_) => Block::Dense(columns.map(|it| ColumnData::for_kind(&it.kind, Dataset::BATCH_ROWS)).collect()),
                Block::Sparse(_) => Block::Sparse(SparseRows { values: Some(Vec::new()), ..SparseRows::default() }),
            };
            self.blocks.push((0, block));
        }
        let Some((n_rows, block)) = self.blocks.last_mut() else { return false };
        match (block, &batch.block) {
            (Block::Dense(columns), Block::Dense(from)) => {
                columns.iter_mut().zip(from).for_each(|(column, from)| column.push_number(from.number(row)));
            }
            (Block::Sparse(to), Block::Sparse(from)) => {
                for (column, value) in from.row(row) {
                    to.columns.push(column as u32);
                    to.values.as_mut().expect("values are kept until the end").push(value);
                }
                to.starts.push(to.columns.len());
            }
            _ => return false,
        }
        *n_rows += 1;
        self.weights.push(batch.weight(row));
        true
    }

    /// Whether a copied row has the same cells as one of a batch; all NaNs are the same.
    fn is_same(&self, ix: usize, batch: &Batch, row: usize) -> bool {
        let is_same = |a: f64, b: f64| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
        let at = ix % Dataset::BATCH_ROWS;
        match (&self.blocks[ix / Dataset::BATCH_ROWS].1, &batch.block) {
            (Block::Dense(mine), Block::Dense(theirs)) => mine.iter().zip(theirs).all(|columns| match columns {
                (ColumnData::Codes8(mine), ColumnData::Codes8(theirs)) => mine[at] == theirs[row],
                (mine, theirs) => is_same(mine.number(at), theirs.number(row)),
            }),
            (Block::Sparse(mine), Block::Sparse(theirs)) => {
                let is_same_cell = |(a, b): ((usize, f64), (usize, f64))| a.0 == b.0 && is_same(a.1, b.1);
                mine.row(at).count() == theirs.row(row).count() && mine.row(at).zip(theirs.row(row)).all(is_same_cell)
            }
            _ => false,
        }
    }

    fn finish(self) -> Dataset {
        let weights = self.weights.chunks(Dataset::BATCH_ROWS);
        let batches = self.blocks.into_iter().zip(weights).map(|((n_rows, mut block), weights)| {
            if let Block::Sparse(rows) = &mut block {
                rows.values = rows.values.take().filter(|values| values.iter().any(|&value| value != 1.0));
            }
            Batch { first_row: 0, n_rows, block, weights: Some(weights.to_vec()) }
        });
        Dataset::new(Arc::clone(self.schema), batches.collect())
    }
}

/// For a Gaussian tree and a complete table: `2p` weighted rows with the same weight, mean and covariance, `mean ± √p · column of the
/// covariance's Cholesky factor`. Posterior means are linear in a row and log-likelihoods quadratic, so every step is the same.
/// `None` where that is not less, or the covariance is singular.
pub(super) fn gaussian_rows(rows: &dyn Rows, model: &LatentTree) -> Result<Option<Dataset>> {
    let p = rows.schema().columns().len();
    if model.family() != Family::Gaussian || p > 4096 || rows.remote().is_some() {
        return Ok(None);
    }
    let (mut weight, mut mean, mut scatter) = (0.0, vec![0.0; p], vec![0.0; p * p]);
    let mut row = vec![0.0; p];
    let each = |visit: &mut dyn FnMut(f64, &[f64]), row: &mut [f64]| -> Result<Option<usize>> {
        let (mut n_rows, mut source) = (0, rows.open()?);
        while let Some(batch) = source.next_batch()? {
            let Block::Dense(columns) = &batch.block else { return Ok(None) };
            for ix in 0..batch.n_rows {
                row.iter_mut().zip(columns).for_each(|(cell, column)| *cell = column.number(ix));
                if row.iter().any(|cell| cell.is_nan()) {
                    return Ok(None);
                }
                visit(batch.weight(ix), row);
            }
            n_rows += batch.n_rows;
        }
        Ok(Some(n_rows))
    };
    let mut add_mean = |row_weight: f64, row: &[f64]| {
        weight += row_weight;
        mean.iter_mut().zip(row).for_each(|(sum, cell)| *sum += row_weight * cell);
    };
    let n_rows = each(&mut add_mean, &mut row)?;
    if n_rows.is_none_or(|n_rows| n_rows <= 2 * p) || weight <= 0.0 {
        return Ok(None);
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
    each(&mut add_scatter, &mut row)?;
    let mut factor = vec![0.0; p * p];
    for i in 0..p {
        for j in 0..=i {
            let dot: f64 = (0..j).map(|k| factor[i * p + k] * factor[j * p + k]).sum();
            let value = scatter[i * p + j] / weight - dot;
            if i == j {
                // A pivot that is rounding only makes a factor of noise.
                if value.is_nan() || value <= 1e-10 * scatter[i * p + i] / weight {
                    return Ok(None);
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
    Dataset::from_columns(Arc::clone(rows.schema()), columns.collect(), Some(weights)).map(Some)
}
