//! What a schema does not know: labels become missing cells and are counted, columns and items are named.

use std::sync::Arc;

use super::*;
use crate::data::{Kind, Schema, UnseenPolicy};

fn schema() -> Arc<Schema> {
    let region = Kind::Categorical { labels: ["north", "south"].map(str::to_owned).to_vec() };
    Arc::new(Schema::builder().scalar("region", region).scalar("visits", Kind::numbered(3)).build().unwrap())
}

const TABLE: &str = "Region,region,visits\n1,north,2\n1,North,13\n1,east,0\n1,,?\n1,east,13\n1,south,1\n";

#[test]
fn labels_that_a_schema_lacks_are_missing_cells_that_are_counted() {
    let fixture = Fixture::new("t.csv", TABLE);
    let mut reader = fixture.open(&ReadOptions::default().schema(schema())).unwrap();
    let nan = f64::NAN;
    let expected = [[0.0, 2.0], [nan, nan], [nan, 0.0], [nan, nan], [nan, nan], [1.0, 1.0]];
    // However often it is read.
    for _ in 0..3 {
        let cells = numbers(&Dataset::read(&mut reader).unwrap());
        assert_eq!(format!("{cells:?}"), format!("{expected:?}"));
        let unseen = reader.unseen();
        let [region, visits] = &unseen.labels[..] else { panic!("{unseen:?}") };
        assert_eq!((region.column.as_str(), region.count, region.cells), ("region", 2, 3));
        // The likely misspelling first, then the commonest.
        assert_eq!((region.names[0].name.as_str(), region.names[0].similar.as_deref()), ("North", Some("north")));
        assert_eq!((region.names[1].name.as_str(), region.names[1].cells), ("east", Some(2)));
        assert_eq!((visits.count, visits.cells, visits.names[0].name.as_str()), (1, 2, "13"));
        let columns = unseen.columns.as_ref().unwrap();
        assert_eq!((columns.count, columns.names[0].similar.as_deref()), (1, Some("region")));
        assert_eq!(
            unseen.notes(),
            [
                "1 column is unknown to the model and ignored: \"Region\" (the model has \"region\")",
                "column \"region\": 2 labels in 3 cells are unknown to the model and read as missing: \"North\" (the model has \
                 \"north\"), \"east\"",
                "column \"visits\": 1 label in 2 cells is unknown to the model and read as missing: \"13\"",
            ]
        );
        reader.rewind().unwrap();
    }
}

#[test]
fn labels_that_a_schema_lacks_are_refused_if_they_are_to_be() {
    let fixture = Fixture::new("t.csv", TABLE);
    let message = fixture.error(&ReadOptions::default().schema(schema()).unseen(UnseenPolicy::Error)).to_string();
    assert!(
        message.contains("row 2, column \"region\": \"North\" is not a label of this column; did you mean \"north\"?"),
        "{message}"
    );
    assert!(message.contains("`read.unseen` missing"), "{message}");
    // Labels that the user lists are all there are, unless the user says otherwise.
    let listed = fixture.add("s.json", r#"{"variables":[{"name":"region","kind":"categorical","labels":["north","south"]}]}"#);
    let options = ReadOptions::default().schema_file(listed);
    assert!(fixture.error(&options).to_string().contains("is not a label of this column"));
    let mut reader = fixture.open(&options.unseen(UnseenPolicy::Missing)).unwrap();
    Dataset::read(&mut reader).unwrap();
    assert_eq!(reader.unseen().labels[0].cells, 3);
    assert!("perhaps".parse::<UnseenPolicy>().is_err());
}

#[test]
fn items_of_events_that_a_schema_lacks_are_counted_and_named() {
    let known =
        Arc::new(Schema::builder().scalar("401 Hypertension", Kind::binary()).scalar("250", Kind::binary()).build().unwrap());
    let text = "id,code\n1,401 hypertension\n1,401 hypertension\n1,250\n2,401 hypertension\n2,999\n3,250\n";
    let options = ReadOptions::default().events("id", "code", None).schema(known);
    let fixture = Fixture::new("e.csv", text);
    let mut reader = fixture.open(&options).unwrap();
    for _ in 0..2 {
        Dataset::read(&mut reader).unwrap();
        let columns = reader.unseen().columns.unwrap();
        assert_eq!((columns.are_items, columns.count, columns.cells), (true, 2, Some(3)));
        assert_eq!((columns.names[0].name.as_str(), columns.names[0].cells), ("401 hypertension", Some(2)));
        assert_eq!(columns.names[0].similar.as_deref(), Some("401 Hypertension"));
        assert_eq!((columns.names[1].name.as_str(), columns.names[1].similar.as_deref()), ("999", None));
        reader.rewind().unwrap();
    }
    let other = Fixture::new("e.csv", "id,code\n1,401 hypertension\n2,999\n");
    let message = other.error(&options).to_string();
    assert!(message.contains("\"401 hypertension\"") && message.contains("did you mean \"401 Hypertension\"?"), "{message}");
    // Items that are to be ignored are not unknown.
    let ignored =
        ["401 hypertension", "999"].iter().fold(options, |options, name| options.kind(*name, crate::data::KindOverride::Ignore));
    assert!(fixture.open(&ignored).unwrap().unseen().is_empty());
}

#[test]
fn stored_cells_of_sparse_rows_that_are_no_labels_are_missing() {
    let schema = Arc::new(Schema::builder().scalar("x1", Kind::numbered(3)).scalar("x2", Kind::binary()).build().unwrap());
    let fixture = Fixture::new("t.svm", "0 1:2 2:1\n0 1:7\n0 2:1\n");
    let mut reader = fixture.open(&ReadOptions::default().schema(schema)).unwrap();
    let cells = numbers(&Dataset::read(&mut reader).unwrap());
    assert_eq!((cells[0][0], cells[2][0], cells[0][1], cells[1][1]), (2.0, 0.0, 1.0, 0.0));
    assert!(cells[1][0].is_nan());
    assert_eq!(reader.unseen().labels[0].names[0].name, "7");
}

#[test]
fn truth_values_are_not_taken_for_row_numbers() {
    let names = ["a".to_owned(), "n".to_owned()];
    let n_rows = 200;
    let mut column = |ix: usize| match ix {
        0 => crate::data::Values::Truths((0..n_rows).map(|row| Some(row % 3 == 0)).collect()),
        _ => crate::data::Values::Numbers((0..n_rows).map(|row| row as f64).collect()),
    };
    let table = crate::data::MemoryTable { names: &names, named: true, n_rows, weights: None, column: &mut column };
    let loaded = crate::data::from_values(table, &ReadOptions::default()).unwrap();
    assert_eq!(loaded.warnings.len(), 1, "{:?}", loaded.warnings);
    assert!(loaded.warnings[0].starts_with("column \"n\" is ignored"), "{:?}", loaded.warnings);
}
