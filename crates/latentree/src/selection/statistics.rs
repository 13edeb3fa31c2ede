//! What hidden nodes' posteriors say about every variable and about each other: enough to move leaves, to join hidden nodes anew,
//! and to start the tables of any tree over them.

use std::sync::Arc;

use rayon::prelude::*;

use super::shape::{Shape, hidden_nodes};
use crate::data::{Batch, Kind, Rows, Schema};
use crate::inference::Inference;
use crate::information;
use crate::model::{Distribution, Emission, LatentTree, Table};
use crate::moments::Summary;
use crate::tree::Rooted;
use crate::{ColIx, Error, NodeIx, Observer, Result, VarIx};

/// Contiguous parts that a batch is cut into: never depends on the number of threads, since the order of additions follows from it.
const PARTS: usize = 8;
/// Added to every joint count of two hidden nodes.
const LEAST_JOINT: f64 = 1e-3;

/// Expected sums under a model.
pub(super) struct Statistics {
    /// Start of each hidden node's states; one longer than their number.
    starts: Vec<usize>,
    /// `Σ_rows w q qᵀ` of the posteriors of all states of all hidden nodes.
    joint: Vec<f64>,
    /// By feature of a column, and by state: `Σ_rows w φ q`.
    sums: Vec<f64>,
    /// Start of each column's features.
    features: Vec<usize>,
    /// What continuous cells are measured from, by column.
    shifts: Vec<f64>,
    schema: Arc<Schema>,
}

fn n_features(kind: &Kind) -> usize {
    match kind {
        Kind::Continuous => 3,
        Kind::Count => 2,
        discrete => discrete.n_states().unwrap_or(1),
    }
}

impl Statistics {
    /// Statistics of all rows: of the hidden nodes of one model, or of several models one after the other.
    pub(super) fn new(models: &[&LatentTree], data: &dyn Rows, summary: &Summary, observer: &dyn Observer) -> Result<Self> {
        let schema = Arc::clone(data.schema());
        let hidden: Vec<Vec<NodeIx>> = models.iter().map(|model| hidden_nodes(model)).collect();
        let mut starts = vec![0];
        for (model, nodes) in models.iter().zip(&hidden) {
            for &node in nodes {
                starts.push(starts[starts.len() - 1] + model.n_states(node).unwrap_or(1));
            }
        }
        let mut features = vec![0];
        for column in schema.columns() {
            features.push(features[features.len() - 1] + n_features(&column.kind));
        }
        let width = starts[starts.len() - 1];
        let n_features = features[schema.columns().len()];
        let mut all = Self {
            joint: vec![0.0; width * width],
            sums: vec![0.0; n_features * width],
            shifts: summary.columns().iter().map(|column| column.mean).collect(),
            starts,
            features,
            schema,
        };
        let inferences: Vec<Inference<'_>> = models.iter().map(|model| Inference::new(model)).collect();
        let mut source = data.open()?;
        while let Some(batch) = source.next_batch()? {
            let batch = &*batch;
            if observer.cancelled() {
                return Err(Error::Cancelled);
            }
            let posteriors = inferences.iter().zip(&hidden).map(|(inference, nodes)| inference.posterior(batch, nodes));
            let posteriors = posteriors.collect::<Result<Vec<_>>>()?;
            let parts: Vec<_> = (0..PARTS).map(|part| part * batch.n_rows / PARTS..(part + 1) * batch.n_rows / PARTS).collect();
            let parts: Vec<(Vec<f64>, Vec<f64>)> = parts
                .into_par_iter()
                .map(|rows| {
                    let (mut joint, mut sums) = (vec![0.0; width * width], vec![0.0; n_features * width]);
                    let mut weighted = vec![0.0; width];
                    let mut beliefs = Vec::with_capacity(width);
                    for row in rows {
                        let own = batch.weight(row);
                        beliefs.clear();
                        posteriors.iter().for_each(|posterior| beliefs.extend_from_slice(posterior.row(row)));
                        if own <= 0.0 || beliefs.iter().any(|belief| belief.is_nan()) {
                            continue;
                        }
                        weighted.iter_mut().zip(&beliefs).for_each(|(out, belief)| *out = own * belief);
                        for (a, sums) in weighted.iter().zip(joint.chunks_exact_mut(width)) {
                            sums.iter_mut().zip(&beliefs).for_each(|(sum, b)| *sum += a * b);
                        }
                        all.add_row(batch, row, &weighted, &mut sums);
                    }
                    (joint, sums)
                })
                .collect();
            for (joint, sums) in parts {
                all.joint.iter_mut().zip(joint).for_each(|(own, other)| *own += other);
                all.sums.iter_mut().zip(sums).for_each(|(own, other)| *own += other);
            }
        }
        Ok(all)
    }

    fn width(&self) -> usize {
        self.starts[self.starts.len() - 1]
    }

