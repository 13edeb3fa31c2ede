//! Passes for programs that hold parts of the rows: a task says how to read them, and an answer reports how many were seen.
//!
//! | field | bytes |
//! | --- | --- |
//! | magic `LTTASK1\n` | 8 |
//! | length of the header and the header, as JSON | 4, length |
//! | FNV-1a checksum of all bytes before | 8 |
//! | a pass on the wire, or a look at the columns as JSON | |
//!
//! A worker calls [`observe`], a coordinator [`merge`]; [`look`] and [`rows`] are the learner's side.

use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

use crate::data::{Dataset, Look, LookOptions, Looked, Reading, RecordBatches, RemoteRows, StreamRows, WeightKind};
use crate::error::{Error, Place, Result};
use crate::moments::wire::fnv;

const MAGIC: &[u8; 8] = b"LTTASK1\n";
const FORMAT: &str = "latentree task";

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Header {
    /// A request to detect the columns.
    Look { version: String, rows: u64 },
    /// A pass; an answer needs no reading instructions.
    Pass { version: String, rows: u64, reading: Option<Arc<Reading>> },
}

impl Header {
    fn rows(&self) -> u64 {
        match self {
            Self::Look { rows, .. } | Self::Pass { rows, .. } => *rows,
        }
    }

    fn version(&self) -> &str {
        match self {
            Self::Look { version, .. } | Self::Pass { version, .. } => version,
        }
    }
}

fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

fn invalid(problem: impl Into<String>) -> Error {
    Error::format(Place::default(), FORMAT, problem)
}

fn write(header: &Header, body: &[u8]) -> Result<Vec<u8>> {
    let header = serde_json::to_vec(header).map_err(|error| invalid(error.to_string()))?;
    let length = u32::try_from(header.len()).map_err(|_| invalid("its header is too long"))?;
    let mut bytes = Vec::with_capacity(20 + header.len() + body.len());
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.extend_from_slice(&header);
    let checksum = fnv(&bytes);
    bytes.extend_from_slice(&checksum.to_le_bytes());
    bytes.extend_from_slice(body);
    Ok(bytes)
}

fn read(bytes: &[u8]) -> Result<(Header, &[u8])> {
    let early = || invalid("it ends early; send it again");
    let rest = bytes.strip_prefix(MAGIC).ok_or_else(|| invalid("it does not begin as a task or its answer does"))?;
    let (length, rest) = rest.split_first_chunk::<4>().ok_or_else(early)?;
    let (header, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize).ok_or_else(early)?;
    let (checksum, body) = rest.split_first_chunk::<8>().ok_or_else(early)?;
    if u64::from_le_bytes(*checksum) != fnv(&bytes[..12 + header.len()]) {
        return Err(invalid("its checksum does not fit: it was cut or changed; send it again"));
    }
    let header: Header = serde_json::from_slice(header).map_err(|error| invalid(error.to_string()))?;
    if header.version() != version() {
        let problem = format!(
            "it is of version {}, and this is version {}; install the same version wherever rows are",
            header.version(),
            version()
        );
        return Err(invalid(problem));
    }
    Ok((header, body))
}

/// How a task reads rows; `None` if it is to detect this.
///
/// # Errors
/// [`Error::Format`] if the bytes are truncated or changed, or come from another version.
pub fn reading(task: &[u8]) -> Result<Option<Arc<Reading>>> {
    Ok(match read(task)?.0 {
        Header::Look { .. } => None,
        Header::Pass { reading, .. } => reading,
    })
}

/// Runs a task over the rows of a part, which may be empty.
///
/// # Errors
/// [`Error::Format`] if the bytes are truncated or changed or come from another version, any error from reading the rows, and
/// the same as for [`passes::observe`](super::observe).
pub fn observe(task: &[u8], batches: Option<RecordBatches>) -> Result<Vec<u8>> {
    let (header, body) = read(task)?;
    let Header::Pass { reading, .. } = header else {
        let mut look: Look = serde_json::from_slice(body).map_err(|error| invalid(error.to_string()))?;
        batches.map_or(Ok(()), |batches| look.observe(batches))?;
        return looked(&look);
    };
    let reading = reading.ok_or_else(|| invalid("it is an answer, not a task"))?;
    let Some(batches) = batches else {
        return write(&Header::Pass { version: version(), rows: 0, reading: None }, body);
    };
    let mut rows = Counted { rows: StreamRows::open(batches, &reading)?, n_rows: 0 };
    let answer = super::observe_any(body, &mut rows)?;
    write(&Header::Pass { version: version(), rows: rows.n_rows, reading: None }, &answer)
}

/// Runs a task over a part in memory that was read according to [`reading`].
///
/// # Errors
/// The same as for [`observe`].
pub fn observe_table(task: &[u8], rows: &Dataset) -> Result<Vec<u8>> {
    let (header, body) = read(task)?;
    let Header::Pass { reading: Some(reading), .. } = header else {
        return Err(invalid("such rows need a schema; give one, or Arrow record batches"));
    };
    let mut source = Scaled { source: rows.source(), reading };
    let answer = super::observe_any(body, &mut source)?;
    write(&Header::Pass { version: version(), rows: rows.n_rows(), reading: None }, &answer)
}

