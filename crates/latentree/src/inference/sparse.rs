//! Likelihoods and expected counts from sparse rows: a row costs the paths of its non-zero cells, not the number of variables.
//!
//! Take the row of all zeros as the base. With `K(s)` the product of the base messages into node `v` and
//! `m⁰(p) = Σ_s T(s|p) K(s) e⁰(s)` its own base message (`e⁰` the evidence of an observed inner node, that it is 0), write every
//! message relative to its base, `q(p) = m(p)/m⁰(p)`. Then `q_v(p) = Σ_s R(s|p) e(s) Π_c q_c(s)` with
//! `R(s|p) = T(s|p) K(s)/m⁰(p)`, and a child whose subtree is all zeros has `q = 1`: it is not visited. For a hidden node
//! `R(·|p)` is its posterior given its parent in the base row. A leaf with code `x` has `q(p) = T(x|p)/T(0|p)`. Downward the same
//! relative messages give posteriors of the nodes on the paths.
//!
//! Below a node that is on no path, posteriors given its parent are those of the base row. What flows in there is, over all rows,
//! the parent's mass less the mass it had in rows where the child was on a path; it is pushed down once for each batch.
//!
//! Relative messages stay in range by a power taken out where needed. As in the dense schedule, states that vanish by this cannot
//! come back if all entries of `R` and of the leaves' ratios are within 2^±300; where they are not, the dense schedule is used.
//!
//! Cost per row: `Σ k_parent · k_child` over the edges on the paths from non-zero cells to the root.

use std::ops::Range;

use rayon::prelude::*;

use super::expectation::{CountLayout, Expectation, PARTS};
use super::plan::{Plan, Role, Term};
use crate::data::{Batch, SparseRows};
use crate::index::NodeIx;

/// Largest power of two of a relative entry.
const MAX_POWER: i32 = 300;
/// A node visited by one sparse row costs about as much as this many in the dense schedule, which works on many rows at once.
const COST: usize = 8;
/// Rows of a part at least, unless there are fewer than two parts.
const ROWS_OF_A_PART: usize = 512;
/// Number of rows to inspect to choose between the two.
const TRIAL_ROWS: usize = 64;
/// Relative messages are rescaled outside of this range.
const MIN_SCALE: f64 = 1e-100;
const MAX_SCALE: f64 = 1e100;

const NONE: u32 = u32::MAX;

/// A buffered node, numbered leaves first. Small, since paths jump about in memory.
#[derive(Debug)]
struct SparseNode {
    node: NodeIx,
    parent: u32,
    /// Position of its record in [`Walk::records`]; see [`Parts`].
    record: u32,
    /// Positions of its parent's products and beliefs there.
    parent_products: u32,
    parent_beliefs: u32,
    n_states: u32,
    n_parent_states: u32,
    is_observed: bool,
}

impl SparseNode {
    fn n_cells(&self) -> usize {
        self.n_states as usize * self.n_parent_states as usize
    }

    /// Numbers of a record.
    fn size(&self) -> usize {
        2 * (self.n_cells() + self.n_states as usize + self.n_parent_states as usize)
    }

    fn products(&self) -> usize {
        self.record as usize + self.n_cells()
    }

    fn beliefs(&self) -> usize {
        self.products() + self.n_states as usize
    }
}

/// All numbers of a node, side by side: its relative table, the products and beliefs of its states, its relative message, and the
/// sums over the rows so far of the counts with its parent and of the parent's mass.
struct Parts<'a> {
    table: &'a [f64],
    products: &'a mut [f64],
    beliefs: &'a mut [f64],
    messages: &'a mut [f64],
    edges: &'a mut [f64],
    masses: &'a mut [f64],
}

impl<'a> Parts<'a> {
    #[inline(always)]
    fn of(node: &SparseNode, records: &'a mut [f64]) -> Self {
        let (k, n) = (node.n_parent_states as usize, node.n_states as usize);
        let record = &mut records[node.record as usize..][..node.size()];
        let (table, record) = record.split_at_mut(k * n);
        let (products, record) = record.split_at_mut(n);
        let (beliefs, record) = record.split_at_mut(n);
        let (messages, record) = record.split_at_mut(k);
        let (edges, masses) = record.split_at_mut(k * n);
        Self { table, products, beliefs, messages, edges, masses }
    }
}

