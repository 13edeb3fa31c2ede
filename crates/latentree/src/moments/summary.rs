//! What each column looks like by itself.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Accumulator;
use crate::data::{Batch, Block, Schema};
use crate::error::{Error, Place, Result};

/// Statistics of one column.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ColumnSummary {
    /// Number of rows where the column is missing.
    pub missing: u64,
    /// Number of rows where it is present and not zero (not code 0 of a discrete column).
    pub nonzero: u64,
    /// Sum of the weights of the rows where it is present.
    pub weight: f64,
    /// Weight of each label of a discrete column; empty for numbers.
    pub levels: Vec<f64>,
    /// Weighted mean of the numbers.
    pub mean: f64,
    /// Weighted sum of squared deviations from the mean.
    pub deviations: f64,
    /// Smallest and largest number; `None` if there are none.
    pub range: Option<(f64, f64)>,
}

impl ColumnSummary {
    /// Variance of the numbers, dividing by the weight.
    #[must_use]
    pub fn variance(&self) -> f64 {
        if self.weight > 0.0 { self.deviations / self.weight } else { f64::NAN }
    }

    fn add(&mut self, value: f64, weight: f64) {
        self.nonzero += u64::from(value != 0.0);
        self.add_repeated(value, weight);
    }

    /// Adds a cell of this weight without counting it as non-zero.
    fn add_repeated(&mut self, value: f64, weight: f64) {
        if weight == 0.0 {
            return;
        }
        self.weight += weight;
        if let Some(level) = self.levels.get_mut(value as usize) {
            *level += weight;
        } else {
            // Welford's update with weights.
            let delta = value - self.mean;
            self.mean += weight / self.weight * delta;
            self.deviations += weight * delta * (value - self.mean);
            let (low, high) = self.range.unwrap_or((value, value));
            self.range = Some((low.min(value), high.max(value)));
        }
    }

    fn merge(&mut self, other: &Self) {
        self.missing += other.missing;
        self.nonzero += other.nonzero;
        self.levels.iter_mut().zip(&other.levels).for_each(|(own, other)| *own += other);
        let weight = self.weight + other.weight;
        if weight > 0.0 {
            // Chan, Golub and LeVeque's update of the mean and the squared deviations.
            let delta = other.mean - self.mean;
            self.deviations += other.deviations + delta * delta * self.weight * other.weight / weight;
            self.mean += delta * other.weight / weight;
        }
        self.weight = weight;
        self.range = match (self.range, other.range) {
            (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
            (a, b) => a.or(b),
        };
    }
}

/// Columns beyond which fewer lanes are kept.
const MANY_COLUMNS: usize = 50_000;

/// Statistics of every column by itself: missing cells, levels, mean, variance and range.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    schema: Arc<Schema>,
    rows: u64,
    weight: f64,
    columns: Vec<ColumnSummary>,
}

impl Summary {
    /// A summary of no rows.
    #[must_use]
    pub fn new(schema: Arc<Schema>) -> Self {
        let columns = schema.columns().iter();
        let columns =
            columns.map(|it| ColumnSummary { levels: vec![0.0; it.kind.n_states().unwrap_or(0)], ..ColumnSummary::default() });
        Self { columns: columns.collect(), rows: 0, weight: 0.0, schema }
    }

    /// What the columns mean.
    #[must_use]
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// Number of rows.
    #[must_use]
    pub fn n_rows(&self) -> u64 {
        self.rows
    }

    /// Sum of the row weights.
    #[must_use]
    pub fn total_weight(&self) -> f64 {
        self.weight
    }

    /// Statistics by column.
    #[must_use]
    pub fn columns(&self) -> &[ColumnSummary] {
        &self.columns
    }
}

impl Accumulator for Summary {
    type Output = Self;

    fn observe(&mut self, batch: &Batch) -> Result<()> {
        let total: f64 = (0..batch.n_rows).map(|row| batch.weight(row)).sum();
        match &batch.block {
            Block::Dense(columns) => {
                for (summary, column) in self.columns.iter_mut().zip(columns) {
                    for row in 0..batch.n_rows {
                        let value = column.number(row);
                        if value.is_nan() {
                            summary.missing += 1;
                        } else {
                            summary.add(value, batch.weight(row));
                        }
                    }
                }
            }
            Block::Sparse(rows) => {
                // Cells that are not stored are zeros: added at the end of the batch, all at once.
                let mut stored = vec![0.0; self.columns.len()];
                for row in 0..batch.n_rows {
                    for (column, value) in rows.row(row) {
                        stored[column] += batch.weight(row);
                        if value.is_nan() {
                            self.columns[column].missing += 1;
                        } else {
                            self.columns[column].add(value, batch.weight(row));
                        }
                    }
                }
                for (summary, stored) in self.columns.iter_mut().zip(&stored) {
                    summary.add_repeated(0.0, (total - stored).max(0.0));
                }
            }
        }
        self.rows += batch.n_rows as u64;
        self.weight += total;
        Ok(())
    }

