//! Files of models that are no trees of variables: topics and hierarchies of clusters.
//!
//! ```json
//! {"format": "latentree", "version": 1, "minimum_version": 1, "kind": "topics", "checksum": "fnv1a64:…", "schema": {…},
//!  "alpha": [0.1, 0.1], "topics": [[…], […]], "provenance": {…}}
//! {"format": "latentree", "version": 1, "minimum_version": 1, "kind": "clusters", "checksum": "fnv1a64:…", "schema": {…}, "features": {…},
//!  "nodes": [{"name": "1", "parent": null, "children": [1, 2], "size": 100, "relevant": […], "rule": {"kind": "alignment", …}}, …], "provenance": {…}}
//! ```

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Format, checksum_fault, value_checksum};
use crate::data::{Batch, Schema};
use crate::error::{Error, Place, Result};
use crate::model::features::Features;
use crate::model::{ClusterNode, ClusterTree, Provenance, TopicModel};

const FORMAT: &str = "latentree model";
const VERSION: u64 = 1;
/// Longest file.
const MAX_BYTES: u64 = 1 << 28;

/// A model that is no tree of variables.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum OtherModel {
    /// Topics of documents.
    Topics(TopicModel),
    /// A hierarchy of clusters.
    Clusters(ClusterTree),
}

#[derive(Serialize, Deserialize)]
struct TopicsFile {
    schema: Schema,
    alpha: Vec<f64>,
    topics: Vec<Vec<f64>>,
    #[serde(default)]
    provenance: Provenance,
}

#[derive(Serialize, Deserialize)]
struct ClustersFile {
    schema: Schema,
    features: Features,
    nodes: Vec<ClusterNode>,
    #[serde(default)]
    provenance: Provenance,
}

/// What the first fields of a file say.
#[derive(Deserialize)]
struct Head {
    format: Option<String>,
    kind: Option<String>,
    minimum_version: Option<u64>,
    checksum: Option<serde::de::IgnoredAny>,
}

impl Head {
    /// The head of a file of this program.
    fn of(bytes: &[u8]) -> Option<Self> {
        let head: Self = if bytes.len() as u64 > MAX_BYTES { None } else { serde_json::from_slice(bytes).ok() }?;
        (head.format.as_deref() == Some("latentree")).then_some(head)
    }
}

/// The kind that a model file says it has, such as `classifier`; `None` for files of other programs.
///
/// # Errors
/// [`Error::Io`]; [`Error::Format`] if it is larger than a model file may be.
pub fn kind_of_file(path: impl AsRef<Path>) -> Result<Option<String>> {
    Ok(Head::of(&super::model_file::read_bytes(path.as_ref())?).and_then(|head| head.kind))
}

impl OtherModel {
    /// Reads a model file if it holds a model that is no tree; `None` if it holds another kind, or is no JSON at all.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Format`] or [`Error::Model`] naming what is wrong; [`Error::Version`].
    pub fn read(path: impl AsRef<Path>) -> Result<Option<Self>> {
        let path = path.as_ref();
        if path.as_os_str() == "-" || Format::by_ending(path) != Some(Format::Json) {
            return Ok(None);
        }
        let bytes = super::model_file::read_bytes(path)?;
        Self::read_from(&bytes).map_err(|error| error.in_file(path))
    }

