//! Which variables tell a hidden node's state: its branches in three groups.
//!
//! Given a hidden node its branches are independent, so any three groups of them are three views. Branches are spread over the groups by how much they
//! can tell, largest first; a group is seen through its variables nearest to the node, as many as a few dozen coordinates hold.

use serde::{Deserialize, Serialize};

use crate::coordinates::Coordinates;
use crate::index::NodeIx;
use crate::tree::Tree;

/// Most coordinates of one group.
pub(super) const MOST_COORDINATES: usize = 60;
/// Most variables of one group.
const MOST_VARIABLES: usize = 16;

/// The views of a hidden node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Views {
    /// The hidden node.
    pub(super) node: usize,
    /// Its number of states.
    pub(super) n_states: usize,
    /// The group of each of its neighbours, in the order of its links.
    pub(super) group_of: Vec<usize>,
    /// The coordinates of each group.
    pub(super) coordinates: [Vec<usize>; 3],
}

impl Views {
    /// The views of a hidden node with at least three neighbours, each of about `most` coordinates or fewer; `variable_of[node]` is the variable of
    /// an observed node.
    pub(super) fn new(
        tree: &Tree,
        node: NodeIx,
        n_states: usize,
        variable_of: &[Option<usize>],
        coordinates: &Coordinates,
        most: usize,
    ) -> Self {
        let branches: Vec<Vec<usize>> =
            tree.links(node).iter().map(|link| nearest(tree, node, Some(link.to), variable_of, 4 * MOST_VARIABLES)).collect();
        let size = |variables: &[usize]| variables.iter().map(|&variable| coordinates.of(variable).len()).sum::<usize>();
        // A branch of one variable can tell no more states than it has coordinates; beyond a few dozen more do not help.
        let mut order: Vec<usize> = (0..branches.len()).collect();
        order.sort_by_key(|&ix| (std::cmp::Reverse(size(&branches[ix]).min(MOST_COORDINATES)), ix));
        let mut group_of = vec![0; branches.len()];
        let mut sizes = [0; 3];
        for ix in order {
            let least = (0..3).min_by_key(|&group| (sizes[group], group)).expect("there are three");
            group_of[ix] = least;
            sizes[least] += size(&branches[ix]).clamp(1, MOST_COORDINATES);
        }
        let coordinates = [0, 1, 2].map(|group| {
            let members: Vec<&[usize]> =
                branches.iter().zip(&group_of).filter(|it| *it.1 == group).map(|it| it.0.as_slice()).collect();
            let mut chosen = Vec::new();
            let mut n_variables = 0;
            // The nearest of every branch, then the next of every branch.
            for rank in 0..members.iter().map(|it| it.len()).max().unwrap_or(0) {
                for branch in &members {
                    let Some(&variable) = branch.get(rank) else { continue };
                    let range = coordinates.of(variable);
                    if n_variables > 0 && (chosen.len() + range.len() > most || n_variables == MOST_VARIABLES) {
                        continue;
                    }
                    chosen.extend(range);
                    n_variables += 1;
                }
            }
            chosen
        });
        Self { node: node.get(), n_states, group_of, coordinates }
    }

    /// Number of coordinates of all groups.
    pub(super) fn len(&self) -> usize {
        self.coordinates.iter().map(Vec::len).sum()
    }
}

/// The variables of the branch of `from` that begins with `first` (all branches if that is `None`), nearest first: by length where
/// edges have one, else by number of edges.
pub(super) fn nearest(
    tree: &Tree,
    from: NodeIx,
    first: Option<NodeIx>,
    variable_of: &[Option<usize>],
    most: usize,
) -> Vec<usize> {
    let length = |length: Option<f64>| length.map_or(0.5, |length| length.max(0.01));
    let mut found: Vec<(f64, usize)> = Vec::new();
    let links = tree.links(from).iter().filter(|link| first.is_none_or(|first| link.to == first));
    let mut stack: Vec<(NodeIx, NodeIx, f64)> = links.map(|link| (link.to, from, length(link.length))).collect();
    while let Some((node, parent, far)) = stack.pop() {
        if let Some(variable) = variable_of[node.get()] {
            found.push((far, variable));
        }
        let links = tree.links(node).iter().filter(|link| link.to != parent);
        stack.extend(links.map(|link| (link.to, node, far + length(link.length))));
    }
    found.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    found.truncate(most);
    found.into_iter().map(|it| it.1).collect()
}
