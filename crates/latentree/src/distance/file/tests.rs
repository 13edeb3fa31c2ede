use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::test_data::data_file;

fn random_matrix(rng: &mut impl Rng, names: Vec<String>) -> DistanceMatrix {
    let value = |_: usize, _: usize| match rng.random_range(0..10) {
        0 => None,
        1 => Some(0.0),
        2 => Some(10_f64.powi(rng.random_range(-300..300))),
        _ => Some(rng.random_range(0.0..5.0)),
    };
    DistanceMatrix::from_fn(names, value).unwrap()
}

fn same(a: &DistanceMatrix, b: &DistanceMatrix) -> bool {
    let bits = |matrix: &DistanceMatrix| matrix.lower().iter().map(|it| it.to_bits()).collect::<Vec<_>>();
    a.names() == b.names() && bits(a) == bits(b)
}

fn read_text(name: &str, text: &str) -> Result<DistanceMatrix> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    DistanceMatrix::read(&path)
}

#[test]
fn what_is_written_reads_back_bit_for_bit() {
    let folder = tempfile::tempdir().unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for trial in 0..60 {
        let n = 1 + trial % 9;
        let hostile: Vec<String> = (0..n).map(|ix| crate::model::test_models::hostile(trial + ix)).collect();
        let plain: Vec<String> = (0..n).map(|ix| format!("taxon_{}", ix * 7)).collect();
        let blanks: Vec<String> = (0..n).map(|ix| format!("a {}", ix * 3)).collect();
        for (ending, names) in
            [("csv", &hostile), ("tsv", &hostile), ("csv.gz", &plain), ("txt", &plain), ("phy", &plain), ("dist.zst", &blanks)]
        {
            let matrix = random_matrix(&mut rng, names.clone());
            let path = folder.path().join(format!("d.{ending}"));
            matrix.write(&path).unwrap();
            let back = DistanceMatrix::read(&path).unwrap();
            assert!(same(&matrix, &back), "{ending} {names:?}");
        }
    }
    let long = DistanceMatrix::from_fn(vec!["a name too long".into(), "b".into()], |_, _| Some(1.0)).unwrap();
    let error = long.write(&folder.path().join("d.phy")).unwrap_err().to_string();
    assert!(error.contains("a name too long") && error.contains("CSV"), "{error}");
}

#[test]
fn every_accepted_form_of_a_matrix_is_the_same_matrix() {
    let forms = [
        ("a.csv", ",x,y,z\nx,0,1,2.5\ny,1,0,\nz,2.5,,0\n"),
        ("a.csv", "\u{feff}name,x,y,z\r\nx,0,1,2.5\r\ny,1,0,NA\r\nz,2.5,NA,0\r\n"),
        ("a.csv", "x,y,z\n0,1,2.5\n1,0,?\n2.5,nan,0\n"),
        ("a.csv", "x,y,z\nx,0,1,2.5\ny,1,,\nz,2.5,,0"),
        ("a.tsv", "\tx\ty\tz\nx\t0\t1\t2.5\ny\t1\t0\tNA\nz\t2.5\tNA\t0\n"),
        ("a.matrix", "\tx\ty\tz\nx\t0\t1\t2.5\ny\t1\t0\tNA\nz\t2.5\tNA\t0\n"),
        ("a.phy", "3\nx 0 1 2.5\ny 1 0 NA\nz 2.5 NA 0\n"),
        ("a.matrix", "  3  \nx 0 1 2.5\ny 1 0 NA\nz 2.5 NA 0\n"),
        ("a.phy", "   3\nx         0 1\n  2.5\ny         1 0 NA\n\nz         2.5\n NA 0\n"),
        ("a.phy", "3\nx         0.0001.0002.500\ny         1.000 0 NA\nz         2.5 NA 0\n"),
        ("a.dist", "3\nx\ny 1\nz 2.5 NA\n"),
        ("a.dist", "3\nx 0\ny 1 0\nz 2.5 NA 0\n"),
    ];
    for (name, text) in forms {
        // One form runs numbers together, as some programs do with fixed widths: it is refused, not misread.
        if text.contains("0.0001.000") {
            assert!(read_text(name, text).is_err());
            continue;
        }
        let matrix = read_text(name, text).unwrap_or_else(|error| panic!("{text:?}: {error}"));
        assert_eq!(matrix.names(), ["x", "y", "z"], "{text:?}");
        assert_eq!((matrix.get(0, 1), matrix.get(0, 2), matrix.get(1, 2)), (Some(1.0), Some(2.5), None), "{text:?}");
    }
    let strict = "2\nHomo sap. 0 1\nPan trogl.1 0\n";
    let matrix = read_text("a.phy", strict).unwrap();
    assert_eq!(matrix.names(), ["Homo sap.", "Pan trogl."]);
}

