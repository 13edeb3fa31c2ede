//! Third moments and their components: whitening, five decompositions behind one interface, and recovery of the mixture.
//!
//! A variable h with k states of probabilities ω, and three views x₁, x₂, x₃ that are independent given h, have the moments
//!
//! ```text
//! E[x_a x_bᵀ] = Σ_c ω_c μ_ac μ_bcᵀ        E[x₁ ⊗ x₂ ⊗ x₃] = Σ_c ω_c μ_1c ⊗ μ_2c ⊗ μ_3c        μ_vc = E[x_v | h = c]
//! ```
//!
//! These determine ω and μ up to the order of the states. The steps are
//!
//! 1. [`Whitening`]: from the pair moments (small dense matrices, or factors of matrices too large to store), k numbers per view
//!    in which `Wᵀ M W` is the identity;
//! 2. [`WhitenedTensor`]: the third moment in these numbers, `T = Σ_c ω_c^(-1/2) o_c ⊗ o_c ⊗ o_c` with orthonormal o_c, or any
//!    family of whitened slices `H_r = O diag(m_r) Oᵀ`. The owner of the rows needs one pass for it, and no d×d×d array;
//! 3. [`Decomposition`]: from T or the slices to [`Components`];
//! 4. [`Mixture`]: from components to probabilities and means in the original coordinates of the views. For samples,
//!    [`recover_coupled`](Mixture::recover_coupled) is best: it weights second and third moments by their noise;
//! 5. [`Fit`]: whether k was too large or too small, with the supporting numbers.
//!
//! Everything is deterministic: the same arrays, options and seed give the same bytes.
//!
//! # Example
//! ```
//! use latentree::linalg::Matrix;
//! use latentree::tensor::{Decomposition, Mixture, Options, Whitening};
//!
//! // Two states, three coins each: P(h) = (0.3, 0.7); one-hot views with P(heads | h) = (0.9, 0.2).
//! let (weights, means) = ([0.3, 0.7], [[0.9, 0.1], [0.2, 0.8]]);
//! let pair = Matrix::from_fn(2, 2, |i, j| (0..2).map(|c| weights[c] * means[c][i] * means[c][j]).sum());
//! let mut triple = Vec::new();
//! for at in 0..8 {
//!     let (i, j, l) = (at / 4, at / 2 % 2, at % 2);
//!     triple.push((0..2).map(|c| weights[c] * means[c][i] * means[c][j] * means[c][l]).sum());
//! }
//! let whitening = Whitening::of_views(&[pair.clone(), pair.clone(), pair], 2, 0.0)?;
//! let tensor = whitening.whiten(&triple)?;
//! let components = Decomposition::Sidiwo.decompose(&tensor, &Options::new())?;
//! let mixture = Mixture::recover(&whitening, &components, None)?;
//! assert!((mixture.weights[0] - 0.7).abs() < 1e-12);
//! assert!((mixture.means[2][(0, 0)] - 0.2).abs() < 1e-12);
//! # Ok::<(), latentree::Error>(())
//! ```
//!
//! # References
//! Anandkumar, Ge, Hsu, Kakade, Telgarsky (2014), "Tensor decompositions for learning latent variable models"; Ruffini (2019),
//! "Learning latent variable models", ch. 1, 2 and 5; Huang et al. (2020), §5.

mod alternating_least_squares;
mod components;
mod coupled_recovery;
mod fit;
mod options;
mod recovery;
mod sidiwo;
mod spectrum;
mod svd_method;
mod svtd;
mod tensor_power_method;
#[cfg(test)]
mod tests;
mod two_components;
mod whitened;
mod whitening;

pub use components::Components;
pub use fit::{Fit, Verdict};
pub use options::{Decomposition, Options};
pub use recovery::Mixture;
pub use spectrum::{Spectrum, cell_noise};
pub use two_components::two_component_angle;
pub use whitened::WhitenedTensor;
pub use whitening::Whitening;
