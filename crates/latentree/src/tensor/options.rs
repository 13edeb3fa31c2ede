//! Decomposition methods and their options.

use std::fmt;
use std::str::FromStr;

use super::components::Components;
use super::whitened::WhitenedTensor;
use super::{alternating_least_squares, sidiwo, svd_method, svtd, tensor_power_method};
use crate::error::{Error, Result};

/// How a whitened tensor, or a family of whitened slices, becomes components.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Decomposition {
    /// Tensor power method with random restarts and deflation (Anandkumar et al. 2014, Algorithm 1). Needs the whole tensor.
    Tpm,
    /// SVD method: eigenvectors of a random combination of slices (Anandkumar et al. 2012).
    Svd,
    /// SVTD: eigenvectors of the one slice whose eigenvalues are furthest apart (Ruffini 2019, Algorithm 1 and Remark 2.1.2).
    Svtd,
    /// Alternating least squares for the CP decomposition (Kolda and Bader 2009), without the knowledge that components are
    /// orthogonal: for reference.
    Als,
    /// SIDIWO: the rotation that makes all slices as diagonal as possible (Ruffini 2019, §5.3), by Jacobi angles (Cardoso and
    /// Souloumiac 1996). Every cell counts, so it is the most accurate; exact for two components. `jacobi` is another name for
    /// it.
    #[default]
    Sidiwo,
}

impl Decomposition {
    /// All decompositions.
    pub const ALL: [Self; 5] = [Self::Tpm, Self::Svd, Self::Svtd, Self::Als, Self::Sidiwo];

    /// The name users write.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Tpm => "tpm",
            Self::Svd => "svd",
            Self::Svtd => "svtd",
            Self::Als => "als",
            Self::Sidiwo => "sidiwo",
        }
    }

    /// The components of a whitened tensor or family of slices, in falling order of weight. Not converging is a flag of the
    /// result.
    ///
    /// # Errors
    /// [`Decomposition::Tpm`] of slices that are not a whole tensor.
    pub fn decompose(self, tensor: &WhitenedTensor, options: &Options) -> Result<Components> {
        match self {
            Self::Tpm if !tensor.is_whole() => Err(Error::option(
                "tpm",
                "the tensor power method needs a whole whitened tensor, not slices of it; use sidiwo, svtd, svd or als",
            )),
            Self::Tpm => Ok(tensor_power_method::decompose(tensor, options)),
            Self::Svd => Ok(svd_method::decompose(tensor, options)),
            Self::Svtd => Ok(svtd::decompose(tensor, options)),
            Self::Als => Ok(alternating_least_squares::decompose(tensor, options)),
            Self::Sidiwo => Ok(sidiwo::decompose(tensor, options)),
        }
    }
}

impl fmt::Display for Decomposition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

crate::named::by_name!(Decomposition);

impl FromStr for Decomposition {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let known = Self::ALL.into_iter().find(|decomposition| decomposition.name() == name);
        known.or((name == "jacobi").then_some(Self::Sidiwo)).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|decomposition| decomposition.name()).collect();
            Error::option(
                "parameters.decomposition",
                format!("{name:?} is not one of {}, jacobi (the same as sidiwo)", names.join(", ")),
            )
        })
    }
}

/// Settings of a decomposition.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Options {
    pub(super) seed: u64,
    pub(super) restarts: Option<usize>,
    pub(super) iterations: Option<usize>,
    pub(super) slices: Option<usize>,
}

impl Options {
    /// Default settings.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The seed of random starts and random combinations; 0 by default.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// How many starts are tried, at least 1. By default `tpm` tries 25 (or k, if more) for every component, `svd` 10 random
    /// combinations, `als` and `sidiwo` 2 starts. `svtd` has none.
    #[must_use]
    pub fn restarts(mut self, restarts: usize) -> Self {
        self.restarts = Some(restarts.max(1));
        self
    }

    /// The most rounds of a start: by default 20 power iterations of `tpm` (the winner goes on until it settles), 300 rounds of
    /// `als`, 100 sweeps of `sidiwo`. `svd` and `svtd` have none.
    #[must_use]
    pub fn iterations(mut self, iterations: usize) -> Self {
        self.iterations = Some(iterations.max(1));
        self
    }

    /// Use only the first so many slices in `svd`, `svtd` and `sidiwo`; all by default. (What they are judged by is still all of
    /// them.)
    #[must_use]
    pub fn slices(mut self, slices: usize) -> Self {
        self.slices = Some(slices.max(1));
        self
    }
}
