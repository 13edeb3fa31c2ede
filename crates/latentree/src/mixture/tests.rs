//! Weighted rows with exactly the moments of a model give the model back.

use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::moments::{MomentPlan, Parameters, SecondMoment};
use super::*;
use crate::data::{Batch, Block, ColumnData, Dataset, Kind, Schema, SparseRows};
use crate::linalg::{Matrix, cheapest_assignment};
use crate::model::Distribution;
use crate::moments::{Accumulator, Summary, fold};
use crate::observer::Silent;

/// Probabilities and means of a mixture.
struct Truth {
    weights: Vec<f64>,
    /// d×k.
    means: Matrix,
}

impl Truth {
    /// Columns of means are distributions over d words; each has some words of its own.
    fn topics(rng: &mut ChaCha8Rng, k: usize, d: usize) -> Self {
        let mut means = Matrix::from_fn(d, k, |i, c| rng.random_range(0.05..0.3) + if i % k == c { 1.0 } else { 0.0 });
        for c in 0..k {
            let sum: f64 = means.column(c).iter().sum();
            (0..d).for_each(|i| means[(i, c)] /= sum);
        }
        Self { weights: weights(rng, k), means }
    }

    /// The largest difference between the parameters, after matching components.
    fn error(&self, weights: &[f64], means: &Matrix) -> f64 {
        let k = self.weights.len();
        assert_eq!(weights.len(), k);
        let distance = |a: usize, b: usize| {
            (0..means.n_rows())
                .map(|i| (self.means[(i, a)] - means[(i, b)]).abs())
                .fold((self.weights[a] - weights[b]).abs(), f64::max)
        };
        let costs: Vec<f64> = (0..k * k).map(|at| distance(at / k, at % k)).collect();
        cheapest_assignment(&costs, k).iter().enumerate().map(|(a, &b)| costs[a * k + b]).fold(0.0, f64::max)
    }
}

fn weights(rng: &mut ChaCha8Rng, k: usize) -> Vec<f64> {
    let mut weights: Vec<f64> = (0..k).map(|_| rng.random_range(0.5..1.5)).collect();
    let sum: f64 = weights.iter().sum();
    weights.iter_mut().for_each(|weight| *weight /= sum);
    weights
}

fn schema(d: usize, kind: &Kind) -> Arc<Schema> {
    let mut builder = Schema::builder();
    for column in 0..d {
        builder = builder.scalar(format!("x{column}"), kind.clone());
    }
    Arc::new(builder.build().unwrap())
}

/// A table of weighted rows, sparse or dense.
fn table(rows: &[(Vec<f64>, f64)], kind: &Kind, sparse: bool) -> Dataset {
    let d = rows[0].0.len();
    let schema = schema(d, kind);
    let weights: Vec<f64> = rows.iter().map(|row| row.1).collect();
    if sparse {
        let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        for (row, _) in rows {
            for (column, &value) in row.iter().enumerate().filter(|it| *it.1 != 0.0) {
                columns.push(column as u32);
                values.push(value);
            }
            starts.push(columns.len());
        }
        let block = Block::Sparse(SparseRows { starts, columns, values: Some(values) });
        return Dataset::new(schema, vec![Batch { first_row: 0, n_rows: rows.len(), block, weights: Some(weights) }]);
    }
    let columns = (0..d).map(|column| {
        let mut data = ColumnData::for_kind(kind, rows.len());
        rows.iter().for_each(|row| data.push_number(row.0[column]));
        data
    });
    Dataset::from_columns(schema, columns.collect(), Some(weights)).unwrap()
}

/// All multisets of up to three of d words with their probabilities, if documents of length n have probability `shares[n]`
/// and `moment(words)` is the probability of a sequence of words.
fn documents(d: usize, shares: [f64; 4], moment: &dyn Fn(&[usize]) -> f64) -> Vec<(Vec<f64>, f64)> {
    let mut rows: std::collections::BTreeMap<Vec<u8>, f64> = Default::default();
    let mut add = |words: &[usize], share: f64| {
        let mut counts = vec![0_u8; d];
        words.iter().for_each(|&word| counts[word] += 1);
        *rows.entry(counts).or_default() += share * moment(words);
    };
    for (length, &share) in shares.iter().enumerate().filter(|it| *it.1 > 0.0) {
        for code in 0..d.pow(length as u32) {
            let words: Vec<usize> = (0..length).map(|at| code / d.pow(at as u32) % d).collect();
            add(&words, share);
        }
    }
    rows.into_iter().map(|(counts, weight)| (counts.into_iter().map(f64::from).collect(), weight)).collect()
}

