use std::sync::Arc;

use crate::data::{ColumnData, Dataset, Kind, Schema};
use crate::inference::Inference;
use crate::model::test_models::{Family, random_model};
use crate::model::{Distribution, Emission, LatentTree, Marginal, Table};
use crate::observer::Silent;
use crate::simulate::{ParameterFamily, Shape, Simulation};
use crate::tree::{Edge, Node, Tree};
use crate::{NodeIx, VarIx};

fn log_likelihoods(model: &LatentTree, rows: &Dataset) -> Vec<f64> {
    let mut all = Vec::new();
    Inference::new(model)
        .score(&mut rows.source(), &Silent, |_, values| {
            all.extend_from_slice(values);
            Ok(())
        })
        .unwrap();
    all
}

/// Every row that there can be.
fn all_rows(schema: &Arc<Schema>) -> Dataset {
    let sizes: Vec<usize> = schema.columns().iter().map(|column| column.kind.n_states().unwrap()).collect();
    let n: usize = sizes.iter().product();
    let mut below = 1;
    let columns = sizes.iter().zip(schema.columns()).map(|(&size, column)| {
        let mut data = ColumnData::for_kind(&column.kind, n);
        (0..n).for_each(|row| data.push_code(Some((row / below % size) as u32)));
        below *= size;
        data
    });
    Dataset::from_columns(Arc::clone(schema), columns.collect(), None).unwrap()
}

#[test]
fn the_joint_distribution_of_the_observed_variables_stays() {
    let mut changed = 0;
    for seed in 0..60 {
        let model = random_model(seed, Family::Discrete, 9);
        let ordered = model.with_ordered_states().unwrap();
        changed += usize::from(ordered != model);
        let rows = all_rows(model.schema());
        for (a, b) in log_likelihoods(&model, &rows).into_iter().zip(log_likelihoods(&ordered, &rows)) {
            assert!((a - b).abs() <= 1e-12 * a.abs().max(1.0), "seed {seed}: {a} {b}");
        }
        assert_eq!(ordered.n_free_parameters(), model.n_free_parameters());
        assert_eq!(ordered.provenance(), model.provenance());
    }
    assert!(changed > 20, "{changed} of 60 models were not in order");
}

#[test]
fn the_density_of_continuous_count_and_group_leaves_stays() {
    for seed in 0..20 {
        let family = ParameterFamily::Mixed { states: 3, hidden_states: 2 + (seed % 3) as usize, separation: 0.5, groups: true };
        let shape = Shape::Random { max_degree: Some(4) };
        let model = Simulation::new(shape, 10).family(family).seed(seed).model().unwrap();
        let ordered = model.with_ordered_states().unwrap();
        let rows = Inference::new(&model).sample(50, seed).unwrap();
        for (a, b) in log_likelihoods(&model, &rows).into_iter().zip(log_likelihoods(&ordered, &rows)) {
            assert!((a - b).abs() <= 1e-12 * a.abs().max(1.0), "seed {seed}: {a} {b}");
        }
    }
}

#[test]
fn ordering_twice_changes_nothing() {
    for seed in 0..200 {
        let family = if seed % 2 == 0 { Family::Discrete } else { Family::Mixed };
        let once = random_model(seed, family, 12).with_ordered_states().unwrap();
        assert_eq!(once.with_ordered_states().unwrap(), once, "seed {seed}");
    }
    let gaussian = random_model(3, Family::Gaussian, 12);
    assert_eq!(gaussian.with_ordered_states().unwrap(), gaussian);
}

/// The model with hidden states in another order.
fn shuffled(model: &LatentTree, by: usize) -> LatentTree {
    let orders = model.tree().node_ixs().map(|node| {
        let n = model.n_states(node).filter(|_| model.variable(node).is_none())?;
        Some((0..n).map(|state| (state + by) % n).collect::<Vec<usize>>())
    });
    let orders: Vec<_> = orders.collect();
    let order = |node: NodeIx| orders[node.get()].as_deref();
    let mut builder = LatentTree::builder(model.schema().clone(), model.tree().clone()).roots(&model.rooted().roots);
    for node in model.tree().node_ixs() {
        let above = model.parent(node).and_then(order);
        builder = builder.distribution(
            node,
            match model.distribution(node) {
                Distribution::Discrete(table) => Distribution::Discrete(super::permuted_table(table, above, order(node))),
                Distribution::Emission(emission) => Distribution::Emission(super::permuted_emission(emission, above)),
                other => other.clone(),
            },
        );
    }
    builder.provenance(model.provenance().clone()).build().unwrap()
}

