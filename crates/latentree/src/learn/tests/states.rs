//! Numbers of states of single hidden nodes of a given tree.

use serde_json::json;

use crate::data::Dataset;
use crate::format::ModelFile;
use crate::inference::Inference;
use crate::learn::{LearnOptions, Learned, Learning, Source};
use crate::model::{Family, LatentTree};
use crate::observer::Silent;
use crate::simulate::{ParameterFamily, Shape, Simulation};
use crate::tree::Tree;

/// Rows of two hidden variables of three states, with four observed ones below each.
fn truth() -> (LatentTree, Dataset) {
    let family = ParameterFamily::Categorical { states: 4, hidden_states: 3, separation: 0.8 };
    let model = Simulation::new(Shape::DoubleStar, 8).family(family).seed(5).model().unwrap();
    let rows = Inference::new(&model).sample(3000, 5).unwrap();
    (model, rows)
}

fn options(given: &[(&str, serde_json::Value)]) -> LearnOptions {
    let mut options = LearnOptions::default();
    given.iter().for_each(|(path, value)| options.set(path, value.clone()).unwrap());
    options
}

fn learn(truth: &LatentTree, rows: &Dataset, given: &[(&str, serde_json::Value)]) -> crate::Result<Learned> {
    Learning::with_options(options(given)).tree(Some(truth.tree().clone())).run(Source::Rows(rows), &Silent)
}

fn states(learned: &Learned, name: &str) -> Option<usize> {
    let model = learned.model().unwrap();
    model.n_states(model.find(name).unwrap())
}

#[test]
fn named_nodes_have_their_states_and_the_others_the_common_number() {
    let (truth, rows) = truth();
    for (method, start) in [("em", "lcm"), ("em", "random"), ("moments+em", "moments"), ("moments", "")] {
        let mut given = vec![("parameters.method", json!(method)), ("parameters.states", json!(["h1=3"]))];
        if !start.is_empty() {
            given.push(("em.start", json!(start)));
        }
        let learned = learn(&truth, &rows, &given).unwrap();
        assert_eq!([states(&learned, "h1"), states(&learned, "h2")], [Some(3), Some(2)], "{method} {start}");
    }
}

#[test]
fn the_same_number_for_every_node_is_the_common_number() {
    let (truth, rows) = truth();
    for method in ["em", "moments+em"] {
        let method = ("parameters.method", json!(method));
        let by_name = learn(&truth, &rows, &[method.clone(), ("parameters.states", json!({"h1": 3, "h2": 3}))]).unwrap();
        let common = learn(&truth, &rows, &[method, ("parameters.hidden_states", json!(3))]).unwrap();
        let tables = |learned: &Learned| {
            let model = learned.model().unwrap();
            model.tree().node_ixs().map(|node| model.distribution(node).clone()).collect::<Vec<_>>()
        };
        assert_eq!(tables(&by_name), tables(&common));
    }
}

#[test]
fn states_make_hidden_nodes_over_numbers_discrete() {
    let truth = Simulation::new(Shape::Star, 5).family(ParameterFamily::gaussian()).seed(1).model().unwrap();
    let rows = Inference::new(&truth).sample(500, 1).unwrap();
    let learned = learn(&truth, &rows, &[("parameters.states", json!({"h1": 2}))]).unwrap();
    assert_eq!(learned.model().unwrap().family(), Family::Discrete);
}

#[test]
fn a_model_says_the_states_it_was_learned_with() {
    let (truth, rows) = truth();
    let learned = learn(&truth, &rows, &[("parameters.states", json!(["h2=4", "h1=3"])), ("em.iterations", json!(2))]).unwrap();
    let ModelFile::LatentTree(model) = &learned.file else { panic!("a model") };
    let said = model.provenance().learn.clone().unwrap();
    assert_eq!(said["parameters"]["states"], json!(["h1=3", "h2=4"]));
    let mut again = LearnOptions::from_json(said).unwrap();
    again.set("parameters.states", json!(["h1=2"])).unwrap();
    again.set("parameters.states", json!(null)).unwrap();
    assert!(again.parameters.states.is_empty());
}

