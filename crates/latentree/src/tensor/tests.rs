//! Oracles: exact moments give exact mixtures; noise is followed at its rate; symmetries of the problem are kept.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use super::*;
use crate::linalg::{DenseOperator, Matrix, cheapest_assignment, jacobi_svd, leading_singular_values};

struct Truth {
    weights: Vec<f64>,
    means: [Matrix; 3],
}

impl Truth {
    /// A mixture whose means are not nearly dependent: `σ_k ≥ σ_1 / 20` in each view.
    fn random(rng: &mut ChaCha8Rng, k: usize, sizes: [usize; 3]) -> Self {
        let raw: Vec<f64> = (0..k).map(|_| rng.random_range(0.5..1.5)).collect();
        let weights = raw.iter().map(|x| x / raw.iter().sum::<f64>()).collect();
        let means = sizes.map(|d| {
            loop {
                let means = Matrix::from_fn(d, k, |_, _| StandardNormal.sample(rng));
                let values = jacobi_svd(means.cells(), d, k).values;
                if values[k - 1] >= values[0] / 20.0 {
                    return means;
                }
            }
        });
        Self { weights, means }
    }

    /// Categorical views: columns are Dirichlet(½), with the same care.
    fn categorical(rng: &mut ChaCha8Rng, k: usize, d: usize) -> Self {
        let Self { weights, .. } = Self::random(rng, k, [k; 3]);
        let means = [0; 3].map(|_| {
            loop {
                let mut means = Matrix::from_fn(d, k, |_, _| {
                    let x: f64 = StandardNormal.sample(rng);
                    x * x
                });
                for c in 0..k {
                    let sum: f64 = means.column(c).iter().sum();
                    (0..d).for_each(|i| means[(i, c)] /= sum);
                }
                let values = jacobi_svd(means.cells(), d, k).values;
                if values[k - 1] >= values[0] / 5.0 {
                    return means;
                }
            }
        });
        Self { weights, means }
    }

    fn pair(&self, a: usize, b: usize) -> Matrix {
        let scaled = Matrix::from_fn(self.means[a].n_rows(), self.weights.len(), |i, c| self.means[a][(i, c)] * self.weights[c]);
        scaled.times(&self.means[b].transposed())
    }

    fn pairs(&self) -> [Matrix; 3] {
        [self.pair(0, 1), self.pair(0, 2), self.pair(1, 2)]
    }

    fn triple(&self) -> Vec<f64> {
        let [d1, d2, d3] = self.means.each_ref().map(Matrix::n_rows);
        let mut cells = Vec::with_capacity(d1 * d2 * d3);
        for i in 0..d1 {
            for j in 0..d2 {
                for l in 0..d3 {
                    let term = |(c, w): (usize, &f64)| w * self.means[0][(i, c)] * self.means[1][(j, c)] * self.means[2][(l, c)];
                    cells.push(self.weights.iter().enumerate().map(term).sum());
                }
            }
        }
        cells
    }

    fn first(&self) -> [Vec<f64>; 3] {
        self.means.each_ref().map(|means| (0..means.n_rows()).map(|i| dot(means.row(i), &self.weights)).collect())
    }

