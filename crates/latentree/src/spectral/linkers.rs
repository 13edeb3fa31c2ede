//! Summaries of the two sides of each edge.
//!
//! The summary of a side consists of 1 and k − 1 numbers: the first canonical variates of its variables with those of the
//! other side. With [`Linkers::Stacked`], it uses all variables of the side, nearest first, up to a limit on the number of
//! labels; with [`Linkers::Single`], a single variable, from the pair with the largest (k − 1)-th canonical correlation. The
//! k of an edge is limited by the number of canonical correlations above the noise.

use std::str::FromStr;
use std::sync::Arc;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::labels::Labels;
use super::network::Network;
use super::pair_tables::{PairPlan, PairTables};
use crate::error::{Error, Place, Result, Shortened};
use crate::linalg::{Matrix, jacobi_svd, symmetric_eigen};
use crate::tensor::Spectrum;

/// Maximum number of variables per side, and the maximum in trees with many edges.
const MOST_VARIABLES: usize = 32;
const MOST_IN_LARGE: usize = 10;
/// Number of edges above which a tree counts as large.
const LARGE: usize = 1000;
/// Maximum number of labels per side, unless its nearest variable alone has more.
const MOST_LABELS: usize = 144;
/// Minimum number of rows for a label to have a number of its own.
const FEWEST_ROWS: f64 = 5.0;
/// Number of rows required per label of a side; the nearest variable is always kept.
const ROWS_PER_LABEL: f64 = 30.0;
/// Maximum number of variables of a side from which one is chosen.
const MOST_CANDIDATES: usize = 12;
/// Eigenvalues of a covariance matrix below this share of the largest count as zero.
const NEGLIGIBLE: f64 = 1e-9;
/// Canonical correlations below this value count as zero.
const ROUNDING: f64 = 1e-7;
/// Maximum number of dimensions of an edge if the number is estimated.
pub(super) const MOST_FOUND: usize = 32;

/// The variables that represent a branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Linkers {
    /// All variables, through the canonical variates of their labels with the rest.
    #[default]
    Stacked,
    /// The single variable with the largest singular value.
    Single,
}

impl Linkers {
    /// All choices.
    pub const ALL: [Self; 2] = [Self::Stacked, Self::Single];

    /// The name used in options and files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Stacked => "stacked",
            Self::Single => "single",
        }
    }
}

crate::named::by_name!(Linkers);

impl FromStr for Linkers {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::ALL
            .into_iter()
            .find(|it| it.name() == name)
            .ok_or_else(|| Error::option("parameters.linkers", format!("{:?} is not stacked or single", Shortened(name))))
    }
}

/// The summary of a side: for each of its variables, k − 1 numbers per label; a missing cell contributes nothing.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Summary {
    pub(crate) variables: Vec<usize>,
    pub(crate) numbers: Vec<Vec<f64>>,
}

/// The result for an edge.
pub(super) struct Linked {
    pub(super) rank: usize,
    pub(super) summaries: [Summary; 2],
    /// Canonical correlations of the two sides, without that of the constant.
    pub(super) spectrum: Spectrum,
}

/// The number of dimensions of the edges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rank {
    Fixed(usize),
    Auto,
}

/// The variables that represent the sides of all edges.
pub(super) struct Sides(Vec<[Vec<usize>; 2]>);

impl Sides {
    pub(super) fn new(network: &Network, lengths: &[f64], labels: &Labels, linkers: Linkers) -> Self {
        let most = match linkers {
            Linkers::Single => MOST_CANDIDATES,
            Linkers::Stacked if network.edges.len() > LARGE => MOST_IN_LARGE,
            Linkers::Stacked => MOST_VARIABLES,
        };
        let side = |edge: usize, side: usize| {
            let (mut found, mut n_labels) = (Vec::new(), 0);
            network.nearest(lengths, edge, side, |variable| {
                let n = labels.n_labels[variable];
                if found.is_empty() || linkers == Linkers::Single || n_labels + n <= MOST_LABELS {
                    found.push(variable);
                    n_labels += n;
                }
                found.len() < most && n_labels < MOST_LABELS
            });
            found
        };
        let edges = (0..network.edges.len()).into_par_iter();
        Self(edges.map(|edge| if network.is_pair(edge) { Default::default() } else { [side(edge, 0), side(edge, 1)] }).collect())
    }

    /// The pairs to be counted: within sides and between them.
    pub(super) fn pairs(&self, labels: Labels, linkers: Linkers) -> PairPlan {
        let mut pairs = Vec::new();
        for [left, right] in &self.0 {
            let all: Vec<usize> = left.iter().chain(right).copied().collect();
            for (at, &a) in all.iter().enumerate() {
                let others = if linkers == Linkers::Single && at < left.len() { &all[left.len()..] } else { &all[at + 1..] };
                let others = if linkers == Linkers::Single && at >= left.len() { &[][..] } else { others };
                pairs.extend(others.iter().map(|&b| (a.min(b), a.max(b))));
            }
            // Edges with many pairs share many of them.
            if pairs.len() > 1 << 22 {
                pairs.sort_unstable();
                pairs.dedup();
            }
        }
        PairPlan::new(labels, pairs)
    }

