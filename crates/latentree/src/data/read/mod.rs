//! Readers of data files.
//!
//! [`open`] recognises a file by its first bytes and its ending, looks through it once to infer what its columns are
//! (unless a schema is given), and gives a [`Reader`] that yields batches of bounded size as often as needed:
//!
//! | file | recognised by |
//! | --- | --- |
//! | CSV, TSV | `.csv`, `.tsv`, and all text that is nothing else; commas, semicolons or tabs separate |
//! | Parquet, Arrow IPC (Feather 2) | the first bytes `PAR1`, `ARROW1` |
//! | Matrix Market | the first bytes `%%MatrixMarket` |
//! | UCI bag of words | a name that begins with `docword`, or `.txt`, or no ending, and three lines of one whole number each, then three on a line |
//! | libsvm | `.svm`, `.libsvm` |
//!
//! Text ([`ReadOptions::text`]) is a table of word counts: files, pieces of files, or a column of texts ([`TextOptions`]).
//!
//! Each may be compressed by gzip or Zstandard. A directory of CSV, TSV, Parquet and Arrow files, or a pattern that matches such
//! files, is one table ([`PartFiles`]). Standard input (`-`) is kept in a temporary file so that it can be read twice (in
//! `TMPDIR`). How kinds are inferred is told in the table of `infer`: 0/1 is binary, at most 12 different whole numbers are
//! categories (unless they look like counts), other whole numbers from 0 up are counts, other numbers are continuous, text is
//! categorical. In sparse files all columns have one kind: binary if all stored values are 1, else count or continuous.

mod carried;
mod cell;
mod clinical;
#[cfg(feature = "columnar")]
mod columnar;
mod coordinate;
mod csv;
mod date;
mod decode;
mod delimiter;
mod dense;
mod distinct;
mod encoding;
mod events;
mod events_like;
mod group;
mod histogram;
mod identifier;
mod infer;
mod inheritance;
mod input;
mod item_file;
mod items;
mod kept;
mod libsvm;
mod memory;
mod missing_values;
mod nearly;
mod notes;
mod options;
mod overrides;
mod parts;
mod plan;
mod rare;
mod resolution;
mod rolled_table;
mod rollup;
mod sentinel;
mod signed_number;
mod sparse;
#[cfg(feature = "columnar")]
mod stream;
mod table;
mod text;
mod times;
mod told;
mod unseen;
mod written_number;

#[cfg(test)]
mod tests;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use carried::{Carried, FileColumn};
pub(crate) use cell::{is_missing, number_text};
pub use clinical::ClinicalFormat;
pub(crate) use clinical::{read_columns, table_columns};
pub use encoding::TextEncoding;
pub use item_file::ItemFile;
pub use items::ItemFilter;
pub use memory::{Loaded, MemoryRows, MemoryTable, Values, from_sparse_rows, from_values};
pub use options::{KindOverride, ReadOptions};
pub use parts::PartFiles;
pub use rare::OTHER_LABEL;
#[cfg(feature = "columnar")]
pub use stream::{Look, LookOptions, Looked, Reading, RecordBatches, StreamRows};
pub use text::{DocumentLimit, DocumentNames, StopList, StopWords, TextOptions};
pub use times::TimeFilter;
pub(crate) use told::told as kind_option;
pub use unseen::{Unseen, UnseenColumns, UnseenLabels, UnseenName, UnseenPolicy};

use self::clinical::Settled;
use self::coordinate::CoordinateFormat;
use self::dense::DenseReader;
use self::input::Input;
use self::parts::{Parts, PartsTable};
use self::plan::Plan;
use self::sparse::{SparseFile, SparseReader};
use self::table::{FileTable, Table};
use self::text::TextInput;
use super::{Batch, BatchSource, Schema};
use crate::error::{Error, Result};
use crate::file;
use crate::index::ColIx;

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Csv(Option<u8>),
    Parquet,
    Arrow,
    Coordinate(CoordinateFormat),
    Libsvm,
}

