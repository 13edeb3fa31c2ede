//! One learner on one table: what it finds in all rows, and what held-out rows say of it.

use std::path::{Path, PathBuf};

use latentree::{Error, Result};
use serde_json::{Value, json};

use super::program::{Called, Program};
use super::table::{Table, folds, star};

/// The name of the model without any dependence, which is the zero of held-out scores.
pub(super) const INDEPENDENT: &str = "independent";
/// The name of the learner without an option.
pub(super) const DEFAULT: &str = "default";
const LATENT_CLASSES: &str = "latent-classes";
const CLASSES: std::ops::RangeInclusive<usize> = 2..=12;

/// All learners and their options; no option depends on the table.
pub(super) const LEARNERS: [(&str, &[&str]); 9] = [
    (INDEPENDENT, &["--structure", "chow-liu", "--significance", "1e9"]),
    ("chow-liu", &["--structure", "chow-liu"]),
    ("clnj", &["--structure", "clnj"]),
    ("nj", &["--structure", "nj"]),
    ("hclt-2", &["--structure", "hclt", "--hidden-states", "2"]),
    ("hclt-3", &["--structure", "hclt", "--hidden-states", "3"]),
    (LATENT_CLASSES, &["--tree", "star.nwk", "--parameters", "em"]),
    ("quick", &["--effort", "quick"]),
    (DEFAULT, &[]),
];

/// A table in a folder: all rows, and the training and test rows of each fold.
#[derive(Debug)]
pub(super) struct Files {
    folder: PathBuf,
    all: Vec<String>,
    folds: Vec<(Vec<String>, Vec<String>)>,
}

impl Files {
    /// Writes a table into a folder of its own inside this one.
    pub(super) fn write(table: &Table, inside: &Path, n_folds: usize) -> Result<Self> {
        let folder = inside.join(table.name);
        std::fs::create_dir_all(&folder).map_err(Error::io("create", &folder))?;
        let fold_of_row = folds(table.n_rows(), n_folds.max(1), 0);
        let all = table.write(&folder, "all", |_| true)?;
        let parts = |fold: usize| {
            let train = table.write(&folder, &format!("train{fold}"), |row| fold_of_row[row] != fold)?;
            Ok((train, table.write(&folder, &format!("test{fold}"), |row| fold_of_row[row] == fold)?))
        };
        let folds = (0..n_folds).map(parts).collect::<Result<_>>()?;
        Ok(Self { folder, all, folds })
    }

    /// Removes the folder.
    pub(super) fn remove(self) -> Result<()> {
        std::fs::remove_dir_all(&self.folder).map_err(Error::io("remove", &self.folder))
    }
}

/// What a learner gave on a table.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Found {
    pub(super) table: String,
    pub(super) learner: String,
    pub(super) seed: u64,
    pub(super) bic: Option<f64>,
    /// Mean log-likelihood of a held-out row over all folds.
    pub(super) held_out: Option<f64>,
    pub(super) seconds: f64,
    pub(super) cpu_seconds: Option<f64>,
    pub(super) hidden: Option<u64>,
    /// Share of the states of hidden variables that less than 1% of the rows are in.
    pub(super) rare_states: Option<f64>,
    /// Splits, how many of them are strong and weak, and how many were taken out.
    pub(super) splits: String,
    /// Number of classes, or what went wrong.
    pub(super) note: String,
}

impl Found {
    pub(super) fn to_json(&self) -> Value {
        json!({
            "table": self.table, "learner": self.learner, "seed": self.seed, "bic": self.bic, "held_out": self.held_out,
            "seconds": self.seconds, "cpu_seconds": self.cpu_seconds, "hidden": self.hidden, "rare_states": self.rare_states,
            "splits": self.splits, "note": self.note,
        })
    }

