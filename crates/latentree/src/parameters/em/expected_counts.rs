//! The E-step as an accumulator.

use std::sync::Arc;

use super::maximise::{self, Smoothing};
use crate::data::Batch;
use crate::error::{Error, Result};
use crate::index::NodeIx;
use crate::inference::{CountLayout, Engine, Expectation, Inference, Scratch};
use crate::model::{Distribution, Emission, LatentTree};
use crate::moments::{Accumulator, Sums};

/// Expected counts of every node given its parent, under one model, and the log-likelihood of the rows.
///
/// Cells that are missing are summed out. A leaf whose cell is missing is left out of its own counts: it tells nothing of its
/// table. Rows of probability zero add to [`impossible_rows`](Self::impossible_rows) and to nothing else.
///
/// Sums are the same, bit for bit, at any number of threads.
///
/// # Example
/// ```
/// use std::sync::Arc;
/// use latentree::parameters::em::{ExpectedCounts, Smoothing};
/// use latentree::inference::Inference;
/// use latentree::moments::fold;
/// use latentree::simulate::{ParameterFamily, Shape, Simulation};
/// use latentree::Silent;
/// let family = ParameterFamily::Categorical { states: 2, hidden_states: 2, separation: 0.7 };
/// let model = Arc::new(Simulation::new(Shape::Star, 5).family(family).model()?);
/// let rows = Inference::new(&model).sample(1000, 0)?;
/// let counts = fold(&mut rows.source(), ExpectedCounts::new(model), &Silent)?;
/// let next = Arc::new(counts.maximise(&Smoothing::none())?);
/// let after = fold(&mut rows.source(), ExpectedCounts::new(next), &Silent)?;
/// assert!(after.log_likelihood() > counts.log_likelihood());
/// # Ok::<(), latentree::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct ExpectedCounts {
    pub(super) model: Arc<LatentTree>,
    engine: Arc<Engine>,
    pub(super) layout: Arc<CountLayout>,
    scratch: Arc<Scratch>,
    pub(super) sums: Expectation,
}

impl ExpectedCounts {
    /// No rows yet, to be seen under this model.
    #[must_use]
    pub fn new(model: Arc<LatentTree>) -> Self {
        let layout = Arc::new(CountLayout::new(&model));
        let sums = Expectation::none(&layout);
        Self { engine: Arc::new(Engine::new(&model)), model, layout, scratch: Arc::default(), sums }
    }

    /// The model under which counts are expected.
    #[must_use]
    pub fn model(&self) -> &Arc<LatentTree> {
        &self.model
    }

    /// Number of rows seen.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.sums.rows
    }

    /// Sum of the row weights.
    #[must_use]
    pub fn weight(&self) -> f64 {
        self.sums.weight
    }

    /// Weighted sum of the rows' log-likelihoods.
    #[must_use]
    pub fn log_likelihood(&self) -> f64 {
        self.sums.log_likelihood
    }

    /// Number of rows of probability zero; the log-likelihood is −∞ if there are any.
    #[must_use]
    pub fn impossible_rows(&self) -> u64 {
        self.sums.impossible_rows
    }

    /// Expected counts of a discrete node, in the layout of its table: a row per state of the parent.
    #[must_use]
    pub fn table(&self, node: NodeIx) -> Option<&[f64]> {
        matches!(self.model.distribution(node), Distribution::Discrete(_)).then(|| &self.sums.counts[self.layout.range(node)])
    }

    /// Expected weight of the rows in each state of a discrete node (of an observed leaf, of the rows where it is known).
    #[must_use]
    pub fn state_weights(&self, node: NodeIx) -> Option<Vec<f64>> {
        let n_states = self.model.n_states(node)?;
        let mut sums = vec![0.0; n_states];
        for row in self.table(node)?.chunks_exact(n_states) {
            sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
        }
        Some(sums)
    }

    /// Expected sums of a count leaf in each state of its parent; empty for other nodes.
    pub(crate) fn count_sums(&self, node: NodeIx) -> Vec<f64> {
        match self.model.distribution(node) {
            Distribution::Emission(Emission::Poisson { .. }) => {
                self.sums.counts[self.layout.range(node)].chunks_exact(2).map(|sums| sums[1]).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The M-step: the model that maximises the expected (penalised) log-likelihood.
    ///
    /// # Errors
    /// [`Error::Data`] if no row has a positive weight and probability.
    pub fn maximise(&self, smoothing: &Smoothing) -> Result<LatentTree> {
        maximise::maximise(self, smoothing)
    }

    /// The objective that EM never lowers: the log-likelihood and the smoothing's penalty.
    #[must_use]
    pub fn objective(&self, smoothing: &Smoothing) -> f64 {
        self.sums.log_likelihood + smoothing.penalty(self)
    }
}

impl Accumulator for ExpectedCounts {
    type Output = Self;

    const NAME: &'static str = "expected-counts";

    fn observe(&mut self, batch: &Batch) -> Result<()> {
        let inference = Inference::with_engine(&self.model, Arc::clone(&self.engine));
        let sums = inference.expect(batch, &self.layout, &self.scratch)?;
        self.sums.add(&sums);
        Ok(())
    }

    fn visit_sums(&mut self, visit: &mut dyn FnMut(Sums<'_>)) -> Result<()> {
        visit(Sums::LongCounts(std::slice::from_mut(&mut self.sums.rows)));
        visit(Sums::LongCounts(std::slice::from_mut(&mut self.sums.impossible_rows)));
        visit(Sums::Weights(std::slice::from_mut(&mut self.sums.weight)));
        visit(Sums::Reals(std::slice::from_mut(&mut self.sums.log_likelihood)));
        visit(Sums::Reals(&mut self.sums.counts));
        Ok(())
    }

    fn merge(&mut self, other: Self) -> Result<()> {
        if !Arc::ptr_eq(&self.model, &other.model) && self.model != other.model {
            return Err(Error::Mismatch {
                left: "some expected counts".to_owned(),
                right: "others".to_owned(),
                problem: "they were made under different models; make both under one".to_owned(),
            });
        }
        self.sums.add(&other.sums);
        Ok(())
    }

    fn empty(&self) -> Self {
        Self {
            model: Arc::clone(&self.model),
            engine: Arc::clone(&self.engine),
            layout: Arc::clone(&self.layout),
            scratch: Arc::clone(&self.scratch),
            sums: Expectation::none(&self.layout),
        }
    }

    fn finish(self) -> Result<Self> {
        Ok(self)
    }

    fn to_bytes(&self) -> Result<Vec<u8>> {
        Ok(super::bytes::write(self))
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        super::bytes::read(bytes)
    }
}
