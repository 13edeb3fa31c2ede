//! A bounded sample of the rows themselves, for what cannot be learned by sums: searches.
//!
//! A row's priority is a hash of its content, its number among the copies of the row that the part has, and the seed. The rows of lowest priority are
//! kept, as many as fit: parts merge, and if all rows are different the sample does not depend on how they are split. Unlike all other passes, this
//! one moves rows: a place that must not give any refuses it by its name.

use std::collections::HashMap;
use std::sync::Arc;

use super::Accumulator;
use crate::data::row_order::{gathered, hash_text, hashes, mix};
use crate::data::{Batch, Block, ColumnData, Dataset, Schema, SparseRows, select_rows};
use crate::error::{Error, Place, Result};

/// First bytes of a sample as bytes.
const MAGIC: &[u8; 8] = b"ltsample";
/// Different rows whose copies are numbered; those of rows that first appear later are kept or left together.
const MAX_NUMBERED: usize = 1 << 20;

/// Rows drawn at random, at most as many as fit into a number of bytes.
#[derive(Debug, Clone)]
pub struct Sample {
    schema: Arc<Schema>,
    seed: u64,
    most_bytes: u64,
    n_rows: u64,
    /// Rows of this priority and above are left out.
    bound: Option<u64>,
    kept: Vec<(Arc<Batch>, Vec<u64>)>,
    n_bytes: u64,
    /// How often each row has been seen, by its hash.
    copies: HashMap<u64, u32>,
}

impl Sample {
    /// A sample of no rows.
    #[must_use]
    pub fn new(schema: Arc<Schema>, most_bytes: u64, seed: u64) -> Self {
        Self { schema, seed, most_bytes, n_rows: 0, bound: None, kept: Vec::new(), n_bytes: 0, copies: HashMap::new() }
    }

    /// Number of rows that the sample was drawn from.
    #[must_use]
    pub fn n_rows(&self) -> u64 {
        self.n_rows
    }

    /// Whether these are all rows.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.kept.iter().map(|(batch, _)| batch.n_rows as u64).sum::<u64>() == self.n_rows
    }

    fn keep(&mut self, batch: Arc<Batch>, priorities: Vec<u64>) {
        let rows: Vec<usize> = (0..batch.n_rows).filter(|&row| self.bound.is_none_or(|bound| priorities[row] < bound)).collect();
        let (batch, priorities) = if rows.len() == batch.n_rows {
            (batch, priorities)
        } else {
            (Arc::new(select_rows(&batch, &rows, 0)), rows.iter().map(|&row| priorities[row]).collect())
        };
        if batch.n_rows > 0 {
            self.n_bytes += batch.n_bytes();
            self.kept.push((batch, priorities));
        }
    }

    /// Leaves out the rows of highest priority until the others fit.
    fn shrink(&mut self) {
        if self.n_bytes <= self.most_bytes {
            return;
        }
        let mut sizes: Vec<(u64, u64)> = Vec::new();
        for (batch, priorities) in &self.kept {
            let size = |row: usize| match &batch.block {
                Block::Dense(_) => batch.n_bytes().div_ceil(batch.n_rows as u64),
                Block::Sparse(rows) => 8 + 12 * (rows.starts[row + 1] - rows.starts[row]) as u64,
            };
            sizes.extend(priorities.iter().enumerate().map(|(row, &priority)| (priority, size(row))));
        }
        sizes.sort_unstable();
        let mut n_bytes = 0;
        let cut = sizes.iter().find(|(_, size)| {
            n_bytes += size;
            n_bytes > self.most_bytes
        });
        self.bound = cut.map(|it| it.0).or(self.bound);
        self.n_bytes = 0;
        for (batch, priorities) in std::mem::take(&mut self.kept) {
            self.keep(batch, priorities);
        }
    }

    /// The kept rows in the order of their priorities, with these.
    fn ordered(&self) -> Result<(Dataset, Vec<u64>)> {
        let mut order: Vec<(u64, u32, u32)> = Vec::new();
        for (ix, (_, priorities)) in self.kept.iter().enumerate() {
            order.extend((0..).zip(priorities).map(|(row, &priority)| (priority, ix as u32, row)));
        }
        order.sort_unstable();
        let batches: Vec<Arc<Batch>> = self.kept.iter().map(|it| Arc::clone(&it.0)).collect();
        let has_weights = batches.iter().any(|batch| batch.weights.is_some());
        let data = gathered(&self.schema, &batches, &order, has_weights)
            .ok_or_else(|| Error::data(Place::default(), "some parts of the rows are dense and some sparse"))?;
        Ok((data, order.into_iter().map(|it| it.0).collect()))
    }
}

