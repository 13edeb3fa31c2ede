//! Whitening: k coordinates per view in which the pair moments are the identity.
//!
//! **One matrix.** `M = Σ_c ω_c μ_c μ_cᵀ ≈ U S Uᵀ` to rank k gives `W = U S^(−1/2)` with `Wᵀ M W = I`, and back `E = U S^(1/2)`
//! with `E o_c = √ω_c μ_c` for the components `o_c` of the whitened tensor (Ruffini 2019, §1.2.1).
//!
//! **Three views** (Anandkumar et al. 2014, Theorem 3.6). `M_ab = A_a Ω A_bᵀ` are not symmetric. Each view is first put into the
//! coordinates of the k leading left singular vectors of its moments with both others side by side (each divided by its largest
//! singular value), so that what is outside the common range is dropped as noise and all inverses are of k×k matrices. With views
//! a and b mapped to the pivot view c,
//!
//! ```text
//! M = M_cb M_ab⁻¹ M_ac = A_c Ω A_cᵀ        W_c = U S^(−1/2)    W_a = M_ab⁻ᵀ M_bc W_c    W_b = M_ab⁻¹ M_ac W_c
//!                                          E_c = U S^(1/2)     E_a = M_ac W_c           E_b = M_bc W_c
//! ```
//!
//! so `T = E[W_aᵀx_a ⊗ W_bᵀx_b ⊗ W_cᵀx_c]` has orthonormal components o, and `E_v o_c = √ω_c μ_vc` for all views in the same
//! labels. M of samples is not symmetric and may have negative eigenvalues: its symmetric part is used, and the k largest must be
//! positive. The pivot is the view that is *not* in the pair whose inverse is taken, the pair with the largest `σ_k/σ_1`.

use super::spectrum::Spectrum;
use super::whitened::WhitenedTensor;
use crate::error::{Error, Result};
use crate::linalg::{Matrix, Svd, jacobi_svd, orthonormalise, symmetric_eigen};

/// What an eigenvalue or singular value must exceed of the largest to be divided by.
const SINGULAR: f64 = 1e-13;
/// The pairs of three views.
const PAIRS: [(usize, usize); 3] = [(0, 1), (0, 2), (1, 2)];

/// Maps from the coordinates of one view, or of three different views, to k whitened ones, and back.
#[derive(Debug, Clone, PartialEq)]
pub struct Whitening {
    n_components: usize,
    /// One d×k matrix per view, or one for all.
    whiteners: Vec<Matrix>,
    unwhiteners: Vec<Matrix>,
    spectra: Vec<Spectrum>,
    pivot: usize,
}

impl Whitening {
    /// Whitening of one symmetric matrix `M = E[x₁ x₂ᵀ]` of exchangeable views (or a model's corrected second moment).
    ///
    /// `cell_noise` is the standard error of a cell of M ([`cell_noise`](super::cell_noise)), 0 for exact moments.
    ///
    /// # Errors
    /// If M is not square and finite, or has not k positive eigenvalues.
    pub fn of_symmetric(moment: &Matrix, n_components: usize, cell_noise: f64) -> Result<Self> {
        let d = moment.n_rows();
        if moment.n_cols() != d {
            return Err(Error::option("pair moments", format!("{d} x {} is not square", moment.n_cols())));
        }
        let symmetric = Matrix::from_fn(d, d, |i, j| 0.5 * (moment[(i, j)] + moment[(j, i)]));
        let (values, vectors) = sorted_eigen(&symmetric)?;
        Self::of_eigenvectors((d, d), &values, &vectors, n_components, cell_noise)
    }

    /// Whitening by the leading eigenvalues of a symmetric matrix, falling, and their vectors: for matrices too large to store.
    ///
    /// # Errors
    /// As [`of_symmetric`](Self::of_symmetric).
    pub(crate) fn of_eigenvectors(
        sizes: (usize, usize),
        values: &[f64],
        vectors: &[Vec<f64>],
        k: usize,
        noise: f64,
    ) -> Result<Self> {
        let spectrum = Spectrum::new((0, 0), sizes, values.to_vec(), k, noise);
        check_rank(k, values, "the second moment")?;
        let scaled = |power: f64| Matrix::from_fn(sizes.0, k, |i, c| vectors[c][i] * values[c].powf(power));
        let (whiteners, unwhiteners) = (vec![scaled(-0.5)], vec![scaled(0.5)]);
        Ok(Self { n_components: k, whiteners, unwhiteners, spectra: vec![spectrum], pivot: 0 })
    }

