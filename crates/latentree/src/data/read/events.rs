//! Long events: one line for each thing that happened, with the id of its row (a patient) and the item (a code), and
//! possibly a value.
//!
//! Rows come in the order in which their ids first appear, columns are the items in alphabetic order. Without a value a
//! cell says whether the item is there at all; with one, the values of the same row and item are added up. A line without
//! an item only says that its row exists.
//!
//! Ids that come in increasing order, as numbers or as text, are streamed; otherwise rows are held in memory.

use std::collections::{HashMap, HashSet};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::cell::{Cell, CellSink, is_missing, number, number_text};
use super::encoding::not_utf8;
use super::input::Input;
use super::options::ReadOptions;
use super::overrides::unknown_column;
use super::sparse::{Held, KeptRows, RowSource, Scan, SparseFile};
use super::table::Table;
use super::times::{Bounds, time_of};
use super::written_number::NumberReader;
use crate::error::{Error, Result, Shortened};
use crate::named::counted;

const CHUNK_ROWS: usize = 4096;

/// One line.
#[derive(Clone)]
struct Event {
    row: Vec<u8>,
    /// Empty if there is none.
    item: Vec<u8>,
    value: f64,
}

struct EventSource {
    table: Table,
    input: Arc<Input>,
    sink: EventSink,
    columns: HashMap<Vec<u8>, u32>,
    /// Events read and not used yet, last first.
    waiting: Vec<Event>,
    /// The number of the first event that was read with them.
    first_waiting: u64,
    /// The id of the last row.
    key: Vec<u8>,
    held: Option<Held>,
    /// The ids of the rows held; empty unless ids are carried.
    held_keys: Vec<Vec<u8>>,
    /// Counts what is left out, in the first pass.
    losses: Option<Losses>,
    /// The rows that are read, if not all.
    only: Option<HashSet<Vec<u8>>>,
}

/// Collects the cells of events; a columnar file gives them column by column.
struct EventSink {
    row: usize,
    item: usize,
    value: Option<usize>,
    time: Option<(usize, Bounds)>,
    /// When each event was; only while events are chosen by their times.
    whens: Vec<When>,
    /// The first and the last time of all events.
    range: Option<[String; 2]>,
    events: Vec<Event>,
    first_row: u64,
    numbers: NumberReader,
}

impl CellSink for EventSink {
    fn cell(&mut self, row: u64, column: usize, cell: Cell<'_>) -> Result<(), String> {
        let ix = (row - self.first_row) as usize;
        if ix >= self.events.len() {
            self.events.resize(ix + 1, Event { row: Vec::new(), item: Vec::new(), value: 1.0 });
            self.whens.resize(if self.time.is_some() { ix + 1 } else { 0 }, When::Unknown);
        }
        let event = &mut self.events[ix];
        if column == self.row {
            event.row = text(cell)?;
            if event.row.is_empty() {
                return Err("the event has no row id".to_owned());
            }
        } else if column == self.item {
            event.item = text(cell)?;
        } else if self.value == Some(column) {
            event.value = self.numbers.read(cell)?;
        }
        if let Some((_, bounds)) = self.time.as_ref().filter(|(time, _)| *time == column)
            && let Some(time) = time_of(cell)?
        {
            self.whens[ix] = if bounds.include(&time) { When::Inside } else { When::Outside };
            match &mut self.range {
                None => self.range = Some([time.clone(), time]),
                Some([first, _]) if time < *first => *first = time,
                Some([_, last]) if time > *last => *last = time,
                Some(_) => {}
            }
        }
        Ok(())
    }
}

/// When an event was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum When {
    Unknown,
    Inside,
    Outside,
}

/// Events that are left out, for the reason that comes first.
#[derive(Debug, Default)]
struct Losses {
    n_events: u64,
    of_other_subjects: u64,
    without_item: u64,
    without_time: u64,
    outside: u64,
}

impl Losses {
    fn see(&mut self, event: &Event, when: Option<When>, is_of_others: bool) {
        self.n_events += 1;
        let reason = match when {
            _ if is_of_others => &mut self.of_other_subjects,
            _ if event.item.is_empty() => &mut self.without_item,
            Some(When::Unknown) => &mut self.without_time,
            Some(When::Outside) => &mut self.outside,
            _ => return,
        };
        *reason += 1;
    }

    fn n_lost(&self) -> u64 {
        self.of_other_subjects + self.without_item + self.without_time + self.outside
    }

