//! Cells of a table, kept from the look at its columns for the pass that follows, so that the file is parsed once.
//!
//! A cell takes one byte where its column has few spellings. Cells are given back once, in the order of the rows, and are freed as they
//! are given: a table and its kept cells are never in memory twice. Chunks are large, because an allocator returns only large pieces to
//! the system, and small ones that one thread frees are of no use to another.

use std::collections::VecDeque;

use super::cell::{Cell, CellSink};

/// Bytes of a chunk: more than the 32 MiB up to which glibc may keep what is freed.
const CHUNK_BYTES: usize = 40 << 20;
/// Spellings of a column that have a code of one byte; larger bytes are marks.
const CODES: usize = 250;
/// Slots of a table of spellings: a power of two, at least twice the codes.
const SLOTS: usize = 512;
/// Marks of cells without a code, before their content.
const SHORT_TEXT: u8 = 250;
const LONG_TEXT: u8 = 251;
const NUMBER: u8 = 252;
const FALSE: u8 = 253;
const TRUE: u8 = 254;
const MISSING: u8 = 255;

/// Cells that were read and are wanted again.
pub(super) struct KeptCells {
    /// For each column of the table, whether its cells are kept, and whether as text.
    modes: Vec<Option<bool>>,
    spellings: Vec<Spellings>,
    chunks: VecDeque<Chunk>,
    /// The cells of rows that are in no chunk yet, by column, and how many of these rows have ended.
    filling: Vec<Vec<u8>>,
    n_filled: usize,
    n_bytes: u64,
    most_bytes: u64,
    is_begun: bool,
    next_row: u64,
}

/// The cells of some rows that come one after the other.
struct Chunk {
    n_rows: usize,
    /// One column after the other.
    bytes: Vec<u8>,
    /// Where the cells of each column that have not been given back begin.
    next: Vec<usize>,
}

/// The first spellings of a column.
#[derive(Default)]
struct Spellings {
    cells: Vec<Spelling>,
    /// Codes of texts of one byte, which most cells of most tables are; [`MISSING`] where there is none. Empty until the first one.
    singles: Vec<u8>,
    texts: Slots,
    numbers: Slots,
}

enum Spelling {
    Text(Box<[u8]>),
    Number(f64),
}

impl Spelling {
    #[inline]
    fn cell(&self) -> Cell<'_> {
        match self {
            Self::Text(text) => Cell::Text(text),
            Self::Number(value) => Cell::Number(*value),
        }
    }
}

/// Codes by key; empty until the first one.
#[derive(Default)]
struct Slots {
    slots: Vec<Option<(u64, u8)>>,
}

impl Slots {
    /// The code of a key that `is_same` accepts, or the slot for a new one.
    fn find(&mut self, key: u64, is_same: impl Fn(u8) -> bool) -> Result<u8, &mut Option<(u64, u8)>> {
        if self.slots.is_empty() {
            self.slots.resize(SLOTS, None);
        }
        let mut at = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 55) as usize;
        loop {
            match self.slots[at] {
                Some((other, code)) if other == key && is_same(code) => return Ok(code),
                Some(_) => at = (at + 1) % SLOTS,
                None => return Err(&mut self.slots[at]),
            }
        }
    }
}

/// Short texts as they are; of longer ones a digest.
fn text_key(text: &[u8]) -> u64 {
    if text.len() < 8 {
        let mut bytes = [0; 8];
        bytes[..text.len()].copy_from_slice(text);
        bytes[7] = text.len() as u8;
        return u64::from_le_bytes(bytes);
    }
    text.iter().fold(0, |key: u64, &byte| (key ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3).rotate_left(23)) | 0xff << 56
}

impl Spellings {
    /// The code of a cell, a new one where there is room.
    #[inline]
    fn code(&mut self, cell: Cell<'_>) -> Option<u8> {
        match cell {
            Cell::Text(&[byte]) => match self.singles.get(usize::from(byte)) {
                Some(&code) if code != MISSING => Some(code),
                _ => self.code_of_single(byte),
            },
            cell => self.code_of_longer(cell),
        }
    }

    #[cold]
    fn code_of_single(&mut self, byte: u8) -> Option<u8> {
        if self.cells.len() == CODES {
            return None;
        }
        self.singles.resize(256, MISSING);
        let code = self.cells.len() as u8;
        self.singles[usize::from(byte)] = code;
        self.cells.push(Spelling::Text([byte].into()));
        Some(code)
    }

