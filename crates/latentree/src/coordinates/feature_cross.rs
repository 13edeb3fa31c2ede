//! A pass over the rows: how the features of variables with many of them go with their neighbours' coordinates.
//!
//! A variable of d features needs few coordinates to tell the states of a hidden node. With z the coordinates of some near variables, the
//! leading left singular vectors of `D^(-1/2) (E[φ zᵀ] − E[φ] E[z]ᵀ)` are those that go with z. The neighbours may have many features themselves: the first pass
//! sees them through random combinations, each further one through what the one before has found, until singular values settle (a power iteration over all
//! variables at once). No d×d array is made, and a row costs its
//! non-zero features. Features that hardly occur get less weight, `p/(p + 4/n)`, since their correlations are mostly chance.

use std::sync::Arc;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution as _, StandardNormal};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{Coordinates, standards};
use crate::data::{Batch, BatchSource, Block, Kind, Schema};
use crate::error::Result;
use crate::linalg::symmetric_eigen;
use crate::moments::{
    Accumulator, ColumnSummary, fold,
    sums::{add_all, from_bytes, mismatch, to_bytes},
};
use crate::observer::Observer;

/// Variables with more features than this get fewer coordinates.
pub(crate) const NARROW: usize = 12;
/// Most passes over the rows.
const MOST_PASSES: usize = 24;
/// Multiplications that all passes may cost, if they are more than three.
const MOST_WORK: f64 = 2e9;
/// What a cell of a sparse row costs more than its multiplications: its sums are seldom in the cache.
const SPARSE_COST: f64 = 5.0;
/// Relative growth of the singular values at which they have settled.
const SETTLED: f64 = 0.01;
/// Most directions of a variable's features that are followed; random in the first pass.
const COMBINATIONS: usize = 12;
/// Directions that are followed beyond those wanted, at least: a power iteration of a few more converges in fewer passes.
const MORE_COMBINATIONS: usize = 2;
/// Numbers that all sums may have before fewer directions are followed.
const MOST_CELLS: usize = 1 << 21;
/// Rows that a feature must occur in to be trusted by half.
const TRUSTED: f64 = 4.0;
/// Coordinates that are held at once.
const MOST_NUMBERS: usize = 1 << 17;

/// What is collected.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct CrossPlan {
    coordinates: Coordinates,
    /// The variables with many features: for each the coordinates of its neighbours and the number of its features.
    targets: Vec<(Vec<usize>, usize)>,
    /// The columns of each target.
    members: Vec<Vec<usize>>,
    /// For each column the target it belongs to and its first feature there, and whether it has a feature for each label.
    columns: Vec<Option<(usize, usize, bool)>>,
}

/// Sums `Σ w φ zᵀ` of each target, features as rows, with `Σ w z` at the end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct FeatureCross {
    plan: Arc<CrossPlan>,
    sums: Vec<Vec<f64>>,
}

impl FeatureCross {
    fn new(plan: Arc<CrossPlan>) -> Self {
        let sums = plan.targets.iter().map(|(places, n_features)| vec![0.0; (n_features + 1) * places.len()]).collect();
        Self { plan, sums }
    }

    /// Gathers what a target is looked at with in a row, and adds it to its total.
    fn add_total(&mut self, target: usize, weight: f64, numbers: &[f64], near: &mut [f64]) {
        let (places, n_features) = &self.plan.targets[target];
        near.iter_mut().zip(places).for_each(|(z, &place)| *z = numbers[place]);
        let total = &mut self.sums[target][n_features * places.len()..];
        total.iter_mut().zip(&*near).for_each(|(sum, z)| *sum += weight * z);
    }

    fn add(&mut self, column: usize, value: f64, weight: f64, near: &[Vec<f64>]) {
        let Some((target, first, labelled)) = self.plan.columns[column] else { return };
        if value.is_nan() || (!labelled && value == 0.0) {
            return;
        }
        let (feature, factor) = if labelled { (first + value as usize, weight) } else { (first, weight * value) };
        let near = &near[target];
        let sums = &mut self.sums[target][feature * near.len()..][..near.len()];
        sums.iter_mut().zip(near).for_each(|(sum, z)| *sum += factor * z);
    }
}

