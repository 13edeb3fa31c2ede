//! Decides whether a few distinct whole numbers are counts or points of a scale.
//!
//! Counts (visits, children, words) begin at 0, are commonest near it and thin out to single cases: their largest value is
//! rare, and would be larger with more rows. The points of a scale (1–5, 0–4, 0–10) are all in use.

/// What the values of a column look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    Labels,
    /// They may be counts: worth a word to the user.
    PerhapsCounts,
    Counts,
}

/// Fewest rows that say anything about a histogram.
const FEW_ROWS: u64 = 30;
/// Fewest rows that say enough to take values as counts.
const MANY_ROWS: u64 = 100;

/// Judges the different whole numbers of a column, in order, with their frequencies.
pub(super) fn look(values: &[(f64, u64)]) -> Look {
    let n_rows: u64 = values.iter().map(|&(_, count)| count).sum();
    let (Some(&(first, _)), Some(&(last, n_last))) = (values.first(), values.last()) else { return Look::Labels };
    let is_run = last - first < values.len() as f64 + 2.0;
    if n_rows < FEW_ROWS || values.len() < 4 || !(first == 0.0 || first == 1.0) || !is_run || !thins_out(values) {
        return Look::Labels;
    }
    let share = n_last as f64 / n_rows as f64;
    match first == 0.0 {
        true if n_rows >= MANY_ROWS && last >= 6.0 && share <= 0.005 => Look::Counts,
        true if share <= 0.03 => Look::PerhapsCounts,
        false if last >= 7.0 && share <= 0.01 => Look::PerhapsCounts,
        _ => Look::Labels,
    }
}

/// Whether whole numbers may be counts: small on average, and neither far more dispersed than Poisson variables nor clearly less.
/// Years, ages, incomes, scores and populations are not.
pub(super) fn varies_as_counts(values: &[(f64, u64)]) -> bool {
    const MAX_MEAN: f64 = 25.0;
    const MAX_DISPERSION: f64 = 30.0;
    let total: f64 = values.iter().map(|&(_, count)| count as f64).sum();
    let mean = values.iter().map(|&(value, count)| value * count as f64).sum::<f64>() / total;
    let variance = values.iter().map(|&(value, count)| (value - mean).powi(2) * count as f64).sum::<f64>() / total;
    mean <= MAX_MEAN && variance / mean < MAX_DISPERSION && !is_narrow(values, mean, variance)
}

/// Whether values vary clearly less than Poisson variables of their mean, and a Gaussian explains them better by BIC. A mixture of Poisson
/// variables varies more than one, so no hidden cause helps.
fn is_narrow(values: &[(f64, u64)], mean: f64, variance: f64) -> bool {
    const CLEARLY: f64 = 0.8;
    if variance >= CLEARLY * mean {
        return false;
    }
    // Rounding to whole numbers adds a twelfth to the variance.
    let spread = variance.max(1.0 / 12.0);
    let (mut total, mut gain) = (0.0, 0.0);
    let (mut ln_factorial, mut reached) = (0.0, 0.0);
    for &(value, count) in values {
        while reached < value {
            reached += 1.0;
            ln_factorial += reached.ln();
        }
        let poisson = value * mean.ln() - mean - ln_factorial;
        let gaussian = -0.5 * (std::f64::consts::TAU * spread).ln() - (value - mean).powi(2) / (2.0 * spread);
        gain += (gaussian - poisson) * count as f64;
        total += count as f64;
    }
    gain > 0.5 * total.ln()
}

