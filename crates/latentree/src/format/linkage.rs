//! The linkage matrix of SciPy: a row for each merge, with the two clusters, the height and the number of leaves.
//!
//! `scipy.cluster.hierarchy.dendrogram(Z[["left", "right", "height", "leaves"]].to_numpy(), labels=…)` draws it. The names of the leaves come first,
//! as lines that begin with `#`, which `numpy.loadtxt` and `pandas.read_csv(comment="#")` skip.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::View;
use crate::distance::DistanceMatrix;
use crate::error::Result;
use crate::index::NodeIx;
use crate::observer::Silent;
use crate::structure::{Linkage, StructureLearner};
use crate::tree::{Rooted, Tree};

/// Height at which separate trees are merged, as a multiple of the largest other height.
const APART: f64 = 1.1;

/// One merge of two clusters; those below the number of leaves are leaves, the others earlier merges.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Merge {
    /// The two clusters.
    pub clusters: [usize; 2],
    /// How far apart leaves below it are, at most.
    pub height: f64,
    /// Leaves in the new cluster.
    pub n_leaves: usize,
}

/// A tree as a sequence of merges, with the observed nodes in their order as leaves.
///
/// The tree is rooted in the middle of its longest path, so the dendrogram of a linkage comes back as it was. In other trees leaves are not
/// equally far from the root; a node's height is then twice that of the deepest leaf minus its own depth. Nodes of more than two branches merge them one
/// after the other at the same height. Trees of a forest, and parts that an edge of infinite length separates, are merged last,
/// a tenth above all other heights. Merges are in the order of their heights, as SciPy has them.
///
/// # Errors
/// [`Error::Tree`](crate::Error::Tree) if an edge has no length.
pub fn merges(tree: &Tree) -> Result<Vec<Merge>> {
    let lengths = tree.path_lengths()?;
    let leaves = lengths.nodes().to_vec();
    let mut place = vec![None; tree.n_nodes()];
    leaves.iter().enumerate().for_each(|(ix, node)| place[node.get()] = Some(ix));
    let mut builder = Builder { merges: Vec::new(), n_leaves: leaves.len() };
    let mut tops: Vec<(usize, usize, f64)> = Vec::new();
    let mut seen = vec![false; leaves.len()];
    for start in 0..leaves.len() {
        if seen[start] {
            continue;
        }
        let is_near = |&other: &usize| lengths.get(start, other).is_some_and(f64::is_finite);
        let members: Vec<usize> = (start..leaves.len()).filter(is_near).collect();
        members.iter().for_each(|&member| seen[member] = true);
        tops.push(builder.component(tree, &leaves, &lengths, &members, &place));
    }
    let highest = tops.iter().map(|top| top.2).fold(0.0, f64::max);
    let apart = if highest > 0.0 { APART * highest } else { 1.0 };
    let mut tops = tops.into_iter();
    if let Some(mut all) = tops.next() {
        for top in tops {
            all = builder.merge(all, top, apart);
        }
    }
    Ok(by_height(builder.merges, leaves.len()))
}

/// The same merges in the order of their heights, with the clusters numbered anew.
fn by_height(merges: Vec<Merge>, n_leaves: usize) -> Vec<Merge> {
    let mut order: Vec<usize> = (0..merges.len()).collect();
    // A stable sort: a cluster comes before those that contain it, which are at least as high.
    order.sort_by(|&a, &b| merges[a].height.total_cmp(&merges[b].height));
    let mut number: Vec<usize> = (0..n_leaves + merges.len()).collect();
    order.iter().enumerate().for_each(|(at, &old)| number[n_leaves + old] = n_leaves + at);
    let renumbered = order.into_iter().map(|old| {
        let [a, b] = merges[old].clusters.map(|cluster| number[cluster]);
        Merge { clusters: [a.min(b), a.max(b)], ..merges[old] }
    });
    renumbered.collect()
}

