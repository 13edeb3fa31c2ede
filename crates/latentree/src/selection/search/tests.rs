//! Compares local computations with whole models.

use std::sync::Arc;

use super::cuts::Places;
use super::{Bench, BicSearch, by_bic};
use crate::Silent;
use crate::inference::Inference;
use crate::moments::{PairMoments, fold};
use crate::patch::{Columns, Context, Net};
use crate::simulate::{ParameterFamily, Shape, Simulation};

fn setting(seed: u64) -> (crate::model::LatentTree, crate::data::Dataset, Columns) {
    let family = ParameterFamily::Categorical { states: 3, hidden_states: 2, separation: 0.6 };
    let model = Simulation::new(Shape::Random { max_degree: Some(4) }, 12).family(family).seed(seed).model().unwrap();
    let rows = Inference::new(&model).sample(1_500, seed).unwrap();
    let columns = Columns::read(&rows, usize::MAX, &Silent).unwrap();
    (model, rows, columns)
}

/// A patch of the whole net has the log-likelihood of the model, and a star with the messages of the rest has the same up to
/// a constant.
#[test]
fn a_patch_has_the_likelihood_of_the_whole_model() {
    for seed in 0..5 {
        let (model, rows, columns) = setting(seed);
        let Some(net) = Net::of_model(&model, &columns) else { continue };
        let exact = Inference::new(&model).score(&mut rows.source(), &Silent, |_, _| Ok(())).unwrap().log_likelihood;
        let patch = net.patch(&net.order(), &columns);
        let whole = patch.expect(&columns, &mut patch.work(), |_, _| {}).log_likelihood;
        assert!((whole - exact).abs() < 1e-9 * exact.abs(), "{whole} for {exact}");
        // Changing the tables of one star changes its patch and the whole model by the same amount.
        let messages = net.messages(&columns);
        let context = Context::new(&net, &columns, &messages);
        for hidden in 0..net.n_hidden() {
            let star = context.star(hidden);
            let before = star.patch.expect(&columns, &mut star.patch.work(), |_, _| {}).log_likelihood;
            let mut changed = star.clone();
            for leaf in &mut changed.patch.leaves {
                let width = leaf.values.len() / changed.patch.nodes[0].n_states;
                for row in leaf.values.chunks_exact_mut(width) {
                    row.iter_mut().enumerate().for_each(|(cell, value)| *value *= 1.0 + 0.3 * cell as f64);
                    let total: f64 = row.iter().sum();
                    row.iter_mut().for_each(|value| *value /= total);
                }
            }
            let after = changed.patch.expect(&columns, &mut changed.patch.work(), |_, _| {}).log_likelihood;
            let mut other = net.clone();
            changed.apply(&mut other);
            let model = other.model(rows.schema(), &columns).unwrap();
            let score = Inference::new(&model).score(&mut rows.source(), &Silent, |_, _| Ok(())).unwrap().log_likelihood;
            // Messages are stored in single precision.
            assert!((score - exact - (after - before)).abs() < 1e-5 * exact.abs(), "{} for {}", after - before, score - exact);
        }
    }
}

/// Rerooting a net keeps its distribution, and so does the conversion to a model and back.
#[test]
fn rerooting_and_models_keep_the_distribution() {
    let (model, rows, columns) = setting(7);
    let net = Net::of_model(&model, &columns).unwrap();
    let exact = Inference::new(&model).score(&mut rows.source(), &Silent, |_, _| Ok(())).unwrap().log_likelihood;
    for root in 0..net.n_hidden() {
        let mut turned = net.clone();
        turned.reroot(root);
        assert_eq!(turned.parent[root], None);
        let model = turned.model(&Arc::clone(rows.schema()), &columns).unwrap();
        let score = Inference::new(&model).score(&mut rows.source(), &Silent, |_, _| Ok(())).unwrap().log_likelihood;
        assert!((score - exact).abs() < 1e-9 * exact.abs());
        assert_eq!(turned.n_free(&columns), model.n_free_parameters());
    }
}

fn table(columns: Vec<Vec<u8>>) -> crate::data::Dataset {
    let schema = (0..columns.len())
        .fold(crate::data::Schema::builder(), |builder, ix| builder.scalar(format!("x{ix}"), crate::data::Kind::binary()));
    let columns = columns.into_iter().map(crate::data::ColumnData::Codes8).collect();
    crate::data::Dataset::from_columns(Arc::new(schema.build().unwrap()), columns, None).unwrap()
}

