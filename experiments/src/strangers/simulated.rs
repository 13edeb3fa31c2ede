//! Two tables from known structures: columns of every kind with missing cells, and a questionnaire.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Poisson, StandardNormal};

use super::table::Rows;

const SEED: u64 = 14;

const MIXED_ROWS: usize = 3000;
const MIXED_GROUPS: usize = 4;
const MISSING: f64 = 0.1;

/// A chain of four hidden variables of three states. Each has eight columns, two of a kind: yes or no, one of four colours, a number, a count.
/// A tenth of the cells is missing.
pub(super) fn mixed() -> Rows {
    let mut rng = ChaCha8Rng::seed_from_u64(SEED);
    let kinds = ["answer", "colour", "size", "visits"];
    let columns: Vec<(usize, usize, usize)> =
        (0..MIXED_GROUPS).flat_map(|group| (0..8).map(move |column| (group, column / 2, column % 2))).collect();
    let header: Vec<String> =
        columns.iter().map(|&(group, kind, copy)| format!("{}_{}{}", kinds[kind], group + 1, ["a", "b"][copy])).collect();
    let row = |_| {
        let mut states = [0_usize; MIXED_GROUPS];
        for group in 0..MIXED_GROUPS {
            let is_kept = group > 0 && rng.random_bool(0.6);
            states[group] = if is_kept { states[group - 1] } else { rng.random_range(0..3) };
        }
        let mut cell = |&(group, kind, copy): &(usize, usize, usize)| {
            let state = states[group];
            let cell = match kind {
                0 => (if rng.random_bool([[0.1, 0.5, 0.8], [0.7, 0.3, 0.2]][copy][state]) { "yes" } else { "no" }).to_owned(),
                1 => {
                    let is_own = rng.random_bool(0.6);
                    let colour = if is_own { (state + copy) % 4 } else { rng.random_range(0..4) };
                    ["red", "green", "blue", "grey"][colour].to_owned()
                }
                2 => {
                    let noise: f64 = StandardNormal.sample(&mut rng);
                    format!("{:.4}", [[-1.5, 0.0, 1.5], [10.0, 12.0, 10.0]][copy][state] + noise)
                }
                _ => {
                    let rate = [[1.0, 3.0, 8.0], [5.0, 1.5, 4.0]][copy][state];
                    Poisson::new(rate).expect("rates are positive").sample(&mut rng).to_string()
                }
            };
            if rng.random_bool(MISSING) { String::new() } else { cell }
        };
        columns.iter().map(&mut cell).collect::<Vec<_>>().join(",")
    };
    Rows::Dense { header: header.join(","), lines: (0..MIXED_ROWS).map(row).collect() }
}

const LIKERT_ROWS: usize = 4000;
const SCALES: usize = 15;
const ITEMS: usize = 9;

/// 135 items of six answers: fifteen scales of nine items. The scales share one factor; every third item is asked the other way round.
pub(super) fn likert() -> Rows {
    let mut rng = ChaCha8Rng::seed_from_u64(SEED);
    let header: Vec<String> = (0..SCALES * ITEMS).map(|item| format!("scale{}_{}", item / ITEMS + 1, item % ITEMS + 1)).collect();
    // Loadings, and how easy an item is to agree with.
    let items: Vec<(f64, f64)> = (0..SCALES * ITEMS).map(|_| (rng.random_range(0.5..0.8), rng.random_range(-0.5..0.5))).collect();
    let row = |_| {
        let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
        let general = normal();
        let scales: [f64; SCALES] = std::array::from_fn(|_| 0.5 * general + 0.75_f64.sqrt() * normal());
        let answer = |(item, &(loading, ease)): (usize, &(f64, f64))| {
            let sign = if item % 3 == 2 { -1.0 } else { 1.0 };
            let wish = sign * loading * scales[item / ITEMS] + (1.0 - loading * loading).sqrt() * normal() + ease;
            let answer = [-1.4, -0.7, 0.0, 0.7, 1.4].iter().filter(|&&threshold| wish > threshold).count();
            (answer + 1).to_string()
        };
        items.iter().enumerate().map(answer).collect::<Vec<_>>().join(",")
    };
    Rows::Dense { header: header.join(","), lines: (0..LIKERT_ROWS).map(row).collect() }
}

#[cfg(test)]
mod tests {
    use super::super::table::Rows;
    use super::{likert, mixed};

    #[test]
    fn simulated_tables_are_the_same_every_time_and_have_their_sizes() {
        for (table, again, rows, columns) in [(mixed(), mixed(), 3000, 32), (likert(), likert(), 4000, 135)] {
            assert_eq!(table, again);
            let Rows::Dense { header, lines } = table else { panic!("tables of many kinds are dense") };
            assert_eq!((lines.len(), header.split(',').count()), (rows, columns));
            assert!(lines.iter().all(|line| line.split(',').count() == columns));
        }
    }
}
