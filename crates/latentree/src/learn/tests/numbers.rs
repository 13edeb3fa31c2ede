//! Hidden variables with a requested number of states, over columns of numbers.

use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::data::{Dataset, Kind, Schema};
use crate::distance::Estimator;
use crate::inference::Inference;
use crate::learn::{Effort, Learned, Learning, ParameterMethod, Source};
use crate::model::{Distribution, Domain, Emission, Family, LatentTree, Table};
use crate::moments::{PairMoments, fold};
use crate::observer::Silent;
use crate::parameters::em::Em;
use crate::structure::LearnerName;
use crate::tree::{Edge, Node, Tree};
use crate::{ColIx, NodeIx, VarIx};

/// One hidden node `h` over columns with these distributions.
fn star(weights: &[f64], leaves: Vec<(Kind, Distribution)>) -> LatentTree {
    let n = leaves.len();
    let h = NodeIx::new(n);
    let mut nodes: Vec<Node> = (0..n).map(|ix| Node { name: format!("x{ix}"), observed: true }).collect();
    nodes.push(Node { name: "h".to_owned(), observed: false });
    let edges: Vec<Edge> = (0..n).map(|ix| Edge::with_length(NodeIx::new(ix), h, 1.0)).collect();
    let schema = leaves.iter().enumerate().fold(Schema::builder(), |it, (ix, leaf)| it.scalar(format!("x{ix}"), leaf.0.clone()));
    let tree = Tree::from_parts(nodes, &edges).unwrap();
    let mut builder = LatentTree::builder(Arc::new(schema.build().unwrap()), tree).root(h);
    for (ix, (_, distribution)) in leaves.into_iter().enumerate() {
        builder = builder.distribution(NodeIx::new(ix), distribution);
    }
    builder.distribution(h, Distribution::Discrete(Table::new(weights.len(), weights.to_vec()))).build().unwrap()
}

fn gaussian(means: &[f64]) -> (Kind, Distribution) {
    let variances = vec![1.0; means.len()];
    (Kind::Continuous, Distribution::Emission(Emission::Gaussian { means: means.to_vec(), variances }))
}

fn poisson(rates: &[f64]) -> (Kind, Distribution) {
    (Kind::Count, Distribution::Emission(Emission::Poisson { rates: rates.to_vec() }))
}

fn learn(learning: &Learning, data: &Dataset) -> Learned {
    learning.run(Source::Rows(data), &Silent).unwrap()
}

/// Means or rates of a column in the states of its parent, in increasing order.
fn means(model: &LatentTree, variable: usize) -> Vec<f64> {
    let mut means = match model.distribution(model.node_of(VarIx::new(variable))) {
        Distribution::Emission(Emission::Gaussian { means, .. }) => means.clone(),
        Distribution::Emission(Emission::Poisson { rates }) => rates.clone(),
        other => panic!("{other:?} has no means"),
    };
    means.sort_by(f64::total_cmp);
    means
}

/// Checks that the learned model has one hidden node with three states, the true means within four standard errors, and at
/// least the likelihood that EM reaches from the truth.
fn assert_found(truth: &LatentTree, learned: &Learned, data: &Dataset, weights: &[f64]) {
    let model = learned.model().unwrap();
    assert_eq!((model.family(), model.tree().n_hidden()), (Family::Discrete, 1), "{:?}", learned.warnings);
    assert_eq!(model.domain(model.hidden().next().unwrap()), &Domain::numbered(3));
    let best = Em::new().tolerance(1e-9).iterations(500).fit(truth, data, &Silent).unwrap();
    let best = Inference::new(&best.model).score(&mut data.source(), &Silent, |_, _| Ok(())).unwrap().log_likelihood;
    let found = learned.log_likelihood.unwrap();
    assert!(found > best - 2.0, "{found} {best}");
    let rarest = weights.iter().copied().fold(1.0, f64::min) * data.n_rows() as f64;
    for variable in data.schema().variable_ixs() {
        let kind = data.schema().scalar_kind(variable).unwrap();
        if kind.n_states().is_none() {
            for (a, b) in means(truth, variable.get()).into_iter().zip(means(model, variable.get())) {
                let variance = if *kind == Kind::Count { a } else { 1.0 };
                assert!((a - b).abs() < 4.0 * (variance / rarest).sqrt(), "{variable:?}: {a} {b}");
            }
        }
    }
}

