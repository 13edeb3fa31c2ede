//! An unrooted arena tree in which any node may be observed, and the operations that need only a tree.
//!
//! A [`Tree`] may be a forest: variables that depend on no other variable are isolated nodes.

mod contract;
mod groups;
mod isomorphism;
mod minimal;
mod observed;
mod path_lengths;
mod robinson_foulds;
mod rooted;
mod splits;
#[cfg(test)]
pub(crate) mod tests;

pub use groups::structure_error;
pub(crate) use isomorphism::other_center;
pub use isomorphism::{match_hidden, same_structure};
pub use observed::Observed;
pub use path_lengths::PathLengths;
pub use robinson_foulds::{RobinsonFoulds, robinson_foulds};
pub use rooted::Rooted;
pub use splits::{Split, Splits};

use std::collections::HashMap;

use crate::error::{Error, Result, Shortened};
use crate::index::NodeIx;

/// A node of a [`Tree`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Unique name: the variable's for an observed node.
    pub name: String,
    /// Whether the node is a variable of the data.
    pub observed: bool,
}

/// One end's view of an edge.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Link {
    /// The other end.
    pub to: NodeIx,
    /// Information distance along the edge, where known.
    pub length: Option<f64>,
    /// How probable this edge's split is by a local test of the data, where known; see [`support`](crate::support).
    pub support: Option<f64>,
    /// Share of bootstrap replicates that have this edge's split, where known.
    pub bootstrap: Option<f64>,
}

impl Link {
    /// The edge between two nodes of which this is one's view.
    pub(crate) fn edge(&self, a: NodeIx, b: NodeIx) -> Edge {
        Edge { a, b, length: self.length, support: self.support, bootstrap: self.bootstrap }
    }

    /// What is shown where there is room for one number: the test's support, else the bootstrap's.
    #[must_use]
    pub fn shown_support(&self) -> Option<f64> {
        self.support.or(self.bootstrap)
    }
}

/// An edge with both ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Edge {
    /// One end, the smaller index when listed by [`Tree::edges`].
    pub a: NodeIx,
    /// The other end.
    pub b: NodeIx,
    /// Information distance, where known.
    pub length: Option<f64>,
    /// How probable the edge's split is by a local test of the data, where known.
    pub support: Option<f64>,
    /// Share of bootstrap replicates that have its split, where known.
    pub bootstrap: Option<f64>,
}

impl Edge {
    /// An edge without length.
    #[must_use]
    pub fn new(a: NodeIx, b: NodeIx) -> Self {
        Self { a, b, length: None, support: None, bootstrap: None }
    }

    /// An edge with a length.
    #[must_use]
    pub fn with_length(a: NodeIx, b: NodeIx, length: f64) -> Self {
        Self { a, b, length: Some(length), support: None, bootstrap: None }
    }
}

/// An unrooted tree, or forest, over named nodes; observed nodes may be leaves or inner nodes.
///
/// # Example
/// ```
/// use latentree::tree::Tree;
/// let mut tree = Tree::new();
/// let h = tree.add_hidden("h1")?;
/// for name in ["a", "b", "c"] {
///     let leaf = tree.add_observed(name)?;
///     tree.connect(h, leaf, Some(0.5))?;
/// }
/// assert!(tree.is_connected());
/// assert_eq!(tree.degree(h), 3);
/// # Ok::<(), latentree::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Tree {
    nodes: Vec<Node>,
    links: Vec<Vec<Link>>,
    by_name: HashMap<String, NodeIx>,
    n_edges: usize,
}

impl Tree {
    /// The empty tree.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A tree from nodes and edges, checked to have no cycle.
    ///
    /// # Errors
    /// [`Error::Tree`] on a name that is empty or appears twice, an edge to itself, an edge twice, or a cycle (which is named).
    pub fn from_parts(nodes: Vec<Node>, edges: &[Edge]) -> Result<Self> {
        let mut tree = Self::new();
        for node in nodes {
            tree.add_node(node)?;
        }
        let mut union: Vec<u32> = (0..tree.nodes.len() as u32).collect();
        fn find(union: &mut [u32], mut x: u32) -> u32 {
            while union[x as usize] != x {
                union[x as usize] = union[union[x as usize] as usize];
                x = union[x as usize];
            }
            x
        }
        for edge in edges {
            if edge.a == edge.b {
                return Err(Error::tree(format!("node {:?} has an edge to itself", Shortened(&tree.nodes[edge.a.get()].name))));
            }
            let (a, b) = (find(&mut union, edge.a.get() as u32), find(&mut union, edge.b.get() as u32));
            if a == b {
                return Err(tree.cycle(edge.a, edge.b));
            }
            union[a as usize] = b;
            tree.link(*edge);
        }
        Ok(tree)
    }

