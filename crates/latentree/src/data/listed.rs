//! A table of labels that lists only cells other than the first label.

use std::sync::Arc;

use super::{Batch, Block, Dataset, SparseRows};

/// Rows are listed if at most one cell in so many is.
const DENSEST: usize = 8;

impl Dataset {
    /// The same rows in sparse form; `None` if there are numbers, if the rows are sparse already, or if too many cells would be listed.
    pub(crate) fn listed(&self) -> Option<Dataset> {
        if self.schema().columns().iter().any(|column| column.kind.n_states().is_none()) {
            return None;
        }
        let (mut n_stored, mut n_cells) = (0, 0);
        let mut batches = Vec::new();
        for batch in self.batches() {
            let Block::Dense(columns) = &batch.block else { return None };
            let mut sparse = SparseRows::default();
            let mut values = Vec::new();
            for row in 0..batch.n_rows {
                for (ix, column) in columns.iter().enumerate() {
                    let value = column.number(row);
                    if value != 0.0 {
                        sparse.columns.push(ix as u32);
                        values.push(value);
                    }
                }
                sparse.starts.push(sparse.columns.len());
            }
            n_stored += values.len();
            n_cells += batch.n_rows * columns.len();
            if n_stored * DENSEST > n_cells + 100_000 {
                return None;
            }
            sparse.values = values.iter().any(|&value| value != 1.0).then_some(values);
            batches.push(Batch { block: Block::Sparse(sparse), ..(**batch).clone() });
        }
        (n_stored * DENSEST <= n_cells).then(|| Dataset::new(Arc::clone(self.schema()), batches))
    }
}
