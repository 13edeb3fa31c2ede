use std::sync::Arc;

use super::*;
use crate::distance::{DistanceOptions, estimate};
use crate::inference::Inference;
use crate::moments::fold;
use crate::observer::Silent;
use crate::simulate::{Shape, Simulation};
use crate::structure::{NeighborJoining, StructureLearner};
use crate::tree::Observed;

#[test]
fn support_is_the_share_of_replicates_with_the_split() {
    let read = |text: &str| Tree::from_newick(text, &Observed::LeavesOnly).unwrap();
    let tree = read("((a,b),(c,d),e);");
    let others = [read("((a,b),(c,d),e);"), read("((a,b),(c,e),d);"), read("(a,b,c,d,e);"), read("((a,c),b,(d,e));")];
    // Which tree a replicate gives follows from its own stream.
    let learn = |rng: &mut ChaCha8Rng| Ok(others[rng.random_range(0..4)].clone());
    let n = 4000;
    let supported = with_bootstrap_support(&tree, n, 7, &Silent, learn).unwrap();
    for edge in supported.edges() {
        let split = tree.splits().of_edge(edge.a, edge.b).unwrap();
        let share = others.iter().filter(|other| other.splits().contains(split)).count() as f64 / 4.0;
        let support = edge.bootstrap.unwrap();
        assert!((support - share).abs() < 0.03 && (share < 1.0 || support == 1.0), "{support} for {share}");
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(7).build().unwrap();
    assert_eq!(pool.install(|| with_bootstrap_support(&tree, n, 7, &Silent, learn).unwrap()), supported);
    assert!(with_bootstrap_support(&tree, n, 8, &Silent, learn).unwrap() != supported);
    assert!(with_bootstrap_support(&tree, 0, 8, &Silent, learn).is_err());
    let failing = |_: &mut ChaCha8Rng| Err(Error::Cancelled);
    assert!(with_bootstrap_support(&tree, 3, 8, &Silent, failing).unwrap_err().is_cancelled());
}

#[test]
fn drawn_blocks_vary_as_much_as_samples_do() {
    let model = Simulation::new(Shape::Star, 3).seed(1).model().unwrap();
    let data = Inference::new(&model).sample(2000, 1).unwrap();
    let blocks = fold(&mut data.source(), BlockMoments::new(Arc::clone(data.schema()), 64).unwrap(), &Silent).unwrap();
    let (a, b) = (crate::ColIx::new(0), crate::ColIx::new(1));
    let truth = blocks.whole().unwrap().correlation(a, b).unwrap();
    let values: Vec<f64> = (0..400)
        .map(|seed| {
            let [mut left, right] = drawn_halves(&blocks, &mut ChaCha8Rng::seed_from_u64(seed)).unwrap();
            crate::moments::Accumulator::merge(&mut left, right).unwrap();
            assert!(left.n_rows().abs_diff(2000) <= 64);
            left.correlation(a, b).unwrap()
        })
        .collect();
    let mean = values.iter().sum::<f64>() / 400.0;
    let deviation = (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 400.0).sqrt();
    let expected = (1.0 - truth * truth) / 2000_f64.sqrt();
    assert!((deviation / expected - 1.0).abs() < 0.35, "{deviation} for {expected}");
}

#[test]
fn wishart_draws_vary_as_correlations_of_samples_do() {
    let model = Simulation::new(Shape::DoubleStar, 8).seed(3).model().unwrap();
    for rows in [5, 400] {
        let data = Inference::new(&model).sample(rows, 1).unwrap();
        let moments = fold(&mut data.source(), PairMoments::new(Arc::clone(data.schema())).unwrap(), &Silent).unwrap();
        let sample = CorrelationSample::from_moments(&moments).unwrap();
        let wishart = WishartCorrelations::new(&sample).unwrap();
        let n = 600;
        let draws: Vec<Vec<f64>> = (0..n).map(|seed| wishart.draw(&mut ChaCha8Rng::seed_from_u64(seed))).collect();
        assert!(draws.iter().flatten().all(|value| value.abs() <= 1.0));
        if rows < 100 {
            continue;
        }
        for (at, (i, j)) in (0..8).flat_map(|i| (0..i).map(move |j| (i, j))).enumerate() {
            let truth = sample.get(i, j);
            let mean = draws.iter().map(|draw| draw[at]).sum::<f64>() / n as f64;
            let deviation = (draws.iter().map(|draw| (draw[at] - mean).powi(2)).sum::<f64>() / n as f64).sqrt();
            let expected = (1.0 - truth * truth) / (rows as f64).sqrt();
            assert!((mean - truth).abs() < 5.0 * expected / (n as f64).sqrt() + 0.002, "{mean} for {truth}");
            assert!((deviation / expected - 1.0).abs() < 0.2, "{deviation} for {expected}");
        }
    }
}

#[test]
fn true_splits_of_plenty_of_data_have_full_support() {
    let model = Simulation::new(Shape::Caterpillar { leaves: 2 }, 10).seed(2).model().unwrap();
    let data = Inference::new(&model).sample(20_000, 1).unwrap();
    let blocks = fold(&mut data.source(), BlockMoments::new(Arc::clone(data.schema()), 64).unwrap(), &Silent).unwrap();
    let learner = NeighborJoining::new().contract(None);
    let learn = |moments: &PairMoments| learner.learn(&estimate(moments, &DistanceOptions::new(), &Silent)?, &Silent);
    let tree = learn(&blocks.whole().unwrap()).unwrap();
    let replicate = |rng: &mut ChaCha8Rng| {
        let [mut left, right] = drawn_halves(&blocks, rng)?;
        crate::moments::Accumulator::merge(&mut left, right)?;
        learn(&left)
    };
    let supported = with_bootstrap_support(&tree, 40, 0, &Silent, replicate).unwrap();
    let truth = model.tree().splits();
    for edge in supported.edges().filter(|edge| truth.contains(tree.splits().of_edge(edge.a, edge.b).unwrap())) {
        assert!(edge.bootstrap.unwrap() > 0.9, "{edge:?}");
    }
}
