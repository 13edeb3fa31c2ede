//! Estimates a spectral model from rows in two passes.

use std::sync::Arc;

use super::labels::Labels;
use super::linkers::{Linkers, Rank, Sides, tables};
use super::model::{Parts, SpectralEdge, SpectralMethod, SpectralModel, check_discrete, variables_of};
use super::network::{End, Network};
use super::pair_tables::PairTables;
use super::triples::{TriplePlan, Triples};
use crate::data::{BatchSource, Schema};
use crate::error::{Error, Place, Result};
use crate::linalg::jacobi_svd;
use crate::memory::MemoryBudget;
use crate::model::Provenance;
use crate::moments::fold;
use crate::observer::Observer;
use crate::tree::Tree;

/// Singular values below this share of the largest are not inverted.
const SINGULAR: f64 = 1e-9;
/// Maximum number of labels of a column.
const MOST_LABELS: usize = 2000;
/// Maximum number of edges whose reduced rank is reported individually.
const TOLD: usize = 5;
/// Maximum number of rounds of scaling a table to its margins.
const SCALINGS: usize = 200;

/// Options of [`spectral`].
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct SpectralOptions {
    /// Number of dimensions of each edge, that is, the assumed number of hidden states; as many as the data support if
    /// `None`.
    pub hidden_states: Option<usize>,
    /// The variables that represent a branch.
    pub linkers: Linkers,
    /// Memory limit for the tables of the first pass.
    pub memory: MemoryBudget,
}

impl SpectralOptions {
    /// Options with this number of dimensions, or with as many as the data support.
    #[must_use]
    pub fn new(hidden_states: Option<usize>) -> Self {
        Self { hidden_states, linkers: Linkers::default(), memory: MemoryBudget::default() }
    }

    /// Sets the variables that represent a branch.
    #[must_use]
    pub fn linkers(mut self, linkers: Linkers) -> Self {
        self.linkers = linkers;
        self
    }

    /// Sets the memory limit for the tables of the first pass.
    #[must_use]
    pub fn memory(mut self, memory: MemoryBudget) -> Self {
        self.memory = memory;
        self
    }

    fn rank(&self) -> Result<Rank> {
        match self.hidden_states {
            None => Ok(Rank::Auto),
            Some(k) if k >= 2 => Ok(Rank::Fixed(k)),
            Some(k) => Err(Error::option("parameters.hidden_states", format!("{k} given; it must be at least 2"))),
        }
    }
}

/// A fitted spectral model and its warnings.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SpectralFit {
    /// The model.
    pub model: SpectralModel,
    /// Warnings for the user.
    pub warnings: Vec<String>,
}

/// The leading singular values of each edge, and their noise level.
pub(super) type Spectra = Vec<(Vec<f64>, f64)>;

/// The input shared by both passes.
pub(super) struct Problem {
    pub(super) schema: Arc<Schema>,
    pub(super) tree: Tree,
    pub(super) network: Network,
    pub(super) labels: Labels,
    sides: Sides,
    linkers: Linkers,
    rank: Rank,
}

impl Problem {
    pub(super) fn new(tree: &Tree, schema: &Arc<Schema>, options: &SpectralOptions) -> Result<Self> {
        let rank = options.rank()?;
        check_discrete(schema)?;
        let labels = Labels::new(schema);
        if let Some(wide) = labels.n_labels.iter().position(|&n| n > MOST_LABELS) {
            let problem = format!(
                "it has {} labels, and spectral methods take {MOST_LABELS} at most; join rare labels (`read.min_count`), or use \
                 `parameters.method` moments+em",
                labels.n_labels[wide]
            );
            return Err(Error::data(Place::default().column(&schema.variables()[wide].name), problem));
        }
        let (network, lengths) = Network::new(tree, &variables_of(tree, schema)?)?;
        let sides = Sides::new(&network, &lengths, &labels, options.linkers);
        Ok(Self { schema: Arc::clone(schema), tree: tree.clone(), network, labels, sides, linkers: options.linkers, rank })
    }

    /// The accumulator of the first pass, without rows.
    pub(super) fn first(&self, memory: MemoryBudget) -> Result<PairTables> {
        let plan = self.sides.pairs(self.labels.clone(), self.linkers);
        let what = format!("counting {} pairs of columns", plan.n_pairs());
        memory.check(&what, plan.n_bytes(), "leave out columns or join their rare labels, or use `parameters.linkers` single")?;
        Ok(tables(plan))
    }

    fn names(&self) -> Vec<&str> {
        self.schema.variables().iter().map(|variable| variable.name.as_str()).collect()
    }

