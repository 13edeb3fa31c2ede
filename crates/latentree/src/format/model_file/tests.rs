use rand::RngExt as _;

use super::*;
use crate::model::test_models::{Family, generator, random_model, random_tree};

const FAMILIES: [Family; 3] = [Family::Discrete, Family::Mixed, Family::Gaussian];

/// The smallest file with every kind of field.
const SMALL: &str = r#"{"format":"latentree","version":1,"kind":"latent-tree",
"nodes":[{"name":"h","observed":false},{"name":"a","observed":true,"kind":"binary","states":["no","yes"]},
{"name":"b","observed":true,"kind":"continuous"},{"name":"c","observed":true,"kind":"count"}],
"edges":[{"source":"h","target":"a","distance":0.5,"support":0.9},{"source":"h","target":"b"},{"source":"h","target":"c"}],
"root":"h",
"tables":{"h":{"prior":[0.25,0.75]},"a":{"given":[[0.5,0.5],[1,0]]},"b":{"means":[0,1],"variances":[1,1]},"c":{"rates":[1,2]}}}"#;

fn problem(text: &str) -> String {
    ModelFile::read_from(text.as_bytes()).unwrap_err().in_file("m.json").to_string()
}

/// The message for the small file with one piece replaced.
fn changed(from: &str, to: &str) -> String {
    assert!(SMALL.contains(from), "{from}");
    problem(&SMALL.replacen(from, to, 1))
}

#[test]
fn every_model_reads_back_exactly() {
    for seed in 0..150 {
        for family in FAMILIES {
            let model = random_model(seed, family, 1 + seed as usize % 40);
            let text = model.to_json_string();
            let back = ModelFile::read_from(text.as_bytes()).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            assert_eq!(back, ModelFile::LatentTree(model), "seed {seed}");
            assert_eq!(back.to_json_string(), text);
        }
    }
}

#[test]
fn trees_read_back_exactly_with_the_order_of_their_links() {
    for seed in 0..150 {
        let tree = random_tree(&mut generator(seed), 1 + seed as usize % 60);
        let schema = random_model(seed, Family::Mixed, 1 + seed as usize % 60).schema().clone();
        for schema in [None, Some(schema)] {
            let file = ModelFile::Tree { tree: tree.clone(), schema, provenance: Provenance::by_this_program(seed) };
            assert_eq!(ModelFile::read_from(file.to_json_string().as_bytes()).unwrap(), file);
        }
    }
    let empty = ModelFile::from(Tree::new());
    assert_eq!(ModelFile::read_from(empty.to_json_string().as_bytes()).unwrap(), empty);
}

#[test]
fn files_round_trip_by_their_ending() {
    let dir = tempfile::tempdir().unwrap();
    let model = random_model(5, Family::Mixed, 30);
    for name in ["m.json", "m.json.gz", "m.json.zst", "m"] {
        let path = dir.path().join(name);
        model.write(&path).unwrap();
        assert_eq!(ModelFile::read(&path).unwrap().into_latent_tree().unwrap(), model);
        assert_eq!(read_model(&path, &ReadModelOptions::default()).unwrap(), ModelFile::LatentTree(model.clone()));
    }
}

#[test]
fn the_layout_is_no_part_of_the_content() {
    let model = random_model(3, Family::Mixed, 20);
    let value: serde_json::Value = serde_json::from_str(&model.to_json_string()).unwrap();
    let sorted_and_indented = serde_json::to_string_pretty(&value).unwrap();
    assert_eq!(ModelFile::read_from(sorted_and_indented.as_bytes()).unwrap(), ModelFile::LatentTree(model));
}

