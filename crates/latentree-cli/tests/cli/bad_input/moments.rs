//! Moments files and their merging.

use super::{Case, DATA, case};
use crate::harness::{Folder, gzip};

/// The moments of a table.
fn moments_of(data: &str) -> Vec<u8> {
    let folder = Folder::new();
    folder.write("d.csv", data.as_bytes());
    folder.succeed("moments d.csv -o d.moments");
    folder.read("d.moments")
}

fn with_byte(bytes: &[u8], place: usize, byte: u8) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[place] = byte;
    bytes
}

pub(super) fn cases() -> Vec<Case> {
    let good = moments_of(DATA);
    let merge = |name: &'static str, bytes: Vec<u8>| {
        case(name, "merge good.moments bad.moments -o both.moments")
            .file("good.moments", good.clone())
            .file("bad.moments", bytes)
            .says(["bad.moments"])
    };
    let cut = |n_bytes: usize| good[..n_bytes].to_vec();
    vec![
        merge("moments of no bytes", Vec::new()).says(["ends early"]),
        merge("moments cut in the head", cut(12)).says(["ends early"]),
        merge("moments cut in the schema", cut(60)).says(["ends early"]),
        merge("moments cut by one byte", cut(good.len() - 1)).says(["ends early"]),
        merge("moments as gzip cut short", gzip(&good)[..60].to_vec()).says(["gzip", "truncated"]),
        merge("moments with a byte too many", [&good[..], b"x"].concat()).says(["after the end"]),
        merge("moments with a byte of a sum changed", with_byte(&good, good.len() - 20, good[good.len() - 20] ^ 1))
            .says(["checksum"]),
        merge("moments with a byte of the checksum changed", with_byte(&good, good.len() - 1, good[good.len() - 1] ^ 1))
            .says(["checksum"]),
        merge("moments with the magic changed", with_byte(&good, 0, b'X')).says(["start"]),
        merge("moments of a future version", with_byte(&with_byte(&good, 8, 9), 12, 9)).says(["version 9", "1 to 2"]),
        merge("moments with a huge schema", with_byte(&good, 22, 1)).says(["schema"]),
        merge("moments with the schema changed", with_byte(&good, 24, b'[')).says(["schema"]),
        merge("moments of other columns", moments_of("p,q\n1,0\n0,1\n")).says(["good.moments", "incompatible"]),
        merge("moments of other kinds", moments_of(&DATA.replace("0.5,1\n", "0,1\n").replace("2.25", "2").replace("1.5", "1")))
            .says(["good.moments", "\"z\""]),
        case("merge of a table", "merge data.csv -o o.moments").says(["data.csv", "moments"]),
        case("merge of a model", "merge model.json -o o.moments").says(["model.json", "moments"]),
        case("merge of a file that is not there", "merge q.moments -o o.moments").says(["cannot read q.moments"]),
        case("merge of a folder", "merge folder -o o.moments").says(["cannot read folder", "directory"]),
        case("merge of nothing", "merge -o o.moments").says(["<A B"]),
    ]
}
