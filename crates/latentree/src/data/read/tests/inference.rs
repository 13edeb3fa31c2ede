//! What columns are taken for, and what the user can say about it.

use std::sync::Arc;

use super::*;
use crate::data::{Block, Kind, KindOverride, Schema};

fn kind_of(values: &[&str]) -> Kind {
    let text = format!("a,b\n{}\n", values.iter().map(|value| format!("{value},1")).collect::<Vec<_>>().join("\n"));
    Fixture::new("t.csv", text).open(&ReadOptions::default()).unwrap().schema().columns()[0].kind.clone()
}

fn categorical(labels: &[&str]) -> Kind {
    Kind::Categorical { labels: labels.iter().map(|&label| label.to_owned()).collect() }
}

#[test]
fn kinds_follow_the_values() {
    assert_eq!(kind_of(&["0", "1", "0"]), Kind::binary());
    assert_eq!(kind_of(&["0.0", "1.0", "NA"]), Kind::binary());
    assert_eq!(kind_of(&["1", "1", "?"]), Kind::binary());
    let logical = Kind::Binary { labels: ["false".into(), "true".into()] };
    assert_eq!(kind_of(&["True", "FALSE", ""]), logical);
    assert_eq!(kind_of(&["10", "2", "1.0", "nan"]), categorical(&["1", "2", "10"]));
    assert_eq!(kind_of(&["-1", "0", "1"]), categorical(&["-1", "0", "1"]));
    assert_eq!(kind_of(&["0.5", "1"]), Kind::Continuous);
    assert_eq!(kind_of(&["0.5", "0", "1.5"].repeat(10)), categorical(&["0", "0.5", "1.5"]));
    assert_eq!(kind_of(&["0.5", "0", "1.5"].repeat(9)), Kind::Continuous);
    assert_eq!(kind_of(&["b", "a", "b"]), categorical(&["a", "b"]));
    assert_eq!(kind_of(&["1", "2", "x"]), categorical(&["1", "2", "x"]));
    assert_eq!(kind_of(&["02", "10"]), categorical(&["02", "10"]));
    assert_eq!(kind_of(&["same", "same"]), categorical(&["same"]));
    let many: Vec<String> = (0..13).map(|value| (value * 3).to_string()).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(kind_of(&many), Kind::Count);
    assert_eq!(kind_of(&many[..12]), categorical(&many[..12]));
    let signed: Vec<String> = (-6..8).map(|value| value.to_string()).collect();
    assert_eq!(kind_of(&signed.iter().map(String::as_str).collect::<Vec<_>>()), Kind::Continuous);
}

#[test]
fn identifiers_and_empty_columns_are_left_out_with_a_warning() {
    let mut text = "id,empty,n,x\n".to_owned();
    (0..100).for_each(|row| text += &format!("p{row},NA,{},{}\n", row + 1, row % 3));
    let reader = Fixture::new("t.csv", text).open(&ReadOptions::default()).unwrap();
    assert_eq!(kind_names(&reader), ["categorical"]);
    let warnings = reader.warnings();
    assert_eq!(warnings.len(), 3, "{warnings:?}");
    assert!(warnings[0].contains("\"id\"") && warnings[0].contains("100 different labels"), "{warnings:?}");
    assert!(warnings[1].contains("\"empty\""), "{warnings:?}");
    assert!(warnings[2].contains("\"n\"") && warnings[2].contains("from 1 to 100"), "{warnings:?}");
}

#[test]
fn columns_that_are_nearly_numbers_say_so() {
    let column = |odd: &str, distinct: u32| {
        let cell = |row: u32| if row.is_multiple_of(7) { odd.to_owned() } else { format!("{}.{}", row % distinct, row % 10) };
        (0..200).fold("x,y\n".to_owned(), |text, row| text + &format!("{},{}\n", cell(row), row % 2))
    };
    let open = |text: String| Fixture::new("t.csv", text).open(&ReadOptions::default()).unwrap();
    let reader = open(column("n/a", 200));
    assert_eq!((kind_names(&reader), reader.warnings().len()), (vec!["continuous", "binary"], 0), "{:?}", reader.warnings());
    for (odd, distinct, expected) in [
        ("unknown", 200, "86% of its cells are numbers, but others are not, such as \"unknown\""),
        ("<5", 200, "it has numbers with symbols, such as \"<5\""),
        ("-", 20, "is read as labels: 86% of its cells are numbers, but others are not, such as \"-\""),
    ] {
        let reader = open(column(odd, distinct));
        assert!(reader.warnings().iter().any(|it| it.contains(expected)), "{odd}: {:?}", reader.warnings());
    }
    let money = (0..200).fold("x,y\n".to_owned(), |text, row| text + &format!("{row}.{:02} kg,{}\n", row % 100, row % 2));
    let reader = open(money);
    assert!(reader.warnings()[0].contains("looks like an identifier"), "{:?}", reader.warnings());
    let mixed = (0..200).fold("x,y\n".to_owned(), |text, row| text + &format!("{}{row}.5,{}\n", ["$", "€"][row % 2], row % 3));
    let reader = open(mixed);
    assert!(reader.warnings()[0].contains("numbers with symbols, such as \"$0.5\"; write plain"), "{:?}", reader.warnings());
}

