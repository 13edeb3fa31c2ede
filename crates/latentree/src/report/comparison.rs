//! Two trees or models side by side.
//!
//! Parameters are compared if the trees are the same up to the names of hidden nodes. Both models get the same root. The states of a
//! hidden node have no order, so the states of the estimate are matched with the true ones, from the leaves up: a node's states are
//! matched to minimise the difference of the tables of its children, whose states are already matched (Hungarian method).
//! The error of a table is Huang's `‖A − ÂΠ‖_F`.

use crate::error::Result;
use crate::format::View;
use crate::index::NodeIx;
use crate::linalg::cheapest_assignment;
use crate::model::{Distribution, Emission, Family, LatentTree};
use crate::tree::{RobinsonFoulds, match_hidden, robinson_foulds, same_structure, structure_error};

/// How an estimate differs from the truth.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// Whether the trees are the same up to the names of hidden nodes.
    pub same_structure: bool,
    /// Differences of splits.
    pub robinson_foulds: RobinsonFoulds,
    /// Number of hidden nodes of the truth.
    pub hidden_true: usize,
    /// Number of hidden nodes of the estimate.
    pub hidden_estimate: usize,
    /// Huang's group measure.
    pub structure_error: f64,
    /// Differences of parameters; `None` if they cannot be compared.
    pub parameters: Option<ParameterError>,
}

/// How parameters differ, after the best relabelling of hidden states.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ParameterError {
    /// Mean over all tables of `‖A − ÂΠ‖_F`; in a Gaussian tree the mean absolute difference of edge correlations.
    pub mean: f64,
    /// The largest of them.
    pub largest: f64,
    /// Mean over the tables of observed nodes.
    pub observed: f64,
    /// Mean over the tables of hidden nodes given their hidden parents; 0 if there are none.
    pub hidden: f64,
}

/// Compares an estimate with the truth.
///
/// # Errors
/// [`Error::Mismatch`](crate::Error::Mismatch) if they do not have the same observed nodes.
pub fn compare<'a>(truth: impl Into<View<'a>>, estimate: impl Into<View<'a>>) -> Result<Comparison> {
    let (truth, estimate) = (truth.into(), estimate.into());
    let (left, right) = (truth.tree(), estimate.tree());
    let same = same_structure(left, right);
    let parameters = match (truth.model(), estimate.model()) {
        (Some(truth), Some(estimate)) if same => parameter_error(truth, estimate)?,
        _ => None,
    };
    Ok(Comparison {
        same_structure: same,
        robinson_foulds: robinson_foulds(left, right)?,
        hidden_true: left.n_hidden(),
        hidden_estimate: right.n_hidden(),
        structure_error: structure_error(left, right)?,
        parameters,
    })
}

/// The error of the parameters of a model with the same structure; `None` if families or numbers of states differ.
///
/// # Errors
/// Only errors of re-rooting, which trees of the same structure cannot cause.
pub fn parameter_error(truth: &LatentTree, estimate: &LatentTree) -> Result<Option<ParameterError>> {
    let partner = match_hidden(truth.tree(), estimate.tree());
    let partner_of = |node: NodeIx| partner[node.get()];
    if truth.family() != estimate.family() || partner.iter().any(Option::is_none) {
        return Ok(None);
    }
    let mut estimate = estimate.clone();
    for &root in &truth.rooted().roots {
        if let Some(root) = partner_of(root) {
            estimate = estimate.rerooted(root)?;
        }
    }
    let aligned = match truth.family() {
        Family::Discrete => Aligned::discrete(truth, &estimate, &partner),
        Family::Gaussian => Some(Aligned::gaussian(truth, &estimate, &partner)),
    };
    Ok(aligned.map(|aligned| aligned.summary(truth)))
}

/// The error of each node's table, by node of the truth.
struct Aligned {
    errors: Vec<f64>,
}

