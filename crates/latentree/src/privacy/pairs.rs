//! A private pass: noisy counts of pairs of columns.
//!
//! The features of a row are 1, binary columns x, indicators of labels, and numbers z between −1 and 1 in steps of 2⁻¹⁰. A
//! cell is the sum of products of two features. Cells implied by others are not released: x² = x, and two labels of a column
//! never occur together. With d labels or items and c numbers, a row changes 1 + (d + c) + d(d − 1)/2 + dc + c(c + 1)/2 cells
//! by at most 1.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Bounds, Noised, Privacy, draws};
use crate::data::{Batch, Kind, Schema};
use crate::error::{Error, Place, Result};
use crate::moments::sums::{from_bytes, mismatch, to_bytes};
use crate::moments::{Accumulator, PairMoments, Sums};

/// Number of steps between 0 and 1 for a number.
const STEPS: f64 = 1024.0;

/// Counts of a binary column below this many standard deviations of the noise count as noise.
const LEAST_COUNT: f64 = 4.0;

/// What is counted, and how much noise is added.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Plan {
    schema: Schema,
    bounds: Bounds,
    /// Standard deviation of each site's noise, in rows.
    sigma: f64,
}

impl Plan {
    /// The first feature of each column, and the total number of features at the end. Feature 0 is the constant.
    fn starts(&self) -> Vec<usize> {
        let mut starts = vec![1];
        for column in self.schema.columns() {
            let n = if let Kind::Categorical { labels } = &column.kind { labels.len() } else { 1 };
            starts.push(starts[starts.len() - 1] + n);
        }
        starts
    }

    /// Δ², the squared sensitivity.
    fn squared_sensitivity(&self) -> f64 {
        let n = |is_kind: fn(&Kind) -> bool| self.schema.columns().iter().filter(|column| is_kind(&column.kind)).count();
        let d = (self.bounds.max_items + n(|kind| matches!(kind, Kind::Categorical { .. }))) as f64;
        let c = n(|kind| kind.labels().is_none()) as f64;
        1.0 + d + c + d * (d - 1.0) / 2.0 + d * c + c * (c + 1.0) / 2.0
    }

    /// Units per row in a cell.
    fn unit(&self) -> f64 {
        if self.schema.columns().iter().any(|column| column.kind.labels().is_none()) { STEPS } else { 1.0 }
    }
}

/// Counts of pairs of columns of clipped rows, with noise after [`add_noise`](Noised::add_noise).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PrivatePairs {
    plan: Arc<Plan>,
    /// The lower triangle of all products of features, packed by rows; cells implied by others are 0.
    cells: Vec<i64>,
    /// Number of sites whose noise is included in the cells.
    noises: u64,
    /// Number of rows that were clipped. Never leaves a site.
    cut: u64,
}

impl PrivatePairs {
    /// Starts without rows; each site answers at the cost `rho`.
    ///
    /// # Errors
    /// The same as for [`Privacy::check`].
    pub fn new(schema: &Schema, privacy: &Privacy, rho: f64) -> Result<Self> {
        privacy.check(schema)?;
        let bounds = Bounds::new(schema, privacy);
        let mut plan = Plan { schema: schema.clone(), bounds, sigma: 0.0 };
        plan.sigma = (plan.squared_sensitivity() / (2.0 * rho)).sqrt();
        Ok(Self::with(Arc::new(plan)))
    }

    fn with(plan: Arc<Plan>) -> Self {
        let n = plan.starts().last().copied().unwrap_or(1);
        Self { plan, cells: vec![0; n * (n + 1) / 2], noises: 0, cut: 0 }
    }

    /// The standard deviation of the noise of a count, summed over all sites.
    #[must_use]
    pub fn noise(&self) -> f64 {
        self.plan.sigma * (self.noises as f64).sqrt()
    }

