use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::islands::islands;
use super::shape::Shape;
use super::surgery::{drop_state, split_state};
use super::*;
use crate::data::Dataset;
use crate::inference::Inference;
use crate::model::LatentTree;
use crate::moments::{PairMoments, fold};
use crate::simulate::{ParameterFamily, Shape as SimulatedShape, Simulation};
use crate::structure::hidden_chow_liu;
use crate::structure::{DEFAULT_CONTRACTION, LearnerName, StructureInput, StructureOptions, learn_structure};
use crate::{Silent, VarIx};

fn moments(data: &Dataset) -> PairMoments {
    fold(&mut data.source(), PairMoments::new(Arc::clone(data.schema())).unwrap(), &Silent).unwrap()
}

fn score(model: &LatentTree, data: &Dataset) -> crate::inference::Score {
    Inference::new(model).score(&mut data.source(), &Silent, |_, _| Ok(())).unwrap()
}

fn simulated(shape: SimulatedShape, observed: usize, family: ParameterFamily, rows: u64) -> (LatentTree, Dataset) {
    let model = Simulation::new(shape, observed).family(family).seed(3).model().unwrap();
    let data = Inference::new(&model).sample(rows, 5).unwrap();
    (model, data)
}

const CATEGORICAL: ParameterFamily = ParameterFamily::Categorical { states: 3, hidden_states: 3, separation: 0.8 };
const MIXED: ParameterFamily = ParameterFamily::Mixed { states: 3, hidden_states: 3, separation: 0.8, groups: true };

#[test]
fn a_state_split_into_equal_halves_and_dropped_again_changes_nothing() {
    for family in [CATEGORICAL, MIXED] {
        let (model, data) = simulated(SimulatedShape::DoubleStar, 8, family, 200);
        let before = score(&model, &data).log_likelihood;
        for hidden in 0..2 {
            let node = model.hidden().nth(hidden).unwrap();
            let split = split_state(&model, node, 1, || 0.0).unwrap();
            assert_eq!(split.n_states(node), Some(4));
            assert!((score(&split, &data).log_likelihood - before).abs() < 1e-8 * before.abs());
            // A state without any weight: dropping it is exact.
            let back = drop_state(&split, node, 3).unwrap();
            assert_eq!(back.n_states(node), Some(3));
            assert!(score(&back, &data).log_likelihood.is_finite());
        }
    }
}

#[test]
fn shapes_without_weak_nodes_keep_every_leaf_and_stay_connected() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for _ in 0..200 {
        let (n_hidden, p) = (rng.random_range(1..12), rng.random_range(3..15));
        let shape = Shape {
            states: vec![2; n_hidden],
            links: (1..n_hidden).map(|ix| (rng.random_range(0..ix), ix)).collect(),
            leaf_of: (0..p).map(|_| rng.random_range(0..n_hidden)).collect(),
        };
        let (pruned, kept) = shape.clone().pruned();
        assert_eq!((pruned.n_hidden(), pruned.leaf_of.len()), (kept.len(), p));
        assert_eq!(pruned.links.len() + 1, pruned.n_hidden().max(1));
        assert!(pruned.degrees().iter().all(|&degree| degree >= 3), "{shape:?} {pruned:?}");
        let builder = (0..p)
            .fold(crate::data::Schema::builder(), |builder, ix| builder.scalar(format!("x{ix}"), crate::data::Kind::binary()));
        let tree = pruned.tree(&Arc::new(builder.build().unwrap())).unwrap();
        assert!(tree.is_connected() && tree.is_minimal());
    }
}

#[test]
fn variables_of_one_hidden_cause_are_one_island() {
    let (model, data) = simulated(SimulatedShape::DoubleStar, 10, CATEGORICAL, 5000);
    let groups = islands(&moments(&data), 2, &Silent).unwrap();
    let parent = |variable: usize| model.tree().links(model.node_of(VarIx::new(variable)))[0].to;
    for group in &groups {
        assert!(group.iter().all(|&variable| parent(variable) == parent(group[0])), "{groups:?}");
    }
    assert_eq!(groups.iter().map(Vec::len).sum::<usize>(), 10);
}

#[test]
fn the_search_by_bic_finds_models_no_worse_than_the_truth() {
    for (shape, observed, family) in [(SimulatedShape::DoubleStar, 10, CATEGORICAL), (SimulatedShape::Star, 6, MIXED)] {
        let (truth, data) = simulated(shape, observed, family, 2000);
        let moments = moments(&data);
        let joined = StructureOptions::new().learner(LearnerName::NeighborJoining);
        let input = StructureInput::Moments { whole: &moments, halves: None };
        let tree = learn_structure(input, &joined, &Silent).unwrap().tree;
        let tree = crate::parameters::discrete_tree(&tree, data.schema(), &mut Vec::new()).unwrap();
        let found = by_bic(&data, &moments, &BicSearch::new(0).trees(vec![tree]), &Silent).unwrap();
        assert!(
            score(&found, &data).bic() > score(&truth, &data).bic() - 5.0,
            "{} {}",
            score(&found, &data).bic(),
            score(&truth, &data).bic()
        );
    }
}

#[test]
fn a_hidden_chow_liu_tree_has_a_hidden_node_per_inner_node() {
    let (_, data) = simulated(SimulatedShape::Hmm, 9, CATEGORICAL, 2000);
    let chow_liu = crate::structure::ChowLiu::from_moments(&moments(&data)).unwrap().tree;
    let tree = hidden_chow_liu(&chow_liu).unwrap();
    let inner = chow_liu.node_ixs().filter(|&node| chow_liu.degree(node) > 1).count();
    assert_eq!((tree.n_hidden(), tree.n_observed()), (inner, 9));
    assert!(tree.is_minimal() && tree.is_connected());
}

#[test]
fn candidates_that_raise_bic_are_those_of_hidden_causes() {
    let (_, data) = simulated(SimulatedShape::DoubleStar, 8, CATEGORICAL, 4000);
    let distances = crate::distance::estimate(
        &moments(&data),
        &crate::distance::DistanceOptions::new().hidden_states(Some(3)).errors(true),
        &Silent,
    );
    for local in [LocalLearner::NeighborJoining, LocalLearner::RecursiveGrouping] {
        let candidates =
            scored_candidates(&data, distances.as_ref().unwrap(), local, Some(DEFAULT_CONTRACTION), 3, &Silent).unwrap();
        assert!(!candidates.list.is_empty());
        for scored in &candidates.list {
            assert!(scored.log_likelihood_gain.is_finite());
        }
        assert_eq!(candidates.accept(&[]).unwrap().n_hidden(), 0);
        assert!(candidates.accept(&["nobody".to_owned()]).is_err());
        let best = candidates.best().unwrap();
        assert_eq!(best.n_observed(), 8);
    }
}
