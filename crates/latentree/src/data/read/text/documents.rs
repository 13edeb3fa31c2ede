//! Where documents come from: files, one file cut at lines, a column of a table, or memory.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use regex::Regex;
use sha2::{Digest, Sha256};

use super::options::TextOptions;
use crate::data::read::cell::{Cell, CellSink, number_text};
use crate::data::read::encoding::{not_utf8, wide_text};
use crate::data::read::input::{Input, Lines, digest_text};
use crate::data::read::options::ReadOptions;
use crate::data::read::overrides::unknown_column;
use crate::data::read::parts::{PartFiles, Parts, PartsTable};
use crate::data::read::table::{FileTable, Table};
use crate::data::read::{Format, TextEncoding, check_names, recognised};
use crate::error::{Error, Place, Result, Shortened};
use crate::file;
use crate::named::counted;

/// Documents and bytes that are counted at once.
const CHUNK_DOCUMENTS: usize = 4096;
const CHUNK_BYTES: usize = 8 << 20;
/// Longest document.
const DOCUMENT_LIMIT: u64 = 1 << 30;
/// Bytes at the start of a file by which it is known to be binary.
const HEAD: usize = 8192;
/// Endings of tables, whose lines are no text.
const TABLES: [&str; 7] = ["csv", "tsv", "tab", "parquet", "arrow", "feather", "ipc"];
/// Files that a note names.
const SHOWN: usize = 5;

/// A document as it comes: its text, or the file that holds it.
pub(super) struct Document {
    /// Its name; `None` for rows of a table, which have numbers.
    pub(super) name: Option<Box<str>>,
    body: Body,
    /// The cells of columns that are kept.
    pub(super) kept: Vec<Option<Box<str>>>,
}

enum Body {
    Text(String),
    File(Arc<Input>),
}

/// All documents, a chunk at a time.
pub(super) enum Documents {
    Files(Files),
    Split(Split),
    Column(Box<Column>),
    Memory(Memory),
}

/// The files that paths stand for.
pub(super) struct Files {
    files: Vec<TextFile>,
    next: usize,
    encoding: Option<TextEncoding>,
    /// Files of folders that are not text.
    binary: Vec<PathBuf>,
}

struct TextFile {
    path: PathBuf,
    name: Box<str>,
    /// Standard input and pipes are kept in a temporary file.
    input: Option<Arc<Input>>,
    digest: Arc<OnceLock<String>>,
}

impl TextFile {
    fn input(&self, encoding: Option<TextEncoding>) -> Arc<Input> {
        match &self.input {
            Some(input) => Arc::clone(input),
            None => Arc::new(Input::part(&self.path, encoding, Arc::clone(&self.digest))),
        }
    }
}

/// A file or several, cut where lines match.
pub(super) struct Split {
    files: Files,
    pattern: Regex,
    lines: Option<Lines>,
    /// The heading that the last chunk ended at.
    heading: Option<Box<str>>,
    /// Lines with words before the first heading of a file.
    before: u64,
    n_found: u64,
}

/// A column of a table.
pub(super) struct Column {
    table: Table,
    input: Arc<Input>,
    parts: Option<Arc<Parts>>,
    format: Option<Format>,
    sink: TextSink,
}

struct TextSink {
    text: usize,
    id: Option<usize>,
    keep: Vec<usize>,
    /// The row of the first document of this chunk.
    first_row: u64,
    documents: Vec<Document>,
    n_bytes: usize,
}

/// Texts that another program holds.
pub(super) struct Memory {
    texts: Arc<Vec<String>>,
    names: Option<Arc<Vec<String>>>,
    next: usize,
}

impl Documents {
    /// The documents of files and folders.
    pub(super) fn open(paths: &[PathBuf], text: &TextOptions, options: &ReadOptions) -> Result<Self> {
        if text.column.is_some() {
            let [path] = paths else {
                let problem =
                    "it names a column of one table, but there are several inputs; give a folder or a glob of its parts";
                return Err(Error::option("read.column", problem));
            };
            return Ok(Self::Column(Box::new(Column::open(path, text, options)?)));
        }
        if let Some(id) = &options.id {
            let problem =
                format!("{id:?}: only a table has columns; documents are called by their files or headings. Leave it out");
            return Err(Error::option("read.id", problem));
        }
        let is_table = |path: &&PathBuf| TABLES.contains(&file::ending(path).as_str()) && !path.is_dir();
        if let Some(path) = paths.iter().find(is_table) {
            let problem = format!("{} is a table; name the column that holds the texts", path.display());
            return Err(Error::option("read.column", problem));
        }
        let files = Files::find(paths, options.encoding)?;
        let Some(pattern) = &text.split else { return Ok(Self::Files(files)) };
        let pattern = Regex::new(pattern).map_err(|error| {
            let problem = error.to_string();
            let last = problem.lines().last().unwrap_or_default().trim_start_matches("error: ");
            Error::option("read.split", format!("{:?} is not a regular expression: {last}", Shortened(pattern)))
        })?;
        Ok(Self::Split(Split { files, pattern, lines: None, heading: None, before: 0, n_found: 0 }))
    }

