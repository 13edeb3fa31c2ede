//! A pass over the rows: how the features of variables with many of them go with their neighbours' coordinates.
//!
//! A variable of d features needs few coordinates to tell the states of a hidden node. With z the coordinates of some near
//! variables, the leading left singular vectors of `D^(-1/2) (E[φ zᵀ] − E[φ] E[z]ᵀ)` are those that go with z. The neighbours may
//! have many features themselves: the first pass sees them through random combinations, each further one through what the one
//! before has found, until singular values settle (a power iteration over all variables at once). No d×d array is made, and a row
//! costs its non-zero features. Features that hardly occur get less weight, `p/(p + 4/n)`, since their correlations are mostly
//! chance.

use std::sync::Arc;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution as _, StandardNormal};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::Coordinates;
use crate::data::row_order::hash_text;
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
const MAX_PASSES: usize = 24;
/// Multiplications that all passes may cost, if they are more than three.
const MAX_WORK: f64 = 2e9;
/// What a cell of a sparse row costs more than its multiplications: its sums are seldom in the cache.
const SPARSE_COST: f64 = 5.0;
/// Relative growth of the singular values at which they have settled.
const SETTLED: f64 = 0.01;
/// Most directions of a variable's features that are followed; random in the first pass.
const COMBINATIONS: usize = 12;
/// Directions that are followed beyond those wanted, at least: a power iteration of a few more converges in fewer passes.
const MORE_COMBINATIONS: usize = 2;
/// Numbers that all sums may have before fewer directions are followed.
const MAX_CELLS: usize = 1 << 21;
/// Rows that a feature must occur in to be trusted by half.
const TRUSTED: f64 = 4.0;
/// Coordinates that are held at once.
const MAX_NUMBERS: usize = 1 << 18;
/// Columns that a thread looks at at once.
const COLUMNS_AT_ONCE: usize = 8192;
/// Parts that the columns are split into at least, to be summed at the same time.
const BLOCKS: usize = 16;

/// A column of labels of a variable with many features, or some columns of numbers of one in a row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Run {
    columns: std::ops::Range<usize>,
    target: usize,
    /// Number of labels, each of which is a feature; 0 for numbers, each of which is one.
    n_labels: usize,
    /// Where its sums begin: a row of the target's width for each feature.
    start: usize,
}

/// What is collected.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct CrossPlan {
    coordinates: Coordinates,
    /// For each variable with many features the coordinates of its neighbours.
    targets: Vec<Vec<usize>>,
    /// The columns of these variables in the order of the schema.
    runs: Vec<Run>,
    n_sums: usize,
}

/// The columns of variables with many features as runs, whose sums have no place yet.
fn runs(schema: &Schema, wide: &[usize], n_features: usize) -> Vec<Run> {
    let members = wide.iter().enumerate();
    let members = members.flat_map(|(target, &ix)| schema.variables()[ix].columns.iter().map(move |&column| (column, target)));
    let mut members: Vec<_> = members.collect();
    members.sort_unstable();
    let longest = n_features.div_ceil(BLOCKS).max(1);
    let mut runs = Vec::<Run>::new();
    for (column, target) in members {
        let n_labels = match &schema.column(column).kind {
            Kind::Categorical { labels } => labels.len(),
            _ => 0,
        };
        let column = column.get();
        match runs.last_mut() {
            Some(run)
                if n_labels == 0
                    && run.n_labels == 0
                    && (run.target, run.columns.end) == (target, column)
                    && run.columns.len() < longest =>
            {
                run.columns.end += 1;
            }
            _ => runs.push(Run { columns: column..column + 1, target, n_labels, start: 0 }),
        }
    }
    runs
}

impl CrossPlan {
    fn new(coordinates: Coordinates, mut runs: Vec<Run>, wide: &[usize], near: &[Vec<usize>]) -> Self {
        let targets: Vec<Vec<usize>> =
            wide.iter().map(|&ix| near[ix].iter().flat_map(|&other| coordinates.of(other)).collect()).collect();
        let mut n_sums = 0;
        for run in &mut runs {
            run.start = n_sums;
            n_sums += run.columns.len() * run.n_labels.max(1) * targets[run.target].len();
        }
        Self { coordinates, targets, runs, n_sums }
    }

