//! A small tree of hidden nodes with columns and messages of its neighbours as leaves: what one local move looks at.
//!
//! Let h be a hidden node with neighbours c. With everything beyond the neighbours fixed, the log-likelihood of all rows is, up to a constant,
//! `Σ_rows w ln Σ_h π(h) Π_leaves P(x|h) Π_c Σ_c P(c|h) m_c(c)`, where `m_c(c)` is the probability of the evidence beyond c given its state. So EM on the tables of
//! the patch alone, with the messages as leaves, climbs the likelihood of the whole model, and a gain of the patch is a gain of the model.
//!
//! Cost of a step: rows × Σ of the table cells of messages, and the listed cells of sparse columns.

use std::sync::Arc;

use super::columns::{CHUNK, Column, Columns};

/// Messages of a neighbour: for every state the values of all rows, one state after the other.
#[derive(Debug)]
pub(super) struct Soft {
    pub(super) n_states: usize,
    pub(super) values: Vec<f32>,
}

/// What hangs on a node of a patch.
#[derive(Debug, Clone)]
pub(super) enum Source {
    Column(usize),
    /// A neighbour behind a table.
    Soft(Arc<Soft>),
    /// Evidence about the node itself, which has no parameters.
    Fixed(Arc<Soft>),
    /// The node is this column.
    Identity(usize),
}

/// A hidden node: its table given its parent, or its own distribution.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) n_states: usize,
    pub(super) parent: Option<usize>,
    pub(super) table: Vec<f64>,
}

/// A leaf and its parameters: for every state of its node, probabilities, mean and variance, or a rate.
#[derive(Debug, Clone)]
pub(super) struct Leaf {
    pub(super) at: usize,
    pub(super) source: Source,
    pub(super) values: Vec<f64>,
}

/// Hidden nodes, parents before children, and their leaves.
#[derive(Debug, Clone)]
pub(super) struct Patch {
    pub(super) nodes: Vec<Node>,
    pub(super) leaves: Vec<Leaf>,
    /// Logarithms of what other states of the only node add to each row's likelihood, and their prior probability; they stay as they are.
    pub(super) background: Option<(Arc<Vec<f64>>, f64)>,
}

/// Expected counts, in the layout of a patch's tables (of numbers: weight, sum and sum of squares in each state).
#[derive(Debug, Default, Clone)]
pub(super) struct Counts {
    pub(super) nodes: Vec<Vec<f64>>,
    pub(super) leaves: Vec<Vec<f64>>,
    pub(super) log_likelihood: f64,
}

/// How tables are kept away from zero.
#[derive(Debug, Clone, Copy)]
pub(super) struct Floors {
    pub(super) pseudo_count: f64,
    pub(super) variance: f64,
    pub(super) rate: f64,
}

/// Products of dense leaves between two rescalings.
const RESCALE: usize = 12;

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
pub(super) struct Work {
    /// By node: evidence below it given its state.
    pub(super) products: Vec<Vec<f64>>,
    /// By node: its message to its parent.
    pub(super) messages: Vec<Vec<f64>>,
    /// By node: weighted posteriors.
    pub(super) beliefs: Vec<Vec<f64>>,
    /// By leaf: the message of a soft leaf to its node.
    soft: Vec<Vec<f64>>,
    likelihood: Vec<f64>,
    power: Vec<f64>,
    scale: Vec<f64>,
    ratio: Vec<f64>,
    base: f64,
}

impl Work {
    /// The log-likelihood of a row of the chunk.
    pub(super) fn ln_likelihood(&self, row: usize) -> f64 {
        self.power[row].ln() + self.scale[row] + self.base
    }
}

impl Patch {
    /// Free parameters.
    pub(super) fn n_free(&self, columns: &Columns) -> usize {
        let nodes: usize =
            self.nodes.iter().map(|node| node.parent.map_or(1, |parent| self.nodes[parent].n_states) * (node.n_states - 1)).sum();
        let leaf = |leaf: &Leaf| {
            self.nodes[leaf.at].n_states
                * match &leaf.source {
                    Source::Column(column) => columns.columns[*column].n_free(),
                    Source::Soft(soft) => soft.n_states - 1,
                    Source::Fixed(_) | Source::Identity(_) => 0,
                }
        };
        nodes + self.leaves.iter().map(leaf).sum::<usize>()
    }

