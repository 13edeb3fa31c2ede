//! Varied random models for tests.

use rand::{Rng, RngExt};

use super::Shape;
use super::families::{MAX_STATES, NodeKind, discrete, gaussian, mixed_kinds};
use crate::error::{Error, Result};
use crate::index::NodeIx;
use crate::model::LatentTree;
use crate::tree::{Edge, Node, Tree};

/// What the nodes of a random model are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RandomKind {
    /// All nodes categorical, each with its own number of states.
    #[default]
    Categorical,
    /// Categorical inner nodes; leaves binary, categorical, continuous, count or groups.
    Mixed,
    /// All nodes Gaussian.
    Gaussian,
}

/// What [`random_model`] makes. The default is a categorical model with 8 observed variables, hidden nodes of 2 to 3 and
/// observed nodes of 2 to 4 states.
#[derive(Debug, Clone, PartialEq)]
pub struct RandomModelOptions {
    /// Exact number of observed variables.
    pub n_observed: usize,
    /// Share of inner nodes that are observed.
    pub observed_inner: f64,
    /// Most neighbours of an inner node, ≥ 3; `None` for no bound.
    pub max_degree: Option<usize>,
    /// Number of edges that a further hidden node of degree 2 is put on, so that the tree is not minimal.
    pub n_degree_two: usize,
    /// Number of trees of the forest, 1 for a connected tree; at most the number of observed variables.
    pub n_trees: usize,
    /// What the nodes are.
    pub kind: RandomKind,
    /// Least and largest number of states of observed nodes; each node draws its own.
    pub states: (usize, usize),
    /// Least and largest number of states of hidden nodes; each node draws its own.
    pub hidden_states: (usize, usize),
    /// How well a node tells its parent's state, from 0 to 1.
    pub separation: f64,
}

impl Default for RandomModelOptions {
    fn default() -> Self {
        Self {
            n_observed: 8,
            observed_inner: 0.0,
            max_degree: None,
            n_degree_two: 0,
            n_trees: 1,
            kind: RandomKind::Categorical,
            states: (2, 4),
            hidden_states: (2, 3),
            separation: 0.6,
        }
    }
}

/// A random model on a random tree; see [`RandomModelOptions`].
///
/// # Errors
/// [`Error::Option`] if an option is out of its range.
///
/// # Example
/// ```
/// use latentree::simulate::{RandomModelOptions, random_model};
/// use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
/// let mut rng = ChaCha8Rng::seed_from_u64(1);
/// let model = random_model(&mut rng, &RandomModelOptions { n_observed: 5, ..Default::default() })?;
/// assert_eq!(model.schema().variables().len(), 5);
/// # Ok::<(), latentree::Error>(())
/// ```
pub fn random_model(rng: &mut impl Rng, options: &RandomModelOptions) -> Result<LatentTree> {
    for (name, (least, largest)) in [("states", options.states), ("hidden_states", options.hidden_states)] {
        if least < 2 || least > largest || largest > MAX_STATES {
            return Err(Error::option(name, format!("{least} to {largest} is not a range of numbers of states")));
        }
    }
    let tree = random_forest(rng, options)?;
    if options.kind == RandomKind::Gaussian {
        return gaussian(&tree, (0.2, 0.9), true, rng);
    }
    let mut kinds = match options.kind {
        RandomKind::Mixed => mixed_kinds(&tree, 2, 2, true),
        _ => vec![NodeKind::Categorical(2); tree.n_nodes()],
    };
    for node in tree.node_ixs() {
        if let NodeKind::Categorical(n_states) = &mut kinds[node.get()] {
            let (least, largest) = if tree.is_observed(node) { options.states } else { options.hidden_states };
            *n_states = rng.random_range(least..=largest);
        }
    }
    discrete(&tree, &kinds, options.separation, rng)
}

fn random_forest(rng: &mut impl Rng, options: &RandomModelOptions) -> Result<Tree> {
    let &RandomModelOptions { n_observed, n_trees, .. } = options;
    if n_trees == 0 || n_trees > n_observed {
        return Err(Error::option("n_trees", format!("{n_trees} trees of {n_observed} observed variables; each needs one")));
    }
    let shape = Shape::Random { max_degree: options.max_degree };
    let mut nodes: Vec<Node> = Vec::new();
    let mut edges: Vec<Edge> = Vec::new();
    let (mut n_named, mut n_hidden) = (0, 0);
    for number in 0..n_trees {
        let size = n_observed / n_trees + usize::from(number < n_observed % n_trees);
        let tree = shape.tree(size, options.observed_inner, rng)?;
        let shift = |node: NodeIx| NodeIx::new(node.get() + nodes.len());
        edges.extend(tree.edges().map(|edge| Edge::new(shift(edge.a), shift(edge.b))));
        for node in tree.nodes() {
            let (letter, count) = if node.observed { ('x', &mut n_named) } else { ('h', &mut n_hidden) };
            *count += 1;
            nodes.push(Node { name: format!("{letter}{count}"), observed: node.observed });
        }
    }
    for _ in 0..if edges.is_empty() { 0 } else { options.n_degree_two } {
        let place = rng.random_range(0..edges.len());
        let middle = NodeIx::new(nodes.len());
        n_hidden += 1;
        nodes.push(Node { name: format!("h{n_hidden}"), observed: false });
        let Edge { a, b, .. } = edges[place];
        edges[place] = Edge::new(a, middle);
        edges.push(Edge::new(middle, b));
    }
    Tree::from_parts(nodes, &edges)
}