    /// Texts in memory, with their names.
    pub(super) fn of_texts(texts: Arc<Vec<String>>, names: Option<Arc<Vec<String>>>) -> Self {
        Self::Memory(Memory { texts, names, next: 0 })
    }

    /// The next documents; none at the end.
    pub(super) fn next_chunk(&mut self) -> Result<Vec<Document>> {
        match self {
            Self::Files(files) => Ok(files.next_chunk()),
            Self::Split(split) => split.next_chunk(),
            Self::Column(column) => column.next_chunk(),
            Self::Memory(memory) => {
                let end = (memory.next + CHUNK_DOCUMENTS).min(memory.texts.len());
                let name = |ix: usize| memory.names.as_ref().map(|names| names[ix].as_str().into());
                let chunk = (memory.next..end).map(|ix| Document {
                    name: name(ix),
                    body: Body::Text(memory.texts[ix].clone()),
                    kept: Vec::new(),
                });
                let chunk = chunk.collect();
                memory.next = end;
                Ok(chunk)
            }
        }
    }

    /// Starts again.
    pub(super) fn rewind(&mut self) -> Result<()> {
        match self {
            Self::Files(files) => files.next = 0,
            Self::Split(split) => {
                split.files.next = 0;
                (split.lines, split.heading, split.before, split.n_found) = (None, None, 0, 0);
            }
            Self::Column(column) => {
                column.sink.first_row = 0;
                column.table.rewind()?;
            }
            Self::Memory(memory) => memory.next = 0,
        }
        Ok(())
    }

    /// What was left out, after a whole pass.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let files = match self {
            Self::Files(files) => Some(files),
            Self::Split(split) => Some(&split.files),
            Self::Column(_) | Self::Memory(_) => None,
        };
        if let Some(binary) = files.map(|files| &files.binary).filter(|binary| !binary.is_empty()) {
            let shown: Vec<String> = binary.iter().take(SHOWN).map(|path| path.display().to_string()).collect();
            let more = if binary.len() > SHOWN { ", …" } else { "" };
            let (what, are) = if binary.len() == 1 { ("file", "is") } else { ("files", "are") };
            notes.push(format!("{} {what} {are} not text and left out: {}{more}", binary.len(), shown.join(", ")));
        }
        if let Self::Split(Split { before, .. }) = self
            && *before > 0
        {
            let (lines, belong) = match *before {
                1 => ("line", "belongs to no document and is left out"),
                _ => ("lines", "belong to no document and are left out"),
            };
            notes.push(format!("{before} {lines} before the first match of `read.split` {belong}"));
        }
        notes
    }

    /// The name that stands for all documents in messages.
    pub(super) fn place(&self) -> PathBuf {
        match self {
            Self::Files(files) | Self::Split(Split { files, .. }) => match &files.files[..] {
                [one] => one.path.clone(),
                [first, ..] => first.path.parent().map_or_else(|| first.path.clone(), Path::to_path_buf),
                [] => PathBuf::new(),
            },
            Self::Column(column) => column.input.path.clone(),
            Self::Memory(_) => PathBuf::new(),
        }
    }

    /// Whether names are ids that a table has.
    pub(super) fn are_ids(&self) -> bool {
        matches!(self, Self::Column(_) | Self::Memory(_))
    }

    /// What the names of documents are called.
    pub(super) fn key_name(&self, options: &ReadOptions) -> String {
        options.id.clone().unwrap_or_else(|| "document".to_owned())
    }

    /// The digest of everything that was read, after a whole pass.
    pub(super) fn digest(&self) -> Option<String> {
        match self {
            Self::Files(files) | Self::Split(Split { files, .. }) => files.digest(),
            Self::Column(column) => match (&column.parts, column.format) {
                (Some(parts), _) => parts.digest(),
                (None, Some(Format::Parquet | Format::Arrow)) => column.input.compute_digest(),
                (None, _) => column.input.digest(),
            },
            Self::Memory(_) => None,
        }
    }
}

