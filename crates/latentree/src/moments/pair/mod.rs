//! First and second moments of all pairs of columns.
//!
//! Each row becomes a feature vector φ: the constant 1; for each column its value features — binary: x; categorical: one-hot;
//! continuous and count: x − s and, if asked, (x − s)², with s fixed by the first batch to avoid cancellation — and one
//! *missing indicator* for each column that has shown a missing cell. A missing cell has value features 0. The accumulator is
//! the Gram matrix G = Σ w φ φᵀ over rows of weight w, from which everything pairwise-complete follows. With c the constant,
//! m_i the indicator of column i:
//!
//! - weight of rows where i and j are present: n_ij = G\[c,c\] − G\[c,m_i\] − G\[c,m_j\] + G\[m_i,m_j\];
//! - Σ w x_i where j is present: G\[c,x_i\] − G\[x_i,m_j\];
//! - Σ w x_i x_j where both are present: G\[x_i,x_j\];
//! - Σ w x_i² of numbers where j is present: G\[x_i,x_i\] less a sum over the rows where j is missing (see `squares`).
//!
//! An indicator was 0 in all rows before its column's first missing cell, so it can be appended late and nothing has to be
//! redone. G is a packed lower triangle, cell (i ≥ j) at i(i+1)/2 + j: appended features append rows. Cells are 32-bit counts
//! while all features are 0/1 and rows have no weights, 64-bit floating-point sums after. Columns with very many labels are
//! kept in sparse tables instead.

mod bytes;
mod cells;
mod features;
mod kernel;
mod layout;
mod merge;
mod read;
mod squares;
mod wide;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use cells::Cells;
use features::{View, survey};
use kernel::Kernel;
use layout::Layout;
use squares::Squares;
use wide::WideTables;

use super::Accumulator;
use super::accumulator::{Sums, not_plain};
use crate::data::{Batch, Schema, WeightKind};
use crate::error::Result;
use crate::index::ColIx;
use crate::memory::MemoryBudget;

/// Settings of [`PairMoments`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PairOptions {
    degree: usize,
    wide_levels: usize,
    pub(crate) memory_limit: u64,
}

impl Default for PairOptions {
    fn default() -> Self {
        Self { degree: 1, wide_levels: 1024, memory_limit: MemoryBudget::of_machine().bytes() }
    }
}

impl PairOptions {
    /// Highest power of numeric columns among the features: 1 (default) or 2.
    #[must_use]
    pub fn degree(mut self, degree: usize) -> Self {
        self.degree = degree;
        self
    }

    /// Categorical columns with more labels than this (default 1024) are kept in sparse tables.
    #[must_use]
    pub fn wide_levels(mut self, wide_levels: usize) -> Self {
        self.wide_levels = wide_levels;
        self
    }

    /// Bytes that the moments may take (default: that of [`MemoryBudget::of_machine`]); more is refused before it is allocated.
    #[must_use]
    pub fn memory_limit(mut self, memory_limit: u64) -> Self {
        self.memory_limit = memory_limit;
        self
    }
}

/// First and second moments of all pairs of columns, pairwise complete; see the [module](crate::moments) for how it is used.
#[derive(Debug, Clone)]
pub struct PairMoments {
    layout: Layout,
    memory_limit: u64,
    n_rows: u64,
    weight_squares: f64,
    /// Shift of each column; `None` for discrete columns and while no number has been seen.
    shifts: Vec<Option<f64>>,
    cells: Cells,
    wide: WideTables,
    /// Sums of squares beside missing cells; `None` if the moments are of a file that lacks them.
    squares: Option<Squares>,
    /// Variance of the noise of a count, if the moments are private. It is not part of the bytes.
    noise: f64,
    /// What a unit of each column's noise is: 1 for labels, half of the range for numbers; empty without noise.
    noise_units: Vec<f64>,
}

impl PairMoments {
    /// Moments of no rows yet, with default settings.
    ///
    /// # Errors
    /// [`Error::Option`](crate::Error::Option) if they would not fit the memory limit.
    pub fn new(schema: Arc<Schema>) -> Result<Self> {
        Self::with_options(schema, PairOptions::default())
    }

    /// Moments of no rows yet.
    ///
    /// # Errors
    /// [`Error::Option`](crate::Error::Option) if an option is out of range or the moments would not fit the memory limit.
    ///
    /// # Complexity
    /// Memory is n(n+1)/2 cells of 4 bytes (8 with numeric columns or weights) for n features.
    pub fn with_options(schema: Arc<Schema>, options: PairOptions) -> Result<Self> {
        let layout = Layout::new(schema, &options)?;
        Self::with_layout(layout, options.memory_limit)
    }

    /// Bytes that the sums take.
    #[must_use]
    pub fn size_in_memory(&self) -> u64 {
        let n = self.layout.n_features() as u64;
        n * (n + 1) / 2 * self.cells.cell_bytes() + self.wide.bytes() + self.squares.as_ref().map_or(0, |it| it.len() as u64 * 8)
    }

