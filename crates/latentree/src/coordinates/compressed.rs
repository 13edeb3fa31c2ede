//! Rows seen through the coordinates of their variables: every variable of many features becomes a group of a few numbers.
//!
//! Pair moments of p variables of d labels each take `(p·d)²/2` cells; of r coordinates each, `(p·r)²/2`. Canonical correlations
//! of the coordinates are those of the variables as far as the coordinates hold what the variables have in common, so distances
//! come from them as from any other groups.

use std::sync::Arc;

use rayon::prelude::*;

use super::feature_cross::{self, NARROW};
use super::{Coordinates, FoundCoordinates};
use crate::data::{Batch, BatchSource, Block, Column, ColumnData, Kind, Remote, Schema};
use crate::error::Result;
use crate::index::VarIx;
use crate::moments::Summary;
use crate::moments::chosen_rows::{ChosenRows, End, RowChoices};
use crate::moments::sums::to_bytes;
use crate::moments::wire::View;
use crate::observer::Observer;

/// Whether the pair moments of a schema are better taken of coordinates.
#[must_use]
pub(crate) fn is_worth_it(schema: &Schema) -> bool {
    let sizes: Vec<usize> = (0..schema.variables().len()).map(|ix| feature_cross::n_features(schema, ix)).collect();
    sizes.iter().any(|&size| size > NARROW) && sizes.iter().sum::<usize>() > MAX_FEATURES
}

/// Features of all variables up to which pair moments are taken as they are.
const MAX_FEATURES: usize = 600;

/// Columns that a thread writes at once.
const COLUMNS_AT_ONCE: usize = 32;

/// A source whose variables are groups of coordinates.
pub(crate) struct Compressed<'a> {
    source: &'a mut dyn BatchSource,
    coordinates: Coordinates,
    schema: Arc<Schema>,
}

/// Finds coordinates for the variables of a source, `wanted` for each one of many features: the directions that go with its neighbours `near`, from
/// the first half of the rows. The source is rewound.
///
/// # Errors
/// Those of the source, and [`Error::Cancelled`](crate::Error::Cancelled).
pub(crate) fn find(
    source: &mut dyn BatchSource,
    summary: &Summary,
    choices: &RowChoices,
    near: &[Vec<usize>],
    wanted: usize,
    observer: &dyn Observer,
) -> Result<FoundCoordinates> {
    let schema = Arc::clone(source.schema());
    // Directions fit the chance correlations of the rows they are found with, so they are not used on the same rows.
    let mut half = ChosenRows::new(&mut *source, choices.share(0.5, End::Low));
    let found = feature_cross::directions(&schema, summary.columns(), near, wanted, &mut half, observer)?;
    source.rewind()?;
    Ok(FoundCoordinates(found))
}

impl<'a> Compressed<'a> {
    /// For every column whether it is a coordinate; a variable without any has one column of zeros.
    fn shown(&self) -> Vec<bool> {
        let variables = 0..self.schema.variables().len();
        let flags = variables.map(|ix| self.coordinates.of(ix)).flat_map(|range| vec![!range.is_empty(); range.len().max(1)]);
        flags.collect()
    }

    /// A source seen through known coordinates.
    pub(crate) fn of(source: &'a mut dyn BatchSource, coordinates: Coordinates) -> Result<Self> {
        let plain = Arc::clone(source.schema());
        let mut builder = Schema::builder();
        for (ix, variable) in plain.variables().iter().enumerate() {
            let n = coordinates.of(ix).len();
            builder = if n == 1 && plain.scalar_kind(VarIx::new(ix)).is_some() {
                builder.scalar(variable.name.clone(), Kind::Continuous)
            } else {
                // Names that no column of the user's can have, as they are not shown.
                let member = |at: usize| Column { name: format!("\u{0}{ix}.{at}"), kind: Kind::Continuous };
                builder.group(variable.name.clone(), (0..n.max(1)).map(member).collect())
            };
        }
        Ok(Self { source, coordinates, schema: Arc::new(builder.build()?) })
    }
}

impl BatchSource for Compressed<'_> {
    fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    fn next_batch(&mut self) -> Result<Option<Arc<Batch>>> {
        let Some(batch) = self.source.next_batch()? else { return Ok(None) };
        let n = self.coordinates.len();
        let mut numbers = Vec::new();
        self.coordinates.fill(&batch, 0..batch.n_rows, &mut numbers);
        let mut columns = Vec::with_capacity(n);
        for ix in 0..self.schema.variables().len() {
            let range = self.coordinates.of(ix);
            if range.is_empty() {
                columns.push(ColumnData::Reals(vec![0.0; batch.n_rows]));
            }
            columns.extend(range.map(|_| ColumnData::Reals(vec![0.0; batch.n_rows])));
        }
        // Rows in blocks, so that both sides stay in the cache.
        let mut places: Vec<&mut Vec<f64>> = columns
            .iter_mut()
            .zip(self.shown())
            .filter(|it| it.1)
            .filter_map(|(column, _)| if let ColumnData::Reals(values) = column { Some(values) } else { None })
            .collect();
        places.par_chunks_mut(COLUMNS_AT_ONCE).enumerate().for_each(|(chunk, places)| {
            for first in (0..batch.n_rows).step_by(64) {
                let rows = first..(first + 64).min(batch.n_rows);
                for (place, column) in places.iter_mut().enumerate() {
                    for row in rows.clone() {
                        column[row] = numbers[row * n + chunk * COLUMNS_AT_ONCE + place];
                    }
                }
            }
        });
        Ok(Some(Arc::new(Batch {
            first_row: batch.first_row,
            n_rows: batch.n_rows,
            block: Block::Dense(columns),
            weights: batch.weights.clone(),
        })))
    }

    fn rewind(&mut self) -> Result<()> {
        self.source.rewind()
    }

    fn n_rows_hint(&self) -> Option<u64> {
        self.source.n_rows_hint()
    }

    fn remote(&self) -> Option<&dyn Remote> {
        self.source.remote()
    }

    fn seen_through(&self, pass: Vec<u8>) -> Result<Vec<u8>> {
        let content = to_bytes(&self.coordinates)?;
        self.source.seen_through(View { name: Coordinates::NAME, content: &content, pass: &pass }.write())
    }
}
