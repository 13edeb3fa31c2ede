//! The model of a search: hidden nodes with tables, and variables as their leaves or alone; easy to edit and to reroot.

use std::sync::Arc;

use rayon::prelude::*;

use super::{CHUNK, Column, Columns, Leaf, Node, Patch, Soft, Source};
use crate::data::Schema;
use crate::model::{Distribution, Emission, LatentTree, Table};
use crate::tree::{Rooted, Tree};
use crate::{NodeIx, Result, VarIx};

/// The node of a variable that stands alone.
pub(crate) const ALONE: usize = usize::MAX;
/// The node of a variable that is itself a node.
pub(crate) const INNER: usize = usize::MAX - 1;

/// A forest of hidden nodes with tables, and the parameters of each column in the states of its variable's node.
#[derive(Debug, Clone)]
pub(crate) struct Net {
    pub(crate) states: Vec<usize>,
    pub(crate) parent: Vec<Option<usize>>,
    /// The table given the parent, or the node's own distribution.
    pub(crate) table: Vec<Vec<f64>>,
    /// For each node, the variable that it represents, whose labels are its states; `None` for hidden nodes.
    pub(crate) observed: Vec<Option<usize>>,
    /// For each variable, its node.
    pub(crate) leaf_of: Vec<usize>,
    /// For each column, its parameters; continuous means are relative to the column's mean.
    pub(crate) values: Vec<Vec<f64>>,
}

/// All messages between hidden nodes: the evidence below each node given its state, and the evidence beyond its parent given
/// the parent's state.
pub(crate) struct Messages {
    pub(crate) up: Vec<Arc<Soft>>,
    pub(crate) down: Vec<Option<Arc<Soft>>>,
}

impl Net {
    pub(crate) fn n_hidden(&self) -> usize {
        self.states.len()
    }

    /// The net of a model; `None` for a Gaussian one. Observed nodes with children become nodes of the net.
    pub(crate) fn of_model(model: &LatentTree, columns: &Columns) -> Option<Self> {
        let n_nodes = model.tree().n_nodes();
        let mut has_children = vec![false; n_nodes];
        for node in model.tree().node_ixs() {
            if let Some(parent) = model.parent(node) {
                has_children[parent.get()] = true;
            }
        }
        let is_inner = |node: NodeIx| !model.tree().is_observed(node) || has_children[node.get()];
        let inner: Vec<NodeIx> = model
            .hidden()
            .chain(model.tree().node_ixs().filter(|&node| model.tree().is_observed(node) && is_inner(node)))
            .collect();
        let mut place = vec![ALONE; n_nodes];
        inner.iter().enumerate().for_each(|(ix, node)| place[node.get()] = ix);
        let table = |node: NodeIx| match model.distribution(node) {
            Distribution::Discrete(table) => Some(table.values().to_vec()),
            _ => None,
        };
        let mut net = Self {
            states: inner.iter().map(|&node| model.n_states(node)).collect::<Option<_>>()?,
            parent: inner.iter().map(|&node| model.parent(node).map(|parent| place[parent.get()])).collect(),
            table: inner.iter().map(|&node| table(node)).collect::<Option<_>>()?,
            observed: inner.iter().map(|&node| model.variable(node).map(VarIx::get)).collect(),
            leaf_of: Vec::new(),
            values: vec![Vec::new(); columns.columns.len()],
        };
        for variable in model.schema().variable_ixs() {
            let node = model.node_of(variable);
            net.leaf_of.push(if is_inner(node) { INNER } else { model.parent(node).map_or(ALONE, |parent| place[parent.get()]) });
            let own = &columns.of_variable[variable.get()];
            match model.distribution(node) {
                Distribution::Discrete(_) if is_inner(node) => {}
                Distribution::Discrete(table) => net.values[own[0]] = table.values().to_vec(),
                Distribution::Emission(Emission::Group(members)) => {
                    members
                        .iter()
                        .zip(own)
                        .for_each(|(member, &column)| net.values[column] = numbers(member, &columns.columns[column]));
                }
                Distribution::Emission(emission) => net.values[own[0]] = numbers(emission, &columns.columns[own[0]]),
                Distribution::LinearGaussian { .. } => return None,
            }
        }
        Some(net)
    }

    /// The positions of the net's nodes in its tree: variables first, then hidden nodes in order.
    fn places(&self) -> Vec<NodeIx> {
        let mut n_hidden = 0;
        let place = |observed: &Option<usize>| match observed {
            Some(variable) => NodeIx::new(*variable),
            None => {
                n_hidden += 1;
                NodeIx::new(self.leaf_of.len() + n_hidden - 1)
            }
        };
        self.observed.iter().map(place).collect()
    }

