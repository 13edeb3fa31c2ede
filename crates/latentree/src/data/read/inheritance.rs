//! Ancestors of items in a vocabulary, so that a roll-up may list only the roots of its groups.

use std::collections::{HashMap, HashSet};

/// The ancestors of each item with their levels: parents are at level 1.
#[derive(Debug, Default)]
pub(crate) struct Inheritance {
    above: HashMap<String, Vec<(String, u32)>>,
    /// Whether ancestors of ancestors must be followed.
    is_parents: bool,
}

impl Inheritance {
    /// From pairs of a child and its parent.
    pub(crate) fn from_parents(pairs: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut above: HashMap<String, Vec<(String, u32)>> = HashMap::new();
        for (child, parent) in pairs {
            above.entry(child).or_default().push((parent, 1));
        }
        Self { above, is_parents: true }
    }

    /// From triples of a descendant, an ancestor and the levels between them.
    pub(crate) fn from_ancestors(triples: impl IntoIterator<Item = (String, String, u32)>) -> Self {
        let mut above: HashMap<String, Vec<(String, u32)>> = HashMap::new();
        for (descendant, ancestor, level) in triples {
            above.entry(descendant).or_default().push((ancestor, level));
        }
        above.values_mut().for_each(|of| of.sort_by(|a, b| (a.1, &a.0).cmp(&(b.1, &b.0))));
        Self { above, is_parents: false }
    }

    /// The nearest ancestor that is wanted; among equally near ones, the first by name.
    pub(crate) fn nearest(&self, item: &str, is_wanted: impl Fn(&str) -> bool) -> Option<&str> {
        if !self.is_parents {
            return self.above.get(item)?.iter().map(|(ancestor, _)| ancestor.as_str()).find(|&ancestor| is_wanted(ancestor));
        }
        let mut seen: HashSet<&str> = HashSet::new();
        let mut level: Vec<&str> = vec![item];
        while !level.is_empty() {
            let mut next: Vec<&str> = Vec::new();
            for child in level {
                next.extend(self.above.get(child).into_iter().flatten().map(|(parent, _)| parent.as_str()));
            }
            next.retain(|parent| seen.insert(parent));
            next.sort_unstable();
            if let Some(found) = next.iter().find(|parent| is_wanted(parent)) {
                return Some(found);
            }
            level = next;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_wanted_ancestor_is_found_through_circles() {
        let pairs = [("a", "b"), ("b", "c"), ("c", "a"), ("b", "d"), ("d", "e")];
        let inheritance = Inheritance::from_parents(pairs.map(|(a, b)| (a.to_owned(), b.to_owned())));
        assert_eq!(inheritance.nearest("a", |name| name == "e"), Some("e"));
        assert_eq!(inheritance.nearest("a", |name| name == "c" || name == "d"), Some("c"));
        assert_eq!(inheritance.nearest("e", |_| true), None);
        let levels = [("a", "far", 3), ("a", "near", 1)].map(|(a, b, level)| (a.to_owned(), b.to_owned(), level));
        assert_eq!(Inheritance::from_ancestors(levels).nearest("a", |_| true), Some("near"));
    }
}
