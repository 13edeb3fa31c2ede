//! The reader of Newick text: one pass with a stack of open nodes, then names and kinds.

use std::collections::HashMap;

use crate::error::{Error, Place, Result, Shortened};
use crate::index::NodeIx;
use crate::tree::{Edge, Node, Observed, Tree};

const FORMAT: &str = "Newick";

/// A node as it stands in the text.
struct Entry<'a> {
    parent: Option<usize>,
    is_tip: bool,
    label: Option<Label<'a>>,
    /// What a `[&hidden]` or `[&observed]` comment says.
    observed: Option<bool>,
    length: Option<f64>,
    support: Option<f64>,
    bootstrap: Option<f64>,
    /// Where the label is, or should be: a byte position.
    at: usize,
}

struct Label<'a> {
    text: std::borrow::Cow<'a, str>,
    is_quoted: bool,
}

/// What may come next in a tree.
#[derive(Clone, Copy, PartialEq)]
enum State {
    /// A subtree: `(` or a label, or an unnamed leaf.
    Subtree,
    /// After a node's children or its opening: its label, `:`, or what ends it.
    Label,
    /// After the label.
    Length,
    /// After the length.
    End,
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    entries: Vec<Entry<'a>>,
}

pub(super) fn read(text: &str, observed: &Observed<'_>) -> Result<Tree> {
    let mut reader = Reader { text, at: 0, entries: Vec::new() };
    if text.starts_with('\u{feff}') {
        reader.at = '\u{feff}'.len_utf8();
    }
    if text[reader.at..].trim_start().get(..6).is_some_and(|start| start.eq_ignore_ascii_case("#nexus")) {
        return Err(reader.fail(reader.at, "this is a NEXUS file; save the tree as Newick"));
    }
    let mut n_trees = 0_usize;
    while reader.skip(None)? {
        reader.tree()?;
        n_trees += 1;
    }
    if n_trees == 0 {
        return Err(reader.fail(reader.at, "there is no tree in it"));
    }
    reader.finish(observed)
}

