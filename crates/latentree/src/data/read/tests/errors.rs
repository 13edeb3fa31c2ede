//! Bad input: an error that names the place, never a panic.

use std::sync::Arc;

use super::*;
use crate::data::{Kind, KindOverride, Schema, UnseenPolicy};

/// Reads a file that must fail, and checks that the message has all the parts and names the file.
fn refuse(name: &str, bytes: impl AsRef<[u8]>, options: &ReadOptions, parts: &[&str]) {
    let message = Fixture::new(name, bytes).error(options).to_string();
    for part in parts.iter().chain([&name]) {
        assert!(message.contains(part), "{part:?} is not in {message:?}");
    }
}

#[test]
fn bad_text_tables_are_refused_with_their_place() {
    let plain = ReadOptions::default();
    refuse("t.csv", "a,b\n1,2\n1\n", &plain, &["line 3", "row 2", "1 fields where the header has 2"]);
    refuse("t.csv", "a,b\n1,2\n\n1,2,3\n", &plain, &["line 4", "row 2", "3 fields"]);
    refuse("t.csv", "a,b,a\n1,2,3\n", &plain, &["columns 1 and 3", "\"a\"", "`read.no_header`"]);
    refuse("t.csv", "x2,\n1,2\n", &plain, &["columns 1 and 2", "\"x2\""]);
    refuse("t.csv", "", &plain, &["no rows"]);
    refuse("t.csv", "\n\n", &plain, &["no rows"]);
    refuse("t.csv", "a,b\n", &plain, &["no rows"]);
    refuse("t.csv", "a,b\n\"1,2\n3,4\n", &plain, &["line 2", "not closed"]);
    refuse("t.csv", b"a,b\n\xff\xfe,2\n", &plain, &["line 2", "\"a\"", "UTF-8"]);
    refuse("t.csv", b"a,\xff\n1,2\n", &plain, &["line 1", "UTF-8"]);
    refuse("t.csv", b"\xff\xfea\0,\0b\0", &plain, &["UTF-16"]);
    refuse("t.csv", b"\x00\x01\x02garbage\x00", &plain, &["binary"]);
    refuse("t.csv", "a,b\nNA,\n?,null\n", &plain, &["no column remains"]);
    refuse("t.csv", "a,b\n1,2.5\n2,inf\n", &plain, &["row 2", "\"b\"", "infinite"]);
    refuse("t.csv", "a,b\n1,2.5\n2,1e999\n", &plain, &["row 2", "\"b\"", "infinite"]);
    let mut late: String = (0..2000).map(|row| format!("{row}.5,1\n")).collect();
    late.insert_str(0, "a,b\n");
    refuse("t.csv", late.clone() + "oops,1\n", &plain, &["row 2001", "line 2002", "\"a\"", "\"oops\" is not a number"]);
    refuse("t.csv", late + "-,1\n", &plain, &["row 2001", "\"-\" is not a number"]);
}

