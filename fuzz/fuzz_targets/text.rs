//! Text from a stranger: an error, or a table of counts that is the same when it is read again with its own words.
//!
//! The first byte chooses how it is read: `#` cut at lines that begin with `#`, `,` as a column of a table, `~` as UTF-16.
#![no_main]

use std::sync::Arc;

use latentree::data::{BatchSource, Dataset, ReadOptions, StopWords, TextOptions, open};
use libfuzzer_sys::fuzz_target;

#[path = "shared/scratch.rs"]
mod scratch;

fuzz_target!(|bytes: &[u8]| {
    let mut text = TextOptions { stop: StopWords::None, min_df: "1".parse().ok(), ..TextOptions::default() };
    let mut options = ReadOptions::default();
    let (name, bytes) = match bytes.first() {
        Some(b'#') => {
            text.split = Some("^#".to_owned());
            ("fuzz.txt", &bytes[1..])
        }
        Some(b',') => {
            text.column = Some("x1".to_owned());
            options = options.header(false);
            ("fuzz.csv", &bytes[1..])
        }
        Some(b'~') => {
            options = options.encoding("utf-16".parse().expect("it is known"));
            ("fuzz.txt", &bytes[1..])
        }
        _ => ("fuzz.txt", bytes),
    };
    let path = scratch::file(name, bytes);
    let options = options.text(text);
    let Ok(mut reader) = open(&path, &options) else { return };
    let Ok(dataset) = Dataset::read(&mut reader) else { return };
    let schema = Arc::clone(reader.schema());
    let mut again = open(&path, &options.schema(schema)).expect("what was read can be opened with its words");
    let again = Dataset::read(&mut again).expect("what was read can be read again");
    assert_eq!(dataset.n_rows(), again.n_rows());
    for (first, second) in dataset.batches().iter().zip(again.batches()) {
        assert_eq!(first.block, second.block);
    }
});
