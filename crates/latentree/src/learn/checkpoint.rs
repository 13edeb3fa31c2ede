//! The state of EM in a directory, so that it can go on.

use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::data::{Block, ColumnData, Dataset};
use crate::em::{Em, EmFit};
use crate::error::{Error, Place, Result};
use crate::file::{check_writable, write_atomically};
use crate::model::LatentTree;
use crate::observer::Observer;

/// Passes between two saves.
const EVERY: usize = 10;

/// File of the state.
const STATE: &str = "em.json";

/// Where EM keeps its state.
pub(super) struct Checkpoint {
    state: PathBuf,
}

impl Checkpoint {
    /// Makes the directory and sees that a state can be written there: before a tree is learned, not after it.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub(super) fn prepare(directory: &Path) -> Result<()> {
        fs::create_dir_all(directory).map_err(Error::io("create", directory))?;
        check_writable(&directory.join(STATE))
    }

    /// Opens a directory, or makes it. `run` describes everything that the result depends on.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Data`] if it holds the state of another run.
    pub(super) fn open(directory: &Path, run: &str) -> Result<Self> {
        fs::create_dir_all(directory).map_err(Error::io("create", directory))?;
        let fingerprint = hexadecimal(&Sha256::digest(run.as_bytes()));
        let label = directory.join("run.sha256");
        match fs::read_to_string(&label) {
            Ok(text) if text.trim() == fingerprint => {}
            Ok(_) => {
                let problem =
                    "it holds the state of another run: other data, options or version; give another directory, or empty it";
                return Err(Error::data(Place::file(directory), problem));
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                write_atomically(&label, |out| writeln!(out, "{fingerprint}").map_err(Error::io("write", &label)))?;
            }
            Err(error) => return Err(Error::io("read", &label)(error)),
        }
        Ok(Self { state: directory.join(STATE) })
    }

    /// Goes on from the saved state, or begins with what `begin` gives.
    pub(super) fn fit(
        &self,
        em: &Em<'_>,
        begin: impl FnOnce() -> Result<LatentTree>,
        rows: &Dataset,
        observer: &dyn Observer,
    ) -> Result<EmFit> {
        let save =
            |bytes: &[u8]| write_atomically(&self.state, |out| out.write_all(bytes).map_err(Error::io("write", &self.state)));
        let em = em.clone().checkpoint(EVERY, &save);
        match fs::read(&self.state) {
            Ok(bytes) => em.resume(&bytes, rows, observer).map_err(|error| error.in_file(&self.state)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => em.fit(&begin()?, rows, observer),
            Err(error) => Err(Error::io("read", &self.state)(error)),
        }
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A digest of all columns, cells and weights of a table.
pub(super) fn digest(data: &Dataset) -> String {
    let mut hash = Sha256::new();
    for column in data.schema().columns() {
        hash.update(format!("{:?} {:?};", column.name, column.kind));
    }
    for variable in data.schema().variables() {
        hash.update(format!("{:?} {:?};", variable.name, variable.columns));
    }
    for batch in data.batches() {
        hash.update(format!("{} {};", batch.first_row, batch.n_rows));
        match &batch.block {
            Block::Dense(columns) => {
                for column in columns {
                    match column {
                        ColumnData::Codes8(codes) => hash.update(codes),
                        ColumnData::Codes(codes) => codes.iter().for_each(|code| hash.update(code.to_le_bytes())),
                        ColumnData::Reals(values) => update(&mut hash, values),
                    }
                }
            }
            Block::Sparse(rows) => {
                rows.starts.iter().for_each(|start| hash.update(start.to_le_bytes()));
                rows.columns.iter().for_each(|column| hash.update(column.to_le_bytes()));
                rows.values.iter().for_each(|values| update(&mut hash, values));
            }
        }
        batch.weights.iter().for_each(|weights| update(&mut hash, weights));
    }
    hexadecimal(&hash.finalize())
}

fn update(hash: &mut Sha256, values: &[f64]) {
    values.iter().for_each(|value| hash.update(value.to_bits().to_le_bytes()));
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::data::{Kind, Schema};

    #[test]
    fn tables_with_the_same_marginals_have_different_digests() {
        let schema = Schema::builder().scalar("a", Kind::binary()).scalar("b", Kind::binary()).build().unwrap();
        let table = |b: [u8; 4]| {
            let columns = vec![ColumnData::Codes8(vec![0, 0, 1, 1]), ColumnData::Codes8(b.to_vec())];
            Dataset::from_columns(Arc::new(schema.clone()), columns, None).unwrap()
        };
        assert_eq!(digest(&table([0, 1, 0, 1])), digest(&table([0, 1, 0, 1])));
        assert_ne!(digest(&table([0, 1, 0, 1])), digest(&table([0, 0, 1, 1])));
    }
}
