//! The order of hidden states: labels of hidden states are arbitrary to every learner, so they are sorted once, at the end.
//!
//! A state's score is the mean of what is *ordered* next to its node, given that state: continuous columns, counts, binary
//! columns (code 1 is the event), categories whose labels are all numbers, and the pairs no/yes, false/true, absent/present,
//! negative/positive and off/on. Each column is standardised and weighted by the share of its variance that the node explains, so
//! that the column which tells most about the node decides. States rise with their scores: over columns of presence (words,
//! diagnoses), state 1 is the one with more of them.
//!
//! - A hidden node without ordered columns next to it takes the expected scores of its hidden neighbours, nearest to ordered
//!   columns first.
//! - In a tree without any ordered column, and for states whose scores are the same, the commonest state comes first.
//!
//! The joint distribution of the observed variables stays what it was. Sums run over neighbours by name, so that the order of
//! columns in a table does not matter.

use super::{Distribution, Domain, Emission, Family, LatentTree, Marginal, Table};
use crate::data::Kind;
use crate::error::Result;
use crate::index::NodeIx;

/// Scores (in standard deviations of a column) and probabilities nearer to each other than this are the same.
const SAME: f64 = 1e-9;

/// Labels that come before and after each other, in lower case.
const PAIRS: [[&str; 2]; 5] = [["no", "yes"], ["false", "true"], ["absent", "present"], ["negative", "positive"], ["off", "on"]];

impl LatentTree {
    /// The same model with the states of its hidden nodes in order: rising with the mean of the ordered columns next to them or,
    /// where there are none, the commonest first. Gaussian trees have no states and stay as they are.
    ///
    /// # Errors
    /// None for a model that was built.
    pub fn with_ordered_states(&self) -> Result<Self> {
        if self.family() == Family::Gaussian {
            return Ok(self.clone());
        }
        let orders = orders(self);
        let is_sorted = |order: &Option<Vec<usize>>| order.as_ref().is_none_or(|order| order.is_sorted());
        if orders.iter().all(is_sorted) {
            return Ok(self.clone());
        }
        let order = |node: NodeIx| orders[node.get()].as_deref();
        let mut builder = Self::builder(self.schema().clone(), self.tree().clone())
            .roots(&self.rooted().roots)
            .provenance(self.provenance().clone());
        for node in self.tree().node_ixs() {
            let above = self.parent(node).and_then(order);
            builder = builder.distribution(
                node,
                match self.distribution(node) {
                    Distribution::Discrete(table) => Distribution::Discrete(permuted_table(table, above, order(node))),
                    Distribution::Emission(emission) => Distribution::Emission(permuted_emission(emission, above)),
                    other => other.clone(),
                },
            );
            if let Some(own) = order(node) {
                builder = builder.hidden(node, permuted_labels(self.domain(node), own));
            }
        }
        builder.build()
    }
}

fn permuted<T: Clone>(values: &[T], order: Option<&[usize]>) -> Vec<T> {
    match order {
        Some(order) => order.iter().map(|&old| values[old].clone()).collect(),
        None => values.to_vec(),
    }
}

fn permuted_table(table: &Table, rows: Option<&[usize]>, columns: Option<&[usize]>) -> Table {
    let all: Vec<&[f64]> = table.rows().collect();
    Table::new(table.n_states(), permuted(&all, rows).into_iter().flat_map(|row| permuted(row, columns)).collect())
}

fn permuted_emission(emission: &Emission, order: Option<&[usize]>) -> Emission {
    match emission {
        Emission::Categorical(table) => Emission::Categorical(permuted_table(table, order, None)),
        Emission::Gaussian { means, variances } => {
            Emission::Gaussian { means: permuted(means, order), variances: permuted(variances, order) }
        }
        Emission::Poisson { rates } => Emission::Poisson { rates: permuted(rates, order) },
        Emission::Group(members) => Emission::Group(members.iter().map(|member| permuted_emission(member, order)).collect()),
    }
}

/// Numbers of states number positions and stay; names of states go with their states.
fn permuted_labels(domain: &Domain, order: &[usize]) -> Domain {
    match domain {
        Domain::Discrete { labels } if *domain != Domain::numbered(labels.len()) => {
            Domain::Discrete { labels: permuted(labels, Some(order)) }
        }
        _ => domain.clone(),
    }
}

