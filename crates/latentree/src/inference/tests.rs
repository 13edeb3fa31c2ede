//! Oracles: enumeration of all states on small trees, the dense covariance of Gaussian trees, and extremes of range.

use std::sync::Arc;

use nalgebra::{DMatrix, DVector};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{Evidence, Inference, JointAnswer};
use crate::data::{Batch, Block, Column, ColumnData, Dataset, Kind, Schema, SparseRows};
use crate::index::NodeIx;
use crate::model::{Distribution, Emission, LatentTree, Table};
use crate::tree::{Edge, Node, Tree};

fn random_table(rng: &mut ChaCha8Rng, n_rows: usize, n_states: usize, zeros: bool) -> Table {
    let mut values = Vec::new();
    for _ in 0..n_rows {
        let mut row: Vec<f64> = (0..n_states).map(|_| rng.random_range(0.01..1.0)).collect();
        if zeros && n_states > 1 && rng.random_bool(0.3) {
            row[rng.random_range(0..n_states)] = 0.0;
        }
        let sum: f64 = row.iter().sum();
        values.extend(row.iter().map(|value| value / sum));
    }
    Table::new(n_states, values)
}

/// A random forest of up to `n_most` nodes: discrete nodes of 1 to 4 states anywhere, and emitting leaves.
pub(crate) fn random_discrete(rng: &mut ChaCha8Rng, n_most: usize, emitters: bool) -> LatentTree {
    let n_nodes = rng.random_range(1..=n_most);
    let zeros = rng.random_bool(0.3);
    let mut nodes = Vec::new();
    let mut edges = Vec::new();
    let mut parents: Vec<Option<usize>> = Vec::new();
    for ix in 0..n_nodes {
        let parent = (ix > 0 && !rng.random_bool(0.08)).then(|| rng.random_range(0..ix));
        parents.push(parent);
        nodes.push(Node { name: format!("n{ix}"), observed: ix + 1 == n_nodes || rng.random_bool(0.6) });
        if let Some(parent) = parent {
            edges.push(Edge::new(NodeIx::new(parent), NodeIx::new(ix)));
        }
    }
    let is_leaf = |ix: usize| !parents.contains(&Some(ix));
    let mut schema = Schema::builder();
    let mut n_states = vec![0; n_nodes];
    let mut distributions = Vec::new();
    for ix in 0..n_nodes {
        let n_parent = parents[ix].map_or(1, |parent| n_states[parent]);
        n_states[ix] = rng.random_range(1..=4);
        let kind = if emitters && is_leaf(ix) && nodes[ix].observed { rng.random_range(0..4) } else { 0 };
        let poisson =
            |rng: &mut ChaCha8Rng| Emission::Poisson { rates: (0..n_parent).map(|_| rng.random_range(0.1..5.0)).collect() };
        let gaussian = |rng: &mut ChaCha8Rng| Emission::Gaussian {
            means: (0..n_parent).map(|_| rng.random_range(-2.0..2.0)).collect(),
            variances: (0..n_parent).map(|_| rng.random_range(0.2..2.0)).collect(),
        };
        let (kind, distribution) = match kind {
            1 => (Kind::Continuous, Distribution::Emission(gaussian(rng))),
            2 => (Kind::Count, Distribution::Emission(poisson(rng))),
            3 => {
                let members = vec![
                    Column { name: format!("n{ix}.a"), kind: Kind::binary() },
                    Column { name: format!("n{ix}.b"), kind: Kind::Count },
                    Column { name: format!("n{ix}.c"), kind: Kind::Continuous },
                ];
                schema = schema.group(&nodes[ix].name, members);
                let table = random_table(rng, n_parent, 2, false);
                let parts = vec![Emission::Categorical(table), poisson(rng), gaussian(rng)];
                distributions.push(Distribution::Emission(Emission::Group(parts)));
                continue;
            }
            _ => (Kind::numbered(n_states[ix]), Distribution::Discrete(random_table(rng, n_parent, n_states[ix], zeros))),
        };
        if nodes[ix].observed {
            schema = schema.scalar(&nodes[ix].name, kind);
        }
        distributions.push(distribution);
    }
    let roots: Vec<NodeIx> = (0..n_nodes).filter(|&ix| parents[ix].is_none()).map(NodeIx::new).collect();
    let tree = Tree::from_parts(nodes, &edges).unwrap();
    let builder = LatentTree::builder(Arc::new(schema.build().unwrap()), tree).roots(&roots);
    let builder =
        distributions.into_iter().enumerate().fold(builder, |builder, (ix, it)| builder.distribution(NodeIx::new(ix), it));
    builder.build().unwrap()
}