#[test]
fn a_file_written_by_hand_needs_neither_schema_nor_root_nor_checksum() {
    let model = ModelFile::read_from(SMALL.as_bytes()).unwrap().into_latent_tree().unwrap();
    assert_eq!(model.schema().variables().len(), 3);
    assert_eq!(model.n_states(model.find("h").unwrap()), Some(2));
    let without_root = SMALL.replace("\"root\":\"h\",", "");
    let again = ModelFile::read_from(without_root.as_bytes()).unwrap().into_latent_tree().unwrap();
    assert_eq!(model, again);
    assert!(ModelFile::read_from(format!("\u{feff}{SMALL}").as_bytes()).is_ok());
}

#[test]
fn one_changed_byte_is_an_error_or_leaves_the_model_as_it_was() {
    for family in FAMILIES {
        let model = ModelFile::LatentTree(random_model(11, family, 4));
        let text = model.to_json_string().into_bytes();
        let mut random = generator(1);
        let mut n_refused = 0;
        for _ in 0..4000 {
            let mut bytes = text.clone();
            let at = random.random_range(0..bytes.len());
            bytes[at] = random.random_range(0..=255);
            match ModelFile::read_from(&bytes) {
                // A blank for another blank, or the word "checksum" itself, change nothing.
                Ok(back) => assert_eq!(back, model, "byte {at}"),
                Err(_) => n_refused += 1,
            }
        }
        assert!(n_refused > 3000, "{n_refused}");
    }
}

#[test]
fn any_edit_of_a_file_without_checksum_is_an_error_or_a_model() {
    let mut random = generator(2);
    for seed in 0..6000 {
        let text = if seed % 2 == 0 {
            SMALL.to_owned()
        } else {
            ModelFile::from(random_tree(&mut generator(seed), 5)).to_json_string().replace("\"checksum\"", "\"ignored\"")
        };
        let mut bytes = text.into_bytes();
        for _ in 0..random.random_range(1..4) {
            let at = random.random_range(0..bytes.len());
            match random.random_range(0..4) {
                0 => bytes[at] = random.random_range(0..=255),
                1 => {
                    bytes.remove(at);
                }
                2 => bytes[at] = b"0123456789{}[]\",:-e."[random.random_range(0..20)],
                _ => {
                    let end = (at + random.random_range(1..20)).min(bytes.len());
                    let piece = bytes[at..end].to_vec();
                    let to = random.random_range(0..bytes.len());
                    bytes.splice(to..to, piece);
                }
            }
        }
        if let Ok(file) = ModelFile::read_from(&bytes) {
            assert_eq!(ModelFile::read_from(file.to_json_string().as_bytes()).unwrap(), file);
        }
    }
}

#[test]
fn every_truncation_is_an_error() {
    let text = random_model(7, Family::Mixed, 5).to_json_string();
    for end in 0..text.trim_end().len() {
        assert!(ModelFile::read_from(&text.as_bytes()[..end]).is_err(), "{end}");
    }
}

#[test]
fn a_damaged_number_is_told_by_the_checksum() {
    let text = random_model(7, Family::Gaussian, 5).to_json_string();
    let damaged = text.replacen("\"variance\":", "\"variance\":1", 1);
    let message = problem(&damaged);
    assert!(message.contains("m.json") && message.contains("changed or damaged") && message.contains("remove the field"));
    let accepted = damaged.lines().filter(|line| !line.contains("\"checksum\"")).collect::<Vec<_>>().join("\n");
    assert!(ModelFile::read_from(accepted.as_bytes()).is_ok());
}

#[test]
fn a_later_version_is_refused_unless_it_says_that_this_one_can_read_it() {
    let later = SMALL.replace("\"version\":1", "\"version\":9");
    let error = ModelFile::read_from(later.as_bytes()).unwrap_err();
    assert!(matches!(error, Error::Version { found: 9, oldest: OLDEST, newest: NEWEST, .. }));
    assert!(error.in_file("m.json").to_string().contains("m.json"));
    let readable = SMALL.replace("\"version\":1", "\"version\":9,\"minimum_version\":1,\"new\":{\"a\":[1]}");
    assert!(ModelFile::read_from(readable.as_bytes()).is_ok());
    assert!(matches!(
        ModelFile::read_from(SMALL.replace("\"version\":1", "\"version\":0").as_bytes()),
        Err(Error::Version { found: 0, .. })
    ));
}

