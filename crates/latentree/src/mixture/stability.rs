//! Stability of a clustering when some rows are replaced.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::Agreement;
use crate::data::{Dataset, Rows, SelectedRows};
use crate::error::{Error, Result};

/// Minimum number of rows for which a tenth of them is meaningful.
const LEAST_ROWS: usize = 20;

/// The stability of a clustering (Ruffini 2019, §6.4.1): rows are clustered twice, each time the same 80% plus a different
/// 10%, and the two clusterings are compared by the adjusted Rand index on the rows they share. `cluster` returns a label for
/// each row. The result is the mean over `runs`.
///
/// # Errors
/// [`Error::Option`] if there are fewer than 20 rows or no runs, and any error from `cluster` or from reading the rows.
pub fn stability(
    rows: &dyn Rows,
    runs: usize,
    seed: u64,
    mut cluster: impl FnMut(&dyn Rows) -> Result<Vec<usize>>,
) -> Result<f64> {
    let n_rows = Dataset::read(&mut *rows.open()?)?.n_rows() as usize;
    if n_rows < LEAST_ROWS || runs == 0 {
        return Err(Error::option(
            "mixture.stability",
            format!("{runs} runs of {n_rows} rows; at least one run and {LEAST_ROWS} rows are needed"),
        ));
    }
    let mut sum = 0.0;
    for run in 0..runs {
        let mut order: Vec<usize> = (0..n_rows).collect();
        order.shuffle(&mut ChaCha8Rng::seed_from_u64(seed.wrapping_add(run as u64)));
        let (common, tenth) = (n_rows * 8 / 10, n_rows / 10);
        // 0: shared; 1 and 2: exchanged; 3: left out.
        let mut part = vec![3_u8; n_rows];
        for (place, &row) in order.iter().enumerate() {
            part[row] = if place < common { 0 } else { (1 + (place - common) / tenth.max(1)).min(3) as u8 };
        }
        let mut both = Vec::with_capacity(2);
        for exchanged in [1, 2] {
            let mut source = rows.open()?;
            let part = &part;
            let kept = move |row: u64| part.get(row as usize).is_some_and(|it| *it == 0 || *it == exchanged);
            let data = Dataset::read(&mut SelectedRows::new(&mut *source, kept))?;
            let labels = cluster(&data)?;
            let chosen = (0..n_rows).filter(|&row| part[row] == 0 || part[row] == exchanged);
            both.push(chosen.zip(labels).filter(|(row, _)| part[*row] == 0).map(|(_, label)| label).collect::<Vec<usize>>());
        }
        sum += Agreement::of(&both[0], &both[1])?.adjusted_rand;
    }
    Ok(sum / runs as f64)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::data::{ColumnData, Kind, Schema};

    #[test]
    fn labels_that_follow_rows_are_stable_and_those_that_follow_places_are_not() {
        let schema = Arc::new(Schema::builder().scalar("a", Kind::numbered(2)).build().unwrap());
        let codes: Vec<u8> = (0..200).map(|row| u8::from(row * 7 % 13 < 6)).collect();
        let data = Dataset::from_columns(schema, vec![ColumnData::Codes8(codes)], None).unwrap();
        let by_value = |rows: &dyn Rows| {
            let data = Dataset::read(&mut *rows.open()?)?;
            Ok(data
                .batches()
                .iter()
                .flat_map(|it| (0..it.n_rows).map(|row| it.number(row, crate::ColIx::new(0)) as usize).collect::<Vec<_>>())
                .collect())
        };
        assert_eq!(stability(&data, 3, 0, by_value).unwrap(), 1.0);
        let mut calls = 0;
        let by_place = |rows: &dyn Rows| {
            calls += 1;
            Ok((0..rows.n_rows_hint().unwrap() as usize).map(|row| (row + calls) / 3 % 2).collect())
        };
        assert!(stability(&data, 3, 0, by_place).unwrap() < 0.3);
        assert!(stability(&data, 0, 0, |_| Ok(Vec::new())).is_err());
    }
}
