//! What comes out of learning.

use serde::Serialize;
use serde_json::{Value, json};

use super::Criterion;
use crate::distance::Estimator;
use crate::format::ModelFile;
use crate::model::{LatentTree, Provenance};
use crate::selection::CandidateScore;
use crate::structure::LearnerName;
use crate::support::SplitSummary;
use crate::tree::Tree;

/// A stage of the work and how long it took.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Stage {
    /// Its name.
    pub name: String,
    /// Seconds by the clock.
    pub seconds: f64,
}

/// A learned model, or tree, and how it came about.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Learned {
    /// The model; the tree alone where the input gives no parameters or none were asked for.
    pub file: ModelFile,
    /// The learner that ran.
    pub learner: LearnerName,
    /// The distance that was used.
    pub estimator: Option<Estimator>,
    /// The penalty of the prior of trees, where likelihood decided about the tree.
    pub penalty: Option<&'static str>,
    /// Number of rows learned from.
    pub rows: Option<u64>,
    /// Exact number of free parameters.
    pub free_parameters: Option<usize>,
    /// Log-likelihood of the rows that were learned from.
    pub log_likelihood: Option<f64>,
    /// `log_likelihood − ½ free_parameters · ln weight`: larger is better.
    pub bic: Option<f64>,
    /// Mean log-likelihood of the validation rows.
    pub validation: Option<f64>,
    /// Number of validation rows.
    pub validation_rows: Option<u64>,
    /// What decided between models, if a search did.
    pub criterion: Option<Criterion>,
    /// The candidates that validation rows decided between.
    pub candidates: Vec<CandidateScore>,
    /// How sure the splits between hidden variables are, where they were tested.
    pub splits: Option<SplitSummary>,
    /// Rows whose estimate by a spectral model was too small; see [`Evaluator`](crate::spectral::Evaluator).
    pub clipped_rows: Option<u64>,
    /// Passes of EM over the rows.
    pub em_iterations: Option<usize>,
    /// Whether everything iterative came to its end.
    pub converged: bool,
    /// What the user should know.
    pub warnings: Vec<String>,
    /// What was done, in the order of the beginnings.
    pub stages: Vec<Stage>,
}

impl Learned {
    /// The tree.
    #[must_use]
    pub fn tree(&self) -> &Tree {
        self.file.tree()
    }

    /// What is to be told about it, as one JSON object for all who call: the command line and other languages.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let tree = self.tree();
        let aic = self.log_likelihood.zip(self.free_parameters).map(|(value, free)| value - free as f64);
        json!({
            "stages": self.stages,
            "rows": self.rows,
            "observed": tree.n_observed(),
            "hidden": tree.n_hidden(),
            "edges": tree.n_edges(),
            "trees": tree.n_components(),
            "structure": self.learner.name(),
            "distance": self.estimator.map(Estimator::name),
            "penalty": self.penalty,
            "free_parameters": self.free_parameters,
            "log_likelihood": self.log_likelihood,
            "bic": self.bic,
            "aic": aic,
            "select": self.criterion.map(Criterion::name),
            "validation_rows": self.validation_rows,
            "validation_mean_log_likelihood": self.validation,
            "candidates": self.candidates,
            "splits": self.splits,
            "em_iterations": self.em_iterations,
            "clipped_rows": self.clipped_rows,
            "converged": self.converged,
            "warnings": self.warnings,
        })
    }

    /// The model, if there is more than a tree.
    #[must_use]
    pub fn model(&self) -> Option<&LatentTree> {
        match &self.file {
            ModelFile::LatentTree(model) => Some(model),
            ModelFile::Spectral(_) | ModelFile::Tree { .. } => None,
        }
    }

    /// The same with the digest of the data, `sha256:…`, and how they were read recorded in the model's provenance.
    #[must_use]
    pub fn with_data(mut self, digest: Option<String>, read: Option<Value>) -> Self {
        match &mut self.file {
            ModelFile::LatentTree(model) => {
                let provenance = Provenance { data_digest: digest, read, ..model.provenance().clone() };
                *model = model.clone().with_provenance(provenance);
            }
            ModelFile::Spectral(model) => {
                let provenance = Provenance { data_digest: digest, read, ..model.provenance().clone() };
                *model = model.clone().with_provenance(provenance);
            }
            ModelFile::Tree { provenance, .. } => (provenance.data_digest, provenance.read) = (digest, read),
        }
        self
    }
}
