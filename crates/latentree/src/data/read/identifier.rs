//! Whether the whole numbers of a column name rows rather than measure something.
//!
//! Numbers that name rows do not repeat, even where as many independent numbers of that range would, or they are spread evenly over their
//! range and have one number of digits, or they increase down the rows. Measurements are denser in some places than in others.

/// Most often that the values of a column called an id occur on average.
const REPEATS_OF_NAMED: f64 = 1.05;
/// Most often that the values of other identifiers occur on average.
const REPEATS: f64 = 1.01;
/// Fewest repetitions that chance would bring, if there are next to none, for numbers that were given out one by one.
const MISSED_REPEATS: f64 = 8.0;
/// Largest distance to the even distribution of numbers that increase down the rows, or are called a number.
const ROUGHLY_EVEN: f64 = 0.35;
/// Numbers from here on have more digits than anyone measures.
const LONG: f64 = 1e15;

/// What a column's name says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IdName {
    No,
    /// It may be the name of an identifier: number, code.
    Perhaps,
    Surely,
}

/// The numbers of a column.
pub(super) struct WholeNumbers<'a> {
    /// Number of cells with a value.
    pub(super) n_values: u64,
    /// Different values in order, with their frequencies: all, or a fair sample.
    pub(super) values: &'a [(f64, u64)],
    pub(super) least: f64,
    pub(super) largest: f64,
    /// Whether every value is larger than the one above it.
    pub(super) increase: bool,
}

impl WholeNumbers<'_> {
    /// Whether the numbers name rows.
    pub(super) fn identify(&self, name: &str) -> bool {
        let total: u64 = self.values.iter().map(|it| it.1).sum();
        if self.values.is_empty() || total == 0 {
            return false;
        }
        let mean_count = total as f64 / self.values.len() as f64;
        let (n_values, width) = (self.n_values as f64, self.largest - self.least);
        let id_name = id_name(name);
        if mean_count > REPEATS_OF_NAMED {
            return false;
        }
        if width < n_values * 1.1 || id_name == IdName::Surely {
            return true;
        }
        // Of independent numbers, each pair is equal with this probability at least.
        let expected = total as f64 * n_values / (2.0 * (width + 1.0));
        let repeats = total as f64 - self.values.len() as f64;
        if expected >= MISSED_REPEATS && repeats <= expected / 8.0 {
            return true;
        }
        let distance = self.distance_to_even();
        if id_name == IdName::Perhaps && distance < ROUGHLY_EVEN {
            return true;
        }
        let n_long = self.values.iter().filter(|it| it.0 >= LONG).count();
        let is_even = distance < (1.5 / (self.values.len() as f64).sqrt()).min(0.1);
        mean_count <= REPEATS
            && ((self.increase && distance < ROUGHLY_EVEN)
                || 2 * n_long > self.values.len()
                || (is_even && n_digits(self.least) == n_digits(self.largest)))
    }

    /// The Kolmogorov–Smirnov distance of the different values to the uniform distribution over their range.
    fn distance_to_even(&self) -> f64 {
        let (n, width) = (self.values.len() as f64, self.largest - self.least);
        let share = |value: f64| (value - self.least) / width.max(1.0);
        let ranked = (0..).zip(self.values).map(|(rank, &(value, _))| (f64::from(rank), share(value)));
        ranked.map(|(rank, share)| (share - rank / n).max((rank + 1.0) / n - share)).fold(0.0, f64::max)
    }
}

fn n_digits(value: f64) -> f64 {
    value.abs().max(1.0).log10().floor()
}

/// What a column's name says about whether it is an identifier.
pub(super) fn id_name(name: &str) -> IdName {
    let lower = name.trim().to_lowercase();
    const WHOLE: [&str; 9] = ["rownames", "row names", "row_names", "unnamed: 0", "seqn", "caseid", "subjid", "idno", "idnr"];
    if WHOLE.contains(&lower.as_str()) {
        return IdName::Surely;
    }
    let is_id = |word: &str| matches!(word, "id" | "ids" | "uid" | "uuid" | "guid" | "ssn" | "key" | "rowid");
    let mut words = lower.split(['_', ' ', '.', '-']);
    let before = |suffix: &str| name.strip_suffix(suffix).and_then(|rest| rest.chars().next_back());
    // `patientId` and `PatientID`, but not `PAID`.
    let is_camel = ["Id", "ID"].iter().any(|it| before(it).is_some_and(|last| last.is_lowercase() || last.is_ascii_digit()));
    if words.clone().any(|word| word == "id") || words.clone().next_back().is_some_and(is_id) || is_camel {
        return IdName::Surely;
    }
    let is_number = |word: &str| matches!(word, "no" | "nr" | "num" | "number" | "code" | "index" | "idx");
    let is_upper = name.len() > 2 && name.ends_with("ID");
    if words.next_back().is_some_and(is_number) || is_upper { IdName::Perhaps } else { IdName::No }
}

