//! The private passes of a run: their cost and their noise.

use crate::data::Schema;
use crate::error::Result;
use crate::learn::ParameterMethod;
use crate::moments::Accumulator;
use crate::moments::wire::{Wire, to_wire};
use crate::parameters::PrivateTriples;
use crate::privacy::{Noised, PrivatePairs};

/// Returns whether a pass is released with noise.
pub(super) fn is_private(pass: &str) -> bool {
    pass == PrivatePairs::NAME || pass == PrivateTriples::NAME
}

/// The cost ρ of an answer to this pass; 0 for a pass without noise.
pub(super) fn cost_of(pass: &[u8]) -> Result<f64> {
    let wire = Wire::read(pass)?;
    match wire.name {
        PrivatePairs::NAME => wire.accumulator::<PrivatePairs>().map(|it| it.cost()),
        PrivateTriples::NAME => wire.accumulator::<PrivateTriples>().map(|it| it.cost()),
        _ => Ok(0.0),
    }
}

/// Adds noise to a pass that has seen rows, and returns the number of rows that were clipped.
pub(super) fn with_noise(pass: &[u8]) -> Result<(Vec<u8>, u64)> {
    fn noisy<A: Noised>(wire: &Wire<'_>) -> Result<(Vec<u8>, u64)> {
        let mut pass = wire.accumulator::<A>()?;
        let cut = pass.add_noise()?;
        Ok((to_wire(&pass, wire.schema)?, cut))
    }
    let wire = Wire::read(pass)?;
    match wire.name {
        PrivateTriples::NAME => noisy::<PrivateTriples>(&wire),
        _ => noisy::<PrivatePairs>(&wire),
    }
}

/// The number of rounds of a private run.
pub(super) fn n_rounds(schema: &Schema, method: ParameterMethod) -> u32 {
    1 + u32::from(method != ParameterMethod::None && crate::learn::has_private_triples(schema))
}
