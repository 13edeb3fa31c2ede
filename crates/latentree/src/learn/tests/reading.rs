//! A file is parsed only once if it fits in memory, and the order of its columns does not matter.

use std::fmt::Write as _;
use std::path::Path;

use super::*;
use crate::data::{ReadOptions, Reader};
use crate::report::{PageOptions, page};

const COLUMNS: usize = 12;

/// A table of about a megabyte with labels, numbers, missing cells and weights, whose columns depend on a hidden state.
fn table() -> String {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let names: Vec<String> = (0..COLUMNS).map(|ix| format!("x{ix}")).collect();
    let mut text = names.join(",") + ",w\n";
    for _ in 0..24_000 {
        let state = rng.random_bool(0.5);
        for column in 0..COLUMNS {
            let is_on = rng.random_bool(if state { 0.8 } else { 0.3 });
            match column % 4 {
                _ if rng.random_bool(0.02) => text.push_str("NA"),
                0 => text.push(if is_on { '1' } else { '0' }),
                1 => text.push_str(if is_on { "a long label" } else { " \"another, quoted\"" }),
                2 => write!(text, "{:.3}", f64::from(u8::from(is_on)) + rng.random_range(0.0..2.0)).unwrap(),
                _ => text.push_str(["red", "green", "blue"][usize::from(is_on) + usize::from(rng.random_bool(0.2))]),
            }
            text.push(',');
        }
        text.push_str(if rng.random_bool(0.5) { "1\n" } else { "2\n" });
    }
    text
}

fn open(path: &Path, keep_bytes: u64, weights: bool) -> Reader {
    let options = ReadOptions::default().keep_bytes(keep_bytes);
    crate::data::open(path, &if weights { options.weights("w") } else { options }).unwrap()
}

#[test]
fn learning_and_its_page_parse_a_file_once_if_it_fits_and_say_the_same_if_not() {
    let folder = tempfile::tempdir().unwrap();
    let (text, path) = (table(), folder.path().join("table.csv"));
    std::fs::write(&path, &text).unwrap();
    let learning = Learning::new().structure(LearnerName::NeighborJoining).em_iterations(Some(3)).hidden_states(Some(2));
    let mut models = Vec::new();
    for (keep_bytes, memory, most) in [(1 << 30, 1 << 30, 1.4), (100_000, 1 << 30, 2.4), (0, 0, f64::INFINITY)] {
        let rows = CachedRows::new(open(&path, keep_bytes, true), MemoryBudget::new(memory));
        let learned = learning.run(Source::Rows(&rows), &Silent).unwrap();
        let model = learned.model().unwrap();
        page(model, Some(&rows), &PageOptions::new("table"), &Silent).unwrap();
        let n_read = rows.of_source(Reader::n_bytes_read) as f64;
        assert!(n_read >= text.len() as f64 && n_read < most * text.len() as f64, "{keep_bytes}: {n_read}");
        assert!(rows.of_source(Reader::digest).is_some());
        models.push(model.to_json_string());
    }
    assert!(models.iter().all(|model| *model == models[0]));
}

#[test]
fn kept_cells_give_the_batches_and_the_errors_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.csv");
    std::fs::write(&path, table()).unwrap();
    for weights in [false, true] {
        let [kept, plain] = [1 << 30, 0].map(|keep| Dataset::read(&mut open(&path, keep, weights)).unwrap());
        assert_eq!(kept.schema(), plain.schema());
        assert_eq!(kept.batches().len(), plain.batches().len());
        for (a, b) in kept.batches().iter().zip(plain.batches()) {
            assert_eq!(format!("{a:?}"), format!("{b:?}"));
        }
    }
    // A weight that is not a number is detected only when rows are read.
    let rows: String =
        (0..3000).map(|row| format!("{},{},{}\n", row % 2, row % 3, if row == 2500 { "many" } else { "1" })).collect();
    std::fs::write(&path, format!("a,b,w\n{rows}")).unwrap();
    let messages = [1 << 30, 0].map(|keep| Dataset::read(&mut open(&path, keep, true)).unwrap_err().to_string());
    assert_eq!(messages[0], messages[1]);
    assert!(messages[0].contains("2502") && messages[0].contains("many"), "{}", messages[0]);
}

