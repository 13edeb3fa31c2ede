use std::sync::Arc;

use super::arrangements::{Edge, merged, rearranged};
use super::contracted::{Merge, contracted};
use super::local::Arrangement;
use super::messages::Messages;
use super::sample::Sample;
use super::*;
use crate::data::Dataset;
use crate::inference::Inference;
use crate::learn::{Learned, Learning, Source};
use crate::model::{Distribution, Emission, Table};
use crate::moments::fold;
use crate::observer::Silent;
use crate::simulate::{ParameterFamily, Shape, Simulation};
use crate::tree::Tree;

const BINARY: ParameterFamily = ParameterFamily::Symmetric { states: 2, strength: (0.6, 0.9) };
const GAUSSIAN: ParameterFamily = ParameterFamily::Gaussian { correlation: (0.6, 0.8), random_sign: true };
const MIXED: ParameterFamily = ParameterFamily::Mixed { states: 3, hidden_states: 3, separation: 0.6, groups: true };

fn model_of(shape: Shape, p: usize, family: ParameterFamily, seed: u64) -> LatentTree {
    Simulation::new(shape, p).family(family).seed(seed).model().unwrap()
}

fn score(model: &LatentTree, data: &Dataset) -> f64 {
    Inference::new(model).score(&mut data.source(), &Silent, |_, _| Ok(())).unwrap().log_likelihood
}

fn moments_of(data: &Dataset) -> PairMoments {
    fold(&mut data.source(), PairMoments::new(Arc::clone(data.schema())).unwrap(), &Silent).unwrap()
}

/// The whole model of an arrangement around an edge whose first end is the root.
fn whole(model: &LatentTree, edge: &Edge, [u, v]: [NodeIx; 2], arrangement: &Arrangement) -> LatentTree {
    let mut tree = model.tree().clone();
    for (&node, &at_second) in edge.outer.iter().zip(&arrangement.second) {
        let old = if model.parent(node) == Some(u) { u } else { v };
        tree.disconnect(old, node).unwrap();
        tree.connect(if at_second { v } else { u }, node, None).unwrap();
    }
    let [k, l] = arrangement.n_states;
    let prior: Vec<f64> = (0..k).map(|x| arrangement.joint[x * l..][..l].iter().sum()).collect();
    let between = (0..k).flat_map(|x| arrangement.joint[x * l..][..l].iter().map(|value| value / prior[x]).collect::<Vec<_>>());
    let between = Table::new(l, between.collect());
    let mut builder = LatentTree::builder(Arc::clone(model.schema()), tree).root(u);
    for node in model.tree().node_ixs() {
        let distribution = match edge.outer.iter().position(|&outer| outer == node) {
            _ if node == u => Distribution::Discrete(Table::new(k, prior.clone())),
            _ if node == v => Distribution::Discrete(between.clone()),
            None => model.distribution(node).clone(),
            Some(branch) => match (model.distribution(node), arrangement.parameters[branch].as_slice()) {
                (Distribution::Discrete(_), [Emission::Categorical(table)]) => Distribution::Discrete(table.clone()),
                (Distribution::Emission(Emission::Group(_)), members) => {
                    Distribution::Emission(Emission::Group(members.to_vec()))
                }
                (_, [emission]) => Distribution::Emission(emission.clone()),
                _ => unreachable!("every branch has parameters"),
            },
        };
        builder = builder.distribution(node, distribution);
    }
    builder.build().unwrap()
}

#[test]
fn local_likelihoods_differ_as_those_of_the_whole_models() {
    let families = [BINARY, ParameterFamily::Categorical { states: 4, hidden_states: 3, separation: 0.5 }, MIXED];
    for (seed, family) in families.into_iter().enumerate() {
        let drawn = model_of(Shape::Random { max_degree: Some(5) }, 14, family, seed as u64);
        let data = Inference::new(&drawn).sample(300, 5).unwrap();
        let sample = Sample::of(&data, 1000).unwrap();
        let hidden: Vec<NodeIx> = drawn.hidden().collect();
        let edges = drawn.tree().edges().filter(|edge| hidden.contains(&edge.a) && hidden.contains(&edge.b));
        for ends in edges.map(|edge| [edge.a, edge.b]).take(4) {
            let model = drawn.rerooted(ends[0]).unwrap();
            let messages = Messages::new(&model, &sample);
            let edge = Edge::new(&model, &messages, &sample, ends);
            let value = |arrangement: &Arrangement| edge.surroundings.step(arrangement, None).0;
            let (base, of_model) = (value(&edge.present), score(&model, &data));
            let close = |local: f64, full: f64| {
                assert!((local - base - (full - of_model)).abs() < 1e-6, "{local} {base} {full} {of_model}")
            };
            // A step of EM and swaps of branches, from the model's own parameters.
            let (_, next) = edge.surroundings.step(&edge.present, None);
            close(value(&next), score(&whole(&model, &edge, ends, &next), &data));
            for at in 0..edge.outer.len() {
                let mut second = next.second.clone();
                second[at] = !second[at];
                let moved = rearranged(&next, &second);
                close(value(&moved), score(&whole(&model, &edge, ends, &moved), &data));
            }
            // One node in place of the two, with the root elsewhere, too.
            for model in [&model, &drawn] {
                let messages = Messages::new(model, &sample);
                let edge = Edge::new(model, &messages, &sample, ends);
                for into_second in [false, true] {
                    let one = merged(&edge.present, into_second);
                    let (local, present) = (edge.surroundings.step(&one, None).0, edge.surroundings.step(&edge.present, None).0);
                    let merge = Merge { ends, outer: edge.outer.clone(), arrangement: one };
                    let full = score(&contracted(model, &[merge]).unwrap(), &data);
                    assert!((local - present - (full - of_model)).abs() < 1e-6, "{local} {present} {full} {of_model}");
                }
            }
        }
    }
}

