//! Numbers cut into bins, so that one column shows hidden variables of more than two states.
//!
//! What a standardised number z tells of its hidden parent is `E[z | h]`, one number for each state: of rank 1, whatever the
//! number of states, and nothing at all where the states have the same mean. Indicators of B intervals have rank B − 1. They are
//! functions of the number alone, so that everything that holds for columns of labels holds for them: canonical distances are
//! additive, and moments give the tables of hidden nodes.
//!
//! Intervals are of about the same weight. A value that many rows have (zeros of counts) gets a bin of its own and the others
//! share what is left. Powers `(z, z² − 1, …)` would do as well in theory, but a few large values decide about them.
//!
//! Only variables of one column are cut: a group has features enough.

use std::sync::Arc;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::column_numbers;
use crate::data::{Batch, BatchSource, Block, ColumnData, Kind, Schema, SparseRows};
use crate::error::{Error, Result};
use crate::observer::Observer;

/// Fewest and most bins of a column, where it does not need more to show all states.
const MIN_BINS: usize = 8;
const MAX_BINS: usize = 12;
/// Bins of all columns, beyond which each gets fewer: pair moments take the square of their number.
const MAX_FEATURES: usize = 1 << 14;
/// Cells that quantiles are taken of, and rows they are taken of at least and at most.
const MAX_CELLS: usize = 1 << 23;
const MIN_ROWS: usize = 1 << 12;
const MAX_ROWS: usize = 1 << 16;

/// Where the columns of numbers are cut.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Bins {
    columns: Vec<Option<Cuts>>,
}

/// The borders of a column's bins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Cuts {
    /// A value belongs to the bin of the first border that it does not exceed; those beyond the last one to one more.
    borders: Vec<f64>,
    /// The bin of zero, which changes places with the first: cells that sparse rows do not store have code 0.
    zero: usize,
}

impl Cuts {
    fn new(borders: Vec<f64>) -> Self {
        let zero = borders.partition_point(|&border| border < 0.0);
        Self { borders, zero }
    }

    fn code(&self, value: f64) -> usize {
        let bin = self.borders.partition_point(|&border| border < value);
        if bin == self.zero {
            0
        } else if bin == 0 {
            self.zero
        } else {
            bin
        }
    }
}

impl Bins {
    /// Cuts the columns of numbers of a source so that each shows `n_states` states; `None` if two states need no cuts, if there
    /// are no such columns, or so many that their bins would be too many. The source is read once and rewound.
    ///
    /// # Errors
    /// Those of the source, and [`Error::Cancelled`].
    pub(crate) fn find(source: &mut dyn BatchSource, n_states: usize, observer: &dyn Observer) -> Result<Option<Self>> {
        let schema = Arc::clone(source.schema());
        let is_number = |it: &&crate::data::Variable| !it.is_group && schema.column(it.columns[0]).kind.n_states().is_none();
        let numbers: Vec<usize> = schema.variables().iter().filter(is_number).map(|it| it.columns[0].get()).collect();
        if n_states <= 2 || numbers.is_empty() || numbers.len().saturating_mul(n_states) > MAX_FEATURES {
            return Ok(None);
        }
        observer.stage("quantiles", source.n_rows_hint());
        let seen = Sample::read(source, &numbers, observer)?;
        let distributions: Vec<Vec<(f64, f64)>> =
            seen.values.par_iter().map(|values| distribution(values, &seen.weights)).collect();
        Ok(Self::cut(schema.columns().len(), &numbers, &distributions, n_states))
    }

    /// Cuts these columns, each with its values and their weights.
    fn cut(n_columns: usize, numbers: &[usize], distributions: &[Vec<(f64, f64)>], n_states: usize) -> Option<Self> {
        let mut n_bins = (2 * n_states + 2).clamp(MIN_BINS, MAX_BINS).max(n_states + 2);
        let cut = |n_bins: usize| distributions.par_iter().map(|it| borders(it, n_bins)).collect::<Vec<Vec<f64>>>();
        let mut all = cut(n_bins);
        while all.iter().map(|it| it.len() + 1).sum::<usize>() > MAX_FEATURES && n_bins > n_states {
            n_bins -= 1;
            all = cut(n_bins);
        }
        let mut columns = vec![None; n_columns];
        for (&column, borders) in numbers.iter().zip(all).filter(|it| !it.1.is_empty()) {
            columns[column] = Some(Cuts::new(borders));
        }
        columns.iter().any(Option::is_some).then_some(Self { columns })
    }

