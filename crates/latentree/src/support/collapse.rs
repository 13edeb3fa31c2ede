//! Splits that the data do not support are taken out, and the others say how sure they are.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde::Serialize;

use super::contracted::{Merge, contracted};
use super::{Evidence, SplitTest, split_tests};
use crate::error::Result;
use crate::index::NodeIx;
use crate::inference::Inference;
use crate::model::{Family, LatentTree};
use crate::observer::Observer;
use crate::parameters::em::{Em, Smoothing, Start};
use crate::parameters::{FamilyByLengths, from_lengths, gaussian_log_likelihood};
use crate::structure::{CorrelationSample, likeliest_lengths};
use crate::tree::{Edge, Tree};

/// Support below which a split is weak, and is taken out by default where BIC does not fall.
pub const WEAK: f64 = 0.5;
/// Support from which a split is strong.
pub const STRONG: f64 = 0.95;
/// Rounds of merging; each ends with new tests.
const ROUNDS: usize = 6;
/// Passes of EM over all rows after a round.
const PASSES: usize = 20;
/// BIC may fall by this share of it, which rounding and unfinished EM make.
const SLACK: f64 = 1e-7;

/// Which splits are taken out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Collapse {
    /// None.
    Off,
    /// Those below [`WEAK`] whose removal does not lower BIC.
    ByDefault,
    /// All below this support.
    Below(f64),
}

/// What the tests of all splits between hidden variables found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct SplitSummary {
    /// Splits that stayed.
    pub splits: usize,
    /// Of them, those with a support of at least [`STRONG`].
    pub strong: usize,
    /// Of them, those with a support below [`WEAK`].
    pub weak: usize,
    /// Splits that were taken out.
    pub removed: usize,
}

/// How splits are tested and taken out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CollapseOptions {
    pub(crate) collapse: Collapse,
    pub(crate) smoothing: Smoothing,
    /// Replicates of a bootstrap that keeps the parameters, if one is asked for.
    pub(crate) bootstrap: Option<usize>,
    pub(crate) seed: u64,
}

/// The model with the supports of its splits, after those that are to go have been merged away; `None` if there is nothing to test or to test by.
pub(crate) fn collapsed(
    model: LatentTree,
    evidence: &Evidence<'_>,
    options: &CollapseOptions,
    observer: &dyn Observer,
) -> Result<(LatentTree, Option<SplitSummary>)> {
    let replicates = options.bootstrap.map(|n| (n, options.seed));
    if options.collapse == Collapse::Off {
        let tests = split_tests(&model, evidence, &|_| true, replicates, observer)?;
        return Ok(concluded(model, tests, 0));
    }
    let Some(mut tests) = split_tests(&model, evidence, &|_| true, None, observer)? else { return Ok((model, None)) };
    let (mut model, mut removed) = (model, 0);
    for _ in 0..ROUNDS {
        let Some((smaller, n_merged)) = smaller(&model, &tests, evidence, options, observer)? else { break };
        // Only what was weak, or has other neighbours now, may be the next to go.
        let ends = |tree: &Tree, [a, b]: [NodeIx; 2]| [tree.name(a).to_owned(), tree.name(b).to_owned()];
        let strong: Vec<&SplitTest> = tests.iter().filter(|test| test.support >= WEAK).collect();
        let strong: HashSet<[String; 2]> = strong.iter().map(|test| ends(model.tree(), test.ends)).collect();
        let degree = |tree: &Tree, name: &str| tree.find(name).map(|node| tree.degree(node));
        let is_same = |node: NodeIx| {
            let name = smaller.tree().name(node);
            degree(model.tree(), name) == degree(smaller.tree(), name)
        };
        // Hidden nodes of a Gaussian model are renumbered; its tests are cheap.
        let keeps_names = model.family() == Family::Discrete;
        let is_settled = |pair: [NodeIx; 2]| {
            keeps_names && strong.contains(&ends(smaller.tree(), pair)) && pair.iter().all(|&end| is_same(end))
        };
        tests = split_tests(&smaller, evidence, &|pair| !is_settled(pair), None, observer)?.unwrap_or_default();
        (model, removed) = (smaller, removed + n_merged);
    }
    let tests = if removed > 0 || replicates.is_some() {
        split_tests(&model, evidence, &|_| true, replicates, observer)?
    } else {
        Some(tests)
    };
    Ok(concluded(model, tests, removed))
}