    /// Fails if a column was never present or there are too few rows.
    pub(super) fn check_seen(&self, pairs: &PairTables, rows: f64) -> Result<()> {
        let names = self.names();
        if let Some(absent) = pairs.singles.iter().position(|counts| counts.iter().sum::<f64>() <= 0.0) {
            return Err(Error::data(
                Place::default().column(names[absent]),
                "it has no value in any row; leave the column out".to_owned(),
            ));
        }
        if let Rank::Fixed(k) = self.rank
            && rows < k as f64
        {
            let problem =
                format!("{rows} rows are fewer than the {k} hidden states; use more rows or fewer `parameters.hidden_states`");
            return Err(Error::data(Place::default(), problem));
        }
        Ok(())
    }

    /// The accumulator of the second pass, without rows, and the singular values of all edges. `rows` is the number of rows
    /// that determines the noise level.
    pub(super) fn second(&self, pairs: &PairTables, rows: f64) -> Result<(Triples, Spectra, Vec<String>)> {
        let names = self.names();
        let describe = |edge: usize| self.network.describe(edge, &self.tree, &names);
        self.check_seen(pairs, rows)?;
        let linked = self.sides.linked(pairs, self.linkers, self.rank, rows, describe)?;
        let mut lowered = Vec::new();
        if let Rank::Fixed(k) = self.rank {
            for (edge, linked) in linked.iter().enumerate().filter(|(edge, it)| it.rank < k && !self.network.is_pair(*edge)) {
                let values: Vec<String> = linked.spectrum.values.iter().take(k - 1).map(|value| format!("{value:.3}")).collect();
                let values = if values.is_empty() { "none".to_owned() } else { values.join(", ") };
                lowered.push(format!(
                    "{}: {} instead of {k} dimensions; canonical correlations {values}, noise {:.3}",
                    describe(edge),
                    linked.rank,
                    linked.spectrum.noise
                ));
            }
        }
        let warnings = lowered_warning(lowered);
        let spectra =
            linked.iter().map(|it| (it.spectrum.values.iter().take(16).copied().collect(), it.spectrum.noise)).collect();
        let plan = TriplePlan {
            labels: self.labels.clone(),
            network: self.network.clone(),
            ranks: linked.iter().map(|it| it.rank).collect(),
            summaries: linked.into_iter().map(|it| it.summaries).collect(),
        };
        Ok((Triples::new(Arc::new(plan)), spectra, warnings))
    }

    /// Fails if no row has values for the summaries of two branches of a joint: the branches would look independent.
    fn check_together(&self, triples: &Triples) -> Result<()> {
        let plan = &triples.plan;
        for (sums, edges) in triples.joints.iter().zip(&self.network.joints) {
            let ranks = edges.map(|edge| plan.ranks[edge]);
            let strides = [ranks[1] * ranks[2], ranks[2], 1];
            for [a, b] in [[0, 1], [0, 2], [1, 2]].into_iter().filter(|ports| ports.iter().all(|&port| ranks[port] > 1)) {
                let mut cells = (1..ranks[a]).flat_map(|i| (1..ranks[b]).map(move |j| i * strides[a] + j * strides[b]));
                if cells.all(|cell| sums[cell] == 0.0) {
                    let names = self.names();
                    let [a, b] = [a, b].map(|port| self.network.describe(edges[port], &self.tree, &names));
                    let mut problem = format!(
                        "the columns beyond {a} and those beyond {b} that stand for these branches are never present in the same row, \
                                 so nothing can be learned about how they depend; use rows that have both, leave out one side"
                    );
                    if self.linkers == Linkers::Single {
                        problem.push_str(", use `parameters.linkers` stacked");
                    }
                    problem.push_str(", or use `parameters.method` moments+em");
                    return Err(Error::data(Place::default(), problem));
                }
            }
        }
        Ok(())
    }

    /// Builds the model from the sums of the second pass.
    pub(super) fn model(&self, triples: Triples, spectra: Spectra, provenance: Provenance) -> Result<SpectralModel> {
        let weight = triples.weight;
        if weight.is_nan() || weight <= 0.0 {
            return Err(Error::data(Place::default(), "there are no rows with a positive weight to learn from"));
        }
        let present: Vec<f64> = triples.singles.iter().map(|counts| counts.iter().sum()).collect();
        let marginals: Vec<Vec<f64>> = (triples.singles.iter().zip(&present))
            .map(|(counts, present)| counts.iter().map(|count| count / present.max(f64::MIN_POSITIVE)).collect())
            .collect();
        let plan = &triples.plan;
        let mut edges = Vec::with_capacity(plan.ranks.len());
        for (edge, (values, noise)) in spectra.into_iter().enumerate() {
            let k = plan.ranks[edge];
            let (link, labels) = match self.network.edges[edge] {
                [End::Variable(a), End::Variable(b)] => {
                    (Vec::new(), pair_table(&triples.labels[edge], &marginals[a], &marginals[b]))
                }
                ends => {
                    let moments: Vec<f64> = triples.edges[edge].iter().map(|sum| sum / weight).collect();
                    let sizes = plan.summaries[edge].each_ref().map(|summary| {
                        summary.variables.iter().map(|&variable| marginals[variable].len().saturating_sub(1)).sum()
                    });
                    let link = shrunk_inverse(&moments, k, noise, sizes);
                    let mut labels: Vec<f64> = Vec::new();
                    for (side, end) in ends.into_iter().enumerate() {
                        let End::Variable(variable) = end else { continue };
                        labels = triples.labels[edge].iter().map(|sum| sum / present[variable]).collect();
                        balance(&mut labels, &marginals[variable], &moments, side);
                    }
                    (link, labels)
                }
            };
            edges.push(SpectralEdge { rank: k, link, labels, values, noise, summaries: plan.summaries[edge].clone() });
        }
        self.check_together(&triples)?;
        let joints = triples.joints.iter().map(|sums| sums.iter().map(|sum| sum / weight).collect()).collect();
        let parts = Parts { method: SpectralMethod::Spectral(self.linkers), weight, marginals, joints, edges };
        SpectralModel::new(Arc::clone(&self.schema), self.tree.clone(), parts, provenance)
    }
}

