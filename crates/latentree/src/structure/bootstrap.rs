//! The bootstrap: how often a split is found again in samples like the data.
//!
//! The support of a split is the share of N replicates whose tree has it (Felsenstein 1985); all splits of observed variables count, also those that
//! cut off one leaf, and in a forest those of the edge's own tree. A replicate comes
//! - from rows: blocks of rows ([`BlockMoments`]) drawn with replacement, as many from each half as have rows, so that a replicate has two halves
//!   of different rows again. Blocks of interleaved rows stand for rows (a grouped bootstrap; 64 blocks give the standard error of a mean to about
//!   9%). Nothing is read again;
//! - from moments alone: a correlation matrix drawn from the Wishart distribution of the data's own correlations and number of rows
//!   ([`WishartCorrelations`]), the sampling distribution for Gaussian variables, and an approximation for others.
//!
//! Replicate r draws from stream r of one ChaCha generator, and counts do not depend on order: the result has the same bytes at any number of
//! threads.

use std::sync::atomic::{AtomicU64, Ordering};

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{ChiSquared, Distribution, StandardNormal};
use rayon::prelude::*;

use super::CorrelationSample;
use crate::error::{Error, Place, Result};
use crate::limits;
use crate::moments::{BlockMoments, PairMoments};
use crate::observer::Observer;
use crate::tree::{Split, Tree};

/// The tree with the share of replicates that have its edges' splits.
///
/// # Arguments
/// - `replicate`: draws a sample with the given generator and learns its tree.
///
/// # Errors
/// Those of `replicate`, the first by number; [`Error::Option`] if there are no replicates; [`Error::Cancelled`].
pub fn with_bootstrap_support(
    tree: &Tree,
    n_replicates: usize,
    seed: u64,
    observer: &dyn Observer,
    replicate: impl Fn(&mut ChaCha8Rng) -> Result<Tree> + Sync,
) -> Result<Tree> {
    limits::check("structure.bootstrap", n_replicates, 1..=limits::MAX_REPLICATES)?;
    observer.stage("bootstrap", Some(n_replicates as u64));
    let own: Vec<Split> = tree.splits().iter().collect();
    let done = AtomicU64::new(0);
    let replicates = (0..n_replicates).into_par_iter().with_max_len(1).map(|number| {
        if observer.cancelled() {
            return Err(Error::Cancelled);
        }
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(number as u64);
        let splits = replicate(&mut rng)?.splits();
        observer.progress(done.fetch_add(1, Ordering::Relaxed) + 1);
        Ok(own.iter().map(|&split| splits.contains(split)).collect::<Vec<bool>>())
    });
    let replicates: Vec<Result<Vec<bool>>> = replicates.collect();
    let mut counts = vec![0_u64; own.len()];
    for found in replicates {
        counts.iter_mut().zip(found?).for_each(|(count, found)| *count += u64::from(found));
    }
    let splits = tree.splits();
    let share = |a, b| {
        let place = own.binary_search(&splits.of_edge(a, b)?).ok()?;
        Some(counts[place] as f64 / n_replicates as f64)
    };
    Ok(tree.with_bootstrap(|edge| share(edge.a, edge.b)))
}

/// The moments of blocks drawn with replacement: of each half as many as it has blocks with rows.
///
/// # Errors
/// Those of merging.
pub fn drawn_halves(blocks: &BlockMoments, rng: &mut impl Rng) -> Result<[PairMoments; 2]> {
    let mut times = vec![0_usize; blocks.blocks().len()];
    for half in 0..2 {
        let with_rows: Vec<usize> = (half..times.len()).step_by(2).filter(|&block| blocks.blocks()[block].n_rows() > 0).collect();
        for _ in 0..with_rows.len() {
            times[with_rows[rng.random_range(0..with_rows.len())]] += 1;
        }
    }
    let half = |half: usize| blocks.merged(|block| if block % 2 == half { times[block] } else { 0 });
    Ok([half(0)?, half(1)?])
}

/// Correlation matrices as other samples of as many rows would have them: Wishart draws around a sample's own.
#[derive(Debug, Clone)]
pub struct WishartCorrelations {
    p: usize,
    /// Lower triangular root of the correlations, row by row.
    root: Vec<f64>,
    /// Degrees of freedom.
    freedom: usize,
}

impl WishartCorrelations {
    /// Most variables: a draw takes O(p³) time.
    pub const MAX_VARIABLES: usize = 3000;

