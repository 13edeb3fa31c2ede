//! Every verb on the clinic example: what it prints and writes, and that the numbers agree with each other.

use std::io::{BufRead as _, Read as _};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::harness::{Folder, example, gzip, zstandard};

/// Rows of the clinic example.
const ROWS: u64 = 5000;

#[expect(dead_code, reason = "main is for people; the test calls the part that writes")]
#[path = "../../../latentree/examples/clinic.rs"]
mod clinic;

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is a number"))
}

/// The verbs that the help lists.
fn verbs(folder: &Folder) -> Vec<String> {
    let help = folder.succeed("--help");
    let commands = help.split("Commands:\n").nth(1).and_then(|rest| rest.split("\n\n").next()).expect("the help lists commands");
    // Lines that go on with a description are indented further.
    let names = commands.lines().filter_map(|line| line.strip_prefix("  ")).filter(|line| !line.starts_with(' '));
    names.filter_map(|line| line.split(' ').next()).filter(|&name| name != "help").map(str::to_owned).collect()
}

/// The table of a CSV file without quotes: header and rows.
fn table(text: &str) -> (Vec<&str>, Vec<Vec<&str>>) {
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    (lines.next().expect("a header"), lines.collect())
}

#[test]
fn the_clinic_files_are_what_their_program_writes() {
    let folder = Folder::new();
    clinic::write(&folder.path("")).expect("the example can be written");
    for name in ["clinic.csv", "clinic.truth.json"] {
        assert!(folder.read(name) == std::fs::read(example(name)).expect("the example is there"), "{name} differs");
    }
}

#[test]
fn version_and_help_are_there_and_every_verb_shows_an_example() {
    let folder = Folder::new();
    assert_eq!(folder.succeed("--version"), format!("latentree {}\n", env!("CARGO_PKG_VERSION")));
    let verbs = verbs(&folder);
    assert!(verbs.len() >= 12 && ["describe", "score", "man"].iter().all(|verb| verbs.iter().any(|it| it == verb)), "{verbs:?}");
    for verb in verbs {
        let own = folder.succeed(&format!("{verb} --help"));
        assert!(own.contains("Example") && own.contains(&format!("latentree {verb} ")), "{verb}: {own}");
        assert!(own.contains("--threads") && own.contains("--json"), "{verb}: options of every verb");
    }
    let bare = folder.run("");
    assert_eq!(bare.code, Some(2));
    assert!(bare.stdout.is_empty() && bare.stderr.contains("Usage"), "without a verb the help is a mistake's answer");
}

#[test]
fn describe_counts_rows_and_cells() {
    let folder = Folder::with_clinic();
    let json = folder.json("describe clinic.csv");
    assert_eq!(json["rows"], ROWS);
    assert_eq!(json["columns"], 40);
    assert_eq!(json["cells"], 40 * ROWS);
    let variables = json["variables"].as_array().expect("a list");
    assert_eq!(variables.len(), 40);
    let mut missing = 0;
    for variable in variables {
        assert_eq!(variable["kind"], "binary");
        assert_eq!(variable["states"], json!(["0", "1"]));
        let counted: f64 = variable["counts"].as_array().expect("a list").iter().map(number).sum();
        let own = variable["missing"].as_u64().expect("a count");
        assert_eq!(counted + own as f64, ROWS as f64, "{variable}");
        assert_eq!(variable["counts"][1], variable["nonzero"].as_f64().expect("a number"));
        missing += own;
    }
    assert_eq!(json["missing_cells"], missing);
    assert_eq!(number(&json["missing_share"]), missing as f64 / (40 * ROWS) as f64);
    assert_eq!(json["pairs"], 40 * 39 / 2);
    assert!(json["digest"].as_str().is_some_and(|digest| digest.starts_with("sha256:") && digest.len() == 71));
    let text = folder.succeed("describe clinic.csv --top 3");
    assert!(text.starts_with("rows        5000\nvariables   40\n"), "{text}");
    assert!(text.contains("type_2_diabetes  binary") && text.contains("… and 37 more"), "{text}");
}

