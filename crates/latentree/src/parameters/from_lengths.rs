//! Models whose tables follow from the lengths of a tree.
//!
//! - **Gaussian**: an edge of length d has correlation `±e^(−d)` (Choi et al. 2011, eq. 8). Means and variances of observed nodes
//!   are the data's, hidden nodes have mean 0 and variance 1.
//! - **Symmetric discrete** of K states: an edge of length d has `θ = (1 − e^(−d/(K−1))) / K`; a node differs from its parent in
//!   each of the other states with probability θ, and a root has equal probabilities (Choi eq. 10).
//!
//! # Signs
//! A length says nothing about a sign. On a tree any signs of edges come from signs of nodes, `s_uv = s_u s_v`, and those of
//! hidden nodes are free, so there is one sign per observed variable to find. Variables start with the sign that the strongest
//! chain of correlations gives them (a maximum spanning tree by |ρ|); then each takes the sign of `Σ_j s_j ρ_ij |ρ_ij|` until
//! none changes. For K = 2 states the same holds with 1 − 2θ for the correlation; for K > 2 there are no signs.

use std::sync::Arc;

use crate::data::Kind;
use crate::error::{Error, Place, Result};
use crate::index::{ColIx, NodeIx};
use crate::linalg::Cholesky;
use crate::model::{Distribution, Domain, Family, LatentTree, Provenance, Table};
use crate::moments::PairMoments;
use crate::structure::minimum_spanning_forest;
use crate::tree::{Rooted, Tree};

/// Correlations of edges are kept this far from ±1: a distribution needs a variance, and a table without zeros can be wrong.
const MAX_CORRELATION: f64 = 0.9995;

/// A family of models that lengths determine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FamilyByLengths {
    /// All nodes Gaussian.
    Gaussian,
    /// All nodes with this many states, symmetric.
    Symmetric(usize),
}

/// The family that lengths determine for these columns: Gaussian if all are continuous, symmetric if symmetric distances were
/// asked for and all have the same number of labels.
#[must_use]
pub fn family_by_lengths(moments: &PairMoments, symmetric: bool) -> Option<FamilyByLengths> {
    let schema = moments.schema();
    let mut kinds = schema.variable_ixs().map(|ix| schema.scalar_kind(ix));
    if symmetric {
        let states = kinds.next()??.n_states()?;
        let same = states >= 2 && kinds.all(|kind| kind.and_then(Kind::n_states) == Some(states));
        return same.then_some(FamilyByLengths::Symmetric(states));
    }
    kinds.all(|kind| kind == Some(&Kind::Continuous)).then_some(FamilyByLengths::Gaussian)
}

/// The model of a tree whose lengths are −ln|ρ| (Gaussian) or symmetric distances.
///
/// # Arguments
/// - `tree`: over the variables of the moments, with lengths.
///
/// # Errors
/// [`Error::Tree`] if an edge has no length, and those of building a model.
///
/// # Complexity
/// O(p²) for the signs.
pub fn from_lengths(tree: &Tree, moments: &PairMoments, family: FamilyByLengths, provenance: Provenance) -> Result<LatentTree> {
    if tree.edges().any(|edge| edge.length.is_none_or(|length| !length.is_finite())) {
        return Err(Error::tree("an edge has no length"));
    }
    let schema = moments.schema();
    let column = |node: NodeIx| -> Option<ColIx> {
        let variable = schema.find_variable(tree.name(node)).filter(|_| tree.is_observed(node))?;
        Some(schema.variable(variable).columns[0])
    };
    let rooted = Rooted::with_roots(tree, &[])?;
    let n_states = match family {
        FamilyByLengths::Gaussian => 2,
        FamilyByLengths::Symmetric(n_states) => n_states,
    };
    let signs = if n_states == 2 { signs(tree, moments, &column) } else { vec![1.0; tree.n_nodes()] };
    let correlation = |node: NodeIx, parent: NodeIx| {
        let link = tree.links(node).iter().find(|link| link.to == parent).expect("a parent is a neighbour");
        (-link.length.expect("checked above") / (n_states - 1) as f64).exp().min(MAX_CORRELATION)
            * (signs[node.get()] * signs[parent.get()])
    };
    let scale = |node: NodeIx| -> (f64, f64) {
        let Some(column) = column(node) else { return (0.0, 1.0) };
        let (mean, variance) = (moments.mean(column).unwrap_or(0.0), moments.variance(column).unwrap_or(1.0));
        // A constant has no variance, but a model needs one: one far below what its digits can show.
        (mean, if variance > 0.0 { variance } else { 1e-12 * mean.abs().max(1e-3).powi(2) })
    };
    let mut builder = LatentTree::builder(Arc::clone(schema), tree.clone()).roots(&rooted.roots).provenance(provenance);
    for node in tree.node_ixs() {
        let parent = rooted.parent[node.get()];
        let distribution = match family {
            FamilyByLengths::Gaussian => {
                let (mean, variance) = scale(node);
                let rho = parent.map_or(0.0, |parent| correlation(node, parent));
                let coefficient = parent.map_or(0.0, |parent| rho * (variance / scale(parent).1).sqrt());
                Distribution::LinearGaussian { mean, coefficient, variance: variance * (1.0 - rho * rho) }
            }
            FamilyByLengths::Symmetric(k) => {
                let own = 1.0 / k as f64;
                let Some(parent) = parent else {
                    builder = with_states(builder, tree, node, k);
                    builder = builder.distribution(node, Distribution::Discrete(Table::new(k, vec![own; k])));
                    continue;
                };
                let rho = correlation(node, parent);
                let other = (1.0 - rho) * own;
                let same = 1.0 - (k - 1) as f64 * other;
                let values = (0..k * k).map(|at| if at / k == at % k { same } else { other }).collect();
                builder = with_states(builder, tree, node, k);
                Distribution::Discrete(Table::new(k, values))
            }
        };
        builder = builder.distribution(node, distribution);
    }
    builder.build()
}

