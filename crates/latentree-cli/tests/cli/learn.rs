//! `learn`: the tree, the model, what is said about them, and odd data that are accepted by rule.

use serde_json::{Value, json};

use crate::harness::Folder;

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is a number"))
}

/// A folder with a Gaussian model and data from it.
fn gaussian(shape: &str, rows: u64) -> Folder {
    let folder = Folder::new();
    folder.succeed(&format!("simulate --shape {shape} --observed 12 --family gaussian --correlation 0.6,0.85 --model truth.json --data d.csv --rows {rows}"));
    folder
}

#[test]
fn a_gaussian_tree_is_found_and_its_model_scores_as_learn_says() {
    let folder = gaussian("double-star", 4000);
    let json = folder.json("learn d.csv -o m.json");
    for key in ["stages", "rows", "observed", "hidden", "free_parameters", "log_likelihood", "bic", "converged", "warnings"] {
        assert!(!json[key].is_null(), "{key}: {json}");
    }
    assert_eq!((&json["rows"], &json["observed"], &json["hidden"]), (&json!(4000), &json!(12), &json!(2)));
    assert_eq!((&json["structure"], &json["converged"], &json["warnings"]), (&json!("likelihood"), &json!(true), &json!([])));
    assert!(
        json["stages"].as_array().is_some_and(|stages| stages.iter().all(|it| it["name"].is_string() && it["seconds"].is_f64()))
    );
    let compared = folder.json("compare truth.json m.json");
    assert_eq!(compared["same_structure"], true);
    let score = folder.json("score m.json d.csv");
    for key in ["log_likelihood", "bic", "free_parameters"] {
        assert!((number(&score[key]) - number(&json[key])).abs() < 1e-8 * number(&score[key]).abs(), "{key}");
    }
    // Nearly as likely as the truth on the data from it.
    let truth = folder.json("score truth.json d.csv");
    assert!(number(&json["log_likelihood"]) > number(&truth["log_likelihood"]) - 30.0, "{json} {truth}");
    let human = folder.succeed("learn d.csv -o m.json");
    assert!(human.contains("hidden variables     2") && human.contains("(h1)") && human.contains("├─ x"), "{human}");
    // Every learner writes a model that scores.
    for learner in ["nj", "snj", "rg", "clrg", "clnj", "clblind", "plrg", "chow-liu"] {
        let json = folder.json(&format!("learn d.csv --structure {learner} -o m.json"));
        assert_eq!(json["structure"], learner);
        let score = folder.json("score m.json d.csv");
        assert!(
            (number(&score["log_likelihood"]) - number(&json["log_likelihood"])).abs()
                < 1e-6 * number(&json["log_likelihood"]).abs()
        );
    }
}

#[test]
fn numbers_alone_give_a_gaussian_tree_by_every_method_unless_states_are_asked_for() {
    let folder = gaussian("double-star", 2000);
    let learn = |options: &str| folder.json(&format!("learn d.csv --structure clnj -o m.json {options}"));
    let by_lengths = learn("--parameters distances");
    let kind = || folder.text("m.json").matches("\"categorical\"").count();
    for (options, same) in [("--parameters moments", true), ("--parameters moments+em", false), ("--parameters em", false)] {
        let json = learn(options);
        assert_eq!((kind(), &json["free_parameters"]), (0, &by_lengths["free_parameters"]), "{options}: {json}");
        let gain = number(&json["log_likelihood"]) - number(&by_lengths["log_likelihood"]);
        assert!(if same { gain == 0.0 } else { gain > 0.0 && json["em_iterations"].is_u64() }, "{options}: {gain}");
    }
    let random = learn("--parameters em --start random --restarts 2");
    assert!(number(&random["log_likelihood"]) > number(&by_lengths["log_likelihood"]) - 100.0, "{random}");
    assert_eq!(folder.run("learn d.csv --parameters em --start lcm -o m.json").code, Some(2));
    for options in ["--parameters em --hidden-states 3 --em-iterations 20", "--hidden-states 3", "--hidden-states 2"] {
        let json = learn(options);
        assert_ne!(kind(), 0, "{options}");
        let score = folder.json("score m.json d.csv");
        assert!(
            (number(&score["log_likelihood"]) - number(&json["log_likelihood"])).abs()
                < 1e-8 * number(&json["log_likelihood"]).abs(),
            "{options}"
        );
    }
    // Three states are seen through bins, two through correlations.
    for (states, distance) in [(2, "gaussian"), (3, "canonical")] {
        let json = folder.json(&format!("distances d.csv --hidden-states {states} -o d.phy"));
        assert_eq!(json["distance"], distance);
    }
    assert_eq!(folder.run("learn d.csv --hidden-states 3 --parameters distances -o m.json").code, Some(2));
}

