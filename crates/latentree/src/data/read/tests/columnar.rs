//! Parquet and Arrow files of other programs: every type, nulls, dictionaries, dates.

use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, DictionaryArray, Float32Array, Float64Array, Int8Array,
    Int64Array, LargeStringArray, NullArray, RecordBatch, StringArray, StringViewArray, TimestampSecondArray, UInt64Array,
};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

use super::*;
use crate::data::{Kind, KindOverride, UnseenPolicy};

fn batch() -> RecordBatch {
    let words = [Some("b"), None, Some("a"), Some(" b ")];
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("bool", Arc::new(BooleanArray::from(vec![Some(true), None, Some(false), Some(true)]))),
        ("int8", Arc::new(Int8Array::from(vec![Some(0), Some(1), None, Some(1)]))),
        ("uint64", Arc::new(UInt64Array::from(vec![3, 1, 2, 3]))),
        ("float32", Arc::new(Float32Array::from(vec![0.5, f32::NAN, 1.0, 2.0]))),
        (
            "decimal",
            Arc::new(Decimal128Array::from(vec![Some(150), None, Some(-25), Some(0)]).with_precision_and_scale(10, 2).unwrap()),
        ),
        ("utf8", Arc::new(StringArray::from(words.to_vec()))),
        ("large", Arc::new(LargeStringArray::from(words.to_vec()))),
        ("view", Arc::new(StringViewArray::from(words.to_vec()))),
        ("dictionary", Arc::new(words.iter().map(|word| word.map(str::trim)).collect::<DictionaryArray<Int32Type>>())),
        ("date", Arc::new(Date32Array::from(vec![1, 2, 3, 4]))),
        ("time", Arc::new(TimestampSecondArray::from(vec![1, 2, 3, 4]))),
        ("blob", Arc::new(BinaryArray::from(vec![b"x".as_slice(); 4]))),
        ("nothing", Arc::new(NullArray::new(4))),
        ("text missing", Arc::new(StringArray::from(vec!["1", "NA", "", "2.0"]))),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true))).unwrap()
}

fn parquet(batch: &RecordBatch) -> Vec<u8> {
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap()
}

#[test]
fn every_type_becomes_a_kind_or_a_warning() {
    let batch = batch();
    let mut file = FileWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    file.write(&batch).unwrap();
    let mut stream = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    stream.write(&batch).unwrap();
    for (name, bytes) in
        [("t.parquet", parquet(&batch)), ("t.feather", file.into_inner().unwrap()), ("t.arrow", stream.into_inner().unwrap())]
    {
        let fixture = Fixture::new(name, bytes);
        let mut reader = fixture.open(&ReadOptions::default().batch_rows(3)).unwrap();
        let left: Vec<bool> =
            ["date", "time", "blob", "nothing"].iter().map(|name| reader.warnings().iter().any(|it| it.contains(name))).collect();
        assert_eq!(left, [true; 4], "{:?}", reader.warnings());
        assert_eq!(reader.warnings().len(), 4);
        let dataset = Dataset::read(&mut reader).unwrap();
        let kinds: Vec<&str> = kind_names(&reader);
        let expected =
            "binary binary categorical continuous continuous categorical categorical categorical categorical categorical";
        assert_eq!(kinds.join(" "), expected, "{name}");
        assert_eq!(reader.schema().columns()[0].kind, Kind::Binary { labels: ["false".into(), "true".into()] });
        assert_eq!(
            texts(&dataset),
            [
                ["true", "0", "3", "0.5", "1.5", "b", "b", "b", "b", "1"],
                ["", "1", "1", "", "", "", "", "", "", ""],
                ["false", "", "2", "1", "-0.25", "a", "a", "a", "a", ""],
                ["true", "1", "3", "2", "0", "b", "b", "b", "b", "2"],
            ]
        );
        assert!(reader.digest().is_some());
        reader.rewind().unwrap();
        let again = Dataset::read(&mut reader).unwrap();
        assert_eq!(texts(&again), texts(&dataset));
        // Text of the same table fits the schema, and the file fits the schema of the text.
        let csv = Fixture::new("t.csv", "bool,int8,view\nTRUE,1.0,a\nfalse,0,b\n");
        let options = ReadOptions::default().schema(Arc::clone(dataset.schema()));
        assert_eq!(csv.open(&options).unwrap().absent_columns().len(), 7);
        assert_eq!(texts(&csv.read(&options).unwrap())[0][..2], ["true", "1"]);
        let of_text = csv.read(&ReadOptions::default()).unwrap();
        let fitted = fixture.read(&ReadOptions::default().schema(Arc::clone(of_text.schema()))).unwrap();
        assert_eq!(texts(&fitted)[0], ["true", "0", "b"]);
    }
}

