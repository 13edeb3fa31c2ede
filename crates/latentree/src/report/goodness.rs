//! How good a model is, and what its hidden variables mean.

use serde::Serialize;

use super::edge_information;
use crate::data::{BatchSource, Kind};
use crate::error::Result;
use crate::index::{NodeIx, VarIx};
use crate::inference::{Inference, Score};
use crate::model::{Distribution, Emission, Family, LatentTree, Marginal};
use crate::moments::{PairMoments, fold};
use crate::observer::Observer;
use crate::selection::pair_misfits;

/// How well a model explains some rows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Fit {
    /// Number of rows.
    pub rows: u64,
    /// Sum of their weights.
    pub weight: f64,
    /// Log-likelihood; `None` where a row has probability zero.
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

/// An edge and how strongly its ends depend on each other.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EdgeStrength {
    /// The node nearer to the root.
    pub source: String,
    /// The other node.
    pub target: String,
    /// Mutual information in nats; `None` for numbers below a discrete node, where it has no closed form.
    pub mutual_information: Option<f64>,
}

/// What a variable is like in each state of a hidden variable.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProfileVariable {
    /// Its name.
    pub name: String,
    /// How much it tells of the hidden variable, in nats; of a number, as if it were Gaussian.
    pub information: f64,
    /// Its labels; empty for numbers.
    pub labels: Vec<String>,
    /// By state of the hidden variable: the probability of each label, or the mean alone.
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
    /// The variables that tell most of it, most first.
    pub profile: Vec<ProfileVariable>,
}

/// Two variables and how badly the model explains them together; see [`PairMisfit`](crate::selection::PairMisfit).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UnexplainedPair {
    /// One variable.
    pub first: String,
    /// The other.
    pub second: String,
    /// By how much the log-likelihood of the two could rise, in nats over all rows.
    pub nats: f64,
    /// Their mutual information in the data, in nats per row.
    pub information: f64,
    /// Their mutual information in the model.
    pub model_information: f64,
}

/// Everything that is to be said about how good a model is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Goodness {
    /// Number of observed variables.
    pub observed: usize,
    /// Number of hidden variables.
    pub hidden: usize,
    /// Exact number of free parameters.
    pub free_parameters: usize,
    /// The fit to the rows, where there are some.
    pub fit: Option<Fit>,
    /// By edge, strongest first.
    pub edges: Vec<EdgeStrength>,
    /// The hidden variables, in the order of their nodes.
    pub hidden_variables: Vec<HiddenVariable>,
    /// The pairs of discrete variables that the model explains worst, worst first; empty without rows.
    pub unexplained_pairs: Vec<UnexplainedPair>,
}

/// How many variables and pairs are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GoodnessOptions {
    /// Variables in the profile of each hidden variable.
    pub profile_variables: usize,
    /// Pairs that the model explains worst.
    pub pairs: usize,
}

impl Default for GoodnessOptions {
    fn default() -> Self {
        Self { profile_variables: 8, pairs: 10 }
    }
}