    /// The largest error of a weight and the root of the summed squared errors of all means, states matched.
    fn error(&self, found: &Mixture) -> (f64, f64) {
        let k = self.weights.len();
        let distance = |a: usize, b: usize| -> f64 {
            let views = found.means.iter().zip(&self.means);
            views.map(|(found, truth)| (0..truth.n_rows()).map(|i| (truth[(i, a)] - found[(i, b)]).powi(2)).sum::<f64>()).sum()
        };
        let costs: Vec<f64> = (0..k * k).map(|at| distance(at / k, at % k)).collect();
        let match_of = cheapest_assignment(&costs, k);
        let weight = (0..k).map(|c| (self.weights[c] - found.weights[match_of[c]]).abs()).fold(0.0, f64::max);
        (weight, (0..k).map(|c| costs[c * k + match_of[c]]).sum::<f64>().sqrt())
    }
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

fn rotation(rng: &mut ChaCha8Rng, n: usize) -> Matrix {
    let cells: Vec<f64> = (0..n * n).map(|_| StandardNormal.sample(rng)).collect();
    let svd = jacobi_svd(&cells, n, n);
    Matrix::from_fn(n, n, |i, j| svd.left(j)[i])
}

/// An orthogonal tensor with given weights, turned, plus symmetric noise.
fn orthogonal_tensor(rng: &mut ChaCha8Rng, weights: &[f64], noise: f64) -> (WhitenedTensor, Matrix) {
    let k = weights.len();
    let vectors = rotation(rng, k);
    let cell = |at: usize| -> f64 {
        let (i, j, l) = (at / k / k, at / k % k, at % k);
        (0..k).map(|c| weights[c] * vectors[(c, i)] * vectors[(c, j)] * vectors[(c, l)]).sum()
    };
    let cells: Vec<f64> = (0..k * k * k).map(|at| cell(at) + noise * rng.sample::<f64, _>(StandardNormal)).collect();
    (WhitenedTensor::tensor(k, &cells).unwrap(), vectors)
}

#[test]
fn exact_moments_of_three_views_give_the_exact_mixture_by_every_method() {
    for seed in 0..200_u64 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let k = 1 + seed as usize % 6;
        let sizes = [0; 3].map(|_| rng.random_range(k..=12));
        let truth = Truth::random(&mut rng, k, sizes);
        let whitening = Whitening::of_views(&truth.pairs(), k, 0.0).unwrap();
        let tensor = whitening.whiten(&truth.triple()).unwrap();
        let first = truth.first();
        for method in Decomposition::ALL {
            let components = method.decompose(&tensor, &Options::new().seed(seed)).unwrap();
            for moments in [None, Some([&first[0][..], &first[1], &first[2]])] {
                let mixture = Mixture::recover(&whitening, &components, moments.as_ref().map(|it| &it[..])).unwrap();
                let (weight, mean) = truth.error(&mixture);
                assert!(weight < 1e-8 && mean < 1e-8, "seed {seed} k {k} {method}: {weight:.1e} {mean:.1e} {components:?}");
                assert!(mixture.unsure == 0 && (mixture.total - 1.0).abs() < 1e-8, "seed {seed} {method}");
            }
            assert!(components.converged && components.residual < 1e-9, "seed {seed} {method} {components:?}");
            assert!(components.weights.windows(2).all(|pair| pair[0] >= pair[1]), "{method} is not in order");
            let moments = [&first[0][..], &first[1], &first[2]];
            let coupled = Mixture::recover_coupled(&whitening, &tensor, &components, &moments, 3.0).unwrap();
            let (weight, mean) = truth.error(&coupled);
            assert!(weight < 1e-8 && mean < 1e-8, "seed {seed} k {k} {method}: {weight:.1e} {mean:.1e}");
            let fit = Fit::assess(&whitening, &tensor, &components, Some(0.0));
            assert_eq!(fit.verdict, Verdict::Fits, "seed {seed} k {k} {fit:?}");
            assert_eq!(fit.supported, k);
        }
    }
}

#[test]
fn factors_of_pair_moments_whiten_as_the_moments_themselves() {
    for seed in 0..30_u64 {
        let mut rng = ChaCha8Rng::seed_from_u64(1000 + seed);
        let k = 1 + seed as usize % 5;
        let truth = Truth::random(&mut rng, k, [20, 9, 14]);
        let pairs = truth.pairs();
        let factors = pairs
            .each_ref()
            .map(|pair| leading_singular_values(&DenseOperator { cells: pair.cells(), n_cols: pair.n_cols() }, k + 1, seed));
        let whitening = Whitening::of_view_factors(factors.each_ref(), k, 0.0).unwrap();
        let tensor = whitening.whiten(&truth.triple()).unwrap();
        let components = Decomposition::Sidiwo.decompose(&tensor, &Options::new()).unwrap();
        let (weight, mean) = truth.error(&Mixture::recover(&whitening, &components, None).unwrap());
        assert!(weight < 1e-8 && mean < 1e-8, "seed {seed}: {weight:.1e} {mean:.1e}");
        assert_eq!(Fit::assess(&whitening, &tensor, &components, Some(0.0)).verdict, Verdict::Fits);
    }
}

