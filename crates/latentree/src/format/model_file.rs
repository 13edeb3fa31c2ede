//! The model file: JSON with one documented layout for this and other programs.
//!
//! ```json
//! {"format": "latentree", "version": 1, "minimum_version": 1, "kind": "latent-tree", "checksum": "fnv1a64:…",
//!  "schema": {"variables": [{"kind": "binary", "name": "x1", "labels": ["0", "1"]}, …]},
//!  "nodes": [{"name": "h1", "observed": false, "kind": "categorical", "states": ["0", "1"]}, …],
//!  "edges": [{"source": "h1", "target": "x1", "distance": 0.41, "support": 0.98}, …],
//!  "root": "h1",
//!  "tables": {"h1": {"prior": [0.4, 0.6]}, "x1": {"given": [[0.9, 0.1], [0.2, 0.8]]}, …},
//!  "provenance": {"program": "latentree 0.1.0", "seed": 0}}
//! ```
//!
//! - `version` is the writer's, `minimum_version` the oldest reader that can read the file; unknown fields are left unread.
//! - `kind` is `latent-tree`, `tree` for a file without `tables`, or `spectral` for one that has operators, in the field `spectral`, instead of tables. The
//!   last needs a reader of version 2.
//! - `source` is the parent as seen from the root. `distance` and `support` are left out where unknown or not finite.
//! - `roots` names the root of every tree if there are several, `root` first.
//! - A table is, by the node's place: `prior`, the root's probabilities; `given`, one list of probabilities per state of
//!   the parent; `means` and `variances`, or `rates`, one number per state of the parent; `members`, one such object per
//!   column of a group; `mean`, `coefficient` and `variance` of a Gaussian tree's node.
//! - `checksum` covers the content, not its layout, and tells a damaged file. A file written or changed by hand goes
//!   without. `schema`, `root` and hidden nodes' `states` may be left out by hand too: they follow from the nodes, the
//!   edges' directions and the tables.
//!
//! Numbers are the shortest digits that read back as the same double. A file from a stranger is safe to read: it becomes a
//! model with every invariant checked, or an error that names the field or node at fault.

mod decode;
mod encode;
mod json;
mod spectral;
#[cfg(test)]
mod tests;

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use self::json::Json;
use super::Format;
use super::bif::read_bif;
use super::xmlbif::read_xmlbif;
use crate::data::Schema;
use crate::error::{Error, Place, Result, Shortened};
use crate::model::{LatentTree, Provenance};
use crate::spectral::SpectralModel;
use crate::tree::Tree;

/// Name of the format in messages.
const FORMAT: &str = "latentree model";
/// Oldest version this program reads.
const OLDEST: u64 = 1;
/// The newest version this program knows: that of spectral models.
const NEWEST: u64 = 2;
/// Version of files of models with tables and of trees, which all readers can read.
const FIRST: u64 = 1;
/// Maximum file size. Models are far smaller; larger files are rejected before reading, and never written.
const MAX_BYTES: u64 = 1 << 28;
/// Most memory that the values of a file may take while it is read.
const MAX_MEMORY: u64 = 1 << 30;

/// What a model file holds.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ModelFile {
    /// A tree with its distributions.
    LatentTree(LatentTree),
    /// A tree with operators instead of distributions.
    Spectral(SpectralModel),
    /// A tree alone.
    Tree {
        /// The tree.
        tree: Tree,
        /// What the observed nodes are, where known.
        schema: Option<Arc<Schema>>,
        /// Where the tree comes from.
        provenance: Provenance,
    },
}

impl ModelFile {
    /// Where it comes from.
    #[must_use]
    pub fn provenance(&self) -> &Provenance {
        match self {
            Self::LatentTree(model) => model.provenance(),
            Self::Spectral(model) => model.provenance(),
            Self::Tree { provenance, .. } => provenance,
        }
    }

