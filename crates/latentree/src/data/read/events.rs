//! Long events: one line for each thing that happened, with the id of its row (a patient) and the item (a code), and
//! possibly a value.
//!
//! Rows come in the order in which their ids first appear, columns are the items in alphabetic order. Without a value a
//! cell says whether the item is there at all; with one, the values of the same row and item are added up. A line without
//! an item only says that its row exists.
//!
//! Ids that come in increasing order, as numbers or as text, are streamed; otherwise rows are held in memory.

use std::collections::HashMap;
use std::sync::Arc;

use super::cell::{Cell, CellSink, is_missing, number, number_text};
use super::encoding::not_utf8;
use super::input::Input;
use super::options::ReadOptions;
use super::overrides::unknown_column;
use super::sparse::{Held, KeptRows, RowSource, Scan, SparseFile};
use super::table::Table;
use super::written_number::NumberReader;
use crate::error::{Error, Result};

const CHUNK_ROWS: usize = 4096;

/// One line: its row id, its item and its value.
type Event = (Vec<u8>, Vec<u8>, f64);

struct EventSource {
    table: Table,
    input: Arc<Input>,
    sink: EventSink,
    columns: HashMap<Vec<u8>, u32>,
    /// Events read and not used yet, last first.
    waiting: Vec<Event>,
    /// The id of the last row.
    key: Vec<u8>,
    held: Option<Held>,
    /// The ids of the rows held; empty unless ids are carried.
    held_keys: Vec<Vec<u8>>,
}

/// Collects the cells of events; a columnar file gives them column by column.
struct EventSink {
    row: usize,
    item: usize,
    value: Option<usize>,
    events: Vec<Event>,
    first_row: u64,
    numbers: NumberReader,
}

impl CellSink for EventSink {
    fn cell(&mut self, row: u64, column: usize, cell: Cell<'_>) -> Result<(), String> {
        let ix = (row - self.first_row) as usize;
        if ix >= self.events.len() {
            self.events.resize(ix + 1, (Vec::new(), Vec::new(), 1.0));
        }
        let event = &mut self.events[ix];
        if column == self.row {
            event.0 = text(cell)?;
            if event.0.is_empty() {
                return Err("the event has no row id".to_owned());
            }
        } else if column == self.item {
            event.1 = text(cell)?;
        } else if self.value == Some(column) {
            event.2 = self.numbers.read(cell)?;
        }
        Ok(())
    }
}

fn text(cell: Cell<'_>) -> Result<Vec<u8>, String> {
    Ok(match cell {
        Cell::Text(text) if is_missing(text) => Vec::new(),
        Cell::Text(text) if std::str::from_utf8(text).is_err() => {
            return Err(not_utf8(text));
        }
        Cell::Text(text) => text.to_vec(),
        Cell::Number(value) if !value.is_nan() => number_text(value).into_bytes(),
        Cell::Bool(value) => value.to_string().into_bytes(),
        Cell::Number(_) | Cell::Missing => Vec::new(),
    })
}

pub(super) fn open(mut table: Table, input: &Arc<Input>, options: &ReadOptions) -> Result<SparseFile> {
    let (row, item, value) = options.events.as_ref().expect("called when events are asked for");
    if let Some(id) = options.id.as_ref().filter(|&id| id != row) {
        let problem = format!("{id:?} given; the id of a row of events is the first column of `read.events`, {row:?}");
        return Err(Error::option("read.id", problem));
    }
    let key_name = row.clone();
    let names = table.names();
    let find = |name: &String| names.iter().position(|it| it == name).ok_or_else(|| unknown_column("read.events", name, names));
    let (row, item, value) = (find(row)?, find(item)?, value.as_ref().map(find).transpose()?);
    if row == item || value == Some(row) || value == Some(item) {
        return Err(Error::option("read.events", "the row id, the item and the value must be different columns"));
    }
    [Some(row), Some(item), value].into_iter().flatten().try_for_each(|ix| table.require(ix, "read.events"))?;
    let wanted: Vec<bool> = (0..names.len()).map(|ix| ix == row || ix == item || value == Some(ix)).collect();
    // Ids and codes beyond 2⁵³ are not the same number as 64-bit floats.
    let is_text: Vec<bool> = (0..names.len()).map(|ix| ix == row || ix == item).collect();
    table.project(&wanted, &is_text)?;
    let numbers = NumberReader::new(None, table.prefers_comma());
    let sink = EventSink { row, item, value, events: Vec::new(), first_row: 0, numbers };
    let input = Arc::clone(input);
    let mut source = EventSource {
        table,
        input,
        sink,
        columns: HashMap::new(),
        waiting: Vec::new(),
        key: Vec::new(),
        held: None,
        held_keys: Vec::new(),
    };
    // Ids that are carried along come from the file.
    let keep_bytes = if options.carry_keys { 0 } else { options.keep_bytes };
    let (is_ordered, kept) = source.look_through(keep_bytes)?;
    let found = std::mem::take(&mut source.columns);
    let mut names: Vec<Vec<u8>> = found.keys().cloned().collect();
    names.sort_unstable();
    source.columns = names.iter().cloned().zip(0..).collect();
    let kept = kept.map(|kept| {
        let mut places = vec![0; names.len()];
        found.iter().for_each(|(name, &first)| places[first as usize] = source.columns[name]);
        kept.held(&places)
    });
    let (source, scan): (Box<dyn RowSource>, Scan) = match kept {
        Some(mut kept) => {
            let scan = Scan::run(&mut kept)?;
            if is_ordered {
                (Box::new(KeptRows::new(kept, Box::new(source))), scan)
            } else {
                source.held = Some(kept);
                (Box::new(source), scan)
            }
        }
        None => {
            source.rewind()?;
            if !is_ordered {
                source.held = Some(source.hold(options.carry_keys)?);
            }
            let scan = Scan::run(&mut source)?;
            (Box::new(source), scan)
        }
    };
    let names = names.into_iter().map(|name| String::from_utf8(name).expect("items were checked to be UTF-8")).collect();
    Ok(SparseFile { source, scan, names, named: true, is_open: true, is_presence: value.is_none(), key_name: Some(key_name) })
}