#[test]
fn exchangeable_views_are_recovered_from_one_matrix_and_its_slices() {
    for seed in 0..60_u64 {
        let mut rng = ChaCha8Rng::seed_from_u64(2000 + seed);
        let (k, d) = (1 + seed as usize % 6, 7 + seed as usize % 4);
        let mut truth = Truth::random(&mut rng, k, [d; 3]);
        truth.means = [0; 3].map(|_| truth.means[0].clone());
        let moment = truth.pair(0, 0);
        let triple = truth.triple();
        let whitening = Whitening::of_symmetric(&moment, k, 0.0).unwrap();
        let slices: Vec<f64> = triple
            .chunks_exact(d * d)
            .flat_map(|slice| {
                let slice = Matrix::new(d, d, slice.to_vec());
                whitening.whitener(0).transposed_times(&slice.times(whitening.whitener(0))).cells().to_vec()
            })
            .collect();
        let slices = WhitenedTensor::slices(k, &slices).unwrap();
        let first = &truth.first()[0];
        for method in Decomposition::ALL {
            let whole = method.decompose(&whitening.whiten(&triple).unwrap(), &Options::new()).unwrap();
            let (weight, mean) = truth.error(&Mixture::recover(&whitening, &whole, None).unwrap());
            assert!(weight < 1e-8 && mean < 1e-8, "seed {seed} {method}: {weight:.1e} {mean:.1e}");
            let Ok(components) = method.decompose(&slices, &Options::new()) else {
                assert_eq!(method, Decomposition::Tpm);
                continue;
            };
            assert!(components.residual < 1e-9, "{method} {components:?}");
            let by_slices = Mixture::from_slices(&slices, &components, first, None).unwrap();
            let projected = Mixture::from_slices(&slices, &components, first, Some(&whitening)).unwrap();
            let by_moments = Mixture::recover(&whitening, &components, Some(&[first])).unwrap();
            let shrunk = Mixture::recover_shrunk(&whitening, &components, first).unwrap();
            for mixture in [by_slices, projected, by_moments, shrunk] {
                let (weight, mean) = truth.error(&mixture);
                assert!(weight < 1e-8 && mean < 1e-8, "seed {seed} {method}: {weight:.1e} {mean:.1e}");
            }
            assert!(Mixture::recover(&whitening, &components, None).is_err(), "slices do not tell weights");
        }
    }
}

#[test]
fn whitened_pair_moments_are_the_identity() {
    for seed in 0..40_u64 {
        let mut rng = ChaCha8Rng::seed_from_u64(3000 + seed);
        let k = 1 + seed as usize % 6;
        let truth = Truth::random(&mut rng, k, [7, 11, 6]);
        let whitening = Whitening::of_views(&truth.pairs(), k, 0.0).unwrap();
        for (a, b) in [(0, 1), (0, 2), (1, 2)] {
            let whitened = whitening.whitener(a).transposed_times(&truth.pair(a, b)).times(whitening.whitener(b));
            let back = whitening.unwhitener(a).times(&whitening.unwhitener(b).transposed());
            for i in 0..k {
                for j in 0..k {
                    assert!((whitened[(i, j)] - f64::from(u8::from(i == j))).abs() < 1e-9);
                }
            }
            let truth = truth.pair(a, b);
            assert!(back.cells().iter().zip(truth.cells()).all(|(x, y)| (x - y).abs() < 1e-9), "E_a E_bᵀ is the moment");
        }
    }
}