/// A data file, or the parts of one, read batch by batch.
pub struct Reader {
    /// What was opened: a clinical data set is a folder of which some files are read.
    path: PathBuf,
    source: Source,
    schema: Arc<Schema>,
    body: Body,
    absent: Vec<ColIx>,
    unknown: Vec<(usize, String)>,
    are_items: bool,
    warnings: Vec<String>,
    n_rows: Option<u64>,
}

/// Where the bytes are.
#[derive(Clone)]
enum Source {
    File(Arc<Input>, Format),
    Parts(Arc<Parts>),
    Text(TextInput),
}

enum Body {
    Dense(Box<DenseReader>),
    Sparse(Box<SparseReader>),
}

/// Opens a data file, or standard input for `-`; of a directory or a pattern all parts, as one table ([`PartFiles`]).
///
/// # Errors
/// If the file cannot be read or does not follow its format, if it has no rows, if an option names a column that is not
/// there, or if a schema is given of which the file has no column. The error tells the file, and the line, row and column
/// where there is one.
///
/// # Example
/// ```
/// use latentree::data::{self, Kind, ReadOptions};
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("votes.csv");
/// std::fs::write(&path, "yes,party\n0,A\n1,B\n1,A\n")?;
/// let mut reader = data::open(&path, &ReadOptions::default())?;
/// let dataset = data::Dataset::read(&mut reader)?;
/// assert_eq!(dataset.n_rows(), 3);
/// assert_eq!(dataset.schema().columns()[0].kind, Kind::binary());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn open(path: &Path, options: &ReadOptions) -> Result<Reader> {
    if let Some(text) = &options.text {
        let paths = std::iter::once(path.to_path_buf()).chain(text.more.iter().cloned()).collect();
        return open_source(path, Source::Text(TextInput::of_paths(paths)), options, None);
    }
    open_at(path, None, options)
}

/// Opens what is at a path; the source, if it was found before.
fn open_at(path: &Path, source: Option<Source>, options: &ReadOptions) -> Result<Reader> {
    let find = |path: &Path, options: &ReadOptions| source.clone().map_or_else(|| Source::find(path, options), Ok);
    let Some(format) = &options.clinical else { return open_source(path, find(path, options)?, options, None) };
    let mut settled = Settled::find(path, format, options)?;
    let notes = std::mem::take(&mut settled.notes);
    let source = find(&settled.path, &settled.options)?;
    let mut reader = open_source(path, source, &settled.options, settled.split)?;
    if matches!(format, ClinicalFormat::Meds { .. }) && options.rollup.is_none() && options.schema.is_none() {
        let codes: Vec<String> = reader.schema.columns().iter().map(|column| data_name(&reader.schema, column)).collect();
        reader.warnings.extend(clinical::vocabularies_note(&codes));
    }
    if matches!(format, ClinicalFormat::Omop) && options.schema.is_none() {
        let has_unmapped = reader.schema.columns().iter().any(|column| data_name(&reader.schema, column) == "0");
        reader.warnings.extend(has_unmapped.then(|| clinical::UNMAPPED_NOTE.to_owned()));
    }
    reader.warnings.splice(0..0, notes);
    Ok(reader)
}

/// What the data call a column.
fn data_name(schema: &Schema, column: &super::Column) -> String {
    schema.code_of(&column.name).unwrap_or(&column.name).to_owned()
}

impl Source {
    /// The file or the parts at a path.
    fn find(path: &Path, options: &ReadOptions) -> Result<Self> {
        Ok(match PartFiles::find(path)? {
            Some(files) => Self::Parts(Arc::new(Parts::open(files, options)?)),
            None => {
                let (input, format) = recognised(Input::new(path)?, options)?;
                Self::File(Arc::new(input), format)
            }
        })
    }
}

