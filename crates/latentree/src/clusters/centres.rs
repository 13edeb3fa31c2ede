//! Two clusters as distributions with a centre each: which one a row belongs to, and how much a split improves the
//! likelihood.

use rayon::prelude::*;

use super::table::Table;
use crate::mixture::MixtureFamily;
use crate::model::features::{Features, Source};
use crate::model::{Linear, SplitRule};
use crate::moments::Summary;

/// Maximum number of EM passes over the rows of a node.
const PASSES: usize = 100;
/// Mean change of the rows' posteriors per pass below which EM stops.
const TOLERANCE: f64 = 1e-4;
/// Minimum variance of a number within a cluster, as a share of its variance in all rows, so that units do not matter.
const LEAST_VARIANCE: f64 = 1e-6;

/// The distribution of a column within a cluster.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Part {
    /// A share of all words.
    Share,
    /// A Poisson count.
    Rate,
    /// Indicators of the labels of a column; this many features.
    Labels(usize),
    /// A normally distributed number.
    Normal,
}

/// The distributions of the features of a family.
#[derive(Debug, Clone)]
pub(super) struct Likelihood {
    /// The first feature of each column, and its distribution.
    parts: Vec<(usize, Part)>,
    n_features: usize,
    /// The minimum variance of each feature.
    floors: Vec<f64>,
}

/// Sums over the rows of a cluster.
#[derive(Debug, Clone)]
pub(super) struct Sums {
    pub(super) weight: f64,
    pub(super) first: Vec<f64>,
    pub(super) squares: Vec<f64>,
}

impl Likelihood {
    pub(super) fn new(features: &Features, family: MixtureFamily, summary: &Summary) -> Self {
        let part = |source: &Source| match *source {
            Source::Codes { first, n_states } => (first as usize, Part::Labels(n_states.saturating_sub(1) as usize)),
            Source::Number { feature, .. } => {
                let part = match family {
                    MixtureFamily::SingleTopic | MixtureFamily::Lda => Part::Share,
                    MixtureFamily::Poisson => Part::Rate,
                    _ => Part::Normal,
                };
                (feature as usize, part)
            }
        };
        let mut floors = vec![LEAST_VARIANCE; features.n];
        for (source, column) in features.sources.iter().zip(summary.columns()) {
            if let Source::Number { feature, scale, .. } = *source
                && column.variance() > 0.0
            {
                floors[feature as usize] *= column.variance() / (scale * scale);
            }
        }
        Self { parts: features.sources.iter().map(part).collect(), n_features: features.n, floors }
    }

    fn is_normal(&self) -> bool {
        self.parts.iter().any(|it| it.1 == Part::Normal)
    }

    /// Sums over some rows; `shares`, if given, multiplies each row by the share at the same place in the list.
    pub(super) fn sums(&self, table: &Table, rows: &[u32], shares: Option<&[f64]>) -> Sums {
        let d = self.n_features;
        let with_squares = self.is_normal();
        // Rows are identified by their place in the list, because shares are stored in that order.
        let places: Vec<u32> = (0..rows.len() as u32).collect();
        let size = 1 + d * (1 + usize::from(with_squares));
        let vectors = table.vectors();
        let sums = table.sums(&places, size, |_, place, _, sums| {
            let row = rows[place] as usize;
            let weight = vectors.weight(row) * shares.map_or(1.0, |shares| shares[place]);
            sums[0] += weight;
            for (feature, x) in vectors.row(row) {
                sums[1 + feature] += weight * x;
                if with_squares {
                    sums[1 + d + feature] += weight * x * x;
                }
            }
        });
        let squares = if with_squares { sums[1 + d..].to_vec() } else { vec![0.0; d] };
        Sums { weight: sums[0], first: sums[1..=d].to_vec(), squares }
    }

    /// The maximum log-likelihood of rows with these sums, up to terms that do not depend on the split.
    pub(super) fn largest(&self, sums: &Sums) -> f64 {
        let entropy = |count: f64, total: f64| if count > 0.0 && total > 0.0 { count * (count / total).ln() } else { 0.0 };
        let words: f64 = self.parts.iter().filter(|it| it.1 == Part::Share).map(|it| sums.first[it.0]).sum();
        let part = |&(feature, part): &(usize, Part)| match part {
            Part::Share => entropy(sums.first[feature], words),
            Part::Rate => entropy(sums.first[feature], sums.weight),
            Part::Labels(n) => {
                let counts = &sums.first[feature..feature + n];
                let zero = sums.weight - counts.iter().sum::<f64>();
                counts.iter().map(|&count| entropy(count, sums.weight)).sum::<f64>() + entropy(zero, sums.weight)
            }
            Part::Normal => -0.5 * sums.weight * self.variance(sums, feature).ln(),
        };
        self.parts.iter().map(part).sum()
    }

