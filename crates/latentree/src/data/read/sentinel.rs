//! Numbers that may stand for missing values: -9, 99, 999 and the like, at an end of a column's range and far from its other values.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Fewest cells in which such a number occurs.
const FEWEST: u64 = 3;
/// Fewest cells with other numbers.
const FEWEST_OTHERS: u64 = 20;
/// Most such numbers at one end of a column.
const MOST: usize = 4;
/// The least distance to other values, as a share of their range.
const GAP: f64 = 0.2;

/// The numbers of a column that are used for missing values, and the range of the others.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Sentinels {
    counts: BTreeMap<i64, u64>,
    others: Option<(f64, f64)>,
    n_others: u64,
}

impl Sentinels {
    /// Takes a number in.
    pub(super) fn add(&mut self, value: f64, count: u64) {
        match sentinel(value) {
            Some(sentinel) => *self.counts.entry(sentinel).or_insert(0) += count,
            None if value.is_finite() => self.add_others(value, value, count),
            None => {}
        }
    }

    fn add_others(&mut self, least: f64, largest: f64, count: u64) {
        let (low, high) = self.others.unwrap_or((least, largest));
        self.others = Some((low.min(least), high.max(largest)));
        self.n_others += count;
    }

    /// Joins those of other rows.
    #[cfg(feature = "columnar")]
    pub(super) fn merge(&mut self, other: &Self) {
        for (&value, &count) in &other.counts {
            *self.counts.entry(value).or_insert(0) += count;
        }
        if let Some((least, largest)) = other.others {
            self.add_others(least, largest, other.n_others);
        }
    }

    /// The numbers that look as if they stood for missing values.
    pub(super) fn suspects(&self) -> Vec<i64> {
        let Some((least, largest)) = self.others.filter(|(least, largest)| self.n_others >= FEWEST_OTHERS && least < largest)
        else {
            return Vec::new();
        };
        let are_frequent = |values: &[(&i64, &u64)]| values.iter().all(|it| *it.1 >= FEWEST);
        let (negative, positive): (Vec<_>, Vec<_>) = self.counts.iter().partition(|it| *it.0 < 0);
        let mut suspects: Vec<i64> = Vec::new();
        if least >= 0.0 && negative.len() <= MOST && are_frequent(&negative) {
            suspects.extend(negative.iter().map(|it| *it.0));
        }
        let is_suspicious = |n_last: &usize| {
            let (before, last) = positive.split_at(positive.len() - n_last);
            let end = before.last().map_or(largest, |it| largest.max(*it.0 as f64));
            let start = least.min(before.first().map_or(least, |it| *it.0 as f64));
            let first = *last[0].0;
            first as f64 - end > GAP * (end - start) && are_frequent(last) && first.ilog10() == last[n_last - 1].0.ilog10()
        };
        let n_last = (1..=positive.len().min(MOST)).rev().find(is_suspicious).unwrap_or(0);
        suspects.extend(positive[positive.len() - n_last..].iter().map(|it| *it.0));
        suspects
    }
}

/// The number as one that is used for missing values, if it is.
fn sentinel(value: f64) -> Option<i64> {
    if !(-99_999.0..=9_999_999.0).contains(&value) || (-6.0..66.0).contains(&value) || value.fract() != 0.0 {
        return None;
    }
    let whole = value as i64;
    // -9 and 99, and what stands before them in lists of codes: refused, does not know.
    let is_positive = matches!(
        whole,
        66 | 77 | 88 | 96..=99 | 666 | 777 | 888 | 996..=999 | 6666 | 7777 | 8888 | 9996..=9999 | 88_888 | 99_998 | 99_999 | 999_998
            | 999_999 | 9_999_998 | 9_999_999
    );
    let is_negative = matches!(
        whole,
        -9..=-6 | -66 | -77 | -88 | -99..=-96 | -666 | -777 | -888 | -999..=-996 | -8888 | -9999..=-9997 | -99_999
    );
    (is_positive || is_negative).then_some(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suspects(values: impl IntoIterator<Item = (f64, u64)>) -> Vec<i64> {
        let mut sentinels = Sentinels::default();
        values.into_iter().for_each(|(value, count)| sentinels.add(value, count));
        sentinels.suspects()
    }

    fn ages() -> impl Iterator<Item = (f64, u64)> {
        (18..=80).map(|age| (f64::from(age), 4))
    }

    #[test]
    fn codes_far_from_other_values_are_suspicious() {
        assert_eq!(suspects(ages().chain([(99.0, 5)])), [99]);
        assert_eq!(suspects(ages().chain([(998.0, 5), (999.0, 9)])), [998, 999]);
        assert_eq!(suspects(ages().chain([(-99.0, 3)])), [-99]);
        assert_eq!(suspects((0..5).map(|value| (f64::from(value), 40)).chain([(-9.0, 6), (-8.0, 4)])), [-9, -8]);
        assert_eq!(suspects((1..6).map(|value| (f64::from(value), 40)).chain([(99.0, 6)])), [99]);
    }

    #[test]
    fn values_that_others_come_near_are_not() {
        assert!(suspects((0..=100).map(|share| (f64::from(share), 5))).is_empty());
        assert!(suspects((-30..30).map(|degrees| (f64::from(degrees), 5))).is_empty());
        assert!(suspects((-9..=0).map(|value| (f64::from(value), 5))).is_empty());
        assert!(suspects(ages().chain([(999.0, 1)])).is_empty(), "once is an outlier");
        assert!(suspects([(199.0, 9), (299.0, 9), (899.0, 9), (999.0, 9)]).is_empty(), "prices");
    }
}