impl Accumulator for FeatureCross {
    type Output = Vec<Vec<f64>>;

    fn observe(&mut self, batch: &Batch) -> Result<()> {
        let plan = Arc::clone(&self.plan);
        let n = plan.coordinates.len();
        let strip = (MOST_NUMBERS / n.max(1)).clamp(16, 512);
        let mut numbers = Vec::new();
        let mut near: Vec<Vec<f64>> = plan.targets.iter().map(|target| vec![0.0; target.0.len()]).collect();
        for start in (0..batch.n_rows).step_by(strip) {
            let rows = start..(start + strip).min(batch.n_rows);
            plan.coordinates.fill(batch, rows.clone(), &mut numbers);
            match &batch.block {
                // One target after the other: its sums stay in the cache for all rows of the strip.
                Block::Dense(columns) => {
                    for target in 0..plan.targets.len() {
                        for (row, numbers) in rows.clone().zip(numbers.chunks_exact(n)) {
                            let weight = batch.weight(row);
                            self.add_total(target, weight, numbers, &mut near[target]);
                            for &column in &plan.members[target] {
                                self.add(column, columns[column].number(row), weight, &near);
                            }
                        }
                    }
                }
                Block::Sparse(sparse) => {
                    for (row, numbers) in rows.zip(numbers.chunks_exact(n)) {
                        let weight = batch.weight(row);
                        (0..plan.targets.len()).for_each(|target| self.add_total(target, weight, numbers, &mut near[target]));
                        sparse.row(row).for_each(|(ix, value)| self.add(ix, value, weight, &near));
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
        add_all(&mut self.sums, &other.sums);
        Ok(())
    }

    fn empty(&self) -> Self {
        Self::new(Arc::clone(&self.plan))
    }

    fn lanes(&self) -> usize {
        // Each lane has its own sums: many for few features, one where they are large.
        let cells: usize = self.sums.iter().map(Vec::len).sum();
        if cells < 1 << 21 { 8 } else { 2 }
    }

    fn finish(self) -> Result<Self::Output> {
        Ok(self.sums)
    }

    fn to_bytes(&self) -> Result<Vec<u8>> {
        to_bytes(self)
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        from_bytes(bytes)
    }
}

/// Few coordinates for each variable of many features, each a combination of its standardised ones; `None` for the others.
pub(crate) type Directions = Vec<Option<(usize, Vec<f64>)>>;

/// Number of features of a variable.
pub(crate) fn n_features(schema: &Schema, variable: usize) -> usize {
    let columns = schema.variables()[variable].columns.iter();
    columns
        .map(|&column| match &schema.column(column).kind {
            Kind::Categorical { labels } => labels.len(),
            _ => 1,
        })
        .sum()
}

/// Finds the directions; `near[i]` are the variables that variable i is looked at with.
pub(crate) fn directions(
    schema: &Schema,
    summaries: &[ColumnSummary],
    near: &[Vec<usize>],
    wanted: usize,
    source: &mut dyn BatchSource,
    observer: &dyn Observer,
) -> Result<Directions> {
    let wide: Vec<usize> = (0..schema.variables().len()).filter(|&ix| n_features(schema, ix) > NARROW).collect();
    if wide.is_empty() {
        return Ok(vec![None; schema.variables().len()]);
    }
    let weight = total_weight(summaries);
    let n_near = near.iter().map(Vec::len).max().unwrap_or(0);
    let n_all: usize = wide.iter().map(|&ix| n_features(schema, ix)).sum();
    let more = if n_all * n_near * (wanted + MORE_COMBINATIONS) > 8 * MOST_CELLS { 0 } else { MORE_COMBINATIONS };
    let followed = (MOST_CELLS / (n_all * n_near).max(1)).clamp((wanted + more).min(COMBINATIONS), COMBINATIONS.max(wanted));
    let mut found = random_directions(schema, summaries, followed);
    let n_rows = source.n_rows_hint().map_or(weight, |rows| rows as f64);
    let cells: f64 = wide
        .iter()
        .flat_map(|&ix| &schema.variables()[ix].columns)
        .map(|&column| match &schema.column(column).kind {
            Kind::Categorical { .. } => 1.0,
            _ => SPARSE_COST * summaries[column.get()].mean.abs().min(1.0),
        })
        .sum();
    let per_pass = n_rows * cells * (n_near * followed) as f64;
    let most_passes = ((MOST_WORK / per_pass.max(1.0)) as usize).clamp(3, MOST_PASSES);
    let mut before = f64::INFINITY;
    for pass in 0.. {
        observer.stage("features", source.n_rows_hint());
        let coordinates = Coordinates::new(schema, summaries, &found);
        let targets: Vec<(Vec<usize>, usize)> = wide
            .iter()
            .map(|&ix| (near[ix].iter().flat_map(|&other| coordinates.of(other)).collect(), n_features(schema, ix)))
            .collect();
        let mut columns = vec![None; schema.columns().len()];
        let mut members = Vec::with_capacity(wide.len());
        for (target, &ix) in wide.iter().enumerate() {
            members.push(schema.variables()[ix].columns.iter().map(|column| column.get()).collect());
            let mut first = 0;
            for &column in &schema.variables()[ix].columns {
                let labels = match &schema.column(column).kind {
                    Kind::Categorical { labels } => Some(labels.len()),
                    _ => None,
                };
                columns[column.get()] = Some((target, first, labels.is_some()));
                first += labels.unwrap_or(1);
            }
        }
        let plan = Arc::new(CrossPlan { coordinates, targets, members, columns });
        let sums = fold(source, FeatureCross::new(Arc::clone(&plan)), observer)?.finish()?;
        source.rewind()?;
        let leading: Vec<Leading> = wide
            .par_iter()
            .zip(sums)
            .zip(&plan.targets)
            .map(|((&ix, sums), (_, n_features))| {
                let mut found = leading(schema, summaries, ix, &sums, *n_features, weight, followed);
                trust(schema, summaries, ix, weight, &mut found.width, &mut found.rows);
                found
            })
            .collect();
        let strength: f64 = leading.iter().map(|it| it.values.iter().take(wanted).sum::<f64>()).sum();
        let settled = strength <= before * (1.0 + SETTLED) && pass > 1;
        before = strength;
        let last = settled || pass + 1 == most_passes;
        for (&ix, mut directions) in wide.iter().zip(leading) {
            if last {
                directions.truncate(wanted);
            }
            found[ix] = Some((directions.width, directions.rows));
        }
        if last {
            break;
        }
    }
    Ok(found)
}

/// Leading singular values with their left vectors, a row for each feature.
struct Leading {
    values: Vec<f64>,
    width: usize,
    rows: Vec<f64>,
}

impl Leading {
    fn truncate(&mut self, wanted: usize) {
        if self.width > wanted {
            self.rows = self.rows.chunks_exact(self.width).flat_map(|row| row[..wanted].to_vec()).collect();
            self.width = wanted;
        }
    }
}

fn total_weight(summaries: &[ColumnSummary]) -> f64 {
    summaries.iter().map(|it| it.weight).fold(0.0, f64::max).max(1.0)
}

/// Random combinations of the features of variables with many of them.
pub(crate) fn random_directions(schema: &Schema, summaries: &[ColumnSummary], width: usize) -> Directions {
    let weight = total_weight(summaries);
    let random = |ix: usize| {
        let n = n_features(schema, ix);
        if n <= NARROW {
            return None;
        }
        let mut rng = ChaCha8Rng::seed_from_u64(ix as u64);
        let directions = (width, (0..n * width).map(|_| StandardNormal.sample(&mut rng)).collect());
        let (mut width, mut rows): (usize, Vec<f64>) = directions;
        trust(schema, summaries, ix, weight, &mut width, &mut rows);
        Some((width, rows))
    };
    (0..schema.variables().len()).into_par_iter().map(random).collect()
}

/// Means and scales of all features of a variable.
fn all_standards(schema: &Schema, summaries: &[ColumnSummary], ix: usize) -> Vec<(f64, f64)> {
    let columns = schema.variables()[ix].columns.iter();
    columns.flat_map(|&column| standards(&schema.column(column).kind, &summaries[column.get()])).collect()
}

/// How far a feature is trusted, as a factor of its standardised value.
fn trusted((mean, scale): (f64, f64), kind_is_number: bool, weight: f64) -> f64 {
    // A feature that occurs in few rows: its scale is 1/√p.
    if kind_is_number || scale == 0.0 || mean <= 0.0 { 1.0 } else { (mean / (mean + TRUSTED / weight)).sqrt() }
}

fn trust(schema: &Schema, summaries: &[ColumnSummary], ix: usize, weight: f64, width: &mut usize, rows: &mut [f64]) {
    let factors = factors(schema, summaries, ix, weight);
    for (row, factor) in rows.chunks_exact_mut((*width).max(1)).zip(factors) {
        row.iter_mut().for_each(|value| *value *= factor);
    }
}

fn factors(schema: &Schema, summaries: &[ColumnSummary], ix: usize, weight: f64) -> Vec<f64> {
    let columns = schema.variables()[ix].columns.iter();
    columns
        .flat_map(|&column| {
            let kind = &schema.column(column).kind;
            let number = matches!(kind, Kind::Continuous);
            standards(kind, &summaries[column.get()]).into_iter().map(move |standard| trusted(standard, number, weight))
        })
        .collect()
}

/// The leading left singular vectors of the scaled and centred sums.
fn leading(
    schema: &Schema,
    summaries: &[ColumnSummary],
    ix: usize,
    sums: &[f64],
    n_features: usize,
    weight: f64,
    followed: usize,
) -> Leading {
    let m = sums.len() / (n_features + 1);
    if m == 0 {
        return Leading { values: Vec::new(), width: 0, rows: Vec::new() };
    }
    let (cells, total) = sums.split_at(n_features * m);
    let standards = all_standards(schema, summaries, ix);
    let factors = factors(schema, summaries, ix, weight);
    let mut scaled = vec![0.0; n_features * m];
    for (((out, row), (mean, scale)), factor) in
        scaled.chunks_exact_mut(m.max(1)).zip(cells.chunks_exact(m.max(1))).zip(&standards).zip(&factors)
    {
        for ((out, sum), total) in out.iter_mut().zip(row).zip(total) {
            *out = factor * scale * (sum - mean * total) / weight;
        }
    }
    // YᵀY is small: its eigenvectors give the right singular vectors.
    let mut inner = vec![0.0; m * m];
    for row in scaled.chunks_exact(m.max(1)) {
        for (i, x) in row.iter().enumerate() {
            if *x != 0.0 {
                inner[i * m..i * m + m].iter_mut().zip(row).for_each(|(cell, y)| *cell += x * y);
            }
        }
    }
    let Some((values, vectors)) = symmetric_eigen(&inner, m) else {
        return Leading { values: Vec::new(), width: 0, rows: Vec::new() };
    };
    let mut order: Vec<usize> = (0..m).collect();
    order.sort_by(|&a, &b| values[b].total_cmp(&values[a]).then(a.cmp(&b)));
    let largest = order.first().map_or(0.0, |&at| values[at]);
    order.retain(|&at| values[at] > 1e-14 * largest && values[at] > 0.0);
    order.truncate(followed);
    let width = order.len();
    let mut out = vec![0.0; n_features * width];
    for (out, row) in out.chunks_exact_mut(width.max(1)).zip(scaled.chunks_exact(m.max(1))) {
        for (out, &at) in out.iter_mut().zip(&order) {
            let vector = &vectors[at * m..at * m + m];
            *out = row.iter().zip(vector).map(|(x, v)| x * v).sum::<f64>() / values[at].sqrt();
        }
    }
    Leading { values: order.iter().map(|&at| values[at].sqrt()).collect(), width, rows: out }
}
