//! Hashes of rows by content: the same wherever a row is, in any order of rows and columns, dense or sparse.
//!
//! The hash of a row is the sum over its cells of hashes of the column's name and the label or number. Weights do not count.

use rayon::prelude::*;

use super::row_order::{hash_text, mix};
use super::{Batch, Block, ColumnData, MISSING_CODE8, Schema};

/// Fewer columns are hashed by one thread.
const MIN_COLUMNS: usize = 10_000;

/// Hashes the rows of a schema.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ContentHash {
    /// By column: a row of very many columns looks up few of them, each somewhere else in memory, so that an entry is small.
    names: Vec<u64>,
    /// The hashes of each column's labels, one column after the other.
    labels: Vec<u64>,
    /// Where the labels of each column begin, and where the last ones end. Empty if all columns are numbers.
    starts: Vec<usize>,
    /// What a sparse row of zeros has.
    base: u64,
}

impl ContentHash {
    pub(crate) fn new(schema: &Schema) -> Self {
        let columns = schema.columns();
        let names: Vec<u64> = columns.par_iter().with_min_len(MIN_COLUMNS).map(|column| hash_text(&column.name)).collect();
        let (mut labels, mut starts) = (Vec::new(), Vec::new());
        if columns.iter().any(|column| column.kind.labels().is_some()) {
            starts.push(0);
            for (column, name) in columns.iter().zip(&names) {
                let of_column = column.kind.labels().unwrap_or_default();
                labels.extend(of_column.iter().map(|label| mix(name ^ mix(hash_text(label)))));
                starts.push(labels.len());
            }
        }
        let mut hash = Self { names, labels, starts, base: 0 };
        hash.base = (0..hash.starts.len().saturating_sub(1)).fold(0, |sum, ix| sum.wrapping_add(hash.zero(ix)));
        hash
    }

    /// The labels of a column; none for numbers.
    fn labels(&self, column: usize) -> &[u64] {
        if self.starts.is_empty() { &[] } else { &self.labels[self.starts[column]..self.starts[column + 1]] }
    }

    fn missing(&self, column: usize) -> u64 {
        mix(!self.names[column])
    }

    /// A number; zero adds nothing, so that sparse rows cost only the cells they have.
    fn number(&self, column: usize, value: f64) -> u64 {
        if value.is_nan() {
            self.missing(column)
        } else if value == 0.0 {
            0
        } else {
            mix(self.names[column] ^ mix(value.to_bits()))
        }
    }

    fn zero(&self, column: usize) -> u64 {
        self.labels(column).first().copied().unwrap_or(0)
    }

    /// A hash of each row of a batch.
    pub(crate) fn of(&self, batch: &Batch) -> Vec<u64> {
        match &batch.block {
            Block::Dense(columns) => {
                let mut hashes = vec![0_u64; batch.n_rows];
                for (ix, column) in columns.iter().enumerate() {
                    let (labels, missing) = (self.labels(ix), self.missing(ix));
                    let rows = hashes.iter_mut();
                    match column {
                        ColumnData::Codes8(codes) => {
                            let mut table = [missing; MISSING_CODE8 as usize + 1];
                            table.iter_mut().zip(labels).for_each(|(cell, label)| *cell = *label);
                            rows.zip(codes).for_each(|(sum, &code)| *sum = sum.wrapping_add(table[usize::from(code)]));
                        }
                        ColumnData::Codes(codes) => rows.zip(codes).for_each(|(sum, &code)| {
                            *sum = sum.wrapping_add(labels.get(code as usize).copied().unwrap_or(missing));
                        }),
                        ColumnData::Reals(values) => {
                            rows.zip(values).for_each(|(sum, &value)| *sum = sum.wrapping_add(self.number(ix, value)));
                        }
                    }
                }
                hashes
            }
            Block::Sparse(rows) => (0..batch.n_rows)
                .map(|row| {
                    rows.row(row).fold(self.base, |sum, (column, value)| {
                        let labels = self.labels(column);
                        let cell = match labels.is_empty() || value.is_nan() {
                            true => self.number(column, value),
                            false => labels.get(value as usize).copied().unwrap_or_else(|| self.missing(column)),
                        };
                        sum.wrapping_add(cell).wrapping_sub(labels.first().copied().unwrap_or(0))
                    })
                })
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::data::{Dataset, Kind, SparseRows};

    fn kinds() -> [(&'static str, Kind); 3] {
        [("a", Kind::binary()), ("b", Kind::Continuous), ("c", Kind::numbered(300))]
    }

    fn cell(column: usize, row: usize) -> f64 {
        match column {
            _ if (row + column).is_multiple_of(13) => f64::NAN,
            0 => (row % 2) as f64,
            1 => (row % 5) as f64 * 0.5,
            _ => (row * 31 % 299) as f64,
        }
    }

    fn dense(order: [usize; 3], n: usize) -> Dataset {
        let schema = order.iter().fold(Schema::builder(), |it, &ix| it.scalar(kinds()[ix].0, kinds()[ix].1.clone()));
        let data = order.map(|ix| {
            let mut data = ColumnData::for_kind(&kinds()[ix].1, n);
            (0..n).for_each(|row| data.push_number(cell(ix, row)));
            data
        });
        Dataset::from_columns(Arc::new(schema.build().unwrap()), data.to_vec(), None).unwrap()
    }

    #[test]
    fn the_order_of_columns_and_the_storage_do_not_matter() {
        let n = 500;
        let [one, other] = [dense([0, 1, 2], n), dense([2, 0, 1], n)];
        let hashes = |data: &Dataset| -> Vec<u64> {
            let hash = ContentHash::new(data.schema());
            data.batches().iter().flat_map(|batch| hash.of(batch)).collect()
        };
        assert_eq!(hashes(&one), hashes(&other));
        let mut rows = SparseRows { values: Some(Vec::new()), ..SparseRows::default() };
        for row in 0..n {
            for column in (0..3).filter(|&column| cell(column, row) != 0.0) {
                rows.columns.push(column as u32);
                rows.values.as_mut().unwrap().push(cell(column, row));
            }
            rows.starts.push(rows.columns.len());
        }
        let batch = Batch { first_row: 0, n_rows: n, block: Block::Sparse(rows), weights: None };
        assert_eq!(hashes(&one), hashes(&Dataset::new(Arc::clone(one.schema()), vec![batch])));
        let distinct: std::collections::BTreeSet<u64> = hashes(&one).into_iter().collect();
        let rows: std::collections::BTreeSet<[u64; 3]> =
            (0..n).map(|row| [0, 1, 2].map(|column| cell(column, row).to_bits())).collect();
        assert_eq!(distinct.len(), rows.len());
    }
}
