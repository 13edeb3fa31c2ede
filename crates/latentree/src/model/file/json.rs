//! A JSON document in memory: keys keep their order, and a key that stands twice is refused.
//!
//! The checksum is 64-bit FNV-1a over the document's content, not its bytes, so that a file that another tool has indented
//! or whose keys it has sorted still fits: keys are taken in sorted order, strings with their length, numbers as the bits
//! of the double they stand for. It tells a damaged file; it is no signature.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

use crate::error::Shortened;

/// Integers up to here are the same number as a double.
const EXACT: u64 = 1 << 53;

/// A JSON value. Depth is bounded by the parser's limit of 128.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Json {
    Null,
    Bool(bool),
    Unsigned(u64),
    Negative(i64),
    Float(f64),
    Text(String),
    List(Vec<Json>),
    Record(Vec<(String, Json)>),
}

impl Json {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    pub(super) fn numbers(values: &[f64]) -> Self {
        Self::List(values.iter().map(|&value| Self::Float(value)).collect())
    }

    pub(super) fn record(fields: impl IntoIterator<Item = (&'static str, Json)>) -> Self {
        Self::Record(fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
    }

    /// The value of a key of a record; `null` is as good as absent.
    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        let Self::Record(fields) = self else { return None };
        fields.iter().find(|(name, _)| name == key).map(|(_, value)| value).filter(|value| **value != Self::Null)
    }

    pub(super) fn number(&self) -> Option<f64> {
        match *self {
            Self::Unsigned(value) => Some(value as f64),
            Self::Negative(value) => Some(value as f64),
            Self::Float(value) => Some(value),
            _ => None,
        }
    }

    /// What a message calls such a value.
    pub(super) fn sort(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "true or false",
            Self::Unsigned(_) | Self::Negative(_) | Self::Float(_) => "a number",
            Self::Text(_) => "a string",
            Self::List(_) => "a list",
            Self::Record(_) => "an object",
        }
    }

    /// Checksum of the content without the top-level key `checksum`.
    pub(super) fn checksum(&self) -> String {
        let mut hash = Fnv(0xcbf2_9ce4_8422_2325);
        hash.value(self, true);
        format!("fnv1a64:{:016x}", hash.0)
    }

    /// Appends the value on one line.
    pub(super) fn print(&self, out: &mut String) {
        self.print_expanded(out, 0, 0);
    }

    /// Appends the value with the outer `levels` of lists and records broken into one entry per line.
    pub(super) fn print_expanded(&self, out: &mut String, levels: usize, indent: usize) {
        let break_line = |out: &mut String, indent: usize| {
            out.push('\n');
            out.extend(std::iter::repeat_n("  ", indent));
        };
        let (open, close, n_entries) = match self {
            Self::List(values) => ('[', ']', values.len()),
            Self::Record(fields) => ('{', '}', fields.len()),
            scalar => return scalar.print_scalar(out),
        };
        out.push(open);
        let expanded = levels > 0 && n_entries > 0;
        for entry in 0..n_entries {
            if entry > 0 {
                out.push(',');
            }
            if expanded {
                break_line(out, indent + 1);
            }
            let value = match self {
                Self::Record(fields) => {
                    let (key, value) = &fields[entry];
                    print_text(key, out);
                    out.push_str(if expanded { ": " } else { ":" });
                    value
                }
                Self::List(values) => &values[entry],
                _ => unreachable!("scalars are printed above"),
            };
            value.print_expanded(out, levels.saturating_sub(1), indent + 1);
        }
        if expanded {
            break_line(out, indent);
        }
        out.push(close);
    }

    fn print_scalar(&self, out: &mut String) {
        use std::fmt::Write as _;
        match self {
            Self::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Self::Unsigned(value) => write!(out, "{value}").expect("a string takes all"),
            Self::Negative(value) => write!(out, "{value}").expect("a string takes all"),
            // The shortest digits that read back as the same double; JSON has no word for what is not finite.
            Self::Float(value) if value.is_finite() => write!(out, "{value:?}").expect("a string takes all"),
            Self::Text(text) => print_text(text, out),
            _ => out.push_str("null"),
        }
    }
}

fn print_text(text: &str, out: &mut String) {
    out.push_str(&serde_json::to_string(text).expect("a string is JSON"));
}

struct Fnv(u64);

impl Fnv {
    fn bytes(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    fn tagged(&mut self, tag: u8, number: u64) {
        self.bytes(&[tag]);
        self.bytes(&number.to_le_bytes());
    }

    fn value(&mut self, value: &Json, is_document: bool) {
        match value {
            Json::Null => self.bytes(b"0"),
            Json::Bool(value) => self.bytes(if *value { b"t" } else { b"f" }),
            Json::Unsigned(value) if *value <= EXACT => self.tagged(b'd', (*value as f64).to_bits()),
            Json::Unsigned(value) => self.tagged(b'u', *value),
            Json::Negative(value) if value.unsigned_abs() <= EXACT => self.tagged(b'd', (*value as f64).to_bits()),
            Json::Negative(value) => self.tagged(b'i', value.unsigned_abs()),
            Json::Float(value) => self.tagged(b'd', value.to_bits()),
            Json::Text(text) => self.text(text),
            Json::List(values) => {
                self.tagged(b'l', values.len() as u64);
                values.iter().for_each(|value| self.value(value, false));
            }
            Json::Record(fields) => {
                let mut sorted: Vec<&(String, Json)> =
                    fields.iter().filter(|(key, _)| !(is_document && key == "checksum")).collect();
                sorted.sort_unstable_by(|a, b| a.0.cmp(&b.0));
                self.tagged(b'r', sorted.len() as u64);
                for (key, value) in sorted {
                    self.text(key);
                    self.value(value, false);
                }
            }
        }
    }

    fn text(&mut self, text: &str) {
        self.tagged(b's', text.len() as u64);
        self.bytes(text.as_bytes());
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JsonVisitor)
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Unsigned(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Negative(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
        Ok(Json::Float(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(Json::text(value))
    }

    fn visit_string<E>(self, value: String) -> Result<Json, E> {
        Ok(Json::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Json, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = entries.next_element()? {
            values.push(value);
        }
        Ok(Json::List(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Json, A::Error> {
        let mut fields: Vec<(String, Json)> = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            fields.push(entry);
        }
        let mut seen = HashSet::with_capacity(fields.len());
        if let Some((twice, _)) = fields.iter().find(|(key, _)| !seen.insert(key.as_str())) {
            return Err(A::Error::custom(format!("the key {:?} stands twice in one object", Shortened(twice))));
        }
        Ok(Json::Record(fields))
    }
}
