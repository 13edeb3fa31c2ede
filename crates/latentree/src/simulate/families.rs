//! Random parameters on a tree.

use std::collections::HashSet;
use std::sync::Arc;

use nalgebra::DMatrix;
use rand::seq::SliceRandom;
use rand::{Rng, RngExt};
use rand_distr::{Exp1, StandardNormal};

use crate::data::{Column, Kind, Schema};
use crate::error::{Error, Result};
use crate::index::NodeIx;
use crate::limits;
use crate::memory::MemoryBudget;
use crate::model::{Distribution, Emission, LatentTree, Table, table_bytes};
use crate::tree::{Rooted, Tree};

/// Most states of a node.
pub(super) const MAX_STATES: usize = limits::MAX_SIMULATED_STATES;

/// How often a table is drawn again whose rows are too alike.
const MAX_DRAWS: usize = 50;

/// How the parameters of a simulated model are drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum ParameterFamily {
    /// All nodes Gaussian with mean 0 and variance 1. The correlation ρ of each edge is uniform; its length is −ln|ρ|
    /// (Choi et al. 2011, eq. 8).
    Gaussian {
        /// Least and largest size of an edge's correlation, 0 < least ≤ largest < 1.
        correlation: (f64, f64),
        /// Whether half of the correlations, at random, are negative.
        random_sign: bool,
    },
    /// All nodes categorical. With separation s a table has the rows `s·e_i + (1−s)·((1−s)·q + s·r_i)`: `e_i` is the
    /// distribution that tells state i (uniform over the i-th block of states where the node has more states than its
    /// parent), `q` one random distribution for all rows and `r_i` one for each. With s = 0 the node is independent of its
    /// parent, with s = 1 the one with fewer states is a function of the other. Tables are drawn again, up to a bound,
    /// until the smallest singular value is at least a quarter of what `s·e_i` alone would give, the best draw being kept.
    /// The lengths of edges are log-det distances (Choi eq. 9) where all nodes have the same number of states and no table
    /// is singular, else unknown.
    Categorical {
        /// Number of states of observed nodes, ≥ 2; two make binary variables.
        states: usize,
        /// Number of states of hidden nodes, ≥ 2.
        hidden_states: usize,
        /// How well a node tells its parent's state, from 0 to 1.
        separation: f64,
    },
    /// The symmetric discrete model (Choi eq. 4): all nodes have the same states and a uniform marginal; along an edge each
    /// other state has probability θ. The strength `1 − Kθ` of each edge is uniform; its length is `−(K−1)·ln(1−Kθ)`
    /// (eq. 10). For two states the strength is the correlation.
    Symmetric {
        /// Number K of states of all nodes, ≥ 2.
        states: usize,
        /// Least and largest `1 − Kθ`, 0 < least ≤ largest < 1.
        strength: (f64, f64),
    },
    /// Hidden nodes categorical; leaves `x1`, `x2`, … in turn binary, categorical, continuous (normal), count (Poisson)
    /// and, if asked for, a group of a binary, a continuous and a count column. Observed inner nodes are binary or
    /// categorical. Tables are those of [`ParameterFamily::Categorical`]; means and rates are `s` times as far apart as
    /// they are at most (about 3 standard deviations from state to state).
    Mixed {
        /// Number of states of categorical observed nodes, ≥ 2.
        states: usize,
        /// Number of states of hidden nodes, ≥ 2.
        hidden_states: usize,
        /// How well a node tells its parent's state, from 0 to 1.
        separation: f64,
        /// Whether every fifth leaf is a group.
        groups: bool,
    },
}

/// What a node's values are to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NodeKind {
    Categorical(usize),
    Binary,
    Continuous,
    Count,
    Group,
}

impl NodeKind {
    fn n_states(self) -> Option<usize> {
        match self {
            Self::Categorical(n_states) => Some(n_states),
            Self::Binary => Some(2),
            Self::Continuous | Self::Count | Self::Group => None,
        }
    }