#[test]
fn turned_tensors_have_turned_components() {
    for seed in 0..60_u64 {
        let mut rng = ChaCha8Rng::seed_from_u64(4000 + seed);
        let k = 2 + seed as usize % 5;
        let weights: Vec<f64> = (0..k).map(|c| 1.0 + 0.4 * c as f64).collect();
        let (tensor, _) = orthogonal_tensor(&mut rng, &weights, 0.01);
        let turn = rotation(&mut rng, k);
        let mut cells = vec![0.0; k * k * k];
        for (at, cell) in cells.iter_mut().enumerate() {
            let (a, b, c) = (at / k / k, at / k % k, at % k);
            for old in 0..k * k * k {
                let (i, j, l) = (old / k / k, old / k % k, old % k);
                *cell += turn[(a, i)] * turn[(b, j)] * turn[(c, l)] * tensor.cell(l, i, j);
            }
        }
        let turned = WhitenedTensor::tensor(k, &cells).unwrap();
        for method in [Decomposition::Sidiwo, Decomposition::Tpm, Decomposition::Als] {
            let before = method.decompose(&tensor, &Options::new()).unwrap();
            let after = method.decompose(&turned, &Options::new()).unwrap();
            let expected = before.vectors.times(&turn.transposed());
            for (x, y) in expected.cells().iter().zip(after.vectors.cells()) {
                assert!((x - y).abs() < 1e-7, "{method} seed {seed}: {before:?} {after:?}");
            }
            assert!(before.weights.iter().zip(&after.weights).all(|(x, y)| (x - y).abs() < 1e-7));
        }
    }
}

#[test]
fn the_order_of_views_does_not_matter() {
    for seed in 0..60_u64 {
        let mut rng = ChaCha8Rng::seed_from_u64(5000 + seed);
        let k = 1 + seed as usize % 5;
        let truth = Truth::random(&mut rng, k, [6, 8, 11]);
        let mut mixtures = Vec::new();
        for order in [[0, 1, 2], [2, 0, 1], [1, 0, 2]] {
            let moved = Truth { weights: truth.weights.clone(), means: order.map(|view: usize| truth.means[view].clone()) };
            let whitening = Whitening::of_views(&moved.pairs(), k, 0.0).unwrap();
            let components =
                Decomposition::Sidiwo.decompose(&whitening.whiten(&moved.triple()).unwrap(), &Options::new()).unwrap();
            let mut mixture = Mixture::recover(&whitening, &components, None).unwrap();
            mixture.means = [0, 1, 2].map(|view| mixture.means[order.iter().position(|&it| it == view).unwrap()].clone()).into();
            mixtures.push(mixture);
        }
        for other in &mixtures[1..] {
            assert!(mixtures[0].weights.iter().zip(&other.weights).all(|(x, y)| (x - y).abs() < 1e-8));
            for (one, two) in mixtures[0].means.iter().zip(&other.means) {
                assert!(one.cells().iter().zip(two.cells()).all(|(x, y)| (x - y).abs() < 1e-7), "seed {seed}");
            }
        }
    }
}

/// Moments of n rows of categorical views.
fn sampled(truth: &Truth, rows: usize, rng: &mut ChaCha8Rng) -> ([Matrix; 3], Vec<f64>, [Vec<f64>; 3]) {
    let d = truth.means[0].n_rows();
    let mut pairs = [0; 3].map(|_| Matrix::zeros(d, d));
    let (mut triple, mut first) = (vec![0.0; d * d * d], [0; 3].map(|_| vec![0.0; d]));
    let share = 1.0 / rows as f64;
    let draw = |probability: &dyn Fn(usize) -> f64, n: usize, rng: &mut ChaCha8Rng| {
        let mut left: f64 = rng.random();
        (0..n - 1)
            .find(|&ix| {
                left -= probability(ix);
                left < 0.0
            })
            .unwrap_or(n - 1)
    };
    for _ in 0..rows {
        let state = draw(&|c| truth.weights[c], truth.weights.len(), rng);
        let [i, j, l] = truth.means.each_ref().map(|means| draw(&|level| means[(level, state)], d, rng));
        pairs[0][(i, j)] += share;
        pairs[1][(i, l)] += share;
        pairs[2][(j, l)] += share;
        triple[(i * d + j) * d + l] += share;
        first.iter_mut().zip([i, j, l]).for_each(|(first, level)| first[level] += share);
    }
    (pairs, triple, first)
}

