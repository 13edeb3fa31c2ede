//! Support of splits by a local test of every edge between hidden nodes.
//!
//! An edge between hidden nodes `u` and `v` is compared with its rearrangements (a neighbour of one end moved to the other, or two swapped) and with its
//! contraction, in which `u` and `v` are one node. Everything beyond a neighbour is compressed to what it says about the neighbour, row by row, by one
//! pass of exact inference upward and downward; EM then fits the tables around the edge alone, for each arrangement, from the model's own. In a Gaussian
//! model a branch is one composite variable, and the moments suffice. The models are aLRT (Anisimova and Gascuel 2006) and aBayes (Anisimova et al.
//! 2011).
//!
//! The support is the probability of the present arrangement among all: weights are likelihoods to the power 1/1.6, the contraction's times what the edge costs
//! (`weigh.rs`). It is close to calibrated on simulated trees, not exactly (`experiments support`): of splits with a support of about s, a share of about s is true. What is wrong
//! further away than one step is not seen; in Gaussian trees about a tenth of the splits near 1 are false for it.
//!
//! `collapsed` takes out splits below a support.

mod arrangements;
mod collapse;
mod contracted;
mod local;
mod messages;
mod rearrangements;
mod sample;
#[cfg(test)]
mod tests;
mod weigh;

pub(crate) use collapse::{Collapse, CollapseOptions, collapsed};
pub use collapse::{STRONG, SplitSummary, WEAK};
use rayon::prelude::*;
pub(crate) use weigh::{Alternative, Compared};

use self::arrangements::Edge;
use self::contracted::Merge;
use self::messages::Messages;
use self::rearrangements::gaussian_comparisons;
use self::sample::Sample;
use self::weigh::Draws;
use crate::data::Rows;
use crate::error::{Error, Result};
use crate::index::NodeIx;
use crate::model::{Family, LatentTree};
use crate::moments::PairMoments;
use crate::observer::Observer;

/// Most rows that local tests look at.
const MOST_ROWS: usize = 4000;
/// Fewest rows that they look at, if there are so many.
const FEWEST_ROWS: usize = 500;
/// Rows times branches of all edges: bounds the work.
const MOST_WORK: usize = 20_000_000;
/// Bytes that the likelihoods of the sampled rows may take.
const MOST_BYTES: usize = 512 << 20;

/// What splits are tested by: rows, or for Gaussian models the moments of their columns.
#[derive(Clone, Copy)]
pub(crate) struct Evidence<'a> {
    pub(crate) rows: Option<&'a dyn Rows>,
    pub(crate) moments: Option<&'a PairMoments>,
    /// The weight of all rows.
    pub(crate) total_weight: f64,
}

/// The test of one edge.
#[derive(Debug, Clone)]
pub(crate) struct SplitTest {
    pub(crate) ends: [NodeIx; 2],
    /// The probability of the present arrangement.
    pub(crate) support: f64,
    /// The share of replicates in which it is the best, where asked for.
    pub(crate) bootstrap: Option<f64>,
    /// What merging the ends adds to BIC, about.
    pub(crate) merged_bic: f64,
    /// How they would be merged, in a discrete model.
    merge: Option<Merge>,
}

/// The support of a model's splits: the two ends of every edge between hidden nodes, and how probable its split is by the rows.
///
/// # Errors
/// Those of reading rows, and [`Error::Cancelled`].
pub fn supports(
    model: &LatentTree,
    rows: &dyn Rows,
    moments: &PairMoments,
    observer: &dyn Observer,
) -> Result<Vec<([NodeIx; 2], f64)>> {
    let evidence = Evidence { rows: Some(rows), moments: Some(moments), total_weight: moments.total_weight() };
    let tests = split_tests(model, &evidence, &|_| true, None, observer)?.unwrap_or_default();
    Ok(tests.into_iter().map(|test| (test.ends, test.support)).collect())
}

/// The tests of the edges between hidden nodes that are chosen; `None` if there is nothing to test by. A bootstrap has a number of replicates and a seed.
pub(crate) fn split_tests(
    model: &LatentTree,
    evidence: &Evidence<'_>,
    is_chosen: &dyn Fn([NodeIx; 2]) -> bool,
    bootstrap: Option<(usize, u64)>,
    observer: &dyn Observer,
) -> Result<Option<Vec<SplitTest>>> {
    let tree = model.tree();
    let is_inner = |node: NodeIx| !tree.is_observed(node) && tree.degree(node) >= 3;
    let edges = tree.edges().filter(|edge| is_inner(edge.a) && is_inner(edge.b)).map(|edge| [edge.a, edge.b]);
    let edges: Vec<[NodeIx; 2]> = edges.filter(|&ends| is_chosen(ends)).collect();
    match (model.family(), evidence.rows, evidence.moments) {
        (Family::Gaussian, _, Some(moments)) if **moments.schema() == **model.schema() => {
            observer.stage("support", Some(edges.len() as u64));
            let tests = gaussian_comparisons(model, moments, &edges)?.into_iter().map(|(ends, compared)| SplitTest {
                ends,
                support: compared.support(),
                bootstrap: None,
                merged_bic: compared.merged_bic(),
                merge: None,
            });
            Ok(Some(tests.collect()))
        }
        (Family::Discrete, Some(rows), _) => {
            observer.stage("support", Some(edges.len() as u64));
            if edges.is_empty() {
                return Ok(Some(Vec::new()));
            }
            let branches: usize = edges.iter().flatten().map(|&end| tree.degree(end)).sum();
            let within = (MOST_BYTES / Messages::bytes_per_row(model).max(1)).min(MOST_WORK / branches.max(1));
            let sample = Sample::of(rows, within.clamp(FEWEST_ROWS, MOST_ROWS))?;
            let messages = Messages::new(model, &sample);
            let draws = bootstrap.map(|(replicates, seed)| Draws::new(replicates, &sample.weights, seed));
            let tests = edges.into_par_iter().with_max_len(1).map(|ends| {
                if observer.cancelled() {
                    return Err(Error::Cancelled);
                }
                let edge = Edge::new(model, &messages, &sample, ends);
                let (compared, arrangement) = edge.compared();
                Ok(SplitTest {
                    ends,
                    support: compared.support(),
                    bootstrap: draws.as_ref().map(|draws| compared.bootstrap(draws, &edge.kinds_of_rows)),
                    merged_bic: compared.merged_bic(),
                    merge: Some(Merge { ends, outer: edge.outer, arrangement }),
                })
            });
            Ok(Some(tests.collect::<Result<_>>()?))
        }
        _ => Ok(None),
    }
}
