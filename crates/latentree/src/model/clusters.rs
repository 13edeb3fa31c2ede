//! A hierarchy of clusters: a binary tree whose inner nodes tell to which side a row belongs.

use std::sync::Arc;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::Provenance;
use super::features::{FeatureRows, Features};
use crate::data::{Batch, Schema};
use crate::error::{Error, Result};
use crate::tree::Tree;

/// A linear function of a row's features.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Linear {
    /// Its value at a row of zeros.
    pub offset: f64,
    /// What a feature adds.
    pub factors: Vec<f64>,
}

impl Linear {
    pub(crate) fn at(&self, rows: &FeatureRows<'_>, row: usize) -> f64 {
        self.offset + rows.row(row).map(|(feature, x)| x * self.factors[feature]).sum::<f64>()
    }
}

/// Tells to which side of a node a row belongs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub enum SplitRule {
    /// To the side whose vector the row is more aligned with: `argmax |⟨d_j, x⟩|` (Ruffini 2019, eq. 6.11).
    Alignment {
        /// The vectors.
        sides: [Linear; 2],
    },
    /// To the more probable side (eq. 3.4): the first where this log-ratio is not below 0.
    Posterior {
        /// `ln P(first | x) − ln P(second | x)`.
        log_ratio: Linear,
    },
}

impl SplitRule {
    /// The side of a row: 0 or 1.
    pub(crate) fn side(&self, rows: &FeatureRows<'_>, row: usize) -> usize {
        match self {
            Self::Alignment { sides: [first, second] } => usize::from(second.at(rows, row).abs() > first.at(rows, row).abs()),
            Self::Posterior { log_ratio } => usize::from(log_ratio.at(rows, row) < 0.0),
        }
    }

    fn vectors(&self) -> Vec<&Linear> {
        match self {
            Self::Alignment { sides } => sides.iter().collect(),
            Self::Posterior { log_ratio } => vec![log_ratio],
        }
    }
}

/// A node of a hierarchy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClusterNode {
    /// Its path: `1` for all rows, `1.2` for the second side of their split.
    pub name: String,
    /// Its parent's place in the list of nodes; `None` for the first.
    pub parent: Option<usize>,
    /// Its children's places; `None` for a leaf.
    pub children: Option<[usize; 2]>,
    /// Number of rows that the hierarchy was learned from.
    pub size: u64,
    /// What its rows have more often than all.
    pub relevant: Vec<String>,
    /// Tells its children apart; `None` for a leaf.
    pub rule: Option<SplitRule>,
}

/// A hierarchy of clusters.
#[derive(Debug, Clone, PartialEq)]
pub struct ClusterTree {
    schema: Arc<Schema>,
    pub(crate) features: Features,
    nodes: Vec<ClusterNode>,
    provenance: Provenance,
}

impl ClusterTree {
    /// A hierarchy of its nodes, parents before children.
    pub(crate) fn new(schema: Arc<Schema>, features: Features, nodes: Vec<ClusterNode>, provenance: Provenance) -> Result<Self> {
        let fault = |node: &str, problem: &str| Err(Error::model(node, problem.to_owned()));
        if nodes.is_empty() || features.sources.len() != schema.columns().len() || !features.is_valid() {
            return fault("clusters", "there are no nodes, or the features are not those of the columns");
        }
        let mut seen = std::collections::HashSet::new();
        for (ix, node) in nodes.iter().enumerate() {
            if !seen.insert(node.name.as_str()) {
                return fault(&node.name, "the name appears twice");
            }
            let parent_fits = match node.parent {
                None => ix == 0,
                Some(parent) => parent < ix && nodes[parent].children.is_some_and(|children| children.contains(&ix)),
            };
            let children_fit = node.children.is_none_or(|[a, b]| {
                a != b && [a, b].iter().all(|&child| child > ix && nodes.get(child).is_some_and(|it| it.parent == Some(ix)))
            });
            if !parent_fits || !children_fit || node.children.is_some() != node.rule.is_some() {
                return fault(
                    &node.name,
                    "its parent and children do not fit together, or it has children and no rule to tell them apart",
                );
            }
            for vector in node.rule.iter().flat_map(SplitRule::vectors) {
                if vector.factors.len() != features.n || vector.factors.iter().chain([&vector.offset]).any(|x| !x.is_finite()) {
                    return fault(&node.name, "its rule has not one finite number for each feature");
                }
            }
        }
        Ok(Self { schema, features, nodes, provenance })
    }

    /// The columns.
    #[must_use]
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// All nodes, parents before children.
    #[must_use]
    pub fn nodes(&self) -> &[ClusterNode] {
        &self.nodes
    }

    /// The places of the leaves.
    pub fn leaves(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.nodes.len()).filter(|&ix| self.nodes[ix].children.is_none())
    }

    /// Where it comes from.
    #[must_use]
    pub fn provenance(&self) -> &Provenance {
        &self.provenance
    }

    /// The same with another provenance.
    #[must_use]
    pub fn with_provenance(mut self, provenance: Provenance) -> Self {
        self.provenance = provenance;
        self
    }

    /// The leaf of every row of a batch that has the schema: its place among the nodes.
    #[must_use]
    pub fn assign(&self, batch: &Batch) -> Vec<usize> {
        let rows = self.features.rows(batch);
        (0..batch.n_rows)
            .into_par_iter()
            .map(|row| {
                let mut node = 0;
                while let (Some(children), Some(rule)) = (self.nodes[node].children, &self.nodes[node].rule) {
                    node = children[rule.side(&rows, row)];
                }
                node
            })
            .collect()
    }

    /// The tree alone, leaves as observed nodes.
    ///
    /// # Errors
    /// If names are not those of a tree.
    pub fn tree(&self) -> Result<Tree> {
        let mut tree = Tree::new();
        let mut places = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            places.push(if node.children.is_none() {
                tree.add_observed(node.name.clone())?
            } else {
                tree.add_hidden(node.name.clone())?
            });
        }
        for (ix, node) in self.nodes.iter().enumerate() {
            if let Some(parent) = node.parent {
                tree.connect(places[parent], places[ix], None)?;
            }
        }
        Ok(tree)
    }
}