#[test]
fn cells_that_do_not_fit_their_kind_are_refused_with_their_place() {
    let kind = |kind| ReadOptions::default().kind("b", kind);
    for (cell, what) in [("-1", "negative"), ("1.5", "whole number"), ("x", "not a number"), ("inf", "infinite")] {
        let text = format!("a,b\n1,3\n0,{cell}\n");
        refuse("t.csv", text, &kind(KindOverride::Count), &["line 3", "row 2", "\"b\"", what]);
    }
    refuse("t.csv", "a,b\n1,3\n0,x\n", &kind(KindOverride::Continuous), &["row 2", "\"b\"", "\"x\" is not a number"]);
    refuse("t.csv", "a,b\n1,p\n0,q\n0,r\n", &kind(KindOverride::Binary), &["\"b\"", "binary"]);
    refuse("t.csv", "a,b\n1,-1\n0,2\n0,3\n", &kind(KindOverride::Binary), &["\"b\"", "binary"]);
    let labels = ["red", "green", "blue"].map(str::to_owned).to_vec();
    let schema = Schema::builder().scalar("b", Kind::Categorical { labels }).scalar("a", Kind::binary()).build().unwrap();
    let fixed = ReadOptions::default().schema(Arc::new(schema)).unseen(UnseenPolicy::Error);
    refuse("t.csv", "a,b\n1,red\n0,pink\n", &fixed, &["line 3", "row 2", "\"b\"", "\"pink\" is not a label", "\"green\""]);
    refuse("t.csv", "a,b\n3,red\n", &fixed, &["row 1", "\"a\"", "\"3\" is not a label"]);
    refuse("t.csv", "a,b\n", &fixed, &["no rows"]);
    refuse("t.svm", "0 1:1\n", &fixed, &["\"b\"", "not 0"]);
    let told = fixed.kind("b", KindOverride::Count);
    let error = Fixture::new("t.csv", "a,b\n1,red\n").error(&told).to_string();
    assert!(error.contains("cannot be count: it is categorical"), "{error}");
    let mut many = "a,b\n".to_owned();
    (0..70_000).for_each(|row| many += &format!("1,k{row}\n"));
    refuse("t.csv", &many, &kind(KindOverride::Categorical), &["row 65537", "\"b\"", "65536 labels"]);
    assert!(Fixture::new("t.csv", &many).open(&ReadOptions::default()).unwrap().warnings()[0].contains("over 65536"));
}

#[test]
fn bad_sparse_files_are_refused_with_their_line() {
    let plain = ReadOptions::default();
    let docword = "docword.t.txt";
    refuse(docword, "2\n3\n", &plain, &["number of entries"]);
    refuse(docword, "2\n3 4\n1\n", &plain, &["line 2", "number of words"]);
    refuse(docword, "2\n3\n1\n3 1 1\n", &plain, &["line 4", "\"3\" is not a row from 1 to 2"]);
    refuse(docword, "2\n3\n1\n1 0 1\n", &plain, &["line 4", "\"0\" is not a column from 1 to 3"]);
    refuse(docword, "2\n3\n1\n1 1 -1\n", &plain, &["line 4", "not a count"]);
    refuse(docword, "2\n3\n1\n1 1 x\n", &plain, &["line 4", "\"x\""]);
    refuse(docword, "2\n3\n1\n1 1 1 1\n", &plain, &["line 4", "more fields"]);
    refuse(docword, "2\n3\n2\n1 1 1\n", &plain, &["ends after 1 entries, but 2"]);
    refuse(docword, "2\n3\n1\n1 1 1\n2 1 1\n", &plain, &["line 5", "more than the 1 entries"]);
    refuse(docword, "4000000000\n3\n1\n1 1 1\n", &plain, &["4000000000 rows"]);
    refuse(docword, "2\n4000000000\n1\n1 1 1\n", &plain, &["4000000000 columns"]);
    refuse(docword, "99999999999999\n3\n1\n1 1 1\n", &plain, &["99999999999999"]);
    refuse(docword, "0\n3\n0\n", &plain, &["no rows"]);
    let market = |head: &str, rest: &str| format!("%%MatrixMarket matrix {head}\n{rest}");
    refuse("t.mtx", "1 1 1\n1 1 1\n", &plain, &["line 1", "%%MatrixMarket"]);
    refuse("t.mtx", market("coordinate real symmetric", "2 2 1\n1 1 1\n"), &plain, &["symmetric", "general"]);
    refuse("t.mtx", market("coordinate complex general", "2 2 1\n1 1 1 0\n"), &plain, &["complex"]);
    refuse("t.mtx", market("grid real general", "2 2 1\n1 1 1 0\n"), &plain, &["grid"]);
    refuse("t.mtx", market("coordinate real general", "2 2\n"), &plain, &["line 2", "sizes"]);
    refuse("t.mtx", market("coordinate real general", ""), &plain, &["sizes"]);
    refuse("t.mtx", market("coordinate real general", "2 2 1\n1 1 inf\n"), &plain, &["line 3", "finite"]);
    refuse("t.mtx", market("array real general", "2 2\n1\n2\n3\n"), &plain, &["ends after 3 entries, but 4"]);
    refuse("t.mtx", market("array real general", "99999999999 99999999999\n"), &plain, &["sizes"]);
    refuse("t.svm", "1 2:1 2:2\n", &plain, &["line 1", "sort the indices"]);
    refuse("t.svm", "1 2:1\n1 3:x\n", &plain, &["line 2", "3:x"]);
    refuse("t.svm", "1 a:1\n", &plain, &["line 1", "a:1"]);
    refuse("t.svm", "1 qid:3 2:1\n", &plain, &["line 1", "qid"]);
    refuse("t.svm", "1 4000000000:1\n", &plain, &["columns are claimed"]);
    refuse("t.svm", "1 99999999999:1\n", &plain, &["line 1"]);
    refuse("t.svm", "", &plain, &["no rows"]);
    let schema = Schema::builder().scalar("x1", Kind::binary()).scalar("x2", Kind::Count).build().unwrap();
    let fixed = ReadOptions::default().schema(Arc::new(schema)).unseen(UnseenPolicy::Error);
    refuse("t.svm", "1 2:1\n1 1:3\n", &fixed, &["row 2", "\"x1\"", "3 is not a label", "kind binary"]);
    refuse("t.svm", "1 2:1\n1 2:1.5\n", &fixed, &["row 2", "\"x2\"", "whole number"]);
    let fixture = Fixture::new(docword, "1\n3\n1\n1 1 1\n");
    for (names, part) in [("a\nb\n", "3 columns but 2 names"), ("a\nb\na\n", "lines 1 and 3"), ("a\n\nb\n", "line 2")] {
        let path = fixture.add("names.txt", names);
        let message = fixture.error(&ReadOptions::default().names(path)).to_string();
        assert!(message.contains(part) && message.contains("names.txt"), "{message}");
    }
}

