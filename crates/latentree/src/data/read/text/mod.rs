//! Text as a table of word counts: a document is a row, a word a column.
//!
//! Documents are files, pieces of files that begin where a line matches, cells of a column, or texts in memory. They are read
//! in chunks; the words of a chunk are counted on all cores. The first pass numbers all words and counts their documents and
//! occurrences, the vocabulary is chosen from that, and the rows are the counts of its words. Counts are kept for the first
//! pass over the rows if they fit; otherwise the text is read again, so that a collection may be larger than memory.

mod documents;
mod options;
mod stop_words;
mod vocabulary;
mod words;

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use rayon::prelude::*;

use self::documents::Documents;
pub use self::options::{DocumentLimit, TextOptions};
pub use self::stop_words::{StopList, StopWords};
use self::vocabulary::{Vocabulary, WordMap, count};
use self::words::Words;
use super::clinical::ClinicalFormat;
use super::input::Input;
use super::items::idle_note;
use super::notes::shown;
use super::options::ReadOptions;
use super::sparse::{RowSource, Scan, SparseFile, changed};
use super::unseen::UnseenPolicy;
use crate::error::{Error, Result};
use crate::named::counted;

/// Bytes of a cell that is kept.
const CELL_BYTES: u64 = 8;
/// Bytes of counts that are kept in any case.
const LEAST_KEPT: u64 = 64 << 20;

/// The names of documents, and what is kept with them, in the order of the rows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DocumentNames {
    /// Names; `None` for the rows of a table without ids.
    names: Vec<Option<Box<str>>>,
    /// The cells of the columns of [`TextOptions::keep`].
    kept: Vec<Vec<Option<Box<str>>>>,
    /// What to know of names that were changed.
    note: Option<String>,
}

impl DocumentNames {
    /// Numbers documents whose names are the same, unless these are ids of the user.
    fn tell_apart(&mut self, are_ids: bool) {
        if are_ids {
            return;
        }
        let mut n_of: HashMap<Box<str>, usize> = HashMap::new();
        self.names.iter().flatten().for_each(|name| *n_of.entry(name.clone()).or_insert(0) += 1);
        let n_same: usize = n_of.values().filter(|&&n| n > 1).sum();
        let mut taken: HashSet<Box<str>> = n_of.keys().cloned().collect();
        let mut met: HashMap<Box<str>, usize> = HashMap::new();
        let mut example = None;
        for name in self.names.iter_mut().flatten().filter(|name| n_of[*name] > 1) {
            let nth = met.entry(name.clone()).or_insert(0);
            *nth += 1;
            while *nth > 1 {
                let numbered = format!("{name} ({nth})").into_boxed_str();
                if taken.insert(numbered.clone()) {
                    example.get_or_insert_with(|| numbered.clone());
                    *name = numbered;
                    break;
                }
                *nth += 1;
            }
        }
        self.note = example
            .map(|example| format!("{n_same} documents share their names with others and are numbered, as in {example:?}"));
    }

    /// Number of documents.
    #[must_use]
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The name of a document, or its number from 1.
    ///
    /// # Panics
    /// If there is no such document.
    #[must_use]
    pub fn name(&self, document: usize) -> String {
        self.names[document].as_deref().map_or_else(|| (document + 1).to_string(), str::to_owned)
    }

    /// The cell of a document in a column of [`TextOptions::keep`]; `None` if it is empty.
    #[must_use]
    pub fn kept(&self, document: usize, column: usize) -> Option<&str> {
        self.kept.get(document)?.get(column)?.as_deref()
    }
}

/// Text that can be opened again with other options.
#[derive(Clone)]
pub(super) struct TextInput {
    from: From,
    found: Arc<Mutex<Found>>,
}

#[derive(Clone)]
enum From {
    Paths(Vec<PathBuf>),
    Texts(Arc<Vec<String>>, Option<Arc<Vec<String>>>),
}

/// What the first pass found.
#[derive(Default)]
struct Found {
    digest: Option<String>,
    notes: Vec<String>,
    names: Arc<DocumentNames>,
}

impl TextInput {
    pub(super) fn of_paths(paths: Vec<PathBuf>) -> Self {
        Self { from: From::Paths(paths), found: Arc::default() }
    }

    pub(super) fn of_texts(texts: Vec<String>, names: Option<Vec<String>>) -> Self {
        Self { from: From::Texts(Arc::new(texts), names.map(Arc::new)), found: Arc::default() }
    }

    /// Where the text is, for messages.
    pub(super) fn path(&self) -> PathBuf {
        match &self.from {
            From::Paths(paths) => paths.first().cloned().unwrap_or_default(),
            From::Texts(..) => PathBuf::new(),
        }
    }

    pub(super) fn digest(&self) -> Option<String> {
        self.found().digest.clone()
    }

    pub(super) fn notes(&self) -> Vec<String> {
        self.found().notes.clone()
    }

    pub(super) fn names(&self) -> Arc<DocumentNames> {
        Arc::clone(&self.found().names)
    }

