//! Figure 3.1: errors of the second and third moments of documents, weighted by length (Theorem 3.2.1) and equally (Zou et
//! al. 2013).
//!
//! d = 100 words, k = 5 topics, lengths 3 to 100; topics and weights uniform, scaled. The third moment is measured on all
//! triples of the first 20 words.

use std::collections::BTreeMap;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{draw, mean, shares};
use crate::record::Results;

const WORDS: usize = 100;
const TOPICS: usize = 5;
const CUT: usize = 20;

/// Errors of M₂ and M₃, each weighted by length and equally.
fn errors(seed: u64, n: usize) -> [[f64; 2]; 2] {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let topics: Vec<Vec<f64>> = (0..TOPICS).map(|_| shares(&mut rng, WORDS)).collect();
    let weights = shares(&mut rng, TOPICS);
    let mut second = [vec![0.0; WORDS * WORDS], vec![0.0; WORDS * WORDS]];
    let mut third = [vec![0.0; CUT * CUT * CUT], vec![0.0; CUT * CUT * CUT]];
    let mut totals = [[0.0; 2]; 2];
    for _ in 0..n {
        let length = rng.random_range(3..=100_u32);
        let topic = &topics[draw(&mut rng, &weights)];
        let mut counts: BTreeMap<usize, f64> = BTreeMap::new();
        (0..length).for_each(|_| *counts.entry(draw(&mut rng, topic)).or_default() += 1.0);
        let t = f64::from(length);
        let (pairs, triples) = (t * (t - 1.0), t * (t - 1.0) * (t - 2.0));
        let same = |a: usize, b: usize| f64::from(u8::from(a == b));
        for (kind, [pair, triple]) in [[1.0, 1.0], [1.0 / pairs, 1.0 / triples]].into_iter().enumerate() {
            totals[kind][0] += pairs * pair;
            totals[kind][1] += triples * triple;
            for (&i, &x) in &counts {
                for (&j, &y) in &counts {
                    second[kind][i * WORDS + j] += pair * x * (y - same(i, j));
                    if i < CUT && j < CUT {
                        for (&m, &z) in counts.range(..CUT) {
                            third[kind][(i * CUT + j) * CUT + m] += triple * x * (y - same(i, j)) * (z - same(i, m) - same(j, m));
                        }
                    }
                }
            }
        }
    }
    let exact = |words: &[usize]| -> f64 {
        (0..TOPICS).map(|c| weights[c] * words.iter().map(|&word| topics[c][word]).product::<f64>()).sum()
    };
    [0, 1].map(|kind| {
        let two = (0..WORDS * WORDS)
            .map(|at| (second[kind][at] / totals[kind][0] - exact(&[at / WORDS, at % WORDS])).powi(2))
            .sum::<f64>();
        let three = (0..CUT * CUT * CUT)
            .map(|at| (third[kind][at] / totals[kind][1] - exact(&[at / CUT / CUT, at / CUT % CUT, at % CUT])).powi(2))
            .sum::<f64>();
        [two.sqrt(), three.sqrt()]
    })
}

pub(super) fn run(seeds: &[u64]) -> Results {
    let title = format!(
        "Ruffini 2019, Figure 3.1: errors of the moments of documents, d = {WORDS}, k = {TOPICS}, {} runs (M₃ on the first {CUT} words)",
        seeds.len()
    );
    let header = ["n", "M₂ by length", "M₂ equally", "ratio (bar 0.5)", "M₃ by length", "M₃ equally", "ratio (bar 1)"];
    let mut results = Results::new(title, &header);
    for n in [100, 300, 1000, 3000, 10_000] {
        let found: Vec<[[f64; 2]; 2]> = seeds.iter().map(|&seed| errors(seed, n)).collect();
        let of = |kind: usize, moment: usize| mean(&found.iter().map(|it| it[kind][moment]).collect::<Vec<_>>());
        let mut cells = vec![n.to_string()];
        for moment in [0, 1] {
            let (own, equal) = (of(0, moment), of(1, moment));
            cells.extend([format!("{own:.2e}"), format!("{equal:.2e}"), format!("{:.3}", own / equal)]);
        }
        results.row(cells);
    }
    results
}
