//! A soak: random tables and random options through the program, verb after verb.
//!
//! Each case is a table (kinds mixed, cells missing, columns constant, copied, unique or empty, odd names) and some options of
//! `learn`; the model then goes through `score`, `describe`, `infer`, `sample` and `report`. A case fails if
//! - a verb ends with anything but 0 or 2, or does not end;
//! - `score` or `describe` give another log-likelihood than `learn`;
//! - the model file holds a number that is none;
//! - BIC is below that of independent columns and no warning says so.
//!
//! The files of a failed case stay in the folder that is named.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use clap::Args;
use latentree::Error;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Normal, Poisson};
use serde_json::Value;

use crate::record::Results;

/// What a soak takes.
#[derive(Debug, Clone, Args)]
pub(crate) struct SoakArgs {
    /// How long new cases are begun
    #[arg(long, default_value_t = 10.0)]
    minutes: f64,
    /// Cases at most
    #[arg(long, default_value_t = 2000)]
    cases: u64,
    /// Number of the first case; a case follows from its number alone
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// Keep the files of every case
    #[arg(long)]
    keep: bool,
    /// The program [default: latentree beside this one]
    #[arg(long)]
    program: Option<PathBuf>,
}

/// A verb that takes longer than this has hung.
const LONGEST: Duration = Duration::from_secs(120);

/// Runs the cases, as many at a time as there are cores.
pub(crate) fn run(args: &SoakArgs) -> Result<Results, Error> {
    let beside = || std::env::current_exe().ok().map(|it| it.with_file_name("latentree"));
    let program = args.program.clone().or_else(beside).unwrap_or_else(|| PathBuf::from("latentree"));
    let folder = std::env::temp_dir().join(format!("latentree-soak-{}", std::process::id()));
    let start = Instant::now();
    let limit = Duration::from_secs_f64(60.0 * args.minutes);
    let tally = Mutex::new(BTreeMap::<String, (u64, u64)>::new());
    let (failures, done) = (Mutex::new(Vec::new()), AtomicU64::new(0));
    let count = |number: u64, what: &str| {
        if let Ok(mut tally) = tally.lock() {
            tally.entry(what.to_owned()).or_insert((0, number)).0 += 1;
        }
    };
    let next = AtomicU64::new(args.first);
    let worker = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= args.first.saturating_add(args.cases) || start.elapsed() > limit {
                return;
            }
            let own = folder.join(number.to_string());
            let problems = match std::fs::create_dir_all(&own) {
                Ok(()) => Case { program: &program, folder: &own, number }.run(&|what| count(number, what)),
                Err(error) => vec![format!("cannot create {}: {error}", own.display())],
            };
            done.fetch_add(1, Ordering::Relaxed);
            if problems.is_empty() && !args.keep {
                let _ = std::fs::remove_dir_all(&own);
            }
            for problem in problems {
                crate::note(&format!("case {number}: {problem} ({})", own.display()));
                if let Ok(mut failures) = failures.lock() {
                    failures.push(number);
                }
            }
        }
    };
    std::thread::scope(|scope| {
        (0..std::thread::available_parallelism().map_or(1, usize::from)).for_each(|_| {
            scope.spawn(worker);
        });
    });
    let _ = std::fs::remove_dir(&folder);
    let (n_cases, failures) = (done.into_inner(), failures.into_inner().unwrap_or_default());
    let mut table = Results::new("Soak: random tables and options through every verb", &["what", "times", "first case"]);
    table.row(["cases".to_owned(), n_cases.to_string(), args.first.to_string()]);
    for (what, (times, first)) in tally.into_inner().unwrap_or_default() {
        table.row([what, times.to_string(), first.to_string()]);
    }
    let first = failures.first().map_or("–".to_owned(), u64::to_string);
    table.row(["problems".to_owned(), failures.len().to_string(), first]);
    crate::note(&format!("{} passed, {} failed", n_cases - distinct(&failures), distinct(&failures)));
    if failures.is_empty() {
        return Ok(table);
    }
    Err(Error::option("soak", format!("cases {failures:?} failed:\n{}", table.markdown())))
}

