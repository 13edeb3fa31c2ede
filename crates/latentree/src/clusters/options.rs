//! What is asked of a hierarchy.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};
use crate::mixture::MixtureFamily;

/// How far rows are split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Extent {
    /// To this many levels, of which all rows are the first: up to 2^(depth − 1) leaves.
    Depth(usize),
    /// To this many leaves, the split with the largest gain first.
    Leaves(usize),
    /// As long as splits raise BIC.
    Auto,
}

/// Most levels, and most leaves.
const MOST_DEPTH: usize = 32;
const MOST_LEAVES: usize = 100_000;

impl Extent {
    /// So many levels.
    ///
    /// # Errors
    /// [`Error::Option`] if it is not from 1 to 32.
    pub fn depth(text: &str) -> Result<Self> {
        match text.parse() {
            Ok(depth) if (1..=MOST_DEPTH).contains(&depth) => Ok(Self::Depth(depth)),
            _ => Err(Error::option("cluster.depth", format!("{text:?} is not a number from 1 to {MOST_DEPTH}"))),
        }
    }

    /// So many leaves, or `auto`.
    ///
    /// # Errors
    /// [`Error::Option`] if it is neither a number from 1 nor `auto`.
    pub fn leaves(text: &str) -> Result<Self> {
        match text.parse() {
            Ok(leaves) if (1..=MOST_LEAVES).contains(&leaves) => Ok(Self::Leaves(leaves)),
            _ if text == "auto" => Ok(Self::Auto),
            _ => Err(Error::option("cluster.leaves", format!("{text:?} is not a number from 1 to {MOST_LEAVES}, nor auto"))),
        }
    }
}

/// How two sides are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum SplitMethod {
    /// By the direction a row is more aligned with: `d-sidiwo`.
    #[default]
    Alignment,
    /// By the more probable of two pseudo-centres: `sidiwo`.
    Model,
}

impl SplitMethod {
    /// The name users write.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Alignment => "d-sidiwo",
            Self::Model => "sidiwo",
        }
    }
}

impl fmt::Display for SplitMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for SplitMethod {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "d-sidiwo" => Ok(Self::Alignment),
            "sidiwo" => Ok(Self::Model),
            _ => Err(Error::option("cluster.method", format!("{name:?} is neither d-sidiwo nor sidiwo"))),
        }
    }
}

/// What is asked of a hierarchy.
#[derive(Debug, Clone, PartialEq)]
pub struct ClusterOptions {
    /// How far rows are split.
    pub extent: Extent,
    /// How two sides are told apart.
    pub method: SplitMethod,
    /// Distribution of the rows of a cluster, for `sidiwo`, EM and the gain of a split; by default what the kinds of columns
    /// suggest.
    pub family: Option<MixtureFamily>,
    /// Whether EM refines each split.
    pub em: bool,
    /// Rows that a cluster has at least.
    pub min_size: usize,
    /// The seed of the range finder.
    pub seed: u64,
}

impl ClusterOptions {
    /// Splits so far, all else by default.
    #[must_use]
    pub fn new(extent: Extent) -> Self {
        Self { extent, method: SplitMethod::default(), family: None, em: false, min_size: 1, seed: 0 }
    }

    /// Sets how two sides are told apart.
    #[must_use]
    pub fn method(mut self, method: SplitMethod) -> Self {
        self.method = method;
        self
    }

    /// Sets the distribution of the rows of a cluster.
    #[must_use]
    pub fn family(mut self, family: MixtureFamily) -> Self {
        self.family = Some(family);
        self
    }

    /// Sets whether EM refines each split.
    #[must_use]
    pub fn em(mut self, em: bool) -> Self {
        self.em = em;
        self
    }

    /// Sets the rows that a cluster has at least.
    #[must_use]
    pub fn min_size(mut self, min_size: usize) -> Self {
        self.min_size = min_size.max(1);
        self
    }

    /// Sets the seed.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }
}
