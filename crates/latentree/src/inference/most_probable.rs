//! The most probable joint assignment of all unknown variables: max–product with backtracking.
//!
//! In logarithms, so that nothing can underflow: `m_v(p) = max_s [ln T(s|p) + Σ_c m_c(s)]`, remembering which state attains it;
//! ties go to the lower state. Missing continuous and count leaves are summed out (they are leaves, so this is exact for the
//! rest) and then set to their most probable value given their parent's state. In a Gaussian tree the most probable values are
//! the posterior means.

use rayon::prelude::*;

use super::evidence::EvidenceBlock;
use super::plan::{Plan, Role, Step};
use super::{Engine, Evidence, Inference, Passed, Sweep};
use crate::data::Batch;
use crate::error::Result;
use crate::index::NodeIx;
use crate::model::{Distribution, Emission};

/// The most probable joint assignment in each of some rows.
#[derive(Debug, Clone, PartialEq)]
pub struct MostProbable {
    n_nodes: usize,
    values: Vec<f64>,
    log_probability: Vec<f64>,
}

impl MostProbable {
    /// Code or number of a node in a row; NaN for a group, and in a row of probability zero.
    #[must_use]
    pub fn get(&self, row: usize, node: NodeIx) -> f64 {
        self.values[row * self.n_nodes + node.get()]
    }

    /// Log-probability (log-density) of each row's evidence together with the assignment of the discrete nodes; in a
    /// Gaussian tree, of all nodes.
    #[must_use]
    pub fn log_probability(&self) -> &[f64] {
        &self.log_probability
    }

    /// Number of rows.
    #[must_use]
    pub fn n_rows(&self) -> usize {
        self.log_probability.len()
    }

    fn concat(n_nodes: usize, parts: Vec<(Vec<f64>, Vec<f64>)>) -> Self {
        let (values, log_probability): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
        Self { n_nodes, values: values.concat(), log_probability: log_probability.concat() }
    }
}

impl Inference<'_> {
    /// The most probable joint assignment of every row of a batch.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) if the batch has other columns.
    pub fn most_probable(&self, batch: &Batch) -> Result<MostProbable> {
        let n_nodes = self.model.tree().n_nodes();
        let parts = match &*self.engine {
            Engine::Gaussian(_) => {
                self.over_batch(batch, Sweep::UpAndDown, |_, block, passed| self.gaussian_mode(block, passed))?
            }
            Engine::Discrete(plan) => {
                self.check(batch)?;
                let maximiser = Maximiser::new(self, plan);
                let starts: Vec<usize> = (0..batch.n_rows).step_by(plan.block_rows).collect();
                let parts = starts.into_par_iter().map(|start| {
                    let rows = start..batch.n_rows.min(start + plan.block_rows);
                    EvidenceBlock::with_batch(batch, rows, &plan.is_small, |block| maximiser.run(block))
                });
                parts.collect()
            }
        };
        Ok(MostProbable::concat(n_nodes, parts))
    }

    /// The most probable joint assignment given some evidence.
    #[must_use]
    pub fn most_probable_given(&self, evidence: &Evidence) -> MostProbable {
        let part = EvidenceBlock::with_repeated(evidence, 1, |block| match &*self.engine {
            Engine::Gaussian(_) => self.over_block(block, Sweep::UpAndDown, |passed| self.gaussian_mode(block, passed)),
            Engine::Discrete(plan) => Maximiser::new(self, plan).run(block),
        });
        MostProbable::concat(self.model.tree().n_nodes(), vec![part])
    }

    /// Means, and the log-density at them: that of the evidence, plus that of each unknown at its mean given what is above it.
    fn gaussian_mode(&self, block: &EvidenceBlock<'_>, passed: &Passed<'_>) -> (Vec<f64>, Vec<f64>) {
        let Passed::Gaussian(plan, workspace) = passed else { unreachable!("a Gaussian engine passes Gaussian messages") };
        let n_nodes = self.model.tree().n_nodes();
        let mut values = vec![0.0; block.n_rows * n_nodes];
        let mut density = workspace.ln_likelihood().to_vec();
        for (row, values) in values.chunks_exact_mut(n_nodes).enumerate() {
            workspace.draw(plan, row, || 0.0, values);
            density[row] += workspace.ln_density_at_mean(plan, row);
        }
        (values, density)
    }
}

/// Tables in logarithms, and where each node's states stand in a row's scratch arrays.
struct Maximiser<'a> {
    inference: &'a Inference<'a>,
    plan: &'a Plan,
    /// By step: the table of a buffered node, or the leaf's by state.
    ln_tables: Vec<Vec<f64>>,
}

impl<'a> Maximiser<'a> {
    fn new(inference: &'a Inference<'a>, plan: &'a Plan) -> Self {
        let ln = |values: &Vec<f64>| values.iter().map(|value| value.ln()).collect();
        let ln_tables = plan.steps.iter().map(|step| match &step.role {
            Role::Buffered { table, .. } => ln(table),
            Role::Leaf { by_state, .. } => ln(by_state),
            Role::Emitter { .. } => Vec::new(),
        });
        Self { inference, plan, ln_tables: ln_tables.collect() }
    }

