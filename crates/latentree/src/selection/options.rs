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
    /// Nothing: one tree is learned, with as many hidden states as are asked for.
    None,
}

impl Criterion {
    /// The name users write.
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

/// How much work a search does. It is counted in work, never in seconds, so that a result does not depend on the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Effort {
    /// No search: one tree by the default learner, with two states in every hidden variable unless a number is asked for.
    Quick,
    /// A search by BIC from several starts.
    #[default]
    Normal,
    /// More starts, and more of them to the end.
    Thorough,
}

impl Effort {
    /// The name users write.
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

/// What is chosen, and by what.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct SelectionOptions {
    /// Searches for the best model by this: trees, where the learner is `auto` and no tree is given, and numbers of states, where none is given. By default BIC, or
    /// the validation rows where there are some, for trees of the learner `auto` that are learned from rows.
    pub criterion: Option<Criterion>,
    /// How much work the search does; by default normal.
    pub effort: Option<Effort>,
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
