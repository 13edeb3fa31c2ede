//! Starting points for the single-topic model, found by moving single documents between groups.
//!
//! Up to a constant, a grouping of documents has the classification log-likelihood `Σ_c [Σ_w g(S_cw) − g(T_c) + g(n_c)]` with
//! `g(x) = x ln x`, where S are the word counts of the groups, T their totals and n the numbers of documents. A sweep moves
//! each document to the group that maximises this, after removing the document's own counts from its current group (Hartigan
//! 1975); sweeps repeat until no move improves it. For documents of realistic length, EM is already certain of their topics
//! after its first pass and stays near its start. A move, by contrast, sees what a topic would be without the document.
//! Several random groupings are tried, the most likely one is kept, and EM follows.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::group_measure::{KEPT, Logarithms, Measure, Number, Table};
use crate::data::{Block, Rows};
use crate::error::{Error, Result};
use crate::observer::Observer;

/// Approximate budget of gains added over all starts.
const WORK: usize = 150_000_000;
/// Number of sweeps for each start, and the maximum for the best of them.
const SWEEPS: usize = 10;
const MOST_SWEEPS: usize = 60;
/// Relative improvement of the log-likelihood per sweep below which moves stop; EM does the rest.
const TOLERANCE: f64 = 1e-6;
/// Relative difference of the log-likelihood below which two groupings count as equal.
const SAME: f64 = 1e-9;
/// Maximum number of random starts.
const MOST_STARTS: usize = 24;
/// Maximum number of cells held in memory.
const MOST_CELLS: usize = 1 << 24;

/// The documents as read.
struct Documents {
    starts: Vec<usize>,
    cells: Vec<(u32, f64)>,
    weights: Vec<f64>,
    /// Pseudo-counts of each word added to every group.
    prior: Vec<f64>,
}

/// The documents, with counts in the number type of a measure.
struct Corpus<M: Measure> {
    starts: Vec<usize>,
    cells: Vec<(u32, M::Number)>,
    weights: Vec<M::Number>,
    n_words: usize,
    measure: M,
}

/// A grouping and the sums of its groups.
struct Groups<'a, M: Measure> {
    corpus: &'a Corpus<M>,
    k: usize,
    labels: Vec<u32>,
    /// Counts of word w in group c at `w·k + c`, without the prior.
    sums: Vec<M::Number>,
    /// `g(S_cw + x) − g(S_cw)` at `(w·KEPT + x − 1)·k + c`.
    gains: Vec<f64>,
    /// Number of words and of documents in each group.
    totals: Vec<M::Number>,
    sizes: Vec<M::Number>,
}

/// Finds the most likely grouping of the documents, starting from `first` and from random groupings. Returns `None` if there
/// are too many documents.
pub(super) fn grouping(
    rows: &dyn Rows,
    k: usize,
    prior: Vec<f64>,
    first: &[usize],
    seed: u64,
    observer: &dyn Observer,
) -> Result<Option<Vec<u32>>> {
    let Some(documents) = Documents::read(rows, prior, k, observer)? else { return Ok(None) };
    match Table::of(&documents.cells, &documents.weights, &documents.prior) {
        Some(table) => best_grouping(&Corpus::new(&documents, table), k, first, seed, observer),
        None => best_grouping(&Corpus::new(&documents, Logarithms::new(&documents.prior)), k, first, seed, observer),
    }
}

fn best_grouping<M: Measure>(
    corpus: &Corpus<M>,
    k: usize,
    first: &[usize],
    seed: u64,
    observer: &dyn Observer,
) -> Result<Option<Vec<u32>>> {
    let n_starts = (WORK / (corpus.cells.len() * k * SWEEPS).max(1)).min(MOST_STARTS);
    observer.stage("moves", Some(n_starts as u64 + 1));
    let found: Vec<(f64, bool, Vec<u32>)> = (0..=n_starts)
        .into_par_iter()
        .map(|start| {
            let labels = if start == 0 {
                first.iter().map(|&label| label as u32).collect()
            } else {
                let mut rng = ChaCha8Rng::seed_from_u64(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ start as u64);
                (0..corpus.weights.len()).map(|_| rng.random_range(0..k as u32)).collect()
            };
            let mut groups = Groups::new(corpus, k, labels);
            let ended = groups.climb(SWEEPS, observer);
            (groups.value(), ended, groups.labels)
        })
        .collect();
    // If several starts end in the same grouping, the first one wins regardless of rounding.
    let is_better = |value: f64, best: f64| value > best + SAME * best.abs();
    let best = found.into_iter().reduce(|best, other| if is_better(other.0, best.0) { other } else { best });
    let best = best.map(|(_, ended, labels)| {
        if ended {
            return labels;
        }
        let mut groups = Groups::new(corpus, k, labels);
        groups.climb(MOST_SWEEPS - SWEEPS, observer);
        groups.labels
    });
    if observer.cancelled() {
        return Err(Error::Cancelled);
    }
    Ok(best)
}

