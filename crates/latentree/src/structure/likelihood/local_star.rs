//! The likelihood of one or two hidden nodes over composite variables, maximised.
//!
//! Around a hidden node the composites of its neighbours have a small correlation matrix `C`. With correlations `g_i` to the
//! hidden node the model's matrix is `Σ = I − diag(g²) + g gᵀ`, whose determinant and inverse are closed forms; with two joined
//! hidden nodes each side is compressed to its own composite. EM with free hidden scales maximises over `g`, each `|g_i|` bounded
//! by the composite's own correlation.

use super::gaussian_tree::MAX_CORRELATION;

/// Composites around one hidden node, or around two joined ones.
#[derive(Debug, Clone)]
pub(crate) struct Local<'a> {
    /// Correlations of the composites, row by row.
    pub(crate) correlations: &'a [f64],
    /// Bound of each `|g|`: the composite's correlation with its own end node.
    pub(crate) bounds: &'a [f64],
    /// A cycle that raises the log-likelihood per row by less ends the search for its maximum.
    pub(crate) tolerance: f64,
}

/// A fitted local model.
#[derive(Debug, Clone)]
pub(crate) struct Fit {
    /// Correlation of each composite with its hidden node.
    pub(crate) g: Vec<f64>,
    /// Correlation of the two hidden nodes; 1 when there is one.
    pub(crate) rho: f64,
    /// Log-likelihood per row, without constants.
    pub(crate) ln_likelihood: f64,
}

/// One side compressed: weights of its composite, its information, and its correlation with the hidden node.
struct Side {
    weights: Vec<f64>,
    information: f64,
    own: f64,
}

