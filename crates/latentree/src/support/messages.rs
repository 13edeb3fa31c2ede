//! What the rows say about a node from one side: the likelihood of its states, for every directed edge of a discrete model.
//!
//! `L(a → u)` holds, in every row, the probability of all cells on the side of `a` given each state of `a`, up to a factor of the row. It comes from the
//! messages of the other neighbours of `a` by the table `P(c | a)`, which is the model's own downward, and follows by Bayes' rule upward.

use super::sample::{Cells, MISSING, Sample};
use crate::index::{ColIx, NodeIx};
use crate::model::{Distribution, Emission, LatentTree, Table};

/// Conditional tables in both directions of every edge, and the likelihoods along them.
pub(super) struct Messages<'a> {
    model: &'a LatentTree,
    sample: &'a Sample,
    /// The marginal of each discrete node.
    marginals: Vec<Vec<f64>>,
    /// Likelihoods of the states of a node by what is below it, itself included; nothing for leaves.
    below: Vec<Vec<f64>>,
    /// Likelihoods of the states of a node's parent by what is not below the node.
    above: Vec<Vec<f64>>,
}

impl<'a> Messages<'a> {
    pub(super) fn new(model: &'a LatentTree, sample: &'a Sample) -> Self {
        let n_nodes = model.tree().n_nodes();
        let mut messages = Self {
            model,
            sample,
            marginals: vec![Vec::new(); n_nodes],
            below: vec![Vec::new(); n_nodes],
            above: vec![Vec::new(); n_nodes],
        };
        let order = &model.rooted().order;
        for &node in order {
            if let Distribution::Discrete(table) = model.distribution(node) {
                let parent = model.parent(node).map_or(&[1.0][..], |parent| &messages.marginals[parent.get()]);
                let marginal = (0..table.n_states()).map(|state| table.rows().zip(parent).map(|(row, p)| p * row[state]).sum());
                messages.marginals[node.get()] = marginal.collect();
            }
        }
        let children = model.rooted().children();
        for &node in order.iter().rev() {
            if messages.is_inner(node) {
                let mut likelihood = messages.own(node);
                for &child in &children[node.get()] {
                    messages.multiply(&mut likelihood, node, child);
                }
                messages.below[node.get()] = likelihood;
            }
        }
        for &node in order {
            for &child in children[node.get()].iter().filter(|&&child| model.tree().degree(child) > 1) {
                let mut likelihood = messages.own(node);
                let others = children[node.get()].iter().copied().filter(|&other| other != child);
                for other in model.parent(node).into_iter().chain(others) {
                    messages.multiply(&mut likelihood, node, other);
                }
                messages.above[child.get()] = likelihood;
            }
        }
        messages
    }

    /// Bytes per row of the likelihoods of a model.
    pub(super) fn bytes_per_row(model: &LatentTree) -> usize {
        let inner = model.tree().node_ixs().filter(|&node| model.tree().degree(node) > 1);
        let states = |node: NodeIx| model.n_states(node).unwrap_or(0);
        8 * inner.map(|node| states(node) + model.parent(node).map_or(0, states)).sum::<usize>()
            + 8 * model.schema().columns().len()
    }

    fn is_inner(&self, node: NodeIx) -> bool {
        self.model.tree().degree(node) > 1
    }

    fn columns(&self, node: NodeIx) -> &[ColIx] {
        self.model.variable(node).map_or(&[], |variable| &self.model.schema().variable(variable).columns)
    }

    /// The likelihood of an inner node's states by its own cell.
    fn own(&self, node: NodeIx) -> Vec<f64> {
        let k = self.model.n_states(node).unwrap_or(1);
        let mut values = vec![1.0; k * self.sample.n_rows()];
        if let Some(&column) = self.columns(node).first()
            && let Cells::Codes(codes) = &self.sample.columns[column.get()]
        {
            for (row, &code) in codes.iter().enumerate().filter(|(_, code)| **code != MISSING) {
                (0..k).filter(|&state| state != code as usize).for_each(|state| values[row * k + state] = 0.0);
            }
        }
        values
    }

    /// `P(other | node)` for neighbours that are both discrete.
    pub(super) fn conditional(&self, node: NodeIx, other: NodeIx) -> Table {
        let model = self.model;
        if model.parent(other) == Some(node) {
            let Distribution::Discrete(table) = model.distribution(other) else { unreachable!("both are discrete") };
            return table.clone();
        }
        let Distribution::Discrete(table) = model.distribution(node) else { unreachable!("both are discrete") };
        let prior = &self.marginals[other.get()];
        let values = (0..table.n_states()).flat_map(|state| {
            let joint: Vec<f64> = table.rows().zip(prior).map(|(row, p)| p * row[state]).collect();
            let sum: f64 = joint.iter().sum();
            let n = joint.len();
            joint.into_iter().map(move |value| if sum > 0.0 { value / sum } else { 1.0 / n as f64 })
        });
        Table::new(table.n_parent_states(), values.collect())
    }