fn looked(look: &Look) -> Result<Vec<u8>> {
    let body = serde_json::to_vec(look).map_err(|error| invalid(error.to_string()))?;
    write(&Header::Look { version: version(), rows: look.n_rows() }, &body)
}

/// Merges the answers of parts. The same answers in the same order give the same bytes.
///
/// # Errors
/// The same as for [`passes::merge`](super::merge).
pub fn merge<B: AsRef<[u8]>>(answers: &[B]) -> Result<Vec<u8>> {
    let parts = answers.iter().map(|answer| read(answer.as_ref())).collect::<Result<Vec<_>>>()?;
    let n_rows = parts.iter().map(|(header, _)| header.rows()).sum();
    let Some((first, _)) = parts.first() else { return Err(Error::option("pieces", "there are none to merge")) };
    if let Header::Look { .. } = first {
        let looks =
            parts.iter().map(|(_, body)| serde_json::from_slice::<Look>(body).map_err(|error| invalid(error.to_string())));
        let mut looks = looks.collect::<Result<Vec<_>>>()?.into_iter();
        let mut joined = looks.next().ok_or_else(|| invalid("there are no answers"))?;
        looks.try_for_each(|look| joined.merge(look))?;
        return looked(&joined);
    }
    if parts.iter().any(|(header, _)| matches!(header, Header::Look { .. })) {
        return Err(invalid("the answers are to different tasks"));
    }
    // Parts without rows add nothing.
    let filled: Vec<&[u8]> = parts.iter().filter(|(header, _)| header.rows() > 0).map(|it| it.1).collect();
    let answer = if filled.is_empty() { super::merge(&[parts[0].1])? } else { super::merge(&filled)? };
    write(&Header::Pass { version: version(), rows: n_rows, reading: None }, &answer)
}

/// Detects the columns of the rows over which `run` runs tasks.
///
/// # Errors
/// Any error from `run`, and the same as for [`Look::finish`].
pub fn look(run: &dyn Fn(&[u8]) -> Result<Vec<u8>>, options: LookOptions, weight_kind: WeightKind) -> Result<Looked> {
    let answer = run(&looked(&Look::new(options))?)?;
    let (Header::Look { .. }, body) = read(&answer)? else { return Err(invalid("the answer is to another task")) };
    let look: Look = serde_json::from_slice(body).map_err(|error| invalid(error.to_string()))?;
    look.finish(weight_kind)
}

/// Rows to learn from, over which `run` runs tasks. Fails if a pass sees a different number of rows than the one before.
pub fn rows<F: Fn(&[u8]) -> Result<Vec<u8>> + Sync>(
    run: F,
    reading: Reading,
    n_rows: Option<u64>,
) -> RemoteRows<impl Fn(&[u8]) -> Result<Vec<u8>> + Sync> {
    let known = OnceLock::new();
    n_rows.map(|n_rows| known.set(n_rows));
    let schema = Arc::clone(&reading.schema);
    let reading = Arc::new(reading);
    let answer = move |pass: &[u8]| {
        let task = write(&Header::Pass { version: version(), rows: 0, reading: Some(Arc::clone(&reading)) }, pass)?;
        let answer = run(&task)?;
        let (header, body) = read(&answer)?;
        let Header::Pass { rows: seen, reading: None, .. } = header else { return Err(invalid("the answer is to another task")) };
        let before = *known.get_or_init(|| seen);
        if seen != before {
            let problem = format!(
                "one pass saw {before} rows and a later one {seen}: the rows change from pass to pass; write them to a file, or keep them, before learning"
            );
            return Err(Error::data(Place::default(), problem));
        }
        Ok(body.to_vec())
    };
    RemoteRows::new(schema, n_rows, answer).choosing()
}

/// A source that counts its rows.
struct Counted<S> {
    rows: S,
    n_rows: u64,
}

impl<S: crate::data::BatchSource> crate::data::BatchSource for Counted<S> {
    fn schema(&self) -> &Arc<crate::data::Schema> {
        self.rows.schema()
    }

    fn next_batch(&mut self) -> Result<Option<Arc<crate::data::Batch>>> {
        let batch = self.rows.next_batch()?;
        self.n_rows += batch.as_ref().map_or(0, |batch| batch.n_rows as u64);
        Ok(batch)
    }

    fn rewind(&mut self) -> Result<()> {
        self.n_rows = 0;
        self.rows.rewind()
    }
}

/// A source with its weights scaled as specified by a task.
struct Scaled<S> {
    source: S,
    reading: Arc<Reading>,
}

impl<S: crate::data::BatchSource> crate::data::BatchSource for Scaled<S> {
    fn schema(&self) -> &Arc<crate::data::Schema> {
        self.source.schema()
    }

    fn next_batch(&mut self) -> Result<Option<Arc<crate::data::Batch>>> {
        Ok(self.source.next_batch()?.map(|batch| self.reading.scale.apply(batch)))
    }

    fn rewind(&mut self) -> Result<()> {
        self.source.rewind()
    }
}

#[cfg(test)]
mod tests;
