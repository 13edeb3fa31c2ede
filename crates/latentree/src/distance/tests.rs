use std::sync::Arc;

use nalgebra::DMatrix;
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::data::{Batch, Block, Column, ColumnData, Dataset, Kind, Schema, SparseRows};
use crate::error::Error;
use crate::index::{ColIx, VarIx};
use crate::inference::Inference;
use crate::model::LatentTree;
use crate::moments::{Accumulator, PairMoments, fold};
use crate::observer::{Observer, Silent};
use crate::simulate::{ParameterFamily, Shape, Simulation};

fn moments(data: &Dataset) -> PairMoments {
    fold(&mut data.source(), PairMoments::new(data.schema().clone()).unwrap(), &Silent).unwrap()
}

fn categorical(states: usize, hidden_states: usize) -> ParameterFamily {
    ParameterFamily::Categorical { states, hidden_states, separation: 0.6 }
}

/// The moments of a discrete model's population: every joint state once, weighted by its probability. `schema` may group columns.
fn population(model: &LatentTree, schema: Option<Schema>) -> PairMoments {
    let states: Vec<usize> = model.schema().columns().iter().map(|column| column.kind.n_states().unwrap()).collect();
    let n_rows: usize = states.iter().product();
    let mut stride = 1;
    let columns: Vec<ColumnData> = states
        .iter()
        .map(|&d| {
            let codes = (0..n_rows).map(|row| (row / stride % d) as u8).collect();
            stride *= d;
            ColumnData::Codes8(codes)
        })
        .collect();
    let plain = Dataset::from_columns(model.schema().clone(), columns.clone(), None).unwrap();
    let inference = Inference::new(model);
    let logs = plain.batches().iter().flat_map(|batch| inference.log_likelihood(batch).unwrap());
    let weights: Vec<f64> = logs.map(f64::exp).collect();
    let schema = schema.map_or_else(|| model.schema().clone(), Arc::new);
    moments(&Dataset::from_columns(schema, columns, Some(weights)).unwrap())
}

fn exact(moments: &PairMoments, estimator: Estimator, k: usize) -> DistanceMatrix {
    let options = DistanceOptions::exact().estimator(estimator).hidden_states(Some(k));
    estimate(moments, &options, &Silent).unwrap()
}

/// The largest error of the four-point condition on all quartets, and whether each has the tree's split; `steps` are numbers of
/// edges between the variables.
fn four_points(distances: &DistanceMatrix, steps: impl Fn(usize, usize) -> f64) -> f64 {
    let n = distances.len();
    let mut worst: f64 = 0.0;
    for a in 0..n {
        for b in 0..a {
            for c in 0..b {
                for d in 0..c {
                    let sums = |of: &dyn Fn(usize, usize) -> f64| [of(a, b) + of(c, d), of(a, c) + of(b, d), of(a, d) + of(b, c)];
                    let (found, tree) = (sums(&|i, j| distances.get(i, j).unwrap()), sums(&|i, j| steps(i, j)));
                    let largest = found.iter().copied().fold(0.0, f64::max);
                    let far = tree.iter().copied().fold(0.0, f64::max);
                    for (found, tree) in found.iter().zip(tree) {
                        if tree == far {
                            worst = worst.max(largest - found);
                        } else {
                            assert!(*found < largest + 1e-8);
                        }
                    }
                }
            }
        }
    }
    worst
}

fn steps(model: &LatentTree) -> impl Fn(usize, usize) -> f64 {
    let lengths = model.tree().with_lengths(|_| Some(1.0)).path_lengths().unwrap();
    let position = positions(model);
    move |i, j| lengths.get(position[i], position[j]).unwrap()
}

/// Where each variable is among the observed nodes.
fn positions(model: &LatentTree) -> Vec<usize> {
    let lengths = model.tree().with_lengths(|_| Some(1.0)).path_lengths().unwrap();
    let of = |variable: VarIx| lengths.nodes().iter().position(|&node| node == model.node_of(variable)).unwrap();
    model.schema().variable_ixs().map(of).collect()
}