fn distinct(numbers: &[u64]) -> u64 {
    numbers.iter().collect::<std::collections::BTreeSet<_>>().len() as u64
}

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Content {
    Bits,
    Words(usize),
    Likert(usize),
    Number,
    Count,
    Constant,
    Unique,
    Empty,
    Copy,
    Boolean,
    Date,
}

/// A table as text cells, `None` for missing ones.
struct RandomTable {
    names: Vec<String>,
    columns: Vec<Vec<Option<String>>>,
}

struct Case<'a> {
    program: &'a Path,
    folder: &'a Path,
    number: u64,
}

/// How a verb ended.
struct Outcome {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Case<'_> {
    fn run(&self, count: &dyn Fn(&str)) -> Vec<String> {
        let mut rng = ChaCha8Rng::seed_from_u64(self.number);
        let table = random_table(&mut rng);
        let (data, model) = (self.folder.join("data.csv"), self.folder.join("model.json"));
        if let Err(error) = std::fs::write(&data, table.csv()) {
            return vec![error.to_string()];
        }
        let options = random_options(&mut rng);
        // Rows that are held out are not learned from, and so not in learn's log-likelihood.
        let is_whole = !options.iter().any(|option| option == "--validation");
        let mut problems = Vec::new();
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let mut learn = vec!["learn".to_owned(), text(&data), "-o".to_owned(), text(&model), "--json".to_owned()];
        learn.extend(options);
        let _ = std::fs::write(self.folder.join("command"), learn.join(" "));
        let learned = self.verb(&learn, &mut problems);
        count(&format!("learn: exit {:?}", learned.code.unwrap_or(-1)));
        if learned.code == Some(2) {
            count(&format!("refused: {}", reason(&learned.err)));
        }
        let Some(result) = self.json(&learned, &mut problems) else { return problems };
        let Ok(written) = std::fs::read_to_string(&model) else {
            problems.push("learn ended well and wrote no model".to_owned());
            return problems;
        };
        let Ok(file) = serde_json::from_str::<Value>(&written) else {
            problems.push("the model file is not JSON".to_owned());
            return problems;
        };
        if file["kind"] != "latent-tree" {
            count("learn: a tree alone");
            return problems;
        }
        if has_null(&file["tables"]) {
            problems.push("the model's tables hold a number that is none".to_owned());
        }
        let log_likelihood = result["log_likelihood"].as_f64();
        if log_likelihood.is_none() {
            problems.push("learn gives no log-likelihood".to_owned());
        }
        if let Some(problem) = below_independence(&table, &file, &result).filter(|_| is_whole) {
            problems.push(problem);
        }
        for verb in [["score"].as_slice(), ["describe"].as_slice()] {
            let mut arguments: Vec<String> = verb.iter().map(|&it| it.to_owned()).collect();
            arguments.extend([text(&model), text(&data), "--json".to_owned()]);
            let outcome = self.verb(&arguments, &mut problems);
            let Some(found) = self.json(&outcome, &mut problems) else {
                problems.push(format!("{} refuses the data that the model was learned from: {}", verb[0], outcome.err.trim()));
                continue;
            };
            let found = found["log_likelihood"].as_f64().or(found["fit"]["log_likelihood"].as_f64());
            if let (true, Some(a), Some(b)) = (is_whole, log_likelihood, found)
                && (a - b).abs() > 1e-6 * a.abs().max(1.0)
            {
                problems.push(format!("{} gives a log-likelihood of {b}, learn {a}", verb[0]));
            }
        }
        let out = self.folder.join("out.csv");
        let how: &[&str] = [&[][..], &["--map"], &["--impute"]][rng.random_range(0..3)];
        let mut verbs: Vec<Vec<String>> = Vec::new();
        verbs.push(
            [&["infer", &text(&model), &text(&data), "-o", &text(&out)][..], how]
                .concat()
                .iter()
                .map(|&it| it.to_owned())
                .collect(),
        );
        let sampled = self.folder.join("sampled.csv");
        let sample = ["sample", &text(&model), "--rows", "30", "-o", &text(&sampled), "--hidden"];
        verbs.push(sample.iter().map(|&it| it.to_owned()).collect());
        let page = self.folder.join("page.html");
        verbs.push(["report", &text(&model), &text(&data), "-o", &text(&page)].iter().map(|&it| it.to_owned()).collect());
        for verb in verbs {
            let outcome = self.verb(&verb, &mut problems);
            count(&format!("{}: exit {}", verb[0], outcome.code.unwrap_or(-1)));
            let no_hidden = file["nodes"].as_array().is_some_and(|nodes| nodes.iter().all(|node| node["observed"] == true));
            if outcome.code == Some(2) && !(verb[0] == "infer" && no_hidden) {
                problems.push(format!("{} refuses its own model: {}", verb[0], outcome.err.trim()));
            }
        }
        problems
    }