    fn add_row(&self, batch: &Batch, row: usize, weighted: &[f64], sums: &mut [f64]) {
        let width = weighted.len();
        let mut add = |feature: usize, value: f64| {
            let sums = &mut sums[feature * width..][..width];
            sums.iter_mut().zip(weighted).for_each(|(sum, weight)| *sum += value * weight);
        };
        for (ix, column) in self.schema.columns().iter().enumerate() {
            let (value, first) = (batch.number(row, ColIx::new(ix)), self.features[ix]);
            if value.is_nan() {
                continue;
            }
            match column.kind {
                Kind::Continuous => {
                    let distance = value - self.shifts[ix];
                    add(first, 1.0);
                    add(first + 1, distance);
                    add(first + 2, distance * distance);
                }
                Kind::Count => {
                    add(first, 1.0);
                    add(first + 1, value);
                }
                _ => add(first + value as usize, 1.0),
            }
        }
    }

    fn states(&self, hidden: usize) -> std::ops::Range<usize> {
        self.starts[hidden]..self.starts[hidden + 1]
    }

    /// The sums of a feature in the states of a hidden node.
    fn sums(&self, feature: usize, hidden: usize) -> &[f64] {
        &self.sums[feature * self.width()..][self.states(hidden)]
    }

    /// The largest expected log-likelihood of a variable as a leaf of a hidden node, less a constant that is the same for all hidden nodes.
    pub(super) fn leaf_score(&self, variable: VarIx, hidden: usize) -> f64 {
        let columns = &self.schema.variable(variable).columns;
        columns.iter().map(|&column| self.column_score(column, hidden)).sum()
    }

    fn column_score(&self, column: ColIx, hidden: usize) -> f64 {
        let first = self.features[column.get()];
        let n_states = self.states(hidden).len();
        let plogp = |value: f64| if value > 0.0 { value * value.ln() } else { 0.0 };
        match &self.schema.column(column).kind {
            Kind::Continuous => {
                let [n, x, xx] = [0, 1, 2].map(|feature| self.sums(first + feature, hidden));
                let (total, sum, squares) = (n.iter().sum::<f64>(), x.iter().sum::<f64>(), xx.iter().sum::<f64>());
                let least = 1e-4 * (squares / total - (sum / total).powi(2)).max(1e-300);
                let state = |s: usize| {
                    let variance = (xx[s] / n[s] - (x[s] / n[s]).powi(2)).max(least);
                    if n[s] > 0.0 { -0.5 * n[s] * variance.ln() } else { 0.0 }
                };
                (0..n_states).map(state).sum()
            }
            Kind::Count => {
                let [n, x] = [0, 1].map(|feature| self.sums(first + feature, hidden));
                let state = |s: usize| if x[s] > 0.0 { x[s] * (x[s] / n[s]).ln() - x[s] } else { 0.0 };
                (0..n_states).map(state).sum()
            }
            discrete => {
                let codes = 0..discrete.n_states().unwrap_or(1);
                (0..n_states)
                    .map(|s| {
                        let counts = codes.clone().map(|code| self.sums(first + code, hidden)[s]);
                        counts.clone().map(plogp).sum::<f64>() - plogp(counts.sum())
                    })
                    .sum()
            }
        }
    }

    /// Free parameters of a variable per state of its parent.
    pub(super) fn parameters_per_state(&self, variable: VarIx) -> usize {
        let columns = &self.schema.variable(variable).columns;
        let of = |column: &ColIx| match &self.schema.column(*column).kind {
            Kind::Continuous => 2,
            Kind::Count => 1,
            discrete => discrete.n_states().unwrap_or(1) - 1,
        };
        columns.iter().map(of).sum()
    }

    /// The joint counts of two hidden nodes: a row per state of the first.
    fn joint(&self, a: usize, b: usize) -> Vec<f64> {
        let width = self.width();
        self.states(a).flat_map(|row| self.joint[row * width..][self.states(b)].iter().copied()).collect()
    }

    /// Mutual information, in nats over all rows, of what is believed of two hidden nodes.
    pub(super) fn information(&self, a: usize, b: usize) -> f64 {
        let (joint, n_b) = (self.joint(a, b), self.states(b).len());
        information::of_joint(&joint, n_b)
    }

