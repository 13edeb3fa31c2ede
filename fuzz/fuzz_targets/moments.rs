//! A moments file from a stranger: an error, or statistics that are the same after writing and reading.
//!
//! The checksum at the end would turn every changed byte into the same error, so that the bytes are read with the right
//! checksum too.
#![no_main]

use latentree::ColIx;
use latentree::moments::{Accumulator, PairMoments};
use libfuzzer_sys::fuzz_target;

const MEMORY: u64 = 1 << 26;

/// The checksum of the format: FNV-1a over words of 8 bytes, the last filled with zeros, then over the length.
fn checksum(bytes: &[u8]) -> u64 {
    let step = |state: u64, word: u64| {
        let state = (state ^ word).wrapping_mul(0x0100_0000_01b3);
        state ^ (state >> 29)
    };
    let words = bytes.chunks(8).map(|chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    });
    step(words.fold(0xcbf2_9ce4_8422_2325, step), bytes.len() as u64)
}

fn check(bytes: &[u8]) {
    let Ok(mut moments) = PairMoments::read_from(&mut &*bytes, MEMORY) else { return };
    let written = bytes_of(&moments);
    let n_columns = moments.schema().columns().len().min(8);
    for i in (0..n_columns).map(ColIx::new) {
        let _ = (moments.weight(i), moments.mean(i), moments.variance(i));
        for j in (0..n_columns).map(ColIx::new) {
            let _ = (moments.covariance(i, j), moments.correlation(i, j), moments.pair_weight(i, j));
            let _ = moments.mutual_information(i, j);
        }
    }
    let other = PairMoments::read_from(&mut written.as_slice(), MEMORY).expect("what is written can be read");
    assert_eq!(written, bytes_of(&other), "the same content gives the same bytes");
    if moments.merge(other).is_ok() {
        let _ = bytes_of(&moments);
    }
}

fn bytes_of(moments: &PairMoments) -> Vec<u8> {
    let mut bytes = Vec::new();
    moments.write_to(&mut bytes).expect("a vector takes all bytes");
    bytes
}

fuzz_target!(|bytes: &[u8]| {
    check(bytes);
    if let Some(length) = bytes.len().checked_sub(8) {
        let mut corrected = bytes[..length].to_vec();
        corrected.extend(checksum(&corrected).to_le_bytes());
        check(&corrected);
    }
});