/// What to know about a linkage matrix: where separate trees are joined.
pub(super) fn note(tree: &Tree) -> Option<String> {
    let n_trees = components(tree).into_iter().collect::<BTreeSet<_>>().len();
    let above = 100.0 * (APART - 1.0);
    (n_trees > 1)
        .then(|| format!("{n_trees} separate trees are joined at the top of the linkage, {above:.0}% above all other heights"))
}

struct Builder {
    merges: Vec<Merge>,
    n_leaves: usize,
}

impl Builder {
    /// Merges two clusters, each with its number, its leaves and its height.
    fn merge(&mut self, a: (usize, usize, f64), b: (usize, usize, f64), height: f64) -> (usize, usize, f64) {
        let height = height.max(a.2).max(b.2);
        let n_leaves = a.1 + b.1;
        self.merges.push(Merge { clusters: [a.0.min(b.0), a.0.max(b.0)], height, n_leaves });
        (self.n_leaves + self.merges.len() - 1, n_leaves, height)
    }

    /// Merges a tree of the forest, whose leaves are the members.
    fn component(
        &mut self,
        tree: &Tree,
        leaves: &[NodeIx],
        lengths: &crate::tree::PathLengths,
        members: &[usize],
        place: &[Option<usize>],
    ) -> (usize, usize, f64) {
        if let [only] = members[..] {
            return (only, 1, 0.0);
        }
        let distance = |a: usize, b: usize| lengths.get(a, b).unwrap_or(0.0);
        let farthest = |from: usize| {
            let by_distance = |a: &&usize, b: &&usize| distance(from, **a).total_cmp(&distance(from, **b));
            members.iter().max_by(by_distance).copied().unwrap_or(from)
        };
        let end = farthest(members[0]);
        let other = farthest(end);
        let depth = distance(end, other) / 2.0;
        // The node of the longest path that is nearest to its middle, on the side of the end that is walked from.
        let path = tree.path(leaves[end], leaves[other]).unwrap_or_default();
        let mut walked = 0.0;
        let mut above = (path[0], 0.0);
        for pair in path.windows(2) {
            let length = tree.links(pair[0]).iter().find(|link| link.to == pair[1]).and_then(|link| link.length).unwrap_or(0.0);
            if walked + length > depth {
                break;
            }
            walked += length;
            above = (pair[1], walked);
        }
        let next = path.iter().position(|&node| node == above.0).and_then(|at| path.get(at + 1)).copied();
        let rooted = Rooted::new(tree, above.0);
        // Depth of each node below the middle of the path: on one side of it beyond the root, on the other short of it.
        let over = depth - above.1;
        let mut depth_of = vec![f64::NAN; tree.n_nodes()];
        let mut deepest = depth;
        for &node in rooted.order.iter().filter(|&&node| node == above.0 || rooted.parent[node.get()].is_some()) {
            match rooted.parent[node.get()] {
                None => depth_of[node.get()] = over,
                Some(up) if depth_of[up.get()].is_nan() => continue,
                Some(up) => {
                    let link = tree.links(up).iter().find(|link| link.to == node);
                    let length = link.and_then(|link| link.length).unwrap_or(0.0);
                    if !length.is_finite() {
                        continue;
                    }
                    let crosses = up == above.0 && Some(node) == next && over > 0.0;
                    depth_of[node.get()] = if crosses { length - over } else { depth_of[up.get()] + length };
                }
            }
            deepest = deepest.max(depth_of[node.get()]);
        }
        let children = rooted.children();
        let mut cluster: Vec<Option<(usize, usize, f64)>> = vec![None; tree.n_nodes()];
        let crossing = next.filter(|_| over > 0.0);
        let mut order: Vec<NodeIx> = rooted.order.iter().copied().filter(|node| !depth_of[node.get()].is_nan()).collect();
        let mut rank = vec![0; tree.n_nodes()];
        rooted.order.iter().enumerate().for_each(|(at, node)| rank[node.get()] = at);
        // Clusters before those that contain them.
        order.sort_by(|a, b| depth_of[b.get()].total_cmp(&depth_of[a.get()]).then_with(|| rank[b.get()].cmp(&rank[a.get()])));
        for node in order {
            let height = 2.0 * (deepest - depth_of[node.get()]);
            let own = place[node.get()].map(|leaf| (leaf, 1, 0.0));
            let below = children[node.get()].iter().filter(|&&child| !(node == above.0 && Some(child) == crossing));
            let below = below.filter_map(|child| cluster[child.get()]);
            let mut parts: Vec<(usize, usize, f64)> = own.into_iter().chain(below).collect();
            parts.sort_by_key(|part| part.0);
            let mut parts = parts.into_iter();
            if let Some(mut all) = parts.next() {
                for part in parts {
                    all = self.merge(all, part, height);
                }
                cluster[node.get()] = Some(all);
            }
        }
        let root = cluster[above.0.get()].unwrap_or((members[0], 1, 0.0));
        match crossing.and_then(|node| cluster[node.get()]) {
            Some(other) => self.merge(root, other, 2.0 * deepest),
            None => root,
        }
    }
}