/// The model with its supports, and their summary.
fn concluded(model: LatentTree, tests: Option<Vec<SplitTest>>, removed: usize) -> (LatentTree, Option<SplitSummary>) {
    let Some(tests) = tests else { return (model, None) };
    let by_ends: HashMap<[NodeIx; 2], &SplitTest> = tests.iter().map(|test| (test.ends, test)).collect();
    let of = |edge: &Edge| by_ends.get(&[edge.a, edge.b]).copied();
    let tree = model.tree().with_supports(|edge| of(edge).map(|test| test.support));
    let tree = tree.with_bootstrap(|edge| of(edge).and_then(|test| test.bootstrap).or(edge.bootstrap));
    let count = |is: &dyn Fn(f64) -> bool| tests.iter().filter(|test| is(test.support)).count();
    let summary = SplitSummary {
        splits: tests.len(),
        strong: count(&|support| support >= STRONG),
        weak: count(&|support| support < WEAK),
        removed,
    };
    (model.with_tree_annotations(tree), Some(summary))
}

/// The model with some edges merged that do not touch each other, fitted again, and their number; `None` if none is to go.
fn smaller(
    model: &LatentTree,
    tests: &[SplitTest],
    evidence: &Evidence<'_>,
    options: &CollapseOptions,
    observer: &dyn Observer,
) -> Result<Option<(LatentTree, usize)>> {
    let goes = |test: &SplitTest| match options.collapse {
        Collapse::Off => false,
        Collapse::ByDefault => test.support < WEAK && test.merged_bic >= 0.0,
        Collapse::Below(least) => test.support < least,
    };
    let mut chosen: Vec<&SplitTest> = tests.iter().filter(|test| goes(test)).collect();
    chosen.sort_by(|a, b| a.support.total_cmp(&b.support).then(a.ends.cmp(&b.ends)));
    let mut touched = vec![false; model.tree().n_nodes()];
    chosen.retain(|test| {
        if test.ends.iter().any(|end| touched[end.get()]) {
            return false;
        }
        for end in test.ends {
            touched[end.get()] = true;
            model.tree().links(end).iter().for_each(|link| touched[link.to.get()] = true);
        }
        true
    });
    if chosen.is_empty() {
        return Ok(None);
    }
    let is_certain = matches!(options.collapse, Collapse::Below(_));
    let before = if is_certain { f64::NEG_INFINITY } else { bic(model, evidence, observer)? };
    let by_gain = |a: &&SplitTest, b: &&SplitTest| a.merged_bic.total_cmp(&b.merged_bic).then(b.ends.cmp(&a.ends));
    let best: Vec<&SplitTest> = chosen.iter().copied().max_by(by_gain).into_iter().collect();
    // All of them, or else the one that looks best.
    for merges in [chosen, best] {
        let found = merged(model, &merges, evidence, options, observer)?;
        if is_certain || bic(&found, evidence, observer)? >= before - SLACK * before.abs() {
            return Ok(Some((found, merges.len())));
        }
    }
    Ok(None)
}

fn merged(
    model: &LatentTree,
    tests: &[&SplitTest],
    evidence: &Evidence<'_>,
    options: &CollapseOptions,
    observer: &dyn Observer,
) -> Result<LatentTree> {
    if let (Family::Gaussian, Some(moments)) = (model.family(), evidence.moments) {
        let is_chosen = |a: NodeIx, b: NodeIx| tests.iter().any(|test| test.ends == [a, b] || test.ends == [b, a]);
        let tree = model.tree().contract(|edge| is_chosen(edge.a, edge.b));
        let names: Vec<&str> = moments.schema().variables().iter().map(|variable| variable.name.as_str()).collect();
        let tree = likeliest_lengths(&tree.with_observed_first(&names)?, &CorrelationSample::from_moments(moments)?);
        return from_lengths(&tree, moments, FamilyByLengths::Gaussian, model.provenance().clone());
    }
    let merges: Vec<Merge> = tests.iter().filter_map(|test| test.merge.clone()).collect();
    let start = contracted(model, &merges)?;
    match evidence.rows {
        None => Ok(start),
        Some(rows) => {
            let em = Em::new().start(Start::Given).smoothing(options.smoothing).iterations(PASSES);
            Ok(em.fit(&start, rows, &Quiet(observer))?.model.with_provenance(model.provenance().clone()))
        }
    }
}

fn bic(model: &LatentTree, evidence: &Evidence<'_>, observer: &dyn Observer) -> Result<f64> {
    let of_moments = match evidence.moments {
        Some(moments) if Arc::ptr_eq(moments.schema(), model.schema()) || **moments.schema() == **model.schema() => {
            gaussian_log_likelihood(model, moments)?
        }
        _ => None,
    };
    let ln_likelihood = match (of_moments, evidence.rows) {
        (Some(value), _) => value,
        (None, Some(rows)) => Inference::new(model).score(&mut *rows.open()?, &Quiet(observer), |_, _| Ok(()))?.log_likelihood,
        (None, None) => return Ok(f64::NEG_INFINITY),
    };
    Ok(ln_likelihood - 0.5 * model.n_free_parameters() as f64 * evidence.total_weight.ln())
}

/// Passes on nothing but the wish to stop.
struct Quiet<'a>(&'a dyn Observer);

impl Observer for Quiet<'_> {
    fn cancelled(&self) -> bool {
        self.0.cancelled()
    }
}
