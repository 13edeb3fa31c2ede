//! The input of a decomposition: a whitened k×k×k tensor, or a family of whitened k×k slices.

use crate::error::{Error, Result};

/// A whitened symmetric tensor `T = Σ_c λ_c o_c ⊗ o_c ⊗ o_c`, or a family of l whitened symmetric slices
/// `H_r = Σ_c m_rc o_c o_cᵀ`, with orthonormal o_c up to noise. The slices of a tensor are a family with `m_rc = λ_c o_rc`.
///
/// Moments of samples are not quite symmetric; they are made so by averaging, which also averages noise.
#[derive(Debug, Clone, PartialEq)]
pub struct WhitenedTensor {
    n_components: usize,
    n_slices: usize,
    whole: bool,
    /// Cell (i, j) of slice r at `(i·k + j)·l + r`: a rotation of rows or columns then runs over contiguous memory.
    cells: Vec<f64>,
}

impl WhitenedTensor {
    /// A tensor of its k³ cells, cell (i, j, l) at `(i·k + j)·k + l`, made symmetric by averaging over the six orders.
    ///
    /// # Errors
    /// If k is 0, there are not k³ cells, or one is not finite.
    pub fn tensor(n_components: usize, cells: &[f64]) -> Result<Self> {
        let k = n_components;
        check(k, cells, k.checked_mul(k).and_then(|square| square.checked_mul(k)))?;
        let mut symmetric = vec![0.0; cells.len()];
        for i in 0..k {
            for j in i..k {
                for l in j..k {
                    let at = |a: usize, b: usize, c: usize| (a * k + b) * k + c;
                    let orders = [at(i, j, l), at(i, l, j), at(j, i, l), at(j, l, i), at(l, i, j), at(l, j, i)];
                    let mean = orders.iter().map(|&at| cells[at]).sum::<f64>() / 6.0;
                    orders.iter().for_each(|&at| symmetric[at] = mean);
                }
            }
        }
        Ok(Self { n_components: k, n_slices: k, whole: true, cells: symmetric })
    }

    /// A family of k×k slices one after the other, each row by row and made symmetric by averaging with its transpose.
    ///
    /// # Errors
    /// If k is 0, the cells are not one or more slices of k² cells, or one is not finite.
    pub fn slices(n_components: usize, cells: &[f64]) -> Result<Self> {
        let k = n_components;
        let square = k.checked_mul(k);
        let n_slices = square.and_then(|square| cells.len().checked_div(square)).unwrap_or(0).max(1);
        check(k, cells, square.and_then(|square| square.checked_mul(n_slices)))?;
        let mut own = Self { n_components: k, n_slices, whole: false, cells: vec![0.0; cells.len()] };
        for (r, slice) in cells.chunks_exact(k * k).enumerate() {
            for i in 0..k {
                for j in 0..k {
                    own.cells[(i * k + j) * n_slices + r] = 0.5 * (slice[i * k + j] + slice[j * k + i]);
                }
            }
        }
        Ok(own)
    }

    /// Number of components asked for, k.
    #[must_use]
    pub fn n_components(&self) -> usize {
        self.n_components
    }

    /// Number of slices: k for a whole tensor.
    #[must_use]
    pub fn n_slices(&self) -> usize {
        self.n_slices
    }

    /// Whether it is a whole tensor and not a family of slices.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.whole
    }

    /// Cell (i, j) of slice r.
    #[must_use]
    pub fn cell(&self, slice: usize, i: usize, j: usize) -> f64 {
        self.cells[(i * self.n_components + j) * self.n_slices + slice]
    }

    /// The root of the sum of squares of all cells.
    #[must_use]
    pub fn norm(&self) -> f64 {
        self.cells.iter().map(|cell| cell * cell).sum::<f64>().sqrt()
    }

    /// Cell (i, j) of slice r at `(i·k + j)·l + r`.
    pub(super) fn cells(&self) -> &[f64] {
        &self.cells
    }

    /// The cells of the first slices, laid out for as many slices.
    pub(super) fn leading(&self, n_slices: Option<usize>) -> (Vec<f64>, usize) {
        let wanted = n_slices.map_or(self.n_slices, |wanted| wanted.min(self.n_slices));
        (self.cells.chunks_exact(self.n_slices).flat_map(|cells| &cells[..wanted]).copied().collect(), wanted)
    }
}

fn check(k: usize, cells: &[f64], expected: Option<usize>) -> Result<()> {
    if k == 0 {
        return Err(Error::option("components", "there must be at least one"));
    }
    if expected != Some(cells.len()) {
        return Err(Error::Mismatch {
            left: format!("{k} components"),
            right: "the whitened tensor".to_owned(),
            problem: format!("it has {} cells, which are not whole slices of {k} x {k}", cells.len()),
        });
    }
    match cells.iter().position(|cell| !cell.is_finite()) {
        Some(at) => Err(Error::option("whitened tensor", format!("cell {at} is {}; all must be finite", cells[at]))),
        None => Ok(()),
    }
}