/// Random rows of the model, each cell missing with probability 0.4.
pub(crate) fn random_rows(model: &LatentTree, seed: u64, n_rows: u64) -> Dataset {
    let inference = Inference::new(model);
    Dataset::read(&mut inference.sampler(n_rows, seed).missing(0.4)).unwrap()
}

fn ln_normal(x: f64, mean: f64, variance: f64) -> f64 {
    -0.5 * (std::f64::consts::TAU * variance).ln() - (x - mean).powi(2) / (2.0 * variance)
}

fn density(emission: &Emission, parent: usize, cells: &[f64]) -> f64 {
    let x = cells[0];
    if !matches!(emission, Emission::Group(_)) && x.is_nan() {
        return 1.0;
    }
    match emission {
        Emission::Categorical(table) => table.given(parent)[x as usize],
        Emission::Gaussian { means, variances } => ln_normal(x, means[parent], variances[parent]).exp(),
        Emission::Poisson { rates } => {
            (1..=x as u64).fold((-rates[parent]).exp(), |product, n| product * rates[parent] / n as f64)
        }
        Emission::Group(members) => members.iter().zip(cells).map(|(member, &cell)| density(member, parent, &[cell])).product(),
    }
}

/// Probabilities of all joint assignments of the discrete nodes together with one row's evidence.
pub(crate) struct Enumeration {
    discrete: Vec<NodeIx>,
    pub(crate) assignments: Vec<(Vec<usize>, f64)>,
}

impl Enumeration {
    pub(crate) fn new(model: &LatentTree, batch: &Batch, row: usize, fixed_hidden: &[(NodeIx, usize)]) -> Self {
        let tree = model.tree();
        let discrete: Vec<NodeIx> = tree.node_ixs().filter(|&node| model.n_states(node).is_some()).collect();
        let cells = |node: NodeIx| -> Vec<f64> {
            let variable = model.schema().variable(model.variable(node).unwrap());
            variable.columns.iter().map(|&column| batch.number(row, column)).collect()
        };
        let mut assignments = vec![(vec![usize::MAX; tree.n_nodes()], 1.0)];
        for &node in &model.rooted().order {
            let mut next = Vec::new();
            for (states, probability) in &assignments {
                let parent = model.parent(node).map_or(0, |parent| states[parent.get()]);
                match model.distribution(node) {
                    Distribution::Discrete(table) => {
                        let known = match model.variable(node) {
                            Some(_) => cells(node)[0],
                            None => fixed_hidden.iter().find(|it| it.0 == node).map_or(f64::NAN, |it| it.1 as f64),
                        };
                        for state in 0..table.n_states() {
                            if known.is_nan() || known as usize == state {
                                let mut states = states.clone();
                                states[node.get()] = state;
                                next.push((states, probability * table.given(parent)[state]));
                            }
                        }
                    }
                    Distribution::Emission(emission) => {
                        next.push((states.clone(), probability * density(emission, parent, &cells(node))))
                    }
                    Distribution::LinearGaussian { .. } => unreachable!(),
                }
            }
            assignments = next;
        }
        Self { discrete, assignments }
    }

    pub(crate) fn total(&self) -> f64 {
        self.assignments.iter().map(|it| it.1).sum()
    }

    pub(crate) fn probability(&self, matches: impl Fn(&[usize]) -> bool) -> f64 {
        self.assignments.iter().filter(|it| matches(&it.0)).map(|it| it.1).sum::<f64>() / self.total()
    }
}

pub(crate) fn close(a: f64, b: f64, tolerance: f64) -> bool {
    a == b || (a - b).abs() <= tolerance * (1.0 + b.abs())
}

