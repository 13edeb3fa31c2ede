use serde_json::Value;

use super::*;
use crate::data::{Dataset, Schema};
use crate::inference::{Evidence, Inference, JointAnswer};
use crate::model::test_models::{self, generator, random_model, random_tree};
use crate::observer::Silent;
use crate::report::profile::most_informative;
use crate::simulate::{ParameterFamily, Shape, Simulation};

const FAMILIES: [test_models::Family; 3] =
    [test_models::Family::Discrete, test_models::Family::Mixed, test_models::Family::Gaussian];

/// Mutual information of two discrete nodes, from their joint distribution.
fn information(inference: &Inference<'_>, model: &LatentTree, a: NodeIx, b: NodeIx) -> f64 {
    let JointAnswer::Table { n_states, probabilities } = inference.joint(&Evidence::none(model), &[a, b]).unwrap() else {
        panic!("discrete nodes have a table")
    };
    let cell = |i: usize, j: usize| probabilities[i * n_states[1] + j];
    let first: Vec<f64> = (0..n_states[0]).map(|i| (0..n_states[1]).map(|j| cell(i, j)).sum()).collect();
    let second: Vec<f64> = (0..n_states[1]).map(|j| (0..n_states[0]).map(|i| cell(i, j)).sum()).collect();
    let cells = (0..n_states[0]).flat_map(|i| (0..n_states[1]).map(move |j| (i, j)));
    cells.map(|(i, j)| if cell(i, j) > 0.0 { cell(i, j) * (cell(i, j) / (first[i] * second[j])).ln() } else { 0.0 }).sum()
}

/// The data in the three elements of a page.
fn data(html: &str) -> [Value; 3] {
    ["tree-data", "details-data", "exports-data"].map(|id| {
        let (_, rest) = html.split_once(&format!("id=\"{id}\">")).unwrap();
        serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
    })
}

fn sample(model: &LatentTree, rows: u64) -> Dataset {
    Inference::new(model).sample(rows, 7).unwrap()
}

#[test]
fn the_most_informative_variables_are_those_of_a_full_search() {
    for seed in 0..30 {
        let model = random_model(seed, test_models::Family::Discrete, 16);
        let (steps, inference) = (Steps::new(&model), Inference::new(&model));
        let tree = model.tree();
        for origin in tree.node_ixs() {
            let mut all: Vec<f64> = tree
                .node_ixs()
                .filter(|&it| it != origin && tree.is_observed(it))
                .map(|it| information(&inference, &model, origin, it))
                .collect();
            all.sort_by(|a, b| b.total_cmp(a));
            let found = most_informative(tree, &steps, origin.get(), None, 5);
            // Nodes in another tree of a forest carry no information and are not reached.
            assert!(found.len() == 5.min(all.len()) || all[found.len()] < 1e-12, "seed {seed}");
            for (found, best) in found.iter().zip(&all) {
                assert!((found.information - best).abs() < 1e-10, "seed {seed}: {} for {best}", found.information);
                let own = information(&inference, &model, origin, NodeIx::new(found.node));
                assert!((found.information - own).abs() < 1e-10, "seed {seed}");
            }
        }
    }
}

#[test]
fn a_barred_neighbour_hides_what_is_beyond_it() {
    let model = Simulation::new(Shape::DoubleStar, 8)
        .family(ParameterFamily::Categorical { states: 2, hidden_states: 2, separation: 0.7 })
        .model()
        .unwrap();
    let steps = Steps::new(&model);
    let (h1, h2) = (model.find("h1").unwrap().get(), model.find("h2").unwrap().get());
    let below = most_informative(model.tree(), &steps, h1, Some(h2), 100);
    assert_eq!(below.len(), 4);
    assert!(below.iter().all(|it| model.tree().links(NodeIx::new(h1)).iter().any(|link| link.to.get() == it.node)));
    assert_eq!(most_informative(model.tree(), &steps, h1, None, 100).len(), 8);
}

