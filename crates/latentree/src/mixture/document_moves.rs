//! Starts of the single-topic model by moves of single documents.
//!
//! A grouping of documents has the classification log-likelihood `Σ_c [Σ_w g(S_cw) − g(T_c) + g(n_c)]` with `g(x) = x ln x`, S
//! the counts of words, T their sums and n the numbers of documents, up to a constant. A sweep moves every document to the
//! group where this is largest, with the document's own counts taken out of its group first (Hartigan 1975), until no move
//! gains. Unlike EM, which at the lengths of real documents is sure of their topics after its first pass and stays near its
//! start, a move sees what a topic would be without the document. Several random groupings are tried, the one of the largest
//! likelihood is kept, and EM follows.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use crate::data::{Block, Rows};
use crate::error::{Error, Result};
use crate::observer::Observer;

/// Logarithms that all starts together may take, about.
const WORK: usize = 150_000_000;
/// Sweeps that every start takes, and that the best of them takes at most.
const SWEEPS: usize = 10;
const MOST_SWEEPS: usize = 60;
/// Gain of a sweep, relative to the log-likelihood, at which moves end: EM does the rest.
const TOLERANCE: f64 = 1e-6;
/// Random starts.
const MOST_STARTS: usize = 24;
/// Cells that are held.
const MOST_CELLS: usize = 1 << 24;
/// Counts from 1 on whose gains are kept: nine cells in ten of text.
const KEPT: usize = 3;

/// Documents in memory.
struct Documents {
    starts: Vec<usize>,
    cells: Vec<(u32, f64)>,
    weights: Vec<f64>,
    /// What every group is given of every word, in words.
    prior: Vec<f64>,
}

/// A grouping, and the sums of its groups.
struct Groups<'a> {
    documents: &'a Documents,
    k: usize,
    labels: Vec<u32>,
    /// Counts of word w in group c at `w·k + c`, and `g` of them.
    sums: Vec<f64>,
    logs: Vec<f64>,
    /// `g(S_cw + x) − g(S_cw)` at `(w·KEPT + x − 1)·k + c`.
    gains: Vec<f64>,
    totals: Vec<f64>,
    sizes: Vec<f64>,
}

/// The most likely grouping of documents that is found from this one and from random ones; `None` if documents are too many
/// for it.
pub(super) fn grouping(
    rows: &dyn Rows,
    k: usize,
    prior: Vec<f64>,
    first: &[usize],
    seed: u64,
    observer: &dyn Observer,
) -> Result<Option<Vec<u32>>> {
    let Some(documents) = Documents::read(rows, prior, k, observer)? else { return Ok(None) };
    let n_starts = (WORK / (documents.cells.len() * k * SWEEPS).max(1)).min(MOST_STARTS);
    observer.stage("moves", Some(n_starts as u64 + 1));
    let found: Vec<(f64, bool, Vec<u32>)> = (0..=n_starts)
        .into_par_iter()
        .map(|start| {
            let labels = if start == 0 {
                first.iter().map(|&label| label as u32).collect()
            } else {
                let mut rng = ChaCha8Rng::seed_from_u64(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ start as u64);
                (0..documents.weights.len()).map(|_| rng.random_range(0..k as u32)).collect()
            };
            let mut groups = Groups::new(&documents, k, labels);
            let ended = groups.climb(SWEEPS, observer);
            (groups.value(), ended, groups.labels)
        })
        .collect();
    let best = found.into_iter().reduce(|best, other| if other.0 > best.0 { other } else { best });
    let best = best.map(|(_, ended, labels)| {
        if ended {
            return labels;
        }
        let mut groups = Groups::new(&documents, k, labels);
        groups.climb(MOST_SWEEPS - SWEEPS, observer);
        groups.labels
    });
    if observer.cancelled() {
        return Err(Error::Cancelled);
    }
    Ok(best)
}

/// `x ln x`.
fn g(x: f64) -> f64 {
    if x > 0.0 { x * x.ln() } else { 0.0 }
}

