//! A small dense matrix, row by row.

use std::ops::{Index, IndexMut};

/// A dense matrix, row by row.
#[derive(Debug, Clone, PartialEq)]
pub struct Matrix {
    n_rows: usize,
    n_cols: usize,
    cells: Vec<f64>,
}

impl Matrix {
    /// A matrix of its cells, row by row.
    ///
    /// # Panics
    /// If there are not `n_rows · n_cols` cells.
    #[must_use]
    pub fn new(n_rows: usize, n_cols: usize, cells: Vec<f64>) -> Self {
        assert_eq!(Some(cells.len()), n_rows.checked_mul(n_cols), "the matrix has its cells");
        Self { n_rows, n_cols, cells }
    }

    /// A matrix of zeros.
    #[must_use]
    pub fn zeros(n_rows: usize, n_cols: usize) -> Self {
        Self { n_rows, n_cols, cells: vec![0.0; n_rows * n_cols] }
    }

    /// A matrix whose cell in row i and column j is `cell(i, j)`.
    #[must_use]
    pub fn from_fn(n_rows: usize, n_cols: usize, mut cell: impl FnMut(usize, usize) -> f64) -> Self {
        let cells = (0..n_rows * n_cols).map(|at| cell(at / n_cols, at % n_cols)).collect();
        Self { n_rows, n_cols, cells }
    }

    /// Number of rows.
    #[must_use]
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Number of columns.
    #[must_use]
    pub fn n_cols(&self) -> usize {
        self.n_cols
    }

    /// All cells, row by row.
    #[must_use]
    pub fn cells(&self) -> &[f64] {
        &self.cells
    }

    /// A row.
    #[must_use]
    pub fn row(&self, row: usize) -> &[f64] {
        &self.cells[row * self.n_cols..(row + 1) * self.n_cols]
    }

    /// A row, to be changed.
    pub fn row_mut(&mut self, row: usize) -> &mut [f64] {
        &mut self.cells[row * self.n_cols..(row + 1) * self.n_cols]
    }

    /// A column.
    #[must_use]
    pub fn column(&self, column: usize) -> Vec<f64> {
        (0..self.n_rows).map(|row| self[(row, column)]).collect()
    }

    /// Rows and columns exchanged.
    #[must_use]
    pub fn transposed(&self) -> Self {
        Self::from_fn(self.n_cols, self.n_rows, |row, col| self[(col, row)])
    }

    /// The product `self · other`.
    ///
    /// # Panics
    /// If the inner sizes differ.
    #[must_use]
    pub fn times(&self, other: &Self) -> Self {
        assert_eq!(self.n_cols, other.n_rows, "the inner sizes agree");
        let mut product = Self::zeros(self.n_rows, other.n_cols);
        for row in 0..self.n_rows {
            let out = &mut product.cells[row * other.n_cols..(row + 1) * other.n_cols];
            for (factor, cells) in self.row(row).iter().zip(other.cells.chunks_exact(other.n_cols.max(1))) {
                out.iter_mut().zip(cells).for_each(|(out, cell)| *out += factor * cell);
            }
        }
        product
    }

    /// The product `rows · self` of rows that are given one after the other.
    #[must_use]
    pub(crate) fn times_rows(&self, rows: &[f64]) -> Self {
        let mut out = Self::zeros(rows.len() / self.n_rows.max(1), self.n_cols);
        for (row, out) in rows.chunks_exact(self.n_rows).zip(out.cells.chunks_exact_mut(self.n_cols)) {
            for (x, own) in row.iter().zip(self.cells.chunks_exact(self.n_cols)) {
                out.iter_mut().zip(own).for_each(|(out, y)| *out += x * y);
            }
        }
        out
    }

    /// The product `selfᵀ · other`.
    ///
    /// # Panics
    /// If the numbers of rows differ.
    #[must_use]
    pub fn transposed_times(&self, other: &Self) -> Self {
        assert_eq!(self.n_rows, other.n_rows, "the inner sizes agree");
        let mut product = Self::zeros(self.n_cols, other.n_cols);
        for inner in 0..self.n_rows {
            for (col, factor) in self.row(inner).iter().enumerate() {
                let out = &mut product.cells[col * other.n_cols..(col + 1) * other.n_cols];
                out.iter_mut().zip(other.row(inner)).for_each(|(out, cell)| *out += factor * cell);
            }
        }
        product
    }

    /// The root of the sum of squares.
    #[must_use]
    pub fn norm(&self) -> f64 {
        self.cells.iter().map(|cell| cell * cell).sum::<f64>().sqrt()
    }
}

impl Index<(usize, usize)> for Matrix {
    type Output = f64;

    fn index(&self, (row, col): (usize, usize)) -> &f64 {
        &self.cells[row * self.n_cols + col]
    }
}

impl IndexMut<(usize, usize)> for Matrix {
    fn index_mut(&mut self, (row, col): (usize, usize)) -> &mut f64 {
        &mut self.cells[row * self.n_cols + col]
    }
}

#[cfg(test)]
mod tests {
    use super::Matrix;

    #[test]
    fn products_are_those_of_another_library() {
        let a = Matrix::from_fn(3, 4, |i, j| (i * 7 + j * j) as f64 - 3.5);
        let b = Matrix::from_fn(4, 2, |i, j| (i + 5 * j) as f64 * 0.25);
        let theirs = nalgebra::DMatrix::from_row_slice(3, 4, a.cells()) * nalgebra::DMatrix::from_row_slice(4, 2, b.cells());
        for i in 0..3 {
            for j in 0..2 {
                assert_eq!(a.times(&b)[(i, j)], theirs[(i, j)]);
            }
        }
        assert_eq!(a.transposed().transposed_times(&b), a.times(&b));
        assert_eq!(a.column(1), a.transposed().row(1));
        assert_eq!(Matrix::new(1, 2, vec![3.0, 4.0]).norm(), 5.0);
        assert_eq!(Matrix::zeros(2, 0).times(&Matrix::zeros(0, 3)), Matrix::zeros(2, 3));
    }
}
