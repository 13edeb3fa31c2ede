//! The `.moments` file.
//!
//! All numbers little-endian, in this order:
//!
//! | field | bytes |
//! | --- | --- |
//! | magic `LTMOMENT`, version, oldest version of the program's format that can read it | 8, 4, 4 |
//! | length of the schema's JSON, the JSON | 8, length |
//! | cell type (0 counts, 1 sums), degree, wide_levels | 1, 1, 8 |
//! | rows, Σ w² | 8, 8 |
//! | for each numeric column: whether it has a shift, the shift | 1, 8 |
//! | number of missing indicators, their columns (increasing) | 4, 4 each |
//! | the packed triangle, u32 or f64, missing indicators in the order of columns | 4 or 8 each |
//! | with numbers of degree 1 (version 2): Σ w x² by missing indicator (increasing columns) and numeric column | 8 each |
//! | for each wide column, then for each pair of them: number of entries; keys and sums | 8; 16 each |
//! | checksum of all bytes before: FNV-1a over words of 8 bytes (the last filled with zeros), then the length | 8 |
//!
//! The same content gives the same bytes, whatever the order in which columns first showed a missing cell. Each step of the
//! checksum is a bijection of its state, so that one changed byte always shows.

use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;

use super::cells::Cells;
use super::layout::{Layout, cell, row_start};
use super::squares::Squares;
use super::wide::{Table, WideTables, key, parts};
use super::{PairMoments, PairOptions};
use crate::data::{Kind, Schema};
use crate::error::{Error, Place, Result};
use crate::file;
use crate::moments::wire;

const MAGIC: &[u8; 8] = b"LTMOMENT";
const FORMAT: &str = "latentree moments";
/// Version written, and newest version read.
const VERSION: u32 = 2;
/// The oldest version that can be read, and that can read files without sums of squares.
const OLDEST: u32 = 1;
/// The oldest version with sums of squares.
const WITH_SQUARES: u32 = 2;
/// Cells written or read at once.
const CHUNK: usize = 1 << 14;
/// Longest schema; its columns take several times as much.
const MAX_SCHEMA: u64 = 1 << 28;
/// Most rows believed; beyond it floating-point numbers no longer count by ones.
const MAX_ROWS: u64 = 1 << 53;

/// The checksum of a stream.
struct Checksum {
    state: u64,
    word: [u8; 8],
    length: u64,
}

impl Checksum {
    fn new() -> Self {
        Self { state: 0xcbf2_9ce4_8422_2325, word: [0; 8], length: 0 }
    }

    fn step(&mut self, word: u64) {
        self.state = (self.state ^ word).wrapping_mul(0x0100_0000_01b3);
        // The product moves differences upwards only: bring them back down.
        self.state ^= self.state >> 29;
    }

    fn add(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let filled = (self.length % 8) as usize;
            if filled == 0 && bytes.len() >= 8 {
                let (words, rest) = bytes.as_chunks::<8>();
                words.iter().for_each(|word| self.step(u64::from_le_bytes(*word)));
                self.length += (words.len() * 8) as u64;
                bytes = rest;
                continue;
            }
            let (now, rest) = bytes.split_at(bytes.len().min(8 - filled));
            self.word[filled..filled + now.len()].copy_from_slice(now);
            self.length += now.len() as u64;
            if self.length.is_multiple_of(8) {
                self.step(u64::from_le_bytes(self.word));
            }
            bytes = rest;
        }
    }

    fn value(mut self) -> u64 {
        let filled = (self.length % 8) as usize;
        if filled > 0 {
            self.word[filled..].fill(0);
            self.step(u64::from_le_bytes(self.word));
        }
        self.step(self.length);
        self.state
    }
}

struct Output<'a> {
    out: &'a mut dyn Write,
    checksum: Checksum,
}

impl Output<'_> {
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.checksum.add(bytes);
        self.out.write_all(bytes)
    }

    fn put_all<T>(&mut self, items: impl Iterator<Item = T>, put: impl Fn(&mut Vec<u8>, T)) -> io::Result<()> {
        let mut buffer = Vec::with_capacity(CHUNK * 16);
        for item in items {
            put(&mut buffer, item);
            if buffer.len() >= CHUNK * 8 {
                self.put(&buffer)?;
                buffer.clear();
            }
        }
        self.put(&buffer)
    }
}

fn invalid(problem: impl Into<String>) -> Error {
    Error::format(Place::default(), FORMAT, problem)
}