/// Variance of a cell of the whitened tensor relative to a cell of the whitened pair moments, for one-hot views.
fn noise_ratio(whitening: &Whitening, triple: &[f64], tensor: &WhitenedTensor, rows: usize) -> f64 {
    let (k, d) = (tensor.n_components(), whitening.whitener(0).n_rows());
    let square = |view: usize, level: usize| whitening.whitener(view).row(level).iter().map(|x| x * x).sum::<f64>();
    let (mut pair, mut all) = (0.0, 0.0);
    for (at, share) in triple.iter().enumerate() {
        let squares = [square(0, at / d / d), square(1, at / d % d), square(2, at % d)];
        all += share * squares.iter().product::<f64>();
        pair += share * (squares[0] * squares[1] + squares[0] * squares[2] + squares[1] * squares[2]) / 3.0;
    }
    let noise = |mean_square: f64, norm: f64, cells: usize| cell_noise(mean_square, norm, cells, rows as f64).powi(2);
    noise(all, tensor.norm().powi(2), k * k * k) / noise(pair, k as f64, k * k)
}

#[test]
fn errors_fall_with_the_root_of_rows_and_jacobi_is_the_most_accurate() {
    let (problems, few, many) = (100_u64, 20_000, 320_000);
    let methods = [Decomposition::Sidiwo, Decomposition::Tpm, Decomposition::Svtd, Decomposition::Als];
    let mut errors = vec![Vec::new(); methods.len()];
    let mut coupled_errors = Vec::new();
    let (mut at_few, mut at_many) = (0.0, 0.0);
    for problem in 0..problems {
        let mut rng = ChaCha8Rng::seed_from_u64(6000 + problem);
        let k = 2 + problem as usize % 3;
        let truth = Truth::categorical(&mut rng, k, 8);
        for rows in [few, many] {
            if rows == many && problem >= 30 {
                continue;
            }
            let (pairs, triple, first) = sampled(&truth, rows, &mut rng);
            let whitening = Whitening::of_views(&pairs, k, 1e-3).unwrap();
            let tensor = whitening.whiten(&triple).unwrap();
            let first = [&first[0][..], &first[1], &first[2]];
            for (method, errors) in methods.iter().zip(&mut errors) {
                let components = method.decompose(&tensor, &Options::new()).unwrap();
                let mixture = Mixture::recover(&whitening, &components, Some(&first)).unwrap();
                let (_, error) = truth.error(&mixture);
                if rows == few {
                    errors.push(error);
                }
                if *method == Decomposition::Sidiwo {
                    if rows == few {
                        let ratio = noise_ratio(&whitening, &triple, &tensor, rows);
                        let coupled = Mixture::recover_coupled(&whitening, &tensor, &components, &first, ratio).unwrap();
                        coupled_errors.push(truth.error(&coupled).1);
                    }
                    if problem < 30 {
                        *(if rows == few { &mut at_few } else { &mut at_many }) += error.ln();
                    }
                }
            }
        }
    }
    // Sixteen times the rows make a quarter of the error. The ln error of a problem spreads by about 0.5 (few degrees of freedom
    // of the noise matter), so the mean of 30 differences by 0.5·√2/√30 = 0.13: three of these.
    let ratio = ((at_few - at_many) / 30.0).exp();
    assert!((4.0 * (-0.39_f64).exp()..4.0 * 0.39_f64.exp()).contains(&ratio), "{ratio}");
    for (method, other) in methods.iter().zip(&errors).skip(1) {
        let differences: Vec<f64> = errors[0].iter().zip(other).map(|(jacobi, other)| jacobi - other).collect();
        let mean = differences.iter().sum::<f64>() / problems as f64;
        let spread = (differences.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / problems as f64).sqrt();
        // In theory the mean is below zero; two standard errors of a mean of 100 are allowed.
        assert!(mean <= 2.0 * spread / (problems as f64).sqrt(), "{method}: {mean} ± {spread}");
    }
    let mean = |errors: &[f64]| errors.iter().sum::<f64>() / problems as f64;
    // Here the third moment is much the noisier one, so weighing has little to gain; it must not lose more than 1%.
    assert!(mean(&coupled_errors) <= 1.01 * mean(&errors[0]), "{} {}", mean(&coupled_errors), mean(&errors[0]));
}

