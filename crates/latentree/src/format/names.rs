//! Names and labels that a format allows, with the originals kept in properties.

use std::collections::{HashMap, HashSet};

/// Longest stem of a replaced name; a number may follow.
const MAX_STEM: usize = 40;

/// Replaces names that a format does not allow; allowed names stay, and no two results are the same.
///
/// `is_allowed` says what the format allows; it must allow ASCII letters, digits and `_` after a leading `_`.
pub(super) fn allowed_names<'a>(names: impl Iterator<Item = &'a str> + Clone, is_allowed: fn(&str) -> bool) -> Vec<String> {
    let mut taken: HashSet<String> = names.clone().filter(|name| is_allowed(name)).map(str::to_owned).collect();
    let mut next_number: HashMap<String, usize> = HashMap::new();
    names
        .map(|name| {
            if is_allowed(name) {
                return name.to_owned();
            }
            let replaced = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' });
            let stem: String = std::iter::once('_').chain(replaced).take(MAX_STEM).collect();
            let number = next_number.entry(stem.clone()).or_insert(1);
            loop {
                let candidate = if *number == 1 { stem.clone() } else { format!("{stem}_{number}") };
                *number += 1;
                if taken.insert(candidate.clone()) {
                    return candidate;
                }
            }
        })
        .collect()
}

/// The text with every byte that could mean something to some format written as `%` and two hexadecimal digits.
pub(super) fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for &byte in text.as_bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.') {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02x}"));
        }
    }
    out
}

/// The text that [`encode`] has written; `None` if it has not.
pub(super) fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        if first == b'%' {
            let digits =
                std::str::from_utf8(rest.get(..2)?).ok().filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &rest[2..];
        } else {
            bytes.push(first);
        }
    }
    String::from_utf8(bytes).ok()
}

/// The content of our own properties of a variable.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Notes {
    pub(super) hidden: bool,
    pub(super) is_binary: Option<bool>,
    pub(super) name: Option<String>,
    pub(super) states: Vec<(usize, String)>,
}

impl Notes {
    /// Takes in a property's text; properties of other programs are left alone.
    pub(super) fn read(&mut self, property: &str) {
        let Some(rest) = property.trim().strip_prefix("latentree") else { return };
        let Some(rest) = rest.trim_start().strip_prefix('=') else { return };
        let mut words = rest.trim().trim_matches('"').split_whitespace();
        match (words.next(), words.next(), words.next()) {
            (Some("hidden"), None, _) => self.hidden = true,
            (Some("binary"), None, _) => self.is_binary = Some(true),
            (Some("categorical"), None, _) => self.is_binary = Some(false),
            (Some("name"), Some(name), None) => self.name = decode(name).or(self.name.take()),
            (Some("state"), Some(state), text) => {
                if let (Ok(state), Some(label)) = (state.parse(), decode(text.unwrap_or_default())) {
                    self.states.push((state, label));
                }
            }
            _ => {}
        }
    }

    /// The texts after `latentree = `.
    pub(super) fn write(&self) -> Vec<String> {
        let mut texts = Vec::new();
        if self.hidden {
            texts.push("hidden".to_owned());
        }
        if let Some(is_binary) = self.is_binary {
            texts.push(if is_binary { "binary" } else { "categorical" }.to_owned());
        }
        texts.extend(self.name.iter().map(|name| format!("name {}", encode(name))));
        texts.extend(self.states.iter().map(|(state, label)| format!("state {state} {}", encode(label)).trim_end().to_owned()));
        texts
    }
}
