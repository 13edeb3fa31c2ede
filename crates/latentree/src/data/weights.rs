//! The meaning of row weights, and rows with rescaled weights.
//!
//! *Sampling weights* say how many members of a population a row represents. Their scale says nothing about how much was observed,
//! so they are multiplied by one number such that they sum to the number of rows with a positive weight: n, as tests and BIC
//! count it. *Frequency weights* say how often a row was observed: they are whole numbers, and n is their sum.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Batch, BatchSource, Dataset, Remote, Rows, Schema};
use crate::error::{Error, Place, Result};
use crate::journal::Journal;

/// What row weights mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum WeightKind {
    /// How many members of a population a row represents. Scaled to sum to the number of rows with a positive weight, which is n in BIC:
    /// all weights times a constant give the same model.
    #[default]
    Sampling,
    /// How often a row was observed. Whole numbers, whose sum is n in BIC.
    Frequency,
    /// Frequencies if all weights are whole numbers, else sampling weights.
    ByValue,
}

impl WeightKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Sampling, Self::Frequency, Self::ByValue];

    /// The name users write.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Sampling => "sampling",
            Self::Frequency => "frequency",
            Self::ByValue => "auto",
        }
    }
}

impl fmt::Display for WeightKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

crate::named::by_name!(WeightKind);

impl FromStr for WeightKind {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.name() == name)
            .ok_or_else(|| Error::option("weight_kind", format!("{name:?} is not sampling, frequency or auto")))
    }
}

/// What to do with the weights of a source so that they sum to its n.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct WeightScale {
    change: Change,
}

#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Change {
    #[default]
    Keep,
    /// All are the same: they say nothing.
    Drop,
    Multiply(f64),
}

/// Statistics of weights.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct SeenWeights {
    n_positive: u64,
    sum: f64,
    least: Option<f64>,
    largest: f64,
    /// The zero-based number of the first row whose weight is not a whole number.
    first_fraction: Option<(u64, f64)>,
}

impl WeightScale {
    /// Looks through the weights of a source, and rewinds it. A source without weights is not read beyond its first batch.
    ///
    /// # Errors
    /// Those of the source; [`Error::Option`] if weights that are to be frequencies are not whole numbers; [`Error::Data`] if
    /// they are so large or small that their sum is out of range.
    pub fn of(source: &mut dyn BatchSource, kind: WeightKind) -> Result<Self> {
        source.rewind()?;
        let mut seen = SeenWeights::default();
        let mut is_weighted = false;
        while let Some(batch) = source.next_batch()? {
            if !is_weighted && batch.weights.is_none() {
                source.rewind()?;
                return Ok(Self { change: Change::Keep });
            }
            is_weighted = true;
            seen.observe(&batch);
        }
        source.rewind()?;
        // A source of no rows is refused by what reads it.
        Ok(Self { change: if is_weighted { seen.change(kind)? } else { Change::Keep } })
    }

    /// The batch with its weights changed.
    #[must_use]
    pub fn apply(&self, batch: Arc<Batch>) -> Arc<Batch> {
        if self.change == Change::Keep || batch.weights.is_none() {
            return batch;
        }
        let mut batch = Arc::unwrap_or_clone(batch);
        match self.change {
            Change::Multiply(factor) => batch.weights.iter_mut().flatten().for_each(|weight| *weight *= factor),
            Change::Drop | Change::Keep => batch.weights = None,
        }
        Arc::new(batch)
    }
}

impl SeenWeights {
    fn observe(&mut self, batch: &Batch) {
        for row in 0..batch.n_rows {
            self.add(batch.first_row + row as u64, batch.weight(row));
        }
    }

    /// Takes in the weight of a row.
    pub(crate) fn add(&mut self, row: u64, weight: f64) {
        self.n_positive += u64::from(weight > 0.0);
        self.sum += weight;
        self.least = Some(self.least.map_or(weight, |least| least.min(weight)));
        self.largest = self.largest.max(weight);
        if self.first_fraction.is_none() && weight.fract() != 0.0 {
            self.first_fraction = Some((row, weight));
        }
    }

    /// Takes in the weights of other rows.
    #[cfg(feature = "columnar")]
    pub(crate) fn merge(&mut self, other: &Self) {
        self.n_positive += other.n_positive;
        self.sum += other.sum;
        self.least = match (self.least, other.least) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        self.largest = self.largest.max(other.largest);
        self.first_fraction = self.first_fraction.or(other.first_fraction);
    }

