//! One hidden node from the moments of its views: directions of their summaries, one decomposition, and the linear maps to its
//! states.

use rayon::prelude::*;

use super::branches::Views;
use super::by_moments::MomentOptions;
use super::projection::probabilities;
use crate::linalg::{Matrix, jacobi_svd, symmetric_eigen};
use crate::tensor::{Mixture, Options, WhitenedTensor, Whitening};

/// No hidden state is rarer than this.
const RAREST: f64 = 1e-3;
/// Eigenvalues of a covariance below this share of the largest are taken for zero.
const NEGLIGIBLE: f64 = 1e-9;

/// A hidden node's fitted views.
pub(super) struct Fit {
    pub(super) weights: Vec<f64>,
    /// `G` for what lies in each part, states by the numbers of a.
    pub(super) inverses: Vec<Matrix>,
}

/// `W` with `Wᵀ C W = 1` on the space where the covariance is not zero, as columns.
fn whitening(covariance: &[f64], d: usize, ridge: f64) -> Matrix {
    let Some((values, vectors)) = symmetric_eigen(covariance, d) else { return Matrix::zeros(d, 0) };
    let largest = values.iter().copied().fold(0.0, f64::max);
    let kept: Vec<usize> = (0..d).filter(|&ix| values[ix] > NEGLIGIBLE * largest && values[ix] > 0.0).collect();
    Matrix::from_fn(d, kept.len(), |i, c| vectors[kept[c] * d + i] / (values[kept[c]] + ridge).sqrt())
}

/// For every hidden node the weights of each part's coordinates in the first k − 1 canonical variates of its view with the rest,
/// and the k that all of its views support.
pub(super) fn all_directions(views: &[Views], grams: &[Vec<f64>], rows: f64) -> Vec<(usize, Vec<Vec<f64>>)> {
    views.par_iter().zip(grams).map(|(views, gram)| directions(views, gram, rows)).collect()
}

fn directions(views: &Views, gram: &[f64], rows: f64) -> (usize, Vec<Vec<f64>>) {
    let n = views.len();
    let mut part_of: Vec<usize> = Vec::with_capacity(n);
    views.coordinates.iter().enumerate().for_each(|(part, places)| part_of.extend(places.iter().map(|_| part)));
    let block =
        |rows: &[usize], columns: &[usize]| Matrix::from_fn(rows.len(), columns.len(), |i, j| gram[rows[i] * n + columns[j]]);
    let mut k = views.n_states;
    let mut found = Vec::new();
    for view in 0..3 {
        let (own, rest): (Vec<usize>, Vec<usize>) = (0..n).partition(|&ix| views.view_of[part_of[ix]] == view);
        let whiten = |places: &[usize]| whitening(block(places, places).cells(), places.len(), places.len() as f64 / rows * 0.1);
        let (left, right) = (whiten(&own), whiten(&rest));
        let cross = left.transposed_times(&block(&own, &rest)).times(&right);
        let (a, b) = (cross.n_rows(), cross.n_cols());
        if a == 0 || b == 0 {
            k = k.min(2);
            found.push((own, left, None));
            continue;
        }
        let svd = jacobi_svd(cross.cells(), a, b);
        // Half of what correlations of nothing would reach: the decomposition says more about states that are hardly there.
        let noise = 0.5 * ((a as f64).sqrt() + (b as f64).sqrt()) / rows.sqrt();
        let wanted = k - 1;
        let supported = svd.values.iter().take(wanted).take_while(|&&value| value > noise.max(1e-9)).count();
        k = k.min(supported + 1).max(2);
        found.push((own, left, Some(svd)));
    }
    let r = k - 1;
    let mut weights: Vec<Vec<f64>> = vec![Vec::new(); views.coordinates.len()];
    for (own, left, svd) in found {
        for (i, &ix) in own.iter().enumerate() {
            let weight = |c: usize| match &svd {
                Some(svd) if c < svd.values.len() => left.row(i).iter().zip(svd.left(c)).map(|(w, u)| w * u).sum(),
                _ => 0.0,
            };
            weights[part_of[ix]].extend((0..r).map(weight));
        }
    }
    (k, weights)
}

