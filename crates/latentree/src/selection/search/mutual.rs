//! Mutual information of all pairs of label columns, computed from the uncommon labels of each row.

use rayon::prelude::*;

/// The label of each row.
#[derive(Debug, Clone)]
pub(super) struct Labels {
    pub(super) n_labels: usize,
    /// A value of `n_labels` or more means missing.
    pub(super) of_row: Vec<u8>,
}

/// Mutual information of all pairs, in nats over all rows, row-major.
pub(super) struct Mutual {
    n: usize,
    nats: Vec<f32>,
    /// The most common label of each column.
    usual: Vec<u8>,
}

/// Number of blocks of columns that are counted separately.
const TASKS: usize = 16;

impl Mutual {
    /// Counts pairs of uncommon labels row by row; all other counts follow from the totals. A missing label counts as the
    /// most common one.
    pub(super) fn new(columns: &[Labels], weights: &[f64]) -> Self {
        let n = columns.len();
        let usual: Vec<u8> = columns.par_iter().map(usual).collect();
        let mut first = vec![0];
        columns.iter().for_each(|column| first.push(first[first.len() - 1] + column.n_labels - 1));
        let feature = |column: usize, label: u8| first[column] + usize::from(label) - usize::from(label > usual[column]);
        let rows: Vec<Vec<u32>> = (0..weights.len())
            .into_par_iter()
            .map(|row| {
                let cells = columns.iter().enumerate().filter_map(|(at, column)| {
                    let label = column.of_row[row];
                    (usize::from(label) < column.n_labels && label != usual[at]).then(|| feature(at, label) as u32)
                });
                cells.collect()
            })
            .collect();
        let total: f64 = weights.iter().sum();
        let mut singles = vec![0.0_f64; first[n]];
        for (cells, weight) in rows.iter().zip(weights) {
            cells.iter().for_each(|&cell| singles[cell as usize] += weight);
        }
        let of_task = |task: usize| {
            let (from, to) = (task * n / TASKS, (task + 1) * n / TASKS);
            let (lo, hi, width) = (first[from], first[to], first[n]);
            let mut counts = vec![0.0_f32; (hi - lo) * width];
            for (cells, weight) in rows.iter().zip(weights) {
                let own =
                    cells.partition_point(|&cell| (cell as usize) < lo)..cells.partition_point(|&cell| (cell as usize) < hi);
                for &a in &cells[own] {
                    let row = &mut counts[(a as usize - lo) * width..][..width];
                    cells.iter().for_each(|&b| row[b as usize] += *weight as f32);
                }
            }
            let mut nats = Vec::with_capacity((to - from) * n);
            for a in from..to {
                for b in 0..n {
                    let joint = |x: usize, y: usize| f64::from(counts[(x - lo) * width + y]);
                    let value = if a == b {
                        0.0
                    } else {
                        information(&joint, &singles, first[a]..first[a + 1], first[b]..first[b + 1], total)
                    };
                    nats.push(value as f32);
                }
            }
            nats
        };
        let nats = (0..TASKS).into_par_iter().map(of_task).collect::<Vec<_>>().concat();
        Self { n, nats, usual }
    }

    /// Returns whether the uncommon labels of two columns occur together less often than by chance, as words of different topics
    /// do.
    pub(super) fn avoid(&self, a: usize, b: usize, columns: &[Labels], weights: &[f64]) -> bool {
        let is_uncommon = |column: usize, row: usize| {
            let label = columns[column].of_row[row];
            usize::from(label) < columns[column].n_labels && label != self.usual[column]
        };
        let [mut both, mut of_a, mut of_b, mut total] = [0.0; 4];
        for (row, weight) in weights.iter().enumerate() {
            let (in_a, in_b) = (is_uncommon(a, row), is_uncommon(b, row));
            total += weight;
            of_a += if in_a { *weight } else { 0.0 };
            of_b += if in_b { *weight } else { 0.0 };
            both += if in_a && in_b { *weight } else { 0.0 };
        }
        both * total < of_a * of_b
    }

    pub(super) fn of(&self, a: usize, b: usize) -> f64 {
        f64::from(self.nats[a * self.n + b])
    }
}

fn usual(column: &Labels) -> u8 {
    let mut counts = vec![0_usize; column.n_labels + 1];
    column.of_row.iter().for_each(|&label| counts[usize::from(label).min(column.n_labels)] += 1);
    (0..column.n_labels).max_by_key(|&label| (counts[label], column.n_labels - label)).unwrap_or(0) as u8
}

/// The mutual information of two columns with counts of their uncommon labels.
fn information(
    joint: &dyn Fn(usize, usize) -> f64,
    singles: &[f64],
    a: std::ops::Range<usize>,
    b: std::ops::Range<usize>,
    total: f64,
) -> f64 {
    let term =
        |both: f64, x: f64, y: f64| if both > 0.0 && x > 0.0 && y > 0.0 { both * (both * total / (x * y)).ln() } else { 0.0 };
    let rest_a = total - singles[a.clone()].iter().sum::<f64>();
    let rest_b = total - singles[b.clone()].iter().sum::<f64>();
    let (mut sum, mut rest) = (0.0, rest_b);
    let mut seen = vec![0.0; b.len()];
    for x in a {
        let mut own = singles[x];
        for (at, y) in b.clone().enumerate() {
            let both = joint(x, y);
            seen[at] += both;
            own -= both;
            sum += term(both, singles[x], singles[y]);
        }
        sum += term(own.max(0.0), singles[x], rest_b);
        rest -= own.max(0.0);
    }
    for (at, y) in b.enumerate() {
        sum += term((singles[y] - seen[at]).max(0.0), rest_a, singles[y]);
    }
    (sum + term(rest.max(0.0), rest_a, rest_b)).max(0.0)
}