#[test]
fn population_distances_are_the_sums_of_the_models_lengths() {
    for seed in 0..12 {
        for (family, k, estimators) in [
            (categorical(2, 2), 2, vec![Estimator::Auto, Estimator::Gaussian, Estimator::LogDet, Estimator::Canonical]),
            (categorical(3, 3), 3, vec![Estimator::Auto, Estimator::LogDet, Estimator::Multivariate, Estimator::Canonical]),
            (ParameterFamily::Symmetric { states: 3, strength: (0.4, 0.9) }, 3, vec![Estimator::Symmetric, Estimator::LogDet]),
        ] {
            let simulation =
                Simulation::new(Shape::Random { max_degree: Some(4) }, 6).family(family).observed_inner(0.3).seed(seed);
            let model = simulation.model().unwrap();
            let lengths = model.tree().path_lengths().unwrap();
            let position = positions(&model);
            let moments = population(&model, None);
            for estimator in estimators {
                let distances = exact(&moments, estimator, k);
                for i in 0..distances.len() {
                    for j in 0..i {
                        let (found, true_length) = (distances.get(i, j).unwrap(), lengths.get(position[i], position[j]).unwrap());
                        assert!((found - true_length).abs() < 1e-8, "{estimator} {family:?} {seed}: {found} {true_length}");
                    }
                }
            }
        }
    }
}

#[test]
fn canonical_distances_are_additive_where_variables_have_more_states_than_hidden_ones() {
    for seed in 0..10 {
        for k in [2, 3] {
            let simulation = Simulation::new(Shape::Random { max_degree: Some(4) }, 6).family(categorical(4, k)).seed(seed);
            let model = simulation.model().unwrap();
            let moments = population(&model, None);
            assert_eq!(choose_estimator(&moments, &DistanceOptions::new().hidden_states(Some(k))).unwrap(), Estimator::Canonical);
            for estimator in [Estimator::Auto, Estimator::Multivariate] {
                let distances = exact(&moments, estimator, k);
                assert!(four_points(&distances, steps(&model)) < 1e-8, "{estimator} {k} {seed}");
            }
            let distances = exact(&moments, Estimator::Canonical, k);
            for (i, j, l) in [(0, 1, 2), (3, 4, 5), (1, 3, 5)] {
                let d = |a, b| distances.get(a, b).unwrap();
                assert!(d(i, j) + d(i, l) - d(j, l) > -1e-9, "lengths of leaves' edges are not negative");
            }
        }
    }
}

#[test]
fn groups_are_additive_and_whitened_by_their_own_covariance() {
    for seed in 0..10 {
        // Leaves 2g and 2g+1 hang on one hidden node of a chain of four: together they are a vector-valued leaf.
        let model = Simulation::new(Shape::Caterpillar { leaves: 2 }, 8).family(categorical(3, 3)).seed(seed).model().unwrap();
        let lengths = steps(&model);
        let groups = [vec![0, 1], vec![2], vec![3], vec![4, 5], vec![6], vec![7]];
        assert!(lengths(0, 1) == 2.0 && lengths(4, 5) == 2.0);
        let columns = model.schema().columns();
        let schema = groups.iter().enumerate().fold(Schema::builder(), |builder, (ix, group)| match group[..] {
            [one] => builder.scalar(&columns[one].name, columns[one].kind.clone()),
            _ => builder.group(format!("g{ix}"), group.iter().map(|&it| columns[it].clone()).collect::<Vec<Column>>()),
        });
        let moments = population(&model, Some(schema.build().unwrap()));
        for estimator in [Estimator::Canonical, Estimator::Multivariate] {
            let distances = exact(&moments, estimator, 3);
            let worst = four_points(&distances, |i, j| lengths(groups[i][0], groups[j][0]));
            assert!(worst < 1e-8, "{estimator} {worst}");
        }
    }
}

/// A random conditional distribution of `d` labels given `k` states, by states.
fn conditional(rng: &mut impl Rng, d: usize, k: usize) -> Vec<Vec<f64>> {
    let row = |rng: &mut dyn Rng, state: usize| {
        let weights: Vec<f64> = (0..d).map(|x| rng.random_range(0.05..1.0) * if x % k == state { 4.0 } else { 1.0 }).collect();
        let sum: f64 = weights.iter().sum();
        weights.into_iter().map(|it| it / sum).collect()
    };
    (0..k).map(|state| row(rng, state)).collect()
}

