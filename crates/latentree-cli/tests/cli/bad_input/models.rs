//! Model files, BIF and XMLBIF, and questions that a model cannot answer.

use super::{BIF, Case, MODEL, case};
use crate::harness::example;

/// `query` of [`MODEL`] with one text replaced.
fn changed(name: &'static str, from: &str, to: &str) -> Case {
    assert!(MODEL.contains(from), "{from}");
    case(name, "query m.json --of h").file("m.json", MODEL.replacen(from, to, 1)).says(["m.json"])
}

/// `query` of [`BIF`] with one text replaced.
fn bif(name: &'static str, from: &str, to: &str) -> Case {
    assert!(BIF.contains(from), "{from}");
    case(name, "query m.bif --hidden h").file("m.bif", BIF.replacen(from, to, 1)).says(["m.bif"])
}

fn xmlbif(name: &'static str, text: &str) -> Case {
    case(name, "query m.xmlbif").file("m.xmlbif", text).says(["m.xmlbif"])
}

/// The clinic model with the first occurrence of a text changed, and its checksum as it was.
fn damaged(name: &'static str, from: &str, to: &str) -> Case {
    let text = std::fs::read_to_string(example("clinic.truth.json")).expect("the example is there");
    assert!(text.contains(from) && from.len() == to.len(), "{from}");
    case(name, "query m.json").file("m.json", text.replacen(from, to, 1)).says(["m.json"])
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        damaged("digit of a table changed", "0.45,0.33", "0.46,0.33").says(["checksum", "changed or damaged"]),
        damaged("letter of a node changed", "{\"name\":\"gout\"", "{\"name\":\"gaut\"").says(["checksum"]),
        damaged("observed changed", "\"observed\":false", "\"observed\":0.000").says(["checksum"]),
        damaged("checksum changed", "fnv1a64:0", "fnv1a64:1").says(["checksum"]),
        damaged("brace changed", "{\"kind\"", "[\"kind\"").says(["line", "JSON"]),
        damaged("version changed", "\"version\": 1", "\"version\": 7"),
        changed("future version", "\"version\":1", "\"version\":9").says(["version 9", "1 to 2", "newer version"]),
        changed("version that is text", "\"version\":1", "\"version\":\"1\"").says(["\"version\"", "whole number"]),
        changed("format of another program", "\"latentree\"", "\"treelearn\"").says(["\"treelearn\"", "\"latentree\""]),
        changed("format missing", "\"format\":\"latentree\",", "").says(["\"format\" is missing"]),
        changed("unknown kind of model", "\"latent-tree\"", "\"forest\"").says(["\"forest\"", "\"latent-tree\""]),
        changed("model without nodes", "\"nodes\"", "\"knots\"").says(["\"nodes\" is missing"]),
        changed("model without edges", "\"edges\"", "\"lines\"").says(["\"edges\""]),
        changed("model without tables", "\"tables\"", "\"charts\"").says(["\"tables\" is missing"]),
        changed("edge to an unknown node", "\"target\":\"a\"", "\"target\":\"q\"").says(["\"q\""]),
        changed(
            "cycle",
            "{\"source\":\"h\",\"target\":\"a\"}",
            "{\"source\":\"h\",\"target\":\"a\"},{\"source\":\"a\",\"target\":\"b\"}",
        )
        .says(["cycle", "\"a\"", "\"b\"", "\"h\""]),
        changed("edge from a node to itself", "{\"source\":\"h\",\"target\":\"a\"}", "{\"source\":\"a\",\"target\":\"a\"}")
            .says(["\"a\""]),
        changed(
            "edge twice",
            "{\"source\":\"h\",\"target\":\"a\"}",
            "{\"source\":\"h\",\"target\":\"a\"},{\"source\":\"h\",\"target\":\"a\"}",
        )
        .says(["\"a\"", "\"h\""]),
        changed("node twice", "{\"name\":\"a\"", "{\"name\":\"b\"").says(["\"b\""]),
        changed("unknown root", "\"root\":\"h\"", "\"root\":\"r\"").says(["\"r\""]),
        changed("probabilities that do not sum to 1", "[0.4,0.6]", "[0.4,0.7]").says(["\"h\"", "sum"]),
        changed("negative probability", "[0.4,0.6]", "[-0.4,1.4]").says(["\"h\"", "-0.4"]),
        changed("row of a table too short", "[0.5,0.25,0.25]", "[0.5,0.5]").says(["\"b\""]),
        changed("row missing", "[[0.5,0.25,0.25],[0.1,0.3,0.6]]", "[[0.5,0.25,0.25]]").says(["\"b\""]),
        changed("variance of zero", "[1.0,0.5]", "[1.0,0.0]").says(["\"z\"", "variance"]),
        changed("negative rate", "[1.0,5.0]", "[1.0,-5.0]").says(["\"n\"", "rates"]),
        changed("infinite mean", "[0.0,2.0]", "[0.0,1e999]").says(["line", "number"]),
        changed("table of an unknown node", "\"z\":{\"means\"", "\"y\":{\"means\"").says(["\"y\""]),
        changed("table of a node missing", ",\"z\":{\"means\":[0.0,2.0],\"variances\":[1.0,0.5]}", "").says(["\"z\""]),
        changed("table of another kind", "\"rates\"", "\"given\"").says(["\"n\""]),
        changed("model cut off", "\"tables\":{\"h\":{\"prior\":[0.4,0.6]}", "").says(["m.json"]),
        case("half of a model", "query m.json").file("m.json", &MODEL[..MODEL.len() / 2]).says(["m.json", "line", "JSON", "EOF"]),
        case("empty model", "query m.json").file("m.json", "").says(["m.json", "empty"]),
        case("list for a model", "query m.json").file("m.json", "[1, 2]").says(["m.json", "list"]),
        case("deeply nested model", "query m.json").file("m.json", "[".repeat(100_000)).says(["m.json"]),
        case("data for a model", "score data.csv data.csv").says(["data.csv", "neither", "BIF"]),
        case("score with a tree", "score t.json data.csv").file("t.json", TREE).says(["t.json", "without tables", "learn"]),
        case("sample of a tree", "sample t.json --rows 3 -o o.csv").file("t.json", TREE).says(["t.json", "without tables"]),
        case("BIF of a tree", "export t.json --format bif -o o.bif").file("t.json", TREE).says(["t.json", "tables"]),
        case("BIF of numbers", "export model.json --format bif -o o.bif").says(["model.json", "\"n\"", "not discrete", "json"]),
        case("XMLBIF of numbers", "export model.json --format xmlbif").says(["model.json", "\"n\"", "not discrete"]),
        bif("BIF cycle", "probability ( h ) { table 0.4, 0.6; }", "probability ( h | a ) { (0) 0.4, 0.6; (1) 0.4, 0.6; }")
            .says(["cycle", "\"a\"", "\"h\""]),
        bif(
            "BIF cycle of three",
            "probability ( h ) { table 0.4, 0.6; }\nprobability ( a | h )",
            "probability ( h | b ) { (0) 0.4, 0.6; (1) 0.4, 0.6; }\nprobability ( a | h )",
        )
        .says(["cycle", "\"b\"", "\"h\""]),
        bif(
            "BIF node that is its own parent",
            "probability ( h ) { table 0.4, 0.6; }",
            "probability ( h | h ) { (0) 0.4, 0.6; (1) 0.4, 0.6; }",
        )
        .says(["\"h\""]),
        bif(
            "BIF with two parents",
            "probability ( b | h ) { (0) 0.7, 0.3; (1) 0.1, 0.9; }",
            "probability ( b | h, a ) { (0, 0) 0.7, 0.3; (0, 1) 0.1, 0.9; (1, 0) 0.7, 0.3; (1, 1) 0.1, 0.9; }",
        )
        .says(["\"b\"", "2 parents", "\"h\"", "\"a\""]),
        bif("BIF with a row missing", "(1) 0.2, 0.8;", "").says(["line 6", "\"a\"", "\"1\""]),
        bif("BIF with an unknown state", "(1) 0.2, 0.8;", "(2) 0.2, 0.8;").says(["line 6", "\"2\""]),
        bif("BIF with a bad sum", "0.2, 0.8", "0.2, 0.9").says(["line 6", "\"a\"", "sum"]),
        bif("BIF with a word for a number", "0.2, 0.8", "0.2, x").says(["line 6", "\"x\"", "number"]),
        bif("BIF with an undeclared parent", "( a | h )", "( a | q )").says(["line 6", "\"q\"", "not declared"]),
        bif("BIF with a variable twice", "variable b", "variable a").says(["line 4", "\"a\"", "twice"]),
        bif("BIF with a wrong number of states", "discrete [ 2 ] { 0, 1 }", "discrete [ 3 ] { 0, 1 }")
            .says(["line 2", "\"3\"", "2 given"]),
        bif("BIF without its last brace", "(1) 0.1, 0.9; }\n", "(1) 0.1, 0.9;\n").says(["ends where"]),
        bif("BIF without probabilities", "probability ( h ) { table 0.4, 0.6; }\n", "").says([
            "line 2",
            "\"h\"",
            "no probabilities",
        ]),
        case("BIF of no data", "score m.bif data.csv")
            .file(
                "m.bif",
                BIF.replace("variable a", "variable q")
                    .replace("( a |", "( q |")
                    .replace("variable b", "variable r")
                    .replace("( b |", "( r |"),
            )
            .says(["m.bif", "none of its nodes", "\"q\""]),
        case("unknown node to hide", "query m.bif --hidden q").file("m.bif", BIF).says(["--hidden", "\"q\""]),
        case("observed node to hide", "query model.json --hidden a").says(["--hidden", "\"a\"", "observed"]),
        xmlbif("XMLBIF cut off", "<?xml version=\"1.0\"?><BIF VERSION=\"0.3\"><NETWORK><VARIABLE>").says(["XMLBIF"]),
        xmlbif("XMLBIF of another language", "<html><body>no</body></html>").says(["XMLBIF"]),
        xmlbif("XMLBIF with wrong tags", "<BIF><NETWORK><VARIABLE></NETWORK></BIF>").says(["XMLBIF", "line 1"]),
        xmlbif("XMLBIF without variables", "<BIF><NETWORK></NETWORK></BIF>").says(["variables"]),
        case("evidence of probability zero", "query model.json --given a=1,h=low --of b")
            .says(["evidence has probability zero", "fewer"]),
        case("most probable given the impossible", "query model.json --given a=1,h=low --map").says(["probability zero"]),
        case("sample given the impossible", "sample model.json --given a=1,h=low --rows 3 -o o.csv").says(["probability zero"]),
        case("unknown name given", "query model.json --given q=1").says(["\"q\"", "a, b, h"]),
        case("unknown state given", "query model.json --given b=violet").says(["b=\"violet\"", "red, green, blue"]),
        case("text given for a number", "query model.json --given z=tall").says(["z=\"tall\"", "number"]),
        case("negative count given", "query model.json --given n=-1").says(["n=\"-1\"", "count"]),
        case("given without a value", "query model.json --given a").says(["--given", "\"a\"", "name=value"]),
        case("the same given twice", "query model.json --given a=1,a=0").says(["--given", "\"a\"", "twice"]),
        case("unknown node asked for", "query model.json --of q").says(["\"q\"", "a, b, h"]),
        case("unknown node to infer", "infer model.json data.csv --of q -o o.csv").says(["\"q\""]),
        case("joint and most probable", "query model.json --joint --map").says(["--joint", "--map"]),
        case("joint of a number and a category", "query model.json --joint --of z,b").says(["\"z\""]),
        case("infer without hidden nodes", "infer m.bif d.csv -o o.csv")
            .file("m.bif", BIF)
            .file("d.csv", "h,a,b\n0,1,0\n")
            .says(["no hidden nodes", "--of", "--impute"]),
        case("model that is not there", "query q.json").says(["cannot read q.json"]),
        case("model that is a folder", "query folder").says(["cannot read folder", "directory"]),
    ]
}

const TREE: &str = r#"{"format":"latentree","version":1,"kind":"tree","nodes":[{"name":"h","observed":false},
 {"name":"a","observed":true},{"name":"b","observed":true}],"edges":[{"source":"h","target":"a"},{"source":"h","target":"b"}]}"#;
