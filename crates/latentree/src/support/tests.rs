use std::sync::Arc;

use super::*;
use crate::data::{ColumnData, Dataset, Kind, Schema};
use crate::inference::Inference;
use crate::learn::{Learned, Learning, Source};
use crate::moments::fold;
use crate::observer::Silent;
use crate::patch::Column;
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

/// The hidden node below each edge between hidden nodes, and its parent, as indices into a net.
fn edges_of(net: &Net) -> Vec<(usize, usize)> {
    (0..net.n_hidden()).filter_map(|ix| net.parent[ix].map(|parent| (ix, parent))).collect()
}

fn ln_likelihood(local: &Local, columns: &Columns) -> f64 {
    local.patch.expect(columns, &mut local.patch.work(), |_, _| {}).log_likelihood
}

#[test]
fn local_likelihoods_differ_as_those_of_the_whole_models() {
    let families = [BINARY, ParameterFamily::Categorical { states: 4, hidden_states: 3, separation: 0.5 }, MIXED];
    for (seed, family) in families.into_iter().enumerate() {
        let model = model_of(Shape::Random { max_degree: Some(5) }, 14, family, seed as u64);
        let data = Inference::new(&model).sample(300, 5).unwrap();
        let columns = Columns::read(&data, usize::MAX, &Silent).unwrap();
        let net = Net::of_model(&model, &columns).unwrap();
        let messages = net.messages(&columns);
        let context = Context::new(&net, &columns, &messages);
        let whole = |local: &Local| {
            let mut changed = net.clone();
            local.apply(&mut changed);
            changed.compact();
            score(&changed.model(model.schema(), &columns).unwrap(), &data)
        };
        for (hidden, parent) in edges_of(&net).into_iter().take(4) {
            let present = context.edge(hidden, parent);
            let (base, of_model) = (ln_likelihood(&present, &columns), score(&model, &data));
            // Messages are stored in single precision.
            let close = |local: &Local| {
                let (here, there) = (ln_likelihood(local, &columns) - base, whole(local) - of_model);
                assert!((here - there).abs() < 1e-4 * (1.0 + there.abs()), "{here} {there}")
            };
            let turned = present.turned();
            [&present, &turned].into_iter().for_each(close);
            close(&present.joined(&columns));
            close(&turned.joined(&columns));
            for branch in 0..present.branches.len() {
                close(&present.with_moved_branch(branch, &columns));
            }
        }
    }
}

#[test]
fn a_patch_is_arranged_as_another_of_the_same_edge() {
    let family = ParameterFamily::Categorical { states: 4, hidden_states: 3, separation: 0.5 };
    let model = model_of(Shape::Random { max_degree: Some(5) }, 14, family, 1);
    let data = Inference::new(&model).sample(300, 5).unwrap();
    let columns = Columns::read(&data, usize::MAX, &Silent).unwrap();
    let net = Net::of_model(&model, &columns).unwrap();
    let messages = net.messages(&columns);
    let context = Context::new(&net, &columns, &messages);
    for (hidden, parent) in edges_of(&net).into_iter().take(4) {
        let present = context.edge(hidden, parent);
        let mut others = vec![present.clone(), present.joined(&columns), present.turned().joined(&columns)];
        others.extend((0..present.branches.len()).map(|branch| present.with_moved_branch(branch, &columns)));
        for other in &others {
            let arranged = present.arranged_as(other, &columns);
            assert_eq!((&arranged.nodes, &arranged.removed), (&other.nodes, &other.removed));
            let tables = |local: &Local| local.patch.leaves.iter().map(|leaf| (leaf.at, leaf.values.clone())).collect::<Vec<_>>();
            assert_eq!(tables(&arranged), tables(other));
        }
    }
}

