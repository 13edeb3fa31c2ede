//! Serializes accumulators: the length of a JSON header, the header itself, then little-endian numbers.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Error, Place, Result};

fn invalid(problem: impl Into<String>) -> Error {
    Error::format(Place::default(), "mixture pass", problem)
}

/// Writes a header and arrays of numbers as bytes.
pub(crate) fn write(header: &impl Serialize, arrays: &[&[f64]]) -> Result<Vec<u8>> {
    let header = serde_json::to_vec(header).map_err(|error| invalid(error.to_string()))?;
    let mut bytes = Vec::with_capacity(16 + header.len() + arrays.iter().map(|array| 8 + 8 * array.len()).sum::<usize>());
    bytes.extend_from_slice(&(header.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&header);
    for array in arrays {
        bytes.extend_from_slice(&(array.len() as u64).to_le_bytes());
        array.iter().for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()));
    }
    Ok(bytes)
}

/// Reads the bytes written by [`write`].
pub(crate) fn read<H: DeserializeOwned, const N: usize>(bytes: &[u8]) -> Result<(H, [Vec<f64>; N])> {
    let mut rest = bytes;
    let mut take = |n_bytes: usize| {
        let (taken, left) = rest.split_at_checked(n_bytes).ok_or_else(|| invalid("it ends early"))?;
        rest = left;
        Ok::<&[u8], Error>(taken)
    };
    let length = |bytes: &[u8]| {
        usize::try_from(u64::from_le_bytes(bytes.try_into().expect("eight bytes"))).map_err(|_| invalid("too long"))
    };
    let n_bytes = length(take(8)?)?;
    let header = serde_json::from_slice(take(n_bytes)?).map_err(|error| invalid(error.to_string()))?;
    let mut arrays = [const { Vec::new() }; N];
    for array in &mut arrays {
        let n_numbers = length(take(8)?)?;
        let numbers = take(n_numbers.checked_mul(8).ok_or_else(|| invalid("too long"))?)?;
        *array = numbers.chunks_exact(8).map(|it| f64::from_le_bytes(it.try_into().expect("eight bytes"))).collect();
    }
    if rest.is_empty() { Ok((header, arrays)) } else { Err(invalid("there are bytes after its end")) }
}

/// Fails unless the parts that were read are consistent.
pub(crate) fn check(fits: bool) -> Result<()> {
    if fits { Ok(()) } else { Err(invalid("its parts do not fit together")) }
}

/// Fails if two lengths differ.
pub(crate) fn same_length(own: usize, other: usize) -> Result<()> {
    if own == other {
        return Ok(());
    }
    Err(Error::Mismatch {
        left: "some moments".to_owned(),
        right: "others".to_owned(),
        problem: "they are of different columns or numbers of components".to_owned(),
    })
}

/// Adds `other` to `own` element by element; fails if their lengths differ.
pub(crate) fn add(own: &mut [f64], other: &[f64]) -> Result<()> {
    same_length(own.len(), other.len())?;
    own.iter_mut().zip(other).for_each(|(own, other)| *own += other);
    Ok(())
}
