//! Options for hierarchical clustering.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};
use crate::mixture::MixtureFamily;

/// When to stop splitting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Extent {
    /// At this number of levels, counting all rows as the first: up to 2^(depth − 1) leaves.
    Depth(usize),
    /// At this number of leaves; the split with the largest gain comes first.
    Leaves(usize),
    /// When no split improves BIC.
    Auto,
}

/// Maximum number of levels, and of leaves.
const MOST_DEPTH: usize = 32;
const MOST_LEAVES: usize = 100_000;

impl Extent {
    /// Parses a number of levels.
    ///
    /// # Errors
    /// [`Error::Option`] if it is not a number from 1 to 32.
    pub fn depth(text: &str) -> Result<Self> {
        match text.parse() {
            Ok(depth) if (1..=MOST_DEPTH).contains(&depth) => Ok(Self::Depth(depth)),
            _ => Err(Error::option("cluster.depth", format!("{text:?} is not a number from 1 to {MOST_DEPTH}"))),
        }
    }

    /// Parses a number of leaves, or `auto`.
    ///
    /// # Errors
    /// [`Error::Option`] if it is neither a positive number nor `auto`.
    pub fn leaves(text: &str) -> Result<Self> {
        match text.parse() {
            Ok(leaves) if (1..=MOST_LEAVES).contains(&leaves) => Ok(Self::Leaves(leaves)),
            _ if text == "auto" => Ok(Self::Auto),
            _ => Err(Error::option("cluster.leaves", format!("{text:?} is not a number from 1 to {MOST_LEAVES}, nor auto"))),
        }
    }
}

/// How the two sides of a split are separated.
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
    /// The name used in options and files.
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

/// Options for hierarchical clustering.
#[derive(Debug, Clone, PartialEq)]
pub struct ClusterOptions {
    /// When to stop splitting.
    pub extent: Extent,
    /// How the two sides of a split are separated.
    pub method: SplitMethod,
    /// Distribution of the rows of a cluster, used by `sidiwo`, by EM and for the gain of a split; by default the one
    /// suggested by the kinds of the columns.
    pub family: Option<MixtureFamily>,
    /// Whether EM refines each split.
    pub em: bool,
    /// Minimum number of rows in a cluster.
    pub min_size: usize,
    /// Seed of the range finder.
    pub seed: u64,
}

impl ClusterOptions {
    /// Default options with this stopping rule.
    #[must_use]
    pub fn new(extent: Extent) -> Self {
        Self { extent, method: SplitMethod::default(), family: None, em: false, min_size: 1, seed: 0 }
    }

    /// Sets how the two sides of a split are separated.
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

    /// Sets the minimum number of rows in a cluster.
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
