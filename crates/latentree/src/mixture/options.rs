//! Options for fitting a mixture.

use std::fmt;
use std::str::FromStr;

use super::{MixtureFamily, MixtureMethod};
use crate::error::{Error, Result};

/// The number of components.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum NumberOfComponents {
    /// The number with the best BIC, up to about what the second moment supports.
    Auto,
    /// A fixed number.
    Fixed(usize),
}

/// Maximum number of components.
const MOST: usize = 1000;

impl FromStr for NumberOfComponents {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text.parse() {
            Ok(number) if (1..=MOST).contains(&number) => Ok(Self::Fixed(number)),
            _ if text == "auto" => Ok(Self::Auto),
            _ => Err(Error::option("mixture.components", format!("{text:?} is not a number from 1 to {MOST}, nor auto"))),
        }
    }
}

impl fmt::Display for NumberOfComponents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Fixed(number) => write!(f, "{number}"),
        }
    }
}

/// The sum α₀ of the Dirichlet parameters of a latent Dirichlet allocation: the larger it is, the more mixed the documents
/// are.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Concentration {
    /// The value from a grid that leaves the smallest residual of the whitened tensor.
    Auto,
    /// A fixed value.
    Fixed(f64),
}

impl Default for Concentration {
    fn default() -> Self {
        Self::Fixed(0.2)
    }
}

impl FromStr for Concentration {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text.parse::<f64>() {
            Ok(number) if number > 0.0 && number <= 1e6 => Ok(Self::Fixed(number)),
            _ if text == "auto" => Ok(Self::Auto),
            _ => Err(Error::option("mixture.alpha", format!("{text:?} is not a number above 0 (and at most 1000000), nor auto"))),
        }
    }
}

/// Options for fitting a mixture.
#[derive(Debug, Clone, PartialEq)]
pub struct MixtureOptions {
    /// Number of components.
    pub components: NumberOfComponents,
    /// Family; by default the one suggested by the kinds of the columns.
    pub family: Option<MixtureFamily>,
    /// Method; by default `sidiwo`, or `multi-view` if cells are missing.
    pub method: Option<MixtureMethod>,
    /// Whether EM refines the result of the moments.
    pub em: bool,
    /// α₀ of the family `lda`.
    pub alpha: Option<Concentration>,
    /// Seed for methods with random starts.
    pub seed: u64,
    /// Whether the weighted rows are the whole population: moments are then exact, and nothing is discarded as noise.
    pub population: bool,
}

impl MixtureOptions {
    /// Default options for this number of components.
    #[must_use]
    pub fn new(components: NumberOfComponents) -> Self {
        Self { components, family: None, method: None, em: false, alpha: None, seed: 0, population: false }
    }

    /// Sets the family.
    #[must_use]
    pub fn family(mut self, family: MixtureFamily) -> Self {
        self.family = Some(family);
        self
    }

    /// Sets the method.
    #[must_use]
    pub fn method(mut self, method: MixtureMethod) -> Self {
        self.method = Some(method);
        self
    }

    /// Sets whether EM refines the result of the moments.
    #[must_use]
    pub fn em(mut self, em: bool) -> Self {
        self.em = em;
        self
    }

    /// Sets α₀ of the family `lda`.
    #[must_use]
    pub fn alpha(mut self, alpha: Concentration) -> Self {
        self.alpha = Some(alpha);
        self
    }

    /// Sets the seed.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Sets whether the weighted rows are the whole population.
    #[must_use]
    pub fn population(mut self, population: bool) -> Self {
        self.population = population;
        self
    }

    /// Fails if options are incompatible.
    pub(crate) fn check(&self, family: MixtureFamily) -> Result<()> {
        let problem = |option: &str, problem: &str| Err(Error::option(option, problem.to_owned()));
        if family == MixtureFamily::Lda && self.em {
            return problem("mixture.em", "there is no EM for lda; leave it out, or use the family single-topic");
        }
        if family.is_topics() && self.method == Some(MixtureMethod::MultiView) {
            return problem("mixture.method", "multi-view is for tables of columns, not for documents; use sidiwo");
        }
        if family != MixtureFamily::Lda && self.alpha.is_some() {
            return problem("mixture.alpha", "only the family lda has a concentration; leave it out");
        }
        if family == MixtureFamily::Lda && self.method == Some(MixtureMethod::Asvtd) {
            return problem("mixture.method", "asvtd takes raw moments, which lda cannot use; use sidiwo or svtd");
        }
        Ok(())
    }
}
