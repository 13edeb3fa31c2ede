//! The tensor power method with deflation (Anandkumar, Ge, Hsu, Kakade, Telgarsky 2014, Algorithm 1).
//!
//! From a random unit vector, `u ← T(I, u, u) / ‖T(I, u, u)‖` converges quadratically to one of the components. Of several starts
//! the one with the largest `T(u, u, u)` after a few rounds goes on until it settles; then `T ← T − λ u ⊗ u ⊗ u`, and the
//! next component is sought in what is left. Errors of the first components are noise to the later ones.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use super::components::{Components, Found};
use super::options::Options;
use super::whitened::WhitenedTensor;

/// Rounds after the best start is chosen.
const MAX_ROUNDS: usize = 500;
/// Change of a vector at which a start is close enough to be compared with others.
const CLOSE: f64 = 1e-4;
/// Change of a vector at which it has settled: rounding of unit vectors.
const SETTLED: f64 = 1e-14;

/// `out = T(I, u, u)`.
fn apply(cells: &[f64], u: &[f64], out: &mut [f64]) {
    let k = u.len();
    for (out, plane) in out.iter_mut().zip(cells.chunks_exact(k * k)) {
        let rows = plane.chunks_exact(k).zip(u);
        *out = rows.map(|(row, factor)| factor * row.iter().zip(u).map(|(x, y)| x * y).sum::<f64>()).sum();
    }
}

/// One round; the change of the vector, or `None` if it vanished.
fn step(cells: &[f64], u: &mut [f64], next: &mut [f64]) -> Option<f64> {
    apply(cells, u, next);
    let length = next.iter().map(|x| x * x).sum::<f64>().sqrt();
    if length <= f64::MIN_POSITIVE {
        return None;
    }
    let mut change = 0.0;
    for (u, next) in u.iter_mut().zip(next.iter()) {
        let value = next / length;
        change += (value - *u).powi(2);
        *u = value;
    }
    Some(change.sqrt())
}

pub(super) fn decompose(tensor: &WhitenedTensor, options: &Options) -> Components {
    let k = tensor.n_components();
    let restarts = options.restarts.unwrap_or(25.max(k));
    let rounds = options.iterations.unwrap_or(20);
    let mut rng = ChaCha8Rng::seed_from_u64(options.seed);
    let mut cells = tensor.cells().to_vec();
    let (mut u, mut next, mut best) = (vec![0.0; k], vec![0.0; k], vec![0.0; k]);
    let mut vectors = Vec::with_capacity(k * k);
    let (mut iterations, mut converged) = (0, true);
    for _ in 0..k {
        let mut largest = f64::NEG_INFINITY;
        for _ in 0..restarts {
            u.iter_mut().for_each(|x| *x = StandardNormal.sample(&mut rng));
            let length = u.iter().map(|x| x * x).sum::<f64>().sqrt();
            u.iter_mut().for_each(|x| *x /= length);
            for _ in 0..rounds {
                if step(&cells, &mut u, &mut next).is_none_or(|change| change < CLOSE) {
                    break;
                }
            }
            apply(&cells, &u, &mut next);
            let value: f64 = u.iter().zip(&next).map(|(x, y)| x * y).sum();
            if value > largest {
                largest = value;
                best.copy_from_slice(&u);
            }
        }
        let mut settled = false;
        for _ in 0..MAX_ROUNDS {
            iterations += 1;
            settled = step(&cells, &mut best, &mut next).is_none_or(|change| change <= SETTLED);
            if settled {
                break;
            }
        }
        converged &= settled;
        apply(&cells, &best, &mut next);
        let weight: f64 = best.iter().zip(&next).map(|(x, y)| x * y).sum();
        for (at, row) in cells.chunks_exact_mut(k).enumerate() {
            let factor = weight * best[at / k] * best[at % k];
            row.iter_mut().zip(&best).for_each(|(cell, x)| *cell -= factor * x);
        }
        vectors.extend_from_slice(&best);
    }
    Components::judge(tensor, Found { vectors, gap: None, iterations, converged })
}
