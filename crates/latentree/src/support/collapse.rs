//! Removes splits that the data do not support, and annotates the others with their support.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use serde::Serialize;

use super::{Bench, Evidence, SplitTest};
use crate::error::Result;
use crate::index::NodeIx;
use crate::inference::Inference;
use crate::information;
use crate::model::{Family, LatentTree};
use crate::observer::{Observer, Quiet};
use crate::parameters::em::{Em, Smoothing, Start};
use crate::parameters::{FamilyByLengths, from_lengths, gaussian_log_likelihood};
use crate::patch::{Columns, Local, Net};
use crate::structure::{CorrelationSample, likeliest_lengths};
use crate::tree::{Edge, Tree};

/// Support below which a split is weak and, by default, removed if this does not lower BIC.
pub const WEAK: f64 = 0.5;
/// Support from which a split is strong.
pub const STRONG: f64 = 0.95;
/// Maximum number of rounds of merging and rearranging; each ends with new tests.
const ROUNDS: usize = 12;
/// Number of variables above which only the first round rearranges, since every round fits the whole model.
const MANY_VARIABLES: usize = 400;
/// A strong split is tested again if more than one in this many of the neighbours of an end have changed.
const FEW: usize = 20;
/// Minimum gain of BIC for a rearrangement to be worth a round.
const LEAST_GAIN: f64 = 1.0;
/// Number of EM passes over all rows after a round.
const PASSES: usize = 20;
/// Share by which BIC may fall, because of rounding and unfinished EM.
const SLACK: f64 = 1e-7;

/// Which splits are removed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Collapse {
    /// None.
    Off,
    /// Those below [`WEAK`] whose removal does not lower BIC.
    ByDefault,
    /// All splits below this support.
    Below(f64),
}

impl Collapse {
    fn removes(self, test: &SplitTest) -> bool {
        match self {
            Self::Off => false,
            Self::ByDefault => test.support < WEAK && test.merged_bic >= 0.0,
            Self::Below(least) => test.support < least,
        }
    }

    /// The change to make around an edge. A split that the data refute is replaced by the arrangement they prefer, except in
    /// a given tree or if the user chose what to remove.
    fn change(self, test: &SplitTest) -> Option<Change<'_>> {
        let is_removal = self.removes(test);
        let merge = is_removal.then_some(Change { test, local: test.merge.as_ref(), gain: test.merged_bic, is_removal });
        let least = merge.as_ref().map_or(LEAST_GAIN, |merge| merge.gain.max(LEAST_GAIN));
        match &test.better {
            Some((local, gain)) if self == Self::ByDefault && test.support < WEAK && *gain > least => {
                Some(Change { test, local: Some(local), gain: *gain, is_removal: false })
            }
            _ => merge,
        }
    }
}

/// A change of the neighbourhood of an edge.
#[derive(Clone, Copy)]
struct Change<'a> {
    test: &'a SplitTest,
    /// The replacement, in a discrete model.
    local: Option<&'a Local>,
    /// Approximate gain of BIC.
    gain: f64,
    /// Whether the ends are merged; otherwise, branches are rearranged.
    is_removal: bool,
}

/// Summary of the tests of all splits between hidden variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct SplitSummary {
    /// Number of splits that remain.
    pub splits: usize,
    /// Number of these with a support of at least [`STRONG`].
    pub strong: usize,
    /// Number of these with a support below [`WEAK`].
    pub weak: usize,
    /// Number of splits that were removed.
    pub removed: usize,
}

/// How splits are tested and removed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CollapseOptions {
    pub(crate) collapse: Collapse,
    pub(crate) smoothing: Smoothing,
    /// Number of replicates of a bootstrap with fixed parameters, if requested.
    pub(crate) bootstrap: Option<usize>,
    pub(crate) seed: u64,
}

