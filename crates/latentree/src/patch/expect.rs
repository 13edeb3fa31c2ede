//! The E-step of a patch: expected counts of all rows.

use rayon::prelude::*;

use super::{CHUNK, Column, Columns, Leaf, Patch, Source};

/// Expected counts, in the layout of a patch's tables (for numbers: weight, sum and sum of squares in each state).
#[derive(Debug, Default, Clone)]
pub(crate) struct Counts {
    pub(crate) nodes: Vec<Vec<f64>>,
    pub(crate) leaves: Vec<Vec<f64>>,
    pub(crate) log_likelihood: f64,
}

impl Counts {
    fn add(&mut self, other: &Self) {
        let own = self.nodes.iter_mut().chain(&mut self.leaves).flatten();
        own.zip(other.nodes.iter().chain(&other.leaves).flatten()).for_each(|(sum, count)| *sum += count);
        self.log_likelihood += other.log_likelihood;
    }

    fn scale_by(&mut self, factor: f64) {
        self.nodes.iter_mut().chain(&mut self.leaves).flatten().for_each(|count| *count *= factor);
        self.log_likelihood *= factor;
    }
}

#[inline(always)]
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (a8, b8) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: f64 = a8.remainder().iter().zip(b8.remainder()).map(|(x, y)| x * y).sum();
    for (x, y) in a8.zip(b8) {
        for lane in 0..8 {
            sums[lane] += x[lane] * y[lane];
        }
    }
    sums.iter().sum::<f64>() + rest
}

#[inline(always)]
fn dot_soft(a: &[f64], b: &[f32]) -> f64 {
    let mut sums = [0.0; 8];
    let (a8, b8) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: f64 = a8.remainder().iter().zip(b8.remainder()).map(|(x, y)| x * f64::from(*y)).sum();
    for (x, y) in a8.zip(b8) {
        for lane in 0..8 {
            sums[lane] += x[lane] * f64::from(y[lane]);
        }
    }
    sums.iter().sum::<f64>() + rest
}

#[inline(always)]
fn sum(a: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let chunks = a.chunks_exact(8);
    let rest: f64 = chunks.remainder().iter().sum();
    for x in chunks {
        for lane in 0..8 {
            sums[lane] += x[lane];
        }
    }
    sums.iter().sum::<f64>() + rest
}

/// The sum over some positions of a chunk's array.
#[inline(always)]
fn sum_of(a: &[f64], places: &[u16]) -> f64 {
    let mut sums = [0.0; 4];
    let chunks = places.chunks_exact(4);
    let rest: f64 = chunks.remainder().iter().map(|&at| a[usize::from(at) % CHUNK]).sum();
    for places in chunks {
        for lane in 0..4 {
            sums[lane] += a[usize::from(places[lane]) % CHUNK];
        }
    }
    sums.iter().sum::<f64>() + rest
}

/// Work arrays for one chunk of rows.
pub(crate) struct Work {
    /// For each node, the evidence below it given its state.
    pub(crate) products: Vec<Vec<f64>>,
    /// For each node, its message to its parent.
    pub(crate) messages: Vec<Vec<f64>>,
    /// For each node, its weighted posteriors.
    pub(crate) beliefs: Vec<Vec<f64>>,
    /// For each leaf, the message of a soft leaf to its node.
    pub(super) soft: Vec<Vec<f64>>,
    pub(super) likelihood: Vec<f64>,
    pub(super) power: Vec<f64>,
    pub(super) scale: Vec<f64>,
    pub(super) ratio: Vec<f64>,
    /// Log-densities of a column of numbers.
    pub(super) densities: Vec<f64>,
    pub(super) base: f64,
}

impl Work {
    /// The log-likelihood of a row of the chunk.
    pub(crate) fn ln_likelihood(&self, row: usize) -> f64 {
        self.power[row].ln() + self.scale[row] + self.base
    }
}