#[test]
fn whole_numbers_at_once_are_the_labels_that_they_are_one_by_one() {
    // A null has some number, here one that is no label.
    let with_nulls = Int64Array::new(vec![0, 77, 2, 0].into(), Some(vec![true, false, true, true].into()));
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("nulls", Arc::new(with_nulls)),
        ("negative", Arc::new(Int64Array::from(vec![-1, 5, 5, -1]))),
        ("large", Arc::new(Int64Array::from(vec![256, 1 << 40, 256, 0]))),
        ("small", Arc::new(Int8Array::from(vec![3, 1, 2, 3]))),
    ];
    let fixture = Fixture::new("t.parquet", parquet(&RecordBatch::try_from_iter(columns).unwrap()));
    let options = ReadOptions::default().kind("*", KindOverride::Categorical);
    let mut reader = fixture.open(&options).unwrap();
    let dataset = Dataset::read(&mut reader).unwrap();
    let expected = [["0", "-1", "256", "3"], ["", "5", "1099511627776", "1"], ["2", "5", "256", "2"], ["0", "-1", "0", "3"]];
    assert_eq!(texts(&dataset), expected);
    reader.rewind().unwrap();
    assert_eq!(texts(&Dataset::read(&mut reader).unwrap()), expected);
    // A label that the schema does not have is found at its row.
    let columns: Vec<(&str, ArrayRef)> = dataset
        .schema()
        .columns()
        .iter()
        .map(|it| (it.name.as_str(), Arc::new(Int64Array::from(vec![0, 2, 9])) as ArrayRef))
        .collect();
    let other = Fixture::new("u.parquet", parquet(&RecordBatch::try_from_iter(columns).unwrap()));
    let options = ReadOptions::default().schema(Arc::clone(dataset.schema())).unseen(UnseenPolicy::Error);
    let message = other.error(&options).to_string();
    assert!(message.contains("row 3, column \"nulls\"") && message.contains('9'), "{message}");
}

#[test]
fn bad_cells_of_columnar_files_are_refused_with_their_row() {
    let values: ArrayRef = Arc::new(Float64Array::from(vec![0.5, f64::INFINITY]));
    let batch = RecordBatch::try_from_iter([("v", values)]).unwrap();
    let message = Fixture::new("t.parquet", parquet(&batch)).error(&ReadOptions::default()).to_string();
    assert!(message.contains("t.parquet, row 2, column \"v\"") && message.contains("infinite"), "{message}");
    let none = RecordBatch::try_from_iter([("v", Arc::new(Int64Array::from(Vec::<i64>::new())) as ArrayRef)]).unwrap();
    let message = Fixture::new("t.parquet", parquet(&none)).error(&ReadOptions::default()).to_string();
    assert!(message.contains("no rows"), "{message}");
    for name in ["t.parquet", "t.arrow"] {
        let message = Fixture::new(name, "a,b\n1,2\n").error(&ReadOptions::default()).to_string();
        assert!(message.contains("not valid") && message.contains(name), "{message}");
    }
}

#[test]
fn events_come_from_columnar_files_too() {
    let who: ArrayRef = Arc::new(Int64Array::from(vec![2, 2, 1, 2]));
    let what: ArrayRef = Arc::new(StringArray::from(vec![Some("x"), Some("y"), None, Some("x")]));
    let extra: ArrayRef = Arc::new(Date32Array::from(vec![1, 2, 3, 4]));
    let batch =
        RecordBatch::try_from_iter_with_nullable([("when", extra, true), ("what", what, true), ("who", who, true)]).unwrap();
    let options = ReadOptions::default().events("who", "what", None);
    let dataset = Fixture::new("e.parquet", parquet(&batch)).read(&options).unwrap();
    assert_eq!(column_names(&dataset), ["x", "y"]);
    assert_eq!(numbers(&dataset), [[1.0, 1.0], [0.0, 0.0]]);
}

/// Files of each format and compression, with a dictionary.
fn written() -> Vec<(&'static str, Vec<u8>)> {
    let words = ["b", "a", "c"];
    let word = |row: usize| words[row % 3];
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("number", Arc::new(Float64Array::from_iter_values((0..30).map(|row| (row % 7) as f64 / 2.0)))),
        ("text", Arc::new(StringArray::from_iter_values((0..30).map(word)))),
        ("view", Arc::new(StringViewArray::from_iter_values((0..30).map(word)))),
        ("dictionary", Arc::new((0..30).map(|row| Some(word(row))).collect::<DictionaryArray<Int32Type>>())),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let arrow = |compression| {
        let options = IpcWriteOptions::default().try_with_compression(compression).unwrap();
        let mut writer = FileWriter::try_new_with_options(Vec::new(), &batch.schema(), options).unwrap();
        writer.write(&batch).unwrap();
        writer.into_inner().unwrap()
    };
    let mut stream = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    stream.write(&batch).unwrap();
    let packed = |compression| {
        let properties = WriterProperties::builder().set_compression(compression).build();
        let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        writer.into_inner().unwrap()
    };
    vec![
        ("t.arrow", arrow(None)),
        ("t.arrow", arrow(Some(CompressionType::ZSTD))),
        ("t.arrow", arrow(Some(CompressionType::LZ4_FRAME))),
        ("t.arrow", stream.into_inner().unwrap()),
        ("t.parquet", packed(Compression::UNCOMPRESSED)),
        ("t.parquet", packed(Compression::SNAPPY)),
        ("t.parquet", packed(Compression::ZSTD(Default::default()))),
    ]
}