/// Estimates a spectral model of a tree in two passes over the rows: one finds the summaries of all branches, the other their
/// moments.
///
/// # Errors
/// [`Error::Data`] for columns without labels, for too few rows, and for columns that are never present together;
/// [`Error::Tree`] if the tree does not fit the columns or a hidden node has fewer than three neighbours; and any error from
/// the source.
pub fn spectral(
    tree: &Tree,
    source: &mut dyn BatchSource,
    options: &SpectralOptions,
    observer: &dyn Observer,
) -> Result<SpectralFit> {
    let problem = Problem::new(tree, source.schema(), options)?;
    observer.stage("summaries", source.n_rows_hint());
    let pairs = fold(source, problem.first(options.memory)?, observer)?;
    source.rewind()?;
    let (triples, spectra, warnings) = problem.second(&pairs, pairs.weight)?;
    drop(pairs);
    observer.stage("triples", source.n_rows_hint());
    let triples = fold(source, triples, observer)?;
    source.rewind()?;
    let model = problem.model(triples, spectra, Provenance::default())?;
    Ok(SpectralFit { model, warnings })
}

/// Warnings about edges whose rank was reduced.
pub(super) fn lowered_warning(mut lowered: Vec<String>) -> Vec<String> {
    let n = lowered.len();
    if n == 0 {
        return Vec::new();
    }
    let more = if n > TOLD { format!("; and {} more", n - TOLD) } else { String::new() };
    lowered.truncate(TOLD);
    let edges = lowered.join("; ");
    let (subject, verb) = if n == 1 { ("1 edge does".to_owned(), "has") } else { (format!("{n} edges do"), "have") };
    vec![format!("{subject} not support the number of hidden states, and {verb} fewer dimensions: {edges}{more}")]
}

/// The joint table of two variables, scaled to their margins: with missing cells, the rows that have both variables have
/// different margins, and labels may be absent from them. What scaling cannot correct is spread out independently.
pub(super) fn pair_table(sums: &[f64], left: &[f64], right: &[f64]) -> Vec<f64> {
    let total: f64 = sums.iter().sum();
    let m = right.len();
    if total <= 0.0 {
        return left.iter().flat_map(|p| right.iter().map(move |q| p * q)).collect();
    }
    let mut table: Vec<f64> = sums.iter().map(|sum| sum / total).collect();
    let factor = |wanted: f64, sum: f64| if sum > 0.0 { wanted / sum } else { 0.0 };
    for _ in 0..SCALINGS {
        for (row, &p) in table.chunks_exact_mut(m).zip(left) {
            let factor = factor(p, row.iter().sum());
            row.iter_mut().for_each(|cell| *cell *= factor);
        }
        let mut off: f64 = 0.0;
        for (column, &q) in right.iter().enumerate() {
            let factor = factor(q, table[column..].iter().step_by(m).sum());
            table[column..].iter_mut().step_by(m).for_each(|cell| *cell *= factor);
            off = off.max((factor - 1.0).abs() * q);
        }
        if off < 1e-15 {
            break;
        }
    }
    // Scales down what is above its margin, and adds what is below (Altschuler, Weed and Rigollet, 2017).
    let at_most = |wanted: f64, sum: f64| if sum > wanted { wanted / sum } else { 1.0 };
    let mut short = vec![0.0; left.len()];
    for (row, &p) in table.chunks_exact_mut(m).zip(left) {
        let factor = at_most(p, row.iter().sum());
        row.iter_mut().for_each(|cell| *cell *= factor);
    }
    let mut short_columns = vec![0.0; m];
    for (column, &q) in right.iter().enumerate() {
        let factor = at_most(q, table[column..].iter().step_by(m).sum());
        table[column..].iter_mut().step_by(m).for_each(|cell| *cell *= factor);
        short_columns[column] = (q - table[column..].iter().step_by(m).sum::<f64>()).max(0.0);
    }
    for (short, (row, &p)) in short.iter_mut().zip(table.chunks_exact(m).zip(left)) {
        *short = (p - row.iter().sum::<f64>()).max(0.0);
    }
    let missing: f64 = short_columns.iter().sum();
    if missing > 0.0 {
        for (row, short) in table.chunks_exact_mut(m).zip(&short) {
            row.iter_mut().zip(&short_columns).for_each(|(cell, column)| *cell += short * column / missing);
        }
    }
    table
}

