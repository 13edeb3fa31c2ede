//! Goodness of fit, and profiles of hidden variables.

use rayon::prelude::*;
use serde::Serialize;

use super::pair_misfits::pair_misfits;
use super::profile::{Found, most_informative};
use super::steps::{Content, Steps, chain};
use crate::data::Rows;
use crate::error::Result;
use crate::index::{NodeIx, VarIx};
use crate::inference::{Inference, Score};
use crate::model::edge_information;
use crate::model::{Family, LatentTree, PoorPair};
use crate::moments::{PairMoments, fold};
use crate::observer::Observer;

/// How well a model fits rows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Fit {
    /// Number of rows.
    pub rows: u64,
    /// Sum of their weights.
    pub weight: f64,
    /// Log-likelihood; `None` if a row has probability zero.
    pub log_likelihood: Option<f64>,
    /// Log-likelihood per unit of weight.
    pub mean_log_likelihood: Option<f64>,
    /// `ln L − ½ parameters · ln N`, larger is better.
    pub bic: Option<f64>,
    /// `ln L − parameters`, larger is better.
    pub aic: Option<f64>,
}

impl From<Score> for Fit {
    fn from(score: Score) -> Self {
        let finite = |value: f64| value.is_finite().then_some(value);
        Self {
            rows: score.rows,
            weight: score.weight,
            log_likelihood: finite(score.log_likelihood),
            mean_log_likelihood: finite(score.mean_log_likelihood()),
            bic: finite(score.bic()),
            aic: finite(score.log_likelihood - score.free_parameters as f64),
        }
    }
}

/// An edge and its strength.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EdgeStrength {
    /// The node nearer to the root.
    pub source: String,
    /// The other node.
    pub target: String,
    /// Mutual information in nats; for numbers below a discrete node, that of their intervals.
    pub mutual_information: Option<f64>,
    /// Support of the edge's split by a local test, if known.
    pub support: Option<f64>,
    /// Share of bootstrap replicates that have its split, if known.
    pub bootstrap: Option<f64>,
}

/// The distribution of a variable in each state of a hidden variable.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProfileVariable {
    /// Its name.
    pub name: String,
    /// Mutual information with the hidden variable in nats; for numbers, that of their intervals.
    pub information: f64,
    /// Its labels; empty for numbers.
    pub labels: Vec<String>,
    /// By state of the hidden variable: the probability of each label, or the mean.
    pub by_state: Vec<Vec<f64>>,
}

/// A hidden variable.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HiddenVariable {
    /// Its name.
    pub name: String,
    /// Its states' labels; empty for a Gaussian one.
    pub states: Vec<String>,
    /// Their probabilities.
    pub probabilities: Vec<f64>,
    /// Entropy of the states in nats; `None` for a Gaussian one.
    pub entropy: Option<f64>,
    /// The most informative variables, most informative first.
    pub profile: Vec<ProfileVariable>,
}

/// Two variables and how badly the model explains them together; see [`PairMisfit`](super::PairMisfit).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UnexplainedPair {
    /// One variable.
    pub first: String,
    /// The other.
    pub second: String,
    /// The possible gain in log-likelihood of the two variables, in nats over all rows.
    pub nats: f64,
    /// Their mutual information in the data, in nats per row.
    pub information: f64,
    /// Their mutual information in the model.
    pub model_information: f64,
}

/// A summary of a model and its fit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Goodness {
    /// Number of observed variables.
    pub observed: usize,
    /// Number of hidden variables.
    pub hidden: usize,
    /// Number of separate trees; variables that stand alone are trees, too.
    pub trees: usize,
    /// Exact number of free parameters.
    pub free_parameters: usize,
    /// The fit to the rows, if there are any.
    pub fit: Option<Fit>,
    /// By edge, strongest first.
    pub edges: Vec<EdgeStrength>,
    /// The hidden variables, in the order of their nodes.
    pub hidden_variables: Vec<HiddenVariable>,
    /// The pairs of discrete variables that the model explains worst, worst first; empty without rows.
    pub unexplained_pairs: Vec<UnexplainedPair>,
    /// The pairs of columns that the model explains badly, worst first; without rows, the pairs recorded when it was learned. See
    /// [`poor_pairs`](crate::report::poor_pairs).
    pub poor_pairs: Vec<PoorPair>,
}

/// How many variables and pairs to list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GoodnessOptions {
    /// Variables in the profile of each hidden variable.
    pub profile_variables: usize,
    /// Pairs that the model explains worst, of each kind.
    pub pairs: usize,
}

impl Default for GoodnessOptions {
    fn default() -> Self {
        Self { profile_variables: 8, pairs: 10 }
    }
}