impl Accumulator for Sample {
    type Output = Dataset;

    const NAME: &'static str = "sample";

    fn observe(&mut self, batch: &Batch) -> Result<()> {
        let names: Vec<u64> = self.schema.columns().iter().map(|column| hash_text(&column.name)).collect();
        let mut priorities = hashes(batch, &names, true);
        for hash in &mut priorities {
            let room = self.copies.len() < MAX_NUMBERED;
            let copy = match self.copies.get_mut(hash) {
                Some(seen) => {
                    *seen += 1;
                    u64::from(*seen)
                }
                None => {
                    if room {
                        self.copies.insert(*hash, 0);
                    }
                    0
                }
            };
            *hash = mix(*hash ^ mix(copy ^ mix(self.seed)));
        }
        self.n_rows += batch.n_rows as u64;
        self.keep(Arc::new(batch.clone()), priorities);
        // Rarely, so that rows are moved a few times only.
        if self.n_bytes > 2 * self.most_bytes {
            self.shrink();
        }
        Ok(())
    }

    fn merge(&mut self, other: Self) -> Result<()> {
        if self.schema != other.schema || (self.seed, self.most_bytes) != (other.seed, other.most_bytes) {
            return Err(Error::Mismatch {
                left: "one sample".to_owned(),
                right: "the other".to_owned(),
                problem: "they are of different columns, or of different sizes".to_owned(),
            });
        }
        self.n_rows += other.n_rows;
        if let Some(bound) = other.bound.filter(|&bound| self.bound.is_none_or(|own| bound < own)) {
            self.bound = Some(bound);
            self.n_bytes = 0;
            for (batch, priorities) in std::mem::take(&mut self.kept) {
                self.keep(batch, priorities);
            }
        }
        for (batch, priorities) in other.kept {
            self.keep(batch, priorities);
        }
        self.shrink();
        Ok(())
    }

    fn empty(&self) -> Self {
        Self::new(Arc::clone(&self.schema), self.most_bytes, self.seed)
    }

    fn settle(&mut self) {
        self.copies = HashMap::new();
        self.shrink();
    }

    fn finish(mut self) -> Result<Dataset> {
        self.settle();
        Ok(self.ordered()?.0)
    }

    fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut settled = self.clone();
        settled.settle();
        let (data, priorities) = settled.ordered()?;
        let mut bytes = MAGIC.to_vec();
        let schema = serde_json::to_vec(&*self.schema).map_err(|error| invalid(&error.to_string()))?;
        let bound = settled.bound;
        for number in [self.seed, self.most_bytes, self.n_rows, u64::from(bound.is_some()), bound.unwrap_or(0)] {
            bytes.extend(number.to_le_bytes());
        }
        write(&mut bytes, schema, |byte| [byte]);
        write(&mut bytes, priorities, u64::to_le_bytes);
        bytes.extend((data.batches().len() as u64).to_le_bytes());
        for batch in data.batches() {
            bytes.extend((batch.n_rows as u64).to_le_bytes());
            write(&mut bytes, batch.weights.clone().unwrap_or_default(), f64::to_le_bytes);
            match &batch.block {
                Block::Dense(columns) => {
                    bytes.push(0);
                    for column in columns {
                        match column {
                            ColumnData::Codes8(codes) => write(&mut bytes, codes.iter().copied(), |byte| [byte]),
                            ColumnData::Codes(codes) => write(&mut bytes, codes.iter().copied(), u32::to_le_bytes),
                            ColumnData::Reals(values) => write(&mut bytes, values.iter().copied(), f64::to_le_bytes),
                        }
                    }
                }
                Block::Sparse(rows) => {
                    bytes.push(1 + u8::from(rows.values.is_some()));
                    write(&mut bytes, rows.starts.iter().map(|&start| start as u64), u64::to_le_bytes);
                    write(&mut bytes, rows.columns.iter().copied(), u32::to_le_bytes);
                    write(&mut bytes, rows.values.iter().flatten().copied(), f64::to_le_bytes);
                }
            }
        }
        Ok(bytes)
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut rest = bytes.strip_prefix(MAGIC).ok_or_else(|| invalid("it does not begin as a sample does"))?;
        let mut word = || read_word(&mut rest);
        let (seed, most_bytes, n_rows, has_bound, bound) = (word()?, word()?, word()?, word()?, word()?);
        let schema = read(&mut rest, u8::from_le_bytes)?;
        let schema: Arc<Schema> = Arc::new(serde_json::from_slice(&schema).map_err(|error| invalid(&error.to_string()))?);
        let priorities = read(&mut rest, u64::from_le_bytes)?;
        let mut sample = Self { bound: (has_bound == 1).then_some(bound), n_rows, ..Self::new(schema, most_bytes, seed) };
        let mut priorities = priorities.into_iter();
        for _ in 0..read_word(&mut rest)? {
            let n_rows = usize::try_from(read_word(&mut rest)?).map_err(|_| invalid("it is too long"))?;
            let weights = Some(read(&mut rest, f64::from_le_bytes)?).filter(|weights| !weights.is_empty());
            let (&tag, after) = rest.split_first().ok_or_else(|| invalid("it ends early"))?;
            rest = after;
            let block = match tag {
                0 => Block::Dense(
                    sample.schema.columns().iter().map(|column| dense_column(&mut rest, column)).collect::<Result<_>>()?,
                ),
                1 | 2 => {
                    let starts = read(&mut rest, u64::from_le_bytes)?.into_iter().map(|start| start as usize).collect();
                    let columns = read(&mut rest, u32::from_le_bytes)?;
                    let values = read(&mut rest, f64::from_le_bytes)?;
                    Block::Sparse(SparseRows { starts, columns, values: (tag == 2).then_some(values) })
                }
                _ => return Err(invalid("a batch is neither dense nor sparse")),
            };
            let batch = Batch { first_row: 0, n_rows, block, weights };
            let own: Vec<u64> = priorities.by_ref().take(n_rows).collect();
            if own.len() != n_rows || !fits(&batch, &sample.schema) {
                return Err(invalid("its rows do not fit its columns"));
            }
            sample.n_bytes += batch.n_bytes();
            sample.kept.push((Arc::new(batch), own));
        }
        if rest.is_empty() { Ok(sample) } else { Err(invalid("there are bytes after its end")) }
    }
}

fn dense_column(rest: &mut &[u8], column: &crate::data::Column) -> Result<ColumnData> {
    Ok(match ColumnData::for_kind(&column.kind, 0) {
        ColumnData::Codes8(_) => ColumnData::Codes8(read(rest, u8::from_le_bytes)?),
        ColumnData::Codes(_) => ColumnData::Codes(read(rest, u32::from_le_bytes)?),
        ColumnData::Reals(_) => ColumnData::Reals(read(rest, f64::from_le_bytes)?),
    })
}

/// Whether all cells are where they belong, and all codes are labels.
fn fits(batch: &Batch, schema: &Schema) -> bool {
    if batch.weights.as_ref().is_some_and(|weights| weights.len() != batch.n_rows) {
        return false;
    }
    match &batch.block {
        Block::Dense(columns) => columns.iter().zip(schema.columns()).all(|(data, column)| {
            let n_states = column.kind.n_states().unwrap_or(usize::MAX);
            let is_code = |row| data.code(row).is_none_or(|code| (code as usize) < n_states);
            data.len() == batch.n_rows && (matches!(data, ColumnData::Reals(_)) || (0..batch.n_rows).all(is_code))
        }),
        Block::Sparse(rows) => {
            let n_cells = rows.columns.len();
            let ordered = rows.starts.windows(2).all(|pair| pair[0] <= pair[1]);
            let ends = rows.starts.first() == Some(&0) && rows.starts.last() == Some(&n_cells);
            rows.starts.len() == batch.n_rows + 1
                && ordered
                && ends
                && rows.columns.iter().all(|&column| (column as usize) < schema.columns().len())
                && rows.values.as_ref().is_none_or(|values| values.len() == n_cells)
        }
    }
}

fn invalid(problem: &str) -> Error {
    Error::format(Place::default(), "sample", problem)
}