impl<'a> Reader<'a> {
    fn fail(&self, at: usize, problem: impl AsRef<str>) -> Error {
        let before = &self.text[..at];
        let line = before.bytes().filter(|&byte| byte == b'\n').count() as u64 + 1;
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let character = before[start..].chars().count() + 1;
        Error::format(Place::default().line(line), FORMAT, format!("character {character}: {}", problem.as_ref()))
    }

    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    /// Skips blanks and reads comments, which belong to `node` if there is one; false at the end of the text.
    fn skip(&mut self, node: Option<usize>) -> Result<bool> {
        while let Some(c) = self.peek() {
            if c.is_whitespace() {
                self.at += c.len_utf8();
            } else if c == '[' {
                let start = self.at;
                let mut depth = 0_usize;
                let end = self.text[start..].bytes().position(|byte| {
                    depth = match byte {
                        b'[' => depth + 1,
                        b']' => depth - 1,
                        _ => depth,
                    };
                    depth == 0
                });
                let end = start + end.ok_or_else(|| self.fail(start, "a comment that starts here with [ has no end"))?;
                self.at = end + 1;
                if let (Some(node), Some(fields)) = (node, self.text[start + 1..end].strip_prefix('&')) {
                    self.comment(node, fields, start)?;
                }
            } else {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn comment(&mut self, node: usize, fields: &str, at: usize) -> Result<()> {
        for field in fields.split(',') {
            match field.trim().split_once('=') {
                None if field.trim() == "hidden" => self.entries[node].observed = Some(false),
                None if field.trim() == "observed" => self.entries[node].observed = Some(true),
                Some((key @ ("support" | "bootstrap"), value)) => {
                    let share = value.trim().parse::<f64>().ok().filter(|share| share.is_finite());
                    let problem = || format!("{key} {:?} is not a finite number", Shortened(value.trim()));
                    let share = share.ok_or_else(|| self.fail(at, problem()))?;
                    let entry = &mut self.entries[node];
                    *(if key == "support" { &mut entry.support } else { &mut entry.bootstrap }) = Some(share);
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn open(&mut self, parent: Option<usize>) -> Result<usize> {
        if u32::try_from(self.entries.len()).is_err() {
            return Err(self.fail(self.at, "there are more nodes than can be numbered"));
        }
        let at = self.at;
        self.entries.push(Entry {
            parent,
            is_tip: true,
            label: None,
            observed: None,
            length: None,
            support: None,
            bootstrap: None,
            at,
        });
        Ok(self.entries.len() - 1)
    }

    /// Reads one tree, up to and with its `;`.
    fn tree(&mut self) -> Result<()> {
        let start = self.at;
        let mut opened_at: Vec<usize> = Vec::new();
        let mut node = self.open(None)?;
        let mut state = State::Subtree;
        loop {
            if !self.skip(Some(node))? {
                let problem = match opened_at.last() {
                    Some(&at) => {
                        return Err(self.fail(at, "the parenthesis that opens here is never closed; is the text cut off?"));
                    }
                    None => "the text ends without ';'; is it cut off?",
                };
                return Err(self.fail(self.at, problem));
            }
            let c = self.peek().expect("the text goes on");
            match c {
                '(' if state == State::Subtree => {
                    self.entries[node].is_tip = false;
                    opened_at.push(self.at);
                    self.at += 1;
                    node = self.open(Some(node))?;
                }
                '(' if opened_at.is_empty() => {
                    return Err(self.fail(self.at, "a second root: a tree ends with ';' before the next begins"));
                }
                '(' => return Err(self.fail(self.at, "'(' where ',' or ')' should be")),
                ',' if opened_at.is_empty() => {
                    return Err(self.fail(self.at, "',' outside all parentheses: the tree would have two roots"));
                }
                ',' => {
                    self.at += 1;
                    node = self.open(self.entries[node].parent)?;
                    state = State::Subtree;
                }
                ')' => {
                    if opened_at.pop().is_none() {
                        return Err(self.fail(self.at, "')' without a '(' before it"));
                    }
                    self.at += 1;
                    node = self.entries[node].parent.expect("a node inside parentheses has a parent");
                    self.entries[node].at = self.at;
                    state = State::Label;
                }
                ';' => {
                    if let Some(&at) = opened_at.last() {
                        return Err(self.fail(at, "the parenthesis that opens here is not closed before ';'"));
                    }
                    self.at += 1;
                    let root = &self.entries[node];
                    if root.is_tip && root.label.is_none() {
                        return Err(self.fail(start, "an empty tree: nothing before ';'"));
                    }
                    return Ok(());
                }
                ':' if state != State::End => {
                    let at = self.at;
                    self.at += 1;
                    self.skip(Some(node))?;
                    let number_at = self.at;
                    let word = self.word();
                    let length = word.parse::<f64>();
                    let length = length.map_err(|_| {
                        let found = if word.is_empty() { "no number".to_owned() } else { format!("{:?}", Shortened(word)) };
                        self.fail(
                            if word.is_empty() { at } else { number_at },
                            format!("a length should follow ':', found {found}"),
                        )
                    })?;
                    if !length.is_finite() {
                        return Err(self.fail(number_at, format!("length {:?} is not finite", Shortened(word))));
                    }
                    self.entries[node].length = Some(length);
                    state = State::End;
                }
                ':' => return Err(self.fail(self.at, "a second length")),
                ']' => return Err(self.fail(self.at, "']' without a '[' before it")),
                _ if state == State::Subtree || state == State::Label => {
                    self.entries[node].at = self.at;
                    let label = if c == '\'' {
                        Label { text: self.quoted()?, is_quoted: true }
                    } else {
                        Label { text: self.word().into(), is_quoted: false }
                    };
                    self.entries[node].label = Some(label);
                    state = State::Length;
                }
                _ => {
                    let place = if opened_at.is_empty() { "':' or ';'" } else { "',', ')' or ':'" };
                    let problem = format!("{c:?} where {place} should be; a name with blanks or quotes is written 'in quotes'");
                    return Err(self.fail(self.at, problem));
                }
            }
        }
    }

    /// The text up to the next blank or special character.
    fn word(&mut self) -> &'a str {
        let rest = &self.text[self.at..];
        let end = rest.find(|c: char| c.is_whitespace() || "()[]:;,'".contains(c)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn quoted(&mut self) -> Result<std::borrow::Cow<'a, str>> {
        let start = self.at + 1;
        let mut at = start;
        let mut has_doubled = false;
        loop {
            let Some(quote) = self.text[at..].find('\'') else {
                return Err(self.fail(self.at, "the quote that opens here is never closed"));
            };
            at += quote + 1;
            if !self.text[at..].starts_with('\'') {
                break;
            }
            has_doubled = true;
            at += 1;
        }
        let inner = &self.text[start..at - 1];
        if inner.is_empty() {
            return Err(self.fail(self.at, "an empty name in quotes"));
        }
        self.at = at;
        Ok(if has_doubled { inner.replace("''", "'").into() } else { inner.into() })
    }

    /// Tells support from names, names what has none, and makes the tree.
    fn finish(mut self, observed: &Observed<'_>) -> Result<Tree> {
        self.take_support(observed);
        let mut seen: HashMap<&str, usize> = HashMap::with_capacity(self.entries.len());
        for entry in &self.entries {
            let is_observed = self.is_observed(entry, observed);
            let Some(label) = &entry.label else {
                if is_observed {
                    return Err(self.fail(entry.at, "a leaf has no name"));
                }
                continue;
            };
            if let Some(earlier) = seen.insert(&label.text, entry.at) {
                let line = self.text[..earlier].bytes().filter(|&byte| byte == b'\n').count() + 1;
                let hint = if entry.is_tip { "" } else { "; labels that are not names must be numbers from 0 to 1 or 0 to 100" };
                let problem = format!("name {:?} already appears in line {line}{hint}", Shortened(&label.text));
                return Err(self.fail(entry.at, problem));
            }
        }
        let mut free = (1_usize..).map(|number| format!("h{number}")).filter(|name| !seen.contains_key(name.as_str()));
        let mut nodes = Vec::with_capacity(self.entries.len());
        let mut edges = Vec::with_capacity(self.entries.len());
        for (ix, entry) in self.entries.iter().enumerate() {
            let name = match &entry.label {
                Some(label) => label.text.clone().into_owned(),
                None => free.next().expect("numbers do not end"),
            };
            nodes.push(Node { name, observed: self.is_observed(entry, observed) });
            if let Some(parent) = entry.parent {
                let (a, b) = (NodeIx::new(parent), NodeIx::new(ix));
                edges.push(Edge { a, b, length: entry.length, support: entry.support, bootstrap: entry.bootstrap });
            }
        }
        Tree::from_parts(nodes, &edges)
    }

    fn is_observed(&self, entry: &Entry<'_>, observed: &Observed<'_>) -> bool {
        entry.observed.unwrap_or_else(|| {
            entry.is_tip
                || match (observed, &entry.label) {
                    (_, None) | (Observed::LeavesOnly, _) => false,
                    (Observed::InnerNamed, Some(_)) => true,
                    (Observed::Names(names), Some(label)) => names.contains(label.text.as_ref()),
                }
        })
    }

    /// Reads numeric labels of inner nodes as support, unless the file marks them as names.
    fn take_support(&mut self, observed: &Observed<'_>) {
        let number = |entry: &Entry<'_>| -> Option<f64> {
            let label = entry.label.as_ref()?;
            let is_name = entry.is_tip
                || label.is_quoted
                || entry.observed.is_some()
                || match observed {
                    Observed::LeavesOnly => false,
                    Observed::InnerNamed => true,
                    Observed::Names(names) => names.contains(label.text.as_ref()),
                };
            if is_name { None } else { label.text.parse().ok() }
        };
        let (mut least, mut largest) = (0.0_f64, 0.0_f64);
        for value in self.entries.iter().filter_map(number) {
            if value.is_nan() {
                return;
            }
            (least, largest) = (least.min(value), largest.max(value));
        }
        if least < 0.0 || largest > 100.0 {
            return;
        }
        let whole = if largest > 1.0 { 100.0 } else { 1.0 };
        for entry in &mut self.entries {
            if let Some(value) = number(entry) {
                entry.label = None;
                entry.support = entry.support.or(Some(value / whole));
            }
        }
    }
}
