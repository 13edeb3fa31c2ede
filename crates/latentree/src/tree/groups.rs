//! The group measure of structure recovery.
//!
//! Huang et al. (*Guaranteed Scalable Learning of Latent Tree Models*, 2020, §8) compare the groups of observed variables
//! that hidden nodes gather: with true groups `G_j` and recovered groups `Ĝ_i`,
//!
//! ```text
//! error = (1/|Ĝ|) Σ_i min_j |Ĝ_i \ G_j| / |Ĝ_i|
//! ```
//!
//! The groups of a tree are here, for every hidden node, its observed neighbours where it has any; an observed node with
//! no hidden neighbour is a group of its own. The measure is 0 when every recovered group lies within a true one; it is
//! not symmetric, and a tree that splits true groups into smaller ones is not charged for it.

use super::robinson_foulds::check_same_observed;
use super::{Rooted, Tree};
use crate::error::Result;
use crate::index::NodeIx;

impl Tree {
    /// The groups of observed nodes: for every hidden node its observed neighbours where it has any, and every observed
    /// node without a hidden neighbour alone. Ordered by the index of the hidden or lone node.
    #[must_use]
    pub fn groups(&self) -> Vec<Vec<NodeIx>> {
        let mut groups = Vec::new();
        for node in self.node_ixs() {
            let neighbours = self.links(node).iter().map(|link| link.to);
            if !self.is_observed(node) {
                let group: Vec<NodeIx> = neighbours.filter(|&it| self.is_observed(it)).collect();
                if !group.is_empty() {
                    groups.push(group);
                }
            } else if neighbours.into_iter().all(|it| self.is_observed(it)) {
                groups.push(vec![node]);
            }
        }
        groups
    }
}

/// Huang's structure recovery error of an estimated tree: the mean over the recovered groups `Ĝ_i` of
/// `min_j |Ĝ_i \ G_j| / |Ĝ_i|`, with the [groups](Tree::groups) `G_j` of the true tree. It is 0 when every recovered group
/// lies within a true one, and is not symmetric: splitting a true group costs nothing.
///
/// # Errors
/// [`Error::Mismatch`](crate::Error::Mismatch) if the trees do not have the same observed nodes.
///
/// # Complexity
/// Linear in the sizes of the trees: two hidden nodes of a tree share at most one neighbour, so the best true group for a
/// recovered one is found from the true parents of its members.
pub fn structure_error(truth: &Tree, estimate: &Tree) -> Result<f64> {
    check_same_observed(truth, estimate)?;
    let groups = estimate.groups();
    if groups.is_empty() {
        return Ok(0.0);
    }
    let parent = Rooted::anywhere(truth).parent;
    // Seen from a root, a true group is a hidden node's observed children and perhaps its observed parent. Every member is
    // in some true group, so a recovered group shares at least one member with the best one; sharing two or more means
    // sharing a child of the hidden node, which is what the counts find.
    let mut count = vec![0_usize; truth.n_nodes()];
    let mut is_member = vec![false; truth.n_nodes()];
    let mut sum = 0.0;
    for group in &groups {
        let members: Vec<NodeIx> =
            group.iter().map(|&node| truth.find(estimate.name(node)).expect("the observed nodes are the same")).collect();
        let parents = || members.iter().filter_map(|&it| parent[it.get()]).filter(|&it| !truth.is_observed(it));
        for &member in &members {
            is_member[member.get()] = true;
        }
        for hidden in parents() {
            count[hidden.get()] += 1;
        }
        let shared =
            |hidden: NodeIx| count[hidden.get()] + usize::from(parent[hidden.get()].is_some_and(|above| is_member[above.get()]));
        let best = parents().map(shared).max().unwrap_or(0).max(1);
        sum += (members.len() - best) as f64 / members.len() as f64;
        for hidden in parents() {
            count[hidden.get()] = 0;
        }
        for &member in &members {
            is_member[member.get()] = false;
        }
    }
    Ok(sum / groups.len() as f64)
}
