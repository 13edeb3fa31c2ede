//! Trees by likelihood: several starts, polished under a prior of trees, the looser of two priors taken where held-out rows ask
//! for it.
//!
//! The prior ([`polish`](polish)) adapts to how resolved the tree is, so that one serves wide stars, complete trees and long
//! chains: with enough rows it finds each of them. Where rows are so few that most of the true tree cannot be seen, a tree with
//! too many hidden nodes predicts better than one with too few. The rows are split into two halves once; a tree polished on one
//! half is scored on the other, both ways, and the looser prior is used if it gains more than half a unit for every variable:
//! less than that says little, as all rows show more of the tree than half of them.

pub(crate) mod gaussian_tree;
pub(crate) mod local_star;
pub(crate) mod pair_rows;
pub(crate) mod polish;

use rayon::prelude::*;

use crate::distance::DistanceMatrix;
use crate::error::{Error, Place, Result};
use crate::index::ColIx;
use crate::moments::PairMoments;
use crate::observer::Observer;
use crate::tree::Tree;
use gaussian_tree::GaussianTree;
use pair_rows::PairRows;
use polish::{Penalty, polish};

/// Correlations of some rows, enough for the likelihood of a Gaussian tree.
#[derive(Debug, Clone, PartialEq)]
pub struct CorrelationSample {
    names: Vec<String>,
    /// Row by row, with ones on the diagonal.
    correlations: Vec<f64>,
    rows: PairRows,
}

impl CorrelationSample {
    /// The correlations of scalar columns; pairs without one have correlation 0.
    ///
    /// # Errors
    /// [`Error::Data`] naming a column that is categorical with more than two labels, unless it is constant, or a group.
    pub fn from_moments(moments: &PairMoments) -> Result<Self> {
        let schema = moments.schema();
        let p = schema.variables().len();
        for (variable, ix) in schema.variables().iter().zip(schema.variable_ixs()) {
            let scalar = schema.scalar_kind(ix).is_some_and(|kind| kind.n_states().is_none_or(|n| n <= 2));
            let weights = |column| moments.level_weights(column).unwrap_or_default();
            let is_constant = || weights(variable.columns[0]).iter().filter(|weight| **weight > 0.0).count() <= 1;
            if !scalar && (variable.is_group || !is_constant()) {
                return Err(Error::data(Place::default().column(&variable.name), "it has no single correlation; use distances"));
            }
        }
        let column = |ix: usize| schema.variables()[ix].columns[0];
        let mut correlations = vec![1.0; p * p];
        for i in 0..p {
            for j in 0..i {
                let value = moments.correlation(column(i), column(j)).unwrap_or(0.0).clamp(-1.0, 1.0);
                correlations[i * p + j] = value;
                correlations[j * p + i] = value;
            }
        }
        let names = schema.variables().iter().map(|variable| variable.name.clone()).collect();
        debug_assert!((0..p).all(|ix| column(ix) < ColIx::new(schema.columns().len())));
        Ok(Self { names, correlations, rows: PairRows::of(moments) })
    }

    /// Correlations from their lower triangle without the diagonal, row by row; NaN counts as 0.
    ///
    /// # Panics
    /// If there are not p(p−1)/2 of them.
    #[must_use]
    pub fn from_lower(names: Vec<String>, lower: &[f64], rows: f64) -> Self {
        let p = names.len();
        assert_eq!(lower.len(), p * p.saturating_sub(1) / 2, "one correlation for each pair");
        let mut correlations = vec![1.0; p * p];
        for i in 0..p {
            for j in 0..i {
                let value = lower[i * (i.max(1) - 1) / 2 + j];
                let value = if value.is_nan() { 0.0 } else { value };
                correlations[i * p + j] = value;
                correlations[j * p + i] = value;
            }
        }
        Self { names, correlations, rows: PairRows::complete(rows) }
    }

    /// What stands in for correlations where variables have more than one dimension: `e^(−d/r)`, with `r` the rank of the
    /// distances (states of a hidden variable less one); pairs without a distance have 0.
    #[must_use]
    pub fn from_distances(distances: &DistanceMatrix, rank: usize, rows: f64) -> Self {
        let p = distances.len();
        let entry = |i: usize, j: usize| distances.get(i, j).map_or(0.0, |distance| (-distance / rank.max(1) as f64).exp());
        let correlations = (0..p * p).map(|at| entry(at / p, at % p)).collect();
        Self { names: distances.names().to_vec(), correlations, rows: PairRows::complete(rows) }
    }

    /// The same correlations, each from the rows of a table that have both variables.
    #[must_use]
    pub fn with_rows_of(mut self, moments: &PairMoments) -> Self {
        self.rows = PairRows::of(moments);
        self
    }

    pub(crate) fn correlations(&self) -> &[f64] {
        &self.correlations
    }

