//! A model with the ends of some edges merged.

use std::sync::Arc;

use super::local::Arrangement;
use crate::error::Result;
use crate::index::NodeIx;
use crate::model::{Distribution, Domain, Emission, LatentTree, Table};
use crate::tree::{Edge, Tree};

/// The ends of an edge that become one node.
#[derive(Debug, Clone)]
pub(super) struct Merge {
    pub(super) ends: [NodeIx; 2],
    /// The other ends of the branches, in the order of the arrangement's.
    pub(super) outer: Vec<NodeIx>,
    /// The merged node with its branches.
    pub(super) arrangement: Arrangement,
}

/// The model with these merges, none of which may touch another: no end is an end, or the neighbour of an end, of another.
pub(super) fn contracted(model: &LatentTree, merges: &[Merge]) -> Result<LatentTree> {
    let tree = model.tree();
    let mut stands_for: Vec<NodeIx> = tree.node_ixs().collect();
    let mut distributions: Vec<Distribution> = tree.node_ixs().map(|node| model.distribution(node).clone()).collect();
    let mut is_merged = vec![false; tree.n_nodes()];
    for Merge { ends: [a, b], outer, arrangement } in merges {
        let (top, gone) = if model.parent(*b) == Some(*a) { (*a, *b) } else { (*b, *a) };
        stands_for[gone.get()] = top;
        is_merged[top.get()] = true;
        let prior = &arrangement.joint;
        distributions[top.get()] = Distribution::Discrete(Table::new(prior.len(), prior.clone()));
        for (&node, parameters) in outer.iter().zip(&arrangement.parameters) {
            if model.parent(top) == Some(node) {
                if let [Emission::Categorical(table)] = parameters.as_slice() {
                    distributions[top.get()] = Distribution::Discrete(reversed(prior, table));
                }
            } else if let Some(distribution) = given(model.distribution(node), parameters) {
                distributions[node.get()] = distribution;
            }
        }
    }
    let (mut place, mut nodes, mut kept) = (vec![NodeIx::new(0); tree.n_nodes()], Vec::new(), Vec::new());
    for node in tree.node_ixs().filter(|node| stands_for[node.get()] == *node) {
        place[node.get()] = NodeIx::new(nodes.len());
        nodes.push(tree.node(node).clone());
        kept.push(node);
    }
    let at = |node: NodeIx| place[stands_for[node.get()].get()];
    let edges: Vec<Edge> =
        tree.edges().map(|edge| Edge { a: at(edge.a), b: at(edge.b), ..edge }).filter(|edge| edge.a != edge.b).collect();
    let roots: Vec<NodeIx> = model.rooted().roots.iter().map(|&root| at(root)).collect();
    let mut builder = LatentTree::builder(Arc::clone(model.schema()), Tree::from_parts(nodes, &edges)?).roots(&roots);
    for node in kept {
        if !tree.is_observed(node) {
            let domain = match &distributions[node.get()] {
                Distribution::Discrete(table) if is_merged[node.get()] => Domain::numbered(table.n_states()),
                _ => model.domain(node).clone(),
            };
            builder = builder.hidden(at(node), domain);
        }
        builder = builder.distribution(at(node), distributions[node.get()].clone());
    }
    builder.provenance(model.provenance().clone()).build()
}

/// The distribution of a node given a new parent.
fn given(old: &Distribution, parameters: &[Emission]) -> Option<Distribution> {
    match (old, parameters) {
        (Distribution::Discrete(_), [Emission::Categorical(table)]) => Some(Distribution::Discrete(table.clone())),
        (Distribution::Emission(Emission::Group(_)), members) => Some(Distribution::Emission(Emission::Group(members.to_vec()))),
        (Distribution::Emission(_), [emission]) => Some(Distribution::Emission(emission.clone())),
        // A hidden leaf: its table may have another number of rows now.
        _ => None,
    }
}

/// `P(w | o)` from `P(w)` and `P(o | w)`.
fn reversed(prior: &[f64], table: &Table) -> Table {
    let values = (0..table.n_states()).flat_map(|state| {
        let joint: Vec<f64> = prior.iter().zip(table.rows()).map(|(p, row)| p * row[state]).collect();
        let (sum, n) = (joint.iter().sum::<f64>(), joint.len());
        joint.into_iter().map(move |value| if sum > 0.0 { value / sum } else { 1.0 / n as f64 })
    });
    Table::new(prior.len(), values.collect())
}