#[test]
fn sparse_files_are_parsed_once_if_they_fit() {
    let folder = tempfile::tempdir().unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let (mut words, mut svm, mut unsorted) = (String::new(), String::new(), Vec::new());
    for row in 1..=60_000 {
        svm.push('0');
        let columns: Vec<u32> = (1..=30).filter(|_| rng.random_bool(0.15)).collect();
        for column in columns {
            let count = rng.random_range(1..4);
            writeln!(words, "{row} {column} {count}").unwrap();
            unsorted.push((column, format!("{row} {column} {count}\n")));
            write!(svm, " {column}:{count}").unwrap();
        }
        svm.push('\n');
    }
    let events: String = unsorted.iter().map(|(_, line)| line.replace(' ', ",")).collect();
    unsorted.sort();
    let shuffled: String = unsorted.iter().map(|(_, line)| line.replace(' ', ",")).collect();
    let head = format!("60000 30 {}\n", unsorted.len());
    let by_column: String = unsorted.iter().map(|it| it.1.as_str()).collect();
    let files = [
        ("docword.a.txt", head.replace(' ', "\n") + &words),
        ("a.svm", svm),
        ("events.csv", format!("id,item,n\n{events}")),
        ("shuffled.csv", format!("id,item,n\n{shuffled}")),
        ("a.mtx", format!("%%MatrixMarket matrix coordinate integer general\n{head}{by_column}")),
    ];
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::write(&path, &text).unwrap();
        let mut readers = [1 << 30, 0].map(|keep| {
            let options = ReadOptions::default().keep_bytes(keep);
            let is_events = text.starts_with("id,");
            let options = if is_events { options.events("id", "item", Some("n".to_owned())) } else { options };
            crate::data::open(&path, &options).unwrap()
        });
        let [kept, plain] = readers.each_mut().map(|reader| Dataset::read(reader).unwrap());
        assert!(readers[0].n_bytes_read() < text.len() as u64 * 14 / 10, "{name}: {}", readers[0].n_bytes_read());
        assert_eq!(format!("{:?}", kept.batches()), format!("{:?}", plain.batches()), "{name}");
        // A second pass reads the file again.
        let again = readers.map(|mut reader| {
            crate::data::BatchSource::rewind(&mut reader).unwrap();
            Dataset::read(&mut reader).unwrap()
        });
        assert_eq!(format!("{:?}", again[0].batches()), format!("{:?}", plain.batches()), "{name}");
    }
}

/// The same table with its columns in another order.
fn permuted(data: &Dataset, order: &[usize]) -> Dataset {
    let schema = data.schema();
    let builder = order.iter().fold(Schema::builder(), |it, &ix| {
        let Column { name, kind } = schema.columns()[ix].clone();
        it.scalar(name, kind)
    });
    let columns = order.iter().map(|&ix| {
        let mut column = ColumnData::for_kind(&schema.columns()[ix].kind, data.n_rows() as usize);
        for batch in data.batches() {
            (0..batch.n_rows).for_each(|row| column.push_number(batch.number(row, crate::ColIx::new(ix))));
        }
        column
    });
    Dataset::from_columns(Arc::new(builder.build().unwrap()), columns.collect(), None).unwrap()
}

#[test]
fn columns_of_many_labels_give_the_same_tree_in_any_order() {
    for seed in 0..4 {
        let family = ParameterFamily::Categorical { states: 64, hidden_states: 3, separation: 0.8 };
        let model = Simulation::new(Shape::Complete { degree: 3 }, 12).family(family).seed(seed).model().unwrap();
        let data = Inference::new(&model).sample(4000, seed).unwrap();
        let mut order: Vec<usize> = (0..data.schema().columns().len()).collect();
        order.sort_by_key(|ix| (ix * 7 + seed as usize) % 12);
        let other = permuted(&data, &order);
        for learning in [Learning::new().hidden_states(Some(3)), Learning::new().structure(LearnerName::ChowLiuNeighborJoining)] {
            let learning = learning.seed(seed).em_iterations(Some(20));
            let [a, b] = [learn(&learning, &data), learn(&learning, &other)];
            assert!(a.tree().n_hidden() > 5, "seed {seed}");
            assert!(
                crate::tree::same_structure(a.tree(), b.tree()),
                "seed {seed}:\n{}\n{}",
                a.tree().to_newick(None),
                b.tree().to_newick(None)
            );
            let [x, y] = [a, b].map(|it| it.log_likelihood.unwrap());
            assert!((x - y).abs() < 1e-9 * x.abs(), "seed {seed}: {x} {y}");
        }
    }
}
