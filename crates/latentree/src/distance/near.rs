//! Finds related variables with many features before their directions are known.

use std::sync::Arc;

use super::{DistanceOptions, Estimator, estimate};
use crate::coordinates::compressed::Compressed;
use crate::coordinates::feature_cross::{self, NARROW};
use crate::coordinates::{Coordinates, neighbours};
use crate::data::BatchSource;
use crate::error::Result;
use crate::moments::chosen_rows::{ChosenRows, End, RowChoices};
use crate::moments::{PairMoments, Summary, fold};
use crate::observer::{Observer, Silent};

/// Rows with which neighbours are looked for.
const ROWS_FOR_NEIGHBOURS: u64 = 8192;
/// Random combinations of a variable's features with which neighbours are looked for, where there are few variables.
const COMBINATIONS: usize = 4;
/// Multiplications that looking for neighbours may cost.
const NEIGHBOURS_WORK: f64 = 8e9;
/// Features of all variables that make sums with neighbours large, and how many neighbours they are then found with.
const MANY_FEATURES: usize = 500_000;
const FEW_NEIGHBOURS: usize = 4;
/// Neighbours that a variable's directions are found with.
const NEIGHBOURS: usize = 6;

/// The neighbours of every variable that its directions are found with: by tables of labels, or by random combinations of
/// features.
pub(super) fn near(source: &mut dyn BatchSource, summary: &Summary, observer: &dyn Observer) -> Result<Vec<Vec<usize>>> {
    let schema = Arc::clone(source.schema());
    let sizes = (0..schema.variables().len()).map(|ix| feature_cross::n_features(&schema, ix));
    let n_features: usize = sizes.filter(|&size| size > NARROW).sum();
    let n_near = if n_features > MANY_FEATURES { FEW_NEIGHBOURS } else { NEIGHBOURS };
    Ok(match neighbours::by_tables(source, summary, n_near, observer)? {
        Some(near) => near,
        None => by_combinations(source, summary, n_near, observer)?,
    })
}

/// For each variable those that go with random combinations of its features best, in some rows.
fn by_combinations(
    source: &mut dyn BatchSource,
    summary: &Summary,
    n_near: usize,
    observer: &dyn Observer,
) -> Result<Vec<Vec<usize>>> {
    let (schema, columns) = (Arc::clone(source.schema()), summary.columns());
    let budget = (2.0 * NEIGHBOURS_WORK / ROWS_FOR_NEIGHBOURS as f64).sqrt() / schema.variables().len().max(1) as f64;
    let combinations = (budget as usize).clamp(2, COMBINATIONS);
    let random = feature_cross::random_directions(&schema, columns, combinations);
    let coordinates = Coordinates::new(&schema, columns, &random);
    observer.stage("neighbours", Some(ROWS_FOR_NEIGHBOURS));
    let step = summary.n_rows().div_ceil(ROWS_FOR_NEIGHBOURS).max(1);
    let seen = |rows: &mut dyn BatchSource| {
        let mut seen = Compressed::of(rows, coordinates)?;
        let moments = PairMoments::new(Arc::clone(seen.schema()))?;
        fold(&mut seen, moments, observer)
    };
    let moments = if step == 1 {
        seen(&mut *source)?
    } else {
        let choice = RowChoices::of(source, observer)?.share(1.0 / step as f64, End::Low);
        seen(&mut ChosenRows::new(&mut *source, choice))?
    };
    source.rewind()?;
    let options = DistanceOptions::new().estimator(Estimator::Canonical).hidden_states(Some(2)).significance(None).errors(false);
    let distances = estimate(&moments, &options, &Silent)?;
    let ranks = neighbours::ranks(&schema);
    let near = (0..distances.len())
        .map(|i| {
            let far = |j: usize| distances.get(i, j).unwrap_or(f64::INFINITY);
            let mut others: Vec<usize> = (0..distances.len()).filter(|&j| j != i).collect();
            others.sort_by(|&a, &b| far(a).total_cmp(&far(b)).then(ranks[a].cmp(&ranks[b])));
            others.truncate(n_near);
            others
        })
        .collect();
    Ok(near)
}
