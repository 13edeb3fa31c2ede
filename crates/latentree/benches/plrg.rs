//! Parallel local recursive grouping of 5,000 variables with one thread and with two, from exact distances and from noisy ones.
//!
//! `cargo bench -p latentree --bench plrg`
#![expect(clippy::print_stdout, reason = "a benchmark prints its result")]

use std::time::Instant;

use latentree::Silent;
use latentree::distance::DistanceMatrix;
use latentree::simulate::Shape;
use latentree::structure::{ParallelLocalGrouping, StructureLearner};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

const VARIABLES: usize = 5_000;
const ROWS: f64 = 10_000.0;

fn main() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let tree = Shape::Random { max_degree: Some(12) }.tree(VARIABLES, 0.1, &mut rng).expect("there is such a tree");
    let lengths: Vec<f64> = (0..tree.n_nodes()).map(|_| rng.random_range(0.1..0.8)).collect();
    let tree = tree.with_lengths(|edge| Some(0.5 * (lengths[edge.a.get()] + lengths[edge.b.get()])));
    let truth = tree.path_lengths().expect("all edges have lengths");
    let names: Vec<String> = truth.nodes().iter().map(|&node| tree.name(node).to_owned()).collect();
    let exact = DistanceMatrix::from_fn(names.clone(), |i, j| truth.get(i, j)).expect("the distances are valid");
    let (mut values, mut errors) = (Vec::new(), Vec::new());
    for &distance in exact.lower() {
        let correlation = (-distance).exp();
        let noise: f64 = StandardNormal.sample(&mut rng);
        let estimate =
            (correlation + noise * (1.0 - correlation * correlation) / ROWS.sqrt()).abs().clamp(0.3 / ROWS.sqrt(), 1.0);
        values.push(-estimate.ln());
        errors.push((1.0 - estimate * estimate) / (estimate * ROWS.sqrt()));
    }
    let noisy = DistanceMatrix::from_lower(names, values, Some(errors)).expect("the distances are valid");
    for (name, distances) in [("exact", &exact), ("noisy", &noisy)] {
        let mut alone = 0.0;
        for threads in [1, 2] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool can be made");
            let once = || {
                let start = Instant::now();
                let learned = pool.install(|| ParallelLocalGrouping::default().learn_component(distances, &Silent));
                assert!(learned.is_ok());
                start.elapsed().as_secs_f64()
            };
            let best = (0..7).map(|_| once()).fold(f64::INFINITY, f64::min);
            alone = if threads == 1 { best } else { alone };
            println!("{name}: {threads} threads {best:.3} s, {:.2} times as fast as one", alone / best);
        }
    }
}