fn searched(rows: &crate::data::Dataset) -> crate::model::LatentTree {
    let moments = PairMoments::new(Arc::clone(rows.schema())).unwrap();
    let moments = fold(&mut rows.source(), moments, &Silent).unwrap();
    by_bic(rows, &moments, &BicSearch::new(0), &Silent).unwrap()
}

/// Independent columns have no hidden variable, and identical columns at most one.
#[test]
fn independent_and_equal_columns_give_the_simplest_models() {
    use rand::{RngExt, SeedableRng};
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(4);
    let mut random = || (0..800).map(|_| rng.random_range(0..2_u8)).collect::<Vec<u8>>();
    let independent = searched(&table((0..6).map(|_| random()).collect()));
    // Six fair coins: BIC accepts an edge only rarely.
    assert!(independent.tree().n_edges() <= 2, "{}", independent.tree().n_edges());
    let one = random();
    let equal = searched(&table(vec![one; 5]));
    assert!(equal.tree().n_hidden() <= 1 && equal.tree().is_connected());
    let constant = searched(&table(vec![vec![1; 50]; 4]));
    assert_eq!(constant.tree().n_hidden(), 0);
}

/// Vector variables with one column stay leaves, however similar a hidden variable is to one of them.
#[test]
fn vectors_of_one_column_are_searched() {
    use rand::{RngExt, SeedableRng};
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(11);
    let mut columns = vec![vec![0_u8; 2_000]; 6];
    for row in 0..2_000 {
        columns[0][row] = rng.random_range(0..2);
        for at in 1..6 {
            columns[at][row] = if rng.random_bool(0.85) { columns[0][row] } else { 1 - columns[0][row] };
        }
    }
    let member = |ix: usize| crate::data::Column { name: format!("x{ix}"), kind: crate::data::Kind::binary() };
    let schema = (0..6).fold(crate::data::Schema::builder(), |builder, ix| builder.group(format!("g{ix}"), vec![member(ix)]));
    let columns = columns.into_iter().map(crate::data::ColumnData::Codes8).collect();
    let rows = crate::data::Dataset::from_columns(Arc::new(schema.build().unwrap()), columns, None).unwrap();
    let model = searched(&rows);
    assert!(model.tree().n_hidden() >= 1 && model.tree().is_connected());
}

/// A tree with observed inner nodes is found as such: no hidden variable is worth its parameters.
#[test]
fn a_chain_of_observed_variables_needs_no_hidden_ones() {
    use rand::{RngExt, SeedableRng};
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(9);
    let mut columns = vec![vec![0_u8; 3_000]; 6];
    for row in 0..3_000 {
        columns[0][row] = rng.random_range(0..2);
        for at in 1..6 {
            columns[at][row] = if rng.random_bool(0.9) { columns[at - 1][row] } else { 1 - columns[at - 1][row] };
        }
    }
    let model = searched(&table(columns));
    assert_eq!((model.tree().n_hidden(), model.n_free_parameters()), (0, 11));
}

/// The gain of an edge computed from messages equals the difference between the log-likelihoods of the models with and
/// without it.
#[test]
fn the_gain_of_an_edge_is_that_of_the_whole_model() {
    for seed in 0..5 {
        let (model, rows, columns) = setting(seed);
        let net = Net::of_model(&model, &columns).unwrap();
        let score = |model: &crate::model::LatentTree| {
            Inference::new(model).score(&mut rows.source(), &Silent, |_, _| Ok(())).unwrap().log_likelihood
        };
        let whole = score(&model);
        let bench = Bench::new(&rows, 1_500.0, &BicSearch::new(0), &Silent).unwrap();
        let (messages, marginals) = (net.messages(&columns), net.marginals());
        for node in (0..net.n_hidden()).filter(|&node| net.parent[node].is_some()) {
            let mut without = net.clone();
            without.parent[node] = None;
            without.table[node].clone_from(&marginals[node]);
            let exact = whole - score(&without.model(rows.schema(), &columns).unwrap());
            let gain = bench.gain_of_edge(&net, node, &messages, &marginals);
            assert!((gain - exact).abs() < 1e-5 * exact.abs().max(1.0), "{gain} for {exact}");
        }
    }
}

