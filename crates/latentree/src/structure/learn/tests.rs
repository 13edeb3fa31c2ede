use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::data::{ColumnData, Dataset, Kind, Schema};
use crate::inference::Inference;
use crate::moments::fold;
use crate::observer::Silent;
use crate::simulate::{ParameterFamily, Shape, Simulation};
use crate::structure::distance_spanning_tree;
use crate::structure::test_trees::{assert_same_tree, exact_distances, minimal_trees};
use crate::tree::{robinson_foulds, same_structure};

const FROM_DISTANCES: [LearnerName; 6] = [
    LearnerName::NeighborJoining,
    LearnerName::SpectralNeighborJoining,
    LearnerName::RecursiveGrouping,
    LearnerName::ChowLiuRecursiveGrouping,
    LearnerName::ChowLiuNeighborJoining,
    LearnerName::ParallelLocalGrouping,
];

fn clear() -> ParameterFamily {
    ParameterFamily::Gaussian { correlation: (0.6, 0.85), random_sign: true }
}

fn blocks_of(data: &Dataset, n_blocks: usize) -> BlockMoments {
    fold(&mut data.source(), BlockMoments::new(Arc::clone(data.schema()), n_blocks).unwrap(), &Silent).unwrap()
}

fn numbers(columns: Vec<Vec<f64>>) -> Dataset {
    let schema = (0..columns.len()).fold(Schema::builder(), |schema, ix| schema.scalar(format!("x{ix}"), Kind::Continuous));
    let columns = columns.into_iter().map(ColumnData::Reals).collect();
    Dataset::from_columns(Arc::new(schema.build().unwrap()), columns, None).unwrap()
}

fn learn(blocks: &BlockMoments, options: &StructureOptions) -> Result<LearnedStructure> {
    let (whole, halves) = (blocks.whole().unwrap(), blocks.halves().unwrap());
    learn_structure(StructureInput::Moments { whole: &whole, halves: Some(&halves) }, options, &Silent)
}

fn assert_sound(tree: &Tree, n_observed: usize) {
    assert!(tree.is_minimal() && tree.n_observed() == n_observed);
    assert!(tree.edges().all(|edge| edge.length.is_some_and(|length| length.is_finite() && length >= 0.0)));
}

#[test]
fn names_read_back_and_wrong_ones_are_told() {
    for name in LearnerName::ALL {
        assert_eq!(name.name().parse::<LearnerName>().unwrap(), name);
    }
    assert!("qj".parse::<LearnerName>().unwrap_err().to_string().contains("clnj"));
    assert_eq!("none".parse::<Contraction>().unwrap(), Contraction::Off);
    assert_eq!("0".parse::<Contraction>().unwrap(), Contraction::Off);
    assert_eq!("0.9".parse::<Contraction>().unwrap(), Contraction::UpTo(-(0.9_f64.ln())));
    assert!(["1.5", "-1", "nan", "x"].iter().all(|text| text.parse::<Contraction>().is_err()));
}

#[test]
fn exact_distances_give_the_tree_with_its_lengths_by_every_learner() {
    for (trial, truth) in minimal_trees(40).enumerate() {
        let distances = exact_distances(&truth);
        for name in FROM_DISTANCES {
            let options = StructureOptions::new().learner(name);
            let found = learn_structure(StructureInput::Distances(&distances), &options, &Silent).unwrap();
            assert_eq!(found.learner, name);
            assert_same_tree(&truth, &found.tree, 1e-6, &format!("{name} {trial}"));
        }
        let auto = learn_structure(StructureInput::Distances(&distances), &StructureOptions::new(), &Silent).unwrap();
        assert_eq!(auto.learner, LearnerName::NeighborJoining);
    }
}

