//! Posteriors of nodes and edges, row by row.

use super::evidence::EvidenceBlock;
use super::number::Number;
use super::plan::{Plan, Role};
use super::star::StarPlan;
use super::sum_product::Workspace;
use super::{Evidence, Inference, Passed, Sweep};
use crate::data::{Batch, Block};
use crate::error::{Error, Result};
use crate::index::NodeIx;
use crate::model::{Distribution, Emission, Family};

/// Posteriors of some nodes in some rows.
///
/// A discrete node has one column per state; a Gaussian node has a mean and a variance; a continuous or count leaf of a
/// discrete model that is missing has the mean and variance of its mixture. A row of probability zero is all NaN.
#[derive(Debug, Clone, PartialEq)]
pub struct Posterior {
    nodes: Vec<NodeIx>,
    /// Start of each node's columns; one longer than `nodes`.
    starts: Vec<usize>,
    n_rows: usize,
    /// Row by row.
    values: Vec<f64>,
    ln_likelihood: Vec<f64>,
}

impl Posterior {
    /// The nodes, in the order of the columns.
    #[must_use]
    pub fn nodes(&self) -> &[NodeIx] {
        &self.nodes
    }

    /// Number of rows.
    #[must_use]
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// All values of a row, node after node.
    #[must_use]
    pub fn row(&self, row: usize) -> &[f64] {
        let width = *self.starts.last().unwrap_or(&0);
        &self.values[row * width..][..width]
    }

    /// The posterior of one node (its position in [`nodes`](Self::nodes)) in a row: probabilities, or mean and variance.
    #[must_use]
    pub fn get(&self, row: usize, node: usize) -> &[f64] {
        &self.row(row)[self.starts[node]..self.starts[node + 1]]
    }

    /// Log-likelihood of each row.
    #[must_use]
    pub fn log_likelihood(&self) -> &[f64] {
        &self.ln_likelihood
    }
}

impl Inference<'_> {
    /// Number of columns a node has in a [`Posterior`].
    ///
    /// # Errors
    /// [`Error::Query`] for a group, which has no single posterior.
    pub(crate) fn width(&self, node: NodeIx) -> Result<usize> {
        match (self.model.n_states(node), self.model.distribution(node)) {
            (Some(n_states), _) => Ok(n_states),
            (None, Distribution::Emission(Emission::Group(_))) => {
                Err(Error::query(format!("{:?} is a group; query its hidden neighbour instead", self.model.tree().name(node))))
            }
            _ => Ok(2),
        }
    }

    /// Posteriors of the given nodes in every row of a batch. An observed node that is known has its value with certainty.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the batch has other columns, [`Error::Query`] for a group.
    pub fn posterior(&self, batch: &Batch, nodes: &[NodeIx]) -> Result<Posterior> {
        let starts = self.starts(nodes)?;
        let width = starts[nodes.len()];
        if let (Block::Sparse(rows), [node]) = (&batch.block, nodes)
            && let Some(star) = StarPlan::new(self.model).filter(|star| star.root() == *node)
        {
            self.check(batch)?;
            let (values, ln_likelihood) = star.posteriors(rows);
            return Ok(Posterior { nodes: nodes.to_vec(), starts, n_rows: batch.n_rows, values, ln_likelihood });
        }
        let blocks = self.over_batch(batch, Sweep::UpAndDown, |_, block, passed| {
            let mut values = vec![0.0; block.n_rows * width];
            for (&node, &start) in nodes.iter().zip(&starts) {
                self.fill(block, passed, node, |row, column, value| values[row * width + start + column] = value);
            }
            for (row, ln) in passed.ln_likelihood().iter().enumerate() {
                if *ln == f64::NEG_INFINITY {
                    values[row * width..][..width].fill(f64::NAN);
                }
            }
            (values, passed.ln_likelihood().to_vec())
        })?;
        let (values, ln_likelihood): (Vec<_>, Vec<_>) = blocks.into_iter().unzip();
        Ok(Posterior {
            nodes: nodes.to_vec(),
            starts,
            n_rows: batch.n_rows,
            values: values.concat(),
            ln_likelihood: ln_likelihood.concat(),
        })
    }

    fn starts(&self, nodes: &[NodeIx]) -> Result<Vec<usize>> {
        let mut starts = vec![0];
        for &node in nodes {
            starts.push(starts[starts.len() - 1] + self.width(node)?);
        }
        Ok(starts)
    }

    /// Hands the posterior of a node to `put(row, column, value)`.
    pub(super) fn fill(
        &self,
        block: &EvidenceBlock<'_>,
        passed: &Passed<'_>,
        node: NodeIx,
        mut put: impl FnMut(usize, usize, f64),
    ) {
        match passed {
            Passed::Plain(plan, workspace) => self.fill_discrete(plan, workspace, block, node, put),
            Passed::Wide(plan, workspace) => self.fill_discrete(plan, workspace, block, node, put),
            Passed::Gaussian(_, workspace) => {
                for row in 0..block.n_rows {
                    let (mean, variance) = workspace.posterior(self.model, node, row);
                    put(row, 0, mean);
                    put(row, 1, variance);
                }
            }
        }
    }

    fn fill_discrete<N: Number>(
        &self,
        plan: &Plan,
        workspace: &Workspace<N>,
        block: &EvidenceBlock<'_>,
        node: NodeIx,
        mut put: impl FnMut(usize, usize, f64),
    ) {
        let step = &plan.steps[plan.step_of[node.get()]];
        let parent_belief = |row: usize, parent_state: usize| match step.parent_offset {
            Some(parent) => workspace.belief(parent, parent_state)[row].to_f64(),
            None => 1.0,
        };
        match &step.role {
            Role::Buffered { offset, .. } => {
                for state in 0..step.n_states {
                    for (row, belief) in workspace.belief(*offset, state).iter().enumerate() {
                        // Beliefs are normalised to within rounding: a probability is not above 1.
                        put(row, state, belief.to_f64().min(1.0));
                    }
                }
            }
            Role::Leaf { column, by_state } => {
                let cells = block.column(*column);
                let k = step.n_parent_states;
                for row in 0..block.n_rows {
                    let known = cells.code(row);
                    for state in 0..step.n_states {
                        let value = match known {
                            Some(code) => f64::from(u8::from(code == state)),
                            None => (0..k).map(|parent| parent_belief(row, parent) * by_state[state * k + parent]).sum(),
                        };
                        put(row, state, value);
                    }
                }
            }
            Role::Emitter { .. } => {
                let Distribution::Emission(emission) = self.model.distribution(node) else { return };
                let Some(variable) = self.model.variable(node) else { return };
                let cells = block.column(self.model.schema().variable(variable).columns[0]);
                for row in 0..block.n_rows {
                    let known = cells.number(row);
                    let (mean, variance) = if known.is_nan() {
                        mixture_moments(emission, |parent| parent_belief(row, parent))
                    } else {
                        (known, 0.0)
                    };
                    put(row, 0, mean);
                    put(row, 1, variance);
                }
            }
        }
    }

    /// Pairwise posterior of an edge given evidence: one row per state of the parent, one column per state of `child`.
    ///
    /// # Errors
    /// [`Error::Query`] if `child` is a root or not discrete, or the evidence has probability zero.
    pub fn edge_posterior(&self, evidence: &Evidence, child: NodeIx) -> Result<Vec<Vec<f64>>> {
        let name = || self.model.tree().name(child).to_owned();
        if self.model.family() != Family::Discrete || self.model.n_states(child).is_none() {
            return Err(Error::query(format!("{:?} is not discrete", name())));
        }
        if self.model.parent(child).is_none() {
            return Err(Error::query(format!("{:?} is a root and has no parent", name())));
        }
        EvidenceBlock::with_repeated(evidence, 1, |block| {
            self.over_block(block, Sweep::UpAndDown, |passed| {
                if passed.ln_likelihood()[0] == f64::NEG_INFINITY {
                    return Err(impossible());
                }
                Ok(match passed {
                    Passed::Plain(plan, workspace) => edge_joint(plan, workspace, block, child),
                    Passed::Wide(plan, workspace) => edge_joint(plan, workspace, block, child),
                    Passed::Gaussian(..) => unreachable!("the family was checked"),
                })
            })
        })
    }
}