#[test]
fn neither_the_order_of_states_nor_that_of_columns_matters() {
    for seed in 0..30 {
        let hidden_states = 2 + (seed % 3) as usize;
        let family = ParameterFamily::Mixed { states: 3, hidden_states, separation: 0.5, groups: true };
        let shape = Shape::Random { max_degree: Some(4) };
        let model = Simulation::new(shape, 12).family(family).seed(seed).model().unwrap();
        let ordered = model.with_ordered_states().unwrap();
        for by in 1..hidden_states {
            assert_eq!(shuffled(&model, by).with_ordered_states().unwrap(), ordered, "seed {seed}");
        }
        // The same variables from the last to the first: other columns, other nodes.
        let names: Vec<&str> = model.schema().variables().iter().rev().map(|it| it.name.as_str()).collect();
        let mut schema = Schema::builder();
        for variable in model.schema().variables().iter().rev() {
            let members: Vec<_> = variable.columns.iter().map(|&column| model.schema().column(column).clone()).collect();
            schema = if variable.is_group {
                schema.group(variable.name.clone(), members)
            } else {
                schema.scalar(variable.name.clone(), members[0].kind.clone())
            };
        }
        let tree = model.tree().with_observed_first(&names).unwrap();
        let place = |node: NodeIx| tree.find(model.tree().name(node)).unwrap();
        let roots: Vec<NodeIx> = model.rooted().roots.iter().map(|&root| place(root)).collect();
        let mut builder = LatentTree::builder(Arc::new(schema.build().unwrap()), tree.clone()).roots(&roots);
        for node in model.tree().node_ixs() {
            builder = builder.distribution(place(node), model.distribution(node).clone());
        }
        let reversed = builder.build().unwrap().with_ordered_states().unwrap();
        for node in model.tree().node_ixs() {
            assert_eq!(reversed.distribution(place(node)), ordered.distribution(node), "seed {seed}");
        }
    }
}

/// A star of one hidden node `h` over columns of these kinds.
fn star(kinds: &[Kind], weights: &[f64], distributions: Vec<Distribution>) -> LatentTree {
    let mut schema = Schema::builder();
    let mut nodes = Vec::new();
    for (ix, kind) in kinds.iter().enumerate() {
        schema = schema.scalar(format!("x{ix}"), kind.clone());
        nodes.push(Node { name: format!("x{ix}"), observed: true });
    }
    nodes.push(Node { name: "h".to_owned(), observed: false });
    let h = NodeIx::new(kinds.len());
    let edges: Vec<Edge> = (0..kinds.len()).map(|ix| Edge::with_length(NodeIx::new(ix), h, 1.0)).collect();
    let mut builder = LatentTree::builder(Arc::new(schema.build().unwrap()), Tree::from_parts(nodes, &edges).unwrap()).root(h);
    for (ix, distribution) in distributions.into_iter().enumerate() {
        builder = builder.distribution(NodeIx::new(ix), distribution);
    }
    builder.distribution(h, Distribution::Discrete(Table::new(weights.len(), weights.to_vec()))).build().unwrap()
}

fn table(n_states: usize, values: &[f64]) -> Distribution {
    Distribution::Discrete(Table::new(n_states, values.to_vec()))
}

fn weights(model: &LatentTree, name: &str) -> Vec<f64> {
    let node = model.tree().find(name).unwrap();
    match &model.marginals()[node.get()] {
        Marginal::Discrete(weights) => weights.clone(),
        _ => panic!("discrete"),
    }
}

