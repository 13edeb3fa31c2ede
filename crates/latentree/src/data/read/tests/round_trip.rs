//! What is written is read back: every kind, missing cells, odd labels and names, every format.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::data::{Batch, Block};
use crate::data::{ColumnData, Kind, ResultWriter, Schema, SparseRows, TableWriter, Value};

fn kinds() -> impl Strategy<Value = Kind> {
    let label = prop_oneof![
        "[a-z]{1,6}",
        "[ -~]{1,8}".prop_filter("spaces around are trimmed", |text| text.trim() == text && !text.is_empty()),
        "(0|1|17|-3|2[.]5|007|NA|null|é,\"|two\nlines)",
    ];
    prop_oneof![
        Just(Kind::binary()),
        Just(Kind::Binary { labels: ["false".into(), "true".into()] }),
        Just(Kind::Continuous),
        Just(Kind::Count),
        (2usize..300).prop_map(Kind::numbered),
        proptest::collection::btree_set(label, 1..9)
            .prop_map(|labels| Kind::Categorical { labels: labels.into_iter().collect() }),
    ]
}

/// A schema and rows of random bits, from which cells of any kind are made.
fn tables() -> impl Strategy<Value = Dataset> {
    let columns = proptest::collection::vec(kinds(), 1..6);
    (columns, 1usize..40).prop_flat_map(|(kinds, n_rows)| {
        let cells = proptest::collection::vec((any::<f64>(), any::<u64>(), 0..5u8), n_rows * kinds.len());
        cells.prop_map(move |cells| {
            let mut builder = Schema::builder();
            let mut columns = Vec::new();
            for (ix, (kind, cells)) in kinds.iter().zip(cells.chunks(n_rows)).enumerate() {
                let name = ["plain", "with, comma", "\"quoted\"", "ünï", "two\nlines"][ix];
                builder = builder.scalar(name, kind.clone());
                let mut column = ColumnData::for_kind(kind, n_rows);
                for &(real, bits, missing) in cells {
                    column.push_number(match (missing, kind) {
                        (0, _) => f64::NAN,
                        (_, Kind::Continuous) if real.is_finite() => real + 0.0,
                        (_, Kind::Continuous) => 0.25,
                        (_, Kind::Count) => (bits >> (11 + bits % 50)) as f64,
                        (_, kind) => (bits % kind.n_states().unwrap() as u64) as f64,
                    });
                }
                columns.push(column);
            }
            Dataset::from_columns(Arc::new(builder.build().unwrap()), columns, None).unwrap()
        })
    })
}

fn write(path: &std::path::Path, dataset: &Dataset, weights: Option<&str>) -> Result<()> {
    let mut writer = TableWriter::create(path, dataset.schema(), weights)?;
    dataset.batches().iter().try_for_each(|batch| writer.write_batch(batch))?;
    writer.finish()
}

