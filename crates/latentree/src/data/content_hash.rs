//! Hashes of rows by content: the same wherever a row is, in any order of rows and columns, dense or sparse.
//!
//! The hash of a row is the sum over its cells of hashes of the column's name and the label or number. Weights do not count.

use super::row_order::{hash_text, mix};
use super::{Batch, Block, ColumnData, MISSING_CODE, MISSING_CODE8, Schema};

/// Hashes the rows of a schema.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ContentHash {
    columns: Vec<ColumnHash>,
    /// What a sparse row of zeros has.
    base: u64,
}

#[derive(Debug, Clone, PartialEq)]
struct ColumnHash {
    name: u64,
    /// By code; none for numbers.
    labels: Vec<u64>,
    zero: u64,
    missing: u64,
}

impl ColumnHash {
    fn number(&self, value: f64) -> u64 {
        if value.is_nan() {
            return self.missing;
        }
        // Both zeros mean the same.
        mix(self.name ^ mix((value + 0.0).to_bits()))
    }

    fn code(&self, code: usize) -> u64 {
        self.labels.get(code).copied().unwrap_or(self.missing)
    }
}

impl ContentHash {
    pub(crate) fn new(schema: &Schema) -> Self {
        let columns: Vec<ColumnHash> = schema
            .columns()
            .iter()
            .map(|column| {
                let name = hash_text(&column.name);
                let labels: Vec<u64> =
                    column.kind.labels().unwrap_or_default().iter().map(|label| mix(name ^ mix(hash_text(label)))).collect();
                let mut hash = ColumnHash { name, labels, zero: 0, missing: mix(!name) };
                hash.zero = if hash.labels.is_empty() { hash.number(0.0) } else { hash.code(0) };
                hash
            })
            .collect();
        let base = columns.iter().fold(0_u64, |sum, column| sum.wrapping_add(column.zero));
        Self { columns, base }
    }

    /// A hash of each row of a batch.
    pub(crate) fn of(&self, batch: &Batch) -> Vec<u64> {
        match &batch.block {
            Block::Dense(columns) => {
                let mut hashes = vec![0_u64; batch.n_rows];
                for (column, hash) in columns.iter().zip(&self.columns) {
                    let rows = hashes.iter_mut();
                    match column {
                        ColumnData::Codes8(codes) => {
                            let mut table = [hash.missing; MISSING_CODE8 as usize + 1];
                            table.iter_mut().zip(&hash.labels).for_each(|(cell, label)| *cell = *label);
                            rows.zip(codes).for_each(|(sum, &code)| *sum = sum.wrapping_add(table[usize::from(code)]));
                        }
                        ColumnData::Codes(codes) => rows.zip(codes).for_each(|(sum, &code)| {
                            let cell = if code == MISSING_CODE { hash.missing } else { hash.code(code as usize) };
                            *sum = sum.wrapping_add(cell);
                        }),
                        ColumnData::Reals(values) => {
                            rows.zip(values).for_each(|(sum, &value)| *sum = sum.wrapping_add(hash.number(value)));
                        }
                    }
                }
                hashes
            }
            Block::Sparse(rows) => (0..batch.n_rows)
                .map(|row| {
                    rows.row(row).fold(self.base, |sum, (column, value)| {
                        let hash = &self.columns[column];
                        let cell = match hash.labels.is_empty() || value.is_nan() {
                            true => hash.number(value),
                            false => hash.code(value as usize),
                        };
                        sum.wrapping_add(cell).wrapping_sub(hash.zero)
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