    fn merge(&mut self, other: Self) -> Result<()> {
        if self.schema != other.schema {
            return Err(Error::Mismatch {
                left: "one summary".to_owned(),
                right: "the other".to_owned(),
                problem: "they are of different columns".to_owned(),
            });
        }
        self.rows += other.rows;
        self.weight += other.weight;
        self.columns.iter_mut().zip(&other.columns).for_each(|(own, other)| own.merge(other));
        Ok(())
    }

    fn empty(&self) -> Self {
        Self::new(Arc::clone(&self.schema))
    }

    fn lanes(&self) -> usize {
        // Each lane has its own columns.
        if self.columns.len() > MANY_COLUMNS { 2 } else { 8 }
    }

    fn finish(self) -> Result<Self> {
        Ok(self)
    }

    fn to_bytes(&self) -> Result<Vec<u8>> {
        serde_json::to_vec(self).map_err(|error| Error::format(Place::default(), "summary", error.to_string()))
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let summary: Self =
            serde_json::from_slice(bytes).map_err(|error| Error::format(Place::default(), "summary", error.to_string()))?;
        let fits = |(summary, column): (&ColumnSummary, &crate::data::Column)| {
            summary.levels.len() == column.kind.n_states().unwrap_or(0)
        };
        if summary.columns.len() != summary.schema.columns().len()
            || !summary.columns.iter().zip(summary.schema.columns()).all(fits)
        {
            return Err(Error::format(Place::default(), "summary", "its statistics do not fit its columns"));
        }
        Ok(summary)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{ColumnData, Dataset, Kind, SparseRows};
    use crate::moments::fold;
    use crate::observer::Silent;

    #[test]
    fn a_summary_equals_direct_sums_and_merges_through_bytes() {
        let schema = Arc::new(Schema::builder().scalar("a", Kind::numbered(3)).scalar("b", Kind::Continuous).build().unwrap());
        let n = 10_000;
        let codes: Vec<u8> = (0..n).map(|ix| if ix % 7 == 0 { 255 } else { (ix % 3) as u8 }).collect();
        let values: Vec<f64> = (0..n).map(|ix| if ix % 11 == 0 { f64::NAN } else { 1e6 + f64::from(ix % 5) }).collect();
        let weights: Vec<f64> = (0..n).map(|ix| f64::from(ix % 4)).collect();
        let columns = vec![ColumnData::Codes8(codes.clone()), ColumnData::Reals(values.clone())];
        let data = Dataset::from_columns(Arc::clone(&schema), columns, Some(weights.clone())).unwrap();
        let summary = fold(&mut data.source(), Summary::new(Arc::clone(&schema)), &Silent).unwrap();
        let present: Vec<(f64, f64)> = values.iter().copied().zip(weights.iter().copied()).filter(|it| !it.0.is_nan()).collect();
        let weight: f64 = present.iter().map(|it| it.1).sum();
        let mean = present.iter().map(|it| it.0 * it.1).sum::<f64>() / weight;
        let variance = present.iter().map(|it| it.1 * (it.0 - mean).powi(2)).sum::<f64>() / weight;
        let b = &summary.columns()[1];
        assert!((b.mean - mean).abs() < 1e-6 && (b.variance() - variance).abs() < 1e-9);
        assert_eq!(b.range, Some((1e6, 1e6 + 4.0)));
        let expected: f64 = (0..n as usize).filter(|&ix| codes[ix] == 1).map(|ix| weights[ix]).sum();
        assert_eq!(summary.columns()[0].levels[1], expected);
        assert_eq!(summary.columns()[0].missing, codes.iter().filter(|&&code| code == 255).count() as u64);
        let mut parts = summary.empty();
        for batch in data.batches() {
            let mut part = summary.empty();
            part.observe(batch).unwrap();
            parts.merge(Summary::from_bytes(&part.to_bytes().unwrap()).unwrap()).unwrap();
        }
        assert_eq!(parts.columns()[0], summary.columns()[0]);
        assert!((parts.columns()[1].variance() - variance).abs() < 1e-9);
    }

    #[test]
    fn cells_that_are_not_stored_count_as_zeros() {
        let schema = Arc::new(Schema::builder().scalar("a", Kind::binary()).scalar("b", Kind::Count).build().unwrap());
        let rows = SparseRows { starts: vec![0, 2, 2, 3], columns: vec![0, 1, 1], values: Some(vec![1.0, 4.0, f64::NAN]) };
        let batch = Batch { first_row: 0, n_rows: 3, block: Block::Sparse(rows), weights: None };
        let mut summary = Summary::new(schema);
        summary.observe(&batch).unwrap();
        assert_eq!(summary.columns()[0].levels, [2.0, 1.0]);
        let b = &summary.columns()[1];
        assert_eq!((b.missing, b.nonzero, b.mean, b.range), (1, 1, 2.0, Some((0.0, 4.0))));
    }
}
