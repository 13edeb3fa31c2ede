//! File input and output: decompression by the first bytes, compression by extension, and atomic writes.

mod same_file;
mod unfinished;

use std::fs::{File, TryLockError};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

pub(crate) use same_file::destination;
pub use same_file::is_same_file;
pub(crate) use unfinished::Unfinished;
pub use unfinished::remove_unfinished;

use crate::error::{Error, Result};

/// Size of read and write buffers.
const BUFFER: usize = 1 << 18;

/// Opens a file for reading, or standard input for `-`; gzip and Zstandard are recognised by their first bytes.
///
/// # Errors
/// [`Error::Io`] if it cannot be opened.
pub fn open(path: &Path) -> Result<Box<dyn BufRead + Send>> {
    let raw: Box<dyn Read + Send> = if path.as_os_str() == "-" {
        Box::new(io::stdin())
    } else {
        let file = File::open(path).map_err(Error::io("read", path))?;
        if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
            return Err(Error::io("read", path)(io::Error::other("it is a directory")));
        }
        Box::new(file)
    };
    decompress(raw).map_err(Error::io("read", path))
}

/// Wraps a reader so that gzip and Zstandard, recognised by their first bytes, are decompressed.
///
/// # Errors
/// Those of the reader.
pub fn decompress(raw: Box<dyn Read + Send>) -> io::Result<Box<dyn BufRead + Send>> {
    let mut buffered = BufReader::with_capacity(BUFFER, raw);
    let first = buffered.fill_buf()?;
    if first.starts_with(&[0x1f, 0x8b]) {
        let inner = flate2::bufread::MultiGzDecoder::new(buffered);
        Ok(Box::new(BufReader::with_capacity(BUFFER, Decompressing { inner, format: "gzip" })))
    } else if first.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        let inner = zstd::Decoder::with_buffer(buffered)?;
        Ok(Box::new(BufReader::with_capacity(BUFFER, Decompressing { inner, format: "Zstandard" })))
    } else {
        Ok(Box::new(buffered))
    }
}

/// Says what a decompressor's errors mean for the file.
struct Decompressing<R> {
    inner: R,
    format: &'static str,
}

impl<R: Read> Read for Decompressing<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.inner.read(buffer).map_err(|error| {
            let format = self.format;
            let meaning = match error.kind() {
                // The system's own errors speak for themselves.
                _ if error.raw_os_error().is_some() => return error,
                io::ErrorKind::Interrupted => return error,
                io::ErrorKind::UnexpectedEof => format!("its {format} data are truncated; copy or recreate the file"),
                _ => format!("its {format} data are damaged ({error}); copy or recreate the file"),
            };
            io::Error::new(io::ErrorKind::InvalidData, meaning)
        })
    }
}

/// The ending that tells a file's format, lower case, after `.gz` or `.zst` is taken off: `docword.kos.txt.gz` → `txt`.
#[must_use]
pub fn ending(path: &Path) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    let name = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(&name);
    name.rsplit_once('.').map(|(_, ending)| ending.to_owned()).unwrap_or_default()
}

/// The ending of a file to be written, if it is one of these or none at all. A name that only begins with a point has none.
///
/// # Errors
/// [`Error::Option`] if a file of `what` has no such ending: what would be written is not what the name says.
pub fn known_ending(path: &Path, what: &str, known: &[&str]) -> Result<String> {
    let ending = ending(path);
    let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    let is_hidden_name = name.starts_with('.') && name.matches('.').count() == 1;
    if ending.is_empty() || is_hidden_name {
        return Ok(String::new());
    }
    if known.contains(&ending.as_str()) {
        return Ok(ending);
    }
    let mut known: Vec<String> = known.iter().map(|ending| format!(".{ending}")).collect();
    known.dedup();
    let problem = format!("{}: .{ending} is not an extension of {what}; use {}", path.display(), known.join(", "));
    Err(Error::option("output", problem))
}

/// Writes a file beside its final place and renames it when `write` has succeeded: a file is never half written, and an
/// older one stays as it was when something fails. `.gz` and `.zst` endings compress; `-` is standard output.
///
/// # Errors
/// Those of `write`, and [`Error::Io`].
pub fn write_atomically(path: &Path, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    let mut out = AtomicWriter::create(path)?;
    write(&mut out)?;
    out.finish()
}

