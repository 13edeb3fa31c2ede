//! A folder of its own for every test, and the program run in it.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

/// A temporary folder in which the program is run.
pub(crate) struct Folder {
    directory: tempfile::TempDir,
}

/// How a run ended and what it said.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Folder {
    pub(crate) fn new() -> Self {
        Self { directory: tempfile::tempdir().expect("a temporary folder can be made") }
    }

    /// A folder with the clinic example in it.
    pub(crate) fn with_clinic() -> Self {
        let folder = Self::new();
        for name in ["clinic.csv", "clinic.truth.json"] {
            folder.write(name, &std::fs::read(example(name)).expect("the example is there"));
        }
        folder
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.path(name), bytes).expect("the file can be written");
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub(crate) fn text(&self, name: &str) -> String {
        String::from_utf8(self.read(name)).expect("the file is text")
    }

    /// All files and their content, `None` for a folder.
    pub(crate) fn content(&self) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
        let mut content = BTreeMap::new();
        let mut folders = vec![self.directory.path().to_path_buf()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).expect("the folder can be listed") {
                let path = entry.expect("the folder can be listed").path();
                if path.is_dir() {
                    content.insert(path.clone(), None);
                    folders.push(path);
                    continue;
                }
                match std::fs::read(&path) {
                    Ok(bytes) => drop(content.insert(path, Some(bytes))),
                    // A program that is still running may have renamed or removed it.
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                    Err(error) => panic!("{} can be read: {error}", path.display()),
                }
            }
        }
        content
    }

    /// Runs the program with arguments separated by blanks.
    pub(crate) fn run(&self, arguments: &str) -> Outcome {
        self.run_with(&arguments.split_whitespace().collect::<Vec<_>>(), b"")
    }

    /// Runs the program with these arguments and this standard input.
    pub(crate) fn run_with(&self, arguments: &[&str], stdin: &[u8]) -> Outcome {
        let mut command = Command::new(env!("CARGO_BIN_EXE_latentree"));
        command.args(arguments).current_dir(self.directory.path());
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
        let mut pipe = child.stdin.take().expect("standard input is piped");
        let bytes = stdin.to_vec();
        // From a thread of its own: the program may not read all of it, or write before it has.
        let feeder = std::thread::spawn(move || {
            let _ = pipe.write_all(&bytes);
        });
        let output = child.wait_with_output().expect("the program ends");
        feeder.join().expect("the input is fed");
        let stderr = String::from_utf8(output.stderr).expect("messages are text");
        Outcome { code: output.status.code(), stdout: output.stdout, stderr }
    }

    /// Runs the program, which must succeed, and gives its standard output as text.
    pub(crate) fn succeed(&self, arguments: &str) -> String {
        self.run(arguments).success(arguments)
    }

    /// Runs the program with `--json`, which must print one object and nothing else.
    pub(crate) fn json(&self, arguments: &str) -> Value {
        let text = self.succeed(&format!("{arguments} --json"));
        assert_eq!(text.lines().count(), 1, "{arguments}: one line: {text}");
        let value: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{arguments}: {error}: {text}"));
        assert!(value.is_object(), "{arguments}: an object: {text}");
        value
    }
}

impl Outcome {
    /// The standard output of a run that must have succeeded.
    pub(crate) fn success(self, what: &str) -> String {
        assert_eq!(self.code, Some(0), "{what}: {}", self.stderr);
        String::from_utf8(self.stdout).expect("the output is text")
    }
}

/// A file of the examples.
pub(crate) fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name)
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).expect("a vector takes all bytes");
    encoder.finish().expect("a vector takes all bytes")
}

pub(crate) fn zstandard(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 0).expect("a vector takes all bytes")
}
