//! Oracles: enumeration of all states on small trees, counting on complete data, published maxima, and laws that hold for every fit.

mod real_data;

use std::sync::{Arc, Mutex};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{Em, EmFit, ExpectedCounts, Smoothing, Start, Stop, merge_rows, template};
use crate::data::{Batch, Block, Column, ColumnData, Dataset, Kind, Schema, SparseRows};
use crate::error::{Error, Result};
use crate::index::NodeIx;
use crate::inference::tests::{Enumeration, close, random_discrete, random_rows};
use crate::inference::{Engine, Inference, Scratch, SparsePlan};
use crate::model::{Distribution, Emission, LatentTree};
use crate::moments::{Accumulator as _, PairMoments, fold};
use crate::observer::Silent;
use crate::simulate::{ParameterFamily, RandomKind, RandomModelOptions, Shape, Simulation, random_model};
use crate::structure::{CorrelationSample, maximum_likelihood};
use crate::tree::Tree;

/// The same rows with random weights, some of them zero.
fn weighted(data: &Dataset, seed: u64) -> Dataset {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let batches = data.batches().iter().map(|batch| {
        let weights = (0..batch.n_rows).map(|_| f64::from(rng.random_range(0..5_u8)) * 0.5).collect();
        Batch { weights: Some(weights), ..(**batch).clone() }
    });
    Dataset::new(Arc::clone(data.schema()), batches.collect())
}

fn counts_of(model: &LatentTree, data: &Dataset) -> ExpectedCounts {
    fold(&mut data.source(), ExpectedCounts::new(Arc::new(model.clone())), &Silent).unwrap()
}

/// Sums of an emission in one state of the parent, in the order of the layout and from shift zero.
fn emission_sums(emission: &Emission, cells: &[f64]) -> Vec<Vec<f64>> {
    match emission {
        Emission::Group(members) => members.iter().zip(cells).flat_map(|(it, &cell)| emission_sums(it, &[cell])).collect(),
        Emission::Categorical(table) => {
            vec![(0..table.n_states()).map(|state| f64::from(u8::from(cells[0] == state as f64))).collect()]
        }
        _ if cells[0].is_nan() => vec![vec![0.0; if matches!(emission, Emission::Gaussian { .. }) { 3 } else { 2 }]],
        Emission::Gaussian { .. } => vec![vec![1.0, cells[0], cells[0] * cells[0]]],
        Emission::Poisson { .. } => vec![vec![1.0, cells[0]]],
    }
}

#[test]
fn expected_counts_equal_enumeration() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    for trial in 0..150_u64 {
        let model = random_discrete(&mut rng, 8, trial % 2 == 1);
        let rows = weighted(&random_rows(&model, trial, 7), trial);
        let counts = counts_of(&model, &rows);
        let batch = &rows.batches()[0];
        let mut ln_likelihood = 0.0;
        let mut exact: Vec<Vec<f64>> = model.tree().node_ixs().map(|node| vec![0.0; counts.layout.range(node).len()]).collect();
        for row in 0..batch.n_rows {
            let oracle = Enumeration::new(&model, batch, row, &[]);
            let total = oracle.total();
            let weight = batch.weight(row);
            if weight > 0.0 {
                ln_likelihood += weight * total.ln();
            }
            for (states, probability) in &oracle.assignments {
                let share = weight * probability / total;
                for node in model.tree().node_ixs() {
                    let own = &mut exact[node.get()];
                    let parent = model.parent(node).map_or(0, |parent| states[parent.get()]);
                    let cells: Vec<f64> = model.variable(node).map_or(Vec::new(), |variable| {
                        model.schema().variable(variable).columns.iter().map(|&it| batch.number(row, it)).collect()
                    });
                    let is_leaf = model.tree().degree(node) <= 1 && model.parent(node).is_some();
                    match model.distribution(node) {
                        Distribution::Discrete(_) if is_leaf && !cells.is_empty() && cells[0].is_nan() => {}
                        Distribution::Discrete(table) => own[parent * table.n_states() + states[node.get()]] += share,
                        Distribution::Emission(emission) => {
                            let k = emission.n_parent_states().unwrap();
                            let mut at = 0;
                            for sums in emission_sums(emission, &cells) {
                                for (ix, value) in sums.iter().enumerate() {
                                    own[at + parent * sums.len() + ix] += share * value;
                                }
                                at += k * sums.len();
                            }
                        }
                        Distribution::LinearGaussian { .. } => unreachable!(),
                    }
                }
            }
        }
        assert!(close(counts.log_likelihood(), ln_likelihood, 1e-10), "trial {trial}");
        for node in model.tree().node_ixs() {
            let mut own = counts.sums.counts[counts.layout.range(node)].to_vec();
            unshift(&model, node, &counts, &mut own);
            for (value, exact) in own.iter().zip(&exact[node.get()]) {
                assert!((value - exact).abs() < 1e-10 * (1.0 + exact.abs()), "trial {trial} {node:?}: {value} {exact}");
            }
        }
    }
}

