//! As much of XML as network files need: elements, text, the five entities and character numbers. Comments, processing
//! instructions, declarations and attributes are skipped; entities that a document declares are not expanded, so that a
//! small file stays small.

use crate::error::{Error, Place, Result, Shortened};

/// What stands next in the file.
#[derive(Debug, PartialEq)]
pub(super) enum Event<'a> {
    /// `<name …>`
    Start(&'a str),
    /// `</name>`, or the end of `<name …/>`.
    End(&'a str),
    /// Text with entities resolved.
    Text(String),
}

/// Reads a document piece by piece. Tags are checked to close in order.
pub(super) struct XmlReader<'a> {
    rest: &'a str,
    open: Vec<&'a str>,
    /// An element `<name/>` ends right after its start.
    ends_at_once: bool,
    pub(super) line: u64,
    format: &'static str,
}

impl<'a> XmlReader<'a> {
    pub(super) fn new(text: &'a str, format: &'static str) -> Self {
        Self { rest: text, open: Vec::new(), ends_at_once: false, line: 1, format }
    }

    pub(super) fn fault(&self, problem: impl Into<String>) -> Error {
        Error::format(Place::default().line(self.line), self.format, problem)
    }

    /// The names of the open elements, outermost first.
    pub(super) fn open(&self) -> &[&'a str] {
        &self.open
    }

    fn take(&mut self, n_bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(n_bytes);
        self.line += taken.bytes().filter(|&byte| byte == b'\n').count() as u64;
        self.rest = rest;
        taken
    }

    /// Takes up to and with `end`, and gives back what stands before it.
    fn take_until(&mut self, end: &str, what: &str) -> Result<&'a str> {
        let at = self.rest.find(end).ok_or_else(|| self.fault(format!("{what} has no end")))?;
        Ok(&self.take(at + end.len())[..at])
    }

    /// The next event, `None` at the end of the file.
    ///
    /// # Errors
    /// [`Error::Format`] with the line where the XML is broken.
    pub(super) fn next(&mut self) -> Result<Option<Event<'a>>> {
        if std::mem::take(&mut self.ends_at_once) {
            return Ok(self.open.pop().map(Event::End));
        }
        loop {
            if self.rest.is_empty() {
                return match self.open.last() {
                    None => Ok(None),
                    Some(name) => Err(self.fault(format!("the file ends inside <{}>", Bare(name)))),
                };
            }
            if !self.rest.starts_with('<') {
                let raw = self.take(self.rest.find('<').unwrap_or(self.rest.len()));
                return self.resolve(raw).map(|text| Some(Event::Text(text)));
            }
            if self.rest.starts_with("<!--") {
                self.take(4);
                self.take_until("-->", "a comment")?;
            } else if self.rest.starts_with("<![CDATA[") {
                self.take(9);
                return Ok(Some(Event::Text(self.take_until("]]>", "a CDATA section")?.to_owned())));
            } else if self.rest.starts_with("<?") {
                self.take_until("?>", "a processing instruction")?;
            } else if self.rest.starts_with("<!") {
                self.declaration()?;
            } else {
                return self.tag().map(Some);
            }
        }
    }

    /// Skips `<!DOCTYPE … [ … ]>`, in which `>` may stand in quotes and comments and between brackets.
    fn declaration(&mut self) -> Result<()> {
        let mut depth = 0_usize;
        let mut quote = None;
        let mut at = 0;
        while let Some(&byte) = self.rest.as_bytes().get(at) {
            match (quote, byte) {
                (Some(open), _) if open == byte => quote = None,
                (Some(_), _) => {}
                (None, b'"' | b'\'') => quote = Some(byte),
                (None, b'<') if self.rest[at..].starts_with("<!--") => match self.rest[at + 4..].find("-->") {
                    Some(end) => at += 4 + end + 2,
                    None => break,
                },
                (None, b'<') => depth += 1,
                (None, b'>') => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        self.take(at + 1);
                        return Ok(());
                    }
                }
                _ => {}
            }
            at += 1;
        }
        Err(self.fault("a declaration <!…> has no end"))
    }

    fn tag(&mut self) -> Result<Event<'a>> {
        let mut quote = None;
        let end = self.rest.bytes().position(|byte| {
            match quote {
                Some(open) if open == byte => quote = None,
                None if matches!(byte, b'"' | b'\'') => quote = Some(byte),
                _ => {}
            }
            quote.is_none() && byte == b'>'
        });
        let end = end.ok_or_else(|| self.fault("a tag has no end"))?;
        let inside = &self.take(end + 1)[1..end];
        if let Some(name) = inside.strip_prefix('/') {
            let name = name.trim_end();
            return match self.open.pop() {
                Some(open) if open == name => Ok(Event::End(open)),
                Some(open) => Err(self.fault(format!("</{}> where </{}> is expected", Bare(name), Bare(open)))),
                None => Err(self.fault(format!("</{}> closes nothing", Bare(name)))),
            };
        }
        let (inside, ends_at_once) = inside.strip_suffix('/').map_or((inside, false), |inside| (inside, true));
        let name = inside.split(char::is_whitespace).next().unwrap_or_default();
        if name.is_empty() || name.contains(['<', '"', '\'', '=', '&']) {
            return Err(self.fault(format!("<{}> is no tag", Bare(inside))));
        }
        self.open.push(name);
        self.ends_at_once = ends_at_once;
        Ok(Event::Start(name))
    }

    fn resolve(&self, raw: &str) -> Result<String> {
        let mut out = String::with_capacity(raw.len());
        let mut rest = raw;
        while let Some(at) = rest.find('&') {
            out.push_str(&rest[..at]);
            let entity = rest[at + 1..].split_once(';').filter(|(entity, _)| entity.len() <= 10);
            let (entity, after) = entity.ok_or_else(|| self.fault("\"&\" must be written \"&amp;\""))?;
            let number = match entity.strip_prefix('#') {
                None => None,
                Some(number) => match number.strip_prefix(['x', 'X']) {
                    Some(number) => u32::from_str_radix(number, 16).ok(),
                    None => number.parse().ok(),
                },
            };
            let resolved = match entity {
                "lt" => Some('<'),
                "gt" => Some('>'),
                "amp" => Some('&'),
                "quot" => Some('"'),
                "apos" => Some('\''),
                _ => number.and_then(char::from_u32),
            };
            out.push(resolved.ok_or_else(|| self.fault(format!("unknown entity &{};", Bare(entity))))?);
            rest = after;
        }
        out.push_str(rest);
        Ok(out)
    }
}

/// A piece of the file in a message, without quotes.
pub(super) struct Bare<'a>(pub(super) &'a str);

impl std::fmt::Display for Bare<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let quoted = format!("{:?}", Shortened(self.0));
        f.write_str(quoted.trim_matches('"'))
    }
}

/// Whether XML 1.0 can hold the character.
pub(super) fn is_xml(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='\u{fffd}' | '\u{10000}'..)
}

/// The text for use in an element or in a quoted attribute; what XML cannot hold becomes U+FFFD.
#[must_use]
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            // As they stand, a reader would turn them into blanks or line feeds.
            '\t' | '\n' | '\r' => out.push_str(&format!("&#{};", c as u32)),
            c if is_xml(c) => out.push(c),
            _ => out.push('\u{fffd}'),
        }
    }
    out
}
