//! Messages of Arrow IPC files and streams, checked before memory is allocated for them.
//!
//! Lengths in the file say where a message is, where its buffers are and how much they unpack to. The Arrow library believes
//! them, and a failed allocation ends the process; here every length must fit the file first.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::reader::{FileDecoder, read_footer_length};
use arrow_ipc::{Block, CompressionType, MessageHeader};
use arrow_schema::{ArrowError, SchemaRef};

/// Stands before the length of a message since version 0.15.
const CONTINUATION: [u8; 4] = [0xff; 4];
/// Most elements believed of an array: far more than any file has, and few enough that sizes in bytes do not overflow.
const MAX_ELEMENTS: i64 = 1 << 40;
/// Most bytes that one byte of LZ4 unpacks to.
const LZ4_RATIO: u64 = 255;
/// Most bytes that one byte of Zstandard unpacks to: a block of 128 KiB takes four bytes at least.
const ZSTANDARD_RATIO: u64 = 1 << 15;
/// What a compressed buffer may claim beyond its ratio.
const SLACK: u64 = 1 << 17;

/// The record batches of an Arrow IPC file or stream.
pub(super) struct Messages {
    file: BufReader<File>,
    n_bytes: u64,
    decoder: FileDecoder,
    rest: Rest,
    /// Columns that are read.
    n_wanted: Option<usize>,
}

enum Rest {
    /// What the footer of a file lists.
    Blocks(std::vec::IntoIter<Block>),
    /// Where the next message of a stream begins.
    Stream(u64),
}

impl Messages {
    /// Opens a file or a stream, whichever it is; `wanted` are the columns to be read.
    pub(super) fn open(file: File, wanted: Option<&[usize]>) -> Result<(SchemaRef, Self), ArrowError> {
        let n_bytes = file.metadata()?.len();
        let mut file = BufReader::new(file);
        let mut magic = [0; 6];
        let is_file = n_bytes >= 6 && file.read_exact(&mut magic).is_ok() && &magic == b"ARROW1";
        let (schema, mut messages) = if is_file { Self::file(file, n_bytes)? } else { Self::stream(file, n_bytes)? };
        if let Some(wanted) = wanted {
            if wanted.iter().any(|&column| column >= schema.fields().len()) {
                return Err(damaged("the file changed while it was read"));
            }
            messages.decoder = messages.decoder.with_projection(wanted.to_vec());
            messages.n_wanted = Some(wanted.len());
        }
        if let Rest::Blocks(_) = messages.rest {
            messages.read_dictionaries()?;
        }
        Ok((schema, messages))
    }

    fn file(mut file: BufReader<File>, n_bytes: u64) -> Result<(SchemaRef, Self), ArrowError> {
        let footer = read_footer(&mut file, n_bytes)?;
        let footer = root(arrow_ipc::root_as_footer(&footer))?;
        let schema = convert(footer.schema().ok_or_else(|| damaged("its footer has no schema"))?)?;
        let blocks = footer.recordBatches().ok_or_else(|| damaged("its footer lists no batches"))?;
        let blocks: Vec<Block> = blocks.iter().copied().collect();
        let decoder = FileDecoder::new(Arc::clone(&schema), footer.version());
        Ok((schema, Self { file, n_bytes, decoder, rest: Rest::Blocks(blocks.into_iter()), n_wanted: None }))
    }

    fn read_dictionaries(&mut self) -> Result<(), ArrowError> {
        let footer = read_footer(&mut self.file, self.n_bytes)?;
        let footer = root(arrow_ipc::root_as_footer(&footer))?;
        for block in footer.dictionaries().iter().flatten() {
            let bytes = read_block(&mut self.file, self.n_bytes, block)?;
            self.decoder.read_dictionary(block, &bytes)?;
        }
        Ok(())
    }

