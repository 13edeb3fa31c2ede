//! The cells of the packed triangle.

use super::layout::row_start;

/// The packed lower triangle: counts while all that is counted are rows, else sums.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cells {
    /// Numbers of rows.
    Counts(Vec<u32>),
    /// Weighted sums of products.
    Sums(Vec<f64>),
}

impl Cells {
    /// Zeros for `n_features` features.
    pub(super) fn new(sums: bool, n_features: usize) -> Self {
        let n = row_start(n_features);
        if sums { Self::Sums(vec![0.0; n]) } else { Self::Counts(vec![0; n]) }
    }

    /// Bytes of a cell.
    pub(super) fn cell_bytes(&self) -> u64 {
        match self {
            Self::Counts(_) => 4,
            Self::Sums(_) => 8,
        }
    }

    /// One cell.
    #[inline]
    pub(super) fn get(&self, ix: usize) -> f64 {
        match self {
            Self::Counts(cells) => f64::from(cells[ix]),
            Self::Sums(cells) => cells[ix],
        }
    }

    /// Replaces one cell; a count must be whole.
    pub(super) fn set(&mut self, ix: usize, value: f64) {
        match self {
            Self::Counts(cells) => cells[ix] = value as u32,
            Self::Sums(cells) => cells[ix] = value,
        }
    }

    /// Turns counts into sums.
    pub(super) fn promote(&mut self) {
        if let Self::Counts(cells) = self {
            *self = Self::Sums(cells.iter().map(|&count| f64::from(count)).collect());
        }
    }

    /// Appends rows of zeros up to `n_features` features.
    pub(super) fn grow(&mut self, n_features: usize) {
        let n = row_start(n_features);
        // Exactly as much as needed: the doubling of a growing vector could double the memory of the whole pass.
        match self {
            Self::Counts(cells) => {
                cells.reserve_exact(n - cells.len());
                cells.resize(n, 0);
            }
            Self::Sums(cells) => {
                cells.reserve_exact(n - cells.len());
                cells.resize(n, 0.0);
            }
        }
    }
}