#[test]
fn clusters_on_a_line_are_the_states_that_were_asked_for() {
    let weights = [0.3, 0.3, 0.4];
    let in_line: Vec<_> = (0..6).map(|_| gaussian(&[-3.0, 0.0, 3.0])).collect();
    let orders = [[-3.0, 0.0, 3.0], [0.0, -3.0, 3.0], [3.0, -3.0, 0.0]];
    let in_any_order: Vec<_> = (0..6).map(|ix| gaussian(&orders[ix % 3])).collect();
    for (seed, leaves) in [in_line, in_any_order].into_iter().enumerate() {
        let truth = star(&weights, leaves);
        let data = Inference::new(&truth).sample(3000, seed as u64).unwrap();
        let learned = learn(&Learning::new().hidden_states(Some(3)), &data);
        assert_eq!(learned.estimator, Some(Estimator::Canonical));
        assert_found(&truth, &learned, &data, &weights);
        // Moments alone come close, too.
        let by_moments = learn(&Learning::new().hidden_states(Some(3)).parameters(ParameterMethod::Moments), &data);
        let model = by_moments.model().unwrap();
        for variable in 0..6 {
            for (a, b) in [-3.0, 0.0, 3.0].into_iter().zip(means(model, variable)) {
                assert!((a - b).abs() < 0.3, "{a} {b}");
            }
        }
    }
}

#[test]
fn states_of_clusters_rise_with_their_means() {
    let truth = star(&[0.3, 0.3, 0.4], (0..6).map(|_| gaussian(&[3.0, -3.0, 0.0])).collect());
    let data = Inference::new(&truth).sample(1000, 3).unwrap();
    let learned = learn(&Learning::new().hidden_states(Some(3)), &data);
    let model = learned.model().unwrap();
    for variable in data.schema().variable_ixs() {
        let Distribution::Emission(Emission::Gaussian { means, .. }) = model.distribution(model.node_of(variable)) else {
            panic!("a number")
        };
        assert!(means.is_sorted(), "{means:?}");
    }
}

#[test]
fn counts_and_mixed_tables_show_more_than_two_states() {
    let weights = [0.4, 0.3, 0.3];
    let counts = (0..6).map(|ix| poisson(&[[1.0, 6.0, 18.0], [6.0, 18.0, 1.0]][ix % 2])).collect();
    let label = || {
        let values = vec![0.7, 0.1, 0.1, 0.1, 0.1, 0.7, 0.1, 0.1, 0.1, 0.1, 0.4, 0.4];
        (Kind::numbered(4), Distribution::Discrete(Table::new(4, values)))
    };
    let mixed = vec![
        gaussian(&[0.0, 4.0, -4.0]),
        poisson(&[1.0, 6.0, 18.0]),
        label(),
        gaussian(&[0.0, 4.0, 8.0]),
        label(),
        poisson(&[9.0, 1.0, 25.0]),
    ];
    for (seed, leaves) in [counts, mixed].into_iter().enumerate() {
        let truth = star(&weights, leaves);
        let data = Inference::new(&truth).sample(3000, seed as u64).unwrap();
        let learned = learn(&Learning::new().hidden_states(Some(3)), &data);
        assert_found(&truth, &learned, &data, &weights);
    }
}

#[test]
fn columns_without_correlation_hang_together_by_three_states() {
    // With states of equal weight, the means of the first kind of columns are orthogonal to those of the second.
    let leaves = (0..6).map(|ix| gaussian(&[[-4.5, 1.5, 3.0], [1.0, -5.0, 4.0]][ix % 2]));
    let truth = star(&[1.0 / 3.0; 3], leaves.collect());
    let data = Inference::new(&truth).sample(3000, 4).unwrap();
    for learner in [LearnerName::Auto, LearnerName::ChowLiuNeighborJoining, LearnerName::NeighborJoining] {
        let learning = Learning::new().structure(learner).hidden_states(Some(3));
        let learned = learn(&learning, &data);
        assert_eq!((learned.tree().n_components(), learned.tree().n_hidden()), (1, 1), "{learner}: {:?}", learned.warnings);
        assert!(learned.warnings.is_empty(), "{:?}", learned.warnings);
    }
    assert!(learn(&Learning::new().effort(Effort::Quick), &data).tree().n_components() > 1);
}