    pub(super) fn work(&self) -> Work {
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
            ratio: Vec::new(),
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
    pub(super) fn expect(&self, columns: &Columns, work: &mut Work, mut visit: impl FnMut(usize, &Work)) -> Counts {
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
            self.up(columns, chunk, &prepared, (&leaves_of, &children_of), work, &mut counts);
            self.down(columns, chunk, &leaves_of, work, &mut counts);
            visit(chunk, work);
        }
        self.settle(columns, &mut counts);
        counts
    }

    fn up(
        &self,
        columns: &Columns,
        chunk: usize,
        prepared: &[(Vec<f64>, Vec<f64>)],
        (leaves_of, children_of): (&[Vec<usize>], &[Vec<usize>]),
        work: &mut Work,
        counts: &mut Counts,
    ) {
        let first = chunk * CHUNK;
        let n = (columns.n_rows - first).min(CHUNK);
        work.power[..n].fill(1.0);
        work.scale[..n].fill(0.0);
        let mut base_scale = 0.0;
        for (ix, node) in self.nodes.iter().enumerate().rev() {
            let k = node.n_states;
            let mut own = std::mem::take(&mut work.products[ix]);
            (0..k).for_each(|state| own[state * CHUNK..][..n].fill(1.0));
            let mut base = vec![0.0; k];
            let (mut n_products, mut n_listed) = (0, 0);
            for &at in &leaves_of[ix] {
                let leaf = &self.leaves[at];
                match &leaf.source {
                    Source::Column(column) => match &columns.columns[*column] {
                        Column::Sparse { starts, rows, codes, .. } => {
                            let (ratios, ln_usual) = &prepared[at];
                            base.iter_mut().zip(ln_usual).for_each(|(sum, ln)| *sum += ln);
                            let range = starts[chunk]..starts[chunk + 1];
                            for (&row, &code) in rows[range.clone()].iter().zip(&codes[range]) {
                                let row = row as usize - first;
                                for (state, ratio) in ratios[usize::from(code) * k..][..k].iter().enumerate() {
                                    own[state * CHUNK + row] *= ratio;
                                }
                            }
                            n_listed += 1;
                            n_products += usize::from(n_listed % 8 == 0);
                        }
                        Column::Dense { n_codes, codes } => {
                            let (table, codes) = (&prepared[at].0, &codes[first..first + n]);
                            for state in 0..k {
                                let row = &table[state * (n_codes + 1)..][..n_codes + 1];
                                let own = &mut own[state * CHUNK..][..n];
                                own.iter_mut().zip(codes).for_each(|(own, &code)| *own *= row[usize::from(code)]);
                            }
                            n_products += 1;
                        }
                        Column::Numbers { is_count, values, .. } => {
                            multiply_density(*is_count, &leaf.values, &values[first..first + n], k, &mut own, &mut work.scale);
                            n_products += 1;
                        }
                    },
                    Source::Soft(soft) => {
                        let message = &mut work.soft[at];
                        for state in 0..k {
                            let row = &leaf.values[state * soft.n_states..][..soft.n_states];
                            let message = &mut message[state * CHUNK..][..n];
                            message.fill(0.0);
                            for (other, weight) in row.iter().enumerate() {
                                let values = &soft.values[other * columns.n_rows + first..][..n];
                                message.iter_mut().zip(values).for_each(|(sum, value)| *sum += weight * f64::from(*value));
                            }
                            let own = &mut own[state * CHUNK..][..n];
                            own.iter_mut().zip(message.iter()).for_each(|(own, value)| *own *= value);
                        }
                        n_products += 1;
                    }
                    Source::Identity(column) => observe(&columns.columns[*column], chunk, k, n, &mut own),
                    Source::Fixed(soft) => {
                        for state in 0..k {
                            let values = &soft.values[state * columns.n_rows + first..][..n];
                            let own = &mut own[state * CHUNK..][..n];
                            own.iter_mut().zip(values).for_each(|(own, value)| *own *= f64::from(*value));
                        }
                        n_products += 1;
                    }
                }
                if n_products >= RESCALE {
                    rescale(&mut own, k, n, &mut work.power, &mut work.scale);
                    n_products = 0;
                }
            }
            for &child in &children_of[ix] {
                let message = &work.messages[child];
                for state in 0..k {
                    let own = &mut own[state * CHUNK..][..n];
                    own.iter_mut().zip(&message[state * CHUNK..][..n]).for_each(|(own, value)| *own *= value);
                }
                n_products += 1;
                if n_products >= RESCALE {
                    rescale(&mut own, k, n, &mut work.power, &mut work.scale);
                    n_products = 0;
                }
            }
            if n_listed > 0 {
                let largest = base.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                base_scale += largest;
                for (state, ln) in base.iter().enumerate() {
                    let factor = (ln - largest).exp();
                    own[state * CHUNK..][..n].iter_mut().for_each(|own| *own *= factor);
                }
            }
            rescale(&mut own, k, n, &mut work.power, &mut work.scale);
            if let Some(parent) = node.parent {
                let message = &mut work.messages[ix];
                for (above, row) in node.table.chunks_exact(k).enumerate() {
                    let message = &mut message[above * CHUNK..][..n];
                    message.fill(0.0);
                    for (state, weight) in row.iter().enumerate() {
                        let own = &own[state * CHUNK..][..n];
                        message.iter_mut().zip(own).for_each(|(sum, value)| *sum += weight * value);
                    }
                }
                debug_assert!(parent < ix);
            } else {
                // The likelihood of this tree of the patch; posteriors of its root come with it.
                let likelihood = &mut work.likelihood[..n];
                likelihood.fill(0.0);
                for (state, weight) in node.table.iter().enumerate() {
                    let own = &own[state * CHUNK..][..n];
                    likelihood.iter_mut().zip(own).for_each(|(sum, value)| *sum += weight * value);
                }
                if let Some((background, _)) = &self.background {
                    let others = background[first..first + n].iter().zip(&work.scale).zip(&work.power);
                    for (sum, ((ln, scale), power)) in likelihood.iter_mut().zip(others) {
                        *sum += (ln - scale - base_scale).min(600.0).exp() / power;
                    }
                }
                let belief = &mut work.beliefs[ix];
                let weights = &columns.weights[first..first + n];
                for (state, prior) in node.table.iter().enumerate() {
                    let (own, belief) = (&own[state * CHUNK..][..n], &mut belief[state * CHUNK..][..n]);
                    for (row, out) in belief.iter_mut().enumerate() {
                        *out = weights[row] * prior * own[row] / likelihood[row];
                    }
                }
                work.power[..n].iter_mut().zip(likelihood.iter()).for_each(|(power, value)| *power *= value);
                settle_power(n, &mut work.power, &mut work.scale);
            }
            work.products[ix] = own;
        }
        let weights = &columns.weights[first..first + n];
        work.base = base_scale;
        let rows = weights.iter().zip(&work.power).zip(&work.scale);
        counts.log_likelihood += rows.map(|((weight, power), scale)| weight * (power.ln() + scale + base_scale)).sum::<f64>();
    }

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
                    work.ratio.resize(CHUNK, 0.0);
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
                work.ratio.resize(CHUNK, 0.0);
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