    /// Runs a verb and looks at how it ends.
    fn verb(&self, arguments: &[String], problems: &mut Vec<String>) -> Outcome {
        let (out, err) = (self.folder.join("stdout"), self.folder.join("stderr"));
        let begun = std::fs::File::create(&out).and_then(|out| {
            let err = std::fs::File::create(&err)?;
            Command::new(self.program)
                .args(arguments)
                .args(["--threads", "1"])
                .stdin(Stdio::null())
                .stdout(out)
                .stderr(err)
                .spawn()
        });
        let mut child = match begun {
            Ok(child) => child,
            Err(error) => {
                problems.push(format!("{} does not start: {error}", self.program.display()));
                return Outcome { code: None, out: String::new(), err: String::new() };
            }
        };
        let start = Instant::now();
        let code = loop {
            match child.try_wait() {
                Ok(Some(status)) => break status.code(),
                Ok(None) if start.elapsed() > LONGEST => {
                    let _ = child.kill();
                    let _ = child.wait();
                    problems.push(format!("latentree {} did not end in {} s", arguments.join(" "), LONGEST.as_secs()));
                    break None;
                }
                Ok(None) => std::thread::sleep(Duration::from_millis(2)),
                Err(error) => {
                    problems.push(error.to_string());
                    break None;
                }
            }
        };
        let read =
            |path: &Path| std::fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
        let outcome = Outcome { code, out: read(&out), err: read(&err) };
        if !matches!(code, Some(0 | 2)) && problems.is_empty() {
            problems.push(format!("latentree {} ended with {code:?}: {}", arguments.join(" "), outcome.err.trim()));
        }
        outcome
    }

    /// The result of a verb that ended well.
    fn json(&self, outcome: &Outcome, problems: &mut Vec<String>) -> Option<Value> {
        if outcome.code != Some(0) {
            return None;
        }
        match serde_json::from_str(&outcome.out) {
            Ok(value) => Some(value),
            Err(error) => {
                problems.push(format!("the result is not JSON: {error}"));
                None
            }
        }
    }
}

/// The last error of a message without what is particular to a case: paths, names and numbers.
fn reason(err: &str) -> String {
    let error = err.lines().rev().find_map(|line| line.strip_prefix("error: ")).unwrap_or("no message");
    let mut words = Vec::new();
    for word in error.split_whitespace().filter(|word| !word.starts_with('/')) {
        words.push(if word.chars().any(|c| c.is_ascii_digit() || c == '"') { "…" } else { word });
    }
    words.dedup();
    words.join(" ").chars().take(100).collect()
}

fn has_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.iter().any(has_null),
        // A node without a parent has none.
        Value::Object(fields) => fields.iter().any(|(name, value)| name != "parent" && has_null(value)),
        _ => false,
    }
}