/// Measures the sums of continuous leaves from zero.
fn unshift(model: &LatentTree, node: NodeIx, counts: &ExpectedCounts, own: &mut [f64]) {
    let (Distribution::Emission(emission), Some(variable)) = (model.distribution(node), model.variable(node)) else { return };
    let members = match emission {
        Emission::Group(members) => members.clone(),
        single => vec![single.clone()],
    };
    let mut at = 0;
    for (member, column) in members.iter().zip(&model.schema().variable(variable).columns) {
        let size = crate::inference::emission_size(member);
        if matches!(member, Emission::Gaussian { .. }) {
            let shift = counts.layout.shifts[column.get()];
            for sums in own[at..at + size].chunks_exact_mut(3) {
                sums[2] += 2.0 * shift * sums[1] + shift * shift * sums[0];
                sums[1] += shift * sums[0];
            }
        }
        at += size;
    }
}

fn never_falls(fit: &EmFit, what: &str) {
    for pair in fit.objective.windows(2) {
        assert!(pair[1] >= pair[0] - 1e-9 * (1.0 + pair[0].abs()), "{what}: {} after {}", pair[1], pair[0]);
    }
    assert!(!fit.warnings.iter().any(|warning| warning.contains("fell")), "{what}: {:?}", fit.warnings);
}

#[test]
fn the_objective_never_falls_in_any_family() {
    for seed in 0..36_u64 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let kind = [RandomKind::Categorical, RandomKind::Mixed, RandomKind::Gaussian][seed as usize % 3];
        let options = RandomModelOptions {
            n_observed: 7,
            observed_inner: if seed % 2 == 0 { 0.4 } else { 0.0 },
            n_degree_two: 1,
            n_trees: 1 + (seed as usize / 6) % 2,
            kind,
            ..RandomModelOptions::default()
        };
        let truth = random_model(&mut rng, &options).unwrap();
        let inference = Inference::new(&truth);
        let mut sampler = inference.sampler(300, seed).missing(if seed % 4 == 0 { 0.0 } else { 0.3 });
        let rows = weighted(&Dataset::read(&mut sampler).unwrap(), seed);
        for accelerate in [false, true] {
            for pseudo_count in [0.0, 0.3] {
                let em = Em::new().accelerate(accelerate).iterations(60).smoothing(Smoothing::pseudo_count(pseudo_count));
                let fit = em.clone().start(Start::Random { restarts: 1, seed }).fit(&truth, &rows, &Silent).unwrap();
                never_falls(&fit, &format!("seed {seed} {kind:?} {accelerate} {pseudo_count}"));
                assert!(fit.objective.last() > fit.objective.first());
            }
        }
    }
}

