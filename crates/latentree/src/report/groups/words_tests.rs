//! How states are told in words.

use std::sync::Arc;

use super::*;
use crate::data::{Kind, Schema};
use crate::model::{Distribution, Domain, Emission, Table};
use crate::tree::Tree;

fn codes(n: usize) -> Kind {
    Kind::Categorical { labels: (1..=n).map(|code| code.to_string()).collect() }
}

fn discrete(rows: &[&[f64]]) -> Distribution {
    Distribution::Discrete(Table::new(rows[0].len(), rows.concat()))
}

fn normal(means: &[f64], deviation: f64) -> Distribution {
    Distribution::Emission(Emission::Gaussian { means: means.to_vec(), variances: vec![deviation * deviation; means.len()] })
}

/// A hidden node `h1` with these leaves.
fn star(prior: &[f64], leaves: Vec<(&str, Kind, Distribution)>) -> LatentTree {
    let mut tree = Tree::new();
    let h = tree.add_hidden("h1").unwrap();
    let mut schema = Schema::builder();
    let mut distributions = Vec::new();
    for (name, kind, distribution) in leaves {
        let leaf = tree.add_observed(name).unwrap();
        tree.connect(h, leaf, None).unwrap();
        schema = schema.scalar(name, kind);
        distributions.push((leaf, distribution));
    }
    let builder = LatentTree::builder(Arc::new(schema.build().unwrap()), tree).root(h).hidden(h, Domain::numbered(prior.len()));
    let builder = builder.distribution(h, discrete(&[prior]));
    distributions.into_iter().fold(builder, |builder, (leaf, it)| builder.distribution(leaf, it)).build().unwrap()
}

/// By state of the only group, what is told of a column.
fn told(model: &LatentTree, column: &str) -> Vec<Difference> {
    let groups = Groups::of(model);
    let states = groups.all()[0].states.iter();
    states.filter_map(|state| state.differences.iter().find(|it| it.column == column).cloned()).collect()
}

#[test]
fn codes_of_categories_are_told_by_shares() {
    // 1 white, 2 black, 3 other; and eight kinds of work, the mean of which says nothing.
    let work: [&[f64]; 2] =
        [&[0.50, 0.10, 0.05, 0.05, 0.15, 0.05, 0.05, 0.05], &[0.10, 0.05, 0.05, 0.10, 0.10, 0.10, 0.45, 0.05]];
    let model = star(
        &[0.7, 0.3],
        vec![
            ("race", codes(3), discrete(&[&[0.1, 0.2, 0.7], &[0.8, 0.1, 0.1]])),
            ("work", codes(8), discrete(&work)),
            ("age", Kind::Continuous, normal(&[40.0, 60.0], 10.0)),
        ],
    );
    let described = Groups::of(&model).all()[0].states[1].description.clone();
    assert!(described.contains("race=1 80% instead of 10%") && described.contains("work=7 45% instead of 5%"), "{described}");
}

#[test]
fn labels_that_are_amounts_are_told_by_means_in_all_states() {
    let model = star(
        &[0.5, 0.5],
        vec![
            ("visits", codes(5), discrete(&[&[0.5, 0.25, 0.15, 0.07, 0.03], &[0.1, 0.15, 0.2, 0.25, 0.3]])),
            ("age", Kind::Continuous, normal(&[40.0, 60.0], 10.0)),
        ],
    );
    let told = told(&model, "visits");
    assert!(told.len() == 2 && told.iter().all(|it| it.is_mean), "{told:?}");
    assert!((told[1].inside - 3.5).abs() < 1e-9 && (told[1].outside - 1.88).abs() < 1e-9);
}

#[test]
fn all_states_tell_of_a_column_in_the_same_way() {
    // The middle of three states has the middle labels, which is no shift up or down.
    let answers: [&[f64]; 3] = [&[0.6, 0.3, 0.05, 0.03, 0.02], &[0.05, 0.2, 0.5, 0.2, 0.05], &[0.02, 0.03, 0.05, 0.3, 0.6]];
    let model = star(
        &[0.3, 0.4, 0.3],
        vec![("answer", codes(5), discrete(&answers)), ("age", Kind::Continuous, normal(&[30.0, 40.0, 50.0], 10.0))],
    );
    let told = told(&model, "answer");
    assert!(told.len() == 3 && told.iter().all(|it| !it.is_mean), "{told:?}");
    assert_eq!(told.iter().map(|it| it.value.as_deref().unwrap()).collect::<Vec<_>>(), ["1", "3", "5"]);
    // The states above the lowest have more of it together, so the label names the column.
    let label = Groups::of(&model).all()[0].label.clone();
    assert!(label == "age · answer" || label == "answer · age", "{label}");
}

#[test]
fn means_have_the_digits_that_tell_them_apart_and_are_zero_next_to_the_spread() {
    let text = |inside: f64, outside: f64, deviation: f64| {
        let difference = Difference {
            node: NodeIx::new(0),
            column: "latitude".to_owned(),
            value: None,
            is_mean: true,
            inside,
            outside,
            deviation: Some(deviation),
        };
        difference.text()
    };
    assert_eq!(text(38.612, 38.634, 0.1), "mean latitude 38.61 instead of 38.63");
    assert_eq!(text(2001.2, 2001.4, 1.0), "mean latitude 2001.2 instead of 2001.4");
    assert_eq!(text(-1.16e-14, 0.85, 1.0), "mean latitude 0 instead of 0.850");
    assert_eq!(text(9.12e-6, 2.2e-6, 1e-6), "mean latitude 9.12e-6 instead of 2.20e-6");
    assert_eq!(text(63.25, 41.0, 10.0), "mean latitude 63.2 instead of 41.0");
}

