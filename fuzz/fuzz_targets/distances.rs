//! A matrix of distances from a stranger: an error, or a matrix that is the same after writing and reading.
//!
//! The first byte chooses the format: `,` CSV, `:` TSV, `#` PHYLIP; otherwise the content tells.
#![no_main]

use latentree::distance::DistanceMatrix;
use libfuzzer_sys::fuzz_target;

#[path = "shared/scratch.rs"]
mod scratch;

fn bits(matrix: &DistanceMatrix) -> (Vec<String>, Vec<u64>) {
    (matrix.names().to_vec(), matrix.lower().iter().map(|value| value.to_bits()).collect())
}

fuzz_target!(|bytes: &[u8]| {
    let (name, bytes) = match bytes.first() {
        Some(b',') => ("fuzz.csv", &bytes[1..]),
        Some(b':') => ("fuzz.tsv", &bytes[1..]),
        Some(b'#') => ("fuzz.phy", &bytes[1..]),
        _ => ("fuzz.matrix", bytes),
    };
    let path = scratch::file(name, bytes);
    let Ok(matrix) = DistanceMatrix::read(&path) else { return };
    for copy in ["copy.csv", "copy.tsv", "copy.phy"] {
        let copy = scratch::file(copy, b"");
        // PHYLIP has no room for some names.
        if matrix.write(&copy).is_ok() {
            let again = DistanceMatrix::read(&copy).expect("what is written can be read");
            assert_eq!(bits(&matrix), bits(&again), "{}", copy.display());
        }
    }
});
