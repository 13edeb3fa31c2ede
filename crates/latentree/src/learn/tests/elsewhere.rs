//! Moments collected for a tree give the same tables as the rows.

use super::*;
use crate::learn::MomentsFile;
use crate::model::LatentTree;
use crate::moments::{Accumulator as _, PairMoments, fold};

fn numbers(model: &LatentTree) -> Vec<f64> {
    fn collect(value: &serde_json::Value, into: &mut Vec<f64>) {
        match value {
            serde_json::Value::Number(number) => into.extend(number.as_f64()),
            serde_json::Value::Array(items) => items.iter().for_each(|item| collect(item, into)),
            serde_json::Value::Object(fields) => {
                fields.iter().filter(|it| it.0 != "provenance").for_each(|it| collect(it.1, into))
            }
            _ => {}
        }
    }
    let mut into = Vec::new();
    collect(&serde_json::from_str(&model.to_json_string()).unwrap(), &mut into);
    into
}

fn assert_near(a: &LatentTree, b: &LatentTree, tolerance: f64) {
    let [a, b] = [a, b].map(numbers);
    assert_eq!(a.len(), b.len());
    for (x, y) in a.iter().zip(&b) {
        assert!((x - y).abs() <= tolerance * x.abs().max(1.0), "{x} {y}");
    }
}

/// Labels, numbers, counts and groups.
fn mixed(n_rows: u64, seed: u64) -> (LatentTree, Dataset) {
    let family = ParameterFamily::Mixed { states: 4, hidden_states: 2, separation: 0.7, groups: true };
    let model = Simulation::new(Shape::Complete { degree: 3 }, 12).family(family).seed(4).model().unwrap();
    let data = Inference::new(&model).sample(n_rows, seed).unwrap();
    (model, data)
}

fn collected(learning: &Learning, data: &Dataset) -> MomentsFile {
    let tree = learning.tree_moments(data, &Silent).unwrap();
    let pairs = fold(&mut data.source(), PairMoments::new(data.schema().clone()).unwrap(), &Silent).unwrap();
    MomentsFile { pairs, tree: Some(tree) }
}

#[test]
fn a_file_of_moments_for_a_tree_gives_its_tables() {
    let family = |states: usize| ParameterFamily::Categorical { states, hidden_states: 3, separation: 0.6 };
    let tables = [(5, 12), (64, 12)].map(|(states, n)| {
        let model = Simulation::new(Shape::Complete { degree: 3 }, n).family(family(states)).seed(4).model().unwrap();
        let data = Inference::new(&model).sample(4000, 1).unwrap();
        (model, data)
    });
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.moments.gz");
    for (model, data) in tables.into_iter().chain([mixed(4000, 1)]) {
        let learning = Learning::new().tree(Some(model.tree().clone())).hidden_states(Some(3));
        collected(&learning, &data).save(&path).unwrap();
        let file = MomentsFile::load(&path).unwrap();
        let expected = learn(&learning.clone().parameters(ParameterMethod::Moments), &data);
        for learning in [Learning::new(), learning.clone(), learning.parameters(ParameterMethod::Moments)] {
            let found = learning.run(file.source(), &Silent).unwrap();
            assert_near(found.model().unwrap(), expected.model().unwrap(), 1e-9);
        }
    }
}

#[test]
fn moments_of_two_parts_by_one_plan_are_those_of_both() {
    for numbers in [false, true] {
        let (model, both) = if numbers {
            mixed(6000, 1)
        } else {
            let family = ParameterFamily::Categorical { states: 4, hidden_states: 2, separation: 0.6 };
            let model = Simulation::new(Shape::Complete { degree: 3 }, 12).family(family).seed(4).model().unwrap();
            let data = Inference::new(&model).sample(6000, 1).unwrap();
            (model, data)
        };
        let parts = [0, 1].map(|part| {
            let mut source = both.source();
            let mut rows = crate::data::SelectedRows::new(&mut source, move |row| row / 1000 % 2 == part);
            Dataset::read(&mut rows).unwrap()
        });
        let learning = Learning::new().tree(Some(model.tree().clone())).hidden_states(Some(2));
        let mut first = collected(&learning, &parts[0]);
        let plan = first.tree.clone().unwrap();
        let fill = |data: &Dataset| fold(&mut data.source(), plan.empty(), &Silent).unwrap();
        let pairs = fold(&mut parts[1].source(), PairMoments::new(both.schema().clone()).unwrap(), &Silent).unwrap();
        first.merge(MomentsFile { pairs, tree: Some(fill(&parts[1])) }).unwrap();
        let found = Learning::new().run(first.source(), &Silent).unwrap();
        assert_eq!(found.rows, Some(6000));
        // The same plan over all rows at once.
        let whole = fill(&both).model().unwrap().model.with_ordered_states().unwrap();
        assert_near(found.model().unwrap(), &whole, 1e-9);
        // As good as the result of the plan for all rows.
        let direct = learn(&learning.parameters(ParameterMethod::Moments), &both);
        let score = |model: &LatentTree| {
            Inference::new(model).score(&mut both.source(), &Silent, |_, _| Ok(())).unwrap().mean_log_likelihood()
        };
        let [a, b] = [found.model().unwrap(), direct.model().unwrap()].map(score);
        assert!((a - b).abs() < 0.01 * b.abs(), "{a} {b}");
    }
}

#[test]
fn what_moments_were_not_collected_for_is_refused() {
    let (model, data) = mixed(500, 1);
    let learning = Learning::new().tree(Some(model.tree().clone()));
    let file = collected(&learning, &data);
    let fails = |learning: Learning| learning.run(file.source(), &Silent).unwrap_err().to_string();
    assert!(fails(Learning::new().hidden_states(Some(4))).contains("2 states"));
    assert!(fails(Learning::new().parameters(ParameterMethod::MomentsAndEm)).contains("rows"));
    let star = Simulation::new(Shape::Star, 12).model().unwrap();
    assert!(fails(Learning::new().tree(Some(star.tree().clone()))).contains("another tree"));
    let mut other = collected(&learning, &mixed(500, 2).1);
    assert!(other.merge(file.clone()).unwrap_err().to_string().contains("plan"));
    let pairs_alone = MomentsFile { tree: None, ..file.clone() };
    assert!(other.merge(pairs_alone).unwrap_err().to_string().contains("only one"));
    // A named learner learns from the pairs.
    let learned = Learning::new().structure(LearnerName::NeighborJoining).parameters(ParameterMethod::None);
    assert!(learned.run(file.source(), &Silent).unwrap().model().is_none());
    // Truncated bytes are an error at every length.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.moments");
    file.save(&path).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let n_pairs = file.pairs.to_bytes().unwrap().len();
    for length in (1..bytes.len()).step_by(bytes.len() / 60 + 1).filter(|&length| length != n_pairs) {
        std::fs::write(&path, &bytes[..length]).unwrap();
        assert!(MomentsFile::load(&path).is_err(), "{length} of {}", bytes.len());
    }
}
