//! Cholesky factors of dense symmetric positive definite matrices.

/// The factor `L` of `A = L Lᵀ`.
#[derive(Debug, Clone, PartialEq)]
pub struct Cholesky {
    n: usize,
    /// Row by row; the upper triangle is not used.
    factor: Vec<f64>,
}

impl Cholesky {
    /// Factors a symmetric matrix given row by row; `None` if it is not positive definite.
    ///
    /// # Panics
    /// If the matrix is not square.
    #[must_use]
    pub fn new(matrix: &[f64], n: usize) -> Option<Self> {
        let mut own = Self { n, factor: matrix.to_vec() };
        own.refactor(matrix).then_some(own)
    }

    /// Factors another matrix of the same size in the same memory; whether it is positive definite. If it is not, nothing may be
    /// asked of the factor.
    ///
    /// # Panics
    /// If the matrix has another size.
    pub fn refactor(&mut self, matrix: &[f64]) -> bool {
        let n = self.n;
        assert_eq!(matrix.len(), n * n, "the matrix is square and of the same size");
        let factor = &mut self.factor;
        factor.copy_from_slice(matrix);
        for i in 0..n {
            for j in 0..=i {
                let (upper, lower) = factor.split_at(i * n);
                let row = &lower[..j];
                let other = if i == j { row } else { &upper[j * n..j * n + j] };
                let dot: f64 = row.iter().zip(other).map(|(a, b)| a * b).sum();
                let value = factor[i * n + j] - dot;
                factor[i * n + j] = if i == j {
                    if value.is_nan() || value <= 0.0 {
                        return false;
                    }
                    value.sqrt()
                } else {
                    value / factor[j * n + j]
                };
            }
        }
        true
    }

    /// Natural logarithm of the determinant of the matrix.
    #[must_use]
    pub fn ln_determinant(&self) -> f64 {
        2.0 * (0..self.n).map(|i| self.factor[i * self.n + i].ln()).sum::<f64>()
    }

    /// `tr(A⁻¹ B)` of a symmetric matrix `B` given row by row.
    #[must_use]
    pub fn trace_of_solution(&self, other: &[f64]) -> f64 {
        // tr(A⁻¹B) = Σ_j (L⁻ᵀ L⁻¹ b_j)_j.
        (0..self.n).map(|j| self.solve(&other[j * self.n..(j + 1) * self.n])[j]).sum()
    }

    /// The solution of `A x = b`.
    #[must_use]
    pub fn solve(&self, b: &[f64]) -> Vec<f64> {
        let mut x = b.to_vec();
        self.solve_in_place(&mut x);
        x
    }

    /// Replaces b by the solution of `A x = b`.
    pub fn solve_in_place(&self, x: &mut [f64]) {
        let (n, l) = (self.n, &self.factor);
        for i in 0..n {
            let dot: f64 = l[i * n..i * n + i].iter().zip(x.iter()).map(|(a, b)| a * b).sum();
            x[i] = (x[i] - dot) / l[i * n + i];
        }
        for i in (0..n).rev() {
            x[i] /= l[i * n + i];
            let value = x[i];
            for (x, l) in x[..i].iter_mut().zip(&l[i * n..i * n + i]) {
                *x -= l * value;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Cholesky;
    use rand::{RngExt, SeedableRng};

    #[test]
    fn solutions_and_determinants_agree_with_another_library() {
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
        for n in 1..12 {
            let root = nalgebra::DMatrix::from_fn(n, n, |_, _| rng.random_range(-1.0..1.0));
            let matrix = &root * root.transpose() + nalgebra::DMatrix::identity(n, n) * 0.1;
            let b = nalgebra::DVector::from_fn(n, |_, _| rng.random_range(-1.0..1.0));
            let own = Cholesky::new(matrix.as_slice(), n).unwrap();
            assert!((own.ln_determinant() - matrix.determinant().ln()).abs() < 1e-9);
            let solved = own.solve(b.as_slice());
            let residual = &matrix * nalgebra::DVector::from_vec(solved) - &b;
            assert!(residual.norm() < 1e-10);
            assert!((own.trace_of_solution(matrix.as_slice()) - n as f64).abs() < 1e-9);
        }
        assert!(Cholesky::new(&[1.0, 2.0, 2.0, 1.0], 2).is_none());
    }
}