/// Writes a list with its length.
fn write<T, const N: usize>(bytes: &mut Vec<u8>, items: impl IntoIterator<Item = T>, to_bytes: impl Fn(T) -> [u8; N]) {
    let at = bytes.len();
    bytes.extend([0; 8]);
    items.into_iter().for_each(|item| bytes.extend(to_bytes(item)));
    let length = ((bytes.len() - at - 8) / N) as u64;
    bytes[at..at + 8].copy_from_slice(&length.to_le_bytes());
}

fn read_word(rest: &mut &[u8]) -> Result<u64> {
    let (word, after) = rest.split_first_chunk::<8>().ok_or_else(|| invalid("it ends early"))?;
    *rest = after;
    Ok(u64::from_le_bytes(*word))
}

/// Reads what [`write`] wrote.
fn read<T, const N: usize>(rest: &mut &[u8], from_bytes: impl Fn([u8; N]) -> T) -> Result<Vec<T>> {
    let length = usize::try_from(read_word(rest)?).ok().and_then(|length| length.checked_mul(N));
    let (list, after) = length.and_then(|length| rest.split_at_checked(length)).ok_or_else(|| invalid("it ends early"))?;
    *rest = after;
    Ok(list.as_chunks::<N>().0.iter().map(|item| from_bytes(*item)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Kind;

    fn table(n: usize) -> Dataset {
        let schema = Schema::builder().scalar("a", Kind::Continuous).scalar("b", Kind::numbered(300)).scalar("c", Kind::binary());
        let columns = vec![
            ColumnData::Reals((0..n).map(|row| row as f64).collect()),
            ColumnData::Codes((0..n).map(|row| (row % 300) as u32).collect()),
            ColumnData::Codes8((0..n).map(|row| if row % 7 == 0 { 255 } else { (row % 2) as u8 }).collect()),
        ];
        Dataset::from_columns(Arc::new(schema.build().unwrap()), columns, None).unwrap()
    }

    #[test]
    fn a_sample_of_different_rows_does_not_depend_on_how_they_are_split() {
        let data = table(20_000);
        for most_bytes in [13 * 500, 13 * 100_000] {
            let empty = Sample::new(Arc::clone(data.schema()), most_bytes, 3);
            let mut whole = empty.clone();
            data.batches().iter().for_each(|batch| whole.observe(batch).unwrap());
            let mut parts = empty.clone();
            for batch in data.batches().iter().rev() {
                let mut part = empty.clone();
                part.observe(batch).unwrap();
                parts.merge(Sample::from_bytes(&part.to_bytes().unwrap()).unwrap()).unwrap();
            }
            assert_eq!(parts.n_rows(), 20_000);
            assert_eq!(parts.to_bytes().unwrap(), whole.to_bytes().unwrap());
            assert_eq!(parts.is_whole(), most_bytes > 13 * 20_000);
            let drawn = parts.finish().unwrap();
            assert_eq!(drawn.n_rows(), (most_bytes / 13).min(20_000));
            // Numbers of rows are drawn evenly: the mean of 500 of 0..20,000 is within four standard errors.
            let mean =
                drawn.batches().iter().flat_map(|batch| (0..batch.n_rows).map(|row| batch.number(row, crate::ColIx::new(0))));
            let mean = mean.sum::<f64>() / drawn.n_rows() as f64;
            assert!((mean - 9999.5).abs() < 4.0 * 5774.0 / 500_f64.sqrt(), "{mean}");
        }
    }

    #[test]
    fn copies_of_a_row_are_drawn_one_by_one() {
        let schema = Arc::new(Schema::builder().scalar("a", Kind::binary()).build().unwrap());
        let codes = (0..40_000).map(|row| u8::from(row % 4 == 0)).collect();
        let data = Dataset::from_columns(Arc::clone(&schema), vec![ColumnData::Codes8(codes)], None).unwrap();
        let mut sample = Sample::new(schema, 2000, 1);
        data.batches().iter().for_each(|batch| sample.observe(batch).unwrap());
        let drawn = sample.finish().unwrap();
        let ones: usize = drawn
            .batches()
            .iter()
            .map(|batch| (0..batch.n_rows).filter(|&row| batch.number(row, crate::ColIx::new(0)) == 1.0).count())
            .sum();
        assert_eq!(drawn.n_rows(), 2000);
        // 500 are expected, with a standard error of 19.
        assert!((ones as f64 - 500.0).abs() < 80.0, "{ones}");
    }
}
