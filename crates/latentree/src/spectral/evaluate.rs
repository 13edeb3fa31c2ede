//! Queries on a spectral model: probabilities of rows, conditional distributions, missing cells.

use std::ops::Range;

use rayon::prelude::*;

use super::labels::Labels;
use super::messages::{Codes, Messages};
use super::model::SpectralModel;
use super::plan::{Plan, Root};
use super::quick::Estimates;
use crate::data::{Batch, BatchSource, Block, ColumnData, Schema};
use crate::error::{Error, Result};
use crate::observer::Observer;

/// Estimates are at least this share of the probability under independence.
const LEAST: f64 = 1e-6;
/// Number of rows in a block, and the maximum size of its messages.
const BLOCK_ROWS: usize = 256;
const BLOCK_NUMBERS: usize = 1 << 20;
/// Log-probability above which a row may have no labels.
const NEARLY_CERTAIN: f64 = -1e-3;
/// Maximum number of combinations of states in a joint distribution.
const MOST_COMBINATIONS: usize = 1 << 20;

/// A spectral model compiled for evaluation.
///
/// Estimated probabilities are sums of signed terms and can be negative if there were few data. Estimates below 10⁻⁶ times
/// the product of the single probabilities are replaced by that value, and negative entries of conditional distributions by
/// 0; both cases are counted.
#[derive(Debug)]
pub struct Evaluator<'m> {
    model: &'m SpectralModel,
    labels: Labels,
    plan: Plan,
    /// The estimate of each tree without evidence, by which the others are divided.
    totals: Vec<f64>,
}

/// Log-probabilities of rows.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RowScores {
    /// The log-probability of each row.
    pub values: Vec<f64>,
    /// Number of rows whose estimate was raised to the minimum.
    pub clipped: u64,
}

/// The fit of a spectral model to data.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SpectralScore {
    /// Number of rows.
    pub rows: u64,
    /// Sum of the row weights.
    pub weight: f64,
    /// Weighted sum of the rows' log-probabilities.
    pub log_likelihood: f64,
    /// Number of rows whose estimate was raised to the minimum.
    pub clipped_rows: u64,
}

impl SpectralScore {
    /// Adds the rows of a batch.
    pub fn add(&mut self, batch: &Batch, scores: &RowScores) {
        for (row, &value) in scores.values.iter().enumerate() {
            let weight = batch.weight(row);
            if weight > 0.0 {
                self.weight += weight;
                self.log_likelihood += weight * value;
            }
        }
        self.clipped_rows += scores.clipped;
        self.rows += batch.n_rows as u64;
    }

    /// Log-likelihood per unit of weight.
    #[must_use]
    pub fn mean_log_likelihood(&self) -> f64 {
        self.log_likelihood / self.weight
    }
}

/// Conditional distributions.
#[derive(Debug, Clone, PartialEq)]
pub struct SpectralAnswer {
    /// Log-probability of the evidence.
    pub log_evidence: f64,
    /// Whether the estimate of the evidence was raised to the minimum.
    pub is_evidence_clipped: bool,
    /// The probabilities of the labels of each requested variable; for a joint distribution a single list, with the label of
    /// the last variable varying fastest.
    pub distributions: Vec<Vec<f64>>,
    /// Number of entries that were negative.
    pub clipped: u64,
}

/// Rows with missing cells filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct SpectralImputation {
    /// The filled rows.
    pub batch: Batch,
    /// Number of entries of conditional distributions that were negative.
    pub clipped: u64,
}

/// Minimum log-probabilities.
struct Floors {
    /// For each root, that of each row.
    values: Vec<Vec<f64>>,
    /// For each root, whether a row has labels.
    is_known: Vec<Vec<bool>>,
}

impl<'m> Evaluator<'m> {
    /// Compiles a model.
    #[must_use]
    pub fn new(model: &'m SpectralModel) -> Self {
        let plan = Plan::new(model);
        let mut own = Self { model, labels: Labels::new(model.schema()), totals: vec![1.0; plan.roots.len()], plan };
        let nothing: Codes = vec![vec![u32::MAX]; own.plan.marginals.len()];
        let mut messages = Messages::new(&own.plan);
        messages.up(&own.plan, &nothing, 1);
        own.totals = (0..own.plan.roots.len())
            .map(|root| {
                let total = messages.root(&own.plan, &nothing, root);
                let total = total.values[0] * f64::powi(2.0, total.exponents[0]);
                if total.is_finite() && total > 0.0 { total } else { 1.0 }
            })
            .collect();
        own
    }

