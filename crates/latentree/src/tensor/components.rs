//! The result of a decomposition: components, their weights and their fit.

use std::cmp::Ordering;

use super::whitened::WhitenedTensor;
use crate::error::{Error, Result};
use crate::linalg::{Cholesky, Matrix};

/// Components of a whitened tensor or family of slices.
#[derive(Debug, Clone, PartialEq)]
pub struct Components {
    /// Row c is the unit vector o_c, c-th by falling weight (ties: by its coordinates). Signs: of a whole tensor such that
    /// weights are positive; of slices, which do not know the sign, such that the largest coordinate is positive.
    pub vectors: Matrix,
    /// Of a whole tensor λ_c of `T ≈ Σ_c λ_c o_c ⊗ o_c ⊗ o_c`, by least squares given the vectors; a state of probability ω has
    /// `λ = 1/√ω ≥ 1`. Of slices the length of `m_c`.
    pub weights: Vec<f64>,
    /// `‖T − Σ_c λ_c o_c ⊗ o_c ⊗ o_c‖ / ‖T‖`, or `‖H − Σ_c m_c o_c o_cᵀ‖ / ‖H‖` of slices; 0 of a tensor of zeros.
    pub residual: f64,
    /// How far apart the two most alike components are in what the method looked at, relative to the largest value there: for
    /// one slice the least difference of eigenvalues, else the least distance `‖m_a − m_b‖` over slices. Components are as
    /// unsure as the noise divided by this. 1 if there is one component.
    pub gap: f64,
    /// Whether they are of a whole tensor, whose weights tell probabilities, or of slices.
    pub whole: bool,
    /// Rounds that were made by the start that was taken.
    pub iterations: usize,
    /// Whether it settled within the rounds allowed.
    pub converged: bool,
}

/// What a method found, to be judged and put in order.
pub(super) struct Found {
    /// One unit vector per component, one after the other.
    pub(super) vectors: Vec<f64>,
    /// The gap, if the method has a notion of its own.
    pub(super) gap: Option<f64>,
    pub(super) iterations: usize,
    pub(super) converged: bool,
}

impl Components {
    /// Number of components.
    #[must_use]
    pub fn n_components(&self) -> usize {
        self.weights.len()
    }

    /// The values `m_rc` of `H_r ≈ Σ_c m_rc o_c o_cᵀ` by least squares, slice by slice: for orthonormal components the diagonals
    /// of `O H_r Oᵀ`. If slice r is the moment `E[y_r · Wᵀx₁ ⊗ Wᵀx₂]` of a number y_r, `m_rc` is `E[y_r | h = c]`, whatever the
    /// weights (Ruffini 2019, Algorithm 1, line 7).
    ///
    /// # Errors
    /// If the slices have another number of components.
    pub fn values(&self, slices: &WhitenedTensor) -> Result<Matrix> {
        let k = self.n_components();
        if slices.n_components() != k {
            return Err(Error::Mismatch {
                left: "components".to_owned(),
                right: "slices".to_owned(),
                problem: format!("there are {k} components and slices of {0} x {0}", slices.n_components()),
            });
        }
        Ok(slice_values(slices, self.vectors.cells()))
    }

    pub(super) fn judge(tensor: &WhitenedTensor, mut found: Found) -> Self {
        let (k, l) = (tensor.n_components(), tensor.n_slices());
        let values = slice_values(tensor, &found.vectors);
        let mut weights = if tensor.is_whole() {
            cubic_weights(tensor, &found.vectors)
        } else {
            (0..k).map(|c| (0..l).map(|r| values[(r, c)].powi(2)).sum::<f64>().sqrt()).collect()
        };
        for (weight, vector) in weights.iter_mut().zip(found.vectors.chunks_exact_mut(k)) {
            let largest = vector.iter().fold(0.0_f64, |best, &x| if x.abs() > best.abs() { x } else { best });
            if (tensor.is_whole() && *weight < 0.0) || (largest < 0.0 && (!tensor.is_whole() || *weight == 0.0)) {
                vector.iter_mut().for_each(|x| *x = -*x);
                *weight = weight.abs();
            }
        }
        let vector = |c: usize| &found.vectors[c * k..(c + 1) * k];
        let mut order: Vec<usize> = (0..k).collect();
        order.sort_by(|&a, &b| {
            let coordinates = || vector(b).iter().zip(vector(a)).map(|(b, a)| b.total_cmp(a)).find(|it| *it != Ordering::Equal);
            weights[b].total_cmp(&weights[a]).then_with(|| coordinates().unwrap_or(Ordering::Equal))
        });
        let vectors = Matrix::from_fn(k, k, |c, i| vector(order[c])[i]);
        let values = Matrix::from_fn(l, k, |r, c| values[(r, order[c])]);
        let weights: Vec<f64> = order.iter().map(|&c| weights[c]).collect();
        let residual = residual(tensor, &vectors, &weights, &values);
        let gap = found.gap.unwrap_or_else(|| separation(&values));
        Self {
            vectors,
            weights,
            residual,
            gap,
            whole: tensor.is_whole(),
            iterations: found.iterations,
            converged: found.converged,
        }
    }
}

