//! Where a model comes from.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Where a model comes from: enough to make it again.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Provenance {
    /// Program and version that made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// What was run, and with which options.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
    /// All options of learning, as they were given; see [`LearnOptions`](crate::learn::LearnOptions).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learn: Option<serde_json::Value>,
    /// How the data were read, in the words of who read them; nothing where a table was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<serde_json::Value>,
    /// The seed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Digest of the data, as `sha256:…`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_digest: Option<String>,
    /// Number of rows it was learned from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
}

impl Provenance {
    /// Provenance that names this version of the program and a seed.
    #[must_use]
    pub fn by_this_program(seed: u64) -> Self {
        Self { program: Some(concat!("latentree ", env!("CARGO_PKG_VERSION")).to_owned()), seed: Some(seed), ..Self::default() }
    }

    /// The same with one option recorded.
    #[must_use]
    pub fn option(mut self, name: impl Into<String>, value: impl ToString) -> Self {
        self.options.insert(name.into(), value.to_string());
        self
    }
}
