//! Third moments of feature vectors in whitened coordinates, in one pass and without a d×d×d array.
//!
//! With `y = Wᵀx` and w_i the i-th row of W, the sums over rows of `y ⊗ y ⊗ y`, `x_i y` and, where slices are needed,
//! `x_r y yᵀ` give the raw moments. The third factorial moment subtracts the products of counts with themselves:
//!
//! ```text
//! T = Σ y⊗y⊗y − Σ_i (w_i⊗w_i⊗s_i + w_i⊗s_i⊗w_i + s_i⊗w_i⊗w_i) + 2 Σ_i m_i w_i⊗w_i⊗w_i            s_i = Σ x_i y,  m_i = Σ x_i
//! H_r = Σ x_r (y yᵀ − Σ_j x_j w_j w_jᵀ) − s_r w_rᵀ − w_r s_rᵀ + 2 m_r w_r w_rᵀ
//! ```

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::bytes;
use super::pair_sums::Correction;
use crate::data::Batch;
use crate::error::Result;
use crate::linalg::Matrix;
use crate::model::features::Features;
use crate::moments::Accumulator;

/// Size of a lane's sums above which fewer lanes are used.
const LARGE: usize = 1 << 20;

/// Isotropic noise outside a subspace: `q(x) = ‖x − x̄‖² − ‖Pᵀ(x − x̄)‖²`, where `center` is subtracted from the features.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Outside {
    pub(crate) center: Vec<f64>,
    /// Orthonormal columns, stored feature by feature.
    pub(crate) basis: Vec<f64>,
    pub(crate) width: usize,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Plan {
    features: Features,
    correction: Correction,
    k: usize,
    wants_slices: bool,
    outside: Option<Outside>,
}

/// Accumulator of the third moment.
#[derive(Debug, Clone)]
pub(crate) struct WhitenedSums {
    plan: Arc<Plan>,
    /// W for unscaled features, d×k.
    whitener: Arc<Vec<f64>>,
    /// Cells i ≤ j ≤ l of `Σ y⊗y⊗y`.
    cubes: Vec<f64>,
    /// `Σ x_i y`, d×k, and `Σ x_i`.
    crosses: Vec<f64>,
    first: Vec<f64>,
    /// Cells a ≤ b of the slices, d×k(k+1)/2.
    slices: Vec<f64>,
    /// `Σ q(x) x_i`.
    outside: Vec<f64>,
}

/// The result of the pass, as sums over rows.
#[derive(Debug, Clone)]
pub(crate) struct WhitenedMoment {
    /// The third moment, k×k×k.
    pub(crate) tensor: Vec<f64>,
    /// Its slices, d×k×k; empty unless requested.
    pub(crate) slices: Vec<f64>,
    /// The second moment times W, d×k.
    pub(crate) crosses: Vec<f64>,
    /// `Σ q(x) x_i`.
    pub(crate) outside: Vec<f64>,
}

impl WhitenedSums {
    /// Starts without rows.
    pub(crate) fn new(
        features: Features,
        correction: Correction,
        whitener: &Matrix,
        wants_slices: bool,
        outside: Option<Outside>,
    ) -> Self {
        let (d, k) = (whitener.n_rows(), whitener.n_cols());
        let n_outside = if outside.is_some() { d } else { 0 };
        let plan = Arc::new(Plan { features, correction, k, wants_slices, outside });
        Self {
            plan,
            whitener: Arc::new(whitener.cells().to_vec()),
            cubes: vec![0.0; k * (k + 1) * (k + 2) / 6],
            crosses: vec![0.0; d * k],
            first: vec![0.0; d],
            slices: vec![0.0; if wants_slices { d * k * (k + 1) / 2 } else { 0 }],
            outside: vec![0.0; n_outside],
        }
    }

