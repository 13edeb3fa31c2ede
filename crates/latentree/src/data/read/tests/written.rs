//! Numbers, dates and labels as people write them.

use std::sync::Arc;

use super::*;
use crate::data::{Kind, KindOverride, OTHER_LABEL};

/// The kind of a column of these cells, and its values as texts.
fn column(delimiter: char, cells: &[&str]) -> (Kind, Vec<String>, Vec<String>) {
    let mut text = format!("v{delimiter}w\n");
    cells.iter().enumerate().for_each(|(row, cell)| text += &format!("{cell}{delimiter}{}\n", row % 2));
    let mut reader = Fixture::new("t.csv", text).open(&ReadOptions::default()).unwrap();
    let dataset = Dataset::read(&mut reader).unwrap();
    let warnings = reader.warnings().to_vec();
    let values = texts(&dataset).into_iter().map(|row| row[0].clone()).collect();
    (dataset.schema().columns()[0].kind.clone(), values, warnings)
}

#[test]
fn decimal_commas_are_read_and_named() {
    let (kind, values, warnings) = column(';', &["1,5", "2", "", "0,25", "-1.234,5", "1,234"]);
    assert_eq!(kind, Kind::Continuous);
    assert_eq!(values, ["1.5", "2", "", "0.25", "-1234.5", "1.234"]);
    assert!(warnings.iter().any(|note| note.contains("\"v\"") && note.contains("decimal commas")), "{warnings:?}");
    let (kind, values, _) = column(',', &["\"1,5\"", "\"2,25\"", "3"]);
    assert_eq!((kind, values), (Kind::Continuous, vec!["1.5".into(), "2.25".into(), "3".into()]));
}

