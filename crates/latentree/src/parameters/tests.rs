mod pairs;
mod population;

use std::sync::Arc;

use population::from_population;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::aligned_triplets::by_aligned_triplets;
use super::by_moments::{MomentOptions, Problem, by_moments};
use super::local_pairs::LocalPairs;
use super::summaries::Summaries;
use crate::coordinates::Coordinates;
use crate::data::{Kind, Schema};
use crate::inference::Inference;
use crate::model::{Distribution, Emission, LatentTree, Table};
use crate::moments::Accumulator;
use crate::observer::Silent;
use crate::report::parameter_error;
use crate::simulate::{ParameterFamily, Shape, Simulation};
use crate::tensor::Decomposition;
use crate::tree::{Edge, Node, Tree};
use crate::{NodeIx, VarIx};

#[test]
fn exact_moments_give_the_exact_model() {
    let mut worst: f64 = 0.0;
    for seed in 0..200 {
        let k = 2 + (seed % 4) as usize;
        let d = k + (seed / 4 % (13 - k as u64)) as usize;
        let p = 4 + (seed % 9) as usize;
        let family = ParameterFamily::Categorical { states: d, hidden_states: k, separation: 0.6 };
        let shape = Shape::Random { max_degree: Some(3 + (seed % 4) as usize) };
        let inner = if seed % 2 == 0 { 0.0 } else { 0.25 };
        let truth = Simulation::new(shape, p).observed_inner(inner).family(family).seed(seed).model().unwrap();
        let (found, warnings) = from_population(&truth, &MomentOptions::new(k), k);
        assert!(warnings.is_empty(), "seed {seed}: {warnings:?}");
        let error = parameter_error(&truth, &found).unwrap().expect("the structures agree").largest;
        worst = worst.max(error);
        assert!(error < 1e-8, "seed {seed}, k {k}, d {d}, p {p}: {error}");
    }
    assert!(worst < 1e-8);
}

/// A model whose leaves are numbers instead of labels: all, or those of the variables for which `kind` gives one. Means of the
/// states are in any order.
fn with_numbers(model: &LatentTree, seed: u64, kind: impl Fn(usize) -> Option<Kind>) -> LatentTree {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut schema = Schema::builder();
    let mut distributions: Vec<Distribution> = model.tree().node_ixs().map(|node| model.distribution(node).clone()).collect();
    for (ix, variable) in model.schema().variables().iter().enumerate() {
        let node = model.node_of(VarIx::new(ix));
        let is_leaf = model.parent(node).is_some() && model.tree().degree(node) == 1;
        let Some(kind) = kind(ix).filter(|_| is_leaf) else {
            schema = schema.scalar(variable.name.clone(), model.schema().column(variable.columns[0]).kind.clone());
            continue;
        };
        let k = model.n_states(model.parent(node).unwrap()).unwrap();
        let mut places: Vec<f64> = (0..k).map(|state| 2.0 * state as f64 + rng.random_range(-0.5..0.5)).collect();
        for at in (1..k).rev() {
            places.swap(at, rng.random_range(0..=at));
        }
        distributions[node.get()] = Distribution::Emission(match kind {
            // Some far from each other: a small share of the variance is within states.
            Kind::Continuous => Emission::Gaussian {
                variances: (0..k).map(|_| 10_f64.powf(rng.random_range(-3.0..0.0))).collect(),
                means: places,
            },
            // Some rates are a thousandth of others.
            _ => Emission::Poisson { rates: places.iter().map(|place| 0.5 * (place + 0.6).powi(2)).collect() },
        });
        schema = schema.scalar(variable.name.clone(), kind);
    }
    let schema = Arc::new(schema.build().unwrap());
    let mut builder = LatentTree::builder(schema, model.tree().clone()).roots(&model.rooted().roots);
    for (node, distribution) in model.tree().node_ixs().zip(distributions) {
        builder = builder.distribution(node, distribution);
    }
    builder.build().unwrap()
}

#[test]
fn exact_moments_of_continuous_count_and_mixed_leaves_give_the_exact_model() {
    for seed in 0..150 {
        let k = 2 + (seed / 3 % 3) as usize;
        let p = 4 + (seed % 7) as usize;
        let family = ParameterFamily::Categorical { states: k + 2, hidden_states: k, separation: 0.6 };
        let shape = Shape::Random { max_degree: Some(3 + (seed % 4) as usize) };
        let inner = if seed % 2 == 0 { 0.0 } else { 0.25 };
        let truth = Simulation::new(shape, p).observed_inner(inner).family(family).seed(seed).model().unwrap();
        let truth = with_numbers(&truth, seed, |ix| match seed % 3 {
            0 => Some(Kind::Continuous),
            1 => Some(Kind::Count),
            _ => [Some(Kind::Continuous), Some(Kind::Count), None][ix % 3].clone(),
        });
        let (found, warnings) = from_population(&truth, &MomentOptions::new(k), k);
        assert!(warnings.is_empty(), "seed {seed}: {warnings:?}");
        let error = parameter_error(&truth, &found).unwrap().expect("the structures agree").largest;
        assert!(error < 1e-8, "seed {seed}, k {k}, p {p}: {error}");
    }
}