impl Patch {
    pub(crate) fn work(&self) -> Work {
        let array = |n: usize| vec![0.0; n * CHUNK];
        Work {
            products: self.nodes.iter().map(|node| array(node.n_states)).collect(),
            messages: self.nodes.iter().map(|node| array(node.parent.map_or(0, |parent| self.nodes[parent].n_states))).collect(),
            beliefs: self.nodes.iter().map(|node| array(node.n_states)).collect(),
            soft: self
                .leaves
                .iter()
                .map(|leaf| array(if matches!(leaf.source, Source::Soft(_)) { self.nodes[leaf.at].n_states } else { 0 }))
                .collect(),
            likelihood: array(1),
            power: array(1),
            scale: array(1),
            ratio: array(1),
            densities: Vec::new(),
            base: 0.0,
        }
    }

    fn leaves_of(&self) -> Vec<Vec<usize>> {
        let mut leaves = vec![Vec::new(); self.nodes.len()];
        self.leaves.iter().enumerate().for_each(|(ix, leaf)| leaves[leaf.at].push(ix));
        leaves
    }

    fn children_of(&self) -> Vec<Vec<usize>> {
        let mut children = vec![Vec::new(); self.nodes.len()];
        self.nodes.iter().enumerate().for_each(|(ix, node)| {
            if let Some(parent) = node.parent {
                children[parent].push(ix);
            }
        });
        children
    }

    /// For columns of labels: the probabilities relative to that of the most common label, with 1 as the probability of
    /// missing cells, and the logarithms of the most common label's probabilities.
    fn prepared(&self, columns: &Columns) -> Vec<(Vec<f64>, Vec<f64>)> {
        let of_leaf = |leaf: &Leaf| {
            let Source::Column(column) = leaf.source else { return (Vec::new(), Vec::new()) };
            match &columns.columns[column] {
                Column::Labels { n_codes, usual, .. } => {
                    let rows = || leaf.values.chunks_exact(*n_codes);
                    let base = rows().map(|row| row[*usual].ln()).collect();
                    let k = self.nodes[leaf.at].n_states;
                    let mut ratios = vec![1.0; (n_codes + 1) * k];
                    for (state, row) in rows().enumerate() {
                        for code in 0..=*n_codes {
                            ratios[code * k + state] = row.get(code).unwrap_or(&1.0) / row[*usual];
                        }
                    }
                    (ratios, base)
                }
                Column::Numbers { .. } => (Vec::new(), Vec::new()),
            }
        };
        self.leaves.iter().map(of_leaf).collect()
    }

    /// Expected counts of all rows; `visit` receives the arrays of each chunk.
    pub(crate) fn expect(&self, columns: &Columns, work: &mut Work, mut visit: impl FnMut(usize, &Work)) -> Counts {
        let (leaves_of, children_of) = (self.leaves_of(), self.children_of());
        let prepared = self.prepared(columns);
        let mut counts = self.no_counts(columns);
        for chunk in 0..columns.n_chunks() {
            self.expect_chunk(columns, chunk, &prepared, (&leaves_of, &children_of), work, &mut counts);
            visit(chunk, work);
        }
        self.settle(columns, &mut counts);
        counts
    }

    /// Expected counts from every `stride`-th chunk of rows, scaled to the total weight. Chunks are distributed over a fixed
    /// number of lanes, whose sums are added in order, so the bits do not depend on the number of threads.
    pub(super) fn expect_some(&self, columns: &Columns, stride: usize, lanes: &mut [Work]) -> Counts {
        let (leaves_of, children_of) = (self.leaves_of(), self.children_of());
        let prepared = self.prepared(columns);
        let n_lanes = lanes.len();
        let of_lane = |(lane, work): (usize, &mut Work)| {
            let mut counts = self.no_counts(columns);
            for chunk in (lane * stride..columns.n_chunks()).step_by(stride * n_lanes) {
                self.expect_chunk(columns, chunk, &prepared, (&leaves_of, &children_of), work, &mut counts);
            }
            counts
        };
        let all: Vec<Counts> = match lanes {
            [work] => vec![of_lane((0, work))],
            lanes => lanes.par_iter_mut().enumerate().map(of_lane).collect(),
        };
        let mut all = all.into_iter();
        let mut counts = all.next().unwrap_or_default();
        all.for_each(|other| counts.add(&other));
        self.settle(columns, &mut counts);
        if stride > 1 {
            let seen: f64 = columns.weights.chunks(CHUNK).step_by(stride).flatten().sum();
            counts.scale_by(columns.weights.iter().sum::<f64>() / seen);
        }
        counts
    }