    /// Number of bytes of the sums.
    pub(crate) fn n_bytes(d: usize, k: usize, wants_slices: bool) -> u64 {
        let (d, k) = (d as u64, k as u64);
        let slices = if wants_slices { d.saturating_mul(k * (k + 1) / 2) } else { 0 };
        8 * (slices + d * (2 * k + 2) + k * k * k)
    }

    fn arrays(&mut self) -> [&mut Vec<f64>; 5] {
        [&mut self.cubes, &mut self.crosses, &mut self.first, &mut self.slices, &mut self.outside]
    }
}

impl Accumulator for WhitenedSums {
    type Output = WhitenedMoment;

    const NAME: &'static str = "mixture-triples";

    fn observe(&mut self, batch: &Batch) -> Result<()> {
        let plan = Arc::clone(&self.plan);
        let whitener = Arc::clone(&self.whitener);
        let (k, packed) = (plan.k, plan.k * (plan.k + 1) / 2);
        let of = |feature: usize| &whitener[feature * k..][..k];
        let rows = plan.features.rows(batch);
        let (mut y, mut products) = (vec![0.0; k], vec![0.0; packed]);
        let mut along = vec![0.0; plan.outside.as_ref().map_or(0, |outside| outside.width)];
        for row in 0..rows.n_rows() {
            let weight = rows.weight(row);
            y.fill(0.0);
            for (feature, x) in rows.row(row) {
                y.iter_mut().zip(of(feature)).for_each(|(y, w)| *y += x * w);
            }
            let mut cell = 0;
            for a in 0..k {
                let x = weight * y[a];
                for b in a..k {
                    let xy = x * y[b];
                    let out = &mut self.cubes[cell..cell + k - b];
                    out.iter_mut().zip(&y[b..]).for_each(|(out, z)| *out += xy * z);
                    cell += k - b;
                }
            }
            if plan.wants_slices {
                let mut at = 0;
                for a in 0..k {
                    for b in a..k {
                        products[at] = y[a] * y[b];
                        at += 1;
                    }
                }
                if plan.correction == Correction::Factorial {
                    for (feature, x) in rows.row(row) {
                        let (w, mut at) = (of(feature), 0);
                        for a in 0..k {
                            let xw = x * w[a];
                            products[at..at + k - a].iter_mut().zip(&w[a..]).for_each(|(out, w)| *out -= xw * w);
                            at += k - a;
                        }
                    }
                }
            }
            let outside = plan.outside.as_ref().map(|outside| {
                along.fill(0.0);
                let mut square = 0.0;
                // Centred features are dense.
                let mut entries = rows.row(row).peekable();
                for (feature, center) in outside.center.iter().enumerate() {
                    let x = entries.next_if(|entry| entry.0 == feature).map_or(0.0, |entry| entry.1) - center;
                    square += x * x;
                    let basis = &outside.basis[feature * outside.width..][..outside.width];
                    along.iter_mut().zip(basis).for_each(|(out, basis)| *out += x * basis);
                }
                square - along.iter().map(|x| x * x).sum::<f64>()
            });
            for (feature, x) in rows.row(row) {
                let x = weight * x;
                self.first[feature] += x;
                self.crosses[feature * k..][..k].iter_mut().zip(&y).for_each(|(out, y)| *out += x * y);
                if plan.wants_slices {
                    self.slices[feature * packed..][..packed].iter_mut().zip(&products).for_each(|(out, cell)| *out += x * cell);
                }
                if let Some(outside) = outside {
                    self.outside[feature] += x * outside;
                }
            }
        }
        Ok(())
    }

    fn merge(&mut self, mut other: Self) -> Result<()> {
        for (own, other) in self.arrays().into_iter().zip(other.arrays()) {
            bytes::add(own, other)?;
        }
        Ok(())
    }

    fn empty(&self) -> Self {
        let zeros = |of: &Vec<f64>| vec![0.0; of.len()];
        Self {
            plan: Arc::clone(&self.plan),
            whitener: Arc::clone(&self.whitener),
            cubes: zeros(&self.cubes),
            crosses: zeros(&self.crosses),
            first: zeros(&self.first),
            slices: zeros(&self.slices),
            outside: zeros(&self.outside),
        }
    }

