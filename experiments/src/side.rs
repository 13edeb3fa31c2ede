//! The observed variables on the two sides of an edge, and what two trees say about them.

use std::collections::BTreeSet;

use latentree::NodeIx;
use latentree::tree::Tree;

/// The names of the observed nodes on the first end's side of an edge.
pub(crate) fn side(tree: &Tree, [from, beyond]: [NodeIx; 2]) -> BTreeSet<&str> {
    let (mut names, mut open) = (BTreeSet::new(), vec![(from, beyond)]);
    while let Some((node, before)) = open.pop() {
        if tree.is_observed(node) {
            names.insert(tree.name(node));
        }
        open.extend(tree.links(node).iter().filter(|link| link.to != before).map(|link| (link.to, node)));
    }
    names
}

/// Whether a tree parts these two sets of variables, whatever it does with others.
pub(crate) fn parts(tree: &Tree, first: &BTreeSet<&str>, second: &BTreeSet<&str>) -> bool {
    tree.edges().any(|edge| {
        let beyond = side(tree, [edge.a, edge.b]);
        let is_apart =
            |inside: &BTreeSet<&str>, outside: &BTreeSet<&str>| inside.is_subset(&beyond) && outside.is_disjoint(&beyond);
        is_apart(first, second) || is_apart(second, first)
    })
}

/// An edge with two observed nodes or more on both sides.
#[derive(Debug, Clone)]
pub(crate) struct Parting<'a> {
    pub(crate) sides: [BTreeSet<&'a str>; 2],
    pub(crate) support: Option<f64>,
    pub(crate) bootstrap: Option<f64>,
}

/// The edges of a tree that part two observed nodes or more from two or more others.
pub(crate) fn partings(tree: &Tree) -> Vec<Parting<'_>> {
    let parting = |edge: latentree::tree::Edge| {
        let sides = [side(tree, [edge.a, edge.b]), side(tree, [edge.b, edge.a])];
        let found = Parting { sides, support: edge.support, bootstrap: edge.bootstrap };
        found.sides.iter().all(|side| side.len() >= 2).then_some(found)
    };
    tree.edges().filter_map(parting).collect()
}

impl Parting<'_> {
    fn n(&self) -> usize {
        self.sides[0].len() + self.sides[1].len()
    }

    /// Whether both part the same variables in the same way.
    pub(crate) fn is_same(&self, other: &Parting<'_>) -> bool {
        let [a, b] = &other.sides;
        self.sides == [a.clone(), b.clone()] || self.sides == [b.clone(), a.clone()]
    }

    /// How many variables change sides between the two, and how many are on the smaller side of this one; of the variables that both have.
    fn transfer(&self, other: &Parting<'_>) -> (usize, usize, usize) {
        let common = |side: &BTreeSet<&str>, whole: &Parting<'_>| {
            side.iter().filter(|name| whole.sides.iter().any(|side| side.contains(*name))).count()
        };
        let sizes = [common(&self.sides[0], other), common(&self.sides[1], other)];
        let both = |a: usize, b: usize| self.sides[a].intersection(&other.sides[b]).count();
        let n = sizes[0] + sizes[1];
        let moved = (n - both(0, 0) - both(1, 1)).min(n - both(0, 1) - both(1, 0));
        (moved, sizes[0].min(sizes[1]), n)
    }

    /// Whether the other tree has the split among the variables that both trees have, which must be four fifths of this one's.
    pub(crate) fn is_shared(&self, others: &[Parting<'_>]) -> bool {
        others
            .iter()
            .map(|other| self.transfer(other))
            .any(|(moved, smaller, n)| moved == 0 && smaller >= 2 && 5 * n >= 4 * self.n())
    }

    /// One less the share of the smaller side's variables that would have to move for the other tree to have the split: the transfer support of Lemoine et al.
    /// (2018), of the variables that both trees have.
    pub(crate) fn transfer_support(&self, others: &[Parting<'_>]) -> f64 {
        let of_one = |(moved, smaller, _): (usize, usize, usize)| match smaller {
            0 | 1 => 0.0,
            _ => 1.0 - moved as f64 / (smaller - 1) as f64,
        };
        others.iter().map(|other| of_one(self.transfer(other))).fold(0.0, f64::max)
    }
}
