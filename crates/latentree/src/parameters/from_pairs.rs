//! All tables of a discrete latent tree from the pair moments of its columns and a pass for the triples.
//!
//! [`by_moments`] reads rows for everything. But a summary is a sum of weighted coordinates, and a coordinate is a feature φ less
//! its mean m, over its deviation σ: with the moments of all pairs of columns every second moment is known,
//!
//! `E[c_p c_q] = Σ w (φ_p − m_p)(φ_q − m_q) / (σ_p σ_q W)` over the rows where both are present,
//!
//! and so are the directions, from all rows. Rows are needed for the [third moments](super::summary_triples) alone. This holds for
//! columns of labels and of counts; numbers have features with squares, and wide variables coordinates that rows are looked at for.

use std::collections::BTreeMap;
use std::sync::Arc;

use rayon::prelude::*;

use super::by_moments::{FEW_ROWS_FOR_A_FEATURE, MomentModel, MomentOptions, Problem, by_moments};
use super::discrete_tree::discrete_tree;
use super::summaries::{Features, ObservedChild, Summaries, SummaryPlan};
use super::summary_triples::{FARTHEST_ZERO, SummaryTriples, thirds};
use crate::coordinates::{Coordinates, extend_standards, feature_cross};
use crate::data::{BatchSource, Kind, Schema};
use crate::error::Result;
use crate::index::ColIx;
use crate::limits;
use crate::moments::{Accumulator as _, ColumnSummary, PairMoments, Summary, fold};
use crate::observer::Observer;
use crate::tree::Tree;

/// As [`by_moments`], for rows whose pair moments are known; in one pass where these suffice for the rest.
///
/// # Errors
/// Those of [`by_moments`].
pub(crate) fn by_moments_of_pairs(
    tree: &Tree,
    source: &mut dyn BatchSource,
    pairs: &PairMoments,
    options: &MomentOptions,
    observer: &dyn Observer,
) -> Result<MomentModel> {
    let schema = Arc::clone(source.schema());
    let n_states = tree.node_ixs().filter(|&node| !tree.is_observed(node)).map(|node| options.n_states(node)).max().unwrap_or(2);
    if !suffice(pairs, &schema, n_states) {
        return by_moments(tree, source, None, options, observer);
    }
    limits::check("parameters.hidden_states", n_states, 1..=limits::MAX_HIDDEN_STATES)?;
    let columns = columns(source, pairs, observer)?;
    let (problem, summaries) = collected(tree, source, pairs, &columns, options, observer)?;
    observer.stage("tables", None);
    problem.solve(&summaries, options)
}

/// The moments of the summaries, and the problem that they solve.
pub(super) fn collected<'a>(
    tree: &Tree,
    source: &mut dyn BatchSource,
    pairs: &PairMoments,
    columns: &'a [ColumnSummary],
    options: &MomentOptions,
    observer: &dyn Observer,
) -> Result<(Problem<'a>, Summaries)> {
    let schema = Arc::clone(source.schema());
    let mut warnings = Vec::new();
    let tree = discrete_tree(tree, &schema, &mut warnings)?;
    let known = KnownPairs::new(pairs, &schema, columns);
    let coordinates = Coordinates::new(&schema, columns, &vec![None; schema.variables().len()]);
    let mut problem = Problem::new(tree, schema, columns, coordinates, options)?;
    problem.warnings.splice(0..0, warnings);
    observer.stage("pairs", None);
    let grams: Vec<Vec<f64>> = problem.plan.views.par_iter().map(|views| known.gram(&views.coordinates.concat())).collect();
    let plan = problem.summarise(&grams, pairs.total_weight());
    observer.stage("triples", source.n_rows_hint());
    let triples = fold(source, SummaryTriples::new(Arc::clone(&plan)), observer)?.finish()?;
    source.rewind()?;
    let summaries = known.summaries(plan, &triples);
    Ok((problem, summaries))
}

/// Whether the moments of all pairs tell all that is asked of pairs.
pub(super) fn suffice(pairs: &PairMoments, schema: &Schema, n_states: usize) -> bool {
    let most_features = (0..schema.variables().len()).map(|ix| feature_cross::n_features(schema, ix)).max().unwrap_or(0);
    let is_known = |ix: usize| match schema.columns()[ix].kind {
        Kind::Binary { .. } | Kind::Categorical { .. } => true,
        // More states are told by bins of the numbers.
        Kind::Count => n_states <= 2 && keeps_digits(pairs, ColIx::new(ix)),
        Kind::Continuous => false,
    };
    **pairs.schema() == *schema
        && pairs.total_weight() > 0.0
        && pairs.degree() == 1
        && most_features <= feature_cross::NARROW
        && pairs.n_rows() >= most_features as u64 * FEW_ROWS_FOR_A_FEATURE
        && (0..schema.columns().len()).all(is_known)
}