/// Looks at a model, and at rows with its schema where there are some: two passes, of which the second, for pairs, is left out for more than 4,000 columns.
///
/// # Errors
/// Those of the source, [`Error::Mismatch`](crate::Error::Mismatch) if it has another schema, and [`Error::Cancelled`](crate::Error::Cancelled).
pub fn goodness(
    model: &LatentTree,
    rows: Option<&mut dyn BatchSource>,
    options: GoodnessOptions,
    observer: &dyn Observer,
) -> Result<Goodness> {
    const MOST_COLUMNS: usize = 4000;
    let (mut fit, mut unexplained_pairs) = (None, Vec::new());
    if let Some(rows) = rows {
        fit = Some(Inference::new(model).score(rows, observer, |_, _| Ok(()))?.into());
        if model.schema().columns().len() <= MOST_COLUMNS && options.pairs > 0 && model.family() == Family::Discrete {
            rows.rewind()?;
            observer.stage("pairs", rows.n_rows_hint());
            let moments = fold(rows, PairMoments::new(model.schema().clone())?, observer)?;
            unexplained_pairs = pairs(model, &moments, options.pairs)?;
        }
    }
    let tree = model.tree();
    Ok(Goodness {
        observed: tree.n_observed(),
        hidden: tree.n_hidden(),
        free_parameters: model.n_free_parameters(),
        fit,
        edges: edges(model),
        hidden_variables: hidden_variables(model, options.profile_variables),
        unexplained_pairs,
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
    let strength = edge_information(model);
    let mut edges: Vec<EdgeStrength> = tree
        .node_ixs()
        .filter_map(|node| {
            let parent = model.parent(node)?;
            let (source, target) = (tree.name(parent).to_owned(), tree.name(node).to_owned());
            Some(EdgeStrength { source, target, mutual_information: strength[node.get()] })
        })
        .collect();
    edges.sort_by(|a, b| {
        let value = |edge: &EdgeStrength| edge.mutual_information.unwrap_or(-1.0);
        value(b).total_cmp(&value(a)).then_with(|| (&a.source, &a.target).cmp(&(&b.source, &b.target)))
    });
    edges
}

fn hidden_variables(model: &LatentTree, most: usize) -> Vec<HiddenVariable> {
    let marginals = model.marginals();
    model
        .hidden()
        .map(|node| {
            let probabilities = match &marginals[node.get()] {
                Marginal::Discrete(probabilities) => probabilities.clone(),
                _ => Vec::new(),
            };
            let entropy = probabilities.iter().filter(|p| **p > 0.0).map(|p| -p * p.ln()).sum();
            HiddenVariable {
                name: model.tree().name(node).to_owned(),
                states: model.domain(node).labels().unwrap_or_default().to_vec(),
                entropy: (!probabilities.is_empty()).then_some(entropy),
                profile: profile(model, &marginals, node, &probabilities, most),
                probabilities,
            }
        })
        .collect()
}

/// What observed variables are like in each state of a hidden node. Away from it every node's distribution given its states is a product of tables.
fn profile(model: &LatentTree, marginals: &[Marginal], from: NodeIx, weights: &[f64], most: usize) -> Vec<ProfileVariable> {
    let k = weights.len();
    if k == 0 {
        return Vec::new();
    }
    let schema = model.schema();
    let mut found = Vec::new();
    // P(node | state of the hidden node), a row per state.
    let identity = (0..k * k).map(|at| f64::from(u8::from(at / k == at % k))).collect::<Vec<f64>>();
    let mut stack = vec![(from, from, identity)];
    while let Some((node, before, given)) = stack.pop() {
        let Marginal::Discrete(here) = &marginals[node.get()] else { continue };
        if let Some(variable) = model.variable(node) {
            let labels = model.domain(node).labels().unwrap_or_default().to_vec();
            let by_state: Vec<Vec<f64>> = given.chunks_exact(here.len()).map(<[f64]>::to_vec).collect();
            let information = discrete_information(weights, &by_state, here);
            found.push(ProfileVariable { name: schema.variable(variable).name.clone(), information, labels, by_state });
        }
        for link in model.tree().links(node).iter().filter(|link| link.to != before) {
            let next = link.to;
            let downwards = model.parent(next) == Some(node);
            match (model.distribution(if downwards { next } else { node }), &marginals[next.get()]) {
                (Distribution::Discrete(table), Marginal::Discrete(there)) => {
                    let mut onwards = vec![0.0; k * there.len()];
                    for (row, out) in given.chunks_exact(here.len()).zip(onwards.chunks_exact_mut(there.len())) {
                        for (s, &weight) in row.iter().enumerate().filter(|cell| *cell.1 > 0.0) {
                            for (t, sum) in out.iter_mut().enumerate() {
                                let conditional = match downwards {
                                    true => table.given(s)[t],
                                    false if here[s] > 0.0 => table.given(t)[s] * there[t] / here[s],
                                    false => 0.0,
                                };
                                *sum += weight * conditional;
                            }
                        }
                    }
                    stack.push((next, node, onwards));
                }
                (Distribution::Emission(emission), _) if downwards => {
                    let variable = model.variable(next).expect("an emitter is observed");
                    let columns = &schema.variable(variable).columns;
                    let members = match emission {
                        Emission::Group(members) => members.iter().collect(),
                        single => vec![single],
                    };
                    for (member, &column) in members.into_iter().zip(columns) {
                        let column = schema.column(column);
                        found.extend(emitted(&column.name, &column.kind, member, &given, here.len(), weights));
                    }
                }
                _ => {}
            }
        }
    }
    found.sort_by(|a, b| b.information.total_cmp(&a.information).then_with(|| a.name.cmp(&b.name)));
    found.truncate(most);
    found
}

fn discrete_information(weights: &[f64], by_state: &[Vec<f64>], marginal: &[f64]) -> f64 {
    let cells =
        weights.iter().zip(by_state).flat_map(|(&weight, row)| row.iter().zip(marginal).map(move |(&p, &q)| (weight, p, q)));
    cells
        .filter(|&(weight, p, q)| weight * p > 0.0 && q > 0.0)
        .map(|(weight, p, q)| weight * p * (p / q).ln())
        .sum::<f64>()
        .max(0.0)
}

/// The profile of a leaf that is not a plain discrete node; `given` has a row of probabilities of its parent's states per state.
fn emitted(
    name: &str,
    kind: &Kind,
    emission: &Emission,
    given: &[f64],
    n_parent: usize,
    weights: &[f64],
) -> Option<ProfileVariable> {
    let mixed = |values: &dyn Fn(usize) -> f64| -> Vec<f64> {
        given.chunks_exact(n_parent).map(|row| row.iter().enumerate().map(|(s, weight)| weight * values(s)).sum()).collect()
    };
    let (means, squares) = match emission {
        Emission::Gaussian { means, variances } => (mixed(&|s| means[s]), mixed(&|s| variances[s] + means[s] * means[s])),
        Emission::Poisson { rates } => (mixed(&|s| rates[s]), mixed(&|s| rates[s] + rates[s] * rates[s])),
        Emission::Categorical(table) => {
            let labels = kind.labels()?.to_vec();
            let by_label: Vec<Vec<f64>> = (0..labels.len()).map(|code| mixed(&|s| table.given(s)[code])).collect();
            let by_state: Vec<Vec<f64>> = (0..weights.len()).map(|s| by_label.iter().map(|column| column[s]).collect()).collect();
            let marginal: Vec<f64> = by_label.iter().map(|column| column.iter().zip(weights).map(|(a, b)| a * b).sum()).collect();
            let information = discrete_information(weights, &by_state, &marginal);
            return Some(ProfileVariable { name: name.to_owned(), information, labels, by_state });
        }
        Emission::Group(_) => return None,
    };
    let average = |values: &[f64]| values.iter().zip(weights).map(|(a, b)| a * b).sum::<f64>();
    let mean = average(&means);
    let total = average(&squares) - mean * mean;
    let between: f64 = means.iter().zip(weights).map(|(value, weight)| weight * (value - mean).powi(2)).sum();
    let explained = if total > 0.0 { (between / total).clamp(0.0, 1.0 - 1e-12) } else { 0.0 };
    Some(ProfileVariable {
        name: name.to_owned(),
        information: -0.5 * (1.0 - explained).ln(),
        labels: Vec::new(),
        by_state: means.into_iter().map(|mean| vec![mean]).collect(),
    })
}
