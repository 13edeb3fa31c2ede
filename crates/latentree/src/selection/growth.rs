//! New hidden nodes: over two variables, or beside another.

use std::sync::Arc;

use super::shape::Shape;
use crate::model::{Distribution, LatentTree, Marginal, Table};
use crate::moments::PairMoments;
use crate::{NodeIx, Result, VarIx};

/// The model with a new hidden node above two scalar discrete variables, as a neighbour of the hidden node of the first; `None` where the node that the second leaves
/// would be left with two neighbours, or the shape is not one of all-leaf variables.
///
/// The new node tells the commonest state of the first variable from the others, and with it those of the second that go with them.
pub(super) fn over_pair(model: &LatentTree, moments: &PairMoments, keep: VarIx, moving: VarIx) -> Result<Option<LatentTree>> {
    let shape = Shape::of_model(model);
    let (home, left) = (shape.leaf_of[keep.get()], shape.leaf_of[moving.get()]);
    let degrees = shape.degrees();
    if (home != left && degrees[left] < 4) || (home == left && degrees[home] < 4) {
        return Ok(None);
    }
    let schema = model.schema();
    let mut next = shape.clone();
    next.states.push(2);
    next.links.push((home, shape.n_hidden()));
    next.leaf_of[keep.get()] = shape.n_hidden();
    next.leaf_of[moving.get()] = shape.n_hidden();
    let tree = next.tree(schema)?;
    let p = schema.variables().len();
    let hidden: Vec<NodeIx> = model.hidden().collect();
    let old_node = |new: NodeIx| if new.get() < p { model.node_of(VarIx::new(new.get())) } else { hidden[new.get() - p] };
    let place = |hidden_ix: usize| NodeIx::new(p + hidden_ix);
    let root = hidden.iter().position(|&node| model.parent(node).is_none()).unwrap_or(0);
    let Distribution::Discrete(own) = model.distribution(model.node_of(keep)) else { return Ok(None) };
    let marginals = model.marginals();
    let (Marginal::Discrete(first), Marginal::Discrete(second)) =
        (&marginals[model.node_of(keep).get()], &marginals[model.node_of(moving).get()])
    else {
        return Ok(None);
    };
    let column = |variable: VarIx| schema.variable(variable).columns[0];
    let Some(table) = moments.table(column(keep), column(moving)) else { return Ok(None) };
    let mode = |values: &[f64]| (0..values.len()).max_by(|&a, &b| values[a].total_cmp(&values[b]).then(b.cmp(&a))).unwrap_or(0);
    let (mode_a, n_b) = (mode(first), second.len());
    // What the second is, given that the first has its commonest state and that it has not.
    let given = |rows: &dyn Fn(usize) -> bool| {
        let mut sums = vec![1e-3; n_b];
        for (_, row) in table.chunks_exact(n_b).enumerate().filter(|(state, _)| rows(*state)) {
            sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
        }
        let total: f64 = sums.iter().sum();
        sums.into_iter().map(|value| value / total).collect::<Vec<f64>>()
    };
    let (usual, unusual) = (given(&|state| state == mode_a), given(&|state| state != mode_a));
    let rare: f64 = 1.0 - first[mode_a];
    let of_first = |share: f64| -> Vec<f64> {
        let others = rare.max(1e-9);
        (0..first.len()).map(|state| if state == mode_a { 1.0 - share } else { share * first[state] / others }).collect()
    };
    let above: Vec<f64> = own
        .rows()
        .flat_map(|row| {
            let unusual = (1.0 - row[mode_a]).clamp(0.01, 0.99);
            [1.0 - unusual, unusual]
        })
        .collect();
    let mut builder = LatentTree::builder(Arc::clone(schema), tree.clone()).root(place(root));
    for node in tree.node_ixs() {
        let distribution = if node == place(shape.n_hidden()) {
            Distribution::Discrete(Table::new(2, above.clone()))
        } else if node.get() == keep.get() {
            Distribution::Discrete(Table::new(first.len(), [of_first(0.2 * rare), of_first(0.8)].concat()))
        } else if node.get() == moving.get() {
            Distribution::Discrete(Table::new(n_b, [usual.clone(), unusual.clone()].concat()))
        } else {
            model.distribution(old_node(node)).clone()
        };
        builder = builder.distribution(node, distribution);
    }
    builder.build().map(Some)
}

/// The model with a copy of a hidden node, joined to it by a table near the identity, that takes over some of its leaves; `None` where one of the two would be left
/// with two neighbours.
pub(super) fn twin(model: &LatentTree, hidden: usize, leaves: &[VarIx]) -> Result<Option<LatentTree>> {
    const SAME: f64 = 0.9;
    let shape = Shape::of_model(model);
    if leaves.len() < 2 || shape.degrees()[hidden] < leaves.len() + 2 {
        return Ok(None);
    }
    let (schema, k) = (model.schema(), shape.states[hidden]);
    let mut next = shape.clone();
    next.states.push(k);
    next.links.push((hidden, shape.n_hidden()));
    leaves.iter().for_each(|leaf| next.leaf_of[leaf.get()] = shape.n_hidden());
    let tree = next.tree(schema)?;
    let p = schema.variables().len();
    let nodes: Vec<NodeIx> = model.hidden().collect();
    let root = nodes.iter().position(|&node| model.parent(node).is_none()).unwrap_or(0);
    let mut builder = LatentTree::builder(Arc::clone(schema), tree.clone()).root(NodeIx::new(p + root));
    for node in tree.node_ixs() {
        let distribution = if node.get() == p + shape.n_hidden() {
            let other = (1.0 - SAME) / (k.max(2) - 1) as f64;
            let values = (0..k * k).map(|at| {
                if k == 1 {
                    1.0
                } else if at / k == at % k {
                    SAME
                } else {
                    other
                }
            });
            Distribution::Discrete(Table::new(k, values.collect()))
        } else if node.get() < p {
            model.distribution(model.node_of(VarIx::new(node.get()))).clone()
        } else {
            model.distribution(nodes[node.get() - p]).clone()
        };
        builder = builder.distribution(node, distribution);
    }
    builder.build().map(Some)
}
