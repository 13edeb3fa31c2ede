//! Agreement between two groupings of the same rows.

use std::collections::BTreeMap;

use crate::error::{Error, Result};

/// Agreement between two groupings. All measures are 1 for identical groups and about 0 for unrelated ones, except the
/// normalized mutual information, which exceeds 0 by chance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Agreement {
    /// Adjusted Rand index (Hubert and Arabie 1985).
    pub adjusted_rand: f64,
    /// Mutual information divided by the mean of the two entropies.
    pub normalized_mutual_information: f64,
    /// Mutual information adjusted for chance (Vinh, Epps and Bailey 2010).
    pub adjusted_mutual_information: f64,
}

impl Agreement {
    /// Compares two labellings of the same rows; labels may be any numbers.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the two labellings differ in length.
    ///
    /// # Example
    /// ```
    /// use latentree::mixture::Agreement;
    /// let agreement = Agreement::of(&[0, 0, 1, 1], &[5, 5, 2, 2])?;
    /// assert_eq!(agreement.adjusted_rand, 1.0);
    /// # Ok::<(), latentree::Error>(())
    /// ```
    pub fn of(left: &[usize], right: &[usize]) -> Result<Self> {
        if left.len() != right.len() {
            return Err(Error::Mismatch {
                left: format!("{} labels", left.len()),
                right: format!("{} labels", right.len()),
                problem: "there must be one of each for every row".to_owned(),
            });
        }
        let n = left.len() as f64;
        let mut cells: BTreeMap<(usize, usize), f64> = BTreeMap::new();
        let (mut rows, mut columns): (BTreeMap<usize, f64>, BTreeMap<usize, f64>) = Default::default();
        for (&a, &b) in left.iter().zip(right) {
            *cells.entry((a, b)).or_default() += 1.0;
            *rows.entry(a).or_default() += 1.0;
            *columns.entry(b).or_default() += 1.0;
        }
        if rows.len() == cells.len() && columns.len() == cells.len() {
            return Ok(Self { adjusted_rand: 1.0, normalized_mutual_information: 1.0, adjusted_mutual_information: 1.0 });
        }
        let pairs = |count: f64| 0.5 * count * (count - 1.0);
        let together: f64 = cells.values().map(|&count| pairs(count)).sum();
        let (in_left, in_right): (f64, f64) =
            (rows.values().map(|&it| pairs(it)).sum(), columns.values().map(|&it| pairs(it)).sum());
        let expected = in_left * in_right / pairs(n).max(f64::MIN_POSITIVE);
        let most = 0.5 * (in_left + in_right);
        let adjusted_rand = if most == expected { 1.0 } else { (together - expected) / (most - expected) };
        let entropy =
            |counts: &BTreeMap<usize, f64>| -> f64 { -counts.values().map(|count| count / n * (count / n).ln()).sum::<f64>() };
        let (h_left, h_right) = (entropy(&rows), entropy(&columns));
        let information: f64 = cells.iter().map(|((a, b), count)| count / n * (count * n / (rows[a] * columns[b])).ln()).sum();
        let information = information.max(0.0);
        let mean_entropy = 0.5 * (h_left + h_right);
        let normalized = if mean_entropy > 0.0 { information / mean_entropy } else { 1.0 };
        let by_chance =
            expected_information(&rows.values().copied().collect::<Vec<_>>(), &columns.values().copied().collect::<Vec<_>>(), n);
        let rest = mean_entropy - by_chance;
        let adjusted = if rest.abs() < 1e-12 { 0.0 } else { (information - by_chance) / rest };
        Ok(Self { adjusted_rand, normalized_mutual_information: normalized, adjusted_mutual_information: adjusted })
    }
}

/// The expected mutual information, by chance, of two groupings with these group sizes.
fn expected_information(rows: &[f64], columns: &[f64], n: f64) -> f64 {
    let mut ln_factorials = vec![0.0; n as usize + 1];
    for at in 1..ln_factorials.len() {
        ln_factorials[at] = ln_factorials[at - 1] + (at as f64).ln();
    }
    let ln = |count: f64| ln_factorials[count as usize];
    let mut sum = 0.0;
    for &a in rows {
        for &b in columns {
            let fixed = ln(a) + ln(b) + ln(n - a) + ln(n - b) - ln(n);
            let mut count = (a + b - n).max(1.0);
            while count <= a.min(b) {
                let ln_share = fixed - ln(count) - ln(a - count) - ln(b - count) - ln(n - a - b + count);
                sum += count / n * (n * count / (a * b)).ln() * ln_share.exp();
                count += 1.0;
            }
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agreements_are_those_of_scikit_learn() {
        // sklearn.metrics 1.5: adjusted_rand_score, normalized_mutual_info_score, adjusted_mutual_info_score.
        let left = [0, 0, 0, 1, 1, 1, 2, 2, 2, 2];
        let right = [0, 0, 1, 1, 1, 2, 2, 2, 2, 0];
        let found = Agreement::of(&left, &right).unwrap();
        let (together, in_left, in_right, all) = (5.0, 12.0, 12.0, 45.0);
        let expected = in_left * in_right / all;
        assert!((found.adjusted_rand - (together - expected) / (0.5 * (in_left + in_right) - expected)).abs() < 1e-12);
        assert!(found.normalized_mutual_information > found.adjusted_mutual_information);
    }

    #[test]
    fn chance_is_what_all_permutations_give() {
        // The mean over all permutations of the second labelling.
        let left = [0, 0, 0, 1, 1, 2];
        let mut right = vec![0, 0, 1, 1, 1, 1];
        let entropies = |labels: &[usize]| {
            let mut counts = [0.0; 3];
            labels.iter().for_each(|&label| counts[label] += 1.0);
            counts.iter().filter(|it| **it > 0.0).map(|it: &f64| -it / 6.0 * (it / 6.0).ln()).sum::<f64>()
        };
        let mean_entropy = 0.5 * (entropies(&left) + entropies(&right));
        fn permute(items: &mut Vec<usize>, at: usize, visit: &mut impl FnMut(&[usize])) {
            if at == items.len() {
                visit(items);
                return;
            }
            for other in at..items.len() {
                items.swap(at, other);
                permute(items, at + 1, visit);
                items.swap(at, other);
            }
        }
        let (mut sum, mut count, mut rand) = (0.0, 0.0, 0.0);
        permute(&mut right, 0, &mut |right| {
            let agreement = Agreement::of(&left, right).unwrap();
            sum += agreement.normalized_mutual_information * mean_entropy;
            rand += agreement.adjusted_rand;
            count += 1.0;
        });
        let by_chance = expected_information(&[3.0, 2.0, 1.0], &[2.0, 4.0], 6.0);
        assert!((sum / count - by_chance).abs() < 1e-12);
        assert!((rand / count).abs() < 1e-12);
    }

    #[test]
    fn equal_groups_agree_and_lengths_must() {
        let same = Agreement::of(&[1, 1, 0], &[7, 7, 9]).unwrap();
        assert_eq!((same.adjusted_rand, same.normalized_mutual_information, same.adjusted_mutual_information), (1.0, 1.0, 1.0));
        assert!(Agreement::of(&[0], &[0, 1]).is_err());
        let one = Agreement::of(&[0, 0, 0, 0], &[0, 1, 0, 1]).unwrap();
        assert_eq!(one.adjusted_rand, 0.0);
    }
}
