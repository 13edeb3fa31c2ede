//! Exact sum–product message passing over blocks of rows (structure of arrays: the innermost index is the row).
//!
//! Upward, with `T` the table of a node `v` given its parent: `m_v(p) = Σ_s T(s|p) Π_c m_c(s)`, evidence as zeros; the
//! likelihood of a row is the root's message (its "parent" has one state). Downward, from the parent's posterior `b_p`:
//! `b_v(s) = Π_c m_c(s) · Σ_p T(s|p) b_p(p) / m_v(p)`. Every ratio `T(s|p) Π_c m_c(s) / m_v(p)` is a conditional probability, so
//! nothing is ever subtracted and a message of zero only meets a posterior of zero.
//!
//! Cost per row: `Σ_edges k_parent · k_child`; an observed leaf costs `k_parent`.

use super::density::add_ln_density;
use super::evidence::{Cells, EvidenceBlock};
use super::expectation::{CountLayout, count_emission};
use super::kernel::Matrix;
use super::number::Number;
use super::plan::{Plan, Role, Step};
use crate::index::NodeIx;

/// The arrays of one block of rows; made once per thread and used again.
#[derive(Debug)]
pub(crate) struct Workspace<N> {
    /// Distance between the arrays of two states.
    stride: usize,
    n_rows: usize,
    /// Product of children's messages and evidence, per buffered node and state.
    products: Vec<N>,
    /// Message to the parent, per buffered node and state of the parent.
    messages: Vec<N>,
    /// Posteriors, per buffered node and state; after the downward pass.
    beliefs: Vec<N>,
    /// Powers of two taken out of products.
    exponents: Vec<i64>,
    /// Power of two taken out of each row's likelihood.
    row_exponents: Vec<i64>,
    ln_density: Vec<f64>,
    weight_of_zero: Vec<f64>,
    weight_of_one: Vec<f64>,
    ln_likelihood: Vec<f64>,
    /// Posterior of the parent over the message of the node being visited, per state of the parent; in the downward pass.
    ratios: Vec<N>,
    turned: Vec<f64>,
}

impl<N: Number> Workspace<N> {
    pub(crate) fn new(plan: &Plan) -> Self {
        let stride = plan.block_rows;
        let most_parent_states = plan.steps.iter().map(|step| step.n_parent_states).max().unwrap_or(1);
        Self {
            stride,
            n_rows: 0,
            products: vec![N::ZERO; plan.n_states * stride],
            messages: vec![N::ZERO; plan.n_messages * stride],
            beliefs: Vec::new(),
            exponents: vec![0; plan.n_exponents * stride],
            row_exponents: vec![0; stride],
            ln_density: vec![0.0; most_parent_states * stride],
            weight_of_zero: vec![0.0; stride],
            weight_of_one: vec![0.0; stride],
            ln_likelihood: vec![0.0; stride],
            ratios: vec![N::ZERO; most_parent_states * stride],
            turned: Vec::new(),
        }
    }

    /// Log-likelihood of each row of the block; after the upward pass.
    pub(crate) fn ln_likelihood(&self) -> &[f64] {
        &self.ln_likelihood[..self.n_rows]
    }

    /// Posterior of a state of a buffered node; after the downward pass.
    pub(crate) fn belief(&self, offset: usize, state: usize) -> &[N] {
        &self.beliefs[(offset + state) * self.stride..][..self.n_rows]
    }

    /// Product of evidence below a buffered node.
    pub(crate) fn product(&self, offset: usize, state: usize) -> &[N] {
        &self.products[(offset + state) * self.stride..][..self.n_rows]
    }

    /// Message of a buffered node for a state of its parent.
    pub(crate) fn message(&self, message: usize, parent_state: usize) -> &[N] {
        &self.messages[(message + parent_state) * self.stride..][..self.n_rows]
    }

