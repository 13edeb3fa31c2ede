//! Parquet and Arrow IPC tables.
//!
//! Numbers of any width (decimals too, as the nearest 64-bit floats), truth values, texts and dictionaries of these are
//! read; nulls and NaN are missing. Dates, times, binary and nested columns are not variables.

mod arrow;
mod parquet;
mod thrift;

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use ::parquet::arrow::ProjectionMask;
use ::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType, SchemaRef};

use self::arrow::Messages;
use super::cell::{Cell, CellSink};
use super::input::Input;
use crate::error::{Error, Place, Result};

/// Rows decoded at once.
const CHUNK_ROWS: usize = 4096;

/// Record batches that come one after the other.
pub(super) type Batches = Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>> + Send>;

/// Where the batches of a table come from.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Origin {
    Parquet,
    Arrow,
    /// Another program, which gives them once.
    Stream,
}

impl Origin {
    fn name(self) -> &'static str {
        match self {
            Self::Parquet => "Parquet",
            Self::Arrow | Self::Stream => "Arrow",
        }
    }
}

pub(super) struct ColumnarTable {
    input: Arc<Input>,
    origin: Origin,
    names: Vec<String>,
    types: Vec<DataType>,
    /// Columns that are read, in file order.
    wanted: Vec<usize>,
    /// For each column of the file, whether its cells are given as text, exactly as they are.
    is_text: Vec<bool>,
    batches: Batches,
    current: Option<RecordBatch>,
    next_row: u64,
}

impl ColumnarTable {
    pub(super) fn new(input: Arc<Input>, is_parquet: bool) -> Result<Self> {
        let origin = if is_parquet { Origin::Parquet } else { Origin::Arrow };
        let (schema, batches) = open(&input, origin, None)?;
        Self::with(input, origin, &schema, batches)
    }

    /// A table of batches that another program gives, which can be read once.
    pub(super) fn stream(schema: &SchemaRef, batches: Batches) -> Result<Self> {
        Self::with(Arc::new(Input::memory()), Origin::Stream, schema, batches)
    }

    fn with(input: Arc<Input>, origin: Origin, schema: &SchemaRef, batches: Batches) -> Result<Self> {
        let names: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
        let types = schema.fields().iter().map(|field| field.data_type().clone()).collect();
        let mut seen = std::collections::HashMap::new();
        for (ix, name) in names.iter().enumerate() {
            if let Some(earlier) = seen.insert(name.as_str(), ix) {
                let problem = format!("columns {} and {} have the same name; rename one", earlier + 1, ix + 1);
                return Err(Error::data(input.place().column(name), problem));
            }
        }
        let (wanted, is_text) = ((0..names.len()).collect(), vec![false; names.len()]);
        Ok(Self { input, origin, names, types, wanted, is_text, batches, current: None, next_row: 0 })
    }

    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// Whether a column has the type of no values at all.
    pub(super) fn is_null(&self, column: usize) -> bool {
        self.types[column] == DataType::Null
    }

    pub(super) fn unusable(&self, column: usize) -> Option<String> {
        let kind = match &self.types[column] {
            DataType::Dictionary(_, values) => values,
            kind => kind,
        };
        match kind {
            DataType::Null => Some("it has no values".to_owned()),
            DataType::Boolean | DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => None,
            kind if kind.is_numeric() => None,
            kind if kind.is_temporal() => Some("it holds dates or times".to_owned()),
            kind => Some(format!("its type {} is not numeric, Boolean or text", short_type(kind))),
        }
    }

    pub(super) fn can_be_text(&self, column: usize) -> bool {
        arrow_cast::can_cast_types(&self.types[column], &DataType::Utf8)
    }

    pub(super) fn project(&mut self, wanted: &[bool], is_text: &[bool]) -> Result<()> {
        self.wanted = (0..self.names.len()).filter(|&ix| wanted[ix]).collect();
        self.is_text = is_text.to_vec();
        self.rewind()
    }

    pub(super) fn rewind(&mut self) -> Result<()> {
        if self.origin == Origin::Stream {
            return if self.next_row == 0 {
                Ok(())
            } else {
                Err(Error::data(Place::default(), "the rows can be read only once"))
            };
        }
        self.batches = open(&self.input, self.origin, Some(&self.wanted))?.1;
        self.current = None;
        self.next_row = 0;
        Ok(())
    }