#[test]
fn every_answer_of_a_discrete_model_equals_enumeration() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for trial in 0..300_u64 {
        let model = random_discrete(&mut rng, 8, trial % 2 == 1);
        let rows = random_rows(&model, trial, 6);
        let inference = Inference::new(&model);
        let batch = &rows.batches()[0];
        let ln = inference.log_likelihood(batch).unwrap();
        let discrete: Vec<NodeIx> = model.tree().node_ixs().filter(|&node| model.n_states(node).is_some()).collect();
        let posterior = inference.posterior(batch, &discrete).unwrap();
        let best = inference.most_probable(batch).unwrap();
        for row in 0..batch.n_rows {
            let oracle = Enumeration::new(&model, batch, row, &[]);
            assert!(close(ln[row], oracle.total().ln(), 1e-10), "trial {trial}: {} {}", ln[row], oracle.total().ln());
            for (at, &node) in discrete.iter().enumerate() {
                for (state, &value) in posterior.get(row, at).iter().enumerate() {
                    let exact = oracle.probability(|states| states[node.get()] == state);
                    assert!(close(value, exact, 1e-10), "trial {trial} node {node:?}: {value} {exact}");
                }
            }
            let top = oracle.assignments.iter().map(|it| it.1).fold(0.0, f64::max);
            // A missing discrete leaf belongs to the assignment, so the most probable one is over all discrete nodes.
            assert!(close(best.log_probability()[row], top.ln(), 1e-10));
            let chosen: Vec<usize> = oracle.discrete.iter().map(|&node| best.get(row, node) as usize).collect();
            let attained = oracle.assignments.iter().find(|it| {
                let states: Vec<usize> = oracle.discrete.iter().map(|node| it.0[node.get()]).collect();
                states == chosen
            });
            assert!(close(attained.unwrap().1, top, 1e-10));
            let evidence = Evidence::row(&model, batch, row);
            for &node in &discrete {
                let Some(parent) = model.parent(node) else { continue };
                let joint = inference.edge_posterior(&evidence, node).unwrap();
                for (a, joint) in joint.iter().enumerate() {
                    for (b, &value) in joint.iter().enumerate() {
                        let exact = oracle.probability(|states| states[parent.get()] == a && states[node.get()] == b);
                        assert!(close(value, exact, 1e-10));
                    }
                }
            }
        }
    }
}

#[test]
fn conditional_and_joint_queries_equal_enumeration_with_hidden_evidence() {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let mut asked = 0;
    for trial in 0..200_u64 {
        let model = random_discrete(&mut rng, 8, trial % 3 == 0);
        let rows = random_rows(&model, trial, 1);
        let batch = &rows.batches()[0];
        let hidden: Vec<NodeIx> = model.hidden().collect();
        let fixed: Vec<(NodeIx, usize)> = hidden.iter().take(1).map(|&node| (node, model.n_states(node).unwrap() - 1)).collect();
        let mut evidence = Evidence::row(&model, batch, 0);
        for &(node, state) in &fixed {
            evidence.set_node(&model, node, state as f64);
        }
        let inference = Inference::new(&model);
        let oracle = Enumeration::new(&model, batch, 0, &fixed);
        let of: Vec<NodeIx> = oracle.discrete.iter().copied().filter(|_| rng.random_bool(0.5)).take(3).collect();
        if oracle.total() == 0.0 {
            assert!(inference.query(&evidence, &of).is_err());
            continue;
        }
        let answer = inference.query(&evidence, &of).unwrap();
        assert!(close(answer.log_evidence, oracle.total().ln(), 1e-10));
        for (node, marginal) in &answer.marginals {
            for (state, &value) in marginal.iter().enumerate() {
                assert!(close(value, oracle.probability(|states| states[node.get()] == state), 1e-10));
            }
        }
        let JointAnswer::Table { n_states, probabilities } = inference.joint(&evidence, &of).unwrap() else { panic!() };
        for (combination, &value) in probabilities.iter().enumerate() {
            let mut rest = combination;
            let mut wanted = vec![0; of.len()];
            for ix in (0..of.len()).rev() {
                wanted[ix] = rest % n_states[ix];
                rest /= n_states[ix];
            }
            let exact = oracle.probability(|states| of.iter().zip(&wanted).all(|(node, &state)| states[node.get()] == state));
            assert!(close(value, exact, 1e-10));
            asked += 1;
        }
    }
    assert!(asked > 500);
}

