//! Ruffini 2019, §2.3 and Figure 2.1: Poisson naive Bayes models, d = 100, k = 5, n = 1,000 … 10,000; error and time of each
//! decomposition.
//!
//! Parameters as in his footnote 5: cells of M uniform, columns scaled to sum 5; weights uniform, scaled to sum 1; new ones for
//! each run. Error `‖M̂ − M‖_F`, columns matched. Second and third moments are the unbiased ones of Proposition 1.2.1 (factorial
//! moments); the whitened tensor and the d whitened slices are summed over rows, without a d×d×d array.

use std::time::Instant;

use latentree::linalg::{Matrix, cheapest_assignment};
use latentree::tensor::{Components, Decomposition, Mixture, Options, WhitenedTensor, Whitening, cell_noise};
use latentree::{Error, Result};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Poisson};

use crate::record::Results;

/// What is run.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct RuffiniArgs {
    /// Numbers of rows
    #[arg(long, value_delimiter = ',', default_value = "1000,2000,4000,6000,8000,10000")]
    rows: Vec<usize>,
    /// Number of features
    #[arg(long, default_value_t = 100)]
    features: usize,
    /// Number of components
    #[arg(long, default_value_t = 5)]
    components: usize,
    /// Sum of a column of means: the counts in a row
    #[arg(long, default_value_t = 5.0)]
    counts: f64,
    /// Number of runs for each number of rows
    #[arg(long, default_value_t = 10)]
    runs: u64,
    /// First seed
    #[arg(long, default_value_t = 0)]
    first_seed: u64,
}

struct Problem {
    /// What features are divided by.
    scales: Vec<f64>,
    first: Vec<f64>,
    whitening: Whitening,
    tensor: WhitenedTensor,
    slices: WhitenedTensor,
    /// Variance of a cell of the whitened tensor relative to the whitened matrix.
    noise_ratio: f64,
}

/// (Feature, count) pairs.
type Row = Vec<(usize, f64)>;

fn sample(args: &RuffiniArgs, n: usize, rng: &mut ChaCha8Rng) -> Result<(Matrix, Vec<Row>)> {
    let (d, k) = (args.features, args.components);
    let mut means = Matrix::from_fn(d, k, |_, _| rng.random_range(0.0..1.0));
    for c in 0..k {
        let sum: f64 = means.column(c).iter().sum();
        (0..d).for_each(|i| means[(i, c)] *= args.counts / sum);
    }
    let weights: Vec<f64> = (0..k).map(|_| rng.random_range(0.0..1.0)).collect();
    let total: f64 = weights.iter().sum();
    // A vector of independent Poisson counts is a Poisson total, each count falling on a feature by its share.
    let shares: Vec<Vec<f64>> = (0..k)
        .map(|c| {
            let mut sum = 0.0;
            means
                .column(c)
                .iter()
                .map(|mean| {
                    sum += mean;
                    sum
                })
                .collect()
        })
        .collect();
    let total_count = Poisson::new(args.counts).map_err(|error| Error::option("--counts", error.to_string()))?;
    let mut row = || {
        let mut left = rng.random_range(0.0..total);
        let state = weights.iter().position(|weight| {
            left -= weight;
            left < 0.0
        });
        let shares = &shares[state.unwrap_or(k - 1)];
        let mut hits: Vec<usize> = Vec::new();
        for _ in 0..total_count.sample(rng) as usize {
            let at = rng.random_range(0.0..args.counts);
            hits.push(shares.partition_point(|share| *share < at).min(d - 1));
        }
        hits.sort_unstable();
        hits.chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as f64)).collect()
    };
    let rows = (0..n).map(|_| row()).collect();
    Ok((means, rows))
}

