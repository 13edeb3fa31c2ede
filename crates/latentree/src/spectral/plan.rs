//! A spectral model compiled for evaluation: the schedule of messages and their operators.
//!
//! A message is what one side of an edge contributes about a row. Sent to a joint, it is the vector μ for which
//! `E[1{row's side} f] = μᵀ E[s f]` for every function f of the other side; sent to a variable, it is the probability of the
//! side given each of the variable's labels.
//!
//! The *mass* of a message is the probability of the evidence on its side, a linear function of its numbers. The difference
//! between a message of mass 1 and the uninformative message measures how far the side shifts the rest from its marginals.

use super::model::SpectralModel;
use super::network::{End, Network};
use super::quick::{Quick, quick};
use super::step::Step;
use crate::linalg::Matrix;

/// The operator that turns the messages arriving at one end of an edge into the message to the other end.
#[derive(Debug)]
pub(super) enum Operator {
    /// At a joint: for each pair of numbers from the two other messages, the numbers of the outgoing message.
    Joint {
        /// The other edges.
        from: [usize; 2],
        /// The sizes of their messages.
        sizes: [usize; 2],
        tensor: Vec<f64>,
        /// A shortcut if one of the other edges ends at a leaf.
        step: Option<Step>,
    },
    /// At a variable: the message of each label, and of all labels together.
    Variable {
        variable: usize,
        /// The other edges.
        from: Vec<usize>,
        rows: Vec<f64>,
        all: Vec<f64>,
        /// For each label's message at mass 1, the squared norm of its difference from the message of all labels.
        shifts: Vec<f64>,
    },
}

/// A root, and how its tree is evaluated there.
#[derive(Debug)]
pub(super) enum Root {
    Joint { edges: [usize; 3], sizes: [usize; 3], tensor: Vec<f64> },
    Variable(usize),
}

/// The schedule.
#[derive(Debug)]
pub(super) struct Plan {
    /// The sizes of the messages from side 0 and side 1 of each edge.
    pub(super) sizes: Vec<[usize; 2]>,
    /// Their operators.
    pub(super) operators: Vec<[Operator; 2]>,
    /// Messages towards the roots as (edge, side), ordered so that each comes after those it depends on.
    pub(super) up: Vec<(usize, usize)>,
    pub(super) roots: Vec<Root>,
    /// The tree of the forest that contains each variable, identified by its root.
    pub(super) root_of: Vec<usize>,
    /// The edges at each variable.
    pub(super) edges_of: Vec<Vec<usize>>,
    pub(super) marginals: Vec<Vec<f64>>,
    /// `ln p` of each label; an unseen label gets that of half a row.
    pub(super) ln_floor: Vec<Vec<f64>>,
    /// The uninformative messages: those of mass 1 from sides without evidence.
    pub(super) nothing: Vec<[Vec<f64>; 2]>,
    /// The weights that give the mass of a message from its numbers.
    pub(super) mass: Vec<[Vec<f64>; 2]>,
    /// The variance of a mean, over the training rows, of a variable with unit variance.
    pub(super) variance: f64,
    /// Messages of leaves that are used only by steps, which have them built into their matrices.
    pub(super) is_skipped: Vec<[bool; 2]>,
    /// The same for scores of rows that nothing is wrong with.
    pub(super) quick: Option<Box<dyn Quick>>,
    /// The two ends of each edge.
    sides: Vec<[End; 2]>,
}