#[test]
fn white_noise_moves_jacobi_less_than_the_power_method_and_one_slice() {
    let methods = [Decomposition::Sidiwo, Decomposition::Tpm, Decomposition::Svtd, Decomposition::Svd];
    let mut squares = [0.0; 4];
    let (noise, k) = (0.01, 4);
    // The variance of the angle between a and b is σ²/(λ_a² + λ_b²), with σ² = noise²/3 for a cell (a, a, b) after symmetrising.
    let weights: Vec<f64> = (0..k).map(|c| 1.5 + 0.3 * c as f64).collect();
    let pairs = (0..k).flat_map(|a| (0..k).filter(move |&b| b != a).map(move |b| (a, b)));
    let theory: f64 = pairs.map(|(a, b)| noise * noise / 3.0 / (weights[a].powi(2) + weights[b].powi(2))).sum();
    for seed in 0..100 {
        let mut rng = ChaCha8Rng::seed_from_u64(7000 + seed);
        let (tensor, truth) = orthogonal_tensor(&mut rng, &weights, noise);
        for (method, square) in methods.iter().zip(&mut squares) {
            let components = method.decompose(&tensor, &Options::new()).unwrap();
            // Weights differ by more than the noise: row c of the truth is component k − 1 − c.
            for c in 0..k {
                let pair = truth.row(c).iter().zip(components.vectors.row(k - 1 - c));
                *square += pair.map(|(x, y)| (x - y).powi(2)).sum::<f64>() / 100.0;
            }
        }
    }
    // 12 angles in 100 problems: a χ² of at least 600 degrees of freedom spreads by 6%; three of these.
    assert!((squares[0] / theory - 1.0).abs() < 0.18, "{squares:?} {theory}");
    assert!(squares[1..].iter().all(|other| squares[0] < *other), "{squares:?}");
}

#[test]
fn repeated_calls_give_the_same_bytes() {
    let mut rng = ChaCha8Rng::seed_from_u64(8000);
    let (tensor, _) = orthogonal_tensor(&mut rng, &[1.0, 1.0, 2.0, 2.0, 3.0], 0.2);
    for method in Decomposition::ALL {
        let runs = [0; 3].map(|_| method.decompose(&tensor, &Options::new().seed(9)).unwrap());
        let bits = |it: &Components| it.vectors.cells().iter().chain(&it.weights).map(|x| x.to_bits()).collect::<Vec<_>>();
        assert!(runs.iter().all(|run| bits(run) == bits(&runs[0])), "{method}");
    }
}

#[test]
fn two_components_are_exact_for_any_number_of_slices() {
    let mut rng = ChaCha8Rng::seed_from_u64(8100);
    for n_slices in 1..30 {
        let slices: Vec<(f64, f64, f64)> = (0..n_slices)
            .map(|_| (rng.random_range(-1.0..1.0), rng.random_range(-1.0..1.0), rng.random_range(-1.0..1.0)))
            .collect();
        // Ruffini's F of Theorem 5.3.3, from its five coefficients.
        let mut c = [0.0; 5];
        for (h11, h, h22) in &slices {
            let f = h11 - h22;
            let terms = [4.0 * h * h - f * f, -4.0 * f * h, 2.0 * f * h, f * f - 4.0 * h * h, h * h];
            c.iter_mut().zip(terms).for_each(|(c, term)| *c += term);
        }
        let cost = |a: f64| {
            let root = (1.0 - a * a).max(0.0).sqrt();
            c[0] * a.powi(4) + c[1] * a.powi(3) * root + c[2] * a * root + c[3] * a * a + c[4]
        };
        let least = (0..=20_000).map(|ix| cost(-1.0 + f64::from(ix) * 1e-4)).fold(f64::INFINITY, f64::min);
        let cells: Vec<f64> = slices.iter().flat_map(|&(a, b, d)| [a, b, b, d]).collect();
        let components = Decomposition::Sidiwo.decompose(&WhitenedTensor::slices(2, &cells).unwrap(), &Options::new()).unwrap();
        let off = |x: &[f64], y: &[f64]| -> f64 {
            let cell = |&(a, b, d): &(f64, f64, f64)| x[0] * (a * y[0] + b * y[1]) + x[1] * (b * y[0] + d * y[1]);
            slices.iter().map(|slice| cell(slice).powi(2)).sum()
        };
        assert!(off(components.vectors.row(0), components.vectors.row(1)) <= least + 1e-9);
    }
}

