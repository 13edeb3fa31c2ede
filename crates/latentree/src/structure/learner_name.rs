//! The names of the learners, and when edges are contracted.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::DEFAULT_CONTRACTION;
use super::learners::Linkage;
use super::lengths::rounding_error;
use crate::distance::DistanceMatrix;
use crate::error::{Error, Result};

/// A learner by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum LearnerName {
    /// Chosen from the input; see [`learn_structure`](super::learn_structure).
    #[default]
    Auto,
    /// Several starts polished by likelihood, [`by_likelihood`](super::by_likelihood).
    Likelihood,
    /// The spanning tree of the observed variables, without hidden ones.
    ChowLiu,
    /// [`NeighborJoining`](super::NeighborJoining).
    NeighborJoining,
    /// [`SpectralNeighborJoining`](super::SpectralNeighborJoining).
    SpectralNeighborJoining,
    /// [`RecursiveGrouping`](super::RecursiveGrouping).
    RecursiveGrouping,
    /// [`ChowLiuRecursiveGrouping`](super::ChowLiuRecursiveGrouping).
    ChowLiuRecursiveGrouping,
    /// [`ChowLiuNeighborJoining`](super::ChowLiuNeighborJoining).
    ChowLiuNeighborJoining,
    /// [`ChowLiuBlind`](super::ChowLiuBlind).
    ChowLiuBlind,
    /// [`ParallelLocalGrouping`](super::ParallelLocalGrouping).
    ParallelLocalGrouping,
    /// The hidden Chow–Liu tree, [`hidden_chow_liu`](super::hidden_chow_liu).
    HiddenChowLiu,
    /// Islands of variables that one hidden variable explains, islands of islands, and so on, [`levels`](crate::selection::levels).
    Levels,
    /// A hidden node for each column, in the order of the columns: [`chain`](super::chain).
    Chain,
    /// Agglomerative clustering, [`Linkage`](super::Linkage): clusters are as far apart as their variables on average.
    AverageLinkage,
    /// The same by the largest distance.
    CompleteLinkage,
    /// The same by the smallest distance.
    SingleLinkage,
    /// Of the candidates of `clrg`, those that raise BIC; see [`scored_candidates`](crate::selection::scored_candidates).
    RegularisedRecursiveGrouping,
    /// Of the candidates of `clnj`, those that raise BIC.
    RegularisedNeighborJoining,
    /// A search by BIC, [`by_bic`](crate::selection::by_bic); not a name to ask for.
    Search,
    /// None: the tree was given.
    Given,
}

impl LearnerName {
    /// All names that users can choose.
    pub const ALL: [Self; 18] = [
        Self::Auto,
        Self::Likelihood,
        Self::ChowLiu,
        Self::NeighborJoining,
        Self::SpectralNeighborJoining,
        Self::RecursiveGrouping,
        Self::ChowLiuRecursiveGrouping,
        Self::ChowLiuNeighborJoining,
        Self::ChowLiuBlind,
        Self::ParallelLocalGrouping,
        Self::RegularisedRecursiveGrouping,
        Self::RegularisedNeighborJoining,
        Self::HiddenChowLiu,
        Self::Levels,
        Self::Chain,
        Self::AverageLinkage,
        Self::CompleteLinkage,
        Self::SingleLinkage,
    ];

    /// The name users write.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Likelihood => "likelihood",
            Self::ChowLiu => "chow-liu",
            Self::NeighborJoining => "nj",
            Self::SpectralNeighborJoining => "snj",
            Self::RecursiveGrouping => "rg",
            Self::ChowLiuRecursiveGrouping => "clrg",
            Self::ChowLiuNeighborJoining => "clnj",
            Self::ChowLiuBlind => "clblind",
            Self::ParallelLocalGrouping => "plrg",
            Self::HiddenChowLiu => "hclt",
            Self::Levels => "levels",
            Self::Chain => "chain",
            Self::AverageLinkage => "average-linkage",
            Self::CompleteLinkage => "complete-linkage",
            Self::SingleLinkage => "single-linkage",
            Self::RegularisedRecursiveGrouping => "reg-clrg",
            Self::RegularisedNeighborJoining => "reg-clnj",
            Self::Search => "search",
            Self::Given => "given",
        }
    }
}

impl LearnerName {
    /// The linkage that it is, if it is one.
    #[must_use]
    pub fn linkage(self) -> Option<Linkage> {
        match self {
            Self::AverageLinkage => Some(Linkage::Average),
            Self::CompleteLinkage => Some(Linkage::Complete),
            Self::SingleLinkage => Some(Linkage::Single),
            _ => None,
        }
    }
}

impl fmt::Display for LearnerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

crate::named::by_name!(LearnerName);

impl FromStr for LearnerName {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|learner| learner.name() == name).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|learner| learner.name()).collect();
            Error::option("structure.learner", format!("{name:?} is not one of {}", names.join(", ")))
        })
    }
}

/// Which edges are contracted because they are too short.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub enum Contraction {
    /// Those of at most −ln 0.9 where distances are estimates (they have standard errors), those that may be rounding errors
    /// where they are not; none in a tree by likelihood, which has decided about each.
    #[default]
    ByInput,
    /// None.
    Off,
    /// Those of at most this length, in a tree by likelihood, too.
    UpTo(f64),
}

impl Contraction {
    /// The length up to which edges are contracted; `None` if none are.
    #[must_use]
    pub fn threshold(self, distances: &DistanceMatrix) -> Option<f64> {
        match self {
            Self::ByInput if distances.has_errors() => Some(DEFAULT_CONTRACTION),
            Self::ByInput => Some(rounding_error(distances)),
            Self::Off => None,
            Self::UpTo(length) => Some(length.max(0.0)),
        }
    }

    /// What a user writes for it; `None` for the default.
    #[must_use]
    pub(crate) fn text(self) -> Option<String> {
        match self {
            Self::ByInput => None,
            Self::Off => Some("none".to_owned()),
            Self::UpTo(length) => {
                // The shortest that is read back as the same length.
                let correlation = (-length).exp();
                let written = (1..=17).map(|digits| format!("{correlation:.digits$}"));
                let exact = |text: &String| text.parse::<Self>().is_ok_and(|it| it == self);
                Some(written.into_iter().find(exact).unwrap_or_else(|| correlation.to_string()))
            }
        }
    }
}

impl Serialize for Contraction {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match (self, self.text()) {
            (Self::UpTo(_), Some(text)) => text.parse().unwrap_or(1.0_f64).serialize(serializer),
            (_, text) => text.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Contraction {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "a correlation or none is needed")]
        enum Written {
            Number(f64),
            Text(String),
            Nothing,
        }
        let text = match Written::deserialize(deserializer)? {
            Written::Nothing => return Ok(Self::ByInput),
            Written::Number(number) => number.to_string(),
            Written::Text(text) => text,
        };
        text.parse().map_err(|error: Error| serde::de::Error::custom(error.problem()))
    }
}

impl FromStr for Contraction {
    type Err = Error;

    /// Reads the correlation above which adjacent nodes are merged, such as `0.9`; `none` or 0 contracts nothing.
    fn from_str(text: &str) -> Result<Self> {
        match text.trim().parse::<f64>() {
            _ if text.trim() == "none" => Ok(Self::Off),
            Ok(0.0) => Ok(Self::Off),
            Ok(value) if value > 0.0 && value <= 1.0 => Ok(Self::UpTo(-value.ln() + 0.0)),
            _ => Err(Error::option(
                "structure.contract",
                format!("{text:?} is not none, 0, or a correlation up to 1 above which adjacent nodes are merged, such as 0.9"),
            )),
        }
    }
}
