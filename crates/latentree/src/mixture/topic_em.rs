//! EM for the single-topic model: a star of Poisson leaves whose rates sum to the same length L in every topic.
//!
//! Given the document lengths, the log-likelihood is that of the star minus the log-probability of the lengths, which does
//! not depend on the topics: `ln P(x) = ln P(x | t) + ln Poisson(t; L)`. Posteriors are therefore those of eq. 3.4 of Ruffini
//! (2019), and the M-step is `μ_ic = Σ γ_c x_i / Σ γ_c t`.

use std::sync::Arc;

use crate::data::{Block, Rows};
use crate::error::Result;
use crate::index::NodeIx;
use crate::model::{Distribution, Emission, LatentTree, Table};
use crate::moments::fold;
use crate::observer::{Observer, Quiet};
use crate::parameters::em::ExpectedCounts;

/// Maximum number of passes.
const PASSES: usize = 200;
/// Relative improvement of the log-likelihood per pass below which a fit stops.
pub(super) const TOLERANCE: f64 = 1e-6;
/// Relative improvement per pass below which moves of documents take over.
pub(super) const ROUGH: f64 = 1e-4;
/// Number of pseudo-words, distributed like all words, that each topic is given; keeps words possible that a topic never had.
pub(super) const PSEUDO_WORDS: f64 = 1.0;

/// A fitted model.
pub(crate) struct TopicFit {
    pub(crate) model: LatentTree,
    pub(crate) log_likelihood: f64,
    pub(crate) passes: usize,
    pub(crate) converged: bool,
}

/// Fits the topics and their probabilities from this start until a pass improves the log-likelihood by less than this share.
pub(crate) fn fit(
    start: LatentTree,
    root: NodeIx,
    overall: &[f64],
    tolerance: f64,
    rows: &dyn Rows,
    observer: &dyn Observer,
) -> Result<TopicFit> {
    observer.stage("em", Some(PASSES as u64));
    let mut model = Arc::new(start);
    let mut before = f64::NEG_INFINITY;
    for pass in 1..=PASSES {
        let counts = fold(&mut *rows.open()?, ExpectedCounts::new(Arc::clone(&model)), &Quiet(observer))?;
        let log_likelihood = counts.log_likelihood();
        observer.progress(pass as u64);
        let converged = (log_likelihood - before).abs() <= tolerance * log_likelihood.abs();
        if converged || pass == PASSES {
            let model = Arc::unwrap_or_clone(model);
            return Ok(TopicFit { model, log_likelihood, passes: pass, converged });
        }
        before = log_likelihood;
        model = Arc::new(maximise(&counts, root, overall)?);
    }
    unreachable!("the last pass returns")
}

/// The M-step.
fn maximise(counts: &ExpectedCounts, root: NodeIx, overall: &[f64]) -> Result<LatentTree> {
    let weights = counts.state_weights(root).expect("the root is discrete");
    with_sums(counts.model(), root, &weights, overall, |_, leaf| counts.count_sums(leaf).to_vec())
}

/// The model implied by a grouping of the rows.
pub(crate) fn of_groups(
    model: &LatentTree,
    root: NodeIx,
    overall: &[f64],
    rows: &dyn Rows,
    groups: &[u32],
) -> Result<LatentTree> {
    let k = model.n_states(root).expect("the root is discrete");
    let (mut weights, mut sums) = (vec![0.0; k], vec![0.0; k * overall.len()]);
    let mut source = rows.open()?;
    let mut number = 0;
    while let Some(batch) = source.next_batch()? {
        for row in 0..batch.n_rows {
            let (group, weight) = (groups[number] as usize, batch.weight(row));
            weights[group] += weight;
            match &batch.block {
                Block::Sparse(rows) => rows.row(row).for_each(|(column, count)| sums[column * k + group] += weight * count),
                Block::Dense(columns) => {
                    columns.iter().enumerate().for_each(|(ix, cells)| sums[ix * k + group] += weight * cells.number(row));
                }
            }
            number += 1;
        }
    }
    // Keeps every topic possible.
    weights.iter_mut().for_each(|weight| *weight = weight.max(f64::MIN_POSITIVE.sqrt()));
    with_sums(model, root, &weights, overall, |leaf, _| sums[leaf * k..(leaf + 1) * k].to_vec())
}

/// The model whose topics have these weights and these sums of counts, given per leaf.
fn with_sums(
    model: &LatentTree,
    root: NodeIx,
    weights: &[f64],
    overall: &[f64],
    sums_of: impl Fn(usize, NodeIx) -> Vec<f64>,
) -> Result<LatentTree> {
    let k = weights.len();
    let leaves: Vec<NodeIx> = model.schema().variable_ixs().map(|variable| model.node_of(variable)).collect();
    let length: f64 = leaves.iter().map(|&leaf| rates(model, leaf)[0]).sum();
    let mut totals = vec![0.0; k];
    let sums: Vec<Vec<f64>> = leaves
        .iter()
        .zip(overall)
        .enumerate()
        .map(|(ix, (&leaf, share))| sums_of(ix, leaf).iter().map(|sum| sum + PSEUDO_WORDS * share).collect::<Vec<f64>>())
        .inspect(|sums| totals.iter_mut().zip(sums).for_each(|(total, sum)| *total += sum))
        .collect();
    let all: f64 = weights.iter().sum();
    let mut distributions: Vec<Distribution> = model.tree().node_ixs().map(|node| model.distribution(node).clone()).collect();
    distributions[root.get()] = Distribution::Discrete(Table::new(k, weights.iter().map(|weight| weight / all).collect()));
    for (leaf, sums) in leaves.iter().zip(&sums) {
        let rates = sums.iter().zip(&totals).map(|(sum, total)| length * sum / total).collect();
        distributions[leaf.get()] = Distribution::Emission(Emission::Poisson { rates });
    }
    model.with_distributions(distributions)
}

pub(super) fn rates(model: &LatentTree, leaf: NodeIx) -> &[f64] {
    match model.distribution(leaf) {
        Distribution::Emission(Emission::Poisson { rates }) => rates,
        _ => unreachable!("leaves are counts"),
    }
}