    /// Whether there are more rows.
    pub(super) fn has_rows(&mut self) -> Result<bool> {
        while self.current.as_ref().is_none_or(|batch| batch.num_rows() == 0) {
            let batches = &mut self.batches;
            match guarded(&self.input, self.origin, || batches.next().transpose())? {
                None => return Ok(false),
                Some(batch) if self.origin == Origin::Stream && batch.num_columns() != self.names.len() => {
                    return Err(Error::data(Place::default(), "a batch does not have the columns of the first one"));
                }
                batch => self.current = batch,
            }
        }
        Ok(true)
    }

    pub(super) fn read_rows(&mut self, max_rows: usize, sink: &mut impl CellSink) -> Result<usize> {
        if !self.has_rows()? {
            return Ok(0);
        }
        let Some(batch) = self.current.take() else { return Ok(0) };
        let n_rows = batch.num_rows().min(max_rows);
        let (head, rest) = (batch.slice(0, n_rows), batch.slice(n_rows, batch.num_rows() - n_rows));
        self.current = Some(rest);
        for (place, &column) in self.wanted.iter().enumerate() {
            // Files give the columns that are wanted, a stream all.
            let array = head.column(if self.origin == Origin::Stream { column } else { place });
            let problem = |row: Option<usize>, what: String| {
                let row = row.map(|row| self.next_row + row as u64 + 1);
                Error::data(Place { row, ..self.input.place().column(&self.names[column]) }, what)
            };
            let as_text = self.is_text[column];
            if !as_text && let Some(whole) = whole_numbers(array) {
                let numbers = whole.as_primitive::<Int64Type>();
                let nulls = numbers.nulls().filter(|nulls| nulls.null_count() > 0);
                let mut missing = nulls.into_iter().flat_map(|nulls| (0..nulls.len()).filter(|&row| nulls.is_null(row)));
                if sink.whole_numbers(column, numbers.values(), &mut missing) {
                    continue;
                }
            }
            let array = guarded(&self.input, self.origin, || Ok(if as_text { text(array) } else { plain(array) }))?
                .map_err(|what| problem(None, what))?;
            let first_row = self.next_row;
            feed(&array, |row, cell| sink.cell(first_row + row as u64, column, cell))
                .map_err(|(row, what)| problem(Some(row), what))?;
        }
        self.next_row += n_rows as u64;
        Ok(n_rows)
    }
}

fn short_type(kind: &DataType) -> String {
    let text = kind.to_string();
    text.split(['(', '<']).next().unwrap_or_default().to_owned()
}

/// Runs a step of the Arrow libraries, whose checks of a corrupt file are errors nearly everywhere, and panics in places.
fn guarded<T>(input: &Input, origin: Origin, step: impl FnOnce() -> Result<T, ArrowError>) -> Result<T> {
    let fail = |problem: String| Error::format(input.place(), origin.name(), problem);
    match catch_unwind(AssertUnwindSafe(step)) {
        Ok(Err(error)) if origin == Origin::Stream => Err(fail(reason(&error))),
        Ok(result) => result.map_err(|error| fail(format!("{}; is the file complete?", reason(&error)))),
        Err(_) => Err(fail("the file is damaged; copy or recreate the file".to_owned())),
    }
}

/// The reason of an error in one line, without the names of the layers it came through.
fn reason(error: &ArrowError) -> String {
    const LIMIT: usize = 200;
    let text = error.to_string();
    let reason = [
        "Parquet argument error: ",
        "Parquet error: ",
        "Parser error: ",
        "Ipc error: ",
        "Io error: ",
        "EOF: ",
        "Invalid Parquet file. ",
    ]
    .iter()
    .fold(text.as_str(), |rest, layer| rest.strip_prefix(layer).unwrap_or(rest));
    let clean = reason.chars().take(LIMIT).map(|it| if it.is_control() { ' ' } else { it });
    clean.collect::<String>().trim_end_matches('.').to_owned()
}

