//! Conditional distributions of any nodes given any evidence.

use super::evidence::EvidenceBlock;
use super::posterior::impossible;
use super::{Evidence, Inference, Passed, Sweep};
use crate::error::{Error, Result};
use crate::index::NodeIx;
use crate::model::Family;

/// Conditional distributions of some nodes, each by itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// Log-probability (log-density) of the evidence.
    pub log_evidence: f64,
    /// Per node asked: the probabilities of a discrete node's states, or mean and variance.
    pub marginals: Vec<(NodeIx, Vec<f64>)>,
}

/// The joint conditional distribution of some nodes.
#[derive(Debug, Clone, PartialEq)]
pub enum JointAnswer {
    /// Probabilities of all combinations of states, the last node's state running fastest.
    Table {
        /// Number of states of each node.
        n_states: Vec<usize>,
        /// The probabilities.
        probabilities: Vec<f64>,
    },
    /// Gaussian nodes.
    Gaussian {
        /// Means.
        mean: Vec<f64>,
        /// Covariances, row by row.
        covariance: Vec<f64>,
    },
}

impl Inference<'_> {
    /// The conditional distribution of each of some nodes.
    ///
    /// # Errors
    /// [`Error::Query`] if the evidence has probability zero, or for a group.
    pub fn query(&self, evidence: &Evidence, of: &[NodeIx]) -> Result<Answer> {
        let widths = of.iter().map(|&node| self.width(node)).collect::<Result<Vec<_>>>()?;
        EvidenceBlock::with_repeated(evidence, 1, |block| {
            self.over_block(block, Sweep::UpAndDown, |passed| {
                // No evidence has probability 1; sums of probabilities may be off by rounding.
                let log_evidence = if evidence.is_empty() { 0.0 } else { passed.ln_likelihood()[0] };
                if log_evidence == f64::NEG_INFINITY {
                    return Err(impossible());
                }
                let marginals = of.iter().zip(&widths).map(|(&node, &width)| {
                    let mut values = vec![0.0; width];
                    self.fill(block, passed, node, |_, column, value| values[column] = value);
                    (node, values)
                });
                Ok(Answer { log_evidence, marginals: marginals.collect() })
            })
        })
    }

    /// Log-probability (log-density) of evidence; −∞ if it is impossible.
    #[must_use]
    pub fn log_evidence(&self, evidence: &Evidence) -> f64 {
        if evidence.is_empty() {
            return 0.0;
        }
        EvidenceBlock::with_repeated(evidence, 1, |block| self.over_block(block, Sweep::Up, |passed| passed.ln_likelihood()[0]))
    }

    /// The joint conditional distribution of some nodes.
    ///
    /// Discrete nodes: the likelihood of the evidence with each combination, by one upward pass each.
    ///
    /// # Errors
    /// [`Error::Query`] if the evidence has probability zero, a node is neither discrete nor in a Gaussian tree, a node
    /// is asked twice, or there are more than a million combinations.
    pub fn joint(&self, evidence: &Evidence, of: &[NodeIx]) -> Result<JointAnswer> {
        const MAX_COMBINATIONS: usize = 1 << 20;
        let name = |node: NodeIx| self.model.tree().name(node).to_owned();
        if let Some(twice) = of.iter().enumerate().find(|(ix, node)| of[..*ix].contains(node)) {
            return Err(Error::query(format!("{:?} is asked for twice", name(*twice.1))));
        }
        if self.model.family() == Family::Gaussian {
            return EvidenceBlock::with_repeated(evidence, 1, |block| {
                self.over_block(block, Sweep::UpAndDown, |passed| {
                    let Passed::Gaussian(_, workspace) = passed else {
                        unreachable!("a Gaussian engine passes Gaussian messages")
                    };
                    let mean = of.iter().map(|&node| workspace.posterior(self.model, node, 0).0).collect();
                    let pairs = of.iter().flat_map(|&a| of.iter().map(move |&b| (a, b)));
                    let covariance = pairs.map(|(a, b)| workspace.covariance(self.model, a, b, 0)).collect();
                    Ok(JointAnswer::Gaussian { mean, covariance })
                })
            });
        }
        let n_states = of
            .iter()
            .map(|&node| {
                let n_states = self.model.n_states(node);
                n_states.ok_or_else(|| Error::query(format!("{:?} is not discrete, so it has no joint table", name(node))))
            })
            .collect::<Result<Vec<usize>>>()?;
        let combinations =
            n_states.iter().try_fold(1_usize, |product, &n| product.checked_mul(n)).filter(|&n| n <= MAX_COMBINATIONS);
        let combinations = combinations
            .ok_or_else(|| Error::query(format!("more than {MAX_COMBINATIONS} combinations; query fewer nodes at once")))?;
        let total = self.log_evidence(evidence);
        if total == f64::NEG_INFINITY {
            return Err(impossible());
        }
        let mut probabilities = Vec::with_capacity(combinations);
        for start in (0..combinations).step_by(self.block_rows()) {
            let rows: Vec<Option<Evidence>> = (start..combinations.min(start + self.block_rows()))
                .map(|combination| self.extended(evidence, of, &n_states, combination))
                .collect();
            let possible: Vec<Evidence> = rows.iter().flatten().cloned().collect();
            let values = if possible.is_empty() {
                Vec::new()
            } else {
                EvidenceBlock::with_rows(&possible, possible.len(), |block| {
                    self.over_block(block, Sweep::Up, |passed| passed.ln_likelihood().to_vec())
                })
            };
            let mut values = values.into_iter();
            probabilities.extend(rows.iter().map(|row| match row {
                Some(_) => (values.next().expect("one value per possible row") - total).exp(),
                None => 0.0,
            }));
        }
        Ok(JointAnswer::Table { n_states, probabilities })
    }

    /// The evidence with one combination of states added; `None` where it contradicts the evidence.
    fn extended(&self, evidence: &Evidence, of: &[NodeIx], n_states: &[usize], mut combination: usize) -> Option<Evidence> {
        let mut extended = evidence.clone();
        for (&node, &n_states) in of.iter().zip(n_states).rev() {
            let state = (combination % n_states) as f64;
            combination /= n_states;
            if evidence.node(self.model, node).is_some_and(|known| known != state) {
                return None;
            }
            extended.set_node(self.model, node, state);
        }
        Some(extended)
    }
}