impl Document {
    /// Its text.
    pub(super) fn text(&self) -> Result<Cow<'_, str>> {
        match &self.body {
            Body::Text(text) => Ok(text.as_str().into()),
            Body::File(input) => read(input).map(Into::into),
        }
    }
}

/// A whole file as text.
fn read(input: &Input) -> Result<String> {
    let mut bytes = Vec::new();
    let mut reader = input.open()?.take(DOCUMENT_LIMIT + 1);
    reader.read_to_end(&mut bytes).map_err(|error| input.io_error(error))?;
    if bytes.len() as u64 > DOCUMENT_LIMIT {
        let problem = "a document is longer than 1 GiB; cut the file into documents with `read.split`";
        return Err(Error::data(input.place(), problem));
    }
    let mut text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        bad_byte(input.place(), error.as_bytes(), at)
    })?;
    if text.starts_with('\u{feff}') {
        text.remove(0);
    }
    Ok(text)
}

impl Files {
    /// All text files of the paths: of folders those that are not binary.
    fn find(paths: &[PathBuf], encoding: Option<TextEncoding>) -> Result<Self> {
        let (mut files, mut binary) = (Vec::new(), Vec::new());
        for path in paths {
            match PartFiles::find_all(path)? {
                Some(found) => {
                    for file in found.files() {
                        let head = if encoding.is_none() { head(file)? } else { Vec::new() };
                        check_width(file, &head)?;
                        if head.contains(&0) {
                            binary.push(file.clone());
                            continue;
                        }
                        let name = found.below(file).to_string_lossy().into();
                        files.push(TextFile { path: file.clone(), name, input: None, digest: Arc::default() });
                    }
                }
                None => {
                    let mut input = Input::new(path)?;
                    input.encoding = encoding;
                    let head = if encoding.is_none() { input.first_bytes(HEAD as u64)? } else { Vec::new() };
                    check_width(path, &head)?;
                    if head.contains(&0) {
                        return Err(binary_file(path, &head));
                    }
                    let name = path.to_string_lossy().into();
                    let is_spooled = input.real_path() != input.path;
                    let input = is_spooled.then(|| Arc::new(input));
                    files.push(TextFile { path: path.clone(), name, input, digest: Arc::default() });
                }
            }
        }
        if files.is_empty() {
            let path = paths.first().map_or(Path::new("-"), PathBuf::as_path);
            let problem = format!("there is no text, only {}", counted(binary.len() as u64, "binary file"));
            return Err(Error::data(Place::file(path), problem));
        }
        // Files of the same name in different folders are called by their paths.
        let mut n_of: HashMap<Box<str>, usize> = HashMap::new();
        files.iter().for_each(|file| *n_of.entry(file.name.clone()).or_insert(0) += 1);
        for file in files.iter_mut().filter(|file| n_of[&file.name] > 1) {
            file.name = file.path.to_string_lossy().into();
        }
        Ok(Self { files, next: 0, encoding, binary })
    }

    fn next_chunk(&mut self) -> Vec<Document> {
        let end = (self.next + CHUNK_DOCUMENTS).min(self.files.len());
        let (mut n_bytes, mut chunk) = (0, Vec::new());
        while self.next < end && n_bytes < CHUNK_BYTES as u64 {
            let file = &self.files[self.next];
            chunk.push(Document { name: Some(file.name.clone()), body: Body::File(file.input(self.encoding)), kept: Vec::new() });
            n_bytes += std::fs::metadata(&file.path).map_or(0, |it| it.len());
            self.next += 1;
        }
        chunk
    }

    fn digest(&self) -> Option<String> {
        let digest = |file: &TextFile| match &file.input {
            Some(input) => input.digest(),
            None => file.digest.get().cloned(),
        };
        if let [file] = &self.files[..] {
            return digest(file);
        }
        let mut hasher = Sha256::new();
        for file in &self.files {
            hasher.update(file.name.as_bytes());
            hasher.update([0]);
            hasher.update(digest(file)?);
            hasher.update([b'\n']);
        }
        Some(digest_text(hasher))
    }
}