/// Whether the sums of a column of numbers tell its second moments: sums of numbers far from what was taken off them have lost the
/// digits.
fn keeps_digits(pairs: &PairMoments, column: ColIx) -> bool {
    let (mean, variance) = (pairs.mean(column).unwrap_or(0.0), pairs.variance(column).unwrap_or(0.0));
    variance <= 0.0 || (mean - pairs.shift(column)).powi(2) <= FARTHEST_ZERO * FARTHEST_ZERO * variance
}

/// The columns by themselves.
pub(super) fn columns(source: &mut dyn BatchSource, pairs: &PairMoments, observer: &dyn Observer) -> Result<Vec<ColumnSummary>> {
    let schema = Arc::clone(source.schema());
    if schema.columns().iter().any(|column| column.kind.n_states().is_none()) {
        observer.stage("columns", source.n_rows_hint());
        let summary = fold(source, Summary::new(schema), observer)?;
        source.rewind()?;
        return Ok(summary.columns().to_vec());
    }
    let of_labels = |ix: usize| {
        let (column, levels) = (ColIx::new(ix), pairs.level_weights(ColIx::new(ix)).unwrap_or_default());
        ColumnSummary { weight: pairs.weight(column), levels, ..ColumnSummary::default() }
    };
    Ok((0..schema.columns().len()).map(of_labels).collect())
}

/// A coordinate as its feature.
#[derive(Debug, Clone, Copy)]
struct Feature {
    column: ColIx,
    /// Which of the column's features it is among the moments.
    feature: usize,
    /// Mean, of numbers less the shift of the moments, and one over the deviation.
    mean: f64,
    scale: f64,
}

/// Second moments of coordinates.
struct KnownPairs<'a> {
    pairs: &'a PairMoments,
    coordinates: Vec<Feature>,
}

impl<'a> KnownPairs<'a> {
    /// Of the coordinates that [`Coordinates`] makes without directions.
    fn new(pairs: &'a PairMoments, schema: &Schema, columns: &[ColumnSummary]) -> Self {
        let mut coordinates = Vec::new();
        let mut standards = Vec::new();
        for &column in schema.variables().iter().flat_map(|variable| &variable.columns) {
            standards.clear();
            extend_standards(&schema.column(column).kind, &columns[column.get()], &mut standards);
            coordinates.extend(standards.iter().enumerate().map(|(feature, &(mean, scale))| Feature {
                column,
                feature,
                mean: mean - pairs.shift(column),
                scale,
            }));
        }
        Self { pairs, coordinates }
    }

    fn second(&self, p: usize, q: usize) -> f64 {
        let (a, b) = (&self.coordinates[p], &self.coordinates[q]);
        let sum = self.pairs.product_about((a.column, a.feature, a.mean), (b.column, b.feature, b.mean));
        sum * a.scale * b.scale / self.pairs.total_weight()
    }

    /// Second moments of some coordinates, a full square.
    fn gram(&self, places: &[usize]) -> Vec<f64> {
        let d = places.len();
        let mut gram = vec![0.0; d * d];
        for i in 0..d {
            for j in 0..=i {
                let second = self.second(places[i], places[j]);
                (gram[i * d + j], gram[j * d + i]) = (second, second);
            }
        }
        gram
    }

    /// All moments of the summaries, given the mean products of three.
    fn summaries(&self, plan: Arc<SummaryPlan>, products: &[Vec<f64>]) -> Summaries {
        let n = plan.plan.views.len();
        let rows: Vec<Vec<Vec<(usize, f64)>>> = (0..n).map(|ix| plan.combinations(ix)).collect();
        let (seconds, thirds): (Vec<Vec<f64>>, Vec<Vec<f64>>) = (0..n)
            .into_par_iter()
            .map(|ix| {
                let second = self.cross(&rows[ix], &rows[ix]);
                let third = thirds(&plan, ix, &second, &products[ix]);
                (second, third)
            })
            .unzip();
        let edges = plan.edges.par_iter().map(|&(a, b)| self.cross(&rows[a], &rows[b])).collect();
        let neighbours: Vec<Vec<f64>> =
            plan.neighbours.par_iter().map(|it| self.of_features(&it.features, &rows[it.views])).collect();
        let observed = plan.observed.par_iter().map(|it| self.observed(it)).collect();
        Summaries::of_known(plan, self.pairs.total_weight(), [seconds, thirds, edges], neighbours.concat(), observed)
    }