#[test]
fn the_rule_of_auto_is_as_documented() {
    let model = Simulation::new(Shape::DoubleStar, 12).family(clear()).seed(2).model().unwrap();
    let data = Inference::new(&model).sample(3000, 2).unwrap();
    let blocks = blocks_of(&data, 2);
    let found = learn(&blocks, &StructureOptions::new()).unwrap();
    assert_eq!(found.learner, LearnerName::Likelihood);
    assert!(found.penalty.is_some() && same_structure(&found.tree, model.tree()), "{}", found.tree.to_newick(None));
    let whole = blocks.whole().unwrap();
    let input = StructureInput::Moments { whole: &whole, halves: None };
    let alone = learn_structure(input, &StructureOptions::new(), &Silent).unwrap();
    assert_eq!(alone.learner, LearnerName::Likelihood);
    assert!(same_structure(&alone.tree, model.tree()));
    // Three labels have no one correlation, and distances stand in for it.
    let family = ParameterFamily::Categorical { states: 3, hidden_states: 2, separation: 0.8 };
    let model = Simulation::new(Shape::Star, 6).family(family).seed(2).model().unwrap();
    let blocks = blocks_of(&Inference::new(&model).sample(2000, 2).unwrap(), 2);
    let found = learn(&blocks, &StructureOptions::new()).unwrap();
    assert_eq!(found.learner, LearnerName::Likelihood);
    assert!(same_structure(&found.tree, model.tree()), "{}", found.tree.to_newick(None));
    let few = blocks_of(&Inference::new(&model).sample(30, 2).unwrap(), 2);
    assert_eq!(learn(&few, &StructureOptions::new()).unwrap().learner, LearnerName::ChowLiuNeighborJoining);
}

/// Whether a learner needs no rows, and finds the tree itself: hidden nodes of `hclt` are one per inner node whatever the tree.
fn from_moments(name: &LearnerName) -> bool {
    !matches!(
        name,
        LearnerName::RegularisedNeighborJoining
            | LearnerName::RegularisedRecursiveGrouping
            | LearnerName::HiddenChowLiu
            | LearnerName::Levels
            | LearnerName::Chain
            | LearnerName::AverageLinkage
            | LearnerName::CompleteLinkage
            | LearnerName::SingleLinkage
    )
}

/// The lengths of a tree's edges in other distances.
fn total_length(tree: &Tree, distances: &crate::distance::DistanceMatrix) -> f64 {
    let place = |node| distances.names().iter().position(|name| name == tree.name(node)).unwrap();
    tree.edges().map(|edge| distances.get(place(edge.a), place(edge.b)).unwrap()).sum()
}

#[test]
fn every_learner_finds_most_of_a_clear_tree_and_its_tree_is_sound() {
    let model = Simulation::new(Shape::Caterpillar { leaves: 3 }, 18).family(clear()).seed(5).model().unwrap();
    let blocks = blocks_of(&Inference::new(&model).sample(20_000, 5).unwrap(), 8);
    let exact = exact_distances(model.tree());
    for name in LearnerName::ALL.into_iter().filter(from_moments) {
        let found = learn(&blocks, &StructureOptions::new().learner(name)).unwrap();
        assert_sound(&found.tree, 18);
        let far = robinson_foulds(model.tree(), &found.tree).unwrap().normalized;
        match name {
            // It has no hidden nodes: it is the spanning tree of the model's own distances, or one nearly as short.
            LearnerName::ChowLiu => {
                let shortest = total_length(&distance_spanning_tree(&exact), &exact);
                assert!(found.tree.n_hidden() == 0 && total_length(&found.tree, &exact) < 1.001 * shortest);
            }
            // It has a hidden node for each inner one of the spanning tree.
            LearnerName::ChowLiuBlind => {
                let spanning = learn(&blocks, &StructureOptions::new().learner(LearnerName::ChowLiu)).unwrap().tree;
                let n_inner = spanning.node_ixs().filter(|&node| spanning.degree(node) > 1).count();
                assert_eq!(found.tree.n_hidden(), n_inner);
            }
            _ => assert!(far <= 0.3, "{name}: {far}"),
        }
    }
}