/// The places of an edge are the pairs of nodes that it could join, counted by walking over both parts.
#[test]
fn an_edge_between_parts_has_a_place_for_each_pair_of_their_nodes() {
    let mut n_joins = 0;
    for seed in 0..8 {
        let (model, _, columns) = setting(seed);
        let Some(net) = Net::of_model(&model, &columns) else { continue };
        let places = Places::of(&net);
        for node in 0..net.n_hidden() {
            let Some(parent) = net.parent[node] else { continue };
            // Inner nodes of a part, and leaves at them, from one end of the edge.
            let part = |start: usize, other: usize| {
                let mut seen = vec![start];
                let mut at = 0;
                while at < seen.len() {
                    let near = |it: &usize| net.parent[seen[at]] == Some(*it) || net.parent[*it] == Some(seen[at]);
                    let crosses = |it: usize| seen[at] == start && it == other;
                    let new = |it: &usize| !seen.contains(it) && !crosses(*it);
                    let next: Vec<usize> = (0..net.n_hidden()).filter(near).filter(new).collect();
                    seen.extend(next);
                    at += 1;
                }
                let n_leaves = net.leaf_of.iter().filter(|home| seen.contains(home)).count();
                (seen.iter().any(|&it| net.observed[it].is_none()), seen.len() + n_leaves)
            };
            let ((below, a), (above, b)) = (part(node, parent), part(parent, node));
            let found = places.ln_number(node);
            assert_eq!(found.is_some(), below && above);
            if let Some(found) = found {
                assert!((found - ((a * b) as f64).ln()).abs() < 1e-12, "{found} for {a} and {b} nodes");
                n_joins += 1;
            }
        }
    }
    assert!(n_joins > 10);
}

/// Independent parts stay separate trees, even though some place to join them fits best by chance.
#[test]
fn independent_parts_are_not_joined_by_hidden_nodes() {
    let part = |seed: u64| {
        let family = ParameterFamily::Categorical { states: 2, hidden_states: 2, separation: 0.7 };
        let model = Simulation::new(Shape::Random { max_degree: Some(4) }, 12).family(family).seed(seed).model().unwrap();
        Inference::new(&model).sample(2_000, seed).unwrap()
    };
    let mut joined = 0;
    for seed in 0..4 {
        let parts = [part(100 + seed), part(200 + seed), part(300 + seed)];
        let codes = parts.iter().flat_map(|part| {
            let cells = |column: usize, batch: &crate::data::Batch| {
                (0..batch.n_rows).map(|row| batch.number(row, crate::ColIx::new(column)) as u8).collect::<Vec<u8>>()
            };
            (0..12).map(move |column| part.batches().iter().flat_map(|batch| cells(column, batch)).collect::<Vec<u8>>())
        });
        let model = searched(&table(codes.collect()));
        let tree = model.tree();
        let part_of = |node: crate::NodeIx| tree.name(node)[1..].parse::<usize>().map_or(0, |ix| ix / 12);
        let leaves: Vec<_> = tree.node_ixs().filter(|&node| tree.is_observed(node) && tree.degree(node) == 1).collect();
        let by_hidden = |a: crate::NodeIx, b: crate::NodeIx| {
            tree.path(a, b).is_some_and(|path| path[1..path.len() - 1].iter().all(|&node| !tree.is_observed(node)))
        };
        for &a in &leaves {
            joined += leaves.iter().filter(|&&b| part_of(a) < part_of(b) && by_hidden(a, b)).count();
        }
    }
    assert_eq!(joined, 0);
}

/// An edge between two leaves of different hidden variables, and one from a leaf to a variable on its own, join separate trees.
#[test]
fn trees_are_joined_at_observed_variables() {
    use rand::{RngExt, SeedableRng};
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(23);
    let mut copy = |value: u8, share: f64| if rng.random_bool(share) { value } else { 1 - value };
    let mut columns = vec![Vec::new(); 11];
    for _ in 0..3_000 {
        let hidden = [copy(0, 0.5), copy(0, 0.5)];
        let mut row: Vec<u8> = (0..10).map(|at| copy(hidden[at / 5], 0.8)).collect();
        // The last leaf of the second hidden variable hardly depends on it, but on a leaf of the first.
        row[9] = if copy(0, 0.7) == 0 { copy(row[0], 0.7) } else { copy(hidden[1], 0.8) };
        row.push(copy(row[4], 0.58));
        row.iter().zip(&mut columns).for_each(|(&cell, column): (&u8, &mut Vec<u8>)| column.push(cell));
    }
    let rows = table(columns);
    let tree = searched(&rows).tree().clone();
    let has_edge = |a: &str, b: &str| tree.links(tree.find(a).unwrap()).iter().any(|link| Some(link.to) == tree.find(b));
    assert!(has_edge("x4", "x10"), "{}", tree.to_newick(None));
    assert!(tree.is_connected());
}
