//! Sparse rows of a star: one hidden variable, and leaves of labels or counts.
//!
//! The log-probability of a row in state c is that of the row of all zeros plus what the cells that are not zero add:
//!
//! ```text
//! ln P(c) + Σ_i ln P(x_i = 0 | c) + Σ_{x_i ≠ 0} [ln P(x_i | c) − ln P(x_i = 0 | c)]
//! ```
//!
//! so a row costs its non-zero cells times the number of states. Logarithms need no rescaling, and counts are as cheap as labels.

use std::ops::Range;

use rayon::prelude::*;

use super::density::ln_factorial;
use super::expectation::{CountLayout, Expectation, PARTS};
use crate::data::{Batch, Block, SparseRows};
use crate::index::NodeIx;
use crate::model::{Distribution, Emission, Family, LatentTree, Table};

/// What a column adds.
#[derive(Debug)]
enum Column {
    /// `x ln λ_c`, and `ln x!` for all; the numbers are ln λ_c and λ_c.
    Counts { ln_rates: Vec<f64>, rates: Vec<f64> },
    /// `ln P(x | c) − ln P(0 | c)` of every label, and `ln P(0 | c)`.
    Labels { relative: Vec<f64>, zero: Vec<f64> },
}

/// A star compiled for sparse rows.
#[derive(Debug)]
pub(crate) struct StarPlan {
    root: NodeIx,
    k: usize,
    /// Log-probability of each state and the row of all zeros.
    base: Vec<f64>,
    columns: Vec<Column>,
    /// Where the sums of a column begin, one longer: k for missing cells, then k for each label but the first or for the counts.
    starts: Vec<usize>,
    /// Node of a column, and where its counts begin among the node's.
    places: Vec<(NodeIx, usize)>,
}

impl StarPlan {
    /// `None` if the model is no star of counts, or of counts and labels, or a state gives zeros no probability.
    pub(crate) fn new(model: &LatentTree) -> Option<Self> {
        let tree = model.tree();
        let [root] = model.rooted().roots[..] else { return None };
        if model.family() != Family::Discrete || model.variable(root).is_some() || tree.degree(root) + 1 != tree.n_nodes() {
            return None;
        }
        let Distribution::Discrete(prior) = model.distribution(root) else { return None };
        let n_columns = model.schema().columns().len();
        let mut columns: Vec<Option<Column>> = (0..n_columns).map(|_| None).collect();
        let mut places = vec![(root, 0); n_columns];
        let mut plan = Self {
            root,
            k: prior.n_states(),
            base: prior.values().iter().map(|it| it.ln()).collect(),
            columns: Vec::new(),
            starts: vec![0],
            places: Vec::new(),
        };
        for node in tree.node_ixs().filter(|&node| node != root) {
            let own = &model.schema().variable(model.variable(node)?).columns;
            match model.distribution(node) {
                Distribution::Discrete(table) => {
                    columns[own[0].get()] = Some(plan.labels(table)?);
                    places[own[0].get()] = (node, 0);
                }
                Distribution::Emission(Emission::Group(members)) => {
                    let mut first = 0;
                    for (member, column) in members.iter().zip(own) {
                        columns[column.get()] = Some(plan.emission(member)?);
                        places[column.get()] = (node, first);
                        first += super::emission_size(member);
                    }
                }
                Distribution::Emission(emission) => {
                    columns[own[0].get()] = Some(plan.emission(emission)?);
                    places[own[0].get()] = (node, 0);
                }
                Distribution::LinearGaussian { .. } => return None,
            }
        }
        plan.columns = columns.into_iter().collect::<Option<_>>()?;
        // Labels alone have the engine of sparse rows of any tree, which gives the bits of dense rows.
        if plan.columns.iter().all(|column| matches!(column, Column::Labels { .. })) {
            return None;
        }
        plan.places = places;
        for column in &plan.columns {
            let blocks = match column {
                Column::Counts { .. } => 2,
                Column::Labels { relative, .. } => relative.len() / plan.k,
            };
            plan.starts.push(plan.starts[plan.starts.len() - 1] + blocks * plan.k);
        }
        Some(plan)
    }

