//! Classification: a model of the columns for each label of a target column, combined by Bayes' rule.
//!
//! The models are learned separately, with any options of [`learn`](crate::learn); their trees may differ. The probability of
//! a label is its prior times the probability of the row under its model, divided by the sum over all labels.
//!
//! # Example
//! ```
//! use latentree::Silent;
//! use latentree::classifier::Classifier;
//! use latentree::data::{ColumnData, Dataset, Kind, Schema};
//! use latentree::learn::{Learning, ParameterMethod};
//! use latentree::structure::LearnerName;
//! use std::sync::Arc;
//! let mut schema = Schema::builder().scalar("kind", Kind::binary());
//! for name in ["a", "b", "c", "d"] {
//!     schema = schema.scalar(name, Kind::binary());
//! }
//! // Rows of the one kind repeat their cells, those of the other alternate.
//! let cell = |row: usize, column: usize| ((row / 2 + column * (row % 2)) % 2) as u8;
//! let mut columns = vec![ColumnData::Codes8((0..400).map(|row| (row % 2) as u8).collect())];
//! let noisy = |row: usize, column: usize| if row % 7 == column { 0 } else { cell(row, column) };
//! columns.extend((0..4).map(|column| ColumnData::Codes8((0..400).map(|row| noisy(row, column)).collect())));
//! let rows = Dataset::from_columns(Arc::new(schema.build()?), columns, None)?;
//! let learning = Learning::new().structure(LearnerName::Chain).parameters(ParameterMethod::Spectral);
//! let classifier = Classifier::learn(&rows, "kind", &learning, &Silent)?.classifier;
//! let results = classifier.evaluate(&rows, None)?;
//! assert!(results.accuracy() > 0.9);
//! # Ok::<(), latentree::Error>(())
//! ```

mod file;
mod folds;
mod learn;
mod page;
#[cfg(test)]
mod tests;

pub use folds::FoldResult;
pub use learn::LearnedClassifier;
pub use page::classifier_page;

use std::sync::Arc;

use crate::data::{Batch, Block, ColumnData, Dataset, Kind, Schema, SparseRows};
use crate::error::{Error, Place, Result, Shortened};
use crate::format::ModelFile;
use crate::index::ColIx;
use crate::inference::Inference;
use crate::spectral::Evaluator;

/// A model for each label of a target column.
#[derive(Debug, Clone, PartialEq)]
pub struct Classifier {
    target: String,
    labels: Vec<String>,
    priors: Vec<f64>,
    models: Vec<ModelFile>,
}

/// Predicted labels compared with true ones.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Results {
    /// Number of rows with each true label (row) that were assigned each label (column).
    pub confusion: Vec<Vec<u64>>,
}

impl Results {
    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.confusion.iter().flatten().sum()
    }

    /// Share of the rows that were assigned their true label.
    #[must_use]
    pub fn accuracy(&self) -> f64 {
        let right: u64 = self.confusion.iter().enumerate().map(|(ix, row)| row[ix]).sum();
        right as f64 / self.rows() as f64
    }
}

enum Compiled<'a> {
    Tables(Inference<'a>),
    Operators(Box<Evaluator<'a>>),
}

/// The models of a classifier, compiled.
pub struct Classifying<'a> {
    classifier: &'a Classifier,
    models: Vec<Compiled<'a>>,
    ln_priors: Vec<f64>,
}

impl std::fmt::Debug for Classifying<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Classifying({:?})", self.classifier.labels)
    }
}