#[test]
fn edges_are_contracted_once_by_the_learners_own_lengths_and_fitted_ones_contract_nothing() {
    let model = Simulation::new(Shape::Random { max_degree: Some(4) }, 25).seed(1).model().unwrap();
    let blocks = blocks_of(&Inference::new(&model).sample(300, 1).unwrap(), 2);
    let whole = blocks.whole().unwrap();
    let distances = learnable(25, Estimator::Gaussian, &DistanceOptions::new(), |significance| {
        estimate(&whole, &DistanceOptions::new().significance(significance), &Silent)
    });
    let distances = distances.unwrap();
    let is_long = |tree: &Tree, least: f64| {
        let at_hidden = |edge: &crate::tree::Edge| !tree.is_observed(edge.a) || !tree.is_observed(edge.b);
        tree.edges().filter(at_hidden).all(|edge| edge.length.unwrap() > least)
    };
    for name in FROM_DISTANCES {
        let options = |contraction| StructureOptions::new().learner(name).contraction(contraction);
        for (contraction, least) in [(Contraction::UpTo(0.3), 0.3), (Contraction::ByInput, crate::structure::DEFAULT_CONTRACTION)]
        {
            let found = learn(&blocks, &options(contraction)).unwrap().tree;
            let own = learner_for(name, &options(contraction), &distances).learn(&distances, &Silent).unwrap();
            assert!(is_long(&own, least), "{name}: {}", own.to_newick(None));
            assert!(same_structure(&own, &found), "{name}: {} {}", own.to_newick(None), found.to_newick(None));
        }
        let contracted = learn(&blocks, &options(Contraction::UpTo(0.3))).unwrap().tree;
        let off = learn(&blocks, &options(Contraction::Off)).unwrap().tree;
        assert!(off.n_hidden() >= contracted.n_hidden() && off.is_minimal(), "{name}");
    }
}

#[test]
fn a_threshold_that_is_given_contracts_the_tree_by_likelihood_once_and_lengths_are_the_likeliest() {
    let model = Simulation::new(Shape::DoubleStar, 12).family(clear()).seed(2).model().unwrap();
    let blocks = blocks_of(&Inference::new(&model).sample(3000, 2).unwrap(), 2);
    let tree = |contraction| learn(&blocks, &StructureOptions::new().contraction(contraction)).unwrap().tree;
    let default = tree(Contraction::ByInput);
    assert_eq!(default.n_hidden(), 2);
    assert_eq!(tree(Contraction::Off), default);
    // Just above the edge between the two hidden nodes.
    let hidden = |edge: &crate::tree::Edge| !default.is_observed(edge.a) && !default.is_observed(edge.b);
    let between = default.edges().find(hidden).unwrap().length.unwrap();
    let contracted = tree(Contraction::UpTo(between + 1e-9));
    assert!(same_structure(&contracted, &contract_short(&default, between + 1e-9)));
    assert!(contracted.n_hidden() < 2);
    let sample = CorrelationSample::from_moments(&blocks.whole().unwrap()).unwrap();
    let (_, likeliest) = crate::structure::maximum_likelihood(&contracted, &sample);
    let own = contracted.path_lengths().unwrap();
    for i in 0..12 {
        for j in 0..i {
            let implied = (-own.get(i, j).unwrap()).exp();
            assert!((implied - likeliest[i * 12 + j].abs()).abs() < 1e-3, "{i} {j}");
        }
    }
}

#[test]
fn odd_columns_give_sound_forests_by_every_learner() {
    let wave = |ix: usize, factor: f64| ((ix as f64) * factor).sin();
    let n = 400;
    let column = |of: &dyn Fn(usize) -> f64| (0..n).map(of).collect::<Vec<f64>>();
    let base = column(&|ix| wave(ix, 1.37));
    let noisy = |strength: f64, factor: f64| column(&|ix| strength * base[ix] + wave(ix, factor));
    let same = noisy(1.0, 2.71);
    let constant = vec![3.0; n];
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let alone: Vec<f64> = (0..n).map(|_| rng.random_range(-1.0..1.0)).collect();
    let family = || vec![noisy(1.5, 3.3), noisy(1.2, 4.1), same.clone(), same.clone(), noisy(1.0, 5.9)];
    let few = |columns: Vec<Vec<f64>>, rows: usize| columns.into_iter().map(|it| it[..rows].to_vec()).collect::<Vec<_>>();
    let sets: Vec<(&str, Vec<Vec<f64>>)> = vec![
        ("one column", vec![base.clone()]),
        ("two columns", vec![base.clone(), same.clone()]),
        ("three columns", vec![base.clone(), same.clone(), noisy(0.8, 3.3)]),
        ("two identical columns", vec![base.clone(), base.clone()]),
        ("identical columns", family()),
        ("all identical", vec![base.clone(); 5]),
        ("all constant", vec![constant.clone(); 4]),
        ("a constant and an independent column", [family(), vec![constant, alone]].concat()),
        ("more columns than rows", few(family(), 3)),
        ("one row", few(family(), 1)),
        ("two rows", few(family(), 2)),
        ("a column never there", [family(), vec![vec![f64::NAN; n]]].concat()),
    ];
    for (what, columns) in sets {
        let p = columns.len();
        let data = numbers(columns);
        let blocks = blocks_of(&data, 4);
        for name in LearnerName::ALL.into_iter().filter(from_moments) {
            let options = StructureOptions::new().learner(name);
            let found = learn(&blocks, &options).unwrap_or_else(|error| panic!("{what}, {name}: {error}"));
            assert_sound(&found.tree, p);
            let support = bootstrap_structure(&found, Resampling::Blocks(&blocks), &options, 3, 0, &Silent);
            assert!(support.is_ok_and(|tree| tree.edges().all(|edge| edge.bootstrap.is_some())), "{what}, {name}");
            if what.contains("independent") {
                let solitary = |name: &str| found.tree.degree(found.tree.find(name).unwrap()) == 0;
                assert!(solitary("x5") && solitary("x6"), "{what}, {name}: {}", found.tree.to_newick(None));
                assert!(describe_forest(&found.tree, "").unwrap().contains("\"x5\", \"x6\""));
            }
        }
    }
    let none = DistanceMatrix::from_fn(Vec::new(), |_, _| None).unwrap();
    assert!(learn_structure(StructureInput::Distances(&none), &StructureOptions::new(), &Silent).is_err());
}