    fn emission(&mut self, emission: &Emission) -> Option<Column> {
        match emission {
            Emission::Categorical(table) => self.labels(table),
            Emission::Poisson { rates } => {
                self.base.iter_mut().zip(rates).for_each(|(base, rate)| *base -= rate);
                Some(Column::Counts { ln_rates: rates.iter().map(|rate| rate.ln()).collect(), rates: rates.clone() })
            }
            Emission::Gaussian { .. } | Emission::Group(_) => None,
        }
    }

    fn labels(&mut self, table: &Table) -> Option<Column> {
        let zero: Vec<f64> = table.rows().map(|row| row[0].ln()).collect();
        if zero.iter().any(|ln| !ln.is_finite()) {
            return None;
        }
        self.base.iter_mut().zip(&zero).for_each(|(base, zero)| *base += zero);
        let relative =
            (0..table.n_states()).flat_map(|code| table.rows().zip(&zero).map(move |(row, zero)| row[code].ln() - zero));
        Some(Column::Labels { relative: relative.collect(), zero })
    }

    /// The hidden node.
    pub(crate) fn root(&self) -> NodeIx {
        self.root
    }

    /// Writes the posterior of a row, and returns its log-likelihood. A row of probability zero is all NaN.
    pub(crate) fn posterior(&self, rows: &SparseRows, row: usize, out: &mut [f64]) -> f64 {
        out.copy_from_slice(&self.base);
        let mut constant = 0.0;
        for (column, value) in rows.row(row) {
            match &self.columns[column] {
                Column::Counts { rates, .. } if value.is_nan() => out.iter_mut().zip(rates).for_each(|(out, rate)| *out += rate),
                Column::Labels { zero, .. } if value.is_nan() => out.iter_mut().zip(zero).for_each(|(out, zero)| *out -= zero),
                Column::Counts { .. } if value == 0.0 => {}
                Column::Counts { ln_rates, .. } => {
                    if value > 1.0 {
                        constant += ln_factorial(value);
                    }
                    out.iter_mut().zip(ln_rates).for_each(|(out, ln_rate)| *out += value * ln_rate);
                }
                Column::Labels { relative, .. } => {
                    out.iter_mut().zip(&relative[value as usize * self.k..]).for_each(|(out, ln)| *out += ln);
                }
            }
        }
        let largest = out.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if largest == f64::NEG_INFINITY {
            out.fill(f64::NAN);
            return f64::NEG_INFINITY;
        }
        let mut sum = 0.0;
        for value in out.iter_mut() {
            *value = (*value - largest).exp();
            sum += *value;
        }
        out.iter_mut().for_each(|value| *value /= sum);
        largest + sum.ln() - constant
    }

    /// Posteriors and log-likelihoods of all rows.
    pub(crate) fn posteriors(&self, rows: &SparseRows) -> (Vec<f64>, Vec<f64>) {
        let n_rows = rows.n_rows();
        let (mut values, mut ln) = (vec![0.0; n_rows * self.k], vec![0.0; n_rows]);
        let parts = values.par_chunks_mut(self.k).zip(&mut ln).enumerate();
        parts.for_each(|(row, (values, ln))| *ln = self.posterior(rows, row, values));
        (values, ln)
    }

