//! Pages that cannot be made.

use super::{BIF, Case, case};

pub(super) fn cases() -> Vec<Case> {
    vec![
        case("page without an output", "report model.json").says(["--output"]),
        case("page of a model that is not there", "report q.json -o o.html").says(["cannot read q.json"]),
        case("page of data as a model", "report data.csv -o o.html").says(["data.csv", "neither"]),
        case("page with data that are not there", "report model.json q.csv -o o.html").says(["cannot read q.csv"]),
        case("page with data of other columns", "report model.json d.csv -o o.html").file("d.csv", "p,q\n1,2\n").says(["d.csv"]),
        case("page with a label that the model does not know", "report model.json d.csv -o o.html --unseen error")
            .file("d.csv", "a,b\n0,purple\n")
            .says(["d.csv", "\"purple\""]),
        case("page of a tree with data", "report t.nwk data.csv -o o.html")
            .file("t.nwk", "(a,b,c);")
            .says(["t.nwk", "learn --tree"]),
        case("page of a tree file with data", "report t.json data.csv -o o.html")
            .file(
                "t.json",
                r#"{"format":"latentree","version":1,"kind":"tree","nodes":[{"name":"a","observed":true}],"edges":[]}"#,
            )
            .says(["t.json", "without tables"]),
        case("page of a damaged tree", "report t.nwk -o o.html").file("t.nwk", "((a,b);").says(["t.nwk", "Newick"]),
        case("page with model and data from one stream", "report - - -o o.html").says(["standard input"]),
        case("page with a hidden node that is none", "report m.bif -o o.html --hidden q").file("m.bif", BIF).says(["\"q\""]),
    ]
}
