//! Judges whether the number of components was right.

use std::fmt;

use super::components::Components;
use super::whitened::WhitenedTensor;
use super::whitening::Whitening;

/// Whether the number of components suits the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Nothing speaks against it.
    Fits,
    /// The k-th singular value of a pair of views is within the noise: what is asked for is not in the data.
    TooMany,
    /// The (k + 1)-th singular value is far above the noise, or the tensor is not that of k components.
    TooFew,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fits => "fits",
            Self::TooMany => "too many",
            Self::TooFew => "too few",
        })
    }
}

/// How well k components describe the moments.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fit {
    /// What the numbers amount to.
    pub verdict: Verdict,
    /// `‖T − Σ_c λ_c o_c ⊗ o_c ⊗ o_c‖ / ‖T‖`.
    pub residual: f64,
    /// What the residual would be if T were right up to its noise; `None` if the noise was not given.
    pub expected_residual: Option<f64>,
    /// The least k-th singular value of the pair moments, in units of its noise level.
    pub smallest: f64,
    /// The largest (k + 1)-th singular value of the pair moments, in units of its noise level.
    pub next: f64,
    /// Components that every pair of views supports.
    pub supported: usize,
    /// How far apart the two most alike components are ([`Components::gap`]).
    pub separation: f64,
}

/// How many times its noise level a value must be to be far above it.
const FAR: f64 = 2.0;
/// The residual of exact moments: rounding, increased by whitening.
const EXACT: f64 = 1e-6;

impl Fit {
    /// Compares the moments with their components. `tensor_noise` is the standard error of a cell of the whitened tensor
    /// ([`cell_noise`](super::cell_noise) of the whitened coordinates), 0 for exact moments, `None` if unknown: then the
    /// residual is given but does not speak.
    ///
    /// The first that holds is the verdict: too many, if a k-th singular value is not above the noise; too few, if a (k + 1)-th
    /// one is more than twice the noise, or the residual more than twice what is expected.
    #[must_use]
    pub fn assess(whitening: &Whitening, tensor: &WhitenedTensor, components: &Components, tensor_noise: Option<f64>) -> Self {
        let units = |value: f64, noise: f64| match (noise > 0.0, value > 0.0) {
            (true, _) => value / noise,
            (false, true) => f64::INFINITY,
            (false, false) => 0.0,
        };
        let spectra = whitening.spectra();
        let smallest = spectra.iter().map(|it| units(it.smallest(), it.noise)).fold(f64::INFINITY, f64::min);
        let next = spectra.iter().map(|it| units(it.next(), it.noise)).fold(0.0, f64::max);
        let supported = spectra.iter().map(super::Spectrum::supported).min().unwrap_or(0);
        let n_cells = (tensor.n_components() * tensor.n_components() * tensor.n_slices()) as f64;
        let norm = tensor.norm();
        let expected_residual = tensor_noise.map(|noise| if norm > 0.0 { noise * n_cells.sqrt() / norm } else { 0.0 });
        let misfit = expected_residual.is_some_and(|expected| components.residual > (FAR * expected).max(EXACT));
        let verdict = if smallest <= 1.0 {
            Verdict::TooMany
        } else if next > FAR || misfit {
            Verdict::TooFew
        } else {
            Verdict::Fits
        };
        Self { verdict, residual: components.residual, expected_residual, smallest, next, supported, separation: components.gap }
    }
}
