//! The same table in every format, and the ways a file can come.

use std::sync::Arc;

use rand::RngExt;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::data::{KindOverride, TableWriter};

/// Rows of small counts, mostly zero; the last column is never zero throughout.
fn counts(n_rows: usize, n_columns: usize, largest: u32) -> Vec<Vec<u32>> {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let mut rows: Vec<Vec<u32>> = (0..n_rows)
        .map(|_| (0..n_columns).map(|_| if rng.random_bool(0.3) { rng.random_range(1..=largest) } else { 0 }).collect())
        .collect();
    rows[n_rows / 2][n_columns - 1] = largest;
    rows[1].fill(0);
    rows
}

fn csv_of(rows: &[Vec<u32>]) -> String {
    let header: Vec<String> = (1..=rows[0].len()).map(|ix| format!("x{ix}")).collect();
    let lines = rows.iter().map(|row| row.iter().map(u32::to_string).collect::<Vec<_>>().join(","));
    std::iter::once(header.join(",")).chain(lines).map(|line| line + "\n").collect()
}

/// Row, column, value from zero, of the cells that are not zero.
fn triplets(rows: &[Vec<u32>]) -> Vec<(usize, usize, u32)> {
    let cells = rows.iter().enumerate().flat_map(|(row, cells)| {
        cells.iter().enumerate().filter(|(_, value)| **value > 0).map(move |(column, value)| (row, column, *value))
    });
    cells.collect()
}

#[test]
fn sparse_formats_agree_with_the_dense_table_cell_by_cell() {
    for largest in [1, 30] {
        let rows = counts(57, 13, largest);
        let cells = triplets(&rows);
        let (n_rows, n_columns, n_cells) = (rows.len(), rows[0].len(), cells.len());
        let entry = |cells: &[(usize, usize, u32)]| -> String {
            cells.iter().map(|(row, column, value)| format!("{} {} {value}\n", row + 1, column + 1)).collect()
        };
        let mut by_column = cells.clone();
        by_column.sort_by_key(|&(row, column, _)| (column, row));
        let array: String = (0..n_columns).flat_map(|column| rows.iter().map(move |row| format!("{}\n", row[column]))).collect();
        let libsvm = |base: usize| -> String {
            let row = |row: &Vec<u32>| {
                let cells = row.iter().enumerate().filter(|(ix, value)| **value > 0 || *ix == 0);
                cells.fold("+1".to_owned(), |line, (ix, value)| format!("{line} {}:{value}", ix + base)) + " # note\n"
            };
            rows.iter().map(row).collect()
        };
        let head = format!("{n_rows} {n_columns} {n_cells}\n");
        let docword = format!("{n_rows}\n{n_columns}\n{n_cells}\n");
        let kind = if largest == 1 { KindOverride::Binary } else { KindOverride::Count };
        let dense = Fixture::new("t.csv", csv_of(&rows)).read(&ReadOptions::default().kind("*", kind)).unwrap();
        for (name, text) in [
            ("docword.t.txt", docword.clone() + &entry(&cells)),
            ("other.txt", docword.clone() + &entry(&by_column)),
            ("noending", docword + &entry(&cells)),
            ("t.mtx", format!("%%MatrixMarket matrix coordinate integer general\n% note\n{head}{}", entry(&cells))),
            ("u.mtx", format!("%%MatrixMarket matrix coordinate real general\n{head}{}", entry(&by_column))),
            ("v.mtx", format!("%%MatrixMarket matrix array real general\n{n_rows} {n_columns}\n{array}")),
            ("t.svm", libsvm(1)),
            ("t.libsvm", libsvm(0)),
        ] {
            for batch_rows in [1, 10, 57, 1000] {
                let sparse = Fixture::new(name, &text).read(&ReadOptions::default().batch_rows(batch_rows)).unwrap();
                assert_eq!(sparse.schema(), dense.schema(), "{name}");
                assert_eq!(numbers(&sparse), numbers(&dense), "{name}");
            }
        }
    }
}

#[test]
fn patterns_are_binary_and_names_come_from_their_file() {
    let fixture = Fixture::new("t.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 3 2\n1 3\n2 1\n");
    let names = fixture.add("names.txt", "alpha\r\nbeta\r\ngamma\r\n\r\n");
    let dataset = fixture.read(&ReadOptions::default().names(names)).unwrap();
    assert_eq!(column_names(&dataset), ["alpha", "beta", "gamma"]);
    assert_eq!(kind_names(&dataset.source()), ["binary"; 3]);
    assert_eq!(numbers(&dataset), [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]);
}

