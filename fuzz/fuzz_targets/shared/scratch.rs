//! A file for readers that read files, in memory where the system has such a place.

use std::path::{Path, PathBuf};

/// Writes the file of this process with this name.
pub fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let memory = Path::new("/dev/shm");
    let base = if memory.is_dir() { memory.to_path_buf() } else { std::env::temp_dir() };
    let directory = base.join(format!("latentree-fuzz-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("the scratch directory can be made");
    let path = directory.join(name);
    std::fs::write(&path, bytes).expect("the scratch file can be written");
    path
}