/// `−½ ln det G` with `G = √w Aᵀ D⁻¹ A √w`: the length of the edge from a hidden node with weights w to a leaf with table A and
/// marginal D.
fn leaf_length(weights: &[f64], table: &[Vec<f64>]) -> f64 {
    let k = weights.len();
    let marginal = |x: usize| (0..k).map(|state| weights[state] * table[state][x]).sum::<f64>();
    let cell = |a: usize, b: usize| {
        let sum: f64 = (0..table[0].len()).map(|x| table[a][x] * table[b][x] / marginal(x)).sum();
        (weights[a] * weights[b]).sqrt() * sum
    };
    -0.5 * DMatrix::from_fn(k, k, cell).determinant().ln()
}

#[test]
fn wide_columns_have_the_distances_of_their_model_without_dense_tables() {
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    let weights = [0.5, 0.3, 0.2];
    let sizes = [520, 600, 40, 2];
    for k in [2, 3] {
        let weights: Vec<f64> = weights[..k].iter().map(|it| it / weights[..k].iter().sum::<f64>()).collect();
        let tables: Vec<Vec<Vec<f64>>> = sizes.iter().map(|&d| conditional(&mut rng, d, k)).collect();
        let schema =
            sizes.iter().enumerate().fold(Schema::builder(), |it, (ix, &d)| it.scalar(format!("x{ix}"), Kind::numbered(d)));
        let schema = Arc::new(schema.build().unwrap());
        // The joint table of two variables at a time, the others missing: pairwise-complete moments are exact.
        let mut whole = PairMoments::new(schema.clone()).unwrap();
        for a in 0..sizes.len() {
            for b in 0..a {
                let cells: Vec<(usize, usize)> = (0..sizes[a]).flat_map(|x| (0..sizes[b]).map(move |y| (x, y))).collect();
                let probability = |&(x, y): &(usize, usize)| -> f64 {
                    (0..k).map(|state| weights[state] * tables[a][state][x] * tables[b][state][y]).sum()
                };
                let columns = (0..sizes.len()).map(|column| {
                    let code = |&(x, y): &(usize, usize)| match column {
                        _ if column == a => Some(x as u32),
                        _ if column == b => Some(y as u32),
                        _ => None,
                    };
                    let mut data = ColumnData::for_kind(&schema.column(ColIx::new(column)).kind, cells.len());
                    cells.iter().for_each(|cell| data.push_code(code(cell)));
                    data
                });
                let block = Block::Dense(columns.collect());
                let row_weights = Some(cells.iter().map(probability).collect());
                whole.observe(&Batch { first_row: 0, n_rows: cells.len(), block, weights: row_weights }).unwrap();
            }
        }
        let lengths: Vec<f64> = tables.iter().map(|table| leaf_length(&weights, table)).collect();
        let used = if k == 2 { 4 } else { 3 };
        let distances = if k == 2 {
            exact(&whole, Estimator::Canonical, k)
        } else {
            let refused =
                estimate(&whole, &DistanceOptions::new().estimator(Estimator::Canonical).hidden_states(Some(3)), &Silent);
            assert!(refused.unwrap_err().to_string().contains("x3"));
            exact(&whole, Estimator::Auto, k)
        };
        for i in 0..used {
            for j in 0..i {
                let (found, expected) = (distances.get(i, j).unwrap(), lengths[i] + lengths[j]);
                assert!((found - expected).abs() < 1e-8, "{k} {i} {j}: {found} {expected}");
                assert!(distances.error(i, j).is_some_and(f64::is_finite));
            }
        }
    }
}

