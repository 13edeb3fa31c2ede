//! Which items of a sparse table, and which of its rows, are read.
//!
//! The order is: items by name (`codes`), roll-up, rows by id (`subjects`), items by frequency, rows by their number of items. Filters of
//! items never remove rows: a row without a remaining item is a row of zeros.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;

use super::input::Input;
use super::item_file::read_list;
use super::notes::shown;
use super::options::ReadOptions;
use super::parts::glob_matches;
use super::rollup::Rollup;
use super::sparse::{Held, KeptRows, RowSource, Scan, SparseFile, tidy};
use crate::counted;
use crate::data::Schema;
use crate::error::{Error, Result};

/// Which items of a sparse table or of events are read, and which rows.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct ItemFilter {
    /// Patterns of item names (`*`, `?`, `[…]`), one of which must match; all items if there are none.
    pub codes: Vec<String>,
    /// Rows that must have an item.
    pub min_rows: Option<u64>,
    /// Largest share of the rows that may have an item.
    pub max_share: Option<f64>,
    /// The most frequent items until they make this share of all occurrences.
    pub coverage: Option<f64>,
    /// Items that a row must have, of those that remain.
    pub min_items: Option<u64>,
    /// A file of row ids, one a line: other rows are not read, and ids without items are rows of zeros.
    pub subjects: Option<PathBuf>,
}

impl ItemFilter {
    /// The path of an option that is set, if one is.
    pub(super) fn first_set(&self) -> Option<&'static str> {
        [
            ("read.codes", !self.codes.is_empty()),
            ("read.min_rows", self.min_rows.is_some()),
            ("read.max_share", self.max_share.is_some()),
            ("read.coverage", self.coverage.is_some()),
            ("read.min_items", self.min_items.is_some()),
            ("read.subjects", self.subjects.is_some()),
        ]
        .into_iter()
        .find_map(|(option, is_set)| is_set.then_some(option))
    }

    /// The options that are set and have no effect with a model, which determines the items.
    fn idle(&self) -> impl Iterator<Item = &'static str> {
        let set = [
            ("read.min_rows", self.min_rows.is_some()),
            ("read.max_share", self.max_share.is_some()),
            ("read.coverage", self.coverage.is_some()),
        ];
        set.into_iter().filter_map(|(option, is_set)| is_set.then_some(option))
    }

    /// Whether an item's name matches a pattern, or there are none.
    fn matches(&self, name: &str) -> bool {
        self.codes.is_empty() || self.codes.iter().any(|pattern| glob_matches(pattern, name))
    }

    fn check(&self) -> Result<()> {
        for (option, share) in [("read.max_share", self.max_share), ("read.coverage", self.coverage)] {
            if let Some(share) = share.filter(|share| !(*share > 0.0 && *share <= 1.0)) {
                return Err(Error::option(option, format!("{share} is not a share above 0 and up to 1, such as 0.9")));
            }
        }
        Ok(())
    }
}

/// Rows of a source with other columns, some rows left out and others added.
struct Refined {
    source: Box<dyn RowSource>,
    change: Change,
    /// Ids of rows that the source does not have.
    added: Vec<Vec<u8>>,
    next_added: usize,
}

/// What becomes of a row.
struct Change {
    /// The new column of each column; `u32::MAX` if it is dropped.
    targets: Vec<u32>,
    subjects: Option<HashSet<Vec<u8>>>,
    min_items: usize,
    /// Which of the new columns count as items; all if there are none.
    counts: Vec<bool>,
}

const DROPPED: u32 = u32::MAX;

impl Change {
    fn takes(&self, key: Option<&[u8]>) -> bool {
        self.subjects.as_ref().is_none_or(|subjects| key.is_some_and(|key| subjects.contains(key)))
    }

    /// Puts the row into its new columns; whether it has enough items.
    fn apply(&self, row: &mut Vec<(u32, f64)>) -> bool {
        row.retain_mut(|(column, _)| {
            // A column that the file did not have when it was looked through is told by the reader.
            *column = self.targets.get(*column as usize).copied().unwrap_or(DROPPED - 1);
            *column != DROPPED
        });
        tidy(row);
        self.has_enough(row)
    }

    fn has_enough(&self, row: &[(u32, f64)]) -> bool {
        let counts = |column: u32| self.counts.get(column as usize).copied().unwrap_or(true);
        self.min_items == 0 || row.iter().filter(|(column, _)| counts(*column)).count() >= self.min_items
    }
}

impl RowSource for Refined {
    fn next_row(&mut self, row: &mut Vec<(u32, f64)>) -> Result<bool> {
        loop {
            row.clear();
            if !self.source.next_row(row)? {
                break;
            }
            if self.change.takes(self.source.key()) && self.change.apply(row) {
                return Ok(true);
            }
        }
        row.clear();
        self.next_added += 1;
        Ok(self.next_added <= self.added.len())
    }