/// Whether frequencies peak among the first values and then fall, up to chance.
fn thins_out(values: &[(f64, u64)]) -> bool {
    let peak = (0..values.len()).max_by_key(|&ix| (values[ix].1, usize::MAX - ix)).unwrap_or(0);
    let falls = values[peak..].windows(2).all(|pair| {
        let (here, next) = (pair[0].1 as f64, pair[1].1 as f64);
        next <= here + 2.0 * here.sqrt()
    });
    values[peak].0 <= values[0].0 + 3.0 && peak + 2 < values.len() && falls
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(first: u32, counts: &[u64]) -> Vec<(f64, u64)> {
        (first..).zip(counts).filter(|(_, count)| **count > 0).map(|(value, &count)| (f64::from(value), count)).collect()
    }

    #[test]
    fn years_ages_and_incomes_do_not_vary_as_counts() {
        let values = |values: &[u32]| values.iter().map(|&value| (f64::from(value), 1)).collect::<Vec<_>>();
        // Visits to a doctor, and children; years, ages, incomes and a constant.
        assert!(varies_as_counts(&values(&[0, 0, 1, 2, 2, 3, 5, 8, 13, 40])));
        assert!(varies_as_counts(&values(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13])));
        assert!(!varies_as_counts(&values(&[1960, 1965, 1970, 1975, 1980, 1985])));
        assert!(!varies_as_counts(&values(&[18, 25, 33, 41, 48, 55, 63, 70])));
        assert!(!varies_as_counts(&values(&[0, 900, 1200, 2500, 48_000])));
        assert!(!varies_as_counts(&values(&[3; 20])));
    }

    #[test]
    fn scores_that_vary_less_than_poisson_variables_are_no_counts() {
        // Right answers of 20 with probability 0.7, of variance 4.2, and Poisson variables of the same mean, 10,000 rows each.
        let mut binomial = vec![0.3_f64.powi(20)];
        let mut poisson = vec![(-14.0_f64).exp()];
        for value in 1..=40_u32 {
            let value = f64::from(value);
            poisson.push(poisson[poisson.len() - 1] * 14.0 / value);
            binomial.push(binomial[binomial.len() - 1] * (21.0 - value).max(0.0) / value * 0.7 / 0.3);
        }
        let rows = |shares: &[f64], n_rows: f64| {
            let counts: Vec<u64> = shares.iter().map(|share| (share * n_rows).round() as u64).collect();
            histogram(0, &counts)
        };
        assert!(!varies_as_counts(&rows(&binomial, 1e4)));
        assert!(!varies_as_counts(&rows(&binomial, 60.0)));
        assert!(varies_as_counts(&rows(&poisson, 1e4)));
        assert!(varies_as_counts(&rows(&poisson, 60.0)));
    }

    #[test]
    fn counts_thin_out_and_scales_do_not() {
        // 1,000 rows of a Poisson distribution of mean 2, and a geometric one with a gap in its tail.
        assert_eq!(look(&histogram(0, &[135, 271, 271, 180, 90, 36, 12, 4, 1])), Look::Counts);
        assert_eq!(look(&histogram(0, &[500, 250, 125, 60, 30, 20, 10, 3, 0, 2])), Look::Counts);
        // Few values, or few rows: a word, no more.
        assert_eq!(look(&histogram(0, &[600, 300, 75, 20, 5])), Look::PerhapsCounts);
        assert_eq!(look(&histogram(0, &[20, 10, 6, 3, 1, 1])), Look::PerhapsCounts);
        assert_eq!(look(&histogram(1, &[400, 300, 200, 60, 30, 8, 2])), Look::PerhapsCounts);
        // Scales: agreement 1–5 and 1–6, symptoms 0–3, pain 0–10, and recommendation 0–10.
        assert_eq!(look(&histogram(1, &[100, 200, 300, 250, 150])), Look::Labels);
        assert_eq!(look(&histogram(1, &[500, 300, 100, 50, 30, 20])), Look::Labels);
        assert_eq!(look(&histogram(0, &[600, 250, 100, 50])), Look::Labels);
        assert_eq!(look(&histogram(0, &[300, 90, 95, 90, 70, 120, 80, 70, 50, 20, 15])), Look::Labels);
        assert_eq!(look(&histogram(0, &[50, 20, 20, 30, 40, 80, 90, 150, 200, 170, 150])), Look::Labels);
        assert_eq!(look(&histogram(0, &[5, 3, 2, 1, 1])), Look::Labels);
    }
}
