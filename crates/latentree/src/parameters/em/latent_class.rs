//! A start from latent class models.
//!
//! For every number of states that hidden nodes have, a latent class model is fitted: `P(x) = Σ_c w_c Π_i P(x_i | c)`. Its class is copied
//! into every hidden node of that many states: leaves get the class's distributions, and between two hidden nodes
//! `P(s | p) = (1 − ε) [s = p] + ε w_s`, which keeps every marginal. Hidden nodes of different numbers of states are joined by the
//! expected joint counts of their classes, observed neighbours by what the latent class model implies for them.

use std::sync::Arc;

use super::fit::Em;
use super::starts::{Start, template};
use crate::data::{Rows, Schema};
use crate::error::{Error, Result};
use crate::index::NodeIx;
use crate::inference::Inference;
use crate::model::{Distribution, Emission, Family, LatentTree, Table};
use crate::observer::{Observer, Quiet};
use crate::tree::Tree;

/// How far transitions are from the identity.
const EPSILON: f64 = 0.1;
/// Most passes of a latent class model's EM: it is only a start.
const ITERATIONS: usize = 60;
const TOLERANCE: f64 = 1e-6;

struct Classes {
    model: LatentTree,
    class: NodeIx,
}

impl Classes {
    fn weights(&self) -> &[f64] {
        match self.model.distribution(self.class) {
            Distribution::Discrete(table) => table.values(),
            _ => unreachable!("the class is discrete"),
        }
    }

    /// The distribution of an observed node given the class.
    fn given_class(&self, name: &str) -> &Distribution {
        self.model.distribution(self.model.tree().find(name).expect("the same variables"))
    }

    /// `P(class | x = code)` for every code of an observed discrete node: a row per code.
    fn class_given(&self, name: &str) -> Vec<Vec<f64>> {
        let Distribution::Discrete(table) = self.given_class(name) else { unreachable!("a parent is discrete") };
        let weights = self.weights();
        (0..table.n_states())
            .map(|code| {
                // Codes that were never seen say nothing.
                let row: Vec<f64> = table.rows().zip(weights).map(|(row, weight)| (row[code] + 1e-12) * weight).collect();
                let sum: f64 = row.iter().sum();
                row.iter().map(|value| value / sum).collect()
            })
            .collect()
    }
}

/// The model's tree with parameters from latent class models.
pub(super) fn start(
    em: &Em<'_>,
    model: &LatentTree,
    rows: &dyn Rows,
    restarts: usize,
    seed: u64,
    observer: &dyn Observer,
) -> Result<LatentTree> {
    if model.family() == Family::Gaussian {
        return Err(Error::option("start", "a latent class start needs discrete hidden nodes; use another for a Gaussian tree"));
    }
    let mut sizes: Vec<usize> = model.hidden().filter_map(|node| model.n_states(node)).collect();
    sizes.sort_unstable();
    sizes.dedup();
    if sizes.is_empty() {
        sizes.push(1);
    }
    let mut fitted = Vec::with_capacity(sizes.len());
    for &n_states in &sizes {
        fitted.push(fit(em, model.schema(), n_states, rows, restarts, seed, observer)?);
    }
    let of_size = |n_states: usize| &fitted[sizes.binary_search(&n_states).expect("every size was fitted")];
    let joints = joints(&fitted, rows, observer)?;
    let mut distributions = Vec::with_capacity(model.tree().n_nodes());
    for node in model.tree().node_ixs() {
        let name = model.tree().name(node);
        let parent = model.parent(node);
        let hidden_parent = parent.filter(|&parent| model.variable(parent).is_none());
        let n_parent = hidden_parent.and_then(|parent| model.n_states(parent));
        if model.variable(node).is_some() {
            let classes = n_parent.map_or(&fitted[fitted.len() - 1], of_size);
            let k = classes.weights().len();
            let mixing = match (n_parent, parent) {
                (Some(_), _) => (0..k).map(|row| (0..k).map(|c| f64::from(u8::from(c == row))).collect()).collect(),
                (None, Some(parent)) => classes.class_given(model.tree().name(parent)),
                (None, None) => vec![classes.weights().to_vec()],
            };
            distributions.push(match classes.given_class(name) {
                Distribution::Discrete(table) => Distribution::Discrete(mixed_table(table, &mixing)),
                Distribution::Emission(emission) => Distribution::Emission(mixed_emission(emission, &mixing)),
                Distribution::LinearGaussian { .. } => unreachable!("a latent class model is discrete"),
            });
            continue;
        }
        let k = model.n_states(node).expect("a hidden node of a discrete model has states");
        let classes = of_size(k);
        let values: Vec<f64> = match (n_parent, parent) {
            (Some(n_parent), _) if n_parent == k => (0..k * k)
                .map(|at| EPSILON * classes.weights()[at % k] + if at / k == at % k { 1.0 - EPSILON } else { 0.0 })
                .collect(),
            (Some(n_parent), _) => {
                let place = |size: usize| sizes.binary_search(&size).expect("every size was fitted");
                let joint = &joints[place(n_parent) * sizes.len() + place(k)];
                joint.chunks_exact(k).flat_map(normalised).collect()
            }
            (None, Some(parent)) => classes.class_given(model.tree().name(parent)).concat(),
            (None, None) => classes.weights().to_vec(),
        };
        distributions.push(Distribution::Discrete(Table::new(k, values)));
    }
    model.with_distributions(distributions)
}

