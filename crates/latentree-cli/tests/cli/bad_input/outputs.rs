//! Files that are not there, and outputs that cannot be.

use super::{Case, case};

pub(super) fn cases() -> Vec<Case> {
    let mut cases = vec![
        case("data that is not there", "describe q.csv").says(["cannot read q.csv", "No such file"]),
        case("data that is a folder", "describe folder").says(["folder: ", "directory holds no data files"]),
        case("data in a folder that is not there", "score model.json q/d.csv").says(["cannot read q/d.csv"]),
        case("names that are not there", "describe docword.d.txt --names n.txt")
            .file("docword.d.txt", "1\n3\n1\n1 1 2\n")
            .says(["cannot read n.txt"]),
        case("schema that is not there", "describe data.csv --schema s.json").says(["cannot read s.json"]),
        case("Parquet that is a folder", "describe folder/../folder").says(["directory"]),
        case("table as Matrix Market", "sample model.json --rows 3 -o o.mtx").says(["o.mtx", "Matrix Market", ".csv"]),
        case("Parquet as gzip", "sample model.json --rows 3 -o o.parquet.gz").says(["o.parquet.gz", "extension"]),
        case("labels as libsvm", "sample model.json --rows 30 -o o.svm").says(["o.svm", "\"b\"", ".csv"]),
        case("posteriors as libsvm", "infer model.json data.csv -o o.svm").says(["o.svm"]),
    ];
    for (name, into_folder, unknown, arguments, beyond) in [
        ("samples", "samples into a folder", "samples as a sheet", "sample model.json --rows 3 -o", "q/o.csv"),
        ("posteriors", "posteriors into a folder", "posteriors as a sheet", "infer model.json data.csv -o", "q/o.csv"),
        (
            "filled data",
            "filled data into a folder",
            "filled data as a sheet",
            "infer model.json data.csv --impute -o",
            "q/o.csv",
        ),
        ("scores", "scores into a folder", "scores as a sheet", "score model.json data.csv --per-row", "q/o.csv"),
        ("export", "export into a folder", "export as a sheet", "export model.json --format dot -o", "q/o.dot"),
        ("page", "page into a folder", "page as a sheet", "report model.json data.csv -o", "q/o.html"),
        ("moments", "moments into a folder", "moments as a sheet", "moments data.csv -o", "q/o.moments"),
        (
            "simulated model",
            "simulated model into a folder",
            "simulated model as a sheet",
            "simulate --shape star --model",
            "q/o.json",
        ),
        (
            "simulated data",
            "simulated data into a folder",
            "simulated data as a sheet",
            "simulate --shape star --data",
            "q/o.csv",
        ),
    ] {
        cases.push(case(name, format!("{arguments} {beyond}")).says(["cannot write q/o.", "No such file"]));
        cases.push(case(into_folder, format!("{arguments} folder")).says(["cannot write folder", "directory"]));
        cases.push(case(unknown, format!("{arguments} o.xlsx")).says(["o.xlsx", ".xlsx is not an extension of"]));
    }
    for (name, arguments) in [
        ("a picture of a model", "learn data.csv -o m.png"),
        ("a page as a model", "learn data.csv -o m.html"),
        ("a model compressed in an unknown way", "learn data.csv -o m.json.bz2"),
        ("a learned page without its ending", "learn data.csv -o m.json --report p.json"),
        ("an exported picture", "export model.json --format dot -o m.png"),
        ("an export as another format", "export model.json --format newick -o m.json"),
        ("merged moments as a table", "merge x.moments -o o.csv"),
        ("distances as a sheet", "distances data.csv -o d.xlsx"),
        ("errors as a sheet", "distances data.csv -o d.csv --errors e.xlsx"),
    ] {
        cases.push(case(name, arguments).says(["is not an extension of", "use ."]));
    }
    for (name, arguments, option) in [
        ("model over its data", "learn data.csv -o data.csv", "-o"),
        ("model over its data by another spelling", "learn data.csv -o ./folder/../data.csv", "-o"),
        ("page over the data", "learn data.csv -o m.json --report data.csv", "--report"),
        ("model and page in one file", "learn data.csv -o x --report x", "--report"),
        ("model and page on standard output", "learn data.csv -o - --report -", "--report"),
        ("model over its tree", "learn data.csv --tree model.json -o model.json", "-o"),
        ("model over the rows it is validated on", "learn data.csv --validation model.json -o model.json", "-o"),
        ("posteriors over the data", "infer model.json data.csv -o data.csv", "-o"),
        ("posteriors over the model", "infer model.json data.csv -o model.json", "-o"),
        ("scores over the data", "score model.json data.csv --per-row data.csv", "--per-row"),
        ("samples over the model", "sample model.json --rows 3 -o model.json", "-o"),
        ("export over the model", "export model.json --format dot -o model.json", "-o"),
        ("page over the model", "report model.json -o model.json", "-o"),
        ("moments over the data", "moments data.csv -o data.csv", "-o"),
        ("merge over a part", "merge data.csv model.json -o model.json", "-o"),
        ("distances over the data", "distances data.csv -o data.csv", "-o"),
        ("errors over the distances", "distances data.csv -o d.csv --errors folder/../d.csv", "--errors"),
        ("simulated model over its tree", "simulate --tree model.json --model model.json", "--model"),
        ("moments over the schema", "moments data.csv --schema model.json -o model.json", "-o"),
        ("moments over the groups", "moments data.csv --group model.json:a,b -o model.json", "-o"),
    ] {
        cases.push(case(name, arguments).says([option, "another file"]));
        if arguments.ends_with("x --report x") || arguments.contains("- --report -") || arguments.contains("--errors") {
            let last = cases.last_mut().expect("one was pushed");
            last.says = vec![option, "same place"];
        }
    }
    cases.push(case("model where none can be", "learn data.csv -o q/m.json").says(["cannot write q/m.json", "No such file"]));
    cases.push(case("page where none can be", "learn data.csv -o m.json --report q/m.html").says(["cannot write q/m.html"]));
    cases
        .push(case("distances where none can be", "distances data.csv -o d.csv --errors q/e.csv").says(["cannot write q/e.csv"]));
    cases.push(case("manual pages into a file", "man -o data.csv").says(["data.csv"]));
    // The model is written only if the data can be.
    cases.push(
        case("data that fail after the model", "simulate --shape star --model m.json --data q/d.csv")
            .says(["cannot write q/d.csv"]),
    );
    cases
}