    /// The tree.
    pub(crate) fn tree(&self, schema: &Schema) -> Result<Tree> {
        let mut tree = Tree::new();
        for variable in schema.variables() {
            tree.add_observed(variable.name.clone())?;
        }
        self.observed.iter().filter(|it| it.is_none()).for_each(|_| {
            tree.add_next_hidden();
        });
        let places = self.places();
        for (variable, &at) in self.leaf_of.iter().enumerate().filter(|it| *it.1 < INNER) {
            tree.connect(places[at], NodeIx::new(variable), None)?;
        }
        for (ix, parent) in self.parent.iter().enumerate() {
            if let Some(parent) = parent {
                tree.connect(places[*parent], places[ix], None)?;
            }
        }
        Ok(tree)
    }

    /// The model.
    pub(crate) fn model(&self, schema: &Arc<Schema>, columns: &Columns) -> Result<LatentTree> {
        let (tree, places) = (self.tree(schema)?, self.places());
        let p = schema.variables().len();
        let roots = (0..self.n_hidden()).filter(|&ix| self.parent[ix].is_none()).map(|ix| places[ix]);
        let alone = (0..p).filter(|&variable| self.leaf_of[variable] == ALONE).map(NodeIx::new);
        let roots: Vec<NodeIx> = roots.chain(alone).collect();
        let rooted = Rooted::with_roots(&tree, &roots)?;
        let mut builder = LatentTree::builder(Arc::clone(schema), tree.clone()).roots(&rooted.roots);
        for variable in (0..p).filter(|&variable| self.leaf_of[variable] != INNER) {
            let of_schema = schema.variable(VarIx::new(variable));
            let emission = |column: usize| emission(&self.values[column], &columns.columns[column]);
            let mut members: Vec<Emission> = columns.of_variable[variable].iter().map(|&column| emission(column)).collect();
            let distribution = if of_schema.is_group {
                Distribution::Emission(Emission::Group(members))
            } else {
                match members.pop() {
                    Some(Emission::Categorical(table)) => Distribution::Discrete(table),
                    Some(other) => Distribution::Emission(other),
                    None => unreachable!("a variable has a column"),
                }
            };
            builder = builder.distribution(NodeIx::new(variable), distribution);
        }
        for (ix, table) in self.table.iter().enumerate() {
            let n = self.states[ix];
            let mut table = table.clone();
            // Rounding errors of many rerootings add up.
            table.chunks_exact_mut(n).for_each(proper);
            builder = builder.distribution(places[ix], Distribution::Discrete(Table::new(n, table)));
        }
        builder.build()
    }

    /// Marginal distributions of the hidden nodes.
    pub(crate) fn marginals(&self) -> Vec<Vec<f64>> {
        let mut marginals: Vec<Vec<f64>> = vec![Vec::new(); self.n_hidden()];
        for ix in self.order() {
            marginals[ix] = match self.parent[ix] {
                None => self.table[ix].clone(),
                Some(parent) => times(&marginals[parent], &self.table[ix], self.states[ix]),
            };
        }
        marginals
    }

    /// Hidden nodes, parents before children.
    pub(crate) fn order(&self) -> Vec<usize> {
        let children = self.children();
        let mut order: Vec<usize> = (0..self.n_hidden()).filter(|&ix| self.parent[ix].is_none()).collect();
        let mut at = 0;
        while at < order.len() {
            order.extend(&children[order[at]]);
            at += 1;
        }
        order
    }

    pub(crate) fn children(&self) -> Vec<Vec<usize>> {
        let mut children = vec![Vec::new(); self.n_hidden()];
        for (ix, parent) in self.parent.iter().enumerate() {
            if let Some(parent) = parent {
                children[*parent].push(ix);
            }
        }
        children
    }

    /// Variables of each hidden node.
    pub(crate) fn leaves(&self) -> Vec<Vec<usize>> {
        let mut leaves = vec![Vec::new(); self.n_hidden()];
        for (variable, &at) in self.leaf_of.iter().enumerate().filter(|it| *it.1 < INNER) {
            leaves[at].push(variable);
        }
        leaves
    }

    /// Makes a node the root of its tree; the distribution does not change.
    pub(crate) fn reroot(&mut self, root: usize) {
        let mut path = vec![root];
        while let Some(parent) = self.parent[path[path.len() - 1]] {
            path.push(parent);
        }
        if path.len() == 1 {
            return;
        }
        // From the old root down to the new one.
        for pair in (1..path.len()).rev() {
            let (above, below) = (path[pair], path[pair - 1]);
            let (own, turned) = turned(&self.table[above], &self.table[below], self.states[below]);
            self.table[below] = own;
            self.table[above] = turned;
            self.parent[above] = Some(below);
            self.parent[below] = None;
        }
    }

