//! Text as a table of word counts.

use std::path::Path;

use super::Fixture;
use crate::data::{BatchSource, Dataset, DocumentLimit, ReadOptions, StopWords, TextOptions, open, open_texts};

fn all_words() -> TextOptions {
    TextOptions { stop: StopWords::None, min_df: Some(DocumentLimit::Number(1)), ..TextOptions::default() }
}

fn words(source: &dyn BatchSource) -> Vec<String> {
    source.schema().columns().iter().map(|column| column.name.clone()).collect()
}

/// The rows as counts by column.
fn counts(path: &Path, options: &ReadOptions) -> Vec<Vec<(usize, f64)>> {
    let dataset = Dataset::read(&mut open(path, options).unwrap()).unwrap();
    let rows = dataset.batches().iter().flat_map(|batch| {
        (0..batch.n_rows).map(|row| match &batch.block {
            crate::data::Block::Sparse(rows) => rows.row(row).collect::<Vec<_>>(),
            crate::data::Block::Dense(_) => panic!("text is sparse"),
        })
    });
    rows.collect()
}

#[test]
fn a_folder_of_files_is_a_table_of_their_words() {
    let fixture = Fixture::new("b.txt", "The dog, the DOG!");
    fixture.add("a.txt", "A cat and the dog.");
    fixture.add("empty.txt", "");
    fixture.add("picture.png", b"\x89PNG\0\0\0");
    let options = ReadOptions::default().text(all_words()).carry_keys(true);
    let mut reader = open(fixture.dir.path(), &options).unwrap();
    assert_eq!(words(&reader), ["a", "and", "cat", "dog", "the"]);
    assert_eq!(
        counts(fixture.dir.path(), &options),
        [vec![(0, 1.0), (1, 1.0), (2, 1.0), (3, 1.0), (4, 1.0)], vec![(3, 2.0), (4, 2.0)], vec![]]
    );
    let notes = reader.warnings().join("\n");
    assert!(notes.contains("1 file is not text and left out") && notes.contains("picture.png"), "{notes}");
    assert!(notes.contains("1 of 3 documents has none of the words; it is a row of zeros"), "{notes}");
    reader.next_batch().unwrap();
    assert_eq!((0..3).map(|row| reader.carried().cell(row, 0).unwrap()).collect::<Vec<_>>(), ["a.txt", "b.txt", "empty.txt"]);
    assert!(reader.digest().is_some());
    // What is kept in memory and what is read again are the same rows.
    let first = Dataset::read(&mut reader.reopen(&options).unwrap()).unwrap();
    let mut again = reader.reopen(&options).unwrap();
    Dataset::read(&mut again).unwrap();
    again.rewind().unwrap();
    let second = Dataset::read(&mut again).unwrap();
    assert_eq!(first.batches()[0].block, second.batches()[0].block);
}

#[test]
fn a_file_is_cut_where_lines_match_and_the_line_is_the_name() {
    let fixture = Fixture::new("poem.txt", "preface\n\nCanto I\nnel mezzo\nmezzo\nCanto II\n\nCanto III\nselva\n");
    let options = ReadOptions::default().text(TextOptions { split: Some("^Canto".to_owned()), ..all_words() });
    let reader = fixture.open(&options).unwrap();
    assert_eq!(words(&reader), ["mezzo", "nel", "selva"]);
    let names = reader.documents();
    assert_eq!((0..names.len()).map(|ix| names.name(ix)).collect::<Vec<_>>(), ["Canto I", "Canto II", "Canto III"]);
    assert_eq!(counts(&fixture.path, &options), [vec![(0, 2.0), (1, 1.0)], vec![], vec![(2, 1.0)]]);
    assert!(reader.warnings().iter().any(|note| note.starts_with("1 line before")), "{:?}", reader.warnings());
    let never = ReadOptions::default().text(TextOptions { split: Some("^Book".to_owned()), ..all_words() });
    let problem = fixture.error(&never).to_string();
    assert!(problem.contains("matches no line") && problem.contains("preface"), "{problem}");
    let bad = ReadOptions::default().text(TextOptions { split: Some("(".to_owned()), ..all_words() });
    assert!(fixture.error(&bad).to_string().contains("not a regular expression"));
}

#[test]
fn a_column_of_a_table_holds_documents_with_ids_and_other_columns() {
    let fixture = Fixture::new("posts.csv", "id,when,text\np1,2020-01-02,\"red, red\nwine\"\np2,,\np3,2021-05-06,Wine\n");
    let text = TextOptions { column: Some("text".to_owned()), keep: vec!["when".to_owned()], ..all_words() };
    let reader = fixture.open(&ReadOptions::default().id("id").text(text.clone())).unwrap();
    assert_eq!(words(&reader), ["red", "wine"]);
    let names = reader.documents();
    assert_eq!((0..3).map(|ix| names.name(ix)).collect::<Vec<_>>(), ["p1", "p2", "p3"]);
    assert_eq!((0..3).map(|ix| names.kept(ix, 0)).collect::<Vec<_>>(), [Some("2020-01-02"), None, Some("2021-05-06")]);
    let options = ReadOptions::default().text(text.clone());
    assert_eq!(counts(&fixture.path, &options), [vec![(0, 2.0), (1, 1.0)], vec![], vec![(1, 1.0)]]);
    assert_eq!(fixture.open(&options).unwrap().documents().name(1), "2");
    let missing = ReadOptions::default().text(TextOptions { column: Some("body".to_owned()), ..text });
    assert!(fixture.error(&missing).to_string().contains("body"));
}