    /// The moments as if the rows' weights had been scaled to mean what `kind` says; see [`WeightKind`].
    ///
    /// Sums of weights as they are given can be merged, scaled ones cannot: moments are scaled when they are learned from. With
    /// [`WeightKind::ByValue`] weights are taken for frequencies if their sum and the sum of their squares are whole numbers.
    #[must_use]
    pub fn scaled(mut self, kind: WeightKind) -> Self {
        let total = self.total_weight();
        let is_frequency = match kind {
            WeightKind::Frequency => true,
            WeightKind::Sampling => false,
            WeightKind::ByValue => total.fract() == 0.0 && self.weight_squares.fract() == 0.0,
        };
        if is_frequency {
            return self.of_frequencies();
        }
        let factor = self.n_rows as f64 / total;
        if factor == 1.0 || !factor.is_normal() {
            return self;
        }
        if let Cells::Sums(cells) = &mut self.cells {
            cells.iter_mut().for_each(|cell| *cell *= factor);
        }
        self.wide.scale(factor);
        self.squares.iter_mut().for_each(|squares| squares.scale(factor));
        self.weight_squares *= factor * factor;
        self
    }

    /// The moments of weights that are frequencies: a row of weight w is w rows, and tells as much.
    pub(crate) fn of_frequencies(mut self) -> Self {
        self.weight_squares = self.total_weight();
        self
    }

    fn with_layout(layout: Layout, memory_limit: u64) -> Result<Self> {
        layout.check_memory(0, if layout.has_numbers { 8 } else { 4 }, 0, memory_limit)?;
        let cells = Cells::new(layout.has_numbers, layout.n_features());
        let shifts = vec![None; layout.columns.len()];
        let wide = WideTables::new(layout.wide.len());
        let squares = Some(Squares::new(&layout));
        Ok(Self {
            layout,
            memory_limit,
            n_rows: 0,
            weight_squares: 0.0,
            shifts,
            cells,
            wide,
            squares,
            noise: 0.0,
            noise_units: Vec::new(),
        })
    }

    /// Moments of complete rows from cells with noise of this variance.
    pub(crate) fn from_noisy(
        schema: Arc<Schema>,
        rows: f64,
        shifts: Vec<Option<f64>>,
        cells: Vec<f64>,
        noise: (f64, Vec<f64>),
    ) -> Result<Self> {
        let mut moments = Self::new(schema)?;
        (moments.n_rows, moments.weight_squares) = (rows.round() as u64, rows);
        (moments.shifts, moments.cells) = (shifts, Cells::Sums(cells));
        (moments.noise, moments.noise_units) = noise;
        Ok(moments)
    }

    /// The same moments with other noise of the same size added: what the release would be like if the noise were drawn again.
    pub(crate) fn with_more_noise(&self, mut draw: impl FnMut() -> f64) -> Self {
        let mut moments = self.clone();
        let deviation = self.noise.sqrt();
        if let Cells::Sums(cells) = &mut moments.cells {
            let mut units = vec![1.0];
            units.extend(self.layout.columns.iter().zip(&self.noise_units).flat_map(|(it, &unit)| vec![unit; it.n_features]));
            let pairs = (0..units.len()).flat_map(|i| (0..=i).map(move |j| (i, j)));
            cells.iter_mut().zip(pairs).for_each(|(cell, (i, j))| *cell += deviation * units[i] * units[j] * draw());
        }
        // x² = x.
        for column in &self.layout.columns {
            if column.map == layout::Map::Binary {
                let single = moments.cells.get(layout::cell(column.start, 0));
                moments.cells.set(layout::cell(column.start, column.start), single);
            }
        }
        moments.noise = 2.0 * self.noise;
        moments
    }

    /// Whether the moments have noise.
    pub(crate) fn has_noise(&self) -> bool {
        self.noise > 0.0
    }

    /// The standard deviation of a column; of more than two labels, that of an indicator on average.
    pub(crate) fn noise_deviation(&self, column: ColIx) -> f64 {
        let mean = |sum: f64, n: usize| (sum / n.max(1) as f64).max(0.0).sqrt();
        match self.variance(column) {
            Some(variance) => variance.sqrt(),
            None => {
                let (n, total) = (self.n_features(column), self.total_weight().max(1.0));
                let shares = self.level_weights(column).unwrap_or_default().into_iter().map(|weight| weight / total);
                mean(shares.map(|p| p * (1.0 - p)).sum(), n.saturating_sub(1))
            }
        }
    }

