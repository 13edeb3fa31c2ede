use std::collections::BTreeMap;
use std::sync::Arc;

use super::aligned_triplets::by_aligned_triplets;
use super::by_moments::{MomentOptions, Problem, by_moments};
use super::local_pairs::LocalPairs;
use super::summaries::Summaries;
use crate::inference::Inference;
use crate::linalg::Matrix;
use crate::model::{Distribution, LatentTree, Marginal};
use crate::moments::{Accumulator, ColumnSummary};
use crate::observer::Silent;
use crate::report::parameter_error;
use crate::simulate::{ParameterFamily, Shape, Simulation};
use crate::tensor::Decomposition;
use crate::tree::{Edge, Node, Tree};
use crate::{ColIx, NodeIx};

/// P(v | from) of every node v of a connected discrete model, states of `from` as rows.
fn conditionals(model: &LatentTree, from: NodeIx, marginals: &[Vec<f64>]) -> Vec<Matrix> {
    let tree = model.tree();
    let step = |a: NodeIx, b: NodeIx| -> Matrix {
        let table = |child: NodeIx| match model.distribution(child) {
            Distribution::Discrete(table) => table,
            _ => panic!("the model is discrete"),
        };
        let (n_a, n_b) = (marginals[a.get()].len(), marginals[b.get()].len());
        if model.parent(b) == Some(a) {
            Matrix::from_fn(n_a, n_b, |i, j| table(b).given(i)[j])
        } else {
            Matrix::from_fn(n_a, n_b, |i, j| table(a).given(j)[i] * marginals[b.get()][j] / marginals[a.get()][i])
        }
    };
    let n = marginals[from.get()].len();
    let mut found: Vec<Option<Matrix>> = vec![None; tree.n_nodes()];
    found[from.get()] = Some(Matrix::from_fn(n, n, |i, j| f64::from(u8::from(i == j))));
    let mut stack = vec![from];
    while let Some(node) = stack.pop() {
        for link in tree.links(node) {
            if found[link.to.get()].is_none() {
                found[link.to.get()] = Some(found[node.get()].as_ref().unwrap().times(&step(node, link.to)));
                stack.push(link.to);
            }
        }
    }
    found.into_iter().map(Option::unwrap).collect()
}

