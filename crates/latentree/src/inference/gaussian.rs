//! Exact message passing in Gaussian trees, over blocks of rows.
//!
//! With all variables centred and `v = b·p + noise(s)` given the parent `p`, the evidence below `v` is a function
//! `exp(−½Λv² + ηv + c)` of `v`. Summed over `v` it is, as a function of the parent and with `D = 1 + sΛ`,
//! `Λ' = b²Λ/D`, `η' = bη/D`, `c' = c − ½ ln D + sη²/(2D)`; an observed `v = y` gives
//! `Λ' = b²/s`, `η' = by/s`, `c' = −½ ln(2πs) − y²/(2s) + (c + ηy − ½Λy²)`. Downward, given the parent and the evidence below,
//! `v` has mean `(b·p + sη)/D` and variance `s/D`, so posteriors follow by `E v = (b E p + sη)/D`,
//! `Var v = s/D + (b/D)² Var p`, `Cov(v, ·) = (b/D) Cov(p, ·)`: nothing is subtracted. Linear in the tree, all in logarithms.

use super::evidence::{Cells, EvidenceBlock};
use crate::index::{ColIx, NodeIx};
use crate::model::{Distribution, LatentTree};

/// Rows that are worked on at once.
pub(crate) const BLOCK_ROWS: usize = 64;

#[derive(Debug)]
struct GaussianStep {
    node: NodeIx,
    parent: Option<NodeIx>,
    column: Option<ColIx>,
    mean: f64,
    coefficient: f64,
    variance: f64,
}

/// A Gaussian tree compiled to a schedule.
#[derive(Debug)]
pub(crate) struct GaussianPlan {
    /// Leaves first.
    steps: Vec<GaussianStep>,
    n_nodes: usize,
}

impl GaussianPlan {
    pub(crate) fn new(model: &LatentTree) -> Self {
        let steps = model.rooted().order.iter().rev().map(|&node| {
            let Distribution::LinearGaussian { mean, coefficient, variance } = *model.distribution(node) else {
                unreachable!("a Gaussian plan of a Gaussian model");
            };
            let column = model.variable(node).map(|variable| model.schema().variable(variable).columns[0]);
            GaussianStep { node, parent: model.parent(node), column, mean, coefficient, variance }
        });
        Self { steps: steps.collect(), n_nodes: model.tree().n_nodes() }
    }

    /// Every node with its parent.
    pub(crate) fn edges(&self) -> impl Iterator<Item = (NodeIx, Option<NodeIx>)> + '_ {
        self.steps.iter().map(|step| (step.node, step.parent))
    }
}

/// The arrays of one block of rows; innermost index is the row.
#[derive(Debug)]
pub(crate) struct GaussianWorkspace {
    n_rows: usize,
    precision: Vec<f64>,
    information: Vec<f64>,
    constant: Vec<f64>,
    /// Known centred values, NaN where not.
    known: Vec<f64>,
    mean: Vec<f64>,
    variance: Vec<f64>,
    /// Slope of the node on its parent given the evidence below: `b/D`; zero where known.
    gain: Vec<f64>,
    /// Variance of the node given its parent and the evidence below: `s/D`; zero where known.
    residual: Vec<f64>,
    ln_likelihood: Vec<f64>,
}

impl GaussianWorkspace {
    pub(crate) fn new(plan: &GaussianPlan) -> Self {
        let zeros = || vec![0.0; plan.n_nodes * BLOCK_ROWS];
        Self {
            n_rows: 0,
            precision: zeros(),
            information: zeros(),
            constant: zeros(),
            known: zeros(),
            mean: zeros(),
            variance: zeros(),
            gain: zeros(),
            residual: zeros(),
            ln_likelihood: vec![0.0; BLOCK_ROWS],
        }
    }

