//! Splits: the bipartitions of the observed nodes that the edges of a tree induce.
//!
//! Taking an edge away leaves two sides; the observed names on them are its split. In a forest the sides are those of the
//! edge's own tree. All edges count, also the one that cuts off a single leaf: by the theory of X-trees (Semple and Steel,
//! *Phylogenetics*, 2003, theorem 3.1.4) a tree whose hidden nodes all have degree ≥ 3 is determined by its full set of
//! splits, and an observed inner node shows as the *absence* of the split that would cut off it alone.
//!
//! A split is kept as a 128-bit hash. Each name is mixed to 128 bits, a side is the sum (mod 2¹²⁸) of its names, and a split
//! mixes both sides, ordered. Two different splits have the same hash with probability about 2⁻¹²⁷, so among `m` splits
//! any collision has probability below `m² · 2⁻¹²⁸`: 3 · 10⁻²⁷ for a million splits. All splits of a tree take one sweep,
//! linear in its size. Hashes depend on the names only; they are stable within a program version and are not for storage.

use std::ops::Range;

use super::{Edge, Rooted, Tree};
use crate::index::NodeIx;

/// The bipartition of a tree's observed nodes that taking one edge away makes, as a 128-bit hash of the names on both sides.
///
/// Among `m` splits any two different ones have the same hash with probability below `m² · 2⁻¹²⁸`: 3 · 10⁻²⁷ for a million.
/// The hash depends on the names only, in a forest on those of the edge's own tree, so splits of different trees can be
/// compared. It is not for storage: another version of the program may hash differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Split(u128);

/// Two rounds of multiply and fold, each a bijection: every input bit reaches every output bit.
fn mix(mut x: u128) -> u128 {
    x ^= x >> 67;
    x = x.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
    x ^= x >> 61;
    x = x.wrapping_mul(0xbf58_476d_1ce4_e5b9_94d0_49bb_1331_11eb);
    x ^ (x >> 64)
}