/// The model that exact moments of a model give.
fn from_population(truth: &LatentTree, options: &MomentOptions) -> (LatentTree, Vec<String>) {
    let marginals: Vec<Vec<f64>> = truth
        .marginals()
        .into_iter()
        .map(|it| match it {
            Marginal::Discrete(probabilities) => probabilities,
            _ => panic!("the model is discrete"),
        })
        .collect();
    let tree = truth.tree();
    let schema = truth.schema().clone();
    let rows = 1e14;
    let node_of = |column: usize| tree.find(&schema.column(ColIx::new(column)).name).unwrap();
    let n_columns = schema.columns().len();
    let columns: Vec<ColumnSummary> = (0..n_columns)
        .map(|column| {
            let levels: Vec<f64> = marginals[node_of(column).get()].iter().map(|p| p * rows).collect();
            ColumnSummary { weight: rows, levels, ..ColumnSummary::default() }
        })
        .collect();
    let mut problem = Problem::new(tree.clone(), schema.clone(), &columns, &Vec::new(), options).unwrap();
    let coordinates = problem.plan.coordinates.clone();
    // Coordinates of every value of every column, and their means given the states of a node.
    let values: Vec<Vec<Vec<f64>>> = (0..n_columns)
        .map(|column| (0..marginals[node_of(column).get()].len()).map(|x| coordinates.of_value(column, x as f64)).collect())
        .collect();
    let given = |node: NodeIx| -> Matrix {
        let tables = conditionals(truth, node, &marginals);
        let n = marginals[node.get()].len();
        let mut out = Matrix::zeros(coordinates.len(), n);
        for column in 0..n_columns {
            let table = &tables[node_of(column).get()];
            for (at, place) in coordinates.of(column).enumerate() {
                for c in 0..n {
                    out[(place, c)] = values[column].iter().enumerate().map(|(x, value)| table[(c, x)] * value[at]).sum();
                }
            }
        }
        out
    };
    let of_column: Vec<Matrix> = (0..n_columns).map(|column| given(node_of(column))).collect();
    let column_of: Vec<usize> = (0..n_columns).flat_map(|column| coordinates.of(column).map(move |_| column)).collect();
    let second = |i: usize, j: usize| -> f64 {
        let column = column_of[i];
        let at = i - coordinates.of(column).start;
        let probabilities = &marginals[node_of(column).get()];
        (0..probabilities.len()).map(|x| probabilities[x] * values[column][x][at] * of_column[column][(j, x)]).sum()
    };
    let all: Vec<Vec<f64>> = (0..coordinates.len()).map(|i| (0..coordinates.len()).map(|j| second(i, j)).collect()).collect();
    let grams: Vec<Vec<f64>> = problem
        .plan
        .views
        .iter()
        .map(|views| {
            let places: Vec<usize> = views.coordinates.iter().flatten().copied().collect();
            places.iter().flat_map(|&i| places.iter().map(|&j| all[i][j]).collect::<Vec<_>>()).collect()
        })
        .collect();
    let plan = problem.summarise(&grams, rows);
    let mut moments = Summaries::new(Arc::clone(&plan));
    moments.weight = rows;
    // E[a | h].
    let means: Vec<Matrix> = (0..plan.plan.views.len())
        .map(|ix| {
            let (views, r) = (&plan.plan.views[ix], plan.plan.views[ix].n_states - 1);
            let given = given(NodeIx::new(views.node));
            let mut out = Matrix::zeros(plan.width(ix), given.n_cols());
            for c in 0..given.n_cols() {
                out[(0, c)] = 1.0;
                for (group, places) in views.coordinates.iter().enumerate() {
                    for (at, &place) in places.iter().enumerate() {
                        for s in 0..r {
                            out[(1 + group * r + s, c)] += plan.directions[ix][group][at * r + s] * given[(place, c)];
                        }
                    }
                }
            }
            out
        })
        .collect();
    for (ix, views) in plan.plan.views.iter().enumerate() {
        let (r, width, k) = (views.n_states - 1, plan.width(ix), views.n_states);
        let weights = &marginals[views.node];
        let flat: Vec<(usize, usize, usize)> = views
            .coordinates
            .iter()
            .enumerate()
            .flat_map(|(group, places)| places.iter().enumerate().map(move |(at, &place)| (group, at, place)))
            .collect();
        let mut mean = vec![0.0; width];
        for (i, mean) in mean.iter_mut().enumerate() {
            *mean = weights.iter().enumerate().map(|(c, w)| w * means[ix][(i, c)]).sum();
        }
        for i in 0..width {
            moments.seconds[ix][i] = mean[i];
            moments.seconds[ix][i * width] = mean[i];
        }
        for &(g1, at1, p1) in &flat {
            for &(g2, at2, p2) in &flat {
                for s in 0..r {
                    for t in 0..r {
                        let weight = plan.directions[ix][g1][at1 * r + s] * plan.directions[ix][g2][at2 * r + t];
                        moments.seconds[ix][(1 + g1 * r + s) * width + 1 + g2 * r + t] += weight * all[p1][p2];
                    }
                }
            }
        }
        let parts = |view: usize| (0..views.view_of.len()).filter(move |&part| views.view_of[part] == view);
        let view = |view: usize, i: usize, c: usize| -> f64 {
            if i == 0 { 1.0 } else { parts(view).map(|part| means[ix][(part * r + i, c)]).sum() }
        };
        let part = |part: usize, i: usize, c: usize| if i == 0 { 1.0 } else { means[ix][(part * r + i, c)] };
        for at in 0..k * k * k {
            let (i, j, l) = (at / (k * k), at / k % k, at % k);
            moments.thirds[ix][at] =
                weights.iter().enumerate().map(|(c, w)| w * view(0, i, c) * view(1, j, c) * view(2, l, c)).sum();
            for (extra, &(u, b, d)) in views.extra.iter().enumerate() {
                moments.thirds[ix][(extra + 1) * k * k * k + at] =
                    weights.iter().enumerate().map(|(c, w)| w * view(u, i, c) * part(b, j, c) * part(d, l, c)).sum();
            }
        }
    }
    for (&(a, b), sum) in plan.edges.iter().zip(&mut moments.edges) {
        let (node_a, node_b) = (NodeIx::new(plan.plan.views[a].node), NodeIx::new(plan.plan.views[b].node));
        let table = &conditionals(truth, node_a, &marginals)[node_b.get()];
        let scaled = Matrix::from_fn(table.n_rows(), table.n_cols(), |i, j| table[(i, j)] * marginals[node_a.get()][i]);
        sum.copy_from_slice(means[a].times(&scaled).times(&means[b].transposed()).cells());
    }
    for (place, neighbour) in plan.neighbours.iter().enumerate() {
        let node = NodeIx::new(plan.plan.views[neighbour.views].node);
        let table = &conditionals(truth, node, &marginals)[node_of(neighbour.features.column).get()];
        let scaled = Matrix::from_fn(table.n_cols(), table.n_rows(), |y, c| table[(c, y)] * marginals[node.get()][c]);
        moments.of_neighbour_mut(place).copy_from_slice(scaled.times(&means[neighbour.views].transposed()).cells());
    }
    for (child, table) in plan.observed.iter().zip(&mut moments.observed) {
        let (node_a, node_b) = (node_of(child.parent), node_of(child.features.column));
        let given = &conditionals(truth, node_a, &marginals)[node_b.get()];
        let cells = (0..given.n_rows()).flat_map(|i| (0..given.n_cols()).map(move |j| (i, j)));
        let joint = cells.map(|(i, j)| ((i as u32, j as u32), rows * given[(i, j)] * marginals[node_a.get()][i]));
        *table = joint.collect::<BTreeMap<_, _>>();
    }
    let found = problem.solve(&moments, options).unwrap();
    (found.model, found.warnings)
}

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
        let (found, warnings) = from_population(&truth, &MomentOptions::new(k));
        assert!(warnings.is_empty(), "seed {seed}: {warnings:?}");
        let error = parameter_error(&truth, &found).unwrap().expect("the structures agree").largest;
        worst = worst.max(error);
        assert!(error < 1e-8, "seed {seed}, k {k}, d {d}, p {p}: {error}");
    }
    assert!(worst < 1e-8);
}

#[test]
fn passes_merge_and_carry_over_bytes() {
    let family = ParameterFamily::Mixed { states: 3, hidden_states: 2, separation: 0.7, groups: true };
    let truth = Simulation::new(Shape::Random { max_degree: Some(4) }, 10).family(family).seed(1).model().unwrap();
    let data = Inference::new(&truth).sample(900, 1).unwrap();
    let mut source = data.source();
    let summary = crate::moments::fold(&mut source, crate::moments::Summary::new(Arc::clone(truth.schema())), &Silent).unwrap();
    let options = MomentOptions::new(2);
    let mut problem =
        Problem::new(truth.tree().clone(), Arc::clone(truth.schema()), summary.columns(), &Vec::new(), &options).unwrap();
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
        // The mean log-likelihood of a model with q parameters fitted by maximum likelihood is q/2n above the truth's; moments are
        // less efficient, but not by more than a factor of ten in this many rows.
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
        // A column of 8 probabilities from n/3 rows has an error of about √(3/n) = 0.01; drawn states and decompositions cost a factor of a few.
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
