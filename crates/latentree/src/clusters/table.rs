//! All rows as feature vectors in memory, and sums over subsets of them.

use rayon::prelude::*;

use crate::data::{Batch, Block, Rows, SparseRows};
use crate::error::{Error, Result};
use crate::memory::MemoryBudget;
use crate::model::features::{FeatureRows, Features};
use crate::observer::Observer;

/// Number of rows below which sums are computed sequentially.
const FEW_ROWS: usize = 2048;
/// Number of parts that rows are divided into for sums; never depends on the number of threads.
const PARTS: usize = 8;

/// Feature vectors of all rows.
pub(super) struct Table {
    /// The vectors, as a batch whose cells are features.
    batch: Batch,
    pub(super) n_features: usize,
}

impl Table {
    /// Reads all rows.
    pub(super) fn read(rows: &dyn Rows, features: &Features, observer: &dyn Observer) -> Result<Self> {
        let (mut starts, mut columns, mut values, mut weights) = (vec![0], Vec::new(), Vec::new(), Vec::new());
        let budget = MemoryBudget::of_machine();
        let mut source = rows.open()?;
        observer.stage("rows", rows.n_rows_hint());
        while let Some(batch) = source.next_batch()? {
            if observer.cancelled() {
                return Err(Error::Cancelled);
            }
            let vectors = features.rows(&batch);
            for row in 0..batch.n_rows {
                for (feature, value) in vectors.row(row) {
                    columns.push(feature as u32);
                    values.push(value);
                }
                starts.push(columns.len());
                weights.push(batch.weight(row));
            }
            budget.check("the rows", 20 * columns.len() as u64, "cluster some of the rows and assign the others with infer")?;
            observer.progress(weights.len() as u64);
        }
        let block = Block::Sparse(SparseRows { starts, columns, values: Some(values) });
        Ok(Self { batch: Batch { first_row: 0, n_rows: weights.len(), block, weights: Some(weights) }, n_features: features.n })
    }

    pub(super) fn n_rows(&self) -> usize {
        self.batch.n_rows
    }

    /// The vectors.
    pub(super) fn vectors(&self) -> FeatureRows<'_> {
        FeatureRows::of_sparse(&self.batch)
    }

    /// The sums that `add` accumulates over some rows. The order of additions depends only on the rows.
    pub(super) fn sums(
        &self,
        rows: &[u32],
        size: usize,
        add: impl Fn(&FeatureRows<'_>, usize, f64, &mut [f64]) + Sync,
    ) -> Vec<f64> {
        let vectors = self.vectors();
        let part = |rows: &[u32]| {
            let mut sums = vec![0.0; size];
            rows.iter().for_each(|&row| add(&vectors, row as usize, vectors.weight(row as usize), &mut sums));
            sums
        };
        if rows.len() < FEW_ROWS {
            return part(rows);
        }
        let parts: Vec<Vec<f64>> = rows.par_chunks(rows.len().div_ceil(PARTS)).map(part).collect();
        let mut parts = parts.into_iter();
        let mut total = parts.next().unwrap_or_else(|| vec![0.0; size]);
        for other in parts {
            total.iter_mut().zip(&other).for_each(|(own, other)| *own += other);
        }
        total
    }
}
