//! The state of EM in a directory, so that it can go on.

use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

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
        let fingerprint: String = Sha256::digest(run.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
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
        rows: &crate::data::Dataset,
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