#[test]
fn two_states_that_are_asked_for_are_discrete_and_none_make_a_gaussian_tree() {
    let truth = star(&[0.4, 0.6], (0..5).map(|_| gaussian(&[-2.0, 2.0])).collect());
    let data = Inference::new(&truth).sample(1000, 0).unwrap();
    let learned = learn(&Learning::new().hidden_states(Some(2)), &data);
    let model = learned.model().unwrap();
    assert_eq!(model.family(), Family::Discrete);
    assert!(model.hidden().all(|node| model.n_states(node) == Some(2)));
    assert_eq!(learn(&Learning::new().effort(Effort::Quick), &data).model().unwrap().family(), Family::Gaussian);
    // Two clusters are not a Gaussian: the search finds the states.
    assert_eq!(learn(&Learning::new(), &data).model().unwrap().family(), Family::Discrete);
    // Edge lengths carry no information about discrete states.
    let by_lengths = Learning::new().hidden_states(Some(2)).parameters(ParameterMethod::Distances);
    let error = by_lengths.run(Source::Rows(&data), &Silent).unwrap_err().to_string();
    assert!(error.contains("parameters.hidden_states"), "{error}");
}

#[test]
fn moments_of_numbers_say_that_they_cannot_show_three_states() {
    let truth = star(&[0.3, 0.3, 0.4], (0..6).map(|_| gaussian(&[-3.0, 0.0, 3.0])).collect());
    let data = Inference::new(&truth).sample(500, 0).unwrap();
    let moments = fold(&mut data.source(), PairMoments::new(Arc::clone(data.schema())).unwrap(), &Silent).unwrap();
    let learned = Learning::new().hidden_states(Some(3)).run(Source::Moments(moments), &Silent).unwrap();
    assert!(learned.model().is_none());
    assert!(learned.warnings.iter().any(|it| it.contains("cannot distinguish 3 hidden states")), "{:?}", learned.warnings);
}

#[test]
fn searches_bootstraps_and_candidates_take_states_over_numbers() {
    let truth = star(&[0.3, 0.3, 0.4], (0..6).map(|_| gaussian(&[-3.0, 0.0, 3.0])).collect());
    let data = Inference::new(&truth).sample(600, 1).unwrap();
    let three = Learning::new().hidden_states(Some(3)).restarts(1);
    for learning in [
        three.clone().select(Some(crate::learn::Criterion::Bic)),
        three.clone().select(Some(crate::learn::Criterion::Bic)).structure(LearnerName::ChowLiuNeighborJoining),
        three.clone().structure(LearnerName::RegularisedNeighborJoining),
        three.clone().bootstrap(Some(3)),
    ] {
        let learned = learn(&learning, &data);
        assert_eq!(learned.model().unwrap().family(), Family::Discrete);
        assert!(learned.log_likelihood.is_some_and(f64::is_finite));
    }
    three.candidates(Source::Rows(&data), &Silent).unwrap();
    // A search for numbers of states implies discrete hidden variables.
    let searched = learn(&Learning::new().hidden_states_auto().restarts(1), &data);
    assert_eq!(searched.model().unwrap().family(), Family::Discrete);
}