    /// `E[a bᵀ]` of two hidden nodes, from the numbers of their `a` as sums of weighted coordinates.
    fn cross(&self, a: &[Vec<(usize, f64)>], b: &[Vec<(usize, f64)>]) -> Vec<f64> {
        let mean = |sum: &[(usize, f64)]| sum.iter().map(|&(place, weight)| weight * self.mean(place)).sum::<f64>();
        let mut cells = vec![0.0; (a.len() + 1) * (b.len() + 1)];
        cells[0] = 1.0;
        b.iter().enumerate().for_each(|(j, y)| cells[j + 1] = mean(y));
        for (i, x) in a.iter().enumerate() {
            let cells = &mut cells[(i + 1) * (b.len() + 1)..][..b.len() + 1];
            cells[0] = mean(x);
            for (cell, y) in cells[1..].iter_mut().zip(b) {
                *cell = x.iter().flat_map(|&(p, u)| y.iter().map(move |&(q, v)| u * v * self.second(p, q))).sum();
            }
        }
        cells
    }

    fn mean(&self, p: usize) -> f64 {
        let it = &self.coordinates[p];
        let (sum, weight) = (self.pairs.feature_sum(it.column, it.feature, it.column), self.pairs.weight(it.column));
        (sum - it.mean * weight) * it.scale / self.pairs.total_weight()
    }

    /// `E[φ aᵀ]` of a column, features as rows.
    fn of_features(&self, features: &Features, rows: &[Vec<(usize, f64)>]) -> Vec<f64> {
        let (weight, width) = (self.pairs.total_weight(), rows.len() + 1);
        let mut cells = vec![0.0; features.len() * width];
        for (feature, sum) in self.with_constant(features, ColIx::new(features.column)).into_iter().enumerate() {
            cells[feature * width] = sum / weight;
        }
        for (at, row) in rows.iter().enumerate() {
            for &(place, factor) in row {
                let it = self.coordinates[place];
                let sums = self.with_feature(features, (it.column, it.feature, it.mean));
                for (feature, sum) in sums.into_iter().enumerate() {
                    cells[feature * width + at + 1] += factor * it.scale * sum / weight;
                }
            }
        }
        cells
    }

    /// `Σ w φ` of a column over the rows where it and another are present.
    fn with_constant(&self, features: &Features, other: ColIx) -> Vec<f64> {
        let column = ColIx::new(features.column);
        let present = self.pairs.pair_weight(column, other);
        let sum = |feature: usize| self.pairs.feature_sum(column, feature, other);
        self.completed(features, present, sum)
    }

    /// `Σ w φ (ψ − m)` of a column and a feature ψ of any column, over the rows where both are present.
    fn with_feature(&self, features: &Features, (other, which, mean): (ColIx, usize, f64)) -> Vec<f64> {
        let column = ColIx::new(features.column);
        let present = self.pairs.feature_sum(other, which, column) - mean * self.pairs.pair_weight(column, other);
        let sum = |feature: usize| self.pairs.product_about((column, feature, 0.0), (other, which, mean));
        self.completed(features, present, sum)
    }

    /// Sums with φ from the sum with 1 and those with the features of the moments.
    fn completed(&self, features: &Features, present: f64, sum: impl Fn(usize) -> f64) -> Vec<f64> {
        let column = ColIx::new(features.column);
        match (features.n_labels, self.pairs.n_features(column)) {
            (0, _) => {
                let shift = features.mean - self.pairs.shift(column);
                vec![present, (sum(0) - shift * present) * features.scale]
            }
            // A column of two labels has its second one among the moments.
            (2, 1) => {
                let one = sum(0);
                vec![present - one, one]
            }
            (n_labels, _) => (0..n_labels).map(sum).collect(),
        }
    }

    /// Sums of the features of an observed child in each label of its parent.
    fn observed(&self, it: &ObservedChild) -> BTreeMap<(u32, u32), f64> {
        let (parent, child) = (ColIx::new(it.parent), ColIx::new(it.features.column));
        let labels = Features { column: it.parent, n_labels: it.parent_labels, squared: false, mean: 0.0, scale: 1.0 };
        let mut sums: Vec<Vec<f64>> = Vec::new();
        match it.features.n_labels {
            0 => {
                sums.push(self.with_constant(&labels, child));
                let mean = it.features.mean - self.pairs.shift(child);
                let z = self.with_feature(&labels, (child, 0, mean));
                sums.push(z.into_iter().map(|sum| sum * it.features.scale).collect());
            }
            n_labels => {
                let table = self.pairs.table(parent, child).unwrap_or_default();
                sums.extend((0..n_labels).map(|label| table.iter().skip(label).step_by(n_labels).copied().collect::<Vec<f64>>()));
            }
        }
        let of = |(feature, sums): (usize, Vec<f64>)| {
            sums.into_iter().enumerate().map(move |(label, sum)| ((label as u32, feature as u32), sum))
        };
        sums.into_iter().enumerate().flat_map(of).collect()
    }
}