    pub(super) fn from_json(json: &Value) -> Self {
        let text = |name: &str| json[name].as_str().unwrap_or_default().to_owned();
        Self {
            table: text("table"),
            learner: text("learner"),
            seed: json["seed"].as_u64().unwrap_or(0),
            bic: json["bic"].as_f64(),
            held_out: json["held_out"].as_f64(),
            seconds: json["seconds"].as_f64().unwrap_or(f64::NAN),
            cpu_seconds: json["cpu_seconds"].as_f64(),
            hidden: json["hidden"].as_u64(),
            rare_states: json["rare_states"].as_f64(),
            splits: text("splits"),
            note: text("note"),
        }
    }

    pub(super) fn row(&self) -> [String; 10] {
        let number = |value: Option<f64>, digits: usize| value.map_or("–".to_owned(), |value| format!("{value:.digits$}"));
        [
            self.table.clone(),
            if self.seed == 0 { self.learner.clone() } else { format!("{}, seed {}", self.learner, self.seed) },
            number(self.bic, 1),
            number(self.held_out, 4),
            number(Some(self.seconds), 1),
            number(self.cpu_seconds, 1),
            self.hidden.map_or("–".to_owned(), |hidden| hidden.to_string()),
            number(self.rare_states.map(|share| 100.0 * share), 1),
            self.splits.clone(),
            self.note.clone(),
        ]
    }
}

/// Learns a table by a learner.
pub(super) fn find(program: &Program, files: &Files, (name, options): (&str, &[&str]), seed: u64) -> Result<Found> {
    let mut options: Vec<String> = options.iter().map(|&it| it.to_owned()).collect();
    options.extend(["--seed".to_owned(), seed.to_string()]);
    let mut found = Found { learner: name.to_owned(), seed, ..Found::default() };
    let best = if name == LATENT_CLASSES {
        let (n_classes, best) = latent_classes(program, files, &options, &mut found)?;
        options.extend(["--hidden-states".to_owned(), n_classes.to_string()]);
        best
    } else {
        let called = learn(program, files, &files.all, &options)?;
        (found.seconds, found.cpu_seconds) = (called.seconds, called.cpu_seconds);
        called.json
    };
    let json = match best {
        Ok(json) => json,
        Err(problem) => {
            found.note = problem;
            return Ok(found);
        }
    };
    found.bic = json["bic"].as_f64();
    found.hidden = json["hidden"].as_u64();
    found.rare_states = rare_states(&json["hidden_variables"]);
    if let (Some(splits), Some(strong)) = (json["splits"]["splits"].as_u64(), json["splits"]["strong"].as_u64()) {
        found.splits = format!("{splits}: {strong} strong, {} weak, {} out", json["splits"]["weak"], json["splits"]["removed"]);
    }
    match held_out(program, files, &options)? {
        Ok(score) => found.held_out = score,
        Err(problem) => found.note = format!("{} folds: {problem}", found.note).trim_start().to_owned(),
    }
    Ok(found)
}

fn learn(program: &Program, files: &Files, reading: &[String], options: &[String]) -> Result<Called> {
    let verb = ["learn".to_owned()];
    let output = ["-o", "model.json"].map(str::to_owned);
    program.call(&files.folder, &[&verb, reading, &output, options].concat())
}

/// Mean log-likelihood of the test rows of all folds; `None` without folds.
fn held_out(program: &Program, files: &Files, options: &[String]) -> Result<std::result::Result<Option<f64>, String>> {
    let (mut sum, mut n_rows) = (0.0, 0.0);
    for (train, test) in &files.folds {
        if let Err(problem) = learn(program, files, train, options)?.json {
            return Ok(Err(problem));
        }
        let arguments = [&["score", "model.json"].map(str::to_owned), test.as_slice()].concat();
        let scored = match program.call(&files.folder, &arguments)?.json {
            Ok(scored) => scored,
            Err(problem) => return Ok(Err(problem)),
        };
        let (Some(score), Some(rows)) = (scored["log_likelihood"].as_f64(), scored["rows"].as_f64()) else {
            return Ok(Err(format!("{} impossible rows", scored["impossible_rows"])));
        };
        sum += score;
        n_rows += rows;
    }
    Ok(Ok((n_rows > 0.0).then(|| sum / n_rows)))
}

