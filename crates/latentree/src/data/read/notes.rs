//! Notes for the user on how columns were interpreted.

use super::events_like::{EventsLook, LooksLike};
use super::infer::Profile;
use super::options::KindOverride;
use super::overrides::Told;
use super::plan::Columns;
use crate::error::{Error, Result, Shortened};

/// Columns that a note names; of more it says how many.
const SHOWN: usize = 5;

/// Notes about the columns of one table, in order. Columns with the same issue share a note.
#[derive(Debug, Default)]
pub(super) struct Notes {
    notes: Vec<String>,
    perhaps_counts: Vec<String>,
    binarised: Vec<String>,
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
            "this looks like events, one per line: column {:?} repeats its ids and {:?} holds codes; add `read.events` {id},{code} to get one row per id, or set the kinds of the columns (`read.kind` {id}=ignore)",
            Shortened(id),
            Shortened(code)
        );
        if is_certain {
            return Err(Error::data(columns.place.clone(), problem));
        }
        self.notes.push(problem);
        Ok(())
    }

    /// Adds a column that is a variable.
    pub(super) fn add(&mut self, name: &str, profile: &Profile, n_rows: u64, told: &Told, joined: Option<String>) {
        let name = Shortened(name);
        if told.kind.is_none() {
            self.notes.extend(profile.oddities(n_rows).into_iter().map(|oddity| format!("column {name:?} {oddity}")));
            if profile.perhaps_counts() {
                self.perhaps_counts.push(format!("{name:?}"));
            }
        }
        if told.kind == Some(KindOverride::Binary) && told.labels.is_none() && profile.is_binarised() {
            self.binarised.push(format!("{name:?}"));
        }
        self.joined(name.0, joined);
    }

    /// Adds a note about merged labels.
    pub(super) fn joined(&mut self, name: &str, joined: Option<String>) {
        self.notes.extend(joined.map(|joined| format!("column {:?} {joined}", Shortened(name))));
    }

    pub(super) fn finish(mut self) -> Vec<String> {
        if let Some(columns) = listed(&self.perhaps_counts) {
            self.notes.push(format!(
                "{columns}: a few whole numbers from 0 up are read as labels; if they are counts, say so (kind count)"
            ));
        }
        if let Some(columns) = listed(&self.binarised) {
            self.notes.push(format!(
                "{columns}: as binary, every number above 0 counts as 1; use kind categorical or count to tell them apart"
            ));
        }
        self.notes
    }
}

/// The first of some columns, and how many more there are; nothing of none.
fn listed(names: &[String]) -> Option<String> {
    let shown = names[..names.len().min(SHOWN)].join(", ");
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