/// The first bytes of a file after decompression.
fn head(path: &Path) -> Result<Vec<u8>> {
    let mut first = Vec::new();
    crate::file::open(path)?.take(HEAD as u64).read_to_end(&mut first).map_err(Error::io("read", path))?;
    Ok(first)
}

/// Refuses text of two bytes a character, whose zeros would make it binary.
fn check_width(path: &Path, head: &[u8]) -> Result<()> {
    match wide_text(head) {
        None => Ok(()),
        Some(name) => {
            let problem = format!("the text looks like {name}: add `read.encoding` {name}, or save the file as UTF-8");
            Err(Error::data(Place::file(path), problem))
        }
    }
}

fn binary_file(path: &Path, head: &[u8]) -> Error {
    let hint = match head {
        [b'P', b'K', 3, 4, ..] => "it looks like an Office document or a ZIP archive; save it as plain text",
        [b'P', b'A', b'R', b'1', ..] | [b'A', b'R', b'R', b'O', b'W', b'1', ..] => {
            "it is a table; name the column of the texts (`read.column`)"
        }
        _ => "save it as plain text, or name its encoding (`read.encoding`)",
    };
    Error::data(Place::file(path), format!("the file is binary; {hint}"))
}

/// The error of text that is not UTF-8, with the number of the byte in the file or line.
fn bad_byte(place: Place, bytes: &[u8], at: usize) -> Error {
    let from = at.saturating_sub(20);
    Error::data(place, format!("byte {}: {}", at + 1, not_utf8(&bytes[from..(at + 20).min(bytes.len())])))
}

impl Split {
    fn next_chunk(&mut self) -> Result<Vec<Document>> {
        let (mut chunk, mut n_bytes) = (Vec::new(), 0);
        while chunk.len() < CHUNK_DOCUMENTS && n_bytes < CHUNK_BYTES {
            match self.next_document()? {
                Some(document) => {
                    if let Body::Text(text) = &document.body {
                        n_bytes += text.len();
                    }
                    chunk.push(document);
                }
                None => {
                    if self.n_found == 0 {
                        return Err(self.never_matched());
                    }
                    break;
                }
            }
        }
        Ok(chunk)
    }

    /// Reads up to the next heading, or the end of a file.
    fn next_document(&mut self) -> Result<Option<Document>> {
        let mut text = String::new();
        loop {
            let lines = match &mut self.lines {
                Some(lines) => lines,
                None => {
                    let Some(file) = self.files.files.get(self.files.next) else { return Ok(None) };
                    let input = file.input(self.files.encoding);
                    self.files.next += 1;
                    self.lines.insert(input.lines()?)
                }
            };
            let is_more = lines.next()?.is_some();
            let line = if is_more { lines.last() } else { &[] };
            let line = std::str::from_utf8(line).map_err(|error| {
                let at = error.valid_up_to();
                bad_byte(lines.place(), line, at)
            })?;
            let is_heading = is_more && self.pattern.is_match(line);
            let heading = is_heading.then(|| {
                let name = line.trim();
                match &self.files.files[..] {
                    [_] => name.into(),
                    files => format!("{}: {name}", files[self.files.next - 1].name).into_boxed_str(),
                }
            });
            if is_more && !is_heading {
                if self.heading.is_none() {
                    self.before += u64::from(!line.trim().is_empty());
                } else {
                    if text.len() as u64 > DOCUMENT_LIMIT {
                        let problem = "a document is longer than 1 GiB; let `read.split` match more lines";
                        return Err(Error::data(lines.place(), problem));
                    }
                    text.push_str(line);
                    text.push('\n');
                }
                continue;
            }
            if !is_more {
                self.lines = None;
            }
            self.n_found += u64::from(is_heading);
            if let Some(name) = std::mem::replace(&mut self.heading, heading) {
                return Ok(Some(Document { name: Some(name), body: Body::Text(text), kept: Vec::new() }));
            }
        }
    }

    fn never_matched(&self) -> Error {
        let first = self.files.files.first();
        let shown = first.and_then(|file| {
            let mut lines = file.input(self.files.encoding).lines().ok()?;
            lines.next_filled().ok()??;
            Some(format!("; the first line is {:?}", Shortened(&String::from_utf8_lossy(lines.last()))))
        });
        let problem = format!(
            "{:?} matches no line of {}{}; a match begins a document, and ^ and $ stand for the ends of a line",
            self.pattern.as_str(),
            self.files.files.first().map_or_else(String::new, |file| file.path.display().to_string()),
            shown.unwrap_or_default()
        );
        Error::option("read.split", problem)
    }
}

