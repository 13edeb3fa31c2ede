//! A chain: the columns are positions of a sequence.

use crate::error::{Error, Result};
use crate::index::NodeIx;
use crate::tree::{Edge, Node, Tree};

/// The tree of a hidden Markov model whose tables may differ between positions: a hidden node for each column, in their order.
///
/// The hidden node of the first column and that of the second would have the same states, and nothing tells them apart; so the first column is at the hidden node of
/// the second, and the last at that of the last but one. All hidden nodes then have three neighbours.
///
/// # Errors
/// [`Error::Tree`] for fewer than three columns, or names that are taken twice.
///
/// # Example
/// ```
/// let tree = latentree::structure::chain(&["a", "b", "c", "d"])?;
/// assert_eq!((tree.n_hidden(), tree.n_edges()), (2, 5));
/// # Ok::<(), latentree::Error>(())
/// ```
pub fn chain(names: &[&str]) -> Result<Tree> {
    if names.len() < 3 {
        let n = names.len();
        return Err(Error::tree(format!("a chain needs three columns, and there are {n}; use `structure.learner` chow-liu")));
    }
    let n_hidden = names.len() - 2;
    let mut nodes: Vec<Node> = names.iter().map(|&name| Node { name: name.to_owned(), observed: true }).collect();
    let mut named = Tree::from_parts(nodes.clone(), &[])?;
    for _ in 0..n_hidden {
        let hidden = named.add_next_hidden();
        nodes.push(named.node(hidden).clone());
    }
    let hidden = |ix: usize| NodeIx::new(names.len() + ix);
    let mut edges: Vec<Edge> =
        (0..names.len()).map(|ix| Edge::new(NodeIx::new(ix), hidden(ix.saturating_sub(1).min(n_hidden - 1)))).collect();
    edges.extend((1..n_hidden).map(|ix| Edge::new(hidden(ix - 1), hidden(ix))));
    Tree::from_parts(nodes, &edges)
}

#[cfg(test)]
mod tests {
    use super::chain;

    #[test]
    fn hidden_nodes_have_three_neighbours_and_follow_the_columns() {
        let tree = chain(&["a", "h1", "c", "d", "e"]).unwrap();
        let hidden: Vec<_> = tree.node_ixs().filter(|&node| !tree.is_observed(node)).collect();
        assert_eq!(hidden.len(), 3);
        assert!(hidden.iter().all(|&node| tree.degree(node) == 3) && tree.is_connected());
        let path = tree.path(tree.find("a").unwrap(), tree.find("e").unwrap()).unwrap();
        assert_eq!(path.len(), 5);
        assert!(chain(&["a", "b"]).is_err() && chain(&["a", "a", "b"]).is_err());
    }
}
