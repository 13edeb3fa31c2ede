//! Log-likelihood of rows.

use super::star::StarPlan;
use super::{Engine, Inference, SparsePlan, Sweep};
use crate::data::{Batch, BatchSource, Block};
use crate::error::{Error, Result};
use crate::information;
use crate::observer::Observer;

/// How well a model explains data.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Score {
    /// Number of rows.
    pub rows: u64,
    /// Sum of the row weights (the number of rows when unweighted).
    pub weight: f64,
    /// Weighted sum of the rows' log-likelihoods.
    pub log_likelihood: f64,
    /// Number of rows of probability zero; the log-likelihood is −∞ if there are any.
    pub impossible_rows: u64,
    /// Exact number of free parameters of the model.
    pub free_parameters: usize,
}

impl Score {
    /// Of no rows yet.
    #[must_use]
    pub fn new(free_parameters: usize) -> Self {
        Self { rows: 0, weight: 0.0, log_likelihood: 0.0, impossible_rows: 0, free_parameters }
    }

    /// Adds the rows of a batch, given their log-likelihoods. Rows of weight 0 are counted and add nothing else.
    pub fn add(&mut self, batch: &Batch, values: &[f64]) {
        for (row, &value) in values.iter().enumerate() {
            let weight = batch.weight(row);
            if weight > 0.0 {
                self.weight += weight;
                self.log_likelihood += weight * value;
                self.impossible_rows += u64::from(value == f64::NEG_INFINITY);
            }
        }
        self.rows += batch.n_rows as u64;
    }

    /// Log-likelihood per unit of weight.
    #[must_use]
    pub fn mean_log_likelihood(&self) -> f64 {
        self.log_likelihood / self.weight
    }

    /// Bayesian information criterion on the scale of the log-likelihood, larger is better: `ln L − ½ parameters · ln N`.
    #[must_use]
    pub fn bic(&self) -> f64 {
        information::bic(self.log_likelihood, self.free_parameters, self.weight)
    }
}

impl Inference<'_> {
    /// Log-likelihood of every row of a batch that has the model's schema; −∞ for a row of probability zero. Missing cells are
    /// summed out.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the batch has other columns.
    pub fn log_likelihood(&self, batch: &Batch) -> Result<Vec<f64>> {
        if let Block::Sparse(rows) = &batch.block {
            if let Some(star) = StarPlan::new(self.model) {
                self.check(batch)?;
                return Ok(star.posteriors(rows).1);
            }
            if let Engine::Discrete(plan) = &*self.engine {
                self.check(batch)?;
                let sparse = self.sparse.get_or_init(|| SparsePlan::new(plan, self.model.schema().columns().len()));
                if let Some(sparse) = sparse.as_ref().filter(|sparse| sparse.pays(rows)) {
                    return Ok(sparse.log_likelihood(rows));
                }
            }
        }
        let blocks = self.over_batch(batch, Sweep::Up, |_, _, passed| passed.ln_likelihood().to_vec())?;
        Ok(blocks.concat())
    }

    /// Log-likelihood of all rows of a source that has the model's schema; `per_row` gets every batch's values in order.
    ///
    /// # Errors
    /// Those of the source and of `per_row`, [`Error::Mismatch`], [`Error::Cancelled`].
    pub fn score(
        &self,
        source: &mut dyn BatchSource,
        observer: &dyn Observer,
        mut per_row: impl FnMut(&Batch, &[f64]) -> Result<()>,
    ) -> Result<Score> {
        self.check_schema(source.schema())?;
        observer.stage("score", source.n_rows_hint());
        let mut score = Score::new(self.model.n_free_parameters());
        while let Some(batch) = source.next_batch()? {
            if observer.cancelled() {
                return Err(Error::Cancelled);
            }
            let values = self.log_likelihood(&batch)?;
            per_row(&batch, &values)?;
            score.add(&batch, &values);
            observer.progress(score.rows);
        }
        Ok(score)
    }
}