/// Checks that a file can be written, without changing anything: before work that takes long, not after it.
///
/// # Errors
/// [`Error::Io`] if its folder does not exist or does not let a file be created, or if an existing file is write-protected or a
/// folder.
///
/// # Example
/// ```
/// use latentree::file::check_writable;
/// let dir = tempfile::tempdir()?;
/// assert!(check_writable(&dir.path().join("model.json")).is_ok());
/// assert!(check_writable(&dir.path().join("no such folder/model.json")).is_err());
/// assert_eq!(std::fs::read_dir(dir.path())?.count(), 0);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn check_writable(path: &Path) -> Result<()> {
    // To open a pipe and close it again would end it for its reader.
    if path.as_os_str() == "-" || is_device(path) {
        return Ok(());
    }
    Partial::create(path).map(drop).map_err(Error::io("write", path))
}

/// Whether a path is a device or a pipe, which cannot be replaced by a rename, and must not be.
fn is_device(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
}

/// A file that comes to be only when [`finish`](Self::finish) has succeeded; dropped before, it leaves no trace.
///
/// `.gz` and `.zst` endings compress. Standard output (`-`), devices and pipes are written to directly. A symbolic link is
/// followed; a file that is replaced hands its permissions on to the new one.
pub struct AtomicWriter {
    path: PathBuf,
    out: Compression,
    partial: Option<Box<Partial>>,
}

/// What happens to the bytes on their way to the file.
enum Compression {
    None(Box<dyn Write + Send>),
    Gzip(flate2::write::GzEncoder<Box<dyn Write + Send>>),
    Zstandard(zstd::Encoder<'static, Box<dyn Write + Send>>),
}

impl AtomicWriter {
    /// Starts a file, compressed if its ending says so.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be created beside its final place.
    pub fn create(path: &Path) -> Result<Self> {
        Self::start(path, true)
    }

    /// Starts a file whose bytes are written as they are, whatever its ending.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be created beside its final place.
    pub fn create_uncompressed(path: &Path) -> Result<Self> {
        Self::start(path, false)
    }

    fn start(path: &Path, by_ending: bool) -> Result<Self> {
        let fail = |source| Error::Io { action: "write", path: path.to_path_buf(), source };
        let is_stdout = path.as_os_str() == "-";
        if is_stdout || is_device(path) {
            let raw: Box<dyn Write + Send> = if is_stdout {
                Box::new(io::stdout())
            } else {
                Box::new(std::fs::OpenOptions::new().write(true).open(path).map_err(fail)?)
            };
            let out = Compression::None(Box::new(BufWriter::with_capacity(BUFFER, raw)));
            return Ok(Self { path: path.to_path_buf(), out, partial: None });
        }
        let partial = Box::new(Partial::create(path).map_err(fail)?);
        let file = BufWriter::with_capacity(BUFFER, partial.file.try_clone().map_err(fail)?);
        let file: Box<dyn Write + Send> = Box::new(file);
        let lower = path.to_string_lossy().to_lowercase();
        let out = if by_ending && lower.ends_with(".gz") {
            Compression::Gzip(flate2::write::GzEncoder::new(file, flate2::Compression::default()))
        } else if by_ending && lower.ends_with(".zst") {
            Compression::Zstandard(zstd::Encoder::new(file, 0).map_err(fail)?)
        } else {
            Compression::None(file)
        };
        Ok(Self { path: path.to_path_buf(), out, partial: Some(partial) })
    }

    /// Where the file will be.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Ends the file and puts it in its place.
    ///
    /// # Errors
    /// [`Error::Io`]; then no file is left, and an older one stays as it was.
    pub fn finish(self) -> Result<()> {
        let Self { path, out, partial } = self;
        let fail = |source| Error::Io { action: "write", path: path.clone(), source };
        let mut file = match out {
            Compression::None(file) => file,
            Compression::Gzip(encoder) => encoder.finish().map_err(fail)?,
            Compression::Zstandard(encoder) => encoder.finish().map_err(fail)?,
        };
        file.flush().map_err(fail)?;
        match partial {
            Some(mut partial) => partial.keep().map_err(fail),
            None => Ok(()),
        }
    }
}

impl std::fmt::Debug for AtomicWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AtomicWriter").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Write for AtomicWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.out {
            Compression::None(out) => out.write(bytes),
            Compression::Gzip(out) => out.write(bytes),
            Compression::Zstandard(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.out {
            Compression::None(out) => out.flush(),
            Compression::Gzip(out) => out.flush(),
            Compression::Zstandard(out) => out.flush(),
        }
    }
}

