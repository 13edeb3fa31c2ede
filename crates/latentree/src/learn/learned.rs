//! The result of learning.

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
    /// Elapsed seconds.
    pub seconds: f64,
}

/// A learned model or tree, and how it was found.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Learned {
    /// The model, or only the tree if the input gives no parameters or none were requested.
    pub file: ModelFile,
    /// The learner that ran.
    pub learner: LearnerName,
    /// The distance that was used.
    pub estimator: Option<Estimator>,
    /// The penalty of the prior over trees, if the tree was chosen by likelihood.
    pub penalty: Option<&'static str>,
    /// Number of training rows.
    pub rows: Option<u64>,
    /// Exact number of free parameters.
    pub free_parameters: Option<usize>,
    /// Log-likelihood of the training rows.
    pub log_likelihood: Option<f64>,
    /// `log_likelihood − ½ free_parameters · ln weight`: larger is better.
    pub bic: Option<f64>,
    /// Mean log-likelihood of the validation rows.
    pub validation: Option<f64>,
    /// Number of validation rows.
    pub validation_rows: Option<u64>,
    /// The criterion of the search, if there was one.
    pub criterion: Option<Criterion>,
    /// The candidates that were compared on validation rows.
    pub candidates: Vec<CandidateScore>,
    /// Summary of the support of the splits between hidden variables, if they were tested.
    pub splits: Option<SplitSummary>,
    /// Rows whose estimate by a spectral model was raised to the minimum; see [`Evaluator`](crate::spectral::Evaluator).
    pub clipped_rows: Option<u64>,
    /// Number of EM passes over the rows.
    pub em_iterations: Option<usize>,
    /// Whether all iterative steps converged.
    pub converged: bool,
    /// Whether the observer ended the search early. The model is the best one found until then.
    pub interrupted: bool,
    /// Warnings for the user.
    pub warnings: Vec<String>,
    /// The stages, in the order in which they started.
    pub stages: Vec<Stage>,
}

impl Learned {
    /// The tree.
    #[must_use]
    pub fn tree(&self) -> &Tree {
        self.file.tree()
    }

    /// A summary as one JSON object, shared by the command line and other bindings.
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
            "interrupted": self.interrupted,
            "warnings": self.warnings,
        })
    }

    /// The model, unless there is only a tree.
    #[must_use]
    pub fn model(&self) -> Option<&LatentTree> {
        match &self.file {
            ModelFile::LatentTree(model) => Some(model),
            ModelFile::Spectral(_) | ModelFile::Tree { .. } => None,
        }
    }

    /// Records the digest of the data, `sha256:…`, and how they were read in the model's provenance.
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