    /// Sets all parameters to what the counts ask for.
    pub(super) fn maximise(&mut self, counts: &Counts, columns: &Columns, floors: &Floors) {
        for (node, counts) in self.nodes.iter_mut().zip(&counts.nodes) {
            normalise(counts, node.n_states, floors.pseudo_count, &mut node.table);
            if let Some((_, prior)) = self.background {
                node.table.iter_mut().for_each(|cell| *cell *= 1.0 - prior);
            }
        }
        for (leaf, counts) in self.leaves.iter_mut().zip(&counts.leaves) {
            match &leaf.source {
                Source::Fixed(_) | Source::Identity(_) => {}
                Source::Soft(soft) => normalise(counts, soft.n_states, floors.pseudo_count, &mut leaf.values),
                Source::Column(column) => {
                    let column = &columns.columns[*column];
                    match column {
                        Column::Numbers { is_count, mean, variance, .. } => {
                            maximise_number(*is_count, *mean, *variance, counts, floors, &mut leaf.values);
                        }
                        _ => normalise(counts, column.width(), floors.pseudo_count, &mut leaf.values),
                    }
                }
            }
        }
    }

    /// Steps of EM until a step gains less than `least`, and the log-likelihood before the last of them.
    pub(super) fn climb(&mut self, columns: &Columns, floors: &Floors, steps: usize, least: f64) -> f64 {
        let mut work = self.work();
        let mut last = f64::NEG_INFINITY;
        for _ in 0..steps {
            let counts = self.expect(columns, &mut work, |_, _| {});
            let gain = counts.log_likelihood - last;
            if !counts.log_likelihood.is_finite() {
                return f64::NEG_INFINITY;
            }
            last = counts.log_likelihood;
            self.maximise(&counts, columns, floors);
            if gain < least {
                break;
            }
        }
        last
    }
}