#[test]
fn errors_name_the_file_and_the_field_or_node() {
    let cases = [
        ("\"format\":\"latentree\",", "", "\"format\" is missing"),
        ("latentree", "other", "\"format\" is \"other\""),
        ("\"version\":1,", "", "\"version\" is missing"),
        ("\"version\":1", "\"version\":\"1\"", "\"version\" must be a whole number"),
        ("latent-tree", "spectral", "spectral"),
        ("\"kind\":\"latent-tree\",", "", "\"kind\" is missing"),
        ("\"kind\":\"latent-tree\"", "\"kind\":\"tree\"", "has no \"tables\""),
        ("{\"name\":\"b\"", "{\"name\":\"a\"", "two nodes are named \"a\""),
        ("{\"name\":\"b\",", "{", "nodes[2]: field \"name\" is missing"),
        ("\"observed\":false", "\"observed\":0", "nodes[0]: field \"observed\""),
        ("\"target\":\"b\"", "\"target\":\"q\"", "edges[1]: field \"target\": no node is named \"q\""),
        ("\"target\":\"b\"", "\"target\":\"a\"", "joined by two edges"),
        ("\"distance\":0.5", "\"distance\":\"x\"", "edges[0]: field \"distance\""),
        ("\"source\":\"h\",\"target\":\"b\"", "\"source\":\"b\",\"target\":\"h\"", "root \"h\" is the target"),
        ("\"root\":\"h\"", "\"root\":\"a\"", "root \"a\" is the target of the edge from \"h\""),
        ("\"root\":\"h\"", "\"root\":\"z\"", "\"root\": no node is named \"z\""),
        ("\"c\":{\"rates\"", "\"d\":{\"rates\"", "tables: \"d\" is not a node"),
        (",\"c\":{\"rates\":[1,2]}", "", "node \"c\": has no distribution"),
        ("\"rates\":[1,2]", "\"rates\":[1]", "node \"c\""),
        ("\"rates\":[1,2]", "\"rates\":[1,-2]", "node \"c\""),
        ("\"rates\":[1,2]", "\"rates\":[1,2],\"rates\":[1,3]", "\"rates\" appears twice"),
        ("\"rates\":[1,2]", "\"rate\":[1,2]", "node \"c\": has the fields"),
        ("[[0.5,0.5],[1,0]]", "[[0.5,0.5],[1]]", "node \"a\""),
        ("[[0.5,0.5],[1,0]]", "[[0.5,0.6],[1,0]]", "sum to 1.1"),
        ("[[0.5,0.5],[1,0]]", "[]", "node \"a\""),
        ("[0.25,0.75]", "[0.25,\"x\"]", "node \"h\""),
        ("[\"no\",\"yes\"]", "[\"no\",\"no\"]", "\"no\" appears twice"),
        ("[\"no\",\"yes\"]", "[\"no\"]", "nodes[1]: a binary node has two"),
        ("\"kind\":\"count\"", "\"kind\":\"group\"", "nodes[3]"),
        ("\"root\":\"h\"", "\"root\":\"h\",\"schema\":{\"variables\":[]}", "observed node that is not a variable"),
        ("\"root\":\"h\"", "\"root\":\"h\",\"schema\":{\"variables\":7}", "field \"schema\""),
        ("\"root\":\"h\"", "\"root\":\"h\",\"provenance\":{\"seed\":-1}", "field \"provenance\""),
        ("\"root\":\"h\"", "\"root\":\"h\",\"roots\":[\"a\",\"h\"]", "not the first of \"roots\""),
        ("\"root\":\"h\"", "\"root\":\"h\",\"roots\":[\"h\",\"h\"]", "twice"),
        ("1,\"kind\"", "1e999,\"kind\"", "out of range"),
    ];
    for (from, to, expected) in cases {
        let message = changed(from, to);
        assert!(message.contains("m.json") && message.contains(expected), "{from} → {to}: {message}");
    }
}