    /// Variance of the noise of the correlation of two columns of these standard deviations, in units of its sampling variance for
    /// independent columns: 0 unless the moments are private. One plus this is the factor by which rows tell less.
    pub(crate) fn noise_ratio(&self, left: ColIx, right: ColIx, deviations: (f64, f64)) -> f64 {
        if self.noise <= 0.0 {
            return 0.0;
        }
        let unit = |column: ColIx, deviation: f64| (self.noise_units[column.get()] / deviation.max(f64::MIN_POSITIVE)).powi(2);
        self.noise * unit(left, deviations.0) * unit(right, deviations.1) / self.total_weight().max(1.0)
    }

    /// Adds a batch with a kernel of choice instead of the one its content suggests.
    fn observe_with(&mut self, batch: &Batch, kernel: Option<Kernel>) -> Result<()> {
        if batch.n_rows == 0 {
            return Ok(());
        }
        let survey = survey(batch, &self.layout, &self.shifts)?;
        let new: Vec<usize> = survey.missing.iter().copied().filter(|&ix| self.layout.columns[ix].missing().is_none()).collect();
        let promote = survey.weighted || self.n_rows + batch.n_rows as u64 > u64::from(u32::MAX);
        let bytes = if promote { 8 } else { self.cells.cell_bytes() };
        self.layout.check_memory(new.len(), bytes, self.wide.bytes(), self.memory_limit)?;
        let mut shifts = self.shifts.clone();
        survey.shifts.iter().for_each(|&(ix, shift)| shifts[ix] = Some(shift));
        let mut layout = self.layout.clone();
        new.iter().for_each(|&ix| layout.append_missing(ix));
        let view = View { batch, layout: &layout, shifts: &shifts, survey: &survey };
        layout.check_memory(0, bytes, self.wide.bytes() + self.wide.most_bytes(&view), self.memory_limit)?;
        // Everything that can fail has been tried: from here on the moments change.
        if promote {
            self.cells.promote();
        }
        self.cells.grow(layout.n_features());
        let counting = matches!(self.cells, Cells::Counts(_));
        let kernel = kernel.unwrap_or_else(|| Kernel::choose(survey.nonzeros, batch.n_rows, layout.n_features(), counting));
        match &mut self.cells {
            Cells::Counts(cells) => kernel::add(cells, &view, kernel),
            Cells::Sums(cells) => kernel::add(cells, &view, kernel),
        }
        if !layout.wide.is_empty() {
            self.wide.observe(&view);
        }
        if let Some(squares) = &mut self.squares {
            squares.observe(&view);
        }
        self.weight_squares += match view.weights() {
            None => batch.n_rows as f64,
            Some(weights) => weights.iter().map(|weight| weight * weight).sum(),
        };
        self.n_rows += match view.weights() {
            None => batch.n_rows as u64,
            Some(weights) => weights.iter().filter(|&&weight| weight > 0.0).count() as u64,
        };
        (self.layout, self.shifts) = (layout, shifts);
        Ok(())
    }
}

impl Accumulator for PairMoments {
    type Output = Self;

    const NAME: &'static str = "pair-moments";

    fn observe(&mut self, batch: &Batch) -> Result<()> {
        self.observe_with(batch, None)
    }

    fn merge(&mut self, other: Self) -> Result<()> {
        merge::merge(self, other)
    }

    fn empty(&self) -> Self {
        let layout = self.layout.without_missing();
        Self::with_layout(layout, self.memory_limit).expect("moments of no rows take no more memory than these")
    }

    fn align(&mut self) -> Result<()> {
        let new: Vec<usize> = (0..self.layout.columns.len()).filter(|&ix| self.layout.columns[ix].missing().is_none()).collect();
        self.layout.check_memory(new.len(), self.cells.cell_bytes(), self.wide.bytes(), self.memory_limit)?;
        new.into_iter().for_each(|column| self.layout.append_missing(column));
        self.cells.grow(self.layout.n_features());
        self.squares.iter_mut().for_each(|squares| squares.grow(&self.layout));
        // Bytes have the indicators in the order of columns.
        *self = Self::from_bytes(&self.to_bytes()?)?;
        Ok(())
    }

    fn visit_sums(&mut self, visit: &mut dyn FnMut(Sums<'_>)) -> Result<()> {
        if self.layout.has_numbers || !self.layout.wide.is_empty() {
            return Err(not_plain(Self::NAME, "has columns of numbers or of very many labels"));
        }
        visit(Sums::LongCounts(std::slice::from_mut(&mut self.n_rows)));
        visit(Sums::Weights(std::slice::from_mut(&mut self.weight_squares)));
        visit(match &mut self.cells {
            Cells::Counts(cells) => Sums::Counts(cells),
            Cells::Sums(cells) => Sums::Weights(cells),
        });
        Ok(())
    }

    fn finish(self) -> Result<Self> {
        Ok(self)
    }

    fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.write_to(&mut bytes)?;
        Ok(bytes)
    }

    fn from_bytes(mut bytes: &[u8]) -> Result<Self> {
        let moments = Self::read_from(&mut bytes, PairOptions::default().memory_limit)?;
        bytes::check_end(&mut bytes)?;
        Ok(moments)
    }
}