    fn rewind(&mut self) -> Result<()> {
        self.next_added = 0;
        self.source.rewind()
    }

    fn key(&self) -> Option<&[u8]> {
        match self.next_added.checked_sub(1) {
            Some(added) => self.added.get(added).map(Vec::as_slice),
            None => self.source.key(),
        }
    }
}

/// What a look through the rows found.
struct Found {
    n_rows: u64,
    /// For each name, the rows that have it, and the sum of its values.
    rows_with: Vec<u64>,
    sums: Vec<f64>,
    /// The rows in their new columns, if they fit.
    kept: Option<Held>,
    added: Vec<Vec<u8>>,
}

/// The file with the items and rows that the options ask for.
pub(super) fn refined(mut file: SparseFile, input: &Input, options: &ReadOptions) -> Result<SparseFile> {
    let filter = &options.items;
    if filter.first_set().is_none() && options.rollup.is_none() && file.only.is_none() {
        return Ok(file);
    }
    filter.check()?;
    if options.schema.is_some() {
        file.notes.extend(idle_note(filter.idle()));
    }
    let is_read = by_name(&file, input, options)?;
    let rollup = Rollup::of(&file.names, &is_read, options, &input.place())?;
    if let (Some(schema), false) = (&options.schema, filter.codes.is_empty() || !file.named) {
        refuse_excluded(schema, rollup.as_ref(), &file, input, options)?;
    }
    let (names, targets, notes) = match rollup {
        Some(Rollup { names, targets, notes, .. }) => (names, targets, notes),
        None => {
            let kept: Vec<usize> = (0..file.names.len()).filter(|&ix| is_read[ix]).collect();
            let mut targets = vec![None; file.names.len()];
            kept.iter().zip(0..).for_each(|(&ix, target)| targets[ix] = Some(target));
            (kept.iter().map(|&ix| file.names[ix].clone()).collect(), targets, Vec::new())
        }
    };
    file.notes.extend(notes);
    if options.rollup.is_some() {
        // Any of the members is there, if they say no more than that.
        file.is_presence |= file.scan.all_ones();
    }
    let subjects: Option<Vec<String>> = match (&filter.subjects, &file.key_name) {
        (None, _) => None,
        (Some(_), None) => return Err(Error::option("read.subjects", "rows of a sparse file have no ids; use events")),
        (Some(path), Some(key)) => Some(read_list(path, &[key.as_str(), "id", "subject_id", "person_id", "patient_id"])?),
    };
    let is_listed = subjects.is_some();
    let subjects = match (subjects, file.only.take()) {
        (Some(subjects), Some(only)) => {
            let only: HashSet<String> = only.into_iter().collect();
            Some(subjects.into_iter().filter(|id| only.contains(id)).collect())
        }
        (subjects, only) => subjects.or(only),
    };
    let ids = subjects.as_ref().map(|list| list.iter().map(|id| id.as_bytes().to_vec()).collect());
    let targets = targets.into_iter().map(|target| target.unwrap_or(DROPPED)).collect();
    let mut change = Change { targets, subjects: ids, min_items: 0, counts: Vec::new() };
    let keep_bytes = if options.carry_keys { 0 } else { options.keep_bytes };
    let found = look(file.source.as_mut(), &change, names.len(), subjects.as_deref(), keep_bytes)?;
    if let (Some(list), true) = (&subjects, is_listed) {
        file.notes.push(subjects_note(list.len(), &found, filter.subjects.as_deref(), input)?);
    }
    let stays = match &options.schema {
        // A model has decided which items count.
        Some(schema) if file.named => names.iter().map(|name| schema.find_data_column(name).is_some()).collect(),
        Some(_) => vec![true; names.len()],
        None => by_frequency(&names, &found, file.is_presence, filter, &mut file.notes)?,
    };
    // With a model, other items are told as unknown; they only do not count for `min_items`.
    let is_cut = options.schema.is_none();
    let mut place = vec![DROPPED; names.len()];
    let left: Vec<usize> = (0..names.len()).filter(|&ix| stays[ix] || !is_cut).collect();
    left.iter().zip(0..).for_each(|(&ix, new)| place[ix] = new);
    let targets = change.targets.iter().map(|&target| place.get(target as usize).copied().unwrap_or(DROPPED));
    change.targets = targets.collect();
    change.counts = left.iter().map(|&ix| stays[ix]).collect();
    change.min_items = usize::try_from(filter.min_items.unwrap_or(0)).unwrap_or(usize::MAX);
    let kept = found.kept.map(|kept| {
        kept.changed(|row| {
            row.retain_mut(|(column, _)| {
                *column = place[*column as usize];
                *column != DROPPED
            });
            change.has_enough(row)
        })
    });
    let added = if change.min_items > 0 { Vec::new() } else { found.added };
    let n_before = found.n_rows;
    file.names = left.iter().map(|&ix| names[ix].clone()).collect();
    let mut source = Refined { source: file.source, change, added, next_added: 0 };
    (file.source, file.scan) = match kept {
        Some(mut kept) => {
            let scan = Scan::run(&mut kept)?;
            (Box::new(KeptRows::new(kept, Box::new(source))) as Box<dyn RowSource>, scan)
        }
        None => {
            source.rewind()?;
            let scan = Scan::run(&mut source)?;
            (Box::new(source) as Box<dyn RowSource>, scan)
        }
    };
    if let Some(min_items) = filter.min_items.filter(|&n| n > 0) {
        let n_left = file.scan.n_rows;
        if n_left == 0 {
            let problem = format!("no row has {min_items} of the {} that remain; lower it", counted(file.names.len(), "item"));
            return Err(Error::option("read.min_items", problem));
        }
        let (have, are) = if n_left == 1 { ("has", "is") } else { ("have", "are") };
        let (rows, items) = (counted(n_before, "row"), counted(min_items, "item"));
        file.notes.push(format!("{n_left} of {rows} {have} at least {items} and {are} read"));
    }
    Ok(file)
}

