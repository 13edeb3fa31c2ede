//! Some of the rows, by column: what local tests look at.

use crate::data::{Block, Rows};
use crate::error::Result;

/// The cells of a column in the sampled rows.
#[derive(Debug)]
pub(super) enum Cells {
    /// Codes; [`MISSING`] is missing.
    Codes(Vec<u32>),
    /// Numbers; NaN is missing.
    Reals(Vec<f64>),
}

/// The code of a missing cell.
pub(super) const MISSING: u32 = u32::MAX;

/// Rows at even distances, with their weights.
#[derive(Debug)]
pub(super) struct Sample {
    /// By column of the schema.
    pub(super) columns: Vec<Cells>,
    pub(super) weights: Vec<f64>,
    /// The weight of all rows.
    pub(super) total_weight: f64,
}

impl Sample {
    /// At most `most` rows. Rows are sorted by content before they come here, unless they are very many, so that even distances are a draw.
    pub(super) fn of(rows: &dyn Rows, most: usize) -> Result<Self> {
        let schema = rows.schema();
        let n_rows = match rows.n_rows_hint() {
            Some(n_rows) => n_rows,
            None => {
                let (mut source, mut n_rows) = (rows.open()?, 0);
                while let Some(batch) = source.next_batch()? {
                    n_rows += batch.n_rows as u64;
                }
                n_rows
            }
        };
        let kept = n_rows.min(most as u64);
        let is_kept = |row: u64| {
            u128::from(row + 1) * u128::from(kept) / u128::from(n_rows.max(1))
                > u128::from(row) * u128::from(kept) / u128::from(n_rows.max(1))
        };
        let empty = |n_states: Option<usize>| match n_states {
            Some(_) => Cells::Codes(Vec::with_capacity(kept as usize)),
            None => Cells::Reals(Vec::with_capacity(kept as usize)),
        };
        let mut columns: Vec<Cells> = schema.columns().iter().map(|column| empty(column.kind.n_states())).collect();
        let (mut weights, mut total_weight, mut seen) = (Vec::new(), 0.0, 0_u64);
        let mut source = rows.open()?;
        while let Some(batch) = source.next_batch()? {
            let chosen: Vec<usize> =
                (0..batch.n_rows).filter(|&row| is_kept(seen + row as u64) && batch.weight(row) > 0.0).collect();
            seen += batch.n_rows as u64;
            total_weight += (0..batch.n_rows).map(|row| batch.weight(row)).sum::<f64>();
            weights.extend(chosen.iter().map(|&row| batch.weight(row)));
            match &batch.block {
                Block::Dense(cells) => {
                    for (column, cells) in columns.iter_mut().zip(cells) {
                        match column {
                            Cells::Codes(codes) => codes.extend(chosen.iter().map(|&row| cells.code(row).unwrap_or(MISSING))),
                            Cells::Reals(values) => values.extend(chosen.iter().map(|&row| cells.number(row))),
                        }
                    }
                }
                Block::Sparse(cells) => {
                    let start = weights.len() - chosen.len();
                    for column in &mut columns {
                        match column {
                            Cells::Codes(codes) => codes.resize(weights.len(), 0),
                            Cells::Reals(values) => values.resize(weights.len(), 0.0),
                        }
                    }
                    for (at, &row) in chosen.iter().enumerate() {
                        for (column, value) in cells.row(row) {
                            match &mut columns[column] {
                                Cells::Codes(codes) => codes[start + at] = if value.is_nan() { MISSING } else { value as u32 },
                                Cells::Reals(values) => values[start + at] = value,
                            }
                        }
                    }
                }
            }
        }
        Ok(Self { columns, weights, total_weight })
    }

    pub(super) fn n_rows(&self) -> usize {
        self.weights.len()
    }

    /// What one sampled unit of weight stands for.
    pub(super) fn scale(&self) -> f64 {
        let sum: f64 = self.weights.iter().sum();
        if sum > 0.0 { self.total_weight / sum } else { 0.0 }
    }
}
