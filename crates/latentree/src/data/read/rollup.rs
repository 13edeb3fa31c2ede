//! Columns that become one: the items of a group (ICD codes of a phecode). Unlike [`super::group`], members are not kept apart.
//!
//! An item listed under several groups belongs to the first. Items that are not listed may follow an ancestor that is (`inheritance`).

use std::collections::{BTreeMap, HashMap, HashSet};

use super::group::Groups;
use super::inheritance::Inheritance;
use super::item_file::ItemFile;
use super::notes::shown;
use super::options::ReadOptions;
use crate::counted;
use crate::error::{Error, Place, Result, Shortened};

/// What becomes of the columns of a table.
#[derive(Debug)]
pub(super) struct Rollup {
    /// The names that remain, in the order of their first column.
    pub(super) names: Vec<String>,
    /// For each column of the file, its place among them; `None` if it is dropped.
    pub(super) targets: Vec<Option<u32>>,
    /// Whether a name is that of a group.
    pub(super) is_group: Vec<bool>,
    pub(super) notes: Vec<String>,
}

impl Rollup {
    /// Decides about the columns of a file that are read; `place` names it.
    ///
    /// # Errors
    /// If the file of groups cannot be read, or none of its items is a column.
    pub(super) fn of(names: &[String], is_read: &[bool], options: &ReadOptions, place: &Place) -> Result<Option<Self>> {
        let Some(file) = &options.rollup else { return Ok(None) };
        let mut groups = Groups::read_as(file, "read.rollup")?;
        let listed = groups.listed();
        let n_inherited = match &options.inheritance {
            Some(inheritance) => inherit(names, &mut groups, inheritance),
            None => 0,
        };
        let mut rollup = Self { names: Vec::new(), targets: vec![None; names.len()], is_group: Vec::new(), notes: Vec::new() };
        let mut place_of: HashMap<String, u32> = HashMap::new();
        let (mut alone, mut ambiguous, mut n_used) = (Vec::new(), Vec::new(), 0);
        let is_group: HashSet<&str> = groups.group_of.values().map(String::as_str).collect();
        for (ix, name) in names.iter().enumerate().filter(|(ix, _)| is_read[*ix]) {
            let group = groups.group_of.get(name).map(String::as_str);
            n_used += usize::from(group.is_some());
            if groups.ambiguous.contains(name) {
                ambiguous.push(name.as_str());
            }
            if group.is_none() {
                alone.push(name.as_str());
                if options.drop_unmapped {
                    continue;
                }
            }
            // A code that has no group may have the name of one: 743 is osteoporosis among phecodes, and not in ICD-9.
            let clash = group.is_none() && is_group.contains(name.as_str());
            let called = group.map_or_else(|| if clash { format!("{name} (unmapped)") } else { name.clone() }, str::to_owned);
            let target = *place_of.entry(called.clone()).or_insert_with(|| {
                rollup.names.push(called);
                rollup.is_group.push(group.is_some());
                rollup.names.len() as u32 - 1
            });
            rollup.targets[ix] = Some(target);
        }
        if names.is_empty() && options.schema.is_some() {
            // A period without events, of which a model can say something.
            return Ok(Some(rollup));
        }
        if n_used == 0 {
            return Err(unused(file, &listed, &alone, &groups, place));
        }
        rollup.note(file, n_used, n_inherited, &alone, &ambiguous, &groups, options.drop_unmapped);
        Ok(Some(rollup))
    }

    #[allow(clippy::too_many_arguments)]
    fn note(
        &mut self,
        file: &ItemFile,
        n_used: usize,
        n_inherited: usize,
        alone: &[&str],
        ambiguous: &[&str],
        groups: &Groups,
        is_dropped: bool,
    ) {
        let path = file.path.display();
        let n_groups = self.is_group.iter().filter(|&&is_group| is_group).count();
        let followed = if n_inherited == 0 { String::new() } else { format!(" ({n_inherited} of them through an ancestor)") };
        self.notes.push(format!("{path}: {}{followed} become {}", counted(n_used, "item"), counted(n_groups, "group")));
        if !ambiguous.is_empty() {
            let (are, they) = if ambiguous.len() == 1 { ("is", "it counts") } else { ("are", "they count") };
            let what = format!("{} {are} in several groups; {they} in the one listed first", counted(ambiguous.len(), "item"));
            self.notes.push(format!("{path}: {what}: {}", shown(ambiguous)));
        }
        if !alone.is_empty() {
            let (have, stay) = match (alone.len(), is_dropped) {
                (1, false) => ("has", "stays as it is"),
                (_, false) => ("have", "stay as they are"),
                (1, true) => ("has", "is dropped"),
                (_, true) => ("have", "are dropped"),
            };
            self.notes.push(format!(
                "{path}: {} {have} no group and {stay}: {}{}",
                counted(alone.len(), "item"),
                shown(alone),
                groups.padded_hint(alone)
            ));
        }
    }
}