    fn column(self) -> Kind {
        match self {
            Self::Categorical(n_states) => Kind::numbered(n_states),
            Self::Binary => Kind::binary(),
            Self::Continuous => Kind::Continuous,
            Self::Count => Kind::Count,
            Self::Group => unreachable!("a group is no column"),
        }
    }
}

/// The members of a simulated group.
const MEMBERS: [NodeKind; 3] = [NodeKind::Binary, NodeKind::Continuous, NodeKind::Count];

impl ParameterFamily {
    /// Gaussian with correlations from 0.2 to 0.8, all positive, as in Choi et al. (2011, §7.1).
    #[must_use]
    pub fn gaussian() -> Self {
        Self::Gaussian { correlation: (0.2, 0.8), random_sign: false }
    }

    /// The name users write.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Gaussian { .. } => "gaussian",
            Self::Categorical { .. } => "categorical",
            Self::Symmetric { .. } => "symmetric",
            Self::Mixed { .. } => "mixed",
        }
    }

    /// Names and values of all settings, for the record.
    pub(super) fn settings(&self) -> Vec<(&'static str, String)> {
        let mut settings = vec![("family", self.name().to_owned())];
        let range = |(least, largest): (f64, f64)| format!("{least}..{largest}");
        match *self {
            Self::Gaussian { correlation, random_sign } => {
                settings.extend([("correlation", range(correlation)), ("random-sign", random_sign.to_string())]);
            }
            Self::Symmetric { states, strength } => {
                settings.extend([("states", states.to_string()), ("strength", range(strength))]);
            }
            Self::Categorical { states, hidden_states, separation } | Self::Mixed { states, hidden_states, separation, .. } => {
                settings.extend([
                    ("states", states.to_string()),
                    ("hidden-states", hidden_states.to_string()),
                    ("separation", separation.to_string()),
                ]);
            }
        }
        if let Self::Mixed { groups, .. } = *self {
            settings.push(("groups", groups.to_string()));
        }
        settings
    }

    /// Draws the parameters of a model on a tree or forest, rooted at its centre; lengths of edges are set where the family
    /// defines them.
    ///
    /// # Errors
    /// [`Error::Option`] if a setting is out of its range, [`Error::Tree`] if the tree has no nodes.
    pub fn model(&self, tree: Tree, rng: &mut impl Rng) -> Result<LatentTree> {
        if tree.n_nodes() == 0 {
            return Err(Error::tree("it has no nodes"));
        }
        match *self {
            Self::Gaussian { correlation, random_sign } => {
                check_range("correlation", correlation)?;
                gaussian(&tree, correlation, random_sign, rng)
            }
            Self::Symmetric { states, strength } => {
                check_states("states", states)?;
                check_range("strength", strength)?;
                symmetric(&tree, states, strength, rng)
            }
            Self::Categorical { states, hidden_states, separation } => {
                check_states("states", states)?;
                check_states("hidden-states", hidden_states)?;
                let observed = if states == 2 { NodeKind::Binary } else { NodeKind::Categorical(states) };
                let kind = |node| if tree.is_observed(node) { observed } else { NodeKind::Categorical(hidden_states) };
                let kinds: Vec<NodeKind> = tree.node_ixs().map(kind).collect();
                discrete(&tree, &kinds, separation, rng)
            }
            Self::Mixed { states, hidden_states, separation, groups } => {
                check_states("states", states)?;
                check_states("hidden-states", hidden_states)?;
                let kinds = mixed_kinds(&tree, states, hidden_states, groups);
                discrete(&tree, &kinds, separation, rng)
            }
        }
    }
}

pub(super) fn mixed_kinds(tree: &Tree, states: usize, hidden_states: usize, groups: bool) -> Vec<NodeKind> {
    let categorical = NodeKind::Categorical(states);
    let cycle = [NodeKind::Binary, categorical, NodeKind::Continuous, NodeKind::Count, NodeKind::Group];
    let cycle = if groups { &cycle[..] } else { &cycle[..4] };
    let mut n_observed = 0;
    let kind = |node: NodeIx| {
        if !tree.is_observed(node) {
            return NodeKind::Categorical(hidden_states);
        }
        n_observed += 1;
        // The one neighbour of a leaf may be a leaf itself; then the edge needs a discrete end, and both are made so.
        let is_leaf = match tree.links(node) {
            [] => true,
            [link] => tree.degree(link.to) > 1,
            _ => false,
        };
        if is_leaf { cycle[(n_observed - 1) % cycle.len()] } else { cycle[(n_observed - 1) % 2] }
    };
    tree.node_ixs().map(kind).collect()
}

