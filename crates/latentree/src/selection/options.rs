//! Options for model selection.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// The criterion for choosing between models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Criterion {
    /// The Bayesian information criterion; see [`by_bic`](super::by_bic).
    Bic,
    /// The likelihood of held-out validation rows; see [`by_validation`](super::by_validation).
    Validation,
    /// None: a single tree is learned, with the requested number of hidden states.
    None,
}

impl Criterion {
    /// The name used in options and files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Bic => "bic",
            Self::Validation => "validation",
            Self::None => "none",
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
            "none" => Ok(Self::None),
            other => Err(Error::option("selection.criterion", format!("{other:?} is not bic, validation or none"))),
        }
    }
}

/// How much work a search does. It is measured in operations, never in seconds, so that results do not depend on the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Effort {
    /// No search: a single tree from the default learner, with two states per hidden variable unless a number is requested.
    Quick,
    /// A search by BIC from several starts.
    #[default]
    Normal,
    /// More starts, and more of them climbed to the end.
    Thorough,
}

impl Effort {
    /// The name used in options and files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Normal => "normal",
            Self::Thorough => "thorough",
        }
    }
}

crate::named::by_name!(Effort);

impl FromStr for Effort {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        [Self::Quick, Self::Normal, Self::Thorough]
            .into_iter()
            .find(|effort| effort.name() == name)
            .ok_or_else(|| Error::option("selection.effort", format!("{name:?} is not quick, normal or thorough")))
    }
}

/// What is selected, and by which criterion.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct SelectionOptions {
    /// Criterion for the search: over trees, if the learner is `auto` and no tree is given, and over numbers of states, if
    /// none is given. The default is BIC, or the validation rows if there are any, for trees that the learner `auto` learns
    /// from rows.
    pub criterion: Option<Criterion>,
    /// How much work the search does; normal by default.
    pub effort: Option<Effort>,
    /// Approximate share of the rows that is drawn by the seed and held out: their likelihood decides when EM stops and which
    /// candidate is best.
    pub validation: Option<f64>,
    /// For `reg-clrg` and `reg-clnj`, the inner nodes whose candidates are accepted instead of those that improve BIC.
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
