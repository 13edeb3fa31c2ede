//! Notes for the user on how columns were interpreted.

use super::events_like::{EventsLook, LooksLike};
use super::infer::Profile;
use super::options::KindOverride;
use super::overrides::Told;
use super::plan::Columns;
use super::told::{na, told};
use crate::error::{Error, Result, Shortened};

/// Columns that a note names; of more it says how many.
const SHOWN: usize = 5;

/// Notes about the columns of one table, in order. Columns with the same issue share a note.
#[derive(Debug, Default)]
pub(super) struct Notes {
    notes: Vec<String>,
    perhaps_counts: Vec<String>,
    binarised: Vec<String>,
    /// Columns by the numbers that may mean missing in them, in order.
    missing_codes: Vec<(Vec<i64>, Vec<String>)>,
}

impl Notes {
    /// Notes that the table looks like long events, if it does.
    ///
    /// # Errors
    /// [`Error::Data`] if it certainly is: a model of it would be meaningless.
    pub(super) fn look_for_events(&mut self, look: Option<&EventsLook>, columns: &Columns<'_>) -> Result<()> {
        let Some(LooksLike { id, code, is_certain }) = look.and_then(|look| look.verdict(columns.names)) else { return Ok(()) };
        let (id, code) = (&columns.names[id], &columns.names[code]);
        let problem = format!(
            "this looks like events, one per line: column {:?} repeats its ids and {:?} holds codes; add `read.events` {id},{code} to get one row per id, or say what the columns are, such as {}",
            Shortened(id),
            Shortened(code),
            told(id, "ignore")
        );
        if is_certain {
            return Err(Error::data(columns.place.clone(), problem));
        }
        self.notes.push(problem);
        Ok(())
    }

    /// Adds a column that is a variable.
    pub(super) fn add(&mut self, name: &str, profile: &Profile, n_rows: u64, by_user: &Told, joined: Option<String>) {
        let name = Shortened(name);
        if by_user.kind.is_none() {
            self.notes.extend(profile.oddities(n_rows, name.0).into_iter().map(|oddity| format!("column {name:?} {oddity}")));
            let codes = profile.missing_codes();
            match self.missing_codes.iter_mut().find(|it| it.0 == codes) {
                Some((_, columns)) => columns.push(name.0.to_owned()),
                None if codes.is_empty() => {}
                None => self.missing_codes.push((codes, vec![name.0.to_owned()])),
            }
            if profile.perhaps_counts() {
                self.perhaps_counts.push(name.0.to_owned());
            }
        }
        if by_user.kind == Some(KindOverride::Binary) && by_user.labels.is_none() && profile.is_binarised() {
            self.binarised.push(name.0.to_owned());
        }
        self.joined(name.0, joined);
    }

    /// Adds a note about merged labels.
    pub(super) fn joined(&mut self, name: &str, joined: Option<String>) {
        self.notes.extend(joined.map(|joined| format!("column {:?} {joined}", Shortened(name))));
    }

    pub(super) fn finish(mut self) -> Vec<String> {
        let any_of = |names: &[String]| if let [name] = names { name.clone() } else { "NAME".to_owned() };
        for (codes, names) in &self.missing_codes {
            let codes: Vec<String> = codes.iter().map(i64::to_string).collect();
            let shown = match codes.split_last() {
                Some((last, others @ [_, ..])) => format!("{} and {last}", others.join(", ")),
                _ => codes.join(""),
            };
            let (have, each) = if names.len() == 1 { ("has", "") } else { ("have", " for each") };
            let columns = listed(names).unwrap_or_default();
            let option = na(&any_of(names), &codes.join(","));
            self.notes.push(format!(
                "{columns} {have} values far from the others ({shown}), which may mean missing; if so, add {option}{each}"
            ));
        }
        if let Some(columns) = listed(&self.perhaps_counts) {
            let count = told(&any_of(&self.perhaps_counts), "count");
            self.notes
                .push(format!("{columns}: a few whole numbers from 0 up are read as labels; if they are counts, add {count}"));
        }
        if let Some(columns) = listed(&self.binarised) {
            let name = any_of(&self.binarised);
            let (categorical, count) = (told(&name, "categorical"), told(&name, "count"));
            self.notes.push(format!(
                "{columns}: as binary, every number above 0 counts as 1; use {categorical} or {count} to tell them apart"
            ));
        }
        self.notes
    }
}

/// The first of some columns, and how many more there are; nothing of none.
fn listed(names: &[String]) -> Option<String> {
    let shown: Vec<String> = names.iter().take(SHOWN).map(|name| format!("{:?}", Shortened(name))).collect();
    let shown = shown.join(", ");
    match names.len() {
        0 => None,
        1 => Some(format!("column {shown}")),
        2..=SHOWN => Some(format!("columns {shown}")),
        n => Some(format!("columns {shown} and {} more", n - SHOWN)),
    }
}

/// The first of some names, quoted, as the end of a message.
pub(super) fn shown(names: &[&str]) -> String {
    let first: Vec<String> = names.iter().take(SHOWN).map(|name| format!("{:?}", Shortened(name))).collect();
    format!("{}{}", first.join(", "), if names.len() > SHOWN { ", …" } else { "" })
}
