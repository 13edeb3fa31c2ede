//! SIDIWO, simultaneous diagonalisation based on whitening and optimisation (Ruffini 2019, §5.3), by Jacobi angles.
//!
//! The rotation O that minimises `Σ_r Σ_{i≠j} (O H_r Oᵀ)_ij²` is built of rotations of two coordinates, each by the angle that is
//! best for all slices at once (Cardoso and Souloumiac 1996, "Jacobi angles for simultaneous diagonalization"). With
//! `f_r = (H_r)_pp − (H_r)_qq` and `g_r = 2 (H_r)_pq` a rotation by θ turns the off-diagonal cell to
//! `½ (g_r cos 2θ − f_r sin 2θ)`, so the sum of squares is least at
//!
//! ```text
//! 4θ = atan2(2 Σ_r f_r g_r, Σ_r f_r² − Σ_r g_r²)
//! ```
//!
//! For two components this one rotation is the whole answer: the minimiser of Ruffini's F of Theorem 5.3.3 without gridding, for
//! any number of slices. For more, sweeps over all pairs end at a stationary point, the global one unless noise is large; so a
//! second sweep starts from the eigenvectors of a random combination of slices, and the better one is taken. One slice gives the
//! ordinary Jacobi method for eigenvectors, which the SVD method and SVTD use.
//!
//! To first order in the noise of the tensor, this is the least-squares fit of an orthogonal decomposition: the angle
//! between components a and b has variance proportional to `1/(λ_a² + λ_b²)`, against `1/λ_a²` of the power method.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::components::{Components, Found};
use super::options::Options;
use super::svd_method::random_combination;
use super::whitened::WhitenedTensor;

/// Rotations by less than this are rounding.
const SETTLED: f64 = 1e-14;
const DEFAULT_SWEEPS: usize = 100;

/// Turns slices (cell (i, j) of slice r at `(i·k + j)·l + r`) to be as diagonal as possible, and the rows of `rotation` with
/// them. Returns the sweeps made and whether they settled. Allocates nothing.
pub(super) fn diagonalise(cells: &mut [f64], l: usize, k: usize, rotation: &mut [f64], most_sweeps: usize) -> (usize, bool) {
    let total: f64 = cells.iter().map(|cell| cell * cell).sum();
    for sweep in 1..=most_sweeps {
        let mut turned = false;
        for p in 0..k {
            for q in p + 1..k {
                let (pp, qq, pq) = ((p * k + p) * l, (q * k + q) * l, (p * k + q) * l);
                let (mut ff, mut gg, mut fg) = (0.0, 0.0, 0.0);
                for r in 0..l {
                    let (f, g) = (cells[pp + r] - cells[qq + r], 2.0 * cells[pq + r]);
                    ff += f * f;
                    gg += g * g;
                    fg += f * g;
                }
                // Where all slices are multiples of the identity up to rounding, every direction is as good.
                if ff + gg <= 1e-30 * total {
                    continue;
                }
                let angle = 0.25 * (2.0 * fg).atan2(ff - gg);
                if angle.abs() <= SETTLED {
                    continue;
                }
                turned = true;
                let (sine, cosine) = angle.sin_cos();
                turn_rows(cells, k * l, (p, q), (cosine, sine));
                for block in cells.chunks_exact_mut(k * l) {
                    turn_rows(block, l, (p, q), (cosine, sine));
                }
                turn_rows(rotation, k, (p, q), (cosine, sine));
            }
        }
        if !turned {
            return (sweep, true);
        }
    }
    (most_sweeps, k < 2)
}

#[inline]
fn turn_rows(cells: &mut [f64], width: usize, (p, q): (usize, usize), (cosine, sine): (f64, f64)) {
    let (head, tail) = cells.split_at_mut(q * width);
    for (x, y) in head[p * width..(p + 1) * width].iter_mut().zip(&mut tail[..width]) {
        (*x, *y) = (cosine * *x + sine * *y, cosine * *y - sine * *x);
    }
}

/// Writes the identity.
pub(super) fn identity(rotation: &mut [f64], k: usize) {
    rotation.fill(0.0);
    rotation.iter_mut().step_by(k + 1).for_each(|cell| *cell = 1.0);
}

/// `R H_r Rᵀ` of all slices, with `scratch` as large.
fn turned(cells: &[f64], (l, k): (usize, usize), rotation: &[f64], out: &mut [f64], scratch: &mut [f64]) {
    scratch.fill(0.0);
    out.fill(0.0);
    let row = k * l;
    for c in 0..k {
        for i in 0..k {
            let factor = rotation[c * k + i];
            scratch[c * row..(c + 1) * row].iter_mut().zip(&cells[i * row..(i + 1) * row]).for_each(|(x, y)| *x += factor * y);
        }
        for b in 0..k {
            for j in 0..k {
                let factor = rotation[b * k + j];
                let from = &scratch[(c * k + j) * l..(c * k + j + 1) * l];
                out[(c * k + b) * l..(c * k + b + 1) * l].iter_mut().zip(from).for_each(|(x, y)| *x += factor * y);
            }
        }
    }
}

/// What is left off the diagonals.
fn off_diagonal(cells: &[f64], l: usize, k: usize) -> f64 {
    let blocks = cells.chunks_exact(l).enumerate().filter(|(at, _)| at / k != at % k);
    blocks.map(|(_, block)| block.iter().map(|x| x * x).sum::<f64>()).sum()
}

pub(super) fn decompose(tensor: &WhitenedTensor, options: &Options) -> Components {
    let k = tensor.n_components();
    let (cells, l) = tensor.leading(options.slices);
    let sweeps = options.iterations.unwrap_or(DEFAULT_SWEEPS);
    // One rotation of two coordinates is already exact.
    let starts = if k <= 2 { 1 } else { options.restarts.unwrap_or(2) };
    let mut rng = ChaCha8Rng::seed_from_u64(options.seed);
    let (mut work, mut scratch, mut combined) = (cells.clone(), vec![0.0; cells.len()], vec![0.0; k * k]);
    let mut rotation = vec![0.0; k * k];
    let mut best: Option<(f64, Found)> = None;
    for start in 0..starts {
        identity(&mut rotation, k);
        if start > 0 {
            random_combination(&cells, l, &mut combined, &mut rng);
            diagonalise(&mut combined, 1, k, &mut rotation, DEFAULT_SWEEPS);
            turned(&cells, (l, k), &rotation, &mut work, &mut scratch);
        }
        let (iterations, converged) = diagonalise(&mut work, l, k, &mut rotation, sweeps);
        let left = off_diagonal(&work, l, k);
        // Better by more than rounding, so that starts with the same answer do not compete in the last digits.
        if best.as_ref().is_none_or(|(least, _)| left < least * (1.0 - 1e-9) - f64::MIN_POSITIVE) {
            best = Some((left, Found { vectors: rotation.clone(), gap: None, iterations, converged }));
        }
    }
    let (_, found) = best.expect("there is at least one start");
    Components::judge(tensor, found)
}
