//! Clips rows so that none of them changes sums by much.

use serde::{Deserialize, Serialize};

use super::Privacy;
use crate::data::{Batch, Block, ColumnData, Kind, Schema};

/// The bounds to which rows are clipped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Bounds {
    /// Maximum number of binary columns that may be 1.
    pub(crate) max_items: usize,
    /// The range of each numeric column; `None` for labels.
    pub(crate) ranges: Vec<Option<(f64, f64)>>,
}

/// SplitMix64, the 64-bit mixing function of Steele, Lea and Flood.
fn mix(mut x: u64) -> u64 {
    x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

impl Bounds {
    pub(crate) fn new(schema: &Schema, privacy: &Privacy) -> Self {
        let columns = schema.columns();
        let n_binary = columns.iter().filter(|column| matches!(column.kind, Kind::Binary { .. })).count();
        Self {
            max_items: privacy.max_items.unwrap_or(n_binary).min(n_binary),
            ranges: columns.iter().map(|column| privacy.ranges.get(&column.name).copied()).collect(),
        }
    }

    /// Writes the values of a row after clipping: codes of labels, and numbers between −1 and 1. A row with too many items
    /// keeps a selection that depends only on the row. Returns whether any items were removed.
    pub(crate) fn cut_row(&self, schema: &Schema, batch: &Batch, row: usize, values: &mut [f64]) -> bool {
        let value = |column: usize| match &batch.block {
            Block::Dense(columns) => columns[column].number(row),
            Block::Sparse(_) => 0.0,
        };
        (0..values.len()).for_each(|column| values[column] = value(column));
        if let Block::Sparse(rows) = &batch.block {
            rows.row_within(row, 0..values.len()).for_each(|(column, value)| values[column] = value);
        }
        let mut items: Vec<(u64, usize)> = Vec::new();
        for (column, value) in values.iter_mut().enumerate() {
            match self.ranges[column] {
                Some((low, high)) => {
                    let (middle, half) = (f64::midpoint(low, high), (high - low) / 2.0);
                    *value = if value.is_nan() { 0.0 } else { ((*value - middle) / half).clamp(-1.0, 1.0) };
                }
                None => {
                    if value.is_nan() {
                        *value = 0.0;
                    }
                    if *value == 1.0 && matches!(schema.columns()[column].kind, Kind::Binary { .. }) {
                        items.push((0, column));
                    }
                }
            }
        }
        if items.len() <= self.max_items {
            return false;
        }
        let own = items.iter().fold(0, |hash, it| mix(hash ^ it.1 as u64));
        items.iter_mut().for_each(|it| it.0 = mix(own ^ (it.1 as u64) << 1));
        items.sort_unstable();
        items[self.max_items..].iter().for_each(|it| values[it.1] = 0.0);
        true
    }

    /// A batch of clipped rows, with numbers within their ranges.
    pub(crate) fn cut(&self, schema: &Schema, batch: &Batch) -> Batch {
        let n_columns = schema.columns().len();
        let mut values = vec![0.0; n_columns];
        let mut columns: Vec<ColumnData> =
            schema.columns().iter().map(|column| ColumnData::for_kind(&column.kind, batch.n_rows)).collect();
        for row in 0..batch.n_rows {
            self.cut_row(schema, batch, row, &mut values);
            for (column, &value) in columns.iter_mut().zip(&values) {
                match column {
                    ColumnData::Codes8(codes) => codes.push(value as u8),
                    ColumnData::Codes(codes) => codes.push(value as u32),
                    ColumnData::Reals(reals) => reals.push(value),
                }
            }
        }
        Batch { first_row: batch.first_row, n_rows: batch.n_rows, block: Block::Dense(columns), weights: None }
    }
}
