//! Orders rows by content, so that a table gives the same model in any row order.
//!
//! Halves of the rows, blocks of a bootstrap, validation rows and the rows that directions are found with are chosen by numbers
//! of rows. A row's number in the file is an accident: of two files with the same rows, sorted differently, `auto` learned
//! different trees now and then. Rows are therefore sorted by a hash of their cells, their weight and their number among the
//! copies of the row, which are the same in any order.
//!
//! The hash is a sum over cells of hashes of the column's name and the cell, so that the order of columns does not matter,
//! either.

use std::sync::Arc;

use super::{Batch, Block, ColumnData, Dataset, Rows, Schema, SparseRows};
use crate::error::Result;

/// Tables that take more than this keep the order of their files, wherever they are: the rule must not depend on the memory that
/// there is.
const MAX_BYTES: u64 = 64 << 20;

/// Rows that frequencies may become.
const MAX_COPIES: f64 = 1e6;

/// Steele, Lea and Flood's mixing of 64 bits (SplitMix64).
pub(crate) fn mix(mut x: u64) -> u64 {
    x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The rows in the order of their content; `None` if the table is large, or elsewhere.
///
/// Weights that are frequencies become copies of their rows where these are not too many, so that a row of weight k is the same
/// as k rows to everything that chooses among rows.
pub(crate) fn by_content(rows: &dyn Rows, are_frequencies: bool) -> Result<Option<Dataset>> {
    if rows.remote().is_some() {
        return Ok(None);
    }
    let schema = rows.schema();
    let names: Vec<u64> = schema.columns().iter().map(|column| hash_text(&column.name)).collect();
    let (mut batches, mut n_bytes, mut n_rows, mut weight) = (Vec::new(), 0, 0, 0.0);
    let mut source = rows.open()?;
    while let Some(batch) = source.next_batch()? {
        n_bytes += batch.n_bytes();
        if n_bytes > MAX_BYTES {
            return Ok(None);
        }
        weight += (0..batch.n_rows).map(|row| batch.weight(row)).sum::<f64>();
        n_rows += batch.n_rows;
        batches.push(batch);
    }
    let has_weights = batches.iter().any(|batch| batch.weights.is_some());
    let copies_fit = weight * (n_bytes as f64 / n_rows.max(1) as f64) <= MAX_BYTES as f64 && weight <= MAX_COPIES;
    let are_copied = has_weights && are_frequencies && copies_fit;
    let mut order: Vec<(u64, u32, u32)> = Vec::new();
    for (ix, batch) in batches.iter().enumerate() {
        for (row, hash) in hashes(batch, &names, !are_copied).into_iter().enumerate() {
            let copies = if are_copied { batch.weight(row) as usize } else { 1 };
            order.extend(std::iter::repeat_n((hash, ix as u32, row as u32), copies));
        }
    }
    order.sort_unstable();
    number_copies(&mut order);
    order.sort_unstable();
    Ok(gathered(schema, &batches, &order, has_weights && !are_copied))
}

/// Gives each copy of a row a hash of its own: copies side by side would be shared out evenly between halves, which would then be
/// more alike than two samples are.
fn number_copies(sorted: &mut [(u64, u32, u32)]) {
    let (mut last, mut copy) = (None, 0);
    for (hash, ..) in sorted {
        copy = if last == Some(*hash) { copy + 1 } else { 0 };
        last = Some(*hash);
        *hash = mix(*hash ^ mix(copy));
    }
}

/// A hash of a name, which is the same in every table.
pub(crate) fn hash_text(text: &str) -> u64 {
    text.bytes().fold(0, |hash, byte| mix(hash ^ u64::from(byte)))
}

/// A hash of each row of a batch.
pub(crate) fn hashes(batch: &Batch, names: &[u64], with_weights: bool) -> Vec<u64> {
    let weight = |row: usize| if with_weights { batch.weight(row) } else { 1.0 };
    let mut hashes: Vec<u64> = (0..batch.n_rows).map(|row| mix(weight(row).to_bits())).collect();
    match &batch.block {
        Block::Dense(columns) => {
            for (column, &name) in columns.iter().zip(names) {
                let mut add = |row: usize, cell: u64| hashes[row] = hashes[row].wrapping_add(mix(name ^ mix(cell)));
                match column {
                    ColumnData::Codes8(codes) => {
                        codes.iter().enumerate().for_each(|(row, &code)| add(row, u64::from(code)));
                    }
                    ColumnData::Codes(codes) => codes.iter().enumerate().for_each(|(row, &code)| add(row, u64::from(code))),
                    ColumnData::Reals(values) => {
                        values.iter().enumerate().for_each(|(row, &value)| add(row, bits(value)));
                    }
                }
            }
        }
        Block::Sparse(rows) => {
            for (row, hash) in hashes.iter_mut().enumerate() {
                for (column, value) in rows.row(row) {
                    *hash = hash.wrapping_add(mix(names[column] ^ mix(bits(value))));
                }
            }
        }
    }
    hashes
}

/// All NaNs mean the same, and so do both zeros.
fn bits(value: f64) -> u64 {
    if value.is_nan() { u64::MAX } else { (value + 0.0).to_bits() }
}

/// The rows of batches in an order; `None` where some are dense and some sparse.
pub(crate) fn gathered(
    schema: &Arc<Schema>,
    batches: &[Arc<Batch>],
    order: &[(u64, u32, u32)],
    has_weights: bool,
) -> Option<Dataset> {
    let mut dense = Vec::new();
    let mut sparse = Vec::new();
    for batch in batches {
        match &batch.block {
            Block::Dense(columns) => dense.push(columns),
            Block::Sparse(rows) => sparse.push(rows),
        }
    }
    if !dense.is_empty() && !sparse.is_empty() {
        return None;
    }
    let parts = order.chunks(Dataset::BATCH_ROWS).map(|rows| {
        let places = || rows.iter().map(|&(_, batch, row)| (batch as usize, row as usize));
        let block = if sparse.is_empty() {
            let columns = (0..schema.columns().len()).map(|column| match &dense[places().next().map_or(0, |it| it.0)][column] {
                ColumnData::Codes8(_) => {
                    ColumnData::Codes8(places().map(|(batch, row)| byte(&dense[batch][column], row)).collect())
                }
                ColumnData::Codes(_) => {
                    ColumnData::Codes(places().map(|(batch, row)| word(&dense[batch][column], row)).collect())
                }
                ColumnData::Reals(_) => {
                    ColumnData::Reals(places().map(|(batch, row)| dense[batch][column].number(row)).collect())
                }
            });
            Block::Dense(columns.collect())
        } else {
            let any_values = sparse.iter().any(|rows| rows.values.is_some());
            let mut taken = SparseRows { values: any_values.then(Vec::new), ..SparseRows::default() };
            for (batch, row) in places() {
                for (column, value) in sparse[batch].row(row) {
                    taken.columns.push(column as u32);
                    taken.values.iter_mut().for_each(|values| values.push(value));
                }
                taken.starts.push(taken.columns.len());
            }
            Block::Sparse(taken)
        };
        let weights = has_weights.then(|| places().map(|(batch, row)| batches[batch].weight(row)).collect());
        Batch { first_row: 0, n_rows: rows.len(), block, weights }
    });
    Some(Dataset::new(Arc::clone(schema), parts.collect()))
}

fn byte(column: &ColumnData, row: usize) -> u8 {
    match column {
        ColumnData::Codes8(codes) => codes[row],
        _ => unreachable!("a column has the same storage in all batches"),
    }
}

fn word(column: &ColumnData, row: usize) -> u32 {
    match column {
        ColumnData::Codes(codes) => codes[row],
        _ => unreachable!("a column has the same storage in all batches"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Kind;

    #[test]
    fn rows_in_any_order_and_columns_in_any_order_are_sorted_alike() {
        let kinds = [("a", Kind::binary()), ("b", Kind::Continuous), ("c", Kind::numbered(300))];
        let n = 9_000_usize;
        let cell = |column: usize, row: usize| match column {
            0 => (row * row % 7 % 2) as f64,
            1 if row.is_multiple_of(11) => f64::NAN,
            1 => (row % 50) as f64 * 0.5,
            _ => (row * 31 % 299) as f64,
        };
        let table = |columns: [usize; 3], row_of: &dyn Fn(usize) -> usize| {
            let schema = columns.iter().fold(Schema::builder(), |it, &ix| it.scalar(kinds[ix].0, kinds[ix].1.clone()));
            let data = columns.iter().map(|&ix| {
                let mut data = ColumnData::for_kind(&kinds[ix].1, n);
                (0..n).for_each(|row| data.push_number(cell(ix, row_of(row))));
                data
            });
            let weights = (0..n).map(|row| (row_of(row) % 3) as f64).collect();
            let data = Dataset::from_columns(Arc::new(schema.build().unwrap()), data.collect(), Some(weights)).unwrap();
            by_content(&data, false).unwrap().unwrap()
        };
        let one = table([0, 1, 2], &|row| row);
        let other = table([2, 0, 1], &|row| (row * 7_919 + 17) % n);
        for (a, b) in one.batches().iter().zip(other.batches()) {
            assert_eq!(a.weights, b.weights);
            for (column, same) in [(0, 1), (1, 2), (2, 0)] {
                let [x, y] = [(a, column), (b, same)].map(|(batch, column)| -> Vec<u64> {
                    (0..batch.n_rows).map(|row| batch.number(row, crate::ColIx::new(column)).to_bits()).collect()
                });
                assert_eq!(x, y, "column {column}");
            }
        }
    }
}