    /// Where the sums of a column begin; a column of a variable with many features.
    fn start(&self, column: usize) -> usize {
        let run = &self.runs[self.runs.partition_point(|run| run.columns.end <= column)];
        run.start + (column - run.columns.start) * self.targets[run.target].len()
    }
}

/// Sums `Σ w φ zᵀ` of the features of all columns, and `Σ w z` of each target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct FeatureCross {
    plan: Arc<CrossPlan>,
    sums: Vec<f64>,
    totals: Vec<Vec<f64>>,
}

impl FeatureCross {
    fn new(plan: Arc<CrossPlan>) -> Self {
        let totals = plan.targets.iter().map(|places| vec![0.0; places.len()]).collect();
        // Written, not only asked for as zeros: pages that are read before they are written are paid for twice.
        let mut sums = Vec::with_capacity(plan.n_sums);
        sums.resize(plan.n_sums, 0.0);
        Self { sums, totals, plan }
    }
}

/// Adds rows, of which `numbers` are the coordinates, to the sums of a run.
fn add_rows(plan: &CrossPlan, run: &Run, batch: &Batch, rows: std::ops::Range<usize>, numbers: &[f64], sums: &mut [f64]) {
    let places = &plan.targets[run.target];
    let mut near = vec![0.0; places.len()];
    let gather = |near: &mut [f64], row: usize, numbers: &[f64]| {
        let weight = batch.weight(row);
        near.iter_mut().zip(places).for_each(|(z, &place)| *z = weight * numbers[place]);
    };
    let mut add = |feature: usize, factor: f64, near: &[f64]| {
        let sums = &mut sums[feature * near.len()..][..near.len()];
        sums.iter_mut().zip(near).for_each(|(sum, z)| *sum += factor * z);
    };
    let by_row = rows.clone().zip(numbers.chunks_exact(plan.coordinates.len().max(1)));
    match &batch.block {
        // One column after the other: its sums stay in the cache for all rows.
        Block::Dense(cells) => {
            for column in run.columns.clone() {
                for (row, numbers) in by_row.clone() {
                    let value = cells[column].number(row);
                    if value.is_nan() || (run.n_labels == 0 && value == 0.0) {
                        continue;
                    }
                    gather(&mut near, row, numbers);
                    if run.n_labels > 0 {
                        add(value as usize, 1.0, &near);
                    } else {
                        add(column - run.columns.start, value, &near);
                    }
                }
            }
        }
        Block::Sparse(cells) => {
            for (row, numbers) in by_row {
                if run.n_labels == 0 {
                    gather(&mut near, row, numbers);
                    for (column, value) in cells.row_within(row, run.columns.clone()).filter(|it| !it.1.is_nan()) {
                        add(column - run.columns.start, value, &near);
                    }
                    continue;
                }
                // A cell that is not stored has the first label.
                let label = cells.row_within(row, run.columns.clone()).next().map_or(0.0, |it| it.1);
                if !label.is_nan() {
                    gather(&mut near, row, numbers);
                    add(label as usize, 1.0, &near);
                }
            }
        }
    }
}

impl Accumulator for FeatureCross {
    type Output = (Vec<f64>, Vec<Vec<f64>>);

    const NAME: &'static str = "feature-cross";

