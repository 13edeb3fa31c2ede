//! Support of splits, by a local test of each edge between hidden nodes.
//!
//! An edge between hidden nodes `u` and `v` is compared with its rearrangements (a neighbour of one end moved to the other,
//! or two neighbours swapped) and with its contraction, in which `u` and `v` become one node. Each arrangement is fitted by
//! EM on the patch around the edge (`crate::patch`), with messages in place of everything beyond a neighbour. In a Gaussian
//! model, a branch is one composite variable, and the moments suffice. The tests follow aLRT (Anisimova and Gascuel 2006) and
//! aBayes (Anisimova et al. 2011).
//!
//! The support is the probability of the present arrangement among all of them, including the merged one, with equal prior
//! probabilities. Weights are likelihoods to the power 1/1.6, reduced by the BIC cost of additional parameters. If an
//! arrangement has fewer parameters, these count by their evidence, and so do the edge's own parameters (`weigh.rs`). In
//! simulated trees, about a share s of the splits with a support of about s is true (`experiments support`). A branch that
//! belongs more than one step away is not detected.
//!
//! `collapsed` removes splits below a given support.

mod collapse;
mod edge;
mod rearrangements;
#[cfg(test)]
mod tests;
mod weigh;

use std::sync::atomic::{AtomicU64, Ordering};

pub(crate) use collapse::{Collapse, CollapseOptions, collapsed};
pub use collapse::{STRONG, SplitSummary, WEAK};
use rayon::prelude::*;
pub(crate) use weigh::{Alternative, Compared};

use self::edge::{Outcome, Tester};
use self::rearrangements::{gaussian_bootstrap, gaussian_comparisons};
use self::weigh::Draws;
use crate::data::Rows;
use crate::error::{Error, Result};
use crate::index::NodeIx;
use crate::model::{Family, LatentTree};
use crate::moments::PairMoments;
use crate::observer::{Observer, Quiet};
use crate::parameters::em::{Merged, Smoothing};
use crate::patch::{Columns, Context, Floors, Local, Net};
use crate::structure::{CorrelationSample, WishartCorrelations};

/// Maximum number of rows used by local tests.
const MAX_ROWS: usize = 40_000;
/// Minimum number of rows used by local tests, if there are that many.
const MIN_ROWS: usize = 2_000;
/// Number of rows in the sample for first looks.
const SAMPLE: usize = 3_000;
/// Limits the work: rows times branches of all edges, and rows times replicates.
const MAX_WORK: usize = 30_000_000;

/// The data that splits are tested with: rows, or for Gaussian models the moments of their columns.
#[derive(Clone, Copy)]
pub(crate) struct Evidence<'a> {
    pub(crate) rows: Option<&'a dyn Rows>,
    pub(crate) moments: Option<&'a PairMoments>,
    /// The total weight of all rows.
    pub(crate) total_weight: f64,
}

/// The test of one edge.
#[derive(Debug, Clone)]
pub(crate) struct SplitTest {
    pub(crate) ends: [NodeIx; 2],
    /// The probability of the present arrangement.
    pub(crate) support: f64,
    /// The share of replicates in which the present arrangement is the best, if requested.
    pub(crate) bootstrap: Option<f64>,
    /// Approximate change of BIC when the ends are merged.
    pub(crate) merged_bic: f64,
    /// The merged patch, in a discrete model.
    merge: Option<Local>,
    /// A rearrangement with a higher BIC and its gain, in a discrete model.
    better: Option<(Local, f64)>,
}

/// The support of a model's splits: the two ends of each edge between hidden nodes, and the probability of its split given
/// the rows.
///
/// # Errors
/// Any error from reading the rows, and [`Error::Cancelled`].
pub fn supports(
    model: &LatentTree,
    rows: &dyn Rows,
    moments: &PairMoments,
    observer: &dyn Observer,
) -> Result<Vec<([NodeIx; 2], f64)>> {
    let evidence = Evidence { rows: Some(rows), moments: Some(moments), total_weight: moments.total_weight() };
    let bench = Bench::new(model, &evidence, Smoothing::default(), None, observer)?;
    let tests = bench.split_tests(model, &|_| true, false, observer)?.unwrap_or_default();
    Ok(tests.into_iter().map(|test| (test.ends, test.support)).collect())
}

/// The edges between hidden nodes with at least three neighbours.
fn inner_edges(model: &LatentTree) -> Vec<[NodeIx; 2]> {
    let tree = model.tree();
    let is_inner = |node: NodeIx| !tree.is_observed(node) && tree.degree(node) >= 3;
    tree.edges().filter(|edge| is_inner(edge.a) && is_inner(edge.b)).map(|edge| [edge.a, edge.b]).collect()
}

/// The rows in the form needed by the tests, read once.
struct Bench<'a> {
    evidence: &'a Evidence<'a>,
    /// The columns of a discrete model.
    columns: Option<Columns>,
    /// A sample for first looks, if there are many rows.
    sample: Option<Columns>,
    floors: Floors,
    draws: Option<Draws>,
    /// The number of bootstrap replicates, and their seed.
    replicates: Option<(usize, u64)>,
}

