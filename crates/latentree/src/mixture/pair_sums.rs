//! First and second moments of feature vectors in one pass.
//!
//! Up to [`MOST_DENSE`] features, the second moment is a matrix. Above that, only its products with a few vectors are
//! accumulated, for a randomised range finder that makes one pass per round: d×(k + 8) numbers instead of d×d.

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::bytes;
use crate::data::Batch;
use crate::error::Result;
use crate::model::features::{FeatureRows, Features};
use crate::moments::Accumulator;

/// Number of features up to which the second moment is a matrix.
pub(crate) const MOST_DENSE: usize = 2000;
/// Number of features up to which each lane has its own matrix.
const SMALL: usize = 256;
/// Number of feature ranges updated in parallel if there is a single lane.
const RANGES: usize = 8;

/// How the products of a feature with itself are corrected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Correction {
    /// Raw moments.
    Raw,
    /// Factorial moments: `x_i (x_i − 1)` instead of `x_i²`.
    Factorial,
}

/// Scalar sums over rows.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Totals {
    pub(crate) rows: u64,
    pub(crate) weight: f64,
    /// Sum of the squared weights.
    pub(crate) squared_weight: f64,
    /// Sums of t, t (t − 1) and t (t − 1) (t − 2), where t is the sum of a row.
    pub(crate) lengths: [f64; 3],
    /// Sums of the squares of the weighted t (t − 1) and t (t − 1) (t − 2).
    pub(crate) squared_lengths: [f64; 2],
    /// Sum of the squared norms of the terms averaged in the second moment.
    pub(crate) pair_squares: f64,
    /// Number of rows with fewer than three counts, and with none.
    pub(crate) short: u64,
    pub(crate) empty: u64,
}

impl Totals {
    fn add(&mut self, other: &Self) {
        self.rows += other.rows;
        self.weight += other.weight;
        self.squared_weight += other.squared_weight;
        self.lengths.iter_mut().zip(other.lengths).for_each(|(own, other)| *own += other);
        self.squared_lengths.iter_mut().zip(other.squared_lengths).for_each(|(own, other)| *own += other);
        self.pair_squares += other.pair_squares;
        self.short += other.short;
        self.empty += other.empty;
    }
}

/// Settings that stay the same during a pass.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Plan {
    features: Features,
    correction: Correction,
    /// Factor by which each feature is multiplied.
    factors: Vec<f64>,
    /// Number of test vectors; 0 for the whole matrix.
    n_tests: usize,
}

/// Accumulator of the first and second moments.
#[derive(Debug, Clone)]
pub(crate) struct PairSums {
    plan: Arc<Plan>,
    /// Test vectors, stored feature by feature.
    tests: Arc<Vec<f64>>,
    totals: Totals,
    /// Sum of the unscaled features.
    first: Vec<f64>,
    /// Upper triangle of a d×d matrix of scaled features, or its d×q products with the test vectors.
    second: Vec<f64>,
}

/// The result of the pass.
#[derive(Debug, Clone)]
pub(crate) struct PairMoment {
    pub(crate) totals: Totals,
    /// Sum of the unscaled features.
    pub(crate) first: Vec<f64>,
    /// Sum of products of scaled features (d×d), or its products with the test vectors (d×q).
    pub(crate) second: Vec<f64>,
}

impl PairSums {
    /// Starts without rows. `tests` holds d×q test vectors, or nothing for the whole matrix.
    pub(crate) fn new(features: Features, correction: Correction, factors: Vec<f64>, tests: Vec<f64>) -> Self {
        let d = features.n;
        let n_tests = tests.len() / d.max(1);
        let size = if n_tests == 0 { d * d } else { d * n_tests };
        let plan = Arc::new(Plan { features, correction, factors, n_tests });
        Self { plan, tests: Arc::new(tests), totals: Totals::default(), first: vec![0.0; d], second: vec![0.0; size] }
    }

    /// Adds rows to everything except the second moment.
    fn add_totals(&mut self, rows: &FeatureRows<'_>) {
        let Plan { correction, factors, .. } = &*self.plan;
        let Totals { weight, squared_weight, lengths, squared_lengths, pair_squares, short, empty, rows: n_rows } =
            &mut self.totals;
        for row in 0..rows.n_rows() {
            let w = rows.weight(row);
            let (mut length, mut squares, mut own, mut factorial) = (0.0, 0.0, 0.0, 0.0);
            for (feature, x) in rows.row(row) {
                self.first[feature] += w * x;
                let square = factors[feature] * factors[feature];
                length += x;
                squares += x * x * square;
                own += (x * x * square).powi(2);
                factorial += ((x * x - x) * square).powi(2);
            }
            let outer = match correction {
                Correction::Raw => squares * squares,
                Correction::Factorial => squares * squares - own + factorial,
            };
            let (pairs, triples) = (length * (length - 1.0), length * (length - 1.0) * (length - 2.0));
            *n_rows += 1;
            *weight += w;
            *squared_weight += w * w;
            *pair_squares += w * w * outer;
            lengths.iter_mut().zip([length, pairs, triples]).for_each(|(sum, it)| *sum += w * it);
            squared_lengths.iter_mut().zip([pairs, triples]).for_each(|(sum, it)| *sum += (w * it).powi(2));
            *short += u64::from(length < 3.0);
            *empty += u64::from(rows.features(row).is_empty());
        }
    }
}

