//! Distance estimators and their options.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::limits;

/// How a distance is made of the moments of two variables. All are additive along the paths of a latent tree whose hidden
/// variables have k states (r = k − 1), under the conditions named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Estimator {
    /// [`Gaussian`](Self::Gaussian) if every variable is a number or has two labels, [`LogDet`](Self::LogDet) if every variable
    /// has exactly k labels that occur, else [`Canonical`](Self::Canonical) where each pair uses at most as many correlations as
    /// its variables have; where that is fewer than k − 1, distances are not additive, and the observer is warned.
    #[default]
    Auto,
    /// `−ln |ρ|` (Choi et al. 2011, eq. 8), for numbers and variables of two labels.
    Gaussian,
    /// `−ln(|det J| / √(det M_i · det M_j))` with J the joint probabilities and M the diagonal marginals (Choi eq. 9; Lake 1994),
    /// for variables that all have k labels. Computed as `−Σ ln ρ_i` over all k − 1 canonical correlations, which it equals.
    LogDet,
    /// `−(K−1) ln |1 − Kθ|` with (K−1)θ the probability that two variables of K labels differ (Choi eq. 10): for symmetric
    /// discrete models, where states of equal position in the variables' lists of labels correspond.
    Symmetric,
    /// `−ln(Π σ_i(E[y_a y_bᵀ]) / √(Π σ_i(E[y_a y_aᵀ]) · Π σ_i(E[y_b y_bᵀ])))` over the k largest singular values of *uncentred*
    /// second moments (Huang et al. 2020, Def. 4.1 and App. E). Features y: one-hot for labels, (1, z) with z standardised for
    /// numbers, a constant and the members side by side for groups. For d = k it equals log-det; for d > k it is additive only up
    /// to a constant per variable, which may make the length of a leaf's edge negative.
    Multivariate,
    /// `−Σ_{i ≤ k−1} ln ρ_i` with ρ_i the canonical correlations of two variables' centred features, each whitened by
    /// its own covariance. For d = k it equals log-det and Huang's distance; for d > k it is additive over hidden inner nodes
    /// with leaf edges ≥ 0 (through an *observed* inner node of more than k labels it is approximate).
    Canonical,
}

impl Estimator {
    /// All estimators.
    pub const ALL: [Self; 6] = [Self::Auto, Self::Gaussian, Self::LogDet, Self::Symmetric, Self::Multivariate, Self::Canonical];

    /// The name users write.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Gaussian => "gaussian",
            Self::LogDet => "logdet",
            Self::Symmetric => "symmetric",
            Self::Multivariate => "multivariate",
            Self::Canonical => "canonical",
        }
    }
}

impl fmt::Display for Estimator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

crate::named::by_name!(Estimator);

impl FromStr for Estimator {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|estimator| estimator.name() == name).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|estimator| estimator.name()).collect();
            Error::option("distance.estimator", format!("{name:?} is not one of {}", names.join(", ")))
        })
    }
}

/// Settings of [`estimate`](super::estimate).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DistanceOptions {
    pub(super) estimator: Estimator,
    /// Not written: it is that of the hidden variables, wherever they are learned.
    #[serde(skip)]
    pub(super) hidden_states: Option<usize>,
    #[serde(with = "zero_is_none")]
    pub(super) significance: Option<f64>,
    pub(super) clip: f64,
    pub(super) smoothing: f64,
    pub(super) rare_weight: f64,
    #[serde(skip, default = "with_errors")]
    pub(super) errors: bool,
}

fn with_errors() -> bool {
    true
}

/// No minimum significance, written as 0.
mod zero_is_none {
    use serde::{Deserialize, Deserializer, Serializer};

    #[expect(clippy::ref_option, reason = "serde's signature")]
    pub(super) fn serialize<S: Serializer>(value: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(value.unwrap_or(0.0))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
        Ok(Some(f64::deserialize(deserializer)?).filter(|&value| value != 0.0))
    }
}

impl Default for DistanceOptions {
    fn default() -> Self {
        Self {
            estimator: Estimator::Auto,
            hidden_states: None,
            significance: Some(2.0),
            clip: 0.3,
            smoothing: 0.0,
            rare_weight: 5.0,
            errors: true,
        }
    }
}

impl DistanceOptions {
    /// Default settings.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Settings under which distances are plain functions of the moments, for moments that are a population's: no test, no clip,
    /// no smoothing, no care for rare labels.
    #[must_use]
    pub fn exact() -> Self {
        Self { significance: None, clip: 0.0, smoothing: 0.0, rare_weight: 0.0, ..Self::default() }
    }

    /// Which distance (default [`Estimator::Auto`]).
    #[must_use]
    pub fn estimator(mut self, estimator: Estimator) -> Self {
        self.estimator = estimator;
        self
    }

    /// Number k of states of the hidden variables, ≥ 2 (default 2).
    #[must_use]
    pub fn hidden_states(mut self, hidden_states: Option<usize>) -> Self {
        self.hidden_states = hidden_states;
        self
    }

    /// How many standard errors a correlation must be from zero for its pair to have a distance (default 2); `None` gives every
    /// pair a distance, with correlations clipped from below.
    #[must_use]
    pub fn significance(mut self, significance: Option<f64>) -> Self {
        self.significance = significance;
        self
    }

    /// Correlations below `clip / √n` count as that much (default 0.3).
    #[must_use]
    pub fn clip(mut self, clip: f64) -> Self {
        self.clip = clip;
        self
    }

    /// Weight added to each cell of a table of labels (default 0). Columns with more than 512 labels are not smoothed.
    #[must_use]
    pub fn smoothing(mut self, smoothing: f64) -> Self {
        self.smoothing = smoothing;
        self
    }

    /// In canonical distances, a label seen in fewer rows than this (default 5) is scaled as if it were seen in as many: two
    /// labels seen once, in the same row, do not make two variables the same.
    #[must_use]
    pub fn rare_weight(mut self, rare_weight: f64) -> Self {
        self.rare_weight = rare_weight;
        self
    }

    /// Whether standard errors are computed (default true); they take as much memory as the distances.
    #[must_use]
    pub fn errors(mut self, errors: bool) -> Self {
        self.errors = errors;
        self
    }

    /// The [significance](Self::significance) that is used.
    #[must_use]
    pub fn significance_level(&self) -> Option<f64> {
        self.significance
    }

    /// The number of states of hidden variables that is used.
    #[must_use]
    pub fn n_hidden_states(&self) -> usize {
        self.hidden_states.unwrap_or(2)
    }

    /// Checks all values.
    pub(crate) fn check(&self) -> Result<()> {
        limits::check("parameters.hidden_states", self.n_hidden_states(), 2..=limits::MAX_HIDDEN_STATES)?;
        let numbers = [
            ("distance.significance", self.significance.unwrap_or(0.0)),
            ("distance.clip", self.clip),
            ("distance.smoothing", self.smoothing),
            ("distance.rare_weight", self.rare_weight),
        ];
        match numbers.iter().find(|(_, value)| !value.is_finite() || *value < 0.0) {
            Some((name, value)) => Err(Error::option(*name, format!("{value} given; a finite number ≥ 0 is needed"))),
            None => Ok(()),
        }
    }
}