/// What a non-zero cell of a column does.
#[derive(Debug)]
enum Cell {
    /// Multiplies its parent's states by `ratios[code · k..]`; the block after the last code is for missing cells.
    Leaf(LeafCell),
    /// Belongs to a group of columns without a parent.
    Alone(LeafCell),
    /// Is evidence of a buffered node.
    Inner { at: u32 },
}

/// A column of labels of a leaf, which may be a group of columns.
#[derive(Debug, Clone, Copy)]
struct LeafCell {
    node: NodeIx,
    parent: u32,
    /// Where its ratios, and its sums, begin.
    sums: usize,
    n_states: usize,
    /// Where its counts begin among its node's.
    first: usize,
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
    /// Numbers of all records.
    n_records: usize,
    /// Log-likelihood of the row of all zeros.
    base_ln_likelihood: f64,
    /// Number of nodes of the dense schedule, columns of groups counted one by one.
    n_steps: usize,
}

impl SparsePlan {
    /// `None` if the model has numbers or counts, or its own numbers leave the range.
    pub(crate) fn new(plan: &Plan, n_columns: usize) -> Option<Self> {
        let smallest = 2_f64.powi(-MAX_POWER).ln();
        let in_range = |ln: f64| ln.abs() <= -smallest;
        let mut sparse = Self {
            nodes: Vec::new(),
            cells: Vec::new(),
            relative: Vec::new(),
            base: Vec::new(),
            ratios: Vec::new(),
            n_records: 0,
            base_ln_likelihood: 0.0,
            n_steps: plan.steps.iter().map(|step| if let Role::Emitter { terms } = &step.role { terms.len() } else { 1 }).sum(),
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
                Role::Emitter { terms } => {
                    let mut first = 0;
                    for term in terms {
                        let Term::Categorical { column, ln_by_state } = term else { return None };
                        let zero = &ln_by_state[..k];
                        match step.parent_offset {
                            Some(offset) => (0..k).for_each(|state| ln_product[offset + state] += zero[state]),
                            None => sparse.base_ln_likelihood += zero[0],
                        }
                        let (sums, n_states) = (sparse.ratios.len(), ln_by_state.len() / k);
                        let ratios = ln_by_state
                            .chunks_exact(k)
                            .flat_map(|block| block.iter().zip(zero).map(|(value, zero)| value - zero));
                        let missing = zero.iter().map(|zero| -zero);
                        for ln in ratios.chain(missing) {
                            if !in_range(ln) {
                                return None;
                            }
                            sparse.ratios.push(ln.exp());
                        }
                        let cell = LeafCell { node: step.node, parent, sums, n_states, first };
                        cells[column.get()] = Some(if parent == NONE { Cell::Alone(cell) } else { Cell::Leaf(cell) });
                        first += ln_by_state.len();
                    }
                }
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
                    let cell = LeafCell { node: step.node, parent, sums, n_states: step.n_states, first: 0 };
                    cells[column.get()] = Some(Cell::Leaf(cell));
                }
                Role::Buffered { offset, table, column, .. } => {
                    let node = SparseNode {
                        node: step.node,
                        parent,
                        record: u32::try_from(sparse.n_records).ok()?,
                        parent_products: 0,
                        parent_beliefs: 0,
                        n_states: u32::try_from(step.n_states).ok()?,
                        n_parent_states: u32::try_from(k).ok()?,
                        is_observed: column.is_some(),
                    };
                    sparse.n_records += node.size();
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
        u32::try_from(sparse.n_records).ok()?;
        for at in 0..sparse.nodes.len() {
            if let Some(parent) = sparse.nodes.get(sparse.nodes[at].parent as usize) {
                let (products, beliefs) = (parent.products() as u32, parent.beliefs() as u32);
                sparse.nodes[at].parent_products = products;
                sparse.nodes[at].parent_beliefs = beliefs;
            }
        }
        sparse.cells = cells.into_iter().collect::<Option<Vec<Cell>>>()?;
        Some(sparse)
    }

    /// Whether sparse rows are worth it: whether the first rows visit few nodes.
    pub(crate) fn pays(&self, rows: &SparseRows) -> bool {
        let n_rows = rows.n_rows().min(TRIAL_ROWS);
        let mut on_path = vec![0_u64; self.nodes.len().div_ceil(64)];
        let mut visited = 0;
        for row in 0..n_rows {
            for (column, _) in rows.row(row).filter(|cell| cell.1 != 0.0) {
                self.mark_from(self.start_of(column), &mut on_path);
                visited += 1;
            }
            for word in &mut on_path {
                visited += std::mem::take(word).count_ones() as usize;
            }
        }
        visited * COST < n_rows * self.n_steps
    }

    /// The lowest node on the path of a column's cell.
    #[inline(always)]
    fn start_of(&self, column: usize) -> u32 {
        match self.cells[column] {
            Cell::Leaf(cell) => cell.parent,
            Cell::Inner { at } => at,
            Cell::Alone(_) => NONE,
        }
    }

    /// Marks the path of a cell.
    #[inline(always)]
    fn mark(&self, column: usize, value: f64, walk: &mut Walk) {
        if let Cell::Inner { at } = self.cells[column] {
            walk.evidence[at as usize] = if value.is_nan() { NONE } else { value as u32 };
        }
        self.mark_from(self.start_of(column), &mut walk.on_path);
    }

    #[inline(always)]
    fn mark_from(&self, mut at: u32, on_path: &mut [u64]) {
        while at != NONE {
            let (word, bit) = (&mut on_path[at as usize / 64], 1_u64 << (at % 64));
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
        // Each part has arrays of the size of the model, which few rows do not pay for.
        let n_parts = (n_rows / ROWS_OF_A_PART).clamp(2, PARTS);
        let parts: Vec<Range<usize>> = (0..n_parts).map(|ix| ix * n_rows / n_parts..(ix + 1) * n_rows / n_parts).collect();
        let part = |range: Range<usize>| {
            let mut totals = Expectation { counts: Vec::new(), rows: 0, weight: 0.0, log_likelihood: 0.0, impossible_rows: 0 };
            let mut walk = Walk::new(self);
            for row in range {
                let weight = batch.weight(row);
                let ln = if weight > 0.0 { self.row(rows, row, weight, &mut walk) } else { 0.0 };
                totals.add_row(weight, ln);
            }
            (walk, totals)
        };
        let parts: Vec<(Walk, Expectation)> = parts.into_par_iter().filter(|it| !it.is_empty()).map(part).collect();
        let mut totals = Expectation::none(layout);
        parts.iter().for_each(|part| totals.add(&part.1));
        let sums = parts.into_iter().map(|part| part.0).reduce(|mut sums, part| {
            sums.add(&part);
            sums
        });
        if let Some(sums) = sums {
            self.push_down(sums, totals.weight, layout, &mut totals.counts);
        }
        totals
    }

    /// Log-likelihoods of all rows of a sparse batch.
    pub(crate) fn log_likelihood(&self, rows: &SparseRows) -> Vec<f64> {
        let starts: Vec<usize> = (0..rows.n_rows()).step_by(ROWS_OF_A_PART).collect();
        let part = |start: usize| {
            let mut walk = Walk::new(self);
            (start..rows.n_rows().min(start + ROWS_OF_A_PART)).map(|row| self.row_up(rows, row, &mut walk)).collect::<Vec<f64>>()
        };
        starts.into_par_iter().map(part).collect::<Vec<_>>().concat()
    }

    /// Log-likelihood of a row, which leaves nothing behind.
    fn row_up(&self, rows: &SparseRows, row: usize, walk: &mut Walk) -> f64 {
        let mut ln_scale = self.begin(rows, row, walk);
        for word_ix in 0..walk.on_path.len() {
            let mut word = std::mem::take(&mut walk.on_path[word_ix]);
            while word != 0 {
                let at = word_ix * 64 + word.trailing_zeros() as usize;
                word &= word - 1;
                self.up(at, walk, &mut ln_scale);
                let node = &self.nodes[at];
                walk.records[node.products()..][..node.n_states as usize].fill(1.0);
                walk.evidence[at] = 0;
            }
        }
        ln_scale
    }

    /// Enters the cells of a row, and gives the logarithm of what is taken out of the messages.
    #[inline]
    fn begin(&self, rows: &SparseRows, row: usize, walk: &mut Walk) -> f64 {
        let mut ln_scale = self.base_ln_likelihood;
        for (column, value) in rows.row(row).filter(|cell| cell.1 != 0.0) {
            self.mark(column, value, walk);
            match &self.cells[column] {
                Cell::Leaf(cell) => {
                    let parent = &self.nodes[cell.parent as usize];
                    let k = parent.n_states as usize;
                    let ratios = &self.ratios[cell.sums + cell.code(value) * k..][..k];
                    multiply(&mut walk.records[parent.products()..][..k], ratios, &mut ln_scale);
                }
                Cell::Alone(cell) => ln_scale += self.ratios[cell.sums + cell.code(value)].ln(),
                Cell::Inner { .. } => {}
            }
        }
        ln_scale
    }

    /// Passes messages along the paths of a row, adds what its nodes expect, and gives its log-likelihood.
    #[inline]
    fn row(&self, rows: &SparseRows, row: usize, weight: f64, walk: &mut Walk) -> f64 {
        let mut ln_scale = self.begin(rows, row, walk);
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
                self.down(word_ix * 64 + bit, weight, walk);
            }
        }
        for (column, value) in rows.row(row).filter(|cell| cell.1 != 0.0) {
            match &self.cells[column] {
                Cell::Leaf(cell) => {
                    let parent = &self.nodes[cell.parent as usize];
                    let k = parent.n_states as usize;
                    let own = &mut walk.leaves[cell.sums + cell.code(value) * k..][..k];
                    own.iter_mut().zip(&walk.records[parent.beliefs()..][..k]).for_each(|(sum, belief)| *sum += belief);
                }
                Cell::Alone(cell) => walk.leaves[cell.sums + cell.code(value)] += weight,
                Cell::Inner { .. } => {}
            }
        }
        ln_scale
    }