#[test]
fn thousands_separators_are_read_and_named() {
    let cells: Vec<String> = (0..20).map(|row| format!("\"{},{:03}\"", row % 9 + 1, row * 37 % 1000)).collect();
    let (kind, values, warnings) = column(',', &cells.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(kind, Kind::Continuous);
    assert_eq!(values[1], "2037");
    assert!(warnings.iter().any(|note| note.contains("thousands separators")), "{warnings:?}");
    let (kind, values, _) = column(',', &["1 234.5", "2 000", "\"3,000.25\""]);
    assert_eq!((kind, values), (Kind::Continuous, vec!["1234.5".into(), "2000".into(), "3000.25".into()]));
}

#[test]
fn numbers_with_separators_and_decimals_in_every_cell_are_numbers() {
    let cells: Vec<String> = (0..20).map(|row| format!("\"{},{:03}.50\"", row % 9 + 1, row * 37 % 1000)).collect();
    let (kind, values, warnings) = column(',', &cells.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!((kind, values[1].as_str()), (Kind::Continuous, "2037.5"));
    assert!(warnings.iter().any(|note| note.contains("is read as 1000.5")), "{warnings:?}");
    let cells: Vec<String> = (0..20).map(|row| format!("{}.{:03},50", row % 9 + 1, row * 37 % 1000)).collect();
    let (kind, values, _) = column(';', &cells.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!((kind, values[1].as_str()), (Kind::Continuous, "2037.5"));
}

#[test]
fn amounts_and_percentages_that_never_repeat_are_no_identifiers() {
    let cells = |cell: &dyn Fn(u32) -> String| (0..80).map(|row| cell(row * 37 % 80)).collect::<Vec<_>>();
    let columns = [
        cells(&|it| format!("{}.{it:02}%", 10 + it)),
        cells(&|it| format!("{}%", it + 1)),
        cells(&|it| format!("\"${},{:03}.00\"", it / 9 + 1, it * 7)),
        cells(&|it| format!("\"($1,{:03})\"", 100 + it)),
        cells(&|it| format!("\"{},{:03}\"", it / 9 + 1, it * 7)),
    ];
    for cells in columns {
        let (kind, _, warnings) = column(',', &cells.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(kind, Kind::Continuous, "{} {warnings:?}", cells[1]);
        assert!(warnings.iter().any(|note| note.contains("is read as ")), "{warnings:?}");
    }
}

#[test]
fn the_index_before_a_table_is_left_out() {
    let table = |name: &str, first: u32, step: u32| {
        let mut text = format!("{name},a\n");
        (0..10).for_each(|row| text += &format!("{},{}\n", first + step * row, row % 2));
        let reader = Fixture::new("t.csv", text).open(&ReadOptions::default()).unwrap();
        (reader.schema().columns().len(), reader.warnings().join("; "))
    };
    for (name, first) in [("", 0), ("", 1), ("\"\"", 1), ("Unnamed: 0", 0)] {
        let (n_columns, warnings) = table(name, first, 1);
        assert!(n_columns == 1 && warnings.contains("it numbers the rows"), "{name:?} {first}: {warnings}");
    }
    assert_eq!(table("grade", 1, 1).0, 2);
    assert_eq!(table("", 7, 1).0, 2);
    assert_eq!(table("", 0, 2).0, 2);
}

#[test]
fn mixed_decimal_marks_are_labels_with_a_word_about_it() {
    let (kind, _, warnings) = column(';', &["1,5", "2.5", "1,5"]);
    assert_eq!(kind.n_states(), Some(2));
    assert!(warnings.iter().any(|note| note.contains("write them all the same way")), "{warnings:?}");
    let mut many = "v;w\n".to_owned();
    (0..1500).for_each(|row| many += &format!("{row}.5;1\n"));
    let message = Fixture::new("t.csv", many + "1,5;0\n").error(&ReadOptions::default()).to_string();
    assert!(message.contains("row 1501") && message.contains("decimal mark"), "{message}");
}

#[test]
fn numbers_with_commas_fit_a_schema() {
    let mut plain = "v,n,w\n".to_owned();
    (0..40).for_each(|row| plain += &format!("{}.5,{},1\n", row, row * 1000));
    let schema = Arc::clone(Fixture::new("t.csv", plain).read(&ReadOptions::default()).unwrap().schema());
    let other = Fixture::new("t.csv", "v;n;w\n1,5;2.000;1\n2,25;17;0\n");
    let dataset = other.read(&ReadOptions::default().schema(schema)).unwrap();
    assert_eq!(texts(&dataset)[0][..1], ["1.5"]);
    assert_eq!(texts(&dataset)[1][..2], ["2.25", "17"]);
}

#[test]
fn dates_are_called_dates() {
    let cells: Vec<String> = (0..80).map(|row| format!("2021-{:02}-{:02}", row % 12 + 1, row % 28 + 1)).collect();
    let mut text = "when,w\n".to_owned();
    cells.iter().for_each(|cell| text += &format!("{cell},1\n"));
    let reader = Fixture::new("t.csv", text).open(&ReadOptions::default()).unwrap();
    assert!(reader.warnings()[0].contains("\"when\" is ignored: it holds dates"), "{:?}", reader.warnings());
    let (kind, _, warnings) = column(',', &["3/4/2021", "31/12/2020", "3/4/2021"]);
    assert_eq!(kind.n_states(), Some(2));
    assert!(warnings.iter().any(|note| note.contains("dates")), "{warnings:?}");
}

#[test]
fn identifiers_of_numbers_are_left_out_and_measurements_are_not() {
    let mut text = "row,case_id,code,income,score,x\n".to_owned();
    for row in 0..2000_u64 {
        let mixed = row.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        text += &format!(
            "{},{},{},{},{},{}\n",
            row + 1,
            mixed % 9_000_000,
            10_000_000 + mixed % 80_000_000,
            mixed % 200_000,
            mixed % 100,
            row % 2
        );
    }
    let fixture = Fixture::new("t.csv", text);
    let reader = fixture.open(&ReadOptions::default()).unwrap();
    let names: Vec<&str> = reader.schema().columns().iter().map(|column| column.name.as_str()).collect();
    assert_eq!(names, ["income", "score", "x"]);
    assert_eq!(reader.warnings().iter().filter(|note| note.contains("identifier")).count(), 3, "{:?}", reader.warnings());
    let told = fixture.open(&ReadOptions::default().kind("row", KindOverride::Count)).unwrap();
    assert!(told.schema().find_column("row").is_some());
}

#[test]
fn small_counts_stay_counts_and_answers_stay_labels() {
    // The expected frequencies of 1,000 rows of a Poisson distribution of mean 2, and of answers.
    let visits = [135, 271, 271, 180, 90, 36, 12, 4, 1];
    let rare = [600, 300, 75, 20, 5];
    let answers = [100, 200, 300, 250, 150];
    let values = |counts: &[usize], first: usize| -> Vec<usize> {
        counts.iter().enumerate().flat_map(|(ix, &count)| vec![ix + first; count]).collect()
    };
    let mut text = "visits,rare,answer\n".to_owned();
    let columns = [values(&visits, 0), values(&rare, 0), values(&answers, 1)];
    (0..1000).for_each(|row| text += &format!("{},{},{}\n", columns[0][row], columns[1][row], columns[2][row]));
    let reader = Fixture::new("t.csv", text).open(&ReadOptions::default()).unwrap();
    assert_eq!(kind_names(&reader), ["count", "categorical", "categorical"]);
    let notes: Vec<&String> = reader.warnings().iter().filter(|note| note.contains("add `read.kind` rare=count")).collect();
    assert!(notes.len() == 1 && notes[0].contains("\"rare\"") && !notes[0].contains("\"answer\""), "{notes:?}");
}

#[test]
fn rare_labels_are_joined_and_new_ones_join_them() {
    let mut text = "word,n\n".to_owned();
    (0..100).for_each(|row| text += &format!("{},{}\n", ["a", "b", "a", &format!("r{row}")][row % 4], row % 2));
    let fixture = Fixture::new("t.csv", text);
    let mut reader = fixture.open(&ReadOptions::default().min_count(5)).unwrap();
    let labels: Vec<String> = ["a", "b", OTHER_LABEL].map(str::to_owned).to_vec();
    assert_eq!(reader.schema().columns()[0].kind, Kind::Categorical { labels });
    assert!(reader.warnings()[0].contains("25 of 27 labels"), "{:?}", reader.warnings());
    let dataset = Dataset::read(&mut reader).unwrap();
    let others = texts(&dataset).iter().filter(|row| row[0] == OTHER_LABEL).count();
    assert_eq!(others, 25);
    let fresh = Fixture::new("t.csv", "word,n\nb,1\nnever seen,0\n,1\n17,1\n");
    let options = ReadOptions::default().schema(Arc::clone(dataset.schema()));
    let seen: Vec<String> = texts(&fresh.read(&options).unwrap()).into_iter().map(|row| row[0].clone()).collect();
    assert_eq!(seen, ["b", OTHER_LABEL, "", OTHER_LABEL]);
    assert!(fresh.error(&options.min_count(5)).to_string().contains("read.min_count"));
    let all_rare = fixture.open(&ReadOptions::default().min_count(60)).unwrap();
    assert!(all_rare.warnings()[0].contains("fewer than 60 times"), "{:?}", all_rare.warnings());
    let sparse = Fixture::new("t.svm", "1 1:1\n").error(&ReadOptions::default().min_count(2));
    assert!(sparse.to_string().contains("read.min_count"));
}

#[test]
fn levels_of_a_table_in_memory_are_joined_too() {
    use crate::data::{MemoryTable, Values, from_values};
    let names = ["word".to_owned()];
    let mut column = |_| Values::Texts {
        texts: ["z", "rare", "y"].map(str::to_owned).to_vec(),
        codes: vec![0, 2, 1, 0, 2, 7],
        are_levels: true,
    };
    let table = MemoryTable { names: &names, named: true, n_rows: 6, weights: None, column: &mut column };
    let loaded = from_values(table, &ReadOptions::default().min_count(2)).unwrap();
    assert_eq!(texts(&loaded.dataset).concat(), ["z", "y", OTHER_LABEL, "z", "y", ""]);
    assert!(loaded.warnings[0].contains("1 of 3 labels"), "{:?}", loaded.warnings);
}

#[test]
fn events_read_as_a_table_are_refused_with_the_option_that_is_meant() {
    let mut text = "patient_id,icd9\n".to_owned();
    (0..600).for_each(|row| text += &format!("{},E{}\n", 1000 + row / 3, row * 7919 % 101 % 40));
    let fixture = Fixture::new("e.csv", &text);
    let message = fixture.error(&ReadOptions::default()).to_string();
    assert!(message.contains("`read.events` patient_id,icd9") && message.contains("e.csv"), "{message}");
    assert!(fixture.open(&ReadOptions::default().events("patient_id", "icd9", None)).is_ok());
    assert!(fixture.open(&ReadOptions::default().kind("patient_id", KindOverride::Ignore)).is_ok());
    let unnamed = Fixture::new("e.csv", text.replace("patient_id", "a"));
    let reader = unnamed.open(&ReadOptions::default()).unwrap();
    assert!(reader.warnings()[0].contains("`read.events` a,icd9"), "{:?}", reader.warnings());
}
