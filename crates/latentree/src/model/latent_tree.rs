//! A tree with its distributions.

use std::sync::Arc;

use super::{Distribution, Emission, Provenance};
use crate::data::{Kind, Schema};
use crate::error::{Error, Result};
use crate::index::{NodeIx, VarIx};
use crate::tree::{Rooted, Tree};

/// The values a node takes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Domain {
    /// One of some labelled states.
    Discrete {
        /// The labels in the order of their codes.
        labels: Vec<String>,
    },
    /// A real number.
    Continuous,
    /// 0, 1, 2, …
    Count,
    /// A vector: a group variable.
    Group,
}

impl Domain {
    /// Discrete with states `0`, `1`, …
    #[must_use]
    pub fn numbered(n_states: usize) -> Self {
        Self::Discrete { labels: (0..n_states).map(|state| state.to_string()).collect() }
    }

    /// The labels of a discrete node.
    #[must_use]
    pub fn labels(&self) -> Option<&[String]> {
        match self {
            Self::Discrete { labels } => Some(labels),
            _ => None,
        }
    }

    /// Number of states of a discrete node.
    #[must_use]
    pub fn n_states(&self) -> Option<usize> {
        self.labels().map(<[String]>::len)
    }
}

/// Which arithmetic a model needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Family {
    /// Discrete inner nodes; leaves discrete, continuous, count or group.
    Discrete,
    /// All nodes, hidden and observed, are Gaussian.
    Gaussian,
}

/// A latent tree model: a tree (or forest), rooted for its parametrisation only, and the distribution of each node given its
/// parent.
///
/// Built by [`LatentTree::builder`], which checks every invariant:
/// observed nodes are exactly the schema's variables; a discrete node's parent is discrete; continuous, count and group
/// nodes are leaves (or stand alone) unless all nodes are Gaussian; probabilities are probabilities, variances are positive.
#[derive(Debug, Clone, PartialEq)]
pub struct LatentTree {
    schema: Arc<Schema>,
    tree: Tree,
    rooted: Rooted,
    family: Family,
    domains: Vec<Domain>,
    variables: Vec<Option<VarIx>>,
    node_of_variable: Vec<NodeIx>,
    distributions: Vec<Distribution>,
    provenance: Provenance,
}

/// Collects the parts of a [`LatentTree`].
#[derive(Debug, Clone)]
pub struct LatentTreeBuilder {
    schema: Arc<Schema>,
    tree: Tree,
    roots: Vec<NodeIx>,
    hidden: Vec<Option<Domain>>,
    distributions: Vec<Option<Distribution>>,
    provenance: Provenance,
}

impl LatentTreeBuilder {
    /// Sets the root of the (first) tree; the default is the centre. Distributions are given their parents seen from here.
    #[must_use]
    pub fn root(self, root: NodeIx) -> Self {
        self.roots(&[root])
    }

    /// Sets the roots of a forest, one per tree; trees without one are rooted at their centres.
    #[must_use]
    pub fn roots(mut self, roots: &[NodeIx]) -> Self {
        self.roots = roots.to_vec();
        self
    }

    /// Sets the domain of a hidden node; the default is the number of states of its distribution, labelled `0`, `1`, ….
    #[must_use]
    pub fn hidden(mut self, node: NodeIx, domain: Domain) -> Self {
        self.hidden[node.get()] = Some(domain);
        self
    }

    /// Sets the distribution of a node given its parent.
    #[must_use]
    pub fn distribution(mut self, node: NodeIx, distribution: Distribution) -> Self {
        self.distributions[node.get()] = Some(distribution);
        self
    }

    /// Records where the model comes from.
    #[must_use]
    pub fn provenance(mut self, provenance: Provenance) -> Self {
        self.provenance = provenance;
        self
    }

