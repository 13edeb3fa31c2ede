//! A pass as bytes between processes, all numbers little-endian:
//!
//! | field | bytes |
//! | --- | --- |
//! | magic `LTPASS1\n` | 8 |
//! | length of the pass's name, the name, its version | 1, length, 4 |
//! | hash of the schema of the rows | 8 |
//! | length of the accumulator's bytes, the bytes | 8, length |
//! | FNV-1a checksum of all bytes before | 8 |
//!
//! A view, which comes before a pass or another view, says how rows are seen by what follows:
//!
//! | field | bytes |
//! | --- | --- |
//! | magic `LTVIEW1\n` | 8 |
//! | length of the view's name, the name | 1, length |
//! | length of its bytes, the bytes | 8, length |
//! | FNV-1a checksum of all bytes before | 8 |

use super::Accumulator;
use crate::data::{BatchSource, Remote, Schema};
use crate::error::{Error, Place, Result};

pub(super) const MAGIC: &[u8; 8] = b"LTPASS1\n";
const VIEW_MAGIC: &[u8; 8] = b"LTVIEW1\n";
const FORMAT: &str = "latentree pass";

/// The FNV-1a hash of bytes.
pub(crate) fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |state, &byte| (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// A hash of the columns, kinds and labels of rows: a pass is for rows of one schema.
pub(crate) fn schema_hash(schema: &Schema) -> Result<u64> {
    let json = serde_json::to_vec(schema).map_err(|error| invalid(format!("the schema cannot be written: {error}")))?;
    Ok(fnv(&json))
}

pub(crate) fn invalid(problem: impl Into<String>) -> Error {
    Error::format(Place::default(), FORMAT, problem)
}

/// The parts of a pass on the wire.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wire<'a> {
    pub(crate) name: &'a str,
    pub(crate) version: u32,
    pub(crate) schema: u64,
    pub(crate) content: &'a [u8],
}

impl<'a> Wire<'a> {
    pub(crate) fn write(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(48 + self.name.len() + self.content.len());
        bytes.extend_from_slice(MAGIC);
        bytes.push(self.name.len() as u8);
        bytes.extend_from_slice(self.name.as_bytes());
        bytes.extend_from_slice(&self.version.to_le_bytes());
        bytes.extend_from_slice(&self.schema.to_le_bytes());
        bytes.extend_from_slice(&(self.content.len() as u64).to_le_bytes());
        bytes.extend_from_slice(self.content);
        let checksum = fnv(&bytes);
        bytes.extend_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// The parts of what [`write`](Self::write) wrote.
    pub(crate) fn read(bytes: &'a [u8]) -> Result<Self> {
        let (body, mut rest) = bytes.split_at_checked(bytes.len().saturating_sub(8)).unwrap_or_default();
        let checksum = number(&mut rest)?;
        let mut rest = body;
        if take(&mut rest, 8)? != MAGIC {
            return Err(invalid("it does not begin as a pass does"));
        }
        if checksum != fnv(body) {
            return Err(invalid("its checksum does not fit: it was cut or changed; send it again"));
        }
        let length = take(&mut rest, 1)?[0];
        let name = std::str::from_utf8(take(&mut rest, length.into())?).map_err(|_| invalid("its name is no text"))?;
        let version = take(&mut rest, 4)?;
        let version = u32::from_le_bytes(version.try_into().expect("four bytes were taken"));
        let schema = number(&mut rest)?;
        let length = usize::try_from(number(&mut rest)?).map_err(|_| invalid("it is too long"))?;
        let content = take(&mut rest, length)?;
        if rest.is_empty() { Ok(Self { name, version, schema, content }) } else { Err(invalid("there are bytes after its end")) }
    }

    /// The accumulator that these bytes are, if they are of its kind.
    pub(crate) fn accumulator<A: Accumulator>(&self) -> Result<A> {
        if self.name != A::NAME {
            return Err(invalid(format!("it is pass {:?}, but {:?} was requested", self.name, A::NAME)));
        }
        check_version(self.version, A::VERSION)?;
        A::from_bytes(self.content)
    }
}

/// How rows are seen by the pass that follows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View<'a> {
    pub(crate) name: &'a str,
    pub(crate) content: &'a [u8],
    /// A pass, or another view.
    pub(crate) pass: &'a [u8],
}

impl<'a> View<'a> {
    pub(crate) fn write(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(32 + self.name.len() + self.content.len() + self.pass.len());
        bytes.extend_from_slice(VIEW_MAGIC);
        bytes.push(self.name.len() as u8);
        bytes.extend_from_slice(self.name.as_bytes());
        bytes.extend_from_slice(&(self.content.len() as u64).to_le_bytes());
        bytes.extend_from_slice(self.content);
        let checksum = fnv(&bytes);
        bytes.extend_from_slice(&checksum.to_le_bytes());
        bytes.extend_from_slice(self.pass);
        bytes
    }

    /// The view that the bytes begin with, if they do.
    pub(crate) fn read(bytes: &'a [u8]) -> Result<Option<Self>> {
        let Some(mut rest) = bytes.strip_prefix(VIEW_MAGIC) else { return Ok(None) };
        let length = take(&mut rest, 1)?[0];
        let name = std::str::from_utf8(take(&mut rest, length.into())?).map_err(|_| invalid("its view has no name"))?;
        let length = usize::try_from(number(&mut rest)?).map_err(|_| invalid("it is too long"))?;
        let content = take(&mut rest, length)?;
        let before = bytes.len() - rest.len();
        if number(&mut rest)? != fnv(&bytes[..before]) {
            return Err(invalid("the checksum of its view does not fit: it was cut or changed; send it again"));
        }
        Ok(Some(Self { name, content, pass: rest }))
    }
}

/// A pass without the views before it.
pub(crate) fn without_views(mut bytes: &[u8]) -> Result<&[u8]> {
    while let Some(view) = View::read(bytes)? {
        bytes = view.pass;
    }
    Ok(bytes)
}

/// Fails if a pass is of another version.
pub(crate) fn check_version(found: u32, known: u32) -> Result<()> {
    if found == known {
        return Ok(());
    }
    Err(Error::Version {
        place: Box::default(),
        format: FORMAT,
        found: u64::from(found),
        oldest: u64::from(known),
        newest: u64::from(known),
        remedy: "use the same version of the program wherever rows are",
    })
}

fn take<'a>(rest: &mut &'a [u8], n_bytes: usize) -> Result<&'a [u8]> {
    let (taken, left) = rest.split_at_checked(n_bytes).ok_or_else(|| invalid("it ends early; send it again"))?;
    *rest = left;
    Ok(taken)
}

fn number(rest: &mut &[u8]) -> Result<u64> {
    Ok(u64::from_le_bytes(take(rest, 8)?.try_into().expect("eight bytes were taken")))
}

/// An accumulator on the wire.
pub(crate) fn to_wire<A: Accumulator>(accumulator: &A, schema: u64) -> Result<Vec<u8>> {
    let content = accumulator.to_bytes()?;
    Ok(Wire { name: A::NAME, version: A::VERSION, schema, content: &content }.write())
}

/// The accumulator when it has seen the rows that are elsewhere.
pub(super) fn answered<A: Accumulator>(remote: &dyn Remote, accumulator: &A, source: &dyn BatchSource) -> Result<A> {
    let schema = schema_hash(source.schema())?;
    let bytes = remote.answer(&source.seen_through(to_wire(accumulator, schema)?)?)?;
    let wire = Wire::read(&bytes)?;
    if wire.schema != schema {
        return Err(invalid("the answer is of rows with other columns"));
    }
    wire.accumulator()
}
