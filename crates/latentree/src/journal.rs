//! What a run has found so far, in a directory: a run that is started again with the same data and options finds it there and
//! goes on.
//!
//! Learning is deterministic, so an answer that is known need not be found again, and one that is lost is found again with the
//! same bytes. Entries are therefore independent of each other: each is a file of its own, written beside and renamed, with the
//! digest of its content in its first line. One that is cut or changed counts as lost. Their names are digests of the run (data,
//! options and version) and of the question. The directory is locked while a run uses it.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use sha2::{Digest as _, Sha256};

use crate::error::{Error, Place, Result};
use crate::file::write_atomically;

/// The first line of an entry, before the digest of the rest.
const MARK: &str = "latentree journal 1 ";

/// Answers of a run, in a directory.
#[derive(Debug)]
pub struct Journal {
    directory: PathBuf,
    run: String,
    /// Entries are written one at a time.
    writing: Mutex<()>,
    /// Released when it is closed.
    _lock: File,
}

impl Journal {
    /// Makes the directory if it is not there, and locks it for this process.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Data`] if another run uses it.
    pub fn open(directory: &Path) -> Result<Self> {
        fs::create_dir_all(directory).map_err(Error::io("create", directory))?;
        let path = directory.join("lock");
        let lock = File::options().create(true).truncate(false).write(true).open(&path).map_err(Error::io("write", &path))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { directory: directory.to_owned(), run: String::new(), writing: Mutex::new(()), _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(Error::data(
                Place::file(directory),
                "another run is using it; wait until it ends, or choose another directory",
            )),
            Err(TryLockError::Error(error)) => Err(Error::io("lock", &path)(error)),
        }
    }

    /// Sets what the answers depend on, besides the questions.
    ///
    /// # Errors
    /// [`Error::Data`] if the directory holds the answers of another run; [`Error::Io`].
    pub fn for_run(mut self, description: &str) -> Result<Self> {
        self.run = hexadecimal(&Sha256::digest(description.as_bytes()));
        let label = self.directory.join("run.sha256");
        match fs::read_to_string(&label) {
            Ok(text) if text.trim() == self.run => {}
            Ok(_) => {
                let problem =
                    "it belongs to another run with other data, options or version; choose another directory, or empty it";
                return Err(Error::data(Place::file(&self.directory), problem));
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                write_atomically(&label, |out| writeln!(out, "{}", self.run).map_err(Error::io("write", &label)))?;
            }
            Err(error) => return Err(Error::io("read", &label)(error)),
        }
        Ok(self)
    }

    fn path(&self, kind: &str, question: &[u8]) -> PathBuf {
        let mut hash = Sha256::new();
        hash.update(format!("{} {kind} ", self.run));
        hash.update(question);
        self.directory.join(format!("{}.{kind}", &hexadecimal(&hash.finalize())[..32]))
    }

    /// The answer to a question, if it is known.
    ///
    /// # Errors
    /// [`Error::Io`] if it is there and cannot be read.
    pub fn get(&self, kind: &str, question: &[u8]) -> Result<Option<Vec<u8>>> {
        let path = self.path(kind, question);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::io("read", &path)(error)),
        };
        let end = bytes.iter().position(|&byte| byte == b'\n').unwrap_or(bytes.len());
        let content = bytes.get(end + 1..).unwrap_or_default();
        let is_whole = bytes[..end] == *format!("{MARK}{}", hexadecimal(&Sha256::digest(content))).as_bytes();
        Ok(is_whole.then(|| content.to_vec()))
    }

    /// Keeps an answer.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn put(&self, kind: &str, question: &[u8], answer: &[u8]) -> Result<()> {
        // Renamed, so that an entry is there or not; not synced, since one that a power cut damages counts as lost.
        let path = self.path(kind, question);
        let beside = self.directory.join("unfinished");
        let mut bytes = format!("{MARK}{}\n", hexadecimal(&Sha256::digest(answer))).into_bytes();
        bytes.extend_from_slice(answer);
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        fs::write(&beside, bytes).map_err(Error::io("write", &beside))?;
        fs::rename(&beside, &path).map_err(Error::io("write", &path))
    }

    /// Forgets an answer.
    pub fn remove(&self, kind: &str, question: &[u8]) {
        // What stays is not asked for again.
        let _ = fs::remove_file(self.path(kind, question));
    }
}

pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_kept_for_their_run_and_damage_is_loss() {
        let folder = tempfile::tempdir().unwrap();
        let open = |run: &str| Journal::open(folder.path()).and_then(|journal| journal.for_run(run));
        let journal = open("a").unwrap();
        assert!(open("a").unwrap_err().to_string().contains("another run is using it"));
        assert_eq!(journal.get("fit", b"q").unwrap(), None);
        journal.put("fit", b"q", b"answer\nof two lines").unwrap();
        assert_eq!(journal.get("fit", b"q").unwrap().as_deref(), Some(b"answer\nof two lines".as_slice()));
        assert_eq!(journal.get("state", b"q").unwrap(), None);
        let path = journal.path("fit", b"q");
        for damaged in [b"".to_vec(), fs::read(&path).unwrap()[..70].to_vec(), [fs::read(&path).unwrap(), b"x".to_vec()].concat()]
        {
            fs::write(&path, damaged).unwrap();
            assert_eq!(journal.get("fit", b"q").unwrap(), None);
        }
        drop(journal);
        assert!(open("b").unwrap_err().to_string().contains("another run"));
        assert!(open("a").is_ok());
    }
}
