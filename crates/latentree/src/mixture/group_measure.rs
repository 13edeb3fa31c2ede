//! `g(x) = x ln x` of the sums of a group of documents: from a table if counts are whole numbers, by logarithms otherwise.

use std::ops::{Add, AddAssign, Sub, SubAssign};

/// Gains are cached for counts from 1 to this number, which covers nine out of ten cells of text.
pub(super) const KEPT: usize = 3;
/// Maximum number of entries in a table of `g`.
const MOST_TABLED: usize = 1 << 23;

/// A number of words or of documents.
pub(super) trait Number:
    Copy + Default + Add<Output = Self> + Sub<Output = Self> + AddAssign + SubAssign + Send + Sync
{
    fn of(value: f64) -> Self;

    /// The number itself if it is a count whose gains are cached.
    fn kept(self) -> Option<usize>;

    /// Returns whether nothing is left after removing `taken`.
    fn is_all(self, taken: Self) -> bool;
}

impl Number for u32 {
    fn of(value: f64) -> Self {
        value as Self
    }

    #[inline]
    fn kept(self) -> Option<usize> {
        (self as usize <= KEPT).then_some(self as usize)
    }

    fn is_all(self, taken: Self) -> bool {
        self <= taken
    }
}

impl Number for f64 {
    fn of(value: f64) -> Self {
        value
    }

    #[inline]
    fn kept(self) -> Option<usize> {
        (1..=KEPT).find(|&x| self == x as f64)
    }

    fn is_all(self, taken: Self) -> bool {
        self - taken <= 1e-9 * taken
    }
}

/// `g` of the sums of a group.
pub(super) trait Measure: Sync {
    type Number: Number;

    /// `g` of the count of a word plus its prior.
    fn word(&self, word: usize, sum: Self::Number) -> f64;

    /// `g` of the total count plus the prior's.
    fn total(&self, sum: Self::Number) -> f64;

    /// `g` of the total weight of the documents.
    fn size(&self, sum: Self::Number) -> f64;
}

/// `g` computed with logarithms.
pub(super) struct Logarithms<'a> {
    prior: &'a [f64],
    prior_total: f64,
}

impl<'a> Logarithms<'a> {
    pub(super) fn new(prior: &'a [f64]) -> Self {
        Self { prior, prior_total: prior.iter().sum() }
    }
}

impl Measure for Logarithms<'_> {
    type Number = f64;

    fn word(&self, word: usize, sum: f64) -> f64 {
        g(self.prior[word] + sum)
    }

    fn total(&self, sum: f64) -> f64 {
        g(self.prior_total + sum)
    }

    fn size(&self, sum: f64) -> f64 {
        g(sum)
    }
}

/// `g` looked up in a table of all sums that whole counts can reach.
pub(super) struct Table {
    /// Start of each word's entries: `g(prior + n)` for n from 0 to the number of its occurrences plus [`KEPT`].
    starts: Vec<usize>,
    words: Vec<f64>,
    totals: Vec<f64>,
    sizes: Vec<f64>,
}

impl Table {
    /// Builds the table. `None` if counts are not whole numbers or sums become too large.
    pub(super) fn of(cells: &[(u32, f64)], weights: &[f64], prior: &[f64]) -> Option<Self> {
        let is_whole = |value: f64| value.fract() == 0.0 && value < MOST_TABLED as f64;
        let are_whole = cells.iter().all(|cell| is_whole(cell.1)) && weights.iter().all(|&it| is_whole(it));
        let weight: f64 = weights.iter().sum();
        let total: f64 = cells.iter().map(|cell| cell.1).sum();
        if !are_whole || weight + 2.0 * total > MOST_TABLED as f64 {
            return None;
        }
        let mut most = vec![0.0; prior.len()];
        cells.iter().for_each(|&(word, count)| most[word as usize] += count);
        let (mut starts, mut words) = (vec![0], Vec::with_capacity(total as usize));
        for (prior, most) in prior.iter().zip(most) {
            words.extend((0..=most as usize + KEPT).map(|n| g(prior + n as f64)));
            starts.push(words.len());
        }
        let prior_total: f64 = prior.iter().sum();
        let totals = (0..=total as usize).map(|n| g(prior_total + n as f64)).collect();
        Some(Self { starts, words, totals, sizes: (0..=weight as usize).map(|n| g(n as f64)).collect() })
    }
}

impl Measure for Table {
    type Number = u32;

    #[inline]
    fn word(&self, word: usize, sum: u32) -> f64 {
        self.words[self.starts[word] + sum as usize]
    }

    #[inline]
    fn total(&self, sum: u32) -> f64 {
        self.totals[sum as usize]
    }

    #[inline]
    fn size(&self, sum: u32) -> f64 {
        self.sizes[sum as usize]
    }
}

/// `x ln x`.
fn g(x: f64) -> f64 {
    if x > 0.0 { x * x.ln() } else { 0.0 }
}
