//! Methods that recover components from moments.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};
use crate::tensor::Decomposition;

/// A method that recovers components from moments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum MixtureMethod {
    /// SIDIWO: the rotation that makes all slices as diagonal as possible (Ruffini 2019, Algorithm 3), with a recovery that
    /// accounts for noise.
    #[default]
    Sidiwo,
    /// Approximate SVTD (Ruffini 2019, Algorithm 2): SVTD of the raw moments, regardless of the family.
    Asvtd,
    /// SVTD (Ruffini 2019, Algorithm 1).
    Svtd,
    /// The tensor power method.
    Tpm,
    /// The SVD method: one random combination of slices.
    Svd,
    /// Alternating least squares.
    Als,
    /// Three groups of columns as views: exact for categorical columns, for which the moments of a column with itself are
    /// not.
    MultiView,
}

impl MixtureMethod {
    /// All methods.
    pub const ALL: [Self; 7] = [Self::Sidiwo, Self::Asvtd, Self::Svtd, Self::Tpm, Self::Svd, Self::Als, Self::MultiView];

    /// The name used in options and files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Sidiwo => "sidiwo",
            Self::Asvtd => "asvtd",
            Self::Svtd => "svtd",
            Self::Tpm => "tpm",
            Self::Svd => "svd",
            Self::Als => "als",
            Self::MultiView => "multi-view",
        }
    }

    pub(super) fn decomposition(self) -> Decomposition {
        match self {
            Self::Sidiwo | Self::MultiView => Decomposition::Sidiwo,
            Self::Asvtd | Self::Svtd => Decomposition::Svtd,
            Self::Tpm => Decomposition::Tpm,
            Self::Svd => Decomposition::Svd,
            Self::Als => Decomposition::Als,
        }
    }
}

impl fmt::Display for MixtureMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for MixtureMethod {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|method| method.name() == name).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|method| method.name()).collect();
            Error::option("mixture.method", format!("{name:?} is not one of {}", names.join(", ")))
        })
    }
}

crate::named::by_name!(MixtureMethod);