#[test]
fn a_header_is_not_believed_beyond_what_the_file_stores() {
    let plain = ReadOptions::default();
    let market = |sizes: &str| format!("%%MatrixMarket matrix coordinate real general\n{sizes} 1\n1 1 0.5\n");
    refuse("t.mtx", market("10000000 1000000"), &plain, &["10000000 rows are claimed but only 1 entries"]);
    refuse("t.mtx", market("10 1000000"), &plain, &["1000000 columns are claimed but only 1 cell is stored"]);
    refuse("t.svm", "1 1000000:1\n", &plain, &["1000000 columns are claimed"]);
    let fixture = Fixture::new("t.mtx", market("1000 100000"));
    assert_eq!(fixture.open(&plain).unwrap().schema().columns().len(), 100_000);
}

#[test]
fn a_file_that_changes_while_it_is_read_is_refused() {
    let plain = ReadOptions::default();
    let columns = |n: usize| (1..=n).map(|ix| format!(" {ix}:1")).collect::<String>();
    for (name, before, after) in [
        ("t.svm", format!("1{}\n", columns(3)), "1 0:1 1:1\n".to_owned()),
        ("t.svm", format!("1{}\n", columns(3)), format!("1{}\n", columns(9))),
        ("t.svm", "1 0:1 2:1\n".to_owned(), "1 0:1 7:2\n".to_owned()),
        ("docword.t.txt", "2\n3\n2\n1 1 1\n2 3 1\n".to_owned(), "2\n9\n2\n1 1 1\n2 9 1\n".to_owned()),
        (
            "t.mtx",
            "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n2 2 1\n".to_owned(),
            "%%MatrixMarket matrix coordinate real general\n2 5 2\n1 1 1\n2 5 1\n".to_owned(),
        ),
    ] {
        let fixture = Fixture::new(name, before);
        let mut reader = fixture.open(&plain).unwrap();
        fixture.add(name, after);
        let result = reader.rewind().and_then(|()| Dataset::read(&mut reader).map(|_| ()));
        let message = result.unwrap_err().to_string();
        assert!(message.contains("changed while it was read") && message.contains(name), "{message}");
    }
}

