//! What can be read from pair moments.

use std::sync::Arc;

use super::PairMoments;
use super::layout::{Map, cell};
use super::wide::{WideTables, key, parts};
use crate::data::Schema;
use crate::index::ColIx;
use crate::information;

impl PairMoments {
    /// The columns.
    #[must_use]
    pub fn schema(&self) -> &Arc<Schema> {
        &self.layout.schema
    }

    /// Number of rows seen with a positive weight.
    #[must_use]
    pub fn n_rows(&self) -> u64 {
        self.n_rows
    }

    /// Sum of the weights of all rows, W = Σ w.
    #[must_use]
    pub fn total_weight(&self) -> f64 {
        self.gram(0, 0)
    }

    /// (Σ w)² / Σ w²: how many rows of equal weight tell as much; 0 without rows.
    #[must_use]
    pub fn effective_rows(&self) -> f64 {
        if self.weight_squares > 0.0 { self.total_weight().powi(2) / self.weight_squares } else { 0.0 }
    }

    /// Highest power of numeric columns among the features.
    #[must_use]
    pub fn degree(&self) -> usize {
        self.layout.degree
    }

    /// Whether any cell was missing.
    #[must_use]
    pub fn has_missing(&self) -> bool {
        !self.layout.missing.is_empty()
    }

    /// What is taken off a numeric column's values before its features are made; 0 for other columns.
    #[must_use]
    pub fn shift(&self, column: ColIx) -> f64 {
        self.shifts[column.get()].unwrap_or(0.0)
    }

    /// Number of value features of a column: binary 1, categorical one per label, numeric one per power.
    #[must_use]
    pub fn n_features(&self, column: ColIx) -> usize {
        match self.layout.columns[column.get()].map {
            Map::Wide(_) => self.n_states(column).unwrap_or(0),
            _ => self.layout.columns[column.get()].n_features,
        }
    }

    /// Weight of the rows where column `i` is present.
    #[must_use]
    pub fn weight(&self, i: ColIx) -> f64 {
        self.pair_weight(i, i)
    }

    /// Weight of the rows where both columns are present.
    #[must_use]
    pub fn pair_weight(&self, i: ColIx, j: ColIx) -> f64 {
        let (mi, mj) = (self.missing(i), self.missing(j));
        let absent = |m: Option<usize>| m.map_or(0.0, |m| self.gram(m, 0));
        let both = if let (Some(mi), Some(mj)) = (mi, mj) { self.gram(mi, mj) } else { 0.0 };
        (self.total_weight() - absent(mi) - absent(mj) + both).max(0.0)
    }

    /// Mean of a column of two labels (code 1 counts 1) or of numbers over the rows where it is present; `None` for a column of more
    /// labels or if it is never present.
    #[must_use]
    pub fn mean(&self, i: ColIx) -> Option<f64> {
        let (n, feature) = (self.weight(i), self.scalar_feature(i)?);
        (n > 0.0).then(|| self.feature_sum(i, feature, i) / n + self.shift(i))
    }

    /// Variance (divided by the weight, not by the weight less one) of a column of two labels or of numbers.
    #[must_use]
    pub fn variance(&self, i: ColIx) -> Option<f64> {
        self.covariance(i, i).map(|variance| variance.max(0.0))
    }

    /// Covariance of two columns of two labels or of numbers over the rows where both are present, with the means of those rows:
    /// Σ w x_i x_j / n − (Σ w x_i / n)(Σ w x_j / n). `None` for columns of more labels or if the two are never present together.
    #[must_use]
    pub fn covariance(&self, i: ColIx, j: ColIx) -> Option<f64> {
        let (n, a, b) = (self.pair_weight(i, j), self.scalar_feature(i)?, self.scalar_feature(j)?);
        (n > 0.0).then(|| self.stored(i, a, j, b) / n - self.feature_sum(i, a, j) / n * (self.feature_sum(j, b, i) / n))
    }