#[test]
fn means_that_do_not_differ_visibly_are_left_out() {
    // The spread of the latitude differs between the states, its mean does not.
    let spreads = Emission::Gaussian { means: vec![38.600, 38.601], variances: vec![1.0, 0.01] };
    let model = star(
        &[0.5, 0.5],
        vec![
            ("latitude", Kind::Continuous, Distribution::Emission(spreads)),
            ("age", Kind::Continuous, normal(&[40.0, 60.0], 10.0)),
        ],
    );
    let described = Groups::of(&model).all()[0].states[1].description.clone();
    assert!(described.contains("mean age") && !described.contains("latitude"), "{described}");
}

#[test]
fn a_list_of_states_shows_the_largest_and_says_what_lists_all() {
    let prior = [0.19, 0.02, 0.12, 0.11, 0.03, 0.13, 0.14, 0.15, 0.11];
    let rows: Vec<Vec<f64>> = (0..9).map(|state| vec![0.9 - 0.1 * f64::from(state), 0.1 + 0.1 * f64::from(state)]).collect();
    let rows: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
    let leaves = ["a", "b", "c"].map(|name| (name, Kind::binary(), discrete(&rows)));
    let model = star(&prior, leaves.into());
    let groups = Groups::of(&model);
    let states = |text: &str| text.lines().filter(|line| line.trim_start().starts_with("state ")).count();
    let text = groups.to_text(&model, None);
    assert_eq!(states(&text), 6);
    assert!(text.contains("… and 3 more states (describe MODEL --of h1 lists all)"), "{text}");
    assert!(!text.contains("state 1, ") && !text.contains("state 4, ") && text.contains("state 2, "), "{text}");
    let all = groups.to_text(&model, Some(&groups.all()[0]));
    assert!(states(&all) == 9 && !all.contains("more states"), "{all}");
}

#[test]
fn no_state_of_three_goes_without_words() {
    // State 1 is the mean of the others in every column.
    let rows: [&[f64]; 3] = [&[0.9, 0.1], &[0.5, 0.5], &[0.1, 0.9]];
    let model = star(&[0.25, 0.5, 0.25], ["a", "b", "c"].map(|name| (name, Kind::binary(), discrete(&rows))).into());
    let groups = Groups::of(&model);
    let text = groups.to_text(&model, None);
    assert!(text.contains("state 0, 25% of rows: a 10% instead of 63%"), "{text}");
    assert!(text.contains("state 1, 50% of rows: near the average\n"), "{text}");
    assert!(text.contains("state 2, 25% of rows: a 90% instead of 37%"), "{text}");
}

#[test]
fn what_a_state_lacks_most_is_told_beside_what_it_has() {
    // State 2 never has `a`; it has the others a little more often.
    let mut leaves = vec![("a", Kind::binary(), discrete(&[&[0.1, 0.9], &[0.2, 0.8], &[1.0, 0.0]]))];
    leaves.extend(["b", "c", "d"].map(|name| (name, Kind::binary(), discrete(&[&[0.8, 0.2], &[0.7, 0.3], &[0.3, 0.7]]))));
    let model = star(&[0.4, 0.3, 0.3], leaves);
    let described = Groups::of(&model).all()[0].states[2].description.clone();
    let (lacks, has) = (described.find("a 0% instead of 86%"), described.find("b 70% instead of 24%"));
    assert!(lacks.is_some() && has < lacks && has.is_some(), "{described}");
}

/// `h1` with three leaves, and below it `h2` with one leaf of its own, which says nearly as much about one of the others.
#[test]
fn the_label_of_a_group_names_only_variables_of_the_group() {
    let mut tree = Tree::new();
    let (h1, h2) = (tree.add_hidden("h1").unwrap(), tree.add_hidden("h2").unwrap());
    tree.connect(h1, h2, None).unwrap();
    let names = ["a", "b", "c", "d"];
    let schema = names.iter().fold(Schema::builder(), |schema, name| schema.scalar(*name, Kind::binary())).build().unwrap();
    let leaves = names.map(|name| tree.add_observed(name).unwrap());
    for (ix, &leaf) in leaves.iter().enumerate() {
        tree.connect(if ix < 3 { h1 } else { h2 }, leaf, None).unwrap();
    }
    let rising: [&[f64]; 2] = [&[0.9, 0.1], &[0.1, 0.9]];
    let mut builder = LatentTree::builder(Arc::new(schema), tree)
        .root(h1)
        .hidden(h1, Domain::numbered(2))
        .hidden(h2, Domain::numbered(2))
        .distribution(h1, discrete(&[&[0.5, 0.5]]))
        .distribution(h2, discrete(&[&[0.8, 0.2], &[0.2, 0.8]]));
    for leaf in leaves {
        builder = builder.distribution(leaf, discrete(&rising));
    }
    let model = builder.build().unwrap();
    let groups = Groups::of(&model);
    let group = groups.all().iter().find(|group| group.name == "h2").unwrap();
    assert_eq!(group.variables.iter().map(|it| model.tree().name(it.0)).collect::<Vec<_>>(), ["d"]);
    // A label is never the name of a variable.
    assert_eq!(group.label, "d (h2)");
    assert!(groups.to_text(&model, None).contains("d (h2): 1 variable"));
    assert_eq!(find_node(&model, "d (h2)").unwrap(), h2);
}