    /// The same from uncompressed bytes.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_from(bytes: &[u8]) -> Result<Option<Self>> {
        let Some(head) = Head::of(bytes) else { return Ok(None) };
        let invalid = |error: serde_json::Error| Error::format(Place::default(), FORMAT, error.to_string());
        if head.checksum.is_some() && matches!(head.kind.as_deref(), Some("topics" | "clusters")) {
            check_version(head.minimum_version)?;
            let document: Value = serde_json::from_slice(bytes).map_err(invalid)?;
            if let Some(problem) = checksum_fault(&document) {
                return Err(Error::format(Place::default(), FORMAT, problem));
            }
        }
        let found = match head.kind.as_deref() {
            Some("topics") => {
                check_version(head.minimum_version)?;
                let file: TopicsFile = serde_json::from_slice(bytes).map_err(invalid)?;
                let width = file.schema.columns().len();
                if file.topics.len() != file.alpha.len() || file.topics.iter().any(|topic| topic.len() != width) {
                    return Err(Error::format(
                        Place::default(),
                        FORMAT,
                        "\"topics\" must have a list for each \"alpha\", of a number for each column",
                    ));
                }
                Self::Topics(TopicModel::new(Arc::new(file.schema), file.topics.concat(), file.alpha, file.provenance)?)
            }
            Some("clusters") => {
                check_version(head.minimum_version)?;
                let file: ClustersFile = serde_json::from_slice(bytes).map_err(invalid)?;
                Self::Clusters(ClusterTree::new(Arc::new(file.schema), file.features, file.nodes, file.provenance)?)
            }
            _ => return Ok(None),
        };
        Ok(Some(found))
    }

    /// The columns.
    #[must_use]
    pub fn schema(&self) -> &Arc<Schema> {
        match self {
            Self::Topics(model) => model.schema(),
            Self::Clusters(model) => model.schema(),
        }
    }

    /// The file's text.
    ///
    /// # Errors
    /// If it would be too long to be read again.
    pub fn to_json_string(&self) -> Result<String> {
        let (kind, content) = match self {
            Self::Topics(model) => {
                let topics = (0..model.n_topics()).map(|topic| model.topic(topic).to_vec()).collect();
                let (schema, alpha) = ((**model.schema()).clone(), model.alpha().to_vec());
                ("topics", serde_json::to_value(TopicsFile { schema, alpha, topics, provenance: model.provenance().clone() }))
            }
            Self::Clusters(model) => {
                let (schema, nodes) = ((**model.schema()).clone(), model.nodes().to_vec());
                (
                    "clusters",
                    serde_json::to_value(ClustersFile {
                        schema,
                        features: model.features.clone(),
                        nodes,
                        provenance: model.provenance().clone(),
                    }),
                )
            }
        };
        let content = content.map_err(|error| Error::format(Place::default(), FORMAT, error.to_string()))?;
        let Value::Object(fields) = content else { unreachable!("a struct is an object") };
        let mut text =
            format!("{{\"format\": \"latentree\", \"version\": {VERSION}, \"minimum_version\": {VERSION}, \"kind\": \"{kind}\"");
        let end_of_head = text.len();
        for (name, value) in fields {
            // Lists of nodes and topics have a line for each.
            match value {
                Value::Array(items) if matches!(name.as_str(), "nodes" | "topics") => {
                    let lines: Vec<String> = items.iter().map(Value::to_string).collect();
                    let _ = write!(text, ",\n \"{name}\": [\n  {}]", lines.join(",\n  "));
                }
                value => {
                    let _ = write!(text, ",\n \"{name}\": {value}");
                }
            }
        }
        text.push_str("}\n");
        let document: Value =
            serde_json::from_str(&text).map_err(|error| Error::format(Place::default(), FORMAT, error.to_string()))?;
        text.insert_str(end_of_head, &format!(",\n \"checksum\": \"{}\"", value_checksum(&document)));
        if text.len() as u64 > MAX_BYTES {
            let problem = format!("the file would have {} MB, more than can be read again; leave out columns", text.len() >> 20);
            return Err(Error::data(Place::default(), problem));
        }
        Ok(text)
    }

    /// The model in a format. A hierarchy is a tree without tables; topics are no graph, so that only JSON holds them.
    ///
    /// # Errors
    /// [`Error::Option`] if the format cannot hold the model.
    pub fn render(&self, format: Format) -> Result<String> {
        let refused = |problem: &str| Err(Error::option("export.format", problem));
        match (self, format) {
            (_, Format::Json) => self.to_json_string(),
            (Self::Clusters(model), Format::Text) => Ok(clusters_to_text(model)),
            (Self::Clusters(model), Format::Newick) => {
                let tree = model.tree()?;
                Ok(tree.to_newick(tree.find(&model.nodes()[0].name)) + "\n")
            }
            (Self::Clusters(model), Format::Dot | Format::GraphMl) => super::render(&model.tree()?, format),
            (Self::Clusters(_), Format::Linkage) => {
                refused("sides of a hierarchy of clusters have no heights; use newick, dot, graphml, json, text or topics")
            }
            (Self::Clusters(_), _) => {
                refused("a hierarchy of clusters has no tables of probabilities; use newick, dot, graphml, json, text or topics")
            }
            (Self::Topics(_), _) => {
                refused("an lda model has topics and no tree of variables; use json, or topics for the words of each topic")
            }
        }
    }

    /// Fails at a missing cell, which topics and hierarchies cannot sum out.
    ///
    /// # Errors
    /// [`Error::Data`] that names row and column.
    pub fn check_complete(&self, batch: &Batch) -> Result<()> {
        let Some((row, column)) = batch.first_missing() else { return Ok(()) };
        let place = Place::default().row(batch.first_row + row as u64 + 1).column(&self.schema().column(column).name);
        Err(Error::data(place, "the cell is missing; topics and hierarchies need complete rows"))
    }

    /// Writes the file, or nothing when something fails.
    ///
    /// # Errors
    /// [`Error::Io`], and as [`to_json_string`](Self::to_json_string).
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let text = self.to_json_string()?;
        crate::file::write_atomically(path, |out| out.write_all(text.as_bytes()).map_err(Error::io("write", path)))
    }
}

fn check_version(minimum: Option<u64>) -> Result<()> {
    match minimum {
        Some(found) if found > VERSION => Err(Error::Version {
            place: Box::default(),
            format: FORMAT,
            found,
            oldest: VERSION,
            newest: VERSION,
            remedy: "use a later version of the program",
        }),
        _ => Ok(()),
    }
}

/// A hierarchy as indented text: sizes and relevant features.
#[must_use]
pub fn clusters_to_text(model: &ClusterTree) -> String {
    let mut text = String::new();
    let mut open = vec![(0, 0)];
    while let Some((ix, depth)) = open.pop() {
        let node = &model.nodes()[ix];
        let rows = crate::counted(node.size, "row");
        let _ = writeln!(text, "{:indent$}{}  {rows}  {}", "", node.name, node.relevant.join(", "), indent = 2 * depth);
        if let Some([first, second]) = node.children {
            open.push((second, depth + 1));
            open.push((first, depth + 1));
        }
    }
    text
}