/// Sets the states of a node that is a column to zero where the column has another label.
fn observe(column: &Column, chunk: usize, k: usize, n: usize, own: &mut [f64]) {
    let first = chunk * CHUNK;
    let mut keep = |row: usize, code: usize| {
        if code < k {
            (0..k).filter(|&state| state != code).for_each(|state| own[state * CHUNK + row] = 0.0);
        }
    };
    match column {
        Column::Dense { codes, .. } => {
            codes[first..first + n].iter().enumerate().for_each(|(row, &code)| keep(row, usize::from(code)))
        }
        Column::Sparse { usual, starts, rows, codes, .. } => {
            let range = starts[chunk]..starts[chunk + 1];
            let mut listed = rows[range.clone()].iter().zip(&codes[range]).peekable();
            for row in 0..n {
                let code = match listed.peek() {
                    Some((at, code)) if **at as usize == first + row => {
                        let code = usize::from(**code);
                        listed.next();
                        code
                    }
                    _ => *usual,
                };
                keep(row, code);
            }
        }
        Column::Numbers { .. } => {}
    }
}

fn normalise(counts: &[f64], n: usize, pseudo_count: f64, out: &mut [f64]) {
    let pseudo_count = pseudo_count.max(1e-9);
    for (counts, out) in counts.chunks_exact(n).zip(out.chunks_exact_mut(n)) {
        let total: f64 = counts.iter().map(|count| count.max(0.0) + pseudo_count).sum();
        out.iter_mut().zip(counts).for_each(|(out, count)| *out = (count.max(0.0) + pseudo_count) / total);
    }
}

fn maximise_number(is_count: bool, mean: f64, variance: f64, counts: &[f64], floors: &Floors, out: &mut [f64]) {
    for (state, sums) in counts.chunks_exact(3).enumerate() {
        let [n, x, xx] = [sums[0], sums[1], sums[2]];
        if is_count {
            let least = (floors.rate * mean).max(1e-12);
            out[state] = if n > 1e-6 { (x / n).max(least) } else { mean.max(least) };
        } else {
            let own = if n > 1e-6 { x / n } else { 0.0 };
            let spread = if n > 1e-6 { xx / n - own * own } else { variance };
            out[2 * state] = own;
            out[2 * state + 1] = spread.max(floors.variance * variance);
        }
    }
}

/// Multiplies by densities relative to the largest of a row's states, whose logarithm goes to the scale.
fn multiply_density(is_count: bool, values: &[f64], cells: &[f64], k: usize, own: &mut [f64], scale: &mut [f64]) {
    let mut lns = vec![0.0; k];
    for (row, &cell) in cells.iter().enumerate() {
        if cell.is_nan() {
            continue;
        }
        for (state, ln) in lns.iter_mut().enumerate() {
            *ln = if is_count {
                let rate = values[state];
                cell * rate.ln() - rate
            } else {
                let (mean, variance) = (values[2 * state], values[2 * state + 1]);
                -0.5 * ((cell - mean) * (cell - mean) / variance + variance.ln() + (2.0 * std::f64::consts::PI).ln())
            };
        }
        let largest = lns.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        scale[row] += largest;
        lns.iter().enumerate().for_each(|(state, ln)| own[state * CHUNK + row] *= (ln - largest).exp().max(1e-300));
    }
}

/// Makes every row's largest value one.
fn rescale(own: &mut [f64], k: usize, n: usize, power: &mut [f64], scale: &mut [f64]) {
    for row in 0..n {
        let largest = (0..k).map(|state| own[state * CHUNK + row]).fold(0.0, f64::max);
        if largest > 0.0 && largest.is_finite() {
            let factor = 1.0 / largest;
            (0..k).for_each(|state| own[state * CHUNK + row] *= factor);
            power[row] *= largest;
        } else {
            // Out of range: the row says nothing here, and costs what it may.
            (0..k).for_each(|state| own[state * CHUNK + row] = 1.0);
            scale[row] -= 700.0;
        }
    }
    settle_power(n, power, scale);
}

/// Takes powers that are near the end of the range into the logarithms.
fn settle_power(n: usize, power: &mut [f64], scale: &mut [f64]) {
    for (power, scale) in power[..n].iter_mut().zip(scale) {
        if !(1e-100..1e100).contains(power) {
            *scale += power.ln();
            *power = 1.0;
        }
    }
}