    /// Whitening of three different views from their pair moments `[E[x₁x₂ᵀ], E[x₁x₃ᵀ], E[x₂x₃ᵀ]]`, uncentred.
    ///
    /// `cell_noise` is the standard error of a cell ([`cell_noise`](super::cell_noise)), 0 for exact moments.
    ///
    /// # Errors
    /// If sizes do not fit together, a view has fewer than k coordinates, a cell is not finite, or the moments have not rank k
    /// with k positive eigenvalues: ask for fewer components, or give views that tell more of the states apart.
    pub fn of_views(pairs: &[Matrix; 3], n_components: usize, cell_noise: f64) -> Result<Self> {
        check_sizes(pairs.each_ref().map(|pair| (pair.n_rows(), pair.n_cols())), n_components)?;
        if pairs.iter().flat_map(|pair| pair.cells()).any(|cell| !cell.is_finite()) {
            return Err(Error::option("pair moments", "a cell is not finite"));
        }
        let spectra: [Spectrum; 3] = std::array::from_fn(|ix| {
            let (pair, shape) = (&pairs[ix], (pairs[ix].n_rows(), pairs[ix].n_cols()));
            Spectrum::new(PAIRS[ix], shape, jacobi_svd(pair.cells(), shape.0, shape.1).values, n_components, cell_noise)
        });
        let bases = [0, 1, 2].map(|view| {
            let mut beside = Vec::new();
            for ((&(a, b), pair), spectrum) in PAIRS.iter().zip(pairs).zip(&spectra) {
                let scale = 1.0 / spectrum.values[0].max(f64::MIN_POSITIVE);
                let scaled = |column: &[f64]| column.iter().map(|x| x * scale).collect::<Vec<f64>>();
                if a == view {
                    beside.extend((0..pair.n_cols()).map(|col| scaled(&pair.column(col))));
                } else if b == view {
                    beside.extend((0..pair.n_rows()).map(|row| scaled(pair.row(row))));
                }
            }
            leading_basis(beside, n_components)
        });
        let projected = std::array::from_fn(|ix| {
            let (a, b) = PAIRS[ix];
            bases[a].transposed_times(&pairs[ix]).times(&bases[b])
        });
        Self::of_projected(&projected, &bases, spectra, n_components)
    }

    /// Whitening of three different views from factors `M_ab ≈ Σ_i s_i l_i r_iᵀ` of their pair moments, in the order of
    /// [`of_views`](Self::of_views). For views of many coordinates: no d×d array is made. Ask
    /// [`leading_singular_values`](crate::linalg::leading_singular_values) for k + 1 values, so that the gap is known.
    ///
    /// # Errors
    /// As [`of_views`](Self::of_views).
    pub(crate) fn of_view_factors(factors: [&Svd; 3], n_components: usize, cell_noise: f64) -> Result<Self> {
        if factors.iter().any(|factor| factor.values.is_empty()) {
            return Err(Error::option("pair moments", "a factor has no singular values"));
        }
        let shapes = factors.map(|factor| (factor.left(0).len(), factor.right(0).len()));
        check_sizes(shapes, n_components)?;
        let spectra =
            std::array::from_fn(|ix| Spectrum::new(PAIRS[ix], shapes[ix], factors[ix].values.clone(), n_components, cell_noise));
        let bases = [0, 1, 2].map(|view| {
            let beside = PAIRS.iter().zip(factors).filter(|((a, b), _)| *a == view || *b == view);
            let scaled = beside.flat_map(|(&(a, _), factor)| {
                factor.values.iter().enumerate().map(move |(ix, value)| {
                    let vector = if a == view { factor.left(ix) } else { factor.right(ix) };
                    let scale = value / factor.values[0].max(f64::MIN_POSITIVE);
                    vector.iter().map(|x| x * scale).collect::<Vec<f64>>()
                })
            });
            leading_basis(scaled.collect(), n_components)
        });
        let projected = std::array::from_fn(|ix| {
            let ((a, b), factor) = (PAIRS[ix], factors[ix]);
            let rank = factor.values.len();
            let left =
                Matrix::new(rank, shapes[ix].0, (0..rank).flat_map(|it| factor.left(it).to_vec()).collect()).times(&bases[a]);
            let right =
                Matrix::new(rank, shapes[ix].1, (0..rank).flat_map(|it| factor.right(it).to_vec()).collect()).times(&bases[b]);
            let scaled = Matrix::from_fn(rank, n_components, |it, col| factor.values[it] * right[(it, col)]);
            left.transposed_times(&scaled)
        });
        Self::of_projected(&projected, &bases, spectra, n_components)
    }

