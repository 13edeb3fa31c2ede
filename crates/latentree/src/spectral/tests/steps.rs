//! Steps: the shortcut operators of joints with leaves.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::models::{chain, model_on, random_tree};
use super::rows::with_missing;
use crate::Silent;
use crate::inference::Inference;
use crate::spectral::{Evaluator, Linkers, SpectralOptions, hierarchical, spectral};

#[test]
fn steps_answer_as_general_operators_do() {
    let mut clipped = 0;
    for seed in 0..24 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let tree = if seed % 2 == 0 { chain(8) } else { random_tree(&mut rng, 3, seed % 4 == 1) };
        let truth = model_on(&mut rng, tree, 3, |_| 4);
        // There are few rows, so that some estimates are raised and some labels are unseen.
        let rows = with_missing(&Inference::new(&truth).sample(40, seed).unwrap(), 0.05, seed);
        let asked = with_missing(&Inference::new(&truth).sample(300, 100 + seed).unwrap(), 0.2, seed);
        let options = SpectralOptions::new(Some(2 + seed as usize % 3));
        let model = spectral(truth.tree(), &mut rows.source(), &options, &Silent).unwrap().model;
        let (short, general) = (Evaluator::new(&model), Evaluator::new(&model).without_steps());
        let [a, b] = [&short, &general].map(|it| it.log_likelihood(&asked.batches()[0]).unwrap());
        assert_eq!(a.clipped, b.clipped, "seed {seed}");
        clipped += a.clipped;
        for (a, b) in a.values.iter().zip(&b.values) {
            assert!((a - b).abs() < 1e-9 * b.abs(), "seed {seed}: {a} {b}");
        }
        let [a, b] = [&short, &general].map(|it| it.impute(&asked.batches()[0]).unwrap());
        assert_eq!(a, b, "seed {seed}");
    }
    assert!(clipped > 0);
}

#[test]
fn rows_score_the_same_with_and_without_the_shortcut() {
    let mut counts = [0, 0];
    for seed in 0..36 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let k = [2, 3, 4, 5][seed as usize / 2 % 4];
        let tree = if seed % 2 == 0 { chain(if seed == 4 { 300 } else { 10 }) } else { random_tree(&mut rng, 3, false) };
        let truth = model_on(&mut rng, tree, k, |_| 6);
        let n_rows = if seed % 3 == 0 { 60 } else { 5000 };
        let rows = with_missing(&Inference::new(&truth).sample(n_rows, seed).unwrap(), 0.05, seed);
        let share = if seed % 4 == 0 { 0.0 } else { 0.5 };
        let asked = with_missing(&Inference::new(&truth).sample(700, 100 + seed).unwrap(), share, seed);
        let options = SpectralOptions {
            linkers: [Linkers::Stacked, Linkers::Single][seed as usize / 4 % 2],
            ..SpectralOptions::new(Some(k))
        };
        let model = if seed % 5 == 0 {
            hierarchical(truth.tree(), &mut rows.source(), &options, &Silent)
        } else {
            spectral(truth.tree(), &mut rows.source(), &options, &Silent)
        };
        let model = model.unwrap().model;
        let (short, careful) = (Evaluator::new(&model), Evaluator::new(&model).without_quick());
        assert!(short.is_quick());
        let [a, b] = [&short, &careful].map(|it| it.log_likelihood(&asked.batches()[0]).unwrap());
        assert_eq!(a.clipped, b.clipped, "seed {seed}");
        for (a, b) in a.values.iter().zip(&b.values) {
            assert!((a - b).abs() < 1e-12 * b.abs().max(1.0), "seed {seed}: {a} {b}");
        }
        counts[0] += a.clipped;
        counts[1] += a.values.len() as u64 - a.clipped;
    }
    assert!(counts.iter().all(|&count| count > 100), "{counts:?}");
}