/// A file beside its final place, removed when dropped unless kept.
struct Partial {
    path: PathBuf,
    /// The final place, with symbolic links followed: a rename would replace the link.
    target: PathBuf,
    file: File,
    kept: bool,
    _unfinished: Unfinished,
}

impl Partial {
    fn create(target: &Path) -> io::Result<Self> {
        if target.is_dir() {
            return Err(io::Error::other("it is a directory"));
        }
        let target = destination(target)?;
        let name = target.file_name().ok_or_else(|| io::Error::other("not a file name"))?.to_string_lossy().into_owned();
        // A rename replaces a write-protected file without asking, and its owner protected it for a reason.
        let replaced = match File::options().append(true).open(&target) {
            Ok(file) => Some(file.metadata()?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        remove_abandoned(&target, &name);
        for attempt in 0.. {
            let path = target.with_file_name(format!(".{name}.{}-{attempt}.partial", std::process::id()));
            match File::options().write(true).create_new(true).open(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempt < 1000 => {}
                result => {
                    let file = result?;
                    // The lock tells others that this file is being written; some file systems have none.
                    let is_taken = matches!(file.try_lock(), Err(TryLockError::WouldBlock));
                    if (is_taken || !path.exists()) && attempt < 1000 {
                        // Another process took it for abandoned before it was locked.
                        continue;
                    }
                    let unfinished = Unfinished::new(&path);
                    let partial = Self { file, path, target, kept: false, _unfinished: unfinished };
                    if let Some(replaced) = replaced {
                        partial.take_after(&replaced)?;
                    }
                    return Ok(partial);
                }
            }
        }
        unreachable!("the loop returns")
    }

    /// Takes over the owner, where the system lets us, and the permissions of the file that is replaced.
    fn take_after(&self, replaced: &std::fs::Metadata) -> io::Result<()> {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            let own = self.file.metadata()?;
            if (own.uid(), own.gid()) != (replaced.uid(), replaced.gid()) {
                // Only the superuser may give files away; all others keep what they write.
                let _ = std::os::unix::fs::fchown(&self.file, Some(replaced.uid()), Some(replaced.gid()));
            }
        }
        self.file.set_permissions(replaced.permissions())
    }

    fn keep(&mut self) -> io::Result<()> {
        self.file.sync_all()?;
        std::fs::rename(&self.path, &self.target)?;
        self.kept = true;
        // The rename is safe from a power failure once its folder is. Some file systems cannot say so, and the file is complete
        // either way.
        #[cfg(unix)]
        if let Some(Ok(folder)) = self.target.parent().map(File::open) {
            let _ = folder.sync_all();
        }
        Ok(())
    }
}

/// Removes partial files of `target` whose writers were killed: files that are being written are locked.
fn remove_abandoned(target: &Path, name: &str) {
    let Some(Ok(entries)) = target.parent().map(std::fs::read_dir) else { return };
    let (first, is_digits) = (format!(".{name}."), |text: &str| text.bytes().all(|it| it.is_ascii_digit()));
    for entry in entries.filter_map(std::result::Result::ok) {
        let file_name = entry.file_name();
        let middle = file_name.to_str().and_then(|it| it.strip_prefix(&first)?.strip_suffix(".partial")?.split_once('-'));
        if !middle.is_some_and(|(process, attempt)| is_digits(process) && is_digits(attempt)) {
            continue;
        }
        let path = entry.path();
        let Ok(file) = File::options().write(true).open(&path) else { continue };
        let is_it = || matches!((file.metadata(), path.symlink_metadata()), (Ok(a), Ok(b)) if same_file::is_same_inode(&a, &b));
        // Once the lock is ours, a writer that finished in between has renamed the file.
        if file.try_lock().is_ok() && is_it() {
            // A file that cannot be removed is in nobody's way.
            let _ = std::fs::remove_file(&path);
        }
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        if !self.kept {
            // Nothing better can be done about a failure here, and the original error is already on its way.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("model.json");
        std::fs::write(&path, "old").unwrap();
        let result = write_atomically(&path, |out| {
            out.write_all(b"half").unwrap();
            Err(Error::Cancelled)
        });
        assert!(result.unwrap_err().is_cancelled());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn partial_files_of_killed_writers_are_removed_and_others_stay() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        for name in [".a.json.1-0.partial", ".a.json.2-7.partial", ".b.json.1-0.partial", ".a.json.x-0.partial"] {
            std::fs::write(path(name), "half").unwrap();
        }
        let mut unfinished = AtomicWriter::create(&path("a.json")).unwrap();
        unfinished.write_all(b"slow").unwrap();
        write_atomically(&path("a.json"), |out| out.write_all(b"fast").map_err(Error::io("write", Path::new("a")))).unwrap();
        unfinished.finish().unwrap();
        assert_eq!(std::fs::read_to_string(path("a.json")).unwrap(), "slow");
        let mut names: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, [".a.json.x-0.partial", ".b.json.1-0.partial", "a.json"]);
    }

    #[test]
    fn only_known_endings_and_none_are_taken() {
        let known = |name: &str| known_ending(Path::new(name), "a table", &["csv", "tsv"]);
        for (name, ending) in
            [("a.csv", "csv"), ("a.TSV.gz", "tsv"), ("a", ""), ("-", ""), (".a", ""), ("x.y/a", ""), ("a.gz", "")]
        {
            assert_eq!(known(name).unwrap(), ending, "{name}");
        }
        for name in ["a.xlsx", "a.csv.bz2", "a.b.png"] {
            let message = known(name).unwrap_err().to_string();
            assert!(message.contains(name) && message.contains(".csv, .tsv"), "{message}");
        }
    }

    #[test]
    fn compressed_files_round_trip_by_their_ending() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["a.txt", "a.txt.gz", "a.txt.zst"] {
            let path = dir.path().join(name);
            write_atomically(&path, |out| out.write_all(b"hello").map_err(Error::io("write", &path))).unwrap();
            let mut text = String::new();
            open(&path).unwrap().read_to_string(&mut text).unwrap();
            assert_eq!(text, "hello");
            assert_eq!(ending(&path), "txt");
        }
    }

