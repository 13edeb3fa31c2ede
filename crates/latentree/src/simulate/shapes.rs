//! Trees of known shapes.
//!
//! Double star, hidden Markov model and complete tree are those of Choi et al. (*Learning Latent Tree Graphical Models*,
//! 2011, §7.1). All trees are minimal: every hidden node has at least three neighbours. Observed nodes are `x1`, `x2`, …
//! and have the first indices, hidden nodes are `h1`, `h2`, ….

use std::str::FromStr;

use rand::seq::SliceRandom;
use rand::{Rng, RngExt};

use crate::error::{Error, Result};
use crate::index::NodeIx;
use crate::limits;
use crate::memory::MemoryBudget;
use crate::tree::{Edge, Node, Tree};

/// Most observed nodes.
const MAX_OBSERVED: usize = limits::MAX_SIMULATED_VARIABLES;
/// About what a node of a model takes besides its table: names, labels, edges.
const NODE_BYTES: u64 = 512;

/// The shape of a simulated tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Shape {
    /// One hidden node with all observed nodes around it: a latent class model.
    Star,
    /// Two neighbouring hidden nodes, each with half of the observed nodes as leaves.
    DoubleStar,
    /// A hidden Markov model: a chain of hidden nodes with one leaf each; the chain's two ends, where a hidden node would
    /// have only two neighbours, are observed themselves. With n observed nodes n − 2 are hidden.
    Hmm,
    /// All inner nodes have the same degree δ and all leaves the same distance from the root: levels of δ, δ(δ−1),
    /// δ(δ−1)², … nodes. The number of observed nodes is that of the last level, or one more with the root observed
    /// (Choi's 5-complete tree has 80 leaves and an observed root: 81 observed, 25 hidden).
    Complete {
        /// Neighbours of each inner node, ≥ 3.
        degree: usize,
    },
    /// A chain of hidden nodes with `leaves` leaves each, ≥ 2; leaves that are over are spread evenly, first nodes first.
    /// With one leaf per node it would be [`Shape::Hmm`].
    Caterpillar {
        /// Leaves of each hidden node.
        leaves: usize,
    },
    /// A random minimal tree, grown node by node at random places; every minimal tree with the asked share of observed
    /// inner nodes can come up.
    Random {
        /// Most neighbours an inner node may have, ≥ 3; `None` for no bound. With 3 and no observed inner nodes all
        /// trees are equally probable.
        max_degree: Option<usize>,
    },
}

impl FromStr for Shape {
    type Err = Error;

    /// The shape by the name users write, with its usual degree.
    fn from_str(name: &str) -> Result<Self> {
        Ok(match name {
            "star" => Self::Star,
            "double-star" => Self::DoubleStar,
            "hmm" => Self::Hmm,
            "complete" => Self::Complete { degree: 5 },
            "caterpillar" => Self::Caterpillar { leaves: 2 },
            "random" => Self::Random { max_degree: None },
            _ => {
                let problem = format!("{name:?} is not a shape; use star, double-star, hmm, complete, caterpillar or random");
                return Err(Error::option("shape", problem));
            }
        })
    }
}

