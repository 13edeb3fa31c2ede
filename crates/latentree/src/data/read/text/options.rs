//! What is asked of a reader of text.

use std::fmt;
use std::path::PathBuf;

use super::stop_words::StopWords;
use crate::error::{Error, Result, Shortened};

/// Fewest documents of a word, if no limit is given.
const LEAST_DOCUMENTS: u64 = 2;

/// A number of documents, or a share of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum DocumentLimit {
    /// This many.
    Number(u64),
    /// This share of all.
    Share(f64),
}

impl DocumentLimit {
    fn of(self, n_documents: u64) -> f64 {
        match self {
            Self::Number(number) => number as f64,
            Self::Share(share) => share * n_documents as f64,
        }
    }
}

impl DocumentLimit {
    /// Reads a limit, `read.min_df` or `read.max_df`, as it is written: a whole number of documents, or a share from 0 to 1.
    ///
    /// # Errors
    /// [`Error::Option`] that names the option.
    pub fn parse(option: &str, text: &str) -> Result<Self> {
        if let Ok(number) = text.parse() {
            return Ok(Self::Number(number));
        }
        match text.parse::<f64>() {
            Ok(share) if (0.0..=1.0).contains(&share) => Ok(Self::Share(share)),
            _ => {
                let problem =
                    format!("{:?} is neither a number of documents (2) nor a share of them (0.01, 0.5)", Shortened(text));
                Err(Error::option(option, problem))
            }
        }
    }
}

impl fmt::Display for DocumentLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Share(share) => write!(f, "{share:?}"),
        }
    }
}

/// How text becomes documents and words. Columns are counts of words.
///
/// # Example
/// ```
/// use latentree::data::{ReadOptions, TextOptions};
/// let text = TextOptions { coverage: Some(0.7), stop: "none".parse()?, ..TextOptions::default() };
/// let options = ReadOptions::default().text(text);
/// # Ok::<(), latentree::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TextOptions {
    /// The column of a table that holds the texts; else every file is a document.
    pub column: Option<String>,
    /// A regular expression: where a line matches, a document begins, and the line is its name.
    pub split: Option<String>,
    /// Words that are left out.
    pub stop: StopWords,
    /// Words in fewer documents are left out; by default those in one document only.
    pub min_df: Option<DocumentLimit>,
    /// Words in more documents are left out; by default none.
    pub max_df: Option<DocumentLimit>,
    /// Only the most frequent words are kept that together make this share of all occurrences.
    pub coverage: Option<f64>,
    /// Other columns of the table to keep for each document, such as a date.
    pub keep: Vec<String>,
    /// More files and folders.
    pub more: Vec<PathBuf>,
}

impl TextOptions {
    /// Fails if a value is out of its range.
    pub(super) fn check(&self) -> Result<()> {
        if let Some(coverage) = self.coverage
            && !(coverage > 0.0 && coverage <= 1.0)
        {
            return Err(Error::option("read.coverage", format!("{coverage} is not a share above 0 and up to 1")));
        }
        if self.column.is_some() && self.split.is_some() {
            let problem = "it cuts files; texts of a column are documents already. Leave it out, or `read.column`";
            return Err(Error::option("read.split", problem));
        }
        if self.column.is_none() && !self.keep.is_empty() {
            let problem = format!("{:?}: only a table has columns; name the one of the texts, too (`read.column`)", self.keep[0]);
            return Err(Error::option("read.dates", problem));
        }
        Ok(())
    }

    /// Fewest documents of a word.
    pub(super) fn least_documents(&self, n_documents: u64) -> u64 {
        let least = self.min_df.map_or(LEAST_DOCUMENTS.min(n_documents.max(1)), |limit| limit.of(n_documents).ceil() as u64);
        least.max(1)
    }

    /// Most documents of a word.
    pub(super) fn most_documents(&self, n_documents: u64) -> u64 {
        self.max_df.map_or(u64::MAX, |limit| limit.of(n_documents).floor() as u64)
    }
}
