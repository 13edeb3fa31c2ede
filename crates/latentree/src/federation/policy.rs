//! The rules for what may leave a site.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Place, Result};
use crate::moments::Sums;
use crate::passes;

/// The rules of a site. All fields are optional; anything not specified is not limited.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Policy {
    /// Minimum number of rows; with fewer, nothing is answered.
    pub least_rows: u64,
    /// Counts below this, other than 0, are released as 0. Passes whose sums are not counts are refused unless `passes` lists
    /// them.
    pub least_count: u64,
    /// Names of the passes that may be answered; all passes if absent.
    pub passes: Option<Vec<String>>,
    /// Maximum total ρ (zero-concentrated differential privacy) over all answers. If present, passes without noise are
    /// refused.
    pub rho: Option<f64>,
    /// Whether only masked parts may leave.
    pub masked: bool,
    /// Minimum number of sites in a masked sum; above 1, only masked parts may leave.
    pub least_sites: usize,
    /// Required public keys of other sites; if there are any, only masked parts may leave.
    pub peers: BTreeMap<String, String>,
}

impl Policy {
    /// Reads a policy from JSON.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Format`] if it is not a policy or has unknown fields.
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).map_err(Error::io("read", path))?;
        let place = |line: usize| Place::file(path).line(line as u64);
        // A list would be read as the fields in their order.
        if !text.trim_start().starts_with('{') {
            let problem = "a policy is an object of rules, such as {\"least_rows\": 100}";
            return Err(Error::format(Place::file(path), "policy JSON", problem));
        }
        let policy: Self =
            serde_json::from_str(&text).map_err(|error| Error::format(place(error.line()), "policy JSON", error.to_string()))?;
        if let Some(unknown) = policy.passes.iter().flatten().find(|name| passes::names().all(|known| known != *name)) {
            let known: Vec<&str> = passes::names().collect();
            let problem = format!("there is no pass {unknown:?}; the passes are {}", known.join(", "));
            return Err(Error::data(Place::file(path), problem));
        }
        if policy.rho.is_some_and(|rho| !(rho > 0.0 && rho.is_finite())) {
            return Err(Error::data(Place::file(path), "rho must be a number above 0"));
        }
        Ok(policy)
    }

    /// Fails if a run without masks breaks rules about masked sums.
    pub(super) fn check_unmasked(&self) -> Result<()> {
        let rule = if self.masked {
            "asks for masks"
        } else if self.least_sites > 1 {
            &format!("asks for sums of at least {} sites (least_sites)", self.least_sites)
        } else if !self.peers.is_empty() {
            "lists keys of other sites (peers)"
        } else {
            return Ok(());
        };
        Err(refused(format!(
            "the policy {rule}, and this run has no masks; the coordinator starts a masked run with `federate.keys`"
        )))
    }

    /// Fails unless the policy allows the pass.
    pub(super) fn check_pass(&self, name: &str) -> Result<()> {
        match &self.passes {
            Some(allowed) if allowed.iter().all(|it| it != name) => Err(refused(format!(
                "the pass {name} is not allowed; the policy allows {}",
                if allowed.is_empty() { "none".to_owned() } else { allowed.join(", ") }
            ))),
            _ => Ok(()),
        }
    }

    /// Fails if there are too few rows.
    pub(super) fn check_rows(&self, rows: u64) -> Result<()> {
        if rows >= self.least_rows {
            return Ok(());
        }
        let are = if rows == 1 { "is" } else { "are" };
        let rows = crate::counted(rows, "row");
        Err(refused(format!("there {are} {rows}, and the policy asks for at least {}", self.least_rows)))
    }

    /// Replaces small counts of the pass by zeros, and returns how many there were.
    pub(super) fn suppressed(&self, name: &str, wire: Vec<u8>) -> Result<(Vec<u8>, u64)> {
        if self.least_count <= 1 {
            return Ok((wire, 0));
        }
        let is_listed = self.passes.as_ref().is_some_and(|allowed| allowed.iter().any(|it| it == name));
        let (least, mut n, mut has_reals) = (self.least_count, 0, false);
        let visited = passes::visit_sums(&wire, false, &mut |sums| match sums {
            Sums::Counts(counts) => counts.iter_mut().for_each(|it| {
                if *it > 0 && u64::from(*it) < least {
                    (*it, n) = (0, n + 1);
                }
            }),
            Sums::LongCounts(counts) => counts.iter_mut().for_each(|it| {
                if *it > 0 && *it < least {
                    (*it, n) = (0, n + 1);
                }
            }),
            Sums::Weights(weights) => weights.iter_mut().for_each(|it| {
                if *it > 0.0 && *it < least as f64 {
                    (*it, n) = (0.0, n + 1);
                }
            }),
            Sums::Noisy(_) => {}
            Sums::Reals(_) => has_reals = true,
        });
        match visited {
            Ok(wire) if !has_reals => Ok((wire, n)),
            _ if is_listed => Ok((wire, 0)),
            _ => Err(refused(format!(
                "least_count cannot be kept for the pass {name}, whose sums are not counts; list it under \"passes\" to allow it anyway"
            ))),
        }
    }
}

/// The error for a request that the policy refuses.
pub(super) fn refused(problem: impl AsRef<str>) -> Error {
    Error::data(Place::default(), format!("refused: {}", problem.as_ref()))
}