    fn stream(mut file: BufReader<File>, n_bytes: u64) -> Result<(SchemaRef, Self), ArrowError> {
        let block = next_block(&mut file, n_bytes, 0)?.ok_or_else(|| damaged("the stream is empty"))?;
        let bytes = read_block(&mut file, n_bytes, &block)?;
        let message = root(arrow_ipc::root_as_message(metadata(&bytes, &block)?))?;
        let schema = message.header_as_schema().ok_or_else(|| damaged("its first message is no schema"))?;
        let schema = convert(schema)?;
        let decoder = FileDecoder::new(Arc::clone(&schema), message.version());
        let rest = Rest::Stream(end_of(&block));
        Ok((schema, Self { file, n_bytes, decoder, rest, n_wanted: None }))
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        loop {
            let block = match &mut self.rest {
                Rest::Blocks(blocks) => blocks.next(),
                Rest::Stream(at) => {
                    let block = next_block(&mut self.file, self.n_bytes, *at)?;
                    *at = block.as_ref().map_or(self.n_bytes, end_of);
                    block
                }
            };
            let Some(block) = block else { return Ok(None) };
            let bytes = read_block(&mut self.file, self.n_bytes, &block)?;
            let message = root(arrow_ipc::root_as_message(metadata(&bytes, &block)?))?;
            // A dictionary of a stream may come before any batch; a file's were read first.
            if message.header_type() == MessageHeader::DictionaryBatch {
                self.decoder.read_dictionary(&block, &bytes)?;
                continue;
            }
            match self.decoder.read_record_batch(&block, &bytes)? {
                Some(batch) if self.n_wanted.is_some_and(|n_wanted| n_wanted != batch.num_columns()) => {
                    return Err(damaged("a batch does not have the columns of the schema"));
                }
                Some(batch) => return Ok(Some(batch)),
                None => {}
            }
        }
    }
}

impl Iterator for Messages {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_batch().transpose()
    }
}

fn damaged(problem: impl Into<String>) -> ArrowError {
    ArrowError::IpcError(problem.into())
}

/// The outcome of reading a FlatBuffer, in which all offsets have been verified.
fn root<T>(found: Result<T, impl std::fmt::Display>) -> Result<T, ArrowError> {
    found.map_err(|error| damaged(format!("its metadata are damaged ({error})")))
}

fn convert(schema: arrow_ipc::Schema<'_>) -> Result<SchemaRef, ArrowError> {
    if !schema.endianness().equals_to_target_endianness() {
        return Err(damaged("its numbers have the other byte order"));
    }
    Ok(Arc::new(arrow_ipc::convert::fb_to_schema(schema)))
}

fn read_footer(file: &mut BufReader<File>, n_bytes: u64) -> Result<Vec<u8>, ArrowError> {
    let tail = n_bytes.checked_sub(10).ok_or_else(|| damaged("the file ends early"))?;
    file.seek(SeekFrom::Start(tail))?;
    let mut last = [0; 10];
    file.read_exact(&mut last)?;
    let length = read_footer_length(last)? as u64;
    let start = tail.checked_sub(length);
    let start = start.ok_or_else(|| damaged(format!("its footer claims {length} bytes, more than the file has")))?;
    file.seek(SeekFrom::Start(start))?;
    let mut footer = Vec::new();
    file.take(length).read_to_end(&mut footer)?;
    Ok(footer)
}

/// Where the message at this place of a stream lies; `None` at the stream's end.
fn next_block(file: &mut BufReader<File>, n_bytes: u64, at: u64) -> Result<Option<Block>, ArrowError> {
    if n_bytes.saturating_sub(at) < 4 {
        return Ok(None);
    }
    file.seek(SeekFrom::Start(at))?;
    let mut word = [0; 4];
    file.read_exact(&mut word)?;
    let mut prefix = 4;
    if word == CONTINUATION {
        file.read_exact(&mut word)?;
        prefix = 8;
    }
    let length = i32::from_le_bytes(word);
    if length == 0 {
        return Ok(None);
    }
    let problem = || damaged(format!("a message claims {length} bytes of metadata, more than the file has"));
    let n_metadata = u64::try_from(length).map_err(|_| problem())?;
    let left = n_bytes.saturating_sub(at).saturating_sub(prefix);
    if n_metadata > left || n_metadata + prefix > i32::MAX as u64 {
        return Err(problem());
    }
    let mut metadata = Vec::new();
    file.take(n_metadata).read_to_end(&mut metadata)?;
    let body = root(arrow_ipc::root_as_message(&metadata))?.bodyLength();
    let start = i64::try_from(at).map_err(|_| problem())?;
    Ok(Some(Block::new(start, (n_metadata + prefix) as i32, body)))
}

/// The byte after a block that has been read.
fn end_of(block: &Block) -> u64 {
    let parts = [block.offset(), i64::from(block.metaDataLength()), block.bodyLength()];
    parts.iter().fold(0, |end, &part| end.saturating_add(part.max(0) as u64))
}