fn unused(file: &ItemFile, listed: &str, alone: &[&str], groups: &Groups, place: &Place) -> Error {
    let problem = format!(
        "none of its {listed} is in {place}, which has {}; name the columns of the item and of the group, as in `read.rollup` {}:ITEM,GROUP{}",
        shown(alone),
        file.path.display(),
        groups.padded_hint(alone)
    );
    Error::data(Place::file(&file.path), problem)
}

/// Gives the group of the nearest listed ancestor to names that are not listed.
fn inherit(names: &[String], groups: &mut Groups, inheritance: &Inheritance) -> usize {
    let found: BTreeMap<&String, String> = names
        .iter()
        .filter(|name| !groups.group_of.contains_key(*name))
        .filter_map(|name| {
            let ancestor = inheritance.nearest(name, |ancestor| groups.group_of.contains_key(ancestor))?;
            Some((name, groups.group_of[ancestor].clone()))
        })
        .collect();
    let n_found = found.len();
    groups.group_of.extend(found.into_iter().map(|(name, group)| (name.clone(), group)));
    n_found
}

/// Descriptions of items.
#[derive(Debug, Default)]
pub(super) struct Descriptions {
    pub(super) text_of: HashMap<String, String>,
    /// Items with several descriptions, of which the first is used.
    ambiguous: HashSet<String>,
    /// How many items there are, for messages.
    listed: String,
}

/// Reads the descriptions of items.
pub(super) fn read_descriptions(file: &ItemFile) -> Result<Descriptions> {
    let purpose = super::item_file::Purpose {
        option: "read.descriptions",
        items: &["item", "code", "concept_id"],
        others: &["text", "description", "concept_name"],
    };
    let mut descriptions = Descriptions::default();
    let pairs = super::item_file::read_pairs(file, &purpose)?;
    for [item, text] in pairs.pairs {
        // Line breaks and tabs would break what is printed.
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        match descriptions.text_of.get(&item) {
            Some(first) if *first != text => drop(descriptions.ambiguous.insert(item)),
            Some(_) => {}
            None => drop(descriptions.text_of.insert(item, text)),
        }
    }
    descriptions.listed = listed(descriptions.text_of.len(), pairs.may_begin_with_header);
    Ok(descriptions)
}

/// A number of items, as in `none of its …`; a first line that is perhaps a header is no item, but a name.
pub(super) fn listed(n_items: usize, may_begin_with_header: bool) -> String {
    if may_begin_with_header { format!("{} in the first column", counted(n_items, "name")) } else { counted(n_items, "item") }
}

/// Says how many names of a schema have no description, and how many have several.
///
/// # Errors
/// If none has one.
pub(super) fn note_undescribed<'a>(
    names: impl Iterator<Item = &'a str>,
    file: &ItemFile,
    descriptions: &Descriptions,
) -> Result<Vec<String>> {
    let (with, without): (Vec<&str>, Vec<&str>) = names.partition(|name| descriptions.text_of.contains_key(*name));
    let path = file.path.display();
    if with.is_empty() && !file.is_own {
        let problem = format!(
            "none of its {} is an item of the data, which has {}; name its columns, as in `read.descriptions` {path}:ITEM,TEXT",
            descriptions.listed,
            shown(&without)
        );
        return Err(Error::data(Place::file(&file.path), problem));
    }
    let have = |items: &[&str]| if items.len() == 1 { "has" } else { "have" };
    let several: Vec<&str> = with.into_iter().filter(|name| descriptions.ambiguous.contains(*name)).collect();
    let mut notes = Vec::new();
    if !several.is_empty() {
        let items = counted(several.len(), "item");
        notes.push(format!("{path}: {items} {} several descriptions; the first is used: {}", have(&several), shown(&several)));
    }
    if !without.is_empty() {
        let items = counted(without.len(), "item");
        notes.push(format!("{path}: {items} {} no description: {}", have(&without), shown(&without)));
    }
    Ok(notes)
}

impl Groups {
    /// A hint if names would match with leading zeros, which programs that read codes as numbers drop.
    pub(super) fn padded_hint(&self, alone: &[&str]) -> String {
        let padded = |name: &str| (1..=2).map(|n_zeros| "0".repeat(n_zeros) + name).find(|code| self.group_of.contains_key(code));
        let mut found = alone.iter().filter_map(|name| Some((name, padded(name)?)));
        let Some((name, code)) = found.next() else { return String::new() };
        let (name, code) = (Shortened(name), Shortened(&code));
        format!("; {} of them would be found with leading zeros, such as {name:?} as {code:?}", found.count() + 1)
    }
}