    /// Reads a model file, compressed or not; `-` is standard input.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Format`] or [`Error::Data`] that names the file and the field or node at fault;
    /// [`Error::Version`] for a file from a later version of the program.
    ///
    /// # Example
    /// ```
    /// use latentree::format::ModelFile;
    /// let text = r#"{"format": "latentree", "version": 1, "kind": "tree",
    ///     "nodes": [{"name": "h1", "observed": false}, {"name": "a", "observed": true}],
    ///     "edges": [{"source": "h1", "target": "a", "distance": 0.5}]}"#;
    /// let file = ModelFile::read_from(text.as_bytes())?;
    /// assert_eq!(file.tree().n_edges(), 1);
    /// # Ok::<(), latentree::Error>(())
    /// ```
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Self::read_from(&read_bytes(path)?).map_err(|error| error.in_file(path))
    }

    /// Reads a model file from its (uncompressed) bytes.
    ///
    /// # Errors
    /// As [`read`](Self::read), with no file named.
    pub fn read_from(bytes: &[u8]) -> Result<Self> {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let document = Json::read(bytes, MAX_MEMORY).map_err(|error| {
            let message = error.to_string();
            let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(message, _)| message);
            let place = Place::default().line(error.line() as u64);
            Error::format(place, FORMAT, format!("not JSON: {message} (character {})", error.column()))
        })?;
        decode::document(&document)
    }

    /// The tree.
    #[must_use]
    pub fn tree(&self) -> &Tree {
        match self {
            Self::LatentTree(model) => model.tree(),
            Self::Spectral(model) => model.tree(),
            Self::Tree { tree, .. } => tree,
        }
    }

    /// The model, if the file holds more than a tree.
    ///
    /// # Errors
    /// [`Error::Data`] if it is a tree alone.
    pub fn into_latent_tree(self) -> Result<LatentTree> {
        match self {
            Self::LatentTree(model) => Ok(model),
            Self::Spectral(model) => Err(Error::data(
                Place::default(),
                format!(
                    "this needs hidden states, and a {} model has none: it answers only about its columns; learn one with \
                     `parameters.method` moments+em",
                    model.method().name()
                ),
            )),
            Self::Tree { .. } => Err(Error::data(
                Place::default(),
                "a model is needed, but this is a tree without tables; learn its parameters first, with this tree as `learn.tree`",
            )),
        }
    }

    /// The file's text: deterministic, one node, edge and table per line.
    #[must_use]
    pub fn to_json_string(&self) -> String {
        print(&self.document())
    }

    /// Writes the file, or nothing when something fails; `.gz` and `.zst` endings compress, `-` is standard output.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Data`] if the file would be larger than can be read.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        write_text(path.as_ref(), &self.to_file_text()?)
    }

    fn document(&self) -> Json {
        match self {
            Self::LatentTree(model) => encode::latent_tree(model),
            Self::Spectral(model) => encode::spectral(model),
            Self::Tree { tree, schema, provenance } => encode::tree(tree, schema.as_deref(), provenance),
        }
    }

    /// The file's text, if it can be read again.
    pub(crate) fn to_file_text(&self) -> Result<String> {
        file_text(&self.document())
    }
}

impl From<LatentTree> for ModelFile {
    fn from(model: LatentTree) -> Self {
        Self::LatentTree(model)
    }
}

impl From<SpectralModel> for ModelFile {
    fn from(model: SpectralModel) -> Self {
        Self::Spectral(model)
    }
}

impl From<Tree> for ModelFile {
    fn from(tree: Tree) -> Self {
        Self::Tree { tree, schema: None, provenance: Provenance::default() }
    }
}

impl LatentTree {
    /// The text of the model's file, as [`ModelFile::to_json_string`].
    #[must_use]
    pub fn to_json_string(&self) -> String {
        print(&encode::latent_tree(self))
    }

    /// Writes the model's file, as [`ModelFile::write`].
    ///
    /// # Errors
    /// As [`ModelFile::write`].
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        write_text(path.as_ref(), &self.to_file_text()?)
    }

    /// The file's text, if it can be read again.
    pub(crate) fn to_file_text(&self) -> Result<String> {
        file_text(&encode::latent_tree(self))
    }
}

/// Lays the document out so that a change of one node is a change of one line.
fn print(document: &Json) -> String {
    let Json::Record(fields) = document else { unreachable!("a document is a record") };
    let mut out = String::from("{");
    for (ix, (key, value)) in fields.iter().enumerate() {
        out.push_str(if ix == 0 { "\n  \"" } else { ",\n  \"" });
        out.push_str(key);
        out.push_str("\": ");
        let levels = match key.as_str() {
            "nodes" | "edges" | "tables" => 1,
            "schema" | "spectral" => 2,
            _ => 0,
        };
        value.print_expanded(&mut out, levels, 1);
    }
    out.push_str("\n}\n");
    out
}