#[test]
fn without_hidden_nodes_and_missing_cells_one_step_is_counting() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let options = RandomModelOptions { observed_inner: 1.0, ..RandomModelOptions::default() };
    let truth = random_model(&mut rng, &options).unwrap();
    assert_eq!(truth.tree().n_hidden(), 0);
    let rows = Inference::new(&truth).sample(500, 1).unwrap();
    let model = counts_of(&truth, &rows).maximise(&Smoothing::none()).unwrap();
    let batch = &rows.batches()[0];
    let column = |node: NodeIx| model.schema().variable(model.variable(node).unwrap()).columns[0];
    for node in model.tree().node_ixs() {
        let Distribution::Discrete(table) = model.distribution(node) else { unreachable!() };
        let mut counts = vec![0.0; table.values().len()];
        for row in 0..batch.n_rows {
            let parent = model.parent(node).map_or(0, |parent| batch.number(row, column(parent)) as usize);
            counts[parent * table.n_states() + batch.number(row, column(node)) as usize] += 1.0;
        }
        for (row, counts) in table.rows().zip(counts.chunks_exact(table.n_states())) {
            let total: f64 = counts.iter().sum();
            for (value, count) in row.iter().zip(counts).filter(|_| total > 0.0) {
                assert!((value - count / total).abs() < 1e-12);
            }
        }
    }
    let fit = Em::new().smoothing(Smoothing::none()).fit(&model, &rows, &Silent).unwrap();
    assert!(fit.converged() && (fit.objective.last().unwrap() - fit.objective[0]).abs() < 1e-8);
}

#[test]
fn a_gaussian_tree_reaches_the_maximum_of_its_correlations() {
    for seed in 0..4 {
        let truth = Simulation::new(Shape::Random { max_degree: Some(4) }, 9).seed(seed).model().unwrap();
        let rows = Inference::new(&truth).sample(2000, seed).unwrap();
        let moments = fold(&mut rows.source(), PairMoments::new(Arc::clone(rows.schema())).unwrap(), &Silent).unwrap();
        let sample = CorrelationSample::from_moments(&moments).unwrap();
        let (best, _) = maximum_likelihood(truth.tree(), &sample);
        // Of standardised data; the scale adds −n Σ ln σ, the constant −½ np ln 2π.
        let deviations: f64 = (0..9)
            .map(|ix| {
                let values: Vec<f64> = rows
                    .batches()
                    .iter()
                    .flat_map(|it| (0..it.n_rows).map(|row| it.number(row, crate::ColIx::new(ix))))
                    .collect();
                let mean = values.iter().sum::<f64>() / 2000.0;
                0.5 * (values.iter().map(|it| (it - mean).powi(2)).sum::<f64>() / 2000.0).ln()
            })
            .sum();
        let best = best - 2000.0 * (deviations + 4.5 * std::f64::consts::TAU.ln());
        for merge in [true, false] {
            let em = Em::new().tolerance(1e-12).iterations(3000).merge(merge);
            let fit = em.fit(&truth, &rows, &Silent).unwrap();
            never_falls(&fit, "Gaussian");
            let reached = *fit.log_likelihood.last().unwrap();
            assert!((reached - best).abs() < 1e-3, "seed {seed} merge {merge}: {reached} {best}");
            let score = Inference::new(&fit.model).score(&mut rows.source(), &Silent, |_, _| Ok(())).unwrap();
            assert!((score.log_likelihood - reached).abs() < 1e-5, "{} {reached}", score.log_likelihood);
        }
    }
}

