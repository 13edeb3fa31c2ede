//! Recursive grouping (`rg`): families of an active set of nodes, found by the constancy of `Φ_ijk = d_ik − d_jk`, get a parent,
//! which takes their place. Choi et al. (2011), §4 and §6.3.
//!
//! Nodes i and j are of one family (leaves with a common neighbour, or one the only neighbour of the other) if and only if
//! `Φ_ijk` is the same for all other active k (Lemma 4). A family's parent is one of its members if that is at distance 0 from
//! where the parent must be, else a new hidden node. Distances from a new node follow from those of its children (eqs. 13, 14; as
//! precision-weighted averages 24, 25).
//!
//! What is done where the paper leaves room, or does not survive noise or size:
//! - **Exact distances** (no standard errors known): Φ must agree over *all* k to a rounding error. A family is found by testing
//!   each node against others until the first that passes, since being of one family is transitive; nearly all other pairs fail
//!   at the nearest node of i or of j, so that a round is quadratic, not cubic. Pairs are tested again only if one of the two is
//!   new or has lost children: nothing else can make them a family.
//! - **Estimated distances**: Φ is compared over nodes k that are near i or j, each against the most precise one and in units of
//!   the standard error of their difference, where `var Φ_ijk = s_ik² + s_jk² − 2 e^{−d_ij} s_ik s_jk`: the errors of two
//!   correlations with k are as correlated as i and j are. Four standard errors take the place of ε. A test that knows little
//!   refuses little, so of the partners that fit, a node takes the one for which variation plus one standard error is least, and
//!   pairs of which next to nothing is known wait. A node joins the family of its partner; families join where members of both
//!   fit on average.
//! - **Distances out of reach** (τ, eq. 21) are about the logarithm of a rounding error or of noise. Their mean over the children
//!   of a new node is no better known than one of them, and they do not make a node near: in a chain of p hidden nodes a distance
//!   passes through p means, and noise would end as a short distance with a small error.
//! - **Silhouettes** (§6.3.1) are not used to count families: a node without siblings counts 0 in them, so that they favour
//!   putting two nodes that are no siblings together, even with exact distances.
//! - **No family at all**: the best pair is taken, so that every round ends with fewer nodes; with errors that are only assumed,
//!   pairs at most twice as bad, too. If distances without standard errors are seen not to be exact, errors proportional to
//!   `sinh d` are assumed from there on, those of `−ln|ρ|`.

mod active;
mod families;
mod round;

use active::ActiveSet;
use families::{Families, Limits};

use super::StructureLearner;
use crate::distance::DistanceMatrix;
use crate::error::{Error, Result};
use crate::index::NodeIx;
use crate::observer::Observer;
use crate::structure::lengths::contraction_threshold;
use crate::tree::{Edge, Node, Tree};

/// Recursive grouping.
///
/// # Example
/// ```
/// use latentree::structure::{RecursiveGrouping, StructureLearner};
/// use latentree::{Silent, distance::DistanceMatrix};
/// // Three leaves around one hidden node, at distances 1, 2 and 3 from it.
/// let names = ["a", "b", "c"].map(str::to_owned).to_vec();
/// let distances = DistanceMatrix::from_fn(names, |i, j| Some((i + j + 2) as f64))?;
/// let tree = RecursiveGrouping::default().learn(&distances, &Silent)?;
/// assert_eq!(tree.n_hidden(), 1);
/// # Ok::<(), latentree::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct RecursiveGrouping {
    epsilon: Option<f64>,
    tau: Option<f64>,
    contraction: Option<f64>,
}

impl RecursiveGrouping {
    /// Sets ε of eq. 23: how much Φ may vary within a family. By default four standard errors, or a rounding error if none are
    /// known.
    #[must_use]
    pub fn epsilon(mut self, epsilon: f64) -> Self {
        self.epsilon = Some(epsilon.max(0.0));
        self
    }

    /// Sets τ of eq. 21: longer distances are not used to find families. By default those whose standard error is above 0.3 (for
    /// correlations from N rows this is τ ≈ ½ ln N − 1.2, growing with the logarithm of N as in §7.1), or none if errors are not
    /// known.
    #[must_use]
    pub fn tau(mut self, tau: f64) -> Self {
        self.tau = Some(tau.max(0.0));
        self
    }

    /// Sets the length up to which an edge at a hidden node is contracted (§6.2). By default −ln 0.9, or a rounding error if no
    /// standard errors are known.
    #[must_use]
    pub fn contraction(mut self, contraction: f64) -> Self {
        self.contraction = Some(contraction.max(0.0));
        self
    }
}

impl StructureLearner for RecursiveGrouping {
    fn name(&self) -> &'static str {
        "rg"
    }

    fn learn_component(&self, distances: &DistanceMatrix, observer: &dyn Observer) -> Result<Tree> {
        let contraction = contraction_threshold(self.contraction, distances);
        let limits = Limits::new(distances, self.epsilon, self.tau, contraction);
        let mut families = Families::new(ActiveSet::new(distances), limits);
        observer.stage("recursive grouping", Some(distances.len() as u64));
        let mut growing = Growing { n_nodes: distances.len(), edges: Vec::new() };
        while families.active.len() > 2 {
            if observer.cancelled() {
                return Err(Error::Cancelled);
            }
            let groups = families.find();
            families.replace(&groups, &mut growing);
            observer.progress((distances.len() - families.active.len()) as u64);
        }
        if let [a, b] = families.active.slots()[..] {
            growing.edges.push((families.active.node(a), families.active.node(b), families.active.distance(a, b)));
        }
        Ok(growing.tree(distances)?.contract(|edge| edge.length.is_some_and(|length| length <= contraction)))
    }
}

/// The nodes and edges found so far; the first nodes are the variables.
struct Growing {
    n_nodes: usize,
    edges: Vec<(usize, usize, f64)>,
}

impl Growing {
    fn add_node(&mut self) -> usize {
        self.n_nodes += 1;
        self.n_nodes - 1
    }

    fn tree(&self, distances: &DistanceMatrix) -> Result<Tree> {
        let mut nodes: Vec<Node> = distances.names().iter().map(|name| Node { name: name.clone(), observed: true }).collect();
        // No variable of a table has such a name; users see the stable names that are given at the end.
        nodes.extend((nodes.len()..self.n_nodes).map(|ix| Node { name: format!("\u{0}{ix}"), observed: false }));
        let edges: Vec<Edge> =
            self.edges.iter().map(|&(a, b, length)| Edge::with_length(NodeIx::new(a), NodeIx::new(b), length.max(0.0))).collect();
        Tree::from_parts(nodes, &edges)
    }
}
