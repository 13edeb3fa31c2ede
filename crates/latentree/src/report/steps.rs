//! A discrete model as steps between neighbours: the distribution of each node given each neighbour.

use super::channel;
use crate::index::{ColIx, NodeIx};
use crate::information;
use crate::model::{Distribution, Emission, LatentTree, Marginal};

/// A neighbour, and its distribution given the states of the origin of the step.
#[derive(Debug, Clone)]
pub(super) struct Step {
    pub(super) to: usize,
    pub(super) n_states: usize,
    /// One row per state of the origin.
    pub(super) table: Vec<f64>,
}

/// A column without steps of its own: a number, a count, or a member of a group.
#[derive(Debug, Clone)]
pub(super) struct Attached {
    pub(super) node: usize,
    pub(super) column: ColIx,
    pub(super) content: Content,
    /// Probabilities of labels or intervals, one row per state of the parent.
    pub(super) n_outcomes: usize,
    pub(super) outcomes: Vec<f64>,
}

/// The content of an attached column.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Content {
    /// Labels.
    Labels,
    /// Numbers, with mean and variance in each state of the parent.
    Numbers(Vec<(f64, f64)>),
}

/// The steps of a discrete model.
#[derive(Debug)]
pub(super) struct Steps {
    /// Probabilities of the states of discrete nodes; empty for others.
    pub(super) marginals: Vec<Vec<f64>>,
    /// Steps from a discrete node to its discrete neighbours, the most informative first.
    pub(super) steps: Vec<Vec<Step>>,
    /// Columns below a discrete node, the most informative first.
    pub(super) attached: Vec<Vec<Attached>>,
    /// Columns of isolated leaves, with a single state as parent.
    pub(super) alone: Vec<Attached>,
}

impl Steps {
    pub(super) fn new(model: &LatentTree) -> Self {
        let n_nodes = model.tree().n_nodes();
        let marginals: Vec<Vec<f64>> = model
            .marginals()
            .into_iter()
            .map(|marginal| if let Marginal::Discrete(values) = marginal { values } else { Vec::new() })
            .collect();
        let mut all =
            Self { marginals, steps: vec![Vec::new(); n_nodes], attached: vec![Vec::new(); n_nodes], alone: Vec::new() };
        for node in model.tree().node_ixs() {
            let parent = model.parent(node).map(NodeIx::get);
            match (model.distribution(node), parent) {
                (Distribution::Discrete(table), Some(parent)) => {
                    let (child, n_own, n_above) = (node.get(), table.n_states(), table.n_parent_states());
                    let mut turned = Vec::with_capacity(n_own * n_above);
                    for state in 0..n_own {
                        let own = all.marginals[child][state];
                        // A state of probability zero carries no information about the parent.
                        turned.extend((0..n_above).map(|above| {
                            let prior = all.marginals[parent][above];
                            if own > 0.0 { prior * table.given(above)[state] / own } else { prior }
                        }));
                    }
                    all.steps[parent].push(Step { to: child, n_states: n_own, table: table.values().to_vec() });
                    all.steps[child].push(Step { to: parent, n_states: n_above, table: turned });
                }
                (Distribution::Emission(emission), parent) => {
                    let columns = model.variable(node).map_or(&[][..], |it| &model.schema().variable(it).columns);
                    let members =
                        if let Emission::Group(members) = emission { &members[..] } else { std::slice::from_ref(emission) };
                    for (member, &column) in members.iter().zip(columns) {
                        let content = channel::moments(member).map_or(Content::Labels, Content::Numbers);
                        let (n_outcomes, outcomes) = match member {
                            Emission::Categorical(table) => (table.n_states(), table.values().to_vec()),
                            other => channel::intervals(other).expect("a member is labels or numbers"),
                        };
                        let it = Attached { node: node.get(), column, content, n_outcomes, outcomes };
                        parent.map_or(&mut all.alone, |parent| &mut all.attached[parent]).push(it);
                    }
                }
                _ => {}
            }
        }
        all.sort();
        all
    }

    /// Sorts neighbours, most informative first.
    fn sort(&mut self) {
        let strongest = |information: &mut dyn Iterator<Item = f64>| {
            let keys: Vec<f64> = information.collect();
            let mut order: Vec<usize> = (0..keys.len()).collect();
            order.sort_by(|&a, &b| keys[b].total_cmp(&keys[a]).then(a.cmp(&b)));
            order
        };
        for (node, marginal) in self.marginals.iter().enumerate() {
            let steps = std::mem::take(&mut self.steps[node]);
            let order = strongest(&mut steps.iter().map(|step| information::of_table(marginal, &step.table, step.n_states)));
            self.steps[node] = order.into_iter().map(|ix| steps[ix].clone()).collect();
            let attached = std::mem::take(&mut self.attached[node]);
            let order = strongest(&mut attached.iter().map(|it| information::of_table(marginal, &it.outcomes, it.n_outcomes)));
            self.attached[node] = order.into_iter().map(|ix| attached[ix].clone()).collect();
        }
    }

    /// Passes `E[f · 1(node = state)]` from a node to all discrete nodes of its tree. `start` and the argument of `visit`
    /// have one row per function f and one column per state.
    pub(super) fn walk(&self, from: usize, start: Vec<f64>, mut visit: impl FnMut(usize, &[f64])) {
        let mut stack = vec![(from, usize::MAX, start)];
        while let Some((node, before, carried)) = stack.pop() {
            visit(node, &carried);
            let width = self.marginals[node].len();
            for step in self.steps[node].iter().filter(|step| step.to != before) {
                stack.push((step.to, node, chain(&carried, width, &step.table, step.n_states)));
            }
        }
    }

    /// Mutual information between each node and its parent; for a group, that of its most informative member.
    pub(super) fn emission_information(&self, model: &LatentTree) -> Vec<Option<f64>> {
        let mut information = vec![None; model.tree().n_nodes()];
        for (parent, attached) in self.attached.iter().enumerate() {
            let marginal = &self.marginals[parent];
            for it in attached {
                let own = information::of_table(marginal, &it.outcomes, it.n_outcomes);
                let best: &mut Option<f64> = &mut information[it.node];
                *best = Some(best.map_or(own, |best: f64| best.max(own)));
            }
        }
        information
    }
}

/// The product of two tables whose rows are distributions.
pub(super) fn chain(first: &[f64], n_between: usize, second: &[f64], n_states: usize) -> Vec<f64> {
    let mut out = vec![0.0; first.len() / n_between * n_states];
    for (row, out) in first.chunks_exact(n_between).zip(out.chunks_exact_mut(n_states)) {
        for (&weight, below) in row.iter().zip(second.chunks_exact(n_states)) {
            if weight != 0.0 {
                out.iter_mut().zip(below).for_each(|(out, value)| *out += weight * value);
            }
        }
    }
    out
}
