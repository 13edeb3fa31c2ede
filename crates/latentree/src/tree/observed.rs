//! Determines which nodes of a tree in text form are observed.

use std::collections::HashSet;

/// Which inner nodes of a Newick text are observed where no `[&hidden]` or `[&observed]` comment tells. Leaves are.
#[derive(Debug, Clone, Default)]
pub enum Observed<'a> {
    /// Only leaves are. Labels of inner nodes that are all numbers from 0 to 1, or all from 0 to 100 (percent), are taken
    /// as the support of the edge above, unless quoted.
    #[default]
    LeavesOnly,
    /// Inner nodes that have a label are, numbers included.
    InnerNamed,
    /// Inner nodes with these names are; other numbers are taken as with [`Observed::LeavesOnly`].
    Names(&'a HashSet<String>),
}
