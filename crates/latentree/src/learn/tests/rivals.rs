//! The default compared with single learners: its BIC is never worse, except for ties of 0.02%.

use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::learn;
use crate::data::{ColumnData, Dataset, Kind, Schema};
use crate::learn::{Criterion, Learning};
use crate::structure::LearnerName;

fn not_below_learners(data: &Dataset) {
    let found = learn(&Learning::new(), data).bic.unwrap();
    let named = |learner, n_states| {
        let learning = Learning::new().structure(learner).hidden_states(n_states);
        learn(&learning.select(Some(Criterion::None)), data).bic.unwrap()
    };
    for (learner, n_states) in [
        (LearnerName::Auto, None),
        (LearnerName::ChowLiu, None),
        (LearnerName::ChowLiuNeighborJoining, None),
        (LearnerName::HiddenChowLiu, Some(2)),
        (LearnerName::HiddenChowLiu, Some(3)),
    ] {
        let other = named(learner, n_states);
        assert!(found >= other - 2e-4 * other.abs(), "{} {n_states:?}: {other}, default {found}", learner.name());
    }
}

/// A random walk: each column is the previous one plus a little noise, so that the Chow–Liu tree is the truth.
#[test]
fn on_columns_that_are_nearly_equal() {
    let (n_rows, mut rng) = (200, ChaCha8Rng::seed_from_u64(4));
    let mut columns: Vec<Vec<f64>> = vec![(0..n_rows).map(|_| rng.random_range(-1.0..1.0)).collect()];
    for ix in 0..11 {
        let next = columns[ix].iter().map(|value| value + rng.random_range(-0.02..0.02)).collect();
        columns.push(next);
    }
    let schema = (0..columns.len()).fold(Schema::builder(), |schema, ix| schema.scalar(format!("x{ix}"), Kind::Continuous));
    let columns = columns.into_iter().map(ColumnData::Reals).collect();
    not_below_learners(&Dataset::from_columns(Arc::new(schema.build().unwrap()), columns, None).unwrap());
}

/// A column with more labels than a search accepts, next to columns that form a chain.
#[test]
fn on_a_table_that_is_not_searched() {
    let (n_rows, n_labels, mut rng) = (3_000, 2_200_u32, ChaCha8Rng::seed_from_u64(5));
    let mut columns = vec![ColumnData::for_kind(&Kind::numbered(n_labels as usize), n_rows)];
    (0..n_rows as u32).for_each(|row| columns[0].push_code(Some(row % n_labels)));
    let mut last: Vec<u8> = (0..n_rows).map(|_| u8::from(rng.random_bool(0.5))).collect();
    for _ in 0..5 {
        columns.push(ColumnData::Codes8(last.clone()));
        last.iter_mut().filter(|_| rng.random_bool(0.1)).for_each(|code| *code = 1 - *code);
    }
    let schema = Schema::builder().scalar("id", Kind::numbered(n_labels as usize));
    let schema = (0..5).fold(schema, |schema, ix| schema.scalar(format!("x{ix}"), Kind::binary()));
    not_below_learners(&Dataset::from_columns(Arc::new(schema.build().unwrap()), columns, None).unwrap());
}