    /// Expected counts of all rows of a batch.
    pub(crate) fn expect(&self, batch: &Batch, rows: &SparseRows, layout: &CountLayout) -> Expectation {
        let n_rows = batch.n_rows;
        let parts: Vec<Range<usize>> = (0..PARTS).map(|ix| ix * n_rows / PARTS..(ix + 1) * n_rows / PARTS).collect();
        let part = |range: Range<usize>| {
            let mut sums = vec![0.0; self.starts[self.columns.len()]];
            let mut total =
                Expectation { counts: vec![0.0; self.k], rows: 0, weight: 0.0, log_likelihood: 0.0, impossible_rows: 0 };
            let mut belief = vec![0.0; self.k];
            for row in range {
                let (weight, ln) = (batch.weight(row), self.posterior(rows, row, &mut belief));
                total.add_row(weight, ln);
                if weight <= 0.0 || ln == f64::NEG_INFINITY {
                    continue;
                }
                belief.iter_mut().for_each(|belief| *belief *= weight);
                total.counts.iter_mut().zip(&belief).for_each(|(total, belief)| *total += belief);
                for (column, value) in rows.row(row) {
                    let (block, factor) = match &self.columns[column] {
                        _ if value.is_nan() => (0, 1.0),
                        Column::Counts { .. } => (1, value),
                        Column::Labels { .. } if value == 0.0 => continue,
                        Column::Labels { .. } => (value as usize, 1.0),
                    };
                    let out = &mut sums[self.starts[column] + block * self.k..][..self.k];
                    out.iter_mut().zip(&belief).for_each(|(out, belief)| *out += factor * belief);
                }
            }
            (total, sums)
        };
        let parts: Vec<_> = parts.into_par_iter().filter(|part| !part.is_empty()).map(part).collect();
        let mut parts = parts.into_iter();
        let Some((mut total, mut sums)) = parts.next() else { return Expectation::none(layout) };
        for (other_total, other) in parts {
            total.add(&other_total);
            sums.iter_mut().zip(&other).for_each(|(own, other)| *own += other);
        }
        let mut expectation = Expectation { counts: vec![0.0; layout.len()], ..total };
        expectation.counts[layout.range(self.root)].copy_from_slice(&total.counts);
        for (ix, column) in self.columns.iter().enumerate() {
            let (node, first) = self.places[ix];
            let out = &mut expectation.counts[layout.range(node)][first..];
            let sums = &sums[self.starts[ix]..self.starts[ix + 1]];
            for state in 0..self.k {
                let there = total.counts[state] - sums[state];
                match column {
                    Column::Counts { .. } => (out[2 * state], out[2 * state + 1]) = (there, sums[self.k + state]),
                    Column::Labels { relative, .. } => {
                        let n_states = relative.len() / self.k;
                        let out = &mut out[state * n_states..][..n_states];
                        (1..n_states).for_each(|code| out[code] = sums[code * self.k + state]);
                        out[0] = (there - out[1..].iter().sum::<f64>()).max(0.0);
                    }
                }
            }
        }
        expectation
    }
}