#[test]
fn a_wide_column_meets_numbers_and_groups_through_its_non_zero_cells() {
    let mut rng = ChaCha8Rng::seed_from_u64(12);
    let (n, d) = (4000, 700);
    let members = ["b", "c", "n"].iter().zip([Kind::binary(), Kind::numbered(3), Kind::Continuous]);
    let members = members.map(|(name, kind)| Column { name: (*name).to_owned(), kind }).collect();
    let builder = Schema::builder().scalar("wide", Kind::numbered(d)).scalar("number", Kind::Continuous);
    let schema = Arc::new(builder.group("group", members).build().unwrap());
    let wide: Vec<u32> = (0..n).map(|_| rng.random_range(0..d as u32)).collect();
    let hidden = |level: u32| f64::from(level % 5);
    let number: Vec<f64> = wide.iter().map(|&it| hidden(it) + rng.random_range(-3.0..3.0)).collect();
    let binary: Vec<u8> = wide.iter().map(|&it| u8::from(rng.random_range(-1.0..5.0) < hidden(it))).collect();
    let labels: Vec<u8> = wide.iter().map(|&it| ((hidden(it) + rng.random_range(0.0..4.0)) / 3.0) as u8).collect();
    let last: Vec<f64> = wide.iter().map(|&it| 100.0 - hidden(it) * rng.random_range(0.0..2.0)).collect();
    let columns = vec![
        ColumnData::Codes(wide.clone()),
        ColumnData::Reals(number.clone()),
        ColumnData::Codes8(binary.clone()),
        ColumnData::Codes8(labels.clone()),
        ColumnData::Reals(last.clone()),
    ];
    let distances = exact(&moments(&Dataset::from_columns(schema, columns, None).unwrap()), Estimator::Canonical, 2);
    // Canonical correlations with one-hot labels are those of the features' means between labels: S^(−1) B.
    let largest = |features: Vec<Vec<f64>>| {
        let m = features.len();
        let centred: Vec<Vec<f64>> = features
            .into_iter()
            .map(|it| {
                let mean = it.iter().sum::<f64>() / n as f64;
                it.into_iter().map(|x| x - mean).collect()
            })
            .collect();
        let total = DMatrix::from_fn(m, m, |a, b| (0..n).map(|row| centred[a][row] * centred[b][row]).sum::<f64>());
        let mut sums = vec![vec![0.0; m]; d];
        let mut counts = vec![0.0; d];
        for row in 0..n {
            counts[wide[row] as usize] += 1.0;
            (0..m).for_each(|a| sums[wide[row] as usize][a] += centred[a][row]);
        }
        let seen = (0..d).filter(|&level| counts[level] > 0.0);
        let between = seen.fold(DMatrix::zeros(m, m), |sum: DMatrix<f64>, level| {
            sum + DMatrix::from_fn(m, m, |a, b| sums[level][a] * sums[level][b] / counts[level])
        });
        let factor = total.cholesky().unwrap().l().try_inverse().unwrap();
        (&factor * between * factor.transpose()).symmetric_eigen().eigenvalues.max().sqrt()
    };
    let oracle = -largest(vec![number.clone()]).ln();
    assert!((distances.get(0, 1).unwrap() - oracle).abs() < 1e-9);
    let one_hot = |label: u8| labels.iter().map(|&it| f64::from(u8::from(it == label))).collect::<Vec<f64>>();
    let features = vec![binary.iter().map(|&it| f64::from(it)).collect(), one_hot(0), one_hot(1), last];
    let oracle = -largest(features).ln();
    assert!((distances.get(0, 2).unwrap() - oracle).abs() < 1e-8, "{} {oracle}", distances.get(0, 2).unwrap());
}

#[test]
fn gaussian_distances_are_within_their_standard_errors() {
    let family = ParameterFamily::Gaussian { correlation: (0.6, 0.9), random_sign: true };
    let model = Simulation::new(Shape::Random { max_degree: Some(4) }, 12).family(family).seed(3).model().unwrap();
    let rows = Inference::new(&model).sample(50_000, 1).unwrap();
    let distances = estimate(&moments(&rows), &DistanceOptions::new(), &Silent).unwrap();
    let (lengths, position) = (model.tree().path_lengths().unwrap(), positions(&model));
    let mut defined = 0;
    for i in 0..12 {
        for j in 0..i {
            let Some(found) = distances.get(i, j) else { continue };
            defined += 1;
            let error = distances.error(i, j).unwrap();
            assert!((found - lengths.get(position[i], position[j]).unwrap()).abs() < 6.0 * error);
        }
    }
    assert!(defined > 40, "{defined}");
}

