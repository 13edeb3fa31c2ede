//! The M-step.

use super::ExpectedCounts;
use crate::error::{Error, Place, Result};
use crate::index::{ColIx, NodeIx};
use crate::inference::emission_size;
use crate::model::{Distribution, Emission, LatentTree, Table};

/// A hidden state with an expected weight below this many rows is dead.
pub const DEAD_WEIGHT: f64 = 0.5;

/// Variances are never below this share of the column's squared size, so that densities stay finite on a constant column.
const MIN_VARIANCE: f64 = 1e-12;

/// The variance that the prior of variances expects in a state, as a share of the variance of the column.
pub(crate) const PRIOR_VARIANCE: f64 = 0.02;

/// What keeps parameters away from the border.
///
/// A pseudo-count is a Dirichlet prior: the objective gains `pseudo_count · Σ ln θ` over the cells of all tables. The weight `ν` of
/// variances is an inverse gamma prior: the objective gains `−½ ν (ln σ² + s/σ²)` for every continuous variable in every state, where
/// `s` is a fiftieth of the variance of the column. Floors bound the variances and rates that are searched, and so does the
/// [resolution](crate::data::Schema::resolution) of a column; within the bounds every step is exact.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Smoothing {
    /// Added to every cell of every table, ≥ 0; by default 0.01. Zero cells destroy held-out scores: with 0 a cell that no row shows has probability zero.
    pub pseudo_count: f64,
    /// Least variance of a continuous variable in a state, as a share of the variance of its column; by default 1e-4.
    pub variance_floor: f64,
    /// Least rate of a count variable in a state, as a share of the mean of its column; by default 1e-6.
    pub rate_floor: f64,
    /// Rows that the prior of a variance is worth in every state; by default 1. Without it, a state of three rows that happen to be
    /// close would pay for itself.
    pub variance_weight: f64,
}

impl Default for Smoothing {
    fn default() -> Self {
        Self { pseudo_count: 0.01, variance_floor: 1e-4, rate_floor: 1e-6, variance_weight: 1.0 }
    }
}

impl Smoothing {
    /// No priors: plain maximum likelihood, with the default floors.
    #[must_use]
    pub fn none() -> Self {
        Self { pseudo_count: 0.0, variance_weight: 0.0, ..Self::default() }
    }

    /// What a search uses: the default, and up to ten times its pseudo-count for tables of fewer than 2,000 rows, where a label that no
    /// row of a small state has is no evidence that none ever will.
    #[must_use]
    pub fn for_search(n_rows: f64) -> Self {
        Self::pseudo_count((20.0 / n_rows.max(1.0)).clamp(0.01, 0.1))
    }

    /// This pseudo-count, with the other defaults.
    #[must_use]
    pub fn pseudo_count(pseudo_count: f64) -> Self {
        Self { pseudo_count, ..Self::default() }
    }

    pub(super) fn check(&self) -> Result<()> {
        let range = |name: &str, value: f64, largest: f64| {
            if (0.0..=largest).contains(&value) {
                Ok(())
            } else {
                Err(Error::option(name, format!("{value} is not a number from 0 to {largest}")))
            }
        };
        range("em.smoothing", self.pseudo_count, 1e9)?;
        range("variance-floor", self.variance_floor, 1.0)?;
        range("rate-floor", self.rate_floor, 1.0)?;
        range("variance-weight", self.variance_weight, 1e9)
    }

    /// What the priors add to the log-likelihood of the rows that were counted, up to a constant.
    #[must_use]
    pub fn penalty(&self, counts: &ExpectedCounts) -> f64 {
        let model = &counts.model;
        let mut sum = 0.0;
        if self.pseudo_count > 0.0 {
            sum += self.pseudo_count * model.tree().node_ixs().map(|node| ln_cells(model.distribution(node))).sum::<f64>();
        }
        if self.variance_weight > 0.0 {
            let of_node = |node: NodeIx| match model.distribution(node) {
                Distribution::Emission(emission) => ln_variances(emission, &counts.sums.counts[counts.layout.range(node)]),
                _ => 0.0,
            };
            sum -= 0.5 * self.variance_weight * model.tree().node_ixs().map(of_node).sum::<f64>();
        }
        sum
    }
}

