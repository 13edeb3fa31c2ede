//! The moments of a family, transformed to the form
//!
//! ```text
//! M₁ = Σ_c ω_c μ_c        M₂ = Σ_c ω_c μ_c μ_cᵀ        M₃ = Σ_c ω_c μ_c ⊗ μ_c ⊗ μ_c
//! ```
//!
//! (Ruffini 2019, eqs. 1.12–1.14), and the probabilities and means recovered from them.
//!
//! - Counts: factorial moments (Proposition 1.2.1), weighted by document length for topics (Theorem 3.2.1). Features are
//!   divided by the square roots of their means so that all cells of M₂ have similar noise.
//! - Latent Dirichlet allocation (Theorem 3.3.1): `(α₀+1) M₂^α` and `(α₀+1)(α₀+2)/2 · M₃^α` have the weights `ω = α/α₀` of
//!   M₁.
//! - Spherical normal vectors (Hsu and Kakade 2013): let σ² be the variance in the directions in which components do not
//!   differ, and `m = E[x q(x)]` with q the squared deviation along one of them (here the mean over all). Then
//!   `M₂ = E[xxᵀ] − σ²I` and `M₃ = E[x⊗x⊗x] − Σ_i (m⊗e_i⊗e_i + e_i⊗m⊗e_i + e_i⊗e_i⊗m)`. The origin is moved to a point away
//!   from the mean of the rows, in one of these directions, so that the means of the components are linearly independent
//!   wherever the data lie.
//! - Categorical columns: raw moments. The moments of a column with itself do not have this form, so the result is only a
//!   start for EM.

use super::MixtureFamily;
use super::MixtureMethod;
use super::pair_sums::{Correction, MOST_DENSE, PairMoment, PairSums, Totals};
use super::whitened_sums::{Outside, WhitenedSums};
use crate::data::{Rows, Schema};
use crate::error::{Error, Place, Result};
use crate::linalg::{LeadingEigen, Matrix};
use crate::memory::MemoryBudget;
use crate::model::features::{Features, Scaling, Source};
use crate::moments::{Accumulator, Summary, fold};
use crate::observer::Observer;
use crate::tensor::{Components, Mixture, Options, WhitenedTensor, Whitening, cell_noise};

/// Maximum number of rounds of the range finder, one pass each.
const ROUNDS: usize = 6;
/// Change of the eigenvalues, relative to the largest, below which the range finder stops.
const SETTLED: f64 = 1e-4;
/// Maximum number of features of normal vectors: estimating their noise needs the whole matrix.
const MOST_GAUSSIAN: usize = 10_000;

/// How moments are computed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MomentPlan {
    pub(crate) family: MixtureFamily,
    /// Whether to use raw moments even if the family has corrected ones.
    pub(crate) raw: bool,
    /// α₀.
    pub(crate) alpha: f64,
    /// Maximum number of components that will be requested.
    pub(crate) most: usize,
    pub(crate) seed: u64,
    /// Whether the rows are the whole population, so that moments have no noise.
    pub(crate) population: bool,
}

/// The first two moments, and everything the third one needs.
#[derive(Debug, Clone)]
pub(crate) struct SecondMoment {
    plan: MomentPlan,
    pub(crate) features: Features,
    correction: Correction,
    /// Factor by which each feature is multiplied.
    factors: Vec<f64>,
    pub(crate) totals: Totals,
    /// M₁ of the unscaled features.
    pub(crate) first: Vec<f64>,
    /// Leading eigenvalues and eigenvectors of M₂ of the scaled features.
    leading: LeadingEigen,
    /// Standard error of a cell of M₂.
    noise: f64,
    /// σ², and the subspace in which components differ.
    outside: Option<(f64, Outside)>,
}

fn correction(plan: &MomentPlan) -> Correction {
    if plan.family.is_counts() && !plan.raw { Correction::Factorial } else { Correction::Raw }
}

