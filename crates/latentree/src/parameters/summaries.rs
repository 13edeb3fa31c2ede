//! A pass over the rows: moments of the summaries of every hidden node's views.
//!
//! Each part of the branches of a hidden node of k states is summarised by k − 1 numbers. With `a = (1, s₁, s₂, …)` of all parts,
//! and `t_v` the sum over the parts of view v, the pass collects, for each hidden node, `E[a aᵀ]`, `E[(1,t₁) ⊗ (1,t₂) ⊗ (1,t₃)]`
//! and the same of a view and two parts of another; for each edge of hidden nodes `E[a_h a_gᵀ]`; and for each observed neighbour
//! y `E[φ_y aᵀ]` with φ the indicators of its labels, or `(1, z, z²)` of a number (`(1, z)` of a count), all zero where it is
//! missing.

use std::collections::BTreeMap;
use std::sync::Arc;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::local_pairs::Plan;
use crate::coordinates::{column_numbers, split};
use crate::data::{Batch, Block};
use crate::error::Result;
use crate::moments::sums::{add_all, from_bytes, mismatch, to_bytes};
use crate::moments::{Accumulator, Sums};

/// Ranges of columns whose sparse cells are added at once.
const COLUMN_RANGES: usize = 8;

/// A column as the features whose moments are collected: indicators of its labels, or `(1, z, z²)` of a standardised number.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct Features {
    pub(super) column: usize,
    /// Labels, or 0 for a number.
    pub(super) n_labels: usize,
    /// Whether a number's square is one of them: a count's rate needs none.
    pub(super) squared: bool,
    pub(super) mean: f64,
    pub(super) scale: f64,
}

impl Features {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        match (self.n_labels, self.squared) {
            (0, true) => 3,
            (0, false) => 2,
            (labels, _) => labels,
        }
    }

    /// Adds `w (φ(value) − φ(0)) aᵀ`, or `−w φ(0) aᵀ` if the value is missing.
    fn add_beyond_zero(&self, value: f64, weight: f64, a: &[f64], sum: &mut [f64]) {
        if self.n_labels == 0 && !self.squared && !value.is_nan() {
            let factor = weight * value * self.scale;
            sum[a.len()..2 * a.len()].iter_mut().zip(a).for_each(|(sum, x)| *sum += factor * x);
            return;
        }
        self.add(0.0, -weight, a, sum);
        self.add(value, weight, a, sum);
    }

    /// Adds `w φ(value) aᵀ`; nothing if the value is missing.
    fn add(&self, value: f64, weight: f64, a: &[f64], sum: &mut [f64]) {
        if value.is_nan() {
            return;
        }
        if self.n_labels == 0 {
            let z = (value - self.mean) * self.scale;
            add_outer(sum, weight, &[1.0, z, z * z][..self.len()], a);
        } else {
            let at = value as usize * a.len();
            sum[at..at + a.len()].iter_mut().zip(a).for_each(|(sum, x)| *sum += weight * x);
        }
    }
}

/// A column of an observed neighbour of a hidden node.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct Neighbour {
    /// Which of the views' hidden nodes.
    pub(super) views: usize,
    pub(super) features: Features,
}

/// A column whose variable has an observed parent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct ObservedChild {
    /// The parent's column, which has labels.
    pub(super) parent: usize,
    /// Number of its labels.
    pub(super) parent_labels: usize,
    pub(super) features: Features,
}

/// The collected statistics.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct SummaryPlan {
    pub(super) plan: Plan,
    /// For each hidden node and part its coordinates' weights, k − 1 numbers for each coordinate.
    pub(super) directions: Vec<Vec<Vec<f64>>>,
    /// Edges between hidden nodes, by their places among the views.
    pub(super) edges: Vec<(usize, usize)>,
    /// In the order of their columns.
    pub(super) neighbours: Vec<Neighbour>,
    /// Where those of each column start.
    starts: Vec<usize>,
    /// Where the sums of each start, and their number at the end.
    sums: Vec<usize>,
    /// Columns of numbers one after the other, each of which is a neighbour of one and the same hidden node; empty if there are
    /// none or many.
    runs: Vec<Run>,
    /// Edges between observed columns.
    pub(super) observed: Vec<ObservedChild>,
}

