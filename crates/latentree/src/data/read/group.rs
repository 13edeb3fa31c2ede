//! The file that joins columns into vector-valued variables: CSV of an item (a column of the data) and its group.
//!
//! An item listed under several groups belongs to the first.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use super::item_file::{ItemFile, Purpose, read_pairs};
use crate::error::Result;

/// The group of each item, and the items that are listed under several.
#[derive(Debug, Default)]
pub(super) struct Groups {
    pub(super) group_of: HashMap<String, String>,
    pub(super) ambiguous: HashSet<String>,
    /// Whether the first item is perhaps the header of its column.
    may_begin_with_header: bool,
}

impl Groups {
    /// Reads the file; `columns` names those of the item and of the group.
    pub(super) fn read(path: &Path, columns: Option<&(String, String)>) -> Result<Self> {
        Self::read_as(&ItemFile { path: path.to_path_buf(), columns: columns.cloned(), is_own: false }, "read.group")
    }

    /// Reads a file of items and groups for this option.
    pub(super) fn read_as(file: &ItemFile, option: &'static str) -> Result<Self> {
        let purpose = Purpose { option, items: &["item"], others: &["group"] };
        let mut groups = Self::default();
        let pairs = read_pairs(file, &purpose)?;
        groups.may_begin_with_header = pairs.may_begin_with_header;
        for [item, group] in pairs.pairs {
            groups.insert(item, group);
        }
        Ok(groups)
    }

    /// How many items there are, as in `none of its …`.
    pub(super) fn listed(&self) -> String {
        super::rollup::listed(self.group_of.len(), self.may_begin_with_header)
    }

    pub(super) fn insert(&mut self, item: String, group: String) {
        match self.group_of.get(&item) {
            Some(earlier) if *earlier != group => {
                self.ambiguous.insert(item);
            }
            Some(_) => {}
            None => {
                self.group_of.insert(item, group);
            }
        }
    }
}