#[test]
fn wrong_nodes_and_numbers_are_refused_by_name() {
    let (truth, rows) = truth();
    let problem = |given: &[(&str, serde_json::Value)]| learn(&truth, &rows, given).unwrap_err().to_string();
    for (states, told) in [("h9=3", "\"h9\""), ("x1=3", "\"x1\""), ("h1=1", "1"), ("h1=1001", "1001")] {
        let problem = problem(&[("parameters.states", json!([states]))]);
        assert!(problem.contains("`parameters.states`") && problem.contains(told), "{problem}");
    }
    for other in [
        ("parameters.method", json!("none")),
        ("parameters.method", json!("distances")),
        ("parameters.alignment", json!("huang")),
        ("parameters.hidden_states", json!("auto")),
        ("selection.criterion", json!("bic")),
    ] {
        let problem = problem(&[("parameters.states", json!(["h1=3"])), other]);
        assert!(problem.contains("`parameters.states`"), "{problem}");
    }
    let learning = Learning::with_options(options(&[("parameters.states", json!(["h1=3"]))]));
    let problem = learning.run(Source::Rows(&rows), &Silent).unwrap_err().to_string();
    assert!(problem.contains("`parameters.states`") && problem.contains("`learn.tree`"), "{problem}");
    for wrong in
        [json!(["h1"]), json!(["h1=x"]), json!(["=3"]), json!(["h1=2", "h1=3"]), json!({"h1": -2}), json!({"h1": 2.5}), json!(3)]
    {
        let problem = LearnOptions::default().set("parameters.states", wrong.clone()).unwrap_err().to_string();
        assert!(problem.contains("`parameters.states`"), "{wrong}: {problem}");
    }
}

#[test]
fn a_model_given_for_its_tree_says_how_many_states_its_nodes_have() {
    let (truth, rows) = truth();
    let file = ModelFile::from(truth);
    let learned = |given: &[(&str, serde_json::Value)]| {
        let learning = Learning::with_options(options(given)).tree_of(&file, rows.schema()).unwrap();
        let learned = learning.run(Source::Rows(&rows), &Silent).unwrap();
        [states(&learned, "h1"), states(&learned, "h2")]
    };
    assert_eq!(learned(&[]), [Some(3), Some(3)]);
    assert_eq!(learned(&[("parameters.states", json!({"h1": 2}))]), [Some(2), Some(3)]);
    assert_eq!(learned(&[("parameters.hidden_states", json!(2))]), [Some(2), Some(2)]);
    let tree = ModelFile::from(file.tree().clone());
    let plain = Learning::new().tree_of(&tree, rows.schema()).unwrap().run(Source::Rows(&rows), &Silent).unwrap();
    assert_eq!(states(&plain, "h1"), Some(2));
}

#[test]
fn a_hidden_node_between_two_others_is_fitted_by_em() {
    let (truth, rows) = truth();
    let mut tree = Tree::new();
    let leaves: Vec<_> = rows.schema().variables().iter().map(|it| tree.add_observed(&it.name).unwrap()).collect();
    let [h1, between, h2] = ["h1", "h3", "h2"].map(|name| tree.add_hidden(name).unwrap());
    let is_below_first =
        |name: &str| truth.tree().links(truth.find(name).unwrap()).iter().any(|it| truth.tree().name(it.to) == "h1");
    for (&leaf, variable) in leaves.iter().zip(rows.schema().variables()) {
        tree.connect(leaf, if is_below_first(&variable.name) { h1 } else { h2 }, None).unwrap();
    }
    tree.connect(h1, between, None).unwrap();
    tree.connect(between, h2, None).unwrap();
    let fit = |method: &str| {
        let given = [("parameters.method", json!(method)), ("parameters.states", json!({"h3": 2}))];
        Learning::with_options(options(&given)).tree(Some(tree.clone())).run(Source::Rows(&rows), &Silent)
    };
    let learned = fit("auto").unwrap();
    assert_eq!(learned.tree().n_hidden(), 3);
    assert!(learned.log_likelihood.is_some_and(f64::is_finite));
    let problem = fit("moments").unwrap_err().to_string();
    assert!(problem.contains("h3") && problem.contains("fewer than three neighbours") && problem.contains(" em"), "{problem}");
}
