//! Trees by likelihood: several starts, polished under several penalties, the penalty chosen on rows that were held out.
//!
//! No one penalty is right for all trees: `½ ln n + ln p` per hidden node keeps false nodes out of stars but deletes real ones of long
//! chains, and the logarithm of the number of local splits does the reverse. The rows are split into two halves once; a
//! tree polished on one half is scored on the other, both ways, and the penalty with the larger sum is used on all rows.

use super::gaussian_tree::GaussianTree;
use super::polish::{Penalty, polish};
use crate::distance::DistanceMatrix;
use crate::error::{Error, Place, Result};
use crate::index::ColIx;
use crate::moments::PairMoments;
use crate::observer::Observer;
use crate::tree::Tree;

/// Correlations of some rows, enough for the likelihood of a Gaussian tree.
#[derive(Debug, Clone, PartialEq)]
pub struct CorrelationSample {
    names: Vec<String>,
    /// Row by row, with ones on the diagonal.
    correlations: Vec<f64>,
    rows: f64,
}

impl CorrelationSample {
    /// The correlations of scalar columns; pairs without one have correlation 0.
    ///
    /// # Errors
    /// [`Error::Data`] naming a column that is categorical with more than two labels, or a group.
    pub fn from_moments(moments: &PairMoments) -> Result<Self> {
        let schema = moments.schema();
        let p = schema.variables().len();
        for (variable, ix) in schema.variables().iter().zip(schema.variable_ixs()) {
            let scalar = schema.scalar_kind(ix).is_some_and(|kind| kind.n_states().is_none_or(|n| n <= 2));
            if !scalar {
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
        Ok(Self { names, correlations, rows: moments.effective_rows() })
    }

    /// What stands in for correlations where variables have more than one dimension: `e^(−d/r)`, with `r` the rank of the
    /// distances (states of a hidden variable less one); pairs without a distance have 0.
    #[must_use]
    pub fn from_distances(distances: &DistanceMatrix, rank: usize, rows: f64) -> Self {
        let p = distances.len();
        let entry = |i: usize, j: usize| distances.get(i, j).map_or(0.0, |distance| (-distance / rank.max(1) as f64).exp());
        Self { names: distances.names().to_vec(), correlations: (0..p * p).map(|at| entry(at / p, at % p)).collect(), rows }
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

    /// The number of rows they stand for.
    #[must_use]
    pub fn rows(&self) -> f64 {
        self.rows
    }
}

/// A tree found by likelihood.
#[derive(Debug, Clone, PartialEq)]
pub struct LikelihoodTree {
    /// The tree with lengths −ln|ρ|.
    pub tree: Tree,
    /// Its maximised Gaussian log-likelihood on standardised data, without the constant −½ n p ln 2π.
    pub log_likelihood: f64,
    /// Which penalty was chosen.
    pub penalty: &'static str,
    /// Correlations of the observed variables implied by the fitted tree, row by row.
    pub implied: Vec<f64>,
}

const PENALTIES: [&str; 3] = ["constant", "splits", "splits, strict"];

fn penalty(name: &str, sample: &CorrelationSample) -> Penalty {
    match name {
        "constant" => Penalty::Constant(0.5 * sample.rows.max(2.0).ln() + (sample.names.len() as f64).ln()),
        "splits" => Penalty::Splits(-1.5),
        _ => Penalty::Splits(1.5),
    }
}

fn fitted(start: &Tree, sample: &CorrelationSample, name: &str, observer: &dyn Observer) -> GaussianTree {
    let mut tree = GaussianTree::new(start, &sample.correlations);
    polish(&mut tree, &sample.correlations, sample.rows, penalty(name, sample), &|| observer.cancelled());
    tree
}

/// Polishes the starts under each penalty, and gives the best tree under the penalty that explains held-out rows best.
///
/// Starts are trees over the sample's variables, in its order, with lengths.
///
/// # Errors
/// [`Error::Tree`] if there is no start, [`Error::Cancelled`].
pub fn by_likelihood(
    starts: &[Tree],
    whole: &CorrelationSample,
    halves: &[CorrelationSample; 2],
    observer: &dyn Observer,
) -> Result<LikelihoodTree> {
    if starts.is_empty() {
        return Err(Error::tree("no tree to start from"));
    }
    let mut best: Option<(f64, &'static str)> = None;
    for name in PENALTIES {
        let mut score = 0.0;
        for (fit_on, held_out) in [(0, 1), (1, 0)] {
            let trees = starts.iter().map(|start| fitted(start, &halves[fit_on], name, observer));
            let penalised = |tree: &GaussianTree| objective(tree, &halves[fit_on], name);
            let tree = trees.max_by(|a, b| penalised(a).total_cmp(&penalised(b))).expect("there is a start");
            score += halves[held_out].rows * tree.ln_likelihood(&halves[held_out].correlations);
            if observer.cancelled() {
                return Err(Error::Cancelled);
            }
        }
        if best.is_none_or(|best| score > best.0 + 1e-9) {
            best = Some((score, name));
        }
    }
    let name = best.map_or(PENALTIES[0], |best| best.1);
    let trees = starts.iter().map(|start| fitted(start, whole, name, observer));
    let tree = trees.max_by(|a, b| objective(a, whole, name).total_cmp(&objective(b, whole, name))).expect("there is a start");
    if observer.cancelled() {
        return Err(Error::Cancelled);
    }
    Ok(LikelihoodTree {
        tree: tree.to_tree(&whole.names),
        log_likelihood: whole.rows * tree.ln_likelihood(&whole.correlations),
        penalty: name,
        implied: tree.implied(),
    })
}

/// Penalised log-likelihood, to choose among starts.
fn objective(tree: &GaussianTree, sample: &CorrelationSample, name: &str) -> f64 {
    let cost: f64 = match penalty(name, sample) {
        Penalty::Constant(value) => value * tree.n_hidden() as f64,
        // Splitting a node of degree m into two costs about ln C(m, 2); a binary tree's nodes cost that of a quartet.
        Penalty::Splits(shift) => (6.0_f64.ln() + shift).max(0.05) * tree.n_hidden() as f64,
    };
    sample.rows * tree.ln_likelihood(&sample.correlations) - cost
}

/// The maximised Gaussian log-likelihood of a given tree, and the correlations it implies.
#[must_use]
pub fn maximum_likelihood(tree: &Tree, sample: &CorrelationSample) -> (f64, Vec<f64>) {
    let mut fitted = GaussianTree::new(tree, &sample.correlations);
    fitted.em(&sample.correlations, 2000, 1e-9);
    (sample.rows * fitted.ln_likelihood(&sample.correlations), fitted.implied())
}
