//! Whether two trees are the same up to the names of hidden nodes, and which hidden nodes correspond.
//!
//! Observed names are unique, so a tree with an observed node has a canonical root: its alphabetically first observed
//! node. From there rooted subtrees are numbered bottom up (Aho, Hopcroft and Ullman 1974, §3.2): two subtrees get the same
//! number if and only if their tops have the same observed name, or are both hidden, and the numbers of their children are
//! the same multiset. By induction on the height equal numbers mean isomorphic subtrees, and an isomorphism, which must fix
//! observed names and so the root, maps children to children. Trees with no observed node are rooted at their centre, or
//! at either of two centres, whichever has the smaller number. A forest is the multiset of its trees. Nothing is assumed
//! about degrees: a hidden leaf or a hidden node of degree 2 makes a difference.

use std::collections::HashMap;

use super::{Rooted, Tree};
use crate::index::NodeIx;

/// Number of a class of isomorphic rooted subtrees.
type Class = u32;

/// Numbers classes for the trees that are compared.
#[derive(Default)]
struct Classes<'a> {
    numbers: HashMap<(Option<&'a str>, Vec<Class>), Class>,
}

/// A tree with its canonical roots and the class of the subtree below every node.
struct Labelled {
    children: Vec<Vec<NodeIx>>,
    class: Vec<Class>,
    /// Class and root of each tree of the forest, sorted.
    roots: Vec<(Class, NodeIx)>,
}

impl<'a> Classes<'a> {
    fn label(&mut self, tree: &'a Tree) -> Labelled {
        let mut candidates: Vec<NodeIx> = tree.node_ixs().filter(|&node| tree.is_observed(node)).collect();
        candidates.sort_unstable_by(|&a, &b| tree.name(a).cmp(tree.name(b)));
        let rooted = Rooted::at_first(tree, &candidates);
        let first = self.label_rooted(tree, &rooted);
        let others: Vec<NodeIx> = rooted.roots.iter().map(|&root| other_center(tree, root).unwrap_or(root)).collect();
        if others == rooted.roots {
            return first;
        }
        let other = self.label_rooted(tree, &Rooted::with_roots(tree, &others).expect("one root per tree"));
        let class = |labelled: &Labelled, root: NodeIx| labelled.class[root.get()];
        let best: Vec<NodeIx> =
            (rooted.roots.iter().zip(&others)).map(|(&a, &b)| if class(&first, a) <= class(&other, b) { a } else { b }).collect();
        self.label_rooted(tree, &Rooted::with_roots(tree, &best).expect("one root per tree"))
    }

    fn label_rooted(&mut self, tree: &'a Tree, rooted: &Rooted) -> Labelled {
        let mut children = rooted.children();
        let mut class = vec![0; tree.n_nodes()];
        for &node in rooted.order.iter().rev() {
            let below = &mut children[node.get()];
            below.sort_unstable_by_key(|&child| (class[child.get()], child));
            let name = tree.is_observed(node).then(|| tree.name(node));
            let next = Class::try_from(self.numbers.len()).expect("there are no more classes than nodes");
            let key = (name, below.iter().map(|&child| class[child.get()]).collect());
            class[node.get()] = *self.numbers.entry(key).or_insert(next);
        }
        let mut roots: Vec<(Class, NodeIx)> = rooted.roots.iter().map(|&root| (class[root.get()], root)).collect();
        roots.sort_unstable();
        Labelled { children, class, roots }
    }
}

impl Labelled {
    fn is_like(&self, other: &Self) -> bool {
        self.roots.len() == other.roots.len() && self.roots.iter().zip(&other.roots).all(|(a, b)| a.0 == b.0)
    }
}

/// The second centre of a tree without observed nodes, given one centre: the top of the one branch that is higher than all
/// others by one.
pub(crate) fn other_center(tree: &Tree, center: NodeIx) -> Option<NodeIx> {
    if tree.is_observed(center) {
        return None;
    }
    let mut heights: Vec<(usize, NodeIx)> = Vec::with_capacity(tree.degree(center));
    for link in tree.links(center) {
        let mut height = 0;
        let mut stack = vec![(link.to, center, 1)];
        while let Some((node, from, depth)) = stack.pop() {
            height = height.max(depth);
            let onward = tree.links(node).iter().filter(|next| next.to != from);
            stack.extend(onward.map(|next| (next.to, node, depth + 1)));
        }
        heights.push((height, link.to));
    }
    heights.sort_unstable();
    let highest = heights.pop()?;
    let next = heights.pop().map_or(0, |next| next.0);
    (highest.0 == next + 1).then_some(highest.1)
}

