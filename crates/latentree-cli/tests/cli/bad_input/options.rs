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
        case("an error as JSON", "learn data.csv --structure foo --json -o m.json").says(["--structure", "foo"]),
        case("a negative weight of cells", "learn data.csv --smoothing -1 -o m.json").says(["--smoothing", "-1"]),
        case("no such column of groups", "learn data.csv --group g.csv:itemm,group -o m.json")
            .file("g.csv", "item,group\na,G\n")
            .says(["--group", "g.csv has no column \"itemm\"", "\"item\""]),
        case("states of no tree", "learn data.csv --states h1=3 -o m.json").says(["--states", "--tree"]),
        case("states of a node that is not there", "learn data.csv --tree s.nwk --states h2=3 -o m.json")
            .file("s.nwk", "(a,b,n,z,w)h1;")
            .says(["--states", "\"h2\"", "not in the tree"]),
        case("states of a column", "learn data.csv --tree s.nwk --states a=3 -o m.json")
            .file("s.nwk", "(a,b,n,z,w)h1;")
            .says(["--states", "\"a\"", "observed"]),
        case("a single state of one node", "learn data.csv --tree s.nwk --states h1=1 -o m.json")
            .file("s.nwk", "(a,b,n,z,w)h1;")
            .says(["--states", "1"]),
        case("states without a number", "learn data.csv --tree s.nwk --states h1 -o m.json")
            .file("s.nwk", "(a,b,n,z,w)h1;")
            .says(["--states", "NODE=STATES"]),
        case("no count at all", "describe data.csv --min-count 0").says(["--min-count", "0"]),
        case("rare labels of a model's data", "score model.json data.csv --min-count 2").says(["--min-count", "model"]),
        case("reading options for moments", "learn x.moments --kind a=count -o m.json").says([
            "--kind",
            "moments",
            "leave it out",
        ]),
        case("reading options for distances", "learn --distances d.csv --encoding latin-1 -o m.json").says([
            "--encoding",
            "distance matrix",
            "leave it out",
        ]),
        case("reading options for a model alone", "describe model.json --weights w").says(["--weights", "model", "leave it out"]),
        case("reading options for a page without data", "report model.json -o p.html --no-header")
            .says(["--no-header", "leave it out"]),
        case("no threads", "describe data.csv --threads 0").says(["--threads", "0", "1.."]),
        // A thread takes memory and a place in the system's table: tens of thousands can stop a machine.
        case("far too many threads", "describe data.csv --threads 65535").says(["--threads", "65535", "1..=1024"]),
        case("far too many replicates", "learn data.csv -o m.json --bootstrap 10000000000").says([
            "--bootstrap",
            "10000000000",
            "100000",
        ]),
        case("replicates beyond 64 bits", "learn data.csv -o m.json --bootstrap 99999999999999999999").says(["--bootstrap"]),
        case("far too many hidden states", "learn data.csv -o m.json --hidden-states 4294967296").says([
            "--hidden-states",
            "4294967296",
            "2 to 1000",
        ]),
        case("hidden states beyond signed numbers", "learn data.csv -o m.json --hidden-states 9223372036854775808")
            .says(["--hidden-states", "2 to 1000"]),
        case("distances of far too many hidden states", "distances data.csv -o d.csv --hidden-states 4294967296")
            .says(["--hidden-states", "2 to 1000"]),
        case("candidates of far too many hidden states", "learn data.csv --candidates --hidden-states 4294967296")
            .says(["--hidden-states", "2 to 1000"]),
        case("far too many restarts", "learn data.csv -o m.json --restarts 10000000000").says(["--restarts", "1 to 10000"]),
        case("no restarts", "learn data.csv -o m.json --restarts 0").says(["--restarts", "1 to 10000"]),
        case("far too many passes", "learn data.csv -o m.json --em-iterations 10000000000").says(["--em-iterations", "1000000"]),
        case("far too many rows to draw", "sample model.json --rows 18446744073709551615 -o o.csv")
            .says(["--rows", "1000000000000"]),
        simulate("far too many rows to simulate", "--shape star --rows 18446744073709551615").says(["--rows"]),
        simulate("variables beyond the limit", "--shape star --observed 10000001").says(["--observed", "10000000"]),
        simulate("tables beyond any memory", "--shape star --observed 100000 --states 1000 --hidden-states 1000")
            .says(["--states", "fewer states"]),
        case("a kind that is none", "describe data.csv --kind a")
            .says(["--kind", "expected NAME=KIND, where KIND is categorical"]),
        case("values for missing ones without a name", "describe data.csv --na =9").says(["--na", "NAME=VALUE,VALUE"]),
        case("no value for missing ones", "describe data.csv --na a=").says(["--na", "\"a=\" given", "VALUE,VALUE"]),
        case("values for missing ones of no column", "describe data.csv --na zz=9").says(["--na", "zz"]),
        case("a time without events", "learn data.csv --time a -o m.json").says(["--time", "only events have times", "--events"]),
        case("evidence beyond all numbers", "query model.json --given z=1e400 --of h").says(["1e400", "too large"]),
        case("memory that is no size", "learn data.csv -o m.json --memory lots").says(["--memory", "\"lots\"", "8G"]),
        case("memory too small for anything", "learn data.csv -o m.json --memory 1K").says(["--memory", "\"1K\""]),
        case("unknown kind of weights", "score model.json data.csv --weights w --weight-kind survey").says([
            "--weight-kind",
            "survey",
            "frequency",
        ]),
        case("frequencies that are no whole numbers", "learn data.csv --weights w --weight-kind frequency -o m.json").says([
            "--weight-kind",
            "0.5 of row 2",
            "sampling",
        ]),
        case(
            "moments of frequencies that are no whole numbers",
            "moments data.csv --weights w --weight-kind frequency -o m.moments",
        )
        .says(["--weight-kind", "0.5 of row 2"]),
        case("unknown id", "infer model.json data.csv --id patient -o o.csv").says(["--id", "\"patient\"", "\"a\""]),
        case("id that is the weights", "infer model.json data.csv --id w --weights w -o o.csv").says(["--id", "\"w\""]),
        case("keep without a table of rows", "score model.json data.csv --keep").says(["--per-row"]),
        case("keep of events", "infer model.json e.csv --events p,c --keep -o o.csv")
            .file("e.csv", "p,c\n1,a\n2,a\n")
            .says(["--keep"]),
        case("id of events that is not their row", "infer model.json e.csv --events p,c --id c -o o.csv")
            .file("e.csv", "p,c\n1,a\n2,a\n")
            .says(["--id", "\"p\""]),
        case("kept column called as a result", "infer model.json d.csv --keep -o o.csv")
            .file("d.csv", "a,h=low\n0,x\n1,y\n")
            .says(["--keep", "h=low"]),
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