/// Moments of the features, or of the features by the roots of their means: a cell of the second moment of counts has a variance
/// of about `E[x_i] E[x_j]/n`, so that the noise of scaled cells is alike.
fn moments(rows: &[Row], d: usize, k: usize, scaled: bool) -> Result<Problem> {
    let share = 1.0 / rows.len() as f64;
    let mut means = vec![0.0; d];
    rows.iter().flatten().for_each(|&(i, x)| means[i] += share * x);
    let scales: Vec<f64> = means.iter().map(|mean| if scaled && *mean > 0.0 { mean.sqrt() } else { 1.0 }).collect();
    let first: Vec<f64> = means.iter().zip(&scales).map(|(mean, scale)| mean / scale).collect();
    let mut second = Matrix::zeros(d, d);
    let mut mean_square = 0.0;
    for row in rows {
        let (mut squares, mut own, mut factorial) = (0.0, 0.0, 0.0);
        for &(i, x) in row {
            row.iter().for_each(|&(j, y)| second[(i, j)] += share * x * y / (scales[i] * scales[j]));
            let square = scales[i] * scales[i];
            second[(i, i)] -= share * x / square;
            squares += x * x / square;
            own += (x * x / square).powi(2);
            factorial += ((x * x - x) / square).powi(2);
        }
        mean_square += share * (squares * squares - own + factorial);
    }
    let squared_norm: f64 = second.cells().iter().map(|cell| cell * cell).sum();
    let whitening = Whitening::of_symmetric(&second, k, cell_noise(mean_square, squared_norm, d * d, rows.len() as f64))?;
    // The whitener of counts as they are.
    let w = Matrix::from_fn(d, k, |i, a| whitening.whitener(0)[(i, a)] / scales[i]);
    // Slice r without its diagonals: x_r times the second factorial moment of the row less one count of r.
    let mut slices = vec![0.0; d * k * k];
    let (mut y, mut pairs) = (vec![0.0; k], vec![0.0; k * k]);
    let (mut fourth, mut sixth) = (0.0, 0.0);
    for row in rows {
        y.fill(0.0);
        pairs.fill(0.0);
        for &(i, x) in row {
            for a in 0..k {
                y[a] += x * w[(i, a)];
                (0..k).for_each(|b| pairs[a * k + b] += x * w[(i, a)] * w[(i, b)]);
            }
        }
        let square: f64 = y.iter().map(|y| y * y).sum();
        fourth += share * square.powi(2);
        sixth += share * square.powi(3);
        for &(r, x) in row {
            let slice = &mut slices[r * k * k..(r + 1) * k * k];
            for a in 0..k {
                for b in 0..k {
                    let rest = (y[a] - w[(r, a)]) * (y[b] - w[(r, b)]) - pairs[a * k + b] + w[(r, a)] * w[(r, b)];
                    slice[a * k + b] += share * x * rest;
                }
            }
        }
    }
    let mut tensor = vec![0.0; k * k * k];
    for r in 0..d {
        for a in 0..k {
            let out = &mut tensor[a * k * k..(a + 1) * k * k];
            out.iter_mut().zip(&slices[r * k * k..]).for_each(|(out, cell)| *out += w[(r, a)] * cell);
        }
    }
    for (slice, scale) in slices.chunks_exact_mut(k * k).zip(&scales) {
        slice.iter_mut().for_each(|cell| *cell /= scale);
    }
    let (tensor, slices) = (WhitenedTensor::tensor(k, &tensor)?, WhitenedTensor::slices(k, &slices)?);
    let noise =
        |mean_square: f64, squared_norm: f64, cells: usize| cell_noise(mean_square, squared_norm, cells, rows.len() as f64);
    let noise_ratio = (noise(sixth, tensor.norm().powi(2), k * k * k) / noise(fourth, k as f64, k * k)).powi(2);
    Ok(Problem { scales, first, whitening, tensor, slices, noise_ratio })
}

fn error(truth: &Matrix, found: &Matrix) -> f64 {
    let k = truth.n_cols();
    let distance = |a: usize, b: usize| (0..truth.n_rows()).map(|i| (truth[(i, a)] - found[(i, b)]).powi(2)).sum::<f64>();
    let costs: Vec<f64> = (0..k * k).map(|at| distance(at / k, at % k)).collect();
    let columns = cheapest_assignment(&costs, k);
    columns.iter().enumerate().map(|(a, &b)| costs[a * k + b]).sum::<f64>().sqrt()
}

/// How components become means.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Recovery {
    /// `λ E o`, the power method's.
    Tensor,
    /// `E o / s` with s from the first moment, the SVD method's and SIDIWO's.
    First,
    /// Diagonals of the turned slices, SVTD's.
    Slices,
    /// The same, projected onto the range of the second moment.
    Projected,
    /// The overall mean and what differs from it, with the noise of the second moment taken off.
    Shrunk,
    /// Second and third moments weighed by their noise.
    Coupled,
}