#[test]
fn local_em_never_lowers_the_likelihood() {
    let model = model_of(Shape::Random { max_degree: Some(4) }, 12, MIXED, 3);
    let data = Inference::new(&model).sample(400, 1).unwrap();
    let sample = Sample::of(&data, 1000).unwrap();
    let messages = Messages::new(&model, &sample);
    let hidden: Vec<NodeIx> = model.hidden().collect();
    let edge = model.tree().edges().find(|edge| hidden.contains(&edge.a) && hidden.contains(&edge.b)).unwrap();
    let edge = Edge::new(&model, &messages, &sample, [edge.a, edge.b]);
    let mut at = merged(&edge.present, false);
    let mut last = f64::NEG_INFINITY;
    for _ in 0..30 {
        let (value, next) = edge.surroundings.step(&at, None);
        assert!(value >= last - 0.05, "{value} after {last}");
        (at, last) = (next, value);
    }
}

#[test]
fn true_splits_of_plenty_of_data_are_supported_and_the_same_at_any_number_of_threads() {
    for family in [BINARY, GAUSSIAN, MIXED] {
        let model = model_of(Shape::DoubleStar, 10, family, 2);
        let data = Inference::new(&model).sample(6000, 3).unwrap();
        let moments = moments_of(&data);
        let of = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| supports(&model, &data, &moments, &Silent)).unwrap()
        };
        let found = of(1);
        assert_eq!(found.len(), 1);
        assert!(found[0].1 > 0.95, "{family:?}: {found:?}");
        assert_eq!(found[0].1.to_bits(), of(3)[0].1.to_bits());
    }
}

/// Two stars over the variables of one, learned as they are given.
fn with_a_false_split(family: ParameterFamily, learning: &Learning) -> (Learned, Dataset) {
    let truth = model_of(Shape::Star, 8, family, 4);
    let data = Inference::new(&truth).sample(3000, 6).unwrap();
    let tree =
        Tree::from_newick("(x1:0.4,x2:0.4,x3:0.4,x4:0.4,(x5:0.4,x6:0.4,x7:0.4,x8:0.4):0.1);", &crate::tree::Observed::LeavesOnly)
            .unwrap();
    (learning.clone().tree(Some(tree)).run(Source::Rows(&data), &Silent).unwrap(), data)
}

#[test]
fn a_split_of_a_star_is_not_supported_and_is_taken_out() {
    for family in [BINARY, GAUSSIAN, ParameterFamily::Categorical { states: 3, hidden_states: 2, separation: 0.6 }] {
        let (learned, data) = with_a_false_split(family, &Learning::new().collapse(Some(0.0)));
        let supports: Vec<f64> = learned.tree().edges().filter_map(|edge| edge.support).collect();
        assert!(supports.len() == 1 && supports[0] < 0.5, "{family:?}: {supports:?}");
        assert_eq!(learned.splits, Some(SplitSummary { splits: 1, strong: 0, weak: 1, removed: 0 }));
        let (star, _) = with_a_false_split(family, &Learning::new().collapse(Some(0.5)));
        assert_eq!((star.tree().n_hidden(), star.splits.map(|it| it.removed)), (1, Some(1)));
        // It costs less and explains as much.
        assert!(star.bic.unwrap() > learned.bic.unwrap(), "{:?} {:?}", star.bic, learned.bic);
        assert!((score(star.model().unwrap(), &data) - star.log_likelihood.unwrap()).abs() < 1e-3);
    }
}

#[test]
fn replicates_keep_a_true_split_and_lose_a_false_one() {
    for (shape, is_true) in [(Shape::DoubleStar, true), (Shape::Star, false)] {
        let truth = model_of(shape, 8, BINARY, 4);
        let data = Inference::new(&truth).sample(3000, 6).unwrap();
        let tree = Tree::from_newick("(x1,x2,x3,x4,(x5,x6,x7,x8));", &crate::tree::Observed::LeavesOnly).unwrap();
        let learned = Learning::new().collapse(Some(0.0)).tree(Some(tree)).run(Source::Rows(&data), &Silent).unwrap();
        let evidence = Evidence { rows: Some(&data), moments: None, total_weight: 3000.0 };
        let tests = split_tests(learned.model().unwrap(), &evidence, &|_| true, Some((50, 1)), &Silent).unwrap().unwrap();
        let own = learned.tree().splits();
        let is_found = truth.tree().splits().contains(own.of_edge(tests[0].ends[0], tests[0].ends[1]).unwrap());
        let share = tests[0].bootstrap.unwrap();
        assert_eq!(is_found, is_true);
        assert!(if is_true { share > 0.9 } else { share < 0.5 }, "{shape:?}: {share}");
    }
}

#[test]
fn a_part_of_the_rows_is_taken_at_even_distances() {
    let model = model_of(Shape::Star, 5, BINARY, 0);
    let data = Inference::new(&model).sample(1003, 0).unwrap();
    let sample = Sample::of(&data, 100).unwrap();
    assert_eq!((sample.n_rows(), sample.total_weight), (100, 1003.0));
    assert!((sample.scale() - 10.03).abs() < 1e-12);
    let all = Sample::of(&data, 5000).unwrap();
    assert_eq!((all.n_rows(), all.scale()), (1003, 1.0));
}