#[test]
fn kinds_told_go_before_kinds_inferred_and_names_before_the_star() {
    let fixture = Fixture::new("t.csv", "a,b,c,d\n0,5,1,x\n3,6,2,y\n1,0,1,x\n");
    let options = ReadOptions::default()
        .kind("*", KindOverride::Continuous)
        .kind("a", KindOverride::Binary)
        .kind("b", KindOverride::Categorical)
        .kind("d", KindOverride::Ignore);
    let dataset = fixture.read(&options).unwrap();
    assert_eq!(kind_names(&dataset.source()), ["binary", "categorical", "continuous"]);
    assert_eq!(texts(&dataset), [["0", "5", "1"], ["1", "6", "2"], ["1", "0", "1"]]);
    let two = fixture.read(&ReadOptions::default().kind("c", KindOverride::Binary)).unwrap();
    assert_eq!(two.schema().columns()[2].kind, Kind::Binary { labels: ["1".into(), "2".into()] });
    let text = fixture.open(&ReadOptions::default().kind("*", KindOverride::Binary)).unwrap();
    assert_eq!(kind_names(&text), ["binary"; 4]);
}

#[test]
fn a_schema_file_overrides_the_columns_it_lists() {
    let fixture = Fixture::new("t.csv", "a,b,c\n1,2,x\n2,0,y\n");
    let schema = fixture.add(
        "s.json",
        r#"{"variables":[{"name":"a","kind":"categorical","labels":["2","1","3"]},
            {"name":"g","kind":"group","members":[{"name":"b","kind":"count"}]},{"name":"c","kind":"ignore"}]}"#,
    );
    let dataset = fixture.read(&ReadOptions::default().schema_file(&schema)).unwrap();
    assert_eq!(dataset.schema().columns()[0].kind, categorical(&["2", "1", "3"]));
    assert_eq!(numbers(&dataset), [[1.0, 2.0], [0.0, 0.0]]);
    assert!(dataset.schema().variables()[1].is_group && dataset.schema().variables()[1].name == "g");
    // What a schema says as JSON is a schema file.
    let whole = fixture.add("whole.json", serde_json::to_string(dataset.schema().as_ref()).unwrap());
    assert_eq!(fixture.read(&ReadOptions::default().schema_file(whole).kind("c", KindOverride::Ignore)).unwrap(), dataset);
}

#[test]
fn a_fixed_schema_finds_columns_by_name_and_labels_by_value() {
    let schema = Schema::builder()
        .scalar("late", categorical(&["1", "2", "3"]))
        .scalar("gone", Kind::Count)
        .scalar("vote", Kind::Binary { labels: ["no".into(), "yes".into()] })
        .build();
    let schema = Arc::new(schema.unwrap());
    let fixture = Fixture::new("t.csv", "vote,extra,late\nyes,9,3.0\nno,9,\nyes,8,1\n");
    let mut reader = fixture.open(&ReadOptions::default().schema(Arc::clone(&schema))).unwrap();
    assert_eq!(reader.absent_columns(), [ColIx::new(1)]);
    let dataset = Dataset::read(&mut reader).unwrap();
    assert_eq!(texts(&dataset), [["3", "", "yes"], ["", "", "no"], ["1", "", "yes"]]);
    let positional = Fixture::new("t.csv", "2,7,yes\n");
    let dataset = positional.read(&ReadOptions::default().schema(Arc::clone(&schema)).header(false)).unwrap();
    assert_eq!(texts(&dataset), [["2", "7", "yes"]]);
    let short = Fixture::new("t.csv", "2,7\n").error(&ReadOptions::default().schema(Arc::clone(&schema)).header(false));
    assert!(short.to_string().contains("2 columns without names, and 3 are expected"), "{short}");
    let none = Fixture::new("t.csv", "p,q\n1,2\n").error(&ReadOptions::default().schema(schema));
    assert!(none.to_string().contains("none of the 3 expected columns"), "{none}");
}