impl EventSource {
    fn next_event(&mut self) -> Result<Option<Event>> {
        if self.waiting.is_empty() {
            let n_read = self.table.read_rows(CHUNK_ROWS, &mut self.sink)?;
            self.sink.first_row += n_read as u64;
            self.waiting.append(&mut self.sink.events);
            self.waiting.reverse();
        }
        Ok(self.waiting.pop())
    }

    /// Collects the items, numbered as they come; tells whether the ids increase, so that no row comes back after another. All events are kept
    /// if they take no more than so many bytes.
    fn look_through(&mut self, keep_bytes: u64) -> Result<(bool, Option<KeptEvents>)> {
        let (mut by_number, mut by_text) = (true, true);
        let mut last: Option<Vec<u8>> = None;
        let mut kept = (keep_bytes > 0).then(KeptEvents::default);
        while let Some((row, item, value)) = self.next_event()? {
            let column = match self.columns.get(&item) {
                _ if item.is_empty() => None,
                Some(&column) => Some(column),
                None if self.columns.len() >= u32::MAX as usize - 1 => {
                    return Err(Error::data(self.input.place(), "more items than can be read"));
                }
                None => {
                    let column = self.columns.len() as u32;
                    self.columns.insert(item, column);
                    Some(column)
                }
            };
            kept = kept.and_then(|kept| kept.with(&row, column, value, keep_bytes));
            if last.as_ref() != Some(&row) {
                if let Some(last) = &last {
                    by_number &= matches!((number(last), number(&row)), (Some(before), Some(after)) if before < after);
                    by_text &= *last < row;
                }
                last = Some(row);
            }
        }
        Ok((by_number || by_text, kept))
    }

    fn hold(&mut self, with_keys: bool) -> Result<Held> {
        let mut rows: HashMap<Vec<u8>, u32> = HashMap::new();
        let mut cells = Vec::new();
        while let Some((row, item, value)) = self.next_event()? {
            let next = u32::try_from(rows.len()).map_err(|_| Error::data(self.input.place(), "more rows than can be held"))?;
            if with_keys && !rows.contains_key(&row) {
                self.held_keys.push(row.clone());
            }
            let row = *rows.entry(row).or_insert(next);
            if let Some(&column) = self.columns.get(&item) {
                cells.push((row, column, value));
            }
        }
        Ok(Held::new(rows.len(), cells))
    }
}

/// Events as cells, in columns that are numbered as their items came.
#[derive(Default)]
struct KeptEvents {
    rows: HashMap<Vec<u8>, u32>,
    cells: Vec<(u32, u32, f64)>,
    n_bytes: u64,
}

impl KeptEvents {
    /// The same with another event; `None` if they do not fit.
    fn with(mut self, row: &[u8], column: Option<u32>, value: f64, most_bytes: u64) -> Option<Self> {
        let row = match self.rows.get(row) {
            Some(&row) => row,
            None => {
                let next = u32::try_from(self.rows.len()).ok()?;
                self.n_bytes += row.len() as u64 + KeptRows::CELL_BYTES;
                self.rows.insert(row.to_vec(), next);
                next
            }
        };
        if let Some(column) = column {
            self.n_bytes += KeptRows::CELL_BYTES;
            self.cells.push((row, column, value));
        }
        (self.n_bytes <= most_bytes).then_some(self)
    }

    /// The rows, with each column in its place.
    fn held(mut self, places: &[u32]) -> Held {
        self.cells.iter_mut().for_each(|(_, column, _)| *column = places[*column as usize]);
        Held::new(self.rows.len(), self.cells)
    }
}

impl RowSource for EventSource {
    fn next_row(&mut self, row: &mut Vec<(u32, f64)>) -> Result<bool> {
        if let Some(held) = &mut self.held {
            if let Some(key) = self.held_keys.get(held.position()) {
                self.key.clone_from(key);
            }
            return Ok(held.next_row(row));
        }
        let Some((id, item, value)) = self.next_event()? else { return Ok(false) };
        row.extend(self.columns.get(&item).map(|&column| (column, value)));
        while let Some(event) = self.next_event()? {
            if event.0 != id {
                self.waiting.push(event);
                break;
            }
            row.extend(self.columns.get(&event.1).map(|&column| (column, event.2)));
        }
        self.key = id;
        Ok(true)
    }

    fn key(&self) -> Option<&[u8]> {
        Some(&self.key)
    }

    fn rewind(&mut self) -> Result<()> {
        if let Some(held) = &mut self.held {
            held.rewind();
            return Ok(());
        }
        self.waiting.clear();
        self.sink.first_row = 0;
        self.table.rewind()
    }
}