    /// A model of a shape whose hidden node `ix` is node `from[ix]` here: tables as the posteriors have them, leaf distributions smoothed by a
    /// pseudo-count.
    pub(super) fn model(&self, shape: &Shape, from: &[usize], pseudo_count: f64) -> Result<LatentTree> {
        let tree = shape.tree(&self.schema)?;
        let p = self.schema.variables().len();
        let center = tree.center();
        // The centre of a star with one leaf may be the leaf.
        let root = if center.get() < p { tree.links(center).first().map_or(center, |link| link.to) } else { center };
        let rooted = Rooted::new(&tree, root);
        let mut builder = LatentTree::builder(Arc::clone(&self.schema), tree.clone()).roots(&rooted.roots);
        for node in tree.node_ixs() {
            let parent = rooted.parent[node.get()].map(|parent| parent.get().wrapping_sub(p));
            let distribution = if node.get() < p {
                let hidden = parent.expect("a variable hangs on a hidden node");
                self.leaf(VarIx::new(node.get()), from[hidden], pseudo_count)
            } else {
                let own = from[node.get() - p];
                let counts = match parent {
                    Some(parent) => self.joint(from[parent], own),
                    None => {
                        let width = self.width();
                        self.states(own).map(|state| self.joint[state * width..][self.states(own)].iter().sum()).collect()
                    }
                };
                Distribution::Discrete(normalised(&counts, self.states(own).len(), LEAST_JOINT))
            };
            builder = builder.distribution(node, distribution);
        }
        builder.build()
    }

    fn leaf(&self, variable: VarIx, hidden: usize, pseudo_count: f64) -> Distribution {
        let variable = self.schema.variable(variable);
        let mut members: Vec<Emission> =
            variable.columns.iter().map(|&column| self.emission(column, hidden, pseudo_count)).collect();
        if variable.is_group {
            return Distribution::Emission(Emission::Group(members));
        }
        match members.pop() {
            Some(Emission::Categorical(table)) => Distribution::Discrete(table),
            Some(other) => Distribution::Emission(other),
            None => unreachable!("a variable has a column"),
        }
    }

    fn emission(&self, column: ColIx, hidden: usize, pseudo_count: f64) -> Emission {
        let first = self.features[column.get()];
        let n_states = self.states(hidden).len();
        match &self.schema.column(column).kind {
            Kind::Continuous => {
                let [n, x, xx] = [0, 1, 2].map(|feature| self.sums(first + feature, hidden));
                let (total, sum, squares) = (n.iter().sum::<f64>(), x.iter().sum::<f64>(), xx.iter().sum::<f64>());
                let (mean, variance) = (sum / total, (squares / total - (sum / total).powi(2)).max(1e-12));
                let state = |s: usize| {
                    if n[s] < 1e-6 || !mean.is_finite() {
                        return (self.shifts[column.get()] + if mean.is_finite() { mean } else { 0.0 }, variance.max(1e-12));
                    }
                    let own = x[s] / n[s];
                    (self.shifts[column.get()] + own, (xx[s] / n[s] - own * own).max(1e-3 * variance))
                };
                let (means, variances) = (0..n_states).map(state).unzip();
                Emission::Gaussian { means, variances }
            }
            Kind::Count => {
                let [n, x] = [0, 1].map(|feature| self.sums(first + feature, hidden));
                Emission::Poisson { rates: (0..n_states).map(|s| (x[s] + 0.01) / (n[s] + 0.01)).collect() }
            }
            discrete => {
                let n_codes = discrete.n_states().unwrap_or(1);
                let counts: Vec<f64> = (0..n_states)
                    .flat_map(|s| (0..n_codes).map(move |code| (s, code)))
                    .map(|(s, code)| self.sums(first + code, hidden)[s])
                    .collect();
                Emission::Categorical(normalised(&counts, n_codes, pseudo_count.max(1e-6)))
            }
        }
    }
}

/// Rows of counts as rows of probabilities.
fn normalised(counts: &[f64], n_states: usize, pseudo_count: f64) -> Table {
    let mut values = Vec::with_capacity(counts.len());
    for row in counts.chunks_exact(n_states) {
        let total: f64 = row.iter().map(|count| count.max(0.0) + pseudo_count).sum();
        values.extend(row.iter().map(|count| (count.max(0.0) + pseudo_count) / total));
    }
    Table::new(n_states, values)
}

/// The links of the maximum spanning tree of the mutual information of hidden nodes.
pub(super) fn spanning_links(statistics: &Statistics, n_hidden: usize) -> Vec<(usize, usize)> {
    let mut best: Vec<(f64, usize)> =
        (0..n_hidden).map(|ix| (if ix == 0 { 0.0 } else { statistics.information(0, ix) }, 0)).collect();
    let mut inside = vec![false; n_hidden];
    let mut links = Vec::new();
    if n_hidden > 0 {
        inside[0] = true;
    }
    for _ in 1..n_hidden {
        let next = (0..n_hidden).filter(|&ix| !inside[ix]).max_by(|&a, &b| best[a].0.total_cmp(&best[b].0).then(b.cmp(&a)));
        let Some(next) = next else { break };
        inside[next] = true;
        links.push((best[next].1, next));
        for ix in (0..n_hidden).filter(|&ix| !inside[ix]) {
            let value = statistics.information(next, ix);
            if value > best[ix].0 {
                best[ix] = (value, next);
            }
        }
    }
    links
}

/// The node of a model that is a hidden node by number.
pub(super) fn node_of(model: &LatentTree, hidden: usize) -> NodeIx {
    hidden_nodes(model)[hidden]
}