    /// Correlation of two columns of two labels or of numbers, within [−1, 1]; `None` where the covariance is, or if either is constant.
    ///
    /// The variances are those over the rows where both are present. Only moments that an earlier version wrote lack them for
    /// numbers; there the variance is that of all rows where a column is present itself.
    #[must_use]
    pub fn correlation(&self, i: ColIx, j: ColIx) -> Option<f64> {
        let covariance = self.covariance(i, j)?;
        let scale = self.variance_beside(i, j)? * self.variance_beside(j, i)?;
        (scale > 0.0).then(|| (covariance / scale.sqrt()).clamp(-1.0, 1.0))
    }

    /// Variance of column `i`, over the rows where `j` is present if that is known.
    fn variance_beside(&self, i: ColIx, j: ColIx) -> Option<f64> {
        self.feature_variance_beside(i, self.scalar_feature(i)?, j)
    }

    /// Mean of a feature of column `i`, over the rows where `j` is present; of a number less its [`shift`](Self::shift).
    pub(crate) fn feature_mean_beside(&self, i: ColIx, feature: usize, j: ColIx) -> f64 {
        self.feature_sum(i, feature, j) / self.pair_weight(i, j)
    }

    /// The variance of a feature of a column of labels; that of a number must be the value itself.
    pub(crate) fn feature_variance_beside(&self, i: ColIx, feature: usize, j: ColIx) -> Option<f64> {
        let column = &self.layout.columns[i.get()];
        if column.map != Map::Powers {
            let share = self.feature_mean_beside(i, feature, j);
            return Some((share * (1.0 - share)).max(0.0)).filter(|it| it.is_finite());
        }
        let Some(slot) = self.layout.missing_slot(j.get()) else { return self.variance(i) };
        let n = self.pair_weight(i, j);
        let mean = self.feature_sum(i, feature, j) / n;
        let squares = match &self.squares {
            _ if self.layout.degree == 2 => self.feature_sum(i, 1, j),
            Some(squares) => {
                let number = self.layout.numbers.binary_search(&i.get()).ok()?;
                self.gram(column.start, column.start) - squares.get(number, slot)
            }
            None => return self.variance(i),
        };
        let variance = squares / n - mean * mean;
        // Less than this is what rounding leaves of a column that is constant where the other is present.
        Some(if variance > 1e-12 * mean * mean { variance } else { 0.0 })
    }

    /// Weights of the states of a discrete column over the rows where it is present; `None` for numbers.
    #[must_use]
    pub fn level_weights(&self, i: ColIx) -> Option<Vec<f64>> {
        let mut out = vec![0.0; self.n_states(i)?];
        self.level_weights_into(i, &mut out);
        Some(out)
    }

    /// [`level_weights`](Self::level_weights) into a buffer of the column's number of states.
    ///
    /// # Panics
    /// If the column is not discrete or the buffer has another length.
    pub fn level_weights_into(&self, i: ColIx, out: &mut [f64]) {
        assert_eq!(self.n_states(i), Some(out.len()), "the buffer fits a discrete column's states");
        out.iter_mut().enumerate().for_each(|(level, out)| *out = self.level_sum(i, level, i));
    }

    /// Joint weights of the states of two discrete columns over the rows where both are present, row by row (states of `i`
    /// are rows); `None` for numbers. For wide columns see [`sparse_table`](Self::sparse_table).
    #[must_use]
    pub fn table(&self, i: ColIx, j: ColIx) -> Option<Vec<f64>> {
        let mut out = vec![0.0; self.n_states(i)?.checked_mul(self.n_states(j)?)?];
        self.table_into(i, j, &mut out);
        Some(out)
    }

    /// [`table`](Self::table) into a buffer of the right length; allocates nothing.
    ///
    /// # Panics
    /// If a column is not discrete or the buffer has another length.
    pub fn table_into(&self, i: ColIx, j: ColIx, out: &mut [f64]) {
        let (Some(d_i), Some(d_j)) = (self.n_states(i), self.n_states(j)) else { panic!("both columns are discrete") };
        assert_eq!(out.len(), d_i * d_j, "the buffer fits the table");
        if i != j && self.is_binary(i) && self.is_binary(j) {
            out.copy_from_slice(&self.binary_table(i, j));
            return;
        }
        for (a, row) in out.chunks_exact_mut(d_j).enumerate() {
            row.iter_mut().enumerate().for_each(|(b, out)| *out = self.joint(i, a, j, b));
        }
    }

