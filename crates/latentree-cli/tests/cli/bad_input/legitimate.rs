//! Odd data that are accepted by rule: each has a result that the documentation names.

use super::{BIF, DATA, MODEL};
use crate::harness::{Folder, gzip};

fn folder(name: &str, bytes: &[u8]) -> Folder {
    let folder = Folder::new();
    folder.write("model.json", MODEL.as_bytes());
    folder.write("data.csv", DATA.as_bytes());
    folder.write(name, bytes);
    folder
}

#[test]
fn a_constant_column_is_a_variable_of_one_state() {
    let folder = folder("d.csv", b"a,b\n0,x\n1,x\n0,x\n");
    let json = folder.json("describe d.csv");
    assert_eq!(json["variables"][1]["states"], serde_json::json!(["x"]));
    assert_eq!(json["rows"], 3);
    folder.succeed("moments d.csv -o d.moments");
}

#[test]
fn a_column_without_values_is_left_out_with_a_note() {
    let folder = folder("d.csv", b"a,b\n0,\n1,NA\n");
    let outcome = folder.run("describe d.csv");
    assert_eq!(outcome.code, Some(0));
    assert!(outcome.stderr.contains("note: column \"b\" is ignored: it has no values"), "{}", outcome.stderr);
    let json = folder.json("describe d.csv");
    assert_eq!(json["variables"].as_array().map(Vec::len), Some(1));
    assert_eq!(json["warnings"].as_array().map(Vec::len), Some(1));
}

#[test]
fn one_row_is_enough() {
    let folder = folder("d.csv", b"a,b,n,z\n0,red,2,0.5\n");
    assert_eq!(folder.json("describe d.csv")["rows"], 1);
    assert_eq!(folder.json("score model.json d.csv")["rows"], 1);
    assert_eq!(folder.json("moments d.csv -o d.moments")["rows"], 1);
    assert_eq!(folder.json("infer model.json d.csv -o o.csv")["rows"], 1);
}

#[test]
fn nan_in_a_count_column_is_missing() {
    let folder = folder("d.csv", b"a,b,n,z\n0,red,NaN,0.5\n0,red,,0.5\n");
    folder.succeed("score model.json d.csv --per-row p.csv");
    let text = folder.text("p.csv");
    let scores: Vec<&str> = text.lines().skip(1).filter_map(|line| line.split(',').nth(1)).collect();
    assert_eq!(scores[0], scores[1]);
}

#[test]
fn columns_of_the_model_that_the_data_lack_count_as_missing_with_a_note() {
    let folder = folder("d.csv", b"a,b\n0,red\n");
    let outcome = folder.run("score model.json d.csv");
    assert_eq!(outcome.code, Some(0));
    assert!(outcome.stderr.contains("2 of the model's 4 columns"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("n, z"), "{}", outcome.stderr);
}

#[test]
fn impossible_rows_are_told_and_have_empty_posteriors() {
    let always_low = MODEL.replace("[0.4,0.6]", "[1.0,0.0]");
    let folder = folder("m.json", always_low.as_bytes());
    let outcome = folder.run("score m.json data.csv --json");
    assert_eq!(outcome.code, Some(0));
    assert!(outcome.stderr.contains("1 row") && outcome.stderr.contains("row 2"), "{}", outcome.stderr);
    let json = folder.json("score m.json data.csv");
    assert_eq!(json["impossible_rows"], 1);
    assert!(json["log_likelihood"].is_null(), "JSON has no infinities");
    folder.succeed("infer m.json data.csv -o o.csv");
    assert_eq!(folder.text("o.csv").lines().nth(2), Some("2,,"));
}

#[test]
fn windows_line_ends_and_marks_do_not_show() {
    let plain = folder("d.csv", b"a,b\n1,x\n0,y\n").json("describe d.csv");
    let windows = folder("d.csv", b"\xef\xbb\xbfa,b\r\n1,x\r\n0,y\r\n").json("describe d.csv");
    assert_eq!(plain["variables"], windows["variables"]);
}

#[test]
fn compression_is_told_by_the_bytes_whatever_the_ending() {
    let folder = folder("d.csv", &gzip(DATA.as_bytes()));
    assert_eq!(folder.json("score model.json d.csv")["rows"], 3);
}

#[test]
fn bif_nodes_that_the_data_lack_are_hidden() {
    let folder = folder("m.bif", BIF.as_bytes());
    folder.write("d.csv", b"a,b\n0,0\n1,1\n1,\n");
    let json = folder.json("infer m.bif d.csv -o o.csv");
    assert_eq!(json["columns"], serde_json::json!(["h=0", "h=1"]));
    // P(h=1 | a=0, b=0) = 0.6·0.2·0.1 / (0.6·0.2·0.1 + 0.4·0.9·0.7)
    let text = folder.text("o.csv");
    let first: f64 =
        text.lines().nth(1).and_then(|line| line.rsplit(',').next()).and_then(|it| it.parse().ok()).expect("a number");
    assert!((first - 0.012 / 0.264).abs() < 1e-12, "{first}");
    // P(0,0) = 0.264, P(1,1) = 0.4·0.1·0.3 + 0.6·0.8·0.9, P(a=1) = 0.4·0.1 + 0.6·0.8
    let expected = f64::ln(0.264) + f64::ln(0.444) + f64::ln(0.52);
    let score = folder.json("score m.bif d.csv");
    assert!((score["log_likelihood"].as_f64().expect("a number") - expected).abs() < 1e-12);
    // The same from pipes.
    for (arguments, stdin) in [(["score", "m.bif", "-", "--json"], "d.csv"), (["score", "-", "d.csv", "--json"], "m.bif")] {
        let outcome = folder.run_with(&arguments, &folder.read(stdin));
        let piped: serde_json::Value = serde_json::from_str(&outcome.success("a pipe")).expect("one object");
        assert_eq!(piped["log_likelihood"], score["log_likelihood"]);
    }
}

#[test]
fn rows_of_weight_zero_count_for_nothing() {
    let folder = folder("d.csv", b"a,b,w\n0,red,1\n1,green,0\n");
    folder.write("one.csv", b"a,b\n0,red\n");
    let [weighted, one] = ["d.csv --weights w", "one.csv"].map(|data| folder.json(&format!("score model.json {data}")));
    assert_eq!(weighted["log_likelihood"], one["log_likelihood"]);
    assert_eq!(weighted["mean_log_likelihood"], one["mean_log_likelihood"]);
    // Nothing has no mean.
    folder.write("d.csv", b"a,b,w\n0,red,0\n1,red,0\n");
    let nothing = folder.json("score model.json d.csv --weights w");
    assert_eq!(nothing["log_likelihood"], 0.0);
    assert!(nothing["mean_log_likelihood"].is_null(), "{nothing}");
}

#[test]
fn moments_whose_labels_differ_are_merged_over_all_labels() {
    let folder = folder("left.csv", b"b,c\nred,x\nblue,y\n");
    folder.write("right.csv", b"b,c\nviolet,x\nblue,z\n");
    folder.succeed("moments left.csv -o left.moments");
    folder.succeed("moments right.csv -o right.moments");
    assert_eq!(folder.json("merge left.moments right.moments -o both.moments")["rows"], 4);
}
