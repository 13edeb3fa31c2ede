//! `moments --for TREE`, `merge` and `learn` on what comes of them.

use serde_json::Value;

use crate::harness::Folder;

/// The log-likelihood of a model of the clinic's rows.
fn score(folder: &Folder, model: &str) -> f64 {
    folder.json(&format!("score {model} clinic.csv"))["log_likelihood"].as_f64().expect("a number")
}

#[test]
fn a_moments_file_for_a_tree_gives_the_model_that_the_rows_give() {
    let folder = Folder::with_clinic();
    folder.succeed("learn clinic.csv --structure clnj --parameters none -o tree.nwk");
    folder.succeed("learn clinic.csv --tree tree.nwk --parameters moments --hidden-states 2 -o rows.json");
    folder.succeed("moments clinic.csv --for tree.nwk -o c.moments.gz");
    for options in ["", "--tree tree.nwk", "--parameters moments --hidden-states 2"] {
        let json = folder.json(&format!("learn c.moments.gz {options} -o m.json"));
        assert_eq!(json["structure"], "given");
        let [rows, moments] = ["rows.json", "m.json"].map(|model| score(&folder, model));
        assert!((rows - moments).abs() < 1e-9 * rows.abs(), "{options}: {rows} {moments}");
    }
    // Other verbs see the pairs, and a learner that is named another tree.
    folder.succeed("distances c.moments.gz -o d.csv");
    assert_eq!(folder.json("learn c.moments.gz --structure nj -o nj.json")["structure"], "nj");
    for (arguments, words) in [
        ("learn c.moments.gz --parameters em -o n.json", "needs rows"),
        ("learn c.moments.gz --hidden-states 3 -o n.json", "2 states"),
        ("moments clinic.csv --for c.moments.gz --hidden-states 3 -o n.moments", "leave it out"),
        ("moments clinic.csv --for d.csv -o n.moments", "d.csv"),
    ] {
        let outcome = folder.run(arguments);
        assert!(outcome.code != Some(0) && outcome.stderr.contains(words), "{arguments}: {}", outcome.stderr);
    }
}

#[test]
fn parts_that_are_collected_by_one_plan_merge() {
    let folder = Folder::with_clinic();
    let text = folder.text("clinic.csv");
    let lines: Vec<&str> = text.lines().collect();
    let part = |rows: &[&str]| format!("{}\n{}\n", lines[0], rows.join("\n"));
    folder.write("north.csv", part(&lines[1..2001]).as_bytes());
    folder.write("south.csv", part(&lines[2001..]).as_bytes());
    folder.succeed("learn clinic.csv --structure clnj -o tree.json");
    // The plan of more rows is the better one.
    folder.succeed("moments south.csv --for tree.json -o south.moments");
    folder.succeed("moments north.csv --for south.moments -o north.moments");
    folder.succeed("merge south.moments north.moments -o both.moments");
    let json: Value = folder.json("learn both.moments -o both.json");
    assert_eq!(json["rows"], lines.len() - 1);
    folder.succeed("learn clinic.csv --tree tree.json --parameters moments -o rows.json");
    let [rows, moments] = ["rows.json", "both.json"].map(|model| score(&folder, model));
    assert!((rows - moments).abs() < 0.002 * rows.abs(), "{rows} {moments}");
    // Two plans do not merge, nor does a plan with none.
    folder.succeed("moments north.csv --for tree.json -o own.moments");
    folder.succeed("moments north.csv -o pairs.moments");
    for (other, words) in [("own", "plan"), ("pairs", "only one")] {
        let outcome = folder.run(&format!("merge south.moments {other}.moments -o n.moments"));
        assert!(outcome.code != Some(0) && outcome.stderr.contains(words), "{}", outcome.stderr);
    }
}
