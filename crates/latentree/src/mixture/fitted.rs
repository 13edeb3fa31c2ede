//! A fitted mixture and its diagnostics.

use serde_json::{Value, json};

use super::{MixtureFamily, MixtureMethod};
use crate::model::{LatentTree, TopicModel};

/// The model of a mixture.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
#[expect(clippy::large_enum_variant, reason = "there is one of it, and a star is what it usually is")]
pub enum MixtureModel {
    /// A star whose hidden variable is the component.
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
    /// BIC on the scale of the log-likelihood; larger is better.
    pub bic: f64,
}

/// A fitted mixture.
#[derive(Debug, Clone, PartialEq)]
pub struct MixtureFit {
    /// The model.
    pub model: MixtureModel,
    /// Its family.
    pub family: MixtureFamily,
    /// The method that found it.
    pub method: MixtureMethod,
    /// Probabilities of the components, in decreasing order unless EM has changed them.
    pub weights: Vec<f64>,
    /// Log-likelihood of the rows; for `lda`, its [lower bound](TopicModel::bound).
    pub log_likelihood: f64,
    /// For `single-topic`, the log-likelihood given the lengths of documents.
    pub log_likelihood_given_lengths: Option<f64>,
    /// BIC on the scale of the log-likelihood; larger is better.
    pub bic: f64,
    /// The most probable component of each row.
    pub labels: Vec<usize>,
    /// Number of rows assigned to each component.
    pub sizes: Vec<u64>,
    /// The most relevant features of each component.
    pub relevant: Vec<Vec<String>>,
    /// Coherence of each component's leading columns, for counts and binary columns.
    pub coherence: Option<Vec<f64>>,
    /// Expected error of the second and third moments of documents, `√(W (1 − ‖M‖²))` (Ruffini 2019, Theorem 3.2.2).
    pub moment_error: Option<[f64; 2]>,
    /// Separation of the two most similar components in the moments; see [`Components::gap`](crate::tensor::Components::gap).
    pub gap: Option<f64>,
    /// Number of components supported by the second moment: its eigenvalues above the noise.
    pub supported: Option<usize>,
    /// Sum of the Dirichlet parameters of `lda`.
    pub alpha: Option<f64>,
    /// Number of EM passes and whether EM converged; `None` if EM was not run.
    pub em: Option<(usize, bool)>,
    /// All numbers of components that were tried, if there was a choice.
    pub tried: Vec<Tried>,
    /// Warnings for the user.
    pub warnings: Vec<String>,
}

impl MixtureFit {
    /// The star, if the model is one.
    #[must_use]
    pub fn star(&self) -> Option<&LatentTree> {
        match &self.model {
            MixtureModel::Star(model) => Some(model),
            MixtureModel::Topics(_) => None,
        }
    }

    /// Everything except the model and the labels, as printed by the command line with `--json`.
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