#[test]
fn score_agrees_with_itself() {
    let folder = Folder::with_clinic();
    let json = folder.json("score clinic.truth.json clinic.csv --per-row rows.csv");
    assert_eq!(json["rows"], ROWS);
    let [total, mean, bic, free] =
        ["log_likelihood", "mean_log_likelihood", "bic", "free_parameters"].map(|key| number(&json[key]));
    assert!((mean * ROWS as f64 - total).abs() < 1e-9 * total.abs());
    assert!((total - free / 2.0 * (ROWS as f64).ln() - bic).abs() < 1e-9 * total.abs());
    let text = folder.text("rows.csv");
    let (header, rows) = table(&text);
    assert_eq!(header, ["row", "log_likelihood"]);
    assert_eq!(rows.len() as u64, ROWS);
    assert!(rows.iter().zip(1..).all(|(row, number)| row[0].parse() == Ok(number)), "rows are numbered from 1");
    let sum: f64 = rows.iter().map(|row| row[1].parse::<f64>().expect("a number")).sum();
    assert!((sum - total).abs() < 1e-9 * total.abs());
    let human = folder.succeed("score clinic.truth.json clinic.csv");
    assert!(human.contains(&format!("log-likelihood       {total:.2}")), "{human}");
}

#[test]
fn query_obeys_the_laws_of_probability() {
    let folder = Folder::with_clinic();
    let ask = |rest: &str| folder.json(&format!("query clinic.truth.json {rest}"));
    let probability = |json: &Value, node: &str, state: &str| number(&json["marginals"][node][state]);
    let prior = ask("--of obesity,metabolic");
    assert_eq!(prior["log_evidence"], 0.0);
    for node in ["obesity", "metabolic"] {
        let sum: f64 = prior["marginals"][node].as_object().expect("states").values().map(number).sum();
        assert!((sum - 1.0).abs() < 1e-12);
    }
    // P(obesity, diabetes) both ways round.
    let given = ask("--given obesity=1 --of type_2_diabetes");
    let both = ask("--given obesity=1,type_2_diabetes=1");
    assert!((number(&given["log_evidence"]) - probability(&prior, "obesity", "1").ln()).abs() < 1e-12);
    let chained = number(&given["log_evidence"]) + probability(&given, "type_2_diabetes", "1").ln();
    assert!((chained - number(&both["log_evidence"])).abs() < 1e-12);
    // The joint's rows add up to the marginal.
    let joint = ask("--of obesity,metabolic --joint");
    let obese = joint["joint"].as_array().expect("a list").iter().filter(|row| row["states"][0] == "1");
    let sum: f64 = obese.map(|row| number(&row["probability"])).sum();
    assert!((sum - probability(&prior, "obesity", "1")).abs() < 1e-12);
    // All hidden nodes by default.
    assert_eq!(ask("")["marginals"].as_object().map(serde_json::Map::len), Some(12));
    let map = ask("--given dementia=1,delirium=1 --map");
    assert_eq!(map["most_probable"]["brain"], "present");
    assert_eq!(map["most_probable"].as_object().map(serde_json::Map::len), Some(50));
    assert!(number(&map["log_probability"]) < number(&map["log_evidence"]));
    let human = folder.succeed("query clinic.truth.json --of mind");
    assert!(human.contains("node  state    probability") && human.contains("mind  absent"), "{human}");
}

