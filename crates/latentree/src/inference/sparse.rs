//! Expected counts from sparse rows: a row costs the paths of its non-zero cells, not the number of variables.
//!
//! Take the row of all zeros as the base. With `K(s)` the product of the base messages into node `v` and `m⁰(p) = Σ_s T(s|p) K(s) e⁰(s)` its own
//! base message (`e⁰` the evidence of an observed inner node, that it is 0), write every message relative to its base,
//! `q(p) = m(p)/m⁰(p)`. Then `q_v(p) = Σ_s R(s|p) e(s) Π_c q_c(s)` with `R(s|p) = T(s|p) K(s)/m⁰(p)`, and a child whose subtree is all
//! zeros has `q = 1`: it is not visited. For a hidden node `R(·|p)` is its posterior given its parent in the base row. A leaf with code `x` has
//! `q(p) = T(x|p)/T(0|p)`. Downward the same relative messages give posteriors of the nodes on the paths.
//!
//! Below a node that is on no path, posteriors given its parent are those of the base row. What flows in there is, over all rows, the parent's
//! mass less the mass it had in rows where the child was on a path; it is pushed down once for each batch.
//!
//! Relative messages stay in range by a power taken out where needed. As in the dense schedule, states that vanish by this cannot come back
//! if all entries of `R` and of the leaves' ratios are within 2^±300; where they are not, the dense schedule is used.
//!
//! Cost per row: `Σ k_parent · k_child` over the edges on the paths from non-zero cells to the root.

use std::ops::Range;

use rayon::prelude::*;

use super::expectation::{CountLayout, Expectation, PARTS};
use super::plan::{Plan, Role};
use crate::data::{Batch, SparseRows};
use crate::index::NodeIx;

/// Largest power of two of a relative entry.
const LARGEST_POWER: i32 = 300;
/// A node visited by one sparse row costs about as much as this many in the dense schedule, which works on many rows at once.
const COST: usize = 8;
/// Rows that are looked at to choose between the two.
const TRIAL_ROWS: usize = 64;
/// Relative messages are rescaled outside of this range.
const SMALLEST: f64 = 1e-100;
const LARGEST: f64 = 1e100;

const NONE: u32 = u32::MAX;

/// A buffered node, numbered leaves first.
#[derive(Debug)]
struct SparseNode {
    node: NodeIx,
    parent: u32,
    /// Position of its states, of its relative message, and of its table.
    states: usize,
    message: usize,
    table: usize,
    n_states: usize,
    n_parent_states: usize,
    is_observed: bool,
}

/// What a non-zero cell of a column does.
#[derive(Debug)]
enum Cell {
    /// Multiplies its parent's states by `ratios[code · k..]`; the block after the last code is for missing cells.
    Leaf { node: NodeIx, parent: u32, sums: usize, n_states: usize },
    /// Is evidence of a buffered node.
    Inner { at: u32 },
}

/// A discrete model compiled for sparse rows; see the module.
#[derive(Debug)]
pub(crate) struct SparsePlan {
    nodes: Vec<SparseNode>,
    cells: Vec<Cell>,
    /// Relative tables, and those of nodes on no path.
    relative: Vec<f64>,
    base: Vec<f64>,
    /// Ratios of all leaves, at their `sums`.
    ratios: Vec<f64>,
    n_states: usize,
    n_messages: usize,
    /// Log-likelihood of the row of all zeros.
    base_ln_likelihood: f64,
    /// Number of nodes of the dense schedule.
    n_steps: usize,
}

