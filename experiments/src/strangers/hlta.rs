//! The default on the thousand words that HLTA would select, beside published runs of HLTA (its stepwise EM, in Java) on a thousand words of the same documents.
//!
//! Four fifths of the documents to learn from, one to test. NPMI is by all documents.

use std::path::{Path, PathBuf};

use clap::Args;
use latentree::{Error, Result};
use serde_json::Value;

use super::program::Program;
use super::table::{Rows, folds};
use super::tables::TABLES;
use super::words::{coherence, diversity};
use crate::record::Results;

/// Which tables, and how.
#[derive(Debug, Clone, Args)]
pub(crate) struct HltaArgs {
    /// Tables of words
    #[arg(long, value_name = "A,B", value_delimiter = ',', default_value = "nips-topical,kos-topical")]
    tables: Vec<String>,
    /// Seed
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// The command-line program [default: latentree beside this one]
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
    /// Most seconds of one call of the program
    #[arg(long, value_name = "SECONDS", default_value_t = 1800.0)]
    limit: f64,
}

/// Broad groups that are shown, and words of each.
const GROUPS: usize = 15;
const WORDS: usize = 10;

/// By table: HLTA's test log-likelihood a document and CPU seconds, NPMI and diversity of its top level; then what is wanted of ours.
const HLTA: [(&str, [&str; 8]); 2] = [
    ("nips-topical", ["-327.5", "91", ".343–.379", ".93–.75", "-318.5", "30", ".37", ".9"]),
    ("kos-topical", ["-160.4", "216", ".522", ".71", "-156.9", "30", ".43", ".9"]),
];

pub(crate) fn run(args: &HltaArgs, data: &Path) -> Result<Results> {
    let program = Program::new(args.program.as_deref(), args.limit)?;
    let header = [
        "table",
        "learner",
        "test, a document",
        "HLTA",
        "wanted",
        "CPU s",
        "HLTA",
        "wanted",
        "seconds",
        "hidden",
        "NPMI",
        "HLTA",
        "wanted",
        "diversity",
        "HLTA",
        "wanted",
        "groups",
    ];
    let mut results = Results::new("1,000 words of NIPS and KOS: the default beside HLTA", &header);
    let folder = std::env::temp_dir().join(format!("latentree-hlta-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(Error::io("create", &folder))?;
    for name in &args.tables {
        let named = TABLES.iter().find(|it| it.name == name);
        let table = named.ok_or_else(|| Error::option("--tables", format!("{name:?} is not there")))?.table(data)?;
        let Rows::Presence { names, rows } = &table.rows else {
            return Err(Error::option("--tables", format!("{name} is not a table of words")));
        };
        let fold_of_row = folds(rows.len(), 5, 0);
        let train = table.write(&folder, "train", |row| fold_of_row[row] != 0)?;
        let test = table.write(&folder, "test", |row| fold_of_row[row] == 0)?;
        let theirs = HLTA.iter().find(|it| it.0 == name).map_or([""; 8], |it| it.1);
        for (learner, options) in [("default", &[][..]), ("quick", &["--effort", "quick"][..])] {
            let options: Vec<String> = options.iter().map(|&it| it.to_owned()).collect();
            let seed = args.seed.to_string();
            let output = ["-o", "model.json", "--seed", &seed].map(str::to_owned);
            let called = program.call(&folder, &[&["learn".to_owned()], &train[..], &output, &options].concat())?;
            let scored = program.call(&folder, &[&["score", "model.json"].map(str::to_owned), &test[..]].concat())?;
            let (json, scored) = match called.json.and_then(|json| Ok((json, scored.json?))) {
                Ok(both) => both,
                Err(problem) => {
                    crate::note(&format!("{name}, {learner}: {problem}"));
                    let mut row = vec![String::new(); header.len()];
                    row[..3].clone_from_slice(&[name.clone(), learner.to_owned(), problem]);
                    results.row(row);
                    continue;
                }
            };
            let groups = broad_groups(&json["groups"]);
            show(name, learner, &groups);
            let number = |value: Option<f64>, digits: usize| value.map_or("–".to_owned(), |it| format!("{it:.digits$}"));
            let of_theirs = |ix: usize| theirs[ix].to_owned();
            results.row([
                name.clone(),
                learner.to_owned(),
                number(scored["mean_log_likelihood"].as_f64(), 2),
                of_theirs(0),
                of_theirs(4),
                number(called.cpu_seconds, 1),
                of_theirs(1),
                of_theirs(5),
                number(Some(called.seconds), 1),
                json["hidden"].to_string(),
                number(coherence(&groups, names, rows), 3),
                of_theirs(2),
                of_theirs(6),
                number(diversity(&groups), 3),
                of_theirs(3),
                of_theirs(7),
                groups.len().to_string(),
            ]);
            crate::note(&results.rows[results.rows.len() - 1].join(" | "));
        }
    }
    std::fs::remove_dir_all(&folder).map_err(Error::io("remove", &folder))?;
    Ok(results)
}

/// The first words of the broad groups, without the one of what no group says much about.
fn broad_groups(groups: &Value) -> Vec<Vec<String>> {
    let groups = groups.as_array().map_or(&[][..], Vec::as_slice);
    let broad = groups.iter().filter(|group| group["level"] == 1 && group["name"] != "other").take(GROUPS);
    let words = |group: &Value| {
        let variables = group["variables"].as_array().map_or(&[][..], Vec::as_slice);
        // A variable is a name, or an object that has one.
        let name = |variable: &Value| variable.as_str().or_else(|| variable["name"].as_str()).map(str::to_owned);
        variables.iter().filter_map(name).take(WORDS).collect()
    };
    broad.map(words).collect()
}

fn show(table: &str, learner: &str, groups: &[Vec<String>]) {
    crate::note(&format!("{table}, {learner}: {} broad groups", groups.len()));
    for group in groups {
        crate::note(&format!("  {}", group.join(" ")));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::broad_groups;

    #[test]
    fn broad_groups_are_those_of_the_first_level_but_the_rest() {
        let groups = json!([
            {"level": 1, "name": "h1", "variables": ["a", "b"]},
            {"level": 2, "name": "h2", "variables": ["a"]},
            {"level": 1, "name": "other", "variables": ["c"]},
        ]);
        assert_eq!(broad_groups(&groups), [["a", "b"].map(str::to_owned)]);
        assert!(broad_groups(&json!(null)).is_empty());
    }
}
