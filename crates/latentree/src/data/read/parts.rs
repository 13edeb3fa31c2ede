//! Several files read as one table: the parts of a directory, or the files that match a glob.
//!
//! Columns are matched by name: those of the first part come first, then what later parts add, then what folders say
//! (`year=2024`), whose value goes before a column of the same name in the file. What a part lacks is missing in its rows. Parts
//! without header have the same number of columns each, matched by position. One part is open at a time; of the others only the
//! path, the format, the first row and the digest are kept.

mod files;
mod glob;
mod hive;
mod table;

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use sha2::{Digest, Sha256};

pub use self::files::PartFiles;
pub(super) use self::glob::matches as glob_matches;
use self::hive::FolderColumn;
pub(super) use self::table::PartsTable;
use super::input::{Input, digest_text};
use super::options::ReadOptions;
use super::table::FileTable;
use super::{Format, TextEncoding, check_names, recognised};
use crate::error::{Error, Place, Result};

/// Columns or files that a note names.
const SHOWN: usize = 5;

/// The parts of a table, and what each is.
pub(super) struct Parts {
    files: PartFiles,
    encoding: Option<TextEncoding>,
    parts: Vec<Part>,
    /// Files without a single byte, which Spark writes where a task had no rows.
    empty: Vec<PathBuf>,
}

struct Part {
    path: PathBuf,
    format: Format,
    digest: Arc<OnceLock<String>>,
}

impl Parts {
    /// Looks at the first bytes of every part.
    pub(super) fn open(files: PartFiles, options: &ReadOptions) -> Result<Self> {
        let (mut parts, mut empty) = (Vec::new(), Vec::new());
        for path in files.files() {
            let digest = Arc::default();
            let (input, format) = recognised(Input::part(path, None, Arc::clone(&digest)), options)?;
            match format {
                Format::Coordinate(_) | Format::Libsvm => {
                    let problem = "parts can be CSV, TSV, Parquet and Arrow files; a sparse file cannot be a part";
                    return Err(Error::data(input.place(), problem));
                }
                Format::Csv(_) if input.first_bytes(1)?.is_empty() => empty.push(path.clone()),
                format => parts.push(Part { path: path.clone(), format, digest }),
            }
        }
        if parts.is_empty() {
            return Err(Error::data(Place::file(files.path()), "no rows: all files are empty"));
        }
        Ok(Self { files, encoding: options.encoding, parts, empty })
    }

    pub(super) fn files(&self) -> &PartFiles {
        &self.files
    }

    fn len(&self) -> usize {
        self.parts.len()
    }

    fn path(&self, ix: usize) -> &Path {
        &self.parts[ix].path
    }

    /// The name of all parts in messages.
    pub(super) fn as_input(&self) -> Input {
        Input::of_parts(self.files.path())
    }

    /// What the user should know of the files.
    pub(super) fn notes(&self) -> Vec<String> {
        let n_empty = self.empty.len();
        if n_empty == 0 {
            return Vec::new();
        }
        let shown: Vec<String> = self.empty.iter().take(SHOWN).map(|path| path.display().to_string()).collect();
        let more = if n_empty > SHOWN { ", …" } else { "" };
        let are = if n_empty == 1 { "is" } else { "are" };
        let n_files = self.parts.len() + n_empty;
        vec![format!("{n_empty} of {n_files} parts {are} empty and skipped: {}{more}", shown.join(", "))]
    }

    /// The digest of the names and the digests of all parts, once they have been read.
    pub(super) fn digest(&self) -> Option<String> {
        let mut hasher = Sha256::new();
        for (ix, part) in self.parts.iter().enumerate() {
            let names = self.files.below(&part.path).components().map(|name| name.as_os_str().to_string_lossy().into_owned());
            hasher.update(names.collect::<Vec<_>>().join("/"));
            hasher.update([0]);
            let digest = match part.format {
                Format::Parquet | Format::Arrow => self.input(ix).compute_digest(),
                _ => part.digest.get().cloned(),
            };
            hasher.update(digest?);
            hasher.update([b'\n']);
        }
        Some(digest_text(hasher))
    }

    fn input(&self, ix: usize) -> Input {
        let part = &self.parts[ix];
        Input::part(&part.path, self.encoding, Arc::clone(&part.digest))
    }

    /// Opens a part: its table, and the columns that its folders give.
    fn table(&self, ix: usize, options: &ReadOptions) -> Result<(FileTable, Vec<FolderColumn>)> {
        let part = &self.parts[ix];
        let mut input = self.input(ix);
        if matches!(part.format, Format::Parquet | Format::Arrow) {
            input.decompress()?;
        }
        check_names(&input, part.format, options)?;
        let table = FileTable::open(&Arc::new(input), part.format, options)?;
        Ok((table, hive::columns(self.files.below(&part.path))))
    }
}
