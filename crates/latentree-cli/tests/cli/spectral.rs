//! Spectral models from one end to the other.

use serde_json::Value;

use crate::harness::Folder;

fn with_sequences() -> Folder {
    let folder = Folder::new();
    folder.succeed("simulate --shape hmm --observed 8 --family categorical --states 4 --hidden-states 2 --rows 4000 --model truth.json --data rows.csv --seed 3");
    folder
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is a number"))
}

#[test]
fn spectral_models_score_query_and_fill_as_well_as_the_truth() {
    let folder = with_sequences();
    let by_truth = number(&folder.json("score truth.json rows.csv")["mean_log_likelihood"]);
    for method in ["spectral", "spectral --linkers single", "hierarchical"] {
        let learned =
            folder.json(&format!("learn rows.csv --structure chain --parameters {method} --hidden-states 2 -o model.json"));
        assert_eq!(learned["clipped_rows"], 0, "{method}");
        assert!(learned["free_parameters"].is_null() && learned["bic"].is_null());
        let score = folder.json("score model.json rows.csv --per-row values.csv");
        assert!((number(&score["mean_log_likelihood"]) - by_truth).abs() < 0.05, "{method}: {score} {by_truth}");
        assert!(score["bic"].is_null() && score["free_parameters"].is_null() && score["clipped_rows"] == 0);
        assert_eq!(folder.text("values.csv").lines().count(), 4001);
        let own = folder.json("query model.json --given x1=0,x2=1 --of x3");
        let exact = folder.json("query truth.json --given x1=0,x2=1 --of x3");
        for label in ["0", "1", "2", "3"] {
            let (own, exact) = (&own["marginals"]["x3"][label], &exact["marginals"]["x3"][label]);
            assert!((number(own) - number(exact)).abs() < 0.08, "{method} {label}: {own} {exact}");
        }
        let joint = folder.json("query model.json --given x1=0 --of x3,x8 --joint");
        let sum: f64 = joint["joint"].as_array().unwrap().iter().map(|it| number(&it["probability"])).sum();
        assert!((sum - 1.0).abs() < 1e-9);
        folder.write("holes.csv", b"x1,x2,x3,x4,x5,x6,x7,x8\n0,,1,2,,3,0,1\n,,,,,,,\n");
        let filled = folder.json("infer model.json holes.csv --impute -o filled.csv");
        assert_eq!(filled["rows"], 2);
        assert!(!folder.text("filled.csv").contains(",,"), "{}", folder.text("filled.csv"));
        let described = folder.json("describe model.json");
        assert_eq!(described["kind"], "spectral");
        assert!(folder.json("report model.json -o page.html")["nodes"].as_u64().is_some());
        folder.succeed("export model.json --format newick -o tree.nwk");
        folder.succeed("export model.json --format json -o again.json");
        assert_eq!(folder.read("again.json"), folder.read("model.json"));
        assert_eq!(folder.json("compare truth.json model.json")["parameter_error"], Value::Null);
    }
}