fn fit(
    em: &Em<'_>,
    schema: &Arc<Schema>,
    n_states: usize,
    rows: &dyn Rows,
    restarts: usize,
    seed: u64,
    observer: &dyn Observer,
) -> Result<Classes> {
    let mut tree = Tree::new();
    for variable in schema.variables() {
        tree.add_observed(variable.name.clone())?;
    }
    let class = tree.add_next_hidden();
    for node in (0..schema.variables().len()).map(NodeIx::new) {
        tree.connect(class, node, None)?;
    }
    let model = template(Arc::clone(schema), tree, n_states)?;
    debug_assert!(model.parent(class).is_none(), "the class is the centre of the star");
    let options = Em::new()
        .iterations(em.iterations.min(ITERATIONS))
        .tolerance(em.tolerance.max(TOLERANCE))
        .smoothing(em.smoothing)
        .merge(false)
        .start(Start::Random { restarts, seed });
    let fit = options.fit(&model, rows, &Quiet(observer))?;
    Ok(Classes { model: fit.model, class })
}

/// Expected joint counts of the classes of every two models, a row per class of the first.
fn joints(fitted: &[Classes], rows: &dyn Rows, observer: &dyn Observer) -> Result<Vec<Vec<f64>>> {
    let n = fitted.len();
    let size = |ix: usize| fitted[ix].weights().len();
    let mut joints: Vec<Vec<f64>> = (0..n * n).map(|at| vec![1e-6; size(at / n) * size(at % n)]).collect();
    if n < 2 {
        return Ok(joints);
    }
    let inferences: Vec<Inference<'_>> = fitted.iter().map(|classes| Inference::new(&classes.model)).collect();
    let mut source = rows.open()?;
    while let Some(batch) = source.next_batch()? {
        if observer.cancelled() {
            return Err(Error::Cancelled);
        }
        let posteriors = inferences.iter().zip(fitted).map(|(inference, classes)| inference.posterior(&batch, &[classes.class]));
        let posteriors = posteriors.collect::<Result<Vec<_>>>()?;
        for row in 0..batch.n_rows {
            let weight = batch.weight(row);
            if posteriors.iter().any(|posterior| posterior.row(row)[0].is_nan()) {
                continue;
            }
            for at in (0..n * n).filter(|at| at / n != at % n) {
                let (a, b) = (posteriors[at / n].row(row), posteriors[at % n].row(row));
                for (x, joint) in a.iter().zip(joints[at].chunks_exact_mut(b.len())) {
                    joint.iter_mut().zip(b).for_each(|(sum, y)| *sum += weight * x * y);
                }
            }
        }
    }
    Ok(joints)
}

fn normalised(row: &[f64]) -> Vec<f64> {
    let sum: f64 = row.iter().sum();
    row.iter().map(|value| value / sum).collect()
}

/// The distribution of a table's node given something that the class depends on: a row of `mixing` per state of it.
fn mixed_table(table: &Table, mixing: &[Vec<f64>]) -> Table {
    let n_states = table.n_states();
    let mut values = vec![0.0; mixing.len() * n_states];
    for (out, weights) in values.chunks_exact_mut(n_states).zip(mixing) {
        for (row, weight) in table.rows().zip(weights) {
            out.iter_mut().zip(row).for_each(|(sum, value)| *sum += weight * value);
        }
    }
    Table::new(n_states, values)
}

fn mixed_emission(emission: &Emission, mixing: &[Vec<f64>]) -> Emission {
    let mean_of = |values: &[f64], weights: &[f64]| values.iter().zip(weights).map(|(a, b)| a * b).sum::<f64>();
    match emission {
        Emission::Categorical(table) => Emission::Categorical(mixed_table(table, mixing)),
        Emission::Gaussian { means, variances } => {
            let squares: Vec<f64> = means.iter().zip(variances).map(|(mean, variance)| mean * mean + variance).collect();
            let parts = mixing.iter().map(|weights| {
                let mean = mean_of(means, weights);
                let least = variances.iter().copied().fold(f64::INFINITY, f64::min);
                (mean, (mean_of(&squares, weights) - mean * mean).max(least))
            });
            let (means, variances) = parts.unzip();
            Emission::Gaussian { means, variances }
        }
        Emission::Poisson { rates } => {
            Emission::Poisson { rates: mixing.iter().map(|weights| mean_of(rates, weights)).collect() }
        }
        Emission::Group(members) => Emission::Group(members.iter().map(|member| mixed_emission(member, mixing)).collect()),
    }
}