#[test]
fn an_independent_column_among_many_stands_alone_at_a_strict_significance() {
    let model = Simulation::new(Shape::Star, 60).family(clear()).seed(3).model().unwrap();
    let data = Inference::new(&model).sample(1000, 3).unwrap();
    let mut columns: Vec<Vec<f64>> = (0..60)
        .map(|ix| {
            data.batches()
                .iter()
                .flat_map(|batch| (0..batch.n_rows).map(move |row| batch.number(row, crate::ColIx::new(ix))))
                .collect()
        })
        .collect();
    columns.push((0..1000_u64).map(|ix| (ix.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33) as f64).collect());
    let blocks = blocks_of(&numbers(columns), 2);
    for name in [LearnerName::Auto, LearnerName::ChowLiuNeighborJoining, LearnerName::NeighborJoining] {
        let strict = DistanceOptions::new().significance(Some(4.5));
        let tree = learn(&blocks, &StructureOptions::new().learner(name).distances(strict)).unwrap().tree;
        assert_eq!(tree.degree(tree.find("x60").unwrap()), 0, "{name}");
        assert_eq!(tree.n_components(), 2, "{name}");
    }
}

#[test]
fn bootstrap_from_moments_needs_correlations() {
    let model = Simulation::new(Shape::DoubleStar, 8).family(clear()).seed(2).model().unwrap();
    let blocks = blocks_of(&Inference::new(&model).sample(2000, 2).unwrap(), 16);
    let whole = blocks.whole().unwrap();
    let options = StructureOptions::new();
    let input = StructureInput::Moments { whole: &whole, halves: None };
    let found = learn_structure(input, &options, &Silent).unwrap();
    let [drawn, resampled] = [Resampling::Moments(&whole), Resampling::Blocks(&blocks)].map(|resampling| {
        let tree = bootstrap_structure(&found, resampling, &options, 60, 1, &Silent).unwrap();
        tree.edges().map(|edge| edge.bootstrap.unwrap()).collect::<Vec<_>>()
    });
    // Two ways to the same.
    for (a, b) in drawn.iter().zip(&resampled) {
        assert!((a - b).abs() < 0.35, "{drawn:?} {resampled:?}");
    }
    let symmetric = ParameterFamily::Symmetric { states: 3, strength: (0.4, 0.8) };
    let model = Simulation::new(Shape::Star, 5).family(symmetric).model().unwrap();
    let whole = blocks_of(&Inference::new(&model).sample(500, 2).unwrap(), 2).whole().unwrap();
    let found = learn_structure(StructureInput::Moments { whole: &whole, halves: None }, &options, &Silent).unwrap();
    let error = bootstrap_structure(&found, Resampling::Moments(&whole), &options, 5, 1, &Silent).unwrap_err();
    assert!(error.to_string().contains("needs rows"), "{error}");
}