pub(super) fn impossible() -> Error {
    Error::query("the evidence has probability zero under this model; use other or fewer values")
}

/// Joint posterior of a discrete node and its parent in the first row.
fn edge_joint<N: Number>(plan: &Plan, workspace: &Workspace<N>, block: &EvidenceBlock<'_>, child: NodeIx) -> Vec<Vec<f64>> {
    let step = &plan.steps[plan.step_of[child.get()]];
    let parent = step.parent_offset.expect("the node has a parent");
    let k = step.n_parent_states;
    let belief = |parent_state: usize| workspace.belief(parent, parent_state)[0];
    (0..k)
        .map(|parent_state| {
            let row = (0..step.n_states).map(|state| match &step.role {
                Role::Buffered { offset, message, table, .. } => {
                    let product = workspace.product(*offset, state)[0].times_f64(table[parent_state * step.n_states + state]);
                    belief(parent_state).times(product.ratio(workspace.message(*message, parent_state)[0])).to_f64()
                }
                Role::Leaf { column, by_state } => match block.column(*column).code(0) {
                    Some(code) => belief(parent_state).to_f64() * f64::from(u8::from(code == state)),
                    None => belief(parent_state).to_f64() * by_state[state * k + parent_state],
                },
                Role::Emitter { .. } => unreachable!("an emitter is not discrete"),
            });
            row.collect()
        })
        .collect()
}

/// Mean and variance of a scalar emission whose parent has the given posterior.
pub(super) fn mixture_moments(emission: &Emission, belief: impl Fn(usize) -> f64) -> (f64, f64) {
    let parts: Vec<(f64, f64)> = match emission {
        Emission::Gaussian { means, variances } => means.iter().copied().zip(variances.iter().copied()).collect(),
        Emission::Poisson { rates } => rates.iter().map(|&rate| (rate, rate)).collect(),
        Emission::Categorical(_) | Emission::Group(_) => return (f64::NAN, f64::NAN),
    };
    let mean: f64 = parts.iter().enumerate().map(|(state, part)| belief(state) * part.0).sum();
    let spread = |(state, part): (usize, &(f64, f64))| belief(state) * (part.1 + (part.0 - mean).powi(2));
    (mean, parts.iter().enumerate().map(spread).sum())
}