    /// The non-zero joint weights of two discrete columns as (state of `i`, state of `j`, weight) in that order; `None` for
    /// numbers.
    ///
    /// # Complexity
    /// For a wide column the number of its entries, not of its cells.
    #[must_use]
    pub fn sparse_table(&self, i: ColIx, j: ColIx) -> Option<Vec<(u32, u32, f64)>> {
        let (d_i, d_j) = (self.n_states(i)?, self.n_states(j)?);
        let is_wide = |column: ColIx| matches!(self.layout.columns[column.get()].map, Map::Wide(_));
        if !is_wide(i) && is_wide(j) {
            let mut entries = self.sparse_table(j, i)?;
            entries.iter_mut().for_each(|entry| *entry = (entry.1, entry.0, entry.2));
            entries.sort_unstable_by_key(|&(a, b, _)| (a, b));
            return Some(entries);
        }
        let mut out = Vec::new();
        match (self.layout.columns[i.get()].map, self.layout.columns[j.get()].map) {
            (Map::Wide(a), Map::Wide(b)) if a == b => {
                for &(key, sum) in self.wide.features[a].entries().iter().filter(|entry| parts(entry.0).1 == 0) {
                    out.push((parts(key).0, parts(key).0, sum));
                }
            }
            (Map::Wide(a), Map::Wide(b)) => {
                for &(key, sum) in self.wide.pairs[WideTables::pair_ix(a.min(b), a.max(b))].entries().iter() {
                    let (low, high) = parts(key);
                    out.push(if a < b { (low, high, sum) } else { (high, low, sum) });
                }
                out.sort_unstable_by_key(|&(a, b, _)| (a, b));
            }
            (Map::Wide(a), _) => {
                let entries = self.wide.features[a].entries();
                for group in entries.chunk_by(|left, right| parts(left.0).0 == parts(right.0).0) {
                    let level = parts(group[0].0).0;
                    let find = |position: usize| {
                        let found = group.binary_search_by_key(&key(level, position as u32), |entry| entry.0);
                        found.map_or(0.0, |ix| group[ix].1)
                    };
                    let column = &self.layout.columns[j.get()];
                    if column.map == Map::Binary {
                        let present = find(0) - self.missing(j).map_or(0.0, find);
                        let ones = find(column.start);
                        out.extend([(level, 0, (present - ones).max(0.0)), (level, 1, ones)]);
                    } else {
                        let range = column.start..column.start + column.n_features;
                        let mine = group.iter().map(|entry| (parts(entry.0).1 as usize, entry.1));
                        let mine = mine.filter(|(position, _)| range.contains(position));
                        out.extend(mine.map(|(position, sum)| (level, (position - column.start) as u32, sum)));
                    }
                }
            }
            _ => {
                let states = (0..d_i).flat_map(|a| (0..d_j).map(move |b| (a, b)));
                out.extend(states.map(|(a, b)| (a as u32, b as u32, self.joint(i, a, j, b))));
            }
        }
        out.retain(|entry| entry.2 != 0.0);
        Some(out)
    }

    /// The centred cross-covariance of the features of two columns over the rows where both are present, features of `i` as
    /// rows: binary and degree-1 numeric columns have one feature, categorical ones a feature per label; the features of a
    /// numeric column are the powers of x − [`shift`](Self::shift). All NaN if the two are never present together.
    #[must_use]
    pub fn cross(&self, i: ColIx, j: ColIx) -> Vec<f64> {
        let mut out = vec![0.0; self.n_features(i) * self.n_features(j)];
        self.cross_into(i, j, &mut out);
        out
    }