#[test]
fn counts_merge_through_bytes_and_are_the_same_at_any_number_of_threads() {
    for (seed, kind) in [(1, RandomKind::Categorical), (2, RandomKind::Mixed), (3, RandomKind::Gaussian)] {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let model = random_model(&mut rng, &RandomModelOptions { kind, ..RandomModelOptions::default() }).unwrap();
        let inference = Inference::new(&model);
        let rows = Dataset::read(&mut inference.sampler(9000, seed).missing(0.1)).unwrap();
        let with_threads = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| counts_of(&model, &rows).to_bytes().unwrap())
        };
        let whole = with_threads(1);
        assert_eq!(whole, with_threads(2));
        assert_eq!(whole, with_threads(3));
        let mut merged = ExpectedCounts::new(Arc::new(model.clone()));
        for batch in rows.batches() {
            let mut part = merged.empty();
            part.observe(batch).unwrap();
            merged.merge(ExpectedCounts::from_bytes(&part.to_bytes().unwrap()).unwrap()).unwrap();
        }
        assert_eq!(merged.to_bytes().unwrap(), whole);
        for cut in [0, 7, 20, whole.len() / 2, whole.len() - 1] {
            assert!(ExpectedCounts::from_bytes(&whole[..cut]).is_err());
        }
        let mut changed = whole.clone();
        let at = changed.len() - 20;
        changed[at] ^= 1;
        assert!(ExpectedCounts::from_bytes(&changed).is_err());
        let other = counts_of(&model, &rows).maximise(&Smoothing::default()).unwrap();
        assert!(merged.merge(ExpectedCounts::new(Arc::new(other))).is_err());
    }
}

fn binary_star(n_observed: usize, seed: u64) -> LatentTree {
    let family = ParameterFamily::Categorical { states: 2, hidden_states: 2, separation: 0.6 };
    Simulation::new(Shape::DoubleStar, n_observed).family(family).seed(seed).model().unwrap()
}

#[test]
fn merged_rows_say_the_same() {
    let model = binary_star(6, 1);
    let rows = weighted(&Inference::new(&model).sample(5000, 2).unwrap(), 3);
    let merged = merge_rows(&rows).unwrap().unwrap();
    assert!(merged.n_rows() <= 64);
    let (a, b) = (counts_of(&model, &rows), counts_of(&model, &merged));
    assert!((a.log_likelihood() - b.log_likelihood()).abs() < 1e-8 && (a.weight() - b.weight()).abs() < 1e-9);
    for (a, b) in a.sums.counts.iter().zip(&b.sums.counts) {
        assert!((a - b).abs() < 1e-8);
    }
    let wide = binary_star(60, 1);
    assert!(merge_rows(&Inference::new(&wide).sample(500, 2).unwrap()).unwrap().is_none());
}

#[test]
fn restarts_start_differently_and_the_best_is_no_worse() {
    let truth = binary_star(8, 4);
    let rows = Inference::new(&truth).sample(400, 5).unwrap();
    let em = Em::new().iterations(40);
    let one = em.clone().start(Start::Random { restarts: 1, seed: 6 }).fit(&truth, &rows, &Silent).unwrap();
    let four = em.clone().start(Start::Random { restarts: 4, seed: 6 }).fit(&truth, &rows, &Silent).unwrap();
    assert!(four.objective.last() >= one.objective.last());
    let summary = fold(&mut rows.source(), crate::moments::Summary::new(Arc::clone(rows.schema())), &Silent).unwrap();
    let starts: Vec<LatentTree> = (0..4).map(|ix| super::starts::random_start(&truth, &summary, 6, ix).unwrap()).collect();
    for a in 0..4 {
        assert!((0..a).all(|b| starts[a] != starts[b]));
    }
    let again = em.start(Start::Random { restarts: 4, seed: 6 }).fit(&truth, &rows, &Silent).unwrap();
    assert_eq!(four, again);
}

#[test]
fn a_resumed_fit_has_the_bytes_of_an_uninterrupted_one() {
    let truth = binary_star(8, 7);
    let inference = Inference::new(&truth);
    let rows = Dataset::read(&mut inference.sampler(600, 8).missing(0.1)).unwrap();
    let validation = inference.sample(200, 9).unwrap();
    for accelerate in [false, true] {
        let em = Em::new().iterations(30).tolerance(0.0).accelerate(accelerate).validation(&validation, 50);
        let em = em.start(Start::Random { restarts: 3, seed: 1 });
        let whole = em.fit(&truth, &rows, &Silent).unwrap();
        let saved: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());
        let save = |bytes: &[u8]| -> Result<()> {
            saved.lock().unwrap().push(bytes.to_vec());
            Ok(())
        };
        assert_eq!(em.clone().checkpoint(7, &save).fit(&truth, &rows, &Silent).unwrap(), whole);
        let saved = saved.lock().unwrap();
        assert!(saved.len() >= 6);
        for bytes in saved.iter() {
            let resumed = em.resume(bytes, &rows, &Silent).unwrap();
            assert_eq!(resumed.model.to_json_string(), whole.model.to_json_string());
            assert_eq!(resumed, whole);
        }
        assert!(em.resume(&saved[0][..saved[0].len() / 2], &rows, &Silent).is_err());
        assert!(em.resume(b"{}", &rows, &Silent).is_err());
        // A step that fails to save stops the fit.
        let refuse = |_: &[u8]| -> Result<()> { Err(Error::Cancelled) };
        assert!(em.clone().checkpoint(5, &refuse).fit(&truth, &rows, &Silent).is_err());
    }
}