impl Column {
    fn open(path: &Path, text: &TextOptions, options: &ReadOptions) -> Result<Self> {
        let (mut table, input, parts, format) = match PartFiles::find(path)? {
            Some(files) => {
                let parts = Arc::new(Parts::open(files, options)?);
                let table = PartsTable::open(Arc::clone(&parts), options)?;
                (Table::Parts(Box::new(table)), Arc::new(parts.as_input()), Some(parts), None)
            }
            None => {
                let (input, format) = recognised(Input::new(path)?, options)?;
                check_names(&input, format, options)?;
                if matches!(format, Format::Coordinate(_) | Format::Libsvm) {
                    let problem = format!("{} is a sparse matrix, not a table with a column of texts", input.place());
                    return Err(Error::option("read.column", problem));
                }
                let input = Arc::new(input);
                (Table::File(FileTable::open(&input, format, options)?), input, None, Some(format))
            }
        };
        let names = table.names();
        let find = |option: &str, name: &String| {
            names.iter().position(|it| it == name).ok_or_else(|| unknown_column(option, name, names))
        };
        let column = find("read.column", text.column.as_ref().expect("a column is named"))?;
        let id = options.id.as_ref().map(|id| find("read.id", id)).transpose()?;
        let keep = text.keep.iter().map(|name| find("read.dates", name)).collect::<Result<Vec<usize>>>()?;
        table.require(column, "read.column")?;
        let is_wanted: Vec<bool> = (0..names.len()).map(|ix| ix == column || id == Some(ix) || keep.contains(&ix)).collect();
        let is_text: Vec<bool> = (0..names.len()).map(|ix| is_wanted[ix] && table.can_be_text(ix)).collect();
        if !is_text[column] {
            let problem = format!("the column {:?} does not hold text", names[column]);
            return Err(Error::option("read.column", problem));
        }
        table.project(&is_wanted, &is_text)?;
        let sink = TextSink { text: column, id, keep, first_row: 0, documents: Vec::new(), n_bytes: 0 };
        Ok(Self { table, input, parts, format, sink })
    }

    fn next_chunk(&mut self) -> Result<Vec<Document>> {
        let (sink, mut n_rows) = (&mut self.sink, 0);
        sink.n_bytes = 0;
        loop {
            let n_read = self.table.read_rows(CHUNK_DOCUMENTS / 8, sink)?;
            n_rows += n_read;
            if n_rows > sink.documents.len() {
                sink.grow(n_rows);
            }
            if n_read == 0 || n_rows >= CHUNK_DOCUMENTS || sink.n_bytes >= CHUNK_BYTES {
                sink.first_row += n_rows as u64;
                return Ok(std::mem::take(&mut sink.documents));
            }
        }
    }
}

impl TextSink {
    fn grow(&mut self, n_documents: usize) {
        let empty = || Document { name: None, body: Body::Text(String::new()), kept: vec![None; self.keep.len()] };
        self.documents.resize_with(n_documents, empty);
    }
}

impl CellSink for TextSink {
    fn cell(&mut self, row: u64, column: usize, cell: Cell<'_>) -> Result<(), String> {
        let ix = (row - self.first_row) as usize;
        if ix >= self.documents.len() {
            self.grow(ix + 1);
        }
        let text = || -> Result<Option<String>, String> {
            Ok(match cell {
                Cell::Text([]) => None,
                Cell::Text(text) => Some(std::str::from_utf8(text).map_err(|_| not_utf8(text))?.to_owned()),
                Cell::Number(value) if !value.is_nan() => Some(number_text(value)),
                Cell::Bool(value) => Some(value.to_string()),
                Cell::Number(_) | Cell::Missing => None,
            })
        };
        if column == self.text {
            let text = text()?.unwrap_or_default();
            self.n_bytes += text.len();
            self.documents[ix].body = Body::Text(text);
        }
        if self.id == Some(column) {
            self.documents[ix].name = text()?.map(Into::into);
        }
        for at in 0..self.keep.len() {
            if self.keep[at] == column {
                self.documents[ix].kept[at] = text()?.map(Into::into);
            }
        }
        Ok(())
    }
}