#[test]
fn profiles_are_the_conditional_distributions_of_inference() {
    for seed in 0..10 {
        let model = random_model(seed, test_models::Family::Mixed, 14);
        let inference = Inference::new(&model);
        let [tree, details, _] = data(&page(&model, None, &PageOptions::new("m"), &Silent).unwrap());
        for node in model.hidden() {
            for entry in details["profiles"][node.get()].as_array().unwrap() {
                if !entry["m"].is_null() {
                    continue;
                }
                let other = NodeIx::new(entry["n"].as_u64().unwrap() as usize);
                for state in 0..model.n_states(node).unwrap() {
                    if tree["marginals"][node.get()][state].as_f64().unwrap() < 1e-6 {
                        continue;
                    }
                    let mut evidence = Evidence::none(&model);
                    evidence.set_node(&model, node, state as f64);
                    let answer = inference.query(&evidence, &[other]).unwrap().marginals[0].1.clone();
                    let near = |shown: &Value, exact: f64| {
                        let shown = shown.as_f64().unwrap();
                        assert!((shown - exact).abs() <= 1e-3 * exact.abs() + 1e-9, "seed {seed}: {shown} for {exact}");
                    };
                    if entry["g"].is_null() {
                        let labels: Vec<usize> = match entry["l"].as_array() {
                            Some(labels) => labels.iter().map(|it| it.as_u64().unwrap() as usize).collect(),
                            None => vec![1],
                        };
                        for (at, &label) in labels.iter().enumerate() {
                            near(&entry["p"][state * labels.len() + at], answer[label]);
                        }
                    } else {
                        near(&entry["g"][2 * state], answer[0]);
                        near(&entry["g"][2 * state + 1], answer[1].sqrt());
                    }
                }
            }
        }
    }
}

#[test]
fn what_goes_with_a_number_is_symmetric_and_best_first() {
    let family = ParameterFamily::Mixed { states: 3, hidden_states: 3, separation: 0.7, groups: false };
    let model = Simulation::new(Shape::Random { max_degree: Some(5) }, 20).family(family).model().unwrap();
    let [_, details, _] = data(&page(&model, None, &PageOptions::new("m"), &Silent).unwrap());
    let profiles = details["profiles"].as_array().unwrap();
    let mut n_compared = 0;
    for (node, profile) in profiles.iter().enumerate() {
        let information: Vec<f64> = profile.as_array().unwrap().iter().map(|entry| entry["i"].as_f64().unwrap()).collect();
        assert!(information.is_sorted_by(|a, b| *a >= *b * (1.0 - 1e-9)));
        for (entry, own) in profile.as_array().unwrap().iter().zip(&information) {
            let other = entry["n"].as_u64().unwrap() as usize;
            assert_ne!(other, node);
            let back = profiles[other].as_array().unwrap().iter().find(|it| it["n"].as_u64() == Some(node as u64));
            if let Some(back) = back {
                assert!((back["i"].as_f64().unwrap() - own).abs() <= 1e-3 * own);
                n_compared += 1;
            }
        }
    }
    assert!(n_compared > 20, "{n_compared}");
}

#[test]
fn correlations_of_a_gaussian_page_are_those_of_inference() {
    for seed in 0..10 {
        let model = random_model(seed, test_models::Family::Gaussian, 14);
        let inference = Inference::new(&model);
        let [_, details, _] = data(&page(&model, None, &PageOptions::new("m"), &Silent).unwrap());
        for node in model.tree().node_ixs() {
            for entry in details["profiles"][node.get()].as_array().unwrap() {
                let other = NodeIx::new(entry["n"].as_u64().unwrap() as usize);
                let JointAnswer::Gaussian { covariance, .. } = inference.joint(&Evidence::none(&model), &[node, other]).unwrap()
                else {
                    panic!("Gaussian nodes have covariances")
                };
                let exact = covariance[1] / (covariance[0] * covariance[3]).sqrt();
                let shown = entry["r"].as_f64().unwrap();
                assert!((shown - exact).abs() < 1e-3 * exact.abs() + 1e-9, "seed {seed}: {shown} for {exact}");
            }
        }
    }
}