struct Input<'a> {
    input: &'a mut dyn Read,
    checksum: Checksum,
}

impl Input<'_> {
    fn fill(&mut self, buffer: &mut [u8]) -> Result<()> {
        self.input.read_exact(buffer).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => invalid("the file ends early; copy or recreate the file"),
            _ => Error::io("read", "moments")(error),
        })?;
        self.checksum.add(buffer);
        Ok(())
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    fn u64(&mut self) -> Result<u64> {
        self.take().map(u64::from_le_bytes)
    }

    fn u32(&mut self) -> Result<u32> {
        self.take().map(u32::from_le_bytes)
    }

    fn f64(&mut self) -> Result<f64> {
        let value = self.take().map(f64::from_le_bytes)?;
        if value.is_finite() { Ok(value) } else { Err(invalid("a number is not finite")) }
    }

    /// Reads `n` items of `N` bytes; memory grows only as bytes arrive.
    fn items<const N: usize, T>(&mut self, n: usize, read: impl Fn(&[u8; N]) -> Result<T>) -> Result<Vec<T>> {
        let mut items = Vec::with_capacity(n.min(CHUNK));
        let mut buffer = vec![0; n.min(CHUNK) * N];
        while items.len() < n {
            let now = (n - items.len()).min(CHUNK);
            // Doubling would overshoot the last step by up to the whole size.
            if items.len() + now > items.capacity() {
                items.reserve_exact((n - items.len()).min(items.len().max(CHUNK)));
            }
            self.fill(&mut buffer[..now * N])?;
            for chunk in buffer[..now * N].as_chunks::<N>().0 {
                items.push(read(chunk)?);
            }
        }
        Ok(items)
    }
}

/// Errs unless the input is at its end, or a pass follows.
pub(super) fn check_end(input: &mut dyn Read) -> Result<()> {
    let mut first = Vec::new();
    input.take(wire::MAGIC.len() as u64).read_to_end(&mut first).map_err(Error::io("read", "moments"))?;
    let is_end = first.is_empty() || first == wire::MAGIC;
    if is_end { Ok(()) } else { Err(invalid("there are bytes after the end")) }
}

impl PairMoments {
    /// Writes the moments as bytes; see the module's source for the format.
    ///
    /// # Errors
    /// [`Error::Io`] if they cannot be written.
    pub fn write_to(&self, out: &mut dyn Write) -> Result<()> {
        self.write(out).map_err(Error::io("write", "moments"))
    }

    /// Writes a `.moments` file; `.gz` and `.zst` endings compress.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be written.
    pub fn save(&self, path: &Path) -> Result<()> {
        file::write_atomically(path, |out| self.write(out).map_err(Error::io("write", path)))
    }

