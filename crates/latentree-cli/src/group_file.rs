//! `--group FILE.csv[:ITEM,GROUP]`.

use std::convert::Infallible;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use latentree::data::ItemFile;
use serde::{Deserialize, Serialize};

/// A file of groups and, if the user names them, its columns of items and groups.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct GroupFile {
    file: PathBuf,
    columns: Option<(String, String)>,
}

impl GroupFile {
    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    /// The same for the library.
    pub(crate) fn item_file(&self) -> ItemFile {
        let file = ItemFile::new(&self.file);
        match &self.columns {
            Some((item, other)) => file.columns(item, other),
            None => file,
        }
    }

    pub(crate) fn columns(&self) -> Option<(&str, &str)> {
        self.columns.as_ref().map(|(item, group)| (item.as_str(), group.as_str()))
    }
}

impl fmt::Display for GroupFile {
    /// As it is passed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.columns {
            Some((item, group)) => write!(f, "{}:{item},{group}", self.file.display()),
            None => write!(f, "{}", self.file.display()),
        }
    }
}

impl FromStr for GroupFile {
    type Err = Infallible;

    /// Text after the last colon names columns if it is two comma-separated names, unless the whole text is the path of a file.
    fn from_str(text: &str) -> Result<Self, Infallible> {
        let named = text.rsplit_once(':').and_then(|(file, columns)| {
            let (item, group) = columns.split_once(',')?;
            let is_pair = !file.is_empty() && !item.is_empty() && !group.is_empty() && !group.contains(',');
            is_pair.then(|| Self { file: file.into(), columns: Some((item.to_owned(), group.to_owned())) })
        });
        let whole = Self { file: text.into(), columns: None };
        Ok(if Path::new(text).exists() { whole } else { named.unwrap_or(whole) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_follow_the_last_colon() {
        let parsed = |text: &str| text.parse::<GroupFile>().unwrap();
        assert_eq!(parsed("map.csv.gz:code,phecode").columns(), Some(("code", "phecode")));
        assert_eq!(parsed("map.csv.gz:code,phecode").file(), Path::new("map.csv.gz"));
        assert_eq!(parsed("map.csv.gz:code,phecode").to_string(), "map.csv.gz:code,phecode");
        for alone in ["map.csv", "C:\\map.csv", "odd:name.csv", "map.csv:code", "map.csv:code,", "map.csv:a,b,c", ":a,b"] {
            assert_eq!(parsed(alone), GroupFile { file: alone.into(), columns: None });
        }
    }
}