fn random_table(rng: &mut ChaCha8Rng) -> RandomTable {
    let n_columns = if rng.random_bool(0.8) { rng.random_range(1..=15) } else { rng.random_range(1..=60) };
    let n_rows = match rng.random_range(0..10) {
        0 => rng.random_range(0..4),
        1..=6 => rng.random_range(4..400),
        _ => rng.random_range(400..=3000),
    };
    let n_hidden = rng.random_range(1..=4);
    let strength = rng.random_range(0.0..1.0);
    let hidden: Vec<Vec<usize>> = (0..n_hidden).map(|_| (0..n_rows).map(|_| rng.random_range(0..3)).collect()).collect();
    let missing = if rng.random_bool(0.5) { 0.0 } else { rng.random_range(0.0..0.6) };
    let one_kind = rng.random_bool(0.4).then(|| content(rng));
    let (mut names, mut columns) = (Vec::new(), Vec::<Vec<Option<String>>>::new());
    for ix in 0..n_columns {
        let what = match one_kind {
            Some(kind) if rng.random_bool(0.9) => kind,
            _ => content(rng),
        };
        let own = &hidden[rng.random_range(0..n_hidden)];
        let mut column: Vec<Option<String>> = (0..n_rows).map(|row| cell(what, own[row], strength, row, rng)).collect();
        if let (Content::Copy, Some(other)) = (what, columns.first()) {
            column.clone_from(other);
        }
        column.iter_mut().for_each(|cell| {
            if rng.random_bool(missing) {
                *cell = None;
            }
        });
        columns.push(column);
        names.push(name(ix, rng));
    }
    RandomTable { names, columns }
}

fn content(rng: &mut ChaCha8Rng) -> Content {
    match rng.random_range(0..20) {
        0..=4 => Content::Bits,
        5..=7 => Content::Words(rng.random_range(2..6)),
        8 => Content::Words(rng.random_range(6..60)),
        9..=10 => Content::Likert(rng.random_range(3..8)),
        11..=13 => Content::Number,
        14 => Content::Count,
        15 => Content::Constant,
        16 => Content::Unique,
        17 => [Content::Empty, Content::Date][rng.random_range(0..2)],
        18 => Content::Copy,
        _ => Content::Boolean,
    }
}

fn cell(what: Content, state: usize, strength: f64, row: usize, rng: &mut ChaCha8Rng) -> Option<String> {
    let told = rng.random_bool(strength);
    let of = |n: usize, rng: &mut ChaCha8Rng| if told { state % n } else { rng.random_range(0..n) };
    Some(match what {
        Content::Bits | Content::Copy => of(2, rng).to_string(),
        Content::Words(n) => format!("w{}", of(n, rng)),
        Content::Likert(n) => (1 + of(n, rng)).to_string(),
        Content::Number => {
            let normal = Normal::new(if told { 3.0 * state as f64 } else { 0.0 }, 1.0).ok()?;
            format!("{:.4}", normal.sample(rng))
        }
        Content::Count => {
            let rate = if told { 1.0 + 6.0 * state as f64 } else { 3.0 };
            format!("{}", Poisson::new(rate).ok()?.sample(rng))
        }
        Content::Constant => "same".to_owned(),
        Content::Unique => format!("id{row}"),
        Content::Empty => return None,
        Content::Boolean => ["True", "False"][of(2, rng)].to_owned(),
        Content::Date => format!("2024-{:02}-{:02}", 1 + of(12, rng), 1 + row % 28),
    })
}

fn name(ix: usize, rng: &mut ChaCha8Rng) -> String {
    const ODD: [&str; 10] =
        ["h1", "a b", "x,y", "q\"uote", "naïve ☃", "(root)", "semi;colon:1", "line\nbreak", "'", "<script>alert(1)</script>"];
    if rng.random_bool(0.1) { format!("{}{ix}", ODD[rng.random_range(0..ODD.len())]) } else { format!("x{ix}") }
}

