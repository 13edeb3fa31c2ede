//! Public data sets for tests: in the folder that `LATENTREE_DATA` names, or in `shared/data` beside the repository.
//!
//! `.config/nextest.toml` shows what the tests that need them print: their names hold `real_data` or `published`.

use std::path::{Path, PathBuf};

/// A file of the data sets. Without the folder, says that the test is skipped; a file that is not in it is an error.
pub(crate) fn data_file(name: &str) -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let named = std::env::var_os("LATENTREE_DATA").map(PathBuf::from);
    let is_asked_for = named.is_some();
    let folder = named.unwrap_or_else(beside);
    if !folder.is_dir() {
        assert!(!is_asked_for, "LATENTREE_DATA is set to {}, which does not exist", folder.display());
        #[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
        {
            eprintln!("skipped: {name} not found; set LATENTREE_DATA to the directory of data sets");
        }
        return None;
    }
    let path = folder.join(name);
    assert!(path.is_file(), "{} is not there", path.display());
    Some(path)
}