    pub(crate) fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Posterior mean (less the node's own mean), variance, and gain on the parent of a node in a row; after
    /// [`down`](Self::down).
    pub(crate) fn centred(&self, node: NodeIx, row: usize) -> (f64, f64, f64) {
        let at = node.get() * BLOCK_ROWS + row;
        (self.mean[at], self.variance[at], self.gain[at])
    }

    /// The known value of a node less its mean; NaN where not known.
    pub(crate) fn known(&self, node: NodeIx, row: usize) -> f64 {
        self.known[node.get() * BLOCK_ROWS + row]
    }

    pub(crate) fn ln_likelihood(&self) -> &[f64] {
        &self.ln_likelihood[..self.n_rows]
    }

    pub(crate) fn up(&mut self, plan: &GaussianPlan, block: &EvidenceBlock<'_>) {
        self.n_rows = block.n_rows;
        for array in [&mut self.precision, &mut self.information, &mut self.constant, &mut self.ln_likelihood] {
            array.fill(0.0);
        }
        for step in &plan.steps {
            let cells = step.column.map_or_else(|| block.hidden(step.node), |column| block.column(column));
            let at = step.node.get() * BLOCK_ROWS;
            let (b, s) = (step.coefficient, step.variance);
            let ln_scale = -0.5 * (std::f64::consts::TAU * s).ln();
            for row in 0..self.n_rows {
                let (precision, information, constant) =
                    (self.precision[at + row], self.information[at + row], self.constant[at + row]);
                let value = match cells {
                    Cells::Missing => f64::NAN,
                    _ => cells.number(row) - step.mean,
                };
                self.known[at + row] = value;
                let message = if value.is_nan() {
                    let d = 1.0 + s * precision;
                    let constant = constant - 0.5 * d.ln() + s * information * information / (2.0 * d);
                    [b * b * precision / d, b * information / d, constant]
                } else {
                    let below = constant + information * value - 0.5 * precision * value * value;
                    [b * b / s, b * value / s, ln_scale - value * value / (2.0 * s) + below]
                };
                match step.parent {
                    Some(parent) => {
                        let to = parent.get() * BLOCK_ROWS + row;
                        self.precision[to] += message[0];
                        self.information[to] += message[1];
                        self.constant[to] += message[2];
                    }
                    None => self.ln_likelihood[row] += message[2],
                }
            }
        }
    }

    /// Posterior means and variances of all nodes, after [`up`](Self::up).
    pub(crate) fn down(&mut self, plan: &GaussianPlan) {
        for step in plan.steps.iter().rev() {
            let at = step.node.get() * BLOCK_ROWS;
            for row in 0..self.n_rows {
                let (gain, offset, residual) = self.conditional(step, row);
                self.gain[at + row] = gain;
                self.residual[at + row] = residual;
                let (mean, variance) = step.parent.map_or((0.0, 0.0), |parent| {
                    let from = parent.get() * BLOCK_ROWS + row;
                    (self.mean[from], self.variance[from])
                });
                self.mean[at + row] = gain * mean + offset;
                self.variance[at + row] = residual + gain * gain * variance;
            }
        }
    }

    /// Given the parent's centred value `p` and the evidence below, the node has mean `gain · p + offset` and variance
    /// `residual`.
    fn conditional(&self, step: &GaussianStep, row: usize) -> (f64, f64, f64) {
        let at = step.node.get() * BLOCK_ROWS + row;
        let known = self.known[at];
        if !known.is_nan() {
            return (0.0, known, 0.0);
        }
        let d = 1.0 + step.variance * self.precision[at];
        (step.coefficient / d, step.variance * self.information[at] / d, step.variance / d)
    }

    /// Posterior mean and variance of a node in a row.
    pub(crate) fn posterior(&self, model: &LatentTree, node: NodeIx, row: usize) -> (f64, f64) {
        let at = node.get() * BLOCK_ROWS + row;
        (self.mean[at] + own_mean(model, node), self.variance[at])
    }

    /// Posterior covariance of two nodes in a row: the variance at their meeting point times the gains on the way.
    pub(crate) fn covariance(&self, model: &LatentTree, a: NodeIx, b: NodeIx, row: usize) -> f64 {
        let ancestors = |mut node: NodeIx| {
            let mut chain = vec![(node, 1.0)];
            let mut gain = 1.0;
            while let Some(parent) = model.parent(node) {
                gain *= self.gain[node.get() * BLOCK_ROWS + row];
                node = parent;
                chain.push((node, gain));
            }
            chain
        };
        let (above_a, above_b) = (ancestors(a), ancestors(b));
        if above_a.last().map(|it| it.0) != above_b.last().map(|it| it.0) {
            return 0.0;
        }
        let shared = above_a.iter().rev().zip(above_b.iter().rev()).take_while(|(x, y)| x.0 == y.0).last();
        let ((meeting, gain_a), (_, gain_b)) = shared.expect("two nodes of one tree share the root");
        gain_a * gain_b * self.variance[meeting.get() * BLOCK_ROWS + row]
    }

    /// Sum of the log-densities of the unknown nodes at their posterior mode, each given its parent and the evidence below.
    pub(crate) fn ln_density_at_mean(&self, plan: &GaussianPlan, row: usize) -> f64 {
        let residuals = plan.steps.iter().map(|step| self.residual[step.node.get() * BLOCK_ROWS + row]);
        residuals.filter(|&residual| residual > 0.0).map(|residual| -0.5 * (std::f64::consts::TAU * residual).ln()).sum()
    }

    /// Draws all nodes of a row from their joint posterior, from standard normal draws; values are not centred.
    pub(crate) fn draw(&self, plan: &GaussianPlan, row: usize, mut normal: impl FnMut() -> f64, out: &mut [f64]) {
        for step in plan.steps.iter().rev() {
            let (gain, offset, residual) = self.conditional(step, row);
            let parent = step.parent.map_or(0.0, |parent| out[parent.get()]);
            let noise = if residual > 0.0 { residual.sqrt() * normal() } else { 0.0 };
            out[step.node.get()] = gain * parent + offset + noise;
        }
        for step in &plan.steps {
            out[step.node.get()] += step.mean;
        }
    }
}

fn own_mean(model: &LatentTree, node: NodeIx) -> f64 {
    match model.distribution(node) {
        Distribution::LinearGaussian { mean, .. } => *mean,
        _ => 0.0,
    }
}