#[test]
fn validation_rows_stop_early_and_keep_their_best_model() {
    let truth = binary_star(12, 10);
    let inference = Inference::new(&truth);
    let (rows, validation) = (inference.sample(60, 11).unwrap(), inference.sample(2000, 12).unwrap());
    let em = Em::new().tolerance(0.0).smoothing(Smoothing::pseudo_count(1e-6)).start(Start::Random { restarts: 1, seed: 3 });
    let fit = em.validation(&validation, 3).fit(&truth, &rows, &Silent).unwrap();
    assert_eq!(fit.stop, Stop::Validation);
    let best = fit.validation.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let score = Inference::new(&fit.model).score(&mut validation.source(), &Silent, |_, _| Ok(())).unwrap();
    assert!((score.mean_log_likelihood() - best).abs() < 1e-12);
    let other = Schema::builder().scalar("other", Kind::binary()).build().unwrap();
    let strangers = Dataset::from_columns(Arc::new(other), vec![ColumnData::Codes8(vec![0, 1])], None).unwrap();
    let refused = Em::new().validation(&strangers, 3).fit(&truth, &rows, &Silent);
    assert!(matches!(refused, Err(Error::Mismatch { .. })));
}

#[test]
fn a_latent_class_start_is_near_the_best_of_many_random_ones() {
    let family = ParameterFamily::Categorical { states: 3, hidden_states: 3, separation: 0.7 };
    let truth = Simulation::new(Shape::DoubleStar, 10).family(family).seed(2).model().unwrap();
    let rows = Inference::new(&truth).sample(1500, 13).unwrap();
    let fit = |start: Start| Em::new().start(start).fit(&truth, &rows, &Silent).unwrap();
    let classes = fit(Start::LatentClass { restarts: 3, seed: 0 });
    never_falls(&classes, "latent class start");
    let random = fit(Start::Random { restarts: 4, seed: 0 });
    let given = fit(Start::Given);
    let last = |fit: &EmFit| *fit.objective.last().unwrap();
    assert!(last(&classes) > last(&given).max(last(&random)) - 0.01 * rows.n_rows() as f64);
    // Every kind of neighbour: observed inner nodes, emissions, forests, different numbers of states.
    for seed in 0..12 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let options = RandomModelOptions {
            observed_inner: 0.4,
            n_degree_two: 1,
            n_trees: 1 + seed as usize % 2,
            kind: if seed % 3 == 0 { RandomKind::Mixed } else { RandomKind::Categorical },
            hidden_states: (2, 4),
            ..RandomModelOptions::default()
        };
        let model = random_model(&mut rng, &options).unwrap();
        let rows = Inference::new(&model).sample(200, seed).unwrap();
        let em = Em::new().iterations(20).start(Start::LatentClass { restarts: 2, seed });
        never_falls(&em.fit(&model, &rows, &Silent).unwrap(), "latent class start");
    }
}

