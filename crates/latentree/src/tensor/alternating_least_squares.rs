//! Alternating least squares for the CP decomposition of the slices (Kolda and Bader 2009), for reference.
//!
//! `H_rij ≈ Σ_c a_rc b_ic c_jc`: two of the three factors are held and the third solved for, in turn. Nothing keeps components
//! orthogonal or b equal to c; at the end the two are averaged. The first start is the eigenvectors of a random combination of
//! slices, the others are random; the one that leaves the least residual is taken.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use super::components::{Components, Found};
use super::options::Options;
use super::sidiwo::{diagonalise, identity};
use super::svd_method::random_combination;
use super::whitened::WhitenedTensor;
use crate::linalg::Cholesky;

const DEFAULT_ROUNDS: usize = 300;
/// Change of the unit vectors between rounds at which they have settled.
const SETTLED: f64 = 1e-12;

/// Residual that no other start can better but by rounding.
const EXACT: f64 = 1e-12;

/// Memory for the rounds; factors hold k numbers, one per component, for each index.
struct Rounds {
    k: usize,
    l: usize,
    a: Vec<f64>,
    b: Vec<f64>,
    c: Vec<f64>,
    before: Vec<f64>,
    gram: Vec<f64>,
    factor: Cholesky,
    products: Vec<f64>,
}

impl Rounds {
    fn new(k: usize, l: usize) -> Self {
        let mut eye = vec![0.0; k * k];
        identity(&mut eye, k);
        let factor = Cholesky::new(&eye, k).expect("the identity is positive definite");
        let square = || vec![0.0; k * k];
        Self { k, l, a: vec![0.0; l * k], b: square(), c: square(), before: square(), gram: eye, factor, products: vec![0.0; k] }
    }

    /// Solves for a given b and c, or for b given a and c (`which` = 1), or for c given a and b (2).
    fn solve(&mut self, cells: &[f64], which: usize) {
        let (k, l) = (self.k, self.l);
        let (out, first, second) = match which {
            0 => (&mut self.a, &self.b, &self.c),
            1 => (&mut self.b, &self.a, &self.c),
            _ => (&mut self.c, &self.a, &self.b),
        };
        out.fill(0.0);
        for i in 0..k {
            for j in 0..k {
                let cells = &cells[(i * k + j) * l..(i * k + j + 1) * l];
                if which == 0 {
                    let pair = first[i * k..].iter().zip(&second[j * k..(j + 1) * k]);
                    self.products.iter_mut().zip(pair).for_each(|(out, (x, y))| *out = x * y);
                    for (out, cell) in out.chunks_exact_mut(k).zip(cells) {
                        out.iter_mut().zip(&self.products).for_each(|(out, product)| *out += cell * product);
                    }
                } else {
                    // Slices are symmetric: b_i collects H_ij over c_j, and c_i collects H_ij over b_j.
                    self.products.fill(0.0);
                    for (row, cell) in first.chunks_exact(k).zip(cells) {
                        self.products.iter_mut().zip(row).for_each(|(out, x)| *out += cell * x);
                    }
                    let pair = self.products.iter().zip(&second[j * k..(j + 1) * k]);
                    out[i * k..(i + 1) * k].iter_mut().zip(pair).for_each(|(out, (x, y))| *out += x * y);
                }
            }
        }
        for p in 0..k {
            for q in 0..k {
                let dot = |factor: &[f64]| factor.chunks_exact(k).map(|row| row[p] * row[q]).sum::<f64>();
                self.gram[p * k + q] = dot(first) * dot(second);
            }
        }
        let trace: f64 = self.gram.iter().step_by(k + 1).sum();
        // Two components that become one make the equations singular: a ridge of rounding size keeps them solvable.
        let mut ridge = 1e-15 * trace + f64::MIN_POSITIVE;
        while !self.factor.refactor(&self.gram) && ridge.is_finite() {
            self.gram.iter_mut().step_by(k + 1).for_each(|cell| *cell += ridge);
            ridge *= 100.0;
        }
        out.chunks_exact_mut(k).for_each(|row| self.factor.solve_in_place(row));
    }

    /// Makes the columns of b or c unit vectors; zero columns stay.
    fn normalise(factor: &mut [f64], k: usize) {
        for p in 0..k {
            let length = factor[p..].iter().step_by(k).map(|x| x * x).sum::<f64>().sqrt();
            if length > 0.0 && length.is_finite() {
                factor[p..].iter_mut().step_by(k).for_each(|x| *x /= length);
            }
        }
    }

    fn run(&mut self, cells: &[f64], most: usize) -> Found {
        let k = self.k;
        let (mut iterations, mut converged) = (0, false);
        while iterations < most && !converged {
            iterations += 1;
            self.before.copy_from_slice(&self.b);
            self.solve(cells, 0);
            self.solve(cells, 1);
            Self::normalise(&mut self.b, k);
            self.solve(cells, 2);
            Self::normalise(&mut self.c, k);
            converged = self.b.iter().zip(&self.before).all(|(x, y)| (x - y).abs() <= SETTLED);
        }
        let mut vectors = vec![0.0; k * k];
        for p in 0..k {
            let dot: f64 = (0..k).map(|i| self.b[i * k + p] * self.c[i * k + p]).sum();
            let sign = if dot < 0.0 { -1.0 } else { 1.0 };
            let vector = &mut vectors[p * k..(p + 1) * k];
            vector.iter_mut().enumerate().for_each(|(i, x)| *x = self.b[i * k + p] + sign * self.c[i * k + p]);
            let length = vector.iter().map(|x| x * x).sum::<f64>().sqrt();
            if length > 0.0 && length.is_finite() {
                vector.iter_mut().for_each(|x| *x /= length);
            } else {
                vector.fill(0.0);
                vector[p] = 1.0;
            }
        }
        Found { vectors, gap: None, iterations, converged }
    }
}

pub(super) fn decompose(tensor: &WhitenedTensor, options: &Options) -> Components {
    let (k, l, cells) = (tensor.n_components(), tensor.n_slices(), tensor.cells());
    let mut rng = ChaCha8Rng::seed_from_u64(options.seed);
    let mut rounds = Rounds::new(k, l);
    let (mut combined, mut rotation) = (vec![0.0; k * k], vec![0.0; k * k]);
    let mut best: Option<Components> = None;
    for start in 0..options.restarts.unwrap_or(2) {
        if start == 0 {
            random_combination(cells, l, &mut combined, &mut rng);
            identity(&mut rotation, k);
            diagonalise(&mut combined, 1, k, &mut rotation, DEFAULT_ROUNDS);
            (0..k * k).for_each(|at| rounds.b[at] = rotation[at % k * k + at / k]);
            let Rounds { b, c, .. } = &mut rounds;
            c.copy_from_slice(b);
        } else {
            rounds.b.iter_mut().chain(&mut rounds.c).for_each(|x| *x = StandardNormal.sample(&mut rng));
            Rounds::normalise(&mut rounds.b, k);
            Rounds::normalise(&mut rounds.c, k);
        }
        let found = rounds.run(cells, options.iterations.unwrap_or(DEFAULT_ROUNDS));
        let components = Components::judge(tensor, found);
        if best.as_ref().is_none_or(|best| components.residual < best.residual) {
            best = Some(components);
        }
        if best.as_ref().is_some_and(|best| best.residual < EXACT) {
            break;
        }
    }
    best.expect("there is at least one start")
}
