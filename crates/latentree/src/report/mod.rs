//! Stage 7, report: a model for people and for other programs.
//!
//! A [`View`] is what can be exported: a model, or a tree alone. [`Format`] names the formats; [`render`] gives the text,
//! [`export`] writes the file.

mod channel;
mod comparison;
mod dot;
mod goodness;
mod graphml;
mod groups;
mod information;
mod misfits;
mod page;
mod profile;
mod steps;
#[cfg(test)]
mod tests;
mod text;
mod weak_pairs;

pub use comparison::{Comparison, ParameterError, compare, parameter_error};
pub use dot::to_dot;
pub use goodness::{EdgeStrength, Fit, Goodness, GoodnessOptions, HiddenVariable, ProfileVariable, UnexplainedPair, goodness};
pub use graphml::to_graphml;
pub use groups::{Difference, Group, GroupState, Groups, find_node};
pub use information::edge_information;
pub use misfits::{has_few_pairs, poor_pairs};
pub use page::{PageOptions, page};
pub use text::to_text;
pub use weak_pairs::{WeakPairs, weak_pairs};

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use crate::error::{Error, Place, Result, Shortened};
use crate::index::NodeIx;
use crate::model::{Domain, LatentTree, ModelFile, to_bif, to_xmlbif};
use crate::tree::Tree;

/// A format that models are exported to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// The model file.
    Json,
    /// Newick, the tree alone, rooted as the model is.
    Newick,
    /// Graphviz.
    Dot,
    /// GraphML, for Gephi, yEd, Cytoscape, igraph, networkx.
    GraphMl,
    /// BIF 0.15, discrete models only.
    Bif,
    /// XMLBIF 0.3, discrete models only.
    XmlBif,
    /// Indented text, for a terminal.
    Text,
}

/// Endings of model and tree files, with their formats; the first of a format is the usual one.
const ENDINGS: [(&str, Format); 13] = [
    ("json", Format::Json),
    ("nwk", Format::Newick),
    ("newick", Format::Newick),
    ("tree", Format::Newick),
    ("tre", Format::Newick),
    ("nw", Format::Newick),
    ("dot", Format::Dot),
    ("gv", Format::Dot),
    ("graphml", Format::GraphMl),
    ("bif", Format::Bif),
    ("xmlbif", Format::XmlBif),
    ("xml", Format::XmlBif),
    ("txt", Format::Text),
];

impl Format {
    /// All formats.
    pub const ALL: [Self; 7] = [Self::Json, Self::Newick, Self::Dot, Self::GraphMl, Self::Bif, Self::XmlBif, Self::Text];

    /// The format that a file's ending says; no ending is JSON.
    ///
    /// # Errors
    /// [`Error::Option`] if the ending is of no format.
    ///
    /// # Example
    /// ```
    /// use std::path::Path;
    /// use latentree::report::Format;
    /// assert_eq!(Format::of_path(Path::new("tree.nwk.gz"))?, Format::Newick);
    /// assert_eq!(Format::of_path(Path::new("model"))?, Format::Json);
    /// assert!(Format::of_path(Path::new("model.png")).is_err());
    /// # Ok::<(), latentree::Error>(())
    /// ```
    pub fn of_path(path: &Path) -> Result<Self> {
        let endings: Vec<&str> = ENDINGS.iter().map(|(ending, _)| *ending).collect();
        let ending = crate::file::known_ending(path, "a model", &endings)?;
        Ok(ENDINGS.iter().find(|(it, _)| *it == ending).map_or(Self::Json, |(_, format)| *format))
    }

    /// Checks that a file's ending is one of this format; none, and `.txt`, fit all.
    ///
    /// # Errors
    /// [`Error::Option`] if it is not.
    pub fn check_path(self, path: &Path) -> Result<()> {
        let endings = ENDINGS.iter().filter(|(_, format)| *format == self).map(|(ending, _)| *ending);
        let endings: Vec<&str> = endings.chain((self == Self::GraphMl).then_some("xml")).chain(["txt"]).collect();
        crate::file::known_ending(path, self.name(), &endings).map(|_| ())
    }

    /// The name users write.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Newick => "newick",
            Self::Dot => "dot",
            Self::GraphMl => "graphml",
            Self::Bif => "bif",
            Self::XmlBif => "xmlbif",
            Self::Text => "text",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name).ok_or_else(|| {
            let known: Vec<&str> = Self::ALL.iter().map(|format| format.name()).collect();
            Error::option("export.format", format!("{:?} is not known; choose one of {}", Shortened(name), known.join(", ")))
        })
    }
}

