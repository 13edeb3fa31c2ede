//! Files cut short, files of another format than their ending says, and files that unpack to far more than they are.

use super::{Case, DATA, MODEL, case};
use crate::harness::{Folder, gzip, zstandard};

fn first_half(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.truncate(bytes.len() / 2);
    bytes
}

/// A data file as the program writes it by this ending.
fn sampled(name: &str) -> Vec<u8> {
    let folder = Folder::new();
    folder.write("model.json", MODEL.as_bytes());
    folder.succeed(&format!("sample model.json --rows 300 -o {name}"));
    folder.read(name)
}

/// Bytes that are no text and no format.
fn garbage() -> Vec<u8> {
    (0..3000_u32).map(|ix| (ix.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

pub(super) fn cases() -> Vec<Case> {
    let data = DATA.repeat(200).into_bytes();
    let mut cases = vec![
        case("gzip cut short", "describe d.csv.gz").file("d.csv.gz", first_half(gzip(&data))).says([
            "cannot read d.csv.gz",
            "gzip",
            "truncated",
        ]),
        case("Zstandard cut short", "describe d.csv.zst").file("d.csv.zst", first_half(zstandard(&data))).says([
            "cannot read d.csv.zst",
            "Zstandard",
            "truncated",
        ]),
        case("gzip with a byte changed", "describe d.csv.gz")
            .file("d.csv.gz", {
                let mut bytes = gzip(&data);
                let middle = bytes.len() / 2;
                bytes[middle] ^= 0x55;
                bytes
            })
            .says(["d.csv.gz", "gzip", "damaged"]),
        case("model as gzip cut short", "query m.json.gz")
            .file("m.json.gz", first_half(gzip(MODEL.as_bytes())))
            .says(["cannot read m.json.gz", "truncated"]),
        case("Parquet cut short", "score model.json d.parquet")
            .file("d.parquet", first_half(sampled("d.parquet")))
            .says(["d.parquet", "Parquet"]),
        case("Parquet cut after its first bytes", "describe d.parquet").file("d.parquet", "PAR1").says(["d.parquet", "Parquet"]),
        case("Arrow cut short", "score model.json d.arrow")
            .file("d.arrow", first_half(sampled("d.arrow")))
            .says(["d.arrow", "Arrow"]),
        case("Feather cut after its first bytes", "describe d.feather")
            .file("d.feather", "ARROW1\0\0")
            .says(["d.feather", "Arrow"]),
        case("empty Parquet", "describe d.parquet").file("d.parquet", "").says(["d.parquet", "Parquet"]),
        case("empty Arrow", "describe d.arrow").file("d.arrow", "").says(["d.arrow"]),
        case("a line of 100 MB", "describe d.csv.gz")
            .file("d.csv.gz", gzip(&vec![b'1'; 100 << 20]))
            .says(["d.csv.gz", "line 1", "64 MiB"]),
        case("a quoted field of 100 MB", "describe d.csv.gz")
            .file("d.csv.gz", gzip(&[b"a\n\"".to_vec(), b"x\n".repeat(50 << 20)].concat()))
            .says(["d.csv.gz", "line 2", "quote"]),
        case("a libsvm line of 100 MB", "describe d.svm.gz")
            .file("d.svm.gz", gzip(&vec![b' '; 100 << 20]))
            .says(["d.svm.gz", "line 1", "64 MiB"]),
    ];
    let garbage = garbage();
    for (name, arguments, file) in [
        ("garbage as csv", "describe g.csv", "g.csv"),
        ("garbage as tsv", "describe g.tsv", "g.tsv"),
        ("garbage as txt", "describe g.txt", "g.txt"),
        ("garbage without ending", "describe g", "g"),
        ("garbage as docword", "describe docword.g.txt", "docword.g.txt"),
        ("garbage as mtx", "describe g.mtx", "g.mtx"),
        ("garbage as svm", "describe g.svm", "g.svm"),
        ("garbage as libsvm", "describe g.libsvm", "g.libsvm"),
        ("garbage as parquet", "describe g.parquet", "g.parquet"),
        ("garbage as arrow", "describe g.arrow", "g.arrow"),
        ("garbage as feather", "describe g.feather", "g.feather"),
        ("garbage as json", "query g.json", "g.json"),
        ("garbage as bif", "query g.bif", "g.bif"),
        ("garbage as xmlbif", "query g.xmlbif", "g.xmlbif"),
        ("garbage as a model without ending", "query g", "g"),
        ("garbage as nwk", "compare g.nwk g.nwk", "g.nwk"),
        ("garbage as moments", "merge g.moments -o o.moments", "g.moments"),
        ("garbage as a schema", "describe data.csv --schema g.json", "g.json"),
        ("garbage as groups", "describe data.csv --group g.csv", "g.csv"),
    ] {
        cases.push(case(name, arguments).file(file, garbage.clone()).says([file]));
    }
    for (name, arguments, file, start) in [
        ("garbage that begins as gzip", "describe g.csv.gz", "g.csv.gz", &b"\x1f\x8b\x08\0"[..]),
        ("garbage that begins as Zstandard", "describe g.csv.zst", "g.csv.zst", b"\x28\xb5\x2f\xfd"),
        ("garbage that begins as Parquet", "describe g.csv", "g.csv", b"PAR1"),
        ("garbage that begins as Arrow", "describe g.csv", "g.csv", b"ARROW1\0\0"),
        ("garbage that begins as a matrix", "describe g.csv", "g.csv", b"%%MatrixMarket "),
        ("garbage that begins as moments", "merge g.moments -o o.moments", "g.moments", b"LTMOMENT\x01\0\0\0\x01\0\0\0"),
    ] {
        cases.push(case(name, arguments).file(file, [start, &garbage].concat()).says([file]));
    }
    cases.push(
        case("garbage that begins as JSON", "query g.json")
            .file("g.json", [b"{\"format\":", &garbage[..]].concat())
            .says(["g.json"]),
    );
    cases
}