/// The sum of `ln σ² + s/σ²` over the states of continuous variables.
fn ln_variances(emission: &Emission, counts: &[f64]) -> f64 {
    match emission {
        Emission::Gaussian { variances, .. } => {
            let expected = PRIOR_VARIANCE * column_moments(counts).map_or(0.0, |it| it.1);
            variances.iter().map(|variance| variance.ln() + expected / variance).sum()
        }
        Emission::Group(members) => {
            let mut rest = counts;
            let of_member = |member: &Emission| {
                let (own, after) = rest.split_at(emission_size(member));
                rest = after;
                ln_variances(member, own)
            };
            members.iter().map(of_member).sum()
        }
        Emission::Categorical(_) | Emission::Poisson { .. } => 0.0,
    }
}

fn ln_cells(distribution: &Distribution) -> f64 {
    fn of_emission(emission: &Emission) -> f64 {
        match emission {
            Emission::Categorical(table) => of_table(table),
            Emission::Group(members) => members.iter().map(of_emission).sum(),
            Emission::Gaussian { .. } | Emission::Poisson { .. } => 0.0,
        }
    }
    fn of_table(table: &Table) -> f64 {
        table.values().iter().map(|value| value.ln()).sum()
    }
    match distribution {
        Distribution::Discrete(table) => of_table(table),
        Distribution::Emission(emission) => of_emission(emission),
        Distribution::LinearGaussian { .. } => 0.0,
    }
}

/// Of a column: what is taken off its numbers, and the variance that its resolution asks for.
#[derive(Debug, Clone, Copy)]
struct Scale {
    shift: f64,
    least: f64,
}

fn scales(counts: &ExpectedCounts, model: &LatentTree, columns: &[ColIx]) -> Vec<Scale> {
    let of = |&column: &ColIx| Scale { shift: counts.layout.shifts[column.get()], least: model.schema().least_variance(column) };
    columns.iter().map(of).collect()
}

pub(super) fn maximise(counts: &ExpectedCounts, smoothing: &Smoothing) -> Result<LatentTree> {
    let sums = &counts.sums;
    if sums.weight <= 0.0 {
        return Err(Error::data(Place::default(), "there are no rows with a positive weight to learn from"));
    }
    if sums.impossible_rows > 0 && smoothing.pseudo_count == 0.0 {
        let problem = format!(
            "EM cannot learn from {} with probability zero under the model; start from another model, or use smoothing",
            crate::counted(sums.impossible_rows, "row")
        );
        return Err(Error::data(Place::default(), problem));
    }
    let model = &counts.model;
    let mut distributions = Vec::with_capacity(model.tree().n_nodes());
    for node in model.tree().node_ixs() {
        let own = &sums.counts[counts.layout.range(node)];
        distributions.push(match model.distribution(node) {
            Distribution::Discrete(table) => Distribution::Discrete(maximal_table(table, own, smoothing)),
            Distribution::Emission(emission) => {
                let variable = model.variable(node).expect("an emitter is observed");
                let columns = &model.schema().variable(variable).columns;
                let scales = scales(counts, model, columns);
                Distribution::Emission(maximal_emission(emission, own, &scales, smoothing))
            }
            Distribution::LinearGaussian { .. } => maximal_regression(model, node, own, smoothing),
        });
    }
    let is_gaussian = distributions.iter().any(|it| matches!(it, Distribution::LinearGaussian { .. }));
    if is_gaussian {
        scale_hidden(model, &mut distributions);
    }
    model.with_distributions(distributions)
}

