//! Discrete Gaussian noise, from OpenDP and the operating system's entropy.
//!
//! The sampler is exact: it uses no floating-point numbers. Its bits come from a per-thread ChaCha20 generator that the
//! operating system seeds and reseeds. It never uses the seed set by the user, and no two passes have the same noise.

use crate::error::Result;

/// Number of values that one thread draws in a row.
#[cfg(feature = "dp")]
const CHUNK: usize = 256;

/// Independent draws from the discrete Gaussian distribution with this scale, in units of the sums.
///
/// # Errors
/// [`Error::Option`](crate::Error::Option) if this program was built without the feature `dp`.
#[cfg(feature = "dp")]
pub(crate) fn draws(scale: f64, n: usize) -> Result<Vec<i64>> {
    use opendp::traits::samplers::sample_discrete_gaussian;
    use rayon::prelude::*;

    use crate::error::{Error, Place};

    let failed = |problem: String| Error::data(Place::default(), format!("no noise can be drawn: {problem}"));
    // A rational number not below the scale, so that the actual cost never exceeds the stated one.
    let scale = format!("{}/1024", (scale * 1024.0).ceil() as u64);
    let mut noise = vec![0; n];
    let drawn: Vec<Result<()>> = noise
        .par_chunks_mut(CHUNK)
        .map(|chunk| {
            for value in chunk {
                let scale = scale.parse().map_err(|_| failed("the scale is no number".to_owned()))?;
                let drawn = sample_discrete_gaussian(scale).map_err(|error| failed(error.to_string()))?;
                *value = i64::try_from(drawn).map_err(|_| failed("a draw is out of range".to_owned()))?;
            }
            Ok(())
        })
        .collect();
    drawn.into_iter().collect::<Result<()>>()?;
    Ok(noise)
}

/// Fails: without the sampler there is no noise, and therefore no answer.
#[cfg(not(feature = "dp"))]
pub(crate) fn draws(_scale: f64, _n: usize) -> Result<Vec<i64>> {
    Err(crate::error::Error::option(
        "federate.dp_rho",
        "this program was built without the feature dp; build it with --features dp",
    ))
}
