//! Pairs of columns whose dependence is not significant in the data.
//!
//! The test statistic is `N · Σ_ab C_ab² / (v_a v_b)`, with `C` the centred cross-moments of the features of two columns and
//! `v` the variance of a number or the share of a label: Pearson's chi-square for labels, `N ρ²` for numbers. Under
//! independence, it is chi-square with the product of the columns' degrees of freedom. A pair below the 95% point is too weak
//! to use: its correlation is not significant, so it has no information distance.

use rayon::prelude::*;

use crate::index::ColIx;
use crate::moments::PairMoments;

/// How many pairs of columns are too weak to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WeakPairs {
    /// Number of pairs tested.
    pub pairs: u64,
    /// Number of pairs without significant dependence.
    pub weak: u64,
    /// Number of pairs that are never present together.
    pub never_together: u64,
}

/// Counts the pairs of columns that are too weak to use. Columns with more than a thousand labels are left out.
#[must_use]
pub fn weak_pairs(moments: &PairMoments) -> WeakPairs {
    const MAX_FEATURES: usize = 1000;
    let n_columns = moments.schema().columns().len();
    let columns: Vec<ColIx> = (0..n_columns).map(ColIx::new).filter(|&ix| moments.n_features(ix) <= MAX_FEATURES).collect();
    let spreads: Vec<Vec<f64>> = columns.iter().map(|&column| spread(moments, column)).collect();
    let rows = (0..columns.len()).into_par_iter().map(|i| {
        let mut count = WeakPairs { pairs: 0, weak: 0, never_together: 0 };
        let mut buffer = Vec::new();
        for j in 0..i {
            count.pairs += 1;
            let weight = moments.pair_weight(columns[i], columns[j]);
            if weight <= 0.0 {
                count.never_together += 1;
                continue;
            }
            buffer.clear();
            buffer.resize(spreads[i].len() * spreads[j].len(), 0.0);
            moments.cross_into(columns[i], columns[j], &mut buffer);
            let cells = buffer.iter().enumerate().map(|(at, cross)| {
                let scale = spreads[i][at / spreads[j].len()] * spreads[j][at % spreads[j].len()];
                if scale > 0.0 { cross * cross / scale } else { 0.0 }
            });
            let statistic = weight * cells.sum::<f64>();
            let freedom = degrees_of_freedom(&spreads[i]) * degrees_of_freedom(&spreads[j]);
            count.weak += u64::from(freedom == 0.0 || statistic < chi_square_95(freedom));
        }
        count
    });
    rows.reduce(
        || WeakPairs { pairs: 0, weak: 0, never_together: 0 },
        |a, b| WeakPairs { pairs: a.pairs + b.pairs, weak: a.weak + b.weak, never_together: a.never_together + b.never_together },
    )
}

/// The variance of a number (or of a binary column), or the share of each label.
fn spread(moments: &PairMoments, column: ColIx) -> Vec<f64> {
    match moments.n_features(column) {
        1 => vec![moments.variance(column).unwrap_or(0.0)],
        _ => {
            let weights = moments.level_weights(column).unwrap_or_default();
            let total: f64 = weights.iter().sum();
            weights.iter().map(|weight| if total > 0.0 { weight / total } else { 0.0 }).collect()
        }
    }
}

fn degrees_of_freedom(spread: &[f64]) -> f64 {
    let used = spread.iter().filter(|&&value| value > 0.0).count();
    if spread.len() == 1 { used as f64 } else { used.saturating_sub(1) as f64 }
}

/// The 95% point of a chi-square distribution by the Wilson–Hilferty approximation (within 2% for one degree of freedom,
/// better above).
fn chi_square_95(freedom: f64) -> f64 {
    let part = 2.0 / (9.0 * freedom);
    freedom * (1.0 - part + 1.644_853_6 * part.sqrt()).powi(3)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::data::{ColumnData, Dataset, Kind, Schema};
    use crate::moments::fold;
    use crate::observer::Silent;

    #[test]
    fn the_chi_square_point_is_near_the_tables() {
        // Abramowitz and Stegun, table 26.8.
        for (freedom, point) in [(1.0, 3.841), (4.0, 9.488), (10.0, 18.307), (100.0, 124.342)] {
            assert!((chi_square_95(freedom) / point - 1.0_f64).abs() < 0.03);
        }
    }

    #[test]
    fn copies_are_strong_and_constants_and_strangers_are_weak() {
        let kinds = [Kind::binary(), Kind::binary(), Kind::numbered(3), Kind::Continuous, Kind::numbered(2)];
        let schema = kinds.into_iter().enumerate().fold(Schema::builder(), |it, (ix, kind)| it.scalar(format!("c{ix}"), kind));
        let n = 900_usize;
        let cycle = |period: usize| (0..n).map(move |ix| ix / 2 % period);
        let columns = vec![
            ColumnData::Codes8((0..n).map(|ix| (ix % 2) as u8).collect()),
            ColumnData::Codes8((0..n).map(|ix| (ix % 2) as u8).collect()),
            // Over 900 rows, all pairs of (row parity, row half mod 3) are equally frequent.
            ColumnData::Codes8(cycle(3).map(|it| it as u8).collect()),
            ColumnData::Reals(cycle(3).map(|it| it as f64).collect()),
            ColumnData::Codes8(vec![0; n]),
        ];
        let data = Dataset::from_columns(Arc::new(schema.build().unwrap()), columns, None).unwrap();
        let moments = fold(&mut data.source(), PairMoments::new(data.schema().clone()).unwrap(), &Silent).unwrap();
        // Strong: c0–c1 and c2–c3. Weak: the other eight.
        assert_eq!(weak_pairs(&moments), WeakPairs { pairs: 10, weak: 8, never_together: 0 });
    }
}