impl Local<'_> {
    fn len(&self) -> usize {
        self.bounds.len()
    }

    fn product(&self, weights: &[f64]) -> Vec<f64> {
        let m = self.len();
        (0..m).map(|i| dot(&self.correlations[i * m..(i + 1) * m], weights)).collect()
    }

    fn bounded(&self, i: usize, g: f64) -> f64 {
        let bound = MAX_CORRELATION * self.bounds[i].min(1.0);
        g.clamp(-bound, bound)
    }

    /// The composite of the members of one side; others have weight zero.
    fn side(&self, g: &[f64], member: impl Fn(usize) -> bool) -> Side {
        let mut weights = vec![0.0; self.len()];
        let mut information = 0.0;
        for i in (0..self.len()).filter(|&i| member(i)) {
            weights[i] = g[i] / (1.0 - g[i] * g[i]);
            information += g[i] * weights[i];
        }
        let scale = 1.0 / (information * (1.0 + information)).max(1e-300).sqrt();
        weights.iter_mut().for_each(|weight| *weight *= scale);
        Side { weights, information, own: (information / (1.0 + information)).sqrt() }
    }

    /// Log-likelihood per row of the members of one side by themselves.
    fn side_ln_likelihood(&self, g: &[f64], side: &Side, variance: f64, member: impl Fn(usize) -> bool) -> f64 {
        let mut sum = (1.0 + side.information).ln();
        for i in (0..self.len()).filter(|&i| member(i)) {
            let noise = 1.0 - g[i] * g[i];
            sum += noise.ln() + 1.0 / noise;
        }
        // The quadratic form g̃ᵀCg̃/(1+Λ) is Λ times the composite's variance.
        -0.5 * (sum - side.information * variance)
    }

    /// One hidden node over all composites.
    pub(crate) fn one(&self, g: Vec<f64>, steps: usize) -> Fit {
        let step = |at: &[f64], next: &mut [f64]| {
            let side = self.side(at, |_| true);
            let shared = self.product(&side.weights);
            let variance = dot(&side.weights, &shared);
            let scale = (side.own * side.own * variance + 1.0 - side.own * side.own).max(1e-12).sqrt();
            next.iter_mut().zip(&shared).for_each(|(value, shared)| *value = side.own * shared / scale);
            self.side_ln_likelihood(at, &side, variance, |_| true)
        };
        let (g, ln_likelihood) = self.maximise(g, steps, step);
        Fit { g, rho: 1.0, ln_likelihood }
    }

    /// Two joined hidden nodes; `second[i]` says that composite `i` belongs to the second.
    pub(crate) fn two(&self, second: &[bool], mut g: Vec<f64>, rho: f64, steps: usize) -> Fit {
        let m = self.len();
        g.push(rho);
        let step = |at: &[f64], next: &mut [f64]| {
            let (g, rho) = (&at[..m], at[m]);
            let (a, b) = (self.side(g, |i| !second[i]), self.side(g, |i| second[i]));
            let (shared_a, shared_b) = (self.product(&a.weights), self.product(&b.weights));
            let (caa, cab, cbb) = (dot(&a.weights, &shared_a), dot(&a.weights, &shared_b), dot(&b.weights, &shared_b));
            let kappa = rho * a.own * b.own;
            let det = 1.0 - kappa * kappa;
            let between = -0.5 * (det.ln() + (caa - 2.0 * kappa * cab + cbb) / det - caa - cbb);
            let gain = |x: f64, y: f64| [(x - y * kappa) / det, (y - x * kappa) / det];
            let (ka, kb) = (gain(a.own, rho * b.own), gain(rho * a.own, b.own));
            let quadratic = |x: [f64; 2], y: [f64; 2]| x[0] * (caa * y[0] + cab * y[1]) + x[1] * (cab * y[0] + cbb * y[1]);
            let saa = quadratic(ka, ka) + 1.0 - (ka[0] * a.own + ka[1] * rho * b.own);
            let sbb = quadratic(kb, kb) + 1.0 - (kb[0] * rho * a.own + kb[1] * b.own);
            let sab = quadratic(ka, kb) + rho - (ka[0] * rho * a.own + ka[1] * b.own);
            for (i, value) in next[..m].iter_mut().enumerate() {
                let (k, s) = if second[i] { (kb, sbb) } else { (ka, saa) };
                *value = (k[0] * shared_a[i] + k[1] * shared_b[i]) / s.max(1e-12).sqrt();
            }
            next[m] = sab / (saa * sbb).max(1e-300).sqrt();
            self.side_ln_likelihood(g, &a, caa, |i| !second[i]) + self.side_ln_likelihood(g, &b, cbb, |i| second[i]) + between
        };
        let (mut g, ln_likelihood) = self.maximise(g, steps, step);
        let rho = g.pop().expect("the last parameter");
        Fit { g, rho, ln_likelihood }
    }

    /// EM with squared extrapolation (SQUAREM, Varadhan and Roland 2008). `step` writes the next parameters and gives the
    /// log-likelihood at the present ones; an extrapolation that lowers it is taken back.
    fn maximise(&self, mut at: Vec<f64>, steps: usize, step: impl Fn(&[f64], &mut [f64]) -> f64) -> (Vec<f64>, f64) {
        let confine = |at: &mut [f64]| {
            for (i, value) in at.iter_mut().enumerate() {
                // A parameter beyond the composites' is the correlation of the hidden nodes.
                let bound = MAX_CORRELATION * self.bounds.get(i).map_or(1.0, |bound| bound.min(1.0));
                *value = value.clamp(-bound, bound);
            }
        };
        confine(&mut at);
        let (mut first, mut second, mut leapt) = (at.clone(), at.clone(), at.clone());
        let mut ln_likelihood = step(&at, &mut first);
        let mut done = 1;
        while done < steps {
            confine(&mut first);
            let at_first = step(&first, &mut second);
            confine(&mut second);
            done += 1;
            let (mut rr, mut vv) = (0.0, 0.0);
            for ((a, b), c) in at.iter().zip(&first).zip(&second) {
                rr += (b - a) * (b - a);
                vv += (c - 2.0 * b + a) * (c - 2.0 * b + a);
            }
            let alpha = if vv > 0.0 { (rr / vv).sqrt().clamp(1.0, 256.0) } else { 1.0 };
            for (((leapt, a), b), c) in leapt.iter_mut().zip(&at).zip(&first).zip(&second) {
                *leapt = a + 2.0 * alpha * (b - a) + alpha * alpha * (c - 2.0 * b + a);
            }
            confine(&mut leapt);
            let before = ln_likelihood;
            let value = step(&leapt, &mut at);
            done += 1;
            if value >= at_first {
                ln_likelihood = value;
                std::mem::swap(&mut at, &mut first);
                std::mem::swap(&mut at, &mut leapt);
            } else {
                std::mem::swap(&mut at, &mut second);
                ln_likelihood = step(&at, &mut first);
                done += 1;
            }
            if ln_likelihood - before < self.tolerance {
                break;
            }
        }
        (at, ln_likelihood)
    }

    /// Composites that are independent given one of them, which is an observed node.
    pub(crate) fn around_observed(&self, centre: usize) -> Fit {
        let m = self.len();
        let shared = &self.correlations[centre * m..(centre + 1) * m];
        let mut g = vec![1.0; m];
        // Marginal terms of all, then the gain of each regression on the centre.
        let mut ln_likelihood = -0.5 * m as f64;
        for i in (0..m).filter(|&i| i != centre) {
            g[i] = self.bounded(i, shared[i]);
            let noise = 1.0 - g[i] * g[i];
            ln_likelihood -= 0.5 * (noise.ln() + (1.0 - 2.0 * g[i] * shared[i] + g[i] * g[i]) / noise - 1.0);
        }
        Fit { g, rho: 1.0, ln_likelihood }
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::Cholesky;

    fn dense(implied: &[f64], correlations: &[f64], m: usize) -> f64 {
        let factor = Cholesky::new(implied, m).unwrap();
        -0.5 * (factor.ln_determinant() + factor.trace_of_solution(correlations))
    }

    /// Correlations of two joined stars.
    fn implied(g: &[f64], second: &[bool], rho: f64) -> Vec<f64> {
        let m = g.len();
        let entry = |i: usize, j: usize| match i == j {
            true => 1.0,
            false => g[i] * g[j] * if second[i] == second[j] { 1.0 } else { rho },
        };
        (0..m * m).map(|at| entry(at / m, at % m)).collect()
    }

    #[test]
    fn likelihoods_are_those_of_the_dense_matrices() {
        let second = [false, false, true, true, true];
        let sample = implied(&[0.5, 0.7, 0.6, -0.4, 0.8], &second, 0.5);
        let local = Local { correlations: &sample, bounds: &[1.0; 5], tolerance: 0.0 };
        for (g, rho) in [([0.3, 0.6, 0.5, -0.2, 0.7], 0.4), ([0.5, 0.7, 0.6, -0.4, 0.8], 0.5)] {
            let fit = local.two(&second, g.to_vec(), rho, 0);
            assert!((fit.ln_likelihood - dense(&implied(&g, &second, rho), &sample, 5)).abs() < 1e-12);
            let fit = local.one(g.to_vec(), 0);
            assert!((fit.ln_likelihood - dense(&implied(&g, &second, 1.0), &sample, 5)).abs() < 1e-12);
        }
    }

    #[test]
    fn em_finds_the_parameters_of_exact_correlations_and_never_falls() {
        let second = [false, false, false, true, true, true];
        let truth = [0.5, 0.7, 0.6, -0.4, 0.8, 0.5];
        let sample = implied(&truth, &second, 0.5);
        let local = Local { correlations: &sample, bounds: &[1.0; 6], tolerance: 0.0 };
        let start = vec![0.4, 0.5, 0.4, -0.3, 0.4, 0.4];
        let mut last = f64::NEG_INFINITY;
        for steps in 0..40 {
            let value = local.two(&second, start.clone(), 0.3, steps).ln_likelihood;
            assert!(value >= last - 1e-12);
            last = value;
        }
        let fit = local.two(&second, start, 0.3, 20_000);
        assert!(fit.g.iter().zip(truth).all(|(a, b)| (a - b).abs() < 1e-3), "{fit:?}");
        assert!(dense(&sample, &sample, 6) - fit.ln_likelihood < 1e-6);
    }

    #[test]
    fn an_observed_centre_has_the_likelihood_of_its_dense_matrix() {
        let g = [1.0, 0.5, -0.6, 0.7];
        let centre: Vec<f64> = (0..16).map(|at| if at / 4 == at % 4 { 1.0 } else { g[at / 4] * g[at % 4] }).collect();
        let mut sample = centre.clone();
        // Not the model's own matrix: a residual correlation of 1 and 2.
        sample[4 + 2] += 0.1;
        sample[8 + 1] += 0.1;
        let local = Local { correlations: &sample, bounds: &[1.0; 4], tolerance: 0.0 };
        assert!((local.around_observed(0).ln_likelihood - dense(&centre, &sample, 4)).abs() < 1e-12);
    }
}