/// The hash of one name: FNV-1a with 128 bits, then mixed, because sides are sums and FNV alone is nearly linear.
fn hash_name(name: &str) -> u128 {
    let mut hash: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    for byte in name.bytes() {
        hash = (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
    }
    mix(hash)
}

/// The hash of an ordered pair of sides.
fn hash_pair(first: u128, second: u128) -> u128 {
    mix(mix(first).rotate_left(41).wrapping_add(second))
}

/// All splits of a tree, with the edges they come from.
///
/// Edges to single leaves count: a tree whose hidden nodes have degree ≥ 3 is determined by its full set of splits (Semple
/// and Steel 2003, theorem 3.1.4), and an observed inner node shows as the absence of the split that cuts off it alone.
/// An edge with no observed node on one side (it leads to hidden leaves only) has no split. Edges that a hidden node of
/// degree 2 joins have the same split, which counts once.
#[derive(Debug, Clone)]
pub struct Splits {
    parent: Vec<Option<NodeIx>>,
    /// Per node, the hash of the observed names below it and of the rest of its tree; `None` at a root or for no split.
    sides: Vec<Option<(u128, u128)>>,
    /// Split and lower end of its edge, sorted.
    sorted: Vec<(Split, NodeIx)>,
    /// Per node, whether the edge above it cuts off a single observed node.
    is_trivial: Vec<bool>,
    n_distinct: usize,
}

impl Splits {
    /// Computes the splits of all edges in one sweep.
    ///
    /// # Complexity
    /// O(n log n) time (sorting), O(n) memory.
    #[must_use]
    pub fn new(tree: &Tree) -> Self {
        let Rooted { parent, order, .. } = Rooted::anywhere(tree);
        let mut below: Vec<(u128, usize)> =
            tree.nodes().iter().map(|node| if node.observed { (hash_name(&node.name), 1) } else { (0, 0) }).collect();
        for &node in order.iter().rev() {
            if let Some(up) = parent[node.get()] {
                let (hash, count) = below[node.get()];
                let sum = &mut below[up.get()];
                *sum = (sum.0.wrapping_add(hash), sum.1 + count);
            }
        }
        let mut total = below.clone();
        let mut sides = vec![None; tree.n_nodes()];
        let mut is_trivial = vec![false; tree.n_nodes()];
        let mut sorted = Vec::with_capacity(tree.n_edges());
        for &node in &order {
            let Some(up) = parent[node.get()] else { continue };
            let whole = total[up.get()];
            total[node.get()] = whole;
            let (hash, count) = below[node.get()];
            if count > 0 && count < whole.1 {
                let rest = whole.0.wrapping_sub(hash);
                sides[node.get()] = Some((hash, rest));
                is_trivial[node.get()] = count == 1 || count + 1 == whole.1;
                sorted.push((Split(hash_pair(hash.min(rest), hash.max(rest))), node));
            }
        }
        sorted.sort_unstable();
        let n_distinct = sorted.chunk_by(|a, b| a.0 == b.0).count();
        Self { parent, sides, sorted, is_trivial, n_distinct }
    }

    /// Number of different splits.
    #[must_use]
    pub fn len(&self) -> usize {
        self.n_distinct
    }

    /// Whether there is no split.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }

    /// The different splits, in the order of their hashes.
    pub fn iter(&self) -> impl Iterator<Item = Split> + '_ {
        self.sorted.chunk_by(|a, b| a.0 == b.0).map(|same| same[0].0)
    }

    /// The different trivial splits, which cut off a single observed node, in the order of their hashes.
    pub fn trivial(&self) -> impl Iterator<Item = Split> + '_ {
        let distinct = self.sorted.chunk_by(|a, b| a.0 == b.0).map(|same| same[0]);
        distinct.filter(|&(_, node)| self.is_trivial[node.get()]).map(|(split, _)| split)
    }

    /// The split of the edge between two neighbours; `None` if they are none, or one side has no observed node.
    #[must_use]
    pub fn of_edge(&self, a: NodeIx, b: NodeIx) -> Option<Split> {
        let (below, rest) = self.sides_seen_from(a, b)?;
        Some(Split(hash_pair(below.min(rest), below.max(rest))))
    }

    /// Whether the tree has this split.
    #[must_use]
    pub fn contains(&self, split: Split) -> bool {
        !self.range(split).is_empty()
    }

    /// The edges that induce this split, as pairs of neighbours (parent side first); more than one only where a hidden
    /// node of degree 2 or hidden leaves hang.
    pub fn edges(&self, split: Split) -> impl ExactSizeIterator<Item = (NodeIx, NodeIx)> + '_ {
        self.sorted[self.range(split)]
            .iter()
            .map(|&(_, node)| (self.parent[node.get()].expect("a root has no split above it"), node))
    }

    fn range(&self, split: Split) -> Range<usize> {
        let start = self.sorted.partition_point(|entry| entry.0 < split);
        let end = start + self.sorted[start..].partition_point(|entry| entry.0 == split);
        start..end
    }

    /// Hashes of the side beyond `to` and of the side of `from`, for neighbours.
    fn sides_seen_from(&self, from: NodeIx, to: NodeIx) -> Option<(u128, u128)> {
        if self.parent[to.get()] == Some(from) {
            self.sides[to.get()]
        } else if self.parent[from.get()] == Some(to) {
            self.sides[from.get()].map(|(below, rest)| (rest, below))
        } else {
            None
        }
    }

    /// A hash of the split of an edge that also tells on which side `from` is.
    pub(super) fn directed(&self, from: NodeIx, to: NodeIx) -> Option<u128> {
        self.sides_seen_from(from, to).map(|(beyond, near)| hash_pair(beyond, near))
    }
}

impl Rooted {
    /// Roots every tree of a forest at its node of smallest index, for sweeps that do not care where the root is.
    pub(super) fn anywhere(tree: &Tree) -> Self {
        Self::at_first(tree, &tree.node_ixs().collect::<Vec<_>>())
    }
}

impl Tree {
    /// The splits of all edges; see [`Splits`].
    #[must_use]
    pub fn splits(&self) -> Splits {
        Splits::new(self)
    }

    /// The observed nodes on the smaller side of an edge, sorted by name; of two equal sides, the one with the
    /// alphabetically first name. A hidden leaf's side is empty.
    #[must_use]
    pub fn side(&self, edge: &Edge) -> Vec<NodeIx> {
        let [a, b] = [(edge.a, edge.b), (edge.b, edge.a)].map(|(from, barred)| {
            let mut side = Vec::new();
            let mut stack = vec![(from, barred)];
            while let Some((node, parent)) = stack.pop() {
                if self.is_observed(node) {
                    side.push(node);
                }
                stack.extend(self.links(node).iter().filter(|link| link.to != parent).map(|link| (link.to, node)));
            }
            side.sort_unstable_by(|&a, &b| self.name(a).cmp(self.name(b)));
            side
        });
        let first = |side: &[NodeIx]| side.first().map(|&node| self.name(node).to_owned());
        if (a.len(), first(&a)) <= (b.len(), first(&b)) { a } else { b }
    }
}
