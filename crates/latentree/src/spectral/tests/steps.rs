//! Steps: the shortcut operators of joints with leaves.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::models::{chain, model_on, random_tree};
use super::rows::with_missing;
use crate::Silent;
use crate::inference::Inference;
use crate::spectral::{Evaluator, SpectralOptions, spectral};

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