    fn code_of_longer(&mut self, cell: Cell<'_>) -> Option<u8> {
        if self.cells.len() == CODES {
            return None;
        }
        let cells = &self.cells;
        let (found, key) = match cell {
            Cell::Text(text) => {
                let is_same = |code: u8| match &cells[usize::from(code)] {
                    Spelling::Text(other) => **other == *text,
                    Spelling::Number(_) => false,
                };
                let key = text_key(text);
                (self.texts.find(key, |code| text.len() < 8 || is_same(code)), key)
            }
            Cell::Number(value) => (self.numbers.find(value.to_bits(), |_| true), value.to_bits()),
            Cell::Missing | Cell::Bool(_) => return None,
        };
        match found {
            Ok(code) => Some(code),
            Err(slot) => {
                let code = cells.len() as u8;
                *slot = Some((key, code));
                self.cells.push(match cell {
                    Cell::Number(value) => Spelling::Number(value),
                    Cell::Text(text) => Spelling::Text(text.into()),
                    Cell::Missing | Cell::Bool(_) => return None,
                });
                Some(code)
            }
        }
    }
}

impl KeptCells {
    /// Keeps the cells of the columns that have a mode, whether they are given as text, while they take no more than these bytes.
    pub(super) fn new(modes: Vec<Option<bool>>, most_bytes: u64) -> Self {
        let n_columns = modes.len();
        Self {
            modes,
            spellings: (0..n_columns).map(|_| Spellings::default()).collect(),
            chunks: VecDeque::new(),
            filling: vec![Vec::new(); n_columns],
            n_filled: 0,
            n_bytes: 0,
            most_bytes,
            is_begun: false,
            next_row: 0,
        }
    }

    /// Takes a cell in.
    #[inline]
    pub(super) fn push(&mut self, column: usize, cell: Cell<'_>) {
        if self.modes[column].is_none() || !self.fits() {
            return;
        }
        let bytes = &mut self.filling[column];
        let before = bytes.len();
        match (self.spellings[column].code(cell), cell) {
            (Some(code), _) => bytes.push(code),
            (None, Cell::Text(text)) => {
                match u8::try_from(text.len()) {
                    Ok(length) => bytes.extend_from_slice(&[SHORT_TEXT, length]),
                    Err(_) => {
                        bytes.push(LONG_TEXT);
                        bytes.extend_from_slice(&(text.len() as u64).to_le_bytes());
                    }
                }
                bytes.extend_from_slice(text);
            }
            (None, Cell::Number(value)) => {
                bytes.push(NUMBER);
                bytes.extend_from_slice(&value.to_bits().to_le_bytes());
            }
            (None, Cell::Bool(value)) => bytes.push(if value { TRUE } else { FALSE }),
            (None, Cell::Missing) => bytes.push(MISSING),
        }
        self.n_bytes += (bytes.len() - before) as u64;
    }

    /// Ends a run of rows that were taken in.
    pub(super) fn end_rows(&mut self, n_rows: usize) {
        self.n_filled += n_rows;
        if self.filling.iter().map(Vec::len).sum::<usize>() >= CHUNK_BYTES {
            self.end_chunk();
        }
    }

    fn end_chunk(&mut self) {
        let mut bytes = Vec::with_capacity(self.filling.iter().map(Vec::len).sum());
        let mut next = Vec::with_capacity(self.filling.len());
        for column in &mut self.filling {
            next.push(bytes.len());
            bytes.append(column);
        }
        self.chunks.push_back(Chunk { n_rows: std::mem::take(&mut self.n_filled), bytes, next });
    }

    /// Whether all cells were kept.
    pub(super) fn fits(&self) -> bool {
        self.n_bytes <= self.most_bytes
    }

    /// Whether a column was kept in a mode.
    pub(super) fn has(&self, column: usize, is_text: bool) -> bool {
        self.modes[column] == Some(is_text)
    }

    /// Whether cells have been given back.
    pub(super) fn is_begun(&self) -> bool {
        self.is_begun
    }

    /// Gives the cells of up to `max_rows` rows to the sink, and forgets them; none only at the end.
    pub(super) fn read_rows(&mut self, max_rows: usize, sink: &mut impl CellSink) -> Result<usize, String> {
        if !std::mem::replace(&mut self.is_begun, true) && self.n_filled > 0 {
            self.end_chunk();
            self.filling = Vec::new();
        }
        let Some(chunk) = self.chunks.front_mut() else { return Ok(0) };
        let n_rows = chunk.n_rows.min(max_rows);
        for (ix, (next, spellings)) in chunk.next.iter_mut().zip(&self.spellings).enumerate() {
            if self.modes[ix].is_some() {
                let visit = |row: u64, cell: Cell<'_>| sink.cell(self.next_row + row, ix, cell);
                *next += give(&chunk.bytes[*next..], n_rows, spellings, visit)?;
            }
        }
        chunk.n_rows -= n_rows;
        self.next_row += n_rows as u64;
        if chunk.n_rows == 0 {
            self.chunks.pop_front();
        }
        Ok(n_rows)
    }
}