fn write_text(path: &Path, text: &str) -> Result<()> {
    crate::file::write_atomically(path, |out| out.write_all(text.as_bytes()).map_err(Error::io("write", path)))
}

fn file_text(document: &Json) -> Result<String> {
    if document.footprint() > MAX_MEMORY {
        return Err(too_large());
    }
    let text = print(document);
    check_length(&text)?;
    Ok(text)
}

/// Refuses to write a model that could not be read again.
///
/// # Errors
/// [`Error::Data`] if it is larger than a model file may be.
pub(crate) fn check_length(text: &str) -> Result<()> {
    if text.len() as u64 > MAX_BYTES { Err(too_large()) } else { Ok(()) }
}

fn too_large() -> Error {
    let problem = format!(
        "the model exceeds the {} MiB limit of a model file; leave out columns of many labels, or join rare labels \
         (`read.min_count`)",
        MAX_BYTES >> 20
    );
    Error::data(Place::default(), problem)
}

pub(super) fn read_bytes(path: &Path) -> Result<Vec<u8>> {
    let refuse = || {
        let problem = format!("larger than {} MiB, the limit of a model file", MAX_BYTES >> 20);
        Err(Error::format(Place::file(path), FORMAT, problem))
    };
    // Compressed or not, the bytes of a file are a lower bound.
    if std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.len() > MAX_BYTES) {
        return refuse();
    }
    let mut bytes = Vec::new();
    crate::file::open(path)?.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(Error::io("read", path))?;
    if bytes.len() as u64 > MAX_BYTES { refuse() } else { Ok(bytes) }
}

/// What other programs' formats do not say about a model.
#[derive(Debug, Clone, Default)]
pub struct ReadModelOptions<'a> {
    /// Names of nodes that are hidden.
    pub hidden: Vec<String>,
    /// The data's columns: nodes that are none of them are hidden.
    pub data_columns: Option<&'a [String]>,
}

/// Reads a model from a model file, BIF or XMLBIF, told apart by their first bytes and the file's ending.
///
/// BIF and XMLBIF do not know hidden nodes: hidden are the nodes named in the options, those that are not columns of the
/// data, and those that this program's own export has marked.
///
/// # Errors
/// As [`ModelFile::read`]; [`Error::Option`] if a node to hide is not in the model, or is an observed node of a model file,
/// which says itself what is hidden.
pub fn read_model(path: impl AsRef<Path>, options: &ReadModelOptions<'_>) -> Result<ModelFile> {
    let path = path.as_ref();
    let bytes = read_bytes(path)?;
    read_model_from(&bytes, &crate::file::ending(path), options).map_err(|error| error.in_file(path))
}

/// Reads a model as [`read_model`] does, from the (uncompressed) bytes of a file with this ending.
///
/// # Errors
/// As [`read_model`], with no file named.
pub fn read_model_from(bytes: &[u8], ending: &str, options: &ReadModelOptions<'_>) -> Result<ModelFile> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let start = bytes.trim_ascii_start();
    let is_bif = || {
        let keywords: [&[u8]; 5] = [b"network", b"variable", b"probability", b"//", b"/*"];
        keywords.iter().any(|keyword| start.starts_with(keyword))
    };
    let format = Format::of_ending(ending);
    match start.first() {
        Some(b'<') => read_xmlbif(bytes, options).map(ModelFile::LatentTree),
        Some(b'{') => {
            let file = ModelFile::read_from(bytes)?;
            for name in &options.hidden {
                let node = file.tree().find(name).ok_or_else(|| not_in_model(name))?;
                if file.tree().is_observed(node) {
                    let name = Shortened(name);
                    let problem = format!("{name:?} is observed; a model file itself defines which nodes are hidden");
                    return Err(Error::option("read_model.hidden", problem));
                }
            }
            Ok(file)
        }
        None => Err(Error::format(Place::default(), FORMAT, "the file is empty")),
        _ if format == Some(Format::Bif) || is_bif() => read_bif(bytes, options).map(ModelFile::LatentTree),
        _ if format == Some(Format::Json) => ModelFile::read_from(bytes),
        Some(_) => Err(Error::format(Place::default(), FORMAT, "it is neither a latentree model (JSON) nor BIF nor XMLBIF")),
    }
}

/// The error for a name in the options that no node has.
pub(super) fn not_in_model(name: &str) -> Error {
    Error::option("read_model.hidden", format!("the model has no node {:?}", Shortened(name)))
}
