//! Differential privacy: noise that hides each single row, and the accounting of its cost.
//!
//! The measure is zero-concentrated differential privacy (Bun and Steinke 2016). Two tables are neighbours if one has one
//! more row than the other. A statistic that a row changes by at most Δ, in Euclidean norm over all cells, is released with
//! discrete Gaussian noise of standard deviation σ (Canonne, Kamath and Steinke 2020) at the cost ρ = Δ² / 2σ². The costs of
//! passes add up.
//!
//! The effect of a row is bounded by clipping it first: to at most `max_items` columns that are 1, and numbers to declared
//! ranges. Missing cells count as 0, as the first label, or as the middle of the range. The cost does not depend on the rows.

mod noise;
mod pairs;
mod rows;

use std::collections::BTreeMap;

pub use pairs::PrivatePairs;
pub(crate) use rows::Bounds;
use serde::{Deserialize, Serialize};

use crate::data::{Kind, Schema};
use crate::error::{Error, Result};
use crate::moments::Accumulator;

pub(crate) use noise::draws;

/// Share of the budget for pairs if triples follow. Learning the structure needs many small counts; triples are few.
const SHARE_OF_PAIRS: f64 = 0.8;
/// Maximum number of labels of a column; with more, there are too many cells, nearly all of them noise.
const MOST_LABELS: usize = 256;

/// The budget of a run, and how rows are clipped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Privacy {
    /// Total ρ of all passes.
    pub rho: f64,
    /// The δ at which ε is reported.
    pub delta: f64,
    /// Maximum number of binary columns that may be 1 in a row; others are set to 0.
    pub max_items: Option<usize>,
    /// The range of each numeric column.
    pub ranges: BTreeMap<String, (f64, f64)>,
}

/// The privacy settings that a pass carries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PassPrivacy {
    /// Total ρ of the run.
    pub rho: f64,
    /// The δ at which ε is reported.
    pub delta: f64,
}

impl Privacy {
    /// Checks the settings against the columns.
    ///
    /// # Errors
    /// [`Error::Option`] for a budget that is not a positive number, or for numeric columns without a range.
    pub fn check(&self, schema: &Schema) -> Result<()> {
        if !(self.rho > 0.0 && self.rho.is_finite()) {
            return Err(Error::option("federate.dp_rho", format!("{} given; a number above 0 is needed", self.rho)));
        }
        if !(self.delta > 0.0 && self.delta < 1.0) {
            return Err(Error::option("federate.dp_delta", format!("{} given; a number between 0 and 1 is needed", self.delta)));
        }
        if self.max_items == Some(0) {
            return Err(Error::option("federate.max_items", "0 given; at least 1 is needed"));
        }
        if let Some(name) = self.ranges.keys().find(|name| schema.find_column(name).is_none()) {
            return Err(Error::option("federate.range", format!("there is no column {name:?}")));
        }
        if let Some(group) = schema.variables().iter().find(|variable| variable.is_group) {
            return Err(Error::option(
                "federate.dp_rho",
                format!("{:?} is a group; private runs need single columns", group.name),
            ));
        }
        for column in schema.columns() {
            match (&column.kind, self.ranges.get(&column.name)) {
                (Kind::Continuous | Kind::Count, None) => {
                    let problem = format!(
                        "the range of {:?} is not declared; give NAME=LOW,HIGH from knowledge, not from rows",
                        column.name
                    );
                    return Err(Error::option("federate.range", problem));
                }
                (Kind::Continuous | Kind::Count, Some((low, high))) if !(low < high && low.is_finite() && high.is_finite()) => {
                    return Err(Error::option("federate.range", format!("{low},{high} of {:?} is not a range", column.name)));
                }
                (Kind::Binary { .. } | Kind::Categorical { .. }, Some(_)) => {
                    return Err(Error::option("federate.range", format!("{:?} has labels, not numbers", column.name)));
                }
                (Kind::Categorical { labels }, None) if labels.len() > MOST_LABELS => {
                    let problem = format!("{:?} has {} labels, and at most {MOST_LABELS} are allowed", column.name, labels.len());
                    return Err(Error::option("federate.dp_rho", problem));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The settings that passes carry.
    #[must_use]
    pub fn of_pass(&self) -> PassPrivacy {
        PassPrivacy { rho: self.rho, delta: self.delta }
    }

    /// The ρ of the pairs, and of the triples if there are any.
    #[must_use]
    pub fn shares(&self, has_triples: bool) -> (f64, f64) {
        let pairs = if has_triples { SHARE_OF_PAIRS } else { 1.0 };
        (self.rho * pairs, self.rho - self.rho * pairs)
    }
}

/// A pass whose sums receive noise before they leave a site.
pub trait Noised: Accumulator {
    /// The cost ρ of one answer.
    fn cost(&self) -> f64;

    /// Adds noise to all sums, and returns the number of rows that were clipped.
    ///
    /// # Errors
    /// [`Error::Option`] if this program was built without the feature `dp`.
    fn add_noise(&mut self) -> Result<u64>;
}

/// The smallest ε for which ρ-zero-concentrated differential privacy implies (ε, δ)-differential privacy through Rényi
/// divergences (Canonne, Kamath and Steinke 2020, Proposition 12).
///
/// # Example
/// ```
/// let epsilon = latentree::privacy::epsilon(0.5, 1e-6);
/// // Never worse than the simpler bound of Bun and Steinke.
/// assert!(epsilon < 0.5 + 2.0 * (0.5 * 1e6_f64.ln()).sqrt());
/// ```
#[must_use]
pub fn epsilon(rho: f64, delta: f64) -> f64 {
    if rho <= 0.0 {
        return 0.0;
    }
    // ε(α) is convex in α; the substitution t = ln(α − 1) only stretches it.
    let at = |t: f64| {
        let above = t.exp();
        let alpha = 1.0 + above;
        alpha * rho + ((1.0 / delta).ln() + above * (-1.0 / alpha).ln_1p() - alpha.ln()) / above
    };
    let (mut low, mut high) = (-30.0_f64, 30.0_f64);
    for _ in 0..200 {
        let (left, right) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
        if at(left) < at(right) { high = right } else { low = left }
    }
    at(f64::midpoint(low, high)).max(0.0)
}

#[cfg(test)]
mod tests;