    /// The bins of a population, with the values of each column and their probabilities.
    #[cfg(test)]
    pub(crate) fn of_distributions(schema: &Schema, distributions: &[Vec<(f64, f64)>], n_states: usize) -> Option<Self> {
        let is_number = |column: &usize| schema.columns()[*column].kind.n_states().is_none();
        let numbers: Vec<usize> = (0..schema.columns().len()).filter(is_number).collect();
        let distributions: Vec<_> = numbers.iter().map(|&column| distributions[column].clone()).collect();
        if n_states > 2 { Self::cut(schema.columns().len(), &numbers, &distributions, n_states) } else { None }
    }

    /// The code of a value: that of its bin, or the value itself in columns that are not cut. Missing cells stay missing.
    pub(crate) fn code(&self, column: usize, value: f64) -> f64 {
        match &self.columns[column] {
            Some(cuts) if !value.is_nan() => cuts.code(value) as f64,
            _ => value,
        }
    }

    /// The schema of the rows that are cut, with bins as labels.
    pub(crate) fn schema(&self, plain: &Schema) -> Result<Schema> {
        let mut builder = Schema::builder();
        for variable in plain.variables() {
            let first = variable.columns[0];
            builder = match (&self.columns[first.get()], variable.is_group) {
                (_, true) => {
                    let members = variable.columns.iter().map(|&column| plain.column(column).clone()).collect();
                    builder.group(variable.name.clone(), members)
                }
                (Some(cuts), false) => builder.scalar(variable.name.clone(), Kind::numbered(cuts.borders.len() + 1)),
                (None, false) => builder.scalar(variable.name.clone(), plain.column(first).kind.clone()),
            };
        }
        builder.build()
    }
}

/// The numbers of some rows, chosen by a hash of their number: neither batches nor periods in the data matter.
struct Sample {
    rows: Vec<u64>,
    weights: Vec<f64>,
    /// By column.
    values: Vec<Vec<f64>>,
}

impl Sample {
    fn read(source: &mut dyn BatchSource, columns: &[usize], observer: &dyn Observer) -> Result<Self> {
        let most = (MAX_CELLS / columns.len()).clamp(MIN_ROWS, MAX_ROWS);
        let mut sample = Self { rows: Vec::new(), weights: Vec::new(), values: vec![Vec::new(); columns.len()] };
        let mut halvings = 0;
        while let Some(batch) = source.next_batch()? {
            if observer.cancelled() {
                return Err(Error::Cancelled);
            }
            let hashes = (0..batch.n_rows).map(|row| hash(batch.first_row + row as u64));
            let chosen: Vec<(usize, u64)> = hashes.enumerate().filter(|it| it.1.leading_zeros() >= halvings).collect();
            sample.rows.extend(chosen.iter().map(|it| it.1));
            sample.weights.extend(chosen.iter().map(|it| batch.weight(it.0)));
            sample.values.par_iter_mut().zip(columns).for_each(|(values, &column)| {
                let mut numbers = Vec::new();
                column_numbers(&batch, column, 0..batch.n_rows, &mut numbers);
                values.extend(chosen.iter().map(|it| numbers[it.0]));
            });
            while sample.rows.len() > most {
                halvings += 1;
                sample.halve(halvings);
            }
        }
        source.rewind()?;
        Ok(sample)
    }

    /// Keeps the rows whose hash begins with this many zeros.
    fn halve(&mut self, halvings: u32) {
        let kept: Vec<bool> = self.rows.iter().map(|hash| hash.leading_zeros() >= halvings).collect();
        fn retain<T>(values: &mut Vec<T>, kept: &[bool]) {
            let mut flags = kept.iter();
            values.retain(|_| *flags.next().expect("a flag for each"));
        }
        retain(&mut self.rows, &kept);
        retain(&mut self.weights, &kept);
        self.values.par_iter_mut().for_each(|values| retain(values, &kept));
    }
}

