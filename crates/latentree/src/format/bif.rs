//! BIF, the interchange format of Bayesian networks, version 0.15 (Cozman 1996), as bnlearn, pgmpy, JavaBayes and pyAgrum
//! read and write it.
//!
//! ```text
//! network latentree { }
//! variable h1 { type discrete [ 2 ] { 0, 1 }; property latentree = "hidden"; }
//! variable x { type discrete [ 2 ] { no, yes }; }
//! probability ( h1 ) { table 0.4, 0.6; }
//! probability ( x | h1 ) { (0) 0.9, 0.1; (1) 0.2, 0.8; }
//! ```
//!
//! Reading takes comments (`//`, `/* */`), quoted names, commas or blanks between numbers, `default` rows, and `table` for
//! a node with a parent (the parent's states vary fastest, as in the format's own examples and in pyAgrum).

use std::fmt::Write as _;

use super::ReadModelOptions;
use super::names::Notes;
use super::network::{Definition, Network, Values, Variable, written};
use crate::error::{Error, Place, Result, Shortened};
use crate::model::LatentTree;

const FORMAT: &str = "BIF";
const KEYWORDS: [&str; 8] = ["network", "variable", "probability", "property", "type", "discrete", "table", "default"];
/// Longest name that is written as it is.
const MAX_NAME: usize = 200;

/// The model as BIF.
///
/// Names and labels that BIF does not allow are replaced by similar ones; the originals are kept in properties from which
/// [`read_model`](crate::format::read_model) restores them.
///
/// # Errors
/// [`Error::Data`] naming the first node that is not discrete.
pub fn to_bif(model: &LatentTree) -> Result<String> {
    let nodes = written(model, FORMAT, is_identifier, is_label)?;
    let mut out = String::from("network latentree {\n}\n");
    write_nodes(&mut out, &nodes).expect("a string takes all");
    Ok(out)
}

fn write_nodes(out: &mut String, nodes: &[super::network::Written<'_>]) -> std::fmt::Result {
    for node in nodes {
        writeln!(out, "variable {} {{", node.name)?;
        writeln!(out, "  type discrete [ {} ] {{ {} }};", node.labels.len(), node.labels.join(", "))?;
        for note in node.notes.write() {
            writeln!(out, "  property latentree = \"{note}\";")?;
        }
        writeln!(out, "}}")?;
    }
    let numbers = |out: &mut String, row: &[f64]| -> std::fmt::Result {
        for (ix, value) in row.iter().enumerate() {
            write!(out, "{}{value:?}", if ix == 0 { " " } else { ", " })?;
        }
        writeln!(out, ";")
    };
    for node in nodes {
        if let Some(parent) = node.parent {
            let parent = &nodes[parent.get()];
            writeln!(out, "probability ( {} | {} ) {{", node.name, parent.name)?;
            for (label, row) in parent.labels.iter().zip(node.table.rows()) {
                write!(out, "  ({label})")?;
                numbers(out, row)?;
            }
        } else {
            writeln!(out, "probability ( {} ) {{", node.name)?;
            write!(out, "  table")?;
            numbers(out, node.table.given(0))?;
        }
        writeln!(out, "}}")?;
    }
    Ok(())
}

fn is_identifier(name: &str) -> bool {
    name.len() <= MAX_NAME
        && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
        && !KEYWORDS.iter().any(|keyword| keyword.eq_ignore_ascii_case(name))
}

/// Labels may be whole numbers too.
fn is_label(label: &str) -> bool {
    let digits = label.strip_prefix('-').unwrap_or(label);
    is_identifier(label) || ((1..=9).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit()))
}

/// Reads a latent tree from BIF.
///
/// # Errors
/// As [`read_model`](crate::format::read_model).
pub(super) fn read_bif(bytes: &[u8], options: &ReadModelOptions<'_>) -> Result<LatentTree> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let line = 1 + bytes[..error.valid_up_to()].iter().filter(|&&byte| byte == b'\n').count() as u64;
        Error::format(Place::default().line(line), FORMAT, "not UTF-8 text")
    })?;
    let mut reader = Reader { rest: text, line: 1 };
    let mut network = Network::default();
    while let Some(token) = reader.next()? {
        match token {
            Token::Word("network") => reader.network()?,
            Token::Word("variable") => network.variables.push(reader.variable()?),
            Token::Word("probability") => network.definitions.push(reader.definition()?),
            other => return Err(reader.unexpected(other, "\"network\", \"variable\" or \"probability\"")),
        }
    }
    if network.variables.is_empty() {
        return Err(reader.fault("it declares no variables"));
    }
    network.into_model(FORMAT, options)
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Token<'a> {
    Word(&'a str),
    Quoted(&'a str),
    Mark(char),
}

struct Reader<'a> {
    rest: &'a str,
    line: u64,
}