    fn observe(&mut self, batch: &Batch) -> Result<()> {
        let Self { plan, sums, totals } = self;
        let plan: &CrossPlan = plan;
        let n = plan.coordinates.len();
        let strip = (MAX_NUMBERS / n.max(1)).clamp(64, 8192);
        let mut numbers = Vec::new();
        for start in (0..batch.n_rows).step_by(strip) {
            let rows = start..(start + strip).min(batch.n_rows);
            plan.coordinates.fill(batch, rows.clone(), &mut numbers);
            for (row, numbers) in rows.clone().zip(numbers.chunks_exact(n.max(1))) {
                let weight = batch.weight(row);
                for (total, places) in totals.iter_mut().zip(&plan.targets) {
                    total.iter_mut().zip(places).for_each(|(sum, &place)| *sum += weight * numbers[place]);
                }
            }
            let (mut rest, mut parts) = (&mut sums[..], Vec::with_capacity(plan.runs.len()));
            for (run, next) in plan.runs.iter().zip(plan.runs[1..].iter().map(|run| run.start).chain([plan.n_sums])) {
                let (part, later) = std::mem::take(&mut rest).split_at_mut(next - run.start);
                rest = later;
                parts.push((run, part));
            }
            parts.into_par_iter().for_each(|(run, sums)| add_rows(plan, run, batch, rows.clone(), &numbers, sums));
        }
        Ok(())
    }

    fn merge(&mut self, other: Self) -> Result<()> {
        if self.plan != other.plan {
            return Err(mismatch());
        }
        self.sums.iter_mut().zip(&other.sums).for_each(|(own, other)| *own += other);
        add_all(&mut self.totals, &other.totals);
        Ok(())
    }

    fn empty(&self) -> Self {
        Self::new(Arc::clone(&self.plan))
    }

