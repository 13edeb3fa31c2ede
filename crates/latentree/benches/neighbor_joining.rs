//! Times of neighbour joining on noisy distances of random trees, beside scikit-bio where it is installed; then of its
//! spectral kin.
//!
//! `cargo bench --bench neighbor_joining [-- random|hmm|star|noise|snj|top-down]`; `LATENTREE_PYTHON` names the Python to ask for
//! scikit-bio (default `python3`), and `LATENTREE_BENCH_SCALE` divides the numbers of variables (CI uses 20).
#![allow(missing_docs, clippy::print_stdout)]

use std::io::Write;
use std::process::Command;
use std::time::Instant;

use latentree::Silent;
use latentree::distance::DistanceMatrix;
use latentree::simulate::Shape;
use latentree::structure::{NeighborJoining, SpectralNeighborJoining, StructureLearner, TopDown};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Distances of a random tree of this shape, each with 5% noise.
fn noisy_tree(shape: Shape, n: usize) -> DistanceMatrix {
    let rng = &mut ChaCha8Rng::seed_from_u64(1);
    let tree = shape.tree(n, 0.0, rng).expect("the shape has such a tree");
    let lengths: Vec<f64> = (0..tree.n_nodes()).map(|_| rng.random_range(0.05..1.0)).collect();
    let tree = tree.with_lengths(|edge| Some(lengths[edge.b.get()] * 0.5 + lengths[edge.a.get()] * 0.5));
    let paths = tree.path_lengths().expect("all edges have lengths");
    let names = paths.nodes().iter().map(|&node| tree.name(node).to_owned()).collect();
    let distance = |i, j| paths.get(i, j).map(|path| path * rng.random_range(0.95..1.05));
    DistanceMatrix::from_fn(names, distance).expect("distances are valid")
}

fn noise(n: usize) -> DistanceMatrix {
    let rng = &mut ChaCha8Rng::seed_from_u64(2);
    let names = (0..n).map(|ix| format!("x{ix}")).collect();
    DistanceMatrix::from_fn(names, |_, _| Some(rng.random_range(0.0..1.0))).expect("distances are valid")
}

fn time(distances: &DistanceMatrix) -> f64 {
    time_of(&NeighborJoining::new().contract(None), distances)
}

/// Seconds of the best of several runs.
fn time_of(learner: &dyn StructureLearner, distances: &DistanceMatrix) -> f64 {
    let run = || {
        let begin = Instant::now();
        let tree = learner.learn(distances, &Silent).expect("distances are valid");
        assert_eq!(tree.n_hidden(), distances.len() - 2);
        begin.elapsed().as_secs_f64()
    };
    (0..3).map(|_| run()).fold(f64::INFINITY, f64::min)
}

/// Seconds that scikit-bio takes for the same matrix, without reading it.
fn scikit_bio(distances: &DistanceMatrix) -> Option<f64> {
    let python = std::env::var("LATENTREE_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    if !Command::new(&python).args(["-c", "import skbio"]).output().is_ok_and(|output| output.status.success()) {
        println!("  scikit-bio: skipped, {python} does not have it");
        return None;
    }
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    let mut bytes = Vec::with_capacity(8 * distances.lower().len());
    distances.lower().iter().for_each(|distance| bytes.extend(distance.to_le_bytes()));
    file.write_all(&bytes).expect("the disk has room");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/scikit_bio_nj.py");
    let output =
        Command::new(&python).arg(script).arg(file.path()).arg(distances.len().to_string()).output().expect("python runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let seconds = text.trim().parse().ok();
    if seconds.is_none() {
        println!("  scikit-bio failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    seconds
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let scale: usize = std::env::var("LATENTREE_BENCH_SCALE").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|it| it == name);
    for n in [1000, 2000, 5000].map(|n| (n / scale).max(10)) {
        if is_wanted("random") {
            let distances = noisy_tree(Shape::Random { max_degree: Some(3) }, n);
            let ours = time(&distances);
            println!("random tree, n = {n}: {ours:.3} s");
            if let Some(theirs) = scikit_bio(&distances) {
                println!("  scikit-bio: {theirs:.3} s, {:.1} times ours", theirs / ours);
            }
        }
        if is_wanted("hmm") {
            println!("hidden Markov model, n = {n}: {:.3} s", time(&noisy_tree(Shape::Hmm, n)));
        }
        if is_wanted("star") {
            println!("star, n = {n}: {:.3} s", time(&noisy_tree(Shape::Star, n)));
        }
        if is_wanted("noise") {
            println!("noise, n = {n}: {:.3} s", time(&noise(n)));
        }
    }
    let random = Shape::Random { max_degree: Some(3) };
    if is_wanted("snj") {
        for n in [80, 500, 1000].map(|n| (n / scale).max(10)) {
            let seconds = time_of(&SpectralNeighborJoining::new().contract(None), &noisy_tree(random, n));
            println!("spectral, random tree, n = {n}: {seconds:.3} s, {} threads", rayon::current_num_threads());
        }
    }
    if is_wanted("top-down") {
        for n in [1000, 5000].map(|n| (n / scale).max(10)) {
            let distances = noisy_tree(random, n);
            let joining = TopDown::new(NeighborJoining::new().contract(None)).contract(None);
            let spectral = TopDown::new(SpectralNeighborJoining::new().contract(None)).contract(None);
            let (joining, spectral) = (time_of(&joining, &distances), time_of(&spectral, &distances));
            println!("top down, random tree, n = {n}: {joining:.3} s with nj, {spectral:.3} s with snj");
        }
    }
}
