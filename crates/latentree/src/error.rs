//! The error type of the crate.
//!
//! Every public function that can fail on what a user gave returns [`Error`]. It is a single type because callers do the
//! same with all of it: show the message, which says what failed, where, and what to try. Predicates such as
//! [`Error::is_io`] tell the few cases apart that a program may want to treat differently. Broken invariants of ours are
//! panics, not errors.

use std::fmt;
use std::path::{Path, PathBuf};

/// Result with the crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Where in the user's input something was found. Every part that is not known is `None` and is left out of messages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    /// The file, or `-` for standard input.
    pub file: Option<PathBuf>,
    /// One-based number of the data row (the header does not count).
    pub row: Option<u64>,
    /// One-based number of the line in a text file.
    pub line: Option<u64>,
    /// Name of the column or variable.
    pub column: Option<String>,
}

impl Place {
    /// A place that names a file only.
    #[must_use]
    pub fn file(path: impl AsRef<Path>) -> Self {
        Self { file: Some(path.as_ref().to_path_buf()), ..Self::default() }
    }

    /// The same place with a one-based row number.
    #[must_use]
    pub fn row(mut self, row: u64) -> Self {
        self.row = Some(row);
        self
    }

    /// The same place with a one-based line number.
    #[must_use]
    pub fn line(mut self, line: u64) -> Self {
        self.line = Some(line);
        self
    }

    /// The same place with a column name.
    #[must_use]
    pub fn column(mut self, column: impl Into<String>) -> Self {
        self.column = Some(column.into());
        self
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        if let Some(file) = &self.file {
            if file.as_os_str() == "-" {
                write!(f, "standard input")?;
            } else {
                write!(f, "{}", file.display())?;
            }
            separator = ", ";
        }
        if let Some(line) = self.line {
            write!(f, "{separator}line {line}")?;
            separator = ", ";
        }
        if let Some(row) = self.row {
            write!(f, "{separator}row {row}")?;
            separator = ", ";
        }
        if let Some(column) = &self.column {
            write!(f, "{separator}column {:?}", Shortened(column))?;
            separator = ", ";
        }
        if separator.is_empty() {
            write!(f, "input")?;
        }
        Ok(())
    }
}

/// Shows a user's string, cut to a length that fits a message.
#[derive(Clone, Copy)]
pub(crate) struct Shortened<'a>(pub(crate) &'a str);

impl fmt::Debug for Shortened<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const LIMIT: usize = 60;
        match self.0.char_indices().nth(LIMIT) {
            None => write!(f, "{:?}", self.0),
            Some((end, _)) => write!(f, "{:?}… ({} bytes)", &self.0[..end], self.0.len()),
        }
    }
}

/// Everything that can go wrong with what a user gave.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused to read or write.
    #[error("cannot {action} {}: {source}", .path.display())]
    Io {
        /// What was being done: "read", "write", "create".
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A file does not follow its format.
    #[error("{place}: not {}{format}: {problem}", article(format))]
    Format {
        /// Where.
        place: Box<Place>,
        /// Name of the format, such as "CSV", "Newick" or "latentree model".
        format: &'static str,
        /// What is wrong there.
        problem: String,
    },
    /// A file is well formed but what it holds cannot be used.
    #[error("{place}: {problem}")]
    Data {
        /// Where.
        place: Box<Place>,
        /// What is wrong, and what to try.
        problem: String,
    },
    /// A file was written by a version of the program that this one does not read.
    #[error(
        "{place}: {format} version {found} cannot be read by this program, which reads versions {oldest} to {newest}; {remedy}"
    )]
    Version {
        /// Where.
        place: Box<Place>,
        /// Name of the format.
        format: &'static str,
        /// Version in the file.
        found: u64,
        /// Oldest version this program reads.
        oldest: u64,
        /// Newest version this program reads.
        newest: u64,
        /// What to do.
        remedy: &'static str,
    },
    /// A graph that should be a tree is not one, or lacks what an operation needs.
    #[error("not a usable tree: {problem}")]
    Tree {
        /// What is wrong, naming the nodes.
        problem: String,
    },
    /// Parameters that do not make a model.
    #[error("not a valid model: node {node:?}: {problem}")]
    Model {
        /// Name of the node.
        node: String,
        /// What is wrong.
        problem: String,
    },
    /// A question that cannot be asked of this model.
    #[error("cannot answer: {problem}")]
    Query {
        /// What is wrong, and what to try.
        problem: String,
    },
    /// An option's value is out of its range.
    ///
    /// Options are named by their paths, in backticks here and in all other messages: `` `em.smoothing` ``. A shell replaces them
    /// by its own spelling; see [`spelled`](crate::spelled).
    #[error("`{option}`: {problem}")]
    Option {
        /// Path of the option, such as `em.smoothing`.
        option: String,
        /// What is wrong, and what is allowed.
        problem: String,
    },
    /// Two inputs that should fit together do not.
    #[error("{left} and {right} are incompatible: {problem}")]
    Mismatch {
        /// The first input.
        left: String,
        /// The second input.
        right: String,
        /// What differs, and what to try.
        problem: String,
    },
    /// The observer asked to stop.
    #[error("cancelled")]
    Cancelled,
}

