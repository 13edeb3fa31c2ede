//! Estimates how often the values of a long column repeat, in bounded memory.
//!
//! Values whose hash ends in enough zero bits are counted exactly (Gibbons' distinct sampling): a fair sample of the different
//! values, whatever their frequencies. When the sample is full, one more zero bit is asked for.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

/// Different values counted at most.
const LIMIT: usize = 512;

#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct DistinctSample {
    n_bits: u32,
    counts: HashMap<u64, u64>,
}

impl DistinctSample {
    pub(super) fn add(&mut self, value: f64, count: u64) {
        let hash = mix((value + 0.0).to_bits());
        if hash.trailing_zeros() < self.n_bits {
            return;
        }
        *self.counts.entry(hash).or_insert(0) += count;
        self.shrink();
    }

    /// Joins the sample of other values.
    #[cfg(feature = "columnar")]
    pub(super) fn merge(&mut self, other: Self) {
        self.n_bits = self.n_bits.max(other.n_bits);
        #[expect(clippy::iter_over_hash_type, reason = "counts are added, in any order")]
        for (hash, count) in other.counts {
            *self.counts.entry(hash).or_insert(0) += count;
        }
        let n_bits = self.n_bits;
        self.counts.retain(|hash, _| hash.trailing_zeros() >= n_bits);
        self.shrink();
    }

    fn shrink(&mut self) {
        while self.counts.len() > LIMIT {
            self.n_bits += 1;
            let n_bits = self.n_bits;
            self.counts.retain(|hash, _| hash.trailing_zeros() >= n_bits);
        }
    }

    /// How often a value occurs on average; 0 without values.
    pub(super) fn mean_count(&self) -> f64 {
        let total: u64 = self.counts.values().sum();
        if total == 0 { 0.0 } else { total as f64 / self.counts.len() as f64 }
    }
}

/// A bijection that mixes all bits (the finalizer of SplitMix64), the same on every machine.
fn mix(bits: u64) -> u64 {
    let bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_count_is_that_of_all_values() {
        for repeats in [1, 3] {
            let mut sample = DistinctSample::default();
            (0..repeats).for_each(|_| (0..20_000).for_each(|value| sample.add(f64::from(value) * 7.0, 1)));
            assert_eq!(sample.mean_count(), f64::from(repeats));
            assert!(sample.counts.len() <= LIMIT);
        }
    }
}