#[test]
fn every_index_of_a_page_is_one_and_all_numbers_are_numbers() {
    for (seed, family) in (0..30).zip(FAMILIES.into_iter().cycle()) {
        let model = random_model(seed, family, 20);
        let rows = sample(&model, 50);
        let html = page(&model, Some(&rows), &PageOptions::new("t").data_name("d"), &Silent).unwrap();
        let [tree, details, exports] = data(&html);
        let n = model.tree().n_nodes();
        for key in [
            "names",
            "observed",
            "parents",
            "kinds",
            "lengths",
            "supports",
            "information",
            "strengths",
            "topics",
            "labels",
            "marginals",
        ] {
            assert_eq!(tree[key].as_array().unwrap().len(), n, "{key}");
        }
        assert_eq!(details["profiles"].as_array().unwrap().len(), n);
        let below = |value: &Value, limit: usize| assert!((value.as_u64().unwrap() as usize) < limit, "{value} of {limit}");
        let n_sets = tree["labelSets"].as_array().unwrap().len();
        let n_members = tree["members"].as_array().unwrap().len();
        tree["labels"].as_array().unwrap().iter().filter(|it| it.as_i64() != Some(-1)).for_each(|it| below(it, n_sets));
        tree["topics"].as_array().unwrap().iter().flat_map(|it| it.as_array().unwrap()).for_each(|it| below(it, n));
        for strength in tree["strengths"].as_array().unwrap().iter().filter_map(Value::as_f64) {
            assert!((0.0..=1.0).contains(&strength));
        }
        for entry in details["profiles"].as_array().unwrap().iter().flat_map(|it| it.as_array().unwrap()) {
            below(&entry["n"], n);
            if !entry["m"].is_null() {
                below(&entry["m"], n_members);
            }
        }
        // Numbers that are too large for moments have no pairs.
        for misfit in tree["misfits"]["worst"].as_array().unwrap_or(&Vec::new()) {
            misfit["sides"].as_array().unwrap().iter().for_each(|side| below(&side[0], n));
            assert!(misfit["z"].is_f64() || misfit["z"].is_i64());
        }
        assert_eq!(details["rows"].as_object().unwrap().len(), model.tree().n_hidden());
        assert_eq!(tree["fit"]["rows"], 50);
        assert_eq!(exports.as_array().unwrap().len(), 7);
    }
}

#[test]
fn typical_rows_are_those_with_the_greatest_posterior() {
    let family = ParameterFamily::Categorical { states: 3, hidden_states: 3, separation: 0.6 };
    let model = Simulation::new(Shape::DoubleStar, 10).family(family).model().unwrap();
    let rows = sample(&model, 5000);
    let [_, details, _] = data(&page(&model, Some(&rows), &PageOptions::new("m"), &Silent).unwrap());
    let inference = Inference::new(&model);
    for node in model.hidden() {
        let mut shares = [0.0; 3];
        let mut by_state = [const { Vec::new() }; 3];
        for batch in rows.batches() {
            let posterior = inference.posterior(batch, &[node]).unwrap();
            for row in 0..batch.n_rows {
                for (state, &p) in posterior.get(row, 0).iter().enumerate() {
                    shares[state] += p / 5000.0;
                    by_state[state].push((p, batch.first_row + row as u64 + 1));
                }
            }
        }
        let shown = &details["rows"][node.get().to_string()];
        for state in 0..3 {
            assert!((shown["shares"][state].as_f64().unwrap() - shares[state]).abs() < 1e-3);
            by_state[state].sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            let typical = shown["typical"][state].as_array().unwrap();
            assert_eq!(typical.len(), 10);
            for (row, best) in typical.iter().zip(&by_state[state]) {
                assert!((row[1].as_f64().unwrap() - best.0).abs() < 1e-3);
                let number = row[0].as_u64().unwrap() - 1;
                let batch = rows.batches().iter().find(|it| (it.first_row..it.first_row + it.n_rows as u64).contains(&number));
                let batch = batch.unwrap();
                let entries = details["profiles"][node.get()].as_array().unwrap();
                for (cell, entry) in row[2].as_array().unwrap().iter().zip(entries) {
                    let variable = model.variable(NodeIx::new(entry["n"].as_u64().unwrap() as usize)).unwrap();
                    let column = model.schema().variable(variable).columns[0];
                    assert_eq!(cell.as_f64().unwrap(), batch.number((number - batch.first_row) as usize, column));
                }
            }
        }
    }
}