    #[inline(always)]
    fn up(&self, at: usize, walk: &mut Walk, ln_scale: &mut f64) {
        let node = &self.nodes[at];
        let parts = Parts::of(node, &mut walk.records);
        if node.is_observed && walk.evidence[at] != NONE {
            for (state, product) in parts.products.iter_mut().enumerate() {
                if state != walk.evidence[at] as usize {
                    *product = 0.0;
                }
            }
        }
        if let (&[a, b, c, d], &mut [x, y]) = (parts.table, &mut *parts.products)
            && node.parent != NONE
        {
            // Two states under two: most trees are made of these.
            let message = [a * x + b * y, c * x + d * y];
            parts.messages.copy_from_slice(&message);
            multiply(&mut walk.records[node.parent_products as usize..][..2], &message, ln_scale);
            return;
        }
        for (message, row) in parts.messages.iter_mut().zip(parts.table.chunks_exact(parts.products.len())) {
            *message = row.iter().zip(&*parts.products).map(|(entry, product)| entry * product).sum();
        }
        if node.parent == NONE {
            *ln_scale += parts.messages[0].ln();
            return;
        }
        // The parent's record comes after all of its children's.
        let end = node.record as usize + node.size();
        let (own, above) = walk.records.split_at_mut(end);
        let k = node.n_parent_states as usize;
        let first = node.beliefs() + node.n_states as usize;
        multiply(&mut above[node.parent_products as usize - end..][..k], &own[first..first + k], ln_scale);
    }