#[test]
fn a_cycle_is_named() {
    let text = r#"{"format":"latentree","version":1,"kind":"tree","nodes":[{"name":"p","observed":true},{"name":"q","observed":true},
        {"name":"r","observed":false}],"edges":[{"source":"p","target":"q"},{"source":"q","target":"r"},{"source":"r","target":"p"}]}"#;
    let message = problem(text);
    assert!(message.contains("cycle") && ["p", "q", "r"].iter().all(|name| message.contains(name)), "{message}");
}

#[test]
fn deep_nesting_and_other_files_are_refused() {
    assert!(ModelFile::read_from("[".repeat(1_000_000).as_bytes()).is_err());
    assert!(ModelFile::read_from("{\"format\":".repeat(1_000_000).as_bytes()).is_err());
    for text in ["", "null", "[]", "7", "\u{0}"] {
        assert!(ModelFile::read_from(text.as_bytes()).is_err());
        assert!(read_model_from(text.as_bytes(), "", &ReadModelOptions::default()).is_err());
    }
}

#[test]
fn hiding_an_observed_node_of_a_model_file_is_refused() {
    let options = |name: &str| ReadModelOptions { hidden: vec![name.to_owned()], data_columns: None };
    assert!(read_model_from(SMALL.as_bytes(), "json", &options("h")).is_ok());
    assert!(read_model_from(SMALL.as_bytes(), "json", &options("a")).unwrap_err().to_string().contains("observed"));
    assert!(read_model_from(SMALL.as_bytes(), "json", &options("z")).unwrap_err().to_string().contains("no node \"z\""));
}

#[test]
fn twenty_thousand_nodes_are_read() {
    let model = random_model(1, Family::Mixed, 20_000);
    // Long names are for the other tests.
    let text = model.to_json_string().replace(&"long".repeat(2500), "long");
    let text = text.lines().filter(|line| !line.contains("\"checksum\"")).collect::<Vec<_>>().join("\n");
    let file = ModelFile::read_from(text.as_bytes()).unwrap();
    assert_eq!(file.tree().n_nodes(), 20_000);
}

#[test]
fn a_file_of_more_values_than_a_model_has_is_refused_before_it_fills_the_memory() {
    let most = 1 << 20;
    for text in ["0,", "\"\",", "[],", "{\"a\":0},"] {
        let text = format!("[{}0]", text.repeat(100_000));
        assert!(Json::read(text.as_bytes(), most).unwrap_err().to_string().contains("more values"), "{}", &text[..20]);
        assert!(Json::read(text.as_bytes(), u64::MAX).is_ok());
    }
    // The rows of tables take less.
    let floats = format!("[{}0.5]", "0.5,".repeat(100_000));
    let read = Json::read(floats.as_bytes(), most).unwrap();
    assert!(read.footprint() <= most && matches!(read, Json::Floats(_)));
}

#[test]
fn what_is_read_takes_the_memory_that_was_foretold() {
    let text = random_model(1, Family::Mixed, 30).to_json_string();
    let document = Json::read(text.as_bytes(), u64::MAX).unwrap();
    let needed = document.footprint();
    assert!(Json::read(text.as_bytes(), needed).is_ok());
    assert!(Json::read(text.as_bytes(), needed - 1).is_err());
}

#[test]
fn a_file_that_is_too_long_is_refused_unread() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("m.json");
    // A file with a hole takes no room on disk.
    std::fs::File::create(&path).unwrap().set_len(MAX_BYTES + 1).unwrap();
    let message = ModelFile::read(&path).unwrap_err().to_string();
    assert!(message.contains("m.json") && message.contains("larger than 256 MiB"), "{message}");
    assert!(check_length(&" ".repeat(MAX_BYTES as usize + 1)).is_err());
}
