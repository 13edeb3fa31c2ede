//! Long events from a stranger: an error, or rows that are the same whether they are streamed or held in memory.
//!
//! The first byte chooses whether there is a value (`+`), and whether the text has another encoding (`~`).
#![no_main]

use std::collections::BTreeMap;

use latentree::data::{Block, Dataset, ReadOptions, open};
use libfuzzer_sys::fuzz_target;

#[path = "shared/scratch.rs"]
mod scratch;

/// What every item sums up to, and the number of rows.
fn totals(dataset: &Dataset) -> (u64, BTreeMap<String, f64>) {
    let mut sums = BTreeMap::new();
    let mut n_rows = 0;
    for batch in dataset.batches() {
        let Block::Sparse(rows) = &batch.block else { panic!("events give sparse rows") };
        assert_eq!(rows.n_rows(), batch.n_rows);
        n_rows += batch.n_rows as u64;
        for row in 0..batch.n_rows {
            for (column, value) in rows.row(row) {
                *sums.entry(dataset.schema().columns()[column].name.clone()).or_insert(0.0) += value;
            }
        }
    }
    (n_rows, sums)
}

fuzz_target!(|bytes: &[u8]| {
    let (value, encoding, bytes) = match bytes.first() {
        Some(b'+') => (Some("x3".to_owned()), None, &bytes[1..]),
        Some(b'~') => (None, Some("utf-16"), &bytes[1..]),
        _ => (None, None, bytes),
    };
    let is_presence = value.is_none();
    let mut options = ReadOptions::default().header(false).events("x1", "x2", value);
    if let Some(encoding) = encoding {
        options = options.encoding(encoding.parse().expect("a known encoding"));
    }
    let path = scratch::file("fuzz.csv", bytes);
    let Ok(mut reader) = open(&path, &options) else { return };
    let Ok(dataset) = Dataset::read(&mut reader) else { return };
    let schema = dataset.schema().clone();
    // A second reading, with the schema of the first.
    let Ok(mut again) = open(&path, &options.schema(schema)) else { panic!("the same file fits its own schema") };
    let again = Dataset::read(&mut again).expect("what was read can be read again");
    let (n_rows, sums) = totals(&dataset);
    let (again_rows, again_sums) = totals(&again);
    assert_eq!((n_rows, sums.len()), (again_rows, again_sums.len()));
    // A sum with a missing value is none, and equal to none.
    let is_same = |(a, b): (&f64, &f64)| a == b || (a.is_nan() && b.is_nan());
    assert!(sums.keys().eq(again_sums.keys()) && sums.values().zip(again_sums.values()).all(is_same));
    if is_presence {
        assert!(sums.values().all(|&sum| sum >= 1.0 && sum <= n_rows as f64), "an item is present in some rows, once in each");
    }
});