#[test]
fn standard_errors_are_those_of_repeated_samples() {
    let skewed = ParameterFamily::Categorical { states: 2, hidden_states: 2, separation: 0.75 };
    let cases = [
        (ParameterFamily::Gaussian { correlation: (0.7, 0.9), random_sign: true }, Estimator::Gaussian, 2),
        (skewed, Estimator::Gaussian, 2),
        (categorical(3, 3), Estimator::LogDet, 3),
        (categorical(5, 2), Estimator::Canonical, 2),
        (ParameterFamily::Categorical { states: 5, hidden_states: 3, separation: 0.8 }, Estimator::Canonical, 3),
        (ParameterFamily::Categorical { states: 5, hidden_states: 3, separation: 0.8 }, Estimator::Multivariate, 3),
        (ParameterFamily::Symmetric { states: 4, strength: (0.6, 0.9) }, Estimator::Symmetric, 4),
    ];
    for (case, (family, estimator, k)) in cases.into_iter().enumerate() {
        let model = Simulation::new(Shape::Star, 3).family(family).seed(case as u64 + 1).model().unwrap();
        let options = DistanceOptions::new().estimator(estimator).hidden_states(Some(k)).significance(None);
        let inference = Inference::new(&model);
        let (repeats, n_rows) = (400, 4000);
        let mut found = vec![Vec::new(); 3];
        let mut errors = [0.0; 3];
        for repeat in 0..repeats {
            let rows = inference.sample(n_rows, 1000 + repeat).unwrap();
            let distances = estimate(&moments(&rows), &options, &Silent).unwrap();
            for pair in 0..3 {
                found[pair].push(distances.lower()[pair]);
                errors[pair] += distances.lower_errors().unwrap()[pair] / repeats as f64;
            }
        }
        for pair in 0..3 {
            let mean = found[pair].iter().sum::<f64>() / repeats as f64;
            let deviation = (found[pair].iter().map(|it| (it - mean).powi(2)).sum::<f64>() / repeats as f64).sqrt();
            let ratio = errors[pair] / deviation;
            assert!((0.8..1.25).contains(&ratio), "{estimator} {family:?} pair {pair}: {ratio}");
        }
    }
}

#[test]
fn independent_columns_have_no_distance_about_as_often_as_promised() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    for (d, k, most) in [(2, 2, 0.07), (4, 2, 0.10), (4, 3, 0.10), (9, 2, 0.10)] {
        let schema = (0..60).fold(Schema::builder(), |it, ix| it.scalar(format!("x{ix}"), Kind::numbered(d)));
        let columns = (0..60).map(|_| ColumnData::Codes8((0..2000).map(|_| rng.random_range(0..d as u8)).collect()));
        let data = Dataset::from_columns(Arc::new(schema.build().unwrap()), columns.collect(), None).unwrap();
        let options = DistanceOptions::new().hidden_states(Some(k));
        let distances = estimate(&moments(&data), &options, &Silent).unwrap();
        let defined = (distances.lower().len() - distances.n_undefined()) as f64 / distances.lower().len() as f64;
        assert!(defined < most, "{d} {k}: {defined}");
        let all = estimate(&moments(&data), &options.significance(None), &Silent).unwrap();
        assert_eq!(all.n_undefined(), 0);
    }
}

fn random_table(rng: &mut ChaCha8Rng, n_columns: usize, n_rows: usize, missing: f64) -> Dataset {
    let mut builder = Schema::builder();
    let mut columns = Vec::new();
    let mut column = |rng: &mut ChaCha8Rng, kind: &Kind| {
        let mut data = ColumnData::for_kind(kind, n_rows);
        let constant = rng.random_bool(0.1);
        let scale = 10_f64.powi(rng.random_range(-30..30));
        for row in 0..n_rows {
            let gone = rng.random_bool(missing);
            match kind.n_states() {
                Some(d) if constant => data.push_code((!gone).then_some(d as u32 - 1)),
                Some(d) => data.push_code((!gone).then(|| (rng.random_range(0..d * d) / d) as u32 * u32::from(row % 3 > 0))),
                None if constant => data.push_number(0.1 * scale),
                None => data.push_number(if gone { f64::NAN } else { scale * (rng.random_range(0..4) + row % 2) as f64 }),
            }
        }
        columns.push(data);
    };
    let kind = |rng: &mut ChaCha8Rng| match rng.random_range(0..5) {
        0 | 1 => Kind::binary(),
        2 => Kind::numbered(rng.random_range(1..6)),
        3 => Kind::numbered(30),
        _ => Kind::Continuous,
    };
    for ix in 0..n_columns {
        if rng.random_bool(0.2) {
            let members: Vec<Column> =
                (0..rng.random_range(1..4)).map(|member| Column { name: format!("g{ix}.{member}"), kind: kind(rng) }).collect();
            members.iter().for_each(|member| column(rng, &member.kind));
            builder = builder.group(format!("g{ix}"), members);
        } else {
            let kind = kind(rng);
            column(rng, &kind);
            builder = builder.scalar(format!("x{ix}"), kind);
        }
    }
    Dataset::from_columns(Arc::new(builder.build().unwrap()), columns, None).unwrap()
}