/// What a linkage matrix shows: a tree with lengths as it is, and a model whose edges have none by average linkage of the distances that it implies. Along
/// nodes of several states, distances do not add up to those.
pub(super) fn dendrogram(view: &View<'_>) -> Result<Tree> {
    let is_without = view.tree().edges().any(|edge| edge.length.is_none());
    let Some(distances) = view.model().filter(|_| is_without).and_then(|model| model.implied_distances()) else {
        return Ok(view.with_lengths());
    };
    let tree = view.tree();
    let observed = tree.node_ixs().filter(|&node| tree.is_observed(node));
    let names: Vec<String> = observed.map(|node| tree.name(node).to_owned()).collect();
    let n = names.len();
    // Variables of separate trees have no distance, so that they stay apart.
    let component = components(tree);
    let distance = |i: usize, j: usize| (component[i] == component[j]).then(|| distances[i * n + j]);
    Linkage::Average.learn(&DistanceMatrix::from_fn(names, distance)?, &Silent)
}

/// The number of the tree of each observed node, in their order.
fn components(tree: &Tree) -> Vec<usize> {
    let rooted = Rooted::with_roots(tree, &[]).expect("no two roots are in one tree");
    let mut component = vec![0; tree.n_nodes()];
    for (at, &node) in rooted.order.iter().enumerate() {
        component[node.get()] = rooted.parent[node.get()].map_or(at, |up| component[up.get()]);
    }
    tree.node_ixs().filter(|&node| tree.is_observed(node)).map(|node| component[node.get()]).collect()
}