#[test]
fn groups_join_columns_and_keep_the_cells() {
    let fixture = Fixture::new("t.csv", "a,b,c,d\n0,1,0,1\n1,1,0,0\n0,0,1,0\n");
    let plain = fixture.read(&ReadOptions::default()).unwrap();
    for (map, expected) in [
        ("item,group\nc,g\na,g\nzz,q\n", vec!["a", "c", "b", "d"]),
        ("x,group,item\n1,g,c\n2,g,a\n", vec!["a", "c", "b", "d"]),
        ("d,g\nd,h\na,g\n", vec!["a", "d", "b", "c"]),
    ] {
        let path = fixture.add("map.csv", map);
        let mut reader = fixture.open(&ReadOptions::default().group(path)).unwrap();
        let said = |what: &str| reader.warnings().iter().any(|warning| warning.contains(what));
        assert_eq!(said("several groups"), map.contains("d,h"));
        assert_eq!(said("1 of its 3 items are not in the data"), map.contains("zz"));
        assert!(said("2 of the data's 4 columns have no group"), "{:?}", reader.warnings());
        let grouped = Dataset::read(&mut reader).unwrap();
        assert_eq!(column_names(&grouped), expected);
        assert_eq!(grouped.schema().variables().len(), 3);
        assert_eq!(grouped.schema().variables()[0].name, "g");
        for (before, after) in numbers(&plain).iter().zip(numbers(&grouped)) {
            for (ix, name) in expected.iter().enumerate() {
                assert_eq!(before[plain.schema().find_column(name).unwrap().get()], after[ix]);
            }
        }
    }
    let clash = fixture.add("map.csv", "a,d\nb,d\n");
    let reader = fixture.open(&ReadOptions::default().group(clash)).unwrap();
    assert_eq!(reader.schema().variables()[0].name, "d (group)");
    let three = fixture.add("map.csv", "p,q,r\n1,2,3\n");
    assert!(fixture.error(&ReadOptions::default().group(three)).to_string().contains("3 columns"));
    let nothing = fixture.add("map.csv", "p,q\n");
    assert!(fixture.error(&ReadOptions::default().group(nothing)).to_string().contains("none of its 1 name in the first column"));
}

#[test]
fn weights_leave_the_variables_and_reach_the_batches() {
    let fixture = Fixture::new("t.csv", "a,w,b\n0,0.5,1\n1,2,0\n1,0,1\n");
    let dataset = fixture.read(&ReadOptions::default().weights("w").batch_rows(2)).unwrap();
    assert_eq!(column_names(&dataset), ["a", "b"]);
    let weights: Vec<f64> = dataset.batches().iter().flat_map(|batch| batch.weights.clone().unwrap()).collect();
    assert_eq!(weights, [0.5, 2.0, 0.0]);
    for (bad, what) in [("-1", "negative"), ("", "no weight"), ("x", "not a number"), ("inf", "infinite")] {
        let error = Fixture::new("t.csv", format!("a,w\n1,1\n0,{bad}\n")).error(&ReadOptions::default().weights("w"));
        let message = error.to_string();
        assert!(message.contains(what) && message.contains("row 2") && message.contains("\"w\""), "{message}");
    }
    let sparse = Fixture::new("t.svm", "0 1:1 2:3\n0 1:1 2:5\n");
    let dataset = sparse.read(&ReadOptions::default().weights("x2")).unwrap();
    assert_eq!(dataset.batches()[0].weights, Some(vec![3.0, 5.0]));
    assert!(matches!(&dataset.batches()[0].block, Block::Sparse(rows) if rows.columns == [0, 0]));
}

#[test]
fn unknown_columns_are_refused_with_near_names() {
    let fixture = Fixture::new("t.csv", "age,gender\n1,2\n2,1\n");
    let error = fixture.error(&ReadOptions::default().kind("gendre", KindOverride::Count)).to_string();
    assert!(error.contains("read.kind") && error.contains("did you mean \"gender\"?"), "{error}");
    let error = fixture.error(&ReadOptions::default().weights("Age")).to_string();
    assert!(error.contains("read.weights") && error.contains("\"age\""), "{error}");
    let schema = fixture.add("s.json", r#"{"variables":[{"name":"agee","kind":"count"}]}"#);
    let error = fixture.error(&ReadOptions::default().schema_file(schema)).to_string();
    assert!(error.contains("s.json") && error.contains("\"agee\"") && error.contains("\"age\""), "{error}");
}