#[test]
fn pairs_are_judged_against_the_joint_distribution_of_the_model() {
    for seed in 0..10 {
        let model = random_model(seed, test_models::Family::Discrete, 14);
        let other = random_model(seed + 100, test_models::Family::Discrete, 14);
        // Rows of another model, if the two have the same columns: the worst possible fit.
        let same = **other.schema() == **model.schema();
        let rows = sample(if same { &other } else { &model }, 400);
        let steps = Steps::new(&model);
        let columns = vec![Vec::new(); model.tree().n_nodes()];
        let view = rows::read(&model, &mut rows.source(), 3, &columns, &Silent).unwrap();
        let found = worst(&model, Some(&steps), view.moments.as_ref().unwrap(), &view.pair_columns, SHOWN_MISFITS);
        let inference = Inference::new(&model);
        for misfit in &found.worst {
            let nodes = misfit.columns.map(|column| model.node_of(model.schema().variable_of(column)));
            let labels = misfit.labels.map(|label| label.unwrap());
            let JointAnswer::Table { n_states, probabilities } = inference.joint(&Evidence::none(&model), &nodes).unwrap() else {
                panic!("discrete nodes have a table")
            };
            let exact = probabilities[labels[0] * n_states[1] + labels[1]];
            assert!((misfit.expected - exact).abs() < 1e-10, "seed {seed}");
            let count: f64 = rows
                .batches()
                .iter()
                .flat_map(|batch| (0..batch.n_rows).map(move |row| (batch, row)))
                .filter(|(batch, row)| (0..2).all(|end| batch.number(*row, misfit.columns[end]) == labels[end] as f64))
                .count() as f64;
            assert!((misfit.observed - count / 400.0).abs() < 1e-12, "seed {seed}");
        }
        assert!(found.worst.is_sorted_by(|a, b| a.z.abs() >= b.z.abs()));
    }
}

#[test]
fn data_of_the_model_itself_are_well_explained_and_a_missed_pair_is_found() {
    let family = ParameterFamily::Mixed { states: 3, hidden_states: 2, separation: 0.6, groups: true };
    let model = Simulation::new(Shape::DoubleStar, 12).family(family).model().unwrap();
    let rows = sample(&model, 4000);
    let [tree, ..] = data(&page(&model, Some(&rows), &PageOptions::new("m"), &Silent).unwrap());
    let misfits = &tree["misfits"];
    assert!(misfits["pairs"].as_u64().unwrap() > 60);
    assert!(misfits["beyondFour"].as_u64().unwrap() <= 2, "{}", misfits["beyondFour"]);

    // A model of independent variables explains none of the star's pairs.
    let star = Simulation::new(Shape::Star, 5)
        .family(ParameterFamily::Categorical { states: 2, hidden_states: 2, separation: 0.8 })
        .model()
        .unwrap();
    let rows = sample(&star, 3000);
    let mut alone = crate::tree::Tree::new();
    let nodes: Vec<NodeIx> = star.schema().variables().iter().map(|it| alone.add_observed(&it.name).unwrap()).collect();
    let marginals = star.marginals();
    let mut builder = LatentTree::builder(star.schema().clone(), alone);
    for (node, variable) in nodes.iter().zip(star.schema().variable_ixs()) {
        let crate::model::Marginal::Discrete(values) = &marginals[star.node_of(variable).get()] else { panic!("discrete") };
        let table = crate::model::Table::new(2, values.clone());
        builder = builder.distribution(*node, crate::model::Distribution::Discrete(table));
    }
    let independent = builder.build().unwrap();
    let [tree, ..] = data(&page(&independent, Some(&rows), &PageOptions::new("m"), &Silent).unwrap());
    assert_eq!(tree["misfits"]["pairs"], 10);
    assert!(tree["misfits"]["beyondFour"].as_u64().unwrap() >= 8);
}

#[test]
fn a_page_is_the_same_at_any_number_of_threads() {
    let model = random_model(3, test_models::Family::Mixed, 30);
    let rows = sample(&model, 600);
    let made = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| page(&model, Some(&rows), &PageOptions::new("m"), &Silent).unwrap())
    };
    assert!(made(1) == made(3));
}

