//! Contraction of short edges.
//!
//! Learners that take every variable for a leaf (neighbour joining and its kin) show an observed inner node as a leaf on an
//! edge of length about 0, and a node with many neighbours as several nodes joined by edges of length about 0. Contracting
//! those edges gives the tree itself back. Choi et al. (2011), §6.2 and §6.4: an edge `(i, h)` with estimated distance below
//! `l` becomes the one node `i`, whether `i` is observed or hidden; in their experiments `l = −ln 0.9`.

use crate::tree::Tree;

/// The usual threshold, −ln 0.9: adjacent nodes with a correlation above 0.9 are merged.
pub const DEFAULT_CONTRACTION: f64 = 0.105_360_515_657_826_28;

/// The minimal tree with all edges of at most the given length contracted.
///
/// Two hidden ends become one hidden node, a hidden and an observed end become the observed node. Two observed nodes are never
/// merged, whatever their distance: where short edges lead from one to another, the shortest are contracted first and the one
/// that would merge the two stays (see [`Tree::contract`]). Lengths of the edges that stay are kept, edges without a length
/// stay, and observed nodes keep their order and come first if they came first.
///
/// # Example
/// ```
/// use latentree::structure::{DEFAULT_CONTRACTION, contract_short};
/// use latentree::tree::{Observed, Tree};
/// let tree = Tree::from_newick("(a:0.5,b:0.02,(c:0.4,d:0.6):0.01);", &Observed::LeavesOnly)?;
/// let contracted = contract_short(&tree, DEFAULT_CONTRACTION);
/// assert_eq!(contracted.n_hidden(), 0);
/// assert_eq!(contracted.degree(contracted.find("b").unwrap()), 3);
/// # Ok::<(), latentree::Error>(())
/// ```
#[must_use]
pub fn contract_short(tree: &Tree, threshold: f64) -> Tree {
    tree.contract(|edge| edge.length.is_some_and(|length| length <= threshold)).minimal()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::{Observed, same_structure};

    fn read(text: &str) -> Tree {
        Tree::from_newick(text, &Observed::LeavesOnly).unwrap()
    }

    #[test]
    fn observed_nodes_are_never_merged() {
        let tree = read("(a:0,b:0,(c:0,d:0):0);");
        let contracted = contract_short(&tree, 0.0);
        assert_eq!((contracted.n_observed(), contracted.n_hidden(), contracted.n_edges()), (4, 0, 3));
    }

    #[test]
    fn only_short_edges_are_contracted() {
        let tree = read("((a:1,b:1):0.1,(c:1,d:1):0.2,(e:1,f:1):0.3);");
        assert!(same_structure(&contract_short(&tree, 0.2), &read("(a,b,c,d,(e,f));")));
        assert!(same_structure(&contract_short(&tree, 0.05), &tree));
        assert!((DEFAULT_CONTRACTION + 0.9_f64.ln()).abs() < 1e-16);
    }
}