impl Documents {
    /// Reads all documents; `None` if a single start would take more than all are allowed.
    fn read(rows: &dyn Rows, prior: Vec<f64>, k: usize, observer: &dyn Observer) -> Result<Option<Self>> {
        let mut documents = Self { starts: vec![0], cells: Vec::new(), weights: Vec::new(), prior };
        let mut source = rows.open()?;
        while let Some(batch) = source.next_batch()? {
            if observer.cancelled() {
                return Err(Error::Cancelled);
            }
            for row in 0..batch.n_rows {
                let weight = batch.weight(row);
                let mut see = |column: usize, count: f64| {
                    if count > 0.0 && weight > 0.0 {
                        documents.cells.push((column as u32, weight * count));
                    }
                };
                match &batch.block {
                    Block::Sparse(rows) => rows.row(row).for_each(|(column, count)| see(column, count)),
                    Block::Dense(columns) => {
                        columns.iter().enumerate().for_each(|(column, cells)| see(column, cells.number(row)));
                    }
                }
                documents.starts.push(documents.cells.len());
                documents.weights.push(weight);
            }
            let n_cells = documents.cells.len();
            if n_cells > MOST_CELLS || n_cells.saturating_mul(k * SWEEPS) > 2 * WORK {
                return Ok(None);
            }
        }
        Ok(Some(documents))
    }

    fn cells(&self, document: usize) -> &[(u32, f64)] {
        &self.cells[self.starts[document]..self.starts[document + 1]]
    }
}

impl<'a> Groups<'a> {
    fn new(documents: &'a Documents, k: usize, labels: Vec<u32>) -> Self {
        let d = documents.prior.len();
        let mut sums: Vec<f64> = (0..d * k).map(|at| documents.prior[at / k]).collect();
        let (mut totals, mut sizes) = (vec![documents.prior.iter().sum::<f64>(); k], vec![0.0; k]);
        for (document, &label) in labels.iter().enumerate() {
            let c = label as usize;
            for &(word, count) in documents.cells(document) {
                sums[word as usize * k + c] += count;
                totals[c] += count;
            }
            sizes[c] += documents.weights[document];
        }
        let n = sums.len();
        let (logs, gains) = (vec![0.0; n], vec![0.0; n * KEPT]);
        let mut groups = Self { documents, k, labels, sums, logs, gains, totals, sizes };
        (0..d).for_each(|word| (0..k).for_each(|c| groups.look_again(word, c)));
        groups
    }

    /// What depends on the sum of a word in a group.
    fn look_again(&mut self, word: usize, c: usize) {
        let (k, sum) = (self.k, self.sums[word * self.k + c]);
        let own = g(sum);
        self.logs[word * k + c] = own;
        for x in 1..=KEPT {
            self.gains[(word * KEPT + x - 1) * k + c] = g(sum + x as f64) - own;
        }
    }

    /// Sweeps until little is gained; tells whether this was reached.
    fn climb(&mut self, most: usize, observer: &dyn Observer) -> bool {
        let mut value = self.value();
        for _ in 0..most {
            if observer.cancelled() || !self.sweep() {
                return true;
            }
            let before = std::mem::replace(&mut value, self.value());
            if value - before <= TOLERANCE * value.abs() {
                return true;
            }
        }
        false
    }

    fn value(&self) -> f64 {
        let of_groups: f64 = self.totals.iter().zip(&self.sizes).map(|(&total, &size)| g(size) - g(total)).sum();
        self.logs.iter().sum::<f64>() + of_groups
    }