/// Says that options have no effect with a model.
pub(super) fn idle_note(options: impl Iterator<Item = &'static str>) -> Option<String> {
    let options: Vec<String> = options.map(|option| format!("`{option}`")).collect();
    let (last, others) = options.split_last()?;
    let (joined, have) = match others {
        [] => (last.clone(), "has"),
        others => (format!("{} and {last}", others.join(", ")), "have"),
    };
    Some(format!("{joined} {have} no effect here: the model determines the columns"))
}

/// The items whose names match.
fn by_name(file: &SparseFile, input: &Input, options: &ReadOptions) -> Result<Vec<bool>> {
    let filter = &options.items;
    let is_read: Vec<bool> = file.names.iter().map(|name| filter.matches(name)).collect();
    // Of a period without events a model can say something.
    let may_be_none = file.names.is_empty() && options.schema.is_some();
    if !is_read.contains(&true) && !filter.codes.is_empty() && !may_be_none {
        let names: Vec<&str> = file.names.iter().map(String::as_str).collect();
        let problem = format!(
            "{} matches none of the {} of {}: {}",
            filter.codes.join(", "),
            counted(names.len(), "item"),
            input.place(),
            shown(&names)
        );
        return Err(Error::option("read.codes", problem));
    }
    Ok(is_read)
}

/// Refuses patterns that exclude columns of a model: they would count as absent in every row.
fn refuse_excluded(
    schema: &Schema,
    rollup: Option<&Rollup>,
    file: &SparseFile,
    input: &Input,
    options: &ReadOptions,
) -> Result<()> {
    let own = schema.columns().iter().map(|column| schema.code_of(&column.name).unwrap_or(&column.name));
    let excluded: Vec<&str> = match rollup {
        None => own.filter(|name| !options.items.matches(name)).collect(),
        // A group is excluded if all of its items are that the data have.
        Some(rollup) => {
            let all = Rollup::of(&file.names, &vec![true; file.names.len()], options, &input.place())?;
            let all: HashSet<String> = all.into_iter().flat_map(|all| all.names).collect();
            let read: HashSet<&str> = rollup.names.iter().map(String::as_str).collect();
            own.filter(|name| all.contains(*name) && !read.contains(name)).collect()
        }
    };
    if excluded.is_empty() {
        return Ok(());
    }
    let problem = match excluded.len() {
        1 => "does not match and would count as absent in every row",
        _ => "do not match and would count as absent in every row",
    };
    let what = counted(schema.columns().len(), "item");
    let patterns = options.items.codes.join(", ");
    let problem = format!("{patterns}: {} of the model's {what} {problem}: {}; leave it out", excluded.len(), shown(&excluded));
    Err(Error::option("read.codes", problem))
}