/// The least distance of two columns, relative to the longest.
fn separation(values: &Matrix) -> f64 {
    let columns = values.transposed();
    let distance = |a: usize, b: Option<usize>| {
        let squares = columns.row(a).iter().enumerate().map(|(r, x)| (x - b.map_or(0.0, |b| columns[(b, r)])).powi(2));
        squares.sum::<f64>().sqrt()
    };
    let k = columns.n_rows();
    let longest = (0..k).map(|c| distance(c, None)).fold(0.0, f64::max);
    let pairs = (0..k).flat_map(|a| (0..a).map(move |b| (a, b)));
    let least = pairs.map(|(a, b)| distance(a, Some(b))).fold(f64::INFINITY, f64::min);
    match (k, longest > 0.0) {
        (1, _) => 1.0,
        (_, true) => least / longest,
        (_, false) => 0.0,
    }
}

/// Least squares for `m` in `H_r ≈ Σ_c m_rc v_c v_cᵀ`: `(v_a·v_b)² m = v_aᵀ H_r v_a`.
fn slice_values(tensor: &WhitenedTensor, vectors: &[f64]) -> Matrix {
    let (k, l) = (tensor.n_components(), tensor.n_slices());
    let mut values = Matrix::zeros(k, l);
    for (c, vector) in vectors.chunks_exact(k).enumerate() {
        let out = values.row_mut(c);
        for (at, cells) in tensor.cells().chunks_exact(l).enumerate() {
            let factor = vector[at / k] * vector[at % k];
            out.iter_mut().zip(cells).for_each(|(out, cell)| *out += factor * cell);
        }
    }
    let mut values = values.transposed();
    if let Some(gram) = gram(vectors, k, 2) {
        (0..l).for_each(|r| gram.solve_in_place(values.row_mut(r)));
    }
    values
}

/// Least squares for λ in `T ≈ Σ_c λ_c v_c ⊗ v_c ⊗ v_c`: `(v_a·v_b)³ λ = T(v_a, v_a, v_a)`.
fn cubic_weights(tensor: &WhitenedTensor, vectors: &[f64]) -> Vec<f64> {
    let k = tensor.n_components();
    let cube = |vector: &[f64]| -> f64 {
        let pairs = tensor.cells().chunks_exact(k).enumerate();
        pairs.map(|(at, cells)| vector[at / k] * vector[at % k] * cells.iter().zip(vector).map(|(x, y)| x * y).sum::<f64>()).sum()
    };
    let mut weights: Vec<f64> = vectors.chunks_exact(k).map(cube).collect();
    if let Some(gram) = gram(vectors, k, 3) {
        gram.solve_in_place(&mut weights);
    }
    weights
}

/// The factored matrix of powers of inner products; `None` if vectors (nearly) agree, when each is taken for itself, and if they
/// are orthonormal, when it is the identity.
fn gram(vectors: &[f64], k: usize, power: i32) -> Option<Cholesky> {
    let dot = |a: usize, b: usize| -> f64 { (0..k).map(|i| vectors[a * k + i] * vectors[b * k + i]).sum() };
    let products: Vec<f64> = (0..k * k).map(|at| dot(at / k, at % k)).collect();
    let apart = products.iter().enumerate().all(|(at, product)| at / k == at % k || product.abs() < 0.99);
    let orthonormal = products.iter().enumerate().all(|(at, &x)| (x - f64::from(u8::from(at / k == at % k))).abs() < 1e-14);
    let powers: Vec<f64> = products.iter().map(|product| product.powi(power)).collect();
    if apart && !orthonormal { Cholesky::new(&powers, k) } else { None }
}

fn residual(tensor: &WhitenedTensor, vectors: &Matrix, weights: &[f64], values: &Matrix) -> f64 {
    let (k, l) = (tensor.n_components(), tensor.n_slices());
    let mut square = 0.0;
    for i in 0..k {
        for j in 0..k {
            for r in 0..l {
                let term = |c: usize| {
                    let value = if tensor.is_whole() { weights[c] * vectors[(c, r)] } else { values[(r, c)] };
                    value * vectors[(c, i)] * vectors[(c, j)]
                };
                square += (tensor.cell(r, i, j) - (0..k).map(term).sum::<f64>()).powi(2);
            }
        }
    }
    let norm = tensor.norm();
    if norm > 0.0 { square.sqrt() / norm } else { 0.0 }
}
