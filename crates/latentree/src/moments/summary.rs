//! What each column looks like by itself.

use std::sync::Arc;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::Accumulator;
use super::accumulator::{Sums, not_plain};
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
    /// Whether all present cells have the same value.
    pub(crate) fn has_one_value(&self) -> bool {
        match (&self.levels[..], self.range) {
            ([], Some((low, high))) => low == high,
            ([], None) => false,
            (levels, _) => levels.iter().filter(|&&weight| weight > 0.0).count() == 1,
        }
    }

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

/// Columns beyond which there is one lane.
const MANY_COLUMNS: usize = 50_000;
/// Ranges of columns whose sparse cells are added at once.
const COLUMN_RANGES: usize = 8;

/// Statistics of every column by itself: missing cells, levels, mean, variance and range.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    schema: Arc<Schema>,
    rows: u64,
    weight: f64,
    columns: Vec<ColumnSummary>,
    /// Whether no column has labels.
    #[serde(skip)]
    all_numbers: bool,
    /// Sparse rows that are not added yet.
    #[serde(skip)]
    unstored: Unstored,
}

/// Sparse rows, whose cells that are not stored are zeros. They are added when a pass ends, so that a batch costs its stored cells and not all columns.
#[derive(Debug, Clone, PartialEq, Default)]
struct Unstored {
    /// Weight of all sparse rows.
    rows: f64,
    /// The stored cells of each column; empty if there are no sparse rows.
    stored: Vec<Stored>,
}

/// The stored cells of a column, without a division for each: what a cell costs is the line of memory that this fills.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(align(64))]
struct Stored {
    weight: f64,
    /// A value of the column, so that sums of squares keep their digits.
    shift: f64,
    sum: f64,
    squares: f64,
    low: f64,
    high: f64,
    nonzero: u64,
    /// Weight of missing cells.
    missing: f64,
}

impl Stored {
    const NONE: Self = Self {
        weight: 0.0,
        shift: 0.0,
        sum: 0.0,
        squares: 0.0,
        low: f64::INFINITY,
        high: f64::NEG_INFINITY,
        nonzero: 0,
        missing: 0.0,
    };

    fn add(&mut self, value: f64, weight: f64) {
        self.nonzero += u64::from(value != 0.0);
        if self.weight == 0.0 {
            self.shift = value;
        }
        if weight > 0.0 {
            let distance = value - self.shift;
            self.weight += weight;
            self.sum += weight * distance;
            self.squares += weight * distance * distance;
            self.low = self.low.min(value);
            self.high = self.high.max(value);
        }
    }

    fn summary(&self) -> ColumnSummary {
        let none = ColumnSummary { nonzero: self.nonzero, ..ColumnSummary::default() };
        if self.weight == 0.0 {
            return none;
        }
        let mean = self.sum / self.weight;
        ColumnSummary {
            weight: self.weight,
            mean: self.shift + mean,
            deviations: (self.squares - self.sum * mean).max(0.0),
            range: Some((self.low, self.high)),
            ..none
        }
    }
}

