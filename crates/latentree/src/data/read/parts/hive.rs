//! Columns that are written in the names of folders, as Hive, Spark, DuckDB and Polars write them:
//! `year=2024/region=eu/part-0.parquet`.

use std::path::Path;

/// What Hive calls the folder of a missing value.
const MISSING: &str = "__HIVE_DEFAULT_PARTITION__";

/// The name of a column and its value in all rows of a file; `None` is missing.
pub(super) type FolderColumn = (String, Option<String>);

/// The columns that the folders of a file give, in their order.
pub(super) fn columns(file: &Path) -> Vec<FolderColumn> {
    let mut columns: Vec<FolderColumn> = Vec::new();
    for folder in file.parent().into_iter().flat_map(Path::components) {
        let folder = folder.as_os_str().to_string_lossy();
        let Some((name, value)) = folder.split_once('=').filter(|(name, _)| !name.is_empty()) else { continue };
        let (name, value) = (unescaped(name), (value != MISSING).then(|| unescaped(value)));
        // Of a name that comes twice the innermost folder counts.
        columns.retain(|(earlier, _)| *earlier != name);
        columns.push((name, value));
    }
    columns
}

/// Takes off the escapes of letters that cannot stand in the name of a folder: `%2F` is `/`.
fn unescaped(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((&byte, after)) = rest.split_first() {
        let digit = |ix: usize| after.get(ix).and_then(|&digit| char::from(digit).to_digit(16));
        match (byte, digit(0), digit(1)) {
            (b'%', Some(high), Some(low)) => {
                plain.push((high * 16 + low) as u8);
                rest = &after[2..];
            }
            _ => {
                plain.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8(plain).unwrap_or_else(|_| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_give_columns() {
        let of = |path: &str| columns(Path::new(path));
        let some = |name: &str, value: &str| (name.to_owned(), Some(value.to_owned()));
        assert_eq!(of("year=2024/region=eu/part-0.parquet"), [some("year", "2024"), some("region", "eu")]);
        assert_eq!(of("a/time=10%3A30%/x=y.csv"), [some("time", "10:30%")]);
        assert_eq!(of("a=__HIVE_DEFAULT_PARTITION__/b=/x"), [("a".to_owned(), None), some("b", "")]);
        assert_eq!(of("a=b=c/=d/x"), [some("a", "b=c")]);
        assert_eq!(of("a=1/a=2/x"), [some("a", "2")]);
        assert_eq!(of("x=%ff/y"), [some("x", "%ff")]);
    }
}
