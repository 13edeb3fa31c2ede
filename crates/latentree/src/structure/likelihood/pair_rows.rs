//! How many rows each pair of variables is seen in, and how many a local comparison of trees may count on.
//!
//! With missing cells a correlation comes from the rows that have both variables. Its error then has two parts: that of all n
//! rows, which correlations share, so that it largely cancels in what a star leaves unexplained; and the rest, of variance
//! `1/n_ij − 1/n`, which each pair has for itself. What a star of correlations g leaves unexplained,
//! `(c_ab − g_a g_b) / √((1 − g_a²)(1 − g_b²))`, has the variance `1/n + (1/n_ab − 1/n) (1 − c_ab²)² / ((1 − g_a²)(1 − g_b²))`,
//! and one over that is the number of rows to which a gain of likelihood per row is scaled (the correction of Satorra and Bentler
//! 1994 with one degree of freedom).

use crate::index::ColIx;
use crate::moments::PairMoments;

/// Observed variables by which a composite's rows are counted: those with the largest weights.
const MEMBERS: usize = 8;
/// Minimum number of rows of a pair. A pair without common rows has correlation 0, with no certainty.
const MIN_ROWS: f64 = 1.0;

/// Numbers of rows, of weight one each.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PairRows {
    /// Of all rows.
    all: f64,
    /// Mean over the pairs.
    mean: f64,
    /// One over the number of each pair, and on the diagonal of each variable, row by row; empty if all are seen in all rows.
    inverse: Vec<f64>,
}

impl PairRows {
    /// Every pair is seen in all rows.
    pub(crate) fn complete(rows: f64) -> Self {
        Self { all: rows, mean: rows, inverse: Vec::new() }
    }

    /// Those of a table, where a variable of several columns is seen in as many rows as its columns on average.
    pub(crate) fn of(moments: &PairMoments) -> Self {
        let rows = moments.effective_rows();
        let weight = moments.total_weight();
        if !(moments.has_missing() || moments.has_noise()) || weight <= 0.0 {
            return Self::complete(rows);
        }
        let variables = moments.schema().variables();
        let p = variables.len();
        let seen = |i: usize, j: usize| {
            let pairs = || variables[i].columns.iter().flat_map(|&a| variables[j].columns.iter().map(move |&b| (a, b)));
            let told = |a: ColIx, b: ColIx| match moments.has_noise() {
                false => moments.pair_weight(a, b),
                // Noise is like fewer rows of this pair.
                true => {
                    let deviations = (moments.noise_deviation(a), moments.noise_deviation(b));
                    moments.pair_weight(a, b) / (1.0 + moments.noise_ratio(a, b, deviations))
                }
            };
            let sum: f64 = pairs().map(|(a, b): (ColIx, ColIx)| told(a, b)).sum();
            sum / pairs().count().max(1) as f64 * rows / weight
        };
        let (mut inverse, mut sum) = (vec![0.0; p * p], 0.0);
        for i in 0..p {
            for j in 0..=i {
                let number = seen(i, j);
                sum += if i == j { 0.0 } else { number };
                inverse[i * p + j] = number.max(MIN_ROWS).recip();
                inverse[j * p + i] = inverse[i * p + j];
            }
        }
        let mean = if p < 2 { rows } else { sum / (p * (p - 1) / 2) as f64 };
        Self { all: rows, mean: mean.max(MIN_ROWS.min(rows)), inverse }
    }

    /// The mean number of rows of a pair.
    pub(crate) fn mean(&self) -> f64 {
        self.mean
    }

    /// Whether some cells are missing.
    pub(crate) fn has_missing(&self) -> bool {
        !self.inverse.is_empty()
    }

