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
    /// By the bits of the value.
    counts: HashMap<u64, u64>,
}

impl DistinctSample {
    pub(super) fn add(&mut self, value: f64, count: u64) {
        let bits = (value + 0.0).to_bits();
        if mix(bits).trailing_zeros() < self.n_bits {
            return;
        }
        *self.counts.entry(bits).or_insert(0) += count;
        self.shrink();
    }

    /// Joins the sample of other values.
    #[cfg(feature = "columnar")]
    pub(super) fn merge(&mut self, other: Self) {
        self.n_bits = self.n_bits.max(other.n_bits);
        #[expect(clippy::iter_over_hash_type, reason = "counts are added, in any order")]
        for (bits, count) in other.counts {
            *self.counts.entry(bits).or_insert(0) += count;
        }
        let n_bits = self.n_bits;
        self.counts.retain(|&bits, _| mix(bits).trailing_zeros() >= n_bits);
        self.shrink();
    }

    fn shrink(&mut self) {
        while self.counts.len() > LIMIT {
            self.n_bits += 1;
            let n_bits = self.n_bits;
            self.counts.retain(|&bits, _| mix(bits).trailing_zeros() >= n_bits);
        }
    }

    /// A fair sample of the different values, in order, with their frequencies.
    pub(super) fn values(&self) -> Vec<(f64, u64)> {
        let mut values: Vec<(f64, u64)> = self.counts.iter().map(|(&bits, &count)| (f64::from_bits(bits), count)).collect();
        values.sort_by(|a, b| a.0.total_cmp(&b.0));
        values
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
    fn values_occur_as_often_in_the_sample_as_in_all() {
        for repeats in [1_u64, 3] {
            let mut sample = DistinctSample::default();
            (0..repeats).for_each(|_| (0..20_000).for_each(|value| sample.add(f64::from(value) * 7.0, 1)));
            let values = sample.values();
            assert!(values.iter().all(|&(value, count)| value % 7.0 == 0.0 && count == repeats));
            assert!(values.len() > LIMIT / 3, "{}", values.len());
            assert!(sample.counts.len() <= LIMIT);
        }
    }
}