/// The model with its variances and rates raised to the floors that the data behind the counts (of a model on the same tree) ask for.
pub(super) fn floored(model: &LatentTree, counts: &ExpectedCounts, smoothing: &Smoothing) -> Result<LatentTree> {
    let mut distributions = Vec::with_capacity(model.tree().n_nodes());
    for node in model.tree().node_ixs() {
        let own = &counts.sums.counts[counts.layout.range(node)];
        distributions.push(match model.distribution(node) {
            Distribution::Emission(emission) => {
                let variable = model.variable(node).expect("an emitter is observed");
                let columns = &model.schema().variable(variable).columns;
                let scales = scales(counts, model, columns);
                Distribution::Emission(floored_emission(emission, own, &scales, smoothing))
            }
            Distribution::LinearGaussian { mean, coefficient, variance } if model.variable(node).is_some() => {
                let least = least_residual(&counts.model, node, own, smoothing).unwrap_or(0.0);
                Distribution::LinearGaussian { mean: *mean, coefficient: *coefficient, variance: variance.max(least) }
            }
            other => other.clone(),
        });
    }
    model.with_distributions(distributions)
}

fn floored_emission(emission: &Emission, counts: &[f64], scales: &[Scale], smoothing: &Smoothing) -> Emission {
    match emission {
        Emission::Categorical(_) => emission.clone(),
        Emission::Gaussian { means, variances } => {
            let least = gaussian_floor(counts, scales[0], smoothing);
            Emission::Gaussian { means: means.clone(), variances: variances.iter().map(|it| it.max(least)).collect() }
        }
        Emission::Poisson { rates } => {
            let least = poisson_floor(counts, smoothing);
            Emission::Poisson { rates: rates.iter().map(|rate| rate.max(least)).collect() }
        }
        Emission::Group(members) => {
            let mut rest = counts;
            let members = members.iter().zip(scales).map(|(member, &scale)| {
                let (own, after) = rest.split_at(emission_size(member));
                rest = after;
                floored_emission(member, own, &[scale], smoothing)
            });
            Emission::Group(members.collect())
        }
    }
}

/// Least variance of a continuous leaf; the sums over the states of its parent are sums over the data alone.
fn gaussian_floor(counts: &[f64], scale: Scale, smoothing: &Smoothing) -> f64 {
    let of = |(distance, variance)| least_variance(scale.shift + distance, variance, scale.least, smoothing);
    column_moments(counts).map_or(0.0, of)
}

/// Mean and variance of the column of a continuous leaf, less its shift.
fn column_moments(counts: &[f64]) -> Option<(f64, f64)> {
    let totals = counts.chunks_exact(3).fold([0.0; 3], |sum, it| [sum[0] + it[0], sum[1] + it[1], sum[2] + it[2]]);
    let mean = totals[1] / totals[0];
    (totals[0] > 0.0).then(|| (mean, totals[2] / totals[0] - mean * mean))
}

/// Least rate of a count leaf.
fn poisson_floor(counts: &[f64], smoothing: &Smoothing) -> f64 {
    let (weight, sum) = counts.chunks_exact(2).fold((0.0, 0.0), |it, sums| (it.0 + sums[0], it.1 + sums[1]));
    if weight <= 0.0 { 0.0 } else { smoothing.rate_floor * (sum / weight).max(1.0 / (weight + 1.0)) }
}

/// Least noise variance of an observed node of a Gaussian tree.
fn least_residual(model: &LatentTree, node: NodeIx, sums: &[f64], smoothing: &Smoothing) -> Option<f64> {
    let Distribution::LinearGaussian { mean, .. } = *model.distribution(node) else { return None };
    (model.variable(node).is_some() && sums[6] > 0.0).then(|| {
        let known = sums[7] / sums[6];
        let column = model.schema().variable(model.variable(node).expect("checked above")).columns[0];
        least_variance(mean + known, sums[8] / sums[6] - known * known, model.schema().least_variance(column), smoothing)
    })
}

fn maximal_table(table: &Table, counts: &[f64], smoothing: &Smoothing) -> Table {
    let n_states = table.n_states();
    let mut values = Vec::with_capacity(counts.len());
    for (counts, old) in counts.chunks_exact(n_states).zip(table.rows()) {
        let total: f64 = counts.iter().map(|count| count.max(0.0) + smoothing.pseudo_count).sum();
        if total > 1e-200 {
            values.extend(counts.iter().map(|count| (count.max(0.0) + smoothing.pseudo_count) / total));
        } else {
            values.extend_from_slice(old);
        }
    }
    Table::new(n_states, values)
}