/// Whether two trees are the same up to the names of hidden nodes and the order of nodes; in a
/// forest, tree by tree. A hidden leaf or a hidden node of degree 2 is a difference; lengths and supports are not compared.
///
/// # Complexity
/// O(n log n).
#[must_use]
pub fn same_structure(a: &Tree, b: &Tree) -> bool {
    if a.n_nodes() != b.n_nodes() || a.n_edges() != b.n_edges() {
        return false;
    }
    let mut classes = Classes::default();
    let (a, b) = (classes.label(a), classes.label(b));
    a.is_like(&b)
}

/// For each node of `a`, the node of `b` that corresponds to it.
///
/// Observed nodes correspond by name. If the trees have the [same structure](same_structure) all nodes are paired by an
/// isomorphism. Otherwise a hidden node is compared by the splits of its edges, each with the side on which the node is:
/// pairs are made greedily, most shared splits first, then fewest splits that are not shared, then smallest indices; a
/// hidden node that shares no split, or whose partners are taken, has none.
///
/// # Complexity
/// O(n log n).
#[must_use]
pub fn match_hidden(a: &Tree, b: &Tree) -> Vec<Option<NodeIx>> {
    let mut classes = Classes::default();
    let (label_a, label_b) = (classes.label(a), classes.label(b));
    if label_a.is_like(&label_b) {
        return match_isomorphic(&label_a, &label_b);
    }
    let mut partner: Vec<Option<NodeIx>> = vec![None; a.n_nodes()];
    for node in a.node_ixs().filter(|&node| a.is_observed(node)) {
        partner[node.get()] = b.find(a.name(node)).filter(|&other| b.is_observed(other));
    }
    let (splits_a, splits_b) = (directed_splits(a), directed_splits(b));
    let mut shared: Vec<(NodeIx, NodeIx)> = Vec::new();
    let mut rest = splits_b.as_slice();
    for of_a in splits_a.chunk_by(|x, y| x.0 == y.0) {
        rest = &rest[rest.partition_point(|entry| entry.0 < of_a[0].0)..];
        let of_b = rest.iter().take_while(|entry| entry.0 == of_a[0].0);
        // More than one only along chains of hidden nodes of degree 2, which are paired in order to stay linear.
        shared.extend(of_a.iter().zip(of_b).map(|(x, y)| (x.1, y.1)));
    }
    shared.sort_unstable();
    let mut pairs: Vec<_> = shared
        .chunk_by(|x, y| x == y)
        .map(|same| {
            let (x, y) = same[0];
            (std::cmp::Reverse(same.len()), a.degree(x) + b.degree(y), x, y)
        })
        .collect();
    pairs.sort_unstable();
    let mut is_taken = vec![false; b.n_nodes()];
    for (_, _, x, y) in pairs {
        if partner[x.get()].is_none() && !is_taken[y.get()] {
            partner[x.get()] = Some(y);
            is_taken[y.get()] = true;
        }
    }
    partner
}

fn match_isomorphic(a: &Labelled, b: &Labelled) -> Vec<Option<NodeIx>> {
    let mut partner = vec![None; a.class.len()];
    let mut stack: Vec<(NodeIx, NodeIx)> = a.roots.iter().zip(&b.roots).map(|(x, y)| (x.1, y.1)).collect();
    while let Some((x, y)) = stack.pop() {
        partner[x.get()] = Some(y);
        // Children are sorted by class on both sides, so equal classes meet.
        stack.extend(a.children[x.get()].iter().copied().zip(b.children[y.get()].iter().copied()));
    }
    partner
}

/// The splits of all edges at hidden nodes, each with the hidden node and telling its side; sorted.
fn directed_splits(tree: &Tree) -> Vec<(u128, NodeIx)> {
    let splits = tree.splits();
    let mut directed = Vec::new();
    for node in tree.node_ixs().filter(|&node| !tree.is_observed(node)) {
        directed.extend(tree.links(node).iter().filter_map(|link| Some((splits.directed(node, link.to)?, node))));
    }
    directed.sort_unstable();
    directed
}
