//! Adding the rows of a batch to the packed triangle.
//!
//! The triangle is split between tasks into disjoint ranges of rows `hi`; each task adds the cells (hi, lo ≤ hi) of its own
//! range for all rows of the batch. A cell is therefore always added to by one task, in the order of rows: results are the
//! same at any number of threads, there is one triangle in memory, and nothing is merged. Three kernels, chosen by the
//! content of the batch alone:
//!
//! - [`Lists`]: sparse features, one increment per pair of non-zero features of a row;
//! - [`Bits`]: dense 0/1 features without weights, one population count per 64 rows and pair;
//! - [`Panels`]: dense numbers, a register-tiled product; every sum runs over the rows of a block in order, so that it does
//!   not depend on the width of vector registers.
//!
//! Work is prepared once per strip of rows, as blocks of consecutive rows.

use std::ops::Range;

use rayon::prelude::*;

use super::features::View;
use super::layout::row_start;

/// Rows of a block of lists.
const LIST_ROWS: usize = 1024;
/// Rows of a block of bits.
const BIT_ROWS: usize = 2048;
/// Rows of a block of panels: a panel of 8 features then takes 16 KiB and stays in the first-level cache.
const PANEL_ROWS: usize = 256;
/// Features side by side in a panel.
const PANEL: usize = 8;
/// Features of a panel's row taken at once.
const HALF: usize = 4;
/// Tasks per thread: enough for an even load.
const TASKS: usize = 8;
/// Bytes that the prepared rows of one strip may take.
const STRIP_BYTES: usize = 1 << 26;

/// The kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kernel {
    /// Lists of non-zero features.
    Sparse,
    /// Bitsets.
    Bits,
    /// Dense products.
    Panels,
}

impl Kernel {
    /// The kernel for a batch: by its density, and by whether all that is counted are rows.
    pub(super) fn choose(nonzeros: u64, n_rows: usize, n_features: usize, counting: bool) -> Self {
        let density = nonzeros as f64 / (n_rows as f64 * n_features as f64).max(1.0);
        match counting {
            true if density > 0.125 => Self::Bits,
            false if density > 0.3 => Self::Panels,
            _ => Self::Sparse,
        }
    }
}

/// A cell of the triangle.
pub(super) trait Cell: Copy + Send + Sync + std::ops::AddAssign {
    /// One row without weight.
    const ONE: Self;
    /// From a sum; counting cells are never given one that is not whole.
    fn from_sum(sum: f64) -> Self;
    /// From a count.
    fn from_count(count: u32) -> Self;
}

impl Cell for u32 {
    const ONE: Self = 1;
    fn from_sum(sum: f64) -> Self {
        sum as Self
    }
    fn from_count(count: u32) -> Self {
        count
    }
}

impl Cell for f64 {
    const ONE: Self = 1.0;
    fn from_sum(sum: f64) -> Self {
        sum
    }
    fn from_count(count: u32) -> Self {
        Self::from(count)
    }
}

