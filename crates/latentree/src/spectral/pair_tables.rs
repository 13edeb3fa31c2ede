//! The first pass: joint tables of the pairs of variables from which summaries are computed.

use std::sync::Arc;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::labels::Labels;
use crate::coordinates::split;
use crate::data::Batch;
use crate::error::Result;
use crate::moments::Accumulator;
use crate::moments::sums::{from_bytes, mismatch, to_bytes};

/// The pairs to be counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PairPlan {
    pub(super) labels: Labels,
    /// Pairs of variables, sorted, the smaller index first.
    pairs: Vec<(usize, usize)>,
    /// The start of each table.
    starts: Vec<usize>,
}

impl PairPlan {
    pub(super) fn new(labels: Labels, mut pairs: Vec<(usize, usize)>) -> Self {
        pairs.sort_unstable();
        pairs.dedup();
        let mut starts = vec![0];
        for &(a, b) in &pairs {
            starts.push(starts[starts.len() - 1] + (labels.n_labels[a] + 1) * (labels.n_labels[b] + 1));
        }
        Self { labels, pairs, starts }
    }

    /// Number of bytes of the tables.
    pub(super) fn n_bytes(&self) -> u64 {
        8 * self.starts[self.pairs.len()] as u64
    }

    pub(super) fn n_pairs(&self) -> usize {
        self.pairs.len()
    }
}

/// Joint tables of pairs, including missing cells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct PairTables {
    pub(super) plan: Arc<PairPlan>,
    pub(super) weight: f64,
    /// Weight of each label of each variable.
    pub(super) singles: Vec<Vec<f64>>,
    cells: Vec<f64>,
}

impl PairTables {
    pub(super) fn new(plan: Arc<PairPlan>) -> Self {
        let singles = plan.labels.n_labels.iter().map(|&n| vec![0.0; n]).collect();
        Self { weight: 0.0, singles, cells: vec![0.0; plan.starts[plan.pairs.len()]], plan }
    }

    /// Calls `visit` with the weight of each pair of labels that are both present; the label of `a` comes first.
    pub(super) fn each(&self, a: usize, b: usize, mut visit: impl FnMut(usize, usize, f64)) {
        let (first, second) = (a.min(b), a.max(b));
        let place = self.plan.pairs.binary_search(&(first, second)).expect("the pair is counted");
        let (n, m) = (self.plan.labels.n_labels[first], self.plan.labels.n_labels[second]);
        let cells = &self.cells[self.plan.starts[place]..self.plan.starts[place + 1]];
        for (x, row) in cells.chunks_exact(m + 1).take(n).enumerate() {
            for (y, &weight) in row[..m].iter().enumerate() {
                if a == first { visit(x, y, weight) } else { visit(y, x, weight) }
            }
        }
    }

    /// The weights of all pairs of labels of two variables, with the label of `b` varying fastest.
    pub(super) fn table(&self, a: usize, b: usize) -> Vec<f64> {
        let n_labels = &self.plan.labels.n_labels;
        let mut table = vec![0.0; n_labels[a] * n_labels[b]];
        self.each(a, b, |x, y, weight| table[x * n_labels[b] + y] = weight);
        table
    }

    /// Fills the tables of all pairs; for tests with exact moments.
    #[cfg(test)]
    pub(super) fn fill(&mut self, mut table: impl FnMut(usize, usize) -> Vec<Vec<f64>>) {
        let plan = Arc::clone(&self.plan);
        for (place, &(a, b)) in plan.pairs.iter().enumerate() {
            let m = plan.labels.n_labels[b] + 1;
            for (x, row) in table(a, b).into_iter().enumerate() {
                self.cells[plan.starts[place] + x * m..][..row.len()].copy_from_slice(&row);
            }
        }
    }

    /// The share of rows in which a variable is present.
    pub(super) fn share(&self, variable: usize) -> f64 {
        self.singles[variable].iter().sum::<f64>() / self.weight
    }
}

impl Accumulator for PairTables {
    type Output = Self;

    const NAME: &'static str = "spectral-pairs";

    fn observe(&mut self, batch: &Batch) -> Result<()> {
        let plan = Arc::clone(&self.plan);
        let cells = &mut self.cells;
        plan.labels.each_strip(batch, &mut self.singles, &mut self.weight, |codes, weights| {
            let tables = split(cells, &plan.starts);
            tables.into_par_iter().zip(&plan.pairs).for_each(|(table, &(a, b))| {
                let m = plan.labels.n_labels[b] + 1;
                for ((&x, &y), weight) in codes[a].iter().zip(&codes[b]).zip(weights) {
                    table[x as usize * m + y as usize] += weight;
                }
            });
        });
        Ok(())
    }

    fn merge(&mut self, other: Self) -> Result<()> {
        if self.plan != other.plan {
            return Err(mismatch());
        }
        self.weight += other.weight;
        self.cells.iter_mut().zip(&other.cells).for_each(|(own, other)| *own += other);
        crate::moments::sums::add_all(&mut self.singles, &other.singles);
        Ok(())
    }

    fn empty(&self) -> Self {
        Self::new(Arc::clone(&self.plan))
    }

    fn finish(self) -> Result<Self> {
        Ok(self)
    }

    fn to_bytes(&self) -> Result<Vec<u8>> {
        to_bytes(self)
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let read: Self = from_bytes(bytes)?;
        let plan = &read.plan;
        let n_variables = plan.labels.n_labels.len();
        let is_sound = plan.labels.is_sound()
            && plan.pairs.iter().all(|&(a, b)| a < b && b < n_variables)
            && **plan == PairPlan::new(plan.labels.clone(), plan.pairs.clone())
            && read.cells.len() == plan.starts[plan.pairs.len()]
            && read.singles.iter().map(Vec::len).eq(plan.labels.n_labels.iter().copied());
        if is_sound { Ok(read) } else { Err(mismatch()) }
    }
}
