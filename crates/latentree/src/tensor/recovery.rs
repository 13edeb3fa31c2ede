//! From components back to a mixture: probabilities of the states and means of the views in their own coordinates.

use super::components::Components;
use super::whitened::WhitenedTensor;
use super::whitening::Whitening;
use crate::error::{Error, Result};
use crate::linalg::{Matrix, jacobi_svd};

/// The least probability that is divided by.
pub(super) const MIN_WEIGHT: f64 = 1e-12;

/// Probabilities ω of the states of a hidden variable, and `E[x_v | h]`, in falling order of probability.
///
/// The rule for the scale: `E_v o_c = s_c E[x_v | h = c]` with `s_c = ±√ω_c` unknown.
/// - With first moments given, s solves `Σ_c (E_v o_c) s_c = E[x_v]` by least squares over all views at once, each divided by the
///   length of its first moment so that units do not matter. The sign of a component then does not matter either.
/// - Without, `s_c = 1/λ_c` from the tensor's own weights.
///
/// Where s is too small to be divided by (or λ is not positive), the other rule's answer or the least weight stands in, and
/// the state is counted in [`unsure`](Self::unsure). Means are `E_v o_c / s_c`, and weights `s_c²` divided by their sum.
#[derive(Debug, Clone, PartialEq)]
pub struct Mixture {
    /// Probabilities of the states, falling, with sum 1.
    pub weights: Vec<f64>,
    /// `E[x_v | h = c]` of each view in column c, d_v×k: three, or one if views are exchangeable.
    pub means: Vec<Matrix>,
    /// For each state the component it comes from.
    pub components: Vec<usize>,
    /// `Σ_c s_c²` before it was divided out; far from 1, the tensor is not that of a mixture of k states.
    pub total: f64,
    /// States whose weight the data did not give.
    pub unsure: usize,
}

impl Mixture {
    /// The mixture of components of a whitened tensor.
    ///
    /// # Errors
    /// If the number of components differs from the whitening's; if first moments are not one per view in its size, or not
    /// finite; if there are none and the components are those of slices, whose weights do not tell probabilities.
    pub fn recover(whitening: &Whitening, components: &Components, first_moments: Option<&[&[f64]]>) -> Result<Self> {
        let k = components.n_components();
        if whitening.n_components() != k {
            let problem = format!("there are {k} components and {} whitened coordinates", whitening.n_components());
            return Err(Error::Mismatch { left: "components".to_owned(), right: "the whitening".to_owned(), problem });
        }
        let directions = components.vectors.transposed();
        let scaled: Vec<Matrix> = (0..whitening.n_views()).map(|view| whitening.unwhitener(view).times(&directions)).collect();
        let inverse = |&weight: &f64| if components.whole && weight > 0.0 { 1.0 / weight } else { 0.0 };
        let by_tensor: Vec<f64> = components.weights.iter().map(inverse).collect();
        let scales = match first_moments {
            None if !components.whole => {
                return Err(Error::option("first moments", "components of slices do not tell probabilities without them"));
            }
            None => by_tensor.clone(),
            Some(moments) => {
                let fits =
                    moments.len() == scaled.len() && moments.iter().zip(&scaled).all(|(it, view)| it.len() == view.n_rows());
                if !fits || moments.iter().any(|moment| moment.iter().any(|x| !x.is_finite())) {
                    let problem = "one finite first moment is expected for each view, of its size".to_owned();
                    return Err(Error::Mismatch { left: "first moments".to_owned(), right: "views".to_owned(), problem });
                }
                least_squares(&scaled, moments)
            }
        };
        let usable = |scale: f64| scale * scale > MIN_WEIGHT && scale.is_finite();
        let unsure = scales.iter().filter(|scale| !usable(**scale)).count();
        let scales = scales.iter().zip(by_tensor).map(|(&scale, other)| match (usable(scale), usable(other)) {
            (true, _) => scale,
            (_, true) => other,
            _ => MIN_WEIGHT.sqrt(),
        });
        let scales: Vec<f64> = scales.collect();
        let total: f64 = scales.iter().map(|scale| scale * scale).sum();
        let weights: Vec<f64> = scales.iter().map(|scale| scale * scale / total).collect();
        let means = scaled.iter().map(|view| Matrix::from_fn(view.n_rows(), k, |i, c| view[(i, c)] / scales[c])).collect();
        Ok(Self::ordered(weights, means, total, unsure))
    }