    fn found(&self) -> std::sync::MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Looks through all documents, and chooses the words.
    pub(super) fn open(&self, options: &ReadOptions) -> Result<(SparseFile, Arc<Input>)> {
        let text = options.text.as_deref().cloned().unwrap_or_default();
        text.check()?;
        refuse(options)?;
        let documents = match &self.from {
            From::Paths(paths) => Documents::open(paths, &text, options)?,
            From::Texts(texts, names) => Documents::of_texts(Arc::clone(texts), names.clone()),
        };
        let input = Arc::new(Input::of_parts(&documents.place()));
        let key_name = documents.key_name(options);
        let mut source = TextRows {
            documents,
            columns: WordMap::default(),
            names: Arc::default(),
            kept: None,
            waiting: Vec::new(),
            next: 0,
            key: String::new(),
            input: Arc::clone(&input),
        };
        let (vocabulary, mut kept, mut names) = source.look_through(options.keep_bytes.max(LEAST_KEPT))?;
        if vocabulary.n_documents == 0 {
            return Err(Error::data(input.place(), "there are no documents"));
        }
        let mut notes = source.documents.notes();
        notes.extend(names.note.take());
        let words: Vec<Box<str>> = match &options.schema {
            None => {
                let (words, chosen) = vocabulary.choose(&text, options.encoding)?;
                notes.extend(chosen);
                words
            }
            // The words are the model's.
            Some(schema) => {
                let set = [
                    ("read.min_df", text.min_df.is_some()),
                    ("read.max_df", text.max_df.is_some()),
                    ("read.coverage", text.coverage.is_some()),
                ];
                notes.extend(idle_note(set.into_iter().filter_map(|(option, is_set)| is_set.then_some(option))));
                let known = schema.columns().iter().map(|column| column.name.as_str());
                known.filter(|word| vocabulary.ids.contains_key(*word)).map(Into::into).collect()
            }
        };
        if words.is_empty() && options.schema.is_none() {
            let problem = if vocabulary.ids.is_empty() {
                "there are no words in the documents; words are runs of letters and digits with at least one letter".to_owned()
            } else {
                format!(
                    "none of {} words is left; choose other values of `read.stop`, `read.min_df`, `read.max_df` or `read.coverage`",
                    vocabulary.ids.len()
                )
            };
            return Err(Error::data(input.place(), problem));
        }
        source.columns = words.iter().cloned().zip(0..).collect();
        let places: Vec<u32> = {
            let mut places = vec![u32::MAX; vocabulary.ids.len()];
            source.columns.iter().for_each(|(word, &column)| {
                if let Some(&id) = vocabulary.ids.get(word) {
                    places[id as usize] = column;
                }
            });
            places
        };
        let (n_cells, n_known) = vocabulary.covered(&places);
        if let (Some(schema), Some(UnseenPolicy::Error)) = (&options.schema, options.unseen)
            && n_known < vocabulary.n_words
        {
            let mut unknown: Vec<&str> = vocabulary.ids.keys().map(|word| &**word).collect();
            unknown.retain(|word| schema.find_data_column(word).is_none());
            unknown.sort_unstable();
            let problem = format!(
                "{} unknown to the model: {}; leave them out of the text, or read them as missing",
                if unknown.len() == 1 { "1 word is".to_owned() } else { format!("{} words are", unknown.len()) },
                shown(&unknown)
            );
            return Err(Error::data(input.place(), problem));
        }
        if options.schema.is_some() && vocabulary.n_words > 0 && n_known < vocabulary.n_words {
            let share = 100.0 * (1.0 - n_known as f64 / vocabulary.n_words as f64);
            notes.push(format!("{share:.0}% of the words of the documents are not among the model's and are ignored"));
        }
        if let Some(kept) = &mut kept {
            kept.place(&places);
            let n_empty = (0..kept.ends.len()).filter(|&row| kept.row(row).is_empty()).count();
            if n_empty > 0 {
                let (have, zeros) = match n_empty {
                    1 => ("has", "it is a row of zeros"),
                    _ => ("have", "they are rows of zeros"),
                };
                let documents = counted(vocabulary.n_documents, "document");
                notes.push(format!("{n_empty} of {documents} {have} none of the words; {zeros}"));
            }
        }
        let scan = Scan::of_counts(vocabulary.n_documents, n_cells, words.len() as u32);
        source.names = Arc::new(names);
        *self.found() = Found { digest: source.documents.digest(), notes, names: Arc::clone(&source.names) };
        source.documents.rewind()?;
        source.kept = kept;
        let names = words.into_iter().map(String::from).collect();
        let file = SparseFile {
            source: Box::new(source),
            scan,
            names,
            named: true,
            is_open: true,
            // A model of present words takes any count as one.
            is_presence: options.schema.is_some(),
            key_name: Some(key_name),
            notes: Vec::new(),
            only: None,
        };
        Ok((file, input))
    }
}

