//! Sparse tables of columns with so many labels that their one-hot features do not belong in a dense triangle.
//!
//! A wide column `a` has one table of sums Σ w·1{a = level}·φ over the features φ of the triangle, keyed by level and
//! position; position 0 is the constant, so that this holds the weights of the levels as well. Two wide columns have one
//! table keyed by both levels. A table has at most one entry for each row and non-zero feature, never one for each cell.

use rayon::prelude::*;

use super::features::View;
use crate::data::MISSING_CODE;

/// Rows whose features are listed at once.
const STRIP_ROWS: usize = 4096;

/// A key and its sum.
pub(super) type Entry = (u64, f64);

/// The key of a level and a position, or of two levels.
pub(super) fn key(level: u32, other: u32) -> u64 {
    u64::from(level) << 32 | u64::from(other)
}

/// The two parts of a key.
pub(super) fn parts(key: u64) -> (u32, u32) {
    ((key >> 32) as u32, key as u32)
}

/// A map from keys to sums: sorted runs, each at least twice as long as the next, so that adding stays cheap.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Table {
    runs: Vec<Vec<Entry>>,
}

impl Table {
    /// A table of one run with increasing keys.
    pub(super) fn from_sorted(run: Vec<Entry>) -> Self {
        debug_assert!(run.is_sorted_by(|left, right| left.0 < right.0), "keys increase");
        Self { runs: if run.is_empty() { Vec::new() } else { vec![run] } }
    }

    /// Adds entries in any order; those of equal keys are added in the order given.
    pub(super) fn add(&mut self, mut entries: Vec<Entry>) {
        entries.sort_by_key(|entry| entry.0);
        entries.dedup_by(|next, first| {
            let same = next.0 == first.0;
            if same {
                first.1 += next.1;
            }
            same
        });
        if entries.is_empty() {
            return;
        }
        self.runs.push(entries);
        while let [.., older, newer] = self.runs.as_slice()
            && older.len() < 2 * newer.len()
        {
            let joined = join(older, newer);
            self.runs.truncate(self.runs.len() - 2);
            self.runs.push(joined);
        }
    }

    /// All entries with increasing keys.
    pub(super) fn entries(&self) -> std::borrow::Cow<'_, [Entry]> {
        match self.runs.as_slice() {
            [] => (&[]).into(),
            [run] => run.as_slice().into(),
            [first, rest @ ..] => rest.iter().fold(first.clone(), |joined, run| join(&joined, run)).into(),
        }
    }

    /// The sum of one key.
    pub(super) fn get(&self, key: u64) -> f64 {
        let find = |run: &Vec<Entry>| run.binary_search_by_key(&key, |entry| entry.0).map_or(0.0, |ix| run[ix].1);
        self.runs.iter().map(find).sum()
    }

    fn scale(&mut self, factor: f64) {
        self.runs.iter_mut().flatten().for_each(|entry| entry.1 *= factor);
    }

    fn n_entries(&self) -> usize {
        self.runs.iter().map(Vec::len).sum()
    }
}

fn join(left: &[Entry], right: &[Entry]) -> Vec<Entry> {
    let mut out = Vec::with_capacity(left.len() + right.len());
    let mut right = right.iter().copied().peekable();
    for &(key, sum) in left {
        while let Some(entry) = right.next_if(|entry| entry.0 < key) {
            out.push(entry);
        }
        let more = right.next_if(|entry| entry.0 == key).map_or(0.0, |entry| entry.1);
        out.push((key, sum + more));
    }
    out.extend(right);
    out.shrink_to_fit();
    out
}

/// All sparse tables of an accumulator.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct WideTables {
    /// For each wide column, its levels by the features of the triangle.
    pub(super) features: Vec<Table>,
    /// For wide columns a < b, in the order (0,1), (0,2), (1,2), (0,3), …: levels of a by levels of b.
    pub(super) pairs: Vec<Table>,
}

impl WideTables {
    pub(super) fn new(n_wide: usize) -> Self {
        Self { features: vec![Table::default(); n_wide], pairs: vec![Table::default(); n_wide * n_wide.saturating_sub(1) / 2] }
    }

    /// Index of the table of wide columns a < b.
    pub(super) fn pair_ix(a: usize, b: usize) -> usize {
        debug_assert!(a < b, "wide columns in order");
        b * (b - 1) / 2 + a
    }

    /// The wide columns a < b of each table of pairs.
    fn pair_columns(n_wide: usize) -> impl Iterator<Item = (usize, usize)> {
        (1..n_wide).flat_map(|b| (0..b).map(move |a| (a, b)))
    }

    /// Multiplies all sums.
    pub(super) fn scale(&mut self, factor: f64) {
        self.features.iter_mut().chain(&mut self.pairs).for_each(|table| table.scale(factor));
    }

    /// Memory of all entries.
    pub(super) fn bytes(&self) -> u64 {
        let entries: usize = self.features.iter().chain(&self.pairs).map(Table::n_entries).sum();
        (entries * size_of::<Entry>()) as u64
    }

    /// Most memory that a batch can add.
    pub(super) fn most_bytes(&self, view: &View<'_>) -> u64 {
        let entries = view.survey.nonzeros as usize * self.features.len() + view.batch.n_rows * self.pairs.len();
        (entries * size_of::<Entry>()) as u64
    }

    /// Adds the rows of a batch.
    pub(super) fn observe(&mut self, view: &View<'_>) {
        let codes: Vec<Vec<u32>> = view.layout.wide.par_iter().map(|&column| view.codes(column)).collect();
        let n_rows = view.batch.n_rows;
        let weights = view.weights();
        for start in (0..n_rows).step_by(STRIP_ROWS) {
            let mut nonzeros: Vec<(u32, u32, f64)> = Vec::new();
            view.visit(start..n_rows.min(start + STRIP_ROWS), &mut |row, position, value| {
                let sum = value * weights.map_or(1.0, |weights| weights[start + row]);
                if sum != 0.0 {
                    nonzeros.push(((start + row) as u32, position as u32, sum));
                }
            });
            self.features.par_iter_mut().zip(&codes).for_each(|(table, codes)| {
                let present = nonzeros.iter().filter(|&&(row, ..)| codes[row as usize] != MISSING_CODE);
                table.add(present.map(|&(row, position, sum)| (key(codes[row as usize], position), sum)).collect());
            });
        }
        let columns: Vec<(usize, usize)> = Self::pair_columns(codes.len()).collect();
        self.pairs.par_iter_mut().zip(columns).for_each(|(table, (a, b))| {
            let rows = (0..n_rows).filter(|&row| codes[a][row] != MISSING_CODE && codes[b][row] != MISSING_CODE);
            let entries = rows.map(|row| (key(codes[a][row], codes[b][row]), weights.map_or(1.0, |weights| weights[row])));
            table.add(entries.filter(|entry| entry.1 != 0.0).collect());
        });
    }
}
