//! Exact moments of a model's population, without sampling rows.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::NodeIx;
use crate::linalg::Matrix;
use crate::model::{Distribution, LatentTree, Provenance};
use crate::spectral::estimate::{Problem, SpectralOptions};
use crate::spectral::linkers::{Linkers, Summary};
use crate::spectral::model::SpectralModel;
use crate::spectral::network::End;
use crate::spectral::pair_tables::PairTables;
use crate::spectral::triples::Triples;
use crate::{MemoryBudget, VarIx};

/// Conditional tables of a discrete model between any two of its nodes.
pub(in crate::spectral) struct Population<'a> {
    pub(in crate::spectral) model: &'a LatentTree,
    marginals: Vec<Vec<f64>>,
}

/// Tables P(v | from), computed as far as they were needed, nodes near `from` first.
struct Around<'a> {
    population: &'a Population<'a>,
    found: std::collections::HashMap<NodeIx, Matrix>,
    queue: VecDeque<NodeIx>,
}

impl<'a> Population<'a> {
    pub(in crate::spectral) fn new(model: &'a LatentTree) -> Self {
        let mut marginals: Vec<Vec<f64>> = vec![Vec::new(); model.tree().n_nodes()];
        for &node in &model.rooted().order {
            let table = table(model, node);
            marginals[node.get()] = match model.parent(node) {
                None => table.given(0).to_vec(),
                Some(parent) => {
                    let above = &marginals[parent.get()];
                    (0..table.n_states()).map(|x| above.iter().enumerate().map(|(h, p)| p * table.given(h)[x]).sum()).collect()
                }
            };
        }
        Self { model, marginals }
    }

    fn step(&self, a: NodeIx, b: NodeIx) -> Matrix {
        let (p, q) = (&self.marginals[a.get()], &self.marginals[b.get()]);
        if self.model.parent(b) == Some(a) {
            Matrix::from_fn(p.len(), q.len(), |i, j| table(self.model, b).given(i)[j])
        } else {
            Matrix::from_fn(p.len(), q.len(), |i, j| table(self.model, a).given(j)[i] * q[j] / p[i])
        }
    }