#[test]
fn infer_writes_posteriors_states_and_filled_data() {
    let folder = Folder::with_clinic();
    let json = folder.json("infer clinic.truth.json clinic.csv -o posterior.csv");
    assert_eq!(json["rows"], ROWS);
    let columns: Vec<&str> = json["columns"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    let text = folder.text("posterior.csv");
    let (header, rows) = table(&text);
    assert_eq!(header[0], "row");
    assert_eq!(header[1..], columns);
    assert_eq!(rows.len() as u64, ROWS);
    let of = |name: &str| (1..header.len()).filter(|&ix| header[ix].starts_with(&format!("{name}="))).collect::<Vec<_>>();
    for row in rows.iter().step_by(97) {
        for name in ["ageing", "mood"] {
            let sum: f64 = of(name).iter().map(|&ix| row[ix].parse::<f64>().expect("a number")).sum();
            assert!((sum - 1.0).abs() < 1e-12);
        }
    }
    // The mean posterior is near the prior, as the data are from the model.
    let prior = folder.json("query clinic.truth.json --of mood");
    let mean: f64 = rows.iter().map(|row| row[of("mood")[1]].parse::<f64>().expect("a number")).sum::<f64>() / ROWS as f64;
    assert!((mean - number(&prior["marginals"]["mood"]["present"])).abs() < 0.03);

    folder.succeed("infer clinic.truth.json clinic.csv --map --of mood,heart -o states.csv");
    let states = folder.text("states.csv");
    let (header, rows) = table(&states);
    assert_eq!(header, ["row", "mood", "heart"]);
    assert!(rows.iter().all(|row| ["absent", "present"].contains(&row[1]) && ["none", "mild", "severe"].contains(&row[2])));

    folder.succeed("infer clinic.truth.json clinic.csv --impute -o filled.csv");
    let (filled, original) = (folder.text("filled.csv"), folder.text("clinic.csv"));
    let ((header, filled), (same_header, original)) = (table(&filled), table(&original));
    assert_eq!(header, same_header);
    for (filled, original) in filled.iter().zip(&original) {
        for (new, old) in filled.iter().zip(original) {
            assert!(if old.is_empty() { ["0", "1"].contains(new) } else { new == old });
        }
    }
}

#[test]
fn sample_draws_what_the_model_says() {
    let folder = Folder::with_clinic();
    assert_eq!(folder.json("sample clinic.truth.json --rows 3000 --hidden -o rows.csv")["rows"], 3000);
    let text = folder.text("rows.csv");
    let (header, rows) = table(&text);
    assert_eq!((header.len(), rows.len()), (52, 3000));
    let share = |name: &str, value: &str| {
        let ix = header.iter().position(|it| *it == name).expect("the column is there");
        rows.iter().filter(|row| row[ix] == value).count() as f64 / rows.len() as f64
    };
    let prior = folder.json("query clinic.truth.json --of obesity,mood");
    assert!((share("obesity", "1") - number(&prior["marginals"]["obesity"]["1"])).abs() < 0.04);
    assert!((share("mood", "present") - number(&prior["marginals"]["mood"]["present"])).abs() < 0.04);
    folder.succeed("sample clinic.truth.json --rows 200 --given copd=1,mood=present --hidden --missing 0.5 -o given.csv");
    let given = folder.text("given.csv");
    let (header, rows) = table(&given);
    let column = |name: &str| header.iter().position(|it| *it == name).expect("the column is there");
    assert!(rows.iter().all(|row| ["1", ""].contains(&row[column("copd")]) && row[column("mood")] == "present"));
    let empty = rows.iter().flatten().filter(|cell| cell.is_empty()).count() as f64 / (200.0 * 40.0);
    assert!((empty - 0.5).abs() < 0.05, "{empty}");
}

#[test]
fn simulate_makes_a_model_and_data_that_fit() {
    let folder = Folder::new();
    for (shape, hidden) in [("star", 1), ("double-star", 2), ("hmm", 7), ("caterpillar", 4)] {
        for family in ["gaussian", "categorical", "symmetric", "mixed"] {
            let json = folder.json(&format!("simulate --shape {shape} --family {family} --model m.json --data d.csv --rows 50"));
            assert_eq!((json["observed"].as_u64(), json["rows"].as_u64()), (Some(9), Some(50)), "{shape} {family}");
            assert_eq!(json["hidden"], hidden, "{shape} {family}");
            let score = folder.json("score m.json d.csv");
            assert_eq!(score["rows"], 50);
            assert!(score["log_likelihood"].is_f64(), "{shape} {family}: {score}");
            assert_eq!(score["free_parameters"], json["free_parameters"]);
        }
    }
    folder.write("t.nwk", b"((a,b),(c,d),e);");
    assert_eq!(folder.json("simulate --tree t.nwk --model m.json")["observed"], 5);
    assert_eq!(folder.json("compare t.nwk m.json")["same_structure"], true);
}

#[test]
fn compare_tells_the_same_from_the_different() {
    let folder = Folder::with_clinic();
    let json = folder.json("compare clinic.truth.json clinic.truth.json");
    assert_eq!(json["same_structure"], true);
    assert_eq!(json["robinson_foulds"], 0);
    for key in ["robinson_foulds_normalized", "structure_error", "parameter_error"] {
        assert_eq!(number(&json[key]), 0.0, "{key}");
    }
    assert_eq!((&json["hidden_true"], &json["hidden_estimate"]), (&json!(12), &json!(12)));
    folder.write("a.nwk", b"((a,b),(c,d),e);");
    folder.write("b.nwk", b"((a,c),(b,d),e);");
    let json = folder.json("compare a.nwk b.nwk");
    assert_eq!(json["same_structure"], false);
    assert_eq!(json["robinson_foulds"], 4);
    // They share no split but the trivial ones.
    assert_eq!(number(&json["robinson_foulds_normalized"]), 1.0);
    assert!(json["parameter_error"].is_null());
    let human = folder.succeed("compare a.nwk b.nwk");
    assert!(human.contains("same structure          no") && human.contains("only in the true tree: "), "{human}");
}

#[test]
fn exports_compare_as_the_same_and_answer_the_same() {
    let folder = Folder::with_clinic();
    let ask = |model: &str| folder.json(&format!("query {model} --given obesity=1,copd=0 --of type_2_diabetes,metabolic,mind"));
    let truth = ask("clinic.truth.json");
    for format in ["json", "bif", "xmlbif"] {
        for ending in ["", ".gz", ".zst"] {
            let name = format!("m.{format}{ending}");
            folder.succeed(&format!("export clinic.truth.json --format {format} -o {name}"));
            let json = folder.json(&format!("compare clinic.truth.json {name}"));
            assert_eq!(json["same_structure"], true, "{name}");
            assert!(number(&json["parameter_error"]) < 1e-12, "{name}");
            let answer = ask(&name);
            for (node, states) in truth["marginals"].as_object().expect("nodes") {
                for (state, value) in states.as_object().expect("states") {
                    assert!((number(value) - number(&answer["marginals"][node][state])).abs() < 1e-12, "{name} {node}={state}");
                }
            }
        }
    }
    folder.succeed("export clinic.truth.json --format newick -o m.nwk");
    folder.succeed("export clinic.truth.json -o by_ending.nwk");
    assert_eq!(folder.text("by_ending.nwk"), folder.text("m.nwk"));
    let unnamed = folder.run("export clinic.truth.json");
    assert!(unnamed.code == Some(2) && unnamed.stderr.contains("--format"), "{}", unnamed.stderr);
    let json = folder.json("compare clinic.truth.json m.nwk");
    assert_eq!((&json["same_structure"], &json["robinson_foulds"]), (&json!(true), &json!(0)));
    assert_eq!(folder.succeed("export clinic.truth.json --format json"), folder.text("clinic.truth.json"));
    let dot = folder.succeed("export clinic.truth.json --format dot");
    assert!(dot.starts_with("graph") && dot.matches(" -- ").count() == 51, "{dot}");
    let graph = folder.succeed("export clinic.truth.json --format graphml");
    assert!(graph.matches("<node ").count() == 52 && graph.matches("<edge ").count() == 51);
    assert_eq!(folder.json("export clinic.truth.json --format dot -o m.dot")["nodes"], 52);
}

#[test]
fn moments_of_halves_merge_to_the_whole() {
    let folder = Folder::with_clinic();
    let text = folder.text("clinic.csv");
    let (header, rows) = text.split_once('\n').expect("a header");
    let lines: Vec<&str> = rows.lines().collect();
    for (name, part) in [("left.csv", &lines[..1733]), ("right.csv", &lines[1733..])] {
        folder.write(name, format!("{header}\n{}\n", part.join("\n")).as_bytes());
    }
    let whole = folder.json("moments clinic.csv -o whole.moments");
    assert_eq!(whole["rows"], ROWS);
    assert_eq!(whole["bytes"], folder.read("whole.moments").len());
    assert_eq!(folder.json("moments left.csv -o left.moments")["rows"], 1733);
    folder.succeed("moments right.csv -o right.moments.gz");
    let merged = folder.json("merge left.moments right.moments.gz -o merged.moments");
    assert_eq!(merged["rows"], ROWS);
    assert_eq!(merged["bytes"], whole["bytes"]);
    assert!(folder.read("merged.moments") == folder.read("whole.moments"), "counts are exact");
    folder.succeed("merge right.moments.gz left.moments -o other.moments");
    assert!(folder.read("other.moments") == folder.read("whole.moments"), "in any order");
}

#[test]
fn completions_and_manual_pages_name_every_verb() {
    let folder = Folder::new();
    let verbs = verbs(&folder);
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = folder.succeed(&format!("completions {shell}"));
        assert!(verbs.iter().all(|verb| script.contains(verb.as_str())), "{shell}");
    }
    let json = folder.json("man -o pages");
    assert_eq!(json["pages"].as_array().map(Vec::len), Some(verbs.len() + 1));
    for verb in verbs {
        assert!(folder.text(&format!("pages/latentree-{verb}.1")).contains(".TH"), "{verb}");
    }
}