impl SecondMoment {
    /// Computes the first two moments: one pass, or a few if there are many features.
    pub(crate) fn of(rows: &dyn Rows, summary: &Summary, plan: MomentPlan, observer: &dyn Observer) -> Result<Self> {
        let scaling = match plan.family {
            MixtureFamily::Gaussian => Scaling::Centred,
            MixtureFamily::Categorical => Scaling::Standardised,
            _ => Scaling::None,
        };
        let features = Features::new(rows.schema(), scaling, summary);
        let d = features.n;
        let factors = scale_factors(rows.schema(), &features, summary, &plan);
        let correction = correction(&plan);
        let wanted = (plan.most + 1).min(d);
        let run = |tests: Vec<f64>| -> Result<PairMoment> {
            observer.stage("pair moments", rows.n_rows_hint());
            fold(&mut *rows.open()?, PairSums::new(features.clone(), correction, factors.clone(), tests), observer)?.finish()
        };
        if plan.family == MixtureFamily::Gaussian && !plan.raw {
            if d > MOST_GAUSSIAN {
                let problem = format!("gaussian takes up to {MOST_GAUSSIAN} columns, there are {d}; leave out some");
                return Err(Error::option("mixture.family", problem));
            }
            MemoryBudget::of_machine().check("the second moment", 8 * (d * d) as u64, "leave out columns")?;
            return Self::of_normal(run(Vec::new())?, features, factors, plan);
        }
        let (mut pairs, leading);
        if d <= MOST_DENSE {
            pairs = run(Vec::new())?;
            let divisor = divisor(&plan, &pairs.totals)?;
            pairs.second.iter_mut().for_each(|cell| *cell /= divisor);
            let first = scaled_first(&plan, &pairs, &factors);
            rank_one(&plan, &mut pairs.second, |i, j| first[i] * first[j], d);
            leading = LeadingEigen::of_dense(&pairs.second, d, wanted, plan.seed);
        } else {
            let mut last = None;
            let found = LeadingEigen::by_products(d, wanted, plan.seed, ROUNDS, SETTLED, |block, width| {
                let mut pairs = run(block.to_vec())?;
                let divisor = divisor(&plan, &pairs.totals)?;
                pairs.second.iter_mut().for_each(|cell| *cell /= divisor);
                let first = scaled_first(&plan, &pairs, &factors);
                let along = Matrix::new(1, d, first.clone()).times(&Matrix::new(d, width, block.to_vec()));
                rank_one(&plan, &mut pairs.second, |i, j| first[i] * along[(0, j)], width);
                let image = pairs.second.clone();
                last = Some(pairs);
                Ok::<_, Error>(image)
            })?;
            leading = found;
            pairs = last.expect("there was a round");
        }
        let leading = leading
            .ok_or_else(|| Error::data(Place::default(), "the second moment is not finite; look for very large numbers"))?;
        let squared_norm = match d <= MOST_DENSE {
            true => pairs.second.iter().map(|cell| cell * cell).sum(),
            false => leading.values.iter().map(|value| value * value).sum::<f64>(),
        };
        let totals = pairs.totals;
        let divisor = divisor(&plan, &totals)?;
        let shares = match is_topics(&plan) {
            true => totals.squared_lengths[0] / (divisor * divisor),
            false => totals.squared_weight / (divisor * divisor),
        };
        let noise = noise(&plan, totals.pair_squares / (divisor * divisor), shares, squared_norm, d * d);
        let first_divisor = if is_topics(&plan) { totals.lengths[0] } else { totals.weight };
        let first = pairs.first.iter().map(|sum| sum / first_divisor).collect();
        Ok(Self { plan, features, correction, factors, totals, first, leading, noise, outside: None })
    }