/// Columns of numbers one after the other whose only neighbour is one hidden node: where their sums are follows from their
/// number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Run {
    columns: std::ops::Range<usize>,
    views: usize,
    /// The first of them among the neighbours, and where its sums begin.
    place: usize,
    sums: usize,
}

/// Most runs that sparse rows are looked at by.
const MAX_RUNS: usize = 64;
/// Columns of a run at most, so that threads share them out.
const LONGEST_RUN: usize = 1 << 16;

/// All columns as runs of counts, if they are few such.
fn runs(neighbours: &[Neighbour], starts: &[usize], sums: &[usize]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for column in 0..starts.len() - 1 {
        let place = starts[column];
        let it = match neighbours.get(place) {
            Some(it) if starts[column + 1] == place + 1 && it.features.n_labels == 0 && !it.features.squared => it,
            _ => return Vec::new(),
        };
        let is_full = runs.len() == MAX_RUNS;
        match runs.last_mut() {
            Some(run) if run.views == it.views && run.columns.len() < LONGEST_RUN => run.columns.end += 1,
            _ if is_full => return Vec::new(),
            _ => runs.push(Run { columns: column..column + 1, views: it.views, place, sums: sums[place] }),
        }
    }
    runs
}

impl SummaryPlan {
    /// The neighbours must be in the order of their columns.
    pub(super) fn new(
        plan: Plan,
        directions: Vec<Vec<Vec<f64>>>,
        edges: Vec<(usize, usize)>,
        neighbours: Vec<Neighbour>,
        observed: Vec<ObservedChild>,
    ) -> Self {
        let mut starts = vec![0; plan.coordinates.n_columns() + 1];
        neighbours.iter().for_each(|it| starts[it.features.column + 1] += 1);
        (1..starts.len()).for_each(|column| starts[column] += starts[column - 1]);
        let mut sums = Vec::with_capacity(neighbours.len() + 1);
        sums.push(0);
        for it in &neighbours {
            sums.push(sums[sums.len() - 1] + it.features.len() * plan.views[it.views].width());
        }
        let runs = runs(&neighbours, &starts, &sums);
        Self { plan, directions, edges, neighbours, starts, sums, runs, observed }
    }

    /// Which neighbour a column is to a hidden node.
    pub(super) fn place(&self, views: usize, column: usize) -> usize {
        let places = self.starts[column]..self.starts[column + 1];
        places.clone().find(|&place| self.neighbours[place].views == views).expect("they are neighbours")
    }

    /// The numbers of `a` of a hidden node, after the constant, as sums of weighted coordinates.
    pub(super) fn combinations(&self, views: usize) -> Vec<Vec<(usize, f64)>> {
        let r = self.plan.views[views].n_states - 1;
        let mut sums = Vec::new();
        for (places, weights) in self.plan.views[views].coordinates.iter().zip(&self.directions[views]) {
            for c in 0..r {
                sums.push(places.iter().enumerate().map(|(at, &place)| (place, weights[at * r + c])).collect());
            }
        }
        sums
    }

    /// Numbers in `a` of a hidden node.
    pub(super) fn width(&self, views: usize) -> usize {
        self.plan.views[views].width()
    }
}

/// Moments of the summaries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Summaries {
    pub(super) plan: Arc<SummaryPlan>,
    pub(super) weight: f64,
    /// `E[a aᵀ]` of every hidden node, full squares.
    pub(super) seconds: Vec<Vec<f64>>,
    /// `E[(1,t₁) ⊗ (1,t₂) ⊗ (1,t₃)]` of every hidden node, and after it those of its extra triples.
    pub(super) thirds: Vec<Vec<f64>>,
    /// `E[a_h a_gᵀ]` of every edge.
    pub(super) edges: Vec<Vec<f64>>,
    /// `E[φ aᵀ]` of all neighbours, one after the other.
    neighbours: Vec<f64>,
    /// `Σ w a` of the sparse rows, whose zeros are added at the end.
    sparse: Vec<Vec<f64>>,
    /// Sums of the features of an observed edge's child in each label of its parent, by label and feature.
    #[serde(with = "tables")]
    pub(super) observed: Vec<BTreeMap<(u32, u32), f64>>,
}

/// Maps with pairs for keys, as lists.
pub(super) mod tables {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    type Tables = Vec<BTreeMap<(u32, u32), f64>>;

