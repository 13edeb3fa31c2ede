//! Where EM starts.

use std::sync::Arc;

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

use crate::data::{Kind, Schema};
use crate::error::{Error, Result};
use crate::index::{ColIx, NodeIx};
use crate::limits;
use crate::model::{Distribution, Emission, Family, LatentTree, Table};
use crate::moments::{ColumnSummary, Summary};
use crate::parameters::discrete_roots;
use crate::tree::{Rooted, Tree};

/// Where EM starts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Start {
    /// The parameters of the given model.
    #[default]
    Given,
    /// A latent class model (one hidden variable above all observed ones) is fitted first, best of some random restarts; its class is
    /// copied into every hidden node, with transitions near the identity.
    LatentClass {
        /// Restarts of the latent class model.
        restarts: usize,
        /// Seed of the restarts.
        seed: u64,
    },
    /// Random parameters, each restart different; the best fit is kept.
    Random {
        /// Number of fits.
        restarts: usize,
        /// Seed of the starts.
        seed: u64,
    },
}

/// A model on a tree for EM to fill: every hidden node has `hidden_states` states, tables are uniform, numbers standard. With
/// `hidden_states` 0 every node is Gaussian.
///
/// Uniform parameters are a saddle point that EM does not leave: use a [`Start`] other than [`Start::Given`].
///
/// # Errors
/// [`Error::Model`] or [`Error::Tree`] if the schema and the tree do not make a model.
pub fn template(schema: Arc<Schema>, tree: Tree, hidden_states: usize) -> Result<LatentTree> {
    template_with(schema, tree, |_| hidden_states)
}

/// [`template`] with a number of states for each hidden node, which must be 0 for all or for none.
pub(crate) fn template_with(schema: Arc<Schema>, tree: Tree, hidden_states: impl Fn(NodeIx) -> usize) -> Result<LatentTree> {
    if tree.n_nodes() == 0 {
        return Err(Error::tree("it has no nodes"));
    }
    let is_gaussian = tree.node_ixs().all(|node| hidden_states(node) == 0);
    if !is_gaussian {
        let mut hidden = tree.node_ixs().filter(|&node| !tree.is_observed(node));
        hidden
            .try_for_each(|node| limits::check("parameters.hidden_states", hidden_states(node), 1..=limits::MAX_HIDDEN_STATES))?;
    }
    // Numbers and groups cannot be parents of anything but in a Gaussian tree.
    let rooted = if is_gaussian { Rooted::new(&tree, tree.center()) } else { discrete_roots(&tree, &schema)? };
    let variable = |node: NodeIx| schema.find_variable(tree.name(node)).filter(|_| tree.is_observed(node));
    let states = |node: NodeIx| match variable(node) {
        Some(variable) => schema.scalar_kind(variable).and_then(Kind::n_states),
        None => Some(hidden_states(node)),
    };
    let mut builder = LatentTree::builder(Arc::clone(&schema), tree.clone()).roots(&rooted.roots);
    for node in tree.node_ixs() {
        let parent = rooted.parent[node.get()];
        let fault = || {
            Error::model(tree.name(node), "its parent is not discrete; tables with only continuous columns fit a Gaussian tree")
        };
        let distribution = if is_gaussian {
            let coefficient = if parent.is_some() { 0.5 } else { 0.0 };
            Distribution::LinearGaussian { mean: 0.0, coefficient, variance: 1.0 }
        } else {
            let n_rows = parent.map_or(Some(1), states).ok_or_else(fault)?;
            match (variable(node), states(node)) {
                (_, Some(n_states)) => Distribution::Discrete(uniform(n_rows, n_states)),
                (Some(variable), None) => {
                    let variable = schema.variable(variable);
                    let members = variable.columns.iter().map(|&column| standard(&schema.column(column).kind, n_rows));
                    let mut members: Vec<Emission> = members.collect();
                    let single = if variable.is_group { None } else { members.pop() };
                    Distribution::Emission(single.unwrap_or(Emission::Group(members)))
                }
                (None, None) => return Err(Error::model(tree.name(node), "it has no states")),
            }
        };
        builder = builder.distribution(node, distribution);
    }
    builder.build()
}

fn uniform(n_rows: usize, n_states: usize) -> Table {
    Table::new(n_states, vec![1.0 / n_states as f64; n_rows * n_states])
}

fn standard(kind: &Kind, n_rows: usize) -> Emission {
    match kind {
        Kind::Continuous => Emission::Gaussian { means: vec![0.0; n_rows], variances: vec![1.0; n_rows] },
        Kind::Count => Emission::Poisson { rates: vec![1.0; n_rows] },
        discrete => Emission::Categorical(uniform(n_rows, discrete.n_states().unwrap_or(1))),
    }
}