impl SparsePlan {
    /// `None` if the model has leaves that are not discrete, or its numbers leave the range.
    pub(crate) fn new(plan: &Plan, n_columns: usize) -> Option<Self> {
        let smallest = 2_f64.powi(-LARGEST_POWER).ln();
        let in_range = |ln: f64| ln.abs() <= -smallest;
        let mut sparse = Self {
            nodes: Vec::new(),
            cells: Vec::new(),
            relative: Vec::new(),
            base: Vec::new(),
            ratios: Vec::new(),
            n_states: plan.n_states,
            n_messages: 0,
            base_ln_likelihood: 0.0,
            n_steps: plan.steps.len(),
        };
        // Numbers of buffered nodes by the position of their states.
        let mut number = vec![NONE; plan.n_states];
        let mut count = 0;
        for step in &plan.steps {
            if let Role::Buffered { offset, .. } = step.role {
                number[offset] = count;
                count += 1;
            }
        }
        let mut ln_product = vec![0.0; plan.n_states];
        let mut cells: Vec<Option<Cell>> = (0..n_columns).map(|_| None).collect();
        for step in &plan.steps {
            let k = step.n_parent_states;
            let parent = step.parent_offset.map_or(NONE, |offset| number[offset]);
            match &step.role {
                Role::Emitter { .. } => return None,
                Role::Leaf { column, by_state } => {
                    let offset = step.parent_offset?;
                    for state in 0..k {
                        ln_product[offset + state] += by_state[state].ln();
                    }
                    let sums = sparse.ratios.len();
                    // The table's last block, of missing cells, is all ones.
                    for block in by_state.chunks_exact(k) {
                        sparse.ratios.extend(block.iter().zip(by_state).map(|(value, zero)| value / zero));
                    }
                    if !sparse.ratios[sums..].iter().all(|ratio| in_range(ratio.ln())) {
                        return None;
                    }
                    cells[column.get()] = Some(Cell::Leaf { node: step.node, parent, sums, n_states: step.n_states });
                }
                Role::Buffered { offset, table, column, .. } => {
                    let node = SparseNode {
                        node: step.node,
                        parent,
                        states: *offset,
                        message: sparse.n_messages,
                        table: sparse.relative.len(),
                        n_states: step.n_states,
                        n_parent_states: k,
                        is_observed: column.is_some(),
                    };
                    sparse.n_messages += k;
                    if let Some(column) = column {
                        cells[column.get()] = Some(Cell::Inner { at: number[*offset] });
                    }
                    for parent_state in 0..k {
                        let row = &table[parent_state * step.n_states..][..step.n_states];
                        let ln = |state: usize| row[state].ln() + ln_product[offset + state];
                        let in_base = if node.is_observed { 1 } else { step.n_states };
                        let largest = (0..in_base).map(ln).fold(f64::NEG_INFINITY, f64::max);
                        let message = largest + (0..in_base).map(|state| (ln(state) - largest).exp()).sum::<f64>().ln();
                        for state in 0..step.n_states {
                            let relative = ln(state) - message;
                            // Zeros, and what follows from them, are not in range either.
                            if !in_range(relative) {
                                return None;
                            }
                            sparse.relative.push(relative.exp());
                            sparse.base.push(if state < in_base { relative.exp() } else { 0.0 });
                        }
                        match step.parent_offset {
                            Some(parent) => ln_product[parent + parent_state] += message,
                            None => sparse.base_ln_likelihood += message,
                        }
                    }
                    sparse.nodes.push(node);
                }
            }
        }
        sparse.cells = cells.into_iter().collect::<Option<Vec<Cell>>>()?;
        Some(sparse)
    }

    /// Whether sparse rows are worth it: whether the first rows visit few nodes.
    pub(crate) fn pays(&self, rows: &SparseRows) -> bool {
        let n_rows = rows.n_rows().min(TRIAL_ROWS);
        let mut walk = Walk::new(self);
        let mut visited = 0;
        for row in 0..n_rows {
            for (column, value) in rows.row(row).filter(|cell| cell.1 != 0.0) {
                self.mark(column, value, &mut walk);
                visited += 1;
            }
            for word in &mut walk.on_path {
                visited += std::mem::take(word).count_ones() as usize;
            }
        }
        visited * COST < n_rows * self.n_steps
    }

    /// Marks the path of a cell.
    fn mark(&self, column: usize, value: f64, walk: &mut Walk) {
        let mut at = match self.cells[column] {
            Cell::Leaf { parent, .. } => parent,
            Cell::Inner { at } => {
                walk.evidence[at as usize] = if value.is_nan() { NONE } else { value as u32 };
                at
            }
        };
        while at != NONE {
            let (word, bit) = (&mut walk.on_path[at as usize / 64], 1_u64 << (at % 64));
            if *word & bit != 0 {
                return;
            }
            *word |= bit;
            at = self.nodes[at as usize].parent;
        }
    }