impl Error {
    /// Makes an [`Error::Io`] in `map_err`.
    pub fn io(action: &'static str, path: impl AsRef<Path>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.as_ref().to_path_buf();
        move |source| Self::Io { action, path, source }
    }

    /// Makes an [`Error::Format`].
    pub fn format(place: Place, format: &'static str, problem: impl Into<String>) -> Self {
        Self::Format { place: Box::new(place), format, problem: problem.into() }
    }

    /// Makes an [`Error::Data`].
    pub fn data(place: Place, problem: impl Into<String>) -> Self {
        Self::Data { place: Box::new(place), problem: problem.into() }
    }

    /// Makes an [`Error::Tree`].
    pub fn tree(problem: impl Into<String>) -> Self {
        Self::Tree { problem: problem.into() }
    }

    /// Makes an [`Error::Model`].
    pub fn model(node: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Model { node: node.into(), problem: problem.into() }
    }

    /// Makes an [`Error::Query`].
    pub fn query(problem: impl Into<String>) -> Self {
        Self::Query { problem: problem.into() }
    }

    /// Makes an [`Error::Option`].
    pub fn option(option: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Option { option: option.into(), problem: problem.into() }
    }

    /// What is wrong, without the option's name where it is an [`Error::Option`].
    pub(crate) fn problem(&self) -> String {
        match self {
            Self::Option { problem, .. } => problem.clone(),
            other => other.to_string(),
        }
    }

    /// The same error with the file named, where the error has a place and none is named yet.
    #[must_use]
    pub fn in_file(mut self, path: impl AsRef<Path>) -> Self {
        if let Self::Format { place, .. } | Self::Data { place, .. } | Self::Version { place, .. } = &mut self {
            if place.file.is_none() {
                place.file = Some(path.as_ref().to_path_buf());
            }
            return self;
        }
        match self {
            Self::Tree { .. } | Self::Model { .. } => {
                Self::Data { problem: self.to_string(), place: Box::new(Place::file(path)) }
            }
            other => other,
        }
    }

    /// Whether the operating system refused to read or write.
    #[must_use]
    pub fn is_io(&self) -> bool {
        matches!(self, Self::Io { .. })
    }

    /// Whether the observer asked to stop.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        matches!(self, Self::Cancelled)
    }
}

/// "valid", with an article before formats that can be counted.
fn article(format: &str) -> &'static str {
    const COUNTED: [&str; 10] =
        ["model", "classifier", "checkpoint", "task", "pass", "part", "run", "key", "distance matrix", "distance matrix (CSV)"];
    if COUNTED.iter().any(|counted| format.ends_with(counted)) { "a valid " } else { "valid " }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_that_can_be_counted_have_an_article() {
        let message = |format: &'static str| Error::format(Place::default(), format, "it is empty").to_string();
        assert!(message("latentree model").ends_with("not a valid latentree model: it is empty"));
        assert!(message("CSV").ends_with("not valid CSV: it is empty"));
    }
}