fn random_gaussian(rng: &mut ChaCha8Rng, n_most: usize) -> LatentTree {
    let n_nodes = rng.random_range(1..=n_most);
    let mut nodes = Vec::new();
    let mut edges = Vec::new();
    let mut schema = Schema::builder();
    let mut roots = Vec::new();
    for ix in 0..n_nodes {
        let observed = ix + 1 == n_nodes || rng.random_bool(0.6);
        nodes.push(Node { name: format!("n{ix}"), observed });
        if observed {
            schema = schema.scalar(format!("n{ix}"), Kind::Continuous);
        }
        if ix > 0 && !rng.random_bool(0.08) {
            edges.push(Edge::new(NodeIx::new(rng.random_range(0..ix)), NodeIx::new(ix)));
        } else {
            roots.push(NodeIx::new(ix));
        }
    }
    let tree = Tree::from_parts(nodes, &edges).unwrap();
    let mut builder = LatentTree::builder(Arc::new(schema.build().unwrap()), tree).roots(&roots);
    for ix in 0..n_nodes {
        let root = roots.contains(&NodeIx::new(ix));
        let coefficient = if root { 0.0 } else { rng.random_range(-1.5..1.5) };
        let distribution =
            Distribution::LinearGaussian { mean: rng.random_range(-5.0..5.0), coefficient, variance: rng.random_range(0.1..2.0) };
        builder = builder.distribution(NodeIx::new(ix), distribution);
    }
    builder.build().unwrap()
}

/// Mean vector and covariance matrix of all nodes.
fn dense(model: &LatentTree) -> (DVector<f64>, DMatrix<f64>) {
    let n = model.tree().n_nodes();
    let (mut means, mut covariance) = (DVector::zeros(n), DMatrix::zeros(n, n));
    let mut done: Vec<usize> = Vec::new();
    for &node in &model.rooted().order {
        let Distribution::LinearGaussian { mean, coefficient, variance } = *model.distribution(node) else { panic!() };
        let v = node.get();
        means[v] = mean;
        let own = match model.parent(node) {
            Some(parent) => {
                let p = parent.get();
                for &u in &done {
                    let value = coefficient * covariance[(p, u)];
                    covariance[(v, u)] = value;
                    covariance[(u, v)] = value;
                }
                coefficient * coefficient * covariance[(p, p)]
            }
            None => 0.0,
        };
        covariance[(v, v)] = own + variance;
        done.push(v);
    }
    (means, covariance)
}