fn of_mixture(truth: &Truth) -> impl Fn(&[usize]) -> f64 + '_ {
    |words| {
        (0..truth.weights.len())
            .map(|c| truth.weights[c] * words.iter().map(|&word| truth.means[(word, c)]).product::<f64>())
            .sum()
    }
}

/// Probabilities of the counts 0 to 3 that give the factorial moments of a Poisson variable with this mean.
fn poisson_shares(mean: f64) -> [f64; 4] {
    let three = mean.powi(3) / 6.0;
    let two = mean.powi(2) / 2.0 - 3.0 * three;
    let one = mean - 2.0 * two - 3.0 * three;
    [1.0 - one - two - three, one, two, three]
}

/// E[Π θ] of a Dirichlet distribution, over the topics of the words.
fn of_dirichlet(truth: &Truth, alpha: f64) -> impl Fn(&[usize]) -> f64 + '_ {
    move |words| {
        let k = truth.weights.len();
        let mut sum = 0.0;
        for code in 0..k.pow(words.len() as u32) {
            let (mut rest, mut counts, mut product) = (code, vec![0.0; k], 1.0);
            for (at, &word) in words.iter().enumerate() {
                let topic = rest % k;
                rest /= k;
                product *= truth.means[(word, topic)] * (counts[topic] + alpha * truth.weights[topic]) / (at as f64 + alpha);
                counts[topic] += 1.0;
            }
            sum += product;
        }
        sum
    }
}

fn recovered(data: &Dataset, family: MixtureFamily, method: MixtureMethod, k: usize, alpha: f64) -> Parameters {
    let summary = fold(&mut data.source(), Summary::new(Arc::clone(Dataset::schema(data))), &Silent).unwrap().finish().unwrap();
    let raw = method == MixtureMethod::Asvtd && family.is_corrected();
    let plan = MomentPlan { family, raw, alpha, most: k, seed: 0, population: true };
    let moment = SecondMoment::of(data, &summary, plan, &Silent).unwrap();
    let whitening = moment.whiten(k).unwrap();
    let is_raw = raw || !family.is_corrected();
    let slices = match method {
        MixtureMethod::Tpm | MixtureMethod::Als => false,
        MixtureMethod::Sidiwo => is_raw,
        _ => true,
    };
    let third = moment.third(data, &whitening, slices, &Silent).unwrap();
    moment.recover(&whitening, &third, method, 0).unwrap().0
}

/// Total weight of the rows in tests where the weight determines the noise of the moments.
const POPULATION: f64 = 1e18;

const EXACT: [MixtureMethod; 5] =
    [MixtureMethod::Tpm, MixtureMethod::Svd, MixtureMethod::Svtd, MixtureMethod::Als, MixtureMethod::Sidiwo];

#[test]
fn topics_come_back_from_the_moments_of_their_documents() {
    for k in 2..=8 {
        let mut rng = ChaCha8Rng::seed_from_u64(k as u64);
        let truth = Truth::topics(&mut rng, k, 9);
        let rows = documents(9, [0.0, 0.1, 0.3, 0.6], &of_mixture(&truth));
        for sparse in [false, true] {
            let data = table(&rows, &Kind::Count, sparse);
            for method in EXACT {
                let found = recovered(&data, MixtureFamily::SingleTopic, method, k, 0.0);
                let error = truth.error(&found.weights, &found.means);
                assert!(error < 1e-8, "k {k} {method} sparse {sparse}: {error:.1e}");
            }
        }
    }
}