    /// Computes the moments of normal vectors from the sums of centred rows.
    fn of_normal(pairs: PairMoment, mut features: Features, factors: Vec<f64>, plan: MomentPlan) -> Result<Self> {
        let (d, n) = (features.n, pairs.totals.weight);
        let mean: Vec<f64> = pairs.first.iter().map(|sum| sum / n).collect();
        let mut covariance: Vec<f64> = pairs.second.iter().map(|cell| cell / n).collect();
        (0..d * d).for_each(|at| covariance[at] -= mean[at / d] * mean[at % d]);
        let not_finite = || Error::data(Place::default(), "the covariance is not finite; look for very large numbers");
        let k = plan.most.min(d);
        let leading = LeadingEigen::of_dense(&covariance, d, (k + 1).min(d), plan.seed).ok_or_else(not_finite)?;
        let trace: f64 = covariance.iter().step_by(d + 1).sum();
        let n_differ = k - 1;
        let differing: f64 = leading.values[..n_differ].iter().sum();
        let variance = ((trace - differing) / (d - n_differ) as f64).max(0.0);
        // A direction in which components do not differ: the unit vector with the smallest projection on the subspace, minus
        // that projection.
        let inside = |i: usize| leading.vectors[..n_differ].iter().map(|vector| vector[i] * vector[i]).sum::<f64>();
        let least = (0..d).fold(0, |best, i| if inside(i) < inside(best) { i } else { best });
        let mut beside = vec![0.0; d];
        beside[least] = 1.0;
        for vector in &leading.vectors[..n_differ] {
            beside.iter_mut().zip(vector).for_each(|(out, x)| *out -= vector[least] * x);
        }
        let length = beside.iter().map(|x| x * x).sum::<f64>().sqrt();
        let spread = if n_differ > 0 { (differing / n_differ as f64 - variance).max(0.0).sqrt() } else { variance.sqrt() };
        let offset = spread.max(1e-3 * trace.sqrt()).max(f64::MIN_POSITIVE) / length.max(f64::MIN_POSITIVE);
        beside.iter_mut().for_each(|x| *x *= offset);
        for source in &mut features.sources {
            if let Source::Number { feature, shift, .. } = source {
                *shift += mean[*feature as usize] - beside[*feature as usize];
            }
        }
        let mut second = covariance;
        (0..d * d).for_each(|at| second[at] += beside[at / d] * beside[at % d] - if at / d == at % d { variance } else { 0.0 });
        let basis = (0..d).flat_map(|i| leading.vectors[..n_differ].iter().map(move |vector| vector[i])).collect();
        let outside = Outside { center: beside.clone(), basis, width: n_differ };
        let squared_norm = second.iter().map(|cell| cell * cell).sum();
        let shares = pairs.totals.squared_weight / (n * n);
        let noise = noise(&plan, pairs.totals.pair_squares / (n * n), shares, squared_norm, d * d);
        let leading = LeadingEigen::of_dense(&second, d, (plan.most + 1).min(d), plan.seed).ok_or_else(not_finite)?;
        let (correction, totals) = (Correction::Raw, pairs.totals);
        Ok(Self {
            plan,
            features,
            correction,
            factors,
            totals,
            first: beside,
            leading,
            noise,
            outside: Some((variance, outside)),
        })
    }

    /// Number of components above rounding error.
    pub(crate) fn rank(&self) -> usize {
        let largest = self.leading.values.first().copied().unwrap_or(0.0);
        self.leading.values.iter().take_while(|value| **value > 1e-12 * largest && **value > 0.0).count()
    }

    /// The whitening to k coordinates.
    pub(crate) fn whiten(&self, k: usize) -> Result<Whitening> {
        let d = self.features.n;
        Whitening::of_eigenvectors((d, d), &self.leading.values, &self.leading.vectors, k, self.noise)
    }

    /// Returns whether means are shares of the words of a document.
    pub(crate) fn are_shares(&self) -> bool {
        is_topics(&self.plan)
    }

    /// α₀.
    pub(crate) fn alpha(&self) -> f64 {
        self.plan.alpha
    }

    /// σ² of normal vectors.
    pub(crate) fn variance(&self) -> Option<f64> {
        self.outside.as_ref().map(|it| it.0)
    }