#[test]
fn numbers_that_no_state_can_have_are_said_to_be_changed() {
    // Rates of nearly nothing in few rows: estimates are as often below zero as above.
    let truth = star_of_counts(6, &[0.02, 4.0]);
    let warned = (0..20).filter(|&seed| {
        let data = Inference::new(&truth).sample(200, seed).unwrap();
        let found = by_moments(truth.tree(), &mut data.source(), None, &MomentOptions::new(2), &Silent).unwrap();
        found.warnings.iter().any(|it| it.contains("means, variances or rates"))
    });
    assert!(warned.count() > 5);
    // Enough rows tell rates that are far from nothing.
    let truth = star_of_counts(6, &[2.0, 8.0]);
    let data = Inference::new(&truth).sample(5000, 0).unwrap();
    let found = by_moments(truth.tree(), &mut data.source(), None, &MomentOptions::new(2), &Silent).unwrap();
    assert!(found.warnings.is_empty(), "{:?}", found.warnings);
}

/// One hidden node of two equal states over columns of counts.
fn star_of_counts(n: usize, rates: &[f64; 2]) -> LatentTree {
    let schema = (0..n).fold(Schema::builder(), |it, ix| it.scalar(format!("x{ix}"), Kind::Count));
    let mut nodes: Vec<Node> = (0..n).map(|ix| Node { name: format!("x{ix}"), observed: true }).collect();
    nodes.push(Node { name: "h".to_owned(), observed: false });
    let h = NodeIx::new(n);
    let edges: Vec<Edge> = (0..n).map(|ix| Edge::with_length(NodeIx::new(ix), h, 0.5)).collect();
    let tree = Tree::from_parts(nodes, &edges).unwrap();
    let mut builder = LatentTree::builder(Arc::new(schema.build().unwrap()), tree).root(h);
    for ix in 0..n {
        builder = builder.distribution(NodeIx::new(ix), Distribution::Emission(Emission::Poisson { rates: rates.to_vec() }));
    }
    builder.distribution(h, Distribution::Discrete(Table::new(2, vec![0.5, 0.5]))).build().unwrap()
}

#[test]
fn passes_merge_and_carry_over_bytes() {
    let family = ParameterFamily::Mixed { states: 3, hidden_states: 2, separation: 0.7, groups: true };
    let truth = Simulation::new(Shape::Random { max_degree: Some(4) }, 10).family(family).seed(1).model().unwrap();
    let data = Inference::new(&truth).sample(900, 1).unwrap();
    let mut source = data.source();
    let summary = crate::moments::fold(&mut source, crate::moments::Summary::new(Arc::clone(truth.schema())), &Silent).unwrap();
    let options = MomentOptions::new(2);
    let coordinates = Coordinates::new(truth.schema(), summary.columns(), &Vec::new());
    let mut problem =
        Problem::new(truth.tree().clone(), Arc::clone(truth.schema()), summary.columns(), coordinates, &options).unwrap();
    let whole = {
        let mut it = LocalPairs::new(Arc::clone(&problem.plan));
        data.batches().iter().for_each(|batch| it.observe(batch).unwrap());
        it
    };
    let again = LocalPairs::from_bytes(&whole.to_bytes().unwrap()).unwrap();
    assert_eq!(again, whole);
    let mut twice = whole.clone();
    twice.merge(again).unwrap();
    let (once, twice) = (whole.finish().unwrap(), twice.finish().unwrap());
    assert!(once.iter().flatten().zip(twice.iter().flatten()).all(|(a, b)| (a - b).abs() < 1e-12));
    let plan = problem.summarise(&once, 900.0);
    let mut summaries = Summaries::new(plan);
    data.batches().iter().for_each(|batch| summaries.observe(batch).unwrap());
    assert_eq!(Summaries::from_bytes(&summaries.to_bytes().unwrap()).unwrap(), summaries);
}

#[test]
fn samples_of_mixed_models_give_models_near_them() {
    let family = ParameterFamily::Mixed { states: 4, hidden_states: 2, separation: 0.8, groups: true };
    for seed in 0..4 {
        let truth = Simulation::new(Shape::Random { max_degree: Some(4) }, 12).family(family).seed(seed).model().unwrap();
        let rows = 20_000;
        let data = Inference::new(&truth).sample(rows, seed).unwrap();
        let found = by_moments(truth.tree(), &mut data.source(), None, &MomentOptions::new(2), &Silent).unwrap();
        // The mean log-likelihood of a model with q parameters fitted by maximum likelihood is q/2n above the truth's; moments
        // are less efficient, but not by more than a factor of ten in this many rows.
        let score =
            |model: &LatentTree| Inference::new(model).score(&mut data.source(), &Silent, |_, _| Ok(())).unwrap().log_likelihood;
        let (ours, theirs) = (score(&found.model), score(&truth));
        let parameters = truth.n_free_parameters() as f64;
        assert!(ours > theirs - 10.0 * parameters, "seed {seed}: {ours} {theirs}, {parameters} parameters, {:?}", found.warnings);
    }
}