    /// Draws around these correlations. Where they are not those of any data, as happens with missing cells, they are shrunk towards 0 just as
    /// far as is needed.
    ///
    /// # Errors
    /// [`Error::Data`] if there are more than [`MAX_VARIABLES`](Self::MAX_VARIABLES), or fewer than two rows.
    pub fn new(sample: &CorrelationSample) -> Result<Self> {
        let p = sample.names().len();
        if p > Self::MAX_VARIABLES {
            let problem = format!(
                "a bootstrap from moments alone supports at most {} variables, not {p}; learn from rows",
                Self::MAX_VARIABLES
            );
            return Err(Error::data(Place::default(), problem));
        }
        if sample.rows() < 2.0 {
            return Err(Error::data(Place::default(), "a bootstrap needs at least two rows"));
        }
        let mut shrinkage = 0.0;
        let root = loop {
            let entry = |at: usize| if at / p == at % p { 1.0 } else { (1.0 - shrinkage) * sample.get(at / p, at % p) };
            let matrix: Vec<f64> = (0..p * p).map(entry).collect();
            match lower_root(matrix, p) {
                Some(root) => break root,
                None => shrinkage = if shrinkage == 0.0 { 1e-9 } else { (3.0 * shrinkage).min(1.0) },
            }
        };
        // More rows than a draw could tell from the population's own correlations need no more.
        let freedom = (sample.rows() - 1.0).clamp(1.0, 1e15) as usize;
        Ok(Self { p, root, freedom })
    }

    /// The strict lower triangle of a drawn correlation matrix, row by row.
    ///
    /// # Complexity
    /// O(p² min(p, n)) time for n rows.
    pub fn draw(&self, rng: &mut impl Rng) -> Vec<f64> {
        let (p, n) = (self.p, self.freedom.min(self.p));
        // W = (L A)(L A)ᵀ, A of p × n: Bartlett's triangle of normal and χ variables, or normal throughout where rows are few.
        let mut factor = vec![0.0; p * n];
        for i in 0..p {
            for j in 0..n.min(i + 1) {
                factor[i * n + j] = if i == j && self.freedom >= p {
                    let chi = ChiSquared::new((self.freedom - i) as f64).expect("degrees of freedom are positive");
                    chi.sample(rng).sqrt()
                } else {
                    rng.sample(StandardNormal)
                };
            }
            if self.freedom < p {
                (i + 1..n).for_each(|j| factor[i * n + j] = rng.sample(StandardNormal));
            }
        }
        let mut rows = vec![0.0; p * n];
        for i in 0..p {
            let row = &mut rows[i * n..(i + 1) * n];
            for k in 0..=i {
                let weight = self.root[i * p + k];
                row.iter_mut().zip(&factor[k * n..(k + 1) * n]).for_each(|(sum, value)| *sum += weight * value);
            }
            let norm = row.iter().map(|value| value * value).sum::<f64>().sqrt().max(1e-300);
            row.iter_mut().for_each(|value| *value /= norm);
        }
        let mut lower = Vec::with_capacity(p * p.saturating_sub(1) / 2);
        for i in 0..p {
            for j in 0..i {
                let dot: f64 = rows[i * n..(i + 1) * n].iter().zip(&rows[j * n..(j + 1) * n]).map(|(a, b)| a * b).sum();
                lower.push(dot.clamp(-1.0, 1.0));
            }
        }
        lower
    }
}

/// The root `L` of a semidefinite matrix; `None` if it is indefinite by more than rounding.
fn lower_root(mut matrix: Vec<f64>, p: usize) -> Option<Vec<f64>> {
    const ROUNDING: f64 = 1e-10;
    for i in 0..p {
        for j in 0..=i {
            let (above, own) = matrix.split_at(i * p);
            let row = &own[..j];
            let other = if i == j { row } else { &above[j * p..j * p + j] };
            let value = matrix[i * p + j] - row.iter().zip(other).map(|(a, b)| a * b).sum::<f64>();
            let pivot = if i == j { 1.0 } else { matrix[j * p + j] };
            matrix[i * p + j] = match (i == j, value) {
                (true, value) if value < -ROUNDING || value.is_nan() => return None,
                (true, value) => value.max(0.0).sqrt(),
                (false, value) if pivot * pivot <= ROUNDING && value.abs() > ROUNDING.sqrt() => return None,
                (false, _) if pivot * pivot <= ROUNDING => 0.0,
                (false, value) => value / pivot,
            };
        }
    }
    Some(matrix)
}

#[cfg(test)]
mod tests;