impl<'a> Reader<'a> {
    fn fault(&self, problem: impl Into<String>) -> Error {
        Error::format(Place::default().line(self.line), FORMAT, problem)
    }

    fn unexpected(&self, token: Token<'a>, expected: &str) -> Error {
        let found = match token {
            Token::Word(text) | Token::Quoted(text) => format!("{:?}", Shortened(text)),
            Token::Mark(mark) => format!("{mark:?}"),
        };
        self.fault(format!("{found} where {expected} is expected"))
    }

    /// Takes the next `n_bytes` and counts their lines.
    fn take(&mut self, n_bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(n_bytes);
        self.line += taken.bytes().filter(|&byte| byte == b'\n').count() as u64;
        self.rest = rest;
        taken
    }

    fn skip_blanks_and_comments(&mut self) -> Result<()> {
        loop {
            let blank = self.rest.len() - self.rest.trim_start().len();
            self.take(blank);
            if self.rest.starts_with("//") {
                self.take(self.rest.find('\n').unwrap_or(self.rest.len()));
            } else if self.rest.starts_with("/*") {
                let end = self.rest.find("*/").ok_or_else(|| self.fault("a comment \"/*\" has no end"))?;
                self.take(end + 2);
            } else {
                return Ok(());
            }
        }
    }

