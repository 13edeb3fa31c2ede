//! Variables that are sparse vectors of very many counts, as the words of a document or the neighbours of a node: rows are drawn
//! token by token, so that a row costs its tokens and not its dimensions.

use std::sync::Arc;

use latentree::data::{Batch, Block, Column, Dataset, Kind, Schema, SparseRows};
use latentree::model::{Distribution, Emission, LatentTree, Table};
use latentree::tree::Tree;
use latentree::{NodeIx, Result};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution as _, Gamma, Poisson};

/// A model whose leaves are vectors of Poisson counts.
pub(crate) struct SparseVectors {
    pub(crate) truth: LatentTree,
    /// Expected tokens of a vector.
    tokens: f64,
    /// For each leaf and state the cumulative probabilities of its features.
    cumulative: Vec<Vec<Vec<f64>>>,
}

impl SparseVectors {
    /// The tree and hidden tables of a model of categorical leaves, with every leaf a vector of d counts whose rates sum to
    /// `tokens`, shared out by a Dirichlet distribution of this concentration.
    pub(crate) fn new(shape: &LatentTree, d: usize, tokens: f64, concentration: f64, seed: u64) -> Result<Self> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed ^ 0x5eed);
        let gamma = Gamma::new(concentration, 1.0).expect("the concentration is positive");
        let tree: &Tree = shape.tree();
        let mut schema = Schema::builder();
        for node in tree.node_ixs().filter(|&node| tree.is_observed(node)) {
            let name = tree.name(node).to_owned();
            let member = |ix: usize| Column { name: format!("{name}.{ix}"), kind: Kind::Count };
            schema = schema.group(name.clone(), (0..d).map(member).collect());
        }
        let mut builder = LatentTree::builder(Arc::new(schema.build()?), tree.clone()).roots(&shape.rooted().roots);
        let mut cumulative = Vec::new();
        for node in tree.node_ixs() {
            if !tree.is_observed(node) {
                builder = builder.distribution(node, shape.distribution(node).clone());
                continue;
            }
            let k = shape.parent(node).and_then(|parent| shape.n_states(parent)).unwrap_or(1);
            let columns: Vec<Vec<f64>> = (0..k)
                .map(|_| {
                    let draws: Vec<f64> = (0..d).map(|_| gamma.sample(&mut rng)).collect();
                    let sum: f64 = draws.iter().sum();
                    draws.iter().map(|draw| draw / sum).collect()
                })
                .collect();
            let members = (0..d)
                .map(|ix| Emission::Poisson { rates: columns.iter().map(|column| (tokens * column[ix]).max(1e-12)).collect() });
            builder = builder.distribution(node, Distribution::Emission(Emission::Group(members.collect())));
            let sums = columns.iter().map(|column| {
                let mut sum = 0.0;
                column
                    .iter()
                    .map(|p| {
                        sum += p;
                        sum
                    })
                    .collect()
            });
            cumulative.push(sums.collect());
        }
        Ok(Self { truth: builder.build()?, tokens, cumulative })
    }

    /// Rows drawn from the model.
    pub(crate) fn sample(&self, rows: u64, seed: u64) -> Dataset {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let truth = &self.truth;
        let length = Poisson::new(self.tokens).expect("there are tokens");
        let mut states = vec![0; truth.tree().n_nodes()];
        let mut batches = Vec::new();
        let mut tokens: Vec<u32> = Vec::new();
        for first in (0..rows).step_by(Dataset::BATCH_ROWS) {
            let n_rows = Dataset::BATCH_ROWS.min((rows - first) as usize);
            let mut cells = SparseRows { values: Some(Vec::new()), ..SparseRows::default() };
            for _ in 0..n_rows {
                for &node in &truth.rooted().order {
                    if let Distribution::Discrete(table) = truth.distribution(node) {
                        let above = truth.parent(node).map_or(0, |parent| states[parent.get()]);
                        states[node.get()] = draw(table, above, &mut rng);
                    }
                }
                let leaves = truth.tree().node_ixs().filter(|&node| truth.tree().is_observed(node));
                for (leaf, node) in leaves.enumerate() {
                    let state = truth.parent(node).map_or(0, |parent: NodeIx| states[parent.get()]);
                    let sums = &self.cumulative[leaf][state];
                    let n: f64 = length.sample(&mut rng);
                    tokens.clear();
                    for _ in 0..n as usize {
                        let u: f64 = rng.random();
                        tokens.push(sums.partition_point(|sum| *sum < u).min(sums.len() - 1) as u32);
                    }
                    tokens.sort_unstable();
                    let values = cells.values.as_mut().expect("there are values");
                    for same in tokens.chunk_by(|a, b| a == b) {
                        cells.columns.push((leaf * sums.len()) as u32 + same[0]);
                        values.push(same.len() as f64);
                    }
                }
                cells.starts.push(cells.columns.len());
            }
            batches.push(Batch { first_row: first, n_rows, block: Block::Sparse(cells), weights: None });
        }
        Dataset::new(Arc::clone(truth.schema()), batches)
    }
}

fn draw(table: &Table, above: usize, rng: &mut ChaCha8Rng) -> usize {
    let mut u: f64 = rng.random();
    let row = table.given(above);
    for (state, p) in row.iter().enumerate() {
        u -= p;
        if u < 0.0 {
            return state;
        }
    }
    row.len() - 1
}