    fn variance(&self, sums: &Sums, feature: usize) -> f64 {
        let mean = sums.first[feature] / sums.weight;
        (sums.squares[feature] / sums.weight - mean * mean).max(self.floors[feature])
    }

    /// Number of parameters of a cluster: its features that are not always zero.
    pub(super) fn n_parameters(&self, sums: &Sums) -> f64 {
        let normal: f64 = self.parts.iter().map(|it| f64::from(u8::from(it.1 == Part::Normal))).sum();
        sums.first.iter().filter(|sum| **sum != 0.0).count() as f64 + normal
    }

    /// The log-ratio of two clusters with these sums, shrunk towards the whole node as one additional average row would.
    pub(super) fn rule(&self, all: &Sums, sides: [&Sums; 2]) -> SplitRule {
        let mean = |sums: &Sums, feature: usize| {
            let one = all.first[feature] / all.weight;
            (sums.first[feature].max(0.0) + one) / (sums.weight + 1.0)
        };
        let total = |sums: &Sums| self.parts.iter().filter(|it| it.1 == Part::Share).map(|it| mean(sums, it.0)).sum::<f64>();
        let totals = sides.map(total);
        let mut factors = vec![0.0; self.n_features];
        let mut offset = (sides[0].weight / sides[1].weight).ln();
        for &(feature, part) in &self.parts {
            match part {
                Part::Share | Part::Rate => {
                    let [a, b] = sides.map(|side| mean(side, feature));
                    if a > 0.0 && b > 0.0 {
                        factors[feature] = (a / b).ln() - if part == Part::Share { (totals[0] / totals[1]).ln() } else { 0.0 };
                    }
                    if part == Part::Rate {
                        offset -= a - b;
                    }
                }
                Part::Labels(n) => {
                    let zeros = sides.map(|side| (1.0 - (feature..feature + n).map(|it| mean(side, it)).sum::<f64>()).max(1e-12));
                    let ratio = (zeros[0] / zeros[1]).ln();
                    offset += ratio;
                    for it in feature..feature + n {
                        let [a, b] = sides.map(|side| mean(side, it));
                        if a > 0.0 && b > 0.0 {
                            factors[it] = (a / b).ln() - ratio;
                        }
                    }
                }
                Part::Normal => {
                    let [a, b] = sides.map(|side| side.first[feature] / side.weight);
                    // Both sides share one variance, so that the boundary is a hyperplane.
                    let within =
                        sides.map(|side| side.squares[feature] - side.first[feature].powi(2) / side.weight).iter().sum::<f64>();
                    let variance = (within / (sides[0].weight + sides[1].weight)).max(self.floors[feature]);
                    factors[feature] = (a - b) / variance;
                    offset -= 0.5 * (a * a - b * b) / variance;
                }
            }
        }
        SplitRule::Posterior { log_ratio: Linear { offset, factors } }
    }

    /// Refines two clusters by EM, starting from an assignment of the rows (1 means the first side).
    pub(super) fn refine(&self, table: &Table, rows: &[u32], all: &Sums, mut shares: Vec<f64>) -> Option<SplitRule> {
        let vectors = table.vectors();
        let mut rule = None;
        for _ in 0..PASSES {
            let first = self.sums(table, rows, Some(&shares));
            let rest = |all: &[f64], own: &[f64]| all.iter().zip(own).map(|(all, own)| all - own).collect();
            let second = Sums {
                weight: all.weight - first.weight,
                first: rest(&all.first, &first.first),
                squares: rest(&all.squares, &first.squares),
            };
            if first.weight <= 1e-9 * all.weight || second.weight <= 1e-9 * all.weight {
                return None;
            }
            let found = self.rule(all, [&first, &second]);
            let SplitRule::Posterior { log_ratio } = &found else { unreachable!("a posterior was made") };
            let next: Vec<f64> =
                rows.par_iter().map(|&row| 1.0 / (1.0 + (-log_ratio.at(&vectors, row as usize)).exp())).collect();
            let moved: f64 = next.iter().zip(&shares).map(|(next, share)| (next - share).abs()).sum();
            shares = next;
            rule = Some(found);
            if moved <= TOLERANCE * rows.len() as f64 {
                break;
            }
        }
        rule
    }
}