    /// Checks everything and makes the model.
    ///
    /// # Errors
    /// [`Error::Model`] naming the node that is at fault, [`Error::Tree`] if two roots are in one tree.
    pub fn build(self) -> Result<LatentTree> {
        let Self { schema, tree, roots, hidden, distributions, provenance } = self;
        if tree.n_nodes() == 0 {
            return Err(Error::tree("it has no nodes"));
        }
        if tree.n_observed() == 0 {
            return Err(Error::tree("it has no observed nodes, so no data can inform it"));
        }
        let roots = if roots.is_empty() { vec![tree.center()] } else { roots };
        let rooted = Rooted::with_roots(&tree, &roots)?;
        let mut variables = vec![None; tree.n_nodes()];
        let mut node_of_variable = Vec::with_capacity(schema.variables().len());
        for variable in schema.variable_ixs() {
            let name = &schema.variable(variable).name;
            let node = tree.find(name).filter(|&node| tree.is_observed(node));
            let node =
                node.ok_or_else(|| Error::model(name, "a variable of the schema that is not an observed node of the tree"))?;
            variables[node.get()] = Some(variable);
            node_of_variable.push(node);
        }
        let mut domains = Vec::with_capacity(tree.n_nodes());
        let mut given = Vec::with_capacity(tree.n_nodes());
        for (node, distribution) in tree.node_ixs().zip(distributions) {
            let name = tree.name(node);
            let distribution = distribution.ok_or_else(|| Error::model(name, "has no distribution"))?;
            let domain = match (variables[node.get()], &hidden[node.get()]) {
                (Some(variable), _) => match schema.scalar_kind(variable) {
                    None => Domain::Group,
                    Some(Kind::Continuous) => Domain::Continuous,
                    Some(Kind::Count) => Domain::Count,
                    Some(kind) => Domain::Discrete { labels: kind.labels().unwrap_or_default().to_vec() },
                },
                (None, _) if tree.is_observed(node) => {
                    return Err(Error::model(name, "an observed node that is not a variable of the schema"));
                }
                (None, Some(domain)) => domain.clone(),
                (None, None) => match &distribution {
                    Distribution::Discrete(table) => Domain::numbered(table.n_states()),
                    _ => Domain::Continuous,
                },
            };
            domains.push(domain);
            given.push(distribution);
        }
        let family = if given.iter().any(|it| matches!(it, Distribution::LinearGaussian { .. })) {
            Family::Gaussian
        } else {
            Family::Discrete
        };
        let model =
            LatentTree { schema, tree, rooted, family, domains, variables, node_of_variable, distributions: given, provenance };
        model.check()?;
        Ok(model)
    }
}

impl LatentTree {
    /// Starts a model of the given tree over the given variables.
    #[must_use]
    pub fn builder(schema: Arc<Schema>, tree: Tree) -> LatentTreeBuilder {
        let n_nodes = tree.n_nodes();
        LatentTreeBuilder {
            schema,
            tree,
            roots: Vec::new(),
            hidden: vec![None; n_nodes],
            distributions: vec![None; n_nodes],
            provenance: Provenance::default(),
        }
    }

    fn check(&self) -> Result<()> {
        for node in self.tree.node_ixs() {
            self.check_node(node).map_err(|problem| Error::model(self.tree.name(node), problem))?;
        }
        Ok(())
    }

