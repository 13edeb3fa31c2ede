//! The upward pass of a patch over one chunk of rows: the evidence below each node given its state, and the likelihood of
//! each row.

use super::exp::exp_negative;
use super::{CHUNK, Column, Columns, Counts, Patch, Source, Work};

/// Number of leaf factors between two rescalings.
const RESCALE: usize = 12;
/// A column with at most one listed row in this many counts as only this fraction of a factor.
const RARE: usize = 8;

impl Patch {
    #[inline(always)]
    pub(super) fn up(
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
            // Log-probabilities of the most common labels, which the products do not include yet.
            let mut base = vec![0.0; k];
            let (mut n_products, mut n_rare, mut has_base) = (0, 0, false);
            for &at in &leaves_of[ix] {
                let leaf = &self.leaves[at];
                match &leaf.source {
                    Source::Column(column) => match &columns.columns[*column] {
                        Column::Labels { listed, .. } => {
                            let (ratios, ln_usual) = &prepared[at];
                            base.iter_mut().zip(ln_usual).for_each(|(sum, ln)| *sum += ln);
                            for (code, rows) in listed.runs(chunk) {
                                for (own, ratio) in own.chunks_exact_mut(CHUNK).zip(&ratios[code * k..][..k]) {
                                    rows.iter().for_each(|&row| own[usize::from(row) % CHUNK] *= ratio);
                                }
                            }
                            has_base = true;
                            n_rare += 1;
                            let is_dense = listed.n_rows(chunk) * RARE > n;
                            n_products += usize::from(is_dense || n_rare % RARE == 0);
                        }
                        Column::Numbers { is_count, values, .. } => {
                            multiply_density(*is_count, &leaf.values, &values[first..first + n], k, &mut own, work);
                            n_products += 1;
                        }
                    },
                    Source::Soft(soft) => {
                        let message = &mut work.soft[at];
                        for state in 0..k {
                            let row = &leaf.values[state * soft.n_states..][..soft.n_states];
                            let message = &mut message[state * CHUNK..][..n];
                            mix(row, |other| &soft.values[other * columns.n_rows + first..][..n], message);
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
                    if has_base {
                        base_scale += settle_base(&mut base, n, &mut own);
                    }
                    rescale(&mut own, k, n, work);
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
                    rescale(&mut own, k, n, work);
                    n_products = 0;
                }
            }
            if has_base {
                base_scale += settle_base(&mut base, n, &mut own);
            }
            rescale(&mut own, k, n, work);
            if let Some(parent) = node.parent {
                let message = &mut work.messages[ix];
                for (above, row) in node.table.chunks_exact(k).enumerate() {
                    mix(row, |state| &own[state * CHUNK..][..n], &mut message[above * CHUNK..][..n]);
                }
                debug_assert!(parent < ix);
            } else {
                // The likelihood of this tree of the patch, and the posteriors of its root.
                let likelihood = &mut work.likelihood[..n];
                mix(&node.table, |state| &own[state * CHUNK..][..n], likelihood);
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
                settle_power(&mut work.power[..n], &mut work.scale[..n]);
            }
            work.products[ix] = own;
        }
        let weights = &columns.weights[first..first + n];
        work.base = base_scale;
        let rows = weights.iter().zip(&work.power).zip(&work.scale);
        counts.log_likelihood += rows.map(|((weight, power), scale)| weight * (power.ln() + scale + base_scale)).sum::<f64>();
    }
}

/// The weighted sum of arrays, two at a time, so that the sum is stored half as often.
#[inline(always)]
fn mix<'a, N: Copy + Into<f64> + 'a>(weights: &[f64], array: impl Fn(usize) -> &'a [N], out: &mut [f64]) {
    let mut at = 0;
    while at < weights.len() {
        let (a, first) = (weights[at], array(at));
        let is_first = at == 0;
        if let Some(&b) = weights.get(at + 1) {
            let pairs = first.iter().zip(array(at + 1));
            if is_first {
                out.iter_mut().zip(pairs).for_each(|(sum, (&x, &y))| *sum = a * x.into() + b * y.into());
            } else {
                out.iter_mut().zip(pairs).for_each(|(sum, (&x, &y))| *sum += a * x.into() + b * y.into());
            }
            at += 2;
        } else {
            if is_first {
                out.iter_mut().zip(first).for_each(|(sum, &x)| *sum = a * x.into());
            } else {
                out.iter_mut().zip(first).for_each(|(sum, &x)| *sum += a * x.into());
            }
            at += 1;
        }
    }
}

/// Zeroes the states of a node that represents a column where the column has another label.
fn observe(column: &Column, chunk: usize, k: usize, n: usize, own: &mut [f64]) {
    let mut keep = |row: usize, code: usize| {
        if code < k {
            (0..k).filter(|&state| state != code).for_each(|state| own[state * CHUNK + row] = 0.0);
        }
    };
    match column {
        Column::Labels { usual, listed, .. } => {
            let mut codes = [*usual; CHUNK];
            listed.runs(chunk).for_each(|(code, rows)| rows.iter().for_each(|&row| codes[usize::from(row)] = code));
            codes[..n].iter().enumerate().for_each(|(row, &code)| keep(row, code));
        }
        Column::Numbers { .. } => {}
    }
}

/// Multiplies by densities relative to the largest over the states of a row; the logarithm of the largest is added to the
/// scale.
#[inline(always)]
fn multiply_density(is_count: bool, values: &[f64], cells: &[f64], k: usize, own: &mut [f64], work: &mut Work) {
    let n = cells.len();
    work.densities.resize(k * CHUNK, 0.0);
    let largest = &mut work.ratio[..n];
    largest.fill(f64::NEG_INFINITY);
    for (state, lns) in work.densities.chunks_exact_mut(CHUNK).enumerate() {
        // A missing cell has density 1.
        let known = |cell: f64, ln: f64| if cell.is_nan() { 0.0 } else { ln };
        if is_count {
            let (rate, ln_rate) = (values[state], values[state].ln());
            lns.iter_mut().zip(cells).for_each(|(ln, &cell)| *ln = known(cell, cell * ln_rate - rate));
        } else {
            let (mean, variance) = (values[2 * state], values[2 * state + 1]);
            let (factor, constant) = (-0.5 / variance, -0.5 * (variance.ln() + (2.0 * std::f64::consts::PI).ln()));
            let density = |cell: f64| constant + factor * (cell - mean) * (cell - mean);
            lns.iter_mut().zip(cells).for_each(|(ln, &cell)| *ln = known(cell, density(cell)));
        }
        largest.iter_mut().zip(lns).for_each(|(largest, &mut ln)| *largest = if ln > *largest { ln } else { *largest });
    }
    work.scale.iter_mut().zip(largest.iter()).for_each(|(scale, largest)| *scale += largest);
    for (own, lns) in own.chunks_exact_mut(CHUNK).zip(work.densities.chunks_exact(CHUNK)) {
        let cells = own[..n].iter_mut().zip(lns).zip(largest.iter());
        cells.for_each(|((own, ln), largest)| *own *= exp_negative(ln - largest));
    }
}

/// Multiplies by the probabilities missing from the products, relative to the largest, and returns the logarithm of the
/// largest.
#[inline(always)]
fn settle_base(base: &mut [f64], n: usize, own: &mut [f64]) -> f64 {
    let largest = base.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    for (own, ln) in own.chunks_exact_mut(CHUNK).zip(base) {
        let factor = (*ln - largest).exp();
        own[..n].iter_mut().for_each(|own| *own *= factor);
        *ln = 0.0;
    }
    largest
}

/// Rescales each row so that its largest value is 1.
#[inline(always)]
fn rescale(own: &mut [f64], k: usize, n: usize, work: &mut Work) {
    let largest = &mut work.ratio[..n];
    largest.copy_from_slice(&own[..n]);
    for state in 1..k {
        let values = &own[state * CHUNK..][..n];
        largest.iter_mut().zip(values).for_each(|(largest, &value)| *largest = if value > *largest { value } else { *largest });
    }
    if !largest.iter().fold(true, |is_in, &value| is_in & (value > 0.0) & (value < f64::INFINITY)) {
        for (row, largest) in largest.iter_mut().enumerate().filter(|(_, value)| !(**value > 0.0 && value.is_finite())) {
            // Out of range: the row becomes uninformative here, at the maximum penalty.
            (0..k).for_each(|state| own[state * CHUNK + row] = 1.0);
            work.scale[row] -= 700.0;
            *largest = 1.0;
        }
    }
    for (power, largest) in work.power.iter_mut().zip(largest.iter_mut()) {
        *power *= *largest;
        *largest = 1.0 / *largest;
    }
    for state in 0..k {
        own[state * CHUNK..][..n].iter_mut().zip(largest.iter()).for_each(|(own, factor)| *own *= factor);
    }
    settle_power(&mut work.power[..n], &mut work.scale[..n]);
}

/// Moves powers close to the limits of the range into the logarithms.
#[inline(always)]
fn settle_power(power: &mut [f64], scale: &mut [f64]) {
    const RANGE: std::ops::Range<f64> = 1e-100..1e100;
    if power.iter().fold(true, |is_in, value| is_in & (*value >= RANGE.start) & (*value < RANGE.end)) {
        return;
    }
    for (power, scale) in power.iter_mut().zip(scale).filter(|(power, _)| !RANGE.contains(*power)) {
        *scale += power.ln();
        *power = 1.0;
    }
}
