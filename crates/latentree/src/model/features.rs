//! Rows as vectors of numbers, few of them not zero.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::data::{Batch, Block, Kind, Schema, SparseRows};
use crate::moments::Summary;

/// What a column adds to the vector of a row.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) enum Source {
    /// Its number, less `shift`, divided by `scale`.
    Number {
        /// Place in the vector.
        feature: u32,
        /// What is taken off.
        shift: f64,
        /// What it is divided by then.
        scale: f64,
    },
    /// An indicator for each code but 0.
    Codes {
        /// Place of the indicator of code 1.
        first: u32,
        /// Number of labels.
        n_states: u32,
    },
}

/// How numbers are scaled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scaling {
    /// Not at all.
    None,
    /// Measured from their means.
    Centred,
    /// Measured from their means in standard deviations; counts from 0.
    Standardised,
}

/// How rows become vectors: counts and numbers as they are, labels as indicators of all but the first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Features {
    /// One per column.
    pub(crate) sources: Vec<Source>,
    /// Length of the vectors.
    pub(crate) n: usize,
}

impl Features {
    /// The features of a table. Numbers are scaled by what `summary` tells of them.
    pub(crate) fn new(schema: &Schema, scaling: Scaling, summary: &Summary) -> Self {
        let mut n = 0;
        let mut sources = Vec::with_capacity(schema.columns().len());
        for (column, summary) in schema.columns().iter().zip(summary.columns()) {
            let feature = n as u32;
            sources.push(match column.kind.n_states() {
                Some(n_states) => {
                    n += n_states.saturating_sub(1);
                    Source::Codes { first: feature, n_states: n_states as u32 }
                }
                None => {
                    n += 1;
                    let deviation = summary.variance().sqrt();
                    let (shift, scale) = match (scaling, &column.kind) {
                        (Scaling::Centred, _) => (summary.mean, 1.0),
                        (Scaling::Standardised, Kind::Continuous) if deviation > 0.0 => (summary.mean, deviation),
                        (Scaling::Standardised, _) if deviation > 0.0 => (0.0, deviation),
                        _ => (0.0, 1.0),
                    };
                    Source::Number { feature, shift, scale }
                }
            });
        }
        Self { sources, n }
    }

    /// Whether places are within the vectors: of features that were read from bytes.
    pub(crate) fn is_valid(&self) -> bool {
        let mut next = 0_usize;
        self.sources.iter().all(|source| {
            let (first, width) = match *source {
                Source::Number { feature, shift, scale } if shift.is_finite() && scale.is_finite() && scale != 0.0 => {
                    (feature as usize, 1)
                }
                Source::Number { .. } => return false,
                Source::Codes { first, n_states } => (first as usize, (n_states as usize).saturating_sub(1)),
            };
            let fits = first == next;
            next = next.saturating_add(width);
            fits
        }) && next == self.n
    }

    /// The names of features: a column's, or `column=label` of all labels but the first of a column that is not binary.
    pub(crate) fn names(&self, schema: &Schema) -> Vec<String> {
        let mut names = Vec::with_capacity(self.n);
        for column in schema.columns() {
            match (column.kind.labels(), &column.kind) {
                (None, _) | (_, Kind::Binary { .. }) => names.push(column.name.clone()),
                (Some(labels), _) => names.extend(labels.iter().skip(1).map(|label| format!("{}={label}", column.name))),
            }
        }
        names
    }

    /// Whether cells that are not stored are zeros of the vector.
    fn keeps_zeros(&self) -> bool {
        self.sources.iter().all(|source| !matches!(source, Source::Number { shift, .. } if *shift != 0.0))
    }

    /// Whether vectors are the cells themselves.
    fn are_cells(&self) -> bool {
        let same = |(column, source): (usize, &Source)| match *source {
            Source::Number { feature, shift, scale } => feature as usize == column && shift == 0.0 && scale == 1.0,
            Source::Codes { first, n_states } => first as usize == column && n_states == 2,
        };
        self.sources.iter().enumerate().all(same)
    }