    fn lanes(&self) -> usize {
        if self.slices.len() + self.crosses.len() > LARGE { 2 } else { 8 }
    }

    fn finish(self) -> Result<WhitenedMoment> {
        let (k, d, packed) = (self.plan.k, self.first.len(), self.plan.k * (self.plan.k + 1) / 2);
        let factorial = self.plan.correction == Correction::Factorial;
        let w = |feature: usize| &self.whitener[feature * k..][..k];
        let mut tensor = vec![0.0; k * k * k];
        let mut cell = 0;
        for a in 0..k {
            for b in a..k {
                for c in b..k {
                    for [i, j, l] in [[a, b, c], [a, c, b], [b, a, c], [b, c, a], [c, a, b], [c, b, a]] {
                        tensor[(i * k + j) * k + l] = self.cubes[cell];
                    }
                    cell += 1;
                }
            }
        }
        if factorial {
            for feature in 0..d {
                let (w, s, m) = (w(feature), &self.crosses[feature * k..][..k], self.first[feature]);
                if m == 0.0 {
                    continue;
                }
                for a in 0..k {
                    for b in 0..k {
                        let (ww, mixed) = (w[a] * w[b], w[a] * s[b] + s[a] * w[b] - 2.0 * m * w[a] * w[b]);
                        let out = &mut tensor[(a * k + b) * k..][..k];
                        out.iter_mut().zip(w.iter().zip(s)).for_each(|(out, (w, s))| *out -= ww * s + mixed * w);
                    }
                }
            }
        }
        let mut slices = vec![0.0; if self.plan.wants_slices { d * k * k } else { 0 }];
        for (feature, out) in slices.chunks_exact_mut(k * k).enumerate() {
            let (w, s, m) = (w(feature), &self.crosses[feature * k..][..k], self.first[feature]);
            let mut at = feature * packed;
            for a in 0..k {
                for b in a..k {
                    let own = if factorial { 2.0 * m * w[a] * w[b] - s[a] * w[b] - w[a] * s[b] } else { 0.0 };
                    (out[a * k + b], out[b * k + a]) = (self.slices[at] + own, self.slices[at] + own);
                    at += 1;
                }
            }
        }
        let mut crosses = self.crosses;
        if factorial {
            for (feature, out) in crosses.chunks_exact_mut(k).enumerate() {
                let (w, m) = (&self.whitener[feature * k..][..k], self.first[feature]);
                out.iter_mut().zip(w).for_each(|(out, w)| *out -= m * w);
            }
        }
        Ok(WhitenedMoment { tensor, slices, crosses, outside: self.outside })
    }

    fn to_bytes(&self) -> Result<Vec<u8>> {
        let arrays: [&[f64]; 6] = [&self.whitener, &self.cubes, &self.crosses, &self.first, &self.slices, &self.outside];
        bytes::write(&*self.plan, &arrays)
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let (plan, [whitener, cubes, crosses, first, slices, outside]): (Plan, [Vec<f64>; 6]) = bytes::read(bytes)?;
        bytes::check(plan.features.is_valid() && plan.features.n > 0)?;
        let size = plan.features.n.saturating_mul(plan.k);
        bytes::same_length(whitener.len(), size)?;
        if let Some(outside) = &plan.outside {
            bytes::same_length(outside.center.len(), plan.features.n)?;
            bytes::same_length(outside.basis.len(), plan.features.n.saturating_mul(outside.width))?;
        }
        let whitener = Matrix::new(plan.features.n, plan.k, whitener);
        let mut own = Self::new(plan.features, plan.correction, &whitener, plan.wants_slices, plan.outside);
        for (own, read) in own.arrays().into_iter().zip([cubes, crosses, first, slices, outside]) {
            bytes::add(own, &read)?;
        }
        Ok(own)
    }
}