/// Opens texts in memory, as documents of these names, or numbered from 1. [`ReadOptions::text`] tells how words are counted and
/// chosen.
///
/// # Errors
/// As [`open`], and [`Error::Mismatch`] if there are not as many names as texts.
///
/// # Example
/// ```
/// use latentree::data::{BatchSource, ReadOptions, StopWords, TextOptions, open_texts};
/// let texts = ["The cat sat.", "A cat and a dog sat."].map(str::to_owned).to_vec();
/// let reader = open_texts(texts, None, &ReadOptions::default().text(TextOptions::default()))?;
/// let words: Vec<&str> = reader.schema().columns().iter().map(|column| column.name.as_str()).collect();
/// assert_eq!(words, ["cat", "sat"]);
/// # Ok::<(), latentree::Error>(())
/// ```
pub fn open_texts(texts: Vec<String>, names: Option<Vec<String>>, options: &ReadOptions) -> Result<Reader> {
    if let Some(names) = names.as_ref().filter(|names| names.len() != texts.len()) {
        return Err(Error::Mismatch {
            left: format!("{} texts", texts.len()),
            right: format!("{} names", names.len()),
            problem: "there must be one name for each text".to_owned(),
        });
    }
    open_source(Path::new(""), Source::Text(TextInput::of_texts(texts, names)), options, None)
}

/// Recognises a file, and prepares it to be read in its format.
fn recognised(mut input: Input, options: &ReadOptions) -> Result<(Input, Format)> {
    let format = recognise(&input.path, &input.first_bytes(4096)?);
    if matches!(format, Format::Parquet | Format::Arrow) {
        if options.encoding.is_some() {
            return Err(Error::option("read.encoding", format!("{} is not a text file; leave it out", input.place())));
        }
        input.decompress()?;
    }
    input.encoding = options.encoding;
    let format = match options.encoding {
        None => format,
        Some(_) => recognise(&input.path, &input.first_bytes(4096)?),
    };
    Ok((input, format))
}

/// A source as it is read.
enum Opened {
    Table(Table),
    Sparse(SparseFile),
}

fn open_source(path: &Path, source: Source, options: &ReadOptions, split: Option<Vec<String>>) -> Result<Reader> {
    let (input, opened) = match &source {
        Source::Text(text) => {
            let (file, input) = text.open(options)?;
            (input, Opened::Sparse(file))
        }
        Source::File(input, format) => (Arc::clone(input), open_file(input, *format, options)?),
        Source::Parts(parts) => {
            let table = PartsTable::open(Arc::clone(parts), options)?;
            (Arc::new(parts.as_input()), Opened::Table(Table::Parts(Box::new(table))))
        }
    };
    let sparse = match opened {
        Opened::Sparse(sparse) => sparse,
        Opened::Table(table) if options.events.is_some() => events::open(table, &input, options, split)?,
        Opened::Table(table) => {
            options.times.refuse()?;
            let (reader, plan, n_rows) = DenseReader::open(table, input, options)?;
            return Ok(Reader::new(path, source, plan, Body::Dense(Box::new(reader)), n_rows, false));
        }
    };
    if options.events.is_none() {
        options.times.refuse()?;
    }
    let sparse = items::refined(sparse, &input, options)?;
    let n_rows = sparse.scan.n_rows;
    let (reader, plan) = SparseReader::open(sparse, input, options)?;
    Ok(Reader::new(path, source, plan, Body::Sparse(Box::new(reader)), Some(n_rows), options.events.is_some()))
}

