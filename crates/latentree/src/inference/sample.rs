//! Rows drawn from a model, or from a model given evidence: forward sampling, parents first, from
//! `P(s | p, evidence) ∝ T(s|p) Π_c m_c(s)`.
//!
//! Randomness: one ChaCha stream per run of [`DRAW_ROWS`] rows, chosen by the run's position, so that the rows do not
//! depend on the number of threads nor on how they are batched.

use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution as _, Poisson, StandardNormal};
use rayon::prelude::*;

use super::evidence::EvidenceBlock;
use super::number::Number;
use super::plan::{Plan, Role};
use super::sum_product::Workspace;
use super::{Evidence, Inference, Passed, Sweep};
use crate::data::{Batch, BatchSource, Block, ColumnData, Dataset, Kind, Schema};
use crate::error::Result;
use crate::index::{ColIx, NodeIx};
use crate::limits;
use crate::memory::MemoryBudget;
use crate::model::{Distribution, Emission, LatentTree};

/// Rows drawn with one random stream.
const DRAW_ROWS: usize = 512;

/// A source of rows drawn from a model; made by [`Inference::sampler`].
#[derive(Debug)]
pub struct Sampler<'m> {
    inference: &'m Inference<'m>,
    schema: Arc<Schema>,
    hidden: Vec<NodeIx>,
    evidence: Evidence,
    n_rows: u64,
    seed: u64,
    missing: f64,
    next: u64,
}