#[test]
fn names_are_honoured_or_refused() {
    let fixture = Fixture::new("t.csv", "1,2\n0,3\n");
    let names = fixture.add("names.txt", "a\nb\n");
    let dataset = fixture.read(&ReadOptions::default().header(false).names(&names)).unwrap();
    assert_eq!(column_names(&dataset), ["a", "b"]);
    let message = fixture.error(&ReadOptions::default().names(&names)).to_string();
    assert!(message.contains("read.names") && message.contains("read.no_header") && message.contains("t.csv"), "{message}");
    let few = fixture.add("few.txt", "a\n");
    let message = fixture.error(&ReadOptions::default().header(false).names(few)).to_string();
    assert!(message.contains("2 columns but 1 names"), "{message}");
    let events = ReadOptions::default().events("1", "2", None).names(&names);
    assert!(fixture.error(&events).to_string().contains("read.names"), "events");
    let named = Fixture::new("t.svm", "1 1:1\n");
    let long = named.add("long.txt", "x".repeat(70_000));
    assert!(named.error(&ReadOptions::default().names(long)).to_string().contains("longer than 64 KiB"), "long");
}

#[test]
fn bad_events_are_refused_with_their_place() {
    let events = |value: Option<&str>| ReadOptions::default().events("who", "what", value.map(str::to_owned));
    refuse("e.csv", "who,what\n1,a\n,b\n", &events(None), &["line 3", "row 2", "\"who\"", "no row id"]);
    refuse("e.csv", "who,what,n\n1,a,x\n", &events(Some("n")), &["line 2", "\"n\"", "\"x\" is not a number"]);
    refuse("e.csv", "who,what\n", &events(None), &["no rows"]);
    let count = events(Some("n")).kind("*", KindOverride::Count);
    refuse("e.csv", "who,what,n\n1,a,1\n2,b,-2\n", &count, &["row 2", "\"b\"", "negative"]);
    let message = Fixture::new("e.csv", "who,wht\n1,a\n").error(&events(None)).to_string();
    assert!(message.contains("read.events") && message.contains("did you mean \"wht\""), "{message}");
    let message = Fixture::new("e.svm", "1 1:1\n").error(&events(None)).to_string();
    assert!(message.contains("read.events"), "{message}");
}

#[test]
fn truncated_compression_and_missing_files_are_refused() {
    let text: String = (0..5000).map(|row| format!("{},{}\n", row * 7919 % 1000, row % 5)).collect();
    let bytes = gzip(text.as_bytes());
    refuse("t.csv.gz", &bytes[..bytes.len() / 2], &ReadOptions::default().header(false), &["cannot read"]);
    let bytes = zstandard(text.as_bytes());
    refuse("t.csv.zst", &bytes[..bytes.len() / 2], &ReadOptions::default().header(false), &["cannot read"]);
    let fixture = Fixture::new("t.csv", "a\n1\n");
    assert!(open(&fixture.dir.path().join("none.csv"), &ReadOptions::default()).unwrap_err().is_io());
    for options in [ReadOptions::default().schema_file("none.json"), ReadOptions::default().group("none.csv")] {
        assert!(fixture.error(&options).is_io());
    }
}

#[test]
fn bad_schema_files_are_refused() {
    let fixture = Fixture::new("t.csv", "a,b\n1,2\n0,1\n");
    for (json, part) in [
        ("{", "schema JSON"),
        (r#"{"variables":[{"name":"a","kind":"real"}]}"#, "\"real\" is not a kind"),
        (r#"{"variables":[{"name":"a","kind":"binary","labels":["1"]}]}"#, "two labels, not 1"),
        (r#"{"variables":[{"name":"a","kind":"count"},{"name":"a","kind":"count"}]}"#, "listed twice"),
        (r#"{"variables":[{"name":"a","kind":"group"}]}"#, "needs members"),
        (r#"{"variables":[{"name":"a","kind":"categorical","labels":["1","1"]}]}"#, "appears twice"),
    ] {
        let path = fixture.add("s.json", json);
        let message = fixture.error(&ReadOptions::default().schema_file(path)).to_string();
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn an_endless_line_is_refused() {
    let mut bytes = b"a,b\n1,".to_vec();
    bytes.resize(65 << 20, b'7');
    refuse("t.csv", gzip(&bytes), &ReadOptions::default(), &["line 2", "64 MiB"]);
}