#[test]
fn the_number_of_threads_does_not_show_and_the_seed_does() {
    let folder = Folder::with_clinic();
    folder.succeed(
        "simulate --shape random --family mixed --observed 30 --model mixed.json --data mixed.csv --rows 9000 --missing 0.05",
    );
    for (name, arguments, is_random) in [
        ("sample.csv", "sample clinic.truth.json --rows 20000 --missing 0.1 --hidden -o", true),
        ("sample.parquet", "sample mixed.json --rows 9000 -o", true),
        ("simulated.csv", "simulate --shape random --observed 40 --family mixed --rows 9000 --data", true),
        ("simulated.json", "simulate --shape random --observed 40 --family mixed --model", true),
        ("clinic.moments", "moments clinic.csv -o", false),
        ("mixed.moments", "moments mixed.csv -o", false),
        ("posterior.csv", "infer clinic.truth.json clinic.csv -o", false),
        ("states.csv", "infer mixed.json mixed.csv --map -o", false),
        ("filled.csv", "infer mixed.json mixed.csv --impute -o", false),
        ("rows.csv", "score mixed.json mixed.csv --per-row", false),
        ("learned.json", "learn clinic.csv --structure clnj --bootstrap 6 -o", true),
        ("learned.nwk", "learn mixed.csv --effort quick -o", false),
        ("searched.json", "learn clinic.csv -o", true),
    ] {
        let bytes = |options: &str| {
            folder.succeed(&format!("{arguments} {name} {options}"));
            folder.read(name)
        };
        let first = bytes("--threads 1");
        assert!(first == bytes("--threads 2"), "{name} differs with 2 threads");
        assert!(first == bytes("--threads 7 --seed 0"), "{name} differs with 7 threads");
        assert_eq!(first != bytes("--seed 1"), is_random, "{name} with another seed");
    }
}