    #[inline(always)]
    fn down(&self, at: usize, weight: f64, walk: &mut Walk) {
        let node = &self.nodes[at];
        let end = node.record as usize + node.size();
        let (own, above) = walk.records.split_at_mut(end);
        let k = node.n_parent_states as usize;
        let of_root = [weight];
        let masses = if node.parent == NONE { &of_root[..] } else { &above[node.parent_beliefs as usize - end..][..k] };
        let parts = Parts::of(node, own);
        if let (&[a, b, c, d], &mut [x, y], &[p, q]) = (parts.table, &mut *parts.products, masses)
            && p > 0.0
            && q > 0.0
        {
            let (first, second) = (p / parts.messages[0], q / parts.messages[1]);
            let edges = [first * a * x, first * b * y, second * c * x, second * d * y];
            parts.edges.iter_mut().zip(edges).for_each(|(sum, edge)| *sum += edge);
            parts.masses.iter_mut().zip([p, q]).for_each(|(sum, mass)| *sum += mass);
            parts.beliefs.copy_from_slice(&[edges[0] + edges[2], edges[1] + edges[3]]);
        } else {
            let n = parts.products.len();
            parts.beliefs.fill(0.0);
            for (parent_state, &mass) in masses.iter().enumerate() {
                parts.masses[parent_state] += mass;
                let message = parts.messages[parent_state];
                let ratio = if mass == 0.0 || message == 0.0 { 0.0 } else { mass / message };
                let cells = parts.edges[parent_state * n..][..n].iter_mut().zip(&parts.table[parent_state * n..][..n]);
                for ((edge, entry), (belief, product)) in cells.zip(parts.beliefs.iter_mut().zip(&*parts.products)) {
                    let expected = ratio * entry * product;
                    *edge += expected;
                    *belief += expected;
                }
            }
        }
        parts.products.fill(1.0);
        walk.evidence[at] = 0;
    }

