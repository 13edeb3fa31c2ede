//! Where the features of each column stand in the feature vector.

use std::sync::Arc;

use super::PairOptions;
use crate::data::{Kind, Schema};
use crate::error::{Error, Result};
use crate::memory::MemoryBudget;

/// Marks a column without a missing indicator.
const NONE: u32 = u32::MAX;

/// Most features in the triangle; keeps positions and list offsets within 32 bits.
const MAX_FEATURES: u64 = 1 << 21;

/// How a column's value becomes features.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Map {
    /// One feature, x.
    Binary,
    /// One feature per level.
    OneHot,
    /// x − shift and its powers.
    Powers,
    /// One feature per level, kept in sparse tables; the number counts wide columns.
    Wide(usize),
}

/// The features of one column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ColumnLayout {
    pub(super) map: Map,
    /// Position of its first value feature.
    pub(super) start: usize,
    /// Number of its value features in the triangle; none for a wide column.
    pub(super) n_features: usize,
    missing: u32,
}

impl ColumnLayout {
    /// Position of the column's missing indicator, if a missing cell has been seen.
    pub(super) fn missing(&self) -> Option<usize> {
        (self.missing != NONE).then_some(self.missing as usize)
    }
}

/// The feature vector: the constant 1 at position 0, the value features in the order of columns, then missing indicators in
/// the order in which columns first showed a missing cell.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Layout {
    pub(super) schema: Arc<Schema>,
    pub(super) degree: usize,
    pub(super) wide_levels: usize,
    pub(super) columns: Vec<ColumnLayout>,
    /// Constant and value features in the triangle.
    pub(super) n_values: usize,
    /// Columns of the missing indicators, in the order of their positions.
    pub(super) missing: Vec<usize>,
    /// The wide columns.
    pub(super) wide: Vec<usize>,
    pub(super) has_numbers: bool,
    /// The numeric columns, in order.
    pub(super) numbers: Vec<usize>,
}

impl Layout {
    pub(super) fn new(schema: Arc<Schema>, options: &PairOptions) -> Result<Self> {
        if !(1..=2).contains(&options.degree) {
            return Err(Error::option("degree", format!("{} given; 1 (x) and 2 (x, x²) are allowed", options.degree)));
        }
        let mut columns = Vec::with_capacity(schema.columns().len());
        let mut wide = Vec::new();
        let mut next = 1_usize;
        let mut numbers = Vec::new();
        for (ix, column) in schema.columns().iter().enumerate() {
            let (map, n_features) = match &column.kind {
                Kind::Binary { .. } => (Map::Binary, 1),
                Kind::Categorical { labels } if labels.len() > options.wide_levels => {
                    wide.push(ix);
                    (Map::Wide(wide.len() - 1), 0)
                }
                Kind::Categorical { labels } => (Map::OneHot, labels.len()),
                Kind::Continuous | Kind::Count => {
                    numbers.push(ix);
                    (Map::Powers, options.degree)
                }
            };
            columns.push(ColumnLayout { map, start: next, n_features, missing: NONE });
            next += n_features;
        }
        let (degree, wide_levels, has_numbers) = (options.degree, options.wide_levels, !numbers.is_empty());
        Ok(Self { schema, degree, wide_levels, columns, n_values: next, missing: Vec::new(), wide, has_numbers, numbers })
    }

    /// Features in the triangle.
    pub(super) fn n_features(&self) -> usize {
        self.n_values + self.missing.len()
    }

    /// Appends a missing indicator for a column that has none.
    pub(super) fn append_missing(&mut self, column: usize) {
        self.columns[column].missing = u32::try_from(self.n_features()).expect("features were checked to fit");
        self.missing.push(column);
    }

    /// Which of the missing indicators is the column's.
    pub(super) fn missing_slot(&self, column: usize) -> Option<usize> {
        self.columns[column].missing().map(|position| position - self.n_values)
    }

    /// Drops the missing indicators: the layout of an accumulator that has seen no rows.
    pub(super) fn without_missing(&self) -> Self {
        let mut layout = self.clone();
        layout.missing.clear();
        layout.columns.iter_mut().for_each(|column| column.missing = NONE);
        layout
    }

    /// Checks that the triangle of `extra` more features fits the limit, at `bytes` a cell.
    pub(super) fn check_memory(&self, extra: usize, bytes: u64, taken: u64, limit: u64) -> Result<()> {
        let n = self.n_features() as u64 + extra as u64;
        // Sums of squares beside missing cells take the last part.
        let squares = (self.missing.len() + extra) as u64 * if self.degree == 1 { self.numbers.len() as u64 * 8 } else { 0 };
        let need = if n > MAX_FEATURES { u64::MAX } else { n * (n + 1) / 2 * bytes + taken + squares };
        if need <= limit {
            return Ok(());
        }
        let problem = format!(
            "pair moments of {} columns with {n} features ({} of them missing indicators) would take {}, more than the {} allowed; leave out \
             columns, join rare labels, or allow more memory",
            self.columns.len(),
            self.missing.len() + extra,
            MemoryBudget::new(need),
            MemoryBudget::new(limit),
        );
        Err(Error::option("learn.memory", problem))
    }
}

/// Start of row `hi` of the packed lower triangle.
pub(super) fn row_start(hi: usize) -> usize {
    hi * (hi + 1) / 2
}

/// Index of a cell of the packed lower triangle, in either order.
pub(super) fn cell(i: usize, j: usize) -> usize {
    if i >= j { row_start(i) + j } else { row_start(j) + i }
}