    /// The next token, `None` at the end of the file.
    fn next(&mut self) -> Result<Option<Token<'a>>> {
        self.skip_blanks_and_comments()?;
        let Some(first) = self.rest.chars().next() else { return Ok(None) };
        if is_mark(first) {
            self.take(first.len_utf8());
            return Ok(Some(Token::Mark(first)));
        }
        if first == '"' {
            let end = self.rest[1..].find('"').ok_or_else(|| self.fault("a quote '\"' has no end"))?;
            let taken = self.take(end + 2);
            return Ok(Some(Token::Quoted(&taken[1..=end])));
        }
        let ends = |(at, c): (usize, char)| {
            let comment = c == '/' && matches!(self.rest.as_bytes().get(at + 1), Some(b'/' | b'*'));
            (c.is_whitespace() || is_mark(c) || c == '"' || comment).then_some(at)
        };
        let end = self.rest.char_indices().find_map(ends).unwrap_or(self.rest.len());
        Ok(Some(Token::Word(self.take(end))))
    }

    fn some(&mut self, expected: &str) -> Result<Token<'a>> {
        self.next()?.ok_or_else(|| self.fault(format!("the file ends where {expected} is expected")))
    }

    fn mark(&mut self, mark: char) -> Result<()> {
        let expected = format!("{mark:?}");
        match self.some(&expected)? {
            Token::Mark(found) if found == mark => Ok(()),
            other => Err(self.unexpected(other, &expected)),
        }
    }

    fn name(&mut self, expected: &str) -> Result<&'a str> {
        match self.some(expected)? {
            Token::Word(name) | Token::Quoted(name) => Ok(name),
            other => Err(self.unexpected(other, expected)),
        }
    }

    /// The raw text of a property up to its `;`: it is free text, in which `//` may be part of an address.
    fn property(&mut self) -> Result<&'a str> {
        let mut quoted = false;
        for (at, c) in self.rest.char_indices() {
            match c {
                '"' => quoted = !quoted,
                // A quote that its line does not close is an apostrophe of sorts.
                '\n' => quoted = false,
                ';' if !quoted => {
                    let taken = self.take(at + 1);
                    return Ok(&taken[..at]);
                }
                _ => {}
            }
        }
        Err(self.fault("a property has no \";\""))
    }

    fn network(&mut self) -> Result<()> {
        let mut token = self.some("a name")?;
        while token != Token::Mark('{') {
            token = self.some("'{'")?;
        }
        loop {
            match self.some("'}'")? {
                Token::Mark('}') => return Ok(()),
                Token::Word("property") => {
                    self.property()?;
                }
                _ => {}
            }
        }
    }

    fn variable(&mut self) -> Result<Variable> {
        let line = self.line;
        let name = self.name("the variable's name")?.to_owned();
        self.mark('{')?;
        let mut labels = None;
        let mut notes = Notes::default();
        loop {
            match self.some("'}'")? {
                Token::Mark('}') => break,
                Token::Word("property") => notes.read(self.property()?),
                Token::Word("type") if labels.is_none() => labels = Some(self.labels()?),
                other => return Err(self.unexpected(other, "\"type\", \"property\" or '}'")),
            }
        }
        let labels = labels.ok_or_else(|| self.fault(format!("variable {:?} has no type", Shortened(&name))))?;
        Ok(Variable { name, labels, notes, line })
    }

    fn labels(&mut self) -> Result<Vec<String>> {
        match self.some("\"discrete\"")? {
            Token::Word("discrete") => {}
            other => return Err(self.unexpected(other, "\"discrete\" (only discrete variables are known)")),
        }
        self.mark('[')?;
        let count = self.name("the number of states")?;
        self.mark(']')?;
        self.mark('{')?;
        let mut labels = Vec::new();
        loop {
            match self.some("'}'")? {
                Token::Mark('}') => break,
                Token::Mark(',') => {}
                Token::Word(label) | Token::Quoted(label) => labels.push(label.to_owned()),
                other => return Err(self.unexpected(other, "a state")),
            }
        }
        self.mark(';')?;
        if count.parse() != Ok(labels.len()) {
            return Err(self.fault(format!("{:?} states declared, {} given", Shortened(count), labels.len())));
        }
        Ok(labels)
    }

    fn definition(&mut self) -> Result<Definition> {
        let line = self.line;
        self.mark('(')?;
        let of = self.name("the variable's name")?.to_owned();
        let mut parents = Vec::new();
        loop {
            match self.some("')'")? {
                Token::Mark(')') => break,
                Token::Mark('|' | ',') => {}
                Token::Word(name) | Token::Quoted(name) => parents.push(name.to_owned()),
                other => return Err(self.unexpected(other, "a parent or ')'")),
            }
        }
        self.mark('{')?;
        let mut table: Option<Vec<f64>> = None;
        let mut default = None;
        let mut rows = Vec::new();
        loop {
            match self.some("'}'")? {
                Token::Mark('}') => break,
                Token::Word("property") => {
                    self.property()?;
                }
                Token::Word("table") if table.is_none() => table = Some(self.numbers()?),
                Token::Word("default") if default.is_none() => default = Some((self.numbers()?, self.line)),
                Token::Mark('(') => {
                    let label = self.name("a state of the parent")?.to_owned();
                    // With several parents a row names several states; such a node is refused for its parents.
                    loop {
                        match self.some("')'")? {
                            Token::Mark(')') => break,
                            Token::Mark(',') | Token::Word(_) | Token::Quoted(_) if parents.len() > 1 => {}
                            other => return Err(self.unexpected(other, "')'")),
                        }
                    }
                    rows.push((label, self.numbers()?, self.line));
                }
                other => return Err(self.unexpected(other, "\"table\", \"default\", '(' or '}'")),
            }
        }
        let values = match table {
            Some(numbers) if rows.is_empty() && default.is_none() => Values::Table { numbers, parent_fastest: true },
            Some(_) => return Err(self.fault(format!("node {:?} has both a table and rows", Shortened(&of)))),
            None => Values::Rows { default, rows },
        };
        Ok(Definition { of, parents, values, line })
    }

    /// Numbers up to `;`, with commas or blanks between.
    fn numbers(&mut self) -> Result<Vec<f64>> {
        let mut numbers = Vec::new();
        loop {
            match self.some("';'")? {
                Token::Mark(';') => return Ok(numbers),
                Token::Mark(',') => {}
                Token::Word(word) => match word.parse::<f64>() {
                    Ok(number) if number.is_finite() => numbers.push(number),
                    _ => return Err(self.unexpected(Token::Word(word), "a number")),
                },
                other => return Err(self.unexpected(other, "a number")),
            }
        }
    }
}

fn is_mark(c: char) -> bool {
    matches!(c, '{' | '}' | '(' | ')' | '[' | ']' | ',' | ';' | '|')
}