    /// `1/n_ab − 1/n` of two composites with these members.
    fn excess(&self, a: &Members, b: &Members) -> f64 {
        let p = self.inverse.len().isqrt();
        let base = self.all.max(MIN_ROWS).recip();
        let own = |members: &Members| members.0.iter().map(|&(i, share)| share * (self.inverse[i * p + i] - base)).sum::<f64>();
        let pairs = a.0.iter().flat_map(|x| b.0.iter().map(move |y| (x, y)));
        let shared: f64 = pairs.map(|(&(i, of_i), &(j, of_j))| of_i * of_j * (self.inverse[i * p + j] - base)).sum();
        (shared + (1.0 - b.total()) * own(a) + (1.0 - a.total()) * own(b)).max(0.0)
    }

    /// Variances of what a star leaves unexplained between composites of correlations `c`, row by row, with their centre's correlations `g`; nothing if no cells are missing.
    pub(crate) fn variances(&self, members: &[&Members], c: &[f64], g: &[f64]) -> Vec<f64> {
        if !self.has_missing() {
            return Vec::new();
        }
        let m = members.len();
        let base = self.all.max(MIN_ROWS).recip();
        let noise = |i: usize| (1.0 - g[i] * g[i]).max(1e-3);
        let mut variances = vec![base; m * m];
        for i in 0..m {
            for j in 0..i {
                let spread = (1.0 - c[i * m + j].powi(2)).powi(2) / (noise(i) * noise(j));
                let value = base + self.excess(members[i], members[j]) * spread;
                variances[i * m + j] = value;
                variances[j * m + i] = value;
            }
        }
        variances
    }
}

/// The observed variables of a composite with the squares of their weights; what lacks to a sum of one comes from their being
/// correlated, and is seen in all rows.
#[derive(Debug, Clone, Default)]
pub(crate) struct Members(Vec<(usize, f64)>);

impl Members {
    /// An observed variable by itself.
    pub(crate) fn one(variable: usize) -> Self {
        Self(vec![(variable, 1.0)])
    }

    fn total(&self) -> f64 {
        self.0.iter().map(|member| member.1).sum::<f64>().min(1.0)
    }

    /// Those of a composite of composites with these weights.
    pub(crate) fn gathered<'a>(parts: impl Iterator<Item = (f64, &'a Self)>) -> Self {
        let weighted = |(weight, part): (f64, &'a Self)| part.0.iter().map(move |&(ix, share)| (ix, weight * weight * share));
        let mut members: Vec<(usize, f64)> = parts.flat_map(weighted).collect();
        let sum = |members: &[(usize, f64)]| members.iter().map(|member| member.1).sum::<f64>();
        let before = sum(&members);
        members.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        members.truncate(MEMBERS);
        let kept = sum(&members);
        if kept > 0.0 {
            members.iter_mut().for_each(|member| member.1 *= before.min(1.0) / kept);
        }
        Self(members)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_of_variables_counts_its_own_rows_and_a_composite_of_many_more() {
        // Four variables, each cell there with probability ½, as in 1,600 rows.
        let rows = PairRows {
            all: 1600.0,
            mean: 400.0,
            inverse: (0..16).map(|at| if at / 4 == at % 4 { 1.0 / 800.0 } else { 1.0 / 400.0 }).collect(),
        };
        let (a, b) = (Members::one(0), Members::one(1));
        assert!((rows.excess(&a, &b) - (1.0 / 400.0 - 1.0 / 1600.0)).abs() < 1e-12);
        // A composite ½ (x2 + x3) + …, of variance one, doubles the noise of half of its variance only: (1 + 1)(1 + ½)/n.
        let half = Members::gathered([(0.5, &Members::one(2)), (0.5, &Members::one(3))].into_iter());
        assert!((rows.excess(&a, &half) - 2.0 / 1600.0).abs() < 1e-12);
        let variances = rows.variances(&[&a, &b], &[1.0, 0.0, 0.0, 1.0], &[0.0, 0.0]);
        assert!((variances[1] - 1.0 / 400.0).abs() < 1e-12);
        assert!(PairRows::complete(1600.0).variances(&[&a, &b], &[1.0; 4], &[0.0; 2]).is_empty());
    }
}
