//! SVTD, singular-value-based tensor decomposition (Ruffini 2019, Algorithm 1) with its choice of feature (Remark 2.1.2).
//!
//! Each slice `H_r = O diag(m_r) Oᵀ` alone has the components as its eigenvectors; the slice (feature) whose eigenvalues `m_r`
//! are furthest apart, by `min_{i≠j} |m_ri − m_rj|`, is the least sensitive to noise and gives O for all. Ruffini reads the means
//! themselves off the diagonals of `O H_r Oᵀ`: [`Components::values`]. Eigenvectors are taken where he takes singular vectors,
//! since singular values confuse m and −m.

use super::components::{Components, Found};
use super::options::Options;
use super::sidiwo::{diagonalise, identity};
use super::svd_method::eigenvalue_gap;
use super::whitened::WhitenedTensor;

const SWEEPS: usize = 100;

pub(super) fn decompose(tensor: &WhitenedTensor, options: &Options) -> Components {
    let k = tensor.n_components();
    let (cells, l) = tensor.leading(options.slices);
    let (mut slice, mut rotation, mut sorted) = (vec![0.0; k * k], vec![0.0; k * k], vec![0.0; k]);
    let mut best: Option<(f64, Found)> = None;
    for r in 0..l {
        slice.iter_mut().zip(cells[r..].iter().step_by(l)).for_each(|(out, cell)| *out = *cell);
        identity(&mut rotation, k);
        let (iterations, converged) = diagonalise(&mut slice, 1, k, &mut rotation, SWEEPS);
        let width = eigenvalue_gap(&slice, k, &mut sorted);
        if best.as_ref().is_none_or(|(widest, _)| width > *widest) {
            let largest = sorted[0].abs().max(sorted[k - 1].abs());
            let gap = match (k, largest > 0.0) {
                (1, _) => 1.0,
                (_, true) => width / largest,
                (_, false) => 0.0,
            };
            best = Some((width, Found { vectors: rotation.clone(), gap: Some(gap), iterations, converged }));
        }
    }
    let (_, found) = best.expect("a tensor has at least one slice");
    Components::judge(tensor, found)
}