#[test]
fn states_rise_with_their_numbers_and_labels_without_order_put_the_commonest_first() {
    let gaussian =
        |means: &[f64]| Distribution::Emission(Emission::Gaussian { means: means.to_vec(), variances: vec![1.0; means.len()] });
    let text = |labels: &[&str]| Kind::Categorical { labels: labels.iter().map(|&it| it.to_owned()).collect() };
    let sizes = [0.3, 0.2, 0.5];
    // Means of continuous columns.
    let model =
        star(&[Kind::Continuous, Kind::Continuous], &sizes, vec![gaussian(&[2.0, -1.0, 0.0]), gaussian(&[5.0, 1.0, 2.0])]);
    assert_eq!(weights(&model.with_ordered_states().unwrap(), "h"), [0.2, 0.5, 0.3]);
    // Rates of counts.
    let rates = Distribution::Emission(Emission::Poisson { rates: vec![1.0, 9.0, 3.0] });
    let model = star(&[Kind::Count], &sizes, vec![rates]);
    assert_eq!(weights(&model.with_ordered_states().unwrap(), "h"), [0.3, 0.5, 0.2]);
    // Labels that are numbers count as these, in whatever order they stand.
    let model = star(&[text(&["10", "9"])], &[0.6, 0.4], vec![table(2, &[0.9, 0.1, 0.2, 0.8])]);
    assert_eq!(weights(&model.with_ordered_states().unwrap(), "h"), [0.4, 0.6]);
    // Pairs of words that have an order, and others that have none.
    let model = star(&[text(&["Yes", "no"])], &[0.4, 0.6], vec![table(2, &[0.9, 0.1, 0.2, 0.8])]);
    assert_eq!(weights(&model.with_ordered_states().unwrap(), "h"), [0.6, 0.4]);
    let model = star(&[text(&["red", "green", "7"])], &sizes, vec![table(3, &[0.6, 0.2, 0.2, 0.2, 0.6, 0.2, 0.2, 0.2, 0.6])]);
    assert_eq!(weights(&model.with_ordered_states().unwrap(), "h"), [0.5, 0.3, 0.2]);
    // An ordered column that does not depend on the node decides nothing.
    let model = star(
        &[Kind::binary(), text(&["red", "green"])],
        &[0.4, 0.6],
        vec![table(2, &[0.5, 0.5, 0.5, 0.5]), table(2, &[0.9, 0.1, 0.2, 0.8])],
    );
    assert_eq!(weights(&model.with_ordered_states().unwrap(), "h"), [0.6, 0.4]);
    // The column that tells most decides against two that tell little.
    let model = star(
        &[Kind::binary(), Kind::binary(), Kind::binary()],
        &[0.5, 0.5],
        vec![table(2, &[0.05, 0.95, 0.95, 0.05]), table(2, &[0.7, 0.3, 0.3, 0.7]), table(2, &[0.7, 0.3, 0.3, 0.7])],
    );
    let ordered = model.with_ordered_states().unwrap();
    let first = ordered.node_of(VarIx::new(0));
    assert_eq!(*ordered.distribution(first), table(2, &[0.95, 0.05, 0.05, 0.95]));
}

#[test]
fn of_rare_words_state_1_has_more_and_is_the_rarer_one_in_all_of_the_tree() {
    // Five hidden nodes in a chain, of which the one in the middle has no column: states of a random order.
    let mut schema = Schema::builder();
    let mut nodes: Vec<Node> = (0..5).map(|ix| Node { name: format!("h{ix}"), observed: false }).collect();
    let mut edges: Vec<Edge> = (1..5).map(|ix| Edge::with_length(NodeIx::new(ix - 1), NodeIx::new(ix), 1.0)).collect();
    for ix in [0, 1, 3, 4] {
        for word in 0..3 {
            let name = format!("word{ix}{word}");
            schema = schema.scalar(name.clone(), Kind::binary());
            edges.push(Edge::with_length(NodeIx::new(ix), NodeIx::new(nodes.len()), 1.0));
            nodes.push(Node { name, observed: true });
        }
    }
    let tree = Tree::from_parts(nodes, &edges).unwrap();
    let flipped = |node: NodeIx| node.get() < 5 && node.get().is_multiple_of(2);
    let turn = |flip: bool, values: [f64; 2]| if flip { [values[1], values[0]] } else { values };
    let schema = Arc::new(schema.build().unwrap());
    let mut builder = LatentTree::builder(schema, tree.clone()).root(NodeIx::new(0));
    builder = builder.distribution(NodeIx::new(0), table(2, &turn(flipped(NodeIx::new(0)), [0.9, 0.1])));
    for node in tree.node_ixs().skip(1) {
        let parent = if node.get() < 5 { NodeIx::new(node.get() - 1) } else { NodeIx::new([0, 1, 3, 4][(node.get() - 5) / 3]) };
        let rows = [turn(flipped(node), [0.96, 0.04]), turn(flipped(node), [0.3, 0.7])];
        let rows = if flipped(parent) { [rows[1], rows[0]] } else { rows };
        builder = builder.distribution(node, table(2, &rows.concat()));
    }
    let model = builder.build().unwrap();
    assert!(weights(&model, "h2")[0] < 0.5);
    let ordered = model.with_ordered_states().unwrap();
    for ix in 0..5 {
        let weights = weights(&ordered, &format!("h{ix}"));
        assert!(weights[0] > 0.5, "h{ix}: {weights:?}");
    }
    for node in ordered.tree().node_ixs().skip(1) {
        let Distribution::Discrete(table) = ordered.distribution(node) else { panic!("discrete") };
        assert!(table.given(1)[1] > table.given(0)[1], "{}", ordered.tree().name(node));
    }
}