#[test]
fn longer_steps_reach_the_maximum_of_plain_ones_and_keep_distributions() {
    let family = ParameterFamily::Categorical { states: 3, hidden_states: 3, separation: 0.4 };
    let model = model_of(Shape::DoubleStar, 8, family, 7);
    let data = Inference::new(&model).sample(2000, 5).unwrap();
    let columns = Columns::read(&data, usize::MAX, &Silent).unwrap();
    let net = Net::of_model(&model, &columns).unwrap();
    let messages = net.messages(&columns);
    let context = Context::new(&net, &columns, &messages);
    let floors = Floors::of(&Smoothing::default());
    let tester = Tester { context: &context, sample: &context, floors, with_rows: false };
    let (hidden, parent) = edges_of(&net)[0];
    let start = context.edge(hidden, parent).with_moved_branch(0, &columns);
    let (mut plain, mut longer) = (start.clone(), start);
    for _ in 0..2000 {
        let counts = plain.patch.expect(&columns, &mut plain.patch.work(), |_, _| {});
        plain.patch.maximise(&counts, &columns, &floors);
    }
    tester.fit(&mut longer.patch, &columns, 60, f64::NEG_INFINITY);
    // A step that gains less than 0.02 nats ends the fit; with a rate of convergence of 0.98, 1 nat would be left.
    let [most, reached] = [&plain, &longer].map(|local| ln_likelihood(local, &columns));
    assert!(reached > most - 1.0, "{reached} {most}");
    let before = longer.patch.clone();
    longer.patch.over_relax(&plain.patch, 1.7, &columns);
    for (node, other) in longer.patch.nodes.iter().zip(&before.nodes) {
        let sums = |table: &[f64]| table.chunks_exact(node.n_states).map(|row| row.iter().sum::<f64>()).collect::<Vec<_>>();
        sums(&node.table).iter().zip(sums(&other.table)).for_each(|(a, b)| assert!((a - b).abs() < 1e-9));
    }
    let mut same = before.clone();
    same.over_relax(&plain.patch, 1.0, &columns);
    same.leaves.iter().zip(&before.leaves).for_each(|(a, b)| {
        a.values.iter().zip(&b.values).for_each(|(a, b)| assert!((a - b).abs() < 1e-9));
    });
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

/// Learns two stars, given as the tree, over the variables of a single star.
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
        let model = learned.model().unwrap();
        let bench = Bench::new(model, &evidence, Smoothing::default(), Some((50, 1)), &Silent).unwrap();
        let tests = bench.split_tests(model, &|_| true, true, &Silent).unwrap().unwrap();
        let own = learned.tree().splits();
        let is_found = truth.tree().splits().contains(own.of_edge(tests[0].ends[0], tests[0].ends[1]).unwrap());
        let share = tests[0].bootstrap.unwrap();
        assert_eq!(is_found, is_true);
        assert!(if is_true { share > 0.9 } else { share < 0.5 }, "{shape:?}: {share}");
    }
}

#[test]
fn drawn_correlations_keep_a_true_split_and_lose_a_false_one() {
    for (shape, is_true) in [(Shape::DoubleStar, true), (Shape::Star, false)] {
        let truth = model_of(shape, 8, GAUSSIAN, 4);
        let data = Inference::new(&truth).sample(1000, 6).unwrap();
        let newick = "(x1:0.4,x2:0.4,x3:0.4,x4:0.4,(x5:0.4,x6:0.4,x7:0.4,x8:0.4):0.3);";
        let tree = Tree::from_newick(newick, &crate::tree::Observed::LeavesOnly).unwrap();
        let learned = Learning::new().collapse(Some(0.0)).tree(Some(tree)).run(Source::Rows(&data), &Silent).unwrap();
        let model = learned.model().unwrap();
        let (sample, edges) = (CorrelationSample::from_moments(&moments_of(&data)).unwrap(), inner_edges(model));
        assert_eq!(edges.len(), 1);
        let shares = gaussian_bootstrap(model, &sample, &edges, (50, 1)).unwrap();
        assert!(if is_true { shares[0] > 0.9 } else { shares[0] < 0.5 }, "{shape:?}: {shares:?}");
    }
}

#[test]
fn a_branch_that_would_cost_parameters_at_the_other_end_does_not_question_a_split() {
    let alternative = |ln_likelihood: f64, n_parameters: f64| Alternative { ln_likelihood, n_parameters, rows: Vec::new() };
    let compared = |moved: Alternative| Compared {
        n: 10_000.0,
        scale: 1.0,
        present: alternative(-1000.0, 30.0),
        merged: alternative(-1100.0, 20.0),
        rearranged: vec![moved],
    };
    // Ten more nats for eight more parameters are no gain: ½ · 8 · ln 10,000 = 36.8.
    assert!(compared(alternative(-990.0, 38.0)).support() > 0.99);
    assert!(compared(alternative(-990.0, 30.0)).support() < 0.01);
    // 38 nats are more than nine parameters are worth, ½ · 9 · (1 + ln(76/9)) = 14.1, although BIC would ask for 41.4.
    assert!(compared(alternative(-1038.0, 21.0)).support() > 0.99);
    // Two nats are not enough.
    assert!(compared(alternative(-1002.0, 21.0)).support() < 0.51);
}