impl Plan {
    pub(super) fn new(model: &SpectralModel) -> Self {
        let (network, parts) = (&model.network, &model.parts);
        let incidence = network.incidence();
        let edges_of: Vec<Vec<usize>> = (0..network.n_variables).map(|it| incidence.of_variable(it).to_vec()).collect();
        let n_labels = |variable: usize| parts.marginals[variable].len();
        let size = |edge: usize, side: usize| match network.edges[edge][1 - side] {
            End::Variable(variable) => n_labels(variable),
            End::Joint(_) => parts.edges[edge].rank,
        };
        let sizes = (0..network.edges.len()).map(|edge| [size(edge, 0), size(edge, 1)]).collect();
        let compile = |edge: usize, side: usize| compiled(model, &edges_of, edge, side);
        let operators = (0..network.edges.len()).map(|edge| [compile(edge, 0), compile(edge, 1)]).collect();
        let (up, root_ends, root_of) = schedule(network, &edges_of);
        let root = |end: End| match end {
            End::Variable(variable) => Root::Variable(variable),
            End::Joint(joint) => {
                let edges = network.joints[joint];
                Root::Joint { edges, sizes: edges.map(|edge| parts.edges[edge].rank), tensor: parts.joints[joint].clone() }
            }
        };
        let least = 0.5 / parts.weight.max(1.0);
        let mut plan = Self {
            nothing: Vec::new(),
            mass: Vec::new(),
            variance: 1.0 / parts.weight,
            is_skipped: Vec::new(),
            sizes,
            operators,
            up,
            roots: root_ends.into_iter().map(root).collect(),
            root_of,
            edges_of,
            ln_floor: parts
                .marginals
                .iter()
                .map(|marginal| marginal.iter().map(|&p| if p > 0.0 { p } else { least }.ln()).collect())
                .collect(),
            marginals: parts.marginals.clone(),
            quick: None,
            sides: network.edges.clone(),
        };
        plan.find_masses(model);
        plan.settle_labels(least);
        plan.find_steps();
        plan.quick = quick(&plan);
        plan
    }

    /// Computes the uninformative messages and the weights that give masses.
    fn find_masses(&mut self, model: &SpectralModel) {
        let mut nothing: Vec<[Vec<f64>; 2]> = vec![Default::default(); self.sizes.len()];
        let down = self.up.iter().rev().map(|&(edge, side)| (edge, 1 - side));
        for (edge, side) in self.up.iter().copied().chain(down) {
            let size = self.sizes[edge][side];
            let into = |from: usize| &nothing[from][self.side_into(from, edge, side)];
            nothing[edge][side] = match &self.operators[edge][side] {
                Operator::Joint { from, tensor, .. } => apply(tensor, into(from[0]), into(from[1]), size),
                Operator::Variable { from, all, .. } if from.is_empty() => all.clone(),
                Operator::Variable { from, rows, .. } => {
                    let mut out = vec![0.0; size];
                    for (label, row) in rows.chunks_exact(size).enumerate() {
                        let weight: f64 = from.iter().map(|&from| into(from)[label]).product();
                        out.iter_mut().zip(row).for_each(|(out, number)| *out += weight * number);
                    }
                    out
                }
            };
        }
        let mut mass: Vec<[Vec<f64>; 2]> = vec![Default::default(); self.sizes.len()];
        for (edge, side) in (0..self.sizes.len()).flat_map(|edge| [(edge, 0), (edge, 1)]) {
            let mut own = match self.sides[edge][1 - side] {
                End::Variable(variable) => self.marginals[variable].clone(),
                End::Joint(joint) => {
                    let edges = model.network.joints[joint];
                    let ranks = edges.map(|edge| model.parts.edges[edge].rank);
                    let port = edges.iter().position(|&it| it == edge).expect("the joint is the edge's end");
                    let into = |port: usize| {
                        let edge = edges[port];
                        &nothing[edge][usize::from(self.sides[edge][0] == End::Joint(joint))]
                    };
                    let mut own = vec![0.0; ranks[port]];
                    for (cell, value) in model.parts.joints[joint].iter().enumerate() {
                        let at = [cell / (ranks[1] * ranks[2]), cell / ranks[2] % ranks[1], cell % ranks[2]];
                        let others = (0..3).filter(|&other| other != port).map(|other| into(other)[at[other]]);
                        own[at[port]] += value * others.product::<f64>();
                    }
                    own
                }
            };
            let total: f64 = own.iter().zip(&nothing[edge][side]).map(|(a, b)| a * b).sum();
            if total.is_finite() && total > 0.0 {
                own.iter_mut().for_each(|it| *it /= total);
            }
            mass[edge][side] = own;
        }
        (self.nothing, self.mass) = (nothing, mass);
    }