    /// The whole net as one patch: hidden nodes in the given order (parents first), and the columns of variables that have a
    /// hidden node.
    pub(crate) fn patch(&self, order: &[usize], columns: &Columns) -> Patch {
        let mut place = vec![0; self.n_hidden()];
        order.iter().enumerate().for_each(|(at, &ix)| place[ix] = at);
        let nodes = order.iter().map(|&ix| Node {
            n_states: self.states[ix],
            parent: self.parent[ix].map(|parent| place[parent]),
            table: self.table[ix].clone(),
        });
        let mut leaves = Vec::new();
        for (variable, &at) in self.leaf_of.iter().enumerate().filter(|it| *it.1 < INNER) {
            for &column in &columns.of_variable[variable] {
                leaves.push(Leaf { at: place[at], source: Source::Column(column), values: self.values[column].clone() });
            }
        }
        for (ix, observed) in self.observed.iter().enumerate() {
            leaves.extend(observed.map(|variable| identity(place[ix], variable, columns)));
        }
        Patch { nodes: nodes.collect(), leaves, background: None }
    }

    /// All messages between hidden nodes, for all rows.
    pub(crate) fn messages(&self, columns: &Columns) -> Messages {
        let (order, marginals) = (self.order(), self.marginals());
        let patch = self.patch(&order, columns);
        let n_rows = columns.n_rows;
        let mut up: Vec<Vec<f32>> = order.iter().map(|&ix| vec![0.0; self.states[ix] * n_rows]).collect();
        let down = |&ix: &usize| self.parent[ix].map(|parent| vec![0.0_f32; self.states[parent] * n_rows]);
        let mut down: Vec<Option<Vec<f32>>> = order.iter().map(down).collect();
        let mut work = patch.work();
        patch.expect(columns, &mut work, |chunk, work| {
            let first = chunk * CHUNK;
            let n = (n_rows - first).min(CHUNK);
            for (at, &ix) in order.iter().enumerate() {
                for state in 0..self.states[ix] {
                    let to = &mut up[at][state * n_rows + first..][..n];
                    to.iter_mut().zip(&work.products[at][state * CHUNK..]).for_each(|(to, &from)| *to = from as f32);
                }
                let (Some(parent), Some(down)) = (patch.nodes[at].parent, &mut down[at]) else { continue };
                let k = patch.nodes[parent].n_states;
                let prior = &marginals[order[parent]];
                for row in 0..n {
                    let own = |state: usize| {
                        let belief = work.beliefs[parent][state * CHUNK + row];
                        belief / (work.messages[at][state * CHUNK + row] * prior[state].max(1e-12))
                    };
                    let largest = (0..k).map(own).fold(1e-300, f64::max);
                    (0..k).for_each(|state| down[state * n_rows + first + row] = (own(state) / largest) as f32);
                }
            }
        });
        let mut messages = Messages { up: Vec::new(), down: vec![None; self.n_hidden()] };
        let mut ordered: Vec<Option<Arc<Soft>>> = vec![None; self.n_hidden()];
        for ((&ix, values), below) in order.iter().zip(up).zip(down) {
            ordered[ix] = Some(Arc::new(Soft { n_states: self.states[ix], values }));
            messages.down[ix] =
                self.parent[ix].zip(below).map(|(parent, values)| Arc::new(Soft { n_states: self.states[parent], values }));
        }
        messages.up = ordered.into_iter().map(|it| it.expect("every node is in the order")).collect();
        messages
    }

    /// Posteriors of all states of all hidden nodes, `[state][row]`, in the order of the nodes.
    pub(crate) fn posteriors(&self, columns: &Columns) -> Vec<Arc<Soft>> {
        let order = self.order();
        let patch = self.patch(&order, columns);
        let n_rows = columns.n_rows;
        let mut all: Vec<Vec<f32>> = order.iter().map(|&ix| vec![0.0; self.states[ix] * n_rows]).collect();
        let mut work = patch.work();
        patch.expect(columns, &mut work, |chunk, work| {
            let first = chunk * CHUNK;
            let n = (n_rows - first).min(CHUNK);
            for (at, &ix) in order.iter().enumerate() {
                for state in 0..self.states[ix] {
                    let to = &mut all[at][state * n_rows + first..][..n];
                    let from = work.beliefs[at][state * CHUNK..].iter().zip(&columns.weights[first..]);
                    to.iter_mut().zip(from).for_each(|(to, (belief, weight))| *to = (belief / weight) as f32);
                }
            }
        });
        let mut ordered: Vec<Option<Arc<Soft>>> = vec![None; self.n_hidden()];
        order.iter().zip(all).for_each(|(&ix, values)| ordered[ix] = Some(Arc::new(Soft { n_states: self.states[ix], values })));
        ordered.into_iter().map(|it| it.expect("every node is in the order")).collect()
    }