/// The moments of one hidden node's summaries.
pub(super) struct Moments<'a> {
    /// `E[a aᵀ]`.
    pub(super) second: &'a [f64],
    /// `E[(1,t₁) ⊗ (1,t₂) ⊗ (1,t₃)]` of the views, and after it those of the extra triples.
    pub(super) third: &'a [f64],
    pub(super) views: &'a Views,
    pub(super) rows: f64,
}

impl Moments<'_> {
    fn width(&self) -> usize {
        self.views.width()
    }

    /// The place in `a` of a number of a part.
    fn place(&self, part: usize, number: usize) -> usize {
        1 + part * (self.views.n_states - 1) + number
    }

    /// Places in `a` whose numbers make the i-th number of a view with its constant.
    fn places(&self, view: usize, i: usize) -> Vec<usize> {
        if i == 0 {
            return vec![0];
        }
        let parts = (0..self.views.view_of.len()).filter(|&part| self.views.view_of[part] == view);
        parts.map(|part| self.place(part, i - 1)).collect()
    }

    fn sum(&self, rows: &[usize], columns: &[usize]) -> f64 {
        let width = self.width();
        rows.iter().map(|&i| columns.iter().map(|&j| self.second[i * width + j]).sum::<f64>()).sum()
    }

    /// Weights and inverses, and whether they come from a decomposition. Fewer states are tried where k are not there.
    pub(super) fn fit(&self, options: &MomentOptions) -> (Fit, bool) {
        for states in (2..=self.views.n_states).rev() {
            if let Some(fit) = self.decomposed(states, options) {
                return (fit, true);
            }
        }
        let first = [0, 1, 2].map(|view| self.places(view, 1));
        let cross = |a: usize, b: usize| self.sum(&first[a], &first[b]);
        let own = |view: usize| cross(view, view).max(1e-12).sqrt();
        let strength = |a: usize, b: usize, c: usize| {
            let square = (cross(a, b) * cross(a, c) / cross(b, c)).abs() / (own(a) * own(a));
            own(a) * if square.is_finite() { square.sqrt().clamp(0.05, 0.9) } else { 0.3 }
        };
        let signs = [1.0, cross(0, 1).signum(), cross(0, 2).signum()];
        let rho = [strength(0, 1, 2), strength(1, 0, 2), strength(2, 0, 1)];
        let means = [0, 1, 2].map(|view| Matrix::new(2, 2, vec![1.0, 1.0, signs[view] * rho[view], -signs[view] * rho[view]]));
        let weights = vec![0.5, 0.5];
        (Fit { inverses: self.inverses(2, &means, &weights), weights }, false)
    }

    fn decomposed(&self, states: usize, options: &MomentOptions) -> Option<Fit> {
        let k = self.views.n_states;
        let numbers = [0, 1, 2].map(|view| (0..states).map(|i| self.places(view, i)).collect::<Vec<_>>());
        let pair = |a: usize, b: usize| Matrix::from_fn(states, states, |i, j| self.sum(&numbers[a][i], &numbers[b][j]));
        let pairs = [pair(0, 1), pair(0, 2), pair(1, 2)];
        let triple = |which: usize| -> Vec<f64> {
            let cells = &self.third[which * k.pow(3)..(which + 1) * k.pow(3)];
            let cell = |at: usize| cells[(at / (states * states) * k + at / states % states) * k + at % states];
            (0..states.pow(3)).map(cell).collect()
        };
        let whitening = Whitening::of_views(&pairs, states, 1.0 / self.rows.sqrt()).ok()?;
        let whiteners = [0, 1, 2].map(|view| whitening.whitener(view).clone());
        let mut sum = vec![0.0; states.pow(3)];
        let mut precision = 0.0;
        let mut add = |third: &[f64], maps: [&Matrix; 3], variance: f64| {
            if variance.is_finite() && variance > 0.0 {
                let white = contracted(third, maps);
                sum.iter_mut().zip(&white).for_each(|(sum, cell)| *sum += cell / variance);
                precision += 1.0 / variance;
            }
        };
        let spread = |map: &Matrix, of: &[Vec<usize>]| self.spread(map, of);
        let spreads = [0, 1, 2].map(|view| spread(&whiteners[view], &numbers[view]));
        add(&triple(0), whiteners.each_ref(), spreads.iter().product());
        for (which, &(view, b, c)) in self.views.extra.iter().enumerate() {
            let of_part = |part: usize| -> Vec<Vec<usize>> {
                std::iter::once(vec![0]).chain((0..states - 1).map(|i| vec![self.place(part, i)])).collect()
            };
            let (of_b, of_c) = (of_part(b), of_part(c));
            let cross = |a: &[Vec<usize>], b: &[Vec<usize>]| Matrix::from_fn(states, states, |i, j| self.sum(&a[i], &b[j]));
            // Maps of the parts to numbers whose means given h are those of the whitened view.
            let (b_c, b_view, c_view) = (cross(&of_b, &of_c), cross(&of_b, &numbers[view]), cross(&of_c, &numbers[view]));
            let Some(inverse) = sound_inverse(&b_c) else { continue };
            let to_b = inverse.transposed_times(&c_view.times(&whiteners[view]));
            let to_c = inverse.times(&b_view.times(&whiteners[view]));
            let variance = spreads[view] * spread(&to_b, &of_b) * spread(&to_c, &of_c);
            add(&triple(which + 1), [&whiteners[view], &to_b, &to_c], variance);
        }
        sum.iter_mut().for_each(|cell| *cell /= precision);
        let tensor = WhitenedTensor::tensor(states, &sum).ok()?;
        let components = options.decomposition.decompose(&tensor, &Options::new().seed(options.seed)).ok()?;
        let firsts = numbers.each_ref().map(|view| view.iter().map(|places| self.sum(&[0], places)).collect::<Vec<f64>>());
        let firsts = firsts.each_ref().map(Vec::as_slice);
        let mixture = Mixture::recover(&whitening, &components, Some(&firsts)).ok()?;
        if mixture.unsure > 0 || mixture.weights.iter().any(|weight| !weight.is_finite() || *weight < RAREST) {
            return None;
        }
        let mut means: Vec<Matrix> = mixture.means;
        for view in &mut means {
            for c in 0..states {
                let one = view[(0, c)];
                if !(0.2..5.0).contains(&one) {
                    return None;
                }
                for i in 0..states {
                    view[(i, c)] /= one;
                }
            }
        }
        let means: [Matrix; 3] = means.try_into().ok()?;
        let inverses = self.inverses(states, &means, &mixture.weights);
        // The same labels and views give the weights a second time, and better.
        let first = &self.second[..self.width()];
        let mut weights = vec![0.0; states];
        for inverse in &inverses {
            for (c, weight) in weights.iter_mut().enumerate() {
                *weight += inverse.row(c).iter().zip(first).map(|(g, a)| g * a).sum::<f64>() / inverses.len() as f64;
            }
        }
        weights.iter_mut().for_each(|weight| *weight = weight.max(RAREST));
        let weights = probabilities(&weights);
        inverses.iter().all(|it| it.cells().iter().all(|cell| cell.is_finite())).then_some(Fit { weights, inverses })
    }

    /// `E‖Wᵀx‖²` of numbers x of a view or part: how noisy what they are mapped to is.
    fn spread(&self, map: &Matrix, numbers: &[Vec<usize>]) -> f64 {
        let second = Matrix::from_fn(numbers.len(), numbers.len(), |i, j| self.sum(&numbers[i], &numbers[j]));
        let mapped = second.times(map);
        map.cells().iter().zip(mapped.cells()).map(|(a, b)| a * b).sum()
    }

    /// `G = (MᵀV⁻¹M)⁻¹MᵀV⁻¹` over the constant and all parts but one, for each part.
    ///
    /// The means of each part are `E[s 1{h}] = E[s aᵀ]G_vᵀ`, with `G_v` over the two views it is not in: they carry less of the
    /// decomposition's error than the means that come with it.
    fn inverses(&self, states: usize, means: &[Matrix; 3], weights: &[f64]) -> Vec<Matrix> {
        let n_parts = self.views.view_of.len();
        let mut of_parts: Vec<Matrix> = Vec::with_capacity(n_parts);
        for part in 0..n_parts {
            let view = self.views.view_of[part];
            let numbers: Vec<(usize, usize)> =
                (0..3).filter(|&other| other != view).flat_map(|other| (1..states).map(move |i| (other, i))).collect();
            let places: Vec<Vec<usize>> =
                std::iter::once(vec![0]).chain(numbers.iter().map(|&(view, i)| self.places(view, i))).collect();
            let mean = Matrix::from_fn(places.len(), states, |at, c| match at {
                0 => 1.0,
                _ => means[numbers[at - 1].0][(numbers[at - 1].1, c)],
            });
            let covariance = Matrix::from_fn(places.len(), places.len(), |i, j| self.sum(&places[i], &places[j]));
            let inverse = best_inverse(&covariance, &mean);
            let cross = Matrix::from_fn(states - 1, places.len(), |i, j| self.sum(&[self.place(part, i)], &places[j]));
            let joint = cross.times(&inverse.transposed());
            of_parts.push(Matrix::from_fn(states - 1, states, |i, c| joint[(i, c)] / weights[c]));
        }
        let width = self.width();
        let without = |left_out: usize| {
            let numbers: Vec<(usize, usize)> =
                (0..n_parts).filter(|&part| part != left_out).flat_map(|part| (0..states - 1).map(move |i| (part, i))).collect();
            let places: Vec<usize> = std::iter::once(0).chain(numbers.iter().map(|&(part, i)| self.place(part, i))).collect();
            let n = places.len();
            let covariance = Matrix::from_fn(n, n, |i, j| self.second[places[i] * width + places[j]]);
            let mean = Matrix::from_fn(n, states, |at, c| match at {
                0 => 1.0,
                _ => of_parts[numbers[at - 1].0][(numbers[at - 1].1, c)],
            });
            let inverse = best_inverse(&covariance, &mean);
            let mut whole = Matrix::zeros(states, width);
            for c in 0..states {
                places.iter().enumerate().for_each(|(i, &place)| whole[(c, place)] = inverse[(c, i)]);
            }
            whole
        };
        (0..n_parts).map(without).collect()
    }
}