#[test]
fn poisson_rates_come_back_from_their_factorial_moments() {
    for k in 2..=8 {
        let mut rng = ChaCha8Rng::seed_from_u64(100 + k as u64);
        let mut truth = Truth::topics(&mut rng, k, 9);
        let rows = documents(9, poisson_shares(0.8), &of_mixture(&truth));
        truth.means = Matrix::from_fn(9, k, |i, c| 0.8 * truth.means[(i, c)]);
        let data = table(&rows, &Kind::Count, k % 2 == 0);
        for method in EXACT {
            let found = recovered(&data, MixtureFamily::Poisson, method, k, 0.0);
            let error = truth.error(&found.weights, &found.means);
            assert!(error < 1e-8, "k {k} {method}: {error:.1e}");
        }
    }
}

#[test]
fn dirichlet_topics_come_back_and_a_small_concentration_is_a_single_topic() {
    for k in 2..=8 {
        let mut rng = ChaCha8Rng::seed_from_u64(200 + k as u64);
        let truth = Truth::topics(&mut rng, k, 9);
        for alpha in [0.2, 1.0, 7.0] {
            let data = table(&documents(9, [0.0, 0.0, 0.2, 0.8], &of_dirichlet(&truth, alpha)), &Kind::Count, true);
            for method in EXACT {
                let found = recovered(&data, MixtureFamily::Lda, method, k, alpha);
                let error = truth.error(&found.weights, &found.means);
                assert!(error < 1e-8, "k {k} alpha {alpha} {method}: {error:.1e}");
            }
        }
        let data = table(&documents(9, [0.0, 0.0, 0.2, 0.8], &of_mixture(&truth)), &Kind::Count, true);
        let single = recovered(&data, MixtureFamily::SingleTopic, MixtureMethod::Sidiwo, k, 0.0);
        let lda = recovered(&data, MixtureFamily::Lda, MixtureMethod::Sidiwo, k, 1e-12);
        assert!(Truth { weights: single.weights, means: single.means }.error(&lda.weights, &lda.means) < 1e-8);
    }
}

/// Rows `μ_c ± σ_c √d e_i`, whose moments up to the third are those of spherical normal vectors.
fn normal_rows(truth: &Truth, deviations: &[f64]) -> Vec<(Vec<f64>, f64)> {
    let (d, k) = (truth.means.n_rows(), truth.means.n_cols());
    let mut rows = Vec::new();
    for c in 0..k {
        for i in 0..d {
            for sign in [-1.0, 1.0] {
                let mut row = truth.means.column(c);
                row[i] += sign * deviations[c] * (d as f64).sqrt();
                rows.push((row, truth.weights[c] / (2 * d) as f64));
            }
        }
    }
    rows
}

#[test]
fn normal_means_come_back_whatever_their_origin() {
    for k in 2..=8 {
        let mut rng = ChaCha8Rng::seed_from_u64(300 + k as u64);
        let d = k + 2;
        for origin in [0.0, 50.0] {
            let means = Matrix::from_fn(d, k, |i, c| origin + rng.random_range(-1.0..1.0) + if i % k == c { 3.0 } else { 0.0 });
            let truth = Truth { weights: weights(&mut rng, k), means };
            let deviations: Vec<f64> = (0..k).map(|_| rng.random_range(0.5..1.0)).collect();
            let data = table(&normal_rows(&truth, &deviations), &Kind::Continuous, false);
            for method in EXACT {
                let found = recovered(&data, MixtureFamily::Gaussian, method, k, 0.0);
                let error = truth.error(&found.weights, &found.means);
                assert!(error < 1e-8 * (1.0 + origin), "k {k} origin {origin} {method}: {error:.1e}");
                let expected: f64 =
                    truth.weights.iter().zip(&deviations).map(|(weight, deviation)| weight * deviation * deviation).sum();
                assert!((found.variance.unwrap() - expected).abs() < 1e-8);
            }
        }
    }
}

