//! Learning from what cannot be learned from.

use super::{Case, case};

fn matrix(name: &'static str, text: &str) -> Case {
    case(name, "learn --distances d.csv -o o.json").file("d.csv", text)
}

pub(super) fn cases() -> Vec<Case> {
    let good = ",a,b,c\na,0,1,2\nb,1,0,1\nc,2,1,0\n";
    let data = "x,y,z\n1.5,2.5,0.5\n2.5,1.5,1.5\n0.5,0.25,2.5\n1.25,3.5,0.75\n";
    let learn = |name: &'static str, options: &str| case(name, format!("learn d.csv -o o.json {options}")).file("d.csv", data);
    vec![
        matrix("asymmetric distances", ",a,b,c\na,0,1,2\nb,1.5,0,1\nc,2,1,0\n").says([
            "d.csv",
            "not symmetric",
            "\"a\"",
            "\"b\"",
        ]),
        matrix("negative distance", ",a,b\na,0,-1\nb,-1,0\n").says(["d.csv", "\"a\"", "-1"]),
        matrix("infinite distance", ",a,b\na,0,inf\nb,inf,0\n").says(["d.csv", "\"a\"", "finite"]),
        matrix("distance that is text", ",a,b\na,0,far\nb,far,0\n").says(["d.csv", "far", "not a number"]),
        matrix("distance to itself", ",a,b\na,1,1\nb,1,0\n").says(["d.csv", "\"a\"", "itself"]),
        matrix("matrix with a row missing", ",a,b,c\na,0,1,2\nb,1,0,1\n").says(["d.csv", "2 rows", "3"]),
        matrix("matrix with a row too many", ",a,b\na,0,1\nb,1,0\nc,1,1\n").says(["d.csv"]),
        matrix("matrix with a field missing", ",a,b\na,0,1\nb,1\n").says(["d.csv", "fields"]),
        matrix("matrix with a name twice", ",a,a\na,0,1\na,1,0\n").says(["d.csv", "\"a\"", "twice"]),
        matrix("matrix of nothing", "").says(["d.csv", "empty"]),
        case("PHYLIP with a row missing", "learn --distances d.phy -o o.json")
            .file("d.phy", "3\na 0 1 2\nb 1 0 1\n")
            .says(["d.phy", "2 rows"]),
        case("distances that are not there", "learn --distances q.csv -o o.json").says(["cannot read q.csv"]),
        case("neither data nor distances", "learn -o o.json").says(["--distances"]),
        case("both data and distances", "learn data.csv --distances d.csv -o o.json").says(["--distances"]),
        case("learn to nowhere", "learn data.csv").says(["--output"]),
        case("distance of a matrix", "learn --distances d.csv --distance logdet -o o.json")
            .file("d.csv", good)
            .says(["--distances", "--distance"]),
        case("bootstrap of a matrix", "learn --distances d.csv --bootstrap 5 -o o.json")
            .file("d.csv", good)
            .says(["--bootstrap", "rows"]),
        case("likelihood of a matrix", "learn --distances d.csv --structure likelihood -o o.json")
            .file("d.csv", good)
            .says(["--structure", "rows"]),
        learn("unknown learner", "--structure oak").says(["--structure", "oak", "clnj"]),
        learn("unknown distance", "--distance euclidean").says(["--distance", "euclidean", "canonical"]),
        learn("contraction above 1", "--contract 1.5").says(["--contract", "1.5", "0.9"]),
        learn("contraction that is text", "--contract all").says(["--contract", "all"]),
        learn("support above 1", "--collapse 95").says(["--collapse", "95", "0 to 1"]),
        learn("support that is text", "--collapse weak").says(["--collapse", "weak"]),
        learn("negative epsilon", "--structure rg --epsilon=-1").says(["--epsilon", "-1"]),
        learn("tau that is no number", "--structure rg --tau nan").says(["--tau", "nan", "a number"]),
        learn("epsilon of a learner without", "--structure nj --epsilon 0.1").says(["--epsilon", "rg", "nj"]),
        learn("no replicates", "--bootstrap 0").says(["--bootstrap", "0"]),
        learn("negative replicates", "--bootstrap=-3").says(["--bootstrap", "-3"]),
        learn("one hidden state to learn", "--hidden-states 1").says(["--hidden-states", "1"]),
        learn("significance below zero", "--significance=-1").says(["--significance", "-1"]),
        learn("labels wanted of numbers", "--distance symmetric").says(["d.csv", "\"x\"", "symmetric"]),
        learn("columns of one name", "").file("d.csv", "x,y,x\n1,2,3\n").says(["d.csv", "\"x\""]),
        learn("no rows to learn from", "").file("d.csv", "").says(["d.csv"]),
        case("a tree alone as BIF", "learn data.csv --parameters none -o o.bif").says(["bif", "tables"]),
        case("parameters by nothing known", "learn data.csv --parameters magic -o o.json").says(["--parameters", "magic"]),
        case("a decomposition of no kind", "learn data.csv --decomposition qr -o o.json").says(["qr"]),
        case("a start of no kind", "learn data.csv --start cold -o o.json").says(["--start", "cold"]),
        case("a start for moments", "learn data.csv --parameters moments --start random -o o.json").says(["--start"]),
        case("learned hidden variables of one state", "learn data.csv --hidden-states 1 -o o.json").says(["hidden"]),
        case("EM to a gain of nothing", "learn data.csv --em-tolerance=-1 -o o.json").says(["--em-tolerance"]),
        case("a negative pseudo-count", "learn data.csv --em-smoothing -1 -o o.json").says(["--em-smoothing"]),
        case("a given tree of other columns", "learn data.csv --tree t.nwk -o o.json")
            .file("t.nwk", "((p,q),r,s);")
            .says(["t.nwk"]),
        case("parameters of a matrix", "learn --distances d.csv --parameters em -o o.json")
            .file("d.csv", ",a,b,c\na,0,1,2\nb,1,0,2\nc,2,2,0\n")
            .says(["--parameters"]),
        case("learn from a model", "learn model.json -o o.json").says(["model.json"]),
        case("validation rows of other columns", "learn data.csv --parameters em --validation v.csv -o o.json")
            .file("v.csv", "p,q\n1,2\n")
            .says(["v.csv"]),
        case("validation rows with a column missing", "learn d.csv --parameters em --validation v.csv -o o.json")
            .file("d.csv", "a,b,c\n0,1,0\n1,0,1\n0,0,1\n1,1,0\n")
            .file("v.csv", "a,b\n0,1\n1,0\n")
            .says(["v.csv", "c"]),
        case("validation rows that are not there", "learn data.csv --parameters em --validation q.csv -o o.json").says(["q.csv"]),
        case("a validation share above 1", "learn data.csv --parameters em --validation 1.5 -o o.json")
            .says(["--validation", "1.5"]),
        case("validation of moments", "learn data.csv --parameters moments --validation 0.5 -o o.json")
            .says(["--validation", "em"]),
        case("a criterion of no kind", "learn data.csv --select best -o o.json").says(["--select", "best", "bic"]),
        case("a criterion without its rows", "learn data.csv --select validation -o o.json").says(["--select", "--validation"]),
        case("a search for moments", "learn data.csv --select bic --parameters moments -o o.json").says(["--select"]),
        case("states that are no number", "learn data.csv --hidden-states many -o o.json").says([
            "--hidden-states",
            "many",
            "auto",
        ]),
        case("an effort for a given tree", "learn data.csv --effort thorough --tree t.nwk -o o.json")
            .file("t.nwk", "(a,b,n,z,w)h1;")
            .says(["--effort", "--tree", "leave one of them out"]),
        case("an effort for a named learner", "learn data.csv --effort normal --structure clnj -o o.json").says([
            "--effort",
            "--structure",
            "leave one of them out",
        ]),
        case("an effort for moments", "learn data.csv --effort thorough --parameters moments -o o.json").says([
            "--effort",
            "EM",
            "--parameters",
        ]),
        case("an effort for distances", "learn --distances d.csv --effort thorough -o o.json")
            .file("d.csv", good)
            .says(["--effort", "rows"]),
        case("an effort for no search", "learn data.csv --effort normal --select none -o o.json").says(["--effort", "--select"]),
        case("an effort for a fixed number of states", "learn data.csv --effort normal --hidden-states 3 -o o.json").says([
            "--effort",
            "number of states",
            "--select",
        ]),
        case("an effort for validation rows", "learn data.csv --effort thorough --validation 0.2 -o o.json").says([
            "--effort",
            "validation",
            "--select",
        ]),
        case("no effort for a search", "learn data.csv --effort quick --select bic -o o.json")
            .says(["--effort", "quick", "--select"]),
        case("an effort of no kind", "learn data.csv --effort max -o o.json").says(["--effort", "max", "thorough"]),
        case("an effort that is a number", "learn data.csv --effort 3 -o o.json").says(["--effort", "3", "thorough"]),
        case("a search among two columns", "learn d.csv --select bic -o o.json")
            .file("d.csv", "a,b\n0,1\n1,0\n0,0\n1,1\n")
            .says(["--select", "three variables"]),
        case("levels of two columns", "learn d.csv --structure levels -o o.json")
            .file("d.csv", "a,b\n0,1\n1,0\n0,0\n1,1\n")
            .says(["--structure", "three variables", "2"]),
        case("nothing but missing cells", "learn d.csv -o o.json").file("d.csv", "a,b,c\n,,\nNA,?,\n").says([
            "d.csv",
            "no column remains",
            "\"a\"",
            "no values",
            "2 more",
        ]),
        case("a given tree that is no latent tree", "learn data.csv --tree t.nwk -o o.json")
            .file("t.nwk", "((a,b)h2,(n,z,w)h3)h1;")
            .says(["t.nwk", "h1", "three neighbours"]),
        case("candidates of a learner without", "learn data.csv --structure clnj --accept x -o o.json")
            .says(["--accept", "reg-clnj"]),
        case("an accepted candidate that is none", "learn d.csv --structure reg-clnj --accept q -o o.json")
            .file("d.csv", "a,b,c,d\n0,1,0,1\n1,0,1,0\n0,0,1,1\n1,1,0,0\n1,1,1,1\n0,0,0,0\n")
            .says(["--accept", "\"q\""]),
        case("regularised grouping of a matrix", "learn --distances d.csv --structure reg-clnj -o o.json")
            .file("d.csv", ",a,b,c\na,0,1,2\nb,1,0,2\nc,2,2,0\n")
            .says(["--structure", "rows"]),
        case("a checkpoint that is a file", "learn data.csv --parameters em --checkpoint data.csv -o o.json").says(["data.csv"]),
        case("nothing to write to", "learn data.csv").says(["--output"]),
        case("a model that is not there to describe", "describe q.json").says(["q.json"]),
    ]
}
