//! Finds the files of a directory or glob.

use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use super::glob::{is_pattern, is_visible, matches, matches_all};
use crate::data::read::coordinate::is_named_docword;
use crate::error::{Error, Place, Result};
use crate::file;

/// Endings of files that are taken from a directory. Sparse ones cannot be joined, which is said when they are opened.
const ENDINGS: [&str; 10] = ["csv", "tsv", "tab", "parquet", "arrow", "feather", "ipc", "mtx", "svm", "libsvm"];
/// Names that a message lists.
const SHOWN: usize = 5;

/// The parts of a table: the files that a directory holds or a pattern matches, sorted by the bytes of their paths.
///
/// A directory is looked through with all its folders. In a pattern `*`, `?` and `[…]` stand for letters of a name and `**` for
/// any number of folders; a folder that matches is looked through, too. Left out are files and folders whose names begin with `.`
/// or `_` (but `_a=1` is a folder of the column `_a`) and checksums (`.crc`), unless a pattern begins with the same letter.
///
/// # Example
/// ```
/// use latentree::data::PartFiles;
/// let dir = tempfile::tempdir()?;
/// for name in ["b.csv", "a.csv", "_SUCCESS"] {
///     std::fs::write(dir.path().join(name), "x\n1\n")?;
/// }
/// let parts = PartFiles::find(dir.path())?.expect("it is a directory");
/// assert_eq!(parts.files(), [dir.path().join("a.csv"), dir.path().join("b.csv")]);
/// assert!(PartFiles::find(&dir.path().join("a.csv"))?.is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct PartFiles {
    path: PathBuf,
    /// The directory below which names are patterns, and folders may be columns.
    base: PathBuf,
    /// One for each name below the base; none for a directory.
    patterns: Vec<String>,
    files: Vec<PathBuf>,
}

impl PartFiles {
    /// The parts that a path stands for; `None` if it is a single file, which it is whenever a file has this very name.
    ///
    /// # Errors
    /// If there is no part, if a folder cannot be read, or if a file has an ending that no table has: rather than to leave out
    /// what may be data, the error names it.
    pub fn find(path: &Path) -> Result<Option<Self>> {
        Self::find_those(path, false)
    }

    /// The same with files of all endings, such as those of text.
    ///
    /// # Errors
    /// If there is no file, or a folder cannot be read.
    pub fn find_all(path: &Path) -> Result<Option<Self>> {
        Self::find_those(path, true)
    }

    fn find_those(path: &Path, all: bool) -> Result<Option<Self>> {
        if path.as_os_str() == "-" {
            return Ok(None);
        }
        let (base, patterns) = match std::fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => (path.to_path_buf(), Vec::new()),
            Ok(_) => return Ok(None),
            Err(_) => match split(path) {
                Some(split) => split,
                None => return Ok(None),
            },
        };
        let mut finder = Finder { last: patterns.last().map(String::as_str), all, ..Finder::default() };
        finder.expand(&base, &patterns)?;
        let Finder { mut files, mut strange, .. } = finder;
        for found in [&mut files, &mut strange] {
            found.sort_unstable_by(|a, b| bytes(a).cmp(bytes(b)));
            found.dedup();
        }
        let problem = match (strange.is_empty(), files.is_empty(), patterns.is_empty()) {
            (false, ..) => strange_endings(&base, &strange, &files),
            (true, true, true) => "the directory holds no data files; files that begin with . or _ are not read".to_owned(),
            (true, true, false) => "no file matches; * matches any characters of a name, ** any directories".to_owned(),
            (true, false, _) => return Ok(Some(Self { path: path.to_path_buf(), base, patterns, files })),
        };
        Err(Error::data(Place::file(path), problem))
    }

    /// The directory or the pattern.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The files, in the order in which they are read.
    #[must_use]
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Whether a file written to this path would count as one of the parts.
    #[must_use]
    pub fn would_take(&self, path: &Path) -> bool {
        let base = if self.base.as_os_str().is_empty() { Path::new(".") } else { &self.base };
        let (Ok(base), Ok(path)) = (std::fs::canonicalize(base), file::destination(path)) else { return false };
        let Ok(below) = path.strip_prefix(base) else { return false };
        let names: Vec<String> = below.components().map(|name| name.as_os_str().to_string_lossy().into_owned()).collect();
        let is_walked = |names: &[String]| names.iter().all(|name| is_visible(name, None));
        // What matches may be the file, or a folder above it that is looked through.
        (0..=names.len()).any(|end| matches_all(&self.patterns, &names[..end]) && is_walked(&names[end..]))
    }

    /// A file's path below the directory, or below the folders of the pattern that are not patterns themselves.
    pub(in crate::data::read) fn below<'f>(&self, file: &'f Path) -> &'f Path {
        file.strip_prefix(&self.base).unwrap_or(file)
    }
}

fn bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_encoded_bytes()
}

/// A path with patterns: the directory before the first one, and the names from there on.
fn split(path: &Path) -> Option<(PathBuf, Vec<String>)> {
    let mut base = PathBuf::new();
    let mut patterns: Vec<String> = Vec::new();
    for component in path.components() {
        match component {
            Component::Normal(name) if name == "**" && patterns.last().is_some_and(|last| last == "**") => {}
            Component::Normal(name) if !patterns.is_empty() || is_pattern(&name.to_string_lossy()) => {
                patterns.push(name.to_string_lossy().into_owned());
            }
            _ if !patterns.is_empty() => return None,
            component => base.push(component),
        }
    }
    (!patterns.is_empty()).then_some((base, patterns))
}