    /// Moves every document to its best group; tells whether one has moved.
    fn sweep(&mut self) -> bool {
        let k = self.k;
        let mut has_moved = false;
        let mut gains = vec![0.0; k];
        for document in 0..self.labels.len() {
            let from = self.labels[document] as usize;
            let (cells, weight) = (self.documents.cells(document), self.documents.weights[document]);
            // The last document of a group stays.
            if cells.is_empty() || self.sizes[from] - weight <= 1e-9 * weight {
                continue;
            }
            gains.fill(0.0);
            let (mut length, mut stays) = (0.0, 0.0);
            for &(word, count) in cells {
                length += count;
                let word = word as usize;
                let sums = &self.sums[word * k..][..k];
                if let Some(x) = (1..=KEPT).find(|&x| count == x as f64) {
                    let kept = &self.gains[(word * KEPT + x - 1) * k..][..k];
                    gains.iter_mut().zip(kept).for_each(|(gain, kept)| *gain += kept);
                } else {
                    let logs = &self.logs[word * k..][..k];
                    gains.iter_mut().zip(sums).zip(logs).for_each(|((gain, sum), log)| *gain += g(sum + count) - log);
                }
                stays += self.logs[word * k + from] - g(sums[from] - count);
            }
            gains[from] = stays;
            for c in 0..k {
                let (total, size) = (self.totals[c], self.sizes[c]);
                gains[c] += if c == from {
                    g(total - length) - g(total) + g(size) - g(size - weight)
                } else {
                    g(total) - g(total + length) + g(size + weight) - g(size)
                };
            }
            let to = (0..k).fold(from, |best, c| if gains[c] > gains[best] { c } else { best });
            if to == from || gains[to] - gains[from] <= 1e-9 * gains[from].abs() {
                continue;
            }
            for &(word, count) in cells {
                for (c, change) in [(from, -count), (to, count)] {
                    self.sums[word as usize * k + c] += change;
                    self.look_again(word as usize, c);
                }
            }
            for (c, sign) in [(from, -1.0), (to, 1.0)] {
                self.totals[c] += sign * length;
                self.sizes[c] += sign * weight;
            }
            self.labels[document] = to as u32;
            has_moved = true;
        }
        has_moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn documents(rows: &[&[(u32, f64)]], d: usize) -> Documents {
        let mut documents = Documents { starts: vec![0], cells: Vec::new(), weights: Vec::new(), prior: vec![1.0 / d as f64; d] };
        for row in rows {
            documents.cells.extend_from_slice(row);
            documents.starts.push(documents.cells.len());
            documents.weights.push(1.0);
        }
        documents
    }

    #[test]
    fn a_sweep_only_gains_and_its_sums_are_those_of_its_labels() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let rows: Vec<Vec<(u32, f64)>> = (0..40)
            .map(|_| {
                (0..12).filter_map(|word| Some((word, f64::from(rng.random_range(0..4_u8)))).filter(|it| it.1 > 0.0)).collect()
            })
            .collect();
        let rows: Vec<&[(u32, f64)]> = rows.iter().map(Vec::as_slice).collect();
        let documents = documents(&rows, 12);
        let mut groups = Groups::new(&documents, 3, (0..40).map(|ix| ix % 3).collect());
        let mut before = groups.value();
        for _ in 0..20 {
            if !groups.sweep() {
                break;
            }
            let afresh = Groups::new(&documents, 3, groups.labels.clone());
            assert!((groups.value() - afresh.value()).abs() < 1e-9 * before.abs());
            assert!(groups.value() > before);
            before = groups.value();
        }
    }

    #[test]
    fn documents_of_two_vocabularies_are_told_apart_from_any_grouping() {
        let rows: Vec<Vec<(u32, f64)>> = (0..20).map(|ix| (0..5).map(|word| (word + 5 * (ix % 2), 3.0)).collect()).collect();
        let rows: Vec<&[(u32, f64)]> = rows.iter().map(Vec::as_slice).collect();
        let documents = documents(&rows, 10);
        // Each group has five documents of either kind, the saddle point.
        let mut groups = Groups::new(&documents, 2, (0..20).map(|ix| (ix / 2) % 2).collect());
        while groups.sweep() {}
        assert!((0..20).all(|ix| (groups.labels[ix] == groups.labels[0]) == (ix % 2 == 0)));
    }
}
