//! The files exchanged between the coordinator and the sites: passes and parts.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::envelope;
use crate::data::Schema;
use crate::error::{Error, Place, Result};
use crate::file;
use crate::privacy::PassPrivacy;

/// Maximum size of a file; anything larger is not a federation file.
const LONGEST: u64 = 1 << 34;

/// The header of a pass file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct PassHeader {
    pub(super) version: String,
    pub(super) run: String,
    pub(super) round: u32,
    /// The attempt, from 1; a masked round is repeated if a site fails.
    pub(super) attempt: u32,
    /// The name of the pass.
    pub(super) pass: String,
    /// The sites that must answer; empty if any site may.
    pub(super) sites: Vec<String>,
    /// The columns; `None` while they are being agreed on.
    pub(super) schema: Option<Arc<Schema>>,
    /// Public keys by site, if parts are masked.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) keys: BTreeMap<String, String>,
    /// The privacy requirements, if the run is private.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) privacy: Option<PassPrivacy>,
}

/// The header of a part file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct PartHeader {
    pub(super) version: String,
    pub(super) run: String,
    pub(super) round: u32,
    pub(super) attempt: u32,
    /// The digest of the pass file.
    pub(super) pass: String,
    pub(super) site: String,
    /// Number of rows, unless it is masked or noisy.
    pub(super) rows: Option<u64>,
    pub(super) masked: bool,
}

/// A pass that the coordinator requests from the sites.
#[derive(Debug, Clone)]
pub struct PassFile {
    pub(super) header: PassHeader,
    pub(super) wire: Vec<u8>,
    /// The digest of the whole file.
    pub(super) digest: String,
}

impl PassFile {
    /// Reads a pass.
    ///
    /// # Errors
    /// [`Error::Format`] if the file was truncated or changed, [`Error::Data`] if another version of the program wrote it,
    /// and [`Error::Io`].
    pub fn read(path: &Path) -> Result<Self> {
        Self::from_bytes(&bytes_of(path)?).map_err(|error| error.in_file(path))
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let (header, content) = envelope::read("pass", bytes)?;
        Ok(Self { header, wire: content.to_vec(), digest: envelope::digest(bytes) })
    }

    /// The columns that rows must be read with; `None` if the pass asks which columns exist.
    #[must_use]
    pub fn schema(&self) -> Option<&Arc<Schema>> {
        self.header.schema.as_ref()
    }

    /// The name of the pass.
    #[must_use]
    pub fn pass(&self) -> &str {
        &self.header.pass
    }

    /// The δ at which a private run reports ε.
    #[must_use]
    pub fn delta(&self) -> Option<f64> {
        self.header.privacy.as_ref().map(|privacy| privacy.delta)
    }

    /// The number of the round, from 1.
    #[must_use]
    pub fn round(&self) -> u32 {
        self.header.round
    }
}

/// A part that has not been checked against a run yet.
pub(super) struct PartFile {
    pub(super) header: PartHeader,
    pub(super) content: Vec<u8>,
    pub(super) bytes: Vec<u8>,
}

impl PartFile {
    pub(super) fn read(path: &Path) -> Result<Self> {
        let bytes = bytes_of(path)?;
        let (header, content) = envelope::read("part", &bytes).map_err(|error| error.in_file(path))?;
        let content = content.to_vec();
        Ok(Self { header, content, bytes })
    }
}

fn bytes_of(path: &Path) -> Result<Vec<u8>> {
    let length = std::fs::metadata(path).map_err(Error::io("read", path))?.len();
    if length > LONGEST {
        return Err(Error::data(Place::file(path), "it is too large for a file of a federation"));
    }
    std::fs::read(path).map_err(Error::io("read", path))
}

/// Writes a file to a temporary name and renames it.
pub(super) fn store(path: &Path, bytes: &[u8]) -> Result<()> {
    file::write_atomically(path, |out| out.write_all(bytes).map_err(Error::io("write", path)))
}