#[test]
fn moments_and_distances_give_the_tree_too() {
    let folder = gaussian("double-star", 4000);
    folder.succeed("moments d.csv -o d.moments");
    let json = folder.json("learn d.moments -o m.json");
    assert_eq!(folder.json("compare truth.json m.json")["same_structure"], true);
    assert_eq!(json["structure"], "likelihood");
    let score = folder.json("score m.json d.csv");
    assert!(
        (number(&score["log_likelihood"]) - number(&json["log_likelihood"])).abs() < 1e-8 * number(&json["log_likelihood"]).abs()
    );
    let supported = folder.json("learn d.moments --bootstrap 20 -o m.json");
    assert_eq!(supported["bootstrap"], 20);
    assert!(folder.text("m.json").contains("\"support\""));
    for name in ["d.phy", "d.dist.csv"] {
        folder.succeed(&format!("distances d.csv -o {name} --significance 0"));
        let json = folder.json(&format!("learn --distances {name} --contract 0.9 -o t.nwk"));
        assert_eq!((&json["structure"], &json["rows"], &json["log_likelihood"]), (&json!("nj"), &Value::Null, &Value::Null));
        assert_eq!(folder.json("compare truth.json t.nwk")["same_structure"], true);
    }
}

#[test]
fn support_is_in_the_file_and_in_every_export() {
    let folder = gaussian("caterpillar", 2000);
    let json = folder.json("learn d.csv --structure clnj --bootstrap 25 -o m.json");
    assert_eq!(json["bootstrap"], 25);
    let file: Value = serde_json::from_str(&folder.text("m.json")).expect("JSON");
    let edges = file["edges"].as_array().expect("edges");
    // Shares of 25 replicates; an edge that splits off one variable is in all of them, and a clear tree in most.
    let supports: Vec<f64> = edges.iter().map(|edge| 25.0 * number(&edge["bootstrap"])).collect();
    assert!(supports.iter().all(|support| (support - support.round()).abs() < 1e-9 && (0.0..=25.0).contains(support)));
    assert!(supports.iter().filter(|support| **support > 20.0).count() * 3 > 2 * supports.len(), "{supports:?}");
    // The tree is the same without the bootstrap.
    folder.succeed("learn d.csv --structure clnj -o plain.json");
    assert_eq!(folder.json("compare plain.json m.json")["robinson_foulds"], 0);
    assert!(folder.succeed("export m.json --format newick").contains("[&bootstrap="));
    assert!(folder.succeed("export m.json --format graphml").contains("<data key=\"bootstrap\">"));
    assert!(folder.succeed("export m.json --format dot").contains("%)"));
    assert!(folder.succeed("export m.json --format text").contains('%'));
    let bytes = |options: &str| {
        folder.succeed(&format!("learn d.csv --bootstrap 8 -o b.json {options}"));
        folder.read("b.json")
    };
    let first = bytes("--threads 1");
    assert!(first == bytes("--threads 5") && first != bytes("--seed 3"));
}

#[test]
fn splits_are_tested_and_taken_out_below_a_support() {
    let folder = gaussian("double-star", 4000);
    let json = folder.json("learn d.csv --collapse 0 -o m.json");
    assert_eq!(json["splits"]["removed"], 0);
    let edges = json["edge_information"].as_array().expect("edges");
    let supports: Vec<f64> =
        edges.iter().filter(|edge| !edge["support"].is_null()).map(|edge| number(&edge["support"])).collect();
    assert_eq!(json["splits"]["splits"], supports.len());
    assert!(supports.iter().any(|support| *support > 0.95) && supports.iter().all(|support| (0.0..=1.0).contains(support)));
    assert!(folder.succeed("learn d.csv -o m.json").contains("strong (>= 95%)"));
    assert!(folder.succeed("describe m.json").contains("strong (>= 95%)"));
    assert!(folder.succeed("export m.json --format newick").contains("[&support="));
    // No split is certain beyond 1.
    let json = folder.json("learn d.csv --collapse 1 -o star.json");
    assert!(number(&json["splits"]["removed"]) + number(&json["splits"]["splits"]) >= supports.len() as f64);
}

