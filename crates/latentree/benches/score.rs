//! Scoring speed: node-updates a second on a binary tree of 174 nodes (100 observed, 74 hidden) over 16,242 rows, the size of
//! Choi's 20 newsgroups trees. A node-update is one node's work in the upward pass of one row.
//!
//! `cargo bench -p latentree --bench score`
#![expect(clippy::print_stdout, reason = "a benchmark prints its result")]

use std::sync::Arc;
use std::time::Instant;

use latentree::NodeIx;
use latentree::data::{Kind, Schema};
use latentree::inference::Inference;
use latentree::model::{Distribution, LatentTree, Table};
use latentree::tree::{Edge, Node, Tree};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const HIDDEN: usize = 74;
const OBSERVED: usize = 100;
const ROWS: u64 = 16_242;

fn model() -> LatentTree {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut nodes: Vec<Node> = (0..HIDDEN).map(|ix| Node { name: format!("h{ix}"), observed: false }).collect();
    let mut edges: Vec<Edge> = (1..HIDDEN).map(|ix| Edge::new(NodeIx::new(rng.random_range(0..ix)), NodeIx::new(ix))).collect();
    let mut schema = Schema::builder();
    for ix in 0..OBSERVED {
        nodes.push(Node { name: format!("x{ix}"), observed: true });
        schema = schema.scalar(format!("x{ix}"), Kind::binary());
        let parent = if ix < HIDDEN { ix } else { rng.random_range(0..HIDDEN) };
        edges.push(Edge::new(NodeIx::new(parent), NodeIx::new(HIDDEN + ix)));
    }
    let schema = Arc::new(schema.build().expect("names are unique"));
    let tree = Tree::from_parts(nodes, &edges).expect("it is a tree");
    let builder = LatentTree::builder(schema, tree).root(NodeIx::new(0));
    let model = (0..HIDDEN + OBSERVED).fold(builder, |builder, ix| {
        let (a, b) = (rng.random_range(0.001..0.1), rng.random_range(0.2..0.9));
        let values = if ix == 0 { vec![0.4, 0.6] } else { vec![1.0 - a, a, 1.0 - b, b] };
        builder.distribution(NodeIx::new(ix), Distribution::Discrete(Table::new(2, values)))
    });
    model.build().expect("the model is valid")
}

fn main() {
    let model = model();
    let inference = Inference::new(&model);
    let rows = inference.sample(ROWS, 2).expect("rows can be drawn");
    let updates = ROWS as f64 * (HIDDEN + OBSERVED) as f64;
    let mut alone = 0.0;
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool can be made");
        let best = |run: &dyn Fn()| {
            let once = || {
                let start = Instant::now();
                run();
                start.elapsed().as_secs_f64()
            };
            (0..50).map(|_| once()).fold(f64::INFINITY, f64::min)
        };
        let hidden: Vec<NodeIx> = model.hidden().collect();
        let score = pool.install(|| best(&|| rows.batches().iter().for_each(|batch| drop(inference.log_likelihood(batch)))));
        let posterior =
            pool.install(|| best(&|| rows.batches().iter().for_each(|batch| drop(inference.posterior(batch, &hidden)))));
        if threads == 1 {
            alone = score;
        }
        println!(
            "threads {threads}: score {:.2} ms, {:.2} billion node-updates/s/core, {:.2}x one thread; posteriors of all hidden nodes {:.2} ms",
            1e3 * score,
            updates / score / 1e9 / threads as f64,
            alone / score,
            1e3 * posterior
        );
    }
}