#[test]
fn labels_come_back_by_views() {
    for k in 2..=8 {
        let mut rng = ChaCha8Rng::seed_from_u64(400 + k as u64);
        let levels = 9;
        let truths: Vec<Truth> = (0..3).map(|_| Truth::topics(&mut rng, k, levels)).collect();
        let mut rows = Vec::new();
        for code in 0..levels.pow(3) {
            let cells = [code % levels, code / levels % levels, code / levels / levels];
            let weight: f64 =
                (0..k).map(|c| truths[0].weights[c] * (0..3).map(|v| truths[v].means[(cells[v], c)]).product::<f64>()).sum();
            rows.push((cells.map(|cell| cell as f64).to_vec(), POPULATION * weight));
        }
        let data = table(&rows, &Kind::numbered(levels), false);
        let options = MixtureOptions::new(NumberOfComponents::Fixed(k)).method(MixtureMethod::MultiView).population(true);
        let fit = fit_mixture(&data, &options, &Silent).unwrap();
        let model = fit.star().unwrap();
        for (view, truth) in truths.iter().enumerate() {
            let Distribution::Discrete(found) = model.distribution(model.find(&format!("x{view}")).unwrap()) else { panic!() };
            let means = Matrix::from_fn(levels, k, |i, c| found.given(c)[i]);
            let truth = Truth { weights: truths[0].weights.clone(), means: truth.means.clone() };
            assert!(truth.error(&fit.weights, &means) < 1e-8, "k {k}: {:.1e}", truth.error(&fit.weights, &means));
        }
    }
}

#[test]
fn binary_columns_come_back_by_views() {
    for k in 2..=4 {
        let mut rng = ChaCha8Rng::seed_from_u64(500 + k as u64);
        let d = 3 * k;
        let means =
            Matrix::from_fn(d, k, |i, c| if i % k == c { rng.random_range(0.7..0.95) } else { rng.random_range(0.05..0.4) });
        let truth = Truth { weights: weights(&mut rng, k), means };
        let mut rows = Vec::new();
        for code in 0..1_usize << d {
            let bit = |i: usize| (code >> i & 1) as f64;
            let chance = |i: usize, c: usize| if bit(i) > 0.0 { truth.means[(i, c)] } else { 1.0 - truth.means[(i, c)] };
            let weight: f64 = (0..k).map(|c| truth.weights[c] * (0..d).map(|i| chance(i, c)).product::<f64>()).sum();
            rows.push(((0..d).map(bit).collect(), POPULATION * weight));
        }
        let data = table(&rows, &Kind::binary(), true);
        let options = MixtureOptions::new(NumberOfComponents::Fixed(k)).method(MixtureMethod::MultiView).population(true);
        let fit = fit_mixture(&data, &options, &Silent).unwrap();
        let model = fit.star().unwrap();
        let found = Matrix::from_fn(d, k, |i, c| match model.distribution(model.find(&format!("x{i}")).unwrap()) {
            Distribution::Discrete(table) => table.given(c)[1],
            _ => panic!(),
        });
        let error = truth.error(&fit.weights, &found);
        assert!(error < 1e-8, "k {k}: {error:.1e}");
    }
}

#[test]
fn independent_columns_with_holes_have_one_component() {
    let mut rng = ChaCha8Rng::seed_from_u64(9);
    let cell = |rng: &mut ChaCha8Rng| if rng.random_bool(0.05) { f64::NAN } else { f64::from(u8::from(rng.random_bool(0.4))) };
    let rows: Vec<(Vec<f64>, f64)> = (0..1500).map(|_| ((0..6).map(|_| cell(&mut rng)).collect(), 1.0)).collect();
    let fit =
        fit_mixture(&table(&rows, &Kind::binary(), false), &MixtureOptions::new(NumberOfComponents::Auto), &Silent).unwrap();
    assert_eq!(fit.weights.len(), 1);
    assert_eq!(fit.tried.iter().map(|it| it.components).collect::<Vec<_>>(), [1, 2, 3, 4]);
    // As many as asked for, although the moments support one.
    let three = MixtureOptions::new(NumberOfComponents::Fixed(3)).em(true);
    let fit = fit_mixture(&table(&rows, &Kind::binary(), false), &three, &Silent).unwrap();
    assert_eq!(fit.weights.len(), 3);
    assert!(fit.warnings.iter().any(|it| it.contains("begins at random")), "{:?}", fit.warnings);
}

/// Random binary rows of a mixture.
fn binary_rows(rng: &mut ChaCha8Rng, n: usize, d: usize, k: usize) -> Vec<(Vec<f64>, f64)> {
    let means = Matrix::from_fn(d, k, |_, _| rng.random_range(0.05..0.95));
    let row = |rng: &mut ChaCha8Rng| {
        let c = rng.random_range(0..k);
        (0..d).map(|i| f64::from(u8::from(rng.random_bool(means[(i, c)])))).collect()
    };
    (0..n).map(|_| (row(rng), 1.0)).collect()
}