fn open(input: &Input, origin: Origin, wanted: Option<&[usize]>) -> Result<(SchemaRef, Batches)> {
    let file = File::open(input.real_path()).map_err(|error| input.io_error(error))?;
    guarded(input, origin, || {
        if origin != Origin::Parquet {
            let (schema, messages) = Messages::open(file, wanted)?;
            return Ok((schema, Box::new(messages) as Batches));
        }
        parquet::check_footer(&file)?;
        let builder = ParquetRecordBatchReaderBuilder::try_new(file.try_clone()?)?.with_batch_size(CHUNK_ROWS);
        let schema = Arc::clone(builder.schema());
        let Some(wanted) = wanted else { return Ok((schema, Box::new(std::iter::empty()) as Batches)) };
        let mask = ProjectionMask::roots(builder.parquet_schema(), wanted.iter().copied());
        parquet::check_pages(&file, builder.metadata(), &|leaf| mask.leaf_included(leaf))?;
        Ok((schema, Box::new(builder.with_projection(mask).build()?) as Batches))
    })
}

/// The array as texts; floating-point numbers stay numbers, which have one way to be written here.
fn text(array: &ArrayRef) -> Result<ArrayRef, String> {
    if array.data_type().is_floating() {
        return plain(array);
    }
    let cannot = |_| format!("columns of type {} cannot be written as text; leave the column out", short_type(array.data_type()));
    arrow_cast::cast(array, &DataType::Utf8).map_err(cannot)
}

/// The array as 64-bit whole numbers, if all numbers of its type are such.
fn whole_numbers(array: &ArrayRef) -> Option<ArrayRef> {
    match array.data_type() {
        DataType::Int64 => Some(Arc::clone(array)),
        kind if kind.is_integer() && *kind != DataType::UInt64 => arrow_cast::cast(array, &DataType::Int64).ok(),
        _ => None,
    }
}

/// The array as 64-bit floats, truth values or texts.
fn plain(array: &ArrayRef) -> Result<ArrayRef, String> {
    let target = match array.data_type() {
        DataType::Dictionary(_, values) => values.as_ref().clone(),
        kind => kind.clone(),
    };
    let target = if target.is_numeric() { DataType::Float64 } else { target };
    if *array.data_type() == target {
        return Ok(Arc::clone(array));
    }
    let unpacked = match array.data_type() {
        DataType::Dictionary(_, values) => arrow_cast::cast(array, values),
        _ => Ok(Arc::clone(array)),
    };
    unpacked.and_then(|array| arrow_cast::cast(&array, &target)).map_err(|error| error.to_string())
}

/// Gives the cells of an array one by one; a problem comes back with its row.
fn feed(array: &ArrayRef, mut visit: impl FnMut(usize, Cell<'_>) -> Result<(), String>) -> Result<(), (usize, String)> {
    let mut each = |row: usize, cell: Option<Cell<'_>>| visit(row, cell.unwrap_or(Cell::Missing)).map_err(|what| (row, what));
    match array.data_type() {
        DataType::Null => (0..array.len()).try_for_each(|row| each(row, None)),
        DataType::Float64 => {
            array.as_primitive::<Float64Type>().iter().enumerate().try_for_each(|(row, value)| each(row, value.map(Cell::Number)))
        }
        DataType::Boolean => array.as_boolean().iter().enumerate().try_for_each(|(row, value)| each(row, value.map(Cell::Bool))),
        DataType::Utf8 => array
            .as_string::<i32>()
            .iter()
            .enumerate()
            .try_for_each(|(row, value)| each(row, value.map(|text| Cell::Text(text.as_bytes().trim_ascii())))),
        DataType::LargeUtf8 => array
            .as_string::<i64>()
            .iter()
            .enumerate()
            .try_for_each(|(row, value)| each(row, value.map(|text| Cell::Text(text.as_bytes().trim_ascii())))),
        DataType::Utf8View => array
            .as_string_view()
            .iter()
            .enumerate()
            .try_for_each(|(row, value)| each(row, value.map(|text| Cell::Text(text.as_bytes().trim_ascii())))),
        kind => Err((0, format!("columns of type {} cannot be read", short_type(kind)))),
    }
}
