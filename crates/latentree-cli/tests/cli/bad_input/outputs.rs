//! Files that are not there, and outputs that cannot be.

use super::{Case, case};

pub(super) fn cases() -> Vec<Case> {
    let mut cases = vec![
        case("data that is not there", "describe q.csv").says(["cannot read q.csv", "No such file"]),
        case("data that is a folder", "describe folder").says(["cannot read folder", "directory"]),
        case("data in a folder that is not there", "score model.json q/d.csv").says(["cannot read q/d.csv"]),
        case("names that are not there", "describe docword.d.txt --names n.txt")
            .file("docword.d.txt", "1\n3\n1\n1 1 2\n")
            .says(["cannot read n.txt"]),
        case("schema that is not there", "describe data.csv --schema s.json").says(["cannot read s.json"]),
        case("Parquet that is a folder", "describe folder/../folder").says(["directory"]),
        case("table as Matrix Market", "sample model.json --rows 3 -o o.mtx").says(["o.mtx", "Matrix Market", ".csv"]),
        case("Parquet as gzip", "sample model.json --rows 3 -o o.parquet.gz").says(["o.parquet.gz", "ending"]),
        case("labels as libsvm", "sample model.json --rows 30 -o o.svm").says(["o.svm", "\"b\"", ".csv"]),
        case("posteriors as libsvm", "infer model.json data.csv -o o.svm").says(["o.svm"]),
    ];
    for (name, into_folder, arguments) in [
        ("samples", "samples into a folder", "sample model.json --rows 3 -o"),
        ("posteriors", "posteriors into a folder", "infer model.json data.csv -o"),
        ("filled data", "filled data into a folder", "infer model.json data.csv --impute -o"),
        ("scores", "scores into a folder", "score model.json data.csv --per-row"),
        ("export", "export into a folder", "export model.json --format dot -o"),
        ("page", "page into a folder", "report model.json data.csv -o"),
        ("moments", "moments into a folder", "moments data.csv -o"),
        ("simulated model", "simulated model into a folder", "simulate --shape star --model"),
        ("simulated data", "simulated data into a folder", "simulate --shape star --data"),
    ] {
        let beyond = format!("{arguments} q/o.csv");
        cases.push(case(name, beyond).says(["cannot write q/o.csv", "No such file"]));
        cases.push(case(into_folder, format!("{arguments} folder")).says(["cannot write folder", "directory"]));
    }
    cases.push(case("manual pages into a file", "man -o data.csv").says(["data.csv"]));
    // The model is written only if the data can be.
    cases.push(
        case("data that fail after the model", "simulate --shape star --model m.json --data q/d.csv")
            .says(["cannot write q/d.csv"]),
    );
    cases
}