impl Shape {
    /// The name users write.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Star => "star",
            Self::DoubleStar => "double-star",
            Self::Hmm => "hmm",
            Self::Complete { .. } => "complete",
            Self::Caterpillar { .. } => "caterpillar",
            Self::Random { .. } => "random",
        }
    }

    /// The degree of a complete tree, the leaves per node of a caterpillar, the largest degree of a random tree.
    #[must_use]
    pub fn degree(&self) -> Option<usize> {
        match *self {
            Self::Star | Self::DoubleStar | Self::Hmm => None,
            Self::Complete { degree } => Some(degree),
            Self::Caterpillar { leaves } => Some(leaves),
            Self::Random { max_degree } => max_degree,
        }
    }

    /// The same shape with another degree (see [`degree`](Self::degree)).
    ///
    /// # Errors
    /// [`Error::Option`] if the shape has none.
    pub fn with_degree(self, degree: usize) -> Result<Self> {
        match self {
            Self::Star | Self::DoubleStar | Self::Hmm => {
                Err(Error::option("degree", format!("the shape {} has a fixed degree", self.name())))
            }
            Self::Complete { .. } => Ok(Self::Complete { degree }),
            Self::Caterpillar { .. } => Ok(Self::Caterpillar { leaves: degree }),
            Self::Random { .. } => Ok(Self::Random { max_degree: Some(degree) }),
        }
    }

    /// A tree of this shape without lengths.
    ///
    /// # Arguments
    /// - `n_observed`: exact number of observed nodes;
    /// - `observed_inner`: share of the inner nodes of a [`Shape::Random`] tree that are observed (rounded to a whole
    ///   number of nodes), 0 for other shapes;
    /// - `rng`: used by [`Shape::Random`] only.
    ///
    /// # Errors
    /// [`Error::Option`] if a number is out of its range or there is no such tree; the nearest sizes are proposed.
    pub fn tree(&self, n_observed: usize, observed_inner: f64, rng: &mut impl Rng) -> Result<Tree> {
        let is_random = matches!(self, Self::Random { .. });
        if !is_random && observed_inner != 0.0 {
            return Err(Error::option("observed-inner", format!("the shape {} has fixed hidden nodes; use random", self.name())));
        }
        if !(0.0..=1.0).contains(&observed_inner) {
            return Err(Error::option("observed-inner", format!("{observed_inner} is not a fraction from 0 to 1")));
        }
        let least = match self {
            Self::Star | Self::Hmm | Self::Complete { .. } | Self::Caterpillar { .. } => 3,
            Self::DoubleStar => 4,
            Self::Random { .. } => 1,
        };
        if !(least..=MAX_OBSERVED).contains(&n_observed) {
            let problem = format!("{n_observed} observed nodes: the shape {} takes {least} to {MAX_OBSERVED}", self.name());
            return Err(Error::option("observed", problem));
        }
        // There are at most about as many hidden nodes.
        let bytes = 2 * NODE_BYTES * n_observed as u64;
        let what = format!("a model of {n_observed} variables");
        MemoryBudget::of_machine().check_option("observed", &what, bytes, "ask for fewer variables")?;
        match *self {
            Self::Star => Ok(spine(&[n_observed])),
            Self::DoubleStar => Ok(spine(&[n_observed.div_ceil(2), n_observed / 2])),
            Self::Hmm => {
                let mut leaves = vec![1; n_observed - 2];
                leaves[0] += 1;
                *leaves.last_mut().expect("there is a hidden node") += 1;
                Ok(spine(&leaves))
            }
            Self::Caterpillar { leaves } => {
                if leaves < 2 {
                    return Err(Error::option("degree", "a caterpillar needs at least 2 leaves per hidden node; with 1 use hmm"));
                }
                let n_hidden = (n_observed / leaves).max(1);
                let (each, over) = (n_observed / n_hidden, n_observed % n_hidden);
                Ok(spine(&(0..n_hidden).map(|ix| each + usize::from(ix < over)).collect::<Vec<_>>()))
            }
            Self::Complete { degree } => complete(degree, n_observed),
            Self::Random { max_degree } => {
                if max_degree.is_some_and(|degree| degree < 3) {
                    return Err(Error::option("degree", "inner nodes need at least 3 neighbours"));
                }
                Ok(random(n_observed, max_degree.unwrap_or(usize::MAX), observed_inner, rng))
            }
        }
    }
}

/// A tree from edges between numbered nodes, of which the given ones are observed in the order of their names.
fn named(n_nodes: usize, observed: &[usize], edges: &[(usize, usize)]) -> Tree {
    let mut new_ix = vec![usize::MAX; n_nodes];
    for (ix, &node) in observed.iter().enumerate() {
        new_ix[node] = ix;
    }
    let hidden = new_ix.iter_mut().filter(|ix| **ix == usize::MAX);
    for (ix, next) in hidden.zip(observed.len()..) {
        *ix = next;
    }
    let node = |ix: usize| match ix.checked_sub(observed.len()) {
        None => Node { name: format!("x{}", ix + 1), observed: true },
        Some(hidden) => Node { name: format!("h{}", hidden + 1), observed: false },
    };
    let edges: Vec<Edge> = edges.iter().map(|&(a, b)| Edge::new(NodeIx::new(new_ix[a]), NodeIx::new(new_ix[b]))).collect();
    Tree::from_parts((0..n_nodes).map(node).collect(), &edges).expect("the edges make a tree")
}

/// A chain of hidden nodes with the given numbers of leaves.
fn spine(leaves: &[usize]) -> Tree {
    let n_observed: usize = leaves.iter().sum();
    let mut edges: Vec<(usize, usize)> = (1..leaves.len()).map(|ix| (n_observed + ix - 1, n_observed + ix)).collect();
    let mut leaf = 0;
    for (ix, &n_leaves) in leaves.iter().enumerate() {
        edges.extend((leaf..leaf + n_leaves).map(|leaf| (n_observed + ix, leaf)));
        leaf += n_leaves;
    }
    let observed: Vec<usize> = (0..n_observed).collect();
    named(n_observed + leaves.len(), &observed, &edges)
}