#[test]
fn symmetric_distances_give_a_symmetric_model() {
    let folder = Folder::new();
    for states in [2, 3] {
        folder.succeed(&format!(
            "simulate --shape double-star --observed 10 --family symmetric --states {states} --correlation 0.5,0.8 --model truth.json --data d.csv --rows 6000"
        ));
        let json = folder.json("learn d.csv --structure nj --distance symmetric -o m.json");
        assert_eq!(json["distance"], "symmetric");
        let score = folder.json("score m.json d.csv");
        assert_eq!(score["log_likelihood"], json["log_likelihood"]);
        let truth = folder.json("score truth.json d.csv");
        assert!(number(&json["log_likelihood"]) > number(&truth["log_likelihood"]) - 100.0, "{json} {truth}");
    }
}

#[test]
fn diagnoses_give_a_model_that_explains_them_as_well_as_the_truth() {
    let folder = Folder::with_clinic();
    let stages = |json: &serde_json::Value, needed: &[&str]| {
        let names: Vec<&str> = json["stages"].as_array().unwrap().iter().filter_map(|stage| stage["name"].as_str()).collect();
        assert!(needed.iter().all(|name| names.contains(name)), "{names:?}");
    };
    let quick = folder.json("learn clinic.csv --effort quick -o q.json");
    assert_eq!((&quick["structure"], &quick["converged"]), (&json!("likelihood"), &json!(true)));
    stages(&quick, &["moments", "distances", "triples", "em"]);
    let json = folder.json("learn clinic.csv -o m.json");
    assert_eq!((&json["structure"], &json["converged"]), (&json!("search"), &json!(true)));
    stages(&json, &["moments", "search", "support"]);
    assert!(number(&json["bic"]) >= number(&quick["bic"]) - 1e-3, "{json} {quick}");
    let compared = folder.json("compare clinic.truth.json m.json");
    assert!(number(&compared["robinson_foulds_normalized"]) < 0.1 && compared["structure_error"] == 0.0, "{compared}");
    // The truth has 123 parameters: half as many units is what fitting them gains over it, on average.
    let (ours, truth) = (folder.json("score m.json clinic.csv"), folder.json("score clinic.truth.json clinic.csv"));
    assert!(number(&ours["log_likelihood"]) > number(&truth["log_likelihood"]) - 62.0, "{ours} {truth}");
    assert!((number(&ours["log_likelihood"]) - number(&json["log_likelihood"])).abs() < 1e-6 * 61_000.0);
    // The same bytes whatever the number of threads.
    folder.succeed("learn clinic.csv -o one.json --threads 1");
    assert_eq!(folder.text("one.json"), folder.text("m.json"));
}

#[test]
fn parameters_are_learned_as_asked_for() {
    let folder = Folder::with_clinic();
    let by_moments = folder.json("learn clinic.csv --structure clnj --parameters moments -o m.json");
    let by_both = folder.json("learn clinic.csv --structure clnj --parameters moments+em -o b.json");
    let by_em = folder.json("learn clinic.csv --structure clnj --parameters em --start random --restarts 2 -o e.json");
    assert!(number(&by_both["log_likelihood"]) >= number(&by_moments["log_likelihood"]));
    assert!(number(&by_em["log_likelihood"]) > number(&by_moments["log_likelihood"]) - 2000.0);
    for decomposition in ["tpm", "svd", "svtd", "als"] {
        folder.succeed(&format!(
            "learn clinic.csv --structure clnj --parameters moments --decomposition {decomposition} -o d.json"
        ));
    }
    // A tree that is kept, also from a file of a tree alone.
    folder.succeed("export b.json --format newick -o t.nwk");
    let kept = folder.json("learn clinic.csv --tree t.nwk -o k.json");
    assert_eq!(kept["structure"], "given");
    assert_eq!(folder.json("compare b.json k.json")["same_structure"], true);
    let three = folder.json("learn clinic.csv --tree t.nwk --hidden-states 3 -o three.json");
    assert!(number(&three["free_parameters"]) > number(&kept["free_parameters"]));
    // One hidden node with more states than the others, and the same run from its model.
    let one = folder.json("learn clinic.csv --tree t.nwk --parameters em --restarts 1 --states h1=3 -o one.json");
    let model: Value = serde_json::from_slice(&folder.read("one.json")).unwrap();
    let states = |node: &Value| node["states"].as_array().map(Vec::len);
    let hidden = model["nodes"].as_array().unwrap().iter().filter(|node| node["observed"] == false);
    assert!(hidden.clone().count() > 1);
    hidden.for_each(|node| assert_eq!(states(node), Some(if node["name"] == "h1" { 3 } else { 2 }), "{node}"));
    let again = folder.json("learn clinic.csv --from one.json --tree t.nwk -o again.json");
    assert_eq!(again["log_likelihood"], one["log_likelihood"]);
    // The tree alone.
    let json = folder.json("learn clinic.csv --structure clnj --parameters none -o m.json");
    assert!(json["log_likelihood"].is_null() && json["free_parameters"].is_null());
    assert_eq!(folder.run("score m.json clinic.csv").code, Some(2));
    folder.succeed("learn clinic.csv --structure clnj -o t.nwk");
    assert_eq!(folder.json("compare m.json t.nwk")["robinson_foulds"], 0);
    folder.succeed("moments clinic.csv -o c.moments");
    let json = folder.json("learn c.moments -o m.json");
    let says = |it: &Value| it.as_str().is_some_and(|it| it.contains("the tree alone"));
    assert!(json["warnings"].as_array().is_some_and(|all| all.iter().any(says)), "{json}");
}

