//! Discrete trees: maps nodes to variables, chooses roots, and replaces numeric inner nodes.

use crate::data::Schema;
use crate::error::{Error, Result};
use crate::index::NodeIx;
use crate::tree::{Edge, Node, Rooted, Tree, other_center};

/// The tree as one whose hidden nodes are discrete: a hidden node takes the place of every inner node that is a number or a
/// group, with it as a leaf, and two of them that are joined to each other alone are cut apart. What was changed is added to the
/// warnings.
///
/// # Errors
/// None for a tree whose names are unique.
pub fn discrete_tree(tree: &Tree, schema: &Schema, warnings: &mut Vec<String>) -> Result<Tree> {
    let is_other = |node: NodeIx| is_discrete(tree, schema, node) == Some(false);
    let mut nodes: Vec<Node> = tree.nodes().to_vec();
    let mut edges: Vec<Edge> = tree.edges().collect();
    let (mut taken, mut moved) = (1, Vec::new());
    let is_pair = |edge: &Edge| [edge.a, edge.b].iter().all(|&end| is_other(end) && tree.degree(end) == 1);
    for edge in edges.extract_if(.., |edge| is_pair(edge)) {
        let (a, b) = (tree.name(edge.a), tree.name(edge.b));
        warnings
            .push(format!("{a} and {b} are connected only to each other and are not discrete: they are modelled as independent"));
    }
    for node in tree.node_ixs().filter(|&node| is_other(node) && tree.degree(node) > 1) {
        while tree.find(&format!("h{taken}")).is_some() {
            taken += 1;
        }
        let hidden = NodeIx::new(nodes.len());
        nodes.push(Node { name: format!("h{taken}"), observed: false });
        taken += 1;
        for edge in &mut edges {
            if edge.a == node {
                edge.a = hidden;
            } else if edge.b == node {
                edge.b = hidden;
            }
        }
        edges.push(Edge::with_length(node, hidden, 0.05));
        moved.push(tree.name(node).to_owned());
    }
    if let [first, ..] = &moved[..] {
        warnings.push(format!(
            "{} observed inner nodes (first {first:?}) are not discrete: each becomes a leaf of a new hidden node in its place",
            moved.len()
        ));
    }
    Tree::from_parts(nodes, &edges)
}

/// Roots that have a table, near the centre of every tree: a hidden node, or a column of labels where there is none, or what
/// stands alone.
pub(crate) fn discrete_roots(tree: &Tree, schema: &Schema) -> Result<Rooted> {
    let any = Rooted::with_roots(tree, &[])?;
    let mut best: Vec<(usize, NodeIx)> = any.roots.iter().map(|&root| (usize::MAX, root)).collect();
    let mut component = vec![usize::MAX; tree.n_nodes()];
    any.roots.iter().enumerate().for_each(|(ix, root)| component[root.get()] = ix);
    for &node in &any.order {
        if let Some(parent) = any.parent[node.get()] {
            component[node.get()] = component[parent.get()];
        }
        let rank = match is_discrete(tree, schema, node) {
            None => 0,
            Some(true) => 1,
            Some(false) => 2,
        };
        let best = &mut best[component[node.get()]];
        if rank < best.0 {
            *best = (rank, node);
        }
    }
    let roots: Vec<NodeIx> = best.iter().map(|&(rank, root)| if rank == 0 { by_names(tree, root) } else { root }).collect();
    Rooted::with_roots(tree, &roots)
}

/// Of two hidden centres of a tree, the one on the side of the first name, so that the order of columns does not matter.
fn by_names(tree: &Tree, center: NodeIx) -> NodeIx {
    let Some(other) = other_center(tree, center).filter(|&other| !tree.is_observed(other)) else { return center };
    let first_name = |from: NodeIx, barred: NodeIx| {
        let mut first: Option<&str> = None;
        let mut stack = vec![(from, barred)];
        while let Some((node, above)) = stack.pop() {
            if tree.is_observed(node) && first.is_none_or(|first| tree.name(node) < first) {
                first = Some(tree.name(node));
            }
            stack.extend(tree.links(node).iter().filter(|link| link.to != above).map(|link| (link.to, node)));
        }
        first
    };
    if first_name(other, center) < first_name(center, other) { other } else { center }
}

/// Whether an observed node is one column of labels; `None` for a hidden one.
fn is_discrete(tree: &Tree, schema: &Schema, node: NodeIx) -> Option<bool> {
    if !tree.is_observed(node) {
        return None;
    }
    let variable = schema.find_variable(tree.name(node));
    Some(variable.is_some_and(|it| schema.scalar_kind(it).is_some_and(|kind| kind.n_states().is_some())))
}

/// The variable of each observed node.
pub(super) fn variables_of(tree: &Tree, schema: &Schema) -> Result<Vec<Option<usize>>> {
    let mut variable_of = vec![None; tree.n_nodes()];
    for (ix, variable) in schema.variables().iter().enumerate() {
        let node = tree.find(&variable.name).filter(|&node| tree.is_observed(node));
        let node =
            node.ok_or_else(|| Error::tree(format!("variable {:?} is not an observed node of the tree", variable.name)))?;
        variable_of[node.get()] = Some(ix);
    }
    let is_other = |node: &NodeIx| tree.is_observed(*node) && variable_of[node.get()].is_none();
    if let Some(node) = tree.node_ixs().find(is_other) {
        return Err(Error::tree(format!("its node {:?} is not a variable of the data", tree.name(node))));
    }
    Ok(variable_of)
}