#[test]
fn every_answer_of_a_gaussian_tree_equals_the_dense_covariance_computation() {
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    for trial in 0..200_u64 {
        let model = random_gaussian(&mut rng, 12);
        let rows = random_rows(&model, trial, 3);
        let inference = Inference::new(&model);
        let (means, covariance) = dense(&model);
        let all: Vec<NodeIx> = model.tree().node_ixs().collect();
        let batch = &rows.batches()[0];
        let ln = inference.log_likelihood(batch).unwrap();
        let posterior = inference.posterior(batch, &all).unwrap();
        let best = inference.most_probable(batch).unwrap();
        for row in 0..batch.n_rows {
            let mut evidence = Evidence::row(&model, batch, row);
            if row == 2
                && let Some(node) = model.hidden().next()
            {
                evidence.set_node(&model, node, 0.7);
            }
            let known: Vec<usize> =
                all.iter().filter(|&&node| evidence.node(&model, node).is_some()).map(|node| node.get()).collect();
            let free: Vec<usize> = (0..all.len()).filter(|ix| !known.contains(ix)).collect();
            let block = |a: &[usize], b: &[usize]| DMatrix::from_fn(a.len(), b.len(), |i, j| covariance[(a[i], b[j])]);
            let residual =
                DVector::from_fn(known.len(), |i, _| evidence.node(&model, NodeIx::new(known[i])).unwrap() - means[known[i]]);
            let (mut exact_ln, mut mean, mut conditional) =
                (0.0, DVector::from_fn(free.len(), |i, _| means[free[i]]), block(&free, &free));
            if !known.is_empty() {
                let cholesky = block(&known, &known).cholesky().unwrap();
                let solved = cholesky.solve(&residual);
                let ln_det: f64 = 2.0 * cholesky.l().diagonal().iter().map(|it| it.ln()).sum::<f64>();
                exact_ln = -0.5 * (residual.dot(&solved) + ln_det + known.len() as f64 * std::f64::consts::TAU.ln());
                mean += block(&free, &known) * &solved;
                conditional -= block(&free, &known) * cholesky.solve(&block(&known, &free));
            }
            assert!(close(inference.log_evidence(&evidence), exact_ln, 1e-9));
            let answer = inference.query(&evidence, &all).unwrap();
            let JointAnswer::Gaussian { covariance: joint, .. } = inference.joint(&evidence, &all).unwrap() else { panic!() };
            for (i, &a) in free.iter().enumerate() {
                assert!(
                    close(answer.marginals[a].1[0], mean[i], 1e-9) && close(answer.marginals[a].1[1], conditional[(i, i)], 1e-9)
                );
                for (j, &b) in free.iter().enumerate() {
                    assert!(close(joint[a * all.len() + b], conditional[(i, j)], 1e-9));
                }
                if row < 2 {
                    assert!(close(posterior.get(row, a)[0], mean[i], 1e-9));
                    assert!(close(best.get(row, NodeIx::new(a)), mean[i], 1e-9));
                }
            }
            if row < 2 {
                assert!(close(ln[row], exact_ln, 1e-9));
                let peak = if free.is_empty() {
                    0.0
                } else {
                    let ln_det: f64 =
                        2.0 * conditional.clone().cholesky().unwrap().l().diagonal().iter().map(|it| it.ln()).sum::<f64>();
                    -0.5 * (ln_det + free.len() as f64 * std::f64::consts::TAU.ln())
                };
                assert!(close(best.log_probability()[row], exact_ln + peak, 1e-8));
            }
        }
    }
}

/// One hidden node over `n` binary leaves with given chances of a one in its two states, and the hidden state's prior.
fn wide_star(n: usize, chances: [f64; 2], prior: f64) -> LatentTree {
    let mut schema = Schema::builder();
    let mut nodes = vec![Node { name: "h".into(), observed: false }];
    let mut edges = Vec::new();
    for ix in 0..n {
        schema = schema.scalar(format!("x{ix}"), Kind::binary());
        nodes.push(Node { name: format!("x{ix}"), observed: true });
        edges.push(Edge::new(NodeIx::new(0), NodeIx::new(ix + 1)));
    }
    let tree = Tree::from_parts(nodes, &edges).unwrap();
    let mut builder = LatentTree::builder(Arc::new(schema.build().unwrap()), tree).root(NodeIx::new(0));
    builder = builder.distribution(NodeIx::new(0), Distribution::Discrete(Table::new(2, vec![prior, 1.0 - prior])));
    let [a, b] = chances;
    for ix in 1..=n {
        builder = builder.distribution(NodeIx::new(ix), Distribution::Discrete(Table::new(2, vec![1.0 - a, a, 1.0 - b, b])));
    }
    builder.build().unwrap()
}

fn binary_rows(model: &LatentTree, rows: &[Vec<u8>]) -> Dataset {
    let columns = (0..rows[0].len()).map(|ix| ColumnData::Codes8(rows.iter().map(|row| row[ix]).collect()));
    Dataset::from_columns(Arc::clone(model.schema()), columns.collect(), None).unwrap()
}

#[test]
fn ten_thousand_leaves_that_contradict_each_other_do_not_underflow() {
    // Half of the leaves speak for state 0 by 99 to 1 each, the other half for state 1: the posterior is the prior.
    let n = 10_000;
    let model = wide_star(n, [0.01, 0.99], 0.3);
    let half: Vec<u8> = (0..n).map(|ix| u8::from(ix < n / 2)).collect();
    let other: Vec<u8> = (0..n).map(|ix| u8::from(ix >= n / 2)).collect();
    let rows = binary_rows(&model, &[half, other, vec![1; n]]);
    let inference = Inference::new(&model);
    let posterior = inference.posterior(&rows.batches()[0], &[NodeIx::new(0)]).unwrap();
    let each = 5_000.0 * (0.01_f64.ln() + 0.99_f64.ln());
    for row in 0..2 {
        assert!(close(posterior.get(row, 0)[0], 0.3, 1e-9), "{:?}", posterior.get(row, 0));
        assert!(close(posterior.log_likelihood()[row], each, 1e-11));
    }
    assert!(close(posterior.log_likelihood()[2], 0.7_f64.ln() + 10_000.0 * 0.99_f64.ln(), 1e-11));
}