#[test]
fn what_needs_hidden_states_is_refused_with_the_way_out() {
    let folder = with_sequences();
    folder.succeed("learn rows.csv --structure chain --parameters spectral -o model.json");
    let before = folder.content();
    for (arguments, expected) in [
        ("query model.json --of h1", "hidden node"),
        ("query model.json --given h1=0 --of x1", "hidden node"),
        ("query model.json --map", "--map"),
        ("query model.json --given x1=9 --of x2", "not a label"),
        ("infer model.json rows.csv -o out.csv", "hidden"),
        ("sample model.json --rows 5 -o out.csv", "hidden states"),
        ("export model.json --format bif -o out.bif", "no tables"),
        ("learn rows.csv --parameters spectral --start random -o out.json", "--start"),
        ("learn rows.csv --parameters spectral --validation 0.1 -o out.json", "--validation"),
        ("learn rows.csv --parameters moments --linkers single -o out.json", "--linkers"),
        ("learn rows.csv --parameters spectral --linkers many -o out.json", "stacked or single"),
    ] {
        let outcome = folder.run(arguments);
        assert_eq!(outcome.code, Some(2), "{arguments}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(expected), "{arguments}: {}", outcome.stderr);
        let way_out = ["moments+em", "--", "labels", "they are"].iter().any(|it| outcome.stderr.contains(it));
        assert!(way_out, "{arguments}: {}", outcome.stderr);
    }
    assert!(folder.content() == before, "nothing was written");
}

#[test]
fn columns_and_trees_that_do_not_fit_are_refused() {
    let folder = with_sequences();
    folder.write("numbers.csv", b"a,b,c,d\n0.5,x,y,x\n1.25,y,x,y\n2.75,x,x,x\n3.5,y,y,x\n");
    folder.write("counts.csv", b"a,b,c,d\n5,x,y,x\n12,y,x,y\n2,x,x,x\n35,y,y,x\n");
    folder.write("thin.nwk", b"((x1,x2)h1,((x3,x4,x5)h2)h3,(x6,x7,x8)h4)h5;");
    folder.write("two.csv", b"x1,x2,x3,x4,x5,x6,x7,x8\n0,1,2,3,0,1,2,3\n1,1,2,2,3,3,0,0\n");
    folder.write("apart.csv", b"a,b,c\nx,y,\ny,x,\nx,x,\n,,x\n,,y\n,,x\n");
    folder.succeed("moments rows.csv -o rows.moments");
    for (arguments, expected) in [
        ("learn numbers.csv --kind a=continuous --structure chain --parameters spectral -o out.json", "--kind"),
        ("learn counts.csv --kind a=count --structure chain --parameters hierarchical -o out.json", "moments+em"),
        ("learn rows.csv --tree thin.nwk --parameters spectral -o out.json", "2 neighbours"),
        (
            "learn two.csv --kind *=categorical --structure chain --parameters spectral --hidden-states 3 -o out.json",
            "fewer than the 3",
        ),
        ("learn apart.csv --structure chain --parameters spectral -o out.json", "never present"),
        ("learn rows.moments --parameters spectral -o out.json", "pairs only"),
    ] {
        let outcome = folder.run(arguments);
        assert_eq!(outcome.code, Some(2), "{arguments}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(expected), "{arguments}: {}", outcome.stderr);
        assert!(!folder.path("out.json").exists());
    }
    // More states than the columns have labels are lowered, and said.
    let learned = folder.json("learn rows.csv --structure chain --parameters spectral --hidden-states 6 -o out.json");
    assert!(learned["warnings"].to_string().contains("instead of 6 dimensions"), "{}", learned["warnings"]);
}

#[test]
fn the_same_bytes_come_out_at_any_number_of_threads() {
    let folder = with_sequences();
    for method in ["spectral", "hierarchical"] {
        folder.succeed(&format!("learn rows.csv --structure chain --parameters {method} -o one.json --threads 1"));
        folder.succeed(&format!("learn rows.csv --structure chain --parameters {method} -o two.json --threads 2"));
        assert_eq!(folder.read("one.json"), folder.read("two.json"), "{method}");
    }
}

#[test]
fn a_classifier_finds_the_labels_of_rows() {
    let folder = Folder::new();
    for (label, seed) in [("a", 1), ("b", 2), ("c", 5)] {
        folder.succeed(&format!(
            "simulate --shape hmm --observed 6 --family categorical --states 4 --hidden-states 2 --rows 600 --model m.json --data {label}.csv --seed {seed}"
        ));
    }
    let mut table = String::new();
    for label in ["a", "b", "c"] {
        for (ix, line) in folder.text(&format!("{label}.csv")).lines().enumerate() {
            match (ix, table.is_empty()) {
                (0, true) => table.push_str(&format!("{line},class\n")),
                (0, false) => {}
                (100, _) => table.push_str(&format!("{line},\n")),
                _ => table.push_str(&format!("{line},{label}\n")),
            }
        }
    }
    folder.write("rows.csv", table.as_bytes());
    // By chance a third would be right, with a standard error of 0.011.
    let learned = folder.json("learn rows.csv --target class --structure chain --parameters spectral --folds 3 -o c.json");
    assert_eq!((&learned["dropped_rows"], &learned["rows"]), (&3.into(), &1797.into()));
    assert!(number(&learned["accuracy"]) > 0.4 && learned["folds"].as_array().unwrap().len() == 3, "{learned}");
    let found = folder.json("classify c.json rows.csv -o labels.csv");
    assert_eq!(found["labels"], serde_json::json!(["a", "b", "c"]));
    assert!(number(&found["accuracy"]) >= number(&learned["accuracy"]) - 0.05, "{found}");
    assert!(folder.text("labels.csv").starts_with("row,label,p(a),p(b),p(c)\n1,"));
    assert!(folder.json("classify c.json a.csv -o labels.csv --prior uniform")["accuracy"].is_null());
    folder.write("numbers.csv", b"x,class\na,1.5\nb,2.5\na,3.25\nb,0.125\n");
    folder.write("one.csv", b"x,y,z,class\na,b,c,k\nb,a,b,k\na,a,a,k\n");
    for (arguments, expected) in [
        ("learn numbers.csv --kind class=continuous --target class -o out.json", "continuous"),
        ("learn one.csv --target class -o out.json", "two are needed"),
        ("learn rows.csv --target missing -o out.json", "no column"),
        ("learn rows.csv --target class --folds 1000 --parameters spectral -o out.json", "fewer than 1000 folds"),
        ("learn rows.csv --target class --folds 1 --parameters spectral -o out.json", "at least 2"),
        ("classify c.json rows.csv --prior a=2 -o out.json", "--prior"),
        ("classify c.json rows.csv --prior a=0.2,a=0.3,b=0.1 -o out.json", "label \"a\" is given twice"),
        ("classify c.json rows.csv --prior d=0.2,b=0.1 -o out.json", "the labels are \"a\", \"b\", \"c\""),
        ("classify c.json rows.csv --prior a,b=0.1 -o out.json", "LABEL=PROBABILITY"),
        ("classify c.json numbers.csv -o out.json", "none of the classifier's columns"),
        ("classify m.json rows.csv -o out.json", "learn one with --target"),
        ("score c.json rows.csv", "classif"),
    ] {
        let outcome = folder.run(arguments);
        assert_eq!(outcome.code, Some(2), "{arguments}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(expected), "{arguments}: {}", outcome.stderr);
        assert!(!folder.path("out.json").exists());
    }
}

#[test]
fn priors_are_given_for_labels_with_commas_and_equals_signs() {
    let folder = with_sequences();
    let labels = ["\"yes, often\"", "p=1", "no"];
    let mut table = String::new();
    for (row, line) in folder.text("rows.csv").lines().enumerate().take(301) {
        let label = if row == 0 { "class" } else { labels[row % 3] };
        table.push_str(&format!("{line},{label}\n"));
    }
    folder.write("rows.csv", table.as_bytes());
    folder.succeed("learn rows.csv --target class --structure chain --parameters spectral -o c.json");
    let priors = ["classify", "c.json", "rows.csv", "-o", "out.csv", "--prior", "yes, often=0.2,p=1=0.5", "--json"];
    let found: Value = serde_json::from_slice(&folder.run_with(&priors, b"").stdout).unwrap();
    assert_eq!(found["labels"], serde_json::json!(["no", "p=1", "yes, often"]));
    for (prior, expected) in found["priors"].as_array().unwrap().iter().zip([0.3, 0.5, 0.2]) {
        assert!((number(prior) - expected).abs() < 1e-12, "{found}");
    }
}

#[test]
fn pages_show_edges_badly_explained_pairs_and_the_confusion_matrix_and_names_are_never_markup() {
    let folder = with_sequences();
    let text = folder.text("rows.csv").replacen("x1,", "<b>,", 1);
    folder.write("odd.csv", text.as_bytes());
    folder.succeed("learn odd.csv --structure chain --parameters spectral --report learned.html -o model.json");
    folder.succeed("report model.json odd.csv -o page.html --title <i>");
    for (page, parts) in [
        ("learned.html", &["Edges", "Tree"][..]),
        ("page.html", &["Edges", "Tree", "Badly explained pairs", "log-likelihood", "4000 rows", "&lt;b&gt;", "&lt;i&gt;"]),
    ] {
        let html = folder.text(page);
        parts.iter().for_each(|part| assert!(html.contains(part), "{page} has {part}"));
        assert!(!html.contains("<b>") && !html.contains("<i>") && html.contains("Content-Security-Policy"), "{page}");
    }
    folder.succeed("learn odd.csv --target x3 --structure chain --parameters spectral -o c.json");
    folder.succeed("report c.json odd.csv -o classes.html");
    let html = folder.text("classes.html");
    for part in ["Confusion matrix", "Tree of 0", "Tree of 3", "&lt;b&gt;", "of 4000 rows"] {
        assert!(html.contains(part), "{part}");
    }
    folder.succeed("report c.json -o bare.html");
    assert!(!folder.text("bare.html").contains("Confusion matrix"));
}