fn maximal_emission(emission: &Emission, counts: &[f64], scales: &[Scale], smoothing: &Smoothing) -> Emission {
    match emission {
        Emission::Categorical(table) => Emission::Categorical(maximal_table(table, counts, smoothing)),
        Emission::Gaussian { means, variances } => {
            let weight = smoothing.variance_weight;
            let prior = weight * PRIOR_VARIANCE * column_moments(counts).map_or(0.0, |it| it.1);
            let of = |sums: &[f64]| {
                let distance = sums[1] / sums[0];
                let variance = sums[2] / sums[0] - distance * distance;
                (scales[0].shift + distance, (sums[0] * variance + prior) / (sums[0] + weight))
            };
            let least = gaussian_floor(counts, scales[0], smoothing);
            let parts = counts.chunks_exact(3).zip(means.iter().zip(variances));
            let parts = parts.map(|(sums, (&mean, &variance))| if sums[0] > 1e-200 { of(sums) } else { (mean, variance) });
            let (means, variances) = parts.map(|(mean, variance)| (mean, variance.max(least))).unzip();
            Emission::Gaussian { means, variances }
        }
        Emission::Poisson { rates } => {
            let least = poisson_floor(counts, smoothing);
            let parts = counts.chunks_exact(2).zip(rates);
            let parts = parts.map(|(sums, &rate)| if sums[0] > 1e-200 { sums[1] / sums[0] } else { rate });
            Emission::Poisson { rates: parts.map(|rate| rate.max(least)).collect() }
        }
        Emission::Group(members) => {
            let mut rest = counts;
            let members = members.iter().zip(scales).map(|(member, &scale)| {
                let (own, after) = rest.split_at(emission_size(member));
                rest = after;
                maximal_emission(member, own, &[scale], smoothing)
            });
            Emission::Group(members.collect())
        }
    }
}

/// `least` is what the resolution of the column asks for. A column that hardly varies has it no larger than its variance.
fn least_variance(mean: f64, variance: f64, least: f64, smoothing: &Smoothing) -> f64 {
    (smoothing.variance_floor * variance).max(least.min(variance)).max(MIN_VARIANCE * (mean * mean + MIN_VARIANCE))
}

fn maximal_regression(model: &LatentTree, node: NodeIx, sums: &[f64], smoothing: &Smoothing) -> Distribution {
    let old = model.distribution(node);
    let Distribution::LinearGaussian { mean: old_mean, .. } = *old else { return old.clone() };
    let weight = sums[0];
    let (own, parent) = (sums[1] / weight, sums[2] / weight);
    let (variance, covariance) = (sums[3] / weight - own * own, sums[4] / weight - own * parent);
    let parent_variance = sums[5] / weight - parent * parent;
    let coefficient = if parent_variance > 0.0 { covariance / parent_variance } else { 0.0 };
    let least = least_residual(model, node, sums, smoothing).unwrap_or(1e-9 * variance);
    let residual = (variance - coefficient * covariance).max(least);
    if residual > 0.0 && residual.is_finite() && coefficient.is_finite() && own.is_finite() {
        Distribution::LinearGaussian { mean: old_mean + own, coefficient, variance: residual }
    } else {
        old.clone()
    }
}

/// Gives every hidden node mean 0 and variance 1; the distribution of observed nodes stays as it is.
fn scale_hidden(model: &LatentTree, distributions: &mut [Distribution]) {
    let mut marginal = vec![0.0; distributions.len()];
    let mut scale = vec![1.0; distributions.len()];
    for &node in &model.rooted().order {
        let ix = node.get();
        let Distribution::LinearGaussian { mean, coefficient, variance } = &mut distributions[ix] else { continue };
        let parent = model.parent(node).map(NodeIx::get);
        marginal[ix] = *variance + parent.map_or(0.0, |parent| *coefficient * *coefficient * marginal[parent]);
        if model.variable(node).is_none() {
            scale[ix] = 1.0 / marginal[ix].sqrt();
            *mean = 0.0;
        }
        *coefficient *= scale[ix] / parent.map_or(1.0, |parent| scale[parent]);
        *variance *= scale[ix] * scale[ix];
    }
}