#[test]
fn approximate_svtd_is_svtd_of_the_raw_moments() {
    let mut rng = ChaCha8Rng::seed_from_u64(600);
    let (n, d, k) = (400, 12, 3);
    let rows = binary_rows(&mut rng, n, d, k);
    // Algorithm 1 on the d×d×d tensor.
    let mean = |of: &dyn Fn(&[f64]) -> f64| rows.iter().map(|row| of(&row.0)).sum::<f64>() / n as f64;
    let second = Matrix::from_fn(d, d, |i, j| mean(&|x| x[i] * x[j]));
    let whitening = crate::tensor::Whitening::of_symmetric(&second, k, 0.0).unwrap();
    let w = whitening.whitener(0);
    let slices: Vec<f64> = (0..d)
        .flat_map(|r| w.transposed_times(&Matrix::from_fn(d, d, |i, j| mean(&|x| x[r] * x[i] * x[j])).times(w)).cells().to_vec())
        .collect();
    let slices = crate::tensor::WhitenedTensor::slices(k, &slices).unwrap();
    let components = crate::tensor::Decomposition::Svtd.decompose(&slices, &crate::tensor::Options::new()).unwrap();
    let first: Vec<f64> = (0..d).map(|i| mean(&|x| x[i])).collect();
    let expected = crate::tensor::Mixture::from_slices(&slices, &components, &first, None).unwrap();
    for sparse in [false, true] {
        let found = recovered(&table(&rows, &Kind::binary(), sparse), MixtureFamily::Bernoulli, MixtureMethod::Asvtd, k, 0.0);
        let truth = Truth { weights: expected.weights.clone(), means: expected.means[0].clone() };
        assert!(truth.error(&found.weights, &found.means) < 1e-10);
    }
    // The same for counts, whose moments with themselves differ.
    let counts = table(&rows, &Kind::Count, true);
    let found = recovered(&counts, MixtureFamily::Poisson, MixtureMethod::Asvtd, k, 0.0);
    let truth = Truth { weights: expected.weights.clone(), means: expected.means[0].clone() };
    assert!(truth.error(&found.weights, &found.means) < 1e-10);
}

#[test]
fn passes_merge_to_the_same_model_in_any_split() {
    let mut rng = ChaCha8Rng::seed_from_u64(700);
    let truth = Truth::topics(&mut rng, 3, 9);
    let rows = documents(9, [0.0, 0.1, 0.3, 0.6], &of_mixture(&truth));
    let whole = table(&rows, &Kind::Count, true);
    let expected = recovered(&whole, MixtureFamily::SingleTopic, MixtureMethod::Svtd, 3, 0.0);
    for size in [1, 7, 50] {
        let mut first_row = 0;
        let batches = rows.chunks(size).map(|part| {
            let data = table(part, &Kind::Count, first_row % 2 == 0);
            let mut batch = (*data.batches()[0]).clone();
            batch.first_row = first_row;
            first_row += part.len() as u64;
            batch
        });
        let split = Dataset::new(Arc::clone(Dataset::schema(&whole)), batches.collect());
        let found = recovered(&split, MixtureFamily::SingleTopic, MixtureMethod::Svtd, 3, 0.0);
        assert!(
            Truth { weights: expected.weights.clone(), means: expected.means.clone() }.error(&found.weights, &found.means) < 1e-9
        );
    }
}

#[test]
fn the_range_finder_finds_what_the_matrix_has() {
    let mut rng = ChaCha8Rng::seed_from_u64(800);
    let rows = binary_rows(&mut rng, 300, 30, 3);
    let data = table(&rows, &Kind::binary(), true);
    let summary = fold(&mut data.source(), Summary::new(Arc::clone(Dataset::schema(&data))), &Silent).unwrap().finish().unwrap();
    let features = crate::model::features::Features::new(Dataset::schema(&data), crate::model::features::Scaling::None, &summary);
    let run = |tests: Vec<f64>| {
        let sums = pair_sums::PairSums::new(features.clone(), pair_sums::Correction::Factorial, vec![0.5; 30], tests);
        fold(&mut data.source(), sums, &Silent).unwrap().finish().unwrap()
    };
    let dense = Matrix::new(30, 30, run(Vec::new()).second);
    let tests = Matrix::from_fn(30, 4, |_, _| rng.random_range(-1.0..1.0));
    let tested = run(tests.cells().to_vec()).second;
    assert!(dense.times(&tests).cells().iter().zip(&tested).all(|(x, y)| (x - y).abs() < 1e-9));
}

