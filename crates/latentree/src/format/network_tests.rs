use rand::RngExt as _;

use super::bif::read_bif;
use super::xmlbif::read_xmlbif;
use super::*;
use crate::error::{Error, Result, Shortened};
use crate::model::test_models::{Family, generator, hostile, random_model};
use crate::model::{Distribution, LatentTree};

type Read = fn(&[u8], &ReadModelOptions<'_>) -> Result<LatentTree>;
type Write = fn(&LatentTree) -> Result<String>;
const FORMATS: [(Write, Read); 2] = [(to_bif, read_bif), (to_xmlbif, read_xmlbif)];

fn bif(text: &str) -> Result<LatentTree> {
    read_bif(text.as_bytes(), &ReadModelOptions::default())
}

fn xmlbif(text: &str) -> Result<LatentTree> {
    read_xmlbif(text.as_bytes(), &ReadModelOptions::default())
}

/// All that the formats hold: everything but lengths, supports, provenance and the orders of links and columns.
fn assert_same_network(left: &LatentTree, right: &LatentTree) {
    assert_eq!(left.tree().nodes(), right.tree().nodes());
    assert_eq!(left.rooted().parent, right.rooted().parent);
    for node in left.tree().node_ixs() {
        assert_eq!(left.domain(node), right.domain(node));
        assert_eq!(left.distribution(node), right.distribution(node));
        let kind = |model: &LatentTree| model.variable(node).and_then(|it| model.schema().scalar_kind(it).cloned());
        assert_eq!(kind(left), kind(right));
    }
}

#[test]
fn every_discrete_model_reads_back_exactly() {
    for seed in 0..150 {
        let model = random_model(seed, Family::Discrete, 1 + seed as usize % 40);
        for (write, read) in FORMATS {
            let text = write(&model).unwrap();
            let back = read(text.as_bytes(), &ReadModelOptions::default());
            assert_same_network(&model, &back.unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text:.500}")));
        }
    }
}

#[test]
fn every_truncation_and_edit_is_an_error_or_a_model() {
    let model = random_model(17, Family::Discrete, 4);
    let mut random = generator(3);
    for (write, read) in FORMATS {
        let text: String = write(&model).unwrap().replace(&"long".repeat(2500), "long");
        let options = ReadModelOptions::default();
        assert!(read(text.as_bytes(), &options).is_ok());
        for end in 0..text.len() {
            if let Ok(model) = read(&text.as_bytes()[..end], &options) {
                assert!(write(&model).is_ok());
            }
        }
        for _ in 0..8000 {
            let mut bytes = text.clone().into_bytes();
            for _ in 0..random.random_range(1..4) {
                let at = random.random_range(0..bytes.len());
                match random.random_range(0..4) {
                    0 => bytes[at] = random.random_range(0..=255),
                    1 => {
                        bytes.remove(at);
                    }
                    2 => bytes[at] = b"{}()[];,|\"/<>&!-0123"[random.random_range(0..20)],
                    _ => {
                        let end = (at + random.random_range(1..40)).min(bytes.len());
                        let piece = bytes[at..end].to_vec();
                        let to = random.random_range(0..bytes.len());
                        bytes.splice(to..to, piece);
                    }
                }
            }
            if let Ok(model) = read(&bytes, &options) {
                let again = read(write(&model).unwrap().as_bytes(), &options).unwrap();
                assert_same_network(&model, &again);
            }
        }
    }
}

#[test]
fn replaced_names_are_allowed_and_never_the_same() {
    let names: Vec<String> = (0..300).map(hostile).chain(["_".into(), "__2".into(), "_table".into(), String::new()]).collect();
    let replaced = names::allowed_names(names.iter().map(String::as_str), |name| {
        name.starts_with('_') && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    });
    let mut unique = replaced.clone();
    unique.sort();
    unique.dedup();
    assert_eq!(unique.len(), names.len());
    for (name, replaced) in names.iter().zip(&replaced) {
        assert!(replaced.starts_with('_') && replaced.len() < 60);
        assert_eq!(names::decode(&names::encode(name)).as_deref(), Some(name.as_str()));
    }
    for broken in ["%", "%4", "%zz", "%+1", "%ff"] {
        assert_eq!(names::decode(broken), None, "{broken}");
    }
}

const DOGS: &str = r#"// Comments, quotes, properties, default rows and a table, as found in the wild.
network "Dog problem" { property author "A; B" ; /* a
   comment */ property url http://x.org/a; }
variable "family-out" { type discrete[2] { "true" "false" }; property position = (257, 91) ; }
variable light { type discrete [ 2 ] { on, off }; }
variable bark { type discrete [ 3 ] { 0, 1, 2 }; }
probability ( "family-out" ) { table 0.15 0.85; }
probability ( "light" "family-out" ) { table 0.6 0.05 0.4 0.95; }
probability ( bark | light ) { default 0.333, 0.333, 0.333; (off) 0.1 0.2 0.7; }
"#;

#[test]
fn bif_from_other_programs_is_understood() {
    let model = bif(DOGS).unwrap();
    let table = |name: &str| match model.distribution(model.find(name).unwrap()) {
        Distribution::Discrete(table) => table.values().to_vec(),
        _ => unreachable!(),
    };
    assert_eq!(table("family-out"), [0.15, 0.85]);
    // P(light = on | family-out = true) = 0.6 in the example of the format's author.
    assert_eq!(table("light"), [0.6, 0.4, 0.05, 0.95]);
    let bark = table("bark");
    assert!(bark[..3].iter().all(|value| (value - 1.0 / 3.0).abs() < 1e-15));
    assert_eq!(bark[3..], [0.1, 0.2, 0.7]);
    assert_eq!(model.tree().n_hidden(), 0);
}

#[test]
fn xmlbif_from_other_programs_is_understood() {
    let model = xmlbif(
        r#"<?xml version="1.0"?><!DOCTYPE BIF [ <!ELEMENT BIF (NETWORK)*> <!-- > ]> --> <!ATTLIST BIF V CDATA ">"> ]>
        <BIF VERSION="0.3"><NETWORK><NAME>n</NAME><!-- <VARIABLE> -->
        <VARIABLE TYPE="nature"><NAME> a&lt;b </NAME><OUTCOME>x&#65;</OUTCOME><OUTCOME><![CDATA[<y>]]></OUTCOME><PROPERTY/></VARIABLE>
        <VARIABLE TYPE='nature'><NAME>c</NAME><OUTCOME>0</OUTCOME><OUTCOME>1</OUTCOME></VARIABLE>
        <DEFINITION><FOR>c</FOR><GIVEN>a&lt;b</GIVEN><TABLE>0.1 0.9 <!-- row --> 1 0</TABLE></DEFINITION>
        <DEFINITION><FOR>a&lt;b</FOR><TABLE>.5, 5E-1</TABLE></DEFINITION></NETWORK></BIF>"#,
    )
    .unwrap();
    let (a, c) = (model.find("a<b").unwrap(), model.find("c").unwrap());
    assert_eq!(model.domain(a).labels().unwrap(), ["xA", "<y>"]);
    assert_eq!(model.parent(c), Some(a));
    assert_eq!(model.distribution(c), &Distribution::Discrete(crate::model::Table::new(2, vec![0.1, 0.9, 1.0, 0.0])));
}

#[test]
fn nodes_outside_the_data_or_named_are_hidden() {
    let hidden = |options: &ReadModelOptions<'_>| -> Vec<String> {
        let model = read_bif(DOGS.as_bytes(), options).unwrap();
        model.hidden().map(|node| model.tree().name(node).to_owned()).collect()
    };
    let columns = ["light".to_owned(), "bark".to_owned(), "cat".to_owned()];
    assert_eq!(hidden(&ReadModelOptions { hidden: vec![], data_columns: Some(&columns) }), ["family-out"]);
    assert_eq!(hidden(&ReadModelOptions { hidden: vec!["light".into()], data_columns: None }), ["light"]);
    let unknown = ReadModelOptions { hidden: vec!["cat".into()], data_columns: None };
    assert!(matches!(read_bif(DOGS.as_bytes(), &unknown), Err(Error::Option { .. })));
}

#[test]
fn what_is_no_tree_is_refused_with_its_nodes_named() {
    let variables = "variable a { type discrete [ 1 ] { 0 }; } variable b { type discrete [ 1 ] { 0 }; }
        variable c { type discrete [ 1 ] { 0 }; }";
    let two_parents = format!(
        "{variables} probability (a) {{ table 1; }} probability (b) {{ table 1; }}
        probability (c | a, b) {{ (0, 0) 1; }}"
    );
    let error = bif(&two_parents).unwrap_err();
    assert!(matches!(error, Error::Tree { .. }));
    let message = error.to_string();
    assert!(message.contains("\"c\" has 2 parents (\"a\", \"b\")"), "{message}");
    let cycle = format!(
        "{variables} probability (a | c) {{ table 1; }} probability (b | a) {{ table 1; }}
        probability (c | b) {{ table 1; }}"
    );
    let message = bif(&cycle).unwrap_err().to_string();
    assert!(message.contains("cycle") && message.contains("\"a\" – "), "{message}");
    let each_other = format!(
        "{variables} probability (a | b) {{ table 1; }} probability (b | a) {{ table 1; }}
        probability (c) {{ table 1; }}"
    );
    let message = bif(&each_other).unwrap_err().to_string();
    assert!(message.contains("cycle: \"a\" – \"b\" – \"a\""), "{message}");
    let alone =
        format!("{variables} probability (a) {{ table 1; }} probability (b) {{ table 1; }} probability (c) {{ table 1; }}");
    assert_eq!(bif(&alone).unwrap().rooted().roots.len(), 3);
}

#[test]
fn errors_name_the_line_and_the_node() {
    let cases = [
        ("table 0.15 0.85", "table 0.5 0.75", "line 7: not valid BIF: node \"family-out\": probabilities sum to 1.25"),
        ("table 0.15 0.85", "table 0.15", "line 7: not valid BIF: node \"family-out\": 1 numbers"),
        ("table 0.15 0.85", "table 0.15 x", "line 7: not valid BIF: \"x\" where a number"),
        ("table 0.15 0.85", "table nan 0.85", "line 7"),
        ("table 0.15 0.85", "table -0.15 1.15", "-0.15 is not a probability"),
        ("default 0.333, 0.333, 0.333;", "", "line 9: not valid BIF: node \"bark\": no row for the parent's state \"on\""),
        ("(off)", "(of)", "line 9: not valid BIF: node \"bark\": the parent has no state \"of\""),
        ("(off) 0.1 0.2 0.7;", "(off) 0.1 0.2 0.7; (off) 1 0 0;", "appears twice"),
        ("(off) 0.1 0.2 0.7;", "table 0.1 0.2 0.7;", "both a table and rows"),
        ("bark | light", "bark | lihgt", "line 9: not valid BIF: \"bark\" has a parent \"lihgt\""),
        ("bark | light", "brak | light", "line 9: not valid BIF: probabilities of \"brak\""),
        ("variable light", "variable bark", "line 6: not valid BIF: variable \"bark\" is declared twice"),
        ("[ 3 ] { 0, 1, 2 }", "[ 3 ] { 0, 1 }", "line 6: not valid BIF: \"3\" states declared, 2 given"),
        ("[ 3 ] { 0, 1, 2 }", "[ 3 ] { 0, 1, 1 }", "\"1\" appears twice"),
        ("type discrete [ 3 ]", "type continuous [ 3 ]", "only discrete"),
        ("comment */", "comment", "line 2: not valid BIF: a comment \"/*\" has no end"),
    ];
    for (from, to, expected) in cases {
        assert!(DOGS.contains(from), "{from}");
        let message = bif(&DOGS.replacen(from, to, 1)).unwrap_err().to_string();
        assert!(message.contains(expected), "{from} → {to}: {message}");
    }
    for (broken, expected) in [
        ("<BIF><NETWORK>", "ends inside <NETWORK>"),
        ("<BIF></NETWORK>", "</NETWORK> where </BIF>"),
        ("<html></html>", "not <BIF>"),
        ("<BIF><VARIABLE></VARIABLE></BIF>", "no <NAME>"),
        ("<BIF>&x;</BIF>", "unknown entity"),
        ("<BIF>&</BIF>", "&amp;"),
        ("<BIF/>", "no variables"),
    ] {
        let message = xmlbif(broken).unwrap_err().to_string();
        assert!(message.contains("line 1") && message.contains(expected), "{broken}: {message}");
    }
}

#[test]
fn a_small_file_cannot_ask_for_a_large_table() {
    let labels: Vec<String> = (0..30_000).map(|label| label.to_string()).collect();
    let (labels, uniform) = (labels.join(","), vec!["1e-9"; 29_999].join(" "));
    let text = format!(
        "variable a {{ type discrete [30000] {{ {labels} }}; }} variable b {{ type discrete [30000] {{ {labels} }}; }}
        probability (a) {{ table 0.99997 {uniform}; }} probability (b | a) {{ default 0.99997 {uniform}; }}"
    );
    assert!(bif(&text).unwrap_err().to_string().contains("too many"));
}

#[test]
fn a_model_that_is_not_discrete_is_refused_with_the_node_named() {
    let model = random_model(1, Family::Gaussian, 3);
    for (write, _) in FORMATS {
        let message = write(&model).unwrap_err().to_string();
        assert!(message.contains(&format!("node {:?} is not discrete", Shortened(&model.tree().nodes()[0].name))), "{message}");
    }
}