impl<'a> Bench<'a> {
    /// Prepares the data; `replicates` holds the number of bootstrap replicates and a seed.
    fn new(
        model: &LatentTree,
        evidence: &'a Evidence<'a>,
        smoothing: Smoothing,
        bootstrap: Option<(usize, u64)>,
        observer: &dyn Observer,
    ) -> Result<Self> {
        let mut sample = None;
        let columns = match (model.family(), evidence.rows) {
            (Family::Discrete, Some(rows)) => {
                let edges = inner_edges(model);
                let branches: usize = edges.iter().flatten().map(|&end| model.tree().degree(end)).sum();
                let work = branches.max(bootstrap.map_or(0, |it| it.0)).max(1);
                let most = (MAX_WORK / work).clamp(MIN_ROWS, MAX_ROWS);
                if edges.is_empty() {
                    None
                } else {
                    let merged = Merged::of(rows)?;
                    let columns = Columns::read(&merged, most, &Quiet(observer))?;
                    if columns.n_rows >= 2 * SAMPLE {
                        sample = Some(Columns::read(&merged, SAMPLE, &Quiet(observer))?);
                    }
                    Some(columns)
                }
            }
            _ => None,
        };
        let draws = bootstrap.zip(columns.as_ref()).map(|((replicates, seed), columns)| {
            let own: Vec<f64> = columns.weights.iter().map(|weight| weight / columns.scale).collect();
            Draws::new(replicates, &own, seed)
        });
        Ok(Self { evidence, columns, sample, floors: Floors::of(&smoothing), draws, replicates: bootstrap })
    }

    /// Tests the chosen edges between hidden nodes. `None` if there are no data to test them with.
    fn split_tests(
        &self,
        model: &LatentTree,
        is_chosen: &dyn Fn([NodeIx; 2]) -> bool,
        with_bootstrap: bool,
        observer: &dyn Observer,
    ) -> Result<Option<Vec<SplitTest>>> {
        let edges: Vec<[NodeIx; 2]> = inner_edges(model).into_iter().filter(|&ends| is_chosen(ends)).collect();
        match (model.family(), &self.columns, self.evidence.moments) {
            (Family::Gaussian, _, Some(moments)) if **moments.schema() == **model.schema() => {
                observer.stage("support", Some(edges.len() as u64));
                let sample = CorrelationSample::from_moments(moments)?;
                let is_small = sample.names().len() <= WishartCorrelations::MAX_VARIABLES;
                let shares = match self.replicates.filter(|_| with_bootstrap && is_small) {
                    Some(replicates) => Some(gaussian_bootstrap(model, &sample, &edges, replicates)?),
                    None => None,
                };
                let compared = gaussian_comparisons(model, &sample, &edges);
                let tests = compared.into_iter().enumerate().map(|(ix, (ends, compared))| SplitTest {
                    ends,
                    support: compared.support(),
                    bootstrap: shares.as_ref().map(|shares| shares[ix]),
                    merged_bic: compared.merged_bic(),
                    merge: None,
                    better: None,
                });
                Ok(Some(tests.collect()))
            }
            (Family::Discrete, _, _) if edges.is_empty() => Ok(self.evidence.rows.map(|_| Vec::new())),
            (Family::Discrete, Some(columns), _) => {
                observer.stage("support", Some(edges.len() as u64));
                let Some(net) = Net::of_model(model, columns) else { return Ok(None) };
                let messages = net.messages(columns);
                let context = Context::new(&net, columns, &messages);
                let few = self.sample.as_ref().map(|sample| (sample, net.messages(sample)));
                let few = few.as_ref().map(|(sample, messages)| Context::new(&net, sample, messages));
                let draws = self.draws.as_ref().filter(|_| with_bootstrap);
                let sample = few.as_ref().unwrap_or(&context);
                let tester = Tester { context: &context, sample, floors: self.floors, with_rows: draws.is_some() };
                let mut place = vec![0; model.tree().n_nodes()];
                model.hidden().enumerate().for_each(|(ix, node)| place[node.get()] = ix);
                let n_done = AtomicU64::new(0);
                let tests = edges.into_par_iter().with_max_len(1).map(|ends| {
                    if observer.cancelled() {
                        return Err(Error::Cancelled);
                    }
                    let [a, b] = ends;
                    let (below, above) = if model.parent(a) == Some(b) { (a, b) } else { (b, a) };
                    let Outcome { compared, merged, better } = tester.compared(place[below.get()], place[above.get()]);
                    observer.progress(n_done.fetch_add(1, Ordering::Relaxed) + 1);
                    Ok(SplitTest {
                        ends,
                        support: compared.support(),
                        bootstrap: draws.map(|draws| compared.bootstrap(draws)),
                        merged_bic: compared.merged_bic(),
                        merge: Some(merged),
                        better,
                    })
                });
                Ok(Some(tests.collect::<Result<_>>()?))
            }
            _ => Ok(None),
        }
    }
}
