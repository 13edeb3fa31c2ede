//! A discrete model compiled to a flat schedule of message passing.
//!
//! Nodes are visited leaves first (the reverse of the model's parents-first order). A *buffered* node, that is every node
//! but an observed leaf, owns an array of its states: the product of the messages of its children, then its own evidence.
//! An observed leaf multiplies a column of its table straight into its parent's array.
//!
//! The compiler also decides where products are brought back into range, so that the inner loops never test for it. For every
//! array it tracks a lower bound of the base-2 logarithm of any positive entry, from the smallest positive entries of the tables.
//! Where the next multiplication could pass 2⁻⁹⁰⁰, the array is *renormalised* first: every entry hands its power of two to an
//! integer beside it (one per state and row, so no state is lost, however unlikely it looks so far). Before such a node sends its
//! message, the integers are *collapsed* to the largest one. States that vanish by this are more than 2¹⁰⁰⁰ less likely than
//! another, which cannot be undone by the rest of the tree if all entries of the node's table are at least 2⁻³⁰⁰. Where that does
//! not hold (zeros in the table) the whole model is run on [`Wide`](super::number::Wide) numbers instead.

use crate::index::{ColIx, NodeIx};
use crate::model::{Distribution, Emission, LatentTree, Table};

/// Bounds of base-2 logarithms; see the module.
const RENORMALISE_BELOW: f64 = -900.0;
const COLLAPSE_BELOW: f64 = -400.0;
const COLLAPSIBLE_TABLE: f64 = -300.0;

/// What a node does in the upward pass.
#[derive(Debug)]
pub(crate) enum Role {
    /// Owns an array of states.
    Buffered {
        /// Position of its first state's row block.
        offset: usize,
        /// Position of its message's first row block.
        message: usize,
        /// Its table, a row per state of the parent (one row at a root).
        table: Vec<f64>,
        /// The column of an observed inner node.
        column: Option<ColIx>,
        /// Position of its exponents' first row block, where it has them; it is collapsed before its message is sent.
        exponents: Option<usize>,
        /// Whether no child ever writes its array, which must be set to one.
        childless: bool,
    },
    /// An observed discrete leaf: its table by column, `n_parent_states` values per state, and a last block of ones for
    /// "missing".
    Leaf { column: ColIx, by_state: Vec<f64> },
    /// A leaf with densities.
    Emitter { terms: Vec<Term> },
}

/// One column of an emission, prepared.
#[derive(Debug)]
pub(crate) enum Term {
    /// Logarithms of a table by column: `n_parent_states` values per state.
    Categorical { column: ColIx, ln_by_state: Vec<f64> },
    /// Mean, −½ ln(2πσ²) and 1/(2σ²) per state of the parent.
    Gaussian { column: ColIx, parts: Vec<[f64; 3]> },
    /// Rate and its logarithm per state of the parent.
    Poisson { column: ColIx, parts: Vec<[f64; 2]> },
}

/// A node in the schedule.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) node: NodeIx,
    /// Number of states; 0 for an emitter.
    pub(crate) n_states: usize,
    /// Number of states of the parent; 1 at a root.
    pub(crate) n_parent_states: usize,
    /// Position of the parent's array; `None` at a root.
    pub(crate) parent_offset: Option<usize>,
    /// Position of the parent's exponents, where it has them.
    pub(crate) parent_exponents: Option<usize>,
    /// Whether this is the first child that writes the parent's array (sets instead of multiplies).
    pub(crate) first: bool,
    /// Whether the parent's array is renormalised before this child multiplies into it.
    pub(crate) renormalise: bool,
    pub(crate) role: Role,
}

/// The schedule; see the module.
#[derive(Debug)]
pub(crate) struct Plan {
    /// Leaves first.
    pub(crate) steps: Vec<Step>,
    /// Position in `steps` of each node.
    pub(crate) step_of: Vec<usize>,
    /// Number of row blocks of the arrays, of the messages and of the exponents.
    pub(crate) n_states: usize,
    pub(crate) n_messages: usize,
    pub(crate) n_exponents: usize,
    /// Whether plain `f64` cannot be proved to be enough.
    pub(crate) needs_wide: bool,
    /// Rows that are worked on at once.
    pub(crate) block_rows: usize,
    /// Whether a column's codes fit a byte.
    pub(crate) is_small: Vec<bool>,
    /// Whether nodes have so many states that most of the time goes to matrix products.
    pub(crate) is_wide: bool,
}

fn log2_smallest(values: &[f64], positive_only: bool) -> f64 {
    let smallest = values.iter().copied().filter(|&value| value > 0.0 || !positive_only).fold(f64::INFINITY, f64::min);
    if smallest == f64::INFINITY { 0.0 } else { smallest.log2() }
}

