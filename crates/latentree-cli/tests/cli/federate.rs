//! `federate`: runs across sites by files.

use std::process::{Command, Stdio};
use std::time::Duration;

use crate::harness::Folder;

const SITES: [&str; 3] = ["north", "south", "west"];

/// The clinic's rows at three sites, and a schema.
fn clinics() -> Folder {
    let folder = Folder::with_clinic();
    let text = folder.text("clinic.csv");
    let lines: Vec<&str> = text.lines().collect();
    for (site, rows) in SITES.iter().zip([1..2001, 2001..3501, 3501..lines.len()]) {
        let part = [&lines[..1], &lines[rows]].concat().join("\n");
        folder.write(&format!("{site}.csv"), part.as_bytes());
    }
    folder.succeed("describe clinic.csv --kind *=binary --schema-out columns.json");
    folder
}

/// Answers a round at all sites.
fn answer(folder: &Folder, run: &str, round: usize) -> String {
    for site in SITES {
        folder.succeed(&format!("federate answer {run}/round-{round}.pass {site}.csv --site {site} -o {round}.{site}.part"));
    }
    SITES.map(|site| format!("{round}.{site}.part")).join(" ")
}

/// Runs to the end and gives the number of rounds.
fn finish(folder: &Folder, run: &str, first: usize) -> usize {
    for round in first.. {
        let parts = answer(folder, run, round);
        let json = folder.json(&format!("federate next {run} {parts}"));
        if json["model"].is_string() {
            return round;
        }
    }
    unreachable!("a run ends")
}

#[test]
fn three_clinics_learn_a_model_and_are_told_what_leaves_them() {
    let folder = clinics();
    let json = folder.json("federate start run --schema columns.json --sites north,south,west --structure clnj");
    assert_eq!(json["missing"].as_array().map(Vec::len), Some(3));
    let expected = json["expected_rounds"].as_u64();
    let json = folder.json("federate answer run/round-1.pass north.csv --site north -o 1.north.part");
    assert_eq!(json["rows"], 2000);
    assert!(json["smallest_count"].as_u64().is_some_and(|least| least > 0));
    let text = folder.succeed("federate answer run/round-1.pass north.csv --site north -o 1.north.part");
    assert!(text.contains("what it holds") && text.contains("2000"), "{text}");
    let rounds = finish(&folder, "run", 1);
    assert!(expected.is_none_or(|expected| expected == rounds as u64), "{expected:?} {rounds}");
    let text = folder.succeed("federate status run");
    assert!(text.contains("finished"), "{text}");
    folder.succeed("score run/model.json clinic.csv");
    // Finished is finished.
    assert!(folder.run("federate next run").stderr.contains("finished"));
}

#[test]
fn a_killed_command_loses_nothing() {
    let folder = clinics();
    folder.succeed("federate start calm --schema columns.json --structure clnj");
    finish(&folder, "calm", 1);
    for site in SITES {
        std::fs::remove_file(folder.path(&format!("{site}.record.json"))).expect("sites remember");
    }
    folder.succeed("federate start run --schema columns.json --structure clnj");
    let mut kills = 0;
    'rounds: for round in 1.. {
        let parts = answer(&folder, "run", round);
        let command = format!("federate next run {parts}");
        // From a moment before the first write to one after the last.
        for wait in [0, 1, 2, 4, 6, 9, 13, 20] {
            let arguments: Vec<&str> = command.split_whitespace().collect();
            let mut child = Command::new(env!("CARGO_BIN_EXE_latentree"))
                .args(arguments)
                .current_dir(folder.path("."))
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .expect("the program starts");
            std::thread::sleep(Duration::from_millis(wait));
            let _ = child.kill();
            child.wait().expect("it ends");
            kills += 1;
        }
        let outcome = folder.run(&command);
        let is_over = outcome.stderr.contains("is over") || outcome.stderr.contains("finished");
        assert!(outcome.code == Some(0) || is_over, "{}", outcome.stderr);
        if folder.path("run/model.json").exists() {
            break 'rounds;
        }
    }
    // The last command may have been killed between the model and its end.
    let outcome = folder.run("federate next run");
    assert!(outcome.code == Some(0) || outcome.stderr.contains("finished"), "{}", outcome.stderr);
    assert!(kills >= 20);
    assert_eq!(folder.read("run/model.json"), folder.read("calm/model.json"));
}