    fn check_node(&self, node: NodeIx) -> Result<(), String> {
        let domain = self.domain(node);
        let parent = self.parent(node);
        if let Distribution::LinearGaussian { mean, coefficient, variance } = *self.distribution(node) {
            if *domain != Domain::Continuous {
                return Err("a Gaussian distribution on a node that is not continuous".to_owned());
            }
            if !(mean.is_finite() && coefficient.is_finite() && variance.is_finite() && variance > 0.0) {
                return Err(format!(
                    "needs finite numbers and a positive variance, has mean {mean}, coefficient {coefficient}, variance {variance}"
                ));
            }
            if parent.is_none() && coefficient != 0.0 {
                return Err("a root has no coefficient".to_owned());
            }
            return Ok(());
        }
        if self.family == Family::Gaussian {
            return Err("in a Gaussian tree every node is Gaussian".to_owned());
        }
        let n_parent_states = match parent {
            None => 1,
            Some(parent) => self.n_states(parent).ok_or("its parent is not discrete")?,
        };
        match self.distribution(node) {
            Distribution::Discrete(table) => {
                let n_states = domain.n_states().ok_or("a table on a node that is not discrete")?;
                if table.n_states() != n_states || table.n_parent_states() != n_parent_states {
                    return Err(format!(
                        "needs a table of {n_parent_states} × {n_states} (states of the parent × its own), has {} × {}",
                        table.n_parent_states(),
                        table.n_states()
                    ));
                }
                let mut seen = std::collections::HashSet::with_capacity(n_states);
                if let Some(twice) = domain.labels().unwrap_or_default().iter().find(|label| !seen.insert(label.as_str())) {
                    return Err(format!("label {twice:?} appears twice"));
                }
                table.fault().map_or(Ok(()), Err)
            }
            Distribution::Emission(emission) => {
                let variable = self.variables[node.get()].ok_or("a hidden node of a discrete tree must be discrete")?;
                if self.tree.degree(node) > usize::from(parent.is_some()) {
                    return Err("continuous, count and group nodes must be leaves unless all nodes are Gaussian".to_owned());
                }
                let columns = &self.schema.variable(variable).columns;
                match emission {
                    Emission::Group(members) if *domain == Domain::Group => {
                        if members.len() != columns.len() {
                            return Err(format!("has {} members but {} distributions", columns.len(), members.len()));
                        }
                        for (member, &column) in members.iter().zip(columns) {
                            let column = self.schema.column(column);
                            check_emission(member, &column.kind, n_parent_states)
                                .map_err(|fault| format!("member {:?}: {fault}", column.name))?;
                        }
                        Ok(())
                    }
                    Emission::Group(_) => Err("a group distribution on a node that is not a group".to_owned()),
                    _ if *domain == Domain::Group => Err("a group needs a group distribution".to_owned()),
                    Emission::Categorical(_) => Err("a discrete node needs a table".to_owned()),
                    _ => check_emission(emission, &self.schema.column(columns[0]).kind, n_parent_states),
                }
            }
            Distribution::LinearGaussian { .. } => unreachable!("handled above"),
        }
    }

    /// The variables and columns that are observed.
    #[must_use]
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// The tree.
    #[must_use]
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// The tree as rooted for the parametrisation.
    #[must_use]
    pub fn rooted(&self) -> &Rooted {
        &self.rooted
    }

    /// Which arithmetic the model needs.
    #[must_use]
    pub fn family(&self) -> Family {
        self.family
    }

    /// A node's parent.
    #[must_use]
    pub fn parent(&self, node: NodeIx) -> Option<NodeIx> {
        self.rooted.parent[node.get()]
    }

    /// The values a node takes.
    #[must_use]
    pub fn domain(&self, node: NodeIx) -> &Domain {
        &self.domains[node.get()]
    }

    /// Number of states of a discrete node.
    #[must_use]
    pub fn n_states(&self, node: NodeIx) -> Option<usize> {
        self.domains[node.get()].n_states()
    }

    /// A node's distribution given its parent.
    #[must_use]
    pub fn distribution(&self, node: NodeIx) -> &Distribution {
        &self.distributions[node.get()]
    }

    /// The variable of an observed node.
    #[must_use]
    pub fn variable(&self, node: NodeIx) -> Option<VarIx> {
        self.variables[node.get()]
    }

    /// The node of a variable.
    #[must_use]
    pub fn node_of(&self, variable: VarIx) -> NodeIx {
        self.node_of_variable[variable.get()]
    }