    pub(crate) fn pair_rows(&self) -> &PairRows {
        &self.rows
    }

    /// Names of the variables.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Correlation of two variables.
    #[must_use]
    pub fn get(&self, i: usize, j: usize) -> f64 {
        self.correlations[i * self.names.len() + j]
    }

    /// The number of rows behind them: with missing cells, the mean number of rows that have both variables of a pair.
    #[must_use]
    pub fn rows(&self) -> f64 {
        self.rows.mean()
    }
}

/// A tree found by likelihood.
#[derive(Debug, Clone, PartialEq)]
pub struct LikelihoodTree {
    /// The tree with lengths −ln|ρ|.
    pub tree: Tree,
    /// Its maximised Gaussian log-likelihood on standardised data, without the constant −½ n p ln 2π.
    pub log_likelihood: f64,
    /// Which prior was used: `adaptive` or `loose`.
    pub penalty: &'static str,
    /// Correlations of the observed variables implied by the fitted tree, row by row.
    pub implied: Vec<f64>,
}

/// Polishes every start, and gives the best tree with its penalised likelihood.
fn best_of(starts: &[Tree], sample: &CorrelationSample, penalty: &Penalty, observer: &dyn Observer) -> Result<GaussianTree> {
    let fit = |start: &Tree| {
        let mut tree = GaussianTree::new(start, &sample.correlations);
        polish(&mut tree, &sample.correlations, &sample.rows, penalty, &|| observer.cancelled());
        let score = sample.rows() * tree.ln_likelihood(&sample.correlations) - penalty.of(&tree);
        (score, tree)
    };
    let fitted: Vec<(f64, GaussianTree)> = starts.par_iter().map(fit).collect();
    if observer.cancelled() {
        return Err(Error::Cancelled);
    }
    let mut fitted = fitted.into_iter();
    let first = fitted.next().ok_or_else(|| Error::tree("no tree to start from"))?;
    Ok(fitted.fold(first, |best, next| if next.0 > best.0 { next } else { best }).1)
}

/// Polishes the starts and gives the best tree, under the looser prior if that predicts one half of the rows from the other much
/// better.
///
/// Starts are trees over the sample's variables, in its order, with lengths. Without `halves` the prior is the adaptive one.
///
/// # Errors
/// [`Error::Tree`] if there is no start, [`Error::Cancelled`].
pub fn by_likelihood(
    starts: &[Tree],
    whole: &CorrelationSample,
    halves: Option<&[CorrelationSample; 2]>,
    observer: &dyn Observer,
) -> Result<LikelihoodTree> {
    let p = whole.names.len();
    let (adaptive, loose) = (Penalty::new(p, true), Penalty::new(p, false));
    let mut advantage = f64::NEG_INFINITY;
    if let Some(halves) = halves {
        let held_out = |penalty: &Penalty, fit_on: usize| -> Result<f64> {
            let tree = best_of(starts, &halves[fit_on], penalty, observer)?;
            let other = &halves[1 - fit_on];
            Ok(other.rows() * tree.ln_likelihood(&other.correlations))
        };
        let fits = [(&adaptive, 0), (&adaptive, 1), (&loose, 0), (&loose, 1)];
        let scores = fits.par_iter().map(|&(penalty, fit_on)| held_out(penalty, fit_on)).collect::<Result<Vec<f64>>>()?;
        advantage = scores[2] + scores[3] - scores[0] - scores[1];
    }
    let (penalty, name) = if advantage > 0.5 * p as f64 { (&loose, "loose") } else { (&adaptive, "adaptive") };
    let tree = best_of(starts, whole, penalty, observer)?;
    Ok(LikelihoodTree {
        tree: tree.to_tree(&whole.names),
        log_likelihood: whole.rows() * tree.ln_likelihood(&whole.correlations),
        penalty: name,
        implied: tree.implied(),
    })
}

/// The maximised Gaussian log-likelihood of a given tree, and the correlations it implies.
#[must_use]
pub fn maximum_likelihood(tree: &Tree, sample: &CorrelationSample) -> (f64, Vec<f64>) {
    let mut fitted = GaussianTree::new(tree, &sample.correlations);
    fitted.em(&sample.correlations, 2000, 1e-9);
    (sample.rows() * fitted.ln_likelihood(&sample.correlations), fitted.implied())
}

/// A tree with the lengths −ln|ρ| of the greatest Gaussian likelihood; hidden nodes are renumbered.
#[must_use]
pub fn likeliest_lengths(tree: &Tree, sample: &CorrelationSample) -> Tree {
    let mut fitted = GaussianTree::new(tree, &sample.correlations);
    fitted.em(&sample.correlations, 400, 1e-6);
    fitted.to_tree(&sample.names)
}
