//! Which variables of many labels go together, from their contingency tables in some rows.
//!
//! For n rows of two columns with tables `n_ab`, `χ² = n (Σ n_ab²/(n_a n_b) − 1)` has mean f and variance 2f where the two are
//! independent, f its degrees of freedom; `(χ² − f)/√(2f)` orders the pairs. A row costs one increment for each pair, whatever
//! the number of labels, and the table of a pair stays in the cache. Columns of more than [`MAX_CODES`] labels share codes;
//! numbers are cut into four parts.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::column_numbers;
use crate::data::{Batch, BatchSource, Kind, Schema};
use crate::error::{Error, Result};
use crate::moments::{
    Accumulator, Summary,
    chosen_rows::{ChosenRows, RowChoice},
    fold,
    sums::{from_bytes, mismatch, to_bytes},
};
use crate::observer::Observer;

/// Increments that all pairs may cost.
const WORK: f64 = 6e9;
/// Most and fewest rows that are looked at, about; the first fits the counts.
const MAX_ROWS: f64 = 65_000.0;
const MIN_ROWS: f64 = 2048.0;
/// Most codes of a column.
const MAX_CODES: usize = 256;

/// How a column is turned into codes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
enum Cut {
    Labels(usize),
    Number { mean: f64, deviation: f64 },
}

impl Cut {
    fn n_codes(self) -> usize {
        match self {
            Self::Labels(n) => n.min(MAX_CODES),
            Self::Number { .. } => 4,
        }
    }

    /// The code of a value; one more than the others for a missing one.
    fn code(self, value: f64) -> u16 {
        if value.is_nan() {
            return self.n_codes() as u16;
        }
        match self {
            Self::Labels(n) if n <= MAX_CODES => value as u16,
            // Fibonacci hashing: neighbouring labels get distant codes.
            Self::Labels(_) => ((value as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u16,
            Self::Number { mean, deviation } => {
                let quartile = 0.6745 * deviation;
                u16::from(value > mean - quartile) + u16::from(value > mean) + u16::from(value > mean + quartile)
            }
        }
    }
}

/// The codes of some rows, column by column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Codes {
    cuts: Vec<Cut>,
    codes: Vec<Vec<u16>>,
}

impl Codes {
    /// No rows yet; `None` if a variable has several columns.
    pub(crate) fn of(schema: &Schema, summary: &Summary) -> Option<Self> {
        let cuts = cuts(schema, summary)?;
        Some(Self { codes: vec![Vec::new(); cuts.len()], cuts })
    }
}

impl Accumulator for Codes {
    type Output = Vec<Vec<u16>>;

    const NAME: &'static str = "codes";

    fn observe(&mut self, batch: &Batch) -> Result<()> {
        self.codes.par_iter_mut().enumerate().for_each(|(column, codes)| {
            let mut numbers = Vec::new();
            column_numbers(batch, column, 0..batch.n_rows, &mut numbers);
            codes.extend(numbers.iter().map(|&value| self.cuts[column].code(value)));
        });
        Ok(())
    }

    fn merge(&mut self, other: Self) -> Result<()> {
        if self.cuts != other.cuts {
            return Err(mismatch());
        }
        self.codes.iter_mut().zip(other.codes).for_each(|(own, other)| own.extend(other));
        Ok(())
    }

    fn empty(&self) -> Self {
        Self { cuts: self.cuts.clone(), codes: vec![Vec::new(); self.cuts.len()] }
    }

    fn finish(self) -> Result<Self::Output> {
        Ok(self.codes)
    }