#[test]
fn pipes_and_compressed_files_give_the_same_as_files() {
    let folder = Folder::with_clinic();
    let (data, model) = (folder.read("clinic.csv"), folder.read("clinic.truth.json"));
    folder.write("d.csv.gz", &gzip(&data));
    folder.write("d.csv.zst", &zstandard(&data));
    folder.write("m.json.gz", &gzip(&model));
    let score = folder.json("score clinic.truth.json clinic.csv");
    for arguments in ["score clinic.truth.json d.csv.gz", "score m.json.gz d.csv.zst"] {
        assert_eq!(folder.json(arguments), score, "{arguments}");
    }
    let piped = |arguments: &str, stdin: &[u8]| {
        let arguments: Vec<&str> = arguments.split_whitespace().collect();
        folder.run_with(&arguments, stdin)
    };
    let json = |text: String| serde_json::from_str::<Value>(&text).expect("one object");
    for stdin in [data.clone(), gzip(&data), zstandard(&data)] {
        assert_eq!(json(piped("score clinic.truth.json - --json", &stdin).success("data")), score);
    }
    assert_eq!(json(piped("score - clinic.csv --json", &model).success("model")), score);
    assert_eq!(json(piped("describe - --json", &data).success("data"))["rows"], ROWS);

    // Standard output holds the file and nothing else, with --json too.
    for (arguments, name) in [
        ("sample clinic.truth.json --rows 300 -o", "sample.csv"),
        ("infer clinic.truth.json clinic.csv --of mood -o", "posterior.csv"),
        ("infer clinic.truth.json clinic.csv --impute -o", "filled.csv"),
        ("moments clinic.csv -o", "clinic.moments"),
        ("learn clinic.csv --structure nj -o", "learned.json"),
        ("simulate --shape star --data", "simulated.csv"),
        ("simulate --shape star --model", "simulated.json"),
        ("export clinic.truth.json --format bif -o", "clinic.bif"),
    ] {
        folder.succeed(&format!("{arguments} {name}"));
        for json in ["", " --json"] {
            let outcome = folder.run(&format!("{arguments} -{json}"));
            assert_eq!(outcome.code, Some(0), "{arguments}: {}", outcome.stderr);
            assert!(outcome.stdout == folder.read(name), "{arguments}{json}");
        }
    }
    let merged = folder.run("merge clinic.moments -o -");
    assert!(merged.stdout == folder.read("clinic.moments"));
    let moments = piped("merge - -o again.moments", &folder.read("clinic.moments"));
    assert_eq!(moments.code, Some(0), "{}", moments.stderr);
    assert!(folder.read("again.moments") == folder.read("clinic.moments"));

    // Compressed outputs hold the same, and read back.
    for ending in ["gz", "zst"] {
        folder.succeed(&format!("sample clinic.truth.json --rows 300 -o s.csv.{ending}"));
        let packed = folder.read(&format!("s.csv.{ending}"));
        let mut plain = Vec::new();
        if ending == "gz" {
            flate2::read::GzDecoder::new(&packed[..]).read_to_end(&mut plain).expect("gzip");
        } else {
            plain = zstd::decode_all(&packed[..]).expect("Zstandard");
        }
        assert!(plain == folder.read("sample.csv"), "{ending}");
        assert_eq!(folder.json(&format!("score clinic.truth.json s.csv.{ending}"))["rows"], 300);
    }
    let scores: Vec<Value> = ["csv", "tsv", "parquet", "arrow", "feather"]
        .map(|ending| {
            folder.succeed(&format!("sample clinic.truth.json --rows 300 -o s.{ending}"));
            folder.json(&format!("score clinic.truth.json s.{ending}"))
        })
        .to_vec();
    assert!(scores.iter().all(|score| *score == scores[0]), "{scores:?}");
}

