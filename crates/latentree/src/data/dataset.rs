//! A table in memory.

use std::sync::Arc;

use super::{Batch, BatchSource, Block, ColumnData, Schema};
use crate::error::{Error, Place, Result};

/// A table in memory: a schema and batches.
#[derive(Debug, Clone, PartialEq)]
pub struct Dataset {
    schema: Arc<Schema>,
    batches: Vec<Arc<Batch>>,
    n_rows: u64,
}

impl Dataset {
    /// Rows per batch when a table in memory is cut up.
    pub const BATCH_ROWS: usize = 4096;

    /// A table from batches that follow each other.
    ///
    /// # Panics
    /// If the batches do not have the schema's columns.
    #[must_use]
    pub fn new(schema: Arc<Schema>, mut batches: Vec<Batch>) -> Self {
        let mut n_rows = 0;
        for batch in &mut batches {
            if let Block::Dense(columns) = &batch.block {
                assert_eq!(columns.len(), schema.columns().len(), "a batch has the schema's columns");
                assert!(columns.iter().all(|column| column.len() == batch.n_rows), "columns of a batch have its length");
            }
            batch.first_row = n_rows;
            n_rows += batch.n_rows as u64;
        }
        Self { schema, batches: batches.into_iter().map(Arc::new).collect(), n_rows }
    }

    /// A table from whole dense columns.
    ///
    /// # Errors
    /// [`Error::Data`] if a column's length differs from the others', its storage does not fit its kind, a code is not a
    /// state of its column, or a weight is negative or not finite.
    pub fn from_columns(schema: Arc<Schema>, columns: Vec<ColumnData>, weights: Option<Vec<f64>>) -> Result<Self> {
        let n_rows = columns.first().map_or(0, ColumnData::len);
        if columns.len() != schema.columns().len() {
            let problem = format!("{} columns given for a schema of {}", columns.len(), schema.columns().len());
            return Err(Error::data(Place::default(), problem));
        }
        for (data, column) in columns.iter().zip(schema.columns()) {
            let place = || Place::default().column(&column.name);
            if data.len() != n_rows {
                return Err(Error::data(place(), format!("{} rows where the first column has {n_rows}", data.len())));
            }
            match (column.kind.n_states(), data) {
                (None, ColumnData::Reals(_)) => {}
                (Some(n_states), ColumnData::Codes8(_) | ColumnData::Codes(_)) => {
                    let bad = (0..n_rows).find(|&row| data.code(row).is_some_and(|code| code as usize >= n_states));
                    if let Some(row) = bad {
                        let problem = format!("code {} but the column has {n_states} states", data.number(row));
                        return Err(Error::data(place().row(row as u64 + 1), problem));
                    }
                }
                _ => return Err(Error::data(place(), format!("storage does not fit a {} column", column.kind.name()))),
            }
        }
        if let Some(weights) = &weights {
            let bad = weights.iter().position(|weight| !weight.is_finite() || *weight < 0.0);
            if let Some(row) = bad {
                let problem = format!("weight {} is not a finite number ≥ 0", weights[row]);
                return Err(Error::data(Place::default().row(row as u64 + 1), problem));
            }
            if weights.len() != n_rows {
                let problem = format!("{} weights for {n_rows} rows", weights.len());
                return Err(Error::data(Place::default(), problem));
            }
        }
        let batches = (0..n_rows).step_by(Self::BATCH_ROWS).map(|start| {
            let range = start..n_rows.min(start + Self::BATCH_ROWS);
            let block = columns.iter().map(|column| match column {
                ColumnData::Codes8(codes) => ColumnData::Codes8(codes[range.clone()].to_vec()),
                ColumnData::Codes(codes) => ColumnData::Codes(codes[range.clone()].to_vec()),
                ColumnData::Reals(values) => ColumnData::Reals(values[range.clone()].to_vec()),
            });
            Batch {
                first_row: start as u64,
                n_rows: range.len(),
                block: Block::Dense(block.collect()),
                weights: weights.as_ref().map(|weights| weights[range.clone()].to_vec()),
            }
        });
        let batches = batches.collect();
        Ok(Self::new(schema, batches))
    }

    /// Reads a source to its end.
    ///
    /// # Errors
    /// Those of the source.
    pub fn read(source: &mut dyn BatchSource) -> Result<Self> {
        let mut batches = Vec::new();
        while let Some(batch) = source.next_batch()? {
            batches.push(batch);
        }
        Ok(Self::from_shared(Arc::clone(source.schema()), batches))
    }

    /// A table of batches that others may hold, too.
    pub(super) fn from_shared(schema: Arc<Schema>, batches: Vec<Arc<Batch>>) -> Self {
        let n_rows = batches.iter().map(|batch| batch.n_rows as u64).sum();
        Self { schema, batches, n_rows }
    }

    /// What the columns mean.
    #[must_use]
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// The batches in row order.
    #[must_use]
    pub fn batches(&self) -> &[Arc<Batch>] {
        &self.batches
    }

    /// Number of rows.
    #[must_use]
    pub fn n_rows(&self) -> u64 {
        self.n_rows
    }

    /// The rows for which `keep` says so, by their numbers from 0.
    #[must_use]
    pub fn rows_where(&self, mut keep: impl FnMut(u64) -> bool) -> Self {
        let mut first = 0;
        let mut batches = Vec::with_capacity(self.batches.len());
        for batch in &self.batches {
            let kept: Vec<usize> = (0..batch.n_rows).filter(|&row| keep(first + row as u64)).collect();
            first += batch.n_rows as u64;
            if !kept.is_empty() {
                batches.push(super::select_rows(batch, &kept, 0));
            }
        }
        Self::new(Arc::clone(&self.schema), batches)
    }

    /// The table as a source, to be folded by passes that do not care where rows live.
    #[must_use]
    pub fn source(&self) -> impl BatchSource + '_ {
        InMemory { dataset: self, next: 0 }
    }
}

struct InMemory<'a> {
    dataset: &'a Dataset,
    next: usize,
}

impl BatchSource for InMemory<'_> {
    fn schema(&self) -> &Arc<Schema> {
        &self.dataset.schema
    }

    fn next_batch(&mut self) -> Result<Option<Arc<Batch>>> {
        let batch = self.dataset.batches.get(self.next).map(Arc::clone);
        self.next += 1;
        Ok(batch)
    }

    fn rewind(&mut self) -> Result<()> {
        self.next = 0;
        Ok(())
    }

    fn n_rows_hint(&self) -> Option<u64> {
        Some(self.dataset.n_rows)
    }
}