/// Adjusts `E[1{x = label} s]` of a variable so that it sums to `E[s]` over the labels, and so that each label has its own
/// probability. With missing cells, both hold only approximately.
fn balance(labels: &mut [f64], marginal: &[f64], moments: &[f64], side: usize) {
    let k = labels.len() / marginal.len();
    // The mean of the other side's summary: its moment with the constant of this side.
    let mean = |b: usize| if side == 0 { moments[b] } else { moments[b * k] };
    for b in 0..k {
        let excess: f64 = mean(b) - labels[b..].iter().step_by(k).sum::<f64>();
        labels[b..].iter_mut().step_by(k).zip(marginal).for_each(|(cell, p)| *cell += p * excess);
    }
    labels.iter_mut().step_by(k).zip(marginal).for_each(|(cell, p)| *cell = *p);
}

/// The inverse of a square matrix on the subspace where it is not singular.
pub(super) fn pseudo_inverse(matrix: &[f64], n: usize) -> Vec<f64> {
    inverse_with(matrix, n, |_, _| 1.0)
}

/// The inverse of the moments `E[s₀ s₁ᵀ]` of two summaries with unit variance whose first entry is 1. Covariances are shrunk
/// according to the noise of their directions; entries that involve the constant stay exact.
///
/// Directions that were fitted to some rows correlate more on those rows than on others. `noise` is the largest canonical
/// correlation expected of independent sides of these sizes.
fn shrunk_inverse(moments: &[f64], n: usize, noise: f64, sizes: [usize; 2]) -> Vec<f64> {
    if n < 2 {
        return vec![1.0; n];
    }
    let k = n - 1;
    // Means of side 0 are in the first column, means of side 1 in the first row.
    let (mean_0, mean_1) = (|i: usize| moments[(i + 1) * n], |j: usize| moments[j + 1]);
    let covariance: Vec<f64> =
        (0..k * k).map(|at| moments[(at / k + 1) * n + at % k + 1] - mean_0(at / k) * mean_1(at % k)).collect();
    let inner = inverse_with(&covariance, k, |_, value| kept_share(value, noise, sizes).sqrt());
    let mut out = vec![0.0; n * n];
    out[0] = 1.0;
    for row in 0..k {
        for column in 0..k {
            let cell = inner[row * k + column];
            out[(row + 1) * n + column + 1] = cell;
            out[column + 1] -= mean_1(row) * cell;
            out[(row + 1) * n] -= cell * mean_0(column);
            out[0] += mean_1(row) * cell * mean_0(column);
        }
    }
    out
}

/// The share of a canonical correlation that the same directions retain on new rows: the optimal shrinkage, for squared
/// error, of the singular values of a low-rank matrix with noise (Gavish and Donoho, 2017).
pub(super) fn kept_share(value: f64, noise: f64, sizes: [usize; 2]) -> f64 {
    let (smaller, larger) = (sizes[0].min(sizes[1]).max(1) as f64, sizes[0].max(sizes[1]).max(1) as f64);
    let ratio = smaller / larger;
    // In units where the noise of independent sides reaches 1 + √ratio.
    let square = (value / noise * (1.0 + ratio.sqrt())).powi(2);
    if value <= noise {
        return 0.0;
    }
    ((square - ratio - 1.0).powi(2) - 4.0 * ratio).max(0.0).sqrt() / square
}

/// The inverse of a square matrix on the subspace where it is not singular, with a factor for each singular value.
fn inverse_with(matrix: &[f64], n: usize, factor: impl Fn(usize, f64) -> f64) -> Vec<f64> {
    let svd = jacobi_svd(matrix, n, n);
    let least = SINGULAR * svd.values.first().copied().unwrap_or(0.0);
    let mut out = vec![0.0; n * n];
    for (ix, &value) in svd.values.iter().enumerate().filter(|(_, value)| **value > least && **value > 0.0) {
        let factor = factor(ix, value) / value;
        for (row, right) in svd.right(ix).iter().enumerate() {
            for (column, left) in svd.left(ix).iter().enumerate() {
                out[row * n + column] += right * left * factor;
            }
        }
    }
    out
}