#[test]
fn every_distance_is_finite_with_a_finite_error_or_there_is_none_at_any_number_of_threads() {
    let pool = |n| rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap();
    let (one, four) = (pool(1), pool(4));
    let mut rng = ChaCha8Rng::seed_from_u64(21);
    for trial in 0..150 {
        let n_rows = [0, 1, 2, 7, 60][trial % 5];
        let missing = [0.0, 0.3, 0.95][trial % 3];
        let moments = moments(&random_table(&mut rng, 8, n_rows, missing));
        for estimator in Estimator::ALL {
            for significance in [Some(2.0), None] {
                let options = DistanceOptions::new().estimator(estimator).hidden_states(Some(2 + trial % 3));
                let options = options.significance(significance).smoothing([0.0, 0.5][trial % 2]);
                let run = || estimate(&moments, &options, &Silent);
                let Ok(distances) = one.install(run) else { continue };
                for (value, error) in distances.lower().iter().zip(distances.lower_errors().unwrap()) {
                    let fine = value.is_nan() && error.is_nan() || value.is_finite() && *value >= 0.0 && error.is_finite();
                    assert!(fine, "{estimator} {value} {error}");
                }
                let again = four.install(run).unwrap();
                let bits = |matrix: &DistanceMatrix| matrix.lower().iter().map(|it| it.to_bits()).collect::<Vec<_>>();
                assert_eq!(bits(&distances), bits(&again));
            }
        }
    }
}

#[test]
fn identical_columns_are_at_distance_zero_and_constants_and_strangers_have_none() {
    let mut rng = ChaCha8Rng::seed_from_u64(8);
    let n = 300;
    for (kind, k) in
        [(Kind::binary(), 2), (Kind::numbered(2), 2), (Kind::numbered(4), 4), (Kind::numbered(6), 3), (Kind::Continuous, 2)]
    {
        let mut data = ColumnData::for_kind(&kind, n);
        (0..n).for_each(|_| match kind.n_states() {
            Some(d) => data.push_code(Some(rng.random_range(0..d as u32))),
            None => data.push_number(rng.random_range(1e6..1e6 + 1.0)),
        });
        let mut constant = ColumnData::for_kind(&kind, n);
        (0..n).for_each(|_| constant.push_number(1.0));
        // Present in no row where the last column is.
        let (mut first, mut last) = (ColumnData::for_kind(&kind, n), ColumnData::for_kind(&kind, n));
        for row in 0..n {
            first.push_number(if row < n / 2 { data.number(row) } else { f64::NAN });
            last.push_number(if row < n / 2 { f64::NAN } else { data.number(row) });
        }
        let names = ["a", "same", "constant", "first", "last"];
        let schema = names.iter().fold(Schema::builder(), |it, name| it.scalar(*name, kind.clone()));
        let columns = vec![data.clone(), data, constant, first, last];
        let data = Dataset::from_columns(Arc::new(schema.build().unwrap()), columns, None).unwrap();
        let moments = moments(&data);
        for estimator in [Estimator::Auto, Estimator::Canonical, Estimator::Multivariate] {
            let options = DistanceOptions::new().estimator(estimator).hidden_states(Some(k));
            let distances = estimate(&moments, &options, &Silent).unwrap();
            assert_eq!(distances.get(0, 1), Some(0.0), "{estimator} {kind:?}");
            assert!(distances.error(0, 1).is_some_and(|error| error > 0.0 && error.is_finite()));
            assert_eq!((distances.get(0, 2), distances.get(3, 4)), (None, None), "{estimator} {kind:?}");
            assert!(distances.get(0, 3).is_some_and(|it| it < 0.2) && distances.get(0, 4).is_some(), "{estimator} {kind:?}");
        }
    }
}