    /// The summaries of all edges. `rows` is the number of rows that determines the noise level.
    ///
    /// # Errors
    /// [`Error::Data`] if the variables on the two sides of an edge are never present together.
    pub(super) fn linked(
        &self,
        tables: &PairTables,
        linkers: Linkers,
        rank: Rank,
        rows: f64,
        describe: impl Fn(usize) -> String + Sync,
    ) -> Result<Vec<Linked>> {
        let numbers = Numbers::new(tables, rows);
        let edges = self.0.par_iter().enumerate();
        edges
            .map(|(edge, [left, right])| {
                if left.is_empty() || right.is_empty() {
                    let spectrum = Spectrum { views: (0, 1), values: Vec::new(), n_components: 0, noise: 0.0 };
                    return Ok(Linked { rank: 1, summaries: Default::default(), spectrum });
                }
                let pairs = left.iter().flat_map(|&a| right.iter().map(move |&b| (a, b)));
                if !pairs.clone().any(|(a, b)| numbers.are_together(a, b)) {
                    return Err(Error::data(
                        Place::default(),
                        format!(
                            "the columns on the two sides of {} are never present in the same row, so nothing can be learned about how \
                             they depend; leave out one side, or use rows that have both",
                            describe(edge)
                        ),
                    ));
                }
                Ok(match linkers {
                    Linkers::Stacked => {
                        let [left, right] = [left, right].map(|side| numbers.affordable(side, rows));
                        numbers.linked(left, right, rank, rows)
                    }
                    Linkers::Single => {
                        let of_pair = |(a, b): (usize, usize)| numbers.linked(&[a], &[b], rank, rows);
                        let better = |a: &Linked, b: &Linked| {
                            let last = |it: &Linked| it.rank.checked_sub(2).map_or(0.0, |ix| it.spectrum.values[ix]);
                            a.rank.cmp(&b.rank).then(last(a).total_cmp(&last(b)))
                        };
                        let together = pairs.filter(|&(a, b)| numbers.are_together(a, b)).map(of_pair);
                        together
                            .reduce(|best, it| if better(&it, &best).is_gt() { it } else { best })
                            .expect("a pair is present together")
                    }
                })
            })
            .collect()
    }
}

/// Labels as standardised numbers: `(1{x = label} − p) / √p` where present, else 0.
pub(super) struct Numbers<'a> {
    tables: &'a PairTables,
    /// The probability of each label among the rows where its variable is present.
    shares: Vec<Vec<f64>>,
    /// Labels rarer than this have no number of their own: two such labels that meet once would look like a perfect
    /// correlation.
    rarest: f64,
}

impl<'a> Numbers<'a> {
    /// `rows` is the number of rows that decides which labels are rare.
    pub(super) fn new(tables: &'a PairTables, rows: f64) -> Self {
        let share = |counts: &Vec<f64>| {
            let sum = counts.iter().sum::<f64>().max(f64::MIN_POSITIVE);
            counts.iter().map(|count| count / sum).collect()
        };
        Self { tables, shares: tables.singles.iter().map(share).collect(), rarest: FEWEST_ROWS / rows }
    }

    /// The probability of each label among the rows where its variable is present.
    pub(super) fn shares(&self) -> &[Vec<f64>] {
        &self.shares
    }