#[test]
fn fewer_centres_lie_in_the_best_range_and_two_have_the_least_angle() {
    // Theorems 5.3.1 and 5.3.3: if l < k components are requested, centres lie in the leading l eigenvectors of the second
    // moment.
    let mut rng = ChaCha8Rng::seed_from_u64(900);
    let truth = Truth::topics(&mut rng, 6, 9);
    let data = table(&documents(9, [0.0, 0.0, 0.0, 1.0], &of_mixture(&truth)), &Kind::Count, true);
    let factors: Vec<f64> =
        (0..9).map(|i| 1.0 / (3.0 * (0..6).map(|c| truth.weights[c] * truth.means[(i, c)]).sum::<f64>()).sqrt()).collect();
    let second = Matrix::from_fn(9, 9, |i, j| {
        factors[i] * factors[j] * (0..6).map(|c| truth.weights[c] * truth.means[(i, c)] * truth.means[(j, c)]).sum::<f64>()
    });
    for l in 2..=5 {
        let found = recovered(&data, MixtureFamily::SingleTopic, MixtureMethod::Svtd, l, 0.0);
        let range = crate::linalg::LeadingEigen::of_dense(second.cells(), 9, l, 0).unwrap();
        for c in 0..l {
            let centre: Vec<f64> = (0..9).map(|i| found.means[(i, c)] * factors[i]).collect();
            let length: f64 = centre.iter().map(|x| x * x).sum();
            let inside: f64 =
                range.vectors.iter().map(|vector| vector.iter().zip(&centre).map(|(x, y)| x * y).sum::<f64>().powi(2)).sum();
            assert!((length - inside).abs() < 1e-10 * length.max(1.0), "l {l}: {length} {inside}");
        }
    }
}

#[test]
fn odd_tables_are_refused_or_told_of() {
    let options = |k: usize| MixtureOptions::new(NumberOfComponents::Fixed(k));
    let message = |data: &Dataset, options: &MixtureOptions| fit_mixture(data, options, &Silent).unwrap_err().to_string();
    let ones = vec![(vec![1.0, 0.0, 1.0], 1.0); 30];
    let data = table(&ones, &Kind::binary(), true);
    assert!(message(&data, &options(5)).contains("cluster"), "{}", message(&data, &options(5)));
    let fit = fit_mixture(&data, &options(2), &Silent).unwrap();
    assert_eq!(fit.weights.len(), 1);
    assert!(
        fit.warnings.iter().any(|it| it.contains("all rows are equal")) && fit.warnings.iter().any(|it| it.contains("rank 1")),
        "{:?}",
        fit.warnings
    );
    let zeros = table(&vec![(vec![0.0, 0.0, 0.0], 1.0); 30], &Kind::Count, true);
    assert!(message(&zeros, &options(2)).contains("no second moment"), "{}", message(&zeros, &options(2)));
    let auto = MixtureOptions::new(NumberOfComponents::Auto);
    for options in [options(1), auto] {
        let fit = fit_mixture(&zeros, &options, &Silent).unwrap();
        assert!(fit.weights.len() == 1 && fit.log_likelihood.is_finite(), "{fit:?}");
    }
    assert!(message(&zeros, &options(1).family(MixtureFamily::SingleTopic)).contains("three words"));
    let short = table(
        &[(vec![1.0, 0.0, 0.0], 1.0), (vec![0.0, 0.0, 0.0], 1.0), (vec![3.0, 1.0, 0.0], 1.0), (vec![0.0, 2.0, 3.0], 1.0)],
        &Kind::Count,
        true,
    );
    let fit = fit_mixture(&short, &options(2).family(MixtureFamily::SingleTopic), &Silent).unwrap();
    assert_eq!(fit.labels.len(), 4);
    assert!(
        fit.warnings.iter().any(|it| it.contains("2 of 4 documents"))
            && fit.warnings.iter().any(|it| it.contains("1 document is empty")),
        "{:?}",
        fit.warnings
    );
    assert!(message(&short, &options(2).family(MixtureFamily::Lda).em(true)).contains("no EM for lda"));
    assert!(message(&short, &options(2).family(MixtureFamily::Gaussian)).contains("continuous"));
    assert!(
        message(&short, &options(2).family(MixtureFamily::SingleTopic).method(MixtureMethod::MultiView)).contains("documents")
    );
    let holes =
        table(&[(vec![f64::NAN, 0.0, 0.0], 1.0), (vec![3.0, 1.0, 0.0], 1.0), (vec![0.0, 2.0, 3.0], 1.0)], &Kind::Count, true);
    assert!(message(&holes, &options(2).family(MixtureFamily::SingleTopic)).contains("missing"));
    assert!(message(&holes, &options(2).method(MixtureMethod::Svtd)).contains("multi-view"));
    let empty = Dataset::new(schema(3, &Kind::Count), Vec::new());
    assert!(message(&empty, &options(2)).contains("no rows"));
}