#[test]
fn counts_made_binary_are_one_where_they_are_above_zero() {
    let rows = counts(20, 5, 4);
    let clipped: Vec<Vec<u32>> = rows.iter().map(|row| row.iter().map(|&value| value.min(1)).collect()).collect();
    let expected = Fixture::new("t.csv", csv_of(&clipped)).read(&ReadOptions::default()).unwrap();
    let options = ReadOptions::default().kind("*", KindOverride::Binary);
    let dense = Fixture::new("t.csv", csv_of(&rows)).read(&options).unwrap();
    let text: String =
        triplets(&rows).iter().map(|(row, column, value)| format!("{} {} {value}\n", row + 1, column + 1)).collect();
    let docword = format!("20\n5\n{}\n{text}", triplets(&rows).len());
    let sparse = Fixture::new("docword.txt", docword).read(&options).unwrap();
    assert_eq!(numbers(&dense), numbers(&expected));
    assert_eq!(numbers(&sparse), numbers(&expected));
    // The same on the way into a model's schema.
    let fitted = Fixture::new("t.csv", csv_of(&rows)).read(&options.schema(Arc::clone(expected.schema()))).unwrap();
    assert_eq!(numbers(&fitted), numbers(&expected));
}

#[test]
fn events_in_any_order_make_the_same_rows() {
    let rows = counts(40, 9, 3);
    let mut events: Vec<(String, String)> = Vec::new();
    for (row, cells) in rows.iter().enumerate() {
        // A row without items is there by a line without an item.
        events.push((format!("p{row:03}"), String::new()));
        for (column, &value) in cells.iter().enumerate() {
            (0..value).for_each(|_| events.push((format!("p{row:03}"), format!("x{}", column + 1))));
        }
    }
    let dense = Fixture::new("t.csv", csv_of(&rows)).read(&ReadOptions::default().kind("*", KindOverride::Count)).unwrap();
    let text = |events: &[(String, String)]| -> String {
        let lines = events.iter().map(|(row, item)| format!("{item},{row}\n"));
        std::iter::once("code,patient\n".to_owned()).chain(lines).collect()
    };
    let options = ReadOptions::default().events("patient", "code", None);
    let counted = options.clone().kind("*", KindOverride::Count);
    let ordered = Fixture::new("e.csv", text(&events));
    assert_eq!(numbers(&ordered.read(&counted).unwrap()), numbers(&dense));
    let binary = ordered.read(&options).unwrap();
    assert_eq!(kind_names(&binary.source()), ["binary"; 9]);
    assert_eq!(binary.batches()[0].n_rows, 40);
    // Out of order: rows are those of first appearance.
    let mut shuffled = events.clone();
    shuffled.rotate_left(events.len() / 3);
    let order: Vec<usize> = shuffled.iter().map(|(row, _)| row[1..].parse().unwrap()).fold(Vec::new(), |mut order, row| {
        if !order.contains(&row) {
            order.push(row);
        }
        order
    });
    let held = Fixture::new("e.csv", text(&shuffled)).read(&counted).unwrap();
    let expected: Vec<Vec<f64>> = order.iter().map(|&row| numbers(&dense)[row].clone()).collect();
    assert_eq!(numbers(&held), expected);
}

#[test]
fn event_values_are_added_up_and_may_be_missing() {
    let text = "who,what,amount\n1,a,2\n1,b,3\n2,a,5\n1,a,4\n3,b,\n";
    let options = ReadOptions::default().events("who", "what", Some("amount".into()));
    let dataset = Fixture::new("e.csv", text).read(&options).unwrap();
    assert_eq!(kind_names(&dataset.source()), ["count"; 2]);
    assert_eq!(texts(&dataset), [["6", "3"], ["5", "0"], ["0", ""]]);
    let real = Fixture::new("e.csv", "who,what,amount\n1,a,0.5\n2,b,-1\n").read(&options).unwrap();
    assert_eq!(kind_names(&real.source()), ["continuous"; 2]);
    // An item that a model knows and the file never mentions is zero, not missing.
    let fitted = Fixture::new("e.csv", "who,what,amount\n9,a,3\n9,new,1\n8,zz,1\n");
    let mut reader = fitted.open(&options.clone().schema(Arc::clone(dataset.schema()))).unwrap();
    assert!(reader.absent_columns().is_empty());
    assert_eq!(numbers(&Dataset::read(&mut reader).unwrap()), [[3.0, 0.0], [0.0, 0.0]]);
}