    fn to_bytes(&self) -> Result<Vec<u8>> {
        to_bytes(self)
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        from_bytes(bytes)
    }
}

/// For each variable those that go with it best, best first; `None` if a variable has several columns.
///
/// # Errors
/// Those of the source, and [`Error::Cancelled`].
pub(crate) fn by_tables(
    source: &mut dyn BatchSource,
    summary: &Summary,
    n_neighbours: usize,
    observer: &dyn Observer,
) -> Result<Option<Vec<Vec<usize>>>> {
    let schema = std::sync::Arc::clone(source.schema());
    let Some(codes) = Codes::of(&schema, summary) else { return Ok(None) };
    let cuts = codes.cuts.clone();
    let p = cuts.len();
    let n_pairs = (p * p.saturating_sub(1) / 2).max(1) as f64;
    let rows = (WORK / n_pairs).clamp(MIN_ROWS, MAX_ROWS) as u64;
    let step = summary.n_rows().div_ceil(rows).max(1);
    observer.stage("neighbours", Some(summary.n_rows() / step));
    if source.remote().is_some_and(|remote| remote.may_choose_rows() && remote.sample_bytes() == 0) {
        let problem =
            "columns of many labels are compared on a sample of the rows, which is forbidden here; allow it, or use fewer labels";
        return Err(Error::option("sample_bytes", problem));
    }
    let codes = if step == 1 {
        fold(&mut *source, codes, observer)?.finish()?
    } else {
        let choice = RowChoice::of_patterns(1.0 / step as f64);
        fold(&mut ChosenRows::new(&mut *source, choice), codes, observer)?.finish()?
    };
    source.rewind()?;
    let ranks = ranks(&schema);
    // The longest rows of the triangle first, so that no thread is left with one of them at the end.
    let triangle = (0..p).into_par_iter().rev().with_max_len(1).map(|i| {
        if observer.cancelled() {
            return Err(Error::Cancelled);
        }
        let mut pair = Pair::default();
        let codes = |ix: usize| (codes[ix].as_slice(), cuts[ix].n_codes());
        let score = |j: usize| if ranks[i] < ranks[j] { pair.score(codes(i), codes(j)) } else { pair.score(codes(j), codes(i)) };
        Ok((0..i).map(score).collect())
    });
    let mut triangle = triangle.collect::<Result<Vec<Vec<f32>>>>()?;
    triangle.reverse();
    let nearest = (0..p).into_par_iter().map(|i| {
        let score = |j: usize| triangle[i.max(j)][i.min(j)];
        let mut others: Vec<usize> = (0..p).filter(|&j| j != i).collect();
        let best = |a: &usize, b: &usize| score(*b).total_cmp(&score(*a)).then(ranks[*a].cmp(&ranks[*b]));
        if others.len() > n_neighbours {
            others.select_nth_unstable_by(n_neighbours, best);
            others.truncate(n_neighbours);
        }
        others.sort_by(best);
        others
    });
    Ok(Some(nearest.collect()))
}

/// Places of the variables among their sorted names: what they decide does not depend on the order of columns.
pub(crate) fn ranks(schema: &Schema) -> Vec<usize> {
    let variables = schema.variables();
    let mut order: Vec<usize> = (0..variables.len()).collect();
    order.sort_by(|&a, &b| variables[a].name.cmp(&variables[b].name));
    let mut ranks = vec![0; order.len()];
    order.into_iter().enumerate().for_each(|(rank, ix)| ranks[ix] = rank);
    ranks
}

fn cuts(schema: &Schema, summary: &Summary) -> Option<Vec<Cut>> {
    let columns = schema.variables().iter().map(|variable| match variable.columns[..] {
        [column] => Some(column),
        _ => None,
    });
    columns
        .map(|column| {
            let column = column?;
            Some(match &schema.column(column).kind {
                Kind::Binary { .. } => Cut::Labels(2),
                Kind::Categorical { labels } => Cut::Labels(labels.len()),
                Kind::Continuous | Kind::Count => {
                    let summary = &summary.columns()[column.get()];
                    Cut::Number { mean: summary.mean, deviation: summary.variance().max(0.0).sqrt() }
                }
            })
        })
        .collect()
}

/// Buffers of a contingency table.
#[derive(Default)]
struct Pair {
    counts: Vec<u16>,
    columns: Vec<f32>,
}

impl Pair {
    /// `(χ² − f)/√(2f)`.
    fn score(&mut self, (a, n_a): (&[u16], usize), (b, n_b): (&[u16], usize)) -> f32 {
        // The last code is that of a missing cell.
        let width = n_b + 1;
        self.counts.clear();
        self.counts.resize((n_a + 1) * width, 0);
        for (&a, &b) in a.iter().zip(b) {
            let count = &mut self.counts[usize::from(a) * width + usize::from(b)];
            *count = count.saturating_add(1);
        }
        self.columns.clear();
        self.columns.resize(n_b, 0.0);
        for row in self.counts.chunks_exact(width).take(n_a) {
            self.columns.iter_mut().zip(row).for_each(|(sum, &count)| *sum += f32::from(count));
        }
        let total: f32 = self.columns.iter().sum();
        let occurring = self.columns.iter().filter(|&&sum| sum > 0.0).count();
        self.columns.iter_mut().for_each(|sum| *sum = if *sum > 0.0 { sum.recip() } else { 0.0 });
        let (mut sum, mut rows) = (0.0_f64, 0);
        for row in self.counts.chunks_exact(width).take(n_a) {
            let mut squares = [0.0_f32; 8];
            let mut size = [0.0_f32; 8];
            let (counts, inverses) = (row[..n_b].chunks(8), self.columns.chunks(8));
            for (counts, inverses) in counts.zip(inverses) {
                for (lane, (&count, inverse)) in counts.iter().zip(inverses).enumerate() {
                    let count = f32::from(count);
                    squares[lane] += count * count * inverse;
                    size[lane] += count;
                }
            }
            let size: f32 = size.iter().sum();
            if size > 0.0 {
                rows += 1;
                sum += f64::from(squares.iter().sum::<f32>() / size);
            }
        }
        if rows < 2 || occurring < 2 {
            return f32::NEG_INFINITY;
        }
        let freedom = ((rows - 1) * (occurring - 1)) as f64;
        ((f64::from(total) * (sum - 1.0) - freedom) / (2.0 * freedom).sqrt()) as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inference::Inference;
    use crate::observer::Silent;
    use crate::simulate::{ParameterFamily, Shape, Simulation};

    #[test]
    fn neighbours_of_columns_of_many_labels_are_their_siblings() {
        let family = ParameterFamily::Categorical { states: 60, hidden_states: 3, separation: 0.6 };
        let model = Simulation::new(Shape::Complete { degree: 4 }, 36).family(family).seed(2).model().unwrap();
        let data = Inference::new(&model).sample(6000, 3).unwrap();
        let summary = fold(&mut data.source(), Summary::new(std::sync::Arc::clone(data.schema())), &Silent).unwrap();
        let nearest = by_tables(&mut data.source(), &summary, 2, &Silent).unwrap().unwrap();
        let tree = model.tree();
        let parent = |ix: usize| tree.links(crate::NodeIx::new(ix))[0].to;
        for (ix, near) in nearest.iter().enumerate() {
            assert!(near.iter().all(|&other| parent(other) == parent(ix)), "{ix}: {near:?}");
        }
    }

    #[test]
    fn the_score_of_a_table_is_that_of_its_definition() {
        // 2 × 3 labels, with one row missing on either side.
        let (a, b) = ([0, 0, 1, 1, 0, 1, 2, 0], [0, 1, 2, 2, 0, 1, 0, 3]);
        let counts: [[f64; 3]; 2] = [[2.0, 1.0, 0.0], [0.0, 1.0, 2.0]];
        let expected: f64 = (0..2)
            .flat_map(|i| (0..3).map(move |j| (i, j)))
            .map(|(i, j)| {
                let expected = 3.0 * (counts[0][j] + counts[1][j]) / 6.0;
                (counts[i][j] - expected).powi(2) / expected
            })
            .sum();
        let found = Pair::default().score((&a, 2), (&b, 3));
        assert!((f64::from(found) - (expected - 2.0) / 2.0).abs() < 1e-5, "{found} {expected}");
    }
}