#[test]
fn odd_data_give_sound_trees_by_rule() {
    let folder = Folder::new();
    let wave = |ix: usize, factor: f64| (ix as f64 * factor).sin();
    let table = |columns: &[&dyn Fn(usize) -> String], rows: usize| {
        let names: Vec<String> = (0..columns.len()).map(|ix| format!("c{ix}")).collect();
        let lines = (0..rows).map(|row| columns.iter().map(|cell| cell(row)).collect::<Vec<_>>().join(","));
        format!("{}\n{}\n", names.join(","), lines.collect::<Vec<_>>().join("\n"))
    };
    let base = |ix: usize| wave(ix, 1.37);
    let a = |ix: usize| format!("{:.6}", base(ix) + 0.5 * wave(ix, 3.1));
    let b = |ix: usize| format!("{:.6}", base(ix) + 0.5 * wave(ix, 4.7));
    let c = |ix: usize| format!("{:.6}", base(ix) + 0.5 * wave(ix, 6.1));
    let constant = |_: usize| "2.5".to_owned();
    let independent = |ix: usize| format!("{:.6}", wave(ix * ix, 0.7312));
    let missing = |_: usize| String::new();
    for (what, columns, rows, observed, trees) in [
        ("one column", vec![&a as &dyn Fn(usize) -> String], 100, 1, 1),
        ("two columns", vec![&a, &b], 100, 2, 1),
        ("three columns", vec![&a, &b, &c], 100, 3, 1),
        ("identical columns", vec![&a, &b, &b, &c], 100, 4, 1),
        ("two identical columns alone", vec![&a, &a], 100, 2, 1),
        ("a constant column", vec![&a, &b, &constant, &c], 100, 4, 2),
        ("an independent column", vec![&a, &b, &independent, &c], 100, 4, 2),
        ("a column never there", vec![&a, &b, &missing, &c], 100, 3, 1),
    ] {
        folder.write("d.csv", table(&columns, rows).as_bytes());
        for learner in ["auto", "nj", "snj", "rg", "clrg", "clnj", "clblind", "plrg", "chow-liu"] {
            let json = folder.json(&format!("learn d.csv --kind *=continuous --structure {learner} -o m.json"));
            assert_eq!((&json["observed"], &json["trees"]), (&json!(observed), &json!(trees)), "{what}, {learner}: {json}");
            assert!(!folder.text("m.json").contains("null") && !folder.text("m.json").contains("NaN"), "{what}, {learner}");
            assert!(json["log_likelihood"].is_f64(), "{what}, {learner}: {json}");
            folder.succeed("score m.json d.csv");
        }
    }
    // More columns than rows, and a single row.
    for rows in [1, 2, 3] {
        folder.write("d.csv", table(&[&a, &b, &c, &independent], rows).as_bytes());
        assert_eq!(folder.json("learn d.csv --kind *=continuous -o m.json")["observed"], 4);
    }
    // Pairs without a distance make a forest, and distances of 0 no trouble.
    folder.write("d.csv", b",a,b,c,d,e\na,0,0,1,NA,NA\nb,0,0,1,NA,NA\nc,1,1,0,NA,NA\nd,NA,NA,NA,0,2\ne,NA,NA,NA,2,0\n");
    let json = folder.json("learn --distances d.csv -o m.json");
    assert_eq!((&json["observed"], &json["trees"]), (&json!(5), &json!(2)));
    assert!(json["warnings"].to_string().contains("2 separate trees"), "{json}");
    folder.write("d.csv", b",a\na,0\n");
    assert_eq!(folder.json("learn --distances d.csv -o m.json")["observed"], 1);
}
