//! The E-step of a patch: expected counts of all rows.

use super::{CHUNK, Column, Columns, Leaf, Patch, Source};

/// Expected counts, in the layout of a patch's tables (of numbers: weight, sum and sum of squares in each state).
#[derive(Debug, Default, Clone)]
pub(crate) struct Counts {
    pub(crate) nodes: Vec<Vec<f64>>,
    pub(crate) leaves: Vec<Vec<f64>>,
    pub(crate) log_likelihood: f64,
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

/// The arrays of one chunk of rows.
pub(crate) struct Work {
    /// By node: evidence below it given its state.
    pub(crate) products: Vec<Vec<f64>>,
    /// By node: its message to its parent.
    pub(crate) messages: Vec<Vec<f64>>,
    /// By node: weighted posteriors.
    pub(crate) beliefs: Vec<Vec<f64>>,
    /// By leaf: the message of a soft leaf to its node.
    pub(super) soft: Vec<Vec<f64>>,
    pub(super) likelihood: Vec<f64>,
    pub(super) power: Vec<f64>,
    pub(super) scale: Vec<f64>,
    pub(super) ratio: Vec<f64>,
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

    /// Tables with a cell of one for missing labels; for sparse columns relative to the usual label, with the logarithms of that one.
    fn prepared(&self, columns: &Columns) -> Vec<(Vec<f64>, Vec<f64>)> {
        let of_leaf = |leaf: &Leaf| {
            let Source::Column(column) = leaf.source else { return (Vec::new(), Vec::new()) };
            match &columns.columns[column] {
                Column::Dense { n_codes, .. } => {
                    let rows = leaf.values.chunks_exact(*n_codes);
                    (rows.flat_map(|row| row.iter().copied().chain([1.0])).collect(), Vec::new())
                }
                Column::Sparse { n_codes, usual, .. } => {
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

    /// Expected counts of all rows; `visit` sees every chunk's arrays.
    pub(crate) fn expect(&self, columns: &Columns, work: &mut Work, mut visit: impl FnMut(usize, &Work)) -> Counts {
        let (leaves_of, children_of) = (self.leaves_of(), self.children_of());
        let prepared = self.prepared(columns);
        let leaf_counts = |leaf: &Leaf| match &leaf.source {
            Source::Column(column) if !columns.columns[*column].is_discrete() => 3 * self.nodes[leaf.at].n_states,
            _ => leaf.values.len(),
        };
        let mut counts = Counts {
            nodes: self.nodes.iter().map(|node| vec![0.0; node.table.len()]).collect(),
            leaves: self.leaves.iter().map(|leaf| vec![0.0; leaf_counts(leaf)]).collect(),
            log_likelihood: 0.0,
        };
        for chunk in 0..columns.n_chunks() {
            self.expect_chunk(columns, chunk, &prepared, (&leaves_of, &children_of), work, &mut counts);
            visit(chunk, work);
        }
        self.settle(columns, &mut counts);
        counts
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
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor was just asked and has AVX2. The code is the same; without fused multiply-add the wider registers do not
            // change a single rounding.
            unsafe { self.expect_chunk_avx2(columns, chunk, prepared, near, work, counts) };
            return;
        }
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
                // The usual label is settled at the end; until then its cell holds the missing ones.
                Column::Sparse { n_codes, usual, starts, rows, codes } => {
                    let range = starts[chunk]..starts[chunk + 1];
                    for (&row, &code) in rows[range.clone()].iter().zip(&codes[range]) {
                        let (row, code) = (row as usize - first, usize::from(code));
                        let code = if code == *n_codes { *usual } else { code };
                        for state in 0..k {
                            counts[state * n_codes + code] += beliefs[state * CHUNK + row];
                        }
                    }
                }
                Column::Dense { n_codes, codes } => {
                    let codes = &codes[first..first + n];
                    for state in 0..k {
                        let (own, beliefs) = (&mut counts[state * n_codes..][..*n_codes], &beliefs[state * CHUNK..][..n]);
                        for (belief, &code) in beliefs.iter().zip(codes) {
                            if let Some(cell) = own.get_mut(usize::from(code)) {
                                *cell += belief;
                            }
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

    /// Usual labels of sparse columns: what is left of their nodes' weight.
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
            let Column::Sparse { n_codes, usual, .. } = &columns.columns[column] else { continue };
            for (row, mass) in own.chunks_exact_mut(*n_codes).zip(&masses[leaf.at]) {
                let (missing, all) = (row[*usual], row.iter().sum::<f64>());
                row[*usual] = (mass - (all - missing) - missing).max(0.0);
            }
        }
    }
}
