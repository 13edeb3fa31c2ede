//! Rows drawn for validation.

use std::sync::Arc;

use crate::data::{Dataset, Rows, SelectedRows};
use crate::error::{Error, Place, Result};

/// Splits rows into training rows and about the given fraction of validation rows, by the seed and the row number.
pub(super) fn split(rows: &dyn Rows, fraction: f64, seed: u64) -> Result<(Dataset, Dataset)> {
    let is_drawn = move |row: u64| (hash(row ^ hash(seed)) >> 11) as f64 / (1_u64 << 53) as f64 <= fraction;
    let learned = Dataset::read(&mut SelectedRows::new(&mut *rows.open()?, move |row| !is_drawn(row)))?;
    let drawn = Dataset::read(&mut SelectedRows::new(&mut *rows.open()?, is_drawn))?;
    if learned.n_rows() == 0 || drawn.n_rows() == 0 {
        let problem = format!(
            "a fraction of {fraction} leaves {} rows to learn from and {} to validate on; give a file, or another fraction",
            learned.n_rows(),
            drawn.n_rows()
        );
        return Err(Error::data(Place::default(), problem));
    }
    debug_assert!(Arc::ptr_eq(learned.schema(), drawn.schema()));
    Ok((learned, drawn))
}

/// A bijection of 64 bits that removes patterns (the finaliser of SplitMix64).
fn hash(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