/// SplitMix64's finaliser.
fn hash(row: u64) -> u64 {
    let mut x = row.wrapping_add(0x9E37_79B9_7F4A_7C15);
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// The values that occur, in order, with their weights.
fn distribution(values: &[f64], weights: &[f64]) -> Vec<(f64, f64)> {
    let mut pairs: Vec<(f64, f64)> = values
        .iter()
        .zip(weights)
        .filter(|it| it.0.is_finite() && *it.1 > 0.0)
        .map(|(&value, &weight)| (value + 0.0, weight))
        .collect();
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
    pairs.dedup_by(|next, before| {
        let same = next.0 == before.0;
        if same {
            before.1 += next.1;
        }
        same
    });
    pairs
}

/// The borders of about `n_bins` bins of equal weight; fewer where fewer values occur.
fn borders(distribution: &[(f64, f64)], n_bins: usize) -> Vec<f64> {
    let mut borders = Vec::with_capacity(n_bins);
    let mut left: f64 = distribution.iter().map(|it| it.1).sum();
    let mut inside = 0.0;
    for pair in distribution.windows(2) {
        let ((value, weight), (next, next_weight)) = (pair[0], pair[1]);
        inside += weight;
        let wanted = left / (n_bins - borders.len()) as f64;
        // A bin ends where it is nearest to its share.
        if inside >= wanted || inside + next_weight - wanted > wanted - inside {
            let middle = 0.5 * value + 0.5 * next;
            borders.push(if value <= middle && middle < next { middle } else { value });
            left -= inside;
            inside = 0.0;
            if borders.len() + 1 == n_bins {
                break;
            }
        }
    }
    borders
}

/// A source whose numbers are cut into bins, which are the labels of its columns.
pub(crate) struct BinnedRows<'a> {
    source: &'a mut dyn BatchSource,
    bins: Arc<Bins>,
    schema: Arc<Schema>,
}

impl<'a> BinnedRows<'a> {
    /// The rows of a source whose columns the bins were found for.
    ///
    /// # Errors
    /// None for bins of the same columns.
    pub(crate) fn new(source: &'a mut dyn BatchSource, bins: Arc<Bins>) -> Result<Self> {
        let schema = Arc::new(bins.schema(source.schema())?);
        Ok(Self { source, bins, schema })
    }
}