    /// The marginal of a discrete node.
    pub(super) fn marginal(&self, node: NodeIx) -> &[f64] {
        &self.marginals[node.get()]
    }

    /// What the side of `other` says, seen from its neighbour `node`, and the parameters that tie it to `node`.
    pub(super) fn branch(&self, node: NodeIx, other: NodeIx) -> (Vec<Part<'_>>, Vec<Emission>) {
        if self.is_inner(other) {
            let is_below = self.model.parent(other) == Some(node);
            let values = if is_below { &self.below[other.get()] } else { &self.above[node.get()] };
            let table = self.conditional(node, other);
            return (vec![Part::Likelihood { values, n_states: table.n_states() }], vec![Emission::Categorical(table)]);
        }
        let parameters = match self.model.distribution(other) {
            Distribution::Emission(Emission::Group(members)) => members.clone(),
            Distribution::Emission(emission) => vec![emission.clone()],
            _ => vec![Emission::Categorical(self.conditional(node, other))],
        };
        let parts = self.columns(other).iter().zip(&parameters).map(|(column, parameter)| {
            match (&self.sample.columns[column.get()], parameter) {
                (Cells::Codes(codes), Emission::Categorical(table)) => Part::Codes { codes, n_states: table.n_states() },
                (Cells::Reals(values), _) => Part::Reals { values },
                (Cells::Codes(_), _) => unreachable!("a discrete column has a table"),
            }
        });
        // A hidden leaf has no columns and says nothing.
        let parts: Vec<Part<'_>> = parts.collect();
        let parameters = if parts.is_empty() { Vec::new() } else { parameters };
        (parts, parameters)
    }

    /// Multiplies likelihoods of the states of `node` by what the side of `other` says.
    fn multiply(&self, likelihood: &mut [f64], node: NodeIx, other: NodeIx) {
        let k = self.model.n_states(node).unwrap_or(1);
        let (parts, parameters) = self.branch(node, other);
        let mut message = vec![0.0; k];
        for (part, parameter) in parts.iter().zip(&parameters) {
            let reader = Reader::new(*part, parameter, k);
            for (row, values) in likelihood.chunks_exact_mut(k).enumerate() {
                reader.read(row, &mut message);
                values.iter_mut().zip(&message).for_each(|(value, factor)| *value *= factor);
                let largest = values.iter().copied().fold(0.0, f64::max);
                if largest > 0.0 {
                    values.iter_mut().for_each(|value| *value /= largest);
                } else {
                    values.fill(1.0);
                }
            }
        }
    }
}

/// One thing that is seen of a branch, in every row.
#[derive(Debug, Clone, Copy)]
pub(super) enum Part<'a> {
    /// Codes of a discrete leaf.
    Codes { codes: &'a [u32], n_states: usize },
    /// Likelihoods of the states of an inner node, row by row.
    Likelihood { values: &'a [f64], n_states: usize },
    /// Numbers of a continuous or count leaf.
    Reals { values: &'a [f64] },
}

impl Part<'_> {
    /// What tells a row from others.
    pub(super) fn add_to_key(&self, row: usize, key: &mut Vec<u64>) {
        match *self {
            Part::Codes { codes, .. } => key.push(u64::from(codes[row])),
            Part::Likelihood { values, n_states } => {
                key.extend(values[row * n_states..][..n_states].iter().map(|value| value.to_bits()))
            }
            Part::Reals { values } => key.push(values[row].to_bits()),
        }
    }

    /// A copy for some rows.
    pub(super) fn chosen(&self, rows: &[usize]) -> OwnPart {
        match *self {
            Part::Codes { codes, n_states } => OwnPart::Codes { codes: rows.iter().map(|&row| codes[row]).collect(), n_states },
            Part::Likelihood { values, n_states } => {
                let values = rows.iter().flat_map(|&row| &values[row * n_states..][..n_states]).copied().collect();
                OwnPart::Likelihood { values, n_states }
            }
            Part::Reals { values } => OwnPart::Reals { values: rows.iter().map(|&row| values[row]).collect() },
        }
    }
}

/// A [`Part`] with its own copy of what it says.
#[derive(Debug, Clone)]
pub(super) enum OwnPart {
    Codes { codes: Vec<u32>, n_states: usize },
    Likelihood { values: Vec<f64>, n_states: usize },
    Reals { values: Vec<f64> },
}

impl OwnPart {
    pub(super) fn borrowed(&self) -> Part<'_> {
        match self {
            Self::Codes { codes, n_states } => Part::Codes { codes, n_states: *n_states },
            Self::Likelihood { values, n_states } => Part::Likelihood { values, n_states: *n_states },
            Self::Reals { values } => Part::Reals { values },
        }
    }
}