    /// The node with this name.
    ///
    /// # Errors
    /// [`Error::Query`] that proposes similar names.
    pub fn find(&self, name: &str) -> Result<NodeIx> {
        self.tree.find(name).ok_or_else(|| {
            let mut near: Vec<(usize, &str)> =
                self.tree.nodes().iter().map(|node| (edit_distance(name, &node.name), node.name.as_str())).collect();
            near.sort_unstable();
            let near: Vec<&str> =
                near.iter().filter(|(distance, _)| *distance <= 1 + name.len() / 3).take(3).map(|near| near.1).collect();
            let hint = if near.is_empty() { String::new() } else { format!("; did you mean {}?", near.join(", ")) };
            Error::query(format!("the model has no node {name:?}{hint}"))
        })
    }

    /// Hidden nodes in index order.
    pub fn hidden(&self) -> impl Iterator<Item = NodeIx> + '_ {
        self.tree.node_ixs().filter(|&node| !self.tree.is_observed(node))
    }

    /// Where the model comes from.
    #[must_use]
    pub fn provenance(&self) -> &Provenance {
        &self.provenance
    }

    /// The same tree with other distributions, by node.
    ///
    /// # Errors
    /// [`Error::Model`] naming the node that is at fault.
    pub(crate) fn with_distributions(&self, distributions: Vec<Distribution>) -> Result<Self> {
        let model = Self { distributions, ..self.clone() };
        model.check()?;
        Ok(model)
    }

    /// The same model with the lengths and supports of a tree that is its own but for them.
    #[must_use]
    pub(crate) fn with_tree_annotations(mut self, tree: Tree) -> Self {
        debug_assert_eq!((self.tree.n_nodes(), self.tree.n_edges()), (tree.n_nodes(), tree.n_edges()));
        self.tree = tree;
        self
    }

    /// The same model with another provenance.
    #[must_use]
    pub fn with_provenance(mut self, provenance: Provenance) -> Self {
        self.provenance = provenance;
        self
    }

    /// Exact number of free parameters: rows of tables less one each, means, variances and rates; in a Gaussian tree one
    /// mean and variance per observed node and one correlation per edge (a hidden node's scale is not identifiable).
    #[must_use]
    pub fn n_free_parameters(&self) -> usize {
        match self.family {
            Family::Discrete => self.distributions.iter().map(Distribution::discrete_free_parameters).sum(),
            Family::Gaussian => 2 * self.tree.n_observed() + self.tree.n_edges(),
        }
    }
}

fn check_emission(emission: &Emission, kind: &Kind, n_parent_states: usize) -> Result<(), String> {
    if emission.n_parent_states() != Some(n_parent_states) {
        return Err(format!("needs one distribution per state of its parent, {n_parent_states} in all"));
    }
    match (emission, kind) {
        (Emission::Categorical(table), Kind::Binary { .. } | Kind::Categorical { .. }) => {
            if Some(table.n_states()) != kind.n_states() {
                return Err(format!("has {} labels but probabilities for {}", kind.n_states().unwrap_or(0), table.n_states()));
            }
            table.fault().map_or(Ok(()), Err)
        }
        (Emission::Gaussian { means, variances }, Kind::Continuous) => {
            if means.iter().any(|mean| !mean.is_finite())
                || variances.iter().any(|variance| !variance.is_finite() || *variance <= 0.0)
            {
                return Err("needs finite means and positive variances".to_owned());
            }
            Ok(())
        }
        (Emission::Poisson { rates }, Kind::Count) => {
            if rates.iter().any(|rate| !rate.is_finite() || *rate < 0.0) {
                return Err("needs finite rates ≥ 0".to_owned());
            }
            Ok(())
        }
        _ => Err(format!("the distribution does not fit a {} column", kind.name())),
    }
}

/// Number of insertions, deletions and replacements that turn one string into the other; long strings are far.
fn edit_distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(64).collect(), b.chars().take(64).collect());
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row[b.len()]
}