/// Cells as bits, so that missing cells compare equal.
fn bits(dataset: &Dataset) -> Vec<Vec<u64>> {
    let bit = |value: f64| if value.is_nan() { u64::MAX } else { value.to_bits() };
    numbers(dataset).into_iter().map(|row| row.into_iter().map(bit).collect()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn what_is_written_is_read_back(dataset in tables()) {
        let dir = tempfile::tempdir().unwrap();
        let names: Vec<&str> =
            ["t.csv", "t.tsv", "t.csv.gz", "t.tsv.zst", "t.parquet", "t.arrow"].into_iter().filter(has_format).collect();
        for name in &names {
            let path = dir.path().join(name);
            write(&path, &dataset, None).unwrap();
            let options = ReadOptions::default().schema(Arc::clone(dataset.schema())).batch_rows(7);
            let mut reader = open(&path, &options).unwrap();
            prop_assert!(reader.absent_columns().is_empty());
            let back = Dataset::read(&mut reader).unwrap();
            prop_assert_eq!(bits(&back), bits(&dataset), "{}", name);
        }
        prop_assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), names.len());
    }

    #[test]
    fn our_csv_is_the_csv_of_another_program(rows in proptest::collection::vec(
        proptest::collection::vec("[ a,\"\n;é]{0,6}", 3), 1..20))
    {
        // The csv crate writes; we must see the fields it was given, spaces around them aside.
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(["p", "q", "r"]).unwrap();
        rows.iter().for_each(|row| writer.write_record(row).unwrap());
        let fixture = Fixture::new("t.csv", writer.into_inner().unwrap());
        let expected: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(|field| field.trim().to_owned()).collect()).collect();
        match fixture.read(&ReadOptions::default()) {
            Ok(dataset) => {
                let names = column_names(&dataset);
                let kept: Vec<usize> =
                    ["p", "q", "r"].iter().enumerate().filter(|(_, name)| names.iter().any(|it| it == *name)).map(|(ix, _)| ix).collect();
                let expected: Vec<Vec<String>> =
                    expected.iter().map(|row| kept.iter().map(|&ix| row[ix].clone()).collect()).collect();
                prop_assert_eq!(texts(&dataset), expected);
            }
            Err(error) => {
                prop_assert!(error.to_string().contains("no column remains"), "{}", error);
                prop_assert!(expected.iter().flatten().all(String::is_empty));
            }
        }
    }

    #[test]
    fn garbage_is_an_error_or_a_table_and_never_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400), which in 0usize..9) {
        let name = ["t.csv", "t.tsv", "docword.txt", "t.mtx", "t.svm", "t.txt", "t.csv.gz", "t", "t.parquet"][which];
        let _ = Fixture::new(name, bytes).read(&ReadOptions::default());
    }

    #[test]
    fn digits_and_spaces_are_an_error_or_a_table_and_never_a_panic(text in "(%%MatrixMarket matrix (coordinate|array) (real|pattern) general\n)?[0-9:., \n-]{0,80}", which in 0usize..5) {
        let name = ["t.csv", "docword.txt", "t.mtx", "t.svm", "t.txt"][which];
        let _ = Fixture::new(name, text).read(&ReadOptions::default());
    }
}

#[cfg(feature = "columnar")]
#[test]
fn a_damaged_columnar_file_is_an_error_or_a_table_and_never_a_panic() {
    use rand::{RngExt, SeedableRng};
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(3);
    let dir = tempfile::tempdir().unwrap();
    let text: String = (0..300).map(|row| format!("{},{},label{}\n", row % 2, row as f64 / 7.0, row % 9)).collect();
    let dataset = Fixture::new("t.csv", text).read(&ReadOptions::default().header(false)).unwrap();
    for name in ["t.parquet", "t.arrow"] {
        let path = dir.path().join(name);
        write(&path, &dataset, None).unwrap();
        let whole = std::fs::read(&path).unwrap();
        for _ in 0..400 {
            let mut bytes = whole.clone();
            for _ in 0..rng.random_range(1..4) {
                let ix = rng.random_range(0..bytes.len());
                bytes[ix] = rng.random();
            }
            std::fs::write(&path, &bytes).unwrap();
            if let Ok(mut reader) = open(&path, &ReadOptions::default()) {
                let _ = Dataset::read(&mut reader);
            }
        }
        for length in (0..whole.len()).step_by(whole.len() / 50) {
            std::fs::write(&path, &whole[..length]).unwrap();
            let message = open(&path, &ReadOptions::default()).unwrap_err().to_string();
            assert!(message.contains(name), "{message}");
        }
    }
}

#[test]
fn sparse_batches_and_weights_are_written_dense() {
    let schema = Arc::new(
        Schema::builder().scalar("a", Kind::binary()).scalar("b", Kind::Count).scalar("c", Kind::Count).build().unwrap(),
    );
    let rows = SparseRows { starts: vec![0, 2, 2, 3], columns: vec![0, 2, 1], values: Some(vec![1.0, 5.0, f64::NAN]) };
    let batch = Batch { first_row: 0, n_rows: 3, block: Block::Sparse(rows), weights: Some(vec![0.5, 1.0, 2.0]) };
    let dataset = Dataset::new(schema, vec![batch]);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.csv");
    write(&path, &dataset, Some("w")).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "a,b,c,w\n1,0,5,0.5\n0,0,0,1\n0,,0,2\n");
    for name in ["t.parquet", "t.feather"].into_iter().filter(has_format) {
        let path = dir.path().join(name);
        write(&path, &dataset, Some("w")).unwrap();
        let options = ReadOptions::default().weights("w").schema(Arc::clone(dataset.schema()));
        let back = Dataset::read(&mut open(&path, &options).unwrap()).unwrap();
        assert_eq!(bits(&back), bits(&dataset));
        assert_eq!(back.batches()[0].weights, dataset.batches()[0].weights);
    }
}