fn open_file(input: &Arc<Input>, format: Format, options: &ReadOptions) -> Result<Opened> {
    check_names(input, format, options)?;
    if !options.header && matches!(format, Format::Coordinate(_) | Format::Libsvm) {
        return Err(Error::option(
            "read.no_header",
            format!("{} is a sparse file, which has no header; leave it out", input.place()),
        ));
    }
    if options.events.is_some() && matches!(format, Format::Coordinate(_) | Format::Libsvm) {
        return Err(Error::option(
            "read.events",
            format!("{} is not a table of events, which is CSV, TSV or Parquet", input.place()),
        ));
    }
    Ok(match format {
        Format::Coordinate(format) => Opened::Sparse(coordinate::open(input, options, format)?),
        Format::Libsvm => Opened::Sparse(libsvm::open(input, options)?),
        format => Opened::Table(Table::File(FileTable::open(input, format, options)?)),
    })
}

/// Refuses a file of names for a file that has its own.
fn check_names(input: &Input, format: Format, options: &ReadOptions) -> Result<()> {
    let problem = match format {
        _ if options.names.is_none() => return Ok(()),
        _ if options.events.is_some() => "the columns of events are named by their items; leave it out",
        Format::Parquet | Format::Arrow => "the file names its columns itself; leave it out",
        Format::Csv(_) if options.header => {
            "the first row of the file names its columns; leave it out, or add `read.no_header` if that row is data"
        }
        _ => return Ok(()),
    };
    Err(Error::option("read.names", format!("{}: {problem}", input.place())))
}

fn recognise(path: &Path, first: &[u8]) -> Format {
    let ending = file::ending(path);
    // A table of text may begin with the same letters, as the name of its first column; what follows them is text then.
    let is_binary = |magic: &[u8]| {
        let next = first.strip_prefix(magic).and_then(|rest| rest.first());
        next.is_some_and(|byte| byte.is_ascii_control() && !byte.is_ascii_whitespace())
    };
    if is_binary(b"PAR1") || ending == "parquet" {
        return Format::Parquet;
    }
    if is_binary(b"ARROW1") || matches!(ending.as_str(), "arrow" | "feather" | "ipc") {
        return Format::Arrow;
    }
    if first.get(..14).is_some_and(|banner| banner.eq_ignore_ascii_case(b"%%MatrixMarket")) || ending == "mtx" {
        return Format::Coordinate(CoordinateFormat::MatrixMarket);
    }
    match ending.as_str() {
        "csv" => Format::Csv(Some(b',')),
        "tsv" | "tab" => Format::Csv(Some(b'\t')),
        "svm" | "libsvm" => Format::Libsvm,
        _ if coordinate::is_named_docword(path) => Format::Coordinate(CoordinateFormat::Docword),
        "txt" | "" if coordinate::looks_like_docword(first) => Format::Coordinate(CoordinateFormat::Docword),
        _ => Format::Csv(None),
    }
}

impl Reader {
    fn new(path: &Path, source: Source, plan: Plan, body: Body, n_rows: Option<u64>, are_items: bool) -> Self {
        let Plan { schema, absent, unknown, mut warnings, .. } = plan;
        match &source {
            Source::Parts(parts) => drop(warnings.splice(0..0, parts.notes())),
            Source::Text(text) => drop(warnings.splice(0..0, text.notes())),
            Source::File(..) => {}
        }
        Self { path: path.to_path_buf(), source, schema, body, absent, unknown, are_items, warnings, n_rows }
    }

    /// Opens the same bytes with other options, such as a schema chosen after a look at the columns. Unlike a second
    /// [`open`] this works for standard input too.
    ///
    /// # Errors
    /// As [`open`].
    pub fn reopen(&self, options: &ReadOptions) -> Result<Self> {
        open_at(&self.path, Some(self.source.clone()), options)
    }

    /// Whether rows list their non-zero cells only, as in sparse files and events.
    #[must_use]
    pub fn is_sparse(&self) -> bool {
        matches!(self.body, Body::Sparse(_))
    }

    /// Columns of the given schema that the file does not have: they are missing in every row.
    #[must_use]
    pub fn absent_columns(&self) -> &[ColIx] {
        &self.absent
    }