    /// Expected counts of all rows of a sparse batch.
    pub(crate) fn expect(&self, batch: &Batch, rows: &SparseRows, layout: &CountLayout) -> Expectation {
        let n_rows = rows.n_rows();
        let parts: Vec<Range<usize>> = (0..PARTS).map(|ix| ix * n_rows / PARTS..(ix + 1) * n_rows / PARTS).collect();
        let part = |range: Range<usize>| {
            let mut sums = PathSums::new(self);
            let mut totals = Expectation { counts: Vec::new(), rows: 0, weight: 0.0, log_likelihood: 0.0, impossible_rows: 0 };
            let mut walk = Walk::new(self);
            for row in range {
                let weight = batch.weight(row);
                let ln = if weight > 0.0 { self.row(rows, row, weight, &mut walk, &mut sums) } else { 0.0 };
                totals.add_row(weight, ln);
            }
            (sums, totals)
        };
        let parts: Vec<(PathSums, Expectation)> = parts.into_par_iter().filter(|it| !it.is_empty()).map(part).collect();
        let mut sums = PathSums::new(self);
        let mut totals = Expectation::none(layout);
        for (part, part_totals) in &parts {
            sums.add(part);
            totals.add(part_totals);
        }
        self.push_down(&sums, totals.weight, layout, &mut totals.counts);
        totals
    }

    /// Passes messages along the paths of a row, adds what its nodes expect, and gives its log-likelihood.
    #[inline]
    fn row(&self, rows: &SparseRows, row: usize, weight: f64, walk: &mut Walk, sums: &mut PathSums) -> f64 {
        let mut ln_scale = self.base_ln_likelihood;
        for (column, value) in rows.row(row).filter(|cell| cell.1 != 0.0) {
            self.mark(column, value, walk);
            if let Cell::Leaf { parent, sums, n_states, .. } = self.cells[column] {
                let parent = &self.nodes[parent as usize];
                let ratios = &self.ratios[sums + code(value, n_states) * parent.n_states..][..parent.n_states];
                multiply(&mut walk.products[parent.states..][..parent.n_states], ratios, &mut ln_scale);
            }
        }
        for word_ix in 0..walk.on_path.len() {
            let mut word = walk.on_path[word_ix];
            while word != 0 {
                let at = word_ix * 64 + word.trailing_zeros() as usize;
                word &= word - 1;
                self.up(at, walk, &mut ln_scale);
            }
        }
        for word_ix in (0..walk.on_path.len()).rev() {
            let mut word = walk.on_path[word_ix];
            walk.on_path[word_ix] = 0;
            while word != 0 {
                let bit = 63 - word.leading_zeros() as usize;
                word &= !(1 << bit);
                self.down(word_ix * 64 + bit, weight, walk, sums);
            }
        }
        for (column, value) in rows.row(row).filter(|cell| cell.1 != 0.0) {
            if let Cell::Leaf { parent, sums: at, n_states, .. } = self.cells[column] {
                let parent = &self.nodes[parent as usize];
                let own = &mut sums.leaves[at + code(value, n_states) * parent.n_states..][..parent.n_states];
                own.iter_mut().zip(&walk.beliefs[parent.states..][..parent.n_states]).for_each(|(sum, belief)| *sum += belief);
            }
        }
        ln_scale
    }

    #[inline(always)]
    fn up(&self, at: usize, walk: &mut Walk, ln_scale: &mut f64) {
        let node = &self.nodes[at];
        if node.is_observed && walk.evidence[at] != NONE {
            for state in (0..node.n_states).filter(|&state| state != walk.evidence[at] as usize) {
                walk.products[node.states + state] = 0.0;
            }
        }
        let products = &walk.products[node.states..][..node.n_states];
        let messages = &mut walk.messages[node.message..][..node.n_parent_states];
        let table = &self.relative[node.table..][..node.n_states * node.n_parent_states];
        for (message, row) in messages.iter_mut().zip(table.chunks_exact(node.n_states)) {
            *message = row.iter().zip(products).map(|(entry, product)| entry * product).sum();
        }
        if node.parent == NONE {
            *ln_scale += messages[0].ln();
        } else {
            let states = self.nodes[node.parent as usize].states;
            multiply(&mut walk.products[states..][..node.n_parent_states], messages, ln_scale);
        }
    }

    #[inline(always)]
    fn down(&self, at: usize, weight: f64, walk: &mut Walk, sums: &mut PathSums) {
        let node = &self.nodes[at];
        let (own, size) = (node.states..node.states + node.n_states, node.n_states);
        walk.beliefs[own.clone()].fill(0.0);
        for parent_state in 0..node.n_parent_states {
            let mass = match node.parent {
                NONE => weight,
                parent => walk.beliefs[self.nodes[parent as usize].states + parent_state],
            };
            let message = node.message + parent_state;
            sums.masses[message] += mass;
            let ratio = if mass == 0.0 { 0.0 } else { mass / walk.messages[message] };
            let table = node.table + parent_state * size..node.table + (parent_state + 1) * size;
            let cells = sums.edges[table.clone()].iter_mut().zip(&self.relative[table]);
            let states = walk.beliefs[own.clone()].iter_mut().zip(&walk.products[own.clone()]);
            for ((edge, entry), (belief, product)) in cells.zip(states) {
                let expected = ratio * entry * product;
                *edge += expected;
                *belief += expected;
            }
        }
        walk.products[own].fill(1.0);
        walk.evidence[at] = 0;
    }

