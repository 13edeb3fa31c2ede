//! The options of EM.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::Smoothing;
use crate::error::{Error, Result};
use crate::limits;

/// Where EM starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EmStart {
    /// The model by moments; of a Gaussian tree, the one by lengths.
    Moments,
    /// A latent class model's classes in every hidden node.
    LatentClass,
    /// At random.
    Random,
}

impl EmStart {
    /// The name users write.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Moments => "moments",
            Self::LatentClass => "lcm",
            Self::Random => "random",
        }
    }
}

crate::named::by_name!(EmStart);

impl FromStr for EmStart {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        [Self::Moments, Self::LatentClass, Self::Random]
            .into_iter()
            .find(|start| start.name() == name)
            .ok_or_else(|| Error::option("em.start", format!("{name:?} is not moments, lcm or random")))
    }
}

/// How EM is run where a model is learned from one end to the other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct EmOptions {
    /// Where it starts; by default from moments, or from a latent class model if the method does not use moments.
    pub start: Option<EmStart>,
    /// How many random starts are tried, 1 to [`MAX_RESTARTS`](limits::MAX_RESTARTS).
    pub restarts: usize,
    /// Most passes over the rows, up to [`MAX_EM_ITERATIONS`](limits::MAX_EM_ITERATIONS); by default 500.
    pub iterations: Option<usize>,
    /// Relative gain of the log-likelihood at which it ends; by default 1e-7.
    pub tolerance: Option<f64>,
    /// Pseudo-count that is added to every cell of the tables; by default 0.01, and chosen where validation rows decide between models.
    pub smoothing: Option<f64>,
}

impl Default for EmOptions {
    fn default() -> Self {
        Self { start: None, restarts: 5, iterations: None, tolerance: None, smoothing: None }
    }
}

impl EmOptions {
    /// What keeps parameters away from the border.
    #[must_use]
    pub fn smoothing(&self) -> Smoothing {
        self.smoothing.map_or_else(Smoothing::default, Smoothing::pseudo_count)
    }

    pub(crate) fn check(&self) -> Result<()> {
        if let Some(iterations) = self.iterations {
            limits::check("em.iterations", iterations, 0..=limits::MAX_EM_ITERATIONS)?;
        }
        limits::check("em.restarts", self.restarts, 1..=limits::MAX_RESTARTS)?;
        if let Some(bad) = self.tolerance.filter(|tolerance| !(tolerance.is_finite() && *tolerance >= 0.0)) {
            return Err(Error::option("em.tolerance", format!("{bad} given; a finite number ≥ 0 is needed")));
        }
        self.smoothing().check()
    }
}