    /// Handles unseen labels: they get the probability of half a row and carry no information about other variables.
    fn settle_labels(&mut self, least: f64) {
        for edge in 0..self.sizes.len() {
            for side in 0..2 {
                let (nothing, mass) = (&self.nothing[edge][side], &self.mass[edge][side]);
                let (size, receiver) = (self.sizes[edge][side], self.sides[edge][1 - side]);
                if let (Operator::Joint { tensor, .. }, End::Variable(receiver)) = (&mut self.operators[edge][side], receiver) {
                    let unseen: Vec<usize> = (0..size).filter(|&x| self.marginals[receiver][x] <= 0.0).collect();
                    if !unseen.is_empty() {
                        for numbers in tensor.chunks_exact_mut(size) {
                            let all: f64 = numbers.iter().zip(mass).map(|(a, b)| a * b).sum();
                            unseen.iter().for_each(|&x| numbers[x] = all);
                        }
                    }
                    continue;
                }
                let Operator::Variable { variable, rows, shifts, .. } = &mut self.operators[edge][side] else { continue };
                shifts.clear();
                for (row, &p) in rows.chunks_exact_mut(size).zip(&self.marginals[*variable]) {
                    if p <= 0.0 {
                        row.iter_mut().zip(nothing).for_each(|(row, nothing)| *row = least * nothing);
                    } else if let End::Variable(receiver) = receiver {
                        let of_unseen = |(row, q): (&mut f64, &f64)| {
                            if *q <= 0.0 {
                                *row = p;
                            }
                        };
                        row.iter_mut().zip(&self.marginals[receiver]).for_each(of_unseen);
                    }
                    let total: f64 = row.iter().zip(mass).map(|(a, b)| a * b).sum();
                    let far = row.iter().zip(nothing).map(|(own, nothing)| (own / total - nothing).powi(2)).sum::<f64>();
                    shifts.push(if total > 0.0 { far } else { 0.0 });
                }
            }
        }
    }

    /// Replaces the operators of joints with leaves by steps.
    fn find_steps(&mut self) {
        let mut steps = Vec::new();
        let mut is_needed = vec![[false; 2]; self.sizes.len()];
        for (edge, side) in (0..self.sizes.len()).flat_map(|edge| [(edge, 0), (edge, 1)]) {
            let Operator::Joint { from, sizes, tensor, .. } = &self.operators[edge][side] else { continue };
            let into = from.map(|from| self.side_into(from, edge, side));
            let step = [1, 0].into_iter().find_map(|leaf| {
                let (from, into) = (from[leaf], into[leaf]);
                let Operator::Variable { variable, from: others, rows, all, shifts } = &self.operators[from][into] else {
                    return None;
                };
                if !others.is_empty() {
                    return None;
                }
                let mass = |message: &[f64]| message.iter().zip(&self.mass[from][into]).map(|(a, b)| a * b).sum::<f64>();
                let known = rows.chunks_exact(all.len()).zip(shifts).map(|(message, &shift)| (message, mass(message), shift));
                let messages: Vec<(&[f64], f64, f64)> = known.chain([(&all[..], mass(all), 0.0)]).collect();
                Step::new(leaf, *variable, tensor, *sizes, self.sizes[edge][side], &messages)
            });
            for ix in (0..2).filter(|&ix| step.as_ref().is_none_or(|step| step.leaf != ix)) {
                is_needed[from[ix]][into[ix]] = true;
            }
            steps.push((edge, side, step));
        }
        for root in &self.roots {
            if let Root::Joint { edges, .. } = root {
                edges.iter().for_each(|&edge| is_needed[edge][self.side_into_root(edge, edges)] = true);
            }
        }
        let is_skipped = |edge: usize, side: usize| {
            let is_leaf = matches!(&self.operators[edge][side], Operator::Variable { from, .. } if from.is_empty());
            is_leaf && matches!(self.sides[edge][1 - side], End::Joint(_)) && !is_needed[edge][side]
        };
        self.is_skipped = (0..self.sizes.len()).map(|edge| [is_skipped(edge, 0), is_skipped(edge, 1)]).collect();
        for (edge, side, found) in steps {
            if let Operator::Joint { step, .. } = &mut self.operators[edge][side] {
                *step = found;
            }
        }
    }