#[test]
fn sparse_rows_and_weights_give_what_dense_and_repeated_rows_give() {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let schema = (0..5).fold(Schema::builder(), |it, ix| it.scalar(format!("x{ix}"), Kind::binary()));
    let schema = Arc::new(schema.build().unwrap());
    let rows: Vec<Vec<u32>> = (0..500)
        .map(|_| {
            let common = rng.random_bool(0.3);
            (0..5_u32).filter(|_| rng.random_bool(if common { 0.6 } else { 0.1 })).collect()
        })
        .collect();
    let mut sparse = SparseRows::default();
    for row in &rows {
        sparse.columns.extend(row);
        sparse.starts.push(sparse.columns.len());
    }
    let batch = Batch { first_row: 0, n_rows: 500, block: Block::Sparse(sparse), weights: Some(vec![2.5; 500]) };
    let mut weighted = PairMoments::new(schema.clone()).unwrap();
    weighted.observe(&batch).unwrap();
    let dense = (0..5).map(|column| ColumnData::Codes8(rows.iter().map(|row| u8::from(row.contains(&column))).collect()));
    let plain = moments(&Dataset::from_columns(schema, dense.collect(), None).unwrap());
    let (a, b) = (estimate(&weighted, &DistanceOptions::new(), &Silent), estimate(&plain, &DistanceOptions::new(), &Silent));
    let (a, b) = (a.unwrap(), b.unwrap());
    assert_eq!(a.n_undefined(), b.n_undefined());
    for pair in (0..10).filter(|&pair| !a.lower()[pair].is_nan()) {
        // Equal weights of any size tell as much as rows without weights.
        assert!((a.lower()[pair] - b.lower()[pair]).abs() < 1e-12);
        assert!((a.lower_errors().unwrap()[pair] - b.lower_errors().unwrap()[pair]).abs() < 1e-12);
    }
}

#[test]
fn estimators_that_do_not_apply_say_which_variable_is_in_the_way() {
    let builder = Schema::builder().scalar("two", Kind::binary()).scalar("three", Kind::numbered(3));
    let schema = Arc::new(builder.scalar("number", Kind::Continuous).build().unwrap());
    let columns = vec![
        ColumnData::Codes8((0..90).map(|row| (row % 2) as u8).collect()),
        ColumnData::Codes8((0..90).map(|row| (row % 3) as u8).collect()),
        ColumnData::Reals((0..90).map(|row| f64::from(row % 7)).collect()),
    ];
    let moments = moments(&Dataset::from_columns(schema, columns, None).unwrap());
    for (estimator, k, name) in [
        (Estimator::Gaussian, 2, "three"),
        (Estimator::LogDet, 2, "three"),
        (Estimator::Symmetric, 2, "three"),
        (Estimator::Canonical, 3, "two"),
        (Estimator::Multivariate, 3, "two"),
    ] {
        let options = DistanceOptions::new().estimator(estimator).hidden_states(Some(k));
        let error = estimate(&moments, &options, &Silent).unwrap_err();
        assert!(matches!(error, Error::Data { .. }) && error.to_string().contains(name), "{error}");
    }
    for options in [
        DistanceOptions::new().hidden_states(Some(1)),
        DistanceOptions::new().significance(Some(f64::NAN)),
        DistanceOptions::new().smoothing(-1.0),
    ] {
        assert!(matches!(estimate(&moments, &options, &Silent), Err(Error::Option { .. })));
    }
    assert!("euclidean".parse::<Estimator>().unwrap_err().to_string().contains("logdet"));
    assert!(Estimator::ALL.iter().all(|it| it.name().parse::<Estimator>().unwrap() == *it));
}

#[test]
fn cancelling_ends_the_pass() {
    struct Stop;
    impl Observer for Stop {
        fn cancelled(&self) -> bool {
            true
        }
    }
    let model = Simulation::new(Shape::Star, 5).family(categorical(2, 2)).model().unwrap();
    let moments = population(&model, None);
    assert!(estimate(&moments, &DistanceOptions::new(), &Stop).unwrap_err().is_cancelled());
}