    /// What becomes of the weights.
    #[cfg(feature = "columnar")]
    pub(crate) fn scale(&self, kind: WeightKind) -> Result<WeightScale> {
        Ok(WeightScale { change: self.change(kind)? })
    }

    fn change(&self, kind: WeightKind) -> Result<Change> {
        // Learning from no rows reports its own error; scoring no rows is valid.
        if self.n_positive == 0 {
            return Ok(Change::Keep);
        }
        let is_frequency = match (kind, self.first_fraction) {
            (WeightKind::Frequency, Some((row, weight))) => {
                let problem = format!(
                    "the weight {weight} of row {} is not a whole number, as frequencies must be; sampling weights may be any numbers ≥ 0",
                    row + 1
                );
                return Err(Error::option("weight_kind", problem));
            }
            (WeightKind::Frequency, None) | (WeightKind::ByValue, None) => true,
            (WeightKind::Sampling, _) | (WeightKind::ByValue, Some(_)) => false,
        };
        let are_equal = self.least == Some(self.largest);
        if are_equal && (!is_frequency || self.largest == 1.0) {
            return Ok(Change::Drop);
        }
        let factor = self.n_positive as f64 / self.sum;
        match (is_frequency, factor.is_normal()) {
            (true, _) if self.sum.is_finite() => Ok(Change::Keep),
            (false, true) => Ok(Change::Multiply(factor)),
            _ => {
                let problem =
                    format!("the sum of the weights, {}, is out of range; divide or multiply them all by a constant", self.sum);
                Err(Error::data(Place::default(), problem))
            }
        }
    }
}

/// Rows whose weights are scaled to mean what a [`WeightKind`] says.
///
/// # Example
/// ```
/// use std::sync::Arc;
/// use latentree::data::{ColumnData, Dataset, Kind, Rows as _, Schema, WeightKind, WeightedRows};
/// let schema = Arc::new(Schema::builder().scalar("a", Kind::binary()).build()?);
/// let columns = vec![ColumnData::Codes8(vec![0, 1, 1])];
/// let data = Dataset::from_columns(schema, columns, Some(vec![0.001, 0.003, 0.0]))?;
/// let rows = WeightedRows::new(&data, WeightKind::Sampling)?;
/// assert_eq!(rows.open()?.next_batch()?.unwrap().weights, Some(vec![0.5, 1.5, 0.0]));
/// # Ok::<(), latentree::Error>(())
/// ```
pub struct WeightedRows<'a> {
    rows: &'a dyn Rows,
    scale: WeightScale,
    /// The rows with changed weights, if they are in memory.
    table: Option<Dataset>,
}

impl<'a> WeightedRows<'a> {
    /// These rows; their weights are looked through.
    ///
    /// # Errors
    /// Those of [`WeightScale::of`].
    pub fn new(rows: &'a dyn Rows, kind: WeightKind) -> Result<Self> {
        let scale = match rows.remote() {
            // They come with their weights scaled.
            Some(_) => WeightScale { change: Change::Keep },
            None => WeightScale::of(&mut *rows.open()?, kind)?,
        };
        let table = match rows.dataset() {
            Some(_) if scale.change != Change::Keep => Some(Dataset::read(&mut Scaled { source: rows.open()?, scale })?),
            _ => None,
        };
        Ok(Self { rows, scale, table })
    }

    /// Fails unless a row of weight w represents w rows, as it does without weights.
    ///
    /// # Errors
    /// [`Error::Option`].
    pub fn require_frequencies(&self) -> Result<()> {
        if self.are_frequencies() {
            return Ok(());
        }
        let problem = "weights that are no frequencies are scaled by all rows, and moments for a tree may be of some of them; leave them out";
        Err(Error::option("weight_kind", problem))
    }

    /// Whether a row of weight w represents w rows, as it does without weights.
    pub(crate) fn are_frequencies(&self) -> bool {
        self.scale.change == Change::Keep && self.rows.remote().is_none_or(Remote::are_frequencies)
    }
}

impl fmt::Debug for WeightedRows<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WeightedRows").field("scale", &self.scale).finish_non_exhaustive()
    }
}