    fn around(&'a self, from: NodeIx) -> Around<'a> {
        let n = self.marginals[from.get()].len();
        let identity = Matrix::from_fn(n, n, |i, j| f64::from(u8::from(i == j)));
        Around { population: self, found: [(from, identity)].into(), queue: [from].into() }
    }

    fn node(&self, variable: usize) -> NodeIx {
        self.model.node_of(VarIx::new(variable))
    }

    /// The spectral model built from exact moments.
    pub(in crate::spectral) fn spectral(&self, k: Option<usize>, linkers: Linkers) -> SpectralModel {
        let options = SpectralOptions::new(k).linkers(linkers);
        let problem = Problem::new(self.model.tree(), self.model.schema(), &options).unwrap();
        let mut pairs = problem.first(MemoryBudget::new(1 << 32)).unwrap();
        self.fill_pairs(&mut pairs);
        let (mut triples, spectra, _) = problem.second(&pairs, f64::INFINITY).unwrap();
        self.fill_triples(&mut triples);
        let mut model = problem.model(triples, spectra, Provenance::default()).unwrap();
        // Moments of a population have no noise.
        model.parts.weight = 1e300;
        model
    }

    fn fill_pairs(&self, pairs: &mut PairTables) {
        pairs.weight = 1.0;
        for (variable, counts) in pairs.singles.iter_mut().enumerate() {
            counts.copy_from_slice(&self.marginals[self.node(variable).get()]);
        }
        let mut around: Option<(usize, Around<'_>)> = None;
        pairs.fill(|a, b| {
            if around.as_ref().is_none_or(|it| it.0 != a) {
                around = Some((a, self.around(self.node(a))));
            }
            let given = around.as_mut().unwrap().1.table(self.node(b));
            let marginal = &self.marginals[self.node(a).get()];
            (0..given.n_rows()).map(|x| given.row(x).iter().map(|p| p * marginal[x]).collect()).collect()
        });
    }

    fn fill_triples(&self, triples: &mut Triples) {
        let plan = Arc::clone(&triples.plan);
        let network = &plan.network;
        triples.weight = 1.0;
        for (variable, counts) in triples.singles.iter_mut().enumerate() {
            counts.copy_from_slice(&self.marginals[self.node(variable).get()]);
        }
        // E[s | state], one column per state.
        let mean = |around: &mut Around<'_>, edge: usize, side: usize| -> Matrix {
            let k = plan.ranks[edge];
            let Summary { variables, numbers } = &plan.summaries[edge][side];
            let mut out = Matrix::zeros(k, around.n_states());
            out.row_mut(0).fill(1.0);
            for (&variable, numbers) in variables.iter().zip(numbers) {
                let given = around.table(self.node(variable)).clone();
                for state in 0..given.n_rows() {
                    for (x, p) in given.row(state).iter().enumerate() {
                        (1..k).for_each(|c| out.row_mut(c)[state] += p * numbers[x * (k - 1) + c - 1]);
                    }
                }
            }
            out
        };
        for joint in 0..network.joints.len() {
            let node = NodeIx::new(network.nodes[joint]);
            let mut around = self.around(node);
            let prior = &self.marginals[node.get()];
            let branches = network.joints[joint].map(|edge| mean(&mut around, edge, 1 - network.side(edge, End::Joint(joint))));
            let [a, b, c] = &branches;
            let mut cells = Vec::new();
            for i in 0..a.n_rows() {
                for j in 0..b.n_rows() {
                    for l in 0..c.n_rows() {
                        cells.push((0..prior.len()).map(|h| prior[h] * a.row(i)[h] * b.row(j)[h] * c.row(l)[h]).sum());
                    }
                }
            }
            triples.joints[joint] = cells;
            for edge in network.joints[joint] {
                let k = plan.ranks[edge];
                let sides = [mean(&mut around, edge, 0), mean(&mut around, edge, 1)];
                let cross =
                    |i: usize, j: usize| (0..prior.len()).map(|h| prior[h] * sides[0].row(i)[h] * sides[1].row(j)[h]).sum();
                triples.edges[edge] = (0..k * k).map(|at| cross(at / k, at % k)).collect();
                let side = network.side(edge, End::Joint(joint));
                if let End::Variable(variable) = network.edges[edge][1 - side] {
                    let given = around.table(self.node(variable)).clone();
                    let cell = |x: usize, b: usize| {
                        (0..prior.len()).map(|h| prior[h] * given.row(h)[x] * sides[side].row(b)[h]).sum::<f64>()
                    };
                    triples.labels[edge] = (0..given.n_cols() * k).map(|at| cell(at / k, at % k)).collect();
                }
            }
        }
        for (edge, ends) in network.edges.iter().enumerate() {
            if let [End::Variable(a), End::Variable(b)] = *ends {
                let given = self.step(self.node(a), self.node(b));
                let marginal = &self.marginals[self.node(a).get()];
                let cells = (0..given.n_rows()).flat_map(|x| given.row(x).iter().map(|p| p * marginal[x]).collect::<Vec<_>>());
                triples.labels[edge] = cells.collect();
            }
        }
    }
}

impl Around<'_> {
    fn n_states(&self) -> usize {
        self.found.values().next().unwrap().n_rows()
    }

    fn table(&mut self, node: NodeIx) -> &Matrix {
        while !self.found.contains_key(&node) {
            let next = self.queue.pop_front().expect("the tree is connected");
            for link in self.population.model.tree().links(next) {
                if !self.found.contains_key(&link.to) {
                    let table = self.found[&next].times(&self.population.step(next, link.to));
                    self.found.insert(link.to, table);
                    self.queue.push_back(link.to);
                }
            }
        }
        &self.found[&node]
    }
}

fn table(model: &LatentTree, node: NodeIx) -> &crate::model::Table {
    match model.distribution(node) {
        Distribution::Discrete(table) => table,
        _ => panic!("the model is discrete"),
    }
}