/// The linkage matrix as text.
///
/// # Errors
/// Those of [`merges`].
pub fn to_linkage(tree: &Tree) -> Result<String> {
    let merges = merges(tree)?;
    let mut out = String::new();
    for (ix, node) in tree.node_ixs().filter(|&node| tree.is_observed(node)).enumerate() {
        let name = tree.name(node).replace(['\n', '\r'], " ");
        let _ = writeln!(out, "# {ix} {name}");
    }
    let _ = writeln!(out, "left,right,height,leaves");
    for Merge { clusters: [left, right], height, n_leaves } in merges {
        let _ = writeln!(out, "{left},{right},{height:?},{n_leaves}");
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Observed;

    #[test]
    fn a_dendrogram_comes_back_as_the_merges_that_made_it() {
        let points = [0.0_f64, 1.0, 3.0, 10.0, 11.5, 40.0];
        let names = (0..points.len()).map(|ix| format!("x{ix}")).collect();
        let matrix = DistanceMatrix::from_fn(names, |i, j| Some((points[i] - points[j]).abs())).unwrap();
        let tree = Linkage::Single.learn(&matrix, &Silent).unwrap();
        let found = merges(&tree).unwrap();
        // By hand: gaps 1, 1.5, 2, 7, 28.5 in this order.
        let expected = [([0, 1], 1.0, 2), ([3, 4], 1.5, 2), ([2, 6], 2.0, 3), ([7, 8], 7.0, 5), ([5, 9], 28.5, 6)];
        assert_eq!(found.len(), expected.len());
        for (merge, (clusters, height, n_leaves)) in found.iter().zip(expected) {
            assert_eq!((merge.clusters, merge.n_leaves), (clusters, n_leaves), "{found:?}");
            assert!((merge.height - height).abs() < 1e-9, "{found:?}");
        }
    }

    #[test]
    fn a_model_without_lengths_first_merges_the_two_variables_that_it_implies_to_be_closest() {
        use crate::simulate::{ParameterFamily, Shape, Simulation};
        for seed in 0..5 {
            let family = ParameterFamily::Categorical { states: 2, hidden_states: 3, separation: 0.6 };
            let model = Simulation::new(Shape::Random { max_degree: Some(4) }, 10).family(family).seed(seed).model().unwrap();
            let distances = model.implied_distances().unwrap();
            let pairs = (0..10).flat_map(|i| (i + 1..10).map(move |j| [i, j]));
            let closest = pairs.min_by(|a, b| distances[a[0] * 10 + a[1]].total_cmp(&distances[b[0] * 10 + b[1]])).unwrap();
            let found = merges(&dendrogram(&View::from(&model)).unwrap()).unwrap();
            assert_eq!((found.len(), found[0].clusters), (9, closest), "{found:?}");
            assert!((found[0].height - distances[closest[0] * 10 + closest[1]]).abs() < 1e-9, "{found:?}");
        }
    }

    #[test]
    fn separate_trees_are_joined_above_all_other_heights_and_rows_are_in_the_order_of_heights() {
        let read = |text: &str| Tree::from_newick(text, &Observed::LeavesOnly).unwrap();
        let tree = read("(a:1,b:1);(c:0.25,d:0.25,e:2);f;");
        let found = merges(&tree).unwrap();
        // By hand, from the middle of c–e and of d–e; the joins are a tenth above 2.25.
        let expected = [([2, 3], 0.5, 2), ([0, 1], 2.0, 2), ([4, 6], 2.25, 3), ([7, 8], 2.475, 5), ([5, 9], 2.475, 6)];
        assert_eq!(found.len(), expected.len());
        for (merge, (clusters, height, n_leaves)) in found.iter().zip(expected) {
            assert_eq!((merge.clusters, merge.n_leaves), (clusters, n_leaves), "{found:?}");
            assert!((merge.height - height).abs() < 1e-9, "{found:?}");
        }
        assert!(note(&tree).unwrap().starts_with("3 separate trees"));
        assert_eq!(note(&read("(a:1,b:1);")), None);
        let alone = merges(&read("a;b;c;")).unwrap();
        assert_eq!(alone.iter().map(|merge| merge.height).collect::<Vec<_>>(), [1.0, 1.0]);
    }

    #[test]
    fn every_tree_gives_a_matrix_that_is_sound() {
        use crate::simulate::{Shape, Simulation};
        for seed in 0..30 {
            let model =
                Simulation::new(Shape::Random { max_degree: Some(6) }, 15).observed_inner(0.3).seed(seed).model().unwrap();
            let tree = model.correlation_lengths();
            let found = merges(&tree).unwrap();
            assert_eq!(found.len(), tree.n_observed() - 1);
            let mut used = vec![false; 2 * tree.n_observed()];
            for (ix, merge) in found.iter().enumerate() {
                for cluster in merge.clusters {
                    assert!(cluster < tree.n_observed() + ix && !std::mem::replace(&mut used[cluster], true), "seed {seed}");
                    let below = cluster.checked_sub(tree.n_observed()).map_or(0.0, |at| found[at].height);
                    assert!(below <= merge.height + 1e-9);
                }
            }
            assert_eq!(found.last().unwrap().n_leaves, tree.n_observed());
        }
    }
}
