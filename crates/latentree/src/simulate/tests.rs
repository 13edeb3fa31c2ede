use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::index::NodeIx;
use crate::model::{Distribution, Family};
use crate::tree::{robinson_foulds, same_structure};

fn rng(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

fn tree(shape: Shape, n_observed: usize) -> Tree {
    let tree = shape.tree(n_observed, 0.0, &mut rng(0)).unwrap();
    assert!(tree.is_connected() && tree.is_minimal());
    assert_eq!(tree.n_observed(), n_observed);
    for (ix, node) in tree.nodes().iter().enumerate() {
        let expected = if ix < n_observed { format!("x{}", ix + 1) } else { format!("h{}", ix + 1 - n_observed) };
        assert_eq!((node.name.as_str(), node.observed), (expected.as_str(), ix < n_observed));
    }
    tree
}

fn hidden_degrees(tree: &Tree) -> Vec<usize> {
    tree.node_ixs().filter(|&node| !tree.is_observed(node)).map(|node| tree.degree(node)).collect()
}

#[test]
fn shapes_of_choi_have_his_sizes() {
    assert_eq!(hidden_degrees(&tree(Shape::DoubleStar, 80)), [41, 41]);
    assert_eq!(hidden_degrees(&tree(Shape::Hmm, 80)), [3; 78]);
    let complete = tree(Shape::Complete { degree: 5 }, 81);
    assert_eq!(hidden_degrees(&complete), [5; 25]);
    assert_eq!(complete.degree(NodeIx::new(80)), 5);
    assert_eq!(complete.n_edges(), 105);
}

#[test]
fn stars_and_caterpillars_have_their_degrees() {
    assert_eq!(hidden_degrees(&tree(Shape::Star, 7)), [7]);
    assert_eq!(hidden_degrees(&tree(Shape::Caterpillar { leaves: 3 }, 12)), [4, 5, 5, 4]);
    assert_eq!(hidden_degrees(&tree(Shape::Caterpillar { leaves: 2 }, 5)), [4, 3]);
    assert_eq!(hidden_degrees(&tree(Shape::Caterpillar { leaves: 5 }, 3)), [3]);
    assert_eq!(hidden_degrees(&tree(Shape::Hmm, 3)), [3]);
    assert_eq!(hidden_degrees(&tree(Shape::Complete { degree: 3 }, 12)), [3; 10]);
    assert_eq!(tree(Shape::Hmm, 100_000).n_hidden(), 99_998);
    assert_eq!(tree(Shape::Star, 100_000).n_hidden(), 1);
}

#[test]
fn sizes_that_do_not_exist_are_refused_with_the_nearest() {
    let complete = Shape::Complete { degree: 5 };
    let message = complete.tree(50, 0.0, &mut rng(0)).unwrap_err().to_string();
    for size in ["20", "21", "80", "81"] {
        assert!(message.contains(size), "{message}");
    }
    for (shape, n_observed) in [
        (Shape::Star, 2),
        (Shape::DoubleStar, 3),
        (Shape::Hmm, 2),
        (Shape::Complete { degree: 2 }, 8),
        (Shape::Complete { degree: usize::MAX }, 8),
        (Shape::Caterpillar { leaves: 1 }, 8),
        (Shape::Random { max_degree: Some(2) }, 8),
        (Shape::Random { max_degree: None }, 0),
        (Shape::Star, usize::MAX),
    ] {
        assert!(shape.tree(n_observed, 0.0, &mut rng(0)).is_err(), "{shape:?} {n_observed}");
    }
    assert!(Shape::Star.tree(5, 0.5, &mut rng(0)).is_err());
    assert!(Shape::Random { max_degree: None }.tree(5, f64::NAN, &mut rng(0)).is_err());
}

#[test]
fn every_shape_is_found_by_its_name() {
    for name in ["star", "double-star", "hmm", "complete", "caterpillar", "random"] {
        assert_eq!(name.parse::<Shape>().unwrap().name(), name);
    }
    assert!("ring".parse::<Shape>().is_err());
    assert_eq!("random".parse::<Shape>().unwrap().with_degree(4).unwrap().degree(), Some(4));
}

#[test]
fn random_trees_are_minimal_with_exact_counts_and_bounded_degrees() {
    let mut rng = rng(1);
    for round in 0..600 {
        let n_observed = 1 + round % 40;
        let max_degree = [Some(3), Some(4), None][round % 3];
        let share = [0.0, 0.25, 0.5, 1.0][round % 4];
        let tree = Shape::Random { max_degree }.tree(n_observed, share, &mut rng).unwrap();
        assert!(tree.is_connected() && tree.is_minimal());
        assert_eq!(tree.n_observed(), n_observed);
        let inner: Vec<NodeIx> = tree.node_ixs().filter(|&node| tree.degree(node) > 1).collect();
        let n_observed_inner = inner.iter().filter(|&&node| tree.is_observed(node)).count();
        assert_eq!(n_observed_inner, (share * inner.len() as f64).round() as usize);
        assert!(inner.iter().all(|&node| tree.degree(node) <= max_degree.unwrap_or(usize::MAX)));
    }
}

/// Counts how often each structure comes up.
fn tally(n_observed: usize, max_degree: Option<usize>, share: f64, n_draws: usize) -> Vec<usize> {
    let mut rng = rng(2);
    let mut found: Vec<(Tree, usize)> = Vec::new();
    for _ in 0..n_draws {
        let tree = Shape::Random { max_degree }.tree(n_observed, share, &mut rng).unwrap();
        match found.iter_mut().find(|(other, _)| same_structure(other, &tree)) {
            Some((_, count)) => *count += 1,
            None => found.push((tree, 1)),
        }
    }
    found.into_iter().map(|(_, count)| count).collect()
}

#[test]
fn random_trees_cover_all_minimal_trees() {
    // Numbers of phylogenetic trees with n labelled leaves (Felsenstein 1978): binary (2n−5)!!, all 1, 4, 26, 236 unrooted.
    let binary = tally(5, Some(3), 0.0, 3000);
    assert_eq!(binary.len(), 15);
    // Uniform: each count is binomial(3000, 1/15), 200 ± 13.7.
    assert!(binary.iter().all(|&count| (130..270).contains(&count)), "{binary:?}");
    assert_eq!(tally(4, None, 0.0, 500).len(), 4);
    assert_eq!(tally(5, None, 0.0, 5000).len(), 26);
    // With all nodes observed: Cayley's 4² = 16 trees on four labelled nodes.
    assert_eq!(tally(4, None, 1.0, 3000).len(), 16);
}

fn families() -> Vec<ParameterFamily> {
    vec![
        ParameterFamily::gaussian(),
        ParameterFamily::Gaussian { correlation: (0.5, 0.5), random_sign: true },
        ParameterFamily::Categorical { states: 2, hidden_states: 2, separation: 0.0 },
        ParameterFamily::Categorical { states: 5, hidden_states: 3, separation: 0.5 },
        ParameterFamily::Categorical { states: 3, hidden_states: 4, separation: 1.0 },
        ParameterFamily::Symmetric { states: 3, strength: (0.2, 0.8) },
        ParameterFamily::Mixed { states: 3, hidden_states: 2, separation: 0.7, groups: true },
        ParameterFamily::Mixed { states: 3, hidden_states: 4, separation: 0.0, groups: false },
    ]
}

#[test]
fn every_family_makes_models_on_every_shape() {
    for family in families() {
        for (shape, n_observed, share) in [
            (Shape::Star, 6, 0.0),
            (Shape::DoubleStar, 9, 0.0),
            (Shape::Hmm, 9, 0.0),
            (Shape::Complete { degree: 3 }, 13, 0.0),
            (Shape::Random { max_degree: None }, 1, 0.0),
            (Shape::Random { max_degree: None }, 2, 0.0),
            (Shape::Random { max_degree: Some(4) }, 20, 0.4),
            (Shape::Random { max_degree: None }, 12, 1.0),
        ] {
            let simulation = Simulation::new(shape, n_observed).family(family).observed_inner(share).seed(3);
            let model = simulation.model().unwrap();
            assert_eq!(model.schema().variables().len(), n_observed);
            assert_eq!(model.rooted().roots, [model.tree().center()]);
            assert_eq!(model.provenance().options["family"], family.name());
            assert_eq!(model, simulation.model().unwrap());
        }
    }
}

#[test]
fn settings_out_of_range_are_refused() {
    for family in [
        ParameterFamily::Gaussian { correlation: (0.0, 0.5), random_sign: false },
        ParameterFamily::Gaussian { correlation: (0.5, 1.0), random_sign: false },
        ParameterFamily::Gaussian { correlation: (0.5, f64::NAN), random_sign: false },
        ParameterFamily::Categorical { states: 1, hidden_states: 2, separation: 0.5 },
        ParameterFamily::Categorical { states: 2, hidden_states: usize::MAX, separation: 0.5 },
        ParameterFamily::Categorical { states: 2, hidden_states: 2, separation: 1.5 },
        ParameterFamily::Symmetric { states: 0, strength: (0.2, 0.8) },
        ParameterFamily::Mixed { states: 2, hidden_states: 2, separation: f64::NAN, groups: true },
    ] {
        assert!(Simulation::new(Shape::Star, 5).family(family).model().is_err(), "{family:?}");
    }
    assert!(Simulation::on_tree(Tree::new()).model().is_err());
}

/// Covariance of all nodes by the model's own equations, in the order of parents before children.
fn covariance(model: &LatentTree) -> Vec<Vec<f64>> {
    let n_nodes = model.tree().n_nodes();
    let mut covariance = vec![vec![0.0; n_nodes]; n_nodes];
    let mut done: Vec<NodeIx> = Vec::new();
    for &node in &model.rooted().order {
        let &Distribution::LinearGaussian { coefficient, variance, .. } = model.distribution(node) else {
            panic!("a Gaussian model")
        };
        let own = match model.parent(node) {
            None => variance,
            Some(parent) => {
                for other in &done {
                    let value = coefficient * covariance[parent.get()][other.get()];
                    covariance[node.get()][other.get()] = value;
                    covariance[other.get()][node.get()] = value;
                }
                variance + coefficient * coefficient * covariance[parent.get()][parent.get()]
            }
        };
        covariance[node.get()][node.get()] = own;
        done.push(node);
    }
    covariance
}

#[test]
fn gaussian_correlations_are_products_along_paths() {
    for seed in 0..30 {
        let family = ParameterFamily::Gaussian { correlation: (0.2, 0.8), random_sign: seed % 2 == 1 };
        let simulation = Simulation::new(Shape::Random { max_degree: None }, 15).family(family);
        let model = simulation.observed_inner(0.3).seed(seed).model().unwrap();
        assert_eq!(model.family(), Family::Gaussian);
        let covariance = covariance(&model);
        let lengths = model.tree().path_lengths().unwrap();
        for (row, a) in lengths.nodes().iter().enumerate() {
            assert!((covariance[a.get()][a.get()] - 1.0).abs() < 1e-12);
            for (column, b) in lengths.nodes().iter().enumerate() {
                let expected = (-lengths.get(row, column).unwrap()).exp();
                assert!((covariance[a.get()][b.get()].abs() - expected).abs() < 1e-12);
                assert!(seed % 2 == 1 || covariance[a.get()][b.get()] > 0.0);
            }
        }
    }
}

fn discrete_table(model: &LatentTree, node: NodeIx) -> &crate::model::Table {
    match model.distribution(node) {
        Distribution::Discrete(table) => table,
        other => panic!("a discrete node, not {other:?}"),
    }
}

/// Joint table of two nodes: the marginal of the first, and tables composed down the path or reversed up it.
fn joint(model: &LatentTree, a: NodeIx, b: NodeIx) -> nalgebra::DMatrix<f64> {
    let matrix = |node| {
        let table = discrete_table(model, node);
        nalgebra::DMatrix::from_row_slice(table.n_parent_states(), table.n_states(), table.values())
    };
    let down_from_root = |node: NodeIx| {
        let mut product = matrix(node);
        let mut at = node;
        while let Some(parent) = model.parent(at) {
            product = matrix(parent) * product;
            at = parent;
        }
        product
    };
    let above = |mut node: NodeIx| {
        let mut path = vec![node];
        while let Some(parent) = model.parent(node) {
            path.push(parent);
            node = parent;
        }
        path
    };
    let path_b = above(b);
    let top = *above(a).iter().find(|node| path_b.contains(node)).unwrap();
    let given_top = |mut node: NodeIx| {
        let mut product = nalgebra::DMatrix::identity(model.n_states(node).unwrap(), model.n_states(node).unwrap());
        while node != top {
            product = matrix(node) * product;
            node = model.parent(node).unwrap();
        }
        product
    };
    let prior = nalgebra::DMatrix::from_diagonal(&down_from_root(top).row(0).transpose());
    given_top(a).transpose() * prior * given_top(b)
}

#[test]
fn discrete_lengths_are_log_det_distances_of_pairs_of_variables() {
    for family in [
        ParameterFamily::Symmetric { states: 3, strength: (0.3, 0.9) },
        ParameterFamily::Symmetric { states: 2, strength: (0.3, 0.9) },
        ParameterFamily::Categorical { states: 3, hidden_states: 3, separation: 0.8 },
    ] {
        let simulation = Simulation::new(Shape::Random { max_degree: None }, 8).family(family).observed_inner(0.3);
        let model = simulation.seed(5).model().unwrap();
        let lengths = model.tree().path_lengths().unwrap();
        for (row, &a) in lengths.nodes().iter().enumerate() {
            for (column, &b) in lengths.nodes().iter().enumerate().filter(|(_, b)| **b != a) {
                let joint = joint(&model, a, b);
                let (own_a, own_b) = (joint.column_sum(), joint.row_sum());
                let expected = -(joint.determinant().abs() / (own_a.product() * own_b.product()).sqrt()).ln();
                assert!((lengths.get(row, column).unwrap() - expected).abs() < 1e-8 * expected.max(1.0));
            }
        }
    }
}

#[test]
fn separation_goes_from_independent_to_a_function() {
    for (states, hidden_states) in [(2, 2), (5, 3), (3, 4)] {
        let model = |separation| {
            let family = ParameterFamily::Categorical { states, hidden_states, separation };
            Simulation::new(Shape::DoubleStar, 8).family(family).model().unwrap()
        };
        let (useless, sure) = (model(0.0), model(1.0));
        assert!(useless.tree().edges().all(|edge| edge.length.is_none()));
        for node in useless.tree().node_ixs().filter(|&node| useless.parent(node).is_some()) {
            let table = discrete_table(&useless, node);
            assert!(table.rows().all(|row| row == table.given(0)));
            let table = discrete_table(&sure, node);
            let tells_parent = (0..table.n_states()).all(|state| table.rows().filter(|row| row[state] > 0.0).count() <= 1);
            let is_told = table.rows().all(|row| row.iter().filter(|value| **value > 0.0).count() == 1);
            assert!(tells_parent || is_told);
        }
    }
}

#[test]
fn random_models_of_all_kinds_keep_the_invariants() {
    let mut rng = rng(9);
    for round in 0..150 {
        let options = RandomModelOptions {
            n_observed: 1 + round % 12,
            observed_inner: [0.0, 0.3, 1.0][round % 3],
            max_degree: [None, Some(3)][round % 2],
            n_degree_two: round % 4,
            n_trees: 1 + (round % 5).min(round % 12),
            kind: [RandomKind::Categorical, RandomKind::Mixed, RandomKind::Gaussian][round / 3 % 3],
            ..RandomModelOptions::default()
        };
        let model = random_model(&mut rng, &options).unwrap();
        assert_eq!(model.tree().n_observed(), options.n_observed);
        assert_eq!(model.tree().n_components(), options.n_trees);
        let minimal = model.tree().minimal();
        assert!(minimal.is_minimal());
        assert_eq!(robinson_foulds(&minimal, model.tree()).unwrap().distance, 0);
    }
    let none = RandomModelOptions { n_trees: 9, ..RandomModelOptions::default() };
    assert!(random_model(&mut rng, &none).is_err());
}

#[test]
fn separated_tables_keep_their_singular_values_away_from_zero() {
    let mut n_tables = 0;
    for (seed, (states, hidden_states)) in [(2, 2), (3, 3), (8, 4), (40, 3)].into_iter().enumerate() {
        for separation in [0.3, 0.6, 0.9] {
            let family = ParameterFamily::Categorical { states, hidden_states, separation };
            let model = Simulation::new(Shape::Hmm, 40).family(family).seed(seed as u64).model().unwrap();
            for node in model.tree().node_ixs().filter(|&node| model.parent(node).is_some()) {
                let table = discrete_table(&model, node);
                let matrix = nalgebra::DMatrix::from_row_slice(table.n_parent_states(), table.n_states(), table.values());
                let block = (table.n_states() as f64 / table.n_parent_states() as f64).max(1.0);
                assert!(matrix.singular_values().min() >= separation / 4.0 / block.sqrt() - 1e-12);
                n_tables += 1;
            }
        }
    }
    assert_eq!(n_tables, 12 * 77);
}