fn means(problem: &Problem, components: &Components, recovery: Recovery) -> Result<Matrix> {
    let Problem { first, whitening, tensor, slices, noise_ratio, .. } = problem;
    let mixture = match recovery {
        Recovery::Tensor => Mixture::recover(whitening, components, None)?,
        Recovery::First => Mixture::recover(whitening, components, Some(&[first]))?,
        Recovery::Slices => Mixture::from_slices(slices, components, first, None)?,
        Recovery::Projected => Mixture::from_slices(slices, components, first, Some(whitening))?,
        Recovery::Shrunk => Mixture::recover_shrunk(whitening, components, first)?,
        Recovery::Coupled => Mixture::recover_coupled(whitening, tensor, components, &[first], *noise_ratio)?,
    };
    Ok(Matrix::from_fn(first.len(), components.n_components(), |i, c| mixture.means[0][(i, c)] * problem.scales[i]))
}

/// A method, whether it is given the whole tensor or the d slices, whether of scaled features, and its recovery.
struct Method {
    name: &'static str,
    decomposition: Decomposition,
    whole: bool,
    scaled: bool,
    recovery: Recovery,
}

const METHODS: [Method; 11] = {
    use Decomposition::{Als, Sidiwo, Svd, Svtd, Tpm};
    use Recovery::{Coupled, First, Projected, Shrunk, Slices, Tensor};
    const fn method(
        name: &'static str,
        decomposition: Decomposition,
        (whole, scaled): (bool, bool),
        recovery: Recovery,
    ) -> Method {
        Method { name, decomposition, whole, scaled, recovery }
    }
    [
        method("tpm, as published", Tpm, (true, false), Tensor),
        method("svd, as published", Svd, (false, false), First),
        method("svtd, as published", Svtd, (false, false), Slices),
        method("als, as published", Als, (true, false), Tensor),
        method("sidiwo, as published", Sidiwo, (true, false), First),
        method("sidiwo, coupled recovery", Sidiwo, (true, false), Coupled),
        method("svtd, projected", Svtd, (false, false), Projected),
        method("sidiwo, shrunk", Sidiwo, (true, false), Shrunk),
        method("tpm, scaled", Tpm, (true, true), Tensor),
        method("svtd, scaled and projected", Svtd, (false, true), Projected),
        method("sidiwo, scaled and shrunk", Sidiwo, (true, true), Shrunk),
    ]
};

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

pub(crate) fn run(args: &RuffiniArgs) -> Result<Results> {
    let title = format!(
        "Ruffini 2019, Figure 2.1: Poisson naive Bayes, d = {}, k = {}, {} runs from seed {} (the figure has no numbers to copy)",
        args.features, args.components, args.runs, args.first_seed
    );
    let header = ["n", "method", "mean error", "standard error", "relative to tpm", "median ms after the moments"];
    let mut results = Results::new(title, &header);
    for &n in &args.rows {
        let (mut errors, mut times) = (vec![Vec::new(); METHODS.len() + 1], vec![Vec::new(); METHODS.len()]);
        for run in 0..args.runs {
            let mut rng = ChaCha8Rng::seed_from_u64(args.first_seed + run);
            let (truth, rows) = sample(args, n, &mut rng)?;
            let [plain, scaled] = [false, true].map(|scaled| moments(&rows, args.features, args.components, scaled));
            let (plain, scaled) = (plain?, scaled?);
            for (ix, method) in METHODS.iter().enumerate() {
                let problem = if method.scaled { &scaled } else { &plain };
                let start = Instant::now();
                let of = if method.whole { &problem.tensor } else { &problem.slices };
                let components = method.decomposition.decompose(of, &Options::new().seed(run))?;
                let found = means(problem, &components, method.recovery)?;
                times[ix].push(1e3 * start.elapsed().as_secs_f64());
                errors[ix].push(error(&truth, &found));
            }
            let same = Matrix::from_fn(args.features, args.components, |i, _| plain.first[i]);
            errors[METHODS.len()].push(error(&truth, &same));
        }
        let names = METHODS.iter().map(|method| method.name).chain(["every column E[x]"]);
        for (ix, name) in names.enumerate() {
            let average = mean(&errors[ix]);
            let squares: Vec<f64> = errors[ix].iter().map(|error| (error - average).powi(2)).collect();
            let median = times.get_mut(ix).map_or(String::new(), |times| {
                times.sort_by(f64::total_cmp);
                format!("{:.3}", times[times.len() / 2])
            });
            results.row([
                n.to_string(),
                name.to_owned(),
                format!("{average:.3}"),
                format!("{:.3}", (mean(&squares) / args.runs as f64).sqrt()),
                format!("{:.2}", average / mean(&errors[0])),
                median,
            ]);
        }
    }
    Ok(results)
}
