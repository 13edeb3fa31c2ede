//! CSV, TSV and event tables.

use super::{Case, DATA, case};

/// [`DATA`] with one text replaced.
fn data(from: &str, to: &str) -> String {
    assert!(DATA.contains(from), "{from}");
    DATA.replacen(from, to, 1)
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        case("row too short", "describe d.csv").file("d.csv", "a,b\n1,2\n3\n").says(["d.csv", "line 3", "row 2", "1 field", "2"]),
        case("row too long", "describe d.csv").file("d.csv", "a,b\n1,2,3\n").says([
            "d.csv",
            "line 2",
            "3 fields",
            "header has 2",
        ]),
        case("ragged without header", "describe d.csv --no-header").file("d.csv", "1,2\n3,4\n5\n").says([
            "d.csv",
            "line 3",
            "row 3",
            "first row",
        ]),
        case("ragged tsv", "moments d.tsv -o m.moments").file("d.tsv", "a\tb\n1\t2\n3\n").says(["d.tsv", "TSV", "line 3"]),
        case("unclosed quote", "describe d.csv").file("d.csv", "a,b\n1,\"x\n2,3\n").says(["d.csv", "line 2", "quote"]),
        case("empty file", "describe d.csv").file("d.csv", "").says(["d.csv", "no rows", "empty"]),
        case("blank lines only", "describe d.csv").file("d.csv", "\n\n\n").says(["d.csv", "no rows"]),
        case("header only", "describe d.csv").file("d.csv", "a,b\n").says(["d.csv", "no rows"]),
        case("header only with a model", "score model.json d.csv").file("d.csv", "a,b,n,z\n").says(["d.csv", "no rows"]),
        case("header only to infer", "infer model.json d.csv -o o.csv").file("d.csv", "a,b,n,z\n").says(["d.csv", "no rows"]),
        case("column name twice", "describe d.csv").file("d.csv", "a,b,a\n1,2,3\n").says([
            "d.csv",
            "\"a\"",
            "1 and 3",
            "--no-header",
        ]),
        case("header not UTF-8", "describe d.csv").file("d.csv", b"a,\xff\n1,2\n".to_vec()).says(["d.csv", "column 2", "UTF-8"]),
        case("cell not UTF-8", "describe d.csv")
            .file("d.csv", b"a,b\n1,x\n1,\xff\xfe\n".to_vec())
            .says(["d.csv", "row 2", "\"b\"", "UTF-8"]),
        case("UTF-16", "describe d.csv").file("d.csv", b"\xff\xfea\0,\0b\0".to_vec()).says([
            "d.csv",
            "UTF-16",
            "--encoding utf-16",
        ]),
        case("infinite number", "describe d.csv").file("d.csv", "a\n1.5\ninf\n").says(["d.csv", "row 2", "\"a\"", "infinite"]),
        case("all columns without values", "describe d.csv").file("d.csv", "a,b\n,\nNA,?\n").says(["d.csv", "no column", "kind"]),
        case("all columns ignored", "describe data.csv --kind *=ignore").says(["data.csv", "no column"]),
        case("text in a column told to be continuous", "describe data.csv --kind b=continuous").says([
            "data.csv",
            "row 1",
            "\"b\"",
            "\"red\"",
            "not a number",
        ]),
        case("negative number told to be a count", "describe d.csv --kind n=count")
            .file("d.csv", "n\n1\n-2\n")
            .says(["d.csv", "row 2", "\"n\"", "-2", "negative"]),
        case("fraction told to be a count", "describe d.csv --kind n=count").file("d.csv", "n\n1\n2.5\n").says([
            "d.csv",
            "row 2",
            "\"n\"",
            "2.5",
            "whole number",
        ]),
        case("many labels told to be binary", "describe data.csv --kind b=binary").says(["data.csv", "\"b\"", "binary"]),
        case("unseen category", "score model.json d.csv --unseen error").file("d.csv", data("blue", "violet")).says([
            "d.csv",
            "row 2",
            "\"b\"",
            "\"violet\"",
            "\"green\"",
        ]),
        case("unseen category while writing", "infer model.json d.csv --unseen error -o out.csv")
            .file("d.csv", data("green", "mauve"))
            .says(["d.csv", "row 3", "\"b\"", "\"mauve\""]),
        case("unseen number of a binary column", "score model.json d.csv --unseen error --per-row p.csv")
            .file("d.csv", data("1,blue", "2,blue"))
            .says(["d.csv", "row 2", "\"a\"", "2"]),
        case("negative count", "score model.json d.csv")
            .file("d.csv", data("red,2", "red,-2"))
            .says(["d.csv", "row 1", "\"n\"", "-2", "negative"]),
        case("fractional count", "score model.json d.csv").file("d.csv", data("blue,7", "blue,7.5")).says([
            "d.csv",
            "row 2",
            "\"n\"",
            "7.5",
            "whole number",
        ]),
        case("infinite count", "score model.json d.csv")
            .file("d.csv", data("blue,7", "blue,inf"))
            .says(["d.csv", "row 2", "\"n\"", "infinite"]),
        case("text for a number", "score model.json d.csv").file("d.csv", data("2.25", "two")).says([
            "d.csv",
            "row 2",
            "\"z\"",
            "\"two\"",
            "not a number",
        ]),
        case("no column of the model", "score model.json d.csv").file("d.csv", "p,q\n1,2\n").says([
            "d.csv",
            "none of the 4 expected columns",
            "\"a\"",
            "header",
        ]),
        case("columns without names for a model", "score model.json d.csv --no-header").file("d.csv", "1,red\n").says([
            "d.csv",
            "2 columns",
            "4",
        ]),
        case("kind against the model", "score model.json data.csv --kind z=count").says(["--kind", "\"z\"", "continuous"]),
        case("negative weight", "score model.json d.csv --weights w")
            .file("d.csv", data("2.25,0.5", "2.25,-0.5"))
            .says(["d.csv", "row 2", "weight", "-0.5"]),
        case("missing weight", "score model.json d.csv --weights w")
            .file("d.csv", data("2.25,0.5", "2.25,"))
            .says(["d.csv", "row 2", "weight"]),
        case("weight not a number", "describe d.csv --weights w")
            .file("d.csv", data("2.25,0.5", "2.25,NaN"))
            .says(["d.csv", "row 2", "weight"]),
        case("infinite weight", "moments d.csv --weights w -o m.moments")
            .file("d.csv", data("2.25,0.5", "2.25,inf"))
            .says(["d.csv", "row 2"]),
        case("no weight at all", "learn d.csv --weights w -o m.json")
            .file("d.csv", "a,b,w\n0,1,0\n1,0,0\n")
            .says(["d.csv", "no rows with a positive weight"]),
        case("weight is text", "describe d.csv --weights w").file("d.csv", data("2.25,0.5", "2.25,heavy")).says([
            "d.csv",
            "row 2",
            "\"heavy\"",
        ]),
        case("unknown column of weights", "describe data.csv --weights x").says(["--weights", "\"x\"", "\"a\""]),
        case("unknown column of a kind", "describe data.csv --kind q=count").says(["--kind", "\"q\""]),
        case("unknown kind", "describe data.csv --kind n=integer").says(["--kind", "n=integer", "count"]),
        case("kind without a name", "describe data.csv --kind count").says(["--kind", "\"count\"", "NAME="]),
        case("events that are not called so", "learn e.csv -o m.json")
            .file("e.csv", {
                let event = |row: usize| format!("{},E{}\n", 1000 + row / 3, row * 7919 % 101 % 40);
                format!("patient_id,icd9\n{}", (0..600).map(event).collect::<String>())
            })
            .says(["e.csv", "looks like events", "--events patient_id,icd9"]),
        case("events for a model without their option", "score model.json e.csv")
            .file("e.csv", "patient,code\n1,A\n1,B\n")
            .says(["none of the 4 expected columns", "--events"]),
        case("events without their columns", "describe e.csv --events patient,code").file("e.csv", "pat,code\n1,A\n").says([
            "--events",
            "\"patient\"",
            "\"pat\"",
        ]),
        case("events with an unknown value", "describe e.csv --events p,c,v")
            .file("e.csv", "p,c\n1,A\n")
            .says(["--events", "\"v\""]),
        case("events of one column", "describe e.csv --events p").file("e.csv", "p,c\n1,A\n").says(["--events", "ROW,ITEM"]),
        case("events of four columns", "describe e.csv --events p,c,v,w")
            .file("e.csv", "p,c\n1,A\n")
            .says(["--events", "ROW,ITEM"]),
        case("events with the same column twice", "describe e.csv --events p,p")
            .file("e.csv", "p,c\n1,A\n")
            .says(["--events", "different columns"]),
        case("event without a row id", "describe e.csv --events p,c")
            .file("e.csv", "p,c\n1,A\n,B\n")
            .says(["e.csv", "line 3", "row 2", "\"p\"", "row id"]),
        case("event with a bad value", "describe e.csv --events p,c,v")
            .file("e.csv", "p,c,v\n1,A,3\n1,B,many\n")
            .says(["e.csv", "row 2", "\"v\"", "\"many\""]),
        case("events of an empty file", "describe e.csv --events p,c").file("e.csv", "p,c\n").says(["e.csv", "no rows"]),
        case("events none of which has an item", "describe e.csv --events p,c").file("e.csv", "p,c\n1,\n2,\n").says(["e.csv"]),
        case("group file that matches nothing", "describe data.csv --group g.csv").file("g.csv", "item,group\nq,G\n").says([
            "g.csv",
            "none of its",
            "data.csv",
        ]),
        case("group file of three columns", "describe data.csv --group g.csv").file("g.csv", "x,y,z\n1,2,3\n").says([
            "g.csv",
            "3 columns",
            "\"item\"",
        ]),
        case("group file that is empty", "describe data.csv --group g.csv").file("g.csv", "").says(["g.csv", "empty"]),
        case("group file that is not there", "describe data.csv --group g.csv").says(["cannot read g.csv"]),
        case("schema that is not JSON", "describe data.csv --schema s.json")
            .file("s.json", "variables: a")
            .says(["s.json", "line 1", "JSON"]),
        case("schema without variables", "describe data.csv --schema s.json").file("s.json", "{}").says(["s.json", "variables"]),
        case("schema with an unknown kind", "describe data.csv --schema s.json")
            .file("s.json", r#"{"variables":[{"name":"a","kind":"ordinal"}]}"#)
            .says(["s.json", "\"a\"", "\"ordinal\"", "categorical"]),
        case("schema with an unknown column", "describe data.csv --schema s.json")
            .file("s.json", r#"{"variables":[{"name":"aa","kind":"binary"}]}"#)
            .says(["s.json", "\"aa\"", "\"a\""]),
        case("schema with a column twice", "describe data.csv --schema s.json")
            .file("s.json", r#"{"variables":[{"name":"a","kind":"binary"},{"name":"a","kind":"count"}]}"#)
            .says(["s.json", "\"a\"", "twice"]),
        case("schema whose labels lack one", "describe data.csv --schema s.json")
            .file("s.json", r#"{"variables":[{"name":"b","kind":"categorical","labels":["red","green"]}]}"#)
            .says(["data.csv", "row 2", "\"b\"", "\"blue\"", "\"green\""]),
        case("schema with a label twice", "describe data.csv --schema s.json")
            .file("s.json", r#"{"variables":[{"name":"b","kind":"categorical","labels":["red","red","green","blue"]}]}"#)
            .says(["s.json", "\"b\"", "\"red\"", "twice"]),
        case("binary schema with three labels", "describe data.csv --schema s.json")
            .file("s.json", r#"{"variables":[{"name":"b","kind":"binary","labels":["red","green","blue"]}]}"#)
            .says(["s.json", "\"b\"", "two labels"]),
        case("schema that is a folder", "describe data.csv --schema folder").says(["cannot read folder", "directory"]),
        case("bad data on standard input", "describe -").stdin(b"a,b\n1\n").says(["standard input", "line 2"]),
        case("empty standard input", "score model.json -").says(["standard input", "no rows"]),
        case("model and data on standard input", "score - -").stdin(b"{}").says(["standard input", "MODEL", "DATA"]),
    ]
}