    /// Adds the sums of the paths, and what flows into subtrees of zeros, to the counts.
    fn push_down(&self, mut sums: Walk, weight: f64, layout: &CountLayout, counts: &mut [f64]) {
        // The beliefs of a record are no longer needed: they become the mass of each state over all rows.
        let mut base = self.base.len();
        for node in self.nodes.iter().rev() {
            let own = &mut counts[layout.range(node.node)];
            let (k, n) = (node.n_parent_states as usize, node.n_states as usize);
            base -= k * n;
            let end = node.record as usize + node.size();
            let (below, above) = sums.records.split_at_mut(end);
            let parts = Parts::of(node, below);
            parts.beliefs.fill(0.0);
            for parent_state in 0..k {
                let all = match node.parent {
                    NONE => weight,
                    _ => above[node.parent_beliefs as usize - end + parent_state],
                };
                // Both sums are positive; only rounding makes the rest negative.
                let rest = (all - parts.masses[parent_state]).max(0.0);
                for state in 0..n {
                    let at = parent_state * n + state;
                    let expected = parts.edges[at] + rest * self.base[base + at];
                    own[at] += expected;
                    parts.beliefs[state] += expected;
                }
            }
        }
        for cell in &self.cells {
            let (cell, masses) = match cell {
                Cell::Leaf(cell) => {
                    let parent = &self.nodes[cell.parent as usize];
                    (cell, &sums.records[parent.beliefs()..][..parent.n_states as usize])
                }
                Cell::Alone(cell) => (cell, std::slice::from_ref(&weight)),
                Cell::Inner { .. } => continue,
            };
            let (k, n_states) = (masses.len(), cell.n_states);
            let own = &mut counts[layout.range(cell.node)][cell.first..];
            for (parent_state, mass) in masses.iter().enumerate() {
                let of = |code: usize| sums.leaves[cell.sums + code * k + parent_state];
                let not_zero: f64 = (1..=n_states).map(of).sum();
                own[parent_state * n_states] += (mass - not_zero).max(0.0);
                (1..n_states).for_each(|code| own[parent_state * n_states + code] += of(code));
            }
        }
    }
}

impl LeafCell {
    /// Block of its ratios; missing cells have the one after the last code.
    #[inline(always)]
    fn code(&self, value: f64) -> usize {
        if value.is_nan() { self.n_states } else { value as usize }
    }
}

/// Multiplies a relative message in, and takes out a factor where numbers become very small or large.
#[inline(always)]
fn multiply(products: &mut [f64], factors: &[f64], ln_scale: &mut f64) {
    let mut largest = 0.0_f64;
    for (product, factor) in products.iter_mut().zip(factors) {
        *product *= factor;
        largest = largest.max(*product);
    }
    if !(MIN_SCALE..=MAX_SCALE).contains(&largest) && largest > 0.0 {
        products.iter_mut().for_each(|product| *product /= largest);
        *ln_scale += largest.ln();
    }
}

/// The arrays of the row at hand, and the sums over rows. Between rows, products are one, evidence is zero and nothing is on a
/// path.
#[derive(Debug)]
struct Walk {
    on_path: Vec<u64>,
    evidence: Vec<u32>,
    records: Vec<f64>,
    /// Mass of the parent by the leaf's code.
    leaves: Vec<f64>,
}

impl Walk {
    fn new(plan: &SparsePlan) -> Self {
        let mut records = vec![0.0; plan.n_records];
        let mut tables = &plan.relative[..];
        for node in &plan.nodes {
            let (table, rest) = tables.split_at(node.n_cells());
            tables = rest;
            records[node.record as usize..][..table.len()].copy_from_slice(table);
            records[node.products()..][..node.n_states as usize].fill(1.0);
        }
        Self {
            on_path: vec![0; plan.nodes.len().div_ceil(64)],
            evidence: vec![0; plan.nodes.len()],
            records,
            leaves: vec![0.0; plan.ratios.len()],
        }
    }

    /// Adds the sums of other rows. What is no sum is added too, and not used again.
    fn add(&mut self, other: &Self) {
        self.records.iter_mut().zip(&other.records).for_each(|(own, other)| *own += other);
        self.leaves.iter_mut().zip(&other.leaves).for_each(|(own, other)| *own += other);
    }
}
