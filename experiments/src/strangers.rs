//! The default on tables that it was not made for, beside every learner that is one option away.
//!
//! Each learner is a process of the command-line program, called as a user would, with no option that depends on the table. BIC
//! is that of all rows; held-out rows are those of five folds. The number of latent classes is chosen by BIC on all rows and
//! kept in the folds.

pub(crate) mod halves;
pub(crate) mod hlta;
mod learner;
mod program;
mod simulated;
mod table;
mod tables;
mod words;

use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use latentree::{Error, Result};

use crate::record::Results;
use learner::{DEFAULT, Files, Found, INDEPENDENT, LEARNERS, find};
use program::Program;
use tables::{Named, TABLES};

/// Which tables and learners, and how.
#[derive(Debug, Clone, Args)]
pub(crate) struct StrangersArgs {
    /// Only these tables [default: all but those that --large adds]
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    tables: Vec<String>,
    /// Also tables of thousands of columns
    #[arg(long)]
    large: bool,
    /// Folds of the held-out rows; 0 holds out none
    #[arg(long, value_name = "N", default_value_t = 5)]
    folds: usize,
    /// Only these learners besides the independent model [default: all]
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    learners: Vec<String>,
    /// Seeds of the default; the other learners have the first
    #[arg(long, value_name = "N,M", value_delimiter = ',', default_value = "0")]
    seeds: Vec<u64>,
    /// The command-line program [default: latentree beside this one]
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
    /// Most seconds of one call of the program
    #[arg(long, value_name = "SECONDS", default_value_t = 1800.0)]
    limit: f64,
    /// Keep what each learner found in this file (one JSON object a line), and do not run again what is there
    #[arg(long, value_name = "FILE")]
    keep: Option<PathBuf>,
}

/// Relative differences of BIC up to this are ties.
const TIE: f64 = 0.0002;
/// How far from the independent model's held-out score to the best one's the default must be.
const WAY: f64 = 0.99;

pub(crate) fn run(args: &StrangersArgs, data: &Path) -> Result<Results> {
    let program = Program::new(args.program.as_deref(), args.limit)?;
    let (tables, learners) = (chosen_tables(args)?, chosen_learners(args)?);
    if args.folds == 1 || args.seeds.is_empty() {
        return Err(Error::option("--folds", "give 0, or at least 2, and at least one of --seeds"));
    }
    let header = ["table", "learner", "BIC", "held out, a row", "seconds", "CPU s", "hidden", "states < 1%, %", "splits", "note"];
    let title = format!("Strangers' tables: the default beside every other learner, {} folds", args.folds);
    let mut results = Results::new(title, &header);
    let mut kept = Kept::open(args.keep.as_deref())?;
    let folder = std::env::temp_dir().join(format!("latentree-strangers-{}", std::process::id()));
    let (mut n_tables, mut n_best, mut n_far) = (0, 0, 0);
    for named in tables {
        let table = named.table(data)?;
        crate::note(&format!("{}: {} rows", table.name, table.n_rows()));
        let files = Files::write(&table, &folder, args.folds)?;
        let mut of_table = Vec::new();
        for &learner in &learners {
            let n_seeds = if learner.0 == DEFAULT { args.seeds.len() } else { 1 };
            for &seed in &args.seeds[..n_seeds] {
                let found = match kept.get(table.name, learner.0, seed) {
                    Some(found) => found,
                    None => {
                        let found = Found { table: table.name.to_owned(), ..find(&program, &files, learner, seed)? };
                        kept.add(&found)?;
                        found
                    }
                };
                crate::note(&found.row().join(" | "));
                results.row(found.row());
                of_table.push(found);
            }
        }
        files.remove()?;
        if let Some(verdict) = Verdict::of(&of_table) {
            n_tables += 1;
            n_best += usize::from(verdict.is_best);
            n_far += usize::from(verdict.is_far == Some(true));
            crate::note(&verdict.row(table.name).join(" | "));
            results.row(verdict.row(table.name));
        }
    }
    // Only empty folders may be left.
    let _ = std::fs::remove_dir(&folder);
    let mut last = vec![String::new(); header.len()];
    last[..2].clone_from_slice(&["all".to_owned(), "**verdict**".to_owned()]);
    last[2] = format!("best on {n_best} of {n_tables}");
    last[3] = if args.folds == 0 { "–".to_owned() } else { format!("far enough on {n_far} of {n_tables}") };
    results.row(last);
    Ok(results)
}

fn chosen_tables(args: &StrangersArgs) -> Result<Vec<&'static Named>> {
    if args.tables.is_empty() {
        return Ok(TABLES.iter().filter(|table| args.large || !table.is_large).collect());
    }
    let known: Vec<&str> = TABLES.iter().map(|table| table.name).collect();
    let find = |name: &String| {
        let problem = || Error::option("--tables", format!("{name:?} is not one of {}", known.join(", ")));
        TABLES.iter().find(|table| table.name == name).ok_or_else(problem)
    };
    args.tables.iter().map(find).collect()
}