impl<'m> Inference<'m> {
    /// A source of `n_rows` rows drawn from the model: observed columns only.
    #[must_use]
    pub fn sampler(&'m self, n_rows: u64, seed: u64) -> Sampler<'m> {
        Sampler {
            inference: self,
            schema: Arc::clone(self.model.schema()),
            hidden: Vec::new(),
            evidence: Evidence::none(self.model),
            n_rows,
            seed,
            missing: 0.0,
            next: 0,
        }
    }

    /// Draws rows into memory.
    ///
    /// # Errors
    /// [`Error::Option`](crate::Error::Option) if they are more than [`MAX_DRAWN_ROWS`](limits::MAX_DRAWN_ROWS) or would not
    /// fit the machine's memory.
    pub fn sample(&self, n_rows: u64, seed: u64) -> Result<Dataset> {
        limits::check("sample.rows", n_rows, 0..=limits::MAX_DRAWN_ROWS)?;
        let width = |kind: &Kind| match ColumnData::for_kind(kind, 0) {
            ColumnData::Codes8(_) => 1,
            ColumnData::Codes(_) => 4,
            ColumnData::Reals(_) => 8,
        };
        let row_bytes: u64 = self.model.schema().columns().iter().map(|column| width(&column.kind)).sum();
        let what = format!("{n_rows} rows of {} columns", self.model.schema().columns().len());
        MemoryBudget::of_machine().check_option("sample.rows", &what, n_rows.saturating_mul(row_bytes), "draw fewer rows")?;
        Dataset::read(&mut self.sampler(n_rows, seed))
    }

    /// Draws, for every row of a batch, all nodes that are not known from their joint posterior. Gives codes or numbers by node,
    /// row after row; a group's node, and all of a row of probability zero, is NaN.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) if the batch has other columns.
    pub fn sample_posterior(&self, batch: &Batch, seed: u64) -> Result<Vec<f64>> {
        let n_nodes = self.model.tree().n_nodes();
        let blocks = self.over_batch(batch, Sweep::Up, |rows, block, passed| {
            let mut values = vec![f64::NAN; rows.len() * n_nodes];
            for (at, row) in rows.enumerate() {
                // A stream per row: blocks differ in size from model to model.
                let mut rng = ChaCha8Rng::seed_from_u64(seed);
                rng.set_stream(batch.first_row + row as u64);
                if passed.ln_likelihood()[at] > f64::NEG_INFINITY {
                    self.draw(block, passed, at, &mut rng, &mut values[at * n_nodes..][..n_nodes], &mut |_, _| {});
                }
            }
            values
        })?;
        Ok(blocks.concat())
    }

    /// All cells by column, with the missing ones of every row drawn from their joint posterior.
    pub(super) fn impute_by_draws(&self, batch: &Batch, seed: u64) -> Result<Vec<Vec<f64>>> {
        let schema = self.model.schema();
        let n_columns = schema.columns().len();
        let blocks = self.over_batch(batch, Sweep::Up, |rows, block, passed| {
            let mut cells = vec![vec![f64::NAN; rows.len()]; n_columns];
            let mut values = vec![f64::NAN; self.model.tree().n_nodes()];
            for (at, row) in rows.enumerate() {
                for (ix, column) in cells.iter_mut().enumerate() {
                    column[at] = block.column(ColIx::new(ix)).number(at);
                }
                if passed.ln_likelihood()[at] == f64::NEG_INFINITY {
                    continue;
                }
                // A stream per row: blocks differ in size from model to model.
                let mut rng = ChaCha8Rng::seed_from_u64(seed);
                rng.set_stream(batch.first_row + row as u64);
                self.draw(block, passed, at, &mut rng, &mut values, &mut |column, value| cells[column.get()][at] = value);
                for (variable, ix) in schema.variables().iter().zip(schema.variable_ixs()) {
                    let cell = &mut cells[variable.columns[0].get()][at];
                    if !variable.is_group && cell.is_nan() {
                        *cell = values[self.model.node_of(ix).get()];
                    }
                }
            }
            cells
        })?;
        let mut columns = vec![Vec::with_capacity(batch.n_rows); n_columns];
        for block in blocks {
            columns.iter_mut().zip(block).for_each(|(column, cells)| column.extend(cells));
        }
        Ok(columns)
    }

    /// Draws all unknown nodes of a row into `values`, and members of groups through `put_member(column, value)`.
    fn draw(
        &self,
        block: &EvidenceBlock<'_>,
        passed: &Passed<'_>,
        row: usize,
        rng: &mut ChaCha8Rng,
        values: &mut [f64],
        put_member: &mut dyn FnMut(ColIx, f64),
    ) {
        match passed {
            Passed::Plain(plan, workspace) => self.draw_discrete(plan, workspace, block, row, rng, values, put_member),
            Passed::Wide(plan, workspace) => self.draw_discrete(plan, workspace, block, row, rng, values, put_member),
            Passed::Gaussian(plan, workspace) => workspace.draw(plan, row, || StandardNormal.sample(rng), values),
        }
    }

    #[expect(clippy::too_many_arguments, reason = "one row's arrays and generator")]
    fn draw_discrete<N: Number>(
        &self,
        plan: &Plan,
        workspace: &Workspace<N>,
        block: &EvidenceBlock<'_>,
        row: usize,
        rng: &mut ChaCha8Rng,
        values: &mut [f64],
        put_member: &mut dyn FnMut(ColIx, f64),
    ) {
        for step in plan.steps.iter().rev() {
            let parent_state = self.model.parent(step.node).map_or(0, |parent| values[parent.get()] as usize);
            values[step.node.get()] = match &step.role {
                Role::Buffered { offset, message, table, .. } => {
                    let total = workspace.message(*message, parent_state)[row];
                    let weight = |state: usize| {
                        let product = workspace.product(*offset, state)[row];
                        product.times_f64(table[parent_state * step.n_states + state]).ratio(total).to_f64()
                    };
                    choose(rng.random(), (0..step.n_states).map(weight)) as f64
                }
                Role::Leaf { column, by_state } => match block.column(*column).code(row) {
                    Some(code) => code as f64,
                    None => {
                        let k = step.n_parent_states;
                        choose(rng.random(), (0..step.n_states).map(|state| by_state[state * k + parent_state])) as f64
                    }
                },
                Role::Emitter { .. } => {
                    let Distribution::Emission(emission) = self.model.distribution(step.node) else {
                        unreachable!("an emitter emits")
                    };
                    let variable = self.model.variable(step.node).expect("an emitter is observed");
                    let columns = &self.model.schema().variable(variable).columns;
                    let known = |column: ColIx| Some(block.column(column).number(row)).filter(|value| !value.is_nan());
                    match emission {
                        Emission::Group(members) => {
                            for (member, &column) in members.iter().zip(columns) {
                                put_member(column, known(column).unwrap_or_else(|| emit(member, parent_state, rng)));
                            }
                            f64::NAN
                        }
                        single => known(columns[0]).unwrap_or_else(|| emit(single, parent_state, rng)),
                    }
                }
            };
        }
    }
}

/// The state whose share of the unit interval holds `u`; the last possible one against rounding.
fn choose(u: f64, weights: impl Iterator<Item = f64>) -> usize {
    let mut sum = 0.0;
    let mut last = 0;
    for (state, weight) in weights.enumerate() {
        if weight > 0.0 {
            sum += weight;
            last = state;
            if u < sum {
                return state;
            }
        }
    }
    last
}

fn emit(emission: &Emission, parent_state: usize, rng: &mut ChaCha8Rng) -> f64 {
    match emission {
        Emission::Categorical(table) => choose(rng.random(), table.given(parent_state).iter().copied()) as f64,
        Emission::Gaussian { means, variances } => {
            let normal: f64 = StandardNormal.sample(rng);
            means[parent_state] + variances[parent_state].sqrt() * normal
        }
        Emission::Poisson { rates } => Poisson::new(rates[parent_state]).map_or(0.0, |poisson| poisson.sample(rng)),
        Emission::Group(_) => f64::NAN,
    }
}

impl Sampler<'_> {
    /// Draws given some evidence: known values are repeated in every row.
    ///
    /// # Errors
    /// [`Error::Query`](crate::Error::Query) if the evidence has probability zero.
    pub fn given(mut self, evidence: Evidence) -> Result<Self> {
        if self.inference.log_evidence(&evidence) == f64::NEG_INFINITY {
            return Err(super::posterior::impossible());
        }
        self.evidence = evidence;
        Ok(self)
    }

