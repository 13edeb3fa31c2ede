//! The inner loops of message passing between nodes of many states: small matrix products over a block of rows.
//!
//! Arrays have one run of `stride` rows per state. A tile of four states by eight rows stays in registers while the sum runs over
//! the other node's states, in their order, so that a sum has the same bits whatever the width of the registers. Whole tiles of
//! rows are worked on: `stride` is a multiple of eight, and what is in the rows beyond the last is never read.

/// States of a tile.
const STATES: usize = 4;
/// Rows of a tile.
const ROWS: usize = 8;

/// Fewest states on both sides for which tiles pay.
pub(super) const MIN_STATES: usize = 4;

/// Rows of eight from an array.
#[inline(always)]
fn eight(values: &[f64], at: usize) -> [f64; ROWS] {
    *values[at..].first_chunk::<ROWS>().expect("arrays have whole tiles of rows")
}

/// A matrix within an array: where it steps to for its next output and for its next input.
#[derive(Debug, Clone, Copy)]
pub(super) struct Matrix<'a> {
    pub(super) values: &'a [f64],
    pub(super) output_step: usize,
    pub(super) input_step: usize,
}

/// `output[i] = Σ_j matrix(i, j) · input[j]` in every row.
#[inline(always)]
pub(super) fn mix(
    matrix: Matrix<'_>,
    (n_outputs, n_inputs): (usize, usize),
    input: &[f64],
    output: &mut [f64],
    stride: usize,
    n_rows: usize,
) {
    for row in (0..n_rows).step_by(ROWS) {
        let mut first = 0;
        while first + STATES <= n_outputs {
            mix_tile::<STATES>(matrix, first, n_inputs, input, output, stride, row);
            first += STATES;
        }
        for single in first..n_outputs {
            mix_tile::<1>(matrix, single, n_inputs, input, output, stride, row);
        }
    }
}

#[inline(always)]
fn mix_tile<const N: usize>(
    matrix: Matrix<'_>,
    first: usize,
    n_inputs: usize,
    input: &[f64],
    output: &mut [f64],
    stride: usize,
    row: usize,
) {
    let mut sums = [[0.0; ROWS]; N];
    for j in 0..n_inputs {
        let values = eight(input, j * stride + row);
        for (i, sums) in sums.iter_mut().enumerate() {
            let factor = matrix.values[(first + i) * matrix.output_step + j * matrix.input_step];
            for lane in 0..ROWS {
                sums[lane] += factor * values[lane];
            }
        }
    }
    for (i, sums) in sums.iter().enumerate() {
        output[(first + i) * stride + row..][..ROWS].copy_from_slice(sums);
    }
}

/// `turned[row · width + state] = values[state · stride + row]`, with zeros up to `width` states.
#[inline(always)]
pub(super) fn turn(values: &[f64], n_states: usize, width: usize, stride: usize, n_rows: usize, turned: &mut [f64]) {
    for (row, turned) in turned.chunks_exact_mut(width).take(n_rows).enumerate() {
        for (state, turned) in turned.iter_mut().enumerate() {
            *turned = if state < n_states { values[state * stride + row] } else { 0.0 };
        }
    }
}

/// `counts[i · n_b + j] += table[i · n_b + j] · Σ_rows a[i] · b[j]`, with `b` [turned](turn) to a width of whole tiles.
#[inline(always)]
pub(super) fn correlate(
    table: &[f64],
    (n_a, n_b): (usize, usize),
    a: &[f64],
    turned: &[f64],
    stride: usize,
    n_rows: usize,
    counts: &mut [f64],
) {
    let width = padded(n_b);
    for j in (0..n_b).step_by(ROWS) {
        let mut first = 0;
        while first + STATES <= n_a {
            correlate_tile::<STATES>(table, first, j, n_b, a, turned, width, stride, n_rows, counts);
            first += STATES;
        }
        for single in first..n_a {
            correlate_tile::<1>(table, single, j, n_b, a, turned, width, stride, n_rows, counts);
        }
    }
}

#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "an inner loop's state")]
fn correlate_tile<const N: usize>(
    table: &[f64],
    first: usize,
    j: usize,
    n_b: usize,
    a: &[f64],
    turned: &[f64],
    width: usize,
    stride: usize,
    n_rows: usize,
    counts: &mut [f64],
) {
    let mut sums = [[0.0; ROWS]; N];
    for row in 0..n_rows {
        let values = eight(turned, row * width + j);
        for (i, sums) in sums.iter_mut().enumerate() {
            let factor = a[(first + i) * stride + row];
            for lane in 0..ROWS {
                sums[lane] += factor * values[lane];
            }
        }
    }
    let n = ROWS.min(n_b - j);
    for (i, sums) in sums.iter().enumerate() {
        let at = (first + i) * n_b + j;
        for ((count, &probability), sum) in counts[at..][..n].iter_mut().zip(&table[at..][..n]).zip(sums) {
            // The sum may be infinite where the probability is zero.
            if probability > 0.0 {
                *count += sum * probability;
            }
        }
    }
}

/// A number of states rounded up to whole tiles.
pub(super) fn padded(n_states: usize) -> usize {
    n_states.next_multiple_of(ROWS)
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    #[test]
    fn tiles_give_the_sums_of_plain_loops() {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        for (n_a, n_b, n_rows) in [(4, 4, 1), (5, 9, 7), (8, 16, 24), (13, 6, 19)] {
            let stride = 24;
            let mut draw = |n: usize| (0..n).map(|_| rng.random_range(0.0..1.0)).collect::<Vec<f64>>();
            let (a, b, table) = (draw(n_a * stride), draw(n_b * stride), draw(n_a * n_b));
            let mut out = vec![0.0; n_a * stride];
            mix(Matrix { values: &table, output_step: n_b, input_step: 1 }, (n_a, n_b), &b, &mut out, stride, n_rows);
            let mut turned = vec![0.0; padded(n_b) * stride];
            turn(&b, n_b, padded(n_b), stride, n_rows, &mut turned);
            let mut counts = vec![1.0; n_a * n_b];
            correlate(&table, (n_a, n_b), &a, &turned, stride, n_rows, &mut counts);
            for i in 0..n_a {
                for row in 0..n_rows {
                    let sum: f64 = (0..n_b).map(|j| table[i * n_b + j] * b[j * stride + row]).sum();
                    assert!((out[i * stride + row] - sum).abs() < 1e-12);
                }
                for j in 0..n_b {
                    let sum: f64 = (0..n_rows).map(|row| a[i * stride + row] * b[j * stride + row]).sum();
                    assert!((counts[i * n_b + j] - 1.0 - table[i * n_b + j] * sum).abs() < 1e-12);
                }
            }
        }
    }
}