    #[test]
    fn compressed_files_cut_short_at_any_byte_are_told_as_such() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["a.gz", "a.zst"] {
            let path = dir.path().join(name);
            let content: Vec<u8> = (0..5000_u32).flat_map(|ix| ix.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
            write_atomically(&path, |out| out.write_all(&content).map_err(Error::io("write", &path))).unwrap();
            let bytes = std::fs::read(&path).unwrap();
            for length in (4..bytes.len()).step_by(97).chain([bytes.len() - 1]) {
                std::fs::write(&path, &bytes[..length]).unwrap();
                let error = open(&path).unwrap().read_to_end(&mut Vec::new()).unwrap_err();
                assert!(error.to_string().contains("truncated"), "{name} after {length} bytes: {error}");
            }
        }
    }

    #[cfg(unix)]
    #[test]
    fn overwriting_keeps_the_mode_and_follows_a_symbolic_link() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let (real, link) = (dir.path().join("real.json"), dir.path().join("link.json"));
        std::fs::write(&real, "old").unwrap();
        std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink("real.json", &link).unwrap();
        write_atomically(&link, |out| out.write_all(b"new").map_err(Error::io("write", &link))).unwrap();
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(std::fs::read_to_string(&real).unwrap(), "new");
        assert_eq!(std::fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
        // Also where the link leads to nothing yet.
        let dangling = dir.path().join("dangling.json");
        std::os::unix::fs::symlink("later.json", &dangling).unwrap();
        write_atomically(&dangling, |out| out.write_all(b"x").map_err(Error::io("write", &dangling))).unwrap();
        assert_eq!(std::fs::read_to_string(dir.path().join("later.json")).unwrap(), "x");
    }
}
