//! A JSON document in memory: keys keep their order, and duplicate keys are rejected.
//!
//! The checksum is 64-bit FNV-1a over the document's content, not its bytes, so that a file that another tool has indented
//! or whose keys it has sorted still fits: keys are taken in sorted order, strings with their length, numbers as the bits
//! of the double they stand for. It tells a damaged file; it is no signature.

use std::cell::Cell;
use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

use crate::error::Shortened;

/// Integers up to here are the same number as a double.
const EXACT: u64 = 1 << 53;

/// Bytes of a value, and of a key, in a list or a record.
const VALUE: u64 = size_of::<Json>() as u64;
const KEY: u64 = size_of::<String>() as u64;

/// Bytes of a text beside its place.
fn heap(text: &str) -> u64 {
    16 + text.len() as u64
}

/// A JSON value. Depth is bounded by the parser's limit of 128.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Json {
    Null,
    Bool(bool),
    Unsigned(u64),
    Negative(i64),
    Float(f64),
    Text(String),
    /// A list of numbers that all have a point: the rows of tables, which are most of a model.
    Floats(Vec<f64>),
    List(Vec<Json>),
    Record(Vec<(String, Json)>),
}

impl Json {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    pub(super) fn numbers(values: &[f64]) -> Self {
        Self::Floats(values.to_vec())
    }

    pub(super) fn record(fields: impl IntoIterator<Item = (&'static str, Json)>) -> Self {
        Self::Record(fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
    }

    /// The value of a key of a record; `null` is as good as absent.
    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        let Self::Record(fields) = self else { return None };
        fields.iter().find(|(name, _)| name == key).map(|(_, value)| value).filter(|value| **value != Self::Null)
    }

    /// Reads a document, as long as its values take no more than this memory.
    pub(super) fn read(bytes: &[u8], most_memory: u64) -> Result<Self, serde_json::Error> {
        let left = Cell::new(most_memory);
        let mut deserializer = serde_json::Deserializer::from_slice(bytes);
        let document = Seed(&left).deserialize(&mut deserializer)?;
        deserializer.end()?;
        Ok(document)
    }

    /// The memory that the value takes when it is read, about.
    pub(super) fn footprint(&self) -> u64 {
        match self {
            Self::Floats(values) => VALUE + 8 * values.len() as u64,
            Self::Text(text) => VALUE + heap(text),
            Self::List(values) => VALUE + values.iter().map(Self::footprint).sum::<u64>(),
            Self::Record(fields) => VALUE + fields.iter().map(|(key, value)| KEY + heap(key) + value.footprint()).sum::<u64>(),
            _ => VALUE,
        }
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
            Self::Floats(_) | Self::List(_) => "a list",
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
            Self::Floats(values) => ('[', ']', values.len()),
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
                Self::Floats(values) => {
                    Self::Float(values[entry]).print_scalar(out);
                    continue;
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
            Json::Floats(values) => {
                self.tagged(b'l', values.len() as u64);
                values.iter().for_each(|value| self.tagged(b'd', value.to_bits()));
            }
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

/// Reads a value and takes its memory from what is left.
#[derive(Clone, Copy)]
struct Seed<'a>(&'a Cell<u64>);

impl Seed<'_> {
    fn charge<E: serde::de::Error>(self, bytes: u64) -> Result<(), E> {
        let left = self.0.get().checked_sub(bytes).ok_or_else(|| E::custom("it holds more values than any model file"))?;
        self.0.set(left);
        Ok(())
    }

    fn scalar<E: serde::de::Error>(self, value: Json) -> Result<Json, E> {
        self.charge(VALUE).map(|()| value)
    }
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Json;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<Json, E> {
        self.scalar(Json::Null)
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<Json, E> {
        self.scalar(Json::Bool(value))
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Json, E> {
        self.scalar(Json::Unsigned(value))
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Json, E> {
        self.scalar(Json::Negative(value))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Json, E> {
        self.scalar(Json::Float(value))
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<Json, E> {
        self.charge(heap(value))?;
        self.scalar(Json::text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Json, A::Error> {
        self.charge(VALUE)?;
        let mut floats = Vec::new();
        let mut next = None;
        while let Some(value) = entries.next_element_seed(self)? {
            let Json::Float(value) = value else {
                next = Some(value);
                break;
            };
            // As one of many it takes less.
            self.0.set(self.0.get() + VALUE - size_of::<f64>() as u64);
            floats.push(value);
        }
        let Some(next) = next else { return Ok(if floats.is_empty() { Json::List(Vec::new()) } else { Json::Floats(floats) }) };
        self.charge((VALUE - size_of::<f64>() as u64) * floats.len() as u64)?;
        let mut values: Vec<Json> = floats.into_iter().map(Json::Float).chain([next]).collect();
        while let Some(value) = entries.next_element_seed(self)? {
            values.push(value);
        }
        Ok(Json::List(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Json, A::Error> {
        self.charge(VALUE)?;
        let mut fields: Vec<(String, Json)> = Vec::new();
        while let Some(key) = entries.next_key::<String>()? {
            self.charge(KEY + heap(&key))?;
            fields.push((key, entries.next_value_seed(self)?));
        }
        let mut seen = HashSet::with_capacity(fields.len());
        if let Some((twice, _)) = fields.iter().find(|(key, _)| !seen.insert(key.as_str())) {
            return Err(A::Error::custom(format!("the key {:?} appears twice in one object", Shortened(twice))));
        }
        Ok(Json::Record(fields))
    }
}
