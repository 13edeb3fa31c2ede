//! Distances of scalar variables from given correlations.

use super::judge::Judge;
use super::{DistanceMatrix, DistanceOptions};
use crate::error::{Error, Place, Result};

/// `−ln |ρ|` of all pairs of correlations from a number of rows, under the same rules as [`estimate`](super::estimate) for
/// numbers.
///
/// # Arguments
/// - `lower`: the strict lower triangle of the correlations, row by row; NaN has no distance;
/// - `rows`: the number of rows they come from, which determines significance and standard errors.
///
/// # Errors
/// [`Error::Data`] if a correlation is not within −1 and 1, there are more or fewer than pairs, or a name is empty or stands
/// twice; [`Error::Option`] if an option is out of range.
pub fn from_correlations(names: Vec<String>, lower: &[f64], rows: f64, options: &DistanceOptions) -> Result<DistanceMatrix> {
    options.check()?;
    if let Some(bad) = lower.iter().find(|value| value.abs() > 1.0) {
        return Err(Error::data(Place::default(), format!("a correlation is {bad}; correlations are within -1 and 1")));
    }
    let judge = Judge::new(options);
    let known = |value: f64| !value.is_nan() && rows > 0.0;
    let of = |&value: &f64| if known(value) { judge.scalar(value, rows) } else { super::judge::Estimate::NONE };
    let values = lower.iter().map(|value| of(value).distance).collect();
    let errors = judge.errors.then(|| lower.iter().map(|value| of(value).error).collect());
    DistanceMatrix::from_lower(names, values, errors)
}