#[test]
fn steps_after_every_batch_reach_what_full_steps_reach() {
    let truth = binary_star(30, 14);
    let rows = Inference::new(&truth).sample(20_000, 15).unwrap();
    let em = Em::new().start(Start::Random { restarts: 1, seed: 5 });
    let full = em.fit(&truth, &rows, &Silent).unwrap();
    let stepped = em.clone().stepwise(2, 0.7).fit(&truth, &rows, &Silent).unwrap();
    never_falls(&stepped, "stepwise");
    assert!(stepped.objective[0] > full.objective[0]);
    let (a, b) = (full.objective.last().unwrap(), stepped.objective.last().unwrap());
    assert!(*b > a - 1e-3 * a.abs());
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mixed = random_model(&mut rng, &RandomModelOptions { kind: RandomKind::Mixed, ..RandomModelOptions::default() }).unwrap();
    let rows = Inference::new(&mixed).sample(10_000, 16).unwrap();
    never_falls(&Em::new().stepwise(1, 0.6).iterations(10).fit(&mixed, &rows, &Silent).unwrap(), "mixed stepwise");
}

#[test]
fn bad_input_is_refused_and_identical_rows_are_not() {
    let truth = binary_star(5, 17);
    let same = vec![ColumnData::Codes8(vec![1; 50]); 5];
    let rows = Dataset::from_columns(Arc::clone(truth.schema()), same, None).unwrap();
    let fit = Em::new().start(Start::Random { restarts: 1, seed: 0 }).fit(&truth, &rows, &Silent).unwrap();
    // Rows that are all the same have probability 1 under the best model; the pseudo-counts leave a little for others.
    assert!((-1.0..=1e-9).contains(fit.log_likelihood.last().unwrap()), "{:?}", fit.log_likelihood.last());
    let nothing = Dataset::from_columns(Arc::clone(truth.schema()), vec![ColumnData::Codes8(Vec::new()); 5], None).unwrap();
    assert!(matches!(Em::new().fit(&truth, &nothing, &Silent), Err(Error::Data { .. })));
    assert!(matches!(Em::new().tolerance(f64::NAN).fit(&truth, &rows, &Silent), Err(Error::Option { .. })));
    assert!(matches!(Em::new().smoothing(Smoothing::pseudo_count(-1.0)).fit(&truth, &rows, &Silent), Err(Error::Option { .. })));
    let gaussian = Simulation::new(Shape::Star, 4).model().unwrap();
    let numbers = Inference::new(&gaussian).sample(50, 0).unwrap();
    let refused = Em::new().start(Start::LatentClass { restarts: 1, seed: 0 }).fit(&gaussian, &numbers, &Silent);
    assert!(matches!(refused, Err(Error::Option { .. })));
}

#[test]
fn a_hidden_state_without_rows_is_reported_and_kept() {
    // Two kinds of rows only: three states cannot all be used.
    let mut tree = Tree::new();
    let leaves: Vec<NodeIx> = ["a", "b", "c"].iter().map(|name| tree.add_observed(*name).unwrap()).collect();
    let hidden = tree.add_hidden("h").unwrap();
    leaves.iter().for_each(|&leaf| tree.connect(hidden, leaf, None).unwrap());
    let schema = ["a", "b", "c"].iter().fold(Schema::builder(), |schema, name| schema.scalar(*name, Kind::binary()));
    let model = template(Arc::new(schema.build().unwrap()), tree, 3).unwrap();
    let table = |values: Vec<f64>| Distribution::Discrete(crate::model::Table::new(2, values));
    let mut distributions = vec![table(vec![0.9, 0.1, 0.1, 0.9, 0.5, 0.5]); 3];
    distributions.push(Distribution::Discrete(crate::model::Table::new(3, vec![0.5, 0.5 - 1e-9, 1e-9])));
    let model = model.with_distributions(distributions).unwrap();
    let column = ColumnData::Codes8((0..40).map(|ix| ix % 2).collect());
    let rows = Dataset::from_columns(Arc::clone(model.schema()), vec![column; 3], None).unwrap();
    let fit = Em::new().fit(&model, &rows, &Silent).unwrap();
    assert!(fit.warnings.iter().any(|warning| warning.contains("\"h\"") && warning.contains("state 2")), "{:?}", fit.warnings);
    assert_eq!(fit.model.n_states(hidden), Some(3));
}