    /// The upward pass: fills products, messages and the log-likelihood of each row.
    pub(crate) fn up(&mut self, plan: &Plan, block: &EvidenceBlock<'_>) {
        #[cfg(target_arch = "x86_64")]
        if plan.is_wide && std::arch::is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor was just asked and has AVX-512. The code is the same; without fused multiply-add the
            // wider registers do not change a single rounding.
            unsafe { self.up_avx512(plan, block) };
            return;
        }
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: as above.
            unsafe { self.up_avx2(plan, block) };
            return;
        }
        self.up_portable(plan, block);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f")]
    fn up_avx512(&mut self, plan: &Plan, block: &EvidenceBlock<'_>) {
        self.up_portable(plan, block);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn up_avx2(&mut self, plan: &Plan, block: &EvidenceBlock<'_>) {
        self.up_portable(plan, block);
    }

    #[inline(always)]
    fn up_portable(&mut self, plan: &Plan, block: &EvidenceBlock<'_>) {
        assert!(block.n_rows <= self.stride, "a block fits its workspace");
        self.n_rows = block.n_rows;
        self.row_exponents.fill(0);
        self.ln_likelihood.fill(0.0);
        self.exponents.fill(0);
        for step in &plan.steps {
            if step.renormalise {
                self.renormalise_parent(step);
            }
            match &step.role {
                Role::Buffered { offset, message, table, column, exponents, childless } => {
                    let cells = column.map_or_else(|| block.hidden(step.node), |column| block.column(column));
                    if *childless {
                        self.products[offset * self.stride..(offset + step.n_states) * self.stride].fill(N::ONE);
                    }
                    self.apply_evidence(*offset, step.n_states, cells);
                    if let Some(exponents) = exponents {
                        self.collapse(*offset, *exponents, step.n_states);
                    }
                    self.send(step, *offset, *message, table);
                }
                Role::Leaf { column, by_state } => self.leaf(step, block.column(*column), by_state),
                Role::Emitter { terms } => {
                    let rows = step.n_parent_states * self.stride;
                    self.ln_density[..rows].fill(0.0);
                    add_ln_density(terms, block, self.stride, &mut self.ln_density[..rows]);
                    self.emit(step);
                }
            }
        }
        for row in 0..self.n_rows {
            self.ln_likelihood[row] += self.row_exponents[row] as f64 * std::f64::consts::LN_2;
        }
    }

    /// Sets the product to zero in states that the evidence excludes.
    #[inline(always)]
    fn apply_evidence(&mut self, offset: usize, n_states: usize, cells: Cells<'_>) {
        if matches!(cells, Cells::Missing) {
            return;
        }
        for row in 0..self.n_rows {
            if let Some(code) = cells.code(row) {
                for state in (0..n_states).filter(|&state| state != code) {
                    self.products[(offset + state) * self.stride + row] = N::ZERO;
                }
            }
        }
    }

    /// Hands the powers of two of the parent's product to its exponents.
    #[inline(always)]
    fn renormalise_parent(&mut self, step: &Step) {
        if !N::BOUNDED {
            return;
        }
        if let (Some(offset), Some(exponents)) = (step.parent_offset, step.parent_exponents) {
            self.renormalise(offset, exponents, step.n_parent_states);
        }
    }

    #[inline(always)]
    fn renormalise(&mut self, offset: usize, exponents: usize, n_states: usize) {
        for state in 0..n_states {
            let product = &mut self.products[(offset + state) * self.stride..][..self.n_rows];
            let exponents = &mut self.exponents[(exponents + state) * self.stride..][..self.n_rows];
            for (product, exponent) in product.iter_mut().zip(exponents) {
                let (rest, taken) = product.split();
                *product = rest;
                *exponent += taken;
            }
        }
    }

    /// Brings all states of a node to one common power of two per row, which goes to the row's likelihood.
    #[inline(always)]
    fn collapse(&mut self, offset: usize, exponents: usize, n_states: usize) {
        if !N::BOUNDED {
            return;
        }
        self.renormalise(offset, exponents, n_states);
        for row in 0..self.n_rows {
            let mut largest = i64::MIN;
            for state in 0..n_states {
                if self.products[(offset + state) * self.stride + row].to_f64() != 0.0 {
                    largest = largest.max(self.exponents[(exponents + state) * self.stride + row]);
                }
            }
            if largest == i64::MIN {
                continue;
            }
            for state in 0..n_states {
                let product = &mut self.products[(offset + state) * self.stride + row];
                *product =
                    product.shifted(self.exponents[(exponents + state) * self.stride + row].saturating_sub(largest).min(0));
            }
            self.row_exponents[row] += largest;
        }
    }

    /// Sends the message of a buffered node and multiplies it into the parent.
    #[inline(always)]
    fn send(&mut self, step: &Step, offset: usize, message: usize, table: &[f64]) {
        let (n_rows, stride) = (self.n_rows, self.stride);
        let matrix = Matrix { values: table, output_step: step.n_states, input_step: 1 };
        let is_mixed = N::mix(
            matrix,
            (step.n_parent_states, step.n_states),
            &self.products[offset * stride..(offset + step.n_states) * stride],
            &mut self.messages[message * stride..(message + step.n_parent_states) * stride],
            stride,
            n_rows,
        );
        for parent_state in 0..step.n_parent_states {
            let row = &table[parent_state * step.n_states..][..step.n_states];
            let out = &mut self.messages[(message + parent_state) * stride..][..n_rows];
            let product = |state: usize| &self.products[(offset + state) * stride..][..n_rows];
            match *row {
                _ if is_mixed => {}
                [a, b] => {
                    for ((out, x), y) in out.iter_mut().zip(product(0)).zip(product(1)) {
                        *out = x.times_f64(a).plus(y.times_f64(b));
                    }
                }
                [a, b, c] => {
                    for (((out, x), y), z) in out.iter_mut().zip(product(0)).zip(product(1)).zip(product(2)) {
                        *out = x.times_f64(a).plus(y.times_f64(b)).plus(z.times_f64(c));
                    }
                }
                _ => {
                    for (out, x) in out.iter_mut().zip(product(0)) {
                        *out = x.times_f64(row[0]);
                    }
                    for (state, &probability) in row.iter().enumerate().skip(1) {
                        for (out, x) in out.iter_mut().zip(product(state)) {
                            *out = out.plus(x.times_f64(probability));
                        }
                    }
                }
            }
            match step.parent_offset {
                Some(parent) => {
                    let target = &mut self.products[(parent + parent_state) * stride..][..n_rows];
                    let out = &self.messages[(message + parent_state) * stride..][..n_rows];
                    if step.first {
                        target.copy_from_slice(out);
                    } else {
                        for (target, out) in target.iter_mut().zip(out) {
                            *target = target.times(*out);
                        }
                    }
                }
                None => {
                    let out = &self.messages[message * stride..][..n_rows];
                    for (total, out) in self.ln_likelihood.iter_mut().zip(out) {
                        *total += out.ln();
                    }
                }
            }
        }
    }

    /// Multiplies the evidence of an observed leaf into its parent.
    #[inline(always)]
    fn leaf(&mut self, step: &Step, cells: Cells<'_>, by_state: &[f64]) {
        let parent = step.parent_offset.expect("a leaf has a parent");
        let (n_rows, stride, k) = (self.n_rows, self.stride, step.n_parent_states);
        let n_states = step.n_states;
        if let (Cells::Codes8(codes), 2) = (cells, n_states) {
            // Selecting by multiplication with exact zeros and ones keeps the loop free of branches; missing has neither.
            let (zero, one) = (&mut self.weight_of_zero[..n_rows], &mut self.weight_of_one[..n_rows]);
            let mut any_missing = false;
            for ((zero, one), &code) in zero.iter_mut().zip(one.iter_mut()).zip(codes) {
                *zero = f64::from(u8::from(code == 0));
                *one = f64::from(u8::from(code == 1));
                any_missing |= code > 1;
            }
            for parent_state in 0..k {
                let (a, b) = (by_state[parent_state], by_state[k + parent_state]);
                let target = &mut self.products[(parent + parent_state) * stride..][..n_rows];
                let weights = self.weight_of_zero[..n_rows].iter().zip(&self.weight_of_one[..n_rows]);
                if any_missing {
                    for (target, (zero, one)) in target.iter_mut().zip(weights) {
                        let value = zero * a + one * b + (1.0 - zero - one);
                        *target = if step.first { N::ONE.times_f64(value) } else { target.times_f64(value) };
                    }
                } else if step.first {
                    for (target, (zero, one)) in target.iter_mut().zip(weights) {
                        *target = N::ONE.times_f64(zero * a + one * b);
                    }
                } else {
                    for (target, (zero, one)) in target.iter_mut().zip(weights) {
                        *target = target.times_f64(zero * a + one * b);
                    }
                }
            }
            return;
        }
        if step.first {
            self.products[parent * stride..(parent + k) * stride].fill(N::ONE);
        }
        let products = &mut self.products[parent * stride..(parent + k) * stride];
        for row in 0..n_rows {
            // The last block of the table is all ones, for missing cells.
            let code = cells.code(row).unwrap_or(n_states);
            for (state, &value) in by_state[code * k..][..k].iter().enumerate() {
                let target = &mut products[state * stride + row];
                *target = target.times_f64(value);
            }
        }
    }

    /// Multiplies densities, given as logarithms, into the parent; alone at a root, adds them to the likelihood.
    #[inline(always)]
    fn emit(&mut self, step: &Step) {
        let (n_rows, stride) = (self.n_rows, self.stride);
        let Some(parent) = step.parent_offset else {
            for (total, ln) in self.ln_likelihood.iter_mut().zip(&self.ln_density[..n_rows]) {
                *total += ln;
            }
            return;
        };
        for parent_state in 0..step.n_parent_states {
            let target = &mut self.products[(parent + parent_state) * stride..][..n_rows];
            let ln = &self.ln_density[parent_state * stride..][..n_rows];
            for (row, (target, &ln)) in target.iter_mut().zip(ln).enumerate() {
                let (density, exponent) = N::from_ln(ln);
                *target = if step.first { density } else { target.times(density) };
                if let Some(exponents) = step.parent_exponents {
                    self.exponents[(exponents + parent_state) * stride + row] += exponent;
                }
            }
        }
    }

    /// The downward pass, after [`up`](Self::up): fills the posteriors of buffered nodes. In a row of likelihood zero they are
    /// zero.
    pub(crate) fn down(&mut self, plan: &Plan) {
        self.beliefs.resize(self.products.len(), N::ZERO);
        for step in plan.steps.iter().rev() {
            if let Role::Buffered { offset, message, table, .. } = &step.role {
                self.down_step(step, *offset, *message, table, None);
            }
        }
    }

    /// The downward pass with expected counts, after [`up`](Self::up): posteriors are multiplied by the rows' weights, and
    /// every node's counts are added to `counts`; see [`expectation`](super::expectation).
    pub(crate) fn down_and_count(
        &mut self,
        plan: &Plan,
        block: &EvidenceBlock<'_>,
        weights: Option<&[f64]>,
        layout: &CountLayout,
        counts: &mut [f64],
    ) {
        self.beliefs.resize(self.products.len(), N::ZERO);
        #[cfg(target_arch = "x86_64")]
        if plan.is_wide && std::arch::is_x86_feature_detected!("avx512f") {
            // SAFETY: as in `up`.
            unsafe { self.down_and_count_avx512(plan, block, weights, layout, counts) };
            return;
        }
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: as in `up`.
            unsafe { self.down_and_count_avx2(plan, block, weights, layout, counts) };
            return;
        }
        self.down_and_count_portable(plan, block, weights, layout, counts);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f")]
    fn down_and_count_avx512(
        &mut self,
        plan: &Plan,
        block: &EvidenceBlock<'_>,
        weights: Option<&[f64]>,
        layout: &CountLayout,
        counts: &mut [f64],
    ) {
        self.down_and_count_portable(plan, block, weights, layout, counts);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn down_and_count_avx2(
        &mut self,
        plan: &Plan,
        block: &EvidenceBlock<'_>,
        weights: Option<&[f64]>,
        layout: &CountLayout,
        counts: &mut [f64],
    ) {
        self.down_and_count_portable(plan, block, weights, layout, counts);
    }

    #[inline(always)]
    fn down_and_count_portable(
        &mut self,
        plan: &Plan,
        block: &EvidenceBlock<'_>,
        weights: Option<&[f64]>,
        layout: &CountLayout,
        counts: &mut [f64],
    ) {
        for step in plan.steps.iter().rev() {
            let counts = &mut counts[layout.range(step.node)];
            match &step.role {
                Role::Buffered { offset, message, table, .. } => {
                    self.down_step(step, *offset, *message, table, weights);
                    self.count_edge(step, *offset, table, counts);
                }
                Role::Leaf { column, .. } => self.count_leaf(step, block.column(*column), counts),
                Role::Emitter { terms } => {
                    let (stride, n_rows, k) = (self.stride, self.n_rows, step.n_parent_states);
                    let parent = step.parent_offset;
                    let beliefs = &self.beliefs;
                    let belief = |state: usize, row: usize| match parent {
                        Some(parent) => beliefs[(parent + state) * stride + row].to_f64(),
                        None => weights.map_or(1.0, |weights| weights[row]),
                    };
                    count_emission(terms, block, n_rows, k, layout, belief, counts);
                }
            }
        }
    }

    /// Posterior of a buffered node from its parent's; leaves the ratios of posterior and message behind.
    #[inline(always)]
    fn down_step(&mut self, step: &Step, offset: usize, message: usize, table: &[f64], weights: Option<&[f64]>) {
        let (n_rows, stride) = (self.n_rows, self.stride);
        for parent_state in 0..step.n_parent_states {
            let message = &self.messages[(message + parent_state) * stride..][..n_rows];
            let ratio = &mut self.ratios[parent_state * stride..][..n_rows];
            match (step.parent_offset, weights) {
                (Some(parent), _) => {
                    let belief = &self.beliefs[(parent + parent_state) * stride..][..n_rows];
                    for ((ratio, belief), message) in ratio.iter_mut().zip(belief).zip(message) {
                        *ratio = belief.ratio(*message);
                    }
                }
                (None, Some(weights)) => {
                    for ((ratio, weight), message) in ratio.iter_mut().zip(weights).zip(message) {
                        *ratio = N::ONE.ratio(*message).times_f64(*weight);
                    }
                }
                (None, None) => {
                    for (ratio, message) in ratio.iter_mut().zip(message) {
                        *ratio = N::ONE.ratio(*message);
                    }
                }
            }
        }
        let ratio = |parent_state: usize| &self.ratios[parent_state * stride..][..n_rows];
        let matrix = Matrix { values: table, output_step: 1, input_step: step.n_states };
        let is_mixed = N::mix(
            matrix,
            (step.n_states, step.n_parent_states),
            &self.ratios,
            &mut self.beliefs[offset * stride..(offset + step.n_states) * stride],
            stride,
            n_rows,
        );
        for state in 0..step.n_states {
            let belief = &mut self.beliefs[(offset + state) * stride..][..n_rows];
            let product = &self.products[(offset + state) * stride..][..n_rows];
            if is_mixed {
                for (belief, product) in belief.iter_mut().zip(product) {
                    *belief = product.times(*belief);
                }
                continue;
            }
            if step.n_parent_states == 2 {
                let (a, b) = (table[state], table[step.n_states + state]);
                for (((belief, product), x), y) in belief.iter_mut().zip(product).zip(ratio(0)).zip(ratio(1)) {
                    *belief = product.times(x.times_f64(a).plus(y.times_f64(b)));
                }
                continue;
            }
            for (belief, x) in belief.iter_mut().zip(ratio(0)) {
                *belief = x.times_f64(table[state]);
            }
            for parent_state in 1..step.n_parent_states {
                let probability = table[parent_state * step.n_states + state];
                for (belief, x) in belief.iter_mut().zip(ratio(parent_state)) {
                    *belief = belief.plus(x.times_f64(probability));
                }
            }
            for (belief, product) in belief.iter_mut().zip(product) {
                *belief = product.times(*belief);
            }
        }
    }

    /// Adds the expected counts of a node just visited by [`down_step`](Self::down_step): `T(s|p) Σ_rows ratio(p) · product(s)`.
    #[inline(always)]
    fn count_edge(&mut self, step: &Step, offset: usize, table: &[f64], counts: &mut [f64]) {
        let is_counted = N::correlate(
            table,
            (step.n_parent_states, step.n_states),
            [&self.ratios, &self.products[offset * self.stride..(offset + step.n_states) * self.stride]],
            (self.stride, self.n_rows),
            &mut self.turned,
            counts,
        );
        if is_counted {
            return;
        }
        for parent_state in 0..step.n_parent_states {
            let ratio = &self.ratios[parent_state * self.stride..][..self.n_rows];
            for state in 0..step.n_states {
                let at = parent_state * step.n_states + state;
                // The sum may be infinite where the probability is zero.
                if table[at] > 0.0 {
                    let product = &self.products[(offset + state) * self.stride..][..self.n_rows];
                    counts[at] += N::dot(ratio, product).times_f64(table[at]).to_f64();
                }
            }
        }
    }

    /// Adds the posteriors of the parent to the counts of what an observed leaf is; a missing cell tells nothing of its table.
    #[inline(always)]
    fn count_leaf(&mut self, step: &Step, cells: Cells<'_>, counts: &mut [f64]) {
        let parent = step.parent_offset.expect("a leaf has a parent");
        let (n_rows, stride, n_states) = (self.n_rows, self.stride, step.n_states);
        if let (Cells::Codes8(codes), 2) = (cells, n_states) {
            let (zero, one) = (&mut self.weight_of_zero[..n_rows], &mut self.weight_of_one[..n_rows]);
            for ((zero, one), &code) in zero.iter_mut().zip(one.iter_mut()).zip(codes) {
                *zero = f64::from(u8::from(code == 0));
                *one = f64::from(u8::from(code == 1));
            }
            for parent_state in 0..step.n_parent_states {
                let belief = &self.beliefs[(parent + parent_state) * stride..][..n_rows];
                counts[2 * parent_state] += N::dot_f64(belief, &self.weight_of_zero[..n_rows]);
                counts[2 * parent_state + 1] += N::dot_f64(belief, &self.weight_of_one[..n_rows]);
            }
            return;
        }
        for parent_state in 0..step.n_parent_states {
            let belief = &self.beliefs[(parent + parent_state) * stride..][..n_rows];
            let counts = &mut counts[parent_state * n_states..][..n_states];
            for (row, belief) in belief.iter().enumerate() {
                if let Some(code) = cells.code(row) {
                    counts[code] += belief.to_f64();
                }
            }
        }
    }
}

/// Position of a buffered node's array.
pub(crate) fn offset_of(plan: &Plan, node: NodeIx) -> Option<usize> {
    match plan.steps[plan.step_of[node.get()]].role {
        Role::Buffered { offset, .. } => Some(offset),
        _ => None,
    }
}