#[test]
fn the_tensor_of_three_centres_whitened_to_two_has_no_orthogonal_decomposition() {
    // Ruffini 2019, §5.2: centres (1,0,0), (0,1,0), (1,1,1) of weight 1.
    let centres = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 1.0]];
    let second = Matrix::from_fn(3, 3, |i, j| centres.iter().map(|centre| centre[i] * centre[j]).sum());
    let whitening = Whitening::of_symmetric(&second, 2, 0.0).unwrap();
    let w = whitening.whitener(0);
    let along = |centre: &[f64; 3], a: usize| (0..3).map(|i| centre[i] * w[(i, a)]).sum::<f64>();
    let cell = |a: usize, b: usize, c: usize| -> f64 {
        centres.iter().map(|centre| along(centre, a) * along(centre, b) * along(centre, c)).sum()
    };
    // A 2×2×2 tensor has an orthogonal decomposition if and only if this is 0 (Lemma 5.2.1); it is the same in every basis.
    let defect = cell(0, 0, 0) * cell(1, 1, 0) + cell(1, 0, 0) * cell(1, 1, 1) - cell(1, 0, 0).powi(2) - cell(1, 1, 0).powi(2);
    let root = 3_f64.sqrt();
    let scale = (9.0 + 5.0 * root).sqrt();
    let (t122, t111) = ((1.0 + root) / (2.0 * scale), {
        // The thesis prints −2 + √3 in the numerator; the third centre's coordinate is (2 + √3)/scale.
        2.0 * ((1.0 + root) / (2.0 * scale)).powi(3) + ((2.0 + root) / scale).powi(3)
    });
    assert!((defect.abs() - (t111 * t122 - t122 * t122).abs()).abs() < 1e-10, "{defect} {}", t111 * t122 - t122 * t122);
    assert!(defect.abs() > 0.1);
    let cells: Vec<f64> = (0..8).map(|at| cell(at / 4, at / 2 % 2, at % 2)).collect();
    let components = Decomposition::Sidiwo.decompose(&WhitenedTensor::tensor(2, &cells).unwrap(), &Options::new()).unwrap();
    assert!(components.residual > 1e-3, "{}", components.residual);
}