impl Aligned {
    fn discrete(truth: &LatentTree, estimate: &LatentTree, partner: &[Option<NodeIx>]) -> Option<Self> {
        let n_nodes = truth.tree().n_nodes();
        let children = truth.rooted().children();
        // For each node, the states of the estimate that match its own.
        let mut states: Vec<Vec<usize>> = vec![Vec::new(); n_nodes];
        let pair =
            |node: NodeIx| (truth.distribution(node), estimate.distribution(partner[node.get()].expect("all nodes are paired")));
        for &node in truth.rooted().order.iter().rev() {
            let Some(n_states) = truth.n_states(node) else { continue };
            let other = partner[node.get()].expect("all nodes are paired");
            if estimate.n_states(other) != Some(n_states) {
                return None;
            }
            states[node.get()] = if truth.tree().is_observed(node) {
                observed_pairing(truth.domain(node).labels()?, estimate.domain(other).labels()?)?
            } else {
                let mut costs = vec![0.0; n_states * n_states];
                for &child in &children[node.get()] {
                    let (a, b) = pair(child);
                    for row in 0..n_states {
                        for column in 0..n_states {
                            costs[row * n_states + column] += row_error(a, row, b, column, &states[child.get()])?;
                        }
                    }
                }
                cheapest_assignment(&costs, n_states)
            };
        }
        let mut errors = Vec::with_capacity(n_nodes);
        for node in truth.tree().node_ixs() {
            let (a, b) = pair(node);
            let parent_states = truth.parent(node).map_or_else(|| vec![0], |parent| states[parent.get()].clone());
            let rows = parent_states.iter().enumerate();
            let sum = rows.map(|(row, &column)| row_error(a, row, b, column, &states[node.get()])).sum::<Option<f64>>()?;
            errors.push(sum.sqrt());
        }
        Some(Self { errors })
    }

    fn gaussian(truth: &LatentTree, estimate: &LatentTree, partner: &[Option<NodeIx>]) -> Self {
        let (marginals, other_marginals) = (truth.marginals(), estimate.marginals());
        let children = truth.rooted().children();
        let correlations = |node: NodeIx| {
            let other = partner[node.get()].expect("all nodes are paired");
            Some((truth.edge_correlation(node, &marginals)?, estimate.edge_correlation(other, &other_marginals)?))
        };
        let mut sign = vec![1.0; truth.tree().n_nodes()];
        for &node in truth.rooted().order.iter().rev() {
            if !truth.tree().is_observed(node) {
                let below = children[node.get()].iter();
                let agreement: f64 = below.filter_map(|&child| correlations(child).map(|(a, b)| a * b * sign[child.get()])).sum();
                sign[node.get()] = if agreement < 0.0 { -1.0 } else { 1.0 };
            }
        }
        let errors = truth.tree().node_ixs().map(|node| match (correlations(node), truth.parent(node)) {
            (Some((a, b)), Some(parent)) => (a - b * sign[node.get()] * sign[parent.get()]).abs(),
            _ => 0.0,
        });
        Self { errors: errors.collect() }
    }

    fn summary(&self, truth: &LatentTree) -> ParameterError {
        let is_edge = |node: NodeIx| truth.parent(node).is_some() || truth.family() == Family::Discrete;
        let mean = |wanted: &dyn Fn(NodeIx) -> bool| {
            let errors: Vec<f64> =
                truth.tree().node_ixs().filter(|&node| wanted(node)).map(|node| self.errors[node.get()]).collect();
            if errors.is_empty() { 0.0 } else { errors.iter().sum::<f64>() / errors.len() as f64 }
        };
        ParameterError {
            mean: mean(&is_edge),
            largest: self.errors.iter().copied().fold(0.0, f64::max),
            observed: mean(&|node| is_edge(node) && truth.tree().is_observed(node)),
            hidden: mean(&|node| truth.parent(node).is_some() && !truth.tree().is_observed(node)),
        }
    }
}

/// States of an observed node correspond by label.
fn observed_pairing(labels: &[String], others: &[String]) -> Option<Vec<usize>> {
    labels.iter().map(|label| others.iter().position(|other| other == label)).collect()
}

/// Squared difference of a row of one distribution and a row of another whose states are paired by `states`.
fn row_error(a: &Distribution, row: usize, b: &Distribution, column: usize, states: &[usize]) -> Option<f64> {
    match (a, b) {
        (Distribution::Discrete(a), Distribution::Discrete(b)) => {
            let (a, b) = (a.given(row), b.given(column));
            Some(a.iter().enumerate().map(|(state, value)| (value - b[states[state]]).powi(2)).sum())
        }
        (Distribution::Emission(a), Distribution::Emission(b)) => emission_error(a, row, b, column),
        _ => None,
    }
}

