//! A CSV table from a stranger: an error, or a table that is the same after writing and reading with its schema.
//!
//! The first byte chooses how it is read: `#` without a header, `!` as events of the first two columns.
#![no_main]

use std::sync::Arc;

use latentree::data::{Block, Dataset, ReadOptions, TableWriter, open};
use libfuzzer_sys::fuzz_target;

#[path = "shared/scratch.rs"]
mod scratch;

/// The cells of a dense table as bits.
fn cells(dataset: &Dataset) -> Vec<Vec<u64>> {
    let n_columns = dataset.schema().columns().len();
    let mut columns = vec![Vec::new(); n_columns];
    for batch in dataset.batches() {
        let Block::Dense(block) = &batch.block else { panic!("a CSV table is dense") };
        for (column, data) in columns.iter_mut().zip(block) {
            column.extend((0..batch.n_rows).map(|row| (data.number(row) + 0.0).to_bits()));
        }
    }
    columns
}

fuzz_target!(|bytes: &[u8]| {
    let (options, is_events, bytes) = match bytes.first() {
        Some(b'#') => (ReadOptions::default().header(false), false, &bytes[1..]),
        Some(b'!') => (ReadOptions::default().header(false).events("x1", "x2", None), true, &bytes[1..]),
        _ => (ReadOptions::default(), false, bytes),
    };
    let path = scratch::file("fuzz.csv", bytes);
    let Ok(mut reader) = open(&path, &options) else { return };
    let Ok(dataset) = Dataset::read(&mut reader) else { return };
    if is_events {
        return;
    }
    let schema = Arc::clone(dataset.schema());
    let copy = scratch::file("copy.csv", b"");
    let mut writer = TableWriter::create(&copy, &schema, None).expect("the copy can be started");
    for batch in dataset.batches() {
        writer.write_batch(batch).expect("the copy can be written");
    }
    writer.finish().expect("the copy can be finished");
    let mut reader = open(&copy, &ReadOptions::default().schema(schema)).expect("what is written can be opened");
    assert!(reader.absent_columns().is_empty(), "every column is there again");
    let again = Dataset::read(&mut reader).expect("what is written can be read");
    assert_eq!(dataset.n_rows(), again.n_rows());
    assert_eq!(cells(&dataset), cells(&again));
});
