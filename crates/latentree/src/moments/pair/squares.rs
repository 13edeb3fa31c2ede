//! Sums of squares of numbers over the rows where another column is missing.
//!
//! The triangle has Σ w x_i² over all rows where column i is present. For the variance of i over the rows where j is present, too,
//! the rows where j is missing must be taken off: Σ w x_i² m_j, for every numeric column i and every column j that has shown a
//! missing cell. These sums are 0 until j's first missing cell, so they are appended as late as its indicator. Features x² in the
//! triangle would have them as well, at four times its size.

use super::features::View;
use super::layout::{Layout, Map};

/// Rows that are looked at together.
const ROWS: usize = 256;
/// Marks a feature that is not the value of a numeric column.
const NONE: u32 = u32::MAX;

/// The sums, by missing indicator in the order of the layout, then by numeric column.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Squares {
    n_numbers: usize,
    sums: Vec<f64>,
}

impl Squares {
    /// Sums that are all 0.
    pub(super) fn new(layout: &Layout) -> Self {
        let n_numbers = if layout.degree == 1 { layout.numbers.len() } else { 0 };
        Self { n_numbers, sums: vec![0.0; n_numbers * layout.missing.len()] }
    }

    /// Sums that were read.
    pub(super) fn from_sums(layout: &Layout, sums: Vec<f64>) -> Self {
        Self { sums, ..Self::new(layout) }
    }

    /// Appends zeros for new missing indicators.
    pub(super) fn grow(&mut self, layout: &Layout) {
        self.sums.resize(self.n_numbers * layout.missing.len(), 0.0);
    }

    /// Number of sums.
    pub(super) fn len(&self) -> usize {
        self.sums.len()
    }

    /// The sums of one missing indicator.
    pub(super) fn of_slot(&self, slot: usize) -> &[f64] {
        &self.sums[slot * self.n_numbers..(slot + 1) * self.n_numbers]
    }

    /// Σ w x² of a numeric column over the rows where the indicator is 1.
    pub(super) fn get(&self, number: usize, slot: usize) -> f64 {
        self.sums[slot * self.n_numbers + number]
    }

    pub(super) fn scale(&mut self, factor: f64) {
        self.sums.iter_mut().for_each(|sum| *sum *= factor);
    }

    /// Adds to the sums of a numeric column: `more` gives what, by indicator.
    pub(super) fn add_to_number(&mut self, number: usize, more: impl Fn(usize) -> f64) {
        let n_numbers = self.n_numbers.max(1);
        for (slot, sums) in self.sums.chunks_exact_mut(n_numbers).enumerate() {
            sums[number] += more(slot);
        }
    }

    /// Adds the sums of another layout of the same columns.
    pub(super) fn add(&mut self, own: &Layout, other: &Self, theirs: &Layout) {
        if self.n_numbers == 0 {
            return;
        }
        for (slot, &column) in theirs.missing.iter().enumerate() {
            let Some(mine) = own.missing_slot(column) else { continue };
            let sums = &mut self.sums[mine * self.n_numbers..(mine + 1) * self.n_numbers];
            sums.iter_mut().zip(other.of_slot(slot)).for_each(|(own, other)| *own += other);
        }
    }

    /// Adds the rows of a batch, in their order.
    pub(super) fn observe(&mut self, view: &View<'_>) {
        self.grow(view.layout);
        if self.n_numbers == 0 || view.survey.missing.is_empty() {
            return;
        }
        let layout = view.layout;
        let mut number_at = vec![NONE; layout.n_values];
        for (number, &column) in layout.numbers.iter().enumerate() {
            number_at[layout.columns[column].start] = number as u32;
        }
        let weights = view.weights();
        let mut squares: Vec<Vec<(usize, f64)>> = vec![Vec::new(); ROWS];
        let mut missing: Vec<Vec<usize>> = vec![Vec::new(); ROWS];
        for start in (0..view.batch.n_rows).step_by(ROWS) {
            let rows = start..view.batch.n_rows.min(start + ROWS);
            let is_other = |column: usize| layout.columns[column].map != Map::Powers;
            view.visit_except(is_other, rows.clone(), &mut |row, position, value| {
                if let Some(slot) = position.checked_sub(layout.n_values) {
                    missing[row].push(slot);
                } else if number_at[position] != NONE {
                    squares[row].push((number_at[position] as usize, value * value));
                }
            });
            for (offset, row) in rows.enumerate() {
                let weight = weights.map_or(1.0, |weights| weights[row]);
                for slot in missing[offset].drain(..) {
                    let sums = &mut self.sums[slot * self.n_numbers..(slot + 1) * self.n_numbers];
                    squares[offset].iter().for_each(|&(number, square)| sums[number] += weight * square);
                }
                squares[offset].clear();
            }
        }
    }
}