impl Classifier {
    /// Builds a classifier from its parts.
    ///
    /// # Errors
    /// [`Error::Data`] if there are fewer than two labels, the numbers of labels, priors and models differ, the priors are
    /// not a distribution, or a model is only a tree; [`Error::Mismatch`] if the models have different columns.
    pub fn new(target: String, labels: Vec<String>, priors: Vec<f64>, models: Vec<ModelFile>) -> Result<Self> {
        let fault = |problem: &str| Err(Error::data(Place::default(), problem));
        if labels.len() < 2 || labels.len() != priors.len() || labels.len() != models.len() {
            return fault("a classifier has two or more labels, and a prior and a model for each");
        }
        check_priors(&priors)?;
        let classifier = Self { target, labels, priors, models };
        if let Some(tree) = classifier.models.iter().position(|model| schema_of(model).is_none()) {
            let label = Shortened(&classifier.labels[tree]);
            return fault(&format!(
                "label {label:?} has a tree without parameters; learn with other `parameters.method` than none"
            ));
        }
        let first = classifier.schema();
        if let Some(other) = classifier.models.iter().position(|model| schema_of(model).is_some_and(|schema| **schema != **first))
        {
            return Err(Error::Mismatch {
                left: format!("the model of label {:?}", Shortened(&classifier.labels[0])),
                right: format!("the model of label {:?}", Shortened(&classifier.labels[other])),
                problem: "they have other columns, kinds or labels; learn them from one table".to_owned(),
            });
        }
        Ok(classifier)
    }

    /// The column whose labels are predicted.
    #[must_use]
    pub fn target(&self) -> &str {
        &self.target
    }

    /// Its labels.
    #[must_use]
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    /// The share of each label in the training rows.
    #[must_use]
    pub fn priors(&self) -> &[f64] {
        &self.priors
    }

    /// The model of each label.
    #[must_use]
    pub fn models(&self) -> &[ModelFile] {
        &self.models
    }

    /// The columns from which labels are predicted.
    #[must_use]
    pub fn schema(&self) -> &Arc<Schema> {
        schema_of(&self.models[0]).expect("a classifier's models have columns")
    }

    /// The same columns, followed by the target.
    ///
    /// # Errors
    /// [`Error::Data`] if a column has the name of the target.
    pub fn schema_with_target(&self) -> Result<Schema> {
        let mut builder = Schema::builder();
        let schema = self.schema();
        for variable in schema.variables() {
            let columns: Vec<_> = variable.columns.iter().map(|&column| schema.column(column).clone()).collect();
            builder = match variable.is_group {
                true => builder.group(&variable.name, columns),
                false => builder.scalar(&variable.name, columns[0].kind.clone()),
            };
        }
        builder.scalar(&self.target, Kind::Categorical { labels: self.labels.clone() }).build()
    }

    /// Compiles the models, optionally with priors other than those of the training rows.
    ///
    /// # Errors
    /// [`Error::Option`] if the priors are not a distribution over the labels.
    pub fn classifying(&self, priors: Option<&[f64]>) -> Result<Classifying<'_>> {
        let priors = priors.unwrap_or(&self.priors);
        if priors.len() != self.labels.len() {
            return Err(Error::option("classify.prior", format!("{} priors for {} labels", priors.len(), self.labels.len())));
        }
        check_priors(priors)?;
        let mut models = Vec::with_capacity(self.models.len());
        for model in &self.models {
            models.push(match model {
                ModelFile::LatentTree(model) => Compiled::Tables(Inference::new(model)),
                ModelFile::Spectral(model) => Compiled::Operators(Box::new(Evaluator::new(model))),
                ModelFile::Tree { .. } => unreachable!("a tree alone is refused"),
            });
        }
        Ok(Classifying { classifier: self, models, ln_priors: priors.iter().map(|p| p.ln()).collect() })
    }

    /// Predicts the labels of rows that also have the target column, as in [`schema_with_target`](Self::schema_with_target)
    /// or in another order, and compares them with the true ones.
    ///
    /// # Errors
    /// [`Error::Data`] if there is no target column; [`Error::Mismatch`] if other columns differ.
    pub fn evaluate(&self, rows: &Dataset, priors: Option<&[f64]>) -> Result<Results> {
        let target = learn::target_column(rows.schema(), &self.target)?;
        let classifying = self.classifying(priors)?;
        let label_of = learn::label_places(rows.schema(), target, &self.labels);
        let mut results = Results { confusion: vec![vec![0; self.labels.len()]; self.labels.len()] };
        for batch in rows.batches() {
            let found = classifying.probabilities(&without_column(batch, target))?;
            for (row, chances) in found.chunks_exact(self.labels.len()).enumerate() {
                let code = batch.number(row, target);
                if let Some(truth) = (!code.is_nan()).then(|| label_of[code as usize]).flatten() {
                    results.confusion[truth][best(chances)] += 1;
                }
            }
        }
        Ok(results)
    }
}