    /// How many events are left out, and why.
    fn note(&self, item: &str) -> Option<String> {
        let reasons = [
            (self.without_item, format!("without a value in {item:?}")),
            (self.without_time, "without a time".to_owned()),
            (self.outside, "outside the period".to_owned()),
            (self.of_other_subjects, "of subjects that are not in the split".to_owned()),
        ];
        let told: Vec<String> = reasons.into_iter().filter(|it| it.0 > 0).map(|(n, reason)| format!("{n} {reason}")).collect();
        let events = counted(self.n_events, "event");
        let are = if self.n_lost() == 1 { "is" } else { "are" };
        (self.n_lost() > 0).then(|| format!("{} of {events} {are} left out: {}", self.n_lost(), told.join(", ")))
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

/// Opens a table of events; `only` are the ids of the rows that are read.
pub(super) fn open(mut table: Table, input: &Arc<Input>, options: &ReadOptions, only: Option<Vec<String>>) -> Result<SparseFile> {
    let (row, item, value) = options.events.as_ref().expect("called when events are asked for");
    if let Some(id) = options.id.as_ref().filter(|&id| id != row) {
        let problem = format!("{id:?} given; the id of a row of events is the first column of `read.events`, {row:?}");
        return Err(Error::option("read.id", problem));
    }
    let (key_name, item_name) = (row.clone(), item.clone());
    let names = table.names();
    let find = |name: &String| names.iter().position(|it| it == name).ok_or_else(|| unknown_column("read.events", name, names));
    let (row, item, value) = (find(row)?, find(item)?, value.as_ref().map(find).transpose()?);
    if row == item || value == Some(row) || value == Some(item) {
        return Err(Error::option("read.events", "the row id, the item and the value must be different columns"));
    }
    [Some(row), Some(item), value].into_iter().flatten().try_for_each(|ix| table.require(ix, "read.events"))?;
    let time = match (options.times.bounds()?, &options.times.column) {
        (None, _) => None,
        (Some(_), None) => return Err(Error::option("read.since", "name the column of the times with `read.time`")),
        (Some(bounds), Some(name)) => {
            let found = names.iter().position(|it| it == name).ok_or_else(|| unknown_column("read.time", name, names))?;
            Some((found, bounds))
        }
    };
    if let Some(name) = options.times.column.as_ref().filter(|_| options.clinical.is_none())
        && !names.contains(name)
    {
        return Err(unknown_column("read.time", name, names));
    }
    let time_column = time.as_ref().map(|(column, _)| *column);
    let is_key = |ix: usize| ix == row || ix == item || time_column == Some(ix);
    let wanted: Vec<bool> = (0..names.len()).map(|ix| is_key(ix) || value == Some(ix)).collect();
    // Ids and codes beyond 2⁵³ are not the same number as 64-bit floats.
    let is_text: Vec<bool> = (0..names.len()).map(is_key).collect();
    table.project(&wanted, &is_text)?;
    let numbers = NumberReader::new(None, table.prefers_comma());
    let sink = EventSink { row, item, value, time, whens: Vec::new(), range: None, events: Vec::new(), first_row: 0, numbers };
    let input = Arc::clone(input);
    let mut source = EventSource {
        table,
        input,
        sink,
        columns: HashMap::new(),
        waiting: Vec::new(),
        first_waiting: 0,
        key: Vec::new(),
        held: None,
        held_keys: Vec::new(),
        losses: Some(Losses::default()),
        only: only.as_ref().map(|ids| ids.iter().map(|id| id.as_bytes().to_vec()).collect()),
    };
    // Ids that are carried along come from the file.
    let needs_keys = options.carry_keys || options.items.subjects.is_some() || only.is_some();
    let keep_bytes = if needs_keys { 0 } else { options.keep_bytes };
    let Look { is_ordered, kept, mut notes } = source.look_through(keep_bytes)?;
    if let Some(losses) = source.losses.take() {
        source.check_period(&losses, options, &mut notes)?;
        notes.extend(losses.note(&item_name));
    }
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
                source.held = Some(source.hold(needs_keys)?);
            }
            let scan = Scan::run(&mut source)?;
            (Box::new(source), scan)
        }
    };
    let names = names.into_iter().map(|name| String::from_utf8(name).expect("items were checked to be UTF-8")).collect();
    Ok(SparseFile {
        source,
        scan,
        names,
        named: true,
        is_open: true,
        is_presence: value.is_none(),
        key_name: Some(key_name),
        notes,
        only,
    })
}