#[test]
fn mistakes_are_told_and_leave_nothing_behind() {
    let folder = clinics();
    folder.succeed("federate start run --schema columns.json --sites north,south");
    folder.succeed("federate answer run/round-1.pass north.csv --site north -o a.part");
    folder.succeed("federate start other --schema columns.json");
    folder.write("policy.json", br#"{"least_row": 3}"#);
    folder.write("strict.json", br#"{"least_rows": 3000}"#);
    folder.write("list.json", b"[]");
    folder.write("many.json", br#"{"least_sites": 2}"#);
    folder.write("peers.json", br#"{"peers": {"north": "00"}}"#);
    let before = folder.content();
    for (arguments, words) in [
        ("federate start run --schema columns.json", "not empty"),
        ("federate start new --schema columns.json --select bic", "--select"),
        ("federate start new --schema columns.json --validation 0.1", "--validation"),
        ("federate start new --schema columns.json --sites a,a", "twice"),
        ("federate start new --schema clinic.csv", "schema"),
        ("federate start new --schema columns.json --dp-rho 0", "--dp-rho"),
        ("federate start new --schema columns.json --dp-rho 1 --range x=1,2", "--range"),
        ("federate start new --schema columns.json --dp-rho 1 --parameters em", "--parameters"),
        ("federate start new --dp-rho 1", "declared columns"),
        ("federate start new --schema columns.json --em-iterations 5", "--em-iterations: EM is a round"),
        ("federate start new --schema columns.json --em-tolerance 0.1 --parameters moments", "add --parameters moments+em"),
        ("federate start new --schema columns.json --em-smoothing 1", "--em-smoothing"),
        ("federate start new --schema columns.json --restarts 3", "--restarts"),
        ("federate start new --schema columns.json --start random", "--start"),
        ("federate start new --schema columns.json --dp-rho 1 --em-iterations 5", "no EM"),
        ("federate answer run/round-1.pass north.csv --site west -o new.part", "not \"west\""),
        ("federate answer run/round-1.pass north.csv --site no/rth -o new.part", "letters"),
        ("federate answer run/round-1.pass south.csv --site north -o new.part", "other data"),
        ("federate answer run/round-1.pass north.csv --site south --policy policy.json -o new.part", "least_row"),
        ("federate answer run/round-1.pass south.csv --site south --policy strict.json -o new.part", "at least 3000"),
        ("federate answer run/round-1.pass south.csv --site south --policy list.json -o new.part", "an object"),
        (
            "federate answer run/round-1.pass south.csv --site south --policy many.json -o new.part",
            "(least_sites), and this run has no masks",
        ),
        (
            "federate answer run/round-1.pass south.csv --site south --policy peers.json -o new.part",
            "(peers), and this run has no masks",
        ),
        ("federate answer run/round-1.pass south.csv --site south --kind *=binary -o new.part", "leave"),
        ("federate answer a.part south.csv --site south -o new.part", "it is a part"),
        ("federate answer clinic.csv south.csv --site south -o new.part", "does not begin"),
        ("federate next other a.part", "another run"),
        ("federate next run a.part a.part", "answers once"),
        ("federate next run missing.part", "missing.part"),
        ("federate next run --without east", "--without"),
        ("federate next nowhere", "no run"),
        ("federate status nowhere", "no run"),
        ("federate keygen a/b", "letters"),
        ("describe clinic.truth.json --schema-out s.json", "--schema-out"),
    ] {
        let outcome = folder.run(arguments);
        assert!(outcome.code == Some(2) && outcome.stderr.contains(words), "{arguments}: {}", outcome.stderr);
        assert!(folder.content() == before, "{arguments} left something behind");
    }
}

#[test]
fn keys_are_made_once_and_masked_parts_hide_their_counts() {
    let folder = clinics();
    for site in SITES {
        folder.succeed(&format!("federate keygen {site}"));
        assert!(folder.run(&format!("federate keygen {site}")).stderr.contains("never overwritten"));
    }
    folder.succeed("federate start run --schema columns.json --structure clnj --keys north.pub south.pub west.pub");
    for site in SITES {
        let arguments = format!("federate answer run/round-1.pass {site}.csv --site {site} --mask {site}.key -o {site}.part");
        let json = folder.json(&arguments);
        assert_eq!((json["masked"].as_bool(), json["smallest_count"].is_null()), (Some(true), true));
    }
    let json = folder.json("federate next run north.part south.part west.part");
    assert_eq!(json["rounds"].as_array().map(Vec::len), Some(2));
    let outcome = folder.run("federate answer run/round-2.pass north.csv --site north --mask south.key -o north.part");
    assert!(outcome.stderr.contains("key"), "{}", outcome.stderr);
}