    /// Computes the third moment in whitened coordinates in one pass.
    pub(crate) fn third(
        &self,
        rows: &dyn Rows,
        whitening: &Whitening,
        wants_slices: bool,
        observer: &dyn Observer,
    ) -> Result<ThirdMoment> {
        let (d, k) = (self.features.n, whitening.n_components());
        let needed = WhitenedSums::n_bytes(d, k, wants_slices).saturating_mul(3);
        MemoryBudget::of_machine().check(
            "the third moment",
            needed,
            "ask for fewer components, leave out columns or use the method tpm",
        )?;
        let scaled = whitening.whitener(0);
        let whitener = Matrix::from_fn(d, k, |i, c| scaled[(i, c)] * self.factors[i]);
        let outside = self.outside.as_ref().map(|it| it.1.clone());
        let sums = WhitenedSums::new(self.features.clone(), self.correction, &whitener, wants_slices, outside);
        observer.stage("triple moments", rows.n_rows_hint());
        let mut found = fold(&mut *rows.open()?, sums, observer)?.finish()?;
        let (pairs, triples) = match is_topics(&self.plan) {
            true => (self.totals.lengths[1], self.totals.lengths[2]),
            false => (self.totals.weight, self.totals.weight),
        };
        found.tensor.iter_mut().chain(&mut found.slices).for_each(|cell| *cell /= triples);
        found.crosses.iter_mut().for_each(|cell| *cell /= pairs);
        found.outside.iter_mut().for_each(|cell| *cell /= self.totals.weight);
        if let Some((_, outside)) = &self.outside {
            // m, and the correction Σ_i (m⊗e_i⊗e_i + …) in whitened coordinates.
            let m: Vec<f64> = found.outside.iter().map(|it| it / (d - outside.width) as f64).collect();
            let along = Matrix::new(1, d, m.clone()).times(&whitener);
            let gram = whitener.transposed_times(&whitener);
            for at in 0..k * k * k {
                let (a, b, c) = (at / k / k, at / k % k, at % k);
                found.tensor[at] -= along[(0, a)] * gram[(b, c)] + along[(0, b)] * gram[(a, c)] + along[(0, c)] * gram[(a, b)];
            }
            for (r, slice) in found.slices.chunks_exact_mut(k * k).enumerate() {
                for at in 0..k * k {
                    let (a, b) = (at / k, at % k);
                    slice[at] -= m[r] * gram[(a, b)] + along[(0, a)] * whitener[(r, b)] + whitener[(r, a)] * along[(0, b)];
                }
            }
        }
        if self.plan.family == MixtureFamily::Lda && !self.plan.raw {
            self.centre_topics(&whitener, &found.crosses, &mut found.tensor, &mut found.slices);
        }
        for (slice, factor) in found.slices.chunks_exact_mut(k * k).zip(&self.factors) {
            slice.iter_mut().for_each(|cell| *cell *= factor);
        }
        let tensor = WhitenedTensor::tensor(k, &found.tensor)?;
        let slices = if wants_slices { Some(WhitenedTensor::slices(k, &found.slices)?) } else { None };
        Ok(ThirdMoment { tensor, slices })
    }

    /// Converts the third moment of words to that of topics (Theorem 3.3.1, times `(α₀+1)(α₀+2)/2`).
    fn centre_topics(&self, whitener: &Matrix, crosses: &[f64], tensor: &mut [f64], slices: &mut [f64]) {
        let (k, alpha) = (whitener.n_cols(), self.plan.alpha);
        let scale = 0.5 * (alpha + 1.0) * (alpha + 2.0);
        let (once, twice) = (alpha / (alpha + 2.0), 2.0 * alpha * alpha / ((alpha + 1.0) * (alpha + 2.0)));
        let first = Matrix::new(1, self.first.len(), self.first.clone()).times(whitener);
        let u = first.row(0);
        // Wᵀ M₂ W, because W makes (α₀+1) (M₂ − α₀/(α₀+1) M₁M₁ᵀ) the identity.
        let pair = Matrix::from_fn(k, k, |a, b| (f64::from(u8::from(a == b)) + alpha * u[a] * u[b]) / (alpha + 1.0));
        for at in 0..k * k * k {
            let (a, b, c) = (at / k / k, at / k % k, at % k);
            let mixed = pair[(a, b)] * u[c] + pair[(b, c)] * u[a] + pair[(a, c)] * u[b];
            tensor[at] = scale * (tensor[at] - once * mixed + twice * u[a] * u[b] * u[c]);
        }
        for (r, slice) in slices.chunks_exact_mut(k * k).enumerate() {
            let (own, cross) = (self.first[r], &crosses[r * k..][..k]);
            for (at, cell) in slice.iter_mut().enumerate() {
                let (a, b) = (at / k, at % k);
                let mixed = pair[(a, b)] * own + cross[a] * u[b] + cross[b] * u[a];
                *cell = scale * (*cell - once * mixed + twice * own * u[a] * u[b]);
            }
        }
    }