    /// The column of each feature, `None` for the constant.
    fn columns(&self) -> Vec<Option<usize>> {
        let starts = self.plan.starts();
        let of = |ix: usize| (starts[ix]..starts[ix + 1]).map(move |_| Some(ix));
        std::iter::once(None).chain((0..starts.len() - 1).flat_map(of)).collect()
    }

    /// Returns whether the product of two features is released. The other products are implied by released ones.
    fn is_released(&self, columns: &[Option<usize>], i: usize, j: usize) -> bool {
        columns[i] != columns[j] || columns[i].is_none_or(|column| self.plan.bounds.ranges[column].is_some())
    }

    /// The binary columns whose counts are lost in the noise.
    #[must_use]
    pub fn lost(&self) -> Vec<usize> {
        let (starts, unit) = (self.plan.starts(), self.plan.unit());
        let least = LEAST_COUNT * self.noise().max(0.25);
        let count = |column: usize| {
            let feature = starts[column];
            self.cells[feature * (feature + 1) / 2] as f64 / (unit * unit)
        };
        let is_lost = |ix: &usize| matches!(self.plan.schema.columns()[*ix].kind, Kind::Binary { .. }) && count(*ix) < least;
        (0..self.plan.schema.columns().len()).filter(is_lost).collect()
    }

    /// The moments; their standard errors include the noise.
    ///
    /// # Errors
    /// [`Error::Data`] if no row is left after the noise.
    pub fn moments(&self) -> Result<PairMoments> {
        let columns = self.columns();
        let unit = self.plan.unit();
        let half =
            |ix: usize| columns[ix].and_then(|column| self.plan.bounds.ranges[column]).map_or(1.0, |it| (it.1 - it.0) / 2.0);
        let at = |i: usize, j: usize| {
            let cell = |i: usize, j: usize| self.cells[i * (i + 1) / 2 + j] as f64 / (unit * unit);
            let value = match () {
                () if self.is_released(&columns, i, j) => cell(i, j),
                // x² = x, and two labels of a column never occur together.
                () if i == j => cell(i, 0),
                () => 0.0,
            };
            value * half(i) * half(j)
        };
        let rows = at(0, 0);
        if rows < 1.0 {
            return Err(Error::data(Place::default(), "after the noise there is no row left; use more rows or a larger budget"));
        }
        // A column rarer than the noise carries no information about others; it is treated as rare and independent.
        let lost = self.lost();
        let known: Vec<bool> = columns.iter().map(|column| column.is_none_or(|column| !lost.contains(&column))).collect();
        let single = |ix: usize| if known[ix] { at(ix, 0) } else { at(ix, 0).max(self.noise().max(1.0) / 2.0) };
        let is_number = |ix: usize| columns[ix].is_some_and(|column| self.plan.bounds.ranges[column].is_some());
        let possible = |i: usize, j: usize| match () {
            () if (j == 0 || i == j) && !known[i] => single(i),
            () if !(known[i] && known[j]) => single(i) * single(j) / rows,
            () if i == 0 || is_number(i) || is_number(j) => at(i, j),
            // A joint count lies between the overlap that the two counts force and the smaller of them.
            () => {
                let most = at(i, 0).min(at(j, 0)).clamp(0.0, rows);
                at(i, j).clamp((at(i, 0) + at(j, 0) - rows).clamp(0.0, most), most)
            }
        };
        let shifts = self.plan.bounds.ranges.iter().map(|range| range.map(|it| f64::midpoint(it.0, it.1))).collect();
        let units = self.plan.bounds.ranges.iter().map(|range| range.map_or(1.0, |it| (it.1 - it.0) / 2.0)).collect();
        let cells = (0..columns.len()).flat_map(|i| (0..=i).map(move |j| (i, j))).map(|(i, j)| possible(i, j)).collect();
        PairMoments::from_noisy(Arc::new(self.plan.schema.clone()), rows, shifts, cells, (self.noise().powi(2), units))
    }
}

impl Noised for PrivatePairs {
    fn cost(&self) -> f64 {
        self.plan.squared_sensitivity() / (2.0 * self.plan.sigma.powi(2))
    }