/// For every hidden node its states in their new order.
fn orders(model: &LatentTree) -> Vec<Option<Vec<usize>>> {
    let marginals = model.marginals();
    let scores = Scores { model, marginals: &marginals };
    let mut found: Vec<Option<Vec<f64>>> = vec![None; model.tree().n_nodes()];
    let mut reached: Vec<NodeIx> = Vec::new();
    for node in model.hidden() {
        if let Some(score) = scores.of_columns(node) {
            found[node.get()] = Some(score);
            reached.push(node);
        }
    }
    // Outwards from the nodes next to ordered columns, one ring after the other.
    while !reached.is_empty() {
        let outer = |node: &NodeIx| model.variable(*node).is_none() && found[node.get()].is_none();
        let mut ring: Vec<NodeIx> =
            reached.iter().flat_map(|&node| model.tree().links(node).iter().map(|link| link.to)).filter(outer).collect();
        ring.sort_unstable();
        ring.dedup();
        let new: Vec<Vec<f64>> = ring.iter().map(|&node| scores.of_neighbours(node, &found)).collect();
        ring.iter().zip(new).for_each(|(node, score)| found[node.get()] = Some(score));
        reached = ring;
    }
    let order = |node: NodeIx| -> Option<Vec<usize>> {
        let Marginal::Discrete(weights) = &marginals[node.get()] else { return None };
        let mut order: Vec<usize> = (0..weights.len()).collect();
        sort_by(&mut order, &weights.iter().map(|weight| -weight).collect::<Vec<_>>());
        if let Some(score) = &found[node.get()] {
            sort_by(&mut order, score);
        }
        Some(order)
    };
    model.tree().node_ixs().map(|node| if model.variable(node).is_none() { order(node) } else { None }).collect()
}

/// Sorts states by what they have, least first; those that have the same keep their order. Rounding must not decide: the same
/// model with its states in another order has the same order of states.
fn sort_by(order: &mut [usize], values: &[f64]) {
    let mut sorted = order.to_vec();
    sorted.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut rank = vec![0; values.len()];
    for pair in sorted.windows(2) {
        rank[pair[1]] = rank[pair[0]] + usize::from(values[pair[1]] - values[pair[0]] > SAME);
    }
    order.sort_by_key(|&state| rank[state]);
}

struct Scores<'a> {
    model: &'a LatentTree,
    marginals: &'a [Marginal],
}

/// What an ordered column is in each state of a node.
struct Given {
    means: Vec<f64>,
    /// Means of the squares.
    squares: Vec<f64>,
}

