//! The hidden Chow–Liu tree (`hclt`): the Chow–Liu tree with a hidden node in place of every variable, and the variable below it.
//!
//! Hidden nodes that would have two neighbours, those of the Chow–Liu tree's leaves, are left out: a variable given its
//! neighbour's state has the same distributions with and without such a node. Reference: Liu and Van den Broeck (2021),
//! "Tractable regularization of probabilistic circuits".

use crate::tree::Tree;
use crate::{NodeIx, Result};

/// The hidden tree of a tree over observed variables.
///
/// # Errors
/// [`Error::Tree`](crate::Error::Tree) if the tree's names cannot be kept.
pub fn hidden_chow_liu(chow_liu: &Tree) -> Result<Tree> {
    let mut tree = Tree::new();
    for node in chow_liu.node_ixs() {
        tree.add_observed(chow_liu.name(node))?;
    }
    let hidden: Vec<NodeIx> = chow_liu.node_ixs().map(|_| tree.add_next_hidden()).collect();
    for node in chow_liu.node_ixs() {
        tree.connect(hidden[node.get()], node, None)?;
    }
    for edge in chow_liu.edges() {
        tree.connect(hidden[edge.a.get()], hidden[edge.b.get()], None)?;
    }
    Ok(tree.minimal().relabel_hidden())
}