fn normal(rng: &mut impl Rng) -> f64 {
    rng.sample(StandardNormal)
}

fn normalised(mut row: Vec<f64>) -> Vec<f64> {
    let sum: f64 = row.iter().sum();
    row.iter_mut().for_each(|value| *value /= sum);
    row
}

/// A model on the same tree with random parameters around what the columns are by themselves.
pub(super) fn random_start(model: &LatentTree, summary: &Summary, seed: u64, restart: u64) -> Result<LatentTree> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(restart);
    let rng = &mut rng;
    let column = |column: ColIx| &summary.columns()[column.get()];
    let own_column = |node: NodeIx| model.variable(node).map(|it| column(model.schema().variable(it).columns[0]));
    let mut distributions = Vec::with_capacity(model.tree().n_nodes());
    for node in model.tree().node_ixs() {
        distributions.push(match model.distribution(node) {
            Distribution::Discrete(table) => Distribution::Discrete(match own_column(node) {
                Some(column) => random_leaf_table(column, table.n_parent_states(), rng),
                None => random_hidden_table(table, rng),
            }),
            Distribution::Emission(emission) => {
                let variable = model.variable(node).expect("an emitter is observed");
                let columns: Vec<&ColumnSummary> =
                    model.schema().variable(variable).columns.iter().map(|&ix| column(ix)).collect();
                Distribution::Emission(random_emission(emission, &columns, rng))
            }
            Distribution::LinearGaussian { .. } => {
                let spread = |node: NodeIx| own_column(node).map_or(1.0, deviation);
                let magnitude: f64 = rng.random_range(0.3..0.9);
                let correlation = if rng.random::<bool>() { magnitude } else { -magnitude };
                let (own, mean) = (spread(node), own_column(node).map_or(0.0, |column| column.mean));
                match model.parent(node) {
                    None => Distribution::LinearGaussian { mean, coefficient: 0.0, variance: own * own },
                    Some(parent) => Distribution::LinearGaussian {
                        mean,
                        coefficient: correlation * own / spread(parent),
                        variance: own * own * (1.0 - correlation * correlation),
                    },
                }
            }
        });
    }
    debug_assert!(model.family() == Family::Gaussian || distributions.len() == model.tree().n_nodes());
    model.with_distributions(distributions)
}

/// Standard deviation of a column, 1 where it is constant.
fn deviation(column: &ColumnSummary) -> f64 {
    let deviation = column.variance().sqrt();
    if deviation > 0.0 && deviation.is_finite() { deviation } else { 1.0 }
}

fn random_leaf_table(column: &ColumnSummary, n_rows: usize, rng: &mut impl Rng) -> Table {
    let n_states = column.levels.len();
    let mut values = Vec::with_capacity(n_rows * n_states);
    for _ in 0..n_rows {
        let row = column.levels.iter().map(|level| (level + 0.5) * (0.7 * normal(rng)).exp());
        values.extend(normalised(row.collect()));
    }
    Table::new(n_states, values)
}

fn random_hidden_table(table: &Table, rng: &mut impl Rng) -> Table {
    let (n_rows, n_states) = (table.n_parent_states(), table.n_states());
    let mut values = Vec::with_capacity(n_rows * n_states);
    for parent_state in 0..n_rows {
        let mut row = normalised((0..n_states).map(|_| (0.5 * normal(rng)).exp()).collect());
        if n_rows > 1 {
            // Neighbours that tell of each other: independent ones would be a saddle point.
            row[parent_state % n_states] += 1.0;
            row = normalised(row);
        }
        values.extend(row);
    }
    Table::new(n_states, values)
}

fn random_emission(emission: &Emission, columns: &[&ColumnSummary], rng: &mut impl Rng) -> Emission {
    let column = columns[0];
    match emission {
        Emission::Categorical(table) => Emission::Categorical(random_leaf_table(column, table.n_parent_states(), rng)),
        Emission::Gaussian { means, .. } => {
            let deviation = deviation(column);
            Emission::Gaussian {
                means: means.iter().map(|_| column.mean + deviation * normal(rng)).collect(),
                variances: vec![deviation * deviation; means.len()],
            }
        }
        Emission::Poisson { rates } => {
            Emission::Poisson { rates: rates.iter().map(|_| (column.mean + 0.01) * (0.7 * normal(rng)).exp()).collect() }
        }
        Emission::Group(members) => {
            Emission::Group(members.iter().zip(columns).map(|(it, &column)| random_emission(it, &[column], rng)).collect())
        }
    }
}