fn check_range(option: &str, (least, largest): (f64, f64)) -> Result<()> {
    if least > 0.0 && least <= largest && largest < 1.0 {
        return Ok(());
    }
    Err(Error::option(option, format!("{least} to {largest} is not a range strictly between 0 and 1")))
}

fn check_states(option: &str, n_states: usize) -> Result<()> {
    if (2..=MAX_STATES).contains(&n_states) {
        return Ok(());
    }
    Err(Error::option(option, format!("{n_states} states; a node takes 2 to {MAX_STATES}")))
}

/// Sets each edge's length to that of its lower end.
fn with_lengths(tree: &Tree, rooted: &Rooted, length: &[Option<f64>]) -> Tree {
    tree.with_lengths(|edge| {
        let lower = if rooted.parent[edge.b.get()] == Some(edge.a) { edge.b } else { edge.a };
        length[lower.get()]
    })
}

fn schema(tree: &Tree, kinds: &[NodeKind]) -> Result<Arc<Schema>> {
    let mut taken: HashSet<String> = tree.nodes().iter().map(|node| node.name.clone()).collect();
    let mut builder = Schema::builder();
    for node in tree.node_ixs().filter(|&node| tree.is_observed(node)) {
        let name = tree.name(node);
        builder = match kinds[node.get()] {
            NodeKind::Group => {
                let members = MEMBERS.iter().enumerate().map(|(number, kind)| {
                    let mut member = format!("{name}_{}", number + 1);
                    while !taken.insert(member.clone()) {
                        member.push('_');
                    }
                    Column { name: member, kind: kind.column() }
                });
                let members = members.collect();
                builder.group(name, members)
            }
            kind => builder.scalar(name, kind.column()),
        };
    }
    Ok(Arc::new(builder.build()?))
}

fn build(schema: Arc<Schema>, tree: Tree, rooted: &Rooted, distributions: Vec<(NodeIx, Distribution)>) -> Result<LatentTree> {
    let builder = LatentTree::builder(schema, tree).roots(&rooted.roots);
    distributions.into_iter().fold(builder, |builder, (node, it)| builder.distribution(node, it)).build()
}

pub(super) fn gaussian(tree: &Tree, range: (f64, f64), random_sign: bool, rng: &mut impl Rng) -> Result<LatentTree> {
    let rooted = Rooted::new(tree, tree.center());
    let mut length = vec![None; tree.n_nodes()];
    let mut distributions = Vec::with_capacity(tree.n_nodes());
    for &node in &rooted.order {
        let mut correlation = 0.0;
        if rooted.parent[node.get()].is_some() {
            correlation = rng.random_range(range.0..=range.1);
            length[node.get()] = Some(-correlation.ln());
            if random_sign && rng.random_bool(0.5) {
                correlation = -correlation;
            }
        }
        let variance = (1.0 - correlation) * (1.0 + correlation);
        distributions.push((node, Distribution::LinearGaussian { mean: 0.0, coefficient: correlation, variance }));
    }
    let schema = schema(tree, &vec![NodeKind::Continuous; tree.n_nodes()])?;
    build(schema, with_lengths(tree, &rooted, &length), &rooted, distributions)
}

/// Fails if the tables of such a model would not fit the memory.
fn check_size(tree: &Tree, kinds: &[NodeKind]) -> Result<()> {
    let members = 2 * MEMBERS.len() as u64;
    let bytes = table_bytes(tree, |node| kinds[node.get()].n_states().map_or(members, |n_states| n_states as u64));
    let what = format!("the tables of {} nodes", tree.n_nodes());
    MemoryBudget::of_machine().check_option("states", &what, bytes, "ask for fewer states or variables")
}

