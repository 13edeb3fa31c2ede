//! A batch: some consecutive rows of a table, dense by column or sparse by row.

use crate::index::ColIx;

/// Code of a missing cell in [`ColumnData::Codes8`].
pub const MISSING_CODE8: u8 = u8::MAX;
/// Code of a missing cell in [`ColumnData::Codes`].
pub const MISSING_CODE: u32 = u32::MAX;

/// The cells of one column in a dense batch.
#[derive(Debug, Clone, PartialEq)]
pub enum ColumnData {
    /// Codes of a discrete column with at most 255 states; [`MISSING_CODE8`] is missing.
    Codes8(Vec<u8>),
    /// Codes of a discrete column with more states; [`MISSING_CODE`] is missing.
    Codes(Vec<u32>),
    /// Numbers of a continuous or count column; NaN is missing.
    Reals(Vec<f64>),
}

impl ColumnData {
    /// An empty column of the right storage for a kind, with room for `capacity` rows.
    #[must_use]
    pub fn for_kind(kind: &crate::data::Kind, capacity: usize) -> Self {
        match kind.n_states() {
            None => Self::Reals(Vec::with_capacity(capacity)),
            Some(n_states) if n_states <= usize::from(MISSING_CODE8) => Self::Codes8(Vec::with_capacity(capacity)),
            Some(_) => Self::Codes(Vec::with_capacity(capacity)),
        }
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Codes8(codes) => codes.len(),
            Self::Codes(codes) => codes.len(),
            Self::Reals(values) => values.len(),
        }
    }

    /// Whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Code of a discrete cell, `None` if missing.
    ///
    /// # Panics
    /// If the column holds numbers.
    #[must_use]
    pub fn code(&self, row: usize) -> Option<u32> {
        match self {
            Self::Codes8(codes) => (codes[row] != MISSING_CODE8).then(|| u32::from(codes[row])),
            Self::Codes(codes) => (codes[row] != MISSING_CODE).then_some(codes[row]),
            Self::Reals(_) => panic!("a column of numbers has no codes"),
        }
    }

    /// The cell as a number, codes included; NaN if missing.
    #[must_use]
    pub fn number(&self, row: usize) -> f64 {
        match self {
            Self::Reals(values) => values[row],
            _ => self.code(row).map_or(f64::NAN, f64::from),
        }
    }

    /// Appends a discrete cell, `None` if missing.
    ///
    /// # Panics
    /// If the column holds numbers or the code does not fit its storage.
    pub fn push_code(&mut self, code: Option<u32>) {
        match self {
            Self::Codes8(codes) => {
                codes.push(code.map_or(MISSING_CODE8, |code| u8::try_from(code).expect("code fits its column")))
            }
            Self::Codes(codes) => codes.push(code.unwrap_or(MISSING_CODE)),
            Self::Reals(_) => panic!("a column of numbers has no codes"),
        }
    }

    /// Appends a number, NaN if missing; a discrete column takes it as a code.
    ///
    /// # Panics
    /// If a code does not fit the column's storage.
    pub fn push_number(&mut self, value: f64) {
        match self {
            Self::Reals(values) => values.push(value),
            _ if value.is_nan() => self.push_code(None),
            _ => self.push_code(Some(value as u32)),
        }
    }
}

/// Rows that list only their non-zero cells (compressed sparse rows).
///
/// An absent cell is zero: code 0 of a discrete column, the number 0 of the others. A stored NaN is a missing cell.
/// Within a row, columns strictly increase.
#[derive(Debug, Clone, PartialEq)]
pub struct SparseRows {
    /// Row `r` is `columns[starts[r]..starts[r + 1]]`; one longer than the number of rows.
    pub starts: Vec<usize>,
    /// Column indices of the stored cells.
    pub columns: Vec<u32>,
    /// Values of the stored cells (a discrete cell's code); `None` when all are 1.
    pub values: Option<Vec<f64>>,
}

impl Default for SparseRows {
    fn default() -> Self {
        Self { starts: vec![0], columns: Vec::new(), values: None }
    }
}

impl SparseRows {
    /// Number of rows.
    #[must_use]
    pub fn n_rows(&self) -> usize {
        self.starts.len() - 1
    }

    /// The stored cells of a row in a range of columns: column index and value.
    pub fn row_within(&self, row: usize, columns: std::ops::Range<usize>) -> impl Iterator<Item = (usize, f64)> + '_ {
        let cells = &self.columns[self.starts[row]..self.starts[row + 1]];
        let place = |column: usize| self.starts[row] + cells.partition_point(|&it| (it as usize) < column);
        let range = place(columns.start)..place(columns.end);
        range.map(move |ix| (self.columns[ix] as usize, self.values.as_ref().map_or(1.0, |values| values[ix])))
    }

    /// The stored cells of a row: column index and value.
    pub fn row(&self, row: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let range = self.starts[row]..self.starts[row + 1];
        range.map(move |ix| (self.columns[ix] as usize, self.values.as_ref().map_or(1.0, |values| values[ix])))
    }
}

/// The cells of a batch.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// One array per column of the schema.
    Dense(Vec<ColumnData>),
    /// Non-zero cells only.
    Sparse(SparseRows),
}

/// Some consecutive rows of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Batch {
    /// Zero-based number of its first row in the whole table.
    pub first_row: u64,
    /// Number of rows.
    pub n_rows: usize,
    /// The cells.
    pub block: Block,
    /// Row weights (finite, ≥ 0); `None` when all are 1.
    pub weights: Option<Vec<f64>>,
}

impl Batch {
    /// Bytes that the cells and weights take.
    #[must_use]
    pub fn n_bytes(&self) -> u64 {
        let cells = match &self.block {
            Block::Dense(columns) => columns
                .iter()
                .map(|column| match column {
                    ColumnData::Codes8(codes) => codes.len(),
                    ColumnData::Codes(codes) => size_of_val(codes.as_slice()),
                    ColumnData::Reals(values) => size_of_val(values.as_slice()),
                })
                .sum(),
            Block::Sparse(rows) => {
                let values = rows.values.as_ref().map_or(0, |values| size_of_val(values.as_slice()));
                size_of_val(rows.starts.as_slice()) + size_of_val(rows.columns.as_slice()) + values
            }
        };
        (cells + self.weights.as_ref().map_or(0, |weights| size_of_val(weights.as_slice()))) as u64
    }

    /// Weight of a row.
    #[must_use]
    pub fn weight(&self, row: usize) -> f64 {
        self.weights.as_ref().map_or(1.0, |weights| weights[row])
    }

    /// Row and column of the first cell that is missing.
    #[must_use]
    pub fn first_missing(&self) -> Option<(usize, ColIx)> {
        match &self.block {
            Block::Dense(columns) => (0..self.n_rows).find_map(|row| {
                let column = columns.iter().position(|cells| cells.number(row).is_nan())?;
                Some((row, ColIx::new(column)))
            }),
            Block::Sparse(rows) => {
                let at = rows.values.as_ref()?.iter().position(|value| value.is_nan())?;
                let row = rows.starts.partition_point(|&start| start <= at) - 1;
                Some((row, ColIx::new(rows.columns[at] as usize)))
            }
        }
    }

    /// The cell as a number, codes included; NaN if missing. Slow on sparse rows: for tests and small jobs.
    #[must_use]
    pub fn number(&self, row: usize, column: ColIx) -> f64 {
        match &self.block {
            Block::Dense(columns) => columns[column.get()].number(row),
            Block::Sparse(rows) => rows.row(row).find(|&(ix, _)| ix == column.get()).map_or(0.0, |(_, value)| value),
        }
    }
}