#[test]
fn certain_tables_over_long_products_keep_every_state() {
    // Two stars joined by an identity: the first favours state 0 by far more than f64 holds, the second state 1 even more.
    let n = 2_000;
    let mut schema = Schema::builder();
    let mut nodes = vec![Node { name: "a".into(), observed: false }, Node { name: "b".into(), observed: false }];
    let mut edges = vec![Edge::new(NodeIx::new(0), NodeIx::new(1))];
    for ix in 0..2 * n {
        schema = schema.scalar(format!("x{ix}"), Kind::binary());
        nodes.push(Node { name: format!("x{ix}"), observed: true });
        edges.push(Edge::new(NodeIx::new(ix % 2), NodeIx::new(ix + 2)));
    }
    let tree = Tree::from_parts(nodes, &edges).unwrap();
    let mut builder = LatentTree::builder(Arc::new(schema.build().unwrap()), tree).root(NodeIx::new(0));
    builder = builder.distribution(NodeIx::new(0), Distribution::Discrete(Table::new(2, vec![0.5, 0.5])));
    builder = builder.distribution(NodeIx::new(1), Distribution::Discrete(Table::new(2, vec![1.0, 0.0, 0.0, 1.0])));
    for ix in 0..2 * n {
        builder = builder.distribution(NodeIx::new(ix + 2), Distribution::Discrete(Table::new(2, vec![0.9, 0.1, 0.2, 0.8])));
    }
    let model = builder.build().unwrap();
    let row: Vec<u8> = (0..2 * n).map(|ix| u8::from(ix % 2 == 1)).collect();
    let inference = Inference::new(&model);
    let rows = binary_rows(&model, &[row]);
    let posterior = inference.posterior(&rows.batches()[0], &[NodeIx::new(0), NodeIx::new(1)]).unwrap();
    // ln P(evidence, state): zeros under a, ones under b.
    let n = n as f64;
    let (zero, one) = (n * (0.9_f64.ln() + 0.1_f64.ln()), n * (0.2_f64.ln() + 0.8_f64.ln()));
    let total = one + (zero - one).exp().ln_1p() + 0.5_f64.ln();
    assert!(close(posterior.log_likelihood()[0], total, 1e-11));
    assert!(close(posterior.get(0, 0)[1], 1.0, 1e-12) && close(posterior.get(0, 1)[1], 1.0, 1e-12));
}

#[test]
fn densities_far_apart_are_summed_without_loss() {
    let mut schema = Schema::builder();
    let mut nodes = vec![Node { name: "h".into(), observed: false }];
    let mut edges = Vec::new();
    for ix in 0..40 {
        schema = schema.scalar(format!("x{ix}"), Kind::Continuous);
        nodes.push(Node { name: format!("x{ix}"), observed: true });
        edges.push(Edge::new(NodeIx::new(0), NodeIx::new(ix + 1)));
    }
    let tree = Tree::from_parts(nodes, &edges).unwrap();
    let mut builder = LatentTree::builder(Arc::new(schema.build().unwrap()), tree).root(NodeIx::new(0));
    builder = builder.distribution(NodeIx::new(0), Distribution::Discrete(Table::new(2, vec![0.25, 0.75])));
    for ix in 1..=40 {
        let emission = Emission::Gaussian { means: vec![-30.0, 30.0], variances: vec![1.0, 1.0] };
        builder = builder.distribution(NodeIx::new(ix), Distribution::Emission(emission));
    }
    let model = builder.build().unwrap();
    let columns = (0..40).map(|ix| ColumnData::Reals(vec![if ix % 2 == 0 { -30.0 } else { 30.0 }])).collect();
    let rows = Dataset::from_columns(Arc::clone(model.schema()), columns, None).unwrap();
    let posterior = Inference::new(&model).posterior(&rows.batches()[0], &[NodeIx::new(0)]).unwrap();
    let each = 20.0 * (ln_normal(30.0, 30.0, 1.0) + ln_normal(30.0, -30.0, 1.0));
    assert!(close(posterior.log_likelihood()[0], each, 1e-12));
    assert!(close(posterior.get(0, 0)[0], 0.25, 1e-9));
}

