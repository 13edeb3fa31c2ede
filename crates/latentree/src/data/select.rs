//! A subset of the rows of a source.

use std::sync::Arc;

use super::{Batch, BatchSource, Block, ColumnData, Schema, SparseRows};
use crate::error::Result;

/// A source that passes on the rows whose zero-based number satisfies a condition.
///
/// # Example
/// ```
/// use latentree::data::{BatchSource, SelectedRows};
/// # fn example(source: &mut dyn BatchSource) -> latentree::Result<()> {
/// let mut even = SelectedRows::new(source, |row| row % 2 == 0);
/// while let Some(batch) = even.next_batch()? { /* … */ }
/// # Ok(()) }
/// ```
pub struct SelectedRows<'a, K> {
    source: &'a mut dyn BatchSource,
    keep: K,
    n_passed: u64,
}

impl<'a, K: Fn(u64) -> bool + Send> SelectedRows<'a, K> {
    /// The rows of `source` whose number `keep` accepts.
    pub fn new(source: &'a mut dyn BatchSource, keep: K) -> Self {
        Self { source, keep, n_passed: 0 }
    }
}

impl<K: Fn(u64) -> bool + Send> BatchSource for SelectedRows<'_, K> {
    fn schema(&self) -> &Arc<Schema> {
        self.source.schema()
    }

    fn next_batch(&mut self) -> Result<Option<Arc<Batch>>> {
        while let Some(batch) = self.source.next_batch()? {
            let rows: Vec<usize> = (0..batch.n_rows).filter(|&row| (self.keep)(batch.first_row + row as u64)).collect();
            if rows.is_empty() {
                continue;
            }
            let selected = select_rows(&batch, &rows, self.n_passed);
            self.n_passed += rows.len() as u64;
            return Ok(Some(Arc::new(selected)));
        }
        Ok(None)
    }

    fn rewind(&mut self) -> Result<()> {
        self.n_passed = 0;
        self.source.rewind()
    }
}

/// Some rows of a batch as a batch that begins at the given row.
pub(crate) fn select_rows(batch: &Batch, rows: &[usize], first_row: u64) -> Batch {
    Batch {
        first_row,
        n_rows: rows.len(),
        block: select(&batch.block, rows),
        weights: batch.weights.as_ref().map(|weights| rows.iter().map(|&row| weights[row]).collect()),
    }
}

fn select(block: &Block, rows: &[usize]) -> Block {
    match block {
        Block::Dense(columns) => Block::Dense(
            columns
                .iter()
                .map(|column| match column {
                    ColumnData::Codes8(codes) => ColumnData::Codes8(rows.iter().map(|&row| codes[row]).collect()),
                    ColumnData::Codes(codes) => ColumnData::Codes(rows.iter().map(|&row| codes[row]).collect()),
                    ColumnData::Reals(values) => ColumnData::Reals(rows.iter().map(|&row| values[row]).collect()),
                })
                .collect(),
        ),
        Block::Sparse(sparse) => {
            let mut chosen = SparseRows { values: sparse.values.as_ref().map(|_| Vec::new()), ..SparseRows::default() };
            for &row in rows {
                let range = sparse.starts[row]..sparse.starts[row + 1];
                chosen.columns.extend_from_slice(&sparse.columns[range.clone()]);
                if let (Some(chosen), Some(values)) = (&mut chosen.values, &sparse.values) {
                    chosen.extend_from_slice(&values[range]);
                }
                chosen.starts.push(chosen.columns.len());
            }
            Block::Sparse(chosen)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ColIx;
    use crate::data::{Dataset, Kind};

    #[test]
    fn two_halves_make_the_whole_dense_and_sparse() {
        let schema = Arc::new(Schema::builder().scalar("a", Kind::Count).scalar("b", Kind::Continuous).build().unwrap());
        let n = 9_000_usize;
        let columns = [1.0, 0.5].map(|factor| ColumnData::Reals((0..n).map(|ix| ix as f64 * factor).collect()));
        let dense =
            Dataset::from_columns(Arc::clone(&schema), columns.to_vec(), Some((0..n).map(|ix| ix as f64).collect())).unwrap();
        let mut sparse = SparseRows { values: Some(Vec::new()), ..SparseRows::default() };
        for ix in 0..n {
            sparse.columns.extend([0, 1]);
            sparse.values.as_mut().unwrap().extend([ix as f64, ix as f64 * 0.5]);
            sparse.starts.push(sparse.columns.len());
        }
        let batch = Batch { first_row: 0, n_rows: n, block: Block::Sparse(sparse), weights: None };
        let sparse = Dataset::new(schema, vec![batch]);
        for data in [dense, sparse] {
            for remainder in [0, 1] {
                let mut source = data.source();
                let mut half = SelectedRows::new(&mut source, |row| row % 2 == remainder);
                let half = Dataset::read(&mut half).unwrap();
                assert_eq!(half.n_rows(), n as u64 / 2);
                let mut expected = remainder as f64;
                for batch in half.batches() {
                    for row in 0..batch.n_rows {
                        assert_eq!(batch.number(row, ColIx::new(0)), expected);
                        assert_eq!(batch.number(row, ColIx::new(1)), expected * 0.5);
                        expected += 2.0;
                    }
                }
            }
        }
    }
}