fn symmetric(tree: &Tree, n_states: usize, range: (f64, f64), rng: &mut impl Rng) -> Result<LatentTree> {
    check_size(tree, &vec![NodeKind::Categorical(n_states); tree.n_nodes()])?;
    let rooted = Rooted::new(tree, tree.center());
    let mut length = vec![None; tree.n_nodes()];
    let mut distributions = Vec::with_capacity(tree.n_nodes());
    for &node in &rooted.order {
        let table = if rooted.parent[node.get()].is_none() {
            Table::new(n_states, vec![1.0 / n_states as f64; n_states])
        } else {
            let strength: f64 = rng.random_range(range.0..=range.1);
            length[node.get()] = Some(-((n_states - 1) as f64) * strength.ln());
            let flip = (1.0 - strength) / n_states as f64;
            let stay = strength + flip;
            let cell = |cell: usize| if cell / n_states == cell % n_states { stay } else { flip };
            Table::new(n_states, (0..n_states * n_states).map(cell).collect())
        };
        distributions.push((node, Distribution::Discrete(table)));
    }
    let kind = if n_states == 2 { NodeKind::Binary } else { NodeKind::Categorical(n_states) };
    let schema = schema(tree, &vec![kind; tree.n_nodes()])?;
    build(schema, with_lengths(tree, &rooted, &length), &rooted, distributions)
}

/// Random parameters for a tree with discrete inner nodes.
pub(super) fn discrete(tree: &Tree, kinds: &[NodeKind], separation: f64, rng: &mut impl Rng) -> Result<LatentTree> {
    if !(0.0..=1.0).contains(&separation) {
        return Err(Error::option("separation", format!("{separation} is not a number from 0 to 1")));
    }
    check_size(tree, kinds)?;
    // A centre is discrete: it has two neighbours or more, or stands alone, or is one of two, which are made discrete.
    let rooted = Rooted::new(tree, tree.center());
    let mut marginal: Vec<Vec<f64>> = vec![Vec::new(); tree.n_nodes()];
    let mut length = vec![None; tree.n_nodes()];
    let mut distributions = Vec::with_capacity(tree.n_nodes());
    for &node in &rooted.order {
        let parent = rooted.parent[node.get()];
        let n_parent_states = parent.map_or(1, |parent| kinds[parent.get()].n_states().expect("inner nodes are discrete"));
        let distribution = match kinds[node.get()].n_states() {
            None => Distribution::Emission(emission(kinds[node.get()], n_parent_states, separation, rng)),
            Some(n_states) => {
                let table = match parent {
                    None => root_table(n_states, rng),
                    Some(_) => separated_table(n_parent_states, n_states, separation, rng),
                };
                if let Some(parent) = parent {
                    let above = &marginal[parent.get()];
                    let own: Vec<f64> =
                        (0..n_states).map(|state| above.iter().zip(table.rows()).map(|(p, row)| p * row[state]).sum()).collect();
                    length[node.get()] = log_det_distance(&table, above, &own);
                    marginal[node.get()] = own;
                } else {
                    marginal[node.get()] = table.given(0).to_vec();
                }
                Distribution::Discrete(table)
            }
        };
        distributions.push((node, distribution));
    }
    // A distance on some edges only would be of no use.
    if rooted.order.iter().any(|node| rooted.parent[node.get()].is_some() && length[node.get()].is_none()) {
        length.fill(None);
    }
    build(schema(tree, kinds)?, with_lengths(tree, &rooted, &length), &rooted, distributions)
}

/// A uniform draw from the simplex.
fn dirichlet(n_states: usize, rng: &mut impl Rng) -> Vec<f64> {
    let mut weights: Vec<f64> = (0..n_states).map(|_| rng.sample::<f64, _>(Exp1).max(f64::MIN_POSITIVE)).collect();
    let sum: f64 = weights.iter().sum();
    weights.iter_mut().for_each(|weight| *weight /= sum);
    weights
}

