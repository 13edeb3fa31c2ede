//! Newick, and trees that cannot be compared.

use super::{Case, case};

fn newick(name: &'static str, text: &str) -> Case {
    case(name, "compare t.nwk u.nwk").file("t.nwk", text).file("u.nwk", "(a,b,c);").says(["t.nwk", "Newick", "line"])
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        newick("Newick without its last parenthesis", "(a,(b,c);").says(["line 1", "character 1", "parenthesis"]),
        newick("Newick with a parenthesis too many", "(a,b));").says(["character 6", "')'"]),
        newick("Newick without a semicolon", "(a,b,c)").says(["';'", "cut off"]),
        newick("Newick cut off", "(a:0.1,(b:0.2,c:").says(["line 1"]),
        newick("Newick of two roots", "(a,b),(c,d);").says(["character 6", "two roots"]),
        newick("Newick with a name twice", "(a,b,\na);").says(["line 2", "\"a\"", "line 1"]),
        newick("Newick with a leaf without name", "(a,,b);").says(["character 4", "no name"]),
        newick("Newick with a bad length", "(a:x,b);").says(["character 4", "\"x\""]),
        newick("Newick with an infinite length", "(a:inf,b);").says(["character 4", "\"inf\"", "finite"]),
        newick("Newick with two lengths", "(a:1:2,b);").says(["character 5", "second length"]),
        newick("Newick with an open quote", "('a,b);").says(["character 2", "quote"]),
        newick("Newick with an open comment", "(a[x,b);").says(["character 3", "comment"]),
        newick("Newick with a blank in a name", "(a b,c);").says(["character 4", "quotes"]),
        newick("Newick that is empty", "").says(["no tree"]),
        newick("Newick of a semicolon", ";").says(["empty tree"]),
        newick("NEXUS", "#NEXUS\nbegin trees;").says(["NEXUS"]),
        case("Newick that is not UTF-8", "compare t.nwk t.nwk").file("t.nwk", b"(a,\xff);".to_vec()).says(["t.nwk", "UTF-8"]),
        case("tree to compare that is not there", "compare t.nwk u.nwk").says(["cannot read t.nwk"]),
        case("trees of other variables", "compare t.nwk u.nwk")
            .file("t.nwk", "(a,b,c);")
            .file("u.nwk", "(a,b,d);")
            .says(["t.nwk", "u.nwk", "\"c\""]),
        case("trees both on standard input", "compare - -").stdin(b"(a,b,c);").says(["standard input"]),
        case("simulation on a bad tree", "simulate --tree t.nwk --model m.json").file("t.nwk", "(a,b").says(["t.nwk", "line 1"]),
        case("simulation on a tree and a shape", "simulate --tree t.nwk --shape star --model m.json")
            .file("t.nwk", "(a,b);")
            .says(["--tree", "--shape"]),
    ]
}
