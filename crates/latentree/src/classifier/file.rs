//! The file format of a classifier: JSON with the documents of its models.
//!
//! ```json
//! {"format": "latentree", "version": 2, "minimum_version": 2, "kind": "classifier", "checksum": "fnv1a64:…",
//!  "target": "class", "labels": ["a", "b"], "priors": [0.4, 0.6], "models": [{"format": "latentree", …}, …]}
//! ```

use std::io::Read as _;
use std::path::Path;

use serde_json::{Value, json};

use super::Classifier;
use crate::error::{Error, Place, Result, Shortened};
use crate::format::{ModelFile, checksum_fault, value_checksum};

const FORMAT: &str = "latentree classifier";
/// The file format version, and the minimum version of a reader.
const VERSION: u64 = 2;
/// Maximum size of a file.
const MAX_BYTES: u64 = 1 << 28;

fn fault(problem: impl Into<String>) -> Error {
    Error::format(Place::default(), FORMAT, problem)
}

impl Classifier {
    /// The content of its file.
    ///
    /// # Errors
    /// [`Error::Data`] if a model is too large for a file.
    pub fn to_json_string(&self) -> Result<String> {
        let document = |model: &ModelFile| -> Result<Value> {
            let mut value: Value = serde_json::from_str(&model.to_file_text()?)
                .map_err(|error| fault(format!("a model cannot be written: {error}")))?;
            // One checksum covers the whole file.
            if let Some(fields) = value.as_object_mut() {
                fields.remove("checksum");
            }
            Ok(value)
        };
        let models = self.models().iter().map(document).collect::<Result<Vec<_>>>()?;
        let mut document = json!({
            "format": "latentree", "version": VERSION, "minimum_version": VERSION, "kind": "classifier",
            "target": self.target(), "labels": self.labels(), "priors": self.priors(), "models": models,
        });
        document["checksum"] = value_checksum(&document).into();
        Ok(document.to_string() + "\n")
    }

    /// Writes the file, or nothing if something fails; `.gz` and `.zst` endings compress.
    ///
    /// # Errors
    /// [`Error::Io`], and the same as for [`to_json_string`](Self::to_json_string).
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        let (path, text) = (path.as_ref(), self.to_json_string()?);
        if text.len() as u64 > MAX_BYTES {
            return Err(Error::data(
                Place::default(),
                format!("the classifier exceeds the {} MiB limit of a file", MAX_BYTES >> 20),
            ));
        }
        crate::file::write_atomically(path, |out| out.write_all(text.as_bytes()).map_err(Error::io("write", path)))
    }

    /// Reads a file.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Format`] naming the invalid field; [`Error::Version`] for a file of a later version; and the
    /// same as for [`Classifier::new`].
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let mut bytes = Vec::new();
        crate::file::open(path)?.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(Error::io("read", path))?;
        Self::read_from(&bytes).map_err(|error| error.in_file(path))
    }

    /// Reads a file from its (uncompressed) bytes.
    ///
    /// # Errors
    /// The same as for [`read`](Self::read), without the name of a file.
    pub fn read_from(bytes: &[u8]) -> Result<Self> {
        if bytes.len() as u64 > MAX_BYTES {
            return Err(fault(format!("larger than {} MiB, the limit of a file", MAX_BYTES >> 20)));
        }
        let document: Value = serde_json::from_slice(bytes).map_err(|error| fault(format!("not JSON: {error}")))?;
        let text = |key: &str| {
            document.get(key).and_then(Value::as_str).ok_or_else(|| fault(format!("field {key:?} is missing or no text")))
        };
        let list = |key: &str| {
            document.get(key).and_then(Value::as_array).ok_or_else(|| fault(format!("field {key:?} is missing or no list")))
        };
        if text("format")? != "latentree" {
            return Err(fault("field \"format\" is not \"latentree\""));
        }
        match text("kind")? {
            "classifier" => {}
            kind => {
                let kind = Shortened(kind);
                return Err(fault(format!("its kind is {kind:?}, and a classifier is needed; learn one with `learn.target`")));
            }
        }
        let needed = document
            .get("minimum_version")
            .and_then(Value::as_u64)
            .ok_or_else(|| fault("field \"minimum_version\" is missing"))?;
        if needed > VERSION {
            let remedy = "use a newer version of latentree, or save the classifier again with this one";
            return Err(Error::Version {
                place: Box::default(),
                format: FORMAT,
                found: needed,
                oldest: VERSION,
                newest: VERSION,
                remedy,
            });
        }
        if let Some(problem) = checksum_fault(&document) {
            return Err(fault(problem));
        }
        let labels =
            list("labels")?.iter().map(|it| it.as_str().map(str::to_owned).ok_or_else(|| fault("\"labels\" must hold texts")));
        let priors = list("priors")?.iter().map(|it| it.as_f64().ok_or_else(|| fault("\"priors\" must hold numbers")));
        let models = list("models")?.iter().map(|it| ModelFile::read_from(it.to_string().as_bytes()));
        Self::new(
            text("target")?.to_owned(),
            labels.collect::<Result<_>>()?,
            priors.collect::<Result<_>>()?,
            models.collect::<Result<_>>()?,
        )
    }
}
