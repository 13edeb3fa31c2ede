//! The formats, their names and their file extensions.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use crate::error::{Error, Result, Shortened};

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
    /// The linkage matrix of SciPy, as CSV.
    Linkage,
    /// Indented text, for a terminal.
    Text,
}

/// Endings of model and tree files, with their formats; the first of a format is the usual one.
const ENDINGS: [(&str, Format); 14] = [
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
    ("linkage", Format::Linkage),
    ("txt", Format::Text),
];

impl Format {
    /// All formats.
    pub const ALL: [Self; 8] =
        [Self::Json, Self::Newick, Self::Dot, Self::GraphMl, Self::Bif, Self::XmlBif, Self::Linkage, Self::Text];

    /// The format that a file's ending says; no ending is JSON.
    ///
    /// # Errors
    /// [`Error::Option`] if the ending is of no format.
    ///
    /// # Example
    /// ```
    /// use std::path::Path;
    /// use latentree::format::Format;
    /// assert_eq!(Format::of_path(Path::new("tree.nwk.gz"))?, Format::Newick);
    /// assert_eq!(Format::of_path(Path::new("model"))?, Format::Json);
    /// assert!(Format::of_path(Path::new("model.png")).is_err());
    /// # Ok::<(), latentree::Error>(())
    /// ```
    pub fn of_path(path: &Path) -> Result<Self> {
        let endings: Vec<&str> = ENDINGS.iter().map(|(ending, _)| *ending).collect();
        let ending = crate::file::known_ending(path, "a model", &endings)?;
        Ok(Self::of_ending(&ending).unwrap_or(Self::Json))
    }

    /// Checks that a file's ending is one of this format; none, and `.txt`, fit all.
    ///
    /// # Errors
    /// [`Error::Option`] if it is not.
    pub fn check_path(self, path: &Path) -> Result<()> {
        let endings = ENDINGS.iter().filter(|(_, format)| *format == self).map(|(ending, _)| *ending);
        let endings: Vec<&str> = endings
            .chain((self == Self::GraphMl).then_some("xml"))
            .chain((self == Self::Linkage).then_some("csv"))
            .chain(["txt"])
            .collect();
        crate::file::known_ending(path, self.name(), &endings).map(|_| ())
    }

    /// The format that a file's ending says, if it is of one.
    ///
    /// # Example
    /// ```
    /// use std::path::Path;
    /// use latentree::format::Format;
    /// assert_eq!(Format::by_ending(Path::new("tree.nwk.gz")), Some(Format::Newick));
    /// assert_eq!(Format::by_ending(Path::new("rows.csv")), None);
    /// ```
    #[must_use]
    pub fn by_ending(path: &Path) -> Option<Self> {
        Self::of_ending(&crate::file::ending(path))
    }

    /// The format of files with this ending.
    pub(super) fn of_ending(ending: &str) -> Option<Self> {
        ENDINGS.iter().find(|(it, _)| *it == ending).map(|(_, format)| *format)
    }

    /// The usual ending of its files.
    #[must_use]
    pub fn ending(self) -> &'static str {
        ENDINGS.iter().find(|(_, format)| *format == self).map_or("txt", |(ending, _)| *ending)
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
            Self::Linkage => "linkage",
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
            Error::option("export.format", format!("{:?} is unknown; choose one of {}", Shortened(name), known.join(", ")))
        })
    }
}