    /// The nearest variables of a side for whose labels there are enough rows: canonical variates of more variables would fit
    /// noise.
    fn affordable<'s>(&self, side: &'s [usize], rows: f64) -> &'s [usize] {
        let mut n_labels = 0;
        let is_kept = |&&variable: &&usize| {
            n_labels += self.shares[variable].len();
            n_labels as f64 <= rows / ROWS_PER_LABEL
        };
        &side[..side.iter().take_while(is_kept).count().max(1)]
    }

    fn are_together(&self, a: usize, b: usize) -> bool {
        let mut together = false;
        self.tables.each(a, b, |_, _, weight| together |= weight > 0.0);
        together
    }

    fn scale(&self, variable: usize, label: usize) -> f64 {
        let p = self.shares[variable][label];
        if p > 0.0 && p >= self.rarest { 1.0 / p.sqrt() } else { 0.0 }
    }

    /// Second moments of the standardised numbers of two variables.
    fn block(&self, a: usize, b: usize) -> Matrix {
        let (n, m) = (self.shares[a].len(), self.shares[b].len());
        let weight = self.tables.weight.max(f64::MIN_POSITIVE);
        if a == b {
            let share = self.tables.share(a);
            return Matrix::from_fn(n, n, |i, j| {
                let (p, q) = (self.shares[a][i], self.shares[a][j]);
                share * (if i == j { p } else { 0.0 } - p * q) * self.scale(a, i) * self.scale(a, j)
            });
        }
        let mut out = Matrix::zeros(n, m);
        let (mut rows, mut columns, mut total) = (vec![0.0; n], vec![0.0; m], 0.0);
        self.tables.each(a, b, |i, j, count| {
            out.row_mut(i)[j] += count / weight;
            rows[i] += count / weight;
            columns[j] += count / weight;
            total += count / weight;
        });
        for i in 0..n {
            for j in 0..m {
                let (p, q) = (self.shares[a][i], self.shares[b][j]);
                let centred = out.row(i)[j] - p * columns[j] - rows[i] * q + p * q * total;
                out.row_mut(i)[j] = centred * self.scale(a, i) * self.scale(b, j);
            }
        }
        out
    }

    fn blocks(&self, left: &[usize], right: &[usize]) -> Matrix {
        let size = |side: &[usize]| side.iter().map(|&it| self.shares[it].len()).sum::<usize>();
        let mut out = Matrix::zeros(size(left), size(right));
        let mut row = 0;
        for &a in left {
            let mut column = 0;
            for &b in right {
                let block = self.block(a, b);
                for i in 0..block.n_rows() {
                    out.row_mut(row + i)[column..column + block.n_cols()].copy_from_slice(block.row(i));
                }
                column += block.n_cols();
            }
            row += self.shares[a].len();
        }
        out
    }

    /// `W` with `Wᵀ C W = 1` on the subspace where the covariance is not zero, as columns.
    fn whitening(&self, side: &[usize], rows: f64) -> Matrix {
        let covariance = self.blocks(side, side);
        let d = covariance.n_rows();
        let Some((values, vectors)) = symmetric_eigen(covariance.cells(), d) else { return Matrix::zeros(d, 0) };
        let largest = values.iter().copied().fold(0.0, f64::max);
        let kept: Vec<usize> = (0..d).filter(|&ix| values[ix] > NEGLIGIBLE * largest && values[ix] > 0.0).collect();
        let ridge = if side.len() > 1 { 0.1 * d as f64 / rows } else { 0.0 };
        Matrix::from_fn(d, kept.len(), |i, c| vectors[kept[c] * d + i] / (values[kept[c]] + ridge).sqrt())
    }

    /// The summaries of two sides given by these variables.
    pub(super) fn linked(&self, left: &[usize], right: &[usize], rank: Rank, rows: f64) -> Linked {
        let whitening = [self.whitening(left, rows), self.whitening(right, rows)];
        let cross = whitening[0].transposed_times(&self.blocks(left, right)).times(&whitening[1]);
        let (a, b) = (cross.n_rows(), cross.n_cols());
        let svd = jacobi_svd(cross.cells(), a, b);
        let noise = (((a as f64).sqrt() + (b as f64).sqrt()) / rows.sqrt()).max(ROUNDING);
        let asked = match rank {
            Rank::Fixed(k) => k,
            Rank::Auto => MOST_FOUND,
        };
        let spectrum = Spectrum { views: (0, 1), values: svd.values.clone(), n_components: asked - 1, noise };
        let supported = match rank {
            // Half of the level reached by noise alone: the requested dimensions are kept unless they are hardly present.
            Rank::Fixed(k) => {
                spectrum.values.iter().take(k - 1).take_while(|&&value| value > (0.5 * noise).max(ROUNDING)).count()
            }
            Rank::Auto => spectrum.supported().min(MOST_FOUND - 1),
        };
        let rank = 1 + supported;
        let summary = |side: &[usize], map: &Matrix, vector: &dyn Fn(usize) -> Vec<f64>| {
            let vectors: Vec<Vec<f64>> = (0..supported).map(vector).collect();
            let mut first = 0;
            let mut numbers = Vec::with_capacity(side.len());
            for &variable in side {
                let n = self.shares[variable].len();
                let weight = |x: usize, c: usize| {
                    let along: f64 = map.row(first + x).iter().zip(&vectors[c]).map(|(w, u)| w * u).sum();
                    along * self.scale(variable, x)
                };
                let offset: Vec<f64> =
                    (0..supported).map(|c| (0..n).map(|x| self.shares[variable][x] * weight(x, c)).sum()).collect();
                numbers.push(
                    (0..n).flat_map(|x| (0..supported).map(move |c| (x, c))).map(|(x, c)| weight(x, c) - offset[c]).collect(),
                );
                first += n;
            }
            Summary { variables: side.to_vec(), numbers }
        };
        let summaries =
            [summary(left, &whitening[0], &|c| svd.left(c).to_vec()), summary(right, &whitening[1], &|c| svd.right(c).to_vec())];
        Linked { rank, summaries, spectrum }
    }
}

/// The tables of a plan of pairs, without rows.
pub(super) fn tables(plan: PairPlan) -> PairTables {
    PairTables::new(Arc::new(plan))
}