fn chosen_learners(args: &StrangersArgs) -> Result<Vec<(&'static str, &'static [&'static str])>> {
    let known: Vec<&str> = LEARNERS.iter().map(|learner| learner.0).collect();
    if let Some(unknown) = args.learners.iter().find(|name| !known.contains(&name.as_str())) {
        return Err(Error::option("--learners", format!("{unknown:?} is not one of {}", known.join(", "))));
    }
    let is_chosen = |name: &str| args.learners.is_empty() || name == INDEPENDENT || args.learners.iter().any(|it| it == name);
    Ok(LEARNERS.into_iter().filter(|learner| is_chosen(learner.0)).collect())
}

/// What earlier runs found.
#[derive(Debug)]
struct Kept {
    path: Option<PathBuf>,
    found: Vec<Found>,
}

impl Kept {
    fn open(path: Option<&Path>) -> Result<Self> {
        let text = match path {
            Some(path) if path.exists() => std::fs::read_to_string(path).map_err(Error::io("read", path))?,
            _ => String::new(),
        };
        let parse = |line| serde_json::from_str(line).map_err(|error| Error::option("--keep", format!("{error}: {line}")));
        let found = text.lines().map(|line| Ok(Found::from_json(&parse(line)?))).collect::<Result<_>>()?;
        Ok(Self { path: path.map(Path::to_owned), found })
    }

    fn get(&self, table: &str, learner: &str, seed: u64) -> Option<Found> {
        self.found.iter().find(|it| it.table == table && it.learner == learner && it.seed == seed).cloned()
    }

    fn add(&mut self, found: &Found) -> Result<()> {
        self.found.push(found.clone());
        let Some(path) = &self.path else { return Ok(()) };
        let mut file = std::fs::OpenOptions::new().append(true).create(true).open(path).map_err(Error::io("open", path))?;
        writeln!(file, "{}", found.to_json()).map_err(Error::io("write", path))
    }
}

/// How good the worst run of the default is on a table.
#[derive(Debug, Clone, PartialEq)]
struct Verdict {
    /// Its BIC over that of the best other learner, as a share of the latter's size; negative if it is worse.
    gain: Option<f64>,
    is_best: bool,
    rival: String,
    /// Where it is between the independent model's held-out score (0) and the best one's (1).
    way: Option<f64>,
    /// `None` if no rows were held out.
    is_far: Option<bool>,
}

impl Verdict {
    /// `None` if the default was not run, or nothing else was.
    fn of(found: &[Found]) -> Option<Self> {
        let (defaults, others): (Vec<&Found>, Vec<&Found>) = found.iter().partition(|it| it.learner == DEFAULT);
        if defaults.is_empty() || others.is_empty() {
            return None;
        }
        let worst = |score: &dyn Fn(&Found) -> Option<f64>| {
            defaults.iter().map(|it| score(it)).try_fold(f64::INFINITY, |worst, score| Some(worst.min(score?)))
        };
        let (bic, held_out) = (worst(&|it| it.bic), worst(&|it| it.held_out));
        let rival = others.iter().filter_map(|it| Some((it.bic?, &it.learner))).max_by(|a, b| a.0.total_cmp(&b.0));
        let gain = rival.and_then(|(best, _)| Some((bic? - best) / best.abs()));
        let best = found.iter().filter_map(|it| it.held_out).max_by(f64::total_cmp);
        let zero = others.iter().find(|it| it.learner == INDEPENDENT).and_then(|it| it.held_out);
        let way = zero.zip(best).and_then(|(zero, best)| Some((held_out? - zero) / (best - zero))).filter(|way| way.is_finite());
        Some(Self {
            gain,
            is_best: gain.is_some_and(|gain| gain >= -TIE),
            rival: rival.map(|(_, name)| name.clone()).unwrap_or_default(),
            way,
            is_far: best.map(|best| held_out.is_some_and(|held_out| way.map_or(held_out >= best, |way| way >= WAY))),
        })
    }

    fn row(&self, table: &str) -> [String; 10] {
        let word = |is_so: bool| if is_so { "yes" } else { "**NO**" };
        let percent =
            |value: Option<f64>, digits: usize| value.map_or("–".to_owned(), |it| format!("{:.digits$}%", 100.0 * it));
        let mut row: [String; 10] = Default::default();
        row[0] = table.to_owned();
        row[1] = "**verdict**".to_owned();
        row[2] = format!("best: {} ({} over {})", word(self.is_best), percent(self.gain, 3), self.rival);
        row[3] = self.is_far.map_or("–".to_owned(), |is_far| format!("{} of the way: {}", percent(self.way, 2), word(is_far)));
        row
    }
}

#[cfg(test)]
mod tests {
    use super::{Found, Verdict};

    fn found(learner: &str, bic: f64, held_out: Option<f64>) -> Found {
        Found { learner: learner.to_owned(), bic: Some(bic), held_out, ..Found::default() }
    }

    #[test]
    fn a_verdict_takes_the_worst_default_against_the_best_other_learner() {
        let rows = [
            found("independent", -2000.0, Some(-20.0)),
            found("clnj", -1000.0, Some(-10.0)),
            found("default", -990.0, Some(-9.0)),
            found("default", -1000.1, Some(-10.1)),
        ];
        let verdict = Verdict::of(&rows).unwrap();
        assert!((verdict.gain.unwrap() + 0.0001).abs() < 1e-12 && verdict.is_best && verdict.rival == "clnj");
        // From −20 to −9, −10.1 is nine tenths of the way.
        assert!((verdict.way.unwrap() - 0.9).abs() < 1e-12 && verdict.is_far == Some(false));
    }

    #[test]
    fn a_default_that_did_not_end_is_not_the_best() {
        let verdict =
            Verdict::of(&[found("independent", -5.0, None), Found { bic: None, ..found("default", 0.0, None) }]).unwrap();
        assert!(!verdict.is_best && verdict.is_far.is_none());
        assert_eq!(Verdict::of(&[found("default", -5.0, None)]), None);
    }
}
