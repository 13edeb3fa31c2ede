//! Mistakes with `mixture` and `cluster`.

use super::{Case, case};

const NUMBERS: &str = "a,b,c\n1.5,2.0,0.1\n2.5,1.0,3.5\n0.5,0.2,2.2\n";
const COUNTS: &str = "a,b,c\n1,2,0\n0,4,3\n5,0,1\n2,2,2\n";

fn counts(name: &'static str, arguments: &str) -> Case {
    case(name, arguments).file("counts.csv", COUNTS).file("numbers.csv", NUMBERS)
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        counts("no number of components", "mixture counts.csv -o m.json").says(["--components"]),
        counts("no components", "mixture counts.csv -k 0 -o m.json").says(["--components", "from 1 to 1000"]),
        counts("many components", "mixture counts.csv -k 1001 -o m.json").says(["--components"]),
        counts("half a component", "mixture counts.csv -k 2.5 -o m.json").says(["--components", "auto"]),
        counts("negative components", "mixture counts.csv -k -1 -o m.json").says(["--components", "from 1 to 1000"]),
        counts("negative leaves", "cluster counts.csv --leaves -1 -o m.json").says(["--leaves", "from 1"]),
        counts("EM of a spectral model", "learn counts.csv --kind *=categorical --parameters spectral --em-iterations 3 -o m.json")
            .says(["--em-iterations", "moments+em"]),
        counts("moments of a spectral model", "learn counts.csv --kind *=categorical --parameters hierarchical --decomposition tpm -o m.json")
            .says(["--decomposition", "leave it out"]),
        counts("distances of a chain", "learn counts.csv --structure chain --distance logdet -o m.json").says(["--distance", "--structure"]),
        case("chain of two", "learn d.csv --structure chain -o m.json").file("d.csv", "a,b\n1,0\n0,1\n1,1\n").says(["three columns", "chow-liu"]),
        case("incomplete rows", "learn d.csv --kind *=categorical --structure chain --parameters hierarchical -o m.json")
            .file("d.csv", "a,b,c\n1,,0\n0,1,\n,1,0\n0,,1\n1,1,\n")
            .says(["none of 5 rows", "--parameters spectral"]),
        counts("bootstrap of a classifier", "learn counts.csv --target a --bootstrap 3 -o m.json").says(["--bootstrap", "--target"]),
        counts("components by name", "mixture counts.csv -k many -o m.json").says(["--components", "auto"]),
        counts("no output", "mixture counts.csv -k 2").says(["--output"]),
        counts("unknown family of mixtures", "mixture counts.csv -k 2 --family negative-binomial -o m.json").says(["--family", "single-topic"]),
        counts("unknown method", "mixture counts.csv -k 2 --method power -o m.json").says(["--method", "sidiwo, asvtd"]),
        counts("more components than features", "mixture counts.csv -k 4 --family poisson -o m.json").says(["--components", "there are 3", "cluster"]),
        counts("fractions as counts", "mixture numbers.csv -k 2 --family poisson -o m.json").says(["numbers.csv"]),
        counts("fractions as words", "mixture numbers.csv -k 2 --family single-topic -o m.json").says(["numbers.csv"]),
        case("negative counts", "mixture d.csv -k 2 --family poisson -o m.json").file("d.csv", "a,b\n1,-2\n2,3\n").says(["d.csv"]),
        case("negative words", "mixture d.csv -k 2 --family lda -o m.json").file("d.csv", "a,b\n1,-2\n2,3\n").says(["d.csv"]),
        case("missing words", "mixture d.csv -k 2 --family single-topic -o m.json").file("d.csv", "a,b\n1,\n2,3\n4,1\n").says(["missing", "write 0"]),
        case("missing cells for a method", "mixture d.csv -k 2 --kind *=binary --method svtd -o m.json")
            .file("d.csv", "a,b,c\n1,,0\n0,1,1\n1,1,0\n0,0,1\n")
            .says(["--method", "multi-view"]),
        counts("em with lda", "mixture counts.csv -k 2 --family lda --em -o m.json").says(["--em", "lda"]),
        counts("alpha without lda", "mixture counts.csv -k 2 --family poisson --alpha 0.2 -o m.json").says(["--alpha"]),
        counts("alpha of zero", "mixture counts.csv -k 2 --family lda --alpha 0 -o m.json").says(["--alpha", "above 0"]),
        counts("negative alpha", "mixture counts.csv -k 2 --family lda --alpha -1 -o m.json").says(["--alpha"]),
        counts("alpha by name", "mixture counts.csv -k 2 --family lda --alpha small -o m.json").says(["--alpha", "auto"]),
        counts("raw moments of lda", "mixture counts.csv -k 2 --family lda --method asvtd -o m.json").says(["--method", "raw"]),
        counts("views of documents", "mixture counts.csv -k 2 --family single-topic --method multi-view -o m.json").says(["--method", "documents"]),
        counts("lda as bif", "mixture counts.csv -k 2 --family lda -o m.bif").says(["-o", ".json"]),
        counts("unknown ending", "mixture counts.csv -k 2 -o m.xyz").says(["m.xyz"]),
        counts("output is the data", "mixture counts.csv -k 2 -o counts.csv").says(["counts.csv"]),
        counts("labels are the model", "mixture counts.csv -k 2 -o m.json --labels m.json").says(["--labels"]),
        counts("short truth", "mixture counts.csv -k 2 --family poisson -o m.json --truth t.txt").file("t.txt", "a\nb\n").says(["--truth", "2 labels", "4 rows"]),
        counts("wide truth", "mixture counts.csv -k 2 --family poisson -o m.json --truth t.csv").file("t.csv", "x,y\n1,2\n1,2\n1,2\n1,2\n").says(["--truth", "label"]),
        counts("no truth", "mixture counts.csv -k 2 --family poisson -o m.json --truth none.txt").says(["none.txt"]),
        counts("no runs", "mixture counts.csv -k 2 --stability 0 -o m.json").says(["--stability"]),
        counts("few rows for stability", "mixture counts.csv -k 2 --family poisson --stability 2 -o m.json").says(["--stability", "20 rows"]),
        counts("numbers as binary", "mixture counts.csv -k 2 --family gaussian --kind a=binary -o m.json").says(["--family", "gaussian"]),
        case("no rows", "mixture d.csv -k 2 --kind *=count -o m.json").file("d.csv", "a,b\n").says(["no rows"]),
        case("no columns", "mixture d.csv -k 2 --kind *=ignore -o m.json").file("d.csv", "a,b\n1,2\n").says(["column"]),
        case("words without triples", "mixture d.csv -k 1 --family single-topic -o m.json").file("d.csv", "a,b\n1,1\n2,0\n0,1\n").says(["three words"]),
        counts("neither depth nor leaves", "cluster counts.csv -o t.json").says(["--depth"]),
        counts("depth and leaves", "cluster counts.csv --depth 2 --leaves 3 -o t.json").says(["--leaves"]),
        counts("depth of zero", "cluster counts.csv --depth 0 -o t.json").says(["--depth", "from 1 to 32"]),
        counts("great depth", "cluster counts.csv --depth 99 -o t.json").says(["--depth"]),
        counts("no leaves", "cluster counts.csv --leaves 0 -o t.json").says(["--leaves"]),
        counts("leaves by name", "cluster counts.csv --leaves few -o t.json").says(["--leaves", "auto"]),
        counts("unknown split", "cluster counts.csv --depth 2 --method kmeans -o t.json").says(["--method", "d-sidiwo"]),
        counts("unknown family of clusters", "cluster counts.csv --depth 2 --family x -o t.json").says(["--family"]),
        counts("clusters of mixed documents", "cluster counts.csv --depth 2 --family lda -o t.json").says(["--family", "single-topic"]),
        counts("empty clusters", "cluster counts.csv --depth 2 --min-size 0 -o t.json").says(["--min-size"]),
        counts("hierarchy as newick", "cluster counts.csv --depth 2 -o t.nwk").says(["-o", "export"]),
        case("missing cells in clusters", "cluster d.csv --depth 2 --kind *=binary -o t.json").file("d.csv", "a,b\n1,\n0,1\n1,1\n").says(["missing"]),
        case("no rows to cluster", "cluster d.csv --depth 2 --kind *=count -o t.json").file("d.csv", "a,b\n").says(["no rows"]),
        counts("short truth of clusters", "cluster counts.csv --depth 2 -o t.json --truth t.txt").file("t.txt", "a\n").says(["--truth"]),
        case("damaged hierarchy", "infer t.json data.csv -o o.csv")
            .file("t.json", r#"{"format": "latentree", "version": 1, "kind": "clusters", "schema": {"variables": []}, "nodes": []}"#)
            .says(["t.json"]),
        case("damaged topics", "infer t.json data.csv -o o.csv")
            .file("t.json", r#"{"format": "latentree", "version": 1, "kind": "topics", "schema": {"variables": [{"name": "a", "kind": "count"}]}, "alpha": [1], "topics": [[0.5]]}"#)
            .says(["sum to 0.5"]),
        case("later topics", "score t.json data.csv")
            .file("t.json", r#"{"format": "latentree", "version": 7, "minimum_version": 7, "kind": "topics"}"#)
            .says(["version 7"]),
    ]
}