/// Removes splits as the options demand, and returns the model with the support of those that remain. The summary is `None`
/// if there is nothing to test, or no data to test it with.
pub(crate) fn collapsed(
    model: LatentTree,
    evidence: &Evidence<'_>,
    options: &CollapseOptions,
    observer: &dyn Observer,
) -> Result<(LatentTree, Option<SplitSummary>)> {
    let replicates = options.bootstrap.map(|n| (n, options.seed));
    let bench = Bench::new(&model, evidence, options.smoothing, replicates, observer)?;
    if options.collapse == Collapse::Off {
        let tests = bench.split_tests(&model, &|_| true, true, observer)?;
        return Ok(concluded(model, tests, 0));
    }
    let Some(mut tests) = bench.split_tests(&model, &|_| true, false, observer)? else { return Ok((model, None)) };
    let (mut model, mut removed) = (model, 0);
    let is_wide = model.schema().variables().len() > MANY_VARIABLES;
    for round in 0..ROUNDS {
        if is_wide && round > 0 {
            tests.iter_mut().for_each(|test| test.better = None);
        }
        let Some((smaller, n_merged)) = bench.smaller(&model, &tests, options, observer)? else { break };
        // Edges with the same neighbours keep their tests, and so do strong ones with nearly the same. Hidden nodes of a Gaussian model are renumbered, but its tests are
        // cheap.
        let names = |tree: &Tree, [a, b]: [NodeIx; 2]| [tree.name(a).to_owned(), tree.name(b).to_owned()];
        let mut settled: HashMap<[String; 2], SplitTest> = HashMap::new();
        if model.family() == Family::Discrete {
            for test in tests.into_iter().filter(|test| options.collapse.change(test).is_none()) {
                let ends = names(model.tree(), test.ends);
                let n_changed = |end: &str| Some(n_changed(&near(model.tree(), end)?, &near(smaller.tree(), end)?));
                let is_same = |end: &String| match n_changed(end) {
                    Some((0, _)) => true,
                    Some((n, all)) => test.support >= STRONG && n * FEW <= all,
                    None => false,
                };
                if ends.iter().all(is_same) {
                    settled.insert(ends, test);
                }
            }
        }
        let is_open = |pair| !settled.contains_key(&names(smaller.tree(), pair));
        tests = bench.split_tests(&smaller, &is_open, false, observer)?.unwrap_or_default();
        // A merge refers to node indices, which have changed; settled results stay.
        let find = |name: &str| smaller.tree().find(name);
        tests.extend(settled.into_iter().filter_map(|([a, b], test)| {
            Some(SplitTest { ends: [find(&a)?, find(&b)?], merge: None, merged_bic: f64::NEG_INFINITY, better: None, ..test })
        }));
        tests.sort_by_key(|test| test.ends);
        (model, removed) = (smaller, removed + n_merged);
    }
    if replicates.is_some() {
        let tests = bench.split_tests(&model, &|_| true, true, observer)?;
        return Ok(concluded(model, tests, removed));
    }
    Ok(concluded(model, Some(tests), removed))
}

/// The names of a node's neighbours.
fn near<'a>(tree: &'a Tree, node: &str) -> Option<BTreeSet<&'a str>> {
    Some(tree.links(tree.find(node)?).iter().map(|link| tree.name(link.to)).collect())
}

/// How many neighbours a node has gained or lost, and how many it has had in all.
fn n_changed(before: &BTreeSet<&str>, after: &BTreeSet<&str>) -> (usize, usize) {
    (before.symmetric_difference(after).count(), before.union(after).count())
}