#[test]
fn degenerate_tensors_do_not_panic_and_stay_finite() {
    let mut rng = ChaCha8Rng::seed_from_u64(8200);
    for k in 1..6 {
        let noise: Vec<f64> = (0..k * k * k).map(|_| StandardNormal.sample(&mut rng)).collect();
        let huge: Vec<f64> = noise.iter().map(|x| x * 1e100).collect();
        let tiny: Vec<f64> = noise.iter().map(|x| x * 1e-100).collect();
        for cells in [vec![0.0; k * k * k], vec![1.0; k * k * k], noise, huge, tiny] {
            for tensor in [WhitenedTensor::tensor(k, &cells).unwrap(), WhitenedTensor::slices(k, &cells).unwrap()] {
                for method in Decomposition::ALL {
                    let Ok(found) = method.decompose(&tensor, &Options::new()) else { continue };
                    let all = found.vectors.cells().iter().chain(&found.weights).chain([&found.residual, &found.gap]);
                    assert!(all.clone().all(|x| x.is_finite()), "{method} k {k} {found:?} of {cells:?}");
                    for c in 0..k {
                        let length: f64 = found.vectors.row(c).iter().map(|x| x * x).sum();
                        assert!((length - 1.0).abs() < 1e-9, "{method} {found:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn the_number_of_components_is_judged() {
    for seed in 0..20 {
        let mut rng = ChaCha8Rng::seed_from_u64(9000 + seed);
        let truth = Truth::categorical(&mut rng, 3, 8);
        let rows = 200_000;
        let (pairs, triple, _) = sampled(&truth, rows, &mut rng);
        let noise = cell_noise(1.0, pairs[0].norm().powi(2), 64, rows as f64);
        for (k, expected) in [(2, Verdict::TooFew), (3, Verdict::Fits), (4, Verdict::TooMany)] {
            let Ok(whitening) = Whitening::of_views(&pairs, k, noise) else {
                assert_eq!(expected, Verdict::TooMany, "a fourth eigenvalue may be negative");
                continue;
            };
            let tensor = whitening.whiten(&triple).unwrap();
            let components = Decomposition::Sidiwo.decompose(&tensor, &Options::new()).unwrap();
            let fit = Fit::assess(&whitening, &tensor, &components, None);
            assert_eq!(fit.verdict, expected, "seed {seed} k {k} {fit:?} {:?}", whitening.spectra());
            assert_eq!(fit.supported, 3);
        }
    }
    // Views of exactly k coordinates have no (k + 1)-th singular value: the residual tells.
    let mut judged = 0;
    for seed in 0..20 {
        let truth = Truth::categorical(&mut ChaCha8Rng::seed_from_u64(9100 + seed), 3, 6);
        let cut = Truth { weights: truth.weights, means: truth.means.map(|means| Matrix::from_fn(2, 3, |i, c| means[(i, c)])) };
        // Two coordinates of three states may have a second moment that is no second moment of two states: refused.
        let Ok(whitening) = Whitening::of_views(&cut.pairs(), 2, 0.0) else { continue };
        let tensor = whitening.whiten(&cut.triple()).unwrap();
        let components = Decomposition::Sidiwo.decompose(&tensor, &Options::new()).unwrap();
        let fit = Fit::assess(&whitening, &tensor, &components, Some(0.0));
        assert_eq!(fit.verdict, Verdict::TooFew, "{fit:?}");
        judged += 1;
    }
    assert!(judged >= 5, "{judged}");
}

#[test]
fn wrong_input_is_refused_with_what_to_try() {
    let mut rng = ChaCha8Rng::seed_from_u64(9200);
    let truth = Truth::random(&mut rng, 2, [4, 5, 3]);
    let message = |outcome: crate::Result<Whitening>| outcome.unwrap_err().to_string();
    assert!(message(Whitening::of_views(&truth.pairs(), 3, 0.0)).contains("ask for at most 2"));
    assert!(message(Whitening::of_views(&truth.pairs(), 4, 0.0)).contains("view 3, which has 3 coordinates"));
    assert!(message(Whitening::of_views(&truth.pairs(), 0, 0.0)).contains("at least one"));
    let [a, b, _] = truth.pairs();
    assert!(message(Whitening::of_views(&[a.clone(), b.clone(), b], 2, 0.0)).contains("d1 x d2"));
    let mut nan = truth.pairs();
    nan[1][(0, 0)] = f64::NAN;
    assert!(message(Whitening::of_views(&nan, 2, 0.0)).contains("finite"));
    assert!(message(Whitening::of_symmetric(&a, 2, 0.0)).contains("square"));
    let zeros = [Matrix::zeros(4, 5), Matrix::zeros(4, 3), Matrix::zeros(5, 3)];
    assert!(message(Whitening::of_views(&zeros, 2, 0.0)).contains("common cause"));
    assert!(message(Whitening::of_symmetric(&Matrix::zeros(3, 3), 2, 0.0)).contains("rank 0"));
    let negative = Matrix::new(2, 2, vec![1.0, 0.0, 0.0, -1.0]);
    assert!(message(Whitening::of_symmetric(&negative, 2, 0.0)).contains("ask for at most 1"));
    assert!(WhitenedTensor::tensor(2, &[0.0; 7]).is_err() && WhitenedTensor::tensor(0, &[]).is_err());
    assert!(WhitenedTensor::slices(2, &[]).is_err() && WhitenedTensor::slices(2, &[0.0; 6]).is_err());
    assert!(WhitenedTensor::slices(1, &[f64::INFINITY]).is_err());
    let slices = WhitenedTensor::slices(2, &[1.0, 0.0, 0.0, 2.0]).unwrap();
    assert!(Decomposition::Tpm.decompose(&slices, &Options::new()).is_err());
    assert!("power".parse::<Decomposition>().unwrap_err().to_string().contains("tpm, svd, svtd, als, sidiwo, jacobi"));
    assert_eq!("jacobi".parse::<Decomposition>().unwrap(), Decomposition::Sidiwo);
    assert!(Decomposition::ALL.iter().all(|it| it.to_string().parse::<Decomposition>().unwrap() == *it));
}