    /// The same tree with these observed nodes first, in this order, and the hidden ones after them.
    ///
    /// # Errors
    /// [`Error::Tree`] if one of the names is not that of an observed node, or an observed node is not among them.
    pub fn with_observed_first(&self, names: &[&str]) -> Result<Self> {
        let mut order = Vec::with_capacity(self.n_nodes());
        for name in names {
            let node = self.find(name).filter(|&node| self.is_observed(node));
            order.push(node.ok_or_else(|| Error::tree(format!("it has no observed node {:?}", Shortened(name))))?);
        }
        let mut place = vec![usize::MAX; self.n_nodes()];
        order.iter().enumerate().for_each(|(ix, node)| place[node.get()] = ix);
        if let Some(node) = self.node_ixs().find(|&node| self.is_observed(node) && place[node.get()] == usize::MAX) {
            return Err(Error::tree(format!("its observed node {:?} is not a column of the data", Shortened(self.name(node)))));
        }
        for node in self.node_ixs().filter(|&node| !self.is_observed(node)) {
            place[node.get()] = order.len();
            order.push(node);
        }
        let nodes = order.iter().map(|&node| self.node(node).clone()).collect();
        let placed = |node: NodeIx| NodeIx::new(place[node.get()]);
        let edges: Vec<Edge> = self.edges().map(|edge| Edge { a: placed(edge.a), b: placed(edge.b), ..edge }).collect();
        Self::from_parts(nodes, &edges)
    }

    fn cycle(&self, a: NodeIx, b: NodeIx) -> Error {
        let path = self.path(a, b).unwrap_or_default();
        let names: Vec<&str> = path.iter().map(|&ix| self.nodes[ix.get()].name.as_str()).collect();
        if names.len() == 2 {
            return Error::tree(format!("nodes {:?} and {:?} are joined by two edges", Shortened(names[0]), Shortened(names[1])));
        }
        let mut shown: Vec<String> = names.iter().take(10).map(|name| format!("{:?}", Shortened(name))).collect();
        if names.len() > shown.len() {
            shown.push(format!("… ({} nodes in all)", names.len()));
        }
        Error::tree(format!("it has a cycle: {} – {:?}", shown.join(" – "), Shortened(names[0])))
    }

    fn link(&mut self, edge: Edge) {
        let Edge { a, b, length, support, bootstrap } = edge;
        self.links[a.get()].push(Link { to: b, length, support, bootstrap });
        self.links[b.get()].push(Link { to: a, length, support, bootstrap });
        self.n_edges += 1;
    }

    /// Adds a node with no edges.
    ///
    /// # Errors
    /// [`Error::Tree`] if the name is empty or taken.
    pub fn add_node(&mut self, node: Node) -> Result<NodeIx> {
        let ix = NodeIx::new(self.nodes.len());
        if node.name.is_empty() {
            return Err(Error::tree(format!("node {} has no name", self.nodes.len() + 1)));
        }
        if self.by_name.contains_key(&node.name) {
            return Err(Error::tree(format!("two nodes are named {:?}", Shortened(&node.name))));
        }
        self.by_name.insert(node.name.clone(), ix);
        self.nodes.push(node);
        self.links.push(Vec::new());
        Ok(ix)
    }

    /// Adds an observed node with no edges.
    ///
    /// # Errors
    /// As [`add_node`](Self::add_node).
    pub fn add_observed(&mut self, name: impl Into<String>) -> Result<NodeIx> {
        self.add_node(Node { name: name.into(), observed: true })
    }

    /// Adds a hidden node with no edges.
    ///
    /// # Errors
    /// As [`add_node`](Self::add_node).
    pub fn add_hidden(&mut self, name: impl Into<String>) -> Result<NodeIx> {
        self.add_node(Node { name: name.into(), observed: false })
    }

    /// Adds a hidden node named `h1`, `h2`, …: the first such name that is free.
    pub fn add_next_hidden(&mut self) -> NodeIx {
        let n_hidden = self.nodes.iter().filter(|node| !node.observed).count();
        let name = (n_hidden + 1..).map(|number| format!("h{number}")).find(|name| !self.by_name.contains_key(name));
        self.add_hidden(name.expect("some number is free")).expect("the name is free")
    }

    /// Joins two nodes.
    ///
    /// # Errors
    /// [`Error::Tree`] if this would close a cycle. Linear in the size of the tree: use [`from_parts`](Self::from_parts)
    /// to build a large tree.
    pub fn connect(&mut self, a: NodeIx, b: NodeIx, length: Option<f64>) -> Result<()> {
        if a == b {
            return Err(Error::tree(format!("node {:?} has an edge to itself", Shortened(&self.nodes[a.get()].name))));
        }
        if self.path(a, b).is_some() {
            return Err(self.cycle(a, b));
        }
        self.link(Edge { length, ..Edge::new(a, b) });
        Ok(())
    }