fn complete(degree: usize, n_observed: usize) -> Result<Tree> {
    if degree < 3 {
        return Err(Error::option("degree", "inner nodes of a complete tree need at least 3 neighbours"));
    }
    let mut below = 0;
    let mut n_leaves = degree;
    while n_leaves.saturating_add(1) < n_observed {
        below = n_leaves;
        n_leaves = n_leaves.saturating_mul(degree - 1);
    }
    let is_root_observed = n_observed == n_leaves.saturating_add(1);
    if n_observed != n_leaves && !is_root_observed {
        let lower = if below == 0 { String::new() } else { format!("{below}, {} (root observed), ", below + 1) };
        let problem = format!(
            "no complete tree of degree {degree} has {n_observed} observed nodes; the nearest have {lower}{n_leaves} or {} (root observed)",
            n_leaves.saturating_add(1)
        );
        return Err(Error::option("observed", problem));
    }
    let mut edges = Vec::new();
    let mut level = 0..1;
    while level.len() < n_leaves {
        let start = level.end;
        let mut end = start;
        for node in level {
            let n_children = if node == 0 { degree } else { degree - 1 };
            edges.extend((end..end + n_children).map(|child| (node, child)));
            end += n_children;
        }
        level = start..end;
    }
    let n_nodes = level.end;
    let observed: Vec<usize> = level.chain(is_root_observed.then_some(0)).collect();
    Ok(named(n_nodes, &observed, &edges))
}

/// Grows a tree from a single edge by three steps: a leaf on a new node that divides an edge; a leaf on an inner node with
/// room; a new node that divides an edge and so must be observed. With L leaves, I inner nodes and share f of observed ones
/// there are L + round(f·I) observed nodes. The first step adds 1 or 2 to this, the second 1, the third 0 or 1; where only 1
/// is left and the first would add 2, the third adds 1, so any number is hit exactly. Any minimal tree is reached: taking
/// leaves away one by one undoes the first two steps, taking observed nodes of degree 2 away undoes the third.
fn random(n_observed: usize, max_degree: usize, observed_inner: f64, rng: &mut impl Rng) -> Tree {
    if n_observed == 1 {
        return named(1, &[0], &[]);
    }
    let n_observed_inner = |n_inner: usize| (observed_inner * n_inner as f64).round() as usize;
    let mut edges = vec![(0_usize, 1_usize)];
    let mut degree = vec![1_usize; 2];
    let mut open: Vec<usize> = Vec::new();
    let (mut n_leaves, mut n_inner, mut n_passed) = (2_usize, 0_usize, 0_usize);
    loop {
        let left = n_observed - n_leaves - n_observed_inner(n_inner);
        if left == 0 {
            break;
        }
        let is_next_observed = n_observed_inner(n_inner + 1) > n_observed_inner(n_inner);
        let may_pass = n_passed < n_observed_inner(n_inner + 1);
        let place = rng.random_range(0..edges.len() + open.len());
        let on_node = place.checked_sub(edges.len());
        if let Some(slot) = on_node {
            let node = open[slot];
            // A node of degree 2 that gets a leaf need not be observed any more.
            n_passed -= usize::from(degree[node] == 2);
            degree[node] += 1;
            if degree[node] >= max_degree {
                open.swap_remove(slot);
            }
            edges.push((node, degree.len()));
            degree.push(1);
            n_leaves += 1;
            continue;
        }
        let node = degree.len();
        let (a, b) = edges[place];
        edges[place] = (a, node);
        edges.push((node, b));
        n_inner += 1;
        let must_pass = left == 1 && is_next_observed;
        if must_pass || (may_pass && rng.random_bool(0.25)) {
            degree.push(2);
            n_passed += 1;
        } else {
            degree.extend([3, 1]);
            edges.push((node, node + 1));
            n_leaves += 1;
        }
        if degree[node] < max_degree {
            open.push(node);
        }
    }
    let mut rest: Vec<usize> = (0..degree.len()).filter(|&node| degree[node] > 2).collect();
    rest.shuffle(rng);
    rest.truncate(n_observed_inner(n_inner) - n_passed);
    let mut observed: Vec<usize> = (0..degree.len()).filter(|&node| degree[node] <= 2).chain(rest).collect();
    observed.shuffle(rng);
    named(degree.len(), &observed, &edges).relabel_hidden()
}
