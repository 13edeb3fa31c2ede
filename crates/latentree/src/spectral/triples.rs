//! The second pass: moments of the summaries, and of labels with summaries.
//!
//! With s the summaries of the sides of an edge and of the branches of a joint, the pass accumulates `E[s₀ s₁ᵀ]` for each
//! edge, `E[s_a ⊗ s_b ⊗ s_c]` for each joint, `E[1{x = label} sᵀ]` for each variable with the summary of the rest, and the
//! joint tables of neighbouring variables.

use std::sync::Arc;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::labels::Labels;
use super::linkers::Summary;
use super::network::{End, Network};
use crate::data::Batch;
use crate::error::Result;
use crate::moments::Accumulator;
use crate::moments::sums::{add_all, from_bytes, mismatch, to_bytes};

/// What the pass accumulates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct TriplePlan {
    pub(super) labels: Labels,
    pub(super) network: Network,
    /// The number of dimensions of each edge.
    pub(super) ranks: Vec<usize>,
    /// The summaries of both sides of each edge; empty for a pair of variables.
    pub(super) summaries: Vec<[Summary; 2]>,
}

impl TriplePlan {
    /// Size of the sums of a joint.
    fn joint_size(&self, joint: usize) -> usize {
        self.network.joints[joint].iter().map(|&edge| self.ranks[edge]).product()
    }

    /// Size of the sums of an edge.
    fn edge_size(&self, edge: usize) -> usize {
        if self.network.is_pair(edge) { 0 } else { self.ranks[edge] * self.ranks[edge] }
    }

    /// Size of the sums of a variable at an edge, or of a pair of variables.
    fn label_size(&self, edge: usize) -> usize {
        let n = |variable: usize| self.labels.n_labels[variable];
        match self.network.edges[edge] {
            [End::Variable(a), End::Variable(b)] => n(a) * n(b),
            [End::Variable(a), _] | [_, End::Variable(a)] => n(a) * self.ranks[edge],
            _ => 0,
        }
    }

    /// The summary of a side for some rows, row by row, the constant first.
    fn fill(&self, edge: usize, side: usize, codes: &[Vec<u32>], n_rows: usize) -> Vec<f64> {
        let k = self.ranks[edge];
        let summary = &self.summaries[edge][side];
        let mut out = vec![0.0; n_rows * k];
        out.iter_mut().step_by(k).for_each(|it| *it = 1.0);
        if k == 1 {
            return out;
        }
        for (&variable, numbers) in summary.variables.iter().zip(&summary.numbers) {
            for (out, &code) in out.chunks_exact_mut(k).zip(&codes[variable]) {
                let at = code as usize * (k - 1);
                if let Some(numbers) = numbers.get(at..at + k - 1) {
                    out[1..].iter_mut().zip(numbers).for_each(|(out, number)| *out += number);
                }
            }
        }
        out
    }
}

/// Moments of summaries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Triples {
    pub(super) plan: Arc<TriplePlan>,
    pub(super) weight: f64,
    /// Weight of each label of each variable.
    pub(super) singles: Vec<Vec<f64>>,
    /// `Σ w s_a ⊗ s_b ⊗ s_c` of each joint.
    pub(super) joints: Vec<Vec<f64>>,
    /// `Σ w s₀ s₁ᵀ` of each edge that ends at a joint.
    pub(super) edges: Vec<Vec<f64>>,
    /// `Σ w 1{x = label} sᵀ` of each edge between a variable and a joint, with s from the joint's side; for a pair of
    /// variables, their joint table.
    pub(super) labels: Vec<Vec<f64>>,
}

impl Triples {
    pub(super) fn new(plan: Arc<TriplePlan>) -> Self {
        let n_edges = plan.network.edges.len();
        Self {
            weight: 0.0,
            singles: plan.labels.n_labels.iter().map(|&n| vec![0.0; n]).collect(),
            joints: (0..plan.network.joints.len()).map(|joint| vec![0.0; plan.joint_size(joint)]).collect(),
            edges: (0..n_edges).map(|edge| vec![0.0; plan.edge_size(edge)]).collect(),
            labels: (0..n_edges).map(|edge| vec![0.0; plan.label_size(edge)]).collect(),
            plan,
        }
    }

