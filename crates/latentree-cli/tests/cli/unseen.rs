//! What a model does not know is counted and named by every verb that reads data for it.

use serde_json::json;

use crate::harness::Folder;

/// A model of columns `region` (north, south), `a`, `b`, `c`, and rows with other labels and columns.
fn folder() -> Folder {
    let folder = Folder::new();
    let row = |ix: usize| {
        let yes = (ix / 2).is_multiple_of(2);
        let flip = |every: usize| usize::from(yes != ix.is_multiple_of(every));
        format!("{},{},{},{}", ["north", "south"][flip(7)], flip(5), flip(9), flip(11))
    };
    let rows: String = (0..400).map(|ix| row(ix) + "\n").collect();
    folder.write("train.csv", format!("region,a,b,c\n{rows}").as_bytes());
    folder.succeed("learn train.csv -o m.json");
    let new = "region,a,b,c,A\nNorth,1,1,0,5\neast,0,0,0,5\nnorth,1,1,2,5\neast,1,,1,5\n";
    folder.write("new.csv", new.as_bytes());
    // What is left when all that the model does not know is missing.
    folder.write("known.csv", b"region,a,b,c\n,1,1,0\n,0,0,0\nnorth,1,1,\n,1,,1\n");
    folder
}

#[test]
fn every_verb_reads_unknown_labels_as_missing_and_says_so() {
    let folder = folder();
    let verbs =
        ["score m.json new.csv", "infer m.json new.csv -o out.csv", "describe m.json new.csv", "report m.json new.csv -o p.html"];
    let learn = "learn train.csv --validation new.csv -o v.json";
    for arguments in verbs.into_iter().chain([learn]) {
        let outcome = folder.run(arguments);
        let note = "column \"region\": 2 labels in 3 cells are unknown to the model and read as missing: \"North\" (the model has \"north\"), \"east\"";
        assert_eq!(outcome.code, Some(0), "{arguments}: {}", outcome.stderr);
        assert_eq!(outcome.stderr.matches(note).count(), 1, "{arguments}: {}", outcome.stderr);
        assert!(outcome.stderr.contains("column \"c\": 1 label in 1 cell is unknown"), "{arguments}: {}", outcome.stderr);
        assert!(
            outcome.stderr.contains("1 column is unknown to the model and ignored: \"A\" (the model has \"a\")"),
            "{arguments}"
        );
        let unseen = &folder.json(arguments)["unseen"];
        assert_eq!(
            (&unseen["labels"][0]["cells"], &unseen["labels"][0]["count"]),
            (&json!(3), &json!(2)),
            "{arguments}: {unseen}"
        );
        assert_eq!(unseen["labels"][1]["names"][0], json!({"name": "2", "cells": 1, "similar": null}), "{arguments}");
        assert_eq!(
            (&unseen["columns"]["count"], &unseen["columns"]["names"][0]["name"]),
            (&json!(1), &json!("A")),
            "{arguments}"
        );
        let refused = folder.run(&format!("{arguments} --unseen error"));
        assert_eq!(refused.code, Some(2), "{arguments}");
        assert!(refused.stderr.contains("new.csv") && refused.stderr.contains("column \"region\""), "{}", refused.stderr);
    }
    let warnings = folder.json(learn)["warnings"].to_string();
    assert!(warnings.contains("unknown to the model and read as missing"), "{warnings}");
    // Missing is what it says: the answers are those of the table with empty fields.
    assert_eq!(folder.json("score m.json new.csv")["log_likelihood"], folder.json("score m.json known.csv")["log_likelihood"]);
    assert_eq!(folder.json("score m.json known.csv")["unseen"], json!({"columns": null, "labels": []}));
}

#[test]
fn unknown_labels_of_evidence_and_of_the_option_itself_are_mistakes() {
    let folder = folder();
    assert_eq!(folder.run("query m.json --given region=east").code, Some(2));
    let outcome = folder.run("score m.json new.csv --unseen perhaps");
    assert_eq!(outcome.code, Some(2));
    assert!(outcome.stderr.contains("--unseen"), "{}", outcome.stderr);
}

#[test]
fn codes_of_events_that_a_model_does_not_know_are_named() {
    let folder = Folder::new();
    let events = |hypertension: &str| {
        let rows = (0..300).flat_map(|id| {
            let sick = id % 2 == 0;
            let codes = [hypertension, "250", "E11", "I10"];
            let has = move |code: usize| sick != (id % (5 + 2 * code) == 0);
            (0..4).filter(move |&code| has(code)).map(move |code| format!("{id},{}\n", codes[code])).collect::<Vec<_>>()
        });
        format!("id,code\n{}", rows.collect::<String>())
    };
    folder.write("e.csv", events("401 Hypertension").as_bytes());
    folder.write("other.csv", (events("401 hypertension") + "999,new\n999,250\n").as_bytes());
    folder.succeed("learn e.csv --events id,code -o m.json");
    let outcome = folder.run("score m.json other.csv --events id,code");
    let expected = "are unknown to the model and ignored: \"401 hypertension\" (the model has \"401 Hypertension\"), \"new\"";
    assert!(outcome.stderr.contains("note: 2 items in ") && outcome.stderr.contains(expected), "{}", outcome.stderr);
    let columns = &folder.json("score m.json other.csv --events id,code")["unseen"]["columns"];
    let n_rows = events("x").matches(",x\n").count();
    assert_eq!((&columns["are_items"], &columns["cells"]), (&json!(true), &json!(n_rows + 1)), "{columns}");
    assert_eq!(columns["names"][0], json!({"name": "401 hypertension", "cells": n_rows, "similar": "401 Hypertension"}));
}

#[test]
fn labels_that_the_schema_file_does_not_list_are_refused_or_counted() {
    let folder = folder();
    folder.write("s.json", br#"{"variables":[{"name":"region","kind":"categorical","labels":["north"]}]}"#);
    for arguments in [
        "describe train.csv",
        "moments train.csv -o t.moments",
        "learn train.csv -o s.model.json",
        "distances train.csv -o d.csv",
    ] {
        let refused = folder.run(&format!("{arguments} --schema s.json"));
        assert_eq!(refused.code, Some(2), "{arguments}");
        assert!(refused.stderr.contains("\"south\" is not a label of this column, which has \"north\""), "{}", refused.stderr);
        let outcome = folder.run(&format!("{arguments} --schema s.json --unseen missing"));
        assert_eq!(outcome.code, Some(0), "{arguments}: {}", outcome.stderr);
        assert!(outcome.stderr.contains("column \"region\": 1 label in "), "{arguments}: {}", outcome.stderr);
    }
}