impl Documents {
    /// Reads all documents. Returns `None` if they have too many cells or a single start would cost more than twice [`WORK`].
    fn read(rows: &dyn Rows, prior: Vec<f64>, k: usize, observer: &dyn Observer) -> Result<Option<Self>> {
        let mut documents = Self::none(prior);
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

    fn none(prior: Vec<f64>) -> Self {
        Self { starts: vec![0], cells: Vec::new(), weights: Vec::new(), prior }
    }
}

impl<M: Measure> Corpus<M> {
    fn new(documents: &Documents, measure: M) -> Self {
        Self {
            starts: documents.starts.clone(),
            cells: documents.cells.iter().map(|&(word, count)| (word, M::Number::of(count))).collect(),
            weights: documents.weights.iter().map(|&weight| M::Number::of(weight)).collect(),
            n_words: documents.prior.len(),
            measure,
        }
    }

    fn cells(&self, document: usize) -> &[(u32, M::Number)] {
        &self.cells[self.starts[document]..self.starts[document + 1]]
    }
}

impl<'a, M: Measure> Groups<'a, M> {
    fn new(corpus: &'a Corpus<M>, k: usize, labels: Vec<u32>) -> Self {
        let none = M::Number::default();
        let (mut sums, mut totals, mut sizes) = (vec![none; corpus.n_words * k], vec![none; k], vec![none; k]);
        for (document, &label) in labels.iter().enumerate() {
            let c = label as usize;
            for &(word, count) in corpus.cells(document) {
                sums[word as usize * k + c] += count;
                totals[c] += count;
            }
            sizes[c] += corpus.weights[document];
        }
        let gains = vec![0.0; sums.len() * KEPT];
        let mut groups = Self { corpus, k, labels, sums, gains, totals, sizes };
        (0..corpus.n_words).for_each(|word| (0..k).for_each(|c| groups.look_again(word, c)));
        groups
    }

    /// Updates the cached gains that depend on the sum of a word in a group.
    #[inline]
    fn look_again(&mut self, word: usize, c: usize) {
        let (k, sum, measure) = (self.k, self.sums[word * self.k + c], &self.corpus.measure);
        let own = measure.word(word, sum);
        for x in 1..=KEPT {
            self.gains[(word * KEPT + x - 1) * k + c] = measure.word(word, sum + M::Number::of(x as f64)) - own;
        }
    }

    /// Sweeps until the improvement becomes small. Returns whether this happened within `most` sweeps.
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
        let measure = &self.corpus.measure;
        let of_groups = self.totals.iter().zip(&self.sizes).map(|(&total, &size)| measure.size(size) - measure.total(total));
        let of_words = self.sums.chunks_exact(self.k).enumerate();
        let of_words = of_words.map(|(word, sums)| sums.iter().map(|&sum| measure.word(word, sum)).sum::<f64>());
        of_words.sum::<f64>() + of_groups.sum::<f64>()
    }