/// A standard normal number from two uniform ones.
fn normal(rng: &mut ChaCha8Rng) -> f64 {
    let (u, v): (f64, f64) = (rng.random_range(f64::MIN_POSITIVE..1.0), rng.random());
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

fn of_table(text: &str) -> Dataset {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.csv");
    std::fs::write(&path, text).unwrap();
    let mut reader = crate::open(&path).unwrap();
    Dataset::read(&mut reader).unwrap()
}

#[test]
fn states_are_not_narrower_than_numbers_were_recorded() {
    // Scores in halves that a single number explains, beside a label that depends on it.
    let rng = &mut ChaCha8Rng::seed_from_u64(5);
    let mut text = "a,b,c,d,group\n".to_owned();
    for _ in 0..800 {
        let z = normal(rng);
        for _ in 0..4 {
            let score = (2.0 * (4.0 + z + 0.7 * normal(rng))).round() / 2.0;
            text += &format!("{score},");
        }
        text += if z + normal(rng) > 0.0 { "high\n" } else { "low\n" };
    }
    let data = of_table(&text);
    for column in 0..4 {
        assert!((data.schema().resolution(ColIx::new(column)).unwrap() - 0.5).abs() < 0.05);
    }
    let learned = learn(&Learning::new(), &data);
    let model = learned.model().unwrap();
    let least = 0.45_f64.powi(2) / std::f64::consts::TAU;
    for node in model.tree().node_ixs() {
        if let Distribution::Emission(Emission::Gaussian { variances, .. }) = model.distribution(node) {
            assert!(variances.iter().all(|&variance| variance >= least), "{variances:?}");
        }
    }
    // A score between two that were recorded is not surprising.
    let density = |score: f64| {
        let mut evidence = crate::Evidence::none(model);
        evidence.set(model, "a", &score.to_string()).unwrap();
        Inference::new(model).query(&evidence, &[]).unwrap().log_evidence
    };
    assert!((density(4.5) - density(4.25)).abs() < 1.5, "{} {}", density(4.5), density(4.25));
    assert!(model.tree().n_hidden() <= 2, "{}", model.tree().n_hidden());
}

#[test]
fn cells_that_are_missing_where_numbers_are_small_do_not_break_a_gaussian_tree() {
    let rng = &mut ChaCha8Rng::seed_from_u64(6);
    let mut text = "x,y,z\n".to_owned();
    for row in 0..1500 {
        // Rows of two kinds: y is recorded only where x varies a lot.
        let spread = if row % 3 == 0 { 10.0 } else { 1.0 };
        let x = spread * normal(rng);
        let y = if row % 3 == 0 { format!("{:.4}", x + 4.0 * normal(rng)) } else { String::new() };
        text += &format!("{x:.4},{y},{:.4}\n", 0.5 * x + 3.0 * normal(rng));
    }
    let data = of_table(&text);
    let score = |learner: LearnerName| {
        let learned = learn(&Learning::new().structure(learner), &data);
        (learned.log_likelihood.unwrap(), learned.warnings)
    };
    let moments = fold(&mut data.source(), PairMoments::new(Arc::clone(data.schema())).unwrap(), &Silent).unwrap();
    let beside = moments.correlation(ColIx::new(0), ColIx::new(1)).unwrap();
    let complete: Vec<(f64, f64)> = data
        .batches()
        .iter()
        .flat_map(|batch| (0..batch.n_rows).map(|row| (batch.number(row, ColIx::new(0)), batch.number(row, ColIx::new(1)))))
        .filter(|row| !row.1.is_nan())
        .collect();
    let n = complete.len() as f64;
    let mean = |of: &dyn Fn(&(f64, f64)) -> f64| complete.iter().map(of).sum::<f64>() / n;
    let (mx, my) = (mean(&|it| it.0), mean(&|it| it.1));
    let (vx, vy) = (mean(&|it| (it.0 - mx).powi(2)), mean(&|it| (it.1 - my).powi(2)));
    let expected = mean(&|it| (it.0 - mx) * (it.1 - my)) / (vx * vy).sqrt();
    assert!((beside - expected).abs() < 1e-9, "{beside} {expected}");
    // y by regression on x: what a tree with the edge x – y has for y alone.
    let residual = vy * (1.0 - expected * expected);
    let of_y = -0.5 * n * ((std::f64::consts::TAU * residual).ln() + 1.0);
    let alone = |column: usize| {
        let values = data.batches().iter().flat_map(|batch| (0..batch.n_rows).map(|row| batch.number(row, ColIx::new(column))));
        let values: Vec<f64> = values.filter(|value| !value.is_nan()).collect();
        let (n, mean) = (values.len() as f64, values.iter().sum::<f64>() / values.len() as f64);
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / n;
        -0.5 * n * ((std::f64::consts::TAU * variance).ln() + 1.0)
    };
    for learner in [LearnerName::ChowLiu, LearnerName::Likelihood] {
        let (found, warnings) = score(learner);
        let least = alone(0) + alone(2) + of_y;
        assert!(found > least - 1.0, "{learner:?}: {found} {least} {warnings:?}");
    }
}