/// The same rows, non-zero cells only; missing ones are stored.
fn sparse_rows(data: &Dataset) -> Dataset {
    let n_columns = data.schema().columns().len();
    let batches = data.batches().iter().map(|batch| {
        let mut rows = SparseRows::default();
        let mut values = Vec::new();
        for row in 0..batch.n_rows {
            for column in 0..n_columns {
                let value = batch.number(row, crate::ColIx::new(column));
                if value != 0.0 {
                    rows.columns.push(column as u32);
                    values.push(value);
                }
            }
            rows.starts.push(rows.columns.len());
        }
        rows.values = Some(values);
        Batch { block: Block::Sparse(rows), ..(**batch).clone() }
    });
    Dataset::new(Arc::clone(data.schema()), batches.collect())
}

#[test]
fn sparse_evidence_gives_the_numbers_of_the_dense_schedule() {
    let mut n_compared = 0;
    for seed in 0..60_u64 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let options = RandomModelOptions {
            n_observed: rng.random_range(1..40),
            observed_inner: if seed % 2 == 0 { 0.4 } else { 0.0 },
            n_degree_two: usize::from(seed % 3 == 0),
            ..RandomModelOptions::default()
        };
        let model = random_model(&mut rng, &options).unwrap();
        let inference = Inference::new(&model);
        let missing = if seed % 4 == 0 { 0.0 } else { 0.1 };
        let rows = weighted(&Dataset::read(&mut inference.sampler(100, seed).missing(missing)).unwrap(), seed);
        let sparse = sparse_rows(&rows);
        let counts = counts_of(&model, &rows);
        let Engine::Discrete(plan) = Engine::new(&model) else { unreachable!() };
        let Some(plan) = SparsePlan::new(&plan, model.schema().columns().len()) else { continue };
        n_compared += 1;
        let Block::Sparse(cells) = &sparse.batches()[0].block else { unreachable!() };
        let found = plan.expect(&sparse.batches()[0], cells, &counts.layout);
        let each = plan.log_likelihood(cells).into_iter().zip(inference.log_likelihood(&rows.batches()[0]).unwrap());
        each.for_each(|(a, b)| assert!((a - b).abs() < 1e-9 * b.abs().max(1.0), "seed {seed}: {a} {b}"));
        assert!((found.log_likelihood - counts.log_likelihood()).abs() < 1e-9 * counts.log_likelihood().abs().max(1.0));
        assert_eq!((found.rows, found.weight), (counts.rows(), counts.weight()));
        for (a, b) in found.counts.iter().zip(&counts.sums.counts) {
            assert!((a - b).abs() < 1e-9, "seed {seed}: {a} {b}");
        }
    }
    assert!(n_compared > 40, "{n_compared}");
}