    /// Values of all nodes, row by row, and each row's log-probability.
    fn run(&self, block: &EvidenceBlock<'_>) -> (Vec<f64>, Vec<f64>) {
        let n_nodes = self.plan.steps.len();
        let mut values = vec![f64::NAN; block.n_rows * n_nodes];
        let mut total = vec![0.0; block.n_rows];
        let mut sums = vec![0.0; self.plan.n_states];
        // The best state of each buffered node for every state of its parent.
        let mut best = vec![0_u32; self.plan.n_messages];
        let mut densities = self.densities(block);
        for row in 0..block.n_rows {
            sums.fill(0.0);
            for (ix, step) in self.plan.steps.iter().enumerate() {
                total[row] += self.up(ix, step, block, row, &mut sums, &mut best, &mut densities);
            }
            if total[row] > f64::NEG_INFINITY {
                self.backtrack(block, row, &best, &mut values[row * n_nodes..][..n_nodes]);
            }
        }
        (values, total)
    }

    /// Log-densities of emitters: per step, per state of the parent, per row.
    fn densities(&self, block: &EvidenceBlock<'_>) -> Vec<Vec<f64>> {
        let per_step = self.plan.steps.iter().map(|step| match &step.role {
            Role::Emitter { terms } => {
                let mut out = vec![0.0; step.n_parent_states * block.n_rows];
                super::density::add_ln_density(terms, block, block.n_rows, &mut out);
                out
            }
            _ => Vec::new(),
        });
        per_step.collect()
    }

    /// Adds a node's best message to its parent; gives what a root adds to the total.
    #[expect(clippy::too_many_arguments, reason = "one row's scratch arrays")]
    fn up(
        &self,
        ix: usize,
        step: &Step,
        block: &EvidenceBlock<'_>,
        row: usize,
        sums: &mut [f64],
        best: &mut [u32],
        densities: &mut [Vec<f64>],
    ) -> f64 {
        let k = step.n_parent_states;
        let table = &self.ln_tables[ix];
        let mut at_root = 0.0;
        let mut add = |sums: &mut [f64], parent_state: usize, value: f64| match step.parent_offset {
            Some(parent) => sums[parent + parent_state] += value,
            None => at_root += value,
        };
        match &step.role {
            Role::Buffered { offset, message, column, .. } => {
                let cells = column.map_or_else(|| block.hidden(step.node), |column| block.column(column));
                let known = cells.code(row);
                for parent_state in 0..k {
                    let mut top = (f64::NEG_INFINITY, 0);
                    for state in known.map_or(0..step.n_states, |code| code..code + 1) {
                        let value = table[parent_state * step.n_states + state] + sums[offset + state];
                        if value > top.0 || state == known.unwrap_or(0) {
                            top = (value, state);
                        }
                    }
                    best[message + parent_state] = top.1 as u32;
                    add(sums, parent_state, top.0);
                }
            }
            Role::Leaf { column, .. } => {
                let known = block.column(*column).code(row);
                for parent_state in 0..k {
                    let value = match known {
                        Some(code) => table[code * k + parent_state],
                        None => self.best_leaf(ix, step, parent_state).1,
                    };
                    add(sums, parent_state, value);
                }
            }
            Role::Emitter { .. } => {
                for parent_state in 0..k {
                    add(sums, parent_state, densities[ix][parent_state * block.n_rows + row]);
                }
            }
        }
        at_root
    }

    /// The most probable state of a missing leaf given its parent's state, and its logarithm.
    fn best_leaf(&self, ix: usize, step: &Step, parent_state: usize) -> (usize, f64) {
        let k = step.n_parent_states;
        let values = (0..step.n_states).map(|state| (state, self.ln_tables[ix][state * k + parent_state]));
        values.fold((0, f64::NEG_INFINITY), |top, it| if it.1 > top.1 { it } else { top })
    }

    /// Parents first, every node takes the state that its parent's state remembers.
    fn backtrack(&self, block: &EvidenceBlock<'_>, row: usize, best: &[u32], values: &mut [f64]) {
        let model = self.inference.model;
        for (ix, step) in self.plan.steps.iter().enumerate().rev() {
            let parent_state = model.parent(step.node).map_or(0, |parent| values[parent.get()] as usize);
            values[step.node.get()] = match &step.role {
                Role::Buffered { message, .. } => f64::from(best[message + parent_state]),
                Role::Leaf { column, .. } => match block.column(*column).code(row) {
                    Some(code) => code as f64,
                    None => self.best_leaf(ix, step, parent_state).0 as f64,
                },
                Role::Emitter { .. } => {
                    let variable = model.variable(step.node).expect("an emitter is observed");
                    let known = block.column(model.schema().variable(variable).columns[0]).number(row);
                    match model.distribution(step.node) {
                        Distribution::Emission(Emission::Group(_)) => f64::NAN,
                        _ if !known.is_nan() => known,
                        Distribution::Emission(Emission::Gaussian { means, .. }) => means[parent_state],
                        Distribution::Emission(Emission::Poisson { rates }) => rates[parent_state].floor(),
                        _ => f64::NAN,
                    }
                }
            };
        }
    }
}
