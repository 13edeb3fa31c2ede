//! Two components: the best rotation in closed form.

/// The angle θ by which two whitened coordinates are turned so that all slices `[h₁₁, h₁₂, h₂₂]` become as diagonal as possible: the exact
/// minimiser of Ruffini's F (2019, Theorem 5.3.3), with no grid. The components are `(cos θ, sin θ)` and `(−sin θ, cos θ)`.
///
/// # Example
/// ```
/// use latentree::tensor::two_component_angle;
/// // A slice with eigenvectors at 30 degrees.
/// let (s, c) = 30_f64.to_radians().sin_cos();
/// let slice = [3.0 * c * c + s * s, 2.0 * c * s, 3.0 * s * s + c * c];
/// assert!((two_component_angle(&[slice]) - 30_f64.to_radians()).abs() < 1e-12);
/// ```
#[must_use]
pub fn two_component_angle(slices: &[[f64; 3]]) -> f64 {
    let (mut ff, mut gg, mut fg) = (0.0, 0.0, 0.0);
    for [h11, h12, h22] in slices {
        let (f, g) = (h11 - h22, 2.0 * h12);
        ff += f * f;
        gg += g * g;
        fg += f * g;
    }
    if ff + gg <= 0.0 { 0.0 } else { 0.25 * (2.0 * fg).atan2(ff - gg) }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};

    use super::two_component_angle;

    #[test]
    fn no_angle_of_a_grid_is_better() {
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
        for n_slices in 1..20 {
            let slices: Vec<[f64; 3]> = (0..n_slices).map(|_| [0; 3].map(|_| rng.random_range(-1.0..1.0))).collect();
            // Σ ((OᵀHO)₁₂)², Theorem 5.3.3 before its expansion in a.
            let left = |angle: f64| -> f64 {
                let (s, c) = angle.sin_cos();
                slices.iter().map(|[h11, h12, h22]| (c * s * (h22 - h11) + (c * c - s * s) * h12).powi(2)).sum()
            };
            let least = left(two_component_angle(&slices));
            let grid =
                (0..100_000).map(|at| left(std::f64::consts::PI * f64::from(at) / 100_000.0)).fold(f64::INFINITY, f64::min);
            assert!(least <= grid + 1e-10, "{least} {grid}");
        }
        assert_eq!(two_component_angle(&[]), 0.0);
    }
}
