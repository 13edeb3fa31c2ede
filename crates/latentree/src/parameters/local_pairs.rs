//! A pass over the rows: second moments of the coordinates around every hidden node.

use std::sync::Arc;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::branches::Views;
use crate::coordinates::Coordinates;
use crate::data::Batch;
use crate::error::Result;
use crate::moments::sums::{add_all, from_bytes, mismatch, to_bytes};
use crate::moments::{Accumulator, Sums};

/// Coordinates written at once.
const MAX_NUMBERS: usize = 1 << 19;

/// What is looked at.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Plan {
    pub(super) coordinates: Arc<Coordinates>,
    pub(super) views: Vec<Views>,
}

impl Plan {
    /// Calls `each` with the coordinates of strips of rows and the rows' range.
    pub(super) fn strips(&self, batch: &Batch, mut each: impl FnMut(&[f64], std::ops::Range<usize>)) {
        let strip = (MAX_NUMBERS / self.coordinates.len().max(1)).clamp(64, 4096);
        let mut numbers = Vec::new();
        for first in (0..batch.n_rows).step_by(strip) {
            let rows = first..(first + strip).min(batch.n_rows);
            self.coordinates.fill(batch, rows.clone(), &mut numbers);
            each(&numbers, rows);
        }
    }
}

/// Second moments of the coordinates of every hidden node's views, those of the first view first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct LocalPairs {
    plan: Arc<Plan>,
    pub(super) weight: f64,
    /// Lower triangles, row by row, as full squares.
    pub(super) grams: Vec<Vec<f64>>,
}

impl LocalPairs {
    pub(super) fn new(plan: Arc<Plan>) -> Self {
        let grams = plan.views.iter().map(|views| vec![0.0; views.len() * views.len()]).collect();
        Self { plan, weight: 0.0, grams }
    }
}

impl Accumulator for LocalPairs {
    /// Full symmetric second moments, divided by the weight.
    type Output = Vec<Vec<f64>>;

    const NAME: &'static str = "local-pairs";

    fn observe(&mut self, batch: &Batch) -> Result<()> {
        let plan = Arc::clone(&self.plan);
        let n = plan.coordinates.len();
        plan.strips(batch, |numbers, rows| {
            self.grams.par_iter_mut().zip(&plan.views).for_each(|(gram, views)| {
                let places: Vec<usize> = views.coordinates.iter().flatten().copied().collect();
                let d = places.len();
                let mut local = vec![0.0; d];
                for (row, numbers) in rows.clone().zip(numbers.chunks_exact(n.max(1))) {
                    let weight = batch.weight(row);
                    local.iter_mut().zip(&places).for_each(|(out, &place)| *out = numbers[place]);
                    for i in 0..d {
                        let factor = weight * local[i];
                        if factor != 0.0 {
                            let cells = &mut gram[i * d..i * d + i + 1];
                            cells.iter_mut().zip(&local).for_each(|(cell, value)| *cell += factor * value);
                        }
                    }
                }
            });
        });
        self.weight += (0..batch.n_rows).map(|row| batch.weight(row)).sum::<f64>();
        Ok(())
    }

    fn merge(&mut self, other: Self) -> Result<()> {
        if self.plan != other.plan {
            return Err(mismatch());
        }
        self.weight += other.weight;
        add_all(&mut self.grams, &other.grams);
        Ok(())
    }

    fn empty(&self) -> Self {
        Self::new(Arc::clone(&self.plan))
    }

    fn visit_sums(&mut self, visit: &mut dyn FnMut(Sums<'_>)) -> Result<()> {
        visit(Sums::Weights(std::slice::from_mut(&mut self.weight)));
        self.grams.iter_mut().for_each(|gram| visit(Sums::Reals(gram)));
        Ok(())
    }

    fn finish(mut self) -> Result<Self::Output> {
        let weight = self.weight.max(f64::MIN_POSITIVE);
        for (gram, views) in self.grams.iter_mut().zip(&self.plan.views) {
            let d = views.len();
            for i in 0..d {
                for j in 0..=i {
                    gram[i * d + j] /= weight;
                    gram[j * d + i] = gram[i * d + j];
                }
            }
        }
        Ok(self.grams)
    }

    fn to_bytes(&self) -> Result<Vec<u8>> {
        to_bytes(self)
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        from_bytes(bytes)
    }
}