impl EventSource {
    fn next_event(&mut self) -> Result<Option<Event>> {
        if self.waiting.is_empty() {
            let n_read = self.table.read_rows(CHUNK_ROWS, &mut self.sink)?;
            self.first_waiting = self.sink.first_row;
            self.sink.first_row += n_read as u64;
            for (ix, event) in self.sink.events.iter_mut().enumerate() {
                let when = self.sink.whens.get(ix).copied();
                if let Some(losses) = &mut self.losses {
                    let is_of_others = self.only.as_ref().is_some_and(|only| !only.contains(&event.row));
                    losses.see(event, when, is_of_others);
                }
                // The row is there, whenever things happened.
                if when.is_some_and(|when| when != When::Inside) {
                    event.item.clear();
                }
            }
            self.sink.whens.clear();
            self.waiting.append(&mut self.sink.events);
            self.waiting.reverse();
        }
        Ok(self.waiting.pop())
    }

    /// Collects the items, numbered as they come; tells whether no row comes back after another. All events are kept if they take no
    /// more than so many bytes.
    fn look_through(&mut self, keep_bytes: u64) -> Result<Look> {
        let (mut by_number, mut by_text) = (true, true);
        let mut last: Option<Vec<u8>> = None;
        let mut kept = (keep_bytes > 0).then(KeptEvents::default);
        // Ids of parts, such as the shards of a data set, need not increase from part to part.
        let mut returns = matches!(self.table, Table::Parts(_)).then(Returns::default);
        let mut n_seen = 0_u64;
        while let Some(Event { row, item, value }) = self.next_event()? {
            n_seen += 1;
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
                if let Some(returns) = &mut returns {
                    returns.see(&row, n_seen - 1, &self.table, &self.input);
                }
                last = Some(row);
            }
        }
        let mut notes = Vec::new();
        let mut is_ordered = by_number || by_text;
        if let Some(returns) = returns {
            is_ordered |= returns.n_rows == 0;
            notes.extend(returns.note());
        }
        Ok(Look { is_ordered, kept, notes })
    }

    /// Refuses a period in which nothing happened; a model can say something of rows without events.
    fn check_period(&self, losses: &Losses, options: &ReadOptions, notes: &mut Vec<String>) -> Result<()> {
        let Some((time, bounds)) = &self.sink.time else { return Ok(()) };
        if losses.n_lost() < losses.n_events || losses.outside + losses.without_time == 0 {
            return Ok(());
        }
        let name = &self.table.names()[*time];
        let range = match &self.sink.range {
            Some([first, last]) => format!("times in {name:?} are from {first} to {last}"),
            None => format!("{name:?} has no times"),
        };
        let problem = format!("no event is {bounds}; {range}");
        match &options.schema {
            None => Err(Error::option(bounds.option(), problem)),
            Some(_) => {
                notes.push(format!("{problem}; all rows are zeros"));
                Ok(())
            }
        }
    }

    fn hold(&mut self, with_keys: bool) -> Result<Held> {
        let mut rows: HashMap<Vec<u8>, u32> = HashMap::new();
        let mut cells = Vec::new();
        while let Some(Event { row, item, value }) = self.next_event()? {
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

/// What a look through the events found.
struct Look {
    /// Whether no row comes back after another.
    is_ordered: bool,
    kept: Option<KeptEvents>,
    notes: Vec<String>,
}

/// Finds rows that come back after others, in parts.
#[derive(Default)]
struct Returns {
    /// By hash of the id, the event with which the row began; rows whose hashes are equal count as one, which only costs memory.
    first: HashMap<u64, u64>,
    n_rows: usize,
    /// The first such row, and the files that have it.
    example: Option<String>,
    n_files: usize,
}

impl Returns {
    fn see(&mut self, row: &[u8], event: u64, table: &Table, input: &Input) {
        let mut hasher = std::hash::DefaultHasher::new();
        row.hash(&mut hasher);
        let Some(first) = self.first.insert(hasher.finish(), event) else { return };
        self.n_rows += 1;
        let file = |event: u64| table.place_of(event, &input.place()).file;
        let (Some(before), Some(here)) = (file(first), file(event)) else { return };
        if before != here {
            self.n_files += 1;
            let id = String::from_utf8_lossy(row).into_owned();
            self.example.get_or_insert_with(|| format!("{:?} in {} and {}", Shortened(&id), before.display(), here.display()));
        }
    }

    fn note(self) -> Option<String> {
        let example = self.example?;
        let are = if self.n_files == 1 { "1 row is" } else { "some rows are" };
        Some(format!("{are} in several files, and their events are joined: {example}; rows are held in memory"))
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
        let Some(Event { row: id, item, value }) = self.next_event()? else { return Ok(false) };
        row.extend(self.columns.get(&item).map(|&column| (column, value)));
        while let Some(event) = self.next_event()? {
            if event.row != id {
                self.waiting.push(event);
                break;
            }
            row.extend(self.columns.get(&event.item).map(|&column| (column, event.value)));
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