    pub(in crate::parameters) fn serialize<S: Serializer>(tables: &Tables, serializer: S) -> Result<S::Ok, S::Error> {
        tables.iter().map(|table| table.iter().collect::<Vec<_>>()).collect::<Vec<_>>().serialize(serializer)
    }

    pub(in crate::parameters) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Tables, D::Error> {
        let lists = Vec::<Vec<((u32, u32), f64)>>::deserialize(deserializer)?;
        Ok(lists.into_iter().map(|list| list.into_iter().collect()).collect())
    }
}

impl Summaries {
    pub(super) fn new(plan: Arc<SummaryPlan>) -> Self {
        let widths: Vec<usize> = (0..plan.plan.views.len()).map(|ix| plan.width(ix)).collect();
        let k = |ix: usize| plan.plan.views[ix].n_states;
        Self {
            weight: 0.0,
            seconds: widths.iter().map(|width| vec![0.0; width * width]).collect(),
            thirds: (0..widths.len()).map(|ix| vec![0.0; k(ix).pow(3) * (1 + plan.plan.views[ix].extra.len())]).collect(),
            edges: plan.edges.iter().map(|&(a, b)| vec![0.0; widths[a] * widths[b]]).collect(),
            neighbours: {
                // Written, not only asked for as zeros: pages that are read before they are written are paid for twice.
                let n = plan.sums[plan.neighbours.len()];
                let mut sums = Vec::with_capacity(n);
                sums.resize(n, 0.0);
                sums
            },
            sparse: widths.iter().map(|&width| vec![0.0; width]).collect(),
            observed: vec![BTreeMap::new(); plan.observed.len()],
            plan,
        }
    }

    /// `E[φ aᵀ]` of a neighbour, features as rows.
    pub(super) fn of_neighbour(&self, place: usize) -> &[f64] {
        &self.neighbours[self.plan.sums[place]..self.plan.sums[place + 1]]
    }

    /// The same, to be written.
    #[cfg(test)]
    pub(super) fn of_neighbour_mut(&mut self, place: usize) -> &mut [f64] {
        &mut self.neighbours[self.plan.sums[place]..self.plan.sums[place + 1]]
    }

    /// Moments that are known already, divided by the weight.
    pub(super) fn of_known(
        plan: Arc<SummaryPlan>,
        weight: f64,
        [seconds, thirds, edges]: [Vec<Vec<f64>>; 3],
        neighbours: Vec<f64>,
        observed: Vec<BTreeMap<(u32, u32), f64>>,
    ) -> Self {
        Self { weight, seconds, thirds, edges, neighbours, observed, ..Self::new(plan) }
    }

    /// `a` of every row of a strip.
    pub(super) fn summaries(plan: &SummaryPlan, ix: usize, numbers: &[f64]) -> Vec<f64> {
        let (views, directions) = (&plan.plan.views[ix], &plan.directions[ix]);
        let (width, r, n) = (plan.width(ix), views.n_states - 1, plan.plan.coordinates.len().max(1));
        let mut out = vec![0.0; numbers.len() / n * width];
        for (row, a) in numbers.chunks_exact(n).zip(out.chunks_exact_mut(width)) {
            a[0] = 1.0;
            for (part, (places, weights)) in views.coordinates.iter().zip(directions).enumerate() {
                let s = &mut a[1 + part * r..1 + (part + 1) * r];
                for (&place, weights) in places.iter().zip(weights.chunks_exact(r)) {
                    let value = row[place];
                    if value != 0.0 {
                        s.iter_mut().zip(weights).for_each(|(s, weight)| *s += value * weight);
                    }
                }
            }
        }
        out
    }
}

/// Adds `w a bᵀ`.
fn add_outer(sum: &mut [f64], weight: f64, a: &[f64], b: &[f64]) {
    for (cells, x) in sum.chunks_exact_mut(b.len()).zip(a) {
        let factor = weight * x;
        cells.iter_mut().zip(b).for_each(|(cell, y)| *cell += factor * y);
    }
}

impl Accumulator for Summaries {
    /// The same, divided by the weight, but for the tables of observed edges.
    type Output = Self;

    const NAME: &'static str = "summaries";