/// A k×k×k moment in other coordinates of its three views.
fn contracted(third: &[f64], maps: [&Matrix; 3]) -> Vec<f64> {
    let k = maps[0].n_rows();
    let mut cells = vec![0.0; k * k * k];
    for (i, plane) in third.chunks_exact(k * k).enumerate() {
        let pair = maps[1].transposed_times(&Matrix::new(k, k, plane.to_vec()).times(maps[2]));
        for (out, factor) in cells.chunks_exact_mut(k * k).zip(maps[0].row(i)) {
            out.iter_mut().zip(pair.cells()).for_each(|(out, cell)| *out += factor * cell);
        }
    }
    cells
}

/// The inverse of a small matrix that has one without great loss.
fn sound_inverse(matrix: &Matrix) -> Option<Matrix> {
    let n = matrix.n_rows();
    let svd = jacobi_svd(matrix.cells(), n, n);
    let least = svd.values.last().copied().unwrap_or(0.0);
    (least > 1e-4 * svd.values[0])
        .then(|| Matrix::from_fn(n, n, |i, j| (0..n).map(|ix| svd.right(ix)[i] * svd.left(ix)[j] / svd.values[ix]).sum()))
}

/// `(MᵀV⁻¹M)⁻¹MᵀV⁻¹`, with inverses of the larger parts of matrices that have none.
fn best_inverse(covariance: &Matrix, mean: &Matrix) -> Matrix {
    let whitener = whitening(covariance.cells(), covariance.n_rows(), 0.0);
    let white = whitener.transposed_times(mean);
    let small = pseudo_inverse(&white.transposed_times(&white));
    small.times(&white.transposed()).times(&whitener.transposed())
}

/// The inverse of a small symmetric matrix, of its larger part where it has none.
fn pseudo_inverse(matrix: &Matrix) -> Matrix {
    let n = matrix.n_rows();
    let svd = jacobi_svd(matrix.cells(), n, n);
    let least = 1e-10 * svd.values.first().copied().unwrap_or(0.0);
    let kept: Vec<usize> = (0..svd.values.len()).filter(|&ix| svd.values[ix] > least).collect();
    Matrix::from_fn(n, n, |i, j| kept.iter().map(|&ix| svd.right(ix)[i] * svd.left(ix)[j] / svd.values[ix]).sum())
}