/// What can be exported: a tree, and the model it is part of, if it is.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    tree: &'a Tree,
    model: Option<&'a LatentTree>,
    file: Option<&'a ModelFile>,
}

impl<'a> View<'a> {
    /// The tree.
    #[must_use]
    pub fn tree(&self) -> &'a Tree {
        self.tree
    }

    /// The model, if there is more than a tree.
    #[must_use]
    pub fn model(&self) -> Option<&'a LatentTree> {
        self.model
    }

    fn labels(&self, node: NodeIx) -> Option<&'a [String]> {
        self.model.and_then(|model| model.domain(node).labels())
    }

    /// What a node's values are, in the words of the model file.
    fn kind(&self, node: NodeIx) -> Option<&'static str> {
        let model = self.model?;
        let variable = model.variable(node).and_then(|variable| model.schema().scalar_kind(variable));
        Some(match (variable, model.domain(node)) {
            (Some(kind), _) => kind.name(),
            (None, Domain::Discrete { .. }) => "categorical",
            (None, Domain::Continuous) => "continuous",
            (None, Domain::Count) => "count",
            (None, Domain::Group) => "group",
        })
    }

    fn need_model(&self, format: Format) -> Result<&'a LatentTree> {
        self.model.ok_or_else(|| {
            let problem = format!("a tree without tables cannot be written as {format}; learn its parameters first");
            Error::data(Place::default(), problem)
        })
    }
}

impl<'a> From<&'a LatentTree> for View<'a> {
    fn from(model: &'a LatentTree) -> Self {
        Self { tree: model.tree(), model: Some(model), file: None }
    }
}

impl<'a> From<&'a Tree> for View<'a> {
    fn from(tree: &'a Tree) -> Self {
        Self { tree, model: None, file: None }
    }
}

impl<'a> From<&'a ModelFile> for View<'a> {
    fn from(file: &'a ModelFile) -> Self {
        let model = match file {
            ModelFile::LatentTree(model) => Some(model),
            ModelFile::Tree { .. } => None,
        };
        Self { tree: file.tree(), model, file: Some(file) }
    }
}

/// The text of a model or tree in a format.
///
/// # Errors
/// [`Error::Data`] naming a node that the format cannot hold, if the format needs tables and there are none, or if the text is
/// longer than can be read again.
///
/// # Example
/// ```
/// use latentree::report::{Format, render};
/// use latentree::tree::Tree;
/// let mut tree = Tree::new();
/// let (h, a) = (tree.add_hidden("h1")?, tree.add_observed("a")?);
/// tree.connect(h, a, Some(0.5))?;
/// assert!(render(&tree, Format::Dot)?.contains("n0 -- n1"));
/// # Ok::<(), latentree::Error>(())
/// ```
pub fn render<'a>(what: impl Into<View<'a>>, format: Format) -> Result<String> {
    let view = what.into();
    match format {
        Format::Json => match (view.file, view.model) {
            (Some(file), _) => file.to_file_text(),
            (None, Some(model)) => model.to_file_text(),
            (None, None) => ModelFile::from(view.tree.clone()).to_file_text(),
        },
        Format::Newick => Ok(view.tree.to_newick(view.model.map(|model| model.rooted().roots[0])) + "\n"),
        Format::Dot => Ok(to_dot(view)),
        Format::GraphMl => Ok(to_graphml(view)),
        Format::Bif => to_bif(view.need_model(format)?).and_then(checked),
        Format::XmlBif => to_xmlbif(view.need_model(format)?).and_then(checked),
        Format::Text => Ok(to_text(view)),
    }
}

/// A text that can be read again.
fn checked(text: String) -> Result<String> {
    crate::model::check_length(&text).map(|()| text)
}

/// Writes a model or tree in a format, or nothing when something fails; `.gz` and `.zst` endings compress, `-` is standard
/// output.
///
/// # Errors
/// Those of [`render`], and [`Error::Io`].
pub fn export<'a>(what: impl Into<View<'a>>, format: Format, path: impl AsRef<Path>) -> Result<()> {
    let path = path.as_ref();
    let text = render(what, format)?;
    crate::file::write_atomically(path, |out| out.write_all(text.as_bytes()).map_err(Error::io("write", path)))
}