    fn finish(self) -> Result<Self::Output> {
        Ok((self.sums, self.totals))
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
    let sizes: Vec<usize> = (0..schema.variables().len()).into_par_iter().map(|ix| n_features(schema, ix)).collect();
    let wide: Vec<usize> = (0..schema.variables().len()).filter(|&ix| sizes[ix] > NARROW).collect();
    if wide.is_empty() {
        return Ok(vec![None; schema.variables().len()]);
    }
    let weight = total_weight(summaries);
    let n_near = near.iter().map(Vec::len).max().unwrap_or(0);
    let n_all: usize = wide.iter().map(|&ix| sizes[ix]).sum();
    let more = if n_all * n_near * (wanted + MORE_COMBINATIONS) > 8 * MAX_CELLS { 0 } else { MORE_COMBINATIONS };
    let followed = (MAX_CELLS / (n_all * n_near).max(1)).clamp((wanted + more).min(COMBINATIONS), COMBINATIONS.max(wanted));
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
    let most_passes = ((MAX_WORK / per_pass.max(1.0)) as usize).clamp(3, MAX_PASSES);
    let features = FeatureStandards::new(schema, summaries, weight);
    let runs = runs(schema, &wide, n_all);
    let mut before = f64::INFINITY;
    for pass in 0.. {
        observer.stage("features", source.n_rows_hint());
        let coordinates = Coordinates::new(schema, summaries, &found);
        let plan = Arc::new(CrossPlan::new(coordinates, runs.clone(), &wide, near));
        let (sums, totals) = fold(source, FeatureCross::new(Arc::clone(&plan)), observer)?.finish()?;
        source.rewind()?;
        let leading: Vec<Leading> = wide
            .par_iter()
            .zip(&totals)
            .map(|(&ix, total)| {
                let visit = |each: &mut dyn FnMut(usize, &[f64])| {
                    for &column in &schema.variables()[ix].columns {
                        let (range, start) = (features.of(column.get()), plan.start(column.get()));
                        let cells = sums[start..].chunks_exact(total.len().max(1));
                        range.zip(cells).for_each(|(at, cells)| each(at, cells));
                    }
                };
                leading(&visit, total, &features, sizes[ix], weight, followed)
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

/// Random combinations of the features of variables with many of them, by their names: the order of columns does not matter.
pub(crate) fn random_directions(schema: &Schema, summaries: &[ColumnSummary], width: usize) -> Directions {
    let features = FeatureStandards::new(schema, summaries, total_weight(summaries));
    let random = |ix: usize| {
        if n_features(schema, ix) <= NARROW {
            return None;
        }
        let mut rng = ChaCha8Rng::seed_from_u64(hash_text(&schema.variables()[ix].name));
        let columns = schema.variables()[ix].columns.iter();
        let trust = columns.flat_map(|&column| &features.trust[features.of(column.get())]);
        let rows = trust.flat_map(|trust| std::iter::repeat_n(trust, width)).map(|trust| -> f64 {
            let normal: f64 = StandardNormal.sample(&mut rng);
            trust * normal
        });
        Some((width, rows.collect()))
    };
    (0..schema.variables().len()).into_par_iter().map(random).collect()
}

/// Mean and scale of the features of all columns, and how far each is trusted.
struct FeatureStandards {
    /// First feature of each column, and their number at the end.
    starts: Vec<usize>,
    /// Mean and scale.
    standards: Vec<(f64, f64)>,
    /// A factor of the standardised value: less than 1 for what occurs in few rows, whose scale is 1/√p.
    trust: Vec<f64>,
}

impl FeatureStandards {
    fn new(schema: &Schema, summaries: &[ColumnSummary], weight: f64) -> Self {
        let parts = schema.columns().par_chunks(COLUMNS_AT_ONCE).zip(summaries.par_chunks(COLUMNS_AT_ONCE));
        let parts = parts.map(|(columns, summaries)| {
            let mut part = Self { starts: vec![0], standards: Vec::new(), trust: Vec::new() };
            for (column, summary) in columns.iter().zip(summaries) {
                super::extend_standards(&column.kind, summary, &mut part.standards);
                let is_number = matches!(column.kind, Kind::Continuous);
                part.trust.extend(part.standards[part.trust.len()..].iter().map(|&(mean, scale)| {
                    if is_number || scale == 0.0 || mean <= 0.0 { 1.0 } else { (mean / (mean + TRUSTED / weight)).sqrt() }
                }));
                part.starts.push(part.standards.len());
            }
            part
        });
        let mut all = Self { starts: vec![0], standards: Vec::new(), trust: Vec::new() };
        for part in parts.collect::<Vec<Self>>() {
            let before = all.standards.len();
            all.starts.extend(part.starts[1..].iter().map(|end| before + end));
            all.standards.extend(part.standards);
            all.trust.extend(part.trust);
        }
        all
    }

    fn of(&self, column: usize) -> std::ops::Range<usize> {
        self.starts[column]..self.starts[column + 1]
    }
}

/// Calls with every feature's place and sums.
type Visit<'a> = dyn Fn(&mut dyn FnMut(usize, &[f64])) + 'a;

/// The leading left singular vectors of the scaled and centred sums, each feature's number by how far it is trusted. `visit` goes
/// through the features: their places in `features`, and their sums.
fn leading(
    visit: &Visit<'_>,
    total: &[f64],
    features: &FeatureStandards,
    n_features: usize,
    weight: f64,
    followed: usize,
) -> Leading {
    let m = total.len();
    let none = || Leading { values: Vec::new(), width: 0, rows: Vec::new() };
    if m == 0 {
        return none();
    }
    let scaled = |at: usize, sums: &[f64], out: &mut [f64]| {
        let (mean, scale) = features.standards[at];
        let factor = features.trust[at] * scale / weight;
        out.iter_mut().zip(sums).zip(total).for_each(|((out, sum), total)| *out = factor * (sum - mean * total));
    };
    // YᵀY is small: its eigenvectors give the right singular vectors.
    let (mut inner, mut row) = (vec![0.0; m * m], vec![0.0; m]);
    visit(&mut |at, sums| {
        scaled(at, sums, &mut row);
        for (cells, x) in inner.chunks_exact_mut(m).zip(&row) {
            cells.iter_mut().zip(&row).for_each(|(cell, y)| *cell += x * y);
        }
    });
    let Some((values, vectors)) = symmetric_eigen(&inner, m) else { return none() };
    let mut order: Vec<usize> = (0..m).collect();
    order.sort_by(|&a, &b| values[b].total_cmp(&values[a]).then(a.cmp(&b)));
    let largest = order.first().map_or(0.0, |&at| values[at]);
    order.retain(|&at| values[at] > 1e-14 * largest && values[at] > 0.0);
    order.truncate(followed);
    let width = order.len();
    let mut out = Vec::with_capacity(n_features * width);
    visit(&mut |at, sums| {
        scaled(at, sums, &mut row);
        let trust = features.trust[at];
        out.extend(order.iter().map(|&at| {
            let vector = &vectors[at * m..at * m + m];
            trust * row.iter().zip(vector).map(|(x, v)| x * v).sum::<f64>() / values[at].sqrt()
        }));
    });
    Leading { values: order.iter().map(|&at| values[at].sqrt()).collect(), width, rows: out }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Column, ColumnData, Dataset, SparseRows};
    use crate::moments::Summary;
    use crate::observer::Silent;
    use rand::RngExt;

    #[test]
    fn sparse_and_dense_rows_of_groups_of_all_kinds_have_the_same_directions() {
        let kinds = || [vec![Kind::numbered(2); 5], vec![Kind::numbered(3); 2], vec![Kind::Count; 4]].concat();
        let mut builder = Schema::builder();
        for group in 0..3 {
            let members = kinds().into_iter().enumerate();
            let members = members.map(|(ix, kind)| Column { name: format!("g{group}.{ix}"), kind }).collect();
            builder = builder.group(format!("g{group}"), members);
        }
        let schema = Arc::new(builder.build().unwrap());
        let (n, n_columns) = (600, schema.columns().len());
        let mut rng = ChaCha8Rng::seed_from_u64(4);
        let mut cells = vec![vec![0.0; n]; n_columns];
        for row in 0..n {
            let state = f64::from(u8::from(rng.random_bool(0.5)));
            for (column, cells) in cells.iter_mut().enumerate() {
                let largest = schema.columns()[column].kind.n_states().map_or(4.0, |n_states| n_states as f64);
                let is_shown = rng.random_bool(0.2 + 0.5 * state);
                cells[row] = if is_shown { (largest * rng.random_range(0.0..1.0)).floor() } else { 0.0 };
                if rng.random_bool(0.03) {
                    cells[row] = f64::NAN;
                }
            }
        }
        let mut rows = SparseRows { values: Some(Vec::new()), ..SparseRows::default() };
        for row in 0..n {
            for (column, cells) in cells.iter().enumerate().filter(|it| it.1[row] != 0.0) {
                rows.columns.push(column as u32);
                rows.values.as_mut().unwrap().push(cells[row]);
            }
            rows.starts.push(rows.columns.len());
        }
        let sparse = Batch { first_row: 0, n_rows: n, block: Block::Sparse(rows), weights: None };
        let dense = cells.iter().zip(schema.columns()).map(|(cells, column)| {
            let mut data = ColumnData::for_kind(&column.kind, n);
            for &cell in cells {
                match column.kind.n_states() {
                    Some(_) => data.push_code((!cell.is_nan()).then_some(cell as u32)),
                    None => data.push_number(cell),
                }
            }
            data
        });
        let sets = [
            Dataset::new(Arc::clone(&schema), vec![sparse]),
            Dataset::from_columns(Arc::clone(&schema), dense.collect(), None).unwrap(),
        ];
        let near = [vec![1, 2], vec![0, 2], vec![0, 1]];
        let [a, b] = sets.map(|set| {
            let summary = fold(&mut set.source(), Summary::new(Arc::clone(&schema)), &Silent).unwrap();
            directions(&schema, summary.columns(), &near, 2, &mut set.source(), &Silent).unwrap()
        });
        for (a, b) in a.iter().flatten().zip(b.iter().flatten()) {
            assert_eq!((a.0, a.1.len()), (2, 2 * (5 * 2 + 2 * 3 + 4)));
            assert!(a.1.iter().zip(&b.1).all(|(x, y)| (x - y).abs() < 1e-8 || (x + y).abs() < 1e-8), "{a:?} {b:?}");
        }
    }
}
