//! The same model parametrised from another root.
//!
//! Only the edges between the two roots turn round: `P(p|v) = P(v|p) P(p) / P(v)` by Bayes' rule; the joint distribution,
//! and so every answer, stays what it was.

use super::{Distribution, Family, LatentTree, Table};
use crate::error::{Error, Result};
use crate::index::NodeIx;

/// The marginal distribution of a node: probabilities of a discrete node, or mean and variance of a Gaussian one.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Marginal {
    /// Probabilities of the states.
    Discrete(Vec<f64>),
    /// A Gaussian node.
    Gaussian {
        /// Its mean.
        mean: f64,
        /// Its variance.
        variance: f64,
    },
    /// A leaf whose marginal is a mixture of densities.
    Mixture,
}

impl LatentTree {
    /// The marginal distribution of every node, by one sweep from the roots.
    #[must_use]
    pub fn marginals(&self) -> Vec<Marginal> {
        let mut marginals = vec![Marginal::Mixture; self.tree().n_nodes()];
        for &node in &self.rooted().order {
            let above = self.parent(node).map(|parent| &marginals[parent.get()]);
            marginals[node.get()] = match (self.distribution(node), above) {
                (Distribution::Discrete(table), None) => Marginal::Discrete(table.given(0).to_vec()),
                (Distribution::Discrete(table), Some(Marginal::Discrete(parent))) => {
                    let mut own = vec![0.0; table.n_states()];
                    for (row, weight) in table.rows().zip(parent) {
                        own.iter_mut().zip(row).for_each(|(sum, value)| *sum += weight * value);
                    }
                    Marginal::Discrete(own)
                }
                (&Distribution::LinearGaussian { mean, variance, .. }, None) => Marginal::Gaussian { mean, variance },
                (
                    &Distribution::LinearGaussian { mean, coefficient, variance },
                    Some(&Marginal::Gaussian { variance: above, .. }),
                ) => Marginal::Gaussian { mean, variance: coefficient * coefficient * above + variance },
                _ => Marginal::Mixture,
            };
        }
        marginals
    }

    /// The correlation of a Gaussian node with its parent; `None` at roots and in discrete models.
    #[must_use]
    pub fn edge_correlation(&self, node: NodeIx, marginals: &[Marginal]) -> Option<f64> {
        let parent = self.parent(node)?;
        let Distribution::LinearGaussian { coefficient, .. } = self.distribution(node) else { return None };
        match (&marginals[node.get()], &marginals[parent.get()]) {
            (Marginal::Gaussian { variance: own, .. }, Marginal::Gaussian { variance: above, .. }) => {
                Some(coefficient * (above / own).sqrt())
            }
            _ => None,
        }
    }

    /// The same model with the tree that holds `root` rooted there.
    ///
    /// # Errors
    /// [`Error::Model`] if `root` is a continuous, count or group leaf of a discrete model, which cannot be a parent.
    pub fn rerooted(&self, root: NodeIx) -> Result<Self> {
        if self.family() == Family::Discrete && self.n_states(root).is_none() && self.tree().degree(root) > 0 {
            return Err(Error::model(self.tree().name(root), "only a discrete node can be the root of a discrete tree"));
        }
        let mut path = vec![root];
        while let Some(parent) = self.parent(path[path.len() - 1]) {
            path.push(parent);
        }
        let old_root = path[path.len() - 1];
        let roots: Vec<NodeIx> = self.rooted().roots.iter().map(|&it| if it == old_root { root } else { it }).collect();
        let marginals = self.marginals();
        let mut builder =
            Self::builder(self.schema().clone(), self.tree().clone()).roots(&roots).provenance(self.provenance().clone());
        for node in self.tree().node_ixs() {
            builder = builder.distribution(node, self.distribution(node).clone());
            if !self.tree().is_observed(node) {
                builder = builder.hidden(node, self.domain(node).clone());
            }
        }
        if path.len() > 1 {
            builder = builder.distribution(root, alone(&marginals[root.get()]));
        }
        for pair in path.windows(2) {
            let (child, parent) = (pair[0], pair[1]);
            builder = builder.distribution(parent, self.turned(child, parent, &marginals));
        }
        builder.build()
    }

    /// The distribution of `parent` given `child`.
    fn turned(&self, child: NodeIx, parent: NodeIx, marginals: &[Marginal]) -> Distribution {
        match (self.distribution(child), &marginals[child.get()], &marginals[parent.get()]) {
            (Distribution::Discrete(table), Marginal::Discrete(own), Marginal::Discrete(above)) => {
                let mut values = Vec::with_capacity(own.len() * above.len());
                for (state, &probability) in own.iter().enumerate() {
                    let joint = above.iter().enumerate().map(|(parent_state, weight)| weight * table.given(parent_state)[state]);
                    // A state that never occurs says nothing about the parent.
                    values.extend(
                        joint.zip(above).map(|(joint, &prior)| if probability > 0.0 { joint / probability } else { prior }),
                    );
                }
                Distribution::Discrete(Table::new(above.len(), values))
            }
            (
                &Distribution::LinearGaussian { coefficient, variance, .. },
                &Marginal::Gaussian { variance: own, .. },
                &Marginal::Gaussian { mean, variance: above },
            ) => {
                // Var(p|v) = Var p · (noise of v) / Var v, without a subtraction.
                Distribution::LinearGaussian { mean, coefficient: coefficient * above / own, variance: above * variance / own }
            }
            _ => unreachable!("nodes on a path between inner nodes are all discrete or all Gaussian"),
        }
    }
}

fn alone(marginal: &Marginal) -> Distribution {
    match marginal {
        Marginal::Discrete(probabilities) => Distribution::Discrete(Table::new(probabilities.len(), probabilities.clone())),
        &Marginal::Gaussian { mean, variance } => Distribution::LinearGaussian { mean, coefficient: 0.0, variance },
        Marginal::Mixture => unreachable!("a root is discrete or Gaussian"),
    }
}