    /// Returns to the general operators.
    #[cfg(test)]
    pub(super) fn drop_steps(&mut self) {
        for operator in self.operators.iter_mut().flatten() {
            if let Operator::Joint { step, .. } = operator {
                *step = None;
            }
        }
        self.is_skipped.iter_mut().for_each(|it| *it = [false; 2]);
        self.quick = None;
    }

    /// The side of an edge from which messages to a variable come.
    pub(super) fn side_towards(&self, edge: usize, variable: usize) -> usize {
        usize::from(self.sides[edge][0] == End::Variable(variable))
    }

    /// The side of the edge `from` whose messages arrive at the sender of (edge, side).
    pub(super) fn side_into(&self, from: usize, edge: usize, side: usize) -> usize {
        usize::from(self.sides[from][0] == self.sides[edge][side])
    }

    /// The side of an edge from which messages to a root joint come.
    pub(super) fn side_into_root(&self, edge: usize, edges: &[usize; 3]) -> usize {
        let other = edges.iter().find(|&&it| it != edge).expect("a joint has three edges");
        let shared = self.sides[edge].iter().position(|end| self.sides[*other].contains(end)).expect("they meet at the joint");
        1 - shared
    }

    /// Total size of all messages of a row.
    pub(super) fn n_numbers(&self) -> usize {
        self.sizes.iter().flatten().sum()
    }
}

/// Computes the numbers of a message from those of two others.
pub(super) fn apply(tensor: &[f64], a: &[f64], b: &[f64], size: usize) -> Vec<f64> {
    let mut out = vec![0.0; size];
    let products = a.iter().flat_map(|a| b.iter().map(move |b| a * b));
    for (coefficients, product) in tensor.chunks_exact(size).zip(products) {
        out.iter_mut().zip(coefficients).for_each(|(out, coefficient)| *out += coefficient * product);
    }
    out
}