#[test]
fn a_tree_alone_has_a_page_but_takes_no_data() {
    let tree = random_tree(&mut generator(5), 40);
    let [shown, details, exports] = data(&page(&tree, None, &PageOptions::new("t"), &Silent).unwrap());
    assert_eq!(shown["family"], "tree");
    assert_eq!(details["profiles"].as_array().unwrap().len(), 40);
    let bif = exports.as_array().unwrap().iter().find(|it| it["format"] == "bif").unwrap();
    assert!(bif["packed"].is_null() && bif["problem"].as_str().unwrap().contains("without tables"));
    let model = random_model(1, test_models::Family::Discrete, 10);
    let rows = sample(&model, 10);
    let error = page(model.tree(), Some(&rows), &PageOptions::new("t"), &Silent).unwrap_err();
    assert!(error.to_string().contains("as `learn.tree`"));
    let empty = crate::tree::Tree::new();
    assert!(page(&empty, None, &PageOptions::new("t"), &Silent).unwrap_err().to_string().contains("no nodes"));
    let other = Schema::builder().scalar("other", crate::data::Kind::binary()).build().unwrap();
    let data = Dataset::new(std::sync::Arc::new(other), Vec::new());
    assert!(page(&model, Some(&data), &PageOptions::new("t"), &Silent).is_err());
}

#[test]
fn long_chains_stars_and_names_stay_small() {
    let mut nodes = Vec::new();
    for ix in 0..3000 {
        nodes.push(crate::tree::Node { name: format!("{ix}{}", "x".repeat(9990)), observed: true });
    }
    let chain: Vec<_> = (1..3000).map(|ix| crate::tree::Edge::new(NodeIx::new(ix - 1), NodeIx::new(ix))).collect();
    let star: Vec<_> = (1..3000).map(|ix| crate::tree::Edge::with_length(NodeIx::new(0), NodeIx::new(ix), 0.5)).collect();
    for edges in [chain, star] {
        let tree = crate::tree::Tree::from_parts(nodes.clone(), &edges).unwrap();
        let html = page(&tree, None, &PageOptions::new("t"), &Silent).unwrap();
        assert!(html.len() < 8_000_000, "{} bytes", html.len());
    }
}

#[test]
fn numbers_keep_four_digits() {
    for (value, expected) in [(0.0, 0.0), (0.123_456, 0.1235), (-12_345.6, -12_350.0), (1e-300, 1e-300), (f64::NAN, 0.0)] {
        assert!((short(value) - expected).abs() <= 1e-12 * expected.abs());
    }
    assert_eq!(finite(f64::NEG_INFINITY), None);
}

#[test]
fn the_groups_of_the_page_are_those_of_the_model() {
    for family in FAMILIES {
        let model = random_model(3, family, 40);
        let [tree, ..] = data(&page(&model, None, &PageOptions::new("groups"), &Silent).unwrap());
        let name = |node: &Value| tree["names"][node.as_u64().unwrap() as usize].clone();
        let names = |nodes: &Value| nodes.as_array().unwrap().iter().map(name).collect::<Value>();
        let listed = Groups::of(&model).to_json(&model);
        let (shown, listed) = (tree["groups"].as_array().unwrap(), listed.as_array().unwrap());
        assert_eq!(shown.len(), listed.len());
        for (shown, listed) in shown.iter().zip(listed) {
            // Long texts are shortened.
            let is_same = |shown: &Value, listed: &Value| match (shown.as_str(), listed.as_str()) {
                (Some(shown), Some(listed)) => {
                    shown == listed || shown.strip_suffix('…').is_some_and(|start| listed.starts_with(start))
                }
                _ => shown == listed,
            };
            for same in ["label", "level", "description"] {
                assert!(is_same(&shown[same], &listed[same]));
            }
            assert_eq!(names(&shown["variables"]), listed["variables"]);
            assert_eq!(names(&shown["hidden"]), listed["hidden"]);
            let (states, described) = (shown["states"].as_array().unwrap(), listed["states"].as_array().unwrap());
            assert_eq!(states.len(), described.len());
            assert!(states.iter().zip(described).all(|(shown, listed)| is_same(shown, &listed["description"])));
            if let Some(node) = shown["node"].as_u64() {
                assert!(is_same(&tree["nodeLabels"][node as usize], &listed["label"]));
            }
        }
        let n_labels = tree["nodeLabels"].as_array().unwrap().iter().filter(|it| it.is_string()).count();
        assert_eq!(n_labels, model.hidden().count());
    }
}