    #[inline]
    fn push(&self, column: usize, value: f64, features: &mut Vec<u32>, values: &mut Vec<f64>) {
        match self.sources[column] {
            Source::Number { feature, shift, scale } => {
                let value = (value - shift) / scale;
                if value != 0.0 {
                    features.push(feature);
                    values.push(value);
                }
            }
            Source::Codes { first, .. } => {
                if value > 0.0 {
                    features.push(first + value as u32 - 1);
                    values.push(1.0);
                }
            }
        }
    }

    /// The vectors of a batch.
    pub(crate) fn rows<'b>(&self, batch: &'b Batch) -> FeatureRows<'b> {
        let weights = batch.weights.as_deref();
        let (mut starts, mut features, mut values) = (vec![0], Vec::new(), Vec::new());
        match &batch.block {
            Block::Sparse(SparseRows { starts, columns, values }) if self.are_cells() => {
                return FeatureRows {
                    starts: Cow::Borrowed(starts),
                    features: Cow::Borrowed(columns),
                    values: values.as_deref().map(Cow::Borrowed),
                    weights,
                };
            }
            Block::Sparse(rows) if self.keeps_zeros() => {
                for row in 0..batch.n_rows {
                    rows.row(row).for_each(|(column, value)| self.push(column, value, &mut features, &mut values));
                    starts.push(features.len());
                }
            }
            Block::Sparse(rows) => {
                let mut cells = vec![0.0; self.sources.len()];
                for row in 0..batch.n_rows {
                    cells.fill(0.0);
                    rows.row(row).for_each(|(column, value)| cells[column] = value);
                    cells.iter().enumerate().for_each(|(column, &value)| self.push(column, value, &mut features, &mut values));
                    starts.push(features.len());
                }
            }
            Block::Dense(columns) => {
                for row in 0..batch.n_rows {
                    for (ix, column) in columns.iter().enumerate() {
                        self.push(ix, column.number(row), &mut features, &mut values);
                    }
                    starts.push(features.len());
                }
            }
        }
        FeatureRows { starts: Cow::Owned(starts), features: Cow::Owned(features), values: Some(Cow::Owned(values)), weights }
    }
}

/// Vectors by their entries that are not zero; features rise within a row.
#[derive(Debug, Clone)]
pub(crate) struct FeatureRows<'b> {
    starts: Cow<'b, [usize]>,
    features: Cow<'b, [u32]>,
    values: Option<Cow<'b, [f64]>>,
    weights: Option<&'b [f64]>,
}

impl<'b> FeatureRows<'b> {
    /// The cells of a batch of sparse rows as they are.
    ///
    /// # Panics
    /// If the batch is dense.
    pub(crate) fn of_sparse(batch: &'b Batch) -> Self {
        let Block::Sparse(SparseRows { starts, columns, values }) = &batch.block else { panic!("the batch is sparse") };
        let values = values.as_deref().map(Cow::Borrowed);
        Self { starts: Cow::Borrowed(starts), features: Cow::Borrowed(columns), values, weights: batch.weights.as_deref() }
    }

    pub(crate) fn n_rows(&self) -> usize {
        self.starts.len() - 1
    }

    pub(crate) fn weight(&self, row: usize) -> f64 {
        self.weights.map_or(1.0, |weights| weights[row])
    }

    /// Feature and value of the entries of a row.
    #[inline]
    pub(crate) fn row(&self, row: usize) -> impl Iterator<Item = (usize, f64)> + Clone + '_ {
        let range = self.starts[row]..self.starts[row + 1];
        let values = self.values.as_deref();
        range.map(move |at| (self.features[at] as usize, values.map_or(1.0, |values| values[at])))
    }

    /// The features of a row.
    #[inline]
    pub(crate) fn features(&self, row: usize) -> &[u32] {
        &self.features[self.starts[row]..self.starts[row + 1]]
    }
}