/// The operator of the message from one side of an edge.
fn compiled(model: &SpectralModel, edges_of: &[Vec<usize>], edge: usize, side: usize) -> Operator {
    let (network, parts) = (&model.network, &model.parts);
    let (own, k) = (&parts.edges[edge], parts.edges[edge].rank);
    // Row of the matrix that solves for a number of the message, given the sums over the other branches, which are moments
    // with the receiver's summary.
    let solved = |row: usize, column: usize| if side == 0 { own.link[column * k + row] } else { own.link[row * k + column] };
    match network.edges[edge][side] {
        End::Joint(joint) => {
            let edges = network.joints[joint];
            let port = edges.iter().position(|&it| it == edge).expect("the joint is the edge's end");
            let from = [edges[(port + 1) % 3], edges[(port + 2) % 3]];
            let ranks = edges.map(|edge| parts.edges[edge].rank);
            let strides = [ranks[1] * ranks[2], ranks[2], 1];
            let to_message: Matrix = match network.edges[edge][1 - side] {
                End::Joint(_) => Matrix::from_fn(k, k, solved),
                // To a variable: one number per label, divided by the label's probability.
                End::Variable(variable) => {
                    let marginal = &parts.marginals[variable];
                    let readout = Matrix::from_fn(marginal.len(), k, |x, b| {
                        if marginal[x] > 0.0 { own.labels[x * k + b] / marginal[x] } else { 0.0 }
                    });
                    readout.times(&Matrix::from_fn(k, k, solved))
                }
            };
            let (a, b) = ((port + 1) % 3, (port + 2) % 3);
            let mut tensor = Vec::with_capacity(ranks[a] * ranks[b] * to_message.n_rows());
            for i in 0..ranks[a] {
                for j in 0..ranks[b] {
                    for row in 0..to_message.n_rows() {
                        let sum = |c: usize| {
                            to_message.row(row)[c] * parts.joints[joint][i * strides[a] + j * strides[b] + c * strides[port]]
                        };
                        tensor.push((0..k).map(sum).sum());
                    }
                }
            }
            Operator::Joint { from, sizes: [ranks[a], ranks[b]], tensor, step: None }
        }
        End::Variable(variable) => {
            let from = edges_of[variable].iter().copied().filter(|&it| it != edge).collect();
            let n = parts.marginals[variable].len();
            let (n_out, rows): (usize, Vec<f64>) = match network.edges[edge][1 - side] {
                End::Joint(_) => {
                    let cell = |x: usize, a: usize| (0..k).map(|b| own.labels[x * k + b] * solved(a, b)).sum();
                    (k, (0..n).flat_map(|x| (0..k).map(move |a| (x, a))).map(|(x, a)| cell(x, a)).collect())
                }
                End::Variable(other) => {
                    let marginal = &parts.marginals[other];
                    let m = marginal.len();
                    let cell = |x: usize, y: usize| {
                        let joint = if side == 0 { own.labels[x * m + y] } else { own.labels[y * n + x] };
                        if marginal[y] > 0.0 { joint / marginal[y] } else { 0.0 }
                    };
                    (m, (0..n).flat_map(|x| (0..m).map(move |y| (x, y))).map(|(x, y)| cell(x, y)).collect())
                }
            };
            let all = (0..n_out).map(|a| rows[a..].iter().step_by(n_out).sum()).collect();
            Operator::Variable { variable, from, rows, all, shifts: Vec::new() }
        }
    }
}

/// The messages towards the roots, the roots, and the root of each variable. A root is the middle of a longest path, which
/// keeps chains of dependent messages short.
fn schedule(network: &Network, edges_of: &[Vec<usize>]) -> (Vec<(usize, usize)>, Vec<End>, Vec<usize>) {
    let edges_at = |end: End| match end {
        End::Variable(variable) => edges_of[variable].as_slice(),
        End::Joint(joint) => network.joints[joint].as_slice(),
    };
    // Breadth-first search from an end: vertices with the edge by which each is reached.
    let walk = |start: End| -> Vec<(End, Option<usize>)> {
        let mut order = vec![(start, None)];
        let mut at = 0;
        while at < order.len() {
            let (end, above) = order[at];
            for &edge in edges_at(end).iter().filter(|&&edge| Some(edge) != above) {
                order.push((network.edges[edge][1 - network.side(edge, end)], Some(edge)));
            }
            at += 1;
        }
        order
    };
    let (mut up, mut roots, mut root_of) = (Vec::new(), Vec::new(), vec![usize::MAX; network.n_variables]);
    for variable in 0..network.n_variables {
        if root_of[variable] != usize::MAX {
            continue;
        }
        let far = walk(End::Variable(variable)).last().expect("a walk begins somewhere").0;
        let order = walk(far);
        // From the farthest vertex back to the middle.
        let mut path = vec![order[order.len() - 1].0];
        let above_of: std::collections::HashMap<End, Option<usize>> = order.iter().copied().collect();
        while let Some(edge) = above_of[&path[path.len() - 1]] {
            let end = path[path.len() - 1];
            path.push(network.edges[edge][1 - network.side(edge, end)]);
        }
        let root = path[path.len() / 2];
        let order = walk(root);
        for &(end, above) in order.iter().rev() {
            if let End::Variable(variable) = end {
                root_of[variable] = roots.len();
            }
            if let Some(edge) = above {
                up.push((edge, network.side(edge, end)));
            }
        }
        roots.push(root);
    }
    (up, roots, root_of)
}
