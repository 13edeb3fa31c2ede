//! Arrow and Parquet files from a stranger: an error, or rows that are the same when they are read again.
//!
//! Files that begin with `PAR1` are Parquet, with `ARROW1` Arrow files; others are Arrow streams.
#![no_main]

use latentree::data::{Dataset, ReadOptions, open};
use libfuzzer_sys::fuzz_target;

#[path = "shared/scratch.rs"]
mod scratch;

fuzz_target!(|bytes: &[u8]| {
    // The libraries panic on some damaged files, which the reader turns into errors: libFuzzer's hook would end the process
    // before it can. A panic that leaves the reader ends it all the same.
    static WITHOUT_HOOK: std::sync::Once = std::sync::Once::new();
    WITHOUT_HOOK.call_once(|| std::panic::set_hook(Box::new(|_| ())));
    let path = scratch::file("fuzz.arrow", bytes);
    let Ok(mut reader) = open(&path, &ReadOptions::default()) else { return };
    let Ok(dataset) = Dataset::read(&mut reader) else { return };
    let options = ReadOptions::default().schema(dataset.schema().clone());
    let mut again = open(&path, &options).expect("the same file fits its schema");
    let again = Dataset::read(&mut again).expect("what was read can be read again");
    assert_eq!(dataset.n_rows(), again.n_rows());
});