/// Reads what a part says about each state of its centre, given parameters.
pub(super) struct Reader<'a> {
    part: Part<'a>,
    k: usize,
    /// Tables by state of the part; of densities what does not depend on the row.
    values: Vec<f64>,
    is_poisson: bool,
}

impl<'a> Reader<'a> {
    pub(super) fn new(part: Part<'a>, parameter: &Emission, k: usize) -> Self {
        let (values, is_poisson) = match parameter {
            Emission::Categorical(table) => {
                ((0..table.n_states()).flat_map(|state| table.rows().map(move |row| row[state])).collect(), false)
            }
            Emission::Gaussian { means, variances } => {
                let parts = means.iter().zip(variances);
                (
                    parts
                        .flat_map(|(&mean, &variance)| [mean, -0.5 * (std::f64::consts::TAU * variance).ln(), 0.5 / variance])
                        .collect(),
                    false,
                )
            }
            Emission::Poisson { rates } => (rates.iter().flat_map(|&rate| [rate, rate.max(1e-300).ln()]).collect(), true),
            Emission::Group(_) => unreachable!("members of a group come one by one"),
        };
        Self { part, k, values, is_poisson }
    }

    /// Writes the likelihood of each state of the centre, and gives the logarithm of the factor that was taken out.
    #[inline]
    pub(super) fn read(&self, row: usize, message: &mut [f64]) -> f64 {
        let k = self.k;
        match self.part {
            Part::Codes { codes, .. } => {
                match codes[row] {
                    MISSING => message[..k].fill(1.0),
                    code => message[..k].copy_from_slice(&self.values[code as usize * k..][..k]),
                }
                0.0
            }
            Part::Likelihood { values, n_states } => {
                message[..k].fill(0.0);
                for (likelihood, column) in values[row * n_states..][..n_states].iter().zip(self.values.chunks_exact(k)) {
                    message.iter_mut().zip(column).for_each(|(sum, value)| *sum += likelihood * value);
                }
                0.0
            }
            Part::Reals { values } => {
                let value = values[row];
                if value.is_nan() {
                    message[..k].fill(1.0);
                    return 0.0;
                }
                let mut largest = f64::NEG_INFINITY;
                for (state, slot) in message[..k].iter_mut().enumerate() {
                    *slot = if self.is_poisson {
                        value * self.values[2 * state + 1] - self.values[2 * state]
                    } else {
                        let [mean, constant, precision] = [0, 1, 2].map(|at| self.values[3 * state + at]);
                        constant - precision * (value - mean) * (value - mean)
                    };
                    largest = largest.max(*slot);
                }
                message[..k].iter_mut().for_each(|slot| *slot = (*slot - largest).exp());
                largest
            }
        }
    }

    /// Adds a row's expected counts to `sums`, laid out as [`counts_len`] says; `shares` are the posterior of the centre times the row's weight, `message`
    /// is what [`read`](Self::read) wrote.
    #[inline]
    pub(super) fn count(&self, row: usize, shares: &[f64], message: &[f64], sums: &mut [f64]) {
        let k = self.k;
        match self.part {
            Part::Codes { codes, .. } => {
                if codes[row] != MISSING {
                    let own = &mut sums[codes[row] as usize * k..][..k];
                    own.iter_mut().zip(shares).for_each(|(sum, share)| *sum += share);
                }
            }
            Part::Likelihood { values, n_states } => {
                for (state, likelihood) in values[row * n_states..][..n_states].iter().enumerate() {
                    for centre in 0..k {
                        if message[centre] > 0.0 {
                            let at = state * k + centre;
                            sums[at] += shares[centre] * self.values[at] * likelihood / message[centre];
                        }
                    }
                }
            }
            Part::Reals { values } => {
                let value = values[row] - self.shift();
                if !value.is_nan() {
                    for (sums, share) in sums.chunks_exact_mut(3).zip(shares) {
                        sums[0] += share;
                        sums[1] += share * value;
                        sums[2] += share * value * value;
                    }
                }
            }
        }
    }

    /// What numbers are counted from: squares of large numbers would lose digits.
    pub(super) fn shift(&self) -> f64 {
        if self.is_poisson { 0.0 } else { self.values[0] }
    }

    /// The numbers that expected counts take.
    pub(super) fn counts_len(&self) -> usize {
        match self.part {
            Part::Codes { n_states, .. } | Part::Likelihood { n_states, .. } => n_states * self.k,
            Part::Reals { .. } => 3 * self.k,
        }
    }
}
