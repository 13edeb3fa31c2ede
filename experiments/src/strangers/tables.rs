//! The tables: real data, brought into the form that a user would have them in, and two simulated ones.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::Read as _;
use std::path::Path;

use latentree::{Error, Result};

use super::simulated;
use super::table::{Rows, Table};
use crate::grouped_diagnoses::{group_of_code, padded};

/// Where a table comes from.
#[derive(Debug, Clone, Copy)]
enum Origin {
    /// A CSV file with a header, without these columns.
    Csv { file: &'static str, without: &'static [&'static str] },
    /// A CSV file without a header.
    Bare(&'static str),
    /// Words that documents have; only so many of those that most documents have.
    Words { docword: &'static str, vocabulary: &'static str, most: usize },
    /// The thousand words of the largest TF-IDF, of those that 6 documents to a quarter of them have: what HLTA's own selection of words does.
    Topical { docword: &'static str, vocabulary: &'static str },
    /// Prices, as differences of logarithms.
    Returns(&'static str),
    /// Phecodes without decimals that at least so many patients have; patients with none of them are left out.
    Phecodes { events: &'static str, patients: usize },
    /// Simulated.
    Mixed,
    /// Simulated.
    Likert,
}

/// A table that can be asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Named {
    pub(super) name: &'static str,
    /// Only if asked for: it takes long.
    pub(super) is_large: bool,
    origin: Origin,
}

const fn csv(name: &'static str, file: &'static str) -> Named {
    without(name, file, &[])
}

const fn without(name: &'static str, file: &'static str, without: &'static [&'static str]) -> Named {
    Named { name, is_large: false, origin: Origin::Csv { file, without } }
}

const fn words(name: &'static str, docword: &'static str, vocabulary: &'static str, most: usize) -> Named {
    Named { name, is_large: most > 1000, origin: Origin::Words { docword, vocabulary, most } }
}

const fn topical(name: &'static str, docword: &'static str, vocabulary: &'static str) -> Named {
    Named { name, is_large: true, origin: Origin::Topical { docword, vocabulary } }
}

const fn density(name: &'static str, file: &'static str) -> Named {
    of(name, Origin::Bare(file))
}

const fn of(name: &'static str, origin: Origin) -> Named {
    Named { name, is_large: false, origin }
}

/// All tables, small ones first.
pub(super) const TABLES: [Named; 26] = [
    csv("carcinoma", "surveys/polca_carcinoma.csv.gz"),
    csv("cheating", "surveys/polca_cheating.csv.gz"),
    csv("gss82", "surveys/polca_gss82.csv.gz"),
    csv("bfi", "surveys/bfi.csv.gz"),
    of("mixed", Origin::Mixed),
    without("splice", "dna/arff_splice.csv.gz", &["Instance_name"]),
    of("daily-returns", Origin::Returns("stocks/sklearn_56_daily_close.csv.gz")),
    of("weekly-returns", Origin::Returns("stocks/frapo_SP500_weekly.csv.gz")),
    density("nltcs", "debd/nltcs/nltcs.train.csv.gz"),
    density("msnbc", "debd/msnbc/msnbc.train.csv.gz"),
    density("plants", "debd/plants/plants.train.csv.gz"),
    density("baudio", "debd/baudio/baudio.train.csv.gz"),
    density("jester", "debd/jester/jester.train.csv.gz"),
    density("dna", "debd/dna/dna.train.csv.gz"),
    density("kosarek", "debd/kosarek/kosarek.train.csv.gz"),
    density("bbc", "debd/bbc/bbc.train.csv.gz"),
    csv("news-100", "news20_w100/news20_w100.csv.gz"),
    of("vermont", Origin::Phecodes { events: "ehr/vermont_dx_events.csv.gz", patients: 10 }),
    of("diabetes130", Origin::Phecodes { events: "ehr/diabetes130_events.csv.gz", patients: 100 }),
    of("likert", Origin::Likert),
    words("nips-1000", "bow/docword.nips_f21.txt.gz", "bow/vocab.nips_f21.txt", 1000),
    words("kos-1000", "bow/docword.kos.txt.gz", "bow/vocab.kos.txt", 1000),
    words("20news-1000", "bow/docword.20news_w1000.train.txt.gz", "bow/vocab.20news_w1000.txt", 1000),
    words("kos", "bow/docword.kos.txt.gz", "bow/vocab.kos.txt", usize::MAX),
    topical("nips-topical", "bow/docword.nips_f21.txt.gz", "bow/vocab.nips_f21.txt"),
    topical("kos-topical", "bow/docword.kos.txt.gz", "bow/vocab.kos.txt"),
];

impl Named {
    /// Reads or simulates it.
    pub(super) fn table(&self, data: &Path) -> Result<Table> {
        let rows = match self.origin {
            Origin::Csv { file, without } => dense(&data.join(file), without)?,
            Origin::Bare(file) => bare(&data.join(file))?,
            Origin::Words { docword, vocabulary, most } => {
                Documents::read(&data.join(docword), &data.join(vocabulary))?.presence(most, |word| word.n_documents as f64)
            }
            Origin::Topical { docword, vocabulary } => {
                let documents = Documents::read(&data.join(docword), &data.join(vocabulary))?;
                let n = documents.rows.len() as f64;
                documents.presence(1000, |word| match word.n_documents as f64 {
                    df if (6.0..=0.25 * n).contains(&df) => word.n_times as f64 * (n / df).ln(),
                    _ => -1.0,
                })
            }
            Origin::Returns(file) => returns(&data.join(file))?,
            Origin::Phecodes { events, patients } => phecodes(&data.join("ehr"), &data.join(events), patients)?,
            Origin::Mixed => simulated::mixed(),
            Origin::Likert => simulated::likert(),
        };
        Ok(Table { name: self.name, rows })
    }
}

/// The text of a file, which may be compressed.
fn text(path: &Path) -> Result<String> {
    let bytes = std::fs::read(path).map_err(Error::io("read", path))?;
    let mut text = String::new();
    if path.extension().is_some_and(|it| it == "gz") {
        flate2::read::GzDecoder::new(bytes.as_slice()).read_to_string(&mut text).map_err(Error::io("read", path))?;
    } else {
        text = String::from_utf8(bytes).map_err(|error| not_usable(path, error))?;
    }
    Ok(text)
}

fn not_usable(path: &Path, why: impl std::fmt::Display) -> Error {
    Error::option("--data", format!("{}: {why}", path.display()))
}

/// All records, the header among them.
fn records(path: &Path) -> Result<Vec<csv::StringRecord>> {
    let text = text(path)?;
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
    reader.records().map(|record| record.map_err(|error| not_usable(path, error))).collect()
}

/// One line of CSV.
fn line<'a>(cells: impl Iterator<Item = &'a str>) -> String {
    let quoted = |cell: &str| match cell.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell.to_owned(),
    };
    cells.map(quoted).collect::<Vec<_>>().join(",")
}

fn dense(path: &Path, without: &[&str]) -> Result<Rows> {
    let records = records(path)?;
    let (header, records) = records.split_first().ok_or_else(|| not_usable(path, "it is empty"))?;
    let is_kept: Vec<bool> = header.iter().map(|name| !without.contains(&name)).collect();
    let kept =
        |record: &csv::StringRecord| line(record.iter().zip(&is_kept).filter(|(_, is_kept)| **is_kept).map(|(cell, _)| cell));
    Ok(Rows::Dense { header: kept(header), lines: records.iter().map(kept).collect() })
}

fn bare(path: &Path) -> Result<Rows> {
    let lines: Vec<String> = text(path)?.lines().map(str::to_owned).collect();
    let n_columns = lines.first().map_or(0, |line| line.split(',').count());
    let names: Vec<String> = (1..=n_columns).map(|column| format!("x{column}")).collect();
    Ok(Rows::Dense { header: names.join(","), lines })
}

/// Which words each document has: the `most` words of most documents, ties by their place, in the order of the vocabulary.
/// How often a word occurs.
#[derive(Debug, Clone, Copy, Default)]
struct Word {
    n_documents: usize,
    n_times: usize,
}

/// The words of each document.
struct Documents {
    names: Vec<String>,
    words: Vec<Word>,
    rows: Vec<Vec<usize>>,
}

impl Documents {
    fn read(docword: &Path, vocabulary: &Path) -> Result<Self> {
        let names: Vec<String> = text(vocabulary)?.lines().map(str::to_owned).collect();
        let all = text(docword)?;
        let mut numbers = all.split_whitespace().map(|it| it.parse::<usize>().map_err(|error| not_usable(docword, error)));
        let mut next = || numbers.next().unwrap_or_else(|| Err(not_usable(docword, "it ends too early")));
        let (n_rows, n_words, n_cells) = (next()?, next()?, next()?);
        let mut rows = vec![Vec::new(); n_rows];
        let mut words = vec![Word::default(); n_words];
        for _ in 0..n_cells {
            let (row, word, count) = (next()?, next()?, next()?);
            if !(1..=n_rows).contains(&row) || !(1..=n_words.min(names.len())).contains(&word) {
                return Err(not_usable(docword, format!("document {row} or word {word} is not there")));
            }
            if count > 0 {
                rows[row - 1].push(word - 1);
                words[word - 1].n_documents += 1;
                words[word - 1].n_times += count;
            }
        }
        Ok(Self { names, words, rows })
    }

