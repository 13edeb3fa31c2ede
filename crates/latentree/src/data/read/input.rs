//! The bytes of a data file: opened as often as needed, digested on the first full read.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use sha2::{Digest, Sha256};
use tempfile::TempPath;

use super::encoding::TextEncoding;
use crate::error::{Error, Place, Result};
use crate::file;

/// Longest line or record of a text file. A longer one is not a table, and would fill the memory.
pub(super) const LINE_LIMIT: usize = 64 << 20;

/// A data file that can be read again from its start; what cannot be (standard input, pipes) is copied to a temporary file.
pub(super) struct Input {
    /// The name the user gave, for messages.
    pub(super) path: PathBuf,
    /// How the text is encoded, if not as UTF-8.
    pub(super) encoding: Option<TextEncoding>,
    spooled: Option<Spooled>,
    digest: Arc<OnceLock<String>>,
    /// Decompressed bytes that were read.
    #[cfg(test)]
    pub(super) n_read: Arc<std::sync::atomic::AtomicU64>,
}

impl Input {
    pub(super) fn new(path: &Path) -> Result<Self> {
        let can_rewind = path.as_os_str() != "-" && !std::fs::metadata(path).is_ok_and(|it| !it.is_file() && !it.is_dir());
        let spooled = if can_rewind { None } else { Some(spool(path)?) };
        Ok(Self { spooled, ..Self::part(path, None, Arc::default()) })
    }

    /// One of many files, which has a place for its digest elsewhere.
    pub(super) fn part(path: &Path, encoding: Option<TextEncoding>, digest: Arc<OnceLock<String>>) -> Self {
        Self {
            path: path.to_path_buf(),
            encoding,
            spooled: None,
            digest,
            #[cfg(test)]
            n_read: Arc::default(),
        }
    }

    /// What stands for a directory or a pattern of parts, whose bytes are not here.
    pub(super) fn of_parts(path: &Path) -> Self {
        Self::part(path, None, Arc::default())
    }

    /// What stands for a file where a table is in memory; places name no file then.
    pub(super) fn memory() -> Self {
        Self::of_parts(Path::new(""))
    }

    /// Where the bytes are.
    pub(super) fn real_path(&self) -> &Path {
        self.spooled.as_ref().map_or(self.path.as_path(), |spooled| &spooled.path)
    }

    pub(super) fn place(&self) -> Place {
        if self.path.as_os_str().is_empty() { Place::default() } else { Place::file(&self.path) }
    }

    pub(super) fn io_error(&self, source: io::Error) -> Error {
        Error::Io { action: "read", path: self.path.clone(), source }
    }

    /// Opens the decompressed bytes from the start, as UTF-8 if they have another encoding.
    pub(super) fn open(&self) -> Result<Box<dyn BufRead + Send>> {
        let bytes = self.open_bytes()?;
        Ok(match self.encoding {
            None => bytes,
            Some(encoding) => encoding.decode(bytes),
        })
    }

    fn open_bytes(&self) -> Result<Box<dyn BufRead + Send>> {
        let plain = file::open(self.real_path()).map_err(|error| match error {
            Error::Io { action, source, .. } => Error::Io { action, source, path: self.path.clone() },
            other => other,
        })?;
        #[cfg(test)]
        let plain = Box::new(BufReader::new(Counting { inner: plain, n_read: Arc::clone(&self.n_read) }));
        if self.digest.get().is_some() {
            return Ok(plain);
        }
        let hashing = Hashing { inner: plain, hasher: Sha256::new(), digest: Arc::clone(&self.digest) };
        Ok(Box::new(BufReader::with_capacity(1 << 18, hashing)))
    }

    /// The lines of the decompressed text.
    pub(super) fn lines(&self) -> Result<Lines> {
        Ok(Lines { reader: self.open()?, path: self.path.clone(), buffer: Vec::new(), number: 0 })
    }

    /// The first bytes after decompression.
    pub(super) fn first_bytes(&self, limit: u64) -> Result<Vec<u8>> {
        let mut first = Vec::new();
        self.open()?.take(limit).read_to_end(&mut first).map_err(|error| self.io_error(error))?;
        Ok(first)
    }

    /// Makes sure the bytes at [`real_path`](Self::real_path) are not compressed.
    pub(super) fn decompress(&mut self) -> Result<()> {
        let mut first = Vec::new();
        let raw = File::open(self.real_path()).map_err(|error| self.io_error(error))?;
        raw.take(4).read_to_end(&mut first).map_err(|error| self.io_error(error))?;
        if first.starts_with(&[0x1f, 0x8b]) || first == [0x28, 0xb5, 0x2f, 0xfd] {
            let plain = spool(self.real_path()).map_err(|error| match error {
                Error::Io { action, source, .. } => Error::Io { action, source, path: self.path.clone() },
                other => other,
            })?;
            self.spooled = Some(plain);
        }
        Ok(())
    }