    /// Recovers the components and the parameters they imply.
    pub(crate) fn recover(
        &self,
        whitening: &Whitening,
        third: &ThirdMoment,
        method: MixtureMethod,
        seed: u64,
    ) -> Result<(Parameters, Components)> {
        let options = Options::new().seed(seed);
        let decomposition = method.decomposition();
        let corrected = self.plan.family.is_corrected() && !self.plan.raw;
        let first: Vec<f64> = self.first.iter().zip(&self.factors).map(|(mean, factor)| mean * factor).collect();
        let (components, mixture) = match (&third.slices, method) {
            (Some(slices), _) => {
                let components = decomposition.decompose(slices, &options)?;
                let mixture = match method {
                    MixtureMethod::Svd if corrected => Mixture::recover(whitening, &components, Some(&[&first]))?,
                    _ => Mixture::from_slices(slices, &components, &first, corrected.then_some(whitening))?,
                };
                (components, mixture)
            }
            (None, MixtureMethod::Tpm | MixtureMethod::Als) => {
                let components = decomposition.decompose(&third.tensor, &options)?;
                let mixture = Mixture::recover(whitening, &components, None)?;
                (components, mixture)
            }
            (None, _) => {
                let components = decomposition.decompose(&third.tensor, &options)?;
                let mixture = Mixture::recover_shrunk(whitening, &components, &first)?;
                (components, mixture)
            }
        };
        let k = components.n_components();
        let mut shifts = vec![0.0; self.features.n];
        let mut scales = vec![1.0; self.features.n];
        for source in &self.features.sources {
            if let Source::Number { feature, shift, scale } = *source {
                (shifts[feature as usize], scales[feature as usize]) = (shift, scale);
            }
        }
        let means =
            Matrix::from_fn(self.features.n, k, |i, c| mixture.means[0][(i, c)] / self.factors[i] * scales[i] + shifts[i]);
        Ok((Parameters { weights: mixture.weights, means, variance: self.variance(), unsure: mixture.unsure }, components))
    }
}

/// The third moment in whitened coordinates.
#[derive(Debug, Clone)]
pub(crate) struct ThirdMoment {
    pub(crate) tensor: WhitenedTensor,
    pub(crate) slices: Option<WhitenedTensor>,
}

/// Probabilities and means as recovered from the moments: means of counts may be negative.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Parameters {
    pub(crate) weights: Vec<f64>,
    /// Mean of each feature (row) in component c (column).
    pub(crate) means: Matrix,
    /// Variance of normal vectors.
    pub(crate) variance: Option<f64>,
    /// Number of components whose weight the data do not determine.
    pub(crate) unsure: usize,
}

/// Returns whether rows are weighted by their lengths.
fn is_topics(plan: &MomentPlan) -> bool {
    plan.family.is_topics() && !plan.raw
}

/// Divisor of the sums over pairs.
fn divisor(plan: &MomentPlan, totals: &Totals) -> Result<f64> {
    if !is_topics(plan) {
        return match totals.weight > 0.0 {
            true => Ok(totals.weight),
            false => Err(Error::data(Place::default(), "there are no rows of positive weight to learn from")),
        };
    }
    if totals.lengths[2] > 0.0 {
        return Ok(totals.lengths[1]);
    }
    Err(Error::data(
        Place::default(),
        "no document has three words or more, so there are no triples of words to learn from; use longer documents",
    ))
}

fn scaled_first(plan: &MomentPlan, pairs: &PairMoment, factors: &[f64]) -> Vec<f64> {
    let divisor = if is_topics(plan) { pairs.totals.lengths[0] } else { pairs.totals.weight };
    pairs.first.iter().zip(factors).map(|(sum, factor)| sum / divisor * factor).collect()
}

/// Converts M₂ of words to `(α₀+1) M₂^α`.
fn rank_one(plan: &MomentPlan, cells: &mut [f64], product: impl Fn(usize, usize) -> f64, width: usize) {
    if plan.family == MixtureFamily::Lda && !plan.raw {
        for (at, cell) in cells.iter_mut().enumerate() {
            *cell = (plan.alpha + 1.0) * *cell - plan.alpha * product(at / width, at % width);
        }
    }
}

/// The standard error of a cell if row i has share p_i: `mean_square` is Σ p_i² ‖x_i x_iᵀ‖² and `shares` is Σ p_i².
fn noise(plan: &MomentPlan, mean_square: f64, shares: f64, squared_norm: f64, n_cells: usize) -> f64 {
    if plan.population || shares <= 0.0 {
        return 0.0;
    }
    cell_noise(mean_square / shares, squared_norm, n_cells, 1.0 / shares)
}

/// Factors for the features: counts are divided by the square roots of their means so that all cells have similar noise;
/// other features are not scaled.
fn scale_factors(schema: &Schema, features: &Features, summary: &Summary, plan: &MomentPlan) -> Vec<f64> {
    if !plan.family.is_counts() || plan.raw {
        return vec![1.0; features.n];
    }
    let factor = |mean: f64| if mean > 0.0 { 1.0 / mean.sqrt() } else { 1.0 };
    debug_assert_eq!(schema.columns().len(), features.n);
    summary.columns().iter().map(|column| factor(column.mean)).collect()
}
