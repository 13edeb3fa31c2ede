//! Signals during a search: Ctrl-C ends it with the best model so far; everything else writes nothing.
#![cfg(unix)]

use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::harness::Folder;

const SEARCH: &str = "learn d.csv -o m.json --report p.html --json";

/// A folder with a table whose search takes seconds.
fn table() -> Folder {
    let folder = Folder::new();
    folder.succeed(
        "simulate --shape random --observed 80 --family categorical --states 3 --hidden-states 3 --separation 0.6 --model truth.json --data d.csv --rows 4000",
    );
    folder
}

/// Runs the program, and after a while sends it these signals one after the other.
fn signalled(folder: &Folder, arguments: &str, after: Duration, signals: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_latentree"));
    command.args(arguments.split_whitespace()).current_dir(folder.path("")).stdin(Stdio::null());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
    std::thread::sleep(after);
    for (ix, signal) in signals.iter().enumerate() {
        if ix > 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        // It may have ended.
        let _ = Command::new("kill").args([*signal, &child.id().to_string()]).stderr(Stdio::null()).status();
    }
    child.wait_with_output().expect("the program ends")
}

/// Interrupts searches later and later until one has a model by then. Those before it write nothing, and say so.
fn interrupted(folder: &Folder, arguments: &str) -> (Duration, Value, String) {
    let before = folder.content();
    let mut after = Duration::from_millis(250);
    loop {
        let output = signalled(folder, arguments, after, &["-INT"]);
        let said = String::from_utf8(output.stderr).expect("messages are text");
        assert_eq!(output.status.code(), Some(130), "{said}: no search ends before it has a model");
        let json: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: one object: {said}"));
        if json.get("error").is_none() {
            return (after, json, said);
        }
        assert!(said.contains("nothing was written"), "{said}");
        assert_eq!(folder.content(), before);
        after = after.mul_f64(1.5);
    }
}

#[test]
fn ctrl_c_ends_a_search_with_its_best_model_and_other_signals_write_nothing() {
    let folder = table();
    let before = folder.content();
    let (after, json, said) = interrupted(&folder, SEARCH);
    assert_eq!(json["interrupted"], true);
    assert_eq!(json["converged"], false);
    assert!(said.contains("Ctrl-C again"), "{said}");
    assert!(said.contains("support of splits was not tested") || json["splits"].is_null(), "{said} {json}");
    let model: Value = serde_json::from_str(&folder.text("m.json")).expect("a model file");
    assert_eq!(model["provenance"]["interrupted"], true);
    // It is a whole model, as good as is told, and its page is there.
    let (told, score) = (json["bic"].as_f64().expect("a number"), folder.json("score m.json d.csv"));
    assert!((score["bic"].as_f64().expect("a number") - told).abs() < 1e-6 * told.abs(), "{score} {json}");
    assert!(folder.text("p.html").contains("</html>"));
    for name in ["m.json", "p.html"] {
        std::fs::remove_file(folder.path(name)).expect("it can be removed");
    }
    for signals in [&["-TERM"] as &[&str], &["-HUP"], &["-INT", "-INT"], &["-INT", "-TERM"]] {
        let output = signalled(&folder, SEARCH, after, signals);
        assert_eq!(output.status.code(), Some(130), "{signals:?}: {}", String::from_utf8_lossy(&output.stderr));
        if folder.content() != before {
            // The search had ended before the second signal came: everything was written.
            assert!(signals.len() == 2 && folder.text("p.html").contains("</html>"), "{signals:?}");
            let model: Value = serde_json::from_str(&folder.text("m.json")).expect("a model file");
            assert_eq!(model["provenance"]["interrupted"], true);
            for name in ["m.json", "p.html"] {
                std::fs::remove_file(folder.path(name)).expect("it can be removed");
            }
        }
    }
}

#[test]
fn an_interrupted_search_goes_on_from_its_checkpoint_to_the_model_of_one_never_interrupted() {
    let folder = Folder::new();
    folder.succeed(
        "simulate --shape random --observed 12 --family categorical --hidden-states 3 --separation 0.6 --model truth.json --data d.csv --rows 400",
    );
    folder.succeed("learn d.csv -o whole.json");
    let mut is_over = false;
    for delay in [300, 600, 1200] {
        let output = signalled(&folder, "learn d.csv -o m.json --checkpoint state", Duration::from_millis(delay), &["-INT"]);
        is_over |= output.status.code() == Some(0);
        assert!(matches!(output.status.code(), Some(0 | 130)), "{}", String::from_utf8_lossy(&output.stderr));
    }
    if !is_over {
        folder.succeed("learn d.csv -o m.json --checkpoint state");
    }
    assert_eq!(folder.text("m.json"), folder.text("whole.json"));
}

#[test]
fn a_search_for_numbers_of_states_and_one_by_validation_rows_end_early_too() {
    let folder = table();
    for search in ["--structure clnj --hidden-states auto", "--select validation --validation 0.2"] {
        let (_, json, _) = interrupted(&folder, &format!("learn d.csv {search} -o m.json --json"));
        assert_eq!(json["interrupted"], true, "{search}");
        assert_eq!(folder.json("describe m.json")["observed"], 80, "{search}");
        std::fs::remove_file(folder.path("m.json")).expect("it can be removed");
    }
}