/// Summarises a model and, if given, its fit to rows with its schema. This takes two passes over the rows; the second one, for pairs, is
/// skipped for more than 4,000 columns.
///
/// # Errors
/// Errors of the source, [`Error::Mismatch`](crate::Error::Mismatch) if it has another schema, and
/// [`Error::Cancelled`](crate::Error::Cancelled).
pub fn goodness(
    model: &LatentTree,
    rows: Option<&dyn Rows>,
    options: GoodnessOptions,
    observer: &dyn Observer,
) -> Result<Goodness> {
    const MAX_COLUMNS: usize = 4000;
    let (mut fit, mut unexplained_pairs) = (None, Vec::new());
    let mut poor_pairs = model.provenance().poor_pairs.clone();
    if let Some(rows) = rows {
        fit = Some(Inference::new(model).score(&mut *rows.open()?, observer, |_, _| Ok(()))?.into());
        poor_pairs = Vec::new();
        if model.schema().columns().len() <= MAX_COLUMNS && options.pairs > 0 {
            observer.stage("pairs", rows.n_rows_hint());
            let moments = fold(&mut *rows.open()?, PairMoments::new(model.schema().clone())?, observer)?;
            if model.family() == Family::Discrete {
                unexplained_pairs = pairs(model, &moments, options.pairs)?;
            }
            poor_pairs = super::poor_pairs(model, &moments);
            poor_pairs.truncate(options.pairs);
        }
    }
    let tree = model.tree();
    Ok(Goodness {
        observed: tree.n_observed(),
        hidden: tree.n_hidden(),
        trees: tree.n_components(),
        free_parameters: model.n_free_parameters(),
        fit,
        edges: edges(model),
        hidden_variables: hidden_variables(model, options.profile_variables),
        unexplained_pairs,
        poor_pairs,
    })
}

/// The pairs that a model explains worst, by name.
fn pairs(model: &LatentTree, moments: &PairMoments, most: usize) -> Result<Vec<UnexplainedPair>> {
    let name = |variable: VarIx| model.schema().variable(variable).name.clone();
    let found = pair_misfits(model, moments, most)?;
    Ok(found
        .into_iter()
        .map(|pair| UnexplainedPair {
            first: name(pair.a),
            second: name(pair.b),
            nats: pair.nats,
            information: pair.information,
            model_information: pair.model_information,
        })
        .collect())
}

fn edges(model: &LatentTree) -> Vec<EdgeStrength> {
    let tree = model.tree();
    let mut strength = edge_information(model);
    if model.family() == Family::Discrete {
        let emissions = Steps::new(model).emission_information(model);
        strength.iter_mut().zip(emissions).for_each(|(strength, emission)| *strength = strength.or(emission));
    }
    let mut edges: Vec<EdgeStrength> = tree
        .node_ixs()
        .filter_map(|node| {
            let parent = model.parent(node)?;
            let link = tree.links(node).iter().find(|link| link.to == parent)?;
            Some(EdgeStrength {
                source: tree.name(parent).to_owned(),
                target: tree.name(node).to_owned(),
                mutual_information: strength[node.get()],
                support: link.support,
                bootstrap: link.bootstrap,
            })
        })
        .collect();
    edges.sort_by(|a, b| {
        let value = |edge: &EdgeStrength| edge.mutual_information.unwrap_or(-1.0);
        value(b).total_cmp(&value(a)).then_with(|| (&a.source, &a.target).cmp(&(&b.source, &b.target)))
    });
    edges
}

fn hidden_variables(model: &LatentTree, most: usize) -> Vec<HiddenVariable> {
    let steps = (model.family() == Family::Discrete).then(|| Steps::new(model));
    let nodes: Vec<NodeIx> = model.hidden().collect();
    let of_node = |&node: &NodeIx| {
        let probabilities = steps.as_ref().map_or_else(Vec::new, |steps| steps.marginals[node.get()].clone());
        let entropy = probabilities.iter().filter(|p| **p > 0.0).map(|p| -p * p.ln()).sum();
        let found = steps.as_ref().map_or_else(Vec::new, |steps| most_informative(model.tree(), steps, node.get(), None, most));
        HiddenVariable {
            name: model.tree().name(node).to_owned(),
            states: model.domain(node).labels().unwrap_or_default().to_vec(),
            entropy: (!probabilities.is_empty()).then_some(entropy),
            profile: found.iter().map(|found| profile_variable(model, found, probabilities.len())).collect(),
            probabilities,
        }
    };
    nodes.par_iter().map(of_node).collect()
}

/// The profile of a variable, by name and by the states of the hidden node.
fn profile_variable(model: &LatentTree, found: &Found<'_>, n_states: usize) -> ProfileVariable {
    let information = found.information;
    let width = found.given.len() / n_states;
    let rows = |values: &[f64], width: usize| values.chunks_exact(width).map(<[f64]>::to_vec).collect();
    let Some(attached) = found.attached else {
        let node = NodeIx::new(found.node);
        let labels = model.domain(node).labels().unwrap_or_default().to_vec();
        return ProfileVariable {
            name: model.tree().name(node).to_owned(),
            information,
            labels,
            by_state: rows(&found.given, width),
        };
    };
    let column = model.schema().column(attached.column);
    let (labels, by_state) = match &attached.content {
        Content::Labels => {
            let given = chain(&found.given, width, &attached.outcomes, attached.n_outcomes);
            (column.kind.labels().unwrap_or_default().to_vec(), rows(&given, attached.n_outcomes))
        }
        Content::Numbers(moments) => {
            let mean = |row: &[f64]| vec![row.iter().zip(moments).map(|(weight, it)| weight * it.0).sum()];
            (Vec::new(), found.given.chunks_exact(width).map(mean).collect())
        }
    };
    ProfileVariable { name: column.name.clone(), information, labels, by_state }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Silent;
    use crate::model::test_models::{Family, random_model};

    #[test]
    fn every_edge_has_a_strength() {
        for (seed, family) in (0..20).zip([Family::Discrete, Family::Mixed, Family::Gaussian].into_iter().cycle()) {
            let found = goodness(&random_model(seed, family, 10), None, GoodnessOptions::default(), &Silent).unwrap();
            assert!(found.edges.iter().all(|edge| edge.mutual_information.is_some_and(|nats| nats >= 0.0)), "{:?}", found.edges);
        }
    }
}
