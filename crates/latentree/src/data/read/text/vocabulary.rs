//! The words of a collection of documents, counted, and which of them are columns.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

use super::options::TextOptions;
use super::stop_words::{StopList, StopWords, languages};
use super::words::Words;
use crate::data::read::TextEncoding;
use crate::error::{Error, Place, Result};
use crate::named::counted;

/// Share of all words that a language's stop words must be for `auto` to choose it.
const LEAST_STOP_SHARE: f64 = 0.2;

/// A quick hash of short words. Nothing depends on the order of a map, and documents of an adversary at worst are slow.
#[derive(Debug, Default, Clone)]
pub(super) struct WordHasher(u64);

impl Hasher for WordHasher {
    fn write(&mut self, bytes: &[u8]) {
        const FACTOR: u64 = 0x517c_c1b7_2722_0a95;
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.0 = (self.0.rotate_left(5) ^ u64::from_le_bytes(word)).wrapping_mul(FACTOR);
        }
    }

    fn finish(&self) -> u64 {
        // The upper bits are the best mixed ones; a table takes its place from the lower ones.
        self.0 ^ (self.0 >> 32)
    }
}

pub(super) type WordMap = HashMap<Box<str>, u32, BuildHasherDefault<WordHasher>>;

/// The words of a document: those that were known, and those that were not, each with its count.
pub(super) struct Counted {
    known: Vec<(u32, u32)>,
    new: Vec<(Box<str>, u32)>,
    n_words: u64,
}

/// Counts the words of a text.
pub(super) fn count(text: &str, words: &mut Words, known: &WordMap, with_new: bool) -> Counted {
    let mut ids: Vec<u32> = Vec::new();
    let mut new: WordMap = WordMap::default();
    let mut order: Vec<Box<str>> = Vec::new();
    let mut counts: Vec<u32> = Vec::new();
    let mut n_words = 0;
    words.each(text, |word| {
        n_words += 1;
        if let Some(&id) = known.get(word) {
            ids.push(id);
        } else if with_new {
            match new.get(word) {
                Some(&at) => counts[at as usize] = counts[at as usize].saturating_add(1),
                None => {
                    new.insert(word.into(), order.len() as u32);
                    order.push(word.into());
                    counts.push(1);
                }
            }
        }
    });
    ids.sort_unstable();
    let mut cells: Vec<(u32, u32)> = Vec::new();
    for id in ids {
        match cells.last_mut() {
            Some(last) if last.0 == id => last.1 = last.1.saturating_add(1),
            _ => cells.push((id, 1)),
        }
    }
    Counted { known: cells, new: order.into_iter().zip(counts).collect(), n_words }
}

impl Counted {
    /// The cells of the words that were known.
    pub(super) fn cells(self) -> Vec<(u32, u32)> {
        self.known
    }
}

/// All words, numbered as they first came.
#[derive(Debug, Default)]
pub(super) struct Vocabulary {
    pub(super) ids: WordMap,
    words: Vec<Box<str>>,
    /// Documents that have the word, and its occurrences.
    documents: Vec<u64>,
    occurrences: Vec<u64>,
    pub(super) n_documents: u64,
    pub(super) n_words: u64,
}

impl Vocabulary {
    /// Adds a document; gives its cells.
    pub(super) fn add(&mut self, document: Counted) -> Result<Vec<(u32, u32)>> {
        let Counted { known: mut cells, new, n_words } = document;
        let n_known = cells.len();
        for (word, count) in new {
            let next = self.words.len();
            let id = match self.ids.get(&word) {
                Some(&id) => id,
                None if next >= u32::MAX as usize - 1 => {
                    return Err(Error::data(Place::default(), "more words than can be read"));
                }
                None => {
                    self.ids.insert(word.clone(), next as u32);
                    self.words.push(word);
                    self.documents.push(0);
                    self.occurrences.push(0);
                    next as u32
                }
            };
            cells.push((id, count));
        }
        if cells.len() > n_known {
            cells.sort_unstable();
        }
        for &(id, count) in &cells {
            self.documents[id as usize] += 1;
            self.occurrences[id as usize] += u64::from(count);
        }
        self.n_documents += 1;
        self.n_words += n_words;
        Ok(cells)
    }