    /// The same evaluator with only the general operators of joints.
    #[cfg(test)]
    pub(super) fn without_steps(mut self) -> Self {
        self.plan.drop_steps();
        self
    }

    /// The same evaluator with the same care for all rows.
    #[cfg(test)]
    pub(super) fn without_quick(mut self) -> Self {
        self.plan.quick = None;
        self
    }

    /// Whether rows that nothing is wrong with have a shortcut.
    #[cfg(test)]
    pub(super) fn is_quick(&self) -> bool {
        self.plan.quick.is_some()
    }

    /// The model.
    #[must_use]
    pub fn model(&self) -> &'m SpectralModel {
        self.model
    }

    fn block_rows(&self) -> usize {
        (BLOCK_NUMBERS / self.plan.n_numbers().max(1)).clamp(1, BLOCK_ROWS)
    }

    fn check(&self, batch: &Batch) -> Result<()> {
        let n_columns = self.model.schema().columns().len();
        let fits = match &batch.block {
            Block::Dense(columns) => columns.len() == n_columns,
            Block::Sparse(rows) => rows.columns.iter().all(|&column| (column as usize) < n_columns),
        };
        if fits { Ok(()) } else { Err(mismatch("the columns of the batch differ from the model's")) }
    }

    /// Checks that data have the schema of the model.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the schemas differ.
    pub fn check_schema(&self, schema: &Schema) -> Result<()> {
        if **self.model.schema() == *schema {
            return Ok(());
        }
        Err(mismatch("they have other columns, kinds or labels; read the data with the model's schema"))
    }

    fn over_batch<R: Send>(
        &self,
        batch: &Batch,
        visit: impl Fn(&mut Messages, &Codes, Range<usize>) -> R + Sync,
    ) -> Result<Vec<R>> {
        self.check(batch)?;
        let step = self.block_rows();
        let blocks: Vec<Range<usize>> =
            (0..batch.n_rows).step_by(step).map(|start| start..batch.n_rows.min(start + step)).collect();
        let results = blocks.into_par_iter().map_init(
            || Messages::new(&self.plan),
            |messages, rows| {
                let codes = self.labels.codes(batch, rows.clone());
                visit(messages, &codes, rows)
            },
        );
        Ok(results.collect())
    }

    /// The minimum log-probability of the labels of some rows, and whether they have any, for each root.
    fn floors(&self, codes: &Codes, n_rows: usize) -> Floors {
        let plan = &self.plan;
        let mut floors = vec![vec![LEAST.ln(); n_rows]; plan.roots.len()];
        let mut is_known = vec![vec![false; n_rows]; plan.roots.len()];
        for (variable, codes) in codes.iter().enumerate() {
            let root = plan.root_of[variable];
            for (row, &code) in codes.iter().enumerate() {
                if let Some(ln) = plan.ln_floor[variable].get(code as usize) {
                    floors[root][row] += ln;
                    is_known[root][row] = true;
                }
            }
        }
        Floors { values: floors, is_known }
    }

    /// The same as [`Self::scored`] for callers who do not need the messages.
    fn quickly_scored(&self, messages: &mut Messages, codes: &Codes, n_rows: usize) -> (Vec<f64>, Vec<bool>) {
        let plan = &self.plan;
        let Some(quick) = &plan.quick else { return self.scored(messages, codes, n_rows) };
        let Estimates { values: estimates, exponents, mut is_doubtful } = quick.estimate(codes, n_rows);
        // An upper bound on the floors of all rows, which is enough for most.
        let mut bounds = vec![LEAST.ln(); plan.roots.len()];
        for (variable, codes) in codes.iter().enumerate() {
            let table = &plan.ln_floor[variable];
            if (codes.iter().fold(0, |most, &code| most.max(code)) as usize) < table.len() {
                bounds[plan.root_of[variable]] += table.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            }
        }
        let mut floors = None;
        let mut values = vec![0.0; n_rows];
        for (root, total) in self.totals.iter().enumerate() {
            if let Root::Variable(variable) = plan.roots[root] {
                for (value, &code) in values.iter_mut().zip(&codes[variable]) {
                    *value += plan.ln_floor[variable].get(code as usize).copied().unwrap_or(0.0);
                }
                continue;
            }
            let found = estimates[root * n_rows..].iter().zip(&exponents[root * n_rows..]).enumerate().take(n_rows);
            for (row, (estimate, &exponent)) in found {
                if is_doubtful[row] {
                    continue;
                }
                let ln = (estimate / total).ln() + f64::from(exponent) * std::f64::consts::LN_2;
                if !(ln >= bounds[root] && ln < NEARLY_CERTAIN) {
                    let floors = floors.get_or_insert_with(|| self.floors(codes, n_rows));
                    if !floors.is_known[root][row] {
                        continue;
                    }
                    is_doubtful[row] |= !(ln >= floors.values[root][row] && ln.is_finite());
                }
                values[row] += ln;
            }
        }
        let doubtful: Vec<usize> = (0..n_rows).filter(|&row| is_doubtful[row]).collect();
        let mut is_clipped = vec![false; n_rows];
        if !doubtful.is_empty() {
            let codes: Codes = codes.iter().map(|codes| doubtful.iter().map(|&row| codes[row]).collect()).collect();
            let (careful, clipped) = self.scored(messages, &codes, doubtful.len());
            for ((&row, value), clipped) in doubtful.iter().zip(careful).zip(clipped) {
                (values[row], is_clipped[row]) = (value, clipped);
            }
        }
        (values, is_clipped)
    }

    /// Log-probabilities of some rows, and which of them are clipped. Sends the messages towards the roots.
    fn scored(&self, messages: &mut Messages, codes: &Codes, n_rows: usize) -> (Vec<f64>, Vec<bool>) {
        let plan = &self.plan;
        messages.up(plan, codes, n_rows);
        let Floors { values: floors, is_known } = self.floors(codes, n_rows);
        let mut values = vec![0.0; n_rows];
        let founds: Vec<_> = (0..plan.roots.len()).map(|root| messages.root(plan, codes, root)).collect();
        let mut clipped = messages.clipped.clone();
        for (root, (total, found)) in self.totals.iter().zip(founds).enumerate() {
            for row in (0..n_rows).filter(|&row| is_known[root][row]) {
                let estimate = found.values[row] / total;
                let ln = if estimate > 0.0 {
                    estimate.ln() + f64::from(found.exponents[row]) * std::f64::consts::LN_2
                } else {
                    f64::NEG_INFINITY
                };
                let floor = floors[root][row];
                let is_sound = ln >= floor && ln.is_finite();
                clipped[row] |= !is_sound;
                values[row] += if is_sound { ln } else { floor };
            }
        }
        (values, clipped)
    }

    /// The raw estimates, of any sign; for tests.
    #[cfg(test)]
    pub(crate) fn raw(&self, batch: &Batch) -> Result<Vec<f64>> {
        let total: f64 = self.totals.iter().product();
        Ok(self.unnormalised(batch)?.into_iter().map(|value| value / total).collect())
    }

    /// The same without normalisation; for tests.
    #[cfg(test)]
    pub(crate) fn unnormalised(&self, batch: &Batch) -> Result<Vec<f64>> {
        let blocks = self.over_batch(batch, |messages, codes, rows| {
            messages.up(&self.plan, codes, rows.len());
            let mut values = vec![1.0; rows.len()];
            for root in 0..self.plan.roots.len() {
                let found = messages.root(&self.plan, codes, root);
                for (value, (own, exponent)) in values.iter_mut().zip(found.values.iter().zip(&found.exponents)) {
                    *value *= own * f64::powi(2.0, *exponent);
                }
            }
            values
        })?;
        Ok(blocks.concat())
    }

    /// Log-probability of each row of a batch with the model's schema. Missing cells are summed out.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the batch has different columns.
    pub fn log_likelihood(&self, batch: &Batch) -> Result<RowScores> {
        let blocks = self.over_batch(batch, |messages, codes, rows| self.quickly_scored(messages, codes, rows.len()))?;
        let mut scores = RowScores::default();
        for (values, clipped) in blocks {
            scores.values.extend(values);
            scores.clipped += clipped.into_iter().filter(|&it| it).count() as u64;
        }
        Ok(scores)
    }

    /// Log-probability of all rows of a source with the model's schema. `per_row` receives the values of each batch in order.
    ///
    /// # Errors
    /// [`Error::Mismatch`], [`Error::Cancelled`], and any error from the source or from `per_row`.
    pub fn score(
        &self,
        source: &mut dyn BatchSource,
        observer: &dyn Observer,
        mut per_row: impl FnMut(&Batch, &[f64]) -> Result<()>,
    ) -> Result<SpectralScore> {
        self.check_schema(source.schema())?;
        observer.stage("score", source.n_rows_hint());
        let mut score = SpectralScore::default();
        while let Some(batch) = source.next_batch()? {
            if observer.cancelled() {
                return Err(Error::Cancelled);
            }
            let scores = self.log_likelihood(&batch)?;
            per_row(&batch, &scores.values)?;
            score.add(&batch, &scores);
            observer.progress(score.rows);
        }
        Ok(score)
    }

    fn codes_of(&self, evidence: &[Option<usize>]) -> Result<Codes> {
        if evidence.len() != self.plan.marginals.len() {
            return Err(mismatch("the evidence has another number of variables"));
        }
        Ok(evidence.iter().map(|label| vec![label.map_or(u32::MAX, |label| label as u32)]).collect())
    }

    /// The conditional distribution of each of some variables; `evidence` holds the known label of each variable.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the evidence has a different number of variables.
    pub fn query(&self, evidence: &[Option<usize>], of: &[usize]) -> Result<SpectralAnswer> {
        let codes = self.codes_of(evidence)?;
        let mut messages = Messages::new(&self.plan);
        let (values, is_clipped) = self.scored(&mut messages, &codes, 1);
        messages.down(&self.plan, &codes);
        let mut clipped = 0;
        let distributions = of.iter().map(|&variable| match evidence[variable] {
            Some(label) => (0..self.plan.marginals[variable].len()).map(|x| f64::from(u8::from(x == label))).collect(),
            None => {
                let mut belief = messages.belief(&self.plan, variable);
                clipped += self.settle(variable, &mut belief);
                belief
            }
        });
        let distributions = distributions.collect();
        Ok(SpectralAnswer { log_evidence: values[0], is_evidence_clipped: is_clipped[0], distributions, clipped })
    }

    /// Turns numbers proportional to estimates into a distribution. Returns how many were negative.
    fn settle(&self, variable: usize, belief: &mut [f64]) -> u64 {
        let (negative, is_left) = distribution(belief);
        if !is_left {
            belief.copy_from_slice(&self.plan.marginals[variable]);
        }
        negative
    }

    /// The joint conditional distribution of some variables.
    ///
    /// # Errors
    /// [`Error::Query`] if a variable is requested twice or there are more than a million combinations.
    pub fn joint(&self, evidence: &[Option<usize>], of: &[usize]) -> Result<SpectralAnswer> {
        if let Some(ix) = (0..of.len()).find(|&ix| of[..ix].contains(&of[ix])) {
            let name = &self.model.schema().variables()[of[ix]].name;
            return Err(Error::query(format!("{name:?} is asked for twice")));
        }
        let n_labels: Vec<usize> = of.iter().map(|&variable| self.plan.marginals[variable].len()).collect();
        let n = n_labels.iter().try_fold(1_usize, |n, &labels| n.checked_mul(labels).filter(|&n| n <= MOST_COMBINATIONS));
        let n =
            n.ok_or_else(|| Error::query(format!("more than {MOST_COMBINATIONS} combinations of states; ask for fewer nodes")))?;
        let answer = self.query(evidence, &[])?;
        let label_of = |combination: usize, ix: usize| combination / n_labels[ix + 1..].iter().product::<usize>() % n_labels[ix];
        let step = self.block_rows();
        let blocks: Vec<Range<usize>> = (0..n).step_by(step).map(|start| start..n.min(start + step)).collect();
        let found: Vec<(Vec<f64>, Vec<bool>)> = blocks
            .into_par_iter()
            .map(|range| {
                let mut codes: Codes =
                    evidence.iter().map(|label| vec![label.map_or(u32::MAX, |label| label as u32); range.len()]).collect();
                let mut is_possible = vec![true; range.len()];
                for (ix, &variable) in of.iter().enumerate() {
                    for (row, combination) in range.clone().enumerate() {
                        let label = label_of(combination, ix);
                        is_possible[row] &= evidence[variable].is_none_or(|known| known == label);
                        codes[variable][row] = label as u32;
                    }
                }
                let (values, clipped) = self.quickly_scored(&mut Messages::new(&self.plan), &codes, range.len());
                let zero = |(value, possible): (f64, &bool)| if *possible { value } else { f64::NEG_INFINITY };
                (values.into_iter().zip(&is_possible).map(zero).collect(), clipped)
            })
            .collect();
        let clipped = found.iter().flat_map(|it| &it.1).filter(|&&it| it).count() as u64;
        let values: Vec<f64> = found.into_iter().flat_map(|it| it.0).collect();
        let largest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut table: Vec<f64> =
            values.iter().map(|value| if largest.is_finite() { (value - largest).exp() } else { 0.0 }).collect();
        if !distribution(&mut table).1 {
            let of_label = |combination: usize| {
                let p = |(ix, &variable): (usize, &usize)| match evidence[variable] {
                    Some(known) => f64::from(u8::from(known == label_of(combination, ix))),
                    None => self.plan.marginals[variable][label_of(combination, ix)],
                };
                of.iter().enumerate().map(p).product()
            };
            table = (0..n).map(of_label).collect();
        }
        Ok(SpectralAnswer { distributions: vec![table], clipped, ..answer })
    }

    /// Fills each missing cell of the batch with its most probable label. The result is dense.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the batch has different columns.
    pub fn impute(&self, batch: &Batch) -> Result<SpectralImputation> {
        let schema = self.model.schema();
        let blocks = self.over_batch(batch, |messages, codes, rows| {
            let n = rows.len();
            let is_missing = |variable: usize, row: usize| codes[variable][row] as usize >= self.plan.marginals[variable].len();
            let mut filled = codes.clone();
            let mut clipped = 0;
            let wanted: Vec<usize> = (0..codes.len()).filter(|&it| (0..n).any(|row| is_missing(it, row))).collect();
            if !wanted.is_empty() {
                messages.up(&self.plan, codes, n);
                messages.down(&self.plan, codes);
            }
            for variable in wanted {
                let belief = messages.belief(&self.plan, variable);
                for row in (0..n).filter(|&row| is_missing(variable, row)) {
                    let mut own: Vec<f64> = belief[row..].iter().step_by(n).copied().collect();
                    clipped += self.settle(variable, &mut own);
                    let best = own
                        .iter()
                        .enumerate()
                        .fold((0, f64::NEG_INFINITY), |top, (ix, &p)| if p > top.1 { (ix, p) } else { top });
                    filled[variable][row] = best.0 as u32;
                }
            }
            (filled, clipped)
        })?;
        let mut columns: Vec<ColumnData> =
            schema.columns().iter().map(|column| ColumnData::for_kind(&column.kind, batch.n_rows)).collect();
        let mut clipped = 0;
        for (filled, count) in blocks {
            clipped += count;
            for (variable, codes) in schema.variables().iter().zip(filled) {
                let column = &mut columns[variable.columns[0].get()];
                codes.into_iter().for_each(|code| column.push_code(Some(code)));
            }
        }
        let batch = Batch {
            first_row: batch.first_row,
            n_rows: batch.n_rows,
            block: Block::Dense(columns),
            weights: batch.weights.clone(),
        };
        Ok(SpectralImputation { batch, clipped })
    }
}

/// Sets negative entries to 0 and normalises the rest. Returns the number of negative entries and whether any mass was left.
fn distribution(values: &mut [f64]) -> (u64, bool) {
    let mut negative = 0;
    for value in values.iter_mut() {
        if !(*value >= 0.0 && value.is_finite()) {
            negative += 1;
            *value = 0.0;
        }
    }
    let sum: f64 = values.iter().sum();
    let is_left = sum > 0.0 && sum.is_finite();
    if is_left {
        values.iter_mut().for_each(|value| *value /= sum);
    }
    (negative, is_left)
}

fn mismatch(problem: &str) -> Error {
    Error::Mismatch { left: "the model".to_owned(), right: "the data".to_owned(), problem: problem.to_owned() }
}
