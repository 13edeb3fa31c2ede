//! The Robinson–Foulds distance between trees over the same observed nodes.
//!
//! The number of splits that one tree has and the other has not (Robinson and Foulds, *Math. Biosci.* 53, 1981). All
//! splits count, trivial ones too: see [`splits`](super::Splits) for why this is what makes the distance right for trees
//! with observed inner nodes. On trees whose hidden nodes have degree ≥ 3 it is a metric, and the number of edge
//! contractions and expansions that lead from one tree to the other.
//!
//! The normalised distance leaves out trivial splits that both trees have: every tree whose leaves are all observed has them, so
//! they say nothing about how similar two trees are and would keep the ratio far below 1 even for trees with nothing in common.

use std::collections::HashSet;

use super::Tree;
use crate::error::{Error, Result, Shortened};

/// How far apart two trees are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RobinsonFoulds {
    /// Number of splits that only one of the trees has.
    pub distance: usize,
    /// Number of splits that only the first tree has.
    pub only_left: usize,
    /// Number of splits that only the second tree has.
    pub only_right: usize,
    /// The distance divided by the largest it could be: the number of splits of both trees, without the trivial splits (those
    /// that cut off a single observed node) that both have. 0 for the same splits, 1 if no other split is shared; 0/0 is 0.
    pub normalized: f64,
}

/// The Robinson–Foulds distance.
///
/// # Errors
/// [`Error::Mismatch`] naming up to five variables if the trees do not have the same observed nodes.
///
/// # Complexity
/// O(n log n).
///
/// # Example
/// ```
/// use latentree::tree::{Observed, Tree, robinson_foulds};
/// let left = Tree::from_newick("((a,b),c,(d,e));", &Observed::LeavesOnly)?;
/// let right = Tree::from_newick("((a,c),b,(d,e));", &Observed::LeavesOnly)?;
/// let found = robinson_foulds(&left, &right)?;
/// assert_eq!((found.distance, found.normalized), (2, 0.5));
/// # Ok::<(), latentree::Error>(())
/// ```
pub fn robinson_foulds(left: &Tree, right: &Tree) -> Result<RobinsonFoulds> {
    check_same_observed(left, right)?;
    let (a, b) = (left.splits(), right.splits());
    let shared = a.iter().filter(|&split| b.contains(split)).count();
    let (only_left, only_right) = (a.len() - shared, b.len() - shared);
    let distance = only_left + only_right;
    let shared_trivial = a.trivial().filter(|&split| b.contains(split)).count();
    let both = a.len() + b.len() - 2 * shared_trivial;
    let normalized = if both == 0 { 0.0 } else { distance as f64 / both as f64 };
    Ok(RobinsonFoulds { distance, only_left, only_right, normalized })
}

/// Checks that two trees have the same observed names.
pub(super) fn check_same_observed(left: &Tree, right: &Tree) -> Result<()> {
    fn observed(tree: &Tree) -> impl Iterator<Item = &str> {
        tree.nodes().iter().filter(|node| node.observed).map(|node| node.name.as_str())
    }
    let (in_left, in_right): (HashSet<&str>, HashSet<&str>) = (observed(left).collect(), observed(right).collect());
    let only_left: Vec<&str> = observed(left).filter(|name| !in_right.contains(name)).collect();
    let only_right: Vec<&str> = observed(right).filter(|name| !in_left.contains(name)).collect();
    if only_left.is_empty() && only_right.is_empty() {
        return Ok(());
    }
    let mut parts = Vec::new();
    for (names, which) in [(only_left, "first"), (only_right, "second")] {
        if !names.is_empty() {
            let shown: Vec<String> = names.iter().take(5).map(|name| format!("{:?}", Shortened(name))).collect();
            let more = if names.len() > 5 { format!(" and {} more", names.len() - 5) } else { String::new() };
            parts.push(format!("only the {which} has {}{more}", shown.join(", ")));
        }
    }
    Err(Error::Mismatch {
        left: "the first tree".to_owned(),
        right: "the second tree".to_owned(),
        problem: format!("their observed variables differ: {}; compare trees over the same variables", parts.join("; ")),
    })
}
