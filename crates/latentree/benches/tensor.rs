//! Each decomposition of a whitened tensor of k = 2, 5, 10 and 20 components with a little noise: the best of many runs.
//!
//! `cargo bench -p latentree --bench tensor`
#![expect(clippy::print_stdout, reason = "a benchmark prints its result")]

use std::hint::black_box;
use std::time::Instant;

use latentree::tensor::{Decomposition, Options, WhitenedTensor};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

fn main() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for k in [2, 5, 10, 20] {
        // An orthogonal tensor in its own coordinates would be solved before it starts: a Householder reflection turns it.
        let axis: Vec<f64> = (0..k).map(|_| rng.random_range(-1.0..1.0)).collect();
        let square: f64 = axis.iter().map(|x| x * x).sum();
        let vector = |c: usize, i: usize| f64::from(u8::from(c == i)) - 2.0 * axis[c] * axis[i] / square;
        let mut cells = Vec::with_capacity(k * k * k);
        for at in 0..k * k * k {
            let (i, j, l) = (at / k / k, at / k % k, at % k);
            let exact: f64 = (0..k).map(|c| (1.5 + 0.2 * c as f64) * vector(c, i) * vector(c, j) * vector(c, l)).sum();
            cells.push(exact + 0.02 * rng.random_range(-1.0..1.0));
        }
        let tensor = WhitenedTensor::tensor(k, &cells).expect("the cells are finite");
        for method in Decomposition::ALL {
            let once = || {
                let start = Instant::now();
                black_box(method.decompose(black_box(&tensor), &Options::new()).expect("the tensor is whole"));
                start.elapsed().as_secs_f64()
            };
            let best = (0..30).map(|_| once()).fold(f64::INFINITY, f64::min);
            println!("k = {k:2}, {method}: {:.4} ms", 1e3 * best);
        }
    }
}