/// Adds the products of the features in a range with all later ones to that part of the matrix.
fn add_products(rows: &FeatureRows<'_>, plan: &Plan, range: Range<usize>, out: &mut [f64]) {
    let (d, factors) = (plan.features.n, &plan.factors);
    let (mut columns, mut values) = (Vec::new(), Vec::new());
    for row in 0..rows.n_rows() {
        let features = rows.features(row);
        let begin = features.partition_point(|&it| (it as usize) < range.start);
        let end = features.partition_point(|&it| (it as usize) < range.end);
        if begin == end {
            continue;
        }
        let weight = rows.weight(row);
        columns.clear();
        values.clear();
        for (feature, x) in rows.row(row).skip(begin) {
            columns.push(feature);
            values.push(x * factors[feature]);
        }
        let is_full = columns.len() == d - columns[0];
        for at in 0..end - begin {
            let (feature, x) = (columns[at], weight * values[at]);
            let out = &mut out[(feature - range.start) * d..][..d];
            if is_full {
                out[feature..].iter_mut().zip(&values[at..]).for_each(|(out, y)| *out += x * y);
            } else {
                columns[at..].iter().zip(&values[at..]).for_each(|(&column, y)| out[column] += x * y);
            }
            if plan.correction == Correction::Factorial {
                out[feature] -= x * factors[feature];
            }
        }
    }
}

/// Adds the products of the matrix with the test vectors.
fn add_tested(rows: &FeatureRows<'_>, plan: &Plan, tests: &[f64], out: &mut [f64]) {
    let (q, factors) = (plan.n_tests, &plan.factors);
    let mut along = vec![0.0; q];
    for row in 0..rows.n_rows() {
        along.fill(0.0);
        for (feature, x) in rows.row(row) {
            let x = x * factors[feature];
            along.iter_mut().zip(&tests[feature * q..][..q]).for_each(|(out, test)| *out += x * test);
        }
        let weight = rows.weight(row);
        for (feature, x) in rows.row(row) {
            let scaled = weight * x * factors[feature];
            let out = &mut out[feature * q..][..q];
            out.iter_mut().zip(&along).for_each(|(out, along)| *out += scaled * along);
            if plan.correction == Correction::Factorial {
                let own = scaled * factors[feature];
                out.iter_mut().zip(&tests[feature * q..][..q]).for_each(|(out, test)| *out -= own * test);
            }
        }
    }
}

impl Accumulator for PairSums {
    type Output = PairMoment;

    const NAME: &'static str = "mixture-pairs";

    fn observe(&mut self, batch: &Batch) -> Result<()> {
        let plan = Arc::clone(&self.plan);
        let rows = plan.features.rows(batch);
        self.add_totals(&rows);
        let d = plan.features.n;
        if plan.n_tests > 0 {
            add_tested(&rows, &plan, &self.tests, &mut self.second);
        } else if self.lanes() > 1 {
            add_products(&rows, &plan, 0..d, &mut self.second);
        } else {
            // Rows of the triangle get shorter, so ranges are distributed in small pieces.
            let width = d.div_ceil(RANGES * 4).max(1);
            let parts = self.second.par_chunks_mut(width * d).enumerate();
            parts.for_each(|(part, out)| add_products(&rows, &plan, part * width..d.min((part + 1) * width), out));
        }
        Ok(())
    }

    fn merge(&mut self, other: Self) -> Result<()> {
        bytes::add(&mut self.first, &other.first)?;
        bytes::add(&mut self.second, &other.second)?;
        self.totals.add(&other.totals);
        Ok(())
    }

    fn empty(&self) -> Self {
        let zeros = |of: &[f64]| vec![0.0; of.len()];
        Self {
            plan: Arc::clone(&self.plan),
            tests: Arc::clone(&self.tests),
            totals: Totals::default(),
            first: zeros(&self.first),
            second: zeros(&self.second),
        }
    }

    fn lanes(&self) -> usize {
        if self.plan.n_tests > 0 || self.plan.features.n <= SMALL { 8 } else { 1 }
    }

    fn finish(mut self) -> Result<PairMoment> {
        if self.plan.n_tests == 0 {
            let d = self.plan.features.n;
            for i in 0..d {
                (i + 1..d).for_each(|j| self.second[j * d + i] = self.second[i * d + j]);
            }
        }
        Ok(PairMoment { totals: self.totals, first: self.first, second: self.second })
    }

    fn to_bytes(&self) -> Result<Vec<u8>> {
        bytes::write(&(&*self.plan, self.totals), &[&self.tests, &self.first, &self.second])
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let ((plan, totals), [tests, first, second]): ((Plan, Totals), _) = bytes::read(bytes)?;
        bytes::check(plan.features.is_valid() && plan.features.n > 0)?;
        let d = plan.features.n;
        bytes::same_length(plan.factors.len(), d)?;
        bytes::same_length(tests.len(), d.saturating_mul(plan.n_tests))?;
        bytes::same_length(first.len(), d)?;
        bytes::same_length(second.len(), d.saturating_mul(if plan.n_tests == 0 { d } else { plan.n_tests }))?;
        Ok(Self { plan: Arc::new(plan), tests: Arc::new(tests), totals, first, second })
    }
}