#[test]
fn quiet_leaves_standard_error_empty() {
    let folder = Folder::with_clinic();
    folder.write("d.csv", b"obesity,copd,empty\n0,1,\n1,0,\n");
    for arguments in ["describe d.csv", "score clinic.truth.json d.csv", "infer clinic.truth.json d.csv -o o.csv"] {
        assert!(folder.run(arguments).stderr.starts_with("note: "), "{arguments} has something to say");
        let quiet = folder.run(&format!("{arguments} --quiet"));
        assert_eq!((quiet.code, quiet.stderr.as_str()), (Some(0), ""), "{arguments}");
    }
}

#[test]
fn a_reader_that_stops_early_is_no_failure() {
    let folder = Folder::with_clinic();
    for arguments in [
        vec!["sample", "clinic.truth.json", "--rows", "200000", "-o", "-"],
        vec!["infer", "clinic.truth.json", "clinic.csv", "-o", "-"],
        vec!["export", "clinic.truth.json", "--format", "json"],
        vec!["completions", "bash"],
        vec!["moments", "clinic.csv", "-o", "-"],
    ] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_latentree"))
            .args(&arguments)
            .current_dir(folder.path(""))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut out = std::io::BufReader::with_capacity(16, child.stdout.take().expect("standard output is piped"));
        let mut line = Vec::new();
        out.read_until(b'\n', &mut line).expect("a line can be read");
        drop(out);
        let output = child.wait_with_output().expect("the program ends");
        assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]), "{arguments:?}");
    }
}

#[test]
fn an_older_output_stays_as_it_was_when_something_fails() {
    let folder = Folder::with_clinic();
    folder.write("out.csv", b"old");
    folder.write("bad.csv", b"obesity\n0\n1\n7\n");
    assert_eq!(folder.run("infer clinic.truth.json bad.csv -o out.csv --unseen error").code, Some(2));
    assert_eq!(folder.run("score clinic.truth.json bad.csv --per-row out.csv --unseen error").code, Some(2));
    assert_eq!(folder.text("out.csv"), "old");
    folder.succeed("sample clinic.truth.json --rows 2 -o out.csv");
    assert_eq!(folder.text("out.csv").lines().count(), 3);
}