    /// Number of free parameters.
    pub(crate) fn n_free(&self, columns: &Columns) -> usize {
        let nodes =
            (0..self.n_hidden()).map(|ix| self.parent[ix].map_or(1, |parent| self.states[parent]) * (self.states[ix] - 1));
        let leaves = self.leaf_of.iter().enumerate().filter(|it| *it.1 != INNER);
        let variables = leaves.map(|(variable, &at)| {
            let k = if at == ALONE { 1 } else { self.states[at] };
            columns.of_variable[variable].iter().map(|&column| k * columns.columns[column].n_free()).sum::<usize>()
        });
        nodes.sum::<usize>() + variables.sum::<usize>()
    }

    /// Parameters of all columns as if all variables stood alone.
    pub(crate) fn independent(columns: &Columns, pseudo_count: f64) -> Vec<Vec<f64>> {
        columns.columns.par_iter().map(|column| alone(column, &columns.weights, pseudo_count)).collect()
    }
}

/// The evidence of a node that represents a variable.
pub(crate) fn identity(at: usize, variable: usize, columns: &Columns) -> Leaf {
    Leaf { at, source: Source::Identity(columns.of_variable[variable][0]), values: Vec::new() }
}

/// The parameters of a column on its own.
pub(crate) fn alone(column: &Column, weights: &[f64], pseudo_count: f64) -> Vec<f64> {
    match column {
        Column::Labels { n_codes, usual, listed } => {
            let mut counts = vec![0.0; n_codes + 1];
            listed.cells().for_each(|(row, code)| counts[code] += weights[row]);
            counts[*usual] = weights.iter().sum::<f64>() - counts.iter().sum::<f64>();
            let total: f64 = counts[..*n_codes].iter().map(|count| count + pseudo_count).sum();
            counts[..*n_codes].iter().map(|count| (count + pseudo_count) / total).collect()
        }
        Column::Numbers { is_count: true, mean, .. } => vec![mean.max(1e-12)],
        Column::Numbers { variance, .. } => vec![0.0, *variance],
    }
}

fn numbers(emission: &Emission, column: &Column) -> Vec<f64> {
    match (emission, column) {
        (Emission::Gaussian { means, variances }, Column::Numbers { mean, .. }) => {
            means.iter().zip(variances).flat_map(|(own, variance)| [own - mean, *variance]).collect()
        }
        (Emission::Poisson { rates }, _) => rates.clone(),
        (Emission::Categorical(table), _) => table.values().to_vec(),
        _ => Vec::new(),
    }
}

/// Normalises a row of a table to probabilities; a row of zeros becomes uniform.
fn proper(row: &mut [f64]) {
    row.iter_mut().for_each(|cell| *cell = if cell.is_finite() { cell.max(0.0) } else { 0.0 });
    let (total, n) = (row.iter().sum::<f64>(), row.len() as f64);
    row.iter_mut().for_each(|cell| *cell = if total > 0.0 { *cell / total } else { 1.0 / n });
}

fn emission(values: &[f64], column: &Column) -> Emission {
    match column {
        Column::Numbers { is_count: true, .. } => Emission::Poisson { rates: values.to_vec() },
        Column::Numbers { mean, .. } => Emission::Gaussian {
            means: values.iter().step_by(2).map(|own| own + mean).collect(),
            variances: values.iter().skip(1).step_by(2).copied().collect(),
        },
        discrete => {
            let mut values = values.to_vec();
            values.chunks_exact_mut(discrete.width()).for_each(proper);
            Emission::Categorical(Table::new(discrete.width(), values))
        }
    }
}

/// The product of a distribution and a table.
pub(crate) fn times(above: &[f64], table: &[f64], n_states: usize) -> Vec<f64> {
    let mut out = vec![0.0; n_states];
    for (weight, row) in above.iter().zip(table.chunks_exact(n_states)) {
        out.iter_mut().zip(row).for_each(|(sum, value)| *sum += weight * value);
    }
    out
}

/// The distribution of the lower node, and the table of the upper node given the lower one.
pub(crate) fn turned(above: &[f64], table: &[f64], n_below: usize) -> (Vec<f64>, Vec<f64>) {
    let own = times(above, table, n_below);
    let n_above = above.len();
    let mut turned = vec![0.0; n_below * n_above];
    for b in 0..n_below {
        let row = &mut turned[b * n_above..][..n_above];
        for (a, cell) in row.iter_mut().enumerate() {
            *cell = above[a] * table[a * n_below + b];
        }
        let total: f64 = row.iter().sum();
        if total > 0.0 {
            row.iter_mut().for_each(|cell| *cell /= total);
        } else {
            row.copy_from_slice(above);
        }
    }
    let total: f64 = own.iter().sum();
    (own.into_iter().map(|value| value / total).collect(), turned)
}
