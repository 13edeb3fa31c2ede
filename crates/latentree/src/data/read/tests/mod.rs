//! Tests of the readers, and of the writers through them.

#[cfg(feature = "columnar")]
mod columnar;
mod encodings;
mod errors;
mod formats;
mod inference;
mod meaning;
mod parts;
mod real_data;
mod round_trip;
mod text;
mod unseen;
mod written;

use std::io::Write;
use std::path::PathBuf;

use tempfile::TempDir;

use crate::data::{BatchSource, Dataset, ReadOptions, Reader, open};
use crate::error::{Error, Result};
use crate::index::ColIx;

/// A folder with one file in it.
struct Fixture {
    dir: TempDir,
    path: PathBuf,
}

impl Fixture {
    fn new(name: &str, bytes: impl AsRef<[u8]>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        Self { dir, path }
    }

    fn add(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.dir.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    fn open(&self, options: &ReadOptions) -> Result<Reader> {
        open(&self.path, options)
    }

    fn read(&self, options: &ReadOptions) -> Result<Dataset> {
        Dataset::read(&mut self.open(options)?)
    }

    /// The error of reading it all.
    fn error(&self, options: &ReadOptions) -> Error {
        match self.read(options) {
            Ok(_) => panic!("{} should not be read", self.path.display()),
            Err(error) => error,
        }
    }
}

/// All cells as numbers, row by row.
fn numbers(dataset: &Dataset) -> Vec<Vec<f64>> {
    let n_columns = dataset.schema().columns().len();
    let rows = dataset.batches().iter().flat_map(|batch| {
        (0..batch.n_rows).map(|row| (0..n_columns).map(|column| batch.number(row, ColIx::new(column))).collect())
    });
    rows.collect()
}

/// All cells as texts: labels, numbers, nothing where missing.
fn texts(dataset: &Dataset) -> Vec<Vec<String>> {
    let columns = dataset.schema().columns();
    let text = |(value, column): (f64, &crate::data::Column)| match column.kind.labels() {
        _ if value.is_nan() => String::new(),
        Some(labels) => labels[value as usize].clone(),
        None => super::number_text(value),
    };
    numbers(dataset).into_iter().map(|row| row.into_iter().zip(columns).map(text).collect()).collect()
}

fn column_names(dataset: &Dataset) -> Vec<String> {
    dataset.schema().columns().iter().map(|column| column.name.clone()).collect()
}

fn kind_names(source: &dyn BatchSource) -> Vec<&'static str> {
    source.schema().columns().iter().map(|column| column.kind.name()).collect()
}

/// Whether this build has the format of a file name.
fn has_format(name: &&str) -> bool {
    cfg!(feature = "columnar") || !["parquet", "arrow", "feather"].iter().any(|ending| name.contains(ending))
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstandard(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).unwrap()
}