impl Classifying<'_> {
    /// The probability of each label for each row of a batch with the models' columns.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the batch has other columns.
    pub fn probabilities(&self, batch: &Batch) -> Result<Vec<f64>> {
        let n = self.models.len();
        let mut out = vec![0.0; batch.n_rows * n];
        for (ix, (model, ln_prior)) in self.models.iter().zip(&self.ln_priors).enumerate() {
            let values = match model {
                Compiled::Tables(inference) => inference.log_likelihood(batch)?,
                Compiled::Operators(evaluator) => evaluator.log_likelihood(batch)?.values,
            };
            out[ix..].iter_mut().step_by(n).zip(values).for_each(|(out, value)| *out = value + ln_prior);
        }
        for chances in out.chunks_exact_mut(n) {
            let largest = chances.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            // Impossible under all models: only the prior is known.
            let chance =
                |(ix, value): (usize, &f64)| if largest.is_finite() { (value - largest).exp() } else { self.ln_priors[ix].exp() };
            let weights: Vec<f64> = chances.iter().enumerate().map(chance).collect();
            let sum: f64 = weights.iter().sum();
            chances.iter_mut().zip(weights).for_each(|(out, weight)| *out = weight / sum);
        }
        Ok(out)
    }
}

/// The most probable label, the first one in case of ties.
#[must_use]
pub fn best(chances: &[f64]) -> usize {
    chances.iter().enumerate().fold((0, f64::NEG_INFINITY), |top, (ix, &p)| if p > top.1 { (ix, p) } else { top }).0
}

fn check_priors(priors: &[f64]) -> Result<()> {
    let sum: f64 = priors.iter().sum();
    if priors.iter().all(|p| *p >= 0.0) && (sum - 1.0).abs() < 1e-6 {
        return Ok(());
    }
    Err(Error::option("classify.prior", "priors must be at least 0 and sum to 1"))
}

fn schema_of(model: &ModelFile) -> Option<&Arc<Schema>> {
    match model {
        ModelFile::LatentTree(model) => Some(model.schema()),
        ModelFile::Spectral(model) => Some(model.schema()),
        ModelFile::Tree { .. } => None,
    }
}

/// A batch without one of its columns.
#[must_use]
pub fn without_column(batch: &Batch, column: ColIx) -> Batch {
    let column = column.get();
    let block = match &batch.block {
        Block::Dense(columns) => {
            let kept = columns.iter().enumerate().filter(|(ix, _)| *ix != column).map(|(_, data)| data.clone());
            Block::Dense(kept.collect::<Vec<ColumnData>>())
        }
        Block::Sparse(rows) => {
            let mut kept = SparseRows { values: rows.values.as_ref().map(|_| Vec::new()), ..SparseRows::default() };
            for row in 0..rows.n_rows() {
                for (ix, value) in rows.row(row).filter(|it| it.0 != column) {
                    kept.columns.push((ix - usize::from(ix > column)) as u32);
                    if let Some(values) = &mut kept.values {
                        values.push(value);
                    }
                }
                kept.starts.push(kept.columns.len());
            }
            Block::Sparse(kept)
        }
    };
    Batch { first_row: batch.first_row, n_rows: batch.n_rows, block, weights: batch.weights.clone() }
}
