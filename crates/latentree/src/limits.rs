//! Upper limits for options that determine a size.
//!
//! A larger number is a mistake of typing or of units: it is refused with the range that is allowed, before anything is
//! allocated. What fits the limits may still be too large together with the data; [`MemoryBudget`](crate::MemoryBudget) is for
//! that.

use std::ops::RangeInclusive;

use crate::error::{Error, Result};

/// Most states of a hidden variable.
pub const MAX_HIDDEN_STATES: usize = 1_000;
/// Most states of a simulated observed variable.
pub const MAX_SIMULATED_STATES: usize = 1_000;
/// Most observed variables of a simulated model.
pub const MAX_SIMULATED_VARIABLES: usize = 10_000_000;
/// Most bootstrap replicates.
pub const MAX_REPLICATES: usize = 100_000;
/// Most starts of EM.
pub const MAX_RESTARTS: usize = 10_000;
/// Most passes of EM over the rows.
pub const MAX_EM_ITERATIONS: usize = 1_000_000;
/// Most rows drawn from a model.
pub const MAX_DRAWN_ROWS: u64 = 1_000_000_000_000;
/// Most threads: each takes memory and a place in the system's table, and tens of thousands can stop a machine.
pub const MAX_THREADS: usize = 1_024;

/// Fails if a number is outside its range.
pub(crate) fn check<T: PartialOrd + std::fmt::Display>(option: &str, value: T, range: RangeInclusive<T>) -> Result<()> {
    if range.contains(&value) {
        return Ok(());
    }
    Err(Error::option(option, format!("{value} given; {} to {} are allowed", range.start(), range.end())))
}