    /// [`cross`](Self::cross) into a buffer of [`n_features`](Self::n_features)`(i)·n_features(j)`; allocates nothing.
    ///
    /// # Panics
    /// If the buffer has another length.
    pub fn cross_into(&self, i: ColIx, j: ColIx, out: &mut [f64]) {
        let (d_i, d_j) = (self.n_features(i), self.n_features(j));
        assert_eq!(out.len(), d_i * d_j, "the buffer fits the block");
        let n = self.pair_weight(i, j);
        if n <= 0.0 {
            out.fill(f64::NAN);
            return;
        }
        for (a, row) in out.chunks_exact_mut(d_j).enumerate() {
            let mean = self.feature_sum(i, a, j) / n;
            for (b, out) in row.iter_mut().enumerate() {
                *out = self.stored(i, a, j, b) / n - mean * (self.feature_sum(j, b, i) / n);
            }
        }
    }

    /// Mutual information in nats of two discrete columns over the rows where both are present,
    /// Σ p_ab ln(p_ab / (p_a p_b)); of a column with itself its entropy. `None` for numbers or if the two are never present
    /// together.
    #[must_use]
    pub fn mutual_information(&self, i: ColIx, j: ColIx) -> Option<f64> {
        let (d_i, d_j) = (self.n_states(i)?, self.n_states(j)?);
        let n = self.pair_weight(i, j);
        if n <= 0.0 {
            return None;
        }
        let term = |joint: f64, a: f64, b: f64| joint / n * information::pointwise(joint, a, b, n);
        let mut sum = 0.0;
        if i != j && self.is_binary(i) && self.is_binary(j) {
            let [n00, n01, n10, n11] = self.binary_table(i, j);
            let (a0, a1, b0, b1) = (n00 + n01, n10 + n11, n00 + n10, n01 + n11);
            sum = term(n00, a0, b0) + term(n01, a0, b1) + term(n10, a1, b0) + term(n11, a1, b1);
        } else if [i, j].iter().any(|column| matches!(self.layout.columns[column.get()].map, Map::Wide(_))) {
            let entries = self.sparse_table(i, j)?;
            let mut columns = vec![0.0; d_j];
            entries.iter().for_each(|&(_, b, weight)| columns[b as usize] += weight);
            for row in entries.chunk_by(|left, right| left.0 == right.0) {
                let total: f64 = row.iter().map(|entry| entry.2).sum();
                sum += row.iter().map(|&(_, b, weight)| term(weight, total, columns[b as usize])).sum::<f64>();
            }
        } else {
            for a in 0..d_i {
                let row = self.level_sum(i, a, j);
                for b in 0..d_j {
                    sum += term(self.joint(i, a, j, b), row, self.level_sum(j, b, i));
                }
            }
        }
        Some(sum.max(0.0))
    }

    /// Whether a column has shown a missing cell.
    pub(crate) fn has_missing_in(&self, i: ColIx) -> bool {
        self.missing(i).is_some()
    }

    /// Σ w of the first feature of a binary or numeric column: x, less its [`shift`](Self::shift).
    pub(crate) fn scalar_sum(&self, i: ColIx) -> f64 {
        self.feature_sum(i, 0, i)
    }

    /// Σ w of the product of the first features of two binary or numeric columns. For a fixed `i` and rising `j < i` the cells read
    /// follow each other in memory, where everything else about a pair is far apart: loops over all pairs keep the rest by column.
    #[inline]
    pub(crate) fn scalar_product(&self, i: ColIx, j: ColIx) -> f64 {
        self.gram(self.layout.columns[i.get()].start, self.layout.columns[j.get()].start)
    }

    /// Σ w of the product of a feature of one column and a feature of another, each less a number, over the rows where both are
    /// present.
    pub(crate) fn product_about(&self, (i, a, x): (ColIx, usize, f64), (j, b, y): (ColIx, usize, f64)) -> f64 {
        self.stored(i, a, j, b) - x * self.feature_sum(j, b, i) - y * self.feature_sum(i, a, j) + x * y * self.pair_weight(i, j)
    }

    #[inline]
    fn gram(&self, i: usize, j: usize) -> f64 {
        self.cells.get(cell(i, j))
    }

    fn missing(&self, i: ColIx) -> Option<usize> {
        self.layout.columns[i.get()].missing()
    }

