//! Singular values of pair moments against the noise they were measured with.

/// What a singular value must exceed of the largest, to be more than rounding.
const ROUNDING: f64 = 1e-9;

/// The leading singular values of a matrix of pair moments, and the level up to which they may be noise.
#[derive(Debug, Clone, PartialEq)]
pub struct Spectrum {
    /// Which views the moments are of, counted from 0.
    pub views: (usize, usize),
    /// Singular values in falling order (of one symmetric matrix: eigenvalues), k + 1 of them or more where the matrix has as
    /// many.
    pub values: Vec<f64>,
    /// Number of components asked for, k.
    pub n_components: usize,
    /// The largest singular value that noise alone would have: [`cell_noise`] times `√d_a + √d_b`, and not less than rounding.
    pub noise: f64,
}

impl Spectrum {
    pub(super) fn new(views: (usize, usize), sizes: (usize, usize), values: Vec<f64>, k: usize, cell_noise: f64) -> Self {
        // A d_a × d_b matrix of independent cells of deviation s has largest singular value about s (√d_a + √d_b).
        let noise = cell_noise * ((sizes.0 as f64).sqrt() + (sizes.1 as f64).sqrt());
        let rounding = ROUNDING * values.first().map_or(0.0, |value| value.abs());
        Self { views, values, n_components: k, noise: noise.max(rounding) }
    }

    /// The k-th singular value, 0 if there are fewer. If it is not above the noise, k is too large for the data.
    #[must_use]
    pub fn smallest(&self) -> f64 {
        self.n_components.checked_sub(1).and_then(|ix| self.values.get(ix)).copied().unwrap_or(0.0)
    }

    /// The (k + 1)-th singular value, 0 if there are fewer. If it is far above the noise, k is too small.
    #[must_use]
    pub fn next(&self) -> f64 {
        self.values.get(self.n_components).copied().unwrap_or(0.0)
    }

    /// `(σ_k − σ_{k+1}) / σ_1`; 0 if all are 0.
    #[must_use]
    pub fn gap(&self) -> f64 {
        match self.values.first() {
            Some(&first) if first > 0.0 => (self.smallest() - self.next()) / first,
            _ => 0.0,
        }
    }

    /// Number of the leading singular values above the noise: the number of components that these moments support. If all that
    /// are known are above it, there may be more.
    #[must_use]
    pub fn supported(&self) -> usize {
        self.values.iter().take_while(|value| **value > self.noise).count()
    }
}

/// The standard error of one cell of the moment `E[x_a x_bᵀ]` (or of a third moment) estimated from rows, root mean square over
/// the cells: `√((E[‖x_a‖² ‖x_b‖²] − ‖M‖²) / (n · cells))`.
///
/// `mean_square` is the mean over rows of the squared length of what is averaged (`‖x_a‖² ‖x_b‖²`), `squared_norm` the
/// squared length of the mean itself. For features that are whitened by their own covariance it is about `1/√n`, and cells
/// are about equally noisy, which is what [`Spectrum::noise`] assumes; for others the noise in the largest directions is larger.
#[must_use]
pub fn cell_noise(mean_square: f64, squared_norm: f64, n_cells: usize, n_rows: f64) -> f64 {
    if n_cells == 0 || n_rows <= 0.0 {
        return f64::INFINITY;
    }
    ((mean_square - squared_norm).max(0.0) / (n_rows * n_cells as f64)).sqrt()
}
