//! A model of linear operators on summaries instead of tables on hidden states.

use std::sync::Arc;

use super::labels::Labels;
use super::linkers::{Linkers, Summary};
use super::network::{End, Network};
use crate::data::{Kind, Schema};
use crate::error::{Error, Place, Result, Shortened};
use crate::model::Provenance;
use crate::tree::Tree;

/// The method that estimated the operators of a spectral model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SpectralMethod {
    /// From summaries of branches (Parikh et al. 2011).
    Spectral(Linkers),
    /// By hierarchical tensor decomposition (Song et al. 2013).
    Hierarchical,
}

impl SpectralMethod {
    /// The name used in options and files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Spectral(_) => "spectral",
            Self::Hierarchical => "hierarchical",
        }
    }
}

/// An edge of a spectral model: its operators, and the dependence between its two sides.
#[derive(Debug, Clone, PartialEq)]
pub struct SpectralEdge {
    /// Number of dimensions, including the constant.
    pub rank: usize,
    /// Matrix that maps the message of side 1 to meet the message of side 0: rank × rank, with a row for each dimension of
    /// side 1. Empty between two variables.
    pub(crate) link: Vec<f64>,
    /// Between a variable and a joint: `E[1{x = label} s]`, one row per label. Between two variables: their joint table.
    pub(crate) labels: Vec<f64>,
    /// Singular values that determined the rank: canonical correlations of the two sides, without that of the constant.
    pub values: Vec<f64>,
    /// Level that the singular values of independent sides would reach.
    pub noise: f64,
    /// The summaries of the sides; empty if they are not built from single labels.
    pub(crate) summaries: [Summary; 2],
}

/// A model of the joint distribution of discrete columns, given by a tree and linear operators, without hidden states.
///
/// Queries on observed columns are answered by an [`Evaluator`](super::Evaluator).
#[derive(Debug, Clone, PartialEq)]
pub struct SpectralModel {
    schema: Arc<Schema>,
    tree: Tree,
    provenance: Provenance,
    pub(crate) network: Network,
    pub(crate) parts: Parts,
}

/// The numeric contents of a model.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Parts {
    pub(crate) method: SpectralMethod,
    /// The total weight of the training rows.
    pub(crate) weight: f64,
    /// The probability of each label of each variable.
    pub(crate) marginals: Vec<Vec<f64>>,
    /// `E[s_a ⊗ s_b ⊗ s_c]` of each joint.
    pub(crate) joints: Vec<Vec<f64>>,
    pub(crate) edges: Vec<SpectralEdge>,
}

/// The variable of each node of a tree, `None` for hidden nodes.
///
/// # Errors
/// [`Error::Tree`] if an observed node is not a variable, or a variable is not an observed node.
pub(crate) fn variables_of(tree: &Tree, schema: &Schema) -> Result<Vec<Option<usize>>> {
    let mut seen = vec![false; schema.variables().len()];
    let mut variables = Vec::with_capacity(tree.n_nodes());
    for node in tree.node_ixs() {
        let found = schema.find_variable(tree.name(node));
        variables.push(match (tree.is_observed(node), found) {
            (true, Some(variable)) => {
                seen[variable.get()] = true;
                Some(variable.get())
            }
            (true, None) => {
                return Err(Error::tree(format!(
                    "its observed node {:?} is not a column of the data",
                    Shortened(tree.name(node))
                )));
            }
            (false, _) => None,
        });
    }
    if let Some(absent) = seen.iter().position(|seen| !seen) {
        let name = Shortened(&schema.variables()[absent].name);
        return Err(Error::tree(format!("it has no observed node {name:?}, which is a column of the data")));
    }
    Ok(variables)
}

/// Rejects columns that have no labels.
///
/// # Errors
/// [`Error::Data`] naming the column.
pub(crate) fn check_discrete(schema: &Schema) -> Result<()> {
    for ix in schema.variable_ixs() {
        let name = &schema.variable(ix).name;
        let (problem, remedy) = match schema.scalar_kind(ix) {
            Some(Kind::Binary { .. } | Kind::Categorical { .. }) => continue,
            Some(kind) => (format!("its kind is {}", kind.name()), "read it as categorical (`read.kind`), leave it out, or use"),
            None => ("it is a group of columns".to_owned(), "read its columns one by one, or use"),
        };
        let place = Place::default().column(name);
        let problem =
            format!("spectral methods are for columns of labels, and {problem}; {remedy} `parameters.method` moments+em");
        return Err(Error::data(place, problem));
    }
    Ok(())
}

impl SpectralModel {
    /// Builds a model from its parts.
    ///
    /// # Errors
    /// [`Error::Model`] if shapes do not fit or numbers are not finite; [`Error::Tree`] if the tree does not fit the schema.
    pub(crate) fn new(schema: Arc<Schema>, tree: Tree, parts: Parts, provenance: Provenance) -> Result<Self> {
        check_discrete(&schema)?;
        let network = Network::new(&tree, &variables_of(&tree, &schema)?)?.0;
        let model = Self { schema, tree, provenance, network, parts };
        model.check()?;
        Ok(model)
    }