#[test]
fn a_chain_of_ten_thousand_hidden_nodes_equals_its_scaled_recursion() {
    // A hidden Markov chain x_t <- h_t, forward algorithm as the oracle.
    let n = 5_000;
    let mut schema = Schema::builder();
    let mut nodes = Vec::new();
    let mut edges = Vec::new();
    for ix in 0..n {
        nodes.push(Node { name: format!("h{ix}"), observed: false });
        if ix > 0 {
            edges.push(Edge::new(NodeIx::new(ix - 1), NodeIx::new(ix)));
        }
    }
    for ix in 0..n {
        schema = schema.scalar(format!("x{ix}"), Kind::numbered(3));
        nodes.push(Node { name: format!("x{ix}"), observed: true });
        edges.push(Edge::new(NodeIx::new(ix), NodeIx::new(n + ix)));
    }
    let (prior, move_to, emit) = ([0.6, 0.4], [[0.9, 0.1], [0.3, 0.7]], [[0.7, 0.2, 0.1], [0.1, 0.1, 0.8]]);
    let tree = Tree::from_parts(nodes, &edges).unwrap();
    let mut builder = LatentTree::builder(Arc::new(schema.build().unwrap()), tree).root(NodeIx::new(0));
    for ix in 0..n {
        let table = if ix == 0 { Table::new(2, prior.to_vec()) } else { Table::new(2, move_to.concat()) };
        builder = builder.distribution(NodeIx::new(ix), Distribution::Discrete(table));
        builder = builder.distribution(NodeIx::new(n + ix), Distribution::Discrete(Table::new(3, emit.concat())));
    }
    let model = builder.build().unwrap();
    let inference = Inference::new(&model);
    let rows = inference.sample(20, 7).unwrap();
    let ln = inference.log_likelihood(&rows.batches()[0]).unwrap();
    for (row, ln) in ln.iter().enumerate() {
        let mut total = 0.0;
        let mut forward = prior;
        for t in 0..n {
            let x = rows.batches()[0].number(row, crate::ColIx::new(t)) as usize;
            let weighted = [forward[0] * emit[0][x], forward[1] * emit[1][x]];
            let sum = weighted[0] + weighted[1];
            total += sum.ln();
            let filtered = [weighted[0] / sum, weighted[1] / sum];
            forward = [0, 1].map(|s| filtered[0] * move_to[0][s] + filtered[1] * move_to[1][s]);
        }
        assert!(close(*ln, total, 1e-11));
    }
}

#[test]
fn sparse_rows_and_dense_rows_give_the_same_answers() {
    let model = wide_star(50, [0.02, 0.3], 0.8);
    let inference = Inference::new(&model);
    let rows = inference.sample(500, 3).unwrap();
    let dense = &rows.batches()[0];
    let mut sparse = SparseRows::default();
    for row in 0..dense.n_rows {
        sparse.columns.extend((0..50_u32).filter(|&ix| dense.number(row, crate::ColIx::new(ix as usize)) == 1.0));
        sparse.starts.push(sparse.columns.len());
    }
    let batch = Batch { block: Block::Sparse(sparse), ..(**dense).clone() };
    let (of_dense, of_sparse) = (inference.log_likelihood(dense).unwrap(), inference.log_likelihood(&batch).unwrap());
    of_dense.iter().zip(&of_sparse).for_each(|(a, b)| assert!(close(*a, *b, 1e-13), "{a} {b}"));
    assert_eq!(inference.most_probable(dense).unwrap(), inference.most_probable(&batch).unwrap());
}