    fn add_noise(&mut self) -> Result<u64> {
        let columns = self.columns();
        let released: Vec<usize> = (0..columns.len())
            .flat_map(|i| (0..=i).map(move |j| (i, j)))
            .enumerate()
            .filter(|(_, (i, j))| self.is_released(&columns, *i, *j))
            .map(|(at, _)| at)
            .collect();
        let scale = self.plan.sigma * self.plan.unit().powi(2);
        for (at, noise) in released.iter().zip(draws(scale, released.len())?) {
            self.cells[*at] = self.cells[*at].wrapping_add(noise);
        }
        self.noises += 1;
        Ok(std::mem::take(&mut self.cut))
    }
}

impl Accumulator for PrivatePairs {
    type Output = PairMoments;

    const NAME: &'static str = "private-pairs";

    fn observe(&mut self, batch: &Batch) -> Result<()> {
        if batch.weights.is_some() {
            return Err(Error::option("read.weights", "private runs take rows without weights"));
        }
        let plan = Arc::clone(&self.plan);
        let (starts, unit) = (plan.starts(), plan.unit());
        let mut values = vec![0.0; plan.schema.columns().len()];
        let mut features: Vec<(usize, i64, usize)> = Vec::new();
        for row in 0..batch.n_rows {
            self.cut += u64::from(plan.bounds.cut_row(&plan.schema, batch, row, &mut values));
            features.clear();
            features.push((0, unit as i64, usize::MAX));
            for (column, &value) in values.iter().enumerate() {
                match &plan.schema.columns()[column].kind {
                    Kind::Binary { .. } if value == 1.0 => features.push((starts[column], unit as i64, column)),
                    Kind::Binary { .. } => {}
                    Kind::Categorical { .. } => features.push((starts[column] + value as usize, unit as i64, column)),
                    // Truncated towards 0, so that no product exceeds 1.
                    _ => features.push((starts[column], (value * STEPS).trunc() as i64, column)),
                }
            }
            for (ix, &(i, x, a)) in features.iter().enumerate() {
                for &(j, y, b) in &features[..=ix] {
                    let is_number = a < usize::MAX && plan.bounds.ranges[a].is_some();
                    if a != b || a == usize::MAX || is_number {
                        self.cells[i * (i + 1) / 2 + j] += x * y;
                    }
                }
            }
        }
        Ok(())
    }

    fn merge(&mut self, other: Self) -> Result<()> {
        if self.plan != other.plan {
            return Err(mismatch());
        }
        self.cells.iter_mut().zip(&other.cells).for_each(|(own, other)| *own += other);
        self.noises += other.noises;
        self.cut += other.cut;
        Ok(())
    }

    fn empty(&self) -> Self {
        Self::with(Arc::clone(&self.plan))
    }

    fn visit_sums(&mut self, visit: &mut dyn FnMut(Sums<'_>)) -> Result<()> {
        visit(Sums::LongCounts(std::slice::from_mut(&mut self.noises)));
        visit(Sums::Noisy(&mut self.cells));
        Ok(())
    }

    fn finish(self) -> Result<PairMoments> {
        self.moments()
    }

    fn to_bytes(&self) -> Result<Vec<u8>> {
        to_bytes(self)
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let pairs: Self = from_bytes(bytes)?;
        let (n, plan) = (pairs.plan.starts().last().copied().unwrap_or(1), &pairs.plan);
        let fits = plan.bounds.ranges.len() == plan.schema.columns().len()
            && plan
                .schema
                .columns()
                .iter()
                .zip(&plan.bounds.ranges)
                .all(|(it, range)| it.kind.labels().is_none() == range.is_some());
        if !fits || pairs.cells.len() != n * (n + 1) / 2 || !(plan.sigma > 0.0 && plan.sigma.is_finite()) {
            return Err(Error::format(Place::default(), "private pairs", "cells, columns and noise do not fit together"));
        }
        Ok(pairs)
    }
}