    /// Adds the sums of the paths, and what flows into subtrees of zeros, to the counts.
    fn push_down(&self, sums: &PathSums, weight: f64, layout: &CountLayout, counts: &mut [f64]) {
        let mut total = vec![0.0; self.n_states];
        for node in self.nodes.iter().rev() {
            let own = &mut counts[layout.range(node.node)];
            for parent_state in 0..node.n_parent_states {
                let all = match node.parent {
                    NONE => weight,
                    parent => total[self.nodes[parent as usize].states + parent_state],
                };
                // Both sums are positive; only rounding makes the rest negative.
                let rest = (all - sums.masses[node.message + parent_state]).max(0.0);
                for state in 0..node.n_states {
                    let at = parent_state * node.n_states + state;
                    let expected = sums.edges[node.table + at] + rest * self.base[node.table + at];
                    own[at] += expected;
                    total[node.states + state] += expected;
                }
            }
        }
        for cell in &self.cells {
            let Cell::Leaf { node, parent, sums: at, n_states } = *cell else { continue };
            let parent = &self.nodes[parent as usize];
            let k = parent.n_states;
            let own = &mut counts[layout.range(node)];
            for parent_state in 0..k {
                let of = |code: usize| sums.leaves[at + code * k + parent_state];
                let not_zero: f64 = (1..=n_states).map(of).sum();
                own[parent_state * n_states] += (total[parent.states + parent_state] - not_zero).max(0.0);
                (1..n_states).for_each(|code| own[parent_state * n_states + code] += of(code));
            }
        }
    }
}

/// Block of a leaf's ratios; missing cells have the one after the last code.
#[inline(always)]
fn code(value: f64, n_states: usize) -> usize {
    if value.is_nan() { n_states } else { value as usize }
}

/// Multiplies a relative message in, and takes out a factor where numbers become very small or large.
#[inline(always)]
fn multiply(products: &mut [f64], factors: &[f64], ln_scale: &mut f64) {
    let mut largest = 0.0_f64;
    for (product, factor) in products.iter_mut().zip(factors) {
        *product *= factor;
        largest = largest.max(*product);
    }
    if !(SMALLEST..=LARGEST).contains(&largest) && largest > 0.0 {
        products.iter_mut().for_each(|product| *product /= largest);
        *ln_scale += largest.ln();
    }
}

/// The arrays of the row at hand; between rows, products are one, evidence is zero and nothing is on a path.
#[derive(Debug)]
struct Walk {
    on_path: Vec<u64>,
    evidence: Vec<u32>,
    products: Vec<f64>,
    messages: Vec<f64>,
    beliefs: Vec<f64>,
}

impl Walk {
    fn new(plan: &SparsePlan) -> Self {
        Self {
            on_path: vec![0; plan.nodes.len().div_ceil(64)],
            evidence: vec![0; plan.nodes.len()],
            products: vec![1.0; plan.n_states],
            messages: vec![0.0; plan.n_messages],
            beliefs: vec![0.0; plan.n_states],
        }
    }
}

/// Sums over the rows in which a node was on a path.
#[derive(Debug)]
struct PathSums {
    /// Expected counts of node and parent.
    edges: Vec<f64>,
    /// Mass of the parent.
    masses: Vec<f64>,
    /// Mass of the parent by the leaf's code.
    leaves: Vec<f64>,
}

impl PathSums {
    fn new(plan: &SparsePlan) -> Self {
        Self { edges: vec![0.0; plan.relative.len()], masses: vec![0.0; plan.n_messages], leaves: vec![0.0; plan.ratios.len()] }
    }

    fn add(&mut self, other: &Self) {
        let pairs = [(&mut self.edges, &other.edges), (&mut self.masses, &other.masses), (&mut self.leaves, &other.leaves)];
        for (own, other) in pairs {
            own.iter_mut().zip(other).for_each(|(own, other)| *own += other);
        }
    }
}
