//! Sparse files from a stranger: bags of words, Matrix Market (recognised by its first bytes), libsvm.
#![no_main]

use latentree::data::{Batch, BatchSource, Block, ReadOptions, open};
use libfuzzer_sys::fuzz_target;

#[path = "shared/scratch.rs"]
mod scratch;

/// Rows and stored cells, after checking that a batch keeps what it promises.
fn check(batch: &Batch, n_columns: usize) -> (usize, usize) {
    let Block::Sparse(rows) = &batch.block else { panic!("a sparse file gives sparse rows") };
    assert_eq!(rows.n_rows(), batch.n_rows);
    for row in 0..batch.n_rows {
        let columns = &rows.columns[rows.starts[row]..rows.starts[row + 1]];
        assert!(columns.is_sorted_by(|left, right| left < right), "columns increase");
        assert!(columns.iter().all(|&column| (column as usize) < n_columns));
    }
    (batch.n_rows, rows.columns.len())
}

fuzz_target!(|bytes: &[u8]| {
    // A file may rightly claim many empty rows or columns, which take time and find nothing.
    if bytes.split(|byte| !byte.is_ascii_digit()).any(|digits| digits.len() > 3) {
        return;
    }
    let name = if bytes.first() == Some(&b'+') { "fuzz.svm" } else { "docword.fuzz.txt" };
    let path = scratch::file(name, bytes);
    let Ok(mut reader) = open(&path, &ReadOptions::default()) else { return };
    let n_columns = reader.schema().columns().len();
    let mut totals = [(0, 0); 2];
    for total in &mut totals {
        loop {
            match reader.next_batch() {
                Ok(Some(batch)) => {
                    let (rows, cells) = check(&batch, n_columns);
                    *total = (total.0 + rows, total.1 + cells);
                }
                Ok(None) => break,
                Err(_) => return,
            }
        }
        reader.rewind().expect("a file can be read again");
    }
    assert_eq!(totals[0], totals[1], "a second reading gives the same");
});