/// The model with its supports, and a summary of them.
fn concluded(model: LatentTree, tests: Option<Vec<SplitTest>>, removed: usize) -> (LatentTree, Option<SplitSummary>) {
    let Some(tests) = tests else { return (model, None) };
    let by_ends: HashMap<[NodeIx; 2], &SplitTest> = tests.iter().map(|test| (test.ends, test)).collect();
    let of = |edge: &Edge| by_ends.get(&[edge.a, edge.b]).or_else(|| by_ends.get(&[edge.b, edge.a])).copied();
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

impl Bench<'_> {
    /// Changes the neighbourhoods of some edges that do not touch each other and refits the model. Returns it with the number
    /// of merged edges, or `None` if nothing changes.
    fn smaller(
        &self,
        model: &LatentTree,
        tests: &[SplitTest],
        options: &CollapseOptions,
        observer: &dyn Observer,
    ) -> Result<Option<(LatentTree, usize)>> {
        let mut chosen: Vec<Change<'_>> = tests.iter().filter_map(|test| options.collapse.change(test)).collect();
        chosen.sort_by(|a, b| a.test.support.total_cmp(&b.test.support).then(a.test.ends.cmp(&b.test.ends)));
        let mut touched = vec![false; model.tree().n_nodes()];
        chosen.retain(|change| {
            if change.test.ends.iter().any(|end| touched[end.get()]) {
                return false;
            }
            for end in change.test.ends {
                touched[end.get()] = true;
                model.tree().links(end).iter().for_each(|link| touched[link.to.get()] = true);
            }
            true
        });
        let is_certain = matches!(options.collapse, Collapse::Below(_));
        let before = if is_certain || chosen.is_empty() { f64::NEG_INFINITY } else { bic(model, self.evidence, observer)? };
        let by_gain = |a: &&Change<'_>, b: &&Change<'_>| a.gain.total_cmp(&b.gain).then(b.test.ends.cmp(&a.test.ends));
        let best: Vec<Change<'_>> = chosen.iter().max_by(by_gain).into_iter().copied().collect();
        let removals: Vec<Change<'_>> = chosen.iter().filter(|change| change.is_removal).copied().collect();
        let removals = if removals.len() < chosen.len() { removals } else { Vec::new() };
        // Tries all changes, then only the one with the largest gain, then only the merges.
        for changes in [chosen, best, removals].iter().filter(|changes| !changes.is_empty()) {
            let found = self.changed(model, changes, options, observer)?;
            let n_merged = changes.iter().filter(|change| change.is_removal).count();
            let least = if n_merged == changes.len() { before - SLACK * before.abs() } else { before + LEAST_GAIN };
            if is_certain || bic(&found, self.evidence, observer)? >= least {
                return Ok(Some((found, n_merged)));
            }
        }
        Ok(None)
    }

    fn changed(
        &self,
        model: &LatentTree,
        changes: &[Change<'_>],
        options: &CollapseOptions,
        observer: &dyn Observer,
    ) -> Result<LatentTree> {
        if let (Family::Gaussian, Some(moments)) = (model.family(), self.evidence.moments) {
            let is_chosen = |a: NodeIx, b: NodeIx| changes.iter().any(|it| it.test.ends == [a, b] || it.test.ends == [b, a]);
            let tree = model.tree().contract(|edge| is_chosen(edge.a, edge.b));
            let names: Vec<&str> = moments.schema().variables().iter().map(|variable| variable.name.as_str()).collect();
            let tree = likeliest_lengths(&tree.with_observed_first(&names)?, &CorrelationSample::from_moments(moments)?);
            return from_lengths(&tree, moments, FamilyByLengths::Gaussian, model.provenance().clone());
        }
        let (Some(columns), Some(rows)) = (&self.columns, self.evidence.rows) else { return Ok(model.clone()) };
        let start = with_locals(model, changes.iter().filter_map(|change| change.local), columns)?;
        let em = Em::new().start(Start::Given).smoothing(options.smoothing).iterations(PASSES);
        Ok(em.fit(&start, rows, &Quiet(observer))?.model.with_provenance(model.provenance().clone()))
    }
}

/// Puts some patches, none of which touches another, into the model. Hidden nodes keep their names; a merged node takes the
/// name of the end whose states it has.
pub(super) fn with_locals<'a>(
    model: &LatentTree,
    locals: impl Iterator<Item = &'a Local>,
    columns: &Columns,
) -> Result<LatentTree> {
    let Some(mut net) = Net::of_model(model, columns) else { return Ok(model.clone()) };
    let mut is_gone = vec![false; net.n_hidden()];
    for local in locals {
        local.removed.iter().for_each(|&gone| is_gone[gone] = true);
        local.apply(&mut net);
    }
    net.compact();
    let found = net.model(model.schema(), columns)?;
    let kept = model.hidden().zip(&is_gone).filter(|(_, is_gone)| !**is_gone).map(|(node, _)| model.tree().name(node));
    let mut tree = found.tree().clone();
    let hidden: Vec<NodeIx> = found.hidden().collect();
    // Renames in two rounds, because a new name may still belong to another node.
    for (ix, &node) in hidden.iter().enumerate() {
        tree.rename(node, format!("\u{0}{ix}"))?;
    }
    for (&node, name) in hidden.iter().zip(kept) {
        tree.rename(node, name)?;
    }
    Ok(found.with_tree_annotations(tree).with_provenance(model.provenance().clone()))
}

fn bic(model: &LatentTree, evidence: &Evidence<'_>, observer: &dyn Observer) -> Result<f64> {
    let of_moments = match evidence.moments {
        Some(moments) if Arc::ptr_eq(moments.schema(), model.schema()) || **moments.schema() == **model.schema() => {
            gaussian_log_likelihood(model, moments)?
        }
        _ => None,
    };
    let log_likelihood = match (of_moments, evidence.rows) {
        (Some(value), _) => value,
        (None, Some(rows)) => Inference::new(model).score(&mut *rows.open()?, &Quiet(observer), |_, _| Ok(()))?.log_likelihood,
        (None, None) => return Ok(f64::NEG_INFINITY),
    };
    Ok(information::bic(log_likelihood, model.n_free_parameters(), evidence.total_weight))
}