#[test]
fn more_rows_than_a_sample_decide_an_edge_as_all_rows_do() {
    for (shape, is_true) in [(Shape::DoubleStar, true), (Shape::Star, false)] {
        let truth = model_of(shape, 10, ParameterFamily::Symmetric { states: 3, strength: (0.5, 0.7) }, 4);
        let data = Inference::new(&truth).sample(30_000, 6).unwrap();
        let tree = Tree::from_newick("(x1,x2,x3,x4,x5,(x6,x7,x8,x9,x10));", &crate::tree::Observed::LeavesOnly).unwrap();
        let learned = Learning::new().collapse(Some(0.0)).tree(Some(tree)).run(Source::Rows(&data), &Silent).unwrap();
        let evidence = Evidence { rows: Some(&data), moments: None, total_weight: 30_000.0 };
        let model = learned.model().unwrap();
        let mut bench = Bench::new(model, &evidence, Smoothing::default(), None, &Silent).unwrap();
        assert!(bench.sample.is_some());
        let support = |bench: &Bench<'_>| bench.split_tests(model, &|_| true, false, &Silent).unwrap().unwrap()[0].support;
        let by_sample = support(&bench);
        bench.sample = None;
        let by_all = support(&bench);
        // Supports are calibrated to a width of a tenth.
        assert!((by_sample - by_all).abs() < 0.1, "{shape:?}: {by_sample} {by_all}");
        assert!((by_all > 0.5) == is_true && (by_sample > 0.5) == is_true);
    }
}

#[test]
fn a_pattern_that_stands_for_half_of_all_rows_is_half_of_a_sample() {
    // 999 rows of weight 1 and, in the middle, one of weight 999 that a sample of every tenth row would miss.
    let schema = Arc::new(Schema::builder().scalar("x", Kind::binary()).build().unwrap());
    let codes = (0..1000).map(|row| u8::from(row == 505)).collect();
    let weights = (0..1000).map(|row| if row == 505 { 999.0 } else { 1.0 }).collect();
    let data = Dataset::from_columns(schema, vec![ColumnData::Codes8(codes)], Some(weights)).unwrap();
    let sample = Columns::read(&data, 100, &Silent).unwrap();
    assert!(sample.n_rows <= 100);
    assert!((sample.weights.iter().sum::<f64>() - 1998.0).abs() < 1e-9 && sample.weight == 1998.0);
    let Column::Labels { usual, listed, .. } = &sample.columns[0] else { panic!("labels") };
    assert_eq!(*usual, 0);
    let heavy: f64 = listed.cells().map(|(row, _)| sample.weights[row]).sum();
    // A unit of the sample is a hundredth of the total weight.
    assert!((heavy - 999.0).abs() <= 20.0, "{heavy}");
    let all = Columns::read(&data, 1000, &Silent).unwrap();
    assert_eq!((all.n_rows, all.scale), (1000, 1.0));
}

#[test]
fn the_rearrangement_with_the_highest_bic_is_the_better_one() {
    let alternative = |ln_likelihood: f64, n_parameters: f64| Alternative { ln_likelihood, n_parameters, rows: Vec::new() };
    let compared = |rearranged: Vec<Alternative>| Compared {
        n: 10_000.0,
        scale: 1.0,
        present: alternative(-1000.0, 30.0),
        merged: alternative(-1100.0, 20.0),
        rearranged,
    };
    assert_eq!(compared(vec![alternative(-1001.0, 30.0)]).better(), None);
    // Two fewer parameters are worth ln 10,000 = 9.2 nats.
    let both = compared(vec![alternative(-995.0, 30.0), alternative(-1001.0, 28.0)]);
    let (at, gain) = both.better().unwrap();
    assert!(at == 1 && (gain - (10_000_f64.ln() - 1.0)).abs() < 1e-9, "{at} {gain}");
}

#[test]
fn arrangements_that_fit_alike_are_equally_probable() {
    let alternative = |ln_likelihood: f64| Alternative { ln_likelihood, n_parameters: 12.0, rows: Vec::new() };
    // Two swaps as good as the present arrangement: a third each, apart from the merged node, which is far behind.
    let compared = Compared {
        n: 1000.0,
        scale: 1.0,
        present: alternative(-500.0),
        merged: Alternative { n_parameters: 10.0, ..alternative(-900.0) },
        rearranged: vec![alternative(-500.0), alternative(-500.0)],
    };
    assert!((compared.support() - 1.0 / 3.0).abs() < 1e-9);
    // One fewer parameter for a loss of π nats: its Laplace evidence, ½ ln(π/π), is zero.
    let merged = Alternative { n_parameters: 11.0, ..alternative(-500.0 - std::f64::consts::PI) };
    let edge = Compared { merged, rearranged: Vec::new(), ..compared };
    assert!((edge.support() - 1.0 / (1.0 + (-std::f64::consts::PI / 1.6).exp())).abs() < 1e-9);
}