/// Counts items, and keeps the rows if they fit.
fn look(
    source: &mut dyn RowSource,
    change: &Change,
    n_names: usize,
    subjects: Option<&[String]>,
    keep_bytes: u64,
) -> Result<Found> {
    let keep_bytes = if subjects.is_some() { 0 } else { keep_bytes };
    let mut found = Found {
        n_rows: 0,
        rows_with: vec![0; n_names],
        sums: vec![0.0; n_names],
        kept: (keep_bytes > 0).then(Held::default),
        added: Vec::new(),
    };
    let mut met: HashSet<Vec<u8>> = HashSet::new();
    let mut row = Vec::new();
    loop {
        row.clear();
        if !source.next_row(&mut row)? {
            break;
        }
        if !change.takes(source.key()) {
            continue;
        }
        if let (Some(key), true) = (source.key(), change.subjects.is_some()) {
            met.insert(key.to_vec());
        }
        found.n_rows += 1;
        change.apply(&mut row);
        for &(column, value) in row.iter().filter(|(_, value)| !value.is_nan()) {
            found.rows_with[column as usize] += 1;
            found.sums[column as usize] += value;
        }
        found.kept.iter_mut().for_each(|kept| kept.push(&row));
        found.kept = found.kept.take().filter(|kept| kept.n_bytes() <= keep_bytes);
    }
    let absent = subjects.unwrap_or_default().iter().map(|id| id.as_bytes().to_vec()).filter(|id| met.insert(id.clone()));
    found.added = absent.collect();
    found.n_rows += found.added.len() as u64;
    Ok(found)
}

fn subjects_note(n_listed: usize, found: &Found, path: Option<&std::path::Path>, input: &Input) -> Result<String> {
    let n_added = found.added.len();
    let path = path.map(|path| path.display().to_string()).unwrap_or_default();
    if found.n_rows == n_added as u64 {
        let problem = format!("none of the {} of {path} is a row of {}; are these ids?", counted(n_listed, "id"), input.place());
        return Err(Error::option("read.subjects", problem));
    }
    let zeros = match n_added {
        0 => String::new(),
        1 => "; 1 of them has no event and is a row of zeros".to_owned(),
        n => format!("; {n} of them have no events and are rows of zeros"),
    };
    let are = if found.n_rows == 1 { "is" } else { "are" };
    Ok(format!("{path}: {} listed {are} read{zeros}", counted(found.n_rows as usize, "row")))
}

/// Which of the items are frequent enough, and not too frequent.
fn by_frequency(
    names: &[String],
    found: &Found,
    is_presence: bool,
    filter: &ItemFilter,
    notes: &mut Vec<String>,
) -> Result<Vec<bool>> {
    let mut stays = vec![true; names.len()];
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    let mut drop = |which: &dyn Fn(usize) -> bool, reason: String| {
        let out: Vec<usize> = (0..names.len()).filter(|&ix| stays[ix] && which(ix)).collect();
        out.iter().for_each(|&ix| stays[ix] = false);
        if !out.is_empty() {
            reasons.insert(reason, out.len());
        }
    };
    if let Some(min_rows) = filter.min_rows {
        drop(&|ix| found.rows_with[ix] < min_rows, format!("in fewer than {}", counted(min_rows as usize, "row")));
    }
    if let Some(share) = filter.max_share {
        let most = share * found.n_rows as f64;
        drop(&|ix| found.rows_with[ix] as f64 > most, format!("in more than {} of the rows", percent(share)));
    }
    if let Some(share) = filter.coverage {
        let size = |ix: usize| if is_presence { found.rows_with[ix] as f64 } else { found.sums[ix].max(0.0) };
        let mut order: Vec<usize> = (0..names.len()).collect();
        order.sort_by(|&a, &b| size(b).total_cmp(&size(a)).then_with(|| names[a].cmp(&names[b])));
        let total: f64 = order.iter().map(|&ix| size(ix)).sum();
        let mut sum = 0.0;
        let mut covers: HashMap<usize, ()> = HashMap::new();
        for ix in order {
            if sum >= share * total {
                break;
            }
            sum += size(ix);
            covers.insert(ix, ());
        }
        drop(
            &|ix| !covers.contains_key(&ix),
            format!("beyond the most frequent that make {} of all occurrences", percent(share)),
        );
    }
    let n_left = stays.iter().filter(|&&stays| stays).count();
    let dropped: Vec<String> = reasons.iter().map(|(reason, n)| format!("{n} {reason}")).collect();
    if n_left == 0 {
        let problem = format!("no item remains: of {}, {}", names.len(), dropped.join(", "));
        return Err(Error::option(filter.first_set().unwrap_or("read.min_rows"), problem));
    }
    if n_left < names.len() {
        let are = if n_left == 1 { "is" } else { "are" };
        notes.push(format!("{n_left} of {} {are} read; left out: {}", counted(names.len(), "item"), dropped.join(", ")));
    }
    Ok(stays)
}

fn percent(share: f64) -> String {
    let text = format!("{:.1}", share * 100.0);
    format!("{}%", text.strip_suffix(".0").unwrap_or(&text))
}