    fn check(&self) -> Result<()> {
        let labels = Labels::new(&self.schema);
        let (network, parts) = (&self.network, &self.parts);
        let names = self.names();
        let fault = |place: String, problem: &str| Err(Error::model(place, problem));
        if parts.edges.len() != network.edges.len() || parts.joints.len() != network.joints.len() {
            return fault("operators".to_owned(), "their number is not that of the tree's edges and hidden nodes");
        }
        if !(parts.weight.is_finite() && parts.weight > 0.0) {
            return fault("weight".to_owned(), "it is not positive");
        }
        if parts.marginals.len() != labels.n_labels.len() {
            return fault("marginals".to_owned(), "their number is not that of the columns");
        }
        for (variable, (marginal, &n)) in parts.marginals.iter().zip(&labels.n_labels).enumerate() {
            let sum: f64 = marginal.iter().sum();
            if marginal.len() != n || !marginal.iter().all(|p| *p >= 0.0 && p.is_finite()) || (sum - 1.0).abs() > 1e-6 {
                return fault(names[variable].to_owned(), "its marginal is not a distribution over its labels");
            }
        }
        for (ix, edge) in parts.edges.iter().enumerate() {
            let k = edge.rank;
            let n_labels = match network.edges[ix] {
                [End::Variable(a), End::Variable(b)] => labels.n_labels[a] * labels.n_labels[b],
                [End::Variable(a), _] | [_, End::Variable(a)] => labels.n_labels[a] * k,
                _ => 0,
            };
            let n_link = if network.is_pair(ix) { 0 } else { k.saturating_mul(k) };
            let summary_fits = |summary: &Summary| {
                summary.variables.len() == summary.numbers.len()
                    && summary.variables.iter().zip(&summary.numbers).all(|(&variable, numbers)| {
                        variable < labels.n_labels.len() && numbers.len() == labels.n_labels[variable] * k.saturating_sub(1)
                    })
            };
            let fits =
                k > 0 && edge.link.len() == n_link && edge.labels.len() == n_labels && edge.summaries.iter().all(summary_fits);
            if !fits {
                return fault(
                    network.describe(ix, &self.tree, &names).replace('"', ""),
                    "the shapes of its operators do not fit",
                );
            }
            let numbers = edge.link.iter().chain(&edge.labels).chain(&edge.values).chain([&edge.noise]);
            let of_summaries = edge.summaries.iter().flat_map(|summary| summary.numbers.iter().flatten());
            if !numbers.chain(of_summaries).all(|value| value.is_finite()) {
                return fault(network.describe(ix, &self.tree, &names).replace('"', ""), "its operators are not finite");
            }
        }
        for (joint, tensor) in parts.joints.iter().enumerate() {
            let name = self.tree.nodes()[network.nodes[joint]].name.clone();
            let size = network.joints[joint].iter().map(|&edge| parts.edges[edge].rank).product::<usize>();
            if tensor.len() != size {
                return fault(name, "the shape of its operator does not fit");
            }
            if !tensor.iter().all(|value| value.is_finite()) {
                return fault(name, "its operator is not finite");
            }
        }
        Ok(())
    }

    pub(crate) fn names(&self) -> Vec<&str> {
        self.schema.variables().iter().map(|variable| variable.name.as_str()).collect()
    }

    /// The numeric contents of the model.
    pub(crate) fn parts(&self) -> &Parts {
        &self.parts
    }

    /// The names of the hidden nodes that the joints are copies of.
    pub(crate) fn joint_names(&self) -> impl Iterator<Item = &str> {
        self.network.nodes.iter().map(|&node| self.tree.nodes()[node].name.as_str())
    }

    /// The columns.
    #[must_use]
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// The tree.
    #[must_use]
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// The provenance of the model.
    #[must_use]
    pub fn provenance(&self) -> &Provenance {
        &self.provenance
    }

    /// The same model with another provenance.
    #[must_use]
    pub fn with_provenance(mut self, provenance: Provenance) -> Self {
        self.provenance = provenance;
        self
    }

    /// The method that estimated its operators.
    #[must_use]
    pub fn method(&self) -> SpectralMethod {
        self.parts.method
    }

    /// The edges with the names of their ends. A hidden node with more than three neighbours has edges between copies of
    /// itself.
    pub fn edges(&self) -> impl Iterator<Item = (String, &SpectralEdge)> {
        let names = self.names();
        let edges = self.parts.edges.iter().enumerate();
        edges.map(move |(ix, edge)| (self.network.describe(ix, &self.tree, &names), edge))
    }

    /// Returns whether an edge joins two observed nodes, whose joint table is kept.
    #[must_use]
    pub fn is_pair(&self, edge: usize) -> bool {
        self.network.is_pair(edge)
    }

    /// Returns whether an edge joins an observed node to a hidden one.
    #[must_use]
    pub fn is_leaf(&self, edge: usize) -> bool {
        !self.is_pair(edge) && self.network.edges[edge].iter().any(|end| matches!(end, End::Variable(_)))
    }

    /// Number of values that the operators hold.
    #[must_use]
    pub fn n_numbers(&self) -> usize {
        let edges: usize = self.parts.edges.iter().map(|edge| edge.link.len() + edge.labels.len()).sum();
        edges + self.parts.joints.iter().map(Vec::len).sum::<usize>()
    }
}