#[test]
fn answers_and_samples_do_not_depend_on_the_number_of_threads() {
    let mut rng = ChaCha8Rng::seed_from_u64(6);
    let model = random_discrete(&mut rng, 30, true);
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let inference = Inference::new(&model);
            let rows = inference.sample(3_000, 11).unwrap();
            let hidden: Vec<NodeIx> = model.hidden().collect();
            let posterior = inference.posterior(&rows.batches()[0], &hidden).unwrap();
            let drawn = inference.sample_posterior(&rows.batches()[0], 5).unwrap();
            (rows, posterior, drawn.iter().map(|value| value.to_bits()).collect::<Vec<_>>())
        })
    };
    assert_eq!(run(1), run(3));
}

#[test]
fn sampled_frequencies_agree_with_exact_probabilities() {
    let mut rng = ChaCha8Rng::seed_from_u64(8);
    let n = 20_000_u64;
    for trial in 0..10 {
        let model = random_discrete(&mut rng, 7, false);
        let inference = Inference::new(&model);
        let all: Vec<NodeIx> = model.tree().node_ixs().collect();
        // Given the first hidden node, if there is one: conditional sampling too.
        let mut evidence = Evidence::none(&model);
        if let Some(node) = model.hidden().next() {
            evidence.set_node(&model, node, 0.0);
        }
        let Ok(answer) = inference.query(&evidence, &all) else { continue };
        let mut sampler = inference.sampler(n, trial).given(evidence).unwrap().with_hidden().unwrap();
        let rows = Dataset::read(&mut sampler).unwrap();
        for (node, marginal) in answer.marginals {
            let column = rows.schema().find_column(model.tree().name(node)).unwrap();
            for (state, &probability) in marginal.iter().enumerate() {
                let count: usize = rows
                    .batches()
                    .iter()
                    .map(|batch| (0..batch.n_rows).filter(|&row| batch.number(row, column) == state as f64).count())
                    .sum();
                // Six standard deviations of a binomial share.
                let sd = (probability * (1.0 - probability) / n as f64).sqrt();
                assert!((count as f64 / n as f64 - probability).abs() <= 6.0 * sd + 1e-12, "trial {trial}");
            }
        }
    }
}

#[test]
fn drawing_hidden_states_given_rows_reproduces_the_posterior() {
    let model = wide_star(3, [0.3, 0.7], 0.5);
    let n = 20_000;
    let rows = binary_rows(&model, &vec![vec![1, 0, 1]; n]);
    let inference = Inference::new(&model);
    let exact = inference.posterior(&rows.batches()[0], &[NodeIx::new(0)]).unwrap().get(0, 0)[1];
    let ones: f64 = rows
        .batches()
        .iter()
        .flat_map(|batch| inference.sample_posterior(batch, 3).unwrap().chunks(4).map(|row| row[0]).collect::<Vec<_>>())
        .sum();
    assert!((ones / n as f64 - exact).abs() < 6.0 * (exact * (1.0 - exact) / n as f64).sqrt());
}

#[test]
fn rerooting_changes_no_answer() {
    let mut rng = ChaCha8Rng::seed_from_u64(9);
    for trial in 0..60 {
        let model = if trial % 3 == 0 { random_gaussian(&mut rng, 12) } else { random_discrete(&mut rng, 12, trial % 3 == 1) };
        let rows = random_rows(&model, trial, 20);
        let before = Inference::new(&model).log_likelihood(&rows.batches()[0]).unwrap();
        for root in model.tree().node_ixs() {
            let Ok(turned) = model.rerooted(root) else {
                assert!(model.n_states(root).is_none() && model.tree().degree(root) > 0);
                continue;
            };
            assert!(turned.rooted().roots.contains(&root));
            let after = Inference::new(&turned).log_likelihood(&rows.batches()[0]).unwrap();
            assert!(before.iter().zip(&after).all(|(a, b)| close(*a, *b, 1e-10)));
        }
    }
}

#[test]
fn no_evidence_has_probability_one_exactly() {
    let mut rng = ChaCha8Rng::seed_from_u64(12);
    for _ in 0..200 {
        let model = random_discrete(&mut rng, 12, true);
        let (inference, none) = (Inference::new(&model), Evidence::none(&model));
        assert_eq!(inference.log_evidence(&none), 0.0);
        assert_eq!(inference.query(&none, &[]).unwrap().log_evidence, 0.0);
    }
}