    /// The words that are columns, in alphabetic order, and what the user should know.
    pub(super) fn choose(&self, options: &TextOptions, encoding: Option<TextEncoding>) -> Result<(Vec<Box<str>>, Vec<String>)> {
        let mut notes = Vec::new();
        let stop = self.stop_words(&options.stop, encoding, &mut notes)?;
        let mut kept: Vec<usize> = (0..self.words.len()).filter(|&ix| !stop.contains(&*self.words[ix])).collect();
        if let Some(share) = options.coverage {
            let total: u64 = kept.iter().map(|&ix| self.occurrences[ix]).sum();
            kept.sort_by(|&a, &b| self.occurrences[b].cmp(&self.occurrences[a]).then_with(|| self.words[a].cmp(&self.words[b])));
            let (mut covered, wanted, before) = (0, share * total as f64, kept.len());
            let enough = kept.iter().position(|&ix| {
                let is_enough = covered as f64 >= wanted;
                covered += self.occurrences[ix];
                is_enough
            });
            kept.truncate(enough.unwrap_or(kept.len()));
            notes.push(format!(
                "the {} most frequent of {before} words make {:.0}% of all occurrences",
                kept.len(),
                100.0 * share
            ));
        }
        let (least, most) = (options.least_documents(self.n_documents), options.most_documents(self.n_documents));
        let before = kept.len();
        kept.retain(|&ix| self.documents[ix] >= least && self.documents[ix] <= most);
        if kept.len() < before {
            let limits = match (least, most) {
                (least, u64::MAX) => format!("in fewer than {least} documents"),
                (0 | 1, most) => format!("in more than {}", counted(most, "document")),
                (least, most) => format!("in fewer than {least} or more than {}", counted(most, "document")),
            };
            let n_out = before - kept.len();
            let are = if n_out == 1 { "is" } else { "are" };
            notes.push(format!("{n_out} of {} {are} {limits} and left out", counted(before as u64, "word")));
        }
        let mut words: Vec<Box<str>> = kept.into_iter().map(|ix| self.words[ix].clone()).collect();
        words.sort_unstable();
        Ok((words, notes))
    }

    /// Cells and occurrences of the words that have a place.
    pub(super) fn covered(&self, places: &[u32]) -> (u64, u64) {
        let placed = places.iter().enumerate().filter(|(_, place)| **place != u32::MAX);
        placed.fold((0, 0), |(cells, words), (id, _)| (cells + self.documents[id], words + self.occurrences[id]))
    }

    fn stop_words(&self, stop: &StopWords, encoding: Option<TextEncoding>, notes: &mut Vec<String>) -> Result<HashSet<String>> {
        let share = |list: &HashSet<String>| {
            let found = list.iter().filter_map(|word| self.ids.get(word.as_str()));
            let occurrences: u64 = found.map(|&id| self.occurrences[id as usize]).sum();
            if self.n_words > 0 { occurrences as f64 / self.n_words as f64 } else { 0.0 }
        };
        let (name, list) = match stop {
            StopWords::None => return Ok(HashSet::new()),
            StopWords::Lists(lists) => {
                let mut all = HashSet::new();
                for list in lists {
                    all.extend(list.words(encoding)?);
                }
                (stop.to_string(), all)
            }
            StopWords::Auto => {
                let mut best: Option<(f64, &str, HashSet<String>)> = None;
                for language in languages() {
                    let list = StopList::Language(language).words(None)?;
                    let covers = share(&list);
                    if covers >= LEAST_STOP_SHARE && best.as_ref().is_none_or(|best| covers > best.0) {
                        best = Some((covers, language, list));
                    }
                }
                match best {
                    Some((_, language, list)) => (language.to_owned(), list),
                    None => return Ok(HashSet::new()),
                }
            }
        };
        notes.push(format!(
            "stop words of {name} are left out: {:.0}% of all occurrences (`read.stop` none keeps them)",
            100.0 * share(&list)
        ));
        Ok(list)
    }
}