    /// The mixture of components of exchangeable views whose second moment is of samples, with the noise of the
    /// [whitening](Whitening::of_symmetric) taken off: means are
    ///
    /// ```text
    /// E[x] + E diag(a) (o_c / s_c − u)        u = Wᵀ E[x]        s_c = u·o_c
    /// ```
    ///
    /// so that only what differs from the overall mean is uncertain. An eigenvalue λ̂ of the second moment is that of a signal ℓ
    /// plus noise of edge e (the [level](super::Spectrum::noise) that noise alone reaches): `λ̂ = ℓ + e²/4ℓ`, its eigenvector has
    /// the squared cosine `c² = 1 − e²/4ℓ²` with the signal's, and the best estimate of the signal along it is `ℓ c²`, so
    /// `a² = ℓ c²/λ̂`, and 0 at the edge and below (Donoho, Gavish and Johnstone 2018, for symmetric noise). With exact moments a
    /// is 1, and this is [`recover`](Self::recover).
    ///
    /// # Errors
    /// If there are several views, or sizes do not fit together.
    pub fn recover_shrunk(whitening: &Whitening, components: &Components, first_moment: &[f64]) -> Result<Self> {
        let k = components.n_components();
        let (whitener, unwhitener) = (whitening.whitener(0), whitening.unwhitener(0));
        let fits = whitening.n_views() == 1 && whitening.n_components() == k && first_moment.len() == whitener.n_rows();
        if !fits || first_moment.iter().any(|x| !x.is_finite()) {
            let problem = "one exchangeable view is expected, with a finite first moment of its size".to_owned();
            return Err(Error::Mismatch { left: "components".to_owned(), right: "the whitening".to_owned(), problem });
        }
        let mut overall = vec![0.0; k];
        for (x, row) in first_moment.iter().enumerate().map(|(i, x)| (x, whitener.row(i))) {
            overall.iter_mut().zip(row).for_each(|(out, weight)| *out += x * weight);
        }
        let spectrum = &whitening.spectra()[0];
        let shrinkage: Vec<f64> = spectrum.values[..k].iter().map(|&value| shrinkage(value, spectrum.noise)).collect();
        let scales: Vec<f64> = (0..k).map(|c| components.vectors.row(c).iter().zip(&overall).map(|(o, u)| o * u).sum()).collect();
        let usable = |scale: f64| scale * scale > MIN_WEIGHT;
        let unsure = scales.iter().filter(|scale| !usable(**scale)).count();
        let scales: Vec<f64> = scales.into_iter().map(|scale| if usable(scale) { scale } else { MIN_WEIGHT.sqrt() }).collect();
        let shifts = Matrix::from_fn(k, k, |a, c| shrinkage[a] * (components.vectors[(c, a)] / scales[c] - overall[a]));
        let shifted = unwhitener.times(&shifts);
        let means = Matrix::from_fn(first_moment.len(), k, |i, c| first_moment[i] + shifted[(i, c)]);
        let total: f64 = scales.iter().map(|scale| scale * scale).sum();
        let weights = scales.iter().map(|scale| scale * scale / total).collect();
        Ok(Self::ordered(weights, vec![means], total, unsure))
    }

    /// The mixture by SVTD's last steps (Ruffini 2019, Algorithm 1, lines 5 to 9): means are read off the diagonals of whitened
    /// slices, one per coordinate of a view, and weights solve `M ω = E[x]` by least squares, with negative ones set to the least
    /// weight. Means lie in the range of the second moment: with a `range` they are projected onto that of its whitening, which
    /// takes off what noise put outside.
    ///
    /// # Errors
    /// If the slices have another number of components, or the first moment is not one finite number per slice.
    pub fn from_slices(
        slices: &WhitenedTensor,
        components: &Components,
        first_moment: &[f64],
        range: Option<&Whitening>,
    ) -> Result<Self> {
        let mut means = components.values(slices)?;
        if let Some(range) = range.filter(|range| range.n_views() == 1 && range.whitener(0).n_rows() == means.n_rows()) {
            means = range.unwhitener(0).times(&range.whitener(0).transposed_times(&means));
        }
        if first_moment.len() != means.n_rows() || first_moment.iter().any(|x| !x.is_finite()) {
            let problem = format!("{} finite numbers are expected, one per slice", means.n_rows());
            return Err(Error::Mismatch { left: "the first moment".to_owned(), right: "slices".to_owned(), problem });
        }
        let solved = least_squares(std::slice::from_ref(&means), &[first_moment]);
        let unsure = solved.iter().filter(|weight| **weight <= MIN_WEIGHT).count();
        let total: f64 = solved.iter().map(|weight| weight.max(MIN_WEIGHT)).sum();
        let weights = solved.iter().map(|weight| weight.max(MIN_WEIGHT) / total).collect();
        Ok(Self::ordered(weights, vec![means], total, unsure))
    }

    pub(super) fn ordered(weights: Vec<f64>, means: Vec<Matrix>, total: f64, unsure: usize) -> Self {
        let mut order: Vec<usize> = (0..weights.len()).collect();
        order.sort_by(|&a, &b| weights[b].total_cmp(&weights[a]).then(a.cmp(&b)));
        let means = means.iter().map(|view| Matrix::from_fn(view.n_rows(), order.len(), |i, c| view[(i, order[c])])).collect();
        Self { weights: order.iter().map(|&c| weights[c]).collect(), means, components: order, total, unsure }
    }
}

/// By what a direction of a second moment with this eigenvalue is shortened, if noise alone reaches `edge`.
fn shrinkage(value: f64, edge: f64) -> f64 {
    if value <= edge || value <= 0.0 {
        return 0.0;
    }
    let signal = 0.5 * (value + (value * value - edge * edge).sqrt());
    (signal * (1.0 - (0.5 * edge / signal).powi(2)) / value).sqrt()
}

/// The shortest s that minimises `Σ_v ‖A_v s − b_v‖² / ‖b_v‖²`.
fn least_squares(matrices: &[Matrix], right_sides: &[&[f64]]) -> Vec<f64> {
    let k = matrices[0].n_cols();
    let (mut design, mut target) = (Vec::new(), Vec::new());
    for (matrix, right_side) in matrices.iter().zip(right_sides) {
        let length = right_side.iter().map(|x| x * x).sum::<f64>().sqrt();
        let scale = if length > 0.0 { 1.0 / length } else { 0.0 };
        design.extend(matrix.cells().iter().map(|cell| cell * scale));
        target.extend(right_side.iter().map(|x| x * scale));
    }
    let svd = jacobi_svd(&design, target.len(), k);
    let mut solution = vec![0.0; k];
    for (ix, &value) in svd.values.iter().enumerate().filter(|(_, value)| **value > 1e-13 * svd.values[0]) {
        let along = svd.left(ix).iter().zip(&target).map(|(x, y)| x * y).sum::<f64>() / value;
        solution.iter_mut().zip(svd.right(ix)).for_each(|(out, x)| *out += along * x);
    }
    solution
}