#[test]
fn compression_and_odd_names_change_nothing() {
    let rows = counts(30, 4, 20);
    let text = csv_of(&rows);
    let plain = Fixture::new("t.csv", &text);
    let expected = plain.read(&ReadOptions::default()).unwrap();
    let digest = plain.open(&ReadOptions::default()).unwrap().digest();
    assert!(digest.as_ref().is_some_and(|digest| digest.len() == 71));
    let parquet = plain.dir.path().join("t.parquet");
    let parquet = if has_format(&"t.parquet") {
        write(&parquet, &expected);
        std::fs::read(&parquet).unwrap()
    } else {
        Vec::new()
    };
    for (name, bytes, is_same_bytes) in [
        ("t.csv.gz", gzip(text.as_bytes()), true),
        ("t.csv.zst", zstandard(text.as_bytes()), true),
        ("t.csv", gzip(text.as_bytes()), true),
        ("t", text.clone().into_bytes(), true),
        ("t.tsv", text.replace(',', "\t").into_bytes(), false),
        ("t.txt", text.replace(',', "\t").into_bytes(), false),
        ("t.csv", text.replace(',', ";").into_bytes(), false),
        ("t.csv", text.replace('\n', "\r\n").into_bytes(), false),
        ("t.csv", [b"\xef\xbb\xbf", text.as_bytes()].concat(), false),
        ("t.csv", text.trim_end().as_bytes().to_vec(), false),
        ("t.csv", text.replace(',', " , ").into_bytes(), false),
        ("t.csv", text.replace(',', "\",\"").replace('\n', "\"\n\n").replace("x1\"", "\"x1\"").into_bytes(), false),
        ("t.parquet", parquet.clone(), false),
        ("t.csv", parquet.clone(), false),
        ("t.parquet.gz", gzip(&parquet), false),
        ("t.parquet.zst", zstandard(&parquet), false),
    ] {
        if bytes.is_empty() || !has_format(&name) {
            continue;
        }
        let bytes =
            if name == "t.csv" && !bytes.starts_with(b"PAR1") && bytes.contains(&b'"') { fix_quotes(&bytes) } else { bytes };
        let fixture = Fixture::new(name, bytes);
        let mut reader = fixture.open(&ReadOptions::default()).unwrap();
        assert_eq!(numbers(&Dataset::read(&mut reader).unwrap()), numbers(&expected), "{name}");
        assert_eq!(reader.digest() == digest, is_same_bytes, "{name}");
        assert!(reader.digest().is_some());
    }
}

/// Opens the quote that each line of the quoted text above lacks at its start.
fn fix_quotes(bytes: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(bytes);
    let lines = text.lines().map(|line| match line {
        "" => String::new(),
        line if line.matches('"').count() % 2 == 1 => format!("\"{line}"),
        line => line.to_owned(),
    });
    lines.map(|line| line + "\n").collect::<String>().into_bytes()
}

fn write(path: &std::path::Path, dataset: &Dataset) {
    let mut writer = TableWriter::create(path, dataset.schema(), None).unwrap();
    dataset.batches().iter().for_each(|batch| writer.write_batch(batch).unwrap());
    writer.finish().unwrap();
}

#[cfg(unix)]
#[test]
fn a_pipe_is_read_like_a_file() {
    let fixture = Fixture::new("t.csv", "a,b\n0,1.5\n1,2\n");
    let pipe = fixture.dir.path().join("pipe.csv");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let (source, target) = (fixture.path.clone(), pipe.clone());
    let feeder = std::thread::spawn(move || std::fs::copy(source, target).unwrap());
    let mut reader = open(&pipe, &ReadOptions::default()).unwrap();
    feeder.join().unwrap();
    let dataset = Dataset::read(&mut reader).unwrap();
    assert_eq!(numbers(&dataset), [[0.0, 1.5], [1.0, 2.0]]);
    reader.rewind().unwrap();
    assert_eq!(Dataset::read(&mut reader).unwrap(), dataset);
}