/// Shows the cells of so many rows of a column; the number of bytes they took.
fn give(
    bytes: &[u8],
    n_rows: usize,
    spellings: &Spellings,
    mut visit: impl FnMut(u64, Cell<'_>) -> Result<(), String>,
) -> Result<usize, String> {
    if let Some(codes) = bytes.get(..n_rows).filter(|codes| codes.iter().all(|&code| usize::from(code) < CODES)) {
        (0..).zip(codes).try_for_each(|(row, &code)| visit(row, spellings.cells[usize::from(code)].cell()))?;
        return Ok(n_rows);
    }
    let mut rest = bytes;
    for row in 0..n_rows as u64 {
        let cell = match take(&mut rest, 1)[0] {
            SHORT_TEXT => {
                let length = take(&mut rest, 1)[0];
                Cell::Text(take(&mut rest, length.into()))
            }
            LONG_TEXT => {
                let length = take_u64(&mut rest);
                Cell::Text(take(&mut rest, length as usize))
            }
            NUMBER => Cell::Number(f64::from_bits(take_u64(&mut rest))),
            FALSE => Cell::Bool(false),
            TRUE => Cell::Bool(true),
            MISSING => Cell::Missing,
            code => spellings.cells[usize::from(code)].cell(),
        };
        visit(row, cell)?;
    }
    Ok(bytes.len() - rest.len())
}

fn take<'a>(rest: &mut &'a [u8], n_bytes: usize) -> &'a [u8] {
    let (head, tail) = rest.split_at(n_bytes);
    *rest = tail;
    head
}

fn take_u64(rest: &mut &[u8]) -> u64 {
    u64::from_le_bytes(take(rest, 8).try_into().expect("eight bytes were taken"))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Collected(Vec<(u64, usize, String)>);

    impl CellSink for Collected {
        fn cell(&mut self, row: u64, column: usize, cell: Cell<'_>) -> Result<(), String> {
            self.0.push((row, column, format!("{cell:?}")));
            Ok(())
        }
    }

    /// Cells of all sorts: few and many spellings, long texts, numbers, nothing.
    fn with_cell<T>(row: u64, column: usize, visit: impl FnOnce(Cell<'_>) -> T) -> T {
        match (column, row % 7) {
            (0, _) => visit(Cell::Text(if row.is_multiple_of(2) { b"0" } else { b"1" })),
            (1, _) => visit(Cell::Text(format!("label {}", row % 400).as_bytes())),
            (2, 0) => visit(Cell::Missing),
            (2, 1) => visit(Cell::Bool(row.is_multiple_of(2))),
            (2, _) => visit(Cell::Number(row as f64 / 4.0)),
            (_, 3) => visit(Cell::Text("x".repeat(300 + row as usize % 5).as_bytes())),
            _ => visit(Cell::Text(b"a label of more than seven bytes")),
        }
    }

    #[test]
    fn cells_come_back_once_and_as_they_were() {
        let mut kept = KeptCells::new(vec![Some(false), Some(false), Some(false), Some(true), None], 1 << 20);
        for first in (0..1000).step_by(100) {
            for (row, column) in (first..first + 100).flat_map(|row| (0..5).map(move |column| (row, column))) {
                with_cell(row, column, |cell| kept.push(column, cell));
            }
            kept.end_rows(100);
        }
        assert!(kept.fits() && !kept.is_begun() && kept.has(3, true) && !kept.has(3, false) && !kept.has(4, false));
        let mut found = Collected(Vec::new());
        while kept.read_rows(37, &mut found).unwrap() > 0 {}
        found.0.sort();
        let cells = (0..1000).flat_map(|row| (0..4).map(move |column| (row, column)));
        let expected: Vec<_> =
            cells.map(|(row, column)| (row, column, with_cell(row, column, |cell| format!("{cell:?}")))).collect();
        assert!(found.0 == expected && kept.is_begun());
    }

    #[test]
    fn what_does_not_fit_is_not_kept() {
        let mut kept = KeptCells::new(vec![Some(false)], 10);
        (0..20).for_each(|_| kept.push(0, Cell::Text(b"1")));
        kept.end_rows(20);
        assert!(!kept.fits());
        assert!(kept.n_bytes <= 11);
    }
}