    /// Reads a `.moments` file, compressed or not, with the default memory limit.
    ///
    /// # Errors
    /// As [`read_from`](Self::read_from), naming the file.
    pub fn load(path: &Path) -> Result<Self> {
        let mut input = file::open(path)?;
        let read = Self::read_from(&mut input, PairOptions::default().memory_limit);
        read.and_then(|moments| check_end(&mut input).map(|()| moments)).map_err(|error| match error {
            Error::Io { action, source, .. } => Error::Io { action, path: path.to_path_buf(), source },
            other => other.in_file(path),
        })
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut out = Output { out, checksum: Checksum::new() };
        let layout = &self.layout;
        out.put(MAGIC)?;
        // Moments that lack the sums are written as the version that had none.
        let (version, oldest) = match &self.squares {
            Some(squares) if squares.len() > 0 => (VERSION, WITH_SQUARES),
            Some(_) => (VERSION, OLDEST),
            None => (OLDEST, OLDEST),
        };
        out.put(&version.to_le_bytes())?;
        out.put(&oldest.to_le_bytes())?;
        let schema = serde_json::to_vec(layout.schema.as_ref()).map_err(io::Error::other)?;
        out.put(&(schema.len() as u64).to_le_bytes())?;
        out.put(&schema)?;
        out.put(&[u8::from(matches!(self.cells, Cells::Sums(_))), layout.degree as u8])?;
        out.put(&(layout.wide_levels as u64).to_le_bytes())?;
        out.put(&self.n_rows.to_le_bytes())?;
        out.put(&self.weight_squares.to_le_bytes())?;
        for (column, shift) in layout.schema.columns().iter().zip(&self.shifts) {
            if is_numeric(&column.kind) {
                out.put(&[u8::from(shift.is_some())])?;
                out.put(&shift.unwrap_or(0.0).to_le_bytes())?;
            }
        }
        let mut missing = layout.missing.clone();
        missing.sort_unstable();
        out.put(&(missing.len() as u32).to_le_bytes())?;
        out.put_all(missing.iter(), |buffer, &column| buffer.extend((column as u32).to_le_bytes()))?;
        // Position in the file → position here.
        let here = |position: usize| match position.checked_sub(layout.n_values) {
            None => position,
            Some(slot) => layout.columns[missing[slot]].missing().expect("listed columns have indicators"),
        };
        let values = row_start(layout.n_values);
        let appended = (layout.n_values..layout.n_features())
            .flat_map(|hi| (0..=hi).map(move |lo| (hi, lo)))
            .map(|(hi, lo)| cell(here(hi), here(lo)));
        match &self.cells {
            Cells::Counts(cells) => {
                let all = cells[..values].iter().chain(appended.map(|ix| &cells[ix]));
                out.put_all(all, |buffer, cell| buffer.extend(cell.to_le_bytes()))?;
            }
            Cells::Sums(cells) => {
                let all = cells[..values].iter().chain(appended.map(|ix| &cells[ix]));
                out.put_all(all, |buffer, cell| buffer.extend(cell.to_le_bytes()))?;
            }
        }
        if let Some(squares) = &self.squares {
            for &column in &missing {
                let slot = layout.missing_slot(column).expect("listed columns have indicators");
                out.put_all(squares.of_slot(slot).iter(), |buffer, sum| buffer.extend(sum.to_le_bytes()))?;
            }
        }
        let mut there: Vec<u32> = (0..layout.n_features() as u32).collect();
        (layout.n_values..layout.n_features()).for_each(|position| there[here(position)] = position as u32);
        for (ix, table) in self.wide.features.iter().chain(&self.wide.pairs).enumerate() {
            let mut entries = table.entries();
            if ix < self.wide.features.len() && layout.missing != missing {
                let entries = entries.to_mut();
                for entry in entries.iter_mut() {
                    let (level, position) = parts(entry.0);
                    entry.0 = key(level, there[position as usize]);
                }
                entries.sort_unstable_by_key(|entry| entry.0);
            }
            out.put(&(entries.len() as u64).to_le_bytes())?;
            out.put_all(entries.iter(), |buffer, (key, sum)| {
                buffer.extend(key.to_le_bytes());
                buffer.extend(sum.to_le_bytes());
            })?;
        }
        let checksum = out.checksum.value();
        out.out.write_all(&checksum.to_le_bytes())
    }