#[test]
fn expectation_maximisation_does_not_lower_the_likelihood_and_topics_stay_distributions() {
    let mut rng = ChaCha8Rng::seed_from_u64(1000);
    let truth = Truth::topics(&mut rng, 3, 12);
    let rows: Vec<(Vec<f64>, f64)> = (0..500)
        .map(|_| {
            let c = rng.random_range(0..3);
            let mut row = vec![0.0; 12];
            for _ in 0..rng.random_range(0..30) {
                let mut left: f64 = rng.random();
                let word = (0..12).find(|&word| {
                    left -= truth.means[(word, c)];
                    left < 0.0
                });
                row[word.unwrap_or(11)] += 1.0;
            }
            (row, 1.0)
        })
        .collect();
    let data = table(&rows, &Kind::Count, true);
    let options = MixtureOptions::new(NumberOfComponents::Fixed(3)).family(MixtureFamily::SingleTopic);
    let plain = fit_mixture(&data, &options, &Silent).unwrap();
    let refined = fit_mixture(&data, &options.clone().em(true), &Silent).unwrap();
    assert!(refined.log_likelihood >= plain.log_likelihood);
    let given = refined.log_likelihood_given_lengths.unwrap();
    assert!(given > refined.log_likelihood, "lengths have probabilities below 1");
    let dense = table(&rows, &Kind::Count, false);
    let again = fit_mixture(&dense, &options.em(true), &Silent).unwrap();
    assert!(
        (again.log_likelihood - refined.log_likelihood).abs() < 1e-6 * given.abs(),
        "{} {}",
        again.log_likelihood,
        refined.log_likelihood
    );
    let auto =
        fit_mixture(&data, &MixtureOptions::new(NumberOfComponents::Auto).family(MixtureFamily::SingleTopic).em(true), &Silent)
            .unwrap();
    assert_eq!(auto.weights.len(), 3, "{:?}", auto.tried);
}

#[test]
fn few_rows_of_labels_show_their_two_classes_though_noise_hides_them_in_the_spectrum() {
    let mut rng = ChaCha8Rng::seed_from_u64(1000);
    let rows: Vec<(Vec<f64>, f64)> = (0..118)
        .map(|_| {
            let class = rng.random_bool(0.5);
            ((0..7).map(|_| f64::from(u8::from(rng.random_bool(if class { 0.9 } else { 0.1 })))).collect(), 1.0)
        })
        .collect();
    let fit = fit_mixture(
        &table(&rows, &Kind::numbered(2), false),
        &MixtureOptions::new(NumberOfComponents::Auto).family(MixtureFamily::Categorical).em(true),
        &Silent,
    )
    .unwrap();
    // One more class costs 8 · ½ ln 118 = 19 nats and explains 21 pairs with correlation 0.64.
    assert_eq!(fit.weights.len(), 2);
    assert!(fit.tried.len() > 2);
    assert!(!fit.warnings.iter().any(|warning| warning.contains("all zero")), "{:?}", fit.warnings);
}