    /// The digest of the decompressed bytes, if they have been read to the end.
    pub(super) fn digest(&self) -> Option<String> {
        self.digest.get().cloned()
    }

    /// Reads everything to know the digest, for formats that are not read from start to end.
    pub(super) fn compute_digest(&self) -> Option<String> {
        if self.digest.get().is_none() {
            io::copy(&mut self.open_bytes().ok()?, &mut io::sink()).ok()?;
        }
        self.digest()
    }
}

/// A temporary file that is removed when dropped, or when the process is stopped.
struct Spooled {
    path: TempPath,
    _unfinished: file::Unfinished,
}

/// Copies the decompressed bytes of a file, or of standard input, to a temporary file.
fn spool(path: &Path) -> Result<Spooled> {
    let mut reader = file::open(path)?;
    let fail = |action| move |source| Error::Io { action, path: std::env::temp_dir(), source };
    let mut copy = tempfile::NamedTempFile::with_prefix("latentree-").map_err(fail("create a temporary file in"))?;
    let unfinished = file::Unfinished::new(copy.path());
    loop {
        let block = reader.fill_buf().map_err(Error::io("read", path))?;
        if block.is_empty() {
            break;
        }
        copy.write_all(block).map_err(fail("write a temporary file in"))?;
        let n_bytes = block.len();
        reader.consume(n_bytes);
    }
    copy.flush().map_err(fail("write a temporary file in"))?;
    Ok(Spooled { path: copy.into_temp_path(), _unfinished: unfinished })
}

/// A digest as it is written: `sha256:` and 64 hexadecimal digits.
pub(super) fn digest_text(hasher: Sha256) -> String {
    hasher.finalize().iter().fold("sha256:".to_owned(), |text, byte| text + &format!("{byte:02x}"))
}

/// Computes a digest of the bytes read through it.
struct Hashing {
    inner: Box<dyn BufRead + Send>,
    hasher: Sha256,
    digest: Arc<OnceLock<String>>,
}

impl Read for Hashing {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n_bytes = self.inner.read(buffer)?;
        if n_bytes > 0 {
            self.hasher.update(&buffer[..n_bytes]);
        } else if !buffer.is_empty() {
            let _ = self.digest.set(digest_text(self.hasher.clone()));
        }
        Ok(n_bytes)
    }
}

/// Counts the bytes read through it.
#[cfg(test)]
struct Counting {
    inner: Box<dyn BufRead + Send>,
    n_read: Arc<std::sync::atomic::AtomicU64>,
}

#[cfg(test)]
impl Read for Counting {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n_bytes = self.inner.read(buffer)?;
        self.n_read.fetch_add(n_bytes as u64, std::sync::atomic::Ordering::Relaxed);
        Ok(n_bytes)
    }
}

/// Lines of a text file, without their ends, of bounded length.
pub(super) struct Lines {
    reader: Box<dyn BufRead + Send>,
    path: PathBuf,
    buffer: Vec<u8>,
    /// One-based number of the last line.
    pub(super) number: u64,
}

impl Lines {
    /// The next line without its end (`\n`, `\r\n`); the mark some editors put before UTF-8 text is taken off.
    pub(super) fn next(&mut self) -> Result<Option<&[u8]>> {
        self.buffer.clear();
        let found = self.reader.by_ref().take(LINE_LIMIT as u64).read_until(b'\n', &mut self.buffer);
        let n_bytes = found.map_err(|source| Error::Io { action: "read", path: self.path.clone(), source })?;
        if n_bytes >= LINE_LIMIT {
            let problem = format!("a line is longer than {} MiB; is this a text table?", LINE_LIMIT >> 20);
            return Err(Error::format(Place::file(&self.path).line(self.number + 1), "text", problem));
        }
        self.number += u64::from(n_bytes > 0);
        Ok((n_bytes > 0).then(|| self.last()))
    }

    /// The line that [`next`](Self::next) gave last.
    pub(super) fn last(&self) -> &[u8] {
        let line = self.buffer.as_slice();
        let line = if self.number == 1 { line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line) } else { line };
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        line.strip_suffix(b"\r").unwrap_or(line)
    }

    /// Whether [`next`](Self::next) has found the end.
    pub(super) fn is_at_end(&self) -> bool {
        self.buffer.is_empty()
    }

    /// The next line that is not blank, without spaces around it.
    pub(super) fn next_filled(&mut self) -> Result<Option<&[u8]>> {
        while let Some(line) = self.next()? {
            if !line.trim_ascii().is_empty() {
                break;
            }
        }
        Ok((!self.is_at_end()).then(|| self.last().trim_ascii()))
    }

    pub(super) fn place(&self) -> Place {
        // Of an empty file the first line is what is missed.
        Place::file(&self.path).line(self.number.max(1))
    }
}