impl Rows for WeightedRows<'_> {
    fn schema(&self) -> &Arc<Schema> {
        self.rows.schema()
    }

    fn open(&self) -> Result<Box<dyn BatchSource + '_>> {
        match &self.table {
            Some(table) => table.open(),
            None if self.scale.change == Change::Keep => self.rows.open(),
            None => Ok(Box::new(Scaled { source: self.rows.open()?, scale: self.scale })),
        }
    }

    fn dataset(&self) -> Option<&Dataset> {
        if self.scale.change == Change::Keep { self.rows.dataset() } else { self.table.as_ref() }
    }

    fn n_rows_hint(&self) -> Option<u64> {
        self.rows.n_rows_hint()
    }

    fn remote(&self) -> Option<&dyn Remote> {
        self.rows.remote()
    }

    fn journal(&self) -> Option<&Journal> {
        self.rows.journal()
    }
}

/// A source whose weights are changed as they come.
struct Scaled<'a> {
    source: Box<dyn BatchSource + 'a>,
    scale: WeightScale,
}

impl BatchSource for Scaled<'_> {
    fn schema(&self) -> &Arc<Schema> {
        self.source.schema()
    }

    fn next_batch(&mut self) -> Result<Option<Arc<Batch>>> {
        Ok(self.source.next_batch()?.map(|batch| self.scale.apply(batch)))
    }

    fn rewind(&mut self) -> Result<()> {
        self.source.rewind()
    }

    fn n_rows_hint(&self) -> Option<u64> {
        self.source.n_rows_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{ColumnData, Kind};

    fn scaled(weights: &[f64], kind: WeightKind) -> Result<Option<Vec<f64>>> {
        let schema = Arc::new(Schema::builder().scalar("a", Kind::Continuous).build().unwrap());
        let columns = vec![ColumnData::Reals(vec![1.0; weights.len()])];
        let data = Dataset::from_columns(schema, columns, Some(weights.to_vec())).unwrap();
        let rows = WeightedRows::new(&data, kind)?;
        let first = rows.open()?.next_batch()?.unwrap();
        Ok(first.weights.clone())
    }

    #[test]
    fn sampling_weights_sum_to_the_rows_that_count_whatever_their_scale() {
        for factor in [1.0, 0.0002, 3e200, 1e-200] {
            let weights = [2.0, 0.0, 1.0, 5.0].map(|weight| weight * factor);
            let found = scaled(&weights, WeightKind::Sampling).unwrap().unwrap();
            for (found, expected) in found.iter().zip([0.75, 0.0, 0.375, 1.875]) {
                assert!((found - expected).abs() < 1e-12, "{factor}: {found}");
            }
        }
        // Equal weights say nothing.
        assert_eq!(scaled(&[0.0002; 3], WeightKind::Sampling).unwrap(), None);
    }

    #[test]
    fn frequencies_are_whole_numbers_and_stay_as_they_are() {
        assert_eq!(scaled(&[2.0, 0.0, 3.0], WeightKind::Frequency).unwrap(), Some(vec![2.0, 0.0, 3.0]));
        assert_eq!(scaled(&[2.0; 2], WeightKind::Frequency).unwrap(), Some(vec![2.0; 2]));
        let message = scaled(&[2.0, 0.5], WeightKind::Frequency).unwrap_err().to_string();
        assert!(message.contains("weight_kind") && message.contains("0.5 of row 2"), "{message}");
    }

    #[test]
    fn whole_numbers_are_frequencies_by_value_and_others_sampling_weights() {
        assert_eq!(scaled(&[2.0, 4.0], WeightKind::ByValue).unwrap(), Some(vec![2.0, 4.0]));
        assert_eq!(scaled(&[0.5, 1.5], WeightKind::ByValue).unwrap(), Some(vec![0.5, 1.5]));
        assert_eq!(scaled(&[0.25, 0.75], WeightKind::ByValue).unwrap(), Some(vec![0.5, 1.5]));
    }

    #[test]
    fn weights_without_a_sum_are_refused() {
        assert!(scaled(&[f64::MAX, f64::MAX / 2.0], WeightKind::Sampling).is_err());
        assert!(scaled(&[5e-324, 1e-323], WeightKind::Sampling).is_err());
        assert_eq!(scaled(&[0.0, 0.0], WeightKind::Sampling).unwrap(), Some(vec![0.0, 0.0]));
    }
}
