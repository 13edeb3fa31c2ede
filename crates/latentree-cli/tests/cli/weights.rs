//! What row weights mean.

use serde_json::Value;

use crate::harness::Folder;

/// A folder with rows of two clear groups in `rows.csv`, each with a weight in `w`.
fn with_weights(weight: impl Fn(usize) -> f64) -> Folder {
    let folder = Folder::new();
    folder.succeed("simulate --shape star --observed 5 --states 3 --separation 0.8 --model m.json --data plain.csv --rows 400");
    write_weighted(&folder, "rows.csv", weight);
    folder
}

fn write_weighted(folder: &Folder, name: &str, weight: impl Fn(usize) -> f64) {
    let plain = folder.text("plain.csv");
    let mut lines = plain.lines();
    let mut text = format!("{},w\n", lines.next().unwrap());
    for (row, line) in lines.enumerate() {
        text += &format!("{line},{}\n", weight(row));
    }
    folder.write(name, text.as_bytes());
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("a number: {value}"))
}

fn assert_near(a: &Value, b: &Value, what: &str) {
    let (a, b) = (number(a), number(b));
    assert!((a - b).abs() <= 1e-8 * a.abs().max(1.0), "{what}: {a} and {b}");
}

/// Whole numbers with a factor of 0.0002 were taken for a sample of a hundredth of a row: BIC without a penalty and dead states.
#[test]
fn the_scale_of_sampling_weights_changes_neither_the_model_nor_its_criteria() {
    let weight = |row: usize| [0.5, 1.0, 2.5][row % 3];
    let folder = with_weights(weight);
    write_weighted(&folder, "small.csv", |row| weight(row) * 0.0002);
    for options in ["--hidden-states 3", "--select bic --restarts 2", "--structure clnj --parameters em"] {
        let large = folder.json(&format!("learn rows.csv --weights w {options} -o large.json"));
        let small = folder.json(&format!("learn small.csv --weights w {options} -o small.json"));
        for key in ["log_likelihood", "bic"] {
            assert_near(&large[key], &small[key], key);
        }
        assert_eq!((&large["hidden"], &large["free_parameters"]), (&small["hidden"], &small["free_parameters"]), "{options}");
        let compared = folder.json("compare large.json small.json");
        assert_eq!(compared["same_structure"], true, "{options}: {compared}");
        assert!(number(&compared["parameter_error_largest"]) < 1e-6, "{options}: {compared}");
        // Every verb counts as learn does.
        for data in ["rows.csv", "small.csv"] {
            let score = folder.json(&format!("score large.json {data} --weights w"));
            assert_near(&score["bic"], &large["bic"], "bic");
            assert_near(&score["weight"], &Value::from(400), "weight");
            let described = folder.json(&format!("describe large.json {data} --weights w"));
            assert_near(&described["fit"]["bic"], &large["bic"], "bic");
        }
    }
}

#[test]
fn equal_weights_are_no_weights() {
    let folder = with_weights(|_| 0.0002);
    let weighted = folder.json("learn rows.csv --weights w -o weighted.json");
    let plain = folder.json("learn plain.csv -o plain.json");
    assert_eq!((&weighted["bic"], &weighted["log_likelihood"]), (&plain["bic"], &plain["log_likelihood"]));
}

#[test]
fn frequencies_are_repeated_rows() {
    let folder = with_weights(|row| (row % 4) as f64);
    let plain = folder.text("plain.csv");
    let mut repeated = plain.lines().next().unwrap().to_owned() + "\n";
    for (row, line) in plain.lines().skip(1).enumerate() {
        repeated += &format!("{line}\n").repeat(row % 4);
    }
    folder.write("repeated.csv", repeated.as_bytes());
    let weighted = folder.json("learn rows.csv --weights w --weight-kind frequency --structure chow-liu -o weighted.json");
    let repeated = folder.json("learn repeated.csv --structure chow-liu -o repeated.json");
    for key in ["log_likelihood", "bic"] {
        assert_near(&weighted[key], &repeated[key], key);
    }
    assert_near(
        &folder.json("score weighted.json rows.csv --weights w --weight-kind frequency")["weight"],
        &Value::from(600),
        "the sum of the frequencies",
    );
}

#[test]
fn weighted_moments_merge_and_are_scaled_when_they_are_learned_from() {
    let folder = with_weights(|row| if row % 5 == 0 { 0.0 } else { 0.001 * (1 + row % 2) as f64 });
    let text = folder.text("rows.csv");
    let lines: Vec<&str> = text.lines().collect();
    for (name, range) in [("first.csv", 1..151), ("second.csv", 151..401)] {
        folder.write(name, format!("{}\n{}\n", lines[0], lines[range].join("\n")).as_bytes());
    }
    let schema = folder.json("describe rows.csv --weights w");
    assert_eq!(schema["rows"], 400);
    for name in ["rows", "first", "second"] {
        folder.succeed(&format!("moments {name}.csv --weights w -o {name}.moments"));
    }
    folder.succeed("merge first.moments second.moments -o merged.moments");
    folder.succeed("distances rows.csv --weights w -o rows.d.csv");
    folder.succeed("distances merged.moments -o merged.d.csv");
    let numbers =
        |name: &str| -> Vec<f64> { folder.text(name).split([',', '\n']).filter_map(|field| field.parse().ok()).collect() };
    let (whole, merged) = (numbers("rows.d.csv"), numbers("merged.d.csv"));
    assert_eq!(whole.len(), merged.len());
    assert!(whole.iter().zip(&merged).all(|(a, b)| (a - b).abs() < 1e-9), "{whole:?} {merged:?}");
    // Rows of weight 0 do not count.
    assert_eq!(folder.json("learn merged.moments -o t.json --structure nj")["rows"], 320);
}

#[test]
fn a_score_shows_the_weight_that_divides_its_mean() {
    let folder = with_weights(|row| (row % 3 + 1) as f64);
    let plain = folder.succeed("score m.json rows.csv");
    assert!(!plain.contains("weight"), "{plain}");
    // 400 rows of weights 1, 2, 3, 1, …: 134 + 2 · 133 + 3 · 133.
    let weighted = folder.succeed("score m.json rows.csv --weights w --weight-kind frequency");
    assert!(weighted.contains("weight (n of BIC)    799\n") && weighted.contains("per unit of weight"), "{weighted}");
}