/// Adds all rows of a batch to the triangle.
pub(super) fn add<T: Cell>(cells: &mut [T], view: &View<'_>, kernel: Kernel) {
    let (n_rows, n_features) = (view.batch.n_rows, view.layout.n_features());
    let per_row = match kernel {
        Kernel::Sparse => 24 * (view.survey.nonzeros as usize).div_ceil(n_rows.max(1)),
        Kernel::Bits => n_features.div_ceil(8),
        Kernel::Panels => 16 * n_features,
    };
    let block_rows = match kernel {
        Kernel::Sparse => LIST_ROWS,
        Kernel::Bits => BIT_ROWS,
        Kernel::Panels => PANEL_ROWS,
    };
    let strip_blocks = (STRIP_BYTES / (per_row * block_rows)).clamp(1, 64);
    let blocks: Vec<Range<usize>> = (0..n_rows).step_by(block_rows).map(|start| start..n_rows.min(start + block_rows)).collect();
    for strip in blocks.chunks(strip_blocks) {
        match kernel {
            Kernel::Sparse => {
                let lists: Vec<Lists> = strip.par_iter().map(|rows| Lists::new(view, rows.clone())).collect();
                let mut work = vec![0_usize; n_features];
                for list in &lists {
                    work.iter_mut().zip(&list.work).for_each(|(work, more)| *work += *more as usize);
                }
                in_tasks(cells, &work, 1, |hi, cells| lists_rows(&lists, hi, cells));
            }
            Kernel::Bits => {
                let bits: Vec<Bits> = strip.par_iter().map(|rows| Bits::new(view, rows.clone())).collect();
                let work: Vec<usize> = (1..=n_features).collect();
                in_tasks(cells, &work, 1, |hi, cells| with_vectors(Rows::Bits(&bits), hi, cells));
            }
            Kernel::Panels => {
                let panels: Vec<Panels> = strip.par_iter().map(|rows| Panels::new(view, rows.clone())).collect();
                let work: Vec<usize> = (1..=n_features).collect();
                in_tasks(cells, &work, PANEL, |hi, cells| with_vectors(Rows::Panels(&panels), hi, cells));
            }
        }
    }
}

/// Splits the triangle into ranges of rows of about equal work, borders at multiples of `align`, and runs them in parallel.
fn in_tasks<T: Cell>(cells: &mut [T], work: &[usize], align: usize, task: impl Fn(Range<usize>, &mut [T]) + Sync) {
    let total: usize = work.iter().sum();
    let share = total / (rayon::current_num_threads() * TASKS) + 1;
    let mut tasks = Vec::new();
    let (mut rest, mut start, mut load) = (cells, 0, 0);
    for (hi, &more) in work.iter().enumerate() {
        load += more;
        let end = hi + 1;
        if end == work.len() || (load >= share && end % align == 0) {
            let (slice, tail) = rest.split_at_mut(row_start(end) - row_start(start));
            tasks.push((start..end, slice));
            (rest, start, load) = (tail, end, 0);
        }
    }
    tasks.into_par_iter().for_each(|(range, slice)| task(range, slice));
}

