//! Bags of words, Matrix Market and libsvm.

use super::{Case, case};

fn docword(name: &'static str, text: &str) -> Case {
    case(name, "describe docword.d.txt").file("docword.d.txt", text).says(["docword.d.txt"])
}

fn matrix(name: &'static str, text: &str) -> Case {
    case(name, "moments d.mtx -o m.moments").file("d.mtx", text).says(["d.mtx", "Matrix Market"])
}

fn libsvm(name: &'static str, text: &str) -> Case {
    case(name, "describe d.svm").file("d.svm", text).says(["d.svm"])
}

const BANNER: &str = "%%MatrixMarket matrix coordinate real general\n";

pub(super) fn cases() -> Vec<Case> {
    vec![
        docword("docword without header", "1 1 2\n1 2 1\n").says(["line 1", "number of documents"]),
        docword("docword with a short header", "2\n3\n1 1 2\n").says(["line 3", "number of entries"]),
        docword("docword that is empty", "").says(["number of documents"]),
        docword("docword with a header alone", "2\n3\n4\n").says(["0 entries", "4 are claimed"]),
        docword("docword with too few entries", "2\n3\n3\n1 1 2\n2 2 1\n").says(["line 5", "2 entries", "3 are claimed"]),
        docword("docword with too many entries", "2\n3\n1\n1 1 2\n2 2 1\n").says(["line 5", "more than the 1"]),
        docword("docword with a large document", "2\n3\n1\n3 1 2\n").says(["line 4", "\"3\"", "1 to 2"]),
        docword("docword with a large word", "2\n3\n1\n1 4 2\n").says(["line 4", "\"4\"", "1 to 3"]),
        docword("docword with word zero", "2\n3\n1\n1 0 2\n").says(["line 4", "\"0\"", "1 to 3"]),
        docword("docword with a negative count", "2\n3\n1\n1 1 -2\n").says(["line 4", "-2", "count"]),
        docword("docword with a fractional count", "2\n3\n1\n1 1 0.5\n").says(["line 4", "0.5", "count"]),
        docword("docword with NaN", "2\n3\n1\n1 1 nan\n").says(["line 4", "count"]),
        docword("docword without a count", "2\n3\n1\n1 1\n").says(["line 4", "count"]),
        docword("docword with a fourth field", "2\n3\n1\n1 1 2 9\n").says(["line 4", "fields"]),
        docword("docword with words for numbers", "2\n3\n1\none two three\n").says(["line 4", "\"one\""]),
        docword("docword of no documents", "0\n3\n0\n").says(["no rows"]),
        docword("docword of no words", "2\n0\n0\n"),
        docword("docword of too many documents", "99999999999\n3\n1\n1 1 1\n").says(["line 3", "99999999999"]),
        docword("docword of far more documents than entries", "4000000000\n3\n1\n1 1 1\n").says(["4000000000", "size"]),
        docword("docword of far more words than entries", "2\n4000000000\n1\n1 1 1\n").says(["4000000000", "size"]),
        case("names that are too few", "describe docword.d.txt --names n.txt")
            .file("docword.d.txt", "1\n3\n1\n1 1 2\n")
            .file("n.txt", "x\ny\n")
            .says(["docword.d.txt", "n.txt", "3 columns", "2 names"]),
        case("a name twice", "describe docword.d.txt --names n.txt")
            .file("docword.d.txt", "1\n3\n1\n1 1 2\n")
            .file("n.txt", "x\ny\nx\n")
            .says(["n.txt", "\"x\"", "1 and 3"]),
        case("a blank name", "describe docword.d.txt --names n.txt")
            .file("docword.d.txt", "1\n3\n1\n1 1 2\n")
            .file("n.txt", "x\n\nz\n")
            .says(["n.txt", "line 2", "blank"]),
        case("events of a bag of words", "describe docword.d.txt --events a,b")
            .file("docword.d.txt", "1\n3\n1\n1 1 2\n")
            .says(["--events", "docword.d.txt"]),
        matrix("matrix without banner", "3 2 1\n1 1 0.5\n").says(["line 1", "%%MatrixMarket matrix"]),
        matrix("matrix of complex numbers", "%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 0\n").says([
            "line 1",
            "\"complex\"",
            "real",
        ]),
        matrix("symmetric matrix", "%%MatrixMarket matrix coordinate real symmetric\n1 1 1\n1 1 1\n").says([
            "line 1",
            "\"symmetric\"",
            "general",
        ]),
        matrix("matrix of unknown layout", "%%MatrixMarket matrix sparse real general\n1 1 1\n1 1 1\n")
            .says(["line 1", "\"sparse\""]),
        matrix("matrix without sizes", BANNER).says(["sizes"]),
        matrix("matrix of two sizes", &format!("{BANNER}3 2\n1 1 0.5\n")).says(["line 2", "sizes"]),
        matrix("matrix with a row out of range", &format!("{BANNER}3 2 1\n4 1 0.5\n")).says(["line 3", "\"4\"", "1 to 3"]),
        matrix("matrix with column zero", &format!("{BANNER}3 2 1\n1 0 0.5\n")).says(["line 3", "\"0\"", "1 to 2"]),
        matrix("matrix with an infinite entry", &format!("{BANNER}3 2 1\n1 1 1e999\n")).says(["line 3", "finite"]),
        matrix("matrix that is cut off", &format!("{BANNER}3 2 5\n1 1 0.5\n")).says(["1 entr", "5 are claimed"]),
        matrix("array matrix that is too long", "%%MatrixMarket matrix array real general\n1 2\n1\n2\n3\n")
            .says(["line 5", "2 entries"]),
        libsvm("libsvm without a colon", "1 3:1 4\n").says(["line 1", "\"4\"", "index:value"]),
        libsvm("libsvm with a bad index", "1 1:1\n1 x:1\n").says(["line 2", "\"x:1\"", "whole number"]),
        libsvm("libsvm with a negative index", "1 -1:1\n").says(["line 1", "\"-1:1\""]),
        libsvm("libsvm with a bad value", "1 1:one\n").says(["line 1", "\"1:one\"", "number"]),
        libsvm("libsvm out of order", "1 2:1 1:1\n").says(["line 1", "index 1", "sort"]),
        libsvm("libsvm with query ids", "1 qid:3 1:1\n").says(["line 1", "qid"]),
        libsvm("libsvm with a huge index", "1 4000000000:1\n").says(["4000000000"]),
        libsvm("libsvm that is empty", "").says(["no rows"]),
        libsvm("libsvm of labels alone", "1\n-1\n"),
        case("libsvm count for a binary column", "score model.json d.svm").file("d.svm", "1 1:3 2:1\n").says(["d.svm"]),
    ]
}