    /// Removes the edge between two nodes and gives it back; `None` if they are not neighbours.
    pub fn disconnect(&mut self, a: NodeIx, b: NodeIx) -> Option<Edge> {
        let at_a = self.links[a.get()].iter().position(|link| link.to == b)?;
        let at_b = self.links[b.get()].iter().position(|link| link.to == a)?;
        let link = self.links[a.get()].remove(at_a);
        self.links[b.get()].remove(at_b);
        self.n_edges -= 1;
        Some(link.edge(a, b))
    }

    /// Sets the length and support of an existing edge.
    ///
    /// # Panics
    /// If the nodes are not neighbours.
    pub fn set_edge(&mut self, a: NodeIx, b: NodeIx, length: Option<f64>, support: Option<f64>) {
        for (from, to) in [(a, b), (b, a)] {
            let link = self.links[from.get()].iter_mut().find(|link| link.to == to).expect("the nodes are neighbours");
            link.length = length;
            link.support = support;
        }
    }

    /// Gives a node another name.
    ///
    /// # Errors
    /// [`Error::Tree`] if the name is empty or another node's.
    pub fn rename(&mut self, node: NodeIx, name: impl Into<String>) -> Result<()> {
        let name = name.into();
        if name.is_empty() || self.by_name.get(&name).is_some_and(|&other| other != node) {
            return Err(Error::tree(format!("two nodes are named {:?}, or the name is empty", Shortened(&name))));
        }
        self.by_name.remove(&self.nodes[node.get()].name);
        self.by_name.insert(name.clone(), node);
        self.nodes[node.get()].name = name;
        Ok(())
    }

    /// Number of nodes.
    #[must_use]
    pub fn n_nodes(&self) -> usize {
        self.nodes.len()
    }

    /// Number of edges.
    #[must_use]
    pub fn n_edges(&self) -> usize {
        self.n_edges
    }

    /// Number of observed nodes.
    #[must_use]
    pub fn n_observed(&self) -> usize {
        self.nodes.iter().filter(|node| node.observed).count()
    }

    /// Number of hidden nodes.
    #[must_use]
    pub fn n_hidden(&self) -> usize {
        self.n_nodes() - self.n_observed()
    }

    /// All nodes, in the order of their indices.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// All node indices in order.
    pub fn node_ixs(&self) -> impl ExactSizeIterator<Item = NodeIx> + DoubleEndedIterator + use<> {
        (0..self.nodes.len()).map(NodeIx::new)
    }

    /// One node.
    #[must_use]
    pub fn node(&self, node: NodeIx) -> &Node {
        &self.nodes[node.get()]
    }

    /// A node's name.
    #[must_use]
    pub fn name(&self, node: NodeIx) -> &str {
        &self.nodes[node.get()].name
    }

    /// Whether a node is observed.
    #[must_use]
    pub fn is_observed(&self, node: NodeIx) -> bool {
        self.nodes[node.get()].observed
    }

    /// The node with this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<NodeIx> {
        self.by_name.get(name).copied()
    }

    /// The edges at a node.
    #[must_use]
    pub fn links(&self, node: NodeIx) -> &[Link] {
        &self.links[node.get()]
    }

    /// Number of neighbours.
    #[must_use]
    pub fn degree(&self, node: NodeIx) -> usize {
        self.links[node.get()].len()
    }

    /// All edges once, ordered by their smaller end.
    pub fn edges(&self) -> impl Iterator<Item = Edge> + '_ {
        self.node_ixs().flat_map(move |a| {
            let later = self.links(a).iter().filter(move |link| link.to > a);
            later.map(move |link| link.edge(a, link.to))
        })
    }

    /// The nodes on the way from `a` to `b`, both included; `None` if they are in different trees of the forest.
    #[must_use]
    pub fn path(&self, a: NodeIx, b: NodeIx) -> Option<Vec<NodeIx>> {
        let mut from: HashMap<NodeIx, NodeIx> = HashMap::from([(b, b)]);
        let mut stack = vec![b];
        while let Some(node) = stack.pop() {
            if node == a {
                let mut path = vec![a];
                let mut at = a;
                while at != b {
                    at = from[&at];
                    path.push(at);
                }
                return Some(path);
            }
            for link in self.links(node) {
                if let std::collections::hash_map::Entry::Vacant(entry) = from.entry(link.to) {
                    entry.insert(node);
                    stack.push(link.to);
                }
            }
        }
        None
    }

    /// Number of trees in the forest.
    #[must_use]
    pub fn n_components(&self) -> usize {
        self.n_nodes() - self.n_edges
    }

    /// Whether it is one tree.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.n_components() <= 1
    }
}
