//! Distances directly from rows, even if the pair moments of all features would not fit in memory.

use std::sync::Arc;

use super::near::near;
use super::{DistanceMatrix, DistanceOptions, Estimator, estimate};
use crate::coordinates::bins::{BinnedRows, Bins};
use crate::coordinates::compressed::{self, Compressed, is_worth_it};
use crate::coordinates::{Coordinates, FoundCoordinates};
use crate::data::{BatchSource, Schema};
use crate::error::Result;
use crate::moments::chosen_rows::{ChosenRows, End, RowChoices};
use crate::moments::{Accumulator, PairMoments, PairOptions, Summary, fold};
use crate::observer::Observer;

/// What distances are estimated from.
#[derive(Debug, Clone)]
pub struct RowMoments {
    /// The pair moments that [`estimate`] is to be given.
    pub moments: PairMoments,
    /// The coordinates they are those of, if not of the columns themselves; [`by_moments`](crate::parameters::by_moments) can use
    /// them again.
    pub coordinates: Option<FoundCoordinates>,
}

/// The bins that numbers are cut into for distances by more than two hidden states; `None` where numbers count as they are.
///
/// # Errors
/// Those of the source, and [`Error::Cancelled`](crate::Error::Cancelled).
pub(crate) fn bins_for(
    source: &mut dyn BatchSource,
    options: &DistanceOptions,
    observer: &dyn Observer,
) -> Result<Option<Arc<Bins>>> {
    let by_features = matches!(options.estimator, Estimator::Auto | Estimator::Canonical | Estimator::Multivariate);
    let bins = if by_features { Bins::find(source, options.n_hidden_states(), observer)? } else { None };
    Ok(bins.map(Arc::new))
}

/// The pair moments of a source's columns that [`estimate`] is to be given. For more than two hidden states, numbers are cut into
/// bins of about equal weight, whose indicators show as many states as distances need; a column of the moments then has the bins
/// for its labels. The source is left at its end.
///
/// # Errors
/// Those of the source, of [`PairMoments::new`], and [`Error::Cancelled`](crate::Error::Cancelled).
pub fn pair_moments(
    source: &mut dyn BatchSource,
    options: &DistanceOptions,
    pairs: PairOptions,
    observer: &dyn Observer,
) -> Result<PairMoments> {
    let moments = |source: &mut dyn BatchSource| {
        observer.stage("moments", source.n_rows_hint());
        let empty = PairMoments::with_options(Arc::clone(source.schema()), pairs)?;
        fold(source, empty, observer)
    };
    match bins_for(source, options, observer)? {
        Some(bins) => moments(&mut BinnedRows::new(source, bins)?),
        None => moments(source),
    }
}

/// [`pair_moments`] or, where variables have so many features that these would be too many, the moments of few coordinates of
/// each variable (a group of numbers under the variable's name). The second needs more passes and no array of the size of two
/// variables' features; its distances are canonical, and come from one half of the rows, the coordinates from the other.
///
/// # Errors
/// Those of the source, of [`PairMoments::new`], and [`Error::Cancelled`](crate::Error::Cancelled).
pub fn moments_for(
    source: &mut dyn BatchSource,
    summary: &Summary,
    options: &DistanceOptions,
    observer: &dyn Observer,
) -> Result<RowMoments> {
    let (moments, coordinates) = fold_for(source, summary, options, observer, PairMoments::new)?;
    Ok(RowMoments { moments, coordinates })
}

/// Folds the rows that [`moments_for`] takes pair moments of into any accumulator, which is made for their schema.
pub(crate) fn fold_for<A: Accumulator>(
    source: &mut dyn BatchSource,
    summary: &Summary,
    options: &DistanceOptions,
    observer: &dyn Observer,
    make: impl FnOnce(Arc<Schema>) -> Result<A>,
) -> Result<(A, Option<FoundCoordinates>)> {
    let Some(bins) = bins_for(source, options, observer)? else {
        return fold_seen(source, summary, options, observer, make);
    };
    let mut binned = BinnedRows::new(source, bins)?;
    let empty = Summary::new(Arc::clone(binned.schema()));
    let summary = fold(&mut binned, empty, observer)?;
    binned.rewind()?;
    fold_seen(&mut binned, &summary, options, observer, make)
}

