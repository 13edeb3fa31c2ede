//! What decides between models.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// What decides between models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Criterion {
    /// The Bayesian information criterion; see [`by_bic`](super::by_bic).
    Bic,
    /// The likelihood of the validation rows; see [`by_validation`](super::by_validation).
    Validation,
}

impl Criterion {
    /// The name users write.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Bic => "bic",
            Self::Validation => "validation",
        }
    }
}

crate::named::by_name!(Criterion);

impl FromStr for Criterion {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "bic" => Ok(Self::Bic),
            "validation" => Ok(Self::Validation),
            other => Err(Error::option("selection.criterion", format!("{other:?} is not bic or validation"))),
        }
    }
}

/// What is chosen, and by what.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct SelectionOptions {
    /// Searches for the best model by this: trees, where the learner is `auto` and no tree is given, and numbers of states, where none is given.
    pub criterion: Option<Criterion>,
    /// About this share of the rows is drawn by the seed and not learned from: EM is stopped, and candidates are compared, by their likelihood.
    pub validation: Option<f64>,
    /// With `reg-clrg` and `reg-clnj`, the inner nodes whose candidates are taken instead of those that raise BIC.
    pub accept: Option<Vec<String>>,
}

impl SelectionOptions {
    pub(crate) fn check(&self) -> Result<()> {
        match self.validation {
            Some(fraction) if !(fraction > 0.0 && fraction < 1.0) => Err(Error::option(
                "selection.validation",
                format!("a fraction of {fraction} given; a number between 0 and 1 is needed, such as 0.1"),
            )),
            _ => Ok(()),
        }
    }
}