#[test]
fn the_vocabulary_follows_documents_occurrences_and_stop_words() {
    let texts = ["the cat the cat the hat", "the cat sat on the mat", "the dog sat"].map(str::to_owned).to_vec();
    let read = |text: TextOptions| words(&open_texts(texts.clone(), None, &ReadOptions::default().text(text)).unwrap());
    assert_eq!(read(TextOptions { stop: "en".parse().unwrap(), ..TextOptions::default() }), ["cat", "sat"]);
    assert_eq!(
        read(TextOptions { max_df: Some(DocumentLimit::Number(2)), min_df: Some(DocumentLimit::Share(0.5)), ..all_words() }),
        ["cat", "sat"]
    );
    // Of 15 occurrences, "the" has 6 and "cat" 3: together three fifths.
    assert_eq!(read(TextOptions { coverage: Some(0.6), ..all_words() }), ["cat", "the"]);
    assert_eq!(read(TextOptions { coverage: Some(0.61), ..all_words() }), ["cat", "sat", "the"]);
    // "the" and "on" are 7 of 15 words, so that auto takes the English list.
    assert_eq!(
        read(TextOptions { min_df: Some(DocumentLimit::Number(1)), ..TextOptions::default() }),
        ["cat", "dog", "hat", "mat", "sat"]
    );
}

#[test]
fn the_words_of_a_model_are_the_columns_of_new_text() {
    let texts = |texts: &[&str]| texts.iter().map(|&it| it.to_owned()).collect::<Vec<_>>();
    let options = ReadOptions::default().text(all_words());
    let model = open_texts(texts(&["red wine", "white wine"]), None, &options).unwrap();
    let schema = model.schema().clone();
    let mut new = open_texts(texts(&["Wine and wine", "beer"]), None, &options.schema(schema.clone())).unwrap();
    assert_eq!(new.schema(), &schema);
    assert!(new.absent_columns().is_empty());
    let batch = new.next_batch().unwrap().unwrap();
    let crate::data::Block::Sparse(rows) = &batch.block else { panic!("text is sparse") };
    assert_eq!(rows.row(0).collect::<Vec<_>>(), [(2, 2.0)]);
    assert_eq!(rows.row(1).count(), 0);
    assert!(new.warnings().iter().any(|note| note.contains("50% of the words")), "{:?}", new.warnings());
}

#[test]
fn a_model_of_present_words_takes_any_count_as_one() {
    let texts = vec!["red wine".to_owned(), "white wine".to_owned()];
    let options = ReadOptions::default().text(all_words());
    let binary = options.clone().kind("*", crate::data::KindOverride::Binary);
    let schema = open_texts(texts, None, &binary).unwrap().schema().clone();
    let mut new = open_texts(vec!["wine wine wine red".to_owned()], None, &options.schema(schema)).unwrap();
    let batch = new.next_batch().unwrap().unwrap();
    let crate::data::Block::Sparse(rows) = &batch.block else { panic!("text is sparse") };
    assert_eq!(rows.row(0).collect::<Vec<_>>(), [(0, 1.0), (2, 1.0)]);
    assert!(new.unseen().is_empty());
}

#[test]
fn text_in_another_encoding_names_the_byte_and_the_encoding() {
    let fixture = Fixture::new("latin.txt", b"caf\xe9 au lait, the usual");
    let problem = fixture.error(&ReadOptions::default().text(all_words())).to_string();
    assert!(problem.contains("latin.txt") && problem.contains("byte 4") && problem.contains("latin-1"), "{problem}");
    let options = ReadOptions::default().text(all_words()).encoding("latin-1".parse().unwrap());
    assert!(words(&fixture.open(&options).unwrap()).contains(&"café".to_owned()));
    let wide = Fixture::new("wide.txt", "hello world".encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>());
    let problem = wide.error(&ReadOptions::default().text(all_words())).to_string();
    assert!(problem.contains("utf-16"), "{problem}");
    let binary = Fixture::new("x.bin", b"PK\x03\x04\0\0\0\0");
    let problem = binary.error(&ReadOptions::default().text(all_words())).to_string();
    assert!(problem.contains("binary") && problem.contains("plain text"), "{problem}");
}

#[test]
fn documents_without_words_and_options_of_tables_are_errors() {
    let fixture = Fixture::new("numbers.txt", "1 2 3 ... 4");
    assert!(fixture.error(&ReadOptions::default().text(all_words())).to_string().contains("no words"));
    let fixture = Fixture::new("one.txt", "some words");
    let options = ReadOptions::default().text(all_words());
    assert!(fixture.error(&options.clone().events("a", "b", None)).to_string().contains("read.events"));
    assert!(fixture.error(&options.clone().id("a")).to_string().contains("read.id"));
    let none = TextOptions { min_df: Some(DocumentLimit::Number(5)), ..all_words() };
    assert!(fixture.error(&ReadOptions::default().text(none)).to_string().contains("none of 2 words is left"));
    let too_much = TextOptions { coverage: Some(1.5), ..all_words() };
    assert!(fixture.error(&ReadOptions::default().text(too_much)).to_string().contains("not a share"));
}

#[test]
fn the_commedia_has_its_513_most_frequent_words_in_real_data() {
    let Some(path) = crate::test_data::data_file("text/divina_commedia_petrocchi_style.txt.gz") else { return };
    let split = Some("^(Inferno|Purgatorio|Paradiso) · Canto".to_owned());
    let text = TextOptions { split, stop: StopWords::None, coverage: Some(0.7), ..TextOptions::default() };
    let reader = open(&path, &ReadOptions::default().text(text)).unwrap();
    // By Python: re.findall(r"\w+", text.lower()) and a counter.
    assert_eq!((reader.documents().len(), reader.schema().columns().len()), (100, 513));
}