impl BatchSource for BinnedRows<'_> {
    fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    fn next_batch(&mut self) -> Result<Option<Arc<Batch>>> {
        let Some(batch) = self.source.next_batch()? else { return Ok(None) };
        let bins = &*self.bins;
        let block = match &batch.block {
            Block::Dense(columns) => {
                let kinds = self.schema.columns().par_iter().map(|column| &column.kind);
                let binned = columns.par_iter().zip(kinds).enumerate().map(|(ix, (data, kind))| match &bins.columns[ix] {
                    None => data.clone(),
                    Some(cuts) => {
                        let mut codes = ColumnData::for_kind(kind, batch.n_rows);
                        for row in 0..batch.n_rows {
                            let value = data.number(row);
                            codes.push_code((!value.is_nan()).then(|| cuts.code(value) as u32));
                        }
                        codes
                    }
                });
                Block::Dense(binned.collect())
            }
            Block::Sparse(rows) => {
                let cell = |at: usize| {
                    let value = rows.values.as_ref().map_or(1.0, |values| values[at]);
                    bins.code(rows.columns[at] as usize, value)
                };
                let values = (0..rows.columns.len()).map(cell).collect();
                Block::Sparse(SparseRows { values: Some(values), ..rows.clone() })
            }
        };
        let (first_row, n_rows, weights) = (batch.first_row, batch.n_rows, batch.weights.clone());
        Ok(Some(Arc::new(Batch { first_row, n_rows, block, weights })))
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
    use crate::data::{Column, Dataset};
    use crate::observer::Silent;

    fn weights_of(borders: &[f64], distribution: &[(f64, f64)]) -> Vec<f64> {
        let mut weights = vec![0.0; borders.len() + 1];
        distribution.iter().for_each(|&(value, weight)| weights[borders.partition_point(|&it| it < value)] += weight);
        weights
    }

    #[test]
    fn bins_have_equal_shares_and_common_values_one_of_their_own() {
        let numbers: Vec<f64> = (0..1000).map(|ix| f64::from(ix).sqrt()).collect();
        let even = distribution(&numbers, &vec![1.0; 1000]);
        assert_eq!(weights_of(&borders(&even, 8), &even), vec![125.0; 8]);
        // Nine in ten are zeros: they have a bin, and the others are still told apart.
        let counts: Vec<f64> = (0..1000).map(|ix| if ix % 10 == 0 { f64::from(1 + ix % 7) } else { 0.0 }).collect();
        let skewed = distribution(&counts, &vec![1.0; 1000]);
        let weights = weights_of(&borders(&skewed, 8), &skewed);
        assert_eq!((weights.len(), weights[0]), (8, 900.0));
        // Two values make two bins, one none at all.
        assert_eq!(borders(&distribution(&[3.0, 3.0, 4.0], &[1.0; 3]), 8), [3.5]);
        assert!(borders(&distribution(&[3.0, 3.0], &[1.0; 2]), 8).is_empty());
        assert!(borders(&distribution(&[f64::NAN], &[1.0]), 8).is_empty());
    }

    #[test]
    fn dense_and_sparse_rows_have_the_same_codes_and_groups_stay() {
        let member = |name: &str, kind: Kind| Column { name: name.to_owned(), kind };
        let schema = Schema::builder()
            .scalar("a", Kind::Continuous)
            .group("g", vec![member("g1", Kind::Count), member("g2", Kind::binary())])
            .scalar("b", Kind::Count)
            .scalar("c", Kind::binary());
        let schema = Arc::new(schema.build().unwrap());
        let n = 300;
        let cell = |row: usize, column: usize| match column {
            _ if (row + column).is_multiple_of(17) => f64::NAN,
            0 => (row * 7 % 11) as f64 - 5.0,
            2 | 4 => (row % 2) as f64,
            _ => (row * row % 5) as f64,
        };
        let dense = schema.columns().iter().enumerate().map(|(ix, column)| {
            let mut data = ColumnData::for_kind(&column.kind, n);
            for value in (0..n).map(|row| cell(row, ix)) {
                match column.kind.n_states() {
                    Some(_) => data.push_code((!value.is_nan()).then_some(value as u32)),
                    None => data.push_number(value),
                }
            }
            data
        });
        let dense = Dataset::from_columns(Arc::clone(&schema), dense.collect(), None).unwrap();
        let mut rows = SparseRows { values: Some(Vec::new()), ..SparseRows::default() };
        for row in 0..n {
            for (column, value) in (0..5).map(|column| (column, cell(row, column))).filter(|it| it.1 != 0.0) {
                rows.columns.push(column as u32);
                rows.values.as_mut().unwrap().push(value);
            }
            rows.starts.push(rows.columns.len());
        }
        let batch = Batch { first_row: 0, n_rows: n, block: Block::Sparse(rows), weights: None };
        let sparse = Dataset::new(Arc::clone(&schema), vec![batch]);
        let [a, b] = [dense, sparse].map(|data| {
            let mut source = data.source();
            let bins = Arc::new(Bins::find(&mut source, 3, &Silent).unwrap().unwrap());
            let mut binned = BinnedRows::new(&mut source, bins).unwrap();
            assert_eq!(binned.schema().columns()[0].kind, Kind::numbered(8));
            assert_eq!(binned.schema().columns()[1].kind, Kind::Count);
            assert_eq!(binned.schema().columns()[3].kind, Kind::numbered(3));
            let batch = binned.next_batch().unwrap().unwrap();
            let cells = (0..n * 5).map(|at| batch.number(at / 5, crate::ColIx::new(at % 5)).to_bits());
            cells.collect::<Vec<u64>>()
        });
        assert_eq!(a, b);
        assert_eq!(Bins::find(&mut Dataset::new(schema, Vec::new()).source(), 2, &Silent).unwrap(), None);
    }

    #[test]
    fn quantiles_do_not_depend_on_batches() {
        let schema = Arc::new(Schema::builder().scalar("a", Kind::Continuous).build().unwrap());
        let values: Vec<f64> = (0..200_000_u32).map(|ix| f64::from(ix.wrapping_mul(2_654_435_761) >> 8)).collect();
        let batch = |first: usize, last: usize| Batch {
            first_row: first as u64,
            n_rows: last - first,
            block: Block::Dense(vec![ColumnData::Reals(values[first..last].to_vec())]),
            weights: None,
        };
        let one = Dataset::new(Arc::clone(&schema), vec![batch(0, 200_000)]);
        let many = Dataset::new(schema, (0..100).map(|ix| batch(ix * 2000, (ix + 1) * 2000)).collect());
        let [a, b] = [one, many].map(|data| Bins::find(&mut data.source(), 3, &Silent).unwrap().unwrap());
        assert_eq!(a, b);
    }
}