#[test]
fn sparse_evidence_is_chosen_for_wide_sparse_rows_and_keeps_range() {
    // A star of 3,000 leaves whose ones are rare in both states: products of ratios leave the range of doubles many times over.
    let n = 3000;
    let mut tree = Tree::new();
    let hidden = tree.add_hidden("h").unwrap();
    let mut schema = Schema::builder();
    for ix in 0..n {
        let group = if ix % 10 == 0 { tree.add_next_hidden() } else { NodeIx::new(tree.n_nodes() - 1 - ix % 10) };
        let leaf = tree.add_observed(format!("x{ix}")).unwrap();
        if ix % 10 == 0 {
            tree.connect(hidden, group, None).unwrap();
        }
        tree.connect(group, leaf, None).unwrap();
        schema = schema.scalar(format!("x{ix}"), Kind::binary());
    }
    let model = template(Arc::new(schema.build().unwrap()), tree, 2).unwrap();
    let distributions = model.tree().node_ixs().map(|node| {
        let values = match (model.variable(node), model.parent(node)) {
            (Some(variable), _) => {
                let rare = 1e-7 * (1.0 + variable.get() as f64);
                vec![1.0 - rare, rare, 1.0 - 0.3 * rare, 0.3 * rare]
            }
            (None, Some(_)) => vec![0.8, 0.2, 0.3, 0.7],
            (None, None) => vec![0.5, 0.5],
        };
        Distribution::Discrete(crate::model::Table::new(2, values))
    });
    let model = model.with_distributions(distributions.collect()).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut rows = SparseRows::default();
    for row in 0..80 {
        // Few ones in the rows that decide which schedule is chosen, many after them.
        let share = if row < 64 { 0.003 } else { 0.5 };
        rows.columns.extend((0..n as u32).filter(|_| rng.random_bool(share)));
        rows.starts.push(rows.columns.len());
    }
    let batch = Batch { first_row: 0, n_rows: 80, block: Block::Sparse(rows), weights: None };
    let sparse = Dataset::new(Arc::clone(model.schema()), vec![batch]);
    let counts = counts_of(&model, &sparse);
    let inference = Inference::new(&model);
    let dense = inference.expect_dense(&sparse.batches()[0], &counts.layout, &Scratch::default()).unwrap();
    assert!((dense.log_likelihood - counts.log_likelihood()).abs() < 1e-9 * dense.log_likelihood.abs());
    let mut differs = false;
    for (a, b) in dense.counts.iter().zip(&counts.sums.counts) {
        assert!((a - b).abs() < 1e-9, "{a} {b}");
        differs |= a != b;
    }
    assert!(differs, "the sparse schedule was chosen");
}

#[test]
fn sparse_evidence_of_groups_of_labels_gives_the_numbers_of_the_dense_schedule() {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let mut tree = Tree::new();
    let hidden = tree.add_hidden("h").unwrap();
    let mut schema = Schema::builder();
    for group in 0..5 {
        let column = |ix: usize| Column { name: format!("x{group}.{ix}"), kind: Kind::numbered(2 + ix % 2) };
        schema = schema.group(format!("g{group}"), (0..4).map(column).collect());
        let leaf = tree.add_observed(format!("g{group}")).unwrap();
        // The last group has no parent.
        if group < 4 {
            tree.connect(hidden, leaf, None).unwrap();
        }
    }
    let model = template(Arc::new(schema.build().unwrap()), tree, 3).unwrap();
    let mut random_table = |n_rows: usize, n_states: usize| {
        let mut values = Vec::new();
        for _ in 0..n_rows {
            let row: Vec<f64> = (0..n_states).map(|_| rng.random_range(0.05..1.0)).collect();
            let sum: f64 = row.iter().sum();
            values.extend(row.iter().map(|value| value / sum));
        }
        crate::model::Table::new(n_states, values)
    };
    let distributions = model.tree().node_ixs().map(|node| match model.distribution(node) {
        Distribution::Emission(Emission::Group(members)) => {
            let member = |it: &Emission| {
                let Emission::Categorical(table) = it else { unreachable!() };
                Emission::Categorical(random_table(table.n_parent_states(), table.n_states()))
            };
            Distribution::Emission(Emission::Group(members.iter().map(member).collect()))
        }
        _ => Distribution::Discrete(random_table(1, 3)),
    });
    let model = model.with_distributions(distributions.collect()).unwrap();
    let rows = Dataset::read(&mut Inference::new(&model).sampler(300, 2).missing(0.1)).unwrap();
    let rows = weighted(&rows, 3);
    let (sparse, counts) = (sparse_rows(&rows), counts_of(&model, &rows));
    let Engine::Discrete(plan) = Engine::new(&model) else { unreachable!() };
    let plan = SparsePlan::new(&plan, model.schema().columns().len()).unwrap();
    let Block::Sparse(cells) = &sparse.batches()[0].block else { unreachable!() };
    let found = plan.expect(&sparse.batches()[0], cells, &counts.layout);
    assert!((found.log_likelihood - counts.log_likelihood()).abs() < 1e-9 * counts.log_likelihood().abs());
    for (a, b) in found.counts.iter().zip(&counts.sums.counts) {
        assert!((a - b).abs() < 1e-9, "{a} {b}");
    }
}