impl Plan {
    pub(crate) fn new(model: &LatentTree) -> Self {
        let tree = model.tree();
        let n_nodes = tree.n_nodes();
        let mut is_leaf = vec![true; n_nodes];
        for parent in model.rooted().parent.iter().flatten() {
            is_leaf[parent.get()] = false;
        }
        let buffered = |node: NodeIx| {
            matches!(model.distribution(node), Distribution::Discrete(_))
                && !(is_leaf[node.get()] && tree.is_observed(node) && model.parent(node).is_some())
        };
        let mut offset = vec![None; n_nodes];
        let mut plan = Self {
            steps: Vec::with_capacity(n_nodes),
            step_of: vec![0; n_nodes],
            n_states: 0,
            n_messages: 0,
            n_exponents: 0,
            needs_wide: false,
            block_rows: 0,
            is_small: model.schema().columns().iter().map(|column| column.kind.n_states().is_some_and(|n| n < 256)).collect(),
            is_wide: model.hidden().any(|node| model.n_states(node).is_some_and(|n_states| n_states >= 8)),
        };
        // Arrays in the order of the schedule, so that a pass walks through memory.
        for &node in model.rooted().order.iter().rev() {
            if buffered(node) {
                offset[node.get()] = Some(plan.n_states);
                plan.n_states += model.n_states(node).expect("a buffered node is discrete");
            }
        }
        let mut bound = vec![0.0_f64; n_nodes];
        let mut exponents: Vec<Option<usize>> = vec![None; n_nodes];
        let mut written = vec![false; n_nodes];
        let mut renormalise_first = vec![false; n_nodes];
        // First sweep: bounds, which decide who has exponents. The second builds the steps, when all are known.
        for &node in model.rooted().order.iter().rev() {
            let mut own = match model.distribution(node) {
                Distribution::Discrete(table) if buffered(node) => {
                    let n_states = table.n_states();
                    if exponents[node.get()].is_none() && bound[node.get()] < COLLAPSE_BELOW {
                        exponents[node.get()] = Some(plan.n_exponents);
                        plan.n_exponents += n_states;
                    }
                    if exponents[node.get()].is_some() {
                        let smallest = log2_smallest(table.values(), false);
                        plan.needs_wide |= smallest < COLLAPSIBLE_TABLE;
                        smallest - 1.0
                    } else {
                        bound[node.get()] + log2_smallest(table.values(), true)
                    }
                }
                Distribution::Discrete(table) => log2_smallest(table.values(), true),
                Distribution::Emission(_) => -1.0,
                Distribution::LinearGaussian { .. } => unreachable!("a discrete plan of a discrete model"),
            };
            let Some(parent) = model.parent(node) else { continue };
            let at = parent.get();
            if own < RENORMALISE_BELOW {
                plan.needs_wide = true;
                own = RENORMALISE_BELOW;
            }
            let needs_exponents =
                matches!(model.distribution(node), Distribution::Emission(_)) || bound[at] + own < RENORMALISE_BELOW;
            if needs_exponents && exponents[at].is_none() {
                exponents[at] = Some(plan.n_exponents);
                plan.n_exponents += model.n_states(parent).expect("a parent is discrete");
            }
            if bound[at] + own < RENORMALISE_BELOW {
                renormalise_first[node.get()] = true;
                bound[at] = -1.0;
            }
            bound[at] += own;
        }
        for &node in model.rooted().order.iter().rev() {
            let parent = model.parent(node);
            let n_parent_states = parent.map_or(1, |parent| model.n_states(parent).expect("a parent is discrete"));
            let role = match model.distribution(node) {
                Distribution::Discrete(table) if buffered(node) => {
                    let message = plan.n_messages;
                    plan.n_messages += n_parent_states;
                    Role::Buffered {
                        offset: offset[node.get()].expect("a buffered node has an array"),
                        message,
                        table: table.values().to_vec(),
                        column: model.variable(node).map(|variable| model.schema().variable(variable).columns[0]),
                        exponents: exponents[node.get()],
                        childless: is_leaf[node.get()],
                    }
                }
                Distribution::Discrete(table) => {
                    let variable = model.variable(node).expect("a leaf without an array is observed");
                    let mut by_state = by_state(table);
                    by_state.extend(std::iter::repeat_n(1.0, n_parent_states));
                    Role::Leaf { column: model.schema().variable(variable).columns[0], by_state }
                }
                Distribution::Emission(emission) => {
                    let variable = model.variable(node).expect("an emitter is observed");
                    Role::Emitter { terms: terms(emission, &model.schema().variable(variable).columns) }
                }
                Distribution::LinearGaussian { .. } => unreachable!("a discrete plan of a discrete model"),
            };
            let first = parent.is_some_and(|parent| !std::mem::replace(&mut written[parent.get()], true));
            plan.step_of[node.get()] = plan.steps.len();
            plan.steps.push(Step {
                node,
                n_states: model.n_states(node).unwrap_or(0),
                n_parent_states,
                parent_offset: parent.map(|parent| offset[parent.get()].expect("a parent has an array")),
                parent_exponents: parent.and_then(|parent| exponents[parent.get()]),
                first,
                renormalise: renormalise_first[node.get()],
                role,
            });
        }
        // Arrays of a block should stay in the second-level cache.
        plan.block_rows = (if plan.is_wide { 98_304 } else { 32_768 } / plan.n_states.max(1)).clamp(16, 256) & !7;
        plan
    }
}

/// A table by column: `n_parent_states` values for each state.
fn by_state(table: &Table) -> Vec<f64> {
    let mut transposed = Vec::with_capacity(table.values().len() + table.n_parent_states());
    for state in 0..table.n_states() {
        transposed.extend(table.rows().map(|row| row[state]));
    }
    transposed
}

fn terms(emission: &Emission, columns: &[ColIx]) -> Vec<Term> {
    let column = columns[0];
    match emission {
        Emission::Categorical(table) => {
            vec![Term::Categorical { column, ln_by_state: by_state(table).into_iter().map(f64::ln).collect() }]
        }
        Emission::Gaussian { means, variances } => {
            let parts = means.iter().zip(variances);
            let parts = parts.map(|(&mean, &variance)| [mean, -0.5 * (std::f64::consts::TAU * variance).ln(), 0.5 / variance]);
            vec![Term::Gaussian { column, parts: parts.collect() }]
        }
        Emission::Poisson { rates } => {
            vec![Term::Poisson { column, parts: rates.iter().map(|&rate| [rate, rate.ln()]).collect() }]
        }
        Emission::Group(members) => members.iter().zip(columns).flat_map(|(member, &column)| terms(member, &[column])).collect(),
    }
}
