//! The SVD method (Anandkumar et al. 2012; Ruffini 2019, §1.2.1): eigenvectors of one random combination of slices.
//!
//! `H_η = Σ_r η_r H_r = O diag(η·m_1 … η·m_k) Oᵀ`: its eigenvalues are almost surely different, and its eigenvectors the
//! components, but two eigenvalues may by chance be close, and noise then mixes their vectors. So several combinations are drawn
//! and the one with the widest gap, relative to the range of its eigenvalues, is taken. With one draw it is the method as
//! published.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use super::components::{Components, Found};
use super::options::Options;
use super::sidiwo::{diagonalise, identity};
use super::whitened::WhitenedTensor;

/// Sweeps of the eigenvector method; ten suffice.
const SWEEPS: usize = 100;

/// Writes a combination of l slices by standard normal numbers to `out`.
pub(super) fn random_combination(cells: &[f64], l: usize, out: &mut [f64], rng: &mut impl Rng) {
    out.fill(0.0);
    for r in 0..l {
        let factor: f64 = StandardNormal.sample(rng);
        out.iter_mut().zip(cells[r..].iter().step_by(l)).for_each(|(out, cell)| *out += factor * cell);
    }
}

/// The least difference of two eigenvalues relative to the largest, of a matrix made diagonal; `sorted` is memory for k numbers.
pub(super) fn eigenvalue_gap(diagonal: &[f64], k: usize, sorted: &mut [f64]) -> f64 {
    sorted.iter_mut().zip(diagonal.iter().step_by(k + 1)).for_each(|(out, value)| *out = *value);
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.windows(2).map(|pair| pair[1] - pair[0]).fold(f64::INFINITY, f64::min)
}

pub(super) fn decompose(tensor: &WhitenedTensor, options: &Options) -> Components {
    let k = tensor.n_components();
    let (cells, l) = tensor.leading(options.slices);
    let mut rng = ChaCha8Rng::seed_from_u64(options.seed);
    let (mut combined, mut rotation, mut sorted) = (vec![0.0; k * k], vec![0.0; k * k], vec![0.0; k]);
    let mut best: Option<Found> = None;
    for _ in 0..options.restarts.unwrap_or(10) {
        random_combination(&cells, l, &mut combined, &mut rng);
        identity(&mut rotation, k);
        let (iterations, converged) = diagonalise(&mut combined, 1, k, &mut rotation, SWEEPS);
        let gap = eigenvalue_gap(&combined, k, &mut sorted);
        let largest = sorted[0].abs().max(sorted[k - 1].abs());
        let gap = match (k, largest > 0.0) {
            (1, _) => 1.0,
            (_, true) => gap / largest,
            (_, false) => 0.0,
        };
        if best.as_ref().and_then(|best| best.gap).is_none_or(|widest| gap > widest) {
            best = Some(Found { vectors: rotation.clone(), gap: Some(gap), iterations, converged });
        }
    }
    Components::judge(tensor, best.expect("there is at least one draw"))
}
