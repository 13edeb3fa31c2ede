//! Tasks over record batches.

use arrow_array::{ArrayRef, Float64Array, Int8Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema as ArrowSchema};

use super::*;
use crate::data::{Kind, Rows as _};
use crate::moments::{Summary, fold};
use crate::observer::Silent;

/// Rows `from..to` of a table with labels, numbers and missing cells.
fn part(from: i32, to: i32) -> RecordBatch {
    let fields = [("yes", DataType::Int8), ("word", DataType::Utf8), ("size", DataType::Float64), ("w", DataType::Float64)];
    let schema = ArrowSchema::new(fields.map(|(name, kind)| Field::new(name, kind, true)).to_vec());
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int8Array::from_iter((from..to).map(|row| (row % 7 > 0).then_some((row % 2) as i8)))),
        Arc::new(StringArray::from_iter(
            (from..to).map(|row| (row % 5 > 0).then(|| ["a", "b", "c"][row as usize % 3].to_owned())),
        )),
        Arc::new(Float64Array::from_iter((from..to).map(|row| Some(f64::from(row) * 0.37 % 5.0)))),
        Arc::new(Float64Array::from_iter((from..to).map(|row| Some(f64::from(row % 3))))),
    ];
    RecordBatch::try_new(Arc::new(schema), columns).unwrap()
}

fn answered(task: &[u8], parts: &[(i32, i32)]) -> Result<Vec<u8>> {
    let answer = |&(from, to): &(i32, i32)| {
        let batch = part(from, to);
        observe(task, Some(RecordBatches::new(&batch.schema(), std::iter::once(Ok(batch.clone())))?))
    };
    merge(&parts.iter().map(answer).collect::<Result<Vec<_>>>()?)
}

fn summary(parts: &[(i32, i32)]) -> Result<(Looked, Summary)> {
    let run = |task: &[u8]| answered(task, parts);
    let options = LookOptions { weights: Some("w".to_owned()), ..LookOptions::default() };
    let looked = look(&run, options, WeightKind::Sampling)?;
    let rows = rows(run, looked.reading.clone(), Some(looked.n_rows)).frequencies(looked.are_frequencies);
    let found = fold(&mut *rows.open()?, Summary::new(Arc::clone(rows.schema())), &Silent)?;
    Ok((looked, found))
}

#[test]
fn parts_have_the_schema_weights_and_sums_of_the_whole() {
    let (looked, whole) = summary(&[(0, 900)]).unwrap();
    let kinds: Vec<Kind> = whole.schema().columns().iter().map(|column| column.kind.clone()).collect();
    let words = Kind::Categorical { labels: ["a", "b", "c"].map(str::to_owned).to_vec() };
    assert_eq!(kinds, [Kind::binary(), words, Kind::Continuous]);
    assert!(!looked.are_frequencies && looked.n_rows == 900);
    // Weights 0, 1, 2 become 0, 2/3, 4/3: they sum to the 600 rows that count.
    assert!((whole.total_weight() - 600.0).abs() < 1e-9);
    let (_, joined) = summary(&[(0, 10), (10, 10), (10, 600), (600, 900)]).unwrap();
    assert_eq!(joined.schema(), whole.schema());
    for (a, b) in joined.columns().iter().zip(whole.columns()) {
        assert_eq!((a.missing, a.nonzero), (b.missing, b.nonzero));
        assert!((a.weight - b.weight).abs() < 1e-9 && (a.mean - b.mean).abs() < 1e-9);
    }
}

#[test]
fn bytes_that_are_cut_or_changed_are_refused() {
    let task = looked(&Look::new(LookOptions::default())).unwrap();
    let answer = answered(&task, &[(0, 50)]).unwrap();
    for length in 0..answer.len() {
        assert!(merge(&[&answer[..length]]).is_err(), "{length}");
    }
    for at in 0..30 {
        let mut changed = answer.clone();
        changed[at] ^= 1;
        assert!(merge(&[changed]).is_err(), "{at}");
    }
    let reading = Reading::new(summary(&[(0, 90)]).unwrap().0.reading.schema);
    let pass = Header::Pass { version: "0.0.0".to_owned(), rows: 0, reading: Some(Arc::new(reading)) };
    let message = observe(&write(&pass, b"").unwrap(), None).unwrap_err().to_string();
    assert!(message.contains("0.0.0") && message.contains(env!("CARGO_PKG_VERSION")), "{message}");
}

#[test]
fn a_part_without_batches_has_no_rows() {
    let task = looked(&Look::new(LookOptions::default())).unwrap();
    let empty = observe(&task, None).unwrap();
    let joined = merge(&[empty.clone(), answered(&task, &[(0, 50)]).unwrap(), empty.clone()]).unwrap();
    assert_eq!(read(&joined).unwrap().0.rows(), 50);
    let run = |_: &[u8]| Ok(empty.clone());
    assert!(look(&run, LookOptions::default(), WeightKind::Sampling).unwrap_err().to_string().contains("no rows"));
}