/// The latent class model that is best by BIC: classes are added until two more in a row have not helped.
fn latent_classes(
    program: &Program,
    files: &Files,
    options: &[String],
    found: &mut Found,
) -> Result<(usize, std::result::Result<Value, String>)> {
    // The variables are those of a model: the program may leave out columns.
    let independent = learn(program, files, &files.all, &LEARNERS[0].1.iter().map(|&it| it.to_owned()).collect::<Vec<_>>())?;
    if let Err(problem) = independent.json {
        return Ok((0, Err(problem)));
    }
    let path = files.folder.join("star.nwk");
    std::fs::write(&path, star(&observed(&files.folder.join("model.json"))?)).map_err(Error::io("write", &path))?;
    let mut best: Option<(usize, f64, Value)> = None;
    let (mut since_best, mut problem) = (0, "no number of classes".to_owned());
    for n_classes in CLASSES {
        let states = ["--hidden-states".to_owned(), n_classes.to_string()];
        let called = learn(program, files, &files.all, &[options, &states].concat())?;
        found.seconds += called.seconds;
        found.cpu_seconds = called.cpu_seconds.map(|it| it + found.cpu_seconds.unwrap_or(0.0));
        let json = match called.json {
            Ok(json) => json,
            Err(why) => {
                problem = why;
                break;
            }
        };
        let bic = json["bic"].as_f64().unwrap_or(f64::NEG_INFINITY);
        if best.as_ref().is_none_or(|best| bic > best.1) {
            best = Some((n_classes, bic, json));
            since_best = 0;
        } else {
            since_best += 1;
        }
        if since_best == 2 {
            break;
        }
    }
    Ok(match best {
        Some((n_classes, _, json)) => {
            found.note = format!("{n_classes} classes");
            (n_classes, Ok(json))
        }
        None => (0, Err(problem)),
    })
}

/// The names of a model's observed nodes.
fn observed(model: &Path) -> Result<Vec<String>> {
    let text = std::fs::read_to_string(model).map_err(Error::io("read", model))?;
    let model: Value = serde_json::from_str(&text).map_err(|error| Error::option("strangers", error.to_string()))?;
    let nodes = model["nodes"].as_array().cloned().unwrap_or_default();
    let nodes = nodes.iter().filter(|node| node["observed"] == true);
    Ok(nodes.filter_map(|node| node["name"].as_str().map(str::to_owned)).collect())
}

/// Share of all states of hidden variables that less than 1% of the rows are in; `None` without any.
fn rare_states(hidden: &Value) -> Option<f64> {
    let shares: Vec<f64> = hidden
        .as_array()?
        .iter()
        .filter_map(|variable| variable["probabilities"].as_array())
        .flatten()
        .filter_map(Value::as_f64)
        .collect();
    let n_rare = shares.iter().filter(|&&share| share < 0.01).count();
    (!shares.is_empty()).then(|| n_rare as f64 / shares.len() as f64)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Found, rare_states};

    #[test]
    fn states_of_less_than_a_hundredth_of_the_rows_are_rare() {
        let hidden = json!([{"probabilities": [0.5, 0.5]}, {"probabilities": [0.009, 0.991]}, {"probabilities": []}]);
        assert_eq!(rare_states(&hidden), Some(0.25));
        assert_eq!(rare_states(&json!([])), None);
    }

    #[test]
    fn what_was_found_is_kept_as_json() {
        let found = Found { table: "t".to_owned(), bic: Some(-1.5), hidden: Some(3), seconds: 2.0, ..Found::default() };
        assert_eq!(Found::from_json(&found.to_json()), found);
    }
}