    fn observe(&mut self, batch: &Batch) -> Result<()> {
        let plan = Arc::clone(&self.plan);
        let Self { seconds, thirds, edges, neighbours, observed, sparse, .. } = self;
        plan.plan.strips(batch, |numbers, rows| {
            let all: Vec<Vec<f64>> =
                (0..plan.plan.views.len()).into_par_iter().map(|ix| Self::summaries(&plan, ix, numbers)).collect();
            seconds.par_iter_mut().zip(thirds.par_iter_mut()).enumerate().for_each(|(ix, (second, third))| {
                let (width, k) = (plan.width(ix), plan.plan.views[ix].n_states);
                let (mut sums, mut parts) = ([vec![1.0; k], vec![1.0; k], vec![1.0; k]], [vec![1.0; k], vec![1.0; k]]);
                for (row, a) in rows.clone().zip(all[ix].chunks_exact(width)) {
                    let weight = batch.weight(row);
                    add_outer(second, weight, a, a);
                    sums.iter_mut().for_each(|sum| sum[1..].fill(0.0));
                    for (s, &view) in a[1..].chunks_exact(k - 1).zip(&plan.plan.views[ix].view_of) {
                        sums[view][1..].iter_mut().zip(s).for_each(|(sum, s)| *sum += s);
                    }
                    let (main, extras) = third.split_at_mut(k * k * k);
                    for (plane, x) in main.chunks_exact_mut(k * k).zip(&sums[0]) {
                        add_outer(plane, weight * x, &sums[1], &sums[2]);
                    }
                    for (extra, &(view, b, c)) in extras.chunks_exact_mut(k * k * k).zip(&plan.plan.views[ix].extra) {
                        parts[0][1..].copy_from_slice(&a[1 + b * (k - 1)..][..k - 1]);
                        parts[1][1..].copy_from_slice(&a[1 + c * (k - 1)..][..k - 1]);
                        for (plane, x) in extra.chunks_exact_mut(k * k).zip(&sums[view]) {
                            add_outer(plane, weight * x, &parts[0], &parts[1]);
                        }
                    }
                }
            });
            edges.par_iter_mut().zip(&plan.edges).for_each(|(sum, &(a, b))| {
                let pairs = all[a].chunks_exact(plan.width(a)).zip(all[b].chunks_exact(plan.width(b)));
                for (row, (x, y)) in rows.clone().zip(pairs) {
                    add_outer(sum, batch.weight(row), x, y);
                }
            });
            if let Block::Sparse(_) = &batch.block {
                sparse.par_iter_mut().enumerate().for_each(|(ix, sum)| {
                    let width = plan.width(ix);
                    for (row, a) in rows.clone().zip(all[ix].chunks_exact(width)) {
                        let weight = batch.weight(row);
                        sum.iter_mut().zip(a).for_each(|(sum, a)| *sum += weight * a);
                    }
                });
            }
            match &batch.block {
                Block::Sparse(cells) if !plan.runs.is_empty() => {
                    let ends = plan.runs.iter().map(|run| run.sums).chain([plan.sums[plan.neighbours.len()]]);
                    let parts = split(neighbours, &ends.collect::<Vec<_>>());
                    parts.into_par_iter().zip(&plan.runs).for_each(|(sums, run)| {
                        let width = plan.width(run.views);
                        for (row, a) in rows.clone().zip(all[run.views].chunks_exact(width)) {
                            let weight = batch.weight(row);
                            for (column, value) in cells.row_within(row, run.columns.clone()) {
                                let at = column - run.columns.start;
                                let features = &plan.neighbours[run.place + at].features;
                                features.add_beyond_zero(value, weight, a, &mut sums[at * 2 * width..][..2 * width]);
                            }
                        }
                    });
                }
                Block::Sparse(cells) => {
                    // Ranges of columns at once: each has its own neighbours.
                    let n_columns = plan.starts.len() - 1;
                    let ends = (0..=COLUMN_RANGES).map(|range| n_columns * range / COLUMN_RANGES);
                    let places: Vec<usize> = ends.clone().map(|column| plan.starts[column]).collect();
                    let columns: Vec<usize> = ends.collect();
                    let parts = split(neighbours, &places.iter().map(|&place| plan.sums[place]).collect::<Vec<_>>());
                    parts.into_par_iter().enumerate().for_each(|(range, sums)| {
                        let base = plan.sums[places[range]];
                        for (at, row) in rows.clone().enumerate() {
                            let weight = batch.weight(row);
                            for (column, value) in cells.row_within(row, columns[range]..columns[range + 1]) {
                                for place in plan.starts[column]..plan.starts[column + 1] {
                                    let neighbour = &plan.neighbours[place];
                                    let width = plan.width(neighbour.views);
                                    let a = &all[neighbour.views][at * width..(at + 1) * width];
                                    neighbour.features.add_beyond_zero(value, weight, a, &mut sums[plan.sums[place] - base..]);
                                }
                            }
                        }
                    });
                }
                Block::Dense(_) => {
                    let parts = split(neighbours, &plan.sums);
                    parts.into_par_iter().zip(&plan.neighbours).for_each(|(sum, neighbour)| {
                        let width = plan.width(neighbour.views);
                        let mut values = Vec::new();
                        column_numbers(batch, neighbour.features.column, rows.clone(), &mut values);
                        for ((row, value), a) in rows.clone().zip(&values).zip(all[neighbour.views].chunks_exact(width)) {
                            neighbour.features.add(*value, batch.weight(row), a, sum);
                        }
                    });
                }
            }
            observed.par_iter_mut().zip(&plan.observed).for_each(|(table, child)| {
                let (mut labels, mut values) = (Vec::new(), Vec::new());
                column_numbers(batch, child.parent, rows.clone(), &mut labels);
                column_numbers(batch, child.features.column, rows.clone(), &mut values);
                for ((row, label), &value) in rows.clone().zip(&labels).zip(&values) {
                    if label.is_nan() || value.is_nan() {
                        continue;
                    }
                    let weight = batch.weight(row);
                    let mut add =
                        |feature: u32, amount: f64| *table.entry((*label as u32, feature)).or_default() += weight * amount;
                    if child.features.n_labels > 0 {
                        add(value as u32, 1.0);
                    } else {
                        let z = (value - child.features.mean) * child.features.scale;
                        (0..child.features.len() as u32).zip([1.0, z, z * z]).for_each(|(feature, value)| add(feature, value));
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
        add_all(&mut self.seconds, &other.seconds);
        add_all(&mut self.thirds, &other.thirds);
        add_all(&mut self.edges, &other.edges);
        self.neighbours.iter_mut().zip(&other.neighbours).for_each(|(own, other)| *own += other);
        add_all(&mut self.sparse, &other.sparse);
        for (own, other) in self.observed.iter_mut().zip(other.observed) {
            other.into_iter().for_each(|(key, weight)| *own.entry(key).or_default() += weight);
        }
        Ok(())
    }

    fn empty(&self) -> Self {
        Self::new(Arc::clone(&self.plan))
    }

    fn align(&mut self) -> Result<()> {
        for (table, it) in self.observed.iter_mut().zip(&self.plan.observed) {
            let cells = (0..it.parent_labels).flat_map(|label| (0..it.features.len()).map(move |feature| (label, feature)));
            cells.for_each(|(label, feature)| {
                table.entry((label as u32, feature as u32)).or_insert(0.0);
            });
        }
        Ok(())
    }

    fn visit_sums(&mut self, visit: &mut dyn FnMut(Sums<'_>)) -> Result<()> {
        visit(Sums::Weights(std::slice::from_mut(&mut self.weight)));
        let lists = [&mut self.seconds, &mut self.thirds, &mut self.edges, &mut self.sparse];
        lists.into_iter().flatten().for_each(|sums| visit(Sums::Reals(sums)));
        visit(Sums::Reals(&mut self.neighbours));
        for table in &mut self.observed {
            let mut sums: Vec<f64> = table.values().copied().collect();
            visit(Sums::Reals(&mut sums));
            table.values_mut().zip(sums).for_each(|(cell, sum)| *cell = sum);
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Self> {
        let weight = self.weight.max(f64::MIN_POSITIVE);
        let parts = split(&mut self.neighbours, &self.plan.sums);
        parts.into_par_iter().zip(&self.plan.neighbours).for_each(|(sum, neighbour)| {
            neighbour.features.add(0.0, 1.0, &self.sparse[neighbour.views], sum);
            sum.iter_mut().for_each(|sum| *sum /= weight);
        });
        self.sparse.iter_mut().for_each(|sum| sum.fill(0.0));
        for sums in [&mut self.seconds, &mut self.thirds, &mut self.edges] {
            sums.iter_mut().flatten().for_each(|sum| *sum /= weight);
        }
        Ok(self)
    }

    fn to_bytes(&self) -> Result<Vec<u8>> {
        to_bytes(self)
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        from_bytes(bytes)
    }
}
