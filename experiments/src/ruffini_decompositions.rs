//! Ruffini 2019, §2.3 and Figure 2.1: Poisson naive Bayes models, d = 100, k = 5, n = 1,000 … 10,000; error and time of each
//! decomposition.
//!
//! Parameters as in his footnote 5: cells of M uniform, columns scaled to sum 5; weights uniform, scaled to sum 1; new ones for each
//! run. Error `‖M̂ − M‖_F`, columns matched. Second and third moments are the unbiased ones of Proposition 1.2.1 (factorial moments);
//! the whitened tensor and the d whitened slices are summed over rows, without a d×d×d array.

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
    means: Matrix,
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

fn moments(means: Matrix, rows: &[Row], k: usize) -> Result<Problem> {
    let d = means.n_rows();
    let share = 1.0 / rows.len() as f64;
    let (mut first, mut second) = (vec![0.0; d], Matrix::zeros(d, d));
    for row in rows {
        for &(i, x) in row {
            first[i] += share * x;
            row.iter().for_each(|&(j, y)| second[(i, j)] += share * x * y);
            second[(i, i)] -= share * x;
        }
    }
    let whitening = Whitening::of_symmetric(&second, k, 0.0)?;
    let w = whitening.whitener(0);
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
    let (tensor, slices) = (WhitenedTensor::tensor(k, &tensor)?, WhitenedTensor::slices(k, &slices)?);
    let noise =
        |mean_square: f64, squared_norm: f64, cells: usize| cell_noise(mean_square, squared_norm, cells, rows.len() as f64);
    let noise_ratio = (noise(sixth, tensor.norm().powi(2), k * k * k) / noise(fourth, k as f64, k * k)).powi(2);
    Ok(Problem { means, first, whitening, tensor, slices, noise_ratio })
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
    /// Second and third moments weighed by their noise.
    Coupled,
}

fn means(problem: &Problem, components: &Components, recovery: Recovery) -> Result<Matrix> {
    let Problem { first, whitening, tensor, slices, noise_ratio, .. } = problem;
    let mixture = match recovery {
        Recovery::Tensor => Mixture::recover(whitening, components, None)?,
        Recovery::First => Mixture::recover(whitening, components, Some(&[first]))?,
        Recovery::Slices => Mixture::from_slices(slices, components, first)?,
        Recovery::Coupled => Mixture::recover_coupled(whitening, tensor, components, &[first], *noise_ratio)?,
    };
    Ok(mixture.means[0].clone())
}

/// A method, whether it is given the whole tensor or the d slices, and its recovery.
struct Method {
    name: &'static str,
    decomposition: Decomposition,
    whole: bool,
    recovery: Recovery,
}

const METHODS: [Method; 9] = {
    use Decomposition::{Als, Sidiwo, Svd, Svtd, Tpm};
    use Recovery::{Coupled, First, Slices, Tensor};
    const fn method(name: &'static str, decomposition: Decomposition, whole: bool, recovery: Recovery) -> Method {
        Method { name, decomposition, whole, recovery }
    }
    [
        method("tpm", Tpm, true, Tensor),
        method("svd", Svd, false, First),
        method("svtd", Svtd, false, Slices),
        method("als", Als, true, Tensor),
        method("sidiwo", Sidiwo, true, First),
        method("sidiwo, coupled recovery", Sidiwo, true, Coupled),
        method("tpm, means by slices", Tpm, true, Slices),
        method("svtd of the tensor, means by slices", Svtd, true, Slices),
        method("sidiwo, means by slices", Sidiwo, true, Slices),
    ]
};

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

pub(crate) fn run(args: &RuffiniArgs) -> Result<Results> {
    let title = format!(
        "Ruffini 2019, Figure 2.1: Poisson naive Bayes, d = {}, k = {}, {} runs (the figure has no numbers to copy)",
        args.features, args.components, args.runs
    );
    let header = ["n", "method", "mean error", "standard error", "relative to tpm", "median ms after the moments"];
    let mut results = Results::new(title, &header);
    for &n in &args.rows {
        let (mut errors, mut times) = (vec![Vec::new(); METHODS.len() + 1], vec![Vec::new(); METHODS.len()]);
        for run in 0..args.runs {
            let mut rng = ChaCha8Rng::seed_from_u64(args.first_seed + run);
            let (truth, rows) = sample(args, n, &mut rng)?;
            let problem = moments(truth, &rows, args.components)?;
            for (ix, method) in METHODS.iter().enumerate() {
                let start = Instant::now();
                let of = if method.whole { &problem.tensor } else { &problem.slices };
                let components = method.decomposition.decompose(of, &Options::new().seed(run))?;
                let found = means(&problem, &components, method.recovery)?;
                times[ix].push(1e3 * start.elapsed().as_secs_f64());
                errors[ix].push(error(&problem.means, &found));
            }
            let same = Matrix::from_fn(args.features, args.components, |i, _| problem.first[i]);
            errors[METHODS.len()].push(error(&problem.means, &same));
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