    /// From k×k pair moments in the coordinates of orthonormal bases.
    fn of_projected(pairs: &[Matrix; 3], bases: &[Matrix; 3], spectra: [Spectrum; 3], k: usize) -> Result<Self> {
        let inverses = pairs.each_ref().map(|pair| jacobi_svd(pair.cells(), k, k));
        let conditions = inverses.each_ref().map(|svd| svd.values[k - 1] / svd.values[0].max(f64::MIN_POSITIVE));
        let pivot_pair = (1..3).fold(0, |best, ix| if conditions[ix] > conditions[best] { ix } else { best });
        let (a, b) = PAIRS[pivot_pair];
        let pivot = 3 - a - b;
        let svd = &inverses[pivot_pair];
        check_rank(k, &svd.values, &format!("the pair moment of views {} and {}", a + 1, b + 1))?;
        let inverse =
            Matrix::from_fn(k, k, |row, col| (0..k).map(|it| svd.right(it)[row] * svd.left(it)[col] / svd.values[it]).sum());
        let pair = |first: usize, second: usize| {
            let ix = PAIRS.iter().position(|&it| it == (first.min(second), first.max(second))).expect("views differ");
            if first < second { pairs[ix].clone() } else { pairs[ix].transposed() }
        };
        let (a_pivot, b_pivot) = (pair(a, pivot), pair(b, pivot));
        let moment = b_pivot.transposed_times(&inverse.times(&a_pivot));
        let symmetric = Matrix::from_fn(k, k, |i, j| 0.5 * (moment[(i, j)] + moment[(j, i)]));
        let (values, vectors) = sorted_eigen(&symmetric)?;
        check_rank(k, &values, &format!("the pair moments of three views, mapped to view {},", pivot + 1))?;
        let scaled = |power: f64| Matrix::from_fn(k, k, |i, c| vectors[c][i] * values[c].powf(power));
        let whitener = scaled(-0.5);
        let (a_back, b_back) = (a_pivot.times(&whitener), b_pivot.times(&whitener));
        let (a_map, b_map) = (inverse.transposed_times(&b_back), inverse.times(&a_back));
        let mut small = [(a, a_map, a_back), (b, b_map, b_back), (pivot, whitener, scaled(0.5))];
        small.sort_by_key(|(view, _, _)| *view);
        let lift = |matrix: &Matrix, view: usize| bases[view].times(matrix);
        Ok(Self {
            n_components: k,
            whiteners: small.iter().map(|(view, whitener, _)| lift(whitener, *view)).collect(),
            unwhiteners: small.iter().map(|(view, _, back)| lift(back, *view)).collect(),
            spectra: spectra.into(),
            pivot,
        })
    }

    /// Number of components, k.
    #[must_use]
    pub fn n_components(&self) -> usize {
        self.n_components
    }

    /// Number of different views, 1 or 3.
    #[must_use]
    pub fn n_views(&self) -> usize {
        self.whiteners.len()
    }

    /// The view the others were mapped to, counted from 0.
    #[must_use]
    pub fn pivot(&self) -> usize {
        self.pivot
    }

    /// `W_v`, d_v×k: a row's coordinates are `W_vᵀ x_v`. If there is one matrix for all views, every view has it.
    #[must_use]
    pub fn whitener(&self, view: usize) -> &Matrix {
        &self.whiteners[view.min(self.whiteners.len() - 1)]
    }

    /// `E_v`, d_v×k: `E_v o_c` is `√ω_c · E[x_v | h = c]` for the component o_c.
    #[must_use]
    pub fn unwhitener(&self, view: usize) -> &Matrix {
        &self.unwhiteners[view.min(self.unwhiteners.len() - 1)]
    }

    /// The singular values of the pair moments against their noise: one of a symmetric matrix, three of three views.
    #[must_use]
    pub fn spectra(&self) -> &[Spectrum] {
        &self.spectra
    }

