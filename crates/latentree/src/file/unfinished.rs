//! The temporary files of this process.
//!
//! A temporary file goes when the value that owns it is dropped. A process that is told to end at once drops nothing, so their
//! names are also kept here, where a signal handler finds them. This is the only state that the library shares between calls.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn list() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes all temporary files of this process: outputs that are not finished and copies of standard input.
///
/// For a program that is about to exit without unwinding, such as in a signal handler. Outputs that are still being written fail
/// after it.
pub fn remove_unfinished() {
    for path in list().drain(..) {
        // Nothing better can be done about a failure while the process ends.
        let _ = std::fs::remove_file(path);
    }
}

/// Keeps the name of a temporary file listed until dropped.
#[derive(Debug)]
pub(crate) struct Unfinished(PathBuf);

impl Unfinished {
    pub(crate) fn new(path: &Path) -> Self {
        list().push(path.to_path_buf());
        Self(path.to_path_buf())
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let mut list = list();
        if let Some(place) = list.iter().position(|path| *path == self.0) {
            list.swap_remove(place);
        }
    }
}