/// Reads a block that lies in the file, and checks the lengths in it.
fn read_block(file: &mut BufReader<File>, n_bytes: u64, block: &Block) -> Result<Buffer, ArrowError> {
    let problem = || {
        damaged(format!(
            "a message at byte {} claims {} and {} bytes, which are not in the file",
            block.offset(),
            block.metaDataLength(),
            block.bodyLength()
        ))
    };
    let start = u64::try_from(block.offset()).map_err(|_| problem())?;
    let n_metadata = u64::try_from(block.metaDataLength()).map_err(|_| problem())?;
    let n_body = u64::try_from(block.bodyLength()).map_err(|_| problem())?;
    let length = n_metadata.checked_add(n_body).ok_or_else(problem)?;
    if n_metadata < 8 || start.checked_add(length).is_none_or(|end| end > n_bytes) {
        return Err(problem());
    }
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    reserve(&mut bytes, length)?;
    file.take(length).read_to_end(&mut bytes)?;
    if bytes.len() as u64 != length {
        return Err(damaged("the file ends early"));
    }
    let bytes = Buffer::from_vec(bytes);
    check_lengths(&bytes, block)?;
    Ok(bytes)
}

fn reserve(bytes: &mut Vec<u8>, length: u64) -> Result<(), ArrowError> {
    let fits = usize::try_from(length).is_ok_and(|length| bytes.try_reserve_exact(length).is_ok());
    if fits { Ok(()) } else { Err(damaged(format!("a batch needs {} MiB of memory", length >> 20))) }
}

/// The FlatBuffer of a message, without the length before it.
fn metadata<'a>(bytes: &'a Buffer, block: &Block) -> Result<&'a [u8], ArrowError> {
    let whole = bytes.get(..block.metaDataLength() as usize);
    let whole = whole.filter(|whole| whole.len() >= 8).ok_or_else(|| damaged("a message is too short"))?;
    Ok(if whole[..4] == CONTINUATION { &whole[8..] } else { &whole[4..] })
}

/// Checks the arrays and buffers that a message declares against its actual bytes.
fn check_lengths(bytes: &Buffer, block: &Block) -> Result<(), ArrowError> {
    let message = root(arrow_ipc::root_as_message(metadata(bytes, block)?))?;
    let dictionary = message.header_as_dictionary_batch();
    if dictionary.as_ref().is_some_and(|dictionary| dictionary.data().is_none()) {
        return Err(damaged("a dictionary has no values"));
    }
    let Some(batch) = dictionary.and_then(|dictionary| dictionary.data()).or_else(|| message.header_as_record_batch()) else {
        return Ok(());
    };
    let body = &bytes[block.metaDataLength() as usize..];
    let is_size = |size: i64| (0..=MAX_ELEMENTS).contains(&size);
    let nodes_fit = batch.nodes().iter().flatten().all(|node| is_size(node.length()) && is_size(node.null_count()));
    if !is_size(batch.length()) || !nodes_fit {
        return Err(damaged("an array claims a length that no array has"));
    }
    let ratio = batch.compression().map(|compression| match compression.codec() {
        CompressionType::LZ4_FRAME => LZ4_RATIO,
        _ => ZSTANDARD_RATIO,
    });
    let mut unpacked = 0_u64;
    for buffer in batch.buffers().iter().flatten() {
        let problem = || {
            let (at, length) = (buffer.offset(), buffer.length());
            damaged(format!("a buffer claims {length} bytes at {at}, beyond the {} of its message", body.len()))
        };
        let start = usize::try_from(buffer.offset()).map_err(|_| problem())?;
        let end = usize::try_from(buffer.length()).ok().and_then(|length| start.checked_add(length)).ok_or_else(problem)?;
        let content = body.get(start..end).ok_or_else(problem)?;
        if let (Some(ratio), Some((claim, packed))) = (ratio, content.split_first_chunk::<8>()) {
            let claim = i64::from_le_bytes(*claim);
            // −1 is a buffer that is not compressed.
            let claim = if claim == -1 { 0 } else { u64::try_from(claim).map_err(|_| problem())? };
            if claim > (packed.len() as u64).saturating_mul(ratio).saturating_add(SLACK) {
                return Err(damaged(format!("a buffer of {} bytes claims to unpack to {claim}", packed.len())));
            }
            unpacked = unpacked.saturating_add(claim);
        }
    }
    reserve(&mut Vec::new(), unpacked)
}
