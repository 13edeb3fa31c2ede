//! The variables that are informative about a hidden node: its branches in three groups.
//!
//! Given a hidden node its branches are independent, so any groups of them are independent too. Branches are spread over a few
//! parts by how much they can tell, largest first, and the parts in the same way over three views: the views are decomposed, and
//! for the tables of what lies in one part all the others serve. A part is seen through its variables nearest to the node, as
//! many as a few dozen coordinates hold.

use serde::{Deserialize, Serialize};

use crate::coordinates::Coordinates;
use crate::index::NodeIx;
use crate::tree::Tree;

/// Most parts of the branches.
const MAX_PARTS: usize = 6;
/// Most triples beside the one of the views.
const MAX_EXTRA: usize = 8;
/// Most coordinates of one view.
pub(super) const MAX_COORDINATES: usize = 60;
/// Most variables of one view.
const MAX_VARIABLES: usize = 16;

/// The views of a hidden node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Views {
    /// The hidden node.
    pub(super) node: usize,
    /// Its number of states.
    pub(super) n_states: usize,
    /// Its neighbours, in the order of its links.
    pub(super) neighbours: Vec<usize>,
    /// The part of each of them.
    pub(super) part_of: Vec<usize>,
    /// The view, 0 to 2, of each part.
    pub(super) view_of: Vec<usize>,
    /// Triples of a view and two parts of another view: what the sum of these parts does not show.
    pub(super) extra: Vec<(usize, usize, usize)>,
    /// The coordinates of each part.
    pub(super) coordinates: Vec<Vec<usize>>,
}

impl Views {
    /// The views of a hidden node with at least three neighbours, each of about `most` coordinates or fewer; `variable_of[node]`
    /// is the variable of an observed node.
    pub(super) fn new(
        tree: &Tree,
        node: NodeIx,
        n_states: usize,
        variable_of: &[Option<usize>],
        coordinates: &Coordinates,
        most: usize,
    ) -> Self {
        let branches: Vec<Vec<usize>> =
            tree.links(node).iter().map(|link| nearest(tree, node, Some(link.to), variable_of, 4 * MAX_VARIABLES)).collect();
        let size = |variables: &[usize]| variables.iter().map(|&variable| coordinates.of(variable).len()).sum::<usize>();
        // A branch of one variable can tell no more states than it has coordinates; beyond a few dozen more do not help.
        let sizes: Vec<usize> = branches.iter().map(|branch| size(branch).clamp(1, MAX_COORDINATES)).collect();
        let (part_of, part_sizes) = spread(&sizes, MAX_PARTS.min(sizes.len()));
        let (view_of, _) = spread(&part_sizes, 3);
        let mut chosen: Vec<Vec<usize>> = vec![Vec::new(); part_sizes.len()];
        for view in 0..3 {
            let members: Vec<usize> = (0..branches.len()).filter(|&ix| view_of[part_of[ix]] == view).collect();
            let (mut n_variables, mut n_coordinates) = (0, 0);
            let mut seen = vec![false; part_sizes.len()];
            // The nearest of every branch, then the next of every branch.
            for rank in 0..members.iter().map(|&ix| branches[ix].len()).max().unwrap_or(0) {
                for &ix in &members {
                    let Some(&variable) = branches[ix].get(rank) else { continue };
                    let range = coordinates.of(variable);
                    // A part that is not seen at all would tell nothing of the others.
                    if seen[part_of[ix]] && (n_coordinates + range.len() > most || n_variables == MAX_VARIABLES) {
                        continue;
                    }
                    seen[part_of[ix]] = true;
                    n_variables += 1;
                    n_coordinates += range.len();
                    chosen[part_of[ix]].extend(range);
                }
            }
        }
        let n_parts = view_of.len();
        let pairs = (0..n_parts).flat_map(|a| (a + 1..n_parts).map(move |b| (a, b))).filter(|&(a, b)| view_of[a] == view_of[b]);
        let extra =
            pairs.flat_map(|(a, b)| (0..3).filter(|&view| view != view_of[a]).map(move |view| (view, a, b)).collect::<Vec<_>>());
        let extra = extra.take(MAX_EXTRA).collect();
        let neighbours = tree.links(node).iter().map(|link| link.to.get()).collect();
        Self { node: node.get(), n_states, neighbours, part_of, extra, view_of, coordinates: chosen }
    }

    /// Numbers in `a`: the constant and a summary for each part.
    pub(super) fn width(&self) -> usize {
        1 + self.view_of.len() * (self.n_states - 1)
    }

    /// Number of coordinates of all parts.
    pub(super) fn len(&self) -> usize {
        self.coordinates.iter().map(Vec::len).sum()
    }
}

/// Spreads things of these sizes over groups of about the same size, largest first: the group of each, and the groups' sizes.
fn spread(sizes: &[usize], n_groups: usize) -> (Vec<usize>, Vec<usize>) {
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.sort_by_key(|&ix| (std::cmp::Reverse(sizes[ix]), ix));
    let (mut group_of, mut totals) = (vec![0; sizes.len()], vec![0; n_groups]);
    for ix in order {
        let least = (0..n_groups).min_by_key(|&group| (totals[group], group)).expect("there is a group");
        group_of[ix] = least;
        totals[least] += sizes[ix];
    }
    (group_of, totals)
}

/// The variables of the branch of `from` that begins with `first` (all branches if that is `None`), nearest first: by length
/// where edges have one, else by number of edges.
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
