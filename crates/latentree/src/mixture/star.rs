//! Builds a model from probabilities and means: a star whose hidden variable is the component.

use std::sync::Arc;

use super::moments::{Parameters, SecondMoment};
use super::options::MixtureOptions;
use super::{MixtureFamily, MixtureMethod};
use crate::data::{Kind, Schema};
use crate::error::Result;
use crate::linalg::Matrix;
use crate::model::features::Source;
use crate::model::{Distribution, Emission, LatentTree, Provenance, Table};
use crate::moments::{ColumnSummary, Summary};
use crate::tree::Tree;

/// Minimum share of a column's variance that remains within a component.
const LEAST_VARIANCE: f64 = 0.05;

/// The tree of a star over the variables of a schema, and its hidden node.
pub(crate) fn star_tree(schema: &Schema) -> Result<(Tree, crate::index::NodeIx)> {
    let mut tree = Tree::new();
    let mut leaves = Vec::with_capacity(schema.variables().len());
    for variable in schema.variables() {
        leaves.push(tree.add_observed(variable.name.clone())?);
    }
    let root = tree.add_next_hidden();
    for leaf in leaves {
        tree.connect(root, leaf, None)?;
    }
    Ok((tree, root))
}

/// The provenance of a model fitted with these options.
pub(crate) fn provenance(options: &MixtureOptions, family: MixtureFamily, method: MixtureMethod, rows: u64) -> Provenance {
    let mut provenance = Provenance::by_this_program(options.seed)
        .option("verb", "mixture")
        .option("family", family)
        .option("method", method)
        .option("em", options.em);
    provenance.rows = Some(rows);
    provenance
}

/// Makes means of counts and probabilities of labels valid: clips negative values and shrinks them towards the overall mean,
/// as one additional row with the overall mean would.
pub(super) fn proper_means(parameters: &Parameters, overall: &[f64], rows: f64, population: bool) -> Matrix {
    let shares: Vec<f64> =
        parameters.weights.iter().map(|weight| if population { 0.0 } else { 1.0 / (1.0 + weight * rows) }).collect();
    Matrix::from_fn(overall.len(), shares.len(), |i, c| {
        let mean = parameters.means[(i, c)].max(0.0);
        (1.0 - shares[c]) * mean + shares[c] * overall[i]
    })
}

/// Normalises columns of means to sum to 1, which makes them topics.
pub(super) fn as_topics(means: &Matrix) -> Matrix {
    let sums: Vec<f64> = (0..means.n_cols()).map(|c| means.column(c).iter().sum()).collect();
    let d = means.n_rows() as f64;
    Matrix::from_fn(means.n_rows(), means.n_cols(), |i, c| if sums[c] > 0.0 { means[(i, c)] / sums[c] } else { 1.0 / d })
}

/// The star with these parameters.
pub(crate) fn star(
    schema: &Arc<Schema>,
    family: MixtureFamily,
    parameters: &Parameters,
    moment: &SecondMoment,
    summary: &Summary,
    population: bool,
) -> Result<LatentTree> {
    let k = parameters.weights.len();
    let overall = overall_means(schema, moment, summary);
    let mut means = proper_means(parameters, &overall, moment.totals.weight, population);
    if family == MixtureFamily::SingleTopic {
        let length = mean_length(moment);
        let topics = as_topics(&means);
        means = Matrix::from_fn(topics.n_rows(), k, |i, c| length * topics[(i, c)]);
    }
    let (tree, root) = star_tree(schema)?;
    let mut builder = LatentTree::builder(Arc::clone(schema), tree.clone()).root(root);
    builder = builder.distribution(root, Distribution::Discrete(Table::new(k, parameters.weights.clone())));
    for (node, variable) in tree.node_ixs().zip(schema.variables()) {
        let emission = |column: crate::index::ColIx| {
            let summary = &summary.columns()[column.get()];
            emission(&schema.column(column).kind, moment.features.sources[column.get()], parameters, &means, summary)
        };
        builder = builder.distribution(
            node,
            if variable.is_group {
                Distribution::Emission(Emission::Group(variable.columns.iter().map(|&column| emission(column)).collect()))
            } else {
                match emission(variable.columns[0]) {
                    Emission::Categorical(table) => Distribution::Discrete(table),
                    other => Distribution::Emission(other),
                }
            },
        );
    }
    builder.build()
}

/// Mean length of a document.
pub(super) fn mean_length(moment: &SecondMoment) -> f64 {
    moment.totals.lengths[0] / moment.totals.weight
}

/// Mean of each feature.
pub(super) fn overall_means(schema: &Schema, moment: &SecondMoment, summary: &Summary) -> Vec<f64> {
    let mut overall = vec![0.0; moment.features.n];
    for ((source, column), kind) in moment.features.sources.iter().zip(summary.columns()).zip(schema.columns()) {
        match *source {
            Source::Number { feature, .. } => overall[feature as usize] = column.mean,
            Source::Codes { first, n_states } => {
                debug_assert!(kind.kind.n_states().is_some());
                for code in 1..n_states as usize {
                    overall[first as usize + code - 1] = column.levels[code] / column.weight.max(f64::MIN_POSITIVE);
                }
            }
        }
    }
    if moment.are_shares() {
        let total: f64 = overall.iter().sum();
        overall.iter_mut().for_each(|mean| *mean /= total.max(f64::MIN_POSITIVE));
    }
    overall
}

fn emission(kind: &Kind, source: Source, parameters: &Parameters, means: &Matrix, summary: &ColumnSummary) -> Emission {
    let k = parameters.weights.len();
    match (source, kind) {
        (Source::Codes { first, n_states }, _) => {
            let n_states = n_states as usize;
            let mut values = Vec::with_capacity(k * n_states);
            for c in 0..k {
                let shares: Vec<f64> = (1..n_states).map(|code| means[(first as usize + code - 1, c)]).collect();
                let sum: f64 = shares.iter().sum();
                // Code 0 has at least the share that one row of the overall mean would give it.
                let zero = (1.0 - sum)
                    .max(summary.levels[0] / (summary.weight * (1.0 + summary.weight)).max(f64::MIN_POSITIVE))
                    .max(0.0);
                let total = (zero + sum).max(f64::MIN_POSITIVE);
                values.push(zero / total);
                values.extend(shares.iter().map(|share| share / total));
            }
            Emission::Categorical(Table::new(n_states, values))
        }
        (Source::Number { feature, .. }, Kind::Count) => {
            let least = 1e-9 * summary.mean.max(1.0 / (summary.weight + 1.0));
            Emission::Poisson { rates: (0..k).map(|c| means[(feature as usize, c)].max(least)).collect() }
        }
        (Source::Number { feature, .. }, _) => {
            let means: Vec<f64> = (0..k).map(|c| parameters.means[(feature as usize, c)]).collect();
            let between: f64 =
                means.iter().zip(&parameters.weights).map(|(mean, weight)| weight * (mean - summary.mean).powi(2)).sum();
            let own = summary.variance();
            let least = (LEAST_VARIANCE * own).max(1e-12 * (1.0 + summary.mean * summary.mean));
            let variance = parameters.variance.unwrap_or(own - between).max(if parameters.variance.is_some() {
                1e-9 * least
            } else {
                least
            });
            Emission::Gaussian { variances: vec![variance.max(f64::MIN_POSITIVE); k], means }
        }
    }
}