#[test]
fn libsvm_is_written_and_read_back() {
    let fixture = Fixture::new("t.csv", "a,b\n0,1.5\n1,0\n1,-2\n");
    let dataset = fixture.read(&ReadOptions::default()).unwrap();
    let path = fixture.dir.path().join("t.svm");
    write(&path, &dataset, None).unwrap();
    let back = Dataset::read(&mut open(&path, &ReadOptions::default()).unwrap()).unwrap();
    assert_eq!(numbers(&back), numbers(&dataset));
    let missing = Fixture::new("t.csv", "a,b\n0,1.5\n1,\n").read(&ReadOptions::default()).unwrap();
    let message = write(&path, &missing, None).unwrap_err().to_string();
    assert!(message.contains("row 2") && message.contains("\"b\" is missing"), "{message}");
    assert_eq!(Dataset::read(&mut open(&path, &ReadOptions::default()).unwrap()).unwrap(), back);
}

#[test]
fn a_writer_dropped_before_its_end_leaves_no_file() {
    let dataset = Fixture::new("t.csv", "a,b\n0,1\n1,0\n").read(&ReadOptions::default()).unwrap();
    let dir = tempfile::tempdir().unwrap();
    for name in ["t.csv", "t.csv.gz", "t.parquet", "t.arrow", "t.svm"].into_iter().filter(has_format) {
        let mut writer = TableWriter::create(&dir.path().join(name), dataset.schema(), None).unwrap();
        writer.write_batch(&dataset.batches()[0]).unwrap();
        drop(writer);
        let mut writer =
            ResultWriter::create(&dir.path().join(if has_format(&"r.parquet") { "r.parquet" } else { "r.csv" }), &["row"])
                .unwrap();
        writer.write_row(&[Value::Integer(1)]).unwrap();
        drop(writer);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "{name}");
    }
    for name in ["t.mtx", "t.parquet.gz"] {
        assert!(TableWriter::create(&dir.path().join(name), dataset.schema(), None).is_err());
    }
}

#[test]
fn results_are_read_back_from_every_format() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["r.csv", "r.tsv.gz", "r.parquet", "r.arrow"].into_iter().filter(has_format) {
        let path = dir.path().join(name);
        let mut writer = ResultWriter::create(&path, &["row", "value", "state"]).unwrap();
        for row in 0..20_000u64 {
            let state = if row % 2 == 0 { Value::Text("up, left") } else { Value::Missing };
            writer
                .write_row(&[Value::Integer(row + 1), Value::Number((row as f64).ln()), state])
                .unwrap_or_else(|error| panic!("{error}"));
        }
        writer.finish().unwrap();
        let options = ReadOptions::default().kind("value", crate::data::KindOverride::Continuous);
        let result = open(&path, &options).and_then(|mut reader| Dataset::read(&mut reader));
        // The logarithm of 0 is infinite, which no table may hold.
        assert!(result.unwrap_err().to_string().contains("infinite"), "{name}");
        let options = options.kind("value", crate::data::KindOverride::Ignore).kind("row", crate::data::KindOverride::Count);
        let dataset = Dataset::read(&mut open(&path, &options).unwrap()).unwrap();
        assert_eq!(dataset.n_rows(), 20_000);
        assert_eq!(texts(&dataset)[9_999], ["10000", ""]);
        assert_eq!(texts(&dataset)[10_000], ["10001", "up, left"]);
    }
}