fn strange_endings(base: &Path, strange: &[PathBuf], files: &[PathBuf]) -> String {
    let shown: Vec<String> =
        strange.iter().take(SHOWN).map(|file| format!("{:?}", file.strip_prefix(base).unwrap_or(file))).collect();
    let more = if strange.len() > SHOWN { ", …" } else { "" };
    let (count, what) = if strange.len() == 1 { (1, "file has") } else { (strange.len(), "files have") };
    let ending = files.first().map_or_else(|| "csv".to_owned(), |file| file::ending(file));
    let example = base.join("**").join(format!("*.{ending}"));
    let is_text = |file: &PathBuf| matches!(file::ending(file).as_str(), "txt" | "text" | "md" | "eml" | "log" | "html" | "");
    let texts = if 2 * strange.iter().filter(|file| is_text(file)).count() > strange.len() {
        "; to read files of text as documents, add `read.text`"
    } else {
        ""
    };
    format!(
        "{count} {what} no table extension (.csv, .tsv, .parquet, .arrow, .feather): {}{more}; move other files elsewhere, or say \
         which files are, such as '{}'{texts}",
        shown.join(", "),
        example.display()
    )
}

#[derive(Default)]
struct Finder<'p> {
    /// The pattern of the file's name.
    last: Option<&'p str>,
    /// Whether files of all endings are taken.
    all: bool,
    files: Vec<PathBuf>,
    /// Files that are not recognised as data.
    strange: Vec<PathBuf>,
    /// The folders above the one that is looked through, without links: a link to one of them leads in a circle.
    above: Vec<PathBuf>,
}

impl Finder<'_> {
    /// Takes what matches the patterns below a path.
    fn expand(&mut self, path: &Path, patterns: &[String]) -> Result<()> {
        let Some((pattern, after)) = patterns.split_first() else { return self.take(path, self.last) };
        if pattern == "**" {
            if after.is_empty() {
                return self.within(path, |finder, path| finder.walk(path));
            }
            return self.within(path, |finder, path| {
                finder.expand(path, after)?;
                let folders = entries(path)?.into_iter().filter(|(name, path)| is_visible(name, None) && path.is_dir());
                folders.map(|(_, folder)| folder).try_for_each(|folder| finder.expand(&folder, patterns))
            });
        }
        if !is_pattern(pattern) {
            let child = path.join(pattern);
            return if child.exists() { self.expand(&child, after) } else { Ok(()) };
        }
        for (name, child) in entries(path)? {
            let is_wanted = is_visible(&name, Some(pattern)) && matches(pattern, &name);
            if is_wanted && (after.is_empty() || child.is_dir()) {
                self.expand(&child, after)?;
            }
        }
        Ok(())
    }

    /// Adds everything in a directory.
    fn walk(&mut self, folder: &Path) -> Result<()> {
        let visible = entries(folder)?.into_iter().filter(|(name, _)| is_visible(name, None));
        visible.map(|(_, path)| path).try_for_each(|path| self.take(&path, None))
    }

    /// Takes a file, or a directory with all it holds; the pattern is what asked for it.
    fn take(&mut self, path: &Path, pattern: Option<&str>) -> Result<()> {
        let metadata = std::fs::metadata(path).map_err(Error::io("read", path))?;
        if metadata.is_dir() {
            return self.within(path, |finder, path| finder.walk(path));
        }
        if !metadata.is_file() {
            return Err(Error::data(Place::file(path), "it is neither a file nor a directory, and cannot be a part"));
        }
        let found = if self.all || is_table(path, pattern) { &mut self.files } else { &mut self.strange };
        found.push(path.to_path_buf());
        Ok(())
    }

    /// Searches a directory, unless a search of it is under way.
    fn within(&mut self, path: &Path, look: impl FnOnce(&mut Self, &Path) -> Result<()>) -> Result<()> {
        let real = std::fs::canonicalize(if path.as_os_str().is_empty() { Path::new(".") } else { path });
        let Ok(real) = real else { return Ok(()) };
        if self.above.contains(&real) {
            return Ok(());
        }
        self.above.push(real);
        let looked = look(self, path);
        self.above.pop();
        looked
    }
}

/// What a directory holds, by name; nothing if it is none.
fn entries(folder: &Path) -> Result<Vec<(String, PathBuf)>> {
    let listed = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let entries = match std::fs::read_dir(listed) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(Vec::new()),
        entries => entries.map_err(Error::io("read", listed))?,
    };
    let entry = |entry: std::io::Result<std::fs::DirEntry>| {
        let name = entry.map_err(Error::io("read", listed))?.file_name();
        Ok((name.to_string_lossy().into_owned(), folder.join(name)))
    };
    entries.map(entry).collect()
}

/// Whether a file is a table by its ending, or because the pattern names this ending, or, of a name without one, more than `*`.
fn is_table(path: &Path, pattern: Option<&str>) -> bool {
    let ending = file::ending(path);
    let is_asked = |pattern: &str| match ending.as_str() {
        "" => pattern.chars().any(char::is_alphanumeric),
        ending => file::ending(Path::new(pattern)) == ending,
    };
    ENDINGS.contains(&ending.as_str()) || is_named_docword(path) || pattern.is_some_and(is_asked)
}