#[test]
fn a_length_that_no_file_has_is_an_error_at_hundreds_of_places() {
    for (name, bytes) in written() {
        let fixture = Fixture::new(name, &bytes);
        assert_eq!(fixture.read(&ReadOptions::default()).unwrap().n_rows(), 30);
        let mut n_errors = 0;
        // 2⁴⁷ as a word, 2³¹ − 1 as a half word, and the longest numbers of Parquet's metadata.
        let words: [&[u8]; 3] = [&(1_u64 << 47).to_le_bytes(), &i32::MAX.to_le_bytes(), &[0xfe, 0xff, 0xff, 0xff, 0x0f]];
        for word in words {
            // Words of Arrow's metadata are aligned; Parquet's stand anywhere, and a few hundred places must do.
            let step = if name == "t.parquet" { bytes.len() / 250 } else { 8 };
            for at in (0..bytes.len() - word.len()).step_by(step.max(1)) {
                let mut damaged = bytes.clone();
                damaged[at..at + word.len()].copy_from_slice(word);
                std::fs::write(&fixture.path, &damaged).unwrap();
                match fixture.read(&ReadOptions::default()) {
                    Ok(dataset) => assert!(dataset.n_rows() <= 30, "{name}, byte {at}"),
                    Err(error) => {
                        n_errors += 1;
                        assert!(error.to_string().contains(name), "{error}");
                    }
                }
            }
        }
        assert!(n_errors > 30, "{name}: {n_errors}");
    }
}

#[test]
fn columns_without_values_do_not_make_rows() {
    let nothing: ArrayRef = Arc::new(NullArray::new(3));
    let batch = RecordBatch::try_from_iter_with_nullable([("nothing", nothing, true)]).unwrap();
    let mut stream = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    stream.write(&batch).unwrap();
    // The number of rows is a word that nothing else depends on: as many as can be are claimed.
    let mut bytes = stream.into_inner().unwrap();
    for at in (0..bytes.len() - 8).step_by(4) {
        if bytes[at..at + 8] == 3_u64.to_le_bytes() {
            bytes[at..at + 8].copy_from_slice(&(1_u64 << 40).to_le_bytes());
        }
    }
    let message = Fixture::new("t.arrow", bytes).error(&ReadOptions::default()).to_string();
    assert!(message.contains("no column remains"), "{message}");
}

/// 2⁵³ + 1 is not a 64-bit float: as numbers, these ids would be one.
#[test]
fn ids_of_any_type_are_carried_along_exactly() {
    let large = 9_007_199_254_740_992_i64;
    let ids = vec![large, large + 1, large + 1];
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("id", Arc::new(Int64Array::from(ids.clone()))),
        ("day", Arc::new(Date32Array::from(vec![Some(0), None, Some(1)]))),
        ("code", Arc::new(StringArray::from(vec!["a", "a", "b"]))),
        ("x", Arc::new(Float64Array::from(vec![0.25, 1.5, 2.0]))),
    ];
    let batch = RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true))).unwrap();
    let fixture = Fixture::new("t.parquet", parquet(&batch));
    let options = ReadOptions::default().id("id").kind("x", KindOverride::Continuous).kind("code", KindOverride::Ignore);
    let mut reader = fixture.open(&options.carry_others(true)).unwrap();
    assert_eq!(reader.carried().names(), ["id", "day", "code"]);
    assert_eq!(reader.schema().columns().len(), 1);
    reader.next_batch().unwrap().unwrap();
    let row = |row: usize| (0..3).map(|column| reader.carried().cell(row, column)).collect::<Vec<_>>();
    assert_eq!(row(0), [Some("9007199254740992"), Some("1970-01-01"), Some("a")]);
    assert_eq!(row(1), [Some("9007199254740993"), None, Some("a")]);
    let mut events = fixture.open(&ReadOptions::default().events("id", "code", None).carry_keys(true)).unwrap();
    assert_eq!(events.next_batch().unwrap().unwrap().n_rows, 2);
    assert_eq!(events.carried().cell(1, 0), Some("9007199254740993"));
}
