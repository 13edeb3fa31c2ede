//! Public data sets; skipped where they are not at hand.

use std::path::Path;

use super::*;
use crate::data::{Kind, KindOverride};
use crate::test_data::data_file as data;

fn read(path: &Path, options: &ReadOptions) -> (Reader, Dataset) {
    let mut reader = open(path, options).unwrap();
    let dataset = Dataset::read(&mut reader).unwrap();
    (reader, dataset)
}

fn labels(dataset: &Dataset, column: usize) -> Vec<&str> {
    dataset.schema().columns()[column].kind.labels().unwrap().iter().map(String::as_str).collect()
}

#[test]
fn bfi_answers_are_categories_and_age_is_continuous() {
    let Some(path) = data("surveys/bfi.csv.gz") else { return };
    let (reader, dataset) = read(&path, &ReadOptions::default());
    assert_eq!((dataset.n_rows(), dataset.schema().columns().len()), (2800, 28));
    assert!((0..25).all(|column| labels(&dataset, column) == ["1", "2", "3", "4", "5", "6"]));
    assert_eq!(labels(&dataset, 25), ["1", "2"]);
    assert_eq!(labels(&dataset, 26), ["1", "2", "3", "4", "5"]);
    assert_eq!(dataset.schema().columns()[27].kind, Kind::Continuous);
    assert!(reader.warnings().is_empty(), "{:?}", reader.warnings());
    let missing = numbers(&dataset).iter().flatten().filter(|value| value.is_nan()).count();
    // psych's documentation of bfi: 508 missing answers to the items, 223 to education.
    assert_eq!(missing, 508 + 223);
}

#[test]
fn latent_class_sets_are_categorical() {
    for (name, n_rows, n_columns) in [("carcinoma", 118, 7), ("cheating", 319, 5), ("gss82", 1202, 4)] {
        let Some(path) = data(&format!("surveys/polca_{name}.csv.gz")) else { return };
        let (_, dataset) = read(&path, &ReadOptions::default());
        assert_eq!((dataset.n_rows(), dataset.schema().columns().len()), (n_rows, n_columns), "{name}");
        assert!(kind_names(&dataset.source()).iter().all(|kind| *kind == "categorical"), "{name}");
        if name != "gss82" {
            assert_eq!(labels(&dataset, 0), ["1", "2"]);
        }
    }
}

#[test]
fn newsgroups_are_binary() {
    let Some(path) = data("news20_w100/news20_w100.csv.gz") else { return };
    let (reader, dataset) = read(&path, &ReadOptions::default());
    assert_eq!((dataset.n_rows(), reader.schema().columns().len()), (16242, 100));
    assert!(kind_names(&reader).iter().all(|kind| *kind == "binary"));
    let names = std::fs::read_to_string(path.with_file_name("names.txt")).unwrap();
    assert_eq!(names.lines().collect::<Vec<_>>(), column_names(&dataset));
}

#[test]
fn density_estimation_sets_have_no_header() {
    let Some(path) = data("debd/nltcs/nltcs.train.csv.gz") else { return };
    let (_, dataset) = read(&path, &ReadOptions::default().header(false));
    assert_eq!((dataset.n_rows(), dataset.schema().columns().len()), (16181, 16));
    let message = open(&path, &ReadOptions::default()).unwrap_err().to_string();
    assert!(message.contains("read.no_header"), "{message}");
}

#[test]
fn bags_of_words_have_the_published_sizes() {
    let (Some(path), Some(names)) = (data("bow/docword.kos.txt.gz"), data("bow/vocab.kos.txt")) else { return };
    let (reader, dataset) = read(&path, &ReadOptions::default().names(&names));
    // UCI: D = 3430, W = 6906, N = 467714 words in all, 353160 entries.
    assert_eq!((dataset.n_rows(), reader.schema().columns().len()), (3430, 6906));
    assert_eq!(reader.schema().columns()[1].name, "abandon");
    assert_eq!(reader.schema().columns()[1].kind, Kind::Count);
    let (mut n_cells, mut n_words) = (0, 0.0);
    for batch in dataset.batches() {
        let crate::data::Block::Sparse(rows) = &batch.block else { panic!("a bag of words is sparse") };
        n_cells += rows.columns.len();
        n_words += rows.values.iter().flatten().sum::<f64>();
    }
    assert_eq!((n_cells, n_words), (353_160, 467_714.0));
    let (binary, _) = read(&path, &ReadOptions::default().names(names).kind("*", KindOverride::Binary));
    assert!(kind_names(&binary).iter().all(|kind| *kind == "binary"));
}

#[test]
fn diagnoses_are_grouped_by_phecode() {
    let (Some(events), Some(map)) = (data("ehr/vermont_dx_events.csv.gz"), data("ehr/phecode_map.csv.gz")) else { return };
    let options = ReadOptions::default().events("patient_id", "icd9", None);
    let (_, plain) = read(&events, &options);
    assert!(kind_names(&plain.source()).iter().all(|kind| *kind == "binary"));
    let message = open(&events, &options.clone().group(&map)).unwrap_err().to_string();
    assert!(message.contains("3 columns") && message.contains("phecode_map"), "{message}");
    let (reader, grouped) = read(&events, &options.group(&map).group_columns("code", "phecode"));
    // 289 of the 1,825 codes have no phecode; 81,815 codes are listed.
    for note in ["289 of the data's 1825 columns have no group", "80279 of its 81815 items are not in the data"] {
        assert!(reader.warnings().iter().any(|warning| warning.contains(note)), "{:?}", reader.warnings());
    }
    assert_eq!(grouped.n_rows(), plain.n_rows());
    assert_eq!(grouped.schema().columns().len(), plain.schema().columns().len());
    assert!(reader.schema().variables().len() < plain.schema().columns().len());
    let n_cells = |dataset: &Dataset| -> usize {
        let of = |block: &crate::data::Block| match block {
            crate::data::Block::Sparse(rows) => rows.columns.len(),
            crate::data::Block::Dense(_) => panic!("events are sparse"),
        };
        dataset.batches().iter().map(|batch| of(&batch.block)).sum()
    };
    assert_eq!(n_cells(&grouped), n_cells(&plain));
    for batch in grouped.batches() {
        let crate::data::Block::Sparse(rows) = &batch.block else { panic!("events are sparse") };
        assert!((0..batch.n_rows).all(|row| rows.columns[rows.starts[row]..rows.starts[row + 1]].is_sorted_by(|a, b| a < b)));
    }
}

#[test]
fn splice_junctions_lose_their_names_and_stocks_their_dates() {
    if let Some(path) = data("dna/arff_splice.csv.gz") {
        let (reader, dataset) = read(&path, &ReadOptions::default());
        assert_eq!((dataset.n_rows(), reader.schema().columns().len()), (3190, 61));
        assert!(reader.warnings()[0].contains("Instance_name"));
        assert!(kind_names(&reader).iter().all(|kind| *kind == "categorical"));
    }
    for (name, date) in [("frapo_SP500_weekly", "rownames"), ("sklearn_56_daily_close", "date")] {
        let Some(path) = data(&format!("stocks/{name}.csv.gz")) else { return };
        let reader = open(&path, &ReadOptions::default()).unwrap();
        assert!(reader.warnings()[0].contains(date), "{:?}", reader.warnings());
        assert!(reader.schema().find_column(date).is_none());
        assert!(kind_names(&reader).iter().all(|kind| *kind == "continuous"));
    }
}