fn with_states(
    builder: crate::model::LatentTreeBuilder,
    tree: &Tree,
    node: NodeIx,
    n_states: usize,
) -> crate::model::LatentTreeBuilder {
    if tree.is_observed(node) { builder } else { builder.hidden(node, Domain::numbered(n_states)) }
}

/// A sign for every node, +1 for hidden ones.
fn signs(tree: &Tree, moments: &PairMoments, column: &dyn Fn(NodeIx) -> Option<ColIx>) -> Vec<f64> {
    let observed: Vec<(NodeIx, ColIx)> = tree.node_ixs().filter_map(|node| Some((node, column(node)?))).collect();
    let p = observed.len();
    let correlation = |i: usize, j: usize| -> f64 {
        let (a, b) = (observed[i].1, observed[j].1);
        // Two columns of two labels that are categorical have no correlation of their own, but their table does.
        moments
            .correlation(a, b)
            .or_else(|| {
                let table = moments.table(a, b).filter(|table| table.len() == 4)?;
                Some(table[0] * table[3] - table[1] * table[2])
            })
            .unwrap_or(0.0)
    };
    let mut sign = vec![1.0; p];
    let edges = minimum_spanning_forest(p, |i, out| {
        for j in 0..p {
            out[j] = if i == j { f64::INFINITY } else { -correlation(i, j).abs() };
        }
    });
    let mut neighbours = vec![Vec::new(); p];
    for &(a, b) in &edges {
        neighbours[a].push(b);
        neighbours[b].push(a);
    }
    let mut seen = vec![false; p];
    for start in 0..p {
        let mut stack = if std::mem::replace(&mut seen[start], true) { Vec::new() } else { vec![start] };
        while let Some(at) = stack.pop() {
            for &next in &neighbours[at] {
                if !std::mem::replace(&mut seen[next], true) {
                    sign[next] = if correlation(at, next) < 0.0 { -sign[at] } else { sign[at] };
                    stack.push(next);
                }
            }
        }
    }
    // Sweeps by likelihood's sense: strong pairs decide. Few are needed after the spanning tree, and many variables make them
    // slow.
    for _ in 0..if p <= 3000 { 10 } else { 0 } {
        let mut changed = false;
        for i in 0..p {
            let score: f64 = (0..p)
                .filter(|&j| j != i)
                .map(|j| {
                    let value = correlation(i, j);
                    sign[j] * value * value.abs()
                })
                .sum();
            let wanted = if score < 0.0 { -1.0 } else { 1.0 };
            if score != 0.0 && wanted != sign[i] {
                sign[i] = wanted;
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    // Most variables positive: hidden ones then point the way most of theirs do.
    let sum: f64 = sign.iter().sum();
    let turn = if sum < 0.0 { -1.0 } else { 1.0 };
    let mut signs = vec![1.0; tree.n_nodes()];
    observed.iter().zip(sign).for_each(|((node, _), sign)| signs[node.get()] = turn * sign);
    signs
}

/// Most variables whose likelihood is computed from a dense matrix.
const MAX_DENSE: usize = 1500;

/// The log-likelihood of a Gaussian model on complete data from their moments alone: `−½ W (p ln 2π + ln |Σ| + tr Σ⁻¹S)` with S
/// the data's covariances around the model's means, W the total weight.
///
/// `None` if the model is not Gaussian, cells are missing, or there are more than 1,500 variables.
///
/// # Errors
/// [`Error::Data`] if the model's covariances are not positive definite, which a model's are.
pub fn gaussian_log_likelihood(model: &LatentTree, moments: &PairMoments) -> Result<Option<f64>> {
    let schema = moments.schema();
    let p = schema.variables().len();
    if model.family() != Family::Gaussian || moments.has_missing() || p > MAX_DENSE || moments.n_rows() == 0 {
        return Ok(None);
    }
    let nodes: Vec<NodeIx> = schema.variable_ixs().map(|ix| model.node_of(ix)).collect();
    let column = |ix: usize| schema.variables()[ix].columns[0];
    let mean = |node: NodeIx| match *model.distribution(node) {
        Distribution::LinearGaussian { mean, .. } => mean,
        _ => 0.0,
    };
    let implied = implied_covariances(model, &nodes);
    let factor = Cholesky::new(&implied, p)
        .ok_or_else(|| Error::data(Place::default(), "the model's covariances are not positive definite"))?;
    let mut seen = vec![0.0; p * p];
    for i in 0..p {
        for j in 0..=i {
            let deviation = |ix: usize| moments.mean(column(ix)).unwrap_or(0.0) - mean(nodes[ix]);
            let value = moments.covariance(column(i), column(j)).unwrap_or(0.0) + deviation(i) * deviation(j);
            seen[i * p + j] = value;
            seen[j * p + i] = value;
        }
    }
    let constant = p as f64 * std::f64::consts::TAU.ln();
    Ok(Some(-0.5 * moments.total_weight() * (constant + factor.ln_determinant() + factor.trace_of_solution(&seen))))
}

/// Covariances of some nodes of a Gaussian model, row by row.
fn implied_covariances(model: &LatentTree, nodes: &[NodeIx]) -> Vec<f64> {
    let tree = model.tree();
    let n = nodes.len();
    let mut place = vec![usize::MAX; tree.n_nodes()];
    nodes.iter().enumerate().for_each(|(ix, node)| place[node.get()] = ix);
    let mut variance = vec![1.0; tree.n_nodes()];
    for &node in &model.rooted().order {
        if let Distribution::LinearGaussian { coefficient, variance: own, .. } = *model.distribution(node) {
            let above = model.parent(node).map_or(0.0, |parent| variance[parent.get()]);
            variance[node.get()] = own + coefficient * coefficient * above;
        }
    }
    let coefficient = |node: NodeIx| match *model.distribution(node) {
        Distribution::LinearGaussian { coefficient, .. } => coefficient,
        _ => 0.0,
    };
    // Along an edge a covariance is multiplied by the slope of the regression in that direction.
    let slope = |from: NodeIx, to: NodeIx| {
        if model.parent(to) == Some(from) {
            coefficient(to)
        } else {
            coefficient(from) * variance[to.get()] / variance[from.get()]
        }
    };
    let mut covariances = vec![0.0; n * n];
    for (row, &start) in nodes.iter().enumerate() {
        let mut stack = vec![(start, start, variance[start.get()])];
        while let Some((node, from, value)) = stack.pop() {
            if place[node.get()] != usize::MAX {
                covariances[row * n + place[node.get()]] = value;
            }
            let onward = tree.links(node).iter().filter(|link| link.to != from);
            stack.extend(onward.map(|link| (link.to, node, value * slope(node, link.to))));
        }
    }
    covariances
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{ColumnData, Dataset, Schema};
    use crate::inference::Inference;
    use crate::moments::{PairMoments, fold};
    use crate::observer::Silent;
    use crate::simulate::{ParameterFamily, Shape, Simulation};

    fn moments_of(data: &Dataset) -> PairMoments {
        fold(&mut data.source(), PairMoments::new(Arc::clone(data.schema())).unwrap(), &Silent).unwrap()
    }

    #[test]
    fn a_gaussian_model_from_its_own_lengths_is_the_model_up_to_signs_of_hidden_nodes() {
        for seed in 0..20 {
            let family = ParameterFamily::Gaussian { correlation: (0.4, 0.8), random_sign: true };
            let simulation = Simulation::new(Shape::Random { max_degree: Some(5) }, 15).family(family).observed_inner(0.3);
            let truth = simulation.seed(seed).model().unwrap();
            let data = Inference::new(&truth).sample(30_000, seed).unwrap();
            let moments = moments_of(&data);
            let model = from_lengths(truth.tree(), &moments, FamilyByLengths::Gaussian, Provenance::default()).unwrap();
            let nodes: Vec<NodeIx> = truth.schema().variable_ixs().map(|ix| truth.node_of(ix)).collect();
            let (expected, found) = (implied_covariances(&truth, &nodes), implied_covariances(&model, &nodes));
            let p = nodes.len();
            for at in 0..p * p {
                let scale = (expected[at / p * (p + 1)] * expected[at % p * (p + 1)]).sqrt();
                assert!((expected[at] - found[at]).abs() < 0.06 * scale, "{seed}: {} for {}", found[at], expected[at]);
            }
            assert_eq!(model.n_free_parameters(), truth.n_free_parameters());
        }
    }

    #[test]
    fn the_closed_form_is_the_sum_over_rows() {
        let truth = Simulation::new(Shape::Hmm, 9).seed(4).model().unwrap();
        let data = Inference::new(&truth).sample(500, 1).unwrap();
        let moments = moments_of(&data);
        for model in
            [truth.clone(), from_lengths(truth.tree(), &moments, FamilyByLengths::Gaussian, Provenance::default()).unwrap()]
        {
            let scored = Inference::new(&model).score(&mut data.source(), &Silent, |_, _| Ok(())).unwrap();
            let closed = gaussian_log_likelihood(&model, &moments).unwrap().unwrap();
            assert!((closed - scored.log_likelihood).abs() < 1e-8 * closed.abs(), "{closed} for {}", scored.log_likelihood);
        }
    }

    #[test]
    fn a_symmetric_model_from_its_own_lengths_is_the_model() {
        for states in [2, 3, 5] {
            let family = ParameterFamily::Symmetric { states, strength: (0.3, 0.8) };
            let truth = Simulation::new(Shape::DoubleStar, 8).family(family).seed(states as u64).model().unwrap();
            let data = Inference::new(&truth).sample(2000, 1).unwrap();
            let moments = moments_of(&data);
            let family = family_by_lengths(&moments, true).unwrap();
            assert_eq!(family, FamilyByLengths::Symmetric(states));
            let model = from_lengths(truth.tree(), &moments, family, Provenance::default()).unwrap();
            let [expected, found] = [&truth, &model].map(|model| {
                let scored = Inference::new(model).score(&mut data.source(), &Silent, |_, _| Ok(())).unwrap();
                scored.log_likelihood
            });
            assert!((expected - found).abs() < 1e-6 * expected.abs(), "{states}: {found} for {expected}");
        }
    }

    #[test]
    fn constant_and_identical_columns_make_a_valid_model() {
        let schema = Schema::builder().scalar("a", Kind::Continuous).scalar("b", Kind::Continuous).scalar("c", Kind::Continuous);
        let values: Vec<f64> = (0..50).map(|ix| f64::from(ix * 7 % 11)).collect();
        let columns = vec![values.clone(), values, vec![0.0; 50]].into_iter().map(ColumnData::Reals).collect();
        let data = Dataset::from_columns(Arc::new(schema.build().unwrap()), columns, None).unwrap();
        let mut tree = Tree::new();
        let nodes: Vec<NodeIx> = ["a", "b", "c"].iter().map(|name| tree.add_observed(*name).unwrap()).collect();
        tree.connect(nodes[0], nodes[1], Some(0.0)).unwrap();
        let model = from_lengths(&tree, &moments_of(&data), FamilyByLengths::Gaussian, Provenance::default()).unwrap();
        assert!(gaussian_log_likelihood(&model, &moments_of(&data)).unwrap().unwrap().is_finite());
    }
}
