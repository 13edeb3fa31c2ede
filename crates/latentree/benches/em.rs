//! Speed of EM.
//!
//! 1. One step on a binary tree of 100 observed and 80 hidden nodes over 16,242 rows, the size of Choi's 20 newsgroups trees; and
//!    the passes that plain and accelerated EM need from a random start.
//! 2. Sparse evidence against the dense schedule: 10,000 binary variables, 100 ones a row.
//!
//! `cargo bench -p latentree --bench em`
#![expect(clippy::print_stdout, reason = "a benchmark prints its result")]

use std::sync::Arc;
use std::time::Instant;

use latentree::data::{Batch, Block, ColumnData, Dataset, Kind, Schema, SparseRows};
use latentree::inference::Inference;
use latentree::model::{Distribution, LatentTree, Table};
use latentree::moments::Accumulator;
use latentree::parameters::em::{Em, ExpectedCounts, Smoothing, Start};
use latentree::tree::{Edge, Node, Tree};
use latentree::{NodeIx, Silent};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

fn model(n_hidden: usize, n_observed: usize, rare: f64) -> LatentTree {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut nodes: Vec<Node> = (0..n_hidden).map(|ix| Node { name: format!("h{ix}"), observed: false }).collect();
    let mut edges: Vec<Edge> = (1..n_hidden).map(|ix| Edge::new(NodeIx::new(rng.random_range(0..ix)), NodeIx::new(ix))).collect();
    let mut schema = Schema::builder();
    for ix in 0..n_observed {
        nodes.push(Node { name: format!("x{ix}"), observed: true });
        schema = schema.scalar(format!("x{ix}"), Kind::binary());
        let parent = if ix < n_hidden { ix } else { rng.random_range(0..n_hidden) };
        edges.push(Edge::new(NodeIx::new(parent), NodeIx::new(n_hidden + ix)));
    }
    let schema = Arc::new(schema.build().expect("names are unique"));
    let tree = Tree::from_parts(nodes, &edges).expect("it is a tree");
    let builder = LatentTree::builder(schema, tree).root(NodeIx::new(0));
    let model = (0..n_hidden + n_observed).fold(builder, |builder, ix| {
        let leaf = if ix < n_hidden { 1.0 } else { rare };
        let (a, b) = (leaf * rng.random_range(0.001..0.1), leaf * rng.random_range(0.2..0.9));
        let values = if ix == 0 { vec![0.4, 0.6] } else { vec![1.0 - a, a, 1.0 - b, b] };
        builder.distribution(NodeIx::new(ix), Distribution::Discrete(Table::new(2, values)))
    });
    model.build().expect("the model is valid")
}

fn best(times: usize, mut run: impl FnMut()) -> f64 {
    let once = |run: &mut dyn FnMut()| {
        let start = Instant::now();
        run();
        start.elapsed().as_secs_f64()
    };
    (0..times).map(|_| once(&mut run)).fold(f64::INFINITY, f64::min)
}

fn step(model: &Arc<LatentTree>, rows: &Dataset) -> LatentTree {
    let mut counts = ExpectedCounts::new(Arc::clone(model));
    rows.batches().iter().for_each(|batch| counts.observe(batch).expect("the rows fit"));
    counts.maximise(&Smoothing::default()).expect("there are rows")
}

fn main() {
    let newsgroups = Arc::new(model(80, 100, 1.0));
    let rows = Inference::new(&newsgroups).sample(16_242, 2).expect("rows can be drawn");
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool can be made");
        let seconds = pool.install(|| best(50, || drop(step(&newsgroups, &rows))));
        println!("16,242 x 100, 80 hidden, threads {threads}: {:.2} ms per EM step", 1e3 * seconds);
    }
    for accelerate in [false, true] {
        let em = Em::new().accelerate(accelerate).iterations(2000).start(Start::Random { restarts: 1, seed: 0 });
        let start = Instant::now();
        let fit = em.fit(&newsgroups, &rows, &Silent).expect("the rows fit");
        println!(
            "from a random start, accelerated {accelerate}: {} passes, {:.2} s, log-likelihood {:.1}",
            fit.iterations,
            start.elapsed().as_secs_f64(),
            fit.log_likelihood.last().expect("there is a start")
        );
    }

    let (n_observed, n_rows, n_ones) = (10_000, 2048, 100);
    let wide = Arc::new(model(4000, n_observed, 0.05));
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let mut sparse = SparseRows::default();
    let mut dense = vec![vec![0_u8; n_rows]; n_observed];
    for row in 0..n_rows {
        let mut ones: Vec<usize> = (0..n_ones).map(|_| rng.random_range(0..n_observed)).collect();
        ones.sort_unstable();
        ones.dedup();
        for &column in &ones {
            dense[column][row] = 1;
            sparse.columns.push(column as u32);
        }
        sparse.starts.push(sparse.columns.len());
    }
    let data = |block: Block| Dataset::new(Arc::clone(wide.schema()), vec![Batch { first_row: 0, n_rows, block, weights: None }]);
    let dense = data(Block::Dense(dense.into_iter().map(ColumnData::Codes8).collect()));
    let sparse = data(Block::Sparse(sparse));
    let seconds = |rows: &Dataset| {
        let mut counts = ExpectedCounts::new(Arc::clone(&wide));
        best(2, || counts.observe(&rows.batches()[0]).expect("the rows fit"))
    };
    // In turns: the speed of a machine changes within seconds.
    let (mut slow, mut fast) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..12 {
        (slow, fast) = (slow.min(seconds(&dense)), fast.min(seconds(&sparse)));
    }
    let per_row = |seconds: f64| 1e6 * seconds / n_rows as f64;
    println!(
        "10,000 variables, 100 ones a row: dense {:.1} us, sparse {:.2} us per row, {:.1}x",
        per_row(slow),
        per_row(fast),
        slow / fast
    );
}
