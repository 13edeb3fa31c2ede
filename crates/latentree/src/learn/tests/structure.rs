//! How a run uses its learned structure: states of the bootstrap, and contraction and lengths of the regularised learners.

use crate::data::Dataset;
use crate::distance::{DistanceOptions, estimate};
use crate::inference::Inference;
use crate::learn::{Learned, Learning, Source};
use crate::moments::{PairMoments, fold};
use crate::observer::Silent;
use crate::simulate::{ParameterFamily, Shape, Simulation};
use crate::structure::{Contraction, LearnerName, least_squares_lengths};

fn drawn(shape: Shape, p: usize, states: usize, rows: u64) -> Dataset {
    let family = ParameterFamily::Categorical { states, hidden_states: 2, separation: 0.8 };
    let model = Simulation::new(shape, p).family(family).seed(2).model().unwrap();
    Inference::new(&model).sample(rows, 2).unwrap()
}

fn run(learning: &Learning, data: &Dataset) -> Learned {
    learning.run(Source::Rows(data), &Silent).unwrap()
}

#[test]
fn the_bootstrap_uses_the_states_that_the_tree_was_learned_with() {
    // The truth has two states: distances for three states measure a correlation that does not exist.
    let data = drawn(Shape::Star, 6, 3, 1000);
    let learning = |states: usize| {
        let parameters = crate::learn::ParameterMethod::None;
        Learning::new().hidden_states(Some(states)).bootstrap(Some(12)).seed(1).parameters(parameters)
    };
    let (asked, used) = (run(&learning(3), &data), run(&learning(2), &data));
    assert!(asked.warnings.iter().any(|warning| warning.contains("2 hidden states")), "{:?}", asked.warnings);
    let supports = |learned: &Learned| learned.tree().edges().map(|edge| edge.bootstrap).collect::<Vec<_>>();
    assert_eq!(asked.tree().to_newick(None), used.tree().to_newick(None));
    assert_eq!(supports(&asked), supports(&used));
    assert!(supports(&asked).iter().all(|support| support.is_some_and(|support| support > 0.5)));
}

#[test]
fn regularised_learners_contract_up_to_the_threshold_and_fit_lengths() {
    let data = drawn(Shape::DoubleStar, 8, 2, 4000);
    let moments = fold(&mut data.source(), PairMoments::new(data.schema().clone()).unwrap(), &Silent).unwrap();
    let distances = estimate(&moments, &DistanceOptions::new(), &Silent).unwrap();
    for learner in [LearnerName::RegularisedNeighborJoining, LearnerName::RegularisedRecursiveGrouping] {
        let learning = Learning::new().structure(learner).parameters(crate::learn::ParameterMethod::None);
        let found = run(&learning, &data);
        assert!(found.tree().n_hidden() > 0, "{learner}");
        let fitted = least_squares_lengths(found.tree(), &distances, &Silent).unwrap().tree;
        for (a, b) in found.tree().edges().zip(fitted.edges()) {
            assert!((a.length.unwrap() - b.length.unwrap()).abs() < 1e-4, "{learner}: {a:?} {b:?}");
        }
        let contracted = run(&learning.clone().contraction(Contraction::UpTo(20.0)), &data);
        assert_eq!(contracted.tree().n_hidden(), 0, "{learner}");
        let off = run(&learning.contraction(Contraction::Off), &data);
        assert!(off.tree().n_hidden() >= found.tree().n_hidden(), "{learner}");
    }
}