/// A random distribution in which no state has less than half of its fair share.
fn root_table(n_states: usize, rng: &mut impl Rng) -> Table {
    let even = 0.5 / n_states as f64;
    Table::new(n_states, dirichlet(n_states, rng).iter().map(|p| even + 0.5 * p).collect())
}

/// A table as [`ParameterFamily::Categorical`] describes it.
fn separated_table(n_parent_states: usize, n_states: usize, separation: f64, rng: &mut impl Rng) -> Table {
    // A block of m states that tells the parent's state has singular value 1/√m.
    let enough = separation / 4.0 * (n_parent_states as f64 / n_states as f64).sqrt().min(1.0);
    let mut best: Option<(f64, Table)> = None;
    for _ in 0..MAX_DRAWS {
        let common = dirichlet(n_states, rng);
        let mut values = Vec::with_capacity(n_parent_states * n_states);
        for parent_state in 0..n_parent_states {
            let own = dirichlet(n_states, rng);
            let start = parent_state * n_states / n_parent_states;
            let end = ((parent_state + 1) * n_states / n_parent_states).max(start + 1);
            let telling = 1.0 / (end - start) as f64;
            values.extend((0..n_states).map(|state| {
                let told = if (start..end).contains(&state) { telling } else { 0.0 };
                separation * told + (1.0 - separation) * ((1.0 - separation) * common[state] + separation * own[state])
            }));
        }
        let matrix = DMatrix::from_row_slice(n_parent_states, n_states, &values);
        let smallest = matrix.singular_values().iter().copied().fold(f64::INFINITY, f64::min);
        if best.as_ref().is_none_or(|best| smallest > best.0) {
            best = Some((smallest, Table::new(n_states, values)));
        }
        if smallest >= enough {
            break;
        }
    }
    best.expect("at least one table is drawn").1
}

/// Choi's eq. 9, `−ln |det J| / √(det M_parent · det M_own)` with `J = diag(parent) · table`, where it is defined.
fn log_det_distance(table: &Table, parent: &[f64], own: &[f64]) -> Option<f64> {
    if parent.len() != own.len() {
        return None;
    }
    let singular = DMatrix::from_row_slice(parent.len(), own.len(), table.values()).singular_values();
    if singular.min() <= 1e-12 * singular.max() {
        return None;
    }
    let ln_sum = |values: &[f64]| values.iter().map(|value| value.ln()).sum::<f64>();
    let length = 0.5 * (ln_sum(own) - ln_sum(parent)) - ln_sum(singular.as_slice());
    length.is_finite().then_some(length.max(0.0))
}

fn emission(kind: NodeKind, n_parent_states: usize, separation: f64, rng: &mut impl Rng) -> Emission {
    let mut ranks: Vec<usize> = (0..n_parent_states).collect();
    ranks.shuffle(rng);
    match kind {
        NodeKind::Continuous => {
            let start: f64 = rng.sample(StandardNormal);
            let spread: f64 = rng.random_range(0.7..1.3);
            let mut varied = || 1.0 + separation * rng.random_range(-0.3..0.3);
            let variances: Vec<f64> = (0..n_parent_states).map(|_| (spread * varied()).powi(2)).collect();
            let means = ranks.iter().map(|&rank| start + 3.0 * separation * spread * varied() * rank as f64).collect();
            Emission::Gaussian { means, variances }
        }
        NodeKind::Count => {
            let start: f64 = rng.random_range(0.5..2.0);
            let mut varied = || 1.0 + separation * rng.random_range(-0.3..0.3);
            // The square root of a count has about the same spread everywhere, so steps are taken there.
            let rates = ranks.iter().map(|&rank| (start.sqrt() + 1.5 * separation * varied() * rank as f64).powi(2)).collect();
            Emission::Poisson { rates }
        }
        NodeKind::Group => {
            Emission::Group(MEMBERS.iter().map(|&member| emission(member, n_parent_states, separation, rng)).collect())
        }
        NodeKind::Binary => Emission::Categorical(separated_table(n_parent_states, 2, separation, rng)),
        NodeKind::Categorical(n_states) => Emission::Categorical(separated_table(n_parent_states, n_states, separation, rng)),
    }
}