impl Summary {
    /// A summary of no rows.
    #[must_use]
    pub fn new(schema: Arc<Schema>) -> Self {
        let columns = schema.columns().iter();
        let columns =
            columns.map(|it| ColumnSummary { levels: vec![0.0; it.kind.n_states().unwrap_or(0)], ..ColumnSummary::default() });
        let all_numbers = schema.columns().iter().all(|it| it.kind.n_states().is_none());
        Self { columns: columns.collect(), all_numbers, rows: 0, weight: 0.0, unstored: Unstored::default(), schema }
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

    const NAME: &'static str = "summary";

    fn observe(&mut self, batch: &Batch) -> Result<()> {
        let total: f64 = (0..batch.n_rows).map(|row| batch.weight(row)).sum();
        match &batch.block {
            Block::Dense(columns) => {
                self.columns.par_iter_mut().zip(columns).for_each(|(summary, column)| {
                    for row in 0..batch.n_rows {
                        let value = column.number(row);
                        if value.is_nan() {
                            summary.missing += 1;
                        } else {
                            summary.add(value, batch.weight(row));
                        }
                    }
                });
            }
            Block::Sparse(rows) => {
                let Unstored { rows: unstored, stored } = &mut self.unstored;
                stored.resize(self.columns.len(), Stored::NONE);
                *unstored += total;
                let range = self.columns.len().div_ceil(COLUMN_RANGES).max(1);
                let parts = self.columns.par_chunks_mut(range).zip(stored.par_chunks_mut(range)).enumerate();
                parts.for_each(|(part, (columns, stored))| {
                    let first = part * range;
                    for row in 0..batch.n_rows {
                        let weight = batch.weight(row);
                        for (column, value) in rows.row_within(row, first..first + columns.len()) {
                            let (at, stored) = (column - first, &mut stored[column - first]);
                            if value.is_nan() {
                                stored.missing += weight;
                                columns[at].missing += 1;
                            } else if self.all_numbers || columns[at].levels.is_empty() {
                                stored.add(value, weight);
                            } else {
                                columns[at].add(value, weight);
                                stored.weight += weight;
                            }
                        }
                    }
                });
            }
        }
        self.rows += batch.n_rows as u64;
        self.weight += total;
        Ok(())
    }

    fn merge(&mut self, mut other: Self) -> Result<()> {
        if self.schema != other.schema {
            return Err(Error::Mismatch {
                left: "one summary".to_owned(),
                right: "the other".to_owned(),
                problem: "they are of different columns".to_owned(),
            });
        }
        self.settle();
        other.settle();
        self.rows += other.rows;
        self.weight += other.weight;
        self.columns.iter_mut().zip(&other.columns).for_each(|(own, other)| own.merge(other));
        Ok(())
    }

    fn empty(&self) -> Self {
        Self::new(Arc::clone(&self.schema))
    }

    fn settle(&mut self) {
        let Unstored { rows, stored } = std::mem::take(&mut self.unstored);
        self.columns.par_iter_mut().zip(stored).for_each(|(summary, stored)| {
            if summary.levels.is_empty() {
                summary.merge(&stored.summary());
            }
            summary.add_repeated(0.0, (rows - stored.weight - stored.missing).max(0.0));
        });
    }

    fn visit_sums(&mut self, visit: &mut dyn FnMut(Sums<'_>)) -> Result<()> {
        if self.columns.iter().any(|column| column.levels.is_empty()) {
            return Err(not_plain(Self::NAME, "has columns of numbers"));
        }
        self.settle();
        visit(Sums::LongCounts(std::slice::from_mut(&mut self.rows)));
        visit(Sums::Weights(std::slice::from_mut(&mut self.weight)));
        for column in &mut self.columns {
            visit(Sums::LongCounts(std::slice::from_mut(&mut column.missing)));
            visit(Sums::LongCounts(std::slice::from_mut(&mut column.nonzero)));
            visit(Sums::Weights(std::slice::from_mut(&mut column.weight)));
            visit(Sums::Weights(&mut column.levels));
        }
        Ok(())
    }

    fn lanes(&self) -> usize {
        // Each lane has its own columns; many of them are shared out among threads instead.
        if self.columns.len() > MANY_COLUMNS { 1 } else { 8 }
    }

    fn finish(mut self) -> Result<Self> {
        self.settle();
        Ok(self)
    }

    fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut settled = self.clone();
        settled.settle();
        serde_json::to_vec(&settled).map_err(|error| Error::format(Place::default(), "summary", error.to_string()))
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut summary: Self =
            serde_json::from_slice(bytes).map_err(|error| Error::format(Place::default(), "summary", error.to_string()))?;
        let fits = |(summary, column): (&ColumnSummary, &crate::data::Column)| {
            summary.levels.len() == column.kind.n_states().unwrap_or(0)
        };
        if summary.columns.len() != summary.schema.columns().len()
            || !summary.columns.iter().zip(summary.schema.columns()).all(fits)
        {
            return Err(Error::format(Place::default(), "summary", "its statistics do not fit its columns"));
        }
        summary.all_numbers = summary.columns.iter().all(|it| it.levels.is_empty());
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
        let summary = summary.finish().unwrap();
        assert_eq!(summary.columns()[0].levels, [2.0, 1.0]);
        let b = &summary.columns()[1];
        assert_eq!((b.missing, b.nonzero, b.mean, b.range), (1, 1, 2.0, Some((0.0, 4.0))));
    }
}
