//! Distances of all pairs of 12,000 binary columns (72 million) from the moments of 1,500 sparse rows.
//!
//! `cargo bench -p latentree --bench distances`; it takes about 2 GB.
#![expect(clippy::print_stdout, reason = "a benchmark prints its result")]

use std::sync::Arc;
use std::time::Instant;

use latentree::Silent;
use latentree::data::{Batch, Block, Kind, Schema, SparseRows};
use latentree::distance::{DistanceOptions, estimate};
use latentree::moments::{Accumulator, PairMoments};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const COLUMNS: u32 = 12_000;
const ROWS: usize = 1_500;

fn main() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let schema = (0..COLUMNS).fold(Schema::builder(), |it, ix| it.scalar(format!("x{ix}"), Kind::binary()));
    let mut rows = SparseRows::default();
    for _ in 0..ROWS {
        let topic = rng.random_range(0..100_u32);
        let mut row: Vec<u32> = (0..100).map(|_| rng.random_range(0..COLUMNS)).collect();
        row.extend((0..60).map(|_| topic * 120 + rng.random_range(0..120)));
        row.sort_unstable();
        row.dedup();
        rows.columns.extend(row);
        rows.starts.push(rows.columns.len());
    }
    let start = Instant::now();
    let mut moments = PairMoments::new(Arc::new(schema.build().expect("names are unique"))).expect("it fits in memory");
    let batch = Batch { first_row: 0, n_rows: ROWS, block: Block::Sparse(rows), weights: None };
    moments.observe(&batch).expect("the batch fits its schema");
    println!("moments: {:.2} s", start.elapsed().as_secs_f64());
    for errors in [false, true] {
        let start = Instant::now();
        let distances = estimate(&moments, &DistanceOptions::new().errors(errors), &Silent).expect("distances can be estimated");
        let (seconds, undefined, pairs) = (start.elapsed().as_secs_f64(), distances.n_undefined(), distances.lower().len());
        println!("distances, standard errors {errors}: {seconds:.2} s, {undefined} of {pairs} pairs undefined");
    }
}