    /// Moves each document to its best group. Returns whether any document moved.
    fn sweep(&mut self) -> bool {
        let (k, corpus, measure) = (self.k, self.corpus, &self.corpus.measure);
        let mut has_moved = false;
        let mut gains = vec![0.0; k];
        for document in 0..self.labels.len() {
            let from = self.labels[document] as usize;
            let (cells, weight) = (corpus.cells(document), corpus.weights[document]);
            // A group keeps its last document.
            if cells.is_empty() || self.sizes[from].is_all(weight) {
                continue;
            }
            gains.fill(0.0);
            let (mut length, mut stays) = (M::Number::default(), 0.0);
            for &(word, count) in cells {
                length += count;
                let word = word as usize;
                let sums = &self.sums[word * k..][..k];
                if let Some(x) = count.kept() {
                    let kept = &self.gains[(word * KEPT + x - 1) * k..][..k];
                    gains.iter_mut().zip(kept).for_each(|(gain, kept)| *gain += kept);
                } else {
                    for c in (0..k).filter(|&c| c != from) {
                        gains[c] += measure.word(word, sums[c] + count) - measure.word(word, sums[c]);
                    }
                }
                stays += measure.word(word, sums[from]) - measure.word(word, sums[from] - count);
            }
            gains[from] = stays;
            for (c, gain) in gains.iter_mut().enumerate() {
                // Totals of the group without the document; adding the document gives the totals with it.
                let (mut total, mut size) = (self.totals[c], self.sizes[c]);
                if c == from {
                    total -= length;
                    size -= weight;
                }
                *gain += measure.total(total) - measure.total(total + length) + measure.size(size + weight) - measure.size(size);
            }
            let to = (0..k).fold(from, |best, c| if gains[c] > gains[best] { c } else { best });
            if to == from || gains[to] - gains[from] <= 1e-9 * gains[from].abs() {
                continue;
            }
            for &(word, count) in cells {
                self.sums[word as usize * k + from] -= count;
                self.sums[word as usize * k + to] += count;
                self.look_again(word as usize, from);
                self.look_again(word as usize, to);
            }
            self.totals[from] -= length;
            self.totals[to] += length;
            self.sizes[from] -= weight;
            self.sizes[to] += weight;
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
        let mut documents = Documents::none(vec![1.0 / d as f64; d]);
        for row in rows {
            documents.cells.extend_from_slice(row);
            documents.starts.push(documents.cells.len());
            documents.weights.push(1.0);
        }
        documents
    }

    fn tabled(rows: &[&[(u32, f64)]], d: usize) -> Corpus<Table> {
        let documents = documents(rows, d);
        Corpus::new(&documents, Table::of(&documents.cells, &documents.weights, &documents.prior).unwrap())
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
        let documents = tabled(&rows, 12);
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
    fn tabled_sums_move_documents_as_logarithms_do() {
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let rows: Vec<Vec<(u32, f64)>> = (0..200)
            .map(|_| (0..30).map(|word| (word, f64::from(rng.random_range(0..6_u8)))).filter(|it| it.1 > 0.0).collect())
            .collect();
        let rows: Vec<&[(u32, f64)]> = rows.iter().map(Vec::as_slice).collect();
        let tabled = tabled(&rows, 30);
        let documents = documents(&rows, 30);
        let plain = Corpus::new(&documents, Logarithms::new(&documents.prior));
        let labels: Vec<u32> = (0..200).map(|_| rng.random_range(0..5)).collect();
        let (mut by_table, mut by_logarithm) = (Groups::new(&tabled, 5, labels.clone()), Groups::new(&plain, 5, labels));
        for _ in 0..10 {
            assert_eq!(by_table.sweep(), by_logarithm.sweep());
            assert_eq!(by_table.labels, by_logarithm.labels);
            assert!((by_table.value() - by_logarithm.value()).abs() < 1e-9 * by_table.value().abs());
        }
    }

    #[test]
    fn fractions_of_counts_have_no_table() {
        let rows: [&[(u32, f64)]; 2] = [&[(0, 1.5)], &[(1, 1.0)]];
        assert!({
            let documents = documents(&rows, 2);
            Table::of(&documents.cells, &documents.weights, &documents.prior).is_none()
        });
    }

    #[test]
    fn documents_of_two_vocabularies_are_told_apart_from_any_grouping() {
        let rows: Vec<Vec<(u32, f64)>> = (0..20).map(|ix| (0..5).map(|word| (word + 5 * (ix % 2), 3.0)).collect()).collect();
        let rows: Vec<&[(u32, f64)]> = rows.iter().map(Vec::as_slice).collect();
        let documents = tabled(&rows, 10);
        // Each group has five documents of either kind: a saddle point.
        let mut groups = Groups::new(&documents, 2, (0..20).map(|ix| (ix / 2) % 2).collect());
        while groups.sweep() {}
        assert!((0..20).all(|ix| (groups.labels[ix] == groups.labels[0]) == (ix % 2 == 0)));
    }
}