    /// Reads what [`write_to`](Self::write_to) wrote, and no byte more.
    ///
    /// # Errors
    /// [`Error::Format`] if the bytes are cut or changed, [`Error::Version`] if a newer program wrote them,
    /// [`Error::Option`] if the moments would take more than `memory_limit` bytes, [`Error::Io`].
    pub fn read_from(input: &mut dyn Read, memory_limit: u64) -> Result<Self> {
        let mut input = Input { input, checksum: Checksum::new() };
        if &input.take::<8>()? != MAGIC {
            return Err(invalid("it does not start like a moments file"));
        }
        let (version, oldest) = (input.u32()?, input.u32()?);
        if oldest > VERSION || version < OLDEST {
            return Err(Error::Version {
                place: Box::default(),
                format: FORMAT,
                found: u64::from(version),
                oldest: u64::from(OLDEST),
                newest: u64::from(VERSION),
                remedy: "make the moments again with this program, or install the program that wrote them",
            });
        }
        let length = input.u64()?;
        if length > memory_limit.min(MAX_SCHEMA) {
            return Err(invalid(format!("it claims a schema of {length} bytes; copy or recreate the file")));
        }
        let json = input.items(length as usize, |byte: &[u8; 1]| Ok(byte[0]))?;
        let schema: Schema = serde_json::from_slice(&json).map_err(|error| invalid(format!("its schema: {error}")))?;
        drop(json);
        let [storage, degree] = input.take()?;
        let wide_levels = usize::try_from(input.u64()?).map_err(|_| invalid("wide_levels is too large"))?;
        if storage > 1 {
            return Err(invalid(format!("unknown cell type {storage}")));
        }
        let options = PairOptions { degree: usize::from(degree), wide_levels, memory_limit };
        let mut layout = Layout::new(Arc::new(schema), &options)?;
        if layout.has_numbers && storage == 0 {
            return Err(invalid("counts for numeric columns"));
        }
        let (n_rows, weight_squares) = (input.u64()?, input.f64()?);
        if n_rows > MAX_ROWS || weight_squares < 0.0 || (storage == 0 && n_rows > u64::from(u32::MAX)) {
            return Err(invalid(format!("{n_rows} rows with a sum of squared weights of {weight_squares}")));
        }
        let mut shifts = vec![None; layout.columns.len()];
        for (column, shift) in layout.schema.columns().iter().zip(&mut shifts) {
            if is_numeric(&column.kind) {
                let ([has], value) = (input.take()?, input.f64()?);
                if has > 1 {
                    return Err(invalid("a shift is neither there nor not"));
                }
                *shift = (has == 1).then_some(value);
            }
        }
        let n_missing = input.u32()? as usize;
        if n_missing > layout.columns.len() {
            return Err(invalid("more missing indicators than columns"));
        }
        let missing = input.items(n_missing, |bytes: &[u8; 4]| Ok(u32::from_le_bytes(*bytes) as usize))?;
        if !missing.is_sorted_by(|left, right| left < right) || missing.last().is_some_and(|&ix| ix >= layout.columns.len()) {
            return Err(invalid("the columns of missing indicators do not increase"));
        }
        layout.check_memory(n_missing, if storage == 0 { 4 } else { 8 }, 0, memory_limit)?;
        missing.into_iter().for_each(|column| layout.append_missing(column));
        let n_cells = row_start(layout.n_features());
        let number = |bytes: &[u8; 8]| {
            let value = f64::from_le_bytes(*bytes);
            if value.is_finite() { Ok(value) } else { Err(invalid("a sum is not finite")) }
        };
        let cells = if storage == 0 {
            Cells::Counts(input.items(n_cells, |bytes| {
                let count = u32::from_le_bytes(*bytes);
                if u64::from(count) <= n_rows { Ok(count) } else { Err(invalid("a count exceeds the number of rows")) }
            })?)
        } else {
            Cells::Sums(input.items(n_cells, number)?)
        };
        let squares = if version < WITH_SQUARES {
            None
        } else {
            let sums = input.items(Squares::new(&layout).len(), number)?;
            Some(Squares::from_sums(&layout, sums))
        };
        let wide = read_wide(&mut input, &layout, memory_limit)?;
        let expected = std::mem::replace(&mut input.checksum, Checksum::new()).value();
        if input.u64()? != expected {
            return Err(invalid("its checksum does not match its content; copy or recreate the file"));
        }
        Ok(Self {
            layout,
            memory_limit,
            n_rows,
            weight_squares,
            shifts,
            cells,
            wide,
            squares,
            noise: 0.0,
            noise_units: Vec::new(),
        })
    }
}

fn read_wide(input: &mut Input<'_>, layout: &Layout, memory_limit: u64) -> Result<WideTables> {
    let mut wide = WideTables::new(layout.wide.len());
    let n_states = |slot: usize| layout.schema.columns()[layout.wide[slot]].kind.n_states().unwrap_or(0);
    let features = (0..layout.wide.len()).map(|slot| (n_states(slot), layout.n_features()));
    let pairs = (1..layout.wide.len()).flat_map(|b| (0..b).map(move |a| (n_states(a), n_states(b))));
    let mut left = memory_limit / 16;
    for (table, (n_levels, n_others)) in wide.features.iter_mut().chain(&mut wide.pairs).zip(features.chain(pairs)) {
        let n = input.u64()?;
        left = left.checked_sub(n).ok_or_else(|| invalid(format!("a sparse table of {n} entries exceeds the memory limit")))?;
        let entries = input.items(n as usize, |bytes: &[u8; 16]| {
            let (key, sum) = bytes.split_at(8);
            let key = u64::from_le_bytes(key.try_into().expect("8 bytes"));
            let sum = f64::from_le_bytes(sum.try_into().expect("8 bytes"));
            let (level, other) = parts(key);
            if level as usize >= n_levels || other as usize >= n_others || !sum.is_finite() {
                return Err(invalid("an entry of a sparse table is out of range"));
            }
            Ok((key, sum))
        })?;
        if !entries.is_sorted_by(|left, right| left.0 < right.0) {
            return Err(invalid("the keys of a sparse table do not increase"));
        }
        *table = Table::from_sorted(entries);
    }
    Ok(wide)
}

fn is_numeric(kind: &Kind) -> bool {
    kind.n_states().is_none()
}
