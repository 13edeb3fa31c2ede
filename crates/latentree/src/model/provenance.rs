//! Where a model comes from.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Where a model comes from: enough to make it again.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
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
    /// Whether the search that found it was ended early: the model is the best until then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// The pairs of columns that the model explains badly in the data it was learned from, worst first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub poor_pairs: Vec<PoorPair>,
}

/// Two columns that a model explains badly; see [`poor_pairs`](crate::report::poor_pairs).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PoorPair {
    /// One column.
    pub first: String,
    /// The other.
    pub second: String,
    /// The label of the first column that it is about; none of a number, and of a column of 0 and 1, where it is 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_value: Option<String>,
    /// The label of the second column that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second_value: Option<String>,
    /// Whether the two numbers are correlations rather than shares of rows that have both values.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub correlation: bool,
    /// In the data.
    pub observed: f64,
    /// In the model.
    pub expected: f64,
    /// Standard errors between them.
    pub z: f64,
}

impl PoorPair {
    /// In words, such as `diabetes and hypertension: 14.8% of rows have both, 12.3% in the model`.
    #[must_use]
    pub fn text(&self) -> String {
        let side = |name: &str, value: &Option<String>| match value.as_deref() {
            None => name.to_owned(),
            Some(value) => format!("{name}={value}"),
        };
        let sides = format!("{} and {}", side(&self.first, &self.first_value), side(&self.second, &self.second_value));
        if self.correlation {
            format!("{sides}: correlation {:.2}, {:.2} in the model", self.observed, self.expected)
        } else {
            let (observed, expected) = (100.0 * self.observed, 100.0 * self.expected);
            format!("{sides}: {observed:.1}% of rows have both, {expected:.1}% in the model")
        }
    }
}

impl Provenance {
    /// Provenance that names this version of the program and a seed.
    #[must_use]
    pub fn by_this_program(seed: u64) -> Self {
        Self { program: Some(concat!("latentree ", env!("CARGO_PKG_VERSION")).to_owned()), seed: Some(seed), ..Self::default() }
    }

    /// What is to be said of badly explained pairs of columns that an answer depends on: those of which both are used, as known or asked for.
    #[must_use]
    pub fn warning_of_poor_pairs(&self, is_used: impl Fn(&str) -> bool) -> Option<String> {
        const TOLD: usize = 3;
        let poor: Vec<&PoorPair> = self.poor_pairs.iter().filter(|pair| is_used(&pair.first) && is_used(&pair.second)).collect();
        if poor.is_empty() {
            return None;
        }
        let told: Vec<String> = poor.iter().take(TOLD).map(|pair| pair.text()).collect();
        let more = if poor.len() > TOLD { format!("; and {} more pairs", poor.len() - TOLD) } else { String::new() };
        Some(format!("the answer depends on pairs that the model explains badly: {}{more}", told.join("; ")))
    }

    /// The same with one option recorded.
    #[must_use]
    pub fn option(mut self, name: impl Into<String>, value: impl ToString) -> Self {
        self.options.insert(name.into(), value.to_string());
        self
    }
}