/// Log-probabilities of the lengths of documents under a star of Poisson leaves whose rates sum to the same in every state: what the
/// log-likelihood of a row has besides that of its words given their number. `None` for other models.
pub fn ln_lengths(model: &LatentTree, batch: &Batch) -> Option<Vec<f64>> {
    let root = model.rooted().roots[0];
    let mut totals = vec![0.0; model.n_states(root)?];
    for variable in model.schema().variable_ixs() {
        let Distribution::Emission(Emission::Poisson { rates }) = model.distribution(model.node_of(variable)) else {
            return None;
        };
        totals.iter_mut().zip(rates).for_each(|(total, rate)| *total += rate);
    }
    let length = totals[0];
    if totals.iter().any(|total| (total - length).abs() > 1e-6 * length) {
        return None;
    }
    let ln = |count: f64| count * length.ln() - length - ln_factorial(count);
    Some(match &batch.block {
        Block::Sparse(rows) => (0..batch.n_rows).map(|row| ln(rows.row(row).map(|cell| cell.1).sum())).collect(),
        Block::Dense(columns) => (0..batch.n_rows).map(|row| ln(columns.iter().map(|cells| cells.number(row)).sum())).collect(),
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rand::{RngExt, SeedableRng};

    use super::*;
    use crate::data::{ColumnData, Kind, Schema};
    use crate::inference::{Inference, Scratch};
    use crate::tree::Tree;

    /// A star of two count leaves, a binary and a categorical one.
    fn star() -> LatentTree {
        let schema = Schema::builder()
            .scalar("a", Kind::Count)
            .scalar("b", Kind::binary())
            .scalar("c", Kind::numbered(3))
            .scalar("d", Kind::Count)
            .build()
            .unwrap();
        let mut tree = Tree::new();
        let leaves: Vec<NodeIx> = ["a", "b", "c", "d"].iter().map(|name| tree.add_observed(*name).unwrap()).collect();
        let root = tree.add_next_hidden();
        leaves.iter().for_each(|&leaf| tree.connect(root, leaf, None).unwrap());
        let poisson = |rates: &[f64]| Distribution::Emission(Emission::Poisson { rates: rates.to_vec() });
        LatentTree::builder(Arc::new(schema), tree)
            .root(root)
            .distribution(root, Distribution::Discrete(Table::new(2, vec![0.3, 0.7])))
            .distribution(leaves[0], poisson(&[0.5, 2.0]))
            .distribution(leaves[1], Distribution::Discrete(Table::new(2, vec![0.9, 0.1, 0.2, 0.8])))
            .distribution(leaves[2], Distribution::Discrete(Table::new(3, vec![0.5, 0.3, 0.2, 0.1, 0.2, 0.7])))
            .distribution(leaves[3], poisson(&[3.0, 0.01]))
            .build()
            .unwrap()
    }

    #[test]
    fn sparse_rows_say_what_dense_rows_say() {
        let model = star();
        let plan = StarPlan::new(&model).unwrap();
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
        let n = 300;
        let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        let mut dense = vec![vec![0.0; n]; 4];
        for row in 0..n {
            for (column, most) in [6, 2, 3, 30].into_iter().enumerate() {
                let value = if rng.random_bool(0.1) { f64::NAN } else { f64::from(rng.random_range(0..most)) };
                dense[column][row] = value;
                if value != 0.0 {
                    columns.push(column as u32);
                    values.push(value);
                }
            }
            starts.push(columns.len());
        }
        let weights: Vec<f64> = (0..n).map(|row| (row % 3) as f64).collect();
        let rows = SparseRows { starts, columns, values: Some(values) };
        let batch = |block| Batch { first_row: 0, n_rows: n, block, weights: Some(weights.clone()) };
        let sparse = batch(Block::Sparse(rows.clone()));
        let columns = dense.iter().zip(model.schema().columns()).map(|(cells, column)| {
            let mut data = ColumnData::for_kind(&column.kind, n);
            cells.iter().for_each(|&value| data.push_number(value));
            data
        });
        let dense = batch(Block::Dense(columns.collect()));
        let inference = Inference::new(&model);
        let expected = inference.posterior(&dense, &[plan.root()]).unwrap();
        let (found, ln) = plan.posteriors(&rows);
        for row in 0..n {
            assert!((ln[row] - expected.log_likelihood()[row]).abs() < 1e-10);
            assert!(expected.row(row).iter().zip(&found[row * 2..]).all(|(x, y)| (x - y).abs() < 1e-12));
        }
        let through = inference.posterior(&sparse, &[plan.root()]).unwrap();
        assert!((0..n).all(|row| through.row(row) == &found[row * 2..row * 2 + 2]));
        assert_eq!(inference.log_likelihood(&sparse).unwrap(), ln);
        let layout = CountLayout::new(&model);
        let expected = inference.expect_dense(&dense, &layout, &Scratch::default()).unwrap();
        let found = inference.expect(&sparse, &layout, &Scratch::default()).unwrap();
        assert!(expected.counts.iter().zip(&found.counts).all(|(x, y)| (x - y).abs() < 1e-9), "{expected:?} {found:?}");
        assert!((expected.log_likelihood - found.log_likelihood).abs() < 1e-8);
        assert_eq!((expected.rows, expected.weight), (found.rows, found.weight));
    }
}
