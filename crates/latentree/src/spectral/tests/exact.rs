//! Exact moments in, exact answers out.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::models::{chain, model_on, random_tree};
use super::population::Population;
use crate::inference::{Evidence, Inference};
use crate::model::LatentTree;
use crate::spectral::{Evaluator, Linkers};
use crate::tree::Tree;
use crate::{NodeIx, VarIx};

/// Draws evidence: labels for about this share of the variables of a row.
fn evidence(rng: &mut ChaCha8Rng, model: &LatentTree, share: f64) -> (Vec<Option<usize>>, Evidence) {
    let rows = Inference::new(model).sample(1, rng.random()).unwrap();
    let mut known = Vec::new();
    let mut evidence = Evidence::none(model);
    for ix in model.schema().variable_ixs() {
        let node = model.node_of(ix);
        let label = rng.random_bool(share).then(|| rows.batches()[0].number(0, model.schema().variable(ix).columns[0]) as usize);
        if let Some(label) = label {
            evidence.set_node(model, node, label as f64);
        }
        known.push(label);
    }
    (known, evidence)
}

fn answers_are_those_of_the_model(rng: &mut ChaCha8Rng, model: &LatentTree, linkers: Linkers, k: Option<usize>) {
    let spectral = Population::new(model).spectral(k, linkers);
    let evaluator = Evaluator::new(&spectral);
    let inference = Inference::new(model);
    for share in [1.0, 0.7, 0.3, 0.0] {
        let (known, evidence) = evidence(rng, model, share);
        let of: Vec<usize> = (0..known.len()).collect();
        let nodes: Vec<NodeIx> = of.iter().map(|&ix| model.node_of(VarIx::new(ix))).collect();
        let answer = evaluator.query(&known, &of).unwrap();
        let exact = inference.query(&evidence, &nodes).unwrap();
        assert!(!answer.is_evidence_clipped && answer.clipped == 0, "{linkers:?}");
        let off = (answer.log_evidence - exact.log_evidence).exp_m1().abs();
        assert!(off < 1e-9, "{linkers:?} {share}: off by {off}, {} and {}", answer.log_evidence, exact.log_evidence);
        for (own, (_, exact)) in answer.distributions.iter().zip(&exact.marginals) {
            own.iter().zip(exact).for_each(|(a, b)| assert!((a - b).abs() < 1e-9, "{a} {b}"));
        }
        let pair = [0, known.len() - 1];
        let joint = evaluator.joint(&known, &pair).unwrap();
        let crate::inference::JointAnswer::Table { probabilities, .. } =
            inference.joint(&evidence, &pair.map(|ix| nodes[ix])).unwrap()
        else {
            panic!("the nodes are discrete")
        };
        joint.distributions[0].iter().zip(&probabilities).for_each(|(a, b)| assert!((a - b).abs() < 1e-9, "{a} {b}"));
    }
}

#[test]
fn random_trees_of_exact_moments_answer_exactly() {
    for seed in 0..100 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let k = rng.random_range(2..=4);
        let n_hidden = rng.random_range(1..=5);
        let tree = random_tree(&mut rng, n_hidden, seed % 2 == 0);
        let model = model_on(&mut rng, tree, k, |rng| rng.random_range(4..=8));
        for linkers in Linkers::ALL {
            answers_are_those_of_the_model(&mut rng, &model, linkers, Some(k));
        }
    }
}

#[test]
fn chains_of_exact_moments_answer_exactly() {
    for seed in 0..6 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let k = 2 + seed as usize % 3;
        let model = model_on(&mut rng, chain(20), k, |rng| rng.random_range(4..=8));
        for linkers in Linkers::ALL {
            answers_are_those_of_the_model(&mut rng, &model, linkers, Some(k));
        }
    }
}

#[test]
fn the_rank_of_exact_moments_is_found() {
    for seed in 0..10 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let k = 2 + seed as usize % 3;
        let tree = random_tree(&mut rng, 3, true);
        let model = model_on(&mut rng, tree, k, |rng| rng.random_range(4..=8));
        let spectral = Population::new(&model).spectral(None, Linkers::Stacked);
        let pairs: Vec<bool> = (0..spectral.parts.edges.len()).map(|edge| spectral.is_pair(edge)).collect();
        for ((name, edge), is_pair) in spectral.edges().zip(pairs) {
            // Edges between two observed nodes keep their joint table, so their rank is not k.
            assert!(is_pair || edge.rank == k, "{name}: {} for {k}", edge.rank);
        }
        answers_are_those_of_the_model(&mut rng, &model, Linkers::Stacked, None);
    }
}

