//! Groups of variables, labels, and warnings about badly explained pairs.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::harness::Folder;

fn names(list: &Value) -> Vec<String> {
    list.as_array().unwrap().iter().map(|it| it.as_str().unwrap().to_owned()).collect()
}

#[test]
fn groups_are_told_by_learn_and_describe_and_hold_each_variable_once() {
    let folder = Folder::with_clinic();
    let learned = folder.json("learn clinic.csv -o m.json");
    let described = folder.json("describe m.json");
    assert_eq!(learned["groups"], described["groups"]);
    let groups = learned["groups"].as_array().unwrap();
    let broad: Vec<&Value> = groups.iter().filter(|group| group["level"] == 1).collect();
    let variables: Vec<String> = broad.iter().flat_map(|group| names(&group["variables"])).collect();
    assert_eq!(variables.len(), variables.iter().collect::<BTreeSet<_>>().len());
    assert_eq!(variables.len() as u64, learned["observed"].as_u64().unwrap());
    let known: BTreeSet<&str> = groups.iter().map(|group| group["name"].as_str().unwrap()).collect();
    for group in groups {
        assert!(group["parent"].as_str().is_none_or(|parent| known.contains(parent)));
        assert_eq!(names(&group["variables"]).len(), group["information"].as_array().unwrap().len());
        let shares: f64 = group["states"].as_array().unwrap().iter().map(|state| state["share"].as_f64().unwrap()).sum();
        assert!((shares - 1.0).abs() < 1e-9);
        let description = group["states"][1]["description"].as_str().unwrap();
        assert!(
            description.starts_with("state 1, ") && description.contains("% of rows: ") && description.contains(" instead of ")
        );
    }
    let (of_learn, of_describe) = (folder.succeed("learn clinic.csv -o m.json"), folder.succeed("describe m.json"));
    for group in broad {
        let label = group["label"].as_str().unwrap();
        assert!(of_learn.contains(label) && of_describe.contains(label), "{label}");
    }
}

#[test]
fn labels_are_taken_where_names_are() {
    let folder = Folder::with_clinic();
    let learned = folder.json("learn clinic.csv -o m.json");
    let group = &learned["groups"][0];
    let (name, label) = (group["name"].as_str().unwrap(), group["label"].as_str().unwrap());
    let asked = |of: &str, given: &str| {
        folder.run_with(&["query", "m.json", "--json", "--of", of, "--given", given], b"").success("query")
    };
    let plain = label.to_uppercase().replace(" · ", "+");
    for called in [label, &plain] {
        assert_eq!(asked(called, "copd=1"), asked(name, "copd=1"));
        assert_eq!(asked("copd", &format!("{called}=1")), asked("copd", &format!("{name}=1")));
    }
    assert!(folder.run_with(&["describe", "m.json", "--of", label], b"").success("describe").starts_with(label));
    let described = folder.succeed("describe m.json --of copd");
    assert!(described.starts_with("copd is in the group "), "{described}");
    let failed = folder.run_with(&["query", "m.json", "--of", "no such · label"], b"");
    assert_eq!(failed.code, Some(2));
    assert!(failed.stderr.contains("no such"), "{}", failed.stderr);
    assert_eq!(folder.run("describe clinic.csv --of h1").code, Some(2));
}

#[test]
fn labels_that_begin_with_an_assignment_are_labels() {
    let folder = Folder::new();
    let family = "--family categorical --states 3 --hidden-states 3 --separation 0.8";
    folder.succeed(&format!("simulate --shape double-star --observed 8 {family} --rows 2000 --model t.json --data d.csv"));
    let learned = folder.json("learn d.csv -o m.json");
    let groups = learned["groups"].as_array().unwrap();
    let labelled =
        groups.iter().find(|group| group["label"].as_str().unwrap().contains('=')).expect("a label that names a state");
    let (name, label) = (labelled["name"].as_str().unwrap(), labelled["label"].as_str().unwrap());
    let asked =
        |given: &str| folder.run_with(&["query", "m.json", "--json", "--of", "x1", "--given", given], b"").success("query");
    assert_eq!(asked(&format!("x2=1,{label}=1")), asked(&format!("x2=1,{name}=1")));
}

/// Two independent causes, of five columns and of three: one hidden variable of two states is the first, and holds the columns of the second independent.
fn two_causes() -> String {
    let mut text = "a1,a2,a3,a4,a5,b1,b2,b3\n".to_owned();
    let mut state = 12345_u64;
    let mut draw = |p: f64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) as f64 / (1_u64 << 31) as f64) < p
    };
    for _ in 0..3000 {
        let causes = [draw(0.4), draw(0.4)];
        let cells = (0..8).map(|ix| if draw(if causes[ix / 5] { 0.85 } else { 0.1 }) { "1" } else { "0" });
        text.push_str(&(cells.collect::<Vec<_>>().join(",") + "\n"));
    }
    text
}

#[test]
fn an_answer_that_depends_on_a_badly_explained_pair_says_so() {
    let folder = Folder::new();
    folder.write("d.csv", two_causes().as_bytes());
    folder.write("t.nwk", b"(a1,a2,a3,a4,a5,b1,b2,b3)h1;");
    folder.succeed("learn d.csv --tree t.nwk --parameters em -o m.json");
    let query = |given: &str, of: &str| folder.json(&format!("query m.json --given {given} --of {of}"));
    let warned = query("b1=1", "b2");
    let warning = warned["warnings"][0].as_str().unwrap();
    assert!(warning.contains("b1 and b2") && warning.contains("explains badly"), "{warning}");
    assert_eq!(query("a2=1", "a3")["warnings"], serde_json::json!([]));
    let told = folder.run("query m.json --given b1=1 --of b2");
    assert!(told.stderr.contains("b1 and b2"), "{}", told.stderr);
    assert!(folder.json("infer m.json d.csv -o o.csv")["warnings"][0].as_str().unwrap().contains("explains badly"));
    let described = folder.json("describe m.json d.csv");
    let poor = described["poor_pairs"].as_array().unwrap();
    let pairs: BTreeSet<[&str; 2]> = poor.iter().map(|it| ["first", "second"].map(|end| it[end].as_str().unwrap())).collect();
    assert_eq!(pairs, BTreeSet::from([["b1", "b2"], ["b1", "b3"], ["b2", "b3"]]));
    for it in poor {
        // P(both) = 0.4 · 0.85² + 0.6 · 0.1², and independent P(one)² = (0.4 · 0.85 + 0.6 · 0.1)².
        assert!(
            (it["observed"].as_f64().unwrap() - 0.295).abs() < 0.04 && (it["expected"].as_f64().unwrap() - 0.16).abs() < 0.04
        );
        assert!(it["z"].as_f64().unwrap() > 5.0);
    }
    assert!(folder.succeed("describe m.json d.csv").contains("b1 and b2"));
    // Models of earlier versions have no list of pairs.
    folder.succeed("simulate --shape double-star --observed 8 --rows 10 --model s.json --data s.csv");
    assert_eq!(folder.json("describe s.json")["poor_pairs"], serde_json::json!([]));
}
