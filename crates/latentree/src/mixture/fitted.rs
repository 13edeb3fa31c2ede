//! A mixture that was found, and what is known of it.

use serde_json::{Value, json};

use super::{MixtureFamily, MixtureMethod};
use crate::model::{LatentTree, TopicModel};

/// A mixture, as a model.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
#[expect(clippy::large_enum_variant, reason = "there is one of it, and a star is what it usually is")]
pub enum MixtureModel {
    /// A star with the component as its hidden variable.
    Star(LatentTree),
    /// A latent Dirichlet allocation.
    Topics(TopicModel),
}

/// A number of components that was tried.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tried {
    /// Number of components.
    pub components: usize,
    /// Log-likelihood of the rows.
    pub log_likelihood: f64,
    /// BIC on the scale of the log-likelihood, larger is better.
    pub bic: f64,
}

/// What was found.
#[derive(Debug, Clone, PartialEq)]
pub struct MixtureFit {
    /// The model.
    pub model: MixtureModel,
    /// Its family.
    pub family: MixtureFamily,
    /// The method that found it.
    pub method: MixtureMethod,
    /// Probabilities of the components, falling where EM has not changed them.
    pub weights: Vec<f64>,
    /// Log-likelihood of the rows; of `lda` the [bound](TopicModel::bound).
    pub log_likelihood: f64,
    /// For `single-topic`, the log-likelihood given the lengths of documents.
    pub log_likelihood_given_lengths: Option<f64>,
    /// BIC on the scale of the log-likelihood, larger is better.
    pub bic: f64,
    /// The most probable component of every row.
    pub labels: Vec<usize>,
    /// Number of rows of each component.
    pub sizes: Vec<u64>,
    /// The most relevant features of each component.
    pub relevant: Vec<Vec<String>>,
    /// Coherence of each component's leading columns, for counts and binary columns.
    pub coherence: Option<Vec<f64>>,
    /// Expected error of the second and the third moment of documents, `√(W (1 − ‖M‖²))` (Ruffini 2019, Theorem 3.2.2).
    pub moment_error: Option<[f64; 2]>,
    /// How far apart the two most alike components are in the moments; see [`Components::gap`](crate::tensor::Components::gap).
    pub gap: Option<f64>,
    /// Components that the second moment supports: its eigenvalues above the noise.
    pub supported: Option<usize>,
    /// Sum of the Dirichlet parameters of `lda`.
    pub alpha: Option<f64>,
    /// Passes of EM, and whether it converged; `None` without.
    pub em: Option<(usize, bool)>,
    /// All numbers of components that were tried, where there was a choice.
    pub tried: Vec<Tried>,
    /// What the user should know.
    pub warnings: Vec<String>,
}

impl MixtureFit {
    /// The star, if it is one.
    #[must_use]
    pub fn star(&self) -> Option<&LatentTree> {
        match &self.model {
            MixtureModel::Star(model) => Some(model),
            MixtureModel::Topics(_) => None,
        }
    }

    /// Everything but the model and the labels, as the command line prints it with `--json`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let tried = |it: &Tried| json!({"components": it.components, "log_likelihood": it.log_likelihood, "bic": it.bic});
        let mut json = json!({
            "family": self.family,
            "method": self.method,
            "rows": self.labels.len(),
            "components": self.weights.len(),
            "weights": self.weights,
            "log_likelihood": self.log_likelihood,
            "bic": self.bic,
            "sizes": self.sizes,
            "relevant": self.relevant,
            "coherence": self.coherence,
            "moment_error": self.moment_error,
            "gap": self.gap,
            "supported": self.supported,
            "em": self.em.map(|(passes, converged)| json!({"passes": passes, "converged": converged})),
            "tried": self.tried.iter().map(tried).collect::<Vec<_>>(),
            "warnings": self.warnings,
        });
        if let Some(given) = self.log_likelihood_given_lengths {
            json["log_likelihood_given_lengths"] = given.into();
        }
        if let Some(alpha) = self.alpha {
            json["alpha"] = alpha.into();
        }
        json
    }
}