fn fold_seen<A: Accumulator>(
    source: &mut dyn BatchSource,
    summary: &Summary,
    options: &DistanceOptions,
    observer: &dyn Observer,
    make: impl FnOnce(Arc<Schema>) -> Result<A>,
) -> Result<(A, Option<FoundCoordinates>)> {
    let schema = Arc::clone(source.schema());
    let fits = matches!(options.estimator, Estimator::Auto | Estimator::Canonical);
    if !fits || !is_worth_it(&schema) {
        observer.stage("moments", source.n_rows_hint());
        let moments = fold(source, make(schema)?, observer)?;
        source.rewind()?;
        return Ok((moments, None));
    }
    let near = near(source, summary, observer)?;
    let choices = RowChoices::of(source, observer)?;
    let found = compressed::find(source, summary, &choices, &near, options.n_hidden_states(), observer)?;
    observer.stage("moments", source.n_rows_hint());
    let moments = {
        let coordinates = Coordinates::new(&schema, summary.columns(), &found.0);
        let mut others = ChosenRows::new(&mut *source, choices.share(0.5, End::High));
        let mut compressed = Compressed::of(&mut others, coordinates)?;
        let moments = make(Arc::clone(compressed.schema()))?;
        fold(&mut compressed, moments, observer)?
    };
    source.rewind()?;
    Ok((moments, Some(found)))
}

/// Distances between all variables of a source: [`moments_for`] and [`estimate`].
///
/// # Errors
/// Those of the two.
pub fn from_rows(
    source: &mut dyn BatchSource,
    summary: &Summary,
    options: &DistanceOptions,
    observer: &dyn Observer,
) -> Result<DistanceMatrix> {
    estimate(&moments_for(source, summary, options, observer)?.moments, options, observer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inference::Inference;
    use crate::observer::Silent;
    use crate::simulate::{ParameterFamily, Shape, Simulation};
    use crate::structure::{ChowLiuNeighborJoining, StructureLearner};
    use crate::tree::same_structure;

    #[test]
    fn coordinates_of_wide_variables_give_the_distances_of_all_their_features() {
        let family = ParameterFamily::Categorical { states: 40, hidden_states: 3, separation: 0.7 };
        let model = Simulation::new(Shape::Complete { degree: 4 }, 12).family(family).seed(5).model().unwrap();
        let data = Inference::new(&model).sample(20_000, 1).unwrap();
        let summary = fold(&mut data.source(), Summary::new(Arc::clone(data.schema())), &Silent).unwrap();
        let options = DistanceOptions::new().hidden_states(Some(3));
        let plain = from_rows(&mut data.source(), &summary, &options, &Silent).unwrap();
        let mut source = data.source();
        let near = near(&mut source, &summary, &Silent).unwrap();
        let choices = RowChoices::of(&mut source, &Silent).unwrap();
        let found = compressed::find(&mut source, &summary, &choices, &near, 3, &Silent).unwrap();
        let coordinates = Coordinates::new(data.schema(), summary.columns(), &found.0);
        let mut others = ChosenRows::new(&mut source, choices.share(0.5, End::High));
        let mut compressed = Compressed::of(&mut others, coordinates).unwrap();
        let moments = PairMoments::new(Arc::clone(compressed.schema())).unwrap();
        let moments = fold(&mut compressed, moments, &Silent).unwrap();
        let close = estimate(&moments, &options, &Silent).unwrap();
        assert_eq!(close.names(), plain.names());
        for i in 0..12 {
            for j in 0..i {
                let (Some(a), Some(b)) = (close.get(i, j), plain.get(i, j)) else { continue };
                // Both estimate the same; canonical correlations of 39 × 39 noise are larger, so that far pairs seem nearer by
                // all features than they are.
                assert!((a - b).abs() < 0.2 * b.max(1.0), "{i} {j}: {a} {b}");
            }
        }
        let tree = ChowLiuNeighborJoining::default().learn(&close, &Silent).unwrap();
        assert!(same_structure(&tree, model.tree()));
    }
}