    /// What the file holds and the given schema does not know. Labels are counted as rows are read: of the last whole pass,
    /// or of the rows so far in the first.
    #[must_use]
    pub fn unseen(&self) -> Unseen {
        let (columns, labels) = match &self.body {
            Body::Dense(reader) => (unseen::unseen_columns(&self.schema, false, &self.unknown, |_| None), reader.unseen()),
            Body::Sparse(reader) => {
                let (skipped, labels) = reader.unseen();
                let columns = unseen::unseen_columns(&self.schema, self.are_items, &self.unknown, |ix| Some(skipped[ix]));
                (columns, labels)
            }
        };
        Unseen { columns, labels }
    }

    /// Bytes that were read of a file, after decompression.
    #[cfg(test)]
    pub(crate) fn n_bytes_read(&self) -> u64 {
        match &self.source {
            Source::File(input, _) => input.n_read.load(std::sync::atomic::Ordering::Relaxed),
            Source::Parts(_) | Source::Text(_) => 0,
        }
    }

    /// What the user should know of how the file is read: columns left out, and why.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The cells of the batch that came last that are handed on as text: of [`ReadOptions::id`], [`ReadOptions::carry_keys`] and
    /// [`ReadOptions::carry_others`].
    #[must_use]
    pub fn carried(&self) -> &Carried {
        match &self.body {
            Body::Dense(reader) => reader.carried(),
            Body::Sparse(reader) => reader.carried(),
        }
    }

    /// Where the columns of the file are, in their order, without those that are neither variables nor carried along. What rows
    /// are called comes first where it is no column of a table (events); variables that the file does not have come last.
    #[must_use]
    pub fn file_columns(&self) -> Vec<FileColumn> {
        let mut columns = match &self.body {
            Body::Dense(reader) => reader.file_columns(),
            Body::Sparse(reader) => {
                let keys = (0..reader.carried().names().len()).map(FileColumn::Carried);
                return keys.chain((0..self.schema.columns().len()).map(|ix| FileColumn::Variable(ColIx::new(ix)))).collect();
            }
        };
        columns.extend(self.absent.iter().map(|&column| FileColumn::Variable(column)));
        columns
    }

    /// The SHA-256 of the decompressed bytes, as `sha256:` and 64 hexadecimal digits; `None` before the first full read. Of parts
    /// it is that of their names, below the directory, and their digests.
    #[must_use]
    pub fn digest(&self) -> Option<String> {
        match &self.source {
            // Such a file is not read from its first byte to its last.
            Source::File(input, Format::Parquet | Format::Arrow) => input.compute_digest(),
            Source::File(input, _) => input.digest(),
            Source::Parts(parts) => parts.digest(),
            Source::Text(text) => text.digest(),
        }
    }

    /// The names of the documents, of text; empty for tables.
    #[must_use]
    pub fn documents(&self) -> Arc<DocumentNames> {
        match &self.source {
            Source::Text(text) => text.names(),
            Source::File(..) | Source::Parts(_) => Arc::default(),
        }
    }
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = match &self.source {
            Source::File(input, _) => input.path.clone(),
            Source::Parts(parts) => parts.files().path().to_path_buf(),
            Source::Text(text) => text.path(),
        };
        f.debug_struct("Reader").field("path", &path).field("n_rows", &self.n_rows).finish_non_exhaustive()
    }
}

impl BatchSource for Reader {
    fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    fn next_batch(&mut self) -> Result<Option<Arc<Batch>>> {
        let batch = match &mut self.body {
            Body::Dense(reader) => reader.next_batch()?,
            Body::Sparse(reader) => reader.next_batch()?,
        };
        Ok(batch.map(Arc::new))
    }

    fn rewind(&mut self) -> Result<()> {
        match &mut self.body {
            Body::Dense(reader) => reader.rewind(),
            Body::Sparse(reader) => reader.rewind(),
        }
    }

    fn n_rows_hint(&self) -> Option<u64> {
        self.n_rows
    }
}
