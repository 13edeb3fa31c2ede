//! Mistakes: every one ends with status 2 and one message that says what is wrong and where, and leaves no file behind.

mod compressed;
mod learn;
mod legitimate;
mod mixture;
mod models;
mod moments;
mod options;
mod outputs;
mod report;
mod sparse;
mod tables;
mod text;
mod trees;

use std::collections::HashSet;

use crate::harness::Folder;

/// One mistake.
struct Case {
    name: &'static str,
    arguments: String,
    files: Vec<(&'static str, Vec<u8>)>,
    stdin: &'static [u8],
    says: Vec<&'static str>,
}

/// A mistake in these arguments, separated by blanks. `model.json` ([`MODEL`]) and `data.csv` ([`DATA`]) are there.
fn case(name: &'static str, arguments: impl Into<String>) -> Case {
    let files = vec![("model.json", MODEL.into()), ("data.csv", DATA.into())];
    Case { name, arguments: arguments.into(), files, stdin: b"", says: Vec::new() }
}

impl Case {
    /// Adds a file, or replaces it.
    fn file(mut self, name: &'static str, bytes: impl Into<Vec<u8>>) -> Self {
        self.files.retain(|(earlier, _)| *earlier != name);
        self.files.push((name, bytes.into()));
        self
    }

    fn stdin(mut self, bytes: &'static [u8]) -> Self {
        self.stdin = bytes;
        self
    }

    /// What the message must contain.
    fn says<const N: usize>(mut self, parts: [&'static str; N]) -> Self {
        self.says.extend(parts);
        self
    }

    /// What is wrong with how the program took the mistake.
    fn check(&self) -> Result<String, String> {
        let folder = Folder::new();
        for (name, bytes) in &self.files {
            folder.write(name, bytes);
        }
        std::fs::create_dir(folder.path("folder")).expect("a folder can be made");
        let before = folder.content();
        let outcome = folder.run_with(&self.arguments.split_whitespace().collect::<Vec<_>>(), self.stdin);
        let message = outcome.stderr.trim_end();
        let fail = |what: String| Err(format!("{}: {what}\n  latentree {}\n  {message}", self.name, self.arguments));
        if outcome.code != Some(2) {
            return fail(format!("ends with {:?}, not 2", outcome.code));
        }
        if self.arguments.contains("--json") {
            let object: serde_json::Value = serde_json::from_slice(&outcome.stdout).unwrap_or_default();
            if !object["error"].as_str().is_some_and(|error| message.contains(error)) {
                return fail("no JSON object with the error on standard output".to_owned());
            }
        } else if !outcome.stdout.is_empty() {
            return fail(format!("prints {} bytes on standard output", outcome.stdout.len()));
        }
        let errors = message.lines().filter(|line| line.starts_with("error:")).count();
        let is_usage = message.contains("For more information, try '--help'");
        let others = message.lines().filter(|line| !line.starts_with("error:") && !line.starts_with("note:")).count();
        if errors != 1 || (others > 0 && !is_usage) {
            return fail("not one message of one line".to_owned());
        }
        if message.len() > 900 {
            return fail(format!("a message of {} bytes", message.len()));
        }
        if let Some(missing) = self.says.iter().find(|part| !message.contains(**part)) {
            return fail(format!("does not say {missing:?}"));
        }
        if folder.content() != before {
            return fail("leaves files behind or changes them".to_owned());
        }
        Ok(format!("{:<40} {message}", self.name))
    }
}

fn all() -> Vec<Case> {
    [
        tables::cases(),
        text::cases(),
        sparse::cases(),
        compressed::cases(),
        models::cases(),
        trees::cases(),
        moments::cases(),
        options::cases(),
        outputs::cases(),
        report::cases(),
        learn::cases(),
        mixture::cases(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[test]
#[expect(clippy::print_stdout, reason = "with --nocapture all messages can be read as a user would")]
fn every_mistake_ends_with_status_2_one_clear_message_and_no_file() {
    let cases = all();
    let results: Vec<Result<String, String>> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..4)
            .map(|worker| {
                let cases = &cases;
                scope.spawn(move || cases.iter().skip(worker).step_by(4).map(Case::check).collect::<Vec<_>>())
            })
            .collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("a check does not panic")).collect()
    });
    let failures: Vec<&String> = results.iter().filter_map(|result| result.as_ref().err()).collect();
    results.iter().flatten().for_each(|message| println!("{message}"));
    assert!(
        failures.is_empty(),
        "{} of {}:\n{}",
        failures.len(),
        cases.len(),
        failures.iter().map(|it| it.as_str()).collect::<Vec<_>>().join("\n")
    );
}

#[test]
fn there_are_over_a_hundred_different_mistakes() {
    let cases = all();
    let names: HashSet<&str> = cases.iter().map(|case| case.name).collect();
    assert_eq!(names.len(), cases.len(), "every case has its own name");
    assert!(cases.len() >= 100, "{} cases", cases.len());
}

/// A model with a hidden node over a column of every kind; `a` is never 1 where `h` is low.
const MODEL: &str = r#"{"format":"latentree","version":1,"kind":"latent-tree",
 "nodes":[{"name":"h","observed":false,"kind":"categorical","states":["low","high"]},
  {"name":"a","observed":true,"kind":"binary","states":["0","1"]},
  {"name":"b","observed":true,"kind":"categorical","states":["red","green","blue"]},
  {"name":"n","observed":true,"kind":"count"},
  {"name":"z","observed":true,"kind":"continuous"}],
 "edges":[{"source":"h","target":"a"},{"source":"h","target":"b"},{"source":"h","target":"n"},{"source":"h","target":"z"}],
 "root":"h",
 "tables":{"h":{"prior":[0.4,0.6]},"a":{"given":[[1.0,0.0],[0.2,0.8]]},"b":{"given":[[0.5,0.25,0.25],[0.1,0.3,0.6]]},
  "n":{"rates":[1.0,5.0]},"z":{"means":[0.0,2.0],"variances":[1.0,0.5]}}}
"#;

/// Rows for [`MODEL`], with a column of weights.
const DATA: &str = "a,b,n,z,w\n0,red,2,0.5,1\n1,blue,7,2.25,0.5\n,green,,1.5,2\n";

/// A model of discrete nodes alone, as BIF.
const BIF: &str = "network test { }
variable h { type discrete [ 2 ] { 0, 1 }; }
variable a { type discrete [ 2 ] { 0, 1 }; }
variable b { type discrete [ 2 ] { 0, 1 }; }
probability ( h ) { table 0.4, 0.6; }
probability ( a | h ) { (0) 0.9, 0.1; (1) 0.2, 0.8; }
probability ( b | h ) { (0) 0.7, 0.3; (1) 0.1, 0.9; }
";
