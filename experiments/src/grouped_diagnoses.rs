//! Diagnoses grouped into phecodes: every learner on both sets of events.
//!
//! A group of ICD-9 codes is one vector-valued variable, as in Huang et al. 2020, §8 (healthcare). Codes of `diabetes130` have
//! lost leading zeros (41 stands for 041), which are put back before the look-up.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

use clap::Args;
use latentree::data::{BatchSource, Dataset, ReadOptions, open};
use latentree::learn::{Learning, Source};
use latentree::structure::LearnerName;
use latentree::{Error, Result, Silent};

use crate::record::Results;

/// Which sets, and which learners.
#[derive(Debug, Clone, Args)]
pub(crate) struct GroupedArgs {
    /// Learners, comma-separated [default: all]
    #[arg(long, value_delimiter = ',')]
    learners: Vec<LearnerName>,
    /// Sets, comma-separated
    #[arg(long, value_delimiter = ',', default_value = "vermont_dx,diabetes130")]
    sets: Vec<String>,
}

/// The first group of each code.
pub(crate) fn group_of_code(path: &Path) -> Result<HashMap<String, String>> {
    let file = std::fs::File::open(path).map_err(Error::io("open", path))?;
    let mut reader = csv::Reader::from_reader(flate2::read::GzDecoder::new(file));
    let mut groups = HashMap::new();
    for record in reader.records() {
        let record = record.map_err(|error| Error::option("data", format!("{}: {error}", path.display())))?;
        if let (Some("ICD9CM"), Some(code), Some(group)) = (record.get(0), record.get(1), record.get(2)) {
            groups.entry(code.to_owned()).or_insert_with(|| group.to_owned());
        }
    }
    Ok(groups)
}

/// Three digits before the point, as ICD-9 has them.
pub(crate) fn padded(code: &str) -> String {
    let (whole, rest) = code.split_once('.').map_or((code, None), |(whole, rest)| (whole, Some(rest)));
    let whole = if whole.bytes().all(|byte| byte.is_ascii_digit()) { format!("{whole:0>3}") } else { whole.to_owned() };
    rest.map_or(whole.clone(), |rest| format!("{whole}.{rest}"))
}

/// The events of a set with their codes grouped.
fn grouped(set: &str, data: &Path) -> Result<Dataset> {
    let folder = data.join("ehr");
    let map = group_of_code(&folder.join("phecode_map.csv.gz"))?;
    let events = folder.join(format!("{set}_events.csv.gz"));
    let options = ReadOptions::default().events("patient_id", "icd9", None);
    let codes: BTreeSet<String> = open(&events, &options)?.schema().columns().iter().map(|column| column.name.clone()).collect();
    let mut text = "item,group\n".to_owned();
    for code in &codes {
        if let Some(group) = map.get(code).or_else(|| map.get(&padded(code))) {
            let _ = writeln!(text, "{code},phecode {group}");
        }
    }
    let groups = std::env::temp_dir().join(format!("latentree-{set}-{}.csv", std::process::id()));
    std::fs::write(&groups, text).map_err(Error::io("write", &groups))?;
    let dataset = open(&events, &options.group(&groups)).and_then(|mut reader| Dataset::read(&mut reader));
    let _ = std::fs::remove_file(&groups);
    dataset
}

/// Learns each set by each learner.
pub(crate) fn run(args: &GroupedArgs, data: &Path) -> Result<Results> {
    let learners = if args.learners.is_empty() { LearnerName::ALL.to_vec() } else { args.learners.clone() };
    let header = ["set", "rows", "variables", "learner", "hidden", "trees", "log-likelihood", "BIC", "seconds"];
    let mut table = Results::new("Diagnoses grouped into phecodes", &header);
    for set in &args.sets {
        let rows = grouped(set, data)?;
        for &learner in &learners {
            let start = Instant::now();
            let learned = Learning::new().structure(learner).run(Source::Rows(&rows), &Silent);
            let seconds = format!("{:.1}", start.elapsed().as_secs_f64());
            let sizes =
                [set.clone(), rows.n_rows().to_string(), rows.schema().variables().len().to_string(), learner.to_string()];
            let found = match learned {
                Ok(learned) => [
                    learned.tree().n_hidden().to_string(),
                    learned.tree().n_components().to_string(),
                    learned.log_likelihood.map_or("–".to_owned(), |value| format!("{value:.1}")),
                    learned.bic.map_or("–".to_owned(), |value| format!("{value:.1}")),
                ],
                Err(error) => [format!("refused: {error}"), "–".to_owned(), "–".to_owned(), "–".to_owned()],
            };
            let row: Vec<String> = sizes.into_iter().chain(found).chain([seconds]).collect();
            crate::note(&row.join("  "));
            table.row(row);
        }
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::padded;

    #[test]
    fn codes_get_their_leading_zeros_back() {
        let cases = [("41", "041"), ("8", "008"), ("250.83", "250.83"), ("8.45", "008.45"), ("V45", "V45"), ("E909", "E909")];
        for (code, expected) in cases {
            assert_eq!(padded(code), expected);
        }
    }
}
