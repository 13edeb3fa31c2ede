//! Resolves paths, and tells whether two of them refer to the same file.

use std::io;
use std::path::{Path, PathBuf};

/// Symbolic links that are followed before a path is taken for a loop, as Linux does.
const MAX_LINKS: usize = 40;

/// Where a file is or would be: symbolic links followed, also one whose target does not exist, and the folder made absolute.
///
/// # Errors
/// If its folder does not exist, or links lead in a circle.
pub(crate) fn destination(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        match std::fs::read_link(&path) {
            Ok(target) => path = path.parent().unwrap_or(Path::new("")).join(target),
            Err(_) => {
                let name = path.file_name().ok_or_else(|| io::Error::other("not a file name"))?.to_owned();
                let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
                return Ok(std::fs::canonicalize(folder)?.join(name));
            }
        }
    }
    Err(io::Error::other("its symbolic links form a cycle"))
}

/// Whether writing one path would change what the other names: the same file by another spelling, a symbolic or a hard link.
///
/// Standard input and output (`-`), devices and pipes are never the same file as anything.
#[must_use]
pub fn is_same_file(a: &Path, b: &Path) -> bool {
    if a.as_os_str() == "-" || b.as_os_str() == "-" {
        return false;
    }
    match (std::fs::metadata(a), std::fs::metadata(b)) {
        (Ok(a_is), Ok(b_is)) => a_is.is_file() && b_is.is_file() && (is_same_inode(&a_is, &b_is) || is_same_place(a, b)),
        // Neither exists yet: the same output given twice.
        (Err(_), Err(_)) => is_same_place(a, b),
        _ => false,
    }
}

fn is_same_place(a: &Path, b: &Path) -> bool {
    matches!((destination(a), destination(b)), (Ok(a), Ok(b)) if a == b)
}

#[cfg(unix)]
pub(super) fn is_same_inode(a: &std::fs::Metadata, b: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

#[cfg(not(unix))]
pub(super) fn is_same_inode(_: &std::fs::Metadata, _: &std::fs::Metadata) -> bool {
    false
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn spellings_and_links_of_a_file_are_the_same_file_and_copies_are_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        std::fs::create_dir(path("sub")).unwrap();
        std::fs::write(path("a"), "x").unwrap();
        std::fs::write(path("copy"), "x").unwrap();
        std::fs::hard_link(path("a"), path("hard")).unwrap();
        std::os::unix::fs::symlink("a", path("soft")).unwrap();
        std::os::unix::fs::symlink("../new", path("sub/dangling")).unwrap();
        for same in ["a", "hard", "soft", "sub/../a", "./a"] {
            assert!(is_same_file(&path("a"), &path(same)), "{same}");
        }
        for other in ["copy", "new", "sub", "sub/a"] {
            assert!(!is_same_file(&path("a"), &path(other)), "{other}");
        }
        assert!(is_same_file(&path("new"), &path("sub/dangling")), "a link to what does not exist yet");
        assert!(is_same_file(&path("new"), &path("sub/../new")));
        assert!(!is_same_file(Path::new("-"), Path::new("-")));
        assert!(!is_same_file(Path::new("/dev/null"), Path::new("/dev/null")));
    }

    #[test]
    fn links_that_lead_in_a_circle_are_an_error() {
        let dir = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("b", dir.path().join("a")).unwrap();
        std::os::unix::fs::symlink("a", dir.path().join("b")).unwrap();
        assert!(destination(&dir.path().join("a")).is_err());
    }
}