#[test]
fn rewinding_gives_the_same_batches_and_borders_do_not_matter() {
    let rows = counts(101, 6, 40);
    let cells = triplets(&rows);
    let entries: String = cells.iter().map(|(row, column, value)| format!("{} {} {value}\n", row + 1, column + 1)).collect();
    let docword = format!("101\n6\n{}\n{entries}", cells.len());
    for (name, text) in [("t.csv", csv_of(&rows)), ("docword.txt", docword)] {
        let fixture = Fixture::new(name, text);
        let whole = fixture.read(&ReadOptions::default()).unwrap();
        for batch_rows in [1, 2, 50, 100, 101, 102] {
            let mut reader = fixture.open(&ReadOptions::default().batch_rows(batch_rows)).unwrap();
            assert_eq!(reader.n_rows_hint(), Some(101));
            let first = Dataset::read(&mut reader).unwrap();
            assert!(reader.next_batch().unwrap().is_none());
            reader.rewind().unwrap();
            reader.next_batch().unwrap();
            reader.rewind().unwrap();
            assert_eq!(Dataset::read(&mut reader).unwrap(), first);
            assert_eq!(first.batches().len(), 101usize.div_ceil(batch_rows));
            assert!(first.batches().iter().enumerate().all(|(ix, batch)| batch.first_row == (ix * batch_rows) as u64));
            assert_eq!(numbers(&first), numbers(&whole));
        }
    }
}

#[test]
fn quoted_fields_hold_delimiters_quotes_and_line_breaks() {
    let text = "\"a,1\",b\n\"x, \"\"y\"\"\",\"two\nlines\"\n  \"z\" ,5\" pipe\n\"x, \"\"y\"\"\",\"two\r\nlines\"\n";
    let dataset = Fixture::new("t.csv", text).read(&ReadOptions::default()).unwrap();
    assert_eq!(column_names(&dataset), ["a,1", "b"]);
    assert_eq!(texts(&dataset), [["x, \"y\"", "two\nlines"], ["z", "5\" pipe"], ["x, \"y\"", "two\nlines"]]);
}

#[test]
fn columns_without_a_name_are_named_by_their_position() {
    let dataset = Fixture::new("t.csv", "a,,c\n1,0,1\n0,0,1\n").read(&ReadOptions::default()).unwrap();
    assert_eq!(column_names(&dataset), ["a", "x2", "c"]);
    let fixture = Fixture::new("t.csv", "0,p,1,7\n1,q,0,8\n");
    let options = ReadOptions::default().header(false).kind("x2", KindOverride::Ignore);
    let partial = fixture.read(&options).unwrap();
    let fitted = fixture.read(&ReadOptions::default().header(false).schema(Arc::clone(partial.schema()))).unwrap();
    assert_eq!(fitted, partial);
    let dataset = Fixture::new("t.csv", "0,1\n1,1\n").read(&ReadOptions::default().header(false)).unwrap();
    assert_eq!(column_names(&dataset), ["x1", "x2"]);
    assert_eq!(numbers(&dataset), [[0.0, 1.0], [1.0, 1.0]]);
}

#[test]
fn a_sparse_file_without_a_column_of_the_schema_has_it_missing() {
    let fixture = Fixture::new("t.mtx", "%%MatrixMarket matrix coordinate integer general\n2 2 2\n1 1 3\n2 2 20\n");
    let names = fixture.add("names.txt", "a\nb\n");
    let options = ReadOptions::default().names(&names);
    let schema = crate::data::Schema::builder()
        .scalar("b", crate::data::Kind::Count)
        .scalar("c", crate::data::Kind::Count)
        .scalar("a", crate::data::Kind::Count);
    let mut reader = fixture.open(&options.schema(Arc::new(schema.build().unwrap()))).unwrap();
    assert_eq!(reader.absent_columns(), [ColIx::new(1)]);
    assert_eq!(texts(&Dataset::read(&mut reader).unwrap()), [["0", "", "3"], ["20", "", "0"]]);
}

#[test]
fn text_that_begins_as_a_binary_file_does_is_text() {
    for name in ["PAR1", "PAR15", "ARROW1"] {
        let data = Fixture::new("t.csv", format!("{name},b\n0,1\n1,0\n1,1\n")).read(&ReadOptions::default()).unwrap();
        assert_eq!((data.n_rows(), data.schema().columns()[0].name.as_str()), (3, name));
    }
}