fn random_options(rng: &mut ChaCha8Rng) -> Vec<String> {
    const LEARNERS: [&str; 12] =
        ["likelihood", "chow-liu", "nj", "snj", "rg", "clrg", "clnj", "clblind", "plrg", "reg-clrg", "reg-clnj", "hclt"];
    const OTHERS: [&[&str]; 16] = [
        &["--hidden-states", "2"],
        &["--hidden-states", "3"],
        &["--hidden-states", "5"],
        &["--contract", "none"],
        &["--contract", "0.7"],
        &["--parameters", "moments"],
        &["--parameters", "em"],
        &["--start", "random", "--restarts", "2"],
        &["--em-iterations", "20"],
        &["--em-smoothing", "0"],
        &["--em-smoothing", "1"],
        &["--bootstrap", "4"],
        &["--significance", "0"],
        &["--validation", "0.3"],
        &["--distance", "symmetric"],
        &["--decomposition", "tpm"],
    ];
    let mut options = Vec::new();
    if rng.random_bool(0.5) {
        options.extend(["--structure", LEARNERS[rng.random_range(0..LEARNERS.len())]]);
    }
    for _ in 0..[0, 0, 1, 1, 2, 3][rng.random_range(0..6)] {
        let other = OTHERS[rng.random_range(0..OTHERS.len())];
        // An option that is given twice is an error of its own.
        if !options.contains(&other[0]) {
            options.extend(other);
        }
    }
    options.into_iter().map(str::to_owned).collect()
}

impl RandomTable {
    fn csv(&self) -> String {
        let quoted = |cell: &str| format!("\"{}\"", cell.replace('"', "\"\""));
        let mut text = self.names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(",") + "\n";
        for row in 0..self.columns.first().map_or(0, Vec::len) {
            let cells: Vec<&str> = self.columns.iter().map(|column| column[row].as_deref().unwrap_or("")).collect();
            // A line of one empty cell is no line.
            let line = if cells == [""] { "NA".to_owned() } else { cells.join(",") };
            let _ = writeln!(text, "{line}");
        }
        text
    }
}

/// Whether BIC is below that of independent columns and nothing says so.
fn below_independence(table: &RandomTable, file: &Value, result: &Value) -> Option<String> {
    let bic = result["bic"].as_f64()?;
    let n_rows = result["rows"].as_f64()?;
    let (mut log_likelihood, mut parameters) = (0.0, 0.0);
    for variable in file["schema"]["columns"].as_array().or(file["schema"]["variables"].as_array())? {
        let column = table.names.iter().position(|name| Some(name.as_str()) == variable["name"].as_str())?;
        let cells: Vec<&str> = table.columns[column].iter().flatten().map(String::as_str).collect();
        match variable["kind"].as_str()? {
            "continuous" => {
                let values: Vec<f64> = cells.iter().filter_map(|cell| cell.parse().ok()).collect();
                let n = values.len() as f64;
                let mean = values.iter().sum::<f64>() / n;
                let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
                if variance <= 0.0 {
                    return None;
                }
                log_likelihood -= 0.5 * n * ((std::f64::consts::TAU * variance).ln() + 1.0);
                parameters += 2.0;
            }
            "count" => {
                let values: Vec<f64> = cells.iter().filter_map(|cell| cell.parse().ok()).collect();
                let mean = values.iter().sum::<f64>() / values.len() as f64;
                let ln_factorial = |x: f64| (1..=x as u64).map(|i| (i as f64).ln()).sum::<f64>();
                log_likelihood +=
                    values.iter().map(|&x| if mean > 0.0 { x * mean.ln() - mean - ln_factorial(x) } else { 0.0 }).sum::<f64>();
                parameters += 1.0;
            }
            _ => {
                let mut counts = BTreeMap::<&str, f64>::new();
                cells.iter().for_each(|cell| *counts.entry(cell).or_default() += 1.0);
                let n = cells.len() as f64;
                log_likelihood += counts.values().map(|count| count * (count / n).ln()).sum::<f64>();
                parameters += variable["labels"].as_array().map_or(2, Vec::len) as f64 - 1.0;
            }
        }
    }
    let independent = log_likelihood - 0.5 * parameters * n_rows.max(1.0).ln();
    let says_so = result["warnings"]
        .as_array()
        .is_some_and(|all| all.iter().any(|it| it.as_str().is_some_and(|it| it.contains("independent"))));
    let is_below = bic < independent - 1e-3 * independent.abs().max(1.0) - 1.0;
    (is_below && !says_so).then(|| format!("BIC {bic} is below {independent} of independent columns, and nothing says so"))
}