#[test]
fn what_is_wrong_is_named_with_its_line_and_variables() {
    for (name, text, parts) in [
        ("a.csv", ",x,y\nx,0,1\ny,1.1,0\n", vec!["line 3", "\"x\"", "\"y\"", "symmetric", "1.1"]),
        ("a.csv", ",x,y\nx,0,1\ny,,0\n", vec!["line 3", "no distance"]),
        ("a.csv", ",x,y\nx,0,-1\ny,-1,0\n", vec!["line 3", "\"x\"", "-1"]),
        ("a.csv", ",x,y\nx,0,inf\ny,inf,0\n", vec!["line 3", "inf"]),
        ("a.csv", ",x,y\nx,0.5,1\ny,1,0\n", vec!["line 2", "\"x\"", "itself"]),
        ("a.csv", ",x,y\nx,0,1\ny,1\n", vec!["line 3", "2 fields", "3"]),
        ("a.csv", ",x,y\nx,0,1\n", vec!["1 rows", "2 names"]),
        ("a.csv", ",x\nx,0\ny,1\n", vec!["line 3", "more rows"]),
        ("a.csv", ",x,y\ny,0,1\nx,1,0\n", vec!["line 2", "\"y\"", "same order"]),
        ("a.csv", ",x,y\nx,0,one\ny,1,0\n", vec!["line 2", "\"y\"", "one"]),
        ("a.csv", ",x,x\nx,0,1\nx,1,0\n", vec!["twice"]),
        ("a.csv", "", vec!["empty"]),
        ("a.csv", ",x,y\n", vec!["no rows"]),
        ("a.phy", "", vec!["empty"]),
        ("a.phy", "x y\n", vec!["line 1", "number of variables"]),
        ("a.phy", "2\nx 0 1\n", vec!["1 rows", "2"]),
        ("a.phy", "99999999999999999\nx 0 1\n", vec!["line 1", "99999999999999999 variables", "at most 20000"]),
        ("a.phy", "2\nx 0 1\ny 1 0\nz 1 0\n", vec!["line 4", "more than"]),
        ("a.phy", "2\nx 0 1\ny 2 0\n", vec!["line 3", "symmetric"]),
        ("a.phy", "2\nx 0 1 3\ny 2 0\n", vec!["\"x\"", "3 distances"]),
    ] {
        let message = read_text(name, text).unwrap_err().to_string();
        assert!(message.contains(name), "{message}");
        for part in parts {
            assert!(message.contains(part), "{text:?}: {message} lacks {part}");
        }
    }
}

#[test]
fn damaged_files_are_errors_or_matrices_but_never_panics() {
    let folder = tempfile::tempdir().unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    for (ending, separator) in [("csv", b','), ("tsv", b'\t'), ("phy", b' '), ("txt", b'\n')] {
        let path = folder.path().join(format!("d.{ending}"));
        let matrix = random_matrix(&mut rng, (0..5).map(|ix| format!("x{ix}")).collect());
        matrix.write(&path).unwrap();
        let whole = std::fs::read(&path).unwrap();
        for _ in 0..500 {
            let mut bytes = whole.clone();
            for _ in 0..rng.random_range(1..6) {
                let at = rng.random_range(0..bytes.len());
                match rng.random_range(0..4) {
                    0 => bytes[at] = rng.random(),
                    1 => bytes.truncate(at.max(1)),
                    2 => bytes.insert(at, separator),
                    _ => bytes[at] = b"0123456789-eE.,\n\" "[rng.random_range(0..18)],
                }
            }
            std::fs::write(&path, &bytes).unwrap();
            if let Ok(matrix) = DistanceMatrix::read(&path) {
                assert!(matrix.lower().iter().all(|value| value.is_nan() || value.is_finite() && *value >= 0.0));
            }
        }
    }
}

#[test]
fn published_matrices_are_read() {
    for (name, n_variables) in [("hiv1.distances.csv", None), ("pythonidae.mle.pdm.csv", Some(33))] {
        let Some(path) = data_file(&format!("phylo/{name}")) else { return };
        let matrix = DistanceMatrix::read(&path).unwrap();
        assert!(n_variables.is_none_or(|n| n == matrix.len()) && matrix.len() > 30);
        assert_eq!(matrix.n_undefined(), 0);
        let copy = tempfile::tempdir().unwrap();
        for ending in ["csv", "phy"] {
            let path = copy.path().join(format!("copy.{ending}"));
            matrix.write(&path).unwrap();
            assert!(same(&matrix, &DistanceMatrix::read(&path).unwrap()));
        }
    }
}

#[test]
fn a_matrix_that_is_too_large_is_refused_by_its_first_line() {
    for (name, text, part) in [
        ("a.phy", "4000000000\nx 0 1\n".to_owned(), "20000"),
        ("a.phy", "20001\nx 0 1\n".to_owned(), "20001 variables"),
        ("a.csv", format!("{}\n", ",".repeat(30_000)), "30000 variables"),
    ] {
        let message = read_text(name, &text).unwrap_err().to_string();
        assert!(message.contains(part) && message.contains(name), "{message}");
    }
}

#[test]
fn what_unpacks_to_one_endless_row_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    for (name, head, part) in [
        ("a.phy.zst", "9\nx ", "longer than 16 MiB"),
        ("a.csv.zst", ",x,y\nx,", "longer than 16 MiB"),
        ("b.csv.zst", ",x,y\nx,\"", "longer than 16 MiB"),
    ] {
        let path = dir.path().join(name);
        let bomb = [head.as_bytes(), &b"0\t".repeat(20 << 20)].concat();
        std::fs::write(&path, zstd::encode_all(bomb.as_slice(), 1).unwrap()).unwrap();
        let message = DistanceMatrix::read(&path).unwrap_err().to_string();
        assert!(message.contains(part) && message.contains(name), "{message}");
    }
}

#[test]
fn names_with_blanks_are_told_from_long_names_row_by_row() {
    // The first row fits both ways of taking names, the second only one.
    let blanks = read_text("a.phy", "2\nab        0 1\nPan trogl.1 0\n").unwrap();
    assert_eq!(blanks.names(), ["ab", "Pan trogl."]);
    let long = read_text("a.phy", "2\nab        0 1\nPan_troglodytes 1 0\n").unwrap();
    assert_eq!(long.names(), ["ab", "Pan_troglodytes"]);
    // Neither: the message is about the usual way.
    let neither = read_text("a.phy", "2\nab        0 1\nPan trogl. x 1 0\n").unwrap_err().to_string();
    assert!(neither.contains("\"trogl.\" is not a number"), "{neither}");
}