#[test]
fn variables_of_fewer_labels_than_states_have_edges_of_lower_rank_and_exact_answers() {
    for seed in 0..10 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        // A hidden node with three states and leaves with two labels next to leaves with four.
        let mut tree = Tree::new();
        let h = tree.add_hidden("h1").unwrap();
        for ix in 0..5 {
            let leaf = tree.add_observed(format!("x{ix}")).unwrap();
            tree.connect(h, leaf, None).unwrap();
        }
        let count = std::cell::Cell::new(0);
        let model = model_on(&mut rng, tree, 3, |_| {
            count.set(count.get() + 1);
            if count.get() <= 2 { 2 } else { 4 }
        });
        answers_are_those_of_the_model(&mut rng, &model, Linkers::Stacked, Some(3));
    }
}

#[test]
fn ten_thousand_leaves_do_not_underflow() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let model = model_on(&mut rng, chain(10_000), 2, |_| 4);
    let spectral = Population::new(&model).spectral(Some(2), Linkers::Stacked);
    let rows = Inference::new(&model).sample(3, 7).unwrap();
    let own = Evaluator::new(&spectral).log_likelihood(&rows.batches()[0]).unwrap();
    let exact = Inference::new(&model).log_likelihood(&rows.batches()[0]).unwrap();
    assert_eq!(own.clipped, 0);
    for (a, b) in own.values.iter().zip(&exact) {
        assert!((a - b).abs() < 1e-8 * b.abs(), "{a} {b}");
    }
}

/// Hsu, Kakade and Zhang (2009): as many labels as states, so that the vector at a position is the joint probability of its
/// labels with everything before it.
#[test]
fn chains_answer_as_the_recursion_of_hidden_markov_models_does() {
    let (n, k) = (8, 3);
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    let model = model_on(&mut rng, chain(n), k, |_| 3);
    let inference = Inference::new(&model);
    let table = |variables: &[usize]| {
        let nodes: Vec<NodeIx> = variables.iter().map(|&ix| model.node_of(VarIx::new(ix))).collect();
        match inference.joint(&Evidence::none(&model), &nodes).unwrap() {
            crate::inference::JointAnswer::Table { probabilities, .. } => probabilities,
            _ => panic!("the nodes are discrete"),
        }
    };
    // B_x of each inner position: labels of the next position by labels of this one.
    let operators: Vec<Vec<Vec<f64>>> = (1..n - 1)
        .map(|at| {
            let (triple, pair) = (table(&[at - 1, at, at + 1]), table(&[at, at - 1]));
            let inverse = crate::spectral::estimate::pseudo_inverse(&pair, k);
            let cell = |x: usize, next: usize, own: usize| -> f64 {
                (0..k).map(|before| triple[(before * k + x) * k + next] * inverse[before * k + own]).sum()
            };
            (0..k).map(|x| (0..k * k).map(|ix| cell(x, ix / k, ix % k)).collect()).collect()
        })
        .collect();
    let first = table(&[0, 1]);
    let spectral = Population::new(&model).spectral(Some(k), Linkers::Stacked);
    let evaluator = Evaluator::new(&spectral);
    for _ in 0..50 {
        let (known, _) = evidence(&mut rng, &model, 1.0);
        let labels: Vec<usize> = known.iter().map(|it| it.unwrap()).collect();
        let mut state: Vec<f64> = first[labels[0] * k..][..k].to_vec();
        for (own, &x) in operators.iter().zip(&labels[1..n - 1]) {
            state = (0..k).map(|next| (0..k).map(|ix| own[x][next * k + ix] * state[ix]).sum()).collect();
        }
        let exact = state[labels[n - 1]];
        let own = evaluator.query(&known, &[]).unwrap().log_evidence.exp();
        assert!((own / exact - 1.0).abs() < 1e-10, "{own} {exact}");
    }
}
