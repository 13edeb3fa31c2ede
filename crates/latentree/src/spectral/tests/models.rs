//! Random models whose tables are far from singular.

use std::sync::Arc;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use crate::NodeIx;
use crate::data::{Kind, Schema};
use crate::model::{Distribution, Domain, LatentTree, Table};
use crate::tree::{Rooted, Tree};

/// A table whose rows differ: each prefers a different label.
fn table(rng: &mut ChaCha8Rng, n_rows: usize, n: usize) -> Table {
    let shift = rng.random_range(0..n);
    let mut values = Vec::new();
    for row in 0..n_rows {
        let weights: Vec<f64> = (0..n)
            .map(|x| rng.random_range(0.2..1.0) + if x == (row + shift) % n { rng.random_range(2.0..3.0) } else { 0.0 })
            .collect();
        let sum: f64 = weights.iter().sum();
        values.extend(weights.iter().map(|weight| weight / sum));
    }
    Table::new(n, values)
}

/// A model on a tree, with k states per hidden node and the given number of labels per observed node.
pub(in crate::spectral) fn model_on(
    rng: &mut ChaCha8Rng,
    tree: Tree,
    k: usize,
    n_labels: impl Fn(&mut ChaCha8Rng) -> usize,
) -> LatentTree {
    let rooted = Rooted::with_roots(&tree, &[]).unwrap();
    let n_states: Vec<usize> = tree.node_ixs().map(|node| if tree.is_observed(node) { n_labels(rng) } else { k }).collect();
    let mut schema = Schema::builder();
    for node in tree.node_ixs().filter(|&node| tree.is_observed(node)) {
        schema = schema.scalar(tree.name(node), Kind::numbered(n_states[node.get()]));
    }
    let mut builder = LatentTree::builder(Arc::new(schema.build().unwrap()), tree.clone()).roots(&rooted.roots);
    for node in tree.node_ixs() {
        if !tree.is_observed(node) {
            builder = builder.hidden(node, Domain::numbered(k));
        }
        let n_rows = rooted.parent[node.get()].map_or(1, |parent| n_states[parent.get()]);
        builder = builder.distribution(node, Distribution::Discrete(table(rng, n_rows, n_states[node.get()])));
    }
    builder.build().unwrap()
}

/// A random tree with hidden nodes of degree 3 to 6, and with observed inner nodes if requested.
pub(in crate::spectral) fn random_tree(rng: &mut ChaCha8Rng, n_hidden: usize, with_inner: bool) -> Tree {
    let mut tree = Tree::new();
    let mut n_observed = 0;
    let mut leaf = |tree: &mut Tree, at: NodeIx| {
        n_observed += 1;
        let leaf = tree.add_observed(format!("x{n_observed}")).unwrap();
        tree.connect(at, leaf, None).unwrap();
        leaf
    };
    let mut hidden: Vec<NodeIx> = Vec::new();
    for ix in 0..n_hidden {
        let node = tree.add_hidden(format!("h{}", ix + 1)).unwrap();
        let free: Vec<NodeIx> = hidden.iter().copied().filter(|&it| tree.degree(it) < 5).collect();
        if !free.is_empty() {
            let other = free[rng.random_range(0..free.len())];
            if with_inner && rng.random_bool(0.5) {
                let between = leaf(&mut tree, other);
                tree.connect(between, node, None).unwrap();
            } else {
                tree.connect(other, node, None).unwrap();
            }
        }
        hidden.push(node);
    }
    for &node in &hidden {
        let wanted = rng.random_range(3..=6);
        while tree.degree(node) < wanted {
            let added = leaf(&mut tree, node);
            if with_inner && rng.random_bool(0.2) {
                leaf(&mut tree, added);
            }
        }
    }
    tree
}

/// A chain of hidden nodes with one leaf each, and two at the ends.
pub(in crate::spectral) fn chain(n_columns: usize) -> Tree {
    let mut tree = Tree::new();
    let leaves: Vec<NodeIx> = (0..n_columns).map(|ix| tree.add_observed(format!("x{}", ix + 1)).unwrap()).collect();
    let hidden: Vec<NodeIx> = (0..n_columns - 2).map(|ix| tree.add_hidden(format!("h{}", ix + 1)).unwrap()).collect();
    let mut edges = Vec::new();
    for (ix, &leaf) in leaves.iter().enumerate() {
        edges.push(crate::tree::Edge::new(leaf, hidden[ix.saturating_sub(1).min(n_columns - 3)]));
    }
    edges.extend(hidden.windows(2).map(|pair| crate::tree::Edge::new(pair[0], pair[1])));
    Tree::from_parts(tree.nodes().to_vec(), &edges).unwrap()
}