    fn no_counts(&self, columns: &Columns) -> Counts {
        let leaf_counts = |leaf: &Leaf| match &leaf.source {
            Source::Column(column) if !columns.columns[*column].is_discrete() => 3 * self.nodes[leaf.at].n_states,
            _ => leaf.values.len(),
        };
        Counts {
            nodes: self.nodes.iter().map(|node| vec![0.0; node.table.len()]).collect(),
            leaves: self.leaves.iter().map(|leaf| vec![0.0; leaf_counts(leaf)]).collect(),
            log_likelihood: 0.0,
        }
    }

    fn expect_chunk(
        &self,
        columns: &Columns,
        chunk: usize,
        prepared: &[(Vec<f64>, Vec<f64>)],
        near: (&[Vec<usize>], &[Vec<usize>]),
        work: &mut Work,
        counts: &mut Counts,
    ) {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor was just asked and has AVX-512. See below.
            unsafe { self.expect_chunk_avx512(columns, chunk, prepared, near, work, counts) };
            return;
        }
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor was just asked and has AVX2. The code is the same; without fused multiply-add the wider registers do not
            // change a single rounding.
            unsafe { self.expect_chunk_avx2(columns, chunk, prepared, near, work, counts) };
            return;
        }
        self.expect_chunk_portable(columns, chunk, prepared, near, work, counts);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f")]
    fn expect_chunk_avx512(
        &self,
        columns: &Columns,
        chunk: usize,
        prepared: &[(Vec<f64>, Vec<f64>)],
        near: (&[Vec<usize>], &[Vec<usize>]),
        work: &mut Work,
        counts: &mut Counts,
    ) {
        self.expect_chunk_portable(columns, chunk, prepared, near, work, counts);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn expect_chunk_avx2(
        &self,
        columns: &Columns,
        chunk: usize,
        prepared: &[(Vec<f64>, Vec<f64>)],
        near: (&[Vec<usize>], &[Vec<usize>]),
        work: &mut Work,
        counts: &mut Counts,
    ) {
        self.expect_chunk_portable(columns, chunk, prepared, near, work, counts);
    }

    #[inline(always)]
    fn expect_chunk_portable(
        &self,
        columns: &Columns,
        chunk: usize,
        prepared: &[(Vec<f64>, Vec<f64>)],
        near: (&[Vec<usize>], &[Vec<usize>]),
        work: &mut Work,
        counts: &mut Counts,
    ) {
        self.up(columns, chunk, prepared, near, work, counts);
        self.down(columns, chunk, near.0, work, counts);
    }

    #[inline(always)]
    fn down(&self, columns: &Columns, chunk: usize, leaves_of: &[Vec<usize>], work: &mut Work, counts: &mut Counts) {
        let first = chunk * CHUNK;
        let n = (columns.n_rows - first).min(CHUNK);
        for (ix, node) in self.nodes.iter().enumerate() {
            let k = node.n_states;
            let mut beliefs = std::mem::take(&mut work.beliefs[ix]);
            match node.parent {
                None => {
                    for (state, sum_of) in counts.nodes[ix].iter_mut().enumerate() {
                        *sum_of += sum(&beliefs[state * CHUNK..][..n]);
                    }
                }
                Some(parent) => {
                    let (above, own) = (&work.beliefs[parent], &work.products[ix]);
                    (0..k).for_each(|state| beliefs[state * CHUNK..][..n].fill(0.0));
                    for (up, row) in node.table.chunks_exact(k).enumerate() {
                        let (message, above) = (&work.messages[ix][up * CHUNK..][..n], &above[up * CHUNK..][..n]);
                        let ratio = &mut work.ratio[..n];
                        ratio.iter_mut().zip(above.iter().zip(message)).for_each(|(out, (a, m))| *out = a / m);
                        for (state, weight) in row.iter().enumerate() {
                            let own = &own[state * CHUNK..][..n];
                            counts.nodes[ix][up * k + state] += weight * dot(ratio, own);
                            let belief = &mut beliefs[state * CHUNK..][..n];
                            for ((belief, ratio), own) in belief.iter_mut().zip(ratio.iter()).zip(own) {
                                *belief += weight * ratio * own;
                            }
                        }
                    }
                }
            }
            for &at in &leaves_of[ix] {
                self.count_leaf(columns, chunk, at, &beliefs, work, &mut counts.leaves[at]);
            }
            work.beliefs[ix] = beliefs;
        }
    }

    #[inline(always)]
    fn count_leaf(&self, columns: &Columns, chunk: usize, at: usize, beliefs: &[f64], work: &mut Work, counts: &mut [f64]) {
        let first = chunk * CHUNK;
        let n = (columns.n_rows - first).min(CHUNK);
        let leaf = &self.leaves[at];
        let k = self.nodes[leaf.at].n_states;
        match &leaf.source {
            Source::Column(column) => match &columns.columns[*column] {
                // The cell of the most common label is computed at the end; until then, it holds the missing cells.
                Column::Labels { n_codes, usual, listed } => {
                    for (code, rows) in listed.runs(chunk) {
                        let code = if code == *n_codes { *usual } else { code };
                        for (state, beliefs) in beliefs.chunks_exact(CHUNK).take(k).enumerate() {
                            counts[state * n_codes + code] += sum_of(beliefs, rows);
                        }
                    }
                }
                Column::Numbers { values, .. } => {
                    let values = &values[first..first + n];
                    for state in 0..k {
                        let (own, beliefs) = (&mut counts[state * 3..][..3], &beliefs[state * CHUNK..][..n]);
                        for (belief, value) in beliefs.iter().zip(values).filter(|it| !it.1.is_nan()) {
                            own[0] += belief;
                            own[1] += belief * value;
                            own[2] += belief * value * value;
                        }
                    }
                }
            },
            Source::Fixed(_) | Source::Identity(_) => {}
            Source::Soft(soft) => {
                for state in 0..k {
                    let (message, beliefs) = (&work.soft[at][state * CHUNK..][..n], &beliefs[state * CHUNK..][..n]);
                    let ratio = &mut work.ratio[..n];
                    ratio.iter_mut().zip(beliefs.iter().zip(message)).for_each(|(out, (belief, m))| *out = belief / m);
                    for other in 0..soft.n_states {
                        let values = &soft.values[other * columns.n_rows + first..][..n];
                        counts[state * soft.n_states + other] +=
                            leaf.values[state * soft.n_states + other] * dot_soft(ratio, values);
                    }
                }
            }
        }
    }

    /// Computes the counts of the most common labels of sparse columns: the rest of their nodes' weight.
    fn settle(&self, columns: &Columns, counts: &mut Counts) {
        let masses: Vec<Vec<f64>> = self
            .nodes
            .iter()
            .zip(&counts.nodes)
            .map(|(node, counts)| {
                let mut mass = vec![0.0; node.n_states];
                counts.chunks_exact(node.n_states).for_each(|row| mass.iter_mut().zip(row).for_each(|(sum, own)| *sum += own));
                mass
            })
            .collect();
        for (leaf, own) in self.leaves.iter().zip(&mut counts.leaves) {
            let Source::Column(column) = leaf.source else { continue };
            let Column::Labels { n_codes, usual, .. } = &columns.columns[column] else { continue };
            for (row, mass) in own.chunks_exact_mut(*n_codes).zip(&masses[leaf.at]) {
                let (missing, all) = (row[*usual], row.iter().sum::<f64>());
                row[*usual] = (mass - (all - missing) - missing).max(0.0);
            }
        }
    }
}