impl Scores<'_> {
    fn weights(&self, node: NodeIx) -> &[f64] {
        match &self.marginals[node.get()] {
            Marginal::Discrete(weights) => weights,
            _ => unreachable!("a hidden node of a discrete model is discrete"),
        }
    }

    /// Neighbours by name.
    fn neighbours(&self, node: NodeIx) -> Vec<NodeIx> {
        let tree = self.model.tree();
        let mut neighbours: Vec<NodeIx> = tree.links(node).iter().map(|link| link.to).collect();
        neighbours.sort_by(|&a, &b| tree.name(a).cmp(tree.name(b)));
        neighbours
    }

    /// The scores of a hidden node's states by the ordered columns next to it; `None` if there are none that tell anything.
    fn of_columns(&self, node: NodeIx) -> Option<Vec<f64>> {
        let weights = self.weights(node);
        let mut scores = vec![0.0; weights.len()];
        for neighbour in self.neighbours(node).into_iter().filter(|&it| self.model.variable(it).is_some()) {
            for given in self.ordered(node, neighbour) {
                let mean_of = |values: &[f64]| values.iter().zip(weights).map(|(value, weight)| value * weight).sum::<f64>();
                let mean = mean_of(&given.means);
                let between = mean_of(&given.means.iter().map(|it| (it - mean) * (it - mean)).collect::<Vec<_>>());
                let total = mean_of(&given.squares) - mean * mean;
                if between > 0.0 && total > 0.0 && total.is_finite() {
                    let (share, deviation) = ((between / total).min(1.0), total.sqrt());
                    scores.iter_mut().zip(&given.means).for_each(|(score, it)| *score += share * (it - mean) / deviation);
                }
            }
        }
        is_spread(&scores).then_some(scores)
    }

    /// The expected scores of the neighbours that have some.
    fn of_neighbours(&self, node: NodeIx, found: &[Option<Vec<f64>>]) -> Vec<f64> {
        let mut scores = vec![0.0; self.weights(node).len()];
        for neighbour in self.neighbours(node) {
            if let Some(values) = &found[neighbour.get()] {
                let given = self.probabilities(node, neighbour);
                for (score, row) in scores.iter_mut().zip(given.rows()) {
                    *score += row.iter().zip(values).map(|(p, value)| p * value).sum::<f64>();
                }
            }
        }
        scores
    }

    /// P(neighbour | node) of two discrete nodes.
    fn probabilities(&self, node: NodeIx, neighbour: NodeIx) -> Table {
        let (below, above) = if self.model.parent(neighbour) == Some(node) { (neighbour, node) } else { (node, neighbour) };
        let Distribution::Discrete(table) = self.model.distribution(below) else {
            unreachable!("both nodes are discrete");
        };
        if above == node {
            return table.clone();
        }
        let (own, parents) = (self.weights(node), self.weights(neighbour));
        let cell = |state: usize, parent: usize| {
            if own[state] > 0.0 { table.given(parent)[state] * parents[parent] / own[state] } else { parents[parent] }
        };
        let n = parents.len();
        Table::new(n, (0..own.len() * n).map(|at| cell(at / n, at % n)).collect())
    }

    /// The ordered columns of an observed neighbour, given the states of a hidden node.
    fn ordered(&self, node: NodeIx, neighbour: NodeIx) -> Vec<Given> {
        let Some(variable) = self.model.variable(neighbour) else { return Vec::new() };
        let schema = self.model.schema();
        let columns = &schema.variable(variable).columns;
        let kinds = columns.iter().map(|&column| &schema.column(column).kind);
        match self.model.distribution(neighbour) {
            Distribution::Emission(Emission::Group(members)) => {
                members.iter().zip(kinds).filter_map(|(member, kind)| of_emission(member, kind)).collect()
            }
            Distribution::Emission(emission) => kinds.take(1).filter_map(|kind| of_emission(emission, kind)).collect(),
            Distribution::Discrete(_) => {
                let table = self.probabilities(node, neighbour);
                kinds.take(1).filter_map(|kind| of_table(&table, kind)).collect()
            }
            Distribution::LinearGaussian { .. } => Vec::new(),
        }
    }
}

fn is_spread(scores: &[f64]) -> bool {
    let least = scores.iter().copied().fold(f64::INFINITY, f64::min);
    let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    most - least > SAME
}

fn of_emission(emission: &Emission, kind: &Kind) -> Option<Given> {
    match emission {
        Emission::Categorical(table) => of_table(table, kind),
        Emission::Gaussian { means, variances } => {
            let squares = means.iter().zip(variances).map(|(mean, variance)| mean * mean + variance).collect();
            Some(Given { means: means.clone(), squares })
        }
        Emission::Poisson { rates } => {
            Some(Given { means: rates.clone(), squares: rates.iter().map(|rate| rate * (rate + 1.0)).collect() })
        }
        Emission::Group(_) => None,
    }
}

fn of_table(table: &Table, kind: &Kind) -> Option<Given> {
    let values = values_of(kind)?;
    let mean_of = |row: &[f64], power: i32| row.iter().zip(&values).map(|(p, value)| p * value.powi(power)).sum::<f64>();
    Some(Given {
        means: table.rows().map(|row| mean_of(row, 1)).collect(),
        squares: table.rows().map(|row| mean_of(row, 2)).collect(),
    })
}

/// The values of a column's labels, if they have an order.
pub(crate) fn values_of(kind: &Kind) -> Option<Vec<f64>> {
    let labels = match kind {
        Kind::Binary { .. } => return Some(vec![0.0, 1.0]),
        Kind::Categorical { labels } => labels,
        Kind::Continuous | Kind::Count => return None,
    };
    let number = |label: &String| label.trim().parse::<f64>().ok().filter(|value| value.abs() < 1e100);
    if let Some(values) = labels.iter().map(number).collect() {
        return Some(values);
    }
    let lower: Vec<String> = labels.iter().map(|label| label.trim().to_lowercase()).collect();
    let place = |pair: &[&str; 2]| -> Option<Vec<f64>> {
        lower.iter().map(|label| pair.iter().position(|it| it == label).map(|at| at as f64)).collect()
    };
    PAIRS.iter().find_map(place)
}

#[cfg(test)]
mod tests;