/// Refuses what says how tables are read.
fn refuse(options: &ReadOptions) -> Result<()> {
    let is_table = options.text.as_deref().is_some_and(|text| text.column.is_some());
    let problem = "this option is for tables and events, but text has one column for each word; leave it out";
    let given = [
        ("read.events", options.events.is_some()),
        ("read.meds", matches!(options.clinical, Some(ClinicalFormat::Meds { .. }))),
        ("read.omop", matches!(options.clinical, Some(ClinicalFormat::Omop))),
        ("read.names", options.names.is_some() && !is_table),
        ("read.weights", options.weights.is_some()),
        ("read.no_header", !options.header && !is_table),
    ];
    match given.iter().find(|it| it.1) {
        Some((option, _)) => Err(Error::option(*option, problem)),
        None => Ok(()),
    }
}

/// Rows of word counts.
struct TextRows {
    documents: Documents,
    columns: WordMap,
    names: Arc<DocumentNames>,
    kept: Option<KeptCounts>,
    /// Rows that were counted and not used yet, last first.
    waiting: Vec<Vec<(u32, u32)>>,
    next: usize,
    /// The name of the last document.
    key: String,
    input: Arc<Input>,
}

/// Counts kept for the first pass over the rows.
#[derive(Default)]
struct KeptCounts {
    cells: Vec<(u32, u32)>,
    ends: Vec<usize>,
    is_begun: bool,
}

impl KeptCounts {
    /// Turns numbers of words into columns.
    fn place(&mut self, places: &[u32]) {
        let mut to = 0;
        let mut from = 0;
        for end in &mut self.ends {
            let begin = to;
            while from < *end {
                let (id, count) = self.cells[from];
                if places[id as usize] != u32::MAX {
                    self.cells[to] = (places[id as usize], count);
                    to += 1;
                }
                from += 1;
            }
            self.cells[begin..to].sort_unstable();
            *end = to;
        }
        self.cells.truncate(to);
    }

    fn row(&self, row: usize) -> &[(u32, u32)] {
        let begin = if row == 0 { 0 } else { self.ends[row - 1] };
        &self.cells[begin..self.ends[row]]
    }
}

impl TextRows {
    /// Counts all words; keeps the counts if they fit in this many bytes.
    fn look_through(&mut self, keep_bytes: u64) -> Result<(Vocabulary, Option<KeptCounts>, DocumentNames)> {
        let mut vocabulary = Vocabulary::default();
        let mut kept = (keep_bytes > 0).then(KeptCounts::default);
        let mut names = DocumentNames::default();
        loop {
            let chunk = self.documents.next_chunk()?;
            if chunk.is_empty() {
                names.tell_apart(self.documents.are_ids());
                return Ok((vocabulary, kept, names));
            }
            let known = &vocabulary.ids;
            let counted: Vec<_> = chunk
                .par_iter()
                .map_init(Words::default, |words, document| Ok(count(&document.text()?, words, known, true)))
                .collect();
            for (counted, document) in counted.into_iter().zip(chunk) {
                let cells = vocabulary.add(counted?)?;
                if let Some(keeping) = &mut kept {
                    keeping.cells.extend_from_slice(&cells);
                    keeping.ends.push(keeping.cells.len());
                    if (keeping.cells.len() + keeping.ends.len()) as u64 * CELL_BYTES > keep_bytes {
                        kept = None;
                    }
                }
                names.names.push(document.name);
                if !document.kept.is_empty() {
                    names.kept.push(document.kept);
                }
            }
        }
    }
}

impl RowSource for TextRows {
    fn next_row(&mut self, row: &mut Vec<(u32, f64)>) -> Result<bool> {
        let number = |&(column, count): &(u32, u32)| (column, f64::from(count));
        if let Some(kept) = &mut self.kept {
            kept.is_begun = true;
            if self.next >= kept.ends.len() {
                *kept = KeptCounts { is_begun: true, ..KeptCounts::default() };
                return Ok(false);
            }
            row.extend(kept.row(self.next).iter().map(number));
            self.key = self.names.name(self.next);
            self.next += 1;
            return Ok(true);
        }
        if self.waiting.is_empty() {
            let chunk = self.documents.next_chunk()?;
            let columns = &self.columns;
            let counted: Result<Vec<_>> = chunk
                .par_iter()
                .map_init(Words::default, |words, document| Ok(count(&document.text()?, words, columns, false).cells()))
                .collect();
            self.waiting = counted?;
            self.waiting.reverse();
        }
        let Some(cells) = self.waiting.pop() else { return Ok(false) };
        if self.next >= self.names.len() {
            return Err(changed(self.input.place()));
        }
        row.extend(cells.iter().map(number));
        self.key = self.names.name(self.next);
        self.next += 1;
        Ok(true)
    }

    fn rewind(&mut self) -> Result<()> {
        self.next = 0;
        if self.kept.as_ref().is_some_and(|kept| !kept.is_begun) {
            return Ok(());
        }
        self.kept = None;
        self.waiting.clear();
        self.documents.rewind()
    }

    fn key(&self) -> Option<&[u8]> {
        Some(self.key.as_bytes())
    }
}