/// Prepared rows whose kernels gain from wide vector registers.
enum Rows<'a> {
    Bits(&'a [Bits]),
    Panels(&'a [Panels]),
}

/// Runs a kernel compiled for the vector instructions of this processor. Results are the same bits: counts are whole, and
/// the compiler neither reorders nor fuses floating-point operations.
fn with_vectors<T: Cell>(rows: Rows<'_>, hi: Range<usize>, cells: &mut [T]) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("popcnt") {
        // SAFETY: the one requirement is that the processor has the two features, checked in the line above. Measured on
        // 100,000 × 500: dense binary 0.19 s → 0.13 s, dense continuous 1.7 s → 0.9 s.
        return unsafe { with_avx2(rows, hi, cells) };
    }
    portable(rows, hi, cells);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,popcnt")]
fn with_avx2<T: Cell>(rows: Rows<'_>, hi: Range<usize>, cells: &mut [T]) {
    portable(rows, hi, cells);
}

#[inline(always)]
fn portable<T: Cell>(rows: Rows<'_>, hi: Range<usize>, cells: &mut [T]) {
    match rows {
        Rows::Bits(blocks) => bits_rows(blocks, hi, cells),
        Rows::Panels(blocks) => panels_rows(blocks, hi, cells),
    }
}

/// The rows of a block as sorted lists of their non-zero features, and for each feature where it occurs.
struct Lists {
    /// Positions of the non-zero features, row after row.
    positions: Vec<u32>,
    /// Value of each, empty when all are 1.
    values: Vec<f64>,
    /// Weight times value of each, empty when all are 1.
    weighted: Vec<f64>,
    /// Occurrences of feature f are `occurrences[starts[f]..starts[f + 1]]`.
    starts: Vec<u32>,
    /// Start of the row's list, and where in `positions` the feature stands.
    occurrences: Vec<(u32, u32)>,
    /// Increments that each feature causes as the higher one of a pair.
    work: Vec<u32>,
}

impl Lists {
    fn new(view: &View<'_>, rows: Range<usize>) -> Self {
        let n_features = view.layout.n_features();
        let mut row_cursors = vec![0_u32; rows.len() + 1];
        let mut starts = vec![0_u32; n_features + 2];
        view.visit(rows.clone(), &mut |row, position, _| {
            row_cursors[row + 1] += 1;
            starts[position + 2] += 1;
        });
        for row in 0..rows.len() {
            row_cursors[row + 1] += row_cursors[row];
        }
        for position in 2..n_features + 2 {
            starts[position] += starts[position - 1];
        }
        let row_starts = row_cursors.clone();
        let n = row_starts[rows.len()] as usize;
        let (has_values, weights) = (view.layout.has_numbers, view.weights());
        let mut lists = Self {
            positions: vec![0; n],
            values: vec![1.0; if has_values { n } else { 0 }],
            weighted: vec![1.0; if has_values || weights.is_some() { n } else { 0 }],
            starts: Vec::new(),
            occurrences: vec![(0, 0); n],
            work: vec![0; n_features],
        };
        view.visit(rows.clone(), &mut |row, position, value| {
            let at = row_cursors[row];
            row_cursors[row] += 1;
            lists.positions[at as usize] = position as u32;
            if has_values {
                lists.values[at as usize] = value;
            }
            if has_values || weights.is_some() {
                lists.weighted[at as usize] = value * weights.map_or(1.0, |weights| weights[rows.start + row]);
            }
            let cursor = &mut starts[position + 1];
            lists.occurrences[*cursor as usize] = (row_starts[row], at);
            *cursor += 1;
            lists.work[position] += at - row_starts[row] + 1;
        });
        starts.pop();
        lists.starts = starts;
        lists
    }
}

fn lists_rows<T: Cell>(blocks: &[Lists], hi: Range<usize>, cells: &mut [T]) {
    let base = row_start(hi.start);
    for hi in hi {
        // One row of the triangle for all blocks: it stays in the first-level cache.
        let row = &mut cells[row_start(hi) - base..row_start(hi + 1) - base];
        for block in blocks {
            let occurrences = &block.occurrences[block.starts[hi] as usize..block.starts[hi + 1] as usize];
            for &(start, at) in occurrences {
                let range = start as usize..at as usize + 1;
                let positions = &block.positions[range.clone()];
                if block.weighted.is_empty() {
                    for &lo in positions {
                        row[lo as usize] += T::ONE;
                    }
                } else if block.values.is_empty() {
                    let weight = T::from_sum(block.weighted[at as usize]);
                    for &lo in positions {
                        row[lo as usize] += weight;
                    }
                } else {
                    let weight = block.weighted[at as usize];
                    for (&lo, &value) in positions.iter().zip(&block.values[range]) {
                        row[lo as usize] += T::from_sum(weight * value);
                    }
                }
            }
        }
    }
}

/// The rows of a block as one bitset per feature.
struct Bits {
    words: Vec<u64>,
    n_words: usize,
}

impl Bits {
    fn new(view: &View<'_>, rows: Range<usize>) -> Self {
        let n_words = rows.len().div_ceil(64);
        let mut words = vec![0; n_words * view.layout.n_features()];
        let packed = |ix: usize| view.binary_codes(ix).is_some();
        for ix in (0..view.layout.columns.len()).filter(|&ix| packed(ix)) {
            let codes = &view.binary_codes(ix).expect("a packed column has codes")[rows.clone()];
            let start = view.layout.columns[ix].start * n_words;
            for (word, codes) in words[start..start + n_words].iter_mut().zip(codes.chunks(64)) {
                *word = codes.iter().enumerate().fold(0, |word, (bit, &code)| word | u64::from(code == 1) << bit);
            }
        }
        let set = |words: &mut [u64], row: usize, position: usize| words[position * n_words + row / 64] |= 1 << (row % 64);
        view.visit_except(packed, rows, &mut |row, position, _| set(&mut words, row, position));
        Self { words, n_words }
    }
}

#[inline(always)]
fn bits_rows<T: Cell>(blocks: &[Bits], hi: Range<usize>, cells: &mut [T]) {
    let base = row_start(hi.start);
    for block in blocks {
        for hi in hi.clone() {
            let row = &mut cells[row_start(hi) - base..row_start(hi + 1) - base];
            let mine = &block.words[hi * block.n_words..(hi + 1) * block.n_words];
            for (cell, theirs) in row.iter_mut().zip(block.words.chunks_exact(block.n_words)) {
                *cell += T::from_count(both(mine, theirs));
            }
        }
    }
}

/// Number of rows in both bitsets.
#[inline(always)]
fn both(left: &[u64], right: &[u64]) -> u32 {
    left.iter().zip(right).map(|(left, right)| (left & right).count_ones()).sum()
}

/// The rows of a block as panels of 8 features, each panel row after row.
struct Panels {
    values: Vec<f64>,
    /// Values times weights, empty without weights.
    weighted: Vec<f64>,
    n_rows: usize,
}

impl Panels {
    fn new(view: &View<'_>, rows: Range<usize>) -> Self {
        let n_rows = rows.len();
        let mut values = vec![0.0; view.layout.n_features().div_ceil(PANEL) * n_rows * PANEL];
        view.visit(rows.clone(), &mut |row, position, value| {
            values[(position / PANEL * n_rows + row) * PANEL + position % PANEL] = value;
        });
        let mut weighted = Vec::new();
        if let Some(weights) = view.weights() {
            weighted.clone_from(&values);
            for (ix, row) in weighted.chunks_exact_mut(PANEL).enumerate() {
                row.iter_mut().for_each(|value| *value *= weights[rows.start + ix % n_rows]);
            }
        }
        Self { values, weighted, n_rows }
    }
}

#[inline(always)]
fn panels_rows<T: Cell>(blocks: &[Panels], hi: Range<usize>, cells: &mut [T]) {
    let base = row_start(hi.start);
    for block in blocks {
        let size = block.n_rows * PANEL;
        let weighted = if block.weighted.is_empty() { &block.values } else { &block.weighted };
        // Ranges start at multiples of the panel.
        for hi_panel in hi.start / PANEL..hi.end.div_ceil(PANEL) {
            let mine = &weighted[hi_panel * size..(hi_panel + 1) * size];
            for lo_panel in 0..=hi_panel {
                let theirs = &block.values[lo_panel * size..(lo_panel + 1) * size];
                for half in [0, HALF] {
                    let sums = tile(mine, theirs, half);
                    for (offset, sums) in sums.iter().enumerate() {
                        let hi_feature = hi_panel * PANEL + half + offset;
                        if hi_feature >= hi.end {
                            continue;
                        }
                        let row = &mut cells[row_start(hi_feature) - base..row_start(hi_feature + 1) - base];
                        let start = lo_panel * PANEL;
                        row[start..].iter_mut().zip(sums).for_each(|(cell, &sum)| *cell += T::from_sum(sum));
                    }
                }
            }
        }
    }
}

/// Products of four features of one panel with the eight of another, summed over rows in order.
#[inline(always)]
fn tile(mine: &[f64], theirs: &[f64], half: usize) -> [[f64; PANEL]; HALF] {
    let mut sums = [[0.0; PANEL]; HALF];
    let (mine, _) = mine.as_chunks::<PANEL>();
    let (theirs, _) = theirs.as_chunks::<PANEL>();
    for (left, right) in mine.iter().zip(theirs) {
        for i in 0..HALF {
            for j in 0..PANEL {
                sums[i][j] += left[half + i] * right[j];
            }
        }
    }
    sums
}