    fn is_sound(&self) -> bool {
        let plan = &self.plan;
        let (n_edges, n_joints) = (plan.network.edges.len(), plan.network.joints.len());
        let edge_ok = |ends: &[End; 2]| {
            ends.iter().all(|end| match *end {
                End::Variable(variable) => variable < plan.labels.n_labels.len(),
                End::Joint(joint) => joint < n_joints,
            })
        };
        let shapes = |own: &[Vec<f64>], size: &dyn Fn(usize) -> usize, n: usize| {
            own.len() == n && own.iter().enumerate().all(|(ix, it)| it.len() == size(ix))
        };
        plan.network.edges.iter().all(edge_ok)
            && plan.network.joints.iter().flatten().all(|&edge| edge < n_edges)
            && plan.ranks.len() == n_edges
            && plan.summaries.len() == n_edges
            && plan.ranks.iter().all(|&rank| rank > 0)
            && plan.summaries.iter().flatten().all(|summary| {
                summary.variables.len() == summary.numbers.len()
                    && summary.variables.iter().all(|&variable| variable < plan.labels.n_labels.len())
            })
            && shapes(&self.singles, &|ix| plan.labels.n_labels[ix], plan.labels.n_labels.len())
            && shapes(&self.joints, &|ix| plan.joint_size(ix), n_joints)
            && shapes(&self.edges, &|ix| plan.edge_size(ix), n_edges)
            && shapes(&self.labels, &|ix| plan.label_size(ix), n_edges)
    }
}

/// Adds `w a bᵀ`.
fn add_outer(sum: &mut [f64], weight: f64, a: &[f64], b: &[f64]) {
    for (cells, x) in sum.chunks_exact_mut(b.len()).zip(a) {
        let factor = weight * x;
        cells.iter_mut().zip(b).for_each(|(cell, y)| *cell += factor * y);
    }
}

impl Accumulator for Triples {
    type Output = Self;

    const NAME: &'static str = "spectral-triples";

    fn observe(&mut self, batch: &Batch) -> Result<()> {
        let plan = Arc::clone(&self.plan);
        let network = &plan.network;
        let (joints, edges, labels) = (&mut self.joints, &mut self.edges, &mut self.labels);
        plan.labels.each_strip(batch, &mut self.singles, &mut self.weight, |codes, weights| {
            let n_rows = weights.len();
            let summaries: Vec<[Vec<f64>; 2]> = (0..network.edges.len())
                .into_par_iter()
                .map(|edge| match network.is_pair(edge) {
                    true => Default::default(),
                    false => [plan.fill(edge, 0, codes, n_rows), plan.fill(edge, 1, codes, n_rows)],
                })
                .collect();
            joints.par_iter_mut().enumerate().for_each(|(joint, sum)| {
                let branch = |edge: usize| {
                    let side = 1 - network.side(edge, End::Joint(joint));
                    summaries[edge][side].chunks_exact(plan.ranks[edge])
                };
                let [a, b, c] = network.joints[joint].map(branch);
                let plane = plan.ranks[network.joints[joint][1]] * plan.ranks[network.joints[joint][2]];
                for (((a, b), c), weight) in a.zip(b).zip(c).zip(weights) {
                    for (plane, x) in sum.chunks_exact_mut(plane).zip(a) {
                        add_outer(plane, weight * x, b, c);
                    }
                }
            });
            edges.par_iter_mut().zip(labels.par_iter_mut()).enumerate().for_each(|(edge, (sum, labels))| {
                if let [End::Variable(a), End::Variable(b)] = network.edges[edge] {
                    let (n, m) = (plan.labels.n_labels[a], plan.labels.n_labels[b]);
                    for ((&x, &y), weight) in codes[a].iter().zip(&codes[b]).zip(weights) {
                        if (x as usize) < n && (y as usize) < m {
                            labels[x as usize * m + y as usize] += weight;
                        }
                    }
                    return;
                }
                let k = plan.ranks[edge];
                let sides = summaries[edge][0].chunks_exact(k).zip(summaries[edge][1].chunks_exact(k));
                sides.zip(weights).for_each(|((a, b), &weight)| add_outer(sum, weight, a, b));
                for (side, end) in network.edges[edge].into_iter().enumerate() {
                    let End::Variable(variable) = end else { continue };
                    let rest = summaries[edge][1 - side].chunks_exact(k);
                    for ((&code, rest), weight) in codes[variable].iter().zip(rest).zip(weights) {
                        if let Some(sums) = labels.get_mut(code as usize * k..(code as usize + 1) * k) {
                            sums.iter_mut().zip(rest).for_each(|(sum, it)| *sum += weight * it);
                        }
                    }
                }
            });
        });
        Ok(())
    }

    fn merge(&mut self, other: Self) -> Result<()> {
        if self.plan != other.plan {
            return Err(mismatch());
        }
        self.weight += other.weight;
        add_all(&mut self.singles, &other.singles);
        add_all(&mut self.joints, &other.joints);
        add_all(&mut self.edges, &other.edges);
        add_all(&mut self.labels, &other.labels);
        Ok(())
    }

    fn empty(&self) -> Self {
        Self::new(Arc::clone(&self.plan))
    }

    fn finish(self) -> Result<Self> {
        Ok(self)
    }

    fn to_bytes(&self) -> Result<Vec<u8>> {
        to_bytes(self)
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let read: Self = from_bytes(bytes)?;
        if read.is_sound() { Ok(read) } else { Err(mismatch()) }
    }
}