#[test]
fn report_writes_one_page_with_everything_in_it() {
    let folder = Folder::with_clinic();
    let json = folder.json("report clinic.truth.json clinic.csv --title Patients -o page.html");
    assert_eq!(json["observed"], 40);
    assert_eq!(json["hidden"], 12);
    let page = folder.text("page.html");
    assert_eq!(json["bytes"], page.len());
    assert!(page.starts_with("<!doctype html>") && page.contains("<title>Patients"), "{}", &page[..200]);
    assert!(page.contains("chronic_kidney_disease") && !page.contains(" src=\"") && !page.contains("@import"));
    // The page's fit is that of score, and its numbers do not depend on threads.
    let score = folder.json("score clinic.truth.json clinic.csv");
    assert!(page.contains(&format!("\"logLikelihood\":{}", score["log_likelihood"])));
    folder.succeed("report clinic.truth.json clinic.csv --title Patients -o again.html --threads 1");
    assert!(folder.text("again.html") == page);
    let human = folder.succeed("report clinic.truth.json -o alone.html");
    assert_eq!(human, "page of 52 nodes written to alone.html\n");
    assert!(folder.succeed("report clinic.truth.json -o -").starts_with("<!doctype html>"));
    folder.succeed("export clinic.truth.json --format newick -o tree.nwk");
    folder.succeed("report tree.nwk -o tree.html");
    folder.succeed("export clinic.truth.json --format bif -o clinic.bif");
    folder.succeed("report clinic.bif clinic.csv -o bif.html.gz");
}

#[test]
fn joined_labels_and_encodings_are_the_same_for_a_model_and_its_data() {
    let folder = Folder::new();
    let row = |row: usize| format!("{},{},{}\n", ["é", "b", "é", "r"][row % 4], ["p", "q"][row / 2 % 2], ["u", "v"][row / 2 % 2]);
    let text: String =
        (0..200).map(|ix| if ix % 4 == 3 { row(ix).replacen('r', &format!("r{ix}"), 1) } else { row(ix) }).collect();
    let latin: Vec<u8> = format!("word,x,y\n{text}").chars().map(|letter| letter as u32 as u8).collect();
    folder.write("d.csv", &latin);
    folder.succeed("learn d.csv --encoding latin-1 --min-count 5 -o m.json");
    let model = folder.text("m.json");
    assert!(model.contains("\"(other)\"") && model.contains("\"é\"") && !model.contains("\"r3\""), "{model}");
    folder.write("new.csv", b"word,x,y\nnew,p,u\nb,q,v\n");
    assert_eq!(folder.json("score m.json new.csv")["impossible_rows"], 0);
}

#[test]
fn only_numbers_are_counted_as_not_zero() {
    let folder = Folder::new();
    folder.write("labels.csv", b"x,y\nred,a\nblue,b\nred,b\n");
    assert!(!folder.succeed("describe labels.csv").contains("not zero"));
    folder.write("mixed.csv", b"x,y\nred,0\nblue,1\nred,0\nblue,0\n");
    let text = folder.succeed("describe mixed.csv");
    assert!(text.contains("not zero    1 cell (25.00% of the column that can be zero)"), "{text}");
}

/// A table with a name with a comma, a name with an equals sign, and a number, which follow one state.
fn with_odd_names() -> Folder {
    let folder = Folder::new();
    let mut text = "\"x,y\",a=b,y,c,size\n".to_owned();
    for row in 0..400_u32 {
        let state = u32::from(row % 5 < 2);
        let cell = |ix: u32| if (row * 7 + ix * 11).is_multiple_of(13) { 1 - state } else { state };
        let size = f64::from(10 * state) + f64::from(row * 37 % 100) / 25.0 + 0.125;
        text += &format!("{},{},{},{},{size}\n", cell(0), cell(1), cell(2), cell(3));
    }
    folder.write("odd.csv", text.as_bytes());
    folder.succeed("learn odd.csv --structure likelihood --kind size=continuous -o m.json");
    folder
}

#[test]
fn names_may_contain_commas_and_equals_signs() {
    let folder = with_odd_names();
    let ask = |arguments: &[&str]| {
        let arguments: Vec<&str> = ["query", "m.json", "--json"].iter().chain(arguments).copied().collect();
        serde_json::from_str::<Value>(&folder.run_with(&arguments, b"").success("query")).expect("JSON")
    };
    let apart = ask(&["--given", "x,y=1", "--given", "a=b=1", "--of", "c", "--of", "y"]);
    assert_eq!(ask(&["--given", "a=b=1,x,y=1", "--of", "c,y"]), apart);
    assert_ne!(apart["marginals"]["c"], ask(&["--given", "a=b=1", "--of", "c"])["marginals"]["c"]);
    let marginals = ask(&["--of", "y,x,y"]);
    let nodes = marginals["marginals"].as_object().expect("nodes");
    assert!(nodes.len() == 2 && nodes.contains_key("x,y") && nodes.contains_key("y"), "{marginals}");
    let failed = folder.run("query m.json --given x,z=1 --of c");
    assert!(failed.code == Some(2) && failed.stderr.contains("\"x\" is not name=value"), "{}", failed.stderr);
}