    /// Keeps the hidden nodes as further columns.
    ///
    /// # Errors
    /// [`Error::Data`](crate::Error::Data) if a hidden node has the name of a group's member.
    pub fn with_hidden(mut self) -> Result<Self> {
        let model = self.inference.model;
        self.hidden = model.hidden().collect();
        self.schema = Arc::new(extended_schema(model, &self.hidden)?);
        Ok(self)
    }

    /// Leaves each observed cell missing with this probability, independently.
    #[must_use]
    pub fn missing(mut self, fraction: f64) -> Self {
        self.missing = fraction;
        self
    }

    fn draw_rows(&self, first_row: u64, n_rows: usize) -> Batch {
        let model = self.inference.model;
        let n_columns = model.schema().columns().len();
        let n_nodes = model.tree().n_nodes();
        let width = n_columns + self.hidden.len();
        let runs: Vec<(u64, usize)> =
            (0..n_rows).step_by(DRAW_ROWS).map(|start| (first_row + start as u64, DRAW_ROWS.min(n_rows - start))).collect();
        let drawn: Vec<Vec<f64>> = runs
            .into_par_iter()
            .map(|(first, n_rows)| {
                let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
                rng.set_stream(first / DRAW_ROWS as u64);
                let mut cells = vec![f64::NAN; n_rows * width];
                let mut values = vec![f64::NAN; n_nodes];
                EvidenceBlock::with_repeated(&self.evidence, 1, |block| {
                    // All rows have the same evidence: one upward pass serves every draw.
                    self.inference.over_block(block, Sweep::Up, |passed| {
                        for cells in cells.chunks_exact_mut(width) {
                            let (observed, hidden) = cells.split_at_mut(n_columns);
                            self.inference.draw(block, passed, 0, &mut rng, &mut values, &mut |column, value| {
                                observed[column.get()] = value;
                            });
                            for (variable, node) in model.schema().variables().iter().zip(model.schema().variable_ixs()) {
                                if !variable.is_group {
                                    observed[variable.columns[0].get()] = values[model.node_of(node).get()];
                                }
                            }
                            for (cell, node) in hidden.iter_mut().zip(&self.hidden) {
                                *cell = values[node.get()];
                            }
                            if self.missing > 0.0 {
                                for cell in observed {
                                    if rng.random::<f64>() < self.missing {
                                        *cell = f64::NAN;
                                    }
                                }
                            }
                        }
                    });
                });
                cells
            })
            .collect();
        let mut columns: Vec<ColumnData> =
            self.schema.columns().iter().map(|column| ColumnData::for_kind(&column.kind, n_rows)).collect();
        for cells in drawn.iter().flat_map(|run| run.chunks_exact(width)) {
            for (column, &cell) in columns.iter_mut().zip(cells) {
                column.push_number(cell);
            }
        }
        Batch { first_row, n_rows, block: Block::Dense(columns), weights: None }
    }
}

/// The model's schema with hidden nodes as further columns.
fn extended_schema(model: &LatentTree, hidden: &[NodeIx]) -> Result<Schema> {
    let own = model.schema();
    let mut builder = Schema::builder();
    for variable in own.variables() {
        let mut members: Vec<_> = variable.columns.iter().map(|&column| own.column(column).clone()).collect();
        builder = if variable.is_group {
            builder.group(&variable.name, members)
        } else {
            builder.scalar(&variable.name, members.remove(0).kind)
        };
    }
    for &node in hidden {
        let kind = match model.domain(node).labels() {
            Some(labels) => Kind::Categorical { labels: labels.to_vec() },
            None => Kind::Continuous,
        };
        builder = builder.scalar(model.tree().name(node), kind);
    }
    builder.build()
}

impl BatchSource for Sampler<'_> {
    fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    fn next_batch(&mut self) -> Result<Option<Arc<Batch>>> {
        // Whole runs per batch, fewer when rows are wide.
        let width = self.schema.columns().len().max(1);
        let runs = ((1 << 22) / width / DRAW_ROWS).clamp(1, 16);
        let n_rows = (self.n_rows - self.next).min((runs * DRAW_ROWS) as u64) as usize;
        if n_rows == 0 {
            return Ok(None);
        }
        let batch = self.draw_rows(self.next, n_rows);
        self.next += n_rows as u64;
        Ok(Some(Arc::new(batch)))
    }

    fn rewind(&mut self) -> Result<()> {
        self.next = 0;
        Ok(())
    }

    fn n_rows_hint(&self) -> Option<u64> {
        Some(self.n_rows)
    }
}
