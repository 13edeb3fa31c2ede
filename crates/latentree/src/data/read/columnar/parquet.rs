//! Lengths in Parquet files, checked before the Parquet library allocates memory by them.
//!
//! The library believes the sizes of lists in the footer and those in the headers of pages, and a failed allocation ends the
//! process. Here each must fit the bytes that the file has for it.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};

use arrow_schema::ArrowError;
use parquet::basic::Compression;
use parquet::file::metadata::ParquetMetaData;

use super::thrift::walk;

/// Longest header of a page; statistics in it may hold a value of any length, but writers cut them.
const HEADER_LIMIT: u64 = 16 << 20;
/// Bytes read at first for a page's header.
const HEADER_START: u64 = 256;
/// Most bytes that one byte of a compressed page unpacks to: a block of 128 KiB takes four bytes of Zstandard.
const RATIO: u64 = 1 << 15;
/// What a page may claim beyond its ratio.
const SLACK: u64 = 1 << 17;

fn damaged(problem: impl Into<String>) -> ArrowError {
    ArrowError::ParquetError(problem.into())
}

/// Checks the footer: every list fits into it, and no group of columns has more children than there are columns.
pub(super) fn check_footer(file: &File) -> Result<(), ArrowError> {
    let n_bytes = file.metadata()?.len();
    let mut file = BufReader::new(file);
    let Some(tail) = n_bytes.checked_sub(8) else { return Err(damaged("the file is too short")) };
    file.seek(SeekFrom::Start(tail))?;
    let mut last = [0; 8];
    file.read_exact(&mut last)?;
    if &last[4..] != b"PAR1" {
        // Encrypted, or no Parquet file at all: the library says which.
        return Ok(());
    }
    let length = u64::from(u32::from_le_bytes([last[0], last[1], last[2], last[3]]));
    let Some(start) = tail.checked_sub(length) else {
        return Err(damaged(format!("its footer claims {length} bytes, more than the file has")));
    };
    file.seek(SeekFrom::Start(start))?;
    let mut footer = Vec::new();
    file.take(length).read_to_end(&mut footer)?;
    let n_bytes = footer.len() as i64;
    let check = &mut |path: &[i16], value: i64| match path {
        // The number of children of an element of the schema, each of which takes a byte at least.
        [2, 5] if !(0..=n_bytes).contains(&value) => Err(format!("a group of columns claims {value} children")),
        _ => Ok(()),
    };
    walk(&footer, check).map(|_| ()).map_err(damaged)
}

/// Checks the headers of all pages of the wanted columns (of all, if none are named).
pub(super) fn check_pages(file: &File, metadata: &ParquetMetaData, is_wanted: &dyn Fn(usize) -> bool) -> Result<(), ArrowError> {
    let n_bytes = file.metadata()?.len();
    let mut file = BufReader::new(file);
    for group in metadata.row_groups() {
        for (_, column) in group.columns().iter().enumerate().filter(|(ix, _)| is_wanted(*ix)) {
            let start = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
            let length = column.compressed_size();
            let range = u64::try_from(start).ok().zip(u64::try_from(length).ok());
            let range = range.and_then(|(start, length)| Some(start..start.checked_add(length)?));
            let range = range
                .filter(|range| range.end <= n_bytes)
                .ok_or_else(|| damaged(format!("a column claims {length} bytes at {start}, which are not in the file")))?;
            let is_packed = column.compression() != Compression::UNCOMPRESSED;
            check_chunk(&mut file, range, is_packed)?;
        }
    }
    Ok(())
}

fn check_chunk(file: &mut BufReader<&File>, range: std::ops::Range<u64>, is_packed: bool) -> Result<(), ArrowError> {
    let mut at = range.start;
    while at < range.end {
        let header = read_header(file, at, range.end)?;
        let content = at.saturating_add(header.n_bytes);
        let end = u64::try_from(header.packed).ok().and_then(|packed| content.checked_add(packed));
        let end = end.filter(|end| *end <= range.end).ok_or_else(|| {
            damaged(format!("a page at byte {at} claims {} bytes, beyond the end of its column", header.packed))
        })?;
        let ratio = if is_packed { RATIO } else { 1 };
        let most = (end - content).saturating_mul(ratio).saturating_add(SLACK);
        if u64::try_from(header.unpacked).is_ok_and(|unpacked| unpacked > most) || header.unpacked < 0 {
            let problem = format!("a page of {} bytes at byte {at} claims to unpack to {}", end - content, header.unpacked);
            return Err(damaged(problem));
        }
        // Every value of a dictionary takes a byte at least (but empty ones of a fixed length).
        if header.n_dictionary > header.unpacked.max(1 << 16) || header.n_dictionary < 0 {
            return Err(damaged(format!("a dictionary at byte {at} claims {} values", header.n_dictionary)));
        }
        at = end;
    }
    Ok(())
}

/// What the header of a page says.
#[derive(Default)]
struct Header {
    n_bytes: u64,
    unpacked: i64,
    packed: i64,
    /// Values of a dictionary page, 0 for others.
    n_dictionary: i64,
}

fn read_header(file: &mut BufReader<&File>, at: u64, end: u64) -> Result<Header, ArrowError> {
    let mut length = HEADER_START;
    loop {
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(at))?;
        file.by_ref().take(length.min(end - at)).read_to_end(&mut bytes)?;
        let mut header = Header::default();
        let found = walk(&bytes, &mut |path, value| {
            match path {
                [2] => header.unpacked = value,
                [3] => header.packed = value,
                [7, 1] => header.n_dictionary = value,
                _ => {}
            }
            Ok(())
        });
        match found {
            Ok(n_bytes) => return Ok(Header { n_bytes: n_bytes as u64, ..header }),
            // The header may be longer than was read.
            Err(_) if length < HEADER_LIMIT && length < end - at => length *= 8,
            Err(problem) => return Err(damaged(problem)),
        }
    }
}