    fn n_states(&self, i: ColIx) -> Option<usize> {
        self.layout.schema.column(i).kind.n_states()
    }

    fn is_binary(&self, i: ColIx) -> bool {
        self.layout.columns[i.get()].map == Map::Binary
    }

    /// The feature that is the value itself of a column of two labels or of numbers.
    fn scalar_feature(&self, i: ColIx) -> Option<usize> {
        let column = &self.layout.columns[i.get()];
        match column.map {
            Map::Binary | Map::Powers => Some(0),
            // Of two labels, the second counts 1, as of a binary column.
            Map::OneHot if column.n_features == 2 => Some(1),
            Map::OneHot | Map::Wide(_) => None,
        }
    }

    /// Σ w of the `a`-th feature of `i` over the rows where `j` is present.
    pub(crate) fn feature_sum(&self, i: ColIx, a: usize, j: ColIx) -> f64 {
        let column = &self.layout.columns[i.get()];
        if let Map::Wide(slot) = column.map {
            let table = &self.wide.features[slot];
            return table.get(key(a as u32, 0)) - self.missing(j).map_or(0.0, |m| table.get(key(a as u32, m as u32)));
        }
        let feature = column.start + a;
        self.gram(feature, 0) - self.missing(j).map_or(0.0, |m| self.gram(feature, m))
    }

    /// Σ w of the product of the `a`-th feature of `i` and the `b`-th of `j`.
    fn stored(&self, i: ColIx, a: usize, j: ColIx, b: usize) -> f64 {
        let (left, right) = (&self.layout.columns[i.get()], &self.layout.columns[j.get()]);
        match (left.map, right.map) {
            (Map::Wide(_), Map::Wide(_)) if i == j => {
                if a == b {
                    self.feature_sum(i, a, i)
                } else {
                    0.0
                }
            }
            (Map::Wide(s), Map::Wide(t)) if s < t => self.wide.pairs[WideTables::pair_ix(s, t)].get(key(a as u32, b as u32)),
            (Map::Wide(s), Map::Wide(t)) => self.wide.pairs[WideTables::pair_ix(t, s)].get(key(b as u32, a as u32)),
            (Map::Wide(s), _) => self.wide.features[s].get(key(a as u32, (right.start + b) as u32)),
            (_, Map::Wide(t)) => self.wide.features[t].get(key(b as u32, (left.start + a) as u32)),
            _ => self.gram(left.start + a, right.start + b),
        }
    }

    /// Weight of the rows where `i` has the level and `j` is present.
    fn level_sum(&self, i: ColIx, level: usize, j: ColIx) -> f64 {
        let sum = match (self.is_binary(i), level) {
            (true, 0) => self.pair_weight(i, j) - self.feature_sum(i, 0, j),
            (true, _) => self.feature_sum(i, 0, j),
            (false, _) => self.feature_sum(i, level, j),
        };
        sum.max(0.0)
    }

    /// Weight of the rows where `i` has level `a` and `j` has level `b`.
    fn joint(&self, i: ColIx, a: usize, j: ColIx, b: usize) -> f64 {
        if i == j {
            return if a == b { self.level_sum(i, a, i) } else { 0.0 };
        }
        let feature = |column: ColIx, level: usize| if self.is_binary(column) { level.checked_sub(1) } else { Some(level) };
        let weight = match (feature(i, a), feature(j, b)) {
            (Some(a), Some(b)) => self.stored(i, a, j, b),
            (None, Some(b)) => self.feature_sum(j, b, i) - self.stored(i, 0, j, b),
            (Some(a), None) => self.feature_sum(i, a, j) - self.stored(i, a, j, 0),
            (None, None) => self.binary_table(i, j)[0],
        };
        weight.max(0.0)
    }

    fn binary_table(&self, i: ColIx, j: ColIx) -> [f64; 4] {
        let (n, both) = (self.pair_weight(i, j), self.stored(i, 0, j, 0));
        let (left, right) = (self.feature_sum(i, 0, j), self.feature_sum(j, 0, i));
        [(n - left - right + both).max(0.0), (right - both).max(0.0), (left - both).max(0.0), both]
    }
}