#[test]
fn trees_of_observed_nodes_of_any_kind_give_models() {
    let family = ParameterFamily::Mixed { states: 3, hidden_states: 2, separation: 0.7, groups: true };
    for seed in 0..6 {
        let truth = Simulation::new(Shape::Random { max_degree: Some(4) }, 10).family(family).seed(seed).model().unwrap();
        let data = Inference::new(&truth).sample(500, seed).unwrap();
        // A chain, a star around each variable in turn, pairs, and no edges at all.
        let names: Vec<String> = truth.schema().variables().iter().map(|it| it.name.clone()).collect();
        let nodes: Vec<Node> = names.iter().map(|name| Node { name: name.clone(), observed: true }).collect();
        let edge = |a: usize, b: usize| Edge::with_length(NodeIx::new(a), NodeIx::new(b), 0.5);
        let mut shapes: Vec<Vec<Edge>> = vec![Vec::new(), (1..10).map(|ix| edge(ix - 1, ix)).collect()];
        shapes.push((0..5).map(|ix| edge(2 * ix, 2 * ix + 1)).collect());
        shapes.push((0..5).map(|ix| edge(ix, ix + 5)).collect());
        shapes.extend((0..10).map(|centre| (0..10).filter(|&ix| ix != centre).map(|ix| edge(centre, ix)).collect()));
        for edges in shapes {
            let tree = Tree::from_parts(nodes.clone(), &edges).unwrap();
            let found = by_moments(&tree, &mut data.source(), None, &MomentOptions::new(2), &Silent).unwrap();
            let score = Inference::new(&found.model).score(&mut data.source(), &Silent, |_, _| Ok(())).unwrap();
            assert!(score.log_likelihood.is_finite(), "seed {seed}, {edges:?}");
        }
    }
}

#[test]
fn aligned_triplets_come_near_the_model_they_are_drawn_from() {
    let family = ParameterFamily::Categorical { states: 8, hidden_states: 3, separation: 0.9 };
    for seed in 0..3 {
        let truth = Simulation::new(Shape::Complete { degree: 4 }, 12).family(family).seed(seed).model().unwrap();
        let data = Inference::new(&truth).sample(30_000, seed).unwrap();
        let found = by_aligned_triplets(truth.tree(), &mut data.source(), 3, Decomposition::Tpm, seed, &Silent).unwrap().model;
        let error = parameter_error(&truth, &found).unwrap().expect("the structures agree");
        // A column of 8 probabilities from n/3 rows has an error of about √(3/n) = 0.01; drawn states and decompositions cost a
        // factor of a few.
        assert!(error.observed < 0.1, "seed {seed}: {error:?}");
        let again = by_aligned_triplets(truth.tree(), &mut data.source(), 3, Decomposition::Tpm, seed, &Silent).unwrap().model;
        assert_eq!(again, found);
    }
}

#[test]
fn triplets_that_do_not_tell_the_states_apart_are_named() {
    let family = ParameterFamily::Categorical { states: 2, hidden_states: 2, separation: 0.8 };
    let truth = Simulation::new(Shape::Star, 4).family(family).seed(1).model().unwrap();
    let data = Inference::new(&truth).sample(500, 1).unwrap();
    let error = by_aligned_triplets(truth.tree(), &mut data.source(), 3, Decomposition::Tpm, 0, &Silent).unwrap_err();
    let message = error.to_string();
    assert!(message.contains("h1") && message.contains("x1") && message.contains("fewer hidden states"), "{message}");
}

#[test]
fn triplets_take_forests_and_pairs_of_leaves() {
    let family = ParameterFamily::Categorical { states: 3, hidden_states: 2, separation: 0.9 };
    let truth = Simulation::new(Shape::Star, 6).family(family).seed(4).model().unwrap();
    let data = Inference::new(&truth).sample(4000, 4).unwrap();
    let mut nodes: Vec<Node> = (1..=6).map(|ix| Node { name: format!("x{ix}"), observed: true }).collect();
    nodes.push(Node { name: "h1".to_owned(), observed: false });
    let edge = |a: usize, b: usize| Edge::with_length(NodeIx::new(a), NodeIx::new(b), 0.5);
    let tree = Tree::from_parts(nodes, &[edge(0, 1), edge(6, 2), edge(6, 3), edge(6, 4)]).unwrap();
    let found = by_aligned_triplets(&tree, &mut data.source(), 2, Decomposition::Tpm, 0, &Silent).unwrap().model;
    let score = Inference::new(&found).score(&mut data.source(), &Silent, |_, _| Ok(())).unwrap();
    assert!(score.log_likelihood.is_finite());
}