fn emission_error(a: &Emission, row: usize, b: &Emission, column: usize) -> Option<f64> {
    match (a, b) {
        (Emission::Categorical(a), Emission::Categorical(b)) if a.n_states() == b.n_states() => {
            Some(a.given(row).iter().zip(b.given(column)).map(|(a, b)| (a - b).powi(2)).sum())
        }
        (Emission::Gaussian { means: a, variances: s }, Emission::Gaussian { means: b, variances: t }) => {
            Some((a[row] - b[column]).powi(2) + (s[row].sqrt() - t[column].sqrt()).powi(2))
        }
        (Emission::Poisson { rates: a }, Emission::Poisson { rates: b }) => Some((a[row] - b[column]).powi(2)),
        (Emission::Group(a), Emission::Group(b)) if a.len() == b.len() => {
            a.iter().zip(b).map(|(a, b)| emission_error(a, row, b, column)).sum()
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Table;
    use crate::simulate::{ParameterFamily, Shape, Simulation};

    /// The same model with the states of every hidden node in reverse order.
    fn reversed(model: &LatentTree) -> LatentTree {
        let mut builder = LatentTree::builder(model.schema().clone(), model.tree().clone()).roots(&model.rooted().roots);
        for node in model.tree().node_ixs() {
            let flip_rows = model.parent(node).is_some_and(|parent| !model.tree().is_observed(parent));
            let Distribution::Discrete(table) = model.distribution(node) else { panic!() };
            let mut rows: Vec<Vec<f64>> = table.rows().map(<[f64]>::to_vec).collect();
            if flip_rows {
                rows.reverse();
            }
            if !model.tree().is_observed(node) {
                rows.iter_mut().for_each(|row| row.reverse());
            }
            builder = builder.distribution(node, Distribution::Discrete(Table::new(table.n_states(), rows.concat())));
        }
        builder.build().unwrap()
    }

    #[test]
    fn relabelled_and_rerooted_models_have_no_error() {
        for seed in 0..20 {
            let family = ParameterFamily::Categorical { states: 4, hidden_states: 3, separation: 0.6 };
            let truth = Simulation::new(Shape::Random { max_degree: Some(5) }, 12).family(family).observed_inner(0.2).seed(seed);
            let truth = truth.model().unwrap();
            let other = reversed(&truth);
            let hidden = other.hidden().last().unwrap();
            let other = other.rerooted(hidden).unwrap();
            let comparison = compare(&truth, &other).unwrap();
            assert!(comparison.same_structure && comparison.robinson_foulds.distance == 0);
            assert!(comparison.parameters.unwrap().largest < 1e-9, "seed {seed}: {comparison:?}");
        }
    }

    #[test]
    fn the_error_of_one_changed_table_is_its_frobenius_norm() {
        let family = ParameterFamily::Categorical { states: 2, hidden_states: 2, separation: 0.8 };
        let truth = Simulation::new(Shape::Star, 5).family(family).seed(1).model().unwrap();
        let leaf = truth.tree().find("x3").unwrap();
        let mut builder = LatentTree::builder(truth.schema().clone(), truth.tree().clone()).roots(&truth.rooted().roots);
        for node in truth.tree().node_ixs() {
            builder = builder.distribution(node, truth.distribution(node).clone());
        }
        let Distribution::Discrete(table) = truth.distribution(leaf) else { panic!() };
        let (a, b) = (table.given(0)[0], table.given(1)[0]);
        let (c, d) = (a * 0.9, b * 0.9);
        let estimate =
            builder.distribution(leaf, Distribution::Discrete(Table::new(2, vec![c, 1.0 - c, d, 1.0 - d]))).build().unwrap();
        let error = parameter_error(&truth, &estimate).unwrap().unwrap();
        let exact = (2.0 * ((a - c).powi(2) + (b - d).powi(2))).sqrt();
        assert!((error.largest - exact).abs() < 1e-12);
    }

    #[test]
    fn flipped_signs_of_hidden_gaussians_do_not_count() {
        let truth = Simulation::new(Shape::DoubleStar, 8).seed(2).model().unwrap();
        let flipped = truth.hidden().next().unwrap();
        let mut builder = LatentTree::builder(truth.schema().clone(), truth.tree().clone()).roots(&truth.rooted().roots);
        for node in truth.tree().node_ixs() {
            let Distribution::LinearGaussian { mean, coefficient, variance } = *truth.distribution(node) else { panic!() };
            let turns = node == flipped || truth.parent(node) == Some(flipped);
            let coefficient = if turns { -coefficient } else { coefficient };
            builder = builder.distribution(node, Distribution::LinearGaussian { mean, coefficient, variance });
        }
        let error = compare(&truth, &builder.build().unwrap()).unwrap().parameters.unwrap();
        assert!(error.largest < 1e-12);
    }
}