    /// Which documents have which of the words of the highest values.
    fn presence(&self, most: usize, value: impl Fn(&Word) -> f64) -> Rows {
        let mut order: Vec<usize> = (0..self.words.len()).collect();
        order.sort_by(|&a, &b| value(&self.words[b]).total_cmp(&value(&self.words[a])).then(a.cmp(&b)));
        let chosen: BTreeSet<usize> = order.into_iter().take(most).collect();
        let place: BTreeMap<usize, u32> = chosen.iter().zip(0..).map(|(&word, place)| (word, place)).collect();
        let row = |words: &Vec<usize>| words.iter().filter_map(|word| place.get(word).copied()).collect();
        let names = chosen.iter().map(|&word| self.names[word].clone()).collect();
        Rows::Presence { names, rows: self.rows.iter().map(row).collect() }
    }
}

fn returns(path: &Path) -> Result<Rows> {
    let records = records(path)?;
    let (header, records) = records.split_first().ok_or_else(|| not_usable(path, "it is empty"))?;
    // The first column is the date.
    let prices: Vec<Vec<f64>> =
        records.iter().map(|record| record.iter().skip(1).map(|cell| cell.parse().unwrap_or(f64::NAN)).collect()).collect();
    let change = |(before, after): (&f64, &f64)| {
        let change = (after / before).ln();
        if change.is_finite() { change.to_string() } else { String::new() }
    };
    let changes = |pair: &[Vec<f64>]| pair[0].iter().zip(&pair[1]).map(change).collect::<Vec<_>>().join(",");
    Ok(Rows::Dense { header: line(header.iter().skip(1)), lines: prices.windows(2).map(changes).collect() })
}

/// Which phecodes each patient has. 401.1 and 401.2 are both 401: with at least 100 patients, `diabetes130` has 187 of them, and 71,341 patients have
/// one or more.
fn phecodes(folder: &Path, events: &Path, patients: usize) -> Result<Rows> {
    let map = group_of_code(&folder.join("phecode_map.csv.gz"))?;
    let descriptions: HashMap<String, String> = records(&folder.join("pheinfo.csv.gz"))?
        .iter()
        .filter_map(|record| Some((record.get(0)?.to_owned(), record.get(1)?.to_owned())))
        .collect();
    let mut codes_of_patient: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for record in records(events)?.iter().skip(1) {
        let (Some(patient), Some(code)) = (record.get(0), record.get(1)) else { continue };
        if let Some(group) = map.get(code).or_else(|| map.get(&padded(code))) {
            let whole = group.split('.').next().unwrap_or(group).to_owned();
            codes_of_patient.entry(patient.to_owned()).or_default().insert(whole);
        }
    }
    let mut patients_of_code: BTreeMap<&str, usize> = BTreeMap::new();
    for code in codes_of_patient.values().flatten() {
        *patients_of_code.entry(code).or_default() += 1;
    }
    patients_of_code.retain(|_, n_patients| *n_patients >= patients);
    let place: BTreeMap<&str, u32> = patients_of_code.keys().zip(0..).map(|(&code, place)| (code, place)).collect();
    let rows = codes_of_patient.values().map(|codes| codes.iter().filter_map(|code| place.get(code.as_str()).copied()).collect());
    let name = |code: &&str| descriptions.get(*code).map_or_else(|| (*code).to_owned(), |about| format!("{code} {about}"));
    Ok(Rows::Presence { names: place.keys().map(name).collect(), rows: rows.filter(|row: &Vec<u32>| !row.is_empty()).collect() })
}

#[cfg(test)]
mod tests {
    use super::super::table::Rows;
    use super::TABLES;

    fn sizes(name: &str, part: &str) -> Option<(usize, usize)> {
        let data = crate::data_folder_for_tests(part)?;
        let table = TABLES.iter().find(|it| it.name == name)?.table(&data).unwrap();
        let n_columns = match &table.rows {
            Rows::Dense { header, .. } => header.split(',').count(),
            Rows::Presence { names, .. } => names.len(),
        };
        Some((table.n_rows(), n_columns))
    }

    #[test]
    fn diagnoses_have_the_size_that_the_issue_names() {
        let Some(found) = sizes("diabetes130", "ehr") else { return };
        assert_eq!(found, (71_341, 187));
    }

    #[test]
    fn tables_have_the_sizes_of_their_sources() {
        let cases = [("kos-1000", "bow", (3_430, 1_000)), ("kos", "bow", (3_430, 6_906)), ("splice", "dna", (3_190, 61))];
        for (name, part, expected) in cases {
            let Some(found) = sizes(name, part) else { return };
            assert_eq!(found, expected, "{name}");
        }
    }
}
