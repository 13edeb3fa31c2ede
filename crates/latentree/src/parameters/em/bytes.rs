//! Expected counts as bytes, all numbers little-endian:
//!
//! | field | bytes |
//! | --- | --- |
//! | magic `LTCOUNTS`, version, oldest version that can read it | 8, 4, 4 |
//! | length of the model's JSON, the JSON | 8, length |
//! | rows, rows of probability zero, weight, log-likelihood | 8 each |
//! | number of counts, counts | 8, 8 each |
//! | FNV-1a checksum of all bytes before | 8 |

use std::sync::Arc;

use super::ExpectedCounts;
use crate::error::{Error, Place, Result};
use crate::format::ModelFile;

const MAGIC: &[u8; 8] = b"LTCOUNTS";
const FORMAT: &str = "latentree expected counts";
const VERSION: u32 = 1;

fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |state, &byte| (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

pub(super) fn write(counts: &ExpectedCounts) -> Vec<u8> {
    let model = counts.model.to_json_string();
    let sums = &counts.sums;
    let mut bytes = Vec::with_capacity(64 + model.len() + 8 * sums.counts.len());
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&(model.len() as u64).to_le_bytes());
    bytes.extend_from_slice(model.as_bytes());
    bytes.extend_from_slice(&sums.rows.to_le_bytes());
    bytes.extend_from_slice(&sums.impossible_rows.to_le_bytes());
    bytes.extend_from_slice(&sums.weight.to_le_bytes());
    bytes.extend_from_slice(&sums.log_likelihood.to_le_bytes());
    bytes.extend_from_slice(&(sums.counts.len() as u64).to_le_bytes());
    sums.counts.iter().for_each(|count| bytes.extend_from_slice(&count.to_le_bytes()));
    let checksum = checksum(&bytes);
    bytes.extend_from_slice(&checksum.to_le_bytes());
    bytes
}

fn invalid(problem: impl Into<String>) -> Error {
    Error::format(Place::default(), FORMAT, problem)
}

struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or_else(|| invalid("it ends early; copy or recreate the file"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn u64(&mut self) -> Result<u64> {
        let bytes = self.take(8)?;
        Ok(u64::from_le_bytes(bytes.try_into().expect("eight bytes were taken")))
    }

    fn u32(&mut self) -> Result<u32> {
        let bytes = self.take(4)?;
        Ok(u32::from_le_bytes(bytes.try_into().expect("four bytes were taken")))
    }
}

pub(super) fn read(bytes: &[u8]) -> Result<ExpectedCounts> {
    let mut input = Input(bytes);
    if input.take(8)? != MAGIC {
        return Err(invalid("it does not start like expected counts"));
    }
    let (found, oldest_reader) = (input.u32()?, input.u32()?);
    if oldest_reader > VERSION {
        return Err(Error::Version {
            place: Box::new(Place::default()),
            format: FORMAT,
            found: u64::from(found),
            oldest: u64::from(VERSION),
            newest: u64::from(VERSION),
            remedy: "use the version of the program that wrote it",
        });
    }
    let body = bytes.len().checked_sub(8).ok_or_else(|| invalid("it ends early"))?;
    if checksum(&bytes[..body]).to_le_bytes() != bytes[body..] {
        return Err(invalid("its checksum does not match: it was truncated or changed; copy or recreate the file"));
    }
    let length = usize::try_from(input.u64()?).map_err(|_| invalid("its model is too long"))?;
    let model = ModelFile::read_from(input.take(length)?)?.into_latent_tree()?;
    let mut counts = ExpectedCounts::new(Arc::new(model));
    counts.sums.rows = input.u64()?;
    counts.sums.impossible_rows = input.u64()?;
    counts.sums.weight = f64::from_bits(input.u64()?);
    counts.sums.log_likelihood = f64::from_bits(input.u64()?);
    if input.u64()? != counts.sums.counts.len() as u64 {
        return Err(invalid("its counts do not fit its model"));
    }
    for count in &mut counts.sums.counts {
        *count = f64::from_bits(input.u64()?);
    }
    let sums = &counts.sums;
    let sound = sums.counts.iter().all(|count| count.is_finite()) && sums.weight.is_finite() && sums.weight >= 0.0;
    if !sound || sums.log_likelihood.is_nan() {
        return Err(invalid("a number is not finite"));
    }
    if input.0.len() != 8 {
        return Err(invalid("there are bytes after its end"));
    }
    Ok(counts)
}