/// Whether a name is what programs give to a column without one.
pub(super) fn is_no_name(name: &str) -> bool {
    matches!(name.trim().to_lowercase().as_str(), "" | "unnamed: 0")
}

/// Whether a column is called as columns of row ids are.
pub(super) fn is_id_name(name: &str) -> bool {
    let lower = name.trim().to_lowercase();
    let last_word = lower.rsplit(['_', ' ', '.', '-']).next().unwrap_or_default();
    let ends_in_id = name.len() > 2 && name.ends_with("ID");
    let is_id_str = id_name(name) == IdName::Surely;
    is_id_str || ends_in_id || matches!(last_word, "index" | "nr" | "idx")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identify(name: &str, numbers: &[f64]) -> bool {
        let mut values: Vec<(f64, u64)> = Vec::new();
        let mut sorted = numbers.to_vec();
        sorted.sort_by(f64::total_cmp);
        for &value in &sorted {
            match values.last_mut() {
                Some((last, count)) if *last == value => *count += 1,
                _ => values.push((value, 1)),
            }
        }
        let (least, largest) = (sorted[0], sorted[sorted.len() - 1]);
        let increase = numbers.windows(2).all(|pair| pair[0] < pair[1]);
        WholeNumbers { n_values: numbers.len() as u64, values: &values, least, largest, increase }.identify(name)
    }

    /// Numbers that look random, from 0 to 1.
    fn shares(n: u32) -> impl Iterator<Item = f64> {
        (1..=n).map(|ix| (f64::from(ix) * 0.618_033_988_749_895).fract())
    }

    /// The quantile of a bell-shaped distribution (logistic), in standard deviations.
    fn bell(share: f64) -> f64 {
        (share / (1.0 - share)).ln() * 3.0_f64.sqrt() / std::f64::consts::PI
    }

    #[test]
    fn serial_numbers_with_gaps_and_in_any_order_are_known() {
        // Four of five numbers from 0 to 1249, shuffled.
        let numbers: Vec<f64> = (0..1250_u32).filter(|ix| ix % 5 != 2).map(|ix| f64::from(ix * 7 % 1250)).collect();
        assert!(identify("x", &numbers));
        // One of twenty, in order.
        let numbers: Vec<f64> = (0..1000_u32).map(|ix| f64::from(20 * ix + ix * ix % 17)).collect();
        assert!(identify("x", &numbers));
    }

    #[test]
    fn numbers_of_even_distribution_and_length_identify_and_bells_measure() {
        let ids: Vec<f64> = shares(400).map(|share| (1e6 + share * 8.9e6).floor()).collect();
        assert!(identify("x", &ids));
        let steps: Vec<f64> = shares(400).map(|share| (300_000.0 + 40_000.0 * bell(share)).round()).collect();
        assert!(!identify("x", &steps));
        let incomes: Vec<f64> = shares(400).map(|share| (bell(share).exp() * 1e6).round()).collect();
        assert!(!identify("x", &incomes));
        let mut sorted = incomes;
        sorted.sort_by(f64::total_cmp);
        assert!(!identify("x", &sorted), "a measurement by which the table is sorted");
    }

    #[test]
    fn numbers_that_repeat_as_chance_has_it_measure() {
        // 1,000 of 10,000 numbers, with replacement: some 50 repetitions.
        let numbers: Vec<f64> = shares(1000)
            .zip(0..)
            .map(|(share, ix)| if ix % 20 == 0 { 5000.0 + f64::from(ix / 40) } else { (share * 10_000.0).floor() })
            .collect();
        assert!(!identify("x", &numbers));
    }

    #[test]
    fn numbers_of_sixteen_digits_are_no_measurements() {
        let numbers: Vec<f64> = shares(100).map(|share| 4e17 + (3e17 * share * share).floor()).collect();
        assert!(identify("x", &numbers));
    }

    #[test]
    fn names_say_what_identifies() {
        for name in ["id", "patient_id", "Id", "patientId", "PatientID", "id_str", "ssn", "uuid", "idno", "api key", "subject.id"]
        {
            assert_eq!(id_name(name), IdName::Surely, "{name}");
        }
        for name in ["Number", "case_no", "postal code", "PATID"] {
            assert_eq!(id_name(name), IdName::Perhaps, "{name}");
        }
        for name in ["age", "idea", "covid", "paid", "number_of_rooms", "keyboard", "acid"] {
            assert_eq!(id_name(name), IdName::No, "{name}");
        }
    }
}
