//! The labels of rows as codes.

use serde::{Deserialize, Serialize};

use crate::data::{Batch, Block, ColumnData, Schema};

/// Number of rows processed together.
const STRIP: usize = 2048;

/// The columns of discrete variables.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Labels {
    /// The column of each variable.
    columns: Vec<usize>,
    /// The number of labels of each variable.
    pub(super) n_labels: Vec<usize>,
}

impl Labels {
    /// The labels of a schema whose variables are all discrete and scalar.
    pub(super) fn new(schema: &Schema) -> Self {
        let columns = schema.variables().iter().map(|variable| variable.columns[0].get()).collect();
        let n_labels = schema.variable_ixs().map(|ix| schema.scalar_kind(ix).and_then(|kind| kind.n_states()).unwrap_or(0));
        Self { columns, n_labels: n_labels.collect() }
    }

    /// Returns whether every variable has a column.
    pub(super) fn is_sound(&self) -> bool {
        self.columns.len() == self.n_labels.len()
    }

    /// Calls `visit` with the codes and weights of some rows at a time, and adds up the weights of all labels and of all
    /// rows.
    pub(super) fn each_strip(
        &self,
        batch: &Batch,
        singles: &mut [Vec<f64>],
        total: &mut f64,
        mut visit: impl FnMut(&[Vec<u32>], &[f64]),
    ) {
        for first in (0..batch.n_rows).step_by(STRIP) {
            let rows = first..(first + STRIP).min(batch.n_rows);
            let codes = self.codes(batch, rows.clone());
            let weights: Vec<f64> = rows.map(|row| batch.weight(row)).collect();
            for (sums, codes) in singles.iter_mut().zip(&codes) {
                for (&code, weight) in codes.iter().zip(&weights) {
                    if let Some(sum) = sums.get_mut(code as usize) {
                        *sum += weight;
                    }
                }
            }
            visit(&codes, &weights);
            *total += weights.iter().sum::<f64>();
        }
    }

    /// The codes of some rows, by variable; a missing cell is coded as the number of labels of the variable.
    pub(super) fn codes(&self, batch: &Batch, rows: std::ops::Range<usize>) -> Vec<Vec<u32>> {
        match &batch.block {
            Block::Dense(columns) => {
                let of = |(&column, &n): (&usize, &usize)| -> Vec<u32> {
                    let code = |code: u32| if (code as usize) < n { code } else { n as u32 };
                    match &columns[column] {
                        ColumnData::Codes8(codes) => codes[rows.clone()].iter().map(|&it| code(u32::from(it))).collect(),
                        ColumnData::Codes(codes) => codes[rows.clone()].iter().map(|&it| code(it)).collect(),
                        ColumnData::Reals(values) => {
                            values[rows.clone()].iter().map(|it| code(if it.is_nan() { u32::MAX } else { *it as u32 })).collect()
                        }
                    }
                };
                self.columns.iter().zip(&self.n_labels).map(of).collect()
            }
            Block::Sparse(sparse) => {
                let mut variable_of = vec![usize::MAX; self.columns.iter().max().map_or(0, |most| most + 1)];
                self.columns.iter().enumerate().for_each(|(variable, &column)| variable_of[column] = variable);
                let mut out = vec![vec![0; rows.len()]; self.columns.len()];
                for (at, row) in rows.enumerate() {
                    for (column, value) in sparse.row(row) {
                        let variable = variable_of[column];
                        let n = self.n_labels[variable];
                        let code = if value.is_nan() { n } else { (value as usize).min(n) };
                        out[variable][at] = code as u32;
                    }
                }
                out
            }
        }
    }
}
