//! Options out of range, and options that do not go together.

use super::{Case, case};

fn simulate(name: &'static str, options: &str) -> Case {
    case(name, format!("simulate --model m.json --data d.csv --rows 5 {options}"))
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        case("unknown verb", "lern data.csv").says(["'lern'"]),
        case("unknown option", "describe data.csv --wieghts w").says(["--wieghts", "--weights"]),
        case("no data", "describe").says(["DATA"]),
        case("names of a table that has its own", "learn data.csv --names n.txt -o m.json").file("n.txt", "p\nq\n").says([
            "--names",
            "data.csv",
            "--no-header",
        ]),
        case("an unknown encoding", "describe data.csv --encoding klingon").says(["--encoding", "klingon", "utf-16"]),
        case("an encoding of a file that is not text", "describe d.parquet --encoding latin-1").file("d.parquet", "PAR1").says([
            "--encoding",
            "d.parquet",
            "not a text file",
        ]),
        case("no count at all", "describe data.csv --min-count 0").says(["--min-count", "0"]),
        case("rare labels of a model's data", "score model.json data.csv --min-count 2").says(["--min-count", "model"]),
        case("reading options for moments", "learn x.moments --kind a=count -o m.json").says([
            "--kind",
            "moments",
            "leave it out",
        ]),
        case("reading options for distances", "learn --distances d.csv --encoding latin-1 -o m.json").says([
            "--encoding",
            "distances",
            "leave it out",
        ]),
        case("reading options for a model alone", "describe model.json --weights w").says(["--weights", "model", "leave it out"]),
        case("reading options for a page without data", "report model.json -o p.html --no-header")
            .says(["--no-header", "leave it out"]),
        case("no threads", "describe data.csv --threads 0").says(["--threads", "0", "1.."]),
        // A thread takes memory and a place in the system's table: tens of thousands can stop a machine.
        case("far too many threads", "describe data.csv --threads 65535").says(["--threads", "65535", "1..=1024"]),
        case("threads that are text", "describe data.csv --threads many").says(["--threads", "many"]),
        case("negative seed", "sample model.json --rows 2 -o o.csv --seed=-1").says(["--seed", "-1"]),
        case("sample without rows", "sample model.json -o o.csv").says(["--rows"]),
        case("negative rows", "sample model.json --rows=-3 -o o.csv").says(["--rows", "-3"]),
        case("sample missing too much", "sample model.json --rows 3 --missing 1.5 -o o.csv").says(["--missing", "1.5", "0", "1"]),
        case("sample missing NaN", "sample model.json --rows 3 --missing nan -o o.csv").says(["--missing", "NaN"]),
        case("sample given an unknown name", "sample model.json --rows 3 --given q=1 -o o.csv").says(["\"q\""]),
        case("infer both", "infer model.json data.csv --map --impute -o o.csv").says(["--map", "--impute"]),
        case("unknown format", "export model.json --format pdf").says(["pdf", "newick"]),
        case("export without format", "export model.json").says(["--format"]),
        case("unknown shell", "completions cmd").says(["cmd", "bash"]),
        case("simulate nothing", "simulate --shape star").says(["--model", "--data"]),
        simulate("simulate without shape", "").says(["--shape"]),
        case("model and data in the same place", "simulate --shape star --model m.json --data m.json")
            .says(["--data", "same place"]),
        case("model and data on standard output", "simulate --shape star --model - --data -").says(["--data", "same place"]),
        simulate("unknown shape", "--shape bush").says(["bush", "caterpillar"]),
        simulate("unknown family", "--shape star --family poisson").says(["poisson", "gaussian"]),
        simulate("simulate missing too much", "--shape star --missing 1.5").says(["--missing", "1.5"]),
        simulate("simulate missing less than nothing", "--shape star --missing=-0.5").says(["--missing", "-0.5"]),
        simulate("complete tree of an impossible size", "--shape complete --observed 7").says([
            "--observed",
            "7",
            "complete",
            "nearest",
        ]),
        simulate("complete tree of degree 1", "--shape complete --degree 1").says(["--degree"]),
        simulate("degree of a star", "--shape star --degree 4").says(["--degree"]),
        simulate("random tree of degree 2", "--shape random --degree 2").says(["--degree"]),
        simulate("star of nothing", "--shape star --observed 0").says(["0"]),
        simulate("double star of one", "--shape double-star --observed 1").says(["1"]),
        simulate("far too many variables", "--shape star --observed 99999999999").says(["99999999999"]),
        simulate("too clear", "--shape star --separation 2").says(["--separation", "2"]),
        simulate("less than useless", "--shape star --separation=-0.1").says(["--separation", "-0.1"]),
        simulate("correlations the wrong way round", "--shape star --family gaussian --correlation 0.9,0.1").says([
            "--correlation",
            "0.9",
            "0.1",
        ]),
        simulate("correlation above 1", "--shape star --family gaussian --correlation 0.5,1.5").says(["--correlation", "1.5"]),
        simulate("correlation of one number", "--shape star --family gaussian --correlation 0.5")
            .says(["--correlation", "LOW,HIGH"]),
        simulate("correlation that is text", "--shape star --correlation low,high").says(["--correlation", "low"]),
        simulate("no states", "--shape star --states 0").says(["--states", "0"]),
        simulate("one state", "--shape star --states 1").says(["--states", "1"]),
        simulate("no hidden states", "--shape star --hidden-states 0").says(["--hidden-states", "0"]),
        simulate("one hidden state", "--shape star --hidden-states 1").says(["--hidden-states", "1"]),
        simulate("far too many states", "--shape star --states 99999999999").says(["--states"]),
        simulate("observed inner share above 1", "--shape random --observed-inner 1.5").says(["1.5"]),
        simulate("observed inner nodes of a star", "--shape star --observed-inner 0.5").says(["--observed-inner", "random"]),
    ]
}
