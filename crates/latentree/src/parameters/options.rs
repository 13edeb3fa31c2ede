//! Options for learning the parameters of a tree.

use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Alignment, NodeStates};
use crate::error::{Error, Result};
use crate::limits;
use crate::spectral::Linkers;
use crate::tensor::Decomposition;

/// How parameters are found; see [`learn`](crate::learn).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum ParameterMethod {
    /// By lengths where they give a model, else by moments and EM.
    #[default]
    Auto,
    /// From the lengths of edges.
    Distances,
    /// By moments.
    Moments,
    /// By EM.
    Em,
    /// By EM from what moments give.
    MomentsAndEm,
    /// No parameters but operators on summaries of branches: [`spectral`](crate::spectral).
    Spectral,
    /// The same by hierarchical tensor decomposition.
    Hierarchical,
    /// The tree alone.
    None,
}

impl ParameterMethod {
    /// All methods.
    pub const ALL: [Self; 8] = [
        Self::Auto,
        Self::MomentsAndEm,
        Self::Moments,
        Self::Em,
        Self::Distances,
        Self::Spectral,
        Self::Hierarchical,
        Self::None,
    ];

    /// Whether models have operators instead of tables.
    #[must_use]
    pub fn is_spectral(self) -> bool {
        matches!(self, Self::Spectral | Self::Hierarchical)
    }

    /// The name users write.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Distances => "distances",
            Self::Moments => "moments",
            Self::Em => "em",
            Self::MomentsAndEm => "moments+em",
            Self::Spectral => "spectral",
            Self::Hierarchical => "hierarchical",
            Self::None => "none",
        }
    }
}

crate::named::by_name!(ParameterMethod);

impl FromStr for ParameterMethod {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|method| method.name() == name).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|method| method.name()).collect();
            Error::option("parameters.method", format!("{name:?} is not one of {}", names.join(", ")))
        })
    }
}

/// How many states hidden variables have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum HiddenStates {
    /// The default: 2, or Gaussian hidden variables if all columns are continuous.
    #[default]
    Unset,
    /// As many as a search finds.
    Auto,
    /// This many, 2 to [`MAX_HIDDEN_STATES`](limits::MAX_HIDDEN_STATES).
    Fixed(usize),
}

impl HiddenStates {
    /// The requested number.
    #[must_use]
    pub fn fixed(self) -> Option<usize> {
        match self {
            Self::Fixed(n_states) => Some(n_states),
            Self::Unset | Self::Auto => None,
        }
    }
}

impl Serialize for HiddenStates {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Self::Unset => serializer.serialize_none(),
            Self::Auto => serializer.serialize_str("auto"),
            Self::Fixed(n_states) => n_states.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for HiddenStates {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let written = serde_json::Value::deserialize(deserializer)?;
        let number = written.as_u64().and_then(|number| usize::try_from(number).ok());
        match (number, written.as_str()) {
            (Some(n_states), _) => Ok(Self::Fixed(n_states)),
            (None, Some("auto")) => Ok(Self::Auto),
            _ if written.is_null() => Ok(Self::Unset),
            _ => {
                let most = limits::MAX_HIDDEN_STATES;
                Err(serde::de::Error::custom(format!("{written} is not auto or a number of states, 2 to {most}")))
            }
        }
    }
}

/// How the parameters of a tree are learned.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ParameterOptions {
    /// By what.
    pub method: ParameterMethod,
    /// States of the hidden variables.
    pub hidden_states: HiddenStates,
    /// States of single hidden nodes of a given tree, instead of [`hidden_states`](Self::hidden_states).
    pub states: NodeStates,
    /// How third moments are decomposed.
    pub decomposition: Decomposition,
    /// How the labels of hidden states are made to agree.
    pub alignment: Alignment,
    /// What stands for a branch in a spectral model.
    pub linkers: Linkers,
}

impl ParameterOptions {
    pub(crate) fn check(&self) -> Result<()> {
        self.states.check()?;
        if !self.states.is_empty() && self.alignment == Alignment::Huang {
            return Err(Error::option(
                "parameters.states",
                "with `parameters.alignment` huang, all hidden nodes must have the same number of states",
            ));
        }
        if self.linkers != Linkers::Stacked && self.method != ParameterMethod::Spectral {
            return Err(Error::option("parameters.linkers", "it is for `parameters.method` spectral"));
        }
        let is_without_states =
            self.method.is_spectral() || matches!(self.method, ParameterMethod::Distances | ParameterMethod::None);
        if !self.states.is_empty() && is_without_states {
            return Err(Error::option("parameters.states", "`parameters.method` must be auto, moments, em or moments+em"));
        }
        match self.hidden_states.fixed() {
            Some(n_states) => limits::check("parameters.hidden_states", n_states, 2..=limits::MAX_HIDDEN_STATES),
            None => Ok(()),
        }
    }
}
