//! Newick text from a stranger: an error, or a tree that is the same after writing and reading.
#![no_main]

use std::collections::BTreeMap;

use latentree::tree::{Observed, Tree, same_structure};
use libfuzzer_sys::fuzz_target;

/// Nodes by name, and edges by the names of their ends with the bits of their numbers.
type Content = (BTreeMap<String, bool>, BTreeMap<(String, String), [Option<u64>; 2]>);

fn content(tree: &Tree) -> Content {
    let nodes = tree.nodes().iter().map(|node| (node.name.clone(), node.observed)).collect();
    let edges = tree.edges().map(|edge| {
        let mut ends = [tree.name(edge.a).to_owned(), tree.name(edge.b).to_owned()];
        ends.sort();
        let [a, b] = ends;
        // -0 is written as -0 and reads back as such, so bits are compared.
        ((a, b), [edge.length, edge.support, edge.bootstrap].map(|value| value.map(f64::to_bits)))
    });
    (nodes, edges.collect())
}

fuzz_target!(|text: &str| {
    for observed in [Observed::LeavesOnly, Observed::InnerNamed] {
        let Ok(tree) = Tree::from_newick(text, &observed) else { continue };
        let first = tree.node_ixs().next();
        for root in [None, first] {
            let written = tree.to_newick(root);
            let again = Tree::from_newick(&written, &observed).expect("what is written can be read");
            assert_eq!(content(&tree), content(&again), "{written}");
        }
        let minimal = tree.minimal();
        let _ = same_structure(&tree, &minimal);
        let _ = minimal.splits();
    }
});