#[test]
fn numbers_are_told_by_mean_and_variance_and_no_evidence_is_certain() {
    let folder = with_odd_names();
    let human = folder.succeed("query m.json --of size,c");
    assert!(human.starts_with("log-likelihood of the evidence  0\n"), "{human}");
    let header = |names: &[&str]| human.lines().any(|line| line.split_whitespace().eq(names.iter().copied()));
    assert!(header(&["node", "state", "probability"]) && header(&["node", "mean", "variance"]), "{human}");
    let described = folder.succeed("describe m.json");
    assert!(!described.contains('–'), "{described}");
}

#[test]
fn learning_says_which_files_were_written() {
    let folder = with_odd_names();
    let human = folder.succeed("learn odd.csv --structure likelihood -o m.json --report page.html");
    assert!(human.contains("written              m.json\nwritten              page.html\n"), "{human}");
}

#[test]
fn a_mistake_in_the_arguments_is_an_object_with_json() {
    let folder = Folder::new();
    for (arguments, part) in
        [("learn --json", "--output"), ("describe --json --wieghts w d.csv", "--wieghts"), ("lern --json", "'lern'")]
    {
        let outcome = folder.run(arguments);
        assert_eq!(outcome.code, Some(2), "{outcome:?}");
        let text = String::from_utf8(outcome.stdout).expect("text");
        let json: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{arguments}: {error}: {text}"));
        assert!(json["error"].as_str().is_some_and(|it| it.contains(part) && !it.contains("Usage")), "{json}");
    }
    assert_eq!(folder.run("learn").stdout, b"");
}

#[test]
fn numbers_that_the_kind_binary_joins_are_told() {
    let folder = Folder::new();
    folder.write("d.csv", b"x,y,z\n0,0,1\n1,1,2\n2,0,1\n0,1,2\n");
    let outcome = folder.run("describe d.csv --kind *=binary");
    assert!(outcome.stderr.contains("column \"x\": as binary, every number above 0 counts as 1"), "{outcome:?}");
    assert_eq!(outcome.stderr.lines().count(), 1, "{outcome:?}");
}

#[test]
fn values_that_mean_missing_are_an_option_of_a_model_and_notes_name_options() {
    let folder = Folder::new();
    let row = |row: u32| {
        let age = if row.is_multiple_of(9) { 99 } else { 20 + row * 7 % 50 };
        let answer = ["no", "yes", "unknown"][(row % 7 % 3) as usize];
        format!("{age},{answer},{},{}\n", row % 2, row % 2)
    };
    let rows: String = (0..200).map(row).collect();
    folder.write("d.csv", format!("age,answer,x,copy\n{rows}").as_bytes());
    let plain = folder.run("describe d.csv");
    assert!(plain.stderr.contains("which may mean missing; if so, add --na age=99"), "{plain:?}");
    let described = folder.json("describe d.csv --na age=99 --na unknown");
    let missing = |ix: usize| described["variables"][ix]["missing"].as_u64().unwrap();
    assert_eq!((missing(0), missing(2)), (23, 0));
    assert_eq!(described["variables"][1]["states"], serde_json::json!(["no", "yes"]));
    let negative = folder.json("describe d.csv --na -9,99");
    assert_eq!(negative["variables"][0]["missing"], 23);
    let learned = folder.json("learn d.csv --na age=99 --na unknown --structure chow-liu -o m.json");
    let warnings = learned["warnings"].to_string();
    assert!(warnings.contains("\\\"x\\\" and \\\"copy\\\"") && warnings.contains("--kind copy=ignore"), "{warnings}");
    let model: Value = serde_json::from_str(&folder.text("m.json")).unwrap();
    assert!(model["provenance"].to_string().contains("\"na\":[\"age=99\",\"unknown\"]"), "{}", model["provenance"]);
}