    /// The whitened tensor of a small dense third moment, cell (i, j, l) at `(i·d₂ + j)·d₃ + l`. For many coordinates, average
    /// `W₁ᵀx₁ ⊗ W₂ᵀx₂ ⊗ W₃ᵀx₃` over rows instead and use [`WhitenedTensor::tensor`].
    ///
    /// # Errors
    /// If the moment has not d₁·d₂·d₃ cells, or one is not finite.
    pub fn whiten(&self, third_moment: &[f64]) -> Result<WhitenedTensor> {
        let k = self.n_components;
        let [w1, w2, w3] = [0, 1, 2].map(|view| self.whitener(view));
        let (d1, d2, d3) = (w1.n_rows(), w2.n_rows(), w3.n_rows());
        if d1.checked_mul(d2).and_then(|it| it.checked_mul(d3)) != Some(third_moment.len()) {
            return Err(Error::Mismatch {
                left: "views".to_owned(),
                right: "the third moment".to_owned(),
                problem: format!("{d1} x {d2} x {d3} cells are expected, there are {}", third_moment.len()),
            });
        }
        // One index after the other: d₁d₂d₃k + d₁d₂k² + d₁k³.
        let mut cells = vec![0.0; k * k * k];
        for (i, plane) in third_moment.chunks_exact(d2 * d3).enumerate() {
            let pair = w2.transposed_times(&Matrix::new(d2, d3, plane.to_vec()).times(w3));
            for (c, factor) in w1.row(i).iter().enumerate() {
                let out = &mut cells[c * k * k..(c + 1) * k * k];
                out.iter_mut().zip(pair.cells()).for_each(|(out, cell)| *out += factor * cell);
            }
        }
        WhitenedTensor::tensor(k, &cells)
    }
}

/// Whether three pair moments are of three views of at least k coordinates.
fn check_sizes(shapes: [(usize, usize); 3], k: usize) -> Result<()> {
    let [(first, second), (again, third), last] = shapes;
    if again != first || last != (second, third) {
        return Err(Error::Mismatch {
            left: "pair moments".to_owned(),
            right: "three views".to_owned(),
            problem: format!("they are {shapes:?}, and must be d1 x d2, d1 x d3 and d2 x d3"),
        });
    }
    if k == 0 {
        return Err(Error::option("components", "there must be at least one"));
    }
    match [first, second, third].iter().position(|&size| size < k) {
        Some(view) => Err(Error::option(
            "components",
            format!(
                "{k} cannot be separated by view {}, which has {} coordinates; ask for fewer, or join variables to one view",
                view + 1,
                [first, second, third][view]
            ),
        )),
        None => Ok(()),
    }
}

fn check_rank(k: usize, values: &[f64], what: &str) -> Result<()> {
    if k == 0 {
        return Err(Error::option("components", "there must be at least one"));
    }
    let rank = values.iter().take_while(|value| **value > SINGULAR * values[0] && **value > 0.0).count();
    if rank >= k {
        return Ok(());
    }
    let shown: Vec<String> = values.iter().take(k + 1).map(|value| format!("{value:.3e}")).collect();
    let remedy = if rank == 0 { "the views have no common cause".to_owned() } else { format!("ask for at most {rank}") };
    Err(Error::option("components", format!("{k} asked for, but {what} has rank {rank} (values {}): {remedy}", shown.join(", "))))
}

/// Eigenvalues in falling order with their vectors; signs are such that the largest coordinate is positive.
fn sorted_eigen(matrix: &Matrix) -> Result<(Vec<f64>, Vec<Vec<f64>>)> {
    let n = matrix.n_rows();
    let Some((values, vectors)) = symmetric_eigen(matrix.cells(), n) else {
        return Err(Error::option("pair moments", "a cell is not finite, or the eigenvalues cannot be found"));
    };
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&a, &b| values[b].total_cmp(&values[a]).then(a.cmp(&b)));
    let vector = |ix: usize| {
        let vector = &vectors[ix * n..(ix + 1) * n];
        let largest = vector.iter().fold(0.0_f64, |best, &x| if x.abs() > best.abs() { x } else { best });
        vector.iter().map(|x| if largest < 0.0 { -x } else { *x }).collect()
    };
    Ok((order.iter().map(|&ix| values[ix]).collect(), order.iter().map(|&ix| vector(ix)).collect()))
}

/// The k leading left singular vectors of a matrix given by its columns, as a d×k matrix; zeros where its rank is less.
fn leading_basis(mut columns: Vec<Vec<f64>>, k: usize) -> Matrix {
    let (width, d) = (columns.len(), columns.first().map_or(0, Vec::len));
    let mut basis = Matrix::zeros(d, k);
    if width >= d {
        let svd = jacobi_svd(&columns.concat(), width, d);
        (0..k).for_each(|c| (0..d).for_each(|i| basis[(i, c)] = svd.right(c)[i]));
        return basis;
    }
    let triangle = orthonormalise(&mut columns);
    let svd = jacobi_svd(&triangle, width, width);
    for c in 0..k.min(width) {
        for (factor, column) in svd.left(c).iter().zip(&columns) {
            column.iter().enumerate().for_each(|(i, x)| basis[(i, c)] += factor * x);
        }
    }
    basis
}
